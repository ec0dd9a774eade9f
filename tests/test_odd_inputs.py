"""Odd sources of questions, folders and recorded answers: read as a person would, or refused."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hqm import load
from hqm.auditing.gate import Gate, Test
from hqm.auditing.policy import Policy
from hqm.benchmark.card import Card
from hqm.benchmark.findings import code_of
from hqm.benchmark.log_benchmark import benchmarks_of_logs
from hqm.benchmark.new_items import read_questions
from hqm.benchmark.new_sources import GatheredPictures, open_source
from hqm.errors import HQMError
from hqm.imports.detect import read_logs
from hqm.imports.intake import take_rows
from hqm.judges.judgements import JudgementSource, import_judgements
from hqm.lint.linter import lint_benchmarks
from tests.conftest import Run
from tests.messages import pattern_of, tells

COLUMNS = ("id", "question", "options", "answer")
CHOICES = [["g1", "Which?", ["red", "blue"], "A"], ["g2", "What?", ["red", "green"], "B"]]


def questions(path: Path, columns: tuple[str, ...], rows: list[list[Any]]) -> list[str]:
    """The right answers of a source, options by their texts."""
    if path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([columns, *rows])
    elif path.suffix == ".xlsx":
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.Workbook()
        for row in [columns, *rows]:
            book.active.append(list(row))
        book.save(path)
    else:
        records = (dict(zip(columns, row, strict=True)) for row in rows)
        path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    read = read_questions(open_source(str(path)), {}, GatheredPictures(path.parent / "pictures"))
    targets = []
    for row in read.rows:
        options = row.get("options")
        targets.append(options["ABCDEFGH".index(row["target"])] if options else row["target"])
    return targets


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".xlsx"])
@pytest.mark.parametrize("words", [(True, False), ("TRUE", "false"), ("y", "n"), ("Y", "N")])
def test_true_and_false_are_yes_and_no_in_every_kind_of_file(
    suffix: str, words: tuple[Any, Any], tmp_path: Path
) -> None:
    rows = [[f"q{i}", f"Is it {i}?", words[i % 2]] for i in range(4)]
    targets = questions(tmp_path / f"q{suffix}", ("id", "question", "answer"), rows)
    assert targets == ["yes", "no", "yes", "no"]


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (["x", "Who?", ["b) red", "a) blue"], "a"], pattern_of("odd.letters")),
        (["x", "Who?", ["(b) red", "(a) blue"], "A"], pattern_of("odd.letters")),
        (
            ["x", "Who?", {"text": ["red", "blue"], "label": ["A", "A"]}, "A"],
            pattern_of("odd.labels"),
        ),
        (["x", "\u00a0\u200b", ["red", "blue"], "A"], pattern_of("odd.question")),
    ],
)
def test_what_no_item_can_be_made_of_is_refused(
    row: list[Any], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(HQMError, match=sentence):
        questions(tmp_path / "q.jsonl", COLUMNS, [*CHOICES, row])


@pytest.mark.parametrize(
    ("columns", "cells", "is_refused"),
    [
        (("answer", "target"), [("red", "red"), ("blue", "red")], True),
        (("answer", "Answer"), [("red", "blue"), ("blue", "red")], True),
        (("answer", "gold"), [("A", "B"), ("B", "A")], True),
        (("answer", "gold"), [("red", "red"), ("blue", "blue")], False),
        (("answer", "label"), [("red", "7"), ("blue", "9")], False),
    ],
)
def test_two_columns_of_right_answers_must_agree(
    columns: tuple[str, str], cells: list[tuple[str, str]], is_refused: bool, tmp_path: Path
) -> None:
    rows = [[f"q{i}", f"What is {i}?", *pair] for i, pair in enumerate(cells)]
    names = ("id", "question", *columns)
    if is_refused:
        sentence = pattern_of("odd.rivals", second=columns[1])
        if columns[1] == "Answer":
            sentence = pattern_of("odd.same-name", second="Answer")
        with pytest.raises(HQMError, match=sentence):
            questions(tmp_path / "q.csv", names, rows)
    else:
        assert questions(tmp_path / "q.csv", names, rows) == [first for first, _ in cells]


@pytest.mark.parametrize(
    ("columns", "cells", "sentence"),
    [
        (("response", "output"), [("red", "blue"), ("blue", "blue")], pattern_of("odd.rivals")),
        (("response", "prediction"), [("It is red.", "red"), ("blue", "Blue.")], ""),
        (("Answer", "answer"), [("red", "blue"), ("blue", "blue")], pattern_of("odd.same-name")),
        (("answer", "ANSWER"), [("red", "red"), ("blue", "blue")], ""),
    ],
)
def test_two_columns_of_answers_must_agree(
    columns: tuple[str, str], cells: list[tuple[str, str]], sentence: str, tmp_path: Path
) -> None:
    path = tmp_path / "answers.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "model", *columns])
        writer.writerows([f"q{i}", "m", *pair] for i, pair in enumerate(cells))
    if sentence:
        with pytest.raises(HQMError, match=sentence):
            take_rows(path)
    else:
        intake = take_rows(path)
        assert intake.cells("answer", intake.records) == [first for first, _ in cells]


def test_a_name_of_a_row_has_a_length(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(json.dumps({"item": "q0", "model": "m" * 9000, "answer": "yes"}))
    with pytest.raises(HQMError, match=pattern_of("odd.long-name", length="9,000")):
        take_rows(path)


@pytest.mark.parametrize("cell", ["#REF!", "#NAME?"])
def test_a_cell_that_excel_could_not_compute_is_refused(cell: str, tmp_path: Path) -> None:
    rows = [["a", "What?", "red"], ["b", "Which?", cell]]
    with pytest.raises(HQMError, match=pattern_of("odd.excel-error", error=cell)):
        questions(tmp_path / "q.xlsx", ("id", "question", "answer"), rows)


def test_a_date_of_excel_is_a_day(tmp_path: Path) -> None:
    from datetime import datetime

    rows = [["a", "When?", datetime(2020, 1, 2)], ["b", "When?", datetime(2020, 1, 3, 4)]]
    targets = questions(tmp_path / "q.xlsx", ("id", "question", "answer"), rows)
    assert targets == ["2020-01-02", "2020-01-03 04:00:00"]


# --- a user's folder ---


def folder(path: Path, items: str, card: str = "", name: str = "items.jsonl") -> Path:
    path.mkdir()
    (path / name).write_text(items)
    (path / "card.toml").write_text(
        'name = "mine"\ntitle = "Mine"\nversion = "1"\ntask = "yes_no"\n'
        f'[data]\nitems = "{name}"\n{card}'
    )
    return path


def faults(path: Path) -> set[str]:
    (checked,) = lint_benchmarks(str(path))
    names = {finding.name for finding in checked.findings}
    return {name for name in names if code_of(name).severity == "error"}


def item(**fields: object) -> str:
    return json.dumps({"id": "a", "prompt": "Is it?", "target": "yes", **fields}) + "\n"


def test_a_heading_in_other_cases_is_checked_as_it_is_read(tmp_path: Path) -> None:
    path = folder(tmp_path / "b", "ID,Prompt,Target\na,Is it?,yes\n", name="items.csv")
    assert not faults(path)
    assert len(load(str(path)).original) == 1


@pytest.mark.parametrize(
    ("items", "card", "fault"),
    [
        (item(prompt="\u00a0\u200b"), "", "field-invalid"),
        (item(id="\u200b"), "", "field-invalid"),
        (item(), '[scoring]\naudited = ["zzz"]\n', "card-key"),
        (item(), '[fields]\nid = "prompt"\n', "card-key"),
        (item(), '[fields]\noptions = "target"\n', "card-key"),
    ],
)
def test_what_a_folder_cannot_mean_is_a_fault(
    items: str, card: str, fault: str, tmp_path: Path
) -> None:
    assert fault in faults(folder(tmp_path / "b", items, card))


def test_a_part_that_shows_nothing_is_none(tmp_path: Path) -> None:
    items = item(part=" \u200b") + item(id="b", part=" val ", cluster="  ")
    form = load(str(folder(tmp_path / "b", items))).original
    assert [(i.part, i.cluster) for i in form.items] == [("", ""), ("val", "")]


def test_a_right_answer_has_a_length() -> None:
    from hqm.benchmark.items import item_of

    card = Card(name="mine", title="Mine", version="1", task="vqa")
    record = {"id": "a", "prompt": "What?", "target": "x" * 1_000_001}
    with pytest.raises(HQMError, match=pattern_of("odd.long-answer")):
        item_of(record, card, "items.jsonl: record 1")


# --- pictures of one name in two folders ---


@pytest.mark.parametrize("is_same", [True, False])
@pytest.mark.parametrize("named", ["{i}.png", "{model}/{i}.png"])
def test_pictures_of_one_name_with_other_contents_are_not_one(
    is_same: bool, named: str, tmp_path: Path
) -> None:
    for model in ("m0", "m1"):
        lines = []
        for i in range(4):
            name = named.format(model=model, i=i)
            picture = tmp_path / model / name
            picture.parent.mkdir(parents=True, exist_ok=True)
            picture.write_bytes(f"{i} {'' if is_same else model}".encode())
            row = {"model": model, "image": name, "question": "Is it?", "target": "yes"}
            lines.append(json.dumps({**row, "prediction": "yes"}))
        (tmp_path / model / "answers.jsonl").write_text("\n".join(lines))
    logs = read_logs([tmp_path / model / "answers.jsonl" for model in ("m0", "m1")])
    if is_same:
        (benchmark,) = benchmarks_of_logs(logs)
        assert len(benchmark.original) == 4
    else:
        with pytest.raises(HQMError, match=pattern_of("odd.pictures")):
            benchmarks_of_logs(logs)


# --- judgements ---

JUDGED: dict[str, tuple[Callable[[int], dict[str, object]], str]] = {
    "another benchmark": (
        lambda i: {"verdict": i % 2, "benchmark": "pope"},
        pattern_of("odd.benchmark"),
    ),
    "two times asked": (
        lambda i: {"verdict": i % 2, "run": 0, "asking": 1},
        pattern_of("odd.asking"),
    ),
    "an answer beside its key": (
        lambda i: {"verdict": i % 2, "answer": "yes", "prediction": "audited"},
        "",
    ),
    "another answer beside the audited one": (
        lambda i: {"verdict": i % 2, "answer": "audited", "prediction": "zzz"},
        pattern_of("odd.unmatched"),
    ),
}


@pytest.mark.parametrize("name", JUDGED)
def test_fields_of_a_judgement_that_contradict_the_audit_are_refused(
    name: str, dogs: Path, tmp_path: Path
) -> None:
    make, sentence = JUDGED[name]
    benchmark = load(str(dogs))
    ids = [i.id for i in benchmark.original.items]
    path = tmp_path / "judge.jsonl"
    records = [{"item": key, "respondent": "m0", **make(i)} for i, key in enumerate(ids)]
    path.write_text("\n".join(map(json.dumps, records)))

    def judged() -> Any:
        forms = {"original": benchmark.original}
        source = JudgementSource(path)
        return import_judgements(benchmark, forms, [source], ["m0"], lambda *_: "audited")

    if sentence:
        with pytest.raises(HQMError, match=sentence):
            judged()
    else:
        (judgements,) = judged().sets
        assert len(judgements.outputs) == len(ids)


def test_judges_of_two_files_may_not_look_alike(dogs: Path, tmp_path: Path) -> None:
    benchmark = load(str(dogs))
    judges = tmp_path / "judges"
    judges.mkdir()
    for name in ("GPT.jsonl", "gpt .jsonl"):
        records = [
            {"item": i.id, "respondent": "m0", "verdict": 1, "judge": Path(name).stem}
            for i in benchmark.original.items
        ]
        (judges / name).write_text("\n".join(map(json.dumps, records)))
    sources = [JudgementSource(judges)]
    with pytest.raises(HQMError, match=pattern_of("door.look-alike")):
        import_judgements(benchmark, {"original": benchmark.original}, sources, ["m0"])


# --- what commands write ---


@pytest.mark.parametrize(
    "command",
    [
        ["report", "AUDIT", "--to", "AUDIT"],
        ["report", "AUDIT", "--card", "--to", "AUDIT"],
        ["report", "AUDIT", "--badge", "--to", "AUDIT"],
        ["report", "AUDIT", "--quote", "--to", "AUDIT"],
        ["compare", "AUDIT", "--to", "AUDIT"],
        ["gate", "AUDIT", "--junit", "AUDIT"],
        ["export", "AUDIT", "--to", "AUDIT"],
    ],
)
def test_nothing_is_written_over_an_audit(command: list[str], run: Run, tmp_path: Path) -> None:
    audit = tmp_path / "audit.json"
    audit.write_bytes((Path(__file__).parent / "audit_0_2_0.json").read_bytes())
    before = audit.read_bytes()
    status, _, err = run(*(audit if word == "AUDIT" else word for word in command))
    assert status == 2
    assert tells(err, "odd.output")
    assert audit.read_bytes() == before


def test_a_readme_in_another_encoding_is_refused(run: Run, tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_bytes(b"caf\xe9")
    audit = Path(__file__).parent / "audit_0_2_0.json"
    status, _, err = run("export", audit, "--to", readme)
    assert status == 1, err
    assert readme.read_bytes() == b"caf\xe9"


def test_a_policy_has_a_name_that_xml_can_hold(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text('name = "a\\u001b[31m"\n')
    with pytest.raises(HQMError, match=pattern_of("odd.control")):
        Policy.load(path)
    test = Test("mine", "leak", "FAIL", "a\x01b")
    assert "\x01" not in Gate("default", (test,)).junit()
