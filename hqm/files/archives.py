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
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import islice, zip_longest
from pathlib import Path
from typing import IO, Any

from hqm.errors import DataError
from hqm.text import unique_columns

LARGEST = 4 << 30
"""Bytes of the largest document that is read; instances_train2014.json of COCO has about half a
gigabyte.
"""
_LARGE, _FOLDS = 1 << 26, 200
"""Texts that unfold to more bytes than this, and to so many times their size, are none."""
_AGAIN = "Fetch it again."
_BLANK = re.compile(r"\s*")
ZIP_ERRORS = (
    zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError,
    OSError, RuntimeError, ValueError,
)  # fmt: skip
"""What Python's reader raises of a zip that is damaged, encrypted, or packed in an unknown way."""


def json_parts(file: Path, member: str = "", *, limit: int = LARGEST) -> Iterator[tuple[str, Any]]:
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
    >>> list(json_parts(path))
    [('info', {'year': 2014}), ('images', {'id': 42}), ('images', {'id': 73})]
    """
    place = f"{file}: {member}" if member else str(file)
    with _opened(file, member, place) as stream:
        content = stream.read(limit + 1)
    if len(content) > limit:
        raise DataError(f"it unfolds to more than {limit:,} bytes", location=place, remedy=_AGAIN)
    try:
        text = content.decode("utf-8-sig")
        del content  # half a gigabyte, while the values are read
        yield from _parts(text)
    except UnicodeDecodeError as error:
        raise DataError(f"it is not UTF-8: {error.reason}", location=place, remedy=_AGAIN) from None
    except RecursionError:
        raise DataError("it is nested too deeply", location=place, remedy=_AGAIN) from None
    except ValueError as error:
        what = f"it is no JSON object, or breaks off: {error}"
        raise DataError(what, location=place, remedy=_AGAIN) from None


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
            f"it is no zip, or damaged: {error}", location=str(file), remedy=_AGAIN
        ) from None
    return [info for info in infos if info.filename.replace("\\", "/").split("/")[-1] == name]


def check_unfolding(archive: zipfile.ZipFile, path: Path) -> None:
    """Check that an archive of texts does not unfold as no text does.

    Raises
    ------
    DataError
        All its members together are large, and many times the size of the file.
    """
    size = sum(info.file_size for info in archive.infolist())
    if size > max(_LARGE, _FOLDS * path.stat().st_size):
        raise DataError(
            f"it unfolds to {size >> 20:,} MiB, {size // path.stat().st_size:,} times its size",
            location=str(path),
            remedy="Take the file from where you trust it.",
        )


_SHEET_ROWS = 1 << 20
"""The most rows that a sheet can have."""


def sheet_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of an Excel sheet, which is a zip of XML.

    Every cell is read as text, because a sheet makes numbers of answers that look like some.
    """
    from xml.etree.ElementTree import ParseError

    try:
        import openpyxl  # type: ignore[import-untyped]
    except ModuleNotFoundError:
        raise DataError(
            "Excel sheets are read with openpyxl, which is not installed",
            location=str(path),
            remedy="Run: pip install 'hqm-audit[logs]', or save the sheet as .tsv.",
        ) from None
    try:
        with zipfile.ZipFile(path) as archive:
            check_unfolding(archive, path)
        with closing(openpyxl.load_workbook(path, read_only=True, data_only=True)) as book:
            sheet = book.worksheets[0]
            # a sheet that claims more columns than it has would fill every row with empty cells
            sheet.reset_dimensions()
            rows = [*islice(sheet.iter_rows(values_only=True), _SHEET_ROWS + 1)]
    # entities that unfold without end, as of a file that means harm, are a ParseError
    except (*ZIP_ERRORS, KeyError, TypeError, AttributeError, IndexError, ParseError) as error:
        raise DataError(f"it is no Excel sheet: {error}", location=str(path)) from None
    if len(rows) > _SHEET_ROWS:
        raise DataError(
            f"it has more than {_SHEET_ROWS:,} rows, as no sheet has", location=str(path)
        )
    first, *others = rows or [()]
    names = [_cell_text(cell).strip() for cell in first]
    unique_columns([name for name in names if name], f"{path}:1")
    return [
        dict(zip_longest(names, map(_cell_text, row[: len(names)]), fillvalue=""))
        for row in others
        if any(cell is not None for cell in row)
    ]


def _cell_text(cell: Any) -> str:
    if cell is None:
        return ""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


@contextmanager
def _opened(file: Path, member: str, place: str) -> Iterator[IO[bytes]]:
    if not member:
        try:
            with file.open("rb") as stream:
                yield stream
        except OSError as error:
            raise DataError(
                f"it cannot be read: {error.strerror}", location=place, remedy=_AGAIN
            ) from None
        return
    named = members(file, member)
    if len(named) != 1:
        what = (
            f"the zip has {len(named)} files of this name"
            if named
            else "there is no such file in the zip"
        )
        raise DataError(what, location=place, remedy=_AGAIN)
    if stat.S_ISLNK(named[0].external_attr >> 16):
        raise DataError("it is a link, not a file", location=place, remedy=_AGAIN)
    if named[0].flag_bits & 0x1:
        raise DataError("it is encrypted", location=place, remedy=_AGAIN)
    try:
        with zipfile.ZipFile(file) as archive, archive.open(named[0]) as stream:
            yield stream
    except ZIP_ERRORS as error:
        raise DataError(
            f"it cannot be read from the zip: {error}", location=place, remedy=_AGAIN
        ) from None


def _parts(text: str) -> Iterator[tuple[str, Any]]:
    """The values of the object that a text is, in turn."""
    decode = json.JSONDecoder().raw_decode
    at = _behind("{", text, 0)
    while not text.startswith("}", at):
        key, at = decode(text, at)
        if not isinstance(key, str):
            raise ValueError("a key is no text")
        at = _behind(":", text, at)
        if text.startswith("[", at):
            at = _behind("[", text, at)
            while not text.startswith("]", at):
                value, at = decode(text, at)
                yield key, value
                at = _next(text, at, "]")
            at += 1
        else:
            value, at = decode(text, at)
            yield key, value
        at = _next(text, at, "}")
    if not _BLANK.fullmatch(text, at + 1):
        raise ValueError("something follows behind the object")


def _next(text: str, at: int, end: str) -> int:
    """The place of the next value, behind a comma, or of the mark that ends them."""
    if (last := re.compile(rf"\s*(?={end})").match(text, at)) is not None:
        return last.end()
    at = _behind(",", text, at)
    if text.startswith(end, at):
        raise ValueError(f"a value is missing at character {at:,}")
    return at


def _behind(mark: str, text: str, at: int) -> int:
    """The place behind the next mark and the blanks around it; only this one may stand there."""
    match = re.compile(rf"\s*{re.escape(mark)}\s*").match(text, at)
    if match is None:
        raise ValueError(f"{mark!r} is missing at character {at:,}")
    return match.end()
