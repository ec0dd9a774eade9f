"""The report of a published table: one self-contained page that loads nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from hqm.reports.evidence_page import environment
from hqm.reports.tables import FAMILIES, Table, Text, anchor, interval, number, statistic_name

from hqm import Estimate

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
            name=data["benchmark"],
            consistency=data["consistency"],
            n=len(data["respondents"]),
            flags=data["flags"],
            notes=data["notes"],
            tables=[
                _read_as(data),
                *_contradicted(data),
                *(_family(f, estimates) for f in families),
            ],
            limits=list(limits),
            command=command,
            signatures=[
                (anchor(e.signature), f"{e.indicator} {e.metric}", e.signature) for e in estimates
            ],
        )
    )


def _read_as(data: Mapping[str, Any]) -> Table:
    """What each column was taken for."""
    scales = {1.0: "shares of 1", 100.0: "per cent", None: "points"}
    return Table.of(
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


def _contradicted(data: Mapping[str, Any]) -> Sequence[Table]:
    """What cannot be true, and what holds only under a condition."""
    tables = []
    for caption, soft in (
        ("What the table contradicts in itself", False),
        ("What is possible only under a condition", True),
    ):
        rows = [
            (
                Text(v["row"]),
                Text(v["column"]),
                Text(v["printed"]),
                Text(v["reason"]),
                Text("" if v["off"] is None else number(v["off"], 2)),
                *([Text(v["unless"])] if soft else []),
            )
            for v in data["violations"]
            if bool(v["unless"]) is soft
        ]
        columns = (
            "row",
            "column",
            "printed",
            "what the other numbers give",
            "off by",
            *(["only if"] if soft else []),
        )
        if rows:
            tables.append(Table.of(caption, columns, tuple(rows), (2, 4)))
    return tables


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
            Text(interval(e.interval("model_population"))),
            Text(str(e.n_respondents)),
            Text(_said(e)),
        )
        for e in estimates
        if e.indicator.partition(".")[0] == family
    ]
    return Table.of(
        caption=(
            "The two columns compared"
            if family == _AGREEMENT
            else FAMILIES.get(family, family.replace("_", " "))
        ),
        columns=("coefficient", "of", "value", "95% interval over respondents", "respondents", ""),
        rows=tuple(rows),
        right=(2, 3, 4),
    )


def _said(estimate: Estimate) -> str:
    parts = (
        [f"{estimate.status.replace('_', ' ')}: {estimate.reason}"]
        if estimate.status != "ok"
        else []
    )
    parts += list(estimate.flags)
    for key, words in _DETAIL.items():
        value = estimate.detail.get(key)
        if value is not None:
            parts.append(words.format(number(value) if isinstance(value, float) else value))
    low, high = estimate.detail.get("without_low"), estimate.detail.get("without_high")
    if low is not None and high is not None and math.isfinite(low):
        parts.append(f"{number(low)} to {number(high)} without one respondent")
    return "; ".join(parts)
