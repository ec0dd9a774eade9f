"""The systematic difference between two administrations."""

from __future__ import annotations

import math

import numpy.typing as npt

from hqm.psychometrics.correlation import paired
from hqm.psychometrics.result import Coefficient


def mean_shift(x: npt.ArrayLike, y: npt.ArrayLike, *, level: float = 0.95) -> Coefficient:
    """How much higher the other administration is on average, with Student's interval of the paired differences.

    A correlation ignores it: scores can keep their order while all of them move.

        d = mean(y - x),   interval d +- t(n - 1) s_d / sqrt(n)

    Parameters
    ----------
    x, y
        (respondents,): scores in the first and the other administration; pairs with a missing score are left out.

    Returns
    -------
    Coefficient
        In score units. `insufficient` without any pair; no interval below 2 pairs.

    Notes
    -----
    The interval generalises over respondents.

    Examples
    --------
    >>> shift = mean_shift([0.50, 0.60, 0.70], [0.52, 0.61, 0.75])
    >>> round(shift.value, 4)
    0.0267
    """
    a, b = paired(x, y)
    n = len(a)
    if n == 0:
        return Coefficient.absent("insufficient", "no respondent has a score in both administrations")
    difference = b - a
    value = float(difference.mean())
    if n < 2:
        return Coefficient(value, n=n)
    from scipy.stats import t

    half = float(t.ppf(0.5 + level / 2, n - 1)) * float(difference.std(ddof=1)) / math.sqrt(n)
    return Coefficient(value, value - half, value + half, n, level, "paired t")
