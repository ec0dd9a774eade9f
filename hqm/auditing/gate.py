"""The gate: does an audit meet a policy? Thresholds are held against interval ends, and what was
not measured fails.

By rule, an estimate without the interval that the policy names is NOT MEASURED; only counts
(`exact`) are held against a threshold without one. Every test that does not pass ends with what to
do.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal
from xml.etree import ElementTree

from hqm.auditing.audit import Audit, BenchmarkAudit
from hqm.auditing.definitions import (
    TypeMeasured,
    findings_counted,
    findings_in_order,
    leak_rows,
    leaks_shown,
    scored_answers,
    severity_of,
    types_measured,
    who_labelled,
)
from hqm.auditing.policy import (
    Coverage,
    Policy,
    Remedy,
    Requirement,
    default_text,
    of_count,
    of_facet,
    of_labels,
    of_leak,
    of_missing_interval,
    of_threshold,
    of_unmeasured,
    of_unscored,
    of_weak_search,
    of_wordings,
)
from hqm.benchmark.findings import CODES
from hqm.indicators import indicator_named
from hqm.scoring.rules import advice_on_cut
from hqm.text import annotation
from hqm.types import Estimate

Outcome = Literal["PASS", "FAIL", "UNDECIDED", "NOT MEASURED"]
_RANKS = {"none": 0, "note": 1, "warning": 2, "error": 3}
_OVER = {
    "fixed_models": "of fixed_models (these respondents, other items)",
    "model_population": "of model_population (other respondents)",
}


@dataclass(frozen=True, slots=True)
class Test:
    """One requirement held against one audit."""

    __test__ = False

    benchmark: str
    what: str
    outcome: Outcome
    sentence: str
    """What was found against what was asked for."""
    reason: str = ""
    """Why the policy asks for it."""
    end: float | None = None
    """The number that was held against the threshold."""
    remedy: str = ""
    """What to do; empty for what passed."""
    needed: float | None = None
    """How many items, respondents or answers the remedy needs, if that is known."""
    required: bool = True
    """Whether the gate fails where this was not measured or cannot be decided."""

    @property
    def passed(self) -> bool:
        """Whether the test passed, or came to nothing and is not required."""
        open_ = self.outcome in ("UNDECIDED", "NOT MEASURED")
        return self.outcome == "PASS" or (open_ and not self.required)


@dataclass(frozen=True)
class Gate:
    """Every test of a policy on an audit."""

    policy: str
    tests: tuple[Test, ...]

    @property
    def passed(self) -> bool:
        """Whether all passed; an audit of nothing does not."""
        return bool(self.tests) and all(test.passed for test in self.tests)

    def to_dict(self) -> dict[str, Any]:
        """The gate as JSON data."""
        return {
            "policy": self.policy,
            "passed": self.passed,
            "tests": [asdict(test) for test in self.tests],
        }

    def junit(self) -> str:
        """The tests as JUnit XML: a suite for each benchmark; what was not measured is a failure of
        that type.
        """
        root = ElementTree.Element("testsuites", name=f"hqm gate: {self.policy}")
        for name in dict.fromkeys(test.benchmark for test in self.tests):
            tests = [test for test in self.tests if test.benchmark == name]
            failed = sum(not test.passed for test in tests)
            suite = ElementTree.SubElement(
                root, "testsuite", name=name, tests=str(len(tests)), failures=str(failed)
            )
            for test in tests:
                case = ElementTree.SubElement(suite, "testcase", classname=name, name=test.what)
                if not test.passed:
                    kind = test.outcome.lower().replace(" ", "-")
                    why = "\n".join(filter(None, (test.reason, test.remedy)))
                    ElementTree.SubElement(
                        case, "failure", message=test.sentence, type=kind
                    ).text = why
        ElementTree.indent(root)
        return (
            "<?xml version='1.0'"
            f" encoding='utf-8'?>\n{ElementTree.tostring(root, encoding='unicode')}\n"
        )

    def annotations(self) -> Iterator[str]:
        """A GitHub workflow command for every test that did not pass."""
        for test in self.tests:
            if not test.passed:
                what = f"{test.outcome}: {test.sentence}. {test.remedy}"
                yield annotation("error", f"{test.benchmark}: {test.what}", what)


def hold_against(audit: Audit, policy: Policy) -> Gate:
    """Hold an audit against a policy."""
    return Gate(
        policy.name, tuple(test for benchmark in audit.audits for test in _tests(benchmark, policy))
    )


def _tests(benchmark: BenchmarkAudit, policy: Policy) -> Iterator[Test]:
    for facet in policy.required.facets:
        yield _facet(benchmark, facet)
    yield from _size(benchmark, policy)
    yield _unscored(benchmark, policy.limits.unscored)
    yield from _findings(benchmark, policy.limits.findings)
    if benchmark.task in ("yes_no", "choice"):
        if policy.limits.leak < 1:
            yield from _leaks(benchmark, policy.limits.leak)
        if policy.limits.leak_found < 1:
            yield from _search(benchmark, policy.limits.leak_found)
    if policy.coverage.claimed:
        yield from _coverage(benchmark, policy.coverage)
    for requirement in policy.require:
        if not requirement.tasks or benchmark.task in requirement.tasks:
            yield from _threshold(benchmark, requirement)


def _test(
    benchmark: BenchmarkAudit,
    what: str,
    good: bool,
    sentence: str,
    reason: str = "",
    end: float | None = None,
    remedy: Remedy | None = None,
) -> Test:
    if good or remedy is None:
        return Test(benchmark.benchmark, what, "PASS" if good else "FAIL", sentence, reason, end)
    return Test(
        benchmark.benchmark, what, "FAIL", sentence, reason, end, remedy.text, remedy.needed
    )


def _absent(
    benchmark: BenchmarkAudit,
    what: str,
    sentence: str,
    remedy: Remedy,
    reason: str = "",
    required: bool = True,
) -> Test:
    return Test(
        benchmark.benchmark,
        what,
        "NOT MEASURED",
        sentence,
        reason,
        None,
        remedy.text,
        remedy.needed,
        required,
    )


def _facet(benchmark: BenchmarkAudit, facet: str) -> Test:
    """Return the facet of a comparison. An oracle is no other judge: it reads the scorer's key."""
    what = f"facet {facet}"
    estimates = [
        estimate
        for estimate in benchmark.all_estimates
        if estimate.facet == facet
        and estimate.value is not None
        and not estimate.indicator.startswith("oracle.")
    ]
    if not estimates:
        oracles = who_labelled(benchmark).by_oracles if facet == "judge" else ()
        besides = f" ({', '.join(oracles)} is an oracle, not people)" if oracles else ""
        sentence = f"no administration differs from the reference in it alone{besides}"
        return _absent(benchmark, what, sentence, of_facet(facet))
    others = len({estimate.other for estimate in estimates})
    who = ", labels by people" if facet == "judge" and who_labelled(benchmark).by_people else ""
    return _test(
        benchmark, what, True, f"{others} {'comparison' if others == 1 else 'comparisons'}{who}"
    )


def _size(benchmark: BenchmarkAudit, policy: Policy) -> Iterator[Test]:
    least, limit = policy.required.respondents, policy.required.fewer_items_than
    if least:
        n = len(benchmark.respondents)
        remedy = of_count(n, least, "respondents", "required.respondents")
        sentence = f"{n}, at least {least} are needed"
        yield _test(benchmark, "respondents", n >= least, sentence, end=float(n), remedy=remedy)
    if limit:
        good = benchmark.n_items < limit
        sentence = f"{benchmark.n_items:,}, and this policy is for fewer than {limit:,}"
        remedy = Remedy(
            "Use the default policy, which larger benchmarks can meet; or change"
            " `required.fewer_items_than`"
        )
        yield _test(benchmark, "items", good, sentence, end=float(benchmark.n_items), remedy=remedy)


def _unscored(benchmark: BenchmarkAudit, most: float) -> Test:
    counted = scored_answers(benchmark)
    if counted.worst is None:
        remedy = Remedy("Ask the respondents, or import their answers")
        return _absent(benchmark, "unscored answers", "no answer was counted", remedy)
    cell, worst = counted.worst
    advice = advice_on_cut(benchmark.state_counts[cell])
    sentence = f"{worst:.1%} of the answers in {cell}, at most {most:.1%} may be"
    if advice:
        sentence += f"; {advice}"
    total, lost = counted.by_administration[cell]
    return _test(
        benchmark,
        "unscored answers",
        worst <= most,
        sentence,
        end=worst,
        remedy=of_unscored(total, lost, most),
    )


def _findings(benchmark: BenchmarkAudit, most: str) -> Iterator[Test]:
    """Yield a test of all findings, and one for every finding that is too grave."""
    graver = [
        finding
        for finding in findings_in_order(benchmark)
        if _RANKS[severity_of(finding)] > _RANKS[most]
    ]
    counts = findings_counted(benchmark)
    counted = ", ".join(f"{n} {severity}{'' if n == 1 else 's'}" for severity, n in counts.items())
    if not graver:
        allowed = f"none graver than {most}" if most != "none" else "none"
        yield _test(
            benchmark, "findings", True, f"{allowed} ({counted})", end=float(sum(counts.values()))
        )
        return
    names = ", ".join(dict.fromkeys(f"{finding['code']} {finding['name']}" for finding in graver))
    remedy = Remedy("Mend each as said below; or change the policy key `limits.findings`", 0.0)
    sentence = f"{len(graver)} graver than {most}: {names} (in all {counted})"
    yield _test(benchmark, "findings", False, sentence, end=float(len(graver)), remedy=remedy)
    for finding in graver:
        code = CODES.get(str(finding["code"]))
        what = f"finding {finding['code']} {finding['name']}"
        todo = str(
            finding.get("remedy") or (code.remedy if code is not None else "Mend what it says.")
        )
        examples = "; ".join(str(example) for example in finding.get("examples", ())[:3])
        sentence = f"{finding['sentence']}{f' ({examples})' if examples else ''}"
        yield _test(
            benchmark,
            what,
            False,
            sentence,
            end=float(finding.get("count") or 0),
            remedy=Remedy(todo, 0.0),
        )


_LEAKS = ("solvability.blind_accuracy", "solvability.leakage_cues")


def _enough(benchmark: BenchmarkAudit) -> str:
    """How many items a search for leaks needs."""
    return f"20{' on 5 pictures' if benchmark.images else ''} at least"


def _leaks(benchmark: BenchmarkAudit, most: float) -> Iterator[Test]:
    """Yield a test for every type and part that leaks more than the limit, or one that passes."""
    reason = "what a cue gives away measures neither seeing nor knowing; judged by type and part"
    missing = [
        e
        for e in benchmark.all_estimates
        if e.indicator in _LEAKS and e.status not in ("ok", "not_informative")
    ]
    rows = leak_rows(benchmark)
    if missing and not rows:
        sentence = f"{missing[0].status.replace('_', ' ')}: {missing[0].reason}"
        remedy = Remedy(
            f"Raise the number of items to {_enough(benchmark)}; or set `limits.leak` to 1",
            20.0,
        )
        yield _absent(benchmark, "leaks", sentence, remedy, reason)
        return
    if not rows and not any(estimate.indicator in _LEAKS for estimate in benchmark.all_estimates):
        remedy = Remedy(
            f"Make the audit again with `hqm audit {benchmark.benchmark}`; or set `limits.leak`"
            " to 1"
        )
        yield _absent(benchmark, "leaks", "the audit has no such estimate", remedy, reason)
        return
    graver = [leak for leak in leaks_shown(benchmark) if leak.low > most]
    for leak in graver:
        by = leak.by[0] if leak.by[0] == "words" else f"the {leak.by[0]}"
        also = f" (also by {', '.join(leak.by[1:5])})" if leak.by[1:] else ""
        sentence = (
            f"{'the words predict' if by == 'words' else by + ' predicts'} {leak.accuracy:.1%} of"
            f" the right answers, the commonest answer {leak.baseline:.1%}{also}: lower end"
            f" {leak.low:.3f} of the gain (all types, parts and cues together), at most {most:g} is"
            " asked for"
        )
        what = f"leak in {leak.name}"
        yield _test(benchmark, what, False, sentence, reason, leak.low, of_leak(leak))
    if not graver:
        tested = len({row["name"] for row in rows if row.get("low") is not None})
        lows = [float(row["low"]) for row in rows if row.get("low") is not None]
        sentence = (
            f"in none of {tested} types and parts do words, position, numbering or surface beat the"
            f" commonest answer by more than {most:g} (lower ends of the gain, all together)"
        )
        yield _test(benchmark, "leaks", True, sentence, reason, max(lows, default=None))


def _search(benchmark: BenchmarkAudit, most: float) -> Iterator[Test]:
    """Test whether a leak of this size would have been found in every type and part."""
    reason = "that no leak was shown means little unless one of this size would have been found"
    what = "leaks that would be found"
    rows = [
        row
        for row in leak_rows(benchmark)
        if row.get("cue") == "words" and not (row["type"] and row["part"])
    ]
    small = [row for row in rows if row.get("status") == "insufficient"]
    judged = [row for row in rows if row.get("detectable") is not None]
    worst = max(judged, key=lambda row: float(row["detectable"]), default=None)
    for row in small:
        remedy = Remedy(
            f"Raise the number of items in {row['name']} to {_enough(benchmark)}; or drop the claim"
            " on it; or set `limits.leak_found` to 1",
            20.0,
        )
        yield _absent(benchmark, f"{what} in {row['name']}", str(row["reason"]), remedy, reason)
    if worst is not None:
        size = float(worst["detectable"])
        sentence = (
            f"a gain of {size:.3f} in {worst['name']} ({worst['items']:,} items), at most {most:g}"
            " is asked for"
        )
        remedy = of_weak_search(str(worst["name"]), int(worst["items"]), size, most)
        yield _test(benchmark, what, size <= most, sentence, reason, size, remedy)


def _coverage(benchmark: BenchmarkAudit, wanted: Coverage) -> Iterator[Test]:
    claimed = [kind for kind in types_measured(benchmark) if kind.claimed]
    if not claimed:
        remedy = Remedy(
            'Name the types in the card: types = ["existence"]; or set `coverage.claimed` to false'
        )
        yield _absent(benchmark, "coverage", "the card claims no type", remedy)
        return
    short, missing = [], []
    for kind in claimed:
        too_few = kind.items < wanted.items_a_type
        too_wide = kind.error_high is None or kind.error_high > wanted.error
        if too_few or (too_wide and wanted.error < 1):
            forecast = (
                0
                if kind.error_high is None
                else math.ceil(kind.items * (kind.error_high / wanted.error) ** 2 - 1e-9)
            )
            needed = max(wanted.items_a_type, forecast or math.ceil(0.25 / wanted.error**2 - 1e-9))
            short.append(f"{kind.type} {_known_error(kind)}")
            missing.append((kind.type, 0 if kind.at_chance else needed))
    asked = (
        f"a standard error of at most {wanted.error:g} at its upper end"
        if wanted.error < 1
        else f"{wanted.items_a_type} items or more"
    )
    if not short:
        yield _test(benchmark, "coverage", True, f"all {len(claimed)} claimed types have {asked}")
        return
    sentence = (
        f"{len(short)} of {len(claimed)} claimed types do not have {asked}: {'; '.join(short)}"
    )
    counts = ", ".join(f"{kind} to {n:,}" for kind, n in missing if n)
    guessed = ", ".join(kind for kind, n in missing if not n)
    ways = [f"raise the number of items: {counts}"] if counts else []
    if guessed:
        ways.append(
            f"ask respondents that can do it: {guessed} (all of these are at chance, which more"
            " items do not change)"
        )
    text = (
        f"{'; '.join(ways)}; or drop these types from the card's `types`; or change the policy key"
        " `coverage.error`"
    )
    text = text[0].upper() + text[1:]
    if wanted.error >= 1:
        text = text.replace("coverage.error", "coverage.items_a_type")
    yield _test(
        benchmark,
        "coverage",
        False,
        sentence,
        remedy=Remedy(text, float(max(n for _, n in missing))),
    )


def _known_error(kind: TypeMeasured) -> str:
    if kind.error is None or kind.error_high is None:
        return "no item"
    if not kind.measured:
        return f"{kind.items} items, error {kind.error:.3f} (forecast)"
    return f"{kind.items} items, error {kind.error:.3f}, upper end {kind.error_high:.4f}"


def _threshold(benchmark: BenchmarkAudit, wanted: Requirement) -> Iterator[Test]:
    estimates = [
        e
        for e in benchmark.all_estimates
        if e.indicator == wanted.indicator and wanted.metric in ("", e.metric)
    ]
    what = f"{wanted.indicator}{f' ({wanted.metric})' if wanted.metric else ''}"
    if not estimates:
        family = wanted.indicator.partition(".")[0]
        sentence = "the audit has no such estimate"
        if family == "criterion" and (oracles := who_labelled(benchmark).by_oracles):
            sentence += (
                f": no people labelled answers ({', '.join(oracles)} is an oracle; a policy may ask"
                " for `oracle.*`)"
            )
        remedy = of_unmeasured(family, wanted.indicator)
        yield _absent(benchmark, what, sentence, remedy, wanted.reason, not wanted.optional)
    for estimate in estimates:
        yield _held(benchmark, estimate, wanted)


def _held(benchmark: BenchmarkAudit, estimate: Estimate, wanted: Requirement) -> Test:
    what = f"{estimate.indicator} ({estimate.metric})"
    value = estimate.value
    if estimate.detail.get("decides") is False:
        return _undecided(benchmark, estimate, wanted)
    if value is None or not _usable(estimate, wanted):
        sentence = f"{estimate.status.replace('_', ' ')}: {estimate.reason}"
        remedy = of_unmeasured(estimate.indicator.partition(".")[0], estimate.indicator)
        return _absent(benchmark, what, sentence, remedy, wanted.reason, not wanted.optional)
    low, high, named = _ends(estimate, wanted)
    if wanted.rule == "within" and low is not None and high is not None:
        return _equivalent(benchmark, estimate, _scaled(benchmark, estimate, wanted), (low, high))
    lower = wanted.end == "lower" or (not wanted.end and wanted.at_least is not None)
    end = low if lower else high
    if end is None or not math.isfinite(end):
        sentence = f"{value:.3f} without the interval {named}: a point estimate is no evidence"
        remedy = of_missing_interval(estimate, wanted.interval)
        return _absent(benchmark, what, sentence, remedy, wanted.reason, not wanted.optional)
    bound = wanted.bound
    good = end >= bound if wanted.at_least is not None else end <= bound
    of_people = None
    if lower and estimate.indicator == "criterion.pearson":
        of_people = of_labels(benchmark, estimate, wanted, value, end)
    side = "lower end" if lower else "upper end"
    shown = f"{end:g}" if wanted.exact else f"{side} {end:.3f} {_OVER.get(named, f'of {named}')}"
    sentence = (
        f"{shown}, {'at least' if wanted.at_least is not None else 'at most'} {bound:g} is"
        " asked for"
    )
    if who := estimate.detail.get("labelled_by"):
        sentence += (
            "; people labelled"
            if who == "people"
            else f"; labelled by {estimate.detail.get('labels_of')}, not by people: no validity"
        )
    return _test(
        benchmark,
        what,
        good,
        sentence,
        wanted.reason,
        end,
        of_people or of_threshold(estimate, wanted, value, end),
    )


def _undecided(benchmark: BenchmarkAudit, estimate: Estimate, wanted: Requirement) -> Test:
    """Say of too few wordings what holds of exactly these, and what it takes to decide."""
    forms, metric = estimate.detail["forms"], estimate.metric
    sentence = f"with {'two' if forms == 2 else forms} wordings it cannot be decided"
    if estimate.value is not None:
        low, _, named = _ends(estimate, wanted)
        end = "" if low is None else f", lower end {low:.3f} {_OVER.get(named, named)}"
        sentence += f": Phi of their mean is {estimate.value:.3f}{end}"
    these = _of_these_two(benchmark, estimate) if forms == 2 else []
    sentence += f"; of exactly these two, {' and '.join(these)}" if these else ""
    remedy = of_wordings(estimate, wanted)
    what = f"{estimate.indicator} ({metric})"
    test = _absent(benchmark, what, sentence, remedy, wanted.reason, not wanted.optional)
    return replace(test, outcome="UNDECIDED")


def _of_these_two(benchmark: BenchmarkAudit, estimate: Estimate) -> list[str]:
    """Return how two wordings shift and agree, over other items of the same kind."""
    titles = {"parallel_forms.mean_shift": "the shift", "parallel_forms.icc_a1": "ICC(A,1)"}
    of_pair = {
        each.indicator: each
        for each in benchmark.all_estimates
        if (each.metric, each.other) == (estimate.metric, estimate.other)
    }
    named = []
    for indicator, title in titles.items():
        each = of_pair.get(indicator)
        span = None if each is None else each.interval("fixed_models")
        if each is not None and each.value is not None and span is not None:
            named.append(f"{title} is {each.value:.3f} [{span.low:.3f}, {span.high:.3f}]")
    return named


def _scaled(benchmark: BenchmarkAudit, estimate: Estimate, wanted: Requirement) -> Requirement:
    """Return the margin of a difference of scores in the metric's units: it is a share of its
    scale.
    """
    low, high = benchmark.metrics.get(estimate.metric, {}).get("scale", (None, None))
    of_scores = indicator_named(estimate.indicator)
    if of_scores is None or of_scores.unit.kind != "score" or low is None or high is None:
        return wanted
    return wanted.model_copy(update={"within": wanted.bound * (high - low)})


def _equivalent(
    benchmark: BenchmarkAudit, estimate: Estimate, wanted: Requirement, ends: tuple[float, float]
) -> Test:
    """Test whether a difference is within the policy's margin, in either direction."""
    low, high = ends
    margin, farther = wanted.bound, max(ends, key=abs)
    over = _OVER.get(wanted.interval, f"of {wanted.interval or wanted.detail}")
    sentence = f"interval {low:.3f} to {high:.3f} {over}, {-margin:g} to {margin:g} is asked for"
    remedy = of_threshold(estimate, wanted, float(estimate.value or 0.0), farther)
    what = f"{estimate.indicator} ({estimate.metric})"
    return _test(benchmark, what, abs(farther) <= margin, sentence, wanted.reason, farther, remedy)


def _usable(estimate: Estimate, wanted: Requirement) -> bool:
    """Return whether an estimate may be compared with a threshold.

    An oracle's agreement, which says nothing about validity, may where the policy asks for it by
    name. Faults that were found count, also where the design would have missed most of them.
    """
    if estimate.status == "ok":
        return True
    by_name = (
        estimate.indicator.startswith("oracle.") and estimate.detail.get("labelled_by") == "oracle"
    )
    faults = (
        wanted.exact and wanted.at_most is not None and (estimate.value or 0.0) > wanted.at_most
    )
    return estimate.status == "not_informative" and (by_name or faults)


def _ends(estimate: Estimate, wanted: Requirement) -> tuple[float | None, float | None, str]:
    if wanted.exact:
        return estimate.value, estimate.value, "exact"
    if wanted.detail:
        pair: Sequence[float | None] = estimate.detail.get(wanted.detail) or (None, None)
        return pair[0], pair[1], wanted.detail
    interval = estimate.interval(wanted.interval)
    return (
        (interval.low, interval.high, wanted.interval)
        if interval
        else (None, None, wanted.interval)
    )


__all__ = ["Gate", "Policy", "Requirement", "Test", "default_text", "hold_against"]
