"""Which column of a source is which field of an item: told from the names, or said with
`--columns`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hqm.errors import DataError, UsageError
from hqm.types import LETTERS

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

_SAID = {
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
    said: frozenset[str] = frozenset()
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
    names = [*COLUMNS, *_SAID]
    said: dict[str, str] = {}
    for text in texts:
        # a comma separates only where a field follows, since a column's name may hold one
        for pair in re.split(rf",(?=\s*(?:{'|'.join(names)})\s*=)", text):
            name, equals, column = pair.partition("=")
            field = _SAID.get(name.strip(), name.strip())
            if not equals or field not in COLUMNS:
                remedy = f"Write FIELD=COLUMN; the fields are {', '.join(names)}."
                raise UsageError(f"--columns {pair.strip()!r} names no field", remedy=remedy)
            if field in said:
                raise UsageError(
                    f"--columns names the field {field!r} twice", remedy="Keep one of the two."
                )
            said[field] = column.strip()
    return said


def choose_columns(
    columns: Sequence[str], pictures: Sequence[str], said: Mapping[str, str], place: str
) -> Chosen:
    """The column of every field.

    Parameters
    ----------
    columns, pictures
        The source's columns, and those that hold pictures by their type.
    said
        What `parse_columns` read.

    Raises
    ------
    DataError
        No column has the questions, or a named column is not there.
    """
    there = ", ".join(map(repr, columns)) or "none"
    for field, column in said.items():
        if column and column not in columns:
            remedy = f"The columns are {there}."
            raise DataError(
                f"there is no column {column!r} for the field {field!r}", place=place, remedy=remedy
            )
    taken = {column for column in said.values() if column}
    normal: dict[str, str] = {}
    for column in columns:
        if column not in taken:
            normal.setdefault(re.sub(r"[\s-]+", "_", column.strip().lower()), column)
    fields = {field: column for field, column in said.items() if column}
    for field, names in COLUMNS.items():
        if field not in said:
            named = next((normal[name] for name in names if name in normal), None)
            if field == "image":
                named = _picture_column(named, [name for name in pictures if name not in taken])
            if named is not None:
                fields[field] = named
    if "prompt" not in fields:
        what = f"no column has the questions (there are {there})"
        raise DataError(
            what,
            place=place,
            remedy="Name it question, or say which it is: --columns question=NAME.",
        )
    letters: tuple[str, ...] = ()
    if "options" not in fields and said.get("options") != "" and {"A", "B"} <= set(columns):
        letters = tuple(letter for letter in LETTERS if letter in columns and letter not in taken)
    index = normal.get("index") or said.get("id") or fields.get("id", "")
    if fields.get("id") == "index":
        index = "index"
    ordered = {field: fields[field] for field in COLUMNS if field in fields}
    return Chosen(ordered, letters, index if "image" in ordered else "", frozenset(said))


def _picture_column(named: str | None, pictures: Sequence[str]) -> str | None:
    """A column of pictures goes before one of names (MathVista: `image` is a path, `decoded_image`
    the picture).
    """
    if named in pictures:
        return named
    return pictures[0] if len(pictures) == 1 else named
