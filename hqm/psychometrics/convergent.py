"""Convergent and discriminant validity: the same trait by several methods, several traits by the
same method.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.distributions import student_above
from hqm.psychometrics.resampling import one_by_one, respondent_bootstrap
from hqm.psychometrics.result import (
    Array,
    Coefficient,
    Outcome,
    Status,
    is_constant,
    normal_quantile,
    size_of,
)

FEWEST_RESPONDENTS = 10
"""With fewer respondents a multitrait-multimethod table is shown without counts."""


def correlations(scores: Array) -> Array:
    """Pearson's correlations of the columns; NaN where a column does not vary."""
    centred = scores - scores.mean(axis=0)
    size = np.sqrt((centred**2).sum(axis=0))
    flat = np.array([is_constant(column) for column in scores.T])
    unit = centred / np.where(flat, 1.0, size)
    r = np.clip(unit.T @ unit, -1.0, 1.0)
    r[flat] = np.nan
    r[:, flat] = np.nan
    np.fill_diagonal(r, np.where(flat, np.nan, 1.0))
    return np.asarray(r)


def _complete(scores: npt.ArrayLike, labels: int) -> Array:
    x = np.asarray(scores, dtype=np.float64)
    if x.ndim != 2 or x.shape[1] != labels:
        raise ValueError(f"scores must have shape (respondents, {labels} measures), got {x.shape}")
    return x[np.isfinite(x).all(axis=1)]


@dataclass(frozen=True, slots=True)
class Multitrait(Outcome):
    """The correlations of measures, each of one trait by one method, with Campbell and Fiske's
    counts.

    Each count is (holds, comparisons). `convergent`: correlations of one trait over two methods
    that exceed 0 at the level. `over_hetero_method`: how often such a correlation exceeds those of
    other traits over the same two methods. `over_hetero_trait`: how often it exceeds those of two
    traits within one of its methods.
    """

    correlations: tuple[tuple[float, ...], ...]
    traits: tuple[str, ...]
    methods: tuple[str, ...]
    n: int
    convergent: tuple[int, int] = (0, 0)
    over_hetero_method: tuple[int, int] = (0, 0)
    over_hetero_trait: tuple[int, int] = (0, 0)


def multitrait_multimethod(
    scores: npt.ArrayLike,
    traits: Sequence[str],
    methods: Sequence[str],
    *,
    level: float = 0.95,
) -> Multitrait:
    """Campbell and Fiske's table: hallucination types as traits, benchmarks (or formats) as
    methods.

    A type is a trait of its own only if two benchmarks agree on it better than on different types,
    and better than one benchmark agrees with itself over types. Otherwise the benchmark's format is
    what its scores share.

    Campbell, D. T. and Fiske, D. W. (1959). Psychological Bulletin, 56, 81-105. Counts are
    descriptive: comparisons share correlations. Do not compare two correlations by whether their
    intervals overlap; see `williams_test`.

    - `scores`: (respondents, measures): each column one trait by one method; respondents that lack
      a score are left out.
    - `traits, methods`: (measures,): labels; no pair may come twice.

    The status is `insufficient` below 3 respondents (no table) and below 10 (table without counts);
    `not_applicable` where no trait is measured by two methods; `degenerate` where a measure does
    not vary.

    >>> rng = np.random.default_rng(0)
    >>> trait = rng.normal(size=(30, 2))
    >>> scores = np.hstack([trait, trait]) + 0.4 * rng.normal(size=(30, 4))
    >>> result = multitrait_multimethod(scores, ["count", "colour"] * 2, ["A", "A", "B", "B"])
    >>> result.convergent, result.over_hetero_method, result.over_hetero_trait
    ((2, 2), (4, 4), (4, 4))
    """
    x = _complete(scores, len(traits))
    k = len(traits)
    if len(methods) != k:
        raise ValueError("traits and methods need one entry a measure")
    if len(set(zip(traits, methods, strict=True))) != k:
        raise ValueError("a trait is measured twice by one method")
    m = x.shape[0]
    if m < 3 or k < 2:
        return Multitrait(
            (),
            tuple(traits),
            tuple(methods),
            m,
            status="insufficient",
            reason=f"correlations need 3 respondents and 2 measures, there are {m} and {k}",
        )
    r = correlations(x)
    table = tuple(tuple(row.tolist()) for row in r)

    def without(status: Status, reason: str) -> Multitrait:
        return Multitrait(table, tuple(traits), tuple(methods), m, status=status, reason=reason)

    if np.isnan(r).any():
        flat = ", ".join(f"{traits[i]} by {methods[i]}" for i in range(k) if math.isnan(r[i, i]))
        return without("degenerate", f"these measures do not vary: {flat}")
    same = [(i, j) for i in range(k) for j in range(i) if traits[i] == traits[j]]
    if not same:
        return without("not_applicable", "no trait is measured by two methods")
    if m < FEWEST_RESPONDENTS:
        return without(
            "insufficient", f"counts need {FEWEST_RESPONDENTS} respondents, there are {m}"
        )

    least = math.tanh(normal_quantile(level) / math.sqrt(m - 3))
    beyond, within = [], []
    for i, j in same:
        for own, partner in ((i, j), (j, i)):
            for b in range(k):
                if traits[b] == traits[own]:
                    continue
                if methods[b] == methods[partner]:
                    beyond.append(bool(r[i, j] > r[own, b]))
                elif methods[b] == methods[own]:
                    within.append(bool(r[i, j] > r[own, b]))
    values = [float(r[i, j]) for i, j in same]
    return Multitrait(
        table,
        tuple(traits),
        tuple(methods),
        m,
        (sum(v > least for v in values), len(values)),
        (sum(beyond), len(beyond)),
        (sum(within), len(within)),
    )


def htmt_of(correlation: npt.ArrayLike, groups: Sequence[str], trait: str, other: str) -> float:
    """The heterotrait-monotrait ratio of two groups in a correlation matrix; NaN where a group does
    not cohere.

    >>> r = [[1, 0.5, 0.4, 0.3], [0.5, 1, 0.35, 0.25], [0.4, 0.35, 1, 0.6], [0.3, 0.25, 0.6, 1]]
    >>> round(htmt_of(r, ["a", "a", "b", "b"], "a", "b"), 6)
    0.593366
    """
    r, labels = np.asarray(correlation, dtype=np.float64), np.asarray(groups)
    if r.shape != (len(labels), len(labels)):
        raise ValueError(f"one group a measure is needed, got {len(labels)} for shape {r.shape}")
    first, second = np.flatnonzero(labels == trait), np.flatnonzero(labels == other)
    if min(len(first), len(second)) < 2:
        return math.nan
    between = float(r[np.ix_(first, second)].mean())
    inner = [float(r[np.ix_(g, g)][np.triu_indices(len(g), 1)].mean()) for g in (first, second)]
    if not (inner[0] > 0 and inner[1] > 0):
        return math.nan
    return between / math.sqrt(inner[0] * inner[1])


def htmt(
    scores: npt.ArrayLike,
    groups: Sequence[str],
    trait: str,
    other: str,
    rng: np.random.Generator | None = None,
    *,
    families: Sequence[str] | None = None,
    replicates: int = 2000,
    level: float = 0.95,
) -> Coefficient:
    """How close the correlation of two traits is to 1 once unreliability is taken out.

    If two hallucination types rank models alike, telling them apart adds no information.

        mean r between the groups / sqrt(mean r within the trait * mean r within the other)

    below .85 (strict) or .90 (lenient) they are distinct; at the least the interval should lie
    below 1.

    Henseler, J., Ringle, C. M. and Sarstedt, M. (2015). Journal of the Academy of Marketing
    Science, 43, 115-135.

    - `scores`: (respondents, measures): respondents that lack a score are left out.
    - `groups`: (measures,): the trait of each; `trait` and `other` name the two to compare.
    - `rng, families`: With a generator: the interval by resampling respondents, or families of them
      (from 10 on).

    The status is `insufficient` below 3 respondents or 2 measures of a trait, `degenerate` where a
    measure does not vary or the measures of a trait do not correlate positively. Flag
    `NOT_DISTINCT` where the upper end reaches 1.

    >>> rng = np.random.default_rng(0)
    >>> trait = rng.normal(size=(200, 2))
    >>> scores = np.repeat(trait, 3, axis=1) + rng.normal(size=(200, 6))
    >>> abs(htmt(scores, ["a"] * 3 + ["b"] * 3, "a", "b").value) < 0.3
    True
    """
    x = _complete(scores, len(groups))
    m = x.shape[0]
    labels = np.asarray(groups)
    least = min(int((labels == trait).sum()), int((labels == other).sum()))
    if m < 3 or least < 2:
        return Coefficient.absent(
            "insufficient",
            f"HTMT needs 3 respondents and 2 measures of each trait, there are {m} and {least}",
            m,
        )
    if families is not None and len(families) != m:
        raise ValueError(
            f"one family label a complete respondent is needed, got {len(families)} for {m}"
        )
    value = htmt_of(correlations(x), groups, trait, other)
    if not math.isfinite(value):
        return Coefficient.absent(
            "degenerate",
            "a measure does not vary, or the measures of a trait do not correlate positively",
            m,
        )
    bounds, se = None, math.nan
    if rng is not None:
        statistic = one_by_one(lambda i: htmt_of(correlations(x[i]), groups, trait, other))
        bounds, se = respondent_bootstrap(
            statistic, m, rng, families=families, replicates=replicates, level=level
        )
    low, high = (bounds.low, bounds.high) if bounds else (math.nan, math.nan)
    flags = ("NOT_DISTINCT",) if high >= 1 or value >= 1 else ()
    return Coefficient(
        value, low, high, m, level, bounds.method if bounds else "HTMT", se=se, flags=flags
    )


@dataclass(frozen=True, slots=True)
class DependentCorrelations(Outcome):
    """Two correlations that share a variable, compared."""

    difference: float
    t: float
    df: float
    p: float
    n: int


def williams_test(
    r12: float, r13: float, r23: float, n: int, *, n_effective: float | None = None
) -> DependentCorrelations:
    """Williams' test of whether a criterion correlates with one measure better than with another.

    Both correlations come from the same respondents, so their intervals must not be compared as if
    independent.

        t = (r12 - r13) sqrt((n - 1)(1 + r23) / (2 (n - 1)/(n - 3) D + mean^2 (1 - r23)^3)),
        n - 3 df
        D = 1 - r12^2 - r13^2 - r23^2 + 2 r12 r13 r23,   mean = (r12 + r13) / 2

    Williams (1959); Steiger, J. H. (1980). Psychological Bulletin, 87, 245-251.

    - `r12, r13, r23`: The criterion with each of the two measures, and the two measures with each
      other.
    - `n_effective`: The number of independent respondents among the n, where some are relatives; it
      takes n's place.

    The status is `insufficient` below 4 independent respondents or with a missing correlation,
    `degenerate` where the two measures are the same, and `not_applicable` where no data can have
    these three correlations.
    >>> round(williams_test(0.4, 0.3, 0.1, 103).t, 2)
    0.83
    """
    nan, size = math.nan, size_of(n, n_effective)
    if size < 4 or not all(map(math.isfinite, (r12, r13, r23))):
        count = f"{n}" if size == n else f"{n}, who count as {size:.1f}"
        return DependentCorrelations(
            r12 - r13,
            nan,
            size - 3,
            nan,
            n,
            status="insufficient",
            reason="the test needs 4 independent respondents and three correlations, there are"
            f" {count}:"
            f" {r12}, {r13}, {r23}",
        )
    determinant = 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23
    if determinant < -1e-9 or max(map(abs, (r12, r13, r23))) > 1:
        return DependentCorrelations(
            r12 - r13,
            nan,
            size - 3,
            nan,
            n,
            status="not_applicable",
            reason="no scores can have these three correlations",
        )
    below = (
        2 * (size - 1) / (size - 3) * max(0.0, determinant)
        + ((r12 + r13) / 2) ** 2 * (1 - r23) ** 3
    )
    if below <= 1e-15:
        return DependentCorrelations(
            r12 - r13,
            nan,
            size - 3,
            nan,
            n,
            status="degenerate",
            reason="the two measures are the same up to scale",
        )
    t = (r12 - r13) * math.sqrt((size - 1) * (1 + r23) / below)
    return DependentCorrelations(
        r12 - r13, t, size - 3, 2 * float(student_above(abs(t), size - 3)), n
    )
