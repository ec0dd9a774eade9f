"""Costs: the time, tokens and money of a plan, and of the answers in a store."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hqm.administration.asks import Job
from hqm.files.images import picture_size
from hqm.respondents.base import RecordedRespondent, Request, Respondent, RespondentName, prices_in
from hqm.respondents.hf_loading import weights_of
from hqm.respondents.kinds import kind_of, short_name
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
_CPU_CORE, _GPU = 3e10, 3e13
"""Operations a second that a model is assumed to reach, on a core and on a GPU."""
_DOUBT = 3.0
"""Times that an assumed duration may be longer, or shorter."""
_PICTURE_LEAST, _PICTURE_MOST = 64, 2880
"""Tokens of a picture where nothing is known of it: a tile of SmolVLM's, and the five of
LLaVA-NeXT.
"""
_PROMPT_TOKENS = 64
"""Tokens at most that a model's own form of a prompt adds to the question."""
_SHORT = ("yes_no", "choice")
"""Tasks that a word or a letter answers."""
_SENTENCE = 16
"""Tokens at least of another answer, where its limit allows them."""
_SMALL, _LARGE = (512, 512), (1024, 1024)
"""Sizes between which a picture is assumed to be while it is not here."""

# What vendors say of the tokens of a picture: tiles of 512 pixels and a base, patches of 32 pixels
# times a factor (1,536 at most), or pixels a token. The first name that fits counts.
_TILES = (("gpt-4o-mini", 2833, 5667), ("o1|o3", 75, 150), ("gpt-5(?!-mini|-nano)", 70, 140))
_PATCHES = (("o4-mini", 1.72), ("gpt-(4.1|5)-mini", 1.62), ("gpt-(4.1|5)-nano", 2.46))
_OLDER_TILES = ("gpt-4|chatgpt-4", 85, 170)
_PIXELS = (("claude", 750), ("qwen2", 28 * 28), ("qwen3-?vl", 32 * 32))


def picture_tokens(model: str, size: tuple[int, int]) -> float | None:
    """The tokens of a picture by its vendor's rule; None where HQM knows none.

    >>> [picture_tokens("gpt-4o", size) for size in ((1024, 1024), (2048, 4096))]
    [765, 1105]
    """
    width, height = size
    for name, factor in _PATCHES:
        if re.match(name, model):
            return min(1536, -(-width // 32) * -(-height // 32)) * factor
    for name, base, tile in (*_TILES, _OLDER_TILES):
        if re.match(name, model):
            scale = min(1.0, 2048 / max(size), 768 / min(size))
            return base + tile * math.ceil(width * scale / 512) * math.ceil(height * scale / 512)
    for name, pixels in _PIXELS:
        if re.match(name, model):
            return width * height / pixels
    return None


@dataclass(frozen=True, slots=True)
class Forecast:
    """What one respondent's jobs will take."""

    rows: int
    distinct: int
    stored: int
    requests: int
    seconds: float
    seconds_least: float
    seconds_most: float
    measured: bool
    """Whether the seconds, and a server's tokens, were measured on this respondent's answers in the
    store; otherwise they are assumed.
    """
    tokens_in: int
    tokens_in_least: int
    tokens_in_most: int
    tokens_out_least: int
    """Of each answer a word, or a sentence where more is asked for."""
    tokens_out: int
    """At most: every answer as long as its limit."""
    cost: float | None
    cost_least: float | None
    """With the fewest tokens read and written."""
    cost_most: float | None


def forecast(
    store: Store,
    jobs: Sequence[Job],
    prices: tuple[float, float] | None = None,
    engines: int = 1,
) -> Forecast:
    """Add up what a respondent's jobs will take.

    Parameters
    ----------
    prices
        Money per million tokens read and written; without them, the name's own
        (`?price_in=2.5&price_out=10`).
    engines
        The copies of the respondent that answer at a time.
    """
    respondent = jobs[0].assignment.respondent
    recorded = isinstance(respondent, RecordedRespondent)
    todo = [] if recorded else jobs
    asked = [pair for job in todo for pair in (*job.todo.values(), *job.broken.values())]
    count = len(asked)
    seen = _seen(store, jobs)
    counted = [detail["tokens_in"] for detail in seen if detail.get("tokens_in")]
    if counted:
        least, most = count * min(counted), count * max(counted)
        read = round(count * sum(counted) / len(counted))
    else:
        characters = sum(len(request.prompt) for _, request in asked)
        spelt = sum(len(request.prompt.encode()) for _, request in asked)
        least, read, most = (
            round(part)
            for part in (_of_pictures(respondent, asked) if respondent.live else (0.0, 0.0, 0.0))
        )
        least += characters // (2 * CHARACTERS_A_TOKEN)
        read += characters // CHARACTERS_A_TOKEN
        most += spelt // 2 + _PROMPT_TOKENS * count
    written = sum(request.sampling.max_tokens for _, request in asked)
    shortest = sum(
        1
        if job.assignment.benchmark.card.task in _SHORT
        else min(_SENTENCE, request.sampling.max_tokens)
        for job in todo
        for _, request in (*job.todo.values(), *job.broken.values())
    )
    times = [detail["seconds"] for detail in seen if "seconds" in detail]
    seconds = count * sum(times) / len(times) if times else _assumed(respondent, asked, written)
    seconds, doubt = seconds / engines, 1.0 if times else _DOUBT
    prices = prices or prices_of(respondent)
    return Forecast(
        rows=sum(job.rows for job in jobs),
        distinct=sum(job.distinct for job in jobs),
        stored=sum(job.stored for job in jobs),
        requests=count,
        seconds=seconds,
        seconds_least=seconds / doubt,
        seconds_most=seconds * doubt,
        measured=bool(times) or recorded,
        tokens_in=read,
        tokens_in_least=least,
        tokens_in_most=most,
        tokens_out_least=shortest,
        tokens_out=written,
        cost=None if prices is None else price(read, written, prices),
        cost_least=None if prices is None else price(least, shortest, prices),
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
    models: str
    """As `Usage` has them."""

    def __str__(self) -> str:
        cached = f" ({self.tokens_cached:,} of them from the server's cache)"
        cost = "" if self.cost is None else f", cost {self.cost:.4f}"
        models = f"; the server calls the model {self.models!r}" if self.models else ""
        return (
            f"{self.respondent}: {self.answers:,} answers so far, {self.tokens_in:,} tokens"
            f" read{cached if self.tokens_cached else ''}, {self.tokens_out:,} written{cost}"
            f"{models}"
        )


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
        if not (used.tokens_in or used.models):
            continue
        before = totals.get(respondent.name, Spent(respondent.name, 0, 0, 0, 0, None, ""))
        read, written = before.tokens_in + used.tokens_in, before.tokens_out + used.tokens_out
        own = prices or prices_of(respondent)
        totals[respondent.name] = Spent(
            respondent.name,
            before.answers + used.answers,
            read,
            written,
            before.tokens_cached + used.tokens_cached,
            None if own is None else price(read, written, own),
            used.models or before.models,
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
            sum(forecast.tokens_in_least + forecast.tokens_out_least for forecast in forecasts),
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
    parameters = weights_of(str(getattr(respondent, "path", "")), respondent.name).parameters
    speed = _CPU_CORE * (os.cpu_count() or 1) if device.startswith("cpu") else _GPU
    read = sum(len(request.prompt) for _, request in asked) // CHARACTERS_A_TOKEN
    read += PICTURE_TOKENS * len({ask.image for ask, _ in asked} - {None})
    seconds = 2 * parameters * (read + written) / speed
    return max(seconds, len(asked) * _LEAST_SECONDS)


def _of_pictures(
    respondent: Respondent, asked: Sequence[tuple[Ask, Request]]
) -> tuple[float, float, float]:
    """The tokens of the pictures: at least, likely, and at most.

    A picture that is still to be fetched is seen like the others.
    """
    model = short_name(respondent.name).lower()
    pictures = [request.image for ask, request in asked if ask.image]
    if picture_tokens(model, _SMALL) is None:  # no size would tell more: no picture is opened
        count = len(pictures)
        return _PICTURE_LEAST * count, PICTURE_TOKENS * count, _PICTURE_MOST * count
    sizes = {picture: picture_size(picture) for picture in set(pictures)}
    least = likely = most = 0.0
    for picture in pictures:
        shapes = (sizes[picture] or _SMALL, sizes[picture] or _LARGE)
        known = [picture_tokens(model, shape) or 0.0 for shape in shapes]
        least += min(known)
        likely += sum(known) / 2
        most += max(known)
    return least, likely, most


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
