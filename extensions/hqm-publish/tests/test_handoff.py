"""Forms go to inspect and lmms-eval, and their answers come back by id.

`HQM_INSPECT` names the program `inspect` of an environment that has HQM's libraries beside it, as a
user of HQM's extension has: `pip install inspect-ai` and `pip install -e '.[logs]'`.
"""

import ast
import json
import os
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

import hqm
from hqm.benchmark.registry import load
from hqm.imports.log_answers import take_logs
from hqm.imports.log_file import LogFile
from hqm.imports.readers import lmms_eval
from tests.conftest import ROOT, Run
from tests.judge_server import JudgeServer
from tests.messages import tells

WITH_INSPECT = pytest.mark.skipif(
    not os.environ.get("HQM_INSPECT"),
    reason="HQM_INSPECT names the program inspect of an environment with inspect-ai and HQM",
)


def test_inspect_gets_a_task_file_the_questions_of_every_form_and_the_pictures(
    tmp_path: Path, run: Run
) -> None:
    folder = tmp_path / "task"
    status, output, err = run(
        "export", "shapes_yesno", "--to", "inspect", "--out", folder, "--limit", 6
    )
    assert status == 0, err
    assert "original (6 items), parallel (6 items)" in output
    benchmark = load("shapes_yesno")
    for form in (benchmark.original, benchmark.parallel_form):
        rows = [
            json.loads(line) for line in (folder / f"{form.name}.jsonl").read_text().splitlines()
        ]
        assert [row["id"] for row in rows] == [item.id for item in form.items[:6]]
        assert [row["prompt"] for row in rows] == [
            benchmark.question_text(item) for item in form.items[:6]
        ]
        assert all(
            (folder / "images" / row["image"]).read_bytes().startswith(b"\x89PNG") for row in rows
        )
    tree = ast.parse((folder / "shapes_yesno.py").read_text())
    assert {node.name for node in tree.body if isinstance(node, ast.FunctionDef)} >= {
        "sample",
        "shapes_yesno",
    }


@WITH_INSPECT
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
    status, output, err = run(
        "import", tmp_path / "logs", "--benchmark", "shapes_yesno", "--store", tmp_path / "s.sqlite"
    )
    assert status == 0, err
    assert tells(output, "import.matched", form="parallel", run=1, n=6, rows=6, how="6 by id")


def installed_beside_inspect(home: Path) -> Path:
    """A folder of packages with hqm and its entry point, as an installation has them."""
    packages = home / "site-packages"
    metadata_dir = packages / "hqm_audit-0.dist-info"
    metadata_dir.mkdir(parents=True)
    (packages / "hqm").mkdir()
    for entry in (
        *(ROOT / "hqm").iterdir(),
        *(ROOT / n for n in ("adapters", "benchmarks", "reports")),
    ):
        (packages / "hqm" / entry.name).symlink_to(entry)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (metadata_dir / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 0\n"
    )
    points = project["entry-points"]["inspect_ai"]
    lines = [f"{name} = {module}" for name, module in points.items()]
    (metadata_dir / "entry_points.txt").write_text("\n".join(["[inspect_ai]", *lines]))
    return packages


SCRIPT = """
from inspect_ai import eval, score
from inspect_ai.log import write_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from hqm_publish.inspect_extension import grader


def mock(name, words):
    def answer(input, tools, tool_choice, config):
        made = ModelOutput.from_content(name, words(str(input[-1].text)))
        made.usage = ModelUsage()
        return made

    return get_model(f"mockllm/{name}", custom_outputs=answer)


asked = {"yes": lambda text: "Yes.", "no": lambda text: "No, it is not."}
for who, words in asked.items():
    for form in ("original", "parallel"):
        args = {"name": "shapes_yesno", "form": form, "seed": 1, "epochs": 2}
        (log,) = eval("hqm/benchmark", model=mock(who, words), task_args=args, limit=6, log_dir="logs")
        assert log.status == "success", log.error
    strict, mild = mock("strict", lambda text: "GRADE: I"), mock("mild", lambda text: "GRADE: C")
    write_eval_log(score(log, [grader(strict), grader(mild)], action="overwrite"), f"{who}.eval")
"""


@WITH_INSPECT
def test_inspect_finds_the_extension_and_what_it_writes_is_audited(
    tmp_path: Path, run: Run
) -> None:
    packages = installed_beside_inspect(tmp_path)
    program = Path(os.environ["HQM_INSPECT"]).with_name("python")
    environment = {
        **os.environ,
        "PYTHONPATH": str(packages),
        "INSPECT_DISPLAY": "none",
        "HQM_REPORT": str(tmp_path / "out"),
        "HQM_POLICY": "release-small",
    }
    process = subprocess.run(
        [program, "-c", SCRIPT], cwd=tmp_path, env=environment, capture_output=True, text=True,
        check=False, timeout=300,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr[-2000:]
    assert "policy release-small: not passed" in process.stdout
    assert (tmp_path / "out" / "report.html").is_file()
    (audit,) = benchmarks_audited(run, tmp_path / "logs")
    assert audit.title == "shapes_yesno"
    assert {(hqm.Cell.parse(c).form, hqm.Cell.parse(c).run) for c in audit.cells} == {
        (form, run) for form in ("original", "parallel") for run in (0, 1)
    }
    assert [
        sum(respondent.states[audit.reference].values()) for respondent in audit.respondents
    ] == [6, 6]
    (judged,) = benchmarks_audited(run, tmp_path / "yes.eval", tmp_path / "no.eval")
    assert {hqm.Cell.parse(cell).judge for cell in judged.cells} == {
        "mockllm/mild",
        "mockllm/strict",
    }
    row = judged.error_budget("grade").row("judge")
    assert abs(row.shift or 0) == 1, "one finds all right, the other all wrong"


@WITH_INSPECT
def test_the_example_of_one_file_asks_a_server_and_its_logs_are_audited(
    tmp_path: Path, run: Run
) -> None:
    """What a model of a server answers reaches the audit: every other "Yes" of 6 x 2 x 2."""
    packages = installed_beside_inspect(tmp_path)
    environment = {**os.environ, "PYTHONPATH": str(packages), "OPENAI_API_KEY": "none"}
    example = ROOT / "docs" / "inspect_two_wordings.py"
    (tmp_path / example.name).symlink_to(example)
    command = [os.environ["HQM_INSPECT"], "eval", example.name]
    command += ["--model", "openai/tiny-vlm", "-M", "responses_api=false", "--limit", "6"]
    command += ["--display", "none", "--log-dir", str(tmp_path / "logs")]
    server = JudgeServer(lambda prompt, _: "No." if len(prompt) % 2 else "Yes.")
    environment["OPENAI_BASE_URL"] = server.url
    try:
        process = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
            timeout=300,
        )  # fmt: skip
    finally:
        server.stop()
    assert process.returncode == 0, process.stderr[-2000:]
    assert len(server.bodies) == 24
    content_types = [body["messages"][0]["content"][0]["type"] for body in server.bodies]
    assert set(content_types) == {"image_url"}
    prompts = set(server.prompts)
    benchmark = load("shapes_yesno")
    forms = (benchmark.original, benchmark.parallel_form)
    assert prompts == {benchmark.question_text(item) for form in forms for item in form.items[:6]}
    (audit,) = benchmarks_audited(run, tmp_path / "logs")
    (respondent,) = audit.respondents
    for cell in audit.cells:
        items = forms[hqm.Cell.parse(cell).form == "parallel"].items[:6]
        replies = ["no" if len(benchmark.question_text(item)) % 2 else "yes" for item in items]
        right = sum(item.target == word for item, word in zip(items, replies, strict=True))
        assert next(iter(respondent.cells[cell].values())) == pytest.approx(right / 6)
    assert {hqm.Cell.parse(cell).form for cell in audit.cells} == {"original", "parallel"}


def benchmarks_audited(run: Run, *logs: Path) -> tuple[hqm.BenchmarkAudit, ...]:
    folder = logs[0].parent / f"audit-{logs[0].stem}"
    status, _, err = run("audit", *logs, "--out", folder, "--quiet")
    assert status == 0, err
    return hqm.Audit.load(folder / "audit.json").audits


def test_lmms_eval_gets_tasks_data_with_pictures_and_functions(tmp_path: Path, run: Run) -> None:
    import pyarrow.parquet as pq

    folder = tmp_path / "tasks"
    assert run("export", "shapes_yesno", "--to", "lmms-eval", "--out", folder, "--limit", 6)[0] == 0
    text = (folder / "shapes_yesno_parallel.yaml").read_text().replace("!function ", "")
    task = yaml.safe_load(text)
    assert task["task"] == "shapes_yesno_parallel"
    assert task["doc_to_text"] == "utils.doc_to_text"
    # the folder may be moved: the tool is started in it
    table = pq.read_table(folder / task["dataset_kwargs"]["data_files"]["test"])
    assert task["cluster_key"] in table.column_names
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
    logs = take_logs(forms, [samples])
    assert [(r.form, len(r.answers)) for r in logs.recordings] == [("parallel", 6)]
    assert logs.matchings[0].cue_counts == {"id": 6}


def test_a_missing_picture_is_an_error_and_not_a_question_without_one(
    dogs: Path, tmp_path: Path, run: Run
) -> None:
    status, _, err = run("export", dogs, "--to", "inspect", "--out", tmp_path / "task")
    assert status == 1
    assert "the picture '0.png' is missing" in err
