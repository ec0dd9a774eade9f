"""HQM's own study with people: 100 items, the answers of all respondents, ten raters of known
error; the table recovers what is known, within its intervals.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hqm_label.label_store import Label, LabelStore
from hqm_label.study import Study, compare_people
from hqm_label.study_plan import labels_path, read_plan

import hqm
from tests.conftest import Run
from tests.label_studies import store_of_answers
from tests.messages import tells

RATERS = tuple("abcdefghij")
ERRORS = dict(zip(RATERS, np.linspace(0.03, 0.21, 10).tolist(), strict=True))
ABILITIES = np.linspace(0.35, 0.9, 10)


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[tuple[str, str], int]]:
    """Ten respondents' answers to 300 questions of the embedded benchmark, and which are right.

    Some questions are harder than others. Of the wrong answers a seventh names the right one too,
    which the benchmark's rule takes for right; the first respondent's wrong answers it cannot read.
    """
    rng = np.random.default_rng(11)
    benchmark = hqm.load("shapes_vqa")
    items = benchmark.original.items[:300]
    hard = rng.normal(0, 1, len(items))
    truth: dict[tuple[str, str], int] = {}
    texts: dict[str, dict[str, str]] = {}
    for i, ability in enumerate(ABILITIES):
        name = f"model-{i}"
        chance = 1 / (1 + np.exp(-(np.log(ability / (1 - ability)) - hard)))
        for item, p in zip(items, chance, strict=True):
            target = str(item.target[0] if isinstance(item.target, list) else item.target)
            right = bool(rng.random() < p)
            fooled = not right and rng.random() < 1 / 7
            wrong = next(
                str(item_of_type.target)
                for item_of_type in items[rng.integers(0, 200) :]
                if item_of_type.type == item.type
                and str(item_of_type.target) not in (target, str(item.target))
            )
            answer = target if right or fooled else wrong if i else "a purple whale"
            texts.setdefault(name, {})[item.id] = answer
            truth[name, item.id] = int(right)
    path = tmp_path_factory.mktemp("protocol") / "store.sqlite"
    return store_of_answers(path, benchmark, texts), truth


def label_all(plan: Path, truth: dict[tuple[str, str], int], rng: Any) -> None:
    """Ten raters err at their own rates: twice as often about half of the pictures, and half again
    as often where the answer is wrong, which is no model of any estimator here.
    """
    rows = read_plan(plan).rows
    tired = {row.item: 4 / 3 if rng.random() < 0.5 else 2 / 3 for row in rows}
    right = np.mean([truth[_short(row.respondent), row.item] for row in rows])
    scale = 1 / (right + 1.5 * (1 - right))
    labels = []
    for row in rows:
        true = truth[_short(row.respondent), row.item]
        for rater in row.raters:
            p = ERRORS[rater] * tired[row.item] * scale * (1 if true else 1.5)
            given = int(true ^ (rng.random() < p))
            entry = Label(
                uid=row.uid, rater=rater, values={"label": given}, milliseconds=2000, time=0.0
            )
            labels.append(entry)
    with LabelStore(labels_path(plan)) as store:
        store.add_all(labels)


def _short(respondent: str) -> str:
    return respondent.rpartition("/")[2]


def test_the_table_recovers_what_is_known_within_its_intervals(
    answers: tuple[Path, dict[tuple[str, str], int]], tmp_path: Path, run: Run
) -> None:
    store, truth = answers
    plan = tmp_path / "plan.jsonl"
    command = ["label", "plan", "shapes_vqa", "--store", store, "--design", "hqm"]
    status, output, err = run(*command, "--raters", ",".join(RATERS), "--seed", 4, "--out", plan)
    assert status == 0, err
    rows = read_plan(plan).rows
    assert len(rows) == 1000
    assert len({row.item for row in rows}) == 100
    assert all(row.raters == RATERS for row in rows)
    assert tells(output, "label.by-all", rows="1,000")
    label_all(plan, truth, np.random.default_rng(5))
    status, output, _ = run("label", "status", plan, "--json")
    comparison = json.loads(output)["people_beside"]
    raters, respondents = comparison["raters"], comparison["respondents"]
    assert len(raters) == 10
    covered = [rater["low"] <= ERRORS[rater["name"]] <= rater["high"] for rater in raters]
    assert sum(covered) >= 8, "of ten intervals of 95%, eight or more but once in 87 times"
    assert all(rater["high"] - rater["low"] < 0.1 for rater in raters)
    true_means = {
        name: np.mean([right for (respondent, _), right in truth.items() if respondent == name])
        for name in {respondent for respondent, _ in truth}
    }
    true_scores = np.array([true_means[_short(row["name"])] for row in respondents])
    covered_scores = [
        row["low"] <= k <= row["high"] for row, k in zip(respondents, true_scores, strict=True)
    ]
    assert sum(covered_scores) >= 8
    score = np.array([row["score"] for row in respondents], dtype=float)
    assert np.isfinite(score).all()
    spread = comparison["correlation"]
    assert spread["low"] <= np.corrcoef(score, true_scores)[0, 1] <= spread["high"] + 0.02
    status, output, err = run("label", "status", plan, "--to", tmp_path / "table.tex")
    assert status == 0, err
    assert tells(output, "label.people-beside")
    assert tells(output, "label.rater-errors")
    table = (tmp_path / "table.tex").read_text("utf-8")
    assert table.count("recorded") == 10
    assert r"\label{tab:people-beside-the-benchmark}" in table, "no two tables share a label"


def test_a_study_of_two_raters_names_no_errors_and_an_empty_one_has_no_table(
    answers: tuple[Path, dict[tuple[str, str], int]], tmp_path: Path, run: Run
) -> None:
    store, truth = answers
    plan = tmp_path / "plan.jsonl"
    command = ["label", "plan", "shapes_vqa", "--store", store, "--design", "hqm", "--labels", 50]
    assert run(*command, "--raters", "a,b", "--out", plan)[0] == 0
    assert len(read_plan(plan).rows) == 50
    status, _, err = run("label", "status", plan, "--to", tmp_path / "table.tex")
    assert status != 0
    assert tells(err, "label.none-yet")
    label_all(plan, truth, np.random.default_rng(6))
    study = Study(plan, readonly=True)
    comparison = compare_people(study)
    study.close()
    assert comparison is not None
    assert comparison.raters == ()
    assert len(comparison.respondents) == 10
