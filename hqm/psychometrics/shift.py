"""The systematic difference between two administrations."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import Array
from hqm.psychometrics.correlation import paired, size_of
from hqm.psychometrics.distributions import student_quantile
from hqm.psychometrics.intraclass import icc
from hqm.psychometrics.result import Bounds, Coefficient, Status
from hqm.psychometrics.significance import SignificanceTest
from hqm.psychometrics.two_way import mean_variance


def mean_shift(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    without: tuple[Array, Array] | None = None,
    n_effective: float | None = None,
    level: float = 0.95,
) -> Coefficient:
    """How much higher the other administration is on average, with Student's interval over
    respondents.

        d = mean(y - x),   interval d +- t(n - 1) s_d / sqrt(n)

    A correlation ignores it: scores can keep their order while all of them move. With `without`,
    other respondents answer other items: the variance is that of `mean_variance`, and `fixed` is
    the interval for these respondents on other items.

    - `x, y`: (respondents,): scores in both administrations; pairs with a missing score are left
      out.
    - `without`: (respondents, clusters) of each administration: the scores with each cluster of
      items left out.
    - `n_effective`: The number of independent respondents, where some are relatives.

    It is in score units. The status is `insufficient` without a pair; there is no interval below 2
    pairs.
    >>> round(mean_shift([0.50, 0.60, 0.70], [0.52, 0.61, 0.75]).value, 4)
    0.0267
    """
    a, b = paired(x, y)
    n = len(a)
    if n == 0:
        return Coefficient.absent(
            "insufficient", "no respondent has a score in both administrations"
        )
    difference = b - a
    value = float(difference.mean())
    if n < 2:
        return Coefficient(value, n=n)
    left = None
    if without is not None:
        both = np.isfinite(np.asarray(x, dtype=np.float64)) & np.isfinite(
            np.asarray(y, dtype=np.float64)
        )
        left = without[1][both] - without[0][both]
    variance = mean_variance(difference, left, n_effective=n_effective)

    def reach(square: float, freedom: float) -> float:
        return (
            float(student_quantile(0.5 + level / 2, freedom)) * math.sqrt(square)
            if freedom > 0
            else math.nan
        )

    fixed, method = None, "paired t"
    if math.isfinite(variance.items):
        half, method = reach(variance.items, variance.df_items), "t, respondents and items"
        fixed = Bounds(value - half, value + half, "cluster jackknife", level)
    if n_effective is not None and n_effective < n:
        method += f", n_eff {n_effective:.4g}"
    half = reach(variance.both, variance.df_both)
    return Coefficient(value, value - half, value + half, n, level, method, fixed=fixed)


def own_shifts(
    x: npt.ArrayLike, y: npt.ArrayLike, without: tuple[Array, Array], *, level: float = 0.95
) -> tuple[Coefficient, ...]:
    """How much higher each respondent itself is in the other administration, on other items of the
    same kind.

        d = y - x,   SE^2 = (C - 1) / C  sum_c (d_(c) - mean(d_(.)))^2,   interval d +- t(C - 1) SE

    The items are the same on both sides, so that what makes an item hard cancels. The units are the
    score's. The status is `insufficient` without a score; there is no interval where no cluster
    moves the difference.

    - `x, y`: (respondents,): scores. `without`: (respondents, clusters) of each administration:
      with each cluster left out.

    >>> right = np.array([[1.0, 1, 0, 1, 1, 0]]), np.array([[1.0, 0, 0, 1, 0, 0]])
    >>> without = tuple((each.sum(axis=1, keepdims=True) - each) / 5 for each in right)
    >>> shift = own_shifts(right[0].mean(axis=1), right[1].mean(axis=1), without)[0]
    >>> round(float(shift.low), 4), round(float(shift.high), 4)
    (-0.8753, 0.2086)
    """
    first, other = (np.asarray(scores, dtype=np.float64) for scores in (x, y))
    moved = without[1] - without[0]
    made = []
    for shift, left in zip((other - first).tolist(), moved, strict=True):
        left, count = left[np.isfinite(left)], int(np.isfinite(left).sum())
        if not math.isfinite(shift):
            made.append(
                Coefficient.absent("insufficient", "it has no score in both administrations", count)
            )
            continue
        square = (
            (count - 1) / count * float(((left - left.mean()) ** 2).sum()) if count > 1 else 0.0
        )
        half = (
            float(student_quantile(0.5 + level / 2, count - 1)) * math.sqrt(square)
            if square > 0
            else math.nan
        )
        made.append(
            Coefficient(shift, shift - half, shift + half, count, level, "t, pictures left out")
        )
    return tuple(made)


def bias_test(scores: npt.ArrayLike, *, n_effective: float | None = None) -> SignificanceTest:
    """Whether the administrations differ in their mean: F = MSC / MSE with K - 1 and (M - 1)(K - 1)
    df.

    With two administrations it is the square of the paired t test. Where it is significant,
    ICC(A,1) must lead; to show that there is no difference needs the test of `equivalence`.

    - `scores`: (respondents, administrations); respondents with a missing score are left out.
    - `n_effective`: The number of independent respondents, where some are relatives.

    The status is that of `icc`, `not_applicable` below 2 independent respondents, and
    `not_informative` for identical administrations. The statistic is infinite when all respondents
    shift by exactly the same amount.

    >>> round(bias_test([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]).statistic, 3)
    31.866
    """
    from scipy.special import fdtrc

    correlations, name = icc(scores), "equal means (F)"
    if correlations.c1.status != "ok":
        return SignificanceTest.absent(
            correlations.c1.status, correlations.c1.reason, correlations.n, name
        )
    size = size_of(correlations.n, n_effective)
    if size < 2:
        reason = "the respondents are of one family: nothing is known of other families"
        return SignificanceTest.absent("not_applicable", reason, correlations.n, name)
    df, df2 = correlations.k - 1, (size - 1) * (correlations.k - 1)
    if correlations.ms_error == 0.0:
        if correlations.ms_columns == 0.0:
            reason = "the administrations are identical"
            return SignificanceTest.absent("not_informative", reason, correlations.n, name)
        return SignificanceTest(math.inf, df, 0.0, name, correlations.n, df2)
    ratio = correlations.ms_columns / correlations.ms_error * size / correlations.n
    return SignificanceTest(ratio, df, float(fdtrc(df, df2, ratio)), name, correlations.n, df2)


@dataclass(frozen=True, slots=True)
class Equivalence:
    """The two one-sided tests of a mean difference.

    - `shift`: Mean difference (other - first) with the 1 - 2 alpha interval; the administrations
      are equivalent exactly when it lies inside -margin to +margin.
    - `margin, alpha`: What was declared before looking.
    - `p_lower, p_upper`: Probabilities for "not above -margin" and "not below +margin".
    - `status, reason`: `ok`, or why there is no test, in a sentence.
    """

    shift: Coefficient
    margin: float
    alpha: float = 0.05
    p_lower: float = math.nan
    p_upper: float = math.nan
    status: Status = "ok"
    reason: str = ""

    @property
    def p(self) -> float:
        """The larger of the two probabilities; NaN without a test."""
        return max(self.p_lower, self.p_upper) if self.status == "ok" else math.nan


def equivalence(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    margin: float,
    *,
    alpha: float = 0.05,
    n_effective: float | None = None,
) -> Equivalence:
    """Whether two administrations have the same mean up to a margin: two one-sided tests
    (Schuirmann 1987).

    A paired t test that is not significant shows only that too little is known; this test shows
    equality. The margin is declared before the scores are seen, or is the noise of the seeds
    (`equivalence_margin`).

        t_lower = (d + margin) / (s_d / sqrt(n)),  t_upper = (d - margin) / (s_d / sqrt(n)),  p = max of both one-sided

    - `x, y`: (respondents,): scores in both administrations; pairs with a missing score are left
      out.
    - `margin`: The largest mean difference that does not matter, in score units.
    - `alpha`: The level of each one-sided test.
    - `n_effective`: The number of independent respondents, where some are relatives.

    The status is `insufficient` below 3 respondents or 2 independent ones, `degenerate` when all
    differences are equal, and `not_applicable` for a margin that is not positive.

    >>> round(equivalence([0.50, 0.60, 0.70], [0.52, 0.61, 0.70], 0.05).p, 3)
    0.01
    """
    a, b = paired(x, y)
    n = len(a)
    shift, size = (
        mean_shift(a, b, level=1 - 2 * alpha, n_effective=n_effective),
        size_of(n, n_effective),
    )
    status: Status = "ok"
    reason = ""
    if not margin > 0 or not math.isfinite(margin):
        status, reason = (
            "not_applicable",
            f"an equivalence margin must be a positive number, got {margin:.4g}",
        )
    elif n < 3 or size < 2:
        count = f"{n}" if size == n else f"{n}, who count as {size:.1f}"
        status, reason = (
            "insufficient",
            f"an equivalence test needs 3 respondents, there are {count}",
        )
    elif float(np.ptp(b - a)) <= 1e-12 * max(1.0, float(np.abs(a).max())):
        status, reason = (
            "degenerate",
            "all respondents differ by the same amount, so the difference has no error",
        )
    if status != "ok":
        return Equivalence(shift, margin, alpha, status=status, reason=reason)
    from scipy.special import stdtr

    error = float((b - a).std(ddof=1)) / math.sqrt(size)
    lower, upper = (shift.value + margin) / error, (shift.value - margin) / error
    return Equivalence(
        shift, margin, alpha, float(stdtr(size - 1, -lower)), float(stdtr(size - 1, upper))
    )


def equivalence_margin(declared: float | None = None, mdc95: float = math.nan) -> Coefficient:
    """The margin of an equivalence test: the one that was declared, else what the seeds alone can
    move.

    The two sets of scores that are compared never set it. A margin made from their own spread grows
    with the difference that it should judge, and calls any shift equivalent.

    - `declared`: The largest mean difference that does not matter, in score units, decided
      beforehand.
    - `mdc95`: The smallest difference between two runs of one respondent that is not noise
      (`rho_g`); NaN where the questions were put once.

    The status is `not_applicable` where neither is known, and `degenerate` where the runs do not
    differ at all.
    >>> equivalence_margin(0.02, 0.09).value, equivalence_margin(mdc95=0.09).value, equivalence_margin().status
    (0.02, 0.09, 'not_applicable')
    """
    if declared is not None:
        if declared > 0 and math.isfinite(declared):
            return Coefficient(float(declared), method="declared")
        reason = f"an equivalence margin must be a positive number, got {declared:.4g}"
        return Coefficient.absent("not_applicable", reason)
    if not math.isfinite(mdc95):
        reason = (
            "no margin is declared (--margin), and without a second run the noise of the seeds is"
            " not known"
        )
        return Coefficient.absent("not_applicable", reason)
    if mdc95 <= 0:
        reason = "the runs are identical, so that the seeds give no margin: declare one (--margin)"
        return Coefficient.absent("degenerate", reason)
    return Coefficient(float(mdc95), method="seeds")
