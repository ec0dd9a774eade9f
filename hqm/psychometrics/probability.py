"""Reliability without reruns: closed forms from the probabilities of the answers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.ranks import PairOrder, pair_order
from hqm.psychometrics.result import (
    Array,
    Coefficient,
    Numbers,
    Status,
    is_constant,
    mean_of_known,
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


def expected_retest(probabilities: npt.ArrayLike) -> ExpectedRetest:
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


def sampling_probability(
    log_odds: npt.ArrayLike, temperature: float, *, top_p: float = 1.0
) -> Array:
    """The probability of the first of two answers at another temperature: 1 / (1 + exp(-l / T)).

    - `log_odds`: Any shape: l = log P(first) - log P(second) at temperature 1.
    - `temperature`: 0 is greedy decoding, where an even chance stays .5; the result is NaN below 0.
    - `top_p`: Nucleus: an answer whose probability reaches it is always given.

    >>> sampling_probability([1.0, -1.0, 0.0], 0.5).round(4).tolist()
    [0.8808, 0.1192, 0.5]
    """
    l = np.asarray(log_odds, dtype=np.float64)  # noqa: E741
    if not temperature >= 0:
        return np.full(l.shape, np.nan)
    if temperature == 0:
        p = np.where(np.isnan(l), np.nan, np.where(l > 0, 1.0, np.where(l < 0, 0.0, 0.5)))
    else:
        # tanh does not overflow
        p = 0.5 * (1 + np.tanh(l / (2 * temperature)))
    return (
        np.where(p >= top_p, 1.0, np.where(1 - p >= top_p, 0.0, p)) if top_p < 1 else np.asarray(p)
    )


@dataclass(frozen=True, slots=True)
class TemperatureCurve:
    """Expected reliability, mean score and mean noise variance at each temperature."""

    temperature: tuple[float, ...]
    rho: tuple[Coefficient, ...]
    noise: tuple[float, ...]
    score: tuple[float, ...]


def temperature_curve(
    log_odds: npt.ArrayLike, temperatures: npt.ArrayLike, *, top_p: float = 1.0
) -> TemperatureCurve:
    """The expected test-retest reliability at several temperatures, from one forward pass.

    It shows where a benchmark looks reliable only because it is run near temperature 0. Status as
    in `expected_retest`.

    - `log_odds`: (respondents, items): log odds at temperature 1 of the answer that is scored 1.
    - `temperatures, top_p`: (points,), and the nucleus.

    >>> [round(c.value, 3) for c in temperature_curve(np.linspace(-2, 2, 40).reshape(4, 10),
    ...     [0, 0.5, 1, 2]).rho]
    [1.0, 0.934, 0.806, 0.519]
    """
    points = [
        (float(t), expected_retest(sampling_probability(log_odds, float(t), top_p=top_p)))
        for t in np.ravel(np.asarray(temperatures, dtype=np.float64))
    ]
    return TemperatureCurve(
        tuple(t for t, _ in points),
        tuple(c.rho for _, c in points),
        tuple(mean_of_known(c.noise) for _, c in points),
        tuple(mean_of_known(c.scores) for _, c in points),
    )
