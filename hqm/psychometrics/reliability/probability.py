"""Reliability without reruns: closed forms from the probabilities of the answers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hqm.psychometrics.agreement.ranks import PairOrder, pair_order
from hqm.psychometrics.result import (
    Array,
    ArrayLike,
    Coefficient,
    IntArray,
    Status,
    float_array,
    is_constant,
)


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedRetest:
    """Test-retest statistics that reruns would show on average, computed from one pass.

    Attributes
    ----------
    rho
        Reliability of one run's scores (the expected ICC, and the expected r to first order); its
        `status` speaks for the whole.
    r_mean, r_deviation
        Mean and standard deviation over reruns of Pearson's r among these respondents; good when
        rho > .9.
    scores, noise
        (respondents,): expected score, and its variance over seeds.
    agreement, kappa
        (respondents,): expected share of items that come out alike in two runs, and Cohen's kappa
        of them; a kappa is NaN where only one outcome can occur.
    pairs
        Flip probabilities of pairs and the expected tau, with the correction for counts.
    """

    rho: Coefficient
    r_mean: float
    r_deviation: float
    scores: Array
    noise: Array
    agreement: Array
    kappa: Array
    pairs: PairOrder | None


def expected_retest(probabilities: ArrayLike) -> ExpectedRetest:
    """Compute test-retest reliability from the probabilities of the scores.

    How often a model that answers yes with probability .7 will answer otherwise follows from the
    probability, so one forward pass replaces any number of reruns. It is valid when items and runs
    are independent given the probabilities: not after a sampled chain of thought, and not for a
    served model that differs from run to run.

    Parameters
    ----------
    probabilities : array_like, shape (respondents, items)
        The probability of a score of 1; NaN where it is not known.

    Returns
    -------
    ExpectedRetest
        The expected reliability and what it is computed from. The status is `insufficient` below 3
        respondents with items, `degenerate` when the expected scores do not differ,
        `not_informative` with the value 1 when every probability is 0 or 1 (greedy decoding), and
        `not_applicable` when a number is no probability.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        mu_m = mean_i p_mi,   v_m = sum_i p_mi (1 - p_mi) / n^2,   rho = s2_mu / (s2_mu + vbar)
        r among these respondents: mean 1 - tr(P V) / A, deviation sqrt(2 tr((P V)^2)) / A,
            A = sum d^2, d = mu - mean mu, P = I - 11' / M - d d' / A, V = diag(v)
        per respondent: agreement = mean(p^2 + (1 - p)^2),  kappa = Var_i(p) / (mu (1 - mu))

    Examples
    --------
    >>> round(expected_retest(np.repeat([[0.9], [0.5], [0.1]], 100, axis=1)).rho.value, 6)
    0.991121
    """
    p = float_array(probabilities, "respondents, items", "probabilities")
    finite = np.isfinite(p)
    count = finite.sum(axis=1)
    # items that lack a probability are no part of the mean
    n = count.astype(np.float64)
    included = np.flatnonzero(count > 0)
    if len(included) < 3:
        return _absent(
            "insufficient",
            "an expected reliability needs 3 respondents with probabilities, there are"
            f" {len(included)}",
            count,
        )
    finite_values = p[finite]
    if (finite_values < 0).any() or (finite_values > 1).any():
        return _absent("not_applicable", "a number is outside 0 to 1 and no probability", count)
    filled = np.where(finite, p, 0.0)
    # variance of an answer of 1 or 0 (Bernoulli)
    seed_variance = np.where(finite, p * (1 - p), 0.0)
    n[n == 0] = np.nan
    mu = filled.sum(axis=1) / n
    noise = seed_variance.sum(axis=1) / n**2
    # p^2 + (1 - p)^2 = 1 - 2 p (1 - p)
    agreement = 1 - 2 * seed_variance.sum(axis=1) / n
    item_variance = np.where(finite, (filled - mu[:, None]) ** 2, 0.0).sum(axis=1) / n
    # kappa's chance agreement leaves mu (1 - mu); at 0 or 1 kappa is undefined
    binary_variance = mu * (1 - mu)
    kappa = np.divide(
        item_variance, binary_variance, out=np.full(len(p), np.nan), where=binary_variance > 1e-15
    )
    # one number of items decides how exact pairs are ordered, so all must share it
    pairs = pair_order(
        mu, noise, n_items=int(count.max()) if len(set(count[included].tolist())) == 1 else None
    )
    rho, mean, deviation = _reliability(mu[included], noise[included])
    return ExpectedRetest(rho, mean, deviation, mu, noise, agreement, kappa, pairs)


def _reliability(mu: Array, noise: Array) -> tuple[Coefficient, float, float]:
    """rho, and mean and standard deviation of r among these respondents, from their expected scores
    and variances between reruns.
    """
    m = len(mu)
    score_variance = float(mu.var(ddof=1))
    vbar = float(noise.mean())
    if is_constant(mu):
        return (
            Coefficient.absent(
                "degenerate", "the expected scores of the respondents do not differ", m
            ),
            math.nan,
            math.nan,
        )
    # certain answers repeat by construction, which shows nothing
    if vbar == 0.0:
        return (
            Coefficient(
                1.0,
                n=m,
                status="not_informative",
                reason="every answer is certain: a rerun repeats it by construction",
            ),
            1.0,
            0.0,
        )
    # d, a, P as in the docstring of `expected_retest`: first-order moments of r
    d = mu - mu.mean()
    a = float(np.dot(d, d))
    # the projection P takes off the mean and the direction of d itself, in which r does not move
    projected = (np.eye(m) - 1 / m - np.outer(d, d) / a) * noise
    mean = 1 - float(np.trace(projected)) / a
    deviation = math.sqrt(2 * float((projected * projected.T).sum())) / a
    return (
        Coefficient(score_variance / (score_variance + vbar), n=m, method="closed form"),
        mean,
        deviation,
    )


def _absent(status: Status, reason: str, count: IntArray) -> ExpectedRetest:
    nan = math.nan
    m = len(count)
    undefined = Coefficient.absent(status, reason, m)
    missing = np.full(m, nan)
    return ExpectedRetest(undefined, nan, nan, missing, missing, missing, missing, None)
