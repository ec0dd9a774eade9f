"""Captions that a model makes wrong, and a model that checks wrong captions: the writer and the
filter of `hqm build`.

Hal-Eval (Jiang et al. 2024, arXiv 2402.15721) has both roles. The prompts are ours. What the writer
says is taken only where it changed one span of the true caption, within two words of its length;
what the filter does not clearly call false is left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hqm.administration.asking_models import stored_replies
from hqm.benchmark.asking import fill
from hqm.builders.writing_captions import KINDS, WORDS, Caption, Change
from hqm.respondents.base import Respondent
from hqm.scoring.parsers import refuses
from hqm.store.database import Store, ask
from hqm.types import Response

LONGEST = 5
"""Words that the changed span may have."""
WRITE = """The sentence below is true of a picture. Write it again with one thing changed, so that it becomes false of the
picture: {what}. Change those words only, keep all others to the letter, and change no more than two or three words.
Reply with the changed sentence alone, on one line.

Sentence: {text}"""
WHAT = {
    "object": "put another thing in the place of one that it names",
    "attribute": "give one thing another color, size, material or state",
    "relation": "let one thing lie in another place, as seen from another thing",
    "event": "let somebody or something do something else",
}
CHECK = """The first sentence is true of a picture that you do not see. Is the second one a sensible sentence, and false of every
picture of which the first is true?
Reply with one word: "false" if it is; "unclear" if it may be true as well, or makes no sense.

First: {true}
Second: {wrong}"""
_FALSE, _UNCLEAR = (
    re.compile(r"^\W*false\b", re.IGNORECASE),
    re.compile(r"^\W*unclear\b", re.IGNORECASE),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """The models that write and check, and the store that keeps what they reply; None where rules
    do it.
    """

    store: Store
    writer: Respondent | None = None
    checker: Respondent | None = None


Captions = Sequence[tuple[Caption, tuple[Change, ...]]]


def changes_written(captions: Captions, roles: Roles) -> tuple[Captions, tuple[str, ...]]:
    """The captions with the changes that the writer made of them, one of each kind; and what was
    left out, in sentences.
    """
    writer = roles.writer
    if writer is None:
        return captions, ()
    asks = {
        (i, kind): ask(fill(WRITE, what=WHAT[kind], text=caption.text))
        for i, (caption, _) in enumerate(captions)
        for kind in KINDS
    }
    replies = stored_replies(asks.values(), writer, roles.store)
    why = f"{writer.name} wrote it to be false"
    made: list[list[Change]] = [[] for _ in captions]
    left_out: Counter[str] = Counter()
    for (i, kind), question in asks.items():
        read = _change(captions[i][0].text, replies.get(question.digest), kind, why)
        if isinstance(read, str):
            left_out[read] += 1
        else:
            made[i].append(read)
    written = [
        (caption, tuple(changes)) for (caption, _), changes in zip(captions, made, strict=True)
    ]
    return written, _notes(f"the writer {writer.name}", len(asks), left_out)


def changes_passed(captions: Captions, roles: Roles) -> tuple[Captions, tuple[str, ...]]:
    """The captions with those changes that the filter calls false; and what was left out, in
    sentences.
    """
    checker = roles.checker
    if checker is None:
        return captions, ()
    asks = {
        (i, j): ask(fill(CHECK, true=caption.text, wrong=change.text))
        for i, (caption, changes) in enumerate(captions)
        for j, change in enumerate(changes)
    }
    replies = stored_replies(asks.values(), checker, roles.store)
    reasons = {place: _objection(replies.get(question.digest)) for place, question in asks.items()}
    kept = [
        (
            caption,
            tuple(
                replace(c, why=f"{c.why}; {checker.name} calls it false")
                for j, c in enumerate(changes)
                if not reasons[i, j]
            ),
        )
        for i, (caption, changes) in enumerate(captions)
    ]
    return kept, _notes(
        f"the filter {checker.name}", len(asks), Counter(filter(None, reasons.values()))
    )


def _notes(who: str, asked: int, left_out: Counter[str]) -> tuple[str, ...]:
    reasons = "; ".join(f"{count}: {reason}" for reason, count in left_out.most_common())
    said = f"{who} was asked {asked} times, and {asked - left_out.total()} replies are used"
    return (f"{said} ({reasons})" if reasons else said,)


def _objection(response: Response | None) -> str:
    """Why a wrong caption is left out; empty where the filter calls it false."""
    if response is None or response.state != "ok" or refuses(response.text):
        return "no reply, or a refusal"
    if _FALSE.search(response.text):
        return ""
    return (
        "it may be true as well"
        if _UNCLEAR.search(response.text)
        else "neither false nor unclear was said"
    )


def _change(text: str, response: Response | None, kind: str, why: str) -> Change | str:
    """The one span that a reply changed, or why the reply is left out.

    >>> _change("A red cup is on a box.", Response("A red cup is under a box."), "relation", "w").after
    'under'
    >>> _change("A red cup is on a box.", Response("A blue cup is on a bed."), "attribute", "w")
    'more than one span was changed'
    """
    if response is None or response.state != "ok" or refuses(response.text):
        return "no reply, or a refusal"
    wrong = response.text.strip().strip("\"'“”").strip()
    wrong = f"{wrong.rstrip('.')}." if text.endswith(".") else wrong
    if "\n" in wrong:
        return "it has several lines"
    old, new = text.split(), wrong.split()
    if old == new:
        return "it is the true caption"
    if abs(len(old) - len(new)) > WORDS:
        return f"it is over {WORDS} words longer or shorter"
    first = _shared(old, new)
    last = _shared(old[first:][::-1], new[first:][::-1])
    before, after = old[first : len(old) - last], new[first : len(new) - last]
    if not before or not after:
        return "words were only added or left out"
    if max(len(before), len(after)) > LONGEST or set(before[1:-1]) & set(after[1:-1]):
        return "more than one span was changed"
    start = len(" ".join(new[:first])) + (first > 0)
    values = [" ".join(words).rstrip(".,;") for words in (before, after)]
    return Change(
        kind=kind,
        text=" ".join(new),
        start=start,
        before=values[0],
        after=values[1],
        others=(values[1],),
        objects=(),
        why=why,
    )


def _shared(old: list[str], new: list[str]) -> int:
    """How many words are the same from the beginning."""
    return next(
        (i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b),
        min(len(old), len(new)),
    )
