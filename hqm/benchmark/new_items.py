"""Which column of a source is which field of an item: told from the names, or said with
`--columns`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hqm.benchmark.card import Card
from hqm.benchmark.items import id_twice, item_of, item_type, option_letter
from hqm.benchmark.new_sources import Gathered, Name, RowFaults, Source, SourceRow
from hqm.errors import DataError
from hqm.files.cache import is_url
from hqm.files.records import parse_value
from hqm.imports.answer_table import columns_by_field
from hqm.text import plain_name
from hqm.types import HALLUCINATION_TYPES, LETTERS, Task

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "item", "item_id", "question_id", "qid", "index", "idx"),
    "prompt": ("question", "prompt", "query", "text", "instruction"),
    "target": (
        "answer",
        "target",
        "label",
        "truth",
        "right_answer",
        "ground_truth",
        "gt",
        "gt_answer",
    ),
    "image": (
        "image",
        "picture",
        "img",
        "image_path",
        "file",
        "filename",
        "file_name",
        "image_file",
        "image_url",
        "image_src",
    ),
    "type": ("type", "hallucination_type", "category"),
    "options": ("options", "choices"),
    "part": ("part", "split", "subset"),
    "cluster": ("cluster", "group"),
}
"""The fields of an item, and the names of columns that are taken for each; letter case and spaces
do not matter.
"""

_SYNONYMS = {
    "question": "prompt",
    "answer": "target",
    "picture": "image",
    "category": "type",
    "split": "part",
}
"""Other names of fields, as `--columns` takes them."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The columns of a source that are read."""

    fields: Mapping[str, str]
    """Field of an item -> column."""
    letters: tuple[str, ...] = ()
    """The columns A, B, C, ... that hold an option each."""
    index: str = ""
    """The column whose values an image cell may name in place of a picture."""
    named: frozenset[str] = frozenset()
    """The fields whose columns were said and not told from the names."""

    @property
    def all(self) -> tuple[str, ...]:
        """Every column that is read, once."""
        return tuple(
            dict.fromkeys([*self.fields.values(), *self.letters, *filter(None, [self.index])])
        )

    def column(self, field: str) -> str:
        """The column of a field, for a sentence; the field's own name where it has none."""
        return self.fields.get(field, field)


def parse_columns(texts: Sequence[str]) -> dict[str, str]:
    """What `--columns` says: field -> column; an empty column means that the field has none.

    >>> parse_columns(["question=Frage, mit Bild,answer=Antwort", "id="])
    {'prompt': 'Frage, mit Bild', 'target': 'Antwort', 'id': ''}

    Raises
    ------
    UsageError
        A part names no field, or a field stands twice.
    """
    return columns_by_field(texts, {**dict.fromkeys(COLUMNS), **_SYNONYMS})


def choose_columns(
    columns: Sequence[str], pictures: Sequence[str], wanted: Mapping[str, str], place: str
) -> Chosen:
    """Choose the column of every field: the named one, else one with a usual name.

    Parameters
    ----------
    columns, pictures
        The source's columns, and those that hold pictures by their type.
    wanted
        What `parse_columns` read.

    Raises
    ------
    DataError
        No column has the questions, or a named column is not there.
    """
    there = ", ".join(map(repr, columns)) or "none"
    for name, column in wanted.items():
        if column and column not in columns:
            raise DataError(
                f"there is no column {column!r} for the field {name!r}",
                location=place,
                remedy=f"The columns are {there}.",
            )
    taken = {column for column in wanted.values() if column}
    normal: dict[str, str] = {}
    for column in columns:
        if column not in taken:
            normal.setdefault(re.sub(r"[\s-]+", "_", column.strip().lower()), column)
    fields = {name: column for name, column in wanted.items() if column}
    for name_of, names in COLUMNS.items():
        if name_of not in wanted:
            named = next((normal[name] for name in names if name in normal), None)
            if name_of == "image":
                named = _picture_column(named, [name for name in pictures if name not in taken])
            if named is not None:
                fields[name_of] = named
    if "prompt" not in fields:
        needed = {"prompt": "question", "target": "answer", "image": "image"}
        lacking = [f"{word}=NAME" for field, word in needed.items() if field not in fields]
        raise DataError(
            f"no column has the questions (there are {there})",
            location=place,
            remedy=f"Name it question, or say which it is: --columns {','.join(lacking)}.",
        )
    letters: tuple[str, ...] = ()
    if "options" not in fields and wanted.get("options") != "" and {"A", "B"} <= set(columns):
        letters = tuple(letter for letter in LETTERS if letter in columns and letter not in taken)
    index = normal.get("index") or wanted.get("id") or fields.get("id", "")
    ordered = {field: fields[field] for field in COLUMNS if field in fields}
    return Chosen(ordered, letters, index if "image" in ordered else "", frozenset(wanted))


def _picture_column(named: str | None, pictures: Sequence[str]) -> str | None:
    """A column of pictures goes before one of names (MathVista: `image` is a path, `decoded_image`
    the picture).
    """
    if named in pictures:
        return named
    return pictures[0] if len(pictures) == 1 else named


# --- right answers and options, and the task that they speak of ---

_YES, _NO = ("yes", "true", "1"), ("no", "false", "0")
"""What means yes and no where the task is said to be yes or no."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The right answer of one question, and its options."""

    target: Any
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answers:
    """The right answers of all questions, and their task."""

    task: Task
    rows: tuple[Answered, ...]


Cells = tuple[SourceRow, Any, Any]
"""A row, its answer and its options as the cells have them."""


def answers_of(
    cells: Sequence[Cells], chosen: Chosen, task: Task | None, faults: RowFaults
) -> Answers:
    """The right answers of questions, checked; `task` is told from them unless given.

    A row whose answer is missing, or has no place in the task or among the options, is a fault.
    """
    options: list[tuple[tuple[str, ...], tuple[str, ...]]] = [((), ())] * len(cells)
    for i, (row, _, cell) in enumerate(cells):
        with faults.of(row):
            options[i] = _options(row, cell, chosen)
    plain = [_plain(answer) for _, answer, _ in cells]
    chosen_task = task or task_of(
        [
            {
                key: value
                for key, value in (("target", target), ("options", listed))
                if value not in (None, ())
            }
            for target, (listed, _) in zip(plain, options, strict=True)
        ]
    )
    rows = []
    zero_based = chosen_task == "choice" and _counts_from_zero(
        plain, [listed for listed, _ in options]
    )
    for (row, _, _), target, (listed, names) in zip(cells, plain, options, strict=True):
        place = row.at(chosen.column("target"))
        answered = Answered(target)
        with faults.of(row):
            if chosen_task == "yes_no":
                answered = Answered(_yes_or_no(target, place, task_named=task is not None))
            elif chosen_task == "choice":
                letter = letter_of(
                    target, listed, names, zero_based, place, _options_place(row, chosen)
                )
                answered = Answered(letter, listed)
            elif target in (None, "", []) and chosen_task == "vqa":
                raise DataError(
                    "there is no answer",
                    location=place,
                    remedy="Write the right answer, or remove the row.",
                )
        rows.append(answered)
    return Answers(chosen_task, tuple(rows))


def task_of(rows: Sequence[Mapping[str, Any]]) -> Task:
    """The task that answers and options speak of.

    >>> task_of([{"target": "Yes"}, {"target": "no"}]), task_of([{"target": "red"}]), task_of([{}])
    ('yes_no', 'vqa', 'caption')
    """
    if any("options" in row for row in rows):
        return "choice"
    targets = [str(row["target"]).lower().rstrip(".") for row in rows if "target" in row]
    if not targets:
        return "caption"
    # one slip of the pen must not make a yes/no benchmark one of short answers
    return (
        "yes_no"
        if sum(target in ("yes", "no") for target in targets) > 0.5 * len(targets)
        else "vqa"
    )


def _plain(answer: Any) -> Any:
    """An answer as items have it: true and false are yes and no, a list of one is what it holds."""
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    if isinstance(answer, list) and len(answer) < 2:
        return next(iter(answer), None)
    return answer


def _yes_or_no(target: Any, place: str, *, task_named: bool) -> str:
    if target in (None, ""):
        raise DataError(
            "there is no answer", location=place, remedy="Write yes or no, or remove the row."
        )
    text = str(target).strip().rstrip(".").lower()
    if text in (_YES if task_named else _YES[:1]):
        return "yes"
    if text in (_NO if task_named else _NO[:1]):
        return "no"
    raise DataError(
        f"the answer is {target!r:.80}, and the task is yes or no",
        location=place,
        remedy="Write yes or no, or name another task with --task.",
    )


# --- options ---


def _options_place(row: SourceRow, chosen: Chosen) -> str:
    return (
        f"{row.place}, columns {', '.join(chosen.letters)}"
        if chosen.letters
        else row.at(chosen.column("options"))
    )


def _options(row: SourceRow, cell: Any, chosen: Chosen) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The options of a row in their order, and the names that the row gives them, where it has
    names of its own.
    """
    if chosen.letters and isinstance(cell, dict):
        return _of_letters(row, cell, chosen), ()
    if _is_empty(cell) or cell == {}:
        return (), ()
    place = _options_place(row, chosen)
    names: tuple[str, ...] = ()
    if isinstance(cell, str):
        cell = _listed(cell.strip(), place)
    if isinstance(cell, dict):
        # ARC: the texts in one list, their letters or numbers in another
        texts, labels = cell.get("text"), cell.get("label")
        if not isinstance(texts, list) or not isinstance(labels, list) or len(texts) != len(labels):
            raise DataError(
                f"the options are an object with {', '.join(map(repr, cell))[:80]}",
                location=place,
                remedy="Write a list of options, or one text with | between them.",
            )
        cell, names = texts, tuple(str(label).strip() for label in labels)
    if not isinstance(cell, (list, tuple)):
        raise DataError(
            f"the options are {cell!r:.60}, which is no list",
            location=place,
            remedy="Write a list of options, or one text with | between them.",
        )
    options = []
    for option in cell:
        if (
            isinstance(option, bool)
            or not isinstance(option, (str, int, float))
            or not str(option).strip()
        ):
            raise DataError(
                f"an option is {option!r:.60}",
                location=place,
                remedy="Write a text for every option.",
            )
        options.append(str(option).strip())
    return _checked(tuple(options), place), names


def _of_letters(row: SourceRow, cell: Mapping[str, Any], chosen: Chosen) -> tuple[str, ...]:
    """The options in the columns A, B, C, ...; a row may have fewer than there are columns, but no
    gap.
    """
    filled = [letter for letter in chosen.letters if cell.get(letter) not in (None, "")]
    if not filled:
        return ()
    for letter in LETTERS[: LETTERS.index(filled[-1])]:
        if letter not in filled:
            raise DataError(
                f"there is an option {filled[-1]}, and no option {letter}",
                location=f"{row.place}, column {letter!r}",
                remedy="Fill it, or move the others up.",
            )
    return _checked(tuple(str(cell[letter]) for letter in filled), _options_place(row, chosen))


def _checked(options: tuple[str, ...], place: str) -> tuple[str, ...]:
    if len(options) > len(LETTERS):
        raise DataError(
            f"there are {len(options)} options, and {len(LETTERS)} letters to name them",
            location=place,
            remedy=f"Keep at most {len(LETTERS)}.",
        )
    return options


def _listed(text: str, place: str) -> Any:
    """The list that a text writes: as JSON or Python does, or with | between the options."""
    if not (text.startswith(("[", "{")) and text.endswith(("]", "}"))):
        return text.split("|")
    value = parse_value(text)
    if value is None:
        raise DataError(
            f"the options {text[:60]!r} cannot be read",
            location=place,
            remedy="Write a list of options, or one text with | between them.",
        )
    return value


def _counts_from_zero(targets: Sequence[Any], options: Sequence[tuple[str, ...]]) -> bool:
    """Whether the answers are the places of options, counted from 0 as ScienceQA does; an option of
    such a name rules it out.
    """
    texts = [str(target).strip() for target in targets]
    return "0" in texts and all(
        text in map(str, range(len(listed))) and text not in listed
        for text, listed in zip(texts, options, strict=True)
    )


def letter_of(
    target: Any,
    options: tuple[str, ...],
    names: Sequence[str],
    zero_based: bool,
    place: str,
    options_place: str,
) -> str:
    """The letter of the right option."""
    if len(options) < 2:
        what = "there are no options" if not options else f"there is one option, {options[0]!r:.80}"
        raise DataError(
            what,
            location=options_place,
            remedy="A choice needs two or more; or name another task with --task.",
        )
    if target in (None, ""):
        raise DataError(
            "there is no answer",
            location=place,
            remedy="Write an option or its letter, or remove the row.",
        )
    text, letters = str(target).strip(), tuple(LETTERS[: len(options)])
    if zero_based:
        return letters[int(text)]
    if text in names:
        return letters[names.index(text)]
    as_letter = text.strip("().").upper()
    if text in options:
        return option_letter(text, options, place)
    if as_letter in letters:
        return as_letter
    if as_letter in tuple(LETTERS):
        raise DataError(
            f"the answer is {text!r}, and the options end with {letters[-1]}",
            location=place,
            remedy=f"Correct the answer, or add the option {as_letter}.",
        )
    raise DataError(
        f"the answer {text!r:.80} is no option and no letter of one ({' | '.join(options)[:120]})",
        location=place,
        remedy="Write an option or its letter.",
    )


# --- the items of a new benchmark ---
#
# Read from a source and checked before anything is kept.
#
# Whatever is wrong ends the reading with one sentence that names the file, the row, the column
# and the remedy.

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
    faults: Mapping[str, DataError] = field(default_factory=dict)
    """Place of a row that was left out -> what is wrong with it."""


@dataclass
class _Draft:
    """An item while it is made, with the row that it comes from."""

    row: SourceRow
    number: int
    fields: dict[str, Any]
    image: str | Name | None


def read_questions(
    source: Source,
    wanted: Mapping[str, str],
    gathered: Gathered,
    task: Task | None = None,
    *,
    keep_going: bool = False,
) -> Questions:
    """The items of a source; their pictures are written where `gathered` says.

    Parameters
    ----------
    wanted
        Field -> column, as `--columns` says; the others are told from their names.
    task
        Told from the answers and options unless given.
    keep_going
        Whether rows of which no item can be made are left out.

    Raises
    ------
    DataError
        A column is missing, or cells hold what no item can be made of; the sentence names file,
        row and column, and counts each kind of fault.
    """
    chosen = choose_columns(source.columns, source.pictures, wanted, source.parts[0].table.label)
    faults = RowFaults()
    drafts = _read(source, chosen, gathered, faults)
    total = len(drafts) + len(faults.first)
    if not total:
        raise DataError(
            "it has no questions",
            location=source.name,
            remedy="Write one in a row below the heading.",
        )
    _place_pictures(drafts, chosen, gathered, faults)
    drafts = [draft for draft in drafts if draft.row.place not in faults.first]
    answered = answers_of(
        [
            (draft.row, draft.fields.pop("target", None), draft.fields.pop("options", None))
            for draft in drafts
        ],
        chosen,
        task,
        faults,
    )
    use_of_types = _use_of_types(drafts, chosen)
    splits = source.splits if len(source.splits) > 1 else ()
    _give_ids(drafts, chosen, splits, faults)
    rows = []
    for draft, answer in zip(drafts, answered.rows, strict=True):
        if draft.row.place not in faults.first:
            with faults.of(draft.row):
                rows.append(_item(draft, answer, answered.task, use_of_types, splits))
    if faults.first and not (keep_going and rows):
        raise faults.error(total)
    columns = {
        {"type": use_of_types}.get(field, field): column for field, column in chosen.fields.items()
    }
    read = {column for field, column in columns.items() if field} | {*chosen.letters, chosen.index}
    columns.pop("", None)
    if chosen.letters:
        columns["options"] = ", ".join(chosen.letters)
    return Questions(
        rows=tuple(rows),
        task=answered.task,
        columns=columns,
        unused=tuple(column for column in source.columns if column not in read),
        parts=splits if "part" not in columns else (),
        faults=faults.first,
    )


def _read(source: Source, chosen: Chosen, gathered: Gathered, faults: RowFaults) -> list[_Draft]:
    drafts = []
    for number, row in enumerate(source.rows(chosen.all), 1):
        if not all(_is_empty(row.cells[column]) for column in chosen.all):
            with faults.of(row):
                drafts.append(_draft(number, row, chosen, gathered))
    return drafts


def _draft(number: int, row: SourceRow, chosen: Chosen, gathered: Gathered) -> _Draft:
    fields: dict[str, Any] = {}
    for name, column in chosen.fields.items():
        if name not in ("image", "options"):
            fields[name] = _cell(row, column, many=name == "target")
    if "options" in chosen.fields:
        fields["options"] = row.cells[chosen.fields["options"]]
    elif chosen.letters:
        fields["options"] = {letter: _cell(row, letter) for letter in chosen.letters}
    if not fields["prompt"]:
        raise DataError(
            "the question is empty",
            location=row.at(chosen.column("prompt")),
            remedy="Write it, or remove the row.",
        )
    shows = row.cells[chosen.fields["image"]] if "image" in chosen.fields else None
    image = gathered.take(shows, row, chosen.column("image"))
    # the pictures are written: what is kept of the row is its place and the cell that others may
    # refer to
    index = {chosen.index: _cell(row, chosen.index)} if chosen.index else {}
    return _Draft(SourceRow(row.place, index, row.split, row.folder), number, fields, image)


def _is_empty(value: Any) -> bool:
    blank = isinstance(value, str) and not value.strip()
    return value is None or blank or value == [] or (isinstance(value, float) and value != value)


def _cell(row: SourceRow, column: str, *, many: bool = False) -> Any:
    """A cell as text, None where it is empty; with `many`, also a list of texts or true and
    false.
    """
    value = row.cells[column]
    if _is_empty(value):
        return None
    if many and isinstance(value, bool):
        return value
    if many and isinstance(value, (list, tuple)):
        return [_text(each, row.at(column)) for each in value]
    return _text(value, row.at(column))


def _text(value: Any, place: str) -> str:
    if isinstance(value, (bytes, dict, list, tuple, bool)) or value is None:
        kind = {bytes: "bytes", dict: "an object", bool: "true or false", type(None): "null"}.get(
            type(value), "a list"
        )
        raise DataError(
            f"the cell is {kind}, and not a text: {value!r:.60}",
            location=place,
            remedy="Write a text.",
        )
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # pandas makes whole numbers decimal where a cell is empty
    text = str(value).strip()
    if len(text) > _LONGEST:
        raise DataError(
            f"the cell has {len(text):,} characters, more than {_LONGEST:,}",
            location=place,
            remedy="Shorten it; a picture belongs into the column image.",
        )
    return text


# --- pictures ---


def _place_pictures(
    drafts: Sequence[_Draft], chosen: Chosen, gathered: Gathered, faults: RowFaults
) -> None:
    """Give every item the name of its picture, once it is known whether short texts are paths or
    indexes.
    """
    column = chosen.column("image")
    by_index: dict[str, _Draft] = {}
    if gathered.packed:
        for draft in drafts:
            by_index.setdefault(str(draft.row.cells.get(chosen.index) or draft.number), draft)
    pictures: list[str | None] = [None] * len(drafts)
    for i, draft in enumerate(drafts):
        with faults.of(draft.row):
            shown = _shown(draft, by_index, chosen) if gathered.packed else draft.image
            pictures[i] = (
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
            raise DataError(
                f"the row is shown the picture of row {' -> '.join([*seen, name])}, which goes in a"
                " circle",
                location=place,
                remedy="Give one of these rows its picture in base64.",
            )
        seen.append(name)
        if name not in by_index:
            raise DataError(
                f"{name!r} is the {chosen.index or 'number'} of no row, and no picture in base64",
                location=place,
                remedy="Write the picture in base64, or the index of a row that has one.",
            )
        at = by_index[name]
    if at is not draft and at.image is None:
        raise DataError(
            f"the row is shown the picture of row {seen[-1]!r}, which has none",
            location=place,
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
    if len(unknown) == len(labelled) and "type" not in chosen.named:
        return "" if "part" in chosen.fields else "part"
    column = chosen.column("type")
    raise DataError(
        f"{unknown[0].fields['type']!r:.80} is no hallucination type"
        f" ({', '.join(HALLUCINATION_TYPES)})",
        location=unknown[0].row.at(column),
        remedy=f"Write one of them, or take the column as parts: --columns type=,part={column}.",
    )


def _is_type(label: str) -> bool:
    try:
        return item_type(label) is not None
    except DataError:
        return False


def _give_ids(
    drafts: Sequence[_Draft], chosen: Chosen, splits: Sequence[str], faults: RowFaults
) -> None:
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
        with faults.of(draft.row):
            look = plain_name(key)
            if look in first:
                raise DataError(
                    f"{id_twice(first[look].fields['id'], key):.200}; the first is in"
                    f" {first[look].row.place}",
                    location=draft.row.at(chosen.column("id")),
                    remedy="Give every row its own id, or have them numbered: --columns id=.",
                )
            first[look] = draft


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
    item_of(record, card, draft.row.place)
    return record


_PLAIN = Card(name="new", title="New", version="1", task="caption")
