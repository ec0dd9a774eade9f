"""The rules that score yes/no answers, choices and short answers, unless a benchmark has a rule of
its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Literal

from hqm.errors import DataError
from hqm.scoring.metrics import yes_no_tally
from hqm.scoring.parsers import Parser, refuses
from hqm.types import LETTERS, Item, Response, State, Verdict

# ----------------------------------------------------------------------
# What the states of answers mean: which are answers, how many are not, and the sentence on those
# cut before any word.
#
# Scores, the gate, tables and text count by these functions alone, from the states that a score
# matrix or an audit holds.
# ----------------------------------------------------------------------

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


_POLAR = ("yes", "no")
_LETTER = re.compile(
    r"^\W*(?i:(?:the\s+)?(?:(?:correct|right|best)\s+)?(?:answer|option|choice)\s*(?:is|:)?\s*)?"
    r"\(?([A-Za-z])\)?(?=$|[\s.,:;)\]*])"
)


def no_answer(response: Response, withheld: Withholding = "unscored") -> Verdict | None:
    """The verdict on a response that no rule and no judge reads, because it is no answer; None for
    an answer.

    An error and what was never asked are never scored. A refusal and a response without any word
    are scored only where `withheld` asks for what the release does with their text.
    """
    outcome = response.outcome
    if outcome in ("error", "missing") or (outcome in WITHHELD and withheld == "unscored"):
        return Verdict.unscored(outcome, response.reason or _NO_ANSWER.get(outcome, ""))
    return None


_NO_ANSWER = {
    "refused": "it was refused",
    "cut": "it was cut before any word",
    "empty": "it is empty",
}


def settle(verdict: Verdict, response: Response) -> Verdict:
    """The verdict with one state that takes into account how the answer ended.

    An unreadable answer may be a refusal; a truncated answer stays scored if it could be read. A
    verdict on a withheld answer, which exists only where the release's own is asked for, keeps the
    state of the answer.
    """
    outcome = response.outcome
    if outcome in WITHHELD:
        return replace(
            verdict, state=outcome, reason=verdict.reason or response.reason or _NO_ANSWER[outcome]
        )
    if not verdict.scored and verdict.state == "unparsed" and refuses(response.text):
        return Verdict.unscored("refused", verdict.reason)
    if outcome == "truncated" and verdict.state == "ok":
        return replace(verdict, state=outcome, reason=verdict.reason or response.reason)
    return verdict


def score_yes_no(item: Item, response: Response, parser: Parser, negated: bool = False) -> Verdict:
    """Score a yes/no answer with a named parser."""
    truth = yes_no_truth(item)
    said = parser(response.text, item.prompt, negated)
    if said is None:
        return Verdict.unscored("unparsed", f"{parser.name} reads neither yes nor no")
    return _read(said, truth)


@lru_cache(maxsize=4)
def _read(said: str, truth: str) -> Verdict:
    """The verdict on an answer that was read: there are four of them, and millions of answers."""
    return Verdict(float(said == truth), yes_no_tally(said, truth), "ok", said)


def yes_no_truth(item: Item) -> str:
    """The right answer of a yes/no item, "yes" or "no".

    Raises
    ------
    DataError
        The target is neither.
    """
    if item.target in _POLAR:
        return str(item.target)
    truth = str(item.target).strip().lower()
    if truth not in _POLAR:
        raise DataError(
            f"the target of {item.id!r} is {item.target!r}", remedy='Write "yes" or "no".'
        )
    return truth


def read_choice(text: str, options: tuple[str, ...]) -> str | None:
    """The letter of the option that an answer chose, by its letter or by naming exactly one option.

    >>> read_choice("(b) blue", ("red", "blue"))
    'B'
    >>> read_choice("It is blue.", ("red", "blue"))
    'B'
    >>> read_choice("red or blue", ("red", "blue")) is None
    True
    """
    match = _LETTER.match(text.strip())
    letters = LETTERS[: len(options)]
    if (
        match
        and match.group(1).upper() in letters
        and not (match.group(1) in "aAI" and _goes_on(text, match.end()))
    ):
        return match.group(1).upper()
    named = [
        letter for letter, option in zip(letters, options, strict=True) if mentions(text, option)
    ]
    # "blue" inside "dark blue": the longer option is the one meant
    longest = [
        a
        for a in named
        if not any(a != b and mentions(_of(options, b), _of(options, a)) for b in named)
    ]
    return longest[0] if len(longest) == 1 else None


def _of(options: tuple[str, ...], letter: str) -> str:
    return options[LETTERS.index(letter)]


def _goes_on(text: str, end: int) -> bool:
    """Whether "A" or "I" begins a sentence ("A red circle is ...") and does not name an option."""
    return re.match(r"\s+[a-z]", text.strip()[end:]) is not None


def mentions(text: str, phrase: str) -> bool:
    """Whether a text contains a phrase as whole words, in upper or lower case.

    >>> mentions("It is to the LEFT.", "to the left"), mentions("leftover", "left")
    (True, False)
    """
    return _whole_words(phrase).search(text.lower()) is not None


@lru_cache(1 << 12)
def _whole_words(phrase: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(phrase.lower())}(?!\w)")


def score_choice(item: Item, response: Response) -> Verdict:
    """Score a multiple-choice answer; the tally also counts the slot that was chosen."""
    chosen = read_choice(response.text, item.options)
    if chosen is None:
        return Verdict.unscored("unparsed", "it names no option, or more than one")
    right = float(chosen == str(item.target).strip().upper())
    return Verdict(right, {"right": right, "n": 1.0, f"slot_{chosen}": 1.0}, "ok", chosen)


_NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve".split()


@lru_cache(1 << 12)
def _spelled(text: str) -> str:
    """The text with small numbers as words, so that "2" and "two" are the same answer."""
    return re.sub(
        r"(?<![\w.])(\d{1,2})(?![\w]|\.\d)",
        lambda m: _NUMBERS[int(m[1])] if int(m[1]) < 13 else m[1],
        text,
    )


_NONE = re.compile(
    r"\W*(?:there (?:is|are)|i (?:can )?see|the (?:image|picture)"
    r" (?:shows|has|contains))?\s*(?:none\b|(?:no|not any)\s+\w)",
    re.IGNORECASE,
)


def score_short(item: Item, response: Response) -> Verdict:
    """Score a short answer, which must name the target before any rival (`meta["rivals"]`).

    Where an item has several targets, the answer must name all of them and no rival. What "There
    are no dogs" says may be written in `meta["none"]`, such as "zero".
    """
    if not response.text.strip():
        return Verdict.unscored("unparsed", "it is empty")
    text = _spelled(response.text)
    targets = [
        str(t) for t in (item.target if isinstance(item.target, (list, tuple)) else [item.target])
    ]
    named = [
        phrase
        for phrase in [*targets, *item.meta.get("rivals", ())]
        if mentions(text, _spelled(str(phrase)))
    ]
    if not named and item.meta.get("none") and _NONE.match(text):
        named = [str(item.meta["none"])]
        text = named[0]
    if not named and item.meta.get("rivals"):
        return Verdict.unscored("unparsed", "it names neither the target nor a rival")
    if len(targets) == 1:
        # an answer names its answer first: "The star is larger than the circle."
        first = min(
            named, key=lambda phrase: text.lower().find(_spelled(str(phrase)).lower()), default=""
        )
        right = float(first == targets[0])
    else:
        right = float(set(named) == set(targets))
    return Verdict(right, {"right": right, "n": 1.0}, "ok", ", ".join(map(str, named)))


# ----------------------------------------------------------------------
# ROUGE-L: how much two texts share, by the longest sequence of words that stands in both in the
# same order.
# ----------------------------------------------------------------------

_WORD = re.compile(r"[^\W_]+")


def common_words(first: Sequence[str], other: Sequence[str]) -> list[int]:
    """The places in `first` of a longest sequence of words that both have in the same order.

    >>> common_words("police killed the gunman".split(), "police kill the gunman".split())
    [0, 2, 3]
    """
    longest = [[0] * (len(other) + 1) for _ in range(len(first) + 1)]
    for i in range(len(first) - 1, -1, -1):
        for j in range(len(other) - 1, -1, -1):
            here = (
                longest[i + 1][j + 1] + 1
                if first[i] == other[j]
                else max(longest[i + 1][j], longest[i][j + 1])
            )
            longest[i][j] = here
    places, i, j = [], 0, 0
    while i < len(first) and j < len(other):
        if first[i] == other[j]:
            places.append(i)
            i, j = i + 1, j + 1
        elif longest[i + 1][j] >= longest[i][j + 1]:
            i += 1
        else:
            j += 1
    return places


def words_of(text: str) -> list[str]:
    """The words that are compared: letters and digits, in lower case."""
    return _WORD.findall(text.lower())


def rouge_l(candidate: str, reference: str) -> float:
    """The harmonic mean of the shares of both texts' words that are in their longest common
    sequence (Lin 2004, beta = 1).

    >>> rouge_l("police kill the gunman", "police killed the gunman"), rouge_l("", "a dog")
    (0.75, 0.0)
    """
    ours, theirs = words_of(candidate), words_of(reference)
    common = len(common_words(ours, theirs))
    return 2 * common / (len(ours) + len(theirs)) if common else 0.0
