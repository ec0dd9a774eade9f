"""Generalizability theory: how much of a score is the respondent, the items, the seed, the form, the judge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import Array
from hqm.psychometrics.result import Status

Effect = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Component:
    """The variance of one effect of a single observation.

    - `effect`: Names of the facets that interact in it.
    - `value`: The estimate, cut at 0; `raw` is what the formula gave, with flag `NEGATIVE_COMPONENT` where that is
      below 0.
    - `df, mean_square`: Of the effect in the analysis of variance.
    - `se`: Standard error of `raw` under normal effects (Searle 1971).
    - `low, high`: Satterthwaite's chi-square interval; NaN where the estimate is not positive.
    - `share`: Of the sum of all cut components.
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
class GStudy:
    """Variance components of a fully crossed design with one observation a cell."""

    components: tuple[Component, ...]
    facets: tuple[str, ...]
    sizes: tuple[int, ...]
    mean: float
    level: float = 0.95
    flags: tuple[str, ...] = ()
    status: Status = "ok"
    reason: str = ""

    def component(self, *effect: str) -> Component:
        """The component of an effect, its facets named in any order."""
        for component in self.components:
            if set(component.effect) == set(effect):
                return component
        raise ValueError(f"no effect {' x '.join(effect)} in a study of {' x '.join(self.facets)}")


def g_study(scores: npt.ArrayLike, facets: Sequence[str], *, drop: str | None = None, level: float = 0.95) -> GStudy:
    """Variance components of a random, fully crossed design by the analysis of variance.

    Every score is a sum of effects: how good the respondent is, how hard the item, how this respondent does on this
    item, and so on for every combination of facets. The variance of each tells where differences between scores come
    from, and so whether more items, more seeds or more judge runs would help. The last effect, of all facets, also
    holds everything not named. The components describe these respondents where they were chosen on purpose.

        T_t = (product of sizes outside t) sum mean_t^2,   SS_s = sum_{t subset of s} (-1)^(|s| - |t|) T_t
        MS_s = SS_s / prod_{a in s} (n_a - 1)
        sigma2_s = sum_{t contains s} (-1)^(|t| - |s|) MS_t / (product of sizes outside s)

    Brennan, R. L. (2001). Generalizability Theory, sections 3.4 and 6.1. Springer. Cornfield, J. and Tukey, J. W.
    (1956). Annals of Mathematical Statistics, 27, 907-949. Binary scores: components are on the scale of the score, fit
    for the precision of means, and no logits.

    - `scores`: One axis a facet, for example (respondents, items, runs); binary scores are allowed.
    - `facets`: The name of each axis, the object of measurement first.
    - `drop`: The facet whose levels are left out where they lack a score; without it every cell must be filled.

    The status is `not_applicable` when cells are empty (unbalanced: this analysis would be wrong) or a facet has one
    level (leave it out), `insufficient` when fewer than 2 levels are left, `degenerate` when all scores are equal.

    >>> result = g_study([[2, 4, 5], [4, 5, 7], [6, 6, 9], [3, 5, 5]], ["respondent", "item"])
    >>> [round(c.value, 4) for c in result.components]
    [1.9444, 1.7778, 0.4722]
    """
    x = np.asarray(scores, dtype=np.float64)
    names = tuple(facets)
    if x.ndim != len(names) or len(set(names)) != len(names) or x.ndim < 2:
        raise ValueError(f"two or more axes with a name each are needed, got shape {x.shape} and {list(names)}")
    if drop is not None:
        if drop not in names:
            raise ValueError(f"no facet {drop} among {list(names)}")
        axis = names.index(drop)
        others = tuple(i for i in range(x.ndim) if i != axis)
        x = np.compress(np.isfinite(x).all(axis=others), x, axis=axis)
    empty = int((~np.isfinite(x)).sum())

    def refused(status: Status, reason: str) -> GStudy:
        return GStudy((), names, x.shape, math.nan, level, (), status, reason)

    if min(x.shape) < 1 or empty == x.size:
        return refused("insufficient", f"no complete cells are left in {_design(names, x.shape)}")
    if empty:
        return refused("not_applicable", f"{empty} of {x.size} cells are empty: name the facet to drop levels of")
    if min(x.shape) < 2:
        single = names[int(np.argmin(x.shape))]
        status: Status = "insufficient" if drop is not None or single == names[0] else "not_applicable"
        return refused(status, f"facet {single} has one level in {_design(names, x.shape)}: leave it out or add levels")
    mean = float(x.mean())
    x = x - mean
    total = float((x**2).sum())
    if total <= 1e-20 * x.size * max(1.0, mean * mean):
        return refused("degenerate", "all scores are equal")
    squares = _mean_squares(x, total)
    components = _components(squares, names, x.shape, level)
    flags = ("NEGATIVE_COMPONENT",) if any(c.flags for c in components) else ()
    return GStudy(components, names, x.shape, mean, level, flags)


def _design(names: Sequence[str], sizes: Sequence[int]) -> str:
    return " x ".join(f"{size} {name}" for name, size in zip(names, sizes, strict=True))


def _subsets(axes: Sequence[int]) -> list[tuple[int, ...]]:
    return [s for size in range(1, len(axes) + 1) for s in combinations(axes, size)]


def _mean_squares(x: Array, total: float) -> dict[tuple[int, ...], tuple[float, int]]:
    axes = range(x.ndim)
    sums = {
        t: float((x.mean(axis=tuple(a for a in axes if a not in t)) ** 2).sum())
        * math.prod(x.shape[a] for a in axes if a not in t)
        for t in _subsets(axes)
    }
    squares = {}
    for s in sums:
        square = sum((-1) ** (len(s) - len(t)) * sums[t] for t in _subsets(s))
        # an effect that is absent leaves rounding behind
        square = 0.0 if square < 1e-12 * total else square
        df = math.prod(x.shape[a] - 1 for a in s)
        squares[s] = (square / df, df)
    return squares


def _components(
    squares: dict[tuple[int, ...], tuple[float, int]], names: tuple[str, ...], sizes: Sequence[int], level: float
) -> tuple[Component, ...]:
    from scipy.stats import chi2

    rows = []
    for s, (square, df) in squares.items():
        outside = math.prod(n for a, n in enumerate(sizes) if a not in s)
        parts = [
            ((-1) ** (len(t) - len(s)) * squares[t][0] / outside, squares[t][1]) for t in squares if set(s) <= set(t)
        ]
        raw = sum(part for part, _ in parts)
        largest = max(abs(part) for part, _ in parts)
        raw = 0.0 if abs(raw) < 1e-12 * largest else raw
        variance = sum(2 * part**2 / (d + 2) for part, d in parts)
        low = high = math.nan
        if raw > 0:
            effective = raw**2 / sum(part**2 / d for part, d in parts)
            tail = (1 - level) / 2
            upper, lower = float(chi2.ppf(1 - tail, effective)), float(chi2.ppf(tail, effective))
            low = effective * raw / upper
            high = effective * raw / lower if lower > 0 else math.inf
        effect = tuple(names[a] for a in s)
        flags = ("NEGATIVE_COMPONENT",) if raw < 0 else ()
        rows.append((effect, max(0.0, raw), raw, df, square, math.sqrt(variance), low, high, flags))
    whole = sum(row[1] for row in rows)
    return tuple(Component(*row[:8], row[1] / whole, row[8]) for row in rows)
