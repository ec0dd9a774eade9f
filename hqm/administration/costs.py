"""Costs: the time, tokens and money of a plan, and of the answers in a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hqm.administration.asks import Job
from hqm.respondents.base import Respondent, RespondentName
from hqm.respondents.kinds import kind_of
from hqm.respondents.server_limits import Budget, Prices, price, tokens_in
from hqm.store.database import Store

_EMBEDDED_SECONDS = 0.004
"""Seconds a request of a tiny model that HQM comes with, on a CPU; for the others their kind says
what is assumed.
"""
_OTHER_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Forecast:
    """What one respondent's jobs will take."""

    rows: int
    distinct: int
    stored: int
    requests: int
    seconds: float
    measured: bool
    """Whether the seconds were measured on this respondent's answers in the store."""
    tokens_in: int
    tokens_out: int
    """At most: every answer as long as its limit."""
    cost: float | None


def forecast(
    store: Store, jobs: Sequence[Job], prices: tuple[float, float] | None = None
) -> Forecast:
    """Add up what a respondent's jobs will take.

    Parameters
    ----------
    prices
        Money per million tokens read and written; without them, the name's own
        (`?price_in=2.5&price_out=10`).
    """
    respondent = jobs[0].assignment.respondent
    requests = [
        request for job in jobs for _, request in (*job.todo.values(), *job.broken.values())
    ]
    seconds = _seconds(store, jobs)
    read = sum(tokens_in(request) for request in requests)
    written = sum(request.sampling.max_tokens for request in requests)
    prices = prices or prices_of(respondent)
    return Forecast(
        rows=sum(job.rows for job in jobs),
        distinct=sum(job.distinct for job in jobs),
        stored=sum(job.stored for job in jobs),
        requests=len(requests),
        seconds=len(requests) * (seconds if seconds is not None else _assumed(respondent.name)),
        measured=seconds is not None,
        tokens_in=read,
        tokens_out=written,
        cost=None if prices is None else price(read, written, prices),
    )


@dataclass(frozen=True, slots=True)
class Spent:
    """What all stored answers of a respondent cost, failed attempts included."""

    respondent: str
    answers: int
    tokens_in: int
    tokens_out: int
    tokens_cached: int
    """Tokens read from the server's prefix cache."""
    cost: float | None


def spent(
    store: Store, jobs: Sequence[Job], prices: tuple[float, float] | None = None
) -> list[Spent]:
    """Add up what the respondents that count tokens have used in this store, whatever command asked
    them.

    Respondents whose answers name no tokens read (models run here, recorded ones) are left out. A
    cached token costs as much as any other here: what a provider takes off is its own affair.
    """
    respondents: dict[int, Respondent] = {}
    for job in jobs:
        respondent = job.assignment.respondent
        number = (
            store.find_respondent(respondent.name, job.assignment.identity())
            if respondent.live
            else None
        )
        if number is not None:
            respondents[number] = respondent
    totals: dict[str, Spent] = {}
    for number, respondent in respondents.items():
        used = store.usage(number)
        if not used.tokens_in:
            continue
        before = totals.get(respondent.name, Spent(respondent.name, 0, 0, 0, 0, None))
        read, written = before.tokens_in + used.tokens_in, before.tokens_out + used.tokens_out
        own = prices or prices_of(respondent)
        totals[respondent.name] = Spent(
            respondent.name,
            before.answers + used.answers,
            read,
            written,
            before.tokens_cached + used.tokens_cached,
            None if own is None else price(read, written, own),
        )
    return list(totals.values())


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound of a command, and what the command will need."""

    option: str
    limit: float
    needed: float

    @property
    def ends_it(self) -> bool:
        """Whether the command would end at this bound."""
        return self.needed > self.limit


def bounds(budget: Budget, forecasts: Sequence[Forecast], judging: int = 0) -> list[Bound]:
    """Compare the bounds of a command with what its respondents need at most.

    Of the judges, the questions known so far (`judging`) are counted among the requests; their
    tokens are not known.
    """
    requests = sum(forecast.requests for forecast in forecasts) + judging
    tokens = sum(forecast.tokens_in + forecast.tokens_out for forecast in forecasts)
    cost = sum(forecast.cost or 0.0 for forecast in forecasts)
    every = (
        ("--max-requests", budget.max_requests, requests),
        ("--max-tokens-total", budget.max_tokens, tokens),
        ("--max-cost", budget.max_cost, cost),
    )
    return [Bound(option, limit, needed) for option, limit, needed in every if limit is not None]


def prices_of(respondent: Respondent) -> Prices | None:
    """Return the price of a million tokens read and written, from the respondent or its name."""
    if hasattr(respondent, "prices"):
        prices: Prices | None = respondent.prices
        return prices
    name = RespondentName.parse(respondent.name) if respondent.live else None
    if name is None or not name.option("price_in"):
        return None
    return float(name.option("price_in")), float(name.option("price_out", name.option("price_in")))


def _assumed(name: str) -> float:
    kind = kind_of(name.partition("/")[0])
    if kind is None:  # made in Python, and of no kind that names stand for
        return _OTHER_SECONDS
    return _EMBEDDED_SECONDS if kind.local and ":" in name else kind.seconds


def _seconds(store: Store, jobs: Sequence[Job]) -> float | None:
    """Return the mean seconds of a request to this respondent so far."""
    times: list[float] = []
    seen: set[int] = set()
    for job in jobs:
        number = store.find_respondent(job.assignment.respondent.name, job.assignment.identity())
        if number is None or number in seen:
            continue
        seen.add(number)
        for run in store.runs(number)[:1]:
            details: Mapping[int, Mapping[str, float]] = store.details(number, run)
            times += [d["seconds"] for d in list(details.values())[:500] if "seconds" in d]
    return sum(times) / len(times) if times else None
