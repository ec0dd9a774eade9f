"""Scoring: from an answer to a verdict with its tally, and from verdicts to the score matrix."""
