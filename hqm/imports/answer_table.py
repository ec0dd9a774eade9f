"""Answer files of releases and of people: LLaVA's `answers/*.jsonl`, caption files, and plain
tables of answers or scores.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hqm.imports.row import Log, Row, answers_in


def holds_answers(records: list[dict[str, Any]]) -> bool:
    """Whether these rows answer questions; a file of questions has `text` and `image`, and nothing
    that is an answer.
    """
    return bool(records) and ("score" in records[0] or bool(answers_in(records[0])))


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


def read_table(path: Path, records: list[dict[str, Any]]) -> Log:
    """The rows of a file of answers, whatever its fields are called.

    Raises
    ------
    AnswerError
        A row has neither an answer nor a score.
    """
    rows = []
    for i, record in enumerate(records):
        row = Row.of(record, f"{path}: record {i + 1}", position=i, score_alone=True)
        rows.append(row if row.respondent else replace(row, respondent=path.stem))
    llava = bool(records) and _is_llava(records[0])
    return Log(path=str(path), tool="LLaVA" if llava else "a table of answers", rows=tuple(rows))
