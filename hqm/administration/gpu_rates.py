"""How long a card takes, from rates that were measured on it (docs/performance.md, "On a GPU")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, filterfalse
from operator import itemgetter

from hqm.administration.asks import Job
from hqm.respondents.hf_loading import weights_of
from hqm.respondents.kinds import kind_of


@dataclass(frozen=True, slots=True)
class GpuRate:
    """Answers a second of a 7B model in half precision on one card."""

    card: str
    is_short: bool
    """Whether the answers are a word or a letter; else captions of at most 128 tokens."""
    single: float
    """With one question a picture, by plain `generate`."""
    shared: float
    """With six questions a picture, asked three times; of captions, three askings of each."""


MEASURED_RATES = (
    GpuRate("H100", is_short=True, single=31.0, shared=370.0),
    GpuRate("H100", is_short=False, single=9.3, shared=19.1),
    GpuRate("H200", is_short=True, single=24.0, shared=329.0),
)
"""`tests/perf/respondents.py --shape 7b`, 28 November 2026: LLaVA-1.5-7B on the H100, Qwen2-VL-7B
on the H200. Captions were not measured on an H200.
"""
_MEASURED_PARAMETERS = 7e9
_CAPTION_TOKENS = 128


@dataclass(frozen=True, slots=True)
class GpuMinutes:
    """The minutes that one card takes for a plan: where pictures are shared, and where not."""

    card: str
    least: float
    most: float


def gpu_minutes(jobs: Sequence[Job]) -> list[GpuMinutes]:
    """Return the minutes of each measured card for what local models are to be asked.

    Minutes are proportional to a model's parameters, and to a caption's most tokens.

    Returns
    -------
    list of GpuMinutes
        A card of which a kind of answer was not measured is left out; empty where no model runs
        locally.
    """
    totals: dict[str, list[float]] = {rate.card: [0.0, 0.0] for rate in MEASURED_RATES}
    is_local = False
    for job in jobs:
        respondent = job.assignment.respondent
        kind = kind_of(respondent.name.partition("/")[0])
        requests = list(map(itemgetter(1), chain(job.todo.values(), job.broken.values())))
        if kind is None or not kind.local or not requests:
            continue
        is_local = True
        size = weights_of(str(getattr(respondent, "path", "")), respondent.name).parameters
        n_short = sum(map(job.is_short, requests))
        long_requests = filterfalse(job.is_short, requests)
        n_captions = sum(r.sampling.max_tokens for r in long_requests) / _CAPTION_TOKENS
        for is_short, work in ((True, float(n_short)), (False, n_captions)):
            rates = {rate.card: rate for rate in MEASURED_RATES if rate.is_short == is_short}
            minutes = work * size / _MEASURED_PARAMETERS / 60
            for card in list(totals) if work else ():
                # minutes without those of captions would promise too little
                if card not in rates:
                    del totals[card]
                    continue
                totals[card][0] += minutes / rates[card].shared
                totals[card][1] += minutes / rates[card].single
    if not is_local:
        return []
    return [GpuMinutes(card, low, high) for card, (low, high) in totals.items()]
