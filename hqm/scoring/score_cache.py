"""Verdicts that many items share: a short answer is scored once for all items that are scored
alike.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hqm.scoring.parsers import Parser
from hqm.types import Item, Response, Verdict


class Alike(NamedTuple):
    """All of an item that decides the verdict on an answer: two items with equal values give the
    same one.

    An answer that is read against the question's words (`Parser.against_words`) is the exception:
    of it, the reading decides in place of the question's `kind`.
    """

    decides: Hashable
    """What the rule takes from the item beside the reading, such as its target."""
    reader: Parser
    negated: bool
    kind: Hashable

    def read(self, text: str, item: Item) -> Hashable:
        """What the parser makes of an answer to one item."""
        return self.reader(text, item.prompt, self.negated)


class Verdicts:
    """The verdicts on answers to one form, by text: the administrations of the form that are scored
    alike share them.

    Parameters
    ----------
    items
        The items of the form.
    score
        The rule.
    alike
        What of an item decides; None where each item is looked at by itself.
    """

    def __init__(
        self,
        items: Sequence[Item],
        score: Callable[[Item, Response], Verdict],
        alike: Callable[[Item], Alike | None] = lambda _: None,
    ) -> None:
        self.items, self.score = items, score
        numbers: dict[Alike, int] = {}
        self._classes: list[tuple[Alike, Item]] = []
        places = []
        for item in items:
            shared = alike(item)
            if shared is not None and shared not in numbers:
                numbers[shared] = len(numbers)
                self._classes.append((shared, item))
            places.append(-1 if shared is None else numbers[shared])
        self.classes: npt.NDArray[np.int64] = np.array(places, dtype=np.int64)
        """(items,): the number of each item's class; -1 where it has none."""
        self._made: dict[tuple[Hashable, ...], Verdict] = {}
        self._by_item: dict[tuple[int, object], Verdict] = {}

    @property
    def count(self) -> int:
        """How many classes there are."""
        return len(self._classes)

    def of_class(self, text: str, number: int) -> Verdict | None:
        """The verdict on a short answer to any item of a class; None where each item must be looked
        at.
        """
        shared, item = self._classes[number]
        if shared.reader.against_words(text):
            return None
        return self._once((text, number), item, text)

    def of_pair(self, text: str, place: int) -> Verdict:
        """The verdict on a short answer that is read against the item's own words."""
        number = int(self.classes[place])
        shared, item = self._classes[number][0], self.items[place]
        # the reading once for each item, the verdict once for each reading
        return self._once((text, number, shared.read(text, item)), item, text)

    def of_item(self, place: int, key: object, response: Response) -> Verdict:
        """The verdict on an answer to an item that is looked at by itself; equal keys stand for
        equal answers.
        """
        verdict = self._by_item.get((place, key))
        if verdict is None:
            verdict = self._by_item[place, key] = self.score(self.items[place], response)
        return verdict

    def _once(self, key: tuple[Hashable, ...], item: Item, text: str) -> Verdict:
        verdict = self._made.get(key)
        if verdict is None:
            verdict = self._made[key] = self.score(item, Response(text))
        return verdict
