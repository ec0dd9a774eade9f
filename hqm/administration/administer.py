"""Plan what is missing, ask the respondents, store the answers.

Resumption is no feature of its own: a plan is what a store does not have yet. Answers are committed batch by batch, so
that a killed run loses at most the batch in flight, and running the same command again asks for the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hqm.administration.engines import Engine, Stop, make_engine, never
from hqm.benchmark.interface import Benchmark
from hqm.errors import HQMError, ImageError
from hqm.files.images import check_picture
from hqm.files.names import is_url
from hqm.respondents.base import Request, Respondent, RespondentName, Sampling
from hqm.respondents.recorded import RecordedRespondent
from hqm.scoring.matrix import MatrixBuilder, ScoreMatrix
from hqm.signature import digest_all, digest_file, request_seed
from hqm.store.database import Ask, Store, ask
from hqm.types import LETTERS, Cell, Form, Item, Response, Row

Key = tuple[str, int]
"""What a request is filed under: the digest of what is asked, and the run."""


@dataclass(frozen=True)
class Administration:
    """A form put to every respondent in one run."""

    form: Form
    run: int


@dataclass(frozen=True)
class Sitting:
    """One respondent before one benchmark: who it is, in the store's terms, and how it is asked."""

    respondent: Respondent
    benchmark: Benchmark
    sampling: Sampling

    desk: Desk

    def identity(self) -> Mapping[str, Any]:
        drawn = asdict(self.sampling) if self.respondent.live else {}
        return {**self.respondent.identity(), **drawn}


@dataclass
class Job:
    """What one respondent has to answer of one administration."""

    sitting: Sitting
    administration: Administration
    rows: int
    distinct: int
    stored: int
    todo: dict[Key, tuple[Ask, Request]]
    broken: dict[Key, tuple[Ask, Request]] = field(default_factory=dict)
    """Questions whose picture cannot be used; stored as errors, not asked."""
    reasons: dict[Key, str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        return f"{self.sitting.benchmark.name} {self.administration.form.name} run {self.administration.run}"


class Desk:
    """Knows the asks of every form; reads and hashes each picture once.

    Parameters
    ----------
    store
        Where the answers are.
    blind
        Ask without the pictures.
    probabilities
        Have the probability of every possible first word of yes/no and multiple-choice answers recorded.
    """

    def __init__(self, store: Store, *, blind: bool = False, probabilities: bool = False) -> None:
        self.store, self.blind, self.probabilities = store, blind, probabilities
        self._digests: dict[str, dict[str, str | None]] = {}
        self._asks: dict[tuple[int, str, str], list[Ask]] = {}
        self._known: dict[int, list[int]] = {}
        self._files: dict[tuple[str, str], tuple[Path | None, str]] = {}

    def sitting(self, respondent: Respondent, benchmark: Benchmark, overrides: Mapping[str, Any]) -> Sitting:
        """Settle how a respondent is asked: its own name first, then the command line, then the card."""
        generation = benchmark.card.generation
        given = {**generation.model_dump(), **{k: v for k, v in overrides.items() if v is not None}}
        default = Sampling(**given)
        sampling = RespondentName.parse(respondent.name).sampling(default) if respondent.live else default
        return Sitting(respondent, benchmark, sampling, self)

    def asks(self, benchmark: Benchmark, form: Form, live: bool) -> list[Ask]:
        """What is asked, item by item."""
        key = (id(benchmark), form.digest, "live" if live else f"recorded {form.name}")
        if key not in self._asks:
            self._asks[key] = [self._ask(benchmark, form, i, live) for i in range(len(form.items))]
        return self._asks[key]

    def _ask(self, benchmark: Benchmark, form: Form, index: int, live: bool) -> Ask:
        item = form.items[index]
        text = benchmark.asked(item)
        if not live:
            return ask(text, item.image, apart=(benchmark.name, form.name, item.id))
        if self.blind or item.image is None:
            return ask(text)
        return ask(text, item.image, self._image_digest(benchmark, item.image))

    def _image_digest(self, benchmark: Benchmark, name: str) -> str | None:
        """The hash of a picture's bytes; where the picture is not, the store knows what it was."""
        known = self._digests.setdefault(benchmark.name, {})
        if name not in known:
            try:
                known[name] = digest_file(benchmark.pictures.path(name))
            except ImageError:
                known[name] = self.store.images(benchmark.name).get(name)
        return known[name]

    def remember_images(self, benchmark: Benchmark) -> None:
        """Write into the store which bytes the pictures' names stand for."""
        found = {name: key for name, key in self._digests.get(benchmark.name, {}).items() if key is not None}
        if found.items() - self.store.images(benchmark.name).items():
            self.store.remember_images(benchmark.name, found)

    def picture(self, benchmark: Benchmark, name: str | None) -> tuple[str | None, Path | None, str]:
        """A picture that a judge sees: its digest, its file, and why there is no file to show."""
        if name is None:
            return None, None, ""
        path, reason = self._file(benchmark, name)
        known = self._image_digest(benchmark, name)
        # without the file, what the store knows of it still finds the replies given earlier
        return known, path, reason

    def rows(
        self, benchmark: Benchmark, form: Form, people: Sequence[StoredRespondent], run: int
    ) -> dict[str, list[Response | None]]:
        """The stored responses of several respondents to one form, by name."""
        return {person.name: self.responses(benchmark, form, person, run) for person in people}

    def plan(self, sitting: Sitting, administration: Administration) -> Job:
        """Find out what of one administration is still to be asked."""
        benchmark, form, run = sitting.benchmark, administration.form, administration.run
        respondent, live = sitting.respondent, sitting.respondent.live
        asks = self.asks(benchmark, form, live)
        number = self.store.find_respondent(respondent.name, sitting.identity())
        done = self.store.answered(number, run) if number is not None else set()
        known = self.store.ask_ids(asks)
        job = Job(sitting, administration, len(asks), len({a.digest for a in asks}), 0, {})
        stored = set()
        for item, one in zip(form.items, asks, strict=True):
            if one.digest in known and known[one.digest] in done:
                stored.add(one.digest)
                continue
            key = (one.digest, run)
            if key in job.todo or key in job.broken:
                continue
            image, reason = self._image(benchmark, item.image) if live else (None, "")
            seed = request_seed(sitting.sampling.seed, run, one.digest)
            words = answer_words(item) if self.probabilities else ()
            request = Request(
                one.prompt, image, sitting.sampling, seed, benchmark.name, form.name, run, item.id, words=words
            )
            if reason:
                job.broken[key], job.reasons[key] = (one, request), reason
            elif not isinstance(respondent, RecordedRespondent) or respondent.has(request):
                job.todo[key] = (one, request)
        job.stored = len(stored)
        return job

    def _image(self, benchmark: Benchmark, name: str | None) -> tuple[Path | None, str]:
        """A picture's file, or why it cannot be used."""
        return (None, "") if self.blind or name is None else self._file(benchmark, name)

    def _file(self, benchmark: Benchmark, name: str) -> tuple[Path | None, str]:
        found = self._files.get((benchmark.name, name))
        if found is None:
            try:
                path = benchmark.pictures.path(name)
                check_picture(path, name if is_url(name) else "")
                benchmark.checksums.check(name, path)
                found = (path, "")
            except ImageError as error:
                found = (None, str(error))
            self._files[benchmark.name, name] = found
        return found

    def responses(self, benchmark: Benchmark, form: Form, person: StoredRespondent, run: int) -> list[Response | None]:
        """The stored responses of one respondent to one form, item by item; None where there is none."""
        rows = self._rows(benchmark, form, person, run)
        return [None if row is None else Response(*row[:3]) for row in rows]

    def _rows(self, benchmark: Benchmark, form: Form, person: StoredRespondent, run: int) -> list[Row | None]:
        answers = self.store.answer_rows(person.number, run)
        return [answers.get(number) for number in self._numbers(benchmark, form, person.live)]

    def chances(self, benchmark: Benchmark, form: Form, person: StoredRespondent, run: int) -> list[float | None]:
        """The probability that each answer was right, from the first token's; None where it was not recorded.

        What is neither yes nor no, nor an option's letter, counts as wrong.
        """
        details = self.store.details(person.number, run)
        found: list[float | None] = []
        for item, number in zip(form.items, self._numbers(benchmark, form, person.live), strict=True):
            p = details.get(number, {}).get("p", {})
            value = p.get(str(item.target)) if isinstance(p, Mapping) else None
            found.append(float(value) if isinstance(value, (int, float)) else None)
        return found

    def _numbers(self, benchmark: Benchmark, form: Form, live: bool) -> list[int]:
        """The store's number of every item's ask; -1 for what was never asked of anybody."""
        asks = self.asks(benchmark, form, live)
        found = self._known.get(id(asks))
        if found is None or -1 in found:
            ids = self.store.ask_ids(asks)
            found = self._known[id(asks)] = [ids.get(one.digest, -1) for one in asks]
        return found

    def matrix(self, benchmark: Benchmark, cell: Cell, form: Form, people: Sequence[StoredRespondent]) -> ScoreMatrix:
        """Score the stored answers of one administration."""
        builder = MatrixBuilder(cell, form, benchmark.verdict, benchmark.subsets, benchmark.groupings, benchmark.relate)
        hashes = []
        for person in people:
            row = self._rows(benchmark, form, person, cell.run)
            hashes.append(digest_all("" if r is None else f"{r[1]} {r[0]}" for r in row))
            builder.add(person.name, row)
        return builder.build(digest_all(hashes))


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


@dataclass(frozen=True, slots=True)
class StoredRespondent:
    """A respondent as the store knows it."""

    name: str
    number: int
    live: bool
    identity: Mapping[str, Any] = field(default_factory=dict, compare=False)


Progress = Callable[[Job, int], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of asking: how many were asked, how many answers are errors, and who had to be given up."""

    asked: int
    errors: int
    failed: tuple[tuple[str, HQMError], ...]
    left: int = 0
    """What is still to be asked because somebody asked to stop."""


def administer(
    store: Store,
    jobs: Iterable[Job],
    progress: Progress | None = None,
    *,
    workers: int = 1,
    engine: Engine | None = None,
    stop: Stop = never,
) -> Outcome:
    """Ask every respondent what its jobs still lack; store the answers batch by batch.

    A respondent that cannot go on is given up with its reason; the others are asked all the same.

    Parameters
    ----------
    workers
        Processes of this machine that share the requests of models run here; 0 finds a number.
    engine
        Who runs the requests, in place of those processes: `hqm.engines.make_engine`.
    stop
        Asked after every batch; once true, what is in hand is finished and stored, and nothing new is begun.
    """
    by_respondent: dict[int, list[Job]] = {}
    for job in jobs:
        by_respondent.setdefault(id(job.sitting.respondent), []).append(job)
    papers = [_Paper(store, mine) for mine in by_respondent.values()]
    asked, errors = 0, sum(paper.store_broken() for paper in papers)
    failed: dict[int, HQMError] = {}
    run = engine or make_engine(workers=workers)
    for i, batch in run([(paper.respondent, paper.requests) for paper in papers], stop):
        if isinstance(batch, HQMError):
            failed.setdefault(i, batch)
            continue
        for job, count in papers[i].store_answers(batch):
            if progress:
                progress(job, count)
        asked += len(batch)
        errors += sum(response.state == "error" for _, response in batch)
    left = sum(len(paper.requests) for paper in papers) - asked if stop() else 0
    return Outcome(asked, errors, tuple((papers[i].respondent.name, error) for i, error in failed.items()), left)


class _Paper:
    """One respondent's question paper: its jobs, each distinct question once, and where the answers go."""

    def __init__(self, store: Store, jobs: Sequence[Job]) -> None:
        self.store, self.jobs = store, jobs
        self.respondent = jobs[0].sitting.respondent
        # the same question of two jobs (two benchmarks, two forms) is asked once
        first: dict[tuple[Sampling, Key], tuple[Job, Ask, Request]] = {}
        for job in jobs:
            for key, (one, request) in job.todo.items():
                first.setdefault((request.sampling, key), (job, one, request))
        self.requests = [request for _, _, request in first.values()]
        # an answer is matched to its request by identity: requests are values, and two may be equal
        self._owner = {id(request): (job, one) for job, one, request in first.values()}
        self._numbers: dict[int, int] = {}

    def _number(self, job: Job) -> int:
        key = id(job)
        if key not in self._numbers:
            self._numbers[key] = self.store.respondent(self.respondent.name, job.sitting.identity())
        return self._numbers[key]

    def store_broken(self) -> int:
        """Store what cannot be asked as errors, and what the pictures' names stand for; how many errors."""
        for job in self.jobs:
            if self.respondent.live:
                job.sitting.desk.remember_images(job.sitting.benchmark)
            if job.broken:
                answers = [(one, Response("", "error", job.reasons[key])) for key, (one, _) in job.broken.items()]
                self.store.append(self._number(job), job.administration.run, answers)
        return sum(len(job.broken) for job in self.jobs)

    def store_answers(self, batch: Sequence[tuple[Request, Response]]) -> list[tuple[Job, int]]:
        """Commit a batch; how many answers each job got."""
        grouped: dict[tuple[int, int], list[tuple[Ask, Response]]] = {}
        counts: dict[int, tuple[Job, int]] = {}
        for request, response in batch:
            job, one = self._owner[id(request)]
            grouped.setdefault((self._number(job), request.run), []).append((one, response))
            counts[id(job)] = (job, counts.get(id(job), (job, 0))[1] + 1)
        for (number, run), answers in grouped.items():
            self.store.append(number, run, answers)
        return list(counts.values())
