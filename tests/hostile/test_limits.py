"""Every input has a bound that is checked before the work: the table in docs/formats.md, by the
command line.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hqm.files import archives, cache, images, parquet, records
from hqm.forms.grammar import MAX_TAGGED_CHARS, MAX_WORDLESS_CHARS
from hqm.forms.make_forms import build_parallel
from hqm.lint.answer_leaks import answers_of
from hqm.lint.question_checks import _shared_hashes, _slots, check_words, commonest_template
from hqm.psychometrics.inference.cross_validation import Questions
from hqm.psychometrics.items.guessing import make_guesser
from hqm.text import MAX_ADDRESSED_CHARS, MAX_NAME_CHARS, MAX_TEXT_CHARS
from hqm.types import Form, Item
from tests.conftest import ROOT, Run, write_benchmark
from tests.hostile.test_input import plain_audit
from tests.messages import tells

LIMITS = [
    f"{MAX_NAME_CHARS} characters",
    f"{MAX_ADDRESSED_CHARS:,} characters",
    f"{MAX_TEXT_CHARS:,} characters",
    f"{MAX_TAGGED_CHARS:,} characters",
    f"{MAX_WORDLESS_CHARS}",
    f"{records._MAX_TEXT_BYTES >> 30} GiB",
    f"{records.MAX_ROW_MIB} MiB",
    f"{parquet.MAX_ROWS:,}",
    f"{parquet._MAX_CELL_BYTES >> 20} MiB",
    f"{archives.MAX_DOCUMENT_BYTES >> 30} GiB",
    f"{cache.MAX_BYTES >> 20} MiB, {images.MAX_PIXELS // 10**6} million pixels",
    ", ".join(images.PICTURE_FORMATS),
]
"""The bounds in the order of the page: of a name, a model with its address, a question or answer, a
question that a rule rewrites and its
longest stretch without a word, a file, a record, the rows and a cell of a Parquet file, a document in
an archive, a picture; and the formats of pictures."""


def test_the_page_has_every_limit() -> None:
    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| .+? \| (.+?) \|$", page.partition("## Limits")[2], re.MULTILINE)
    assert rows[1:] == LIMITS


def test_a_template_costs_what_its_words_cost() -> None:
    words = "a" * 400
    questions = [f"is there {' '.join(words)} {number}" for number in range(3)]
    split = [question.split() for question in questions]
    assert len(list(_slots(split[0], *_shared_hashes(split)))) == 4
    assert commonest_template(questions) == (f"is there {' '.join(words)} _", 1.0)


def _distinct_words(n: int) -> str:
    return " ".join(f"w{k}" for k in range(n))


TEXTS: dict[str, Callable[[int], str]] = {
    "distinct words": _distinct_words,
    "sentences": lambda n: "A dog. " * n,
    "abbreviations": lambda n: "No. " * n,
    "questions": lambda n: "Is it? " * n,
    "blanks": lambda n: f"a{' ' * n}b",
    "lines": lambda n: "a\n" * n,
    "statements of an answer": lambda n: "if the answer is " * n,
}


@pytest.mark.parametrize("kind", TEXTS)
def test_a_question_costs_what_its_words_cost(kind: str) -> None:
    """Twice the words take about twice the time in the rules of forms and in the checks."""

    def seconds(n: int) -> float:
        text = TEXTS[kind](n)
        items = [
            Item(f"{task}{n}", f"{text} {i}", task, target="yes")
            for task in ("yes_no", "vqa")
            for i in range(10)
        ]
        start = time.process_time()
        for task in ("yes_no", "vqa"):
            of_task = [item for item in items if item.task == task]
            build_parallel(Form("original", tuple(of_task[:1])))
            list(check_words(Form("original", tuple(of_task))))
            make_guesser(answers_of(of_task), Questions.parse([i.prompt for i in of_task]))
        return time.process_time() - start

    seconds(50)  # what is loaded once
    assert seconds(4_000) < 3 * seconds(2_000) + 0.2


def test_a_long_prompt_is_checked_and_left_out_of_the_forms(run: Run, dogs: Path) -> None:
    items = [json.loads(line) for line in (dogs / "items.jsonl").read_text().splitlines()]
    for number, item in enumerate(items):
        item["prompt"] = f"Is {' '.join(f'w{k}' for k in range(10_000))} {number}?"
    write_benchmark(dogs, items)
    status, _, err = run("check", dogs, "--exit-zero")
    assert (status, err) == (0, "")
    status, output, err = run("forms", dogs, "--out", dogs / "forms.jsonl")
    assert tells(output + err, "form.too-long", most=f"{MAX_TAGGED_CHARS:,}")


@pytest.mark.parametrize("title", ["title", "benchmark", "version"])
def test_a_text_of_an_audit_has_a_length(run: Run, tmp_path: Path, title: str) -> None:
    document = plain_audit()
    document["audits"][0][title] = "x" * 1_000_000
    path = tmp_path / "audit.json"
    path.write_text(json.dumps(document))
    for command in ("report", "compare", "gate"):
        status, _, err = run(command, path)
        assert status == 1, command
        assert title in err
        assert len(err) < 600


def test_rows_of_parquet_are_counted_before_one_is_read(
    run: Run, dogs: Path, tmp_path: Path
) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    n = parquet.MAX_ROWS + 1
    columns: dict[str, Any] = {
        name: pa.DictionaryArray.from_arrays(pa.array([0] * 1).take(pa.array([0] * n)), [text])
        for name, text in (("item", "q0"), ("respondent", "a"), ("answer", "yes"))
    }
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    status, _, err = run("audit", dogs, "--recorded", tmp_path / "a.parquet")
    assert (status, tells(err, "limits.rows", rows=f"{n:,}")) == (1, True), err


@pytest.mark.parametrize("name", ["0.png", "0.jpg", "0.eps"])
def test_postscript_is_no_picture_whatever_its_name(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    from PIL import EpsImagePlugin

    def fail(*arguments: object, **settings: object) -> None:
        raise AssertionError("PostScript was run")

    monkeypatch.setattr(EpsImagePlugin, "Ghostscript", fail)
    items = [
        {"id": f"q{i}", "prompt": f"Is it {i}?", "target": "yes", "image": name} for i in range(3)
    ]
    folder = write_benchmark(tmp_path / "b", items, data={"items": "items.jsonl", "images": "p"})
    (folder / "p").mkdir()
    header = "%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\nshowpage\n"
    (folder / "p" / name).write_text(header)
    status, output, err = run("check", folder)
    assert status == 1, output + err
    assert "picture" in output


def test_only_one_function_opens_pictures() -> None:
    openers = [
        str(path.relative_to(ROOT))
        for folder in ("hqm", "adapters", "benchmarks", "reports")
        for path in (ROOT / folder).rglob("*.py")
        if "Image.open(" in path.read_text(encoding="utf-8")
    ]
    assert openers == ["hqm/files/images.py"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes")
@pytest.mark.parametrize("kind", ["fifo", "/dev/zero"])
@pytest.mark.parametrize(
    "words",
    [
        "audit {dogs} --recorded {answers} --store {pipe}",
        "audit {dogs} --recorded {pipe}",
        "audit {dogs} --recorded {answers} --criterion {pipe} --store {store}",
        "audit {dogs} --recorded {answers} --judgements j={pipe} --store {store}",
        "audit {dogs} --recorded {answers} --key {pipe} --store {store}",
        "audit {pipe}",
        "check {dogs} --key {pipe}",
        "report {pipe}",
        "compare {pipe} {pipe}",
        "gate {pipe}",
        "export {pipe} --to x.jsonl",
        "import {pipe} --store {store}",
        "import {pipe} --benchmark {dogs} --store {store}",
        "table {pipe}",
        "score {dogs} --answers {pipe}",
        "new made --from {pipe}",
        "label status {pipe}",
    ],
)
def test_a_pipe_or_a_device_is_no_file(
    run: Run, dogs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    pipe = tmp_path / "pipe.jsonl"
    if kind == "fifo":
        os.mkfifo(pipe)
    else:
        pipe.symlink_to(kind)
    answers = tmp_path / "a.jsonl"
    rows = [{"respondent": "a", "item": f"q{i}", "answer": "yes"} for i in range(12)]
    answers.write_text("".join(json.dumps(row) + "\n" for row in rows))
    values = {"dogs": dogs, "answers": answers, "pipe": pipe, "store": tmp_path / "s.sqlite"}
    status, _, err = run(*(word.format(**values) for word in words.split()))
    assert status in (1, 2), err
    assert 0 < err.count("\n") <= 3, err


def test_no_password_of_an_address_is_printed_or_stored(
    run: Run, dogs: Path, tmp_path: Path
) -> None:
    items = [json.loads(line) for line in (dogs / "items.jsonl").read_text().splitlines()]
    items[2]["image"] = "http://anna:pa55word@host.example/x.png"
    write_benchmark(dogs, items)
    rows = [{"respondent": "a", "item": item["id"], "answer": "yes"} for item in items]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    questions = [{"question": i["prompt"], "answer": "yes", "image": i["image"]} for i in items]
    (tmp_path / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in questions))
    said = ""
    for words in (
        ("check", dogs),
        ("audit", dogs, "--recorded", tmp_path / "a.jsonl", "--out", tmp_path / "out"),
        ("new", tmp_path / "new", "--from", tmp_path / "q.jsonl"),
        ("check", dogs, "--images", "http://anna:pa55word@host.example/"),
    ):
        status, output, err = run(*words)
        assert status in (1, 2), f"{words}: {output}"
        said += output + err
    assert "pa55word" not in said
    for folder in ("out", "new"):
        for path in (tmp_path / folder).rglob("*"):
            assert not path.is_file() or b"pa55word" not in path.read_bytes()
