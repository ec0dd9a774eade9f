"""What is missing: of everything that is asked, the part that the store does not have yet.

Resumption is no feature of its own: running the same command again plans what is still missing, and asks for that.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from hqm.administration.asks import Asks
from hqm.administration.assignment import Administration, Assignment
from hqm.respondents.base import Request, who_answers
from hqm.respondents.recorded import RecordedRespondent
from hqm.signature import request_seed
from hqm.store.database import Ask
from hqm.store.refusals import refused as refused_in
from hqm.types import LETTERS, Item

Key = tuple[str, int]
"""What a request is filed under: the digest of what is asked, and the run."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """What one respondent still has to answer of one administration."""

    assignment: Assignment
    administration: Administration
    rows: int
    distinct: int
    stored: int
    todo: Mapping[Key, tuple[Ask, Request]]
    broken: Mapping[Key, tuple[Ask, Request]] = field(default_factory=dict)
    """Questions whose picture cannot be used; they are stored as errors and not asked."""
    reasons: Mapping[Key, str] = field(default_factory=dict)
    refused: int = 0
    """Questions that the server turned away for good in an earlier run, and that are not asked again."""
    pictures: Mapping[str, str] = field(default_factory=dict)
    """Picture's name -> hash of its bytes, for the store to remember."""
    sight: str = ""
    """How the pictures are shown, as `Asks.sight` says it."""

    @property
    def label(self) -> str:
        put = self.administration
        scale = f" at {put.resolution}%" if put.resolution else ""
        return f"{self.assignment.benchmark.name} {put.form.name} run {put.run}{scale}"


def plan(
    asks: Asks,
    assignment: Assignment,
    administration: Administration,
    *,
    probabilities: bool = False,
    retry_refused: bool = False,
    only: Collection[str] | None = None,
) -> Job:
    """Find out what of one administration is still to be asked.

    With `probabilities`, the requests also ask for the probability of every possible first word of yes/no and
    multiple-choice answers. What a server turned away for good is asked again with `retry_refused` only. With `only`, the
    other items of the form are not looked at.
    """
    benchmark, form, run = assignment.benchmark, administration.form, administration.run
    asks = asks.at(administration.resolution)
    respondent, live, store = assignment.respondent, assignment.respondent.live, asks.store
    pairs = [
        (item, question)
        for item, question in zip(form.items, asks.of(benchmark, form, live), strict=True)
        if only is None or item.id in only
    ]
    asked = [question for _, question in pairs]
    identity = assignment.identity()
    number, who = store.find_respondent(respondent.name, identity), who_answers(respondent.name, identity)
    done = store.answered(number, run) if number is not None else set()
    refused = refused_in(store, number, run) if number is not None and not retry_refused else set()
    known = store.ask_ids(asked)
    todo: dict[Key, tuple[Ask, Request]] = {}
    broken: dict[Key, tuple[Ask, Request]] = {}
    reasons: dict[Key, str] = {}
    stored: set[str] = set()
    for item, question in pairs:
        if question.digest in known and known[question.digest] in done:
            stored.add(question.digest)
            continue
        if question.digest in refused:
            continue
        key = (question.digest, run)
        if key in todo or key in broken:
            continue
        shown = live and not asks.blind and item.image is not None
        image, reason = asks.file(benchmark, str(item.image)) if shown else (None, "")
        seed = request_seed(assignment.sampling.seed, who, run, question.digest)
        words = answer_words(item) if probabilities else ()
        request = Request(
            question.prompt, image, assignment.sampling, seed, benchmark.name, form.name, run, item.id, words=words,
            resolution=asks.resolution,
        )  # fmt: skip
        if reason:
            broken[key], reasons[key] = (question, request), reason
        elif not isinstance(respondent, RecordedRespondent) or respondent.has(request):
            todo[key] = (question, request)
    return Job(
        assignment=assignment,
        administration=administration,
        rows=len(asked),
        distinct=len({question.digest for question in asked}),
        stored=len(stored),
        todo=todo,
        broken=broken,
        reasons=reasons,
        sight=asks.sight,
        refused=len({question.digest for question in asked} & refused),
        pictures={
            question.image: question.image_digest for question in asked if question.image and question.image_digest
        },
    )


def answer_words(item: Item) -> tuple[str, ...]:
    """The words that an answer to an item may be, where they are few: yes and no, or the options' letters.

    >>> answer_words(Item("1", "Is there a dog?", "yes_no"))
    ('yes', 'no')
    >>> answer_words(Item("2", "Which colour?", "choice", options=("red", "blue", "green")))
    ('A', 'B', 'C')
    >>> answer_words(Item("3", "Describe it.", "caption"))
    ()
    """
    if item.task == "yes_no":
        return "yes", "no"
    return tuple(LETTERS[: len(item.options)])
