"""Rows as CSV that no spreadsheet takes for formulas."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable

_FORMULA = re.compile(r"'*\s*[=+\-@\t\r\uff0b\uff0d\uff1d\uff20]")
"""The beginning of what Excel, LibreOffice or Google Sheets computes, in full width too; and of a
text that looks like a guarded one, so that `unguarded` gives every text back."""
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_GUARD = "'"
_LINE_END = "\r\n"
"""With it, the writer quotes a cell that contains either character; our lines end in the second."""


class _Lines(list[str]):
    write = list.append


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Rows as CSV; a text that a spreadsheet would compute begins with an apostrophe.

    >>> print(csv_text([("item", "score"), ("=1+1", -0.5), ("-2", "-x")]), end="")
    item,score
    '=1+1,-0.5
    -2,'-x
    """
    lines = _Lines()
    csv.writer(lines, lineterminator=_LINE_END).writerows(map(_guarded, row) for row in rows)
    return "".join(f"{line.removesuffix(_LINE_END)}\n" for line in lines)


def _guarded(cell: object) -> object:
    """A cell with an apostrophe in front where a spreadsheet would take it for a formula."""
    if cell is None or isinstance(cell, (int, float)):
        return cell
    text = str(cell)
    if not _FORMULA.match(text) or _NUMBER.fullmatch(text):
        return text
    return f"{_GUARD}{text}"


def unguarded(cell: object) -> object:
    """A cell as it was before `csv_text` guarded it; what is no text stays as it is.

    >>> unguarded("'=1+1"), unguarded("'tis"), unguarded("''=1")
    ('=1+1', "'tis", "'=1")
    """
    if not isinstance(cell, str):
        return cell
    is_guarded = cell[:1] == _GUARD and _guarded(cell[1:]) != cell[1:]
    if is_guarded:
        return cell[1:]
    return cell
