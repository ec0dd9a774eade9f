"""What is asked: the items of every form, with their addresses in the store."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from hqm.benchmark.adapter import Benchmark
from hqm.errors import ImageError
from hqm.files.cache import is_url
from hqm.files.images import check_picture, scaled
from hqm.respondents.base import (
    RecordedRespondent,
    Request,
    Respondent,
    RespondentName,
    Sampling,
    who_answers,
)
from hqm.signature import digest_file, request_seed
from hqm.store.database import Ask, Store, ask
from hqm.store.database import refused as refused_in
from hqm.types import LETTERS, Form, Item, Response

# Who answers which benchmark, and how: a respondent's assignment, and the respondent as the store
# knows it afterwards.


@dataclass(frozen=True)
class Administration:
    """One form, put to a respondent in one run."""

    form: Form
    run: int
    resolution: str = ""
    """The percentage of their width and height to which its pictures are scaled; empty where they
    are shown as they are.
    """


@dataclass(frozen=True)
class Assignment:
    """One respondent, one benchmark, and the sampling of the answers."""

    respondent: Respondent
    benchmark: Benchmark
    sampling: Sampling

    def identity(self) -> Mapping[str, Any]:
        """Return the respondent's identity in the store; a live one includes its sampling."""
        drawn = asdict(self.sampling) if self.respondent.live else {}
        return {**self.respondent.identity(), **drawn}


def assign(
    respondent: Respondent, benchmark: Benchmark, overrides: Mapping[str, Any] | None = None
) -> Assignment:
    """Choose the sampling of a respondent: from its name, else `overrides`, else the card."""
    chosen = {name: value for name, value in (overrides or {}).items() if value is not None}
    default = Sampling(**{**benchmark.card.generation.model_dump(), **chosen})
    sampling = (
        RespondentName.parse(respondent.name).sampling(default) if respondent.live else default
    )
    return Assignment(respondent, benchmark, sampling)


@dataclass(frozen=True, slots=True)
class StoredRespondent:
    """A respondent as the store knows it."""

    name: str
    number: int
    live: bool
    identity: Mapping[str, Any] = field(default_factory=dict, compare=False)


class Asks:
    """The questions of every form as the store addresses them; each picture is hashed once.

    Parameters
    ----------
    store
        Numbers the asks that it has seen, and remembers the hashes of pictures that are no longer
        there.
    blind
        Ask without the pictures.
    resolution
        The percentage of their width and height to which pictures are scaled; empty shows them as
        they are.
    """

    def __init__(self, store: Store, *, blind: bool = False, resolution: str = "") -> None:
        self.store, self.blind, self.resolution = store, blind, resolution
        self._at: dict[str, Asks] = {resolution: self}
        self._digests: dict[str, dict[str, str | None]] = {}
        self._asks: dict[tuple[int, str, str], list[Ask]] = {}
        self._numbers: dict[int, list[int]] = {}
        self._files: dict[tuple[str, str], tuple[Path | None, str]] = {}

    @property
    def sight(self) -> str:
        """How pictures are shown: empty (as they are), `blind` (not at all), or `50%` (scaled)."""
        if self.blind:
            return "blind"
        return f"{self.resolution}%" if self.resolution else ""

    def at(self, resolution: str) -> Asks:
        """The same asks with pictures of another resolution."""
        if resolution not in self._at:
            other = Asks(self.store, blind=self.blind, resolution=resolution)
            other._at = self._at
            self._at[resolution] = other
        return self._at[resolution]

    def of(self, benchmark: Benchmark, form: Form, live: bool) -> list[Ask]:
        """Return the question of every item. Those of recorded respondents also hold benchmark and
        form.
        """
        key = (id(benchmark), form.digest, "live" if live else f"recorded {form.name}")
        if key not in self._asks:
            self._asks[key] = [self._ask(benchmark, form, i, live) for i in range(len(form.items))]
        return self._asks[key]

    def _ask(self, benchmark: Benchmark, form: Form, index: int, live: bool) -> Ask:
        item = form.items[index]
        text = benchmark.asked(item)
        if not live:
            scale = (f"resolution={self.resolution}",) if self.resolution else ()
            return ask(text, item.image, apart=(benchmark.name, form.name, item.id, *scale))
        if self.blind or item.image is None:
            return ask(text)
        return ask(text, self._shown(item.image), self._picture_digest(benchmark, item.image))

    def numbers(self, benchmark: Benchmark, form: Form, live: bool) -> list[int]:
        """Return the store's number of every question; -1 for one that nobody was asked."""
        asks = self.of(benchmark, form, live)
        numbers = self._numbers.get(id(asks))
        if numbers is None or -1 in numbers:
            known = self.store.ask_ids(asks)
            numbers = self._numbers[id(asks)] = [known.get(asked.digest, -1) for asked in asks]
        return numbers

    def picture(
        self, benchmark: Benchmark, name: str | None
    ) -> tuple[str | None, Path | None, str]:
        """Return a picture for a judge: its digest, its file, and why there is no file."""
        if name is None:
            return None, None, ""
        path, reason = self.file(benchmark, name)
        # without the file, what the store knows of it still finds the replies given earlier
        return self._picture_digest(benchmark, name), path, reason

    def file(self, benchmark: Benchmark, name: str) -> tuple[Path | None, str]:
        """Return a picture's file, or None and the reason."""
        key = (benchmark.name, name)
        if key not in self._files:
            try:
                path = benchmark.pictures.path(name)
                check_picture(path, name if is_url(name) else "")
                benchmark.checksums.check(name, path)
                self._files[key] = (self._scaled(path), "")
            except ImageError as error:
                self._files[key] = (None, str(error))
        return self._files[key]

    def _picture_digest(self, benchmark: Benchmark, name: str) -> str | None:
        """Return the hash of a picture's bytes; if the file is missing, the hash in the store."""
        known = self._digests.setdefault(benchmark.name, {})
        if name not in known:
            try:
                known[name] = digest_file(self._scaled(benchmark.pictures.path(name)))
            except ImageError:
                known[name] = self.store.images(benchmark.name).get(self._shown(name))
        return known[name]

    def _scaled(self, path: Path) -> Path:
        return scaled(path, int(self.resolution)) if self.resolution else path

    def _shown(self, name: str) -> str:
        """Return the name of a picture at this resolution; a scaled one is another picture."""
        return f"{name}@{self.resolution}%" if self.resolution else name


# What is missing: of everything that is asked, the part that the store does not have yet.
#
# Resumption is no feature of its own: running the same command again plans what is still missing,
# and asks for that.

Key = tuple[str, int]
"""The key of a request: the digest of its question, and the run."""


class RecordedTodo(Mapping[Key, tuple[Ask, Request]]):
    """The recorded answers that are not stored yet. Requests are made only when they are read.

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
    """What one respondent still has to answer in one administration."""

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
    """Number of questions that the server refused for good in an earlier run."""
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


def plan_job(
    asks: Asks,
    assignment: Assignment,
    administration: Administration,
    *,
    probabilities: bool = False,
    retry_errors: bool = False,
    only: Collection[str] | None = None,
) -> Job:
    """Find out which questions of one administration are still to be asked.

    With `probabilities`, the requests also ask for the probability of every possible first word of
    yes/no and multiple-choice answers. What a server turned away for good is asked again with
    `retry_errors` only. With `only`, the other items of the form are not looked at.
    """
    benchmark, form, run = assignment.benchmark, administration.form, administration.run
    asks = asks.at(administration.resolution)
    respondent, live, store = assignment.respondent, assignment.respondent.live, asks.store
    pairs = list(zip(form.items, asks.of(benchmark, form, live), strict=True))
    if only is not None:
        pairs = [pair for pair in pairs if pair[0].id in only]
    asked = [question for _, question in pairs]
    digests = frozenset(question.digest for question in asked)
    identity = assignment.identity()
    number, who = (
        store.find_respondent(respondent.name, identity),
        who_answers(respondent.name, identity),
    )
    done = store.answered(number, run) if number is not None else frozenset()
    refused = refused_in(store, number, run) if number is not None and not retry_errors else set()
    broken: dict[Key, tuple[Ask, Request]] = {}
    reasons: dict[Key, str] = {}
    stored = frozenset[str]()
    if done:
        numbered = zip(
            asks.of(benchmark, form, live), asks.numbers(benchmark, form, live), strict=True
        )
        stored = digests & {question.digest for question, known in numbered if known in done}

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
        for item, question in pairs if digests - stored else ():
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
    """Return the possible one-word answers of an item: yes and no, or the options' letters.

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
