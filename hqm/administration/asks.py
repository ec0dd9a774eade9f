"""The questions of every form with their addresses in the store, and those not answered yet."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from hqm.benchmark.adapter import Benchmark
from hqm.errors import ImageError
from hqm.files.cache import is_url
from hqm.files.images import check_picture, scaled_picture
from hqm.respondents.base import (
    RecordedRespondent,
    Request,
    Respondent,
    RespondentName,
    Sampling,
    who_answers,
)
from hqm.signature import digest_file, request_seed
from hqm.store.database import Ask, Store, ask, refused_asks
from hqm.types import CLOSED_TASKS, LETTERS, Form, Item, Response

# Which respondent answers which benchmark, with which sampling, and the respondent in the store.


@dataclass(frozen=True)
class Administration:
    """One form, asked in one run.

    Parameters
    ----------
    form
        What is asked.
    run
        The number of the run.
    resolution
        The percentage of width and height to which pictures are scaled; empty where they are shown
        as they are.
    """

    form: Form
    run: int
    resolution: str = ""


@dataclass(frozen=True)
class Assignment:
    """One respondent, one benchmark, and the sampling of the answers."""

    respondent: Respondent
    benchmark: Benchmark
    sampling: Sampling

    def identity(self) -> Mapping[str, object]:
        """Return the respondent's identity in the store; a live one includes its sampling."""
        sampling = asdict(self.sampling) if self.respondent.live else {}
        return {**self.respondent.identity(), **sampling}

    def number(self, store: Store) -> int | None:
        """Return the respondent's number in a store; None where it has no answer there."""
        return store.find_respondent(self.respondent.name, self.identity())


def assign(
    respondent: Respondent, benchmark: Benchmark, overrides: Mapping[str, object] | None = None
) -> Assignment:
    """Choose the sampling of a respondent: from its name, else `overrides`, else the card.

    Parameters
    ----------
    respondent
        Who is to answer.
    benchmark
        What is asked; its card has the sampling of the release.
    overrides
        Settings of the command; those that are None are left out.

    Returns
    -------
    Assignment
        The respondent with the benchmark and the sampling.
    """
    settings = {name: value for name, value in (overrides or {}).items() if value is not None}
    default = Sampling(**{**benchmark.card.generation.model_dump(), **settings})
    if respondent.live:
        sampling = RespondentName.parse(respondent.name).sampling(default)
    else:
        sampling = default
    return Assignment(respondent, benchmark, sampling)


@dataclass(frozen=True, slots=True)
class StoredRespondent:
    """A respondent with its number in the store."""

    name: str
    number: int
    live: bool
    identity: Mapping[str, Any] = field(default_factory=dict, compare=False)


def stored_numbers(
    store: Store, name: str, identities: Iterable[Mapping[str, object]]
) -> list[int]:
    """The numbers in a store of those of a respondent's identities that it has, each once."""
    numbers = (store.find_respondent(name, identity) for identity in identities)
    return [number for number in dict.fromkeys(numbers) if number is not None]


class Asks:
    """The questions of every form as the store addresses them; each picture is hashed once.

    Parameters
    ----------
    store
        Numbers the asks, and has the hashes of pictures whose files are missing.
    blind
        Ask without the pictures.
    resolution
        The percentage of their width and height to which pictures are scaled; empty shows them as
        they are.
    """

    def __init__(self, store: Store, *, blind: bool = False, resolution: str = "") -> None:
        self.store = store
        self.blind = blind
        self.resolution = resolution
        # shared by all resolutions, so that whoever asks for one gets the object that has hashed
        # its pictures
        self._by_resolution: dict[str, Asks] = {resolution: self}
        self._digests: dict[str, dict[str, str | None]] = {}
        self._asks: dict[tuple[int, str, str], list[Ask]] = {}
        self._numbers: dict[int, list[int]] = {}
        self._files: dict[tuple[str, str], tuple[Path | None, str]] = {}

    @property
    def sight(self) -> str:
        """How pictures are shown: empty (as they are), `blind` (not at all), or `50%` (scaled)."""
        if self.blind:
            return "blind"
        if self.resolution:
            return f"{self.resolution}%"
        return ""

    def with_resolution(self, resolution: str) -> Asks:
        """Return the same asks with pictures of another resolution."""
        if resolution not in self._by_resolution:
            asks = Asks(self.store, blind=self.blind, resolution=resolution)
            asks._by_resolution = self._by_resolution
            self._by_resolution[resolution] = asks
        return self._by_resolution[resolution]

    def questions(self, benchmark: Benchmark, form: Form, live: bool) -> list[Ask]:
        """Return the question of every item.

        Those of recorded respondents also hold benchmark and form.
        """
        # by identity: another benchmark's card may put the same form in other words
        key = (id(benchmark), form.digest, "live" if live else f"recorded {form.name}")
        if key not in self._asks:
            self._asks[key] = [self._ask(benchmark, form, item, live) for item in form.items]
        return self._asks[key]

    def _ask(self, benchmark: Benchmark, form: Form, item: Item, live: bool) -> Ask:
        text = benchmark.question_text(item)
        if not live:
            # a file may answer equal questions of two items differently, so that each item is asked
            # for itself
            scale = (f"resolution={self.resolution}",) if self.resolution else ()
            return ask(text, item.image, salt=(benchmark.name, form.name, item.id, *scale))
        if self.blind or item.image is None:
            return ask(text)
        return ask(
            text, self._picture_name(item.image), self._picture_digest(benchmark, item.image)
        )

    def numbers(self, benchmark: Benchmark, form: Form, live: bool) -> list[int]:
        """Return the store's number of every question; -1 for one that nobody was asked."""
        asks = self.questions(benchmark, form, live)
        numbers = self._numbers.get(id(asks))
        # a question without a number may have been asked since
        if numbers is None or -1 in numbers:
            ids = self.store.ask_ids(asks)
            numbers = self._numbers[id(asks)] = [ids.get(question.digest, -1) for question in asks]
        return numbers

    def picture(
        self, benchmark: Benchmark, name: str | None
    ) -> tuple[str | None, Path | None, str]:
        """Return a picture for a judge: its digest, its file, and why there is no file."""
        if name is None:
            return None, None, ""
        path, reason = self.file(benchmark, name)
        # without the file, the hash in the store still finds the replies given earlier
        return self._picture_digest(benchmark, name), path, reason

    def file(self, benchmark: Benchmark, name: str) -> tuple[Path | None, str]:
        """Return a picture's file, or None and the reason."""
        key = (benchmark.name, name)
        if key not in self._files:
            try:
                path = benchmark.pictures.path(name)
                check_picture(path, name if is_url(name) else "")
                # an answer about another picture of this name would pass for one about the
                # release's
                benchmark.checksums.check(name, path)
                self._files[key] = (self._scaled(path), "")
            except ImageError as error:
                self._files[key] = (None, str(error))
        return self._files[key]

    def _picture_digest(self, benchmark: Benchmark, name: str) -> str | None:
        """Return the hash of a picture's bytes; if the file is missing, the hash in the store."""
        digests = self._digests.setdefault(benchmark.name, {})
        if name not in digests:
            try:
                digests[name] = digest_file(self._scaled(benchmark.pictures.path(name)))
            except ImageError:
                # stored answers are audited without the pictures: their hashes are in the store
                digests[name] = self.store.images(benchmark.name).get(self._picture_name(name))
        return digests[name]

    def _scaled(self, path: Path) -> Path:
        return scaled_picture(path, int(self.resolution)) if self.resolution else path

    def _picture_name(self, name: str) -> str:
        """Return the name of a picture at this resolution; a scaled one is another picture."""
        return f"{name}@{self.resolution}%" if self.resolution else name


# The questions without an answer in the store. A command is resumed by running it again: it plans
# the questions that still lack an answer, and asks those.

Key = tuple[str, int]
"""The key of a request: the digest of its question, and the run."""


class RecordedTodo(Mapping[Key, tuple[Ask, Request]]):
    """The recorded answers that are not stored yet. Requests are made only when they are read.

    Parameters
    ----------
    pairs
        The items with their questions.
    answers
        Item id -> its recorded answer, for every item of the pairs.
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
        self._pairs = pairs
        self._answers = answers
        self._run = run
        self._request = request

    def __len__(self) -> int:
        return len(self._pairs)

    def __iter__(self) -> Iterator[Key]:
        return ((question.digest, self._run) for _, question in self._pairs)

    def __getitem__(self, key: Key) -> tuple[Ask, Request]:
        if key[1] != self._run:
            raise KeyError(key)
        item, question = self._pairs[self._indices[key[0]]]
        return question, self._request(item, question)

    @cached_property
    def _indices(self) -> dict[str, int]:
        return {question.digest: index for index, (_, question) in enumerate(self._pairs)}

    def recorded_answers(self) -> list[tuple[Ask, Response]]:
        """The questions with their recorded answers."""
        answers = self._answers
        return [(question, answers[item.id]) for item, question in self._pairs]


@dataclass(frozen=True, kw_only=True)
class Job:
    """The questions of one administration that one respondent has not answered yet."""

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
        administration = self.administration
        scale = f" at {administration.resolution}%" if administration.resolution else ""
        benchmark = self.assignment.benchmark.name
        return f"{benchmark} {administration.form.name} run {administration.run}{scale}"

    def is_short(self, request: Request) -> bool:
        """Whether the answer to a request is a word or a letter; the items of a form may differ."""
        item = self.administration.form.by_id[request.item]
        return item.task in CLOSED_TASKS

    def record(self, store: Store, respondent: int) -> None:
        """Record in the store that the form was administered to this respondent."""
        form = self.administration.form
        store.record_administration(
            respondent,
            self.assignment.benchmark.name,
            form=form.name,
            digest=form.digest,
            run=self.administration.run,
            sight=self.sight,
        )


def plan_job(
    asks: Asks,
    assignment: Assignment,
    administration: Administration,
    *,
    probabilities: bool = False,
    retry_errors: bool = False,
    item_ids: Collection[str] | None = None,
) -> Job:
    """Plan the questions of one administration that still have to be asked.

    Parameters
    ----------
    asks
        The questions of every form.
    assignment, administration
        The respondent with its sampling, and the form and run.
    probabilities
        Also ask for the probability of every possible first word of yes/no and multiple-choice
        answers.
    retry_errors
        Ask again the questions that a server refused for good.
    item_ids
        Plan these items of the form only.

    Returns
    -------
    Job
        The requests, and those that cannot be asked because of their picture.
    """
    asks = asks.with_resolution(administration.resolution)
    maker = _RequestMaker(asks, assignment, administration, probabilities)
    form = administration.form
    benchmark = assignment.benchmark
    respondent = assignment.respondent
    pairs = list(zip(form.items, asks.questions(benchmark, form, respondent.live), strict=True))
    if item_ids is not None:
        pairs = [pair for pair in pairs if pair[0].id in item_ids]
    digests = frozenset(question.digest for _, question in pairs)
    stored, refused = _stored_and_refused(asks, assignment, administration)
    stored &= digests
    refused &= digests
    # questions that were refused before are asked again, and are then no longer refused
    if retry_errors:
        refused = frozenset()
    settled = stored | refused
    todo: Mapping[Key, tuple[Ask, Request]]
    broken: dict[Key, tuple[Ask, Request]] = {}
    reasons: dict[Key, str] = {}
    if isinstance(respondent, RecordedRespondent):
        answers = respondent.answers_in(form.name, administration.run, asks.resolution)
        pending = _pending_recorded(pairs, answers, settled)
        todo = RecordedTodo(pending, answers, administration.run, maker.make)
    else:
        todo, broken, reasons = _pending_live(maker, pairs, settled)
    pictures: dict[str, str] = {}
    if respondent.live:
        for _, question in pairs:
            if question.image and question.image_digest:
                pictures[question.image] = question.image_digest
    return Job(
        assignment=assignment,
        administration=administration,
        rows=len(pairs),
        distinct=len(digests),
        stored=len(stored),
        todo=todo,
        broken=broken,
        reasons=reasons,
        sight=asks.sight,
        refused=len(refused),
        pictures=pictures,
    )


class _RequestMaker:
    """Makes the requests of one administration to one respondent."""

    def __init__(
        self,
        asks: Asks,
        assignment: Assignment,
        administration: Administration,
        probabilities: bool,
    ) -> None:
        self.asks = asks
        self.assignment = assignment
        self.administration = administration
        self.probabilities = probabilities
        self._respondent_key = who_answers(assignment.respondent.name, assignment.identity())

    def make(self, item: Item, question: Ask, image: Path | None = None) -> Request:
        """The request for one item."""
        sampling = self.assignment.sampling
        run = self.administration.run
        return Request(
            question.prompt,
            image,
            sampling,
            request_seed(sampling.seed, self._respondent_key, run, question.digest),
            self.assignment.benchmark.name,
            self.administration.form.name,
            run,
            item.id,
            words=answer_words(item) if self.probabilities else (),
            resolution=self.asks.resolution,
        )

    def picture(self, item: Item) -> tuple[Path | None, str]:
        """The file of the item's picture, or None and the reason if it cannot be used."""
        if not self.assignment.respondent.live or self.asks.blind or item.image is None:
            return None, ""
        return self.asks.file(self.assignment.benchmark, item.image)


def _stored_and_refused(
    asks: Asks, assignment: Assignment, administration: Administration
) -> tuple[frozenset[str], frozenset[str]]:
    """The digests of the answered questions, and of those refused for good."""
    respondent = assignment.respondent
    number = assignment.number(asks.store)
    if number is None:
        return frozenset(), frozenset()
    answered = asks.store.answered(number, administration.run)
    stored = []
    if answered:
        form = (assignment.benchmark, administration.form, respondent.live)
        for question, question_number in zip(
            asks.questions(*form), asks.numbers(*form), strict=True
        ):
            if question_number in answered:
                stored.append(question.digest)
    refused = refused_asks(asks.store, number, administration.run)
    return frozenset(stored), frozenset(refused)


def _pending_recorded(
    pairs: Sequence[tuple[Item, Ask]], answers: Mapping[str, Response], settled: Collection[str]
) -> list[tuple[Item, Ask]]:
    """The items with a recorded answer whose question is not settled, each question once."""
    pending: dict[str, tuple[Item, Ask]] = {}
    for item, question in pairs:
        if item.id in answers and question.digest not in settled:
            pending.setdefault(question.digest, (item, question))
    return list(pending.values())


def _pending_live(
    maker: _RequestMaker, pairs: Sequence[tuple[Item, Ask]], settled: Collection[str]
) -> tuple[dict[Key, tuple[Ask, Request]], dict[Key, tuple[Ask, Request]], dict[Key, str]]:
    """The requests to be asked, and those whose picture cannot be used, with the reasons."""
    todo: dict[Key, tuple[Ask, Request]] = {}
    broken: dict[Key, tuple[Ask, Request]] = {}
    reasons: dict[Key, str] = {}
    for item, question in pairs:
        key = (question.digest, maker.administration.run)
        if question.digest in settled or key in todo or key in broken:
            continue
        image, reason = maker.picture(item)
        request = maker.make(item, question, image)
        if reason:
            broken[key] = (question, request)
            reasons[key] = reason
        else:
            todo[key] = (question, request)
    return todo, broken, reasons


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
