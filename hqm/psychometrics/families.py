"""Respondents that are relatives, dominate, or spread wider than those one wants to compare."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.distributions import f_quantile
from hqm.psychometrics.result import (
    Array,
    Coefficient,
    Outcome,
    Status,
    is_constant,
    normal_quantile,
    shaped,
)


@dataclass(frozen=True, slots=True)
class FamilyDependence:
    """How alike relatives are, and how many independent respondents that leaves.

    - `icc`: The correlation within families; raw when negative.
    - `n_eff`: The number of independent respondents. It uses `icc` cut to 0..1 and lies between the
      number of families and of respondents (it may go below the former where families differ in
      size). One family counts as 1, whatever its size.
    - `p`: The share of random exchanges of respondents between families that make relatives at
      least this alike; NaN without a generator.
    - `n, families`: How many respondents and families there are.
    """

    icc: Coefficient
    n_eff: float
    n: int
    families: int
    flags: tuple[str, ...] = ()
    p: float = math.nan


FEWEST_FAMILIES = 5
"""Where respondents are relatives, fewer families than this say too little of how alike relatives
are.
"""


def too_few_families(families: Sequence[str]) -> str:
    """Why nothing can be said of other respondents, where the respondents are of few families;
    empty where it can.

    Below five families intervals hold the truth in 85 % or fewer.

    >>> too_few_families(["a", "a", "b", "c"]), too_few_families(["a", "b", "c"])
    ('4 respondents are of 3 families: an interval over other respondents needs 5', '')
    """
    count, many = len(families), len(set(families))
    if many == count or many >= FEWEST_FAMILIES:
        return ""
    if many == 1:
        return f"all {count} respondents are of one family: nothing is known of other families"
    return (
        f"{count} respondents are of {many} families: an interval over other respondents needs"
        f" {FEWEST_FAMILIES}"
    )


FEWEST_RESPONDENTS = 8
"""With fewer respondents nothing is said of how reliable scores are among others."""


def too_few_respondents(count: int, families: Sequence[str] = ()) -> str:
    """Why no reliability among other respondents can be told from so many; empty where it can.

    >>> too_few_respondents(7), too_few_respondents(8)
    ('7 respondents are too few to speak of others: 8 are needed', '')
    """
    if families and (reason := too_few_families(families)):
        return reason
    if count >= FEWEST_RESPONDENTS:
        return ""
    return f"{count} respondents are too few to speak of others: {FEWEST_RESPONDENTS} are needed"


def family_dependence(
    scores: npt.ArrayLike,
    families: Sequence[str],
    rng: np.random.Generator | None = None,
    *,
    permutations: int = 1999,
    level: float = 0.95,
) -> FamilyDependence:
    """The intraclass correlation of a score within families, and Kish's effective number of
    respondents.

    Checkpoints of one family share data and design, so twenty of them are fewer than twenty
    independent models, and every interval over respondents that counts them singly is too narrow.

        ICC = (MSB - MSW) / (MSB + (n0 - 1) MSW),   n0 = (M - sum m_f^2 / M) / (F - 1)
        n_eff = M / (1 + (sum m_f^2 / M - 1) ICC)

    Donner, A. (1986). International Statistical Review, 54, 67-82; Kish, L. (1965). Survey
    Sampling. Wiley.

    - `scores`: (respondents,): missing scores are left out with their labels.
    - `families`: (respondents,): a label each.
    - `rng`: Draws the permutations of the test (Fisher, R. A. (1935). The Design of Experiments);
      without it there is no test and no flag.

    The status is `insufficient` with fewer than 3 respondents, `not_applicable` where all are of
    one family (n_eff is then 1) or every respondent is its own (n_eff is then M), `degenerate` for
    equal scores (n_eff is then F). Flag `FAMILY_DEPENDENCE` where p < .05. The interval is that of
    Searle for unequal families, with n0 for a common size.

    >>> result = family_dependence([0.1, 0.12, 0.5, 0.52, 0.9, 0.88], list("aabbcc"))
    >>> round(result.icc.value, 3), round(result.n_eff, 2)
    (0.999, 3.0)
    """
    x, labels = np.asarray(scores, dtype=np.float64), np.asarray(families)
    if x.ndim != 1 or labels.shape != x.shape:
        raise ValueError(
            f"one family label a score is needed, got shapes {x.shape} and {labels.shape}"
        )
    known = np.isfinite(x)
    x, labels = x[known], labels[known]
    names, member = np.unique(labels, return_inverse=True)
    m, f = len(x), len(names)

    def without(status: Status, reason: str, independent: float) -> FamilyDependence:
        return FamilyDependence(Coefficient.absent(status, reason, m), independent, m, f)

    if m == f:
        return without("not_applicable", "every respondent is a family of its own", float(m))
    if f == 1:
        return without("not_applicable", f"all {m} respondents are of one family", 1.0)
    if m < 3:
        return without(
            "insufficient", f"a family correlation needs 3 respondents, there are {m}", float(f)
        )
    if is_constant(x):
        return without("degenerate", "all respondents have the same score", float(f))
    size = np.bincount(member).astype(np.float64)
    crowd = float((size**2).sum()) / m
    n0 = (m - crowd) / (f - 1)
    between, within = (float(square[0]) for square in _squares(x[None], member, size))
    msb, msw = between / (f - 1), within / (m - f)
    value = (msb - msw) / (msb + (n0 - 1) * msw)
    low = high = 1.0
    if msw > 1e-14 * msb:
        tail = 0.5 + level / 2
        ends = (
            msb / msw / float(f_quantile(tail, f - 1, m - f)),
            msb / msw * float(f_quantile(tail, m - f, f - 1)),
        )
        low, high = ((e - 1) / (e + n0 - 1) for e in ends)
    n_eff = m / (1 + (crowd - 1) * min(1.0, max(0.0, value)))
    p = math.nan
    if rng is not None:
        # what lies between families rises exactly as F does, because the total stays
        drawn = _squares(rng.permuted(np.tile(x, (permutations, 1)), axis=1), member, size)[0]
        p = (1 + int((drawn >= between * (1 - 1e-9)).sum())) / (permutations + 1)
    flags = ("FAMILY_DEPENDENCE",) if p < 0.05 else ()
    return FamilyDependence(
        Coefficient(value, low, high, m, level, "one-way F", flags=flags), n_eff, m, f, flags, p
    )


def _squares(x: Array, member: npt.NDArray[np.intp], size: Array) -> tuple[Array, Array]:
    """(sets,) sums of squares between and within families, of (sets, respondents) scores."""
    x = x - x.mean(axis=1, keepdims=True)
    totals = x @ np.eye(len(size))[member]
    between = (totals**2 / size).sum(axis=1)
    return between, np.maximum((x**2).sum(axis=1) - between, 0.0)


@dataclass(frozen=True, slots=True)
class Influence(Outcome):
    """A statistic without each respondent in turn.

    `without[i]` lacks respondent i; `strongest` is the one whose absence moves the statistic most,
    by `change`.
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    strongest: int = -1
    change: float = math.nan
    without: tuple[float, ...] = ()
    undefined: int = 0
    flags: tuple[str, ...] = ()


def leave_one_out(
    statistic: Callable[[npt.NDArray[np.intp]], float],
    n: int,
    *,
    correlation: bool = True,
    scores: npt.ArrayLike = (),
    goal: float = 0.9,
) -> Influence:
    """The range of a statistic over leaving out one respondent each time.

    One very bad model can make a correlation by itself. Flag `DOMINANT_MODEL`: leaving one out
    changes it by .01 or more, so that it crosses the goal or leaves the 95% interval of Fisher's z,
    and either moves Fisher's z by more than its standard error 1/sqrt(n - 3), or the respondent has
    a leverage above .5 in `scores`.

    - `statistic`: Indices of respondents -> value, NaN where undefined.
    - `n`: How many respondents there are.
    - `correlation`: Whether the statistic is a correlation, compared on Fisher's z; otherwise only
      leverage is flagged.
    - `scores`: (respondents,): leverage is 1/n + (x - mean)^2 / sum of squares.
    - `goal`: The correlation that a decision asks for.

    The status is `insufficient` below 4 respondents, `degenerate` when the statistic is undefined
    or so without any respondent.

    >>> x, y = np.array([1.0, 2, 3, 4, 20]), np.array([2.0, 1, 2, 1, 20])
    >>> result = leave_one_out(lambda i: float(np.corrcoef(x[i], y[i])[0, 1]), 5, scores=x)
    >>> result.strongest, result.flags
    (4, ('DOMINANT_MODEL',))
    """
    if n < 4:
        return Influence(
            math.nan,
            status="insufficient",
            reason=f"leaving one out needs 4 respondents, there are {n}",
        )
    everyone = np.arange(n)
    value = float(statistic(everyone))
    without = np.array([float(statistic(np.delete(everyone, i))) for i in range(n)])
    known = np.isfinite(without)
    if not math.isfinite(value) or not known.any():
        return Influence(
            math.nan, status="degenerate", reason="the statistic is undefined for these respondents"
        )
    change = np.where(known, np.abs(without - value), -1.0)
    strongest = int(np.argmax(change))
    influential = np.zeros(n, dtype=bool)
    matters = np.ones(n, dtype=bool)
    if correlation:
        z = np.arctanh(np.clip(np.append(without, value), -1 + 1e-15, 1 - 1e-15))
        moved = np.where(known, np.abs(z[:-1] - z[-1]), 0.0) * math.sqrt(n - 3)
        influential = moved > 1
        crosses = known & ((without >= goal) != (value >= goal))
        matters = ~known | (change >= 0.01) & (crosses | (moved > normal_quantile(0.95)))
    x = np.asarray(scores, dtype=np.float64)
    if x.size:
        if x.shape != (n,):
            raise ValueError(f"scores must have shape ({n},), got {x.shape}")
        spread = (x - x.mean()) ** 2
        if not is_constant(x):
            influential |= 1 / n + spread / spread.sum() > 0.5
    dominant = bool((influential & matters).any())
    return Influence(
        value,
        float(without[known].min()),
        float(without[known].max()),
        strongest,
        float(change[strongest]),
        tuple(without.tolist()),
        int((~known).sum()),
        ("DOMINANT_MODEL",) if dominant else (),
    )


@dataclass(frozen=True, slots=True)
class RangeRestriction(Outcome):
    """A reliability among all respondents and among the best ones.

    `u` is the ratio of the standard deviations, top to all. `expected` is what the reliability of
    all would become at the spread of the top if the error stayed the same; `observed` is the
    statistic computed among the top.
    """

    sd: float
    sd_top: float
    u: float
    n: int
    n_top: int
    unadjusted: float = math.nan
    expected: float = math.nan
    observed: float = math.nan
    flags: tuple[str, ...] = ()


def range_restriction(
    scores: npt.ArrayLike,
    reliability: Callable[[npt.NDArray[np.intp]], float] | None = None,
    *,
    top: int | None = None,
    higher_is_better: bool = True,
) -> RangeRestriction:
    """How much of a coefficient comes from respondents that nobody confuses.

    A correlation grows with the spread of those it is computed on; a leaderboard is read at its
    top.

        u = s_top / s_all,   expected = 1 - (1 - reliability) / u^2;
        flag `RANGE_INFLATED` where s_all > 1.5 s_top

    Lord, F. M. and Novick, M. R. (1968). Statistical Theories of Mental Test Scores, section 6.2
    (constant error variance). Addison-Wesley.

    - `scores`: (respondents,).
    - `reliability`: Indices of respondents -> reliability; computed for all and for the top.
    - `top`: How many count as the top; half (rounded up) unless given.

    The status is `insufficient` where the top has fewer than 3 respondents, `degenerate` where all,
    or the top, have one score.

    >>> result = range_restriction([0.2, 0.4, 0.6, 0.70, 0.72, 0.74],
    ...     lambda i: 0.99 if len(i) == 6 else 0.5)
    >>> round(result.u, 3), round(result.expected, 3), result.observed, result.flags
    (0.092, -0.172, 0.5, ('RANGE_INFLATED',))
    """
    x = shaped(scores, "respondents")
    index = np.flatnonzero(np.isfinite(x))
    n = len(index)
    n_top = (n + 1) // 2 if top is None else min(top, n)
    if n_top < 3:
        return RangeRestriction(
            math.nan,
            math.nan,
            math.nan,
            n,
            n_top,
            status="insufficient",
            reason=f"the top half needs 3 respondents, it has {n_top}",
        )
    best = index[np.argsort(-x[index] if higher_is_better else x[index], kind="stable")[:n_top]]
    sd, sd_top = float(x[index].std(ddof=1)), float(x[best].std(ddof=1))
    if is_constant(x[index]) or is_constant(x[best]):
        reason = (
            "all respondents have the same score"
            if is_constant(x[index])
            else "the top has one score"
        )
        return RangeRestriction(sd, sd_top, math.nan, n, n_top, status="degenerate", reason=reason)
    u = sd_top / sd
    flags = ("RANGE_INFLATED",) if sd > 1.5 * sd_top else ()
    if reliability is None:
        return RangeRestriction(sd, sd_top, u, n, n_top, flags=flags)
    whole = float(reliability(index))
    return RangeRestriction(
        sd,
        sd_top,
        u,
        n,
        n_top,
        whole,
        1 - (1 - whole) / u**2,
        float(reliability(np.sort(best))),
        flags,
    )
