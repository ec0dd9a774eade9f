"""Several metrics beside people over the same answers: `hqm compare NAME --criterion --scores`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import hqm
from hqm import psychometrics as psy
from hqm.comparison.beside_people import compare_with_people, read_score_files, read_scores
from hqm.errors import DataError
from tests.conftest import counts
from tests.messages import pattern_of, tells

Run = Callable[..., tuple[int, str, str]]


def test_the_correlations_are_those_of_scipy() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 6, 80) / 5
    metrics = {"near": labels + rng.normal(0, 0.2, 80), "far": labels + rng.normal(0, 1, 80)}
    study = psy.metrics_beside_people(metrics, labels)
    for name, values in metrics.items():
        correlation = study.correlations[name]
        assert correlation.pearson.value == pytest.approx(stats.pearsonr(values, labels).statistic)
        assert correlation.spearman.value == pytest.approx(
            stats.spearmanr(values, labels).statistic
        )
        assert correlation.tau_b.value == pytest.approx(stats.kendalltau(values, labels).statistic)
    assert [row.first for row in study.differences] == ["near"] * 3


def test_the_difference_is_nearly_that_of_williams_where_answers_are_independent() -> None:
    """Williams' test assumes normal, independent answers; there both see the same."""
    rng = np.random.default_rng(1)
    labels = rng.normal(size=300)
    first, second = labels + rng.normal(0, 1, 300), labels + rng.normal(0, 1.4, 300)
    study = psy.metrics_beside_people({"a": first, "b": second}, labels)
    r = np.corrcoef([labels, first, second])
    williams = psy.williams_test(r[0, 1], r[0, 2], r[1, 2], 300)
    row = study.differences[0]
    assert row.difference.value == pytest.approx(r[0, 1] - r[0, 2])
    error = (row.difference.high - row.difference.low) / (2 * stats.t.ppf(0.975, 99))
    assert row.difference.value / error == pytest.approx(williams.t, rel=0.2)


def test_equal_metrics_are_told_apart_as_often_as_the_level_allows() -> None:
    """Four answers a picture, which share half of their error."""
    rng, repeats, wrong = np.random.default_rng(2), counts(400), 0
    for _ in range(repeats):
        pictures = np.repeat(np.arange(40), 4)
        labels = rng.normal(size=160)
        noise = rng.normal(size=(2, 40))[:, pictures] + rng.normal(size=(2, 160))
        study = psy.metrics_beside_people(
            dict(zip("ab", labels + noise, strict=True)), labels, pictures
        )
        wrong += study.differences[0].p < 0.05
    assert wrong / repeats <= 0.05 + 3 * (0.05 * 0.95 / repeats) ** 0.5


def test_what_a_metric_lacks_is_left_out_for_all() -> None:
    labels = np.arange(20.0)
    lacking = np.where(labels < 5, np.nan, labels[::-1])
    study = psy.metrics_beside_people({"a": labels, "b": lacking}, labels)
    assert study.n == 15
    insufficient = psy.metrics_beside_people({"a": labels, "b": np.full(20, np.nan)}, labels)
    assert (insufficient.status, insufficient.differences) == ("insufficient", ())


def test_the_command_compares_columns_of_a_file_with_labels(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    items = hqm.load("shapes_yesno").original.items[:60]
    labels, scores = ["item,respondent,label"], ["item,respondent,near,far,note"]
    for item in items:
        label = int(rng.random() < 0.6)
        labels.append(f"{item.id},m,{label}")
        scores.append(f"{item.id},m,{label + rng.normal(0, 0.2)},{rng.normal()},words")
    for name, lines in (("labels", labels), ("scores", scores)):
        (tmp_path / f"{name}.csv").write_text("\n".join(lines))
    command = ["compare", "shapes_yesno", "--criterion", tmp_path / "labels.csv"]
    command += ["--scores", tmp_path / "scores.csv", "--to", tmp_path / "table.md"]
    code, output, _ = run(*command)
    assert code == 0
    assert "near − far" in output
    assert "60 answers" in output
    assert "Kendall" in (tmp_path / "table.md").read_text()
    code, output, _ = run(*command, "--metric", "near")
    assert code == 0
    assert "far" not in output
    code, _, err = run(*command, "--metric", "nearer")
    assert code != 0
    assert tells(err, "scores.no-column", name="nearer")
    code, _, err = run(*command[:2], "--scores", tmp_path / "scores.csv")
    assert code != 0
    assert tells(err, "compare.scores-alone")


def test_a_file_of_scores_names_each_answer_once(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("item,respondent,chair\n1,m,0.5\n1,m,0.6\n")
    with pytest.raises(DataError, match=pattern_of("scores.twice", respondent="m", item="1")):
        read_scores(path)
    path.write_text("item,respondent,chair\n1,m,none\n")
    with pytest.raises(DataError, match=pattern_of("scores.no-numbers")):
        read_scores(path)


def test_files_of_scores_are_joined_by_answer_and_say_how_they_were_read(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("item,vlm,model,bleu\n1,x,m,0.5\n2,x,m,0.6\n")
    (tmp_path / "n.csv").write_text("item,respondent,bleu\n1,n,0.1\n2,n,0.2\n")
    scores = read_score_files([tmp_path / "m.csv", tmp_path / "n.csv"])
    assert sorted(scores.columns["bleu"]) == [("1", "m"), ("1", "n"), ("2", "m"), ("2", "n")]
    assert [note.rpartition(": ")[2] for note in scores.notes] == [
        "read as item=item, model=model, score=bleu",
        "read as item=item, model=respondent, score=bleu",
    ]
    with pytest.raises(DataError, match=pattern_of("scores.twice", respondent="m", item="1")):
        read_score_files([tmp_path / "m.csv", tmp_path / "m.csv"])


def test_chair_is_computed_from_the_answers(run: Run, tmp_path: Path, data: Path) -> None:
    """FaithScore's released answers; CHAIR counted here from the objects of each picture."""
    path = data / "faithscore" / "annotation.jsonl"
    rule = hqm.load("coco_chair")
    objects = json.loads((data / "coco" / "objects.json").read_text())
    shares, labels = [], []
    for row in map(json.loads, path.read_text().splitlines()):
        mentioned = rule.mentioned(row["answer"])
        absent = [name for name in mentioned if name not in objects[str(int(row["id"]))]]
        shares.append(len(absent) / len(mentioned) if mentioned else 0)
        facts = row["stage 2"].values()
        labels.append(sum(facts) / len(facts) if facts else 0)
    command = ["compare", "faithscore", "--criterion", path, "--metric", "chair"]
    code, output, _ = run(*command, "--to", tmp_path / "chair.csv")
    assert code == 0
    assert f"{-stats.pearsonr(shares, labels).statistic:.3f}" in output
    assert f"{-stats.spearmanr(shares, labels).statistic:.3f}" in output
    assert "180 answers" in output


def test_chair_needs_pictures_whose_objects_are_known(run: Run, tmp_path: Path, data: Path) -> None:
    item = hqm.load("shapes_yesno").original.items[0].id
    labels, answers = tmp_path / "labels.csv", tmp_path / "m.jsonl"
    labels.write_text(f"item,respondent,label\n{item},m,1\n")
    answers.write_text(json.dumps({"item": item, "answer": "yes", "respondent": "m"}))
    command = ["compare", "shapes_yesno", "--criterion", labels, "--recorded", answers]
    code, _, err = run(*command, "--metric", "chair")
    assert code != 0
    assert tells(err, "scores.no-objects")


@pytest.mark.parametrize(
    ("labelled", "scored"),
    [("m", "recorded/m"), ("recorded/m", "m"), ("m", "hf/org/m?temperature=0"), ("org/m", "m")],
)
def test_respondents_are_named_as_an_audit_prints_them_or_as_a_file_does(
    run: Run, tmp_path: Path, labelled: str, scored: str
) -> None:
    rng = np.random.default_rng(4)
    labels, scores = ["item,respondent,label"], ["item,respondent,near"]
    for item in hqm.load("shapes_yesno").original.items[:40]:
        label = int(rng.random() < 0.6)
        labels.append(f"{item.id},{labelled},{label}")
        scores.append(f"{item.id},{scored},{label + rng.normal(0, 0.2)}")
    for name, lines in (("labels", labels), ("scores", scores)):
        (tmp_path / f"{name}.csv").write_text("\n".join(lines))
    command = ["compare", "shapes_yesno", "--criterion", tmp_path / "labels.csv"]
    code, output, err = run(*command, "--scores", tmp_path / "scores.csv")
    assert code == 0, err
    assert "40 answers" in output


def test_scores_of_nobody_who_was_labelled_are_an_error_with_names_of_both(
    run: Run, tmp_path: Path
) -> None:
    items = [item.id for item in hqm.load("shapes_yesno").original.items[:9]]
    labels = ["item,respondent,label", *(f"{item},m{i},1" for i, item in enumerate(items))]
    scores = ["item,respondent,near,far"]
    scores += [f"{item},other{i},0.5," for i, item in enumerate(items)]
    scores += [f"{item},m{i},,0.5" for i, item in enumerate(items)]
    for name, lines in (("labels", labels), ("scores", scores)):
        (tmp_path / f"{name}.csv").write_text("\n".join(lines))
    command = ["compare", "shapes_yesno", "--criterion", tmp_path / "labels.csv"]
    code, output, err = run(*command, "--scores", tmp_path / "scores.csv")
    assert code == 1
    assert output == ""
    names = {"labelled": "m0, m1, m2, m3, m4", "scored": "other0, other1, other2, other3, other4"}
    assert tells(err, "scores.nobody", metric="near", kind="respondents", **names)
    (tmp_path / "scores.csv").write_text("item,respondent,near\nnine,m0,0.5\n")
    code, _, err = run(*command, "--scores", tmp_path / "scores.csv")
    assert code == 1
    assert tells(err, "scores.nobody", metric="near", kind="items", scored="nine"), err


def test_one_respondent_has_one_score_of_an_answer_under_all_its_names(tmp_path: Path) -> None:
    benchmark = hqm.load("shapes_yesno")
    item = benchmark.original.items[0].id
    (tmp_path / "labels.csv").write_text(f"item,respondent,label\n{item},m,1\n")
    (tmp_path / "scores.csv").write_text(f"item,respondent,a\n{item},m,1\n{item},recorded/m,0\n")
    with pytest.raises(DataError, match=pattern_of("scores.two-names", respondent="m", item=item)):
        scores = read_scores(tmp_path / "scores.csv")
        compare_with_people(benchmark, tmp_path / "labels.csv", scores)


def test_decimal_commas_are_numbers_and_two_signs_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("item;respondent;bleu\na;m;0,5\nb;m;0,25\na;n;1\n")
    columns = {"bleu": {("a", "m"): 0.5, ("b", "m"): 0.25, ("a", "n"): 1.0}}
    assert read_scores(path).columns == columns
    path.write_text("item;respondent;bleu\na;m;0,5\nb;m;0.25\n")
    with pytest.raises(DataError, match="decimal comma"):
        read_scores(path)
    path.write_text("item,respondent,mark\na,m,-1\nb,m,1\na,n,0\nb,n,1\n")
    with pytest.raises(DataError, match=pattern_of("layout.signs", low="for 'm'", high="for 'n'")):
        read_scores(path)


def test_the_metrics_of_a_table_are_compared_without_a_benchmark(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    quality = rng.normal(3, 1, (3, 40))
    rows = ["item,model,near,far,human_score"]
    for (model, item), value in np.ndenumerate(quality):
        near, far = value + rng.normal(0, 0.3), value + rng.normal(0, 3)
        rows.append(f"q{item},m{model},{near:.3f},{far:.3f},{np.clip(round(value), 1, 5)}")
    table = tmp_path / "scores.csv"
    table.write_text("\n".join(rows))
    code, output, err = run("compare", table, "--criterion", table)
    assert code == 0, err
    # people's own column is no metric
    assert [name for name in ("near", "far", "human_score") if name in output] == ["near", "far"]
    assert tells(output, "compare.beside-people", answers=120, clusters="40 items", unit="items")
    assert "pictures" not in output
    labels, scores = tmp_path / "labels.csv", tmp_path / "metrics.csv"
    labels.write_text(
        "\n".join(
            [
                "item,model,label",
                *(",".join(row.split(",")[i] for i in (0, 1, 4)) for row in rows[1:]),
            ]
        )
    )
    scores.write_text("\n".join(row.rpartition(",")[0] for row in rows))
    for command in (["compare", scores], ["compare", scores, "--scores", scores]):
        code, again, err = run(*command, "--criterion", labels)
        assert (code, again) == (0, output), err
    # without people, benchmarks are compared, and a table is none
    code, _, err = run("compare", scores)
    assert code != 0
    assert tells(err, "compare.table", path=scores)
