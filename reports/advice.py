"""The three most important things to fix, chosen by fixed rules from estimates, flags and what was not measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from hqm.reports.phrases import Sentence, counted, listed, say
from hqm.reports.score_tables import shares
from hqm.reports.tables import Text, cell, estimate_text, find, number, percent, short

from hqm import BenchmarkAudit, Cell, Estimate

MOST = 3


def to_fix(audit: BenchmarkAudit, most: int = MOST) -> tuple[Sentence, ...]:
    """What to do first.

    The order is fixed: answers that are lost, right answers that can be had without looking, scores that do not follow
    people, scores that another wording or seed changes, items that look wrong, types and respondents that are too few, and
    what was not measured at all.
    """
    repairs = list(_all(audit))[:most]
    return tuple(repairs) or (say("Nothing that this audit measures calls for a repair."),)


def _all(audit: BenchmarkAudit) -> Iterator[Sentence]:
    yield from _lost(audit)
    yield from _contradictions(audit)
    yield from _blind(audit)
    yield from _criterion(audit)
    yield from _wording(audit)
    yield from _seeds(audit)
    yield from _items(audit)
    yield from _bounds(audit)
    yield from _few(audit)
    yield from _unmeasured(audit)
    yield from _types(audit)
    yield from _leaks(audit)


def _leading(audit: BenchmarkAudit) -> str:
    return next(iter(audit.metrics), "")


def _share(estimate: Estimate, digits: int = 0) -> Text:
    return replace(estimate_text(estimate), text=percent(estimate.value, digits))


def _lost(audit: BenchmarkAudit) -> Iterator[Sentence]:
    total, lost = shares(audit)
    if total and lost / total > 0.01:
        worst = max(
            audit.respondents,
            key=lambda row: sum(n for counts in row.states.values() for state, n in counts.items() if state not in ("ok", "truncated", "refused")),
        )  # fmt: skip
        yield say("{share} of the answers were not scored, most of them by {who}: read them, then widen the parser or ask again.", share=percent(lost / total, 1), who=short(worst.name))  # fmt: skip


def _contradictions(audit: BenchmarkAudit) -> Iterator[Sentence]:
    estimate = find(audit, "items.duplicate_items", _leading(audit))
    groups = estimate.detail.get("contradictory", ()) if estimate is not None else ()
    if groups:
        yield say("The same question about the same picture has two right answers in {n}, such as {names}: correct one of them.", n=counted(len(groups), "place"), names=listed([str(i) for i in groups[0]]))  # fmt: skip


def _blind(audit: BenchmarkAudit) -> Iterator[Sentence]:
    estimate = find(audit, "solvability.blind_accuracy", _leading(audit))
    if estimate is None or estimate.value is None:
        return
    gain, p, base = (estimate.detail.get(name) for name in ("gain", "p", "baseline"))
    if gain is not None and p is not None and gain > 0.05 and p < 0.05:
        yield say("The words alone give {share} of the right answers without the picture, where the most frequent answer gives {base}: balance the wordings against the answers.", share=_share(estimate), base=percent(base))  # fmt: skip


def _criterion(audit: BenchmarkAudit) -> Iterator[Sentence]:
    for r in audit.estimates:
        if r.indicator != "criterion.pearson" or r.metric != _leading(audit) or r.value is None:
            continue
        spread = r.interval("model_population") or r.interval("fixed_models")
        if r.value < 0.7 or (spread is not None and spread.high < 0.9):
            yield say("The scores follow the labels of “{judge}” only by {r}: read the answers on which they disagree (Examples), and correct the scorer.", judge=Cell.parse(r.other).judge, r=r)  # fmt: skip


def _wording(audit: BenchmarkAudit) -> Iterator[Sentence]:
    metric = _leading(audit)
    for estimate in audit.estimates:
        if estimate.metric != metric or estimate.value is None:
            continue
        if estimate.indicator == "parallel_forms.balanced_score" and "NON_PARALLEL" in estimate.flags:
            below = [short(str(name)) for name in estimate.detail.get("below_chance", ())]
            yield say("In the form “{form}” {who} answered worse than chance: they do not handle the wording, so read the forms side by side, not as one score.", form=cell(estimate.other), who=listed(below) if below else "some respondents")  # fmt: skip
        elif estimate.indicator == "parallel_forms.icc_a1" and estimate.value < 0.9:
            shift = estimate.detail.get("shift")
            moved = f", and the mean moves by {number(shift)}" if isinstance(shift, (int, float)) else ""
            yield say("Another wording (“{form}”) gives other scores: ICC(A,1) is {icc}{moved}. Report both forms, or their mean.", form=cell(estimate.other), icc=estimate, moved=moved)  # fmt: skip


def _seeds(audit: BenchmarkAudit) -> Iterator[Sentence]:
    metric = _leading(audit)
    gain, rho = find(audit, "test_retest.gain", metric), find(audit, "test_retest.rho_g", metric)
    if gain is not None and gain.value is not None and "NOISE_FLOOR" in gain.flags:
        yield say("The scores repeat little better than coin flips would: only {gain} of the way to identical answers. Average several seeds, or add items.", gain=_share(gain))  # fmt: skip
    elif rho is not None and rho.value is not None and rho.status == "ok" and rho.value < 0.9:
        yield say(
            "One run repeats with a reliability of {rho}: average several seeds, or add items (see the D-study).",
            rho=rho,
        )


def _items(audit: BenchmarkAudit) -> Iterator[Sentence]:
    metric = _leading(audit)
    for statistic, what in (
        ("label_errors", "items look mislabelled: strong respondents fail them and weak ones pass. Read their labels"),
        ("negative_items", "items work against the rest of the test. Read or drop them"),
        ("duplicate_items", "items stand there more than once. Drop the repeats"),
    ):
        estimate = find(audit, f"items.{statistic}", metric)
        if estimate is None or not estimate.value:
            continue
        names = [str(row.get("item")) for row in estimate.detail.get("candidates", ())] or list(
            map(str, estimate.detail.get("items", ()))
        )
        such = f": {listed(names[:3])}" + (", …" if len(names) > 3 else "") if names else ""
        yield say("{n} " + what + "{such}.", n=estimate, such=such)


def _bounds(audit: BenchmarkAudit) -> Iterator[Sentence]:
    for flag in audit.flags:
        if flag["metric"] == _leading(audit) and flag["flag"] in ("CEILING", "FLOOR"):
            remedy = "Add harder items." if flag["flag"] == "CEILING" else "Add easier items."
            yield say("{what}. {remedy}", what=_capital(str(flag["sentence"])), remedy=remedy)
    estimate = find(audit, "discriminability.above_chance", _leading(audit))
    below = [short(str(name)) for name in estimate.detail.get("not_above", ())] if estimate is not None else []
    if estimate is not None and below:
        verb = "scores" if len(below) == 1 else "score"
        level = replace(estimate_text(estimate), text=percent(estimate.detail.get("blind")))
        yield say(
            "{who} " + verb + " no better than answers given without looking ({level}): read the ranking without such respondents, or add easier items.",
            who=listed(below), level=level,
        )  # fmt: skip


def _few(audit: BenchmarkAudit) -> Iterator[Sentence]:
    for flag in audit.flags:
        if flag["metric"] == _leading(audit) and flag["flag"] == "FEW_MODELS":
            yield say(
                "There are {what}: every interval over respondents is wide. Audit 20 or more.",
                what=str(flag["sentence"]),
            )


def _unmeasured(audit: BenchmarkAudit) -> Iterator[Sentence]:
    families = {estimate.indicator.partition(".")[0] for estimate in audit.estimates}
    for family, what, remedy in (
        ("test_retest", "How far the scores repeat", "Put the original form twice (--runs 2)."),
        ("parallel_forms", "How far the wording moves the scores", "Put a parallel form (--forms original,parallel)."),
        (
            "criterion",
            "Whether the scores follow people",
            "Have people label a few hundred answers (--criterion FILE).",
        ),
    ):
        if family not in families:
            yield say("{what} was not measured. {remedy}", what=what, remedy=remedy)


def _types(audit: BenchmarkAudit) -> Iterator[Sentence]:
    index = find(audit, "types.index", _leading(audit))
    rows = index.detail.get("types", ()) if index is not None else ()
    short_of = [(str(r["type"]), int(r["missing_items"])) for r in rows if r.get("items") and r.get("missing_items")]
    if short_of:
        most = sorted(short_of, key=lambda pair: -pair[1])[:3]
        yield say("{n} too few items for a score of their own, most of all {names}: add that many, or report the total alone.", n=counted(len(short_of), "type") + (" has" if len(short_of) == 1 else " have"), names=listed([f"{kind} ({count:,} lacking)" for kind, count in most]))  # fmt: skip


def _leaks(audit: BenchmarkAudit) -> Iterator[Sentence]:
    estimate = find(audit, "solvability.leakage_cues", _leading(audit))
    if estimate is not None and estimate.value:
        cues = [str(c["cue"]) for c in estimate.detail.get("cues", ()) if c.get("leak")]
        yield say(
            "The right answer can be told from {cues}: shuffle or balance it.",
            cues=listed(cues) if cues else "the questions' form",
        )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
