"""How answers go from the workers that ask a server to the caller that stores them.

A worker begins its next request when its answer is stored. Answers that come at about the same time
are handed over together, because waking the other thread takes a busy machine longer than an
answer.
"""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from hqm.respondents.base import Request
from hqm.types import Response

_TURN_SECONDS = 1.0
"""Seconds without an answer after which the caller has a turn."""
_TOGETHER = 100
"""Answers that are handed over together at most, where many have come."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer on its way to the caller, and what the worker that asked waits for."""

    request: Request
    response: Response
    stored: asyncio.Future[None]
    loop: asyncio.AbstractEventLoop


Done = queue.SimpleQueue[list[Answer] | BaseException | None]
"""What the workers hand over: answers, in the end None, or what ended them."""


def release(answers: Sequence[Answer]) -> None:
    """Say, from the caller's thread, that these answers are stored: every loop is woken once."""
    for loop in {answer.loop for answer in answers}:
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(
                _set, [answer.stored for answer in answers if answer.loop is loop]
            )


def _set(stored: Sequence[asyncio.Future[None]]) -> None:
    for each in stored:
        if not each.done():  # its worker was ended
            each.set_result(None)


@dataclass
class Floor:
    """What the workers of one asking share."""

    done: Done
    loop: asyncio.AbstractEventLoop
    workers: int = 0
    """Workers that ask; each has one request in flight, or an answer that is not stored yet."""
    begin: Callable[[], object] = object
    """Begins another worker."""
    later: asyncio.TimerHandle = field(init=False)
    """What is done where no answer comes."""
    asleep: int = 0
    """Workers that wait before they ask once more."""
    parked: int = 0
    failures: int = 0
    denied: list[tuple[Request, Response]] = field(default_factory=list)
    """Requests answered by 403 before anything else was answered."""
    _came: list[Answer] = field(default_factory=list)

    @property
    def active(self) -> int:
        """Workers that are in flight or about to be; where some sleep, as many others may ask when
        an answer comes.
        """
        return self.workers - self.asleep

    async def hand_over(self, request: Request, response: Response) -> None:
        """Give an answer to the caller, with the others that this turn of the loop brings, and wait
        until it is stored.
        """
        stored = self.loop.create_future()
        self._came.append(Answer(request, response, stored, self.loop))
        if len(self._came) == 1:
            self.loop.call_soon(self.pass_on)
        await stored

    def pass_on(self) -> None:
        """Give the caller what has come."""
        came, self._came = self._came, []
        if came:
            self.done.put(came)


def waiting(done: Done) -> Iterator[Answer]:
    """The answers that nobody has taken."""
    with suppress(queue.Empty):
        while True:
            came = done.get_nowait()
            if isinstance(came, list):
                yield from came


def batches(done: Done) -> Iterator[list[tuple[Request, Response]]]:
    """What has come in, batch by batch, and an empty one where a second brought nothing; released
    when the caller is back.
    """
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
