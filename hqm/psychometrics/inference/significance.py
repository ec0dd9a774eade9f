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
    """A test statistic with its degrees of freedom and its p-value.

    Attributes
    ----------
    statistic
        The value of the statistic; infinite where any difference at all contradicts the hypothesis.
    df
        Degrees of freedom; those of the numerator of an F ratio.
    p
        Probability of a statistic at least as large if the null hypothesis holds.
    n
        How many respondents went in.

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
    """Adjust p-values for the false discovery rate.

    Parameters
    ----------
    p : array_like
        P-values in any shape; NaN stays NaN and counts as no test.

    Returns
    -------
    Array
        The adjusted p-values, in the shape of `p`.

    References
    ----------
    .. [1] Benjamini, Y. and Hochberg, Y. (1995). Journal of the Royal Statistical Society B,
       57, 289-300.

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, 0.03, 0.20]).round(4)
    array([0.04  , 0.0533, 0.0533, 0.2   ])
    """
    flat = np.asarray(p, dtype=np.float64)
    adjusted = np.full(flat.shape, np.nan)
    finite = np.isfinite(flat)
    order = np.argsort(flat[finite])[::-1]
    tests = np.arange(len(order), 0, -1)
    # step-up from the largest p-value: adjusted p-values must not fall as p rises
    running_minimum = np.minimum.accumulate(flat[finite][order] * (len(order) / tests))
    # argsort of the order undoes it
    adjusted[finite] = running_minimum[np.argsort(order)]
    return adjusted


def holm(p: ArrayLike) -> Array:
    """Adjust p-values for the familywise error rate.

    Parameters
    ----------
    p : array_like
        P-values in any shape; NaN stays NaN and counts as no test.

    Returns
    -------
    Array
        The adjusted p-values, in the shape of `p`.

    References
    ----------
    .. [1] Holm, S. (1979). Scandinavian Journal of Statistics, 6, 65-70.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03, 0.20]).round(4)
    array([0.04, 0.09, 0.09, 0.2 ])
    """
    flat = np.asarray(p, dtype=np.float64)
    one_step = holm_in_order([[float(value)] for value in flat.ravel()])
    return np.array([value for (value,) in one_step], dtype=np.float64).reshape(flat.shape)


def fallback(p: ArrayLike) -> Array:
    """Adjust p-values that stand in an order of importance, for the familywise error rate.

    A p-value is adjusted by itself and by those before it: further tests at the end change none.
    That no step-wise procedure over all tests, such as Holm's, has.

    Parameters
    ----------
    p : array_like, shape (tests,)
        P-values, the most important test first; NaN is a test that was not made, whose share of
        the level is lost.

    Returns
    -------
    Array
        The adjusted p-values, in the order of `p`.

    Notes
    -----
    The fallback procedure [1]_ [2]_: test k has the share 1 / (k (k + 1)) of the level, which sums
    to 1 over infinitely many tests, and the shares of the rejected tests that stand directly before
    it. Between a test and the first one of its run of rejections they sum to
    1 / s - 1 / (k + 1).

        adjusted_k = min_{s <= k} max(adjusted_s, ..., adjusted_{k-1}, p_k / (1/s - 1/(k+1)))

    References
    ----------
    .. [1] Wiens, B. L. (2003). A fixed sequence Bonferroni procedure for testing multiple
       endpoints. Pharmaceutical Statistics, 2, 211-215.
    .. [2] Wiens, B. L. and Dmitrienko, A. (2005). The fallback procedure for evaluating a single
       family of hypotheses. Journal of Biopharmaceutical Statistics, 15, 929-942.

    Examples
    --------
    >>> fallback([0.01, 0.03, 0.20]).round(3).tolist()
    [0.02, 0.045, 0.267]
    >>> fallback([0.01, 0.03, 0.20, 0.9, 0.9]).round(3).tolist()[:3]
    [0.02, 0.045, 0.267]
    """
    flat = np.asarray(p, dtype=np.float64)
    adjusted = np.full(len(flat), np.nan)
    for k in range(len(flat)):
        if not np.isfinite(flat[k]):
            continue
        smallest = 1.0
        before = 0.0
        for s in range(k, -1, -1):
            # here s and k count from 0
            smallest = min(smallest, max(before, flat[k] / (1 / (s + 1) - 1 / (k + 2))))
            # the run of rejections directly before the test ends here
            if s and not adjusted[s - 1] < smallest:
                break
            before = max(before, adjusted[s - 1])
        adjusted[k] = smallest
    return adjusted


def holm_in_order(sequences: Sequence[Sequence[float]]) -> list[list[float]]:
    """Adjust p-values by Holm where each question is tested in an ordered sequence.

    Whether two measures differ is asked first of these respondents, then of others. Questions that
    are not answered to their end share the level, and each keeps its share from step to step. The
    chance of any false alarm in any step stays below the level.

    Parameters
    ----------
    sequences : sequence of Sequence[float]
        The p-values of each question in their order; NaN is a test that was not made and is passed
        over.

    Returns
    -------
    list[list[float]]
        The adjusted p-values, in the shape of `sequences`.

    References
    ----------
    .. [1] Bretz, F., Maurer, W., Brannath, W. and Posch, M. (2009). Statistics in Medicine, 28,
       586-604.

    Examples
    --------
    >>> holm_in_order([[0.01, 0.02], [0.04]])
    [[0.02, 0.04], [0.04]]
    """
    adjusted = [[math.nan] * len(steps) for steps in sequences]

    def finite_steps(steps: Sequence[float]) -> list[tuple[float, int]]:
        return [(p, k) for k, p in enumerate(steps) if math.isfinite(p)]

    tested = list(map(finite_steps, sequences))
    heap = [(*steps[0], i, 1) for i, steps in enumerate(tested) if steps]
    # an entry: p, its position, the question, and the position of the question's next test
    heapify(heap)
    largest = 0.0
    while heap:
        p, k, i, n_done = heap[0]
        # Bretz et al. (2009): open questions share the level equally; adjusted p-values never fall
        largest = max(largest, min(1.0, len(heap) * p))
        adjusted[i][k] = largest
        if n_done < len(tested[i]):
            heapreplace(heap, (*tested[i][n_done], i, n_done + 1))
        else:
            heappop(heap)
    return adjusted
