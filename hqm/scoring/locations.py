"""Where a clause says that something is, beside where its question asks: what is under the table
is not on it, and what is on the floor is not on the table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import zip_longest
from types import MappingProxyType
from typing import NamedTuple

from hqm.scoring.statements import asked_words, content_words

_PREPOSITIONS: Mapping[str, str] = MappingProxyType(
    {
        "on": "on top of|on|onto|upon|atop",
        "in": "inside of|inside|in the middle of|in|into|within",
        "under": "underneath|under|beneath|below",
        "above": "above|over",
        "behind": "behind|in back of",
        "before": "in front of",
        "beside": "next to|beside|adjacent to|alongside",
        "near": "near|by|close to|around",
        "outside": "outside of|outside",
        "off": "off of|off",
        "against": "against",
        "between": "in between|between|among",
        "left": "(?:to|on) the left(?:-hand| hand)?(?: side)? of",
        "right": "(?:to|on) the right(?:-hand| hand)?(?: side)? of",
    }
)
"""A relation to a thing -> the prepositions that say it."""
_GROUPS = [f"(?P<{relation}>{words})" for relation, words in _PREPOSITIONS.items()]
_PREPOSITION = re.compile(
    # "on the left of" before "on"
    rf"\b(?:{'|'.join(_GROUPS[::-1])})\b"
    r"(?! (?:front|back) of)",
    re.IGNORECASE,
)
_GROUND_END = re.compile(
    r"[,.;:!?]|\b(?:and|but|while|is|are|was|were|with|of|to|that|which|who|at|from|wearing"
    r"|holding)\b",
    re.IGNORECASE,
)
_MAX_GROUND_WORDS = 2


class _Location(NamedTuple):
    """A location that a text names."""

    relation: str
    """One of `_PREPOSITIONS`."""
    preposition: str
    """The words that say it."""
    ground: list[str]
    """The content words of the thing that it is beside, on or under."""
    remainder: str
    """What follows the preposition."""


def _locations_in(text: str) -> Iterator[_Location]:
    """Yield the locations that a text names, the first first."""
    matches = list(_PREPOSITION.finditer(text))
    ends = [match.start() for match in matches[1:]]
    for match, end in zip_longest(matches, ends):
        phrase = _GROUND_END.split(text[match.end() : end], maxsplit=1)[0]
        ground = content_words(phrase)
        if ground and match.lastgroup:
            yield _Location(match.lastgroup, match[0], ground, text[match.end() :])


@lru_cache(maxsize=1024)
def _asked_location(question: str) -> _Location | None:
    """The location that a question ends with; None of other questions."""
    last = next(reversed([*_locations_in(question)]), None)
    if last is None or len(last.ground) > _MAX_GROUND_WORDS:
        return None
    return last if content_words(last.remainder) == last.ground else None


def with_asked_preposition(clause: str, question: str) -> str:
    """A clause that says the location that is asked for with the preposition of the question.

    >>> with_asked_preposition("It hangs over the table", "Is the lamp above the table?")
    'It hangs above the table'
    """
    location = _asked_location(question)
    if location is None or location.preposition in clause:
        return clause

    def asked_preposition(match: re.Match[str]) -> str:
        return location.preposition if match.lastgroup == location.relation else match[0]

    return _PREPOSITION.sub(asked_preposition, clause)


def is_elsewhere(clause: str, words: Sequence[str], question: str) -> bool:
    """Whether a clause, of which these are the content words, places what is asked about at
    another side of the same thing, or at the same side of another.

    >>> question = "Is the cat on the table?"
    >>> is_elsewhere("The cat is under the table", ["cat", "under", "tabl"], question)
    True
    >>> is_elsewhere("The cat is on the floor", ["cat", "floor"], question)
    True
    """
    asked_location = _asked_location(question)
    if asked_location is None or asked_location.relation == "near":
        return False
    ground = asked_location.ground[-1]
    if ground not in words and asked_location.preposition not in clause:
        return False
    locations = list(_locations_in(clause))
    relations = {
        location.relation for location in locations if ground in location.ground[:_MAX_GROUND_WORDS]
    }
    if not relations and ground not in words:
        return _is_at_another(locations, words, asked_location, question)
    if not relations or not relations.isdisjoint((asked_location.relation, "near")):
        return False
    from hqm.scoring.foreign_locations import are_compatible  # few questions ask for a location

    return not any(are_compatible(relation, asked_location.relation) for relation in relations)


def _is_at_another(
    locations: Sequence[_Location],
    words: Sequence[str],
    asked_location: _Location,
    question: str,
) -> bool:
    """Whether a clause says no more than that what is asked about is at the same side of another
    thing.
    """
    relation = asked_location.relation
    if [location.relation for location in locations] != [relation]:
        return False
    ground = locations[0].ground
    if relation == "on":
        is_exclusive = {ground[-1], asked_location.ground[-1]} <= _SURFACES
    else:
        is_exclusive = relation not in ("in", "near", "outside")
    asked_remainder = [word for word in asked_words(question) if word not in asked_location.ground]
    return is_exclusive and [word for word in words if word not in ground] == asked_remainder


_SURFACES = frozenset(
    content_words("floor table desk shelf chair bed sofa counter wall roof stove bench ground")
)
"""What nothing lies on that lies on another of them."""
