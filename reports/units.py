"""The unit of every estimate, in words that stand beside its number, and numbers that no reader can
use.
"""

from __future__ import annotations

from dataclasses import replace

from hqm.reports.tables import DASH, Text, estimate_text, number, percent

from hqm import BenchmarkAudit, Estimate, indicator_named

_STEEP = 4.0
"""An interval of an elasticity that is wider than this contains every slope that anybody would act
on.
"""
_BEYOND = 100.0
"""How many times an estimate the end of its interval may be; what lies further off is no end."""


def unit_of(audit: BenchmarkAudit, estimate: Estimate) -> str:
    """What stands beside an estimate's number: its unit, and percentage points or percent where
    that is what it says.
    """
    indicator = indicator_named(estimate.indicator.rpartition(".")[2])
    if indicator is None or estimate.value is None:
        return ""
    unit = indicator.unit
    if unit.kind == "score":
        shown = in_units(audit, estimate.metric, estimate.value)
        return shown if is_share(audit, estimate.metric) else f"units of {estimate.metric}"
    if unit.kind == "share":
        moved = estimate.indicator.endswith("_shift")
        return (
            f"{number(100 * estimate.value, 1)} percentage points"
            if moved
            else f"share, {percent(estimate.value)}"
        )
    return unit.text


def no_use(estimate: Estimate) -> str:
    """Why a number is withheld because nobody could act on it; empty where it is shown."""
    if estimate.value is None or not estimate.indicator.endswith(".length_elasticity"):
        return ""
    widths = [span.high - span.low for span in estimate.intervals if not span.one_sided]
    if max(widths, default=0.0) > _STEEP or abs(estimate.value) > _STEEP:
        return "the answers differ too little in length to say how the score follows it"
    return ""


def no_end(estimate: Estimate, end: float) -> bool:
    """Whether an end of an interval lies so far from the estimate that it bounds nothing."""
    return estimate.value is not None and abs(end) > _BEYOND * max(abs(estimate.value), 0.05)


def shown_with_unit(audit: BenchmarkAudit, estimate: Estimate) -> Text:
    """An estimate's number with its unit in small print; withheld where nobody could act on it."""
    shown = estimate_text(estimate)
    reason = no_use(estimate)
    if reason:
        return replace(
            shown, text=DASH, behind=f"{reason}\n{estimate.signature}", muted=True, small="withheld"
        )
    return replace(shown, small=unit_of(audit, estimate))


def in_units(audit: BenchmarkAudit, metric: str, value: float | None) -> str:
    """A difference of scores with its unit: percentage points where the scores are shares, else the
    metric's own units.
    """
    if value is None:
        return number(value)
    if is_share(audit, metric):
        return f"{number(100 * value, 1)} percentage points"
    return f"{number(value)} in units of {metric}"


def is_share(audit: BenchmarkAudit, metric: str) -> bool:
    """Whether the scores of a metric are shares: all of them lie between 0 and 1."""
    scores = [
        s
        for row in audit.respondents
        for by_metric in (row.scores, *row.cells.values())
        if (s := by_metric.get(metric)) is not None
    ]
    return bool(scores) and all(0 <= score <= 1 for score in scores)
