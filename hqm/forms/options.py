"""Multiple choice: write the options under the question, and shuffle them so that the right letter follows its option."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from hqm.errors import DataError, NoRule
from hqm.types import LETTERS, Item


def render_options(question: str, options: Sequence[str]) -> str:
    r"""Write a question with its options and the request for a letter.

    >>> render_options("What color is it?", ["red", "blue"])
    'What color is it?\nA. red\nB. blue\nAnswer with the letter of the right option.'
    """
    listed = "\n".join(f"{letter}. {option}" for letter, option in zip(LETTERS, options, strict=False))
    return f"{question}\n{listed}\nAnswer with the letter of the right option."


def shuffle_item(item: Item) -> Item:
    """The item with its options in another order and the letter of the right option changed accordingly.

    The order depends only on the item, so that a form is the same whenever it is built; the right option always moves.

    >>> item = Item("1", "What color is it?", "choice", "A", options=("red", "blue", "green"))
    >>> shuffled = shuffle_item(item)
    >>> sorted(shuffled.options), shuffled.options[LETTERS.index(shuffled.target)], shuffled.target != "A"
    (['blue', 'green', 'red'], 'red', True)
    """
    letters = LETTERS[: len(item.options)]
    if len(item.options) < 2:
        raise NoRule(item.prompt, "it has fewer than two options to shuffle")
    key = str(item.target).strip().upper()
    if key not in letters:
        raise DataError(f"the target of {item.id!r} is {item.target!r}", remedy=f"Write one of the letters {letters}.")
    right = letters.index(key)
    ranked = sorted(range(len(letters)), key=lambda i: hashlib.blake2b(f"{item.id}|{i}".encode()).digest())
    while ranked.index(right) == right:
        ranked = ranked[1:] + ranked[:1]
    moved = letters[ranked.index(right)]
    return replace(item, options=tuple(item.options[i] for i in ranked), target=moved, rule="options.shuffled")
