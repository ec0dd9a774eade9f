"""How long, how many tokens, how much money: what a plan will take, and what the answers took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hqm.administration.planning import Job
from hqm.respondents.base import Respondent, RespondentName
from hqm.respondents.kinds import kind_of
from hqm.store.database import Store

_EMBEDDED_SECONDS = 0.004
"""Seconds a request of a tiny model that HQM comes with, on a CPU; for the others their kind says what is assumed."""
_OTHER_SECONDS = 0.5
_IMAGE_TOKENS = 576
"""Tokens of a picture where nothing else is known: those of LLaVA-1.5."""
_CHARACTERS_A_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Forecast:
    """What one respondent's jobs will take."""

    rows: int
    distinct: int
    stored: int
    requests: int
    seconds: float
    measured: bool
    """Whether the seconds come from this respondent's own answers in the store."""
    tokens_in: int
    tokens_out: int
    """At most: every answer as long as its limit."""
    cost: float | None


def forecast(store: Store, jobs: Sequence[Job], prices: tuple[float, float] | None = None) -> Forecast:
    """Add up what a respondent's jobs will take.

    Parameters
    ----------
    prices
        Money per million tokens read and written; without them, the name's own (`?price_in=2.5&price_out=10`).
    """
    respondent = jobs[0].assignment.respondent
    requests = [request for job in jobs for _, request in (*job.todo.values(), *job.broken.values())]
    seconds = _seconds(store, jobs)
    tokens_in = sum(len(r.prompt) // _CHARACTERS_A_TOKEN + (_IMAGE_TOKENS if r.image else 0) for r in requests)
    tokens_out = sum(r.sampling.max_tokens for r in requests)
    prices = prices or _own_prices(respondent)
    cost = None if prices is None else (tokens_in * prices[0] + tokens_out * prices[1]) / 1e6
    return Forecast(
        rows=sum(job.rows for job in jobs),
        distinct=sum(job.distinct for job in jobs),
        stored=sum(job.stored for job in jobs),
        requests=len(requests),
        seconds=len(requests) * (seconds if seconds is not None else _assumed(respondent.name)),
        measured=seconds is not None,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        cost=cost,
    )


@dataclass(frozen=True, slots=True)
class Spent:
    """What all stored answers of a respondent took, failed attempts included where the server counted them."""

    respondent: str
    answers: int
    tokens_in: int
    tokens_out: int
    tokens_cached: int
    """Of the tokens read, those that the server found in its prefix cache."""
    cost: float | None


def spent(store: Store, jobs: Sequence[Job], prices: tuple[float, float] | None = None) -> list[Spent]:
    """Add up what the respondents that count tokens have used in this store, whatever command asked them.

    Respondents whose answers name no tokens read (models run here, recorded ones) are left out. A cached token costs as
    much as any other here: what a provider takes off is its own affair.
    """
    respondents: dict[int, Respondent] = {}
    for job in jobs:
        respondent = job.assignment.respondent
        number = store.find_respondent(respondent.name, job.assignment.identity()) if respondent.live else None
        if number is not None:
            respondents[number] = respondent
    totals: dict[str, Spent] = {}
    for number, respondent in respondents.items():
        used = store.usage(number)
        if not used.tokens_in:
            continue
        before = totals.get(respondent.name, Spent(respondent.name, 0, 0, 0, 0, None))
        read, written = before.tokens_in + used.tokens_in, before.tokens_out + used.tokens_out
        own = prices or _own_prices(respondent)
        totals[respondent.name] = Spent(
            respondent.name,
            before.answers + used.answers,
            read,
            written,
            before.tokens_cached + used.tokens_cached,
            None if own is None else (read * own[0] + written * own[1]) / 1e6,
        )
    return list(totals.values())


def _own_prices(respondent: Respondent) -> tuple[float, float] | None:
    """Money per million tokens read and written, as the respondent says it, or else its name."""
    if hasattr(respondent, "prices"):
        prices: tuple[float, float] | None = respondent.prices
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
    """The mean seconds a request took this respondent so far."""
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
