"""How exact the total scores of an audit are, what differences they can show, and how many more
items, or runs, a purpose takes.

A reliability coefficient is a ratio to the variance of the models that answered; what is here is
in the unit of the score, and holds whatever models answered. The forecasts are those of a D study
over items: an error variance over n items becomes that of n' items times n / n'.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from scipy.special import chdtri

from hqm.auditing.audit import BenchmarkAudit
from hqm.auditing.budget import ErrorBudget, Gap
from hqm.auditing.definitions import scale_width, types_measured
from hqm.auditing.policy import MAX_ITEM_FACTOR, Policy
from hqm.indicators.separation import contrast_detail
from hqm.psychometrics.reliability.pass_decisions import decision_consistency
from hqm.psychometrics.variance.study_forecast import Z_POWER, Z
from hqm.types import Estimate

Purpose = Literal["difference", "top", "neighbours"]
"""What items are wanted for: to show a difference of the policy's size between two respondents, to
separate the first two, or all neighbours of the leaderboard.
"""


@dataclass(frozen=True, slots=True)
class TotalPrecision:
    """How exact a total score is, over other items of the same kind, in the unit of the score.

    Parameters
    ----------
    error, error_high
        The standard error of a respondent's score, root mean square over respondents, and its
        one-sided 95 % upper end; None where it was not measured.
    difference, difference_high
        The smallest difference between two respondents that one planned comparison finds with 80 %
        power, and its upper end.
    run_error, run_error_high
        The standard error that another seed alone makes, and its upper end; None without reruns.
    spread
        The standard deviation of these respondents' scores.
    scale
        The length of the metric's scale; None where it has no two ends.
    n_separated, n_pairs
        How many pairs of respondents are separated, of how many.
    """

    error: float | None = None
    error_high: float | None = None
    difference: float | None = None
    difference_high: float | None = None
    run_error: float | None = None
    run_error_high: float | None = None
    spread: float | None = None
    scale: float | None = None
    n_separated: int = 0
    n_pairs: int = 0

    def within(self, value: float | None, share: float) -> bool | None:
        """Whether a value keeps within a share of the scale; None where that is not known."""
        if share >= 1:
            return True
        if value is None or self.scale is None:
            return None
        # 1e-9: a value that equals its limit up to rounding keeps it
        return value <= share * self.scale * (1 + 1e-9)


def total_precision(audit: BenchmarkAudit) -> TotalPrecision:
    """Return how exact the total scores are by the leading metric."""
    metric = next(iter(audit.metrics), "")
    error = standard_error(audit.budget.get(metric))
    scores = audit.present_scores(metric)
    pairs = _estimate(audit, metric, "discriminability.separable_pairs")
    difference = _value(_estimate(audit, metric, "discriminability.minimum_difference"))
    rerun = _estimate(audit, metric, "test_retest.sem")
    run_error = _value(rerun)
    # pictures are the clusters over which errors were estimated; without pictures, items
    widening = _upper_end_factor(min(audit.images or audit.n_items, audit.n_items))
    scale = scale_width(audit, metric)
    run_error_high = None if run_error is None else run_error * widening
    # Runs that repeat by construction have no error of a run, and no number that bounds it.
    if rerun is not None and rerun.status == "ok" and rerun.value is not None and scale:
        run_error_high = max(run_error_high or 0.0, _rerun_upper_end(rerun, rerun.value, scale))
    return TotalPrecision(
        error=error,
        error_high=None if error is None else error * widening,
        difference=difference,
        difference_high=None if difference is None else difference * widening,
        run_error=run_error,
        run_error_high=run_error_high,
        spread=float(np.std(scores, ddof=1)) if len(scores) > 1 else None,
        scale=scale,
        n_separated=int(pairs.detail.get("apart") or 0) if pairs is not None else 0,
        n_pairs=int(pairs.detail.get("pairs") or 0) if pairs is not None else 0,
    )


def standard_error(budget: ErrorBudget | None) -> float | None:
    """The standard error of a score over other items, root mean square over respondents."""
    if budget is None:
        return None
    row = budget.row("items")
    if row.half is None or not row.factor:
        return None
    # the band of other items is t sqrt(2) times the standard error
    return row.half / row.factor / math.sqrt(2)


@dataclass(frozen=True, slots=True)
class PassDecisions:
    """How many respondents pass a score, and how often that would come out alike on other items.

    Parameters
    ----------
    n_passed, n_respondents
        Those that pass, of all with a score.
    consistency, low
        The share of respondents that two samples of items decide alike, and the same at the upper
        end of the standard error; None where it was not measured.
    reason
        Why it was not measured.
    """

    n_passed: int
    n_respondents: int
    consistency: float | None = None
    low: float | None = None
    reason: str = ""


def passing(audit: BenchmarkAudit, share: float) -> PassDecisions:
    """Return how many respondents pass a score, a share of the leading metric's scale from its
    worse end, and how often they would again (Livingston and Lewis 1995).
    """
    metric = next(iter(audit.metrics), "")
    precision = total_precision(audit)
    worst, best = audit.scale(metric)
    if worst is None or best is None or precision.scale is None:
        return PassDecisions(0, 0, reason="the metric has no scale of two ends")
    if audit.metrics[metric].get("better") == "lower":
        # shares of the scale are counted from its worse end
        worst, best = best, worst
    scores = (np.array(audit.present_scores(metric)) - worst) / (best - worst)
    n_passed = int((scores >= share - 1e-9).sum())
    # Of equal scores no reliability exists, which the decisions are computed from.
    if precision.error is None or precision.error_high is None or not precision.spread:
        return PassDecisions(n_passed, len(scores), reason="the standard error was not measured")
    results = [
        # reliability over other items from the standard error and the observed spread, 1 - SE^2 /
        # s^2
        decision_consistency(scores, 1 - (error / precision.spread) ** 2, share)
        for error in (precision.error, precision.error_high)
    ]
    if results[0].status != "ok":
        return PassDecisions(n_passed, len(scores), reason=results[0].reason)
    low = results[1].consistency if results[1].status == "ok" else None
    return PassDecisions(n_passed, len(scores), results[0].consistency, low)


def exceeded_limits(precision: TotalPrecision, policy: Policy) -> tuple[str, ...]:
    """Return which limits of a policy the total score is shown to exceed, or not shown to keep:
    `error`, `difference`. What was not measured is not among them.
    """
    limits = policy.precision
    values = (
        ("error", precision.error_high, limits.error),
        ("difference", precision.difference_high, limits.difference),
    )
    return tuple(name for name, value, share in values if precision.within(value, share) is False)


def _estimate(audit: BenchmarkAudit, metric: str, indicator: str) -> Estimate | None:
    """The first estimate of an indicator."""
    return next(iter(audit.select_estimates(indicator, metric)), None)


def _value(estimate: Estimate | None) -> float | None:
    if estimate is not None:
        return estimate.value
    return None


def _upper_end_factor(clusters: int) -> float:
    """By how much a standard error over so many clusters grows to its one-sided 95 % upper end."""
    df = max(clusters - 1, 1)
    # (df s^2 / chi2): the upper confidence limit of a standard deviation
    return math.sqrt(df / float(chdtri(df, 0.95)))


def _rerun_upper_end(rerun: Estimate, error: float, scale: float) -> float:
    """The one-sided 95 % upper end of the error that another seed makes, as few answers changed.

    A pair of answers that changed between two runs has a variance of half the squared scale. Their
    number is Poisson where they are rare, whatever the number of items is that never change: of
    none, three are not excluded (Garwood 1936, Biometrika 28).
    """
    one_change = scale**2 / 2 / max(rerun.n_respondents * rerun.n_items**2, 1)
    n_changed = error**2 / one_change
    return math.sqrt(float(chdtri(2 * n_changed + 2, 0.05)) / 2 * one_change)


# --- how many more items or runs ---


@dataclass(frozen=True, slots=True)
class ItemNeed:
    """How many more items one purpose takes.

    Parameters
    ----------
    size
        The difference of scores that is to be shown with 80 % power.
    items
        0 where these items show it; None where no practical number does.
    """

    purpose: Purpose
    size: float
    items: int | None


@dataclass(frozen=True, slots=True)
class MoreItems:
    """How many more items, for which purpose, and how many runs.

    Parameters
    ----------
    needs
        The purposes that could be judged; empty where nothing was measured.
    runs
        Of how many runs the mean is shown to bring the error of another seed to the policy's limit,
        by its upper end; None where that was not measured, or has no limit.
    types
        Type -> how many more items its own score takes.
    unhelped
        The types that more items do not help, because their items have too little in common.
    """

    needs: tuple[ItemNeed, ...] = ()
    runs: int | None = None
    types: Mapping[str, int] = field(default_factory=dict)
    unhelped: tuple[str, ...] = ()

    @property
    def measured(self) -> bool:
        """Whether anything can be said."""
        return bool(self.needs or self.types or self.unhelped)

    @property
    def for_types(self) -> int:
        """How many more items all types together take."""
        return sum(self.types.values())

    def need(self, purpose: Purpose) -> ItemNeed | None:
        """The need of one purpose; None where it could not be judged."""
        return next((need for need in self.needs if need.purpose == purpose), None)


def more_items(audit: BenchmarkAudit, policy: Policy) -> MoreItems:
    """Return how many more items each purpose takes, drawn as these were.

    A purpose is met where its difference is shown with 80 % power; what another seed does says
    nothing about that, because a rerun asks the same items again.
    """
    precision = total_precision(audit)
    needs = _item_needs(audit, precision, policy)
    missing_items: dict[str, int] = {}
    unhelped: list[str] = []
    for row in types_measured(audit, policy.coverage.error):
        if not row.items or row.measurable or row.at_chance or not row.measured:
            continue
        if row.helped_by_items:
            missing_items[row.type] = row.missing
        else:
            unhelped.append(row.type)
    runs = None
    limit = policy.precision.error
    if precision.run_error_high is not None and precision.scale is not None and limit < 1:
        # the error of a mean over k runs is SE / sqrt(k); solved for k at its upper end
        ratio = precision.run_error_high / (limit * precision.scale)
        runs = max(1, math.ceil(ratio**2 - 1e-9))
    return MoreItems(tuple(needs), runs, missing_items, tuple(unhelped))


def _item_needs(
    audit: BenchmarkAudit, precision: TotalPrecision, policy: Policy
) -> Iterator[ItemNeed]:
    """Yield the need of each purpose that can be judged."""
    n_items = audit.items_used
    share = policy.precision.difference
    if precision.difference_high is not None and precision.scale is not None and share < 1:
        size = share * precision.scale
        # the error over items goes with 1 / sqrt(n)
        yield ItemNeed(
            "difference", size, _items_missing(n_items, precision.difference_high / size)
        )
    metric = next(iter(audit.metrics), "")
    budget = audit.budget.get(metric)
    gaps = budget.gaps if isinstance(budget, ErrorBudget) else ()
    errors: dict[tuple[str, str], float | None] = {}
    differences: dict[tuple[str, str], float] = {}
    for row in contrast_detail(audit.select_estimates(metric=metric)).get("contrasts") or ():
        pair = (str(row["first"]), str(row["second"]))
        errors[pair] = row["error"]
        # Scores of unequal items differ by the items too.
        if row.get("items", n_items) < n_items and row["difference"] is not None:
            differences[pair] = abs(row["difference"])
    needs = []
    for gap in gaps:
        pair = (gap.first, gap.other)
        shared_gap = replace(gap, gap=differences.get(pair, gap.gap))
        needs.append(_gap_need(shared_gap, n_items, errors.get(pair)))
    known_needs = [need for need in needs if need is not None]
    # Two that share too few items have no need: the first of the others is not that of the top.
    if needs and needs[0] is not None:
        yield ItemNeed("top", *needs[0])
    if len(needs) > 1 and len(known_needs) == len(needs):
        yield ItemNeed("neighbours", *max(known_needs, key=_hardness))


def _hardness(need: tuple[float, int | None]) -> float:
    """How many items a need takes, for comparing; infinite where no number helps."""
    if need[1] is None:
        return math.inf
    return float(need[1])


def _gap_need(
    gap: Gap, n_items: int, error: float | None = None
) -> tuple[float, int | None] | None:
    """Return a gap and how many more items show one of its size, from the standard error of the
    contrast; None without an interval.
    """
    if gap.gap is None or gap.low is None or gap.high is None:
        return None
    if "items" in gap.clear:
        return gap.gap, 0
    # An interval is Student's, so that its half-width over z is the standard error of many pictures
    # alone.
    if error is None:
        error = (gap.high - gap.low) / 2 / Z
    # a gap of 0 has no size that items could show
    if gap.gap <= 0:
        return gap.gap, None
    # (z + z_power) SE is the smallest difference that is found with 80 % power
    missing = _items_missing(n_items, (Z + Z_POWER) * error / gap.gap)
    # a gap that is not shown here takes more items, whatever the power would be for its size
    return gap.gap, None if missing is None else max(1, missing)


def _items_missing(n_items: int, ratio: float) -> int | None:
    """Return how many more items divide an error by a ratio; None beyond any practical number."""
    if not math.isfinite(ratio) or ratio**2 > MAX_ITEM_FACTOR:
        return None
    return max(0, math.ceil(n_items * ratio**2 - 1e-9) - n_items)
