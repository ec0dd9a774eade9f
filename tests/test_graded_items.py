"""Items of graded, continuous and partly missing scores: what is computed of them, which run against
the others, and that the reason for a missing number is true.
"""

from __future__ import annotations

import csv
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hqm.indicators import Case, case, comparisons
from hqm.indicators.indicator import MEAN_OF_ITEMS
from hqm.psychometrics import cronbach_alpha, item_analysis
from hqm.psychometrics.items import reversed_scales
from hqm.psychometrics.items.reversed_scales import reversed_items
from hqm.scoring.matrix import ScoreMatrix, Units, unit_scores
from hqm.scoring.metrics import CHAIR, YES_NO, Metric, mean_of
from hqm.types import Form, Item
from tests.conftest import Run
from tests.indicator_answers import number
from tests.messages import tells
from tests.perf.graded_items import graded_study
from tests.test_flags import PROTOCOL, items, matrix

GRADE = Metric("grade", mean_of("grade"), scale=(1.0, 5.0))
PARTIAL = Metric("partial", mean_of("partial", "partial_n"), count="partial_n")
METRICS = (*YES_NO, *CHAIR, GRADE, PARTIAL, replace(GRADE, name="figures", group="figure"))


def tallied(seed: int, respondents: int, n_items: int, unscored: float) -> ScoreMatrix:
    """An administration of random answers that have a score of every metric."""
    rng = np.random.default_rng(seed)
    shape = (respondents, n_items)
    first = matrix(rng.integers(0, 2, shape), unscored=rng.random(shape) < unscored)
    outcome = rng.integers(0, 4, shape)
    mentioned = rng.integers(0, 4, shape).astype(float)
    hallucinated = np.floor(rng.random(shape) * (mentioned + 1))
    has_part = rng.random(shape) < 0.7
    tallies = {
        **{key: (outcome == k).astype(float) for k, key in enumerate(("tp", "fp", "tn", "fn"))},
        "mentioned": mentioned,
        "hallucinated": hallucinated,
        "captions_hallucinated": (hallucinated > 0).astype(float),
        "covered": rng.integers(0, 2, shape).astype(float),
        "present": rng.integers(1, 4, shape).astype(float),
        "words": rng.integers(5, 30, shape).astype(float),
        "n": np.ones(shape),
        "grade": rng.integers(1, 6, shape).astype(float),
        "partial": np.where(has_part, rng.random(shape), 0.0),
        "partial_n": has_part.astype(float),
    }
    return replace(
        first,
        tallies={key: np.where(first.scored, values, 0.0) for key, values in tallies.items()},
        groups={"figure": np.arange(n_items)},
    )


def item_means(units: Units, metric: Metric) -> np.ndarray:
    """(respondents,): the mean over all scored answers, NaN where one has no value of the metric."""
    scores = unit_scores(units, metric)
    missing = units.scored & ~np.isfinite(scores)
    means = [row[kept].mean() for row, kept in zip(scores, units.scored, strict=True)]
    return np.where(missing.any(axis=1), np.nan, means)


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 10_000),
    st.integers(2, 6),
    st.integers(4, 20).map(lambda half: 2 * half),
    st.sampled_from([0.0, 0.1]),
    st.sampled_from(METRICS),
)
def test_a_score_is_called_no_mean_of_item_scores_only_where_it_is_none(
    seed: int, respondents: int, n_items: int, unscored: float, metric: Metric
) -> None:
    first = tallied(seed, respondents, n_items, unscored)
    units = first.units(metric)
    if not units.scored.any(axis=1).all():
        return
    single_case = case("", "", (first,), metric, PROTOCOL)
    is_mean = np.allclose(first.score(metric), item_means(units, metric), rtol=0, atol=1e-9)
    absence = MEAN_OF_ITEMS.check(single_case)
    if metric.group:
        assert absence is not None
        assert "figure together" in absence.reason
        return
    assert (absence is None) == is_mean, absence
    if absence is None:
        return
    assert metric.name in absence.reason
    scores = unit_scores(units, metric)
    if tells(absence.reason, "metric.no-mean", metric=metric.name):
        assert not is_mean
    elif "needs several answers" in absence.reason:
        assert not np.isfinite(scores).any()
    else:
        assert (units.scored & ~np.isfinite(scores)).any()


@pytest.mark.parametrize(
    ("metric", "reason"),
    [
        (YES_NO[0], ""),
        (YES_NO[1], "looks at other items"),
        (YES_NO[3], "no mean of item scores"),
        (YES_NO[4], "needs several answers"),
        (CHAIR[0], "no mean of item scores"),
        (CHAIR[1], ""),
        (GRADE, ""),
        (PARTIAL, ""),
    ],
    ids=lambda value: value.name if isinstance(value, Metric) else "",
)
def test_what_a_metric_is_made_of_is_said(metric: Metric, reason: str) -> None:
    absence = MEAN_OF_ITEMS.check(case("", "", (tallied(0, 5, 40, 0.1),), metric, PROTOCOL))
    assert (absence is None) == (not reason)
    assert absence is None or reason in absence.reason


def graded_case(
    scores: np.ndarray, questions: list[Item] | None = None, metric: Metric = GRADE
) -> Case:
    """One administration of graded scores; NaN where there is none."""
    has_score = np.isfinite(scores)
    first = matrix(np.ones(scores.shape), of=questions, unscored=~has_score)
    tallies = {"grade": np.where(has_score, scores, 0.0), "n": has_score.astype(float)}
    first = replace(first, values=np.where(has_score, scores, np.nan), tallies=tallies)
    return case("", "", (first,), metric, PROTOCOL)


@pytest.mark.parametrize("world", ["normal", "continuous", "missing"])
def test_items_of_any_scores_are_analysed_as_the_functions_of_psychometrics_do(world: str) -> None:
    scores = graded_study(np.random.default_rng(3), 12, world=world)[0][0]
    graded = graded_case(scores)
    analysis = item_analysis(scores)
    discrimination = number(graded, "items.discrimination").coefficient
    assert discrimination.value == pytest.approx(float(np.nanmedian(analysis.item_rest)))
    alpha = number(graded, "consistency.alpha").coefficient
    expected = cronbach_alpha(scores, drop="answers").coefficient
    assert alpha.status == expected.status == "ok"
    assert alpha.value == pytest.approx(expected.value)
    for name in ("items.negative_items", "items.dead_items", "items.reading_list"):
        assert number(graded, name).coefficient.status in ("ok", "not_informative"), name


def test_every_estimate_of_a_graded_administration_has_a_number_or_a_true_reason() -> None:
    scores = graded_study(np.random.default_rng(4), 12)[0][0]
    graded = graded_case(scores, [replace(item, type="ocr") for item in items(100)])
    form = Form("original", graded.first.items)
    estimates = comparisons.describe(graded.first, GRADE, PROTOCOL, form, ())
    reasons = {estimate.indicator: estimate.reason for estimate in estimates if estimate.reason}
    assert not [name for name, reason in reasons.items() if "mean of item scores" in reason]
    assert "discriminability.headroom" not in reasons, "headroom is up to the end of the scale"


# --- reversed items ---


@pytest.fixture
def without_power(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is named does not depend on the power, whose trials take nine tenths of the time."""
    monkeypatch.setattr(reversed_scales, "_planted_power", lambda *_: (0.0, 0.0))


@pytest.mark.usefixtures("without_power")
@pytest.mark.parametrize(
    ("respondents", "runs", "least"), [(8, 2, 0.6), (10, 2, 0.7), (20, 1, 0.8)]
)
def test_reversed_items_are_found_and_sound_ones_left_alone(
    respondents: int, runs: int, least: float
) -> None:
    shown = named = n_sound = alarms = 0
    for seed in range(20):
        rng = np.random.default_rng([respondents, seed])
        scores, faults = graded_study(rng, respondents, reversed_count=10, runs=runs)
        listed = reversed_items(scores.mean(axis=0), rng=rng)
        names = {row.item for row in listed.named}
        shown += listed.stands_out
        named += len(names & set(faults.tolist()))
        n_sound += len(names - set(faults.tolist()))
        sound, _ = graded_study(rng, respondents, runs=runs)
        alarms += reversed_items(sound.mean(axis=0), rng=rng).stands_out
    assert shown >= 18
    assert named >= least * 200
    assert n_sound <= 0.1 * named
    assert alarms <= 1


@pytest.mark.usefixtures("without_power")
def test_alike_respondents_show_no_reversed_item() -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        scores, _ = graded_study(rng, 10, world="alike")
        assert not reversed_items(scores[0], rng=rng).named


def test_the_scale_of_the_scores_does_not_matter() -> None:
    scores, _ = graded_study(np.random.default_rng(6), 14, reversed_count=10)
    first, second = (
        reversed_items(x, rng=np.random.default_rng(0)) for x in (scores[0], 100 * scores[0] - 70)
    )
    assert [row.item for row in first.items] == [row.item for row in second.items]
    assert first.faults == pytest.approx(second.faults)


def test_a_type_in_which_strong_respondents_are_weak_is_no_list_of_reversed_items() -> None:
    rng = np.random.default_rng(6)
    ability = np.linspace(-1, 1, 10)
    signs = np.repeat([1.0, -1.0], [70, 30])
    scores = 3 + np.outer(ability, signs) + rng.normal(0, 0.7, (10, 100))
    groups = ["a"] * 70 + ["b"] * 30
    assert len(reversed_items(scores, rng=rng).named) > 20
    assert not reversed_items(scores, rng=rng, groups=groups).named


def test_items_of_types_on_one_scale_are_compared_with_those_of_all_types() -> None:
    for seed in range(5):
        scores, _ = graded_study(np.random.default_rng(seed), 10, reversed_count=10, runs=2)
        x = scores.mean(axis=0)
        groups = [f"type {item % 4}" for item in range(x.shape[1])]
        typed, whole = (
            reversed_items(x, rng=np.random.default_rng(0), groups=g) for g in (groups, None)
        )
        assert typed.evidence == pytest.approx(whole.evidence), seed
        assert [row.item for row in typed.items] == [row.item for row in whole.items], seed


@pytest.mark.parametrize(
    ("scores", "status"),
    [
        (np.zeros((4, 50)), "insufficient"),
        (np.zeros((9, 19)), "insufficient"),
        (np.full((9, 30), 3.0), "degenerate"),
        (np.full((9, 30), math.nan), "degenerate"),
    ],
)
def test_where_no_item_can_be_compared_there_is_no_list(scores: np.ndarray, status: str) -> None:
    assert reversed_items(scores, rng=np.random.default_rng(0)).status == status


# --- from the command line ---


def write_scores(path: Path, scores: np.ndarray) -> None:
    """A table with a row for each model, item and run."""
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["model", "item", "run", "score"])
        for run, model, item in np.ndindex(scores.shape):
            if np.isfinite(scores[run, model, item]):
                rows.writerow([f"m{model}", f"q{item:03}", run, scores[run, model, item]])


def test_a_table_with_ten_reversed_items_names_them_and_is_not_green(
    tmp_path: Path, run: Run
) -> None:
    scores, faults = graded_study(np.random.default_rng(2), 8, reversed_count=10, runs=2)
    write_scores(tmp_path / "reversed.csv", scores)
    status, output, err = run("audit", tmp_path / "reversed.csv", "--out", tmp_path / "out")
    assert status == 0, err
    assert "Not ready: ten possibly reversed items" in output
    audit = json.loads((tmp_path / "out" / "audit.json").read_text())["audits"][0]
    first = [row["item"] for row in audit["to_read"][:12]]
    assert {row["why"] for row in audit["to_read"]} == {"reversed"}
    assert {f"q{item:03}" for item in faults} <= set(first)
    assert all(f"q{item:03}" in output for item in faults), output
    estimates = {e["indicator"]: e for e in audit["estimates"]}
    for name in ("consistency.alpha", "generalizability.g", "items.discrimination"):
        assert estimates[name]["status"] == "ok"
    page = (tmp_path / "out" / "report.html").read_text()
    assert "score below its mean" in page
    assert "otherwise than the key" not in page


def test_a_sound_table_of_grades_has_nothing_to_mend(tmp_path: Path, run: Run) -> None:
    scores, _ = graded_study(np.random.default_rng(2), 10, world="missing", runs=2)
    write_scores(tmp_path / "sound.csv", scores)
    status, output, err = run("audit", tmp_path / "sound.csv", "--out", tmp_path / "out")
    assert status == 0, err
    assert "against the scale" not in output
    assert "no mean of item scores" not in output


@pytest.mark.parametrize("reversed_count", [0, 20])
def test_a_table_of_scores_without_keys_is_not_searched_for_keys(
    tmp_path: Path, run: Run, reversed_count: int
) -> None:
    rng = np.random.default_rng([9, reversed_count])
    ability = np.linspace(-0.5, 2.5, 10)[:, None]
    scores = (rng.normal(ability, 1.0, (2, 10, 200)) > 0).astype(float)
    faults = rng.choice(200, reversed_count, replace=False)
    scores[:, :, faults] = 1 - scores[:, :, faults]
    write_scores(tmp_path / "table.csv", scores)
    status, output, err = run("audit", tmp_path / "table.csv", "--out", tmp_path / "out")
    assert status == 0, err
    page = output.partition(" items · ")[2]
    assert "key" not in page.replace("there are no keys", ""), page
    assert ("items to check" in page) == bool(reversed_count), page
