"""What is missing: of everything that is asked, the part that the store does not have yet.

Resumption is no feature of its own: running the same command again plans what is still missing, and
asks for that.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from hqm.administration.asks import Asks
from hqm.administration.assignment import Administration, Assignment
from hqm.respondents.base import Request, who_answers
from hqm.respondents.recorded import RecordedRespondent
from hqm.signature import request_seed
from hqm.store.database import Ask, Store
from hqm.store.refusals import refused as refused_in
from hqm.types import LETTERS, Item, Response

Key = tuple[str, int]
"""What a request is filed under: the digest of what is asked, and the run."""


class RecordedTodo(Mapping[Key, tuple[Ask, Request]]):
    """What was recorded of an administration and is not stored yet; a request is made when somebody
    looks at it.

    Parameters
    ----------
    pairs
        The items with what they ask.
    answers
        Item id -> its recorded answer, of every item among the pairs.
    request
        Makes the request of an item.
    """

    def __init__(
        self,
        pairs: Sequence[tuple[Item, Ask]],
        answers: Mapping[str, Response],
        run: int,
        request: Callable[[Item, Ask], Request],
    ) -> None:
        self._pairs, self._answers, self._run, self._request = pairs, answers, run, request

    def __len__(self) -> int:
        return len(self._pairs)

    def __iter__(self) -> Iterator[Key]:
        return ((asked.digest, self._run) for _, asked in self._pairs)

    def __getitem__(self, key: Key) -> tuple[Ask, Request]:
        if key[1] != self._run:
            raise KeyError(key)
        item, asked = self._pairs[self._places[key[0]]]
        return asked, self._request(item, asked)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {asked.digest: i for i, (_, asked) in enumerate(self._pairs)}

    def given(self) -> list[tuple[Ask, Response]]:
        """What is asked, with what was answered."""
        answers = self._answers
        return [(asked, answers[item.id]) for item, asked in self._pairs]


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
    """Questions that the server turned away for good in an earlier run, and that are not asked
    again.
    """
    pictures: Mapping[str, str] = field(default_factory=dict)
    """Picture's name -> hash of its bytes, for the store to remember."""
    sight: str = ""
    """How the pictures are shown, as `Asks.sight` says it."""

    @property
    def label(self) -> str:
        put = self.administration
        scale = f" at {put.resolution}%" if put.resolution else ""
        return f"{self.assignment.benchmark.name} {put.form.name} run {put.run}{scale}"

    def record(self, store: Store, respondent: int) -> None:
        """Record in the store that this respondent was put the administration."""
        form, run, name = (
            self.administration.form,
            self.administration.run,
            self.assignment.benchmark.name,
        )
        store.administered(
            respondent, name, form=form.name, digest=form.digest, run=run, sight=self.sight
        )


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

    With `probabilities`, the requests also ask for the probability of every possible first word of
    yes/no and multiple-choice answers. What a server turned away for good is asked again with
    `retry_refused` only. With `only`, the other items of the form are not looked at.
    """
    benchmark, form, run = assignment.benchmark, administration.form, administration.run
    asks = asks.at(administration.resolution)
    respondent, live, store = assignment.respondent, assignment.respondent.live, asks.store
    asked, digests = asks.of(benchmark, form, live), asks.distinct(benchmark, form, live)
    pairs = list(zip(form.items, asked, strict=True))
    if only is not None:
        pairs = [pair for pair in pairs if pair[0].id in only]
        asked = [question for _, question in pairs]
        digests = frozenset(question.digest for question in asked)
    identity = assignment.identity()
    number, who = (
        store.find_respondent(respondent.name, identity),
        who_answers(respondent.name, identity),
    )
    done = store.answered(number, run) if number is not None else set()
    refused = refused_in(store, number, run) if number is not None and not retry_refused else set()
    known = store.ask_ids(asked) if done else {}
    broken: dict[Key, tuple[Ask, Request]] = {}
    reasons: dict[Key, str] = {}
    stored = (
        {question.digest for question in asked if known.get(question.digest) in done}
        if done
        else set()
    )

    def request_of(item: Item, question: Ask, image: Path | None = None) -> Request:
        return Request(
            question.prompt,
            image,
            assignment.sampling,
            request_seed(assignment.sampling.seed, who, run, question.digest),
            benchmark.name,
            form.name,
            run,
            item.id,
            words=answer_words(item) if probabilities else (),
            resolution=asks.resolution,
        )

    todo: Mapping[Key, tuple[Ask, Request]]
    if isinstance(respondent, RecordedRespondent):
        answers = respondent.answers_in(form.name, run, asks.resolution)
        settled = stored | refused
        left = [pair for pair in pairs if pair[0].id in answers]
        if settled:
            left = [pair for pair in left if pair[1].digest not in settled]
        if len(digests) < len(pairs):  # the first of rows that are one question
            first = {pair[1].digest: pair for pair in reversed(left)}
            left = [pair for pair in left if first[pair[1].digest] is pair]
        todo = RecordedTodo(left, answers, run, request_of)
    else:
        todo = asked_now = {}
        for item, question in pairs:
            key = (question.digest, run)
            if (
                question.digest in stored
                or question.digest in refused
                or key in asked_now
                or key in broken
            ):
                continue
            shown = live and not asks.blind and item.image is not None
            image, reason = asks.file(benchmark, str(item.image)) if shown else (None, "")
            request = request_of(item, question, image)
            if reason:
                broken[key], reasons[key] = (question, request), reason
            else:
                asked_now[key] = (question, request)
    return Job(
        assignment=assignment,
        administration=administration,
        rows=len(asked),
        distinct=len(digests),
        stored=len(stored),
        todo=todo,
        broken=broken,
        reasons=reasons,
        sight=asks.sight,
        refused=len(digests & refused),
        pictures=(
            {}
            if not live
            else {
                question.image: question.image_digest
                for question in asked
                if question.image and question.image_digest
            }
        ),
    )


def answer_words(item: Item) -> tuple[str, ...]:
    """The words that an answer to an item may be, where they are few: yes and no, or the options'
    letters.

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
