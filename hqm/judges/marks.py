"""Verdicts that somebody read out of a judge's reply already, as verdicts of the benchmark's own
scoring.
"""

from __future__ import annotations

from hqm.benchmark.interface import Benchmark
from hqm.benchmark.judged import as_number
from hqm.scoring.rules import yes_no_truth
from hqm.types import Item, Response, Verdict

_RIGHT = frozenset(("true", "correct", "right", "faithful", "without hallucination"))
_WRONG = frozenset(("false", "incorrect", "wrong", "hallucinated", "with hallucination"))
_OPPOSITE = {"yes": "no", "no": "yes"}


def share_right(mark: str) -> float | None:
    """A mark as a share of right, 1 or 0 for a word; None for what is none.

    >>> share_right("Correct."), share_right("0"), share_right("7"), share_right("unclear")
    (1.0, 0.0, None, None)
    """
    word = mark.strip().strip(".!*").lower()
    value = 1.0 if word in _RIGHT else 0.0 if word in _WRONG else as_number(word)
    return value if value is not None and 0 <= value <= 1 else None


def verdict_of_share(benchmark: Benchmark, item: Item, share: float, read: str = "") -> Verdict:
    """The verdict that a share of right stands for, of a benchmark that a rule scores.

    A yes/no answer that is right says what the key says, and a wrong one the opposite: the tally
    counts it so.
    """
    if item.task == "yes_no":
        truth = yes_no_truth(item)
        right, wrong = (
            benchmark.score(item, Response(word.capitalize())) for word in (truth, _OPPOSITE[truth])
        )
        if right.value == 1 and wrong.value == 0:
            names = dict.fromkeys([*right.tally, *wrong.tally])
            mixed = {
                n: share * right.tally.get(n, 0.0) + (1 - share) * wrong.tally.get(n, 0.0)
                for n in names
            }
            return Verdict(share, mixed, "ok", read)
    elif item.task in ("choice", "vqa"):
        return Verdict(share, {"right": share, "n": 1.0}, "ok", read)
    return Verdict.unscored(
        "unparsed", f"no tally of {benchmark.name} follows from a score of {share:g}"
    )


def verdict_of_mark(benchmark: Benchmark, item: Item, mark: str) -> Verdict:
    """The verdict that a mark in a file stands for, of a benchmark that a rule scores; unscored
    where it says nothing.

    "yes" and "no" are what the judge read in the answer to a yes/no question; a share, true or
    false, correct or incorrect is whether the answer is right.
    """
    if not mark:
        return Verdict.unscored("missing", "the file leaves the judgement empty")
    word = mark.strip().strip(".!*").lower()
    if item.task == "yes_no" and word in _OPPOSITE:
        return benchmark.score(item, Response(word.capitalize()))
    share = share_right(mark)
    if share is None:
        return Verdict.unscored(
            "unparsed", f"the judgement {mark!r:.60} says neither right nor wrong"
        )
    return verdict_of_share(benchmark, item, share, mark)
