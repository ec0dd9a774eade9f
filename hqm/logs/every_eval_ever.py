"""Instance records of Every Eval Ever: `<uuid>_samples.jsonl`, with the aggregate `<uuid>.json` beside them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hqm.files.records import whole_number
from hqm.logs.row import Log, LogRow, number, texts
from hqm.types import Response


def is_log(records: list[dict[str, Any]]) -> bool:
    """Whether these are such records."""
    return bool(records) and "evaluation_id" in records[0] and "sample_id" in records[0]


def read_log(path: Path, records: list[dict[str, Any]]) -> Log:
    """The rows of a samples file."""
    rows = [_row(record, f"{path}: record {i}") for i, record in enumerate(records, 1)]
    version = records[0].get("schema_version", "")
    return Log(path=str(path), tool=f"Every Eval Ever {version}".strip(), rows=tuple(rows))


def _row(record: Mapping[str, Any], place: str) -> LogRow:
    asked, given = record.get("input") or {}, record.get("output") or {}
    evaluation, metadata = record.get("evaluation") or {}, record.get("metadata") or {}
    read = next(
        (a.get("extracted_value") for a in record.get("answer_attribution") or () if isinstance(a, Mapping)), ""
    )
    text, error = texts(given.get("raw"))[0], record.get("error")
    score = number(evaluation.get("score"))
    return LogRow(
        place=place,
        respondent=str(record.get("model_id") or ""),
        answer=Response(text, "error", str(error)) if error else Response(text),
        ids=(str(record["sample_id"]),),
        image=str(metadata.get("image") or ""),
        question=str(asked.get("raw") or asked.get("formatted") or ""),
        form=str(metadata.get("form") or ""),
        run=whole_number(metadata.get("run", 0), "run", place),
        score=number(evaluation.get("is_correct")) if score is None else score,
        read=str(read or ""),
    )
