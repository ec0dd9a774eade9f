"""Builders: annotations in, a benchmark folder out, with the leaks of earlier benchmarks kept out
and measured.
"""
