"""Reliabilities of two measures from the same respondents, and a test of their difference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import Array
from hqm.psychometrics.correlation import is_constant
from hqm.psychometrics.distributions import student_above, student_quantile
from hqm.psychometrics.resampling import FEWEST, multiplicities
from hqm.psychometrics.result import Status

Statistic = Literal["pearson", "icc_a1", "rho_g"]
_EDGE = 1 - 1e-12


@dataclass(frozen=True, slots=True)
class ReliabilityDifference:
    """Two reliabilities from the same respondents, and whether they differ.

    `low` and `high` bound the difference; `p` tests that it is 0. Both are NaN where respondents
    are too few.
    """

    first: float
    second: float
    difference: float
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan
    n: int = 0
    method: str = ""
    level: float = 0.95
    status: Status = "ok"
    reason: str = ""
    error: float = math.nan
    """The standard error of the difference of both values' atanh."""


def weighted_reliability(
    weights: npt.ArrayLike,
    scores: npt.ArrayLike,
    statistic: Statistic = "pearson",
    noise: npt.ArrayLike | None = None,
) -> Array:
    """A reliability for many resamples of the respondents at once.

        pearson   the correlation of the first two administrations
        icc_a1    (MSR - MSE) / (MSR + (k - 1) MSE + k (MSC - MSE) / n), all k administrations
        rho_g     1 - mean noise / mean over administrations of the variance of the scores

    - `weights`: (replicates, respondents): how often each respondent is drawn.
    - `scores`: (administrations, respondents).
    - `noise`: (respondents,): for `rho_g`, the variance of one run's score over seeds.

    (replicates,) array; NaN where a replicate does not vary.

    >>> scores = [[9.0, 6, 8, 7, 10, 6], [2, 1, 4, 1, 5, 2], [5, 3, 6, 2, 6, 4], [8, 2, 8, 6, 9, 7]]
    >>> round(float(weighted_reliability([[1] * 6], scores, "icc_a1")[0]), 4)  # Shrout and Fleiss 1979
    0.2898
    """
    w, x = (
        np.atleast_2d(np.asarray(weights, dtype=np.float64)),
        np.asarray(scores, dtype=np.float64),
    )
    if x.ndim != 2 or w.shape[1] != x.shape[1]:
        raise ValueError(f"scores must have shape (administrations, {w.shape[1]}), got {x.shape}")
    k, n = len(x), w.sum(axis=1)
    x = x - x.mean()
    mean = w @ x.T / n[:, None]
    square = w @ (x * x).T
    spread = square - n[:, None] * mean**2
    flat = (spread <= 1e-12 * np.maximum(square, 1e-300)).any(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        if statistic == "pearson":
            cross = w @ (x[0] * x[1]) - n * mean[:, 0] * mean[:, 1]
            reliability = cross / np.sqrt(spread[:, 0] * spread[:, 1])
        elif statistic == "icc_a1":
            row, grand = x.mean(axis=0), mean.mean(axis=1)
            between = k * (w @ row**2 - n * grand**2)
            columns = n * ((mean - grand[:, None]) ** 2).sum(axis=1)
            rest = square.sum(axis=1) - k * n * grand**2 - between - columns
            msr, msc, mse = between / (n - 1), columns / (k - 1), rest / ((n - 1) * (k - 1))
            reliability = (msr - mse) / (msr + (k - 1) * mse + k * (msc - mse) / n)
        else:
            if noise is None:
                raise ValueError("rho_g needs the noise of the scores")
            v = np.asarray(noise, dtype=np.float64)
            reliability = 1 - (w @ v / n) / (spread.mean(axis=1) / (n - 1))
    # what is left of a perfect repetition after subtraction is rounding
    reliability = np.where(np.abs(reliability) > _EDGE, np.sign(reliability), reliability)
    return np.asarray(np.where(flat, np.nan, reliability), dtype=np.float64)


def reliability_difference(
    measure: npt.ArrayLike,
    other: npt.ArrayLike,
    rng: np.random.Generator,
    *,
    statistic: Statistic = "pearson",
    noise: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    factors: tuple[float, float] = (1.0, 1.0),
    families: Sequence[str] | None = None,
    n_effective: float | None = None,
    shared: float = 0.0,
    least: float = 0.0,
    replicates: int = 2000,
    level: float = 0.95,
) -> ReliabilityDifference:
    """By how much one measure is more reliable than another, for other respondents (random facet).

    Strong respondents are strong in both measures, so the two reliabilities go up and down
    together, and whether their intervals overlap says nothing. Here each replicate draws the same
    respondents (or families) for both.

        T = atanh(rho_one) - atanh(rho_other),   p from T / SE(T) on Student's t with units - 1 df
        SE(T)^2 over replicates, plus `shared`; the interval of rho_one - rho_other is that of T, taken back around the
        mean of both

    Efron, B. and Tibshirani, R. J. (1993). An Introduction to the Bootstrap.
    docs/psychometrics_compare.md has the rates of false alarms, which
    `tests/perf/compare_errors.py` measures. Other respondents meet other items too, so the error
    contains what the items do to all respondents alike, and is never smaller than the error over
    items.

    - `measure, other`: (administrations, respondents): each measure's scores; respondents that lack
      one are left out.
    - `statistic, noise`: As in `weighted_reliability`; the noise of each measure.
    - `factors`: Lengths to bring the measures to, as multiples of their own (Spearman-Brown), so
      that a long test and a short one compare as if equally long.
    - `families`: (respondents,): relatives are drawn together. With fewer than 10 families
      respondents are drawn and the error is widened by sqrt(n / n_effective).
    - `n_effective`: The number of independent respondents, for that case.
    - `shared, least`: The variance of T over items that all respondents share (`shared_variance`),
      and the standard error of T over items for these respondents; where known.

    The status is `insufficient` without a test below 10 independent respondents, and where all are
    of one family; below 3 respondents there are no values either. The status is `degenerate` where
    scores do not vary, a reliability is 1 by construction, or both measures give the same scores.

    >>> rng = np.random.default_rng(0)
    >>> trait = rng.normal(size=40)
    >>> good, poor = trait + 0.2 * rng.normal(size=(2, 40)), trait + rng.normal(size=(2, 40))
    >>> result = reliability_difference(good, poor, rng)
    >>> result.difference > 0.2, result.p < 0.01
    (True, True)
    """
    a, b = np.asarray(measure, dtype=np.float64), np.asarray(other, dtype=np.float64)
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1] or min(len(a), len(b)) < 2:
        raise ValueError(
            f"two arrays (administrations, respondents) are needed, got shapes {a.shape} and"
            f" {b.shape}"
        )
    va, vb = (None, None) if noise is None else (np.asarray(v, dtype=np.float64) for v in noise)
    known = np.asarray(np.isfinite(a).all(axis=0) & np.isfinite(b).all(axis=0))
    for v in (va, vb):
        known = known if v is None else known & np.isfinite(v)
    a, b = a[:, known], b[:, known]
    va, vb = (None if v is None else v[known] for v in (va, vb))
    n = a.shape[1]
    nan = math.nan
    if n < 3:
        reason = f"a comparison needs 3 respondents in both, there are {n}"
        return ReliabilityDifference(
            nan, nan, nan, n=n, level=level, status="insufficient", reason=reason
        )
    if any(is_constant(row) for row in (*a, *b)):
        reason = "all respondents have the same score in an administration"
        return ReliabilityDifference(
            nan, nan, nan, n=n, level=level, status="degenerate", reason=reason
        )

    def both(weights: Array) -> tuple[Array, Array]:
        pair = (weighted_reliability(weights, x, statistic, v) for x, v in ((a, va), (b, vb)))
        first, second = (lengthened(r, f) for r, f in zip(pair, factors, strict=True))
        return first, second

    x, y = (float(v[0]) for v in both(np.ones((1, n))))
    if not (abs(x) < _EDGE and abs(y) < _EDGE):
        reason = "a reliability is 1 by construction, or has no value at this length"
        return ReliabilityDifference(
            x, y, x - y, n=n, level=level, status="degenerate", reason=reason
        )
    kept = (
        None
        if families is None
        else [f for f, k in zip(families, known.tolist(), strict=True) if k]
    )
    units, drawn, widen, what = _units(n, kept, n_effective)
    if not widen:
        return ReliabilityDifference(
            x, y, x - y, n=n, level=level, status="insufficient", reason=what
        )
    first, second = both(multiplicities(n, rng, replicates, drawn))
    finite = np.isfinite(first) & np.isfinite(second)
    if finite.sum() < replicates // 2:
        reason = "most resamples of the respondents have no reliability"
        return ReliabilityDifference(
            x, y, x - y, n=n, level=level, status="degenerate", reason=reason
        )
    distance = np.arctanh(np.clip(first[finite], -_EDGE, _EDGE)) - np.arctanh(
        np.clip(second[finite], -_EDGE, _EDGE)
    )
    error = max(math.sqrt((float(distance.std(ddof=1)) * widen) ** 2 + shared), least)
    if error < 1e-12:
        reason = "both measures give the same scores"
        return ReliabilityDifference(
            x, y, x - y, n=n, level=level, status="degenerate", reason=reason
        )
    return on_fisher_scale(x, y, error, units - 1, n, f"bootstrap over {what}, {replicates}", level)


def lengthened(reliability: Array, factor: float) -> Array:
    """`spearman_brown` of an array; NaN where it has no value.

    >>> lengthened(np.array([0.6, -1.5]), 2).round(2)
    array([0.75,  nan])
    """
    if factor == 1:
        return reliability
    below = 1 + (factor - 1) * reliability
    return np.where(below > 0, factor * reliability / np.where(below > 0, below, 1.0), np.nan)


def _units(
    n: int, families: Sequence[str] | None, n_effective: float | None
) -> tuple[float, Sequence[str] | None, float, str]:
    """How many units are drawn, which, by how much the error is widened (0: no test), and in words,
    or why not.
    """
    related = len(set(families)) if families is not None else n
    if related == n:
        few = f"a test over respondents needs {FEWEST} in both, there are {n}"
        return (n, None, 1.0, "respondents") if n >= FEWEST else (n, None, 0.0, few)
    if related == 1:
        return 1, None, 0.0, "all respondents are of one family"
    if related >= FEWEST:
        return related, families, 1.0, "families"
    size = n_effective if n_effective is not None and math.isfinite(n_effective) else related
    if size < FEWEST:
        counted = f"{n} of {related} families, which count as {size:.3g}"
        return (
            size,
            None,
            0.0,
            f"a test over respondents needs {FEWEST} independent ones, there are {counted}",
        )
    return min(size, n), None, math.sqrt(n / min(size, n)), f"respondents, n_eff {size:.4g}"


def on_fisher_scale(
    x: float, y: float, error: float, df: float, n: int, method: str, level: float
) -> ReliabilityDifference:
    """The test that two reliabilities are equal, from the standard error of the difference of their
    atanh.

    >>> result = on_fisher_scale(0.9, 0.8, 0.2, 99, 20, "known", 0.95)
    >>> round(result.p, 3), result.low < 0 < result.high
    (0.065, True)
    """
    gap, middle = math.atanh(x) - math.atanh(y), (math.atanh(x) + math.atanh(y)) / 2
    half = float(student_quantile(0.5 + level / 2, df)) * error
    # the middle held still, so that the interval leaves out 0 exactly where the test rejects
    low, high = (
        math.tanh(middle + t / 2) - math.tanh(middle - t / 2) for t in (gap - half, gap + half)
    )
    p = 2 * float(student_above(abs(gap) / error, df))
    return ReliabilityDifference(x, y, x - y, low, high, p, n, method, level, error=error)
