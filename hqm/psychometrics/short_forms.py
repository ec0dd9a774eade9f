"""Scores of a short form on the scale of the full benchmark: weighted sums of its items, with their
intervals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from hqm.psychometrics.result import Array, ArrayLike, shaped

Sums = Callable[[Mapping[str, Array]], Any]
PRIOR_FAMILIES = 8
"""So many families' worth of trust the textbook variance has before held-out families correct
it.
"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScaledScores:
    """What answers to a short form say of the scores on the full benchmark, one entry a respondent.

    - `scores`: On the full benchmark's scale.
    - `se`: Their standard errors, with the factor that held-out families gave.
    - `low, high`: The ends of the intervals.
    """

    scores: Array
    se: Array
    low: Array
    high: Array


def scaled_scores(
    tallies: Mapping[str, ArrayLike],
    statistic: Sums,
    weights: ArrayLike,
    auxiliary: ArrayLike,
    *,
    factor: float = 1.0,
    freedom: float = math.inf,
    level: float = 0.95,
) -> ScaledScores:
    """Scores on the full benchmark's scale: the statistic of the weighted sums of a short form's
    tallies.

    The variance is that of a calibrated sample: of what the auxiliary values leave of each item's
    share in the score (linearised), V = sum w (w - 1) r^2. Deville, J.-C. and Sarndal, C.-E.
    (1992). JASA, 87, 376-382. It is multiplied by the square of the factor that held-out families
    gave.

    - `tallies`: Name -> (respondents, items), 0 where an answer was not scored.
    - `statistic`: From summed tallies to the score, on arrays of any shape.
    - `weights`: (items,): for how many items of the full benchmark each stands.
    - `auxiliary`: (items, values): what was known of the items before, as of other respondents'
      answers.
    - `factor, freedom`: See `error_factor`.

    NaN where the statistic is not defined; ValueError unless every item has a positive weight and
    auxiliary values.

    >>> right = np.array([[1.0, 1, 0, 1]])
    >>> known = scaled_scores({"right": right, "n": np.ones((1, 4))}, lambda t: t["right"] / t["n"],
    ...     [30, 10, 30, 30], np.ones((4, 1)))
    >>> float(known.scores[0].round(3)), float(known.se[0].round(2))
    (0.7, 0.28)
    """
    w, known = shaped(weights, "items", "weights"), shaped(auxiliary, "items, values", "auxiliary")
    if len(known) != len(w) or not (w > 0).all():
        raise ValueError(
            f"{len(w)} items need positive weights and auxiliary values, got {len(known)} rows of"
            " values"
        )
    each = {key: shaped(values, "respondents, items", key) for key, values in tallies.items()}
    sums = {key: values @ w for key, values in each.items()}
    scores = np.asarray(statistic(sums), dtype=np.float64)
    share = sum(
        (_slope(statistic, sums, key)[:, None] * values for key, values in each.items()),
        np.zeros((len(scores), len(w))),
    )
    left, size, _ = np.linalg.svd(np.sqrt(w)[:, None] * known, full_matrices=False)
    basis = left[:, size > 1e-9 * size.max()]
    scaled = np.sqrt(w) * share
    rest = (scaled - (scaled @ basis) @ basis.T) / np.sqrt(w)
    items, used = basis.shape
    spread = items / max(items - used, 1)
    se = factor * np.sqrt(spread * (np.maximum(w * (w - 1), 0.0) * rest**2).sum(axis=1))
    reach = float(stdtrit(freedom, 0.5 + level / 2)) * se
    return ScaledScores(scores=scores, se=se, low=scores - reach, high=scores + reach)


def _slope(statistic: Sums, sums: Mapping[str, Array], key: str) -> Array:
    """(respondents,): how fast the statistic rises with one of the sums; 0 where it is not
    defined.
    """
    step = np.maximum(np.abs(sums[key]), 1.0) * 1e-4
    up, down = ({**sums, key: sums[key] + sign * step} for sign in (1, -1))
    slope = (np.asarray(statistic(up)) - np.asarray(statistic(down))) / (2 * step)
    return np.where(np.isfinite(slope), slope, 0.0)


def error_factor(errors: ArrayLike, se: ArrayLike, families: Sequence[str]) -> tuple[float, float]:
    """By how much held-out families' errors exceed their standard errors, and the degrees of
    freedom of that.

    The squared ratios are averaged within families, then over families, with `PRIOR_FAMILIES`
    families at 1.

    >>> factor, freedom = error_factor([0.02, -0.01], [0.01, 0.01], ["a", "b"])
    >>> round(factor, 3), freedom
    (1.14, 10.0)
    """
    ratio = (np.asarray(errors, dtype=np.float64) / np.asarray(se, dtype=np.float64)) ** 2
    names = np.asarray(families)
    known = np.isfinite(ratio)
    of_family = [
        float(ratio[known & (names == name)].mean())
        for name in dict.fromkeys(families)
        if (known & (names == name)).any()
    ]
    count = len(of_family) + PRIOR_FAMILIES
    return math.sqrt((sum(of_family) + PRIOR_FAMILIES) / count), float(count)
