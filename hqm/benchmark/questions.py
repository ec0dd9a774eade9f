"""The items of a new benchmark, read from a source and checked before anything is kept.

Whatever is wrong ends the reading with one sentence that names the file, the row, the column and
the remedy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hqm.benchmark.card import Card
from hqm.benchmark.columns import Chosen, choose_columns
from hqm.benchmark.gathering import Gathered, Name
from hqm.benchmark.items import hallucination_type, item_of
from hqm.benchmark.right_answers import Answered, answers_of
from hqm.benchmark.sources import Source, SourceRow
from hqm.errors import DataError, HQMError
from hqm.files.names import is_url
from hqm.types import HALLUCINATION_TYPES, Task

_LONGEST = 1_000_000
"""The most characters of a question or an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """The items that a source gives, and what was read and not read."""

    rows: tuple[Mapping[str, Any], ...]
    """The items as `items.jsonl` has them."""
    task: Task
    columns: Mapping[str, str]
    """Field of an item -> column; the columns A, B, C, ... are joined."""
    unused: tuple[str, ...]
    """The columns that no field was read from."""
    parts: tuple[str, ...]
    """The splits that became parts."""


@dataclass
class _Draft:
    """An item while it is made, with the row that it comes from."""

    row: SourceRow
    number: int
    fields: dict[str, Any]
    image: str | Name | None


def read_questions(
    source: Source, said: Mapping[str, str], gathered: Gathered, task: Task | None = None
) -> Questions:
    """The items of a source; their pictures are written where `gathered` says.

    Parameters
    ----------
    said
        Field -> column, as `--columns` says; the others are told from their names.
    task
        Told from the answers and options unless given.

    Raises
    ------
    DataError
        A column is missing, or a cell holds what no item can be made of; the sentence names file,
        row and column.
    """
    chosen = choose_columns(source.columns, source.pictures, said, source.parts[0].table.label)
    drafts = _read(source, chosen, gathered)
    if not drafts:
        raise DataError(
            "it has no questions", place=source.name, remedy="Write one in a row below the heading."
        )
    _place_pictures(drafts, chosen, gathered)
    answered = answers_of(
        [
            (draft.row, draft.fields.pop("target", None), draft.fields.pop("options", None))
            for draft in drafts
        ],
        chosen,
        task,
    )
    use_of_types = _use_of_types(drafts, chosen)
    splits = source.splits if len(source.splits) > 1 else ()
    _give_ids(drafts, chosen, splits)
    rows = tuple(
        _item(draft, answer, answered.task, use_of_types, splits)
        for draft, answer in zip(drafts, answered.rows, strict=True)
    )
    columns = {
        use_of_types if field == "type" else field: column
        for field, column in chosen.fields.items()
    }
    read = {column for field, column in columns.items() if field} | {*chosen.letters, chosen.index}
    columns.pop("", None)
    if chosen.letters:
        columns["options"] = ", ".join(chosen.letters)
    unused = tuple(column for column in source.columns if column not in read)
    return Questions(
        rows=rows,
        task=answered.task,
        columns=columns,
        unused=unused,
        parts=splits if "part" not in columns else (),
    )


def _read(source: Source, chosen: Chosen, gathered: Gathered) -> list[_Draft]:
    drafts = []
    for number, row in enumerate(source.rows(chosen.all), 1):
        fields: dict[str, Any] = {}
        for field, column in chosen.fields.items():
            if field not in ("image", "options"):
                fields[field] = _cell(row, column, many=field == "target")
        if "options" in chosen.fields:
            fields["options"] = row.cells[chosen.fields["options"]]
        elif chosen.letters:
            fields["options"] = {letter: _cell(row, letter) for letter in chosen.letters}
        shows = row.cells[chosen.fields["image"]] if "image" in chosen.fields else None
        if all(_is_empty(row.cells[column]) for column in chosen.all):
            continue
        if not fields["prompt"]:
            place = row.at(chosen.column("prompt"))
            raise DataError(
                "the question is empty", place=place, remedy="Write it, or remove the row."
            )
        image = gathered.take(shows, row, chosen.column("image"))
        # the pictures are written: what is kept of the row is its place and the cell that others
        # may refer to
        index = {chosen.index: _cell(row, chosen.index)} if chosen.index else {}
        drafts.append(
            _Draft(SourceRow(row.place, index, row.split, row.folder), number, fields, image)
        )
    return drafts


def _is_empty(value: Any) -> bool:
    blank = isinstance(value, str) and not value.strip()
    return value is None or blank or value == [] or (isinstance(value, float) and value != value)


def _cell(row: SourceRow, column: str, *, many: bool = False) -> Any:
    """A cell as text, None where it is empty; with `many`, also a list of texts or true and
    false.
    """
    value = row.cells[column]
    if value is None or (isinstance(value, float) and value != value):
        return None
    if many and isinstance(value, bool):
        return value
    if many and isinstance(value, (list, tuple)):
        return [_text(each, row.at(column)) for each in value]
    text = _text(value, row.at(column))
    return text or None


def _text(value: Any, place: str) -> str:
    if isinstance(value, (bytes, dict, list, tuple, bool)) or value is None:
        kind = {bytes: "bytes", dict: "an object", bool: "true or false", type(None): "null"}.get(
            type(value), "a list"
        )
        raise DataError(
            f"the cell is {kind}, and not a text: {value!r:.60}",
            place=place,
            remedy="Write a text.",
        )
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # pandas makes whole numbers decimal where a cell is empty
    text = str(value).strip()
    if len(text) > _LONGEST:
        what = f"the cell has {len(text):,} characters, more than {_LONGEST:,}"
        raise DataError(
            what, place=place, remedy="Shorten it; a picture belongs into the column image."
        )
    if "\0" in text or any(
        "\ud800" <= character <= "\udfff" for character in text if not text.isascii()
    ):
        raise DataError(
            "the cell has a character that cannot be stored",
            place=place,
            remedy="Save it as UTF-8.",
        )
    return text


# --- pictures ---


def _place_pictures(drafts: Sequence[_Draft], chosen: Chosen, gathered: Gathered) -> None:
    """Give every item the name of its picture, once it is known whether short texts are paths or
    indexes.
    """
    column = chosen.column("image")
    by_index: dict[str, _Draft] = {}
    if gathered.packed:
        for draft in drafts:
            by_index.setdefault(str(draft.row.cells.get(chosen.index) or draft.number), draft)
    pictures = []
    for draft in drafts:
        shown = _shown(draft, by_index, chosen) if gathered.packed else draft.image
        pictures.append(
            gathered.named(shown.text, draft.row, column) if isinstance(shown, Name) else shown
        )
    for draft, picture in zip(drafts, pictures, strict=True):
        draft.image = picture


def _shown(draft: _Draft, by_index: Mapping[str, _Draft], chosen: Chosen) -> str | Name | None:
    """The picture of an item, followed through the rows that name another row in its place."""
    seen: list[str] = []
    place, at = draft.row.at(chosen.column("image")), draft
    while isinstance(at.image, Name) and not is_url(at.image.text):
        name = at.image.text
        if name in seen:
            what = (
                f"the row is shown the picture of row {' -> '.join([*seen, name])}, which goes in a"
                " circle"
            )
            raise DataError(
                what, place=place, remedy="Give one of these rows its picture in base64."
            )
        seen.append(name)
        if name not in by_index:
            what = f"{name!r} is the {chosen.index or 'number'} of no row, and no picture in base64"
            raise DataError(
                what,
                place=place,
                remedy="Write the picture in base64, or the index of a row that has one.",
            )
        at = by_index[name]
    if at is not draft and at.image is None:
        what = f"the row is shown the picture of row {seen[-1]!r}, which has none"
        raise DataError(
            what,
            place=place,
            remedy="Write the picture in base64, or the index of a row that has one.",
        )
    return at.image


# --- types, ids, items ---


def _use_of_types(drafts: Sequence[_Draft], chosen: Chosen) -> str:
    """What the column of types is taken for: `type`; `part` where none of its labels is a type and
    nobody said that they are; nothing where there is a column of parts already.

    Raises
    ------
    DataError
        Some labels are types and others are not, or the column was said to hold types.
    """
    labelled = [draft for draft in drafts if draft.fields.get("type")]
    unknown = [draft for draft in labelled if not _is_type(draft.fields["type"])]
    if not unknown:
        return "type"
    if len(unknown) == len(labelled) and "type" not in chosen.said:
        return "" if "part" in chosen.fields else "part"
    column = chosen.column("type")
    what = (
        f"{unknown[0].fields['type']!r:.80} is no hallucination type"
        f" ({', '.join(HALLUCINATION_TYPES)})"
    )
    remedy = f"Write one of them, or take the column as parts: --columns type=,part={column}."
    raise DataError(what, place=unknown[0].row.at(column), remedy=remedy)


def _is_type(label: str) -> bool:
    try:
        return hallucination_type(label) is not None
    except DataError:
        return False


def _give_ids(drafts: Sequence[_Draft], chosen: Chosen, splits: Sequence[str]) -> None:
    """Give every item an id of its own: its column's, else its number; where splits share ids, the
    split stands before.
    """
    for draft in drafts:
        draft.fields["id"] = draft.fields.get("id") or f"q{draft.number:04}"
    if splits:
        of_split: dict[str, set[str]] = {}
        for draft in drafts:
            of_split.setdefault(draft.row.split, set()).add(draft.fields["id"])
        if sum(map(len, of_split.values())) > len(set().union(*of_split.values())):
            for draft in drafts:
                draft.fields["id"] = f"{draft.row.split}-{draft.fields['id']}"
    first: dict[str, _Draft] = {}
    for draft in drafts:
        key = draft.fields["id"]
        if key in first:
            what = f"the id {key!r:.80} stands twice; the first is in {first[key].row.place}"
            remedy = "Give every row its own id, or have them numbered: --columns id=."
            raise DataError(what, place=draft.row.at(chosen.column("id")), remedy=remedy)
        first[key] = draft


def _item(
    draft: _Draft, answer: Answered, task: Task, use_of_types: str, splits: Sequence[str]
) -> dict[str, Any]:
    fields = dict(draft.fields)
    label = fields.pop("type", None)
    if use_of_types and label:
        fields[use_of_types] = label
    if splits and not fields.get("part"):
        fields["part"] = draft.row.split
    fields |= {"image": draft.image, "target": answer.target, "options": list(answer.options)}
    order = ("id", "prompt", "target", "image", "type", "options", "part", "cluster")
    record = {name: fields[name] for name in order if fields.get(name) not in (None, "", [])}
    card = Card.model_construct(**{**_PLAIN.__dict__, "task": task})
    try:
        item_of(record, card, draft.row.place)
    except HQMError as error:
        raise DataError(
            error.what, place=error.place or draft.row.place, remedy=error.remedy
        ) from None
    return record


_PLAIN = Card(name="new", title="New", version="1", task="caption")
