"""Agreement with people over single answers, or items' means, and what raters' own errors add to an
interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import Array, Flags, normal_quantile, shaped_alike
from hqm.psychometrics.clusters import labels_of
from hqm.psychometrics.result import Bounds, Coefficient

_GROUPS = 100
_MOST = 20_000
_FEWEST = 4


@dataclass(frozen=True, slots=True)
class AnswerCorrelations:
    """Correlations over answers, each with its interval over pictures (`fixed`)."""

    pearson: Coefficient
    spearman: Coefficient
    tau_b: Coefficient


def answer_correlations(
    automatic: npt.ArrayLike,
    human: npt.ArrayLike,
    clusters: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
    *,
    level: float = 0.95,
) -> AnswerCorrelations:
    """Pearson's, Spearman's and Kendall's correlation (tau-b) over single answers, as FaithScore
    and Hal-Eval print them.

    Answers about one picture are not independent: pictures are left out, one by one or in 100
    groups, and the spread of the correlation on Fisher's scale makes the interval, by Student's
    distribution. Differences between respondents' means count in it: with many respondents it is no
    measure of agreement within one.

    - `automatic, human`: (answers,): NaN where there is none. `clusters`: (answers,): the picture
      of each.
    - `weights`: (answers,): 1 / probability of being labelled; ranks and pairs are weighted too.

    `insufficient` below 3 pairs; no interval below 4 pictures; `degenerate` where one side does not
    vary.

    >>> study = answer_correlations([1, 2, 3, 4, 5], [1, 3, 2, 4, 5])
    >>> round(study.pearson.value, 2), round(study.spearman.value, 2), round(study.tau_b.value, 2)
    (0.9, 0.9, 0.8)
    """
    a, h = shaped_alike(automatic, human, "answers")
    w = np.ones(len(a)) if weights is None else shaped_alike(a, weights, "answers")[1]
    labels = labels_of(clusters, len(a))
    both: Flags = np.isfinite(a) & np.isfinite(h) & np.isfinite(w)
    a, h, w, labels = a[both], h[both], w[both], labels[both]
    n = len(a)
    if n < 3 or n > _MOST:
        reason = (
            f"a correlation over answers is made of 3 to {_MOST:,} labelled answers, there are"
            f" {n:,}"
        )
        none = Coefficient.absent("insufficient", reason, n)
        return AnswerCorrelations(none, none, none)
    if np.ptp(a) <= 1e-12 or np.ptp(h) <= 1e-12:
        none = Coefficient.absent(
            "degenerate", "all labelled answers have one score, or one label", n
        )
        return AnswerCorrelations(none, none, none)
    _, member = np.unique(labels, return_inverse=True)
    pictures = int(member.max()) + 1
    groups = min(pictures, _GROUPS)
    group = member * groups // pictures

    def over(statistic: Callable[[Array, Array, Array], float]) -> Coefficient:
        value = statistic(a, h, w)
        masks = [group != g for g in range(groups)] if groups >= _FEWEST else []
        left = [statistic(a[kept], h[kept], w[kept]) for kept in masks]
        return _with_interval(value, np.array(left), n, level)

    tau, taus = _kendall(a, h, w, group, groups)
    return AnswerCorrelations(
        over(_pearson),
        over(lambda x, y, v: _pearson(_ranks(x, v), _ranks(y, v), v)),
        _with_interval(tau, taus, n, level),
    )


def _pearson(x: Array, y: Array, w: Array) -> float:
    x, y = x - np.average(x, weights=w), y - np.average(y, weights=w)
    squares = float((w * x * x).sum()) * float((w * y * y).sum())
    return (
        float(np.clip(float((w * x * y).sum()) / math.sqrt(squares), -1, 1))
        if squares > 1e-24
        else math.nan
    )


def _ranks(x: Array, w: Array) -> Array:
    """Ranks in the middle of each value's weight."""
    _, member = np.unique(x, return_inverse=True)
    weight = np.bincount(member, weights=w)
    return np.asarray((np.cumsum(weight) - weight / 2)[member])


def _kendall(
    a: Array, h: Array, w: Array, group: npt.NDArray[np.int64], groups: int
) -> tuple[float, Array]:
    """tau-b, and tau-b with each group left out, from sums over pairs of groups."""
    onto = np.zeros((len(a), groups))
    onto[np.arange(len(a)), group] = w
    blocks = np.zeros((3, groups, groups))
    rows = max(1, 4_000_000 // len(a))
    for start in range(0, len(a), rows):
        part = slice(start, start + rows)
        x, y = np.sign(a[part, None] - a), np.sign(h[part, None] - h)
        for k, product in enumerate((x * y, x * x, y * y)):
            blocks[k] += onto[part].T @ (product @ onto)
    whole = blocks.sum(axis=(1, 2))
    without = (
        whole[:, None]
        - blocks.sum(axis=1)
        - blocks.sum(axis=2)
        + np.diagonal(blocks, axis1=1, axis2=2)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        taus = without[0] / np.sqrt(without[1] * without[2])
    return float(whole[0] / math.sqrt(whole[1] * whole[2])), np.asarray(taus)


def _with_interval(value: float, without: Array, n: int, level: float) -> Coefficient:
    groups = len(without)
    if not math.isfinite(value):
        return Coefficient.absent("degenerate", "scores or labels hardly vary", n)
    if groups < _FEWEST or not np.isfinite(without).all() or abs(value) >= 1:
        return Coefficient(value, level=level)
    from scipy.special import stdtrit

    z = np.arctanh(np.clip(without, -1 + 1e-12, 1 - 1e-12))
    error = math.sqrt((groups - 1) / groups * float(((z - z.mean()) ** 2).sum()))
    half = float(stdtrit(groups - 1, 0.5 + level / 2)) * error
    centre = math.atanh(value)
    ends = Bounds(math.tanh(centre - half), math.tanh(centre + half), "pictures left out", level)
    return Coefficient(value, level=level, fixed=ends)


def with_raters(coefficient: Coefficient, replicates: npt.ArrayLike) -> Coefficient:
    """A coefficient whose intervals also hold what the raters' own errors do to it.

        half^2 = half^2 over items + (z sd)^2,     sd: of the values that `rater_replicates` give

    - `replicates`: (replicates,): the coefficient with other raters; those that are NaN are left
      out.
    """
    values = np.asarray(replicates, dtype=np.float64)
    values = values[np.isfinite(values)]
    if coefficient.status != "ok" or len(values) < 20 or not float(values.std()) > 0:
        return coefficient
    value, bounds = coefficient.value, coefficient.fixed
    extra = normal_quantile(coefficient.level) * float(values.std(ddof=1))

    def wider(low: float, high: float) -> tuple[float, float]:
        if math.isnan(low):
            return low, high
        return max(-1.0, value - math.hypot(value - low, extra)), min(
            1.0, value + math.hypot(high - value, extra)
        )

    low, high = wider(coefficient.low, coefficient.high)
    fixed = None
    if bounds is not None:
        fixed = Bounds(
            *wider(bounds.low, bounds.high), f"{bounds.method}, raters' errors", bounds.level
        )
    return replace(coefficient, low=low, high=high, fixed=fixed)
