"""`hqm design`: the cheapest study from an audit, its forecasts, prices and refusals; and `hqm
compare --forecast`.
"""

import csv
import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import hqm_study
import numpy as np
import pytest
from hqm_study import StudyDesign
from hqm_study.design_space import AXES, Space, parse_target
from typer.testing import CliRunner

import hqm
from hqm import Audit, BenchmarkAudit, DataError, DesignError, UsageError
from hqm.auditing.study_records import read_components
from hqm.cli import program
from hqm.comparison.compare import compare_audits
from hqm.comparison.prices import UnitPrices, parse_prices, read_prices, unit_prices
from hqm.imports.recordings import Recording
from hqm.psychometrics import (
    compare_studies,
    crossed_components,
    d_study,
    forecast,
    forecast_interval,
    g_study,
    study_variance_components,
)
from hqm.psychometrics.variance.study_forecast import StudySize, error_components
from hqm.psychometrics.variance.study_variance import StudyComponents
from hqm.respondents.base import RecordedRespondent
from tests.conftest import ROOT, administered, write_benchmark
from tests.messages import pattern_of, tells, text_of
from tests.perf import decisions_design

PICTURES, ITEMS, RESPONDENTS = 24, 3, 12
FLIPPED = {"yes": "No.", "no": "Yes."}


def answers_of(folder: Path, seed: int, noise: float = 0.8) -> list[dict[str, Any]]:
    """Answers of graded respondents: two runs of the original, one in other words."""
    benchmark = hqm.load(str(folder))
    forms = {"original": benchmark.original, "parallel2": benchmark.reworded(2)}
    rng = np.random.default_rng(seed)
    ease = rng.normal(0.3, noise, len(benchmark.original))
    item_index = {item.id: i for i, item in enumerate(benchmark.original.items)}
    rows = []
    for m in range(RESPONDENTS):
        for form, run in (("original", 0), ("original", 1), ("parallel2", 0)):
            for item in forms[form].items:
                counting = 1.2 * (item.type == "counting")
                chance = 1 / (
                    1 + math.exp(-(ease[item_index[item.id]] - counting + 0.25 * (m - 5)))
                )
                right = rng.random() < chance
                text = str(item.target).capitalize() if right else FLIPPED[str(item.target)]
                rows.append(
                    {
                        "item": item.id,
                        "respondent": f"m{m}",
                        "form": form,
                        "run": run,
                        "answer": text,
                    }
                )
    return rows


def make_folder(parent: Path, name: str) -> Path:
    rows = [
        {
            "id": f"q{i}",
            "prompt": f"Is there a thing {i} in the image?",
            "target": "yes" if i % 2 else "no",
            "image": f"{i // ITEMS}.png",
            "type": "counting" if i % ITEMS == 0 else "existence",
        }
        for i in range(PICTURES * ITEMS)
    ]
    return write_benchmark(
        parent / name,
        rows,
        name=name,
        title=name.capitalize(),
        types=["counting", "existence"],
        labelled=True,
    )


@pytest.fixture(scope="module")
def audit_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An audit by the command, of recorded answers and of people's labels with their seconds."""
    root = tmp_path_factory.mktemp("design")
    folder = make_folder(root, "mine")
    rows = answers_of(folder, 1)
    (root / "answers.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
    )
    key = {item.id: str(item.target) for item in hqm.load(str(folder)).original.items}
    with (root / "labels.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "respondent", "label", "seconds"])
        for i, row in enumerate(
            row for row in rows if row["form"] == "original" and row["run"] == 0
        ):
            if i % 3 == 0:
                right = row["answer"].strip(".").lower() == key[row["item"]]
                writer.writerow(
                    [
                        row["item"],
                        row["respondent"],
                        int(right if i % 15 else not right),
                        12 if i % 2 else 18,
                    ]
                )
    result = CliRunner().invoke(
        program(),
        [
            "audit",
            str(folder),
            "--recorded",
            str(root / "answers.jsonl"),
            "--criterion",
            str(root / "labels.csv"),
            "--forms",
            "original,parallel2",
            "--out",
            str(root / "out"),
            "--quiet",
        ],
    )
    assert result.exit_code == 0, (result.output, result.exception)
    return root / "out" / "audit.json"


@pytest.fixture(scope="module")
def audit(audit_path: Path) -> Audit:
    return Audit.load(audit_path)


@pytest.fixture(scope="module")
def parts(audit: Audit) -> StudyComponents:
    return read_components(audit.audits[0].components["accuracy"])[0]


# --- the parts and the forecasts ---


def ragged(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Scores with pictures of unequal size, three wordings and two runs, the second of the first
    wording alone.
    """
    rng = np.random.default_rng(seed)
    pictures = np.repeat(np.arange(40), rng.integers(1, 5, 40))
    m, n = 9, len(pictures)
    level = (
        rng.normal(0, 1, (m, 1, 1, 1))
        + rng.normal(0, 1, (1, n, 1, 1))
        + rng.normal(0, 0.8, 40)[pictures][None, :, None, None]
    )
    level = (
        level
        + rng.normal(0, 0.7, (m, n, 1, 1))
        + rng.normal(0, 0.6, (m, 40))[:, pictures][:, :, None, None]
    )
    level = (
        level
        + rng.normal(0, 0.6, (1, n, 3, 1))
        + rng.normal(0, 0.5, (m, 1, 3, 1))
        + rng.normal(0, 0.5, (1, 1, 3, 1))
    )
    level = (
        level
        + rng.normal(0, 0.6, (m, n, 3, 1))
        + rng.normal(0, 0.5, (1, 40, 3))[:, pictures][..., None]
    )
    x = (
        level
        + rng.normal(0, 0.4, (m, 40, 3))[:, pictures][..., None]
        + rng.normal(0, 0.7, (m, n, 3, 2))
    )
    x[:, :, 1:, 1] = np.nan
    return x, pictures


def test_the_parts_are_those_of_the_moment_equations() -> None:
    """Runs as repetitions of a cell give what the general equations give with runs as an axis of
    their own.
    """
    x, pictures = ragged()
    parts = study_variance_components(x, pictures)
    general = crossed_components(
        x,
        ["respondent", "item", "form", "run"],
        nested={"item": ("picture", pictures)},
        effects=parts.effects[:-1],
    )
    assert set(parts.effects) == set(general.effects)
    for effect, value in zip(general.effects, general.values, strict=True):
        assert parts.value(*effect) == pytest.approx(value, rel=1e-9)
    assert (parts.respondents, parts.items, parts.pictures, parts.forms, parts.runs) == (
        9,
        len(pictures),
        40,
        3,
        2,
    )
    assert np.linalg.eigvalsh(np.array(parts.covariance)).min() > -1e-12


def test_the_covariance_is_that_of_leaving_out_each_picture() -> None:
    x, pictures = ragged()
    parts = study_variance_components(x, pictures)
    left = []
    for picture in range(40):
        general = crossed_components(
            x[:, pictures != picture],
            ["respondent", "item", "form", "run"],
            nested={"item": ("picture", pictures[pictures != picture])},
            effects=parts.effects[:-1],
        )
        by_effect = dict(zip(general.effects, general.values, strict=True))
        left.append([by_effect[effect] for effect in parts.effects])
    moved = np.array(left) - np.mean(left, axis=0)
    assert np.allclose(np.array(parts.covariance), 39 / 40 * moved.T @ moved, rtol=1e-6)


def test_the_interval_of_a_forecast_follows_from_the_covariance() -> None:
    """The square of sem is a weighted sum of the components, so that its variance is known
    exactly.
    """
    parts = study_variance_components(*ragged())
    size = StudySize(pictures=90, items=2, forms=2, runs=1)
    errors = error_components(parts, size)
    weights = [
        (
            float(errors[effect]) / value
            if value and ("item" in effect or "picture" in effect)
            else 0.0
        )
        for effect, value in zip(parts.effects, parts.values, strict=True)
    ]
    square = float(np.dot(weights, parts.values))
    spread = (
        math.sqrt(np.array(weights) @ np.array(parts.covariance) @ np.array(weights)) / square / 2
    )
    low, high = forecast_interval(parts, "sem", size)
    assert low == pytest.approx(math.sqrt(square) * math.exp(-1.959964 * spread), rel=1e-3)
    assert high == pytest.approx(math.sqrt(square) * math.exp(1.959964 * spread), rel=1e-3)
    lower, upper = forecast_interval(parts, "g", size)
    assert lower < float(forecast(parts, "g", size)) < upper < 1


@pytest.mark.parametrize("runs", [1, 2])
def test_a_study_of_items_has_the_g_of_the_d_study(runs: int) -> None:
    x = np.array([[2, 4, 5], [4, 5, 7], [6, 6, 9], [3, 5, 5]] * 4, dtype=float).repeat(4, axis=1)
    x = x + np.random.default_rng(2).normal(0, 0.8, (16, 12))
    parts = study_variance_components(x[:, :, None, None])
    study = d_study(g_study(x, ["respondent", "item"]), {"item": 30})
    size = StudySize(pictures=30)
    assert float(forecast(parts, "g", size)) == pytest.approx(study.g, rel=1e-9)
    assert float(forecast(parts, "phi", size)) == pytest.approx(study.phi, rel=1e-9)
    assert float(forecast(parts, "sem", size)) ** 2 == pytest.approx(study.absolute, rel=1e-9)
    repeated = study_variance_components(
        np.repeat(x[:, :, None, None], runs, axis=3)
        + (0 if runs == 1 else np.random.default_rng(1).normal(0, 0.1, (16, 12, 1, runs)))
    )
    assert repeated.status == "ok", "one wording, one run or several"
    assert repeated.runs == runs


def test_a_study_says_why_it_has_no_parts() -> None:
    rng = np.random.default_rng(0)
    assert "2 respondents" in study_variance_components(rng.random((2, 30, 1, 1))).reason
    assert (
        "8 pictures"
        in study_variance_components(rng.random((5, 16, 1, 1)), np.repeat(np.arange(8), 2)).reason
    )
    assert study_variance_components(np.ones((5, 30, 1, 2))).status == "degenerate"


def test_forecasts_hold_in_worlds_of_another_model() -> None:
    """A small part of the figures in docs/design.md."""
    accuracy = decisions_design.accuracy(10, pictures=(150,), replicates=120, seed=11)
    assert (accuracy.share_within_tenth >= 0.7).all(), str(accuracy)
    assert np.abs(np.median(accuracy.ratios, axis=0) - 1).max() < 0.06, str(accuracy)


def test_the_cheapest_design_saves_in_worlds_of_another_model() -> None:
    savings = decisions_design.savings(3, replicates=40, seed=12)
    assert savings.savings[0] >= 0.4, "answers alone cost"
    assert (savings.savings > 0.05).all(), "what is new costs too"
    assert np.median(savings.errors) < 1.15, str(savings)


def test_targets_out_of_reach_are_refused_in_worlds_of_another_model() -> None:
    refusals = decisions_design.refusals(4, seed=13)
    assert refusals.refused == refusals.n_named == refusals.tried


def test_the_better_of_two_benchmarks_is_chosen_in_worlds_of_another_model() -> None:
    trust = decisions_design.trust(6, n_others=60, seed=14)
    assert trust.right[0] >= 0.8, str(trust)


# --- what an audit keeps ---


def test_an_audit_keeps_the_parts_of_its_whole_study(audit: Audit, parts: StudyComponents) -> None:
    assert (parts.respondents, parts.items, parts.pictures, parts.per_picture) == (
        RESPONDENTS,
        72,
        PICTURES,
        3.0,
    )
    assert (parts.forms, parts.runs, parts.askings, parts.judge) == (2, 2, 1, None)
    assert parts.value("respondent") > 0
    types = read_components(audit.audits[0].components["accuracy"])[1]
    assert {kind: components.items for kind, components in types.items()} == {
        "counting": 24,
        "existence": 48,
    }
    assert (
        Audit.from_dict(json.loads(audit.to_json())).audits[0].components
        == audit.audits[0].components
    )
    # a ratio of tallies is taken apart too, on the scale of its score
    benchmark = audit.audits[0]
    for metric in benchmark.metrics:
        assert read_components(benchmark.components[metric])[0].status == "ok", metric


def test_a_negation_is_no_second_wording_of_a_study(audit_path: Path) -> None:
    """Who leans to yes gains by it what it loses without, which additive parts do not know."""
    home = audit_path.parent.parent
    rows = [json.loads(line) for line in (home / "answers.jsonl").read_text().splitlines()]
    negated = hqm.load(str(home / "mine")).parallel_form
    for row in rows:
        if row["form"] != "original":
            agrees = row["answer"] == str(negated.by_id[row["item"]].target).capitalize()
            row |= {"form": "parallel", "answer": "Yes." if agrees else "No."}
    (home / "negated.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    audited = hqm.audit(
        str(home / "mine"), recorded=home / "negated.jsonl", metrics="accuracy", limit=60
    )
    assert read_components(audited.components["accuracy"])[0].forms == 1
    assert all(e.indicator != "parallel_forms.phi_of_forms" for e in audited.all_estimates)
    refused = [
        e
        for e in audited.all_estimates
        if e.indicator == "generalizability.g" and "form=parallel" in e.other
    ]
    assert [e.value for e in refused] == [None]
    assert "inverts" in refused[0].reason


def test_labels_and_their_seconds_are_kept(
    audit: Audit, audit_path: Path, parts: StudyComponents
) -> None:
    labels = list(csv.DictReader((audit_path.parent.parent / "labels.csv").open(encoding="utf-8")))
    answers = [
        json.loads(line)
        for line in (audit_path.parent.parent / "answers.jsonl").read_text().splitlines()
    ]
    key = {
        item.id: str(item.target)
        for item in hqm.load(str(audit_path.parent.parent / "mine")).original.items
    }
    right = {
        (a["item"], a["respondent"]): float(a["answer"].strip(".").lower() == key[a["item"]])
        for a in answers
        if a["form"] == "original" and a["run"] == 0
    }
    by: dict[str, list[float]] = {}
    for row in labels:
        by.setdefault(row["respondent"], []).append(
            right[row["item"], row["respondent"]] - float(row["label"])
        )
    assert parts.labelled == len(labels)
    assert parts.labels == pytest.approx(
        np.mean([np.var(values, ddof=1) for values in by.values()])
    )
    assert audit.record["costs"]["mine"]["label_seconds"] in (12.0, 15.0, 18.0)


def test_a_components_key_that_is_wrong_is_named(audit_path: Path, tmp_path: Path) -> None:
    data = json.loads(audit_path.read_text())
    data["audits"][0]["components"]["accuracy"]["pictures"] = -3
    (tmp_path / "audit.json").write_text(json.dumps(data))
    with pytest.raises(DataError, match=r"components\.accuracy\.pictures"):
        hqm_study.design(tmp_path / "audit.json", targets=["mdd<=.2"])
    data = json.loads(audit_path.read_text())
    data["audits"][0]["components"]["accuracy"]["values"].pop()
    (tmp_path / "audit.json").write_text(json.dumps(data))
    with pytest.raises(DataError, match="do not fit together"):
        hqm_study.design(tmp_path / "audit.json", targets=["mdd<=.2"])


def test_tokens_and_seconds_of_the_store_are_prices(tmp_path: Path) -> None:
    from hqm.commands.session import study_costs

    benchmark = hqm.load(str(make_folder(tmp_path, "timed")))
    measured = {"tokens_in": 300, "tokens_out": 20, "seconds": 0.5}
    sheet = {item.id: hqm.Response("Yes.", detail=measured) for item in benchmark.original.items}
    with hqm.Store(tmp_path / "store.sqlite") as store:
        respondent = RecordedRespondent("recorded/a", [Recording("a", "original", 0, sheet)])
        respondents = administered(store, benchmark, [respondent])
        evidence = hqm.gather(benchmark, store, respondents)
        costs = study_costs(store, evidence, [], [], prices=(2.0, 10.0))
    (used,) = costs["respondents"].values()
    assert used == {
        "answers": 72,
        "tokens_in": 72 * 300,
        "tokens_out": 72 * 20,
        "seconds": 0.5,
        "price_in": 2.0,
        "price_out": 10.0,
    }


# --- the answer ---


def test_the_answer_is_the_cheapest_of_all_studies(audit: Audit, parts: StudyComponents) -> None:
    """Every study up to 300 pictures is tried by hand; none that reaches the target costs less."""
    study_design = hqm_study.design(audit, targets=["mdd<=.15"])
    assert study_design.cheapest.reaches_targets
    assert (
        study_design.cheapest.answers
        == study_design.cheapest.cost
        == study_design.cheapest.pictures
        * study_design.cheapest.items
        * study_design.cheapest.forms
        * study_design.cheapest.runs
        * RESPONDENTS
    )
    pictures, items, forms, runs = np.meshgrid(
        np.arange(10, 301), (1, 2, 3, 4, 5, 6), range(1, 7), range(1, 11)
    )
    values = forecast(
        parts, "mdd", StudySize(pictures=pictures, items=items, forms=forms, runs=runs)
    )
    cost = pictures * items * forms * runs * RESPONDENTS
    assert study_design.cheapest.cost == cost[values <= 0.15].min()
    assert study_design.now.pictures == PICTURES
    assert study_design.same is not None
    assert study_design.saving == pytest.approx(
        1 - study_design.cheapest.cost / study_design.same.cost
    )
    assert f"{study_design.saving:.0%} cheaper" in study_design.sentence
    assert tells(study_design.notes[0], "design.no-price")
    assert StudyDesign.from_dict(json.loads(study_design.to_json())) == study_design
    costs = [point.cost for point in study_design.curve]
    best = [point.best for point in study_design.curve]
    assert costs == sorted(costs)
    assert best == sorted(best, reverse=True), "more money never buys less"
    assert all(
        point.same is None or point.best <= point.same * (1 + 1e-9) for point in study_design.curve
    )


def test_the_audited_study_is_forecast_as_it_was_tested(
    audit: Audit, parts: StudyComponents
) -> None:
    """The audit tests differences of one run in one wording from the pictures directly, pair by
    pair.
    """
    tested = audit.audits[0].estimate("discriminability.minimum_difference", "accuracy").value
    single = forecast(parts, "mdd", StudySize(pictures=PICTURES, items=ITEMS, forms=1, runs=1))
    assert float(single) == pytest.approx(tested, rel=0.15)


def test_several_targets_and_a_type(audit: Audit) -> None:
    study_design = hqm_study.design(audit, targets=["g>=.8", "sem[counting]<=.05", "mdd<=.2"])
    assert study_design.cheapest.reaches_targets
    assert study_design.cheapest.extra["counting"] >= 0
    with pytest.raises(UsageError, match="no hallucination type 'countin'"):
        hqm_study.design(audit, targets=["sem[countin]<=.05"])


def test_prices_move_the_answer(audit: Audit) -> None:
    cheap = hqm_study.design(audit, targets=["mdd<=.12"])
    dear = hqm_study.design(
        audit,
        targets=["mdd<=.12"],
        prices=parse_prices('currency="EUR"\n[answers]\n"*"=0.001\n[new]\npicture=5'),
    )
    assert dear.unit == "EUR"
    assert dear.cheapest.pictures < cheap.cheapest.pictures
    assert dear.cheapest.answers > cheap.cheapest.answers
    capped = hqm_study.design(
        audit, targets=["mdd<=.12"], prices=parse_prices('[answers]\n"*"=1\n[most]\npictures=40')
    )
    assert capped.cheapest.pictures <= 40


def test_labels_are_priced_by_their_minutes(audit: Audit) -> None:
    prices = parse_prices('[answers]\n"*"=0.01\n[labels]\nhour=30')
    study_design = hqm_study.design(audit, targets=["labelled_sem<=.06"], prices=prices)
    assert study_design.cheapest.reaches_targets
    assert study_design.cheapest.labels > 0
    seconds = audit.record["costs"]["mine"]["label_seconds"]
    paid = (
        study_design.cheapest.answers * 0.01
        + study_design.cheapest.labels * RESPONDENTS * seconds / 3600 * 30
    )
    assert study_design.cheapest.cost == pytest.approx(paid)
    assert any(tells(note, "design.seconds") for note in study_design.notes)
    with pytest.raises(UsageError, match=pattern_of("design.unpriced")):
        hqm_study.design(audit, targets=["labelled_sem<=.06"], free=["labels", "pictures"])


def test_targets_for_other_respondents(audit: Audit) -> None:
    study_design = hqm_study.design(
        audit, targets=["rho_g_half_width<=.02"], free=["pictures", "runs", "respondents"]
    )
    assert study_design.cheapest.reaches_targets
    mean_design = hqm_study.design(
        audit, targets=["mean_sem<=.05"], free=["respondents", "pictures"]
    )
    assert mean_design.cheapest.reaches_targets
    assert mean_design.cheapest.respondents > RESPONDENTS


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            {"targets": ["sem<=.001"], "free": ["runs"]},
            pattern_of("design.out-of-reach", source=re.compile(".*(picture|item).*"))
            + ".*Let pictures vary",
        ),
        ({"targets": ["forms>=.9999"], "free": ["pictures"]}, "the main cause is"),
        ({"targets": ["mdd<=.2"], "free": ["judges"]}, "no judge was asked twice"),
        ({"targets": ["mdd<=.00001"]}, pattern_of("design.out-of-reach")),
    ],
)
def test_what_is_out_of_reach_is_refused(
    audit: Audit, settings: dict[str, Any], words: str
) -> None:
    with pytest.raises(DesignError, match=words):
        hqm_study.design(audit, **settings)


def test_what_was_not_measured_is_refused(audit: Audit) -> None:
    rng = np.random.default_rng(0)
    right = (rng.random((8, 60, 1, 1)) < np.linspace(0.3, 0.9, 8)[:, None, None, None]).astype(
        float
    )
    with pytest.raises(DesignError, match="no second run was asked"):
        hqm_study.design_of_scores(right, targets=["rho_g>=.9"])
    with pytest.raises(DesignError, match="no second wording"):
        hqm_study.design_of_scores(right, targets=["mdd<=.2"], free=["forms"])
    with pytest.raises(DesignError, match="2 respondents"):
        hqm_study.design_of_scores(right[:2], targets=["mdd<=.2"])
    with pytest.raises(DesignError, match=pattern_of("design.few-respondents")):
        hqm_study.design_of_scores(right, targets=["mean_sem<=.05"])
    with pytest.raises(DesignError, match=pattern_of("families.one")):
        hqm_study.design_of_scores(
            np.tile(right, (2, 1, 1, 1)), targets=["mean_sem<=.05"], families=["llava"] * 16
        )
    types = np.array(["easy", "hard"])[np.arange(60) % 2]
    right[:, types == "easy"] = 1.0
    with pytest.raises(DesignError, match=pattern_of("design.same-scores", type="easy")):
        hqm_study.design_of_scores(right, targets=["sem[easy]<=.05"], types=types)
    older = BenchmarkAudit.from_dict({**audit.audits[0].to_dict(), "components": {}})
    with pytest.raises(DesignError, match="holds no variance components"):
        hqm_study.design(older, targets=["mdd<=.1"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("mdd>=.1", "points the wrong way"),
        ("mddd<=.1", "Did you mean 'mdd'"),
        ("mdd", "cannot be read"),
        ("rho_g>=1", "between 0 and 1"),
        ("g[counting]>=.8", pattern_of("design.no-type")),
        ("sem<=-1", "above 0"),
    ],
)
def test_a_target_that_means_nothing_is_an_error(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_target(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[new]\npictur = 1", pattern_of("key.unknown", key="new.pictur", near="picture")),
        ('[answers]\n"*" = -1', "answers"),
        ("[most]\nruns = 0", r"most\.runs"),
        ("[tokens.a]\nin = 1", r"'tokens\.a\.out' is missing"),
        ("hour = 3", r"unknown key 'hour'"),
        ("[new", "it is no TOML"),
    ],
)
def test_a_price_list_with_a_mistake_names_it(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "prices.toml").write_text(text)
    with pytest.raises(DataError, match=words) as caught:
        read_prices(tmp_path / "prices.toml")
    assert "prices.toml" in str(caught.value)


def test_the_example_of_the_page_prints_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    prices, code, printed = (
        re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL)[0]
        for kind in ("toml", "python", "text")
    )
    (tmp_path / "prices.toml").write_text(prices)
    monkeypatch.chdir(tmp_path)
    exec(code, {})
    assert capsys.readouterr().out == printed


# --- the command, the report, the comparison ---


def test_the_command_says_what_the_function_says(audit_path: Path, tmp_path: Path) -> None:
    design_path = tmp_path / "design.json"
    result = CliRunner().invoke(
        program(),
        [
            "design",
            str(audit_path),
            "--target",
            "mdd<=.15",
            "--target",
            "rho_g>=.8",
            "--out",
            str(design_path),
        ],
    )
    assert result.exit_code == 0, result.exception
    expected = hqm_study.design(audit_path, targets=["mdd<=.15", "rho_g>=.8"])
    assert str(expected) in result.output
    assert StudyDesign.from_dict(json.loads(design_path.read_text())) == expected
    printed = CliRunner().invoke(
        program(),
        [
            "design",
            str(audit_path.parent),
            "--target",
            "mdd<=.15",
            "--free",
            "pictures, runs",
            "--json",
        ],
    )
    assert json.loads(printed.output)["free"] == ["pictures", "runs"]


@pytest.fixture(scope="module")
def noisier(tmp_path_factory: pytest.TempPathFactory) -> BenchmarkAudit:
    """A noisier benchmark of the same size before respondents of the same names."""
    root = tmp_path_factory.mktemp("other")
    folder = make_folder(root, "noisier")
    rows = answers_of(folder, 2)
    rng = np.random.default_rng(3)
    for row in rows:
        if rng.random() < 0.5:
            row["answer"] = "Yes." if rng.random() < 0.5 else "No."
    (root / "answers.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
    )
    return hqm.audit(
        str(folder), recorded=root / "answers.jsonl", metrics="accuracy", forms="original,parallel2"
    )


def test_a_comparison_forecasts_which_to_trust(audit: Audit, noisier: BenchmarkAudit) -> None:
    from hqm.reports.pages.compare_page import comparison_tables, render
    from hqm.reports.pages.comparison_answers import forecast_sentences

    comparison = compare_audits([audit, noisier], metrics=["accuracy"], forecast=True)
    (pair,) = comparison.forecasts
    assert (pair.unit, pair.cost) == ("answers", 72.0 * RESPONDENTS)
    assert pair.items == (72, 72)
    assert pair.trusted(pair.these) == pair.first == "Mine"
    assert pair.g[0].value > pair.g[1].value
    sentences = forecast_sentences(comparison)
    assert sentences[0].startswith(text_of("design.trust", better="Mine", other="Noisier"))
    assert sentences[1].startswith("For other respondents, ")
    page = render(comparison)
    assert tells(page, "design.which-to-trust")
    (table,) = (t for t in comparison_tables(comparison) if t.name == "forecast")
    assert len(table.rows) == 2
    data = json.loads(comparison.to_json())
    assert data["forecasts"][0]["these"]["difference"] == pair.these.difference
    assert "components" not in data["measures"][0]
    assert compare_audits([audit, noisier], metrics=["accuracy"]).forecasts == ()


def test_unequal_prices_make_unequal_studies(audit: Audit, noisier: BenchmarkAudit) -> None:
    from hqm.comparison.compare import forecasts
    from hqm.comparison.measures import measures_of

    measures = measures_of([*audit.audits, noisier], ["accuracy"])
    names = [f"m{m}" for m in range(RESPONDENTS)]
    used = {
        name: {"answers": 1, "tokens_in": 100, "tokens_out": 0, "price_in": 2.0, "price_out": 0.0}
        for name in measures[0].scores
    }
    twice = {name: {**row, "price_in": 4.0} for name, row in used.items()}
    (pair,) = forecasts(
        measures, names, None, {"mine": {"respondents": used}, "noisier": {"respondents": twice}}
    )
    assert pair.unit == "money"
    assert pair.items == (72, 36)
    # what is free is asked as often as it was, and leaves the other its length
    free = {name: {**row, "price_in": 0.0} for name, row in used.items()}
    for prices in ((used, free), (free, twice), (free, free)):
        used_by_name = {
            name: {"respondents": price}
            for name, price in zip(("mine", "noisier"), prices, strict=True)
        }
        (pair,) = forecasts(measures, names, None, used_by_name)
        assert pair.items == (72, 72)


def test_a_contest_needs_respondents_and_parts() -> None:
    parts = StudyComponents(
        effects=(("respondent",), ("respondent", "item")),
        values=(0.02, 0.2),
        covariance=((1e-6, 0), (0, 1e-5)),
        respondents=8,
        families=8,
        items=100,
        pictures=100,
    )
    sizes = (StudySize(pictures=100), StudySize(pictures=400))
    compared = compare_studies(parts, parts, sizes, 0.5, 8)
    assert compared.fixed_respondents.choice == 2
    assert compared.fixed_respondents.difference == pytest.approx(-math.log(4))
    assert tells(compared.other_respondents.reason, "design.forecast-few", least=10)
    assert compared.other_respondents.choice == 0
    # a judge's noise shrinks with its askings, and is never more than the noise of single answers
    judged = study_variance_components(ragged()[0], ragged()[1])
    errors = error_components(
        StudyComponents(
            effects=judged.effects, values=judged.values, judge=9.0, per_picture=1, crowd=1
        ),
        StudySize(askings=4),
    )
    assert float(errors[("judge",)]) == pytest.approx(judged.values[-1] / 400)


def test_a_verdict_costs_its_replies_and_a_label_its_minutes() -> None:
    """By hand: a reply reads 1,000 tokens at 2 and writes 100 at 10 a million; a verdict takes 3."""
    listed = parse_prices('[tokens]\n"*" = {in = 2, out = 10}\n[labels]\nhour = 30\nminutes = 3')
    used = {"answers": 4, "tokens_in": 4000, "tokens_out": 400}
    costs = {"judge": {"name": "j", **used, "replies_a_verdict": 3.0}, "respondents": {"m": used}}
    prices = unit_prices(listed, costs, ["m", "n"], judged=True)
    assert prices.verdict == pytest.approx(3 * 0.003)
    assert prices.answer == pytest.approx(0.003 / 2), "the other respondent was not measured"
    assert prices.label == pytest.approx(30 * 3 / 60)
    assert unit_prices(listed, costs, ["m"], judged=False).verdict == 0
    machine = parse_prices("[machine]\nhour = 4")
    timed = {"respondents": {"m": {"answers": 1, "seconds": 9.0}}, "judge": {**used, "seconds": 9}}
    local = unit_prices(machine, timed, ["m"], judged=True)
    assert (local.answer, local.verdict) == (pytest.approx(4 * 9 / 3600), 0)


def test_a_study_with_further_pictures_of_a_type_is_priced_by_hand() -> None:
    """10 pictures of 4 items, 2 more pictures of a type with half as many items: 44 items in all.

    The audit had 5 pictures of 4 items: 5 + 2 pictures and 44 - 20 items are new.
    """
    full_study = StudyComponents(pictures=5, items=20, per_picture=4.0, respondents=2)
    kind = replace(full_study, items=10, per_picture=2.0)
    prices = UnitPrices(answer=0.1, verdict=0.01, picture=5.0, item=1.0, form=7.0)
    space = Space(full_study, {"t": kind}, (), prices, frozenset(), judged=True)
    sizes = dict.fromkeys(AXES, np.array([1.0])) | {
        "pictures": np.array([10.0]),
        "items": np.array([4.0]),
        "forms": np.array([3.0]),
        "askings": np.array([2.0]),
        "respondents": np.array([6.0]),
    }
    priced = space.price_studies(sizes, {"t": np.array([2.0])})
    assert priced.answers == pytest.approx([44 * 6 * 3])
    answers = 44 * 6 * 3 * (0.1 + 2 * 0.01)
    assert priced.cost == pytest.approx([answers + 5 * (5 + 2) + 1 * (44 - 20) + 7 * (3 - 1)])
