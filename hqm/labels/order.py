"""The order in which a rater sees the answers: random, a rater's own, and no two about one picture
in a row.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from hqm.psychometrics.weights import stream

Grouping = Literal["none", "picture"]


def rater_order(
    uids: Sequence[str],
    groups: Mapping[str, str],
    *,
    seed: int,
    rater: str,
    group: Grouping = "none",
) -> tuple[str, ...]:
    """The order in which one rater sees these uids; it is the same whenever it is computed.

    Parameters
    ----------
    groups
        uid -> what it shares with others, the picture.
    group
        `picture` puts the answers about one picture in a row; otherwise none follows another one
        about its picture, as far as there are enough pictures.

    >>> groups = {"a": "1.png", "b": "1.png", "c": "2.png", "d": "2.png", "e": "3.png"}
    >>> order = rater_order(list(groups), groups, seed=0, rater="anna")
    >>> any(groups[x] == groups[y] for x, y in zip(order, order[1:]))
    False
    >>> order == rater_order(list(groups), groups, seed=0, rater="ben")
    False
    """
    rng = stream(seed, f"order of {rater}")
    shuffled = [uids[i] for i in rng.permutation(len(uids))]
    waiting: dict[str, deque[str]] = {}
    for uid in shuffled:
        waiting.setdefault(groups[uid], deque()).append(uid)
    if group == "picture":
        return tuple(uid for of_picture in waiting.values() for uid in of_picture)
    return tuple(_spread(waiting, len(uids), rng))


def _spread(waiting: dict[str, deque[str]], count: int, rng: np.random.Generator) -> Sequence[str]:
    """Draw a picture in proportion to what waits of it, never the last one, but the largest where
    it would not fit later.
    """
    order: list[str] = []
    names = list(waiting)
    left = np.array([len(waiting[name]) for name in names], dtype=np.float64)
    last = -1
    for remaining in range(count, 0, -1):
        free = left.copy()
        if last >= 0 and left[last] < remaining:
            free[last] = 0
        largest = int(np.argmax(free))
        # of a picture with more than half of what is left, one must come now
        chosen = (
            largest
            if 2 * free[largest] > remaining
            else int(rng.choice(len(names), p=free / free.sum()))
        )
        order.append(waiting[names[chosen]].popleft())
        left[chosen] -= 1
        last = chosen
    return order
