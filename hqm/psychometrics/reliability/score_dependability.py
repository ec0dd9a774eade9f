"""G and Phi of one run, form or judgement, with an interval for these respondents and for
others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import chdtri, ndtri, stdtrit

from hqm.psychometrics.agreement.intraclass import icc, icc_of_mean, mean_squares
from hqm.psychometrics.inference.families import (
    Relatives,
    add_jackknife_bound,
    log_variance_error,
    too_few_respondents,
)
from hqm.psychometrics.inference.resampling import jackknife_standard_error
from hqm.psychometrics.result import (
    Array,
    ArrayLike,
    Coefficient,
    ConfidenceInterval,
    Labels,
    Outcome,
    effective_size,
    float_array,
    is_constant,
)
from hqm.psychometrics.variance.generalizability import DStudy, GStudy, d_study, g_study
from hqm.psychometrics.variance.variance_components import Design

QUANTILE_LEVELS = (np.arange(1, 200) - 0.5) / 199
"""Where a distribution of the spread is cut into equally likely parts."""
COARSE_QUANTILE_LEVELS = (np.arange(1, 16) - 0.5) / 15
"""The same for a second source of chance, which matters less."""


def fixed_score_variances(
    variance: float, error: float, respondents: int, *, directional_error: float | None = None
) -> Array:
    """(draws, 1): equally credible values of the variance that these respondents' scores have over
    other items and runs.

    Their universe scores are fixed numbers, so that (M - 1) s2 / error is noncentral chi-square;
    the values are those noncentralities that the observed variance leaves credible. (Its
    distribution as in Sankaran 1963, Biometrika, 50, 199-204. Steiger, J. H. (2004). Beyond the F
    test. Psychological Methods, 9, 164-182.)

    - `variance, error`: The observed variance between the scores, and the mean error variance of
      one of them.
    - `directional_error`: The error variance along the direction in which the scores differ, where
      errors are unequal or correlated; the same as `error` unless given.

    >>> spread = fixed_score_variances(0.02, 0.001, 20)
    >>> [round(float(v), 4) for v in np.quantile(spread, [0.025, 0.975])]
    [0.0164, 0.0241]
    """
    # (M - 1) s2 / error is noncentral chi-square in the fixed universe scores
    df = respondents - 1
    effective_error = error if directional_error is None else directional_error
    if min(error, effective_error) <= 1e-12 * variance:
        return np.full((len(QUANTILE_LEVELS), 1), variance)
    # E[s2] = fixed variance + error. Scaled by `effective_error` the noise part of the mean would
    # be that instead, so the difference is made up before and after.
    x = df * max(0.0, variance - error + effective_error) / effective_error
    z = -ndtri(QUANTILE_LEVELS)

    def normal_score(noncentrality: Array) -> Array:
        size = df + noncentrality
        double = df + 2 * noncentrality
        # Sankaran (1963): h, p, m normalise (x / size)^h
        h = 1 - 2 * size * (df + 3 * noncentrality) / (3 * double**2)
        p = double / size**2
        m = (h - 1) * (1 - 3 * h)
        middle = 1 + h * p * (h - 1 - (2 - h) * m * p / 2)
        return np.asarray(((x / size) ** h - middle) / (h * np.sqrt(2 * p) * (1 + m * p / 2)))

    low = np.zeros(len(z))
    high = np.full(len(z), 4 * x + 100)
    # bisection: 60 halvings reach the precision of a double
    for _ in range(60):
        middle = (low + high) / 2
        exceeds_level = normal_score(middle) > z
        low = np.where(exceeds_level, middle, low)
        high = np.where(exceeds_level, high, middle)
    # where even noncentrality 0 puts x below this level, the fixed variance is 0
    noncentralities = np.where(normal_score(np.zeros(len(z))) <= z, 0.0, (low + high) / 2)
    return np.asarray((effective_error * noncentralities / df + error)[:, None])


def scaled_normal_quantiles(levels: Array) -> Array:
    """Return normal quantiles, scaled to variance 1, which so few points fall short of."""
    quantiles = np.asarray(ndtri(levels))
    return np.asarray(quantiles / quantiles.std())


def scaled_t_quantiles(df: float) -> Array:
    """Return quantiles of Student's t, scaled to its variance (unscaled up to 2 df)."""
    # with up to 2 degrees of freedom Student's t has no variance to be scaled to
    quantiles = np.asarray(stdtrit(df, COARSE_QUANTILE_LEVELS))
    return np.asarray(quantiles / quantiles.std() * (df / (df - 2)) ** 0.5 if df > 2 else quantiles)


@dataclass(frozen=True, slots=True)
class Dependability:
    """G and Phi of the mean over all items of one occasion.

    Attributes
    ----------
    g, phi
        Their own bounds hold over other respondents (respondents a random facet), `fixed` for these
        (a fixed facet), both over other items of the same kind.
    study, design
        The variance components, and what one occasion of all items makes of them.
    """

    g: Coefficient
    phi: Coefficient
    study: GStudy
    design: DStudy


@dataclass(frozen=True, slots=True, eq=False)
class _ErrorVariances:
    """What the leave-one-picture-out values say of the errors: their sizes, and how exactly their
    logarithms are known.

    `alone` is what items add to the absolute error, for all respondents alike.
    """

    relative: float
    relative_error: float
    averaged: float
    item_error: float
    absolute_error: float
    blocks: int
    ratio_errors: tuple[float, float] = (0.0, 0.0)
    """The standard errors of the logarithms of relative and of absolute error over universe
    variance; 0 where they are not known, and where occasions have effects of their own, for which
    their coverage was not measured."""


def g_and_phi(
    scores: ArrayLike,
    facet: str,
    pictures: ArrayLike | None = None,
    *,
    replicated: bool = False,
    n_effective: float | None = None,
    families: Sequence[str] = (),
    level: float = 0.95,
) -> Dependability:
    """Estimate G and Phi of one occasion of a benchmark whose items are nested in pictures.

    G tells how well differences between respondents would repeat on other items and another
    occasion, Phi how far the scores themselves would. Items of one picture share what the picture
    does to a respondent, so they are nested in pictures; cells without a score are left out, and
    nothing else with them.

    Parameters
    ----------
    scores : array_like, shape (respondents, items, occasions)
        NaN where there is none.
    facet : str
        What the occasions are: `run`, `form` or `judge`.
    pictures : array_like, shape (items,), optional
        Labels; None where every item stands alone.
    replicated : bool, default False
        Whether occasions are independent repetitions (runs with seeds of their own) without effects
        of their own.
    n_effective : float, optional
        Number of independent respondents, where some are relatives; all unless given.
    families : sequence of str, shape (respondents,), optional
        Labels of relatives; none unless given.
    level : float, default 0.95
        Confidence level of the interval.

    Returns
    -------
    Dependability
        G and Phi with their intervals. The status is that of `d_study`. No interval for these
        respondents below 5 pictures.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        G = U / (U + relative error),   Phi = U / (U + absolute error);   U, errors: `d_study`

    For these respondents the variance between scores is noncentral chi-square or, for Phi of
    replicated occasions, comes with the errors from leaving out each picture (log((1 - Phi) / Phi)
    on Student's t). For others each respondent is left out (`add_lower_bound`). The intervals'
    coverage is in docs/psychometrics_coverage.md.

    References
    ----------
    .. [1] Brennan, R. L. (2001). Generalizability Theory, chapters 4 to 7.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> right = rng.random((12, 200, 2)) < np.linspace(0.3, 0.8, 12)[:, None, None]
    >>> result = g_and_phi(right.astype(float), "run", replicated=True)
    >>> result.g.fixed.low < result.g.value < result.g.fixed.high < 1
    True
    """
    x = float_array(scores, f"respondents, items, {facet}s")
    names = ("respondent", "item", facet)
    labels = np.arange(x.shape[1]) if pictures is None else np.asarray(pictures)
    if labels.shape != x.shape[1:2]:
        raise ValueError(
            f"one label of a picture for each item is needed ({x.shape[1]}), got shape"
            f" {labels.shape}"
        )
    # what has no score at all is no part of the study
    scored = np.isfinite(x)
    scored_items = scored.any(axis=(0, 2))
    scored_respondents = scored.any(axis=(1, 2))
    relatives = Relatives(tuple(families), n_effective).subset(scored_respondents)
    if not scored.all():
        x = x[scored_respondents][:, scored_items]
        labels = labels[scored_items]
    nested = {"item": ("picture", labels)}
    effects = _replicated_effects(names, labels) if replicated else None
    is_estimable = min(x.shape) > 1 and bool(np.isfinite(x).any(axis=(0, 1)).all())
    margins = Design(x, names, nested, effects) if is_estimable else None
    study = g_study(x, names, nested=nested, effects=effects, level=level, design=margins)
    # error variances go with 1 / n: scores over different items need the harmonic mean of n
    counts = _answered_counts(x, labels, study)
    if study.status == "ok":
        design = d_study(study, {**counts, facet: 1})
    else:
        design = d_study(study)
    if design.status != "ok":
        undefined = Coefficient.absent(design.status, design.reason, x.shape[0])
        return Dependability(undefined, undefined, study, design)
    full_design = margins or Design(x, names, nested, effects)
    errors = _error_variances(
        x, full_design.jackknife_components("item"), study, counts, replicated=replicated
    )
    if len(set(relatives.families)) < len(relatives.families):
        # relatives are left out together. The family has no variance component of its own, which a
        # handful of families could not estimate
        related = {**nested, "respondent": ("family", relatives.units(len(x)))}
        full_design = Design(x, names, related, effects or full_design.effects)
    respondent_replicates = _RespondentReplicates(
        full_design.jackknife_components("respondent"), relatives
    )
    g, phi = (
        _coefficient(value, absolute, x, errors, study, counts, respondent_replicates, level)
        for value, absolute in ((design.g, False), (design.phi, True))
    )
    return Dependability(g, phi, study, design)


@dataclass(frozen=True, slots=True, eq=False)
class _RespondentReplicates:
    """(units, effects): the components without each respondent, or family, and the relatives."""

    left: Array
    relatives: Relatives


def _replicated_effects(names: Sequence[str], labels: Labels) -> list[list[str]]:
    """Return all effects without the facet of occasions."""
    respondent, item, _ = names
    # where every picture has one item, picture and item are one effect
    is_unnested = len(np.unique(labels)) == len(labels)
    item_effects = [[item]] if is_unnested else [["picture"], [item]]
    return [[respondent], *item_effects, *([respondent, *effect] for effect in item_effects)]


def _answered_counts(x: Array, labels: Labels, study: GStudy) -> dict[str, float]:
    """Return the harmonic mean number of items, and of pictures, that a score rests on."""
    if study.status != "ok":
        return {}
    scored = np.isfinite(x)
    if scored.all():
        return {"item": x.shape[1]}
    counts = scored.sum(axis=1).astype(np.float64)
    nonempty = counts > 0
    answered = {"item": 1 / float((1 / counts[nonempty]).mean())}
    if study.nested:
        position = np.unique(labels, return_inverse=True)[1]
        picture_counts = np.zeros((int(position.max()) + 1, *counts.shape))
        np.add.at(picture_counts, position, np.moveaxis(scored, 1, 0))
        # unequal pictures count as so many equal ones
        # sum(n_p^2) / n^2 is one over Kish's effective number of pictures
        answered["picture"] = 1 / float(
            ((picture_counts**2).sum(axis=0)[nonempty] / counts[nonempty] ** 2).mean()
        )
    return answered


def _error_weights(
    study: GStudy, answered: Mapping[str, float], occasions: int, *, absolute: bool
) -> Array:
    """(effects,): the weight of each component in the error of a mean over items and occasions."""
    items = answered["item"]
    groups = {group: answered.get(group, items / per) for _, group, _, per in study.nested}
    counts = {study.facets[1]: float(items), study.facets[2]: float(occasions), **groups}
    rows = []
    # Brennan (2001), ch. 4: a component is divided by the levels of its facets that a score
    # averages over; relative error has those with the respondent, absolute error all
    for component in study.components:
        averaged_facets = [name for name in component.effect if name != study.facets[0]]
        contributes = bool(averaged_facets) and (absolute or study.facets[0] in component.effect)
        rows.append(1 / math.prod(counts[name] for name in averaged_facets) if contributes else 0.0)
    return np.array(rows)


def _error_variances(
    x: Array, replicates: Array, study: GStudy, answered: Mapping[str, float], *, replicated: bool
) -> _ErrorVariances:
    """Return the error variances of a score, and their standard errors from the components
    `replicates` without each picture.
    """
    values = np.array([component.value for component in study.components])
    relative = _error_weights(study, answered, 1, absolute=False)
    averaged = _error_weights(study, answered, x.shape[2], absolute=False)
    item_weights = _error_weights(study, answered, 1, absolute=True) - relative
    # without one picture some design may be empty; such replicates have no component
    replicates = replicates[np.isfinite(replicates).all(axis=1)]
    blocks = len(replicates)

    def log_error(weights: Array) -> float:
        # the delta method: SE(log v) = SE(v) / v
        variance = float(weights @ values)
        replicate_variances = replicates @ weights
        if blocks < 2 or not variance > 0:
            return 0.0
        return jackknife_standard_error(replicate_variances) / variance

    return _ErrorVariances(
        float(relative @ values),
        log_error(relative),
        float(averaged @ values),
        float(item_weights @ values),
        log_error(relative + item_weights),
        blocks,
        _ratio_errors(
            replicates[:, _universe_index(study)],
            (replicates @ relative, replicates @ (relative + item_weights)),
        )
        if replicated
        else (0.0, 0.0),
    )


def _universe_index(study: GStudy) -> int:
    return [tuple(component.effect) for component in study.components].index((study.facets[0],))


def _ratio_errors(universe: Array, errors: tuple[Array, Array]) -> tuple[float, float]:
    """The jackknife's standard errors of log(error / universe variance), for the relative and the
    absolute error, from both variances without each picture. Both are on the log scale, where
    they subtract.
    """
    if len(universe) < 2 or not (universe > 0).all():
        return 0.0, 0.0
    relative, absolute = (
        jackknife_standard_error(np.log(error) - np.log(universe)) if (error > 0).all() else 0.0
        for error in errors
    )
    return relative, absolute


def _coefficient(
    value: float,
    absolute: bool,
    x: Array,
    errors: _ErrorVariances,
    study: GStudy,
    answered: Mapping[str, float],
    respondent_replicates: _RespondentReplicates,
    level: float,
) -> Coefficient:
    """The coefficient with its interval for these respondents, and its least value for others."""
    respondents = x.shape[0]
    universe = study.component(study.facets[0]).raw
    # a mean over all occasions has less error than the one occasion that the coefficient is of
    score_variance = max(universe + errors.averaged, 0.0)
    fixed = None
    if errors.blocks >= 5 and errors.relative > 0:
        variance_draws = fixed_score_variances(score_variance, errors.averaged, respondents)
        fixed = _fixed_interval(value, variance_draws, errors, absolute, level)
        ratio_error = errors.ratio_errors[absolute]
        # the wider of both: neither holds its level alone (docs/psychometrics_coverage.md)
        if ratio_error > 0 and 0 < value < 1:
            jackknifed = _ratio_interval(value, ratio_error, errors.blocks, level)
            fixed = _hull(fixed, jackknifed)
    coefficient = Coefficient(value, n=respondents, level=level, fixed=fixed, flags=study.flags)
    if not errors.relative > 0:
        return coefficient
    universe_replicates = respondent_replicates.left[:, _universe_index(study)]
    error_replicates = respondent_replicates.left @ _error_weights(
        study, answered, 1, absolute=absolute
    )
    averaged_replicates = respondent_replicates.left @ _error_weights(
        study, answered, x.shape[2], absolute=False
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        scores = np.nanmean(x, axis=(1, 2))
        # negative estimates of a variance count as 0, as in the point estimate
        replicates = np.maximum(universe_replicates, 0.0) / (
            np.maximum(universe_replicates, 0.0) + error_replicates
        )
    return add_jackknife_bound(
        coefficient,
        replicates,
        universe_replicates + averaged_replicates,
        scores,
        respondent_replicates.relatives,
        minimum=0.0,
    )


def _hull(first: ConfidenceInterval, second: ConfidenceInterval) -> ConfidenceInterval:
    """The interval that holds both."""
    return replace(
        first,
        low=min(first.low, second.low),
        high=max(first.high, second.high),
        method=f"{first.method}, or {second.method}, whichever end lies farther",
    )


def _ratio_interval(
    value: float, ratio_error: float, blocks: int, level: float
) -> ConfidenceInterval:
    """Return the interval for these respondents by the picture jackknife on the logit.

    Items move the variance between respondents and the errors together, and models far apart meet
    other items; only a jackknife of both variances accounts for that.
    """
    # log((1 - r) / r) = log(error / universe variance): its interval is brought back by the
    # logistic function. exp overflows beyond 709.
    middle = math.log((1 - value) / value)
    half_width = float(stdtrit(blocks - 1, 0.5 + level / 2)) * ratio_error
    low, high = (1 / (1 + math.exp(min(middle + sign * half_width, 700.0))) for sign in (1, -1))
    return ConfidenceInterval(low, high, "picture jackknife of log((1 - r) / r)", level)


def _fixed_interval(
    value: float, variance_draws: Array, errors: _ErrorVariances, absolute: bool, level: float
) -> ConfidenceInterval:
    # the variance of few pictures' own effects has heavier tails than its jackknife error knows
    quantiles = scaled_t_quantiles((errors.blocks - 1) / (2 if absolute else 1))
    # exp(50) is as good as infinite here, and does not overflow
    scale = np.exp(
        np.clip(
            (errors.absolute_error if absolute else errors.relative_error) * quantiles, -50.0, 50.0
        )
    )
    # both draws of an error belong to one draw of the variance
    universe = np.maximum(variance_draws[..., None] - errors.averaged * scale, 0.0)
    coefficient_draws = universe / (
        universe + (errors.relative + (errors.item_error if absolute else 0.0)) * scale
    )
    low, high = np.quantile(coefficient_draws, [0.5 - level / 2, 0.5 + level / 2])
    method = "noncentral chi-square and picture jackknife"
    return ConfidenceInterval(min(float(low), value), max(float(high), value), method, level)


def dependability(
    # the interval never leaves out the estimate that it belongs to
    scores: ArrayLike,
    rng: np.random.Generator,
    *,
    columns: int | None = None,
    n_effective: float | None = None,
    level: float = 0.95,
    draws: int = 10_000,
) -> Coefficient:
    """Estimate Phi of the mean over columns, and its lower bound over such columns.

    Few columns say little about how far others would shift all scores, which `icc` does not know:
    its columns are these. Here every sum of squares is divided by draws of its own chi-square.

    Parameters
    ----------
    scores : array_like, shape (respondents, columns)
        Scores; respondents with a missing one are left out.
    rng : numpy.random.Generator
        Source of random numbers.
    columns : int, optional
        Of how many columns the mean is; all unless given.
    n_effective : float, optional
        Number of independent respondents, where some are relatives; all unless given.
    level : float, default 0.95
        Confidence level of the interval.
    draws : int, default 10000
        Number of draws.

    Returns
    -------
    Coefficient
        Phi(k); its `low` is one-sided.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        Phi(k) = k q / (1 + (k - 1) q),   q = (R - E) / (R + (K - 1) E + K (C - E) / n),
        R = SSR / chi2(f), C = SSC / chi2(K - 1) >= E, E = SSE / chi2((n - 1)(K - 1))

    f = 2 / B is n - 1 for normal scores and fewer for heavier tails (`log_variance_error`).

    References
    ----------
    .. [1] Weerahandi, S. (1993). Generalized confidence intervals. Journal of the American
       Statistical Association, 88, 899-905.

    Examples
    --------
    >>> round(dependability([[9, 2, 5], [6, 1, 3], [8, 4, 6], [7, 1, 2]],
    ...     np.random.default_rng(0)).value, 2)
    0.38
    """
    x = float_array(scores, "respondents, columns")
    x = x[np.isfinite(x).all(axis=1)]
    study = icc(x, n_effective=n_effective, level=level)
    n = study.n
    k = study.k
    single = study.a1
    value = replace(icc_of_mean(single, columns or k), low=math.nan, high=math.nan, fixed=None)
    size = effective_size(n, n_effective)
    if value.status != "ok" or study.ms_error == 0.0 or too_few_respondents(n) or size < 3:
        return value
    # scores with heavier tails than the normal leave fewer degrees of freedom: Var(log s2) = 2 / df
    df_between = min(size - 1, 2 / log_variance_error(x.mean(axis=1), size))
    phi_draws = _phi_draws(
        mean_squares(x).tolist(), (n, k), columns or k, (size, df_between), rng, draws
    )
    # one-sided: what is asked is how low Phi may be over other columns
    low = float(np.quantile(phi_draws, 1 - level))
    return replace(
        value,
        low=min(low, value.value),
        high=math.inf,
        method=f"generalized pivots, {draws}, one-sided",
    )


def _phi_draws(
    squares: Sequence[float],
    shape: tuple[int, int],
    columns: int,
    sizes: tuple[float, float],
    rng: np.random.Generator,
    draws: int,
) -> Array:
    """(draws,): equally credible values of Phi of a mean over so many columns.

    `shape` is respondents and columns of the mean squares, `sizes` how many respondents are
    independent, and the degrees of freedom of what lies between them.
    """
    n, k = shape
    size, df_between = sizes
    df = (size - 1) * (k - 1)
    # Weerahandi (1993): each mean square over a draw of its chi-square
    error = squares[2] * df / rng.chisquare(df, draws)
    row_variances = squares[0] * df_between / rng.chisquare(df_between, draws)
    column_variances = np.maximum(squares[1] * (k - 1) / rng.chisquare(k - 1, draws), error)
    # McGraw and Wong (1996): E[MSR] = k sigma_r^2 + sigma_e^2, so numerator and denominator are
    # both k times the variance components
    universe_variances = np.maximum(row_variances - error, 0.0)
    return np.asarray(
        universe_variances
        / (universe_variances + k * (error + (column_variances - error) / n) / columns)
    )


MIN_WORDINGS = 5
MAX_WORDINGS = 20
"""Fewer wordings than the first decide nothing about others, and more than the second are no
advice.
"""


@dataclass(frozen=True, slots=True)
class WordingsNeeded(Outcome):
    """How many wordings a mean takes to be dependable over others drawn like them.

    - `n_wordings`: Their number; None where not even 20 suffice, or where it cannot be told.
    - `variance, variance_high`: Of what a wording does to all respondents alike, and its one-sided
      80 % upper end.
    """

    n_wordings: int | None = None
    variance: float = math.nan
    variance_high: float = math.nan


def wordings_needed(
    scores: ArrayLike,
    goal: float,
    rng: np.random.Generator,
    *,
    n_effective: float | None = None,
    draws: int = 2000,
) -> WordingsNeeded:
    """Compute the number of wordings whose mean reaches a dependability, at its lower bound.

    A few wordings say little about how far others would shift all scores, so the number is that of
    the variance's one-sided 80 % upper end: who follows it passes in most cases
    (docs/psychometrics_wordings.md). More respondents make no wording less of a chance.

    Parameters
    ----------
    scores : array_like, shape (respondents, wordings)
        Scores; respondents with a missing one are left out.
    goal : float
        The least that `dependability` is to show.
    rng : numpy.random.Generator
        Source of random numbers.
    n_effective : float, optional
        Number of independent respondents, where some are relatives; all unless given.
    draws : int, default 2000
        Number of draws.

    Returns
    -------
    WordingsNeeded
        The number of wordings, and the variance that wordings add.

    Raises
    ------
    ValueError
        An array has another shape.

    Examples
    --------
    >>> scores = np.random.default_rng(2).normal(size=(12, 1)) + [0.0, 0.4, -0.2]
    >>> wordings_needed(scores + 0.1 * np.eye(12, 3), 0.75, np.random.default_rng(0)).n_wordings
    6
    """
    x = float_array(scores, "respondents, wordings")
    x = x[np.isfinite(x).all(axis=1)]
    n, k = x.shape
    if k < 3 or too_few_respondents(n):
        reason = too_few_respondents(n) or f"it takes three wordings to tell, there are {k}"
        return WordingsNeeded(status="insufficient", reason=reason)
    msr, msc, mse = mean_squares(x).tolist()
    # rounding makes equal respondents differ by 1e-17, which no variance is
    if not msr > mse or is_constant(x.mean(axis=1)):
        return WordingsNeeded(status="degenerate", reason="the respondents do not differ")
    size = effective_size(n, n_effective)
    df_between = min(size - 1, 2 / log_variance_error(x.mean(axis=1), size))
    # chdtri inverts the upper tail: this is the 20 % quantile of chi-square
    msc_upper = msc * (k - 1) / float(chdtri(k - 1, 0.8))
    universe_variance, wording_variance, wording_variance_upper = (
        (m - mse) / d for m, d in ((msr, k), (msc, n), (msc_upper, n))
    )
    # the mean squares that a study of `count` wordings would show, had it these variances
    n_wordings = None
    for count in range(MIN_WORDINGS, MAX_WORDINGS + 1):
        expected = (
            count * universe_variance + mse,
            n * max(wording_variance_upper, 0.0) + mse,
            mse,
        )
        phi_draws = _phi_draws(expected, (n, count), count, (size, df_between), rng, draws)
        if float(np.quantile(phi_draws, 0.05)) >= goal:
            n_wordings = count
            break
    if n_wordings:
        reason = ""
    else:
        reason = f"no number of wordings up to {MAX_WORDINGS} reaches {goal:g}"
    return WordingsNeeded(
        n_wordings, max(wording_variance, 0.0), max(wording_variance_upper, 0.0), reason=reason
    )
