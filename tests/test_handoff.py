"""Forms go to inspect and lmms-eval, and their answers come back by id."""

import ast
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from hqm.benchmark.registry import load
from hqm.imports.log_answers import take_logs
from hqm.imports.readers import lmms_eval
from hqm.imports.row import LogFile
from tests.conftest import Run
from tests.messages import tells


def test_inspect_gets_a_task_file_the_questions_of_every_form_and_the_pictures(
    tmp_path: Path, run: Run
) -> None:
    folder = tmp_path / "task"
    status, out, err = run(
        "export", "shapes_yesno", "--to", "inspect", "--out", folder, "--limit", 6
    )
    assert status == 0, err
    assert "original (6 items), parallel (6 items)" in out
    benchmark = load("shapes_yesno")
    for form in (benchmark.original, benchmark.parallel_form):
        rows = [
            json.loads(line) for line in (folder / f"{form.name}.jsonl").read_text().splitlines()
        ]
        assert [row["id"] for row in rows] == [item.id for item in form.items[:6]]
        assert [row["prompt"] for row in rows] == [benchmark.asked(item) for item in form.items[:6]]
        assert all(
            (folder / "images" / row["image"]).read_bytes().startswith(b"\x89PNG") for row in rows
        )
    tree = ast.parse((folder / "shapes_yesno.py").read_text())
    assert {node.name for node in tree.body if isinstance(node, ast.FunctionDef)} >= {
        "sample",
        "shapes_yesno",
    }


@pytest.mark.skipif(
    not os.environ.get("HQM_INSPECT"),
    reason="HQM_INSPECT names the program inspect of its own environment",
)
def test_inspect_asks_a_form_and_its_log_comes_back(tmp_path: Path, run: Run) -> None:
    assert (
        run("export", "shapes_yesno", "--to", "inspect", "--out", tmp_path / "task", "--limit", 6)[
            0
        ]
        == 0
    )
    command = [
        os.environ["HQM_INSPECT"],
        "eval",
        "shapes_yesno.py",
        "--model",
        "mockllm/model",
        "-T",
        "form=parallel",
    ]
    command += ["--epochs", "2", "--display", "none", "--log-dir", str(tmp_path / "logs")]
    subprocess.run(command, cwd=tmp_path / "task", check=False, timeout=300)
    status, out, err = run(
        "import", tmp_path / "logs", "--benchmark", "shapes_yesno", "--store", tmp_path / "s.sqlite"
    )
    assert status == 0, err
    assert tells(out, "import.matched", form="parallel", run=1, n=6, rows=6, how="6 by id")


def test_lmms_eval_gets_tasks_data_with_pictures_and_functions(tmp_path: Path, run: Run) -> None:
    import pyarrow.parquet as pq

    folder = tmp_path / "tasks"
    assert run("export", "shapes_yesno", "--to", "lmms-eval", "--out", folder, "--limit", 6)[0] == 0
    text = (folder / "shapes_yesno_parallel.yaml").read_text().replace("!function ", "")
    task = yaml.safe_load(text)
    assert task["task"] == "shapes_yesno_parallel"
    assert task["doc_to_text"] == "utils.doc_to_text"
    table = pq.read_table(task["dataset_kwargs"]["data_files"]["test"])
    features = json.loads(table.schema.metadata[b"huggingface"])["info"]["features"]
    assert features["image"] == {"_type": "Image"}  # what the library `datasets` decodes
    rows = table.to_pylist()
    assert [row["form"] for row in rows] == ["parallel"] * 6
    assert rows[0]["image"]["bytes"].startswith(b"\x89PNG")


def test_what_lmms_eval_writes_of_such_a_task_is_matched_by_id_and_form(
    tmp_path: Path, run: Run
) -> None:
    """The written functions run on the written rows, and the rows are laid out as its writer lays
    them out.
    """
    import pyarrow.parquet as pq

    folder = tmp_path / "tasks"
    assert run("export", "shapes_yesno", "--to", "lmms-eval", "--out", folder, "--limit", 6)[0] == 0
    functions: dict[str, Callable[..., dict[str, object]]] = {}
    exec((folder / "utils.py").read_text(), functions)
    benchmark = load("shapes_yesno")
    samples = tmp_path / "20260101_000000_samples_shapes_yesno_parallel.jsonl"
    with samples.open("w") as file:
        for i, doc in enumerate(pq.read_table(folder / "parallel.parquet").to_pylist()):
            answer = ["Yes.", "No"][i % 2]
            row = {
                "doc_id": i,
                "target": doc["target"],
                "filtered_resps": answer,
                "input": functions["doc_to_text"](doc),
            }
            file.write(json.dumps({**row, **functions["process_results"](doc, [answer])}) + "\n")
    (log,) = [lmms_eval.read_log(LogFile(samples))]
    assert {row.form for row in log.rows} == {"parallel"}
    forms = {form.name: form for form in (benchmark.original, benchmark.parallel_form)}
    taken = take_logs(forms, [samples])
    assert [(r.form, len(r.answers)) for r in taken.recordings] == [("parallel", 6)]
    assert taken.matchings[0].how == {"id": 6}


def test_a_missing_picture_is_an_error_and_not_a_question_without_one(
    dogs: Path, tmp_path: Path, run: Run
) -> None:
    status, _, err = run("export", dogs, "--to", "inspect", "--out", tmp_path / "task")
    assert status == 1
    assert "the picture '0.png' is missing" in err
