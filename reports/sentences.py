"""The first screen: the results of an audit in plain sentences, made from the estimates and their status."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hqm.reports.advice import to_fix
from hqm.reports.evidence import SOURCES
from hqm.reports.phrases import Sentence, counted, have, listed, say, spans
from hqm.reports.score_tables import in_order, pair_share, shares, tied_sets
from hqm.reports.tables import cell, estimate_percent, estimate_text, find, percent, short

from hqm import BenchmarkAudit, Cell

LABELS = {"human": "people's labels", "oracle": "an oracle that knows the scenes"}


@dataclass(frozen=True, slots=True)
class Point:
    """One line of the first screen: a question a reader has, and the answer in sentences."""

    question: str
    sentences: tuple[Sentence, ...]


def in_short(audit: BenchmarkAudit) -> list[Point]:
    """What a reader wants to know first."""
    return [
        Point("What was audited?", audited(audit)),
        Point("Do the scores repeat?", repeatable(audit)),
        Point("Does the wording change them?", wording(audit)),
        Point("Do they agree with people?", criterion(audit)),
        Point("Which types are covered?", types(audit)),
        Point("Which respondents can it tell apart?", separates(audit)),
        Point("What to fix first", to_fix(audit)),
    ]


def audited(audit: BenchmarkAudit) -> tuple[Sentence, ...]:
    """Items, pictures, respondents, forms, seeds, judges, and how much was not scored."""
    cells = [Cell.parse(name) for name in audit.cells]
    forms = list(dict.fromkeys(c.form for c in cells))
    runs = len({c.run for c in cells if c.form == Cell.parse(audit.reference).form})
    judges = list(dict.fromkeys(c.judge for c in cells if c.judge != "rule"))
    labels = [Cell.parse(name).judge for name in (audit.respondents[0].judged if audit.respondents else ())]
    others = [LABELS.get(name, f"the labels of “{name}”") for name in labels]
    total, lost = shares(audit)
    scored_by = f"judged by {listed(judges)}" if judges else "scored by a rule (not by a model)"
    beside = f" and compared with {listed(others)}" if others else "; no people's labels were given"
    return (
        say(
            "{items} items" + (" about {images} pictures" if audit.images else " without pictures")
            + ", answered by {n} in {forms} ({names}); the original form was asked with {runs}.",
            items=audit.items, images=audit.images, n=counted(len(audit.respondents), "respondent"), forms=counted(len(forms), "form"),
            names=", ".join(forms), runs=counted(runs, "seed"),
        ),
        say(
            "{total} answers, {by}{beside}; " + ("{lost} of them were not scored ({share})." if lost else "all of them were scored."),
            total=total, by=scored_by, beside=beside, lost=lost, share=percent(lost / total if total else 0.0, 1),
        ),
    )  # fmt: skip


def repeatable(audit: BenchmarkAudit) -> tuple[Sentence, ...]:
    """How well the scores repeat with another seed."""
    metric = next(iter(audit.metrics), "")
    rho = find(audit, "test_retest.rho_g", metric)
    if rho is None:
        return (say(f"Not measured: the original form was asked once. To measure it, {SOURCES['test_retest'][3]}."),)
    if rho.value is None:
        return (say("Not measured: {reason}.", reason=rho.reason),)
    if rho.status == "not_informative":
        return (say("This audit cannot say: {reason}.", reason=rho.reason),)
    floor, gain, mdc = (find(audit, f"test_retest.{name}", metric) for name in ("noise_floor", "gain", "mdc95"))
    sentences = [
        say("When the questions are asked again with another seed, the reliability of {metric} from one run (rho_G) is {rho}{spans}.", metric=metric, rho=rho, spans=spans(rho))
    ]  # fmt: skip
    if floor is not None and floor.value is not None:
        # the verdict in words follows from the estimate's own flag, not from a threshold of the page
        near = gain is not None and "NOISE_FLOOR" in gain.flags
        verdict = " That is little more than coin flips give." if near else ""
        sentences.append(say("Coin flips at each respondent's own rate would already reach {floor} (the noise floor).", floor=floor))  # fmt: skip
        if gain is not None and gain.value is not None:
            sentences.append(say("The reliability lies {gain} of the way from there to identical answers." + verdict, gain=estimate_percent(gain)))  # fmt: skip
    if mdc is not None and mdc.value is not None:
        sentences.append(say("Two scores of one respondent that differ by less than {mdc} may differ by chance alone.", mdc=mdc))  # fmt: skip
    return tuple(sentences)


def wording(audit: BenchmarkAudit) -> tuple[Sentence, ...]:
    """How the scores change with another wording, form by form."""
    metric = next(iter(audit.metrics), "")
    others = dict.fromkeys(
        e.other for e in audit.estimates if e.indicator.startswith("parallel_forms.") and e.metric == metric
    )
    if not others:
        return (say(f"Not measured: no other wording was asked. To measure it, {SOURCES['parallel_forms'][3]}."),)
    sentences: list[Sentence] = []
    for other in others:
        by = {e.indicator.partition(".")[2]: e for e in audit.estimates if e.metric == metric and e.other == other and e.indicator.startswith("parallel_forms.")}  # fmt: skip
        shift, icc, same = by.get("mean_shift"), by.get("icc_a1"), by.get("item_agreement")
        if shift is not None and shift.value is not None:
            sentences.append(say("The form “{name}” changes the mean {metric} by {shift}{spans}.", name=cell(other), metric=metric, shift=shift, spans=spans(shift)))  # fmt: skip
        if icc is not None and icc.value is not None:
            sentences.append(say("The agreement of the scores, ICC(A,1), is {icc}{spans}.", icc=icc, spans=spans(icc)))
        elif icc is not None:
            sentences.append(say("The agreement of the scores was not measured: {reason}.", reason=icc.reason))
        if same is not None and same.value is not None:
            sentences.append(say("{share} of the items get the same verdict in both forms.", share=estimate_percent(same)))  # fmt: skip
    return tuple(sentences)


def criterion(audit: BenchmarkAudit) -> tuple[Sentence, ...]:
    """How well the scores agree with people, and with the oracle that a benchmark may have."""
    metric = next(iter(audit.metrics), "")
    estimates = [e for e in audit.estimates if e.indicator == "criterion.pearson" and e.metric == metric]
    sentences: list[Sentence] = []
    oracle = False
    for r in estimates:
        judge = Cell.parse(r.other).judge
        oracle |= judge == "oracle"
        who = LABELS.get(judge, f"the labels of “{judge}”")
        if r.value is None:
            sentences.append(say("The agreement with {who} was not measured: {reason}.", who=who, reason=r.reason))
            continue
        sentences.append(say("The scores correlate {r} with {who}{spans}.", r=r, who=who, spans=spans(r)))
        freed = find(audit, "criterion.disattenuated", metric, r.other)
        if freed is not None and freed.value is not None:
            sentences.append(say("Without the sampling noise on both sides, the correlation would be {freed} (disattenuated).", freed=freed))  # fmt: skip
    if not estimates:
        return (say(f"Not measured: no people's labels were given. To measure it, {SOURCES['criterion'][3]}."),)
    if oracle and len(estimates) == 1:
        sentences.append(say("No people labelled answers."))
    return tuple(sentences)


def types(audit: BenchmarkAudit) -> tuple[Sentence, ...]:
    """Which types have items, and which have enough of them."""
    covered = [kind for kind, row in audit.coverage.items() if row["items"]]
    absent = [kind for kind in audit.coverage if kind not in covered]
    claimed = [kind for kind in absent if audit.coverage[kind]["claimed"]]
    sentences = [
        say("{n} of {all} types {have} items: {names}.", n=len(covered), all=len(audit.coverage), have=have(len(covered)), names=listed(covered))
    ]  # fmt: skip
    if not covered:
        sentences = [say("No item is known to be of any of the {all} types.", all=len(audit.coverage))]
    index = find(audit, "types.index", next(iter(audit.metrics), ""))
    rows = index.detail.get("types", ()) if index is not None else ()
    if index is not None and index.value is not None:
        fit = [str(r["type"]) for r in rows if r.get("state") == "measurable"]
        count = replace(estimate_text(index), text=str(len(fit)))
        names = f": {listed(fit)}" if fit and len(fit) < len(covered) else ""
        sentences.append(say("{count} of them {have} enough items for a standard error of .03 (measurable){names}.", count=count, have=have(len(fit)), names=names))  # fmt: skip
    else:
        sentences.append(say("Whether the types have enough items to be measurable was not measured."))
    if absent:
        sentences.append(say("Not covered: {names}" + (" (claimed without items: {claimed})." if claimed else "."), names=listed(absent), claimed=listed(claimed)))  # fmt: skip
    return tuple(sentences)


def separates(audit: BenchmarkAudit) -> tuple[Sentence, ...]:
    """Which respondents differ by more than chance."""
    metric = next(iter(audit.metrics), "")
    share = pair_share(audit)
    order = in_order(audit)
    sentences: list[Sentence] = []
    if share is not None:
        sentences.append(say("{share} of the pairs of respondents differ in {metric} by more than chance.", share=share, metric=metric))  # fmt: skip
        sets = [group for group in tied_sets(audit) if len(group) > 1]
        shown = "; ".join(listed([short(n) for n in group]) for group in sets[:4])
        more = f"; and {counted(len(sets) - 4, 'further set')}" if len(sets) > 4 else ""
        tied = say("The benchmark cannot tell these apart: {sets}.", sets=shown + more)
        sentences.append(tied if sets else say("No two respondents are tied."))
        least = find(audit, "discriminability.minimum_difference", metric)
        if least is not None and least.value is not None:
            sentences.append(say("One planned comparison of two respondents finds a difference of {least} with 80% power.", least=least))  # fmt: skip
        every = find(audit, "discriminability.minimum_difference_holm", metric)
        if every is not None and every.value is not None:
            sentences.append(say("When all pairs are compared (Holm), the difference has to be {every}.", every=every))
        return tuple(sentences)
    absent = find(audit, "discriminability.separable_pairs", metric)
    reason = absent.reason if absent is not None and absent.reason else "this audit holds no comparison of pairs"
    sentences.append(say("Not measured: {reason}.", reason=reason))
    if len(order) > 1 and order[0].scores.get(metric) is not None:
        low, high = order[-1].scores.get(metric), order[0].scores.get(metric)
        sentences.append(say("The scores run from {high} ({best}) to {low} ({worst}).", high=high, best=short(order[0].name), low=low, worst=short(order[-1].name)))  # fmt: skip
    flip = find(audit, "test_retest.pair_flip", metric)
    if flip is not None and flip.value is not None:
        sentences.append(say("Two runs put a pair of respondents in different orders with probability {flip}.", flip=flip))  # fmt: skip
    return tuple(sentences)
