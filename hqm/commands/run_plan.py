"""What a run would ask, take and cost.

How long a GPU takes follows from rates that were measured on it (docs/performance.md, "On a GPU").
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, filterfalse
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING

from hqm.administration.asks import Administration, Job, Key
from hqm.administration.costs import Bound, Forecast, bounds, forecast
from hqm.administration.engines import layouts_of
from hqm.administration.engines.placement import Layout
from hqm.commands.session_judges import AnswersToCome, JudgePlan
from hqm.respondents.base import Sampling
from hqm.respondents.hf_loading import weights_of
from hqm.respondents.kinds import kind_of

if TYPE_CHECKING:
    from hqm.commands.session import Session


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a run would cost: the numbers that `hqm audit --dry-run` prints."""

    forecasts: Mapping[tuple[str, str], Forecast]
    """(respondent, benchmark) -> requests, seconds, tokens and cost."""
    layouts: Sequence[Layout]
    """Where the models stand that run here, or on the machines of a cluster."""
    images: Mapping[str, tuple[int, int]]
    """Benchmark -> (pictures that are missing, pictures in all)."""
    judging: Mapping[str, int]
    """Judge -> number of questions about the answers stored so far."""
    judges: Sequence[JudgePlan]
    """What each judge will be asked about answers that are not there yet."""
    gpus: Sequence[GpuMinutes]
    """The minutes of measured cards; none where no model runs locally."""
    bounds: Sequence[Bound]
    """The bounds that the options set, each with what the run needs."""
    refused: int
    """Number of questions that a server refused for good; they are not asked again."""


def plan_run(session: Session) -> Plan:
    """Add up what a run would cost, and ask nothing."""
    # the questions to each respondent, benchmark by benchmark
    jobs = _each_question_once(session.jobs())
    by_respondent: dict[tuple[str, str], list[Job]] = {}
    for job in jobs:
        key = (job.assignment.respondent.name, job.assignment.benchmark.name)
        by_respondent.setdefault(key, []).append(job)
    respondents = {
        key: respondent_jobs[0].assignment.respondent
        for key, respondent_jobs in by_respondent.items()
    }
    live = [key for key, respondent in respondents.items() if respondent.live]

    # where the models run, and what their answers take there
    layouts = layouts_of(list(respondents.values()), **session.options.compute.running)
    engines = {name: max(1, layout.engines) for name, layout in layouts.items()}
    prices = session.options.compute.prices
    forecasts = {
        key: forecast(session.store, respondent_jobs, prices, engines.get(key[0], 1))
        for key, respondent_jobs in by_respondent.items()
    }

    # the pictures that are missing; those that a benchmark makes are there when they are asked
    # about
    if live and not session.options.asking.blind:
        images = session.missing_images()
    else:
        images = {}
    for benchmark in session.benchmarks:
        if benchmark.makes_pictures:
            images.pop(benchmark.name, None)

    judging = session.judging.pending()
    return Plan(
        forecasts=forecasts,
        layouts=list(layouts.values()),
        images=images,
        judging=judging,
        judges=session.judging.plan(_answers_awaited(jobs)),
        gpus=gpu_minutes(jobs),
        bounds=bounds(session.budget, [forecasts[name] for name in live], sum(judging.values())),
        refused=sum(map(attrgetter("refused"), jobs)),
    )


def _each_question_once(jobs: Sequence[Job]) -> list[Job]:
    """The jobs, with what several of them ask of one respondent in the first of these alone."""
    planned_questions: defaultdict[tuple[int, Sampling], set[Key]] = defaultdict(set)
    planned = []
    for job in jobs:
        assignment = job.assignment
        if assignment.respondent.live:
            earlier = planned_questions[id(assignment.respondent), assignment.sampling]
            todo = {
                question: request
                for question, request in job.todo.items()
                if question not in earlier
            }
            broken = {
                question: request
                for question, request in job.broken.items()
                if question not in earlier
            }
            earlier.update(todo, broken)
            job = replace(job, todo=todo, broken=broken)
        planned.append(job)
    return planned


def _answers_awaited(jobs: Sequence[Job]) -> dict[str, AnswersToCome]:
    """Benchmark -> the answers of its respondents that are still to come."""
    n_all_forms: defaultdict[str, float] = defaultdict(float)
    n_references: defaultdict[str, float] = defaultdict(float)
    for job in jobs:
        # Distinct questions, since rows that ask the same share one answer.
        if not job.distinct:
            continue
        benchmark = job.assignment.benchmark
        share = (1 - job.stored / job.distinct) * job.rows / len(benchmark.original)
        n_all_forms[benchmark.name] += share
        if job.administration == Administration(benchmark.original, 0):
            n_references[benchmark.name] += share
    return {name: AnswersToCome(share, n_references[name]) for name, share in n_all_forms.items()}


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
