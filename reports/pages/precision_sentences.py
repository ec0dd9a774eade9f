"""Sentences on how exact scores are: against the limits of a policy, beside how much the models
differ, and how many more items or runs a purpose takes.
"""

from __future__ import annotations

from collections.abc import Iterator

from hqm.reports.pages.phrases import (
    Sentence,
    as_sentence,
    capped_count,
    compose,
    join_names,
    number_word,
    without_zero,
)
from hqm.reports.tables.table import capital, finite_number, number, short_name

from hqm import BenchmarkAudit, Estimate, Policy
from hqm.auditing.definitions import scale_width, who_labelled
from hqm.auditing.precision import exceeded_limits, more_items, total_precision
from hqm.auditing.score_points import Points


def imprecision_sentence(audit: BenchmarkAudit, policy: Policy) -> str:
    """By how much a score is less exact than the policy asks."""
    precision = total_precision(audit)
    points = Points.for_metric(audit)
    if "error" in exceeded_limits(precision, policy):
        # Limits of a policy are shares of the scale; an audit of unknown scale is read as if it ran
        # from 0 to 1.
        limit = policy.precision.error * (precision.scale or 1.0)
        return (
            f"standard errors are up to {points.format_beside(precision.error_high, limit)} points,"
            f" the limit is {points.format_limit(limit)}."
        )
    limit = policy.precision.difference * (precision.scale or 1.0)
    return (
        f"differences below {points.format_beside(precision.difference_high, limit)} points are"
        " missed,"
        f" the limit is {points.format_limit(limit)}."
    )


def alike_sentence(audit: BenchmarkAudit) -> str:
    """How little these models differ, beside what would have been shown."""
    precision = total_precision(audit)
    points = Points.for_metric(audit)
    count = number_word(len(audit.respondents))
    difference = ""
    if precision.difference is not None:
        difference = (
            f"; a difference of {points.format(precision.difference)} points would be found"
        )
    return f"these {count} differ by {points.format(precision.spread)} points (sd){difference}."


def search_sentence(audit: BenchmarkAudit) -> str:
    """What was looked at where no fault was found, and what was not."""
    if audit.task == "caption":
        return "Data and scores were searched; there are no keys."
    if was_seen_by_people(audit):
        return "Data, answers and people's labels were searched."
    return "Data and answers were searched; no person read them."


def was_seen_by_people(audit: BenchmarkAudit) -> bool:
    """Whether a person has judged any answer, and so seen its item."""
    return audit.scoring == "people" or bool(who_labelled(audit).by_people)


def run_error_sentences(audit: BenchmarkAudit, code: str, policy: Policy) -> Iterator[Sentence]:
    """The error that another seed makes, beside the policy's limit, and how many runs keep it."""
    precision = total_precision(audit)
    points = Points.for_metric(audit)
    limit = policy.precision.error
    if code == "not_measured" or precision.run_error is None:
        yield compose("Not known: the standard error of one run needs a second run.")
        return
    subject = "the standard error of one run is"
    # A limit of the whole scale asks for nothing, and is not spoken of.
    if precision.scale is None or limit >= 1:
        yield as_sentence(f"{capital(subject)} {points.format(precision.run_error)} points.")
        return
    side = {"fine": "within", "not_shown": "not shown to be within"}.get(code, "above")
    allowed = limit * precision.scale
    error = f"{capital(subject)} {points.format_beside(precision.run_error, allowed)} points"
    limit_text = points.format_limit(allowed)
    yield as_sentence(f"{error}, {side} the policy's limit of {limit_text}.")
    upper_end = points.format_beside(precision.run_error_high, allowed)
    yield as_sentence(f"Its 95% upper limit is {upper_end} points.")
    # Runs and not items: another seed asks the same items again.
    runs = more_items(audit, policy).runs
    if runs and code != "fine":
        yield as_sentence(f"The mean of {runs} runs keeps this limit.")


def without_far_respondents(estimate: Estimate) -> Iterator[Sentence]:
    """What a coefficient is without the one or two respondents that it rests on."""
    if "DOMINANT_MODEL" not in estimate.flags:
        return
    # The detail names one respondent, or two joined by `and`.
    names = " and ".join(map(short_name, str(estimate.detail.get("strongest")).split(" and ")))
    value = finite_number(estimate.detail.get("without_strongest"))
    number_text = "undefined" if value is None else without_zero(number(value))
    yield as_sentence(f"Without {names} it is {number_text}.")


def more_items_answer(audit: BenchmarkAudit, policy: Policy) -> tuple[Sentence, ...]:
    """How many more items each purpose takes, and each type."""
    forecast = more_items(audit, policy)
    if not forecast.measured:
        return (compose("Not known: the errors over items were not measured."),)
    points = Points.for_metric(audit)
    parts: list[str] = []
    purposes = []
    for need in forecast.needs:
        purpose = {
            "difference": (
                f"to show a difference of {points.format_limit(need.size)} points (80% power)"
            ),
            "top": f"to separate the top two ({points.format(need.size)} points apart)",
            "neighbours": "to separate all neighbours",
        }[need.purpose]
        purposes.append(f"{_item_count(need.items)} {purpose}")
    if forecast.types:
        # The type that takes most items decides what the total costs.
        hardest = max(forecast.types, key=lambda kind: forecast.types[kind])
        most = f", {capped_count(forecast.types[hardest])} of them in {hardest}"
        count = f"{capped_count(forecast.for_types)} more for scores by type with errors of at most"
        count += f" {type_limit(audit, policy)} points"
        parts.append(count + (most if len(forecast.types) > 1 else ""))
    if forecast.unhelped:
        names = join_names(forecast.unhelped)
        parts.append(f"more items would not make scores of these models reliable in {names}")
    difference = forecast.need("difference")
    is_met = difference is not None and difference.items == 0
    # What keeps the answer from being fine stands first, since a terminal may have no second line.
    parts = [*parts, *purposes] if is_met else [*purposes, *parts]
    return tuple(as_sentence(f"{capital(part)}.") for part in parts)


def type_limit(audit: BenchmarkAudit, policy: Policy) -> str:
    """The error that a policy allows the score of a type; empty where the scale has no two ends."""
    width = scale_width(audit)
    if width is None:
        return ""
    return Points.for_metric(audit).format_limit(policy.coverage.error * width)


def _item_count(items: int | None) -> str:
    """The number of further items in words: none, so many, or no practical number."""
    if items is None:
        return "no practical number is enough"
    if items:
        return f"{capped_count(items)} more"
    return "no more are needed"
