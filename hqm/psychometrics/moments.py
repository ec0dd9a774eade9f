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
import numpy.typing as npt

from hqm.psychometrics.arrays import Array
from hqm.psychometrics.clusters import sorting

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
    shape: Sequence[int], names: Sequence[str], nested: Mapping[str, tuple[str, npt.ArrayLike]]
) -> tuple[Axis, ...]:
    """The axes of scores whose levels stand group by group; groups of one level each are no
    groups.
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
    x: Array, names: Sequence[str], nested: Mapping[str, tuple[str, npt.ArrayLike]]
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
        """The sums of the squares of one margin."""
        if depth not in self.squares:
            self.squares[depth] = self._of_squares(depth)
        return self.squares[depth]

    def _of_squares(self, depth: Depth) -> Margins:
        return Margins(self[depth] ** 2, self.axes, depth)

    def shared_out(self, values: Array, depth: Depth) -> Array:
        """Values of a margin divided by what these count in it, and 0 where they count nothing."""
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


class FullCounts(Margins):
    """What `Margins` gives for a table in which every cell counts once, or for the squares of one
    of its margins.

    The margins are products of what each axis has in a level, so that the table itself is never
    summed.
    """

    def __init__(self, axes: Sequence[Axis], depth: Depth, *, squared: bool = False) -> None:
        self.own = [
            _sizes(axis, d) ** (2 if squared else 1) for axis, d in zip(axes, depth, strict=True)
        ]
        single = depth == tuple(axis.depth for axis in axes)
        # single cells count once each: of the largest table one number is kept
        finest = (
            np.broadcast_to(1.0, [axis.size for axis in axes]) if single else _product(self.own)
        )
        super().__init__(finest, axes, depth)

    def __getitem__(self, depth: Depth) -> Array:
        if depth not in self.done:
            levels = zip(self.axes, self.own, self.finest, depth, strict=True)
            self.done[depth] = _product(
                [_summed(axis, own, had, wanted) for axis, own, had, wanted in levels]
            )
        return self.done[depth]

    def _of_squares(self, depth: Depth) -> Margins:
        return FullCounts(self.axes, depth, squared=True)

    def shared_out(self, values: Array, depth: Depth) -> Array:
        """Values of a margin divided by what these count in it; single cells count once."""
        return values if depth == tuple(axis.depth for axis in self.axes) else values / self[depth]


def _sizes(axis: Axis, depth: int) -> Array:
    """How many levels of an axis lie in each level of a depth."""
    if depth == 0:
        return np.array([float(axis.size)])
    if depth == axis.depth:
        return np.ones(axis.size)
    return np.diff([*axis.starts, axis.size]).astype(np.float64)


def _summed(axis: Axis, values: Array, had: int, wanted: int) -> Array:
    if had == wanted:
        return values
    return (
        values.sum(keepdims=True)
        if wanted == 0
        else np.asarray(np.add.reduceat(values, axis.starts))
    )


def _product(vectors: Sequence[Array]) -> Array:
    """The outer product."""
    return functools.reduce(np.multiply.outer, vectors)


def crossed_components(
    scores: npt.ArrayLike,
    facets: Sequence[str],
    *,
    nested: Mapping[str, tuple[str, npt.ArrayLike]] | None = None,
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
    - `nested`: Facet -> the facet that its levels lie in (items in pictures), and the label of each
      level.
    - `effects`: Those to tell apart; all combinations unless given. The rest goes into that of
      single observations.
    - `design`: The margins of these scores, where they are at hand.

    >>> result = crossed_components([[2, 4, 5], [4, 5, 7], [6, 6, np.nan], [3, 5, 5]], ["respondent", "item"])
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
    named = tuple(
        tuple(name for axis, d in zip(design.axes, depth, strict=True) for name in axis.named(d))
        for depth in design.depths
    )
    levels = tuple(int(np.count_nonzero(design.counts[depth])) for depth in design.depths)
    values, singular = design.solution
    return Moments(named, values, levels, design.observations, design.mean, singular)


def depths_of(axes: Sequence[Axis], effects: Sequence[Sequence[str]] | None = None) -> list[Depth]:
    """The effects as depths, main effects first; the effect of single observations is always the
    last.
    """
    every = sorted(
        product(*(range(axis.depth + 1) for axis in axes)),
        key=lambda d: (sum(map(bool, d)), [-v for v in d]),
    )
    finest = tuple(axis.depth for axis in axes)
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
        nested: Mapping[str, tuple[str, npt.ArrayLike]],
        effects: Sequence[Sequence[str]] | None,
    ) -> None:
        x, self.axes = sorted_by_group(scores, facets, nested)
        filled = np.isfinite(x)
        self.observations = int(filled.sum())
        full = 0 < self.observations == x.size
        self.mean = float((x if full else x[filled]).mean()) if self.observations else math.nan
        self.depths = depths_of(self.axes, effects)
        finest = self.depths[-1]
        self.counts: Margins
        if full:
            self.sums, self.counts = (
                Margins(x - self.mean, self.axes, finest),
                FullCounts(self.axes, finest),
            )
        else:
            self.sums = Margins(np.where(filled, x - self.mean, 0.0), self.axes, finest)
            self.counts = Margins(filled.astype(np.float64), self.axes, finest)

    @functools.cached_property
    def solution(self) -> tuple[Array, bool]:
        """(effects,): the components, and whether some cannot be told apart."""
        grand = tuple(0 for _ in self.axes)
        rows = np.array([self._row(depth) for depth in (grand, *self.depths)])
        # less those of the grand mean
        return solved(rows[1:, :-1] - rows[0, :-1], rows[1:, -1] - rows[0, -1])

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

    def without_each(self, facet: str) -> Array:
        """(blocks, effects): the components without each level of a facet, or without each group of
        its levels.

        What one picture contributes to every total is known, so leaving it out is a subtraction and
        no second pass. A design that falls apart without a block gives NaN for it.
        """
        blocks = Blocks(self.sums, self.counts, [axis.name for axis in self.axes].index(facet))
        grand = tuple(0 for _ in self.axes)
        rows = np.stack([blocks.row(depth, self.depths) for depth in (grand, *self.depths)], axis=1)
        rows = rows[:, 1:] - rows[:, :1]
        left = np.full((len(rows), len(self.depths)), np.nan)
        if not self.solution[1] and len(left) > 1:
            whole = np.isfinite(rows).all(axis=(1, 2)) & (
                np.abs(rows[:, :, :-1]).max(axis=2) > 0
            ).all(axis=1)
            left[whole] = solved(rows[whole, :, :-1], rows[whole, :, -1], tolerant=True)[0]
        return left


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
