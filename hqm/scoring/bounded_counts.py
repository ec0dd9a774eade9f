"""Questions that ask whether a number lies within bounds, such as "Are there at least three dogs?",
and answers that give the number.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Literal, NamedTuple

from hqm.scoring.number_answers import read_number
from hqm.scoring.plain_text import NEGATIVE
from hqm.scoring.statements import asked_words, content_words
from hqm.scoring.written_numbers import Number, numbers_in, sole_number

_BOUND = re.compile(
    r"\b(?:(?P<above>(?:more|greater) than|over)|(?P<below>(?:fewer|less) than|under)"
    r"|(?P<least>at least|a minimum of)|(?P<most>at most|no more than|up to|a maximum of)"
    r"|(?P<exactly>exactly|precisely)) (?=(?P<number>[\w-]+))",
    re.IGNORECASE,
)
_COUNT_QUESTION = re.compile(
    r"^\W*(?:(?:is|are|were|was) there|(?:do|can|could) (?:you|we|i) (?:see|count|spot|find)"
    r"|do(?:es)? .{1,60}? (?:have|contain|show|include)|has|have)\b",
    re.IGNORECASE,
)


class Bounds(NamedTuple):
    """The whole numbers that a phrase allows, both ends included."""

    low: float
    high: float

    def polarity_for(self, outer: Bounds) -> Literal["yes", "no"] | None:
        """Whether a number within these bounds lies within others; None where it may or may not."""
        if outer.low <= self.low and self.high <= outer.high:
            return "yes"
        if self.high < outer.low or outer.high < self.low:
            return "no"
        return None


def _allowed(bound: re.Match[str], value: float) -> Bounds:
    """The numbers that a bound before a number allows."""
    if bound["above"]:
        return Bounds(value + 1, math.inf)
    if bound["below"]:
        return Bounds(-math.inf, value - 1)
    if bound["least"]:
        return Bounds(value, math.inf)
    if bound["most"]:
        return Bounds(-math.inf, value)
    return Bounds(value, value)


def _bound_in(text: str) -> tuple[re.Match[str], Bounds] | None:
    """The first bound of a text that stands before a number, and what it allows; "under the tree"
    is none.
    """
    for bound in _BOUND.finditer(text):
        number = sole_number(bound["number"])
        if number is not None:
            return bound, _allowed(bound, float(number.value))
    return None


@lru_cache(maxsize=8192)
def asked_bounds(question: str) -> tuple[Bounds, str] | None:
    """The bounds that a question about a count asks for, and the question for the count itself;
    None for other questions.

    >>> asked_bounds("Are there at least three dogs?")
    (Bounds(low=3.0, high=inf), 'How many dogs?')
    """
    bounded = _bound_in(question) if _COUNT_QUESTION.match(question) else None
    if bounded is None:
        return None
    bound, bounds = bounded
    return bounds, f"How many {question[bound.end('number') :].strip()}"


def _counts_others(number: Number, text: str, question: str) -> bool:
    """Whether a number is that of other things than those that a question asks for."""
    nouns = {*asked_words(question)} - {"how", "many"}
    return bool(content_words(number.unit) and nouns) and nouns.isdisjoint(content_words(text))


def bounded_polarity(text: str, question: str) -> Literal["yes", "no"] | None:
    """The answer to a question for a bounded count of a text that gives the count; None where it
    gives none, or the question is another.

    >>> bounded_polarity("I see four.", "Are there at least three dogs?")
    'yes'
    """
    question_bounds = asked_bounds(question)
    if question_bounds is None:
        return _compared_counts(text, question)
    bounds, count_question = question_bounds
    bounded = _bound_in(text)
    plain = text
    if bounded is not None:
        plain = text[: bounded[0].start()] + text[bounded[0].end() :]
    # "There are not more than two" says the contrary of its bound
    number = None if NEGATIVE.search(plain) else read_number(plain, True, count_question)
    if number is None or _counts_others(number, plain, count_question):
        return None
    stated = float(number.value)
    allowed = Bounds(stated, stated) if bounded is None else bounded[1]
    return allowed.polarity_for(bounds)


_COMPARED_COUNTS = re.compile(
    r"\b(?:is|are) there (?:(?P<more>more)|fewer|less) (?P<first>\w+) than (?P<second>\w+)\W*$",
    re.IGNORECASE,
)


def _compared_counts(text: str, question: str) -> Literal["yes", "no"] | None:
    """The answer of a text that counts both of what a question compares: "5 apples and 3
    pears".
    """
    compared = _COMPARED_COUNTS.search(question)
    if compared is None or NEGATIVE.search(text):
        return None
    values: list[Number] = []
    for noun in map(content_words, compared.group("first", "second")):
        counted = [number for number in numbers_in(text) if content_words(number.unit) == noun]
        if len(counted) != 1:
            return None
        values += counted
    first, second = (number.value for number in values)
    holds = first > second if compared["more"] else first < second
    return "yes" if holds else "no"
