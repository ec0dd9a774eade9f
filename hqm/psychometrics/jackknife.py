"""The interval of a score that is any function of summed tallies."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from hqm.psychometrics.arrays import Array, Numbers, normal_quantile
from hqm.psychometrics.result import Coefficient


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
    >>> result = jackknife_interval({"right": right, "n": np.ones(8)}, np.arange(8), lambda t: t["right"] / t["n"])
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

    spread = math.sqrt((len(left) - 1) / len(left) * float(((left - left.mean()) ** 2).sum()))
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
