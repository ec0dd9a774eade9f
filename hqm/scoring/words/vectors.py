"""Likeness by word vectors: spaCy's pairwise definition, and a table that gives the same decisions
at once.

AMBER's release asks spaCy for the similarity of two one-word texts, pair by pair, some hundred
thousand times. The words come from a closed vocabulary, so the table of all pairs is a single
product of matrices. That may be rounded differently from a product of two vectors; where the
difference could change the decision, the definition decides about the pair.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

THRESHOLD = 0.8
"""Two words count as the same thing if their cosine is above this (AMBER's
`--similarity_score`).
"""
_MARGIN = 1e-4
"""A distance far above the rounding error of single-precision products, and far below the distance
between words.
"""


@dataclass(frozen=True, eq=False)
class Embedding:
    """A text as spaCy sees it: its tokens, the mean of their vectors, and that vector's length."""

    tokens: tuple[str, ...]
    vector: npt.NDArray[np.float32]
    norm: float


def embed(tokens: Sequence[str], vectors: Sequence[npt.NDArray[np.float32]]) -> Embedding:
    """The embedding of a text from the vectors of its tokens, with spaCy's rounding.

    >>> round(embed(["a"], [np.array([3, 4], dtype=np.float32)]).norm, 6)
    5.0
    """
    mean: npt.NDArray[np.float32] = np.asarray(sum(vectors) / len(vectors), dtype=np.float32)
    squares = (np.float32(value) * np.float32(value) for value in mean)
    return Embedding(tuple(tokens), mean, math.sqrt(sum(map(float, squares))))


def cosine(first: Embedding, other: Embedding) -> float:
    """The similarity of two texts by spaCy's definition.

    It is 1 for the same tokens, 0 if either text has no vector, and otherwise the cosine.

    >>> x, y = (embed([w], [np.array(v, dtype=np.float32)]) for w, v in (("x", [1, 0]), ("y", [0, 0])))
    >>> cosine(x, x), cosine(y, y), cosine(x, y)
    (1.0, 1.0, 0.0)
    """
    if first.tokens == other.tokens:
        return 1.0
    if first.norm == 0 or other.norm == 0:
        return 0.0
    return float(np.dot(first.vector, other.vector) / (first.norm * other.norm))


class VectorLikeness:
    """Which words are alike by their vectors.

    Parameters
    ----------
    name
        The model with its version.
    embedding
        Word -> its embedding; it is called once for each word.
    threshold
        Two words are alike when their similarity is above it.

    Examples
    --------
    >>> table = {"dog": [1.0, 0.1], "puppy": [1.0, 0.2], "car": [0.0, 1.0]}
    >>> made = VectorLikeness("mine", lambda w: embed([w], [np.array(table[w], dtype=np.float32)]))
    >>> made.alike(["dog", "car"], ["puppy", "car"])
    array([[ True, False],
           [False,  True]])
    """

    def __init__(
        self, name: str, embedding: Callable[[str], Embedding], threshold: float = THRESHOLD
    ) -> None:
        self.name, self._embedding, self._threshold = name, embedding, threshold
        self._rows: dict[str, int] = {}
        self._known: list[Embedding] = []
        self._table: npt.NDArray[np.bool_] = np.zeros((0, 0), dtype=bool)

    def alike(self, words: Sequence[str], others: Sequence[str]) -> npt.NDArray[np.bool_]:
        """(words, others): whether the similarity of each pair is above the threshold."""
        self._learn([word for word in dict.fromkeys((*words, *others)) if word not in self._rows])
        rows, columns = ([self._rows[word] for word in side] for side in (words, others))
        alike: npt.NDArray[np.bool_] = self._table[np.ix_(rows, columns)]
        return alike

    def _learn(self, words: Sequence[str]) -> None:
        """Add the rows and columns of new words."""
        if not words:
            return
        old = len(self._known)
        for word in words:
            self._rows[word] = len(self._known)
            self._known.append(self._embedding(word))
        table = np.zeros((len(self._known),) * 2, dtype=bool)
        table[:old, :old] = self._table
        table[old:] = self._decide(self._known[old:], self._known)
        table[:old, old:] = self._decide(self._known[:old], self._known[old:])
        self._table = table

    def _decide(
        self, some: Sequence[Embedding], others: Sequence[Embedding]
    ) -> npt.NDArray[np.bool_]:
        if not some or not others:
            return np.zeros((len(some), len(others)), dtype=bool)
        left, right = (
            np.stack([e.vector for e in side]).astype(np.float64) for side in (some, others)
        )
        lengths = np.outer([e.norm for e in some], [e.norm for e in others])
        close = np.divide(left @ right.T, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        above: npt.NDArray[np.bool_] = close > self._threshold
        doubtful = np.abs(close - self._threshold) < _MARGIN
        same: dict[tuple[str, ...], list[int]] = {}
        for j, other in enumerate(others):
            same.setdefault(other.tokens, []).append(j)
        for i, embedding in enumerate(some):
            doubtful[i, same.get(embedding.tokens, [])] = True
        for i, j in np.argwhere(doubtful):
            above[i, j] = cosine(some[i], others[j]) > self._threshold
        return above
