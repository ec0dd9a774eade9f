"""The cells of a published table: rows of a CSV file with their lines, and numbers as people print scores."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator
from pathlib import Path

from hqm.errors import DataError
from hqm.files.records import read_text


def rows_of(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV file with the line that each ends on."""
    reader = csv.reader(io.StringIO(read_text(path), newline=""))
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        raise DataError(f"it is no CSV: {error}", place=f"{path}:{reader.line_num}") from None


_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_LARGEST = 1e9
"""No score is printed that is larger, or, if not 0, smaller than its inverse; sums of squares stay exact far below."""


def score_of(cell: str, place: str) -> float:
    """The score that a cell prints; NaN where it prints none."""
    if cell in ("", "-", "–", "n/a", "NA"):
        return math.nan
    if not _NUMBER.fullmatch(cell):
        raise DataError(f"{cell[:40]!r} is no number", place=place, remedy="Write a number, or nothing.")
    value = float(cell)
    if value and not 1 / _LARGEST <= abs(value) <= _LARGEST:
        remedy = f"A score lies between {1 / _LARGEST:g} and {_LARGEST:g}; leave the cell empty if there is none."
        raise DataError(f"{cell[:40]!r} is no score", place=place, remedy=remedy)
    return value
