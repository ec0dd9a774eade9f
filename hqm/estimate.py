"""How long, how many tokens, how much money: what a plan will take, before anything is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hqm.administer import Job
from hqm.respondents.base import RespondentName
from hqm.store import Store

_ASSUMED_SECONDS = {"hf": 0.5, "embedded": 0.004, "openai": 0.2, "recorded": 0.00002}
"""Seconds a request, where the store has not seen the respondent answer: a 7B model on one GPU without batching, a tiny
embedded one on a CPU, a server with 16 requests in flight, a file."""
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
    respondent = jobs[0].sitting.respondent
    requests = [request for job in jobs for _, request in (*job.todo.values(), *job.broken.values())]
    seconds = _seconds(store, jobs)
    tokens_in = sum(len(r.prompt) // _CHARACTERS_A_TOKEN + (_IMAGE_TOKENS if r.image else 0) for r in requests)
    tokens_out = sum(r.sampling.max_tokens for r in requests)
    prices = prices or _own_prices(respondent.name)
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


def _own_prices(name: str) -> tuple[float, float] | None:
    parsed = RespondentName.parse(name) if name.startswith("openai/") else None
    if parsed is None or not parsed.option("price_in"):
        return None
    return float(parsed.option("price_in")), float(parsed.option("price_out", parsed.option("price_in")))


def _assumed(name: str) -> float:
    kind = name.partition("/")[0]
    return _ASSUMED_SECONDS["embedded" if kind == "hf" and ":" in name else kind]


def _seconds(store: Store, jobs: Sequence[Job]) -> float | None:
    """The mean seconds a request took this respondent so far."""
    times: list[float] = []
    seen: set[int] = set()
    for job in jobs:
        number = store.find_respondent(job.sitting.respondent.name, job.sitting.identity())
        if number is None or number in seen:
            continue
        seen.add(number)
        for run in store.runs(number)[:1]:
            details: Mapping[int, Mapping[str, float]] = store.details(number, run)
            times += [d["seconds"] for d in list(details.values())[:500] if "seconds" in d]
    return sum(times) / len(times) if times else None
