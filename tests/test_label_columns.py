"""People's labels as spreadsheets have them: what a column is called, words, and scales."""

import csv
from pathlib import Path

import numpy as np
import pytest

from hqm.errors import HQMError
from hqm.imports.answer_table import read_table
from hqm.imports.human_labels import label_notes, read_criterion
from hqm.types import Form, Item
from tests.messages import tells, text_of

N_ITEMS = 40
FORM = Form(
    "original",
    tuple(Item(str(i), f"Is there a thing {i}?", "yes_no", "yes") for i in range(N_ITEMS)),
)
BINARY = np.random.default_rng(3).integers(0, 2, N_ITEMS)
GRADES = np.random.default_rng(4).integers(1, 6, N_ITEMS)


def write_labels(folder: Path, column: str, cells: list[str], **columns: str) -> Path:
    """Write a spreadsheet of labels with these cells, and with further columns of one text each."""
    path = folder / "labels.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["item", "model", column, *columns])
        rows.writerows([i, "m", cell, *columns.values()] for i, cell in enumerate(cells))
    return path


def labels_in(path: Path) -> list[float | None]:
    """The labels of a file, in the order of the items."""
    return [judgement.label for judgement in read_criterion(path, FORM, ["m"])]


def refusal(path: Path) -> str:
    """What a file of labels is refused with."""
    with pytest.raises(HQMError) as error:
        labels_in(path)
    return str(error.value)


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("label", "0 1"),
        ("label", "incorrect correct"),
        ("label", "FALSE TRUE"),
        ("label", "wrong right"),
        ("label", "fail pass"),
        ("label", "Hallucinated Faithful"),
        ("label", "0% 100%"),
        ("label", "0,0 1,0"),
        ("Label", "unsupported supported"),
        ("Human Label", "0 1"),
        ("human_judgment", "falsch wahr"),
        ("faithful", "no yes"),
        ("rating", "0 1"),
        ("hallucinated", "1 0"),
        ("Hallucination", "yes no"),
        ("is_hallucination", "True False"),
    ],
)
def test_a_column_of_two_values_is_read(tmp_path: Path, column: str, words: str) -> None:
    cells = [words.split()[label] for label in BINARY]
    path = write_labels(tmp_path, column, cells)
    assert labels_in(path) == BINARY.tolist()
    notes = label_notes(path)
    assert len(notes) == (column.casefold() != "label")
    # one label is missing, as it was before words were read
    assert labels_in(write_labels(tmp_path, column, ["", *cells[1:]]))[0] is None


@pytest.mark.parametrize(
    ("low", "high"), [(1, 3), (1, 5), (1, 7), (0, 4), (0, 5), (0, 10), (0, 100)]
)
@pytest.mark.parametrize("column", ["label", "human_rating"])
def test_ratings_on_a_scale_are_shares_of_it(
    tmp_path: Path, column: str, low: int, high: int
) -> None:
    ratings = np.random.default_rng(high).integers(low, high + 1, N_ITEMS)
    ratings[:2] = low, high
    path = write_labels(tmp_path, column, list(map(str, ratings)))
    assert labels_in(path) == pytest.approx((ratings - low) / (high - low))
    assert any(tells(note, "labels.on-scale", low=low, high=high) for note in label_notes(path))


@pytest.mark.parametrize(
    ("column", "cells", "message"),
    [
        # which of the two is faithful is not said
        ("label", ["yes", "no"] * 20, "the label is 'yes'"),
        ("label", ["1", "2"] * 20, text_of("labels.ambiguous", column="label")),
        # the right answers of a test of letters
        ("label", ["A", "C", "B", "I"] * 10, "the label is 'A'"),
        ("label", ["C", "I"] * 20, "the label is 'C'"),
        # a typing error is no scale
        ("label", ["1", "0"] * 19 + ["1", "11"], "record 40: the label is '11'"),
        ("label", ["1", "-1"] * 20, "the label is '-1'"),
        ("label", ["0.5", "80"] * 20, "one is a share of 1"),
        # how many hallucinations there are is no share of what is faithful
        ("hallucination", ["0", "1", "2", "3"] * 10, "the label is '2'"),
        # a tool's score is nobody's label
        ("score", ["0", "1"] * 20, text_of("labels.no-column")),
        ("correct", ["0", "1"] * 20, text_of("labels.no-column")),
    ],
)
def test_what_may_mean_something_else_is_refused(
    tmp_path: Path, column: str, cells: list[str], message: str
) -> None:
    assert message in refusal(write_labels(tmp_path, column, cells))


def test_several_columns_that_may_be_the_label_are_refused(tmp_path: Path) -> None:
    path = write_labels(tmp_path, "human_score", ["0", "1"] * 20, faithful="1")
    assert tells(refusal(path), "labels.several-columns", columns="'human_score', 'faithful'")
    # one that is called so goes before all others
    path = write_labels(tmp_path, "label", ["0", "1"] * 20, human_score="3")
    assert labels_in(path) == [0, 1] * 20
    # beside answers, the right ones may be called labels
    path = write_labels(tmp_path, "label", ["yes", "no"] * 20, human="1", answer="Yes.")
    assert labels_in(path) == [1] * 40
    # a judge's ratings are no people's
    path = write_labels(tmp_path, "rating", ["0", "1"] * 20, judge="gpt-4o")
    assert text_of("labels.no-column") in refusal(path)


@pytest.mark.parametrize("name", ["comment", "date", "confidence", "notes", "Time taken", "colour"])
def test_columns_that_say_nothing_of_labels_are_not_read(tmp_path: Path, name: str) -> None:
    path = write_labels(tmp_path, "label", ["0", "1"] * 20, **{name: "x"})
    assert labels_in(path) == [0, 1] * 20
    (note,) = label_notes(path)
    assert note == f"{path}: columns that are not read: {name!r}"


@pytest.mark.parametrize(
    "name", ["probabilty", "prob", "weight", "sampling_weight", "answer_diges"]
)
def test_columns_that_would_change_numbers_are_not_ignored(tmp_path: Path, name: str) -> None:
    path = write_labels(tmp_path, "label", ["0", "1"] * 20, **{name: "0.5"})
    assert f"labels have no column {name!r}" in refusal(path)


def test_raters_are_on_one_scale(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    rows = [f"{i},m,anna,{grade}" for i, grade in enumerate(GRADES)]
    rows += [f"{i},m,ben,{min(5, grade + 1)}" for i, grade in enumerate(GRADES)]
    path.write_text("\n".join(["item,model,rater,label", *rows]))
    means = (GRADES + np.minimum(5, GRADES + 1)) / 2
    judgements = read_criterion(path, FORM, ["m"])
    pooled = [judgement.label for judgement in judgements if judgement.judge == "human"]
    assert pooled == pytest.approx((means - 1) / 4)
    rows = [f"{i},m,anna,{20 * grade}" for i, grade in enumerate(GRADES)]
    rows += [f"{i},m,ben,{label}" for i, label in enumerate(BINARY)]
    path.write_text("\n".join(["item,model,rater,label", *rows]))
    assert "'ben' has 0 and 1 alone" in refusal(path)


@pytest.mark.parametrize("names", ["human1 human2", "Annotator 1,Annotator 2", "rating_1 rating_2"])
def test_raters_with_a_column_each_are_raters(tmp_path: Path, names: str) -> None:
    first, second = names.split("," if "," in names else " ")
    path = tmp_path / "sheet.csv"
    rows = [f"{i},m,{i % 5 + 1},{5 - i % 5 if i else ''}" for i in range(40)]
    path.write_text("\n".join([f"item,model,{first},{second}", *rows]))
    labels: dict[str, list[float | None]] = {}
    for judgement in read_criterion(path, FORM, ["m"]):
        labels.setdefault(judgement.judge, []).append(judgement.label)
    pooled, *by_rater = labels.values()
    assert by_rater == [
        [i % 5 / 4 for i in range(40)],
        [1 - i % 5 / 4 for i in range(1, 40)],
    ]
    assert pooled == [0.0, *[0.5] * 39]
    assert any(tells(note, "labels.of-raters") for note in label_notes(path))


def test_rows_of_a_sheet_that_nobody_labelled_are_no_labels(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    rows = [f"{i},m,Yes.,{'anna' if i < 9 else ''},{i % 5 + 1 if i < 8 else ''}" for i in range(40)]
    path.write_text("\n".join(["item,model,answer,annotator,human score", *rows]))
    judgements = read_criterion(path, FORM, ["m"])
    labels = [judgement.label for judgement in judgements if judgement.judge == "human:anna"]
    # the ninth is labelled by a rater who did not decide
    assert labels == [*(i % 5 / 4 for i in range(8)), None]
    rows = [f"{i},m,Yes.,{i % 2 if i < 8 else ''}" for i in range(40)]
    path.write_text("\n".join(["item,model,answer,human", *rows]))
    assert labels_in(path) == [0, 1] * 4
    # without answers, the file lists labels
    rows = [f"{i},m,{i % 2 if i < 8 else ''}" for i in range(40)]
    path.write_text("\n".join(["item,model,human", *rows]))
    assert labels_in(path) == [0, 1] * 4 + [None] * 32


def test_peoples_labels_beside_answers_are_no_score_of_a_tool() -> None:
    row: dict[str, object] = {"item": "1", "model": "m", "answer": "Yes.", "human_score": 4}
    keyed = read_table(
        "sheet.csv", [{**row, "target": "yes"}, {**row, "item": "2", "target": "no"}]
    )
    assert [dict(r.scores) for r in keyed.rows] == [{}, {}]
    assert tells(" ".join(keyed.notes), "labels.in-answers", column="human_score", path="sheet.csv")
    scored = read_table("sheet.csv", [{**row, "score": 0.5}, {**row, "item": "2", "score": 1}])
    assert [dict(r.scores) for r in scored.rows] == [{"score": 0.5}, {"score": 1.0}]
    # a leaderboard of people's scores has nothing else
    by_people = read_table("sheet.csv", [row, {**row, "item": "2"}])
    assert [dict(r.scores) for r in by_people.rows] == [{"human_score": 4.0}, {"human_score": 4.0}]


def test_a_file_in_another_layout_has_no_notes(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text('{"annotations": [1, 2]}\n')
    assert label_notes(path) == []
