"""Make the folder of a new benchmark: card, items, pictures, README, policy, CI workflow.

The items come from a CSV file and a folder of pictures, or are a few drawn ones that the embedded respondents can answer.
"""

from __future__ import annotations

import csv
import importlib
import io
import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np

from hqm.auditing.gate import default_text
from hqm.benchmark.items import hallucination_type
from hqm.errors import DataError, ImageError, UsageError
from hqm.files.names import safe_name
from hqm.files.records import read_text
from hqm.psychometrics.weights import stream
from hqm.types import Task

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "item", "item_id", "question_id", "qid"),
    "prompt": ("prompt", "question", "query", "text"),
    "target": ("target", "answer", "label", "truth", "right_answer", "ground_truth"),
    "image": ("image", "picture", "img", "image_path", "file", "filename", "file_name"),
    "type": ("type", "category", "hallucination_type"),
    "options": ("options", "choices"),
    "part": ("part", "split", "subset"),
    "cluster": ("cluster", "group"),
}
"""The fields of an item, and the names of columns that are taken for each; letter case and spaces do not matter."""

_SCENES = 4


@dataclass(frozen=True, slots=True)
class Made:
    """What was written."""

    folder: Path
    task: Task
    items: int
    pictures: int
    missing: tuple[str, ...]
    """Pictures that the items name and the folder of pictures lacks."""


@dataclass(frozen=True, slots=True)
class About:
    """What the card is to say beyond the items."""

    title: str = ""
    licence: str = ""
    citation: str = ""
    summary: str = ""


def new(
    folder: Path,
    questions: Path | None = None,
    images: Path | None = None,
    task: str | None = None,
    about: About | None = None,
) -> Made:
    """Write the folder of a new benchmark.

    Parameters
    ----------
    folder
        Where; its last part, in lower case, is the benchmark's name. It must not exist, or be empty.
    questions
        A CSV file with a heading (`COLUMNS` says which); sample items without one.
    images
        The folder that the CSV file's pictures are named from; the file's own folder unless given.
    task
        `yes_no`, `choice`, `vqa` or `caption`; told from the answers and options unless given.

    Raises
    ------
    UsageError
        The folder is there already, its name cannot be a benchmark's, or the task is unknown.
    DataError
        The CSV file cannot be read, or has no column of questions.
    """
    name = re.sub(r"\W+", "_", folder.resolve().name.lower()).strip("_")
    if not re.fullmatch(r"[a-z0-9][a-z0-9_]*", name):
        raise UsageError(f"{folder.name!r} cannot be a benchmark's name", remedy="Use letters, digits and underscores.")
    if task is not None and task not in get_args(Task):
        raise UsageError(f"there is no task {task!r}", remedy=f"The tasks are {', '.join(get_args(Task))}.")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError("it is there already", place=str(folder), remedy="Name a folder that is new or empty.")
    if questions is None and images is not None:
        raise UsageError("pictures without questions", place=str(images), remedy="Name a CSV file with --from.")
    about = about or About()
    if questions is not None:
        rows = read_questions(questions)
        chosen = cast(Task, task) if task else task_of(rows)
        folder.mkdir(parents=True, exist_ok=True)
        copied, missing = _copy(rows, images or questions.parent, folder / "images")
        respondents: tuple[str, ...] = ()
    else:
        chosen = cast(Task, task) if task else "yes_no"
        folder.mkdir(parents=True, exist_ok=True)
        rows, respondents = _samples(chosen, folder / "images")
        copied, missing = _SCENES, ()
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (folder / "items.jsonl").write_text(lines, encoding="utf-8")
    (folder / "card.toml").write_text(_card(name, chosen, rows, about, respondents), encoding="utf-8")
    (folder / "README.md").write_text(_readme(name, chosen, rows, about, copied), encoding="utf-8")
    (folder / "policy.toml").write_text(default_text(), encoding="utf-8")
    (folder / ".gitignore").write_text("out/\n", encoding="utf-8")
    workflow = folder / ".github" / "workflows" / "hqm.yml"
    workflow.parent.mkdir(parents=True)
    workflow.write_text(_template("workflow.yml"), encoding="utf-8")
    return Made(folder, chosen, len(rows), copied, missing)


def read_questions(path: Path) -> list[dict[str, Any]]:
    """The items of a CSV file, with commas, semicolons or tabs; empty cells are left out, an id is given where none is.

    What is wrong with single items is left to `hqm check`, which names their lines.
    """
    text = read_text(path)
    heading = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=heading.count)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        fields = list(reader.fieldnames or ())
    except csv.Error as error:
        raise DataError(f"it is no CSV: {error}", place=f"{path}:1") from None
    normal = {re.sub(r"[\s-]+", "_", str(field).strip().lower()): field for field in fields}
    columns = {ours: next((normal[name] for name in names if name in normal), None) for ours, names in COLUMNS.items()}
    if columns["prompt"] is None:
        raise DataError(
            f"no column has the questions (there are {', '.join(map(repr, fields)) or 'none'})",
            place=f"{path}:1",
            remedy="Call it question.",
        )
    twice = [field for field in fields if fields.count(field) > 1]
    if twice:
        raise DataError(f"the column {twice[0]!r} stands twice", place=f"{path}:1", remedy="Rename one of the two.")
    rows: list[dict[str, Any]] = []
    for number, record in enumerate(_records(reader, path), 1):
        if None in record or None in record.values():
            raise DataError(f"the row does not have {len(fields)} fields", place=f"{path}:{reader.line_num}")
        values = {ours: record[theirs].strip() for ours, theirs in columns.items() if theirs is not None}
        if any(values.values()):
            rows.append({"id": f"q{number:04}", **{key: value for key, value in values.items() if value}})
    if not rows:
        raise DataError("it has no questions", place=str(path), remedy="Write one in a row below the heading.")
    for row in rows:
        if "options" in row:
            row["options"] = [part.strip() for part in row["options"].split("|")]
    return rows


def _records(reader: csv.DictReader[str], path: Path) -> Iterator[dict[str, str]]:
    try:
        yield from reader
    except csv.Error as error:
        raise DataError(f"it is no CSV: {error}", place=f"{path}:{reader.line_num}") from None


def task_of(rows: Sequence[Mapping[str, Any]]) -> Task:
    """The task that answers and options speak of.

    >>> task_of([{"target": "Yes"}, {"target": "no"}]), task_of([{"target": "red"}]), task_of([{}])
    ('yes_no', 'vqa', 'caption')
    """
    if any("options" in row for row in rows):
        return "choice"
    targets = [str(row["target"]).lower() for row in rows if "target" in row]
    if not targets:
        return "caption"
    # one slip of the pen must not make a yes/no benchmark one of short answers
    return "yes_no" if sum(target in ("yes", "no") for target in targets) > 0.5 * len(targets) else "vqa"


def _copy(rows: Sequence[Mapping[str, Any]], source: Path, target: Path) -> tuple[int, tuple[str, ...]]:
    names = list(dict.fromkeys(str(row["image"]) for row in rows if "image" in row))
    missing = []
    target.mkdir(parents=True, exist_ok=True)
    for name in names:
        try:
            inside = safe_name(name)
        except ImageError:
            missing.append(name)
            continue
        if not (source / inside).is_file():
            missing.append(name)
            continue
        (target / inside).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / inside, target / inside)
    return len(names) - len(missing), tuple(missing)


def _samples(task: Task, images: Path) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """Two questions about each of four drawn pictures, and the embedded respondents, which can answer them."""
    scenes = importlib.import_module("hqm.benchmarks.shapes.scene")
    asked = importlib.import_module("hqm.benchmarks.shapes.questions")
    registry = importlib.import_module("hqm.benchmark.registry")
    rng: np.random.Generator = stream(0, "scaffold")
    images.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    for k in range(_SCENES):
        scene, name = scenes.random_scene(rng), f"sample-{k + 1}.png"
        scenes.draw(scene).save(images / name)
        for j, kind in enumerate(("existence", "counting")):
            row: dict[str, Any] = {"id": f"q{len(rows) + 1:04}", "image": name, "type": kind}
            if task == "caption":
                rows.append({**row, "prompt": asked.INSTRUCTIONS[j], "target": scene.things[0].name})
                continue
            question = None
            while question is None:
                if task == "yes_no":
                    question = asked.yes_no(scene, kind, bool((k + j) % 2), rng)
                else:
                    question = (asked.choice if task == "choice" else asked.open_question)(scene, kind, rng)
            answer: Any = question.answer
            if task == "vqa" and kind == "existence":
                answer = [shape for shape in question.options if shape in question.answer]
            row |= {"prompt": question.text, "target": answer}
            rows.append({**row, "options": list(question.options)} if task == "choice" else row)
    return rows, tuple(registry.card("shapes_yesno").respondents.embedded)


def _types(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The types that the items name and HQM knows; the others are for `hqm check` to say."""
    types = []
    for row in rows:
        try:
            types.append(hallucination_type(row.get("type")))
        except DataError:
            continue
    return list(dict.fromkeys(kind for kind in types if kind))


def _card(name: str, task: Task, rows: Sequence[Mapping[str, Any]], about: About, respondents: Sequence[str]) -> str:
    types = _types(rows)
    lines = [
        f"name = {_toml(name)}",
        f"title = {_toml(about.title or _title(name))}",
        'version = "1.0.0"            # change it whenever the items change',
        f"task = {_toml(task)}",
        f"summary = {_toml(about.summary)}                # one sentence: what is measured?",
        f"types = {_toml(types)}",
        f"labelled = {_toml(bool(types))}",
        f"citation = {_toml(about.citation)}",
        f"licence = {_toml(about.licence)}",
        "",
        "[data]",
        'items = "items.jsonl"',
        'images = "images"',
    ]
    if respondents:
        lines += ["", "[respondents]          # the sample items' own; leave them out with your own items"]
        lines += [f"embedded = {_toml(list(respondents))}"]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    # strings, lists of strings and booleans are written alike in JSON and TOML
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _title(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _readme(name: str, task: Task, rows: Sequence[Mapping[str, Any]], about: About, pictures: int) -> str:
    return _template("README.md").format(
        title=about.title or _title(name),
        summary=about.summary or "What is measured, in one sentence.",
        task=task,
        items=len(rows),
        pictures=pictures,
        types=", ".join(_types(rows)) or "not labelled",
        licence=about.licence or "not chosen yet",
        citation=about.citation or "not written yet",
    )


def _template(name: str) -> str:
    return resources.files("hqm.commands").joinpath("templates", name).read_text("utf-8")
