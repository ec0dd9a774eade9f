"""The frozen result of a significance test."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hqm.psychometrics.result import Status


@dataclass(frozen=True, slots=True)
class SignificanceTest:
    """A test statistic with its degrees of freedom and its probability under the null hypothesis.

    - `statistic`: The value of the statistic; infinite where any difference at all contradicts the
      hypothesis.
    - `df, df2`: Degrees of freedom; `df2` only for an F ratio.
    - `p`: Probability of a statistic at least as large if the null hypothesis holds.
    - `name`: What is tested and how.
    - `n`: How many respondents went in.
    - `status, reason`: `ok`, or why there is no test, in a sentence; the numbers are then NaN.

    Examples
    --------
    >>> SignificanceTest.absent("insufficient", "one respondent cannot vary").status
    'insufficient'
    """

    statistic: float
    df: float
    p: float
    name: str = ""
    n: int = 0
    df2: float = math.nan
    status: Status = "ok"
    reason: str = ""

    @classmethod
    def absent(cls, status: Status, reason: str, n: int = 0, name: str = "") -> SignificanceTest:
        """A test that cannot be made, and why."""
        return cls(math.nan, math.nan, math.nan, name, n, status=status, reason=reason)


def chi_square_test(statistic: float, df: float, name: str, n: int) -> SignificanceTest:
    """The upper tail of a chi-square statistic.

    >>> round(chi_square_test(22.348739, 9, "Kendall's W", 10).p, 5)
    0.00784
    """
    from scipy.special import gammaincc

    return SignificanceTest(statistic, df, float(gammaincc(df / 2, statistic / 2)), name, n)
