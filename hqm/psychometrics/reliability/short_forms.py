"""Scores of a short form on the scale of the full benchmark: weighted sums of its items, with their
intervals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from hqm.psychometrics.result import Array, ArrayLike, float_array

Statistic = Callable[[Mapping[str, Array]], object]
PRIOR_FAMILIES = 8
"""So many families' worth of trust the textbook variance has before held-out families correct
it.
"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScaledScores:
    """Scores of a short form on the scale of the full benchmark, one entry a respondent.

    Attributes
    ----------
    scores
        On the full benchmark's scale.
    se
        Their standard errors, with the factor that held-out families gave.
    low, high
        The ends of the intervals.
    """

    scores: Array
    se: Array
    low: Array
    high: Array


def scaled_scores(
    tallies: Mapping[str, ArrayLike],
    statistic: Statistic,
    weights: ArrayLike,
    auxiliary: ArrayLike,
    *,
    factor: float = 1.0,
    freedom: float = math.inf,
    level: float = 0.95,
) -> ScaledScores:
    """Estimate scores on the full benchmark's scale from a short form's weighted tallies.

    The variance is that of a calibrated sample: of what the auxiliary values leave of each item's
    share in the score (linearised), V = sum w (w - 1) r^2. It is multiplied by the square of the
    factor that held-out families gave.

    Parameters
    ----------
    tallies : Mapping[str, array_like]
        Name -> (respondents, items), 0 where an answer was not scored.
    statistic : Statistic
        From summed tallies to the score, on arrays of any shape.
    weights : array_like, shape (items,)
        For how many items of the full benchmark each stands.
    auxiliary : array_like, shape (items, values)
        What was known of the items before, as of other respondents' answers.
    factor : float, default 1.0
        Factor of the standard errors (`error_factor`).
    freedom : float, default math.inf
        Degrees of freedom of the factor (`error_factor`).
    level : float, default 0.95
        Confidence level of the interval.

    Returns
    -------
    ScaledScores
        The scores, their standard errors and intervals. NaN where the
        statistic is not defined.

    Raises
    ------
    ValueError
        An item has no positive weight or no auxiliary values.

    References
    ----------
    .. [1] Deville, J.-C. and Sarndal, C.-E. (1992). JASA, 87, 376-382.

    Examples
    --------
    >>> right = np.array([[1.0, 1, 0, 1]])
    >>> known = scaled_scores({"right": right, "n": np.ones((1, 4))}, lambda t: t["right"] / t["n"],
    ...     [30, 10, 30, 30], np.ones((4, 1)))
    >>> float(known.scores[0].round(3)), float(known.se[0].round(2))
    (0.7, 0.28)
    """
    w = float_array(weights, "items", "weights")
    auxiliary_values = float_array(auxiliary, "items, values", "auxiliary")
    if len(auxiliary_values) != len(w) or not (w > 0).all():
        raise ValueError(
            f"{len(w)} items need positive weights and auxiliary values, got"
            f" {len(auxiliary_values)} rows of values"
        )
    item_tallies = {
        key: float_array(values, "respondents, items", key) for key, values in tallies.items()
    }
    # Horvitz-Thompson: an item that stands for w items counts w times
    sums = {key: values @ w for key, values in item_tallies.items()}
    scores = np.asarray(statistic(sums), dtype=np.float64)
    # to first order the score is linear in the sums: each item's share in it
    linearised = sum(
        (_slope(statistic, sums, key)[:, None] * values for key, values in item_tallies.items()),
        np.zeros((len(scores), len(w))),
    )
    # residuals of the weighted regression on the auxiliary values (Deville and Sarndal 1992)
    vectors, singular_values, _ = np.linalg.svd(
        np.sqrt(w)[:, None] * auxiliary_values, full_matrices=False
    )
    # auxiliary values that depend linearly on others add no degree of freedom
    basis = vectors[:, singular_values > 1e-9 * singular_values.max()]
    weighted = np.sqrt(w) * linearised
    residual = (weighted - (weighted @ basis) @ basis.T) / np.sqrt(w)
    n_items, n_auxiliary = basis.shape
    # as many degrees of freedom are lost as auxiliary values are used
    df_correction = n_items / max(n_items - n_auxiliary, 1)
    # items drawn independently with probability 1 / w: variance (w^2 - w) r^2 each
    se = factor * np.sqrt(df_correction * (np.maximum(w * (w - 1), 0.0) * residual**2).sum(axis=1))
    half_width = float(stdtrit(freedom, 0.5 + level / 2)) * se
    return ScaledScores(scores=scores, se=se, low=scores - half_width, high=scores + half_width)


def _slope(statistic: Statistic, sums: Mapping[str, Array], key: str) -> Array:
    """(respondents,): how fast the statistic rises with one of the sums; 0 where it is not
    defined.
    """
    # a step in proportion to the sum, and never 0
    step = np.maximum(np.abs(sums[key]), 1.0) * 1e-4
    upper, lower = ({**sums, key: sums[key] + sign * step} for sign in (1, -1))
    slope = (np.asarray(statistic(upper)) - np.asarray(statistic(lower))) / (2 * step)
    return np.where(np.isfinite(slope), slope, 0.0)


def error_factor(errors: ArrayLike, se: ArrayLike, families: Sequence[str]) -> tuple[float, float]:
    """Compute by how much held-out families' errors exceed their standard errors.

    The squared ratios are averaged within families, then over families, with `PRIOR_FAMILIES`
    families at 1.

    Parameters
    ----------
    errors : array_like
        Errors of held-out families.
    se : array_like
        Their standard errors.
    families : sequence of str
        The family of each error.

    Returns
    -------
    tuple[float, float]
        The factor, and its degrees of freedom.

    Examples
    --------
    >>> factor, freedom = error_factor([0.02, -0.01], [0.01, 0.01], ["a", "b"])
    >>> round(factor, 3), freedom
    (1.14, 10.0)
    """
    ratio = (np.asarray(errors, dtype=np.float64) / np.asarray(se, dtype=np.float64)) ** 2
    family_names = np.asarray(families)
    finite = np.isfinite(ratio)
    family_means = [
        float(ratio[finite & (family_names == name)].mean())
        for name in dict.fromkeys(families)
        if (finite & (family_names == name)).any()
    ]
    # shrinkage: the textbook factor of 1 weighs as much as `PRIOR_FAMILIES` families
    count = len(family_means) + PRIOR_FAMILIES
    return math.sqrt((sum(family_means) + PRIOR_FAMILIES) / count), float(count)
