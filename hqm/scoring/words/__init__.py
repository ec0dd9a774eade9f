"""Words: the nouns of a text, whether two words are alike, whether a noun is concrete.

`--set words=...` chooses the components that decide.
"""

from hqm.scoring.words.interfaces import Concreteness, Likeness, Noun, NounFinder, Recipe, Words
from hqm.scoring.words.parts import CONCRETENESS, LIKENESS, NOUNS, compose, find_words

__all__ = [
    "CONCRETENESS",
    "LIKENESS",
    "NOUNS",
    "Concreteness",
    "Likeness",
    "Noun",
    "NounFinder",
    "Recipe",
    "Words",
    "compose",
    "find_words",
]
