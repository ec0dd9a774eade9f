"""How many there are of what is asked, where an answer names them one kind after another: "a man,
a woman and two children" are four people, "a brown dog and two white dogs" are three dogs.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from hqm.scoring.number_words import SMALL_NUMBERS
from hqm.scoring.plain_text import DOUBT, NEGATIVE
from hqm.scoring.word_senses import PERSON
from hqm.scoring.written_numbers import Number, numbers_in

_COUNT_QUESTION = re.compile(
    r"how many (\w+) (?:are|is|can you see|do you see)\b(?: (?:there|visible|present|shown|seen))?"
    r"(?: (\w+ing))?(?: (?:in|on|at|under|near|behind|inside) [\w ]{1,40})?\W*$",
    re.IGNORECASE,
)
"""A question for all things of a kind, or those of them that do something."""
_PEOPLE = re.compile(r"\b(?:people|persons?|individuals?|humans?)\b", re.IGNORECASE)
_CHILDREN = re.compile(r"\b(?:kids?|child(?:ren)?)\b", re.IGNORECASE)
_CHILD = re.compile(r"\b(?:boys?|girls?)\b", re.IGNORECASE)
_DETERMINERS = ("a", "an", "another", "his", "her")
_AMOUNTS = {word: value for value, word in enumerate(SMALL_NUMBERS)} | dict.fromkeys(
    _DETERMINERS, 1
)
_AMOUNT = (
    rf"\b(?:(?P<pair>a (?:pair|couple) of)|(?P<amount>{'|'.join(_AMOUNTS)}|(?<!/)\d{{1,3}}))\s+"
)
_ADJECTIVES = r"(?:(?!of\b|and\b|in\b|on\b|more\b)[a-z-]+,?\s+){0,2}?"
_UNCOUNTED = re.compile(
    r"\b(?:others?|more|several|many|some|few|groups?|crowds?|each|between|per|additional|various"
    r"|than|group|like|looks?|statues?|paintings?|posters?|total|wife|husband|friends?|sons?"
    r"|daughters?|mother|father|parents|couple(?! of)|family)\b|[=:]",
    re.IGNORECASE,
)
"""What makes the kinds that are named fewer or more than all."""


class _CountedKinds(NamedTuple):
    """What a question counts, by the kinds of it that an answer may name."""

    mention: re.Pattern[str]
    """An amount of a kind."""
    general: re.Pattern[str] | None
    """The words for all kinds, beside which kinds only explain; None where that is the noun."""
    activity: str
    """What those do that are counted; empty where all are."""


@lru_cache(maxsize=1024)
def _asked_kinds(question: str) -> _CountedKinds | None:
    """What a question counts; None where it does not count things alone."""
    counted = _COUNT_QUESTION.match(question)
    noun = counted[1].lower() if counted else ""
    if counted is None or len(noun) < _MIN_NOUN_CHARS:
        return None
    general = None
    kind = rf"{re.escape(noun.removesuffix('s'))}s?\b"
    if _CHILDREN.fullmatch(noun):
        general, kind = _CHILDREN, _CHILD.pattern
    elif _PEOPLE.fullmatch(noun):
        general, kind = _PEOPLE, PERSON.pattern
    return _CountedKinds(_mention(kind), general, counted[2] or "")


@lru_cache(maxsize=256)
def _mention(kind: str) -> re.Pattern[str]:
    return re.compile(rf"{_AMOUNT}{_ADJECTIVES}(?:{kind})", re.IGNORECASE)


_MIN_NOUN_CHARS = 3
_MAX_CHARS = 240
"""A longer sentence is no list of kinds."""


def number_of_kinds(text: str, question: str) -> Number | None:
    """The sum of the kinds of what is asked that a sentence names; None where it names none, sums
    them up itself, or counts otherwise.

    >>> str(number_of_kinds("A man and two women.", "How many people are there?").value)
    '3'
    """
    kinds = _asked_kinds(question)
    mentions = list(kinds.mention.finditer(text)) if kinds and len(text) < _MAX_CHARS else []
    if kinds is None or not mentions or kinds.activity not in text:
        return None
    if kinds.general and kinds.general.search(text):
        return None
    if NEGATIVE.search(text) or DOUBT.search(text) or _UNCOUNTED.search(text):
        return None
    values = [_value(mention) for mention in mentions]
    amounts = [(mention["amount"] or "a").lower() for mention in mentions]
    spelled = [amount for amount in amounts if amount not in _DETERMINERS]
    # a single number with its noun is read elsewhere
    if len(numbers_in(text)) != len(spelled) or len(mentions) == len(spelled) == 1:
        return None
    return numbers_in(str(sum(values)))[0]


def _value(mention: re.Match[str]) -> int:
    """How many a mention names."""
    if mention["pair"]:
        return 2
    amount = mention["amount"].lower()
    return _AMOUNTS[amount] if amount in _AMOUNTS else int(amount)
