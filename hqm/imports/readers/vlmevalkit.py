"""Prediction files of VLMEvalKit: `<model>_<dataset>` as xlsx, tsv or json, the dataset's columns
with `prediction` beside them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hqm.imports.row import Log, LogFile, Row, number, parts_in
from hqm.types import Response

_FAILED = "Failed to obtain answer"
_CUT = 32_767
_FOLDER = re.compile(r"T\d{8}")


SOURCE = "vlmevalkit"


def is_log(file: LogFile) -> bool:
    """Whether a file holds such rows."""
    return any({"index", "prediction"} <= record.keys() for record in file.first)


def read_log(file: LogFile) -> Log:
    """The rows of one file."""
    path, records = file.path, file.records
    respondent = _respondent(path, str(records[0].get("dataset") or ""))
    rows = [_row(record, f"{path}: record {i}", respondent) for i, record in enumerate(records, 1)]
    notes = []
    if file.suffix == ".xlsx":
        cut = sum(len(str(record["prediction"])) >= _CUT for record in records)
        if cut:
            notes = [f"{cut} answers fill a cell of 32,767 characters, where a sheet cuts them"]
    return Log(path=str(path), tool="VLMEvalKit", rows=tuple(rows), notes=tuple(notes))


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


def _row(record: Mapping[str, Any], place: str, respondent: str) -> Row:
    def said(name: str) -> str:
        return str(record.get(name) if record.get(name) is not None else "")

    text = said("prediction")
    failed = _FAILED in text
    index = said("index")
    pieces = index.split("_")
    # HallusionBench: <category>_<subcategory>_<visual input>_<set>_<figure>_<question>
    composed = "_".join(pieces[:2] + pieces[3:]) if len(pieces) == 6 else ""
    return Row(
        place=place,
        respondent=respondent,
        answer=Response("", "error", text) if failed else Response(text),
        ids=tuple(filter(None, [composed, index])),
        image=said("image_path"),
        question=said("question"),
        key=said("answer"),
        parts=parts_in(said("category")),
        score=number(record.get("score")),
        read=said("extracted"),
    )
