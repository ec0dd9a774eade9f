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
    BoolArray,
    Coefficient,
    ConfidenceInterval,
    IntArray,
    normal_quantile,
    ratio,
)


def cluster_labels(clusters: npt.ArrayLike | None, items: int) -> npt.NDArray[np.generic]:
    """Return one label an item; without `clusters` every item is a cluster."""
    labels = np.arange(items) if clusters is None else np.asarray(clusters)
    if labels.shape != (items,):
        raise ValueError(
            f"clusters must have one label an item ({items}), got shape {labels.shape}"
        )
    return labels


def label_order(labels: npt.NDArray[Any]) -> npt.NDArray[np.int64] | slice:
    """What brings items into the order of their labels: a slice, which copies nothing, where they
    stand in it already.

    >>> label_order(np.array([2, 1, 2])), label_order(np.array([1, 2, 2]))
    (array([1, 0, 2]), slice(None, None, None))
    """
    if bool((labels[1:] >= labels[:-1]).all()):
        return slice(None)
    return np.argsort(labels, kind="stable")


def cluster_sums(
    values: Array, scored: BoolArray, labels: npt.NDArray[np.generic]
) -> tuple[Array, Array]:
    """Sums of item scores and numbers of scored items in each cluster.

    >>> sums, sizes = cluster_sums(np.ones((1, 1, 3)), np.ones((1, 3), dtype=bool),
    ...     np.array(["a", "b", "a"]))
    >>> sums[0, 0].tolist(), sizes[0].tolist()
    ([2.0, 1.0], [2.0, 1.0])
    """
    # the stable sort keeps the items' order within a cluster, and with it the order of the sums
    order = label_order(labels)
    sorted_labels = labels[order]
    starts = np.flatnonzero(
        np.concatenate(
            [
                np.ones(min(1, len(sorted_labels)), dtype=bool),
                sorted_labels[1:] != sorted_labels[:-1],
            ]
        )
    )
    # reduceat sums from each start to the next, so items of a cluster must be adjacent
    sums = np.add.reduceat(values[..., order], starts, axis=-1)
    if scored.all():
        return sums, np.tile(
            np.diff(starts, append=len(sorted_labels)).astype(np.float64), (len(scored), 1)
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
    # Cameron and Miller (2015): n items, c clusters, finite-sample factor C / (C - 1)
    n = sizes.sum(axis=1)
    c = (sizes > 0).sum(axis=1)
    mean = ratio(sums.sum(axis=1), n)
    squares = np.where(sizes > 0, (sums - sizes * mean[:, None]) ** 2, 0.0).sum(axis=1)
    # differences that are all alike leave rounding dust
    squares = np.where(squares < 1e-24 * n, 0.0, squares)
    # one cluster leaves no degree of freedom
    variance = np.divide(squares * c, n**2 * (c - 1.0), out=np.full(len(n), np.nan), where=c > 1)
    return mean, np.sqrt(variance)


def aggregate(values: npt.ArrayLike, clusters: npt.ArrayLike) -> Array:
    """Sum tallies of items within clusters, in the order of the sorted labels.

    Parameters
    ----------
    values : array_like, shape (items, columns)
        a missing score is a 0 in its own column and a 0 in the column that counts.
    clusters : array_like, shape (items,)
        Labels, such as the picture. Items of one picture are drawn together by a bootstrap.

    Returns
    -------
    Array
        (clusters, columns): the sums.

    Raises
    ------
    ValueError
        An array has another shape.

    Examples
    --------
    >>> aggregate([[1, 1], [0, 1], [1, 1]], ["b", "a", "b"])
    array([[0., 1.],
           [2., 2.]])
    """
    table = np.asarray(values, dtype=np.float64)
    labels = np.asarray(clusters)
    if table.ndim != 2 or labels.shape != table.shape[:1]:
        raise ValueError(
            f"tallies (items, columns) and one cluster an item are needed, got {table.shape},"
            f" {labels.shape}"
        )
    cluster_names, cluster_index = np.unique(labels, return_inverse=True)
    sums = np.zeros((len(cluster_names), table.shape[1]))
    # `np.add.at` adds repeated indices, which `sums[index] += table` would not
    np.add.at(sums, cluster_index, table)
    return sums


def jackknife_variance(replicates: npt.ArrayLike) -> Array:
    """The jackknife's variance of a statistic, from its values with each unit left out, which lie
    on the last axis.

    >>> float(jackknife_variance([1.0, 2.0, 3.0]))
    1.3333333333333333
    """
    values = np.asarray(replicates, dtype=np.float64)
    count = values.shape[-1]
    # Efron and Stein (1981): centred on the mean of the replicates, not on the estimate
    deviations = values - values.mean(axis=-1, keepdims=True)
    return np.asarray((count - 1) / count * (deviations**2).sum(axis=-1))


def jackknife_standard_error(replicates: npt.ArrayLike) -> float:
    """Return the root of `jackknife_variance` of one statistic."""
    return math.sqrt(float(jackknife_variance(replicates)))


def jackknife_interval(
    tallies: Mapping[str, Array],
    clusters: IntArray,
    metric: Callable[[Mapping[str, Any]], Any],
    *,
    is_proportion: bool = False,
    level: float = 0.95,
) -> Coefficient:
    """Estimate the interval of a score over items by the cluster jackknife.

    It answers: how would the score move on other items of the same kind? Items that share a picture
    move together, so whole clusters are left out.

    Parameters
    ----------
    tallies : Mapping[str, Array]
        Name -> (items,): what the metric sums.
    clusters : IntArray, shape (items,)
        The number of each item's cluster, 0 to C - 1.
    metric : Callable[[Mapping[str, Any]], Any]
        Sums -> value; applied to arrays of leave-one-out sums at once.
    is_proportion : bool, default False
        Whether the metric is a share between 0 and 1.
    level : float, default 0.95
        Confidence level of the interval.

    Returns
    -------
    Coefficient
        The score, with its interval. The status is `degenerate` when the metric is undefined; no
        interval below 2 clusters.

    Notes
    -----
        SE^2 = (C - 1) / C  sum_c (theta_(c) - mean(theta_(.)))^2,   interval theta +- z SE

    The interval of a share is Wilson's with the number of independent items that the standard error
    amounts to, n = theta (1 - theta) / SE^2 (the number of clusters at a share of 0 or 1), so that
    it stays between 0 and 1.

    References
    ----------
    .. [1] Efron, B. and Stein, C. (1981). The jackknife estimate of variance. Annals of
       Statistics, 9, 586-596.
    .. [2] Wilson, E. B. (1927). Probable inference. Journal of the American Statistical
       Association, 22, 209-212; with an effective sample size as in Dean, N. and Pagano, M.
       (2015). Journal of Survey Statistics and Methodology, 3, 484-503.

    Examples
    --------
    >>> right = np.array([1.0, 1, 0, 1, 0, 1, 1, 0])
    >>> result = jackknife_interval({"right": right, "n": np.ones(8)}, np.arange(8),
    ...     lambda t: t["right"] / t["n"])
    >>> round(result.value, 4), round(result.low, 4), round(result.high, 4)
    (0.625, 0.2664, 0.9836)
    """
    n_clusters = int(clusters.max()) + 1 if clusters.size else 0
    totals = {key: float(values.sum()) for key, values in tallies.items()}
    value = float(metric(totals))
    if not math.isfinite(value):
        return Coefficient.absent("degenerate", "the metric divides by zero", n_clusters)
    if n_clusters < 2:
        return Coefficient(value, n=n_clusters)
    # (clusters,): totals without each cluster, of every tally at once
    remaining_totals = {
        k: totals[k] - np.bincount(clusters, weights=v, minlength=n_clusters)
        for k, v in tallies.items()
    }
    replicates = np.asarray(metric(remaining_totals), dtype=np.float64)
    # a replicate may be undefined although the statistic is not
    replicates = replicates[np.isfinite(replicates)]
    if len(replicates) < 2:
        return Coefficient(value, n=n_clusters)

    standard_error = jackknife_standard_error(replicates)
    z = normal_quantile(level)
    if is_proportion:
        return Coefficient(
            value,
            *_wilson_interval(value, standard_error, n_clusters, z),
            n_clusters,
            level,
            "cluster jackknife, Wilson",
        )
    half_width = z * standard_error
    return Coefficient(
        value, value - half_width, value + half_width, n_clusters, level, "cluster jackknife"
    )


def _wilson_interval(
    proportion: float, standard_error: float, n_clusters: int, z: float
) -> tuple[float, float]:
    if standard_error > 0 and 0 < proportion < 1:
        # the number of independent items whose binomial variance is SE^2
        n = proportion * (1 - proportion) / standard_error**2
    else:
        n = float(n_clusters)
    # Wilson (1927): the roots of (p - P)^2 = z^2 P (1 - P) / n
    centre = (proportion + z * z / (2 * n)) / (1 + z * z / n)
    half_width = (
        z * math.sqrt(proportion * (1 - proportion) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    )
    return max(0.0, centre - half_width), min(1.0, centre + half_width)


MIN_UNITS = 10
"""Fewer independent units than this carry no bootstrap interval."""


def bootstrap_counts(
    n_respondents: int,
    rng: np.random.Generator,
    n_replicates: int,
    families: Sequence[str] | None = None,
) -> Array:
    """Draw how often each respondent is in each bootstrap replicate; families are drawn whole.

    (replicates, respondents) array; without families its rows sum to the number of respondents.
    """
    _, unit_index = np.unique(
        np.arange(n_respondents) if families is None else np.asarray(families), return_inverse=True
    )
    n_units = int(unit_index.max()) + 1
    # unit u of replicate r has the number r U + u, so that one bincount counts all
    draws = (
        rng.integers(0, n_units, (n_replicates, n_units))
        + np.arange(n_replicates)[:, None] * n_units
    )
    counts = np.bincount(draws.ravel(), minlength=n_replicates * n_units).reshape(
        n_replicates, n_units
    )
    # relatives are drawn as often as their family
    return counts[:, unit_index].astype(np.float64)


def agreement_coefficients(first: npt.ArrayLike, second: npt.ArrayLike) -> Mapping[str, Array]:
    """Compute coefficients of agreement of two administrations for many sets of scores.

    Parameters
    ----------
    first, second : array_like, shape (respondents, sets)
        The scores, one column for each cluster of items left out.

    Returns
    -------
    Mapping[str, Array]
        `pearson`, `icc_a1`, `icc_c1`, `ccc` and `mean_shift` -> (sets,); NaN where undefined.

    Raises
    ------
    ValueError
        An array has another shape.

    Examples
    --------
    >>> result = agreement_coefficients([[9.0], [6], [8], [7], [10], [6]],
    ...     [[2.0], [1], [4], [1], [5], [2]])
    >>> round(float(result["pearson"][0]), 4), round(float(result["mean_shift"][0]), 4)
    (0.7454, -5.1667)
    """
    x = np.asarray(first, dtype=np.float64)
    y = np.asarray(second, dtype=np.float64)
    if x.ndim != 2 or x.shape != y.shape:
        raise ValueError(
            f"both must have one shape (respondents, sets), got {x.shape} and {y.shape}"
        )
    m = len(x)
    shift = y.mean(axis=0) - x.mean(axis=0)
    a = x - x.mean(axis=0)
    b = y - y.mean(axis=0)
    # sums of squares and products of which all five coefficients are made
    aa = (a * a).sum(axis=0)
    bb = (b * b).sum(axis=0)
    ab = (a * b).sum(axis=0)
    # of one respondent nothing but the shift is defined
    with np.errstate(divide="ignore", invalid="ignore"):
        # McGraw and Wong (1996): mean squares of the two-way table with two columns
        msr = (aa + bb + 2 * ab) / 2 / (m - 1)
        mse = (aa + bb - 2 * ab) / 2 / (m - 1)
        msc = m * shift**2 / 2
        return {
            "pearson": ab / np.sqrt(aa * bb),
            "icc_a1": (msr - mse) / (msr + mse + 2 * (msc - mse) / m),
            "icc_c1": (msr - mse) / (msr + mse),
            "ccc": 2 * ab / (aa + bb + m * shift**2),
            "mean_shift": shift,
        }


def reliability_jackknife_interval(
    value: float, replicates: npt.ArrayLike, *, level: float = 0.95
) -> ConfidenceInterval | None:
    """Compute the interval of a reliability over other items from its jackknife replicates.

    The jackknife on log(1 - r), where it is nearly normal; a bootstrap would add the items' noise a
    second time. Coverage: `tests/perf/coverage_left_out.py`. None below 10 clusters or where a
    value does not exist or is 1.

    Parameters
    ----------
    value : float
        The coefficient.
    replicates : array_like, shape (clusters,)
        Its values with each cluster of items left out.
    level : float, default 0.95
        Confidence level of the interval.

    Returns
    -------
    ConfidenceInterval | None
        The interval; None below 10 clusters or where a value does not exist or is 1.

    Examples
    --------
    >>> replicates = [0.9 + 0.001 * (-1) ** c for c in range(20)]
    >>> round(reliability_jackknife_interval(0.9, replicates).low, 3)
    0.891
    """
    x = np.asarray(replicates, dtype=np.float64)
    n_clusters = len(x)
    if n_clusters < 10 or not math.isfinite(value) or not np.isfinite(x).all():
        return None
    # log(1 - r) does not exist at r = 1
    if value >= 1 or (x >= 1).any():
        return None
    half_width = normal_quantile(level) * jackknife_standard_error(np.log1p(-x))
    return ConfidenceInterval.from_log_complement(1 - value, half_width, "r", level)
