"""Errors and intervals from clusters of items, from units left out (the jackknife), and from
resampled respondents.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.result import (
    Array,
    Bounds,
    Coefficient,
    Flags,
    Numbers,
    normal_quantile,
    ratio,
)


def labels_of(clusters: npt.ArrayLike | None, items: int) -> npt.NDArray[np.generic]:
    """One label an item; without `clusters` every item stands alone."""
    labels = np.arange(items) if clusters is None else np.asarray(clusters)
    if labels.shape != (items,):
        raise ValueError(
            f"clusters must have one label an item ({items}), got shape {labels.shape}"
        )
    return labels


def sorting(labels: npt.NDArray[Any]) -> npt.NDArray[np.int64] | slice:
    """What brings items into the order of their labels: a slice, which copies nothing, where they
    stand in it already.

    >>> sorting(np.array([2, 1, 2])), sorting(np.array([1, 2, 2]))
    (array([1, 0, 2]), slice(None, None, None))
    """
    if bool((labels[1:] >= labels[:-1]).all()):
        return slice(None)
    return np.argsort(labels, kind="stable")


def cluster_sums(
    values: Array, scored: Flags, labels: npt.NDArray[np.generic]
) -> tuple[Array, Array]:
    """Sums of item scores and numbers of scored items in each cluster.

    >>> sums, sizes = cluster_sums(np.ones((1, 1, 3)), np.ones((1, 3), dtype=bool),
    ...     np.array(["a", "b", "a"]))
    >>> sums[0, 0].tolist(), sizes[0].tolist()
    ([2.0, 1.0], [2.0, 1.0])
    """
    order = sorting(labels)
    ordered = labels[order]
    starts = np.flatnonzero(
        np.concatenate([np.ones(min(1, len(ordered)), dtype=bool), ordered[1:] != ordered[:-1]])
    )
    sums = np.add.reduceat(values[..., order], starts, axis=-1)
    if scored.all():
        return sums, np.tile(
            np.diff(starts, append=len(ordered)).astype(np.float64), (len(scored), 1)
        )
    return sums, np.add.reduceat(scored[:, order].astype(np.float64), starts, axis=-1)


def mean_with_error(sums: Array, sizes: Array) -> tuple[Array, Array]:
    """(respondents,): means over items and their cluster standard errors, from sums and sizes of
    clusters.

        SE^2 = C / (C - 1) sum_c (t_c - n_c mean)^2 / n^2

    >>> mean, error = mean_with_error(np.array([[1.0, 0, 1, 0]]), np.ones((1, 4)))
    >>> mean.item(), round(error.item(), 6)
    (0.5, 0.288675)
    """
    n, c = sizes.sum(axis=1), (sizes > 0).sum(axis=1)
    mean = ratio(sums.sum(axis=1), n)
    squares = np.where(sizes > 0, (sums - sizes * mean[:, None]) ** 2, 0.0).sum(axis=1)
    # differences that are all alike leave rounding dust
    squares = np.where(squares < 1e-24 * n, 0.0, squares)
    variance = np.divide(squares * c, n**2 * (c - 1.0), out=np.full(len(n), np.nan), where=c > 1)
    return mean, np.sqrt(variance)


def aggregate(values: npt.ArrayLike, clusters: npt.ArrayLike) -> Array:
    """(clusters, columns): tallies of items, summed within clusters in the order of the sorted
    labels.

    - `values`: (items, columns): a missing score is a 0 in its own column and a 0 in the column
      that counts.
    - `clusters`: (items,): labels, such as the picture. Items of one picture are drawn together by
      a bootstrap.

    >>> aggregate([[1, 1], [0, 1], [1, 1]], ["b", "a", "b"])
    array([[0., 1.],
           [2., 2.]])
    """
    table, labels = np.asarray(values, dtype=np.float64), np.asarray(clusters)
    if table.ndim != 2 or labels.shape != table.shape[:1]:
        raise ValueError(
            f"tallies (items, columns) and one cluster an item are needed, got {table.shape},"
            f" {labels.shape}"
        )
    names, number = np.unique(labels, return_inverse=True)
    sums = np.zeros((len(names), table.shape[1]))
    np.add.at(sums, number, table)
    return sums


def jackknife_variance(without: npt.ArrayLike) -> Array:
    """The jackknife's variance of a statistic, from its values with each unit left out, which lie
    on the last axis.

    >>> float(jackknife_variance([1.0, 2.0, 3.0]))
    1.3333333333333333
    """
    values = np.asarray(without, dtype=np.float64)
    count = values.shape[-1]
    apart = values - values.mean(axis=-1, keepdims=True)
    return np.asarray((count - 1) / count * (apart**2).sum(axis=-1))


def jackknife_error(without: npt.ArrayLike) -> float:
    """The root of `jackknife_variance` of one statistic."""
    return math.sqrt(float(jackknife_variance(without)))


def jackknife_interval(
    tallies: Mapping[str, Array],
    clusters: Numbers,
    metric: Callable[[Mapping[str, Any]], Any],
    *,
    share: bool = False,
    level: float = 0.95,
) -> Coefficient:
    """A score over items with its interval, each cluster of items left out once.

    It answers: how would the score move on other items of the same kind? Items that share a picture
    move together, so whole clusters are left out.

        SE^2 = (C - 1) / C  sum_c (theta_(c) - mean(theta_(.)))^2,   interval theta +- z SE

    The interval of a share is Wilson's with the number of independent items that the standard error
    amounts to, n = theta (1 - theta) / SE^2 (the number of clusters at a share of 0 or 1), so that
    it stays between 0 and 1.

    Efron, B. and Stein, C. (1981). The jackknife estimate of variance. Annals of Statistics, 9,
    586-596. Wilson, E. B. (1927). Probable inference. Journal of the American Statistical
    Association, 22, 209-212; with an effective sample size as in Dean, N. and Pagano, M. (2015).
    Journal of Survey Statistics and Methodology, 3, 484-503.

    - `tallies`: Name -> (items,): what the metric sums.
    - `clusters`: (items,): the number of each item's cluster, 0 to C - 1.
    - `metric`: Sums -> value; applied to arrays of leave-one-out sums at once.
    - `share`: Whether the metric is a share between 0 and 1.

    The status is `degenerate` when the metric is undefined; no interval below 2 clusters.

    >>> right = np.array([1.0, 1, 0, 1, 0, 1, 1, 0])
    >>> result = jackknife_interval({"right": right, "n": np.ones(8)}, np.arange(8),
    ...     lambda t: t["right"] / t["n"])
    >>> round(result.value, 4), round(result.low, 4), round(result.high, 4)
    (0.625, 0.2664, 0.9836)
    """
    count = int(clusters.max()) + 1 if clusters.size else 0
    totals = {key: float(values.sum()) for key, values in tallies.items()}
    value = float(metric(totals))
    if not math.isfinite(value):
        return Coefficient.absent("degenerate", "the metric divides by zero", count)
    if count < 2:
        return Coefficient(value, n=count)
    without = {
        k: totals[k] - np.bincount(clusters, weights=v, minlength=count) for k, v in tallies.items()
    }
    left = np.asarray(metric(without), dtype=np.float64)
    left = left[np.isfinite(left)]
    if len(left) < 2:
        return Coefficient(value, n=count)

    spread = jackknife_error(left)
    z = normal_quantile(level)
    if share:
        return Coefficient(
            value, *_wilson(value, spread, count, z), count, level, "cluster jackknife, Wilson"
        )
    half = z * spread
    return Coefficient(value, value - half, value + half, count, level, "cluster jackknife")


def _wilson(share: float, error: float, clusters: int, z: float) -> tuple[float, float]:
    n = share * (1 - share) / error**2 if error > 0 and 0 < share < 1 else float(clusters)
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return max(0.0, centre - half), min(1.0, centre + half)


FEWEST = 10
"""Fewer independent units than this carry no bootstrap interval."""


def multiplicities(
    respondents: int,
    rng: np.random.Generator,
    replicates: int,
    families: Sequence[str] | None = None,
) -> Array:
    """How often each respondent is drawn in each replicate; a family comes as a whole.

    (replicates, respondents) array; without families its rows sum to the number of respondents.
    """
    _, member = np.unique(
        np.arange(respondents) if families is None else np.asarray(families), return_inverse=True
    )
    units = int(member.max()) + 1
    drawn = rng.integers(0, units, (replicates, units)) + np.arange(replicates)[:, None] * units
    counts = np.bincount(drawn.ravel(), minlength=replicates * units).reshape(replicates, units)
    return counts[:, member].astype(np.float64)


def agreement_left_out(first: npt.ArrayLike, other: npt.ArrayLike) -> Mapping[str, Array]:
    """The coefficients of agreement between two administrations, for every set of scores at once.

    - `first, other`: (respondents, sets): the scores, one column for each cluster of items left
      out.

    `pearson`, `icc_a1`, `icc_c1`, `ccc` and `mean_shift` -> (sets,); NaN where undefined.

    >>> result = agreement_left_out([[9.0], [6], [8], [7], [10], [6]],
    ...     [[2.0], [1], [4], [1], [5], [2]])
    >>> round(float(result["pearson"][0]), 4), round(float(result["mean_shift"][0]), 4)
    (0.7454, -5.1667)
    """
    x, y = np.asarray(first, dtype=np.float64), np.asarray(other, dtype=np.float64)
    if x.ndim != 2 or x.shape != y.shape:
        raise ValueError(
            f"both must have one shape (respondents, sets), got {x.shape} and {y.shape}"
        )
    m = len(x)
    shift = y.mean(axis=0) - x.mean(axis=0)
    a, b = x - x.mean(axis=0), y - y.mean(axis=0)
    aa, bb, ab = (a * a).sum(axis=0), (b * b).sum(axis=0), (a * b).sum(axis=0)
    with np.errstate(
        divide="ignore", invalid="ignore"
    ):  # of one respondent nothing but the shift is defined
        # the sums of squares of the two-way table with two columns
        msr, mse, msc = (
            (aa + bb + 2 * ab) / 2 / (m - 1),
            (aa + bb - 2 * ab) / 2 / (m - 1),
            m * shift**2 / 2,
        )
        return {
            "pearson": ab / np.sqrt(aa * bb),
            "icc_a1": (msr - mse) / (msr + mse + 2 * (msc - mse) / m),
            "icc_c1": (msr - mse) / (msr + mse),
            "ccc": 2 * ab / (aa + bb + m * shift**2),
            "mean_shift": shift,
        }


def left_out_bounds(value: float, left_out: npt.ArrayLike, *, level: float = 0.95) -> Bounds | None:
    """The interval of a reliability over other items, from its values without each cluster of them.

    The jackknife on log(1 - r), where it is nearly normal; a bootstrap would add the items' noise
    a second time. Coverage: `tests/perf/coverage_left_out.py`. None below 10 clusters or where a
    value does not exist or is 1.

    >>> round(left_out_bounds(0.9, [0.9 + 0.001 * (-1) ** c for c in range(20)]).low, 3)
    0.891
    """
    x = np.asarray(left_out, dtype=np.float64)
    count = len(x)
    if count < 10 or not math.isfinite(value) or not np.isfinite(x).all():
        return None
    if value >= 1 or (x >= 1).any():
        return None
    half = normal_quantile(level) * jackknife_error(np.log1p(-x))
    return Bounds.below_one(1 - value, half, "r", level)
