"""Three small interfaces for what a scorer asks about words, and the value that names the parts
that answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt


class Noun(NamedTuple):
    """A noun of a text: as written, its lemma, where it stands, and whether it is a proper noun."""

    text: str
    lemma: str
    start: int
    """The offset of its first character."""
    proper: bool


class NounFinder(Protocol):
    """Finds the nouns of a text, in order and with repeats."""

    @property
    def name(self) -> str: ...

    def __call__(self, text: str) -> list[Noun]: ...


class Likeness(Protocol):
    """Decides which words count as the same thing."""

    @property
    def name(self) -> str: ...

    def alike(self, words: Sequence[str], others: Sequence[str]) -> npt.NDArray[np.bool_]:
        """(words, others): whether each pair counts as the same thing."""
        ...


class Concreteness(Protocol):
    """Decides whether a noun names something that can be seen or touched."""

    @property
    def name(self) -> str: ...

    def __call__(self, lemma: str) -> bool: ...


LONGEST_WORD = 64
"""Letters of the longest word that a tagger is given: its work grows with the cube of them.

Some addresses are as long.
"""
_SCRIPT = 4
"""The same for a word without a Latin letter, about which an English tagger knows nothing however
long it is.
"""


def capped(word: str) -> str:
    """What a tagger is given of a word: all of it, unless it is no word of a language with spaces.

    Chinese, Japanese and Thai are written without spaces, so that a whole sentence looks like one
    word.

    >>> capped("photographs"), capped("这张图片里有一只狗吗")
    ('photographs', '这张图片')
    """
    return word[:LONGEST_WORD] if any(c.isascii() and c.isalpha() for c in word) else word[:_SCRIPT]


@dataclass(frozen=True, slots=True)
class Recipe:
    """The names of the parts that answer a benchmark's questions about words; empty for a question
    it does not ask.

    >>> Recipe(nouns="hanta", likeness="synonyms").label
    'nouns=hanta,likeness=synonyms'
    """

    nouns: str = ""
    likeness: str = ""
    concreteness: str = ""

    @property
    def label(self) -> str:
        """The parts as a signature has them, before their versions are known."""
        return ",".join(
            f"{f.name}={getattr(self, f.name)}" for f in fields(self) if getattr(self, f.name)
        )


@dataclass(frozen=True)
class Words:
    """The loaded parts of a recipe.

    A part that the recipe does not name is None; a scorer that uses it has a recipe that names it.
    """

    recipe: Recipe
    nouns: NounFinder | None = None
    likeness: Likeness | None = None
    concreteness: Concreteness | None = None

    @property
    def label(self) -> str:
        """The parts with their versions, as a signature has them."""
        parts = {name: getattr(self, name) for name in ("nouns", "likeness", "concreteness")}
        return ",".join(f"{name}={part.name}" for name, part in parts.items() if part is not None)


# ----------------------------------------------------------------------
# Likeness by word vectors: spaCy's pairwise definition, and a table that gives the same decisions
# at once.
#
# AMBER's release asks spaCy for the similarity of two one-word texts, pair by pair, some hundred
# thousand times. The words come from a closed vocabulary, so the table of all pairs is a single
# product of matrices. That may be rounded differently from a product of two vectors; where the
# difference could change the decision, the definition decides about the pair.
# ----------------------------------------------------------------------

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


def cosine(first: Embedding, other: Embedding) -> float:
    """The similarity of two texts by spaCy's definition.

    It is 1 for the same tokens, 0 if either text has no vector, and otherwise the cosine.

    >>> x = Embedding(("x",), np.array([1, 0], dtype=np.float32), 1.0)
    >>> y = Embedding(("y",), np.array([0, 0], dtype=np.float32), 0.0)
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

    Examples
    --------
    >>> table = {"dog": [1.0, 0.0], "puppy": [0.96, 0.28], "car": [0.0, 1.0]}
    >>> vectors = {word: np.array(row, dtype=np.float32) for word, row in table.items()}
    >>> made = VectorLikeness("mine", lambda w: Embedding((w,), vectors[w], 1.0))
    >>> made.alike(["dog", "car"], ["puppy", "car"])
    array([[ True, False],
           [False,  True]])
    """

    def __init__(self, name: str, embedding: Callable[[str], Embedding]) -> None:
        self.name, self._embedding = name, embedding
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
        above: npt.NDArray[np.bool_] = close > THRESHOLD
        doubtful = np.abs(close - THRESHOLD) < _MARGIN
        same: dict[tuple[str, ...], list[int]] = {}
        for j, other in enumerate(others):
            same.setdefault(other.tokens, []).append(j)
        for i, embedding in enumerate(some):
            doubtful[i, same.get(embedding.tokens, [])] = True
        for i, j in np.argwhere(doubtful):
            above[i, j] = cosine(some[i], others[j]) > THRESHOLD
        return above
