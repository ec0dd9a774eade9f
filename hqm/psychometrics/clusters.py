"""Items that share something, such as a picture, are one cluster: their sums, and the error that
follows from them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import Array, Flags


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

    >>> sums, sizes = cluster_sums(np.ones((1, 1, 3)), np.ones((1, 3), dtype=bool), np.array(["a", "b", "a"]))
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
    mean = np.divide(sums.sum(axis=1), n, out=np.full(len(n), np.nan), where=n > 0)
    squares = np.where(sizes > 0, (sums - sizes * mean[:, None]) ** 2, 0.0).sum(axis=1)
    # differences that are all alike leave rounding dust
    squares = np.where(squares < 1e-24 * np.maximum(n, 1), 0.0, squares)
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
