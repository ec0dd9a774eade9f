"""Import of labels from other tools: Label Studio, Potato, Argilla, Mechanical Turk and CSV.

A label belongs to the answer whose uid its task has, and to nothing else.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hqm.errors import DataError, UsageError
from hqm.files.records import placed_records, read_json
from hqm.imports.row import name_in
from hqm.labels.label_export import CANNOT_SAY_WORD, LAYOUTS
from hqm.labels.label_schema import Schema, read_schema
from hqm.labels.label_store import LabelStore
from hqm.labels.study_plan import LabelPlan, labels_path, read_plan


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenLabels:
    """What another tool's file gave."""

    labels: int
    undecided: int
    raters: tuple[str, ...]
    known: int = 0
    """Labels that the study had already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _ToolLabel:
    """A label as a tool wrote it."""

    uid: str
    rater: str
    value: Any
    seconds: float | None = None
    note: str = ""
    place: str = ""


Columns = Mapping[str, str]
"""What is meant -> the field that the user says it stands in (`--columns`)."""
_MEANT = ("uid", "label", "rater", "seconds", "note")


def import_labels(
    path: Path,
    layout: str,
    plan_path: Path,
    columns: Mapping[str, str] | None = None,
    values: Mapping[str, str] | None = None,
) -> TakenLabels:
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
    known = ("csv", *LAYOUTS)
    if layout not in known:
        raise UsageError(
            f"there is no layout {layout!r}",
            remedy=f"There are {', '.join(known)}.",
            name=layout,
            choices=known,
        )
    for meant in columns or {}:
        if meant not in _MEANT:
            raise UsageError(
                f"labels have no {meant!r}",
                remedy=f"There are {', '.join(_MEANT)}.",
                name=meant,
                choices=_MEANT,
            )
    plan = read_plan(plan_path)
    schema = read_schema(plan.schema, plan_path.parent)
    meaning = _meaning(schema, values or {})
    try:
        labels = list(_READERS[layout](path, columns or {}))
    except (AttributeError, KeyError, TypeError) as error:
        raise DataError(
            f"it is not as {layout} writes labels: {error}",
            location=str(path),
            remedy="Export them again, or write a table and leave out --layout.",
        ) from None
    imported = [(each, _value(each, meaning)) for each in labels if _is_of(each, plan)]
    if not imported:
        raise DataError(
            "it holds no label", location=str(path), remedy="Export the annotations, not the tasks."
        )
    first: dict[tuple[str, str], Any] = {}
    for each, value in imported:
        if first.setdefault((each.uid, each.rater), value) != value:
            raise DataError(
                f"{each.rater} says two things of {each.uid}",
                location=each.place,
                remedy="Keep the label that the rater gave last.",
            )
    with LabelStore(labels_path(plan_path)) as store:
        there = {(label.uid, label.rater): (label.label, label.note) for label in store.labels()}
        new = [
            (each, value)
            for each, value in imported
            if there.get((each.uid, each.rater)) != (value, each.note)
        ]
        for each, value in new:
            milliseconds = None if each.seconds is None else round(each.seconds * 1000)
            note = {"note": each.note} if each.note else {}
            store.add(each.uid, each.rater, {"label": value, **note}, milliseconds, by="import")
    return TakenLabels(
        labels=len(imported),
        undecided=sum(value is None for _, value in imported),
        raters=tuple(dict.fromkeys(each.rater for each, _ in imported)),
        known=len(imported) - len(new),
    )


def _is_of(imported: _ToolLabel, plan: LabelPlan) -> bool:
    if imported.uid not in plan.by_uid:
        raise DataError(
            f"the plan has no answer {imported.uid!r}",
            location=imported.place,
            remedy="Name the plan that the tasks were made from.",
        )
    return True


def _meaning(schema: Schema, values: Mapping[str, str]) -> dict[str, Any]:
    """Map each word a tool may use, in lower case, to the schema's value."""
    meaning: dict[str, Any] = dict.fromkeys((CANNOT_SAY_WORD, "?", ""))
    for choice in schema.choices:
        meaning |= {str(word).strip().lower(): choice.value for word in (choice.text, choice.value)}
    meaning |= {str(value).lower(): value for value in schema.values}
    for word, value in values.items():
        if value.lower() not in meaning:
            known = ", ".join(map(str, schema.values))
            raise UsageError(
                f"the schema {schema.name} has no value {value!r}", remedy=f"It has {known}."
            )
        meaning[word.lower()] = meaning[value.lower()]
    return meaning


def _value(imported: _ToolLabel, meaning: Mapping[str, Any]) -> Any:
    word = str(imported.value if imported.value is not None else "").strip().lower()
    word = word.removesuffix(".0") if word not in meaning else word
    if word not in meaning:
        raise DataError(
            f"{imported.value!r} is no label of the schema",
            location=imported.place,
            remedy=f"Say what it means: --values '{imported.value}=...'.",
        )
    return meaning[word]


def _named(value: Any, place: str) -> str:
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
    if value is None:
        raise DataError(
            "it does not say who labelled",
            location=place,
            remedy="Name its field: --columns rater=NAME.",
        )
    return name_in({"rater": value}, "rater", place)


def _seconds(value: Any, place: str) -> float | None:
    if value in (None, ""):
        return None
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        seconds = math.nan
    if not 0 <= seconds < 1e9:
        raise DataError(
            f"the seconds are {value!r:.40}", location=place, remedy="Write a number of seconds."
        )
    return seconds


def _field(
    record: Mapping[str, Any], columns: Columns, meant: str, usual: Sequence[str], place: str
) -> Any:
    """What stands in the field that the user names, else in the first usual one that is filled."""
    if meant not in columns:
        return next((record[name] for name in usual if record.get(name) not in (None, "")), None)
    if columns[meant] not in record:
        raise DataError(
            f"there is no field {columns[meant]!r} for the {meant} (there are"
            f" {', '.join(map(repr, record))})",
            location=place,
            remedy="Correct --columns.",
        )
    return record[columns[meant]]


def _row(
    record: Mapping[str, Any], columns: Columns, place: str, usual: Mapping[str, Sequence[str]]
) -> _ToolLabel:
    """A label from a flat row."""
    content = {meant: _field(record, columns, meant, usual[meant], place) for meant in _MEANT}
    for meant in ("uid", "rater"):
        if content[meant] in (None, ""):
            raise DataError(
                f"it does not say the {meant}",
                location=place,
                remedy=f"Name its field: --columns {meant}=NAME (there are {', '.join(record)}).",
            )
    return _ToolLabel(
        uid=str(content["uid"]),
        rater=_named(content["rater"], place),
        value=content["label"],
        seconds=_seconds(content["seconds"], place),
        note=str(content["note"] or ""),
        place=place,
    )


def _from_csv(path: Path, columns: Columns) -> Iterator[_ToolLabel]:
    usual = {
        "uid": ("uid", "id"),
        "rater": ("rater", "annotator", "user"),
        "label": ("label",),
        "seconds": ("seconds",),
        "note": ("note",),
    }
    for place, record in placed_records(path):
        if "label" not in columns and "label" not in record:
            raise DataError(
                "there is no field 'label'", location=place, remedy="Name it: --columns label=NAME."
            )
        yield _row(record, columns, place, usual)


def _from_mturk(path: Path, columns: Columns) -> Iterator[_ToolLabel]:
    """Assignments that were not rejected.

    Answers stand in `Answer.label`, in a column `Answer.label.VALUE` for each choice, or as JSON in
    `Answer.taskAnswers`.
    """
    usual = {
        "uid": ("Input.uid",),
        "rater": ("WorkerId",),
        "label": ("Answer.label",),
        "seconds": ("WorkTimeInSeconds",),
        "note": ("Answer.note",),
    }
    for place, record in placed_records(path):
        if str(record.get("AssignmentStatus", "")).lower() == "rejected":
            continue
        if "Answer.label" not in record and "label" not in columns:
            record = {**record, "Answer.label": _turker_choice(record, place)}
        yield _row(record, columns, place, usual)


def _turker_choice(record: Mapping[str, Any], place: str) -> Any:
    """Read the choice of an assignment from its JSON, or from a column for each choice."""
    if record.get("Answer.taskAnswers"):
        try:
            (answers,) = json.loads(str(record["Answer.taskAnswers"]))
            chosen = answers["label"]
        except (ValueError, KeyError, TypeError):
            raise DataError(
                "its task answers have no `label`",
                location=place,
                remedy="Use the layout of the export.",
            ) from None
        if isinstance(chosen, Mapping) and isinstance(chosen.get("label"), str):  # crowd-classifier
            return chosen["label"]
        return _only_choice(chosen, place) if isinstance(chosen, Mapping) else chosen
    head = "Answer.label."
    return _only_choice(
        {name.removeprefix(head): on for name, on in record.items() if name.startswith(head)}, place
    )


def _only_choice(choices: Mapping[str, Any], place: str) -> Any:
    """Return the selected choice, or an empty string.

    Raises
    ------
    DataError
        Several are: nobody knows which one was meant.
    """
    on = [
        name
        for name, content in choices.items()
        if content is not None and str(content).lower() not in ("", "false")
    ]
    if len(on) > 1:
        raise DataError(
            f"several labels are chosen ({', '.join(map(repr, on))})",
            location=place,
            remedy="Keep the one that the rater chose last.",
        )
    return on[0] if on else ""


def _from_label_studio(path: Path, columns: Columns) -> Iterator[_ToolLabel]:
    """The export `JSON`: tasks with `data` and `annotations`; a skipped task has no label."""
    tasks = read_json(path)
    wanted = columns.get("label", "label")
    noted = columns.get("note", "note")
    for i, task in enumerate(tasks if isinstance(tasks, list) else [tasks], 1):
        place = f"{path}: task {i}"
        if not isinstance(task, Mapping) or not isinstance(task.get("data"), Mapping):
            raise DataError(
                "it is no task of Label Studio",
                location=place,
                remedy="Export in the format JSON, not JSON-MIN.",
            )
        uid = _field(task["data"], columns, "uid", ("uid",), place)
        for annotation in task.get("annotations") or ():
            if annotation.get("was_cancelled"):
                continue
            value, note = None, ""
            for result in annotation.get("result") or ():
                content = result.get("value") or {}
                if result.get("from_name") == wanted:
                    value = next(iter(content.get("choices") or ()), content.get("rating"))
                elif result.get("from_name") == noted:
                    note = "\n".join(map(str, content.get("text") or ()))
            yield _ToolLabel(
                uid=str(uid),
                rater=_named(annotation.get("completed_by", ""), place),
                value=value,
                seconds=_seconds(annotation.get("lead_time"), place),
                note=note,
                place=place,
            )


_TIME = re.compile(r"(\d+)\s*([dhms])")


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
        files = next((there for pattern in patterns if (there := sorted(path.glob(pattern)))), [])
    for each in files:
        yield from (
            _from_user_state(each, columns)
            if each.name == "user_state.json"
            else _from_instances(each, columns)
        )


def _from_user_state(path: Path, columns: Columns) -> Iterator[_ToolLabel]:
    """Potato 2: `instance_id_to_label_to_value`, with what was measured in
    `instance_id_to_behavioral_data`.
    """
    state = read_json(path)
    labels = state.get("instance_id_to_label_to_value") if isinstance(state, Mapping) else None
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
    for place, record in placed_records(path):
        content = record.get("label_annotations", record.get("labels"))
        if not isinstance(content, Mapping):
            raise DataError(
                "it has no label_annotations and no labels",
                location=place,
                remedy=(
                    "Take user_state.json, annotated_instances.jsonl or annotations.jsonl, or the"
                    " folder of all raters."
                ),
            )
        rater = record.get("user_id") or record.get("user") or path.absolute().parent.name
        uid = record.get(columns.get("uid", "id"), record.get("instance_id"))
        yield _potato_label(
            str(uid), str(rater), content, record.get("behavioral_data") or {}, columns, place
        )


def _potato_label(
    uid: str, rater: str, content: Any, behaviour: Mapping[str, Any], columns: Columns, place: str
) -> _ToolLabel:
    wanted, noted = columns.get("label", "label"), columns.get("note", "note")
    chosen, note = _of_scheme(content, wanted), _of_scheme(content, noted)
    changes = [
        c for c in behaviour.get("annotation_changes") or () if c.get("schema_name") == wanted
    ]
    latest = [str(c.get("label_name")) for c in changes if c.get("action") == "select"]
    # versions before the one that mends it keep the choices that a rater took back
    if len(chosen) > 1 and latest and latest[-1] in chosen:
        chosen = {latest[-1]: True}
    return _ToolLabel(
        uid=uid,
        rater=rater,
        value=_only_choice(chosen, place),
        seconds=_potato_seconds(behaviour),
        note=" ".join(str(text) for text in note.values() if text),
        place=place,
    )


def _of_scheme(content: Any, scheme: str) -> dict[str, Any]:
    """Return name -> value of an annotation scheme, from any of Potato's three layouts."""
    if isinstance(content, Mapping):
        own = content.get(scheme) or {}
        own = own if isinstance(own, Mapping) else {str(own): True}
        return dict(own["labels"]) if isinstance(own.get("labels"), Mapping) else dict(own)
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
    parts = {
        unit: int(count) for count, unit in _TIME.findall(str(behaviour.get("time_string") or ""))
    }
    seconds = sum(
        parts.get(unit, 0) * size for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))
    )
    return float(seconds) if parts else None


def _from_argilla(path: Path, columns: Columns) -> Iterator[_ToolLabel]:
    """Records with `responses`: question -> a list of `value` and `user_id`, as Argilla 2 writes
    them.

    Argilla writes drafts like submitted responses; where a record keeps their `status`, only the
    submitted ones are taken.
    """
    wanted, noted = columns.get("label", "label"), columns.get("note", "note")
    for place, record in placed_records(path):
        responses = record.get("responses")
        if not isinstance(responses, Mapping):
            raise DataError(
                "it has no responses",
                location=place,
                remedy="Export with `dataset.records(with_responses=True).to_json`.",
            )
        notes = {
            _named(each.get("user_id", ""), place): str(each.get("value") or "")
            for each in responses.get(noted) or ()
        }
        for response in responses.get(wanted) or ():
            if response.get("status", "submitted") != "submitted":
                continue
            rater = _named(response.get("user_id", ""), place)
            yield _ToolLabel(
                uid=str(record.get(columns.get("uid", "id"))),
                rater=rater,
                value=response.get("value"),
                note=notes.get(rater, ""),
                place=place,
            )


_READERS: Mapping[str, Callable[[Path, Columns], Iterator[_ToolLabel]]] = {
    "csv": _from_csv,
    "label-studio": _from_label_studio,
    "potato": _from_potato,
    "argilla": _from_argilla,
    "mturk": _from_mturk,
}
