"""Answer files of releases and of people: LLaVA's `answers/*.jsonl`, caption files, and plain
tables of answers or scores.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hqm.errors import AnswerError
from hqm.files.records import whole_number
from hqm.logs.row import Log, LogRow, first_text, number
from hqm.types import Response

_IDS = ("item", "question_id", "id", "sample_id", "index")
_IMAGES = ("image", "image_id", "image_source", "image_path", "filename")
_QUESTIONS = ("question", "prompt", "query", "instruction")
_ANSWERS = (
    "answer",
    "response",
    "prediction",
    "model_answer",
    "model_prediction",
    "text",
    "caption",
)
_RESPONDENTS = ("respondent", "model_id", "model")
_PARTS = ("category", "split", "part")


def holds_answers(records: list[dict[str, Any]]) -> bool:
    """Whether these rows answer questions; a file of questions has `text` and `image`, and nothing
    that is an answer.
    """
    return bool(records) and bool({"score", *_answers_in(records[0])} & set(records[0]))


def is_foreign(records: list[dict[str, Any]]) -> bool:
    """Whether these rows are LLaVA's, captions by picture, or scores alone: rows that HQM's own
    format does not have.
    """
    first = records[0] if records else {}
    llava = {"question_id", "text", "model_id"} <= set(first)
    captions = "image_id" in first and not any(
        name in first for name in ("item", "id", "question_id")
    )
    scores = "item" in first and "score" in first and not _answers_in(first)
    return llava or captions or scores


def _answers_in(record: Mapping[str, Any]) -> list[str]:
    named = [name for name in _ANSWERS if name in record]
    asks = "image" in record and not any(
        name in record for name in (*_QUESTIONS, *_RESPONDENTS, "answer_id")
    )
    return [name for name in named if not (asks and name == "text")]


def read_table(path: Path, records: list[dict[str, Any]]) -> Log:
    """The rows of a file of answers, whatever its fields are called.

    Raises
    ------
    AnswerError
        A row has neither an answer nor a score.
    """
    rows = [_row(record, f"{path}: record {i}", i - 1, path) for i, record in enumerate(records, 1)]
    llava = bool(records) and {"question_id", "text", "model_id"} <= set(records[0])
    return Log(path=str(path), tool="LLaVA" if llava else "a table of answers", rows=tuple(rows))


def _row(record: Mapping[str, Any], place: str, position: int, path: Path) -> LogRow:
    fields = _answers_in(record)
    named = [name for name in fields if record[name] is not None]
    score = number(record.get("score"))
    if not fields and "score" not in record:
        there = ", ".join(map(repr, record)) or "none"
        what = (
            f"none of the fields {', '.join(map(repr, (*_ANSWERS, 'score')))} is there (there are"
            f" {there})"
        )
        raise AnswerError(what, place=place)
    # LLaVA's `text` is the answer; where another field has the answer, it is the question
    questions = (*_QUESTIONS, *(("text",) if named and named[0] != "text" else ()))
    value = record[named[0]] if named else None
    if isinstance(value, (dict, list, bool)):
        raise AnswerError(
            f"the answer is {value!r:.60}, which is no text", place=place, remedy="Write a text."
        )
    only_score = not fields
    answer = (
        Response("", "missing", "only its score is recorded")
        if only_score
        else Response("" if value is None else str(value))
    )
    ids = [
        str(record[name])
        for name in _IDS
        if isinstance(record.get(name), (str, int)) and str(record[name]).strip()
    ]
    return LogRow(
        place=place,
        respondent=first_text(record, _RESPONDENTS) or path.stem,
        answer=answer,
        ids=tuple(dict.fromkeys(ids)),
        image=first_text(record, _IMAGES),
        question=first_text(record, questions),
        parts=tuple(part.strip() for part in first_text(record, _PARTS).split(",") if part.strip()),
        position=position,
        form=first_text(record, ("form",)),
        run=whole_number(record["run"], "run", place) if record.get("run") not in (None, "") else 0,
        score=score,
    )
