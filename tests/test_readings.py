"""Sentences as people and models write them, each with what a reader takes from it."""

import functools
import json
from pathlib import Path
from typing import Any

import pytest

from hqm import Item, Response
from hqm.scoring.choices import read_choices
from hqm.scoring.list_answers import read_list
from hqm.scoring.number_answers import read_number
from hqm.scoring.polar_answers import read_polar
from hqm.scoring.rules import score_short

Row = dict[str, Any]


@functools.cache
def readings() -> list[Row]:
    """Each text with what a person read, before the reader did."""
    table = Path(__file__).parent / "tables" / "readings.jsonl"
    return list(map(json.loads, table.read_text(encoding="utf-8").splitlines()))


def polar(row: Row) -> str | None:
    return read_polar(row["text"], row["question"], row.get("negated", False))


def choice(row: Row) -> str:
    return "".join(read_choices(row["text"], row["options"], row["question"]))


def number(row: Row) -> object:
    counts = row["question"].lower().startswith("how many")
    read = read_number(row["text"], counts, row["question"])
    return read.value if read else None


def members(row: Row) -> list[str]:
    return list(read_list(row["text"]))


def verdict(row: Row) -> float | None:
    item = Item("1", row["question"], "vqa", row["target"], meta=row.get("meta", {}))
    return score_short(item, Response(row["text"])).value


READ = {"yes_no": polar, "choice": choice, "number": number, "list": members, "text": verdict}


@pytest.mark.parametrize("task", READ)
def test_a_sentence_is_read_as_a_person_reads_it(task: str) -> None:
    rows = [row for row in readings() if row["task"] == task]
    assert len(rows) > 25
    assert [row for row in rows if READ[task](row) != row["says"]] == []
