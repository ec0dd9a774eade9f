"""Costs: the time, tokens and money of a plan, and of the answers in a store."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hqm.administration.asks import Job
from hqm.respondents.base import Request, Respondent, RespondentName, prices_in
from hqm.respondents.kinds import kind_of
from hqm.respondents.server_limits import (
    CHARACTERS_A_TOKEN,
    PICTURE_TOKENS,
    Budget,
    Prices,
    price,
)
from hqm.store.database import Ask, Store

_OTHER_SECONDS = 0.5
_LEAST_SECONDS = 0.004
"""Seconds a request of the smallest model on a CPU."""
_PARAMETERS = re.compile(r"(\d+(?:\.\d+)?)[bB](?![a-z])")
"""How a model's name says its size, in billions."""
_CPU_CORE, _GPU = 3e10, 3e13
"""Operations a second that a model is assumed to reach, on a core and on a GPU."""
_PICTURE_LEAST, _PICTURE_MOST = 64, 2880
"""Tokens of a picture where the store has no reply that counts them: a tile of SmolVLM's, and the
five of LLaVA-NeXT.
"""
_PROMPT_TOKENS = 64
"""Tokens at most that a model's own form of a prompt adds to the question."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """What one respondent's jobs will take."""

    rows: int
    distinct: int
    stored: int
    requests: int
    seconds: float
    measured: bool
    """Whether the seconds, and a server's tokens, were measured on this respondent's answers in the
    store; otherwise they are assumed.
    """
    tokens_in: int
    tokens_in_least: int
    tokens_in_most: int
    tokens_out: int
    """At most: every answer as long as its limit."""
    cost: float | None
    cost_least: float | None
    """With the fewest tokens read, and answers of one token."""
    cost_most: float | None


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
    asked = [pair for job in jobs for pair in (*job.todo.values(), *job.broken.values())]
    count = len(asked)
    seen = _seen(store, jobs)
    counted = [detail["tokens_in"] for detail in seen if detail.get("tokens_in")]
    if counted:
        least, most = count * min(counted), count * max(counted)
        read = round(count * sum(counted) / len(counted))
    else:
        # a picture that is still to be fetched is seen like the others
        pictures = sum(1 for ask, _ in asked if ask.image) if respondent.live else 0
        characters = sum(len(request.prompt) for _, request in asked)
        read = characters // CHARACTERS_A_TOKEN + PICTURE_TOKENS * pictures
        least = characters // (2 * CHARACTERS_A_TOKEN) + _PICTURE_LEAST * pictures
        spelt = sum(len(request.prompt.encode()) for _, request in asked)
        most = spelt // 2 + _PROMPT_TOKENS * count + _PICTURE_MOST * pictures
    written = sum(request.sampling.max_tokens for _, request in asked)
    times = [detail["seconds"] for detail in seen if "seconds" in detail]
    prices = prices or prices_of(respondent)
    return Forecast(
        rows=sum(job.rows for job in jobs),
        distinct=sum(job.distinct for job in jobs),
        stored=sum(job.stored for job in jobs),
        requests=count,
        seconds=(
            count * sum(times) / len(times) if times else _assumed(respondent, asked, written)
        ),
        measured=bool(times),
        tokens_in=read,
        tokens_in_least=least,
        tokens_in_most=most,
        tokens_out=written,
        cost=None if prices is None else price(read, written, prices),
        cost_least=None if prices is None else price(least, count, prices),
        cost_most=None if prices is None else price(most, written, prices),
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
    """A bound of a command, and what the command will need: at least, and at most."""

    option: str
    limit: float
    least: float
    needed: float

    @property
    def ends_it(self) -> bool:
        """Whether the command could end at this bound."""
        return self.needed > self.limit


def bounds(budget: Budget, forecasts: Sequence[Forecast], judging: int = 0) -> list[Bound]:
    """Compare the bounds of a command with what its respondents need.

    Of the judges, the questions known so far (`judging`) are counted among the requests; their
    tokens are not known.
    """
    requests = sum(forecast.requests for forecast in forecasts) + judging
    every = (
        ("--max-requests", budget.max_requests, requests, requests),
        (
            "--max-tokens-total",
            budget.max_tokens,
            sum(forecast.tokens_in_least + forecast.requests for forecast in forecasts),
            sum(forecast.tokens_in_most + forecast.tokens_out for forecast in forecasts),
        ),
        (
            "--max-cost",
            budget.max_cost,
            sum(forecast.cost_least or 0.0 for forecast in forecasts),
            sum(forecast.cost_most or 0.0 for forecast in forecasts),
        ),
    )
    return [
        Bound(option, limit, least, most)
        for option, limit, least, most in every
        if limit is not None
    ]


def prices_of(respondent: Respondent) -> Prices | None:
    """Return the price of a million tokens read and written, from the respondent or its name."""
    if hasattr(respondent, "prices"):
        prices: Prices | None = respondent.prices
        return prices
    name = RespondentName.parse(respondent.name) if respondent.live else None
    return None if name is None else prices_in(name)


def _assumed(respondent: Respondent, asked: Sequence[tuple[Ask, Request]], written: int) -> float:
    """Return the seconds that requests are assumed to take; a model that runs here takes two
    operations for each of its parameters and tokens, and reads each picture once.
    """
    kind = kind_of(respondent.name.partition("/")[0])
    if kind is None:  # made in Python, and of no kind that names stand for
        return len(asked) * _OTHER_SECONDS
    device = getattr(respondent, "device", "") if kind.local else ""
    if not device:
        return len(asked) * kind.seconds
    speed = _CPU_CORE * (os.cpu_count() or 1) if device.startswith("cpu") else _GPU
    read = sum(len(request.prompt) for _, request in asked) // CHARACTERS_A_TOKEN
    read += PICTURE_TOKENS * len({ask.image for ask, _ in asked} - {None})
    seconds = 2 * _parameters(respondent) * (read + written) / speed
    return max(seconds, len(asked) * _LEAST_SECONDS)


def _parameters(respondent: Any) -> float:
    """Return a model's number of parameters: by its files, else by its name, else 7 billion."""
    files = sum(file.stat().st_size for file in Path(respondent.path).glob("*.safetensors"))
    if files:
        return files / 2
    stated = _PARAMETERS.search(respondent.name)
    return float(stated[1]) * 1e9 if stated else 7e9


def _seen(store: Store, jobs: Sequence[Job]) -> list[Mapping[str, Any]]:
    """Return what was measured of some answers of this respondent in the store."""
    numbers = (
        store.find_respondent(job.assignment.respondent.name, job.assignment.identity())
        for job in jobs
    )
    return [
        detail
        for number in dict.fromkeys(numbers)
        if number is not None
        for run in store.runs(number)[:1]
        for detail in list(store.details(number, run).values())[:500]
    ]
