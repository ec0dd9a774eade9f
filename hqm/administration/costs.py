"""Costs: the time, tokens and money of a plan, and of the answers in a store."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter

from hqm.administration.asks import Job, stored_numbers
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
_CPU_CORE = 3e10
_GPU = 3e13
"""Operations a second that a model is assumed to reach, on a core and on a GPU."""
_DOUBT = 3.0
"""Times that an assumed duration may be longer, or shorter."""
_PICTURE_LEAST = 64
_PICTURE_MOST = 2880
"""Tokens of a picture where nothing is known of it: a tile of SmolVLM's, and the five of
LLaVA-NeXT.
"""
_PROMPT_TOKENS = 64
"""Tokens at most that a model's own form of a prompt adds to the question."""
_MAX_MEASURED = 500
"""Stored answers of a respondent from which the tokens and seconds of further ones are told."""
_SENTENCE = 16
"""Tokens at least of an answer that is no word or letter, where its limit allows them."""
_SMALL = (512, 512)
_LARGE = (1024, 1024)
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
            # OpenAI scales a picture into 2,048 pixels, then its shorter side to 768
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
    is_recorded = isinstance(respondent, RecordedRespondent)
    questions: list[tuple[Ask, Request]] = []
    min_written = 0
    max_written = 0
    # recorded answers are read, and cost neither time nor tokens
    for job in [] if is_recorded else jobs:
        for question, request in (*job.todo.values(), *job.broken.values()):
            questions.append((question, request))
            limit = request.sampling.max_tokens
            min_written += 1 if job.is_short(request) else min(_SENTENCE, limit)
            max_written += limit
    times, token_counts = _measure(store, jobs)
    min_read, expected_read, max_read = _tokens_read(respondent, questions, token_counts)
    if times:
        seconds = len(questions) * sum(times) / len(times) / engines
        doubt = 1.0
    else:
        seconds = _assume_seconds(respondent, questions, max_written) / engines
        doubt = _DOUBT
    prices = prices or prices_of(respondent)
    return Forecast(
        rows=sum(map(attrgetter("rows"), jobs)),
        distinct=sum(map(attrgetter("distinct"), jobs)),
        stored=sum(map(attrgetter("stored"), jobs)),
        requests=len(questions),
        seconds=seconds,
        seconds_least=seconds / doubt,
        seconds_most=seconds * doubt,
        measured=bool(times) or is_recorded,
        tokens_in=expected_read,
        tokens_in_least=min_read,
        tokens_in_most=max_read,
        tokens_out_least=min_written,
        tokens_out=max_written,
        cost=_cost(expected_read, max_written, prices),
        cost_least=_cost(min_read, min_written, prices),
        cost_most=_cost(max_read, max_written, prices),
    )


def _cost(tokens_in: float, tokens_out: float, prices: Prices | None) -> float | None:
    """The cost of tokens; None where there are no prices."""
    return None if prices is None else price(tokens_in, tokens_out, prices)


def _tokens_read(
    respondent: Respondent,
    questions: Sequence[tuple[Ask, Request]],
    counts: Sequence[int],
) -> tuple[int, int, int]:
    """The tokens of the questions and their pictures: at least, expected, and at most.

    They follow from the counts of earlier answers, where there are any.
    """
    count = len(questions)
    if counts:
        return count * min(counts), round(count * sum(counts) / len(counts)), count * max(counts)
    prompts = [request.prompt for _, request in questions]
    characters = sum(map(len, prompts))
    # a script of which a tokenizer knows few words takes up to a token for two bytes
    n_bytes = sum(map(len, map(str.encode, prompts)))
    pictures = (0.0, 0.0, 0.0)
    if respondent.live:
        pictures = _picture_token_range(respondent, questions)
    minimum, expected, maximum = map(round, pictures)
    return (
        minimum + characters // (2 * CHARACTERS_A_TOKEN),
        expected + characters // CHARACTERS_A_TOKEN,
        maximum + n_bytes // 2 + _PROMPT_TOKENS * count,
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
        number = job.assignment.number(store) if respondent.live else None
        if number is not None:
            respondents[number] = respondent
    totals: dict[str, Spent] = {}
    for number, respondent in respondents.items():
        used = store.usage(number)
        if not (used.tokens_in or used.models):
            continue
        total = totals.get(respondent.name, Spent(respondent.name, 0, 0, 0, 0, None, ""))
        tokens_in = total.tokens_in + used.tokens_in
        tokens_out = total.tokens_out + used.tokens_out
        # answers of two settings of one respondent are one bill
        respondent_prices = prices or prices_of(respondent)
        totals[respondent.name] = Spent(
            respondent.name,
            total.answers + used.answers,
            tokens_in,
            tokens_out,
            total.tokens_cached + used.tokens_cached,
            _cost(tokens_in, tokens_out, respondent_prices),
            used.models or total.models,
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
    requests = sum(map(attrgetter("requests"), forecasts)) + judging
    bounds = (
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
        Bound(option, limit, minimum, maximum)
        for option, limit, minimum, maximum in bounds
        if limit is not None
    ]


def prices_of(respondent: Respondent) -> Prices | None:
    """Return the price of a million tokens read and written, from the respondent or its name."""
    if hasattr(respondent, "prices"):
        prices: Prices | None = respondent.prices
        return prices
    name = RespondentName.parse(respondent.name) if respondent.live else None
    return None if name is None else prices_in(name)


def _assume_seconds(
    respondent: Respondent, questions: Sequence[tuple[Ask, Request]], max_written: int
) -> float:
    """Return the seconds that requests are assumed to take; a model that runs here takes two
    operations for each of its parameters and tokens, and reads each picture once.
    """
    kind = kind_of(respondent.name.partition("/")[0])
    if kind is None:  # made in Python, and of no kind that names stand for
        return len(questions) * _OTHER_SECONDS
    device = getattr(respondent, "device", "") if kind.local else ""
    if not device:
        return len(questions) * kind.seconds
    parameters = weights_of(str(getattr(respondent, "path", "")), respondent.name).parameters
    speed = _CPU_CORE * (os.cpu_count() or 1) if device.startswith("cpu") else _GPU
    read = sum(len(request.prompt) for _, request in questions) // CHARACTERS_A_TOKEN
    read += PICTURE_TOKENS * len({ask.image for ask, _ in questions} - {None})
    seconds = 2 * parameters * (read + max_written) / speed
    return max(seconds, len(questions) * _LEAST_SECONDS)


def _picture_token_range(
    respondent: Respondent, questions: Sequence[tuple[Ask, Request]]
) -> tuple[float, float, float]:
    """The tokens of the pictures: at least, likely, and at most.

    A picture that is still to be fetched is seen like the others.
    """
    model = short_name(respondent.name).lower()
    pictures = [request.image for ask, request in questions if ask.image]
    if picture_tokens(model, _SMALL) is None:  # no size would tell more: no picture is opened
        count = len(pictures)
        return _PICTURE_LEAST * count, PICTURE_TOKENS * count, _PICTURE_MOST * count
    sizes = {picture: picture_size(picture) for picture in set(pictures)}
    minimum = expected = maximum = 0.0
    for picture in pictures:
        # a picture that is still to be fetched has a size between the two
        shapes = (sizes[picture] or _SMALL, sizes[picture] or _LARGE)
        tokens = [picture_tokens(model, shape) or 0.0 for shape in shapes]
        minimum += min(tokens)
        expected += sum(tokens) / 2
        maximum += max(tokens)
    return minimum, expected, maximum


def _measure(store: Store, jobs: Sequence[Job]) -> tuple[list[float], list[int]]:
    """The seconds, and the tokens read, of some answers of this respondent in the store."""
    times: list[float] = []
    token_counts: list[int] = []
    identities = [job.assignment.identity() for job in jobs]
    for number in stored_numbers(store, jobs[0].assignment.respondent.name, identities):
        # the first run of a respondent shows what its answers take
        for run in store.runs(number)[:1]:
            for detail in islice(store.details(number, run).values(), _MAX_MEASURED):
                if "seconds" in detail:
                    times.append(detail["seconds"])
                if detail.get("tokens_in"):
                    token_counts.append(detail["tokens_in"])
    return times, token_counts
