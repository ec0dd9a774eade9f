"""The gate: does an audit meet a policy? Thresholds are held against interval ends, and what was
not measured fails.

By rule, an estimate without the interval that the policy names is NOT MEASURED; only counts
(`exact`) are held against a threshold without one. Every test that does not pass ends with what to
do.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal
from xml.etree import ElementTree

from hqm.auditing.audit import Audit, BenchmarkAudit
from hqm.auditing.definitions import (
    LeakShown,
    findings_counted,
    findings_in_order,
    leak_rows,
    leaks_shown,
    scored_answers,
    severity_of,
    types_measured,
    who_labelled,
)
from hqm.auditing.policy import Coverage, Policy, Requirement, default_text
from hqm.benchmark.findings import CODES
from hqm.psychometrics.consistency import lengthening
from hqm.scoring.rules import advice_on_cut
from hqm.text import annotation
from hqm.types import Estimate

# ----------------------------------------------------------------------
# What to do about a test of the gate that did not pass, with the number that it takes where the
# audit tells it.
# ----------------------------------------------------------------------

_GROWS = frozenset(
    ("rho_g", "pearson", "icc_a1", "icc_c1", "ccc", "alpha", "omega_total", "split_half")
)
"""Statistics of a score's reliability: they grow with its items as Spearman and Brown's formula
says.
"""
_FISHER = _GROWS | {
    "spearman",
    "tau_b",
    "disattenuated",
    "pearson_same_items",
    "pearson_given_length",
    "kappa",
}
"""Statistics between -1 and 1 whose interval is judged on Fisher's scale."""
_LARGEST = 1e7
"""A number beyond this is no advice."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """What to do, in a sentence, and the number of what must be raised."""

    text: str
    needed: float | None = None
    """Items, respondents or answers that the policy takes in all."""


_PLACES = frozenset(
    ("odd or even place", "place within the cluster", "tenth of the file", "label before")
)
_NUMBERS = frozenset(("odd or even number", "last digit"))
_WORDINGS = (
    "No number of respondents changes what a wording does, and what other wordings would give cannot"
    " be decided with two: ask five or more, and publish their mean"
    " (`parallel_forms.phi_of_forms` says from three on how many it takes)"
)
_MORE = {"model_population": "respondents", "fixed_models": "items", "items": "items"}
_OTHERWISE = {
    "test_retest": "average several seeds, or drop the claim that one run ranks the respondents",
    "parallel_forms": (
        "report each wording by itself, and drop the claim that a score holds for other wordings"
    ),
    "criterion": (
        "read the answers on which scorer and people disagree, correct the scorer, or drop the"
        " claim that it follows people"
    ),
    "oracle": "read the answers on which scorer and oracle disagree, and correct one of them",
    "consistency": "report the types by themselves, or drop the claim of one total",
    "discriminability": "drop the claim that respondents this close are separated",
}
_FACETS = {
    "run": "Ask the original form again with another seed: --runs 2",
    "form": "Ask a parallel form too: --forms original,parallel",
    "judge": "Give labels by people (--criterion FILE), or let another model judge (--judge)",
    "sight": "Ask without the pictures too: `hqm audit --no-report NAME --blind`",
    "resolution": "Ask with smaller pictures too: --resolution 50",
}


def of_facet(facet: str) -> Remedy:
    """A facet was not varied."""
    return Remedy(f"{_FACETS[facet]}; or take it out of the policy key `required.facets`")


def of_count(n: int, least: int, what: str, key: str) -> Remedy:
    """There are too few of something."""
    return Remedy(
        f"Raise the number of {what} from {n:,} to {least:,}; or change the policy key `{key}`",
        float(least),
    )


def of_unscored(total: int, lost: int, most: float, advice: str) -> Remedy:
    """Say what to do about too many unscored answers."""
    allowed = math.floor(most * total + 1e-9)
    first = f"{advice}; then r" if advice else "R"
    text = (
        f"{first}ead the unscored answers and get at least {lost - allowed:,} of the {lost:,}"
        " scored (a parser that accepts them, or asking again); or change the policy key"
        " `limits.unscored`"
    )
    return Remedy(text, float(total - allowed))


def of_threshold(estimate: Estimate, wanted: Requirement, value: float, end: float) -> Remedy:
    """The end of an interval misses its threshold."""
    key = f"or change `{wanted.rule}` of `{wanted.indicator}` in the policy"
    family, _, statistic = estimate.indicator.partition(".")
    if wanted.exact:
        named = [
            str(row["item"]) for row in estimate.detail.get("candidates") or () if "item" in row
        ]
        named = named or [str(item) for item in _listed(estimate.detail.get("items"))]
        such = f" ({', '.join(named[:8])}{', ...' if len(named) > 8 else ''})" if named else ""
        return Remedy(f"Read the items{such}, correct their right answers or take them out; {key}")
    what = _MORE.get(wanted.interval, "")
    n = estimate.n_respondents if what == "respondents" else estimate.n_items
    if wanted.rule == "within":
        value, end = abs(value), abs(end)
    if family == "parallel_forms" and what == "respondents":
        return Remedy(f"{_WORDINGS}; {_OTHERWISE[family]}; {key}")
    needed = _needed(statistic, family, what, n, value, end, wanted)
    otherwise = _OTHERWISE.get(family, "drop the claim")
    if what == "respondents" and "DOMINANT_MODEL" in estimate.flags:
        return Remedy(f"{_of_one_model(estimate.detail)}; {otherwise}; {key}")
    if needed is None:
        missed = value < wanted.bound if wanted.at_least is not None else value > wanted.bound
        first = (
            f"More {what or 'data'} will not do, for the number itself misses it"
            if missed
            else f"Raise the number of {what or 'items'}"
        )
        return Remedy(f"{first}; {otherwise}; {key}")
    also = (
        f" (or average {math.ceil(needed / max(n, 1)):,} seeds)"
        if family == "test_retest" and what == "items"
        else ""
    )
    return Remedy(
        f"Raise the number of {what} from {n:,} to about {needed:,}{also}; {otherwise}; {key}",
        float(needed),
    )


def _of_one_model(detail: Mapping[str, Any]) -> str:
    """Say what helps where one or two respondents make a correlation by themselves."""
    without = detail.get("without_strongest")
    alone = "it is undefined" if without is None else f"it is {float(without):.3f}"
    return (
        f"Read it without {detail.get('strongest') or 'the respondent that carries it'}, where"
        f" {alone}; further respondents help only if their scores lie between that one and the"
        " rest"
    )


def _listed(items: object) -> tuple[object, ...]:
    return tuple(items) if isinstance(items, list | tuple) else ()


def _needed(
    statistic: str, family: str, what: str, n: int, value: float, end: float, wanted: Requirement
) -> int | None:
    """Return how many items or respondents reach the threshold; None if no number does."""
    bound = wanted.bound
    if not what or n < 1:
        return None
    if (
        what == "items"
        and family in ("test_retest", "consistency")
        and statistic in _GROWS
        and wanted.at_least is not None
    ):
        # the end's own reliability, lengthened until it reaches the threshold
        if not 0 < end < 1 or not 0 < bound < 1:
            return None
        return _whole(n * lengthening(end, bound))
    inside = statistic in _FISHER and all(-1 < x < 1 for x in (value, end, bound))
    v, e, b = (math.atanh(x) if inside else x for x in (value, end, bound))
    room, reach = (v - b, v - e) if wanted.at_least is not None else (b - v, e - v)
    # the half-width shrinks with the root of the number
    return _whole(n * (reach / room) ** 2) if room > 0 else None


def _whole(number: float) -> int | None:
    return math.ceil(number - 1e-9) if number < _LARGEST else None


def of_missing_interval(estimate: Estimate, interval: str) -> Remedy:
    """Say what to do about an estimate without the interval that the policy names."""
    key = f"or ask for another interval of `{estimate.indicator}` in the policy"
    if interval == "model_population" and estimate.n_respondents < 10:
        text = (
            "An interval over other respondents needs about 10 of them, in several families: raise"
            f" the number from {estimate.n_respondents} to 10"
        )
        return Remedy(f"{text}; {key}", 10.0)
    return Remedy(
        "A point estimate is no evidence: see the estimate's reason and methods in audit.json;"
        f" {key}"
    )


def of_unmeasured(family: str, indicator: str) -> Remedy:
    """The audit has no such number."""
    facets = {
        "test_retest": "run",
        "parallel_forms": "form",
        "blindness": "sight",
        "resolution": "resolution",
    }
    if family == "criterion":
        text = "Have people label a few hundred answers: --criterion FILE"
    elif family in facets:
        text = _FACETS[facets[family]]
    else:
        text = "Read its reason in audit.json and give what it lacks"
    return Remedy(f"{text}; or take `{indicator}` out of the policy")


def of_leak(leak: LeakShown) -> Remedy:
    """Say what to do about a type or part that can be answered without its pictures."""
    # what the words give away, single features of the words give away too
    placed = [cue for cue in leak.by if cue in _PLACES or cue in _NUMBERS]
    ways = dict.fromkeys(
        _way(cue) for cue in (["words", *placed] if "words" in leak.by else leak.by[:4])
    )
    return Remedy(
        f"{'; '.join(ways)}; or take {leak.name} out, or drop the claim on it; or change the policy"
        " key `limits.leak`"
    )


def _way(cue: str) -> str:
    if cue == "words":
        return (
            "Ask the same questions about pictures with the other answer, until the words say"
            " nothing"
        )
    if cue in _PLACES:
        return "Shuffle the items of the file with a seed that you publish"
    if cue in _NUMBERS:
        return "Number the items anew after shuffling them"
    return f"Give questions of all answers the same {cue}"


def of_weak_search(name: str, items: int, detectable: float, most: float) -> Remedy:
    """Say what to do if a type or part has too few items to show a leak."""
    needed = math.ceil(items * (detectable / most) ** 2)
    text = (
        f"Raise the number of items in {name} from {items:,} to about {needed:,}; or change the"
        " policy key `limits.leak_found`"
    )
    return Remedy(text, float(needed))


Outcome = Literal["PASS", "FAIL", "NOT MEASURED"]
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
    """Whether the gate fails where this was not measured."""

    @property
    def passed(self) -> bool:
        """Whether the test passed, or was not measured and is not required."""
        return self.outcome == "PASS" or (self.outcome == "NOT MEASURED" and not self.required)


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
        for estimate in benchmark.estimates
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
        good = benchmark.items < limit
        sentence = f"{benchmark.items:,}, and this policy is for fewer than {limit:,}"
        remedy = Remedy(
            "Use the default policy, which larger benchmarks can meet; or change"
            " `required.fewer_items_than`"
        )
        yield _test(benchmark, "items", good, sentence, end=float(benchmark.items), remedy=remedy)


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
    remedy = of_unscored(total, lost, most, "")
    return _test(benchmark, "unscored answers", worst <= most, sentence, end=worst, remedy=remedy)


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


def _leaks(benchmark: BenchmarkAudit, most: float) -> Iterator[Test]:
    """Yield a test for every type and part that leaks more than the limit, or one that passes."""
    reason = "what can be answered without the picture measures no seeing; judged by type and part"
    missing = [
        e
        for e in benchmark.estimates
        if e.indicator in _LEAKS and e.status not in ("ok", "not_informative")
    ]
    rows = leak_rows(benchmark)
    if missing and not rows:
        sentence = f"{missing[0].status.replace('_', ' ')}: {missing[0].reason}"
        remedy = Remedy(
            "Raise the number of items to 20 on 5 pictures at least; or set `limits.leak` to 1",
            20.0,
        )
        yield _absent(benchmark, "leaks", sentence, remedy, reason)
        return
    if not rows and not any(estimate.indicator in _LEAKS for estimate in benchmark.estimates):
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
    reason = "that no leak was shown says something only where one would have been"
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
            f"Raise the number of items in {row['name']} to 20 on 5 pictures at least; or drop the"
            " claim on it; or set `limits.leak_found` to 1",
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
        too_wide = kind.error is None or kind.error > wanted.error
        if too_few or (too_wide and wanted.error < 1):
            forecast = (
                0
                if kind.error is None
                else math.ceil(kind.items * (kind.error / wanted.error) ** 2 - 1e-9)
            )
            needed = max(wanted.items_a_type, forecast or math.ceil(0.25 / wanted.error**2 - 1e-9))
            known = (
                "no item" if kind.error is None else f"{kind.items} items, error {kind.error:.3f}"
            )
            short.append(
                f"{kind.type} {known}{'' if kind.measured or not kind.items else ' (forecast)'}"
            )
            missing.append((kind.type, 0 if kind.at_chance else needed))
    asked = (
        f"a standard error of at most {wanted.error:g}"
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


def _threshold(benchmark: BenchmarkAudit, wanted: Requirement) -> Iterator[Test]:
    estimates = [
        e
        for e in benchmark.estimates
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
    if value is None or not _usable(estimate, wanted):
        sentence = f"{estimate.status.replace('_', ' ')}: {estimate.reason}"
        remedy = of_unmeasured(estimate.indicator.partition(".")[0], estimate.indicator)
        return _absent(benchmark, what, sentence, remedy, wanted.reason, not wanted.optional)
    low, high, named = _ends(estimate, wanted)
    if wanted.rule == "within" and low is not None and high is not None:
        return _equivalent(benchmark, estimate, wanted, (low, high))
    lower = wanted.end == "lower" or (not wanted.end and wanted.at_least is not None)
    end = low if lower else high
    if end is None or not math.isfinite(end):
        sentence = f"{value:.3f} without the interval {named}: a point estimate is no evidence"
        remedy = of_missing_interval(estimate, wanted.interval)
        return _absent(benchmark, what, sentence, remedy, wanted.reason, not wanted.optional)
    bound = wanted.bound
    good = end >= bound if wanted.at_least is not None else end <= bound
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
        of_threshold(estimate, wanted, value, end),
    )


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
