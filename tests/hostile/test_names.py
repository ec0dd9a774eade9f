"""No text of a user's is a template, a formula or markup: names that look like one go through every
field that reaches a page, a table, a file's name or a terminal, by the command line.
"""

from __future__ import annotations

import ast
import csv
import html
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from hqm.auditing.audit import Audit
from hqm.text import MAX_NAME_CHARS, MAX_TEXT_CHARS
from tests.conftest import ROOT, Run, write_benchmark
from tests.messages import tells

NAMES = [
    "m{x}",
    "m{0}",
    "m{shown}",
    "m{rho}",
    "m{",
    "m%s",
    "m%(a)d",
    "m$x",
    "m${question}",
    "m\\x",
    "m\\1",
    "m\\g<0>",
    "m\\input{a}",
    "m{{7*7}}",
    "m{% raw %}",
    "m<b>&amp;",
    "m\"'",
    "m[red]",
    "m[",
    "m:dog:",
    "m|*_~`#^",
    "=1+1",
    "+m",
    "-m",
    "m,m;m",
    "m\u200fשלום",
    "m.5",
    "m" + "x" * (MAX_NAME_CHARS - 1),
]
"""Names that mean something to a template, a pattern, a spreadsheet or a page, and are names."""
REFUSED = [
    "m" * (MAX_NAME_CHARS + 1),
    "m\x1b[2J",
    "m\u202etxt",
    "m\nm",
    "m\x07",
    "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD",
    "hf_abcdefghijklmnopqrstuvwxyzABCDEFGH",
    "AIzaSyA-1234567890abcdefghijklmnop_qrst",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
]
"""Names that no file can have: too long, acting on the text around them, or a key."""
_ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_JUDGED = ("item", "respondent", "score")
_LABELLED = ("item", "respondent", "label")
_ANY_TEXT = "{x} %s $x \\1 \x1b[2J \x07 \u202etxt [red] :dog: <b> =1 \u2028end"
"""A question, an option, an answer or a title may hold anything."""


def rows_of(names: list[str]) -> list[dict[str, Any]]:
    return [
        {
            "id": f"{name[:190]}{i}",
            "prompt": f"{name} {_ANY_TEXT} {i}?",
            "target": "yes" if i % 3 else "no",
            "type": f"T{name[:190]}" if i % 2 else "Other",
            "part": name if i < 3 else "rest",
            "cluster": f"c{i // 2}",
        }
        for i, name in enumerate(names)
    ]


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def world(tmp_path: Path) -> dict[str, Path]:
    """A benchmark, answers, judgements and labels, of which every name is one of `NAMES`."""
    items = rows_of(NAMES)
    types = [*{item["type"]: None for item in items}]
    folder = write_benchmark(
        tmp_path / "b", items, title=NAMES[0], types=types, labelled=True, summary="m{x} %s"
    )
    answers = [
        {
            "respondent": name,
            "form": "original",
            "run": run,
            "item": item["id"],
            "answer": ("Yes. " if (i * 7 + k * 3 + run) % 5 else "No. ") + _ANY_TEXT,
        }
        for k, name in enumerate(NAMES)
        for run in (0, 1)
        for i, item in enumerate(items)
    ]
    judgements = [
        {"item": item["id"], "respondent": name, "judge": judge, "score": (i + k) % 2}
        for judge in ("j{x}", "j%s$x")
        for k, name in enumerate(NAMES[:4])
        for i, item in enumerate(items)
    ]
    labels = [
        {"item": item["id"], "respondent": name, "rater": rater, "label": (i + k) % 2}
        for rater in ("r{x}", "=r%s")
        for k, name in enumerate(NAMES[:4])
        for i, item in enumerate(items)
    ]
    return {
        "benchmark": folder,
        "answers": write_rows(tmp_path / "a{x}%s.jsonl", answers),
        "judgements": write_rows(tmp_path / "j.jsonl", judgements),
        "labels": write_rows(tmp_path / "l.jsonl", labels),
    }


def guarded(text: str) -> None:
    """Every cell of a CSV is no formula, and reads back."""
    for row in csv.reader(text.splitlines(keepends=True)):
        for cell in row:
            number = re.fullmatch(r"[+-]?[\d.]+(?:[eE][+-]?\d+)?", cell)
            assert number or not re.match(r"\s*[=+@\t\r-]", cell), cell


def test_a_name_is_a_value_on_every_page_and_in_every_table(
    run: Run, world: dict[str, Path], tmp_path: Path
) -> None:
    out = tmp_path / "out"

    def ok(*arguments: object, statuses: tuple[int, ...] = (0,)) -> str:
        status, output, err = run(*arguments)
        assert status in statuses, f"{arguments}: {err}"
        assert not _ACTING.search(output + err), f"{arguments}: {(output + err)!r}"
        return output

    benchmark, answers = world["benchmark"], world["answers"]
    sources = ("--judgements", world["judgements"], "--criterion", world["labels"])
    ok("check", benchmark, "--exit-zero")
    ok("check", benchmark, "--exit-zero", "--github")
    output = ok("audit", benchmark, "--recorded", answers, *sources, "--out", out, "--all")
    assert "m{x}: 28 items" in output
    audit = Audit.load(out / "audit.json").audits[0]
    assert {row.name.removeprefix("recorded/") for row in audit.respondents} == set(NAMES)
    page = html.unescape((out / "evidence.html").read_text(encoding="utf-8"))
    short = [name for name in NAMES if "/" not in name and ":" not in name]
    assert [name for name in short if name not in page] == []
    assert "<b>&amp;" not in (out / "evidence.html").read_text(encoding="utf-8")
    guarded((out / "findings.csv").read_text(encoding="utf-8"))
    for name in ("t.csv", "t.md", "t.tex", "t.json", "t.html"):
        ok("report", out, "--all", "--to", tmp_path / name)
    guarded((tmp_path / "t.csv").read_text(encoding="utf-8"))
    cells = {cell for row in csv.reader((tmp_path / "t.csv").open(newline="")) for cell in row}
    assert {"m{shown}", "m%s", "m\\1", "'=1+1", "'+m", "'-m"} <= cells
    for name in ("leaderboard", "error_budget"):
        ok("report", out, "--figure", name, "--to", tmp_path / "f.svg")
        ET.parse(tmp_path / "f.svg")
    document = json.loads((out / "audit.json").read_text(encoding="utf-8"))
    document["audits"][0] |= {"title": NAMES[2], "benchmark": "other"}
    (tmp_path / "other.json").write_text(json.dumps(document), encoding="utf-8")
    for name in ("c.html", "c.csv"):
        ok("compare", out, tmp_path / "other.json", "--to", tmp_path / name)
    guarded((tmp_path / "c.csv").read_text(encoding="utf-8"))
    ok("gate", out, "--junit", tmp_path / "g.xml", "--github", statuses=(0, 1))
    ET.parse(tmp_path / "g.xml")
    ok("forms", benchmark, "--out", tmp_path / "forms.jsonl")


def test_a_name_is_a_value_in_files_and_labels(
    run: Run, world: dict[str, Path], tmp_path: Path
) -> None:
    store = tmp_path / "s.sqlite"

    def ok(*arguments: object) -> str:
        status, output, err = run(*arguments)
        assert status == 0, f"{arguments}: {err}"
        assert not _ACTING.search(output + err), f"{arguments}: {(output + err)!r}"
        return output

    benchmark = world["benchmark"]
    ok("audit", "--no-report", benchmark, "--recorded", world["answers"], "--store", store)
    ok("export", store, "--to", tmp_path / "x.jsonl")
    records = [json.loads(line) for line in (tmp_path / "x.jsonl").read_text().split("\n") if line]
    assert {f"recorded/{name}" for name in NAMES} <= {str(r.get("respondent")) for r in records}
    plan = tmp_path / "plan.jsonl"
    options = ("--store", store, "--raters", "r{x},=r", "--out", plan, "--labels", "20")
    ok("label", "plan", benchmark, *options)
    for tool, name in (("mturk", "t.csv"), ("label-studio", "t.json"), ("potato", "t_potato")):
        ok("label", "export", plan, "--as", tool, "--to", tmp_path / tool / name)
    guarded((tmp_path / "mturk" / "t.csv").read_text(encoding="utf-8"))
    table = [["model", "a{x}", "=b", "c%s"], *([name, ".5", ".6", ".7"] for name in NAMES[:20])]
    for number, row in enumerate(table[1:]):
        row[1:] = [f"{0.3 + 0.02 * number + 0.01 * k:.3f}" for k in range(3)]
    with (tmp_path / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows(table)
    ok("table", tmp_path / "t.csv", "--out", tmp_path / "table")
    questions = [{"question": f"{name}?", "answer": "yes"} for name in NAMES]
    write_rows(tmp_path / "q.jsonl", questions)
    new = tmp_path / "new{x}"
    ok("new", new, "--from", tmp_path / "q.jsonl", "--title", "t{x} %s $x \\1")
    ok("check", new, "--exit-zero")


@pytest.mark.parametrize("name", REFUSED, ids=ascii)
@pytest.mark.parametrize("field", ["respondent", "judge", "rater", "id", "type", "title", "table"])
def test_a_name_that_no_file_can_have_is_refused_in_a_sentence(
    run: Run, dogs: Path, tmp_path: Path, name: str, field: str
) -> None:
    if field == "table" and name == "m\u202etxt":
        pytest.skip("headings are read as they look, without invisible characters")
    items = [json.loads(line) for line in (dogs / "items.jsonl").read_text().splitlines()]
    if field in ("id", "type"):
        items[3][field] = name
    card = {"types": ["existence", *([name] if field == "type" else [])]}
    if field == "title":
        card["title"] = name
    write_benchmark(dogs, items, **card)
    answer = {
        "respondent": name if field == "respondent" else "a",
        "form": "original",
        "run": 0,
        "answer": "yes",
    }
    answers = write_rows(tmp_path / "a.jsonl", [answer | {"item": i["id"]} for i in items])
    arguments: list[object] = ["audit", dogs, "--recorded", answers, "--out", tmp_path / "out"]
    marked = [{"item": i["id"], "respondent": "a", "score": 1, "label": 1} for i in items]
    if field == "judge":
        judged = [{"judge": name, **{k: row[k] for k in _JUDGED}} for row in marked]
        arguments += ["--judgements", write_rows(tmp_path / "j.jsonl", judged)]
    if field == "rater":
        labelled = [{"rater": name, **{k: row[k] for k in _LABELLED}} for row in marked]
        arguments += ["--criterion", write_rows(tmp_path / "l.jsonl", labelled)]
    if field == "table":
        if "\n" in name:
            pytest.skip("a cell of a table may break its lines")
        rows = [["model", "a", "b"], ["x", ".1", ".2"], [name, ".3", ".5"], ["y", ".4", ".6"]]
        with (tmp_path / "t.csv").open("w", newline="") as file:
            csv.writer(file).writerows(rows)
        arguments = ["table", tmp_path / "t.csv", "--out", tmp_path / "out"]
    status, output, err = run(*arguments)
    assert status == 1, output + err
    assert err.count("\n") <= 2, err
    assert not _ACTING.search(output + err)
    if len(name) < MAX_NAME_CHARS and name.isascii() and name.isprintable():
        assert name not in output + err
        files = [path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()]
        assert not any(name.encode() in content for content in files)


def test_an_answer_and_a_question_have_a_length(run: Run, dogs: Path, tmp_path: Path) -> None:
    items = [json.loads(line) for line in (dogs / "items.jsonl").read_text().splitlines()]
    answers = [{"respondent": "a", "item": item["id"], "answer": "yes"} for item in items]
    answers[2]["answer"] = "y" * (MAX_TEXT_CHARS + 1)
    path = write_rows(tmp_path / "a.jsonl", answers)
    status, _, err = run("audit", dogs, "--recorded", path, "--out", tmp_path / "out")
    assert (status, tells(err, "names.long-text", subject="answer")) == (1, True), err
    items[2]["prompt"] = "y" * (MAX_TEXT_CHARS + 1)
    write_benchmark(dogs, items)
    status, output, err = run("check", dogs)
    assert status == 1
    assert tells(output + err, "names.long-text", subject="text of the item 'q2'")


def test_a_template_is_a_literal() -> None:
    """Nothing that holds a value is a template: `compose` takes literals, names stand beside."""
    for path in (ROOT / "reports").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "compose":
                template = node.args[0]
                literals = [template]
                if isinstance(template, ast.IfExp):
                    literals = [template.body, template.orelse]
                assert all(isinstance(n, ast.Constant) for n in literals), f"{path}:{node.lineno}"


def test_only_one_module_writes_csv() -> None:
    writers = [
        str(path.relative_to(ROOT))
        for folder in ("hqm", "adapters", "benchmarks", "reports")
        for path in (ROOT / folder).rglob("*.py")
        if re.search(r"csv\.(?:writer|DictWriter)\(|\.to_csv\(", path.read_text(encoding="utf-8"))
    ]
    assert writers == ["hqm/files/dialect.py"]
