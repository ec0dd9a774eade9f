"""What an audit answers: a code for each of the seven questions of a report, what is to be mended
and what that costs, and what both come to.

Nothing here is a sentence. Report, terminal and card put the same codes and counts into words.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from hqm.auditing.audit import Audit, BenchmarkAudit
from hqm.auditing.budget import AnswerCode, Mend, MendSeverity, Question
from hqm.auditing.definitions import (
    contradictory_keys,
    findings_in_order,
    leaks_shown,
    scored_answers,
    severity_of,
    types_measured,
    wrong_keys,
)
from hqm.auditing.gate import hold_against
from hqm.auditing.policy import Policy
from hqm.imports.human_labels import labelled_by
from hqm.psychometrics.consistency import lengthening
from hqm.types import Cell, Estimate, Interval

AuditState = Literal["not_ready", "check", "nothing", "too_little"]
"""What an audit comes to: faults that are shown, doubts alone, items that were examined and are
clean, or too little to say.
"""
TOLD = frozenset(
    (
        "contradictory-label",
        "contradictory-twins",
        "blind-solvable",
        "leakage-cue",
        "giveaway-phrase",
        "label-by-position",
        "option-position",
        "unbalanced-labels",
        "image-missing",
        "image-broken",
        "type-without-items",
        "type-not-measurable",
        "duplicate-question",
    )
)
"""Findings that are among the things to mend under a name of their own, or are limits of a
study.
"""
_MANY_UNSCORED = 0.01
_FEWEST = 4
"""Respondents below which an audit says nothing of an order."""


def find(audit: BenchmarkAudit, indicator: str) -> Estimate | None:
    """The first estimate of an indicator by the leading metric; of `criterion`, with people."""
    metric = next(iter(audit.metrics), "")
    for estimate in audit.all_estimates:
        if (estimate.indicator, estimate.metric) == (indicator, metric) and not (
            indicator.startswith("criterion.")
            and estimate.other
            and labelled_by(Cell.parse(estimate.other.partition(" & ")[0]).judge) != "people"
        ):
            return estimate
    return None


# --- what to mend ---


def to_mend(audit: BenchmarkAudit) -> tuple[Mend, ...]:
    """Everything that is to be mended, the gravest first, and of equals the costliest."""
    order: Mapping[MendSeverity, int] = {"fault": 0, "doubt": 1, "note": 2}
    every = [*_keys(audit), *_two_keys(audit), *_leaks(audit), *_pictures(audit)]
    every += [*_repeats(audit), *_unscored(audit), *_types(audit), *_balance(audit)]
    every += _findings(audit)
    return tuple(sorted(every, key=lambda mend: (order[mend.severity], -(mend.cost or 0.0))))


def _share(audit: BenchmarkAudit, items: float) -> float | None:
    """Return what so many items weigh in a score that is a mean over items."""
    return min(1.0, items / audit.n_items) if audit.n_items else None


def _keys(audit: BenchmarkAudit) -> Iterator[Mend]:
    of = wrong_keys(audit)
    if not of.shown:
        return
    expected = of.expected if of.expected is not None and of.expected >= 1 else None
    count = len(of.contradicted) or round(expected or 0) or of.count
    sure = bool(of.contradicted or of.beyond_doubt)
    yield Mend(
        what="keys",
        severity="fault" if sure else "doubt",
        count=count,
        names=of.contradicted or of.named,
        cost=_share(audit, count) if count else None,
    )


def _two_keys(audit: BenchmarkAudit) -> Iterator[Mend]:
    groups = contradictory_keys(audit)
    if groups:
        yield Mend(
            what="two_keys",
            severity="fault",
            count=len(groups),
            names=tuple(item for group in groups for item in group.items),
            cost=_share(audit, len(groups)),
        )


def _leaks(audit: BenchmarkAudit) -> Iterator[Mend]:
    leaks = leaks_shown(audit)
    of_place = [
        str(row.get("type") or row.get("part"))
        for finding in audit.findings
        if finding["name"] == "option-position"
        for row in finding.get("rows", ())
    ]
    names = tuple(dict.fromkeys((*(leak.name for leak in leaks), *of_place)))
    if not names:
        return
    first = leaks[0] if leaks else None
    gained = 0.0
    for leak in leaks:
        items = (audit.coverage.get(leak.type) or {}).get("items", audit.n_items)
        gained += (leak.accuracy - leak.baseline) * items
    yield Mend(
        what="leaks",
        severity="fault",
        count=len(names),
        names=names,
        cost=_share(audit, gained) if first is not None else None,
        by=", ".join(first.by[:2]) if first is not None else "the place of the right option",
        accuracy=first.accuracy if first is not None else None,
        baseline=first.baseline if first is not None else None,
    )


def _pictures(audit: BenchmarkAudit) -> Iterator[Mend]:
    faulty = [f for f in audit.findings if f["name"] in ("image-missing", "image-broken")]
    rows = [row for finding in faulty for row in finding.get("rows", ())]
    count = sum(int(finding.get("count") or 0) for finding in faulty)
    if count:
        items = {str(item) for row in rows for item in row.get("items", ())}
        yield Mend(
            what="pictures",
            severity="fault",
            count=count,
            names=tuple(str(image) for row in rows for image in row.get("images", ())),
            cost=_share(audit, len(items) or count),
            sentence=" and ".join(
                f"{int(finding.get('count') or 0)} {finding['name'].partition('-')[2]}"
                for finding in faulty
            ),
        )


def _repeats(audit: BenchmarkAudit) -> Iterator[Mend]:
    estimate = find(audit, "items.duplicate_items")
    against = {item for group in contradictory_keys(audit) for item in group.items}
    groups = (estimate.detail.get("groups") or ()) if estimate is not None else ()
    extra = [str(item) for group in groups if not against.intersection(group) for item in group[1:]]
    if extra:
        yield Mend(
            what="repeats",
            severity="doubt",
            count=len(extra),
            names=tuple(extra),
            cost=_share(audit, len(extra)),
        )


def _unscored(audit: BenchmarkAudit) -> Iterator[Mend]:
    of = scored_answers(audit)
    if of.share_unscored > _MANY_UNSCORED:
        yield Mend(what="unscored", severity="doubt", count=of.unscored, cost=of.share_unscored)


def _types(audit: BenchmarkAudit) -> Iterator[Mend]:
    empty = tuple(
        kind for kind, row in audit.coverage.items() if row["claimed"] and not row["items"]
    )
    if empty:
        yield Mend(what="empty_types", severity="doubt", count=len(empty), names=empty)


def _balance(audit: BenchmarkAudit) -> Iterator[Mend]:
    for finding in audit.findings:
        if finding["name"] == "unbalanced-labels":
            yield Mend(
                what="balance",
                severity="note",
                count=1,
                sentence=str(finding["sentence"]),
                remedy=str(finding.get("remedy") or ""),
            )
            return


def _findings(audit: BenchmarkAudit) -> Iterator[Mend]:
    """Yield what else the check of the data finds; what makes no score wrong is a note."""
    graves: Mapping[str, MendSeverity] = {"error": "fault", "warning": "doubt", "note": "note"}
    for finding in findings_in_order(audit):
        severity = graves[severity_of(finding)]
        if finding["name"] in TOLD or severity == "note":
            continue
        if severity == "doubt" and str(finding.get("code"))[:1] in "CWF":
            severity = "note"
        yield Mend(
            what="finding",
            severity=severity,
            count=int(finding.get("count") or 0),
            names=(str(finding["name"]),),
            sentence=str(finding["sentence"]),
            remedy=str(finding.get("remedy") or ""),
        )


# --- the seven questions ---


@dataclass(frozen=True, slots=True)
class SevenAnswers:
    """The code of each question, what is to be mended, and what they come to."""

    codes: dict[Question, AnswerCode]
    mend: tuple[Mend, ...]
    state: AuditState


@dataclass(frozen=True, slots=True)
class MoreItems:
    """How many more items, or how many runs, the goals of a policy take.

    `items` and `runs` bring the reliability of the total to its goal: 0 where it is reached, None
    where nothing can, or where it was not measured. `types` has what each type lacks.
    """

    measured: bool
    items: int | None
    runs: int | None
    types: Mapping[str, int]

    @property
    def for_types(self) -> int:
        """How many more items all types together take."""
        return sum(self.types.values())


def seven_answers(audit: BenchmarkAudit, policy: Policy | None = None) -> SevenAnswers:
    """Return what an audit answers by a policy, the default one unless given."""
    policy = policy or Policy.load()
    mend = to_mend(audit)
    of_items: dict[MendSeverity, AnswerCode] = {"fault": "wrong", "doubt": "look"}
    grave = [of_items[each.severity] for each in mend if each.severity in of_items]
    gate = hold_against(Audit((audit,)), policy)
    more = more_items(audit, policy)
    codes: dict[Question, AnswerCode] = {
        "repeat": _against(audit, "test_retest.rho_g", policy),
        "wording": _wording(audit, policy),
        "people": _against(audit, "criterion.pearson", policy),
        "separate": _separate(audit),
        "faulty": min(grave, key=["wrong", "look"].index) if grave else _examined(audit),
        "more": "look" if more.for_types or more.items != 0 else "fine",
        "quote": "fine" if gate.passed else "wrong" if "wrong" in grave else "look",
    }
    if not more.measured:
        codes["more"] = "not_measured"
    if audit.scoring == "people":
        codes["people"] = "fine"
    return SevenAnswers(codes, mend, _state(audit, codes))


def with_answers(audit: BenchmarkAudit) -> BenchmarkAudit:
    """Return an audit that holds its answers by the default policy."""
    answered = seven_answers(audit)
    return replace(audit, mend=answered.mend, answers=answered.codes)


def threshold_of(indicator: str, policy: Policy) -> tuple[float, str]:
    """Return what a policy asks of an indicator and of which interval; else what the default
    does.
    """
    for asking in (policy, Policy.load()):
        for wanted in asking.require:
            if wanted.indicator == indicator and wanted.at_least is not None and wanted.interval:
                return wanted.at_least, wanted.interval
    return 0.9, "fixed_models"


def _interval(estimate: Estimate, inference: str) -> Interval | None:
    order = (inference, "fixed_models", "model_population")
    return next((span for name in order if (span := estimate.interval(name)) is not None), None)


def _against(audit: BenchmarkAudit, indicator: str, policy: Policy) -> AnswerCode:
    """Return on which side of its goal the interval of an estimate lies."""
    estimate = find(audit, indicator)
    if estimate is None or estimate.value is None or estimate.status == "not_informative":
        return "not_measured"
    goal, inference = threshold_of(indicator, policy)
    span = _interval(estimate, inference)
    if span is None:
        return "look"
    high = math.inf if math.isnan(span.high) else span.high
    return "fine" if span.low >= goal else "wrong" if high < goal else "look"


def _wording(audit: BenchmarkAudit, policy: Policy) -> AnswerCode:
    """Return whether a wording moves the scores: a shown shift, or an agreement below its goal.

    Two wordings answer for exactly these two; several, for the mean of as many others like them.
    """
    goal, _ = threshold_of("parallel_forms.phi_of_forms", policy)
    several = find(audit, "parallel_forms.phi_of_forms")
    if several is not None and several.value is not None and several.detail.get("decides"):
        low = several.interval("model_population")
        enough = low is not None and low.low >= goal
        return "fine" if enough else "wrong" if several.value < goal else "look"
    agreement = find(audit, "parallel_forms.icc_a1")
    budget = audit.budget.get(next(iter(audit.metrics), ""))
    rows = [row for row in budget.rows if row.source in ("wording", "negation")] if budget else []
    moved = any(row.shown for row in rows)
    if agreement is None or agreement.value is None:
        return "look" if moved else "not_measured"
    span = _interval(agreement, "fixed_models")
    if span is not None and span.high < goal:
        return "wrong"
    return "look" if moved or span is None or span.low < goal else "fine"


def _separate(audit: BenchmarkAudit) -> AnswerCode:
    share = find(audit, "discriminability.separable_pairs")
    if share is None or share.value is None:
        return "not_measured"
    return "fine" if share.value == 1 else "look" if share.value > 0 else "wrong"


def _examined(audit: BenchmarkAudit) -> AnswerCode:
    """Return `fine` where nothing was found and a search would have found wrong keys."""
    if audit.task == "caption":
        # a caption has no key that answers could speak against: the check of the data is all
        return "fine"
    tested, listed = find(audit, "items.label_errors"), find(audit, "items.reading_list")
    searched = any(e is not None and e.status == "ok" for e in (tested, listed))
    return "fine" if searched else "not_measured"


def more_items(audit: BenchmarkAudit, policy: Policy) -> MoreItems:
    """Return how many more items or runs the goals take.

    The reliability grows as Spearman and Brown say, from the end of the interval that the policy
    holds; a type grows until its standard error is small enough.
    """
    estimate, items, runs = find(audit, "test_retest.rho_g"), None, None
    known = estimate is not None and estimate.value is not None and estimate.status == "ok"
    if estimate is not None and known:
        goal, inference = threshold_of("test_retest.rho_g", policy)
        span = _interval(estimate, inference)
        if span is not None and span.low >= goal:
            items = 0
        elif span is not None and 0 < span.low < 1:
            factor = lengthening(span.low, goal)
            items = math.ceil(estimate.n_items * factor - 1e-9) - estimate.n_items
            runs = math.ceil(factor - 1e-9)
    index = find(audit, "types.index")
    estimated = {row["type"] for row in (index.detail.get("types") or ())} if index else set()
    types = {
        row.type: row.missing
        for row in types_measured(audit)
        if row.items and row.type in estimated and not (row.measurable or row.at_chance)
    }
    return MoreItems(bool(known or estimated), items, runs, types)


def _state(audit: BenchmarkAudit, codes: Mapping[Question, AnswerCode]) -> AuditState:
    if codes["faulty"] == "wrong" or codes["repeat"] == "wrong":
        return "not_ready"
    if codes["faulty"] == "look":
        return "check"
    if len(audit.respondents) < _FEWEST or codes["faulty"] == "not_measured":
        return "too_little"
    return "nothing"
