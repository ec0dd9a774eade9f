"""What `hqm audit --dry-run` prints: what a run would ask, take and cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, fields, replace
from math import ceil
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from hqm.commands.show import errors, missing_images
from hqm.commands.terminal import print_json, print_lines, print_table, tell
from hqm.respondents.kinds import kind_of

if TYPE_CHECKING:
    from hqm.administration.costs import Bound, Forecast
    from hqm.commands.run_plan import Plan

_NIGHT_HOURS = 8
_GIB = 2**30


def print_plan(planned: Plan, as_json: bool) -> None:
    """Print what a run would ask, take and cost (`hqm audit --dry-run`)."""
    totals = _total_forecast(planned)
    if as_json:
        print_json(_plan_data(planned, totals))
        return
    rows = []
    for (respondent, benchmark), forecast in planned.forecasts.items():
        kind = kind_of(respondent.partition("/")[0])
        # Only what is paid by tokens lacks a price; a model on one's own machine has none to lack.
        if kind is not None and kind.price == "per token":
            unpriced = "no price"
        else:
            unpriced = ""
        rows.append((respondent, benchmark, *_numbers(forecast, unpriced)))
    columns = "respondent,benchmark,rows,distinct,stored,to ask,minutes,tokens in,tokens out,cost"
    total_row = ("total", "", *_numbers(totals))
    print_table("", columns.split(","), rows, right=range(2, 10), total=total_row)
    print_lines(*_plan_notes(planned, measured=totals.measured))
    tell(*errors(0, planned.refused, {}))
    missing_images(
        planned.images, "{n_missing} are to be fetched, and are counted as if they were there"
    )


def _total_forecast(planned: Plan) -> Forecast:
    """Return the sums over all forecasts; None where no forecast has a number."""
    forecasts = list(planned.forecasts.values())
    totals: dict[str, Any] = {}
    for field in fields(forecasts[0]):
        # A price that is not known adds nothing, and the total says what is known.
        values = [value for value in map(attrgetter(field.name), forecasts) if value is not None]
        totals[field.name] = sum(values) if values else None
    # A sum is as sure as its least sure part.
    totals["measured"] = all(forecast.measured for forecast in forecasts)
    if sum(layout.engines > 0 for layout in planned.layouts) > 1:
        # At best all run beside each other.
        totals["seconds_least"] = max(forecast.seconds_least for forecast in forecasts)
    return replace(forecasts[0], **totals)


def _plan_data(planned: Plan, total: Forecast) -> dict[str, object]:
    """Return a plan as JSON data."""
    rows = []
    for (respondent, benchmark), forecast in planned.forecasts.items():
        rows.append({"respondent": respondent, "benchmark": benchmark, **asdict(forecast)})
    data: dict[str, object] = {
        "plan": rows,
        "total": asdict(total),
        "images": {
            name: {"missing": n_missing, "of": n_pictures}
            for name, (n_missing, n_pictures) in planned.images.items()
        },
        "judging": dict(planned.judging),
        "judges": list(map(asdict, planned.judges)),
        "gpu_minutes": list(map(asdict, planned.gpus)),
        "engines": list(map(asdict, planned.layouts)),
    }
    if planned.bounds:
        data["bounds"] = [{**asdict(bound), "ends_it": bound.ends_it} for bound in planned.bounds]
    return data


def _plan_notes(planned: Plan, *, measured: bool) -> Iterator[str]:
    """Yield the lines below the table of a plan."""
    n_recorded = 0
    for (respondent, _), forecast in planned.forecasts.items():
        if respondent.startswith("recorded/"):
            n_recorded += forecast.distinct - forecast.stored
    if n_recorded:
        yield f"{n_recorded:,} recorded answers are to be read; no model is asked for them."
    if not measured:
        yield "? assumed: the store has not seen this respondent answer yet. Tokens out: at most."
    layouts = planned.layouts
    if any(layout.gpus or layout.misfit for layout in layouts):
        engines = sum(layout.engines for layout in layouts)
        gpus = sum(layout.engines * layout.gpus for layout in layouts)
        yield f"{len(layouts)} models, {engines} engines on {gpus:g} GPUs:"
        for layout in layouts:
            yield layout.misfit or f"{layout.model.name}: {layout}"
    yield from _gpu_notes(planned)
    yield from _judge_notes(planned)
    for judge, count in planned.judging.items():
        yield (
            f"judge {judge}: {count} questions about stored answers so far; a later stage, or new"
            " answers, ask more."
        )
    yield from map(_bound, planned.bounds)
    if planned.bounds and planned.judging:
        yield (
            "The judges' further questions, and their tokens and cost, are not included in this"
            " plan."
        )


def _bound(bound: Bound) -> str:
    if bound.ends_it:
        outcome = "could end the command"
    else:
        outcome = "would not be reached"
    # Even at the least that it may take.
    if bound.least > bound.limit:
        outcome = "would end the command"
    amount = f"{bound.needed:,.10g}"
    if bound.least != bound.needed:
        amount = f"{bound.least:,.10g} to {amount}"
    return f"{bound.option} {bound.limit:,.10g} {outcome}: {amount} are planned."


def _numbers(forecast: Forecast, unpriced: str = "") -> list[str]:
    """The numbers of a forecast as the table of a plan has them."""
    # The mark in the table; its meaning stands in the notes below it.
    marker = "" if forecast.measured else "?"
    minutes = f"{forecast.seconds / 60:.1f}"
    if marker:
        # Above ten minutes, tenths of a minute would be more exact than an assumption.
        decimals = 0 if forecast.seconds_most > 600 else 1
        shortest = f"{forecast.seconds_least / 60:,.{decimals}f}"
        minutes = f"{shortest} to {forecast.seconds_most / 60:,.{decimals}f}?"
    price = unpriced
    if forecast.cost is not None:
        price = f"{forecast.cost_least:.2f} to {forecast.cost_most:.2f}"
    return [
        f"{forecast.rows:,}",
        f"{forecast.distinct:,}",
        f"{forecast.stored:,}",
        f"{forecast.requests:,}",
        minutes,
        f"{forecast.tokens_in:,}{marker}",
        f"{forecast.tokens_out:,}",
        price,
    ]


def _gpu_notes(planned: Plan) -> Iterator[str]:
    """Yield how long measured cards take, and the memory that the largest model needs."""
    if not planned.gpus or not planned.layouts:
        return
    for gpu in planned.gpus:
        minutes = " to ".join(dict.fromkeys((_duration(gpu.least), _duration(gpu.most))))
        yield (
            f"One {gpu.card}: {minutes}, from rates measured with 7B models (docs/performance.md)."
        )
    slowest_gpu = max(planned.gpus, key=attrgetter("most"))
    # By the longest time: whoever plans a night wants to find it done.
    nights = ceil(slowest_gpu.most / 60 / _NIGHT_HOURS)
    duration = f"{nights} nights of {_NIGHT_HOURS} hours at most"
    if nights < 2:
        duration = f"less than a night of {_NIGHT_HOURS} hours"
    yield (
        f"Alone, without supervision: {duration} on one {slowest_gpu.card}; a stopped command"
        " continues where it stopped."
    )
    largest = max(planned.layouts, key=lambda layout: layout.model.weights).model
    yield (
        f"Memory: the largest model, {largest.name}, has weights of {largest.weights / _GIB:.1f}"
        " GiB; without pictures and answers."
    )


def _duration(minutes: float) -> str:
    """Return minutes, or hours of many.

    >>> _duration(0.2), _duration(12.3), _duration(600)
    ('under 1 minute', '12 minutes', '10.0 hours')
    """
    if minutes < 1:
        return "under 1 minute"
    if minutes < 120:
        return f"{minutes:.0f} minutes"
    return f"{minutes / 60:.1f} hours"


def _judge_notes(planned: Plan) -> Iterator[str]:
    """Yield what each judge is asked about answers that are still to come."""
    for judge in planned.judges:
        if judge.cost is None:
            cost = ""
        else:
            cost = f" It costs {judge.cost:.2f} at most."
        stages = ""
        if len(judge.stages) > 1:
            stages = f" The stages are {', '.join(judge.stages)}; later ones ask about its replies."
        yield (
            f"judge {judge.judge}, {judge.benchmark}: {judge.askings:,} questions about answers to"
            f" come, {judge.tokens_in:,}? tokens in and {judge.tokens_out:,} out at most.{cost}"
            f"{stages}"
        )
