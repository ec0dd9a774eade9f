"""Three small interfaces for what a scorer asks about words, and the recipe that names the
components behind them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from HanTa.HanoverTagger import HanoverTagger


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

    def alike(self, words: Sequence[str], candidates: Sequence[str]) -> npt.NDArray[np.bool_]:
        """(words, others): whether each pair counts as the same thing."""
        ...


class Concreteness(Protocol):
    """Decides whether a noun names something that can be seen or touched."""

    @property
    def name(self) -> str: ...

    def __call__(self, lemma: str) -> bool: ...


MAX_WORD_LETTERS = 64
"""Letters of the longest word that a tagger is given: its work grows with the cube of them.

Some addresses are as long.
"""
_MAX_SCRIPT_LETTERS = 4
"""The same for a word without a Latin letter, about which an English tagger knows nothing however
long it is.
"""


def shorten_word(word: str) -> str:
    """Return what a tagger is given of a word: all of it, unless it is no word of a language with
    spaces.

    Chinese, Japanese and Thai are written without spaces, so that a whole sentence looks like one
    word.

    >>> shorten_word("photographs"), shorten_word("这张图片里有一只狗吗")
    ('photographs', '这张图片')
    """
    has_latin = any(letter.isascii() and letter.isalpha() for letter in word)
    return word[: MAX_WORD_LETTERS if has_latin else _MAX_SCRIPT_LETTERS]


@lru_cache(maxsize=1)
def english_tagger() -> HanoverTagger:
    """Return HanTa's tagger with its English model, which is loaded once."""
    from HanTa.HanoverTagger import HanoverTagger

    # The model in the package: nothing is downloaded, and one version tags everywhere alike.
    tagger = HanoverTagger("morphmodel_en.pgz")
    # what a word may be is worked out anew at each place; captions and questions say the same words
    # again and again
    tagger._tag_word = lru_cache(maxsize=65536)(tagger._tag_word)
    return tagger


@dataclass(frozen=True, slots=True)
class Recipe:
    """The names of the components that decide a benchmark's questions about words; empty for a
    question it does not ask.

    >>> Recipe(nouns="hanta", likeness="synonyms").label
    'nouns=hanta,likeness=synonyms'
    """

    nouns: str = ""
    likeness: str = ""
    concreteness: str = ""

    @property
    def label(self) -> str:
        """The components as a signature has them, before their versions are known."""
        names = ((field.name, getattr(self, field.name)) for field in fields(self))
        return ",".join(f"{kind}={name}" for kind, name in names if name)


@dataclass(frozen=True)
class Words:
    """The loaded components of a recipe.

    A component that the recipe does not name is None; a scorer that uses it has a recipe that names
    it.
    """

    recipe: Recipe
    nouns: NounFinder | None = None
    likeness: Likeness | None = None
    concreteness: Concreteness | None = None

    @property
    def label(self) -> str:
        """The components with their versions, as a signature has them."""
        components = {
            "nouns": self.nouns,
            "likeness": self.likeness,
            "concreteness": self.concreteness,
        }
        return ",".join(f"{kind}={value.name}" for kind, value in components.items() if value)


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


def cosine(first: Embedding, second: Embedding) -> float:
    """The similarity of two texts by spaCy's definition.

    It is 1 for the same tokens, 0 if either text has no vector, and otherwise the cosine.

    >>> x = Embedding(("x",), np.array([1, 0], dtype=np.float32), 1.0)
    >>> y = Embedding(("y",), np.array([0, 0], dtype=np.float32), 0.0)
    >>> cosine(x, x), cosine(y, y), cosine(x, y)
    (1.0, 1.0, 0.0)
    """
    if first.tokens == second.tokens:
        return 1.0
    if first.norm == 0 or second.norm == 0:
        return 0.0
    return float(np.dot(first.vector, second.vector) / (first.norm * second.norm))


class VectorLikeness:
    """Likeness of words by the cosine of their vectors.

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
    >>> likeness = VectorLikeness("mine", lambda w: Embedding((w,), vectors[w], 1.0))
    >>> likeness.alike(["dog", "car"], ["puppy", "car"])
    array([[ True, False],
           [False,  True]])
    """

    def __init__(self, name: str, embedding: Callable[[str], Embedding]) -> None:
        self.name = name
        self._embedding = embedding
        self._rows: dict[str, int] = {}
        self._embeddings: list[Embedding] = []
        self._table: npt.NDArray[np.bool_] = np.zeros((0, 0), dtype=bool)

    def alike(self, words: Sequence[str], candidates: Sequence[str]) -> npt.NDArray[np.bool_]:
        """(words, candidates): whether the similarity of each pair is above the threshold."""
        self._learn(
            [word for word in dict.fromkeys((*words, *candidates)) if word not in self._rows]
        )
        rows = [self._rows[word] for word in words]
        columns = [self._rows[word] for word in candidates]
        alike: npt.NDArray[np.bool_] = self._table[np.ix_(rows, columns)]
        return alike

    def _learn(self, words: Sequence[str]) -> None:
        """Add the rows and columns of new words."""
        if not words:
            return
        n_old = len(self._embeddings)
        for word in words:
            self._rows[word] = len(self._embeddings)
            self._embeddings.append(self._embedding(word))
        old = self._embeddings[:n_old]
        new = self._embeddings[n_old:]
        table = np.zeros((len(self._embeddings),) * 2, dtype=bool)
        table[:n_old, :n_old] = self._table
        table[n_old:] = self._decide(new, self._embeddings)
        table[:n_old, n_old:] = self._decide(old, new)
        self._table = table

    def _decide(
        self, left: Sequence[Embedding], right: Sequence[Embedding]
    ) -> npt.NDArray[np.bool_]:
        """(left, right): whether each pair is alike, by the table and in doubt by definition."""
        if not left or not right:
            return np.zeros((len(left), len(right)), dtype=bool)
        products = _vectors(left) @ _vectors(right).T
        lengths = np.outer([word.norm for word in left], [word.norm for word in right])
        similarity = np.divide(products, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        is_alike: npt.NDArray[np.bool_] = similarity > THRESHOLD
        doubtful = np.abs(similarity - THRESHOLD) < _MARGIN
        columns_by_tokens: dict[tuple[str, ...], list[int]] = {}
        for j, word in enumerate(right):
            columns_by_tokens.setdefault(word.tokens, []).append(j)
        for i, word in enumerate(left):
            doubtful[i, columns_by_tokens.get(word.tokens, [])] = True
        for i, j in np.argwhere(doubtful):
            is_alike[i, j] = cosine(left[i], right[j]) > THRESHOLD
        return is_alike


def _vectors(embeddings: Sequence[Embedding]) -> npt.NDArray[np.float64]:
    """(embeddings, dimensions): the vectors in double precision."""
    return np.stack([embedding.vector for embedding in embeddings]).astype(np.float64)
