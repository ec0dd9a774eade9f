"""Fast search for phrases that begin with one of a few words.

An answer of a thousand words has few words that may begin "the answer is" or "wait, no". A pattern
with dozens of alternatives, tried at every character, costs a hundred times as much as a look for
those words alone, which `bytes.find` does at the speed of memory. What is found is the same: a
property test compares it with the pattern's own `finditer`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType


def words_pattern(words: Iterable[str]) -> str:
    """Return a pattern of words in which those with the same beginning share it, so that a word
    that is none of them is left at its first other letter.

    >>> words_pattern(["so", "son", "then"])
    '(?:so(?:n)?|then)'
    """
    tree = _Tree()
    for word in words:
        branch = tree
        for letter in word:
            branch = branch.setdefault(letter, _Tree())
        branch[""] = _Tree()
    return _tree_pattern(tree)


class _Tree(dict[str, "_Tree"]):
    """Words by their first letter, the remainders again so; the empty letter ends a word."""


def _tree_pattern(tree: _Tree) -> str:
    branches = []
    for letter, branch in sorted(tree.items()):
        if letter:
            branches.append(re.escape(letter) + _tree_pattern(branch))
    if len(branches) > 1 or (branches and "" in tree):
        return f"(?:{'|'.join(branches)}){'?' if '' in tree else ''}"
    return "".join(branches)


def _lower_or_space(code: int) -> int:
    """An ASCII letter in lower case, a digit or underscore; a space for every other byte."""
    sign = chr(code)
    if sign.isascii() and (sign.isalnum() or sign == "_"):
        return ord(sign.lower())
    return ord(" ")


_WORDS_ONLY = bytes(map(_lower_or_space, range(256)))


def _word_view(text: str) -> bytes:
    """The ASCII words of a text in lower case, with a space for every other sign and one at either
    end, so that a word stands one byte behind its offset in the text.
    """
    # a letter that is two in lower case would shift every offset behind it
    if not text.isascii():
        text = text.replace("\u0130", "i")  # İ, whose lower case is an i with a dot
    return b" %b " % text.encode("ascii", "replace").translate(_WORDS_ONLY)


def ascii_words(text: str) -> list[str]:
    """Return the runs of ASCII letters, digits and underscores of a text, in lower case.

    >>> ascii_words("So, 5 cafés")
    ['so', '5', 'caf', 's']
    """
    return _word_view(text).decode("ascii").split()


def _is_whole(word: bytes, offset: int, text: str) -> bool:
    """Whether a word of the view of a text is one in the text, and not the "caf" of "café"."""
    end = offset + len(word)
    return not (text[max(0, offset - 1) : offset].isalnum() or text[end : end + 1].isalnum())


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
        The words that a match may begin with, in lower case; where a frequent word has to be
        followed by another, both with a space between them.
    find_starts
        Text and offset of such a word -> the offsets at which the pattern is tried: a match may
        begin with a mark before the word, or ask for one.
    unspaced
        Further alternatives, in scripts that set no spaces between words or beginning with a sign:
        what a text must have for them to match, and the pattern, which is tried at every character.
    """

    pattern: re.Pattern[str]
    first_words: frozenset[str]
    find_starts: Callable[[str, int], tuple[int, ...]] = at_word
    unspaced: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = ()

    def may_begin_with(self, phrase: str) -> bool:
        """Whether a match may begin with these words, of which the longest is found: with "i mean"
        where it may begin with "i".
        """
        words = phrase.split(" ")
        return any(" ".join(words[:end]) in self.first_words for end in range(1, len(words) + 1))

    def find(
        self, text: str, offsets: Sequence[int], may_be_unspaced: bool = True
    ) -> list[re.Match[str]]:
        """Return the matches in the order of the text, given the offsets of the first words.

        `CueIndex.may_be_unspaced` tells, once for all searches, whether any of the alternatives
        in `unspaced` can match.
        """
        matches = []
        end = 0
        begins_at_word = self.find_starts is at_word
        for offset in offsets:
            # matches do not overlap, as with finditer: a start within the last one is passed over
            for start in (offset,) if begins_at_word else self.find_starts(text, offset):
                if start >= end:
                    match = self.pattern.match(text, start)
                else:
                    match = None
                if match is not None:
                    matches.append(match)
                    end = match.end()
                    break
        for sign, pattern in self.unspaced if may_be_unspaced else ():
            if sign.search(text):
                matches += pattern.finditer(text)
                matches.sort(key=re.Match.start)
        return matches

    def remove(self, text: str, offsets: Sequence[int], may_be_unspaced: bool = True) -> str:
        """Return a text without the matches."""
        matches = self.find(text, offsets, may_be_unspaced)
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
        The words that a match in an ASCII text may begin with, in lower case; for a frequent word
        those that follow it as well, each behind one other sign: "isn t".
    foreign
        What a text must have to match alternatives that begin otherwise, and their pattern.
    """

    def __init__(
        self,
        pattern: re.Pattern[str],
        first_words: frozenset[str],
        foreign: tuple[re.Pattern[str], re.Pattern[str]],
    ) -> None:
        self.pattern = pattern
        self._foreign_sign, self._foreign = foreign
        self._phrases: dict[bytes, list[bytes]] = {}
        for phrase in first_words:
            first = phrase.split(" ")[0].encode()
            self._phrases.setdefault(first, []).append(phrase.encode())

    def is_in(self, text: str) -> bool:
        """Whether a text has a match."""
        view = _word_view(text)
        is_ascii = text.isascii()
        match = self.pattern.match
        # a set intersection leaves most texts without any search
        for word in self._phrases.keys() & view.split():
            for phrase in self._phrases[word]:
                spaced = b" %b " % phrase
                offset = view.find(spaced)
                while offset >= 0:
                    if (is_ascii or _is_whole(phrase, offset, text)) and match(text, offset):
                        return True
                    offset = view.find(spaced, offset + len(phrase))
        if "'" in text and any(match(text, end.start()) for end in _NOT_ENDING.finditer(text)):
            return True
        if is_ascii or self._foreign_sign.search(text) is None:
            return False
        return self._foreign.search(text) is not None


_NOT_ENDING = re.compile("n't", re.IGNORECASE)


class CueIndex:
    """Several searches that share one pass over the words of a text.

    >>> index = CueIndex(greeting=CueSearch(re.compile("good (?:day|night)"), frozenset({"good"})))
    >>> index.offsets("a good day and a good one")
    {'greeting': [2, 17]}
    """

    def __init__(self, **searches: CueSearch) -> None:
        self.searches: Mapping[str, CueSearch] = MappingProxyType(searches)
        names_by_word: dict[str, list[str]] = {}
        for word in frozenset[str]().union(*(search.first_words for search in searches.values())):
            names_by_word[word] = [
                name for name, search in searches.items() if search.may_begin_with(word)
            ]
        self._names_by_word = names_by_word
        ascii_words = set(filter(str.isascii, names_by_word))
        self._names_by_view = {word.encode(): names_by_word[word] for word in ascii_words}
        self._first_word = re.compile(f" (?=({words_pattern(ascii_words)}) )".encode())
        foreign_words = names_by_word.keys() - ascii_words
        self._foreign_word = re.compile(rf"\b{words_pattern(foreign_words)}\b(?<=\w)")
        letters = "".join(foreign_words).translate(dict.fromkeys(range(128)))
        # both cases by name: a class that ignores the case is searched for five times as slowly
        self._foreign_letter = re.compile(f"[{letters}{letters.upper()}\0]")
        signs = [sign.pattern for search in searches.values() for sign, _ in search.unspaced]
        self._unspaced_sign = re.compile("|".join(signs) or "(?!)")

    def offsets(self, text: str) -> dict[str, list[int]]:
        """Return, for each search, where a text has one of its first words."""
        offsets: dict[str, list[int]] = {}
        for name in self.searches:
            offsets[name] = []
        is_ascii = text.isascii()
        for match in self._first_word.finditer(_word_view(text)):
            start = match.start()
            word = match[1]
            if is_ascii or _is_whole(word, start, text):
                for name in self._names_by_view[word]:
                    offsets[name].append(start)
        if not is_ascii and self._foreign_letter.search(text):
            self._add_foreign(text, offsets)
        return offsets

    def may_be_unspaced(self, text: str) -> bool:
        """Whether a text has the sign of an alternative in `unspaced` of any of the searches."""
        return self._unspaced_sign.search(text) is not None

    def _add_foreign(self, text: str, offsets: Mapping[str, list[int]]) -> None:
        """Add the offsets of the words with letters outside ASCII."""
        # offsets in the lowered text are used in the text itself
        lowered = text.lower()
        if len(lowered) != len(text):  # a letter such as İ is two in lower case
            lowered = "".join(letter.lower()[0] for letter in text)
        for match in self._foreign_word.finditer(lowered):
            for name in self._names_by_word[match[0]]:
                offsets[name].append(match.start())
        for starts in offsets.values():
            starts.sort()


def is_subsequence(words: Sequence[str], sequence: Sequence[str]) -> bool:
    """Whether a sequence has all these words, in their order."""
    remaining = iter(sequence)
    return all(word in remaining for word in words)
