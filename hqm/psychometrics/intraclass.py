"""Intraclass correlation of administrations: agreement and consistency."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import shaped
from hqm.psychometrics.correlation import is_constant
from hqm.psychometrics.result import Coefficient, Status


@dataclass(frozen=True, slots=True)
class ICC:
    """ICC(A,1) and ICC(C,1) with the mean squares they come from.

    `sem_agreement` and `sem_consistency` are standard errors of measurement in score units; `mdc95` is the smallest
    difference between two administrations of one respondent that is not noise (agreement).
    """

    a1: Coefficient
    c1: Coefficient
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
    """Intraclass correlations of single scores, two-way model.

    ICC(A,1) asks how far the *same number* comes back (absolute agreement): a shift of the mean between
    administrations lowers it. ICC(C,1) asks how far the *differences between respondents* come back (consistency). A
    gap between the two is a shift. With two administrations of equal variance ICC(C,1) equals Pearson's r.

        ICC(A,1) = (MSR - MSE) / (MSR + (k-1) MSE + k (MSC - MSE) / n)
        ICC(C,1) = (MSR - MSE) / (MSR + (k-1) MSE)

    McGraw, K. O. and Wong, S. P. (1996). Forming inferences about some intraclass correlation coefficients.
    Psychological Methods, 1, 30-46; the interval of ICC(A,1) uses Satterthwaite's degrees of freedom.

    - `scores`: (respondents, administrations); respondents with a missing score are left out.
    - `n_effective`: How many independent respondents there are, where some are relatives; it takes the place of n in
      the degrees of freedom of every interval, and below 3 there is none.

    The status is `insufficient` for fewer than 3 respondents or 2 administrations, `degenerate` when nothing varies
    between respondents. A negative value is kept as it is. ICC(A,1) may lie slightly above ICC(C,1) when MSC < MSE.

    Six targets, four judges (Shrout and Fleiss 1979, Psychological Bulletin 86, 420-428, Table 2):

    >>> ratings = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    >>> result = icc(ratings)
    >>> round(result.a1.value, 2), round(result.c1.value, 2)
    (0.29, 0.71)
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
    size = float(n) if n_effective is None else min(float(n), n_effective)
    return ICC(
        _agreement(msr, msc, mse, n, k, size, level),
        _consistency(msr, mse, n, k, size, level),
        n,
        k,
        msc,
        mse,
        math.sqrt(mse + max(0.0, (msc - mse) / n)),
        math.sqrt(mse),
    )


def _absent(status: Status, reason: str, n: int, k: int) -> ICC:
    none = Coefficient.absent(status, reason, n)
    return ICC(none, none, n, k)


def _agreement(msr: float, msc: float, mse: float, n: int, k: int, size: float, level: float) -> Coefficient:
    from scipy.stats import f

    value = (msr - mse) / (msr + (k - 1) * mse + k * (msc - mse) / n)
    if value >= 1.0 or mse == msc == 0.0:
        return Coefficient(1.0, 1.0, 1.0, n, level, "McGraw-Wong")
    a = k * value / (n * (1 - value))
    b = 1 + k * value * (n - 1) / (n * (1 - value))
    spread = (a * msc) ** 2 / (k - 1) + (b * mse) ** 2 / ((size - 1) * (k - 1)) if size >= 3 else 0.0
    if spread == 0.0:
        return Coefficient(value, n=n, level=level, method="McGraw-Wong")
    v = (a * msc + b * mse) ** 2 / spread
    tail = 0.5 + level / 2
    f1, f2 = float(f.ppf(tail, size - 1, v)), float(f.ppf(tail, v, size - 1))
    low = n * (msr - f1 * mse) / (f1 * (k * msc + (k * n - k - n) * mse) + n * msr)
    high = n * (f2 * msr - mse) / (k * msc + (k * n - k - n) * mse + n * f2 * msr)
    return Coefficient(value, low, high, n, level, "McGraw-Wong")


def _consistency(msr: float, mse: float, n: int, k: int, size: float, level: float) -> Coefficient:
    from scipy.stats import f

    value = (msr - mse) / (msr + (k - 1) * mse)
    if mse == 0.0:
        return Coefficient(1.0, 1.0, 1.0, n, level, "F")
    if size < 3:
        return Coefficient(value, n=n, level=level, method="F")
    ratio, tail, df = msr / mse, 0.5 + level / 2, (size - 1) * (k - 1)
    low = ratio / float(f.ppf(tail, size - 1, df))
    high = ratio * float(f.ppf(tail, df, size - 1))
    return Coefficient(value, (low - 1) / (low + k - 1), (high - 1) / (high + k - 1), n, level, "F")
