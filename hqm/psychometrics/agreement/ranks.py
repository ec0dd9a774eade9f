"""How far the order of a leaderboard survives a rerun, and how far two benchmarks give the same
order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from hqm.psychometrics.inference.distributions import average_ranks, kendall_tau
from hqm.psychometrics.result import (
    Array,
    ArrayLike,
    Coefficient,
    Outcome,
    Status,
    equal_shape_arrays,
    finite_mean,
    is_constant,
)
from hqm.psychometrics.validity.correlation import paired, pearson


@dataclass(frozen=True, slots=True)
class TopK:
    """Overlap of the k best respondents of two runs.

    `same_set` is the probability of the same set, `overlap` the expected share of common members,
    `chance` the overlap of two orders drawn by lot, k / M.
    """

    k: int
    same_set: float
    overlap: float
    chance: float


@dataclass(frozen=True, slots=True, eq=False)
class RankStability(Outcome):
    """Stability of an order under the error variance of the scores.

    Attributes
    ----------
    same_winner
        Probability that two runs have the same winner.
    top
        One entry for every k below the number of respondents.
    mean_flip, adjacent_flip, top5_flip
        Probability that two runs order a pair in opposite ways, mean over all pairs, over
        neighbours, over the pairs among the five best.
    expected_tau, tau_to_truth
        Expected Kendall correlation of two runs, and of a run with the order without noise.
    status, reason
        `ok`, or why there are no numbers (all NaN then), in a sentence.
    """

    same_winner: float = math.nan
    top: tuple[TopK, ...] = ()
    mean_flip: float = math.nan
    adjacent_flip: float = math.nan
    top5_flip: float = math.nan
    expected_tau: float = math.nan
    tau_to_truth: float = math.nan


@dataclass(frozen=True, slots=True, eq=False)
class PairOrder:
    """Probabilities of the order of each pair in two runs, (respondents, respondents).

    `probability_above[a, b]` is the probability that a run puts a above b, `flip` that two runs
    order the pair in opposite ways. `expected_tau` is the expected Kendall correlation between two
    runs, `tau_to_truth` between a run and the order without noise; a tie counts as half in both
    directions (tau-a).
    """

    probability_above: Array
    flip: Array
    expected_tau: float
    tau_to_truth: float

    @property
    def mean_flip(self) -> float:
        """Mean flip probability over all pairs."""
        return finite_mean(self.flip[np.triu_indices(len(self.flip), 1)])


def pair_order(scores: ArrayLike, noise: ArrayLike, *, n_items: int | None = None) -> PairOrder:
    """Compute the probability that two runs order a pair of respondents in opposite ways.

    A correlation of .99 sounds like a fixed order; the flips say which pairs a rerun turns round.

    Parameters
    ----------
    scores, noise : array_like, shape (respondents,)
        The best guess at the true scores, and the variance of a run's score over seeds.
    n_items : int, optional
        How many items a score counts, for the continuity correction; None without it.

    Returns
    -------
    PairOrder
        The probabilities of all pairs. Pairs with a missing number are NaN.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        q = Phi(|S_a - S_b| / sqrt(v_a + v_b)),   flip = 2 q (1 - q),
        expected tau = mean of (2 q - 1)^2
        with counts of n items: above = Phi((S_a - S_b - .5 / n) / sd), and ties take the rest

    Examples
    --------
    >>> round(float(pair_order([0.5, 0.6], [0.005, 0.005]).flip[0, 1]), 4)
    0.267
    """
    s, v = equal_shape_arrays(scores, noise, "respondents")
    difference = s[:, None] - s
    # two runs are independent, so their variances add
    deviation = np.sqrt(v[:, None] + v)
    continuity = 0.0 if n_items is None else 0.5 / n_items
    # rounding makes gaps of 1e-17 between equal scores
    difference = np.where(np.abs(difference) < 1e-12, 0.0, difference)
    with np.errstate(divide="ignore", invalid="ignore"):
        probability_above = np.where(
            deviation > 0,
            ndtr((difference - continuity) / deviation),
            np.where(np.isnan(difference), np.nan, difference > 0),
        )
    # one run has a above b and the other b above a, in either order
    flip = 2 * probability_above * probability_above.T
    np.fill_diagonal(flip, np.nan)
    upper = np.triu_indices(len(s), 1)
    # P(above) - P(below) is the expected sign of a pair in one run; its square that of two runs
    signed = (probability_above - probability_above.T)[upper]
    truth = np.sign(difference)[upper]
    return PairOrder(probability_above, flip, finite_mean(signed**2), finite_mean(signed * truth))


def rank_stability(
    scores: ArrayLike,
    noise: ArrayLike,
    rng: np.random.Generator,
    *,
    k: Sequence[int] = (1, 3, 5, 10),
    draws: int = 10_000,
    n_items: int | None = None,
    higher_is_better: bool = True,
) -> RankStability:
    """Estimate how often a rerun repeats the winner, the top k and the order of pairs.

    Pairs of runs are drawn from normal distributions around the scores with the noise of the items;
    nothing has to be run again. Observed scores spread more than true ones, so the answers are a
    little too rosy.

    Parameters
    ----------
    scores : array_like, shape (respondents,)
        Scores; a respondent without a score or without noise is left out.
    noise : array_like, shape (respondents,)
        Variance of one run's score over seeds (`rho_g(...).noise`, `expected_retest(...).noise`).
    rng : numpy.random.Generator
        Draws the runs.
    k : sequence of int, default (1, 3, 5, 10)
        Sizes of the top sets; those not below the number of respondents are passed over.
    draws : int, default 10000
        How many pairs of runs are drawn.
    n_items : int, optional
        How many items a score counts, for the continuity correction of the pairs.
    higher_is_better : bool, default True
        Whether the winner has the highest score (False for hallucination rates).

    Returns
    -------
    RankStability
        The shares of pairs of runs that repeat the order. The status is `insufficient` for fewer
        than 3 respondents, `degenerate` when all have the same score, `not_informative` with its
        values when there is no noise at all.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        S*_1, S*_2 ~ N(S, diag(v))

    Examples
    --------
    >>> result = rank_stability([0.9, 0.5, 0.1], [1e-4] * 3, np.random.default_rng(0))
    >>> result.same_winner, result.top[0].chance == 1 / 3, round(result.expected_tau, 6)
    (1.0, True, 1.0)
    """
    s, v = paired(scores, noise)
    n = len(s)
    if n < 3:
        return RankStability.absent(
            "insufficient", f"rank stability needs 3 respondents with noise, there are {n}"
        )
    if is_constant(s):
        return RankStability.absent("degenerate", "all respondents have the same score")
    if (v < 0).any():
        return RankStability.absent("not_applicable", "a noise variance is negative")
    best = np.argsort(-s if higher_is_better else s, kind="stable")
    s = s[best]
    v = v[best]
    pairs = pair_order(s, v, n_items=n_items)
    runs = s + np.sqrt(v) * rng.standard_normal((2, draws, n))
    worst_last = -runs if higher_is_better else runs
    if (v > 0).all():
        order = worst_last.argsort(axis=-1)
    else:
        # scores without noise may tie, and ties are broken by lot, in each run anew: lexsort sorts
        # by its last key first
        order = np.lexsort((rng.random(runs.shape), worst_last), axis=-1)
    rank = np.empty_like(order)
    # the inverse of a permutation: ranks from the order
    np.put_along_axis(rank, order, np.broadcast_to(np.arange(n), order.shape), axis=-1)
    top = []
    for size in k:
        if not 0 < size < n:
            continue
        # (draws,): share of the top that both runs have
        shared = ((rank[0] < size) & (rank[1] < size)).sum(axis=1) / size
        top.append(TopK(size, float((shared == 1).mean()), float(shared.mean()), size / n))
    status: Status = "ok" if v.any() else "not_informative"
    top_five = pairs.flip[:5, :5]
    return RankStability(
        float((order[0, :, 0] == order[1, :, 0]).mean()),
        tuple(top),
        pairs.mean_flip,
        finite_mean(np.diag(pairs.flip, 1)),
        finite_mean(top_five[np.triu_indices(len(top_five), 1)]),
        pairs.expected_tau,
        pairs.tau_to_truth,
        status=status,
        reason="" if v.any() else "the scores have no noise, so the order repeats by construction",
    )


def top_k_overlap(
    x: ArrayLike, y: ArrayLike, k: int, *, higher_is_better: bool = True
) -> Coefficient:
    """Compute the share of the k best that two administrations have in common.

    Parameters
    ----------
    x, y : array_like, shape (respondents,)
        Scores in both administrations; pairs with a missing score are left out.
    k : int
        Number of the best respondents.
    higher_is_better : bool, default True
        Whether a higher score is better.

    Returns
    -------
    Coefficient
        The overlap. Two orders drawn by lot share k / M. The status is `insufficient` unless 0 < k
        < number of respondents, and `degenerate` when an administration gives all respondents the
        same score. There is no interval.

    Raises
    ------
    ValueError
        An array has another shape.

    Examples
    --------
    >>> top_k_overlap([4, 3, 2, 1], [9, 8, 8, 1], 2).value
    0.75
    """
    a, b = paired(x, y)
    n = len(a)
    if not 0 < k < n:
        return Coefficient.absent(
            "insufficient", f"a top {k} needs more than {max(k, 1)} respondents, there are {n}", n
        )
    if not (np.ptp(a) > 0 and np.ptp(b) > 0):
        return Coefficient.absent(
            "degenerate", "an administration gives all respondents the same score", n
        )
    a, b = (a, b) if higher_is_better else (-a, -b)
    return Coefficient(expected_overlap(a, b, k) / k, n=n)


def top_k_probability(x: Array, k: int) -> Array:
    """Return each entry's probability to be among the k highest; ties are broken at random."""
    boundary = np.sort(x)[-k]
    higher = x > boundary
    tied = x == boundary
    # ties at the boundary share the places that are left
    return np.asarray(higher + tied * (k - higher.sum()) / tied.sum())


@dataclass(frozen=True, slots=True)
class SubsetAgreement:
    """Pearson, Kendall's tau-b and the overlap of the best k in a subset of respondents."""

    n: int
    pearson: float
    tau: float
    top_k: float
    k: int
    chance: float


@dataclass(frozen=True, slots=True)
class BenchmarkAgreement(Outcome):
    """Agreement of two benchmarks on all respondents, on the best half, and over random halves.

    `tau_range` holds 95% of the random halves and says how much the choice of respondents matters;
    it is no confidence interval.
    """

    all: SubsetAgreement | None = None
    top_half: SubsetAgreement | None = None
    tau_range: tuple[float, float] = (math.nan, math.nan)


def expected_overlap(x: ArrayLike, y: ArrayLike, k: int) -> float:
    """How many respondents are expected among the best k of both; who is tied at the edge is drawn
    by lot in each.

    >>> expected_overlap([3, 2, 1, 0], [3, 1, 2, 0], 2), expected_overlap([3, 2, 2, 0],
    ...     [3, 1, 2, 0], 2)
    (1.0, 1.5)
    """
    a, b = paired(x, y)
    # drawn by lot in each, so probabilities multiply
    return float((top_k_probability(a, k) * top_k_probability(b, k)).sum())


def benchmark_agreement(
    first: ArrayLike,
    second: ArrayLike,
    rng: np.random.Generator,
    *,
    halves: int = 200,
    k: int = 3,
) -> BenchmarkAgreement:
    """Estimate how two benchmarks agree, over several subsets of respondents.

    A correlation over models from the weakest to the strongest says little about whether the two
    agree among those in contention. The best half is chosen by the mean of the ranks in both.

    Parameters
    ----------
    first, second : array_like, shape (respondents,)
        Higher is better in both; respondents that lack a score are left out.
    rng : numpy.random.Generator
        Draws the random halves.
    halves : int, default 200
        Number of random halves.
    k : int, default 3
        The length of the list of the best.

    Returns
    -------
    BenchmarkAgreement
        Agreement in all, the best half, and random halves of the respondents. The status is
        `insufficient` below 3 respondents or where k exceeds their number, `degenerate` where a
        benchmark does not vary. The half and the random halves need 6 respondents; a part that
        cannot be had is None or NaN.

    Raises
    ------
    ValueError
        An array has another shape.

    References
    ----------
    .. [1] Perlitz, Y. et al. (2024). Do these LLM benchmarks agree? arXiv 2407.13696.

    Examples
    --------
    >>> result = benchmark_agreement([0.9, 0.8, 0.7, 0.4, 0.3, 0.2], [0.7, 0.8, 0.9, 0.3, 0.2, 0.4],
    ...     np.random.default_rng(0))
    >>> round(result.all.pearson, 3), round(result.top_half.pearson,
    ...     3), result.all.top_k, result.all.chance
    (0.831, -1.0, 3.0, 1.5)
    """
    x, y = paired(first, second)
    n = len(x)
    if n < 3 or not 1 <= k <= n:
        return BenchmarkAgreement.absent(
            "insufficient",
            f"agreement needs 3 respondents and k among them, there are {n} and k is {k}",
        )
    if is_constant(x) or is_constant(y):
        return BenchmarkAgreement.absent(
            "degenerate", "all respondents have the same score in a benchmark"
        )
    overall = _subset(x, y, k)
    if n < 6:
        return BenchmarkAgreement(overall, reason=f"halves need 6 respondents, there are {n}")
    size = (n + 1) // 2
    # the mean of both ranks, and not of the scores, which may have other units
    best = np.argsort(-(average_ranks(x) + average_ranks(y)), kind="stable")[:size]
    random_halves = np.array(
        [rng.permutation(n)[:size] for _ in range(halves)], dtype=np.int64
    ).reshape(-1, size)
    taus = kendall_tau(x[random_halves], y[random_halves])
    return BenchmarkAgreement(
        overall, _subset(x[best], y[best], min(k, size)), _central_interval(taus)
    )


def _central_interval(values: Array) -> tuple[float, float]:
    finite_values = values[np.isfinite(values)]
    if not len(finite_values):
        return math.nan, math.nan
    low, high = np.quantile(finite_values, [0.025, 0.975])
    return float(low), float(high)


def _subset(x: Array, y: Array, k: int) -> SubsetAgreement:
    tau = float(kendall_tau(x, y))
    shared = expected_overlap(x, y, k)
    # by chance each of k is among the other's k with probability k / n
    return SubsetAgreement(len(x), pearson(x, y).value, tau, shared, k, k * k / len(x))
