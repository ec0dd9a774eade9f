"""All estimates of an audit, a table for each family: number with unit, intervals, what it was made
from, and what to mind.
"""

from __future__ import annotations

from hqm.reports.names import flag_words, statistic_name
from hqm.reports.tables import (
    Table,
    Text,
    cell,
    family_title,
    lost_note,
    number,
    places,
    shown_interval,
)
from hqm.reports.units import no_end, no_use, shown_with_unit

from hqm import FLAGS, INDICATOR_FAMILIES, BenchmarkAudit, Estimate, Interval

_FOR = (
    ("fixed_models", "these respondents"),
    ("model_population", "others like them"),
    ("items", "other items"),
)


def estimates_by_family(audit: BenchmarkAudit) -> list[Table]:
    """A table for each family of indicators; what its flags mean and why numbers are missing stands
    below it.
    """
    families: dict[str, list[Estimate]] = {}
    for estimate in audit.estimates:
        families.setdefault(family_title(estimate), []).append(estimate)
    return [_family(audit, title, estimates) for title, estimates in families.items()]


def _family(audit: BenchmarkAudit, title: str, estimates: list[Estimate]) -> Table:
    metrics = len(audit.metrics) > 1
    columns = (
        "Estimate",
        *(["Metric"] * metrics),
        "Compared with",
        "Value",
        "95% interval",
        "Made from",
        "Notes",
    )
    rows = []
    for e in estimates:
        name = Text(f"{title}, {statistic_name(e.indicator.partition('.')[2])}", e.indicator)
        other = (
            " and ".join(cell(part) for part in e.other.split(" & ")) if e.other else "by itself"
        )
        rows.append(
            (
                name,
                *([Text(e.metric)] * metrics),
                Text(other, e.other),
                shown_with_unit(audit, e),
                _spans(e),
                _made_from(e),
                _notes(e),
            )
        )
    used = sorted({flag for e in estimates for flag in e.flags if flag in FLAGS})
    words = [f"{_capital(flag_words(flag))}: {FLAGS[flag]}." for flag in used]
    reasons = sorted(
        {f"{_capital(e.status.replace('_', ' '))}: {e.reason}." for e in estimates if e.reason}
    )
    withheld = sorted({f"Withheld: {reason}." for e in estimates if (reason := no_use(e))})
    differs = next((f.differs for f in INDICATOR_FAMILIES.values() if f.title == title), "")
    first = (
        f"{_capital(differs)}. What is compared is the administration “{cell(audit.reference)}”."
        if differs
        else ""
    )
    return Table(
        title,
        columns,
        tuple(rows),
        (2 + metrics,),
        tuple(filter(None, (first, *words, *withheld, *reasons))),
    )


def _spans(estimate: Estimate) -> Text:
    if no_use(estimate):
        return Text("")
    spans = [(span, who) for kind, who in _FOR if (span := shown_interval(estimate, kind))]
    methods = "; ".join(f"{i.inference}: {i.method}, {i.level:.0%}" for i in estimate.intervals)
    return Text("\n".join(f"{_ends(estimate, span)} {who}" for span, who in spans), methods)


def _ends(estimate: Estimate, span: Interval) -> str:
    """An interval; an end that bounds nothing is said to be none."""
    low, high = (
        None if no_end(estimate, end) else number(end, places(estimate))
        for end in (span.low, span.high)
    )
    if low is None and high is None:
        return "no ends"
    if high is None:
        return f"from {low}, no upper end,"
    return f"[{low}, {high}]" if low is not None else f"up to {high}, no lower end,"


def _made_from(estimate: Estimate) -> Text:
    lost = f", {estimate.unscored:,} unscored" if estimate.unscored else ""
    return Text(
        f"{estimate.n_respondents:,} respondents, {estimate.n_items:,} items{lost}",
        small=lost_note(estimate),
    )


def _notes(estimate: Estimate) -> Text:
    status = [estimate.status.replace("_", " ")] if estimate.status != "ok" else []
    words = "; ".join([*map(flag_words, estimate.flags), *status])
    return Text(words, "\n".join(filter(None, (", ".join(estimate.flags), estimate.reason))))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
