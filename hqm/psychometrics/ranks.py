"""How far the order of a leaderboard survives a rerun, and how far two benchmarks give the same
order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from hqm.psychometrics.correlation import paired, pearson
from hqm.psychometrics.distributions import average_ranks, kendall_tau
from hqm.psychometrics.result import (
    Array,
    ArrayLike,
    Coefficient,
    Outcome,
    Status,
    is_constant,
    mean_of_known,
    shaped_alike,
)


@dataclass(frozen=True, slots=True)
class TopK:
    """How the k best of one run meet the k best of another.

    `same_set` is the probability of the same set, `overlap` the expected share of common members,
    `chance` the overlap of two orders drawn by lot, k / M.
    """

    k: int
    same_set: float
    overlap: float
    chance: float


@dataclass(frozen=True, slots=True, eq=False)
class RankStability(Outcome):
    """Stability of an order under the scores' noise.

    - `same_winner`: Probability that two runs have the same winner.
    - `top`: One entry for every k below the number of respondents.
    - `mean_flip, adjacent_flip, top5_flip`: Probability that two runs order a pair in opposite
      ways, mean over all pairs, over neighbours, over the
      pairs among the five best.
    - `expected_tau, tau_to_truth`: Expected Kendall correlation of two runs, and of a run with the
      order without noise.
    - `status, reason`: `ok`, or why there are no numbers (all NaN then), in a sentence.
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
    """What two runs do to the order of each pair; all matrices are (respondents, respondents).

    `above[a, b]` is the probability that a run puts a above b, `flip` that two runs order the pair
    in opposite ways. `expected_tau` is the expected Kendall correlation between two runs,
    `tau_to_truth` between a run and the order without noise; a tie counts as half in both
    directions (tau-a).
    """

    above: Array
    flip: Array
    expected_tau: float
    tau_to_truth: float

    @property
    def mean_flip(self) -> float:
        """Mean flip probability over all pairs."""
        return mean_of_known(self.flip[np.triu_indices(len(self.flip), 1)])


def pair_order(scores: ArrayLike, noise: ArrayLike, *, n_items: int | None = None) -> PairOrder:
    """The probability that two runs order a pair of respondents in opposite ways.

    A correlation of .99 sounds like a fixed order; the flips say which pairs a rerun turns round.

        q = Phi(|S_a - S_b| / sqrt(v_a + v_b)),   flip = 2 q (1 - q),
        expected tau = mean of (2 q - 1)^2
        with counts of n items: above = Phi((S_a - S_b - .5 / n) / sd), and ties take the rest

    - `scores, noise`: (respondents,): the best guess at the true scores, and the variance of a
      run's score over seeds.
    - `n_items`: How many items a score counts, for the continuity correction; None without it.

    Pairs with a missing number are NaN.

    >>> round(float(pair_order([0.5, 0.6], [0.005, 0.005]).flip[0, 1]), 4)
    0.267
    """
    s, v = shaped_alike(scores, noise, "respondents")
    gap = s[:, None] - s
    deviation = np.sqrt(v[:, None] + v)
    step = 0.0 if n_items is None else 0.5 / n_items
    # rounding makes gaps of 1e-17 between equal scores
    gap = np.where(np.abs(gap) < 1e-12, 0.0, gap)
    with np.errstate(divide="ignore", invalid="ignore"):
        above = np.where(
            deviation > 0, ndtr((gap - step) / deviation), np.where(np.isnan(gap), np.nan, gap > 0)
        )
    flip = 2 * above * above.T
    np.fill_diagonal(flip, np.nan)
    upper = np.triu_indices(len(s), 1)
    signed = (above - above.T)[upper]
    truth = np.sign(gap)[upper]
    return PairOrder(above, flip, mean_of_known(signed**2), mean_of_known(signed * truth))


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
    """Whether a rerun gives the same winner, the same top k and the same order of pairs.

    Pairs of runs are drawn from normal distributions around the scores with the noise of the items;
    nothing has to be run again. Observed scores spread more than true ones, so the answers are a
    little too rosy.

        S*_1, S*_2 ~ N(S, diag(v))

    - `scores`: (respondents,): scores; a respondent without a score or without noise is left out.
    - `noise`: (respondents,): variance of one run's score over seeds (`rho_g(...).noise`,
      `expected_retest(...).noise`).
    - `rng`: Draws the runs.
    - `k`: Sizes of the top sets; those not below the number of respondents are passed over.
    - `draws`: How many pairs of runs are drawn.
    - `n_items`: How many items a score counts, for the continuity correction of the pairs.
    - `higher_is_better`: Whether the winner has the highest score (False for hallucination rates).

    The status is `insufficient` for fewer than 3 respondents, `degenerate` when all have the same
    score, `not_informative` with its values when there is no noise at all.

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
    s, v = s[best], v[best]
    pairs = pair_order(s, v, n_items=n_items)
    runs = s + np.sqrt(v) * rng.standard_normal((2, draws, n))
    # ties are broken by lot, in each run anew
    order = np.lexsort((rng.random(runs.shape), -runs if higher_is_better else runs), axis=-1)
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.broadcast_to(np.arange(n), order.shape), axis=-1)
    top = []
    for size in k:
        if not 0 < size < n:
            continue
        shared = ((rank[0] < size) & (rank[1] < size)).sum(axis=1) / size
        top.append(TopK(size, float((shared == 1).mean()), float(shared.mean()), size / n))
    status: Status = "ok" if v.any() else "not_informative"
    five = pairs.flip[:5, :5]
    return RankStability(
        float((order[0, :, 0] == order[1, :, 0]).mean()),
        tuple(top),
        pairs.mean_flip,
        mean_of_known(np.diag(pairs.flip, 1)),
        mean_of_known(five[np.triu_indices(len(five), 1)]),
        pairs.expected_tau,
        pairs.tau_to_truth,
        status=status,
        reason="" if v.any() else "the scores have no noise, so the order repeats by construction",
    )


def top_k_overlap(
    x: ArrayLike, y: ArrayLike, k: int, *, higher_is_better: bool = True
) -> Coefficient:
    """The share of the k best that two administrations have in common; ties at the boundary are
    averaged over.

    Two orders drawn by lot share k / M. The status is `insufficient` unless 0 < k < number of
    respondents, and `degenerate` when an administration gives all respondents the same score. There
    is no interval.

    - `x, y`: (respondents,): scores in both administrations; pairs with a missing score are left
      out.

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


def among_best(x: Array, k: int) -> Array:
    """The chance of each entry to be among the k highest; ties at the boundary are drawn by lot."""
    boundary = np.sort(x)[-k]
    above, tied = x > boundary, x == boundary
    return np.asarray(above + tied * (k - above.sum()) / tied.sum())


@dataclass(frozen=True, slots=True)
class SubsetAgreement:
    """Pearson, Kendall's tau-b and the overlap of the best k on one choice of respondents."""

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
    return float((among_best(a, k) * among_best(b, k)).sum())


def benchmark_agreement(
    first: ArrayLike,
    other: ArrayLike,
    rng: np.random.Generator,
    *,
    halves: int = 200,
    k: int = 3,
) -> BenchmarkAgreement:
    """How two benchmarks (or a benchmark and an aggregate of others) agree, over several choices of
    respondents.

    A correlation over models from the weakest to the strongest says little about whether the two
    agree among those in contention. The best half is chosen by the mean of the ranks in both.

    Perlitz, Y. et al. (2024). Do these LLM benchmarks agree? arXiv 2407.13696.

    - `first, other`: (respondents,): higher is better in both; respondents that lack a score are
      left out.
    - `rng`: Draws the random halves.
    - `k`: The length of the list of the best.

    The status is `insufficient` below 3 respondents or where k exceeds their number, `degenerate`
    where a benchmark does not vary. The half and the random halves need 6 respondents; a part that
    cannot be had is None or NaN.

    >>> result = benchmark_agreement([0.9, 0.8, 0.7, 0.4, 0.3, 0.2], [0.7, 0.8, 0.9, 0.3, 0.2, 0.4],
    ...     np.random.default_rng(0))
    >>> round(result.all.pearson, 3), round(result.top_half.pearson,
    ...     3), result.all.top_k, result.all.chance
    (0.831, -1.0, 3.0, 1.5)
    """
    x, y = paired(first, other)
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
    whole = _subset(x, y, k)
    if n < 6:
        return BenchmarkAgreement(whole, reason=f"halves need 6 respondents, there are {n}")
    size = (n + 1) // 2
    best = np.argsort(-(average_ranks(x) + average_ranks(y)), kind="stable")[:size]
    drawn = [rng.permutation(n)[:size] for _ in range(halves)]
    taus = np.array([kendall_tau(x[i], y[i]) for i in drawn])
    return BenchmarkAgreement(whole, _subset(x[best], y[best], min(k, size)), _middle(taus))


def _middle(values: Array) -> tuple[float, float]:
    known = values[np.isfinite(values)]
    if not len(known):
        return math.nan, math.nan
    low, high = np.quantile(known, [0.025, 0.975])
    return float(low), float(high)


def _subset(x: Array, y: Array, k: int) -> SubsetAgreement:
    tau, shared = kendall_tau(x, y), expected_overlap(x, y, k)
    return SubsetAgreement(len(x), pearson(x, y).value, tau, shared, k, k * k / len(x))
