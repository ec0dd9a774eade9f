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
from hqm.psychometrics.variance.study_variance import Effect, StudyComponents
from hqm.psychometrics.variance.variance_components import MIN_CLUSTERS

MIN_FORMS = 5
"""With fewer wordings, what a wording does to all respondents alike is known from so few numbers
that it stays out of the errors.
"""
Z = 1.959963984540054
Z_POWER = 0.8416212335729143
_OBJECTS = frozenset(("respondent", "family"))


@dataclass(frozen=True, slots=True, kw_only=True)
class StudySize:
    """Size of a study; each number may be an array, for many studies at once.

    Attributes
    ----------
    items
        In each picture. `askings`: how often the judge is asked about each answer. `labels`:
        answers of each respondent that people label.
    """

    pictures: ArrayLike = 100
    items: ArrayLike = 1
    forms: ArrayLike = 1
    runs: ArrayLike = 1
    askings: ArrayLike = 1
    respondents: ArrayLike = 10
    labels: ArrayLike = 0


def error_components(components: StudyComponents, size: StudySize) -> dict[Effect, Array]:
    """What each effect adds to the variance of a respondent's score, the mean of all its answers.

        part = sigma2 / number of levels that the mean averages over;
        pictures of unequal size count as fewer equal ones

    The last effect is taken apart where a judge was asked again: its noise, `("judge",)`, shrinks
    with the askings too. Brennan, R. L. (2001). Generalizability Theory, chapters 4 and 7.
    Springer.

    >>> effects = (("respondent",), ("respondent", "item"))
    >>> parts = StudyComponents(effects=effects, values=(0.02, 0.2),
    ...     per_picture=1, crowd=1)
    >>> float(error_components(parts, StudySize(pictures=100))["respondent", "item"])
    0.002
    """
    pictures, items, forms, runs, askings = (
        np.asarray(getattr(size, name), dtype=np.float64)
        for name in ("pictures", "items", "forms", "runs", "askings")
    )
    # pictures of one item each are even; with more items they become as uneven as those of the
    # audit
    unevenness = np.clip((items - 1) / max(components.per_picture - 1, 1e-9), 0.0, 1.0)
    design_effect = 1 + (components.crowd / components.per_picture - 1) * unevenness
    facet_levels = {
        "picture": pictures / design_effect,
        "item": pictures * items,
        "form": forms,
        "run": runs,
    }
    error_variances: dict[Effect, Array] = {}
    for effect, value in zip(components.effects, components.values, strict=True):
        # the mean of a score averages over all levels of the facets in the effect
        n_levels: Array = np.ones(())
        for facet in effect:
            n_levels = n_levels * facet_levels.get(facet, np.ones(()))
        if effect != components.effects[-1] or components.judge is None:
            error_variances[effect] = value / n_levels
            continue
        # by sampling error the judge may exceed the residual that it is part of
        judge = min(components.judge, value)
        error_variances[effect] = (value - judge) / n_levels
        # judging again shrinks the judge's noise only
        error_variances[("judge",)] = judge / (n_levels * askings)
    return error_variances


def _sum_errors(
    error_variances: Mapping[Effect, Array], selects: Callable[[Effect], bool]
) -> Array:
    variances = [variance for effect, variance in error_variances.items() if selects(effect)]
    return np.asarray(sum(variances, np.zeros(())), dtype=np.float64)


def _is_run_effect(effect: Effect) -> bool:
    """Return whether an effect varies between runs."""
    return "run" in effect or effect == ("judge",)


def _is_relative(effect: Effect) -> bool:
    """Return whether an effect adds to the relative error."""
    return effect == ("judge",) or ("respondent" in effect and len(effect) > 1)


def _is_form_or_run_effect(effect: Effect) -> bool:
    return "form" in effect or _is_run_effect(effect)


def _absolute_predicate(components: StudyComponents) -> Callable[[Effect], bool]:
    """Return the predicate of effects in the absolute error.

    The main effect of wordings counts only where enough wordings were measured.
    """
    too_few_forms = components.forms < MIN_FORMS
    return lambda effect: (
        not _OBJECTS.issuperset(effect) and not (too_few_forms and effect == ("form",))
    )


def _is_picture_effect(effect: Effect) -> bool:
    """Return whether an effect varies with pictures or runs while the wordings stay."""
    return effect == ("judge",) or "item" in effect or "picture" in effect


def _is_relative_picture_effect(effect: Effect) -> bool:
    """Return whether such an effect adds to the relative error."""
    return _is_picture_effect(effect) and _is_relative(effect)


def _is_facet_effect(effect: Effect) -> bool:
    return not _OBJECTS.issuperset(effect)


def _score_variance(components: StudyComponents, error_variances: Mapping[Effect, Array]) -> Array:
    """Return the expected observed variance between respondents' scores."""
    return np.asarray(
        components.respondent_variance + _sum_errors(error_variances, _is_relative),
        dtype=np.float64,
    )


def _minimum_detectable_difference(
    components: StudyComponents, size: StudySize, error_variances: Mapping[Effect, Array]
) -> Array:
    pictures = np.asarray(size.pictures, dtype=np.float64)
    # many studies share few sizes, and the noncentral t is slow
    different, position = np.unique(np.maximum(pictures - 1, 1.0), return_inverse=True)
    # the noncentrality that is found with 80 % power at the level .05
    factor = nctdtrinc(different, 1 - 0.8, stdtrit(different, 0.975))[position].reshape(
        pictures.shape
    )
    # the algorithm of nctdtrinc ends in NaN at very many degrees of freedom, where t is normal
    factor = np.where(np.isfinite(factor), factor, Z + Z_POWER)
    return np.asarray(
        factor * np.sqrt(2 * _sum_errors(error_variances, _is_relative_picture_effect)),
        dtype=np.float64,
    )


def _mean_error(
    components: StudyComponents, size: StudySize, error_variances: Mapping[Effect, Array]
) -> Array:
    respondents = np.asarray(size.respondents, dtype=np.float64)
    # families in proportion to respondents, as in the study that was made
    alike = max(components.families, 1) / max(components.respondents, 1)
    respondent_variance = components.value("respondent") / respondents + components.value(
        "family"
    ) / (respondents * alike)
    # effects of pictures on all respondents alike stay, however many respondents there are
    shared = _sum_errors(error_variances, lambda e: _is_picture_effect(e) and not _is_relative(e))
    return np.asarray(
        np.sqrt(
            respondent_variance + shared + _sum_errors(error_variances, _is_relative) / respondents
        ),
        dtype=np.float64,
    )


def _half_width_for_others(
    components: StudyComponents, size: StudySize, error_variances: Mapping[Effect, Array]
) -> Array:
    free = (
        np.asarray(size.respondents, dtype=np.float64)
        * (effective_respondents(components) / max(components.respondents, 1))
        - 1
    )
    different, position = np.unique(free, return_inverse=True)
    # width of the interval of a variance, (n - 1) s2 / chi-square, in units of the variance
    span = ((chdtri(different, 0.025) - chdtri(different, 0.975)) / different)[position].reshape(
        free.shape
    )
    return np.asarray(
        _sum_errors(error_variances, _is_run_effect)
        / _score_variance(components, error_variances)
        * span
        / 2,
        dtype=np.float64,
    )


def effective_respondents(components: StudyComponents) -> float:
    """Return the number of independent respondents by Kish's design effect of families."""
    if (
        not components.respondents
        or not components.families
        or components.families == components.respondents
    ):
        return float(components.respondents)
    if components.respondent_variance > 0:
        alike = components.value("family") / components.respondent_variance
    else:
        alike = 1.0
    # Kish's design effect with the mean family size
    return components.respondents / (1 + (components.respondents / components.families - 1) * alike)


def _labelled_error(
    components: StudyComponents, size: StudySize, error_variances: Mapping[Effect, Array]
) -> Array:
    labels = np.asarray(size.labels, dtype=np.float64)
    answers = np.asarray(size.pictures, dtype=np.float64) * np.asarray(size.items, dtype=np.float64)
    # finite population: where all answers are labelled nothing is sampled
    sampling_factor = np.maximum(1 / np.maximum(labels, 1e-9) - 1 / answers, 0.0)
    variance = (
        _sum_errors(error_variances, _is_picture_effect)
        + (components.labels or 0.0) * sampling_factor
    )
    return np.asarray(np.where(labels > 0, np.sqrt(variance), np.inf), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Precision:
    """A figure that a study may be planned for, and how it follows from the variance components.

    Attributes
    ----------
    blames
        Which effects stand in the way of a better figure.
    needs
        The facets that must have been measured: `runs`, `forms`, `labels`, `others` (independent
        respondents).
    """

    name: str
    description: str
    higher: bool
    compute: Callable[[StudyComponents, StudySize, Mapping[Effect, Array]], Array]
    blames: Callable[[Effect], bool]
    needs: tuple[str, ...] = ()


def _reliability(
    errors: Callable[[Effect], bool],
) -> Callable[[StudyComponents, StudySize, Mapping[Effect, Array]], Array]:
    """Return the function 1 - error variance / observed variance."""
    return lambda components, _, error_variances: np.asarray(
        1 - _sum_errors(error_variances, errors) / _score_variance(components, error_variances),
        dtype=np.float64,
    )


def _dependability(
    components: StudyComponents, _: StudySize, error_variances: Mapping[Effect, Array]
) -> Array:
    return np.asarray(
        components.respondent_variance
        / (
            components.respondent_variance
            + _sum_errors(error_variances, _absolute_predicate(components))
        ),
        dtype=np.float64,
    )


def _root_error(
    components: StudyComponents, _: StudySize, error_variances: Mapping[Effect, Array]
) -> Array:
    return np.asarray(np.sqrt(_sum_errors(error_variances, _is_picture_effect)), dtype=np.float64)


def _half_width(
    components: StudyComponents, size: StudySize, error_variances: Mapping[Effect, Array]
) -> Array:
    return np.asarray(Z * _root_error(components, size, error_variances), dtype=np.float64)


PRECISIONS: Mapping[str, Precision] = {
    precision.name: precision
    for precision in (
        Precision(
            "rho_g",
            "test-retest reliability: the same items and wordings, other runs",
            True,
            _reliability(_is_run_effect),
            _is_run_effect,
            ("runs",),
        ),
        Precision(
            "g",
            "G: how well differences between respondents repeat on other pictures, wordings and"
            " runs",
            True,
            _reliability(_is_relative),
            _is_relative,
        ),
        Precision(
            "phi",
            "Phi: how well the scores themselves repeat on other pictures and runs",
            True,
            _dependability,
            _is_facet_effect,
        ),
        Precision(
            "forms",
            "correlation with the same study in other wordings",
            True,
            _reliability(lambda e: _is_relative(e) and _is_form_or_run_effect(e)),
            lambda e: _is_relative(e) and _is_form_or_run_effect(e),
            ("forms",),
        ),
        Precision(
            "sem",
            "standard error of a respondent's score over other pictures and runs, the wordings"
            " kept",
            False,
            _root_error,
            _is_picture_effect,
        ),
        Precision(
            "half_width",
            "half of the 95 % interval of a respondent's score",
            False,
            _half_width,
            _is_picture_effect,
        ),
        Precision(
            "mdd",
            "smallest difference between two respondents that a test over pictures finds with 80 %"
            " power",
            False,
            _minimum_detectable_difference,
            _is_relative_picture_effect,
        ),
        Precision(
            "labelled_sem",
            "standard error of a respondent's score as people would give it, from scores and"
            " labels",
            False,
            _labelled_error,
            _is_picture_effect,
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
            _is_run_effect,
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


def forecast(components: StudyComponents, name: str, size: StudySize) -> Array:
    """Forecast a figure of `PRECISIONS` for a study of another size, or for many at once.

    Parameters
    ----------
    components : StudyComponents
        Variance components of the study that was made.
    name : str
        Name of the figure, a key of `PRECISIONS` or `ALIASES`.
    size : StudySize
        Size of the study that is forecast.

    Returns
    -------
    Array
        The figure, in the shape of the study's sizes; NaN where the components do not exist.

    Examples
    --------
    >>> effects = (("respondent",), ("respondent", "item"))
    >>> parts = StudyComponents(effects=effects, values=(0.02, 0.2),
    ...     per_picture=1, crowd=1)
    >>> [round(float(g), 3) for g in forecast(parts, "g", StudySize(pictures=[40, 90, 190]))]
    [0.8, 0.9, 0.95]
    """
    precision = PRECISIONS[ALIASES.get(name, name)]
    if components.status != "ok":
        return np.full(np.shape(size.pictures), np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        return precision.compute(components, size, error_components(components, size))


def forecast_interval(
    components: StudyComponents, name: str, size: StudySize, level: float = 0.95
) -> tuple[float, float]:
    """Compute the interval of a forecast for these respondents by the delta method.

    By the delta method from the components' covariance, on the scale log(figure), or log(1 -
    figure) of a reliability. NaN without a covariance. It does not hold the chance that the new
    pictures are of another kind.

    Parameters
    ----------
    components : StudyComponents
        Variance components of the study that was made.
    name : str
        Name of the figure, a key of `PRECISIONS` or `ALIASES`.
    size : StudySize
        Size of the study that is forecast.
    level : float, default 0.95
        Confidence level of the interval.

    Returns
    -------
    tuple[float, float]
        The ends of the interval; NaN without a covariance.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> from hqm.psychometrics.variance.study_variance import study_variance_components
    >>> rates = np.linspace(0.3, 0.9, 8)[:, None, None, None]
    >>> parts = study_variance_components(rng.random((8, 300, 1, 2)) < rates)
    >>> low, high = forecast_interval(parts, "mdd", StudySize(pictures=300))
    >>> low < float(forecast(parts, "mdd", StudySize(pictures=300))) < high
    True
    """
    precision = PRECISIONS[ALIASES.get(name, name)]

    def logarithm(changed: StudyComponents) -> float:
        figure = float(forecast(changed, name, size))
        # reliabilities are skewed near 1, so their complement is used
        figure = 1 - figure if precision.higher else figure
        if figure > 0:
            return math.log(figure)
        return math.nan

    log_figure = logarithm(components)
    if not math.isfinite(log_figure):
        return math.nan, math.nan
    half_width = normal_quantile(level) * _delta_method_error(components, logarithm)
    if not math.isfinite(half_width):
        return math.nan, math.nan
    ends = (math.exp(log_figure - half_width), math.exp(min(log_figure + half_width, 700.0)))
    if precision.higher:
        return (1 - ends[1], 1 - ends[0])
    return ends


@dataclass(frozen=True, slots=True)
class Contest:
    """A comparison of two forecasts for one population.

    Attributes
    ----------
    difference
        log(U1 / Q1) - log(U2 / Q2), above 0 where the first separates better; `error` its standard
        error.
    reason
        Why there is none.
    adjusted
        Its p-value among all contests that are asked together; its own unless given.
    """

    difference: float = math.nan
    error: float = math.nan
    reason: str = ""
    adjusted: float = math.nan

    @property
    def p(self) -> float:
        """The p-value of no difference; NaN where there is none."""
        if self.error > 0:
            return 2 * float(ndtr(-abs(self.difference / self.error)))
        return math.nan

    @property
    def choice(self) -> int:
        """1 or 2 where the difference is shown at the level .05, else 0."""
        p = self.adjusted if math.isfinite(self.adjusted) else self.p
        if not p < 0.05:
            return 0
        if self.difference > 0:
            return 1
        return 2


@dataclass(frozen=True, slots=True)
class StudiesCompared:
    """Two studies side by side.

    Attributes
    ----------
    g
        How well differences between these respondents repeat on other pictures and runs: U / (U +
        Q).
    fixed_respondents, other_respondents
        For these respondents over other pictures; for other respondents over other pictures.
    """

    g: tuple[float, float]
    fixed_respondents: Contest
    other_respondents: Contest


def compare_studies(
    first: StudyComponents,
    second: StudyComponents,
    sizes: tuple[StudySize, StudySize],
    correlation: float,
    n_effective: float,
) -> StudiesCompared:
    """Compare how well two benchmarks separate respondents, each in a study of this size.

    Parameters
    ----------
    first : StudyComponents
        Components of the first benchmark.
    second : StudyComponents
        Components of the second benchmark.
    sizes : tuple[StudySize, StudySize]
        Sizes of the two studies.
    correlation : float
        Of the respondents' scores in both; `n_effective`: how many independent respondents they
        share.
    n_effective : float
        Number of independent respondents that both studies share.

    Returns
    -------
    StudiesCompared
        G of both studies, and the two contests.

    Notes
    -----
    U is the variance between respondents, Q that of the errors which come anew with pictures and
    runs (`forecast`):

        d = log(U1 / Q1) - log(U2 / Q2);
        these: SE^2 by the delta method from each study's covariance of components
        others: SE^2 + 2 (a1^2 + a2^2 - 2 a1 a2 r^2) / (n_eff - 1),   a = (U + Q0) / U as audited

    Respondents' variances in two benchmarks go together by the square of their scores' correlation
    r (Morgan 1939, Biometrika, 31, 13-19). Pictures that both have are counted as independent,
    which makes the error too large, never too small.

    Examples
    --------
    >>> effects = (("respondent",), ("respondent", "item"))
    >>> parts = StudyComponents(effects=effects, values=(0.02, 0.2),
    ...     covariance=((1e-6, 0), (0, 1e-5)),
    ...                    respondents=20, families=20, items=100, pictures=100)
    >>> worse = replace(parts, values=(0.01, 0.2))
    >>> compared = compare_studies(parts, worse, (StudySize(pictures=100),) * 2, 0.9, 20)
    >>> compared.fixed_respondents.choice, round(compared.fixed_respondents.difference, 3)
    (1, 0.693)
    """
    log_ratios = []
    standard_errors = []
    variance_ratios = []
    for study, size in zip((first, second), sizes, strict=True):
        if study.status != "ok" or study.respondent_variance <= 0:
            reason = study.reason or "its respondents do not differ beyond chance"
            return StudiesCompared(
                (math.nan, math.nan), Contest(reason=reason), Contest(reason=reason)
            )
        log_ratios.append(_log_separation(study, size))
        standard_errors.append(_delta_method_error(study, partial(_log_separation, size=size)))
        # U and Q0 of the study as it was audited: the sampling error of U comes from that one
        audited = StudySize(
            pictures=study.pictures, items=study.per_picture, forms=study.forms, runs=study.runs
        )
        variance_ratios.append(1 + 1 / math.exp(_log_separation(study, audited)))
    g = tuple(1 / (1 + math.exp(-ratio)) for ratio in log_ratios)
    difference = log_ratios[0] - log_ratios[1]
    variance = standard_errors[0] ** 2 + standard_errors[1] ** 2
    if math.isfinite(variance):
        fixed = Contest(difference, math.sqrt(variance))
    else:
        fixed = Contest(reason="the audit has no covariance of its components")
    count = min(n_effective, effective_respondents(first), effective_respondents(second))
    if count < MIN_CLUSTERS:
        reason = (
            f"a forecast for other respondents needs {MIN_CLUSTERS} independent ones, there are"
            f" {count:.3g}"
        )
        return StudiesCompared((g[0], g[1]), fixed, Contest(reason=reason))
    # Morgan (1939): variances of correlated variables are correlated by r^2
    shared = variance_ratios[0] * variance_ratios[1] * correlation**2
    # Var(log s2) = 2 / (n - 1), times a^2 since log U moves by a times as much
    respondent_variance = (
        2 * (variance_ratios[0] ** 2 + variance_ratios[1] ** 2 - 2 * shared) / (n_effective - 1)
    )
    random = Contest(difference, math.sqrt(variance + respondent_variance), fixed.reason)
    return StudiesCompared((g[0], g[1]), fixed, random)


def _log_separation(components: StudyComponents, size: StudySize) -> float:
    """log(U / Q)."""
    error_variances = error_components(components, size)
    relative_error = float(_sum_errors(error_variances, _is_relative_picture_effect))
    if relative_error > 0 and components.respondent_variance > 0:
        return math.log(components.respondent_variance / relative_error)
    return math.nan


def _delta_method_error(
    components: StudyComponents, function: Callable[[StudyComponents], float]
) -> float:
    """Return the standard error of a function of the components by the delta method."""
    covariance = np.asarray(components.covariance, dtype=np.float64)
    if covariance.shape != (len(components.values),) * 2:
        return math.nan
    # delta method: gradient' covariance gradient
    gradient = component_gradient(components, function)
    return math.sqrt(max(float(gradient @ covariance @ gradient), 0.0))


def component_gradient(
    components: StudyComponents, function: Callable[[StudyComponents], float]
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """(effects,): the numerical gradient of a figure by the components."""
    middle = function(components)
    changes = []
    for i, value in enumerate(components.values):
        # forward difference; a component of 0 still gets a step
        step = 1e-4 * max(value, 1e-8)
        changed = (*components.values[:i], value + step, *components.values[i + 1 :])
        changes.append((function(replace(components, values=changed)) - middle) / step)
    return np.array(changes)
