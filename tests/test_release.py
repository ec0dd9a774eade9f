"""From a CSV file to a gate: the scaffold, the metadata, the tutorial as written, a benchmark made
badly on purpose.
"""

import csv
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from PIL import Image

import hqm
import hqm.benchmark.registry
from hqm.benchmark.new_columns import COLUMNS
from hqm.benchmark.new_items import task_of
from hqm.lint import code_of, lint_benchmarks
from tests.conftest import ROOT, Run, needs_torch, nightly, write_benchmark, write_command
from tests.messages import tells, text_of

TUTORIAL = ROOT / "docs" / "tutorial_release.md"


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def write_csv(path: Path, *rows: str) -> Path:
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


# --- hqm new ---


@pytest.mark.parametrize("task", ["yes_no", "choice", "vqa", "caption"])
def test_samples_can_be_checked_and_answered(run: Run, tmp_path: Path, task: str) -> None:
    folder = tmp_path / "my-Signs"
    status, output, _ = run("new", folder, "--task", task)
    assert status == 0
    assert f"{folder}: 8 {task} items, 4 pictures" in output
    created = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    pictures = {f"images/sample-{k}.png" for k in (1, 2, 3, 4)}
    assert created == {
        "card.toml",
        "items.jsonl",
        "README.md",
        "policy.toml",
        ".gitignore",
        ".github/workflows/hqm.yml",
        *pictures,
    }
    (checked,) = lint_benchmarks(str(folder))
    assert {code_of(finding.name).code for finding in checked.findings} <= {
        "C101",
        "C102",
        "C103",
        "C104",
        "T102",
    }
    benchmark = hqm.load(str(folder))
    assert (benchmark.name, benchmark.card.task, len(benchmark.original)) == ("my_signs", task, 8)
    assert all(
        hqm.load(str(folder)).images.joinpath(item.image or "").is_file()
        for item in benchmark.original.items
    )
    assert (
        benchmark.card.respondents.embedded
        == hqm.benchmark.registry.card("shapes_yesno").respondents.embedded
    )
    assert hqm.Policy.load(folder / "policy.toml") == hqm.Policy.load()


def test_a_csv_file_with_other_names_semicolons_and_a_mark(run: Run, tmp_path: Path) -> None:
    (tmp_path / "pics" / "sub").mkdir(parents=True)
    Image.new("RGB", (8, 8), "red").save(tmp_path / "pics" / "sub" / "a.png")
    text = (
        "\ufeffQuestion ID;Text;Label;Img Path;Category;Choices;Remark\n7;Which, of"
        " these?;red;sub/a.png;Count;red|blue|green;x\n;What?;blue;;;red|blue;\n;;;;;;\n"
    )
    (tmp_path / "q.csv").write_text(text.replace("Img Path", "Image-Path"), encoding="utf-8")
    status, output, _ = run(
        "new",
        tmp_path / "mine",
        "--from",
        tmp_path / "q.csv",
        "--images",
        tmp_path / "pics",
        "--licence",
        "MIT",
    )
    assert status == 0
    assert tells(
        output, "new.read", id="Question ID", question="Text", answer="Label", image="Image-Path"
    )
    assert tells(output, "new.not-read", columns="Remark")
    assert tells(output, "new.no-picture", items=1)
    assert rows_of(tmp_path / "mine" / "items.jsonl") == [
        {
            "id": "7",
            "prompt": "Which, of these?",
            "target": "A",
            "image": "sub/a.png",
            "type": "Count",
            "options": ["red", "blue", "green"],
        },
        {"id": "q0002", "prompt": "What?", "target": "B", "options": ["red", "blue"]},
    ]
    card = tomllib.loads((tmp_path / "mine" / "card.toml").read_text())
    assert (card["task"], card["types"], card["labelled"], card["licence"]) == (
        "choice",
        ["counting"],
        True,
        "MIT",
    )
    copied = (tmp_path / "mine" / "images" / "sub" / "a.png").read_bytes()
    assert copied == (tmp_path / "pics" / "sub" / "a.png").read_bytes()
    codes = {
        code_of(finding.name).code
        for finding in lint_benchmarks(str(tmp_path / "mine"))[0].findings
    }
    assert codes <= {
        "C102",
        "C103",
        "C104",
        "I107",
        "T102",
        "T104",
    }, "nothing but what the maker has not written yet"


def test_tasks_are_told_from_the_answers() -> None:
    yes = [{"target": "yes"}] * 9
    assert task_of([*yes, {"target": "perhaps"}]) == "yes_no", "a slip is for the linter to say"
    assert task_of([{"target": "red"}]) == "vqa"
    assert task_of([{"target": "A", "options": ["x", "y"]}]) == "choice"
    assert task_of([{}]) == "caption"


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (["new", "FULL"], 2, "there already"),
        (["new", "NEW/---"], 2, "cannot be a benchmark's name"),
        (["new", "NEW/a", "--task", "poem"], 2, "no task 'poem'"),
        (["new", "NEW/a", "--images", "."], 2, "pictures without questions"),
        (["new", "NEW/a", "--from", "nowhere.csv"], 1, "no such file"),
        (["new", "NEW/a", "--from", "ODD"], 1, "--columns question=NAME,image=NAME."),
        (["new", "NEW/a", "--from", "GERMAN"], 1, "question=NAME,answer=NAME,image=NAME."),
        (
            ["new", "NEW/a", "--from", "GERMAN", "--columns", "question=Frage", "--images", "."],
            2,
            "(not read: 'Antwort', 'Bild')",
        ),
        (["new", "NEW/a", "--from", "SHORT"], 1, "does not have 2 fields"),
        (["new", "NEW/a", "--from", "EMPTY"], 1, "it has no questions"),
        (["export", "shapes", "--to", "NEW/c.json"], 2, "stands for several benchmarks"),
        (["export", "nothing", "--to", "NEW/c.json"], 2, "no benchmark 'nothing'"),
    ],
)
def test_what_cannot_be_made(
    run: Run, tmp_path: Path, arguments: list[str], status: int, sentence: str
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("mine")
    paths = {
        "FULL": tmp_path / "full",
        "ODD": write_csv(tmp_path / "odd.csv", "colour,answer", "red,yes"),
        "GERMAN": write_csv(tmp_path / "german.csv", "Frage,Antwort,Bild", "Rot?,ja,a.png"),
        "SHORT": write_csv(tmp_path / "short.csv", "question,answer", "Is it?"),
        "EMPTY": write_csv(tmp_path / "empty.csv", "question,answer"),
    }
    got, output, err = run(
        *[paths.get(a) or a.replace("NEW", str(tmp_path / "new")) for a in arguments]
    )
    assert (got, sentence in err) == (status, True), err
    assert "Traceback" not in output + err
    assert not (tmp_path / "new").exists(), "nothing is left behind"


def test_the_columns_are_documented() -> None:
    text = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    for names in COLUMNS.values():
        assert all(f"`{name}`" in text for name in names), names


# --- Croissant ---


def issues(path: Path) -> tuple[set[str], set[str]]:
    import mlcroissant

    reported = mlcroissant.Dataset(jsonld=str(path)).metadata.ctx.issues
    return set(reported.errors), set(reported.warnings)


@pytest.mark.filterwarnings("ignore")
def test_croissant_metadata_pass_the_reference_validator_and_give_the_records_back(
    run: Run, tmp_path: Path
) -> None:
    import mlcroissant

    folder = tmp_path / "cards"
    card_options = ["--licence", "CC-BY-4.0", "--citation", "A 2026", "--summary", "Shapes."]
    run("new", folder, "--task", "choice", *card_options)
    status, output, _ = run("export", folder, "--to", folder / "croissant.json")
    assert (status, "2 files described" in output) == (0, True)
    errors, warnings = issues(folder / "croissant.json")
    assert errors == set()
    # the date of publication is for the publisher to write
    assert [warning for warning in warnings if "datePublished" not in warning] == []
    dataset = mlcroissant.Dataset(jsonld=str(folder / "croissant.json"))
    records = list(dataset.records("records"))
    items = hqm.load(str(folder)).original.items
    assert [record["records/id"].decode() for record in records] == [item.id for item in items]
    assert [record["records/prompt"].decode() for record in records] == [
        item.prompt for item in items
    ]
    metadata = json.loads((folder / "croissant.json").read_text())
    assert metadata["license"] == "https://spdx.org/licenses/CC-BY-4.0.html"
    options = next(
        field for field in metadata["recordSet"][0]["field"] if field["name"] == "options"
    )
    assert options["repeated"] is True


@pytest.mark.filterwarnings("ignore")
def test_croissant_says_what_the_makers_the_check_and_the_audit_know(
    run: Run, tmp_path: Path
) -> None:
    import mlcroissant

    folder = tmp_path / "cards"
    run("new", folder, "--task", "yes_no")
    status, output, _ = run("check", folder, "--select", "C104")
    assert (status, tells(output, "card.responsible-ai", field="rai:dataCollection")) == (0, True)
    card = folder / "card.toml"
    card.write_text(
        re.sub(r'^(data_\w+|personal\w+) = ""', r'\1 = "As drawn."', card.read_text(), flags=re.M)
    )
    assert "nothing found" in run("check", folder, "--select", "C104")[1]
    items = hqm.load(str(folder)).original.items
    answers = ["item,respondent,answer"]
    answers += [
        f"{item.id},{respondent},{item.target if respondent == 'a' else 'yes'}"
        for item in items
        for respondent in "ab"
    ]
    write_csv(tmp_path / "answers.csv", *answers)
    assert (
        run("audit", folder, "--recorded", tmp_path / "answers.csv", "--out", folder / "out", "-q")[
            0
        ]
        == 0
    )
    assert run("export", folder, "--to", folder / "croissant.json")[0] == 0
    assert issues(folder / "croissant.json")[0] == set()
    document = json.loads((folder / "croissant.json").read_text())
    read = mlcroissant.Dataset(jsonld=str(folder / "croissant.json")).metadata
    assert read.ctx.is_v1_1()
    assert read.data_collection == "As drawn."
    (biases,) = read.data_biases
    assert biases.startswith("As drawn.")
    (limits,) = read.data_limitations
    findings = lint_benchmarks(str(folder))[0].findings
    grave = [
        f.sentence
        for f in findings
        if code_of(f.name).severity != "note" and not code_of(f.name).code.startswith("C")
    ]
    assert grave
    for sentence in grave:
        assert (sentence in limits) != (sentence in biases), sentence
    (audit,) = hqm.Audit.load(folder / "out" / "audit.json").audits
    assert hqm.Statement.parse(document["measurementTechnique"]) == audit.statement
    (uses,) = read.data_use_cases
    assert uses.startswith(f"As drawn. {text_of('croissant.measured', answers='')}")
    # the audit's folder gives the same as the benchmark's, where its benchmark has a name of HQM's
    shown = json.loads(run("gate", folder / "out", "--checklist", "betterbench", "--json")[1])
    points = {point["id"]: point for point in shown[0]["points"]}
    assert len(points) == 46 + 8
    states = {name: points[name]["state"] for name in ("D1", "D9", "D13", "I4", "Do13", "C6")}
    assert states == {
        "D1": "AUTHOR",
        "D9": "ANSWERED",
        "D13": "NOT MEASURED",
        "I4": "TOOL",
        "Do13": "NOT MEASURED",
        "C6": "ANSWERED",
    }
    assert "50.0 to 100.0" in points["D9"]["answer"]
    assert points["I2"]["answer"].startswith("`hqm audit ")
    status, printed, _ = run("gate", folder / "out", "--checklist", "betterbench")
    counted = re.search(r"answers (\d+) of 54 points\. It could measure (\d+) more", printed)
    assert (status, counted is not None) == (0, True)
    listed = [point["state"] for point in points.values()]
    assert counted is not None
    assert [int(n) for n in counted.groups()] == [
        listed.count("ANSWERED"),
        listed.count("NOT MEASURED"),
    ]
    assert run("gate", folder / "out", "--checklist", "no-list")[0] == 2


def test_a_readme_keeps_its_authors_words_beside_the_section_of_an_audit(
    run: Run, tmp_path: Path
) -> None:
    from huggingface_hub import DatasetCard

    answers = tmp_path / "answers.csv"
    rows = [f"{n},{name},{n % k}" for n in range(40) for name, k in (("a", 2), ("b", 3), ("c", 5))]
    write_csv(answers, "item,respondent,score", *rows)
    assert run("audit", answers, "--out", tmp_path / "out", "-q")[0] == 0
    (audit,) = hqm.Audit.load(tmp_path / "out" / "audit.json").audits
    fresh, written = tmp_path / "fresh.md", tmp_path / "README.md"
    written.write_text("---\nlicense: mit\n---\n# Mine\n\nMy words.\n", encoding="utf-8")
    for _ in range(2):  # the second time the section is replaced
        for path in (fresh, written):
            assert run("export", tmp_path / "out", "--to", path)[0] == 0
        texts = [path.read_text(encoding="utf-8") for path in (fresh, written)]
        assert [text.count("## Measurement quality") for text in texts] == [1, 1]
        assert all(str(audit.statement) in text for text in texts)
    card = DatasetCard.load(str(fresh)).data
    assert (card.size_categories, card.license) == (["n<1K"], "other")
    assert DatasetCard.load(str(written)).data.license == "mit"
    assert texts[1].startswith("---\nlicense: mit\n---\n# Mine\n\nMy words.\n")


@pytest.mark.data
@pytest.mark.filterwarnings("ignore")
def test_croissant_of_a_release_names_its_pinned_files(
    run: Run, data: Path, tmp_path: Path
) -> None:
    assert run("export", "pope", "--to", tmp_path / "pope.json", "--data", data)[0] == 0
    assert issues(tmp_path / "pope.json")[0] == set()
    metadata = json.loads((tmp_path / "pope.json").read_text())
    first = metadata["distribution"][0]
    # the checksum of POPE's file as its card pins it
    assert first["sha256"] == "ac25245170b975a5bdf9080b23fd431dfe6be458bc038259c1f4f09a6bef7994"
    assert "/08d957b/" in first["contentUrl"]


@pytest.mark.data
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["mmhal", "valor", pytest.param("mmmu_pro", marks=nightly)])
def test_croissant_of_a_release_gives_its_records(
    run: Run, data: Path, tmp_path: Path, name: str
) -> None:
    records_match(run, tmp_path, name, "--data", data)


@pytest.mark.filterwarnings("ignore")
def test_croissant_of_an_embedded_benchmark_gives_its_records(run: Run, tmp_path: Path) -> None:
    records_match(run, tmp_path, "shapes_choice")


def records_match(run: Run, folder: Path, name: str, *options: str | Path) -> None:
    """The records that mlcroissant loads are the items."""
    import mlcroissant

    path = folder / f"{name}.json"
    status, _, err = run("export", name, "--to", path, *options)
    assert (status, issues(path)[0]) == (0, set()), err
    records = list(mlcroissant.Dataset(jsonld=str(path)).records("records"))
    load_options = dict(zip(("data",), options[1:], strict=False))
    items = hqm.load(name, **load_options).original.items
    assert [r["records/id"].decode() for r in records] == [i.id for i in items]
    assert [r["records/prompt"].decode() for r in records] == [i.prompt for i in items]


# --- the tutorial ---


@pytest.fixture(scope="module")
def followed(
    tmp_path_factory: pytest.TempPathFactory, forked_program: Path
) -> tuple[Path, str, dict[str, str]]:
    """The tutorial's commands in order, in a folder that has of the clone only what they name;
    where, and the output.
    """
    home = tmp_path_factory.mktemp("clone")
    shutil.copytree(ROOT / "docs" / "tutorial", home / "docs" / "tutorial")
    write_command(home / "bin", forked_program)
    path = f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = {
        **os.environ,
        "PATH": path,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    script = "\n".join(
        re.findall(
            r"^```sh\n(.*?)^```", TUTORIAL.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
        )
    )
    process = subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=home,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    # on a busy machine a command says that it is still at work
    messages = [line for line in process.stderr.splitlines() if not line.endswith(" s so far")]
    assert messages == []
    return home, process.stdout, environment


def test_the_tutorials_material_is_what_its_script_makes(tmp_path: Path) -> None:
    tutorial = ROOT / "docs" / "tutorial"
    subprocess.run(
        [sys.executable, tutorial / "make.py", tmp_path],
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert (tmp_path / "questions.csv").read_bytes() == (tutorial / "questions.csv").read_bytes()
    rows = list(csv.DictReader((tutorial / "questions.csv").open()))
    assert len(rows) == 50
    names = {row["Picture"] for row in rows}
    assert names == {path.name for path in (tutorial / "pictures").iterdir()}
    for name in names:  # pixels, because a PNG file's bytes are its library's matter
        with (
            Image.open(tmp_path / "pictures" / name) as picture,
            Image.open(tutorial / "pictures" / name) as expected_picture,
        ):
            assert picture.tobytes() == expected_picture.tobytes(), name


@needs_torch
def test_the_tutorial_says_what_comes_out(followed: tuple[Path, str, dict[str, str]]) -> None:
    home, output, _ = followed
    cards = home / "cards"
    for line in (
        "cards: 50 yes_no items, 25 pictures",
        "D104 contradictory-twins",
        "there is something to mend",
        "nothing found",
        "asked 735, stored before 0, errors 0",
        "NOT MEASURED  criterion.pearson",
        "not yet",
        "policy a first look: passed",
        "2 files described",
    ):
        assert line in output, line
    assert (cards / "out" / "report.html").stat().st_size > 10_000
    assert len(rows_of(cards / "items.jsonl")) == 49
    assert json.loads((cards / "out" / "audit.json").read_text())["audits"][0]["items"] == 49
    assert Counter(row["kind"] for row in rows_of(cards / "answers.jsonl"))["answer"] == 735


def run_action(
    inputs: dict[str, str], folder: Path, environment: dict[str, str]
) -> dict[str, subprocess.CompletedProcess[str]]:
    """Run the steps of action.yml as a runner does: conditions, environment, bash."""
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    values = {
        name: str(specification["default"]) for name, specification in action["inputs"].items()
    } | inputs
    processes: dict[str, subprocess.CompletedProcess[str]] = {}
    outcomes: dict[str, str] = {}

    def filled(text: str) -> str:
        """A text with its expressions as their values."""
        text = re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda name: values[name[1]], text)
        outcome = r"\$\{\{ steps\.(\w+)\.outcome \}\}"
        return re.sub(outcome, lambda step: outcomes.get(step[1], "skipped"), text)

    def evaluate(condition: str) -> bool:
        """A condition, of the few words that the action uses."""
        plain = condition.removeprefix("${{").removesuffix("}}").strip()
        plain = re.sub(r"inputs\.([\w-]+)", lambda name: repr(values[name[1]]), plain)
        outcome = r"steps\.(\w+)\.outcome"
        plain = re.sub(outcome, lambda step: repr(outcomes.get(step[1], "skipped")), plain)
        plain = plain.replace("!cancelled()", "True").replace("&&", "and").replace("||", "or")
        return bool(eval(plain))

    for step in action["runs"]["steps"]:
        failed = any(process.returncode for process in processes.values())
        if "run" not in step or step["name"] == "Install":
            continue
        if not (evaluate(step["if"]) if "if" in step else not failed):
            continue
        assert step["shell"] == "bash"
        step_environment = {name: filled(value) for name, value in step["env"].items()}
        result = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=folder, env=environment | step_environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        processes[step["name"]] = result
        outcomes[step.get("id", "")] = "failure" if result.returncode else "success"
    return processes


@needs_torch
def test_the_workflow_does_what_it_says(
    followed: tuple[Path, str, dict[str, str]], tmp_path: Path
) -> None:
    """The action with the inputs of the workflow, in a fresh copy of the folder as a checkout would
    have it.
    """
    home, _, environment = followed
    checkout = tmp_path / "cards"
    shutil.copytree(home / "cards", checkout, ignore=shutil.ignore_patterns("out"))
    workflow = yaml.safe_load((checkout / ".github" / "workflows" / "hqm.yml").read_text())
    step = workflow["jobs"]["audit"]["steps"][-1]
    assert step["uses"] == f"OWNER/hqm@v{hqm.__version__}"
    files = {"GITHUB_STEP_SUMMARY": tmp_path / "summary.md", "GITHUB_OUTPUT": tmp_path / "outputs"}
    processes = run_action(
        step["with"], checkout, environment | {name: str(path) for name, path in files.items()}
    )
    assert list(processes) == ["Check", "Audit", "Gate", "Summary"]
    # 49 items measure no type: lint says so until the makers add items or tell it not to
    assert processes["Check"].returncode == 1
    assert "::warning file=items.jsonl,title=T102 " in processes["Check"].stdout
    assert processes["Audit"].returncode == 0, processes["Audit"].stderr
    assert processes["Gate"].returncode == 0, processes["Gate"].stdout
    assert processes["Summary"].returncode == 0, processes["Summary"].stderr
    first, second = (
        json.loads((folder / "out" / "audit.json").read_text())["audits"]
        for folder in (home / "cards", checkout)
    )
    # the recorded answers give the same numbers as the asked ones; the respondents may stand in
    # another order
    scores = [
        {respondent["name"]: respondent["cells"] for respondent in audit["respondents"]}
        for audit in (first[0], second[0])
    ]
    assert scores[0] == scores[1]
    for name in ("test_retest.rho_g", "parallel_forms.icc_a1"):
        values = [
            next(e["value"] for e in audit["estimates"] if e["indicator"] == name)
            for audit in (first[0], second[0])
        ]
        assert values[0] == pytest.approx(values[1], abs=1e-12)
    outputs = dict(line.split("=", 1) for line in files["GITHUB_OUTPUT"].read_text().splitlines())
    statement = hqm.Audit.load(checkout / outputs["audit"]).audits[0].statement
    assert hqm.Statement.parse(outputs["statement"]) == statement
    summary = files["GITHUB_STEP_SUMMARY"].read_text()
    assert all(fragment in summary for fragment in ("## Quality card", statement.markdown, "T102"))
    assert "::" not in summary
    assert (checkout / "out" / "badge.svg").is_file()


def test_the_action_checks_alone_where_there_are_no_answers(
    run: Run, tmp_path: Path, forked_program: Path
) -> None:
    run("new", tmp_path / "mine")
    (tmp_path / "hqm").symlink_to(forked_program)
    environment = {
        **os.environ,
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "GITHUB_OUTPUT": str(tmp_path / "outputs"),
    }
    processes = run_action({"benchmark": "mine", "check": ""}, tmp_path, environment)
    assert {name: process.returncode for name, process in processes.items()} == {
        "Check": 0,
        "Summary": 0,
    }
    assert "file=mine/items.jsonl" in processes["Check"].stdout


def test_the_action_and_the_hooks_name_what_there_is(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    text = (ROOT / "action.yml").read_text()
    assert set(re.findall(r"inputs\.([\w-]+)", text)) == set(action["inputs"])
    install = next(step for step in action["runs"]["steps"] if step.get("name") == "Install")
    assert install["env"] == {"HQM_SOURCE": "${{ github.action_path }}"}
    assert not re.search(r"\$\{\{", "".join(s.get("run", "") for s in action["runs"]["steps"]))
    page = (ROOT / "docs" / "workflows.md").read_text()
    assert all(f"`{name}`" in page for name in {**action["inputs"], **action["outputs"]})
    run("new", tmp_path / "mine")
    monkeypatch.chdir(tmp_path / "mine")
    for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text()):
        program, *words = shlex.split(hook["entry"])
        status, _, err = run(*words, *hook["args"])
        is_check = hook["id"] == "hqm-check"
        assert (program, status) == ("hqm", 0 if is_check else 1), err
        assert bool(re.search(hook["files"], "items.jsonl" if is_check else "out/audit.json"))


# --- a benchmark made badly on purpose ---


@pytest.fixture
def planted(tmp_path: Path) -> tuple[Path, Path]:
    """12 items a type, but for one type with one wording and 60, and one of 60 whose words give the
    right answer away; right answers that take turns; duplicates; twins.
    """
    rows: list[dict[str, Any]] = []
    for kind in ("ocr", "action", "counting"):
        rows += [
            {"prompt": f"Does {kind} number {i} hold?", "type": kind, "image": f"{kind}{i}.png"}
            for i in range(12)
        ]
    rows += [
        {"prompt": "Is there a dog in the image?", "type": "existence", "image": f"e{i}.png"}
        for i in range(60)
    ]
    for i, row in enumerate(rows):
        row |= {"id": f"i{i}", "target": ("yes", "no")[i % 2]}
    rows += [
        {
            "id": f"c{i}",
            "prompt": f"Is {'the tall' if i % 3 else 'the short'} chair {i} behind the other?",
            "type": "comparison",
            "image": f"c{i}.png",
            "target": "yes" if i % 3 else "no",
        }
        for i in range(60)
    ]
    for i in range(6):
        rows.append({**rows[i], "id": f"again{i}"})
        rows.append(
            {
                **rows[10 + i],
                "id": f"twin{i}",
                "prompt": rows[10 + i]["prompt"].upper(),
                "target": ("no", "yes")[i % 2],
            }
        )
    folder = write_benchmark(
        tmp_path / "bad",
        rows,
        types=["ocr", "action", "counting", "existence", "comparison", "relation"],
        labelled=True,
    )
    answers = []
    for k in range(4):
        for run_ in (0, 1):
            for i, row in enumerate(rows):
                answer = row["target"] if (i * 7 + k * 3 + run_ * 5) % (k + 2) else "yes"
                answers.append(
                    {
                        "respondent": f"m{k}",
                        "form": "original",
                        "run": run_,
                        "item": row["id"],
                        "answer": answer,
                    }
                )
    path = tmp_path / "answers.jsonl"
    path.write_text("\n".join(map(json.dumps, answers)))
    return folder, path


def test_a_bad_benchmark_does_not_come_through(
    run: Run, planted: tuple[Path, Path], tmp_path: Path
) -> None:
    folder, answers = planted
    status, output, _ = run("check", folder, "--strict")
    assert status == 1
    codes = set(re.findall(r"^  ([A-Z]\d{3}) ", output, re.MULTILINE))
    # leaks, duplicates, twins that contradict each other, one wording, too few items, a claimed
    # type without any, no pictures
    assert {
        "L202",
        "L205",
        "D101",
        "D102",
        "D104",
        "W101",
        "T101",
        "T102",
        "I101",
        "C101",
        "C102",
    } <= codes
    assert tells(output, "release.one-wording", items=60, type="existence")
    assert "relation" in next(line for line in output.splitlines() if "T101" in line)
    assert "ocr: 18 items" in output or "ocr: " in output
    strongest = re.search(r"the strongest, ([^,]+), gets (0\.\d+|1\.000) right", output)
    assert strongest
    assert float(strongest[2]) > 0.8, "the accuracy that the leak gives"
    status, output, _ = run(
        "audit", folder, "--recorded", answers, "--out", tmp_path / "out", "--quiet"
    )
    assert status == 0
    audit = json.loads((tmp_path / "out" / "audit.json").read_text())["audits"][0]
    assert {finding["code"] for finding in audit["findings"]} == codes, (
        "the audit holds all that the check found"
    )
    status, output, _ = run("gate", tmp_path / "out" / "audit.json", "--json")
    assert status == 1
    tests = {test["what"]: test["outcome"] for test in json.loads(output)["tests"]}
    assert tests["findings"] == tests["coverage"] == tests["respondents"] == "FAIL"
    assert (
        tests["facet form"] == tests["facet judge"] == tests["criterion.pearson"] == "NOT MEASURED"
    )
    assert {
        test["what"] for test in json.loads(output)["tests"] if test["what"].startswith("leak in")
    } == {"leak in comparison"}
    assert all(test["remedy"] for test in json.loads(output)["tests"] if test["outcome"] != "PASS")
    assert (
        tests["finding I101 image-missing"] == tests["finding D104 contradictory-twins"] == "FAIL"
    )
