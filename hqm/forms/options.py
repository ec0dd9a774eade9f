"""Multiple choice: write the options under the question, and shuffle them so that the right letter
follows its option.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import replace

from hqm.errors import DataError, NoRule
from hqm.types import LETTERS, Item


def render_options(question: str, options: Sequence[str]) -> str:
    r"""Write a question with its options and the request for a letter.

    >>> render_options("What color is it?", ["red", "blue"])
    'What color is it?\nA. red\nB. blue\nAnswer with the letter of the right option.'
    """
    listed = "\n".join(
        f"{letter}. {option}" for letter, option in zip(LETTERS, options, strict=False)
    )
    return f"{question}\n{listed}\nAnswer with the letter of the right option."


def shuffle_item(item: Item, draw: int = 1) -> Item:
    """The item with its options in another order and the letter of the right option changed
    accordingly.

    The order depends only on the item and on `draw`, so that a form is the same whenever it is
    built. In the first drawn order the right option always moves; no order is the original one or
    an earlier one.

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
        raise DataError(
            f"the target of {item.id!r} is {item.target!r}",
            remedy=f"Write one of the letters {letters}.",
        )
    right = letters.index(key)
    if math.factorial(len(letters)) <= draw:
        raise NoRule(item.prompt, f"{len(letters)} options have no {draw + 1} orders")
    ranked = _orders(item.id, len(letters), right, draw)[-1]
    moved = letters[ranked.index(right)]
    return replace(
        item, options=tuple(item.options[i] for i in ranked), target=moved, rule="options.shuffled"
    )


def _orders(key: str, count: int, right: int, draws: int) -> list[list[int]]:
    """The first orders drawn for an item, none of them twice."""
    orders: list[list[int]] = []
    seed = 0
    while len(orders) < draws:
        seed += 1
        salt = "" if seed == 1 else f"|{seed}"
        drawn = [hashlib.blake2b(f"{key}|{i}{salt}".encode()).digest() for i in range(count)]
        ranked = sorted(range(count), key=drawn.__getitem__)
        while not orders and ranked.index(right) == right:
            ranked = ranked[1:] + ranked[:1]
        if ranked != list(range(count)) and ranked not in orders:
            orders.append(ranked)
    return orders
