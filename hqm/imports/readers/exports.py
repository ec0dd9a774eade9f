"""Files of tools that keep an answer in objects within a row, or call its cells as no other does:
promptfoo, DeepEval, EvalScope, lighteval, LangSmith, Ragas, human-eval and EvalPlus. Each is a list
of paths.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from hqm.files.records import file_stem, parse_value
from hqm.imports.layouts import Record, inner_cell, objects_in
from hqm.imports.log_file import LogFile
from hqm.imports.row import Log, Row
from hqm.imports.score_cells import number
from hqm.types import LETTERS, Response

SOURCE = "exports"


@dataclass(frozen=True)
class _Layout:
    """Where a tool keeps what; of several paths, the first that a row has."""

    tool: str
    signs: tuple[str, ...]
    """The paths that a row of this tool has."""
    answer: tuple[str, ...]
    question: tuple[str, ...]
    key: tuple[str, ...] = ()
    options: str = ""
    item: tuple[str, ...] = ()
    respondent: tuple[str, ...] = ()
    scores: tuple[str, ...] = ()
    """Objects or lists of scores, and single scores."""
    form: str = ""
    rows: str = ""
    """The path of the rows in a file that is one object."""


_ALL = "*"
"""Every cell that is a number."""
_LAYOUTS = (
    _Layout(
        "promptfoo",
        ("testIdx", "provider", "success", "vars"),
        answer=("response.output",),
        question=("prompt.raw",),
        item=("testIdx",),
        respondent=("provider.label", "provider.id", "provider"),
        scores=("score", "namedScores"),
        form="promptIdx",
        rows="results.results",
    ),
    _Layout(
        "DeepEval",
        ("input", "actualOutput", "metricsData"),
        answer=("actualOutput",),
        question=("input",),
        key=("expectedOutput",),
        scores=("metricsData",),
        rows="testCases",
    ),
    _Layout(
        "EvalScope",
        ("sample_score.score.value", "index"),
        answer=("sample_score.score.prediction",),
        # up to 1.0 the input, then the turns
        question=("input", "messages"),
        key=("target",),
        item=("sample_score.group_id", "index"),
        scores=("sample_score.score.value",),
    ),
    _Layout(
        "EvalScope",
        ("choices.0.review", "raw_input", "index"),
        answer=("choices.0.message.content",),
        question=("raw_input.question", "raw_input.input", "raw_input.query"),
        key=("choices.0.review.gold",),
        item=("index",),
        scores=("choices.0.review.result",),
    ),
    _Layout(
        "lighteval",
        ("doc.query", "model_response", "metric"),
        answer=("model_response.text_post_processed.0", "model_response.text.0"),
        question=("doc.query",),
        key=("doc.gold_index",),
        options="doc.choices",
        item=("doc.id",),
        scores=("metric",),
    ),
    _Layout(
        "lighteval",
        ("full_prompt", "predictions", "gold", "metrics"),
        answer=("predictions.0",),
        question=("example", "full_prompt"),
        key=("gold.0", "gold"),
        scores=("metrics",),
    ),
    _Layout(
        "human-eval",
        ("task_id", "completion", "passed"),
        answer=("completion",),
        question=(),
        item=("task_id",),
        scores=("passed",),
    ),
    _Layout(
        "EvalPlus",
        ("task_id", "solution", "passed"),
        answer=("solution",),
        question=(),
        item=("task_id",),
        scores=("plus", "base", "passed"),
        rows="eval",
    ),
    _Layout(
        "Ragas",
        ("user_input", "response"),
        answer=("response",),
        question=("user_input",),
        key=("reference",),
        scores=(_ALL,),
    ),
    _Layout(
        "LangSmith",
        ("inputs", "outputs", "feedback"),
        answer=("outputs",),
        question=("inputs",),
        key=("reference_outputs", "reference"),
        item=("example_id",),
        scores=("feedback",),
    ),
)


def is_log(file: LogFile) -> bool:
    """Whether the first row has all that a tool's rows have."""
    return _layout_of(file) is not None


def read_log(file: LogFile) -> Log:
    """The rows of one file; folders say who answered, where the rows do not."""
    layout = _layout_of(file)
    if layout is None:
        raise ValueError("no row of a known tool")
    records = list(_listed_rows(file, layout)) or file.records
    respondent, task, part = _names(file.path, layout.tool)
    rows = []
    seen: Counter[tuple[str, str, str]] = Counter()
    forms = {str(inner_cell(row, layout.form)) for row in records} if layout.form else set()
    for number_of_row, cells in enumerate(records, 1):
        if not isinstance(cells, Mapping):
            continue
        record = _nested(cells)
        row = _row(record, layout, f"{file.path}: record {number_of_row}")
        if len(forms) > 1:
            row = replace(row, form=f"prompt{inner_cell(record, layout.form)}")
        unit = (row.respondent, row.form, row.id)
        # what is asked again stands again under its id
        rows.append(
            replace(
                row,
                run=seen[unit] if row.ids else 0,
                task=task,
                parts=(part,) if part else (),
                respondent=row.respondent or respondent,
            )
        )
        seen[unit] += 1
    return Log(
        path=str(file.path),
        tool=layout.tool,
        rows=tuple(rows),
        names_respondents=bool(task or (rows and layout.respondent)),
    )


def _layout_of(file: LogFile) -> _Layout | None:
    for layout in _LAYOUTS:
        # the first row may be one that failed
        listed = list(islice(_listed_rows(file, layout), _MAX_COMPARED_ROWS))
        for record in listed or file.first[:1]:
            nested = _nested(record) if isinstance(record, Mapping) else {}
            if all(inner_cell(nested, sign) is not None for sign in layout.signs):
                return layout
    return None


_MAX_COMPARED_ROWS = 20


def _listed_rows(file: LogFile, layout: _Layout) -> Iterable[Any]:
    """The rows of a file that is one object; none of another."""
    if not layout.rows or not file.document:
        return []
    rows = inner_cell(file.document, layout.rows)
    if layout.tool == "EvalPlus" and isinstance(rows, Mapping):
        return _samples_of_tasks(rows)
    return rows if isinstance(rows, list) else []


def _samples_of_tasks(samples_of: Mapping[str, object]) -> Iterator[Record]:
    """Yield the samples of EvalPlus and BigCodeBench, with the sets of tests that each passes."""
    for task_id, samples in samples_of.items():
        if isinstance(samples, Mapping):
            samples = _older_samples(samples)
        for sample in objects_in(samples if isinstance(samples, list) else ()):
            passed = _passed_tests(sample)
            if passed:  # other tools have objects called `eval` as well
                solution = sample.get("solution") or ""
                is_right = all(passed.values())
                yield {"task_id": task_id, "solution": solution, "passed": is_right, **passed}


def _older_samples(results: Mapping[str, object]) -> list[Record]:
    """The samples of a task as EvalPlus once wrote them: for each set of tests a list of pairs of
    a status and its tests.
    """
    samples: list[Record] = []
    while isinstance(inner_cell(results, f"base.{len(samples)}"), list):
        index = len(samples)
        statuses = {name: inner_cell(results, f"{name}.{index}.0") for name in ("base", "plus")}
        samples.append({f"{name}_status": status for name, status in statuses.items()})
    return samples


def _passed_tests(sample: Mapping[str, object]) -> dict[str, bool]:
    """Whether a sample passes the tests of the benchmark, and with these the added ones; empty of
    what was not tested.
    """
    passed: dict[str, bool] = {}
    for tests, column in (("base", "base_status"), ("plus", "plus_status"), ("passed", "status")):
        if isinstance(sample.get(column), str):
            passed[tests] = sample[column] in ("pass", "success") and all(passed.values())
    return passed


def _nested(record: Mapping[str, Any]) -> Record:
    """The record with objects in place of their texts, and of columns such as `inputs.question`."""
    nested: Record = {}
    for name, cell in record.items():
        if isinstance(cell, str) and cell[:1] == "{" and name in _LANGSMITH:
            cell = parse_value(cell)
        head, dot, tail = str(name).partition(".")
        members = nested.get(head)
        if dot and head in _LANGSMITH and isinstance(nested.setdefault(head, {}), dict):
            members = nested[head]
        if dot and isinstance(members, dict):
            members[tail] = cell
        else:
            nested[name] = cell
    return nested


_LANGSMITH = ("inputs", "outputs", "reference_outputs", "reference", "feedback")


def _names(path: Path, tool: str) -> tuple[str, str, str]:
    """The respondent, the task and its part, as far as the tool's folders and files say them."""
    stem = file_stem(path)
    folders = path.parts[:-1]
    if tool == "EvalScope" and path.parent.parent.name == "reviews":
        # reviews/<model>/<data set>_<subset>, and reports/<model>/<data set>
        reports = (path.parent.parent.parent / "reports" / path.parent.name).glob("*.json")
        names = [report.stem for report in reports if stem.startswith(f"{report.stem}_")]
        task = max(names, key=len, default=stem)
        return path.parent.name, task, stem.removeprefix(task).strip("_")
    if tool == "EvalPlus":  # <samples>_eval_results.json, or beside the samples of a folder
        return _RESULTS_SUFFIX.sub("", stem) or path.parent.name, "", ""
    if tool == "lighteval" and "details" in folders:
        # details/<organisation>/<model>/<time>/details_<suite>|<task>:<subset>|<shots>_<time>
        model = "/".join(folders[folders.index("details") + 1 : -1])
        pieces = stem.split("|")
        task, _, part = (pieces[1] if len(pieces) > 2 else pieces[0]).partition(":")
        return model or path.parent.name, task.removeprefix("details_"), part
    return stem, "", ""


_RESULTS_SUFFIX = re.compile(r"[._-]?eval_results$")


def _row(record: Record, layout: _Layout, place: str) -> Row:
    choices = inner_cell(record, layout.options) if layout.options else None
    options = choices if isinstance(choices, list) else []
    key = _first_text(record, layout.key)
    scores, judge = _scores_of(record, layout)
    answer = _first_text(record, layout.answer)
    error = inner_cell(record, "response.error")
    # promptfoo says of a failed assertion, too, what is wrong: 2 is an error of the model
    if record.get("failureReason") == 2 or "success" not in record:
        error = error or record.get("error")
    return Row(
        place=place,
        ids=tuple(filter(None, [_first_text(record, layout.item)])),
        respondent=_first_text(record, layout.respondent),
        question=_first_text(record, layout.question),
        key=_numbered_key(key, options) if layout.options else key,
        options=tuple(map(str, options)) if len(options) > 1 else (),
        answer=Response(answer, "error", str(error)) if error else Response(answer),
        score=next(iter(scores.values()), None),
        scores=scores,
        judge=judge,
    )


def _first_text(record: Record, paths: Sequence[str]) -> str:
    cells = (inner_cell(record, path) for path in paths)
    return _text(next((cell for cell in cells if cell not in (None, "")), ""))


def _numbered_key(key: str, options: Sequence[object]) -> str:
    """The right answer that is named by its number among the options."""
    numbers = parse_value(key) if key else None
    if isinstance(numbers, list):
        numbers = numbers[0] if len(numbers) == 1 else None
    if not isinstance(numbers, int) or not 0 <= numbers < len(options):
        return ""
    return LETTERS[numbers] if len(options) > 1 else str(options[numbers])


def _scores_of(record: Record, layout: _Layout) -> tuple[dict[str, float], str]:
    """Every score of a row, and the judge where one model gave them all."""
    members: list[tuple[str, object]] = []
    judges = set()
    for path in layout.scores:
        cell = record if path == _ALL else inner_cell(record, path)
        if isinstance(cell, list):
            for member in objects_in(cell):
                score_name = member.get("name") or member.get("key") or "score"
                members.append((str(score_name), member.get("score")))
                judges.add(str(member.get("evaluationModel") or ""))
        elif isinstance(cell, Mapping):
            members += cell.items()
        else:
            members.append((path.rpartition(".")[2], cell))
    texts = {*layout.answer, *layout.question, *layout.key, *layout.item}
    scores: dict[str, float] = {}
    for name, value in members:
        score = None if name in texts else number(value)
        if score is not None:
            scores[str(name)] = score
    return scores, judges.pop() if len(judges) == 1 else ""


def _text(cell: object) -> str:
    """A cell as a text: of an object with one member that member, or what it is called for; of the
    turns of a conversation the last of the user's.
    """
    if isinstance(cell, list):
        members = objects_in(cell)
        turns = [member.get("content") for member in members if member.get("role") == "user"]
        texts = [str(member.get("text", "")) for member in members if member.get("type") == "text"]
        if turns or texts:
            return _text(turns[-1]) if turns else "\n".join(texts)
    if isinstance(cell, Mapping):
        for name in ("answer", "output", "response", "question", "input"):
            if name in cell:
                return _text(cell[name])
        if len(cell) == 1:
            return _text(next(iter(cell.values())))
    if isinstance(cell, Mapping | list):
        return json.dumps(cell, ensure_ascii=False)
    return "" if cell is None else str(cell)
