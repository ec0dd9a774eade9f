"""The gate: does an audit meet a policy? Thresholds are held against interval ends, and what was not measured fails.

A policy is a TOML file; `policy.toml` beside this module is the default, with the source of every threshold.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal
from xml.etree import ElementTree

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from hqm.auditing.value import Audit, BenchmarkAudit
from hqm.errors import CardError, DataError
from hqm.files.records import read_text
from hqm.files.toml import parse_toml
from hqm.indicators import indicator_named
from hqm.scoring.states import advice_on_cut, unscored
from hqm.types import Estimate, Task

Outcome = Literal["PASS", "FAIL", "NOT MEASURED"]
_RANKS = {"none": 0, "note": 1, "warning": 2, "error": 3}


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Required(_Section):
    """`[required]`: what must have been administered."""

    facets: tuple[Literal["run", "form", "judge", "sight"], ...] = ()
    """The facets that must have been varied."""
    respondents: int = Field(default=0, ge=0)
    """The least number of respondents."""


class Limits(_Section):
    """`[limits]`: how much may be missing or odd."""

    unscored: float = Field(default=1.0, ge=0, le=1)
    """The largest share of unscored answers in any administration."""
    findings: Literal["none", "note", "warning", "error"] = "error"
    """The gravest finding of `hqm check` on the items that is let through."""


class Coverage(_Section):
    """`[coverage]`: what stands behind a type."""

    claimed: bool = False
    """Whether every type that the card claims must have its items."""
    items_a_type: int = Field(default=1, ge=1)
    """How many items that is."""


class Requirement(_Section):
    """`[[require]]`: one threshold on one indicator, for every estimate of it."""

    indicator: str
    """Family and statistic, `test_retest.rho_g`."""
    metric: str = ""
    """Only this metric; all audited ones unless given."""
    interval: Literal["", "fixed_models", "model_population"] = ""
    """The interval whose unfavourable end is held against the threshold."""
    detail: str = ""
    """In place of an interval of the estimate: the name of a [low, high] pair in its detail."""
    exact: bool = False
    """The number is a count of the data and has no interval."""
    at_least: float | None = None
    """The lower end must not lie below it."""
    at_most: float | None = None
    """The upper end must not lie above it."""
    tasks: tuple[Task, ...] = ()
    """The tasks it is asked of; all unless given."""
    reason: str = ""
    """Why this threshold: its source, or the use of the scores."""

    @model_validator(mode="after")
    def _one_of_each(self) -> Requirement:
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError("give at_least or at_most")
        if bool(self.interval) + bool(self.detail) + self.exact != 1:
            raise ValueError("give one of interval, detail and exact: a point estimate is no evidence")
        if indicator_named(self.indicator) is None:
            raise ValueError(f"no audit estimates {self.indicator!r}; `hqm list indicators` shows what there is")
        return self

    @property
    def bound(self) -> float:
        """The threshold, whichever way it points."""
        return self.at_least if self.at_least is not None else float(self.at_most or 0)


class Policy(_Section):
    """What an audit must show.

    Raises
    ------
    CardError
        From `Policy.load`: the file is missing, no TOML, or has a key or value that means nothing.
    """

    name: str
    """What it is called in reports."""
    required: Required = Required()
    limits: Limits = Limits()
    coverage: Coverage = Coverage()
    require: tuple[Requirement, ...] = ()

    @classmethod
    def load(cls, path: Path | None = None) -> Policy:
        """Read a policy; the default one without a path.

        >>> Policy.load().require[0].at_least
        0.9
        """
        place = str(path) if path else "the default policy"
        try:
            text = read_text(path) if path else default_text()
        except DataError as error:
            raise CardError(f"it cannot be read: {error.what}", place=place, remedy="Correct the file.") from None
        try:
            return cls.model_validate(parse_toml(text))
        except DataError as error:
            raise CardError(error.what, place=place, remedy=error.remedy) from None
        except ValidationError as error:
            first = error.errors()[0]
            key = ".".join(map(str, first["loc"]))
            raise CardError(
                f"the key {key!r} is wrong: {first['msg']}", place=place, remedy="See docs/reference.md."
            ) from None


def default_text() -> str:
    """The default policy as a file, comments and sources included."""
    return resources.files("hqm.auditing").joinpath("policy.toml").read_text("utf-8")


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
    end: float | None = None
    """The number that was held against the threshold."""


@dataclass(frozen=True)
class Gate:
    """Every test of a policy on an audit."""

    policy: str
    tests: tuple[Test, ...]

    @property
    def passed(self) -> bool:
        """Whether all passed; an audit of nothing does not."""
        return bool(self.tests) and all(test.outcome == "PASS" for test in self.tests)

    def to_dict(self) -> dict[str, Any]:
        """The gate as JSON data."""
        return {"policy": self.policy, "passed": self.passed, "tests": [asdict(test) for test in self.tests]}

    def junit(self) -> str:
        """The tests as JUnit XML: a suite for each benchmark; what was not measured is a failure of that type."""
        root = ElementTree.Element("testsuites", name=f"hqm gate: {self.policy}")
        for name in dict.fromkeys(test.benchmark for test in self.tests):
            tests = [test for test in self.tests if test.benchmark == name]
            failed = sum(test.outcome != "PASS" for test in tests)
            suite = ElementTree.SubElement(root, "testsuite", name=name, tests=str(len(tests)), failures=str(failed))
            for test in tests:
                case = ElementTree.SubElement(suite, "testcase", classname=name, name=test.what)
                if test.outcome != "PASS":
                    kind = test.outcome.lower().replace(" ", "-")
                    ElementTree.SubElement(case, "failure", message=test.sentence, type=kind).text = test.reason
        ElementTree.indent(root)
        return f"<?xml version='1.0' encoding='utf-8'?>\n{ElementTree.tostring(root, encoding='unicode')}\n"

    def annotations(self) -> Iterator[str]:
        """A GitHub workflow command for every test that did not pass."""
        for test in self.tests:
            if test.outcome != "PASS":
                title = _escaped(f"{test.benchmark}: {test.what}").replace(":", "%3A").replace(",", "%2C")
                yield f"::error title={title}::{_escaped(f'{test.outcome}: {test.sentence}')}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def hold_against(audit: Audit, policy: Policy) -> Gate:
    """Hold an audit against a policy."""
    return Gate(policy.name, tuple(test for benchmark in audit.audits for test in _tests(benchmark, policy)))


def _tests(benchmark: BenchmarkAudit, policy: Policy) -> Iterator[Test]:
    for facet in policy.required.facets:
        yield _facet(benchmark, facet)
    least = policy.required.respondents
    if least:
        n = len(benchmark.respondents)
        yield _test(benchmark, "respondents", n >= least, f"{n}, at least {least} are needed", end=float(n))
    yield _unscored(benchmark, policy.limits.unscored)
    yield _findings(benchmark, policy.limits.findings)
    if policy.coverage.claimed:
        yield _coverage(benchmark, policy.coverage.items_a_type)
    for requirement in policy.require:
        if not requirement.tasks or benchmark.task in requirement.tasks:
            yield from _threshold(benchmark, requirement)


def _test(
    benchmark: BenchmarkAudit, what: str, good: bool, sentence: str, reason: str = "", end: float | None = None
) -> Test:
    return Test(benchmark.benchmark, what, "PASS" if good else "FAIL", sentence, reason, end)


def _absent(benchmark: BenchmarkAudit, what: str, sentence: str, reason: str = "") -> Test:
    return Test(benchmark.benchmark, what, "NOT MEASURED", sentence, reason)


def _facet(benchmark: BenchmarkAudit, facet: str) -> Test:
    what = f"facet {facet}"
    estimates = [estimate for estimate in benchmark.estimates if estimate.facet == facet and estimate.value is not None]
    if not estimates:
        return _absent(benchmark, what, "no administration differs from the reference in it alone")
    others = len({estimate.other for estimate in estimates})
    return _test(benchmark, what, True, f"{others} {'comparison' if others == 1 else 'comparisons'}")


def _unscored(benchmark: BenchmarkAudit, most: float) -> Test:
    shares = {}
    for cell, counts in benchmark.state_counts.items():
        if total := sum(counts.values()):
            shares[cell] = unscored(counts) / total
    if not shares:
        return _absent(benchmark, "unscored answers", "no answer was counted")
    cell, worst = max(shares.items(), key=lambda pair: pair[1])
    sentence = f"{worst:.1%} of the answers in {cell}, at most {most:.1%} may be"
    if advice := advice_on_cut(benchmark.state_counts[cell]):
        sentence += f"; {advice}"
    return _test(benchmark, "unscored answers", worst <= most, sentence, end=worst)


def _findings(benchmark: BenchmarkAudit, most: str) -> Test:
    graver = [finding for finding in benchmark.findings if _RANKS[finding.get("severity", "note")] > _RANKS[most]]
    if not graver:
        return _test(benchmark, "findings", True, f"none graver than {most}" if most != "none" else "none")
    names = ", ".join(dict.fromkeys(f"{finding['code']} {finding['name']}" for finding in graver))
    return _test(benchmark, "findings", False, f"{len(graver)} graver than {most}: {names}")


def _coverage(benchmark: BenchmarkAudit, least: int) -> Test:
    claimed = {kind: row for kind, row in benchmark.coverage.items() if row["claimed"]}
    if not claimed:
        return _absent(benchmark, "coverage", "the card claims no type")
    few = [f"{kind} {row['items']}" for kind, row in claimed.items() if row["items"] < least]
    if few:
        sentence = f"{len(few)} of {len(claimed)} claimed types have fewer than {least} items: {', '.join(few)}"
        return _test(benchmark, "coverage", False, sentence)
    return _test(benchmark, "coverage", True, f"all {len(claimed)} claimed types have {least} items or more")


def _threshold(benchmark: BenchmarkAudit, wanted: Requirement) -> Iterator[Test]:
    estimates = [e for e in benchmark.estimates if e.indicator == wanted.indicator and wanted.metric in ("", e.metric)]
    what = f"{wanted.indicator}{f' ({wanted.metric})' if wanted.metric else ''}"
    if not estimates:
        yield _absent(benchmark, what, "the audit has no such estimate", wanted.reason)
    for estimate in estimates:
        yield _held(benchmark, estimate, wanted)


def _held(benchmark: BenchmarkAudit, estimate: Estimate, wanted: Requirement) -> Test:
    what = f"{estimate.indicator} ({estimate.metric})"
    if estimate.status != "ok" or estimate.value is None:
        return _absent(benchmark, what, f"{estimate.status.replace('_', ' ')}: {estimate.reason}", wanted.reason)
    low, high, named = _ends(estimate, wanted)
    lower = wanted.at_least is not None
    end = low if lower else high
    if end is None or not math.isfinite(end):
        return _absent(benchmark, what, f"{estimate.value:.3f} without the interval {named}", wanted.reason)
    bound = wanted.bound
    good = end >= bound if lower else end <= bound
    side = "lower end" if lower else "upper end"
    value = f"{end:g}" if wanted.exact else f"{side} {end:.3f} of {named}"
    sentence = f"{value}, {'at least' if lower else 'at most'} {bound:g} is asked for"
    return _test(benchmark, what, good, sentence, wanted.reason, end)


def _ends(estimate: Estimate, wanted: Requirement) -> tuple[float | None, float | None, str]:
    if wanted.exact:
        return estimate.value, estimate.value, "exact"
    if wanted.detail:
        pair: Sequence[float | None] = estimate.detail.get(wanted.detail) or (None, None)
        return pair[0], pair[1], wanted.detail
    interval = estimate.interval(wanted.interval)
    return (interval.low, interval.high, wanted.interval) if interval else (None, None, wanted.interval)
