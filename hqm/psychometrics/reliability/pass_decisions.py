"""How often the same respondents pass or fail a threshold again."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr, roots_jacobi

from hqm.psychometrics.result import Array, ArrayLike, Outcome, float_array

MIN_FOUR_PARAMETERS = 30
"""Respondents from which the third and fourth moments of their true scores are used."""
MIN_RESPONDENTS = 5
_N_NODES = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionConsistency(Outcome):
    """The chance that a decision about a respondent comes out alike on other items.

    Parameters
    ----------
    consistency
        The chance that two tests of the same kind both pass a respondent, or both fail it.
    kappa
        The same beyond chance; NaN where all respondents pass or fail.
    n_items
        The effective length: right-or-wrong items of equal difficulty that would be as reliable.
    shapes, ends
        The shapes of the beta distribution of true scores, and its ends.
    """

    consistency: float = math.nan
    kappa: float = math.nan
    n_items: int = 0
    shapes: tuple[float, float] = (math.nan, math.nan)
    ends: tuple[float, float] = (math.nan, math.nan)


def decision_consistency(scores: ArrayLike, reliability: float, cut: float) -> DecisionConsistency:
    """Estimate how often the same respondents pass or fail a threshold again.

    Parameters
    ----------
    scores : array_like, shape (respondents,)
        Observed scores as shares of the scale, from 0 to 1.
    reliability : float
        Reliability of the scores over what the second test draws anew: other items, or reruns.
    cut : float
        The lowest score that passes.

    Returns
    -------
    DecisionConsistency
        `insufficient` for fewer than five respondents, `degenerate` where the reliability is no
        number between 0 and 1, or the true scores have no variance.

    Notes
    -----
    Livingston and Lewis (1995), Journal of Educational Measurement 32, 179-197, with mean m and
    variance v of the scores, and their reliability r:

        n = (m (1 - m) - r v) / (v (1 - r))        the effective length, rounded
        true scores: a beta distribution with their moments; observed: binomial in n
        consistency = E[P(pass | t)^2 + P(fail | t)^2]                      (Hanson 1991)

    The beta distribution has four moments from 30 respondents on, where it lies within 0 and 1, and
    two moments and the ends 0 and 1 else.

    Simulated with items of a two-parameter logistic model and models in families, which is another
    model than the estimator's (`python -m tests.test_pass_decisions 300`): the mean differs
    from the truth of the same models by at most .016, a single estimate by .02 (40 models) to .07
    (ten models that are alike), root mean square.

    Examples
    --------
    >>> round(decision_consistency([0.5, 0.6, 0.7, 0.8, 0.9], 0.9, 0.75).consistency, 3)
    0.844
    """
    x = float_array(scores, "respondents")
    if len(x) < MIN_RESPONDENTS:
        reason = f"{len(x)} respondents have no distribution of scores: five are needed"
        return DecisionConsistency.absent("insufficient", reason)
    mean = float(x.mean())
    variance = float(x.var(ddof=1))
    if not 0 < reliability < 1 or variance <= 0:
        reason = "the scores have no reliability between 0 and 1"
        return DecisionConsistency.absent("degenerate", reason)
    length = (mean * (1 - mean) - reliability * variance) / (variance * (1 - reliability))
    # four moments need four factors n, n - 1, n - 2, n - 3 above 0
    n = max(round(length), 4)
    moments = _true_moments(x * n, n)
    if moments[1] <= moments[0] ** 2:
        reason = "the scores differ by no more than their error"
        return DecisionConsistency.absent("degenerate", reason)
    shapes, ends = _beta(moments, len(x))
    # Gauss-Jacobi nodes of a beta distribution with these shapes
    nodes, weights = roots_jacobi(_N_NODES, shapes[1] - 1, shapes[0] - 1)
    true_scores = ends[0] + (ends[1] - ends[0]) * (nodes + 1) / 2
    if cut > 0:
        # a score passes from the cut on; without 1e-9, rounding of cut * n could ask for one item
        # more
        fail = bdtr(math.ceil(cut * n - 1e-9) - 1, n, true_scores)
    else:
        fail = 0.0 * nodes
    weights = weights / weights.sum()
    # both tests pass, or both fail, independently given the true score
    consistency = float(weights @ (fail**2 + (1 - fail) ** 2))
    share = float(weights @ fail)
    # two tests that share nothing but the share of failures
    chance = share**2 + (1 - share) ** 2
    kappa = (consistency - chance) / (1 - chance) if chance < 1 else math.nan
    return DecisionConsistency(
        consistency=consistency, kappa=kappa, n_items=n, shapes=shapes, ends=ends
    )


def _true_moments(x: Array, n: int) -> Array:
    """Return the first four raw moments of true scores: E[t^k] = E[x_(k)] / n_(k), with falling
    factorials (Lord 1965).
    """
    moments = np.empty(4)
    numerator = np.ones_like(x)
    denominator = 1.0
    for k in range(4):
        numerator = numerator * (x - k)
        denominator *= n - k
        moments[k] = numerator.mean() / denominator
    return moments


def _beta(moments: Array, n_respondents: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the shapes and the ends of the beta distribution with these moments."""
    m1, m2, m3, m4 = moments
    variance = m2 - m1**2
    if n_respondents >= MIN_FOUR_PARAMETERS:
        skewness = (m3 - 3 * m1 * m2 + 2 * m1**3) / variance**1.5
        kurtosis = (m4 - 4 * m1 * m3 + 6 * m1**2 * m2 - 3 * m1**4) / variance**2
        # Hanson (1991): r is the sum of the shapes
        r = 6 * (kurtosis - skewness**2 - 1) / (6 + 3 * skewness**2 - 2 * kurtosis)
        divisor = (r + 2) * (r + 3) * kurtosis - 3 * (r - 6) * (r + 1)
        root = 1 - 24 * (r + 1) / divisor if divisor else -1.0
        if r > 0 and 0 <= root < 1:
            half = r / 2 * math.sqrt(root)
            # the larger shape is a where the tail lies on the left
            a, b = (r / 2 + half, r / 2 - half) if skewness < 0 else (r / 2 - half, r / 2 + half)
            step = math.sqrt(variance * (r + 1) / (a * b))
            low = m1 - a * step
            high = m1 + b * step
            # ends outside the scale: the two-parameter distribution is used instead
            if low >= 0 and high <= 1:
                return (float(a), float(b)), (float(low), float(high))
    # method of moments: a + b = m (1 - m) / v - 1
    total = m1 * (1 - m1) / variance - 1
    return (float(m1 * total), float((1 - m1) * total)), (0.0, 1.0)


__all__ = ["DecisionConsistency", "decision_consistency"]
