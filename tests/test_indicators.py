"""Estimates of a whole audit against values known by construction, from real stores; indicators as
values.
"""

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
from hqm.imports.recordings import Recording
from hqm.indicators import Case, Indicator, case, comparisons
from hqm.indicators import indicator as of_indicators
from hqm.indicators.indicator import all_indicators
from hqm.labels.people_labels import FAITHFUL, PooledLabels, StageEvidence
from hqm.lint import answer_leaks
from hqm.respondents.base import RecordedRespondent
from hqm.scoring.metrics import ACCURACY as CHOICE
from hqm.types import Cell, Form
from tests import test_flags as made
from tests.conftest import Run, administered, recorded, write_benchmark
from tests.messages import text_of

DOCS = Path(__file__).resolve().parent.parent / "docs"


@pytest.fixture
def quiz(tmp_path) -> hqm.Benchmark:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(0)
    words = ["dog", "cat", "car", "bus", "hat", "cup", "tree", "bird", "lamp", "boat"]
    rows = [
        {
            "id": f"q{i}",
            "prompt": f"Is there a {words[rng.integers(10)]} in the image?",
            "target": ("yes", "no")[int(rng.integers(2))],
            "image": f"{i // 2}.png",
            "type": ("existence", "attribute")[i % 2],
        }
        for i in range(400)
    ]
    return hqm.load(
        str(
            write_benchmark(
                tmp_path / "quiz",
                rows,
                name="quiz",
                types=["existence", "attribute"],
                labelled=True,
            )
        )
    )


def respondents_of(
    quiz: hqm.Benchmark, chances: np.ndarray, rng: np.random.Generator
) -> list[RecordedRespondent]:
    """Respondents who answer each item right with a known probability, in two runs, and record
    it.
    """
    respondents = []
    for k, row in enumerate(chances):
        recordings = []
        for run in (0, 1):
            right = rng.random(len(row)) < row
            answers = {}
            for item, ok, p in zip(quiz.original.items, right, row, strict=True):
                opposite = "no" if item.target == "yes" else "yes"
                label = item.target if ok else opposite
                detail = {"p": {item.target: float(p), opposite: float(1 - p)}, "p_lost": 0.0}
                answers[item.id] = hqm.Response(label.capitalize(), "ok", "", detail)
            recordings.append(Recording(f"{chr(97 + k)}-model", "original", run, answers))
        respondents.append(RecordedRespondent(f"recorded/{chr(97 + k)}-model", recordings))
    return respondents


def test_other_probabilities_of_the_same_answers_are_signed_otherwise(
    store: hqm.Store, quiz: hqm.Benchmark
) -> None:
    """Another device gives other probabilities, and seldom another answer."""
    rng = np.random.default_rng(2)
    chances = rng.uniform(0.05, 0.95, (6, 400))
    evidence = hqm.gather(
        quiz, store, administered(store, quiz, respondents_of(quiz, chances, rng))
    )
    assert evidence.probabilities is not None
    audits = [
        hqm.audit(replace(evidence, probabilities=probabilities))
        for probabilities in (evidence.probabilities, evidence.probabilities.copy(), chances**2)
    ]
    here, again, elsewhere = (audit.estimate("expected.reliability") for audit in audits)
    assert here.signature == again.signature
    assert here.value != elsewhere.value
    assert here.signature != elsewhere.signature
    assert len({audit.estimate("test_retest.rho_g").signature for audit in audits}) == 1


def test_the_expected_reliability_is_what_reruns_show(
    store: hqm.Store, quiz: hqm.Benchmark
) -> None:
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


def test_every_estimate_is_documented_signed_and_round_trips(
    store: hqm.Store, quiz: hqm.Benchmark, tmp_path
) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(2)
    chances = np.clip(rng.normal(0.6, 0.15, (8, 400)), 0.02, 0.98)
    stored = administered(store, quiz, respondents_of(quiz, chances, rng))
    labels = "item,respondent,label\n" + "\n".join(
        f"q{i},{chr(97 + k)}-model,{int(rng.random() < 0.6)}" for i in range(80) for k in range(8)
    )
    (tmp_path / "labels.csv").write_text(labels)
    audit = hqm.audit(
        hqm.gather(
            quiz, store, stored, criterion=tmp_path / "labels.csv", metrics=("accuracy", "f1")
        )
    )
    for estimate in audit.all_estimates:
        indicator = hqm.indicator_named(estimate.indicator)
        assert indicator is not None, estimate.indicator
        assert (
            estimate.facet in indicator.facet
            or not estimate.facet
            or estimate.indicator.startswith("generaliz")
        )
        assert estimate.signature
        assert (estimate.value is None) == (estimate.status not in ("ok", "not_informative")), (
            estimate
        )
        assert estimate.status == "ok" or len(estimate.reason) > 10, estimate
    reloaded = hqm.BenchmarkAudit.from_dict(audit.to_dict())
    assert [e.to_dict() for e in reloaded.all_estimates] == [
        e.to_dict() for e in audit.all_estimates
    ]
    assert reloaded.flags == audit.flags
    hqm.Audit((audit,)).to_json()
    families = {estimate.indicator.partition(".")[0] for estimate in audit.all_estimates}
    assert families >= {
        "test_retest",
        "criterion",
        "consistency",
        "generalizability",
        "discriminability",
        "items",
        "solvability",
        "types",
        "expected",
    }


def test_the_same_audit_twice_gives_the_same_numbers(store: hqm.Store, quiz: hqm.Benchmark) -> None:
    rng = np.random.default_rng(3)
    stored = administered(
        store, quiz, respondents_of(quiz, np.clip(rng.normal(0.6, 0.2, (6, 400)), 0.02, 0.98), rng)
    )
    assert (
        hqm.Audit((hqm.audit(hqm.gather(quiz, store, stored)),)).to_json()
        == hqm.Audit((hqm.audit(hqm.gather(quiz, store, stored)),)).to_json()
    )


def test_people_are_compared_with_each_other(
    store: hqm.Store, quiz: hqm.Benchmark, tmp_path
) -> None:  # type: ignore[no-untyped-def]
    """Two people who agree on nine labels of ten; by hand alpha = 1 - Do / De."""
    import krippendorff

    rng = np.random.default_rng(4)
    stored = administered(
        store, quiz, respondents_of(quiz, np.clip(rng.normal(0.6, 0.2, (5, 400)), 0.02, 0.98), rng)
    )
    anna = (rng.random((5, 60)) < 0.6).astype(int)
    ben = np.where(rng.random(anna.shape) < 0.1, 1 - anna, anna)
    rows = ["item,respondent,rater,label"]
    for k in range(5):
        for i in range(60):
            rows += [
                f"q{i},{chr(97 + k)}-model,anna,{anna[k, i]}",
                f"q{i},{chr(97 + k)}-model,ben,{ben[k, i]}",
            ]
    (tmp_path / "labels.csv").write_text("\n".join(rows))
    audit = hqm.audit(hqm.gather(quiz, store, stored, criterion=tmp_path / "labels.csv"))
    agreed = audit.estimate("criterion.human_agreement")
    table = np.stack([anna.ravel(), ben.ravel()])
    assert agreed.value == pytest.approx(
        krippendorff.alpha(table, level_of_measurement="nominal"), abs=1e-9
    )
    assert agreed.detail["raters"] == 2
    counted, ties = audit.estimate("criterion.labelled_answers"), int((anna != ben).sum())
    assert (counted.value, counted.detail["without_majority"]) == (300 - ties, ties)
    pearson = audit.estimate("criterion.pearson")
    assert pearson.other.endswith("judge=human"), "the benchmark is compared with the people's mean"
    regathered = hqm.audit(hqm.gather(quiz, store, stored))
    assert regathered.estimate("criterion.human_agreement").value == agreed.value, (
        "the labels are in the store"
    )


def every_case(monkeypatch: pytest.MonkeyPatch) -> list[Case]:
    """A case of every kind that an audit looks at, from made answers of 32 respondents."""
    cases: list[Case] = []
    monkeypatch.setattr(comparisons, "estimates", lambda compared: cases.append(compared) or [])
    rng = np.random.default_rng(5)
    chances = np.clip(
        np.linspace(0.2, 0.8, 32)[:, None] + rng.normal(0, 0.2, (32, 160)), 0.03, 0.97
    )
    answers = [(rng.random(chances.shape) < chances).astype(float) for _ in range(3)]
    kinds = ("existence", "attribute", "counting")
    questions, turned = (
        tuple(
            replace(item, type=kinds[i % 3], meta={"added": 2023 + i % 2})
            for i, item in enumerate(made.items(160, flipped=flipped))
        )
        for flipped in (False, True)
    )
    runs = [made.matrix(right, Cell(run=k), questions) for k, right in enumerate(answers)]
    first, settings = runs[0], {"metric": made.ACCURACY, "protocol": made.PROTOCOL}
    comparisons.compare_runs(runs, **settings)
    comparisons.compare("run", first, runs[1], **settings)
    parallel = made.matrix(answers[1], Cell(form="parallel"), turned)
    parallel = replace(parallel, words=np.tile(rng.integers(2, 9, (32, 1)).astype(float), 160))
    comparisons.compare("form", first, parallel, runs=runs, **settings)
    comparisons.compare(
        "sight", first, made.matrix(answers[1], Cell(sight="blind"), questions), **settings
    )
    judged = [made.matrix(answers[0], Cell(judge=name), questions) for name in ("a@1", "b@1")]
    rejudged = made.matrix(
        np.where(rng.random(answers[0].shape) < 0.1, 1 - answers[0], answers[0]),
        Cell(judge="a@1#1"),
        questions,
    )
    for second in (judged[1], rejudged):
        repeats = [replace(run, cell=replace(run.cell, judge="a@1")) for run in runs]
        comparisons.compare("judge", judged[0], second, runs=repeats, **settings)
    noisy = np.where(rng.random(answers[0].shape) < 0.1, 1 - answers[0], answers[0])
    scored = replace(
        made.matrix(noisy, of=questions), words=rng.integers(2, 9, noisy.shape).astype(float)
    )
    labels = made.labelled(answers[0], scored, 120)
    labels_by_rater = {
        f"human:{name}": {
            (labels.respondents[0], item.id): float(rng.random() < 0.5) for item in labels.items
        }
        for name in ("anna", "ben")
    }
    sample = PooledLabels(judgements=(), pool="majority", raters=labels_by_rater)
    levels = {"sample": sample, "levels": ("model", "answer", "item")}
    comparisons.compare("judge", scored, labels, second_metric=FAITHFUL, **levels, **settings)
    verdicts = (rng.random(60) < 0.7).astype(float)
    stage = StageEvidence(
        role="verifier",
        label="a@1",
        unit="fact",
        yes="holds",
        no="does not hold",
        judge=verdicts,
        human=np.roll(verdicts, 1),
        clusters=[f"p{i // 3}" for i in range(60)],
        weights=np.ones(60),
        not_asked=0,
        unread=0,
        unresolved=0,
    )
    comparisons.compare_stage(stage, scored, labels, made.PROTOCOL)
    form = Form("original", first.items)
    list(
        comparisons.describe(
            first, form=form, claimed=("existence",), families=first.respondents, **settings
        )
    )
    list(comparisons.describe(first, form=form, claimed=(), families=["a", "b"] * 16, **settings))
    reworded = made.matrix(answers[1], Cell(form="parallel"), questions)
    comparisons.compare_forms([first, reworded], **settings)
    expected = case("expected", "", (first,), **settings)
    comparisons.expected(expected, chances, 1.0)
    raters = {
        name: {("r", f"q{i}"): float(rng.random() < p) for i in range(40)}
        for name, p in (("anna", 0.3), ("ben", 0.8))
    }
    comparisons.people_agree(case("criterion", "judge", (first,), **settings), raters)
    slots = {
        f"slot_{letter}": (rng.integers(2, size=chances.shape) == k).astype(float)
        for k, letter in enumerate("AB")
    }
    options = [
        replace(item, task="choice", target="AB"[i % 2], options=("x", "y"))
        for i, item in enumerate(questions)
    ]
    choice = replace(
        first,
        items=tuple(options),
        tallies={**slots, "right": answers[0], "n": np.ones(chances.shape)},
    )
    second = replace(choice, cell=Cell(form="parallel"))
    comparisons.compare("form", choice, second, CHOICE[0], made.PROTOCOL)
    return cases


def numbers_in(value: Any) -> Iterator[float]:
    """Every number of a result, however deep."""
    if isinstance(value, int | float):
        yield float(value)
    elif is_dataclass(value) and not isinstance(value, type):
        properties = [
            name for name, attribute in vars(type(value)).items() if isinstance(attribute, property)
        ]
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
    """The functions on an indicator's page are those that compute it; a number made from theirs has
    a sentence of how.
    """
    cases = every_case(monkeypatch)
    calls: list[tuple[str, Any]] = []

    def recording(function: Any) -> Any:
        def record(*arguments: Any, **keywords: Any) -> Any:
            calls.append((function.__name__, function(*arguments, **keywords)))
            return calls[-1][1]

        return record

    listed = all_indicators()
    for function in {function for indicator in listed for function in indicator.explains}:
        for name in {
            module for module in sys.modules if module.startswith(("hqm.indicators.", "hqm.lint."))
        }:
            if getattr(sys.modules[name], function.__name__, None) is function:
                monkeypatch.setattr(sys.modules[name], function.__name__, recording(function))
    computed: list[Indicator] = []
    wrong: list[str] = []
    for original in cases:
        for indicator in of_indicators.family_indicators(original.family):
            calls.clear()
            answer_leaks._study.cache_clear()  # else the second indicator of a study would call nothing
            original.first.studies.clear()
            uncached = replace(original)
            if any(need.check(uncached) is not None for need in indicator.needs):
                continue
            answer = comparisons._result(uncached, indicator, indicator.compute(uncached))
            if not math.isfinite(answer.coefficient.value):
                continue
            computed.append(indicator)
            explained = {function.__name__ for function in indicator.explains}
            results = [result for name, result in calls if name in explained]
            if not results:
                wrong.append(f"{indicator.name}: none of {', '.join(explained)} is called")
            if (
                answer.coefficient.value not in set(numbers_in(results))
                and not indicator.compute.__doc__
            ):
                wrong.append(
                    f"{indicator.name}: a docstring must say how it is made from their results"
                )
    assert not wrong
    # what takes three forms or more has its own test in test_forms, and a short form in
    # test_shorten
    unlisted = {"icc_a1_of_forms", "phi_of_forms"}
    unlisted |= {indicator.name for indicator in of_indicators.family_indicators("short_form")}
    assert {indicator.name for indicator in listed} - {
        indicator.name for indicator in computed
    } == unlisted


def test_a_need_that_is_not_met_is_the_estimates_reason_or_keeps_it_off_the_list() -> None:
    rng = np.random.default_rng(6)
    first = made.matrix(made.answers(np.linspace(0.2, 0.8, 8), 60, rng))
    ratio = made.YES_NO[3]
    form = Form("original", first.items)
    estimates = {
        e.indicator: e for e in comparisons.describe(first, ratio, made.PROTOCOL, form, ())
    }
    assert estimates["consistency.alpha"].status == "not_applicable"
    assert estimates["consistency.alpha"].reason == text_of("metric.no-mean", metric="f1")
    pair = comparisons.compare(
        "run",
        first,
        replace(first, cell=Cell(run=1)),
        made.ACCURACY,
        made.PROTOCOL,
        deterministic=True,
    )
    by = {e.indicator: e for e in pair}
    assert by["test_retest.pearson"].status == "not_informative"
    assert "test_retest.pearson_same_items" not in by
    assert by["test_retest.mean_shift"].value == 0


NEW = """
from hqm.indicators.indicator import CORRELATION, PAIR, TEST_RETEST, Indicator, Unit, need, result
from hqm.psychometrics import pearson

def _half(case):
    return result(pearson(*case.scores).value / 2, runs=-0.5)

indicators = (
    Indicator(
        name="half_of_pearson", unit=Unit("half a correlation", -0.5, 0.5), title="half of Pearson's r", meaning="Half of a correlation.", family=(TEST_RETEST,),
        needs=(PAIR,), compute=_half, explains=(pearson,), headline=(TEST_RETEST,), digits=1,
        details={"runs": Unit("shift", -1, 1)},
    ),
    Indicator(
        name="never", unit=CORRELATION, meaning="What no case has.", family=(TEST_RETEST,), compute=_half, explains=(pearson,),
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
    for cached in (of_indicators.all_indicators, of_indicators.family_indicators):
        cached.cache_clear()
    yield
    monkeypatch.undo()
    sys.modules.pop("hqm.indicators.halving", None)
    for cached in (of_indicators.all_indicators, of_indicators.family_indicators):
        cached.cache_clear()


def test_an_indicator_is_added_in_one_file(
    added: None,
    dogs: Path,
    store: hqm.Store,
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One entry of one module, and audits, lists, pages, reports and the gate know it."""
    benchmark = hqm.load(str(dogs))
    truths = {item.id: str(item.target) for item in benchmark.original.items}
    wrong = {"yes": "no", "no": "yes"}
    answers = [
        {k: v if i % (n + 2) else wrong[v] for i, (k, v) in enumerate(truths.items())}
        for n in range(4)
    ]
    respondents = [
        recorded(f"r{n}", {("original", 0): a, ("original", 1): {**a, "q1": "yes"}})
        for n, a in enumerate(answers)
    ]
    stored = administered(store, benchmark, respondents)
    audit = hqm.audit(hqm.gather(benchmark, store, stored))
    half, pearson = (
        audit.estimate("test_retest.half_of_pearson"),
        audit.estimate("test_retest.pearson"),
    )
    assert half.value == pytest.approx(pearson.value / 2)  # type: ignore[operator]
    assert "half_of_pearson" in half.signature
    # `runs` counts elsewhere; what it may be here is said by the indicator itself
    whole_audit = hqm.Audit((audit,), "hqm audit dogs")
    path = tmp_path / "audit.json"
    path.write_text(whole_audit.to_json())
    assert hqm.Audit.load(path).audits[0].estimate(half.indicator).detail["runs"] == -0.5
    path.write_text(whole_audit.to_json().replace('"runs": -0.5', '"runs": -1.5'))
    with pytest.raises(hqm.DataError, match="detail.runs"):
        hqm.Audit.load(path)
    missing = audit.estimate("test_retest.never", "accuracy")
    assert (missing.value, missing.status, missing.reason) == (
        None,
        "insufficient",
        "accuracy has no luck",
    )
    assert "half_of_pearson" in run("list", "indicators")[1]
    names = importlib.import_module("hqm.reports.tables.table")
    assert names.statistic_name("half_of_pearson") == "half of Pearson's r"
    tables = importlib.import_module("hqm.reports.tables.table")
    assert any("half of Pearson's r" in row[0].text for row in tables.indicators_brief(audit).rows)
    assert tables.estimate_text(half).text == f"{half.value:.1f}"
    monkeypatch.syspath_prepend(DOCS)
    page = importlib.import_module("make.pages").made()["indicators/half_of_pearson.md"]
    assert "Half of a correlation." in page
    assert "## `hqm.psychometrics.pearson`" in page
    evidence = importlib.import_module("hqm.reports.tables.evidence_tables").estimates_by_family(
        audit
    )
    (row,) = [r for t in evidence for r in t.rows if "half of Pearson's r" in r[0].text]
    assert "half a correlation" in [cell.small for cell in row]
    rule = {"indicator": "test_retest.half_of_pearson", "interval": "fixed_models", "at_least": 0.1}
    assert (
        Policy.model_validate({"name": "x", "require": [rule]}).require[0].indicator
        == rule["indicator"]
    )
    assert math.isfinite(half.value or math.nan)


def test_named_coefficients_stand_beside_those_that_lead(
    store: hqm.Store, quiz: hqm.Benchmark, tmp_path: Path
) -> None:
    """All forms of the ICC with the runs as raters, Fleiss' kappa of people's labels, standardised
    alpha of the items.
    """
    import pandas as pd
    import pingouin
    from statsmodels.stats.inter_rater import fleiss_kappa

    rng = np.random.default_rng(11)
    chances = np.clip(rng.normal(np.linspace(0.4, 0.8, 8)[:, None], 0.2, (8, 400)), 0.02, 0.98)
    stored = administered(store, quiz, respondents_of(quiz, chances, rng))
    labels = (rng.random((3, 5, 60)) < 0.7).astype(int)
    rows = [
        f"q{i},{chr(97 + k)}-model,{labels[r, k, i]},rater{r}"
        for r in range(3)
        for k in range(5)
        for i in range(60)
    ]
    (tmp_path / "labels.csv").write_text("item,respondent,label,rater\n" + "\n".join(rows))
    evidence = hqm.gather(quiz, store, stored, criterion=tmp_path / "labels.csv")
    audit = hqm.audit(evidence)
    scores = np.stack(
        [evidence.matrices[Cell(run=run)].score(evidence.metrics[0]) for run in (0, 1)], axis=1
    )
    long_table = pd.DataFrame(
        {"who": np.repeat(range(8), 2), "run": np.tile(range(2), 8), "score": scores.ravel()}
    )
    theirs = pingouin.intraclass_corr(long_table, "who", "run", "score").set_index("Type")["ICC"]
    for name, form in (
        ("icc_11", "ICC(1,1)"),
        ("icc_a1", "ICC(A,1)"),
        ("icc_c1", "ICC(C,1)"),
        ("icc_1k", "ICC(1,k)"),
        ("icc_ak", "ICC(A,k)"),
        ("icc_ck", "ICC(C,k)"),
    ):
        assert audit.estimate(f"test_retest.{name}").value == pytest.approx(
            theirs[form], abs=1e-9
        ), name
    counts = np.stack([(labels == c).sum(axis=0).ravel() for c in (0, 1)], axis=1)
    kappa = audit.estimate("criterion.fleiss_kappa")
    assert kappa.value == pytest.approx(fleiss_kappa(counts))
    assert (kappa.detail["raters"], kappa.detail["used"]) == (3, 300)
    items = case(
        "consistency", "", (evidence.first,), evidence.metrics[0], made.PROTOCOL
    ).item_scores[0]
    varying = items[:, items.std(axis=0) > 0]
    mean_r = (np.corrcoef(varying.T).sum() - varying.shape[1]) / (
        varying.shape[1] * (varying.shape[1] - 1)
    )
    k = varying.shape[1]
    assert audit.estimate("consistency.alpha_standardized").value == pytest.approx(
        k * mean_r / (1 + (k - 1) * mean_r)
    )


@pytest.mark.parametrize(("runs", "margin"), [(1, None), (2, None), (1, 0.05), (2, 0.05)])
def test_forms_are_called_equivalent_by_a_declared_margin_or_by_the_seeds(
    runs: int, margin: float | None
) -> None:
    """Without either there is no test, and the reason says which two things would make one."""
    rng = np.random.default_rng(12)
    chance, questions = np.linspace(0.3, 0.8, 8)[:, None], made.items(200)
    first, rerun, parallel = (
        made.matrix(
            (rng.random((8, 200)) < chance).astype(int), Cell(form=form, run=run), questions
        )
        for form, run in (("original", 0), ("original", 1), ("parallel", 0))
    )
    protocol = replace(made.PROTOCOL, margin=margin)
    repeats = (
        case("test_retest", "run", (first, rerun), made.ACCURACY, protocol, is_joint=True)
        if runs == 2
        else None
    )
    pair = case(
        "parallel_forms", "form", (first, parallel), made.ACCURACY, protocol, repeats=repeats
    )
    (estimate,) = (
        e for e in comparisons.estimates(pair) if e.indicator == "parallel_forms.equivalence"
    )
    if margin is not None:
        assert estimate.detail["margin"] == margin
        assert estimate.detail["margin_from"] == "declared"
        assert "margin_0.05_declared" in estimate.signature
    elif runs == 2:
        assert estimate.detail["margin_from"] == "seeds"
        assert estimate.detail["margin"] > 0
    else:
        assert (estimate.value, estimate.status) == (None, "not_applicable")
        assert "margin=" in estimate.reason
        assert "second run" in estimate.reason


def test_four_forms_together_are_one_study_of_wording() -> None:
    """ICC(A,1) and ICC(A,k) over four wordings equal pingouin's, and the G study has the four as
    its facet.
    """
    import pandas as pd
    import pingouin as pg

    from hqm.indicators import compare_forms

    rng = np.random.default_rng(5)
    chance, questions = np.linspace(0.3, 0.8, 8)[:, None], made.items(200)
    names = ("original", "parallel", "parallel2", "parallel3")
    forms = [
        made.matrix((rng.random((8, 200)) < chance).astype(int), Cell(form=name), questions)
        for name in names
    ]
    estimates = {e.indicator: e for e in compare_forms(forms, made.ACCURACY, made.PROTOCOL)}
    table = pd.DataFrame(
        [
            {"respondent": r, "form": name, "score": float(score)}
            for name, matrix in zip(names, forms, strict=True)
            for r, score in enumerate(matrix.score(made.ACCURACY))
        ]
    )
    theirs = pg.intraclass_corr(table, targets="respondent", raters="form", ratings="score")[
        "ICC"
    ].tolist()
    assert estimates["parallel_forms.icc_a1_of_forms"].value == pytest.approx(theirs[1], abs=1e-6)
    phi = estimates["parallel_forms.phi_of_forms"]
    assert phi.value == pytest.approx(theirs[4], abs=1e-6)
    assert (phi.detail["forms"], phi.detail["decides"]) == (4, False)
    assert estimates["parallel_forms.icc_a1_of_forms"].detail["forms"] == 4
    assert estimates["generalizability.phi"].detail["varied"] == "form"
    advantage, two = compare_forms(forms[:2], made.ACCURACY, made.PROTOCOL)
    assert (two.indicator, two.value) == ("parallel_forms.phi_of_forms", None)
    shift = float(np.subtract(*(form.score(made.ACCURACY) for form in forms[:2])).mean())
    assert advantage.indicator == "parallel_forms.released_advantage"
    assert advantage.value == pytest.approx(shift)
    assert (two.status, two.detail["decides"]) == ("insufficient", False)
    assert compare_forms(forms[:1], made.ACCURACY, made.PROTOCOL) == []


def test_two_coefficients_of_items_alone_rest_on_the_runs_of_a_form() -> None:
    """The signature of any other names the one administration that it is of."""
    over_runs = {indicator.name for indicator in all_indicators() if indicator.over_runs}
    assert over_runs == {"label_errors", "reading_list"}
