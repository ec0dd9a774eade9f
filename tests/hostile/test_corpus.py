"""Files of every kind that HQM reads, changed as files are changed by accident: whatever is accepted
means what the changed file says, and whatever is refused is named.

A case is a door (what reads a file), a whole file, and one to three changes of its rows or of its
bytes. Its oracle reads the changed file anew, with Python's own readers of CSV, JSON and TOML and
a few lines that say what a row means. So an answer, a label or a number that is lost, moved,
rescaled or taken from another benchmark is seen, although nothing crashed. Nightly there are all
cases, with new seeds; every other run has the same tenth.
"""

from __future__ import annotations

import codecs
import copy
import csv
import gzip
import io
import json
import math
import os
import random
import re
import shutil
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hqm_label.label_import import import_labels
from hqm_label.label_store import LabelStore
from hqm_label.study_plan import labels_path
from hqm_tables.printed_table import read_table

import hqm
from hqm.auditing.one_file import score_file
from hqm.auditing.policy import Policy
from hqm.benchmark.card import Card
from hqm.benchmark.corrected_keys import read_key
from hqm.commands.option_decorators import read_settings
from hqm.comparison.beside_people import read_scores
from hqm.comparison.prices import read_prices
from hqm.errors import AnswerError
from hqm.imports.detect import read_logs
from hqm.imports.recordings import read_recordings
from hqm.judges.judgements import JudgementSource, import_judgements
from hqm.store.exchange import export_store, read_export
from tests.conftest import NIGHTLY, counts, write_benchmark
from tests.hostile.test_input import plain_audit
from tests.label_studies import plan_of_answers, store_of_answers

CASES = counts(2600) // 10 * 10
"""Of all doors together."""
SEED = int(os.environ.get("HQM_SEED", 0)) or (random.randrange(10**9) if NIGHTLY else 2600)
ITEMS = 20
OBJECTS = "dog cat bus hat cup key map tree boat lamp".split()
Row = dict[str, Any]
Rng = random.Random


# --- what happens to rows, and what happens to bytes ---


def _text_in(rows: list[Row], rng: Rng) -> tuple[Row, str]:
    """A row to change, and one of its columns."""
    row = rng.choice(rows)
    return row, rng.choice(list(row))


LOOK_ALIKE = str.maketrans("aeopcq0", "\u0430\u0435\u043e\u0440\u0441\u051b\u041e")


def cut(rows: list[Row], rng: Rng) -> None:
    del rows[rng.randrange(1, len(rows)) :]


def beheaded(rows: list[Row], rng: Rng) -> None:
    del rows[: rng.randrange(1, len(rows))]


def shuffled(rows: list[Row], rng: Rng) -> None:
    rng.shuffle(rows)


def repeated(rows: list[Row], rng: Rng) -> None:
    rows.append(copy.deepcopy(rng.choice(rows)))


def contradicted(rows: list[Row], rng: Rng) -> None:
    row, name = _text_in(rows, rng)
    rows.append({**row, name: rng.choice(rows)[name]})


def swapped(rows: list[Row], rng: Rng) -> None:
    first, second = rng.sample(list(rows[0]), 2) if len(rows[0]) > 1 else [next(iter(rows[0]))] * 2
    for row in rows:
        row[first], row[second] = row.get(second), row.get(first)


def shifted(rows: list[Row], rng: Rng) -> None:
    name = rng.choice(list(rows[0]))
    values = [row.get(name) for row in rows]
    for row, value in zip(rows, values[1:] + values[:1], strict=True):
        row[name] = value


def foreign(rows: list[Row], rng: Rng) -> None:
    name = rng.choice(list(rows[0]))
    for i, row in enumerate(rows[: rng.randrange(1, len(rows) + 1)]):
        row[name] = f"other-{i}"


def confusable(rows: list[Row], rng: Rng) -> None:
    row, name = _text_in(rows, rng)
    row[name] = rng.choice(
        [
            str(row[name]).translate(LOOK_ALIKE),
            f"{row[name]} ",
            f"\u200b{row[name]}",
            f"{row[name]}\u00a0",
            unicodedata.normalize("NFD", f"{row[name]}\u00e9"),
            str(row[name]).upper(),
        ]
    )


VALUES: list[Any] = [
    None, True, False, 0, -1, 7, 1e-320, 1e308, 10**30, math.nan, math.inf, "nan", "inf", "1e999",
    "", " ", "-", "0,5", "50%", ".5", "1_000", "\u0661", "\u2212\u0031", "yes", "No.", "x" * 100_000,
    "a\nb", 'a "b"', [], ["yes"], {}, {"a": 1}, "=1+1", "<b>1</b>", "1 / 2", "1; 2", "+1", "0x1",
]  # fmt: skip


def retyped(rows: list[Row], rng: Rng) -> None:
    row, name = _text_in(rows, rng)
    row[name] = copy.deepcopy(rng.choice(VALUES))


def rescaled(rows: list[Row], rng: Rng) -> None:
    numbers = [k for k, v in rows[0].items() if isinstance(v, (int, float)) and v is not True]
    if not numbers:
        return retyped(rows, rng)
    name, factor = rng.choice(numbers), rng.choice([100, 0.01, -1, 1000])
    for row in rng.sample(rows, rng.randrange(1, len(rows))):
        if isinstance(row.get(name), (int, float)):
            row[name] = row[name] * factor
    return None


def dropped(rows: list[Row], rng: Rng) -> None:
    name = rng.choice(list(rows[0]))
    for row in rows:
        row.pop(name, None)


def holed(rows: list[Row], rng: Rng) -> None:
    row, name = _text_in(rows, rng)
    del row[name]


def renamed(rows: list[Row], rng: Rng) -> None:
    name = rng.choice(list(rows[0]))
    new_name = rng.choice([name.upper(), f" {name}", name[:-1], f"{name}s", f"{name}\u200b"])
    for row in rows:
        if name in row:
            row[new_name] = row.pop(name)


def annotated(rows: list[Row], rng: Rng) -> None:
    for i, row in enumerate(rows):
        row["remark"] = f"seen, {i}"


ROWS = (
    cut, beheaded, shuffled, repeated, contradicted, swapped, shifted, foreign, confusable, retyped,
    retyped, rescaled, dropped, holed, renamed, annotated,
)  # fmt: skip


def random_offset(data: bytes, rng: Rng) -> int:
    return rng.randrange(len(data) + 1)


def quoted(data: bytes, rng: Rng) -> bytes:
    offset = random_offset(data, rng)
    return data[:offset] + b'"' + data[offset:]


def ended(data: bytes, rng: Rng) -> bytes:
    return data[: random_offset(data, rng)]


def with_nul(data: bytes, rng: Rng) -> bytes:
    offset = random_offset(data, rng)
    return data[:offset] + b"\0" + data[offset:]


def flipped(data: bytes, rng: Rng) -> bytes:
    offset = rng.randrange(len(data))
    return data[:offset] + bytes([data[offset] ^ 1 << rng.randrange(8)]) + data[offset + 1 :]


def doubled(data: bytes, rng: Rng) -> bytes:
    return data + data


def packed(data: bytes, rng: Rng) -> bytes:
    compressed = gzip.compress(data)
    return compressed[: rng.choice([len(compressed), rng.randrange(4, len(compressed))])]


def spliced(data: bytes, rng: Rng) -> bytes:
    """Some bytes moved elsewhere, as of a file that was written by two programs."""
    start = random_offset(data, rng)
    chunk = data[start : start + rng.randrange(1, 60)]
    remainder = data[:start] + data[start + len(chunk) :]
    offset = random_offset(remainder, rng)
    return remainder[:offset] + chunk + remainder[offset:]


BYTES: tuple[Callable[[bytes, Rng], bytes], ...] = (
    quoted,
    quoted,
    ended,
    with_nul,
    flipped,
    flipped,
    doubled,
    packed,
    spliced,
    lambda data, rng: b"\xef\xbb\xbf" + data,
    lambda data, rng: data.replace(b"\n", b"\r\n"),
    lambda data, rng: data.replace(b"\n", b"\r"),
    lambda data, rng: data.decode("utf-8", "replace").encode("utf-16"),
    lambda data, rng: data.decode("utf-8", "replace").encode("latin-1", "replace"),
    lambda data, rng: data.replace(b",", b";"),
    lambda data, rng: data.replace(b",", b"\t"),
    lambda data, rng: data + data.splitlines(keepends=True)[-1],
    lambda data, rng: data.replace(b"\xc3\xa9", b"\xe9"),
)


# --- writing files, and reading them independently of HQM ---


def as_csv(rows: list[Row]) -> bytes:
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(names)
    writer.writerows(
        ["" if row.get(name) is None else row.get(name, "") for name in names] for row in rows
    )
    return text.getvalue().encode("utf-8", "surrogatepass")


def as_lines(rows: list[Row]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def as_array(rows: list[Row]) -> bytes:
    return json.dumps(rows, ensure_ascii=False, indent=1).encode()


WRITERS = {".csv": as_csv, ".jsonl": as_lines, ".json": as_array}


class Unreadable(ValueError):  # noqa: N818 (it says what the file is)
    """The changed file says nothing that can be relied on."""


def once(pairs: list[tuple[str, Any]]) -> Row:
    if len({key for key, _ in pairs}) < len(pairs):
        raise Unreadable("a key stands twice")
    return dict(pairs)


def text_of(data: bytes) -> str:
    try:
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
        is_utf16 = data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
        return data.decode("utf-16" if is_utf16 else "utf-8-sig")
    except (ValueError, EOFError, OSError) as error:
        raise Unreadable(str(error)) from None


def rows_of(data: bytes, suffix: str) -> list[Row]:
    """The rows that a changed file has, by Python's own readers."""
    text = text_of(data)
    if suffix == ".csv":
        try:
            head = text.splitlines()[0] if text else ""
            delimiters = [mark for mark in "\t;" if mark in head and "," not in head]
            delimiter = delimiters[0] if delimiters else ","
            rows = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=delimiter)
            table = [row for row in rows if any(cell.strip() for cell in row)]
        except csv.Error as error:
            raise Unreadable(str(error)) from None
        names = [heading(name) for name in table[0]] if table else []
        if not names or len(set(names)) < len(names):
            raise Unreadable("no columns, or one twice")
        if any(len(row) != len(table[0]) for row in table):
            raise Unreadable("rows of several lengths")
        return [dict(zip(names, row, strict=True)) for row in table[1:]]
    decoder = json.JSONDecoder(object_pairs_hook=once)
    try:
        if text.lstrip().startswith("["):
            read = decoder.decode(text)
        else:
            read, offset = [], 0
            while text[offset:].strip():
                offset += len(text[offset:]) - len(text[offset:].lstrip())
                value, offset = decoder.raw_decode(text, offset)
                read.append(value)
    except (ValueError, RecursionError) as error:
        raise Unreadable(str(error)) from None
    if not all(isinstance(row, dict) for row in read):
        raise Unreadable("a row that is none")
    return [once([(heading(name), value) for name, value in row.items()]) for row in read]


FIELDS = frozenset(
    "id item question prompt target respondent answer prediction dataset index model judge score"
    " rater label seconds probability uid".split()
)


def heading(name: str) -> str:
    """A column's name as a person reads it: that of a field in any case, any other's the author's."""
    name = name.replace("\u200b", "").strip()
    # what is no letter of latin-1 is a question mark in it
    folded = name.rstrip("?").lower()
    return folded if folded in FIELDS else name


# --- doors ---


@dataclass(frozen=True)
class World:
    """One benchmark of yes/no questions, with a store, a plan and an export."""

    folder: Path
    benchmark: hqm.Benchmark
    plan: Path
    uids: tuple[str, ...]
    export: bytes

    @property
    def items(self) -> Mapping[str, hqm.Item]:
        return self.benchmark.original.by_id


@dataclass(frozen=True)
class Door:
    """What reads a kind of file.

    `build` gives the rows of a sound file (or its text), `read` what HQM makes of a file, and
    `means` what its rows mean; `Unreadable` where they mean nothing.
    """

    build: Callable[[World, Rng], Any]
    read: Callable[[World, Path], Any]
    means: Callable[[World, Any], Any]
    suffixes: tuple[str, ...] = (".csv", ".jsonl", ".json")
    write: Mapping[str, Callable[[Any], bytes]] = field(default_factory=lambda: WRITERS)
    parse: Callable[[bytes, str], Any] = rows_of
    name: str = "file"
    refuses_all: bool = False
    """Whether every change of the content must be refused, because the file is signed."""


def text(row: Row, name: str) -> str:
    value = row.get(name)
    if not isinstance(value, (str, int, float)) or isinstance(value, bool):
        raise Unreadable(f"{name} is no text")
    return str(value)


def check_question(world: World, row: Row, key: str) -> None:
    """Refuse a row that asks another item's question; a slip within the words is none."""
    question_words = str(row.get("question") or "").split()
    if any(
        item.prompt.split() == question_words for item in world.items.values() if item.id != key
    ):
        raise Unreadable("another question")


def item_of(world: World, row: Row, name: str = "item") -> str:
    key = text(row, name)
    if key not in world.items:
        raise Unreadable(f"no item {key!r}")
    return key


def add_entry(book: dict[Any, Any], key: Any, value: Any) -> None:
    if key in book and book[key] != value:
        raise Unreadable(f"{key} stands twice")
    book[key] = value


def any_delimiter(data: bytes, suffix: str) -> list[Row]:
    """The rows of a printed table, which may stand between semicolons or tabs."""
    head = text_of(data).splitlines()[:1] or [""]
    mark = next((mark for mark in "\t;" if mark in head[0]), ",").encode()
    return rows_of(data.replace(mark, b",") if mark != b"," else data, suffix)


def a_number(value: Any) -> float:
    try:
        if isinstance(value, (bool, list, dict)) or value is None:
            raise ValueError
        text = str(value).replace("\u200b", "").strip()
        number = float(text.replace(",", ".") if re.fullmatch(r"[+-]?\d*,\d+", text) else text)
    except ValueError:
        raise Unreadable(f"{value!r:.40} is no number") from None
    if not math.isfinite(number):
        raise Unreadable("it is not finite")
    return number


def build_answers(world: World, rng: Rng) -> list[Row]:
    return [
        {
            "item": item.id,
            "question": item.prompt,
            "respondent": respondent,
            "answer": rng.choice(["yes", "no", "Yes, there is.", "No."]),
        }
        for respondent in ("ma", "mb")
        for item in world.benchmark.original.items
    ]


def read_answers(world: World, path: Path) -> Any:
    recordings = read_recordings(path, {"original": world.benchmark.original})
    book = {
        (recording.respondent, recording.form, recording.run, item): answer.text
        for recording in recordings
        for item, answer in recording.answers.items()
    }
    if not book:
        raise AnswerError("no answers", location=str(path))
    return book


def mean_answers(world: World, rows: list[Row]) -> Any:
    book: dict[Any, str] = {}
    for row in rows:
        key = item_of(world, row)
        check_question(world, row, key)
        cell = "" if row.get("answer", 0) is None else text(row, "answer")
        respondent = text(row, "respondent") if row.get("respondent") is not None else "file"
        add_entry(book, (respondent or "file", "original", 0, key), cell.strip())
    return book


def whole_labels(world: World, rng: Rng) -> list[Row]:
    return [
        {
            "item": key,
            "respondent": "ma",
            "label": rng.choice([0, 1, 0.5]),
            "rater": rater,
            "probability": 0.25,
        }
        for key in world.items
        for rater in ("anna", "ben")
    ]


def read_labels(world: World, path: Path) -> Any:
    judgements = world.benchmark.read_criterion(path, world.benchmark.original, ["recorded/ma"])
    return {(judgement.item, judgement.judge): judgement.label for judgement in judgements}


def mean_labels(world: World, rows: list[Row]) -> Any:
    """Each rater's labels, and the mean of all of an answer."""
    labels: dict[Any, Any] = {}
    for row in rows:
        key = item_of(world, row)
        rater = "" if row.get("rater") is None else str(row["rater"])
        if text(row, "respondent") not in ("ma", "recorded/ma"):
            raise Unreadable("another respondent")
        value = None if row["label"] in ("", None) else a_number(row["label"])
        if value is not None and not 0 <= value <= 1:
            raise Unreadable("no share")
        if row.get("probability") not in ("", None) and not 0 < a_number(row["probability"]) <= 1:
            raise Unreadable("no probability")
        if (key, rater) in labels:
            raise Unreadable("labelled twice")
        labels[key, rater] = value
    book: dict[Any, Any] = {(k, f"human:{rater}"): v for (k, rater), v in labels.items() if rater}
    for key in {key for key, _ in labels}:
        scores = [v for (k, _), v in labels.items() if k == key and v is not None]
        book[key, "human"] = sum(scores) / len(scores) if scores else None
    return book


def whole_key(world: World, rng: Rng) -> list[Row]:
    return [
        {"item": item.id, "target": rng.choice(["yes", "no", "ambiguous"])}
        for item in world.benchmark.original.items
    ]


def read_the_key(world: World, path: Path) -> Any:
    key = read_key(path, world.benchmark)
    return {**key.targets, **dict.fromkeys(key.left_out)}


def mean_key(world: World, rows: list[Row]) -> Any:
    book: dict[Any, Any] = {}
    for row in rows:
        cell = row.get("target")
        cell = "" if cell is None else str(cell).strip().lower()
        if cell not in ("yes", "no", "", "ambiguous", "null", "none", "unclear", "left out"):
            raise Unreadable("no target")
        if "target" not in row:
            raise Unreadable("no target")
        key = item_of(world, row)
        if key in book:
            raise Unreadable("twice")
        book[key] = cell if cell in ("yes", "no") else None
    return book


def whole_judgements(world: World, rng: Rng) -> list[Row]:
    return [
        {
            "item": item.id,
            "question": item.prompt,
            "judge": "gpt",
            "respondent": "ma",
            "score": rng.choice([0, 1]),
        }
        for item in world.benchmark.original.items
    ]


def mark_of(value: Any) -> Any:
    """A judge's mark; what is no share is a word, whose meaning the benchmark checks."""
    try:
        return str(value) if isinstance(value, bool) else a_number(value)
    except Unreadable:
        return "" if value is None else str(value)


def read_judgements(world: World, path: Path) -> Any:
    imported = import_judgements(
        world.benchmark,
        {"original": world.benchmark.original},
        [JudgementSource(path)],
        ["recorded/ma", "recorded/mb"],
    )
    return {
        (judgement_set.judge, judgement_set.respondent, item): mark_of(output.mark)
        for judgement_set in imported.sets
        for item, output in judgement_set.outputs.items()
    }


def mean_judgements(world: World, rows: list[Row]) -> Any:
    book: dict[Any, Any] = {}
    questions = {" ".join(item.prompt.split()).casefold(): key for key, item in world.items.items()}
    for row in rows:
        if str(row.get("item")) in world.items:
            key = item_of(world, row)
            check_question(world, row, key)
        elif " ".join(str(row.get("question")).split()).casefold() in questions:
            key = questions[
                " ".join(row["question"].split()).casefold()
            ]  # which the judge's tool numbered itself
        else:
            raise Unreadable("no item")
        respondent = text(row, "respondent").removeprefix("recorded/")
        if respondent not in ("ma", "mb"):
            raise Unreadable("another respondent")
        cell = row.get("judge")
        has_judge = isinstance(cell, (str, int)) and str(cell).strip()
        judge = str(cell).replace("|", "/") if has_judge else "file"
        add_entry(book, (judge, f"recorded/{respondent}", key), mark_of(row["score"]))
    return book


def whole_scores(world: World, rng: Rng) -> list[Row]:
    return [
        {
            "item": key,
            "respondent": "ma",
            "chair": round(rng.random(), 3),
            "bleu": rng.randrange(100),
        }
        for key in world.items
    ]


def mean_scores(world: World, rows: list[Row]) -> Any:
    """Columns of numbers; a column of words is none of them."""
    book: dict[str, dict[Any, float]] = {}
    keys, bad = set(), set()
    for row in rows:
        key = (text(row, "item"), text(row, "respondent"))
        if key in keys:
            raise Unreadable("twice")
        keys.add(key)
        for name, value in row.items():
            if name not in ("item", "respondent", "remark") and value not in ("", None):
                try:
                    book.setdefault(name, {})[key] = a_number(value)
                except Unreadable:
                    bad.add(name)
    book = {name: column for name, column in book.items() if column}
    if not book or bad & set(book):
        raise Unreadable("no scores, or words among them")
    return book


def whole_items(world: World, rng: Rng) -> list[Row]:
    return [
        {"id": item.id, "prompt": item.prompt, "target": str(item.target)}
        for item in world.benchmark.original.items
    ]


def read_items(world: World, path: Path) -> Any:
    folder = path.parent / "again"
    write_benchmark(folder, [], name="again", data={"items": path.name})
    shutil.copy(path, folder)
    loaded = hqm.load(str(folder))
    return {item.id: (item.prompt, item.target) for item in loaded.original.items}


def mean_items(world: World, rows: list[Row]) -> Any:
    book: dict[Any, Any] = {}
    for row in rows:
        key, prompt = text(row, "id"), text(row, "prompt")
        target = text(row, "target").strip().lower()
        if target not in ("yes", "no") or key in book or not key.strip() or not prompt.strip():
            raise Unreadable("no item")
        book[key] = (prompt, target)
    if not book:
        raise Unreadable("no items")
    return book


def whole_plan_labels(world: World, rng: Rng) -> list[Row]:
    return [
        {"uid": uid, "rater": rater, "label": rng.choice([0, 1]), "seconds": rng.randrange(1, 90)}
        for uid in world.uids
        for rater in ("anna", "ben")
    ]


def read_plan_labels(world: World, path: Path) -> Any:
    labels = labels_path(world.plan)
    for file in labels.parent.glob(f"{labels.name}*"):
        file.unlink()
    import_labels(path, "csv", world.plan)
    with LabelStore(labels) as store:
        return {
            (stored_label.uid, stored_label.rater): stored_label.label
            for stored_label in store.labels()
        }


def mean_plan_labels(world: World, rows: list[Row]) -> Any:
    book: dict[Any, Any] = {}
    for row in rows:
        uid = text(row, "uid" if "uid" in row else "id")
        if uid not in world.uids:
            raise Unreadable("no such uid")
        cell = row.get("label")
        cell = int(cell) if isinstance(cell, bool) else cell
        value = None if cell is None or not str(cell).strip() else a_number(cell)
        if value not in (None, 0, 1):
            raise Unreadable("no label")
        if row.get("seconds") not in ("", None) and a_number(row["seconds"]) < 0:
            raise Unreadable("no time")
        add_entry(book, (uid, text(row, "rater")), value)
    return book


def whole_table(world: World, rng: Rng) -> list[Row]:
    return [
        {
            "model": f"m{i}",
            **{name: round(rng.uniform(20, 95), 1) for name in ("POPE", "MME", "GQA")},
        }
        for i in range(8)
    ]


def read_the_table(world: World, path: Path) -> Any:
    table = read_table(path)
    return {
        (row, column.name): float(value)
        for row, values in zip(table.respondents, table.values, strict=True)
        for column, value in zip(table.column_specs, values, strict=True)
        if math.isfinite(value)
    }


def mean_table(world: World, rows: list[Row]) -> Any:
    book: dict[Any, Any] = {}
    for row in rows:
        names = list(row)
        try:
            a_number(row[names[0]])
        except Unreadable:
            pass
        else:
            return None  # whose numbers are names is not for this oracle to say
        if all(re.search("[^0-9.,%-]", str(record[names[1]])) for record in rows):
            return None  # two columns of names
        for name in names[1:]:
            if str(row[name]).strip() not in ("", "-"):
                cell = str(row[name]).removeprefix("<b>").removesuffix("</b>").removesuffix("%")
                model = str(row[names[0]]).strip().removeprefix("<b>").removesuffix("</b>")
                # papers print the minus of typography
                value = a_number(cell.replace("\u2212", "-"))
                # the rows of a table are lines: a break within a name is a space
                model = " ".join(model.replace("\u200b", "").split())
                add_entry(book, (model, name.strip()), value)
    return book


def whole_log(world: World, rng: Rng) -> list[Row]:
    return [
        {
            "index": i,
            "question": item.prompt,
            "answer": str(item.target),
            "prediction": rng.choice(["Yes", "No, there is none."]),
            "dataset": "Mine",
        }
        for i, item in enumerate(world.benchmark.original.items)
    ]


def read_the_log(world: World, path: Path) -> Any:
    rows = [row for log in read_logs([path]) for row in log.rows if row.answer is not None]
    return sorted((row.id, *row.question.split(), "|", *row.answer.text.split()) for row in rows)


def mean_log(world: World, rows: list[Row]) -> Any:
    if not rows or not {"index", "prediction"} <= rows[0].keys():
        return None  # no log of that tool: a table, whose columns the user names
    if not all("prediction" in row for row in rows):
        raise Unreadable("no prediction")
    return sorted(
        (
            "" if row.get("index") is None else str(row["index"]),
            *("" if row.get("question") is None else str(row["question"])).split(),
            "|",
            *("" if row["prediction"] is None else str(row["prediction"])).split(),
        )
        for row in rows
    )


def read_score(world: World, path: Path) -> Any:
    score = score_file(world.benchmark, path)
    return score.n, score.states.get("missing", 0), score.metrics["accuracy"]


def build_score_rows(world: World, rng: Rng) -> list[Row]:
    return [
        {"item": item.id, "question": item.prompt, "answer": rng.choice(["yes", "no"])}
        for item in world.benchmark.original.items
    ]


def mean_score(world: World, rows: list[Row]) -> Any:
    if not any("item" in row for row in rows):
        # a question that stands once names its item
        ids = {item.prompt: item.id for item in world.items.values()}
        rows = [{**row, "item": ids.get(str(row.get("question")))} for row in rows]
    book = {key[-1]: cell for key, cell in mean_answers(world, rows).items()}
    clear = {"yes": "yes", "no": "no", "yes.": "yes", "no.": "no"}
    if not book or not all(cell.lower() in clear for cell in book.values()):
        return None  # how a longer answer is read is held elsewhere
    right = sum(clear[cell.lower()] == world.items[key].target for key, cell in book.items())
    return len(world.items), len(world.items) - len(book), right / len(book)


def read_rows_of_export(world: World, path: Path) -> Any:
    incoming = read_export(path)
    return {
        (key[0], request.prompt, response.text)
        for key, answers in incoming.answers.items()
        for _, _, request, response, _ in answers
    }


def mean_export(world: World, rows: list[Row]) -> Any:
    return {
        (row["respondent"], row["prompt"], row["text"]) for row in rows if row["kind"] == "answer"
    }


def numbers_in(value: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """Every number of a document by its place."""
    pairs = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path, float(value)
    for key, inner in pairs:
        yield from numbers_in(inner, f"{path}.{key}")


def estimates_of_audit(document: Any) -> Any:
    """The estimates of an audit, which must be possible numbers."""
    book = {}
    for i, audit in enumerate(document["audits"]):
        for j, estimate in enumerate(audit["estimates"]):
            book[i, j] = (
                estimate["indicator"],
                estimate["metric"],
                estimate["value"],
                estimate["n_items"],
            )
            for interval in estimate["intervals"].values():
                ends = [end for end in interval if end is not None]
                if ends != sorted(ends):
                    raise Unreadable("an interval from its upper end")
            if estimate["n_items"] is not None and estimate["n_items"] < 0:
                raise Unreadable("fewer items than none")
    return book


def parsed_json(data: bytes, suffix: str) -> Any:
    try:
        return json.loads(text_of(data), object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        raise Unreadable(str(error)) from None


def parsed_toml(data: bytes, suffix: str) -> Any:
    try:
        return tomllib.loads(text_of(data).replace("\r\n", "\n").replace("\r", "\n"))
    except (ValueError, RecursionError) as error:
        raise Unreadable(str(error)) from None


# --- documents: one tree instead of rows ---


def container_keys(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container of a tree with a key in it."""
    keys = (
        value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    )
    for key in keys:
        yield value, key
        yield from container_keys(value[key])


def changed_tree(document: Any, rng: Rng) -> None:
    container, key = rng.choice(list(container_keys(document)))
    source, source_key = rng.choice(list(container_keys(document)))
    value = copy.deepcopy(source[source_key])
    match rng.randrange(6):
        case 0:
            del container[key]
        case 1:
            container[key] = value
        case 2 if isinstance(container, dict):
            container[rng.choice([f"{key}s", str(key).upper(), f"{key} "])] = container.pop(key)
        case 3 if isinstance(container[key], (int, float)) and not isinstance(container[key], bool):
            container[key] = container[key] * rng.choice([-1, 100, 0.01, 1e300])
        case 4 if isinstance(container, list):
            container.append(copy.deepcopy(container[key]))
        case _:
            container[key] = copy.deepcopy(rng.choice(VALUES))


def leaves(value: Any, path: tuple[Any, ...] = ()) -> dict[tuple[Any, ...], Any]:
    """Place -> what stands there; true and 1 are different things."""
    if isinstance(value, (list, tuple)):
        value = dict(enumerate(value))
    if not isinstance(value, Mapping):
        return {path: ("bool", value) if isinstance(value, bool) else value}
    leaf_values: dict[tuple[Any, ...], Any] = {}
    for key, inner in value.items():
        leaf_values |= leaves(inner, (*path, key))
    return leaf_values


def plain(value: Any) -> Any:
    """A number that is written as a text, as on the command line, is that number."""
    if isinstance(value, tuple):
        return float(value[1])
    if isinstance(value, str) and value in ("yes", "no", "nan", "inf", "1e999"):
        return {"yes": 1.0, "no": 0.0, "nan": math.nan}.get(value, math.inf)
    digits = isinstance(value, str) and re.fullmatch(r"[+-]?[0-9._]+", value)
    return float(value) if digits else value


POLICY = """
name = "p"
[required]
facets = ["run"]
respondents = 3
[limits]
unscored = 0.1
findings = "note"
[coverage]
claimed = true
items_a_type = 2
[[require]]
indicator = "test_retest.pearson"
interval = "fixed_models"
at_least = 0.5
reason = "r"
"""
PRICES = """
currency = "EUR"
[answers]
"*" = 0.002
[tokens."openai/x"]
in = 2.5
out = 10
[machine]
hour = 1.5
[labels]
minutes = 0.5
hour = 20
[new]
picture = 1.5
[most]
labels = 300
"""
SETTINGS = """
device = "cpu"
batch = 4
price_in = 2.5
concurrency = 8
probabilities = true
top_p = 0.9
"""
CARD = """
name = "b"
title = "B"
version = "1"
task = "yes_no"
types = ["existence"]
[data]
items = "items.jsonl"
images = "images"
[fields]
id = "id"
[prompt]
prefix = "Look: "
[scoring]
parser = "strict"
audited = ["accuracy"]
[generation]
max_tokens = 8
temperature = 1.0
"""


def toml_of(document: Any) -> bytes:
    def format_value(value: Any) -> str:
        if isinstance(value, dict):
            inner = ", ".join(f"{json.dumps(k)} = {format_value(v)}" for k, v in value.items())
            return f"{{{inner}}}"
        if isinstance(value, list):
            return f"[{', '.join(map(format_value, value))}]"
        plain = "''" if value is None else json.dumps(value, ensure_ascii=False)
        return plain.replace("NaN", "nan").replace("Infinity", "inf")

    return "".join(f"{json.dumps(k)} = {format_value(v)}\n" for k, v in document.items()).encode()


def of_toml(
    source: str, read: Callable[[Path], Any], plain: Callable[[Any], Any] = lambda value: value
) -> Door:
    """A settings file: every value that stands in it is in force."""
    return Door(
        build=lambda world, rng: tomllib.loads(source),
        read=lambda world, path: {key: plain(value) for key, value in leaves(read(path)).items()},
        means=lambda world, document: {key: plain(v) for key, v in leaves(document).items()},
        suffixes=(".toml",),
        write={".toml": toml_of},
        parse=parsed_toml,
    )


DOORS: dict[str, Door] = {
    "--recorded": Door(build_answers, read_answers, mean_answers),
    "score": Door(build_score_rows, read_score, mean_score),
    "--criterion": Door(whole_labels, read_labels, mean_labels),
    "--key": Door(whole_key, read_the_key, mean_key),
    "--judgements": Door(whole_judgements, read_judgements, mean_judgements),
    "--scores": Door(
        whole_scores,
        lambda world, path: {
            name: rows for name, rows in read_scores(path).columns.items() if name != "remark"
        },
        mean_scores,
    ),
    "items": Door(whole_items, read_items, mean_items, (".csv", ".jsonl")),
    "label import": Door(whole_plan_labels, read_plan_labels, mean_plan_labels),
    "table": Door(whole_table, read_the_table, mean_table, (".csv",), parse=any_delimiter),
    "a log": Door(whole_log, read_the_log, mean_log, (".csv", ".json"), name="m_Mine"),
    "import": Door(
        lambda world, rng: [json.loads(line) for line in world.export.splitlines()],
        read_rows_of_export,
        mean_export,
        (".jsonl",),
        refuses_all=True,
    ),
    "audit.json": Door(
        build=lambda world, rng: plain_audit(),
        read=lambda world, path: estimates_of_audit(json.loads(hqm.Audit.load(path).to_json())),
        means=lambda world, document: estimates_of_audit(document),
        suffixes=(".json",),
        write={".json": lambda document: json.dumps(document).encode()},
        parse=parsed_json,
    ),
    "policy.toml": of_toml(POLICY, lambda path: Policy.load(path).model_dump(by_alias=True)),
    "prices.toml": of_toml(PRICES, lambda path: read_prices(path).model_dump(by_alias=True)),
    "hqm.toml": of_toml(SETTINGS, read_settings, plain),
    "card.toml": of_toml(CARD, lambda path: Card.load(path).model_dump(by_alias=True)),
}
HARMLESS = (shuffled, annotated)
"""Changes of rows that must not be refused by a reader of answers."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("world")
    rng = Rng(3)
    targets = rng.sample(["yes", "no"] * (ITEMS // 2), ITEMS)
    items = [
        {"id": f"q{i}", "prompt": f"Is there a {OBJECTS[i % 10]} in café {i}?", "target": target}
        for i, target in enumerate(targets)
    ]
    benchmark_folder = write_benchmark(folder / "mine", items)
    benchmark = hqm.load(str(benchmark_folder))
    answers = {
        respondent: {item["id"]: rng.choice(["yes", "no"]) for item in items}
        for respondent in ("ma", "mb")
    }
    store = store_of_answers(folder / "store.sqlite", benchmark, answers)
    plan = plan_of_answers(folder / "plan.jsonl", store, str(benchmark_folder))
    with hqm.Store(store, readonly=True) as opened:
        export_store(opened, folder / "export.jsonl")
    uids = tuple(row.uid for row in plan.rows)
    return World(
        folder, benchmark, folder / "plan.jsonl", uids, (folder / "export.jsonl").read_bytes()
    )


def changed(door: Door, world: World, rng: Rng, suffix: str) -> tuple[bytes, list[str]]:
    """The bytes of a changed file, and what was done to it."""
    document, names = door.build(world, rng), []
    for _ in range(rng.choice([0, 1, 1, 1, 2])):
        if isinstance(document, list) and not all(
            isinstance(row, dict) and row for row in document or [0]
        ):
            break
        change = rng.choice(ROWS) if isinstance(document, list) else changed_tree
        try:
            change(document, rng)
        except (KeyError, IndexError, ValueError):  # two changes of one place, or no row is left
            continue
        names.append(change.__name__)
    data = door.write[suffix](document)
    if not names or rng.random() < 0.35:
        corruption = rng.choice(BYTES)
        data = corruption(data, rng)
        names.append(corruption.__name__)
    return data, names


def judged(door: Door, world: World, path: Path, data: bytes) -> str:
    """Refused, right, or what is wrong in silence."""
    try:
        expected = door.means(world, door.parse(data, path.suffix))
    except (Unreadable, KeyError, IndexError, TypeError, AttributeError) as error:
        expected = error
    try:
        got = door.read(world, path)
    except hqm.HQMError as error:
        names_file = path.name in str(error) or door.suffixes == (".csv", ".jsonl")
        return "refused" if names_file else f"refused without its name: {error}"
    if isinstance(expected, Exception):
        return f"accepted though {expected}"
    if expected is None:
        return "right"
    if isinstance(expected, dict):
        lacking = {
            key: value
            for key, value in expected.items()
            if key not in got or not equal_values(got[key], value)
        }
        extra = (
            {} if path.suffix == ".toml" else {key: got[key] for key in got if key not in expected}
        )
        return f"lost {lacking!s:.300}, made up {extra!s:.300}" if lacking or extra else "right"
    return "right" if equal_values(got, expected) else f"read {got} for {expected}"


def equal_values(first: Any, second: Any) -> bool:
    if isinstance(first, str) and isinstance(second, str):
        return first.split() == second.split()
    if isinstance(first, (tuple, list)) and isinstance(second, (tuple, list)):
        return len(first) == len(second) and all(map(equal_values, first, second))
    if isinstance(first, float) or isinstance(second, float):
        try:
            return math.isclose(first, second, rel_tol=1e-9) or (
                first != first and second != second
            )
        except TypeError:
            return False
    return bool(first == second)


@pytest.mark.parametrize("name", DOORS)
def test_a_changed_file_is_refused_by_name_or_means_what_it_says(
    world: World, tmp_path: Path, name: str
) -> None:
    door, tally = DOORS[name], Counter[str]()
    wrong = []
    for case in range(max(1, CASES // len(DOORS))):
        rng = Rng(f"{SEED} {name} {case}")
        suffix = rng.choice(door.suffixes)
        data, names = changed(door, world, rng, suffix)
        path = tmp_path / f"{door.name}{suffix}"
        path.write_bytes(data)
        result = judged(door, world, path, data)
        tally[result if result in ("right", "refused") else "wrong"] += 1
        if result not in ("right", "refused"):
            wrong.append(f"{name}:{case} {suffix} {', '.join(names)}: {result}")
    print(f"seed {SEED}: {dict(tally)}")
    assert not wrong, "\n".join(wrong)
    assert tally["right"] > 0


# --- files that tools really wrote ---

LOG_COLUMNS = {
    "vlmevalkit/model_steady_POPE.tsv": ("index", "prediction"),
    "vlmevalkit/model_steady_POPE.json": ("index", "prediction"),
    "lmms_eval/real_run/models__steady/20261122_013640_samples_pope_tiny.jsonl": (
        "doc_id",
        "resps",
    ),
    "llava/model_steady.jsonl": ("question_id", "text"),
    "inspect/llava_6x2.eval": ("", ""),
}
"""A log -> the fields of its rows that have the id and the answer."""


def answers_in_log(data: bytes, suffix: str, names: tuple[str, str]) -> Counter[tuple[str, str]]:
    """The ids and answers of a log's rows, by Python's own readers."""
    if suffix == ".tsv":
        data = as_csv(
            [
                dict(row)
                for row in csv.DictReader(
                    io.StringIO(text_of(data), newline=""), delimiter="\t", strict=True
                )
            ]
        )
    rows = rows_of(data, ".csv" if suffix == ".tsv" else suffix)
    return Counter((str(row[names[0]]), " ".join(str(row[names[1]]).split())) for row in rows)


@pytest.mark.parametrize("name", LOG_COLUMNS)
def test_a_changed_log_that_a_tool_wrote_loses_and_invents_no_answer(
    data: Path, tmp_path: Path, name: str
) -> None:
    """What is accepted has just the answers that Python's readers find; of an archive, those that
    it had."""
    source = data / "logs" / name
    content, path = source.read_bytes(), tmp_path / source.name
    names, tally = LOG_COLUMNS[name], Counter[str]()
    before = Counter(answers_in_logs(source)) if source.suffix == ".eval" else None
    for case in range(counts(120)):
        rng = Rng(f"{SEED} {name} {case}")
        changed_bytes = rng.choice(BYTES)(content, rng)
        path.write_bytes(changed_bytes)
        try:
            got = Counter(answers_in_logs(path))
        except hqm.HQMError as error:
            tally["refused" if path.name in str(error) else "without its name"] += 1
            continue
        tally["read"] += 1
        if before is not None:
            assert got == before, case
            continue
        try:
            expected = answers_in_log(changed_bytes, source.suffix, names)
        except (KeyError, csv.Error):  # of another tool, by one broken name; or refused by Python
            tally["other"] += 1
            continue
        assert got == Counter(answer for _, answer in expected.elements()), case
    print(f"seed {SEED}: {dict(tally)}")
    assert tally["without its name"] == 0


def answers_in_logs(path: Path) -> list[str]:
    rows = (row for log in read_logs([path]) for row in log.rows)
    return [" ".join(row.answer.text.split()) for row in rows if row.answer is not None]
