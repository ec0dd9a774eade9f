"""ROUGE-L: how much two texts share, by the longest sequence of words that stands in both in the
same order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_WORD = re.compile(r"[^\W_]+")


def common_words(first: Sequence[str], other: Sequence[str]) -> list[int]:
    """The places in `first` of a longest sequence of words that both have in the same order.

    >>> common_words("police killed the gunman".split(), "police kill the gunman".split())
    [0, 2, 3]
    """
    longest = [[0] * (len(other) + 1) for _ in range(len(first) + 1)]
    for i in range(len(first) - 1, -1, -1):
        for j in range(len(other) - 1, -1, -1):
            here = (
                longest[i + 1][j + 1] + 1
                if first[i] == other[j]
                else max(longest[i + 1][j], longest[i][j + 1])
            )
            longest[i][j] = here
    places, i, j = [], 0, 0
    while i < len(first) and j < len(other):
        if first[i] == other[j]:
            places.append(i)
            i, j = i + 1, j + 1
        elif longest[i + 1][j] >= longest[i][j + 1]:
            i += 1
        else:
            j += 1
    return places


def words_of(text: str) -> list[str]:
    """The words that are compared: letters and digits, in lower case."""
    return _WORD.findall(text.lower())


def rouge_l(candidate: str, reference: str) -> float:
    """The harmonic mean of the shares of both texts' words that are in their longest common
    sequence (Lin 2004, beta = 1).

    >>> rouge_l("police kill the gunman", "police killed the gunman"), rouge_l("", "a dog")
    (0.75, 0.0)
    """
    ours, theirs = words_of(candidate), words_of(reference)
    common = len(common_words(ours, theirs))
    return 2 * common / (len(ours) + len(theirs)) if common else 0.0
