"""Correlation over respondents: Pearson, Spearman and Kendall's tau-b of two administrations,
Williams' test of two correlations that share a variable, and the same trait by several methods
beside several traits by the same method (convergent and discriminant validity).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import stdtr

from hqm.psychometrics.distributions import average_ranks, kendall_tau
from hqm.psychometrics.families import Relatives, at_least
from hqm.psychometrics.result import (
    Array,
    ArrayLike,
    Coefficient,
    Outcome,
    Places,
    Status,
    is_constant,
    normal_quantile,
    shaped_alike,
    size_of,
)


def paired(x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    """Two vectors without the respondents that lack either score."""
    a, b = shaped_alike(x, y, "respondents")
    both = np.isfinite(a) & np.isfinite(b)
    return a[both], b[both]


def inverse_tanh_interval(value: float, error: float, level: float) -> tuple[float, float]:
    """tanh(atanh(value) -+ z error); both ends are the value itself at -1 and 1."""
    if abs(value) >= 1.0:
        return value, value
    centre, half = math.atanh(value), normal_quantile(level) * error
    return math.tanh(centre - half), math.tanh(centre + half)


def refusal_of_pair(a: Array, b: Array) -> Coefficient | None:
    """Why two vectors have no correlation; None where they have one."""
    if len(a) < 3:
        return Coefficient.absent(
            "insufficient", f"a correlation needs 3 respondents, there are {len(a)}", len(a)
        )
    constant = sum(map(is_constant, (a, b)))
    if constant:
        which = "both administrations" if constant == 2 else "one administration"
        return Coefficient.absent(
            "degenerate", f"all respondents have the same score in {which}", len(a)
        )
    return None


def _product_moment(a: Array, b: Array) -> float:
    a, b = a - a.mean(), b - b.mean()
    return float(
        np.clip(np.dot(a, b) / math.sqrt(float(np.dot(a, a)) * float(np.dot(b, b))), -1.0, 1.0)
    )


def _correlation(
    of: Callable[[Array, Array], float],
    x: ArrayLike,
    y: ArrayLike,
    level: float,
    n_effective: float | None,
    families: Sequence[str],
) -> Coefficient:
    """A correlation with the least that it is among other respondents."""
    a, b = paired(x, y)
    refusal = refusal_of_pair(a, b)
    if refusal is not None:
        return refusal
    value, relatives = of(a, b), Relatives.of_pairs(x, y, families, n_effective)
    bare = Coefficient(value, n=len(a), level=level)
    # on one scale, whatever the units: what two scores say together of who is better
    both = a / a.std() + math.copysign(1.0, value) * b / b.std()

    def statistic(rows: Places) -> float:
        x, y = a[rows], b[rows]
        return math.nan if is_constant(x) or is_constant(y) else of(x, y)

    if of is not _product_moment:
        return at_least(bare, statistic, relatives=relatives)
    return at_least(
        bare, lambda rows: (statistic(rows), float(both[rows].var(ddof=1))), both, relatives
    )


def _of_ranks(a: Array, b: Array) -> float:
    return _product_moment(average_ranks(a), average_ranks(b))


def pearson(
    x: ArrayLike,
    y: ArrayLike,
    *,
    level: float = 0.95,
    n_effective: float | None = None,
    families: Sequence[str] = (),
) -> Coefficient:
    """Pearson's correlation of two administrations; `low` is the least among others (`at_least`).

    How well order and spacing of the respondents repeat. It is blind to a shift of the mean and
    nears 1 with many items even for coin flips: read it beside `noise_floor` and `icc`. The status
    is `insufficient` below 3 respondents and `degenerate` for scores without variance.

    - `x, y`: (respondents,): scores; pairs with a missing score are left out.
    - `families, n_effective`: labels of relatives, and how many respondents are independent.

    >>> round(pearson([1, 2, 3, 4], [1, 3, 2, 4]).value, 4)
    0.8
    """
    return _correlation(_product_moment, x, y, level, n_effective, families)


def spearman(
    x: ArrayLike,
    y: ArrayLike,
    *,
    level: float = 0.95,
    n_effective: float | None = None,
    families: Sequence[str] = (),
) -> Coefficient:
    """Spearman's rank correlation of two administrations; `x, y` and the options as for `pearson`.

    It says how well the *order* of the respondents repeats: spacing does not count, so one
    respondent far from the others cannot carry it. Equal scores share their mean rank. It is
    `insufficient` and `degenerate` where `pearson` is.

    >>> round(spearman([1, 2, 3, 4], [1, 3, 2, 9]).value, 4)
    0.8
    """
    return _correlation(_of_ranks, x, y, level, n_effective, families)


def kendall_tau_b(
    x: ArrayLike,
    y: ArrayLike,
    *,
    level: float = 0.95,
    n_effective: float | None = None,
    families: Sequence[str] = (),
) -> Coefficient:
    """Kendall's tau-b of two administrations; `x, y` and the options as for `pearson`.

    Without ties, (tau + 1) / 2 is the share of pairs of respondents that both order alike.
    It is `insufficient` and `degenerate` where `pearson` is.

        (concordant - discordant) / sqrt((pairs - tied in x)(pairs - tied in y))
    >>> round(kendall_tau_b([1, 2, 3, 4], [1, 3, 2, 4]).value, 4)
    0.6667
    """
    return _correlation(kendall_tau, x, y, level, n_effective, families)


_EXACT = 1e-10
"""What rounding leaves of a variance that is 0, as a share of the whole."""


_NO_PINGOUIN = "pingouin is not installed; pip install 'hqm-audit[stats]' brings it"


def partial_pearson(
    x: ArrayLike,
    y: ArrayLike,
    given: ArrayLike,
    *,
    level: float = 0.95,
    n_effective: float | None = None,
    families: Sequence[str] = (),
) -> Coefficient:
    """Pearson's correlation of what a third number leaves unexplained of two others.

    Two scores can agree because both follow the same third thing, such as the length of the
    answers. The partial correlation is that of the residuals after a straight line on the third
    number is taken out of both.

        r_xy.z = (r_xy - r_xz r_yz) / sqrt((1 - r_xz^2) (1 - r_yz^2))

    Computed by `pingouin.partial_corr`.

    - `x, y, given`: (respondents,): respondents without one of the three are left out.
    - `n_effective, families`: As in `pearson`.

    Returns
    -------
    Coefficient
        `insufficient` for fewer than 5 respondents; `degenerate` when one of the three does not
        vary, or when `given` determines `x` or `y`.

    Examples
    --------
    >>> words = [5, 7, 6, 9, 12, 10]
    >>> score, label = [0.5, 0.6, 0.7, 0.7, 0.9, 0.9], [0.4, 0.6, 0.5, 0.8, 0.8, 0.9]
    >>> round(partial_pearson(score, label, words).value, 3)
    0.229
    """
    table = np.array([x, y, given], dtype=np.float64)
    known = np.isfinite(table).all(axis=0)
    table = table[:, known]
    n = table.shape[1]
    if n < 5:
        return Coefficient.absent(
            "insufficient", f"a partial correlation needs 5 respondents, there are {n}", n
        )
    if any(is_constant(row) for row in table):
        return Coefficient.absent(
            "degenerate", "one of the three numbers is the same for all respondents", n
        )
    r = np.asarray(np.corrcoef(table))
    left = 1 - r[:2, 2] ** 2
    if left.min() < _EXACT:
        return Coefficient.absent(
            "degenerate", "the number held constant determines one of the others", n
        )
    if np.linalg.det(r) < _EXACT * left.prod():
        # what is left of both is the same: the inverse that pingouin takes does not exist
        value = math.copysign(1.0, float(r[0, 1] - r[0, 2] * r[1, 2]))
    else:
        try:
            import pingouin
        except ModuleNotFoundError:
            return Coefficient.absent("not_applicable", _NO_PINGOUIN, n)
        import pandas as pd

        scaled = table / table.std(axis=1, keepdims=True)
        columns = pd.DataFrame(scaled.T, columns=["x", "y", "given"])
        value = float(pingouin.partial_corr(columns, "x", "y", "given")["r"].iloc[0])
    bare = Coefficient(value, n=n, level=level)
    relatives = Relatives(tuple(families), n_effective).of(known)
    return at_least(bare, lambda rows: _partial(table[:, rows]), relatives=relatives)


def _partial(table: Array) -> float:
    """The partial correlation of the first two rows given the third; NaN where one is constant."""
    if any(is_constant(row) for row in table):
        return math.nan
    r = np.asarray(np.corrcoef(table))
    left = (1 - r[0, 2] ** 2) * (1 - r[1, 2] ** 2)
    return float((r[0, 1] - r[0, 2] * r[1, 2]) / math.sqrt(left)) if left > _EXACT else math.nan


@dataclass(frozen=True, slots=True)
class RepeatedMeasures:
    """A repeated-measures correlation, with its degrees of freedom and the p-value of no
    correlation.
    """

    coefficient: Coefficient
    dof: int = 0
    p: float = math.nan


def repeated_measures(x: ArrayLike, y: ArrayLike, *, level: float = 0.95) -> RepeatedMeasures:
    """The correlation of two scores within respondents, each of whom has them on several occasions.

    Differences between respondents are taken out: all have the same slope, and each has a level of
    their own. Whatever moves an occasion for all respondents stays in, and where occasions are few
    and the same for everybody, as types of items are, the interval describes these occasions and
    not others like them.

        r = sign(b) sqrt(SS_x / (SS_x + SS_error)) of the analysis of covariance y = level + b x
        interval: tanh(atanh(r) +- z / sqrt(dof - 1)),   dof = scores - respondents - 1

    Computed by `pingouin.rm_corr`. Bakdash, J. Z. and Marusich, L. R. (2017). Frontiers in
    Psychology, 8, 456.

    - `x, y`: (respondents, occasions); NaN where there is none. Respondents with one occasion say
      nothing.

    Returns
    -------
    RepeatedMeasures
        `insufficient` for fewer than 3 respondents with 2 occasions; `degenerate` when a score does
        not vary within respondents.

    Examples
    --------
    >>> result = repeated_measures([[1, 2, 3], [4, 5, 6], [2, 4, 5]],
    ...     [[3, 4, 6], [1, 3, 3], [7, 8, 9]])
    >>> round(result.coefficient.value, 3), result.dof
    (0.889, 5)
    """
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 2:
        raise ValueError(
            f"two arrays of shape (respondents, occasions) are needed, got {a.shape} and {b.shape}"
        )
    both = np.isfinite(a) & np.isfinite(b)
    both &= (both.sum(axis=1) >= 2)[:, None]
    who, _ = np.nonzero(both)
    n = len(set(who))
    if n < 3:
        return RepeatedMeasures(
            Coefficient.absent(
                "insufficient",
                "a repeated-measures correlation needs 3 respondents with 2 occasions, there"
                f" are {n}",
                n,
            )
        )
    for scores in (a, b):
        means = np.bincount(who, scores[both]) / np.maximum(np.bincount(who), 1)
        if float(((scores[both] - means[who]) ** 2).sum()) <= _EXACT * float(
            (scores[both] ** 2).sum()
        ):
            absent = Coefficient.absent("degenerate", "a score does not vary within respondents", n)
            return RepeatedMeasures(absent)
    try:
        import pingouin
    except ModuleNotFoundError:
        return RepeatedMeasures(Coefficient.absent("not_applicable", _NO_PINGOUIN, n))
    import pandas as pd

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of a perfect fit, whose F is infinite
        columns = pd.DataFrame({"x": a[both], "y": b[both], "who": who})
        r, dof, p = pingouin.rm_corr(columns, "x", "y", "who").iloc[0, :3]
    value = float(np.clip(r, -1.0, 1.0))
    low, high = inverse_tanh_interval(value, 1 / math.sqrt(int(dof) - 1), level)
    return RepeatedMeasures(
        Coefficient(value, low, high, n, level, "Bakdash and Marusich"), int(dof), float(p)
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
    size = size_of(n, n_effective)
    made = DependentCorrelations(r12 - r13, math.nan, size - 3, math.nan, n)
    if size < 4 or not all(map(math.isfinite, (r12, r13, r23))):
        count = f"{n}" if size == n else f"{n}, who count as {size:.1f}"
        reason = (
            "the test needs 4 independent respondents and three correlations, there are"
            f" {count}: {r12}, {r13}, {r23}"
        )
        return replace(made, status="insufficient", reason=reason)
    determinant = 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23
    if determinant < -1e-9 or max(map(abs, (r12, r13, r23))) > 1:
        reason = "no scores can have these three correlations"
        return replace(made, status="not_applicable", reason=reason)
    below = (
        2 * (size - 1) / (size - 3) * max(0.0, determinant)
        + ((r12 + r13) / 2) ** 2 * (1 - r23) ** 3
    )
    if below <= 1e-15:
        reason = "the two measures are the same up to scale"
        return replace(made, status="degenerate", reason=reason)
    t = made.difference * math.sqrt((size - 1) * (1 + r23) / below)
    return replace(made, t=t, p=2 * float(stdtr(made.df, -abs(t))))


# --- convergent and discriminant validity ---

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


def _complete(scores: ArrayLike, labels: int) -> Array:
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
    scores: ArrayLike,
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


def htmt_of(correlation: ArrayLike, groups: Sequence[str], trait: str, other: str) -> float:
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
    scores: ArrayLike,
    groups: Sequence[str],
    trait: str,
    other: str,
) -> Coefficient:
    """How close the correlation of two traits is to 1 once unreliability is taken out.

    If two hallucination types rank models alike, telling them apart adds no information.

        mean r between the groups / sqrt(mean r within the trait * mean r within the other)

    below .85 (strict) or .90 (lenient) they are distinct.

    Henseler, J., Ringle, C. M. and Sarstedt, M. (2015). Journal of the Academy of Marketing
    Science, 43, 115-135.

    - `scores`: (respondents, measures): respondents that lack a score are left out.
    - `groups`: (measures,): the trait of each; `trait` and `other` name the two to compare.

    The status is `insufficient` below 3 respondents or 2 measures of a trait, `degenerate` where a
    measure does not vary or the measures of a trait do not correlate positively. Flag
    `NOT_DISTINCT` from 1 on.

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
    value = htmt_of(correlations(x), groups, trait, other)
    if not math.isfinite(value):
        return Coefficient.absent(
            "degenerate",
            "a measure does not vary, or the measures of a trait do not correlate positively",
            m,
        )
    flags = ("NOT_DISTINCT",) if value >= 1 else ()
    return Coefficient(value, n=m, method="HTMT", flags=flags)
