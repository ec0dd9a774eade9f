"""The gate: does an audit meet a policy? Thresholds are compared with interval ends, and what was
not measured fails.

By rule, an estimate without the interval that the policy names is NOT MEASURED; only counts
(`exact`) are compared with a threshold without one. Every test that does not pass ends with what to
do.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from operator import itemgetter
from typing import Literal
from xml.etree import ElementTree

from hqm.auditing.audit import Audit, BenchmarkAudit
from hqm.auditing.definitions import (
    LeakShown,
    StratumRow,
    TypeMeasured,
    findings_counted,
    findings_in_order,
    leak_rows,
    leaks_shown,
    scale_width,
    scored_answers,
    severity_of,
    types_measured,
    who_labelled,
    wrong_keys,
)
from hqm.auditing.policy import (
    Advice,
    Coverage,
    Policy,
    Requirement,
    count_advice,
    default_text,
    facet_advice,
    labels_advice,
    leak_advice,
    missing_interval_advice,
    precision_advice,
    threshold_advice,
    unmeasured_advice,
    unscored_advice,
    weak_search_advice,
    wordings_advice,
)
from hqm.auditing.precision import passing, total_precision
from hqm.auditing.score_points import SHARE_POINTS, Points, is_score, unit_of_estimate
from hqm.benchmark.findings import CODES
from hqm.scoring.rules import advice_on_cut
from hqm.text import annotation, visible
from hqm.types import CLOSED_TASKS, Estimate

Outcome = Literal["PASS", "FAIL", "UNDECIDED", "NOT MEASURED"]
_RANKS = {"none": 0, "note": 1, "warning": 2, "error": 3}
_INFERENCE_LABELS = {
    "fixed_models": "these respondents, other items",
    "model_population": "other respondents",
}


@dataclass(frozen=True, slots=True)
class Test:
    """One requirement compared with one audit."""

    # Its name begins with Test, so that pytest would collect it.
    __test__ = False

    benchmark: str
    what: str
    outcome: Outcome
    sentence: str
    """What was found against what was asked for."""
    reason: str = ""
    """Why the policy asks for it."""
    end: float | None = None
    """The number that was compared with the threshold."""
    remedy: str = ""
    """What to do; empty for what passed."""
    needed: float | None = None
    """How many items, respondents or answers the remedy needs, if that is known."""
    required: bool = True
    """Whether the gate fails where this was not measured or cannot be decided."""

    @property
    def passed(self) -> bool:
        """Whether the test passed, or had no result and is not required."""
        is_open = self.outcome in ("UNDECIDED", "NOT MEASURED")
        return self.outcome == "PASS" or (is_open and not self.required)


@dataclass(frozen=True)
class Gate:
    """Every test of a policy on an audit.

    Parameters
    ----------
    policy
        The name of the policy.
    tests
        One for each condition and benchmark.
    """

    policy: str
    tests: tuple[Test, ...]

    @property
    def passed(self) -> bool:
        """Whether all passed; an audit of nothing does not."""
        return bool(self.tests) and all(test.passed for test in self.tests)

    def to_dict(self) -> dict[str, object]:
        """Return the gate as JSON data."""
        return {
            "policy": self.policy,
            "passed": self.passed,
            "tests": list(map(asdict, self.tests)),
        }

    def junit(self) -> str:
        """Return the tests as JUnit XML, a suite for each benchmark.

        What was not measured is a failure of that type.
        """
        root = ElementTree.Element("testsuites", name=f"hqm gate: {self.policy}")
        for name in dict.fromkeys(test.benchmark for test in self.tests):
            tests = [test for test in self.tests if test.benchmark == name]
            failed = sum(not test.passed for test in tests)
            # A suite for each benchmark, since build servers sum up by suites.
            suite = ElementTree.SubElement(
                root, "testsuite", name=name, tests=str(len(tests)), failures=str(failed)
            )
            for test in tests:
                case = ElementTree.SubElement(suite, "testcase", classname=name, name=test.what)
                if not test.passed:
                    # JUnit has failures and skipped tests; a skipped one would let a build pass
                    # unmeasured.
                    kind = test.outcome.lower().replace(" ", "-")
                    explanation = "\n".join(filter(None, (test.reason, test.remedy)))
                    ElementTree.SubElement(
                        case, "failure", message=test.sentence, type=kind
                    ).text = explanation
        ElementTree.indent(root)
        # XML 1.0 has no place for control characters, which answers and item ids may hold.
        return (
            "<?xml version='1.0'"
            f" encoding='utf-8'?>\n{visible(ElementTree.tostring(root, encoding='unicode'))}\n"
        )

    def annotations(self) -> Iterator[str]:
        """Return a GitHub workflow command for every test that did not pass."""
        for test in self.tests:
            if not test.passed:
                message = f"{test.outcome}: {test.sentence}. {test.remedy}"
                yield annotation("error", f"{test.benchmark}: {test.what}", message)


def check_against(audit: Audit, policy: Policy) -> Gate:
    """Hold an audit against a policy."""
    tests: list[Test] = []
    for benchmark in audit.audits:
        tests += _tests(benchmark, policy)
    return Gate(policy.name, tuple(tests))


def _tests(benchmark: BenchmarkAudit, policy: Policy) -> Iterator[Test]:
    for facet in policy.required.facets:
        yield _facet(benchmark, facet)
    yield from _size(benchmark, policy)
    yield _unscored(benchmark, policy.limits.unscored)
    yield from _findings(benchmark, policy.limits.findings)
    is_closed = benchmark.task in CLOSED_TASKS
    # Of open answers chance is no share that a guess could beat, unless the audit guessed them.
    # Audits of older versions did not guess open answers.
    is_guessed = is_closed or (benchmark.task == "vqa" and bool(leak_rows(benchmark)))
    # No gain exceeds 1: a limit of 1 turns the test off.
    if policy.limits.leak < 1 and is_guessed:
        yield from _leaks(benchmark, policy.limits.leak)
    if policy.limits.leak_found < 1 and is_closed:
        yield from _search(benchmark, policy.limits.leak_found, policy.coverage.by_type)
    if policy.coverage.claimed:
        yield from _coverage(benchmark, policy.coverage)
    yield from _precision(benchmark, policy)
    if policy.passing.score:
        yield _passing(benchmark, policy.passing.score, policy.passing.consistency)
    for requirement in policy.require:
        if not requirement.tasks or benchmark.task in requirement.tasks:
            yield from _threshold(benchmark, requirement)


def _test(
    benchmark: BenchmarkAudit,
    name: str,
    passes: bool,
    sentence: str,
    reason: str = "",
    end: float | None = None,
    remedy: Advice | None = None,
) -> Test:
    if passes or remedy is None:
        return Test(benchmark.benchmark, name, "PASS" if passes else "FAIL", sentence, reason, end)
    return Test(benchmark.benchmark, name, "FAIL", sentence, reason, end, remedy.text, remedy.count)


_NO_SCALE = "the metric has no scale of two ends, of which the limit is a share"


def _absent(
    benchmark: BenchmarkAudit,
    name: str,
    sentence: str,
    remedy: Advice,
    reason: str = "",
    required: bool = True,
) -> Test:
    return Test(
        benchmark.benchmark,
        name,
        "NOT MEASURED",
        sentence,
        reason,
        None,
        remedy.text,
        remedy.count,
        required,
    )


_ABSENT_FACETS = {
    "run": "no second run was recorded",
    "form": "no other wording was asked",
    "judge": "neither people nor another judge judged the answers",
}


def _facet(benchmark: BenchmarkAudit, facet: str) -> Test:
    """Test that a facet was varied. An oracle is no other judge: it reads the scorer's key."""
    name = f"facet {facet}"
    estimates = [
        estimate
        for estimate in benchmark.all_estimates
        if estimate.facet == facet
        and estimate.value is not None
        and not estimate.indicator.startswith("oracle.")
    ]
    if not estimates:
        oracles = who_labelled(benchmark).by_oracles if facet == "judge" else ()
        oracle_note = f" (a rule labelled them: {', '.join(oracles)})" if oracles else ""
        sentence = f"{_ABSENT_FACETS.get(facet, f'no other {facet} was recorded')}{oracle_note}"
        return _absent(benchmark, name, sentence, facet_advice(facet))
    # One comparison gives many estimates, all with the same other administration; those of several
    # administrations together name each of them.
    compared: set[str] = set()
    for estimate in estimates:
        compared.update(estimate.other.split(" & "))
    sentence = f"{len(compared)} {'comparison' if len(compared) == 1 else 'comparisons'}"
    if facet == "judge" and who_labelled(benchmark).by_people:
        sentence += ", labels by people"
    return _test(benchmark, name, True, sentence)


def _size(benchmark: BenchmarkAudit, policy: Policy) -> Iterator[Test]:
    minimum = policy.required.respondents
    limit = policy.required.fewer_items_than
    if minimum:
        n = len(benchmark.respondents)
        remedy = count_advice(n, minimum, "respondents", "required.respondents")
        sentence = f"{n} answered; the minimum is {minimum}"
        yield _test(benchmark, "respondents", n >= minimum, sentence, end=float(n), remedy=remedy)
    if limit:
        # A policy for small benchmarks asks for less, and a large one must not pass by it.
        passes = benchmark.n_items < limit
        sentence = f"there are {benchmark.n_items:,}; this policy is for fewer than {limit:,}"
        remedy = Advice(
            "Use the default policy, which larger benchmarks can meet; or change"
            " `required.fewer_items_than`"
        )
        yield _test(
            benchmark, "items", passes, sentence, end=float(benchmark.n_items), remedy=remedy
        )


def _unscored(benchmark: BenchmarkAudit, max_share: float) -> Test:
    scored = scored_answers(benchmark)
    if scored.worst is None:
        remedy = Advice("Ask the respondents, or import their answers")
        return _absent(benchmark, "unscored answers", "no answer was counted", remedy)
    # The worst administration decides: over all of them, a run that failed would vanish among
    # others.
    cell, worst = scored.worst
    advice = advice_on_cut(benchmark.state_counts[cell])
    sentence = f"{worst:.1%} of the answers have no score in {cell}; the limit is {max_share:.1%}"
    if advice:
        sentence += f"; {advice}"
    total, lost = scored.by_administration[cell]
    remedy = unscored_advice(total, lost, max_share)
    name = "unscored answers"
    return _test(benchmark, name, worst <= max_share, sentence, end=worst, remedy=remedy)


def _findings(benchmark: BenchmarkAudit, max_severity: str) -> Iterator[Test]:
    """Yield a test of all findings, and one for every finding that is too grave."""
    graver = [
        finding
        for finding in findings_in_order(benchmark)
        if _RANKS[severity_of(finding)] > _RANKS[max_severity]
    ]
    counts = findings_counted(benchmark)
    counts_text = ", ".join(
        f"{n} {severity}{'' if n == 1 else 's'}" for severity, n in counts.items()
    )
    if not graver:
        allowed = f"none is more severe than {max_severity}" if max_severity != "none" else "none"
        n_findings = float(sum(counts.values()))
        yield _test(benchmark, "findings", True, f"{allowed} ({counts_text})", end=n_findings)
        return
    names = ", ".join(dict.fromkeys(f"{finding['code']} {finding['name']}" for finding in graver))
    remedy = Advice("Correct the findings below; or change the policy key `limits.findings`", 0.0)
    sentence = f"more severe than {max_severity}: {names} (in all {counts_text})"
    yield _test(benchmark, "findings", False, sentence, end=float(len(graver)), remedy=remedy)
    for finding in graver:
        code = CODES.get(str(finding["code"]))
        name = f"finding {finding['code']} {finding['name']}"
        advice_text = str(
            finding.get("remedy") or (code.remedy if code is not None else "Correct the data.")
        )
        examples = "; ".join(map(str, finding.get("examples", ())[:3]))
        sentence = f"{finding['sentence']}{f' ({examples})' if examples else ''}"
        yield _test(
            benchmark,
            name,
            False,
            sentence,
            end=float(finding.get("count") or 0),
            remedy=Advice(advice_text, 0.0),
        )


_LEAKS = ("solvability.blind_accuracy", "solvability.leakage_cues")


def _min_search_items(benchmark: BenchmarkAudit) -> str:
    """How many items a search for leaks needs."""
    return f"20{' on 5 pictures' if benchmark.images else ''} at least"


def _leaks(benchmark: BenchmarkAudit, max_gain: float) -> Iterator[Test]:
    """Yield a test for every type and part that leaks more than the limit, or one that passes."""
    reason = "an item answered from a cue tests neither perception nor knowledge; by type and part"
    searches = list(chain.from_iterable(map(benchmark.select_estimates, _LEAKS)))
    missing = [e for e in searches if e.status not in ("ok", "not_informative")]
    rows = leak_rows(benchmark)
    if missing and not rows:
        sentence = f"{missing[0].status.replace('_', ' ')}: {missing[0].reason}"
        remedy = Advice(
            f"Raise the number of items to {_min_search_items(benchmark)}; or set `limits.leak` to"
            " 1",
            20.0,
        )
        yield _absent(benchmark, "leaks", sentence, remedy, reason)
        return
    if not rows and not searches:
        remedy = Advice(
            f"Make the audit again with `hqm audit {benchmark.benchmark}`; or set `limits.leak`"
            " to 1"
        )
        yield _absent(benchmark, "leaks", "the audit has no such estimate", remedy, reason)
        return
    # By the lower end: a leak fails where it is shown to exceed the limit.
    graver = [leak for leak in leaks_shown(benchmark) if leak.low > max_gain]
    for leak in graver:
        yield _leak_test(benchmark, leak, max_gain, reason)
    if not graver:
        lows: list[float] = []
        tested: set[str] = set()
        for row in rows:
            low = row.get("low")
            if low is not None:
                lows.append(float(low))
                tested.add(row["name"])
        guesser = "guessing without the picture" if benchmark.images else "guessing"
        sentence = (
            f"{guesser} is not shown to beat chance by more than"
            f" {SHARE_POINTS.format_limit(max_gain)} points"
            f"{f' in any of {len(tested)} types and parts' if len(tested) > 1 else ''}"
        )
        yield _test(benchmark, "leaks", True, sentence, reason, max(lows, default=None))


def _leak_test(benchmark: BenchmarkAudit, leak: LeakShown, max_gain: float, reason: str) -> Test:
    """Return the failed test of one type or part."""
    cue = leak.by[0]
    subject = "the words predict" if cue == "words" else f"the {cue} predicts"
    reference = "chance" if leak.by_chance else "the commonest answer"
    other_cues = f" (also by {', '.join(leak.by[1:5])})" if leak.by[1:] else ""
    sentence = (
        f"{subject} {leak.accuracy:.1%} of the right answers{other_cues}; {reference} predicts"
        f" {leak.baseline:.1%}. The gain is at least {SHARE_POINTS.format(leak.low)} points (95%,"
        " over all types, parts and cues together); the limit is"
        f" {SHARE_POINTS.format_limit(max_gain)}"
    )
    name = f"leak in {leak.name}"
    return _test(benchmark, name, False, sentence, reason, leak.low, leak_advice(leak))


def _search(benchmark: BenchmarkAudit, max_gain: float, by_type: bool) -> Iterator[Test]:
    """Test whether a leak of this size would have been found in all items, and in every type and
    part, which is required where these are published.
    """
    totals = []
    strata = []
    for row in leak_rows(benchmark):
        # Of a type or of a part, but not of a type of a part.
        if row.get("cue") != "words" or (row["type"] and row["part"]):
            continue
        if row["type"] or row["part"]:
            strata.append(row)
        else:
            totals.append(row)
    yield from _search_tests(benchmark, totals or strata, max_gain, _SEARCH, required=True)
    if totals:
        name = f"{_SEARCH} by type"
        yield from _search_tests(benchmark, strata, max_gain, name, required=by_type)


_SEARCH = "leaks that would be found"


def _search_tests(
    benchmark: BenchmarkAudit,
    rows: Sequence[StratumRow],
    max_gain: float,
    name: str,
    *,
    required: bool,
) -> Iterator[Test]:
    """Yield the tests of the worst stratum and of each that is too small to be searched."""
    reason = "finding no leak means little unless a leak of this size would have been found"
    # The stratum whose search was weakest: a leak may hide in that one.
    judged = [row for row in rows if row.get("detectable") is not None]
    worst = max(judged, key=itemgetter("detectable"), default=None)
    for row in rows:
        if row.get("status") != "insufficient":
            continue
        remedy = Advice(
            f"Raise the number of items in {row['name']} to {_min_search_items(benchmark)}; or"
            " drop the claim on it; or set `limits.leak_found` to 1",
            20.0,
        )
        yield _absent(
            benchmark, f"{name} in {row['name']}", str(row["reason"]), remedy, reason, required
        )
    if worst is not None:
        size = float(worst["detectable"] or 0)
        sentence = (
            f"the smallest leak that would be found in {worst['name']} ({worst['items']:,} items)"
            f" has a gain of {SHARE_POINTS.format_beside(size, max_gain)} points; the limit is"
            f" {SHARE_POINTS.format_limit(max_gain)}"
        )
        remedy = weak_search_advice(str(worst["name"]), int(worst["items"]), size, max_gain)
        test = _test(benchmark, name, size <= max_gain, sentence, reason, size, remedy)
        yield test if required else _as_optional(test)


def _as_optional(test: Test) -> Test:
    """A test that does not pass as one that is named, and stops nothing."""
    if test.outcome == "PASS":
        return test
    return replace(test, outcome="UNDECIDED", required=False)


def _coverage(benchmark: BenchmarkAudit, requirement: Coverage) -> Iterator[Test]:
    claimed = [kind for kind in types_measured(benchmark, requirement.error) if kind.claimed]
    if not claimed:
        remedy = Advice(
            "Name the types in the card, or in a column `type`; or set `coverage.claimed` to false"
        )
        yield _absent(benchmark, "coverage", "the card claims no type", remedy)
        return
    width = scale_width(benchmark)
    short = [kind for kind in claimed if _falls_short(kind, requirement)]
    if not short and requirement.error < 1 and width is None:
        remedy = Advice("Record what is missing; or remove the policy key `coverage.error`")
        yield _absent(benchmark, "coverage", _NO_SCALE, remedy, required=requirement.by_type)
        return
    points = Points.for_metric(benchmark)
    limit = requirement.error * (width or 0.0)
    requirement_text = f"{requirement.items_a_type} items or more"
    if requirement.error < 1 and width is not None:
        requirement_text = f"a standard error of at most {points.format_limit(limit)} points"
    if not short:
        subject = f"all {len(claimed)} claimed types have"
        if len(claimed) == 1:
            subject = f"the one claimed type, {claimed[0].type}, has"
        yield _test(benchmark, "coverage", True, f"{subject} {requirement_text}")
        return
    errors = ", ".join(f"{kind.type} {_error_text(kind, points, limit)}" for kind in short)
    counts = f"{len(short)} of {len(claimed)} claimed types"
    sentence = f"not shown to have {requirement_text}: {counts}, {errors}"
    remedy = _coverage_advice(short, requirement)
    test = _test(benchmark, "coverage", False, sentence, remedy=remedy)
    # No type has too few items: the errors are too large, which stops nothing unless asked for.
    is_measured = all(kind.items >= requirement.items_a_type for kind in short)
    yield _as_optional(test) if is_measured and not requirement.by_type else test


def _falls_short(kind: TypeMeasured, requirement: Coverage) -> bool:
    """Return whether a type has too few items, or too large an error at its upper end."""
    if kind.items < requirement.items_a_type:
        return True
    return requirement.error < 1 and not kind.measurable


def _items_needed(kind: TypeMeasured, requirement: Coverage) -> int:
    """Return how many items a type needs; 0 where all respondents are at chance in it."""
    if kind.at_chance:
        return 0
    n_items = kind.items + kind.missing
    if not kind.error_high:
        # The variance of a share is at most .25, and an error shrinks with the root of the items.
        n_items = math.ceil(0.25 / requirement.error**2 - 1e-9)
    return max(requirement.items_a_type, n_items)


def _coverage_advice(short: Sequence[TypeMeasured], requirement: Coverage) -> Advice:
    """Return what to do about types with too few items or too large an error."""
    item_counts = {kind.type: _items_needed(kind, requirement) for kind in short}
    counts = []
    chance_types = []
    for kind, n_items in item_counts.items():
        if n_items:
            counts.append(f"{kind} to {n_items:,}")
        else:
            chance_types.append(kind)
    steps = []
    if counts:
        steps.append(f"raise the number of items: {', '.join(counts)}")
    if chance_types:
        steps.append(
            f"ask respondents that are above chance in {', '.join(chance_types)}, where more items"
            " do not help"
        )
    key = "coverage.error" if requirement.error < 1 else "coverage.items_a_type"
    text = (
        f"{'; '.join(steps)}; or drop these types from the card's `types`; or change the policy"
        f" key `{key}`"
    )
    return Advice(text[0].upper() + text[1:], float(max(item_counts.values())))


def _error_text(kind: TypeMeasured, points: Points, limit: float) -> str:
    if kind.error is None or kind.error_high is None:
        return "(no item)"
    if not kind.measured:
        return f"({kind.items} items) about {points.format(kind.error)}"
    return f"({kind.items} items) up to {points.format_beside(kind.error_high, limit)}"


def _precision(benchmark: BenchmarkAudit, policy: Policy) -> Iterator[Test]:
    """Test the standard error of a score, and the smallest difference that is shown, in points."""
    precision = total_precision(benchmark)
    points = Points.for_metric(benchmark)
    limits = policy.precision
    rows = (
        ("standard error of a score", "error", precision.error_high, limits.error),
        (
            "smallest difference that is shown",
            "difference",
            precision.difference_high,
            limits.difference,
        ),
    )
    for name, key, value, share in rows:
        passes = precision.within(value, share)
        # The whole scale is no limit.
        if share >= 1:
            continue
        if value is None or precision.scale is None or passes is None:
            sentence = _NO_SCALE if precision.scale is None else "not measured"
            remedy = Advice(f"Record what is missing; or remove the policy key `precision.{key}`")
            yield _absent(benchmark, name, sentence, remedy, _PRECISION_REASON, False)
            continue
        limit = share * precision.scale
        sentence = (
            f"upper end {points.format_beside(value, limit)} points (these respondents, other"
            f" items); the limit is {points.format_limit(limit)}"
        )
        advice = precision_advice(name, value, limit, benchmark.items_used, f"precision.{key}")
        yield _test(benchmark, name, passes, sentence, _PRECISION_REASON, value, advice)


PASSING = "decisions to pass"


def _passing(benchmark: BenchmarkAudit, score: float, minimum: float) -> Test:
    """Test whether the same models would pass the score again."""
    result = passing(benchmark, score)
    reason = "a claim that models pass a score should hold on other items too"
    sentence = f"{result.n_passed} of {result.n_respondents} models pass {score:.0%} of the scale"
    if result.consistency is None:
        advice = Advice("Ask five models or more; or remove `passing.score` from the policy")
        return _absent(benchmark, PASSING, f"{sentence}; {result.reason}", advice, reason)
    end = "" if result.low is None else f", at least {result.low:.1%}"
    sentence += (
        f". On other items of the same kind, {result.consistency:.1%} of models would have the"
        f" same result{end} (Livingston and Lewis); the minimum is {minimum:.0%}"
    )
    advice = Advice(
        "Raise the number of items, or choose a pass score farther from the scores of these"
        " models; or change `passing.consistency`"
    )
    # Without a lower end nothing is shown, and the claim fails.
    low = result.low if result.low is not None else 0.0
    return _test(benchmark, PASSING, low >= minimum, sentence, reason, low, advice)


_PRECISION_REASON = (
    "a standard error in the unit of the score does not depend on how much the models differ; a"
    " coefficient of reliability does"
)


def _threshold(benchmark: BenchmarkAudit, requirement: Requirement) -> Iterator[Test]:
    estimates = benchmark.select_estimates(requirement.indicator, requirement.metric or None)
    name = f"{requirement.indicator}{f' ({requirement.metric})' if requirement.metric else ''}"
    if not estimates:
        family = requirement.indicator.partition(".")[0]
        sentence = "the audit has no such estimate"
        if family == "criterion":
            sentence = "no people labelled answers"
            if oracles := who_labelled(benchmark).by_oracles:
                sentence += f" (a rule labelled them: {', '.join(oracles)}; `oracle.*` tests it)"
        remedy = unmeasured_advice(family, requirement.indicator)
        yield _absent(
            benchmark, name, sentence, remedy, requirement.reason, not requirement.optional
        )
    for estimate in estimates:
        yield _check_estimate(benchmark, estimate, requirement)


def _check_estimate(
    benchmark: BenchmarkAudit, estimate: Estimate, requirement: Requirement
) -> Test:
    """Return the test of one estimate by one requirement."""
    name = f"{estimate.indicator} ({estimate.metric})"
    value = estimate.value
    # `is False`: an estimate without this detail decides.
    if estimate.detail.get("decides") is False:
        return _undecided(benchmark, estimate, requirement)
    if value is None or not _usable(estimate, requirement):
        sentence = f"{estimate.status.replace('_', ' ')}: {estimate.reason}"
        sentence = sentence.removeprefix("insufficient: ")
        remedy = unmeasured_advice(estimate.indicator.partition(".")[0], estimate.indicator)
        return _absent(
            benchmark, name, sentence, remedy, requirement.reason, not requirement.optional
        )
    low, high, interval_name = _ends(estimate, requirement)
    points, unit = unit_of_estimate(benchmark, estimate)
    # Both ends must lie within: a difference that is not significant is not thereby small (two
    # one-sided tests, Schuirmann 1987).
    if requirement.rule == "within" and low is not None and high is not None:
        margin = _scaled(benchmark, estimate, requirement)
        return _equivalent(benchmark, estimate, margin, (low, high))
    is_minimum = requirement.at_least is not None
    is_lower = requirement.end == "lower" or (not requirement.end and is_minimum)
    end = low if is_lower else high
    if end is None or not math.isfinite(end):
        estimate_text = f"{points.format(value)}{unit}"
        sentence = (
            f"{estimate_text} has no interval {interval_name}, without which it is no evidence"
        )
        remedy = missing_interval_advice(estimate, requirement.interval)
        return _absent(
            benchmark, name, sentence, remedy, requirement.reason, not requirement.optional
        )
    advice = None
    if is_lower and estimate.indicator == "criterion.pearson":
        advice = labels_advice(benchmark, estimate, requirement, value, end)
    if advice is None:
        advice = threshold_advice(estimate, requirement, value, end)
    end_text = f"{end:g}{_expected_note(benchmark, estimate)}"
    if not requirement.exact:
        side = "lower end" if is_lower else "upper end"
        inference = _INFERENCE_LABELS.get(interval_name, interval_name)
        end_text = f"{side} {points.format_beside(end, requirement.bound)}{unit} ({inference})"
    bound = requirement.bound
    passes = end >= bound if is_minimum else end <= bound
    sentence = (
        f"{end_text}; the {'minimum' if is_minimum else 'limit'} is {points.format_limit(bound)}"
        f"{_labeller_note(estimate)}"
    )
    return _test(benchmark, name, passes, sentence, requirement.reason, end, advice)


def _expected_note(benchmark: BenchmarkAudit, estimate: Estimate) -> str:
    """Return what a count of faulty items is of: the page asks to check all that are expected."""
    expected = wrong_keys(benchmark).expected
    if estimate.indicator != "items.label_errors" or not expected:
        return ""
    return f" faults almost surely, of about {expected:.0f} expected"


def _labeller_note(estimate: Estimate) -> str:
    """Return who labelled the answers; empty for an estimate without labels."""
    labeller = estimate.detail.get("labelled_by")
    if not labeller:
        return ""
    if labeller == "people":
        return "; people labelled"
    return f"; labelled by {estimate.detail.get('labels_of')}: no evidence of validity"


def _undecided(benchmark: BenchmarkAudit, estimate: Estimate, requirement: Requirement) -> Test:
    """Say of too few wordings what holds of exactly these, and what it takes to decide."""
    forms = estimate.detail["forms"]
    metric = estimate.metric
    sentence = f"{'two' if forms == 2 else forms} wordings are too few to decide"
    if estimate.value is not None:
        low, _, interval_name = _ends(estimate, requirement)
        end = ""
        if low is not None:
            end = f", lower end {low:.3f} ({_INFERENCE_LABELS.get(interval_name, interval_name)})"
        sentence += f". Phi of their mean is {estimate.value:.3f}{end}"
    pair_texts = _pair_texts(benchmark, estimate) if forms == 2 else []
    sentence += f". Between these two, {' and '.join(pair_texts)}" if pair_texts else ""
    remedy = wordings_advice(estimate, requirement)
    name = f"{estimate.indicator} ({metric})"
    test = _absent(benchmark, name, sentence, remedy, requirement.reason, not requirement.optional)
    return replace(test, outcome="UNDECIDED")


def _pair_texts(benchmark: BenchmarkAudit, estimate: Estimate) -> list[str]:
    """Return how two wordings shift and agree, over other items of the same kind."""
    titles = {"parallel_forms.mean_shift": "the shift", "parallel_forms.icc_a1": "ICC(A,1)"}
    texts = []
    for indicator, title in titles.items():
        selected = benchmark.select_estimates(indicator, estimate.metric, estimate.other)
        for pair_estimate in selected[:1]:
            span = pair_estimate.interval("fixed_models")
            if pair_estimate.value is not None and span is not None:
                points, unit = unit_of_estimate(benchmark, pair_estimate)
                texts.append(
                    f"{title} is {points.format(pair_estimate.value)}{unit}"
                    f" {points.format_interval(span.low, span.high)} (these respondents, other"
                    " items)"
                )
    return texts


def _scaled(benchmark: BenchmarkAudit, estimate: Estimate, requirement: Requirement) -> Requirement:
    """Return the margin of a difference of scores in the metric's units: it is a share of its
    scale.
    """
    width = scale_width(benchmark, estimate.metric)
    if not is_score(estimate) or width is None:
        return requirement
    return requirement.model_copy(update={"within": requirement.bound * width})


def _equivalent(
    benchmark: BenchmarkAudit,
    estimate: Estimate,
    requirement: Requirement,
    ends: tuple[float, float],
) -> Test:
    """Test whether a difference is within the policy's margin, in either direction."""
    low, high = ends
    margin = requirement.bound
    # If the end farther from 0 is within the margin, so is the other.
    farther = max(ends, key=abs)
    inference_label = _INFERENCE_LABELS.get(
        requirement.interval, requirement.interval or requirement.detail
    )
    points, unit = unit_of_estimate(benchmark, estimate)
    limit = points.format_limit(margin)
    sentence = (
        f"interval {points.format(low)} to {points.format(high)}{unit} ({inference_label});"
        f" −{limit} to {limit} is allowed"
    )
    remedy = threshold_advice(estimate, requirement, float(estimate.value or 0.0), farther)
    name = f"{estimate.indicator} ({estimate.metric})"
    return _test(
        benchmark, name, abs(farther) <= margin, sentence, requirement.reason, farther, remedy
    )


def _usable(estimate: Estimate, requirement: Requirement) -> bool:
    """Return whether an estimate may be compared with a threshold.

    An oracle's agreement, which says nothing about validity, may where the policy asks for it by
    name. Faults that were found count, also where the design would have missed most of them.
    """
    if estimate.status == "ok":
        return True
    is_named_oracle = (
        estimate.indicator.startswith("oracle.") and estimate.detail.get("labelled_by") == "oracle"
    )
    has_faults = (
        requirement.exact
        and requirement.at_most is not None
        and (estimate.value or 0.0) > requirement.at_most
    )
    return estimate.status == "not_informative" and (is_named_oracle or has_faults)


def _ends(estimate: Estimate, requirement: Requirement) -> tuple[float | None, float | None, str]:
    if requirement.exact:
        # A count of these items is no sample: it stands for both ends.
        return estimate.value, estimate.value, "exact"
    if requirement.detail:
        pair: Sequence[float | None] = estimate.detail.get(requirement.detail) or (None, None)
        return pair[0], pair[1], requirement.detail
    interval = estimate.interval(requirement.interval)
    if interval:
        return (interval.low, interval.high, requirement.interval)
    return (None, None, requirement.interval)


__all__ = ["Gate", "Policy", "Requirement", "Test", "check_against", "default_text"]
