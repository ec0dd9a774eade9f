"""Standard errors of measurement in score units, and the smallest difference that is not noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.icc import icc
from hqm.psychometrics.result import Coefficient, Status

MDC_FACTOR = 1.96 * math.sqrt(2)
"""A difference of two administrations has sqrt(2) times the error of one; 95 % of differences lie within 1.96 of that."""


@dataclass(frozen=True, slots=True)
class MeasurementError:
    """Standard errors of measurement and minimal detectable changes, each with its interval.

    `agreement` counts a shift between administrations as error, `consistency` does not. `mdc95_*` is the smallest
    difference between two administrations of one respondent that exceeds noise with 95 % confidence.
    """

    agreement: Coefficient
    consistency: Coefficient
    mdc95_agreement: Coefficient
    mdc95_consistency: Coefficient


def measurement_error(scores: npt.ArrayLike, *, level: float = 0.95) -> MeasurementError:
    """How far a score lies from the respondent's mean over administrations, in score units.

    A reliability coefficient compares the noise with the spread of the respondents; this is the noise itself, so it can
    be laid beside the gap between two respondents and does not grow or shrink with the company they keep.

        SEM_consistency = sqrt(MSE)          SEM_agreement = sqrt(MSE + max(0, (MSC - MSE) / M))
        interval: SEM sqrt(df / chi2),  df = (M - 1)(K - 1)          MDC95 = 1.96 sqrt(2) SEM

    Parameters
    ----------
    scores
        (respondents, administrations); respondents with a missing score are left out.
    level
        Confidence level.

    Returns
    -------
    MeasurementError
        `insufficient` for fewer than 3 respondents or 2 administrations, `degenerate` when the respondents do not
        differ; `not_informative` with the value 0 when all administrations are identical.

    Raises
    ------
    ValueError
        `scores` is not a matrix.

    Notes
    -----
    McGraw, K. O. and Wong, S. P. (1996). Psychological Methods, 1, 30-46. de Vet, H. C. W. et al. (2006). When to use
    agreement versus reliability measures. Journal of Clinical Epidemiology, 59, 1033-1039. The chi-square interval is
    exact for the consistency of normal scores and an approximation for the agreement.

    Examples
    --------
    Six targets, four judges (Shrout and Fleiss 1979, Table 2):

    >>> ratings = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    >>> found = measurement_error(ratings)
    >>> round(found.agreement.value, 5), round(found.consistency.value, 5), round(found.mdc95_agreement.value, 5)
    (2.50278, 1.00968, 6.93734)
    """
    from scipy.stats import chi2

    found = icc(scores, level=level)
    if found.c1.status != "ok":
        none = Coefficient.absent(found.c1.status, found.c1.reason, found.n)
        return MeasurementError(none, none, none, none)
    df = (found.n - 1) * (found.k - 1)
    tails = np.ravel(chi2.ppf([0.5 + level / 2, 0.5 - level / 2], df))
    narrow, wide = (math.sqrt(df / float(tail)) for tail in tails)

    def with_interval(error: float, factor: float) -> Coefficient:
        value = factor * error
        if error == 0.0:
            reason = "the administrations are identical, so no error can be seen"
            return Coefficient(0.0, n=found.n, level=level, status="not_informative", reason=reason)
        return Coefficient(value, value * narrow, value * wide, found.n, level, "chi-square")

    agreement, consistency = found.sem_agreement, found.sem_consistency
    return MeasurementError(
        with_interval(agreement, 1.0),
        with_interval(consistency, 1.0),
        with_interval(agreement, MDC_FACTOR),
        with_interval(consistency, MDC_FACTOR),
    )


@dataclass(frozen=True, slots=True)
class StandardErrors:
    """Dudek's three standard errors, in score units.

    Parameters
    ----------
    measurement
        Spread of observed scores around one respondent's true score.
    estimation
        Spread of true scores around the value regressed from an observed score.
    prediction
        Spread of a second administration's scores around the value predicted from the first: what a rerun is to be
        compared with.
    deviation, reliability
        What they were computed from.
    status, reason
        `ok`, or why there are no numbers.
    """

    measurement: float
    estimation: float
    prediction: float
    deviation: float = math.nan
    reliability: float = math.nan
    status: Status = "ok"
    reason: str = ""


def standard_errors(deviation: float, reliability: float) -> StandardErrors:
    """The three standard errors that a reliability and a standard deviation imply.

    They answer three questions and are often confused: how far does a score stray from the truth (measurement), how far
    may the truth lie from its best estimate (estimation), how far will the next run lie from its best prediction.

        measurement s sqrt(1 - r)     estimation s sqrt(r (1 - r))     prediction s sqrt(1 - r^2)

    Parameters
    ----------
    deviation
        Standard deviation of the respondents' scores.
    reliability
        The reliability of one score.

    Returns
    -------
    StandardErrors
        `insufficient` when an argument is not a number, `not_applicable` for a negative deviation or a reliability
        outside 0 to 1.

    Notes
    -----
    Dudek, F. J. (1979). The continuing misinterpretation of the standard error of measurement. Psychological Bulletin,
    86, 335-337.

    Examples
    --------
    A scale with standard deviation 15 and reliability .91:

    >>> found = standard_errors(15, 0.91)
    >>> round(found.measurement, 4), round(found.estimation, 4), round(found.prediction, 4)
    (4.5, 4.2927, 6.2191)
    """
    s, r = float(deviation), float(reliability)
    if not (math.isfinite(s) and math.isfinite(r)):
        reason = "the standard deviation or the reliability is not known"
        return StandardErrors(math.nan, math.nan, math.nan, s, r, "insufficient", reason)
    if s < 0 or not 0 <= r <= 1:
        reason = f"a deviation of 0 or more and a reliability of 0 to 1 are needed, got {s:.4g} and {r:.4g}"
        return StandardErrors(math.nan, math.nan, math.nan, s, r, "not_applicable", reason)
    return StandardErrors(s * math.sqrt(1 - r), s * math.sqrt(r * (1 - r)), s * math.sqrt(1 - r * r), s, r)
