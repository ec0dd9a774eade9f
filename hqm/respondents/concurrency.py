"""How many requests are in flight at a server: as many as bring more answers a second, and half as
many when it says stop.

Answers a second are requests in flight divided by their latency. While latency stays the same,
twice the requests bring twice the answers; once they wait in the server's queue, latency grows as
much as they do and nothing is gained. So the number in flight is judged by what it brings, which
holds too for a server that answers many at once and each a little slower.

At first every answer adds a request in flight, so that their number doubles with each round, until
two rounds hardly bring more answers a second. From then on a larger or a smaller number is tried
now and then and kept where it is the better bargain.

429, 503 and a timeout halve the number, once for all requests that were in flight together, and
down to a quarter while requests that were asked before are answered and new ones are not. Then
three quarters of what was too much come back with the next answers, and half of what is left with
each further round. What was too much is tried again after as many quiet rounds as it was found to
be too much, and where it no longer is, the number doubles as at first. A server that turns
everything away, also what was asked after it said stop, is asked by a few requests until it answers
one; the number is then what it was. The first requests of all say nothing of a number when they are
turned away, and are not halved.

The idea of adapting a limit by latency and queue is that of TCP congestion control (V. Jacobson,
1988, Congestion avoidance and control; L. Brakmo and L. Peterson, 1995, TCP Vegas).
"""

from __future__ import annotations

import asyncio
import math
from collections import deque

FIRST = 8
"""Requests in flight at first."""
_UNANSWERED = 32
"""Requests in flight at most before the first answer has come: they double while it does not."""
_ELASTICITY = 0.25
"""A number in flight is worth keeping where the rate grows at least as this power of it."""
_MORE = 1.05
"""A rate that is so much higher is more than chance."""
_STEP = 1.5
"""By how much a number is raised or lowered for a trial."""
_REST = 4
"""Windows between two trials when the last one brought nothing."""
_PROBES = 8
"""Requests in flight at most at a server that turns everything away."""
_CALMEST = 16
"""Rounds after which what was too much is tried again, at most."""
_FEWEST = 32
"""Answers in a window at least."""


class Concurrency:
    """The number of requests that may be in flight, which follows what the server does.

    Times are given by the caller, in seconds of any one clock.

    Parameters
    ----------
    first
        Requests in flight at first.
    most
        The number that is never exceeded; where it is not larger than `first`, the number stays
        fixed.

    Examples
    --------
    >>> concurrency = Concurrency(8, 256)
    >>> concurrency.begin(0.0)
    >>> for _ in range(8):
    ...     _ = concurrency.answered(began=0.0, at=0.1)
    >>> concurrency.limit
    16
    >>> concurrency.refused(began=0.1, at=0.2), concurrency.refused(began=0.1, at=0.2)  # they were in flight together
    (False, False)
    >>> concurrency.limit
    8
    >>> concurrency.refused(began=0.2, at=0.3)  # nothing was answered meanwhile: everything is turned away
    True
    """

    def __init__(self, first: int, most: int) -> None:
        self.limit, self.most = min(first, most), most
        self.adapts = most > first
        self.busy = 0
        """Attempts in flight now."""
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._aim: float = most if self.adapts else first
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
        self._again = False
        """Whether a round that brought no more is repeated, before the number stops doubling."""
        self._kept: tuple[int, float] | None = None
        """The number that was last found good and its answers a second."""
        self._up = True
        self._quiet = 0
        self._since, self._skip, self._count, self._wanted = 0.0, 0, 0, self.limit

    # --- what the server does ---

    def begin(self, at: float) -> None:
        """A new series of requests begins; time in which nothing was asked does not count."""
        self.busy = 0
        self._waiting.clear()
        if self._aim:
            self._open(at, skip=0)
        else:
            self._settle(self.limit, skip=self.limit)

    def unanswered(self) -> bool:
        """The server takes its time for the first answer: allow more in the meantime; False when no
        more is allowed.
        """
        if (
            self._answered
            or not self.adapts
            or not self._aim
            or self.limit >= min(_UNANSWERED, self.most)
        ):
            return False
        self._change(min(2 * self.limit, _UNANSWERED, self.most))
        return True

    def answered(self, began: float, at: float) -> bool:
        """An answer came while there was more to ask; one that was asked for before the number was
        halved says nothing.

        Whether a server that turned everything away answers again.
        """
        self._answered = self._came = True
        again = began >= self._shut
        if again:
            self._shut = math.inf
            self._change(max(self.limit, self._after))
            self._after = 0
        if began >= self._halved:
            self._in_burst = False
            if self.adapts:
                self._count_in(at)
        return again

    def _count_in(self, at: float) -> None:
        """Count an answer, and judge the number where a round or a window is full."""
        if self._aim and not self._again:
            self._change(min(self.limit + 1, int(self._aim)))
        if self._skip:
            self._skip -= 1
            self._since = at
            return
        self._count += 1
        if self._count >= self._wanted:
            rate = self._count / max(at - self._since, 1e-6)
            if self._aim:
                self._round(at, rate)
            else:
                self._window(at, rate)

    def refused(self, began: float, at: float) -> bool:
        """The server said that it is too much, or kept a request waiting for too long.

        Whether it turns everything away: this was asked after it last said so, and nothing was
        answered since.
        """
        if began < self._halved:
            return False
        if self._in_burst and not self._came:
            self._shut, self._halved, self._after = began, at, max(self._after, self.limit)
            if self.adapts:
                self._change(min(self.limit, _PROBES))
            return True
        if not self.adapts or self._lower(at):
            self._halved, self._in_burst, self._came = at, True, False
        return False

    def _lower(self, at: float) -> bool:
        """Halve the number; False where it is low enough for this burst of refusals."""
        if (
            not self._answered
        ):  # what is said to the very first requests says not how many are too much
            self._change(min(self.limit, FIRST))
            return True
        if not self._in_burst or math.isinf(self._ceiling):
            self._calm = (
                min(2 * self._calm, _CALMEST) if self.limit <= 1.25 * self._known < math.inf else 1
            )
            # a refusal of fewer than were known to be too much may have other reasons
            higher = (
                self.limit if math.isinf(self._ceiling) else max(self.limit, int(self._ceiling))
            )
            self._ceiling = self._known = (self.limit + higher) // 2
            self._aim = max(1, math.floor(0.75 * self._ceiling))
        elif self.limit <= max(1, self._ceiling // 4):
            return False
        self._kept, self._again, self._quiet = None, False, 0
        self._change(max(1, int(self._ceiling) // 4, self.limit // 2))
        self._open(at, skip=0)
        return True

    # --- the number ---

    def _open(self, at: float, skip: int) -> None:
        """A window begins; the first `skip` answers of it were asked under another number."""
        self._since, self._skip, self._count = at, skip, 0
        if self.limit + 1 >= self._ceiling:
            self._wanted = self._calm * max(self.limit, _FEWEST // 8)
        else:  # on the way back to what was too much nothing is judged
            self._wanted = (
                self.limit
                if self._aim or self._ceiling < math.inf
                else max(2 * self.limit, _FEWEST)
            )

    def _settle(self, limit: int, skip: int) -> None:
        """Judge by windows from now on, the next of which is at this number."""
        self._aim, self._kept = 0, None
        self._change(limit)
        self._open(0.0, skip=max(skip, 1))

    def _round(self, at: float, rate: float) -> None:
        """A round while the number doubles: go on while it brings more."""
        if (
            math.isinf(self._ceiling)
            and self._kept is not None
            and not _is_worth(self._wanted, rate, *self._kept)
        ):
            if not self._again:
                self._again = True
                self._open(at, skip=0)
                return
            base, base_rate = self._kept
            self._settle(
                base if rate < _MORE * base_rate else min(2 * base, self.limit), skip=self.limit
            )
        elif self.limit >= self._aim:
            self._settle(self.limit, skip=self.limit if math.isinf(self._ceiling) else 1)
        else:
            self._kept, self._again = (self._wanted, rate), False
            self._open(at, skip=0)

    def _window(self, at: float, rate: float) -> None:
        """A window at one number: judge a trial, or begin the next."""
        before, now = self.limit, (self.limit, rate)
        if (
            self._kept is not None
            and self._kept[0] != self.limit
            and not _is_worth(*now, *self._kept)
        ):
            self._change(self._kept[0])  # the trial brought nothing
            self._up, self._quiet, self._kept = not self._up, _REST, None
        elif math.ceil(_STEP * self.limit) >= self._ceiling:
            self._climb()
            before = self.limit
        else:
            self._kept = now
            if self._quiet:
                self._quiet -= 1
            else:
                self._try()
        self._open(at, skip=max(before, self.limit) if self.limit != before else 0)

    def _climb(self) -> None:
        """Half of the way to what was too much, which is kept without a trial; doubling, where that
        is no longer too much.
        """
        larger = self.limit + max(1, (int(self._ceiling) - self.limit) // 2)
        if larger > self._ceiling:
            self._ceiling, self._aim = math.inf, self.most
        self._kept = None
        self._change(min(larger, self.most))

    def _try(self) -> None:
        """Another number for the next window."""
        larger = min(max(math.ceil(_STEP * self.limit), self.limit + 1), self.most)
        smaller = max(math.floor(self.limit / _STEP), 1)
        if (larger if self._up else smaller) == self.limit:
            self._up, self._quiet = not self._up, _REST
        else:
            self._change(larger if self._up else smaller)

    def _change(self, limit: int) -> None:
        self.limit = limit
        self._wake()

    # --- attempts ---

    async def enter(self, *, at_once: bool = False) -> None:
        """Wait until another attempt may be in flight; do not wait where that is said."""
        while self.busy >= self.limit and not at_once:
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn
        self.busy += 1

    def leave(self) -> None:
        """An attempt has ended."""
        self.busy -= 1
        self._wake()

    def _wake(self) -> None:
        room = self.limit - self.busy
        while room > 0 and self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                room -= 1


def _is_worth(limit: int, rate: float, base: int, base_rate: float) -> bool:
    """Whether a number in flight brings enough answers a second, compared with another number.

    >>> _is_worth(16, 190.0, 8, 100.0), _is_worth(16, 110.0, 8, 100.0), _is_worth(8, 98.0, 16, 100.0)
    (True, False, True)
    """
    return rate >= base_rate * math.pow(limit / base, _ELASTICITY)
