"""Bland and Altman's limits of agreement of two administrations."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import Array
from hqm.psychometrics.correlation import is_constant, paired, size_of
from hqm.psychometrics.distributions import noncentral_student_quantile, student_quantile
from hqm.psychometrics.result import Bounds, Coefficient, Status


@dataclass(frozen=True, slots=True)
class BlandAltman:
    """Bias, spread and limits of agreement of the differences (other - first).

    - `bias`: Mean difference with Student's interval.
    - `deviation`: Standard deviation of the differences.
    - `lower, upper`: The limits of agreement with their exact intervals.
    - `lower_approximate, upper_approximate`: The intervals of Bland and Altman's own approximation,
      for comparison with older reports.
    - `slope`: Slope of the differences on the means, with Student's interval: whether disagreement
      grows with the score.
    - `multiplier`: How many standard deviations the limits lie from the bias.
    - `status, reason`: `ok`, or why there are no limits, in a sentence.
    """

    bias: Coefficient
    deviation: float
    lower: Coefficient
    upper: Coefficient
    slope: Coefficient
    lower_approximate: Bounds | None = None
    upper_approximate: Bounds | None = None
    multiplier: float = 1.96
    status: Status = "ok"
    reason: str = ""


def bland_altman(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    n_effective: float | None = None,
    level: float = 0.95,
    multiplier: float = 1.96,
) -> BlandAltman:
    """The range in which the difference between two administrations of one respondent lies.

    A correlation says whether scores move together; the limits of agreement say by how many points
    they differ. They are of use when laid beside the gaps between respondents: limits wider than
    the typical gap mean that a rerun can change the order.

        bias d = mean(y - x),  limits d -+ 1.96 s_d
        exact interval of a limit: d -+ s_d c / sqrt(n),  c a quantile of the noncentral t(n - 1, 1.96 sqrt(n))
        approximate interval: limit -+ t(n - 1) sqrt(3 s_d^2 / n)

    Bland, J. M. and Altman, D. G. (1986). Statistical methods for assessing agreement between two
    methods of clinical measurement. Lancet, 327, 307-310. Carkeet, A. (2015). Exact parametric
    confidence intervals for Bland-Altman limits of agreement. Optometry and Vision Science, 92,
    e71-e80. Differences are taken to be normal.

    - `x, y`: (respondents,): scores in the first and the other administration; pairs with a missing
      score are left out.
    - `n_effective`: The number of independent respondents, where some are relatives.
    - `multiplier`: 1.96 for limits that hold 95 % of normal differences; 2 as in the paper of 1986.

    The status is `insufficient` for fewer than 5 respondents, `degenerate` when all differences are
    equal (limits would collapse on the bias, which is still given). The slope alone is `degenerate`
    when the means do not vary.

    Peak flow of 17 people; Bland and Altman subtract the mini meter from the Wright meter and use 2
    deviations:

    >>> wright = [494, 395, 516, 434, 476, 557, 413, 442, 650, 433, 417, 656, 267, 478, 178, 423, 427]
    >>> mini = [512, 430, 520, 428, 500, 600, 364, 380, 658, 445, 432, 626, 260, 477, 259, 350, 451]
    >>> result = bland_altman(mini, wright, multiplier=2)
    >>> round(result.bias.value, 4), round(result.deviation, 3), round(result.lower.value, 2), round(result.upper.value, 2)
    (-2.1176, 38.765, -79.65, 75.41)
    """
    a, b = paired(x, y)
    n = len(a)
    if n < 5:
        reason = f"limits of agreement need 5 respondents, there are {n}"
        none = Coefficient.absent("insufficient", reason, n)
        return BlandAltman(
            none, math.nan, none, none, none, None, None, multiplier, "insufficient", reason
        )
    size = max(size_of(n, n_effective), 1.0)
    difference, mean = b - a, (a + b) / 2
    slope = _slope(mean, difference, size, level)
    bias = float(difference.mean())
    # differences of scores carry the rounding of the scores
    if float(np.ptp(difference)) <= 1e-12 * max(1.0, float(np.abs(mean).max())):
        reason = "all respondents differ by the same amount, so the differences have no spread"
        none = Coefficient.absent("degenerate", reason, n)
        return BlandAltman(
            Coefficient(bias, n=n, level=level),
            0.0,
            none,
            none,
            slope,
            None,
            None,
            multiplier,
            "degenerate",
            reason,
        )
    s = float(difference.std(ddof=1))
    low, high = bias - multiplier * s, bias + multiplier * s
    if size < 2:
        # of one family nothing is known of other families
        centre, lower, upper = (Coefficient(end, n=n, level=level) for end in (bias, low, high))
        return BlandAltman(centre, s, lower, upper, slope, None, None, multiplier)
    quantile = float(student_quantile(0.5 + level / 2, size - 1))
    half = quantile * s / math.sqrt(size)
    near, far = (
        float(c)
        for c in np.ravel(
            noncentral_student_quantile(
                [0.5 - level / 2, 0.5 + level / 2], size - 1, multiplier * math.sqrt(size)
            )
        )
    )
    near, far = s * near / math.sqrt(size), s * far / math.sqrt(size)
    rough = quantile * math.sqrt(3 * s * s / size)
    return BlandAltman(
        Coefficient(bias, bias - half, bias + half, n, level, "paired t"),
        s,
        Coefficient(low, bias - far, bias - near, n, level, "noncentral t"),
        Coefficient(high, bias + near, bias + far, n, level, "noncentral t"),
        slope,
        Bounds(low - rough, low + rough, "Bland-Altman approximation", level),
        Bounds(high - rough, high + rough, "Bland-Altman approximation", level),
        multiplier,
    )


def _slope(mean: Array, difference: Array, size: float, level: float) -> Coefficient:
    n = len(mean)
    if is_constant(mean):
        return Coefficient.absent(
            "degenerate", "the mean scores of the respondents do not differ", n
        )
    u, v = mean - mean.mean(), difference - difference.mean()
    spread = float(np.dot(u, u))
    value = float(np.dot(u, v)) / spread
    residual = v - value * u
    error = math.sqrt(float(np.dot(residual, residual)) / (n - 2) / spread * n / size)
    if size <= 2:
        return Coefficient(value, n=n, level=level, method="t")
    half = float(student_quantile(0.5 + level / 2, size - 2)) * error
    return Coefficient(value, value - half, value + half, n, level, "t", se=error)
