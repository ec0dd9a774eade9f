"""Read files of records as they circulate: JSON lines, JSON arrays, concatenated objects, CSV,
TSV, Excel sheets, Parquet.

`read_records` reads a whole file, `open_table` one row after another. The kind of JSON is
recognised from the content, not from the file's name: POPE's `.json` files are JSON lines, and one
of its caption files is a sequence of pretty-printed objects. Everything else is recognised by the
suffix. What cannot be read is reported with its line, and so is what would be read wrongly: a key
or a column that stands twice, a quote that is not closed.
"""

from __future__ import annotations

import ast
import csv
import io
import json
import re
import stat
import tomllib
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice, zip_longest
from pathlib import Path, PurePath
from typing import Any, Protocol, TextIO

from hqm.errors import DataError
from hqm.files.dialect import check_nameless, delimiter_of, encoding_of, nameless_columns
from hqm.files.memory import remembered
from hqm.files.whole import write_text
from hqm.text import unique_columns, visible_text

# for every reader of CSV: Python's own limit of 131,072 characters a field is shorter than some
# answers
csv.field_size_limit(1 << 30)


def unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return a JSON object; DataError where a key stands twice, as its value would be ambiguous."""
    record = dict(pairs)
    if len(record) != len(pairs):
        names = [name for name, _ in pairs]
        duplicate = next(name for name in names if names.count(name) > 1)
        beginning = ", ".join(f"{name}={value!r:.40}" for name, value in pairs[:2])
        raise DataError(
            f"the key {duplicate!r} stands twice in the object {beginning}, ...",
            remedy="Keep one of the two.",
        )
    return record


_DECODER = json.JSONDecoder(object_pairs_hook=unique_keys)
_BLANK = re.compile(r"\s+")


@contextmanager
def _json(location: str, line: int | None = None) -> Iterator[None]:
    """Turn what the JSON reader raises into one sentence; `line` is where the value begins, if that
    is known.
    """
    value_location = location if line is None else f"{location}:{line}"
    try:
        yield
    except json.JSONDecodeError as error:
        raise DataError(
            f"it is not JSON: {error.msg} (column {error.colno})",
            location=f"{location}:{error.lineno}",
        ) from None
    except DataError as error:
        raise DataError(error.message, location=value_location, remedy=error.remedy) from None
    except RecursionError:
        raise DataError(
            "it is nested too deeply", location=value_location, remedy="Flatten the record."
        ) from None
    except UnicodeDecodeError:
        raise
    except ValueError as error:  # a number of more than 4,300 digits
        raise DataError(
            f"it cannot be read: {str(error).partition(';')[0]}", location=value_location
        ) from None


_GZIP = b"\x1f\x8b"
_ZIP = b"PK\x03\x04"
_MAX_TEXT_BYTES = 1 << 30


def _gunzip(raw: bytes, path: Path) -> bytes:
    """Return the bytes that gzip compressed, at most a gigabyte."""
    text = b""
    # a file that was appended to has a member for each time
    while raw:
        # wbits 31: gzip's header and checksum, and no other format.
        unpacker = zlib.decompressobj(wbits=31)
        try:
            text += unpacker.decompress(raw, _MAX_TEXT_BYTES - len(text))
        except zlib.error as error:
            raise DataError(f"gzip cannot unpack it: {error}", location=str(path)) from None
        if not unpacker.eof or len(text) >= _MAX_TEXT_BYTES:
            raise DataError("it is cut off, or larger than 1 GiB unpacked", location=str(path))
        raw = unpacker.unused_data.lstrip(b"\0")
    return text


def check_is_file(path: Path) -> None:
    """Raise DataError for a pipe or an endless device; a missing file is checked elsewhere."""
    try:
        kind = path.stat().st_mode
    except (OSError, ValueError):
        return
    endless_kinds = (stat.S_IFIFO, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFSOCK)
    if stat.S_IFMT(kind) in endless_kinds and path.name != "null":
        raise DataError(
            "it is a pipe or a device, and no file",
            location=str(path),
            remedy="Write what comes out of it into a file.",
        )


@remembered
def read_text(path: Path | str, encoding: str = "utf-8") -> str:
    """The text of a file, its byte-order mark removed; of a missing file, that of the file with
    `.gz` behind its name. What gzip packed is unpacked. A byte-order mark of UTF-16 or UTF-32 goes
    before the encoding.

    Raises
    ------
    DataError
        The file is missing, or not in the encoding; the sentence names the first bad byte.
    """
    path = Path(path)
    check_is_file(path)
    try:
        gzip_path = path.with_name(f"{path.name}.gz")
        raw = (gzip_path if gzip_path.is_file() and not path.exists() else path).read_bytes()
        raw = _gunzip(raw, path) if raw[:2] == _GZIP else raw
        encoding = encoding_of(raw, encoding)
        text = raw.decode(encoding)
    except FileNotFoundError:
        raise DataError(
            "there is no such file",
            location=str(path),
            remedy="Correct the path, or fetch the data.",
        ) from None
    except IsADirectoryError:
        raise DataError(
            "it is a folder, not a file", location=str(path), remedy="Name a file inside it."
        ) from None
    except OSError as error:
        raise DataError(f"it cannot be read: {error.strerror}", location=str(path)) from None
    except LookupError:
        reason = f"there is no encoding {encoding!r}"
        remedy = "Name one that Python knows in the card, such as utf-8."
        raise DataError(reason, location=str(path), remedy=remedy) from None
    except ValueError as error:
        if not isinstance(error, UnicodeDecodeError):  # a path with a NUL character
            raise DataError(f"it cannot be read: {error}", location=str(path)) from None
        if error.object.startswith(_ZIP):
            raise DataError(
                "it is a zip archive", location=str(path), remedy=_CONVERSION_REMEDIES[".zip"]
            ) from None
        raise DataError(
            f"byte {error.start} (0x{error.object[error.start]:02x}) is not {encoding}",
            location=str(path),
            remedy="Save the file as UTF-8, or name its encoding in the card.",
        ) from None
    return text.removeprefix("\ufeff")


def read_json(path: Path | str) -> Any:
    """One JSON document."""
    return parse_json(read_text(path), str(path))


def parse_json(text: str, location: str) -> Any:
    """The value that a text writes as JSON.

    Raises
    ------
    DataError
        It is not JSON, a key stands twice in an object, or it is nested too deeply.
    """
    with _json(location):
        return json.loads(text, object_pairs_hook=unique_keys)


def read_records(path: Path | str, encoding: str = "utf-8") -> list[dict[str, Any]]:
    """Read the records of a file, whatever its shape.

    Parameters
    ----------
    path
        JSON lines, a JSON array of objects, objects one after another; by their suffixes CSV, TSV,
        Excel sheets (every cell a text) and Parquet (a pattern such as `data/test-*.parquet` names
        several, and pictures in the rows become names).

    Returns
    -------
    list of dict
        The records, in the order of the file.

    Raises
    ------
    DataError
        The file cannot be read, or a record is not a JSON object; the place is given with the line.
    """
    # a memory keeps what was parsed, and callers may change their records
    return list(map(dict, _parse_records(path, encoding)))


@remembered
def _parse_records(path: Path | str, encoding: str) -> list[dict[str, object]]:
    path = Path(path)
    check_is_file(path)
    if path.suffix.lower() == ".parquet":
        from hqm.files.parquet import read_rows

        return read_rows(path)
    if path.suffix.lower() == ".xlsx":
        from hqm.files.archives import sheet_rows

        return sheet_rows(path)
    text = read_text(path, encoding)
    if is_table(text, path):
        return list(_complete_rows(text, path))
    if _is_array(text):
        records = parse_json(text, str(path))
        return [
            _require_object(record, f"{path}: record {i}") for i, record in enumerate(records, 1)
        ]
    suffix = _plain_path(path).suffix.lower()
    if text.lstrip()[:1] not in ("", "{") and suffix not in _JSON_SUFFIXES:
        raise _unread_kind(suffix, str(path))
    records = _plain_lines(text)
    if records is None:
        return list(_concatenated(text, path))
    return records


def file_stem(path: PurePath | str) -> str:
    """Return the name of a file without its ending, and without that of gzip.

    >>> file_stem("a/v1.5.jsonl.gz"), file_stem("b\\\\m.csv")
    ('v1.5', 'm')
    """
    name = PurePath(str(path).replace("\\", "/")).name
    if name.lower().endswith(".gz"):
        name = name[: -len(".gz")]
    return PurePath(name).stem


def is_table(text: str, path: Path) -> bool:
    """Return whether a text is a table with a heading; a `.txt` file has one, or JSON."""
    name = path.name.lower().removesuffix(".gz")
    ends = (".csv", ".tsv") if text.lstrip()[:1] in ("{", "[") else (".csv", ".tsv", ".txt")
    return name.endswith(ends)


def located_records(
    path: Path | str, encoding: str = "utf-8"
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Read records, each with its place for messages: `answers.json: record 3`."""
    for i, record in enumerate(read_records(path, encoding), 1):
        yield f"{path}: record {i}", record


def first_record(path: Path | str) -> list[dict[str, object]]:
    """The first record of a file; of JSON lines and objects no more is decoded.

    Raises
    ------
    DataError
        As `read_records`, of what is decoded.
    """
    path = Path(path)
    if path.suffix.lower() in (".parquet", ".csv", ".tsv", ".xlsx"):
        return read_records(path)[:1]
    text = read_text(path)
    if is_table(text, path) or _is_array(text):
        return read_records(path)[:1]
    return list(islice(_concatenated(text, path), 1))


def _is_array(text: str) -> bool:
    blank = _BLANK.match(text)
    return text.startswith("[", blank.end() if blank else 0)


def write_records(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    """Write records as JSON lines, whole or not at all."""
    write_text(path, "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows))


def _complete_rows(text: str, path: Path) -> Iterator[dict[str, object]]:
    for line, row in csv_rows(text, str(path)):
        if None in row or None in row.values():
            raise DataError(
                f"the row does not have {len(row.keys() - {None})} fields, as the heading",
                location=f"{path}:{line}",
                remedy="Quote cells that hold the separator. Remove lines above the heading.",
            )
        yield row


def csv_rows(text: str, location: str) -> Iterator[tuple[int, dict[Any, Any]]]:
    """The rows of a CSV text, each with its first line; a row of another length than the heading
    holds None.
    """
    lines = _Lines(io.StringIO(text, newline=""), location)
    delimiter = delimiter_of(text, PurePath(location.removesuffix(".gz")).suffix)
    rows = text_rows(lines, delimiter, lambda number, line: f"{location}:{line}")
    _, _, heading = next(rows, (0, 1, []))
    names = list(map(str.strip, map(visible_text, heading)))
    nameless = nameless_columns(names)
    unique_columns(list(filter(None, names)), f"{location}:1")
    for _, line, cells in rows:
        row = dict(zip_longest(names, cells))
        if nameless:
            check_nameless(cells, nameless, f"{location}:{line}")
            del row[""]
        yield line, row


def text_rows(
    lines: _Lines, delimiter: str, locate: Callable[[int, int], str]
) -> Iterator[tuple[int, int, list[str]]]:
    """Yield each row's number (the heading is 0), first line and cells; blank lines are skipped.

    Quotes are taken strictly: a quote that is not closed would swallow the rows behind it. `locate`
    names a row by its number and its first line.
    """
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    number = 0
    first_line = 1
    heading: list[str] = []
    while True:
        lines.begin()
        # A `for` loop could not say in which line the reader failed.
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise DataError(
                f"it is no CSV: {error}",
                location=locate(number, first_line),
                remedy="Close every quote, and double the quotes inside a quoted cell.",
            ) from None
        if cells:
            heading = heading or list(map(str.strip, cells))
            _check_cells(cells, heading if number else (), locate(number, first_line))
            yield number, first_line, cells
            number += 1
        first_line = lines.number + 1


def _plain_lines(text: str) -> list[dict[str, object]] | None:
    """Return the objects of JSON lines, decoded in one call; None where they need a closer look."""
    text = text.strip()
    breaks = text.count("}\n{")
    if not text.startswith("{"):
        return None
    try:
        records = json.loads(f"[{text.replace('}' + chr(10) + '{', '},{')}]")
    except (ValueError, RecursionError):
        return None
    # a break between all of them, so each is an object
    if len(records) != breaks + 1:
        return None
    # every key has a colon behind it: as many as there are keys, beside those in texts and in what
    # lies inside a record, mean that no key stands twice
    n_colons = text.count(":")
    n_keys = sum(map(len, records))
    if n_colons != n_keys and n_colons != n_keys + _count_inner_colons(records, text):
        return None
    return records  # type: ignore[no-any-return]


def _count_inner_colons(records: list[dict[str, object]], text: str) -> int:
    """How many colons the values of records have, written as Python writes them; -1 where a colon
    is written as an escape, so that the text has fewer.
    """
    if "\\u003" in text:
        return -1
    # an object inside a record has as many colons in Python's notation as in JSON
    return "".join(map(str, chain.from_iterable(map(dict.values, records)))).count(":")


def _concatenated(text: str, path: Path) -> Iterable[dict[str, object]]:
    """The objects that follow one another, each on one line or on several."""
    position = 0
    end = len(text)
    decode = _DECODER.raw_decode
    blank = _BLANK.match
    while True:
        if space := blank(text, position):
            position = space.end()
        if position == end:
            return
        try:
            record, position = decode(text, position)
        except (ValueError, DataError, RecursionError):
            # read again, only to say where: the line of every record would take long to count
            with _json(str(path), text.count("\n", 0, position) + 1):
                _DECODER.raw_decode(text, position)
            raise
        if not isinstance(record, dict):
            _require_object(record, f"{path}:{text.count(chr(10), 0, position) + 1}")
        yield record


def _require_object(record: object, location: str) -> dict[str, object]:
    """A record; a list of objects is one whose fields are the objects' places in it."""
    if isinstance(record, list) and record and all(isinstance(value, dict) for value in record):
        return dict(zip(map(str, range(len(record))), record, strict=True))
    if not isinstance(record, dict):
        raise DataError(
            f"a record must be a JSON object, not {type(record).__name__}", location=location
        )
    return record


def parse_value(text: str) -> object:
    """The value that a cell writes as JSON or as Python does; None where it writes none.

    >>> parse_value('["a", "b"]'), parse_value("['a', 'b']"), parse_value("[a")
    (['a', 'b'], ['a', 'b'], None)
    """
    for parser in (json.loads, ast.literal_eval):
        # literal_eval raises any of these, MemoryError of deep nesting.
        with suppress(ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            return parser(text)
    return None


MAX_NAMED_FIELDS = 5
"""How many fields, names or ids an error lists."""


def name_fields(names: Iterable[str]) -> str:
    """List fields: the first few, and how many more.

    >>> name_fields("abcdefg"), name_fields("abcde"), name_fields([])
    ("'a', 'b', 'c', 'd', 'e' and 2 more", "'a', 'b', 'c', 'd', 'e'", 'none')
    """
    listed_names = list(map(repr, names))
    n_more = len(listed_names) - MAX_NAMED_FIELDS
    listed = ", ".join(listed_names[:MAX_NAMED_FIELDS]) or "none"
    if n_more > 0:
        return f"{listed} and {n_more} more"
    return listed


def required_field(record: Mapping[str, object], name: str, location: str) -> Any:
    """A field of a record; when it is missing, the error names some of those that there are."""
    if name not in record:
        raise DataError(
            f"the field {name!r} is missing (there are {name_fields(record)})",
            location=location,
            remedy="Rename the field, or map it in the card's [fields].",
        )
    return record[name]


def whole_number(value: object, name: str, location: str) -> int:
    """A count from 0 on, also as the text that a CSV file has.

    >>> whole_number("2", "run", "answers.csv:3")
    2
    """
    text = value.strip() if isinstance(value, str) else repr(value)
    # No count here has ten digits, and int() refuses thousands of them with an error of its own.
    if isinstance(value, bool) or not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise DataError(
            f"the {name} is {value!r:.60}, which is no count",
            location=location,
            remedy=f"Write {name} 0, 1, 2, ...",
        )
    return int(text)


# --- row by row: files that may hold gigabytes of pictures, and may be broken anywhere ---

MAX_ROW_CHARS = 256 * 1024 * 1024
"""The most characters that one row of a text file may have; a picture of 64 MiB has 86 million in
base64.
"""
MAX_ROW_MIB = MAX_ROW_CHARS >> 20

Cells = dict[str, object]
SUFFIXES = (".csv", ".tsv", ".txt", ".xlsx", ".json", ".jsonl", ".ndjson", ".parquet", ".arrow")
"""The files that `open_table` reads, by the ends of their names."""
_JSON_SUFFIXES = (".json", ".jsonl", ".ndjson")
_READABLE_KINDS = "Known are CSV, TSV, Excel, JSON, JSON lines, Parquet and Arrow."
_CONVERSION_REMEDIES = {
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
    label = label or str(path)
    suffix = _plain_path(path).suffix.lower()
    correct = "Correct the path."
    try:
        if path.is_dir():
            remedy = "Name a file inside it."
            raise DataError("it is a folder, not a file", location=label, remedy=remedy)
        if not path.exists():
            raise DataError("there is no such file", location=label, remedy=correct)
        check_is_file(path)
    except ValueError as error:  # a path with a NUL character
        raise DataError(f"it cannot be read: {error}", location=label, remedy=correct) from None
    if suffix in (".parquet", ".arrow", ".xlsx") and path.suffix.lower() == ".gz":
        suffix = ".gz"
    if suffix in (".parquet", ".arrow"):
        from hqm.files.parquet import ArrowTable

        return ArrowTable(path, label)
    if suffix in (*_JSON_SUFFIXES, ".xlsx"):
        return RecordTable(path, label)
    if suffix in (".csv", ".tsv", ".txt"):
        return TextTable(path, label)
    raise _unread_kind(suffix, label)


def _unread_kind(suffix: str, location: str) -> DataError:
    """Return the error of a file of a kind that is not read."""
    reason = f"files of the kind {suffix!r} are not read"
    if not suffix:
        reason = "its name does not say what kind of file it is"
    remedy = _CONVERSION_REMEDIES.get(suffix, _READABLE_KINDS)
    return DataError(reason, location=location, remedy=remedy)


def _plain_path(path: Path) -> Path:
    """The path of a file without the ending of gzip."""
    return path.with_suffix("") if path.suffix.lower() == ".gz" else path


@dataclass(frozen=True)
class TextTable:
    """Text with a heading and commas, semicolons, tabs or | between the cells, quoted as Python's
    `csv` and pandas write it.
    """

    path: Path
    label: str

    pictures = ()

    @cached_property
    def _delimiter(self) -> str:
        with self._opened() as file:
            return delimiter_of(file.read(1 << 16), _plain_path(self.path).suffix)

    @cached_property
    def _heading(self) -> tuple[str, ...]:
        with self._opened() as file:
            _, _, heading = next(self._records(file), (0, 1, []))
        names = tuple(map(str.strip, map(visible_text, heading)))
        for name in names:
            _check_text(name, f"{self.label}: heading")
        unique_columns(list(filter(None, names)), f"{self.label}: heading")
        return names

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return (
            tuple(filter(None, self._heading)) if nameless_columns(self._heading) else self._heading
        )

    def rows(self, columns: Sequence[str]) -> Iterator[tuple[str, Cells]]:
        heading = self._heading
        nameless = nameless_columns(heading)
        selected = [(name, heading.index(name)) for name in columns]
        with self._opened() as file:
            records = self._records(file)
            next(records, None)
            for number, line, cells in records:
                location = self._locate(number, line)
                if len(cells) != len(heading):
                    raise DataError(
                        f"the row does not have {len(heading)} fields, as the heading"
                        f" does, but {len(cells)}",
                        location=location,
                        remedy="Put quotes around cells that hold the delimiter or line ends.",
                    )
                check_nameless(cells, nameless, location)
                for name, index in selected:
                    _check_text(cells[index], f"{location}, column {name!r}")
                yield location, {name: cells[index] for name, index in selected}

    def _opened(self) -> TextIO:
        try:
            with self.path.open("rb") as raw:
                encoding = encoding_of(raw.read(4), "utf-8-sig")
            if encoding != "utf-8-sig" or _plain_path(self.path) != self.path:
                return io.StringIO(read_text(self.path), newline="")
            # bytes that are no UTF-8 come through as lone surrogates, so that the cell that has
            # them can be named
            return self.path.open(encoding=encoding, errors="surrogateescape", newline="")
        except OSError as error:
            raise DataError(f"it cannot be read: {error.strerror}", location=self.label) from None

    def _records(self, file: TextIO) -> Iterator[tuple[int, int, list[str]]]:
        return text_rows(_Lines(file, self.label), self._delimiter, self._locate)

    def _locate(self, number: int, line: int) -> str:
        return f"{self.label}: {f'row {number}' if number else 'heading'} (line {line})"


class _Lines:
    """The lines of a file, counted; a record that goes on for too long ends the reading."""

    def __init__(self, file: TextIO, label: str) -> None:
        self.file = file
        self.label = label
        self.number = 0
        self.begin()

    def begin(self) -> None:
        self._n_remaining = MAX_ROW_CHARS
        self._first_line = self.number + 1

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        # One character more than is left, so that a longer row is noticed without being read.
        line = self.file.readline(self._n_remaining + 1)
        self.number = self.number + 1
        self._n_remaining = self._n_remaining - len(line)
        if self._n_remaining < 0:
            raise DataError(
                f"the row that begins in line {self._first_line} has more than {MAX_ROW_MIB}"
                " million characters",
                location=self.label,
                remedy="Close every quote, or make the pictures smaller.",
            )
        if not line:
            raise StopIteration
        return line


@dataclass(frozen=True)
class RecordTable:
    """JSON lines, objects one after another, one JSON array of objects, or a sheet of Excel, read
    at once.
    """

    path: Path
    label: str

    pictures = ()

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(map(str, chain.from_iterable(self.records))))

    def rows(self, columns: Sequence[str]) -> Iterator[tuple[str, Cells]]:
        for number, record in enumerate(self.records, 1):
            location = f"{self.label}: row {number}"
            cells = {name: record.get(name) for name in columns}
            for name, value in cells.items():
                if isinstance(value, str):
                    _check_text(value, f"{location}, column {name!r}")
            yield location, cells

    @cached_property
    def records(self) -> list[dict[str, object]]:
        """The rows of the file."""
        if self.path.suffix.lower() == ".xlsx":
            return read_records(self.path)
        size = self.path.stat().st_size
        if size > _MAX_TEXT_BYTES:
            raise DataError(
                f"it has {size >> 20} MiB, and JSON is read at once",
                location=self.label,
                remedy="Write it as CSV, TSV or Parquet.",
            )
        try:
            return read_records(self.path)
        except DataError as error:
            raise DataError(
                error.message,
                location=error.location.replace(str(self.path), self.label, 1),
                remedy=error.remedy
                or "Write JSON lines (an object a line), or one array of objects.",
            ) from None


def _check_cells(cells: Sequence[str], heading: Sequence[str], location: str) -> None:
    """Refuse what no store can hold, by the column that holds it."""
    try:
        _check_text("".join(cells), location)
    except DataError:
        for name, cell in zip(heading, cells, strict=False):
            _check_text(cell, f"{location}, column {name!r}")
        raise


def _check_text(text: str, location: str) -> None:
    """Refuse what no store can hold: NUL, and what is no character."""
    if "\0" in text:
        raise DataError(
            "it has the character NUL",
            location=location,
            remedy="Remove it, and save the file as UTF-8.",
        )
    # most texts are, and need no look at each character
    if text.isascii():
        return
    surrogate = next((character for character in text if "\ud800" <= character <= "\udfff"), None)
    if surrogate is not None:
        if "\udc80" <= surrogate <= "\udcff":
            byte = f"the byte 0x{ord(surrogate) - 0xDC00:02x}"
        else:
            byte = "half of a character"
        raise DataError(
            f"it has {byte}, which is not UTF-8",
            location=location,
            remedy="Save the file as UTF-8.",
        )


def read_toml(path: Path | str) -> dict[str, object]:
    """The data of a TOML file, in whichever encoding its byte-order mark names.

    Raises
    ------
    DataError
        As `read_text` and `parse_toml`; it names the file.
    """
    try:
        return parse_toml(read_text(path))
    except DataError as error:
        raise DataError(error.message, location=str(path), remedy=error.remedy) from None


def parse_toml(text: str) -> dict[str, object]:
    """The data of a TOML text.

    Raises
    ------
    DataError
        It is no TOML, holds a number with more digits than Python reads, or is nested too deeply;
        it has no place yet.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"it is no TOML: {error}") from None
    except RecursionError:
        raise DataError(
            "its lists or tables are nested too deeply", remedy="Write it flatter."
        ) from None
    except ValueError as error:
        # an integer of more than 4,300 digits, a date that does not exist
        raise DataError(
            f"it holds a value that cannot be read: {str(error).partition(';')[0]}"
        ) from None
