"""Options of a multiple choice as answers name them: by their words, numbers, times or formulas."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import chain

from hqm.scoring.clock_times import sole_time, times_in
from hqm.scoring.commitments import is_denied, longest_spans, normalize
from hqm.scoring.plain_text import compact_formula, plain
from hqm.scoring.written_numbers import RANGE, Number, numbers_in, range_ends, sole_number
from hqm.types import LETTERS

_MAX_UNIT_CHARS = 16


class Option:
    """An option as it is looked for in an answer: its letter, its words, its number.

    It is compared sign by sign: a pattern for each option of each item would cost more to make than
    a short answer to read.
    """

    def __init__(self, option: str, letter: str = "", label: str = "") -> None:
        self.letter = letter
        self.text = normalize(option)
        self.number = sole_number(plain(option).removeprefix(label))
        self.time = sole_time(option) if ":" in option else None
        self.compact = compact_formula(option)
        # "5–10 s", which may be written "between 5 and 10 seconds"
        whole_range = RANGE.match(self.text)
        is_range = whole_range is not None and whole_range.end() > len(self.text) - _MAX_UNIT_CHARS
        self.range = range_ends(whole_range) if whole_range and is_range else ()
        is_unspaced = self.text != "" and _UNSPACED.match(self.text[0]) is not None
        self.is_letter = len(self.text) == 1 and self.text.isalpha() and not is_unspaced
        """Whether it is a letter, which no word of an answer names; "青" is a word."""

    @cached_property
    def is_single_character(self) -> bool:
        """Whether it is one letter or digit, perhaps in brackets: what it says may be a letter."""
        return sum(map(str.isalnum, self.text)) < 2

    @cached_property
    def has_signs(self) -> bool:
        """Whether it has signs of formulas."""
        return _FORMULA_SIGN.search(self.text) is not None

    @cached_property
    def is_formula(self) -> bool:
        """Whether it is a formula, which may be written with other spaces."""
        is_words = re.fullmatch(r"[\w\s]+", self.text) is not None
        max_trivial = 2 if self.has_signs or ":" in self.text else 4
        return len(self.compact) > max_trivial and self.number is None and not is_words

    @property
    def is_value(self) -> bool:
        """Whether it is a number, a time, a range or a formula."""
        return (
            self.number is not None
            or self.time is not None
            or self.range != ()
            or (self.is_formula and not re.search(r"[^\W\d_]{4,}", self.text))
        )

    @cached_property
    def words(self) -> frozenset[str]:
        """Its words, without those that say little; a formula has none."""
        if self.has_signs:
            return frozenset()
        return frozenset(re.findall(r"\w+", self.text)) - _SMALL_WORDS

    def equals(self, text: str) -> bool:
        """Whether a text is the option and nothing else."""
        if len(text) > self._max_chars:
            return False
        if self.number is not None:
            number = sole_number(text)
            return number is not None and self.is_number(number)
        return self.matches_text(text)

    def matches_text(self, text: str) -> bool:
        """Whether a text is the option as it is written, a formula with other spaces."""
        if not self.text:
            return False
        if normalize(text) == self.text:
            return True
        has_words = not self.is_formula and re.search(r"[^\W\d_]{3}", self.text)
        return not has_words and compact_formula(text) == self.compact

    def begins(self, text: str) -> bool:
        """Whether a text begins with the option."""
        text = text[: self._max_chars]
        if self.number is not None:
            numbers = numbers_in(text)
            return bool(numbers) and numbers[0].start < 3 and self.is_number(numbers[0])
        return bool(self.text) and (
            _begins_with(normalize(text), self.text)
            or (len(self.compact) > 4 and compact_formula(text).startswith(self.compact))
        )

    @property
    def _max_chars(self) -> int:
        """The length of the longest text that may be the option, however it is written."""
        return _MAX_WRITTEN_CHARS + _MAX_WRITTEN_RATIO * len(self.text)

    def is_number(self, number: Number) -> bool:
        """Whether a number is the option's."""
        return self.number is not None and number.matches(self.number)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the spans in which a normalized text names the option."""
        if self.number is not None:
            numbers = filter(self.is_number, numbers_in(text))
            spans = [(number.start, number.end) for number in numbers]
            return [span for span in spans if not _is_in_formula(text, *span)]
        if self.time is not None:
            return [(start, end) for time, start, end in times_in(text) if time.matches(self.time)]
        if self.range:
            ranges = RANGE.finditer(text)
            return [match.span() for match in ranges if range_ends(match) == self.range]
        spans = []
        end = 0
        for low, high in self.occurrences(text):
            if low >= end:
                spans.append((low, high))
                end = high
        return spans

    def occurrences(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where a normalized text has the words of the option, which no longer word holds:
        "青" in "答えは青です". They may overlap.
        """
        start = text.find(self.text) if self.text else -1
        while start >= 0:
            end = start + len(self.text)
            before = text[max(0, start - 1) : start]
            after = text[end : end + 1]
            is_start = not _is_word_sign(before) or _UNSPACED.search(before + self.text[0])
            is_end = not _is_word_sign(after) or _UNSPACED.search(self.text[-1] + after)
            is_separate = not (self.has_signs and _is_in_formula(text, start, end))
            if is_start and is_end and is_separate:
                yield start, end
            start = text.find(self.text, start + 1)


_FORMULA_SIGN = re.compile("[<>=≤≥^√π×+]")
_MAX_WRITTEN_CHARS = 400
_MAX_WRITTEN_RATIO = 8
# kana, Chinese characters and Hangul: no space stands between a name and its verb or particle
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def _is_word_sign(sign: str) -> bool:
    """Whether a sign is part of a word; the empty text is not."""
    return sign.isalnum() or sign == "_"


def _begins_with(text: str, words: str) -> bool:
    """Whether a text begins with whole words."""
    return text.startswith(words) and not _is_word_sign(text[len(words) : len(words) + 1])


@lru_cache(maxsize=4096)
def parse_options(options: tuple[str, ...]) -> tuple[Option, ...]:
    """The options of a question, with their letters."""
    initial_words = {option.split(" ")[0] for option in options}
    label = initial_words.pop() if len(initial_words) == 1 else ""
    # "Figure 1" may be named by its number
    label = label if len(label) > 1 and label.isalpha() else ""
    return tuple(
        Option(option, letter, label)
        for letter, option in zip(LETTERS[: len(options)], options, strict=True)
    )


def named_options(text: str, options: Sequence[Option]) -> list[str]:
    """The letters of the options that a text names and does not deny: "blue" inside "dark blue" is
    the longer one.
    """
    text = normalize(text)
    spans: list[tuple[int, int, str]] = []
    for option in options:
        # an option "A" would be found in every article
        if option.is_letter:
            continue
        for start, end in option.spans(text):
            if not is_denied(text, start, end):
                spans.append((start, end, option.letter))
                label = _LABEL_BEHIND.match(text, end)
                if label:  # "the second image (B)" names two where that is A
                    spans.append((end, label.end(), label[1].upper()))
    letters = list(dict.fromkeys(letter for _, _, letter in longest_spans(spans)))
    return letters or _named_formulas(text, options) or _options_by_words(text, options)


_LABEL_BEHIND = re.compile(r" \(([a-e])\)")


def _named_formulas(text: str, options: Sequence[Option]) -> list[str]:
    """The letters of the options that are formulas in a text, however it sets spaces: "x^2" inside
    "x^2+1" is the longer one.
    """
    compact = ""
    formulas = {}
    for option in options:
        if option.is_formula:
            compact = compact or compact_formula(text)
            if _has_formula(compact, option.compact):
                formulas[option.letter] = option.compact
    letters = []
    for letter, formula in formulas.items():
        if not any(formula != longer and formula in longer for longer in formulas.values()):
            letters.append(letter)
    return letters


def _has_formula(text: str, formula: str) -> bool:
    """Whether a compact text has a formula that is no part of a longer one."""
    start = text.find(formula)
    while start >= 0:
        end = start + len(formula)
        if not _is_word_sign(text[end : end + 1]) and not _is_in_formula(text, start, end):
            return True
        start = text.find(formula, start + 1)
    return False


def _is_in_formula(text: str, start: int, end: int) -> bool:
    """Whether a formula is part of a longer one, such as √3 of 2√3, 1 - √3 and √3/2."""
    return (
        _FORMULA_GOES_ON.match(text, end) is not None
        or _FORMULA_BEFORE.search(text, max(0, start - 4), start + 1) is not None
    )


_FORMULA_GOES_ON = re.compile(r" ?(?:[\^√]|[-−+/×·] ?[\d√π(])")
_FORMULA_BEFORE = re.compile(r"(?:[/^√×+·] ?|[\dπ] ?[-−] ?|(?:^|[ (=])[-−]|[\dπ]).$|[\dπ] [√π]$")


_SMALL_WORDS = frozenset(
    "a an the is are was were be of in on at to for by and or it he she they".split()
)


def _options_by_words(text: str, options: Sequence[Option]) -> list[str]:
    """The letters of the options whose own words, which no other option has, a text says."""
    if "if " in text:
        text = _CONDITION.sub("", text)
    is_brief = len(text.split()) < 4
    return [
        letter
        for letter, distinctive, is_distinct in _distinctive_words(tuple(options))
        if (is_brief or is_distinct) and _says_all(text, distinctive)
    ]


_CONDITION = re.compile(r"(?:^|(?<=[.!?] ))if [^,.]*,")


@lru_cache(maxsize=4096)
def _distinctive_words(options: tuple[Option, ...]) -> list[tuple[str, frozenset[str], bool]]:
    """Of each option that has words of its own its letter, those words, and whether a long text
    that says them names the option.
    """
    counts = Counter(chain.from_iterable(option.words for option in options))
    distinctive_words = []
    for option in options:
        distinctive = frozenset(word for word in option.words if counts[word] == 1)
        has_word = any(len(word) > 3 or word in _INFLECTED for word in distinctive)
        has_digit = any(map(str.isdigit, "".join(distinctive)))
        # a number is found as one: "18" is no word of 18 cm in "18√3"
        is_number = option.number is not None and not any(map(str.isalpha, "".join(distinctive)))
        if distinctive and not (option.is_letter or is_number):
            distinctive_words.append((option.letter, distinctive, has_word and not has_digit))
    return distinctive_words


# endings of English, of adjectives in Spanish and Portuguese, and of Russian
_SUFFIX = re.compile(r"(?<=\w{4})(?:es|s|ed|ing|e|[ao]s?|[аеёиоуыьэюя]|[аеиоуыюя][еиюямх])$")
_INFLECTION = re.compile(r"(?:e?s|e?d|ing|e|[ao]s?|[а-яё]{1,3})?(?!\w)")
_MAX_UNINFLECTED = 3
_END = re.compile(r"(?!\w)")
# as a German adjective is written in a text that is compared
_INFLECTED = frozenset(
    "rot blau grun gelb braun schwarz weiss grau alt neu gross klein rund eckig hell lang".split()
)
_GERMAN_ENDING = re.compile(r"e[mnrs]?(?!\w)")


@lru_cache(maxsize=8192)
def _word_stem(word: str) -> str:
    """What a word begins with in all its forms: "advertis" of "advertise", "advertises"."""
    stem = _SUFFIX.sub("", word)
    return stem if len(stem) > _MAX_UNINFLECTED else word


def _word_span(text: str, word: str) -> tuple[int, int] | None:
    """Where a text first has a word, with any of the endings that it may have."""
    stem = _word_stem(word)
    start = text.find(stem)
    while start >= 0:
        end = start + len(stem)
        if not _is_word_sign(text[max(0, start - 1) : start]):
            is_inflected = len(stem) > _MAX_UNINFLECTED
            ending = _INFLECTION.match(text, end) if is_inflected else _END.match(text, end)
            ending = ending or (_GERMAN_ENDING.match(text, end) if stem in _INFLECTED else None)
            if ending:
                return start, ending.end()
        start = text.find(stem, start + 1)
    return None


def _says_all(text: str, words: Iterable[str]) -> bool:
    """Whether a text says all of these words and denies none."""
    spans = (_word_span(text, word) for word in words)
    return all(span is not None and not is_denied(text, *span) for span in spans)
