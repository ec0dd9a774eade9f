"""Generalizability theory: variance components of respondents, items, seeds, forms and judges, and
the reliability of other designs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.special import chdtri, fdtri

from hqm.psychometrics.result import Array, ArrayLike, IntArray, Outcome, Status
from hqm.psychometrics.variance.variance_components import (
    Axis,
    Depth,
    Design,
    Moments,
    crossed_components,
    effect_depths,
    nested_axes,
)

Effect = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Component:
    """The variance of one effect of a single observation.

    Attributes
    ----------
    effect
        Names of the facets that interact in it; a facet that lies in another (items in
        pictures) varies within it.
    value
        The estimate, cut at 0; `raw` is what the formula gave, with flag `NEGATIVE_COMPONENT`
        where that is below 0.
    df, mean_square
        Of the effect in the analysis of variance; in an unbalanced design those of a balanced
        one with as many levels and these components.
    se
        Standard error of `raw` under normal effects (Searle 1971).
    low, high
        The interval of Ting and others, which a difference of mean squares needs; its ends are
        0 or more.
    share
        Of the sum of all cut components.
    """

    effect: Effect
    value: float
    raw: float
    df: int
    mean_square: float
    se: float
    low: float = math.nan
    high: float = math.nan
    share: float = math.nan
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GStudy(Outcome):
    """Variance components of a crossed or nested design.

    Attributes
    ----------
    facets, sizes
        The axes of the scores and their numbers of levels.
    nested
        (facet, what its levels lie in, number of groups, levels in a group as the error of a
        mean has them).
    observations
        How many cells are filled.
    """

    components: tuple[Component, ...]
    facets: tuple[str, ...]
    sizes: tuple[int, ...]
    mean: float
    level: float = 0.95
    flags: tuple[str, ...] = ()
    nested: tuple[tuple[str, str, int, float], ...] = ()
    observations: int = 0

    def component(self, *effect: str) -> Component:
        """The component of an effect, its facets named in any order."""
        for component in self.components:
            if set(component.effect) == set(effect):
                return component
        raise ValueError(f"no effect {' x '.join(effect)} in a study of {' x '.join(self.facets)}")


def g_study(
    scores: ArrayLike,
    facets: Sequence[str],
    *,
    nested: Mapping[str, tuple[str, ArrayLike]] | None = None,
    effects: Sequence[Sequence[str]] | None = None,
    level: float = 0.95,
    design: Design | None = None,
) -> GStudy:
    """Estimate variance components of a random design, crossed or nested, complete or not.

    Every score is a sum of effects: how good the respondent is, how hard the item, how this
    respondent does on this item, and so on for every combination of facets. The variance of each
    tells where differences between scores come from, and so whether more items, more seeds or more
    judge runs would help. The last effect, of all facets, also holds everything not named. The
    components describe these respondents where they were chosen on purpose.

    Parameters
    ----------
    scores : array_like
        One axis a facet, for example (respondents, items, runs); binary scores are allowed, NaN
        where there is none.
    facets : sequence of str
        The name of each axis, the object of measurement first.
    nested : mapping of str to tuple[str, array_like], optional
        Facet -> what its levels lie in, and a label each: `{"item": ("picture", pictures)}`. Where
        every level has a group of its own there is no such facet.
    effects : sequence of Sequence[str], optional
        The effects to estimate; all unless given. Runs with independent seeds have no effects of
        their own.
    level : float, default 0.95
        Confidence level of the intervals.
    design : Design, optional
        The margins of these scores, where they are at hand; every level must then have a score.

    Returns
    -------
    GStudy
        The status is `not_applicable` when a facet has one level (leave it out) or the filled cells
        do not tell the effects apart, `insufficient` when fewer than 2 levels have a score,
        `degenerate` when all scores are equal.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
    The estimates are those of `crossed_components`; where every cell is filled, those of the
    analysis of variance:

        MS_s = sum_{t contains s} (observations / levels of t) sigma2_t
        sigma2_s = sum_{t contains s} (-1)^(|t| - |s|) MS_t levels of s / observations

    The intervals are those of [3]_. Components of binary scores are on the scale of the score, fit
    for the precision of means, and no logits.

    References
    ----------
    .. [1] Brennan, R. L. (2001). Generalizability Theory, sections 3.4, 6.1 and 7.1. Springer.
    .. [2] Cornfield, J. and Tukey, J. W. (1956). Annals of Mathematical Statistics, 27,
       907-949.
    .. [3] Ting, N., Burdick, R. K., Graybill, F. A., Jeyaratnam, S. and Lu, T.-F. C. (1990).
       Journal of Statistical Computation and Simulation, 35, 135-143.

    Examples
    --------
    >>> result = g_study([[2, 4, 5], [4, 5, 7], [6, 6, 9], [3, 5, 5]], ["respondent", "item"])
    >>> [round(c.value, 4) for c in result.components]
    [1.9444, 1.7778, 0.4722]
    """
    x = np.asarray(scores, dtype=np.float64)
    names = tuple(facets)
    if x.ndim != len(names) or len(set(names)) != len(names) or x.ndim < 2:
        raise ValueError(
            f"two or more axes with a name each are needed, got shape {x.shape} and {list(names)}"
        )
    x, groupings = _drop_empty_levels(x, names, nested or {})
    axes = nested_axes(x.shape, names, groupings)

    def refused(status: Status, reason: str) -> GStudy:
        return GStudy((), names, x.shape, math.nan, level, (), status=status, reason=reason)

    if min(x.shape) < 1:
        return refused("insufficient", f"there is no score in {_describe_design(names, x.shape)}")
    if min(x.shape) < 2:
        single = names[int(np.argmin(x.shape))]
        status: Status = "insufficient" if single == names[0] else "not_applicable"
        return refused(
            status,
            f"facet {single} has one level in {_describe_design(names, x.shape)}: leave it out or"
            " add levels",
        )
    # one group has no variance between groups
    if lone := next((axis for axis in axes if axis.group and len(axis.starts) < 2), None):
        return refused(
            "insufficient",
            f"all levels of {lone.name} lie in one {lone.group}: nothing is known of others",
        )
    moments = crossed_components(x, names, nested=groupings, effects=effects, design=design)
    # all scores equal up to rounding, whatever their unit
    max_deviation = max(float(np.nanmax(x)) - moments.mean, moments.mean - float(np.nanmin(x)))
    if max_deviation <= 1e-10 * max(1.0, abs(moments.mean)):
        return refused("degenerate", "all scores are equal")
    if moments.singular:
        return refused(
            "not_applicable",
            "the cells that have a score do not tell the effects of the facets apart",
        )
    components = _components(moments, axes, effect_depths(axes, effects), level)
    flags = ("NEGATIVE_COMPONENT",) if any(c.flags for c in components) else ()
    groups = tuple(
        (axis.name, axis.group, len(axis.starts), _mean_group_size(axis))
        for axis in axes
        if axis.group
    )
    return GStudy(
        components,
        names,
        x.shape,
        moments.mean,
        level,
        flags,
        nested=groups,
        observations=moments.observations,
    )


def _drop_empty_levels(
    x: Array, names: Sequence[str], nested: Mapping[str, tuple[str, ArrayLike]]
) -> tuple[Array, dict[str, tuple[str, ArrayLike]]]:
    """The scores without the levels of a facet that have none, and the groups of the others."""
    groupings = {name: (group, np.asarray(labels)) for name, (group, labels) in nested.items()}
    for axis, name in enumerate(names):
        other_axes = tuple(i for i in range(x.ndim) if i != axis)
        scored = np.asarray(np.isfinite(x).any(axis=other_axes))
        if name in groupings and groupings[name][1].shape != scored.shape:
            raise ValueError(
                f"one label for each {name} is needed ({len(scored)}), got"
                f" {groupings[name][1].shape}"
            )
        x = np.compress(scored, x, axis=axis)
        if name in groupings:
            groupings[name] = (groupings[name][0], groupings[name][1][scored])
    return x, dict(groupings)


def _describe_design(names: Sequence[str], sizes: Sequence[int]) -> str:
    return " x ".join(f"{size} {name}" for name, size in zip(names, sizes, strict=True))


def _mean_group_size(axis: Axis) -> float:
    """Levels in a group, as the error of a mean over all levels has them: sum of n_c^2 / n."""
    sizes = np.diff([*axis.starts, axis.size])
    return float((sizes**2).sum() / axis.size)


def _components(
    moments: Moments, axes: Sequence[Axis], depths: Sequence[Depth], level: float
) -> tuple[Component, ...]:
    """The components, with the mean squares of a balanced design and the intervals from them."""
    # observations in one level of each effect
    cells = moments.observations / np.array(moments.levels, dtype=np.float64)
    depth = np.array(depths)
    # (effects, effects): whether the mean square of the row contains the component of the column
    contains = (depth[None, :, :] >= depth[:, None, :]).all(axis=2)
    # expected mean squares are linear in the components (Cornfield and Tukey 1956)
    squares = np.maximum((contains * cells) @ moments.values, 0.0)
    # each component is a sum of mean squares times a coefficient; `terms` are these products
    terms = np.linalg.inv(contains * cells) * squares
    df = _degrees_of_freedom(axes, depths, moments.observations)
    values = moments.values
    # 2 MS^2 / (df + 2) estimates the variance of a mean square without bias (Brennan 2001, section
    # 6.1)
    variances = (2 * terms**2 / (df + 2)).sum(axis=1)
    total_variance = float(np.maximum(values, 0.0).sum())
    rows = []
    for effect, value, square, effect_terms, effect_df, variance in zip(
        moments.effects, values, squares, terms, df, variances, strict=True
    ):
        low, high = difference_interval(effect_terms, df, level)
        flags = ("NEGATIVE_COMPONENT",) if value < 0 else ()
        # Brennan (2001): negative estimates are reported as 0, and kept in `raw`
        cut = max(0.0, float(value))
        rows.append(
            Component(
                effect,
                cut,
                float(value),
                int(effect_df),
                float(square),
                math.sqrt(variance),
                min(low, cut),
                max(high, cut),
                cut / total_variance if total_variance > 0 else math.nan,
                flags,
            )
        )
    return tuple(rows)


def _degrees_of_freedom(
    axes: Sequence[Axis], depths: Sequence[Depth], observations: int
) -> IntArray:
    def axis_df(axis: Axis, depth: int) -> int:
        if depth == 0:
            return 1
        if not axis.group:
            return axis.size - 1
        groups = len(axis.starts)
        if depth == 1:
            return groups - 1
        # levels of nested facets lose one degree of freedom in each group
        return axis.size - groups

    df = [math.prod(map(axis_df, axes, depth)) for depth in depths]
    # what the effects before leave over
    df[-1] = observations - 1 - sum(df[:-1])
    return np.maximum(np.array(df, dtype=np.int64), 1)


def difference_interval(
    terms: ArrayLike, df: ArrayLike, level: float = 0.95
) -> tuple[float, float]:
    """The interval of a sum and difference of mean squares, each times its coefficient (Ting and
    others 1990).

    Satterthwaite's chi-square is no approximation where mean squares are subtracted: its degrees of
    freedom run to 0 with the estimate. Here the ends stay finite, and are cut at 0.

    - `terms, df`: (mean squares,): coefficient times mean square, negative where it is subtracted,
      and degrees of freedom.

    >>> [round(end, 4) for end in difference_interval([0.6, -0.1], [9, 81])]
    [0.1801, 1.898]
    """
    coefficients = np.asarray(terms, dtype=np.float64)
    term_df = np.asarray(df, dtype=np.float64)[coefficients != 0]
    coefficients = coefficients[coefficients != 0]
    if not len(coefficients):
        return 0.0, 0.0
    tail = (1 - level) / 2

    def squared_distance(
        plus: Array, plus_df: Array, minus: Array, minus_df: Array, tails: tuple[float, float]
    ) -> float:
        """The square of how far the end lies from the estimate, when the terms `plus` move it and
        `minus` hold it.
        """
        first, second = tails
        g = np.abs(1 - plus_df / chdtri(plus_df, 1 - first))
        h = np.abs(minus_df / chdtri(minus_df, 1 - second) - 1)
        square = float((g**2 * plus**2).sum() + (h**2 * minus**2).sum())
        if len(plus) and len(minus):
            # G_qr: the correction for a pair of an added and a subtracted term
            ratio = fdtri(plus_df[:, None], minus_df[None, :], first)
            mixed = ((ratio - 1) ** 2 - (g[:, None] * ratio) ** 2 - h**2) / ratio
            square += float((mixed * np.outer(plus, minus)).sum())
        return max(0.0, square)

    # Ting et al. (1990): G_q and H_r of the added and subtracted terms, and G_qr of their pairs
    positive = coefficients > 0
    negative = coefficients < 0
    plus = coefficients[positive]
    minus = -coefficients[negative]
    value = float(coefficients.sum())
    low = value - math.sqrt(
        squared_distance(plus, term_df[positive], minus, term_df[negative], (1 - tail, tail))
    )
    high = value + math.sqrt(
        squared_distance(plus, term_df[positive], minus, term_df[negative], (tail, 1 - tail))
    )
    return max(0.0, low), max(0.0, high)


@dataclass(frozen=True, slots=True)
class DStudy(Outcome):
    """Reliability of the mean score over a design.

    `g` (E rho^2) is for comparing respondents with each other, `phi` for reading the score as such.
    `universe` is the variance of the respondents' universe scores, `relative` and `absolute` are
    the error variances; their roots are standard errors in score units.
    """

    sizes: tuple[tuple[str, float], ...]
    g: float = math.nan
    phi: float = math.nan
    universe: float = math.nan
    relative: float = math.nan
    absolute: float = math.nan


def d_study(study: GStudy, sizes: Mapping[str, float] | None = None) -> DStudy:
    """Compute the generalizability and dependability of a mean over so many items, runs or forms.

    Parameters
    ----------
    study : GStudy
        Components, the object of measurement being the first facet.
    sizes : mapping of str to float, optional
        Facet -> number of levels in the design; a facet not named keeps the number it had. Where
        items lie in pictures, `item` counts all items; there are as many to a picture as before
        unless `picture` is named too.

    Returns
    -------
    DStudy
        The status is `not_applicable` or worse as the study was; `degenerate` where neither
        universe nor error varies.

    Raises
    ------
    ValueError
        A facet is unknown, is the object of measurement, or has a size below 1.

    Notes
    -----
        universe U = the respondents' variance
        relative error = sum of sigma2_s / n'_s over effects of the respondent and other facets
        absolute error = relative error + the same over effects without the respondent
        E rho^2 = U / (U + relative),   Phi = U / (U + absolute)

    References
    ----------
    .. [1] Brennan, R. L. (2001). Generalizability Theory, chapters 4 and 5.

    Examples
    --------
    >>> from hqm.psychometrics.variance.generalizability import g_study
    >>> study = g_study([[2, 4, 5], [4, 5, 7], [6, 6, 9], [3, 5, 5]], ["respondent", "item"])
    >>> result = d_study(study, {"item": 10})
    >>> round(result.g, 4), round(result.phi, 4)
    (0.9763, 0.8963)
    """
    target, *varied = study.facets
    sizes = sizes or {}
    # the object's own groups (families) are no facet to sample
    groups = {group: (facet, per) for facet, group, _, per in study.nested if facet != target}
    for name, size in sizes.items():
        if name not in varied and name not in groups:
            raise ValueError(f"no facet {name} to change among {varied}")
        if size < 1:
            raise ValueError(f"facet {name} needs 1 level or more, got {size}")
    study_sizes = dict(zip(study.facets, study.sizes, strict=True))
    n = {name: sizes.get(name, study_sizes[name]) for name in varied}
    shape = tuple(n.items())
    if study.status != "ok":
        return DStudy.absent(study.status, study.reason, sizes=shape)
    counts = dict(n)
    for group, (facet, per_group) in groups.items():
        # as many items to a picture as before, so pictures follow from items
        counts[group] = sizes.get(group, n[facet] / per_group)
    # families are part of what is measured: their variance is universe variance
    objects = {target, *(group for facet, group, _, _ in study.nested if facet == target)}
    universe, relative, absolute = _design_variances(study.components, objects, counts)
    if universe + absolute <= 0 or universe + relative <= 0:
        return DStudy.absent(
            "degenerate",
            "neither the respondents nor the errors vary",
            sizes=shape,
            universe=universe,
            relative=relative,
            absolute=absolute,
        )
    return DStudy(
        shape,
        universe / (universe + relative),
        universe / (universe + absolute),
        universe,
        relative,
        absolute,
    )


def _design_variances(
    components: Sequence[Component], objects: Collection[str], counts: Mapping[str, float]
) -> tuple[float, float, float]:
    """The variances of universe scores, of relative and of absolute error (Brennan 2001, ch. 4).

    `objects` are the facets of the object of measurement, `counts` the levels of the others.
    """
    universe = relative = absolute = 0.0
    for component in components:
        error_facets = [facet for facet in component.effect if facet not in objects]
        # the mean over n' levels has 1 / n' of an effect's variance; an empty product is 1
        variance = component.value / math.prod(counts[facet] for facet in error_facets)
        if not error_facets:
            universe += variance
            continue
        absolute += variance
        # an effect that involves the object changes differences between objects
        if len(error_facets) < len(component.effect):
            relative += variance
    return universe, relative, absolute


@dataclass(frozen=True, slots=True)
class Plan(Outcome):
    """The cheapest design of a grid that reaches a target; `design` is None where none does."""

    target: float
    design: DStudy | None
    cost: float


def cheapest_designs(
    study: GStudy,
    grid: Mapping[str, Sequence[int]],
    cost: Callable[[Mapping[str, float]], float],
    *,
    targets: Sequence[float] = (0.8, 0.9, 0.95),
) -> tuple[Plan, ...]:
    """Find the cheapest design of a grid that reaches each target.

    Every combination of the grid is tried. Of designs of equal cost the more reliable one is taken.

    Parameters
    ----------
    study : GStudy
        Components from a pilot.
    grid : mapping of str to Sequence[int]
        Facet -> numbers of levels to try.
    cost : callable
        Design (facet -> number) -> cost, for example `lambda d: d["item"] * d["run"] * 0.002`.
    targets : sequence of float, default (0.8, 0.9, 0.95)
        Values of Phi to reach.

    Returns
    -------
    tuple of Plan
        There is one plan for each target. It is `insufficient` where the grid does not reach it,
        with the best value that it holds.

    Examples
    --------
    >>> from hqm.psychometrics.variance.generalizability import g_study
    >>> study = g_study([[2, 4, 5], [4, 5, 7], [6, 6, 9], [3, 5, 5]], ["respondent", "item"])
    >>> plans = cheapest_designs(study, {"item": range(1, 50)}, lambda d: d["item"],
    ...     targets=(0.8, 0.99))
    >>> [(plan.cost, plan.status) for plan in plans]
    [(5, 'ok'), (nan, 'insufficient')]
    """
    if study.status != "ok":
        return tuple(
            Plan(t, None, math.nan, status=study.status, reason=study.reason) for t in targets
        )
    candidates = []
    for levels in product(*grid.values()):
        sizes = dict(zip(grid, levels, strict=True))
        plan = d_study(study, sizes)
        if plan.status == "ok":
            # sorted by cost, then by Phi from the highest
            candidates.append((cost(dict(plan.sizes)), -plan.phi, plan))
    candidates.sort(key=lambda row: row[:2])
    best = max((-row[1] for row in candidates), default=math.nan)
    plans = []
    for target in targets:
        cheapest = next((row for row in candidates if -row[1] >= target), None)
        if cheapest is None:
            reason = f"no design of the grid reaches {target:g}; the best has {best:.4g}"
            plans.append(Plan(target, None, math.nan, status="insufficient", reason=reason))
        else:
            plans.append(Plan(target, cheapest[2], cheapest[0]))
    return tuple(plans)
