"""Whether the options of a question say one thing: their letters, and the text of the right one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from operator import ne

from hqm.errors import DataError
from hqm.text import plain_name
from hqm.types import LETTERS

_MARKED = re.compile(
    r"(?:(?i:option|choice|answer)\s+)?"
    r"(?:[(\[*]*([A-Z])[)\]*]*|[(\[*]*([1-9])[)\]*.:]+)\s*[-\u2013\u2014.:)]?\s+\S"
)
"""A letter or a number of its own before an option, such as `B - red`, `[B] red` or `2. red`."""
_LETTERED = re.compile(r"\(?([A-Za-z])[.):]\s*\S")
_OWN_LETTER = re.compile(r"\(?([A-Z])[.):]\s+(\S.*)", re.DOTALL)


def _own_marks(options: Sequence[str]) -> list[str]:
    """Return the letters that options carry; of other marks, such as numbers, the letters of the
    same places, where all options have one.
    """
    marks = [match[1] or match[2] for match in map(_MARKED.match, options) if match]
    for names in (LETTERS, "123456789"):
        # of `x - 1` and `y - 1` the letters are none of the options'
        if len(marks) == len(options) and sorted(marks) == list(names[: len(marks)]):
            return [LETTERS[names.index(mark)] for mark in marks]
    return [match[1].upper() for match in map(_LETTERED.match, options) if match]


def check_letters(options: Sequence[str], location: str) -> None:
    """Refuse options that carry letters of their own in another order: a right answer A would be
    either the first of them, or the one that is called so.

    Raises
    ------
    DataError
        Every option begins with a letter, and one with another than its place has.
    """
    letters = _own_marks(options)
    # one option that begins with a letter may be a sentence, such as `A. Smith`
    if len(letters) < max(2, len(options)) or letters == list(LETTERS[: len(letters)]):
        return
    odd = list(map(ne, letters, LETTERS)).index(True)
    raise DataError(
        f"the option {LETTERS[odd]} is called {options[odd]!r:.80}",
        location=location,
        remedy="Order the options by their letters, or remove the letters.",
    )


def without_letters(options: Sequence[str]) -> tuple[str, ...]:
    """Return options without letters of their own, where all carry the letters of their places.

    >>> without_letters(["A. red", "B. blue"]), without_letters(["A. Smith", "red"])
    (('red', 'blue'), ('A. Smith', 'red'))
    """
    matches = list(filter(None, map(_OWN_LETTER.fullmatch, options)))
    if len(matches) < len(options) or any(map(ne, [match[1] for match in matches], LETTERS)):
        return tuple(options)
    return tuple(match[2] for match in matches)


def check_right_option(options: Sequence[str], letter: str, location: str) -> None:
    """Refuse a right option whose text another option has too: an answer by its words names both.

    Raises
    ------
    DataError
        Another option is the same but for white space.
    """
    texts = list(map(plain_name, options))
    right = texts[LETTERS.index(letter)]
    if texts.count(right) > 1:
        first = texts.index(right)
        second = texts.index(right, first + 1)
        raise DataError(
            f"the options {LETTERS[first]} and {LETTERS[second]} are the same, {right!r:.80}, and"
            f" {letter} is right",
            location=location,
            remedy="Correct one of the two, or remove the row.",
        )
