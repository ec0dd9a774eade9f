"""Pairwise preferences: logs of which of two answers is better, read, rated and audited."""
