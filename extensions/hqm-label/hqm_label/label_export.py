"""The labels of a study as a CSV file for `hqm audit --criterion`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from hqm.errors import UsageError
from hqm.files.dialect import csv_text
from hqm_label.label_schema import Schema, Sentence, read_schema, stage_labels
from hqm_label.label_store import Label, LabelStore
from hqm_label.rater_view import RaterPage, benchmark_of, rater_pages, visible
from hqm_label.study_plan import ADJUDICATION, labels_path, read_plan

_COLUMNS = (
    "item",
    "respondent",
    "form",
    "run",
    "answer_digest",
    "rater",
    "label",
    "probability",
    "schema",
    "seconds",
    "uid",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedLabels:
    """The file, and what it holds."""

    text: str
    labels: int
    answers: int
    raters: tuple[str, ...]


def export_labels(path: Path) -> ExportedLabels:
    """Write the labels of a plan as CSV, one row per rater and answer.

    Adjudicated labels stand under the rater `adjudication`.

    Where facts were labelled, the column `stages` says what the rater said of every part and fact.

    Raises
    ------
    UsageError
        The study reviews items: its result is a corrected items file.
    StoreError
        There are no labels yet.
    """
    plan = read_plan(path)
    schema = read_schema(plan.schema, path.parent)
    if schema.reviews_items:
        raise UsageError(
            "a review of items has no labels of answers",
            remedy="Its result is a corrected items file.",
        )
    with LabelStore(labels_path(path), readonly=True) as store:
        labels = [label for label in store.labels() if label.uid in plan.by_uid]
    has_facts = schema.kind == "facts"
    lines: list[Sequence[object]] = [[*_COLUMNS, "stages"] if has_facts else _COLUMNS]
    # a dict keeps the order in which raters first appear
    raters: dict[str, None] = {}
    for label in labels:
        row = plan.by_uid[label.uid]
        rater = ADJUDICATION if label.by == "adjudication" else label.rater
        raters[rater] = None
        share = schema.share(label.label)
        lines.append(
            [
                row.item,
                row.respondent,
                row.form,
                row.run,
                row.answer_digest,
                rater,
                # 17 digits give the same float again when they are read
                "" if share is None else f"{share:.17g}",
                "" if row.probability is None else f"{row.probability:.17g}",
                schema.name,
                "" if label.milliseconds is None else f"{label.milliseconds / 1000:g}",
                row.uid,
                *([_stages(label)] if has_facts else []),
            ]
        )
    return ExportedLabels(
        text=csv_text(lines),
        labels=len(labels),
        answers=len({label.uid for label in labels}),
        raters=tuple(raters),
    )


def _stages(label: Label) -> str:
    stages = stage_labels(
        [Sentence.from_dict(sentence) for sentence in label.values.get("sentences", ())]
    )
    if stages:
        return json.dumps(stages, ensure_ascii=False)
    return ""


# --- the answers of a plan as tasks of other labelling tools ---
#
# Label Studio, Potato, Argilla, Mechanical Turk.
#
# A task names an answer by its uid and nobody's name, and so do the names of its pictures.

CANNOT_SAY_WORD = "cannot say"
"""What stands for `cannot say` in the files of other tools, which have no such choice of their
own.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedTasks:
    """The files that another tool takes: its tasks, its settings, the pictures."""

    files: Mapping[Path, str | bytes]
    tasks: int
    documents: tuple[Path, ...]
    """The files that are no pictures."""


def export_tasks(path: Path, layout: str, to: Path, pictures: str | None = None) -> ExportedTasks:
    """Write the answers of a plan as tasks of another tool, in the plan's order.

    Parameters
    ----------
    layout
        One of `LAYOUTS`.
    to
        The file of the tasks. Pictures go into a folder beside it, under the uid of their answer;
        settings, where the tool has some, into a second file.
    pictures
        What the tool writes before a picture's file name; the folder's name unless given.
    """
    plan = read_plan(path)
    schema = read_schema(plan.schema, path.parent)
    benchmark = benchmark_of(plan)
    pages = rater_pages(plan, schema, benchmark)
    folder = f"{to.stem}_pictures"
    picture_prefix = f"{folder}/" if pictures is None else pictures
    files: dict[Path, str | bytes] = {}
    tasks = []
    for row in plan.rows:
        task = _task(pages[row.uid], schema)
        image = pages[row.uid].image
        if image is not None:
            source = benchmark.pictures.path(image)
            name = f"{row.uid}{source.suffix.lower()}"
            files[to.parent / folder / name] = source.read_bytes()
            task["image"] = f"{picture_prefix}{name}"
        tasks.append(task)
    documents = {
        to.parent / name: text for name, text in _WRITERS[layout](tasks, schema, to).items()
    }
    return ExportedTasks(files={**documents, **files}, tasks=len(tasks), documents=tuple(documents))


def _task(page: RaterPage, schema: Schema) -> dict[str, Any]:
    options = "\n".join(f"{letter}. {text}" for letter, text in page.options)
    question = f"{page.question}\n{options}" if options else page.question
    task = {"uid": page.uid, "question": visible(question), "asked": schema.question}
    if schema.reviews_items:
        return {**task, "answer": visible(page.key), "original": visible(page.original)}
    return {**task, "answer": visible(page.answer)}


def _choices(schema: Schema) -> list[tuple[str, str]]:
    """(value, words) of everything that a rater may say."""
    if schema.kind not in ("choice", "review"):
        raise UsageError(
            f"the schema {schema.name!r} is more than a choice, which other tools are not given",
            remedy="Collect such labels with `hqm label serve`, or plan with binary or likert.",
        )
    return [
        *((str(choice.value), choice.text) for choice in schema.choices),
        (CANNOT_SAY_WORD, "Cannot say"),
    ]


def _label_studio(tasks: Sequence[Mapping[str, Any]], schema: Schema, to: Path) -> dict[str, str]:
    """Tasks with their `data`, and the labelling interface as XML (labelstud.io/guide/task_format,
    labelstud.io/tags/choices).
    """
    if any("image" in task for task in tasks):
        picture = '  <Image name="picture" value="$image" zoom="true"/>\n'
    else:
        picture = ""
    choices = "".join(
        f"    <Choice alias={quoteattr(value)} value={quoteattr(words)}"
        f" hotkey={quoteattr(str(i))}/>\n"
        for i, (value, words) in enumerate(_choices(schema), 1)
    )
    config = (
        "<View>\n"
        f"{picture}"
        f"  <Header value={quoteattr(schema.question)}/>\n"
        '  <Text name="question" value="$question"/>\n'
        '  <Text name="answer" value="$answer"/>\n'
        f'  <Choices name="label" toName="answer" choice="single" required="true">\n{choices} '
        " </Choices>\n"
        '  <TextArea name="note" toName="answer" placeholder="Note" required="false"/>\n'
        "</View>\n"
    )
    data = [{"data": dict(task)} for task in tasks]
    return {to.name: _json_text(data), f"{to.stem}_config.xml": config}


def _potato(tasks: Sequence[Mapping[str, Any]], schema: Schema, to: Path) -> dict[str, str]:
    """Instances as JSON lines with `id` and `text`, and the project's settings
    (github.com/davidjurgens/potato, docs/configuration).
    """
    lines = []
    for task in tasks:
        line = {"id": task["uid"], "text": f"{task['question']}\n\n{task['answer']}", **task}
        del line["uid"]
        lines.append(line)
    settings = {
        "annotation_task_name": schema.title or schema.name,
        "task_dir": ".",
        "output_annotation_dir": "annotation_output",
        "data_files": [to.name],
        "item_properties": {"id_key": "id", "text_key": "text"},
        "annotation_schemes": [
            {
                "annotation_type": "radio",
                "name": "label",
                "description": schema.question,
                "labels": [{"name": value, "tooltip": words} for value, words in _choices(schema)],
            },
            {"annotation_type": "text", "name": "note", "description": "Note"},
        ],
    }
    # JSON is YAML
    return {to.name: _json_lines(lines), f"{to.stem}_config.yaml": _json_text(settings)}


def _argilla(tasks: Sequence[Mapping[str, Any]], schema: Schema, to: Path) -> dict[str, str]:
    """Records as `dataset.records.to_json` writes them, and the settings as `rg.Settings.from_json`
    takes them (Argilla 2).
    """
    records: list[dict[str, Any]] = []
    for task in tasks:
        task_fields = {name: task[name] for name in ("question", "answer", "image") if name in task}
        records.append(
            {
                "id": task["uid"],
                "fields": task_fields,
                "metadata": {},
                "suggestions": {},
                "responses": {},
                "vectors": {},
            }
        )

    def field_settings(name: str, title: str, **settings: Any) -> dict[str, Any]:
        return {"name": name, "title": title, "required": name != "note", "settings": settings}

    labels = [{"value": value, "text": words} for value, words in _choices(schema)]
    pictured = any("image" in task for task in tasks)
    settings = {
        "guidelines": "\n\n".join([schema.question, *schema.guide]),
        "fields": [
            *([field_settings("image", "Picture", type="image")] if pictured else []),
            *(
                field_settings(name, name.capitalize(), type="text", use_markdown=False)
                for name in ("question", "answer")
            ),
        ],
        "questions": [
            field_settings(
                "label",
                schema.question,
                type="label_selection",
                options=labels,
                visible_options=None,
            ),
            field_settings("note", "Note", type="text", use_markdown=False),
        ],
        "metadata": [],
        "vectors": [],
        "allow_extra_metadata": False,
        "distribution": {"strategy": "overlap", "min_submitted": 1},
    }
    return {to.name: _json_text(records), f"{to.stem}_settings.json": _json_text(settings)}


_TURK_COLUMNS = ("uid", "question", "answer", "image")


def _turk_row(task: Mapping[str, Any]) -> tuple[str, ...]:
    """The cells of a task, escaped: the layout puts them into its HTML as they stand."""
    return tuple(escape(str(task.get(name, "")), quote=False) for name in _TURK_COLUMNS)


def _mturk(tasks: Sequence[Mapping[str, Any]], schema: Schema, to: Path) -> dict[str, str]:
    """A batch file for the requester's page, and the page's layout with its variables."""
    # the page puts the cells into its HTML as they stand
    rows = [_TURK_COLUMNS, *map(_turk_row, tasks)]
    radios = "\n".join(
        f'    <label><input type="radio" name="label" value={quoteattr(value)} required>'
        f" {escape(words)}</label>"
        for value, words in _choices(schema)
    )
    if "image" in tasks[0]:
        picture = '  <p><img src="${image}" alt="The picture" style="max-width:100%"></p>\n'
    else:
        picture = ""
    page = (
        "<script"
        f' src="https://assets.crowd.aws/crowd-html-elements.js"></script>\n<crowd-form>\n{picture}'
        "  <p>${question}</p>\n  <p>${answer}</p>\n "
        f" <p><b>{escape(schema.question)}</b></p>\n{radios}\n</crowd-form>\n"
    )
    return {to.name: csv_text(rows), f"{to.stem}_layout.html": page}


def _json_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def _json_lines(values: Sequence[Any]) -> str:
    return "".join(f"{json.dumps(value, ensure_ascii=False)}\n" for value in values)


_WRITERS: Mapping[str, Callable[[Sequence[Mapping[str, Any]], Schema, Path], dict[str, str]]] = {
    "label-studio": _label_studio,
    "potato": _potato,
    "argilla": _argilla,
    "mturk": _mturk,
}
LAYOUTS = tuple(_WRITERS)
"""The tools that tasks can be written for."""
