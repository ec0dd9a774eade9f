"""Files of rows that others wrote, row by row and with the place of each: CSV and tab-separated
text, JSON, Parquet, Arrow.

`hqm.files.records` reads a whole file that a card describes. Here the file is somebody else's, may
hold gigabytes of pictures and may be broken anywhere: rows come one after another, and whatever is
wrong names the file and the row.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TextIO

from hqm.errors import DataError
from hqm.files.records import no_key_twice, read_records

LONGEST_ROW = 256 * 1024 * 1024
"""The most characters that one row of a text file may have; a picture of 64 MiB has 86 million in
base64.
"""
LONGEST_ROWS_MIB = LONGEST_ROW >> 20

Cells = dict[str, Any]
SUFFIXES = (".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".parquet", ".arrow")
"""The files that `open_table` reads, by the ends of their names."""
_KNOWN = "Known are CSV, TSV, JSON, JSON lines, Parquet and Arrow."
_INSTEAD = {
    ".xlsx": "Save the sheet as CSV.",
    ".xls": "Save the sheet as CSV.",
    ".pkl": "A pickle can run code when it is opened: save it as CSV, JSON lines or Parquet.",
    ".pickle": "A pickle can run code when it is opened: save it as CSV, JSON lines or Parquet.",
    ".zip": (
        "Unpack it and name the file or folder inside; pictures in a zip are named with --images."
    ),
    ".gz": "Unpack it first.",
}


class Table(Protocol):
    """One file of rows."""

    @property
    def label(self) -> str:
        """What errors call the file."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns, in their order."""

    @property
    def pictures(self) -> tuple[str, ...]:
        """The columns that hold pictures by their type; of a text file none."""

    def rows(self, columns: Sequence[str]) -> Iterator[tuple[str, Cells]]:
        """The cells of these columns, row by row, each with its place."""


def open_table(path: Path, label: str = "") -> Table:
    """The rows of a file, whose kind its name tells.

    Raises
    ------
    DataError
        The file is missing, a folder, or of a kind that is not read.
    """
    label, suffix = label or str(path), path.suffix.lower()
    try:
        if path.is_dir():
            raise DataError(
                "it is a folder, not a file", place=label, remedy="Name a file inside it."
            )
        if not path.exists():
            raise DataError("there is no such file", place=label, remedy="Correct the path.")
    except ValueError as error:  # a path with a NUL character
        raise DataError(
            f"it cannot be read: {error}", place=label, remedy="Correct the path."
        ) from None
    if suffix in (".parquet", ".arrow"):
        from hqm.files.arrow import ArrowTable

        return ArrowTable(path, label)
    if suffix in (".json", ".jsonl", ".ndjson"):
        return JsonTable(path, label)
    if suffix in (".csv", ".tsv", ".txt"):
        return TextTable(path, label)
    what = (
        f"files of the kind {suffix!r} are not read"
        if suffix
        else "its name does not say what kind of file it is"
    )
    raise DataError(what, place=label, remedy=_INSTEAD.get(suffix, _KNOWN))


@dataclass(frozen=True)
class TextTable:
    """Text with a heading and commas, semicolons or tabs between the cells, quoted as Python's
    `csv` and pandas write it.
    """

    path: Path
    label: str

    pictures = ()

    @cached_property
    def _delimiter(self) -> str:
        if self.path.suffix.lower() == ".tsv":
            return "\t"
        with self._opened() as file:
            heading = file.readline(1 << 20)
        return max(",;\t", key=heading.count)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        with self._opened() as file:
            heading = next(self._records(_Lines(file, self.label)), (0, 0, []))[2]
        names = tuple(name.strip() for name in heading)
        for name in names:
            _check_text(name, f"{self.label}: heading")
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            what = f"the column {twice!r} stands twice"
            raise DataError(
                what, place=f"{self.label}: heading", remedy="Rename or remove one of the two."
            )
        return names

    def rows(self, columns: Sequence[str]) -> Iterator[tuple[str, Cells]]:
        chosen = [(name, self.columns.index(name)) for name in columns]
        with self._opened() as file:
            records = self._records(_Lines(file, self.label))
            next(records, None)
            for number, line, cells in records:
                place = f"{self.label}: row {number} (line {line})"
                if len(cells) != len(self.columns):
                    what = (
                        f"the row does not have {len(self.columns)} fields, as the heading does,"
                        f" but {len(cells)}"
                    )
                    remedy = "Put quotes around cells that hold the delimiter or line ends."
                    raise DataError(what, place=place, remedy=remedy)
                for name, index in chosen:
                    _check_text(cells[index], f"{place}, column {name!r}")
                yield place, {name: cells[index] for name, index in chosen}

    def _opened(self) -> TextIO:
        try:
            with self.path.open("rb") as raw:
                mark = raw.read(2)
            if mark in (b"\xff\xfe", b"\xfe\xff"):
                raise DataError(
                    "it is UTF-16, not UTF-8", place=self.label, remedy="Save the file as UTF-8."
                )
            # bytes that are no UTF-8 come through as lone surrogates, so that the cell that has
            # them can be named
            return self.path.open(encoding="utf-8-sig", errors="surrogateescape", newline="")
        except OSError as error:
            raise DataError(f"it cannot be read: {error.strerror}", place=self.label) from None

    def _records(self, lines: _Lines) -> Iterator[tuple[int, int, list[str]]]:
        """Number (the heading is 0), first line and cells of every record; blank lines are none."""
        reader = csv.reader(lines, delimiter=self._delimiter, strict=True)
        number, begins = 0, 1
        while True:
            lines.begin()
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                place = f"{self.label}: {f'row {number}' if number else 'heading'} (line {begins})"
                remedy = "Close every quote, and double the quotes inside a quoted cell."
                raise DataError(f"it is no CSV: {error}", place=place, remedy=remedy) from None
            if cells:
                yield number, begins, cells
                number += 1
            begins = lines.number + 1


class _Lines:
    """The lines of a file, counted; a record that goes on for too long ends the reading."""

    def __init__(self, file: TextIO, label: str) -> None:
        self.file, self.label, self.number, self._left, self._begins = (
            file,
            label,
            0,
            LONGEST_ROW,
            1,
        )

    def begin(self) -> None:
        self._left, self._begins = LONGEST_ROW, self.number + 1

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = self.file.readline(self._left + 1)
        self.number, self._left = self.number + 1, self._left - len(line)
        if self._left < 0:
            what = (
                f"the row that begins in line {self._begins} has more than {LONGEST_ROWS_MIB}"
                " million characters"
            )
            raise DataError(
                what, place=self.label, remedy="Close every quote, or make the pictures smaller."
            )
        if not line:
            raise StopIteration
        return line


@dataclass(frozen=True)
class JsonTable:
    """JSON lines, which are read line by line, or one JSON array of objects."""

    path: Path
    label: str

    pictures = ()

    @cached_property
    def columns(self) -> tuple[str, ...]:
        names: dict[str, None] = {}
        for _, record in self._records():
            names.update(dict.fromkeys(map(str, record)))
        return tuple(names)

    def rows(self, columns: Sequence[str]) -> Iterator[tuple[str, Cells]]:
        for place, record in self._records():
            cells = {name: record.get(name) for name in columns}
            for name, value in cells.items():
                if isinstance(value, str):
                    _check_text(value, f"{place}, column {name!r}")
            yield place, cells

    @cached_property
    def _whole(self) -> list[dict[str, Any]] | None:
        """The records of a file that is not JSON lines; None where each line is an object of its
        own.
        """
        try:
            with self.path.open("rb") as file:
                first = (
                    next((line for line in file if line.strip()), b"")
                    .strip()
                    .removeprefix(b"\xef\xbb\xbf")
                )
        except OSError as error:
            raise DataError(f"it cannot be read: {error.strerror}", place=self.label) from None
        if first.startswith(b"{") and (first.endswith(b"}") or self.path.suffix.lower() != ".json"):
            return None
        if self.path.stat().st_size > 4 * LONGEST_ROW:
            what = f"it has {self.path.stat().st_size >> 20} MiB, and a JSON array is read at once"
            raise DataError(
                what, place=self.label, remedy="Write it as JSON lines: an object a line."
            )
        try:
            return read_records(self.path)
        except DataError as error:
            place = error.place.replace(str(self.path), self.label, 1)
            remedy = error.remedy or "Write JSON lines (an object a line), or one array of objects."
            raise DataError(error.what, place=place, remedy=remedy) from None

    def _records(self) -> Iterator[tuple[str, dict[str, Any]]]:
        if self._whole is not None:
            for number, record in enumerate(self._whole, 1):
                yield f"{self.label}: row {number}", record
            return
        number = 0
        with self.path.open("rb") as file:
            for at, line in enumerate(_bounded(file, self.label), 1):
                if line.strip():
                    number += 1
                    place = f"{self.label}: row {number} (line {at})"
                    yield place, _object(line, place)


def _bounded(file: Any, label: str) -> Iterator[bytes]:
    number = 0
    while line := file.readline(LONGEST_ROW + 1):
        number += 1
        if len(line) > LONGEST_ROW:
            what = f"line {number} has more than {LONGEST_ROWS_MIB} million characters"
            raise DataError(what, place=label, remedy="Make the pictures smaller.")
        yield line


def _object(line: bytes, place: str) -> dict[str, Any]:
    remedy = "Write one JSON object a line."
    try:
        record = json.loads(line.decode("utf-8-sig"), object_pairs_hook=no_key_twice)
    except UnicodeDecodeError as error:
        what = f"byte {error.start} of the line (0x{error.object[error.start]:02x}) is not UTF-8"
        raise DataError(what, place=place, remedy="Save the file as UTF-8.") from None
    except json.JSONDecodeError as error:
        raise DataError(
            f"it is no JSON: {error.msg} (column {error.colno})", place=place, remedy=remedy
        ) from None
    except DataError as error:
        raise DataError(error.what, place=place, remedy=error.remedy) from None
    except RecursionError:
        raise DataError(
            "it is nested too deeply", place=place, remedy="Flatten the record."
        ) from None
    except ValueError as error:  # a number of more than 4,300 digits
        raise DataError(
            f"it cannot be read: {str(error).partition(';')[0]}", place=place, remedy=remedy
        ) from None
    if not isinstance(record, dict):
        raise DataError(
            f"a row must be a JSON object, not {type(record).__name__}", place=place, remedy=remedy
        )
    return record


def _check_text(text: str, place: str) -> None:
    """Refuse what no store can hold: NUL, and what is no character."""
    if "\0" in text:
        raise DataError(
            "it has the character NUL", place=place, remedy="Remove it, and save the file as UTF-8."
        )
    if text.isascii():
        return
    bad = next((character for character in text if "\ud800" <= character <= "\udfff"), None)
    if bad is not None:
        byte = (
            f"the byte 0x{ord(bad) - 0xDC00:02x}"
            if "\udc80" <= bad <= "\udcff"
            else "half of a character"
        )
        raise DataError(
            f"it has {byte}, which is not UTF-8", place=place, remedy="Save the file as UTF-8."
        )
