"""How fast a server may be asked: limits a minute, and a pause for everyone when it says that it is
too much.
"""

from __future__ import annotations

import asyncio
import email.utils
import math
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

_TIMES = (("retry-after-ms", 0.001), ("retry-after", 1.0))
"""The headers that say how long to wait, and their unit in seconds."""
_MOST = 600.0
"""Seconds that a server may ask to wait before the request counts as failed."""


@dataclass
class Pace:
    """Lets requests through one after another, no faster than the limits and not before a pause is
    over.

    Parameters
    ----------
    requests_a_minute, tokens_a_minute
        The server's limits; 0 for none. Requests are spread evenly: sixty a minute are one a
        second.
    """

    requests_a_minute: float = 0.0
    tokens_a_minute: float = 0.0
    _next: float = field(default=0.0, init=False)
    _paused_until: float = field(default=0.0, init=False)
    _over: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    """Set when the pause is over before its time."""

    async def turn(self, tokens: int) -> None:
        """Wait for a request's turn; `tokens` is what it will take at most."""
        now = time.monotonic()
        start = max(now, self._next)
        gap = 60.0 / self.requests_a_minute if self.requests_a_minute else 0.0
        if self.tokens_a_minute:
            gap = max(gap, 60.0 * tokens / self.tokens_a_minute)
        self._next = start + gap
        if start > now:
            await asyncio.sleep(start - now)
        await self.resumed()

    async def resumed(self) -> None:
        """Wait until no pause is left."""
        while (left := self._paused_until - time.monotonic()) > 0:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._over.wait(), left)

    def pause(self, seconds: float) -> None:
        """Nobody asks for so long."""
        self._paused_until = max(self._paused_until, time.monotonic() + seconds)
        if self._over.is_set():
            self._over = asyncio.Event()  # one belongs to the loop that has waited for it

    def resume(self) -> None:
        """The pause is over."""
        self._paused_until = 0.0
        self._over.set()


def wanted_pause(headers: Mapping[str, str], attempt: int, first: float = 0.5) -> float | None:
    """Seconds to wait before another attempt: what the server says, else `first`, twice that, ...
    up to sixty times it.

    None when the server wants more than ten minutes: that is a limit a day, not a moment's.

    >>> wanted_pause({"retry-after": "3"}, 0), wanted_pause({}, 2), wanted_pause({"retry-after": "86400"}, 0)
    (3.0, 2.0, None)
    """
    seconds = first * min(2**attempt, 60)
    for name, scale in _TIMES:
        text = headers.get(name)
        if text:
            seconds = _said(text, scale, seconds)
            break
    return None if seconds > _MOST else max(seconds, 0.0)


def says_when(headers: Mapping[str, str]) -> bool:
    """Whether a server says how long to wait.

    >>> says_when({"retry-after": "3"}), says_when({})
    (True, False)
    """
    return any(headers.get(name) for name, _ in _TIMES)


def _said(text: str, scale: float, default: float) -> float:
    """The seconds of a header, which may be a number or a date; `default` where it is neither."""
    try:
        seconds = float(text) * scale
    except ValueError:
        try:
            when = email.utils.parsedate_tz(text)
            seconds = email.utils.mktime_tz(when) - time.time() if when else default
        except (
            ValueError,
            OverflowError,
            TypeError,
            IndexError,
        ):  # the thirtieth of February of the year 99999
            return default
    return default if math.isnan(seconds) else seconds
