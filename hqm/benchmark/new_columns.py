"""Which column of a source of questions is which field of an item: chosen by the names, or named
with `--columns`; and columns that could be another one's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from hqm.benchmark.new_sources import Source
from hqm.errors import DataError
from hqm.imports.answer_table import columns_by_field
from hqm.imports.intake import plain_heading
from hqm.imports.layouts import cell_texts, heading_words
from hqm.imports.rival_columns import check_rivals, check_same_column
from hqm.imports.row import IDS, IMAGE_FILES, KEYS, QUESTIONS
from hqm.types import LETTERS, Task

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "id": ("id", *IDS),
    "prompt": ("question", "prompt", "query", "text", *QUESTIONS),
    "target": ("answer", *KEYS, "truth"),
    "image": ("image", "picture", "img", "file", *IMAGE_FILES, "image_src"),
    "type": ("type", "hallucination_type", "category"),
    "options": ("options", "choices"),
    "part": ("part", "split", "subset"),
    "cluster": ("cluster", "group"),
}
"""The fields of an item, and the names of columns that are taken for each; letter case and spaces
do not matter.
"""
# `ending0` is a column of SWAG, `choice1` one of COPA, and `A` one of VLMEvalKit's tables.
_OPTION_COLUMN = re.compile(
    r"([A-Za-z])|(?i:option|opt|choice|alternative|ending|candidate)[ _-]?([A-Za-z]|\d)"
    r"|(?i:answer)[ _-]?([A-Za-z])"
)
"""`A`, `Option A`, `option_b`, `choice1`, `ending0`."""
_UNREAD_KEYS = frozenset(
    "correct right solution key answers correct_option correct_choice correct_index answer_index"
    " answer_idx final_answer".split()
)
"""Names of columns that may hold the right answers, and are not read without being named."""

_USUAL_NAMES = frozenset(chain(("index",), _UNREAD_KEYS, *COLUMNS.values()))

_SYNONYMS = {
    "question": "prompt",
    "answer": "target",
    "picture": "image",
    "category": "type",
    "split": "part",
}
"""Other names of fields, as `--columns` takes them."""


@dataclass(frozen=True, slots=True)
class ColumnChoice:
    """The columns of a source that are read."""

    fields: Mapping[str, str]
    """Field of an item -> column."""
    letters: Mapping[str, str] = field(default_factory=dict)
    """A, B, C, ... -> the column that holds this option, where options have columns each."""
    index: str = ""
    """The column whose values an image cell may name in place of a picture."""
    specified: frozenset[str] = frozenset()
    """The fields whose columns `--columns` named."""

    @property
    def all(self) -> tuple[str, ...]:
        """Every column that is read, once."""
        return tuple(
            dict.fromkeys(
                [*self.fields.values(), *self.letters.values(), *filter(None, [self.index])]
            )
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
    columns: Sequence[str], pictures: Sequence[str], named_columns: Mapping[str, str], location: str
) -> ColumnChoice:
    """Choose the column of every field: the named one, else one with a usual name.

    Parameters
    ----------
    columns, pictures
        The source's columns, and those that hold pictures by their type.
    named_columns
        Field -> column, as `parse_columns` read it; an empty column means that the field has none.
    location
        The source, as errors name it.

    Raises
    ------
    DataError
        No column has the questions, or a named column is not there.
    """
    _check_named(columns, named_columns, location)
    fields = {name: column for name, column in named_columns.items() if column}
    assigned = frozenset(fields.values())
    free = [column for column in columns if column not in assigned]
    free_pictures = [picture for picture in pictures if picture not in assigned]
    by_usual_name = _by_usual_name(free)
    for field_name, usual_names in COLUMNS.items():
        if field_name not in named_columns:
            candidate = next(filter(None, map(by_usual_name.get, usual_names)), None)
            if field_name == "image":
                candidate = _picture_column(candidate, free_pictures)
            if candidate is not None:
                fields[field_name] = candidate
    _check_questions(columns, fields, location)
    # an empty `options` of --columns says that the columns A, B, ... are no options either
    has_options = "options" in fields or named_columns.get("options") == ""
    texts = [column for column in free if column not in pictures]
    letters = {} if has_options else _letter_columns(texts)
    index = ""
    if "image" in fields:
        # tables of VLMEvalKit hold a picture once: in further rows about it, the image cell is the
        # index of the row that has it
        index = by_usual_name.get("index") or named_columns.get("id") or fields.get("id", "")
    ordered = {name: fields[name] for name in COLUMNS if name in fields}
    return ColumnChoice(ordered, letters, index, frozenset(named_columns))


def _check_named(columns: Sequence[str], named_columns: Mapping[str, str], location: str) -> None:
    """Refuse a named column that the source does not have."""
    for name, column in named_columns.items():
        if column and column not in columns:
            raise DataError(
                f"there is no column {column!r} for the field {name!r}",
                location=location,
                remedy=f"The columns are {_listed_columns(columns)}.",
            )


def _check_questions(columns: Sequence[str], fields: Mapping[str, str], location: str) -> None:
    """Refuse a source in which no column has the questions."""
    if "prompt" not in fields:
        field_words = {"prompt": "question", "target": "answer", "image": "image"}
        missing = [f"{word}=NAME" for name, word in field_words.items() if name not in fields]
        raise DataError(
            f"no column has the questions (there are {_listed_columns(columns)})",
            location=location,
            remedy=f"Name it question, or say which it is: --columns {','.join(missing)}.",
        )


def other_key_columns(columns: Sequence[str], choice: ColumnChoice) -> list[str]:
    """Return the columns that could be that of the right answers by their names, and are none of
    those that are read.
    """
    if "target" not in choice.fields:
        return []
    rivals = []
    for name in COLUMNS["target"]:
        rivals += [c for c in columns if c not in choice.all and _usual_name(c) == name]
    return list(dict.fromkeys(rivals))


def _usual_name(column: str) -> str:
    """Return the usual name that a column has, else its own in lower case."""
    return heading_words(plain_heading(column, _USUAL_NAMES))


def _listed_columns(columns: Sequence[str]) -> str:
    return ", ".join(map(repr, columns)) or "none"


def _by_usual_name(columns: Sequence[str]) -> dict[str, str]:
    """Usual name -> the first column that is written so: `Answer Key` and `answerKey` are one."""
    names: dict[str, str] = {}
    for column in columns:
        names.setdefault(_usual_name(column), column)
    return names


def _letter_columns(columns: Sequence[str]) -> dict[str, str]:
    """Letter -> the column of this option; none unless there are those of A and B.

    >>> _letter_columns(["Question", "Option A", "Option B"])
    {'A': 'Option A', 'B': 'Option B'}
    """
    labels: dict[str, str] = {}
    for column in columns:
        match = _OPTION_COLUMN.fullmatch(column.strip())
        if match is not None:
            # the first column of a letter counts
            labels.setdefault((match[1] or match[2] or match[3]).upper(), column)
    start = 1 - ("0" in labels)  # numbers begin at 1, or at 0
    by_letter: dict[str, str] = {}
    for label, column in labels.items():
        letter = LETTERS[int(label) - start] if label.isdigit() else label
        by_letter.setdefault(letter, column)
    if not {"A", "B"} <= by_letter.keys():
        return {}
    return {letter: by_letter[letter] for letter in LETTERS if letter in by_letter}


def _picture_column(candidate: str | None, pictures: Sequence[str]) -> str | None:
    """A column of pictures goes before one of names (MathVista: `image` is a path, `decoded_image`
    the picture).
    """
    if candidate in pictures:
        return candidate
    return pictures[0] if len(pictures) == 1 else candidate


# --- columns that could be another one's ---


def check_same_names(source: Source, choice: ColumnChoice) -> None:
    """Refuse columns of one name in other cases that differ, of which one is read."""
    for field_name, read in choice.fields.items():
        if field_name in choice.specified:
            continue
        for column in source.columns:
            if column not in choice.all and _usual_name(column) == _usual_name(read):
                rows = [row.cells for row in source.rows([read, column])]
                cells = {name: cell_texts(rows, name) for name in (read, column)}
                check_same_column(cells, source.name)


def check_key_columns(source: Source, choice: ColumnChoice) -> None:
    """Refuse other columns of right answers that differ from the one that is read."""
    rivals = [] if "target" in choice.specified else other_key_columns(source.columns, choice)
    if not rivals:
        return
    names = [choice.fields["target"], *rivals]
    rows = [row.cells for row in source.rows(names)]
    cells = {name: cell_texts(rows, name) for name in names}
    check_rivals("answer", cells, source.name, are_keys=True)


def check_option_columns(source: Source, choice: ColumnChoice) -> None:
    """Refuse other columns of options whose texts are not, in their order, those that are read."""
    unread = [name for name in source.columns if name not in choice.all]
    rivals = [name for name in unread if _usual_name(name) in COLUMNS["options"]]
    rivals += _letter_columns(unread).values()
    read = [*filter(None, [choice.fields.get("options")]), *choice.letters.values()]
    if not read or not rivals or "options" in choice.specified:
        return
    for row in source.rows([*read, *rivals]):
        options = " ".join(str(row.cells[name]) for name in read)
        position = 0
        for name in rivals:
            if row.cells[name] in (None, ""):
                continue
            position = options.find(str(row.cells[name]), position)
            if position < 0:
                raise DataError(
                    f"the columns {read[0]!r} and {name!r} could both have the options, and differ:"
                    f" {options!r:.60} and {row.cells[name]!r:.60}",
                    location=row.location,
                    remedy="Remove one, or say which has them: --columns options=NAME.",
                )


def check_unread_keys(source: Source, choice: ColumnChoice, task: Task | None) -> None:
    """Refuse questions without right answers where another column may have them."""
    if task == "caption" or "target" in choice.fields or "target" in choice.specified:
        return
    names = [name for name in source.columns if _usual_name(name) in _UNREAD_KEYS]
    if names:
        raise DataError(
            f"no column is called answer, and {names[0]!r} may have the right answers",
            location=source.name,
            remedy=f"Say so: --columns answer={names[0]}; if none has them: --columns answer=.",
        )
