"""Tables of items: those to read first, and those that a test names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hqm.reports import tables
from hqm.reports.tables import (
    Table,
    Text,
    about,
    estimate_text,
    expected_power,
    find,
    known,
    leading,
    number,
    percent,
    short,
    statistic_name,
)

from hqm import BenchmarkAudit, Cell, findings_in_order

# --- examples ---

FACETS = {
    "run": "Another seed",
    "form": "Another wording",
    "judge": "Another judge",
    "sight": "Without the picture",
    "resolution": "Smaller pictures",
    "human": "People",
}
"""What the report calls the facets."""


def as_shown(audit: BenchmarkAudit, example: Mapping[str, Any]) -> Mapping[str, Any]:
    """An example as the page shows it, with short names and numbers as text."""
    rows = []
    for said in example["answers"]:
        value, where = said["value"], str(said["cell"])
        labelled = where not in audit.cells
        rows.append(
            {
                **said,
                "who": tables.short(str(said["respondent"])),
                "where": tables.cell(where),
                "verdict": _verdict(value, str(said["state"]), labelled),
                "good": None if value is None else bool(value >= 0.5),
                "label": Cell.parse(where).judge if labelled and not said["text"] else "",
            }
        )
    names = list(dict.fromkeys(str(said["respondent"]) for said in example["answers"]))
    return {
        **example,
        "answers": rows,
        "facets": [
            (name, FACETS.get(name, name), tables.percent(gap))
            for name, gap in example["facets"].items()
        ],
        "shown": names,
        "cut": example["respondents"] - len(names),
    }


def _verdict(value: float | None, state: str, label: bool = False) -> str:
    """A verdict in words.

    >>> _verdict(1.0, "ok"), _verdict(0.0, "ok"), _verdict(None, "unparsed"), _verdict(0.5, "ok")
    ('right', 'wrong', 'not scored: unparsed', '0.50')
    """
    if value is None:
        return f"not scored: {state}"
    words = {1.0: "faithful", 0.0: "hallucinated"} if label else {1.0: "right", 0.0: "wrong"}
    return words.get(value) or tables.number(value, 2)


def flagged_items(audit: BenchmarkAudit) -> Table:
    """The flagged items by name, with the reason for each flag."""
    rows: list[tuple[Text, ...]] = []
    what = {
        "label_errors": (
            "To read first: strong respondents fail it and weak ones pass, which a wrong key or a"
            " weakness in common explains"
        ),
        "negative_items": "Works against the rest of the test",
        "misfit_items": "Does not fit the Rasch model",
        "dead_items": "All respondents are right or all are wrong, so it separates nobody",
        "duplicate_items": "Occurs more than once",
    }
    for statistic, meaning in what.items():
        estimate = find(audit, f"items.{statistic}")
        if estimate is None or estimate.value is None:
            reason = "" if estimate is None else estimate.reason
            shown, which = Text("not measured", reason, True), reason
        else:
            shown, which = estimate_text(estimate), _names(estimate.detail, int(estimate.value))
            power = expected_power(estimate)
            if power is not None:
                which = f"{which}\nThis design would find {percent(power)} of such items.".strip()
        rows.append((Text(statistic_name(statistic), small=meaning), shown, Text(which)))
    return Table.of(
        "Items to look at",
        ("Finding", "Items", "Which"),
        tuple(rows),
        (1,),
        (f"Computed from {leading(audit)}.",),
    )


def _names(detail: Mapping[str, Any], count: int, most: int = 12) -> str:
    names: list[str] = [str(row.get("item")) for row in detail.get("candidates", ())]
    names = names or [str(name) for name in detail.get("items", ())]
    names = names or [" = ".join(map(str, group)) for group in detail.get("groups", ())]
    more = count - min(len(names), most)
    return ", ".join(names[:most]) + (f", and {more:,} more" if names and more > 0 else "")


# --- items to read, and the complete list of every finding ---

MARKS = ("keep", "wrong key", "ambiguous", "bad picture")
"""What a reader may say of an item; `hqm audit --key` reads the same words."""
_MOST = 2000
"""Rows of a list on the page; the file `findings.csv` beside the report has all."""
_WHY = {
    "contradiction": "Its key contradicts another",
    "answers": "Able respondents fail it and weak ones pass",
}


@dataclass(frozen=True, slots=True)
class Listed:
    """The complete list of a finding."""

    anchor: str
    title: str
    count: int
    table: Table


def to_read(audit: BenchmarkAudit) -> list[dict[str, Any]]:
    """The items to read first, in order, as the page shows them."""
    return [_to_read(row, place) for place, row in enumerate(audit.to_read, 1)]


def _to_read(row: Mapping[str, Any], place: int) -> dict[str, Any]:
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
    return {
        "item": str(row.get("item")),
        "place": place,
        "why": _WHY.get(str(row.get("why")), ""),
        "options": options,  # letter and text of each option of a multiple choice
        "key": key,
        "key_words": f"{key}: {dict(options)[key]}" if key in dict(options) else key,
        "expected": of_ten,
        **{name: str(row.get(name) or "") for name in ("question", "type", "image", "thumbnail")},
        **{name: tuple(map(str, row.get(name) or ())) for name in ("fails", "beside")},
    }


def lists(audit: BenchmarkAudit, anchor: str) -> tuple[Listed, ...]:
    """The complete list of every finding of the check, and of every count of items that an
    indicator names.
    """
    return tuple(_lists(audit, f"{anchor}-list"))


def _lists(audit: BenchmarkAudit, anchor: str) -> Iterator[Listed]:
    for i, finding in enumerate(findings_in_order(audit), 1):
        rows = [row for row in finding.get("rows", ()) if isinstance(row, Mapping)]
        if rows:
            title = f"{finding['code']} {str(finding['name']).replace('-', ' ')}"
            table = _table(f"{title}: {finding['sentence']}", rows)
            yield Listed(f"{anchor}-{i}", title, len(rows), table)
    for statistic in ("label_errors", "negative_items", "dead_items", "misfit_items"):
        estimate = find(audit, f"items.{statistic}")
        if estimate is None or not estimate.value:
            continue
        rows = list(estimate.detail.get("candidates") or ()) or [
            {"item": name} for name in estimate.detail.get("items") or ()
        ]
        if rows:
            title = f"Items, {statistic_name(statistic)}"
            table = _table(title, rows, estimate.signature)
            yield Listed(f"{anchor}-{statistic}", title, len(rows), table)


def _table(caption: str, rows: Iterable[Mapping[str, Any]], signature: str = "") -> Table:
    shown = list(rows)[:_MOST]
    columns = tuple(dict.fromkeys(name for row in shown for name in row if _cell(row[name])))
    more = len(list(rows)) - len(shown)
    return Table.of(
        caption,
        tuple(name.replace("_", " ") for name in columns),
        rows=tuple(tuple(Text(_cell(row.get(name))) for name in columns) for row in shown),
        right=tuple(
            i
            for i, name in enumerate(columns)
            if any(isinstance(row.get(name), (int, float)) for row in shown)
        ),
        notes=(f"{more:,} further rows are in findings.csv.",) if more > 0 else (),
        signature=signature,
    )


def _cell(value: object) -> str:
    """A value of a row in words.

    >>> _cell(["q1", "q2"]), _cell(0.98765), _cell(None), _cell(1200)
    ('q1, q2', '0.988', '', '1,200')
    """
    if isinstance(value, (list, tuple)):
        # respondents stand without their kind
        return ", ".join(
            short(str(name)) if str(name).startswith("recorded/") else str(name) for name in value
        )
    if isinstance(value, bool) or value is None:
        return "" if value is None else str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return number(value) if isinstance(value, float) else str(value)
