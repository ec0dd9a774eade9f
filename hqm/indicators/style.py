"""What is said beside the score: the share of yes, the length."""

from __future__ import annotations

import numpy as np

from hqm.scoring.matrix import ScoreMatrix
from hqm.scoring.metrics import Array


def yes_ratio(matrix: ScoreMatrix) -> Array:
    """(respondents,): the share of answers yes among those that say yes or no."""
    said = sum(matrix.tallies[key].sum(axis=1) for key in ("tp", "fp", "tn", "fn"))
    yes = matrix.tallies["tp"].sum(axis=1) + matrix.tallies["fp"].sum(axis=1)
    return np.where(said > 0, yes / np.maximum(said, 1), np.nan)


def mean_words(matrix: ScoreMatrix) -> Array:
    """(respondents,): mean length of the answers in words."""
    counts = np.isfinite(matrix.words).sum(axis=1)
    sums = np.where(np.isfinite(matrix.words), matrix.words, 0.0).sum(axis=1)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
