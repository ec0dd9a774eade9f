"""Logs of other tools come in: real files of the tools, matched to items, with the tools' own
scores beside ours.
"""

import json
import re
import shutil
import sys
import zipfile
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from hqm.auditing.one_file import score_file
from hqm.auditing.score_differences import compare_scores
from hqm.benchmark.log_benchmark import benchmarks_of_logs
from hqm.benchmark.registry import load
from hqm.errors import AnswerError, HQMError
from hqm.imports.detect import known_readers, read_logs
from hqm.imports.log_answers import LogSettings, take_logs
from hqm.imports.match import match_rows
from hqm.imports.row import RECORDED_SCORES, Row
from hqm.types import Form, Item, Response, names_of
from tests.conftest import Run
from tests.messages import pattern_of, tells, text_of

POST = "\nAnswer the question using a single word or phrase."


@pytest.fixture(scope="module")
def logs(data: Path) -> Path:
    return data / "logs"


def questions(*rows: tuple[str, str, str], part: str = "") -> Form:
    return Form(
        "original",
        tuple(Item(key, text, "yes_no", "yes", image, part=part) for key, image, text in rows),
    )


def make_row(text: str, **fields: Any) -> Row:
    return Row(place="row", respondent="r", answer=Response("Yes"), question=text, **fields)


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


# --- the tools' own files ---


def test_a_real_run_of_lmms_eval_matches_every_row_by_id(logs: Path) -> None:
    (log,) = read_logs([logs / "lmms_eval" / "real_run"])
    assert log.tool == "lmms-eval"
    assert log.settings["temperature"] == 0.0
    assert {row.respondent for row in log.rows} == {
        "models/model_steady"
    }  # `model_name` of its results file
    assert (
        log.rows[0].answer.text == " There There Yellow."
    )  # `resps`, which has the blank that `filtered_resps` lost
    matched = match_rows(log.rows, load("shapes_yesno").original)
    assert not matched.refused
    assert matched.cue_counts == {"id": 24}
    assert matched.items[0] == ("y0000",)


def test_the_table_of_differences_names_the_punctuation_that_lmms_eval_does_not_remove(
    logs: Path,
) -> None:
    benchmark = load("shapes_yesno")
    forms = {"original": benchmark.original}
    import_result = take_logs(forms, [logs / "lmms_eval" / "writer_only"])
    (compared,) = compare_scores(benchmark, forms, import_result.recordings)
    # lmms-eval compares "no." with "no" and scores 0 (LOGS: its writer's own row); the answers are
    # 24 "Yes." and "No."
    assert compared.tool_mean == 0
    assert compared.compared == compared.hqm_scored == 24
    assert set(compared.reasons) == {text_of("tool.punctuation")}
    assert len(compared.differences) == round(24 * (compared.hqm_mean or 0))


def test_an_archive_of_inspect_gives_samples_epochs_scores_and_usage(logs: Path) -> None:
    path = logs / "inspect" / "llava_6x2.eval"
    with zipfile.ZipFile(path) as archive:
        assert {member.compress_type for member in archive.infolist()} == {93}
    (log,) = read_logs([path])
    assert log.tool == "inspect_ai 0.3.285"
    assert len(log.rows) == 12
    assert [row.run for row in log.rows].count(1) == 6
    first = log.rows[0]
    assert (first.ids, first.form, first.score, first.read) == (("y0000",), "original", 1.0, "no")
    assert first.answer.detail == {"tokens_in": 19, "tokens_out": 3}
    assert first.question == "Is the red triangle large?"


def test_a_run_of_inspect_that_failed_or_was_killed_says_so(logs: Path) -> None:
    (failed,) = read_logs([logs / "inspect" / "errored_no_scores.eval"])
    assert "status error" in failed.notes[0]
    assert {row.answer.state for row in failed.rows} == {"error"}
    assert failed.rows[0].answer.reason
    (killed,) = read_logs([logs / "inspect" / "crashed_start_only.eval"])
    assert not killed.rows
    assert "was killed" in killed.notes[0]


def test_the_json_form_of_an_inspect_log_reads_like_its_archive(logs: Path, tmp_path: Path) -> None:
    from hqm.imports.readers.inspect_ai import (
        _document,
    )  # the archive's members, to write what `inspect log convert` writes

    path = logs / "inspect" / "llava_6x2.eval"
    with path.open("rb") as file, zipfile.ZipFile(file) as archive:
        members = {m.filename: _document(file, archive, m, path) for m in archive.infolist()}
    samples = [members[name] for name in sorted(members) if name.startswith("samples/")]
    target = tmp_path / "log.json"
    target.write_text(json.dumps({**members["header.json"], "samples": samples}))
    (from_json,), (from_archive,) = read_logs([target]), read_logs([path])
    strip = [(r.ids, r.answer, r.run, r.score, r.question) for r in from_json.rows]
    assert strip == [(r.ids, r.answer, r.run, r.score, r.question) for r in from_archive.rows]


@pytest.mark.parametrize("suffix", ["json", "tsv", "xlsx"])
def test_predictions_of_vlmevalkit_in_every_format(suffix: str, logs: Path, tmp_path: Path) -> None:
    path = logs / "vlmevalkit" / "model_steady_POPE.tsv"
    if suffix == "json":
        path = path.with_suffix(".json")
    if suffix == "xlsx":
        import pandas as pd

        rows = pd.read_csv(path, sep="\t", dtype=str, keep_default_na=False)
        path = tmp_path / "model_steady_POPE.xlsx"
        rows.to_excel(
            path, index=False
        )  # as VLMEvalKit writes: one sheet, the heading in the first row
    (log,) = read_logs([path])
    assert log.tool == "VLMEvalKit"
    assert len(log.rows) == 24
    assert log.rows[0].respondent == "model_steady"
    assert log.rows[0].answer.text == " No."
    assert log.rows[0].parts == ("random", "popular")
    matched = match_rows(log.rows, load("shapes_yesno").original)
    assert not matched.refused
    assert matched.cue_counts == {"picture and question": 24}


def test_a_cell_of_several_pictures_is_a_list(tmp_path: Path) -> None:
    row = {"index": 1, "question": "Which?", "answer": "A", "prediction": "A"}
    cells = ("['a.png', 'b.png']", "['a.png']", "a.png", None)
    path = tmp_path / "m_Q.json"
    path.write_text(json.dumps([{**row, "image_path": cell} for cell in cells]))
    rows = read_logs([path])[0].rows
    assert [row.image for row in rows] == ["a.png", "a.png", "a.png", ""]
    assert [row.pictures for row in rows] == [("a.png", "b.png"), (), (), ()]


def test_a_number_in_a_sheet_stays_the_text_that_was_answered(tmp_path: Path) -> None:
    import openpyxl  # type: ignore[import-untyped]

    book = openpyxl.Workbook()
    for row in (
        ["index", "question", "prediction"],
        [0, "How many?", 3],
        [1, "Which?", "Failed to obtain answer via API."],
    ):
        book.active.append(row)
    book.save(tmp_path / "m_X.xlsx")
    (log,) = read_logs([tmp_path / "m_X.xlsx"])
    assert log.rows[0].answer.text == "3"
    assert log.rows[1].answer.state == "error"


def test_a_pickle_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "model_POPE.pkl").write_bytes(b"\x80\x04.")
    with pytest.raises(AnswerError, match=pattern_of("log.pickle")):
        read_logs([tmp_path / "model_POPE.pkl"])


def test_old_logs_and_repeats_of_lmms_eval(tmp_path: Path) -> None:
    old = tmp_path / "pope.json"
    row = {
        "doc_id": 3,
        "doc": {"question_id": "q3", "question": "Is it?"},
        "target": "yes",
        "arguments": ["Is it?"],
    }
    old.write_text(
        json.dumps(
            {
                "args": {"model_args": "pretrained=a/b,dtype=x"},
                "logs": [{**row, "resps": [["Yes"]]}],
            }
        )
    )
    (log,) = read_logs([old])
    assert (log.rows[0].respondent, log.rows[0].ids, log.rows[0].answer.text) == (
        "a/b",
        ("q3",),
        "Yes",
    )
    new = write(
        tmp_path / "20260101_000000_samples_pope.jsonl",
        [{**row, "filtered_resps": ["Yes", "No", ""]}],
    )
    (log,) = read_logs([new])
    assert [(r.run, r.answer.text, r.answer.state) for r in log.rows] == [
        (0, "Yes", "ok"),
        (1, "No", "ok"),
        (2, "", "error"),
    ]


def test_a_score_of_repeats_is_of_the_first_reply_alone(tmp_path: Path) -> None:
    """Given to every reply, it would make a study of repeats perfectly reliable."""
    row = {"doc_id": 3, "doc": {"question": "Describe it."}, "resps": [["A dog.", "A cat."]]}
    (log,) = read_logs([write(tmp_path / "m_samples_t.jsonl", [{**row, "gpt_score": 1.0}])])
    assert [(r.run, r.score, r.scores) for r in log.rows] == [
        (0, 1.0, {"gpt_score": 1.0}),
        (1, None, {}),
    ]


def test_a_vote_of_repeats_is_the_score_of_no_reply(tmp_path: Path) -> None:
    """lm-eval writes a row for each filter; that of `maj@2` scores the most frequent answer."""
    row = {"doc_id": 3, "doc": {"question": "How many?"}, "resps": [["It is 4.", "It is 5."]]}
    path = write(
        tmp_path / "m_samples_t.jsonl",
        [
            {**row, "filter": "score-first", "filtered_resps": ["4"], "exact_match": 1.0},
            {**row, "filter": "maj@2", "filtered_resps": ["5"], "exact_match": 0.0},
        ],
    )
    results = {
        "results": {"t": {"exact_match,score-first": 1.0, "exact_match,maj@2": 0.0}},
        "model_name": "lab/m",
        "config": {"model_args": "pretrained=lab/base"},
    }
    (tmp_path / "m_results.json").write_text(json.dumps(results))
    (log,) = read_logs([path])
    assert set(log.respondents) == {"lab/m"}, "the run's own name before that of its weights"
    scored = [(row.run, row.score, row.scores) for row in log.rows if row.scores]
    assert scored == [(0, 1.0, {"exact_match,score-first": 1.0})]
    assert sorted(row.run for row in log.rows) == [0, 1]
    assert log.totals == {"exact_match,score-first": 1.0}
    assert text_of("log.joint-scores", names="exact_match,maj@2") in log.notes


def test_of_several_right_answers_none_alone_is_the_key(tmp_path: Path) -> None:
    lmms = {"doc_id": 3, "doc": {"question": "Which?"}, "resps": [["red"]]}
    sample = {"id": "q", "epoch": 1, "input": "Which?", "output": {}}
    inspect = {"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}, "plan": {}}
    record = {"evaluation_id": "e", "sample_id": "q", "model_id": "m"}
    path = tmp_path / "inspect.json"
    for right, key in ((["crimson", "red"], ""), (["red"], "red"), ("red", "red")):
        path.write_text(json.dumps({**inspect, "samples": [{**sample, "target": right}]}))
        paths = [
            path,
            write(tmp_path / "m_samples_t.jsonl", [{**lmms, "target": right}]),
            write(tmp_path / "e_samples.jsonl", [{**record, "input": {"reference": right}}]),
        ]
        assert [log.rows[0].key for log in read_logs(paths)] == [key] * 3


def test_a_log_of_inspect_names_its_form_and_the_options(tmp_path: Path) -> None:
    sample = {"id": "q", "epoch": 1, "input": "Which?", "output": {}, "target": "A"}
    run = {"task": "t", "model": "m", "task_args": {"form": "parallel"}}
    log = {"version": 2, "status": "success", "eval": run, "plan": {}}
    path = tmp_path / "inspect.json"
    path.write_text(json.dumps({**log, "samples": [{**sample, "choices": ["red", "blue"]}]}))
    (row,) = read_logs([path])[0].rows
    assert (row.form, row.options, row.key) == ("parallel", ("red", "blue"), "A")


def test_a_run_that_inspect_tried_again_is_one_run(tmp_path: Path) -> None:
    def sample(item: str, **fields: object) -> dict[str, object]:
        message = {"message": {"content": f"an answer to {item}"}, "stop_reason": "stop"}
        return {"id": item, "epoch": 1, "input": item, "output": {"choices": [message]}, **fields}

    failed = [sample("q1"), sample("q2", error={"message": "timed out"})]
    retried = [sample("q1"), sample("q2"), sample("q3")]
    # another run of the model, which failed at the same place, has a name of its own
    runs = {"1": ("T", failed), "2": ("T", failed[:1]), "3": ("T", retried), "4": ("U", failed)}
    for name, (task_id, samples) in runs.items():
        header = {"task": "t", "task_id": task_id, "model": "m"}
        log = {"version": 2, "status": "error", "eval": header, "plan": {}, "samples": samples}
        (tmp_path / f"{name}.json").write_text(json.dumps(log))
    logs = read_logs([tmp_path])
    assert [[row.id for row in log.rows] for log in logs] == [
        [],
        [],
        ["q1", "q2", "q3"],
        ["q1", "q2"],
    ]
    path = tmp_path / "3.json"
    assert [tells(log.notes[-1], "log.continued", path=path) for log in logs[:2]] == [True, True]


def test_perturbed_questions_of_helm_are_left_out_and_said(tmp_path: Path) -> None:
    instance = {"id": "id1", "input": {"text": "Is it?"}}
    states = [{"instance": instance}, {"instance": {**instance, "perturbation": {"name": "typos"}}}]
    path = tmp_path / "scenario_state.json"
    path.write_text(json.dumps({"adapter_spec": {"model": "m"}, "request_states": states}))
    (log,) = read_logs([path])
    assert (len(log.rows), log.notes) == (1, (text_of("log.perturbed", n=1),))


def test_unchanged_copies_of_helm_are_left_out_beside_their_original(tmp_path: Path) -> None:
    """HELM's `identity` is a perturbation that changes nothing."""
    instance = {"id": "id1", "input": {"text": "Is it?"}}
    alone = {"id": "id2", "input": {"text": "Is it?"}, "perturbation": {"name": "identity"}}
    states = [
        {"instance": instance},
        {"instance": {**instance, "perturbation": {"name": "identity"}}},
        {"instance": alone},
    ]
    path = tmp_path / "scenario_state.json"
    path.write_text(json.dumps({"adapter_spec": {"model": "m"}, "request_states": states}))
    (log,) = read_logs([path])
    assert [row.ids[0].rpartition("/")[2] for row in log.rows] == ["id1", "id2"]
    assert log.notes == (text_of("log.copies", n=1),)


def write_helm_run(folder: Path, model: str, subject: str) -> None:
    """A run of VHELM: two instances with one text and other pictures, and one without a score."""
    name = f"mmmu:subject={subject},model={model}"
    states = []
    stats = []
    for n, answer in enumerate(("a dog", "a cat", "a cow")):
        media = [{"content_type": "text/plain", "text": "What is this?"}]
        media.append({"content_type": "image/png", "location": f"/x/{subject}_{n}.png"})
        if n == 2:
            media.append({"content_type": "image/png", "location": "/x/second.png"})
        reference = {"output": {"text": "a dog"}, "tags": ["correct"]}
        question = {"text": "", "multimedia_content": {"media_objects": media}}
        instance = {"id": f"id{n}", "input": question, "references": [reference]}
        result = {"success": True, "completions": [{"text": answer}]}
        states.append({"instance": instance, "train_trial_index": 0, "result": result})
        for metric, value in {"quasi_exact_match": n == 0, "num_prompt_tokens": 9}.items():
            stat = {"name": {"name": metric, "split": "valid"}, "count": 1, "mean": float(value)}
            unit = {"instance_id": f"id{n}", "train_trial_index": 0, "stats": [stat]}
            stats.append(unit)
        # its own scores are those of the question as it is
        stats.append({**unit, "perturbation": {"name": "typos"}})
    files = {
        "scenario_state": {"adapter_spec": {"model": model}, "request_states": states},
        "per_instance_stats": stats,
        "run_spec": {"name": name},
        "scenario": {"name": "mmmu"},
    }
    folder.mkdir()
    for file, value in files.items():
        (folder / f"{file}.json").write_text(json.dumps(value))


def test_runs_of_helm_have_its_scenario_pictures_and_scores(tmp_path: Path) -> None:
    for n, (model, subject) in enumerate(product(("a/x", "b/y"), ("Art", "Law"))):
        write_helm_run(tmp_path / f"run{n}", model, subject)
    (benchmark,) = benchmarks_of_logs(read_logs([tmp_path]))
    assert (benchmark.name, benchmark.original.types) == (
        "mmmu",
        ("mmmu:subject=Art", "mmmu:subject=Law"),
    )
    items = benchmark.original.items
    assert [item.prompt for item in items] == ["What is this?"] * 6
    assert [item.image for item in items[:2]] == ["/x/Art_0.png", "/x/Art_1.png"]
    assert items[2].pictures == ("/x/Art_2.png", "/x/second.png")
    assert names_of(benchmark.metrics) == ["quasi_exact_match"]
    assert [record.respondent for record in benchmark.included_recordings] == ["a/x", "b/y"]
    for recording in benchmark.included_recordings:
        details = [answer.detail[RECORDED_SCORES] for answer in recording.answers.values()]
        assert [scores[""]["quasi_exact_match"] for scores in details] == [1.0, 0.0, 0.0] * 2
    # a log that was taken out of its folder has the name that the folder had
    path = tmp_path / "mmmu:subject=Art,model=c.json"
    path.write_text((tmp_path / "run0" / "scenario_state.json").read_text())
    (log,) = read_logs([path])
    assert {(row.task, row.parts, row.score) for row in log.rows} == {
        ("mmmu", ("mmmu:subject=Art",), None)
    }


def write_opencompass(folder: Path, layout: str) -> None:
    """Predictions of two models about two data sets, and results in one of the layouts."""
    for (model, right), topic in product({"alpha": 3, "beta": 1}.items(), ("law", "maths")):
        predictions: dict[str, Any] = {}
        details: list[dict[str, Any]] = []
        for n in range(4):
            turns = [{"role": "HUMAN", "prompt": "Shot?"}, {"role": "BOT", "prompt": "A"}]
            prompt = [*turns, {"role": "HUMAN", "prompt": f"{topic} {n}?"}]
            said = "A" if n < right else "B"
            kept = {"origin_prompt": prompt, "prediction": f"It is {said}.", "gold": "A"}
            predictions[str(n)] = kept
            verdict: dict[str, Any] = {"pred": said, "answer": "A", "correct": said == "A"}
            if layout == "formatted":
                names = dict(zip(verdict, ("predictions", "references", "correct"), strict=True))
                verdict = {names[name]: value for name, value in verdict.items()}
                verdict |= {"prompt": prompt, "origin_prediction": kept["prediction"]}
            elif layout == "grouped":
                verdict = {name: [value] for name, value in verdict.items()}
                verdict |= {"example_abbr": f"{topic}_{n}"}
            details.append(verdict)
        numbered = {"type": "GEN", **dict(zip("0123", details, strict=True))}
        result = {
            "accuracy": 25.0 * right,
            "details": numbered if layout == "formatted" else details,
        }
        for kind, value in {"predictions": predictions, "results": result}.items():
            path = folder / kind / model / f"{topic}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(value))


@pytest.mark.parametrize("layout", ["formatted", "listed", "grouped"])
@pytest.mark.parametrize("named", ["", "results", "predictions"])
def test_results_of_opencompass_are_read(tmp_path: Path, layout: str, named: str) -> None:
    write_opencompass(tmp_path, layout)
    benchmarks = benchmarks_of_logs(read_logs([tmp_path / named]))
    assert names_of(benchmarks) == ["law", "maths"]
    for benchmark in benchmarks:
        assert [item.target for item in benchmark.original.items] == ["A"] * 4
        assert benchmark.original.items[3].prompt == f"{benchmark.name} 3?"
        assert [record.respondent for record in benchmark.included_recordings] == ["alpha", "beta"]
        for record, n_right in zip(benchmark.included_recordings, (3, 1), strict=True):
            answers = list(record.answers.values())
            said = ["It is A."] * n_right + ["It is B."] * (4 - n_right)
            assert [answer.text for answer in answers] == said
            if named != "predictions":
                details = [answer.detail[RECORDED_SCORES][""] for answer in answers]
                assert [detail["correct"] for detail in details] == [s == "It is A." for s in said]
        if named != "predictions":
            assert tells(" ".join(benchmark.notes), "log.totals", totals=2)


def test_examples_that_opencompass_asks_several_times_are_runs(tmp_path: Path) -> None:
    verdicts = {"pred": ["A", "B"], "answer": ["A", "A"], "correct": [True, False]}
    details = [{**verdicts, "example_abbr": f"law_{n}"} for n in range(3)]
    predictions = {str(n): {"origin_prompt": "?", "prediction": "A"} for n in range(6)}
    for kind, value in {"results": {"details": details}, "predictions": predictions}.items():
        path = tmp_path / kind / "m" / "law.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(value))
    (benchmark,) = benchmarks_of_logs(read_logs([tmp_path]))
    runs = [(record.run, len(record.answers)) for record in benchmark.included_recordings]
    assert (len(benchmark.original), runs) == (3, [(0, 3), (1, 3)])


@pytest.mark.parametrize(
    ("stem", "respondent", "dataset"),
    [
        ("llava_MMBench_DEV_EN_openai_result", "llava", "MMBench_DEV_EN"),
        ("llava_v1.5_7b_MMBench_TEST_CN_V11", "llava_v1.5_7b", "MMBench_TEST_CN_V11"),
        ("Qwen2-VL_MMMU_DEV_VAL_gpt-4o-mini_result", "Qwen2-VL", "MMMU_DEV_VAL"),
        ("GPT_VAL_POPE_auxmatch", "GPT_VAL", "POPE"),
    ],
)
def test_a_data_set_of_vlmevalkit_has_words_of_its_own(
    tmp_path: Path, stem: str, respondent: str, dataset: str
) -> None:
    path = tmp_path / f"{stem}.json"
    path.write_text(json.dumps([{"index": 1, "question": "?", "answer": "A", "prediction": "A"}]))
    ((row,),) = [log.rows for log in read_logs([path])]
    assert (row.respondent, row.task) == (respondent, dataset)


@pytest.mark.parametrize(
    ("target", "options", "right"),
    [("1", None, "B"), ("cat", None, "B"), ("B", ["dog", "cat"], "B"), (1, ["dog", "cat"], "B")],
)
def test_options_whose_likelihoods_were_compared_are_answers(
    tmp_path: Path, target: object, options: list[str] | None, right: str
) -> None:
    """lm-eval chooses the option with the greatest likelihood."""
    records = []
    for n, logs_of_options in enumerate(((-3.0, -1.5), (-1.0, -20.0))):
        said = [[[str(value), "False"]] for value in logs_of_options]
        words = ("A", "B") if options else ("dog", "cat")
        requests = {
            f"gen_args_{k}": {"arg_0": f"What is {n}?", "arg_1": f" {word}"}
            for k, word in enumerate(words)
        }
        doc = {"question": f"What is {n}?", **({"choices": options} if options else {})}
        record = {"doc_id": n, "doc": doc, "target": target, "arguments": requests, "resps": said}
        filtered = [pair for (pair,) in said]
        records.append({**record, "filtered_resps": filtered, "acc": float(n == 0)})
    path = write(tmp_path / "samples_pets_2025.jsonl", records)
    (benchmark,) = benchmarks_of_logs(read_logs([path]))
    items = benchmark.original.items
    assert [(item.options, item.target) for item in items] == [(("dog", "cat"), right)] * 2
    (recording,) = benchmark.included_recordings
    assert [answer.text for answer in recording.answers.values()] == ["B", "A"]
    assert names_of(benchmark.metrics) == ["acc"]
    alone = [{**record, "resps": record["resps"][:1]} for record in records]
    with pytest.raises(AnswerError, match=pattern_of("log.one_likelihood")):
        read_logs([write(path, alone)])


def test_nobody_changes_the_readers_of_all_by_changing_what_is_returned() -> None:
    readers: Any = known_readers()
    with pytest.raises(TypeError):
        readers["mine"] = None
    assert "mine" not in known_readers()


def test_whole_ids_of_vlmevalkit_are_the_same_in_every_file(tmp_path: Path) -> None:
    paths = []
    for model, ids in (("a", ("1.0", "2.0")), ("b", ("1", "2"))):
        paths.append(tmp_path / f"{model}_MMBench.tsv")
        rows = [f"{name}\tIs it?\tyes" for name in ids]
        paths[-1].write_text("\n".join(["index\tquestion\tprediction", *rows]))
    first, second = read_logs(paths)
    assert [row.ids for row in first.rows] == [row.ids for row in second.rows] == [("1",), ("2",)]


@pytest.mark.parametrize(
    ("file", "respondent", "task"),
    [
        ("gpt_4_MMBench", "gpt_4", "MMBench"),
        ("gpt_4/gpt_4_MM_Bench", "gpt_4", "MM_Bench"),
        ("gpt_4/T20250101_G0a1b2c3d/gpt_4_MM_Bench", "gpt_4", "MM_Bench"),
        ("gpt4", "gpt4", ""),
    ],
)
def test_a_file_of_vlmevalkit_is_named_after_model_and_data_set(
    file: str, respondent: str, task: str, tmp_path: Path
) -> None:
    path = tmp_path / f"{file}.tsv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("index\tquestion\tprediction\n1\tIs it?\tyes")
    (row,) = read_logs([path])[0].rows
    assert (row.respondent, row.task) == (respondent, task)


def test_records_of_every_eval_ever(tmp_path: Path) -> None:
    row = {
        "schema_version": "0.3.0",
        "evaluation_id": "e",
        "model_id": "org/m",
        "evaluation_name": "pope",
        "sample_id": "q1",
        "interaction_type": "single_turn",
        "input": {"raw": "Is it?", "reference": ["yes"]},
        "output": {"raw": ["Yes."]},
        "answer_attribution": [
            {
                "turn_idx": 0,
                "source": "output.raw",
                "extracted_value": "yes",
                "extraction_method": "regex",
                "is_terminal": True,
            }
        ],
        "evaluation": {"score": 1.0, "is_correct": True},
        "metadata": {"run": "2", "form": "parallel", "image": "a.jpg"},
    }
    (log,) = read_logs([write(tmp_path / "x_samples.jsonl", [row])])
    first = log.rows[0]
    assert (first.respondent, first.run, first.form, first.read, first.score) == (
        "org/m",
        2,
        "parallel",
        "yes",
        1.0,
    )


# --- matching ---


def test_a_row_that_contradicts_its_id_is_matched_by_picture_and_question_instead() -> None:
    form = questions(("0", "a.jpg", "Is there a dog?"), ("1", "b.jpg", "Is there a cat?"))
    rows = [make_row(f"Is there a cat?{POST}", ids=("0",), image="b.jpg")]
    matched = match_rows(rows, form)
    assert matched.items == {0: ("1",)}
    assert matched.cue_counts == {"picture and question": 1}


def test_equal_questions_of_several_parts_take_their_rows_in_order_and_different_ones_stay_ambiguous() -> (
    None
):
    items = [
        Item(f"{part}/1", "Is there a dog?", "yes_no", "yes", "a.jpg", part=part)
        for part in ("random", "popular")
    ]
    second_item = Item("popular/2", "Is there a dog?", "yes_no", "no", "b.jpg", part="popular")
    form = Form("original", tuple(items))
    two = match_rows([make_row("Is there a dog?"), make_row("Is there a dog?")], form)
    assert two.items == {0: ("random/1",), 1: ("popular/1",)}
    assert match_rows([make_row("Is there a dog?")], form).items == {0: ("random/1", "popular/1")}
    assert match_rows(
        [make_row("Is there a dog?")], Form("original", (*items, second_item))
    ).ambiguous == (0,)


def test_the_row_number_decides_only_where_nothing_better_is_there() -> None:
    form = questions(("1", "a.jpg", "Describe this image."), ("2", "b.jpg", "Describe this image."))
    rows = [
        make_row("Describe this image", position=1),
        make_row("Describe this image", position=0),
    ]
    assert match_rows(rows, form).items == {0: ("2",), 1: ("1",)}
    log_rows = [
        make_row("Describe this image", position=1, image="a.jpg"),
        make_row("Describe this image", position=0, image="b.jpg"),
    ]
    assert match_rows(log_rows, form).items == {0: ("1",), 1: ("2",)}
    assert match_rows(
        [make_row("Describe this image"), make_row("Describe this image")], form
    ).ambiguous == (0, 1)


def test_llava_1_5_on_pope_joins_by_the_question_file_beside(logs: Path) -> None:
    pope = load("pope")
    import_result = take_logs(
        {"original": pope.original},
        [logs / "llava" / "llava-v1.5-7b_pope.jsonl"],
        spelling=pope.spelled,
    )
    (recording,) = import_result.recordings
    assert import_result.matchings[0].complete
    assert len(recording.answers) == 5712
    adversarial = [
        (pope.original.by_id[k], a)
        for k, a in recording.answers.items()
        if k.startswith("coco_adversarial/")
    ]
    right = sum(pope.verdict(item, answer).value or 0 for item, answer in adversarial)
    # the same file through POPE's own reader, which other tests hold
    scored = score_file(pope, logs / "llava" / "llava-v1.5-7b_pope.jsonl", "coco_adversarial")
    assert scored.metrics["accuracy"] == pytest.approx(right / 3000)


# --- files into runs ---


def test_files_of_one_model_are_respondents_or_runs_and_a_copy_is_noticed(
    dogs: Path, tmp_path: Path
) -> None:
    benchmark = load(str(dogs))
    forms = {"original": benchmark.original}

    def rows(answer: str) -> list[dict[str, Any]]:
        return [
            {"question_id": i.id, "prompt": i.prompt + POST, "text": answer, "model_id": "m"}
            for i in benchmark.original.items
        ]

    first = write(tmp_path / "a.jsonl", rows("Yes"))
    second_log = write(tmp_path / "b.jsonl", rows("No"))
    shutil.copy(first, tmp_path / "c.jsonl")
    import_result = take_logs(forms, [first, second_log, tmp_path / "c.jsonl"])
    assert [(r.respondent, r.run, len(r.answers)) for r in import_result.recordings] == [
        ("m a", 0, 12),
        ("m b", 0, 12),
    ]
    assert "byte for byte" in import_result.notes[0]
    said = "\n".join(import_result.notes)
    assert tells(said, "door.files", respondent="m", n=2, names="m a and m b")
    as_runs = take_logs(forms, [first, second_log], LogSettings(files="runs"))
    assert [(r.respondent, r.run) for r in as_runs.recordings] == [("m", 0), ("m", 1)]
    # the names of files may say that they are runs
    for path, name in ((first, "m-run1.jsonl"), (second_log, "m-run2.jsonl")):
        shutil.copy(path, tmp_path / name)
    by_name = take_logs(forms, [tmp_path / "m-run1.jsonl", tmp_path / "m-run2.jsonl"])
    assert [(r.respondent, r.run) for r in by_name.recordings] == [("m", 0), ("m", 1)]
    renamed = take_logs(forms, [first], LogSettings(respondent="other", run=3))
    assert (renamed.recordings[0].respondent, renamed.recordings[0].run) == ("other", 3)


def test_rows_that_match_nothing_are_named_and_left_out_only_when_asked(
    dogs: Path, tmp_path: Path
) -> None:
    benchmark = load(str(dogs))
    item = benchmark.original.items[0]
    good = {"question_id": item.id, "prompt": item.prompt, "text": "Yes", "model_id": "m"}
    path = write(
        tmp_path / "a.jsonl",
        [good, *[{**good, "question_id": f"x{i}", "prompt": f"Why {i}?"} for i in range(5)]],
    )
    with pytest.raises(
        AnswerError,
        match=pattern_of(
            "log.unmatched", matched=1, rows=6, unmatched=5, record=2, question="Why 0?"
        )
        + ".*and 2 more",
    ) as error:
        take_logs({"original": benchmark.original}, [path])
    assert "--partial" in str(error.value)
    import_result = take_logs({"original": benchmark.original}, [path], LogSettings(partial=True))
    assert list(import_result.recordings[0].answers) == [item.id]
    assert len(import_result.matchings[0].unmatched) == 5


def test_scores_alone_are_read_for_yes_no_questions(dogs: Path, tmp_path: Path) -> None:
    benchmark = load(str(dogs))
    lines = [f"{item.id},m,{i % 2}" for i, item in enumerate(benchmark.original.items)]
    path = tmp_path / "scores.csv"
    path.write_text("\n".join(["item,respondent,score", *lines]))
    import_result = take_logs({"original": benchmark.original}, [path])
    (compared,) = compare_scores(
        benchmark, {"original": benchmark.original}, import_result.recordings
    )
    assert compared.tool_mean == compared.hqm_mean == 0.5
    assert not compared.differences


# --- the commands ---


def test_import_says_what_matched_and_the_audit_goes_on_from_there(
    logs: Path, tmp_path: Path, run: Run
) -> None:
    store = tmp_path / "store.sqlite"
    files = [logs / "lmms_eval" / "writer_only", logs / "inspect" / "llava_6x2.eval"]
    status, output, _ = run("import", *files, "--benchmark", "shapes_yesno", "--store", store)
    assert status == 0
    assert "24 of 24 rows matched (24 by id)" in output
    assert "36 new answers" in output
    assert tells(output, "tool.punctuation")
    assert (
        "0 new answers" in run("import", *files, "--benchmark", "shapes_yesno", "--store", store)[1]
    )
    status, output, _ = run(
        "audit", "shapes_yesno", "--offline", "--store", store, "--out", tmp_path / "out", "--quiet"
    )
    assert status == 0
    assert (tmp_path / "out" / "report.html").exists()


def test_audit_and_score_take_a_log_as_it_is(logs: Path, tmp_path: Path, run: Run) -> None:
    archive = logs / "inspect" / "llava_6x2.eval"
    status, _, err = run(
        "audit", "shapes_yesno", "--recorded", archive, "--out", tmp_path / "out", "--quiet"
    )
    assert status == 0, err
    audit = json.loads((tmp_path / "out" / "audit.json").read_text())["audits"][0]
    assert audit["items"] == 1008  # the benchmark's, of which the log answers six
    (respondent,) = audit["respondents"]
    states = respondent["states"][audit["reference"]]
    assert (states["ok"], states["missing"]) == (6, 1002)
    samples = next((logs / "lmms_eval" / "writer_only").glob("*.jsonl"))
    status, output, _ = run("score", "shapes_yesno", "--answers", samples, "--json")
    scored = json.loads(output)
    assert status == 0
    assert scored["recorded"]["tool_mean"] == 0
    assert scored["metrics"]["accuracy"] > 0.9


def test_a_log_of_another_benchmark_is_refused(logs: Path, tmp_path: Path, run: Run) -> None:
    status, _, err = run(
        "import", logs / "lmms_eval" / "real_run", "--benchmark", "pope", "--store", tmp_path / "s"
    )
    assert status == 1
    assert "0 of 24 rows matched (none)" in err


def test_options_for_logs_need_a_benchmark(tmp_path: Path, run: Run) -> None:
    status, _, err = run(
        "import", tmp_path / "x.jsonl", "--from", "inspect", "--store", tmp_path / "s"
    )
    assert status != 0
    assert "--benchmark" in err


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no archive", b"\xff\xfe"])
def test_a_broken_archive_ends_in_a_sentence(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    path.write_bytes(content)
    with pytest.raises(HQMError, match="no archive that inspect wrote"):
        read_logs([path])


def test_without_pyarrow_the_remedy_is_named(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(HQMError, match=r"hqm-audit\[logs\]"):
        read_logs([logs / "inspect" / "llava_6x2.eval"])


# --- one row, one matcher, one reader a file ---


def test_a_reader_is_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that lies in the package is recognised, can be named, and is listed."""
    from hqm.imports import detect, readers

    (tmp_path / "plugin").mkdir()
    (tmp_path / "plugin" / "parrot.py").write_text(
        "from hqm.imports.row import Log, Row\n"
        "from hqm.types import Response\n"
        "SOURCE = 'parrot'\n"
        "def is_log(file):\n"
        "    return any('squawk' in record for record in file.first)\n"
        "def read_log(file):\n"
        "    rows = [\n"
        "        Row(place=f'{file.path}: record {i}', ids=(r['of'],), respondent='parrot',\n"
        "            answer=Response(r['squawk']))\n"
        "        for i, r in enumerate(file.records, 1)\n"
        "    ]\n"
        "    return Log(path=str(file.path), tool='Parrot 1', rows=tuple(rows))\n"
    )
    path = write(tmp_path / "a.jsonl", [{"of": "y0000", "squawk": "Yes"}])
    before = list(detect.known_readers())
    assert not detect.written_by_tool(path)
    monkeypatch.setattr(readers, "__path__", [*readers.__path__, str(tmp_path / "plugin")])
    detect.known_readers.cache_clear()
    try:
        assert sorted(detect.known_readers()) == sorted([*before, "parrot"])
        assert detect.written_by_tool(path)
        for source in ("auto", "parrot"):
            (log,) = read_logs([path], source)
            assert (log.tool, log.rows[0].ids) == ("Parrot 1", ("y0000",))
        form = load("shapes_yesno").original
        import_result = take_logs({"original": form}, [path])
        assert import_result.matchings[0].counts.startswith("1 of 1 rows matched (1 by id)")
    finally:
        detect.known_readers.cache_clear()
        sys.modules.pop("hqm.imports.readers.parrot", None)


def test_every_door_matches_a_row_alike(tmp_path: Path) -> None:
    """What says the same of its question finds the same item, as an answer, a judgement or a key;
    and all are counted in the same words.
    """
    from hqm.benchmark.corrected_keys import read_key
    from hqm.judges.judgements import JudgementSource, import_judgements

    benchmark = load("shapes_yesno")
    forms = {"original": benchmark.original}
    items = benchmark.original.items[:3]
    asks = [{"question_id": i.id, "image": i.image, "question": i.prompt + POST} for i in items]
    asks[1]["question_id"] = "7"  # an id of another copy: the picture and the question decide
    asks[2]["question"] = "Is the sky blue?"  # the id of one item, the question of none
    answers = write(tmp_path / "a.jsonl", [{**ask, "prediction": "Yes"} for ask in asks])
    import_result = take_logs(forms, [answers], LogSettings(source="table", partial=True))
    (recording,), (of_answers,) = import_result.recordings, import_result.matchings
    marks = write(tmp_path / "j.jsonl", [{**ask, "respondent": "a", "verdict": 1} for ask in asks])
    judged = import_judgements(
        benchmark, forms, [JudgementSource(marks, judge="j")], ["a"], partial=True
    )
    (of_marks,) = judged.matchings
    assert (
        list(recording.answers) == list(judged.sets[0].outputs) == [item.id for item in items[:2]]
    )
    for report in (of_answers, of_marks):
        assert (report.rows, report.matched, report.items, report.n_items) == (
            3,
            2,
            2,
            len(benchmark.original),
        )
        assert report.cue_counts == {"id": 1, "picture and question": 1}
        assert len(report.contradicting) == 1
        assert "Is the sky blue?" in report.contradicting[0]
        assert (report.unmatched, report.ambiguous) == ((), ())
    assert of_answers.counts.replace("answered", "judged") == of_marks.counts
    release = write(tmp_path / "k.jsonl", [{**ask, "label": "yes"} for ask in asks[:2]])
    assert list(read_key(release, benchmark).targets) == list(recording.answers)
    with pytest.raises(HQMError, match="Is the sky blue"):
        read_key(write(release, [{**ask, "label": "yes"} for ask in asks]), benchmark)


def test_keys_that_contradict_the_benchmark_are_counted_and_said(
    logs: Path, tmp_path: Path, run: Run
) -> None:
    """Six keys of a real file are turned: its answers are taken, and they are counted. With all of
    them it is refused, as it answers another release.
    """
    log_text = (logs / "vlmevalkit" / "model_steady_POPE.tsv").read_text()
    turned = {'\t"Yes"\t': '\t"No"\t', '\t"No"\t': '\t"Yes"\t'}
    path = tmp_path / "model_steady_POPE.tsv"
    path.write_text(re.sub("|".join(turned), lambda key: turned[key[0]], log_text))
    form = load("shapes_yesno").original
    with pytest.raises(AnswerError, match="24 of 24 rows"):
        take_logs({"original": form}, [path])
    path.write_text(re.sub("|".join(turned), lambda key: turned[key[0]], log_text, count=6))
    for file, n in ((logs / "vlmevalkit" / path.name, 0), (path, 6)):
        (report,) = take_logs({"original": form}, [file]).matchings
        assert (report.matched, report.other_keys) == (24, n)
    status, output, _ = run(
        "import", path, "--benchmark", "shapes_yesno", "--store", tmp_path / "s"
    )
    assert status == 0
    assert tells(output, "import.other-keys", n=6)
