"""What one command may spend: requests, tokens and money, over all its respondents and judges.

A request is let through only where what is spent, what the requests in flight may take at most and
what it may take itself stay within the bounds. What a server does not count is estimated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hqm.respondents.base import Request
from hqm.types import Response

PICTURE_TOKENS = 576
"""Tokens of a picture where nothing else is known: those of LLaVA-1.5."""
CHARACTERS_A_TOKEN = 4
_MOST_TOKENS = 1 << 32
"""More tokens than any request has: a server that counts more has not counted."""

Prices = tuple[float, float]
"""Money per million tokens read and written."""


def tokens_in(request: Request) -> int:
    """The tokens that a request is taken to have where no server has counted them."""
    return len(request.prompt) // CHARACTERS_A_TOKEN + (PICTURE_TOKENS if request.image else 0)


def price(read: float, written: float, prices: Prices | None) -> float:
    """What so many tokens cost; nothing where there is no price.

    >>> price(1_000_000, 100_000, (3.0, 15.0))
    4.5
    """
    return (read * prices[0] + written * prices[1]) / 1e6 if prices else 0.0


@dataclass(frozen=True, slots=True)
class Hold:
    """What a request in flight is let through with: its tokens read and written at most, and their
    price.
    """

    read: int
    written: int
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
    """The most tokens that a request was seen to read beyond the estimate of its text."""

    @property
    def bounded(self) -> bool:
        """Whether there is any bound."""
        return (self.max_requests, self.max_tokens, self.max_cost) != (None, None, None)

    def begin(self, request: Request, prices: Prices | None) -> Hold | None:
        """Let a request through; None where the bounds do not allow it.

        A bound is `reached` when what is spent leaves no room. Where only the requests in flight
        take the room, there may be some again when they have ended.
        """
        prices = self.prices or prices
        hold = Hold(tokens_in(request) + self._largest, request.sampling.max_tokens, prices)
        tokens, cost = hold.read + hold.written, price(hold.read, hold.written, prices)
        if self.max_requests is not None and self.requests + 1 > self.max_requests:
            self.reached = f"--max-requests {self.max_requests}"
        elif self.max_tokens is not None and self.tokens + tokens > self.max_tokens:
            self.reached = f"--max-tokens-total {self.max_tokens}"
        elif self.max_cost is not None and self.cost + cost > self.max_cost:
            self.reached = f"--max-cost {self.max_cost:g}"
        held_tokens, held_cost = self._held_tokens + tokens, self._held_cost + cost
        crowded = (self.max_tokens is not None and self.tokens + held_tokens > self.max_tokens) or (
            self.max_cost is not None and self.cost + held_cost > self.max_cost
        )
        if self.reached or crowded:
            return None
        self.requests += 1
        self._held_tokens, self._held_cost = held_tokens, held_cost
        return hold

    def admit(
        self, requests: Sequence[Request], prices: Prices | None
    ) -> tuple[list[Request], list[Hold]]:
        """The requests from the first that may all be asked together, with what each is let through
        with.
        """
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
        """Put what a request took in place of what it might have taken.

        A request that a server turned away took nothing; one that broke off may have been read.
        """
        self._release(hold)
        estimate = tokens_in(request)
        read, written = (
            _counted(response.detail, "tokens_in"),
            _counted(response.detail, "tokens_out"),
        )
        if read is not None:
            self._largest = max(self._largest, read - estimate)
        read = estimate if read is None else read
        written = len(response.text) // CHARACTERS_A_TOKEN if written is None else written
        if "status" in response.detail:
            read = written = 0
        self.tokens += read + written
        self.cost += price(read, written, hold.prices)

    def cancel(self, hold: Hold) -> None:
        """Take back what was let through and never asked."""
        self._release(hold)
        self.requests -= 1

    def _release(self, hold: Hold) -> None:
        self._held_tokens -= hold.read + hold.written
        self._held_cost -= price(hold.read, hold.written, hold.prices)

    def spent(self) -> str:
        """What was spent, for a sentence."""
        money = f" at a price of {self.cost:.4f}" if self.cost or self.max_cost is not None else ""
        return f"{self.requests:,} requests and {self.tokens:,} tokens{money}"


def _counted(detail: Mapping[str, Any], name: str) -> int | None:
    count = detail.get(name)
    return (
        count
        if isinstance(count, int) and not isinstance(count, bool) and 0 <= count < _MOST_TOKENS
        else None
    )
