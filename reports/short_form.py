"""A short form in the report: every score on the full benchmark's scale with its interval, and what
is lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hqm.reports.phrases import Sentence, in_words, say
from hqm.reports.score_tables import in_order
from hqm.reports.tables import Table, Text, anchor, estimate_text, find, number, percent, short

from hqm import BenchmarkAudit, Estimate

TITLE = "On the full benchmark's scale"


def full_scores(audit: BenchmarkAudit) -> Table | None:
    """Respondents with their scores on the full benchmark's scale, metric by metric; None of a
    benchmark that is no short form.
    """
    known = {
        metric: estimate
        for metric in audit.metrics
        if (estimate := _scaled(audit, metric)) is not None
    }
    if not known:
        return None
    columns = ["Respondent"]
    for metric in known:
        columns += [f"{metric}, full scale", "95% interval", "short form alone"]
    rows = []
    for row in in_order(audit):
        cells = [Text(short(row.name), row.name)]
        for estimate in known.values():
            full, low, high, alone = _numbers(estimate, row.name)
            shown = "" if low is None or high is None else f"[{number(low)}, {number(high)}]"
            cells += [
                Text(number(full), estimate.signature, link=anchor(estimate.signature)),
                Text(shown),
                Text(number(alone), muted=True),
            ]
        rows.append(tuple(cells))
    notes = (
        (
            "Full scale: what the full benchmark would show, from the weighted answers to the short"
            " form. The interval is about the choice of the items, in which it is widened by what"
            " families that did not choose them showed; it is not about other seeds or wordings."
        ),
    )
    return Table(
        "Scores on the full benchmark's scale",
        tuple(columns),
        tuple(rows),
        tuple(range(1, len(columns))),
        notes,
    )


def losses(audit: BenchmarkAudit) -> Table | None:
    """What the short form loses, metric by metric, measured on families that did not choose its
    items.
    """
    rows = []
    for metric in audit.metrics:
        estimate = _scaled(audit, metric)
        if estimate is None:
            continue
        held: Mapping[str, Any] = estimate.detail["held_out"]
        rows.append(
            (
                Text(metric),
                _linked(audit, "mean_error", metric),
                _linked(audit, "tau", metric),
                _linked(audit, "coverage", metric),
                Text(number(held["half_width"])),
                _linked(audit, "parallel_reliability", metric),
            )
        )
    columns = (
        "Metric",
        "Mean error",
        "Kendall's tau",
        "Intervals that contain the full score",
        "Half an interval",
        "Reliability of forms A and B",
    )
    return (
        Table(
            "What the short form loses, on families that did not choose its items",
            columns,
            tuple(rows),
            (1, 2, 3, 4, 5),
        )
        if rows
        else None
    )


def what_was_lost(audit: BenchmarkAudit) -> tuple[Sentence, ...]:
    """Of what it is a short form, and what was lost, in sentences."""
    metric = next(iter(audit.metrics), "")
    estimate = find(audit, "short_form.full_scale", metric)
    if estimate is None:
        return ()
    if estimate.value is None:
        return (
            say(
                "This is a short form, and its scores are not put on the full benchmark's scale:"
                " {reason}.",
                reason=estimate.reason,
            ),
        )
    said, held = estimate.detail, estimate.detail["held_out"]
    form = (
        f", form {str(said['short_form']).upper()}"
        if find(audit, "short_form.parallel_reliability", metric)
        else ""
    )
    tau = find(audit, "short_form.tau", metric)
    order = "the order of their scores was not determined"
    if tau is not None and tau.value is not None:
        order = f"their order agreed by a Kendall's tau of {number(tau.value)}"
    return (
        say(
            "These are {n} of the {of} items of {name}{form}: the mean {metric} on its scale is"
            " {value}.",
            n=audit.items,
            of=int(said["full_items"]),
            name=str(said["full_benchmark"]),
            form=form,
            metric=metric,
            value=estimate,
        ),
        say(
            "What was lost: {m} respondents of {k} families, each scored by items chosen without"
            " its family, were {error} off on average; {order}, and {share} of the 95% intervals"
            " contained the score on all items.",
            m=int(held["respondents"]),
            k=int(said["chosen_by_families"]),
            error=number(held["mean_error"]),
            order=order,
            share=percent(held["coverage"]),
        ),
    )


def remarks(audit: BenchmarkAudit) -> list[str]:
    """The same sentences as text, for the section."""
    sentences = what_was_lost(audit)
    return [in_words(sentences)] if sentences else []


def _scaled(audit: BenchmarkAudit, metric: str) -> Estimate | None:
    estimate = find(audit, "short_form.full_scale", metric)
    return estimate if estimate is not None and estimate.value is not None else None


def _numbers(
    estimate: Estimate, name: str
) -> tuple[float | None, float | None, float | None, float | None]:
    known = (estimate.detail.get("by_respondent") or {}).get(name) or [None] * 4
    full, low, high, alone = known
    return full, low, high, alone


def _linked(audit: BenchmarkAudit, statistic: str, metric: str) -> Text:
    estimate = find(audit, f"short_form.{statistic}", metric)
    return (
        Text("not measured")
        if estimate is None or estimate.value is None
        else estimate_text(estimate)
    )
