"""Three small interfaces for what a scorer asks about words, and the value that names the parts
that answer.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    proper: bool = False


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
