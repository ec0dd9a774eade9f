"""`hqm audit LOGS`: a report from the logs of benchmarks that HQM does not know.

Files stand in the tools' own layouts; `HQM_INSPECT` has inspect itself write some.
"""

import csv
import itertools
import json
import math
import re
import shlex
import statistics
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

import hqm
from hqm.errors import AnswerError, UsageError
from hqm.imports.score_cells import score_of
from tests.conftest import ROOT, Run
from tests.messages import pattern_of, tells

MODELS = ("alpha", "beta", "gamma")


def lmms(folder: Path, model: str, task: str, rows: list[dict[str, Any]], **totals: float) -> Path:
    """The samples file of a task, and the results file beside it, as lmms-eval lays them out."""
    (folder / model).mkdir(parents=True, exist_ok=True)
    date = "20260101_120000"
    results = {
        "model_name": model,
        "results": {task: {f"{name},none": total for name, total in totals.items()}},
        "configs": {task: {}},
        "higher_is_better": {task: {"wer": False}},
    }
    # one results file a run, whatever the number of its tasks
    results_path = folder / model / f"{date}_results.json"
    if results_path.exists():
        earlier = json.loads(results_path.read_text())
        results["results"] |= earlier["results"]
        results["higher_is_better"] |= earlier["higher_is_better"]
    results_path.write_text(json.dumps(results))
    path = folder / model / f"{date}_samples_{task}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def sample(number: int, answer: str, **metrics: Any) -> dict[str, Any]:
    return {
        "doc_id": number,
        "target": str(number),
        "filtered_resps": answer,
        "input": f"What is number {number}?",
        **metrics,
    }


def table(path: Path, rows: list[dict[str, Any]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


def scored(number: int, model: str) -> float:
    """A score between 0 and 1 that differs between models and questions."""
    return round(abs(math.sin(number * 7 + len(model) + ord(model[0]))), 3)


def scores_of(benchmark: hqm.Benchmark) -> dict[tuple[str, str, int], dict[str, float]]:
    """(Respondent, item, run) -> the scores that were kept with the answer."""
    return {
        (recording.respondent, key, recording.run): answer.detail["scores"][""]
        for recording in benchmark.included_recordings
        for key, answer in recording.answers.items()
    }


def test_every_score_and_total_of_a_task_are_the_tools(tmp_path: Path, run: Run) -> None:
    for model in MODELS:
        scores = [scored(i, model) for i in range(30)]
        rows = [sample(i, f"it is {i}", anls=s, wer=1 - s) for i, s in enumerate(scores)]
        mean = statistics.fmean(scores)
        lmms(tmp_path / "logs", model, "docs", rows, anls=mean, wer=1 - mean)
    (benchmark,) = hqm.from_logs(tmp_path / "logs")
    assert [(m.name, m.better) for m in benchmark.metrics] == [("anls", "higher"), ("wer", "lower")]
    assert scores_of(benchmark) == {
        (model, str(i), 0): {"anls": scored(i, model), "wer": 1 - scored(i, model)}
        for model in MODELS
        for i in range(30)
    }
    status, _, err = run("audit", tmp_path / "logs", "--out", tmp_path / "out", "--quiet")
    assert status == 0, err
    assert tells(err, "log.totals", totals=6)
    audit = hqm.Audit.load(tmp_path / "out" / "audit.json").audits[0]
    assert (audit.benchmark, audit.n_items, audit.scoring) == ("docs", 30, "recorded")
    means = audit.to_frame("scores").query("metric == 'anls'").set_index("respondent")["score"]
    for model in MODELS:
        assert means[f"recorded/{model}"] == pytest.approx(
            statistics.fmean(scored(i, model) for i in range(30))
        )
    assert run("gate", tmp_path / "out", "--json")[0] == 1  # nothing says that it is good
    assert run("report", tmp_path / "out", "--to", tmp_path / "page.html")[0] == 0


EXAMPLE = "What is number 99?", "it is 99"


@pytest.mark.parametrize("has_example", [True, False])
def test_models_asked_by_different_chat_templates_answer_the_same_items(
    tmp_path: Path, has_example: bool
) -> None:
    """lm-eval writes the whole prompt; its examples and marks are no part of the question."""
    templates = {
        "base": "Q: {}\nA: {}\n\n",
        "gemma": "<bos><start_of_turn>user\nQ: {}<end_of_turn>\n<start_of_turn>model\n{}",
        "mistral": "<s>[INST] Q: {}[/INST] {}",
    }
    for model, template in templates.items():
        rows = []
        for number in range(3):
            question = f"What is number {number}?"
            prompt = template.format(*EXAMPLE) if has_example else ""
            prompt += template.format(question, "").removesuffix("\nA: \n\n")
            rows.append({**sample(number, f"it is {number}", anls=1.0), "input": prompt})
        lmms(tmp_path / "logs", model, "docs", rows, anls=1.0)
    (benchmark,) = hqm.from_logs(tmp_path / "logs")
    assert len(benchmark.included_recordings) == len(templates)
    assert len(scores_of(benchmark)) == 3 * len(templates)
    prompts = [item.prompt for item in benchmark.original.items]
    assert prompts == [f"Q: What is number {number}?" for number in range(3)]


def test_scores_are_read_from_what_tasks_write() -> None:
    assert score_of({"question_id": 1, "score": 0.25, "category": "ocr"}) == 0.25
    assert score_of({"true_false": True, "prediction": "7", "answer": "8"}) == 1.0
    assert score_of({"parsed_pred": ["B"], "answer": "B"}) == 1.0
    assert score_of({"pred": "yes", "answer": "no"}) == 0.0
    # MMMU's open questions: numbers are read as decimals, texts hold the answer
    for read, right in (([[12.0]], 1.0), ([[3.0, "12 of them"]], 1.0), ([["a 1", 21.0]], 0.0)):
        fields = {"question_type": "open", "answer": "12", "parsed_pred": read}
        assert score_of(fields) == right
    assert score_of({"answer": ["a dog"], "pred": "A dog "}) == 1.0
    assert score_of({"id": "x", "submission": "B"}) is None


def test_a_total_under_the_name_of_a_filter_is_that_of_the_rows(tmp_path: Path) -> None:
    """lmms-eval prints `exact_match,flexible-extract`, and writes no filter into the rows."""
    path = lmms(tmp_path, "alpha", "ai2d", [sample(i, "x", exact_match=i % 2) for i in range(4)])
    results_path = path.with_name("20260101_120000_results.json")
    results = json.loads(results_path.read_text())
    results["results"]["ai2d"] = {"exact_match,flexible-extract": 0.5, "samples": 4}
    results_path.write_text(json.dumps(results))
    (benchmark,) = hqm.from_logs(tmp_path)
    assert [note for note in benchmark.notes if tells(note, "log.totals", totals=1)]


def test_a_score_that_only_some_questions_have_is_one_of_a_subset(tmp_path: Path) -> None:
    """MME scores perception and cognition under two names, and no question has both."""
    for model in MODELS:
        rows = [
            sample(i, "yes", **{("perception", "cognition")[i % 2]: {"score": float(i % 3 == 0)}})
            for i in range(12)
        ]
        lmms(tmp_path, model, "mme", rows)
    (benchmark,) = hqm.from_logs(tmp_path)
    assert [(m.name, m.subset) for m in benchmark.metrics] == [
        ("score", ""),
        ("perception", "perception"),
        ("cognition", "cognition"),
    ]
    audit = hqm.audit(benchmark)
    assert list(audit.metrics) == ["score"]
    means = audit.to_frame("scores").query("metric == 'score'")["score"]
    assert means.tolist() == [pytest.approx(4 / 12)] * 3


def test_several_benchmarks_of_one_folder_are_audited_one_by_one(tmp_path: Path, run: Run) -> None:
    for model in MODELS:
        for task in ("one", "two"):
            rows = [sample(i, "x", acc=scored(i + len(task), model) > 0.5) for i in range(8)]
            lmms(tmp_path / "logs", model, task, rows)
    (tmp_path / "logs" / "alpha" / "20260101_120000_samples_broken.jsonl").write_text("{")
    (tmp_path / "logs" / "questions.jsonl").write_text('{"question": "Why?", "answer": "so"}\n')
    status, _, err = run("audit", tmp_path / "logs", "--out", tmp_path / "out", "--quiet")
    assert status == 0, err
    audits = hqm.Audit.load(tmp_path / "out" / "audit.json").audits
    assert [(a.benchmark, a.n_items, len(a.respondents)) for a in audits] == [
        ("one", 8, 3),
        ("two", 8, 3),
    ]
    assert "broken.jsonl" in err
    assert tells(err, "log.no-answers", count=1, names="questions.jsonl")
    with pytest.raises(UsageError, match=pattern_of("log.several", benchmarks=2)):
        hqm.audit(tmp_path / "logs")


@pytest.mark.parametrize("shape", ["long", "wide", "turned", "frame"])
def test_tables_of_scores_in_every_shape_say_the_same(shape: str, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    items = [f"q{i}" for i in range(20)]
    cells = {(model, item): scored(i, model) for model in MODELS for i, item in enumerate(items)}
    if shape == "long":
        rows = [{"model": m, "item": q, "f1": score} for (m, q), score in cells.items()]
    elif shape == "turned":
        rows = [{"item": q, **{m: cells[m, q] for m in MODELS}, "d": 1, "e": 0} for q in items]
    else:
        rows = [{"model": m, **{q: cells[m, q] for q in items}} for m in MODELS]
    source = pandas.DataFrame(rows) if shape == "frame" else table(tmp_path / "scores.csv", rows)
    (benchmark,) = hqm.from_logs(source)
    got = {(m, q): next(iter(s.values())) for (m, q, _), s in scores_of(benchmark).items()}
    assert {key: got[key] for key in cells} == cells
    assert benchmark.metrics[0].name == ("f1" if shape == "long" else "score")


def test_a_cell_without_a_score_is_a_missing_answer(tmp_path: Path, run: Run) -> None:
    """An audit began with "0 of 80 answers missing" whatever cells were empty."""
    rows = [
        {"model": m, "item": f"q{i}", "score": "" if i % 20 == 3 else round(scored(i, m))}
        for m in MODELS
        for i in range(40)
    ]
    out = tmp_path / "out"
    status, _, err = run("audit", table(tmp_path / "t.csv", rows), "--out", out, "--no-report")
    n_answers = 40 * len(MODELS)
    assert status == 0
    assert tells(err, "log.last", missing=2 * len(MODELS), answers=n_answers), err


def test_a_file_without_rows_is_named(tmp_path: Path) -> None:
    path = tmp_path / "empty.csv"
    path.write_text("model,item,score\n")
    with pytest.raises(AnswerError, match=pattern_of("log.empty")) as refusal:
        hqm.from_logs(path)
    assert "empty.csv" in str(refusal.value)


@pytest.mark.parametrize("left_out", ["", "answer", "target", "answer target"])
def test_a_tools_scores_stand_beside_hqms_where_hqm_can_score(
    left_out: str, tmp_path: Path
) -> None:
    """Without answers or right answers nothing of HQM's is left that a score could differ from."""
    names = ["model", "item", "question", "target", "answer", "score"]
    columns = [name for name in names if name not in left_out.split()]
    rows = []
    for model, i in itertools.product(range(4), range(30)):
        right = (i * 7 + model * 3) % 10 > 3
        target = ("yes", "no")[i % 2]
        answer = target if right else ("no", "yes")[i % 2]
        row = (f"m{model}", f"q{i}", f"Is there a dog in {i}?", target, answer, int(right))
        rows.append(dict(zip(names, row, strict=True)))
    path = tmp_path / "scores.csv"
    lines = [",".join(str(row[column]) for column in columns) for row in rows]
    path.write_text("\n".join([",".join(columns), *lines]))
    audit = hqm.audit(path, store=tmp_path / "store.sqlite")
    compared = [(tool["compared"], tool["differences"]) for tool in audit.tools]
    assert compared == ([] if left_out else [(30, [])] * 4)


def test_columns_of_other_names_runs_judges_and_clusters(tmp_path: Path) -> None:
    rows = [
        {
            "LLM": m,
            "Question ID": f"q{i}",
            "points": 10 * scored(i + run, m),
            "run": run,
            "doc": i // 4,
        }
        for m in MODELS
        for i in range(16)
        for run in (0, 1)
    ]
    path = table(tmp_path / "t.csv", rows)
    columns = {"model": "LLM", "item": "Question ID", "score": "points", "cluster": "doc"}
    (benchmark,) = hqm.from_logs(path, columns)
    assert {item.cluster for item in benchmark.original.items} == {"0", "1", "2", "3"}
    assert (benchmark.metrics[0].name, benchmark.metrics[0].share) == ("points", False)
    audit = hqm.audit(benchmark)
    assert [str(cell) for cell in audit.cells] == [
        "form=original|run=0|judge=rule",
        "form=original|run=1|judge=rule",
    ]
    judged = [
        {"model": m, "item": f"q{i}", "judge": j, "score": scored(i + len(j), m)}
        for m in MODELS
        for i in range(16)
        for j in ("gpt", "claude")
    ]
    audit = hqm.audit(table(tmp_path / "j.csv", judged))
    assert [hqm.Cell.parse(cell).judge for cell in audit.cells] == ["claude", "gpt"]
    with pytest.raises(AnswerError, match=pattern_of("column.missing", column="x", field="score")):
        hqm.from_logs(path, {"score": "x"})


def test_a_logs_questions_are_asked_again_in_another_form(tmp_path: Path, run: Run) -> None:
    """The tool's folder from a log, what it then writes, and one audit of both."""
    rows = [sample(i, "yes", exact=1.0) for i in range(8)]
    question_rows = [{**row, "input": f"Is there a cat number {i}?"} for i, row in enumerate(rows)]
    for row in question_rows:
        row["target"] = "yes"
    logs = [lmms(tmp_path / "logs", m, "my_task", question_rows, exact=1.0) for m in MODELS[:2]]
    tasks = tmp_path / "tasks"
    assert run("export", logs[0], "--to", "lmms-eval", "--out", tasks)[0] == 0
    parallel = pyarrow.parquet.read_table(tasks / "parallel.parquet").to_pylist()
    assert [row["target"] for row in parallel] == ["no"] * 8
    functions: dict[str, Any] = {}
    exec((tasks / "utils.py").read_text(), functions)
    process = functions["process_results"]
    for m in MODELS[:2]:
        reply_rows = [
            {**sample(i, answer, **process(row, [answer])), "input": row["prompt"]}
            for i, row in enumerate(parallel)
            for answer in ["no" if i > 2 else "yes"]
        ]
        logs.append(lmms(tmp_path / "back", m, "my_task_parallel", reply_rows))
    audit = hqm.audit(hqm.from_logs(logs)[0])
    assert [hqm.Cell.parse(cell).form for cell in audit.cells] == ["original", "parallel"]
    first, second = ([r.cells[cell]["score"] for cell in audit.cells] for r in audit.respondents)
    assert first == second == [1.0, 5 / 8]
    scores = table(
        tmp_path / "s.csv", [{"model": "a", "item": f"q{i}", "score": 1} for i in range(6)]
    )
    status, _, errors = run("export", scores, "--to", "lmms-eval", "--out", tmp_path / "none")
    assert (status, tells(errors, "log.no-questions", missing=6, items=6)) == (1, True)


def test_runs_are_counted_from_0_and_a_judge_that_is_asked_again_is_no_run(tmp_path: Path) -> None:
    """Runs 1 to 3 are the log's first three; of one text graded three times the grades differ."""
    rows = [
        {"model": m, "item": f"q{i}", "run": run, "judge": "gpt", "score": scored(i + run, m)}
        for m in MODELS
        for i in range(16)
        for run in (1, 2, 3)
    ]
    answer_rows = [{**row, "answer": f"{row['item']} {row['run']}"} for row in rows]
    audit = hqm.audit(table(tmp_path / "runs.csv", answer_rows))
    assert [hqm.Cell.parse(cell).run for cell in audit.cells] == [0, 1, 2]
    graded = [{**row, "answer": row["item"]} for row in rows]
    audit = hqm.audit(table(tmp_path / "grades.csv", graded))
    cells = [hqm.Cell.parse(cell) for cell in audit.cells]
    assert [(cell.run, cell.judge) for cell in cells] == [(0, "gpt"), (0, "gpt#1"), (0, "gpt#2")]
    duplicates = audit.estimate("items.duplicate_items")
    assert duplicates.value == 0, "a table without questions repeats none"


def test_grades_of_mm_vets_evaluator(tmp_path: Path) -> None:
    """Two models, sixteen questions, a judge asked three times; the answers lie beside."""
    for m in MODELS[:2]:
        names = [f"v1_{i}" for i in range(16)]
        grades = {
            name: {"model": ["gpt-4"] * 3, "content": ["x"] * 3, "score": [0.1 * i % 1, 0.5, 1.0]}
            for i, name in enumerate(names)
        }
        (tmp_path / f"{m}_gpt-4-grade-3runs.json").write_text(json.dumps(grades))
        (tmp_path / f"{m}.json").write_text(json.dumps({name: f"{m} {name}" for name in names}))
    (benchmark,) = hqm.from_logs(tmp_path)
    assert {r.respondent for r in benchmark.included_recordings} == set(MODELS[:2])
    audit = hqm.audit(benchmark)
    assert [hqm.Cell.parse(cell).judge for cell in audit.cells] == ["gpt-4", "gpt-4#1", "gpt-4#2"]
    for respondent in audit.respondents:
        means = [respondent.cells[cell]["score"] for cell in audit.cells]
        assert means == [pytest.approx(6 / 16), 0.5, 1.0]
    # the same through --judgements, beside the answers alone
    for m in MODELS[:2]:
        answers = tmp_path / f"{m}.json"
        grades = answers.with_name(f"{m}_gpt-4-grade-3runs.json")
        judged_audit = hqm.audit(answers, judgements=[str(grades)])
        (sole_respondent,) = judged_audit.respondents
        assert [sole_respondent.cells[cell]["score"] for cell in judged_audit.cells] == means
    broken = {"v1_0": {"model": ["gpt-4"], "content": [], "score": []}}
    (tmp_path / "b_gpt-4-grade-1runs.json").write_text(json.dumps(broken))
    with pytest.raises(AnswerError, match=pattern_of("mm_vet.grades")):
        hqm.from_logs(tmp_path / "b_gpt-4-grade-1runs.json")


@pytest.mark.parametrize("kind", ["answers", "keys", "scores"])
def test_a_judge_of_any_scale_stands_beside_a_log(kind: str, tmp_path: Path) -> None:
    """Grades of 0 to 10 are tenths: of answers alone the score, else what keys or the tool say
    otherwise.
    """
    extra_fields = {"answers": {}, "keys": {"target": "7"}, "scores": {"f1": 0.25}}[kind]
    answers = [
        {"model": m, "item": f"q{i}", "answer": ["7", "8"][i % 3 == n], **extra_fields}
        for n, m in enumerate(MODELS)
        for i in range(12)
    ]
    grades = [
        {"item": row["item"], "respondent": row["model"], "judge": "gpt", "score": (3 * i) % 11}
        for i, row in enumerate(answers)
    ]
    path = table(tmp_path / "answers.csv", answers)
    judged = table(tmp_path / "grades.csv", grades)
    if kind == "answers":
        with pytest.raises(AnswerError, match=pattern_of("log.neither")):
            hqm.audit(path)
    audit = hqm.audit(path, judgements=[str(judged)])
    (cell,) = [cell for cell in audit.cells if hqm.Cell.parse(cell).judge == "gpt"]
    other_cells = [cell for cell in audit.cells if hqm.Cell.parse(cell).judge != "gpt"]
    metric = {"answers": "score", "keys": "accuracy", "scores": "f1"}[kind]
    for n, respondent in enumerate(audit.respondents):
        tenths = [row["score"] / 10 for row in grades[12 * n : 12 * (n + 1)]]
        assert respondent.cells[cell][metric] == pytest.approx(statistics.mean(tenths))
        expected = {"answers": [], "keys": [pytest.approx(2 / 3)], "scores": [0.25]}[kind]
        assert [respondent.cells[other_cell][metric] for other_cell in other_cells] == expected


def test_predictions_of_vlmevalkit_with_and_without_scores(tmp_path: Path) -> None:
    """Columns of its source: the TSV's own with `prediction`, then `hit` after the evaluation."""
    for model in MODELS:
        for name, scores in ((f"{model}_MMB", {}), (f"{model}_MMB_gpt-4o-mini_result", {"hit": 1})):
            rows = [
                {
                    "index": i,
                    "question": f"Which is {i}?",
                    "A": "red",
                    "B": "blue",
                    "answer": "AB"[i % 2],
                    "category": ("hue", "shade")[i % 2],
                    "prediction": "A",
                    **({"hit": int(i % 2 == 0)} if scores else {}),
                }
                for i in range(10)
            ]
            folder = tmp_path / ("scored" if scores else "plain") / model
            folder.mkdir(parents=True)
            (folder / f"{name}.json").write_text(json.dumps(rows))
    for folder, metric in (("scored", "hit"), ("plain", "accuracy")):
        (benchmark,) = hqm.from_logs(tmp_path / folder)
        assert benchmark.card.title == "MMB"
        assert {item.type for item in benchmark.original.items} == {"hue", "shade"}
        assert benchmark.original.items[0].options == ("red", "blue")
        audit = hqm.audit(benchmark)
        assert (list(audit.metrics), set(audit.coverage)) == ([metric], {"hue", "shade"})
        assert set(audit.to_frame("scores")["score"]) == {0.5}


def test_predictions_and_their_evaluations_are_one_run(tmp_path: Path) -> None:
    """VLMEvalKit leaves predictions, one sheet for each judge, and a link to the newest in one
    folder; options in turn are asked under the index and a million more.
    """
    folder = tmp_path / "alpha" / "T20260101"
    folder.mkdir(parents=True)
    rows = [
        {"index": str(i), "question": f"Which is {i % 10**6}?", "answer": "A", "prediction": "A"}
        for i in (*range(10), *range(10**6, 10**6 + 10))
    ]
    (folder / "alpha_Q.json").write_text(json.dumps(rows))
    (tmp_path / "alpha" / "alpha_Q.json").symlink_to(folder / "alpha_Q.json")
    for judge, score in (("gpt-4o", 1), ("gpt-4-turbo", 0)):
        graded = [{**row, "score": score} for row in rows[:10]]
        (folder / f"alpha_Q_{judge}_result.json").write_text(json.dumps(graded))
    (benchmark,) = hqm.from_logs(tmp_path)
    (recording,) = benchmark.included_recordings
    assert (recording.respondent, recording.run, len(recording.answers)) == ("alpha", 0, 10)
    for answer in recording.answers.values():
        assert answer.detail["scores"] == {"gpt-4o": {"score": 1}, "gpt-4-turbo": {"score": 0}}


def test_rows_of_one_id_that_ask_different_questions_are_refused(tmp_path: Path) -> None:
    rows = [sample(i, "x", acc=1) for i in range(4)]
    lmms(tmp_path, "alpha", "t", rows)
    conflicting_rows = [{**row, "input": "What is the other thing?"} for row in rows[:2]]
    lmms(tmp_path, "beta", "t", [*conflicting_rows, *rows[2:]])
    with pytest.raises(AnswerError, match=pattern_of("log.contradicting", contradicting=2)):
        hqm.from_logs(tmp_path)
    (benchmark,) = hqm.from_logs(tmp_path, partial=True)
    assert sorted(len(recording.answers) for recording in benchmark.included_recordings) == [2, 4]


def test_the_lines_for_users_of_other_tools_run_as_printed(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind the first line, which is the tool's own: its files lie where it writes them."""
    monkeypatch.chdir(tmp_path)
    for model in MODELS:
        rows = [sample(i, "x", anls=scored(i, model)) for i in range(12)]
        lmms(Path("lmms_logs"), model, "docvqa_val", rows)
        answers = [
            {"index": i, "question": f"Which is {i}?", "A": "red", "B": "blue", "answer": "A"}
            | {"prediction": "AB"[scored(i, model) > 0.5]}
            for i in range(12)
        ]
        Path("vlm_logs", model).mkdir(parents=True)
        table(Path("vlm_logs", model, f"{model}_MMBench.csv"), answers)
    page = (ROOT / "docs" / "your_tool.md").read_text()
    blocks = [block.splitlines() for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL)]
    assert [len(block) for block in blocks] == [3, 3]
    for _, audit, gate in blocks:
        status, _, err = run(*shlex.split(audit)[1:])
        assert status == 0, err
        assert run(*shlex.split(gate)[1:])[0] == 1, "three models of twelve answers pass no gate"
        (audited,) = hqm.Audit.load(f"{shlex.split(gate)[2]}/audit.json").audits
        assert (audited.n_items, len(audited.respondents)) == (12, 3)


@pytest.mark.data
@pytest.mark.parametrize(
    ("folder", "items"),
    [("lmms_eval/real_run", 24), ("lmms_eval/writer_only", 24), ("vlmevalkit", 24)],
)
def test_the_pages_lines_take_files_that_the_tools_wrote(
    data: Path, tmp_path: Path, run: Run, folder: str, items: int
) -> None:
    status, _, err = run("audit", data / "logs" / folder, "--out", tmp_path / "report")
    # in the real run the tool recorded two empty answers
    assert status == (folder == "lmms_eval/real_run"), err
    assert run("gate", tmp_path / "report", "--policy", "release-small")[0] == 1
    assert (tmp_path / "report" / "report.html").is_file()
    assert hqm.Audit.load(tmp_path / "report" / "audit.json").audits[0].n_items == items


def test_the_questions_of_a_log_become_a_folder_that_its_answers_fit(
    tmp_path: Path, run: Run
) -> None:
    for model in MODELS:
        rows = [sample(i, str(i if i % 2 else -i), acc=i % 2) for i in range(20)]
        lmms(tmp_path / "logs", model, "counts", rows)
    status, output, err = run("new", tmp_path / "mine", "--from", tmp_path / "logs")
    assert (status, err) == (0, "")
    assert "20 vqa items" in output
    items = [json.loads(line) for line in (tmp_path / "mine" / "items.jsonl").open()]
    assert items[3] == {"id": "3", "prompt": "What is number 3?", "target": "3"}
    options = ("--recorded", tmp_path / "logs", "--out", tmp_path / "out", "--quiet")
    status, _, err = run("audit", tmp_path / "mine", *options)
    assert status == 0, err
    (audit,) = hqm.Audit.load(tmp_path / "out" / "audit.json").audits
    assert [respondent.scores["accuracy"] for respondent in audit.respondents] == [
        0.5 + 0.05
    ] * 3, "and 0 is 0"


def test_a_new_benchmark_is_made_of_one(tmp_path: Path, run: Run) -> None:
    for task in ("one", "two"):
        lmms(tmp_path / "logs", "alpha", task, [sample(i, "x", acc=1) for i in range(4)])
    status, _, err = run("new", tmp_path / "mine", "--from", tmp_path / "logs")
    assert status == 2
    assert tells(err, "new.several-in-logs", count=2, names="one, two")
    assert not (tmp_path / "mine").exists()


def test_questions_without_pictures_are_reported_without_a_word_of_them(tmp_path: Path) -> None:
    rows = [
        {
            "model": model,
            "id": i,
            "question": f"Is {i // 2} plus {i // 2} equal to {2 * (i // 2)}?",
            "category": ["sums", "others"][i % 2],
            "target": "yes" if i else "no",
            "answer": "yes" if i % wrong else "no",
        }
        for model, wrong in (("alpha", 3), ("beta", 2), ("gamma", 5))
        for i in range(60)
    ]
    audit = hqm.audit(table(tmp_path / "sums.csv", rows))
    assert {"D101", "D103"} <= {finding["code"] for finding in audit.findings}
    for page in hqm.report(audit, to=tmp_path / "page.html"):
        text = re.sub(r"(?s)<(script|style).*?</\1>", "", page.read_text(encoding="utf-8"))
        assert "picture" not in text.lower(), page
