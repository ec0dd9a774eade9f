"""Intraclass correlations of administrations: one-way, agreement and consistency, of one score and
of the mean of k.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import shaped
from hqm.psychometrics.correlation import is_constant
from hqm.psychometrics.distributions import f_quantile
from hqm.psychometrics.result import Coefficient, Status


@dataclass(frozen=True, slots=True)
class ICC:
    """The six intraclass correlations of McGraw and Wong, with the mean squares they come from.

    | name here | McGraw and Wong | Shrout and Fleiss | administrations | of |
    |---|---|---|---|---|
    | `one_way`, `one_way_k` | ICC(1), ICC(k) | ICC(1,1), ICC(1,k) | others for every respondent | one score, the mean of k |
    | `a1`, `ak` | ICC(A,1), ICC(A,k) | ICC(2,1), ICC(2,k) | a random facet, in the error | one score, the mean of k |
    | `c1`, `ck` | ICC(C,1), ICC(C,k) | ICC(3,1), ICC(3,k) | a fixed facet, left out | one score, the mean of k |

    `ck` is Cronbach's alpha of the administrations. `sem_agreement` and `sem_consistency` are
    standard errors of measurement of one score, in score units; `mdc95` is the smallest difference
    between two administrations of one respondent that is not noise (agreement).
    """

    a1: Coefficient
    c1: Coefficient
    ak: Coefficient
    ck: Coefficient
    one_way: Coefficient
    one_way_k: Coefficient
    n: int
    k: int
    ms_columns: float = math.nan
    ms_error: float = math.nan
    sem_agreement: float = math.nan
    sem_consistency: float = math.nan

    @property
    def mdc95(self) -> float:
        return 1.96 * math.sqrt(2) * self.sem_agreement


def icc(scores: npt.ArrayLike, *, n_effective: float | None = None, level: float = 0.95) -> ICC:
    """Intraclass correlations of the same respondents in k administrations (or by k raters).

    ICC(A,1) asks how far the *same number* comes back (absolute agreement): a shift of the mean
    between administrations lowers it. ICC(C,1) asks how far the *differences between respondents*
    come back (consistency). A gap between the two is a shift. With two administrations of equal
    variance ICC(C,1) equals Pearson's r. ICC(1,1) is invalid where the administrations' means
    differ. The k-forms are about the mean over all k administrations.

        ICC(A,1) = (MSR - MSE) / (MSR + (k-1) MSE + k (MSC - MSE) / n)      ICC(A,k) = (MSR - MSE) / (MSR + (MSC - MSE) / n)
        ICC(C,1) = (MSR - MSE) / (MSR + (k-1) MSE)                          ICC(C,k) = (MSR - MSE) / MSR
        ICC(1,1) = (MSR - MSW) / (MSR + (k-1) MSW)                          ICC(1,k) = (MSR - MSW) / MSR

    McGraw, K. O. and Wong, S. P. (1996). Forming inferences about some intraclass correlation
    coefficients. Psychological Methods, 1, 30-46; the intervals of ICC(A,1) and ICC(A,k) use
    Satterthwaite's degrees of freedom.

    - `scores`: (respondents, administrations); respondents with a missing score are left out.
    - `n_effective`: How many independent respondents there are, where some are relatives; it takes
      the place of n in the degrees of freedom of every interval, and below 3 there is none.

    The status is `insufficient` for fewer than 3 respondents or 2 administrations, `degenerate`
    when nothing varies between respondents. A negative value is kept as it is. ICC(A,1) may lie
    slightly above ICC(C,1) when MSC < MSE.

    Six targets, four judges (Shrout and Fleiss 1979, Psychological Bulletin 86, 420-428, Table 4):
    >>> ratings = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    >>> forms = icc(ratings)
    >>> [round(form.value, 2) for form in (forms.one_way, forms.a1, forms.c1, forms.one_way_k, forms.ak, forms.ck)]
    [0.17, 0.29, 0.71, 0.44, 0.62, 0.91]
    """
    x = shaped(scores, "respondents, administrations")
    x = x[np.isfinite(x).all(axis=1)]
    n, k = x.shape
    if n < 3 or k < 2:
        reason = f"an ICC needs 3 respondents and 2 administrations, there are {n} and {k}"
        return _absent("insufficient", reason, n, k)
    if is_constant(x.mean(axis=1)) and is_constant(x.ravel()):
        return _absent("degenerate", "all scores are the same", n, k)
    grand = x.mean()
    rows, columns = x.mean(axis=1), x.mean(axis=0)
    msr = k * float(((rows - grand) ** 2).sum()) / (n - 1)
    msc = n * float(((columns - grand) ** 2).sum()) / (k - 1)
    mse = float(((x - rows[:, None] - columns + grand) ** 2).sum()) / ((n - 1) * (k - 1))
    # rounding leaves dust where the administrations are identical
    mse = 0.0 if mse < 1e-14 * msr else mse
    msc = 0.0 if msc < 1e-14 * msr else msc
    if msr == 0.0:
        return _absent("degenerate", "the respondents do not differ", n, k)
    msw = ((k - 1) * msc + (n - 1) * (k - 1) * mse) / (n * (k - 1))
    size = float(n) if n_effective is None else min(float(n), n_effective)
    a1 = _agreement(msr, msc, mse, n, k, size, level)
    c1 = _ratio(msr, mse, n, k, (size - 1) * (k - 1), size, level)
    one_way = _ratio(msr, msw, n, k, size * (k - 1), size, level)
    return ICC(
        a1,
        c1,
        icc_of_mean(a1, k),
        icc_of_mean(c1, k),
        one_way,
        icc_of_mean(one_way, k),
        n,
        k,
        msc,
        mse,
        math.sqrt(mse + max(0.0, (msc - mse) / n)),
        math.sqrt(mse),
    )


def icc_of_mean(single: Coefficient, k: int) -> Coefficient:
    """The intraclass correlation of the mean of k scores from that of one score, with the ends of
    its intervals.

        k r / (1 + (k - 1) r)   (Spearman and Brown)

    It turns ICC(A,1) into ICC(A,k), ICC(C,1) into ICC(C,k) and ICC(1,1) into ICC(1,k). An interval
    that reaches down to -1 / (k - 1) or below has no lower end and is left out.

    The status is that of `single`, and `degenerate` where the means of the respondents do not
    differ.
    >>> round(icc_of_mean(Coefficient(0.5), 2).value, 4)
    0.6667
    """

    def stepped(value: float) -> float:
        return k * value / (1 + (k - 1) * value) if 1 + (k - 1) * value > 1e-12 else math.nan

    if single.status not in ("ok", "not_informative"):
        return single
    if not math.isfinite(stepped(single.value)):
        return Coefficient.absent(
            "degenerate", "the means of the respondents do not differ", single.n
        )
    low, high = stepped(single.low), stepped(single.high)
    fixed = single.fixed
    if fixed is not None:
        ends = stepped(fixed.low), stepped(fixed.high)
        fixed = replace(fixed, low=ends[0], high=ends[1]) if all(map(math.isfinite, ends)) else None
    known = math.isfinite(low) and math.isfinite(high)
    return replace(
        single,
        value=stepped(single.value),
        low=low if known else math.nan,
        high=high if known else math.nan,
        fixed=fixed,
        se=math.nan,
        raw=math.nan,
    )


def dependability(
    scores: npt.ArrayLike,
    rng: np.random.Generator,
    *,
    n_effective: float | None = None,
    level: float = 0.95,
    draws: int = 10_000,
) -> Coefficient:
    """Phi of respondents x columns, ICC(A,k), with an interval that holds for few columns, where
    `icc`'s is too narrow.

    Every sum of squares is divided by draws of its own chi-square, and the coefficient's quantiles
    are taken.

        Phi = (R - E) / (R + (C - E) / n),   R = SSR / chi2(n - 1), C = SSC / chi2(k - 1) >= E, E = SSE / chi2((n - 1)(k - 1))

    Weerahandi, S. (1993). Generalized confidence intervals. Journal of the American Statistical
    Association, 88, 899-905.

    - `scores, n_effective`: as in `icc`, whose status it has. `rng`: draws the chi-squares, `draws`
      of each.
    >>> round(dependability([[9, 2, 5], [6, 1, 3], [8, 4, 6], [7, 1, 2]], np.random.default_rng(0)).value, 2)
    0.38
    """
    study = icc(scores, n_effective=n_effective, level=level)
    n, k, value = study.n, study.k, study.ak
    size = float(n) if n_effective is None else min(float(n), n_effective)
    if value.status != "ok" or size < 3 or study.ms_error == 0.0:
        return value
    rows = study.ms_error + k * study.c1.value / (1 - study.c1.value) * study.ms_error
    df = (size - 1) * (k - 1)
    error = study.ms_error * df / rng.chisquare(df, draws)
    respondents = rows * (size - 1) / rng.chisquare(size - 1, draws)
    columns = np.maximum(study.ms_columns * (k - 1) / rng.chisquare(k - 1, draws), error)
    drawn = (respondents - error) / (respondents + (columns - error) / n)
    low, high = (float(v) for v in np.quantile(drawn, [0.5 - level / 2, 0.5 + level / 2]))
    return Coefficient(
        value.value, low, high, n, level, f"generalized pivots, {draws}", flags=value.flags
    )


def _absent(status: Status, reason: str, n: int, k: int) -> ICC:
    none = Coefficient.absent(status, reason, n)
    return ICC(none, none, none, none, none, none, n, k)


def _agreement(
    msr: float, msc: float, mse: float, n: int, k: int, size: float, level: float
) -> Coefficient:
    value = (msr - mse) / (msr + (k - 1) * mse + k * (msc - mse) / n)
    if value >= 1.0 or mse == msc == 0.0:
        return Coefficient(1.0, 1.0, 1.0, n, level, "McGraw-Wong")
    a = k * value / (n * (1 - value))
    b = 1 + k * value * (n - 1) / (n * (1 - value))
    spread = (
        (a * msc) ** 2 / (k - 1) + (b * mse) ** 2 / ((size - 1) * (k - 1)) if size >= 3 else 0.0
    )
    if spread == 0.0:
        return Coefficient(value, n=n, level=level, method="McGraw-Wong")
    v = (a * msc + b * mse) ** 2 / spread
    tail = 0.5 + level / 2
    f1, f2 = float(f_quantile(tail, size - 1, v)), float(f_quantile(tail, v, size - 1))
    low = n * (msr - f1 * mse) / (f1 * (k * msc + (k * n - k - n) * mse) + n * msr)
    high = n * (f2 * msr - mse) / (k * msc + (k * n - k - n) * mse + n * f2 * msr)
    return Coefficient(value, low, high, n, level, "McGraw-Wong")


def _ratio(
    msr: float, error: float, n: int, k: int, df: float, size: float, level: float
) -> Coefficient:
    """The coefficient of one score from two mean squares, with the interval of their ratio F."""
    value = (msr - error) / (msr + (k - 1) * error)
    if error == 0.0:
        return Coefficient(1.0, 1.0, 1.0, n, level, "F")
    if size < 3:
        return Coefficient(value, n=n, level=level, method="F")
    ratio, tail = msr / error, 0.5 + level / 2
    low = ratio / float(f_quantile(tail, size - 1, df))
    high = ratio * float(f_quantile(tail, df, size - 1))
    return Coefficient(value, (low - 1) / (low + k - 1), (high - 1) / (high + k - 1), n, level, "F")
