"""HallusionBench: its measures and the oddities of its data; `adapters/hallusion_bench.py` scores
it.
"""
