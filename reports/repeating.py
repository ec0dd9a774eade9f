"""Sentences of the first screen on what changes when the seed or the wording changes."""

from __future__ import annotations

from dataclasses import replace

from hqm.reports.details import (
    Goal,
    goal,
    over_respondents,
    own_differences,
)
from hqm.reports.evidence import SOURCES
from hqm.reports.phrases import Sentence, backed, say
from hqm.reports.tables import (
    Text,
    cell,
    estimate_percent,
    estimate_text,
    find,
    leading,
    p_value,
    percent,
    small,
    threshold,
)
from hqm.reports.units import in_units, is_share

from hqm import BenchmarkAudit, Estimate, Policy


def repeatable(audit: BenchmarkAudit, policy: Policy | None = None) -> tuple[Sentence, ...]:
    """How well the scores repeat with another seed."""
    metric = leading(audit)
    rho = find(audit, "test_retest.rho_g", metric)
    if rho is None:
        return (
            say(
                "Not measured: the original form was asked once. To measure it,"
                f" {SOURCES['test_retest'][3]}."
            ),
        )
    if rho.value is None:
        return (say("Not measured: {reason}.", reason=rho.reason),)
    if rho.status == "not_informative":
        return (say("This audit does not say: {reason}.", reason=rho.reason),)
    sentences = [
        say(
            "When only the seed changes, the reliability of {metric} from one run (rho_G) is"
            " {rho}{of}.",
            metric=metric,
            rho=rho,
            of=backed(audit, rho),
        )
    ]
    sentences += _against_goal(rho, goal("test_retest.rho_g", policy))
    if "DRIFT" in rho.flags:
        sentences += _drift(audit, metric, rho)
    return tuple(sentences + _own_error(audit, metric) + _floor(audit, metric, rho))


def _against_goal(rho: Estimate, wanted: Goal) -> list[Sentence]:
    """Whether the goal is reached, as far as the ends of the intervals support it."""
    aim = threshold(wanted.at_least)
    these, others = rho.interval("fixed_models"), rho.interval("model_population")
    if these is None and others is None:
        return [say(f"Without an interval, nothing is shown about the goal of {aim}.")]
    # an interval over other respondents is never narrower, so it stands in where the other is
    # missing
    near = these or others
    for_these = near is not None and near.low >= wanted.at_least
    for_others = for_these and others is not None and others.low >= wanted.at_least
    if for_others:
        return [
            say(f"The goal of {aim} is reached, for these respondents and for others like them.")
        ]
    if for_these:
        return [
            say(f"The goal of {aim} is reached for these respondents; for others it is not shown.")
        ]
    if near is not None and near.high < wanted.at_least:
        return [say(f"The goal of {aim} is missed.")]
    return [say(f"Whether the goal of {aim} is reached is not shown: the interval contains it.")]


def _drift(audit: BenchmarkAudit, metric: str, rho: Estimate) -> list[Sentence]:
    test, agreed = (
        find(audit, "test_retest.drift", metric),
        find(audit, "test_retest.icc_a1", metric),
    )
    p = p_value(test.value if test is not None else None)
    sentence = say(
        f"Between the runs the scores moved by more than the noise of their items explains (p {p}),"
        " which rho_G leaves out."
    )
    if agreed is None or agreed.value is None:
        return [sentence]
    return [
        sentence,
        say(
            "The agreement of the runs, ICC(A,1), is {icc}{of}.",
            icc=agreed,
            of=backed(audit, agreed, rho),
        ),
    ]


def _floor(audit: BenchmarkAudit, metric: str, rho: Estimate) -> list[Sentence]:
    """What coin flips would reach: a description of single answers, on which no decision hangs."""
    floor, gain = (
        find(audit, "test_retest.noise_floor", metric),
        find(audit, "test_retest.gain", metric),
    )
    if floor is None or floor.value is None:
        return []
    said = (
        "On as many items, coin flips at each respondent's own rate would reach {floor} (the noise"
        " floor)"
    )
    if gain is None or gain.value is None:
        return [say(said + ".", floor=floor)]
    if gain.value <= 0:
        return [say(said + "; rho_G does not lie above it.", floor=floor)]
    ends = ""
    near = rho.interval("fixed_models")
    if near is not None and floor.value < 1:
        low, high = ((end - floor.value) / (1 - floor.value) for end in (near.low, near.high))
        ends = (
            f" ({percent(max(0.0, low))} to {percent(high)} over its interval for these"
            " respondents)"
        )
    return [
        say(
            said + "; rho_G lies {gain} of the way from there to 1{ends}, which describes single"
            " answers.",
            floor=floor,
            gain=estimate_percent(gain),
            ends=Text(ends, muted=True),
        )
    ]


def _own_error(audit: BenchmarkAudit, metric: str) -> list[Sentence]:
    """A respondent's own error of measurement, as a range over respondents; a pooled error is
    nobody's.
    """
    sem, mdc = find(audit, "test_retest.sem", metric), find(audit, "test_retest.mdc95", metric)
    if sem is None or sem.value is None:
        return []
    errors, differences = over_respondents(sem), own_differences(sem, mdc)
    if errors is None or differences is None:
        pooled = say(
            "The standard error of a score from one run, pooled over respondents, is {sem}; single"
            " respondents have smaller and larger ones.",
            sem=replace(estimate_text(sem), text=small(sem.value)),
        )
        return [pooled]
    low, high = (replace(estimate_text(sem), text=small(end)) for end in (errors.low, errors.high))
    least, most = (
        replace(estimate_text(mdc or sem), text=small(end))
        for end in (differences.low, differences.high)
    )
    return [
        say(
            "On the same items, a respondent's score varies from run to run by a standard error"
            " between {low} and {high}, depending on the respondent; its smallest real difference"
            " (exceeded by chance in 5 of 100 pairs of runs) is between {least} and {most}{unit}.",
            low=low,
            high=high,
            least=least,
            most=most,
            unit=(
                " (shares; 0.01 is one percentage point)"
                if is_share(audit, metric)
                else f" (in units of {metric})"
            ),
        ),
    ]


def wording(audit: BenchmarkAudit) -> tuple[Sentence, ...]:
    """How the scores change with another wording, form by form."""
    metric = leading(audit)
    others = dict.fromkeys(
        e.other
        for e in audit.estimates
        if e.indicator.startswith("parallel_forms.") and e.metric == metric
    )
    if not others:
        return (
            say(
                "Not measured: no other wording was asked. To measure it,"
                f" {SOURCES['parallel_forms'][3]}."
            ),
        )
    sentences: list[Sentence] = []
    for other in others:
        shift, icc, same = (
            find(audit, f"parallel_forms.{name}", metric, other)
            for name in ("mean_shift", "icc_a1", "item_agreement")
        )
        if shift is not None:
            sentences += _shift(audit, metric, shift)
        if icc is not None and icc.value is not None:
            sentences.append(
                say(
                    "The agreement of the scores in both forms, ICC(A,1), is {icc}{of}.",
                    icc=icc,
                    of=backed(audit, icc, shift),
                )
            )
        elif icc is not None:
            sentences.append(
                say("The agreement of the scores was not measured: {reason}.", reason=icc.reason)
            )
        if same is not None and same.value is not None:
            again = find(audit, "test_retest.item_agreement", metric)
            beside = (
                " ({again} when only the seed changes)"
                if again is not None and again.value is not None
                else ""
            )
            sentences.append(
                say(
                    "As a mean over these respondents, {share} of the items get the same verdict in"
                    " both forms" + beside + ".",
                    share=estimate_percent(same),
                    again=estimate_percent(again) if again is not None else "",
                )
            )
    return tuple(sentences)


def _shift(audit: BenchmarkAudit, metric: str, shift: Estimate) -> list[Sentence]:
    """The difference of the means, and for whom its direction is shown."""
    name = cell(shift.other)
    if shift.value is None:
        return [
            say(
                "The change of the mean in the form “{name}” was not measured: {reason}.",
                name=name,
                reason=shift.reason,
            )
        ]
    these, others = shift.interval("fixed_models"), shift.interval("model_population")
    apart = [
        span is not None and (span.low > 0 or span.high < 0) for span in (these or others, others)
    ]
    said = say(
        "In the form “{name}” the mean {metric} differs by {shift}{unit}{of}.",
        name=name,
        metric=metric,
        shift=shift,
        of=backed(audit, shift),
        unit=(
            f" ({in_units(audit, metric, shift.value)})"
            if is_share(audit, metric)
            else f" in units of {metric}"
        ),
    )
    if these is None and others is None:
        return [said]
    if not apart[0]:
        return [said, say("That it differs is not shown: the interval contains 0.")]
    way = "lower" if shift.value < 0 else "higher"
    if all(apart):
        return [said, say(f"It is {way} there, for these respondents and for others like them.")]
    return [
        said,
        say(f"It is {way} there for these respondents; for others the direction is not shown."),
    ]
