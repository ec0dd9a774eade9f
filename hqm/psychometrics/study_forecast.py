"""How precise a study of another size would be: reliability, standard errors and the smallest
difference, from its parts.

Reliabilities are ratios of variances, standard errors are in score units:

    rho_g = 1 - noise / (U + D),  g = 1 - D / (U + D),  phi = U / (U + A),  sem = sqrt(P),
    half_width = 1.96 sem
    mdd = (t's critical value and its noncentral counterpart on C - 1 df) sqrt(2 Q)

U is the variance between respondents, D what moves them against each other, A what moves a score at
all; P and Q are the parts of A and D that come anew with pictures and runs, the wordings kept, as
an interval or a test over pictures has them. `labelled_sem` is the difference estimator (Cochran
1977, Sampling Techniques, section 9.6), `mean_sem` draws respondents anew (Owen 2007, Annals of
Applied Statistics, 1, 386-411). Brennan, R. L. (2001). Generalizability Theory, chapter 4.
Springer. Invalid where the new pictures, wordings or runs are of another kind than those that were
measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.special import chdtri, nctdtrinc, ndtr, stdtrit

from hqm.psychometrics.result import Array, ArrayLike, normal_quantile
from hqm.psychometrics.study_variance import Effect, StudyParts
from hqm.psychometrics.variance_components import FEWEST_CLUSTERS

FEWEST_FORMS = 5
"""With fewer wordings, what a wording does to all respondents alike is known from so few numbers
that it stays out of the errors.
"""
Z = 1.959963984540054
_POWER = 0.8416212335729143
_OBJECTS = frozenset(("respondent", "family"))


@dataclass(frozen=True, slots=True, kw_only=True)
class StudySize:
    """How large a study is; each number may be an array, for many studies at once.

    - `items`: In each picture. `askings`: how often the judge is asked about each answer. `labels`:
      answers of each respondent that people label.
    """

    pictures: ArrayLike = 100
    items: ArrayLike = 1
    forms: ArrayLike = 1
    runs: ArrayLike = 1
    askings: ArrayLike = 1
    respondents: ArrayLike = 10
    labels: ArrayLike = 0


def error_parts(parts: StudyParts, size: StudySize) -> dict[Effect, Array]:
    """What each effect adds to the variance of a respondent's score, the mean of all its answers.

        part = sigma2 / number of levels that the mean averages over;
        pictures of unequal size count as fewer equal ones

    The last effect is taken apart where a judge was asked again: its noise, `("judge",)`, shrinks
    with the askings too. Brennan, R. L. (2001). Generalizability Theory, chapters 4 and 7.
    Springer.

    >>> parts = StudyParts(effects=(("respondent",), ("respondent", "item")), values=(0.02, 0.2),
    ...     per_picture=1, crowd=1)
    >>> float(error_parts(parts, StudySize(pictures=100))["respondent", "item"])
    0.002
    """
    pictures, items, forms, runs, askings = (
        np.asarray(getattr(size, name), dtype=np.float64)
        for name in ("pictures", "items", "forms", "runs", "askings")
    )
    # pictures of one item each are even; with more items they become as uneven as those of the
    # audit
    grown = np.clip((items - 1) / max(parts.per_picture - 1, 1e-9), 0.0, 1.0)
    uneven = 1 + (parts.crowd / parts.per_picture - 1) * grown
    levels = {"picture": pictures / uneven, "item": pictures * items, "form": forms, "run": runs}
    made: dict[Effect, Array] = {}
    for effect, value in zip(parts.effects, parts.values, strict=True):
        over: Array = np.ones(())
        for facet in effect:
            over = over * levels.get(facet, np.ones(()))
        if effect != parts.effects[-1] or parts.judge is None:
            made[effect] = value / over
            continue
        judge = min(parts.judge, value)
        made[effect] = (value - judge) / over
        made[("judge",)] = judge / (over * askings)
    return made


def _sum(made: Mapping[Effect, Array], chosen: Callable[[Effect], bool]) -> Array:
    parts = [part for effect, part in made.items() if chosen(effect)]
    return np.asarray(sum(parts, np.zeros(())), dtype=np.float64)


def _noise(effect: Effect) -> bool:
    """Whether an effect comes anew with each run."""
    return "run" in effect or effect == ("judge",)


def _relative(effect: Effect) -> bool:
    """Whether an effect moves respondents against each other."""
    return effect == ("judge",) or ("respondent" in effect and len(effect) > 1)


def _worded(effect: Effect) -> bool:
    return "form" in effect or _noise(effect)


def _absolute(parts: StudyParts) -> Callable[[Effect], bool]:
    """Whether an effect moves a respondent's score at all; the effect of wordings on everybody only
    where it is known.
    """
    alone = parts.forms < FEWEST_FORMS
    return lambda effect: not _OBJECTS.issuperset(effect) and not (alone and effect == ("form",))


def _of_pictures(effect: Effect) -> bool:
    """Whether an effect comes anew with other pictures or runs, the wordings staying."""
    return effect == ("judge",) or "item" in effect or "picture" in effect


def _apart(effect: Effect) -> bool:
    """The same, of those that move respondents against each other."""
    return _of_pictures(effect) and _relative(effect)


def _all_but_objects(effect: Effect) -> bool:
    return not _OBJECTS.issuperset(effect)


def _whole(parts: StudyParts, made: Mapping[Effect, Array]) -> Array:
    """The variance between respondents' scores that one study shows."""
    return np.asarray(parts.between + _sum(made, _relative), dtype=np.float64)


def _smallest_difference(parts: StudyParts, size: StudySize, made: Mapping[Effect, Array]) -> Array:
    pictures = np.asarray(size.pictures, dtype=np.float64)
    different, position = np.unique(np.maximum(pictures - 1, 1.0), return_inverse=True)
    factor = nctdtrinc(different, 1 - 0.8, stdtrit(different, 0.975))[position].reshape(
        pictures.shape
    )
    # the algorithm of nctdtrinc ends in NaN at very many degrees of freedom, where t is normal
    factor = np.where(np.isfinite(factor), factor, Z + _POWER)
    return np.asarray(factor * np.sqrt(2 * _sum(made, _apart)), dtype=np.float64)


def _mean_error(parts: StudyParts, size: StudySize, made: Mapping[Effect, Array]) -> Array:
    respondents = np.asarray(size.respondents, dtype=np.float64)
    alike = max(parts.families, 1) / max(parts.respondents, 1)
    own = parts.value("respondent") / respondents + parts.value("family") / (respondents * alike)
    shared = _sum(made, lambda e: _of_pictures(e) and not _relative(e))
    return np.asarray(np.sqrt(own + shared + _sum(made, _relative) / respondents), dtype=np.float64)


def _half_width_for_others(
    parts: StudyParts, size: StudySize, made: Mapping[Effect, Array]
) -> Array:
    free = (
        np.asarray(size.respondents, dtype=np.float64)
        * (independent(parts) / max(parts.respondents, 1))
        - 1
    )
    different, position = np.unique(free, return_inverse=True)
    span = ((chdtri(different, 0.025) - chdtri(different, 0.975)) / different)[position].reshape(
        free.shape
    )
    return np.asarray(_sum(made, _noise) / _whole(parts, made) * span / 2, dtype=np.float64)


def independent(parts: StudyParts) -> float:
    """How many independent respondents there are: relatives count by how alike their scores are
    (Kish's design effect).
    """
    if not parts.respondents or not parts.families or parts.families == parts.respondents:
        return float(parts.respondents)
    alike = parts.value("family") / parts.between if parts.between > 0 else 1.0
    return parts.respondents / (1 + (parts.respondents / parts.families - 1) * alike)


def _labelled_error(parts: StudyParts, size: StudySize, made: Mapping[Effect, Array]) -> Array:
    labels = np.asarray(size.labels, dtype=np.float64)
    answers = np.asarray(size.pictures, dtype=np.float64) * np.asarray(size.items, dtype=np.float64)
    missing = np.maximum(1 / np.maximum(labels, 1e-9) - 1 / answers, 0.0)
    own = _sum(made, _of_pictures) + (parts.labels or 0.0) * missing
    return np.asarray(np.where(labels > 0, np.sqrt(own), np.inf), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Precision:
    """A figure that a study is wanted to reach: what it is, which direction is good, and how it
    follows from the parts.

    - `blames`: Which effects stand in the way of a better figure.
    - `needs`: The facets that must have been measured: `runs`, `forms`, `labels`, `others`
      (independent respondents).
    """

    name: str
    about: str
    higher: bool
    compute: Callable[[StudyParts, StudySize, Mapping[Effect, Array]], Array]
    blames: Callable[[Effect], bool]
    needs: tuple[str, ...] = ()


def _reliability(
    errors: Callable[[Effect], bool],
) -> Callable[[StudyParts, StudySize, Mapping[Effect, Array]], Array]:
    """What the errors leave of the variance between respondents that a study shows."""
    return lambda parts, _, made: np.asarray(
        1 - _sum(made, errors) / _whole(parts, made), dtype=np.float64
    )


def _dependability(parts: StudyParts, _: StudySize, made: Mapping[Effect, Array]) -> Array:
    return np.asarray(
        parts.between / (parts.between + _sum(made, _absolute(parts))), dtype=np.float64
    )


def _root_error(parts: StudyParts, _: StudySize, made: Mapping[Effect, Array]) -> Array:
    return np.asarray(np.sqrt(_sum(made, _of_pictures)), dtype=np.float64)


def _wide(parts: StudyParts, size: StudySize, made: Mapping[Effect, Array]) -> Array:
    return np.asarray(Z * _root_error(parts, size, made), dtype=np.float64)


PRECISIONS: Mapping[str, Precision] = {
    each.name: each
    for each in (
        Precision(
            "rho_g",
            "test-retest reliability: the same items and wordings, other runs",
            True,
            _reliability(_noise),
            _noise,
            ("runs",),
        ),
        Precision(
            "g",
            "G: how far differences between respondents come back on other pictures, wordings and"
            " runs",
            True,
            _reliability(_relative),
            _relative,
        ),
        Precision(
            "phi",
            "Phi: how far the scores themselves come back on other pictures and runs",
            True,
            _dependability,
            _all_but_objects,
        ),
        Precision(
            "forms",
            "correlation with the same study in other wordings",
            True,
            _reliability(lambda e: _relative(e) and _worded(e)),
            lambda e: _relative(e) and _worded(e),
            ("forms",),
        ),
        Precision(
            "sem",
            "standard error of a respondent's score over other pictures and runs, the wordings"
            " kept",
            False,
            _root_error,
            _of_pictures,
        ),
        Precision(
            "half_width",
            "half of the 95 % interval of a respondent's score",
            False,
            _wide,
            _of_pictures,
        ),
        Precision(
            "mdd",
            "smallest difference between two respondents that a test over pictures finds with 80 %"
            " power",
            False,
            _smallest_difference,
            _apart,
        ),
        Precision(
            "labelled_sem",
            "standard error of a respondent's score as people would give it, from scores and"
            " labels",
            False,
            _labelled_error,
            _of_pictures,
            ("labels",),
        ),
        Precision(
            "mean_sem",
            "standard error of the mean score over other respondents",
            False,
            _mean_error,
            lambda e: e != ("form",),
            ("others",),
        ),
        Precision(
            "rho_g_half_width",
            "half of the 95 % interval of rho_g over other respondents",
            False,
            _half_width_for_others,
            _noise,
            ("runs", "others"),
        ),
    )
}
"""What a study may be wanted to reach, by name."""
ALIASES: Mapping[str, str] = {
    "retest": "rho_g",
    "form_correlation": "forms",
    "se": "sem",
    "minimum_difference": "mdd",
}
"""Other names of the same figures."""


def forecast(parts: StudyParts, name: str, size: StudySize) -> Array:
    """A figure of `PRECISIONS` for a study, or for many at once, of the kind that the parts were
    measured in.

    >>> parts = StudyParts(effects=(("respondent",), ("respondent", "item")), values=(0.02, 0.2),
    ...     per_picture=1, crowd=1)
    >>> [round(float(g), 3) for g in forecast(parts, "g", StudySize(pictures=[40, 90, 190]))]
    [0.8, 0.9, 0.95]
    """
    precision = PRECISIONS[ALIASES.get(name, name)]
    if parts.status != "ok":
        return np.full(np.shape(size.pictures), np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        return precision.compute(parts, size, error_parts(parts, size))


def forecast_bounds(
    parts: StudyParts, name: str, size: StudySize, level: float = 0.95
) -> tuple[float, float]:
    """The interval of a forecast for these respondents: how exactly the pictures of the audit tell
    the parts.

    By the delta method from the components' covariance, on the scale log(figure), or log(1 -
    figure) of a reliability. NaN without a covariance. It does not hold the chance that the new
    pictures are of another kind.

    >>> rng = np.random.default_rng(0)
    >>> from hqm.psychometrics.study_variance import study_parts
    >>> parts = study_parts(rng.random((8, 300, 1, 2)) < np.linspace(0.3, 0.9, 8)[:, None, None,
    ...     None])
    >>> low, high = forecast_bounds(parts, "mdd", StudySize(pictures=300))
    >>> low < float(forecast(parts, "mdd", StudySize(pictures=300))) < high
    True
    """
    precision = PRECISIONS[ALIASES.get(name, name)]

    def logarithm(changed: StudyParts) -> float:
        figure = float(forecast(changed, name, size))
        figure = 1 - figure if precision.higher else figure
        return math.log(figure) if figure > 0 else math.nan

    middle = logarithm(parts)
    if not math.isfinite(middle):
        return math.nan, math.nan
    half = normal_quantile(level) * _error(parts, logarithm)
    if not math.isfinite(half):
        return math.nan, math.nan
    ends = (math.exp(middle - half), math.exp(min(middle + half, 700.0)))
    return (1 - ends[1], 1 - ends[0]) if precision.higher else ends


@dataclass(frozen=True, slots=True)
class Contest:
    """A comparison of two forecasts for one population.

    - `difference`: log(U1 / Q1) - log(U2 / Q2), above 0 where the first separates better; `error`
      its standard error.
    - `reason`: Why there is none.
    - `adjusted`: Its p-value among all contests that are asked together; its own unless given.
    """

    difference: float = math.nan
    error: float = math.nan
    reason: str = ""
    adjusted: float = math.nan

    @property
    def p(self) -> float:
        """The p-value of no difference; NaN where there is none."""
        return 2 * float(ndtr(-abs(self.difference / self.error))) if self.error > 0 else math.nan

    @property
    def choice(self) -> int:
        """1 or 2 where the difference is shown at the level .05, else 0."""
        p = self.adjusted if math.isfinite(self.adjusted) else self.p
        if not p < 0.05:
            return 0
        return 1 if self.difference > 0 else 2


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

        d = log(U1 / Q1) - log(U2 / Q2);
        these: SE^2 by the delta method from each study's covariance of components
        others: SE^2 + 2 (a1^2 + a2^2 - 2 a1 a2 r^2) / (n_eff - 1),   a = (U + Q0) / U as audited

    Respondents' variances in two benchmarks go together by the square of their scores' correlation
    r (Morgan 1939, Biometrika, 31, 13-19). Pictures that both have are counted as independent,
    which makes the error too large, never too small.

    - `correlation`: Of the respondents' scores in both; `n_effective`: how many independent
      respondents they share.

    >>> parts = StudyParts(effects=(("respondent",), ("respondent", "item")), values=(0.02, 0.2),
    ...     covariance=((1e-6, 0), (0, 1e-5)),
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
        errors.append(_error(parts, partial(_separation, size=size)))
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
    count = min(n_effective, independent(first), independent(second))
    if count < FEWEST_CLUSTERS:
        reason = (
            f"a forecast for other respondents needs {FEWEST_CLUSTERS} independent ones, there are"
            f" {count:.3g}"
        )
        return StudiesCompared((g[0], g[1]), these, Contest(reason=reason))
    shared = swings[0] * swings[1] * correlation**2
    own = 2 * (swings[0] ** 2 + swings[1] ** 2 - 2 * shared) / (n_effective - 1)
    others = Contest(difference, math.sqrt(variance + own), these.reason)
    return StudiesCompared((g[0], g[1]), these, others)


def _separation(parts: StudyParts, size: StudySize) -> float:
    """log(U / Q)."""
    made = error_parts(parts, size)
    apart = float(_sum(made, _apart))
    return math.log(parts.between / apart) if apart > 0 and parts.between > 0 else math.nan


def _error(parts: StudyParts, of: Callable[[StudyParts], float]) -> float:
    """The standard error of a function of the components, by the delta method."""
    covariance = np.asarray(parts.covariance, dtype=np.float64)
    if covariance.shape != (len(parts.values),) * 2:
        return math.nan
    gradient = slopes(parts, of)
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
