"""Answers recorded earlier, replayed as a respondent: they take the same way into the store as live ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from hqm.benchmark.recorded import Recording
from hqm.respondents.base import Request
from hqm.signature import digest
from hqm.types import Response


class RecordedRespondent:
    """One respondent of a file of recorded answers.

    Parameters
    ----------
    name
        Its name in tables.
    recordings
        Its administrations; a request for a form and run that is not among them is answered by `missing`.
    """

    live = False

    def __init__(self, name: str, recordings: Sequence[Recording]) -> None:
        self._name = name
        self._by_cell = {(r.form, r.run): r.answers for r in recordings}

    @property
    def name(self) -> str:
        return self._name

    @property
    def cells(self) -> tuple[tuple[str, int], ...]:
        """The forms and runs it was recorded in."""
        return tuple(self._by_cell)

    def identity(self) -> Mapping[str, Any]:
        return {"kind": "recorded", "answers": self._digest}

    @cached_property
    def _digest(self) -> str:
        parts = {
            f"{form}#{run}": digest({key: [r.text, r.state] for key, r in answers.items()})
            for (form, run), answers in self._by_cell.items()
        }
        return digest(parts)

    def answers_in(self, form: str, run: int) -> Mapping[str, Response]:
        """Item id -> the answer that was recorded in an administration."""
        return self._by_cell.get((form, run), {})

    def answer(self, requests: Sequence[Request]) -> Iterator[list[tuple[Request, Response]]]:
        given = ((request, self.answers_in(request.form, request.run).get(request.item)) for request in requests)
        pairs = [(request, response) for request, response in given if response is not None]
        for start in range(0, len(pairs), 5000):
            yield pairs[start : start + 5000]

    def close(self) -> None:
        """Nothing is held."""
