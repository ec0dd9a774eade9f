"""The cells of a published table: marks and units taken off, and numbers as people print scores."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from hqm.errors import DataError

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_LARGEST = 1e9
"""No score is printed that is larger, or, if not 0, smaller than its inverse; sums of squares stay
exact far below.
"""
MISSING = frozenset(("", "-", "--", "---", "–", "—", "n/a", "N/A", "NA"))
"""What is printed where there is no score."""
_MARKS = "*†‡§¶∗⋆★"
_GROUPED = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d*)?", re.ASCII)
_COMMA = re.compile(r"[+-]?\d*,\d+", re.ASCII)
_THIN = re.compile(r"(?<=\d)[\u00a0\u2009\u202f](?=\d{3}(?!\d))")
_SPREAD = re.compile(r"(.*?)\s*(?:±|\+/-|\+-)\s*(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class PrintedCell:
    """What one cell prints.

    Parameters
    ----------
    text
        The number as printed, trailing zeros kept, without marks, separators of thousands and
        units; empty where there is no score.
    value
        The number; NaN where there is none.
    percent
        Whether a per cent sign stands behind it.
    spread
        What stands behind "±", empty where nothing does. Whether it is a standard deviation, a
        standard error or half an interval is not printed, so nothing is computed from it.
    """

    text: str
    value: float
    percent: bool = False
    spread: str = ""


def bare(cell: str) -> str:
    """A cell without what marks it: bold, italics, code, footnote signs, protected spaces at its
    ends.

    >>> [bare(cell) for cell in ("**0.75**", "__a__", " `b` ", "85.3†", "<b>1</b>", "<u>2</u>")]
    ['0.75', 'a', 'b', '85.3', '1', '2']
    """
    text = re.sub(
        r"</?(?:b|i|u|em|strong|sup|sub|code|br)\s*/?>", "", cell, flags=re.IGNORECASE
    ).strip()
    for mark in ("***", "**", "__", "*", "_", "`", "~~"):
        if len(text) > 2 * len(mark) and text.startswith(mark) and text.endswith(mark):
            text = text[len(mark) : -len(mark)].strip()
    return text.rstrip(_MARKS).strip()


def decimal_comma(cells: Iterable[tuple[str, str]]) -> bool:
    """Whether the commas in the numbers of a table are decimal points (0,75) rather than separators
    of thousands (1,234).

    Parameters
    ----------
    cells
        (text, place) of every cell that may hold a score.

    Raises
    ------
    DataError
        A comma may be either, or both are used.
    """
    doubtful: tuple[str, str] | None = None
    comma = grouped = points = whole = False
    for text, place in cells:
        plain = _SPREAD.fullmatch(text)
        number = bare(plain[1] if plain else text).rstrip("%").strip()
        if _GROUPED.fullmatch(number):
            doubtful = doubtful or (number, place)
            # 1,234,567 and 1,234.5 can be nothing else
            grouped |= number.count(",") > 1 or "." in number
        elif _COMMA.fullmatch(number):
            comma = True
        elif _NUMBER.fullmatch(number):
            points |= "." in number
            whole |= "." not in number and float(number) >= 100
    if comma and points:
        raise DataError(
            "some numbers have a decimal point and some a decimal comma",
            place=(doubtful or ("", ""))[1],
            remedy="Write every number with a point.",
        )
    if comma or doubtful is None:
        return comma
    if grouped or points or whole:
        return False
    low, high = doubtful[0].replace(",", "."), doubtful[0].replace(",", "")
    raise DataError(
        f"{doubtful[0]!r} may be {low} or {high}",
        place=doubtful[1],
        remedy="Write it without the comma.",
    )


def cell_of(cell: str, place: str, comma: bool = False) -> PrintedCell:
    """What a cell prints.

    Parameters
    ----------
    comma
        Whether a comma is the decimal point.

    Raises
    ------
    DataError
        It prints something else than one number, or than one number with a spread.
    """
    text = bare(cell).replace("\u2212", "-")
    if text in MISSING:
        return PrintedCell("", math.nan)
    spread = ""
    both = _SPREAD.fullmatch(text)
    if both is not None:
        text, spread = bare(both[1]), both[2].strip()
    percent = text.endswith("%") or spread.endswith("%")
    number = _THIN.sub("", text.rstrip("%").strip())
    if comma and _COMMA.fullmatch(number):
        number = number.replace(",", ".")
    elif not comma and _GROUPED.fullmatch(number):
        number = number.replace(",", "")
    if not _NUMBER.fullmatch(number):
        raise DataError(f"{cell[:40]!r} is no number", place=place, remedy=_remedy(text))
    value = float(number)
    if value and not 1 / _LARGEST <= abs(value) <= _LARGEST:
        remedy = (
            f"A score lies between {1 / _LARGEST:g} and {_LARGEST:g}; leave the cell empty if there"
            " is none."
        )
        raise DataError(f"{cell[:40]!r} is no score", place=place, remedy=remedy)
    return PrintedCell(number, value, percent, spread)


def _remedy(text: str) -> str:
    if re.fullmatch(r"[^()]*\d\s*\([^()]*\)%?", text):
        return (
            "What stands in parentheses may be an error, a rank or a change: write the score alone,"
            " or score ± error."
        )
    if re.fullmatch(r"\d+\s*/\s*\d+", text):
        return "Write the share, or the count alone."
    return "Write a number, or nothing."


def is_score(cell: str) -> bool:
    """Whether a cell reads as a number, with a comma or without, or prints no score."""
    try:
        return math.isfinite(
            cell_of(cell, "", comma="," in cell and not _GROUPED.fullmatch(bare(cell))).value
        )
    except DataError:
        return False
