"""The commands as a user gives them: output, exit status, files."""

import json
import re
import shutil
import sys
from pathlib import Path
from typing import NoReturn

import pytest

import hqm
from hqm.commands import asking
from tests.conftest import NO_TORCH, Run, needs_torch, nightly, write_benchmark
from tests.messages import tells, text_of


@pytest.fixture
def sheets(tmp_path: Path, dogs: Path) -> Path:
    """Recorded answers of four respondents: two runs and the flipped form."""
    benchmark = hqm.load(str(dogs))
    forms = {"original": benchmark.original, "parallel": benchmark.parallel(benchmark.original)}
    rows = []
    for k, name in enumerate("abcd"):
        for form, run in (("original", 0), ("original", 1), ("parallel", 0)):
            for i, item in enumerate(forms[form].items):
                right = (i + run * (k == 1)) % 6 >= k
                answer = (
                    str(item.target).capitalize()
                    if right
                    else {"yes": "No", "no": "Yes"}[item.target]
                )
                rows.append(
                    {
                        "respondent": name,
                        "form": form,
                        "run": run,
                        "item": item.id,
                        "answer": answer,
                    }
                )
    path = tmp_path / "answers.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def test_list_shows_what_there_is(run: Run) -> None:
    for subject, expected_text in (
        ("benchmarks", "amber_d"),
        ("respondents", "hf/shapes:steady"),
        ("parsers", "vlmevalkit"),
        ("indicators", "icc_a1"),
    ):
        status, output, _ = run("list", subject)
        assert status == 0
        assert expected_text in output
    assert "shapes = shapes_caption + shapes_choice" in run("list")[1]
    status, _, err = run("list", "planets")
    assert status == 2
    assert tells(err, "name.list-none", given="planets")


def test_check_prints_findings(run: Run, dogs: Path) -> None:
    status, output, _ = run("check", dogs)
    assert (status, "I101 image-missing" in output) == (1, True)
    assert run("check", dogs, "--ignore", "I")[0] == 0
    assert "mine@1: 12 items, 6 pictures" in output
    checked = json.loads(run("check", dogs, "--json")[1])[0]
    assert checked["targets"] == {"no": 6, "yes": 6}
    assert checked["types"] == {"existence": 12}


def test_forms_shows_rules_and_writes_a_file(run: Run, dogs: Path, tmp_path: Path) -> None:
    status, output, _ = run("forms", dogs, "--out", tmp_path / "form.jsonl")
    assert status == 0
    assert tells(output, "form.items", forms=12, items=12)
    assert "Is there a dog in the image?  [yes]  ->  Is there no dog in the image?  [no]" in output
    assert len((tmp_path / "form.jsonl").read_text().splitlines()) == 12


@needs_torch
def test_plan_says_what_would_be_asked_and_asks_nothing(
    run: Run, dogs: Path, sheets: Path, tmp_path: Path
) -> None:
    store = tmp_path / "s.sqlite"
    status, output, _ = run(
        "audit",
        "--dry-run",
        dogs,
        "-r",
        "openai/x@http://127.0.0.1:9/v1",
        "--store",
        store,
        "--blind",
        "--set",
        "price_in=1",
        "--set",
        "price_out=2",
        "--json",
    )
    assert status == 0
    total = json.loads(output)["total"]
    # 12 rows: 6 distinct texts without pictures; the original twice, the flipped form once
    assert (total["rows"], total["distinct"], total["stored"], total["requests"]) == (36, 18, 0, 18)
    assert total["cost"] > 0
    assert not store.exists()
    status, output, _ = run("audit", "--dry-run", dogs, "-r", "hf/nobody/model", "--store", store)
    assert tells(output, "plan.to-fetch", gone=6)


def test_audit_from_recorded_answers(run: Run, dogs: Path, sheets: Path, tmp_path: Path) -> None:
    words = ("audit", dogs, "--recorded", sheets, "--out", tmp_path / "out", "--quiet")
    status, output, _ = run(*words, "--all")
    assert status == 0
    assert output.startswith("read 144, stored before 0, errors 0\n"), (
        "nobody is asked for what is recorded"
    )
    assert "Test-retest, Pearson r" in output
    assert f"wrote  {tmp_path / 'out' / 'report.html'}" in output
    data = json.loads((tmp_path / "out" / "audit.json").read_text())
    assert data["command"].startswith("hqm audit ")
    assert data["audits"][0]["benchmark"] == "mine"
    page = (tmp_path / "out" / "report.html").read_text()
    # again: nothing is read, the same bytes come out
    status, output, _ = run(*words, "--all")
    assert output.startswith("read 0, stored before 144, errors 0\n")
    assert (tmp_path / "out" / "report.html").read_text() == page
    # the output of --json is that document alone; the counts are said beside it
    store = tmp_path / "out" / "store.sqlite"
    status, output, err = run(*words[:4], "--out", tmp_path / "json", "--store", store, "--json")
    assert status == 0
    assert json.loads(output)["audits"][0]["benchmark"] == "mine"
    assert "read 0, stored before 144, errors 0\n" in err
    # from the store alone, and from audit.json alone
    status, output, _ = run(
        "audit",
        dogs,
        "--offline",
        "--store",
        tmp_path / "out" / "store.sqlite",
        "--out",
        tmp_path / "again",
    )
    assert status == 0
    assert json.loads((tmp_path / "again" / "audit.json").read_text())["audits"] == data["audits"]
    status, _, _ = run(
        "report", tmp_path / "out" / "audit.json", "--to", tmp_path / "b/report.html"
    )
    assert (tmp_path / "b" / "report.html").read_text() == page
    assert (tmp_path / "b" / "evidence.html").exists()


def test_a_dry_run_leaves_no_trace(run: Run, dogs: Path, sheets: Path, tmp_path: Path) -> None:
    status, output, _ = run(
        "audit", dogs, "--recorded", sheets, "--out", tmp_path / "out", "--dry-run"
    )
    assert status == 0
    assert tells(output, "plan.recorded", number=144)
    assert re.search(r"total +144 +144 +0 +0 +0\.0 +0 +0 *$", output, re.M), (
        "none to ask, no tokens"
    )
    assert not (tmp_path / "out").exists()


def test_a_refusal_says_what_to_type(run: Run, dogs: Path, tmp_path: Path) -> None:
    """In place of a benchmark's name, of respondents, and of wordings that no rule makes."""
    status, _, err = run("audit", f"{tmp_path}/elsewhere/")
    assert (status, tells(err, "name.no-file", path=f"{tmp_path}/elsewhere/")) == (2, True)
    items = [{"id": "1", "prompt": "Welche Farbe?", "target": "rot"}]
    german = write_benchmark(tmp_path / "deutsch", items, name="deutsch", task="vqa")
    _, _, err = run(
        "audit", german, "-r", "openai/x@http://127.0.0.1:9/v1", "--out", tmp_path / "o"
    )
    assert tells(err, "form.no-wording", original="original", form="parallel")


def test_what_is_refused_leaves_nothing_behind(run: Run, dogs: Path, tmp_path: Path) -> None:
    missing_folder = tmp_path / "made" / "later"
    status, _, _ = run("audit", missing_folder, "--out", missing_folder / "out")
    assert (status, missing_folder.parent.exists()) == (2, False), "hqm new can make the folder"
    status, _, _ = run("audit", dogs, "--out", missing_folder / "out")  # nobody to answer
    assert (status, missing_folder.parent.exists()) == (2, False)
    missing_folder.mkdir(parents=True)
    status, _, _ = run("audit", dogs, "--out", missing_folder / "out")
    assert (status, list(missing_folder.iterdir())) == (2, [])


def test_run_then_export_then_import(run: Run, dogs: Path, sheets: Path, tmp_path: Path) -> None:
    store, second_store = tmp_path / "s.sqlite", tmp_path / "t.sqlite"
    assert (
        run("audit", "--no-report", dogs, "--recorded", sheets, "--store", store, "--quiet")[0] == 0
    )
    for suffix in ("jsonl", "parquet"):
        # 144 answers, and the 12 administrations that they belong to
        assert "156 rows" in run("export", store, "--to", tmp_path / f"e.{suffix}")[1]
    assert "144 new answers" in run("import", tmp_path / "e.parquet", "--store", second_store)[1]
    assert "0 new answers" in run("import", tmp_path / "e.jsonl", "--store", second_store)[1]


@needs_torch
def test_a_reviewed_form_takes_the_parallel_ones_place(
    run: Run, dogs: Path, tmp_path: Path
) -> None:
    run("forms", dogs, "--out", tmp_path / "form.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "form.jsonl").read_text().splitlines()]
    rows[0]["prompt"] = "Is the image without a dog?"
    rows[0]["rule"] = "polar.person"
    (tmp_path / "form.jsonl").write_text("\n".join(map(json.dumps, rows)))
    status, output, _ = run(
        "audit",
        "--dry-run",
        dogs,
        "-r",
        "hf/shapes:steady",
        "--form",
        f"parallel={tmp_path / 'form.jsonl'}",
        "--blind",
        "--json",
    )
    assert status == 0
    # the hand-written sentence is one more distinct question than the rule's six
    assert json.loads(output)["total"]["distinct"] == 6 + 6 + 7
    assert run("audit", "--dry-run", dogs, "-r", "hf/shapes:steady", "--form", "parallel")[0] == 2


@needs_torch
def test_a_plan_counts_what_two_forms_ask_once(run: Run, tmp_path: Path) -> None:
    """The parallel form of a question is often another question of the benchmark."""
    items = [
        {"id": "1", "prompt": "Is there a dog in the image?", "target": "yes"},
        {"id": "2", "prompt": "Is there no dog in the image?", "target": "no"},
    ]
    folder = write_benchmark(tmp_path / "pairs", items, name="pairs", task="yes_no")
    command = ("audit", folder, "-r", "hf/shapes:steady", "--runs", 1, "-q")
    store = ("--store", tmp_path / "s.sqlite")
    plan = json.loads(run(*command, *store, "--dry-run", "--json")[1])
    assert plan["total"]["requests"] == 2
    assert "asked 2," in run(*command, *store, "--no-report")[1]


@needs_torch
def test_a_form_in_a_file_is_cut_like_the_benchmark(run: Run, dogs: Path, tmp_path: Path) -> None:
    form = tmp_path / "form.jsonl"
    run("forms", dogs, "--out", form)
    command = ("audit", "--dry-run", dogs, "-r", "hf/shapes:steady", "--runs", 1, "--json")
    for limit, rows in ((3, 6), (5, 10)):
        status, output, _ = run(*command, "--form", f"parallel={form}", "--limit", limit)
        assert (status, json.loads(output)["total"]["rows"]) == (0, rows)


def test_recorded_answers_are_the_same_by_either_option(
    run: Run, dogs: Path, tmp_path: Path
) -> None:
    """No rule makes a parallel form of German questions, and nobody is to be asked one."""
    items = [{"id": "1", "prompt": "Ist da ein Hund?", "target": "yes"}]
    german = write_benchmark(tmp_path / "deutsch", items, name="deutsch", task="yes_no")
    answers = tmp_path / "answers.csv"
    answers.write_text("item,respondent,answer\n1,a,yes\n1,b,no\n")
    for k, option in enumerate((("--recorded", answers), ("-r", f"recorded/{answers}"))):
        status, output, _ = run(
            "audit", "--no-report", german, *option, "-q", "--store", tmp_path / f"{k}.sqlite"
        )
        assert (status, "read 2" in output) == (0, True)


@pytest.mark.data
def test_score_prints_every_metric(run: Run, data: Path, tmp_path: Path) -> None:
    questions = [
        json.loads(line)
        for line in (data / "pope" / "coco_pope_random.json").read_text().splitlines()
    ]
    path = tmp_path / "answers.jsonl"
    path.write_text(
        "\n".join(
            json.dumps({"question": q["text"], "answer": "Yes" if i % 3 else "no"})
            for i, q in enumerate(questions)
        )
    )
    status, output, _ = run(
        "score", "pope", "--answers", path, "--part", "coco_random", "--data", data, "--json"
    )
    scored = json.loads(output)
    assert status == 0
    assert {"benchmark", "part", "scoring", "parser", "n", "unscored", "metrics"} <= set(scored)
    assert (
        scored["benchmark"],
        scored["part"],
        scored["scoring"],
        scored["parser"],
        scored["n"],
        scored["unscored"],
    ) == ("pope", "coco_random", "official", "pope", 3000, 0)
    assert set(scored["metrics"]) == {
        "accuracy",
        "precision",
        "recall",
        "f1",
        "d_prime",
        "yes_ratio",
    }
    # labels alternate yes, no, ...; every third answer is no: by hand, tp = tn-side counts of
    # six-item periods
    assert scored["metrics"]["accuracy"] == 0.5
    assert scored["metrics"]["yes_ratio"] == 2000 / 3000
    text = run(
        "score",
        "pope",
        "--answers",
        path,
        "--part",
        "coco_random",
        "--data",
        data,
        "--parser",
        "lmms_eval",
    )[1]
    assert "parser lmms_eval" in text
    assert run("score", "pope", "--answers", path, "--part", "moon", "--data", data)[0] == 2
    assert (
        run(
            "score", "pope", "--answers", tmp_path / "none", "--part", "coco_random", "--data", data
        )[0]
        == 1
    )


@nightly
@pytest.mark.data
def test_the_captions_audit_is_one_command(run: Run, data: Path, tmp_path: Path) -> None:
    page = tmp_path / "captions" / "report.html"
    status, output, _ = run(
        "audit",
        "coco_chair",
        "--recorded",
        data / "pope" / "captions",
        "--out",
        page.parent,
        "--data",
        data,
        "--quiet",
        "--all",
    )
    assert status == 0
    assert "CHAIR on COCO: 2000 items, 5 respondents" in output
    for line in ("Parallel forms, Pearson r", "ICC(A,1)", "mean shift", "length shift"):
        assert line in output
    assert page.exists()
    assert (page.parent / "audit.json").exists()
    assert (page.parent / "store.sqlite").exists()


FAILURES = [
    (["audit", "nothing"], 2, "no benchmark 'nothing'"),
    (["audit", "DOGS"], 2, text_of("audit.no-respondent", benchmark="mine")),
    (["audit", "DOGS", "--offline"], 1, "holds no answer to mine"),
    (["audit", "--no-report", "DOGS", "-r", "steady"], 2, "'steady' names no respondent"),
    (["audit", "--no-report", "DOGS", "--recorded", "nowhere.jsonl"], 1, "no such file"),
    (
        ["audit", "--no-report", "DOGS", "-r", "hf/shapes:nobody"],
        1,
        "no embedded respondent 'nobody'",
    ),
    (
        ["audit", "--no-report", "DOGS", "-r", "hf/shapes:steady", "--forms", "upside"],
        2,
        "no form 'upside'",
    ),
    (
        ["audit", "--no-report", "DOGS", "-r", "hf/shapes:steady", "--part", "moon"],
        2,
        "no part 'moon'",
    ),
    (
        ["audit", "--no-report", "DOGS", "-r", "hf/shapes:steady", "--temperature", "-1"],
        2,
        "cannot be used",
    ),
    (["score", "DOGS", "--answers", "nowhere"], 1, "no such file"),
    (["score", "DOGS", "--answers", "x", "--scoring", "fast"], 2, "no scoring 'fast'"),
    (["report", "nowhere.json"], 1, "no such file"),
    (["export", "nowhere.sqlite", "--to", "x.jsonl"], 1, "no such store"),
    (["forms"], 2, "Missing argument"),
    (["dance"], 2, "No such command"),
]


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"), FAILURES, ids=[" ".join(f[0]) for f in FAILURES]
)
def test_what_was_not_done_ends_with_a_status_and_one_sentence(
    run: Run, dogs: Path, arguments: list[str], status: int, sentence: str
) -> None:
    if "hf/" in " ".join(arguments):
        pytest.importorskip("torch", reason=NO_TORCH)
    got, output, err = run(*[dogs if a == "DOGS" else a for a in arguments])
    assert got == status
    assert sentence in err
    assert "Traceback" not in output + err


@needs_torch
def test_errors_in_answers_end_with_a_status(run: Run, dogs: Path, tmp_path: Path) -> None:
    """The pictures are missing: the report is written, the status says that not all was done."""
    status, _, err = run(
        "audit", dogs, "-r", "hf/shapes:steady", "--runs", 1, "--out", tmp_path / "out", "--quiet"
    )
    assert status == 1
    assert tells(err, "run.errors-left", errors=24)
    assert (tmp_path / "out" / "report.html").exists()
    states = json.loads((tmp_path / "out" / "audit.json").read_text())["audits"][0]["respondents"][
        0
    ]["states"]
    assert {counts["error"] for counts in states.values()} == {12}


def test_a_report_that_cannot_be_written_leaves_the_old_one(
    run: Run, dogs: Path, sheets: Path, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "report.html").mkdir()
    (tmp_path / "out" / "evidence.html").write_text("the old evidence")
    status, _, err = run("audit", dogs, "--recorded", sheets, "--out", tmp_path / "out", "--quiet")
    assert status == 1
    assert "cannot be written" in err
    assert (tmp_path / "out" / "report.html").is_dir()
    assert (tmp_path / "out" / "evidence.html").read_text() == "the old evidence"
    audited = hqm.Audit.load(tmp_path / "out" / "audit.json")
    assert [benchmark_audit.benchmark for benchmark_audit in audited.audits] == ["mine"], (
        "an audit is whole before any figure is drawn"
    )


def test_every_option_has_a_help_text() -> None:
    from typer.main import get_command

    from hqm.cli import program
    from hqm.commands.help import every_command

    for name, command in every_command(get_command(program())).items():
        assert command.help, name
        for parameter in command.params:
            assert getattr(parameter, "help", None), f"{name}: {parameter.name}"


def test_progress_shows_rate_and_time_left(dogs: Path, sheets: Path, tmp_path: Path) -> None:
    """In a terminal of its own (a pseudo-terminal), as a user sees it."""
    import os
    import pty
    import subprocess

    if shutil.which("stty") is None:
        pytest.skip("no terminal tools")
    leader, follower = pty.openpty()
    command = [
        sys.executable,
        "-m",
        "hqm.cli",
        "audit",
        "--no-report",
        str(dogs),
        "--recorded",
        str(sheets),
        "--store",
        str(tmp_path / "s.sqlite"),
    ]
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=follower,
        env={**os.environ, "COLUMNS": "120", "TERM": "xterm"},
    )
    os.close(follower)
    received = b""
    try:
        while chunk := os.read(leader, 4096):
            received += chunk
    except OSError:  # the terminal hangs up when the program ends
        pass
    assert process.wait() == 0
    text = re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]", b"", received).decode()
    assert "recorded/a · original" in text
    assert "recorded/d · parallel" in text
    assert "/s" in text


def test_help_shows_groups_in_order_within_a_hundred_columns(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every command: what, who, how, judges, machine, output, as far as it has options in them,
    required ones first.
    """
    from hqm.cli import COMMANDS
    from hqm.commands.options import HEADINGS

    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    option_groups: dict[str, dict[str, list[str]]] = {}
    for name in COMMANDS:
        status, output, _ = run(*name.split(), "--help")
        assert status == 0
        assert max(map(len, output.splitlines())) <= 100, name
        groups = re.findall(r"^([\w ]+):\n((?:  .*\n)+)", output, re.MULTILINE)
        assert [group for group, _ in groups] == [h for h in HEADINGS if h in dict(groups)], name
        option_groups[name] = {
            group: re.findall(r"^  (\S+)", text, re.MULTILINE) for group, text in groups
        }
    assert max(map(len, run("--help")[1].splitlines())) <= 100
    assert list(option_groups["audit"]) == list(HEADINGS)
    options = [
        name for group in option_groups["audit"].values() for name in group if name[0] == "-"
    ]
    assert len(options) <= 40, "as many as a reader can look through"
    assert len(option_groups["audit"]["Most used"]) == 1 + 10, "the benchmarks, and ten options"
    assert len([name for name in COMMANDS if " " not in name]) + 1 <= 18, "with the group label"
    first = {group: names[0] for group, names in option_groups["audit"].items()}
    assert first == {
        "Most used": "benchmarks...",
        "What": "--columns",
        "Who": "--partial",
        "How": "--offline",
        "Judges": "--judgements",
        "Machine": "--machine",
        "Output": "--all",
    }
    assert option_groups["score"]["What"][:2] == ["benchmark", "--answers"]
    assert list(option_groups["gate"]) == ["What", "How", "Output"]


def test_an_option_has_one_text_and_default_wherever_it_stands() -> None:
    from typer.main import get_command

    from hqm.cli import program
    from hqm.commands.help import every_command

    texts: dict[str, set[tuple[str, str]]] = {}
    for command in every_command(get_command(program())).values():
        for parameter in command.params:
            for flag in parameter.opts:
                if flag.startswith("-"):
                    texts.setdefault(flag, set()).add((parameter.help, str(parameter.default)))
    assert {flag for flag, variants in texts.items() if len(variants) > 1} == {
        "--to",
        "--from",
        "--out",
        "--images",  # another file in each command
        "--all",  # of each command's output
        # `hqm shorten` takes the metrics that the short form keeps, `hqm design` the one whose
        # study is designed
        "--metric",
        "--data",  # `hqm fetch` writes into it
        "--store",  # `hqm import` adds to it, `hqm compare` reads it
        "--scoring",
        "--parser",
        "--judge",  # `hqm compare` takes several of each, to compare them
        "--respondent",  # `hqm import` takes one, the name to store a log under
        # `hqm import` needs one, `hqm export --to eee` takes those that the store has
        "--benchmark",
        # `hqm new` names the columns of a benchmark's questions, `hqm table` those of a
        # table
        "--columns",
        "--seed",  # `hqm build` and `hqm label plan` draw with it
        # `hqm build` is told how many to make, `hqm table` how many are behind each
        # score
        "--items",
        "--forms",  # `hqm shorten` is told how many to make; the others name those to ask
        "--form",  # `hqm forms` shows one by its name, the others are brought one in a file
        "--judgements",  # one file to `hqm score`, several to `hqm audit`
    }


@pytest.mark.parametrize("name", ["part", "runs", "judges", "data", "store"])
def test_a_command_receives_the_options_it_names(name: str) -> None:
    from hqm.commands.option_decorators import with_options
    from hqm.commands.options import OPTIONS, RunOptions

    received: list[RunOptions] = []

    @with_options(name)
    def command(*, options: RunOptions) -> None:
        received.append(options)

    command(**{name: OPTIONS[name].parameter.default})
    assert received == [RunOptions()]
    with pytest.raises(KeyError):
        with_options("no_such_option")


def test_another_package_adds_a_command_with_one_file(
    tmp_path: Path, dogs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A function in a module, and its entry point; it takes the shared options by name."""
    from hqm.cli import main

    (tmp_path / "census.py").write_text(
        "from hqm.commands.option_decorators import with_options\n"
        "from hqm.commands.options import Benchmarks, RunOptions\n"
        "from hqm.benchmark.registry import load\n\n\n"
        "@with_options('as_json')\n"
        "def census(*, benchmarks: Benchmarks, options: RunOptions) -> None:\n"
        '    """Count the items of benchmarks."""\n'
        "    print(options.output.as_json, *(len(load(name).original) for name in benchmarks))\n"
    )
    dist_info = tmp_path / "census-1.0.dist-info"
    dist_info.mkdir()
    (dist_info / "METADATA").write_text("Metadata-Version: 2.1\nName: census\nVersion: 1.0\n")
    (dist_info / "entry_points.txt").write_text("[hqm.commands]\ncensus = census:census\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for words, expected in (
        (["--help"], "  census   Count the items of benchmarks.\n"),
        (["census", str(dogs), "--json"], f"True {len(hqm.load(str(dogs)).original)}\n"),
    ):
        monkeypatch.setattr(sys, "argv", ["hqm", *words])
        with pytest.raises(SystemExit) as end:
            main()
        assert not end.value.code
        assert expected in capsys.readouterr().out
    sys.modules.pop("census")


def test_a_benchmarks_own_questions_as_recorded_answers_are_noticed(
    run: Run, tmp_path: Path
) -> None:
    items = hqm.load("shapes_yesno").original.items[:40]
    for name, answers in (
        ("questions", [str(item.target) for item in items]),
        ("model", ["Yes." if n % 3 else "No." for n in range(40)]),
    ):
        rows = [{"item": i.id, "answer": a} for i, a in zip(items, answers, strict=True)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    words = ("audit", "shapes_yesno", "--no-report", "--forms", "original", "-q")
    store = ("--store", tmp_path / "s.sqlite")
    recorded = ("--recorded", tmp_path / "questions.jsonl", "--recorded", tmp_path / "model.jsonl")
    status, _, err = run(*words, *store, *recorded)
    assert status == 0
    (line,) = err.splitlines()
    assert tells(line, "run.own-questions", respondent="questions", answers=40)
    assert "questions.jsonl" in line


@needs_torch
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--metric", "f2"], "'f2'"),
        (["--judge", "openapi/x"], "'openapi/x'"),
        (["--set", "pool=vote"], "'vote'"),
        (["--set", "levels=answers"], "'answers'"),
        (["--set", "stale=yes"], "'yes'"),
        (["--forms", "original,upside"], "'upside'"),
        (["-r", "hf/shapes:stedy"], "'stedy'"),
    ],
)
def test_what_means_nothing_is_refused_before_anybody_is_asked(
    run: Run, dogs: Path, tmp_path: Path, options: list[str], message: str
) -> None:
    store = tmp_path / "s.sqlite"
    words = ("audit", dogs, "-r", "hf/shapes:steady", "--blind", "--store", store, "-q")
    status, output, err = run(*words, *options)
    assert status in (1, 2)
    assert message in err
    assert "asked" not in output
    assert not store.exists()


@needs_torch
def test_errors_are_grouped_by_their_reason(run: Run, dogs: Path, tmp_path: Path) -> None:
    """Six pictures are missing: one line, and not one for each."""
    words = ("audit", dogs, "-r", "hf/shapes:steady", "--no-report", "--runs", 1, "-q")
    status, _, err = run(*words, "--store", tmp_path / "s.sqlite")
    assert status == 1
    assert err.count(" answers: ") == 1
    assert " 24 answers: " in err.splitlines()[-1]


def test_no_page_of_an_earlier_audit_stands_beside_a_later_one(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "out"
    status, output, _ = run("audit", "example", "--out", folder)
    assert status == 0
    assert "report.html  evidence.html  audit.json  findings.csv" in output

    def fail(*_: object) -> NoReturn:
        raise ZeroDivisionError

    monkeypatch.setattr(asking, "report_files", fail)
    _, output, errors = run("audit", "example", "--out", folder)
    assert "the report cannot be drawn" in errors
    assert "wrote" in output
    assert "report.html" not in output
    assert sorted(path.name for path in folder.glob("*.html")) == []
