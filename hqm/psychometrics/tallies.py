"""Tallies that a bootstrap sums: items within clusters, respondents' pairs of scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.bootstrap import Statistic

Array = npt.NDArray[np.float64]


def aggregate(values: npt.ArrayLike, clusters: npt.ArrayLike) -> Array:
    """Sum item tallies within clusters.

    Items that share a picture are drawn together, so their sums are all that a bootstrap needs.

    Parameters
    ----------
    values
        (items, columns): tallies; a missing score is a 0 in its own column and a 0 in the column that counts.
    clusters
        (items,): any labels.

    Returns
    -------
    numpy.ndarray
        (clusters, columns), clusters in the order of their sorted labels.

    Examples
    --------
    >>> aggregate([[1, 1], [0, 1], [1, 1]], ["b", "a", "b"])
    array([[0., 1.],
           [2., 2.]])
    """
    table, labels = np.asarray(values, dtype=np.float64), np.asarray(clusters)
    if table.ndim != 2 or labels.shape != table.shape[:1]:
        raise ValueError(
            f"tallies (items, columns) and one cluster an item are needed, got {table.shape}, {labels.shape}"
        )
    found, number = np.unique(labels, return_inverse=True)
    sums = np.zeros((len(found), table.shape[1]))
    np.add.at(sums, number, table)
    return sums


def tally_statistic(
    metric: Callable[[Mapping[str, Any]], Any], names: Sequence[str], *, smooth: bool = False
) -> Statistic:
    """A metric of named tallies as a statistic of a bootstrap: the function that gives the score gives the replicates.

    Parameters
    ----------
    metric
        Sums by name -> value, on numbers and on arrays alike.
    names
        The names of the columns, in order.
    smooth
        Whether the metric is differentiable (ratios and their means are).

    Examples
    --------
    F1 of 90 answers, 30 right and 10 wrong among those that say "no", 10 missed:

    >>> f1 = tally_statistic(lambda t: 2 * t["hit"] / (2 * t["hit"] + t["wrong"] + t["missed"]), ["hit", "wrong", "missed"])
    >>> float(f1.function(np.array([[30.0, 10.0, 10.0]]))[0])
    0.75
    """
    columns = tuple(names)

    def function(sums: Array) -> npt.ArrayLike:
        if sums.shape[1] != len(columns):
            raise ValueError(f"{sums.shape[1]} columns have {len(columns)} names")
        return np.asarray(metric({name: sums[:, i] for i, name in enumerate(columns)}), dtype=np.float64)

    return Statistic(function, smooth)


def pair_tallies(x: npt.ArrayLike, y: npt.ArrayLike) -> Array:
    """Tallies of respondents whose sums give a correlation: n, x, y, x^2, y^2, xy of centred scores.

    Parameters
    ----------
    x, y
        (respondents,): two scores of each; respondents that lack one count 0.

    Returns
    -------
    numpy.ndarray
        (respondents, 6); for families, `aggregate` them.

    Examples
    --------
    >>> float(pearson_of_sums(pair_tallies([1, 2, 3], [1, 3, 2]).sum(0, keepdims=True))[0])
    0.5
    """
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"two vectors of one length are needed, got shapes {a.shape} and {b.shape}")
    both = np.isfinite(a) & np.isfinite(b)
    n = both.astype(np.float64)
    if both.any():
        a, b = a - a[both].mean(), b - b[both].mean()
    a, b = np.where(both, a, 0.0), np.where(both, b, 0.0)
    return np.stack([n, a, b, a * a, b * b, a * b], axis=1)


def pearson_of_sums(sums: Array) -> Array:
    """Pearson's r of summed `pair_tallies`, for use as a statistic over respondents.

    Parameters
    ----------
    sums
        (replicates, 6).

    Returns
    -------
    numpy.ndarray
        (replicates,); NaN where a score does not vary.
    """
    n, x, y, xx, yy, xy = sums.T
    vx, vy = n * xx - x * x, n * yy - y * y
    flat = (vx <= 1e-12 * n * xx) | (vy <= 1e-12 * n * yy)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(flat, np.nan, np.clip((n * xy - x * y) / np.sqrt(vx * vy), -1, 1)), dtype=np.float64)
