"""Where a rule stopped the asking: in a sentence, and respondent by respondent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hqm.reports.phrases import Sentence, say
from hqm.reports.tables import DASH, Table, Text, number, percent, short

from hqm import BenchmarkAudit

TITLE = "Where asking was stopped"


def stopped(audit: BenchmarkAudit) -> list[Sentence]:
    """That asking was stopped by a rule, and what all numbers are computed on; nothing where all
    items were asked.
    """
    at = audit.stopped
    if not at:
        return []
    return [
        say(
            "Asking was stopped by the rule “{rule}”. All numbers are computed on the {items}"
            " of {all_items} items ({pictures} of {all_pictures} pictures, drawn at random)"
            f" that every respondent was asked; what each was asked stands under {TITLE}.",
            rule=at["rule"],
            items=f"{at['items']:,}",
            all_items=f"{at['of_items']:,}",
            pictures=f"{at['pictures']:,}",
            all_pictures=f"{at['of_pictures']:,}",
        )
    ]


def stops_table(audit: BenchmarkAudit) -> Table | None:
    """Each respondent's own score on all that it was asked, and why it was asked no more."""
    if not audit.stopped:
        return None
    of = audit.stopped["of_items"]
    rows = [
        (
            Text(short(row["respondent"]), row["respondent"]),
            Text(f"{row['items']:,} of {of:,}"),
            Text(percent(row["inclusion"])),
            Text(_score(row), small=str(row.get("metric", ""))),
            Text(_why(row, of)),
        )
        for row in audit.stopped["respondents"]
    ]
    notes = (
        (
            "The score is that on the full benchmark (these items), estimated from all items that"
            " the respondent was asked; the 95% interval holds whenever asking stopped. Intervals"
            " elsewhere in this report are of a fixed size: they do not allow for the rule having"
            " looked at the answers."
        ),
        "To ask the rest, run the same command without --until.",
    )
    columns = (
        "Respondent",
        "Items asked",
        "Chance of a picture to be asked",
        "Score at any time",
        "Stopped",
    )
    return Table(TITLE, columns, tuple(rows), (1, 2, 3), notes)


def _score(row: Mapping[str, Any]) -> str:
    if row.get("score") is None:
        return DASH
    return f"{number(row['score'])} [{number(row['low'])}, {number(row['high'])}]"


def _why(row: Mapping[str, Any], of: int) -> str:
    if "stopped_after" not in row:
        return str(row["why"])
    return f"stopped after {row['stopped_after']:,} of {of:,} items, when {row['why']}"
