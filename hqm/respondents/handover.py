"""How answers go from the workers that ask a server to the caller that stores them.

A worker begins its next request when its answer is stored. Where many requests are in flight, some of the workers go on before
(`spare`), because the caller's thread cannot confirm answers as quickly as they come.
"""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from hqm.respondents.base import Request
from hqm.types import Response

_TURN_SECONDS = 1.0
"""Seconds without an answer after which the caller has a turn."""
_TOGETHER_SECONDS = 0.02
"""Seconds for which an answer may wait for others, where its worker goes on."""
_TOGETHER = 100
"""Answers that are handed over together at most, where many have come."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer on its way to the caller, and what the worker that asked waits for."""

    request: Request
    response: Response
    stored: asyncio.Event
    floor: Floor


def release(answers: Sequence[Answer]) -> None:
    """Say, from the caller's thread, that these answers are stored: the loop is woken once."""
    for floor in {id(answer.floor): answer.floor for answer in answers}.values():
        with suppress(RuntimeError):  # the loop has ended
            floor.loop.call_soon_threadsafe(floor.settle, [answer for answer in answers if answer.floor is floor])


def spare(in_flight: int) -> int:
    """Answers that may be on their way to the store while their workers go on, for so many requests in flight.

    The caller's thread is woken through the operating system and the interpreter's lock, which takes a busy machine longer than
    an answer; waiting for it, many workers do nothing.

    >>> spare(1), spare(16), spare(64), spare(256)
    (0, 0, 48, 240)
    """
    return max(0, in_flight - 16)


@dataclass
class Floor:
    """What the workers of one asking share."""

    done: queue.Queue[Any]
    loop: asyncio.AbstractEventLoop
    limit: Callable[[], int] = lambda: 1
    """The requests that may be in flight."""
    workers: int = 0
    """Workers that ask; each has one request in flight, or an answer that is not stored yet."""
    begin: Callable[[], object] = object
    """Begins another worker."""
    later: asyncio.TimerHandle = field(init=False)
    """What is done where no answer comes."""
    parked: int = 0
    failures: int = 0
    denied: list[tuple[Request, Response]] = field(default_factory=list)
    """Requests answered by 403 before anything else was answered."""
    _unstored: int = 0
    _turn: asyncio.TimerHandle | None = None
    _came: list[Answer] = field(default_factory=list)

    async def hand_over(self, request: Request, response: Response) -> None:
        """Give an answer to the caller, with others that come at about the same time.

        Where more answers than `spare` are on their way to the store, wait until this one is stored.
        """
        stored = asyncio.Event()
        self._unstored += 1
        self._came.append(Answer(request, response, stored, self))
        room = spare(self.limit())
        if self._unstored > room or len(self._came) > room // 4:
            self._pass_on_in(0.0)
        else:
            self._pass_on_in(_TOGETHER_SECONDS)
        if self._unstored > room:
            await stored.wait()

    def _pass_on_in(self, seconds: float) -> None:
        """Pass on what has come, with what else comes until then: the caller's thread is woken once, not once an answer."""
        at = self.loop.time() + seconds
        if self._turn is not None and self._turn.when() <= at:
            return
        if self._turn is not None:
            self._turn.cancel()
        self._turn = self.loop.call_at(at, self.pass_on)

    def pass_on(self) -> None:
        """Give the caller what has come."""
        came, self._came, self._turn = self._came, [], None
        if came:
            self.done.put(came)

    def settle(self, answers: Sequence[Answer]) -> None:
        """These answers are stored."""
        self._unstored -= len(answers)
        for answer in answers:
            answer.stored.set()


def waiting(done: queue.Queue[Any]) -> Iterator[Answer]:
    """The answers that nobody has taken."""
    with suppress(queue.Empty):
        while True:
            came = done.get_nowait()
            if isinstance(came, list):
                yield from came


def batches(done: queue.Queue[Any]) -> Iterator[list[tuple[Request, Response]]]:
    """What has come in, batch by batch, and an empty one where a second brought nothing; released when the caller is back."""
    while True:
        try:
            came = [done.get(timeout=_TURN_SECONDS)]
        except queue.Empty:
            yield []
            continue
        with suppress(queue.Empty):
            while sum(len(part) for part in came if isinstance(part, list)) < _TOGETHER:
                came.append(done.get_nowait())
        answers = [answer for part in came if isinstance(part, list) for answer in part]
        if answers:
            yield [(answer.request, answer.response) for answer in answers]
            release(answers)  # the caller has stored them
        for end in came:
            if isinstance(end, BaseException):
                raise end
            if end is None:
                return
