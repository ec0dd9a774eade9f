"""Read files of records as they circulate: JSON lines, JSON arrays, concatenated objects, CSV, Parquet.

The kind of JSON is recognised from the content, not from the file's name: POPE's `.json` files are JSON lines, and one of its
caption files is a sequence of pretty-printed objects. CSV and Parquet are recognised by the suffix. What cannot be read is
reported with its line.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hqm.errors import DataError

_DECODER = json.JSONDecoder()


def read_text(path: Path, encoding: str = "utf-8") -> str:
    """The text of a file, its byte-order mark removed.

    Raises
    ------
    DataError
        The file is missing, or not in the encoding; the sentence names the first bad byte.
    """
    try:
        text = path.read_bytes().decode(encoding)
    except FileNotFoundError:
        raise DataError(
            "there is no such file", place=str(path), remedy="Correct the path, or fetch the data."
        ) from None
    except IsADirectoryError:
        raise DataError("it is a folder, not a file", place=str(path), remedy="Name a file inside it.") from None
    except OSError as error:
        raise DataError(f"it cannot be read: {error.strerror}", place=str(path)) from None
    except UnicodeDecodeError as error:
        bad = f"byte {error.start} (0x{error.object[error.start]:02x}) is not {encoding}"
        raise DataError(
            bad, place=str(path), remedy="Save the file as UTF-8, or name its encoding in the card."
        ) from None
    return text.removeprefix("\ufeff")


def read_json(path: Path) -> Any:
    """One JSON document."""
    text = read_text(path)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise DataError(f"it is no JSON: {error.msg}", place=f"{path}:{error.lineno}") from None


def read_records(path: Path, encoding: str = "utf-8") -> list[dict[str, Any]]:
    """The records of a file, whatever its shape.

    Parameters
    ----------
    path
        JSON lines, a JSON array of objects, objects one after another, CSV (by the suffix `.csv`) or Parquet (by the
        suffix `.parquet`; a pattern such as `data/test-*.parquet` names several, and pictures in the rows become names).

    Raises
    ------
    DataError
        The file cannot be read, or a record is not a JSON object; the place is given with the line.
    """
    if path.suffix.lower() == ".parquet":
        from hqm.files.parquet import read_rows

        return read_rows(path)
    text = read_text(path, encoding)
    if path.suffix.lower() == ".csv":
        return list(_csv(text, path))
    if text.lstrip().startswith("["):
        try:
            records = json.loads(text)
        except json.JSONDecodeError as error:
            raise DataError(f"it is no JSON: {error.msg}", place=f"{path}:{error.lineno}") from None
        return [_object(record, f"{path}: record {i}") for i, record in enumerate(records, 1)]
    return list(_concatenated(text, path))


def _csv(text: str, path: Path) -> Iterable[dict[str, Any]]:
    reader = csv.DictReader(io.StringIO(text, newline=""))
    for line, row in enumerate(reader, 2):
        if None in row or None in row.values():
            raise DataError(f"the row does not have {len(reader.fieldnames or ())} fields", place=f"{path}:{line}")
        yield dict(row)


def _concatenated(text: str, path: Path) -> Iterable[dict[str, Any]]:
    """The objects that follow one another, each on one line or on several."""
    at = 0
    while True:
        while at < len(text) and text[at].isspace():
            at += 1
        if at == len(text):
            return
        try:
            record, at = _DECODER.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise DataError(f"it is no JSON: {error.msg}", place=f"{path}:{error.lineno}") from None
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
