"""Answer files of releases and of people: LLaVA's `answers/*.jsonl`, caption files, and plain
tables of answers or scores, a row an answer or a row a respondent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hqm.errors import AnswerError, UsageError
from hqm.imports import row as fields
from hqm.imports.row import Log, Row, answers_in, number, score_of

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "model": fields.RESPONDENTS,
    "item": fields.IDS,
    "score": ("score",),
    "run": ("run",),
    "form": ("form",),
    "judge": fields.JUDGES,
    "cluster": fields.CLUSTERS,
    "category": fields.PARTS,
    "answer": fields.ANSWERS,
    "target": fields.KEYS,
    "question": fields.QUESTIONS,
    "image": fields.IMAGES,
    "options": ("options", "choices"),
    "benchmark": fields.TASKS,
}
"""The fields of a row of a table, and the names of columns that are taken for each."""
TABLE = "a table of answers"
"""What a table calls its tool."""
_FEWEST_ITEMS = 5
_KNOWN = frozenset(name for names in COLUMNS.values() for name in names) | {
    "answer_id",
    "metadata",
    "state",
    "reason",
    "detail",
    "resolution",
    "epoch",
}


def holds_answers(records: list[dict[str, Any]]) -> bool:
    """Whether these rows answer questions; a file of questions has `text` and `image`, and nothing
    that is an answer.
    """
    if not records:
        return False
    first = records[0]
    named = any(name in first for name in fields.RESPONDENTS)
    asks = any(name in first for name in (*fields.QUESTIONS, "image"))
    # beside a question, and with nobody who gave it, an answer is the right one
    answers = [name for name in answers_in(first) if named or not asks or name != "answer"]
    return "score" in first or bool(answers)


def is_foreign(records: list[dict[str, Any]]) -> bool:
    """Whether these rows are LLaVA's, captions by picture, or scores alone: rows that HQM's own
    format does not have.
    """
    first = records[0] if records else {}
    captions = "image_id" in first and not any(
        name in first for name in ("item", "id", "question_id")
    )
    scores = "item" in first and "score" in first and not answers_in(first)
    return _is_llava(first) or captions or scores


def _is_llava(record: Mapping[str, Any]) -> bool:
    return {"question_id", "text", "model_id"} <= record.keys()


def parse_table_columns(texts: Sequence[str]) -> dict[str, str]:
    """What `--columns` says of a table of answers or scores: field -> column.

    >>> parse_table_columns(["model=LLM,score=f1"])
    {'model': 'LLM', 'score': 'f1'}

    Raises
    ------
    UsageError
        A part names no field.
    """
    return columns_by_field(texts, dict.fromkeys(COLUMNS))


def columns_by_field(texts: Sequence[str], fields: Mapping[str, str | None]) -> dict[str, str]:
    """Field -> column, as `--columns FIELD=COLUMN,...` says.

    Parameters
    ----------
    fields
        What may be written for a field -> the field, where that has another name.

    Raises
    ------
    UsageError
        A part names no field, or a field stands twice.
    """
    columns: dict[str, str] = {}
    for text in texts:
        # a comma separates only where a field follows, since a column's name may hold one
        for pair in re.split(rf",(?=\s*(?:{'|'.join(fields)})\s*=)", text):
            name, equals, column = pair.partition("=")
            if not equals or name.strip() not in fields:
                raise UsageError(
                    f"--columns {pair.strip()!r} names no field",
                    remedy=f"Write FIELD=COLUMN; the fields are {', '.join(fields)}.",
                )
            field = fields[name.strip()] or name.strip()
            if field in columns:
                raise UsageError(
                    f"--columns names the field {field!r} twice", remedy="Keep one of the two."
                )
            columns[field] = column.strip()
    return columns


def read_table(
    path: str, records: list[dict[str, Any]], columns: Mapping[str, str] | None = None
) -> Log:
    """The rows of a table of answers or scores, whatever its columns are called.

    Every column of numbers that is no other field is a score of that name. A table without any
    field of an answer has a row a respondent and a column an item, or the other way round.

    Parameters
    ----------
    columns
        Field -> column, where the names do not say it.

    Raises
    ------
    AnswerError
        A row has neither an answer nor a score, or there is no such column.
    """
    wanted = dict(columns or {})
    for field, column in wanted.items():
        if records and column not in records[0]:
            there = ", ".join(map(repr, records[0]))
            raise AnswerError(
                f"there is no column {column!r} for the field {field!r}",
                location=path,
                remedy=f"The columns are {there}.",
            )
    if not wanted and (turned := _of_object(records) or _of_wide(records)):
        records = turned
    scores = _score_columns(records, wanted)
    stem = path.replace("\\", "/").rpartition("/")[2].rpartition(".")[0] or path
    llava = bool(records) and _is_llava(records[0])
    named = {COLUMNS[field][0]: column for field, column in wanted.items() if field != "score"}
    rows = []
    for i, record in enumerate(records):
        if named:
            record = {**record, **{field: record[column] for field, column in named.items()}}
        values = {name: score_of(record.get(name)) for name in scores}
        known = {name: score for name, score in values.items() if score is not None}
        if scores:
            record = {**record, "score": next(iter(known.values()), None)}
        row = Row.of(record, f"{path}: record {i + 1}", position=i, score_alone=True)
        rows.append(
            replace(
                row,
                respondent=row.respondent or stem,
                scores=known,
                position=None if row.ids and scores else row.position,
            )
        )
    return Log(path=path, tool="LLaVA" if llava else TABLE, rows=tuple(rows))


def fields_lacking(
    records: list[dict[str, Any]], columns: Mapping[str, str] | None = None
) -> list[str]:
    """Which of model, item and score no column of a table has; a wide table lacks none.

    >>> fields_lacking([{"model": "a", "question_no": 1, "score": 1.0}])
    ['item']
    """
    wanted, first = dict(columns or {}), records[0] if records else {}
    if not wanted and _of_wide(records):
        return []
    there = {
        "model": any(name in first for name in fields.RESPONDENTS),
        "item": any(name in first for name in (*fields.IDS, *fields.QUESTIONS, *fields.IMAGES)),
        "score": bool(answers_in(first))
        or "score" in wanted
        or any(
            _all_numbers(record.get(name) for record in records)
            for name in first
            if name == "score" or name not in _KNOWN.union(wanted.values())
        ),
    }
    return [field for field, named in there.items() if not named and field not in wanted]


def _score_columns(records: Sequence[Mapping[str, Any]], wanted: Mapping[str, str]) -> list[str]:
    """The columns of scores: the one that was said, else `score` and every other column of numbers
    beside the fields of a row.
    """
    if not records or "score" in wanted:
        return [wanted["score"]] if records else []
    first = records[0]
    named = any(name in first for name in (*fields.RESPONDENTS, *answers_in(first)))
    if not wanted and not named and "score" not in first:
        return []
    others = [name for name in first if name not in _KNOWN and name not in wanted.values()]
    return [
        name
        for name in ["score", *others]
        if name in first and _all_numbers(record.get(name) for record in records)
    ]


def _all_numbers(cells: Any) -> bool:
    """Whether every cell that is not empty is a number or truth, and one is."""
    filled = [cell for cell in cells if cell not in (None, "")]
    return bool(filled) and all(number(cell) is not None for cell in filled)


def _of_object(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows of one object, item -> answer; empty where it is none."""
    of_one = records[0] if len(records) == 1 else {}
    texts = len(of_one) > _FEWEST_ITEMS and all(isinstance(text, str) for text in of_one.values())
    if not texts or not _KNOWN.isdisjoint(of_one):
        return []
    return [{"item": name, "answer": text} for name, text in of_one.items()]


def _of_wide(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows of a table with a row a respondent and a column an item; empty where it is none.

    The heading of the first column says which way it lies: the name of an item's field makes the
    rows items. With fewer columns it is a table of results, whose columns are no items.
    """
    if not records or len(records[0]) <= _FEWEST_ITEMS:
        return []
    first, *others = records[0]
    if any(name in _KNOWN for name in others):
        return []
    names = ["" if (name := r.get(first)) is None else str(name) for r in records]
    if len(set(names)) < len(names) or not all(names):
        return []
    if not all(_all_numbers(record.get(name) for record in records) for name in others):
        return []
    by_item = first.strip().lower() in fields.IDS
    return [
        {"item": name if by_item else other, "model": other if by_item else name, "score": cell}
        for record, name in zip(records, names, strict=True)
        for other in others
        if (cell := record.get(other)) not in (None, "")
    ]
