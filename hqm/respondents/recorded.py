"""Answers recorded earlier, replayed as a respondent: they take the same way into the store as live
ones.
"""

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
        Its administrations; a request for a form, run and resolution that is not among them is
        answered by `missing`.
    """

    live = False

    def __init__(self, name: str, recordings: Sequence[Recording]) -> None:
        self._name = name
        self._by_cell = {(r.form, r.run, r.resolution): r.answers for r in recordings}

    @property
    def name(self) -> str:
        return self._name

    @property
    def cells(self) -> tuple[tuple[str, int, str], ...]:
        """The forms, runs and resolutions it was recorded in."""
        return tuple(self._by_cell)

    def identity(self) -> Mapping[str, Any]:
        return {"kind": "recorded", "answers": self._digest}

    @cached_property
    def _digest(self) -> str:
        parts = {
            f"{form}#{run}{f'@{scale}' if scale else ''}": digest(
                {key: [r.text, r.state] for key, r in answers.items()}
            )
            for (form, run, scale), answers in self._by_cell.items()
        }
        return digest(parts)

    def answers_in(self, form: str, run: int, resolution: str = "") -> Mapping[str, Response]:
        """Item id -> the answer that was recorded in an administration."""
        return self._by_cell.get((form, run, resolution), {})

    def answer(self, requests: Sequence[Request]) -> Iterator[list[tuple[Request, Response]]]:
        given = ((r, self.answers_in(r.form, r.run, r.resolution).get(r.item)) for r in requests)
        pairs = [(request, response) for request, response in given if response is not None]
        for start in range(0, len(pairs), 5000):
            yield pairs[start : start + 5000]

    def close(self) -> None:
        """Nothing is held."""
