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


class ScoringKey(NamedTuple):
    """All of an item that decides the verdict on an answer: two items with equal values give the
    same one.

    An answer that is read against the question's words (`Parser.needs_question`) is the exception:
    of it, the reading decides in place of the question's `kind`.
    """

    decides: Hashable
    """What the rule takes from the item beside the reading, such as its target."""
    reader: Parser
    negated: bool
    kind: Hashable

    def read(self, text: str, item: Item) -> Hashable:
        """Return the parser's reading of an answer to one item."""
        return self.reader(text, item.prompt, self.negated)


class VerdictCache:
    """The verdicts on answers to one form, by text: the administrations of the form that are scored
    alike share them.

    Parameters
    ----------
    items
        The items of the form.
    score
        The rule.
    scoring_key
        Item -> the key of its class; None where each item is scored by itself.
    """

    def __init__(
        self,
        items: Sequence[Item],
        score: Callable[[Item, Response], Verdict],
        scoring_key: Callable[[Item], ScoringKey | None] = lambda _: None,
    ) -> None:
        self.items, self.score = items, score
        numbers: dict[ScoringKey, int] = {}
        self._class_examples: list[tuple[ScoringKey, Item]] = []
        class_numbers = []
        for item in items:
            key = scoring_key(item)
            if key is not None and key not in numbers:
                numbers[key] = len(numbers)
                self._class_examples.append((key, item))
            class_numbers.append(-1 if key is None else numbers[key])
        self.classes: npt.NDArray[np.int64] = np.array(class_numbers, dtype=np.int64)
        """(items,): the number of each item's class; -1 where it has none."""
        self._by_reading: dict[tuple[Hashable, ...], Verdict] = {}
        self._by_item: dict[tuple[int, object], Verdict] = {}

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self._class_examples)

    def class_verdict(self, text: str, number: int) -> Verdict | None:
        """The verdict on a short answer to any item of a class; None where the answer is read
        against the words of each item.
        """
        key, item = self._class_examples[number]
        if key.reader.needs_question(text):
            return None
        return self._cached_verdict((text, number), item, text)

    def item_reading_verdict(self, text: str, index: int) -> Verdict:
        """The verdict on a short answer that is read against the item's own words."""
        number = int(self.classes[index])
        key, _ = self._class_examples[number]
        item = self.items[index]
        # an answer is read once for each item, and scored once for each reading
        return self._cached_verdict((text, number, key.read(text, item)), item, text)

    def item_verdict(self, index: int, key: object, response: Response) -> Verdict:
        """The verdict on an answer to an item that is scored by itself; equal keys stand for equal
        answers.
        """
        verdict = self._by_item.get((index, key))
        if verdict is None:
            verdict = self._by_item[index, key] = self.score(self.items[index], response)
        return verdict

    def _cached_verdict(self, key: tuple[Hashable, ...], item: Item, text: str) -> Verdict:
        """The verdict that was given for a key before, or that the rule gives now."""
        verdict = self._by_reading.get(key)
        if verdict is None:
            verdict = self._by_reading[key] = self.score(item, Response(text))
        return verdict
