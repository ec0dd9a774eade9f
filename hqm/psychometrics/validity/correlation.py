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

from hqm.psychometrics.inference.distributions import average_ranks, kendall_tau
from hqm.psychometrics.inference.families import Relatives, add_lower_bound
from hqm.psychometrics.result import (
    Array,
    ArrayLike,
    Coefficient,
    Indices,
    Outcome,
    Status,
    constant_vectors,
    effective_size,
    equal_shape_arrays,
    is_constant,
    normal_quantile,
    ratio,
)


def paired(x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    """Two vectors without the respondents that lack either score."""
    a, b = equal_shape_arrays(x, y, "respondents")
    complete = np.isfinite(a) & np.isfinite(b)
    return a[complete], b[complete]


def inverse_tanh_interval(value: float, error: float, level: float) -> tuple[float, float]:
    """tanh(atanh(value) -+ z error); both ends are the value itself at -1 and 1."""
    if abs(value) >= 1.0:
        return value, value
    # Fisher's scale, on which the error hardly depends on the correlation
    centre = math.atanh(value)
    half = normal_quantile(level) * error
    return math.tanh(centre - half), math.tanh(centre + half)


def correlation_refusal(a: Array, b: Array) -> Coefficient | None:
    """Why two vectors have no correlation; None where they have one."""
    if len(a) < 3:
        return Coefficient.absent(
            "insufficient", f"a correlation needs 3 respondents, there are {len(a)}", len(a)
        )
    constant = sum(map(is_constant, (a, b)))
    if constant:
        if constant == 2:
            constant_scores = "both administrations"
        else:
            constant_scores = "one administration"
        return Coefficient.absent(
            "degenerate", f"all respondents have the same score in {constant_scores}", len(a)
        )
    return None


def _product_moment(a: Array, b: Array) -> Array:
    """(...,): the correlation of vectors along the last axis; NaN where one is constant."""
    is_defined = ~(constant_vectors(a) | constant_vectors(b))
    a = a - a.mean(axis=-1, keepdims=True)
    b = b - b.mean(axis=-1, keepdims=True)
    norms = np.sqrt(np.vecdot(a, a) * np.vecdot(b, b))
    # clipped: rounding can lift a perfect correlation above 1
    return np.where(is_defined, np.clip(ratio(np.vecdot(a, b), norms), -1.0, 1.0), np.nan)


def _correlation(
    correlate: Callable[[Array, Array], Array],
    x: ArrayLike,
    y: ArrayLike,
    level: float,
    n_effective: float | None,
    families: Sequence[str],
) -> Coefficient:
    """A correlation with its lower bound over other respondents."""
    a, b = paired(x, y)
    refusal = correlation_refusal(a, b)
    if refusal is not None:
        return refusal
    value = float(correlate(a, b))
    relatives = Relatives.from_pairs(x, y, families, n_effective)
    coefficient = Coefficient(value, n=len(a), level=level)
    # the sum of both standardised scores, of which the bound needs the variance
    standardised_sum = a / a.std() + math.copysign(1.0, value) * b / b.std()

    def statistic(rows: Indices) -> Array:
        return correlate(a[rows], b[rows])

    if correlate is not _product_moment:
        return add_lower_bound(coefficient, statistic, relatives=relatives, vectorized=True)
    return add_lower_bound(
        coefficient,
        lambda rows: (statistic(rows), standardised_sum[rows].var(axis=-1, ddof=1)),
        standardised_sum,
        relatives,
        vectorized=True,
    )


def _rank_correlation(a: Array, b: Array) -> Array:
    return _product_moment(average_ranks(a, axis=-1), average_ranks(b, axis=-1))


def pearson(
    x: ArrayLike,
    y: ArrayLike,
    *,
    level: float = 0.95,
    n_effective: float | None = None,
    families: Sequence[str] = (),
) -> Coefficient:
    """Compute Pearson's correlation of two administrations, with its lower bound over respondents.

    How well order and spacing of the respondents repeat. It is blind to a shift of the mean and
    nears 1 with many items even for coin flips: read it beside `noise_floor` and `icc`.

    Parameters
    ----------
    x, y : array_like, shape (respondents,)
        Scores; pairs with a missing score are left out.
    level : float, default 0.95
        Confidence level of the intervals.
    n_effective : float, optional
        Number of independent respondents, where some are relatives; all unless given.
    families : sequence of str, shape (respondents,), optional
        Labels of relatives; none unless given.

    Returns
    -------
    Coefficient
        The correlation, with its lower bound over other respondents in `low` (`add_lower_bound`).
        The status is `insufficient` below 3 respondents and `degenerate` for scores without
        variance.

    Raises
    ------
    ValueError
        An array has another shape.

    Examples
    --------
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
    """Compute Spearman's rank correlation of two administrations.

    It says how well the *order* of the respondents repeats: spacing does not count, so one
    respondent far from the others cannot carry it. Equal scores share their mean rank.

    Parameters
    ----------
    x, y : array_like, shape (respondents,)
        Scores; pairs with a missing score are left out.
    level : float, default 0.95
        Confidence level of the intervals.
    n_effective : float, optional
        Number of independent respondents, where some are relatives; all unless given.
    families : sequence of str, shape (respondents,), optional
        Labels of relatives; none unless given.

    Returns
    -------
    Coefficient
        The correlation, with its lower bound over other respondents in `low` (`add_lower_bound`).
        The status is `insufficient` below 3 respondents and `degenerate` for scores without
        variance.

    Raises
    ------
    ValueError
        An array has another shape.

    Examples
    --------
    >>> round(spearman([1, 2, 3, 4], [1, 3, 2, 9]).value, 4)
    0.8
    """
    return _correlation(_rank_correlation, x, y, level, n_effective, families)


def kendall_tau_b(
    x: ArrayLike,
    y: ArrayLike,
    *,
    level: float = 0.95,
    n_effective: float | None = None,
    families: Sequence[str] = (),
) -> Coefficient:
    """Compute Kendall's tau-b of two administrations.

    Without ties, (tau + 1) / 2 is the share of pairs of respondents that both order alike.

    Parameters
    ----------
    x, y : array_like, shape (respondents,)
        Scores; pairs with a missing score are left out.
    level : float, default 0.95
        Confidence level of the intervals.
    n_effective : float, optional
        Number of independent respondents, where some are relatives; all unless given.
    families : sequence of str, shape (respondents,), optional
        Labels of relatives; none unless given.

    Returns
    -------
    Coefficient
        The correlation, with its lower bound over other respondents in `low` (`add_lower_bound`).
        The status is `insufficient` below 3 respondents and `degenerate` for scores without
        variance.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        (concordant - discordant) / sqrt((pairs - tied in x)(pairs - tied in y))

    Examples
    --------
    >>> round(kendall_tau_b([1, 2, 3, 4], [1, 3, 2, 4]).value, 4)
    0.6667
    """
    return _correlation(kendall_tau, x, y, level, n_effective, families)


_MIN_VARIANCE_SHARE = 1e-10
"""The share of a variance that is rounding; smaller ones count as 0."""


_NO_PINGOUIN = (
    "these correlations need pingouin, which is not installed. Run: pip install 'hqm-audit[stats]'"
)


def partial_pearson(
    x: ArrayLike,
    y: ArrayLike,
    covariate: ArrayLike,
    *,
    level: float = 0.95,
    n_effective: float | None = None,
    families: Sequence[str] = (),
) -> Coefficient:
    """Compute Pearson's correlation of two scores with a covariate held constant.

    Two scores can agree because both follow the same third thing, such as the length of the
    answers. The partial correlation is that of the residuals after a straight line on the third
    number is taken out of both.

    Parameters
    ----------
    x, y, covariate : array_like, shape (respondents,)
        Respondents without one of the three are left out.
    level : float, default 0.95
        Confidence level of the intervals.
    n_effective : float, optional
        As in `pearson`.
    families : sequence of str, optional
        As in `pearson`.

    Returns
    -------
    Coefficient
        `insufficient` for fewer than 5 respondents; `degenerate` when one of the three does not
        vary, or when `covariate` determines `x` or `y`.

    Notes
    -----
        r_xy.z = (r_xy - r_xz r_yz) / sqrt((1 - r_xz^2) (1 - r_yz^2))

    Computed by `pingouin.partial_corr`.

    Examples
    --------
    >>> words = [5, 7, 6, 9, 12, 10]
    >>> score, label = [0.5, 0.6, 0.7, 0.7, 0.9, 0.9], [0.4, 0.6, 0.5, 0.8, 0.8, 0.9]
    >>> round(partial_pearson(score, label, words).value, 3)
    0.229
    """
    table = np.array([x, y, covariate], dtype=np.float64)
    complete = np.isfinite(table).all(axis=0)
    table = table[:, complete]
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
    # what the covariate leaves of each of both
    residual_variance = 1 - r[:2, 2] ** 2
    if residual_variance.min() < _MIN_VARIANCE_SHARE:
        return Coefficient.absent(
            "degenerate", "the number held constant determines one of the others", n
        )
    # det R = (1 - r_xz^2)(1 - r_yz^2)(1 - r_xy.z^2): near 0 where both residuals are proportional
    if np.linalg.det(r) < _MIN_VARIANCE_SHARE * residual_variance.prod():
        # what is left of both is the same: the inverse that pingouin takes does not exist
        value = math.copysign(1.0, float(r[0, 1] - r[0, 2] * r[1, 2]))
    else:
        try:
            import pingouin
        except ModuleNotFoundError:
            return Coefficient.absent("not_applicable", _NO_PINGOUIN, n)
        import pandas as pd

        # units far apart would make the inverse of the covariances lose digits
        scaled = table / table.std(axis=1, keepdims=True)
        columns = pd.DataFrame(scaled.T, columns=["x", "y", "given"])
        value = float(pingouin.partial_corr(columns, "x", "y", "given")["r"].iloc[0])
    coefficient = Coefficient(value, n=n, level=level)
    relatives = Relatives(tuple(families), n_effective).subset(complete)
    return add_lower_bound(
        coefficient, lambda rows: _partial(*table[:, rows]), relatives=relatives, vectorized=True
    )


def _partial(x: Array, y: Array, covariate: Array) -> Array:
    """(...,): the partial correlation of vectors along the last axis; NaN where one of the three is
    constant.
    """
    r_xy = _product_moment(x, y)
    r_xz = _product_moment(x, covariate)
    r_yz = _product_moment(y, covariate)
    residual_variance = (1 - r_xz**2) * (1 - r_yz**2)
    # no residual is left to correlate
    residual_variance = np.where(residual_variance > _MIN_VARIANCE_SHARE, residual_variance, np.nan)
    return np.asarray((r_xy - r_xz * r_yz) / np.sqrt(residual_variance))


@dataclass(frozen=True, slots=True)
class RepeatedMeasures:
    """A repeated-measures correlation, with its degrees of freedom and the p-value of no
    correlation.
    """

    coefficient: Coefficient
    dof: int = 0
    p: float = math.nan


def repeated_measures(x: ArrayLike, y: ArrayLike, *, level: float = 0.95) -> RepeatedMeasures:
    """Compute the correlation of two scores within respondents, each of whom has several occasions.

    Differences between respondents are taken out: all have the same slope, and each has a level of
    their own. Whatever moves an occasion for all respondents stays in, and where occasions are few
    and the same for everybody, as types of items are, the interval describes these occasions and
    not others like them.

    Parameters
    ----------
    x : array_like, shape (respondents, occasions)
        Scores, NaN where there is none. Respondents with one occasion say nothing.
    y : array_like, shape (respondents, occasions)
        The other scores.
    level : float, default 0.95
        Confidence level of the intervals.

    Returns
    -------
    RepeatedMeasures
        `insufficient` for fewer than 3 respondents with 2 occasions; `degenerate` when a score does
        not vary within respondents.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        r = sign(b) sqrt(SS_x / (SS_x + SS_error)) of the analysis of covariance y = level + b x
        interval: tanh(atanh(r) +- z / sqrt(dof - 1)),   dof = scores - respondents - 1

    Computed by `pingouin.rm_corr`.

    References
    ----------
    .. [1] Bakdash, J. Z. and Marusich, L. R. (2017). Frontiers in Psychology, 8, 456.

    Examples
    --------
    >>> result = repeated_measures([[1, 2, 3], [4, 5, 6], [2, 4, 5]],
    ...     [[3, 4, 6], [1, 3, 3], [7, 8, 9]])
    >>> round(result.coefficient.value, 3), result.dof
    (0.889, 5)
    """
    a = np.asarray(x, dtype=np.float64)
    b = np.asarray(y, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 2:
        raise ValueError(
            f"two arrays of shape (respondents, occasions) are needed, got {a.shape} and {b.shape}"
        )
    scored = np.isfinite(a) & np.isfinite(b)
    # a single occasion has no deviation from its respondent's mean
    scored &= (scored.sum(axis=1) >= 2)[:, None]
    respondent, _ = np.nonzero(scored)
    n = len(set(respondent))
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
        # pingouin divides by zero where a score has no variance within respondents
        means = np.bincount(respondent, scores[scored]) / np.maximum(np.bincount(respondent), 1)
        if float(((scores[scored] - means[respondent]) ** 2).sum()) <= _MIN_VARIANCE_SHARE * float(
            (scores[scored] ** 2).sum()
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
        columns = pd.DataFrame({"x": a[scored], "y": b[scored], "who": respondent})
        r, dof, p = pingouin.rm_corr(columns, "x", "y", "who").iloc[0, :3]
    value = float(np.clip(r, -1.0, 1.0))
    # Bakdash and Marusich (2017): the interval of Fisher with the error's degrees of freedom
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
    """Test whether a criterion correlates with one measure better than with another (Williams).

    Both correlations come from the same respondents, so their intervals must not be compared as if
    independent.

    Parameters
    ----------
    r12, r13, r23 : float
        The criterion with each of the two measures, and the two measures with each other.
    n : int
        Number of respondents.
    n_effective : float, optional
        The number of independent respondents among the n, where some are relatives; it takes n's
        place.

    Returns
    -------
    DependentCorrelations
        The status is `insufficient` below 4 independent respondents or with a missing correlation,
        `degenerate` where the two measures are the same, and `not_applicable` where no data can
        have these three correlations.

    Notes
    -----
        t = (r12 - r13) sqrt((n - 1)(1 + r23) / (2 (n - 1)/(n - 3) D + mean^2 (1 - r23)^3)),
        n - 3 df
        D = 1 - r12^2 - r13^2 - r23^2 + 2 r12 r13 r23,   mean = (r12 + r13) / 2

    References
    ----------
    .. [1] Williams, E. J. (1959). Regression Analysis. Wiley.
    .. [2] Steiger, J. H. (1980). Psychological Bulletin, 87, 245-251.

    Examples
    --------
    >>> round(williams_test(0.4, 0.3, 0.1, 103).t, 2)
    0.83
    """
    size = effective_size(n, n_effective)
    comparison = DependentCorrelations(r12 - r13, math.nan, size - 3, math.nan, n)
    if size < 4 or not all(map(math.isfinite, (r12, r13, r23))):
        count = f"{n}" if size == n else f"{n}, who count as {size:.1f}"
        reason = (
            "the test needs 4 independent respondents and three correlations, there are"
            f" {count}: {r12}, {r13}, {r23}"
        )
        return replace(comparison, status="insufficient", reason=reason)
    # Steiger (1980), Williams' T2: the determinant of the three correlations; negative for none
    determinant = 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23
    # a negative determinant belongs to no three variables
    if determinant < -1e-9 or max(map(abs, (r12, r13, r23))) > 1:
        reason = "no scores can have these three correlations"
        return replace(comparison, status="not_applicable", reason=reason)
    # rounding may leave the determinant just below 0
    denominator = (
        2 * (size - 1) / (size - 3) * max(0.0, determinant)
        + ((r12 + r13) / 2) ** 2 * (1 - r23) ** 3
    )
    if denominator <= 1e-15:
        reason = "the two measures are the same up to scale"
        return replace(comparison, status="degenerate", reason=reason)
    t = comparison.difference * math.sqrt((size - 1) * (1 + r23) / denominator)
    return replace(comparison, t=t, p=2 * float(stdtr(comparison.df, -abs(t))))


# --- convergent and discriminant validity ---

MIN_RESPONDENTS = 10
"""With fewer respondents a multitrait-multimethod table is shown without counts."""


def correlations(scores: Array) -> Array:
    """Pearson's correlations of the columns; NaN where a column does not vary."""
    centred = scores - scores.mean(axis=0)
    # lengths of the centred columns, which turn products into correlations
    size = np.sqrt((centred**2).sum(axis=0))
    constant = np.array([is_constant(column) for column in scores.T])
    unit = centred / np.where(constant, 1.0, size)
    r = np.clip(unit.T @ unit, -1.0, 1.0)
    r[constant] = np.nan
    r[:, constant] = np.nan
    np.fill_diagonal(r, np.where(constant, np.nan, 1.0))
    return np.asarray(r)


def _complete_scores(scores: ArrayLike, labels: int) -> Array:
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
    """Compute Campbell and Fiske's table of types as traits and benchmarks as methods.

    A type is a trait of its own only if two benchmarks agree on it better than on different types,
    and better than one benchmark agrees with itself over types. Otherwise the benchmark's format is
    what its scores share.

    Parameters
    ----------
    scores : array_like, shape (respondents, measures)
        Each column one trait by one method; respondents that lack a score are left out.
    traits, methods : sequence of str, shape (measures,)
        Labels; no pair may come twice.
    level : float, default 0.95
        Confidence level of the intervals.

    Returns
    -------
    Multitrait
        The status is `insufficient` below 3 respondents (no table) and below 10 (table without
        counts); `not_applicable` where no trait is measured by two methods; `degenerate` where a
        measure does not vary.

    Raises
    ------
    ValueError
        Traits, methods and scores do not fit, or a pair comes twice.

    Notes
    -----
    Counts are descriptive: comparisons share correlations. Do not compare two correlations by
    whether their intervals overlap; see `williams_test`.

    References
    ----------
    .. [1] Campbell, D. T. and Fiske, D. W. (1959). Psychological Bulletin, 56, 81-105.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> trait = rng.normal(size=(30, 2))
    >>> scores = np.hstack([trait, trait]) + 0.4 * rng.normal(size=(30, 4))
    >>> result = multitrait_multimethod(scores, ["count", "colour"] * 2, ["A", "A", "B", "B"])
    >>> result.convergent, result.over_hetero_method, result.over_hetero_trait
    ((2, 2), (4, 4), (4, 4))
    """
    x = _complete_scores(scores, len(traits))
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

    def uncounted_table(status: Status, reason: str) -> Multitrait:
        return Multitrait(table, tuple(traits), tuple(methods), m, status=status, reason=reason)

    if np.isnan(r).any():
        constant_names = ", ".join(
            f"{traits[i]} by {methods[i]}" for i in range(k) if math.isnan(r[i, i])
        )
        return uncounted_table("degenerate", f"these measures do not vary: {constant_names}")
    # each pair once, below the diagonal
    same_trait = np.equal.outer(np.asarray(traits), np.asarray(traits))
    convergent_pairs = [(i, j) for i, j in np.argwhere(np.tril(same_trait, -1)).tolist()]
    if not convergent_pairs:
        return uncounted_table("not_applicable", "no trait is measured by two methods")
    if m < MIN_RESPONDENTS:
        return uncounted_table(
            "insufficient", f"counts need {MIN_RESPONDENTS} respondents, there are {m}"
        )

    # the smallest correlation that differs from 0 at the level: atanh r has variance 1 / (m - 3)
    critical_value = math.tanh(normal_quantile(level) / math.sqrt(m - 3))
    over_hetero_method, over_hetero_trait = _compare_convergent(
        r, traits, methods, convergent_pairs
    )
    values = [float(r[i, j]) for i, j in convergent_pairs]
    return Multitrait(
        table,
        tuple(traits),
        tuple(methods),
        m,
        (sum(v > critical_value for v in values), len(values)),
        (sum(over_hetero_method), len(over_hetero_method)),
        (sum(over_hetero_trait), len(over_hetero_trait)),
    )


def _compare_convergent(
    r: Array,
    traits: Sequence[str],
    methods: Sequence[str],
    convergent_pairs: Sequence[tuple[int, int]],
) -> tuple[list[bool], list[bool]]:
    """Whether each correlation of one trait over two methods exceeds those of other traits: over
    the same two methods, and within one of its methods.
    """
    over_hetero_method = []
    over_hetero_trait = []
    for i, j in convergent_pairs:
        # heterotrait correlations lie in the row of either of both measures
        for measure, partner in ((i, j), (j, i)):
            for b in range(len(traits)):
                if traits[b] == traits[measure]:
                    continue
                if methods[b] == methods[partner]:
                    over_hetero_method.append(bool(r[i, j] > r[measure, b]))
                elif methods[b] == methods[measure]:
                    over_hetero_trait.append(bool(r[i, j] > r[measure, b]))
    return over_hetero_method, over_hetero_trait


def htmt_from_correlations(
    correlation: ArrayLike, groups: Sequence[str], trait: str, other_trait: str
) -> float:
    """Compute the heterotrait-monotrait ratio of two groups in a correlation matrix.

    Parameters
    ----------
    correlation : array_like
        Correlations of the measures.
    groups : sequence of str
        The trait of each measure.
    trait : str
        One trait.
    other_trait : str
        The other trait.

    Returns
    -------
    float
        The ratio; NaN where the measures of a group do not correlate positively.

    Raises
    ------
    ValueError
        An array has another shape.

    References
    ----------
    .. [1] Henseler, J., Ringle, C. M. and Sarstedt, M. (2015). Journal of the Academy of
       Marketing Science, 43, 115-135.

    Examples
    --------
    >>> r = [[1, 0.5, 0.4, 0.3], [0.5, 1, 0.35, 0.25], [0.4, 0.35, 1, 0.6], [0.3, 0.25, 0.6, 1]]
    >>> round(htmt_from_correlations(r, ["a", "a", "b", "b"], "a", "b"), 6)
    0.593366
    """
    r = np.asarray(correlation, dtype=np.float64)
    labels = np.asarray(groups)
    if r.shape != (len(labels), len(labels)):
        raise ValueError(f"one group a measure is needed, got {len(labels)} for shape {r.shape}")
    first = np.flatnonzero(labels == trait)
    second = np.flatnonzero(labels == other_trait)
    if min(len(first), len(second)) < 2:
        return math.nan
    # Henseler et al. (2015): mean correlations between both traits, and within each above the
    # diagonal
    heterotrait_mean = float(r[np.ix_(first, second)].mean())
    monotrait_means = [
        float(r[np.ix_(g, g)][np.triu_indices(len(g), 1)].mean()) for g in (first, second)
    ]
    # traits whose measures do not correlate positively have no common scale
    if not (monotrait_means[0] > 0 and monotrait_means[1] > 0):
        return math.nan
    return heterotrait_mean / math.sqrt(monotrait_means[0] * monotrait_means[1])


def htmt(
    scores: ArrayLike,
    groups: Sequence[str],
    trait: str,
    other_trait: str,
) -> Coefficient:
    """Compute the heterotrait-monotrait ratio: how close the correlation of two traits is to 1.

    If two hallucination types rank models alike, distinguishing them adds no information.

    Parameters
    ----------
    scores : array_like, shape (respondents, measures)
        Respondents that lack a score are left out.
    groups : sequence of str
        The trait of each measure.
    trait : str
        One trait.
    other_trait : str
        The other trait.

    Returns
    -------
    Coefficient
        The status is `insufficient` below 3 respondents or 2 measures of a trait, `degenerate`
        where a measure does not vary or the measures of a trait do not correlate positively. Flag
        `NOT_DISTINCT` from 1 on.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        mean r between the groups / sqrt(mean r within the trait * mean r within the other)

    Below .85 (strict) or .90 (lenient) they are distinct.

    References
    ----------
    .. [1] Henseler, J., Ringle, C. M. and Sarstedt, M. (2015). Journal of the Academy of
       Marketing Science, 43, 115-135.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> trait = rng.normal(size=(200, 2))
    >>> scores = np.repeat(trait, 3, axis=1) + rng.normal(size=(200, 6))
    >>> abs(htmt(scores, ["a"] * 3 + ["b"] * 3, "a", "b").value) < 0.3
    True
    """
    x = _complete_scores(scores, len(groups))
    m = x.shape[0]
    labels = np.asarray(groups)
    min_measures = min(int((labels == trait).sum()), int((labels == other_trait).sum()))
    if m < 3 or min_measures < 2:
        return Coefficient.absent(
            "insufficient",
            "HTMT needs 3 respondents and 2 measures of each trait, there are"
            f" {m} and {min_measures}",
            m,
        )
    value = htmt_from_correlations(correlations(x), groups, trait, other_trait)
    if not math.isfinite(value):
        return Coefficient.absent(
            "degenerate",
            "a measure does not vary, or the measures of a trait do not correlate positively",
            m,
        )
    # a ratio of 1 or more: the traits correlate as much as they can
    flags = ("NOT_DISTINCT",) if value >= 1 else ()
    return Coefficient(value, n=m, method="HTMT", flags=flags)
