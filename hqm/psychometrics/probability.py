"""Reliability without reruns: closed forms from the probabilities of the answers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hqm.psychometrics.ranks import PairOrder, pair_order
from hqm.psychometrics.result import (
    Array,
    ArrayLike,
    Coefficient,
    Numbers,
    Status,
    is_constant,
    shaped,
)


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedRetest:
    """What reruns would show on average, computed from one pass.

    - `rho`: Reliability of one run's scores (the expected ICC, and the expected r to first order);
      its `status` speaks for the whole.
    - `r_mean, r_deviation`: Mean and standard deviation over reruns of Pearson's r among these
      respondents; good when rho > .9.
    - `scores, noise`: (respondents,): expected score, and its variance over seeds.
    - `agreement, kappa`: (respondents,): expected share of items that come out alike in two runs,
      and Cohen's kappa of them; a kappa is NaN where only one outcome can occur.
    - `pairs`: Flip probabilities of pairs and the expected tau, with the correction for counts.
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
    """Test-retest reliability from the probability that each item is scored 1, without a single
    rerun.

    How often a model that answers yes with probability .7 will answer otherwise follows from the
    probability, so one forward pass replaces any number of reruns. It is valid when items and runs
    are independent given the probabilities: not after a sampled chain of thought, and not for a
    served model that differs from run to run.

        mu_m = mean_i p_mi,   v_m = sum_i p_mi (1 - p_mi) / n^2,   rho = s2_mu / (s2_mu + vbar)
        r among these respondents: mean 1 - tr(P V) / A, deviation sqrt(2 tr((P V)^2)) / A,
            A = sum d^2, d = mu - mean mu, P = I - 11' / M - d d' / A, V = diag(v)
        per respondent: agreement = mean(p^2 + (1 - p)^2),  kappa = Var_i(p) / (mu (1 - mu))

    - `probabilities`: (respondents, items): the probability of a score of 1; NaN where it is not
      known.

    The status is `insufficient` below 3 respondents with items, `degenerate` when the expected
    scores do not differ, `not_informative` with the value 1 when every probability is 0 or 1
    (greedy decoding), and `not_applicable` when a number is no probability.

    >>> round(expected_retest(np.repeat([[0.9], [0.5], [0.1]], 100, axis=1)).rho.value, 6)
    0.991121
    """
    p = shaped(probabilities, "respondents, items", "probabilities")
    there = np.isfinite(p)
    count = there.sum(axis=1)
    n = count.astype(np.float64)
    included = np.flatnonzero(count > 0)
    if len(included) < 3:
        return _absent(
            "insufficient",
            "an expected reliability needs 3 respondents with probabilities, there are"
            f" {len(included)}",
            count,
        )
    known = p[there]
    if (known < 0).any() or (known > 1).any():
        return _absent("not_applicable", "a number is outside 0 to 1 and no probability", count)
    filled = np.where(there, p, 0.0)
    seed = np.where(there, p * (1 - p), 0.0)
    n[n == 0] = np.nan
    mu, noise = filled.sum(axis=1) / n, seed.sum(axis=1) / n**2
    agreement = 1 - 2 * seed.sum(axis=1) / n
    within = np.where(there, (filled - mu[:, None]) ** 2, 0.0).sum(axis=1) / n
    margin = mu * (1 - mu)
    kappa = np.divide(within, margin, out=np.full(len(p), np.nan), where=margin > 1e-15)
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
    spread, vbar = float(mu.var(ddof=1)), float(noise.mean())
    if is_constant(mu):
        return (
            Coefficient.absent(
                "degenerate", "the expected scores of the respondents do not differ", m
            ),
            math.nan,
            math.nan,
        )
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
    d = mu - mu.mean()
    a = float(np.dot(d, d))
    projected = (np.eye(m) - 1 / m - np.outer(d, d) / a) * noise
    mean = 1 - float(np.trace(projected)) / a
    deviation = math.sqrt(2 * float((projected * projected.T).sum())) / a
    return Coefficient(spread / (spread + vbar), n=m, method="closed form"), mean, deviation


def _absent(status: Status, reason: str, count: Numbers) -> ExpectedRetest:
    nan, m = math.nan, len(count)
    none, missing = Coefficient.absent(status, reason, m), np.full(m, nan)
    return ExpectedRetest(none, nan, nan, missing, missing, missing, missing, None)
