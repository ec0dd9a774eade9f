"""Tails, ranks and Wilcoxon's exact test in every column, without `scipy.stats`, which takes longer
to import than most audits to compute.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, ndtr

from hqm.psychometrics.result import Array, BoolArray

Number = float | list[float] | npt.NDArray[np.float64 | np.int64]


def binomial_above(k: Number, n: Number, p: Number) -> Any:
    """The probability of more than `k` successes in `n` trials.

    >>> round(float(binomial_above(7, 10, 0.5)), 4)
    0.0547
    """
    k, n, p = np.broadcast_arrays(np.floor(k), n, p)
    # P(X > k) = I_p(k + 1, n - k), the regularized incomplete beta function
    tail = betainc(np.clip(k + 1, 1, None), np.clip(n - k, 1, None), p)
    return np.where(np.isnan(p) | ((k >= 0) & (k < n)), tail, np.where(k < 0, 1.0, 0.0))[()]


def average_ranks(values: npt.ArrayLike, axis: int | None = None) -> npt.NDArray[np.float64]:
    """Ranks from 1, the smallest value first; equal values share the mean of their ranks. A row
    with a nan has only nan.

    >>> average_ranks([10, 30, 20, 20]).tolist()
    [1.0, 4.0, 2.5, 2.5]
    """
    x = np.asarray(values, dtype=np.float64)
    x, axis = (x.ravel(), 0) if axis is None else (x, axis)

    def ordinal_ranks(table: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        # the first argsort gives the order, the second each entry's place in it
        return table.argsort(axis=axis, kind="stable").argsort(axis=axis)

    # equal values stand in the order of the table, and in the other order from its end
    ranks = (ordinal_ranks(x) + np.flip(ordinal_ranks(np.flip(x, axis)), axis)) / 2 + 1
    return np.where(np.isnan(x).any(axis=axis, keepdims=True), np.nan, ranks)


def kendall_tau(x: npt.ArrayLike, y: npt.ArrayLike) -> Array:
    """(...,): Kendall's tau-b of vectors along the last axis; nan where one of both has no pair
    without a tie.

    >>> round(float(kendall_tau([1, 2, 3, 4], [1, 3, 2, 4])), 4)
    0.6667
    """
    a, b = (np.asarray(values, dtype=np.float64) for values in (x, y))
    # Kendall's S = concordant - discordant pairs, and the pairs without a tie in a and in b
    concordance, untied_a, untied_b = np.zeros((3, *a.shape[:-1]))
    for i in range(1, a.shape[-1]):
        sign_a = np.sign(a[..., i:] - a[..., i - 1 : i])
        sign_b = np.sign(b[..., i:] - b[..., i - 1 : i])
        # a tie in either has sign 0 and adds nothing
        concordance += np.vecdot(sign_a, sign_b)
        untied_a += np.vecdot(sign_a, sign_a)
        untied_b += np.vecdot(sign_b, sign_b)
    # tau-b: ties take their pairs out of both norms
    with np.errstate(invalid="ignore"):
        return np.asarray(np.clip(concordance / np.sqrt(untied_a) / np.sqrt(untied_b), -1, 1))


_MAX_EXACT_SIZE = 60
"""Rows up to which the exact distribution is computed; beyond, a normal one with a continuity
correction.
"""


@lru_cache(maxsize=64)
def _tails(n: int) -> Array:
    """(k, sum): the share of all choices of k ranks out of 1 to n whose sum is at most so large."""
    counts = np.zeros((n + 1, n * (n + 1) // 2 + 1))
    counts[0, 0] = 1
    for rank in range(1, n + 1):
        # subsets of 1 to `rank` that hold it: one rank fewer, and `rank` less in the sum. The copy
        # keeps a rank from being used twice.
        counts[1 : rank + 1, rank:] += counts[:rank, : counts.shape[1] - rank].copy()
    counts = counts.cumsum(axis=1)
    return np.asarray(counts / counts[:, -1:])


def rank_sum_p(selected: BoolArray, values: npt.ArrayLike) -> Array:
    """(columns,): the exact one-sided p of so low a rank sum of the selected rows, by column.

    Wilcoxon, F. (1945). Biometrics Bulletin, 1, 80-83. Tied values share their mean rank; a sum of
    halves is rounded up, which makes the test a little cautious.

    - `selected`: (rows, columns). `values`: (rows, columns); a row without a value in a column is
      left out there.

    NaN where all or none of the rows of a column are chosen.

    >>> chosen = np.array([[True], [True], [False], [False], [False]])
    >>> rank_sum_p(chosen, [[1.0], [2.0], [3.0], [4.0], [5.0]])
    array([0.1])
    """
    x = np.asarray(values, dtype=np.float64)
    finite = np.isfinite(x)
    if x.shape[1] == 0:
        return np.zeros(0)
    # rows without a value rank last, so that they move no other rank
    ranks = np.where(finite, average_ranks(np.where(finite, x, np.inf), axis=0), 0.0)
    n = finite.sum(axis=0)
    k = (selected & finite).sum(axis=0)
    # half ranks are rounded up, except where the half is rounding
    total = np.ceil(np.where(selected, ranks, 0.0).sum(axis=0) - 1e-9).astype(np.int64)
    p = np.full(x.shape[1], np.nan)
    for size in np.unique(n):
        # a column without a chosen row, or without another, has nothing to compare
        columns = (n == size) & (k > 0) & (k < n)
        if size <= _MAX_EXACT_SIZE:
            p[columns] = _tails(int(size))[k[columns], total[columns]]
        else:
            n_selected = k[columns].astype(np.float64)
            # mean k (n + 1) / 2 and variance k (n - k) (n + 1) / 12 of the rank sum, and a
            # continuity correction of one half
            deviation = np.sqrt(n_selected * (size - n_selected) * (size + 1) / 12)
            p[columns] = ndtr((total[columns] + 0.5 - n_selected * (size + 1) / 2) / deviation)
    return p
