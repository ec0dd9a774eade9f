"""Respondents as a sample: relatives among them, the least that a coefficient is among others, and
who makes a coefficient.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from scipy.special import fdtri, stdtrit

from hqm.psychometrics.resampling import jackknife_variance
from hqm.psychometrics.result import (
    Array,
    ArrayLike,
    Coefficient,
    Numbers,
    Outcome,
    Places,
    Status,
    is_constant,
    normal_quantile,
    shaped,
    size_of,
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
    scores: ArrayLike,
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

    The status is `not_applicable` where all are of one family (n_eff is then 1) or every respondent
    is its own (n_eff is then M), `degenerate` for equal scores (n_eff is then F). Flag
    `FAMILY_DEPENDENCE` where p < .05. The interval is that of Searle for unequal families, with n0
    for a common size.

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
            msb / msw / float(fdtri(f - 1, m - f, tail)),
            msb / msw * float(fdtri(m - f, f - 1, tail)),
        )
        low, high = (max(-1.0, (e - 1) / (e + n0 - 1)) for e in ends)
    # families of unequal size can take the formula below any correlation
    value = max(-1.0, value)
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


def _squares(x: Array, member: Places, size: Array) -> tuple[Array, Array]:
    """(sets,) sums of squares between and within families, of (sets, respondents) scores."""
    x = x - x.mean(axis=1, keepdims=True)
    totals = x @ np.eye(len(size))[member]
    between = (totals**2 / size).sum(axis=1)
    return between, np.maximum((x**2).sum(axis=1) - between, 0.0)


MOST_IN_PAIRS = 50
"""Among more respondents no two make a correlation, and they are many pairs."""
MOST_UNITS = 200
"""More respondents than this are left out in so many groups, which takes the time of few."""


@dataclass(frozen=True, slots=True)
class Relatives:
    """Which respondents belong to one family, and how many independent ones they count as.

    - `families`: (respondents,): a label each; empty where nobody is a relative.
    - `independent`: As `family_dependence` finds it.
    """

    families: tuple[str, ...] = ()
    independent: float | None = None

    def units(self, count: int) -> Numbers:
        """(respondents,): the number of each one's family; its own where there are none, and that
        of a group of equal size where there are very many.
        """
        if len(self.families) not in (0, count):
            raise ValueError(f"one family label a respondent is needed, got {len(self.families)}")
        labels = np.asarray(self.families) if self.families else np.arange(count) % MOST_UNITS
        return np.asarray(np.unique(labels, return_inverse=True)[1], dtype=np.int64)

    @classmethod
    def of_pairs(
        cls,
        x: ArrayLike,
        y: ArrayLike,
        families: Sequence[str],
        independent: float | None,
    ) -> Relatives:
        """Those of the respondents who have both scores."""
        both = np.isfinite(np.asarray(x, dtype=np.float64)) & np.isfinite(
            np.asarray(y, dtype=np.float64)
        )
        return cls(tuple(families), independent).of(both)

    def of(self, included: ArrayLike) -> Relatives:
        """Those of some of the respondents."""
        if not self.families:
            return self
        return replace(
            self, families=tuple(np.asarray(self.families)[np.asarray(included)].tolist())
        )

    def size(self, count: int) -> float:
        """The number of independent respondents among so many; families count once each where it
        is not known.
        """
        if self.independent is None and self.families:
            return float(len(set(self.families)))
        return size_of(count, self.independent)


def left_out(
    statistic: Callable[[Places], float | tuple[float, ...]],
    count: int,
    relatives: Relatives | None = None,
) -> Array:
    """(units, ...): a statistic of the rows that are left without each respondent, or each family.

    >>> left_out(lambda rows: float(rows.sum()), 3)
    array([3., 2., 1.])
    """
    units = (relatives or Relatives()).units(count)
    return np.array(
        [statistic(np.flatnonzero(units != unit)) for unit in range(int(units.max()) + 1)],
        dtype=np.float64,
    )


def log_variance_error(scores: ArrayLike, independent: float | None = None) -> float:
    """The sampling variance of the logarithm of a variance, from the kurtosis of the scores.

        M / (M - 1.96) (kappa - (M - 3) / M) / (M - 1)

    The kurtosis kappa is taken about the mean trimmed by 1 / (2 sqrt(M - 4)) a side, which lets a
    skewed sample show its tail. Bonett, D. G. (2006). Computational Statistics and Data Analysis,
    50, 775-782.

    >>> round(log_variance_error(np.arange(20.0)), 4)
    0.0551
    """
    x = shaped(scores, "respondents")
    count = len(x)
    size = float(count) if independent is None else independent
    cut = int(count / (2 * math.sqrt(count - 4)))
    centre = float(np.sort(x)[cut : count - cut].mean())
    square = float(((x - x.mean()) ** 2).sum())
    kurtosis = count * float(((x - centre) ** 4).sum()) / square**2
    return size / (size - 1.96) * (kurtosis - (size - 3) / size) / (size - 1)


# No two-sided interval over other respondents holds what it promises where abilities are skewed,
# heavy-tailed or in clusters (docs/psychometrics_coverage.md): the sample then seldom holds the
# few who make the spread. What is missed lies above the upper end, so only the lower one is given.
# In its formula J and J_s are the variances of y and of the logarithm of the variance between
# respondents by leaving out each of the U respondents, or families, and B is `log_variance_error`:
# few respondents hide the tail of their scores from the jackknife, and the kurtosis about a trimmed
# mean shows it.
def at_least(
    coefficient: Coefficient,
    statistic: Callable[[Places], float | tuple[float, float]],
    scores: ArrayLike = (),
    relatives: Relatives | None = None,
    *,
    least: float = -1.0,
) -> Coefficient:
    """A coefficient with the least value, one-sided, that it has among other respondents.

        L = 1 - exp(y + t(level; U - 1) SE),   y = log(1 - r),   SE^2 = max(J, J - J_s + B)

    - `statistic`: Places of respondents -> the coefficient, and the variance between them; of one
      that is no ratio of variances (ranks) the coefficient alone, and SE^2 is J.
    - `scores`: (respondents,): those of which it is the variance.
    - `least`: The coefficient's own lower end, below which no bound is given.

    No bound below 8 respondents or 5 families, or for a coefficient of 1.
    """
    relatives = relatives or Relatives()
    if coefficient.status != "ok" or too_few_respondents(coefficient.n, relatives.families):
        return replace(coefficient, low=math.nan, high=math.nan)
    left = left_out(statistic, coefficient.n, relatives)
    without, spreads = (left, None) if left.ndim == 1 else (left[:, 0], left[:, 1])
    return at_least_without(coefficient, without, spreads, scores, relatives, least=least)


def at_least_without(
    coefficient: Coefficient,
    without: Array,
    spreads: Array | None,
    scores: ArrayLike,
    relatives: Relatives,
    *,
    least: float,
) -> Coefficient:
    """`at_least` from the (units,) coefficients, and variances between respondents, without each
    unit.
    """
    # the bound stands with its upper end open: nothing is said about how much higher it may be
    none = replace(coefficient, low=math.nan, high=math.nan)
    count, size = coefficient.n, relatives.size(coefficient.n)
    if coefficient.status != "ok" or too_few_respondents(count, relatives.families) or size < 2:
        return none
    if coefficient.value >= 1 or not (np.isfinite(without).all() and (without < 1).all()):
        return none
    square = float(jackknife_variance(np.log1p(-without)))
    if not relatives.families and size < count:
        # relatives without their labels are left out one by one, and count as the fewer they are
        square *= count / size
    if (
        spreads is not None
        and bool((spreads > 0).all())
        and size > 2
        and not is_constant(np.asarray(scores, dtype=np.float64))
    ):
        own = float(jackknife_variance(np.log(spreads)))
        square = max(square, square - own + log_variance_error(scores, size))
    df = (len(without) if relatives.families else min(size, len(without))) - 1
    reach = float(stdtrit(df, coefficient.level)) * math.sqrt(square)
    low = 1 - (1 - coefficient.value) * math.exp(min(reach, 700.0))
    units = "families" if relatives.families and len(without) < count else "respondents"
    method = f"{units} left out, log(1 - r), one-sided"
    if size < count:
        method += f", n_eff {size:.4g}"
    low = min(max(low, least), coefficient.value)
    return never_narrower(replace(coefficient, low=low, high=math.inf, method=method))


def stretched(coefficient: Coefficient, observed: Coefficient) -> Coefficient:
    """A correlation without attenuation, with the observed one's lower end for others moved by the
    same factor.

    >>> stretched(Coefficient(0.9), Coefficient(0.6, 0.5, math.inf)).low
    0.75
    """
    if not (math.isfinite(observed.low) and observed.value > 0):
        return coefficient
    low = min(observed.low * coefficient.value / observed.value, coefficient.value)
    method = f"{observed.method}, disattenuated"
    return never_narrower(replace(coefficient, low=max(low, -1.0), high=math.inf, method=method))


def never_narrower(value: Coefficient) -> Coefficient:
    """The coefficient with a bound over other respondents that lies no higher than the interval for
    these.

    Who draws respondents and items anew cannot know more than who draws items alone.

    >>> from hqm.psychometrics.result import Bounds
    >>> narrow = Coefficient(0.5, 0.45, math.inf, 9, fixed=Bounds(0.4, 0.52, "jackknife"))
    >>> never_narrower(narrow).low, never_narrower(narrow).high
    (0.4, inf)
    """
    fixed = value.fixed
    if fixed is None or not (math.isfinite(value.low) and math.isfinite(fixed.low)):
        return value
    return replace(value, low=min(value.low, fixed.low), high=max(value.high, fixed.high))


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
    flags: tuple[str, ...] = ()
    pair: tuple[int, int] = (-1, -1)
    without_pair: float = math.nan


def leave_one_out(
    statistic: Callable[[Places], float],
    n: int,
    *,
    scores: ArrayLike = (),
    goal: float = 0.9,
) -> Influence:
    """The range of a correlation over leaving out one respondent each time.

    One very bad model can make a correlation by itself, or two strong ones can. Flag
    `DOMINANT_MODEL`: leaving one out changes it by .01 or more, so that it crosses the goal or
    leaves the 95% interval of Fisher's z, and either moves Fisher's z by more than its standard
    error 1/sqrt(n - 3), or the respondent has a leverage above .5 in `scores`.

    - `statistic`: Indices of respondents -> correlation, NaN where undefined.
    - `n`: How many respondents there are.
    - `scores`: (respondents,): leverage is 1/n + (x - mean)^2 / sum of squares.
    - `goal`: The correlation that a decision asks for.

    Where no single respondent does, each two are left out together, and the flag stands where that
    leaves the 95% interval; `pair` names them.

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
    pair, without_pair = (-1, -1), math.nan
    if not dominant and 6 <= n <= MOST_IN_PAIRS:
        pair, without_pair = _strongest_pair(statistic, n, value)
        dominant = pair[0] >= 0
    return Influence(
        value,
        float(without[known].min()),
        float(without[known].max()),
        strongest,
        float(change[strongest]),
        tuple(without.tolist()),
        ("DOMINANT_MODEL",) if dominant else (),
        pair,
        without_pair,
    )


def _strongest_pair(
    statistic: Callable[[Places], float], n: int, value: float
) -> tuple[tuple[int, int], float]:
    """The two respondents without whom a correlation leaves its interval farthest; -1 for none."""
    everyone = np.arange(n)
    centre = math.atanh(min(max(value, -1 + 1e-15), 1 - 1e-15))
    farthest, chosen, left = normal_quantile(0.95), (-1, -1), math.nan
    for pair in combinations(range(n), 2):
        without = float(statistic(np.delete(everyone, pair)))
        moved = abs(math.atanh(min(max(without, -1 + 1e-15), 1 - 1e-15)) - centre)
        if moved * math.sqrt(n - 3) > farthest and abs(without - value) >= 0.01:
            farthest, chosen, left = moved * math.sqrt(n - 3), pair, without
    return chosen, left


@dataclass(frozen=True, slots=True)
class RangeRestriction(Outcome):
    """The spread of all respondents and of the best ones.

    `u` is the ratio of the standard deviations, top to all.
    """

    sd: float
    sd_top: float
    u: float
    n: int
    n_top: int
    flags: tuple[str, ...] = ()


def range_restriction(scores: ArrayLike, *, higher_is_better: bool = True) -> RangeRestriction:
    """How much of a coefficient comes from respondents that nobody confuses.

    A correlation grows with the spread of those it is computed on; a leaderboard is read at its
    top. Where the error stays the same, a reliability r among all is 1 - (1 - r) / u^2 there.

        u = s_top / s_all;   flag `RANGE_INFLATED` where s_all > 1.5 s_top

    Lord, F. M. and Novick, M. R. (1968). Statistical Theories of Mental Test Scores, section 6.2
    (constant error variance). Addison-Wesley.

    - `scores`: (respondents,).

    The status is `insufficient` where the top half has fewer than 3 respondents, `degenerate` where
    all, or the top, have one score.

    >>> result = range_restriction([0.2, 0.4, 0.6, 0.70, 0.72, 0.74])
    >>> round(result.u, 3), result.flags
    (0.092, ('RANGE_INFLATED',))
    """
    x = shaped(scores, "respondents")
    x = np.sort(x[np.isfinite(x)])
    n_top = (len(x) + 1) // 2
    if n_top < 3:
        reason = f"the top half needs 3 respondents, it has {n_top}"
        return RangeRestriction(
            math.nan, math.nan, math.nan, len(x), n_top, status="insufficient", reason=reason
        )
    best = x[-n_top:] if higher_is_better else x[:n_top]
    sd, sd_top = float(x.std(ddof=1)), float(best.std(ddof=1))
    if is_constant(best):
        reason = "the top has one score"
        return RangeRestriction(
            sd, sd_top, math.nan, len(x), n_top, status="degenerate", reason=reason
        )
    flags = ("RANGE_INFLATED",) if sd > 1.5 * sd_top else ()
    return RangeRestriction(sd, sd_top, sd_top / sd, len(x), n_top, flags)
