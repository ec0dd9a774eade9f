"""Fast search for phrases that begin with one of a few words.

An answer of a thousand words has few words that may begin "the answer is" or "wait, no". A pattern
with dozens of alternatives, tried at every character, costs ten times as much as one pass over the
words that finds where it can match at all. What is found is the same: a property test compares it
with the pattern's own `finditer`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any


def words_pattern(words: Iterable[str]) -> str:
    """Return a pattern of words in which those with the same beginning share it, so that a word
    that is none of them is left at its first other letter.

    >>> words_pattern(["so", "son", "then"])
    '(?:so(?:n)?|then)'
    """
    tree: dict[str, dict[str, Any]] = {}
    for word in words:
        branch = tree
        for letter in word:
            branch = branch.setdefault(letter, {})
        branch[""] = {}
    return _tree_pattern(tree)


def _tree_pattern(tree: Mapping[str, Mapping[str, Any]]) -> str:
    branches = [
        re.escape(letter) + _tree_pattern(branch)
        for letter, branch in sorted(tree.items())
        if letter
    ]
    if len(branches) > 1 or (branches and "" in tree):
        return f"(?:{'|'.join(branches)}){'?' if '' in tree else ''}"
    return "".join(branches)


def at_word(text: str, offset: int) -> tuple[int, ...]:
    """Return where a phrase may begin whose first word is at `offset`: there."""
    return (offset,)


@dataclass(frozen=True, slots=True)
class CueSearch:
    """A pattern, and the words at which it can match.

    Parameters
    ----------
    pattern
        What is searched for.
    first_words
        The words that a match may begin with, in lower case.
    find_starts
        Text and offset of such a word -> the offsets at which the pattern is tried: a match may
        begin with a mark before the word, or ask for one.
    unspaced
        Further alternatives, in scripts that set no spaces between words or beginning with a sign.
        They are tried at every character, and only where a text may have one.
    signs
        The ASCII signs with which those may begin.
    """

    pattern: re.Pattern[str]
    first_words: frozenset[str]
    find_starts: Callable[[str, int], tuple[int, ...]] = at_word
    unspaced: re.Pattern[str] | None = None
    signs: tuple[str, ...] = ()

    def find(self, text: str, offsets: Sequence[int]) -> list[re.Match[str]]:
        """Return the matches in the order of the text, given the offsets of the first words."""
        if not offsets and self.unspaced is None:
            return []
        matches = []
        end = 0
        for offset in offsets:
            for start in self.find_starts(text, offset):
                if start >= end:
                    match = self.pattern.match(text, start)
                else:
                    match = None
                if match is not None:
                    matches.append(match)
                    end = match.end()
                    break
        if self.unspaced is not None and self._may_have_unspaced(text):
            matches += self.unspaced.finditer(text)
            matches.sort(key=re.Match.start)
        return matches

    def _may_have_unspaced(self, text: str) -> bool:
        return not text.isascii() or any(sign in text for sign in self.signs)

    def remove(self, text: str, offsets: Sequence[int]) -> str:
        """Return a text without the matches."""
        matches = self.find(text, offsets)
        if not matches:
            return text
        ends = [0, *(match.end() for match in matches)]
        starts = [*(match.start() for match in matches), len(text)]
        return "".join(text[end:start] for end, start in zip(ends, starts, strict=True))


class WordSearch:
    """A pattern that is only asked whether a text has it, and the words at which it can match.

    Parameters
    ----------
    pattern
        What is searched for; it may begin with "n't" as well.
    first_words
        The words that a match in an ASCII text may begin with, in lower case.
    """

    def __init__(self, pattern: re.Pattern[str], first_words: frozenset[str]) -> None:
        self.pattern = pattern
        self._start = re.compile(rf"\b(?={words_pattern(first_words)}\b)|(?=n't)")

    def is_in(self, text: str) -> bool:
        """Whether a text has a match."""
        if not text.isascii():
            return self.pattern.search(text) is not None
        lowered = text.lower()
        match = self.pattern.match
        return any(match(lowered, first.start()) for first in self._start.finditer(lowered))


class CueIndex:
    """Several searches that share one pass over the words of a text.

    >>> index = CueIndex(greeting=CueSearch(re.compile("good (?:day|night)"), frozenset({"good"})))
    >>> index.offsets("a good day and a good one")
    {'greeting': [2, 17]}
    """

    def __init__(self, **searches: CueSearch) -> None:
        self.searches: Mapping[str, CueSearch] = MappingProxyType(searches)
        names_by_word: dict[str, list[str]] = {}
        for name, search in searches.items():
            for word in search.first_words:
                names_by_word.setdefault(word, []).append(name)
        self._names_by_word = names_by_word
        self._first_word = re.compile(rf"\b{words_pattern(names_by_word)}\b")

    def offsets(self, text: str) -> dict[str, list[int]]:
        """Return, for each search, where a text has one of its first words."""
        offsets: dict[str, list[int]] = {name: [] for name in self.searches}
        names_by_word = self._names_by_word
        lowered = text.lower()
        if len(lowered) != len(text):  # a letter such as İ is two in lower case
            lowered = "".join(letter.lower()[0] for letter in text)
        for match in self._first_word.finditer(lowered):
            start = match.start()
            for name in names_by_word[match[0]]:
                offsets[name].append(start)
        return offsets
