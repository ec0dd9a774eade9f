"""Columns that could hold the same field: which one is read, and whether they differ."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import combinations

from hqm.errors import DataError
from hqm.files.records import MAX_NAMED_FIELDS

# Up to five words an answer is a name or a value; longer ones are sentences that a reader shortens.
_MAX_SHORT_WORDS = 5
_MAX_REWRITTEN_SHARE = 0.1
_WORD = re.compile(r"\w+")


def check_rivals(
    field: str,
    columns: Mapping[str, Sequence[str]],
    location: str,
    *,
    are_keys: bool,
    numbers: Sequence[int] | None = None,
) -> list[str]:
    """Refuse columns that could all hold a field and differ; say which one is read where they
    agree.

    Parameters
    ----------
    field
        What it is called in `--columns`.
    columns
        Column -> its cells: the column that is read, and the others.
    are_keys
        Whether they hold right answers, and not answers of a model.
    numbers
        The number of each row in the file, where some were left out before.

    Raises
    ------
    DataError
        Two of them differ.
    """
    find_difference = _other_key if are_keys else _other_answer
    read, *rivals = columns
    cells = columns[read]
    for rival in rivals:
        rival_cells = columns[rival]
        index = find_difference(cells, rival_cells)
        if index is not None:
            raise DataError(
                f"the columns {read!r} and {rival!r} could both be the {field}, and differ:"
                f" {cells[index]!r:.60} and {rival_cells[index]!r:.60}",
                location=f"{location}: record {numbers[index] if numbers else index + 1}",
                remedy=f"Remove one, or say which it is: --columns {field}={read}.",
            )
    return [rivals_note(field, read, rivals)]


def rivals_note(field: str, read: str, rivals: Sequence[str]) -> str:
    """Say which of several columns is read."""
    listed = ", ".join(map(repr, rivals[:MAX_NAMED_FIELDS]))
    return f"the {field} is read from {read!r}, and not from {listed}"


def _other_answer(first: Sequence[str], second: Sequence[str]) -> int | None:
    """Return the first row in which two columns hold two answers; None where one holds what was
    read out of the other.

    >>> _other_answer(["It is red.", "blue"], ["red", "Blue"])
    >>> _other_answer(["red", "blue"], ["red", "green"])
    1
    >>> _other_answer(["to the bee", "blue"], ["tothebee", "blue"])
    """
    n_compared = 0
    differing = []
    differing_short = []
    for index, (first_cell, second_cell) in enumerate(zip(first, second, strict=True)):
        first_words = _WORD.findall(first_cell.lower())
        second_words = _WORD.findall(second_cell.lower())
        a = set(first_words)
        b = set(second_words)
        n_compared += bool(a and b)
        # MATH-Vision's answers stand beside themselves without their blanks
        is_same = "".join(first_words) == "".join(second_words)
        if a and b and not (is_same or a <= b or b <= a):
            differing.append(index)
            if max(len(a), len(b)) <= _MAX_SHORT_WORDS:
                differing_short.append(index)
    # A reader makes other words of few short answers (1/2 of 0.5), and of more long ones (2 of "two
    # of them").
    if len(differing_short) > _MAX_REWRITTEN_SHARE * n_compared:
        return differing_short[0]
    if 2 * len(differing) > n_compared:
        return differing[0]
    return None


def _other_key(first: Sequence[str], second: Sequence[str]) -> int | None:
    """Return the first row in which two columns hold two right answers; None where they agree, or
    have no text in common, as letters and the texts of options. One that says the same of every
    row is no other spelling of one that does not.

    >>> _other_key(["A", "B"], ["B", "B"]), _other_key(["A", "B"], ["red", "blue"])
    (0, None)
    """
    n_compared = 0
    differing = []
    first_texts = set()
    second_texts = set()
    for index, (first_cell, second_cell) in enumerate(zip(first, second, strict=True)):
        a = first_cell.strip().lower()
        b = second_cell.strip().lower()
        if a and b:
            n_compared += 1
            first_texts.add(a)
            second_texts.add(b)
            if a != b:
                differing.append(index)
    # Letters beside the texts of options have no text in common; columns of equal texts in another
    # order are two keys.
    n_texts = {len(first_texts), len(second_texts)}
    is_one_constant = 1 in n_texts and len(n_texts) == 2
    are_two_keys = first_texts == second_texts or len(differing) < n_compared or is_one_constant
    if differing and are_two_keys:
        return differing[0]
    return None


def check_rival_names(
    field: str, columns: Mapping[str, Sequence[str]], location: str, numbers: Sequence[int]
) -> list[str]:
    """Refuse two columns that name what a row is about, its model or its item, where one row has
    two names out of one list; say which one is read where the other has fewer names.

    An id that a tool counts, or the address of a model, is another way to name the same: its texts
    are none of the other column's. Numbers are ids of one list where both columns have all of them.

    Raises
    ------
    DataError
        One row has two of the names.
    """
    read, *rivals = columns
    cells = columns[read]
    names = set(cells)
    notes = []
    for rival in rivals:
        rival_names = set(columns[rival]) - {""}
        if rival_names == {name for name in rival_names if name.isdigit()} and rival_names != names:
            continue
        for index, (cell, rival_cell) in enumerate(zip(cells, columns[rival], strict=True)):
            if cell and cell != rival_cell and rival_cell in names and rival_cell:
                raise DataError(
                    f"the columns {read!r} and {rival!r} could both be the {field}, and differ:"
                    f" {cell!r:.60} and {rival_cell!r:.60}",
                    location=f"{location}: record {numbers[index]}",
                    remedy="Remove the column that is not meant.",
                )
        if rival_names and len(rival_names) < len(names):
            notes.append(f"the {field} is read from {read!r}, and not from {rival!r}")
    return notes


def check_same_column(columns: Mapping[str, Sequence[str]], location: str) -> None:
    """Refuse two columns of one name in other cases, of which one would be read, that differ."""
    (first, cells), (second, rival_cells) = columns.items()
    pairs = zip(cells, rival_cells, strict=True)
    index = next((index for index, (a, b) in enumerate(pairs) if a != b), None)
    if index is not None:
        raise DataError(
            f"the columns {first!r} and {second!r} have one name, and differ",
            location=f"{location}: record {index + 1}".removeprefix(": "),
            remedy="Remove the one that is not meant, or rename it.",
        )


_MIN_OPPOSITES = 10


def check_opposites(columns: Mapping[str, Sequence[float | None]], location: str) -> None:
    """Refuse two columns of scores of which one is 1 wherever the other is 0.

    Raises
    ------
    DataError
        They say the opposite of every answer, so that one of them is of errors.
    """
    for (first, scores), (second, other_scores) in combinations(columns.items(), 2):
        pairs = set(zip(scores, other_scores, strict=True))
        if pairs == {(0.0, 1.0), (1.0, 0.0)} and len(scores) >= _MIN_OPPOSITES:
            raise DataError(
                f"the columns {first!r} and {second!r} say the opposite of every answer",
                location=location,
                remedy=f"Remove one, or say which is the score: --columns score={first}.",
            )


def find_contradiction(first: Sequence[float], second: Sequence[float]) -> int | None:
    """Return the first position at which two scores of the same contradict each other; None where
    they agree. NaN is no score.

    Scores of 0 and 1 must be equal; others must order the rows alike.

    >>> find_contradiction([1, 0], [1, 1]), find_contradiction([1, 0, 1], [8, 3, 9])
    (1, None)
    >>> find_contradiction([1, 0, 1], [8, 9, 9])
    1
    """
    pairs = [
        (a, b, index)
        for index, (a, b) in enumerate(zip(first, second, strict=True))
        if not math.isnan(a) and not math.isnan(b)
    ]
    if all(a in (0, 1) and b in (0, 1) for a, b, _ in pairs):
        return next((index for a, b, index in pairs if a != b), None)
    level = highest = highest_below = -math.inf
    highest_index = 0
    # in the order of the first score: a second one below the highest of a lower first one
    # contradicts it; equal first scores say nothing about one another
    for a, b, index in sorted(pairs):
        if a > level:
            level = a
            highest_below = highest
        if b < highest_below:
            return highest_index
        if b > highest:
            highest = b
            highest_index = index
    return None
