"""The rules that score yes/no answers, choices and short answers, unless a benchmark has a rule of
its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, wraps
from typing import Literal

from hqm.errors import DataError
from hqm.scoring.metrics import yes_no_tally
from hqm.scoring.parsers import STRICT, Parser, refuses
from hqm.text import SHORT
from hqm.types import Item, Response, State, Verdict

# ----------------------------------------------------------------------
# What the states of answers mean: which are answers, how many are not, and the sentence on those
# cut before any word.
#
# Scores, the gate, tables and text count by these functions alone, from the states that a score
# matrix or an audit holds.
# ----------------------------------------------------------------------

Withholding = Literal["unscored", "official"]
"""The treatment of an answer that was withheld: it is never scored, or it is scored as the release
would score its text.
"""

ANSWERED: tuple[State, ...] = ("ok", "truncated")
"""The states of an answer that could be read."""
WITHHELD: tuple[State, ...] = ("refused", "cut", "empty")
"""The states of a respondent that gave no answer."""


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
    """Return the advice on answers that were cut before any word; nothing where there are none.

    >>> advice_on_cut({"ok": 5, "cut": 7})
    '7 of 12 answers were cut before any word: raise --max-tokens'
    """
    n_cut = counts.get("cut", 0)
    if not n_cut:
        return ""
    total = sum(counts.values())
    return f"{n_cut} of {total} answers were cut before any word: raise --max-tokens"


_POLAR = ("yes", "no")


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


def counted_wrong(verdict: Verdict) -> Verdict:
    """The verdict of a release that counts an answer as wrong where nobody can read it; its state
    is kept.
    """
    if verdict.scored:
        return verdict
    return replace(verdict, value=0.0, tally={"right": 0.0, "n": 1.0})


def score_yes_no(item: Item, response: Response, parser: Parser, negated: bool = False) -> Verdict:
    """Score a yes/no answer with a named parser."""
    truth = yes_no_truth(item)
    polarity = parser(response.text, item.prompt, negated)
    if polarity is None:
        return Verdict.unscored("unparsed", f"{parser.name} reads neither yes nor no")
    return _polar_verdict(polarity, truth)


@lru_cache(maxsize=4)
def _polar_verdict(polarity: str, truth: str) -> Verdict:
    """The verdict on an answer that was read: there are four of them, and millions of answers."""
    return Verdict(float(polarity == truth), yes_no_tally(polarity, truth), "ok", polarity)


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


def _cached_rule(rule: Callable[[Item, Response, Parser], Verdict]) -> Callable[..., Verdict]:
    """Return a rule that reads a short answer to the same words once, whatever the picture."""
    verdicts: dict[Hashable, Verdict] = {}

    @wraps(rule)
    def score(item: Item, response: Response, parser: Parser = STRICT) -> Verdict:
        words = (item.prompt, item.options, repr(item.target), repr(item.meta))
        key = (response.text, parser.name, *words)
        verdict = verdicts.get(key) or rule(item, response, parser)
        if len(response.text) <= SHORT and len(verdicts) < _MAX_CACHED:
            verdicts[key] = verdict
        return verdict

    return score


_MAX_CACHED = 1 << 16


@_cached_rule
def score_choice(item: Item, response: Response, parser: Parser = STRICT) -> Verdict:
    """Score a multiple-choice answer; the tally also counts the slot that was chosen."""
    letter = parser.for_task("choice").choose(response.text, item.options, item.prompt)
    if letter is None:
        return Verdict.unscored("unparsed", "it commits itself to no option, or to more than one")
    right = float(letter == str(item.target).strip().upper())
    return Verdict(right, {"right": right, "n": 1.0, f"slot_{letter}": 1.0}, "ok", letter)


@_cached_rule
def score_short(item: Item, response: Response, parser: Parser = STRICT) -> Verdict:
    """Score a short answer: a number, a text, a list.

    Rivals (`meta["rivals"]`) are the wrong answers that are expected: an answer that names none of
    them and not the target is unread. What "There are no dogs" says may be written in
    `meta["none"]`, such as "zero"; `meta["precision"]` and `meta["tolerance"]` say how exactly a
    number is compared.
    """
    match = parser.for_task("vqa").match(response.text, item)
    if match is None:
        return Verdict.unscored("unparsed", "it commits itself to no answer, or to more than one")
    right = float(match.right)
    return Verdict(right, {"right": right, "n": 1.0}, "ok", match.read)


# ----------------------------------------------------------------------
# ROUGE-L: the overlap of two texts, by the longest sequence of words that both have in the
# same order.
# ----------------------------------------------------------------------

_WORD = re.compile(r"[^\W_]+")


def common_words(first: Sequence[str], second: Sequence[str]) -> list[int]:
    """The positions in `first` of a longest sequence of words that both have in the same order.

    >>> common_words("police killed the gunman".split(), "police kill the gunman".split())
    [0, 2, 3]
    """
    # lengths[i][j]: of the longest common sequence of first[i:] and second[j:]
    lengths = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for i in range(len(first) - 1, -1, -1):
        for j in range(len(second) - 1, -1, -1):
            if first[i] == second[j]:
                lengths[i][j] = lengths[i + 1][j + 1] + 1
            else:
                lengths[i][j] = max(lengths[i + 1][j], lengths[i][j + 1])
    positions = []
    i = j = 0
    while i < len(first) and j < len(second):
        if first[i] == second[j]:
            positions.append(i)
            i += 1
            j += 1
        elif lengths[i + 1][j] >= lengths[i][j + 1]:
            i += 1
        else:
            j += 1
    return positions


def words_of(text: str) -> list[str]:
    """The words that are compared: letters and digits, in lower case."""
    return _WORD.findall(text.lower())


def rouge_l(candidate: str, reference: str) -> float:
    """The harmonic mean of the shares of both texts' words that are in their longest common
    sequence (Lin 2004, beta = 1).

    >>> rouge_l("police kill the gunman", "police killed the gunman"), rouge_l("", "a dog")
    (0.75, 0.0)
    """
    candidate_words = words_of(candidate)
    reference_words = words_of(reference)
    n_common = len(common_words(candidate_words, reference_words))
    if not n_common:
        return 0.0
    return 2 * n_common / (len(candidate_words) + len(reference_words))
