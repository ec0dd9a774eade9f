"""The report of a published table: one self-contained page that loads nothing."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hqm.reports.pages.evidence_page import environment
from hqm.reports.pages.phrases import pluralise
from hqm.reports.pages.report_page import OtherAudit
from hqm.reports.tables.table import (
    FAMILIES,
    Table,
    Text,
    anchor,
    interval_text,
    number,
    statistic_name,
)

from hqm.types import Estimate

_AGREEMENT = "agreement"
_DETAIL = {
    "no_interval": "no interval: {}",
    "respondents_left_out": "{} respondents without a score left out",
    "margin": "margin {}",
    "direction": "best by: {} is better",
    "same_as": "{}",
    "assumed": "{}",
}
"""What of an estimate's detail is shown in words beside it."""


def render(data: Mapping[str, Any], command: str) -> str:
    """The page, from the audit of a table as it stands in `audit.json`."""
    estimates = [Estimate.from_dict(row) for row in data["estimates"]]
    families = list(dict.fromkeys(e.indicator.partition(".")[0] for e in estimates))
    limits = dict.fromkeys(str(e.detail["limits"]) for e in estimates if "limits" in e.detail)
    return (
        environment()
        .get_template("table.html")
        .render(
            title=f"Published table {data['benchmark']}",
            material=(
                f"{len(data['respondents'])} respondents. Only what is printed was at hand: no"
                " answers, no reruns, no items."
            ),
            question="Can the numbers be true?",
            findings=[data["consistency"]],
            flags=data["flags"],
            notes=data["notes"],
            tables=[
                _reading_table(data),
                *_violation_tables(data),
                *(_family(f, estimates) for f in families),
            ],
            limits=[f"G and Phi: {limit}" for limit in limits],
            command=command,
            signatures=[
                (anchor(e.signature), f"{e.indicator} {e.metric}", e.signature) for e in estimates
            ],
        )
    )


def describe(data: Any) -> OtherAudit | None:
    """Return the page and the row of a table's `audit.json`; None of any other data."""
    if not isinstance(data, dict) or "read_as" not in (data.get("audits") or [{}])[0]:
        return None
    (table,) = data["audits"]
    verdict, _, _ = str(table["consistency"]).partition(" Checked: ")
    return OtherAudit(
        title=f"{str(table['benchmark']).replace('_', ' ')}, as printed",
        size=(
            pluralise(len(table["respondents"]), "model"),
            pluralise(len(table["columns"]), "column"),
        ),
        is_wrong=any(not violation["unless"] for violation in table["violations"]),
        verdict=verdict.partition(" Possible only ")[0],
        unmeasured="every source of error, because a printed table holds no answers",
        reason="the table prints no answers",
        command=data["command"],
        page=render(table, data["command"]),
        text=json.dumps(data, indent=1, ensure_ascii=False),
    )


def _reading_table(data: Mapping[str, Any]) -> Table:
    """What each column was taken for."""
    scales = {1.0: "shares of 1", 100.0: "per cent", None: "points"}
    return Table.for_page(
        "What each column was taken for",
        columns=("column", "read as", "better", "items behind a score", "decimals printed"),
        rows=tuple(
            (
                Text(column["column"]),
                Text(scales.get(column["scale"], str(column["scale"]))),
                Text(column["better"] or "not said"),
                Text("not said" if column["items"] is None else f"{column['items']:,}"),
                Text(str(column["decimals"])),
            )
            for column in data["read_as"]
        ),
        right=(3, 4),
    )


def _violation_tables(data: Mapping[str, Any]) -> Iterator[Table]:
    """What cannot be true, and what holds only under a condition."""
    for caption, is_conditional in (
        ("What the table contradicts in itself", False),
        ("What is possible only under a condition", True),
    ):
        rows = [
            (
                Text(violation["row"]),
                Text(violation["column"]),
                Text(violation["printed"]),
                Text(violation["reason"]),
                Text("" if violation["off"] is None else number(violation["off"], 2)),
                *([Text(violation["unless"])] if is_conditional else []),
            )
            for violation in data["violations"]
            if bool(violation["unless"]) is is_conditional
        ]
        columns = (
            "row",
            "column",
            "printed",
            "what the other numbers give",
            "off by",
            *(["only if"] if is_conditional else []),
        )
        if rows:
            yield Table.for_page(caption, columns, tuple(rows), (2, 4))


def _family(family: str, estimates: Sequence[Estimate]) -> Table:
    rows = [
        (
            Text(
                statistic_name(e.indicator.partition(".")[2]),
                e.indicator,
                link=anchor(e.signature),
            ),
            Text(e.metric),
            Text(number(e.value)),
            Text(interval_text(e.interval("model_population"))),
            Text(str(e.n_respondents)),
            Text(_estimate_remarks(e)),
        )
        for e in estimates
        if e.indicator.partition(".")[0] == family
    ]
    return Table.for_page(
        caption=(
            "The two columns compared"
            if family == _AGREEMENT
            else FAMILIES.get(family, family.replace("_", " "))
        ),
        columns=("coefficient", "of", "value", "95% interval over respondents", "respondents", ""),
        rows=tuple(rows),
        right=(2, 3, 4),
    )


def _estimate_remarks(estimate: Estimate) -> str:
    if estimate.status != "ok":
        remarks = [f"{estimate.status.replace('_', ' ')}: {estimate.reason}"]
    else:
        remarks = []
    remarks += list(estimate.flags)
    for key, words in _DETAIL.items():
        value = estimate.detail.get(key)
        if value is not None:
            remarks.append(words.format(number(value) if isinstance(value, float) else value))
    low, high = estimate.detail.get("without_low"), estimate.detail.get("without_high")
    if low is not None and high is not None and math.isfinite(low):
        remarks.append(f"{number(low)} to {number(high)} without one respondent")
    return "; ".join(remarks)
