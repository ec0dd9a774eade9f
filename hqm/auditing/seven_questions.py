"""What an audit answers: a code for each of the seven questions of a report, what is to be mended
and what that costs, and what both come to.

Nothing here is a sentence. Report, terminal and card put the same codes and counts into words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from types import MappingProxyType
from typing import Literal

from hqm.auditing.audit import Audit, BenchmarkAudit
from hqm.auditing.budget import AnswerCode, BudgetRow, Question, Remedy, RemedySeverity
from hqm.auditing.definitions import (
    contradictory_keys,
    findings_in_order,
    has_graded_items,
    leaks_shown,
    planned_contrasts,
    scored_answers,
    severity_of,
    wrong_keys,
)
from hqm.auditing.gate import check_against
from hqm.auditing.policy import Policy
from hqm.auditing.precision import (
    MoreItems,
    TotalPrecision,
    exceeded_limits,
    more_items,
    total_precision,
)
from hqm.imports.human_labels import by_people
from hqm.types import Estimate, Interval

AuditState = Literal["not_ready", "check", "too_little", "imprecise", "unseparated", "nothing"]
"""What an audit comes to: faults of the items that are shown, doubts alone, too little to say,
scores that are less exact than the policy asks, models of which no two are separated, or none of
these. No coefficient decides it: one of models that are alike is small on the best of items.
"""
REMEDIED_FINDINGS = frozenset(
    (
        "contradictory-label",
        "contradictory-twins",
        "blind-solvable",
        "leakage-cue",
        "giveaway-phrase",
        "label-by-position",
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
_MAX_UNSCORED = 0.01
_MIN_RESPONDENTS = 4
"""Respondents below which an audit says nothing of an order."""


def find_estimate(audit: BenchmarkAudit, indicator: str) -> Estimate | None:
    """The first estimate of an indicator by the leading metric; of `criterion`, with people."""
    metric = next(iter(audit.metrics), "")
    for estimate in audit.all_estimates:
        if estimate.indicator != indicator or estimate.metric != metric:
            continue
        needs_people = indicator.startswith("criterion.") and estimate.other
        if not needs_people or by_people(estimate):
            return estimate
    return None


# --- what to mend ---


def is_unread(remedy: Remedy) -> bool:
    """Return whether a remedy is about an audit of which no answer was read."""
    return remedy.what == "unscored" and remedy.severity == "fault"


def find_remedies(audit: BenchmarkAudit) -> tuple[Remedy, ...]:
    """Everything that is to be mended, the gravest first, and of equals the costliest.

    Where no answer was read, that comes first: what else was found rests on no answer.
    """
    order: Mapping[RemedySeverity, int] = {"fault": 0, "doubt": 1, "note": 2}
    remedies: list[Remedy] = []
    for find in (
        _keys,
        _two_keys,
        _leaks,
        _pictures,
        _repeats,
        _unscored,
        _types,
        _balance,
        _findings,
    ):
        remedies += find(audit)
    remedies.sort(
        key=lambda remedy: (
            not is_unread(remedy),
            order[remedy.severity],
            -(remedy.cost or 0.0),
        )
    )
    return tuple(remedies)


def _share(audit: BenchmarkAudit, items: float) -> float | None:
    """Return what so many items weigh in a score that is a mean over items."""
    if audit.n_items:
        return min(1.0, items / audit.n_items)
    return None


def _keys(audit: BenchmarkAudit) -> Iterator[Remedy]:
    keys = wrong_keys(audit)
    if not keys.has_wrong_keys:
        return
    if keys.expected is not None and keys.expected >= 1:
        expected = keys.expected
    else:
        expected = None
    count = len(keys.contradicted) or max(round(expected or 0), keys.count)
    if expected is None and keys.stands_out and not keys.contradicted:
        # the list is longer than what tests of single keys name, and gives no number
        count = 0
    is_certain = bool(keys.contradicted or keys.beyond_doubt)
    if has_graded_items(audit) and not keys.contradicted:
        names = [str(row["item"]) for row in audit.to_read if row.get("why") == "reversed"]
        yield Remedy(
            what="reversed",
            severity="fault" if is_certain else "doubt",
            count=count,
            names=tuple(names[:count]) or keys.items,
        )
        return
    yield Remedy(
        what="keys",
        severity="fault" if is_certain else "doubt",
        count=count,
        names=keys.contradicted or keys.items,
        cost=_share(audit, count) if count else None,
    )


def _two_keys(audit: BenchmarkAudit) -> Iterator[Remedy]:
    # In each group one key is wrong for certain, and no more: a group costs one item.
    groups = [contradiction.items for contradiction in contradictory_keys(audit)]
    if groups:
        yield Remedy(
            what="two_keys",
            severity="fault",
            count=len(groups),
            names=tuple(chain.from_iterable(groups)),
            cost=_share(audit, len(groups)),
        )


def _leaks(audit: BenchmarkAudit) -> Iterator[Remedy]:
    leaks = leaks_shown(audit)
    if not leaks:
        return
    # A type and a part that both leak share items, which count in each: the cost is at most this.
    gained = sum((leak.accuracy - leak.baseline) * (leak.items or audit.n_items) for leak in leaks)
    yield Remedy(
        what="leaks",
        severity="fault",
        count=len(leaks),
        names=tuple(leak.name for leak in leaks),
        cost=_share(audit, gained),
        by=", ".join(leaks[0].by[:2]),
        accuracy=leaks[0].accuracy,
        baseline=leaks[0].baseline,
    )


def _pictures(audit: BenchmarkAudit) -> Iterator[Remedy]:
    count = 0
    counts = []
    items: set[str] = set()
    images: list[str] = []
    for finding in audit.findings:
        if finding["name"] in _PICTURE_FINDINGS:
            n_pictures = int(finding.get("count") or 0)
            count += n_pictures
            counts.append(f"{n_pictures} {finding['name'].partition('-')[2]}")
            for row in finding.get("rows", ()):
                items.update(map(str, row.get("items", ())))
                images += map(str, row.get("images", ()))
    if not count:
        return
    yield Remedy(
        what="pictures",
        severity="fault",
        count=count,
        names=tuple(images),
        cost=_share(audit, len(items) or count),
        sentence=" and ".join(counts),
    )


_PICTURE_FINDINGS = ("image-missing", "image-broken")


def _repeats(audit: BenchmarkAudit) -> Iterator[Remedy]:
    estimate = find_estimate(audit, "items.duplicate_items")
    if estimate is None:
        return
    contradicted: set[str] = set()
    for contradiction in contradictory_keys(audit):
        contradicted.update(contradiction.items)
    extra: list[str] = []
    for group in estimate.detail.get("groups") or ():
        if not contradicted.intersection(group):
            # The first of a group is no repeat; groups with contradictory keys are remedied above.
            extra += map(str, group[1:])
    if extra:
        yield Remedy(
            what="repeats",
            severity="doubt",
            count=len(extra),
            names=tuple(extra),
            cost=_share(audit, len(extra)),
        )


def _unscored(audit: BenchmarkAudit) -> Iterator[Remedy]:
    scored = scored_answers(audit)
    if scored.share_unscored > _MAX_UNSCORED:
        yield Remedy(
            what="unscored",
            severity="fault" if scored.share_unscored >= 1 else "doubt",
            count=scored.unscored,
            cost=scored.share_unscored,
        )


def _types(audit: BenchmarkAudit) -> Iterator[Remedy]:
    empty = tuple(
        kind for kind, row in audit.coverage.items() if row["claimed"] and not row["items"]
    )
    if empty:
        yield Remedy(what="empty_types", severity="doubt", count=len(empty), names=empty)


def _balance(audit: BenchmarkAudit) -> Iterator[Remedy]:
    for finding in audit.findings:
        if finding["name"] == "unbalanced-labels":
            yield Remedy(
                what="balance",
                severity="note",
                count=1,
                sentence=str(finding["sentence"]),
                remedy=str(finding.get("remedy") or ""),
            )
            return


def _findings(audit: BenchmarkAudit) -> Iterator[Remedy]:
    """Yield what else the check of the data finds; what makes no score wrong is a note."""
    graves: Mapping[str, RemedySeverity] = {"error": "fault", "warning": "doubt", "note": "note"}
    # A place that is right too often is among the leaks where these are shown.
    remedied = REMEDIED_FINDINGS | ({"option-position"} if leaks_shown(audit) else set())
    for finding in findings_in_order(audit):
        severity = graves[severity_of(finding)]
        if finding["name"] in remedied or severity == "note":
            continue
        # Findings of the card, of wordings and of forms make no score wrong.
        if severity == "doubt" and str(finding.get("code"))[:1] in "CWF":
            severity = "note"
        yield Remedy(
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
    mend: tuple[Remedy, ...]
    state: AuditState


def seven_answers(audit: BenchmarkAudit, policy: Policy | None = None) -> SevenAnswers:
    """Return what an audit answers by a policy, the default one unless given."""
    policy = policy or Policy.load()
    remedies = find_remedies(audit)
    severities = {remedy.severity for remedy in remedies}
    gate = check_against(Audit((audit,)), policy)
    forecast = more_items(audit, policy)
    precision = total_precision(audit)
    codes: dict[Question, AnswerCode] = {
        "repeat": _repeat(audit, precision, policy),
        "wording": _wording(audit, policy),
        "people": _compare_with_goal(audit, "criterion.pearson", policy),
        "separate": _separate(audit, policy),
        "faulty": _examined(audit),
        "more": _items_answer(forecast),
        "quote": "fine" if gate.passed else "look",
    }
    if "fault" in severities:
        # What was found outranks that a search took place.
        codes["faulty"] = "wrong"
    elif "doubt" in severities:
        codes["faulty"] = "look"
    if "fault" in severities and not gate.passed:
        codes["quote"] = "wrong"
    # Where people's labels are the scores, there is no scorer to follow people.
    if audit.scoring == "people":
        codes["people"] = "fine"
    return SevenAnswers(codes, remedies, _state(audit, codes, precision, policy))


def add_answers(audit: BenchmarkAudit) -> BenchmarkAudit:
    """Return an audit that holds its answers by the default policy."""
    answers = seven_answers(audit)
    return replace(audit, mend=answers.mend, answers=answers.codes)


def threshold_of(indicator: str, policy: Policy) -> tuple[float, str]:
    """Return what a policy asks of an indicator and of which interval; else what the default
    does.
    """
    requirement = next(
        requirement
        # the default policy asks something of every indicator that a question rests on
        for requirement in (*policy.require, *Policy.load().require)
        if requirement.indicator == indicator
        and requirement.rule == "at_least"
        and requirement.interval
    )
    return requirement.bound, requirement.interval


def _interval(estimate: Estimate, inference: str) -> Interval | None:
    """Return the interval of this inference, or the first other one that there is."""
    for name in (inference, "fixed_models", "model_population"):
        interval = estimate.interval(name)
        if interval is not None:
            return interval
    return None


def _compare_with_goal(audit: BenchmarkAudit, indicator: str, policy: Policy) -> AnswerCode:
    """Return whether the interval of a coefficient, of the inference that the policy names, is
    shown to reach its goal.

    One that does not is looked at and never called wrong: among models that are alike it is small,
    whatever the benchmark is.
    """
    estimate = find_estimate(audit, indicator)
    if estimate is None or estimate.value is None or estimate.status == "not_informative":
        return "not_measured"
    goal, inference = threshold_of(indicator, policy)
    interval = estimate.interval(inference)
    if interval is None:
        return "not_shown"
    # By the end of the interval and not by the estimate: a tick is a demonstration.
    if interval.low >= goal:
        return "fine"
    # An upper end that does not exist is not below the goal, which NaN compares as too.
    if interval.high < goal:
        return "look"
    return "not_shown"


def _repeat(audit: BenchmarkAudit, precision: TotalPrecision, policy: Policy) -> AnswerCode:
    """Return whether the error that another seed makes keeps within the policy's limit."""
    rho = find_estimate(audit, "test_retest.rho_g")
    if rho is None:
        return _repeat_by_judge(audit, precision, policy)
    if precision.run_error is None or rho.status == "not_informative":
        return "not_measured"
    limit = policy.precision.error
    if precision.within(precision.run_error_high, limit):
        return "fine"
    # The estimate is within and its upper end is not, or one of them is not known.
    if precision.within(precision.run_error, limit) is not False:
        return "not_shown"
    return "look"


def _repeat_by_judge(
    audit: BenchmarkAudit, precision: TotalPrecision, policy: Policy
) -> AnswerCode:
    """Return whether another judge of the same answers shifts scores by more than what the policy
    calls equal, where nothing was asked again.
    """
    budget = audit.budget.get(next(iter(audit.metrics), ""))
    row = budget.row("judge") if budget is not None else None
    if row is None or row.low is None or row.high is None:
        return "not_measured"
    return "look" if shifts_scores(row, precision, policy) else "not_shown"


def shifts_scores(row: BudgetRow, precision: TotalPrecision, policy: Policy) -> bool:
    """Return whether a source is shown to shift scores by more than what a policy calls equal."""
    limit = policy.limits.equal_within * (precision.scale or 0.0)
    return row.excludes_zero and abs(row.shift or 0.0) > limit


def _items_answer(forecast: MoreItems) -> AnswerCode:
    """Return whether these items are enough for the difference that the policy names, and types."""
    if not forecast.measured:
        return "not_measured"
    need = forecast.need("difference")
    are_items_enough = need is not None and need.items == 0
    if are_items_enough and not forecast.types and not forecast.unhelped:
        return "fine"
    return "look"


def _wording(audit: BenchmarkAudit, policy: Policy) -> AnswerCode:
    """Return whether a wording moves the scores, in points: `fine` where the mean and each model
    are shown to move less than the policy's limits, `wrong` where the mean is shown to move more.

    The mean over several wordings is also compared with the goal of its agreement with others.
    """
    budget = audit.budget.get(next(iter(audit.metrics), ""))
    rows = budget.rows if budget is not None else ()
    codes: set[AnswerCode] = set()
    for row in rows:
        if row.source in ("wording", "negation") and row.shift is not None:
            codes.add(_wording_code(audit, row, policy))
    if not codes:
        return "not_measured"
    # The worst of the wordings and negations answers for all.
    order: tuple[AnswerCode, ...] = ("wrong", "look", "not_shown", "fine")
    code = min(codes, key=order.index)
    phi = find_estimate(audit, "parallel_forms.phi_of_forms")
    if code == "fine" and phi is not None and phi.value is not None and phi.detail.get("decides"):
        return _compare_with_goal(audit, "parallel_forms.phi_of_forms", policy)
    return code


def _wording_code(audit: BenchmarkAudit, row: BudgetRow, policy: Policy) -> AnswerCode:
    """Return on which side of the policy's margin the shift by one kind of wording lies."""
    scale = total_precision(audit).scale
    margin = shift_margin(policy)
    if row.low is None or row.high is None or scale is None:
        return "not_shown"
    limit = margin * scale
    if row.low > limit or row.high < -limit:
        return "wrong"
    if not (-limit <= row.low and row.high <= limit):
        return "not_shown"
    is_order_kept = row.half is not None and row.half <= policy.precision.difference * scale
    if is_order_kept:
        return "fine"
    return "look"


def shift_margin(policy: Policy) -> float:
    """Return the shift by other wordings that a policy allows, as a share of the scale; else what
    the default one does.
    """
    return next(
        requirement.bound
        for requirement in (*policy.require, *Policy.load().require)
        if requirement.indicator == "parallel_forms.mean_shift" and requirement.rule == "within"
    )


def _separate(audit: BenchmarkAudit, policy: Policy) -> AnswerCode:
    """Return whether it is shown of all neighbours, of some, or of none, that they differ or are
    equal.

    Models that are alike are no fault of the benchmark.
    """
    share = find_estimate(audit, "discriminability.separable_pairs")
    if share is None or share.value is None:
        return "not_measured"
    contrasts = planned_contrasts(audit, policy.limits.equal_within)
    n_shown = sum(contrast.outcome != "not_known" for contrast in contrasts)
    # An audit of version 0.2.0 has no planned contrasts: its share of separable pairs stands for
    # them.
    separated_share = n_shown / len(contrasts) if contrasts else share.value
    if separated_share == 1:
        return "fine"
    if separated_share > 0:
        return "look"
    return "not_shown"


def _examined(audit: BenchmarkAudit) -> AnswerCode:
    """Return `fine` where nothing was found and a test would have found wrong keys, `not_shown`
    where only the reading list would have ranked them first: it tests none.

    A caption has no key that answers could contradict: there nothing was searched.
    """
    for name, code in _SEARCHES.items():
        estimate = find_estimate(audit, name)
        if estimate is not None and estimate.status == "ok":
            return code
    return "not_measured"


_SEARCHES: Mapping[str, AnswerCode] = MappingProxyType(
    {"items.label_errors": "fine", "items.reading_list": "not_shown"}
)


def _state(
    audit: BenchmarkAudit,
    codes: Mapping[Question, AnswerCode],
    precision: TotalPrecision,
    policy: Policy,
) -> AuditState:
    """Return the verdict of an audit; only faults of the items make it not ready."""
    # Faults of the items come first: what scores of wrong items show is no news of the models.
    if codes["faulty"] == "wrong":
        return "not_ready"
    if codes["faulty"] == "look":
        return "check"
    if len(audit.respondents) < _MIN_RESPONDENTS or codes["faulty"] == "not_measured":
        return "too_little"
    if exceeded_limits(precision, policy):
        return "imprecise"
    contrasts = planned_contrasts(audit, policy.limits.equal_within)
    is_any_different = any(contrast.outcome == "differ" for contrast in contrasts)
    if precision.n_pairs and not precision.n_separated and not is_any_different:
        return "unseparated"
    return "nothing"
