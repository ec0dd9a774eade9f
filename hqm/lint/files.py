"""Read a card and its items file, note every fault with its file and line, and keep what has no
fault.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from hqm.benchmark.card import Card
from hqm.benchmark.findings import Finding
from hqm.benchmark.items import hallucination_type, item_of
from hqm.errors import DataError, FieldError, ImageError
from hqm.files.names import is_url, safe_name
from hqm.files.records import csv_rows, no_key_twice, read_records, read_text
from hqm.files.toml import fault_of, parse_toml
from hqm.types import ORIGINAL, Form, Item

_SHOWN = 10
"""How many faults of a kind are findings of their own; further ones share one, with a list."""


@dataclass
class Faults:
    """Faults by kind; after ten of a kind the rest share one finding, so that they do not fill the
    screen.
    """

    findings: list[Finding] = field(default_factory=list)
    more: dict[str, list[dict[str, str]]] = field(default_factory=dict)

    def add(self, name: str, sentence: str, place: str = "") -> None:
        """Note a fault; from the eleventh of its kind on, faults are listed together."""
        row = {"what": sentence, "place": place}
        if sum(finding.name == name for finding in self.findings) < _SHOWN:
            self.findings.append(Finding(name, sentence, 1, (), place, (row,)))
        else:
            self.more.setdefault(name, []).append(row)

    def all(self) -> list[Finding]:
        """The findings, and one more for each kind with further faults."""
        return [
            *self.findings,
            *(
                Finding(name, f"{len(rows)} more like this", len(rows), rows=tuple(rows))
                for name, rows in self.more.items()
            ),
        ]


def read_card(path: Path, faults: Faults) -> Card | None:
    """The card without its faulty keys; None if what is left says too little to go on."""
    try:
        text = read_text(path)
        data = parse_toml(text)
    except DataError as error:
        faults.add("card-unreadable", f"it cannot be read: {error.what}", str(path))
        return None
    # what is left out may have hidden another fault; every round takes out at least one key
    for _ in range(20):
        try:
            return Card.model_validate(data)
        except ValidationError as error:
            for fault in error.errors():
                _repair(data, fault, text, path, faults)
    return None


def _repair(data: dict[str, Any], error: Any, text: str, path: Path, faults: Faults) -> None:
    keys = list(error["loc"])
    name = ".".join(map(str, keys))
    place = f"{path}:{_line_of(text, str(keys[-1]))}" if error["type"] != "missing" else str(path)
    if error["type"] == "missing":
        faults.add("card-key", f"the key {name!r} is missing", place)
    else:
        faults.add("card-key", fault_of(Card, error), place)
    held: Any = data
    for key in keys[:-1]:
        held = held[key]
    if isinstance(held, (dict, list)) and error["type"] != "missing":
        del held[keys[-1]]
        return
    # a name or a title can be made up for the check; what is asked and how cannot
    stand_ins = {
        "name": re.sub(r"\W+", "_", path.resolve().parent.name.lower()).strip("_"),
        "title": "?",
        "version": "?",
    }
    if len(keys) == 1 and keys[0] in stand_ins:
        data[keys[0]] = stand_ins[keys[0]]


def _line_of(text: str, key: str) -> int:
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if re.match(rf"\s*\[*\s*[\"']?{re.escape(key)}\b", line):
            return number
    return 1


def read_form(card: Card, data: Path, faults: Faults) -> Form:
    """The items without faults; every other item is noted as a fault with its line."""
    path = data / card.data.items
    items: dict[str, Item] = {}
    try:
        records = list(_records(path, card.data.encoding, faults)) if card.data.items else []
    except DataError as error:
        kind = (
            "encoding" if isinstance(error.__context__, UnicodeDecodeError) else "items-unreadable"
        )
        faults.add(kind, error.what, error.place)
        return Form(ORIGINAL, ())
    if not card.data.items:
        faults.add(
            "items-unreadable",
            'the card names no items file: set items = "..." under [data]',
            card.name,
        )
    elif not records:
        faults.add("items-unreadable", "it has no items", str(path))
    for place, record in records:
        item = _item(record, card, place, faults)
        if item is not None and item.id in items:
            faults.add("id-twice", f"the id {item.id!r} stands twice", place)
        elif item is not None:
            items[item.id] = item
    return Form(ORIGINAL, tuple(items.values()))


def _item(record: Mapping[str, Any], card: Card, place: str, faults: Faults) -> Item | None:
    """The item without a faulty picture or type; None if a fault leaves nothing to ask or to
    score.
    """
    names, record = card.fields, dict(record)
    lacking = [name for name in (names.id, names.prompt) if not str(record.get(name) or "").strip()]
    for name in lacking:
        state = (
            "is empty"
            if name in record
            else f"is missing (there are {', '.join(map(repr, record)) or 'none'})"
        )
        faults.add("field-missing", f"the field {name!r} {state}", place)
    try:
        hallucination_type(record.get(names.type))
    except DataError as error:
        faults.add("type-unknown", error.what, place)
        record[names.type] = None
    try:
        if not is_url(str(record.get(names.image))):
            safe_name(str(record.get(names.image) or ""))
    except ImageError as error:
        faults.add("image-outside", error.what, place)
        record[names.image] = None
    if lacking:
        return None
    try:
        return item_of(record, card, place)
    except FieldError as error:
        faults.add("field-invalid", f"{error.what}. {error.remedy}", place)
    except DataError as error:
        # every field is sound by itself: what is left is the right answer
        faults.add("target-invalid", f"{error.what}. {error.remedy}", place)
    return None


def _records(path: Path, encoding: str, faults: Faults) -> Iterator[tuple[str, dict[str, Any]]]:
    """The records of a file with their places, in any shape that `read_records` knows; a broken
    line is skipped.
    """
    if path.suffix.lower() == ".parquet":
        for number, record in enumerate(read_records(path), 1):
            yield f"{path}: record {number}", record
        return
    text = read_text(path, encoding)
    if path.suffix.lower() == ".csv":
        yield from _rows(text, path, faults)
    elif _is_lines(text):
        for number, line in enumerate(
            text.split("\n"), 1
        ):  # a text may hold the line ends of other scripts
            if not line.strip():
                continue
            place = f"{path}:{number}"
            try:
                record = json.loads(line, object_pairs_hook=no_key_twice)
            except json.JSONDecodeError as error:
                faults.add(
                    "record-broken", f"it is no JSON: {error.msg} (column {error.colno})", place
                )
                continue
            except DataError as error:
                faults.add("record-broken", error.what, place)
                continue
            except RecursionError:
                faults.add("record-broken", "it is nested too deeply", place)
                continue
            except ValueError as error:  # a number of more than 4,300 digits
                faults.add(
                    "record-broken", f"it cannot be read: {str(error).partition(';')[0]}", place
                )
                continue
            if isinstance(record, dict):
                yield place, record
            else:
                faults.add(
                    "record-broken",
                    f"a record must be a JSON object, not {type(record).__name__}",
                    place,
                )
    else:
        for number, record in enumerate(read_records(path, encoding), 1):
            yield f"{path}: record {number}", record


def _is_lines(text: str) -> bool:
    """Whether each record stands on a line of its own: more than half of the lines are whole
    objects.
    """
    lines = [line for line in text.split("\n") if line.strip()]
    whole = sum(line.lstrip().startswith("{") and line.rstrip().endswith("}") for line in lines)
    return not text.lstrip().startswith("[") and 2 * whole > len(lines)


def _rows(text: str, path: Path, faults: Faults) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        for line, row in csv_rows(text, str(path)):
            if None in row or None in row.values():
                what = f"the row does not have {len(row.keys() - {None})} fields"
                faults.add("record-broken", what, f"{path}:{line}")
            else:
                yield f"{path}:{line}", row
    except DataError as error:
        faults.add("record-broken", error.what, error.place)
