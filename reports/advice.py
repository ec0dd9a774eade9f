"""The three most important repairs, chosen by fixed rules from the estimates, the flags and what was not measured."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from hqm.reports.details import MEASURABLE, Goal, by_people, families_source, goal, known, rows, type_rows
from hqm.reports.phrases import Sentence, backed, counted, have, listed, say
from hqm.reports.score_tables import shares
from hqm.reports.tables import cell, estimate_percent, estimate_text, find, leading, number, percent, short, threshold

from hqm import BenchmarkAudit, Estimate, Interval, Policy, unscored

MOST = 3


def to_fix(audit: BenchmarkAudit, policy: Policy | None = None, most: int = MOST) -> tuple[Sentence, ...]:
    """What to do first.

    The order is fixed: answers that were not scored, right answers that can be predicted without the picture, scores that
    disagree with people's labels, scores that another wording changes, a reliability that misses its goal, items that look
    wrong, too few respondents, what was not measured, types with too large an error, and cues that give the answer away.
    A repair stands here where a decision hangs on it and the end of an interval supports it.
    """
    repairs = list(_all(audit, policy))[:most]
    return tuple(repairs) or (say("Nothing that this audit measured calls for a repair."),)


def _all(audit: BenchmarkAudit, policy: Policy | None) -> Iterator[Sentence]:
    yield from _lost(audit)
    yield from _contradictions(audit)
    yield from _blind(audit)
    yield from _criterion(audit, policy)
    yield from _wording(audit, policy)
    yield from _seeds(audit, policy)
    yield from _items(audit)
    yield from _bounds(audit)
    yield from _few(audit)
    yield from _unmeasured(audit)
    yield from _types(audit)
    yield from _leaks(audit)


def _lost(audit: BenchmarkAudit) -> Iterator[Sentence]:
    total, lost = shares(audit)
    if total and lost / total > 0.01:
        worst = max(
            audit.respondents,
            key=lambda row: sum(map(unscored, row.states.values())),
        )  # fmt: skip
        yield say("{share} of the answers were not scored; {who} gave the most of them. Read them, then make the parser accept them or ask again.", share=percent(lost / total, 1), who=short(worst.name))  # fmt: skip


def _contradictions(audit: BenchmarkAudit) -> Iterator[Sentence]:
    estimate = find(audit, "items.duplicate_items", leading(audit))
    groups = estimate.detail.get("contradictory", ()) if estimate is not None else ()
    if groups:
        yield say("In {n}, the same question about the same picture has two different right answers, for example in items {names}. Correct one of them.", n=counted(len(groups), "place"), names=listed([str(i) for i in groups[0]]))  # fmt: skip


def _blind(audit: BenchmarkAudit) -> Iterator[Sentence]:
    """Right answers that the words predict: in all items, or in single types, which a total can hide."""
    estimate = find(audit, "solvability.blind_accuracy", leading(audit))
    if estimate is None or estimate.value is None:
        return
    strata = rows(estimate, "strata")
    if strata:
        leaking = [row for row in strata if row.get("leak")]
        if leaking:
            yield say("The words alone predict the right answers in {kinds}. Balance the wordings there.", kinds=replace(estimate_text(estimate), text=listed(list(map(_stratum, leaking[:3])))))  # fmt: skip
        return
    gain, p, base = (known(estimate.detail.get(name)) for name in ("gain", "p", "baseline"))
    by_type = [row for row in rows(estimate, "by_type") if _exceeds(row)]
    kinds = listed([_stratum({**row, "name": row.get("type") or "no type"}) for row in by_type[:3]])
    if gain is not None and p is not None and gain > 0.05 and p < 0.05:
        most = f" Most of all: {kinds}." if by_type else ""
        yield say("A classifier that sees only the words predicts {share} of the right answers on items that it was not trained on; always giving the most frequent answer reaches {base}." + most + " Balance the wordings.", share=estimate_percent(estimate), base=percent(base))  # fmt: skip
    elif by_type:
        yield say("The words alone predict the right answers of some types: {kinds}. Balance their wordings.", kinds=replace(estimate_text(estimate), text=kinds))  # fmt: skip


def _exceeds(row: Mapping[str, Any]) -> bool:
    """Whether a type's words predict more than its most frequent answer, by more than chance and by more than .05."""
    accuracy, commonest, q = (known(row.get(key)) for key in ("accuracy", "baseline", "q"))
    return accuracy is not None and commonest is not None and accuracy - commonest > 0.05 and (q or 0.0) < 0.05


def _stratum(row: Mapping[str, Any]) -> str:
    """A type or part with what its words predict, and the lower end of the gain where there is one."""
    low = known(row.get("low"))
    least = f"; at least {percent(low)} more" if low is not None and low > 0 else ""
    return f"{row.get('name')} ({percent(known(row.get('accuracy')))}, {percent(known(row.get('baseline')))} by its most frequent answer{least})"


def _low(estimate: Estimate, wanted: Goal) -> Interval | None:
    """The interval that is held against a goal, else whichever there is."""
    return estimate.interval(wanted.inference) or estimate.interval("fixed_models") or estimate.interval("model_population")  # fmt: skip


def _criterion(audit: BenchmarkAudit, policy: Policy | None) -> Iterator[Sentence]:
    wanted = goal("criterion.pearson", policy)
    for r in audit.estimates:
        if r.indicator != "criterion.pearson" or r.metric != leading(audit) or r.value is None or not by_people(r):
            continue
        span = _low(r, wanted)
        if span is None or span.low >= wanted.at_least:
            continue
        aim = threshold(wanted.at_least)
        if span.high < wanted.at_least:
            yield say("The scores agree too little with people's labels: they correlate {r}{of}, and the policy “{policy}” asks for {aim}. Read the answers on which they disagree (under Examples) and correct the scorer.", r=r, of=backed(audit, r), aim=aim, policy=wanted.policy)  # fmt: skip
        else:
            yield say("That the scores agree with people's labels is not shown: the interval of their correlation, {r}, reaches below the {aim} that the policy “{policy}” asks for{of}. Have more answers of more respondents labelled.", r=r, of=backed(audit, r), aim=aim, policy=wanted.policy)  # fmt: skip


def _wording(audit: BenchmarkAudit, policy: Policy | None) -> Iterator[Sentence]:
    metric = leading(audit)
    wanted = goal("parallel_forms.icc_a1", policy)
    for estimate in audit.estimates:
        if estimate.metric != metric or estimate.value is None:
            continue
        if estimate.indicator == "parallel_forms.balanced_score" and "NON_PARALLEL" in estimate.flags:
            below = [short(str(name)) for name in estimate.detail.get("below_chance", ())]
            yield say("In the form “{form}”, these respondents answered worse than chance: {who}. Read the forms side by side, not as one score.", form=cell(estimate.other), who=listed(below) if below else "some respondents")  # fmt: skip
        elif estimate.indicator == "parallel_forms.icc_a1":
            near = estimate.interval("fixed_models") or estimate.interval("model_population")
            if near is None or near.high >= wanted.at_least:
                continue
            shift = known(estimate.detail.get("shift"))
            moved = f"; the mean differs by {number(shift)}" if shift is not None else ""
            yield say("The form “{form}” gives these respondents other scores: the agreement, ICC(A,1), is {icc}{of}, and the policy “{policy}” asks for {aim}{moved}. Report both forms, or their mean.", form=cell(estimate.other), icc=estimate, of=backed(audit, estimate), aim=threshold(wanted.at_least), moved=moved, policy=wanted.policy)  # fmt: skip


def _seeds(audit: BenchmarkAudit, policy: Policy | None) -> Iterator[Sentence]:
    """More items or runs, only where the reliability misses the goal; with how many reach it."""
    metric = leading(audit)
    rho, wanted = find(audit, "test_retest.rho_g", metric), goal("test_retest.rho_g", policy)
    if rho is None or rho.value is None or rho.status != "ok":
        return
    span = _low(rho, wanted)
    if span is None or span.low >= wanted.at_least:
        return
    aim = threshold(wanted.at_least)
    # where the number itself reaches the goal, what is missing is the end of its interval
    start = rho.value if rho.value < wanted.at_least else span.low
    missed = "misses the goal of" if span.high < wanted.at_least else "is not shown to reach the goal of"
    yield say("The reliability of one run, {rho}{of}, " + missed + " {aim}. {remedy}", rho=rho, of=backed(audit, rho), aim=aim, remedy=_remedy(audit, metric, rho, start, wanted.at_least))  # fmt: skip


def _remedy(audit: BenchmarkAudit, metric: str, rho: Estimate, start: float, aim: float) -> str:
    if not 0 < start < 1:
        return "Longer tests will not help: these scores show no differences between respondents that repeat."
    factor = aim / (1 - aim) * (1 - start) / start
    runs, items = math.ceil(factor - 1e-9), math.ceil(rho.n_items * factor - 1e-9)
    forecast = f"By its forecast (Spearman and Brown), {items:,} such items or the mean of {runs:,} runs reach it"
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
                return f"; where items are drawn anew too, the D study asks for {items:,.0f} items in {counted(int(runs), 'run')} (Phi)"  # fmt: skip
    return ""


def _items(audit: BenchmarkAudit) -> Iterator[Sentence]:
    metric = leading(audit)
    for statistic, what, remedy in (
        ("label_errors", "Items that a test names as mislabelled, because strong respondents fail them and weak ones pass", "Read their labels."),
        ("negative_items", "Items on which strong respondents do worse than weak ones (false discovery rate 5%)", "Read or drop them."),
        ("duplicate_items", "Items that occur more than once", "Drop the repeats."),
    ):  # fmt: skip
        estimate = find(audit, f"items.{statistic}", metric)
        if estimate is None or not estimate.value:
            continue
        names = [str(row.get("item")) for row in rows(estimate, "candidates")] or _first_names(estimate)
        such = f" ({listed(names[:3])}{', …' if len(names) > 3 else ''})" if names else ""
        yield say("{what}: {n}{such}. {remedy}", what=what, n=estimate, such=such, remedy=remedy)


def _first_names(estimate: Estimate) -> list[str]:
    items = estimate.detail.get("items")
    return list(map(str, items)) if isinstance(items, (list, tuple)) else []


def _bounds(audit: BenchmarkAudit) -> Iterator[Sentence]:
    for flag in audit.flags:
        if flag["metric"] == leading(audit) and flag["flag"] in ("CEILING", "FLOOR"):
            remedy = "Add harder items." if flag["flag"] == "CEILING" else "Add easier items."
            yield say("{what}. {remedy}", what=_capital(str(flag["sentence"])), remedy=remedy)
    estimate = find(audit, "discriminability.above_chance", leading(audit))
    below = [short(str(name)) for name in estimate.detail.get("not_above", ())] if estimate is not None else []
    if estimate is not None and below:
        level = replace(estimate_text(estimate), text=percent(known(estimate.detail.get("blind"))))
        yield say(
            "{who} did not score above answers given without looking at the picture ({level}). Read the ranking without "
            + ("this respondent" if len(below) == 1 else "these respondents") + ", or add easier items.",
            who=listed(below), level=level,
        )  # fmt: skip


def _few(audit: BenchmarkAudit) -> Iterator[Sentence]:
    for flag in audit.flags:
        if flag["metric"] == leading(audit) and flag["flag"] == "FEW_MODELS":
            n, independent = (known(flag.get("numbers", {}).get(key)) for key in ("n", "n_effective"))
            many = str(flag["sentence"]) if n is None else f"{counted(int(n), 'respondent')} answered"
            if n is not None and independent is not None and independent < n - 0.05:
                many += f", and they count as {independent:.1f} independent ones (families {families_source(audit)})"
            yield say("Only {many}, so intervals for other respondents are wide. Audit 20 or more.", many=many)


def _unmeasured(audit: BenchmarkAudit) -> Iterator[Sentence]:
    families = {e.indicator.partition(".")[0] for e in audit.estimates if not e.indicator.startswith("criterion.") or by_people(e)}  # fmt: skip
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
    lacking = [(row.name, row.lacking) for row in type_rows(index) if not row.measurable]
    if lacking:
        most = sorted(lacking, key=lambda pair: -pair[1])[:3]
        limit = number(MEASURABLE, 2).lstrip("0")
        yield say("{n} a standard error above {limit}, most of all {names}. Add that many such items, or report only the total.", n=counted(len(lacking), "type") + f" {have(len(lacking))}", limit=limit, names=listed([f"{kind} (about {count:,} more items needed)" for kind, count in most]))  # fmt: skip


def _leaks(audit: BenchmarkAudit) -> Iterator[Sentence]:
    estimate = find(audit, "solvability.leakage_cues", leading(audit))
    if estimate is not None and estimate.value:
        leaking = [
            row for key in ("cues", "strata") for row in rows(estimate, key) if row.get("leak") and row.get("cue")
        ]
        cues = list(dict.fromkeys(str(row["cue"]) for row in leaking))
        yield say(
            "The right answer can be predicted from {cues}. Shuffle or balance what gives it away.",
            cues=listed(cues) if cues else "the form of the questions",
        )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
