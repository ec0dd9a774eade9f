"""Limits of asking a server: rates, pauses, requests in flight, and the budget of a command."""

from __future__ import annotations

import asyncio
import email.utils
import math
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from hqm.imports.row import is_token_count
from hqm.respondents.base import Request
from hqm.types import Response

_PAUSE_HEADERS = (("retry-after-ms", 0.001), ("retry-after", 1.0))
"""The headers that say how long to wait, and their unit in seconds."""
_MAX_PAUSE = 600.0
"""Seconds that a server may ask to wait before the request counts as failed."""


@dataclass
class Pace:
    """Pass requests one by one, within the rate limits and outside pauses.

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
    _resumed: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    """Set when the pause is over before its time."""

    async def turn(self, tokens: int) -> None:
        """Wait for a request's turn; `tokens` is the most that it will use."""
        now_seconds = time.monotonic()
        start = max(now_seconds, self._next)
        gap = 60.0 / self.requests_a_minute if self.requests_a_minute else 0.0
        if self.tokens_a_minute:
            gap = max(gap, 60.0 * tokens / self.tokens_a_minute)
        self._next = start + gap
        if start > now_seconds:
            await asyncio.sleep(start - now_seconds)
        if self._paused_until > now_seconds:
            await self.resumed()

    async def resumed(self) -> None:
        """Wait until no pause is left."""
        while (left := self._paused_until - time.monotonic()) > 0:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._resumed.wait(), left)

    def pause(self, seconds: float) -> None:
        """Send no request for so many seconds."""
        self._paused_until = max(self._paused_until, time.monotonic() + seconds)
        if self._resumed.is_set():
            self._resumed = asyncio.Event()  # an event belongs to the loop that has waited for it

    def resume(self) -> None:
        """End the pause."""
        self._paused_until = 0.0
        self._resumed.set()


def wanted_pause(headers: Mapping[str, str], attempt: int, first: float = 0.5) -> float | None:
    """Seconds to wait before another attempt: the server's, else `first`, doubled up to 60 times
    it.

    None where the server asks for more than ten minutes, which is a daily limit.

    >>> wanted_pause({"retry-after": "3"}, 0), wanted_pause({}, 2)
    (3.0, 2.0)
    >>> wanted_pause({"retry-after": "86400"}, 0) is None
    True
    """
    seconds = first * min(2**attempt, 60)
    for name, scale in _PAUSE_HEADERS:
        text = headers.get(name)
        # 0, or a date that is over by this machine's clock, would use up all attempts at once.
        if text and (pause := _seconds_in(text, scale)) > 0:
            seconds = pause
            break
    return None if seconds > _MAX_PAUSE else seconds


def says_when(headers: Mapping[str, str]) -> bool:
    """Whether a server says how long to wait.

    >>> says_when({"retry-after": "3"}), says_when({})
    (True, False)
    """
    return any(headers.get(name) for name, _ in _PAUSE_HEADERS)


def _seconds_in(text: str, scale: float) -> float:
    """The seconds of a header, which may be a number or a date; 0 where it is neither."""
    try:
        return float(text) * scale
    except ValueError:
        pass
    try:
        date = email.utils.parsedate_tz(text)
        return email.utils.mktime_tz(date) - time.time() if date else 0.0
    except (ValueError, OverflowError, TypeError, IndexError):
        return 0.0  # no date, such as the thirtieth of February


# The number of requests in flight at a server: as many as raise the answers a second, and half as
# many after a refusal.
#
# Answers a second are requests in flight divided by their latency. While latency stays the same,
# twice the requests bring twice the answers; once they wait in the server's queue, latency grows
# as much as they do and nothing is gained. So the number in flight is judged by what it brings,
# which holds too for a server that answers many at once and each a little slower.
#
# The first answer says how long one takes. As many requests follow at once as even a server that
# answers one after another would answer within a second and a half: a start beyond a few is what
# RFC 6928 and RFC 4782 (Quick-Start) permit TCP, where it cannot do harm. From then on every answer
# adds a request in flight, so that their number doubles with each round (slow start), until two
# rounds hardly bring more answers a second; where the first round took three times as long as the
# first answer, a queue has formed, as RFC 9406 (HyStart++) has it, and the next must bring much.
# Later a larger or a smaller number is tried now and then and kept where it is the better bargain.
#
# 429, 503 and a timeout halve the number, once for all requests that were in flight together, and
# down to a quarter while requests that were asked before are answered and new ones are not. Then
# three quarters of what was too much come back with the next answers, and half of what is left
# with each further round. What was too much is tried again after as many quiet rounds as it was
# found to be too much, and where it no longer is, the number doubles as at first. A server that
# turns everything away, also what was asked after it said stop, is asked by a few requests until
# it answers one; the number is then what it was. The first requests of all say nothing of a
# number when they are turned away: a few of them change nothing, and many halve nothing.
#
# Some servers refuse a request now and then, whatever the number is. So refusals that are scattered
# among answers lower nothing as long as they are few, and the number goes on as if they had not
# been: if it is to blame, their share rises with it at once, because a server that is full refuses
# whatever is added. A share that a whole window had is the server's habit, and only clearly more
# than that lowers the number. Close to a number that was too much, a refusal is believed at once.
#
# The idea of adapting a limit by latency and queue is that of TCP congestion control (V.
# Jacobson, 1988, Congestion avoidance and control; L. Brakmo and L. Peterson, 1995, TCP Vegas;
# RFC 5681 for slow start).

FIRST = 8
"""Requests in flight at first."""
_MAX_UNANSWERED = 128
"""Requests in flight at most before the first answer has come: they double while it does not."""
_START_SECONDS = 1.5
"""Seconds in which even a server that answers one request after another has answered all that the
first answer adds.
"""
_MAX_QUEUE = 3.0
"""Times the latency of the first answer from which the others are taken to wait in a queue."""
_ELASTICITY = 0.25
"""A larger number in flight is kept if the rate grows at least as this power of the number."""
_MIN_GAIN = 1.05
"""Ratio of two rates from which the difference is more than chance."""
_STEP = 1.5
"""Factor by which the number is raised or lowered for a trial."""
_REST_WINDOWS = 4
"""Windows between two trials when the last one brought nothing."""
_MAX_PROBES = 8
"""Requests in flight at most at a server that turns everything away."""
_MAX_CALM_ROUNDS = 16
"""Rounds at most after which a number that was too large is tried again."""
_MIN_WINDOW = 32
"""Answers in a window, at least."""
_MAX_HABIT = 0.25
"""The largest share of refusals that may be unrelated to the number."""
_NEAR_CEILING = 0.75
"""Share of a number that was too large, from which a refusal means that it still is."""


class Concurrency:
    """The number of requests that may be in flight, adapted to the server.

    Times are given by the caller, in seconds of any one clock.

    Parameters
    ----------
    first
        Requests in flight at first.
    maximum
        The number that is never exceeded; where it is not larger than `first`, the number stays
        fixed.

    Examples
    --------
    >>> concurrency = Concurrency(8, 256)
    >>> concurrency.begin(0.0)
    >>> for _ in range(8):
    ...     _ = concurrency.answered(began=0.0, timestamp=1.0)
    >>> concurrency.limit
    16
    >>> any(concurrency.refused(began=1.0, timestamp=1.1) for _ in range(3)), concurrency.limit
    (False, 16)
    >>> any(concurrency.refused(began=1.0, timestamp=1.1) for _ in range(5)), concurrency.limit
    (False, 8)
    >>> any(concurrency.refused(began=1.1, timestamp=1.2) for _ in range(8))
    True
    """

    def __init__(self, first: int, maximum: int) -> None:
        self.limit = min(first, maximum)
        self.maximum = maximum
        self.adapts = maximum > first
        self.busy = 0
        """Attempts in flight now."""
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._aim: float = maximum if self.adapts else first
        """The number up to which every answer adds a request in flight; 0 when that is over."""
        self._ceiling: float = math.inf
        """The number that was too much when the server last said so."""
        self._known: float = math.inf
        """The same, kept where that number was reached again without a refusal."""
        self._calm = 1
        """The rounds without a refusal after which what was too much is tried again."""
        self._halved = -math.inf
        self._in_burst = False
        """Whether nothing that was asked since then is answered."""
        self._came = False
        """Whether anything is answered since then, whenever it was asked."""
        self._shut = math.inf
        """When the last request was sent to a server that turns everything away."""
        self._after = 0
        """The number that is gone back to when that server answers again."""
        self._answered = False
        self._first_latency = 0.0
        """Seconds of the first answer, until the round that it began is judged."""
        self._again = False
        """Whether a round that brought no more is repeated, before the number stops doubling."""
        self._kept: tuple[int, float] | None = None
        """The number that was last found good and its answers a second."""
        self._habit = 0.0
        """The share of requests that the server refuses whatever the number is."""
        self._before = self._asked = self._scattered = 0
        """Requests of this window before and since its first refusal, and refusals since."""
        self._lowered: tuple[int, float] | None = None
        """The number before it was lowered, and the share of refusals at it."""
        self._up = True
        self._quiet = 0
        self._since = 0.0
        self._skip = 0
        self._count = 0
        self._wanted = self.limit

    # --- what the server does ---

    def begin(self, timestamp: float) -> None:
        """Begin a series of requests; the time without requests does not count."""
        self.busy = 0
        self._waiting.clear()
        if self._aim:
            self._open(timestamp, skip=0)
        else:
            self._settle(self.limit, skip=self.limit)

    def unanswered(self) -> bool:
        """Allow more requests while the first answer is slow; False if no more are allowed."""
        if (
            self._answered
            or not self.adapts
            or not self._aim
            or self.limit >= min(_MAX_UNANSWERED, self.maximum)
        ):
            return False
        self._change(min(2 * self.limit, _MAX_UNANSWERED, self.maximum))
        return True

    def answered(self, began: float, timestamp: float) -> bool:
        """Count an answer that came while requests waited; True if a closed server reopened.

        An answer to a request that was sent before the number was halved says nothing about it.
        """
        if not self._answered:
            self._start(timestamp - began, timestamp)
        self._answered = self._came = True
        self._count_asked()
        has_reopened = began >= self._shut
        if has_reopened:
            self._shut = math.inf
            self._change(max(self.limit, self._after))
            self._after = 0
        if began >= self._halved:
            self._in_burst = False
            if self.adapts:
                self._count_in(timestamp)
        return has_reopened

    def _start(self, latency: float, timestamp: float) -> None:
        """Allow as many requests as the latency of the first answer makes harmless."""
        # half of the maximum, so that a second round shows whether more in flight bring more
        limit = min(int(_START_SECONDS / max(latency, 1e-6)), int(self._aim) // 2)
        if self.adapts and limit > self.limit and not self._in_burst:
            self._first_latency = latency
            self._change(limit)
            self._open(timestamp, skip=0)

    def _count_in(self, timestamp: float) -> None:
        """Count an answer, and judge the number where a round or a window is full."""
        if self._aim and not self._again and self._lowered is None:
            self._change(min(self.limit + 1, int(self._aim)))
        if self._skip:
            self._skip -= 1
            self._since = timestamp
            return
        self._count += 1
        if self._count >= self._wanted:
            rate = self._count / max(timestamp - self._since, 1e-6)
            if self._aim:
                self._round(timestamp, rate)
            else:
                self._window(timestamp, rate)

    def refused(self, began: float, timestamp: float) -> bool:
        """Count a refusal or a timeout; True if the server refuses everything.

        It does if this request was sent after its last refusal, and nothing was answered since.
        """
        if began < self._halved:
            return False
        self._count_asked(refusals=1)
        burst = self._in_burst and self._lowered is None
        if self.adapts and not burst and self._scattered <= self._tolerated():
            return False
        if self._in_burst and not self._came:
            self._shut = began
            self._halved = timestamp
            self._after = max(self._after, self.limit)
            # a closed server says nothing of the share that it refuses when it is open
            self._asked = self._scattered = self._before = 0
            if self.adapts:
                self._change(min(self.limit, _MAX_PROBES))
            return True
        lowered = not self.adapts or self._lower(timestamp)
        self._asked = self._scattered = self._before = 0
        if lowered:
            self._halved = timestamp
            self._in_burst = True
            self._came = False
        return False

    def _count_asked(self, refusals: int = 0) -> None:
        """Count a request; judge the refusals of a window that is full."""
        if refusals and not self._scattered and self._lowered is None:
            self._before = self._asked
            self._asked = 0
        self._asked += 1
        self._scattered += refusals
        if self._asked <= 2 * max(self.limit, _MIN_WINDOW):
            return
        share = self._scattered / self._asked
        self._asked = self._scattered = self._before = 0
        if self._lowered is not None:
            limit, before = self._lowered
            self._lowered = None
            if before / 4 < share <= _MAX_HABIT:
                self._habit = max(self._habit, share)
                self._ceiling = self._known = math.inf
                self._in_burst = False
                self._settle(max(limit, self.limit), skip=limit)
        elif self.limit < _NEAR_CEILING * self._known:
            self._habit = min((self._habit + share) / 2 if self._habit else share, _MAX_HABIT)

    def _tolerated(self) -> float:
        """The refusals of this window that may be unrelated to the number."""
        # a refusal comes sooner than the answers asked with it
        n_requests = self._asked + self.limit
        share = 3 * self._habit
        if self._lowered is not None or self.limit < _NEAR_CEILING * self._known:
            # a small habit was seen in few requests, and permits no less than an unknown one
            share = max(share, _MAX_HABIT / 2)
        if share:
            return 3 + share * n_requests
        return 0.0

    def _lower(self, timestamp: float) -> bool:
        """Halve the number; False if it is low enough for this burst of refusals."""
        if not self._answered:
            # what is said to the very first requests says not how many are too much
            self._change(min(self.limit, FIRST))
            return True
        if not self._in_burst or math.isinf(self._ceiling):
            if self.limit <= 1.25 * self._known < math.inf:
                self._calm = min(2 * self._calm, _MAX_CALM_ROUNDS)
            else:
                self._calm = 1
            n_requests = self._before + self._asked
            doubtful = 0 < self._scattered <= 2 * _MAX_HABIT * n_requests
            doubtful = doubtful and self._calm <= _MAX_CALM_ROUNDS // 4
            if doubtful:
                self._lowered = (self.limit, self._scattered / n_requests)
            else:
                self._lowered = None
            # a refusal of fewer than were known to be too much may have other reasons
            if math.isinf(self._ceiling):
                higher = self.limit
            else:
                higher = max(self.limit, int(self._ceiling))
            self._ceiling = self._known = (self.limit + higher) // 2
            self._aim = max(1, math.floor(0.75 * self._ceiling))
        elif self.limit <= max(1, self._ceiling // 4):
            return False
        self._kept = None
        self._again = False
        self._quiet = 0
        self._change(max(1, int(self._ceiling) // 4, self.limit // 2))
        self._open(timestamp, skip=0)
        return True

    # --- the number ---

    def _open(self, timestamp: float, skip: int) -> None:
        """Begin a window; its first `skip` answers belong to requests under another number."""
        self._since = timestamp
        self._skip = skip
        self._count = 0
        if self.limit + 1 >= self._ceiling:
            self._wanted = self._calm * max(self.limit, _MIN_WINDOW // 8)
        else:  # on the way back to what was too much nothing is judged
            if self._aim or self._ceiling < math.inf:
                self._wanted = self.limit
            else:
                self._wanted = max(2 * self.limit, _MIN_WINDOW)

    def _settle(self, limit: int, skip: int) -> None:
        """Judge by windows from now on, beginning at this number."""
        self._aim = 0
        self._kept = None
        self._change(limit)
        self._open(0.0, skip=max(skip, 1))

    def _round(self, timestamp: float, rate: float) -> None:
        """Judge a round while the number doubles: go on as long as the rate grows."""
        if (
            math.isinf(self._ceiling)
            and self._kept is not None
            and not _is_worth(self._wanted, rate, *self._kept)
        ):
            if not self._again:
                self._again = True
                self._open(timestamp, skip=0)
                return
            base, base_rate = self._kept
            self._settle(
                base if rate < _MIN_GAIN * base_rate else min(2 * base, self.limit), skip=self.limit
            )
        elif self.limit >= self._aim and not self._first_latency:
            self._settle(self.limit, skip=self.limit if math.isinf(self._ceiling) else 1)
        else:
            self._kept = (self._wanted, rate)
            self._again = False
            # Little's law: so many in flight have this rate where none of them waits
            n_served = int(rate * self._first_latency)
            if 0 < n_served < self._wanted / _MAX_QUEUE:
                self._kept = (n_served, rate)
            self._first_latency = 0.0
            self._open(timestamp, skip=0)

    def _window(self, timestamp: float, rate: float) -> None:
        """Judge a window: keep or undo a trial, or begin the next."""
        limit_before = self.limit
        trial = (self.limit, rate)
        if (
            self._kept is not None
            and self._kept[0] != self.limit
            and not _is_worth(*trial, *self._kept)
        ):
            self._change(self._kept[0])  # the trial brought nothing
            self._up = not self._up
            self._quiet = _REST_WINDOWS
            self._kept = None
        elif math.ceil(_STEP * self.limit) >= self._ceiling:
            self._climb()
            limit_before = self.limit
        else:
            self._kept = trial
            if self._quiet:
                self._quiet -= 1
            else:
                self._try()
        self._open(
            timestamp, skip=max(limit_before, self.limit) if self.limit != limit_before else 0
        )

    def _climb(self) -> None:
        """Go half of the way to the number that was too large; double beyond it."""
        larger = self.limit + max(1, (int(self._ceiling) - self.limit) // 2)
        if larger > self._ceiling:
            self._ceiling = math.inf
            self._aim = self.maximum
        self._kept = None
        self._change(min(larger, self.maximum))

    def _try(self) -> None:
        """Try another number in the next window."""
        larger = min(max(math.ceil(_STEP * self.limit), self.limit + 1), self.maximum)
        smaller = max(math.floor(self.limit / _STEP), 1)
        if (larger if self._up else smaller) == self.limit:
            self._up = not self._up
            self._quiet = _REST_WINDOWS
        else:
            self._change(larger if self._up else smaller)

    def _change(self, limit: int) -> None:
        self.limit = limit
        self._wake()

    # --- attempts ---

    async def enter(self, *, immediately: bool = False) -> None:
        """Wait until another attempt may be in flight, unless it may begin `immediately`."""
        while self.busy >= self.limit and not immediately:
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn
        self.busy += 1

    def leave(self) -> None:
        """End an attempt."""
        self.busy -= 1
        self._wake()

    def _wake(self) -> None:
        n_free = self.limit - self.busy
        while n_free > 0 and self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                n_free -= 1


def _is_worth(limit: int, rate: float, base: int, base_rate: float) -> bool:
    """Whether a number in flight raises the rate enough over that of another number.

    >>> _is_worth(16, 190.0, 8, 100.0), _is_worth(16, 110.0, 8, 100.0)
    (True, False)
    """
    return rate >= base_rate * math.pow(limit / base, _ELASTICITY)


# The budget of one command: requests, tokens and money, over all its respondents and judges.
#
# A request is sent only if the amounts spent, reserved for the requests in flight, and needed by it
# at most stay within the bounds together. Tokens that a server does not count are estimated.

PICTURE_TOKENS = 576
"""Tokens of a picture where nothing else is known: those of LLaVA-1.5."""
CHARACTERS_A_TOKEN = 4
_ROUNDING = 1e-9
"""The share of a sum of prices that may be due to rounding."""

Prices = tuple[float, float]
"""Money per million tokens read and written."""


def tokens_in(request: Request) -> int:
    """The estimated tokens of a request that no server has counted."""
    return len(request.prompt) // CHARACTERS_A_TOKEN + (PICTURE_TOKENS if request.image else 0)


def price(tokens_read: float, tokens_written: float, prices: Prices | None) -> float:
    """The cost of tokens; zero where there are no prices.

    >>> price(1_000_000, 100_000, (3.0, 15.0))
    4.5
    """
    if prices:
        return (tokens_read * prices[0] + tokens_written * prices[1]) / 1e6
    return 0.0


class Hold(NamedTuple):
    """The budget reserved for a request in flight: its most tokens, and their price."""

    tokens_in: int
    tokens_out: int
    prices: Prices | None


@dataclass
class Budget:
    """The bounds of one command, and what it has spent so far.

    Examples
    --------
    >>> budget = Budget(max_requests=1)
    >>> from hqm.respondents.base import Request, Sampling
    >>> request = Request("Is it red?", None, Sampling(), 0)
    >>> budget.begin(request, None) is None, budget.begin(request, None) is None, budget.reached
    (False, True, '--max-requests 1')
    """

    max_requests: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    prices: Prices | None = None
    """The prices of every respondent, in place of its own."""
    requests: int = field(default=0, init=False)
    tokens: int = field(default=0, init=False)
    cost: float = field(default=0.0, init=False)
    reached: str = field(default="", init=False)
    """The option whose bound ended the asking; empty while none did."""
    _held_tokens: int = field(default=0, init=False)
    _held_cost: float = field(default=0.0, init=False)
    _largest: int = field(default=0, init=False)
    """The most tokens that a request was seen to take beyond the estimate of its text and the limit
    of its answer.
    """

    @property
    def bounded(self) -> bool:
        """Whether there is any bound."""
        return (self.max_requests, self.max_tokens, self.max_cost) != (None, None, None)

    @property
    def is_hopeless(self) -> bool:
        """Whether no request was begun because one of an earlier run took more than is allowed."""
        return not self.requests and self._largest > 0

    def begin(self, request: Request, prices: Prices | None) -> Hold | None:
        """Reserve the budget of a request; None if the bounds do not allow it.

        A bound is `reached` if the amount spent leaves too little. If only the reservations for
        requests in flight do, there may be enough again when they have ended.
        """
        prices = self.prices or prices
        hold = Hold(tokens_in(request) + self._largest, request.sampling.max_tokens, prices)
        tokens = hold.tokens_in + hold.tokens_out
        cost = price(hold.tokens_in, hold.tokens_out, prices)
        if self.max_requests is not None and self.requests + 1 > self.max_requests:
            self.reached = f"--max-requests {self.max_requests}"
        elif self.max_tokens is not None and self.tokens + tokens > self.max_tokens:
            self.reached = f"--max-tokens-total {self.max_tokens}"
        elif self.max_cost is not None and self.cost + cost > self.max_cost:
            self.reached = f"--max-cost {self.max_cost:g}"
        held_tokens = self._held_tokens + tokens
        held_cost = self._held_cost + cost
        is_reserved = (
            self.max_tokens is not None and self.tokens + held_tokens > self.max_tokens
        ) or (self.max_cost is not None and self.cost + held_cost > self.max_cost)
        if self.reached or is_reserved:
            return None
        self.requests += 1
        self._held_tokens = held_tokens
        self._held_cost = held_cost
        return hold

    def expect(self, excess: int) -> None:
        """Assume that requests use so many tokens beyond their estimate, as one did before."""
        self._largest = max(self._largest, excess)

    def admit(
        self, requests: Sequence[Request], prices: Prices | None
    ) -> tuple[list[Request], list[Hold]]:
        """Return as many of the first requests as fit the budget, with their reservations."""
        holds: list[Hold] = []
        for request in requests:
            hold = self.begin(request, prices)
            if hold is None:
                self.reached = self.reached or (
                    f"--max-tokens-total {self.max_tokens}"
                    if self.max_tokens is not None
                    else f"--max-cost {self.max_cost:g}"
                )
                break
            holds.append(hold)
        return list(requests[: len(holds)]), holds

    def end(self, hold: Hold, request: Request, response: Response) -> None:
        """Replace a request's reservation by its actual use.

        A refused request used nothing; one whose connection broke off may have been read, and one
        that timed out may be answered up to its limit all the same.
        """
        self._release(hold)
        estimate = tokens_in(request)
        n_read = _counted(response.detail, "tokens_in")
        n_written = _counted(response.detail, "tokens_out")
        n_read = estimate if n_read is None else n_read
        if n_written is None:
            reasoned = _counted(response.detail, "tokens_reasoning") or 0
            n_written = len(response.text) // CHARACTERS_A_TOKEN + reasoned
        if "timed_out" in response.detail:
            n_written = request.sampling.max_tokens
        if "status" in response.detail:
            n_read = n_written = 0
        self.expect(n_read - estimate + max(0, n_written - request.sampling.max_tokens))
        self.tokens += n_read + n_written
        self.cost += price(n_read, n_written, hold.prices)
        if self.max_tokens is not None and self.tokens > self.max_tokens:
            self.reached = f"--max-tokens-total {self.max_tokens}"
        elif self.max_cost is not None and self.cost > self.max_cost * (1 + _ROUNDING):
            self.reached = f"--max-cost {self.max_cost:g}"

    def cancel(self, hold: Hold) -> None:
        """Cancel the reservation of a request that was never sent."""
        self._release(hold)
        self.requests -= 1

    def _release(self, hold: Hold) -> None:
        self._held_tokens -= hold.tokens_in + hold.tokens_out
        self._held_cost -= price(hold.tokens_in, hold.tokens_out, hold.prices)

    def spent(self) -> str:
        """The amounts spent, as part of a sentence."""
        if self.cost or self.max_cost is not None:
            money = f" at a price of {self.cost:.4f}"
        else:
            money = ""
        usage = f"{self.requests:,} requests and {self.tokens:,} tokens{money}"
        if not self.is_hopeless:
            return usage
        excess = f"{self._largest:,} tokens more than its text and its limit have"
        return f"{usage}, because a request of an earlier run took {excess}"


def _counted(detail: Mapping[str, object], name: str) -> int | None:
    count = detail.get(name)
    if is_token_count(count):
        return count
    return None
