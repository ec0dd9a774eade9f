"""Variance components by moments, in one pass: crossed and nested designs, unbalanced, with cells
missing.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from operator import ge

import numpy as np
from scipy.special import chdtri, stdtrit

from hqm.psychometrics.resampling import jackknife_error, jackknife_variance, sorting
from hqm.psychometrics.result import Array, ArrayLike, Bounds, is_constant

Depth = tuple[int, ...]
"""How finely a margin keeps each axis: 0 summed over it, 1 its groups (or its levels, without
groups), 2 its levels.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Variance components of single observations, uncut.

    - `effects`: The names of the facets that interact in each effect.
    - `values`: (effects,): the components as the equations give them; a negative one stays
      negative.
    - `levels`: (effects,): how many combinations of levels each effect has that were observed.
    - `singular`: Whether the filled cells leave effects that cannot be told apart; the values are
      then NaN.
    - `observations, mean`: How many cells are filled, and their mean.
    """

    effects: tuple[tuple[str, ...], ...]
    values: Array
    levels: tuple[int, ...]
    observations: int
    mean: float
    singular: bool = False


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of the scores: the name of its levels, and of what they lie in, with the place of
    each group's first.
    """

    name: str
    size: int
    group: str = ""
    starts: tuple[int, ...] = ()

    @property
    def depth(self) -> int:
        """The depth of its single levels."""
        return 2 if self.group else 1

    def named(self, depth: int) -> tuple[str, ...]:
        """The facet that a depth stands for."""
        if depth == 0:
            return ()
        return (self.group,) if self.group and depth == 1 else (self.name,)


def axes_of(
    shape: Sequence[int], names: Sequence[str], nested: Mapping[str, tuple[str, ArrayLike]]
) -> tuple[Axis, ...]:
    """Return the axes of an array of scores; an axis is nested where its levels fall into
    groups of several.
    """
    axes = []
    for size, name in zip(shape, names, strict=True):
        axis = Axis(name, size)
        if name in nested:
            group, labels = nested[name][0], np.asarray(nested[name][1])
            if labels.shape != (size,):
                raise ValueError(
                    f"one label of {group} for each {name} is needed ({size}), got shape"
                    f" {labels.shape}"
                )
            counts = np.unique(labels, return_counts=True)[1]
            if len(counts) < size:
                axis = Axis(
                    name, size, group, tuple(np.concatenate([[0], np.cumsum(counts)[:-1]]).tolist())
                )
        axes.append(axis)
    return tuple(axes)


def sorted_by_group(
    x: Array, names: Sequence[str], nested: Mapping[str, tuple[str, ArrayLike]]
) -> tuple[Array, tuple[Axis, ...]]:
    """The scores with the levels of every group side by side, and their axes."""
    axes = axes_of(x.shape, names, nested)
    for place, axis in enumerate(axes):
        if axis.group and not isinstance(order := sorting(np.asarray(nested[axis.name][1])), slice):
            x = np.take(x, order, axis=place)
    return x, axes


class Margins:
    """Sums of an array over the levels of some axes, each made once from the smallest finer one at
    hand.
    """

    def __init__(self, finest: Array, axes: Sequence[Axis], depth: Depth) -> None:
        self.axes = axes
        self.finest = depth
        self.done: dict[Depth, Array] = {depth: finest}
        self.squares: dict[Depth, Margins] = {}

    def squared(self, depth: Depth) -> Margins:
        """The margins of the squares of this margin."""
        if depth not in self.squares:
            self.squares[depth] = Margins(self[depth] ** 2, self.axes, depth)
        return self.squares[depth]

    def shared_out(self, values: Array, depth: Depth) -> Array:
        """Values over this margin's counts; 0 where there is no count."""
        return values * inverse_of(self[depth])

    def __getitem__(self, depth: Depth) -> Array:
        if depth not in self.done:
            finer = [d for d in self.done if all(map(ge, d, depth))]
            source = min(finer, key=lambda d: self.done[d].size)
            self.done[depth] = self._coarser(self.done[source], source, depth)
        return self.done[depth]

    def _coarser(self, values: Array, source: Depth, depth: Depth) -> Array:
        for place, (axis, had, wanted) in enumerate(zip(self.axes, source, depth, strict=True)):
            if had == wanted:
                continue
            if wanted == 0:
                values = values.sum(axis=place, keepdims=True)
            else:
                values = np.add.reduceat(values, axis.starts, axis=place)
        return values


def crossed_components(
    scores: ArrayLike,
    facets: Sequence[str],
    *,
    nested: Mapping[str, tuple[str, ArrayLike]] | None = None,
    effects: Sequence[Sequence[str]] | None = None,
    design: Design | None = None,
) -> Moments:
    """Variance components of a random design by the method of moments, whatever cells are filled.

    The squared totals of a margin have an expectation that is linear in the components: as many
    margins, as many equations.

        T_s = sum over levels of s of (total^2 / n),   E T_s = N mu^2 + sum_t k(s, t) sigma2_t
        k(s, t) = sum over levels of s of (1 / n_s) sum over the levels of s and t in it of n_st^2

    Henderson's method 1 (1953, Biometrics, 9, 226-252; Gao and Owen 2017, Electronic Journal of
    Statistics, 11, 1235-1296): unbiased where cells are missing for reasons that have nothing to do
    with the effects; the ANOVA of a balanced design.

    - `scores`: One axis a facet, named in `facets`; NaN where there is no observation.
    - `nested`: Facet -> the facet that its levels lie in, and the label of each level.
    - `effects`: Those to tell apart; the rest goes into that of single observations.
    - `design`: The margins of these scores, where they are at hand.

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
    levels = tuple(int(np.count_nonzero(design.counts[depth])) for depth in design.depths)
    values, singular = design.solution
    return Moments(design.effects, values, levels, design.observations, design.mean, singular)


def depths_of(axes: Sequence[Axis], effects: Sequence[Sequence[str]] | None = None) -> list[Depth]:
    """The effects as depths, main effects first; the effect of single observations is always the
    last.
    """
    finest = tuple(axis.depth for axis in axes)
    every = sorted(
        product(*(range(depth, -1, -1) for depth in finest)), key=lambda d: sum(map(bool, d))
    )
    inner = [depth for depth in every if any(depth) and depth != finest]
    if effects is not None:
        names = {
            depth: frozenset(n for a, d in zip(axes, depth, strict=True) for n in a.named(d))
            for depth in every
        }
        wanted = {frozenset(effect) for effect in effects}
        if unknown := wanted - set(names.values()):
            raise ValueError(
                f"no effect {' x '.join(sorted(next(iter(unknown))))} of"
                f" {[axis.name for axis in axes]}"
            )
        inner = [depth for depth in inner if names[depth] in wanted]
    return [*inner, finest]


def solved(matrix: Array, totals: Array, *, tolerant: bool = False) -> tuple[Array, bool]:
    """(..., effects): the components that fulfil the equations, and whether some cannot be told
    apart.

    `tolerant` gives NaN to the systems that have no solution and solves the others. What is
    rounding, as seen from the sizes of the terms that cancel, is 0.
    """
    scale = np.abs(matrix).max(axis=-1, keepdims=True)
    scale = np.where(scale > 0, scale, 1.0)
    balanced, right = matrix / scale, totals / scale[..., 0]
    # columns too: a component with few levels has small coefficients, which are no sign of a
    # singular design
    width = np.abs(balanced).max(axis=-2, keepdims=True)
    width = np.where(width > 0, width, 1.0)
    balanced = balanced / width
    singular = np.linalg.cond(balanced) > 1e9
    if singular.any() and not tolerant:
        return np.full(totals.shape, np.nan), True
    balanced = np.where(singular[..., None, None], np.eye(balanced.shape[-1]), balanced)
    inverse = np.linalg.inv(balanced) / np.swapaxes(width, -1, -2)
    values = (inverse @ right[..., None])[..., 0]
    rounding = 1e-13 * (np.abs(inverse) @ np.abs(right)[..., None])[..., 0]
    values = np.where(np.abs(values) <= rounding, 0.0, values)
    return np.where(singular[..., None], np.nan, values), False


class Design:
    """Scores with the margins that all equations are made of, each margin made once.

    >>> scores = np.array([[2.0, 4, 5], [4, 5, 7], [6, 6, 9], [3, 5, 5]])
    >>> left = Design(scores, ["respondent", "item"], {}, None).without_each("item")
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
        x, self.axes = sorted_by_group(scores, facets, nested)
        filled = np.isfinite(x)
        self.observations = int(filled.sum())
        self.mean = float(x[filled].mean()) if self.observations else math.nan
        self.depths = depths_of(self.axes, effects)
        finest = self.depths[-1]
        self.sums = Margins(np.where(filled, x - self.mean, 0.0), self.axes, finest)
        self.counts = Margins(filled.astype(np.float64), self.axes, finest)

    @property
    def effects(self) -> tuple[tuple[str, ...], ...]:
        """The facets of each effect, in the order of the equations."""
        return tuple(
            tuple(name for axis, d in zip(self.axes, depth, strict=True) for name in axis.named(d))
            for depth in self.depths
        )

    @functools.cached_property
    def equations(self) -> Array:
        """(effects, effects + 1): the moment equations, with the sums of squares last."""
        grand = tuple(0 for _ in self.axes)
        rows = np.array([self._row(depth) for depth in (grand, *self.depths)])
        return np.asarray(rows[1:] - rows[0])

    @functools.cached_property
    def solution(self) -> tuple[Array, bool]:
        """(effects,): the components, and whether some cannot be told apart."""
        return solved(self.equations[:, :-1], self.equations[:, -1])

    def _row(self, depth: Depth) -> list[float]:
        """The coefficients (effects,) of a margin's equation, and its sum of squares."""
        joints = [tuple(map(max, depth, other)) for other in self.depths]
        known = {
            joint: float(self.counts.shared_out(self.counts.squared(joint)[depth], depth).sum())
            for joint in dict.fromkeys(joints)
        }
        return [
            *(known[joint] for joint in joints),
            float(self.counts.shared_out(self.sums[depth] ** 2, depth).sum()),
        ]

    def equations_without(self, facet: str) -> Array:
        """(blocks, effects, effects + 1): the equations without each level of a facet, or without
        each group of its levels.

        What one picture contributes to every total is known, so leaving it out is a subtraction and
        no second pass.
        """
        blocks = Blocks(self.sums, self.counts, [axis.name for axis in self.axes].index(facet))
        grand = tuple(0 for _ in self.axes)
        rows = np.stack([blocks.row(depth, self.depths) for depth in (grand, *self.depths)], axis=1)
        return np.asarray(rows[:, 1:] - rows[:, :1])

    def without_each(self, facet: str) -> Array:
        """(blocks, effects): the components without each block of a facet; NaN for a block without
        which the design falls apart, and throughout where it does so with all of them.
        """
        rows = self.equations_without(facet)
        if self.solution[1]:
            return np.full(rows.shape[:2], np.nan)
        return solved(rows[..., :-1], rows[..., -1], tolerant=True)[0]


class Blocks:
    """The equations without each block of one axis: a row of coefficients with its sum of squares,
    for every block.
    """

    def __init__(self, sums: Margins, counts: Margins, place: int) -> None:
        self.sums, self.counts, self.place = sums, counts, place

    def by_block(self, depth: Depth) -> Depth:
        """The same margin with the blocks kept apart."""
        return (*depth[: self.place], max(1, depth[self.place]), *depth[self.place + 1 :])

    def total(self, values: Array, depth: int) -> Array:
        """(blocks,): the sum over all else, of an array whose axis has this depth."""
        axis = self.counts.axes[self.place]
        summed = values.sum(axis=tuple(i for i in range(values.ndim) if i != self.place))
        return np.asarray(np.add.reduceat(summed, axis.starts) if depth == 2 else summed)

    def row(self, depth: Depth, depths: Sequence[Depth]) -> Array:
        """(blocks, effects and 1): the coefficients of a margin's equation and its sum of squares,
        without each block.
        """
        joints = [tuple(map(max, depth, other)) for other in depths]
        if depth[self.place]:
            known = {
                joint: self.total(
                    self.counts.shared_out(self.counts.squared(joint)[depth], depth),
                    depth[self.place],
                )
                for joint in dict.fromkeys(joints)
            }
            squares = self.total(
                self.counts.shared_out(self.sums[depth] ** 2, depth), depth[self.place]
            )
            own = np.stack([*(known[joint] for joint in joints), squares])
            return np.asarray((own.sum(axis=1, keepdims=True) - own).T)
        kept = self.by_block(depth)
        inverse = inverse_of(self.counts[depth] - self.counts[kept])
        known = {
            joint: self.total(self._left(joint, depth) * inverse, 1)
            for joint in dict.fromkeys(joints)
        }
        squares = self.total((self.sums[depth] - self.sums[kept]) ** 2 * inverse, 1)
        return np.stack([*(known[joint] for joint in joints), squares], axis=1)

    def _left(self, joint: Depth, depth: Depth) -> Array:
        """The squared counts of a margin that are left without each block."""
        kept = self.by_block(depth)
        if joint[self.place]:
            squared = self.counts.squared(joint)
            return np.asarray(squared[depth] - squared[kept])
        resolved = self.by_block(joint)
        without = (self.counts[joint] - self.counts[resolved]) ** 2
        return Margins(without, self.counts.axes, resolved)[kept]


def inverse_of(counts: Array) -> Array:
    """1 / counts, and 0 where there is nothing to count."""
    # counts are sums of ones: below a half there is nothing
    return np.divide(1.0, counts, out=np.zeros_like(counts), where=counts > 0.5)


FEWEST_CLUSTERS = 10
"""Fewer pictures, or items that stand alone, than this carry no interval over other items."""
_LEAST = 0.5
_LEAST_NEAR_A_BOUND = 0.8
"""How much of the jackknife's variance stays at least; more where scores crowd at 0 or 1, because
the few errors there make the noise that is taken off hardly known (with half, ICC(A,1)'s interval
held .90 to .94 where F1 is .98; now .93 to .97)."""
LARGEST = 20.0
"""An interval of log(1 - r) that reaches farther than this says nothing, and is not given."""


@dataclass(frozen=True, slots=True)
class MeanVariance:
    """The sampling variance of a mean over respondents, by what is drawn anew.

    - `respondents`: Respondents alone, each with the luck of its own answers.
    - `items`: Items alone, the respondents kept; NaN where there are too few clusters.
    - `both`: Respondents and items; never less than either.
    - `df_items, df_both`: Satterthwaite's degrees of freedom.
    """

    respondents: float
    items: float
    both: float
    df_items: float
    df_both: float


def mean_variance(
    values: ArrayLike, without: ArrayLike | None = None, *, n_effective: float | None = None
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
    - `without`: (respondents, clusters): the same numbers with each cluster of items left out.
    - `n_effective`: How many independent respondents there are, where some are relatives.

    >>> both = mean_variance([0.1, 0.3, 0.2],
    ...     [[0.1, 0.12, 0.08] * 4, [0.3, 0.32, 0.28] * 4, [0.2, 0.22, 0.18] * 4])
    >>> both.both >= max(both.respondents, both.items)
    True
    """
    x = np.asarray(values, dtype=np.float64)
    m = len(x)
    size = min(float(m), n_effective or float(m))
    over = float(x.var(ddof=1)) / size
    nan = math.nan
    left = None if without is None else np.asarray(without, dtype=np.float64)
    if left is None or left.shape[1] < FEWEST_CLUSTERS or not np.isfinite(left).all():
        return MeanVariance(over, nan, over, nan, size - 1)
    count = left.shape[1]
    scale = (count - 1) / count
    moved = left - left.mean(axis=1, keepdims=True)
    common = moved.mean(axis=0)
    items = scale * float((common**2).sum())
    apart = scale * float(((moved - common) ** 2).sum()) / (m * (m - 1))
    both = max(over + items - apart, over, items)
    if both == 0:
        return MeanVariance(over, items, both, count - 1.0, size - 1)
    freedom = both**2 / (over**2 / max(size - 1, 1e-9) + items**2 / (count - 1))
    return MeanVariance(over, items, both, count - 1.0, freedom)


def error_bounds(ratio: float, left_out: Array, level: float) -> Bounds | None:
    """The interval over other items, for these respondents, of a reliability 1 - `ratio` from log
    ratios left out.

    - `ratio`: Error variance over observed variance.
    - `left_out`: (clusters,): the logarithm of the ratio with each cluster left out.

    None below 10 clusters or where a ratio does not exist.
    """
    if len(left_out) < FEWEST_CLUSTERS or not np.isfinite(left_out).all() or not ratio > 0:
        return None
    half = float(stdtrit(len(left_out) - 1, 0.5 + level / 2)) * jackknife_error(left_out)
    return Bounds.below_one(ratio, half, "r", level)


def agreement_bounds(
    value: float,
    left_out: ArrayLike,
    first: ArrayLike,
    other: ArrayLike,
    *,
    scaled: bool = False,
    level: float = 0.95,
) -> Bounds | None:
    """The interval over other items, for these respondents, of a coefficient of agreement between
    two administrations.

    What a coefficient lacks to 1 is a sum of squared differences between the administrations. Of a
    square that is noise throughout the jackknife finds twice the variance (Efron and Stein 1981:
    its bias is upward, here by as much again), so the noise's own part is taken off once; log(1 -
    r) is nearly normal.

        L_c = log(1 - r_(c)),   SE^2 = (C - 1) / C sum (L_c - mean L)^2 - sum_m w_m^2 / (2 (M -
            1)^2 (1 - r)^2)

    with w_m the sampling variance of respondent m's standardised difference. Efron, B. and Stein,
    C. (1981). Annals of Statistics, 9, 586-596. Coverage: docs/psychometrics_coverage.md.

    - `left_out`: (clusters,): the coefficient with each cluster of items left out.
    - `first, other`: (respondents, clusters): the scores with each cluster left out.
    - `scaled`: Whether each administration counts in its own unit (Pearson), not both in one.

    None below 10 clusters, for a value of 1, or where the coefficient is undefined without a
    cluster.
    """
    left = np.asarray(left_out, dtype=np.float64)
    x, y = np.asarray(first, dtype=np.float64), np.asarray(other, dtype=np.float64)
    count, m = len(left), len(x)
    if count < FEWEST_CLUSTERS or not np.isfinite(left).all() or value >= 1 or (left >= 1).any():
        return None
    squares = x.var(axis=0, ddof=1).mean(), y.var(axis=0, ddof=1).mean()
    units = squares if scaled else (sum(squares) / 2,) * 2
    if min(units) <= 0:
        return None
    moved = x / math.sqrt(units[0]) - y / math.sqrt(units[1])
    moved = moved - moved.mean(axis=0)
    own = jackknife_variance(moved)
    jackknifed = float(jackknife_variance(np.log1p(-left)))
    # the square of an estimated variance exceeds its own by 2 / (C - 1)
    twice = (
        (count - 1) / (count + 1) * float((own**2).sum()) / (2 * (m - 1) ** 2 * (1 - value) ** 2)
    )
    crowded = not scaled and any(crowds_at_a_bound(side.mean(axis=1)) for side in (x, y))
    half = half_width_without(
        jackknifed, twice, count, level, least=_LEAST_NEAR_A_BOUND if crowded else _LEAST
    )
    if half > LARGEST:
        return None
    return Bounds.below_one(1 - value, half, "r", level)


def half_width_without(
    jackknifed: float, twice: float, clusters: int, level: float, *, least: float = _LEAST
) -> float:
    """Half of Student's interval where a part of the jackknife's variance, the noise that it finds
    twice, is taken off.

    What is left is known less exactly than the whole: its degrees of freedom are Satterthwaite's.
    No square holds more noise than all of it, so half of the variance always stays (`least`).
    """
    left = max(jackknifed - twice, jackknifed * least)
    freedom = (clusters - 1) * (left / jackknifed) ** 2 if jackknifed > 0 else clusters - 1
    return float(stdtrit(max(freedom, 2), 0.5 + level / 2)) * math.sqrt(left)


def linear_bounds(value: float, left_out: Array, level: float = 0.95) -> Bounds | None:
    """The interval over other items, for these respondents, of a correlation, cut to -1..1.

    - `left_out`: (clusters,): the correlation with each cluster left out; it may exceed 1 where it
      was disattenuated.

    None below 10 clusters or where one does not exist.
    """
    if len(left_out) < FEWEST_CLUSTERS or not np.isfinite(left_out).all():
        return None
    half = float(stdtrit(len(left_out) - 1, 0.5 + level / 2)) * jackknife_error(left_out)
    low, high = (float(np.clip(value + side * half, -1, 1)) for side in (-1, 1))
    return Bounds(low, high, "cluster jackknife", level)


TAILED = 1.0
"""Above this excess kurtosis of respondents' scores they crowd at a bound."""


def crowds_at_a_bound(scores: ArrayLike) -> bool:
    """Whether scores crowd at 0 or 1, most of them close to it and a few far off.

    The kurtosis is that of the beta distribution with the sample's mean and variance, because a
    sample's own hides the tail as its variance does.

    - `scores`: (respondents,): anything outside 0..1 is no share and has no bound to be near.

    >>> crowds_at_a_bound([0.5, 0.6, 0.7, 0.65]), crowds_at_a_bound([0.99, 0.985, 0.97, 0.94])
    (False, True)
    """
    x = np.asarray(scores, dtype=np.float64)
    x = x[np.isfinite(x)]
    if len(x) < 3 or x.min() < 0 or x.max() > 1 or is_constant(x):
        return False
    mean = float(x.mean())
    # of few scores the variance is often too small to show the tail: its upper quartile is what
    # counts
    variance = float(x.var(ddof=1)) * (len(x) - 1) / float(chdtri(len(x) - 1, 0.75))
    total = mean * (1 - mean) / variance - 1
    if total <= 0:
        return False
    a, b = mean * total, (1 - mean) * total
    excess = (
        6 * ((a - b) ** 2 * (total + 1) - a * b * (total + 2)) / (a * b * (total + 2) * (total + 3))
    )
    return excess > TAILED
