"""Do two benchmarks rank the same respondents alike, and does that depend on which respondents one
takes?
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import Array
from hqm.psychometrics.correlation import is_constant, paired
from hqm.psychometrics.distributions import average_ranks
from hqm.psychometrics.ranks import among_best
from hqm.psychometrics.result import Status


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
class BenchmarkAgreement:
    """Agreement of two benchmarks on all respondents, on the best half, and over random halves.

    `top_k` is the expected number of respondents in both lists of the best k, ties at the edge
    counted by their chance; `chance` is k^2 / n. The intervals hold 95% of the random halves and
    say how much the choice of respondents matters; they are no confidence intervals.
    """

    all: SubsetAgreement | None
    top_half: SubsetAgreement | None
    pearson_range: tuple[float, float]
    tau_range: tuple[float, float]
    top_k_range: tuple[float, float]
    halves: int
    undefined: int
    status: Status = "ok"
    reason: str = ""


def kendall_tau_b(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Kendall's tau with a correction for ties; NaN where one side is constant.

        (concordant - discordant) / sqrt(pairs untied in x * pairs untied in y)

    >>> round(kendall_tau_b([1, 2, 3, 4], [1, 3, 2, 4]), 4)
    0.6667
    """
    a, b = paired(x, y)
    upper = np.triu_indices(len(a), 1)
    dx, dy = (np.sign(v[:, None] - v[None, :])[upper] for v in (a, b))
    untied = float((dx != 0).sum()) * float((dy != 0).sum())
    return float((dx * dy).sum()) / math.sqrt(untied) if untied > 0 else math.nan


def expected_overlap(x: npt.ArrayLike, y: npt.ArrayLike, k: int) -> float:
    """How many respondents are expected among the best k of both; who is tied at the edge is drawn
    by lot in each.

    >>> expected_overlap([3, 2, 1, 0], [3, 1, 2, 0], 2), expected_overlap([3, 2, 2, 0], [3, 1, 2, 0], 2)
    (1.0, 1.5)
    """
    a, b = paired(x, y)
    return float((among_best(a, k) * among_best(b, k)).sum())


def benchmark_agreement(
    first: npt.ArrayLike,
    other: npt.ArrayLike,
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

    >>> result = benchmark_agreement([0.9, 0.8, 0.7, 0.4, 0.3, 0.2], [0.7, 0.8, 0.9, 0.3, 0.2, 0.4], np.random.default_rng(0))
    >>> round(result.all.pearson, 3), round(result.top_half.pearson, 3), result.all.top_k, result.all.chance
    (0.831, -1.0, 3.0, 1.5)
    """
    x, y = paired(first, other)
    n = len(x)
    nan = (math.nan, math.nan)
    if n < 3 or not 1 <= k <= n:
        reason = f"agreement needs 3 respondents and k among them, there are {n} and k is {k}"
        return BenchmarkAgreement(None, None, nan, nan, nan, 0, 0, "insufficient", reason)
    if is_constant(x) or is_constant(y):
        reason = "all respondents have the same score in a benchmark"
        return BenchmarkAgreement(None, None, nan, nan, nan, 0, 0, "degenerate", reason)
    whole = _subset(x, y, k)
    if n < 6:
        reason = f"halves need 6 respondents, there are {n}"
        return BenchmarkAgreement(whole, None, nan, nan, nan, 0, 0, "ok", reason)
    size = (n + 1) // 2
    best = np.argsort(-(average_ranks(x) + average_ranks(y)), kind="stable")[:size]
    drawn = [rng.permutation(n)[:size] for _ in range(halves)]
    subsets = [_subset(x[i], y[i], min(k, size)) for i in drawn]
    table = np.array([[f.pearson, f.tau, f.top_k] for f in subsets]).reshape(-1, 3)
    ranges = [_middle(column) for column in table.T]
    undefined = int(np.isnan(table[:, 0]).sum())
    return BenchmarkAgreement(
        whole,
        _subset(x[best], y[best], min(k, size)),
        ranges[0],
        ranges[1],
        ranges[2],
        halves,
        undefined,
    )


def _middle(values: Array) -> tuple[float, float]:
    known = values[np.isfinite(values)]
    if not len(known):
        return math.nan, math.nan
    low, high = np.quantile(known, [0.025, 0.975])
    return float(low), float(high)


def _subset(x: Array, y: Array, k: int) -> SubsetAgreement:
    flat = is_constant(x) or is_constant(y)
    r = math.nan if flat else float(np.clip(np.corrcoef(x, y)[0, 1], -1, 1))
    return SubsetAgreement(
        len(x), r, kendall_tau_b(x, y), expected_overlap(x, y, k), k, k * k / len(x)
    )
