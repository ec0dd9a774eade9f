"""The gate: interval ends against thresholds, what is not measured, and what machines read."""

import json
import math
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import hqm
from hqm.auditing.gate import Gate, Policy, default_text, hold_against
from hqm.auditing.value import Audit, BenchmarkAudit, RespondentScores
from hqm.types import Cell, Estimate, Interval
from tests.conftest import Run

FIRST = str(Cell())


def estimate(indicator: str = "test_retest.rho_g", low: float = 0.92, high: float = 0.98, **more: Any) -> Estimate:
    interval = Interval(low, high, "fixed_models", "jackknife")
    settings = {"value": 0.96, "facet": "run", "intervals": (interval,), **more}
    return Estimate(indicator=indicator, metric="accuracy", first=FIRST, other=str(Cell(run=1)), **settings)


def audit_of(*estimates: Estimate, **more: Any) -> Audit:
    """An audit of one respondent and three answers, two of them scored."""
    respondent = RespondentScores(
        "hf/x", {"accuracy": 0.5}, {}, {}, {FIRST: {}}, {FIRST: {"ok": 2, "refused": 0, "unparsed": 1}}, {}, {}
    )
    settings: dict[str, Any] = {
        "benchmark": "mine", "title": "Mine", "version": "1", "task": "yes_no", "scoring": "official", "parser": "strict",
        "summary": "", "reference": FIRST, "items": 3, "images": 3, "metrics": {"accuracy": {"about": "", "better": "higher"}}, "forms": {}, "truth_yes": {},
        "cells": (FIRST,), "respondents": (respondent,), "estimates": estimates, "findings": (),
        "coverage": {
            kind: {"type": kind, "claimed": items > 0, "items": items, "images": items, "wordings": items, "state": "labelled"}
            for kind, items in (("ocr", 12), ("action", 0))
        },
    }  # fmt: skip
    return Audit((BenchmarkAudit(**{**settings, **more}),))


def policy(**sections: Any) -> Policy:
    return Policy.model_validate({"name": "test", **sections})


def asked(**row: Any) -> Policy:
    return policy(require=[{"indicator": "test_retest.rho_g", **row}])


def outcome(audit: Audit, wanted: Policy, what: str = "test_retest.rho_g (accuracy)") -> str:
    return next(test.outcome for test in hold_against(audit, wanted).tests if test.what == what)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"interval": "fixed_models", "at_least": 0.92}, "PASS"),
        # the number itself, .96, lies above: the lower end does not
        ({"interval": "fixed_models", "at_least": 0.93}, "FAIL"),
        ({"interval": "fixed_models", "at_most": 0.98}, "PASS"),
        ({"interval": "fixed_models", "at_most": 0.97}, "FAIL"),
        ({"interval": "model_population", "at_least": 0.1}, "NOT MEASURED"),
        ({"exact": True, "at_least": 0.95}, "PASS"),
        ({"exact": True, "at_most": 0.95}, "FAIL"),
        ({"detail": "pair", "at_most": 0.3}, "PASS"),
        ({"detail": "pair", "at_most": 0.2}, "FAIL"),
        ({"detail": "nothing", "at_most": 0.2}, "NOT MEASURED"),
    ],
)
def test_the_unfavourable_end_decides(row: dict[str, Any], expected: str) -> None:
    assert outcome(audit_of(estimate(detail={"pair": [0.1, 0.25]})), asked(**row)) == expected


@pytest.mark.parametrize(
    "missing",
    [
        estimate(value=None, status="insufficient", reason="too few", intervals=()),
        # deterministic answers repeat by construction: a number that says nothing is no evidence
        estimate(status="not_informative", reason="temperature 0"),
        estimate(low=math.nan),
        estimate(intervals=()),
    ],
)
def test_what_was_not_measured_is_not_passed(missing: Estimate) -> None:
    wanted = asked(interval="fixed_models", at_least=0.0)
    assert outcome(audit_of(missing), wanted) == "NOT MEASURED"
    assert not hold_against(audit_of(missing), wanted).passed
    assert outcome(audit_of(), wanted, "test_retest.rho_g") == "NOT MEASURED"
    assert not hold_against(Audit(()), wanted).passed, "an audit of nothing"


def test_every_estimate_of_an_indicator_must_pass() -> None:
    worse = estimate(low=0.5)
    tests = hold_against(audit_of(estimate(), worse), asked(interval="fixed_models", at_least=0.9)).tests
    assert [test.outcome for test in tests if test.what.startswith("test_retest")] == ["PASS", "FAIL"]
    assert outcome(audit_of(worse), asked(interval="fixed_models", at_least=0.9, tasks=["yes_no"])) == "FAIL"
    other = asked(interval="fixed_models", at_least=0.9, tasks=["caption"])
    assert not [test for test in hold_against(audit_of(worse), other).tests if test.what.startswith("test_retest")]


def test_facets_respondents_unscored_coverage_findings() -> None:
    audit = audit_of(estimate())
    assert outcome(audit, policy(required={"facets": ["run"]}), "facet run") == "PASS"
    assert outcome(audit, policy(required={"facets": ["form"]}), "facet form") == "NOT MEASURED"
    assert outcome(audit, policy(required={"respondents": 1}), "respondents") == "PASS"
    assert outcome(audit, policy(required={"respondents": 2}), "respondents") == "FAIL"
    # one of three answers has no score
    assert outcome(audit, policy(limits={"unscored": 0.34}), "unscored answers") == "PASS"
    assert outcome(audit, policy(limits={"unscored": 0.33}), "unscored answers") == "FAIL"
    assert outcome(audit, policy(coverage={"claimed": True, "items_a_type": 12}), "coverage") == "PASS"
    assert outcome(audit, policy(coverage={"claimed": True, "items_a_type": 13}), "coverage") == "FAIL"
    assert outcome(audit_of(coverage={}), policy(coverage={"claimed": True}), "coverage") == "NOT MEASURED"
    for severity, let_through in (("note", "note"), ("warning", "warning"), ("error", "error")):
        odd = audit_of(findings=({"code": "D104", "name": "x", "severity": severity, "sentence": "s"},))
        assert outcome(odd, policy(limits={"findings": let_through}), "findings") == "PASS"
        below = {"note": "none", "warning": "note", "error": "warning"}[severity]
        assert outcome(odd, policy(limits={"findings": below}), "findings") == "FAIL"


def test_the_default_policy_is_documented_and_conservative() -> None:
    default = Policy.load()
    assert default.name == "default"
    assert all(row.reason for row in default.require)
    for source in ("Koo and Li", "Nunnally and Bernstein", "Terwee", "COSMIN"):
        assert source in default_text()
    assert all(hqm.indicator_named(row.indicator) for row in default.require)
    # a perfect point estimate of one indicator is far from enough
    assert not hold_against(audit_of(estimate(low=0.99, high=1.0)), default).passed


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("name = ", "no TOML"),
        ('name = "x"\n[limit]\nunscored = 1', "'limit' is wrong"),
        ('name = "x"\n[[require]]\nindicator = "a.b"\nat_least = 0.9', "a point estimate is no evidence"),
        ('name = "x"\n[[require]]\nindicator = "a.b"\nexact = true', "give at_least or at_most"),
        (
            'name = "x"\n[[require]]\nindicator = "criterion.rho_g"\nexact = true\nat_least = 0',
            "no audit estimates 'criterion.rho_g'",
        ),
    ],
)
def test_a_policy_that_means_nothing_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "policy.toml").write_text(text)
    with pytest.raises(hqm.CardError, match=sentence):
        Policy.load(tmp_path / "policy.toml")
    with pytest.raises(hqm.CardError, match="cannot be read"):
        Policy.load(tmp_path / "nowhere.toml")


def failing() -> Gate:
    return hold_against(
        audit_of(estimate(low=0.5)), asked(interval="fixed_models", at_least=0.9, reason="100% & <sure>\nof it")
    )


def test_junit_and_annotations() -> None:
    root = ElementTree.fromstring(failing().junit())
    (suite,) = root
    assert (root.tag, suite.tag, suite.get("name")) == ("testsuites", "testsuite", "mine")
    assert suite.get("tests") == str(len(suite))
    failures = suite.findall("testcase/failure")
    assert suite.get("failures") == str(len(failures)) == "1"
    text = failures[0].text or ""
    assert text.startswith("100% & <sure>\nof it\nRaise the number of items; average several seeds")
    assert text.endswith("or change `at_least` of `test_retest.rho_g` in the policy")
    (line,) = failing().annotations()
    assert line.startswith("::error title=mine%3A test_retest.rho_g (accuracy)::FAIL: lower end 0.500 of fixed_models")
    assert "\n" not in line


def test_the_command(run: Run, tmp_path: Path) -> None:
    path, wanted = tmp_path / "audit.json", tmp_path / "policy.toml"
    path.write_text(audit_of(estimate()).to_json())
    wanted.write_text(
        'name = "mild"\n[[require]]\nindicator = "test_retest.rho_g"\ninterval = "fixed_models"\nat_least = 0.9'
    )
    status, out, _ = run("gate", path, "--policy", wanted, "--github")
    assert status == 0
    assert "policy mild: passed" in out
    assert "::error" not in out
    status, out, _ = run("gate", path, "--junit", tmp_path / "sub" / "gate.xml", "--github")
    assert status == 1
    assert "  NOT MEASURED  criterion.pearson: the audit has no such estimate" in out
    assert "Terwee" in out, "the reason of what did not pass"
    tests = ElementTree.parse(tmp_path / "sub" / "gate.xml").findall(".//testcase")
    assert out.count("::error") == sum(test.find("failure") is not None for test in tests) > 3
    printed = json.loads(run("gate", path, "--json")[1])
    assert (printed["passed"], printed["policy"]) == (False, "default")
    assert {test["outcome"] for test in printed["tests"]} == {"PASS", "FAIL", "NOT MEASURED"}
    assert run("gate", tmp_path / "none.json")[0] == 1
    assert run("gate", path, "--policy", tmp_path / "none.toml")[0] == 1
