"""Prediction files of VLMEvalKit: `<model>_<dataset>` as xlsx, tsv or json, the dataset's columns
with `prediction` beside them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from hqm.files.records import file_stem, required_field
from hqm.imports.intake import whole_ids
from hqm.imports.layouts import scores_in, with_column
from hqm.imports.log_file import LogFile
from hqm.imports.row import RESPONDENTS, RUNS, Log, Row, options_in, parts_in, pictures_in
from hqm.imports.score_cells import number
from hqm.types import Response

_FAILED = "Failed to obtain answer"
"""What VLMEvalKit writes in place of an answer that a server did not give."""
_CUT = 32_767
"""The most characters that a cell of a sheet holds."""
_FOLDER = re.compile(r"T\d{8}")
"""The folder of one evaluation, which is named for its date."""
_SCORED = re.compile(r"_(?:auxmatch|results?|judge|score)$")
_JUDGE = re.compile(
    r"_(?:exact_matching|(?P<judge>(?:chatgpt|openai|gpt|claude|qwen|llama|deepseek)-?[\w.-]*))$"
)
_DATASET = re.compile(
    r"_([^_]+(?:_(?:DEV|VAL|TEST|TRAIN|MINI|TESTMINI|EN|CN|IMG|V\d+|ALL|COT|NO_MASK|MASK))*)$"
)
"""A data set with what VLMEvalKit writes behind its name, such as `MMBench_DEV_EN_V11`."""
_SCORES = ("score", "hit", "eval_score", "gpt4_score", "match")


SOURCE = "vlmevalkit"


def is_log(file: LogFile) -> bool:
    """Whether a file holds such rows; a table whose rows name the model or the run is of another
    tool, and one that is not called `<model>_<dataset>` too.
    """
    names = file.first_names
    if not {"index", "prediction"} <= names or not names.isdisjoint((*RESPONDENTS, *RUNS)):
        return False
    return "dataset" in names or "_" in file_stem(file.path)


def read_log(file: LogFile) -> Log:
    """The rows of one file."""
    path = file.path
    records = file.records
    # 7.0 in one model's file is 7 in another's
    ids = whole_ids([record.get("index") for record in records])
    if ids is not None:
        records = with_column(records, "index", ids)
    respondent, dataset = _respondent_and_dataset(path, str(records[0].get("dataset") or ""))
    judged = _JUDGE.search(_SCORED.sub("", file_stem(path)))
    judge = (judged["judge"] or "") if judged else ""  # exact matching is no judge
    shared = Row(place="", respondent=respondent, task=dataset, judge=judge)
    rows = [_row(record, f"{path}: record {i}", shared) for i, record in enumerate(records, 1)]
    notes = []
    if file.suffix == ".xlsx":
        # Other formats hold answers of any length.
        cut = sum(len(str(record["prediction"])) >= _CUT for record in records)
        if cut:
            notes = [f"{cut} answers fill a cell of 32,767 characters, where a sheet cuts them"]
    return Log(path=str(path), tool="VLMEvalKit", rows=tuple(rows), notes=tuple(notes))


def _respondent_and_dataset(path: Path, dataset: str) -> tuple[str, str]:
    """The respondent and the dataset of `<model>_<dataset>`: the folder is named after the model;
    else what stands before the last underscore that is none of the dataset's own.

    What the evaluation writes behind the name (`_auxmatch`, `_<judge>_result`) is left out.
    """
    stem = _JUDGE.sub("", _SCORED.sub("", file_stem(path)))
    if _FOLDER.match(path.parent.name):
        folder = path.parent.parent.name
    else:
        folder = path.parent.name
    # names of models and of data sets both have underscores: the folder tells where one ends
    if folder and stem.startswith(f"{folder}_"):
        return folder, dataset or stem.removeprefix(f"{folder}_")
    if dataset and stem.endswith(f"_{dataset}"):
        return stem.removesuffix(f"_{dataset}"), dataset
    suffix = _DATASET.search(stem)
    if suffix is None:
        return stem, dataset
    return stem[: suffix.start()] or stem, dataset or suffix[1]


def _row(record: Mapping[str, object], location: str, shared: Row) -> Row:
    def cell(name: str) -> str:
        return str(record.get(name) if record.get(name) is not None else "")

    # an empty one is an answer, and none is a broken row
    required_field(record, "prediction", location)
    text = cell("prediction")
    failed = _FAILED in text
    index = cell("index")
    pieces = index.split("_")
    # HallusionBench: <category>_<subcategory>_<visual input>_<set>_<figure>_<question>
    composed = "_".join(pieces[:2] + pieces[3:]) if len(pieces) == 6 else ""
    scores = scores_in(record, _SCORES, number)
    pictures = pictures_in({"image_path": record.get("image_path")})
    return replace(
        shared,
        place=location,
        answer=Response("", "error", text) if failed else Response(text),
        ids=tuple(filter(None, [composed, index])),
        image=next(iter(pictures), ""),
        # a cell of several is the text of a list
        pictures=pictures if len(pictures) > 1 else (),
        question=cell("question"),
        key=cell("answer"),
        options=options_in(record),
        parts=parts_in(cell("category")),
        score=next(iter(scores.values()), None),
        scores=scores,
        read=cell("extracted"),
    )
