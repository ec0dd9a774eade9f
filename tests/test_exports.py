"""Files of tools that keep an answer in objects within a row are read, each as the tool writes it."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hqm.benchmark.log_benchmark import benchmarks_of_logs
from hqm.imports.detect import read_logs
from hqm.imports.log_file import LogFile
from hqm.imports.readers.exports import is_log
from hqm.imports.row import RECORDED_SCORES
from hqm.types import names_of

KEYS = ["red", "blue", "red", "green", "blue", "red"]
QUESTIONS = [f"What colour is ball {n}?" for n in range(len(KEYS))]
SAID = {"alpha": ["red", "blue", "red", "red", "red", "red"], "beta": ["blue"] * len(KEYS)}
Example = tuple[int, str, str, str, float]
Writer = Callable[[Path, str, list[Example]], None]


def dump(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = value if isinstance(value, list) else [value]
    path.write_text("\n".join(map(json.dumps, rows)))


def write_promptfoo(folder: Path, model: str, examples: list[Example]) -> None:
    rows = []
    for n, question, _, said, score in examples:
        row = {"testIdx": n, "promptIdx": 0, "vars": {"q": question}, "provider": {"id": model}}
        row |= {"prompt": {"raw": question, "label": "{{q}}"}, "success": score == 1.0}
        row |= {"score": score, "namedScores": {}, "latencyMs": 7, "failureReason": int(score < 1)}
        # a failed assertion is no error of the model
        row |= {"error": "Expected another" if score < 1 else None}
        rows.append({**row, "response": {"output": said, "tokenUsage": {"total": 9}}})
    dump(folder / f"{model}.json", {"evalId": "e", "results": {"version": 3, "results": rows}})


def write_promptfoo_lines(folder: Path, model: str, examples: list[Example]) -> None:
    write_promptfoo(folder, model, examples)
    path = folder / f"{model}.json"
    dump(path.with_suffix(".jsonl"), json.loads(path.read_text())["results"]["results"])
    path.unlink()


def write_deepeval(folder: Path, model: str, examples: list[Example]) -> None:
    cases = []
    for n, question, key, said, score in examples:
        metric = {"name": "Correctness [GEval]", "score": score, "success": True, "threshold": 0.5}
        case = {"name": f"case_{n}", "input": question, "actualOutput": said, "success": True}
        case |= {"expectedOutput": key, "metricsData": [{**metric, "evaluationModel": "gpt-4.1"}]}
        cases.append(case)
    dump(folder / f"{model}.json", {"testFile": "t.py", "testCases": cases, "testPassed": 1})


def write_evalscope(folder: Path, model: str, examples: list[Example]) -> None:
    rows = []
    for n, question, key, said, score in examples:
        value = {"value": {"acc": score}, "extracted_prediction": said, "prediction": said}
        row = {"index": n, "input": question, "target": key}
        rows.append({**row, "sample_score": {"score": value, "sample_id": n, "group_id": n}})
    dump(folder / "reviews" / model / "balls_small.jsonl", rows)
    report = {"name": f"{model}@balls", "model_name": model, "score": 0.5}
    dump(folder / "reports" / model / "balls.json", {**report, "metrics": [{"num": 6, "score": 1}]})
    predictions = [{"index": row["index"], "model": model, "model_output": {}} for row in rows]
    dump(folder / "predictions" / model / "balls_small.jsonl", predictions)


def write_turns_of_evalscope(folder: Path, model: str, examples: list[Example]) -> None:
    """As 1.0 writes them: turns in place of the input, a file for each part, ids of its own."""
    for part, members in (("first", sorted(examples)[:3]), ("second", sorted(examples)[3:])):
        rows = []
        for n, (_, question, key, said, score) in enumerate(members):
            turns = [{"role": "user", "content": [{"type": "text", "text": question}]}]
            turns.append({"role": "assistant", "content": said})
            value = {"value": {"acc": score}, "extracted_prediction": said, "prediction": said}
            row = {"index": n, "target": key, "messages": turns, "trajectory": []}
            rows.append({**row, "sample_score": {"score": value, "sample_id": n, "group_id": n}})
        dump(folder / "reviews" / model / f"balls_{part}.jsonl", rows)
    dump(folder / "reports" / model / "balls.json", {"name": "balls", "metrics": []})


def write_older_evalscope(folder: Path, model: str, examples: list[Example]) -> None:
    rows = []
    for n, question, key, said, score in examples:
        review = {"gold": key, "pred": said, "result": {"AverageAccuracy": score}}
        choice = {"index": 0, "message": {"content": said, "role": "assistant"}, "review": review}
        rows.append({"choices": [choice], "raw_input": {"question": question}, "index": n})
    dump(folder / "reviews" / model / "balls.jsonl", rows)


def write_lighteval(folder: Path, model: str, examples: list[Example]) -> None:
    rows = []
    for n, question, key, said, score in examples:
        options = ["red", "blue", "green"]
        doc = {"query": question, "choices": options, "gold_index": [options.index(key)]}
        response = {"text": [said], "finish_reasons": ["stop"]}
        row = {"doc": {**doc, "id": str(n), "task_name": "balls"}, "model_response": response}
        rows.append({**row, "metric": {"extractive_match": score}})
    write_parquet(
        folder / "details" / "org" / model / "2025" / "details_x|balls|0_2025.parquet", rows
    )


def write_older_lighteval(folder: Path, model: str, examples: list[Example]) -> None:
    rows = []
    for _, question, key, said, score in examples:
        row = {"example": question, "full_prompt": f"Shots. {question}", "gold": [key]}
        rows.append({**row, "predictions": [said], "metrics": {"qem": score}, "choices": [key]})
    path = folder / "details" / "org" / model / "2025" / "details_x|balls:small|0_2025.parquet"
    write_parquet(path, rows)


def write_parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(rows), path)


def write_langsmith(folder: Path, model: str, examples: list[Example]) -> None:
    rows = []
    for n, question, key, said, score in examples:
        cells = {"inputs": {"question": question}, "outputs": {"answer": said}}
        cells["reference_outputs"] = {"answer": key}
        row = {name: json.dumps(cell) for name, cell in cells.items()}
        rows.append({"id": f"{model}{n}", **row, "latency": 1.5, "feedback.correctness": score})
    write_csv(folder / f"{model}.csv", rows)


def write_frame_of_langsmith(folder: Path, model: str, examples: list[Example]) -> None:
    rows = []
    for n, question, key, said, score in examples:
        row = {"inputs.question": question, "outputs.output": said, "reference.answer": key}
        row |= {"feedback.correct": str(score == 1.0), "execution_time": "1.5"}
        rows.append({"error": "", **row, "example_id": f"ex{n}", "id": f"{model}{n}"})
    write_csv(folder / f"{model}.csv", rows)


def write_ragas(folder: Path, model: str, examples: list[Example]) -> None:
    rows = []
    for _, question, key, said, score in examples:
        row = {"user_input": question, "retrieved_contexts": "['a ball']", "response": said}
        rows.append({**row, "reference": key, "answer_correctness": score})
    write_csv(folder / f"{model}.csv", rows)


def write_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


WRITERS: dict[Writer, str] = {
    write_promptfoo: "score",
    write_promptfoo_lines: "score",
    write_deepeval: "Correctness [GEval]",
    write_evalscope: "acc",
    write_turns_of_evalscope: "acc",
    write_older_evalscope: "AverageAccuracy",
    write_lighteval: "extractive_match",
    write_older_lighteval: "qem",
    write_langsmith: "correctness",
    write_frame_of_langsmith: "correct",
    write_ragas: "answer_correctness",
}


@pytest.mark.parametrize("writer", WRITERS, ids=lambda writer: writer.__name__[6:])
def test_each_export_is_read_as_it_was_written(tmp_path: Path, writer: Writer) -> None:
    examples = {}
    for model, answers in SAID.items():
        rows = zip(QUESTIONS, KEYS, answers, strict=True)
        examples[model] = [(n, q, k, a, float(a == k)) for n, (q, k, a) in enumerate(rows)]
        # another order in each file
        writer(tmp_path, model, examples[model][:: 1 if model == "alpha" else -1])
    (benchmark,) = benchmarks_of_logs(read_logs([tmp_path]))
    items = {item.prompt: item for item in benchmark.original.items}
    assert sorted(items) == QUESTIONS
    keys = [items[question].target for question in QUESTIONS]
    if "promptfoo" not in writer.__name__:
        letters = {"red": "A", "blue": "B", "green": "C"}
        assert keys == (list(map(letters.get, KEYS)) if writer is write_lighteval else KEYS)
    name = WRITERS[writer]
    assert names_of(benchmark.metrics) == [name]
    respondents = [
        record.respondent.removeprefix("org/") for record in benchmark.included_recordings
    ]
    assert respondents == list(SAID)
    for record, respondent in zip(benchmark.included_recordings, respondents, strict=True):
        for _, question, _, said, score in examples[respondent]:
            answer = record.answers[items[question].id]
            ((_, scores),) = answer.detail[RECORDED_SCORES].items()
            assert (answer.text, answer.state, scores[name]) == (said, "ok", score)


def test_samples_of_human_eval_are_runs(tmp_path: Path) -> None:
    rows = []
    for n in range(6):
        row = {"task_id": f"HumanEval/{n // 2}", "completion": f"return {n}", "passed": n % 2 == 0}
        rows.append({**row, "result": "passed" if row["passed"] else "failed: "})
    dump(tmp_path / "alpha.jsonl", rows)
    (benchmark,) = benchmarks_of_logs(read_logs([tmp_path]))
    assert [item.id for item in benchmark.original.items] == [f"HumanEval/{n}" for n in range(3)]
    for recording, score in zip(benchmark.included_recordings, (1.0, 0.0), strict=True):
        details = [answer.detail[RECORDED_SCORES] for answer in recording.answers.values()]
        assert details == [{"": {"passed": score}}] * 3


@pytest.mark.parametrize(
    ("doc", "key", "options"),
    [
        ({"choices": ["red", "blue"], "gold_index": [1]}, "B", ("red", "blue")),
        ({"choices": ["red", "blue"], "gold_index": 7}, "", ("red", "blue")),
        ({"choices": ["red", "blue"], "gold_index": -1}, "", ("red", "blue")),
        ({"choices": ["red"], "gold_index": 0}, "red", ()),
        ({"choices": None, "gold_index": 0}, "", ()),
        ({"gold_index": 0}, "", ()),
    ],
)
def test_a_task_of_lighteval_without_options_or_key_keeps_its_answers(
    tmp_path: Path, doc: dict[str, Any], key: str, options: tuple[str, ...]
) -> None:
    row = {"doc": {"query": "Q", "id": "1", **doc}, "model_response": {"text": ["red"]}}
    dump(tmp_path / "m.jsonl", {**row, "metric": {"em": 1.0}})
    (log,) = read_logs([tmp_path / "m.jsonl"])
    (read,) = log.rows
    assert (read.key, read.options, dict(read.scores)) == (key, options, {"em": 1.0})
    assert read.answer is not None
    assert read.answer.text == "red"


def test_feedback_of_langsmith_is_named_by_its_key(tmp_path: Path) -> None:
    row = {"inputs": {"q": "Q"}, "outputs": {"answer": "red"}, "example_id": "1"}
    dump(tmp_path / "m.jsonl", {**row, "feedback": [{"key": "exact", "score": 1}]})
    (log,) = read_logs([tmp_path / "m.jsonl"])
    assert [dict(read.scores) for read in log.rows] == [{"exact": 1.0}]


@pytest.mark.parametrize("is_old", [False, True])
def test_samples_of_evalplus_pass_the_added_tests_where_they_pass_both(
    tmp_path: Path, is_old: bool
) -> None:
    """The layout of evalplus 0.3.1 and the one before it, written from its `evaluate.py`."""
    statuses = {"HumanEval/0": ("pass", "pass"), "HumanEval/1": ("pass", "fail")}
    statuses["HumanEval/2"] = ("fail", "pass")
    tasks: dict[str, Any] = {}
    for task_id, (base, plus) in statuses.items():
        sample = {"task_id": task_id, "solution": "def f(): ...", "base_fail_tests": []}
        sample |= {"base_status": base, "plus_status": plus, "plus_fail_tests": []}
        old = {"nfiles": 1, "base": [[base, [True]]], "plus": [[plus, [False]]]}
        tasks[task_id] = old if is_old else [sample]
    results = {"date": "2025-10-02 12:00", "hash": "f", "eval": tasks, "pass_at_k": {}}
    dump(tmp_path / "alpha_eval_results.json", results)
    (log,) = read_logs([tmp_path])
    assert [(row.respondent, row.id) for row in log.rows] == [("alpha", name) for name in statuses]
    scores = [(row.scores["base"], row.scores["plus"]) for row in log.rows]
    assert scores == [(1.0, 1.0), (1.0, 0.0), (0.0, 0.0)]


def test_samples_of_bigcodebench_pass_by_one_status(tmp_path: Path) -> None:
    samples = [{"task_id": "B/0", "solution": f"s{n}", "status": s} for n, s in enumerate("ab")]
    samples[1]["status"] = "pass"
    dump(tmp_path / "m" / "eval_results.json", {"date": "d", "eval": {"B/0": samples}})
    (log,) = read_logs([tmp_path])
    read = [(row.respondent, row.run, row.score) for row in log.rows]
    assert read == [("m", 0, 0.0), ("m", 1, 1.0)]


def test_an_object_called_eval_of_another_tool_holds_no_samples(tmp_path: Path) -> None:
    """As inspect_ai's logs in JSON have it, beside their samples."""
    document = {"version": 2, "eval": {"task": "t", "scorers": [{"name": "match"}], "tags": None}}
    dump(tmp_path / "log.json", document)
    assert not is_log(LogFile(tmp_path / "log.json"))


def test_a_tool_is_known_though_its_first_row_failed(tmp_path: Path) -> None:
    """DeepEval writes nothing that is none: such a case has neither an answer nor scores."""
    cases: list[dict[str, Any]] = [{"name": "test_case_0", "input": "q0", "success": False}]
    metrics = [{"name": "Correctness", "score": 1.0}]
    cases.append(
        {"name": "test_case_1", "input": "q1", "actualOutput": "a", "metricsData": metrics}
    )
    dump(tmp_path / "m.json", {"testCases": cases, "testPassed": 1})
    (log,) = read_logs([tmp_path / "m.json"])
    assert [(row.question, row.score) for row in log.rows] == [("q0", None), ("q1", 1.0)]


@pytest.mark.parametrize("cells", [{"metricsData": [1]}, {"metricsData": [{"score": [1]}]}])
def test_a_cell_that_is_no_score_is_none(tmp_path: Path, cells: dict[str, Any]) -> None:
    cases = [{"input": "q", "actualOutput": "a", **cells}, 7]
    dump(tmp_path / "m.json", {"testCases": cases})
    (log,) = read_logs([tmp_path / "m.json"])
    assert [(row.question, row.score) for row in log.rows] == [("q", None)]


@pytest.mark.parametrize(
    "turn", [{"role": "user"}, {"type": "text"}, {"role": "user", "content": 7}]
)
def test_a_turn_without_a_text_asks_nothing(tmp_path: Path, turn: dict[str, Any]) -> None:
    score = {"score": {"value": {"acc": 1.0}, "prediction": "red"}, "group_id": 1}
    dump(tmp_path / "m.jsonl", {"index": 1, "messages": [turn], "sample_score": score})
    (log,) = read_logs([tmp_path / "m.jsonl"])
    assert [(row.question, row.score) for row in log.rows] == [(str(turn.get("content", "")), 1.0)]
