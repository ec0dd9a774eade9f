"""How a text of rows is written: its encoding, what stands between its cells, and the decimal mark;
and rows as CSV that no spreadsheet takes for formulas.

Every reader of CSV asks here, so that one file is read alike by all commands.
"""

from __future__ import annotations

import codecs
import csv
import io
import math
import re
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import islice

from hqm.errors import DataError

DELIMITERS = "\t;|,"
"""What may stand between cells; of two that fit a heading alike, the earlier is taken: a comma may
be a decimal point in a table with semicolons, hardly the reverse.
"""
POINT_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
GROUPED_NUMBER = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?", re.ASCII)
COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+", re.ASCII)
_FORMULA = re.compile(r"'*\s*[=+\-@\t\r\uff0b\uff0d\uff1d\uff20]")
"""The beginning of what Excel, LibreOffice or Google Sheets computes, in full width too; and of a
text that looks like a guarded one, so that `unguarded` gives every text back."""
_CELL_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_GUARD = "'"
_LINE_END = "\r\n"
"""With it, the writer quotes a cell that contains either character; our lines end in the second."""
_SAMPLE_CHARS = 1 << 16
_SAMPLE_ROWS = 6
# UTF-32 first: its little-endian mark begins with that of UTF-16.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def encoding_of(beginning: bytes, encoding: str = "utf-8") -> str:
    r"""Return the encoding that a byte-order mark names, else the given one.

    >>> encoding_of("a,b".encode("utf-16")), encoding_of(b"\xef\xbb\xbfa"), encoding_of(b"a")
    ('utf-16', 'utf-8', 'utf-8')
    """
    for mark, name in _BYTE_ORDER_MARKS:
        if beginning.startswith(mark):
            return name
    return encoding


def delimiter_of(text: str, suffix: str = "") -> str:
    r"""Return what stands between the cells of a text with a heading.

    It is the delimiter that cuts the first rows into as many cells as the heading has; where none
    does, the one that the heading has most often.

    Parameters
    ----------
    text
        The text, or its beginning.
    suffix
        The end of the file's name: the cells of `.tsv` have tabs between them where the heading
        has one.

    >>> delimiter_of("model;score, share\na;0,5\n"), delimiter_of("item|answer\n1|yes, it is\n")
    (';', '|')
    """
    sample = text[:_SAMPLE_CHARS]
    heading = next((line for line in sample.splitlines() if line.strip()), "")
    if suffix.lower() == ".tsv" and "\t" in heading:
        return "\t"
    present = [delimiter for delimiter in DELIMITERS if delimiter in heading]
    if not present:
        return ","
    best = max(present, key=partial(_common_width, sample))
    # a row of another length is named by the reader, which needs the delimiter of the heading
    if _common_width(sample, best) > 1:
        return best
    return max(present, key=heading.count)


def _common_width(sample: str, delimiter: str) -> int:
    """Return the number of cells that all first rows have; 0 where it differs."""
    complete = len(sample) < _SAMPLE_CHARS
    reader = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter, strict=True)
    try:
        widths = [len(row) for row in islice(reader, _SAMPLE_ROWS) if row]
    except csv.Error:
        return 0
    # The last row of a sample may be cut off in the middle.
    if not complete and len(widths) < _SAMPLE_ROWS:
        widths = widths[:-1]
    if widths and len(set(widths)) == 1:
        return widths[0]
    return 0


def finite_number(text: str) -> float | None:
    """Return the number that a text writes in the digits 0 to 9; None for what is none.

    Python's `float` would also take "0_1", the digits of other alphabets, "nan" and "inf".

    >>> finite_number(" 0.5 "), finite_number("0_1"), finite_number("1e999")
    (0.5, None, None)
    """
    text = text.strip()
    value = float(text) if POINT_NUMBER.fullmatch(text) else math.nan
    return value if math.isfinite(value) else None


def uses_decimal_comma(cells: Iterable[tuple[str, str]]) -> bool:
    """Whether the commas in numbers are decimal points (0,75) rather than separators of thousands
    (1,234).

    Parameters
    ----------
    cells
        (text, place) of every cell that may hold a number.

    Raises
    ------
    DataError
        A comma may be either, or both are used.

    >>> uses_decimal_comma([("0,75", "")]), uses_decimal_comma([("1,234", ""), ("0.5", "")])
    (True, False)
    """
    doubtful: tuple[str, str] | None = None  # 1,234 may be either
    decimal_location: str | None = None  # where 0,75 stands: a decimal comma
    has_groups = False  # 1,234,567: separators of thousands
    has_points = False  # 0.75: a decimal point, so that commas are none
    has_integers = False  # 1234, without a separator: percents have no thousands
    for number, location in cells:
        if GROUPED_NUMBER.fullmatch(number):
            doubtful = doubtful or (number, location)
            # 1,234,567 and 1,234.5 can be nothing else
            has_groups |= number.count(",") > 1 or "." in number
        elif COMMA_NUMBER.fullmatch(number):
            if decimal_location is None:
                decimal_location = location
        elif POINT_NUMBER.fullmatch(number):
            has_points |= "." in number
            has_integers |= "." not in number and float(number) >= 100
    if decimal_location is not None and has_points:
        raise DataError(
            "some numbers have a decimal point and some a decimal comma",
            location=decimal_location,
            remedy="Write every number with a point.",
        )
    if decimal_location is not None or doubtful is None:
        return decimal_location is not None
    if has_groups or has_points or has_integers:
        return False
    number, location = doubtful
    raise DataError(
        f"{number!r} may be {number.replace(',', '.')} or {number.replace(',', '')}",
        location=location,
        remedy="Write it without the comma.",
    )


class _Lines(list[str]):
    write = list.append


def nameless_columns(names: Sequence[str]) -> list[int]:
    """The places of columns without a name, as spreadsheets leave them behind the others, where
    there are several; a single one counts the rows.
    """
    nameless_columns = [i for i, name in enumerate(names) if not name]
    return nameless_columns if len(nameless_columns) > 1 else []


def check_nameless(cells: Sequence[str], nameless_columns: Sequence[int], location: str) -> None:
    """Refuse a row with a cell in a column without a name.

    Raises
    ------
    DataError
        There is such a cell.
    """
    filled = [cells[i] for i in nameless_columns if i < len(cells) and cells[i].strip()]
    if filled:
        raise DataError(
            f"{filled[0]!r:.60} stands in a column without a name",
            location=location,
            remedy=(
                "Name the column in the heading, or empty it. The heading is the first row: remove"
                " rows above it."
            ),
        )


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
    if not _FORMULA.match(text) or _CELL_NUMBER.fullmatch(text):
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
