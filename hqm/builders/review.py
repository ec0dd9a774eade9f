"""Decisions of people about built items: keep, ambiguous, wrong key, bad picture, and texts that
they corrected.

Read are CSV and JSON lines with `item` and `decision`, and the CSV which the report's page "Read
these items" downloads (`item`, `mark`, `target`). A text may be corrected in the column `text`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from hqm.errors import DataError
from hqm.files.records import read_records
from hqm.signature import digest_file

Decision = Literal["keep", "ambiguous", "wrong key", "bad picture", "fixed text"]
DECISIONS: tuple[Decision, ...] = get_args(Decision)
_SYNONYMS: Mapping[str, Decision] = {
    "ok": "keep",
    "right": "keep",
    "ambiguous subject": "ambiguous",
    "unclear": "ambiguous",
    "wrong": "wrong key",
    "fix text": "fixed text",
    "fixed": "fixed text",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewed:
    """What was decided about one item."""

    decision: Decision
    target: str = ""
    """The right answer, where the key is wrong."""
    text: str = ""
    reviewer: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """The decisions of one file."""

    path: str
    digest: str
    by_item: Mapping[str, Reviewed]

    @property
    def counts(self) -> Mapping[str, int]:
        """Decision -> how many items."""
        return Counter(reviewed.decision for reviewed in self.by_item.values())

    @property
    def sound(self) -> int:
        """How many items were kept as they are."""
        return self.counts.get("keep", 0)


def read_review(path: Path) -> Review:
    """Read a file of decisions.

    Raises
    ------
    DataError
        A row has no item or no decision, an item stands twice with different decisions, or a fixed
        text is empty.
    """
    decided: dict[str, Reviewed] = {}
    for i, record in enumerate(read_records(path), 1):
        place = f"{path}: record {i}"
        item = str(record.get("item") or "").strip()
        if not item:
            there = ", ".join(map(repr, record)) or "none"
            raise DataError(
                f"the field 'item' is missing or empty (there are {there})",
                place=place,
                remedy="Fill it.",
            )
        text = str(record.get("text") or record.get("fixed_text") or "").strip()
        mark = (
            str(record.get("decision") or record.get("mark") or "")
            .strip()
            .lower()
            .replace("_", " ")
        )
        if not mark:
            continue  # a row of the page that nobody has marked
        decision = _SYNONYMS.get(mark, mark)
        if decision not in DECISIONS:
            remedy = f"Write {', '.join(DECISIONS)}."
            raise DataError(
                f"the decision on {item} is {mark!r:.40}",
                place=place,
                remedy=remedy,
                given=mark,
                known=DECISIONS,
            )
        if decision == "fixed text" and not text:
            raise DataError(
                f"the text of {item} is fixed, and none is given",
                place=place,
                remedy="Write it in 'text'.",
            )
        reviewed = Reviewed(
            decision=decision,
            target=str(record.get("target") or "").strip(),
            text=text,
            reviewer=str(record.get("rater") or record.get("reviewer") or "").strip(),
            note=str(record.get("note") or "").strip(),
        )
        if item in decided and _core(decided[item]) != _core(reviewed):
            remedy = "Adjudicate them, and keep one row."
            raise DataError(
                f"the item {item!r} has two different decisions", place=place, remedy=remedy
            )
        decided[item] = reviewed
    if not decided:
        raise DataError(
            "it decides on no item", place=str(path), remedy="Write the columns item,decision."
        )
    return Review(path=path.name, digest=digest_file(path), by_item=decided)


def _core(reviewed: Reviewed) -> tuple[Any, ...]:
    return reviewed.decision, reviewed.target, reviewed.text
