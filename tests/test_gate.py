"""The gate: interval ends against thresholds, what is not measured, and what machines read."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hqm.reports.pages.leaderboard_sentences import board_title
from hqm.reports.pages.phrases import plain_text
from hqm.reports.pages.sentences import wordings_to_average

import hqm
from hqm.auditing import definitions
from hqm.auditing.audit import Audit, BenchmarkAudit
from hqm.auditing.audit_rows import RespondentScores
from hqm.auditing.gate import Gate, Policy, check_against, default_text
from hqm.indicators import compare, compare_forms
from hqm.types import Cell, Estimate, Interval
from tests import test_flags as made
from tests.conftest import Run
from tests.messages import pattern_of, tells, text_of

FIRST = str(Cell())


def estimate(
    indicator: str = "test_retest.rho_g", low: float = 0.92, high: float = 0.98, **overrides: Any
) -> Estimate:
    interval = Interval(low, high, "fixed_models", "jackknife")
    settings = {"value": 0.96, "facet": "run", "intervals": (interval,), **overrides}
    return Estimate(
        indicator=indicator, metric="accuracy", first=FIRST, other=str(Cell(run=1)), **settings
    )


def audit_of(*estimates: Estimate, **overrides: Any) -> Audit:
    """An audit of one respondent and three answers, two of them scored."""
    respondent = RespondentScores(
        "hf/x",
        {"accuracy": 0.5},
        {},
        {},
        {FIRST: {}},
        {FIRST: {"ok": 2, "refused": 0, "unparsed": 1}},
        {},
        {},
    )
    settings: dict[str, Any] = {
        "benchmark": "mine",
        "title": "Mine",
        "version": "1",
        "task": "yes_no",
        "scoring": "official",
        "parser": "strict",
        "summary": "",
        "reference": FIRST,
        "n_items": 12,
        "images": 3,
        "metrics": {"accuracy": {"about": "", "better": "higher"}},
        "forms": {},
        "truth_yes": {},
        "cells": (FIRST,),
        "respondents": (respondent,),
        "all_estimates": estimates,
        "findings": (),
        "coverage": {
            kind: {
                "type": kind,
                "claimed": items > 0,
                "items": items,
                "images": items,
                "wordings": items,
                "state": "labelled",
            }
            for kind, items in (("ocr", 12), ("action", 0))
        },
    }
    return Audit((BenchmarkAudit(**{**settings, **overrides}),))


def policy(**sections: Any) -> Policy:
    return Policy.model_validate({"name": "test", **sections})


def require(**row: Any) -> Policy:
    return policy(require=[{"indicator": "test_retest.rho_g", **row}])


def outcome(
    audit: Audit, gate_policy: Policy, test_name: str = "test_retest.rho_g (accuracy)"
) -> str:
    return next(
        test.outcome for test in check_against(audit, gate_policy).tests if test.what == test_name
    )


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
    assert outcome(audit_of(estimate(detail={"pair": [0.1, 0.25]})), require(**row)) == expected


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
    gate_policy = require(interval="fixed_models", at_least=0.0)
    assert outcome(audit_of(missing), gate_policy) == "NOT MEASURED"
    assert not check_against(audit_of(missing), gate_policy).passed
    assert outcome(audit_of(), gate_policy, "test_retest.rho_g") == "NOT MEASURED"
    assert not check_against(Audit(()), gate_policy).passed, "an audit of nothing"


def test_every_estimate_of_an_indicator_must_pass() -> None:
    worse = estimate(low=0.5)
    tests = check_against(
        audit_of(estimate(), worse), require(interval="fixed_models", at_least=0.9)
    ).tests
    assert [test.outcome for test in tests if test.what.startswith("test_retest")] == [
        "PASS",
        "FAIL",
    ]
    assert (
        outcome(audit_of(worse), require(interval="fixed_models", at_least=0.9, tasks=["yes_no"]))
        == "FAIL"
    )
    caption_policy = require(interval="fixed_models", at_least=0.9, tasks=["caption"])
    assert not [
        test
        for test in check_against(audit_of(worse), caption_policy).tests
        if test.what.startswith("test_retest")
    ]


def test_two_other_wordings_are_two_comparisons() -> None:
    cells = [f"form={name}|run=0|judge=rule" for name in ("alpha", "beta")]
    # both by themselves, and all wordings together
    estimates = [
        replace(estimate("parallel_forms.mean_shift"), facet="form", other=other)
        for other in (*cells, " & ".join(cells))
    ]
    tests = check_against(audit_of(*estimates), policy(required={"facets": ["form"]})).tests
    (sentence,) = (test.sentence for test in tests if test.what == "facet form")
    assert sentence == text_of("gate.compared", n="2")


def test_facets_respondents_unscored_coverage_findings() -> None:
    audit = audit_of(estimate())
    assert outcome(audit, policy(required={"facets": ["run"]}), "facet run") == "PASS"
    assert outcome(audit, policy(required={"facets": ["form"]}), "facet form") == "NOT MEASURED"
    assert outcome(audit, policy(required={"respondents": 1}), "respondents") == "PASS"
    assert outcome(audit, policy(required={"respondents": 2}), "respondents") == "FAIL"
    # one of three answers has no score
    assert outcome(audit, policy(limits={"unscored": 0.34}), "unscored answers") == "PASS"
    assert outcome(audit, policy(limits={"unscored": 0.33}), "unscored answers") == "FAIL"
    assert (
        outcome(audit, policy(coverage={"claimed": True, "items_a_type": 12}), "coverage") == "PASS"
    )
    assert (
        outcome(audit, policy(coverage={"claimed": True, "items_a_type": 13}), "coverage") == "FAIL"
    )
    assert (
        outcome(audit_of(coverage={}), policy(coverage={"claimed": True}), "coverage")
        == "NOT MEASURED"
    )
    for severity, allowed in (("note", "note"), ("warning", "warning"), ("error", "error")):
        odd = audit_of(
            findings=({"code": "D104", "name": "x", "severity": severity, "sentence": "s"},)
        )
        assert outcome(odd, policy(limits={"findings": allowed}), "findings") == "PASS"
        stricter = {"note": "none", "warning": "note", "error": "warning"}[severity]
        assert outcome(odd, policy(limits={"findings": stricter}), "findings") == "FAIL"


def test_the_upper_end_of_a_types_error_decides_about_it() -> None:
    rows = [
        {
            "type": kind,
            "items": 300,
            "sem": 0.0295,
            "sem_high": high,
            "measured": True,
            "missing_items": 0,
            "state": "measurable",
        }
        for kind, high in (("ocr", 0.031), ("action", 0.0299))
    ]
    index = estimate("types.index", value=1.0, intervals=(), detail={"types": rows})
    audit = audit_of(index, coverage={row["type"]: {**row, "claimed": True} for row in rows})
    (test,) = check_against(audit, policy(coverage={"claimed": True, "error": 0.03})).tests[-1:]
    assert (test.what, test.outcome) == ("coverage", "FAIL")
    assert "ocr (300 items) up to 3.1" in test.sentence
    assert "action" not in test.sentence
    assert test.needed == math.ceil(300 * (0.031 / 0.03) ** 2)


def test_the_default_policy_is_documented_and_conservative() -> None:
    default = Policy.load()
    assert default.name == "default"
    assert all(row.reason for row in default.require)
    for source in ("Koo and Li", "Lord and Novick", "Terwee", "COSMIN"):
        assert source in default_text()
    assert all(hqm.indicator_named(row.indicator) for row in default.require)
    # a perfect point estimate of one indicator is far from enough
    assert not check_against(audit_of(estimate(low=0.99, high=1.0)), default).passed


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("name = ", "no TOML"),
        # a misspelt key explains the one that is missing
        ('nam = "x"', pattern_of("key.unknown", key="nam", near="name") + " See"),
        *[
            (
                f'name = "x"\n[{table}]\n{key} = {value}',
                pattern_of("key.value", key=f"{table}.{key}", words=words, value=value) + " See",
            )
            for table, key, value, words in (
                ("limits", "unscored", '"a lot"', "a number"),
                ("limits", "unscored", "1.7", "less than or equal to 1"),
                ("precision", "error", "3", "less than or equal to 1"),
                ("precision", "difference", "12", "less than or equal to 1"),
                ("coverage", "error", "3", "less than or equal to 1"),
                ("coverage", "claimed", '"yes"', "true or false"),
                ("required", "respondents", "2.5", "a whole number"),
                ("required", "facets", '"run"', "a list in [ ]"),
            )
        ],
        ("name = 3", pattern_of("key.value", key="name", words="a text in quotes", value="3")),
        (
            'name = "x"\n[limit]\nunscored = 1',
            pattern_of("key.unknown", key="limit", near="limits") + " See",
        ),
        (
            'name = "x"\n[[require]]\nindicator = "a.b"\nat_least = 0.9',
            pattern_of("policy.point-estimate", key="require.0"),
        ),
        (
            'name = "x"\n[[require]]\nindicator = "a.b"\nexact = true',
            pattern_of("policy.one-rule"),
        ),
        (
            (
                'name = "x"\n[[require]]\nindicator = "parallel_forms.mean_shift"\nwithin ='
                ' 0.02\nend = "upper"\ninterval = "fixed_models"'
            ),
            "both ends",
        ),
        (
            'name = "x"\n[[require]]\nindicator = "criterion.rho_g"\nexact = true\nat_least = 0',
            "no audit estimates 'criterion.rho_g'",
        ),
        *[
            (
                f'name = "x"\n[[require]]\nindicator = "{indicator}"\n{rule} = {bound}\n'
                'interval = "fixed_models"',
                pattern_of("policy.no-threshold", rule=rule, bound=bound, indicator=indicator),
            )
            for indicator, rule, bound in (
                ("test_retest.rho_g", "at_least", "-5"),
                ("test_retest.rho_g", "at_most", "1.5"),
                ("items.label_errors", "at_most", "-1"),
                ("parallel_forms.mean_shift", "within", "2"),
            )
        ],
    ],
)
def test_a_policy_that_means_nothing_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "policy.toml").write_text(text)
    with pytest.raises(hqm.CardError, match=sentence):
        Policy.load(tmp_path / "policy.toml")
    with pytest.raises(hqm.CardError, match="cannot be read"):
        Policy.load(tmp_path / "nowhere.toml")
    with pytest.raises(hqm.CardError, match="Did you mean 'release-small'"):
        Policy.load("release-smal")


def test_the_end_that_a_policy_names_decides() -> None:
    wide = estimate(low=0.5, high=0.98)
    assert (
        outcome(audit_of(wide), require(interval="fixed_models", at_least=0.9, end="upper"))
        == "PASS"
    )
    assert (
        outcome(audit_of(wide), require(interval="fixed_models", at_most=0.6, end="lower"))
        == "PASS"
    )
    sentence = (
        check_against(audit_of(wide), require(interval="fixed_models", at_least=0.9))
        .tests[-1]
        .sentence
    )
    assert sentence.startswith(text_of("gate.lower-end", value="0.500", bound=0.9))


@pytest.mark.parametrize(
    ("ends", "outcome_expected"),
    [
        ((-0.004, 0.012), "PASS"),
        ((-0.004, 0.021), "FAIL"),
        ((-0.03, -0.005), "FAIL"),
        ((0.4, 0.5), "FAIL"),
    ],
)
def test_a_margin_of_equivalence_is_declared_in_the_policy(
    ends: tuple[float, float], outcome_expected: str
) -> None:
    shift = estimate("parallel_forms.mean_shift", *ends, value=sum(ends) / 2, n_items=100)
    gate_policy = policy(
        require=[
            {"indicator": "parallel_forms.mean_shift", "interval": "fixed_models", "within": 0.02}
        ]
    )
    test = check_against(audit_of(shift), gate_policy).tests[-1]
    assert test.outcome == outcome_expected
    assert "−2 to 2 is allowed" in test.sentence
    assert ("change `within`" in test.remedy) == (outcome_expected == "FAIL")
    # a difference that lies outside itself does not come inside with more items
    assert ("More items do not help" in test.remedy) == (abs(sum(ends) / 2) > 0.02)


@pytest.mark.parametrize("preset", ["default", "release-small"])
@pytest.mark.parametrize(
    ("shift", "scale", "passes"),
    [(0.05, (0, 1), True), (0.30, (0, 1), False), (0.4, (0, 6), True), (1.8, (0, 6), False)],
)
def test_two_wordings_far_apart_stop_the_gate_in_the_units_of_any_metric(
    preset: str, shift: float, scale: tuple[float, float], passes: bool
) -> None:
    """Two wordings decide nothing about others, but of exactly these two they say how far apart."""
    width = 0.02 * (scale[1] - scale[0])
    moved = estimate(
        "parallel_forms.mean_shift", shift - width, shift + width, value=shift, n_items=1000
    )
    audit = audit_of(moved, metrics={"accuracy": {"about": "", "better": "higher", "scale": scale}})
    gate = check_against(audit, Policy.load(preset))
    test = next(test for test in gate.tests if "mean_shift" in test.what)
    assert test.outcome == ("PASS" if passes else "FAIL")
    assert passes or not gate.passed


def test_what_need_not_be_measured_does_not_stop_the_gate() -> None:
    gate = check_against(audit_of(), require(interval="fixed_models", at_least=0.9, optional=True))
    assert gate.tests[-1].outcome == "NOT MEASURED"
    assert not gate.tests[-1].required
    assert gate.passed
    # what was found counts, also where the design would have found few
    weak = estimate(
        "items.label_errors",
        value=2.0,
        status="not_informative",
        reason="power .1",
        intervals=(),
        detail={"candidates": [{"item": "q7"}]},
    )
    gate_policy = policy(
        require=[{"indicator": "items.label_errors", "exact": True, "at_most": 0, "optional": True}]
    )
    (test,) = [
        t for t in check_against(audit_of(weak), gate_policy).tests if t.what.startswith("items")
    ]
    assert test.outcome == "FAIL"
    assert "q7" in test.remedy
    no_errors = replace(weak, value=0.0)
    assert (
        outcome(audit_of(no_errors), gate_policy, "items.label_errors (accuracy)") == "NOT MEASURED"
    )
    assert check_against(audit_of(no_errors), gate_policy).passed


def by_oracle(**overrides: Any) -> Audit:
    respondent = RespondentScores(
        "hf/x",
        {"accuracy": 0.5},
        {},
        {},
        {FIRST: {}},
        {FIRST: {"ok": 3}},
        {},
        {},
        {str(Cell(judge="oracle")): 0.9},
    )
    interval = Interval(0.95, 0.99, "model_population", "Fisher z")
    agreement = estimate(
        "oracle.pearson",
        intervals=(interval,),
        status="not_informative",
        reason="the labels come from 'oracle'",
        facet="judge",
        detail={"labelled_by": "oracle", "labels_of": "oracle"},
    )
    return audit_of(agreement, respondents=(respondent,), **overrides)


def test_an_oracle_is_not_people() -> None:
    asks = {"interval": "model_population", "at_least": 0.7}
    by_people = policy(
        required={"facets": ["judge"]}, require=[{"indicator": "criterion.pearson", **asks}]
    )
    tests = {test.what: test for test in check_against(by_oracle(), by_people).tests}
    assert tests["criterion.pearson"].outcome == tests["facet judge"].outcome == "NOT MEASURED"
    assert tells(tests["criterion.pearson"].sentence, "gate.no-people", oracles="oracle")
    assert "--criterion" in tests["criterion.pearson"].remedy
    oracle_policy = policy(require=[{"indicator": "oracle.pearson", **asks}])
    (test,) = [
        t for t in check_against(by_oracle(), oracle_policy).tests if t.what.startswith("oracle")
    ]
    assert test.outcome == "PASS", "a policy may ask for it by its name"
    assert test.sentence.endswith(text_of("gate.oracle-labels", labels="oracle"))
    assert "people" not in test.sentence


def test_the_number_in_a_remedy_brings_the_end_to_the_threshold() -> None:
    """By the formulas themselves: Spearman and Brown for items, the root of n on Fisher's scale for
    respondents.
    """
    low = estimate(low=0.8, high=0.95, n_items=500, n_respondents=12)
    (test,) = [
        t
        for t in check_against(audit_of(low), require(interval="fixed_models", at_least=0.9)).tests
        if t.needed and t.what.startswith("test_retest")
    ]
    k = (test.needed or 0) / 500
    assert k * 0.8 / (1 + (k - 1) * 0.8) == pytest.approx(0.9, abs=1e-3)
    assert f"from 500 to about {test.needed:,.0f}" in test.remedy
    assert "or average 3 seeds" in test.remedy
    interval = Interval(0.55, 0.95, "model_population", "Fisher z")
    form = estimate(
        "criterion.pearson", value=0.85, intervals=(interval,), n_items=500, n_respondents=12
    )
    gate_policy = policy(
        require=[
            {"indicator": "criterion.pearson", "interval": "model_population", "at_least": 0.75}
        ]
    )
    (test,) = [
        t
        for t in check_against(audit_of(form), gate_policy).tests
        if t.what.startswith("criterion.pearson")
    ]
    half = (math.atanh(0.85) - math.atanh(0.55)) * math.sqrt(12 / (test.needed or 0))
    assert math.tanh(math.atanh(0.85) - half) == pytest.approx(0.75, abs=0.005)
    assert "respondents from 12 to about" in test.remedy
    # a number so near to its limit says nothing of how many it would take
    (test,) = [
        t
        for t in check_against(audit_of(replace(form, value=0.76)), gate_policy).tests
        if t.what.startswith("criterion.pearson")
    ]
    assert test.needed is None
    assert tells(test.remedy, "remedy.too-near", value="0.760", bound="0.75")
    # nor does a number help where one respondent makes the correlation
    detail = {"strongest": "blind", "without_strongest": 0.21}
    carried = replace(form, flags=("DOMINANT_MODEL",), detail=detail)
    (test,) = [
        t
        for t in check_against(audit_of(carried), gate_policy).tests
        if t.what.startswith("criterion.pearson")
    ]
    assert test.needed is None
    assert tells(test.remedy, "remedy.one-model", name="blind", value="0.210")
    # no number of respondents helps where the number itself misses it
    missed = replace(form, value=0.7)
    (test,) = [
        t
        for t in check_against(audit_of(missed), gate_policy).tests
        if t.what.startswith("criterion.pearson")
    ]
    assert test.needed is None
    assert "More respondents do not help" in test.remedy
    assert "do not claim" in test.remedy


def test_no_number_of_respondents_is_asked_for_where_wordings_are_in_doubt() -> None:
    interval = Interval(0.55, math.inf, "model_population", "respondents left out")
    form = estimate("parallel_forms.icc_a1", value=0.85, intervals=(interval,), n_respondents=12)
    gate_policy = policy(
        require=[
            {"indicator": "parallel_forms.icc_a1", "interval": "model_population", "at_least": 0.75}
        ]
    )
    (test,) = [
        t for t in check_against(audit_of(form), gate_policy).tests if t.what.startswith("parallel")
    ]
    assert (test.outcome, test.needed) == ("FAIL", None)
    assert "phi_of_forms" in test.remedy


def wordings(*shifts: float, respondents: int = 12, spread: float = 0.15) -> Audit:
    """An audit of the wordings of 300 items: each shifts all respondents, who differ a little."""
    rng = np.random.default_rng(3)
    ability = 0.6 + spread * np.linspace(-1, 1, respondents)
    cells = [Cell(form="original" if not i else f"w{i}") for i in range(len(shifts) + 1)]
    items = made.items(300)
    forms = [
        made.matrix(
            (rng.random((respondents, 300)) < (ability + shift)[:, None]).astype(int), cell, items
        )
        for cell, shift in zip(cells, (0.0, *shifts), strict=True)
    ]
    pairs = [
        estimate
        for form in forms[1:]
        for estimate in compare("form", forms[0], form, made.ACCURACY, made.PROTOCOL)
    ]
    return audit_of(*pairs, *compare_forms(forms, made.ACCURACY, made.PROTOCOL))


@pytest.mark.parametrize(
    ("shifts", "spread", "expected"),
    [
        ((0.05,), 0.15, "UNDECIDED"),
        # a large shift decides nothing about others either
        ((0.3,), 0.15, "UNDECIDED"),
        ((0.02, -0.02), 0.15, "UNDECIDED"),
        ((0.02, -0.02, 0.01, 0.0), 0.15, "PASS"),
        ((0.3, -0.3, 0.2, -0.1), 0.05, "FAIL"),
    ],
)
def test_five_wordings_decide_about_others_and_two_never(
    shifts: tuple[float, ...], spread: float, expected: str
) -> None:
    default = Policy.load()
    gate = check_against(wordings(*shifts, spread=spread), default)
    (test,) = [test for test in gate.tests if "phi_of_forms" in test.what]
    assert test.outcome == expected
    assert test.passed == (expected != "FAIL")
    assert "respondents from" not in test.remedy
    if expected == "PASS":
        return
    if len(shifts) == 1:
        assert tells(test.sentence, "gate.two-wordings")
        assert "ICC(A,1) is" in test.sentence
    if test.needed is None:
        assert tells(test.remedy, "remedy.no-wordings")
    else:
        n_wordings = int(test.needed) - len(shifts) - 1
        cost = n_wordings * 12 * 300
        assert tells(
            test.remedy, "remedy.wordings", more=n_wordings, answers=f"{cost:,}", respondents=12
        )


def test_the_page_names_as_many_wordings_as_the_gate() -> None:
    def wording_sentence(audit: Audit) -> str:
        return plain_text(wordings_to_average(audit.audits[0]))

    three_wordings = wordings(0.08, -0.1, 0.04)
    (test,) = [
        t for t in check_against(three_wordings, Policy.load()).tests if "phi_of_forms" in t.what
    ]
    assert tells(wording_sentence(three_wordings), "wording.average", number=f"{test.needed:g}")
    assert tells(wording_sentence(wordings(0.2, -0.2, 0.1, spread=0.05)), "wording.no-number")
    assert not wording_sentence(wordings(*[0.0] * 5, spread=0.3))
    (respondents_test,) = [
        t
        for t in check_against(wordings(0.03, -0.04, respondents=7), Policy.load()).tests
        if "phi_of_forms" in t.what
    ]
    assert tells(respondents_test.remedy, "remedy.more-respondents")


def leaking(*rows: dict[str, Any]) -> Audit:
    table = [
        {
            "type": "",
            "part": "",
            "name": "all items",
            "cue": "words",
            "items": 300,
            "images": 150,
            "accuracy": 0.5,
            "baseline": 0.5,
            "gain": 0.0,
            "low": -0.1,
            "high": 0.1,
            "p": 1.0,
            "leak": False,
            "detectable": 0.15,
            "status": "ok",
            "reason": "",
            **row,
        }
        for row in rows
    ]
    return audit_of(
        estimate(
            "solvability.blind_accuracy",
            intervals=(),
            detail={"strata": table, "gain_interval": [0, 0.121]},
        )
    )


def test_leaks_are_judged_by_type_and_part() -> None:
    gate_policy = policy(limits={"leak": 0.02, "leak_found": 0.25})
    leak = {
        "type": "action",
        "name": "action",
        "accuracy": 1.0,
        "gain": 0.5,
        "low": 0.4,
        "high": 0.6,
        "leak": True,
    }
    part_leak = {**leak, "part": "val", "name": "action in val"}
    tests = {
        t.what: t
        for t in check_against(
            leaking({"type": "ocr", "name": "ocr"}, leak, part_leak), gate_policy
        ).tests
    }
    assert tests["leak in action"].outcome == "FAIL"
    assert "limits.leak" in tests["leak in action"].remedy
    assert "leak in action in val" not in tests, "it is said once"
    assert "leak in ocr" not in tests
    # .121 at the upper end of the total is no leak
    sound = check_against(
        leaking({"type": "ocr", "name": "ocr"}, {"type": "action", "name": "action"}), gate_policy
    )
    assert {t.what: t.outcome for t in sound.tests}["leaks"] == "PASS"
    assert sound.passed
    # shown to be above chance, but by less than matters
    assert check_against(leaking({"low": 0.01, "leak": True}), gate_policy).passed
    # a type in which nothing could have been shown does not pass as sound
    small = {"type": "ocr", "name": "ocr", "items": 40, "detectable": 0.5}
    (test,) = [
        t
        for t in check_against(leaking(small), gate_policy).tests
        if t.what == "leaks that would be found"
    ]
    assert (test.outcome, test.needed) == ("FAIL", 160)
    no_leak = {
        "type": "ocr",
        "name": "ocr",
        "items": 8,
        "low": None,
        "detectable": None,
        "status": "insufficient",
        "reason": "too few",
    }
    assert {t.what: t.outcome for t in check_against(leaking(no_leak), gate_policy).tests}[
        text_of("gate.leaks-in", type="ocr")
    ] == "NOT MEASURED"
    caption = check_against(
        Audit(tuple(replace(a, task="caption") for a in leaking(leak).audits)), gate_policy
    )
    assert not [t for t in caption.tests if t.what.startswith("leak")]


def test_every_finding_is_counted_and_the_grave_ones_are_named() -> None:
    rows = tuple(
        {
            "code": code,
            "name": name,
            "severity": severity,
            "sentence": f"about {name}",
            "count": 1,
            "examples": ["x.png"],
        }
        for code, name, severity in (
            ("C101", "no-licence", "warning"),
            ("I101", "image-missing", "error"),
            ("L202", "leakage-cue", "warning"),
            ("I105", "image-unused", "note"),
        )
    )
    tests = {
        t.what: t
        for t in check_against(
            audit_of(findings=rows), policy(limits={"findings": "warning"})
        ).tests
    }
    assert "in all 1 error, 2 warnings, 1 note" in tests["findings"].sentence
    assert tests["finding I101 image-missing"].remedy.startswith("Put the pictures")
    assert "x.png" in tests["finding I101 image-missing"].sentence
    allowed_tests = {
        t.what: t
        for t in check_against(audit_of(findings=rows), policy(limits={"findings": "error"})).tests
    }
    assert allowed_tests["findings"].outcome == "PASS"
    counts = "1 error, 2 warnings, 1 note"
    allowed = text_of("gate.findings-allowed", severity="error", counts=counts)
    assert allowed_tests["findings"].sentence == allowed
    (found_none,) = (
        test
        for test in check_against(audit_of(), policy(limits={"findings": "none"})).tests
        if test.what == "findings"
    )
    no_counts = "0 errors, 0 warnings, 0 notes"
    assert found_none.sentence == text_of("gate.findings-none", counts=no_counts)


def test_more_items_are_no_remedy_for_a_type_at_chance() -> None:
    row = {"type": "ocr", "items": 126, "sem": 0.045, "measured": True, "missing_items": 0}
    row |= {"state": "labelled, not measurable", "adds_value": False, "at_chance": True}
    covered = {
        "ocr": {"type": "ocr", "claimed": True, "items": 126, "images": 1, "wordings": 9}
        | {"state": "labelled"}
    }
    audit = audit_of(estimate("types.index", detail={"types": [row]}), coverage=covered)
    tests = check_against(audit, policy(coverage={"claimed": True, "error": 0.03})).tests
    (test,) = [t for t in tests if t.what == "coverage"]
    assert test.outcome == "FAIL"
    assert tells(test.remedy, "remedy.at-chance", types="ocr")
    assert "number of items" not in test.remedy


def test_a_type_that_is_too_small_stops_scores_by_type_alone() -> None:
    row = {"type": "ocr", "items": 120, "sem": 0.044, "sem_high": 0.045, "measured": True}
    row |= {"state": "labelled, not measurable", "missing_items": 150}
    covered = {"ocr": {"type": "ocr", "claimed": True, "items": 120, "images": 1, "wordings": 9}}
    strata = [
        {"name": name, "type": kind, "part": "", "cue": "words", "items": 120, "status": "ok"}
        | {"detectable": detectable}
        for name, kind, detectable in (("all items", "", 0.16), ("ocr", "ocr", 0.28))
    ]
    audit = audit_of(
        estimate("types.index", detail={"types": [row]}),
        estimate("solvability.blind_accuracy", detail={"strata": strata}),
        coverage={"ocr": {**covered["ocr"], "state": "labelled"}},
    )
    for by_type in (False, True):
        tests = {
            test.what: test
            for test in check_against(
                audit,
                policy(
                    coverage={"claimed": True, "error": 0.03, "by_type": by_type},
                    limits={"leak_found": 0.25},
                ),
            ).tests
        }
        assert tests["leaks that would be found"].outcome == "PASS", "over all items"
        for name in ("coverage", text_of("gate.leaks-by-type")):
            assert tests[name].outcome == ("FAIL" if by_type else "UNDECIDED")
            assert tests[name].passed is not by_type
            assert tests[name].remedy
    assert not Policy.load().coverage.by_type
    empty = {"ocr": {**covered["ocr"], "items": 0, "state": "claimed"}}
    named = policy(coverage={"claimed": True, "error": 0.03, "by_type": False})
    assert outcome(audit_of(coverage=empty), named, "coverage") == "FAIL", "it has no items"


def test_a_type_is_covered_by_its_error_and_not_by_its_number() -> None:
    types = [
        {
            "type": kind,
            "items": 126,
            "sem": sem,
            "measured": True,
            "missing_items": missing,
            "state": state,
            "gain_low": 0.1,
            "gain_high": 0.2,
        }
        for kind, sem, missing, state in (
            ("ocr", 0.02, 0, "measurable"),
            ("action", 0.045, 158, "labelled, not measurable"),
        )
    ]
    covered = {
        kind: {
            "type": kind,
            "claimed": True,
            "items": 126,
            "images": 126,
            "wordings": 9,
            "state": "labelled",
        }
        for kind in ("ocr", "action")
    }
    audit = audit_of(estimate("types.index", detail={"types": types}), coverage=covered)
    (test,) = [
        t
        for t in check_against(audit, policy(coverage={"claimed": True, "error": 0.03})).tests
        if t.what == "coverage"
    ]
    assert test.outcome == "FAIL"
    assert "1 of 2 claimed types" in test.sentence
    assert "action to 284" in test.remedy, "126 (.045 / .03)^2"
    assert outcome(audit, policy(coverage={"claimed": True, "error": 0.05}), "coverage") == "PASS"
    single_type = audit_of(
        estimate("types.index", detail={"types": types[:1]}), coverage={"ocr": covered["ocr"]}
    )
    (test,) = check_against(
        single_type, policy(coverage={"claimed": True, "items_a_type": 9})
    ).tests[-1:]
    assert "type, ocr, has 9 items" in test.sentence
    # without answers its number forecasts it: 278 for .03
    unanswered = audit_of(coverage=covered)
    (test,) = [
        t
        for t in check_against(unanswered, policy(coverage={"claimed": True, "error": 0.03})).tests
        if t.what == "coverage"
    ]
    assert "ocr to 278, action to 278" in test.remedy
    first, second = definitions.types_measured(audit.audits[0])
    assert first.measurable
    assert not second.measurable
    assert definitions.types_measured(unanswered.audits[0])[0].stands_alone is False
    assert first.stands_alone
    # the same type where its questions give its answers away: the score may not be one of seeing
    stratum = {"name": "ocr", "type": "ocr", "part": "", "cue": "first word", "leak": True}
    cue_accuracy = {"accuracy": 0.89, "baseline": 0.5, "low": 0.25, "gain": 0.39}
    cues = estimate("solvability.leakage_cues", detail={"strata": [{**stratum, **cue_accuracy}]})
    leaking = audit_of(*audit.audits[0].all_estimates, cues, coverage=covered)
    measured = definitions.types_measured(leaking.audits[0])
    assert [(row.type, row.leaks, row.stands_alone) for row in measured] == [
        ("ocr", True, False),
        ("action", False, False),
    ]


def test_a_policy_for_small_benchmarks() -> None:
    small = Policy.load(Path("release-small"))
    assert small.name == "release-small"
    assert all(row.reason for row in small.require)
    default = {
        (row.indicator, row.interval): row.at_least
        for row in Policy.load().require
        if row.at_least is not None
    }
    lowered = {
        (row.indicator, row.interval): row.at_least
        for row in small.require
        if row.at_least is not None
    }
    assert lowered.keys() == default.keys()
    assert all((lowered[key] or 0) < (default[key] or 0) for key in default)
    assert small.limits.leak == Policy.load().limits.leak, (
        "a leak is a leak in a small benchmark too"
    )
    assert outcome(audit_of(n_items=1000), small, "items") == "FAIL"
    assert outcome(audit_of(n_items=999), small, "items") == "PASS"
    for source in ("Koo and Li", "Cohen"):
        assert source in default_text("release-small")


def failing() -> Gate:
    return check_against(
        audit_of(estimate(low=0.5)),
        require(interval="fixed_models", at_least=0.9, reason="100% & <sure>\nof it"),
    )


def test_junit_and_annotations() -> None:
    root = ElementTree.fromstring(failing().junit())
    (suite,) = root
    assert (root.tag, suite.tag, suite.get("name")) == ("testsuites", "testsuite", "mine")
    assert suite.get("tests") == str(len(suite))
    failures = suite.findall("testcase/failure")
    assert suite.get("failures") == str(len(failures)) == "1"
    text = failures[0].text or ""
    assert text.startswith("100% & <sure>\nof it\n" + text_of("gate.more-items"))
    assert text.endswith(
        text_of("gate.change-rule", rule="at_least", indicator="test_retest.rho_g")
    )
    (line,) = failing().annotations()
    assert line.startswith(
        text_of(
            "gate.annotation",
            policy="mine",
            indicator="test_retest.rho_g",
            metric="accuracy",
            value="0.500",
        )
    )
    assert "\n" not in line


def test_the_command(run: Run, tmp_path: Path) -> None:
    path, policy_path = tmp_path / "audit.json", tmp_path / "policy.toml"
    path.write_text(audit_of(estimate()).to_json())
    policy_path.write_text(
        'name = "mild"\n[[require]]\nindicator = "test_retest.rho_g"\ninterval ='
        ' "fixed_models"\nat_least = 0.9'
    )
    status, output, _ = run("gate", path, "--policy", policy_path, "--github")
    assert status == 0
    assert "policy mild: passed" in output
    assert "::error" not in output
    status, output, _ = run("gate", path, "--junit", tmp_path / "sub" / "gate.xml", "--github")
    assert status == 1
    assert tells(output, "gate.not-measured", indicator="criterion.pearson")
    assert "Terwee" in output, "the reason of what did not pass"
    tests = ElementTree.parse(tmp_path / "sub" / "gate.xml").findall(".//testcase")
    assert output.count("::error") == sum(test.find("failure") is not None for test in tests) > 3
    printed = json.loads(run("gate", path, "--json")[1])
    assert (printed["passed"], printed["policy"]) == (False, "default")
    outcomes = {test["outcome"] for test in printed["tests"]}
    assert outcomes == {"PASS", "FAIL", "NOT MEASURED", "UNDECIDED"}
    assert run("gate", tmp_path / "none.json")[0] == 1
    assert run("gate", path, "--policy", tmp_path / "none.toml")[0] == 1


def test_few_labels_are_asked_for_more_and_no_scorer_is_accused() -> None:
    """Labels that agree with the scores are few, not wrong; those that do not are read."""
    interval = Interval(0.4, math.inf, "model_population", "respondents left out")
    raw = estimate("criterion.pearson", value=0.75, intervals=(interval,), facet="judge")
    free = estimate("criterion.disattenuated", value=1.0, detail={"paired": 300})
    benchmark_audit = audit_of(raw, free).audits[0]
    respondents = tuple(
        replace(benchmark_audit.respondents[0], name=f"m{k}", scores={"accuracy": 0.5 + 0.03 * k})
        for k in range(12)
    )
    gate_policy = policy(
        require=[
            {"indicator": "criterion.pearson", "interval": "model_population", "at_least": 0.7}
        ]
    )

    def remedy(disattenuated: Estimate) -> tuple[str, float | None]:
        relabelled = replace(
            benchmark_audit,
            n_items=700,
            respondents=respondents,
            all_estimates=(raw, disattenuated),
        )
        (test,) = check_against(Audit((relabelled,)), gate_policy).tests[-1:]
        assert (test.what, test.outcome) == ("criterion.pearson (accuracy)", "FAIL")
        return test.remedy, test.needed

    text, n_labels = remedy(free)
    assert tells(text, "remedy.labels", needed=f"{n_labels:,.0f}", labels=300)
    assert n_labels is not None
    assert 300 < n_labels < 12 * 700
    # so few hide what a scorer is worth; many do not
    text, unseen = remedy(replace(free, value=0.6))
    assert tells(text, "remedy.labels-hide")
    assert unseen is not None
    assert 300 < unseen <= n_labels
    assert "label" not in remedy(replace(free, value=0.6, detail={"paired": 6000}))[0]


def test_answers_to_different_numbers_of_items_are_said() -> None:
    (benchmark_audit,) = audit_of().audits
    (respondent,) = benchmark_audit.respondents
    incomplete = replace(respondent, name="hf/y", states={FIRST: {"ok": 1, "missing": 2}})
    assert definitions.unequal_answers(benchmark_audit) == ""
    assert (
        definitions.unequal_answers(replace(benchmark_audit, respondents=(incomplete, incomplete)))
        == ""
    )
    uneven = replace(benchmark_audit, respondents=(respondent, incomplete))
    assert tells(definitions.unequal_answers(uneven), "gate.unequal", least=1, most=3, items=12)
    assert board_title(uneven).endswith("answered different items")
