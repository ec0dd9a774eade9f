"""Records of Every Eval Ever: what a store becomes, that the schema's own validator takes it, and
that it comes back.
"""

import hashlib
import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hqm_eee.evaluation_records import model_info

import hqm
from hqm.imports.detect import read_logs
from tests.conftest import Run
from tests.judge_server import JudgeServer
from tests.messages import tells
from tests.test_judges import answers, facts, reply, server  # noqa: F401

PYTHON = os.environ.get("HQM_EEE", "")
"""The Python of an environment that has the package every-eval-ever (it needs Python 3.12)."""

ANSWERS = [
    "Yes.",
    "No.",
    "Yes",
    "Yes",
    "I cannot say anything about it.",
    "",
    "yes it is",
    "no",
    "Yes.",
    "Yes.",
    "Yes",
    "no",
]
STATES = {5: "error", 6: "truncated", 7: "refused"}


@pytest.fixture
def store(dogs: Path, tmp_path: Path, run: Run) -> Path:
    """Two respondents over two forms and two runs, with an unreadable, a missing, a cut and a
    refused answer among them.
    """
    rows: list[dict[str, Any]] = []
    for shift, name in enumerate(("one-model", "lab/other-model:7b")):
        for form, times in (("original", 2), ("parallel", 1)):
            for run_index in range(times):
                for i in range(12):
                    answer = ANSWERS[(i + shift + run_index) % 12]
                    state = STATES.get(i, "ok") if name == "one-model" and not run_index else "ok"
                    row = {
                        "respondent": name,
                        "form": form,
                        "run": run_index,
                        "item": f"q{i}",
                        "answer": answer,
                    }
                    rows.append(
                        {
                            **row,
                            "state": state,
                            "reason": "the server said no" if state == "error" else "",
                        }
                    )
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    _, output, err = run(
        "audit", "--no-report", dogs, "--recorded", path, "--store", tmp_path / "store.sqlite", "-q"
    )
    assert "read 72" in output, err
    return tmp_path / "store.sqlite"


@pytest.fixture
def exported(store: Path, dogs: Path, tmp_path: Path, run: Run) -> Path:
    folder = tmp_path / "shared"
    status, _, err = run("export", store, "--to", "eee", "--out", folder, "--benchmark", dogs)
    assert status == 0, err
    return folder


def aggregates(folder: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    for path in sorted(folder.rglob("*.json")):
        yield path, json.loads(path.read_text())


def rows_of(folder: Path, record: Mapping[str, Any]) -> list[dict[str, Any]]:
    path = folder / record["detailed_evaluation_results"]["file_path"]
    return [json.loads(line) for line in path.read_text().splitlines()]


def scores(run: Run, dogs: Path, store: Path, out_dir: Path) -> dict[str, Any]:
    """Respondent -> everything that the audit of a store says of its scores and states."""
    status, _, err = run("audit", dogs, "--offline", "--store", store, "--out", out_dir)
    assert status == 0, err
    audit = json.loads((out_dir / "audit.json").read_text())["audits"][0]
    return {
        respondent["name"]: {
            key: respondent[key] for key in ("scores", "cells", "states", "yes_ratio")
        }
        for respondent in audit["respondents"]
    }


def test_every_administration_becomes_a_pair_of_files_at_the_place_that_the_schema_wants(
    exported: Path,
) -> None:
    records = list(aggregates(exported))
    assert len(records) == 6  # two respondents, the original form twice and the parallel form once
    assert len({record["evaluation_id"] for _, record in records}) == 6
    for path, record in records:
        relative = path.relative_to(exported)
        developer, model = record["model_info"]["id"].split("/")
        assert relative.parts[:4] == ("data", "mine", developer, model)
        detail = record["detailed_evaluation_results"]
        assert detail["file_path"] == relative.with_name(f"{path.stem}_samples.jsonl").as_posix()
        samples = exported / detail["file_path"]
        assert detail["checksum"] == hashlib.sha256(samples.read_bytes()).hexdigest()
        rows = rows_of(exported, record)
        assert detail["total_rows"] == len(rows) == 12
        assert {(row["evaluation_id"], row["model_id"]) for row in rows} == {
            (record["evaluation_id"], record["model_info"]["id"])
        }
        assert len({(row["metadata"]["form"], row["metadata"]["run"]) for row in rows}) == 1
    models = {record["model_info"]["id"] for _, record in records}
    assert models == {"unspecified/one-model", "lab/other-model_7b"}


def test_a_row_has_the_question_the_key_the_answer_and_what_the_schema_has_no_field_for(
    exported: Path,
) -> None:
    (record,) = [
        record
        for _, record in aggregates(exported)
        if "one-model" in record["evaluation_id"]
        and record["evaluation_id"].startswith("mine.original.run0")
    ]
    rows = {row["sample_id"]: row for row in rows_of(exported, record)}
    first = rows["q0"]
    assert first["input"]["raw"] == first["input"]["formatted"] == "Is there a dog in the image?"
    assert first["input"]["reference"] == ["yes"]
    assert first["sample_hash"] == hashlib.sha256(b"Is there a dog in the image?yes").hexdigest()
    assert first["output"]["raw"] == ["Yes."]
    assert first["answer_attribution"][0]["extracted_value"] == "yes"
    assert first["evaluation"] == {"score": 1.0, "is_correct": True}
    assert {
        key: first["metadata"][key] for key in ("form", "run", "image", "type", "state", "scored")
    } == {
        "form": "original",
        "run": "0",
        "image": "0.png",
        "type": "existence",
        "state": "ok",
        "scored": "true",
    }
    # what was not scored is there with its state, and says that its score is none
    unscored = {
        key: row["metadata"]["state"]
        for key, row in rows.items()
        if row["metadata"]["scored"] == "false"
    }
    assert unscored == {"q4": "unparsed", "q5": "error", "q7": "refused"}
    assert all(rows[key]["error"] and not rows[key]["answer_attribution"] for key in unscored)
    assert rows["q5"]["metadata"]["reason"] == "the server said no"
    (accuracy,) = [
        r for r in record["evaluation_results"] if r["metric_config"]["metric_id"] == "accuracy"
    ]
    right = [
        row["evaluation"]["score"] for row in rows.values() if row["metadata"]["scored"] == "true"
    ]
    assert accuracy["score_details"]["score"] == pytest.approx(sum(right) / len(right))
    assert accuracy["score_details"]["details"]["unscored"] == "3"
    assert accuracy["score_details"]["details"]["state.refused"] == "1"
    uncertainty = accuracy["score_details"]["uncertainty"]
    assert uncertainty["num_samples"] == 9
    interval = uncertainty["confidence_interval"]
    assert 0 <= interval["lower"] < accuracy["score_details"]["score"] < interval["upper"] <= 1
    # the delete-one-picture jackknife, written out here
    pictures = sorted({row["metadata"]["image"] for row in rows.values()})
    leave_one_out = []
    for picture in pictures:
        remaining = [
            row["evaluation"]["score"]
            for row in rows.values()
            if row["metadata"]["scored"] == "true" and row["metadata"]["image"] != picture
        ]
        leave_one_out.append(sum(remaining) / len(remaining))
    mean = sum(leave_one_out) / len(leave_one_out)
    error = (
        (len(leave_one_out) - 1) / len(leave_one_out) * sum((w - mean) ** 2 for w in leave_one_out)
    ) ** 0.5
    assert uncertainty["standard_error"]["value"] == pytest.approx(error)
    assert {row["evaluation_result_id"] for row in rows.values()} == {
        accuracy["evaluation_result_id"]
    }


def test_the_picture_is_hashed_where_it_is_there(tmp_path: Path, run: Run) -> None:
    folder = tmp_path / "answers.jsonl"
    all_items = hqm.load("shapes_yesno").original.items
    items = [next(item for item in all_items if item.image == f"scene-00{i}.png") for i in range(3)]
    folder.write_text(
        "".join(json.dumps({"item": item.id, "answer": "Yes"}) + "\n" for item in items)
    )
    assert (
        run(
            "audit",
            "--no-report",
            "shapes_yesno",
            "--recorded",
            folder,
            "--store",
            tmp_path / "s.sqlite",
            "-q",
        )[0]
        == 0
    )
    status, output, err = run(
        "export", tmp_path / "s.sqlite", "--to", "eee", "--out", tmp_path / "eee"
    )
    assert status == 0, err
    assert tells(output, "eee.written", records=1, answers=3, unscored=0)
    (record,) = [record for _, record in aggregates(tmp_path / "eee")]
    for row, item in zip(rows_of(tmp_path / "eee", record), items, strict=True):
        picture = hqm.load("shapes_yesno").pictures.path(item.image)  # type: ignore[arg-type]
        assert row["metadata"]["image_sha256"] == hashlib.sha256(picture.read_bytes()).hexdigest()
    # three of 1,008 items were asked: the interval counts no others
    (accuracy,) = [
        r for r in record["evaluation_results"] if r["metric_config"]["metric_id"] == "accuracy"
    ]
    assert accuracy["score_details"]["uncertainty"]["num_samples"] == 3
    interval = accuracy["score_details"]["uncertainty"]["confidence_interval"]
    assert interval["upper"] - interval["lower"] > 0.3
    assert accuracy["source_data"]["additional_details"]["items"] == "3"


def test_the_records_come_back_with_the_same_scores_and_states(
    exported: Path, store: Path, dogs: Path, tmp_path: Path, run: Run
) -> None:
    reimported = tmp_path / "again.sqlite"
    status, output, err = run("import", exported, "--benchmark", dogs, "--store", reimported)
    assert status == 0, err
    assert output.count("12 of 12 rows matched (12 by id)") == 6
    assert output.count("0 answers differ") == 6
    before, after = (
        scores(run, dogs, store, tmp_path / "before"),
        scores(run, dogs, reimported, tmp_path / "after"),
    )
    assert set(before) == set(after) == {"recorded/one-model", "recorded/lab/other-model:7b"}
    assert before == after


def test_a_second_export_writes_over_the_first(
    exported: Path, store: Path, dogs: Path, run: Run
) -> None:
    names = sorted(path.name for path in exported.rglob("*") if path.is_file())
    assert run("export", store, "--to", "eee", "--out", exported, "--benchmark", dogs)[0] == 0
    assert sorted(path.name for path in exported.rglob("*") if path.is_file()) == names


def test_who_says_so_is_written_and_checked(
    store: Path, dogs: Path, tmp_path: Path, run: Run
) -> None:
    command = ("export", store, "--to", "eee", "--out", tmp_path / "mine", "--benchmark", dogs)
    assert run(*command, "--organization", "A lab", "--relationship", "third_party")[0] == 0
    sources = [record["source_metadata"] for _, record in aggregates(tmp_path / "mine")]
    assert {s["source_organization_name"] for s in sources} == {"A lab"}
    assert {s["evaluator_relationship"] for s in sources} == {"third_party"}
    status, _, err = run(*command, "--relationship", "friends")
    assert status != 0
    assert "there is no relationship 'friends'" in err


def test_a_store_of_a_benchmark_that_is_known_by_no_name_says_what_to_do(
    store: Path, tmp_path: Path, run: Run
) -> None:
    status, _, err = run("export", store, "--to", "eee", "--out", tmp_path / "x")
    assert status != 0
    assert tells(err, "export.benchmark-unknown", benchmark="mine")
    assert tells(err, "export.name-benchmark")


def test_judges_are_named_with_how_they_were_asked(
    run: Run,
    facts: Path,  # noqa: F811
    answers: Path,  # noqa: F811
    server: JudgeServer,  # noqa: F811
    tmp_path: Path,
) -> None:
    judge = ("--judge", server.name(), "--set", f"roles=verifier={server.name('eyes')}")
    path = tmp_path / "store.sqlite"
    status, _, err = run(
        "audit",
        facts,
        "--recorded",
        answers,
        "--store",
        path,
        "-q",
        *judge,
        "--out",
        tmp_path / "out",
    )
    assert status == 0, err
    command = ("export", path, "--to", "eee", "--out", tmp_path / "eee", "--benchmark", facts)
    status, _, err = run(*command)
    assert status != 0
    assert tells(err, "judge.unnamed")
    n_prompts = len(server.prompts)
    assert run(*command, *judge)[0] == 0
    assert len(server.prompts) == n_prompts, "an export asks nobody"
    audit = json.loads((tmp_path / "out" / "audit.json").read_text())["audits"][0]
    for _, record in aggregates(tmp_path / "eee"):
        (result,) = record["evaluation_results"]
        scoring = result["metric_config"]["llm_scoring"]
        assert [judge_record["model_info"]["name"] for judge_record in scoring["judges"]] == [
            "openai/judge",
            "openai/eyes",
        ]
        assert {judge_record["temperature"] for judge_record in scoring["judges"]} == {0.0}
        assert scoring["additional_details"]["role.verifier"] == "openai/eyes"
        (respondent,) = [
            r for r in audit["respondents"] if r["name"] == record["model_info"]["name"]
        ]
        run_of = result["score_details"]["details"]["run"]
        (expected,) = [
            cell["faithful_facts"]
            for name, cell in respondent["cells"].items()
            if f"|run={run_of}|" in name
        ]
        assert result["score_details"]["score"] == pytest.approx(expected)
        assert all(
            row["metadata"]["judge"] == "openai/judge+verifier=openai/eyes"
            for row in rows_of(tmp_path / "eee", record)
        )


@pytest.mark.parametrize(
    ("name", "identity", "expected"),
    [
        ("hf/llava-hf/llava-1.5-7b-hf@main", {"kind": "hf"}, "llava-hf/llava-1.5-7b-hf"),
        ("openai/gpt-4o@https://api.example.org/v1", {"kind": "openai"}, "unspecified/gpt-4o"),
        ("recorded//home/me/models/unknown", {"kind": "recorded"}, "unspecified/_unknown"),
        ("recorded/CON", {"kind": "recorded"}, "unspecified/_CON"),
        ("hf/shapes:steady?temperature=0", {"kind": "hf"}, "unspecified/shapes_steady"),
    ],
)
def test_a_model_is_named_so_that_its_folder_can_be_made_anywhere(
    name: str, identity: dict[str, Any], expected: str
) -> None:
    info = model_info(name, identity)
    assert info["id"] == expected
    assert "://" not in info["name"]


def test_the_address_of_a_private_server_is_not_published() -> None:
    identity = {"kind": "openai", "model": "m", "base_url": "http://10.0.0.7:8000/v1"}
    info = model_info("openai/m@http://10.0.0.7:8000/v1", identity)
    assert "10.0.0.7" not in json.dumps(info)
    assert info["additional_details"]["deployment_type"] == "externally_managed"


def test_rows_of_other_converters_are_read(tmp_path: Path) -> None:
    """One row for each result of the aggregate, epochs from 1, conversations: as the package's own
    converters write them.
    """
    base = {
        "schema_version": "0.3.0",
        "evaluation_id": "e",
        "model_id": "lab/m",
        "evaluation_name": "x",
        "interaction_type": "single_turn",
        "answer_attribution": [],
        "evaluation": {"score": 1.0, "is_correct": True},
    }
    model_input = {"raw": "Is it red?", "reference": ["yes"]}
    turns = [
        {"turn_idx": 0, "role": "user", "content": "?"},
        {"turn_idx": 1, "role": "assistant", "content": "No"},
    ]
    rows = [
        {
            **base,
            "sample_id": "1",
            "input": model_input,
            "output": {"raw": ["Yes"]},
            "evaluation_result_id": metric,
            "metadata": {"epoch": epoch},
        }
        for epoch in ("1", "2")
        for metric in ("match:accuracy", "match:stderr")
    ]
    rows.append(
        {
            **base,
            "sample_id": "2",
            "input": model_input,
            "messages": turns,
            "interaction_type": "multi_turn",
        }
    )
    path = tmp_path / "x_samples.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (log,) = read_logs([path])
    assert [(row.ids, row.run, row.answer.text) for row in log.rows] == [
        (("1",), 0, "Yes"),
        (("1",), 1, "Yes"),
        (("2",), 0, "No"),
    ]


@pytest.mark.skipif(
    not PYTHON, reason="HQM_EEE names the Python of an environment with every-eval-ever"
)
def test_the_validator_of_every_eval_ever_passes_every_file(exported: Path) -> None:
    files = [
        path.relative_to(exported).as_posix()
        for path in sorted(exported.rglob("*"))
        if path.is_file()
    ]
    command = [PYTHON, "-m", "every_eval_ever", "validate", "--format", "json", *files]
    process = subprocess.run(
        command, cwd=exported, capture_output=True, text=True, check=False, timeout=300
    )
    reports = json.loads(process.stdout)
    assert len(reports) == len(files) == 12
    assert [report for report in reports if not report["valid"] or report["warnings"]] == []
    assert process.returncode == 0


@pytest.mark.skipif(
    not PYTHON, reason="HQM_EEE names the Python of an environment with every-eval-ever"
)
def test_the_validator_sees_a_file_that_was_changed_afterwards(exported: Path) -> None:
    """So that the test above cannot pass by checking nothing."""
    path, record = next(aggregates(exported))
    record["detailed_evaluation_results"]["total_rows"] = 11
    path.write_text(json.dumps(record))
    command = [PYTHON, "-m", "every_eval_ever", "validate", path.relative_to(exported).as_posix()]
    assert (
        subprocess.run(
            command, cwd=exported, capture_output=True, check=False, timeout=300
        ).returncode
        == 1
    )


REQUIRED_KEYS = {
    "aggregate": (
        "schema_version evaluation_id retrieved_timestamp source_metadata model_info eval_library"
        " evaluation_results"
    ),
    "result": "evaluation_name source_data metric_config score_details",
    "sample": (
        "schema_version evaluation_id model_id evaluation_name sample_id interaction_type input"
        " answer_attribution evaluation"
    ),
    "attribution": "turn_idx source extracted_value extraction_method is_terminal",
}
"""What the schemas of version 0.3.0 require, written down from `eval.schema.json` and
`instance_level_eval.schema.json`.
"""
MAY = {
    "aggregate": "evaluation_timestamp detailed_evaluation_results",
    "sample": (
        "evaluation_result_id sample_hash output messages token_usage performance error metadata"
    ),
}
"""What else they allow at the top; nothing beyond."""


def only_texts(values: Mapping[str, Any]) -> bool:
    return all(isinstance(value, str) for value in values.values())


def check_keys(kind: str, record: Mapping[str, Any]) -> None:
    required, may = set(REQUIRED_KEYS[kind].split()), set(MAY.get(kind, "").split())
    assert required <= set(record), f"{kind} lacks {required - set(record)}"
    if kind in MAY:
        assert set(record) <= required | may, f"{kind} has {set(record) - required - may}"


def test_every_file_has_what_the_schema_requires_and_nothing_that_it_forbids(
    exported: Path,
) -> None:
    for _, record in aggregates(exported):
        check_keys("aggregate", record)
        assert record["schema_version"] == "0.3.0"
        assert record["retrieved_timestamp"].isdecimal()
        assert record["source_metadata"]["source_type"] in ("documentation", "evaluation_run")
        details = record["model_info"]["additional_details"]
        assert {"deployment_type", "model_availability"} <= set(details)
        assert only_texts(details)
        assert record["evaluation_results"]
        for result in record["evaluation_results"]:
            check_keys("result", result)
            assert only_texts(result["score_details"]["details"])
            metric = result["metric_config"]
            assert isinstance(metric["lower_is_better"], bool)
            assert metric["score_type"] == "continuous"
            assert "min_score" in metric
            assert "max_score" in metric
            low, high = float(metric["min_score"]), float(metric["max_score"])
            assert low <= result["score_details"]["score"] <= high
        for row in rows_of(exported, record):
            check_keys("sample", row)
            assert row["interaction_type"] == "single_turn"
            assert only_texts(row["metadata"])
            assert isinstance(row["evaluation"]["is_correct"], bool)
            assert all(
                isinstance(text, str)
                for text in [*row["input"]["reference"], *row["output"]["raw"]]
            )
            for attribution in row["answer_attribution"]:
                check_keys("attribution", attribution)
