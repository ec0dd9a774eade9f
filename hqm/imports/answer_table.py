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
_MIN_ITEMS = 5
_KNOWN_COLUMNS = frozenset(name for names in COLUMNS.values() for name in names) | {
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
    has_respondent = any(name in first for name in fields.RESPONDENTS)
    asks = any(name in first for name in (*fields.QUESTIONS, "image"))
    # beside a question, and with nobody who gave it, an answer is the right one
    answers = [name for name in answers_in(first) if has_respondent or not asks or name != "answer"]
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
    chosen_columns = dict(columns or {})
    _check_columns(path, records, chosen_columns)
    if not chosen_columns:
        records = _of_object(records) or _of_wide(records) or records
    scores = _score_columns(records, chosen_columns)
    stem = path.replace("\\", "/").rpartition("/")[2].rpartition(".")[0] or path
    is_llava = bool(records) and _is_llava(records[0])
    rows = []
    for i, record in enumerate(records):
        fields_by_name = dict(record)
        for field, column in chosen_columns.items():
            if field != "score":
                fields_by_name[COLUMNS[field][0]] = record[column]
        known_scores = {}
        for name in scores:
            score = score_of(fields_by_name.get(name))
            if score is not None:
                known_scores[name] = score
        if scores:
            fields_by_name["score"] = next(iter(known_scores.values()), None)
        row = Row.of(fields_by_name, f"{path}: record {i + 1}", position=i, score_alone=True)
        rows.append(
            replace(
                row,
                respondent=row.respondent or stem,
                scores=known_scores,
                position=None if row.ids and scores else row.position,
            )
        )
    return Log(path=path, tool="LLaVA" if is_llava else TABLE, rows=tuple(rows))


def _check_columns(
    path: str, records: Sequence[Mapping[str, Any]], chosen_columns: Mapping[str, str]
) -> None:
    """Refuse the choice of a column that the table does not have."""
    for field, column in chosen_columns.items():
        if records and column not in records[0]:
            raise AnswerError(
                f"there is no column {column!r} for the field {field!r}",
                location=path,
                remedy=f"The columns are {', '.join(map(repr, records[0]))}.",
            )


def fields_lacking(
    records: list[dict[str, Any]], columns: Mapping[str, str] | None = None
) -> list[str]:
    """Which of model, item and score no column of a table has; a wide table lacks none.

    >>> fields_lacking([{"model": "a", "question_no": 1, "score": 1.0}])
    ['item']
    """
    chosen_columns = dict(columns or {})
    if not chosen_columns and _of_wide(records):
        return []
    first = records[0] if records else {}
    other_columns = _KNOWN_COLUMNS.union(chosen_columns.values()) - {"score"}
    score_columns = [name for name in first if name not in other_columns]
    has_score = bool(answers_in(first)) or any(_is_numeric(records, name) for name in score_columns)
    is_present = {
        "model": not first.keys().isdisjoint(fields.RESPONDENTS),
        "item": not first.keys().isdisjoint((*fields.IDS, *fields.QUESTIONS, *fields.IMAGES)),
        "score": has_score,
    }
    return [
        field
        for field, has_column in is_present.items()
        if not has_column and field not in chosen_columns
    ]


def _score_columns(
    records: Sequence[Mapping[str, Any]], chosen_columns: Mapping[str, str]
) -> list[str]:
    """The columns of scores: the one that was said, else `score` and every other column of numbers
    beside the fields of a row.
    """
    if not records:
        return []
    if "score" in chosen_columns:
        return [chosen_columns["score"]]
    first = records[0]
    has_fields = any(name in first for name in (*fields.RESPONDENTS, *answers_in(first)))
    if not chosen_columns and not has_fields and "score" not in first:
        return []
    other_columns = _KNOWN_COLUMNS.union(chosen_columns.values())
    further_columns = [name for name in first if name not in other_columns]
    return [
        name for name in ["score", *further_columns] if name in first and _is_numeric(records, name)
    ]


def _is_numeric(records: Sequence[Mapping[str, Any]], column: str) -> bool:
    """Whether every cell of a column that is not empty is a number or truth, and one is."""
    cells = [record.get(column) for record in records]
    filled = [cell for cell in cells if cell not in (None, "")]
    return bool(filled) and all(number(cell) is not None for cell in filled)


def _of_object(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows of one object, item -> answer; empty where it is none."""
    fields_of_object = records[0] if len(records) == 1 else {}
    texts = len(fields_of_object) > _MIN_ITEMS and all(
        isinstance(text, str) for text in fields_of_object.values()
    )
    if not texts or not _KNOWN_COLUMNS.isdisjoint(fields_of_object):
        return []
    return [{"item": name, "answer": text} for name, text in fields_of_object.items()]


def _of_wide(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows of a table with a row a respondent and a column an item; empty where it is none.

    The heading of the first column says which way it lies: the name of an item's field makes the
    rows items. With fewer columns it is a table of results, whose columns are no items.
    """
    if not records or len(records[0]) <= _MIN_ITEMS:
        return []
    first, *item_columns = records[0]
    if not _KNOWN_COLUMNS.isdisjoint(item_columns):
        return []
    names = ["" if record.get(first) is None else str(record[first]) for record in records]
    if len(set(names)) < len(names) or not all(names):
        return []
    if not all(_is_numeric(records, column) for column in item_columns):
        return []
    has_item_rows = first.strip().lower() in fields.IDS
    rows = []
    for record, name in zip(records, names, strict=True):
        for column in item_columns:
            cell = record.get(column)
            if cell in (None, ""):
                continue
            item, model = (name, column) if has_item_rows else (column, name)
            rows.append({"item": item, "model": model, "score": cell})
    return rows
