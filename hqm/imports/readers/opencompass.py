"""What OpenCompass keeps of a model and a data set: `predictions/<model>/<data set>.json`, and the
same with the verdicts in the `details` of `results/<model>/<data set>.json`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hqm.files.records import file_stem, read_json
from hqm.imports.log_file import LogFile
from hqm.imports.row import Log, Row, names_in
from hqm.imports.score_cells import number
from hqm.types import Response

SOURCE = "opencompass"
# Each evaluator names the cells of a detail in its own way.
_ANSWERS = ("origin_prediction", "prediction", "predictions", "pred")
_KEYS = ("gold", "references", "reference", "answer", "refr", "ref")
_PROMPTS = ("prompt", "origin_prompt")
_VERDICTS = ("correct", "is_correct", "cascade_correct")


def is_log(file: LogFile) -> bool:
    """Whether a file holds predictions, or details of an evaluation."""
    _, record = next(_units(file.document), ("", {}))
    if "origin_prompt" in record and "prediction" in record:
        return True
    is_judged = not record.keys().isdisjoint(_VERDICTS) or "references" in record
    return "details" in file.document and is_judged and bool(names_in(record, _ANSWERS))


def read_log(file: LogFile) -> Log:
    """The rows of one data set; the folders say which model was asked."""
    path = file.path
    is_kept = path.parent.parent.name in ("results", "predictions")
    stem = file_stem(path)
    total = number(file.document.get("accuracy"))
    is_judged = "details" in file.document
    units = list(_units(file.document))
    beside = dict(_units(_read_beside(path, "predictions" if is_judged else "results")))
    notes = []
    # where each was asked several times, predictions lie in another order than the details
    has_same_units = len(beside) == len(units)
    if beside and not is_judged and not has_same_units:
        notes = [f"its answers are taken from {_beside(path, 'results')}, which evaluates them"]
        units = []
    rows: list[Row] = []
    for name, record in units:
        asked = beside.get(name, {}) if is_judged and has_same_units else {}
        place = f"{path}: {name}"
        rows += _rows(name, {**asked, **record}, place, path.parent.name, stem, is_kept)
    return Log(
        path=str(path),
        tool="OpenCompass",
        rows=tuple(rows),
        notes=tuple(notes),
        totals={} if total is None else {"correct": total},
        names_respondents=is_kept,
    )


def _beside(path: Path, kind: str) -> Path:
    """The file of the same model and data set of another kind."""
    return path.parent.parent.parent / kind / path.parent.name / path.name


def _read_beside(path: Path, kind: str) -> Mapping[str, Any]:
    file = _beside(path, kind)
    document = read_json(file) if file.is_file() else {}
    if not isinstance(document, Mapping) or (kind == "results" and "details" not in document):
        return {}
    return document


def _units(document: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The number of each example with what is kept of it."""
    details = document.get("details", document)
    if isinstance(details, list):
        details = dict(zip(map(str, range(len(details))), details, strict=True))
    for name, record in details.items() if isinstance(details, Mapping) else ():
        # `type` stands among the examples
        if isinstance(record, Mapping):
            yield str(name), record


def _rows(
    name: str, record: Mapping[str, Any], place: str, folder: str, stem: str, is_kept: bool
) -> Iterator[Row]:
    """A row for each time that an example was asked."""
    verdict = next((record[column] for column in names_in(record, _VERDICTS)), None)
    # cells are lists where an example was asked several times
    n_runs = len(verdict) if isinstance(verdict, list) else 1
    for run in range(n_runs):
        cells = {}
        for column, value in record.items():
            is_list = isinstance(verdict, list) and isinstance(value, list) and len(value) == n_runs
            cells[column] = value[run] if is_list else value
        answers = [cells[column] for column in names_in(cells, _ANSWERS)]
        keys = [cells[column] for column in names_in(cells, _KEYS)]
        prompts = [cells[column] for column in names_in(cells, _PROMPTS)]
        # of each option's likelihood, the option that was chosen is the answer
        answer = next((answer for answer in answers if isinstance(answer, str)), None)
        score = next((number(cells[column]) for column in names_in(cells, _VERDICTS)), None)
        yield Row(
            place=place,
            ids=(name,),
            task=stem if is_kept else "",
            respondent=folder if is_kept else stem,
            question=_question(next(filter(None, prompts), "")),
            key=_key(next(iter(keys), "")),
            run=run,
            answer=None if answer is None else Response(answer),
            score=score,
            scores={} if score is None else {"correct": score},
        )


def _question(prompt: object) -> str:
    """What was asked last: behind examples with their answers, the last turn of the user."""
    if not isinstance(prompt, list):
        return str(prompt)
    turns = [turn for turn in prompt if isinstance(turn, Mapping) and turn.get("role") != "BOT"]
    return str(turns[-1].get("prompt", "")) if turns else ""


def _key(value: object) -> str:
    """The right answer; of several none alone is the key."""
    if isinstance(value, list):
        return str(value[0]) if len(value) == 1 else ""
    return str(value)
