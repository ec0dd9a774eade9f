"""Smaller pictures: each respondent's score at every resolution, and its paired difference from
whole pictures.
"""

from __future__ import annotations

from collections.abc import Mapping

from hqm.reports.details import known
from hqm.reports.score_tables import in_order
from hqm.reports.tables import DASH, Table, Text, number, short

from hqm import BenchmarkAudit, Cell, Estimate

TITLE = "Smaller pictures"


def resolution_tables(audit: BenchmarkAudit) -> list[Table]:
    """A table for each metric that was compared; none where pictures were shown in one resolution
    alone.
    """
    return [table for metric in audit.metrics if (table := _table(audit, metric)) is not None]


def _table(audit: BenchmarkAudit, metric: str) -> Table | None:
    shifts = [
        e for e in audit.estimates if (e.indicator, e.metric) == ("resolution.mean_shift", metric)
    ]
    if not shifts:
        return None
    scales = [Cell.parse(shift.other).resolution for shift in shifts]
    rows = []
    for row in in_order(audit):
        own = [_own(shift, row.name) for shift in shifts]
        whole = next((known(each.get("whole")) for each in own if each), None)
        rows.append((Text(short(row.name), row.name), Text(number(whole)), *map(_shown, own)))
    mean = [Text(number(shift.value), small=_interval(shift)) for shift in shifts]
    rows.append((Text("Mean difference"), Text(DASH), *mean))
    notes = (
        (
            "Under each score stands its difference from whole pictures, with its 95% interval over"
            " other pictures. The questions are the same, so the difference is paired. The interval"
            " of the mean difference is over other respondents like these."
        ),
        "100% is the picture as it is; 50% has half of its width and half of its height.",
    )
    columns = ("Respondent", "100%", *(f"{scale}%" for scale in scales))
    places = tuple(range(1, len(columns)))
    return Table(
        f"{metric} by resolution of the pictures",
        columns,
        tuple(rows),
        places,
        notes,
        shifts[0].signature,
    )


def _own(shift: Estimate, name: str) -> Mapping[str, object]:
    each = shift.detail.get("by_respondent")
    own = each.get(name) if isinstance(each, Mapping) else None
    return own if isinstance(own, Mapping) else {}


def _shown(own: Mapping[str, object]) -> Text:
    score, difference = known(own.get("scaled")), known(own.get("difference"))
    if score is None or difference is None:
        return Text(DASH)
    low, high = known(own.get("low")), known(own.get("high"))
    ends = f" [{number(low)}, {number(high)}]" if low is not None and high is not None else ""
    return Text(number(score), small=f"{number(difference)}{ends}")


def _interval(shift: Estimate) -> str:
    span = shift.interval("model_population")
    return "" if span is None else f"[{number(span.low)}, {number(span.high)}]"
