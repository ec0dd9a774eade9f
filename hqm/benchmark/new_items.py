"""The items of a new benchmark, made of the rows of a source: right answers, pictures, ids."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hqm.benchmark.card import Card
from hqm.benchmark.items import id_twice, item_of, item_type, letter_of
from hqm.benchmark.new_columns import (
    ColumnChoice,
    check_key_columns,
    check_option_columns,
    check_same_names,
    check_unread_keys,
    choose_columns,
)
from hqm.benchmark.new_sources import GatheredPictures, Name, RowFaults, Source, SourceRow
from hqm.errors import DataError
from hqm.files.cache import is_url
from hqm.files.records import parse_value
from hqm.imports.intake import whole_ids
from hqm.imports.option_checks import check_letters, check_right_option, without_letters
from hqm.imports.row import hides_key
from hqm.text import look_of_id, plain_name
from hqm.types import HALLUCINATION_TYPES, LETTERS, Task

# --- right answers and options, and the task that they speak of ---

_LISTED_OPTIONS = re.compile(r"(?:^|[\s(\[])[AB][.):\]]\s")
"""The letter of an option inside a question."""

_POSITIONS = frozenset("012345678")
_YES = ("yes", "true", "y", "1")
_NO = ("no", "false", "n", "0")
"""The spellings of yes and no. Numbers count where `--task` says yes_no, and others than the words
themselves where all answers are written so.
"""


class RightAnswer(NamedTuple):
    """The right answer of one question, and its options."""

    target: object
    options: tuple[str, ...] = ()


class RightAnswers(NamedTuple):
    """The right answers of all questions, and their task."""

    task: Task
    rows: tuple[RightAnswer, ...]


Cells = tuple[SourceRow, object, object]
"""A row, and the cells of its answer and its options."""


def answers_of(
    cells: Sequence[Cells], choice: ColumnChoice, task: Task | None, faults: RowFaults
) -> RightAnswers:
    """The right answers of questions, checked; `task` follows from them unless given.

    A row whose answer is missing, or does not fit the task or the options, is a fault.
    """
    options: list[tuple[tuple[str, ...], tuple[str, ...]]] = [((), ())] * len(cells)
    answers = []
    for i, (row, answer, cell) in enumerate(cells):
        answers.append(answer)
        with faults.collect(row):
            options[i] = _options(row, cell, choice)
    plain = _plain_answers(answers)
    # names of options say nothing of the task
    options_alone = [listed for listed, _ in options]
    chosen_task = task or task_of(list(map(given_fields, plain, options_alone)))
    rows = []
    # asked of all rows together: 1 or 2 alone may be counted from 0 or from 1
    zero_based = chosen_task == "choice" and _counts_from_zero(plain, options_alone)
    for (row, _, _), target, (listed, names) in zip(cells, plain, options, strict=True):
        location = row.cell_location(choice.column("target"))
        right_answer = RightAnswer(target)
        with faults.collect(row):
            if chosen_task == "yes_no":
                right_answer = RightAnswer(
                    _yes_or_no(target, location, task_named=task is not None)
                )
            elif chosen_task == "choice":
                letter = letter_of(
                    target, listed, names, zero_based, location, _options_location(row, choice)
                )
                check_right_option(listed, letter, location)
                right_answer = RightAnswer(letter, listed)
            elif chosen_task == "vqa" and (target in (None, "", []) or hides_key(target)):
                raise DataError(
                    "there is no answer",
                    location=location,
                    remedy="Write the right answer, or remove the row.",
                )
        rows.append(right_answer)
    return RightAnswers(chosen_task, tuple(rows))


def given_fields(target: object, options: tuple[str, ...]) -> dict[str, object]:
    """The target and the options of a row, without those that are missing, for `task_of`."""
    fields = {}
    if target not in (None, ()):
        fields["target"] = target
    if options:
        fields["options"] = options
    return fields


def task_of(rows: Sequence[Mapping[str, object]]) -> Task:
    """The task that answers and options suggest.

    >>> task_of([{"target": "Yes"}, {"target": "no"}]), task_of([{"target": "red"}]), task_of([{}])
    ('yes_no', 'vqa', 'caption')
    """
    if any("options" in row for row in rows):
        return "choice"
    targets = [str(row["target"]).lower().rstrip(".") for row in rows if "target" in row]
    if not targets:
        return "caption"
    # one slip of the pen must not make a yes/no benchmark one of short answers
    n_yes_or_no = sum(target in ("yes", "no") for target in targets)
    return "yes_no" if n_yes_or_no > 0.5 * len(targets) else "vqa"


def _plain_answers(answers: Sequence[object]) -> list[object]:
    """Answers as items have them; true and false, or y and n, as yes and no where all are one of
    the two, as a spreadsheet writes them.
    """
    plain = list(map(_plain, answers))
    words = {str(answer).strip().lower() for answer in plain if answer is not None}
    for yes, no in zip(_YES[1:3], _NO[1:3], strict=True):
        # Both words must occur: a column of y alone may be the name of anything.
        if words == {yes, no}:
            spellings = {yes: "yes", no: "no", "none": None}
            return [spellings[str(answer).strip().lower()] for answer in plain]
    return plain


def _plain(answer: object) -> object:
    """An answer as items have it: true and false are yes and no, a list of one is its element."""
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    if isinstance(answer, list) and len(answer) < 2:
        return next(iter(answer), None)
    return answer


def _yes_or_no(target: object, location: str, *, task_named: bool) -> str:
    if target in (None, ""):
        raise DataError(
            "there is no answer", location=location, remedy="Write yes or no, or remove the row."
        )
    text = str(target).strip().rstrip(".").lower()
    if text in (_YES if task_named else _YES[:1]):
        return "yes"
    if text in (_NO if task_named else _NO[:1]):
        return "no"
    raise DataError(
        f"the answer is {target!r:.80}, and the task is yes or no",
        location=location,
        remedy="Write yes or no, or name another task with --task.",
    )


# --- options ---


def _options_location(row: SourceRow, choice: ColumnChoice) -> str:
    return (
        f"{row.location}, columns {', '.join(choice.letters.values())}"
        if choice.letters
        else row.cell_location(choice.column("options"))
    )


def _options(
    row: SourceRow, cell: object, choice: ColumnChoice
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The options of a row in their order, and the names that the row gives them, where it has
    names of its own.
    """
    if choice.letters and isinstance(cell, dict):
        return _lettered_options(row, cell, choice), ()
    if _is_empty(cell) or cell == {}:
        return (), ()
    location = _options_location(row, choice)
    names: tuple[str, ...] = ()
    if isinstance(cell, str):
        cell = _parse_options(cell.strip(), location)
    cell = _texts_by_letter(cell)
    if isinstance(cell, dict):
        # ARC: the texts in one list, their letters or numbers in another
        texts = cell.get("text")
        labels = cell.get("label")
        if not isinstance(texts, list) or not isinstance(labels, list) or len(texts) != len(labels):
            raise DataError(
                f"the options are an object with {', '.join(map(repr, cell))[:80]}",
                location=location,
                remedy="Write a list of options, or one text with | between them.",
            )
        cell = texts
        names = tuple(map(str.strip, map(str, labels)))
        if len(set(names)) < len(names):
            raise DataError(
                f"two options have one label ({', '.join(names)[:80]})",
                location=location,
                remedy="Give every option a label of its own.",
            )
    if not isinstance(cell, (list, tuple)):
        raise DataError(
            f"the options are {cell!r:.60}, which is no list",
            location=location,
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
                location=location,
                remedy="Write a text for every option.",
            )
        options.append(str(option).strip())
    checked = _check_options(tuple(options), location)
    plain = without_letters(checked)
    # an answer may name an option with its letter
    return plain, names or (checked if plain != checked else ())


def _texts_by_letter(cell: object) -> object:
    """The texts of an object from letter to option; any other cell as it is."""
    if not isinstance(cell, dict) or list(cell) != list(LETTERS[: len(cell)]):
        return cell
    texts = list(cell.values())
    # a question with fewer options leaves the last ones empty
    while len(texts) > 2 and _is_empty(texts[-1]):
        texts.pop()
    return texts


def _lettered_options(
    row: SourceRow, cell: Mapping[str, object], choice: ColumnChoice
) -> tuple[str, ...]:
    """The options in the columns A, B, C, ...; a row may have fewer than there are columns, but no
    gap.
    """
    filled = {
        letter: str(cell[letter]) for letter in choice.letters if cell.get(letter) not in (None, "")
    }
    if not filled:
        return ()
    # options behind a gap would move up, and the right answer's letter would name another one
    last = max(filled)
    for letter in LETTERS[: LETTERS.index(last)]:
        if letter not in filled:
            raise DataError(
                f"there is an option {last}, and no option {letter}",
                location=f"{row.location}, column {choice.letters.get(letter, letter)!r}",
                remedy="Fill it, or move the others up.",
            )
    return _check_options(tuple(filled.values()), _options_location(row, choice))


def _check_options(options: tuple[str, ...], location: str) -> tuple[str, ...]:
    if len(options) > len(LETTERS):
        raise DataError(
            f"there are {len(options)} options, and {len(LETTERS)} letters to name them",
            location=location,
            remedy=f"Keep at most {len(LETTERS)}.",
        )
    check_letters(options, location)
    return options


def _parse_options(text: str, location: str) -> object:
    """The options in a text: a list of JSON or Python, or options with | between them."""
    if not (text.startswith(("[", "{")) and text.endswith(("]", "}"))):
        return text.split("|")
    value = parse_value(text)
    if value is None:
        raise DataError(
            f"the options {text[:60]!r} cannot be read",
            location=location,
            remedy="Write a list of options, or one text with | between them.",
        )
    return value


def _counts_from_zero(targets: Sequence[object], options: Sequence[tuple[str, ...]]) -> bool:
    """Whether the answers are positions of options, counted from 0 as in ScienceQA; an option that
    is such a number rules it out.
    """
    texts = list(map(str.strip, map(str, targets)))
    return "0" in texts and all(
        text in map(str, range(len(listed))) and text not in listed
        for text, listed in zip(texts, options, strict=True)
    )


# --- the items of a new benchmark ---

MAX_CELL_CHARS = 1_000_000
"""Characters of a question or an answer at most: more is a picture in the wrong column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """The items of a source, with the columns and splits that were read."""

    rows: tuple[Mapping[str, object], ...]
    """The items as `items.jsonl` has them."""
    task: Task
    columns: Mapping[str, str]
    """Field of an item -> column; the columns A, B, C, ... are joined."""
    unused: tuple[str, ...]
    """The columns that no field was read from."""
    parts: tuple[str, ...]
    """The splits that became parts."""
    faults: Mapping[str, DataError] = field(default_factory=dict)
    """Location of a row that was left out -> its fault."""


@dataclass
class _Draft:
    """An item while it is made, with the row that it comes from."""

    row: SourceRow
    number: int
    fields: dict[str, Any]
    image: str | Name | None


def _check_codes(
    drafts: Sequence[_Draft], answered: RightAnswers, choice: ColumnChoice, location: str
) -> None:
    """Refuse answers that are codes of yes and no, letters of options which are nowhere, or numbers
    of options which the questions list: as short answers nobody would give them.
    """
    targets = {str(answer.target) for answer in answered.rows}
    if answered.task != "vqa" or len(targets) < 2:
        return
    column = choice.column("target")
    if targets == {_YES[-1], _NO[-1]}:
        raise DataError(
            f"the answers in the column {column!r} are 0 and 1",
            location=location,
            remedy="If they say no and yes, add --task yes_no; if they are numbers, --task vqa.",
        )
    lists_options = [_LISTED_OPTIONS.search(str(draft.fields["prompt"])) for draft in drafts]
    n_positions = sum(str(answer.target) in _POSITIONS for answer in answered.rows)
    if all(lists_options) and 2 * n_positions > len(answered.rows):
        raise DataError(
            f"the answers in the column {column!r} are numbers, and the questions list options by"
            " letters",
            location=location,
            remedy="Write the letter of the right option; numbers are short answers with --task"
            " vqa.",
        )
    if not targets <= set(LETTERS[:8]) or any(lists_options):
        return
    raise DataError(
        f"the answers in the column {column!r} are letters, such as {min(targets)!r}, and no column"
        " has options",
        location=location,
        remedy="Say which has them: --columns options=NAME; or name the columns A, B, ...; letters"
        " are short answers with --task vqa.",
    )


def read_questions(
    source: Source,
    named_columns: Mapping[str, str],
    gathered: GatheredPictures,
    task: Task | None = None,
    *,
    keep_going: bool = False,
) -> Questions:
    """The items of a source; their pictures are written where `gathered` says.

    Parameters
    ----------
    named_columns
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
    choice = choose_columns(
        source.columns, source.pictures, named_columns, source.files[0].table.label
    )
    faults = RowFaults()
    drafts = _read_drafts(source, choice, gathered, faults)
    check_same_names(source, choice)
    check_key_columns(source, choice)
    check_option_columns(source, choice)
    check_unread_keys(source, choice, task)
    total = len(drafts) + len(faults.first)
    if not total:
        raise DataError(
            "it has no questions",
            location=source.name,
            remedy="Write one in a row below the heading.",
        )
    _assign_pictures(drafts, choice, gathered, faults)
    drafts = [draft for draft in drafts if draft.row.location not in faults.first]
    cells: list[Cells] = []
    for draft in drafts:
        fields = draft.fields
        cells.append((draft.row, fields.pop("target", None), fields.pop("options", None)))
    answered = answers_of(cells, choice, task, faults)
    if task is None:
        _check_codes(drafts, answered, choice, source.name)
    use_of_types = _use_of_types(drafts, choice)
    splits = source.splits if len(source.splits) > 1 else ()
    _give_ids(drafts, choice, splits, faults)
    rows = []
    for draft, answer in zip(drafts, answered.rows, strict=True):
        if draft.row.location not in faults.first:
            with faults.collect(draft.row):
                rows.append(_item(draft, answer, answered.task, use_of_types, splits))
    if faults.first and not (keep_going and rows):
        raise faults.error(total)
    columns = {}
    for name, column in choice.fields.items():
        columns[use_of_types if name == "type" else name] = column
    # a column of types that could become neither types nor parts was not read
    columns.pop("", None)
    read = {*columns.values(), *choice.letters.values(), choice.index}
    if choice.letters:
        columns["options"] = ", ".join(choice.letters.values())
    return Questions(
        rows=tuple(rows),
        task=answered.task,
        columns=columns,
        unused=tuple(column for column in source.columns if column not in read),
        parts=splits if "part" not in columns else (),
        faults=faults.first,
    )


def _read_drafts(
    source: Source, choice: ColumnChoice, gathered: GatheredPictures, faults: RowFaults
) -> list[_Draft]:
    drafts = []
    for number, row in enumerate(source.rows(choice.all), 1):
        if not all(_is_empty(row.cells[column]) for column in choice.all):
            with faults.collect(row):
                drafts.append(_draft(number, row, choice, gathered))
    return drafts


def _draft(number: int, row: SourceRow, choice: ColumnChoice, gathered: GatheredPictures) -> _Draft:
    fields: dict[str, Any] = {}
    for name, column in choice.fields.items():
        if name not in ("image", "options"):
            fields[name] = _cell(row, column, allow_list=name == "target")
    if "options" in choice.fields:
        fields["options"] = row.cells[choice.fields["options"]]
    elif choice.letters:
        fields["options"] = {
            letter: _cell(row, column) for letter, column in choice.letters.items()
        }
    # invisible characters are no question either
    if not plain_name(fields["prompt"] or ""):
        raise DataError(
            "the question is empty",
            location=row.cell_location(choice.column("prompt")),
            remedy="Write it, or remove the row.",
        )
    if "image" in choice.fields:
        image_cell = row.cells[choice.fields["image"]]
    else:
        image_cell = None
    image = gathered.take(image_cell, row, choice.column("image"))
    # the pictures are written: what is kept of the row is its place and the cell that others may
    # refer to
    index = {choice.index: _cell(row, choice.index)} if choice.index else {}
    return _Draft(SourceRow(row.location, index, row.split, row.folder), number, fields, image)


def _is_empty(value: object) -> bool:
    blank = isinstance(value, str) and not value.strip()
    return value is None or blank or value == [] or (isinstance(value, float) and value != value)


def _cell(row: SourceRow, column: str, *, allow_list: bool = False) -> Any:
    """A cell as text, None where it is empty; with `allow_list`, also a list of texts or true and
    false.
    """
    value = row.cells[column]
    if _is_empty(value):
        return None
    if allow_list and isinstance(value, bool):
        return value
    if allow_list and isinstance(value, (list, tuple)):
        return [_text(element, row.cell_location(column)) for element in value]
    return _text(value, row.cell_location(column))


def _text(value: object, location: str) -> str:
    if isinstance(value, (bytes, dict, list, tuple, bool)) or value is None:
        kind = {bytes: "bytes", dict: "an object", bool: "true or false", type(None): "null"}.get(
            type(value), "a list"
        )
        raise DataError(
            f"the cell is {kind}, and not a text: {value!r:.60}",
            location=location,
            remedy="Write a text.",
        )
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # pandas makes whole numbers decimal where a cell is empty
    text = str(value).strip()
    if len(text) > MAX_CELL_CHARS:
        raise DataError(
            f"the cell has {len(text):,} characters, more than {MAX_CELL_CHARS:,}",
            location=location,
            remedy="Shorten it; a picture belongs into the column image.",
        )
    return text


# --- pictures ---


def _assign_pictures(
    drafts: Sequence[_Draft], choice: ColumnChoice, gathered: GatheredPictures, faults: RowFaults
) -> None:
    """Give every item the name of its picture, once it is known whether short texts are paths or
    indexes.
    """
    column = choice.column("image")
    by_index: dict[str, _Draft] = {}
    if gathered.packed:
        for draft in drafts:
            by_index.setdefault(str(draft.row.cells.get(choice.index) or draft.number), draft)
    pictures: list[str | None] = [None] * len(drafts)
    for i, draft in enumerate(drafts):
        with faults.collect(draft.row):
            if gathered.packed:
                image = _resolve_image(draft, by_index, choice)
            else:
                image = draft.image
            pictures[i] = (
                gathered.resolve_name(image.text, draft.row, column)
                if isinstance(image, Name)
                else image
            )
    for draft, picture in zip(drafts, pictures, strict=True):
        draft.image = picture


def _resolve_image(
    draft: _Draft, by_index: Mapping[str, _Draft], choice: ColumnChoice
) -> str | Name | None:
    """The picture of an item, followed through the rows that name another row in its place."""
    visited: list[str] = []
    location = draft.row.cell_location(choice.column("image"))
    current = draft
    while isinstance(current.image, Name) and not is_url(current.image.text):
        name = current.image.text
        if name in visited:
            raise DataError(
                f"the row is shown the picture of row {' -> '.join([*visited, name])}, which goes"
                " in a circle",
                location=location,
                remedy="Give one of these rows its picture in base64.",
            )
        visited.append(name)
        if name not in by_index:
            raise DataError(
                f"{name!r} is the {choice.index or 'number'} of no row, and no picture in base64",
                location=location,
                remedy="Write the picture in base64, or the index of a row that has one.",
            )
        current = by_index[name]
    if current is not draft and current.image is None:
        raise DataError(
            f"the row is shown the picture of row {visited[-1]!r}, which has none",
            location=location,
            remedy="Write the picture in base64, or the index of a row that has one.",
        )
    return current.image


# --- types, ids, items ---


def _use_of_types(drafts: Sequence[_Draft], choice: ColumnChoice) -> str:
    """The field that the column of types becomes: `type`; `part` where none of its labels is a type
    and `--columns` does not name it; none where there is a column of parts already.

    Raises
    ------
    DataError
        Some labels are types and others are not, or the column was said to hold types.
    """
    labelled = [draft for draft in drafts if draft.fields.get("type")]
    unknown = [draft for draft in labelled if not _is_type(draft.fields["type"])]
    if not unknown:
        return "type"
    if len(unknown) == len(labelled) and "type" not in choice.specified:
        if "part" in choice.fields:
            return ""
        return "part"
    # where some labels are types, the others are more likely slips of the pen than parts
    column = choice.column("type")
    raise DataError(
        f"{unknown[0].fields['type']!r:.80} is no hallucination type"
        f" ({', '.join(HALLUCINATION_TYPES)})",
        location=unknown[0].row.cell_location(column),
        remedy=f"Write one of them, or take the column as parts: --columns type=,part={column}.",
    )


def _is_type(label: str) -> bool:
    try:
        return item_type(label) is not None
    except DataError:
        return False


def _give_ids(
    drafts: Sequence[_Draft], choice: ColumnChoice, splits: Sequence[str], faults: RowFaults
) -> None:
    """Give every item an id of its own: its column's, else its number; where splits share ids, the
    split stands before.
    """
    ids = whole_ids([draft.fields.get("id") for draft in drafts])
    for draft, name in zip(drafts, ids or (), strict=False):
        draft.fields["id"] = name
    for draft in drafts:
        # leading zeros keep the order of the rows where files sort ids as texts
        draft.fields["id"] = draft.fields.get("id") or f"q{draft.number:04}"
    if splits:
        of_split: dict[str, set[str]] = {}
        for draft in drafts:
            of_split.setdefault(draft.row.split, set()).add(draft.fields["id"])
        # a name in two splits is two items: each split counts from its own beginning
        if sum(map(len, of_split.values())) > len(set().union(*of_split.values())):
            for draft in drafts:
                draft.fields["id"] = f"{draft.row.split}-{draft.fields['id']}"
    first: dict[str, _Draft] = {}
    for draft in drafts:
        key = draft.fields["id"]
        with faults.collect(draft.row):
            # 7, 7.0 and 007 are one id: tools that write answers change such numbers
            look = look_of_id(key)
            if look in first:
                raise DataError(
                    f"{id_twice(first[look].fields['id'], key):.200}; the first is in"
                    f" {first[look].row.location}",
                    location=draft.row.cell_location(choice.column("id")),
                    remedy="Give every row its own id, or have them numbered: --columns id=.",
                )
            first[look] = draft


def _item(
    draft: _Draft, answer: RightAnswer, task: Task, use_of_types: str, splits: Sequence[str]
) -> dict[str, object]:
    fields = dict(draft.fields)
    label = fields.pop("type", None)
    if use_of_types and label:
        fields[use_of_types] = label
    # A split is a part of the benchmark unless the rows say their parts themselves.
    if splits and not fields.get("part"):
        fields["part"] = draft.row.split
    fields |= {"image": draft.image, "target": answer.target, "options": list(answer.options)}
    order = ("id", "prompt", "target", "image", "type", "options", "part", "cluster")
    # empty fields are left out, as `Item.to_dict` does
    record = {name: fields[name] for name in order if fields.get(name) not in (None, "", [])}
    # `model_construct` validates nothing: the same valid card is copied for every row, and only its
    # task differs.
    card = Card.model_construct(**{**_PLAIN.__dict__, "task": task})
    item_of(record, card, draft.row.location)
    return record


_PLAIN = Card(name="new", title="New", version="1", task="caption")
