"""The further tables of a benchmark's own paper, and their drawings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hqm.reports import score_tables
from hqm.reports.drawings import spans
from hqm.reports.tables import DASH, Table, Text, number, short

from hqm import BenchmarkAudit

TITLE = "Analyses of this benchmark"
_MOST = 30
"""A drawing has at most so many rows; the table has all."""
Row = Sequence[Any]


def analysis_tables(audit: BenchmarkAudit) -> list[Table | None]:
    """Every further table, as it stands in the audit."""
    return [_table(audit, analysis) for analysis in audit.analyses]


def analysis_drawings(audit: BenchmarkAudit) -> list[tuple[str, str]]:
    """(drawing, caption) of every further table that is drawn and has two numbers or more."""
    drawings = (
        (_drawing(analysis), f"{analysis['title']}: {analysis['drawn']}.")
        for analysis in audit.analyses
    )
    return [(svg, caption) for svg, caption in drawings if svg]


def _table(audit: BenchmarkAudit, analysis: Mapping[str, Any]) -> Table:
    columns, rows = tuple(analysis["columns"]), analysis["rows"]
    numeric = tuple(
        i for i in range(len(columns)) if any(isinstance(row[i], (int, float)) for row in rows)
    )
    made = tuple(tuple(_text(columns[i], value) for i, value in enumerate(row)) for row in rows)
    return Table(
        f"{analysis['title']}.",
        columns,
        made,
        numeric,
        (analysis["about"],),
        score_tables.made_of(audit),
    )


def _text(column: str, value: Any) -> Text:
    if value is None:
        return Text(DASH)
    if isinstance(value, int):
        return Text(f"{value:,}")
    if isinstance(value, float):
        return Text(number(value))
    return Text(short(value), value) if column == "Respondent" else Text(str(value))


def _drawing(analysis: Mapping[str, Any]) -> str:
    if not analysis["drawn"]:
        return ""
    at = list(analysis["columns"]).index(analysis["drawn"])
    rows = [row for row in analysis["rows"] if row[at] is not None][:_MOST]
    if len(rows) < 2:
        return ""
    named = [(_name(analysis["columns"], row), float(row[at]), None, None) for row in rows]
    return spans(named, analysis["drawn"], analysis["title"], within=[0.0])


def _name(columns: Sequence[str], row: Row) -> str:
    """The texts at the beginning of a row."""
    texts = [
        short(v) if c == "Respondent" else v
        for c, v in zip(columns, row, strict=True)
        if isinstance(v, str)
    ]
    return ", ".join(texts)
