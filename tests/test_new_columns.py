"""Columns, options and right answers of a source, each kind of cell as a person would read it."""

from pathlib import Path
from typing import Any

import pytest

from hqm.benchmark.items import letter_of
from hqm.benchmark.new_columns import choose_columns, parse_columns
from hqm.benchmark.new_items import answers_of, task_of
from hqm.benchmark.new_sources import RowFaults, SourceRow
from hqm.errors import DataError

PLAIN = choose_columns(["question", "answer", "options"], (), {}, "t.csv")


@pytest.mark.parametrize(
    ("columns", "pictures", "column_options", "fields", "letters", "index"),
    [
        (
            ["Question", "Right Answer"],
            (),
            {},
            {"prompt": "Question", "target": "Right Answer"},
            "",
            "",
        ),
        (["text", "question", "gt"], (), {}, {"prompt": "question", "target": "gt"}, "", ""),
        (["prompt", "A", "B", "C", "E"], (), {}, {"prompt": "prompt"}, "ABCE", ""),
        (["prompt", "A", "C"], (), {}, {"prompt": "prompt"}, "", ""),
        (
            ["prompt", "A", "B", "choices"],
            (),
            {},
            {"prompt": "prompt", "options": "choices"},
            "",
            "",
        ),
        (["prompt", "A", "B"], (), {"options": ""}, {"prompt": "prompt"}, "", ""),
        (
            ["prompt", "A", "B", "C"],
            (),
            {"target": "C"},
            {"prompt": "prompt", "target": "C"},
            "AB",
            "",
        ),
        (
            ["prompt", "image", "index"],
            (),
            {},
            {"id": "index", "prompt": "prompt", "image": "image"},
            "",
            "index",
        ),
        (
            ["prompt", "image", "qid"],
            (),
            {},
            {"id": "qid", "prompt": "prompt", "image": "image"},
            "",
            "qid",
        ),
        (["prompt", "qid"], (), {}, {"id": "qid", "prompt": "prompt"}, "", ""),
        (
            ["prompt", "image", "shown"],
            ("shown",),
            {},
            {"prompt": "prompt", "image": "shown"},
            "",
            "",
        ),
        (
            ["prompt", "image", "a", "b"],
            ("a", "b"),
            {},
            {"prompt": "prompt", "image": "image"},
            "",
            "",
        ),
        (
            ["prompt", "image", "a"],
            ("image", "a"),
            {},
            {"prompt": "prompt", "image": "image"},
            "",
            "",
        ),
        (
            ["prompt", "shown"],
            ("shown",),
            {"prompt": "prompt"},
            {"prompt": "prompt", "image": "shown"},
            "",
            "",
        ),
        (["q", "prompt"], (), {"prompt": "q"}, {"prompt": "q"}, "", ""),
        (["prompt", "label", "target"], (), {"target": ""}, {"prompt": "prompt"}, "", ""),
        (["prompt", "Image-Path"], (), {}, {"prompt": "prompt", "image": "Image-Path"}, "", ""),
    ],
)
def test_every_field_finds_its_column(
    columns: list[str],
    pictures: tuple[str, ...],
    column_options: dict[str, str],
    fields: dict[str, str],
    letters: str,
    index: str,
) -> None:
    chosen_columns = choose_columns(columns, pictures, column_options, "t.csv")
    assert dict(chosen_columns.fields) == fields
    assert chosen_columns.letters == dict(zip(letters, letters, strict=True))
    assert chosen_columns.index == index
    assert chosen_columns.specified == set(column_options)
    read = [*fields.values(), *letters, *([index] if index else [])]
    assert chosen_columns.all == tuple(dict.fromkeys(read))
    assert chosen_columns.column("prompt") == fields["prompt"]
    assert chosen_columns.column("nothing") == "nothing"


def test_what_has_no_questions_is_refused() -> None:
    with pytest.raises(DataError, match="questions"):
        choose_columns(["a", "b"], (), {}, "t.csv")
    with pytest.raises(DataError, match="questions"):
        choose_columns(["question"], (), {"prompt": ""}, "t.csv")
    with pytest.raises(DataError, match="'x'"):
        choose_columns(["question"], (), {"target": "x"}, "t.csv")
    with pytest.raises(DataError) as refused:
        choose_columns(["a", "image"], (), {}, "t.csv")
    assert refused.value.remedy.endswith("--columns question=NAME,answer=NAME.")
    # options of one letter alone are none, and the first column of a name is taken
    assert choose_columns(["prompt", "A", "C"], (), {}, "").letters == {}

    assert choose_columns(["Prompt", "prompt "], (), {}, "").column("prompt") == "Prompt"
    # the pictures are named by an index, whatever the ids are
    columns = ["prompt", "image", "index", "qid"]
    assert choose_columns(columns, (), {"id": "qid"}, "").index == "index"
    assert choose_columns(columns, (), {"id": "index"}, "").index == "index"
    assert choose_columns(columns, (), {"id": ""}, "").index == "index"
    assert choose_columns(["prompt", "image"], (), {}, "").index == ""
    assert parse_columns(["picture=a", "answer="]) == {"image": "a", "target": ""}


@pytest.mark.parametrize(
    ("rows", "task"),
    [
        ([{"target": "Yes."}, {"target": "NO"}], "yes_no"),
        ([{"target": "yes"}, {"target": "red"}], "vqa"),
        ([{"target": "yes"}, {"target": "no"}, {"target": "red"}], "yes_no"),
        ([{"target": "yes"}, {"options": ("a", "b")}], "choice"),
        ([{}, {}], "caption"),
        ([], "caption"),
        ([{"target": "2"}], "vqa"),
    ],
)
def test_a_task_is_told_from_answers_and_options(rows: list[dict[str, Any]], task: str) -> None:
    assert task_of(rows) == task


OPTIONS = ("red", "blue", "grey", "light blue")


@pytest.mark.parametrize(
    ("target", "letter"),
    [
        ("red", "A"),
        ("light blue", "D"),
        ("A", "A"),
        ("(d).", "D"),
        ("c", "C"),
        ("B", "B"),
        (" blue ", "B"),
        ("E", None),
        ("green", None),
        ("", None),
        (None, None),
        ("AB", None),
    ],
)
def test_a_right_answer_is_an_option_or_its_letter(target: Any, letter: str | None) -> None:
    if letter is None:
        with pytest.raises(DataError):
            letter_of(target, OPTIONS, (), False, "here", "there")
    else:
        assert letter_of(target, OPTIONS, (), False, "here", "there") == letter


def test_names_and_places_of_options() -> None:
    assert letter_of("2", ("x", "y", "z"), ("1", "2", "3"), False, "", "") == "B"
    assert letter_of("0", ("x", "y"), (), True, "", "") == "A"
    assert letter_of("1", ("x", "y"), (), True, "", "") == "B"
    assert letter_of("B", ("A", "B"), (), False, "", "") == "B"
    with pytest.raises(DataError, match="options end with C"):
        letter_of("(e)", ("x", "y", "z"), (), False, "", "")
    with pytest.raises(DataError, match="is no option"):
        letter_of("()", ("x", "y", "z"), (), False, "", "")
    with pytest.raises(DataError, match="letter of"):
        letter_of("B", ("red", "blue", "B"), (), False, "here", "there")
    for names in ((), ("x",)):
        with pytest.raises(DataError, match="option"):
            letter_of("x", names, (), False, "here", "there")


def read(cells: list[tuple[Any, Any]], task: Any = None) -> tuple[str, list[Any], RowFaults]:
    faults = RowFaults()
    rows = [
        (
            SourceRow(f"t.csv:{n}", {"answer": answer, "options": options}, "", Path()),
            answer,
            options,
        )
        for n, (answer, options) in enumerate(cells, 2)
    ]
    answers = answers_of(rows, PLAIN, task, faults)
    return answers.task, [(row.target, row.options) for row in answers.rows], faults


def test_answers_of_a_yes_no_benchmark() -> None:
    task, rows, faults = read([("Yes.", None), (False, ""), (["no"], []), (True, float("nan"))])
    assert task == "yes_no"
    assert [target for target, _ in rows] == ["yes", "no", "no", "yes"]
    assert not faults.first
    _, rows, faults = read([("1", None), ("false", None), ("0", None), ("2", None)], "yes_no")
    assert [target for target, _ in rows][:3] == ["yes", "no", "no"]
    assert list(faults.first) == ["t.csv:5"]
    _, _, faults = read([("yes", None), ("no", None), ("no", None), ("1", None), (None, None)])
    assert list(faults.first) == ["t.csv:5", "t.csv:6"], "1 means yes only where asked"
    _, _, faults = read([("yes", None), ("no", None), ("no", None), ("true", None), ("0", None)])
    assert list(faults.first) == ["t.csv:5", "t.csv:6"]


def test_answers_of_a_choice_benchmark() -> None:
    task, rows, faults = read([("b", "red|blue"), ("red", '["red", "blue"]'), ("A", ["x", 2, 3.5])])
    assert task == "choice"
    assert rows == [
        ("B", ("red", "blue")),
        ("A", ("red", "blue")),
        ("A", ("x", "2", "3.5")),
    ]
    assert not faults.first
    arc = {"text": ["x", "y"], "label": [" 1", "2 "]}
    assert read([("2", str(arc)), ("A", "[x]|y")])[1] == [("B", ("x", "y")), ("A", ("[x]", "y"))]
    assert read([("1", "x|y"), ("0", "x|y"), ("00", "x|y")])[2].first, "they are no places"
    long_text = "x" * 100_001
    assert read([(long_text, str([long_text, "y"]))])[1] == [("A", (long_text, "y"))]
    assert read([("2", arc), ("1", arc)])[1] == [("B", ("x", "y")), ("A", ("x", "y"))]
    assert read([("0", "x|y"), ("1", "x|y")])[1] == [("A", ("x", "y")), ("B", ("x", "y"))]
    # an option of that name, or an answer beyond the options, rules out places
    faults = read([("0", "0|1"), ("1", "0|1")])
    assert [row[0] for row in faults[1]] == ["A", "B"]
    assert list(read([("0", "x|y"), ("2", "x|y")])[2].first) == ["t.csv:2", "t.csv:3"]
    for wrong in (
        ["a", True],
        ["a", None],
        ["a", " "],
        3,
        "[a, b",
        {"text": ["a"]},
        {"text": ["a"], "label": ["1", "2"]},
        {"text": "ab", "label": ["1", "2"]},
        {"text": ["a", "b"], "label": "12"},
        [str(i) for i in range(27)],
    ):
        task, _, faults = read([("A", "x|y"), ("A", wrong)])
        assert list(faults.first) == ["t.csv:3"], wrong
    assert not read([("A", "x|y"), ("A", [str(i) for i in range(26)])])[2].first


def test_answers_of_short_questions_and_captions() -> None:
    task, rows, faults = read([("red", None), (["red", "blue"], None), ([], None), ("", None)])
    assert task == "vqa"
    assert [target for target, _ in rows][:2] == ["red", ["red", "blue"]]
    assert list(faults.first) == ["t.csv:4", "t.csv:5"]
    task, rows, faults = read([(None, None), (None, None)])
    assert (task, faults.first) == ("caption", {})


@pytest.mark.parametrize(
    "columns", [("Option A", "Option B"), ("option_a", "option_b"), ("choice1", "Choice 2")]
)
def test_columns_named_options_are_options(columns: tuple[str, str]) -> None:
    chosen = choose_columns(["Question", "Correct answer", *columns], (), {}, "")
    assert chosen.letters == dict(zip("AB", columns, strict=True))
    assert chosen.fields["target"] == "Correct answer"


@pytest.mark.parametrize(("n_polar", "task"), [(10, "vqa"), (11, "yes_no"), (20, "yes_no")])
def test_a_benchmark_of_mostly_yes_and_no_is_one_of_yes_and_no(n_polar: int, task: str) -> None:
    targets = ["Yes."] * n_polar + ["red"] * (20 - n_polar)
    assert task_of([{"target": target} for target in targets]) == task
