"""Differences between all pairs of respondents, each tested, and the contrasts of neighbours in
rank.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, stdtr, stdtrit

from hqm.psychometrics.inference.resampling import (
    cluster_labels,
    cluster_sums,
    mean_with_error,
)
from hqm.psychometrics.inference.significance import fallback, holm
from hqm.psychometrics.result import (
    Array,
    ArrayLike,
    BoolArray,
    Outcome,
    equal_shape_arrays,
    float_array,
)

Table = tuple[tuple[float, ...], ...]
Counts = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class NeighbourPair:
    """Two respondents that follow each other in rank, and their difference.

    Attributes
    ----------
    first, second
        The higher one and the next, as numbers of the respondents.
    difference, se, p
        By how much the first leads over the items that both answered, the standard error over other
        items, and the two-sided p-value of this pair alone; NaN where the two share fewer than 2
        clusters.
    items, clusters
        How many both answered.
    rivals
        How many pairs could have stood at these two ranks: those of a respondent at or above the
        first, and not shown to differ from it, with one at or below the second, and not shown to
        differ from that.
    """

    first: int
    second: int
    difference: float
    se: float
    p: float
    items: int
    clusters: int
    rivals: int = 1


@dataclass(frozen=True, slots=True)
class PairwiseDifferences(Outcome):
    """The difference of every pair of respondents, each tested.

    `difference[a][b]` is the score of a minus that of b over the items that both answered, `se` its
    standard error over another sample of items, `p` the two-sided p-value and `adjusted` the same
    after Holm's correction over all pairs. The diagonals are 0, NaN, NaN, NaN. `items` and
    `clusters` count what both of a pair answered; they are empty where scores are compared without
    their answers.
    """

    scores: tuple[float, ...]
    difference: Table
    se: Table
    p: Table
    adjusted: Table
    n_items: int
    n_clusters: int
    level: float = 0.95
    higher_is_better: bool = True
    items: Counts = ()
    clusters: Counts = ()

    def distinct(self) -> BoolArray:
        """Which pairs differ at the level, as a symmetric matrix."""
        m = len(self.scores)
        p = np.array(self.adjusted, dtype=np.float64).reshape(m, m)
        # rounding must not turn an adjusted p of exactly the level into no difference
        return np.asarray(p <= 1 - self.level + 1e-15)

    @property
    def order(self) -> tuple[int, ...]:
        """Respondents from the best score to the worst; equal scores in their given order."""
        sign = -1.0 if self.higher_is_better else 1.0
        return tuple(int(i) for i in np.argsort(sign * np.array(self.scores), kind="stable"))

    @property
    def tied_sets(self) -> tuple[tuple[int, ...], ...]:
        """The maximal groups in which no pair is shown to differ, from the group with the best
        member on.

        That is no equality, and not transitive: A may not be shown to differ from B nor B from C
        while A beats C. Then A, B and B, C are groups.
        """
        if self.status != "ok":
            return ()
        # maximal cliques of the graph whose edges are pairs not shown to differ
        rank = {m: i for i, m in enumerate(self.order)}
        tied = ~self.distinct()
        np.fill_diagonal(tied, False)
        neighbours = [set(np.flatnonzero(row).tolist()) for row in tied]
        groups = [
            tuple(sorted(g, key=rank.__getitem__))
            for g in _cliques(neighbours, set(), set(range(len(neighbours))), set())
        ]
        return tuple(sorted(groups, key=lambda g: [rank[m] for m in g]))

    @property
    def rank_intervals(self) -> tuple[tuple[int, int], ...]:
        """For each respondent the best and the worst rank that the tests leave: [1 + surely better,
        M - surely worse].
        """
        if self.status != "ok":
            return ()
        sign = 1.0 if self.higher_is_better else -1.0
        scores_higher = self.distinct() & (sign * np.array(self.difference) > 0)
        # only a pair that is shown to differ says which of both is better
        m = len(self.scores)
        return tuple(
            (1 + int(scores_higher[:, i].sum()), m - int(scores_higher[i].sum())) for i in range(m)
        )

    def separable_pairs(self) -> tuple[int, int]:
        """How many of all pairs differ, and how many pairs there are."""
        upper = np.triu_indices(len(self.scores), 1)
        return int(self.distinct()[upper].sum()), len(upper[0])

    def neighbour_pairs(self) -> tuple[NeighbourPair, ...]:
        """Return each respondent with the next in rank, from the first rank on."""
        sign = 1.0 if self.higher_is_better else -1.0
        order = self.order
        p = np.array(self.p, dtype=np.float64)
        is_alike = p > 1 - self.level
        pairs = []
        for k, (a, b) in enumerate(pairwise(order)):
            # rivals: who is not shown to differ from the two could have stood in their places
            n_above = 1 + int(is_alike[a, list(order[:k])].sum())
            n_below = 1 + int(is_alike[b, list(order[k + 2 :])].sum())
            pairs.append(
                NeighbourPair(
                    a,
                    b,
                    sign * self.difference[a][b],
                    self.se[a][b],
                    self.p[a][b],
                    self.items[a][b] if self.items else 0,
                    self.clusters[a][b] if self.clusters else 0,
                    n_above * n_below,
                )
            )
        return tuple(pairs)


def _cliques(
    neighbours: list[set[int]], clique: set[int], candidates: set[int], excluded: set[int]
) -> Iterator[set[int]]:
    """Bron and Kerbosch's search with a pivot."""
    if not candidates:
        if not excluded:
            yield clique
        return
    # the pivot with most neighbours leaves the fewest branches
    pivot = max(candidates | excluded, key=lambda v: len(neighbours[v] & candidates))
    for v in sorted(candidates - neighbours[pivot]):
        yield from _cliques(
            neighbours, clique | {v}, candidates & neighbours[v], excluded & neighbours[v]
        )
        candidates = candidates - {v}
        excluded = excluded | {v}


def paired_differences(
    scores: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    level: float = 0.95,
    higher_is_better: bool = True,
) -> PairwiseDifferences:
    """Compare all pairs of respondents item by item, with cluster-robust standard errors.

    Respondents answer the same items, so a hard item lowers both: the paired difference is far more
    exact than two separate intervals, and overlapping intervals of two scores do not mean that they
    are tied. Items about one picture move together and count as one cluster.

    Parameters
    ----------
    scores : array_like, shape (respondents, items)
        A pair is compared over the items that both answered.
    clusters : array_like, shape (items,), optional
        A label each, such as the picture.
    level : float, default 0.95
        Confidence level of the intervals.
    higher_is_better : bool, default True
        Whether a higher score is better.

    Returns
    -------
    PairwiseDifferences
        The status is `insufficient` with fewer than 2 respondents, or where no pair shares 2
        clusters; a pair that shares fewer has no p-value.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        d_ab = mean_i(x_a - x_b),   SE^2 = C / (C - 1) sum_c (sum_{i in c} (x_ai - x_bi - d_ab))^2
            / n^2

    with Student's t on C - 1 degrees of freedom. Where every cluster differs by the same amount the
    standard error is 0 and the exact sign test over clusters is used.

    The tests generalise over items, for these respondents.

    References
    ----------
    .. [1] Miller, E. (2024). Adding error bars to evals. arXiv 2411.00640.
    .. [2] Liang, K.-Y. and Zeger, S. L. (1986). Biometrika, 73, 13-22.

    Examples
    --------
    >>> right = [[1, 1, 1, 1, 1, 1, 0, 1], [1, 1, 1, 1, 1, 0, 0, 1], [0, 0, 0, 1, 0, 0, 0, 0]]
    >>> result = paired_differences(right)
    >>> result.tied_sets, result.rank_intervals
    (((0, 1), (2,)), ((1, 2), (1, 2), (3, 3)))
    """
    x = float_array(scores, "respondents, items")
    # items that nobody answered would make clusters of nothing
    label = cluster_labels(clusters, x.shape[1])
    answered = np.isfinite(x).any(axis=0)
    x = x[:, answered]
    label = label[answered]
    scored = np.isfinite(x)
    n_labels = len(np.unique(label))
    if len(x) < 2 or n_labels < 2:
        return _no_differences(x.shape[1], len(x), n_labels, level, higher_is_better)
    if scored.all():
        return _complete_differences(x, label, level, higher_is_better)
    filled = np.where(scored, x, 0.0)
    with np.errstate(invalid="ignore"):
        mean = filled.sum(axis=1) / scored.sum(axis=1)
    difference = np.zeros((len(x), len(x)))
    se = np.zeros_like(difference)
    n_items = difference.astype(np.int64)
    n_clusters = n_items.copy()
    for a, row in enumerate(filled):
        shared = scored & scored[a]
        # of a row against all others at once, over the items that both answered
        sums, sizes = cluster_sums(np.where(shared, row - filled, 0.0)[None], shared, label)
        difference[a], se[a] = mean_with_error(sums[0], sizes)
        n_items[a] = shared.sum(axis=1)
        n_clusters[a] = (sizes > 0).sum(axis=1)
    np.fill_diagonal(difference, 0.0)
    return pairwise_tests(
        mean,
        difference,
        se,
        items=n_items,
        clusters=n_clusters,
        level=level,
        higher_is_better=higher_is_better,
    )


def _complete_differences(
    x: Array, label: npt.NDArray[np.generic], level: float, higher_is_better: bool
) -> PairwiseDifferences:
    """All differences in one matrix product, where every respondent answered every item."""
    m, n = x.shape
    c = len(np.unique(label))
    mean = x.mean(axis=1)
    residual, _ = cluster_sums(x - mean[:, None], np.isfinite(x), label)
    # cluster-robust covariances of the mean scores (Liang and Zeger 1986)
    cross = residual @ residual.T * c / max(1, c - 1) / n**2
    variances = np.diag(cross)
    # Var(a - b) = Var(a) + Var(b) - 2 Cov(a, b): what makes an item hard for both cancels
    variance = variances[:, None] + variances[None, :] - 2 * cross
    # what is left of equal answers after subtraction is rounding
    tolerance = 1e-12 * (variances[:, None] + variances[None, :]) + (1e-12 * np.abs(x).max()) ** 2
    variance = np.where(variance <= tolerance, 0.0, variance)
    return pairwise_tests(
        mean,
        mean[:, None] - mean[None, :],
        np.sqrt(variance),
        items=np.full((m, m), n),
        clusters=np.full((m, m), c),
        level=level,
        higher_is_better=higher_is_better,
    )


def _no_differences(
    n_items: int, m: int, n_clusters: int, level: float, higher_is_better: bool
) -> PairwiseDifferences:
    return PairwiseDifferences(
        (),
        (),
        (),
        (),
        (),
        n_items,
        n_clusters,
        level,
        higher_is_better,
        status="insufficient",
        reason=f"a comparison needs 2 respondents and 2 clusters of items, there are {m} and"
        f" {n_clusters}",
    )


def pairwise_tests(
    scores: Array,
    difference: Array,
    se: Array,
    *,
    items: npt.NDArray[np.int64],
    clusters: npt.NDArray[np.int64],
    level: float = 0.95,
    higher_is_better: bool = True,
) -> PairwiseDifferences:
    """Test differences of pairs whose standard errors are known (Student's t, clusters - 1 df).

    Parameters
    ----------
    scores : Array, shape (respondents,)
        The scores, of which the ranking is made.
    difference, se : Array, shape (respondents, respondents)
        The differences over what both answered, with their standard errors.
    items, clusters : Array, shape (respondents, respondents)
        How many items, and clusters of items, both answered.
    level : float, default 0.95
        Confidence level of the tests.
    higher_is_better : bool, default True
        Whether a higher score is better.

    Returns
    -------
    PairwiseDifferences
        A pair that shares fewer than 2 clusters has no p-value.
    """
    pairs = np.triu_indices(len(scores), 1)
    largest = int(clusters[pairs].max())
    if largest < 2:
        return _no_differences(
            int(items[pairs].max()), len(scores), largest, level, higher_is_better
        )
    # a single cluster has no error over clusters
    tested = clusters >= 2
    se = np.where(tested, se, np.nan)
    differences = _test_differences(
        scores,
        difference,
        se,
        np.where(tested, clusters - 1.0, np.nan),
        # the exact two-sided sign test, where all clusters differ the same way
        2 * 0.5 ** clusters.astype(np.float64),
        level,
        higher_is_better,
    )
    return replace(
        differences,
        # pairs may share unequal numbers of items: the median stands for the study
        n_items=int(np.median(items[pairs])),
        n_clusters=int(np.median(clusters[pairs])),
        items=_nested_counts(items),
        clusters=_nested_counts(clusters),
    )


def independent_differences(
    scores: ArrayLike,
    errors: ArrayLike,
    *,
    level: float = 0.95,
    higher_is_better: bool = True,
) -> PairwiseDifferences:
    """Compare all pairs of respondents from their scores and standard errors alone.

    For published tables. Paired answers make the differences more exact, so this is the cautious
    side.

    Parameters
    ----------
    scores, errors : array_like, shape (respondents,)
        Scores and their standard errors, such as sqrt(p (1 - p) / n).
    level : float, default 0.95
        Confidence level of the intervals.
    higher_is_better : bool, default True
        Whether a higher score is better.

    Returns
    -------
    PairwiseDifferences
        The differences, as if each respondent had answered other items. The status is
        `insufficient` with fewer than 2 respondents.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        SE^2 = SE_a^2 + SE_b^2, standard normal

    Examples
    --------
    >>> result = independent_differences([0.80, 0.70, 0.69], [0.02, 0.02, 0.02])
    >>> result.separable_pairs()
    (2, 3)
    """
    s, e = equal_shape_arrays(scores, errors, "respondents")
    if len(s) < 2:
        return PairwiseDifferences(
            (),
            (),
            (),
            (),
            (),
            0,
            0,
            level,
            higher_is_better,
            status="insufficient",
            reason=f"a comparison needs 2 respondents, there are {len(s)}",
        )
    # independent scores: variances add
    se = np.sqrt(e[:, None] ** 2 + e[None, :] ** 2)
    differences = s[:, None] - s[None, :]
    return _test_differences(
        s, differences, se, np.full_like(se, np.inf), np.ones_like(se), level, higher_is_better
    )


def _test_differences(
    mean: Array,
    difference: Array,
    se: Array,
    df: Array,
    exact: Array,
    level: float,
    higher_is_better: bool,
) -> PairwiseDifferences:
    """Return the tested differences; `exact` are the p-values of differences without error."""
    is_exact = se == 0
    ratio = np.abs(difference) / np.where(is_exact, 1.0, se)
    # an infinite df is a normal error, which Student's formula does not take
    p = 2 * np.where(np.isinf(df), ndtr(-ratio), stdtr(df, -ratio))
    p = np.where(is_exact, np.where(np.abs(difference) > 1e-12, exact, 1.0), p)
    np.fill_diagonal(p, np.nan)
    np.fill_diagonal(se, np.nan)
    # each pair once; the diagonal is NaN and no test
    upper = np.triu_indices(len(mean))
    adjusted = np.full_like(p, np.nan)
    adjusted[upper] = holm(p[upper])
    adjusted.T[upper] = adjusted[upper]
    return PairwiseDifferences(
        tuple(mean.tolist()),
        _nested_tuples(difference),
        _nested_tuples(se),
        _nested_tuples(p),
        _nested_tuples(adjusted),
        0,
        0,
        level,
        higher_is_better,
    )


def _nested_tuples(table: Array) -> Table:
    return tuple(map(tuple, table.tolist()))


def _nested_counts(table: npt.NDArray[np.int64]) -> Counts:
    return tuple(map(tuple, table.tolist()))


# --- planned contrasts: each respondent and the next in rank ---

ContrastOutcome = Literal["differ", "equal", "not_known"]
"""Shown to differ, shown to be equal within the margin, or neither."""


@dataclass(frozen=True, slots=True)
class RankContrast:
    """The difference between a respondent and the next in rank, over new items.

    Attributes
    ----------
    difference, low, high
        By how much the higher one leads over the items that both answered, with the interval of
        this pair alone.
    p, adjusted
        Of the test that the two do not differ, and adjusted by rank.
    equal_p, equal_adjusted
        Of the two one-sided tests that they lie further apart than the margin.
    margin
        The difference within which two scores count as equal.
    level
        The confidence level of the outcome.
    """

    difference: float
    low: float
    high: float
    p: float
    adjusted: float
    equal_p: float
    equal_adjusted: float
    margin: float
    level: float = 0.95

    @property
    def outcome(self) -> ContrastOutcome:
        """What the tests show: a difference, else equality within the margin, else neither."""
        if self.adjusted <= 1 - self.level:
            return "differ"
        if self.equal_adjusted <= 1 - self.level:
            return "equal"
        return "not_known"


def adjust_by_rank(p: Sequence[float]) -> Array:
    """Return the p-values of neighbours, from the first rank on, adjusted in their two families.

    The contrast of the first two is a question of its own; the others share the level by the
    fallback procedure, so that none depends on those below it.

    >>> adjust_by_rank([0.03, 0.01, 0.03]).round(3).tolist()
    [0.03, 0.02, 0.045]
    """
    return np.concatenate([np.asarray(p[:1], dtype=np.float64), fallback(p[1:])])


def rank_contrasts(
    pairs: Sequence[NeighbourPair],
    *,
    margin: float,
    width: float | None = 1.0,
    level: float = 0.95,
) -> tuple[RankContrast, ...]:
    """Test whether each respondent and the next in rank differ, or are equal.

    The contrasts are planned: that of the first two by itself, and those below it as a family, in
    order of rank. Respondents that join far below change no outcome above them.

    Parameters
    ----------
    pairs : sequence of NeighbourPair
        The neighbours from the first rank on (`PairwiseDifferences.neighbour_pairs`).
    margin : float
        The difference within which two scores count as equal, in the unit of the score.
    width : float, optional
        The width of the score's scale; None where it has no ends.
    level : float, default 0.95
        Confidence level of intervals and outcomes.

    Returns
    -------
    tuple of RankContrast
        A contrast of two that share fewer than 2 clusters is `not_known`.

    Notes
    -----
    Equality is shown by two one-sided tests [1]_, d +- t SE within +-margin. Where hardly any
    answer differs, SE is not known well: a difference of the margin needs answers that differ, so
    SE is at least what they give, as in the score test for matched pairs [2]_:

        SE_0^2 >= margin (width - margin) / C

    Of many respondents the two next to each other are the closest: the p-value of equality is
    multiplied by the pairs that could have stood there (`NeighbourPair.rivals`). That the closest
    ones differ is not claimed too often: ranking makes differences between neighbours smaller.

    Both kinds of p-values are adjusted by `adjust_by_rank`, so that the chance of a false "differ"
    is at most 1 - level for the first two, and so is that of any below them; likewise of "equal".
    With items of random difficulty and slope and pictures that favour models, "differ" was false
    in .05 of 2,000 studies of two equal models, .001 of ten, and, of five pairs of equals, in .04
    for the first two and .01 below; "equal" in .04 of 1,000 studies of two a margin apart, .04 of
    one above nine, and .05 and .05 of ten in steps of the margin (`tests/test_rank_contrasts.py`).

    References
    ----------
    .. [1] Schuirmann, D. J. (1987). Journal of Pharmacokinetics and Biopharmaceutics, 15, 657-680.
    .. [2] Tango, T. (1998). Equivalence test and confidence interval for the difference in
       proportions for the paired-sample design. Statistics in Medicine, 17, 891-908.

    Examples
    --------
    >>> pairs = [NeighbourPair(0, 1, 0.06, 0.02, 0.003, 400, 400),
    ...     NeighbourPair(1, 2, 0.001, 0.003, 0.74, 4000, 4000)]
    >>> [contrast.outcome for contrast in rank_contrasts(pairs, margin=0.01)]
    ['differ', 'equal']
    """
    equal_p = [_equality_p(pair, margin, width) for pair in pairs]
    adjusted = adjust_by_rank([pair.p for pair in pairs])
    equal_adjusted = adjust_by_rank(equal_p)
    contrasts = []
    for k, pair in enumerate(pairs):
        # one cluster has no error over clusters
        df = pair.clusters - 1 if pair.clusters > 1 else math.nan
        half_width = float(stdtrit(df, 0.5 + level / 2)) * pair.se
        if pair.se == 0 and width is not None:
            half_width = _identical_half_width(pair.clusters, width, level)
        contrasts.append(
            RankContrast(
                difference=pair.difference,
                low=pair.difference - half_width,
                high=pair.difference + half_width,
                p=pair.p,
                adjusted=float(adjusted[k]),
                equal_p=equal_p[k],
                equal_adjusted=float(equal_adjusted[k]),
                margin=margin,
                level=level,
            )
        )
    return tuple(contrasts)


def _identical_half_width(clusters: int, width: float, level: float) -> float:
    """Return how far two may lie apart who scored alike in every cluster.

    The standard error of equal scores is 0 and says nothing: new clusters may differ. The largest
    share of clusters that differ, of which none would be seen with half of what `level` leaves.
    """
    if clusters < 2:
        return math.nan
    return float(width * (1 - ((1 - level) / 2) ** (1 / clusters)))


def _equality_p(pair: NeighbourPair, margin: float, width: float | None) -> float:
    """Return the p-value of two one-sided tests, for as many pairs as there could be."""
    if pair.clusters < 2:
        return math.nan
    if width is None:
        floor = 0.0
    else:
        # Tango (1998): a true difference d in scores of width w needs a variance of d (w - d) or
        # more
        floor = margin * max(0.0, width - margin) / pair.clusters
    error = math.sqrt(max(pair.se**2, floor))
    if not error > 0:
        return math.nan
    # the two one-sided tests reduce to that against the nearer margin
    p = float(stdtr(pair.clusters - 1, (abs(pair.difference) - margin) / error))
    return min(1.0, pair.rivals * p)
