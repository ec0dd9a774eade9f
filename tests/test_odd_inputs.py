"""Odd sources of questions, folders and recorded answers: read as a person would, or refused."""

from __future__ import annotations

import csv
import gzip
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
        sentence = pattern_of("odd.rivals", second=columns[1], field="answer")
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


def test_options_may_stand_in_columns_of_many_names(tmp_path: Path) -> None:
    rows = [["x", "Which?", "red", "blue", "A"], ["y", "What?", "red", "green", "B"]]
    for first, second in (
        ("a", "b"),
        ("opt1", "opt2"),
        ("ending0", "ending1"),
        ("Answer A", "answer_b"),
    ):
        columns = ("id", "question", first, second, "answer")
        assert questions(tmp_path / "q.csv", columns, rows) == ["red", "green"]


@pytest.mark.parametrize(
    ("columns", "row", "sentence"),
    [
        (COLUMNS, ["Who?", ["B - red", "A - blue"], "A"], pattern_of("odd.letters")),
        (COLUMNS, ["Who?", ["[B] red", "[A] blue"], "A"], pattern_of("odd.letters")),
        (COLUMNS, ["Who?", ["2. red", "1. blue"], "A"], pattern_of("odd.letters")),
        (COLUMNS, ["Who?", ["Option B: red", "Option A: blue"], "A"], pattern_of("odd.letters")),
        (("id", "question", "solution"), ["Who?", "red"], pattern_of("odd.key-name")),
        (("id", "question", "answer"), ["Who?", "NA"], pattern_of("odd.no-answer")),
        (("id", "question", "answer"), ["(text)", "[text]"], pattern_of("odd.legend")),
        (
            ("id", "question", "options", "choices", "answer"),
            ["Who?", "red|blue", "blue|red", "A"],
            pattern_of("odd.options"),
        ),
        (("id", "Question", "question", "answer"), ["Who?", "What?", "red"], "have one name"),
        (
            ("id", "question", "answer", "", ""),
            ["Who?", "red", "", "x"],
            pattern_of("odd.nameless"),
        ),
    ],
)
def test_questions_of_two_readings_are_refused(
    columns: tuple[str, ...], row: list[Any], sentence: str, tmp_path: Path
) -> None:
    suffix = ".jsonl" if columns == COLUMNS else ".csv"
    rows = [[f"({i})", *row] for i in range(3)]
    with pytest.raises(HQMError, match=sentence):
        questions(tmp_path / f"q{suffix}", columns, rows)


@pytest.mark.parametrize("names", [("Gold", "gold"), ("gold", "Gold")])
def test_each_of_several_columns_of_right_answers_must_agree(
    names: tuple[str, str], tmp_path: Path
) -> None:
    rows = [["x", "Which?", "red", "blue", "red"], ["y", "What?", "blue", "red", "blue"]]
    with pytest.raises(HQMError, match=pattern_of("odd.rivals", second=names[0])):
        questions(tmp_path / "q.csv", ("id", "question", "answer", *names), rows)


def test_letters_without_options_are_no_short_answers(tmp_path: Path) -> None:
    rows = [["x", "Which?", "A"], ["y", "What?", "B"]]
    with pytest.raises(HQMError, match=pattern_of("odd.letters-alone")):
        questions(tmp_path / "q.csv", COLUMNS[:2] + COLUMNS[3:], rows)


# --- tables of answers and scores ---

TABLE = ("model", "question_id", "gold", "prediction", "correct")
Change = Callable[[dict[str, Any], int], dict[str, Any]]


def scored(path: Path, change: Change) -> dict[tuple[str, str], float | None]:
    """Model and item -> score, as a table of two models and twelve items is read."""
    records = []
    for i in range(24):
        cells = (f"m{i % 2}", f"q{i // 2}", "yes", ("yes", "no")[i % 3 // 2], int(i % 3 < 2))
        records.append(change(dict(zip(TABLE, cells, strict=True)), i))
    if path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, records[0])
            writer.writeheader()
            writer.writerows(records)
    else:
        path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    (log,) = read_logs([path])
    return {(row.respondent, row.id): row.score for row in log.rows}


RIGHT: dict[str, Change] = {
    "not available": lambda row, i: {**row, "correct": "n/a" if i == 5 else row["correct"]},
    "no verdict": lambda row, i: {**row, "correct": "Invalid_Judge" if i == 5 else row["correct"]},
    "booleans of Excel": lambda row, i: {**row, "correct": ("FALSCH", "WAHR")[row["correct"]]},
    "white space": lambda row, i: {**row, "question_id": f" {row['question_id']}"},
    "ids that number the rows": lambda row, i: {"item_id": i, **row},
    "columns without a name": lambda row, i: {**row, " ": "", "": ""},
}


SHEETS: dict[str, tuple[Callable[[list[list[Any]]], list[list[Any]]], bool]] = {
    "no name above the models": (lambda rows: [["", *rows[0][1:]], *rows[1:]], True),
    "empty cells behind": (lambda rows: [[*row, "", ""] for row in rows], True),
    "a title above the heading": (lambda rows: [["Results"], *rows], False),
    "groups above the heading": (lambda rows: [["", "easy", "", "hard"], *rows], False),
    "a note beside the table": (lambda rows: [*rows[:2], [*rows[2], "?"], *rows[3:]], False),
}


@pytest.mark.parametrize("name", SHEETS)
def test_no_cell_of_a_sheet_is_lost(name: str, tmp_path: Path) -> None:
    """Columns without a name were left out of a sheet, and with them all scores below a title."""
    openpyxl = pytest.importorskip("openpyxl")
    change, is_read = SHEETS[name]
    table: list[list[Any]] = [["model", *(f"q{i}" for i in range(8))]]
    table += [[f"m{m}", *((i + m) % 3 % 2 for i in range(8))] for m in range(4)]
    book = openpyxl.Workbook()
    for row in change(table):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    if not is_read:
        with pytest.raises(HQMError, match=pattern_of("odd.nameless")):
            read_logs([tmp_path / "t.xlsx"])
        return
    (log,) = read_logs([tmp_path / "t.xlsx"])
    scores = {(row.respondent, row.id): row.score for row in log.rows}
    assert scores == {
        (row[0], item): cell
        for row in table[1:]
        for item, cell in zip(table[0][1:], row[1:], strict=True)
    }


@pytest.mark.parametrize("name", RIGHT)
def test_a_table_is_read_as_people_write_it(name: str, tmp_path: Path) -> None:
    plain = scored(tmp_path / "plain.csv", lambda row, i: row)
    read = scored(tmp_path / "t.csv", RIGHT[name])
    if name in ("not available", "no verdict"):
        plain["m1", "q2"] = None
    assert read == plain


def test_an_answer_that_is_judged_may_stand_in_two_columns(tmp_path: Path) -> None:
    def judged(row: dict[str, Any], i: int) -> dict[str, Any]:
        return {**row, "correct": bool(row["correct"]), "output": f"{i} of them"}

    plain = scored(tmp_path / "plain.jsonl", lambda row, i: row)
    assert scored(tmp_path / "t.jsonl", judged) == plain


REFUSED: dict[str, tuple[Change, str]] = {
    "words among scores": (
        lambda row, i: {**row, "correct": "4/5" if i == 5 else row["correct"]},
        pattern_of("odd.no-number"),
    ),
    "ticks": (lambda row, i: {**row, "correct": row["correct"] or ""}, pattern_of("odd.marks")),
    "code": (
        lambda row, i: {**row, "correct": -99 if i == 5 else row["correct"]},
        pattern_of("odd.code"),
    ),
    "types": (
        lambda row, i: dict.fromkeys(row, "string") if i == 0 else row,
        pattern_of("odd.legend"),
    ),
    "units": (
        lambda row, i: {k: f"({k})" for k in row} if i == 0 else row,
        pattern_of("odd.legend"),
    ),
    "two spellings of numbers": (
        lambda row, i: {**row, "question_id": f"{i // 2:0{2 - i % 2}}"},
        pattern_of("door.look-alike"),
    ),
    "opposites": (lambda row, i: {**row, "score": 1 - row["correct"]}, pattern_of("odd.opposites")),
    "ids in lists": (lambda row, i: {**row, "question_id": [i]}, pattern_of("odd.id")),
    "two names of the score": (
        lambda row, i: {("score" if i > 9 and k == "correct" else k): v for k, v in row.items()},
        pattern_of("odd.other-score"),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_table_of_two_readings_is_refused(name: str, tmp_path: Path) -> None:
    change, sentence = REFUSED[name]
    with pytest.raises(HQMError, match=sentence):
        scored(tmp_path / "t.jsonl", change)


def test_means_of_items_are_no_items(tmp_path: Path) -> None:
    rows = [f"m{i % 2},{item},{i % 2}" for i in range(4) for item in (f"q{i // 2}", "Summe")[:1]]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["model,item,score", *rows, "m0,Summe,2", "m1,Summe,3"]))
    (log,) = read_logs([path])
    assert {row.id for row in log.rows} == {"q0", "q1"}


def test_two_models_are_enough_for_a_table_with_a_row_an_item(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["question_id,m0,m1", *[f"q{i},{i % 2},1" for i in range(6)]]))
    (log,) = read_logs([path])
    assert log.respondents == ["m0", "m1"]
    assert len(log.rows) == 12


def test_gzip_may_have_several_members(tmp_path: Path) -> None:
    lines = [b"model,item,score\nm0,q0,1\n", b"m0,q1,0\n"]
    path = tmp_path / "t.csv.gz"
    path.write_bytes(b"".join(map(gzip.compress, lines)))
    assert len(take_rows(path).records) == 2


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


@pytest.mark.parametrize(("n_items", "is_read"), [(12, True), (4, False)])
def test_pictures_on_no_disk_are_one_where_right_answers_show_it(
    n_items: int, is_read: bool, tmp_path: Path
) -> None:
    for model in ("m0", "m1"):
        lines = []
        for i in range(n_items):
            row = {"model": model, "image": f"{model}/{i}.png", "question": "Is it?"}
            answered = {**row, "target": ("yes", "no")[i % 2], "prediction": "yes"}
            lines.append(json.dumps(answered))
        (tmp_path / f"{model}.jsonl").write_text("\n".join(lines))
    logs = read_logs([tmp_path / f"{model}.jsonl" for model in ("m0", "m1")])
    if is_read:
        (benchmark,) = benchmarks_of_logs(logs)
        assert len(benchmark.original) == n_items
    else:
        with pytest.raises(HQMError, match=pattern_of("odd.unseen-pictures")):
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


@pytest.mark.parametrize(
    ("columns", "cells"),
    [
        (("respondent", "model"), [("a", "b"), ("b", "a")]),
        (("item", "question_id"), [("q0", "q1"), ("q1", "q1")]),
    ],
)
def test_a_row_has_one_model_and_one_item(
    columns: tuple[str, str], cells: list[tuple[str, str]], tmp_path: Path
) -> None:
    path = tmp_path / "answers.jsonl"
    rows = [dict(zip(columns, pair, strict=True), answer="yes") for pair in cells]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    with pytest.raises(HQMError, match=pattern_of("odd.rivals", second=columns[1])):
        take_rows(path)


def test_a_folder_of_answers_is_read_whole_and_each_file_once(tmp_path: Path) -> None:
    from hqm.imports.log_file import files_in

    (tmp_path / "below").mkdir()
    for name in ("v1.5.jsonl", "v1.5 (1).jsonl", "B.JSONL", "below/c.json"):
        (tmp_path / name).write_text("[]")
    (tmp_path / "d.csv.gz").write_bytes(gzip.compress(b"item,answer"))
    (tmp_path / "latest.jsonl").symlink_to(tmp_path / "B.JSONL")
    names = {file.name for file in files_in(tmp_path)}
    assert names == {"v1.5.jsonl", "B.JSONL", "c.json", "d.csv.gz"}


def test_codes_of_yes_and_no_are_asked_about(tmp_path: Path) -> None:
    rows = [[f"q{i}", f"Is it {i}?", i % 2] for i in range(4)]
    with pytest.raises(HQMError, match=pattern_of("odd.codes-alone")):
        questions(tmp_path / "q.csv", ("id", "question", "answer"), rows)


def test_numbers_of_options_that_questions_list_by_letters_are_asked_about(tmp_path: Path) -> None:
    rows = [[f"q{i}", f"Which is {i}?\nA. red\nB. blue\nC. green", 1 + i % 3] for i in range(6)]
    with pytest.raises(HQMError, match=pattern_of("odd.numbers-of-options")):
        questions(tmp_path / "q.csv", ("id", "question", "answer"), rows)
