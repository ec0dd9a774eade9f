"""Variance components by moments, in one pass: crossed and nested designs, unbalanced, with cells
missing.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product
from operator import ge

import numpy as np
from scipy.special import chdtri, stdtrit

from hqm.psychometrics.inference.resampling import (
    jackknife_standard_error,
    jackknife_variance,
    label_order,
)
from hqm.psychometrics.result import Array, ArrayLike, ConfidenceInterval, is_constant

Depth = tuple[int, ...]
"""How finely a margin keeps each axis: 0 summed over it, 1 its groups (or its levels, without
groups), 2 its levels.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Variance components of single observations by moments, not truncated at 0.

    Attributes
    ----------
    effects
        The names of the facets that interact in each effect.
    values
        (effects,): the components as the equations give them; a negative one stays negative.
    levels
        (effects,): how many combinations of levels each effect has that were observed.
    singular
        Whether the filled cells leave effects that cannot be separated; the values are then NaN.
    observations, mean
        How many cells are filled, and their mean.
    """

    effects: tuple[tuple[str, ...], ...]
    values: Array
    levels: tuple[int, ...]
    observations: int
    mean: float
    singular: bool = False


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of the scores: its facet, the facet that it is nested in, and each group's offset."""

    name: str
    size: int
    group: str = ""
    starts: tuple[int, ...] = ()

    @property
    def depth(self) -> int:
        """The depth of its single levels."""
        if self.group:
            return 2
        return 1

    def facet_at(self, depth: int) -> tuple[str, ...]:
        """Return the facet that a depth stands for."""
        if depth == 0:
            return ()
        if self.group and depth == 1:
            return (self.group,)
        return (self.name,)


def nested_axes(
    shape: Sequence[int], names: Sequence[str], nested: Mapping[str, tuple[str, ArrayLike]]
) -> tuple[Axis, ...]:
    """Return the axes of an array of scores; levels that fall into groups of several are nested."""
    axes = []
    for size, name in zip(shape, names, strict=True):
        axis = Axis(name, size)
        if name in nested:
            group = nested[name][0]
            labels = np.asarray(nested[name][1])
            if labels.shape != (size,):
                raise ValueError(
                    f"one label of {group} for each {name} is needed ({size}), got shape"
                    f" {labels.shape}"
                )
            # reduceat needs where each group starts once its levels are adjacent
            counts = np.unique(labels, return_counts=True)[1]
            if len(counts) < size:
                axis = Axis(
                    name, size, group, tuple(np.concatenate([[0], np.cumsum(counts)[:-1]]).tolist())
                )
        axes.append(axis)
    return tuple(axes)


def sort_by_group(
    x: Array, names: Sequence[str], nested: Mapping[str, tuple[str, ArrayLike]]
) -> tuple[Array, tuple[Axis, ...]]:
    """Return the scores with the levels of every group adjacent, and their axes."""
    axes = nested_axes(x.shape, names, nested)
    for axis_index, axis in enumerate(axes):
        if axis.group and not isinstance(
            # a slice says that they are adjacent already
            order := label_order(np.asarray(nested[axis.name][1])),
            slice,
        ):
            x = np.take(x, order, axis=axis_index)
    return x, axes


class Margins:
    """Marginal sums of an array, each computed once from the smallest finer margin."""

    def __init__(self, finest: Array, axes: Sequence[Axis], depth: Depth) -> None:
        self.axes = axes
        self.finest = depth
        self.done: dict[Depth, Array] = {depth: finest}
        self.squares: dict[Depth, Margins] = {}

    def squared(self, depth: Depth) -> Margins:
        """Return the margins of the squares of this margin."""
        if depth not in self.squares:
            self.squares[depth] = Margins(self[depth] ** 2, self.axes, depth)
        return self.squares[depth]

    def divide_by_counts(self, values: Array, depth: Depth) -> Array:
        """Return values divided by this margin's counts; 0 where the count is 0."""
        # 0 and not infinite: an empty level adds nothing to a sum of squares
        return values * safe_inverse(self[depth])

    def __getitem__(self, depth: Depth) -> Array:
        if depth not in self.done:
            # any finer margin will do; the smallest takes the fewest additions
            finer = [d for d in self.done if all(map(ge, d, depth))]
            source = min(finer, key=lambda d: self.done[d].size)
            self.done[depth] = self._coarser(self.done[source], source, depth)
        return self.done[depth]

    def _coarser(self, values: Array, source: Depth, depth: Depth) -> Array:
        for axis_index, (axis, source_depth, target_depth) in enumerate(
            zip(self.axes, source, depth, strict=True)
        ):
            if source_depth == target_depth:
                continue
            # keepdims, so that margins of all depths broadcast against one another
            if target_depth == 0:
                values = values.sum(axis=axis_index, keepdims=True)
            # from levels to groups
            else:
                values = np.add.reduceat(values, axis.starts, axis=axis_index)
        return values


def crossed_components(
    scores: ArrayLike,
    facets: Sequence[str],
    *,
    nested: Mapping[str, tuple[str, ArrayLike]] | None = None,
    effects: Sequence[Sequence[str]] | None = None,
    design: Design | None = None,
) -> Moments:
    """Estimate variance components of a random design by the method of moments.

    The squared totals of a margin have an expectation that is linear in the components: as many
    margins, as many equations.

    Parameters
    ----------
    scores : array_like
        One axis a facet, named in `facets`; NaN where there is no observation.
    facets : sequence of str
        Names of the axes.
    nested : Mapping[str, tuple[str, array_like]], optional
        Facet -> the facet that its levels lie in, and the label of each level.
    effects : sequence of Sequence[str], optional
        Those to separate; the rest goes into that of single observations.
    design : Design, optional
        The margins of these scores, where they are at hand.

    Returns
    -------
    Moments
        The components of all effects.

    Raises
    ------
    ValueError
        The axes and their names do not match.

    Notes
    -----
        T_s = sum over levels of s of (total^2 / n),   E T_s = N mu^2 + sum_t k(s, t) sigma2_t
        k(s, t) = sum over levels of s of (1 / n_s) sum over the levels of s and t in it of n_st^2

    Henderson's method 1 (1953, Biometrics, 9, 226-252; Gao and Owen 2017, Electronic Journal of
    Statistics, 11, 1235-1296): unbiased where cells are missing for reasons that have nothing to do
    with the effects; the ANOVA of a balanced design.

    Examples
    --------
    >>> result = crossed_components([[2, 4, 5], [4, 5, 7], [6, 6, np.nan], [3, 5, 5]],
    ...     ["respondent", "item"])
    >>> [round(float(value), 4) for value in result.values]
    [0.5757, 0.6129, 1.1013]
    """
    x = np.asarray(scores, dtype=np.float64)
    if x.ndim != len(facets) or len(set(facets)) != len(facets):
        raise ValueError(
            f"axes with a name each are needed, got shape {x.shape} and {list(facets)}"
        )
    if design is None:
        design = Design(x, facets, nested or {}, effects)
    # levels with an observation, which the degrees of freedom count
    levels = tuple(int(np.count_nonzero(design.counts[depth])) for depth in design.depths)
    values, singular = design.solution
    return Moments(design.effects, values, levels, design.observations, design.mean, singular)


def _facets_at(axes: Sequence[Axis], depth: Depth) -> tuple[str, ...]:
    names = (axis.facet_at(d) for axis, d in zip(axes, depth, strict=True))
    return tuple(chain.from_iterable(names))


def effect_depths(
    axes: Sequence[Axis], effects: Sequence[Sequence[str]] | None = None
) -> list[Depth]:
    """Return the effects as depths, main effects first and the residual last."""
    finest = tuple(axis.depth for axis in axes)
    all_depths = sorted(
        # fewest facets first, so that main effects come before interactions
        product(*(range(depth, -1, -1) for depth in finest)),
        key=lambda d: sum(map(bool, d)),
    )
    inner = [depth for depth in all_depths if any(depth) and depth != finest]
    if effects is not None:
        names = {depth: frozenset(_facets_at(axes, depth)) for depth in all_depths}
        requested = {frozenset(effect) for effect in effects}
        if unknown := requested - set(names.values()):
            raise ValueError(
                f"no effect {' x '.join(sorted(next(iter(unknown))))} of"
                f" {[axis.name for axis in axes]}"
            )
        inner = [depth for depth in inner if names[depth] in requested]
    return [*inner, finest]


def solve_equations(
    matrix: Array, totals: Array, *, skip_singular: bool = False
) -> tuple[Array, bool]:
    """Solve the moment equations; return the components, and whether the system is singular.

    `skip_singular` gives NaN to singular systems and solves the others. Values within rounding of
    the terms that cancel are 0.
    """
    # rows are scaled first: sums of squares of large margins dwarf those of small ones
    scale = np.abs(matrix).max(axis=-1, keepdims=True)
    scale = np.where(scale > 0, scale, 1.0)
    scaled = matrix / scale
    scaled_totals = totals / scale[..., 0]
    # columns too: a component with few levels has small coefficients, which are no sign of a
    # singular design
    column_scale = np.abs(scaled).max(axis=-2, keepdims=True)
    column_scale = np.where(column_scale > 0, column_scale, 1.0)
    # the inverse below has no correct digit left
    scaled = scaled / column_scale
    singular = np.linalg.cond(scaled) > 1e9
    if singular.any() and not skip_singular:
        # singular systems get the identity for now, and NaN in the end
        return np.full(totals.shape, np.nan), True
    scaled = np.where(singular[..., None, None], np.eye(scaled.shape[-1]), scaled)
    inverse = np.linalg.inv(scaled) / np.swapaxes(column_scale, -1, -2)
    # eps times the sum of the absolute terms: differences below it are rounding
    values = (inverse @ scaled_totals[..., None])[..., 0]
    rounding = 1e-13 * (np.abs(inverse) @ np.abs(scaled_totals)[..., None])[..., 0]
    values = np.where(np.abs(values) <= rounding, 0.0, values)
    return np.where(singular[..., None], np.nan, values), False


class Design:
    """Scores with the margins that all equations are made of, each margin made once.

    >>> scores = np.array([[2.0, 4, 5], [4, 5, 7], [6, 6, 9], [3, 5, 5]])
    >>> left = Design(scores, ["respondent", "item"], {}, None).jackknife_components("item")
    >>> [round(float(value), 4) for value in left[0]]
    [1.3333, 0.9167, 0.8333]
    """

    def __init__(
        self,
        scores: Array,
        facets: Sequence[str],
        nested: Mapping[str, tuple[str, ArrayLike]],
        effects: Sequence[Sequence[str]] | None,
    ) -> None:
        x, self.axes = sort_by_group(scores, facets, nested)
        filled = np.isfinite(x)
        self.observations = int(filled.sum())
        self.mean = float(x[filled].mean()) if self.observations else math.nan
        self.depths = effect_depths(self.axes, effects)
        finest = self.depths[-1]
        # centred, since total^2 / n would lose digits where the mean is large
        self.sums = Margins(np.where(filled, x - self.mean, 0.0), self.axes, finest)
        self.counts = Margins(filled.astype(np.float64), self.axes, finest)

    @property
    def effects(self) -> tuple[tuple[str, ...], ...]:
        """The facets of each effect, in the order of the equations."""
        return tuple(_facets_at(self.axes, depth) for depth in self.depths)

    @functools.cached_property
    def equations(self) -> Array:
        """(effects, effects + 1): the moment equations, with the sums of squares last."""
        grand = tuple(0 for _ in self.axes)
        rows = np.array([self._row(depth) for depth in (grand, *self.depths)])
        # the equation of the grand mean takes mu^2 out of all others
        return np.asarray(rows[1:] - rows[0])

    @functools.cached_property
    def solution(self) -> tuple[Array, bool]:
        """(effects,): the components, and whether the system is singular."""
        return solve_equations(self.equations[:, :-1], self.equations[:, -1])

    def _row(self, depth: Depth) -> list[float]:
        """The coefficients (effects,) of a margin's equation, and its sum of squares."""
        # the margin of s and t together keeps every axis as finely as the finer of both
        joints = [tuple(map(max, depth, effect_depth)) for effect_depth in self.depths]
        coefficients = {
            joint: float(
                self.counts.divide_by_counts(self.counts.squared(joint)[depth], depth).sum()
            )
            for joint in dict.fromkeys(joints)
        }
        return [
            *(coefficients[joint] for joint in joints),
            float(self.counts.divide_by_counts(self.sums[depth] ** 2, depth).sum()),
        ]

    def jackknife_equations(self, facet: str) -> Array:
        """(blocks, effects, effects + 1): the equations without each level, or group, of a facet.

        Every block's contribution to a total is known, so leaving it out is a subtraction.
        """
        blocks = Blocks(self.sums, self.counts, [axis.name for axis in self.axes].index(facet))
        grand = tuple(0 for _ in self.axes)
        rows = np.stack([blocks.row(depth, self.depths) for depth in (grand, *self.depths)], axis=1)
        return np.asarray(rows[:, 1:] - rows[:, :1])

    def jackknife_components(self, facet: str) -> Array:
        """(blocks, effects): the components without each block of a facet; NaN if singular."""
        rows = self.jackknife_equations(facet)
        if self.solution[1]:
            return np.full(rows.shape[:2], np.nan)
        return solve_equations(rows[..., :-1], rows[..., -1], skip_singular=True)[0]


class Blocks:
    """Moment equations without each block of one axis."""

    def __init__(self, sums: Margins, counts: Margins, axis_index: int) -> None:
        self.sums = sums
        self.counts = counts
        self.axis_index = axis_index

    def by_block(self, depth: Depth) -> Depth:
        """Return the depth of the same margin, resolved by block."""
        return (
            *depth[: self.axis_index],
            max(1, depth[self.axis_index]),
            *depth[self.axis_index + 1 :],
        )

    def total(self, values: Array, depth: int) -> Array:
        """(blocks,): the sum over all other axes, of an array whose axis has this depth."""
        axis = self.counts.axes[self.axis_index]
        # all axes but that of the blocks
        summed = values.sum(axis=tuple(i for i in range(values.ndim) if i != self.axis_index))
        return np.asarray(np.add.reduceat(summed, axis.starts) if depth == 2 else summed)

    def row(self, depth: Depth, depths: Sequence[Depth]) -> Array:
        """(blocks, effects + 1): a margin's equation without each block, sum of squares last."""
        joints = [tuple(map(max, depth, effect_depth)) for effect_depth in depths]
        if depth[self.axis_index]:
            coefficients = {
                joint: self.total(
                    self.counts.divide_by_counts(self.counts.squared(joint)[depth], depth),
                    depth[self.axis_index],
                )
                for joint in dict.fromkeys(joints)
            }
            squares = self.total(
                self.counts.divide_by_counts(self.sums[depth] ** 2, depth), depth[self.axis_index]
            )
            # a margin that resolves the blocks loses the whole term of each block
            block_rows = np.stack([*(coefficients[joint] for joint in joints), squares])
            return np.asarray((block_rows.sum(axis=1, keepdims=True) - block_rows).T)
        # a margin that is summed over the blocks loses a part of each of its levels
        block_depth = self.by_block(depth)
        inverse = safe_inverse(self.counts[depth] - self.counts[block_depth])
        coefficients = {
            joint: self.total(self._remaining_squares(joint, depth) * inverse, 1)
            for joint in dict.fromkeys(joints)
        }
        # (total - block total)^2 / (n - n of the block)
        squares = self.total((self.sums[depth] - self.sums[block_depth]) ** 2 * inverse, 1)
        return np.stack([*(coefficients[joint] for joint in joints), squares], axis=1)

    def _remaining_squares(self, joint: Depth, depth: Depth) -> Array:
        """Return a margin's squared counts without each block."""
        block_depth = self.by_block(depth)
        if joint[self.axis_index]:
            squared = self.counts.squared(joint)
            return np.asarray(squared[depth] - squared[block_depth])
        resolved = self.by_block(joint)
        # counts without a block, then squared; squares of differences are no differences of squares
        squared_counts = (self.counts[joint] - self.counts[resolved]) ** 2
        return Margins(squared_counts, self.counts.axes, resolved)[block_depth]


def safe_inverse(counts: Array) -> Array:
    """Return 1 / counts, and 0 where a count is 0."""
    # counts are sums of ones: below a half there is nothing
    return np.divide(1.0, counts, out=np.zeros_like(counts), where=counts > 0.5)


MIN_CLUSTERS = 10
"""Fewer pictures, or items that stand alone, than this carry no interval over other items."""
_MIN_VARIANCE_SHARE = 0.5
_MIN_VARIANCE_SHARE_NEAR_BOUND = 0.8
"""How much of the jackknife's variance stays at least; more where scores crowd at 0 or 1, because
the few errors there make the noise that is taken off hardly known (with half, ICC(A,1)'s interval
held .90 to .94 where F1 is .98; now .93 to .97)."""
MAX_HALF_WIDTH = 20.0
"""An interval of log(1 - r) that reaches farther than this says nothing, and is not given."""


@dataclass(frozen=True, slots=True)
class MeanVariance:
    """The sampling variance of a mean over respondents, by what is sampled again.

    - `respondents`: Respondents alone, each with the luck of its own answers.
    - `items`: Items alone, the respondents kept; NaN where there are too few clusters.
    - `total`: Respondents and items; never less than either.
    - `df_items, df_total`: Satterthwaite's degrees of freedom.
    """

    respondents: float
    items: float
    total: float
    df_items: float
    df_total: float


def mean_variance(
    values: ArrayLike, replicates: ArrayLike | None = None, *, n_effective: float | None = None
) -> MeanVariance:
    """The variance of a mean over respondents of numbers that are each computed from the same
    items.

    Resampling respondents forgets that everybody answered the same items; resampling items forgets
    that there are other respondents. Their sum counts what one respondent does on one item twice,
    so it is taken off once:

        V = V_respondents + V_items - V_respondents x items

    Owen, A. B. (2007). The pigeonhole bootstrap. Annals of Applied Statistics, 1, 386-411; Gao, K.
    and Owen, A. (2017). Efficient moment calculations for variance components in large unbalanced
    crossed random effects models. Electronic Journal of Statistics, 11, 1235-1296.

    - `values`: (respondents,): two or more finite numbers.
    - `replicates`: (respondents, clusters): the same numbers with each cluster of items left out.
    - `n_effective`: How many independent respondents there are, where some are relatives.

    >>> variance = mean_variance([0.1, 0.3, 0.2],
    ...     [[0.1, 0.12, 0.08] * 4, [0.3, 0.32, 0.28] * 4, [0.2, 0.22, 0.18] * 4])
    >>> variance.total >= max(variance.respondents, variance.items)
    True
    """
    x = np.asarray(values, dtype=np.float64)
    m = len(x)
    # relatives count as the fewer independent respondents
    n_independent = min(float(m), n_effective or float(m))
    respondent_variance = float(x.var(ddof=1)) / n_independent
    nan = math.nan
    if replicates is None:
        jackknife_values = None
    else:
        jackknife_values = np.asarray(replicates, dtype=np.float64)
    if (
        jackknife_values is None
        or jackknife_values.shape[1] < MIN_CLUSTERS
        or not np.isfinite(jackknife_values).all()
    ):
        return MeanVariance(respondent_variance, nan, respondent_variance, nan, n_independent - 1)
    n_clusters = jackknife_values.shape[1]
    # Efron and Tibshirani (1993), ch. 11: factor of the jackknife's sum of squares
    scale = (n_clusters - 1) / n_clusters
    # Owen (2007): the mean over respondents of the deviations is what items do to all
    deviations = jackknife_values - jackknife_values.mean(axis=1, keepdims=True)
    mean_deviations = deviations.mean(axis=0)
    item_variance = scale * float((mean_deviations**2).sum())
    # what is left after item and respondent is their interaction, an error in both variances
    interaction_variance = (
        scale * float(((deviations - mean_deviations) ** 2).sum()) / (m * (m - 1))
    )
    # sampling more can make a mean no more precise
    variance = max(
        respondent_variance + item_variance - interaction_variance,
        respondent_variance,
        item_variance,
    )
    if variance == 0:
        return MeanVariance(
            respondent_variance, item_variance, variance, n_clusters - 1.0, n_independent - 1
        )
    # Satterthwaite's degrees of freedom of a sum of variances
    df = variance**2 / (
        respondent_variance**2 / max(n_independent - 1, 1e-9) + item_variance**2 / (n_clusters - 1)
    )
    return MeanVariance(respondent_variance, item_variance, variance, n_clusters - 1.0, df)


def reliability_interval(
    ratio: float, log_replicates: Array, level: float
) -> ConfidenceInterval | None:
    """The interval over other items, for these respondents, of a reliability 1 - `ratio` from log
    ratios left out.

    - `ratio`: Error variance over observed variance.
    - `log_replicates`: (clusters,): the logarithm of the ratio with each cluster left out.

    None below 10 clusters or where a ratio does not exist.
    """
    if len(log_replicates) < MIN_CLUSTERS or not np.isfinite(log_replicates).all() or not ratio > 0:
        return None
    # Student's t: the jackknife's variance comes from so many clusters
    half_width = float(
        stdtrit(len(log_replicates) - 1, 0.5 + level / 2)
    ) * jackknife_standard_error(log_replicates)
    return ConfidenceInterval.from_log_complement(ratio, half_width, "r", level)


def agreement_interval(
    value: float,
    replicates: ArrayLike,
    first: ArrayLike,
    second: ArrayLike,
    *,
    scaled: bool = False,
    level: float = 0.95,
) -> ConfidenceInterval | None:
    """Compute the interval of a coefficient of agreement over other items.

    What a coefficient lacks to 1 is a sum of squared differences between the administrations. Of a
    square that is noise throughout the jackknife finds twice the variance (Efron and Stein 1981:
    its bias is upward, here by the same amount again), so the noise's own part is taken off once;
    log(1 - r) is nearly normal.

    Parameters
    ----------
    value : float
        The coefficient.
    replicates : array_like, shape (clusters,)
        The coefficient with each cluster of items left out.
    first, second : array_like, shape (respondents, clusters)
        The scores with each cluster left out.
    scaled : bool, default False
        Whether each administration counts in its own unit (Pearson), not both in one.
    level : float, default 0.95
        Confidence level of the interval.

    Returns
    -------
    ConfidenceInterval | None
        The interval. None below 10 clusters, for a value of 1, or where the coefficient is
        undefined without a cluster.

    Notes
    -----
        L_c = log(1 - r_(c)),   SE^2 = (C - 1) / C sum (L_c - mean L)^2 - sum_m w_m^2 / (2 (M -
            1)^2 (1 - r)^2)

    with w_m the sampling variance of respondent m's standardised difference. Coverage:
    docs/psychometrics_coverage.md.

    References
    ----------
    .. [1] Efron, B. and Stein, C. (1981). Annals of Statistics, 9, 586-596.
    """
    jackknife_values = np.asarray(replicates, dtype=np.float64)
    x = np.asarray(first, dtype=np.float64)
    y = np.asarray(second, dtype=np.float64)
    n_clusters = len(jackknife_values)
    n_respondents = len(x)
    if (
        # log(1 - r) must exist in every replicate
        n_clusters < MIN_CLUSTERS
        or not np.isfinite(jackknife_values).all()
        or value >= 1
        or (jackknife_values >= 1).any()
    ):
        return None
    variances = x.var(axis=0, ddof=1).mean(), y.var(axis=0, ddof=1).mean()
    # Pearson's r is invariant to the unit of each administration, agreement is not
    scale_variances = variances if scaled else (sum(variances) / 2,) * 2
    if min(scale_variances) <= 0:
        return None
    # standardised differences: what a coefficient lacks to 1 is half their mean square
    differences = x / math.sqrt(scale_variances[0]) - y / math.sqrt(scale_variances[1])
    differences = differences - differences.mean(axis=0)
    # (respondents,): sampling variance of each respondent's difference
    difference_variances = jackknife_variance(differences)
    # r near 1 is skewed; its distance to 1 is nearly lognormal
    log_variance = float(jackknife_variance(np.log1p(-jackknife_values)))
    # the square of an estimated variance exceeds its own by 2 / (C - 1)
    excess_variance = (
        (n_clusters - 1)
        / (n_clusters + 1)
        * float((difference_variances**2).sum())
        / (2 * (n_respondents - 1) ** 2 * (1 - value) ** 2)
    )
    near_bound = not scaled and any(
        has_floor_or_ceiling_effect(administration.mean(axis=1)) for administration in (x, y)
    )
    half_width = corrected_half_width(
        log_variance,
        excess_variance,
        n_clusters,
        level,
        min_share=_MIN_VARIANCE_SHARE_NEAR_BOUND if near_bound else _MIN_VARIANCE_SHARE,
    )
    if half_width > MAX_HALF_WIDTH:
        return None
    return ConfidenceInterval.from_log_complement(1 - value, half_width, "r", level)


def corrected_half_width(
    variance: float,
    excess_variance: float,
    n_clusters: int,
    level: float,
    *,
    min_share: float = _MIN_VARIANCE_SHARE,
) -> float:
    """Return half of Student's interval after the excess of the jackknife variance is subtracted.

    The degrees of freedom are Satterthwaite's. At least `min_share` of the variance is kept.
    """
    corrected_variance = max(variance - excess_variance, variance * min_share)
    # a difference of variances is known less exactly than the larger of them
    if variance > 0:
        # Satterthwaite: the smaller the rest, the fewer degrees of freedom it has
        df = (n_clusters - 1) * (corrected_variance / variance) ** 2
    else:
        df = n_clusters - 1
    # 2 degrees of freedom at least, since with fewer t has no variance
    return float(stdtrit(max(df, 2), 0.5 + level / 2)) * math.sqrt(corrected_variance)


def correlation_interval(
    value: float, replicates: Array, level: float = 0.95
) -> ConfidenceInterval | None:
    """The interval over other items, for these respondents, of a correlation, cut to -1..1.

    - `replicates`: (clusters,): the correlation with each cluster left out; it may exceed 1 where
      it was disattenuated.

    None below 10 clusters or where one does not exist.
    """
    if len(replicates) < MIN_CLUSTERS or not np.isfinite(replicates).all():
        return None
    half_width = float(stdtrit(len(replicates) - 1, 0.5 + level / 2)) * jackknife_standard_error(
        replicates
    )
    low, high = (float(np.clip(value + sign * half_width, -1, 1)) for sign in (-1, 1))
    return ConfidenceInterval(low, high, "cluster jackknife", level)


MAX_EXCESS_KURTOSIS = 1.0
"""Above this excess kurtosis of respondents' scores they crowd at a bound."""


def has_floor_or_ceiling_effect(scores: ArrayLike) -> bool:
    """Whether scores crowd at 0 or 1, most of them close to it and a few far off.

    The kurtosis is that of the beta distribution with the sample's mean and variance, because a
    sample's own hides the tail as its variance does.

    - `scores`: (respondents,): anything outside 0..1 is no share and has no bound to be near.

    >>> has_floor_or_ceiling_effect([0.5, 0.6, 0.7, 0.65])
    False
    >>> has_floor_or_ceiling_effect([0.99, 0.985, 0.97, 0.94])
    True
    """
    x = np.asarray(scores, dtype=np.float64)
    x = x[np.isfinite(x)]
    # scores outside 0 to 1 have no bound to crowd at
    if len(x) < 3 or x.min() < 0 or x.max() > 1 or is_constant(x):
        return False
    mean = float(x.mean())
    # of few scores the variance is often too small to show the tail: its upper quartile is what
    # counts
    variance = float(x.var(ddof=1)) * (len(x) - 1) / float(chdtri(len(x) - 1, 0.75))
    # a + b from the mean and the variance; not above 0 where the variance is as large as of 0s and
    # 1s
    total = mean * (1 - mean) / variance - 1
    if total <= 0:
        return False
    # a, b are the parameters of the beta distribution with this mean and variance
    a = mean * total
    b = (1 - mean) * total
    # excess kurtosis of the beta distribution, with a + b = `total`
    excess = (
        6 * ((a - b) ** 2 * (total + 1) - a * b * (total + 2)) / (a * b * (total + 2) * (total + 3))
    )
    return excess > MAX_EXCESS_KURTOSIS
