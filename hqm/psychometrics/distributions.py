"""Tails, ranks and Wilcoxon's exact test in every column, without `scipy.stats`, which takes longer
to import than most audits to compute.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, ndtr

from hqm.psychometrics.result import Array, Flags

Number = float | list[float] | npt.NDArray[Any]


def binomial_above(k: Number, n: Number, p: Number) -> Any:
    """The probability of more than `k` successes in `n` trials.

    >>> round(float(binomial_above(7, 10, 0.5)), 4)
    0.0547
    """
    k, n, p = np.broadcast_arrays(np.floor(k), n, p)
    inside = betainc(np.clip(k + 1, 1, None), np.clip(n - k, 1, None), p)
    return np.where(np.isnan(p) | ((k >= 0) & (k < n)), inside, np.where(k < 0, 1.0, 0.0))[()]


def average_ranks(values: npt.ArrayLike, axis: int | None = None) -> npt.NDArray[np.float64]:
    """Ranks from 1, the smallest value first; equal values share the mean of their ranks. A row
    with a nan has only nan.

    >>> average_ranks([10, 30, 20, 20]).tolist()
    [1.0, 4.0, 2.5, 2.5]
    """
    x = np.asarray(values, dtype=np.float64)
    x, axis = (x.ravel(), 0) if axis is None else (x, axis)

    def places(table: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        return table.argsort(axis=axis, kind="stable").argsort(axis=axis)

    # equal values stand in the order of the table, and in the other order from its end
    ranks = (places(x) + np.flip(places(np.flip(x, axis)), axis)) / 2 + 1
    return np.where(np.isnan(x).any(axis=axis, keepdims=True), np.nan, ranks)


def kendall_tau(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Kendall's tau-b: of the pairs without a tie, how many more lie the same way than the other;
    nan without such pairs.

    >>> round(float(kendall_tau([1, 2, 3, 4], [1, 3, 2, 4])), 4)
    0.6667
    """
    a, b = (np.asarray(values, dtype=np.float64) for values in (x, y))
    signs = [(np.sign(a[i:] - a[i - 1]), np.sign(b[i:] - b[i - 1])) for i in range(1, len(a))]
    together, free_a, free_b = (
        sum(float(s[j] @ s[k]) for s in signs) for j, k in ((0, 1), (0, 0), (1, 1))
    )
    if not free_a or not free_b:
        return math.nan
    return float(np.clip(together / np.sqrt(free_a) / np.sqrt(free_b), -1, 1))


_EXACT = 60
"""Respondents up to which the distribution is counted out; beyond, a normal one with a correction
of one half.
"""


@lru_cache(maxsize=64)
def _tails(n: int) -> Array:
    """(k, sum): the share of all choices of k ranks out of 1 to n whose sum is at most so large."""
    ways = np.zeros((n + 1, n * (n + 1) // 2 + 1))
    ways[0, 0] = 1
    for rank in range(1, n + 1):
        ways[1 : rank + 1, rank:] += ways[:rank, : ways.shape[1] - rank].copy()
    ways = ways.cumsum(axis=1)
    return np.asarray(ways / ways[:, -1:])


def rank_sum_p(chosen: Flags, values: npt.ArrayLike) -> Array:
    """(columns,): how likely so low a rank sum of the chosen rows is by chance, in every column.

    Wilcoxon, F. (1945). Biometrics Bulletin, 1, 80-83. Tied values share their mean rank; a sum of
    halves is rounded up, which makes the test a little cautious.

    - `chosen`: (rows, columns). `values`: (rows, columns); a row without a value in a column is
      left out there.

    NaN where all or none of the rows of a column are chosen.

    >>> chosen = np.array([[True], [True], [False], [False], [False]])
    >>> rank_sum_p(chosen, [[1.0], [2.0], [3.0], [4.0], [5.0]])
    array([0.1])
    """
    x = np.asarray(values, dtype=np.float64)
    seen = np.isfinite(x)
    if x.shape[1] == 0:
        return np.zeros(0)
    ranks = np.where(seen, average_ranks(np.where(seen, x, np.inf), axis=0), 0.0)
    n, k = seen.sum(axis=0), (chosen & seen).sum(axis=0)
    total = np.ceil(np.where(chosen, ranks, 0.0).sum(axis=0) - 1e-9).astype(np.int64)
    p = np.full(x.shape[1], np.nan)
    for size in np.unique(n):
        inside = (n == size) & (k > 0) & (k < n)
        if size <= _EXACT:
            p[inside] = _tails(int(size))[k[inside], total[inside]]
        else:
            some = k[inside].astype(np.float64)
            spread = np.sqrt(some * (size - some) * (size + 1) / 12)
            p[inside] = ndtr((total[inside] + 0.5 - some * (size + 1) / 2) / spread)
    return p
