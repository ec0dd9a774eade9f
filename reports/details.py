"""What estimates say beside their number, read from the detail of a new audit or of an older one
that lacks some of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from hqm import BenchmarkAudit, Cell, Estimate, Policy, labelled_by

_REAL_DIFFERENCE = 1.959963984540054 * math.sqrt(2)
"""How many standard errors of measurement the difference of two scores exceeds by chance in 5 of
100 cases.
"""


@dataclass(frozen=True, slots=True)
class Goal:
    """What a policy asks of a coefficient: the least that an end of an interval must reach."""

    at_least: float
    inference: str
    """The interval whose lower end is held against it."""
    policy: str
    """The name of the policy."""


@cache
def default_policy() -> Policy:
    """The policy that comes with HQM."""
    return Policy.load()


def goal(indicator: str, policy: Policy | None = None) -> Goal:
    """What a policy, or the default one, asks of an indicator; what the default asks where the
    policy asks nothing of it.
    """
    for asking in (policy or default_policy(), default_policy()):
        for wanted in asking.require:
            if wanted.indicator == indicator and wanted.at_least is not None and wanted.interval:
                return Goal(wanted.at_least, wanted.interval, asking.name)
    return Goal(0.9, "fixed_models", default_policy().name)


@dataclass(frozen=True, slots=True)
class Range:
    """The lowest and the highest value over respondents."""

    low: float
    high: float

    def times(self, factor: float) -> Range:
        return Range(self.low * factor, self.high * factor)


def known(value: object) -> float | None:
    """A finite number, or None for whatever else an edited audit may hold.

    >>> known(0.5), known(True), known("0.5"), known(float("nan"))
    (0.5, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value)


def rows(estimate: Estimate | None, key: str) -> list[Mapping[str, Any]]:
    """The rows that a detail lists under this key; none where there is no such list."""
    listed = estimate.detail.get(key) if estimate is not None else None
    return (
        [row for row in listed if isinstance(row, Mapping)]
        if isinstance(listed, (list, tuple))
        else []
    )


def over_respondents(estimate: Estimate | None) -> Range | None:
    """The lowest and the highest value of single respondents."""
    if estimate is None:
        return None
    ends = estimate.detail.get("range")
    if isinstance(ends, (list, tuple)) and len(ends) == 2:
        low, high = map(known, ends)
        if low is not None and high is not None:
            return Range(low, high)
    by = estimate.detail.get("by_respondent")
    values = (
        [v for v in map(known, by.values()) if v is not None] if isinstance(by, Mapping) else []
    )
    return Range(min(values), max(values)) if values else None


def own_differences(sem: Estimate | None, mdc: Estimate | None) -> Range | None:
    """The smallest real difference of each respondent, lowest and highest; from the standard errors
    where it has none.
    """
    ranged = over_respondents(mdc)
    if ranged is not None:
        return ranged
    errors = over_respondents(sem)
    return errors.times(_REAL_DIFFERENCE) if errors is not None else None


def by_people(estimate: Estimate) -> bool:
    """Whether the other side of a comparison is people's labels, and not an oracle of the
    benchmark.
    """
    return (
        bool(estimate.other)
        and labelled_by(Cell.parse(estimate.other.partition(" & ")[0]).judge) == "people"
    )


def by_oracle(estimate: Estimate) -> bool:
    """Whether the other side of a comparison is an oracle: a rule of the benchmark that knows the
    right answers.
    """
    return estimate.indicator.partition(".")[0] in ("criterion", "oracle") and not by_people(
        estimate
    )


def with_oracle(audit: BenchmarkAudit, metric: str) -> Estimate | None:
    """The correlation with an oracle of the benchmark (`oracle.pearson`; `criterion.pearson` in
    older audits).
    """
    wanted = (e for e in audit.estimates if e.metric == metric and e.indicator.endswith(".pearson"))
    return next((e for e in wanted if by_oracle(e)), None)


@dataclass(frozen=True, slots=True)
class Power:
    """What a search for faults would find of faults that were planted."""

    found_share: float
    planted_share: float | None
    """In which share of the items they were planted; None where the audit does not say."""


def expected_power(estimate: Estimate | None) -> Power | None:
    """The share of planted wrong labels that this design would find; None where it was not
    estimated.
    """
    stated = estimate.detail.get("power") if estimate is not None else None
    if isinstance(stated, Mapping):
        share = known(stated.get("found"))
        return None if share is None else Power(share, known(stated.get("share_planted")))
    share = known(stated)
    return None if share is None else Power(share, None)


def reading_list(
    audit: BenchmarkAudit, metric: str
) -> tuple[Estimate, list[Mapping[str, Any]]] | None:
    """The items to read first, in order, with the estimate that ranks them."""
    for estimate in audit.estimates:
        listed = rows(estimate, "reading_list") if estimate.metric == metric else []
        if listed:
            return estimate, sorted(listed, key=lambda row: known(row.get("rank")) or math.inf)
    return None


@dataclass(frozen=True, slots=True)
class Used:
    """What an estimate was computed from, with the shares that had to be left out, as it says
    itself.
    """

    respondents: int
    items: int
    respondents_left_out: float
    items_left_out: float

    @property
    def lost(self) -> bool:
        """Whether anything was left out."""
        return self.respondents_left_out > 0 or self.items_left_out > 0


def used_by(estimate: Estimate) -> Used:
    """How much of what was asked an estimate could use.

    Nothing is called lost unless the estimate says so itself: a metric may look at some of the
    items by design.
    """
    left_out = [
        known(estimate.detail.get(f"{what}_left_out")) or 0.0 for what in ("respondents", "items")
    ]
    shares = [share if 0 < share < 1 else 0.0 for share in left_out]
    return Used(estimate.n_respondents, estimate.n_items, *shares)


def independent(estimate: Estimate) -> float | None:
    """How many independent respondents an interval for others counts, where relatives make them
    fewer.
    """
    n_effective = known(estimate.detail.get("n_effective"))
    return (
        n_effective
        if n_effective is not None and n_effective < estimate.n_respondents - 0.05
        else None
    )


def families_source(audit: BenchmarkAudit) -> str:
    """Whether a file says which respondents are relatives, or only their names."""
    given = any(estimate.detail.get("families") == "as given" for estimate in audit.estimates)
    return "as given" if given else "told from their names"
