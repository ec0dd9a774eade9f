"""Strengths in single types: whether respondents have any beside one ability, and whether a family
shares one, so that the type favours it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import expit, stdtr, stdtrit

from hqm.psychometrics.inference.resampling import cluster_labels, jackknife_standard_error
from hqm.psychometrics.inference.significance import SignificanceTest, holm
from hqm.psychometrics.result import Array, BoolArray, IntArray, Outcome, float_array, is_constant

MIN_RESPONDENTS = 5
"""Fewer have too few orders for a test at .05."""
MIN_ITEMS = 10
"""Items of a type, and abilities from fewer are noise."""
POWER = 0.8
LEVEL = 0.05
_SIZES = np.arange(0.1, 2.01, 0.1)
_PRIOR = 1.5
"""Standard deviation of difficulties, without which an item that all pass has none."""


@dataclass(frozen=True, slots=True)
class RaschResiduals:
    """What each answer is beyond expectation, and how much it says.

    - `ability`: (respondents,): in logits, with mean 0.
    - `difficulty`: (items,).
    - `residual, information`: (respondents, items): x - P and P (1 - P), 0 where an answer is
      missing.
    """

    ability: Array
    difficulty: Array
    residual: Array
    information: Array

    def abilities(self, items: BoolArray) -> Array:
        """(respondents,): abilities from some of the items, by one Newton step from all items."""
        with np.errstate(invalid="ignore", divide="ignore"):
            step = self.residual[:, items].sum(axis=1) / self.information[:, items].sum(axis=1)
        return np.asarray(self.ability + step)


def rasch_residuals(scores: npt.ArrayLike, iterations: int = 100) -> RaschResiduals:
    """Fit abilities and difficulties together, which few respondents and many items allow.

    Difficulties have a normal prior about their mean, with standard deviation 1.5. Scores between 0
    and 1 count as shares.

    >>> fitted = rasch_residuals([[1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0]])
    >>> fitted.ability.round(2).tolist(), fitted.difficulty.argsort().tolist()
    ([1.41, 0.0, -1.41], [0, 1, 2, 3])
    """
    x = float_array(scores, "respondents, items")
    finite = np.isfinite(x)
    ability = np.zeros(len(x))
    difficulty = np.zeros(x.shape[1])
    for _ in range(iterations):
        residual, information = _residuals_and_information(x, finite, ability, difficulty)
        # 1e-9: a respondent without answers does not move
        step = residual.sum(axis=1) / (information.sum(axis=1) + 1e-9)
        ability = ability + np.clip(step, -1, 1)
        # the scale of a Rasch model has no origin: abilities have mean 0
        ability -= ability.mean()
        # alternate Newton steps for abilities and difficulties (joint maximum likelihood)
        residual, information = _residuals_and_information(x, finite, ability, difficulty)
        # gradient of the normal prior of difficulties
        pull = (difficulty - difficulty.mean()) / _PRIOR**2
        harder = (residual.sum(axis=0) + pull) / (information.sum(axis=0) + 1 / _PRIOR**2)
        difficulty = difficulty - np.clip(harder, -1, 1)
        if max(np.abs(step).max(), np.abs(harder).max()) < 1e-4:
            break
    return RaschResiduals(
        ability, difficulty, *_residuals_and_information(x, finite, ability, difficulty)
    )


def _residuals_and_information(
    x: Array, finite: BoolArray, ability: Array, difficulty: Array
) -> tuple[Array, Array]:
    p = expit(ability[:, None] - difficulty)
    return np.where(finite, x - p, 0.0), finite * p * (1 - p)


def out_of_range_reason(scores: Array) -> str:
    """Return why a Rasch model does not fit these scores; empty where it may."""
    finite_scores = scores[np.isfinite(scores)]
    out_of_range = finite_scores.size and (finite_scores.min() < 0 or finite_scores.max() > 1)
    if out_of_range:
        return "scores lie outside 0 to 1"
    return ""


@dataclass(frozen=True, slots=True)
class Dimensionality(Outcome):
    """How much respondents differ in single types beyond one ability, in logits.

    Attributes
    ----------
    type_sd
        The standard deviation of what is a type's own, over types and respondents; 0 where the
        halves of the types contradict any.
    shared
        The correlation of two types' true scores: the variance of ability divided by that of
        ability and `type_sd` together.
    p
        How likely so much is by chance where one ability explains all.
    visible
        The smallest standard deviation that this design finds with 80 % power; infinite where not
        even 2 logits are found.
    by_type
        Each type's name, items, and standard deviation of what is its own.
    mostly_own
        Whether `shared` is shown to lie below .5 (jackknife over respondents, .05).
    """

    type_sd: float = math.nan
    shared: float = math.nan
    p: float = math.nan
    visible: float = math.nan
    by_type: tuple[tuple[str, int, float], ...] = ()
    mostly_own: bool = False
    n: int = 0
    n_items: int = 0


def dimensionality(
    scores: npt.ArrayLike,
    types: Sequence[str],
    clusters: npt.ArrayLike | None = None,
    *,
    rng: np.random.Generator,
    permutations: int = 999,
) -> Dimensionality:
    """Test whether types measure something of their own beside one common ability.

    The pictures are halved. What a respondent scores in a type beyond the Rasch model's expectation
    is freed of the line on its ability in the other types, so that a type may discriminate more or
    less than others. What is left in both halves has only a strength in the type in common.

    Parameters
    ----------
    scores : array_like, shape (respondents, items)
        From 0 to 1.
    types : sequence of str, shape (items,)
        The type of each.
    clusters : array_like, shape (items,), optional
        The picture of each, which stays in one half.
    rng : numpy.random.Generator
        Source of random numbers.
    permutations : int, default 999
        Number of random rotations.

    Returns
    -------
    Dimensionality
        The standard deviation between types, its test, and what the design can detect. The status
        is `insufficient` below 5 respondents or 2 types with 10 items.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        A_mt = sum (x - P) / sum P (1 - P),    T = sum_mt A_mt B_mt
        own^2 = T / ((M - 2) K) * K / (K - 1)

    The test rotates B at random among the M - 2 directions that mean and ability leave [1]_, each
    respondent weighted by the root of its information: without weights, respondents near the ends,
    whose errors are larger, raised its size to .06 to .09; permuted respondents, whose residuals
    depend on one another through the line, to .05 to .08. Types permuted between items (Yen's Q3
    without the line, parallel analysis) find types where there are none, or nothing at all, with so
    few respondents.

    Respondents who are always right or always wrong are left out.

    References
    ----------
    .. [1] Langsrud, O. (2005). Rotation tests. Statistics and Computing, 15, 53-60.
    .. [2] Smith, E. V. (2002). Journal of Applied Measurement, 3, 205-231.
    .. [3] Christensen, K. B., Makransky, G. and Horton, M. (2017). Applied Psychological
       Measurement, 41, 178-194.

    Examples
    --------
    >>> rng, kinds = np.random.default_rng(0), np.repeat(["ocr", "action", "relation", "count"], 60)
    >>> strengths = np.repeat(rng.normal(size=(10, 4)), 60, axis=1)
    >>> scores = rng.random(strengths.shape) < 1 / (1 + np.exp(-strengths))
    >>> study = dimensionality(scores, kinds, rng=rng)
    >>> study.type_sd > 0.5, study.p < 0.01
    (True, True)
    """
    x = float_array(scores, "respondents, items")
    labels = np.asarray(types, dtype=str)
    pictures = cluster_labels(clusters, x.shape[1])
    sizes = {str(kind): int((labels == kind).sum()) for kind in np.unique(labels) if kind}
    kinds = [kind for kind, size in sizes.items() if size >= MIN_ITEMS]
    if len(x) < MIN_RESPONDENTS or len(kinds) < 2:
        return Dimensionality.absent(
            "insufficient",
            f"it takes {MIN_RESPONDENTS} respondents and 2 types of {MIN_ITEMS} items, there"
            f" are {len(x)} and {len(kinds)}",
        )
    if reason := out_of_range_reason(x):
        return Dimensionality.absent("not_applicable", reason)
    in_tested_types = np.isin(labels, kinds)
    x = x[:, in_tested_types]
    labels = labels[in_tested_types]
    x = x[_has_ability(x)]
    if len(x) < MIN_RESPONDENTS:
        return Dimensionality.absent(
            "insufficient", f"only {len(x)} respondents are neither always right nor always wrong"
        )
    # pictures, not items, go to the halves: questions of one picture share its luck
    picture_index = np.unique(pictures[in_tested_types], return_inverse=True)[1]
    half_index = rng.permutation(picture_index.max() + 1)[picture_index] % 2
    fitted = rasch_residuals(x)
    if is_constant(fitted.ability):
        return Dimensionality.absent("degenerate", "all respondents have the same ability")
    strengths = np.stack(
        [_type_strengths(fitted, labels, kinds, half_index == half) for half in (0, 1)]
    )
    if not np.isfinite(strengths).all():
        return Dimensionality.absent("insufficient", "a respondent has no answers in half a type")
    m = len(x)
    k = len(kinds)
    weights = _row_weights(fitted)
    first_free, second_free = _free_directions(fitted, weights).T @ (weights * strengths)
    p = float(_p_values(first_free[None], second_free[None], rng, permutations)[0])
    first_half, second_half = (
        _without_line(fitted, strengths[half], labels, kinds, half_index == half) for half in (0, 1)
    )
    # degrees of freedom: M - 2 after mean and line, K - 1 of K types since ability is their mean
    scale = (m - 2) * (1 - 1 / k)
    type_variances = (first_half * second_half).sum(axis=0) / scale
    variance = max(0.0, float(type_variances.mean()))
    # errors of two halves are independent, so their covariance is true variance
    abilities = np.stack([fitted.abilities(half_index == half) for half in (0, 1)])
    ability_variance = max(0.0, float(np.cov(abilities)[0, 1]) - variance / k)
    # whether less is common than a type's own, with each respondent left out
    respondent_products = (first_half * second_half).sum(axis=1) / (k - 1)
    variance_differences = np.array(
        [
            np.cov(np.delete(abilities, i, axis=1))[0, 1]
            - (1 + 1 / k) * np.delete(respondent_products, i).sum() / (m - 3)
            for i in range(m)
        ]
    )
    upper_limit = variance_differences.mean() + float(
        stdtrit(m - 1, 0.95)
    ) * jackknife_standard_error(variance_differences)
    return Dimensionality(
        math.sqrt(variance),
        ability_variance / (ability_variance + variance)
        if ability_variance + variance > 0
        else math.nan,
        p,
        _detectable_sd(fitted, labels, kinds, half_index, rng),
        tuple(
            (kind, sizes[kind], math.sqrt(max(0.0, value)))
            for kind, value in zip(kinds, type_variances.tolist(), strict=True)
        ),
        bool(upper_limit < 0),
        m,
        len(labels),
    )


def _has_ability(x: Array) -> BoolArray:
    """(respondents,): whether somebody is neither always right nor always wrong."""
    # a comparison with NaN is false, so that who answered nothing is left out
    return np.asarray((x < 1).any(axis=1) & (x > 0).any(axis=1))


def _type_strengths(
    fitted: RaschResiduals,
    labels: npt.NDArray[np.str_],
    kinds: Sequence[str],
    half: BoolArray,
) -> Array:
    """(respondents, types): abilities in the types of one half less the ability in the half."""
    columns = [fitted.abilities(half & (labels == kind)) for kind in kinds]
    return np.stack(columns, axis=1) - fitted.abilities(half)[:, None]


def _without_line(
    fitted: RaschResiduals,
    strengths: Array,
    labels: npt.NDArray[np.str_],
    kinds: Sequence[str],
    half: BoolArray,
) -> Array:
    """(respondents, types): strengths in one half, residualised on ability in the other types."""
    residuals = strengths - strengths.mean(axis=0)
    for column, kind in enumerate(kinds):
        ability = fitted.abilities(half & (labels != kind))
        ability = ability - ability.mean()
        # the slope is taken out: a type may discriminate more or less than the others
        residuals[:, column] -= (residuals[:, column] @ ability) / (ability @ ability) * ability
    return np.asarray(residuals)


def _free_directions(fitted: RaschResiduals, weights: Array) -> Array:
    """(respondents, M - 2): orthonormal, at right angles to the weighted mean and ability."""
    line = weights * np.stack([np.ones(len(weights)), fitted.ability], axis=1)
    return np.linalg.qr(line, mode="complete")[0][:, 2:]


def _row_weights(fitted: RaschResiduals) -> Array:
    """(respondents, 1): the roots of their information, relative to the mean.

    Respondents near the ends have larger errors; only rows with equal errors may be rotated.
    """
    information = fitted.information.sum(axis=1)
    return np.asarray(np.sqrt(information / information.mean())[:, None])


def _p_values(first: Array, second: Array, rng: np.random.Generator, n_rotations: int) -> Array:
    """(worlds,): the share of random rotations of B in which the halves go together as much.

    `first, second`: (worlds, directions, types): A and B; the statistic is the trace of A'B.
    """
    directions, types = first.shape[1:]
    rank = min(directions, types)
    # A'RB depends on R through its corner alone, as R is uniform (Haar) and A = QT, B = Q'T';
    # QR of normal columns, the diagonal made positive, draws the first columns of such an R
    columns, triangles = np.linalg.qr(rng.normal(size=(n_rotations, directions, rank)))
    signs = np.sign(np.diagonal(triangles, axis1=1, axis2=2))
    corners = columns[:, :rank] * signs[:, None, :]
    products = np.linalg.qr(first).R @ np.linalg.qr(second).R.swapaxes(1, 2)
    rotated = products.reshape(-1, rank**2) @ corners.reshape(-1, rank**2).T
    observed = (first * second).sum(axis=(1, 2))[:, None]
    # the observed direction is one of the rotations (Phipson and Smyth 2010)
    return np.asarray((1 + (rotated >= observed - 1e-12).sum(axis=1)) / (n_rotations + 1))


def _detectable_sd(
    fitted: RaschResiduals,
    labels: npt.NDArray[np.str_],
    kinds: Sequence[str],
    side: IntArray,
    rng: np.random.Generator,
    *,
    replicates: int = 200,
    permutations: int = 199,
) -> float:
    """The smallest own standard deviation that is found with 80 % power, from halves with the
    errors of these.
    """
    m = len(fitted.ability)
    k = len(kinds)

    def errors_of_half(half: int) -> Array:
        """(respondents, types)"""
        masks = [(side == half) & (labels == kind) for kind in kinds]
        # the error of an ability is the root of one over its information
        return 1 / np.sqrt([fitted.information[:, mask].sum(axis=1) for mask in masks]).T

    standard_errors = [errors_of_half(0), errors_of_half(1)]
    # ability is estimated from the type as well, and takes its part of the strength
    true_strengths = math.sqrt(1 - 1 / k) * rng.normal(size=(replicates, m, k))
    error_scores = [error * rng.normal(size=(replicates, m, k)) for error in standard_errors]
    weights = _row_weights(fitted)
    directions = (weights * _free_directions(fitted, weights)).T
    for size in _SIZES:
        first, second = (directions @ (size * true_strengths + error) for error in error_scores)
        p = _p_values(first, second, rng, permutations)
        if (p <= LEVEL).mean() >= POWER:
            return float(size)
    return math.inf


# --- Does a benchmark treat families alike? ---

MIN_TO_DESCRIBE = 5
MIN_TO_TEST = 10
"""Members of either group: with 5, one logit is found half the time; with 10, nearly always."""
LARGE_LOGITS = 1.5 / 2.35
"""Logits from which the Educational Testing Service calls a difference large (class C)."""


def welch(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[SignificanceTest, float]:
    """The test whether two means are equal where variances may differ, and the error of their
    difference.

    Welch, B. L. (1947). Biometrika, 34, 28-35.

    >>> test, error = welch([1.0, 2, 3, 4], [2.0, 4, 6, 8])
    >>> round(test.statistic, 4), round(test.df, 3), round(test.p, 4)
    (-1.7321, 4.412, 0.1516)
    """
    a, b = (np.asarray(values, dtype=np.float64) for values in (x, y))
    # Welch (1947)
    squared_errors = np.array([group.var(ddof=1) / len(group) for group in (a, b)])
    standard_error = math.sqrt(squared_errors.sum())
    n = len(a) + len(b)
    if standard_error == 0:
        return SignificanceTest.absent(
            "degenerate", "nobody differs within a group", n=n
        ), standard_error
    t = float(a.mean() - b.mean()) / standard_error
    # Satterthwaite's degrees of freedom
    df = float(
        squared_errors.sum() ** 2 / (squared_errors**2 / np.array([len(a) - 1, len(b) - 1])).sum()
    )
    return SignificanceTest(t, df, min(1.0, 2 * float(stdtr(df, -abs(t)))), n), standard_error


@dataclass(frozen=True, slots=True)
class Favour:
    """How much easier a part is for one group than its other answers let expect, in logits.

    `p` is adjusted over all parts and groups (Holm), and NaN where the groups are too small for a
    test. `large` says that the difference is shown and would be called large.
    """

    part: str
    group: str
    members: int
    others: int
    logits: float
    low: float
    high: float
    p: float = math.nan

    @property
    def large(self) -> bool:
        return self.p < LEVEL and abs(self.logits) >= LARGE_LOGITS


@dataclass(frozen=True, slots=True)
class DifferentialFunctioning(Outcome):
    """Every part for every group that is large enough; `tested` where p-values exist."""

    rows: tuple[Favour, ...] = ()
    tested: bool = False

    @property
    def favours(self) -> tuple[Favour, ...]:
        """The parts that are shown to be easier or harder by a large difference."""
        return tuple(row for row in self.rows if row.large)


def differential_functioning(
    scores: npt.ArrayLike, parts: Sequence[str], groups: Sequence[str]
) -> DifferentialFunctioning:
    """Test whether parts of a benchmark are easier for one group at equal ability (DIF).

    Parameters
    ----------
    scores : array_like, shape (respondents, items)
        From 0 to 1.
    parts : sequence of str, shape (items,)
        Type or side of the key.
    groups : sequence of str, shape (respondents,)
        Families. One with 5 members against 5 others is described; from 10 against 10, tested.

    Returns
    -------
    DifferentialFunctioning
        Every part for every group. The status is `insufficient` without 2 parts, or without such a
        group.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        d_m = ability in the part - ability in other parts
        t = Welch's t of d, a group against all others

    Abilities are the Rasch model's, with difficulties from all respondents. The other parts are
    those in which the group is not favoured itself: parts that the test flags leave the comparison,
    until it flags the same again (purification [1]_). Respondents are the sample, and not their
    answers: over answers, the Mantel-Haenszel test flags two fifths of the parts where nothing is.
    Single items are not tested: with 10 against 10 respondents, 3 logits would be missed.

    References
    ----------
    .. [1] Holland, P. W. and Thayer, D. T. (1988). Differential item performance and the
       Mantel-Haenszel procedure.

    Examples
    --------
    >>> scores = [[1, 0] * 5 + [1, 1] * 5] * 5 + [[1, 0] * 10] * 5
    >>> study = differential_functioning(scores, ["a"] * 10 + ["b"] * 10, ["x"] * 5 + ["y"] * 5)
    >>> [(row.part, row.group, round(row.logits, 2)) for row in study.rows], study.tested
    ([('a', 'x', -3.49), ('b', 'x', 3.49)], False)
    """
    x = float_array(scores, "respondents, items")
    names = np.asarray(groups, dtype=str)
    labels = np.asarray(parts, dtype=str)
    has_ability = _has_ability(x)
    x = x[has_ability]
    names = names[has_ability]
    kinds = [str(kind) for kind in np.unique(labels) if kind]
    part_masks = [labels == kind for kind in kinds]
    answered = all(np.isfinite(x[:, part_mask]).any(axis=1).all() for part_mask in part_masks)
    members = {str(name): names == name for name in np.unique(names)}
    smaller_group = {
        name: int(min(is_member.sum(), (~is_member).sum())) for name, is_member in members.items()
    }
    compared = [name for name in members if smaller_group[name] >= MIN_TO_DESCRIBE]
    if len(members) == 2:
        # both groups against each other, seen twice
        compared = compared[:1]  # two groups are one comparison
    largest = max((int(is_member.sum()) for is_member in members.values()), default=0)
    if len(kinds) < 2 or not compared or not answered:
        return DifferentialFunctioning.absent(
            "insufficient",
            f"it takes 2 parts that everybody answered, and {MIN_TO_DESCRIBE} respondents of one"
            f" family and {MIN_TO_DESCRIBE} others to describe ({MIN_TO_TEST} and"
            f" {MIN_TO_TEST} to test); there are {len(kinds)} parts, and the largest family has"
            f" {largest} of {len(x)}",
        )
    if reason := out_of_range_reason(x):
        return DifferentialFunctioning.absent("not_applicable", reason)
    fitted = rasch_residuals(x)
    rows: list[Favour] = []
    for name in compared:
        group_rows = _purified(
            fitted, part_masks, members[name], smaller_group[name] >= MIN_TO_TEST
        )
        rows += [replace(row, part=kinds[i], group=name) for i, row in enumerate(group_rows)]
    # two parts are one comparison, seen from both ends
    distinct_rows = rows[:: len(kinds)] if len(kinds) == 2 else rows
    # an adjusted p for both ends of a comparison of two parts
    adjusted = np.repeat(
        holm([row.p for row in distinct_rows]), len(rows) // len(distinct_rows)
    ).tolist()
    adjusted_rows = [replace(row, p=p) for row, p in zip(rows, adjusted, strict=True)]
    return DifferentialFunctioning(tuple(adjusted_rows), any(np.isfinite(adjusted)))


def _purified(
    fitted: RaschResiduals,
    part_masks: Sequence[BoolArray],
    is_member: BoolArray,
    tested: bool,
    *,
    rounds: int = 10,
) -> list[Favour]:
    """One group against the others, with the parts that are named out of the comparison."""
    count = len(part_masks)
    is_anchor = np.ones(count, dtype=bool)
    for _ in range(rounds):
        rows = [
            _favour(fitted, part_masks, is_member, is_anchor, part_index)
            for part_index in range(count)
        ]
        flagged = holm([row.p for row in rows]) < LEVEL
        if not tested or (flagged == ~is_anchor).all() or flagged.all():
            break
        is_anchor = ~flagged
    if tested:
        return rows
    return [replace(row, p=math.nan) for row in rows]


def _favour(
    fitted: RaschResiduals,
    part_masks: Sequence[BoolArray],
    is_member: BoolArray,
    is_anchor: BoolArray,
    part_index: int,
) -> Favour:
    is_comparison = is_anchor.copy()
    is_comparison[part_index] = False
    # all other parts are flagged: the comparison is with those
    if not is_comparison.any():
        is_comparison = np.arange(len(is_anchor)) != part_index
    comparison_items = np.any(
        [
            part_mask
            for part_mask, included in zip(part_masks, is_comparison, strict=True)
            if included
        ],
        axis=0,
    )
    ability_differences = fitted.abilities(part_masks[part_index]) - fitted.abilities(
        comparison_items
    )
    test, standard_error = welch(ability_differences[is_member], ability_differences[~is_member])
    logits = float(ability_differences[is_member].mean() - ability_differences[~is_member].mean())
    half_width = float(stdtrit(test.df, 0.975)) * standard_error
    members = int(is_member.sum())
    return Favour(
        "",
        "",
        members,
        len(is_member) - members,
        logits,
        logits - half_width,
        logits + half_width,
        test.p,
    )
