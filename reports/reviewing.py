"""What a person reads and marks: the items to read first, and the complete list of every
finding.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hqm.reports.details import known
from hqm.reports.names import statistic_name
from hqm.reports.tables import Table, Text, about, find, leading, number, short

from hqm import BenchmarkAudit, findings_in_order

MARKS = ("keep", "wrong key", "ambiguous", "bad picture")
"""What a reader may say of an item; `hqm audit --key` reads the same words."""
_MOST = 2000
"""Rows of a list on the page; the file `findings.csv` beside the report has all."""
_WHY = {
    "contradiction": "Its key contradicts another",
    "answers": "Able respondents fail it and weak ones pass",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToRead:
    """An item of the list, as the page shows it."""

    item: str
    place: int
    why: str
    question: str
    options: tuple[tuple[str, str], ...]
    """Letter and text of each option of a multiple choice."""
    key: str
    key_words: str
    type: str
    image: str
    thumbnail: str
    expected: str
    fails: tuple[str, ...]
    beside: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Listed:
    """The complete list of a finding."""

    anchor: str
    title: str
    count: int
    table: Table


def to_read(audit: BenchmarkAudit) -> tuple[ToRead, ...]:
    """The items to read first, in order."""
    return tuple(_to_read(row, place) for place, row in enumerate(audit.to_read, 1))


def _to_read(row: Mapping[str, Any], place: int) -> ToRead:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    options = tuple(zip(letters, map(str, row.get("options") or ()), strict=False))
    key = str(row.get("key") or "")
    expected = known(row.get("expected"))
    of_ten = (
        f"at this rank {about(expected)} of the items have a wrong key or mislead strong models"
        if expected is not None
        else ""
    )
    if row.get("why") == "contradiction":
        of_ten = "one key of the group is wrong"
    return ToRead(
        item=str(row.get("item")),
        place=place,
        why=_WHY.get(str(row.get("why")), ""),
        question=str(row.get("question") or ""),
        options=options,
        key=key,
        key_words=f"{key}: {dict(options)[key]}" if key in dict(options) else key,
        type=str(row.get("type") or ""),
        image=str(row.get("image") or ""),
        thumbnail=str(row.get("thumbnail") or ""),
        expected=of_ten,
        fails=tuple(map(str, row.get("fails") or ())),
        beside=tuple(map(str, row.get("beside") or ())),
    )


def lists(audit: BenchmarkAudit, anchor: str) -> tuple[Listed, ...]:
    """The complete list of every finding of the check, and of every count of items that an
    indicator names.
    """
    listed = []
    for i, finding in enumerate(findings_in_order(audit), 1):
        rows = [row for row in finding.get("rows", ()) if isinstance(row, Mapping)]
        if rows:
            title = f"{finding['code']} {str(finding['name']).replace('-', ' ')}"
            listed.append(
                Listed(
                    f"{anchor}-list-{i}",
                    title,
                    len(rows),
                    _table(f"{title}: {finding['sentence']}", rows),
                )
            )
    for statistic in ("label_errors", "negative_items", "dead_items", "misfit_items"):
        estimate = find(audit, f"items.{statistic}", leading(audit))
        if estimate is None or not estimate.value:
            continue
        rows = list(estimate.detail.get("candidates") or ()) or [
            {"item": name} for name in estimate.detail.get("items") or ()
        ]
        if rows:
            title = f"Items, {statistic_name(statistic)}"
            listed.append(
                Listed(
                    f"{anchor}-list-{statistic}",
                    title,
                    len(rows),
                    _table(title, rows, estimate.signature),
                )
            )
    return tuple(listed)


def _table(caption: str, rows: Iterable[Mapping[str, Any]], signature: str = "") -> Table:
    shown = list(rows)[:_MOST]
    columns = tuple(dict.fromkeys(name for row in shown for name in row))
    right = tuple(
        i
        for i, name in enumerate(columns)
        if any(isinstance(row.get(name), (int, float)) for row in shown)
    )
    cells = tuple(tuple(Text(_cell(row.get(name))) for name in columns) for row in shown)
    more = len(list(rows)) - len(shown)
    notes = (f"{more:,} further rows are in findings.csv.",) if more > 0 else ()
    return Table(
        caption, tuple(name.replace("_", " ") for name in columns), cells, right, notes, signature
    )


def _cell(value: object) -> str:
    """A value of a row in words.

    >>> _cell(["q1", "q2"]), _cell(0.98765), _cell(None), _cell(1200)
    ('q1, q2', '0.988', '', '1,200')
    """
    if isinstance(value, (list, tuple)):
        return ", ".join(short_list(value))
    if isinstance(value, bool) or value is None:
        return "" if value is None else str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return number(value) if isinstance(value, float) else str(value)


def short_list(values: Iterable[object]) -> list[str]:
    """Names in a cell; those of respondents without their kind."""
    return [
        short(str(value)) if str(value).startswith("recorded/") else str(value) for value in values
    ]
