"""Result files as the release writes them: the questions with a model's answers and, once judged,
the judge's checks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from hqm import DataError, JudgeOutput, Response, Row, placed_records, read_records, take

_FIELDS = {"category", "subcategory", "figure_id", "question_id", "model_prediction"}
_HALF = re.compile(r"(?i)[-_ ]?(?<![a-z0-9])v[ds](?![a-z0-9])")
"""What tells the two halves of a result apart in their files' names."""
_OF_THE_RELEASE = "hallusion_output_model"
"""What the release calls every result, whoever answered and judged."""


def is_result(path: Path) -> bool:
    """Whether a file, or every JSON file in a folder, is a list of the release's records with a
    model's answers.
    """
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    files = [file for file in files if file.suffix == ".json"]
    return bool(files) and all(_is_result(file) for file in files)


def _is_result(path: Path) -> bool:
    try:
        records = read_records(path)
    except DataError:
        return False
    return bool(records) and set(records[0]) >= _FIELDS


def judged_rows(path: Path, keys: Sequence[str], words: Mapping[str, str]) -> list[Row]:
    """The checks of one file; a check that `words` does not know is kept as it is."""
    stem = _HALF.sub("", path.stem)
    rows = []
    for place, record in placed_records(path):
        field = next(
            (name for name in record if name.endswith("_gpt_check")), "gpt4v_output_gpt_check"
        )
        check = "" if record.get(field) is None else str(record[field]).strip()
        same = {"1": ["same"], "0": ["different"]}.get(str(record.get("same")), [])
        rows.append(
            Row(
                place=place,
                judgement=(
                    JudgeOutput({"judge": (words[check], *same)})
                    if check in words
                    else JudgeOutput(mark=check)
                ),
                ids=("_".join(str(take(record, name, place)) for name in keys),),
                own_ids=True,
                question=str(take(record, "question", place)),
                stem="" if stem == _OF_THE_RELEASE else stem,
                answer=(
                    Response(str(record["model_prediction"]))
                    if record.get("model_prediction") is not None
                    else None
                ),
            )
        )
    return rows
