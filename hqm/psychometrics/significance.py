"""Significance tests: their frozen result, and p-values that hold for many tests at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace

import numpy as np
from scipy.special import gammaincc

from hqm.psychometrics.result import Array, ArrayLike, Outcome


@dataclass(frozen=True, slots=True)
class SignificanceTest(Outcome):
    """A test statistic with its degrees of freedom and its probability under the null hypothesis.

    - `statistic`: The value of the statistic; infinite where any difference at all contradicts the
      hypothesis.
    - `df`: Degrees of freedom; those of the numerator of an F ratio.
    - `p`: Probability of a statistic at least as large if the null hypothesis holds.
    - `n`: How many respondents went in.

    Examples
    --------
    >>> SignificanceTest.absent("insufficient", "one respondent cannot vary").status
    'insufficient'
    """

    statistic: float = math.nan
    df: float = math.nan
    p: float = math.nan
    n: int = 0


def chi_square_test(statistic: float, df: float, n: int) -> SignificanceTest:
    """The upper tail of a chi-square statistic.

    >>> round(chi_square_test(22.348739, 9, 10).p, 5)
    0.00784
    """
    return SignificanceTest(statistic, df, float(gammaincc(df / 2, statistic / 2)), n)


def benjamini_hochberg(p: ArrayLike) -> Array:
    """P-values adjusted for the false discovery rate: the share of false alarms among what is
    called significant.

    Benjamini, Y. and Hochberg, Y. (1995). Journal of the Royal Statistical Society B, 57, 289-300.
    `p` has any shape; NaN stays NaN and counts as no test.

    >>> benjamini_hochberg([0.01, 0.04, 0.03, 0.20]).round(4)
    array([0.04  , 0.0533, 0.0533, 0.2   ])
    """
    flat = np.asarray(p, dtype=np.float64)
    adjusted, known = np.full(flat.shape, np.nan), np.isfinite(flat)
    order = np.argsort(flat[known])[::-1]
    tests = np.arange(len(order), 0, -1)
    smallest = np.minimum.accumulate(flat[known][order] * (len(order) / tests))
    adjusted[known] = smallest[np.argsort(order)]
    return adjusted


def holm(p: ArrayLike) -> Array:
    """P-values adjusted so that the chance of any false alarm among all tests stays below the
    level.

    Holm, S. (1979). Scandinavian Journal of Statistics, 6, 65-70. `p` has any shape; NaN stays NaN
    and counts as no test.

    >>> holm([0.01, 0.04, 0.03, 0.20]).round(4)
    array([0.04, 0.09, 0.09, 0.2 ])
    """
    flat = np.asarray(p, dtype=np.float64)
    single = holm_in_order([[float(value)] for value in flat.ravel()])
    return np.array([value for (value,) in single], dtype=np.float64).reshape(flat.shape)


def holm_in_order(sequences: Sequence[Sequence[float]]) -> list[list[float]]:
    """Holm's adjustment where each question is asked in steps, and a later step only after the
    earlier one was answered.

    Whether two measures differ is asked first of these respondents, then of others. Questions that
    are not answered to their end share the level, and each keeps its share from step to step. The
    chance of any false alarm in any step stays below the level. Bretz, F., Maurer, W., Brannath, W.
    and Posch, M. (2009). Statistics in Medicine, 28, 586-604.

    - `sequences`: The p-values of each question in their order; NaN is a test that was not made and
      is passed over.

    >>> holm_in_order([[0.01, 0.02], [0.04]])
    [[0.02, 0.04], [0.04]]
    """
    adjusted = [[math.nan] * len(steps) for steps in sequences]
    made = [[(p, k) for k, p in enumerate(steps) if math.isfinite(p)] for steps in sequences]
    current = [(*steps[0], i, 1) for i, steps in enumerate(made) if steps]
    heapify(current)
    reached = 0.0
    while current:
        p, k, i, following = current[0]
        reached = max(reached, min(1.0, len(current) * p))
        adjusted[i][k] = reached
        if following < len(made[i]):
            heapreplace(current, (*made[i][following], i, following + 1))
        else:
            heappop(current)
    return adjusted
