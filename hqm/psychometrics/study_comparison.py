"""Which of two studies separates respondents better: these, and others."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from hqm.psychometrics.study_forecast import StudySize, error_parts, independent
from hqm.psychometrics.study_variance import StudyParts
from hqm.psychometrics.two_way import FEWEST_CLUSTERS


@dataclass(frozen=True, slots=True)
class Contest:
    """A comparison of two forecasts for one population.

    - `difference`: log(U1 / Q1) - log(U2 / Q2), above 0 where the first separates better; `error`
      its standard error.
    - `reason`: Why there is none.
    """

    difference: float = math.nan
    error: float = math.nan
    reason: str = ""

    @property
    def choice(self) -> int:
        """1 or 2 where the difference exceeds its standard error, else 0."""
        if not abs(self.difference) > self.error:
            return 0
        return 1 if self.difference > 0 else 2

    @property
    def beyond_chance(self) -> bool:
        """Whether the difference exceeds 1.96 standard errors."""
        return abs(self.difference) > 1.96 * self.error


@dataclass(frozen=True, slots=True)
class StudiesCompared:
    """Two studies side by side.

    - `g`: How far differences between these respondents come back on other pictures and runs: U /
      (U + Q).
    - `these, others`: For these respondents over other pictures; for other respondents over other
      pictures.
    """

    g: tuple[float, float]
    these: Contest
    others: Contest


def compare_studies(
    first: StudyParts,
    second: StudyParts,
    sizes: tuple[StudySize, StudySize],
    correlation: float,
    n_effective: float,
) -> StudiesCompared:
    """Which of two benchmarks, each in a study of this size, tells respondents apart better.

    U is the variance between respondents, Q that of the errors which come anew with pictures and
    runs (`forecast`):

        d = log(U1 / Q1) - log(U2 / Q2);   these: SE^2 by the delta method from each study's covariance of components
        others: SE^2 + 2 (a1^2 + a2^2 - 2 a1 a2 r^2) / (n_eff - 1),   a = (U + Q0) / U as audited

    Respondents' variances in two benchmarks go together by the square of their scores' correlation
    r (Morgan 1939, Biometrika, 31, 13-19). Pictures that both have are counted as independent,
    which makes the error too large, never too small.

    - `correlation`: Of the respondents' scores in both; `n_effective`: how many independent
      respondents they share.

    >>> parts = StudyParts(effects=(("respondent",), ("respondent", "item")), values=(0.02, 0.2), covariance=((1e-6, 0), (0, 1e-5)),
    ...                    respondents=20, families=20, items=100, pictures=100)
    >>> worse = replace(parts, values=(0.01, 0.2))
    >>> compared = compare_studies(parts, worse, (StudySize(pictures=100),) * 2, 0.9, 20)
    >>> compared.these.choice, round(compared.these.difference, 3)
    (1, 0.693)
    """
    ratios, errors, swings = [], [], []
    for parts, size in zip((first, second), sizes, strict=True):
        if parts.status != "ok" or parts.between <= 0:
            reason = parts.reason or "its respondents do not differ beyond chance"
            return StudiesCompared(
                (math.nan, math.nan), Contest(reason=reason), Contest(reason=reason)
            )
        ratios.append(_separation(parts, size))
        errors.append(_error(parts, size))
        audited = StudySize(
            pictures=parts.pictures, items=parts.per_picture, forms=parts.forms, runs=parts.runs
        )
        swings.append(1 + 1 / math.exp(_separation(parts, audited)))
    g = tuple(1 / (1 + math.exp(-ratio)) for ratio in ratios)
    difference = ratios[0] - ratios[1]
    variance = errors[0] ** 2 + errors[1] ** 2
    these = (
        Contest(difference, math.sqrt(variance))
        if math.isfinite(variance)
        else Contest(reason="the audit has no covariance of its components")
    )
    own = (
        2
        * (swings[0] ** 2 + swings[1] ** 2 - 2 * swings[0] * swings[1] * correlation**2)
        / max(n_effective - 1, 1e-9)
    )
    count = min(n_effective, independent(first), independent(second))
    few = (
        f"a forecast for other respondents needs {FEWEST_CLUSTERS} independent ones, there are"
        f" {count:.3g}"
    )
    others = (
        Contest(reason=few)
        if count < FEWEST_CLUSTERS
        else Contest(difference, math.sqrt(variance + own), these.reason)
    )
    return StudiesCompared((g[0], g[1]), these, others)


def _separation(parts: StudyParts, size: StudySize) -> float:
    """log(U / Q)."""
    made = error_parts(parts, size)
    apart = sum(
        float(v)
        for e, v in made.items()
        if e == ("judge",) or ("respondent" in e and {"item", "picture"} & {*e})
    )
    return math.log(parts.between / apart) if apart > 0 and parts.between > 0 else math.nan


def _error(parts: StudyParts, size: StudySize) -> float:
    """The standard error of `_separation` over other pictures; NaN without a covariance."""
    covariance = np.asarray(parts.covariance, dtype=np.float64)
    if covariance.shape != (len(parts.values),) * 2:
        return math.nan
    gradient = slopes(parts, lambda changed: _separation(changed, size))
    return math.sqrt(max(float(gradient @ covariance @ gradient), 0.0))


def slopes(
    parts: StudyParts, of: Callable[[StudyParts], float]
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """(effects,): how a figure changes with each component."""
    middle, changes = of(parts), []
    for i, value in enumerate(parts.values):
        step = 1e-4 * max(value, 1e-8)
        changed = (*parts.values[:i], value + step, *parts.values[i + 1 :])
        changes.append((of(replace(parts, values=changed)) - middle) / step)
    return np.array(changes)
