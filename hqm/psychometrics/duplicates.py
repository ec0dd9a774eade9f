"""Items that appear twice."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Duplicates:
    """Groups of items that ask the same.

    - `by_key`: Items with equal keys (the same picture and question).
    - `contradictory`: Groups of equal keys with different targets.
    """

    by_key: tuple[tuple[int, ...], ...]
    contradictory: tuple[tuple[int, ...], ...]


def duplicate_items(keys: Sequence[Hashable], targets: Sequence[Hashable]) -> Duplicates:
    """Items that ask the same question, and those among them whose targets contradict each other.

    - `keys`: (items,): what identifies an item's question: (picture, text), or a hash of it.
    - `targets`: (items,): the right answers; another number of them than of keys is a ValueError.

    >>> duplicate_items(["a", "b", "a", "c"], ["yes", "no", "no", "no"])
    Duplicates(by_key=((0, 2),), contradictory=((0, 2),))
    """
    if len(targets) != len(keys):
        raise ValueError(f"one target a key is needed, got {len(targets)} for {len(keys)}")
    places: dict[Hashable, list[int]] = {}
    for i, key in enumerate(keys):
        places.setdefault(key, []).append(i)
    groups = tuple(tuple(group) for group in places.values() if len(group) > 1)
    return Duplicates(
        groups, tuple(group for group in groups if len({targets[i] for i in group}) > 1)
    )
