"""Quantiles and tails of the distributions behind intervals and p-values, and ranks.

They are those of `scipy.stats`, to the last digit, from the functions that it calls itself
(`scipy.special`). To import `scipy.stats` takes half a second, and each of its calls a tenth of a
millisecond for checks of shape.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.result import Array, Flags

Number = float | list[float] | npt.NDArray[Any]


def student_quantile(p: Number, df: Number) -> Any:
    """The value below which a share `p` of Student's t distribution lies; nan where there are no
    degrees of freedom.

    >>> round(float(student_quantile(0.975, 9)), 4)
    2.2622
    """
    from scipy.special import stdtrit

    return _where_positive(df, np.where(np.equal(p, 0), -np.inf, stdtrit(df, p)))


def student_above(x: Number, df: Number) -> Any:
    """The share of Student's t distribution above a value.

    >>> round(float(student_above(2.2622, 9)), 4)
    0.025
    """
    from scipy.special import stdtr

    return _where_positive(df, stdtr(df, -np.asarray(x)))


def noncentral_student_quantile(p: Number, df: Number, centre: Number) -> Any:
    """The value below which a share `p` of the noncentral t distribution lies.

    >>> round(float(noncentral_student_quantile(0.975, 9, 2)), 4)
    5.0873
    """
    from scipy.special import nctdtrit

    return _where_positive(df, np.where(np.equal(p, 0), -np.inf, nctdtrit(df, centre, p)))


def normal_above(x: Number) -> Any:
    """The share of the standard normal distribution above a value.

    >>> round(float(normal_above(1.96)), 4)
    0.025
    """
    from scipy.special import ndtr

    return ndtr(-np.asarray(x))


def chi2_quantile(p: Number, df: Number) -> Any:
    """The value below which a share `p` of the chi-squared distribution lies.

    >>> round(float(chi2_quantile(0.95, 3)), 4)
    7.8147
    """
    from scipy.special import gammaincinv

    return _where_positive(df, 2 * gammaincinv(np.asarray(df) / 2, p))


def chi2_above(x: Number, df: Number) -> Any:
    """The share of the chi-squared distribution above a value.

    >>> round(float(chi2_above(7.8147, 3)), 4)
    0.05
    """
    from scipy.special import chdtrc

    return _where_positive(df, chdtrc(df, x))


def f_quantile(p: Number, df1: Number, df2: Number) -> Any:
    """The value below which a share `p` of Fisher's F distribution lies.

    >>> round(float(f_quantile(0.95, 3, 10)), 4)
    3.7083
    """
    from scipy.special import fdtri

    value = _where_positive(df1, _where_positive(df2, fdtri(df1, df2, p)))
    return np.where(np.equal(p, 1) & ~np.isnan(value), np.inf, value)[()]


def binomial_above(k: Number, n: Number, p: Number) -> Any:
    """The probability of more than `k` successes in `n` trials.

    >>> round(float(binomial_above(7, 10, 0.5)), 4)
    0.0547
    """
    from scipy.special import betainc

    k, n, p = np.broadcast_arrays(np.floor(k), n, p)
    inside = (k >= 0) & (k < n)
    value = betainc(np.where(inside, k + 1, 1.0), np.where(inside, n - k, 1.0), p)
    outside = np.where(k < 0, 1.0, 0.0)
    return np.where(np.isnan(p), np.nan, np.where(inside, value, outside))[()]


def average_ranks(values: npt.ArrayLike, axis: int | None = None) -> npt.NDArray[np.float64]:
    """Ranks from 1, the smallest value first; equal values share the mean of their ranks. A row
    with a nan has only nan.

    >>> average_ranks([10, 30, 20, 20]).tolist()
    [1.0, 4.0, 2.5, 2.5]
    """
    table = np.asarray(values)
    if axis is None:
        return _ranked(table.reshape(1, -1)).ravel()
    turned = np.moveaxis(table, axis, -1)
    rows = turned.reshape(math.prod(turned.shape[:-1]), turned.shape[-1])
    ranks: npt.NDArray[np.float64] = np.moveaxis(_ranked(rows).reshape(turned.shape), -1, axis)
    return ranks


def _ranked(rows: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    count, width = rows.shape
    order = np.argsort(rows, axis=1, kind="stable")
    ordered = np.take_along_axis(rows, order, axis=1)
    begins = np.ones(rows.shape, dtype=bool)
    begins[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    starts = np.flatnonzero(begins)
    ends = np.append(starts[1:], rows.size)[: starts.size]
    # of a run of equal values, the mean of its first and its last place, counted from the beginning
    # of its row
    means = ((starts + 1 + ends) / 2)[np.cumsum(begins) - 1].reshape(
        rows.shape
    ) - width * np.arange(count)[:, None]
    ranks = np.empty(rows.shape, dtype=np.float64)
    np.put_along_axis(ranks, order, means, axis=1)
    if rows.dtype.kind == "f":
        ranks[np.isnan(rows).any(axis=1)] = np.nan
    return ranks


def kendall_tau(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Kendall's tau-b: of the pairs without a tie, how many more lie the same way than the other;
    nan without such pairs.

    >>> round(float(kendall_tau([1, 2, 3, 4], [1, 3, 2, 4])), 4)
    0.6667
    """
    a, b = np.asarray(x).ravel(), np.asarray(y).ravel()
    more = free_in_a = free_in_b = 0
    for i in range(1, len(a)):
        by_a, by_b = np.sign(a[i:] - a[i - 1]), np.sign(b[i:] - b[i - 1])
        more += int(by_a @ by_b)
        free_in_a += int(np.count_nonzero(by_a))
        free_in_b += int(np.count_nonzero(by_b))
    if not free_in_a or not free_in_b:
        return math.nan
    return float(np.clip(more / np.sqrt(free_in_a) / np.sqrt(free_in_b), -1.0, 1.0))


def _where_positive(df: Number, value: Any) -> Any:
    return np.where(np.asarray(df) > 0, value, np.nan)[()]


# ----------------------------------------------------------------------
# Wilcoxon's rank sum test for thousands of small samples at once.
# ----------------------------------------------------------------------

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
    return np.asarray(
        np.minimum(1.0, ways.cumsum(axis=1) / ways.sum(axis=1, keepdims=True)), dtype=np.float64
    )


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
    from scipy.special import ndtr

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
            p[inside] = ndtr(
                (total[inside] + 0.5 - some * (size + 1) / 2) / np.maximum(spread, math.ulp(1.0))
            )
    return p
