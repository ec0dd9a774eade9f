"""Prediction files of VLMEvalKit: `<model>_<dataset>` as xlsx, tsv or json, the dataset's columns
with `prediction` beside them.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hqm.errors import DataError
from hqm.files.records import read_records, read_text
from hqm.logs.row import Log, LogRow, number
from hqm.types import Response

_FAILED = "Failed to obtain answer"
_CUT = 32_767
_FOLDER = re.compile(r"T\d{8}")


def is_log(records: list[dict[str, Any]]) -> bool:
    """Whether these are the rows of such a file."""
    return bool(records) and "index" in records[0] and "prediction" in records[0]


def read_log(path: Path, records: list[dict[str, Any]] | None = None) -> Log:
    """The rows of one file; every cell is read as text, because a sheet makes numbers of answers
    that look like some.
    """
    suffix = path.suffix.lower()
    if records is None:
        records = {".xlsx": _sheet, ".tsv": _tsv}.get(suffix, read_records)(path)
    if not is_log(records):
        there = ", ".join(map(repr, records[0])) if records else "nothing"
        raise DataError(
            f"it has no columns 'index' and 'prediction' (there are {there})", place=str(path)
        )
    respondent = _respondent(path, str(records[0].get("dataset") or ""))
    rows = [_row(record, f"{path}: record {i}", respondent) for i, record in enumerate(records, 1)]
    cut = sum(len(row.answer.text) >= _CUT for row in rows) if suffix == ".xlsx" else 0
    notes = (
        [f"{cut} answers fill a cell of 32,767 characters, where a sheet cuts them"] if cut else []
    )
    return Log(path=str(path), tool="VLMEvalKit", rows=tuple(rows), notes=tuple(notes))


def _sheet(path: Path) -> list[dict[str, Any]]:
    try:
        import openpyxl  # type: ignore[import-untyped]
    except ModuleNotFoundError:
        raise DataError(
            "Excel sheets are read with openpyxl, which is not installed",
            place=str(path),
            remedy="Run: pip install 'hqm-audit[logs]', or save the sheet as .tsv.",
        ) from None
    from zipfile import BadZipFile

    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except (BadZipFile, KeyError, ValueError, OSError) as error:
        raise DataError(f"it is no Excel sheet: {error}", place=str(path)) from None
    try:
        cells = book.worksheets[0].iter_rows(values_only=True)
        names = [_text(cell) for cell in next(cells, ())]
        return [
            dict(zip(names, map(_text, row), strict=False))
            for row in cells
            if any(c is not None for c in row)
        ]
    finally:
        book.close()


def _text(cell: Any) -> str:
    if cell is None:
        return ""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def _tsv(path: Path) -> list[dict[str, Any]]:
    reader = csv.DictReader(io.StringIO(read_text(path), newline=""), delimiter="\t")
    try:
        return [dict(row) for row in reader]
    except csv.Error as error:
        raise DataError(f"it is no TSV: {error}", place=f"{path}:{reader.line_num}") from None


def _respondent(path: Path, dataset: str) -> str:
    """`<model>_<dataset>`: the folder is named after the model; else what stands before the last
    underscore.
    """
    stem = path.stem.removesuffix("_auxmatch")
    folder = path.parent.parent.name if _FOLDER.match(path.parent.name) else path.parent.name
    if folder and stem.startswith(f"{folder}_"):
        return folder
    if dataset and stem.endswith(f"_{dataset}"):
        return stem.removesuffix(f"_{dataset}")
    return stem.rpartition("_")[0] or stem


def _row(record: Mapping[str, Any], place: str, respondent: str) -> LogRow:
    def said(name: str) -> str:
        return str(record.get(name) if record.get(name) is not None else "")

    text = said("prediction")
    failed = _FAILED in text
    index = said("index")
    pieces = index.split("_")
    # HallusionBench: <category>_<subcategory>_<visual input>_<set>_<figure>_<question>
    composed = "_".join(pieces[:2] + pieces[3:]) if len(pieces) == 6 else ""
    return LogRow(
        place=place,
        respondent=respondent,
        answer=Response("", "error", text) if failed else Response(text),
        ids=tuple(filter(None, [composed, index])),
        image=said("image_path"),
        question=said("question"),
        parts=tuple(part.strip() for part in said("category").split(",") if part.strip()),
        score=number(record.get("score")),
        read=said("extracted"),
    )
