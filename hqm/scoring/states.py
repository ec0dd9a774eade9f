"""What the states of answers mean: which are answers, how many are not, and the sentence on those
cut before any word.

Scores, the gate, tables and text count by these functions alone, from the states that a score
matrix or an audit holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from hqm.types import State

Withholding = Literal["unscored", "official"]
"""What becomes of an answer that was withheld: it is never scored, or it is scored as the release
would score its text.
"""

ANSWERED: tuple[State, ...] = ("ok", "truncated")
"""The states of an answer that could be read."""
WITHHELD: tuple[State, ...] = ("refused", "cut", "empty")
"""The states in which a respondent came back without an answer."""


def unscored(counts: Mapping[str, int]) -> int:
    """How many of the answers counted are not scored; one that a release counts as wrong because
    nobody can read it is among them.

    >>> unscored({"ok": 5, "truncated": 1, "unparsed": 2, "refused": 1, "missing": 1})
    4
    """
    return sum(count for state, count in counts.items() if state not in ANSWERED)


def withheld(counts: Mapping[str, int]) -> int:
    """How many of the answers counted were refused, cut before any word, or empty.

    >>> withheld({"ok": 5, "unparsed": 2, "refused": 1, "empty": 3})
    4
    """
    return sum(counts.get(state, 0) for state in WITHHELD)


def advice_on_cut(counts: Mapping[str, int]) -> str:
    """What to do about answers that were cut before any word; nothing where there are none.

    >>> advice_on_cut({"ok": 5, "cut": 7})
    '7 of 12 answers were cut before any word: raise --max-tokens'
    """
    cut = counts.get("cut", 0)
    return (
        f"{cut} of {sum(counts.values())} answers were cut before any word: raise --max-tokens"
        if cut
        else ""
    )
