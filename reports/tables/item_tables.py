"""Tables of items: those to read first, and those that a test names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from hqm.reports.tables import table as tables
from hqm.reports.tables.table import (
    Table,
    Text,
    estimate_text,
    expected_power,
    find_estimate,
    finite_number,
    leading_metric,
    number,
    percent,
    rough_percent,
    short_name,
    statistic_name,
)

from hqm import BenchmarkAudit, Cell, Estimate
from hqm.auditing.audit_rows import ReadingRow
from hqm.auditing.definitions import findings_in_order
from hqm.auditing.disagreements import ExampleRow

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


def example_for_page(audit: BenchmarkAudit, example: ExampleRow) -> Mapping[str, object]:
    """An example as the page shows it, with short names and numbers as text."""
    rows = []
    for answer in example["answers"]:
        value = answer["value"]
        administration = str(answer["cell"])
        labelled = administration not in audit.cells
        rows.append(
            {
                **answer,
                "respondent_name": tables.short_name(str(answer["respondent"])),
                "administration": tables.administration_name(administration),
                "verdict": _verdict(value, str(answer["state"]), labelled),
                "good": None if value is None else bool(value >= 0.5),
                "label": Cell.parse(administration).judge
                if labelled and not answer["text"]
                else "",
            }
        )
    # In the order of the answers; the order of a set of texts differs from run to run.
    names = list(dict.fromkeys(str(answer["respondent"]) for answer in example["answers"]))
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
    if label:
        words = {1.0: "faithful", 0.0: "hallucinated"}
    else:
        words = {1.0: "right", 0.0: "wrong"}
    return words.get(value) or tables.number(value, 2)


def flagged_items(audit: BenchmarkAudit) -> Table:
    """The flagged items by name, with the reason for each flag."""
    rows: list[tuple[Text, ...]] = []
    meanings = {
        "label_errors": (
            "To read first: strong respondents fail it and weak ones pass, which a wrong key or a"
            " shared weakness explains"
        ),
        "negative_items": "Correlates negatively with the rest of the test",
        "misfit_items": "Does not fit the Rasch model",
        "dead_items": "All respondents are right or all are wrong, so it separates no respondents",
        "duplicate_items": "Occurs more than once",
    }
    for statistic, meaning in meanings.items():
        estimate = find_estimate(audit, f"items.{statistic}")
        if estimate is None or estimate.value is None:
            reason = "" if estimate is None else estimate.reason
            count_cell = Text("not measured", reason, True)
            item_names = reason
        else:
            count_cell = estimate_text(estimate)
            item_names = _names(estimate, int(estimate.value))
            power = expected_power(estimate)
            # A short list means little where the design would have missed most faults, so the power
            # stands beside it.
            if power is not None:
                item_names = (
                    f"{item_names}\nThis design would find {percent(power)} of such items.".strip()
                )
        rows.append((Text(statistic_name(statistic), small=meaning), count_cell, Text(item_names)))
    return Table.for_page(
        "Items to look at",
        ("Finding", "Items", "Which"),
        tuple(rows),
        (1,),
        (f"Computed from {leading_metric(audit)}.",),
    )


def _names(estimate: Estimate, count: int, max_names: int = 12) -> str:
    # Label errors are stored as `candidates`, duplicates as `groups`, and all others as `items`.
    detail = estimate.detail
    names: list[str] = [str(row.get("item")) for row in detail.get("candidates", ())]
    names = names or [str(name) for name in detail.get("items", ())]
    names = names or [" = ".join(map(str, group)) for group in detail.get("groups", ())]
    n_more = count - min(len(names), max_names)
    return ", ".join(names[:max_names]) + (f", and {n_more:,} more" if names and n_more > 0 else "")


# --- items to read, and the complete list of every finding ---

REVIEW_MARKS = ("keep", "wrong key", "ambiguous", "bad picture")
"""What a reader may say of an item; `hqm audit --key` reads the same words."""
_MAX_ROWS = 2000
"""Rows of a list on the page; the file `findings.csv` beside the report has all."""
_READING_REASONS = {
    "contradiction": "Its key contradicts another",
    "answers": "Able respondents fail it and weak ones pass",
    "reversed": "Respondents with high scores elsewhere score low on it",
}


@dataclass(frozen=True, slots=True)
class FindingList:
    """The complete list of a finding."""

    anchor: str
    title: str
    count: int
    table: Table


@dataclass(frozen=True, slots=True)
class ItemToRead:
    """An item to read first, as the page shows it."""

    item: str
    rank: int
    why: str
    options: tuple[tuple[str, str], ...]
    """Letter and text of each option of a multiple choice."""
    key: str
    key_words: str
    expected: str
    reversed: bool
    question: str
    type: str
    image: str
    thumbnail: str
    fails: tuple[str, ...]
    beside: tuple[str, ...]


def reading_list(audit: BenchmarkAudit) -> list[ItemToRead]:
    """The items to read first, in order, as the page shows them."""
    return [_reading_row(row, rank) for rank, row in enumerate(audit.to_read, 1)]


def _reading_row(row: ReadingRow, rank: int) -> ItemToRead:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    options = tuple(zip(letters, map(str, row.get("options") or ()), strict=False))
    key = str(row.get("key") or "")
    expected = finite_number(row.get("expected"))
    faults = "have a wrong key or mislead strong models"
    if row.get("why") == "reversed":
        faults = "are reversed or mislead strong models"
    expectation = ""
    if row.get("why") == "contradiction":
        expectation = "one key of the group is wrong"
    elif expected is not None:
        expectation = f"at this rank {rough_percent(expected)} of the items {faults}"
    return ItemToRead(
        item=str(row.get("item")),
        rank=rank,
        why=_READING_REASONS.get(str(row.get("why")), ""),
        options=options,
        key=key,
        key_words=f"{key}: {dict(options)[key]}" if key in dict(options) else key,
        expected=expectation,
        reversed=row.get("why") == "reversed",
        question=row.get("question") or "",
        type=row.get("type") or "",
        image=row.get("image") or "",
        thumbnail=row.get("thumbnail") or "",
        fails=tuple(row.get("fails") or ()),
        beside=tuple(row.get("beside") or ()),
    )


def finding_lists(audit: BenchmarkAudit, anchor: str) -> tuple[FindingList, ...]:
    """The complete list of every finding of the check, and of every count of items that an
    indicator names.
    """
    return tuple(_finding_lists(audit, f"{anchor}-list"))


def _finding_lists(audit: BenchmarkAudit, anchor: str) -> Iterator[FindingList]:
    for i, finding in enumerate(findings_in_order(audit), 1):
        rows = [row for row in finding.get("rows", ()) if isinstance(row, Mapping)]
        if rows:
            title = f"{finding['code']} {str(finding['name']).replace('-', ' ')}"
            table = _table(f"{title}: {finding['sentence']}", rows)
            yield FindingList(f"{anchor}-{i}", title, len(rows), table)
    for statistic in ("label_errors", "negative_items", "dead_items", "misfit_items"):
        estimate = find_estimate(audit, f"items.{statistic}")
        if estimate is None or not estimate.value:
            continue
        rows = list(estimate.detail.get("candidates") or ()) or [
            {"item": name} for name in estimate.detail.get("items") or ()
        ]
        if rows:
            title = f"Items, {statistic_name(statistic)}"
            table = _table(title, rows, estimate.signature)
            yield FindingList(f"{anchor}-{statistic}", title, len(rows), table)


def _table(caption: str, rows: Iterable[Mapping[str, object]], signature: str = "") -> Table:
    displayed = list(rows)[:_MAX_ROWS]
    # Rows of one finding need not have the same keys: a column is shown where any row has a value
    # for it.
    columns = tuple(dict.fromkeys(name for row in displayed for name in row if _cell(row[name])))
    n_hidden = len(list(rows)) - len(displayed)

    def cells(row: Mapping[str, object]) -> tuple[Text, ...]:
        return tuple(Text(_cell(row.get(name))) for name in columns)

    def is_numeric(index: int) -> bool:
        return any(isinstance(row.get(columns[index]), (int, float)) for row in displayed)

    return Table.for_page(
        caption,
        tuple(name.replace("_", " ") for name in columns),
        rows=tuple(map(cells, displayed)),
        right=tuple(filter(is_numeric, range(len(columns)))),
        notes=(f"{n_hidden:,} further rows are in findings.csv.",) if n_hidden > 0 else (),
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
            short_name(str(name)) if str(name).startswith("recorded/") else str(name)
            for name in value
        )
    if isinstance(value, bool) or value is None:
        if value is None:
            return ""
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return number(value)
    return str(value)
