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
from hqm.scoring.written_numbers import Number, sole_number

_BOUND = re.compile(
    r"\b(?P<above>(?:more|greater) than|over)|(?P<below>(?:fewer|less) than|under)"
    r"|(?P<least>at least|a minimum of)|(?P<most>at most|no more than|up to|a maximum of)"
    r"|(?P<exactly>exactly|precisely)",
    re.IGNORECASE,
)
_COUNT_QUESTION = re.compile(
    r"^\W*(?:(?:is|are|were|was) there|(?:do|can|could) (?:you|we|i) (?:see|count|spot|find)"
    r"|do(?:es)? .{1,60}? (?:have|contain|show|include)|has|have)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r" ([\w-]+) ?")


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


def _bounds(kind: str | None, value: float) -> Bounds:
    """The numbers that a bound of a kind allows; the number itself without one."""
    return {
        "above": Bounds(value + 1, math.inf),
        "below": Bounds(-math.inf, value - 1),
        "least": Bounds(value, math.inf),
        "most": Bounds(-math.inf, value),
    }.get(kind or "", Bounds(value, value))


@lru_cache(maxsize=8192)
def asked_bounds(question: str) -> tuple[Bounds, str] | None:
    """The bounds that a question about a count asks for, and the question for the count itself;
    None for other questions.

    >>> asked_bounds("Are there at least three dogs?")
    (Bounds(low=3.0, high=inf), 'How many dogs?')
    """
    bound = _BOUND.search(question)
    if bound is None or bound.lastgroup == "exactly" or not _COUNT_QUESTION.match(question):
        return None
    number = _NUMBER.match(question, bound.end())
    value = sole_number(number[1]) if number is not None else None
    if number is None or value is None:
        return None
    count_question = f"How many {question[number.end() :]}"
    return _bounds(bound.lastgroup, float(value.value)), count_question


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
        return None
    bounds, count_question = question_bounds
    bound = _BOUND.search(text)
    plain = text if bound is None else text[: bound.start()] + text[bound.end() + 1 :]
    # "There are not more than two" says the contrary of its bound
    number = None if NEGATIVE.search(plain) else read_number(plain, True, count_question)
    if number is None or _counts_others(number, plain, count_question):
        return None
    return _bounds(bound.lastgroup if bound else None, float(number.value)).polarity_for(bounds)
