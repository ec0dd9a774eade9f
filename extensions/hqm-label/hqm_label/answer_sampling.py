"""Which answers people should label, and how wide the interval of the corrected score will be."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import expit

from hqm.psychometrics.result import (
    Array,
    ArrayLike,
    BoolArray,
    equal_shape_arrays,
    float_array,
    normal_quantile,
)

MAX_TAU = 0.8
"""The largest share of a sample that may follow estimated errors: the rest guards against errors
nobody suspected.
"""


def active_probabilities(errors: ArrayLike, labels: float, tau: float = MAX_TAU) -> Array:
    """Compute labelling probabilities that are larger for doubtful answers.

    Parameters
    ----------
    errors : array_like, shape (answers,)
        q, the chance that the score is wrong, 0 to 1; NaN takes the mean of the others' u.
    labels : float
        B, how many labels there will be.
    tau : float, default MAX_TAU
        0 is uniform; at most .8.

    Returns
    -------
    Array
        (answers,): probabilities with the sum B.

    Raises
    ------
    ValueError
        `tau`, `labels` or `errors` lie outside their ranges.

    Notes
    -----
        p = B (tau u / sum u + (1 - tau) / N),   u = sqrt(q (1 - q)),   at most 1

    What is cut at 1 is dealt out among the other answers, so that the sum stays B.

    References
    ----------
    .. [1] Zrnic, T. and Candes, E. (2024). Active statistical inference. arXiv 2403.03208.

    Examples
    --------
    >>> active_probabilities([0.5, 0.0, 0.0, 0.0], 1).round(2).tolist()
    [0.85, 0.05, 0.05, 0.05]
    """
    q = float_array(errors, "answers", "errors")
    finite = np.isfinite(q)
    if (
        not 0 <= tau <= MAX_TAU
        or not 0 < labels <= len(q)
        or ((q[finite] < 0) | (q[finite] > 1)).any()
    ):
        raise ValueError(
            f"tau is 0 to {MAX_TAU}, labels 1 to {len(q)}, errors 0 to 1; got {tau}, {labels}"
        )
    # the standard deviation of a 0/1 error, in proportion to which sampling is best (Neyman)
    u = np.sqrt(np.where(finite, q * (1 - q), 0.0))
    u = np.where(finite, u, u[finite].mean() if finite.any() else 1.0)
    if u.sum() > 0:
        sampling_shares = tau * u / u.sum() + (1 - tau) / len(u)
    else:
        sampling_shares = np.full(len(u), 1 / len(u))
    # answers that are labelled for certain
    certain = np.zeros(len(u), dtype=bool)
    while True:
        remaining = labels - int(certain.sum())
        p = np.where(
            certain,
            1.0,
            remaining * sampling_shares / max(float(sampling_shares[~certain].sum()), 1e-300),
        )
        if not (p[~certain] > 1).any():
            return p
        # answers with p of 1 are taken for certain; the rest is shared among the others
        certain |= p >= 1


def systematic_sample(probabilities: ArrayLike, rng: np.random.Generator) -> BoolArray:
    """Draw a systematic sample with given inclusion probabilities.

    Parameters
    ----------
    probabilities : array_like, shape (answers,)
        Inclusion probabilities.
    rng : numpy.random.Generator
        Source of random numbers.

    Returns
    -------
    BoolArray
        (answers,): the answers that are drawn; as many as the probabilities' sum.

    Raises
    ------
    ValueError
        An array has another shape.

    References
    ----------
    .. [1] Madow, W. G. (1949). On the theory of systematic sampling. Annals of Mathematical
       Statistics, 20, 333-354.

    Examples
    --------
    >>> systematic_sample([0.5, 0.5, 1.0, 0.5, 0.5], np.random.default_rng(0)).sum().item()
    3
    """
    p = float_array(probabilities, "answers", "probabilities")
    cumulative = np.cumsum(p)
    # cumulated rounding must not lose the last label
    cumulative[-1:] = np.round(cumulative[-1:], 9)
    # Madow (1949): one random start, then equal steps through the cumulated probabilities
    # an answer is drawn where its interval contains a step: with probability p
    steps = np.floor(cumulative - rng.random())
    return np.asarray(np.diff(steps, prepend=-1.0) > 0)


def expected_width(
    scores: ArrayLike,
    errors: ArrayLike,
    probabilities: ArrayLike,
    *,
    label_design_effect: float = 1.0,
    answer_design_effect: float = 1.0,
    level: float = 0.95,
) -> float:
    """Forecast the width of the interval of the mean corrected score (`ppi_scores`).

    Parameters
    ----------
    scores, errors, probabilities : array_like, shape (answers,)
        The benchmark's scores 0 to 1, the chance q that each is wrong, and the probability that it
        is labelled.
    label_design_effect, answer_design_effect : float, default 1.0
        By how much labels on one picture make the first part larger, and answers to it the second.
    level : float, default 0.95
        Confidence level of the interval.

    Returns
    -------
    float
        The width of the interval; NaN with fewer than two scored answers.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        width^2 = 4 z^2 (sum_i (1 - p_i) / p_i E(e_i^2) / N^2 + var(h) / N),
        e = h - lambda a less its mean

    where the label h is 1 - q of the time what the score a says. It is as good as the errors that
    it is given.

    Examples
    --------
    >>> round(expected_width(np.tile([1.0, 0.0], 500), np.full(1000, 0.1), np.full(1000, 0.2)), 3)
    0.097
    """
    a, q = equal_shape_arrays(scores, errors, "answers")
    p = equal_shape_arrays(a, probabilities, "answers")[1]
    finite = np.isfinite(a) & np.isfinite(q)
    a = a[finite]
    q = q[finite]
    p = p[finite]
    n_answers = len(a)
    if n_answers < 2:
        return math.nan
    # expected label: the score where it is right, and its opposite where not
    truth = a * (1 - q) + (1 - a) * q
    # (1 - p) / p, what the answers not drawn add to the variance
    weight = (1 - p) / p
    if not weight.sum() > 0:
        weight = np.ones(n_answers)
    mean_a = np.average(a, weights=weight)
    mean_h = np.average(truth, weights=weight)
    score_variance = float(np.sum(weight * (a - mean_a) ** 2))
    if score_variance > 0:
        # lambda, the slope of labels on scores, cut to 0..1 as in `ppi_scores`
        slope = float(np.sum(weight * (a - mean_a) * (truth - mean_h))) / score_variance
    else:
        slope = 0.0
    residual = truth - min(1.0, max(0.0, slope)) * a
    # the label's own variance given the score, and the residual's about its mean
    second_moments = truth * (1 - truth) + (residual - residual.mean()) ** 2
    # Horvitz and Thompson: variance of a sum over a sample with probabilities p
    sampling_variance = float(((1 - p) / p * second_moments).sum()) / n_answers**2
    population_variance = float(truth.mean() * (1 - truth.mean())) / n_answers
    return (
        2
        * normal_quantile(level)
        * math.sqrt(
            label_design_effect * sampling_variance + answer_design_effect * population_variance
        )
    )


def errors_from_disagreement(n_differing: ArrayLike, n_others: ArrayLike) -> Array:
    """Estimate the chance that a verdict is wrong from its disagreement with other verdicts.

    Parameters
    ----------
    n_differing : array_like, shape (answers,)
        k, how many of the other verdicts differ.
    n_others : array_like, shape (answers,)
        K, how many other verdicts there are.

    Returns
    -------
    Array
        (answers,): the chance q of every verdict; NaN where K is 0.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
    All verdicts err independently with one probability e, which the pairs that differ give: d = 2 e
    (1 - e). Then

        q = e e^(K-k) (1-e)^k / (e e^(K-k) (1-e)^k + (1-e) (1-e)^(K-k) e^k)
        k of K others differ

    Errors that verdicts share are not seen. (answers,): k and K; NaN comes back where K is 0.

    Examples
    --------
    >>> errors_from_disagreement([0, 1, 0, 0], [1, 1, 1, 1]).round(3).tolist()
    [0.029, 0.5, 0.029, 0.029]
    """
    k, total = equal_shape_arrays(n_differing, n_others, "answers")
    judged = total > 0
    if not judged.any():
        return np.full(len(k), np.nan)
    # at most .5, that of coin flips, and at least half a differing pair
    pair_disagreement = min(
        0.5,
        max(float(k[judged].sum() / total[judged].sum()), 1 / (2 * float(total[judged].sum()) + 2)),
    )
    # the smaller root of d = 2 e (1 - e)
    error = (1 - math.sqrt(1 - 2 * pair_disagreement)) / 2
    # (K - k) verdicts for and k against, and the prior odds of the verdict itself
    odds = math.log(error / (1 - error))
    return np.where(judged, expit(odds * (1 + total - 2 * k)), np.nan)
