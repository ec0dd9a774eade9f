"""Ask respondents the questions without an answer in the store, and store the answers.

Answers are committed batch by batch, so that a killed run loses at most the batch in flight.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from operator import attrgetter
from pathlib import Path

from hqm.administration.asks import Job, Key, RecordedTodo, stored_numbers
from hqm.administration.costs import prices_of
from hqm.administration.engines import Engine, Stop, make_engine, never_stop
from hqm.errors import HQMError
from hqm.imports.row import MAX_TOKENS
from hqm.respondents.base import RecordedRespondent, Request, Respondent, Sampling
from hqm.respondents.server_limits import (
    CHARACTERS_A_TOKEN,
    PICTURE_TOKENS,
    Budget,
    Hold,
)
from hqm.store.database import Ask, Store, has_answered
from hqm.types import Response

# Recorded answers are stored without a request.

_BATCH_SIZE = 5000
"""Answers that are committed together."""


_EXCESS = f"""
SELECT COALESCE(MAX(read - length(prompt) / {CHARACTERS_A_TOKEN} - {PICTURE_TOKENS} *
  (image IS NOT NULL) + MAX(0, written - json_extract(identity, '$.max_tokens'))), 0)
FROM (SELECT respondent, ask, COALESCE(json_extract(detail, '$.tokens_in'), 0) AS read,
  COALESCE(json_extract(detail, '$.tokens_out'), 0) AS written FROM answers WHERE respondent = ?)
JOIN asks ON asks.id = ask JOIN respondents ON respondents.id = respondent
WHERE read BETWEEN 0 AND {MAX_TOKENS} AND written BETWEEN 0 AND {MAX_TOKENS}
"""
"""The most tokens that a server counted beyond the estimate of a request and the limit of its
answer.
"""


def give_budget(
    respondent: Respondent,
    budget: Budget,
    store: Store,
    identities: Iterable[Mapping[str, object]],
) -> bool:
    """Give a server its budget, whether it ever answered, and the largest excess of a request.

    Returns False for a respondent that does not check its budget itself.
    """
    if not hasattr(respondent, "budget"):
        return False
    numbers = stored_numbers(store, respondent.name, identities)
    # a server counts every attempt itself, repeated ones too; of others, requests are admitted here
    respondent.budget = budget
    answered = any(map(partial(has_answered, store), numbers))
    respondent.has_answered = answered  # type: ignore[attr-defined]
    if hasattr(respondent, "batch_folder"):
        respondent.batch_folder = Path(store.path).parent / "batches"
    if budget.bounded:
        # the query reads every answer of the respondent, which only a bound is worth
        budget.expect(max((store.select(_EXCESS, number)[0][0] for number in numbers), default=0))
    return True


class _Jobs:
    """The jobs of one respondent, and its number in the store."""

    def __init__(self, store: Store, jobs: Sequence[Job]) -> None:
        self.store = store
        self.jobs = jobs
        self.respondent = jobs[0].assignment.respondent
        self.identities = [job.assignment.identity() for job in jobs]
        numbers = stored_numbers(store, self.respondent.name, self.identities)
        self._has_answered = any(map(partial(has_answered, store), numbers))
        self._refused = 0
        self._numbers: dict[int, int] = {}

    @property
    def refused(self) -> int:
        """Number of questions that the server refused for good while it answered others."""
        # one that never answered refuses for other reasons than the question (a key, a missing
        # model), and is asked again
        return self._refused if self._has_answered else 0

    def record(self, job: Job) -> int:
        """Record the administration once; return the respondent's number."""
        # by identity, for jobs hold mappings and have no hash
        if id(job) not in self._numbers:
            number = self.store.respondent(self.respondent.name, job.assignment.identity())
            self._numbers[id(job)] = number
            job.record(self.store, number)
        return self._numbers[id(job)]

    def append(
        self, number: int, run: int, answers: Sequence[tuple[Ask, Response]]
    ) -> list[Response]:
        """Store answers, and return them as they were stored."""
        stored = self.store.append(number, run, answers)
        for response in stored:
            if response.state != "error":
                self._has_answered = True
            elif "final" in response.detail:
                self._refused += 1
        return stored


class _RecordedJobs(_Jobs):
    """The jobs of one recorded respondent, whose answers go into the store without any request."""

    def __init__(self, store: Store, jobs: Sequence[Job]) -> None:
        super().__init__(store, jobs)
        self._stored_digests: dict[int, set[str]] = {}
        for job in jobs:
            # the answers came with a form of this name and other items, which has a record of its
            # own
            if job.stored and not job.todo:
                self.record(job)

    def batches(self) -> Iterator[tuple[Job, Sequence[Response]]]:
        """Store the answers batch by batch; yield each batch as it was stored."""
        for job in self.jobs:
            if not isinstance(job.todo, RecordedTodo) or not job.todo:
                continue
            number = self.record(job)
            run = job.administration.run
            digests = self._stored_digests.setdefault(run, set())
            recorded = job.todo.recorded_answers()
            answers = [pair for pair in recorded if pair[0].digest not in digests]
            for start in range(0, len(answers), _BATCH_SIZE):
                batch = answers[start : start + _BATCH_SIZE]
                stored = self.append(number, run, batch)
                digests.update(question.digest for question, _ in batch)
                yield job, stored

    @property
    def left(self) -> int:
        """The number of answers that are not stored yet."""
        # two jobs may lack the same answer, which is stored once
        keys = set(chain.from_iterable(map(attrgetter("todo"), self.jobs)))
        stored = self._stored_digests
        return sum(digest not in stored.get(run, ()) for digest, run in keys)


Progress = Callable[[Job, int], None]
"""Called with a job and the number of its answers that have just been stored."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of asking: counts of questions and errors, and the respondents that failed."""

    asked: int
    """Questions that got an answer now; those of recorded answers are in `read`."""
    errors: int
    failed: tuple[tuple[str, HQMError], ...]
    left: int = 0
    """Questions left because the user stopped the run or a bound was reached."""
    refused: int = 0
    """Errors that the server caused on purpose (a filter, a length limit); they are not asked
    again.
    """
    states: Mapping[str, int] = field(default_factory=dict)
    """How the answers came out: state -> number."""
    reasons: Mapping[str, int] = field(default_factory=dict)
    """Why answers are errors: reason -> number."""
    read: int = 0
    """Recorded answers that were read from files, for which nobody was asked."""


def sum_outcomes(outcomes: Iterable[Outcome]) -> Outcome:
    """The sum of several outcomes."""
    counts: Counter[str] = Counter()
    states: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    failed: dict[str, HQMError] = {}
    for outcome in outcomes:
        for name in ("asked", "errors", "left", "refused", "read"):
            counts[name] += getattr(outcome, name)
        states.update(outcome.states)
        reasons.update(outcome.reasons)
        failed.update(outcome.failed)
    return Outcome(
        counts["asked"],
        counts["errors"],
        tuple(failed.items()),
        counts["left"],
        counts["refused"],
        states,
        reasons,
        counts["read"],
    )


def administer(
    store: Store,
    jobs: Iterable[Job],
    progress: Progress | None = None,
    *,
    engine: Engine | None = None,
    stop: Stop = never_stop,
    budget: Budget | None = None,
) -> Outcome:
    """Ask every respondent the questions of its jobs; store the answers batch by batch.

    A respondent that cannot go on is given up with its reason; the others are still asked.

    Parameters
    ----------
    engine
        Runs the requests: `hqm.administration.engines.make_engine`; one process of this machine
        unless given.
    budget
        The bounds of requests, tokens and cost; when one is reached, the requests in flight are
        finished and no other is begun.
    stop
        Called after every batch; once true, the batches in progress are finished and stored, and no
        other is begun.

    Returns
    -------
    Outcome
        What was asked and stored, and which respondents were given up, with the reason.
    """
    by_respondent: dict[int, list[Job]] = {}
    for job in jobs:
        by_respondent.setdefault(id(job.assignment.respondent), []).append(job)
    budget = budget or Budget()
    recorded_jobs: list[_RecordedJobs] = []
    live_jobs: list[_LiveJobs] = []
    for respondent_jobs in by_respondent.values():
        if isinstance(respondent_jobs[0].assignment.respondent, RecordedRespondent):
            recorded_jobs.append(_RecordedJobs(store, respondent_jobs))
        else:
            live_jobs.append(_LiveJobs(store, respondent_jobs, budget))
    tally = _Tally(progress or (lambda _job, _count: None))
    for live_job in live_jobs:
        tally.reasons.update(live_job.store_broken())
    n_broken = tally.reasons.total()
    # nobody was asked these: they count as errors, and not among the answers
    tally.states["error"] = n_broken
    # recorded answers come first: they need nobody, and are safe when a server fails
    _store_recorded(recorded_jobs, tally, stop)
    n_recorded = tally.states.total() - n_broken
    failed = _ask_live(live_jobs, engine or make_engine(), tally, stop)
    all_jobs: list[_RecordedJobs | _LiveJobs] = [*recorded_jobs, *live_jobs]
    # what respondents that failed leave unasked is said with their errors
    has_ended_early = stop() or bool(budget.reached)
    return Outcome(
        tally.states.total() - n_broken - n_recorded,
        tally.states["error"],
        failed,
        sum(one_job.left for one_job in all_jobs) if has_ended_early else 0,
        sum(one_job.refused for one_job in all_jobs),
        tally.states,
        tally.reasons,
        n_recorded,
    )


class _Tally:
    """Counts of the stored answers by state, and of errors by reason."""

    def __init__(self, progress: Progress) -> None:
        self.states: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.progress = progress

    def count(self, stored: Sequence[Response]) -> None:
        """Count answers as they were stored."""
        self.states.update(response.outcome for response in stored)
        self.reasons.update(response.reason for response in stored if response.state == "error")


def _store_recorded(recorded_jobs: Sequence[_RecordedJobs], tally: _Tally, stop: Stop) -> None:
    """Store recorded answers, batch by batch, until the user stops."""
    for recorded_job in recorded_jobs:
        if stop():
            return
        for job, stored in recorded_job.batches():
            tally.progress(job, len(stored))
            tally.count(stored)
            if stop():
                return


def _ask_live(
    live_jobs: Sequence[_LiveJobs], engine: Engine, tally: _Tally, stop: Stop
) -> tuple[tuple[str, HQMError], ...]:
    """Ask live respondents, and store their answers; the errors of those that could not go on."""
    failed: dict[int, HQMError] = {}
    requests = [(live_job.respondent, live_job.admitted()) for live_job in live_jobs]
    for index, batch in engine(requests, stop):
        if isinstance(batch, HQMError):
            # the first error says why a respondent was given up
            failed.setdefault(index, batch)
            continue
        counts, stored = live_jobs[index].store_answers(batch)
        for job, count in counts:
            tally.progress(job, count)
        tally.count(stored)
    for live_job in live_jobs:
        live_job.record_complete()
        # a respondent that failed holds the budget of requests that nobody will make
        live_job.give_back()
    return tuple((live_jobs[index].respondent.name, error) for index, error in failed.items())


class _LiveJobs(_Jobs):
    """One respondent's jobs, with each distinct question once, and where each answer is stored."""

    def __init__(self, store: Store, jobs: Sequence[Job], budget: Budget) -> None:
        super().__init__(store, jobs)
        self.budget = budget
        # the same question of two jobs (two benchmarks, two forms) is asked once
        first: dict[tuple[Sampling, Key], tuple[Job, Ask, Request]] = {}
        for job in jobs:
            for key, (question, request) in job.todo.items():
                first.setdefault((request.sampling, key), (job, question, request))
        self.requests = [request for _, _, request in first.values()]
        # an answer is matched to its request by identity: requests are values, and two may be equal
        self._owner = {id(request): (job, question) for job, question, request in first.values()}
        self._holds: dict[int, Hold] = {}
        self._answered: set[tuple[Sampling, Key]] = set()
        self.record_complete()

    @property
    def left(self) -> int:
        """How many requests have no answer yet."""
        return len(self.requests) - len(self._answered)

    def admitted(self) -> list[Request]:
        """Return the requests that the bounds allow. A server checks its own."""
        if give_budget(self.respondent, self.budget, self.store, self.identities):
            return self.requests
        if self.respondent.live and self.budget.bounded:
            admitted, holds = self.budget.admit(self.requests, prices_of(self.respondent))
            self._holds = dict(zip(map(id, admitted), holds, strict=True))
            return admitted
        return self.requests

    def give_back(self) -> None:
        """Return the budget of requests that were admitted and never asked."""
        for hold in self._holds.values():
            self.budget.cancel(hold)
        self._holds = {}

    def record_complete(self) -> None:
        """Record the administrations that are complete, even if all their answers are shared."""
        for job in self.jobs:
            complete = all(
                (request.sampling, key) in self._answered for key, (_, request) in job.todo.items()
            )
            if complete and (job.todo or job.stored) and not job.broken:
                self.record(job)

    def store_broken(self) -> list[str]:
        """Store what cannot be asked as errors, and the hashes of the pictures; return the reasons,
        one for each error.
        """
        for job in self.jobs:
            name = job.assignment.benchmark.name
            # nothing is written where the store knows these pictures, as it does on every run but
            # the first
            new_digests = dict(job.pictures.items() - self.store.images(name).items())
            if new_digests:
                self.store.remember_images(name, new_digests)
            if job.broken:
                answers = [
                    (question, Response("", "error", job.reasons[key]))
                    for key, (question, _) in job.broken.items()
                ]
                self.store.append(self.record(job), job.administration.run, answers)
        reasons: list[str] = []
        for job in self.jobs:
            reasons += map(job.reasons.__getitem__, job.broken)
        return reasons

    def store_answers(
        self, batch: Sequence[tuple[Request, Response]]
    ) -> tuple[list[tuple[Job, int]], list[Response]]:
        """Commit a batch; return how many answers each job got, and the answers as stored."""
        grouped: dict[tuple[int, int], list[tuple[Ask, Response]]] = {}
        counts: dict[int, tuple[Job, int]] = {}
        for request, response in batch:
            job, question = self._owner[id(request)]
            if id(request) in self._holds:
                self.budget.end(self._holds.pop(id(request)), request, response)
            # one transaction for a respondent's run, not one for each answer
            grouped.setdefault((self.record(job), request.run), []).append((question, response))
            self._answered.add((request.sampling, (question.digest, request.run)))
            counts[id(job)] = (job, counts.get(id(job), (job, 0))[1] + 1)
        stored: list[Response] = []
        for (number, run), answers in grouped.items():
            stored += self.append(number, run, answers)
        return list(counts.values()), stored
