"""All that can be mended of a benchmark and of a study, each with what to do.

It is decided by the end of an interval and by the policy's goal.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from hqm.reports.defects import benchmark_defects, slight_warnings
from hqm.reports.phrases import Sentence, backed, counted, have, listed, say
from hqm.reports.tables import (
    Goal,
    by_people,
    capital,
    cell,
    estimate_text,
    families_source,
    find,
    goal,
    known,
    leading,
    number,
    percent,
    rows,
    short,
    threshold,
)
from hqm.reports.units import in_units

from hqm import (
    MEASURABLE,
    BenchmarkAudit,
    Estimate,
    Interval,
    Policy,
    scored_answers,
    types_measured,
    unscored,
)
from hqm.psychometrics.consistency import lengthening

# --- limits of a study ---


def study_limits(audit: BenchmarkAudit, policy: Policy | None) -> Iterator[tuple[str, Sentence]]:
    """What this study leaves open: the kind of each limit, and what to do about it, the gravest
    first.

    Answers that were not scored; scores that disagree with people's labels, that another wording
    changes, or whose reliability misses its goal; a range that the scores crowd at an end of; too
    few respondents; what was not measured; types with too large an error.
    """
    for kind, sentences in (
        ("unscored", _lost(audit)),
        ("people", _criterion(audit, policy)),
        ("wording", _wording(audit, policy)),
        ("repeat", _seeds(audit, policy)),
        ("range", _range(audit)),
        ("respondents", _few(audit)),
        ("unmeasured", _unmeasured(audit)),
        ("types", _types(audit)),
        ("findings", slight_warnings(audit)),
    ):
        for sentence in sentences:
            yield kind, sentence


def readings(audit: BenchmarkAudit) -> Iterator[tuple[str, Sentence]]:
    """What to mind when the scores of these respondents are read."""
    for sentence in _above_chance(audit):
        yield "chance", sentence
    for flag in audit.flags:
        if flag["metric"] == leading(audit) and flag["flag"] == "DOMINANT_MODEL":
            yield (
                "dominant",
                say(
                    "{what}. Read the correlation with and without this respondent.",
                    what=capital(str(flag["sentence"])),
                ),
            )
            return


def _lost(audit: BenchmarkAudit) -> Iterator[Sentence]:
    of = scored_answers(audit)
    if of.share_unscored > 0.01:
        worst = max(
            audit.respondents,
            key=lambda row: sum(map(unscored, row.states.values())),
        )
        yield say(
            "{share} of the answers were not scored; {who} gave the most of them. Read them, then"
            " make the parser accept them or ask again.",
            share=percent(of.share_unscored, 1),
            who=short(worst.name),
        )


def _low(estimate: Estimate, wanted: Goal) -> Interval | None:
    """The interval that is held against a goal, else whichever there is."""
    return (
        estimate.interval(wanted.inference)
        or estimate.interval("fixed_models")
        or estimate.interval("model_population")
    )


def _criterion(audit: BenchmarkAudit, policy: Policy | None) -> Iterator[Sentence]:
    wanted = goal("criterion.pearson", policy)
    for r in audit.estimates:
        if (
            r.indicator != "criterion.pearson"
            or r.metric != leading(audit)
            or r.value is None
            or not by_people(r)
        ):
            continue
        span = _low(r, wanted)
        if span is None or span.low >= wanted.at_least:
            continue
        aim = threshold(wanted.at_least)
        if span.high < wanted.at_least:
            yield say(
                "The scores agree too little with people's labels: they correlate {r}{of}, and the"
                " policy “{policy}” asks for {aim}. Read the answers on which they disagree (under"
                " Examples) and correct the scorer.",
                r=r,
                of=backed(audit, r),
                aim=aim,
                policy=wanted.policy,
            )
        else:
            yield say(
                "That the scores agree with people's labels is not shown: the interval of their"
                " correlation, {r}, reaches below the {aim} that the policy “{policy}” asks"
                " for{of}. Have more answers of more respondents labelled.",
                r=r,
                of=backed(audit, r),
                aim=aim,
                policy=wanted.policy,
            )


def _wording(audit: BenchmarkAudit, policy: Policy | None) -> Iterator[Sentence]:
    metric = leading(audit)
    wanted = goal("parallel_forms.icc_a1", policy)
    for estimate in audit.estimates:
        if estimate.metric != metric or estimate.value is None:
            continue
        if (
            estimate.indicator == "parallel_forms.balanced_score"
            and "NON_PARALLEL" in estimate.flags
        ):
            below = [short(str(name)) for name in estimate.detail.get("below_chance", ())]
            yield say(
                "In the form “{form}”, these respondents answered worse than chance: {who}. Read"
                " the forms side by side, not as one score.",
                form=cell(estimate.other),
                who=listed(below) if below else "some respondents",
            )
        elif estimate.indicator == "parallel_forms.icc_a1":
            near = estimate.interval("fixed_models") or estimate.interval("model_population")
            if near is None or near.high >= wanted.at_least:
                continue
            shift = known(estimate.detail.get("shift"))
            yield say(
                "The form “{form}” gives these respondents other scores: the agreement, ICC(A,1),"
                " is {icc}{of}, and the policy “{policy}” asks for {aim}{moved}. Report both forms,"
                " or their mean.",
                form=cell(estimate.other),
                icc=estimate,
                of=backed(audit, estimate),
                aim=threshold(wanted.at_least),
                moved=(
                    f"; the mean differs by {in_units(audit, metric, shift)}"
                    if shift is not None
                    else ""
                ),
                policy=wanted.policy,
            )


def _seeds(audit: BenchmarkAudit, policy: Policy | None) -> Iterator[Sentence]:
    """More items or runs, only where the reliability misses the goal; with how many reach it."""
    metric = leading(audit)
    rho, wanted = find(audit, "test_retest.rho_g", metric), goal("test_retest.rho_g", policy)
    if rho is None or rho.value is None or rho.status != "ok":
        return
    span = _low(rho, wanted)
    if span is None or span.low >= wanted.at_least:
        return
    missed = (
        "misses the goal of" if span.high < wanted.at_least else "is not shown to reach the goal of"
    )
    yield say(
        "The reliability of one run, {rho}{of}, " + missed + " {aim}. {remedy}",
        rho=rho,
        of=backed(audit, rho),
        aim=threshold(wanted.at_least),
        remedy=_remedy(audit, metric, rho, span.low, wanted.at_least),
    )


def _lengthened(rho: Estimate, start: float, aim: float) -> tuple[int, int]:
    """How many items, or runs of the same items, bring the reliability from `start` to `aim`."""
    factor = lengthening(start, aim)
    return math.ceil(rho.n_items * factor - 1e-9), math.ceil(factor - 1e-9)


def _remedy(audit: BenchmarkAudit, metric: str, rho: Estimate, start: float, aim: float) -> str:
    if not 0 < start < 1:
        return (
            "Longer tests will not help: these scores show no differences between respondents that"
            " repeat."
        )
    items, runs = _lengthened(rho, start, aim)
    forecast = (
        f"By its forecast (Spearman and Brown), {items:,} such items or the mean of {runs:,} runs"
        " reach it"
    )
    design = _design(audit, metric, aim)
    return f"{forecast}{design}."


def _design(audit: BenchmarkAudit, metric: str, aim: float) -> str:
    """The cheapest design of the D study that reaches the goal, over items and runs together."""
    for estimate in audit.estimates:
        if not estimate.indicator.startswith("generalizability.") or estimate.metric != metric:
            continue
        if estimate.detail.get("varied") != "run":
            continue
        for row in rows(estimate, "d_study"):
            target, items, runs = (known(row.get(key)) for key in ("target", "items", "runs"))
            if target is not None and abs(target - aim) < 1e-9 and items and runs:
                return (
                    f"; where items are drawn anew too, the D study asks for {items:,.0f} items in"
                    f" {counted(int(runs), 'run')} (Phi)"
                )
    return ""


def _range(audit: BenchmarkAudit) -> Iterator[Sentence]:
    for flag in audit.flags:
        if flag["metric"] == leading(audit) and flag["flag"] in ("CEILING", "FLOOR"):
            yield say(
                "{what}. {remedy}",
                what=capital(str(flag["sentence"])),
                remedy="Add harder items." if flag["flag"] == "CEILING" else "Add easier items.",
            )


def _above_chance(audit: BenchmarkAudit) -> Iterator[Sentence]:
    estimate = find(audit, "discriminability.above_chance", leading(audit))
    below = (
        [short(str(name)) for name in estimate.detail.get("not_above", ())]
        if estimate is not None
        else []
    )
    if estimate is not None and below:
        yield say(
            "{who} did not score above answers given without looking at the picture ({level}). Read"
            " the ranking without "
            + ("this respondent." if len(below) == 1 else "these respondents."),
            who=listed(below),
            level=replace(
                estimate_text(estimate), text=percent(known(estimate.detail.get("blind")))
            ),
        )


def _few(audit: BenchmarkAudit) -> Iterator[Sentence]:
    for flag in audit.flags:
        if flag["metric"] == leading(audit) and flag["flag"] == "FEW_MODELS":
            n, independent = (
                known(flag.get("numbers", {}).get(key)) for key in ("n", "n_effective")
            )
            many = (
                str(flag["sentence"]) if n is None else f"{counted(int(n), 'respondent')} answered"
            )
            if n is not None and independent is not None and independent < n - 0.05:
                many += (
                    f", and they count as {independent:.1f} independent ones (families"
                    f" {families_source(audit)})"
                )
            yield say(
                "Only {many}, so intervals for other respondents are wide. Audit 20 or more.",
                many=many,
            )


def _unmeasured(audit: BenchmarkAudit) -> Iterator[Sentence]:
    families = {
        e.indicator.partition(".")[0]
        for e in audit.estimates
        if not e.indicator.startswith("criterion.") or by_people(e)
    }
    for family, what, remedy in (
        ("test_retest", "How well the scores repeat", "Ask the original form twice (--runs 2)."),
        (
            "parallel_forms",
            "How much the wording changes the scores",
            "Ask a parallel form too (--forms original,parallel).",
        ),
        (
            "criterion",
            "Whether the scores agree with people",
            "Have people label a few hundred answers (--criterion FILE).",
        ),
    ):
        if family not in families:
            yield say("{what} was not measured. {remedy}", what=what, remedy=remedy)


def _types(audit: BenchmarkAudit) -> Iterator[Sentence]:
    """Types whose own score has too large an error, with how many items would mend it."""
    index = find(audit, "types.index", leading(audit))
    estimated = {row.get("type") for row in rows(index, "types")}
    here = [row for row in types_measured(audit) if row.items and row.type in estimated]
    guessed = [row.type for row in here if row.at_chance]
    if guessed:
        yield say(
            "In {names}, none of these respondents is above chance: more items would show nothing."
            " Ask respondents that can do it, or report it as a type at chance.",
            names=listed(guessed),
        )
    lacking = [(row.type, row.missing) for row in here if not row.measurable and not row.at_chance]
    if lacking:
        most = sorted(lacking, key=lambda pair: -pair[1])[:3]
        yield say(
            "{n} a standard error above {limit}, most of all {names}. Add that many such items, or"
            " report only the total.",
            n=counted(len(lacking), "type") + f" {have(len(lacking))}",
            limit=number(MEASURABLE, 2).lstrip("0"),
            names=listed([f"{kind} (about {count:,} more items needed)" for kind, count in most]),
        )


# --- what to fix first ---

Grade = Literal["benchmark", "study", "models"]
GRADES: dict[Grade, str] = {
    "benchmark": "Defects of the benchmark, shown or suspected",
    "study": "Limits of this study",
    "models": "How to read these respondents",
}
"""What advice can be about, the gravest first."""


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing to do."""

    grade: Grade
    kind: str
    """A word for it, by which a page links to the evidence."""
    sentence: Sentence


def all_advice(audit: BenchmarkAudit, policy: Policy | None = None) -> tuple[Advice, ...]:
    """All that is to be done, the gravest first.

    A defect or limit stands here where a decision hangs on it and the end of an interval, or a
    list, supports it. Numbers are those of the audit's estimates and findings.
    """
    return (
        *(Advice("benchmark", kind, sentence) for kind, sentence in benchmark_defects(audit)),
        *(Advice("study", kind, sentence) for kind, sentence in study_limits(audit, policy)),
        *(Advice("models", kind, sentence) for kind, sentence in readings(audit)),
    )
