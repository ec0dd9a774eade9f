"""Read files of records as they circulate: JSON lines, JSON arrays, concatenated objects, CSV,
Parquet.

The kind of JSON is recognised from the content, not from the file's name: POPE's `.json` files are
JSON lines, and one of its caption files is a sequence of pretty-printed objects. CSV and Parquet
are recognised by the suffix. What cannot be read is reported with its line, and so is what would be
read wrongly: a key or a column that stands twice.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from hqm.errors import DataError

# for every reader of CSV: Python's own limit of 131,072 characters a field is shorter than some
# answers
csv.field_size_limit(1 << 30)


def no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, refused where a key stands twice: which of the two values is meant, nobody
    knows.
    """
    record = dict(pairs)
    if len(record) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        begins = ", ".join(f"{name}={value!r:.40}" for name, value in pairs[:2])
        raise DataError(
            f"the key {twice!r} stands twice in the object {begins}, ...",
            remedy="Keep one of the two.",
        )
    return record


_DECODER = json.JSONDecoder(object_pairs_hook=no_key_twice)
_BLANK = re.compile(r"\s+")


@contextmanager
def _json(place: str, line: int | None = None) -> Iterator[None]:
    """Turn what the JSON reader raises into one sentence; `line` is where the value begins, if that
    is known.
    """
    at = place if line is None else f"{place}:{line}"
    try:
        yield
    except json.JSONDecodeError as error:
        raise DataError(f"it is no JSON: {error.msg}", place=f"{place}:{error.lineno}") from None
    except DataError as error:
        raise DataError(error.what, place=at, remedy=error.remedy) from None
    except RecursionError:
        raise DataError("it is nested too deeply", place=at, remedy="Flatten the record.") from None
    except ValueError as error:  # a number of more than 4,300 digits
        raise DataError(f"it cannot be read: {str(error).partition(';')[0]}", place=at) from None


def read_text(path: Path | str, encoding: str = "utf-8") -> str:
    """The text of a file, its byte-order mark removed.

    Raises
    ------
    DataError
        The file is missing, or not in the encoding; the sentence names the first bad byte.
    """
    path = Path(path)
    try:
        text = path.read_bytes().decode(encoding)
    except FileNotFoundError:
        raise DataError(
            "there is no such file", place=str(path), remedy="Correct the path, or fetch the data."
        ) from None
    except IsADirectoryError:
        raise DataError(
            "it is a folder, not a file", place=str(path), remedy="Name a file inside it."
        ) from None
    except OSError as error:
        raise DataError(f"it cannot be read: {error.strerror}", place=str(path)) from None
    except LookupError:
        what, remedy = (
            f"there is no encoding {encoding!r}",
            "Name one that Python knows in the card, such as utf-8.",
        )
        raise DataError(what, place=str(path), remedy=remedy) from None
    except ValueError as error:
        if not isinstance(error, UnicodeDecodeError):  # a path with a NUL character
            raise DataError(f"it cannot be read: {error}", place=str(path)) from None
        bad = f"byte {error.start} (0x{error.object[error.start]:02x}) is not {encoding}"
        raise DataError(
            bad, place=str(path), remedy="Save the file as UTF-8, or name its encoding in the card."
        ) from None
    return text.removeprefix("\ufeff")


def read_json(path: Path | str) -> Any:
    """One JSON document."""
    text = read_text(path)
    with _json(str(path)):
        return json.loads(text, object_pairs_hook=no_key_twice)


def read_records(path: Path | str, encoding: str = "utf-8") -> list[dict[str, Any]]:
    """The records of a file, whatever its shape.

    Parameters
    ----------
    path
        JSON lines, a JSON array of objects, objects one after another, CSV (by the suffix `.csv`)
        or Parquet (by the suffix `.parquet`; a pattern such as `data/test-*.parquet` names several,
        and pictures in the rows become names).

    Raises
    ------
    DataError
        The file cannot be read, or a record is not a JSON object; the place is given with the line.
    """
    path = Path(path)
    if path.suffix.lower() == ".parquet":
        from hqm.files.parquet import read_rows

        return read_rows(path)
    text = read_text(path, encoding)
    if path.suffix.lower() == ".csv":
        return list(_csv(text, path))
    if _is_array(text):
        with _json(str(path)):
            records = json.loads(text, object_pairs_hook=no_key_twice)
        return [_object(record, f"{path}: record {i}") for i, record in enumerate(records, 1)]
    records = _plain_lines(text)
    return list(_concatenated(text, path)) if records is None else records


def begins_with(path: Path | str) -> list[dict[str, Any]]:
    """The first record of a file, for whoever tells kinds of files apart; of JSON lines and objects
    no more is decoded.

    What is wrong further on is said by `read_records`.

    Raises
    ------
    DataError
        As `read_records`, of what is decoded.
    """
    path = Path(path)
    if path.suffix.lower() in (".parquet", ".csv"):
        return read_records(path)[:1]
    text = read_text(path)
    return read_records(path)[:1] if _is_array(text) else list(islice(_concatenated(text, path), 1))


def _is_array(text: str) -> bool:
    first = _BLANK.match(text)
    return text.startswith("[", first.end() if first else 0)


def write_records(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write records as JSON lines."""
    path.write_text(
        "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), encoding="utf-8"
    )


def _csv(text: str, path: Path) -> Iterable[dict[str, Any]]:
    for line, row in csv_rows(text, str(path)):
        if None in row or None in row.values():
            raise DataError(
                f"the row does not have {len(row.keys() - {None})} fields", place=f"{path}:{line}"
            )
        yield row


def csv_rows(text: str, place: str) -> Iterator[tuple[int, dict[Any, Any]]]:
    """The rows of a CSV text, each with its line; a row of another length than the heading holds
    None.
    """
    reader = csv.DictReader(io.StringIO(text, newline=""))
    try:
        names = list(reader.fieldnames or ())
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            remedy = "Rename or remove one of the two."
            raise DataError(f"the column {twice!r} stands twice", place=f"{place}:1", remedy=remedy)
        for row in reader:
            yield reader.line_num, dict(row)
    except csv.Error as error:
        raise DataError(f"it is no CSV: {error}", place=f"{place}:{reader.line_num}") from None


def _plain_lines(text: str) -> list[dict[str, Any]] | None:
    """The objects of sound JSON lines, decoded in one call; None where that would take more than
    counting to be sure of.
    """
    text = text.strip()
    breaks = text.count("}\n{")
    if not text.startswith("{"):
        return None
    try:
        records = json.loads(f"[{text.replace('}' + chr(10) + '{', '},{')}]")
    except (ValueError, RecursionError):
        return None
    # a break between all of them, so each is an object; and every key has a colon behind it, so as
    # many colons as keys mean that none stands twice, and that no object lies inside another one
    if len(records) != breaks + 1 or sum(map(len, records)) != text.count(":"):
        return None
    return records  # type: ignore[no-any-return]


def _concatenated(text: str, path: Path) -> Iterable[dict[str, Any]]:
    """The objects that follow one another, each on one line or on several."""
    at, end, decode, blank = 0, len(text), _DECODER.raw_decode, _BLANK.match
    while True:
        if space := blank(text, at):
            at = space.end()
        if at == end:
            return
        try:
            record, at = decode(text, at)
        except (ValueError, DataError, RecursionError):
            # read again, only to say where: the line of every record would take long to count
            with _json(str(path), text.count("\n", 0, at) + 1):
                _DECODER.raw_decode(text, at)
            raise
        if not isinstance(record, dict):
            _object(record, f"{path}:{text.count(chr(10), 0, at) + 1}")
        yield record


def _object(record: Any, place: str) -> dict[str, Any]:
    if not isinstance(record, dict):
        raise DataError(f"a record must be a JSON object, not {type(record).__name__}", place=place)
    return record


def take(record: dict[str, Any], name: str, place: str) -> Any:
    """A field of a record; when it is missing, the error lists the fields that there are."""
    if name not in record:
        raise DataError(
            f"the field {name!r} is missing (there are {', '.join(map(repr, record)) or 'none'})",
            place=place,
            remedy="Rename the field, or map it in the card's [fields].",
        )
    return record[name]


def whole_number(value: Any, name: str, place: str) -> int:
    """A count from 0 on, also as the text that a CSV file has.

    >>> whole_number("2", "run", "answers.csv:3")
    2
    """
    text = value.strip() if isinstance(value, str) else repr(value)
    if isinstance(value, bool) or not (text.isascii() and text.isdecimal() and len(text) < 10):
        remedy = f"Write {name} 0, 1, 2, ..."
        raise DataError(
            f"the {name} is {value!r:.60}, which is no count", place=place, remedy=remedy
        )
    return int(text)
