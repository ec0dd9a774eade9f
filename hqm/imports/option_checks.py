"""Whether the options of a question say one thing: their letters, and the text of the right one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from operator import ne

from hqm.errors import DataError
from hqm.text import plain_name
from hqm.types import LETTERS

_LETTERED = re.compile(r"\(?([A-Za-z])[.):]\s*\S")


def check_letters(options: Sequence[str], location: str) -> None:
    """Refuse options that carry letters of their own in another order: a right answer A would be
    either the first of them, or the one that is called so.

    Raises
    ------
    DataError
        Every option begins with a letter, and one with another than its place has.
    """
    letters = [match[1].upper() for match in map(_LETTERED.match, options) if match]
    # one option that begins with a letter may be a sentence, such as `A. Smith`
    if len(letters) < max(2, len(options)) or letters == list(LETTERS[: len(letters)]):
        return
    odd = list(map(ne, letters, LETTERS)).index(True)
    raise DataError(
        f"the option {LETTERS[odd]} is called {options[odd]!r:.80}",
        location=location,
        remedy="Order the options by their letters, or remove the letters.",
    )


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
