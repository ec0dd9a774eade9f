"""Large JSON documents, as files or inside a zip, value by value; and the sheets of Excel.

A zip may come from anybody. Its members are found by the last part of their names and read where
they are; nothing is ever unpacked to a path that the zip gives. What is a link, encrypted,
ambiguous or larger than the limit is refused.
"""

from __future__ import annotations

import json
import lzma
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import datetime, time
from itertools import islice, zip_longest
from operator import attrgetter
from pathlib import Path
from typing import IO, Any

from hqm.errors import DataError, missing_library
from hqm.files.dialect import check_nameless, nameless_columns
from hqm.text import unique_columns

MAX_DOCUMENT_BYTES = 4 << 30
"""Bytes of the largest document that is read; instances_train2014.json of COCO has about half a
gigabyte.
"""
_MAX_UNFOLDED_BYTES = 1 << 26
# Deflate packs text five to twenty times, and anything at most 1,032 times.
_MAX_EXPANSION = 200
"""Texts that unfold to more bytes than this, and to so many times their size, are none."""
_FETCH_AGAIN = "Fetch it again."
_BLANK = re.compile(r"\s*")
ZIP_ERRORS = (
    zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError,
    OSError, RuntimeError, ValueError,
)  # fmt: skip
"""What Python's reader raises of a zip that is damaged, encrypted, or packed in an unknown way."""


def json_values(
    file: Path, member: str = "", *, limit: int = MAX_DOCUMENT_BYTES
) -> Iterator[tuple[str, Any]]:
    """The values of a JSON object, one by one: for a list under a key, each of its elements with
    that key.

    Parameters
    ----------
    file
        A JSON file, or a zip with one inside.
    member
        The name of the document in the zip, without the folders before it; empty for a file that is
        JSON itself.
    limit
        The most bytes that are read.

    Raises
    ------
    DataError
        It is missing, no zip, no JSON object, larger than the limit, or damaged (the checksum
        inside a zip is compared).

    Examples
    --------
    >>> import tempfile; path = Path(tempfile.mkdtemp()) / "a.json"
    >>> _ = path.write_text('{"info": {"year": 2014}, "images": [{"id": 42}, {"id": 73}]}')
    >>> list(json_values(path))
    [('info', {'year': 2014}), ('images', {'id': 42}), ('images', {'id': 73})]
    """
    location = f"{file}: {member}" if member else str(file)
    with _open_document(file, member, location) as stream:
        content = stream.read(limit + 1)
    if len(content) > limit:
        raise DataError(
            f"it unfolds to more than {limit:,} bytes", location=location, remedy=_FETCH_AGAIN
        )
    try:
        # A byte-order mark is no part of JSON.
        text = content.decode("utf-8-sig")
        del content  # half a gigabyte, while the values are read
        yield from _object_values(text)
    except UnicodeDecodeError as error:
        raise DataError(
            f"it is not UTF-8: {error.reason}", location=location, remedy=_FETCH_AGAIN
        ) from None
    except RecursionError:
        raise DataError("it is nested too deeply", location=location, remedy=_FETCH_AGAIN) from None
    except ValueError as error:
        reason = f"it is not a JSON object, or breaks off: {error}"
        raise DataError(reason, location=location, remedy=_FETCH_AGAIN) from None


def members(file: Path, name: str) -> list[zipfile.ZipInfo]:
    """The members of a zip whose names end in this one.

    Raises
    ------
    DataError
        It is no zip, or cannot be read.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            infos = archive.infolist()
    except ZIP_ERRORS as error:
        raise DataError(
            f"it is no zip, or damaged: {error}", location=str(file), remedy=_FETCH_AGAIN
        ) from None
    # Programs on Windows write backslashes into the names.
    return [info for info in infos if info.filename.replace("\\", "/").split("/")[-1] == name]


def check_unfolding(archive: zipfile.ZipFile, path: Path) -> None:
    """Check that an archive of texts does not unfold as no text does.

    Raises
    ------
    DataError
        All its members together are large, and many times the size of the file.
    """
    size = sum(map(attrgetter("file_size"), archive.infolist()))
    if size > max(_MAX_UNFOLDED_BYTES, _MAX_EXPANSION * path.stat().st_size):
        raise DataError(
            f"it unfolds to {size >> 20:,} MiB, {size // path.stat().st_size:,} times its size",
            location=str(path),
            remedy="Take the file from where you trust it.",
        )


_SHEET_ROWS = 1 << 20
"""The most rows that a sheet can have."""


def sheet_rows(path: Path) -> list[dict[str, object]]:
    """The rows of an Excel sheet, which is a zip of XML.

    Every cell is read as text, because a sheet makes numbers of answers that look like some.
    """
    from xml.etree.ElementTree import ParseError

    try:
        import openpyxl  # type: ignore[import-untyped]
    except ModuleNotFoundError:
        missing = missing_library("Excel sheets", ["openpyxl"], "logs")
        remedy = f"{missing.remedy} Or save the sheet as .tsv."
        raise DataError(missing.message, location=str(path), remedy=remedy) from None
    try:
        with zipfile.ZipFile(path) as archive:
            check_unfolding(archive, path)
        with closing(openpyxl.load_workbook(path, read_only=True, data_only=True)) as book:
            sheets: dict[str, list[tuple[object, ...]]] = {}
            for sheet in book.worksheets:
                # a sheet that claims more columns than it has would fill every row with empty cells
                sheet.reset_dimensions()
                rows = [*islice(sheet.iter_rows(values_only=True), _SHEET_ROWS + 1)]
                if any(cell is not None for row in rows for cell in row):
                    sheets[sheet.title] = rows
    # entities that unfold without end, as of a file that means harm, are a ParseError
    except (*ZIP_ERRORS, KeyError, TypeError, AttributeError, IndexError, ParseError) as error:
        raise DataError(f"it is no Excel sheet: {error}", location=str(path)) from None
    if len(sheets) > 1:
        titles = ", ".join(map(repr, islice(sheets, 5)))
        raise DataError(
            f"it has {len(sheets)} sheets with cells ({titles}), and one is read",
            location=str(path),
            remedy="Keep the one that is meant, or save it as CSV.",
        )
    rows = next(iter(sheets.values()), [])
    if len(rows) > _SHEET_ROWS:
        raise DataError(
            f"it has more than {_SHEET_ROWS:,} rows, as no sheet has", location=str(path)
        )
    heading, *body = rows or [()]
    names = [_cell_text(cell).strip() for cell in heading]
    unique_columns(list(filter(None, names)), f"{path}:1")
    # Rows behind a title above the heading are longer than it, and their cells have no name.
    width = max(map(_filled_width, rows), default=0)
    names = [*names[:width], *[""] * (width - len(names))]
    nameless = nameless_columns(names) or list(range(_filled_width(heading), width))
    records: list[dict[str, object]] = []
    for number, row in enumerate(body, 2):
        if row.count(None) < len(row):
            cells = list(map(_cell_text, row[:width]))
            check_nameless(cells, nameless, f"{path}:{number}")
            record: dict[str, object] = dict(zip_longest(names, cells, fillvalue=""))
            if nameless:
                del record[""]
            _check_computed(record, f"{path}:{number}")
            records.append(record)
    return records


def _filled_width(row: Sequence[object]) -> int:
    """How many columns a row takes up to its last cell that is not empty."""
    return max((i for i, cell in enumerate(row, 1) if cell not in (None, "")), default=0)


_ERROR_CELLS = frozenset("#NULL! #DIV/0! #VALUE! #REF! #NAME? #NUM! #N/A #GETTING_DATA".split())


def _check_computed(record: Mapping[str, object], location: str) -> None:
    """Refuse a row with a cell that Excel could not compute, as it makes of an answer that begins
    with an equals sign.
    """
    for name, cell in record.items():
        if cell in _ERROR_CELLS:
            raise DataError(
                f"the cell in the column {name!r} is Excel's error {cell}",
                location=location,
                remedy="Write the text that is meant, or empty the cell.",
            )


def _cell_text(cell: object) -> str:
    if cell is None:
        return ""
    # a sheet has no whole numbers: it gives 3 as 3.0
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, datetime) and cell.time() == time():
        cell = cell.date()
    return str(cell)


@contextmanager
def _open_document(file: Path, member: str, location: str) -> Iterator[IO[bytes]]:
    if not member:
        try:
            with file.open("rb") as stream:
                yield stream
        except OSError as error:
            raise DataError(
                f"it cannot be read: {error.strerror}", location=location, remedy=_FETCH_AGAIN
            ) from None
        return
    matches = members(file, member)
    if len(matches) != 1:
        if matches:
            reason = f"the zip has {len(matches)} files of this name"
        else:
            reason = "there is no such file in the zip"
        raise DataError(reason, location=location, remedy=_FETCH_AGAIN)
    # the upper 16 bits of the attribute are the mode that Unix gives a file
    if stat.S_ISLNK(matches[0].external_attr >> 16):
        raise DataError("it is a link, not a file", location=location, remedy=_FETCH_AGAIN)
    # Bit 0 of the flags says that the member is encrypted (APPNOTE 4.4.4).
    if matches[0].flag_bits & 0x1:
        raise DataError("it is encrypted", location=location, remedy=_FETCH_AGAIN)
    try:
        with zipfile.ZipFile(file) as archive, archive.open(matches[0]) as stream:
            yield stream
    except ZIP_ERRORS as error:
        raise DataError(
            f"it cannot be read from the zip: {error}", location=location, remedy=_FETCH_AGAIN
        ) from None


def _object_values(text: str) -> Iterator[tuple[str, object]]:
    """Yield the keys and values of a JSON object; the elements of lists one by one."""
    # raw_decode reads one value and says where it ends, so that no list of a million elements is
    # held at once.
    decode = json.JSONDecoder().raw_decode
    position = _skip_past("{", text, 0)
    while not text.startswith("}", position):
        key, position = decode(text, position)
        if not isinstance(key, str):
            raise ValueError("a key is no text")
        position = _skip_past(":", text, position)
        if text.startswith("[", position):
            position = _skip_past("[", text, position)
            while not text.startswith("]", position):
                value, position = decode(text, position)
                yield key, value
                position = _next(text, position, "]")
            position += 1
        else:
            value, position = decode(text, position)
            yield key, value
        position = _next(text, position, "}")
    if not _BLANK.fullmatch(text, position + 1):
        raise ValueError("something follows behind the object")


def _next(text: str, position: int, end: str) -> int:
    """Return the position of the next value behind a comma, or of the closing token."""
    if (last := re.compile(rf"\s*(?={end})").match(text, position)) is not None:
        return last.end()
    position = _skip_past(",", text, position)
    if text.startswith(end, position):
        raise ValueError(f"a value is missing at character {position:,}")
    return position


def _skip_past(token: str, text: str, position: int) -> int:
    """Return the position behind the next token and the blanks around it."""
    match = re.compile(rf"\s*{re.escape(token)}\s*").match(text, position)
    if match is None:
        raise ValueError(f"{token!r} is missing at character {position:,}")
    return match.end()
