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
        Its administrations; a request for a form, run and resolution that is not among them is answered by `missing`.
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

    def has(self, request: Request) -> bool:
        """Whether an answer to this request was recorded."""
        return request.item in self._by_cell.get((request.form, request.run, request.resolution), {})

    def answer(self, requests: Sequence[Request]) -> Iterator[list[tuple[Request, Response]]]:
        pairs = [(r, self._by_cell[r.form, r.run, r.resolution][r.item]) for r in requests if self.has(r)]
        for start in range(0, len(pairs), 5000):
            yield pairs[start : start + 5000]

    def close(self) -> None:
        """Nothing is held."""
