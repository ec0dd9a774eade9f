"""Estimates of a whole audit against values known by construction, from real stores; indicators as values."""

import importlib
import math
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hqm
from hqm.auditing.gate import Policy
from hqm.benchmark.recorded import Recording
from hqm.indicators import Case, Indicator, case, catalogue, comparisons, engine
from hqm.judges.labels import FAITHFUL
from hqm.lint import leaks
from hqm.respondents.recorded import RecordedRespondent
from hqm.scoring.metrics import ACCURACY as CHOICE
from hqm.types import Cell, Form
from tests import test_flags as made
from tests.conftest import Run, administered, recorded, write_benchmark

DOCS = Path(__file__).resolve().parent.parent / "docs"


@pytest.fixture
def quiz(tmp_path) -> hqm.Benchmark:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(0)
    words = ["dog", "cat", "car", "bus", "hat", "cup", "tree", "bird", "lamp", "boat"]
    rows = [
        {
            "id": f"q{i}", "prompt": f"Is there a {words[rng.integers(10)]} in the image?", "target": ("yes", "no")[int(rng.integers(2))],
            "image": f"{i // 2}.png", "type": ("existence", "attribute")[i % 2],
        }
        for i in range(400)
    ]  # fmt: skip
    return hqm.load(
        str(write_benchmark(tmp_path / "quiz", rows, name="quiz", types=["existence", "attribute"], labelled=True))
    )


def respondents_of(quiz: hqm.Benchmark, chances: np.ndarray, rng: np.random.Generator) -> list[RecordedRespondent]:
    """Respondents who answer each item right with a known probability, in two runs, and record it."""
    respondents = []
    for k, row in enumerate(chances):
        recordings = []
        for run in (0, 1):
            right = rng.random(len(row)) < row
            answers = {}
            for item, ok, p in zip(quiz.original.items, right, row, strict=True):
                other = "no" if item.target == "yes" else "yes"
                said = item.target if ok else other
                detail = {"p": {item.target: float(p), other: float(1 - p)}, "p_lost": 0.0}
                answers[item.id] = hqm.Response(said.capitalize(), "ok", "", detail)
            recordings.append(Recording(f"{chr(97 + k)}-model", "original", run, answers))
        respondents.append(RecordedRespondent(f"recorded/{chr(97 + k)}-model", recordings))
    return respondents


def test_the_expected_reliability_is_what_reruns_show(store: hqm.Store, quiz: hqm.Benchmark) -> None:
    rng = np.random.default_rng(1)
    ability = np.linspace(-1.5, 1.5, 20)[:, None]
    chances = 1 / (1 + np.exp(-(ability + rng.normal(0, 1.5, (1, 400)))))
    stored = administered(store, quiz, respondents_of(quiz, chances, rng))
    audit = hqm.audit(hqm.gather(quiz, store, stored))
    expected = audit.estimate("expected.reliability")
    # s2_mu / (s2_mu + mean variance), from the probabilities themselves
    truth = chances.mean(axis=1).var(ddof=1)
    noise = (chances * (1 - chances)).sum(axis=1).mean() / 400**2
    assert expected.value == pytest.approx(truth / (truth + noise), abs=1e-9)
    assert audit.estimate("test_retest.rho_g").value == pytest.approx(expected.value, abs=0.01)
    curve = [row["reliability"] for row in expected.detail["curve"]]
    assert curve == [] or curve[0] >= curve[-1]


def test_every_estimate_is_documented_signed_and_round_trips(store: hqm.Store, quiz: hqm.Benchmark, tmp_path) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(2)
    chances = np.clip(rng.normal(0.6, 0.15, (8, 400)), 0.02, 0.98)
    stored = administered(store, quiz, respondents_of(quiz, chances, rng))
    labels = "item,respondent,label\n" + "\n".join(
        f"q{i},{chr(97 + k)}-model,{int(rng.random() < 0.6)}" for i in range(80) for k in range(8)
    )
    (tmp_path / "labels.csv").write_text(labels)
    audit = hqm.audit(hqm.gather(quiz, store, stored, criterion=tmp_path / "labels.csv", metrics=("accuracy", "f1")))
    for estimate in audit.estimates:
        indicator = hqm.indicator_named(estimate.indicator)
        assert indicator is not None, estimate.indicator
        assert estimate.facet in indicator.facet or not estimate.facet or estimate.indicator.startswith("generaliz")
        assert estimate.signature
        assert (estimate.value is None) == (estimate.status not in ("ok", "not_informative")), estimate
        assert estimate.status == "ok" or len(estimate.reason) > 10, estimate
    again = hqm.BenchmarkAudit.from_dict(audit.to_dict())
    assert [e.to_dict() for e in again.estimates] == [e.to_dict() for e in audit.estimates]
    assert again.flags == audit.flags
    hqm.Audit((audit,)).to_json()
    families = {estimate.indicator.partition(".")[0] for estimate in audit.estimates}
    assert families >= {
        "test_retest", "criterion", "consistency", "generalizability", "discriminability", "items", "solvability", "types", "expected",
    }  # fmt: skip


def test_the_same_audit_twice_gives_the_same_numbers(store: hqm.Store, quiz: hqm.Benchmark) -> None:
    rng = np.random.default_rng(3)
    stored = administered(store, quiz, respondents_of(quiz, np.clip(rng.normal(0.6, 0.2, (6, 400)), 0.02, 0.98), rng))
    assert (
        hqm.Audit((hqm.audit(hqm.gather(quiz, store, stored)),)).to_json()
        == hqm.Audit((hqm.audit(hqm.gather(quiz, store, stored)),)).to_json()
    )


def test_people_are_compared_with_each_other(store: hqm.Store, quiz: hqm.Benchmark, tmp_path) -> None:  # type: ignore[no-untyped-def]
    """Two people who agree on nine labels of ten; by hand alpha = 1 - Do / De."""
    import krippendorff

    rng = np.random.default_rng(4)
    stored = administered(store, quiz, respondents_of(quiz, np.clip(rng.normal(0.6, 0.2, (5, 400)), 0.02, 0.98), rng))
    anna = (rng.random((5, 60)) < 0.6).astype(int)
    ben = np.where(rng.random(anna.shape) < 0.1, 1 - anna, anna)
    rows = ["item,respondent,rater,label"]
    for k in range(5):
        for i in range(60):
            rows += [f"q{i},{chr(97 + k)}-model,anna,{anna[k, i]}", f"q{i},{chr(97 + k)}-model,ben,{ben[k, i]}"]
    (tmp_path / "labels.csv").write_text("\n".join(rows))
    audit = hqm.audit(hqm.gather(quiz, store, stored, criterion=tmp_path / "labels.csv"))
    agreed = audit.estimate("criterion.human_agreement")
    table = np.stack([anna.ravel(), ben.ravel()])
    assert agreed.value == pytest.approx(krippendorff.alpha(table, level_of_measurement="nominal"), abs=1e-9)
    assert agreed.detail["raters"] == 2
    pearson = audit.estimate("criterion.pearson")
    assert pearson.other.endswith("judge=human"), "the benchmark is compared with the people's mean"
    again = hqm.audit(hqm.gather(quiz, store, stored))
    assert again.estimate("criterion.human_agreement").value == agreed.value, "the labels are in the store"


def every_case(monkeypatch: pytest.MonkeyPatch) -> list[Case]:
    """A case of every kind that an audit looks at, from made answers of 32 respondents."""
    cases: list[Case] = []
    monkeypatch.setattr(comparisons, "estimates", lambda given: cases.append(given) or [])
    rng = np.random.default_rng(5)
    chances = np.clip(np.linspace(0.2, 0.8, 32)[:, None] + rng.normal(0, 0.2, (32, 160)), 0.03, 0.97)
    answers = [(rng.random(chances.shape) < chances).astype(float) for _ in range(3)]
    kinds = ("existence", "attribute", "counting")
    questions, turned = (
        tuple(replace(item, type=kinds[i % 3]) for i, item in enumerate(made.items(160, flipped=flipped)))
        for flipped in (False, True)
    )
    runs = [made.matrix(right, Cell(run=k), questions) for k, right in enumerate(answers)]
    first, settings = runs[0], {"metric": made.ACCURACY, "protocol": made.PROTOCOL}
    comparisons.compare_runs(runs, **settings)
    comparisons.compare("run", first, runs[1], **settings)
    parallel = made.matrix(answers[1], Cell(form="parallel"), turned)
    parallel = replace(parallel, words=np.tile(rng.integers(2, 9, (32, 1)).astype(float), 160))
    comparisons.compare("form", first, parallel, runs=runs, **settings)
    comparisons.compare("sight", first, made.matrix(answers[1], Cell(sight="blind"), questions), **settings)
    judged = [made.matrix(answers[0], Cell(judge=name), questions) for name in ("a@1", "b@1")]
    again = made.matrix(
        np.where(rng.random(answers[0].shape) < 0.1, 1 - answers[0], answers[0]), Cell(judge="a@1#1"), questions
    )
    for other in (judged[1], again):
        repeats = [replace(run, cell=replace(run.cell, judge="a@1")) for run in runs]
        comparisons.compare("judge", judged[0], other, runs=repeats, **settings)
    noisy = np.where(rng.random(answers[0].shape) < 0.1, 1 - answers[0], answers[0])
    scored = replace(made.matrix(noisy, of=questions), words=rng.integers(2, 9, noisy.shape).astype(float))
    labels = made.labelled(answers[0], scored, 120)
    comparisons.compare("judge", scored, labels, other_metric=FAITHFUL, **settings)
    form = Form("original", first.items)
    list(comparisons.describe(first, form=form, claimed=("existence",), families=first.respondents, **settings))
    expected = case("expected", "", (first,), **settings)
    comparisons.expected(expected, chances, 1.0)
    raters = {
        name: {("r", f"q{i}"): float(rng.random() < p) for i in range(40)} for name, p in (("anna", 0.3), ("ben", 0.8))
    }
    comparisons.people_agree(case("criterion", "judge", (first,), **settings), raters)
    slots = {
        f"slot_{letter}": (rng.integers(2, size=chances.shape) == k).astype(float) for k, letter in enumerate("AB")
    }
    options = [replace(item, task="choice", target="AB"[i % 2], options=("x", "y")) for i, item in enumerate(questions)]
    choice = replace(first, items=tuple(options), tallies={**slots, "right": answers[0], "n": np.ones(chances.shape)})
    other = replace(choice, cell=Cell(form="parallel"))
    comparisons.compare("form", choice, other, CHOICE[0], made.PROTOCOL)
    return cases


def numbers_in(value: Any) -> Iterator[float]:
    """Every number of a result, however deep."""
    if isinstance(value, int | float):
        yield float(value)
    elif is_dataclass(value) and not isinstance(value, type):
        properties = [name for name, made in vars(type(value)).items() if isinstance(made, property)]
        for name in (*(field.name for field in fields(value)), *properties):
            yield from numbers_in(getattr(value, name))
    elif isinstance(value, dict):
        for inner in value.values():
            yield from numbers_in(inner)
    elif isinstance(value, list | tuple | np.ndarray):
        for inner in value:
            yield from numbers_in(inner)


def test_what_an_indicator_names_as_its_computation_is_called_and_gives_the_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The functions on an indicator's page are those that compute it; a number made from theirs has a sentence of how."""
    cases = every_case(monkeypatch)
    calls: list[tuple[str, Any]] = []

    def recording(function: Any) -> Any:
        def record(*arguments: Any, **named: Any) -> Any:
            calls.append((function.__name__, function(*arguments, **named)))
            return calls[-1][1]

        return record

    listed = hqm.all_indicators()
    for function in {function for indicator in listed for function in indicator.explains}:
        for name in {module for module in sys.modules if module.startswith(("hqm.indicators.", "hqm.lint."))}:
            if getattr(sys.modules[name], function.__name__, None) is function:
                monkeypatch.setattr(sys.modules[name], function.__name__, recording(function))
    computed: list[Indicator] = []
    wrong: list[str] = []
    for given in cases:
        for indicator in catalogue.indicators_of(given.family):
            calls.clear()
            leaks._study.cache_clear()  # else the second indicator of a study would call nothing
            answer = engine.answer(replace(given), indicator)
            if answer is None or answer.coefficient.status != "ok":
                continue
            computed.append(indicator)
            named = {function.__name__ for function in indicator.explains}
            results = [result for name, result in calls if name in named]
            if not results:
                wrong.append(f"{indicator.name}: none of {', '.join(named)} is called")
            if answer.coefficient.value not in set(numbers_in(results)) and not indicator.compute.__doc__:
                wrong.append(f"{indicator.name}: a docstring must say how it is made from their results")
    assert not wrong
    assert {indicator.name for indicator in listed} - {indicator.name for indicator in computed} == set()


def test_a_need_that_is_not_met_is_the_estimates_reason_or_keeps_it_off_the_list() -> None:
    rng = np.random.default_rng(6)
    first = made.matrix(made.answers(np.linspace(0.2, 0.8, 8), 60, rng))
    ratio = made.YES_NO[3]
    form = Form("original", first.items)
    estimates = {e.indicator: e for e in comparisons.describe(first, ratio, made.PROTOCOL, form, ())}
    assert estimates["consistency.alpha"].status == "not_applicable"
    assert estimates["consistency.alpha"].reason == "f1 is no mean of item scores"
    pair = comparisons.compare(
        "run", first, replace(first, cell=Cell(run=1)), made.ACCURACY, made.PROTOCOL, deterministic=True
    )
    by = {e.indicator: e for e in pair}
    assert by["test_retest.pearson"].status == "not_informative"
    assert "test_retest.pearson_same_items" not in by
    assert by["test_retest.mean_shift"].value == 0


NEW = """
from hqm.indicators.families import TEST_RETEST
from hqm.indicators.value import PAIR, Indicator, need
from hqm.psychometrics import pearson

def _half(case):
    return pearson(*case.scores).value / 2

indicators = (
    Indicator(
        name="half_of_pearson", title="half of Pearson's r", meaning="Half of a correlation.", family=(TEST_RETEST,),
        needs=(PAIR,), compute=_half, explains=(pearson,), headline=(TEST_RETEST,), digits=1,
    ),
    Indicator(
        name="never", meaning="What no case has.", family=(TEST_RETEST,), compute=_half, explains=(pearson,),
        needs=(PAIR, need("luck", lambda case: False, "{metric} has no luck", "insufficient")),
    ),
)
"""


@pytest.fixture
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A module with two indicators beside those of the package."""
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "halving.py").write_text(NEW)
    package = importlib.import_module("hqm.indicators")
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path / "new")])
    for cached in (catalogue.all_indicators, catalogue.indicators_of):
        cached.cache_clear()
    yield
    monkeypatch.undo()
    sys.modules.pop("hqm.indicators.halving", None)
    for cached in (catalogue.all_indicators, catalogue.indicators_of):
        cached.cache_clear()


def test_an_indicator_is_added_in_one_file(
    added: None, dogs: Path, store: hqm.Store, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One entry of one module, and audits, lists, pages, reports and the gate know it."""
    benchmark = hqm.load(str(dogs))
    truths = {item.id: str(item.target) for item in benchmark.original.items}
    wrong = {"yes": "no", "no": "yes"}
    answers = [{k: v if i % (n + 2) else wrong[v] for i, (k, v) in enumerate(truths.items())} for n in range(4)]
    respondents = [
        recorded(f"r{n}", {("original", 0): a, ("original", 1): {**a, "q1": "yes"}}) for n, a in enumerate(answers)
    ]
    stored = administered(store, benchmark, respondents)
    audit = hqm.audit(hqm.gather(benchmark, store, stored))
    half, whole = audit.estimate("test_retest.half_of_pearson"), audit.estimate("test_retest.pearson")
    assert half.value == pytest.approx(whole.value / 2)  # type: ignore[operator]
    assert "half_of_pearson" in half.signature
    missing = audit.estimate("test_retest.never", "accuracy")
    assert (missing.value, missing.status, missing.reason) == (None, "insufficient", "accuracy has no luck")
    assert "half_of_pearson" in run("list", "indicators")[1]
    names = importlib.import_module("hqm.reports.names")
    assert names.statistic_name("half_of_pearson") == "half of Pearson's r"
    tables = importlib.import_module("hqm.reports.tables")
    assert any("half of Pearson's r" in row[0].text for row in tables.indicators_brief(audit).rows)
    assert tables.estimate_text(half).text == f"{half.value:.1f}"
    monkeypatch.syspath_prepend(DOCS)
    page = importlib.import_module("make.pages").made()["indicators/half_of_pearson.md"]
    assert "Half of a correlation." in page
    assert "## `hqm.psychometrics.pearson`" in page
    rule = {"indicator": "test_retest.half_of_pearson", "interval": "fixed_models", "at_least": 0.1}
    assert Policy.model_validate({"name": "x", "require": [rule]}).require[0].indicator == rule["indicator"]
    assert math.isfinite(half.value or math.nan)
