"""The scale of a column of scores: its numbers as they are written, and whether they are all on one
scale. Every command that reads scores or judgements asks here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, filterfalse, repeat
from typing import NoReturn

from hqm.errors import DataError
from hqm.files.dialect import COMMA_NUMBER, uses_decimal_comma
from hqm.imports.layouts import Record, cells_of, with_column
from hqm.imports.score_cells import number

_MISSING = frozenset(
    "na n/a nan none null nil #n/a <na> - -- \u2013 \u2014 . ? missing error"
    " invalid invalid_judge unscored".split()
)
"""What a cell says in place of a number that nobody has, in lower case."""
_PER_CENT = re.compile(r"([+-]?\d+(?:[.,]\d+)?)\s*%", re.ASCII)
_MIN_RUN = 5
# With which sound scores may be refused: one file of a thousand.
_MAX_CHANCE = 1e-3


_SCALE_MAXIMA = (1, 2, 3, 4, 5, 6, 7, 10, 100)
"""What scales end in."""
_FROM_ONE = (3, 4, 5, 7)
"""Ends of scales of agreement or quality, which begin with 1 (Likert 1932)."""


def scale_ends(values: Iterable[float]) -> tuple[float, float]:
    """Return the ends of the scale that grades are of: the lowest usual end that none exceeds, from
    1 or 0.

    A scale to 10 begins with 1 where that is the lowest grade that was given.

    >>> scale_ends([1, 4]), scale_ends([0, 4]), scale_ends([1, 8]), scale_ends([2, 8])
    ((1.0, 4.0), (0.0, 4.0), (1.0, 10.0), (0.0, 10.0))
    """
    grades = list(values)
    highest = max(grades, default=1.0)
    lowest = min(grades, default=0.0)
    end = float(next(filter(highest.__le__, _SCALE_MAXIMA), highest))
    begins_with_1 = (end in _FROM_ONE and lowest >= 1) or (end == 10 and lowest == 1)
    return float(begins_with_1), end


def check_scales(name: str, scores: Sequence[tuple[str, float]], location: str) -> list[str]:
    """Refuse a column of two scales, and say which of two readings was taken where both may be.

    Scores of -1, 0 and 1 may be three levels, or wrong is -1 in some rows and 0 in others. They are
    two scales where a respondent without -1 has so many 0 that three levels would have shown one
    (with a probability of .999), or where a respondent has -1 in one stretch of the file and 0 in
    the other, with 1 in both.

    Parameters
    ----------
    scores
        The respondent and the score of each row, in the order of the file.

    Raises
    ------
    DataError
        The column has two scales.
    """
    by_respondent: dict[str, list[float]] = {}
    for respondent, score in scores:
        by_respondent.setdefault(respondent, []).append(score)
    values = set(chain.from_iterable(by_respondent.values()))
    _check_codes(name, values, location)
    check_scale(name, values, location)
    if values <= {-1.0, 0.0, 1.0}:
        _check_signs(name, by_respondent, location)
        if values == {-1.0, 0.0, 1.0}:
            return [f"the scores {name!r} are -1, 0 and 1, taken as three levels"]
        return []
    binary = {label for label, marks in by_respondent.items() if set(marks) == {0.0, 1.0}}
    highest = max(by_respondent, key=lambda label: max(by_respondent[label]))
    top = max(by_respondent[highest])
    if not binary or top <= 1:
        return []
    first = min(binary)
    # on a scale below 10, or in a few rows, 0 and 1 may be low marks
    if top >= 10 and len(by_respondent[first]) >= 2 * _MIN_RUN:
        raise DataError(
            f"{first!r:.60} has 0 and 1 alone in the column {name!r}, and {highest!r:.60} up to"
            f" {top:g}",
            location=location,
            remedy="Write all of them on one scale.",
        )
    return [f"the scores {name!r} of {first!r:.60} are 0 and 1, of others up to {top:g}"]


def _check_codes(name: str, values: set[float], location: str) -> None:
    """Refuse a code such as -99, by which statistical programs write that there is no score."""
    low = min(values, default=0.0)
    larger = values - {low}
    if low in (-9.0, -99.0, -999.0, -9999.0) and larger and min(larger) >= 0:
        raise DataError(
            f"{low:g} stands in the column {name!r} among scores from {min(larger):g} to"
            f" {max(larger):g}",
            location=location,
            remedy="If it says that there is no score, empty these cells.",
        )


def _check_signs(name: str, by_respondent: Mapping[str, Sequence[float]], location: str) -> None:
    """Refuse scores of which wrong is -1 in some rows and 0 in others."""
    counts = {}
    signed = []
    n_minus = 0
    n_zero = 0
    for label, marks in sorted(by_respondent.items()):
        counts[label] = (marks.count(-1.0), marks.count(0.0))
        if counts[label][0]:
            signed.append(label)
            n_minus += counts[label][0]
            n_zero += counts[label][1]
    if not signed:
        return
    for label in sorted(counts.keys() - signed):
        unsigned_zeros = counts[label][1]
        # With no -1 in n scores of 0, had this respondent the share of 0 of the others, the
        # probability is that share to the power of n.
        chance = (n_zero / (n_minus + n_zero)) ** unsigned_zeros
        if unsigned_zeros and chance < _MAX_CHANCE:
            _refuse_signs(name, f"for {signed[0]!r:.60}", f"for {label!r:.60}", location)
    for label in signed:
        marks = by_respondent[label]
        if min(counts[label]) < _MIN_RUN:
            continue
        minus = _positions(marks, -1.0)
        zero = _positions(marks, 0.0)
        # from this row on, both have occurred
        start = max(min(minus), min(zero))
        is_split = start > min(max(minus), max(zero))
        # of a file in the order of its scores, the scores of 1 are on one side
        if is_split and 1.0 in marks[:start] and 1.0 in marks[start:]:
            _refuse_signs(name, "in some rows", f"in others of {label!r:.60}", location)


def _positions(values: Sequence[object], value: object) -> list[int]:
    """Return where a value stands in a sequence, every time."""
    return [i for i, candidate in enumerate(values) if candidate == value]


def _refuse_signs(name: str, minus: str, zero: str, location: str) -> NoReturn:
    raise DataError(
        f"wrong is -1 {minus} and 0 {zero} in the column {name!r}",
        location=location,
        remedy="Write all of them on one scale.",
    )


def is_missing(cell: object) -> bool:
    """Return whether a cell of a column of numbers is empty, or says that there is none.

    >>> is_missing("N/A"), is_missing(" "), is_missing(0)
    (True, True, False)
    """
    if isinstance(cell, str):
        text = cell.strip().casefold()
        return not text or text in _MISSING
    return cell is None or cell != cell


def with_plain_numbers(
    records: list[Record], columns: Iterable[str], location: str
) -> list[Record]:
    """Return the records with the numbers of some columns as `plain_numbers` writes them."""
    for name in columns:
        cells = plain_numbers(records, name, location)
        if cells is not None:
            records = with_column(records, name, cells)
    return records


def check_numbers(
    records: Sequence[Mapping[str, object]], column: str, location: str, numbers: Sequence[int]
) -> None:
    """Refuse a column that is called a score, where some cells are numbers and others are not, or
    are written around a number such as 4/5: the answers would be scored otherwise in silence.

    Raises
    ------
    DataError
        A cell is neither a number nor empty.
    """
    cells = cells_of(records, column)
    odd = [isinstance(cell, str) and not is_missing(cell) and not is_number(cell) for cell in cells]
    if True not in odd:
        return
    n_numbers = sum(map(is_number, cells))
    first = odd.index(True)
    text = str(cells[first])
    # of a column of words alone nobody expects a score
    if n_numbers or any(map(str.isdigit, text)) or not any(map(str.isalpha, text)):
        raise DataError(
            f"{cells[first]!r:.60} in the column {column!r} is no number",
            location=f"{location}: record {numbers[first]}",
            remedy="Write a number, or leave the cell empty; a column of right answers is named"
            f" with --columns target={column}.",
        )


def check_marks(
    records: Sequence[Mapping[str, object]], columns: Iterable[str], location: str
) -> None:
    """Refuse a column of scores that says 1 in some rows and nothing in many others: an empty cell
    may be wrong, or not scored.

    Raises
    ------
    DataError
        A fifth of the cells or more are empty, and all others say 1.
    """
    for column in columns:
        cells = cells_of(records, column)
        n_empty = sum(cell is None or cell == "" for cell in cells)
        scores = set(map(number, filterfalse(is_missing, cells)))
        if scores == {1.0} and 5 * n_empty >= len(cells) and len(cells) - n_empty >= _MIN_RUN:
            raise DataError(
                f"every score in the column {column!r} is 1, and {n_empty} of {len(cells)} cells"
                " are empty",
                location=location,
                remedy="Write 0 where an answer is wrong, and NA where nobody scored it.",
            )


def check_scale(name: str, scores: Iterable[float], location: str) -> None:
    """Refuse a column in which some scores are shares of 1 and others of 100.

    Scores of 0, 1 and 100 are of two scales; so are fractions of 1 beside numbers above 10 with few
    between, as a column of one scale has one heap of scores and not two.

    Raises
    ------
    DataError
        The column has two scales.
    """
    # 0 is on every scale, and says nothing about which one it is.
    values = set(map(abs, scores)) - {0.0}
    if not values or max(values) <= 1 or max(values) > 100:
        return
    large = {value for value in values if value > 1}
    small = values - large
    if not small:
        return
    if values <= {1.0, 100.0}:
        refuse_scales(name, 1.0, 100.0, location)
    fractions = small - {1.0}
    # the same scores times 100: two heaps, (0, 1] and (10, 100], and fewer scores between them
    n_between = sum(value <= 10 for value in large)
    n_high = len(large) - n_between
    if fractions and 2 * n_between < min(len(small), n_high):
        refuse_scales(name, min(fractions), max(large), location)


def refuse_scales(name: str, small: float, large: float, location: str) -> NoReturn:
    """Raise that a column has two scales."""
    raise DataError(
        f"{small:g} and {large:g} stand in the column {name!r}: one is a share of 1, the other a"
        " percent",
        location=location,
        remedy="Write all of them on one scale.",
    )


def plain_numbers(
    records: Sequence[Mapping[str, object]], column: str, location: str
) -> list[object] | None:
    """Return the cells of a column with decimal commas as points and per cent as shares; None where
    nothing is to be changed.

    Raises
    ------
    DataError
        A comma may be the decimal mark or one of thousands; some cells have a decimal comma and
        some a point; or some are in per cent.
    """
    cells = cells_of(records, column)
    texts = [cell.strip() for cell in cells if isinstance(cell, str) and not is_missing(cell)]
    has_commas = any(map(COMMA_NUMBER.fullmatch, texts))
    per_cents = list(filter(_PER_CENT.fullmatch, texts))
    if not has_commas and not per_cents:
        return None
    if not all(map(is_number, texts)):
        return None  # a column of words
    cell_location = f"{location}: column {column!r}"
    decimal_mark = "."
    if has_commas and not uses_decimal_comma(zip(texts, repeat(cell_location))):
        decimal_mark = ""
    n_plain = len(texts) - len(per_cents)
    # 0 is the same in per cent
    n_plain += sum(not isinstance(cell, str) and bool(number(cell)) for cell in cells)
    if per_cents and n_plain:
        raise DataError(
            f"{per_cents[0]!r} stands beside numbers without a per cent sign",
            location=cell_location,
            remedy="Write all of them in per cent, or none.",
        )
    return [_plain_number(cell, decimal_mark) for cell in cells]


def is_number(cell: object) -> bool:
    """Whether a cell is a number or truth, also one with a decimal comma or a per cent sign."""
    if number(cell) is not None:
        return True
    text = cell.strip() if isinstance(cell, str) else ""
    return bool(COMMA_NUMBER.fullmatch(text) or _PER_CENT.fullmatch(text))


def _plain_number(cell: object, decimal_mark: str) -> object:
    if not isinstance(cell, str):
        return cell
    text = cell.strip()
    per_cent = _PER_CENT.fullmatch(text)
    if per_cent is not None:
        return float(per_cent[1].replace(",", ".")) / 100
    if COMMA_NUMBER.fullmatch(text):
        return text.replace(",", decimal_mark)
    return cell
