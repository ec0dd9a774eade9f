"""Intervals over other respondents that hold the sampling of items too: both are drawn anew."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import Array
from hqm.psychometrics.distributions import student_quantile
from hqm.psychometrics.families import too_near_a_bound
from hqm.psychometrics.result import Bounds, Coefficient

FEWEST_CLUSTERS = 10
"""Fewer pictures, or items that stand alone, than this carry no interval over other items."""
_LEAST = 0.5
_LEAST_NEAR_A_BOUND = 0.8
"""How much of the jackknife's variance stays at least; more where scores crowd at 0 or 1, because
the few errors there make the noise that is taken off hardly known (with half, ICC(A,1)'s interval
held .90 to .94 where F1 is .98; now .93 to .97)."""
LARGEST = 20.0
"""An interval of log(1 - r) that reaches farther than this says nothing, and is not given."""


@dataclass(frozen=True, slots=True)
class MeanVariance:
    """The sampling variance of a mean over respondents, by what is drawn anew.

    - `respondents`: Respondents alone, each with the luck of its own answers.
    - `items`: Items alone, the respondents kept; NaN where there are too few clusters.
    - `both`: Respondents and items; never less than either.
    - `df_items, df_both`: Satterthwaite's degrees of freedom.
    """

    respondents: float
    items: float
    both: float
    df_items: float
    df_both: float


def mean_variance(
    values: npt.ArrayLike, without: npt.ArrayLike | None = None, *, n_effective: float | None = None
) -> MeanVariance:
    """The variance of a mean over respondents of numbers that are each computed from the same
    items.

    Resampling respondents forgets that everybody answered the same items; resampling items forgets
    that there are other respondents. Their sum counts what one respondent does on one item twice,
    so it is taken off once:

        V = V_respondents + V_items - V_respondents x items

    Owen, A. B. (2007). The pigeonhole bootstrap. Annals of Applied Statistics, 1, 386-411; Gao, K.
    and Owen, A. (2017). Efficient moment calculations for variance components in large unbalanced
    crossed random effects models. Electronic Journal of Statistics, 11, 1235-1296.

    - `values`: (respondents,): two or more finite numbers.
    - `without`: (respondents, clusters): the same numbers with each cluster of items left out.
    - `n_effective`: How many independent respondents there are, where some are relatives.

    >>> both = mean_variance([0.1, 0.3, 0.2], [[0.1, 0.12, 0.08] * 4, [0.3, 0.32, 0.28] * 4, [0.2, 0.22, 0.18] * 4])
    >>> both.both >= max(both.respondents, both.items)
    True
    """
    x = np.asarray(values, dtype=np.float64)
    m = len(x)
    size = float(m) if n_effective is None else min(float(m), n_effective)
    over = float(x.var(ddof=1)) / size
    nan = math.nan
    left = None if without is None else np.asarray(without, dtype=np.float64)
    if left is None or left.shape[1] < FEWEST_CLUSTERS or not np.isfinite(left).all():
        return MeanVariance(over, nan, over, nan, size - 1)
    count = left.shape[1]
    scale = (count - 1) / count
    moved = left - left.mean(axis=1, keepdims=True)
    common = moved.mean(axis=0)
    items = scale * float((common**2).sum())
    apart = scale * float(((moved - common) ** 2).sum()) / (m * (m - 1))
    both = max(over + items - apart, over, items)
    if both == 0:
        return MeanVariance(over, items, both, count - 1.0, size - 1)
    freedom = both**2 / (over**2 / max(size - 1, 1e-9) + items**2 / (count - 1))
    return MeanVariance(over, items, both, count - 1.0, freedom)


def spread_left_out(left_out: Array) -> float:
    """The jackknife's standard error of a statistic from its values with each cluster left out."""
    count = len(left_out)
    return math.sqrt((count - 1) / count * float(((left_out - left_out.mean()) ** 2).sum()))


def error_bounds(ratio: float, left_out: Array, level: float = 0.95) -> Bounds | None:
    """The interval over other items, for these respondents, of a reliability 1 - `ratio` from log
    ratios left out.

    - `ratio`: Error variance over observed variance.
    - `left_out`: (clusters,): the logarithm of the ratio with each cluster left out.

    None below 10 clusters or where a ratio does not exist.
    """
    if len(left_out) < FEWEST_CLUSTERS or not np.isfinite(left_out).all() or not ratio > 0:
        return None
    half = float(student_quantile(0.5 + level / 2, len(left_out) - 1)) * spread_left_out(left_out)
    return Bounds.below_one(ratio, half, "r", level)


def agreement_bounds(
    value: float,
    left_out: npt.ArrayLike,
    first: npt.ArrayLike,
    other: npt.ArrayLike,
    *,
    scaled: bool = False,
    level: float = 0.95,
) -> Bounds | None:
    """The interval over other items, for these respondents, of a coefficient of agreement between
    two administrations.

    What a coefficient lacks to 1 is a sum of squared differences between the administrations. Of a
    square that is noise throughout the jackknife finds twice the variance (Efron and Stein 1981:
    its bias is upward, here by as much again), so the noise's own part is taken off once; log(1 -
    r) is nearly normal.

        L_c = log(1 - r_(c)),   SE^2 = (C - 1) / C sum (L_c - mean L)^2 - sum_m w_m^2 / (2 (M - 1)^2 (1 - r)^2)

    with w_m the sampling variance of respondent m's standardised difference. Efron, B. and Stein,
    C. (1981). Annals of Statistics, 9, 586-596. Coverage: docs/psychometrics_coverage.md.

    - `left_out`: (clusters,): the coefficient with each cluster of items left out.
    - `first, other`: (respondents, clusters): the scores with each cluster left out.
    - `scaled`: Whether each administration counts in its own unit (Pearson), not both in one.

    None below 10 clusters, for a value of 1, or where the coefficient is undefined without a
    cluster.
    """
    left = np.asarray(left_out, dtype=np.float64)
    x, y = np.asarray(first, dtype=np.float64), np.asarray(other, dtype=np.float64)
    count, m = len(left), len(x)
    if count < FEWEST_CLUSTERS or not np.isfinite(left).all() or value >= 1 or (left >= 1).any():
        return None
    squares = x.var(axis=0, ddof=1).mean(), y.var(axis=0, ddof=1).mean()
    units = squares if scaled else (sum(squares) / 2,) * 2
    moved = x / math.sqrt(units[0]) - y / math.sqrt(units[1])
    moved = moved - moved.mean(axis=0)
    own = (count - 1) / count * ((moved - moved.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    jackknifed = spread_left_out(np.log1p(-left)) ** 2
    # the square of an estimated variance exceeds its own by 2 / (C - 1)
    twice = (
        (count - 1) / (count + 1) * float((own**2).sum()) / (2 * (m - 1) ** 2 * (1 - value) ** 2)
    )
    crowded = not scaled and any(too_near_a_bound(side.mean(axis=1)) for side in (x, y))
    half = half_width_without(
        jackknifed, twice, count, level, least=_LEAST_NEAR_A_BOUND if crowded else _LEAST
    )
    if half > LARGEST:
        return None
    return Bounds.below_one(1 - value, half, "r", level)


def half_width_without(
    jackknifed: float, twice: float, clusters: int, level: float = 0.95, *, least: float = _LEAST
) -> float:
    """Half of Student's interval where a part of the jackknife's variance, the noise that it finds
    twice, is taken off.

    What is left is known less exactly than the whole: its degrees of freedom are Satterthwaite's.
    No square holds more noise than all of it, so half of the variance always stays (`least`).
    """
    left = max(jackknifed - twice, jackknifed * least)
    freedom = (clusters - 1) * (left / jackknifed) ** 2 if jackknifed > 0 else clusters - 1
    return float(student_quantile(0.5 + level / 2, max(freedom, 2))) * math.sqrt(left)


def respondent_bounds(
    value: float, left_out: npt.ArrayLike, size: float, level: float = 0.95
) -> tuple[float, float]:
    """The ends of a correlation's interval over other respondents, cut to -1..1; NaN where one does
    not exist.

        r -+ t(M - 3) SE sqrt(M / (M - 2)),   SE of the jackknife (Tukey 1958); 2 and 3 because two means and a slope are lost

    - `left_out`: (respondents,): the correlation with each respondent left out.
    - `size`: The number of independent respondents, 10 or more.
    """
    left = np.asarray(left_out, dtype=np.float64)
    if size < FEWEST_CLUSTERS or not np.isfinite(left).all():
        return math.nan, math.nan
    half = (
        float(student_quantile(0.5 + level / 2, size - 3))
        * spread_left_out(left)
        * math.sqrt(len(left) / (size - 2))
    )
    return float(np.clip(value - half, -1, 1)), float(np.clip(value + half, -1, 1))


def linear_bounds(value: float, left_out: Array, level: float = 0.95) -> Bounds | None:
    """The interval over other items, for these respondents, of a correlation, cut to -1..1.

    - `left_out`: (clusters,): the correlation with each cluster left out; it may exceed 1 where it
      was disattenuated.

    None below 10 clusters or where one does not exist.
    """
    if len(left_out) < FEWEST_CLUSTERS or not np.isfinite(left_out).all():
        return None
    half = float(student_quantile(0.5 + level / 2, len(left_out) - 1)) * spread_left_out(left_out)
    low, high = (float(np.clip(value + side * half, -1, 1)) for side in (-1, 1))
    return Bounds(low, high, "cluster jackknife", level)


def never_narrower(value: Coefficient) -> Coefficient:
    """The coefficient with an interval over other respondents that holds the one for these.

    Who draws respondents and items anew cannot know more than who draws items alone.

    >>> narrow = Coefficient(0.5, 0.45, 0.55, 9, fixed=Bounds(0.4, 0.52, "jackknife"))
    >>> never_narrower(narrow).low, never_narrower(narrow).high
    (0.4, 0.55)
    """
    fixed = value.fixed
    if fixed is None or not (math.isfinite(value.low) and math.isfinite(fixed.low)):
        return value
    return replace(value, low=min(value.low, fixed.low), high=max(value.high, fixed.high))
