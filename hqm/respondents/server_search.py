"""The search for a parameter that a server refuses without naming it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from hqm.respondents.base import Request
from hqm.respondents.server_bodies import Settings
from hqm.respondents.server_parameters import LIMIT_NAMES, SEED_NAMES, UNEXPLAINED_STATUSES
from hqm.types import Response

SEARCHED = (
    ("logprobs", "top_logprobs"),
    SEED_NAMES[:2],
    ("top_p",),
    LIMIT_NAMES[:2],
    ("response_format",),
    ("temperature",),
)
"""The optional parameters by all their names, in the order in which they are left out: those first
without which an answer is most nearly the same.
"""
MIN_REFUSALS = 3
"""Refused requests from which a parameter is searched for, and before which no others are sent:
one or two may be refused for their own sake, which the answer to the next one shows.
"""
MAX_BARE_REQUESTS = 2
"""Requests sent without any optional parameter. Where they are refused too, none is to blame."""


class UnexplainedRefusal(NamedTuple):
    """A request that a server refused without saying why."""

    request: Request
    response: Response
    settings: Settings


Send = Callable[[Request, Settings], Awaitable[Response | None]]
"""Sends a request once; None where it was not sent."""


class _SearchError(Exception):
    """The search is over before the parameter is found, or because a refusal names it."""

    def __init__(self, parameter: str = "") -> None:
        super().__init__(parameter)
        self.parameter = parameter


@dataclass
class ParameterSearch:
    """A bisection of the optional parameters of the requests to one server.

    A refused request is sent without any of them, and then without the first few in the order of
    `SEARCHED`: the last of the shortest list without which the server answers is to blame. For n
    parameters that takes ceil(log2(n)) + 2 requests at most, once for each set of parameters. An
    attempt that ends in neither an answer nor a refusal ends the search, and the refusals stand.
    """

    refusals: list[UnexplainedRefusal] = field(default_factory=list)
    """Refused requests that wait for the cause."""
    is_running: bool = False
    n_refused: int = 0
    """Requests that were refused so far without a word why, in earlier calls too."""
    _outcomes: dict[frozenset[str], bool] = field(default_factory=dict)
    """Sets of parameters, and whether the server takes them."""
    _searched: set[frozenset[str]] = field(default_factory=set)

    @property
    def is_due(self) -> bool:
        """Whether enough requests are refused that no others are sent before the search."""
        return len(self.refusals) >= MIN_REFUSALS

    def is_decided(self, settings: Settings) -> bool:
        """Whether a refusal of a request with these parameters is about the request itself."""
        return settings.key in self._searched or self._outcomes.get(settings.key, False)

    def note_answered(self, settings: Settings) -> None:
        """Note that the server takes these parameters."""
        self._outcomes[settings.key] = True

    def note_refused(self, request: Request, response: Response, settings: Settings) -> None:
        """Let a refused request wait for the cause."""
        detail = {key: value for key, value in response.detail.items() if key != "unexplained"}
        response = response._replace(detail=detail)
        self.refusals.append(UnexplainedRefusal(request, response, settings))
        self.n_refused += 1

    def abandon(self) -> None:
        """Leave the waiting requests to a later call."""
        self._searched.difference_update(refusal.settings.key for refusal in self.refusals)
        self.refusals.clear()

    async def find(self, send: Send) -> str:
        """Return the parameter for which the first waiting request is refused; empty for none."""
        settings = self.refusals[0].settings
        requests = [entry.request for entry in self.refusals if entry.settings == settings]
        self.is_running = True
        try:
            return await self._bisect(send, requests[:MAX_BARE_REQUESTS], settings)
        except _SearchError as end:
            return end.parameter
        finally:
            self.is_running = False
            # Also without a result: the next refusal of these parameters is about its own request.
            self._searched.add(settings.key)

    async def _bisect(self, send: Send, requests: list[Request], settings: Settings) -> str:
        units = [unit for unit in SEARCHED if not set(unit).isdisjoint(settings.names)]
        # If the server refuses this too, its reason is another one, and nothing more is tried.
        reduced_settings = settings.without(units)
        for request in requests:
            if self._outcomes.get(reduced_settings.key) or await self._is_answered(
                send, request, reduced_settings
            ):
                break
        else:
            return ""
        n_refused = 0
        n_answered = len(units)
        while n_answered - n_refused > 1:
            # The server answers without the first `n_answered` units, and refuses without
            # `n_refused`.
            middle = (n_refused + n_answered) // 2
            attempt = settings.without(units[:middle])
            # Each set of parameters is tried once a command, whichever request was refused.
            if attempt.key not in self._outcomes:
                self._outcomes[attempt.key] = await self._is_answered(send, request, attempt)
            if self._outcomes[attempt.key]:
                n_answered = middle
            else:
                n_refused = middle
        return min(set(units[n_refused]).intersection(settings.names))

    async def _is_answered(self, send: Send, request: Request, settings: Settings) -> bool:
        """Whether the server answers the request, and does not refuse it.

        Raises
        ------
        _SearchError
            The refusal names a parameter, or something else came of it.
        """
        response = await send(request, settings)
        if response is None:
            raise _SearchError
        is_answered = response.state != "error"
        if is_answered:
            self.note_answered(settings)
        elif "parameter" in response.detail:
            raise _SearchError(response.detail["parameter"])
        elif response.detail.get("status") not in UNEXPLAINED_STATUSES:
            raise _SearchError
        return is_answered
