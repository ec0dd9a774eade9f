"""Import of labels from other tools: Label Studio, Potato, Argilla, Mechanical Turk and CSV.

A label belongs to the answer whose uid its task has, and to nothing else.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hqm.errors import DataError, UsageError
from hqm.files.records import located_records, read_json
from hqm.imports.intake import take_rows
from hqm.imports.row import name_in
from hqm_label.label_export import CANNOT_SAY_WORD, LAYOUTS
from hqm_label.label_schema import Schema, read_schema
from hqm_label.label_store import LABEL, NOTE, Label, LabelStore
from hqm_label.study_plan import LabelPlan, check_raters, labels_path, read_plan


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedLabels:
    """The number of labels in another tool's file, and their raters."""

    labels: int
    undecided: int
    raters: tuple[str, ...]
    already_stored: int = 0
    """Labels that the study had already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _ToolLabel:
    """A label as a tool wrote it."""

    uid: str
    rater: str
    value: Any
    seconds: float | None = None
    note: str = ""
    location: str = ""


Columns = Mapping[str, str]
"""What is meant -> the field that the user says it stands in (`--columns`)."""
_COLUMN_NAMES = ("uid", "label", "rater", "seconds", "note")


def import_labels(
    path: Path,
    layout: str,
    plan_path: Path,
    columns: Mapping[str, str] | None = None,
    values: Mapping[str, str] | None = None,
) -> ImportedLabels:
    """Import labels from another tool's file into a plan.

    Parameters
    ----------
    layout
        One of `LAYOUTS`, or `csv`.
    columns
        `uid`, `label`, `rater`, `seconds`, `note` -> the field that holds it; where the layout
        nests fields, the question's name is that of the label.
    values
        What the tool's words mean; the schema's values, keys and words unless given.

    Raises
    ------
    UsageError
        A layout or a column is not known.
    DataError
        A row cannot be read, names a uid that the plan does not have, or says what the schema does
        not know. Nothing is then stored.
    """
    columns = columns or {}
    _check_names(layout, columns)
    plan = read_plan(plan_path)
    schema = read_schema(plan.schema, plan_path.parent)
    meanings = _meanings(schema, values or {})
    try:
        labels = list(_READERS[layout](path, columns))
    except (AttributeError, KeyError, TypeError) as error:
        raise DataError(
            f"it is not as {layout} writes labels: {error}",
            location=str(path),
            remedy="Export them again, or write a table and leave out --layout.",
        ) from None
    imported: list[tuple[_ToolLabel, Any]] = []
    for tool_label in labels:
        _check_planned(tool_label, plan)
        imported.append((tool_label, _value(tool_label, meanings)))
    # an empty label says that a rater did not decide, unless all of them are
    if all(tool_label.value in (None, "") for tool_label in labels):
        raise DataError(
            "it holds no label",
            location=str(path),
            remedy="Export the annotations, not the tasks, or name their field: --columns"
            " label=NAME.",
        )
    check_raters({*plan.raters, *_stored_raters(plan_path), *(label.rater for label in labels)})
    _check_agreement(imported)
    return ImportedLabels(
        labels=len(imported),
        undecided=sum(value is None for _, value in imported),
        raters=tuple(dict.fromkeys(tool_label.rater for tool_label, _ in imported)),
        already_stored=len(imported) - _store_new(imported, labels_path(plan_path)),
    )


def _check_names(layout: str, columns: Columns) -> None:
    """Refuse an unknown layout or column."""
    layouts = ("csv", *LAYOUTS)
    if layout not in layouts:
        raise UsageError(
            f"there is no layout {layout!r}",
            remedy=f"There are {', '.join(layouts)}.",
            name=layout,
            choices=layouts,
        )
    for column in columns:
        if column not in _COLUMN_NAMES:
            raise UsageError(
                f"labels have no {column!r}",
                remedy=f"There are {', '.join(_COLUMN_NAMES)}.",
                name=column,
                choices=_COLUMN_NAMES,
            )


def _check_planned(tool_label: _ToolLabel, plan: LabelPlan) -> None:
    """Refuse a label of an answer that the plan does not have."""
    if tool_label.uid not in plan.by_uid:
        raise DataError(
            f"the plan has no answer {tool_label.uid!r}",
            location=tool_label.location,
            remedy="Name the plan that the tasks were made from.",
        )


def _check_agreement(imported: Sequence[tuple[_ToolLabel, Any]]) -> None:
    """Refuse two different labels of one answer by one rater."""
    values: dict[tuple[str, str], Any] = {}
    for tool_label, value in imported:
        if values.setdefault((tool_label.uid, tool_label.rater), value) != value:
            raise DataError(
                f"{tool_label.rater} says two things of {tool_label.uid}",
                location=tool_label.location,
                remedy="Keep the label that the rater gave last.",
            )


def _stored_raters(plan_path: Path) -> set[str]:
    """The raters of whom the study has labels."""
    path = labels_path(plan_path)
    if not path.is_file():
        return set()
    with LabelStore(path, readonly=True) as store:
        return {label.rater for label in store.labels() if label.by != "adjudication"}


def _store_new(imported: Sequence[tuple[_ToolLabel, Any]], path: Path) -> int:
    """Store the labels that the study does not have yet, and return their number."""
    with LabelStore(path) as store:
        stored = {
            (label.uid, label.rater): (label.label, label.note)
            for label in store.labels()
            if label.by != "adjudication"
        }
        new_labels = []
        for tool_label, value in imported:
            if stored.get((tool_label.uid, tool_label.rater)) == (value, tool_label.note):
                continue
            milliseconds = None
            if tool_label.seconds is not None:
                milliseconds = round(tool_label.seconds * 1000)
            label = Label(
                uid=tool_label.uid,
                rater=tool_label.rater,
                values={LABEL: value} | ({NOTE: tool_label.note} if tool_label.note else {}),
                milliseconds=milliseconds,
                time=time.time(),
                by="import",
            )
            new_labels.append(label)
        # together: each label apart is written to the disk, which takes milliseconds
        store.add_all(new_labels)
    return len(new_labels)


def _meanings(schema: Schema, values: Mapping[str, str]) -> dict[str, Any]:
    """Map each word a tool may use, in lower case, to the schema's value."""
    meanings: dict[str, Any] = dict.fromkeys((CANNOT_SAY_WORD, "?", ""))
    meanings |= {str(value).lower(): value for value in schema.values}
    # the choices of single facts are no grades
    for choice in schema.choices if schema.kind != "facts" else ():
        meanings[choice.text.strip().lower()] = choice.value
    # apart from the schema's own, so that a code that it has too may be turned round
    named: dict[str, Any] = {}
    for word, value in values.items():
        if value.lower() not in meanings:
            value_names = ", ".join(map(str, schema.values))
            raise UsageError(
                f"the schema {schema.name} has no value {value!r}", remedy=f"It has {value_names}."
            )
        meaning = meanings[value.lower()]
        if named.setdefault(word.lower(), meaning) != meaning:
            raise UsageError(f"--values names {word!r} twice", remedy="Keep one of the two.")
    return meanings | named


def _value(imported: _ToolLabel, meanings: Mapping[str, Any]) -> Any:
    word = str(imported.value if imported.value is not None else "").strip().lower()
    # a table read as numbers writes the label 1 as 1.0
    word = word.removesuffix(".0") if word not in meanings else word
    if word not in meanings:
        raise DataError(
            f"{imported.value!r} is no label of the schema",
            location=imported.location,
            remedy=f"Say what it means: --values '{imported.value}=...'.",
        )
    return meanings[word]


def _rater_name(value: Any, location: str) -> str:
    """Return a rater's name from a tool's user: a name, a number or an object."""
    if isinstance(value, Mapping):
        value = next(
            (
                value[name]
                for name in ("email", "username", "id")
                if value.get(name) not in (None, "")
            ),
            None,
        )
    if value is None or not str(value).strip():
        raise DataError(
            "it does not say who labelled",
            location=location,
            remedy="Name its field: --columns rater=NAME.",
        )
    return name_in({"rater": value}, "rater", location).strip()


def _seconds(value: Any, location: str) -> float | None:
    if value in (None, ""):
        return None
    try:
        seconds = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        seconds = math.nan
    if not 0 <= seconds < 1e9:
        raise DataError(
            f"the seconds are {value!r:.40}", location=location, remedy="Write a number of seconds."
        )
    return seconds


def _field(
    record: Mapping[str, Any],
    columns: Columns,
    column: str,
    default_fields: Sequence[str],
    location: str,
) -> Any:
    """Return the value of the field that the user names, else of the first default field that is
    filled.
    """
    if column not in columns:
        return next(
            (record[name] for name in default_fields if record.get(name) not in (None, "")), None
        )
    if columns[column] not in record:
        raise DataError(
            f"there is no field {columns[column]!r} for the {column} (there are"
            f" {', '.join(map(repr, record))})",
            location=location,
            remedy="Correct --columns.",
        )
    return record[columns[column]]


def _row(
    record: Mapping[str, Any],
    columns: Columns,
    location: str,
    default_fields: Mapping[str, Sequence[str]],
) -> _ToolLabel:
    """A label from a flat row."""
    content = {
        column: _field(record, columns, column, default_fields[column], location)
        for column in _COLUMN_NAMES
    }
    for column in ("uid", "rater"):
        if content[column] in (None, ""):
            raise DataError(
                f"it does not say the {column}",
                location=location,
                remedy=f"Name its field: --columns {column}=NAME (there are {', '.join(record)}).",
            )
    return _ToolLabel(
        uid=str(content["uid"]),
        rater=_rater_name(content["rater"], location),
        value=content["label"],
        seconds=_seconds(content["seconds"], location),
        note=str(content["note"] or ""),
        location=location,
    )


def _from_csv(path: Path, columns: Columns) -> Iterator[_ToolLabel]:
    default_fields = {
        "uid": ("uid", "id"),
        "rater": ("rater", "annotator", "user"),
        "label": ("label",),
        "seconds": ("seconds",),
        "note": ("note",),
    }
    for location, record in take_rows(path, columns=columns).located():
        if "label" not in columns and "label" not in record:
            raise DataError(
                "there is no field 'label'",
                location=location,
                remedy="Name it: --columns label=NAME.",
            )
        yield _row(record, columns, location, default_fields)


def _from_mturk(path: Path, columns: Columns) -> Iterator[_ToolLabel]:
    """Assignments that were not rejected.

    Answers stand in `Answer.label`, in a column `Answer.label.VALUE` for each choice, or as JSON in
    `Answer.taskAnswers`.
    """
    default_fields = {
        "uid": ("Input.uid",),
        "rater": ("WorkerId",),
        "label": ("Answer.label",),
        "seconds": ("WorkTimeInSeconds",),
        "note": ("Answer.note",),
    }
    for location, record in take_rows(path, columns=columns).located():
        # a rejected assignment was not accepted as work: its answer is no label
        if str(record.get("AssignmentStatus", "")).lower() == "rejected":
            continue
        if "Answer.label" not in record and "label" not in columns:
            record = {**record, "Answer.label": _turker_choice(record, location)}
        yield _row(record, columns, location, default_fields)


def _turker_choice(record: Mapping[str, Any], location: str) -> Any:
    """Read the choice of an assignment from its JSON, or from a column for each choice."""
    if record.get("Answer.taskAnswers"):
        try:
            (answers,) = json.loads(str(record["Answer.taskAnswers"]))
            choice = answers["label"]
        except (ValueError, KeyError, TypeError):
            raise DataError(
                "its task answers have no `label`",
                location=location,
                remedy="Use the layout of the export.",
            ) from None
        if isinstance(choice, Mapping) and isinstance(choice.get("label"), str):  # crowd-classifier
            return choice["label"]
        if isinstance(choice, Mapping):
            return _only_choice(choice, location)
        return choice
    prefix = "Answer.label."
    return _only_choice(
        {
            name.removeprefix(prefix): selected
            for name, selected in record.items()
            if name.startswith(prefix)
        },
        location,
    )


def _only_choice(choices: Mapping[str, Any], location: str) -> Any:
    """Return the selected choice, or an empty string.

    Raises
    ------
    DataError
        Several are: nobody knows which one was meant.
    """
    selected = [
        name
        for name, content in choices.items()
        if content is not None and str(content).lower() not in ("", "false")
    ]
    if len(selected) > 1:
        raise DataError(
            f"several labels are chosen ({', '.join(map(repr, selected))})",
            location=location,
            remedy="Keep the one that the rater chose last.",
        )
    if selected:
        return selected[0]
    return ""


def _from_label_studio(path: Path, columns: Columns) -> Iterator[_ToolLabel]:
    """The export `JSON`: tasks with `data` and `annotations`; a skipped task has no label."""
    tasks = read_json(path)
    label_name = columns.get("label", "label")
    note_name = columns.get("note", "note")
    for i, task in enumerate(tasks if isinstance(tasks, list) else [tasks], 1):
        location = f"{path}: task {i}"
        if not isinstance(task, Mapping) or not isinstance(task.get("data"), Mapping):
            raise DataError(
                "it is no task of Label Studio",
                location=location,
                remedy="Export in the format JSON, not JSON-MIN.",
            )
        uid = _field(task["data"], columns, "uid", ("uid",), location)
        for annotation in task.get("annotations") or ():
            if annotation.get("was_cancelled"):
                continue
            choices: list[Any] = []
            note = ""
            for result in annotation.get("result") or ():
                content = result.get("value") or {}
                if result.get("from_name") == label_name:
                    choices += content.get("choices") or [content.get("rating")]
                elif result.get("from_name") == note_name:
                    note = "\n".join(map(str, content.get("text") or ()))
            yield _ToolLabel(
                uid=str(uid),
                rater=_rater_name(annotation.get("completed_by", ""), location),
                value=_only_choice(dict.fromkeys(choices, True), location),
                seconds=_seconds(annotation.get("lead_time"), location),
                note=note,
                location=location,
            )


_DURATION = re.compile(r"(\d+)\s*([dhms])")


def _from_potato(path: Path, columns: Columns) -> Iterator[_ToolLabel]:
    """Read Potato's file of one rater, its export, or the folder of all raters.

    Potato 2 keeps `RATER/user_state.json` and exports `annotations.jsonl`; Potato 1 keeps
    `RATER/annotated_instances.jsonl`.
    """
    patterns = (
        "*/user_state.json",
        "*/annotated_instances.jsonl",
        "annotations.jsonl",
        "exports/jsonl/annotations.jsonl",
    )
    files = [path]
    if path.is_dir():
        files = next(
            (matches for pattern in patterns if (matches := sorted(path.glob(pattern)))), []
        )
    for file in files:
        yield from (
            _from_user_state(file, columns)
            if file.name == "user_state.json"
            else _from_instances(file, columns)
        )


def _from_user_state(path: Path, columns: Columns) -> Iterator[_ToolLabel]:
    """Potato 2: `instance_id_to_label_to_value`, with what was measured in
    `instance_id_to_behavioral_data`.
    """
    state = read_json(path)
    if isinstance(state, Mapping):
        labels = state.get("instance_id_to_label_to_value")
    else:
        labels = None
    if not isinstance(labels, Mapping):
        raise DataError(
            "it has no instance_id_to_label_to_value",
            location=str(path),
            remedy="Take user_state.json, or the folder of all raters.",
        )
    behaviour = state.get("instance_id_to_behavioral_data") or {}
    rater = str(state.get("user_id") or path.absolute().parent.name)
    for uid, content in labels.items():
        yield _potato_label(
            str(uid), rater, content, behaviour.get(uid) or {}, columns, f"{path}: {uid}"
        )


def _from_instances(path: Path, columns: Columns) -> Iterator[_ToolLabel]:
    """A record for each answer, with `label_annotations` (Potato 1) or `labels` (exported by Potato
    2).
    """
    for location, record in located_records(path):
        content = record.get("label_annotations", record.get("labels"))
        if not isinstance(content, Mapping):
            raise DataError(
                "it has no label_annotations and no labels",
                location=location,
                remedy=(
                    "Take user_state.json, annotated_instances.jsonl or annotations.jsonl, or the"
                    " folder of all raters."
                ),
            )
        rater = record.get("user_id") or record.get("user") or path.absolute().parent.name
        uid = record.get(columns.get("uid", "id"), record.get("instance_id"))
        yield _potato_label(
            str(uid), str(rater), content, record.get("behavioral_data") or {}, columns, location
        )


def _potato_label(
    uid: str,
    rater: str,
    content: Any,
    behaviour: Mapping[str, Any],
    columns: Columns,
    location: str,
) -> _ToolLabel:
    label_scheme, note_scheme = columns.get("label", "label"), columns.get("note", "note")
    choices, notes = _scheme_values(content, label_scheme), _scheme_values(content, note_scheme)
    changes = [
        change
        for change in behaviour.get("annotation_changes") or ()
        if change.get("schema_name") == label_scheme
    ]
    latest = [
        str(change.get("label_name")) for change in changes if change.get("action") == "select"
    ]
    # versions before the one that mends it keep the choices that a rater took back
    if len(choices) > 1 and latest and latest[-1] in choices:
        choices = {latest[-1]: True}
    return _ToolLabel(
        uid=uid,
        rater=_rater_name(rater, location),
        value=_only_choice(choices, location),
        seconds=_potato_seconds(behaviour),
        note=" ".join(str(text) for text in notes.values() if text),
        location=location,
    )


def _scheme_values(content: Any, scheme: str) -> dict[str, Any]:
    """Return name -> value of an annotation scheme, from any of Potato's three layouts."""
    if isinstance(content, Mapping):
        scheme_content = content.get(scheme) or {}
        if isinstance(scheme_content, Mapping):
            scheme_content = scheme_content
        else:
            scheme_content = {str(scheme_content): True}
        if isinstance(scheme_content.get("labels"), Mapping):
            return dict(scheme_content["labels"])
        return dict(scheme_content)
    pairs = [
        pair
        for pair in content or ()
        if isinstance(pair, Sequence) and len(pair) == 2 and isinstance(pair[0], Mapping)
    ]
    return {
        str(label.get("name")): value for label, value in pairs if label.get("schema") == scheme
    }


def _potato_seconds(behaviour: Mapping[str, Any]) -> float | None:
    if isinstance(behaviour.get("total_time_ms"), (int, float)):
        return float(behaviour["total_time_ms"]) / 1000
    durations = {
        unit: int(count)
        for count, unit in _DURATION.findall(str(behaviour.get("time_string") or ""))
    }
    seconds = sum(
        durations.get(unit, 0) * size
        for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))
    )
    if durations:
        return float(seconds)
    return None


def _from_argilla(path: Path, columns: Columns) -> Iterator[_ToolLabel]:
    """Records with `responses`: question -> a list of `value` and `user_id`, as Argilla 2 writes
    them.

    Argilla writes drafts like submitted responses; where a record keeps their `status`, only the
    submitted ones are taken.
    """
    label_question, note_question = columns.get("label", "label"), columns.get("note", "note")
    for location, record in located_records(path):
        responses = record.get("responses")
        if not isinstance(responses, Mapping):
            raise DataError(
                "it has no responses",
                location=location,
                remedy="Export with `dataset.records(with_responses=True).to_json`.",
            )
        notes = {
            _rater_name(note.get("user_id", ""), location): str(note.get("value") or "")
            for note in responses.get(note_question) or ()
        }
        for response in responses.get(label_question) or ():
            if response.get("status", "submitted") != "submitted":
                continue
            rater = _rater_name(response.get("user_id", ""), location)
            yield _ToolLabel(
                uid=str(record.get(columns.get("uid", "id"))),
                rater=rater,
                value=response.get("value"),
                note=notes.get(rater, ""),
                location=location,
            )


_READERS: Mapping[str, Callable[[Path, Columns], Iterator[_ToolLabel]]] = {
    "csv": _from_csv,
    "label-studio": _from_label_studio,
    "potato": _from_potato,
    "argilla": _from_argilla,
    "mturk": _from_mturk,
}
