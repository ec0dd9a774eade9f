"""Facts of an answer, as the FaithScore paper has them: parts that describe the picture, their
facts, and the grade that follows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hqm.errors import UsageError

_MOST = 4_000
"""The most characters of a part or a fact."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that an answer states about the picture."""

    text: str
    holds: int | None = None
    """1 if it holds, 0 if it does not, None where it is not or cannot be decided."""
    undecided: bool = False
    """Whether a rater said that the picture does not decide it."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "holds": self.holds,
            **({"undecided": True} if self.undecided else {}),
        }


@dataclass(frozen=True, slots=True)
class Sentence:
    """A part of an answer, whether it describes the picture, and the facts that it states."""

    text: str
    descriptive: bool = True
    facts: tuple[Fact, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "descriptive": self.descriptive,
            "facts": [fact.to_dict() for fact in self.facts],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Sentence:
        """Read a part; facts may be texts alone, as a decomposer gives them.

        Raises
        ------
        UsageError
            It is none.
        """
        facts = data.get("facts", [])
        if not isinstance(data.get("text"), str) or not isinstance(facts, list):
            raise UsageError(
                f"{str(dict(data))[:200]} is no part of an answer",
                remedy="It has a text and facts.",
            )
        descriptive = bool(data.get("descriptive", True))
        read = tuple(fact for each in facts if (fact := _fact(each)).text) if descriptive else ()
        return cls(str(data["text"])[:_MOST], descriptive, read)


def _fact(data: object) -> Fact:
    if isinstance(data, str):
        return Fact(data.strip()[:_MOST])
    if isinstance(data, Mapping) and isinstance(data.get("text"), str):
        holds = data.get("holds")
        if holds is None or holds in (0, 1):
            return Fact(
                data["text"].strip()[:_MOST],
                None if holds is None else int(holds),
                bool(data.get("undecided")),
            )
    raise UsageError(
        f"{str(data)[:200]} is no fact", remedy="A fact has a text, and holds is 1, 0 or null."
    )


def derived_grade(sentences: Sequence[Sentence]) -> int | None:
    """The grade from 1 to 5 that the FaithScore paper derives from the share of facts that do not
    hold.

    1: all are wrong; 2: more than half; 3: between a third and a half; 4: fewer than a third; 5:
    none. The paper does not say what exactly half is; it is 3 here. None where no fact was decided.

    >>> [derived_grade([Sentence("", facts=tuple(Fact("", holds) for holds in facts))])
    ...  for facts in ((0, 0), (0, 0, 1), (0, 1), (0, 1, 1), (0, 1, 1, 1), (1, 1), ())]
    [1, 2, 3, 3, 4, 5, None]
    """
    decided = [
        fact.holds for sentence in sentences for fact in sentence.facts if fact.holds is not None
    ]
    if not decided:
        return None
    wrong, count = decided.count(0), len(decided)
    if wrong == count:
        return 1
    if wrong == 0:
        return 5
    return 2 if 2 * wrong > count else 4 if 3 * wrong < count else 3


def stage_labels(sentences: Sequence[Sentence]) -> dict[str, dict[str, int]]:
    """What a rater said of each part and each fact, by the role of a judge that decides it;
    undecided facts are left out.

    >>> stage_labels([Sentence("A dog sits.", facts=(Fact("There is a dog.", 1),)), Sentence("How nice!", False)])
    {'recognizer': {'A dog sits.': 1, 'How nice!': 0}, 'verifier': {'There is a dog.': 1}}
    """
    facts = {
        fact.text: fact.holds for each in sentences for fact in each.facts if fact.holds is not None
    }
    stages = {
        "recognizer": {each.text: int(each.descriptive) for each in sentences},
        "verifier": facts,
    }
    return {role: units for role, units in stages.items() if units}


def parts_of(answer: str) -> tuple[str, ...]:
    """The parts between full stops, commas and the like in which an answer is read, as FaithScore
    cuts it.

    >>> parts_of("A dog sits on a mat, and 3.5 cats watch. Nice!")
    ('A dog sits on a mat,', 'and 3.5 cats watch.', 'Nice!')
    """
    pieces = re.split(r"(?<=[.!?,;:。！？，；])\s+|\n+", answer)
    return tuple(piece.strip() for piece in pieces if piece.strip())
