"""Files that others wrote: rows of answers, scores, judgements and keys, matched to the items of a
benchmark.
"""
