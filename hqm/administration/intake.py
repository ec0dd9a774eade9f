"""Recorded answers on their way into the store: nobody is asked, so no request is made for any of
them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hqm.administration.planning import Job, RecordedTodo
from hqm.store.database import Store
from hqm.store.refusals import has_answered
from hqm.types import State

_AT_ONCE = 5000
"""Answers that are committed together."""


class Intake:
    """One recorded respondent's jobs, and the way of their answers into the store."""

    def __init__(self, store: Store, jobs: Sequence[Job]) -> None:
        self.store, self.jobs = store, jobs
        self.respondent = jobs[0].assignment.respondent
        self._taken: dict[int, set[str]] = {}
        known = (
            store.find_respondent(self.respondent.name, job.assignment.identity()) for job in jobs
        )
        self._had_answered = any(
            number is not None and has_answered(store, number) for number in known
        )
        self._refused = 0
        for job in jobs:
            if job.stored and not job.todo:
                self._record(job)

    def batches(self) -> Iterator[tuple[Job, list[State]]]:
        """Store the answers batch by batch: whose they were, and how they came out."""
        for job in self.jobs:
            if not isinstance(job.todo, RecordedTodo) or not job.todo:
                continue
            number, run = self._record(job), job.administration.run
            taken = self._taken.setdefault(run, set())
            given = [pair for pair in job.todo.given() if pair[0].digest not in taken]
            for start in range(0, len(given), _AT_ONCE):
                batch = given[start : start + _AT_ONCE]
                stored = self.store.append(number, run, batch)
                taken.update(asked.digest for asked, _ in batch)
                self._had_answered = self._had_answered or any(
                    response.state != "error" for response in stored
                )
                self._refused += sum(
                    response.state == "error" and "final" in response.detail for response in stored
                )
                yield job, [response.outcome for response in stored]

    @property
    def left(self) -> int:
        """How many answers are not stored yet."""
        return len(
            {
                (digest, run)
                for job in self.jobs
                for digest, run in job.todo
                if digest not in self._taken.get(run, ())
            }
        )

    @property
    def refused(self) -> int:
        """The errors that a server turned away for good while it answered other questions."""
        return self._refused if self._had_answered else 0

    def _record(self, job: Job) -> int:
        """Record that the respondent was put this administration; the respondent's number."""
        number = self.store.respondent(self.respondent.name, job.assignment.identity())
        job.record(self.store, number)
        return number
