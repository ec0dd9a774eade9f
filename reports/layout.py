"""Tables for papers: numbers with their intervals, marks and signatures; as Markdown, CSV and
JSON.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from hqm.reports.tables import number, withheld_note

from hqm import Estimate

Mark = Literal["", "best", "second"]
Kind = Literal["text", "number", "interval"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One cell.

    Parameters
    ----------
    text
        What is shown.
    value, low, high
        The number behind it and its interval, not rounded; None where there is none.
    span
        The interval as shown.
    mark
        `best` or `second` where tests separate the number from the rest of its column.
    signature
        The line that says what the number was made of.
    """

    text: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    span: str = ""
    mark: Mark = ""
    signature: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: text, a number, or a number with its interval; columns of one group share a
    heading.
    """

    title: str
    kind: Kind = "number"
    group: str = ""


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A table with the name that LaTeX refers to it by, and a caption that states the protocol."""

    name: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Entry, ...], ...]
    notes: tuple[str, ...] = ()


def plain(text: object) -> Entry:
    """A cell of text."""
    return Entry(str(text))


def measured(
    value: float | None,
    low: float | None = None,
    high: float | None = None,
    *,
    digits: int = 3,
    signature: str = "",
) -> Entry:
    """A cell with a number and, where there is one, its interval.

    >>> measured(0.5, 0.4, 0.6).text, measured(0.5, 0.4, 0.6).span, measured(None).text
    ('0.500', '[0.400, 0.600]', '–')
    """
    value, low, high = (_exact(v) for v in (value, low, high))
    span = (
        ""
        if value is None or low is None or high is None
        else f"[{number(low, digits)}, {number(high, digits)}]"
    )
    return Entry(number(value, digits), value, low, high, span, signature=signature)


def _exact(value: float | None) -> float | None:
    """A number without the rounding error that arithmetic leaves next to a whole number."""
    if value is None or not math.isfinite(value):
        return None
    return float(round(value)) if abs(value - round(value)) < 1e-12 else float(value)


def estimated(
    estimate: Estimate | None, *, digits: int = 3, over: Sequence[str] = ("model_population",)
) -> Entry:
    """A cell with an estimate and the first of the named intervals that it has."""
    if estimate is None:
        return measured(None)
    spans = [estimate.interval(name) for name in over]
    span = next((s for s in spans if s is not None), None)
    ends = (None, None) if span is None else (span.low, span.high)
    entry = measured(estimate.value, *ends, digits=digits, signature=estimate.signature)
    return replace(entry, span=f"{entry.span}{withheld_note(estimate)}".strip())


def markdown(tables: Sequence[PaperTable]) -> str:
    """Tables as Markdown: best in bold, second best underlined; signatures at the end of the
    file.
    """
    blocks = []
    for table in tables:
        heads = [f"{c.group}: {c.title}" if c.group else c.title for c in table.columns]
        lines = [
            f"**{_cell(table.name)}.** {_cell(table.caption)}",
            "",
            "| " + " | ".join(map(_cell, heads)) + " |",
        ]
        lines.append(
            "|" + "|".join("---" if c.kind == "text" else "---:" for c in table.columns) + "|"
        )
        lines += ["| " + " | ".join(map(_marked, row)) + " |" for row in table.rows]
        lines += ["", *(f"{_cell(note)}\n" for note in table.notes)]
        blocks.append("\n".join(lines).rstrip() + "\n")
    signed = [f"    {place}: {line}" for place, line in signatures(tables)]
    return "\n".join([*blocks, *(["Signatures:\n", *signed, ""] if signed else [])])


def _cell(text: str) -> str:
    """Text escaped so that Markdown shows it as it is and it does not end a cell."""
    text = " ".join(text.split()).replace("\\", "\\\\").replace("&", "&amp;").replace("<", "&lt;")
    for character in "|*_`[]~#$":
        text = text.replace(character, "\\" + character)
    return text


def _marked(entry: Entry) -> str:
    text = _cell(entry.text)
    text = {"best": f"**{text}**", "second": f"<u>{text}</u>"}.get(entry.mark, text)
    return f"{text} {_cell(entry.span)}".rstrip()


def comma_separated(tables: Sequence[PaperTable]) -> str:
    """Tables as one long CSV with a line per cell; the number and its interval are not rounded."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        (
            "table",
            "line",
            "row",
            "group",
            "column",
            "shown",
            "value",
            "low",
            "high",
            "mark",
            "signature",
        )
    )
    for table in tables:
        for i, row in enumerate(table.rows):
            for column, entry in zip(table.columns, row, strict=True):
                numbers = [
                    "" if v is None else repr(v) for v in (entry.value, entry.low, entry.high)
                ]
                words = (row[0].text, column.group, column.title, entry.text)
                writer.writerow(
                    (
                        table.name,
                        i,
                        *map(_harmless, words),
                        *numbers,
                        entry.mark,
                        _harmless(entry.signature),
                    )
                )
    return out.getvalue()


def _harmless(text: str) -> str:
    """Text with an apostrophe in front where a spreadsheet would take it for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "@", "\t", "\r") else text


def as_json(tables: Sequence[PaperTable]) -> str:
    """Tables as JSON, without rounding."""
    written: list[Mapping[str, Any]] = [
        {
            "name": table.name,
            "caption": table.caption,
            "columns": [
                {"title": c.title, "group": c.group, "kind": c.kind} for c in table.columns
            ],
            "rows": [
                [
                    {
                        "shown": e.text,
                        "value": e.value,
                        "low": e.low,
                        "high": e.high,
                        "mark": e.mark,
                        "signature": e.signature,
                    }
                    for e in row
                ]
                for row in table.rows
            ],
            "notes": list(table.notes),
        }
        for table in tables
    ]
    return json.dumps({"tables": written}, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def signatures(tables: Sequence[PaperTable]) -> list[tuple[str, str]]:
    """The place of every number that has a signature, with the signature."""
    return [
        (
            f"{table.name}, {' '.join(row[0].text.split())}, {column.title}",
            " ".join(entry.signature.split()),
        )
        for table in tables
        for row in table.rows
        for column, entry in zip(table.columns, row, strict=True)
        if entry.signature
    ]
