"""The headline numbers of an audit beside those of pingouin, statsmodels and scipy."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hqm
from hqm import Audit, BenchmarkAudit, DataError
from hqm.auditing.answer_checks import ModelError, fit_pictures
from hqm.auditing.answer_scores import read_answers
from hqm.auditing.opinion import SecondOpinion
from hqm.auditing.second_opinion import check_numbers
from hqm.auditing.verdict_records import unpack_columns
from tests.audit_designs import answers_audit
from tests.conftest import NIGHTLY, Run, counts
from tests.messages import tells

ABILITIES = (0.95, 0.9, 0.88, 0.75, 0.7, 0.6)
N_ITEMS = 1008 if NIGHTLY else 320
"""Items of each embedded benchmark: the first, of all types."""


def given_answers(
    benchmark: hqm.Benchmark, rng: np.random.Generator, unscored: float
) -> Iterator[dict[str, Any]]:
    """Answers of six respondents to two runs and another wording: each item is hard for all alike,
    and each picture favours some.
    """
    original = replace(benchmark.original, items=benchmark.original.items[:N_ITEMS])
    forms = {"original": (original, (0, 1)), "parallel": (benchmark.parallel(original), (0,))}
    pictures = sorted({item.cluster or item.id for item in original.items})
    hardness = dict(zip(pictures, rng.normal(0, 0.6, len(pictures)), strict=True))
    items = {item.id: rng.normal(0, 0.8) for item in original.items}
    for m, ability in enumerate(ABILITIES):
        for name, (form, runs) in forms.items():
            for run in runs:
                for item in form.items:
                    logit = np.log(ability / (1 - ability)) + items[item.id]
                    logit += hardness[item.cluster or item.id]
                    is_right = rng.random() < 1 / (1 + np.exp(-logit))
                    text = answer_text(benchmark.card.task, item, is_right)
                    if rng.random() < unscored:
                        text = "I cannot see the picture."
                    row = {"respondent": f"model {m}", "form": name, "run": run}
                    yield row | {"item": item.id, "answer": text}


def answer_text(task: str, item: hqm.Item, is_right: bool) -> str:
    """The right answer to an item, or a wrong one."""
    target = item.target if isinstance(item.target, str) else next(iter(item.target))
    if is_right:
        return str(target)
    if task == "yes_no":
        return "no" if target == "yes" else "yes"
    if task == "choice":
        return "B" if target == "A" else "A"
    return "zebra"


def recorded_audit(name: str, folder: Path, seed: int = 0, unscored: float = 0.0) -> BenchmarkAudit:
    benchmark = hqm.load(name)
    rows = given_answers(benchmark, np.random.default_rng(seed), unscored)
    answers = folder / f"{name}.jsonl"
    answers.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return hqm.audit(name, recorded=answers, limit=N_ITEMS)


@pytest.fixture(scope="module")
def audits(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, BenchmarkAudit]:
    """Audits of embedded benchmarks; some answers to the short questions have no score."""
    folder = tmp_path_factory.mktemp("audits")
    lost = {"shapes_yesno": 0.0, "shapes_choice": 0.0, "shapes_vqa": 0.02}
    return {name: recorded_audit(name, folder, unscored=share) for name, share in lost.items()}


@pytest.fixture(scope="module")
def opinions(audits: Mapping[str, BenchmarkAudit]) -> Mapping[str, SecondOpinion]:
    return {name: check_numbers(audit) for name, audit in audits.items()}


@pytest.mark.parametrize("name", ["shapes_yesno", "shapes_choice", "shapes_vqa"])
def test_the_libraries_agree_on_the_embedded_benchmarks(
    opinions: Mapping[str, SecondOpinion], name: str
) -> None:
    opinion = opinions[name]
    assert not opinion.findings, opinion.findings
    assert not opinion.remarks
    assert set(opinion.versions) == {"pingouin", "scipy", "statsmodels"}
    libraries = " ".join({row.library for row in opinion.judged})
    for function in (
        "pingouin.intraclass_corr",
        "scipy.stats.pearsonr",
        "scipy.stats.spearmanr",
        "scipy.stats.kendalltau",
        "scipy.stats.bootstrap",
        "cohens_kappa",
        "GEE",
        "multipletests",
    ):
        assert function in libraries, function
    others = {row.library for row in opinion.checks if row.outcome == "other_definition"}
    assert "statsmodels mcnemar (exact)" in others
    # Cochran's Q needs items that every respondent has a score on; of the short answers none has
    assert "statsmodels cochrans_q" in others or name == "shapes_vqa"
    alphas = [row for row in opinion.checks if row.library == "pingouin.cronbach_alpha"]
    # it is of one administration, and names no other
    assert not [row.quantity for row in alphas if row.quantity.endswith((")", "None"))]
    # alpha is judged where next to all answers have a score
    assert [row.outcome for row in alphas if row.tolerance] or name == "shapes_vqa"
    exact = [row for row in opinion.judged if row.tolerance == 1e-6]
    assert len(exact) > 15
    assert all(abs(row.difference or 0.0) < 1e-9 for row in exact)


def test_a_mixed_model_gives_the_components_of_answers(
    opinions: Mapping[str, SecondOpinion],
) -> None:
    rows = [row for row in opinions["shapes_choice"].checks if "MixedLM" in row.library]
    judged = {row.quantity.partition(" (")[0] for row in rows if row.outcome == "agrees"}
    assert {"variance of items and pictures", "variance of respondents by items"} <= judged


def test_a_number_that_was_altered_is_a_finding(
    audits: Mapping[str, BenchmarkAudit], tmp_path: Path, run: Run
) -> None:
    audit = audits["shapes_yesno"]
    altered = []
    for estimate in audit.all_estimates:
        if estimate.indicator == "test_retest.icc_11":
            estimate = replace(estimate, value=(estimate.value or 0.0) - 0.0001)
        altered.append(estimate)
    wrong = replace(audit, all_estimates=tuple(altered))
    (finding,) = check_numbers(wrong).findings
    assert finding.quantity == "ICC(1,1) (run=1)"
    file, sound = tmp_path / "wrong.json", tmp_path / "sound.json"
    file.write_text(Audit((wrong,)).to_json())
    sound.write_text(Audit((audit,)).to_json())
    status, output, _ = run("report", file, "--check")
    assert status == 1
    assert tells(output, "second-opinion.differs", quantity="ICC(1,1) (run=1) of accuracy")
    page = tmp_path / "report.html"
    status, output, _ = run("report", sound, "--check", "--to", page)
    assert status == 0
    assert tells(output, "second-opinion.agrees", title=audit.title)
    evidence = (tmp_path / "evidence.html").read_text()
    assert "Second opinion" in evidence
    assert "pingouin.cronbach_alpha" in evidence
    table = tmp_path / "check.csv"
    assert run("report", sound, "--check", "--to", table)[0] == 0
    assert len(table.read_text().splitlines()) > 30


def test_what_is_not_installed_is_said(
    audits: Mapping[str, BenchmarkAudit], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pingouin", None)
    opinion = check_numbers(audits["shapes_yesno"])
    assert "pingouin" not in opinion.versions
    assert {row.library.split(".")[0] for row in opinion.checks} >= {"scipy"}
    (remark,) = opinion.remarks
    assert tells(remark, "second-opinion.missing", library="pingouin")


def test_an_audit_without_the_items_of_its_verdicts_has_only_correlations(
    audits: Mapping[str, BenchmarkAudit],
) -> None:
    audit = audits["shapes_choice"]
    older = {
        cell: {key: row[key] for key in ("items", "values", "codes")}
        for cell, row in audit.verdicts.items()
    }
    opinion = check_numbers(replace(audit, verdicts=older))
    assert not opinion.findings
    assert {row.library.partition(".")[0] for row in opinion.checks} == {"pingouin", "scipy"}
    assert len(opinion.remarks) == 1
    assert check_numbers(replace(audit, verdicts={})).remarks == opinion.remarks


def test_the_items_of_verdicts_are_those_of_the_benchmark(
    audits: Mapping[str, BenchmarkAudit],
) -> None:
    audit = audits["shapes_vqa"]
    items = hqm.load("shapes_vqa").original.items[:N_ITEMS]
    record = unpack_columns(audit.verdicts[audit.reference])
    assert record is not None
    numbers, pictures, types = record
    assert numbers.tolist() == list(range(len(items)))
    for column, values in (("cluster", pictures), ("type", types)):
        names = [getattr(item, column) for item in items]
        pairs = set(zip(names, values.tolist(), strict=True))
        assert len(pairs) == len(set(names)) == len(set(values.tolist()))
    row = audit.verdicts[audit.reference]
    with pytest.raises(DataError):
        unpack_columns({**row, "pictures": row["pictures"][8:]})


def test_a_score_that_is_better_lower_is_the_share_of_wrong_answers(
    audits: Mapping[str, BenchmarkAudit],
) -> None:
    audit = audits["shapes_yesno"]
    rows = {cell: {**row, "values": [1.0, 0.0]} for cell, row in audit.verdicts.items()}
    metrics = {"accuracy": {**audit.metrics["accuracy"], "better": "lower"}}
    straight = read_answers(audit, "accuracy")
    turned = read_answers(replace(audit, verdicts=rows, metrics=metrics), "accuracy")
    assert straight is not None
    assert turned is not None
    np.testing.assert_array_equal(straight.reference, turned.reference)


def test_no_library_disagrees_on_studies_of_any_design(tmp_path: Path) -> None:
    """Missing answers, few items, labels, pictures. Of seeds 0 to 199, none of 1,943 judged
    numbers disagreed.
    """
    n_judged = 0
    for seed in range(counts(60)):
        folder = tmp_path / str(seed)
        try:
            audit = answers_audit(np.random.default_rng(seed), folder)
        except hqm.HQMError:
            continue  # a file without any label
        opinion = check_numbers(audit)
        assert not opinion.findings, (seed, opinion.findings)
        n_judged += len(opinion.judged)
    assert n_judged > 20


def test_restricted_likelihood_is_mean_squares_where_all_is_balanced() -> None:
    """The textbook: of a balanced design, REML is the analysis of variance."""
    rng = np.random.default_rng(4)
    n_respondents, n_pictures, per_picture = 5, 40, 3
    pictures = np.repeat(np.arange(n_pictures), per_picture)
    items = rng.normal(0, 0.5, pictures.size) + rng.normal(0, 0.7, n_pictures)[pictures]
    scores = rng.normal(0, 1, (n_respondents, pictures.size)) + items
    scores += rng.normal(0, 0.3, n_respondents)[:, None]
    model = fit_pictures(scores, pictures)
    item_means = scores.mean(axis=0)
    picture_means = item_means.reshape(n_pictures, -1).mean(axis=1)
    residuals = scores - scores.mean(axis=1, keepdims=True) - item_means + scores.mean()
    ms_rest = (residuals**2).sum() / ((n_respondents - 1) * (pictures.size - 1))
    within = ((item_means - picture_means[pictures]) ** 2).sum()
    ms_item = n_respondents * within / (n_pictures * (per_picture - 1))
    ms_picture = n_respondents * per_picture * picture_means.var(ddof=1)
    assert model.residual == pytest.approx(ms_rest, rel=0.01)
    assert model.item == pytest.approx((ms_item - ms_rest) / n_respondents, rel=0.02)
    expected = (ms_picture - ms_item) / (n_respondents * per_picture)
    assert model.picture == pytest.approx(expected, rel=0.02)


def test_a_model_that_cannot_be_fitted_says_why() -> None:
    pictures = np.repeat(np.arange(20), 2)
    for scores in (np.ones((3, 40)), np.full((3, 40), np.nan), np.zeros((3, 20_000))):
        with pytest.raises(ModelError):
            fit_pictures(scores, np.resize(pictures, scores.shape[1]))
