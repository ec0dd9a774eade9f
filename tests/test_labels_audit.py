"""Labels in an audit: their key, their probabilities, their raters, and what they allow to be
said.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hqm_label.answer_sampling import (
    active_probabilities,
    errors_from_disagreement,
    systematic_sample,
)
from hqm_label.study_plan import (
    Candidate,
    LabelPlan,
    draw_rows,
    estimate_errors,
    forecast,
    read_plan,
    selection_probabilities,
)
from statsmodels.stats.contingency_tables import StratifiedTable
from typer.testing import CliRunner

import hqm
import hqm.psychometrics as psy
from hqm.cli import program
from hqm.errors import AnswerError, HQMError, UsageError
from hqm.imports.human_labels import COLUMNS, LabelContext
from hqm.labels.people_labels import Labels, pool_labels
from hqm.signature import digest_file
from hqm.store.database import Store
from hqm.types import Judgement
from tests.conftest import Run
from tests.messages import tells, text_of
from tests.perf import labels as simulated

NAMES = [f"m{i}" for i in range(5)]


@dataclass(frozen=True)
class Study:
    """A store of answers to a small benchmark, and what is true of each answer."""

    folder: Path
    truth: dict[tuple[str, str], int]

    @property
    def quiz(self) -> str:
        return str(self.folder / "quiz")

    @property
    def store(self) -> str:
        return str(self.folder / "store.sqlite")


def run(*arguments: object) -> str:
    """What a command prints; its error is raised."""
    outcome = CliRunner().invoke(
        program(), [str(argument) for argument in arguments], catch_exceptions=False
    )
    return outcome.stdout


def failing(*arguments: object) -> str:
    outcome = CliRunner().invoke(program(), [str(argument) for argument in arguments])
    assert isinstance(outcome.exception, HQMError), outcome.output
    return str(outcome.exception)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    folder = tmp_path_factory.mktemp("labels")
    quiz = folder / "quiz"
    quiz.mkdir()
    (quiz / "card.toml").write_text(
        'name = "quiz"\ntitle = "Quiz"\nversion = "1"\ntask = "yes_no"\nsummary = "A'
        ' quiz."\n[data]\nitems = "items.jsonl"\n'
    )
    items = [
        {
            "id": f"q{i:03d}",
            "prompt": f"Is there a thing {i}?",
            "target": "yes",
            "cluster": f"p{i // 2}",
        }
        for i in range(120)
    ]
    (quiz / "items.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in items))
    rng = np.random.default_rng(3)
    truth, rows = {}, []
    for m, name in enumerate(NAMES):
        for _i, item in enumerate(items):
            good = int(rng.random() < 0.45 + 0.1 * m)
            truth[name, str(item["id"])] = good
            for run_index in (0, 1):
                scored = good if rng.random() > 0.1 else 1 - good
                rows.append(
                    {
                        "item": item["id"],
                        "respondent": name,
                        "run": run_index,
                        "answer": "yes" if scored else "no",
                    }
                )
    (folder / "answers.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    run(
        "audit",
        "--no-report",
        quiz,
        "--recorded",
        folder / "answers.jsonl",
        "--forms",
        "original",
        "--store",
        folder / "store.sqlite",
        "-q",
    )
    return Study(folder, truth)


def planned(study: Study, name: str, *options: object) -> tuple[LabelPlan, Path]:
    path = study.folder / name / "plan.jsonl"
    run("label", "plan", study.quiz, "--store", study.store, "--out", path, *options)
    return read_plan(path), path


def short(respondent: str) -> str:
    return respondent.rpartition("/")[2]


def label_file(
    study: Study, plan: LabelPlan, path: Path, error: float = 0.0, **changes: Any
) -> Path:
    """What the plan's raters would say, as `hqm label export` writes it."""
    rng = np.random.default_rng(0)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        names = [
            "item",
            "respondent",
            "form",
            "run",
            "answer_digest",
            "rater",
            "label",
            "probability",
            "schema",
            "seconds",
        ]
        writer.writerow(names)
        for row in plan.rows:
            for rater in row.raters:
                truth = study.truth[short(row.respondent), row.item]
                cells = {
                    "item": row.item,
                    "respondent": row.respondent,
                    "form": row.form,
                    "run": row.run,
                    "rater": rater,
                    "answer_digest": row.answer_digest,
                    "label": 1 - truth if rng.random() < error else truth,
                    "probability": row.probability,
                    "schema": "binary",
                    "seconds": 3,
                    **changes,
                }
                writer.writerow([cells[name] for name in names])
    return path


def audited(study: Study, labels: Path, *options: object) -> dict[str, dict[str, Any]]:
    """The estimates of the criterion by their names."""
    out_dir = labels.parent / f"{labels.stem}_out"
    run(
        "audit",
        study.quiz,
        "--offline",
        "--store",
        study.store,
        "--criterion",
        labels,
        "--metric",
        "accuracy",
        "--out",
        out_dir,
        *options,
    )
    (audit,) = json.loads((out_dir / "audit.json").read_text())["audits"]
    listed = [e for e in audit["estimates"] if e["indicator"].startswith("criterion.")]
    return {e["indicator"].removeprefix("criterion."): e for e in listed}


# --- plans ---


def test_a_uniform_plan_has_as_many_answers_of_every_respondent_and_spreads_them_over_pictures(
    study: Study,
) -> None:
    plan, path = planned(
        study, "uniform", "--labels", 100, "--raters", "a,b,c", "--overlap", 0.2, "--seed", 4
    )
    assert len(plan.rows) == 100
    assert [row.probability for row in plan.rows] == pytest.approx([100 / 600] * 100)
    assert [
        sum(row.stratum == name for row in plan.rows)
        for name in sorted({r.respondent for r in plan.rows})
    ] == [20] * 5
    for name in {row.respondent for row in plan.rows}:
        pictures = [int(row.item[1:]) // 2 for row in plan.rows if row.respondent == name]
        assert len(set(pictures)) == 20  # 60 pictures of two answers each: none is drawn twice
    assert sum(len(row.raters) == 3 for row in plan.rows) == 20
    assert max(len(plan.rows_of(r)) for r in "abc") - min(len(plan.rows_of(r)) for r in "abc") <= 1
    assert len({row.uid for row in plan.rows}) == 100
    redrawn, _ = planned(
        study, "uniform2", "--labels", 100, "--raters", "a,b,c", "--overlap", 0.2, "--seed", 4
    )
    assert redrawn.rows == plan.rows
    other_seed, _ = planned(
        study, "uniform3", "--labels", 100, "--raters", "a,b,c", "--overlap", 0.2, "--seed", 5
    )
    assert {(r.item, r.respondent) for r in other_seed.rows} != {
        (r.item, r.respondent) for r in plan.rows
    }
    plan_json = json.loads(
        run(
            "label",
            "plan",
            study.quiz,
            "--store",
            study.store,
            "--width",
            0.2,
            "--out",
            path.parent / "w.jsonl",
            "--json",
        )
    )
    assert plan_json["labels"] == pytest.approx(plan_json["labels_needed"], abs=1)
    assert plan_json["expected_width"] == pytest.approx(0.2, rel=0.02)


def test_same_items_takes_the_answers_of_all_respondents(study: Study) -> None:
    plan, _ = planned(study, "same", "--labels", 100, "--design", "same-items")
    items = {row.item for row in plan.rows}
    assert (len(items), len(plan.rows)) == (20, 100)
    assert [row.probability for row in plan.rows] == pytest.approx([20 / 120] * 100)


def test_an_active_plan_follows_the_disagreement_of_runs(study: Study) -> None:
    plan, _ = planned(study, "active", "--labels", 120, "--design", "active")
    assert plan.errors_from == "disagreement of runs"
    assert plan.tau == 0.8
    chances_drawn = sorted({round(row.probability or 0, 9) for row in plan.rows})
    assert len(chances_drawn) == 2
    assert chances_drawn[1] > 2 * chances_drawn[0]
    assert "tau is 0.9" in failing(
        "label",
        "plan",
        study.quiz,
        "--store",
        study.store,
        "--labels",
        9,
        "--design",
        "active",
        "--tau",
        0.9,
    )


def test_gold_answers_are_mixed_in_and_carry_no_probability(study: Study) -> None:
    gold = study.folder / "gold.csv"
    gold.write_text("item,respondent,label\nq000,m0,1\nq001,m1,0\n")
    plan, _ = planned(study, "gold", "--labels", 10, "--raters", "a,b", "--gold", gold)
    marked = [row for row in plan.rows if row.gold is not None]
    assert {(short(row.respondent), row.item): row.gold for row in marked} == {
        ("m0", "q000"): 1.0,
        ("m1", "q001"): 0.0,
    }
    assert all(row.raters == ("a", "b") for row in marked)
    assert sum(row.probability is None for row in plan.rows) == len(plan.rows) - 10
    estimates = audited(study, label_file(study, plan, study.folder / "gold_labels.csv"))
    assert estimates["prediction_powered"]["detail"]["labels"] == [
        2,
        2,
        2,
        2,
        2,
    ]  # the gold ones are not counted


def test_plans_that_cannot_be_meant_are_refused(study: Study) -> None:
    begin = (
        "label",
        "plan",
        study.quiz,
        "--store",
        study.store,
        "--out",
        study.folder / "no.jsonl",
    )
    assert tells(failing(*begin, "--labels", 601), "labels.too-many", labels=601, answers=600)
    assert "named twice" in failing(*begin, "--labels", 5, "--raters", "a,a")
    assert "no design 'best'" in failing(*begin, "--labels", 5, "--design", "best")
    assert "number of labels is missing" in failing(*begin)
    assert "no number of labels" in failing(*begin, "--width", 0.0001)
    assert not (study.folder / "no.jsonl").exists()


def test_active_probabilities_are_those_of_the_paper() -> None:
    q = np.array([0.5, 0.1, 0.02, 0.0])
    u = np.sqrt(q * (1 - q))
    expected = 1.2 * (0.8 * u / u.sum() + 0.2 / 4)
    assert active_probabilities(q, 1.2) == pytest.approx(expected)
    capped = active_probabilities(q, 3)
    assert capped.max() == 1
    assert capped.sum() == pytest.approx(3)
    with pytest.raises(ValueError, match="tau"):
        active_probabilities(q, 1, 0.81)


def test_a_systematic_sample_has_its_probabilities_and_its_size() -> None:
    rng = np.random.default_rng(1)
    p = active_probabilities(rng.uniform(0, 0.5, 60), 12)
    draws = np.array(
        [
            systematic_sample(p[order], rng)[np.argsort(order)]
            for order in (rng.permutation(60) for _ in range(3000))
        ]
    )
    assert set(draws.sum(axis=1)) == {12}
    assert np.abs(draws.mean(axis=0) - p).max() < 5 * np.sqrt(0.25 / 3000)


def test_errors_from_disagreement_are_those_of_independent_verdicts() -> None:
    """With two verdicts that err with .1 each, .18 of the pairs differ; of those that agree, .01 /
    .82 are wrong.
    """
    differing = np.r_[np.ones(18), np.zeros(82)]
    q = errors_from_disagreement(differing, np.ones(100))
    assert q[0] == pytest.approx(0.5)
    assert q[-1] == pytest.approx(0.01 / 0.82)


# --- raters ---


def test_dawid_and_skene_finds_the_raters_of_the_simulation() -> None:
    rng = np.random.default_rng(0)
    truth = (rng.random(4000) < 0.7).astype(float)
    sensitivity, specificity = np.array([0.95, 0.9, 0.75]), np.array([0.9, 0.8, 0.85])
    right = np.where(truth == 1, sensitivity[:, None], specificity[:, None])
    labels = np.where(rng.random(right.shape) < right, truth, 1 - truth)
    labels[2, :1000] = np.nan
    study = psy.dawid_skene(labels)
    assert study.sensitivity == pytest.approx(sensitivity, abs=0.03)
    assert study.specificity == pytest.approx(specificity, abs=0.04)
    assert study.prevalence == pytest.approx(0.7, abs=0.03)
    is_correct = (study.truth > 0.5) == truth
    assert is_correct.mean() > (psy.pooled_labels(labels, "majority") == truth).mean()


def test_pooling_counts_what_stays_unresolved() -> None:
    def judgement(item: str, rater: str, label: float | None) -> list[Judgement]:
        return [Judgement("human", item, "m", label), Judgement(f"human:{rater}", item, "m", label)]

    judgements = [
        ("1", "a", 1.0),
        ("1", "b", 0.0),
        ("2", "a", 1.0),
        ("2", "b", 1.0),
        ("3", "a", 0.0),
        ("3", "b", 1.0),
    ]
    rows = [Judgement("human", item, "m", None) for item in "123"]
    rows += [Judgement(f"human:{rater}", item, "m", label) for item, rater, label in judgements]
    majority = pool_labels(Labels(tuple(rows)), "human")
    assert [j.label for j in majority.judgements] == [None, 1.0, None]
    assert majority.unresolved == 2
    assert [j.label for j in pool_labels(Labels(tuple(rows)), "human", "mean").judgements] == [
        0.5,
        1.0,
        0.5,
    ]
    with pytest.raises(UsageError, match="nobody adjudicated"):
        pool_labels(Labels(tuple(rows)), "human", "adjudicated")
    settled = Labels((*rows, Judgement("human:adjudication", "1", "m", 0.0)))
    pooled = pool_labels(settled, "human", "adjudicated")
    assert [j.label for j in pooled.judgements] == [0.0, 1.0, None]
    assert (pooled.unresolved, pooled.adjudicated, len(pooled.raters)) == (1, 1, 2)
    assert judgement("1", "a", None)[0].label is None


def test_the_test_of_randomness_is_mantel_and_haenszel(study: Study) -> None:
    """Its numerator is that of `statsmodels`; without pictures its p-value is nearly theirs."""
    rng = np.random.default_rng(2)
    scores = (rng.random((4, 300)) < 0.6).astype(float)
    marked = rng.random(scores.shape) < np.where(scores == 0, 0.25, 0.18)
    # each answer is about a picture of its own, as the textbook's test supposes
    wide = np.full((4, 1200), np.nan)
    labels = np.full((4, 1200), np.nan)
    for r in range(4):
        wide[r, r * 300 : (r + 1) * 300] = scores[r]
        labels[r, r * 300 : (r + 1) * 300] = np.where(marked[r], 1.0, np.nan)
    tables = [
        np.array(
            [
                [(a & (s == 1)).sum(), (a & (s == 0)).sum()],
                [(~a & (s == 1)).sum(), (~a & (s == 0)).sum()],
            ]
        )
        for a, s in zip(marked, scores, strict=True)
    ]
    theirs = StratifiedTable(tables).test_null_odds(correction=False)
    ours = psy.labels_at_random(wide, labels)
    assert ours.z**2 == pytest.approx(theirs.statistic, rel=0.1)
    assert ours.p == pytest.approx(theirs.pvalue, rel=0.25)


# --- audits ---


@pytest.fixture(scope="module")
def three(study: Study) -> Iterator[tuple[LabelPlan, Path, dict[str, dict[str, Any]]]]:
    plan, _ = planned(study, "three", "--labels", 250, "--raters", "a,b,c", "--overlap", 1)
    path = label_file(study, plan, study.folder / "three.csv", error=0.08)
    return plan, path, audited(study, path, "--set", "levels=answer,item")


def test_labels_of_a_plan_give_every_statistic_an_interval(
    study: Study, three: tuple[LabelPlan, Path, dict[str, dict[str, Any]]]
) -> None:
    _plan, _, estimates = three
    for name in (
        "kappa",
        "sensitivity",
        "specificity",
        "accuracy",
        "prediction_powered",
        "human_agreement",
        "answers_pearson",
        "answers_spearman",
        "answers_tau_b",
        "items_pearson",
    ):
        assert estimates[name]["status"] == "ok", (name, estimates[name]["reason"])
        assert estimates[name]["intervals"], name
    assert estimates["pearson"]["status"] == "ok"
    assert not estimates["pearson"]["intervals"], "five respondents say nothing of others"
    assert "raters' errors" in estimates["kappa"]["methods"]["fixed_models"]
    corrected = estimates["prediction_powered"]
    low, high = corrected["intervals"]["fixed_models"]
    assert low < np.mean(list(study.truth.values())) < high
    assert corrected["detail"]["labels"] == [50] * 5
    assert estimates["disattenuated"]["detail"]["paired"] == 250  # every respondent has other items
    assert (
        "labels_at_random" not in estimates
        or estimates["labels_at_random"]["status"] == "not_applicable"
    )
    n_answers = estimates["answers_pearson"]["detail"]["answers"]
    assert n_answers == 250


def test_python_and_compare_take_the_pool_the_stale_labels_and_the_levels(
    study: Study, three: tuple[LabelPlan, Path, dict[str, dict[str, Any]]]
) -> None:
    """`hqm.audit` gives the numbers of `hqm audit`, and `hqm compare` pools as it is told."""
    _plan, path, estimates = three
    settings: dict[str, Any] = {"store": study.store, "criterion": path, "metrics": "accuracy"}
    audit = hqm.audit(study.quiz, **settings, levels=("answer", "item"))
    by_name = {
        e.indicator.removeprefix("criterion."): e
        for e in audit.all_estimates
        if e.indicator.startswith("criterion.")
    }
    assert by_name.keys() == estimates.keys()
    for name in ("pearson", "answers_pearson", "items_tau_b", "kappa"):
        assert by_name[name].value == pytest.approx(estimates[name]["value"], rel=1e-12)
    mean = hqm.audit(study.quiz, **settings, pool="mean")
    (count,) = [e for e in mean.all_estimates if e.indicator == "criterion.labelled_answers"]
    assert count.detail["pool"] == "mean"
    with pytest.raises(UsageError, match="the setting pool has no value 'vote'"):
        hqm.audit(study.quiz, **settings, pool="vote")  # type: ignore[arg-type]
    out_dir = study.folder / "compared"
    begin = (
        "compare",
        study.quiz,
        "--store",
        study.store,
        "--metric",
        "accuracy",
        "--metric",
        "f1",
        "--criterion",
        path,
    )
    compared = {}
    for pool in ("majority", "mean"):
        run(
            *begin,
            "--set",
            f"pool={pool}",
            "--set",
            "levels=answer",
            "--to",
            out_dir / f"{pool}.json",
        )
        compared[pool] = json.loads((out_dir / f"{pool}.json").read_text())
    values = {
        pool: comparison["indicators"]["criterion.pearson"]["accuracy"]["value"]
        for pool, comparison in compared.items()
    }
    assert values["majority"] == pytest.approx(estimates["pearson"]["value"], rel=1e-12)
    assert values["mean"] != values["majority"]
    with path.open() as file:
        rows = list(csv.reader(file))
    column = rows[0].index("answer_digest")
    rows[1][column] = "b2:0"
    stale = study.folder / "stale_compared.csv"
    stale.write_text("".join(f"{','.join(row)}\n" for row in rows))
    assert "is about another answer" in failing(*begin[:-1], stale, "--to", out_dir / "no.json")
    run(*begin[:-1], stale, "--set", "stale=keep", "--to", out_dir / "kept.json")
    with_stale = hqm.audit(
        study.quiz, store=study.store, criterion=stale, stale="keep", metrics="accuracy"
    )
    assert any("STALE_LABELS" in e.flags for e in with_stale.all_estimates)
    audit_file = study.folder / "three_out" / "audit.json"
    assert "--pool needs the answers" in failing(
        "compare", audit_file, audit_file, "--set", "pool=mean"
    )


def test_hajek_weights_are_those_of_a_hand_calculation(study: Study) -> None:
    plan, _ = planned(study, "hand", "--labels", 120, "--design", "active")
    path = label_file(study, plan, study.folder / "hand.csv")
    estimates = audited(study, path)
    answers = [
        json.loads(line) for line in (study.folder / "answers.jsonl").read_text().splitlines()
    ]
    score = {
        (a["respondent"], a["item"]): float(a["answer"] == "yes") for a in answers if a["run"] == 0
    }
    cells = [(short(r.respondent), r.item, 1 / float(r.probability or 0)) for r in plan.rows]
    weight = sum(w for *_, w in cells)
    alike = sum(w for name, item, w in cells if score[name, item] == study.truth[name, item])
    assert estimates["accuracy"]["value"] == pytest.approx(alike / weight)
    positive = [(w, score[name, item]) for name, item, w in cells if study.truth[name, item]]
    assert estimates["sensitivity"]["value"] == pytest.approx(
        sum(w * s for w, s in positive) / sum(w for w, _ in positive)
    )
    human = [
        sum(w * study.truth[name, item] for name, item, w in cells if name == respondent)
        / sum(w for name, _, w in cells if name == respondent)
        for respondent in NAMES
    ]
    mean_scores = [
        np.mean([score[respondent, f"q{i:03d}"] for i in range(120)]) for respondent in NAMES
    ]
    assert estimates["pearson"]["value"] == pytest.approx(np.corrcoef(mean_scores, human)[0, 1])


def test_a_label_about_other_words_is_refused_or_kept_with_a_flag(
    study: Study, three: tuple[LabelPlan, Path, dict[str, dict[str, Any]]]
) -> None:
    plan, _, _ = three
    stale = label_file(
        study,
        replace(plan, rows=(replace(plan.rows[0], answer_digest="b2:0"), *plan.rows[1:])),
        study.folder / "stale.csv",
    )
    begin = (
        "audit",
        study.quiz,
        "--offline",
        "--store",
        study.store,
        "--criterion",
        stale,
        "--out",
        study.folder / "x",
    )
    message = failing(*begin)
    assert plan.rows[0].item in message
    assert "stale=keep" in message
    with Store(study.store) as store:
        assert not [j for j, _, _ in store.judged("quiz") if digest_file(stale) in j], (
            "what is refused is not stored"
        )
    assert (
        "STALE_LABELS"
        in audited(study, stale, "--set", "stale=keep")["prediction_powered"]["flags"]
    )
    assert "the setting stale has no value 'yes'" in failing(*begin, "--set", "stale=yes")
    second_plan, _ = planned(study, "after_stale", "--labels", 20)
    assert len(second_plan.rows) == 20, "a plan draws answers, whatever earlier labels were about"


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("probabilty", "0.5", "no column 'probabilty'"),
        ("probability", "1.5", "probability is '1.5'"),
        ("run", "x", "run is 'x'"),
        ("rater", "\nq001,m0,1,anna", text_of("labels.rater-empty")),
    ],
)
def test_a_file_of_labels_that_cannot_be_meant_is_refused(
    study: Study, column: str, value: str, message: str
) -> None:
    path = study.folder / "bad.csv"
    path.write_text(f"item,respondent,label,{column}\nq000,m0,1,{value}\n")
    refusal = failing(
        "audit",
        study.quiz,
        "--offline",
        "--store",
        study.store,
        "--criterion",
        path,
        "--out",
        study.folder / "x",
    )
    assert message in refusal
    # a column is a matter of the file
    location = "bad.csv: labels" if column not in COLUMNS else "bad.csv: record 1"
    assert location in refusal


def test_labels_of_wrong_answers_without_probabilities_correct_nothing(study: Study) -> None:
    rng = np.random.default_rng(5)
    answers = [
        json.loads(line) for line in (study.folder / "answers.jsonl").read_text().splitlines()
    ]
    path = study.folder / "wrong.csv"
    rows = [
        f"{a['item']},{a['respondent']},{study.truth[a['respondent'], a['item']]}"
        for a in answers
        if a["run"] == 0 and rng.random() < (0.6 if a["answer"] == "no" else 0.15)
    ]
    path.write_text("\n".join(["item,respondent,label", *rows]))
    estimates = audited(study, path)
    for name in ("prediction_powered", "rogan_gladen"):
        assert (estimates[name]["value"], estimates[name]["status"]) == (None, "not_applicable")
        assert "LABELS_NOT_RANDOM" in estimates[name]["flags"]
        assert "by_respondent" not in estimates[name]["detail"]
    assert estimates["labels_at_random"]["value"] < 0.01
    page = (study.folder / "wrong_out" / "evidence.html").read_text()
    assert "LABELS_NOT_RANDOM" in page or "no random sample" in page


def test_labels_of_all_answers_have_no_test_of_randomness(study: Study) -> None:
    path = study.folder / "all.csv"
    path.write_text(
        "\n".join(
            [
                "item,respondent,label",
                *(f"{item},{name},{good}" for (name, item), good in study.truth.items()),
            ]
        )
    )
    estimates = audited(study, path)
    assert estimates["labels_at_random"]["status"] == "not_applicable"
    assert estimates["prediction_powered"]["status"] == "ok"


# --- coverage, small ---


def test_three_raters_with_errors_keep_the_truth_in_the_intervals() -> None:
    simulation = simulated.three_raters(4, items=400)
    assert simulation.coverage >= 0.9
    assert simulation.exist


def test_oversampled_wrong_answers_are_weighted_back_or_refused() -> None:
    simulation = simulated.oversampled(4, items=400)
    assert simulation.coverage >= 0.85
    assert simulation.flagged == 1.0
    assert simulation.plain < simulation.coverage


def test_active_sampling_has_the_smaller_error() -> None:
    simulation = simulated.active(40)
    assert simulation.rmse_ratio < 1.0
    assert simulation.active.listed_items >= 0.85
    # over 3,000 replicates it is .945 (docs/people_numbers.md); four standard errors of a share
    # over 40 are .145
    assert simulation.active.all_items >= 0.8


def test_what_is_known_of_errors_comes_from_the_first_source() -> None:
    world = simulated.world(np.random.default_rng(0), 4, 40)
    first = world.matrix
    rerun = replace(
        first,
        cell=replace(first.cell, run=1),
        values=np.where(np.arange(40) == 3, 1 - first.values, first.values),
    )
    judge = replace(
        first,
        cell=replace(first.cell, judge="other"),
        values=np.where(np.arange(40) == 5, 1 - first.values, first.values),
    )
    matrices = {m.cell: m for m in (first, rerun, judge)}
    of_judges = estimate_errors(matrices, first.cell)
    assert of_judges.name == "disagreement of rule and judge"
    assert of_judges.errors[:, 5].min() > of_judges.errors[:, 3].max()
    del matrices[judge.cell]
    assert estimate_errors(matrices, first.cell).name == "disagreement of runs"
    assert estimate_errors({first.cell: first}, first.cell).name == ""
    soft = replace(
        first, cell=replace(first.cell, judge="other"), values=np.full(first.values.shape, 0.7)
    )
    assert estimate_errors({soft.cell: soft}, soft.cell).name == "the judge's probabilities"
    with pytest.raises(HQMError, match="which scores are doubtful"):
        selection_probabilities(
            [Candidate(item="1", respondent="m", cluster="1", digest="", score=1.0)],
            "active",
            1,
            0.8,
        )


def test_the_forecast_is_met() -> None:
    for design, tau in (("uniform", 0.0), ("active", 0.8)):
        assert simulated.widths(6, design, 300, tau).share_within >= 0.6, design  # type: ignore[arg-type]
    world = simulated.world(np.random.default_rng(0), 5, 80)
    candidates = world.candidates()
    assert forecast(candidates, "uniform", 50).width > forecast(candidates, "uniform", 200).width
    rows = draw_rows(candidates, simulated.plan("uniform"), 50, np.random.default_rng(0))
    assert isinstance(rows, Sequence)
    assert len(rows) == 50
    assert issubclass(AnswerError, HQMError)


def test_labels_without_a_probability_are_counted_only_among_labels_that_have_one() -> None:
    """Four answers; two were drawn with a probability, two are gold items without one."""
    half = LabelContext(probability=0.5).to_reply()
    sampled = tuple(Judgement("human", item, "m", 1.0, half) for item in "12")
    gold = tuple(Judgement("human", item, "m", 0.0) for item in "345")
    pooled = pool_labels(Labels(sampled + gold), "human")
    assert (pooled.added, pooled.probabilities) == (3, {("m", "1"): 0.5, ("m", "2"): 0.5})
    assert pool_labels(Labels(sampled), "human").added == 0
    assert pool_labels(Labels(gold), "human").added == 0, "no label says how it was drawn"


@pytest.mark.parametrize(
    ("pool", "label", "adjudicated"),
    [("mean", 2 / 3, 1), ("majority", 0.0, 1), ("adjudicated", 0.0, 1), (None, 0.0, 1)],
)
def test_an_adjudication_decides_except_under_the_mean(
    pool: Any, label: float, adjudicated: int
) -> None:
    """Two of three raters say 1; the adjudication says 0."""
    ratings = [("human", None), ("human:a", 1.0), ("human:b", 1.0), ("human:c", 0.0)]
    rows = [Judgement(judge, "1", "m", value) for judge, value in ratings]
    labels = Labels((*rows, Judgement("human:adjudication", "1", "m", 0.0)))
    pooled = pool_labels(labels, "human", pool)
    assert [judgement.label for judgement in pooled.judgements] == [label]
    assert (pooled.adjudicated, pooled.unresolved) == (adjudicated, 0)
    assert pooled.replicates is not None
    # a decision has no sampling error of raters, and a mean of them has
    assert (np.ptp(pooled.replicates) == 0) == (pool != "mean")


def test_labels_are_grouped_a_few_times_however_many_there_are(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To group them for each label again would take minutes for ten thousand labels."""
    plan, _ = planned(study, "grouped", "--labels", 200)
    sizes = []

    def by_judge(labels: Labels) -> dict[str, list[Judgement]]:
        sizes.append(len(labels.judgements))
        return grouped(labels)

    grouped = Labels.by_judge.fget  # type: ignore[attr-defined]
    monkeypatch.setattr(Labels, "by_judge", property(by_judge))
    audited(study, label_file(study, plan, tmp_path / "labels.csv"))
    assert max(sizes) >= 200
    assert len(sizes) < 10


def test_a_sheet_of_raters_with_other_names_of_columns_is_read(run: Run, tmp_path: Path) -> None:
    """As people keep it: the model's name, the question beside it, and two raters who differ."""
    rng = np.random.default_rng(4)
    answers = [(f"m{k}", f"q{i}", int(rng.random() < 0.3 + 0.1 * k)) for k, i in np.ndindex(6, 40)]
    scores, labels = tmp_path / "scores.csv", tmp_path / "labels.csv"
    scores.write_text(
        "model,item,score\n" + "".join(f"{name},{item},{score}\n" for name, item, score in answers)
    )
    rows = [
        f"{name},{item},Is it?,{rater},{score if rater == 'anna' or item != 'q1' else 1 - score}\n"
        for name, item, score in answers
        for rater in ("anna", "ben")
    ]
    # the scores and right answers beside the labels are passed over
    header = "Model,Question ID,question,annotator,label,target,score\n"
    labels.write_text(header + "".join(f"{row.strip()},yes,0\n" for row in rows))
    out = tmp_path / "out"
    arguments = map(str, ("audit", scores, "--criterion", labels, "--out", out))
    status, _, error = run(*arguments)
    assert status == 0, error
    (audit,) = hqm.Audit.load(out / "audit.json").audits
    assert audit.estimate("criterion.accuracy").value == 1.0
    assert "Raters disagree on 6 further answers" in (out / "report.html").read_text()
    assert "Oracle (no people)" not in (out / "evidence.html").read_text()


@pytest.mark.parametrize("name", ["adjudication", "Adjudication", "ADJUDICATION "])
def test_an_adjudication_is_known_in_any_letter_case(
    tmp_path: Path, make_benchmark: Callable[..., Path], name: str
) -> None:
    benchmark = hqm.load(make_benchmark([{"id": "1", "prompt": "Is it?", "target": "yes"}]))
    path = tmp_path / "labels.csv"
    path.write_text(f"item,respondent,label,rater\n1,m,1,a\n1,m,1,b\n1,m,0,{name}\n")
    pooled = benchmark.read_criterion(path, benchmark.original, ["m"])[0]
    assert (pooled.judge, pooled.label) == ("human", 0.0)
