"""The three most important repairs, chosen by fixed rules from the estimates, the flags and what was not measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from hqm.reports.phrases import Sentence, counted, have, listed, say
from hqm.reports.score_tables import shares
from hqm.reports.tables import cell, estimate_percent, estimate_text, find, number, percent, short

from hqm import BenchmarkAudit, Cell, unscored

MOST = 3


def to_fix(audit: BenchmarkAudit, most: int = MOST) -> tuple[Sentence, ...]:
    """What to do first.

    The order is fixed: answers that were not scored, right answers that can be guessed without the picture, scores that
    disagree with people's labels, scores that another wording or seed changes, items that look wrong, too few respondents,
    what was not measured, too few items of a type, and cues that give the answer away.
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


def _lost(audit: BenchmarkAudit) -> Iterator[Sentence]:
    total, lost = shares(audit)
    if total and lost / total > 0.01:
        worst = max(
            audit.respondents,
            key=lambda row: sum(map(unscored, row.states.values())),
        )  # fmt: skip
        yield say("{share} of the answers were not scored; {who} gave the most of them. Read them, then make the parser accept them or ask again.", share=percent(lost / total, 1), who=short(worst.name))  # fmt: skip


def _contradictions(audit: BenchmarkAudit) -> Iterator[Sentence]:
    estimate = find(audit, "items.duplicate_items", _leading(audit))
    groups = estimate.detail.get("contradictory", ()) if estimate is not None else ()
    if groups:
        yield say("In {n}, the same question about the same picture has two different right answers, for example in items {names}. Correct one of them.", n=counted(len(groups), "place"), names=listed([str(i) for i in groups[0]]))  # fmt: skip


def _blind(audit: BenchmarkAudit) -> Iterator[Sentence]:
    estimate = find(audit, "solvability.blind_accuracy", _leading(audit))
    if estimate is None or estimate.value is None:
        return
    gain, p, base = (estimate.detail.get(name) for name in ("gain", "p", "baseline"))
    if gain is not None and p is not None and gain > 0.05 and p < 0.05:
        yield say("From the words alone, without the picture, {share} of the answers can be guessed; always giving the most frequent answer reaches {base}. Balance the wordings so that they do not predict the answers.", share=estimate_percent(estimate), base=percent(base))  # fmt: skip


def _criterion(audit: BenchmarkAudit) -> Iterator[Sentence]:
    for r in audit.estimates:
        if r.indicator != "criterion.pearson" or r.metric != _leading(audit) or r.value is None:
            continue
        spread = r.interval("model_population") or r.interval("fixed_models")
        if r.value < 0.7 or (spread is not None and spread.high < 0.9):
            yield say("The scores correlate only {r} with the labels of “{judge}”. Read the answers on which they disagree (under Examples) and correct the scorer.", judge=Cell.parse(r.other).judge, r=r)  # fmt: skip


def _wording(audit: BenchmarkAudit) -> Iterator[Sentence]:
    metric = _leading(audit)
    for estimate in audit.estimates:
        if estimate.metric != metric or estimate.value is None:
            continue
        if estimate.indicator == "parallel_forms.balanced_score" and "NON_PARALLEL" in estimate.flags:
            below = [short(str(name)) for name in estimate.detail.get("below_chance", ())]
            yield say("In the form “{form}”, these respondents answered worse than chance: {who}. They do not handle the wording, so read the forms side by side, not as one score.", form=cell(estimate.other), who=listed(below) if below else "some respondents")  # fmt: skip
        elif estimate.indicator == "parallel_forms.icc_a1" and estimate.value < 0.9:
            shift = estimate.detail.get("shift")
            moved = f", and the mean changes by {number(shift)}" if isinstance(shift, (int, float)) else ""
            yield say("The wording of the form “{form}” changes the scores: their agreement, ICC(A,1), is {icc}{moved}. Report both forms, or their mean.", form=cell(estimate.other), icc=estimate, moved=moved)  # fmt: skip


def _seeds(audit: BenchmarkAudit) -> Iterator[Sentence]:
    metric = _leading(audit)
    gain, rho = find(audit, "test_retest.gain", metric), find(audit, "test_retest.rho_g", metric)
    if gain is not None and gain.value is not None and "NOISE_FLOOR" in gain.flags:
        yield say("The scores repeat little better than coin flips would: their reliability lies only {gain} of the way from coin flips to identical answers. Average several seeds, or add items.", gain=estimate_percent(gain))  # fmt: skip
    elif rho is not None and rho.value is not None and rho.status == "ok" and rho.value < 0.9:
        yield say(
            "The reliability of one run is only {rho}. Average several seeds, or add items (see the D-study).", rho=rho
        )


def _items(audit: BenchmarkAudit) -> Iterator[Sentence]:
    metric = _leading(audit)
    for statistic, what, remedy in (
        (
            "label_errors",
            "Items that look mislabelled, because strong respondents fail them and weak ones pass",
            "Read their labels.",
        ),
        ("negative_items", "Items that work against the rest of the test", "Read or drop them."),
        ("duplicate_items", "Items that occur more than once", "Drop the repeats."),
    ):
        estimate = find(audit, f"items.{statistic}", metric)
        if estimate is None or not estimate.value:
            continue
        names = [str(row.get("item")) for row in estimate.detail.get("candidates", ())] or list(
            map(str, estimate.detail.get("items", ()))
        )
        such = f" ({listed(names[:3])}{', …' if len(names) > 3 else ''})" if names else ""
        yield say("{what}: {n}{such}. {remedy}", what=what, n=estimate, such=such, remedy=remedy)


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
            "{who} " + verb + " no better than answers given without looking at the picture ({level}). Read the ranking without such respondents, or add easier items.",
            who=listed(below), level=level,
        )  # fmt: skip


def _few(audit: BenchmarkAudit) -> Iterator[Sentence]:
    for flag in audit.flags:
        if flag["metric"] == _leading(audit) and flag["flag"] == "FEW_MODELS":
            yield say(
                "There are only {what}, so every interval for other respondents is wide. Audit 20 or more.",
                what=str(flag["sentence"]),
            )


def _unmeasured(audit: BenchmarkAudit) -> Iterator[Sentence]:
    families = {estimate.indicator.partition(".")[0] for estimate in audit.estimates}
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
    index = find(audit, "types.index", _leading(audit))
    rows = index.detail.get("types", ()) if index is not None else ()
    short_of = [(str(r["type"]), int(r["missing_items"])) for r in rows if r.get("items") and r.get("missing_items")]
    if short_of:
        most = sorted(short_of, key=lambda pair: -pair[1])[:3]
        yield say("{n} too few items for a score of their own, most of all {names}. Add that many items, or report only the total.", n=counted(len(short_of), "type") + f" {have(len(short_of))}", names=listed([f"{kind} ({count:,} missing)" for kind, count in most]))  # fmt: skip


def _leaks(audit: BenchmarkAudit) -> Iterator[Sentence]:
    estimate = find(audit, "solvability.leakage_cues", _leading(audit))
    if estimate is not None and estimate.value:
        cues = [str(c["cue"]) for c in estimate.detail.get("cues", ()) if c.get("leak")]
        yield say(
            "The right answer can be predicted from {cues}. Shuffle or balance what gives it away.",
            cues=listed(cues) if cues else "the form of the questions",
        )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
