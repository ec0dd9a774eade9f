"""G and Phi of one run, form or judgement, with an interval for these respondents and for
others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import chdtri, ndtri, stdtrit

from hqm.psychometrics.agreement import icc, icc_of_mean, mean_squares
from hqm.psychometrics.families import (
    Relatives,
    at_least_without,
    log_variance_error,
    too_few_respondents,
)
from hqm.psychometrics.generalizability import DStudy, GStudy, d_study, g_study
from hqm.psychometrics.resampling import jackknife_error
from hqm.psychometrics.result import (
    Array,
    ArrayLike,
    Bounds,
    Coefficient,
    Labels,
    Outcome,
    shaped,
    size_of,
)
from hqm.psychometrics.variance_components import Design

PLACES = (np.arange(1, 200) - 0.5) / 199
"""Where a distribution of the spread is cut into equally likely parts."""
FEW_PLACES = (np.arange(1, 16) - 0.5) / 15
"""The same for a second source of chance, which matters less."""


def spread_of_these(
    variance: float, error: float, respondents: int, *, along: float | None = None
) -> Array:
    """(draws, 1): equally credible values of the variance that these respondents' scores have over
    other items and runs.

    Their universe scores are fixed numbers, so that (M - 1) s2 / error is noncentral chi-square;
    the values are those noncentralities that the observed variance leaves credible. (Its
    distribution as in Sankaran 1963, Biometrika, 50, 199-204. Steiger, J. H. (2004). Beyond the F
    test. Psychological Methods, 9, 164-182.)

    - `variance, error`: The observed variance between the scores, and the mean error variance of
      one of them.
    - `along`: The error variance along the direction in which the scores differ, where errors are
      unequal or go together: it is what moves the variance. The same as `error` unless given.

    >>> spread = spread_of_these(0.02, 0.001, 20)
    >>> [round(float(v), 4) for v in np.quantile(spread, [0.025, 0.975])]
    [0.0164, 0.0241]
    """
    df = respondents - 1
    moving = error if along is None else along
    if min(error, moving) <= 1e-12 * variance:
        return np.full((len(PLACES), 1), variance)
    x, z = df * max(0.0, variance - error + moving) / moving, -ndtri(PLACES)

    def position(noncentrality: Array) -> Array:
        size, double = df + noncentrality, df + 2 * noncentrality
        h = 1 - 2 * size * (df + 3 * noncentrality) / (3 * double**2)
        p = double / size**2
        m = (h - 1) * (1 - 3 * h)
        middle = 1 + h * p * (h - 1 - (2 - h) * m * p / 2)
        return np.asarray(((x / size) ** h - middle) / (h * np.sqrt(2 * p) * (1 + m * p / 2)))

    low, high = np.zeros(len(z)), np.full(len(z), 4 * x + 100)
    for _ in range(60):
        middle = (low + high) / 2
        above = position(middle) > z
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    at = np.where(position(np.zeros(len(z))) <= z, 0.0, (low + high) / 2)
    return np.asarray((moving * at / df + error)[:, None])


def normal_places(places: Array) -> Array:
    """The normal quantiles of these places, stretched to the variance 1 that so few points fall
    short of.
    """
    at = np.asarray(ndtri(places))
    return np.asarray(at / at.std())


def student_places(df: float) -> Array:
    """Quantiles of Student's t at the few places, stretched to its variance; as the normal's below
    3 degrees of freedom.
    """
    at = np.asarray(stdtrit(df, FEW_PLACES))
    return np.asarray(at / at.std() * (df / (df - 2)) ** 0.5 if df > 2 else at)


@dataclass(frozen=True, slots=True)
class Dependability:
    """G and Phi of the mean over all items of one occasion, with the studies they are read from.

    - `g, phi`: Their own bounds hold over other respondents (respondents a random facet), `fixed`
      for these (a fixed facet), both over other items of the same kind.
    - `study, design`: The variance components, and what one occasion of all items makes of them.
    """

    g: Coefficient
    phi: Coefficient
    study: GStudy
    design: DStudy


@dataclass(frozen=True, slots=True, eq=False)
class _Errors:
    """What the leave-one-picture-out values say of the errors: their sizes, and how exactly their
    logarithms are known.

    `alone` is what items add to the absolute error, for all respondents alike.
    """

    relative: float
    relative_error: float
    averaged: float
    alone: float
    absolute_error: float
    blocks: int
    ratio_error: float = 0.0
    """The standard error of the logarithm of absolute error over universe variance; 0 where it is
    not known, and where occasions have effects of their own, for which its coverage was not
    measured."""


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
    """The generalizability of one occasion (run, form or judgement) of a benchmark whose items lie
    in pictures.

    G tells how far differences between respondents would come back on other items and another
    occasion, Phi how far the scores themselves would. Items of one picture share what the picture
    does to a respondent, so they are nested in pictures; cells without a score are left out, and
    nothing else with them.

        G = U / (U + relative error),   Phi = U / (U + absolute error);   U, errors: `d_study`

    For these respondents the variance between scores is noncentral chi-square or, for Phi of
    replicated occasions, comes with the errors from leaving out each picture (log((1 - Phi) / Phi)
    on Student's t). For others each respondent is left out (`at_least`). Brennan, R. L. (2001).
    Generalizability Theory, chapters 4 to 7; the intervals' coverage is in
    docs/psychometrics_coverage.md.

    - `scores`: (respondents, items, occasions): NaN where there is none.
    - `facet`: What the occasions are: `run`, `form` or `judge`.
    - `pictures`: (items,): labels; None where every item stands alone.
    - `replicated`: Whether occasions are independent repetitions (runs with seeds of their own)
      without effects of their own.
    - `families, n_effective`: (respondents,): labels of relatives, and how many independent
      respondents there are.

    The status is that of `d_study`. No interval for these respondents below 5 pictures.

    >>> rng = np.random.default_rng(1)
    >>> right = rng.random((12, 200, 2)) < np.linspace(0.3, 0.8, 12)[:, None, None]
    >>> result = g_and_phi(right.astype(float), "run", replicated=True)
    >>> result.g.fixed.low < result.g.value < result.g.fixed.high < 1
    True
    """
    x = shaped(scores, f"respondents, items, {facet}s")
    names = ("respondent", "item", facet)
    labels = np.arange(x.shape[1]) if pictures is None else np.asarray(pictures)
    if labels.shape != x.shape[1:2]:
        raise ValueError(
            f"one label of a picture for each item is needed ({x.shape[1]}), got shape"
            f" {labels.shape}"
        )
    # what has no score at all is no part of the study
    seen = np.isfinite(x)
    known, answered = seen.any(axis=(0, 2)), seen.any(axis=(1, 2))
    relatives = Relatives(tuple(families), n_effective).of(answered)
    if not seen.all():
        x, labels = x[answered][:, known], labels[known]
    nested = {"item": ("picture", labels)}
    effects = _replicated(names, labels) if replicated else None
    every = min(x.shape) > 1 and bool(np.isfinite(x).any(axis=(0, 1)).all())
    margins = Design(x, names, nested, effects) if every else None
    study = g_study(x, names, nested=nested, effects=effects, level=level, design=margins)
    counts = _answered(x, labels, study)
    design = d_study(study, {**counts, facet: 1}) if study.status == "ok" else d_study(study)
    if design.status != "ok":
        none = Coefficient.absent(design.status, design.reason, x.shape[0])
        return Dependability(none, none, study, design)
    whole = margins or Design(x, names, nested, effects)
    errors = _errors(x, whole.without_each("item"), study, counts, replicated=replicated)
    if len(set(relatives.families)) < len(relatives.families):
        # relatives are left out together, and have no effect of their own in the equations
        related = {**nested, "respondent": ("family", relatives.units(len(x)))}
        whole = Design(x, names, related, effects or whole.effects)
    others = _Others(whole.without_each("respondent"), relatives)
    g, phi = (
        _coefficient(value, absolute, x, errors, study, counts, others, level)
        for value, absolute in ((design.g, False), (design.phi, True))
    )
    return Dependability(g, phi, study, design)


@dataclass(frozen=True, slots=True, eq=False)
class _Others:
    """(units, effects): the components without each respondent, or family, and who is related."""

    left: Array
    relatives: Relatives


def _replicated(names: Sequence[str], labels: Labels) -> list[list[str]]:
    """All effects without the facet of occasions."""
    respondent, item, _ = names
    alone = len(np.unique(labels)) == len(labels)
    within = [[item]] if alone else [["picture"], [item]]
    return [[respondent], *within, *([respondent, *part] for part in within)]


def _answered(x: Array, labels: Labels, study: GStudy) -> dict[str, float]:
    """How many items, and how many pictures, a score rests on: the harmonic mean over respondents
    and occasions.
    """
    if study.status != "ok":
        return {}
    scored = np.isfinite(x)
    if scored.all():
        return {"item": x.shape[1]}
    counts = scored.sum(axis=1).astype(np.float64)
    several = counts > 0
    answered = {"item": 1 / float((1 / counts[several]).mean())}
    if study.nested:
        position = np.unique(labels, return_inverse=True)[1]
        own = np.zeros((int(position.max()) + 1, *counts.shape))
        np.add.at(own, position, np.moveaxis(scored, 1, 0))
        # unequal pictures count as so many equal ones
        answered["picture"] = 1 / float(
            ((own**2).sum(axis=0)[several] / counts[several] ** 2).mean()
        )
    return answered


def _weights(
    study: GStudy, answered: Mapping[str, float], occasions: int, *, absolute: bool
) -> Array:
    """(effects,): what each component adds to the error of a mean over all items and so many
    occasions.
    """
    items = answered["item"]
    groups = {group: answered.get(group, items / per) for _, group, _, per in study.nested}
    counts = {study.facets[1]: float(items), study.facets[2]: float(occasions), **groups}
    rows = []
    for component in study.components:
        rest = [name for name in component.effect if name != study.facets[0]]
        counted = bool(rest) and (absolute or study.facets[0] in component.effect)
        rows.append(1 / math.prod(counts[name] for name in rest) if counted else 0.0)
    return np.array(rows)


def _errors(
    x: Array, left: Array, study: GStudy, answered: Mapping[str, float], *, replicated: bool
) -> _Errors:
    """The errors of a score, and how exactly they are known from the components `left` without each
    picture.
    """
    values = np.array([component.value for component in study.components])
    relative = _weights(study, answered, 1, absolute=False)
    averaged = _weights(study, answered, x.shape[2], absolute=False)
    alone = _weights(study, answered, 1, absolute=True) - relative
    left = left[np.isfinite(left).all(axis=1)]
    blocks = len(left)

    def error(weights: Array) -> float:
        size, of = float(weights @ values), left @ weights
        if blocks < 2 or not size > 0:
            return 0.0
        return jackknife_error(of) / size

    return _Errors(
        float(relative @ values),
        error(relative),
        float(averaged @ values),
        float(alone @ values),
        error(relative + alone),
        blocks,
        _ratio_error(left[:, _place(study)], left @ (relative + alone)) if replicated else 0.0,
    )


def _place(study: GStudy) -> int:
    return [tuple(component.effect) for component in study.components].index((study.facets[0],))


def _ratio_error(universe: Array, absolute: Array) -> float:
    """The jackknife's standard error of log(absolute error / universe variance), from both without
    each picture.
    """
    if len(universe) < 2 or not ((universe > 0).all() and (absolute > 0).all()):
        return 0.0
    return jackknife_error(np.log(absolute) - np.log(universe))


def _coefficient(
    value: float,
    absolute: bool,
    x: Array,
    errors: _Errors,
    study: GStudy,
    answered: Mapping[str, float],
    others: _Others,
    level: float,
) -> Coefficient:
    """The coefficient with its interval for these respondents, and its least value for others."""
    respondents = x.shape[0]
    universe = study.component(study.facets[0]).raw
    between = max(universe + errors.averaged, 0.0)
    fixed = None
    if errors.blocks >= 5 and errors.relative > 0:
        these = spread_of_these(between, errors.averaged, respondents)
        fixed = _bounds(value, these, errors, absolute, level)
        if absolute and errors.ratio_error > 0 and 0 < value < 1:
            fixed = _bounds_of_phi(value, errors, level)
    coefficient = Coefficient(value, n=respondents, level=level, fixed=fixed, flags=study.flags)
    if not errors.relative > 0:
        return coefficient
    own = others.left[:, _place(study)]
    error = others.left @ _weights(study, answered, 1, absolute=absolute)
    averaged = others.left @ _weights(study, answered, x.shape[2], absolute=False)
    with np.errstate(invalid="ignore", divide="ignore"):
        scores = np.nanmean(x, axis=(1, 2))
        left = np.maximum(own, 0.0) / (np.maximum(own, 0.0) + error)
    return at_least_without(coefficient, left, own + averaged, scores, others.relatives, least=0.0)


def _bounds_of_phi(value: float, errors: _Errors, level: float) -> Bounds:
    """Phi for these respondents: on the logit scale, from leaving out each picture.

    Items make some respondents' scores spread more and all of them shift at once, so that the
    variance between respondents and the absolute error go together; only leaving out pictures from
    both sees that.
    """
    middle = math.log((1 - value) / value)
    half = float(stdtrit(errors.blocks - 1, 0.5 + level / 2)) * errors.ratio_error
    low, high = (1 / (1 + math.exp(min(middle + side * half, 700.0))) for side in (1, -1))
    return Bounds(low, high, "picture jackknife of log((1 - Phi) / Phi)", level)


def _bounds(value: float, spread: Array, errors: _Errors, absolute: bool, level: float) -> Bounds:
    # the variance of few pictures' own effects has heavier tails than its jackknife error knows
    places = student_places((errors.blocks - 1) / (2 if absolute else 1))
    scale = np.exp(
        np.clip(
            (errors.absolute_error if absolute else errors.relative_error) * places, -50.0, 50.0
        )
    )
    universe = np.maximum(spread[..., None] - errors.averaged * scale, 0.0)
    drawn = universe / (universe + (errors.relative + (errors.alone if absolute else 0.0)) * scale)
    low, high = np.quantile(drawn, [0.5 - level / 2, 0.5 + level / 2])
    method = "noncentral chi-square and picture jackknife"
    return Bounds(min(float(low), value), max(float(high), value), method, level)


def dependability(
    scores: ArrayLike,
    rng: np.random.Generator,
    *,
    columns: int | None = None,
    n_effective: float | None = None,
    level: float = 0.95,
    draws: int = 10_000,
) -> Coefficient:
    """Phi of the mean over columns drawn like these, ICC(A,k), and the least that it is among other
    respondents and columns.

    Few columns say little about how far others would shift all scores, which `icc` does not know:
    its columns are these. Here every sum of squares is divided by draws of its own chi-square.

        Phi(k) = k q / (1 + (k - 1) q),   q = (R - E) / (R + (K - 1) E + K (C - E) / n),
        R = SSR / chi2(f), C = SSC / chi2(K - 1) >= E, E = SSE / chi2((n - 1)(K - 1))

    f = 2 / B is n - 1 for normal scores and fewer for heavier tails (`log_variance_error`).
    Weerahandi, S. (1993). Generalized confidence intervals. Journal of the American Statistical
    Association, 88, 899-905.

    - `scores, n_effective`: As in `icc`, with which it is `insufficient` or `degenerate`; `rng`
      draws the chi-squares.
    - `columns`: Of how many columns the mean is; all unless given.

    >>> round(dependability([[9, 2, 5], [6, 1, 3], [8, 4, 6], [7, 1, 2]],
    ...     np.random.default_rng(0)).value, 2)
    0.38
    """
    x = shaped(scores, "respondents, columns")
    x = x[np.isfinite(x).all(axis=1)]
    study = icc(x, n_effective=n_effective, level=level)
    n, k, single = study.n, study.k, study.a1
    value = replace(icc_of_mean(single, columns or k), low=math.nan, high=math.nan, fixed=None)
    size = size_of(n, n_effective)
    if value.status != "ok" or study.ms_error == 0.0 or too_few_respondents(n) or size < 3:
        return value
    tailed = min(size - 1, 2 / log_variance_error(x.mean(axis=1), size))
    drawn = _phi_draws(mean_squares(x), (n, k), columns or k, (size, tailed), rng, draws)
    low = float(np.quantile(drawn, 1 - level))
    return replace(
        value,
        low=min(low, value.value),
        high=math.inf,
        method=f"generalized pivots, {draws}, one-sided",
    )


def _phi_draws(
    squares: tuple[float, float, float],
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
    (n, k), (size, between) = shape, sizes
    df = (size - 1) * (k - 1)
    error = squares[2] * df / rng.chisquare(df, draws)
    rows = squares[0] * between / rng.chisquare(between, draws)
    shifts = np.maximum(squares[1] * (k - 1) / rng.chisquare(k - 1, draws), error)
    own = np.maximum(rows - error, 0.0)
    return np.asarray(own / (own + k * (error + (shifts - error) / n) / columns))


FEWEST_TO_DECIDE, MOST_WORDINGS = 5, 20
"""Fewer wordings than the first decide nothing about others, and more than the second are no
advice.
"""


@dataclass(frozen=True, slots=True)
class WordingsNeeded(Outcome):
    """How many wordings a mean takes to be dependable over others drawn like them.

    - `needed`: Their number; None where not even 20 suffice, or where it cannot be told.
    - `variance, variance_high`: Of what a wording does to all respondents alike, and its one-sided
      80 % upper end.
    """

    needed: int | None = None
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
    """The number of wordings whose mean reaches a dependability, at its lower end.

    A few wordings say little about how far others would shift all scores, so the number is that of
    the variance's one-sided 80 % upper end: who follows it passes in most cases
    (docs/psychometrics_wordings.md). More respondents make no wording less of a chance.

    - `scores, n_effective`: (respondents, wordings), as in `dependability`.
    - `goal`: The least that `dependability` is to show.

    >>> scores = np.random.default_rng(2).normal(size=(12, 1)) + [0.0, 0.4, -0.2]
    >>> wordings_needed(scores + 0.1 * np.eye(12, 3), 0.75, np.random.default_rng(0)).needed
    6
    """
    x = shaped(scores, "respondents, wordings")
    x = x[np.isfinite(x).all(axis=1)]
    n, k = x.shape
    if k < 3 or too_few_respondents(n):
        reason = too_few_respondents(n) or f"it takes three wordings to tell, there are {k}"
        return WordingsNeeded(status="insufficient", reason=reason)
    msr, msc, mse = mean_squares(x)
    if not msr > mse:
        return WordingsNeeded(status="degenerate", reason="the respondents do not differ")
    size = size_of(n, n_effective)
    tailed = min(size - 1, 2 / log_variance_error(x.mean(axis=1), size))
    high = msc * (k - 1) / float(chdtri(k - 1, 0.8))
    between, shift, most = ((m - mse) / d for m, d in ((msr, k), (msc, n), (high, n)))
    needed = None
    for count in range(FEWEST_TO_DECIDE, MOST_WORDINGS + 1):
        expected = (count * between + mse, n * max(most, 0.0) + mse, mse)
        drawn = _phi_draws(expected, (n, count), count, (size, tailed), rng, draws)
        if float(np.quantile(drawn, 0.05)) >= goal:
            needed = count
            break
    reason = "" if needed else f"no number of wordings up to {MOST_WORDINGS} reaches {goal:g}"
    return WordingsNeeded(needed, max(shift, 0.0), max(most, 0.0), reason=reason)
