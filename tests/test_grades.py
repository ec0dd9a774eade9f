"""Grades on a scale beside scores of right and wrong: what they say of order, and not of level."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest
from hqm.reports.pages.sentences import headline

import hqm
from hqm.auditing.audit import Audit, BenchmarkAudit
from hqm.auditing.one_file import score_file
from hqm.imports.scales import scale_ends
from tests.messages import tells

Run = Callable[..., tuple[int, str, str]]
ABILITIES = (0.5, 0.6, 0.7, 0.8, 0.9)
N_ITEMS = 80


class Sheet:
    """Answers of five models to yes/no questions, and whether each is right."""

    def __init__(self, folder: Path) -> None:
        rng = np.random.default_rng(5)
        keys = rng.permutation(["yes", "no"] * (N_ITEMS // 2)).tolist()
        self.right = rng.random((len(ABILITIES), N_ITEMS)) < np.array(ABILITIES)[:, None]
        self.folder = folder
        self.path = folder / "answers.csv"
        rows = []
        for (model, item), is_right in np.ndenumerate(self.right):
            other = "no" if keys[item] == "yes" else "yes"
            answer = keys[item] if is_right else other
            rows.append([item, f"Is there a thing {item}?", keys[item], f"m{model}", answer])
        self.write(self.path, ["item", "question", "target", "model", "answer"], rows)

    @staticmethod
    def write(path: Path, names: list[str], rows: Iterable[list[object]]) -> None:
        with path.open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(names)
            table.writerows(rows)

    def grades(self, name: str, grades: np.ndarray, column: str, **further: str) -> Path:
        """A file with a grade of each answer."""
        rows: list[list[object]] = []
        for (model, item), grade in np.ndenumerate(grades):
            rows.append([item, f"m{model}", grade, *further.values()])
        self.write(self.folder / name, ["item", "model", column, *further], rows)
        return self.folder / name


@pytest.fixture
def sheet(tmp_path: Path) -> Sheet:
    return Sheet(tmp_path)


def audited(run: Run, sheet: Sheet, *options: object) -> tuple[BenchmarkAudit, str]:
    code, output, err = run("audit", sheet.path, *options, "--out", sheet.folder / "out")
    assert code == 0, err
    return Audit.load(sheet.folder / "out" / "audit.json").audits[0], output + err


@pytest.mark.parametrize(
    ("grades", "ends"),
    [
        ([0, 1, 0.5], (0, 1)),
        ([1, 2, 5], (1, 5)),
        ([2, 3, 5], (1, 5)),
        ([0, 3, 5], (0, 5)),
        ([1, 6, 7], (1, 7)),
        # GPT-4 as MMHal's judge
        ([1, 2, 6], (0, 6)),
        ([1, 9], (1, 10)),
        ([4, 9], (0, 10)),
        ([30, 85], (0, 100)),
        ([], (0, 1)),
    ],
)
def test_a_scale_ends_where_such_scales_do(grades: list[float], ends: tuple[int, int]) -> None:
    assert scale_ends(grades) == ends


@pytest.mark.parametrize(("wrong", "right"), [(0, 1), (1, 5), (1, 10), (0, 100), (1, 7)])
def test_a_judge_that_agrees_shifts_nothing_on_whatever_scale(
    run: Run, sheet: Sheet, wrong: int, right: int
) -> None:
    """One that gave 5 for right and 1 for wrong was said to raise scores by 6 points."""
    grades = np.where(sheet.right, right, wrong)
    judgements = sheet.grades("judge.csv", grades, "score", judge="gpt")
    audit, output = audited(run, sheet, "--judgements", judgements)
    row = audit.budget["accuracy"].row("judge")
    assert row.status == "ok"
    assert row.shift == pytest.approx(0)
    assert set(row.moves.values()) == {0.0}
    assert "Another judge" not in headline(audit).text
    assert tells(output, "judgement.scale", low=wrong, high=right) == (right > 1)


def middling(sheet: Sheet) -> np.ndarray:
    """Grades from 1 to 5 that are higher for right answers, and seldom 1 or 5."""
    rng = np.random.default_rng(2)
    return np.where(
        sheet.right,
        rng.choice([3, 4, 5], sheet.right.shape, p=[0.4, 0.5, 0.1]),
        rng.choice([1, 2, 3], sheet.right.shape, p=[0.1, 0.5, 0.4]),
    )


def test_grades_of_a_judge_are_compared_in_order_and_not_in_level(run: Run, sheet: Sheet) -> None:
    judgements = sheet.grades("judge.csv", middling(sheet), "score", judge="gpt")
    audit, _ = audited(run, sheet, "--judgements", judgements)
    row = audit.budget["accuracy"].row("judge")
    assert (row.status, row.shift, row.compares_levels) == ("ok", None, False)
    # brought to one mean, moves cancel out
    assert sum(move or 0 for move in row.moves.values()) == pytest.approx(0, abs=1e-12)
    page = (sheet.folder / "out" / "report.html").read_text()
    assert "not comparable" in page
    assert "Another judge" not in headline(audit).text


def test_grades_of_people_correct_no_score_of_right_and_wrong(run: Run, sheet: Sheet) -> None:
    labels = sheet.grades("people.csv", middling(sheet), "human_score")
    audit, output = audited(run, sheet, "--criterion", labels)
    row = audit.budget["accuracy"].row("people")
    assert (row.status, row.shift, row.answers) == ("ok", None, sheet.right.size)
    corrected = audit.select_estimates("criterion.prediction_powered")[0]
    assert (corrected.status, corrected.value) == ("not_applicable", None)
    pearson = audit.select_estimates("criterion.pearson")[0].value
    assert pearson is not None
    assert pearson > 0.8
    assert "Scoring by people" not in output
    assert f"people r {pearson:.3f}".replace("0.", ".") in output
    # of the same labels as right and wrong, the level is compared
    marks = np.where(middling(sheet) > 3, 1, 0)
    audit, output = audited(run, sheet, "--criterion", sheet.grades("marks.csv", marks, "label"))
    shift = audit.budget["accuracy"].row("people").shift
    assert shift == pytest.approx(marks.mean() - sheet.right.mean())
    assert "Scoring by people lowers scores" in " ".join(output.split())


def test_shares_of_raters_who_call_an_answer_right_are_compared(run: Run, sheet: Sheet) -> None:
    """The mean of two raters' marks is no grade: each of them said right or wrong."""
    rng = np.random.default_rng(8)
    marks = (sheet.right + (rng.random(sheet.right.shape) < 0.5)) / 2
    audit, _ = audited(run, sheet, "--criterion", sheet.grades("marks.csv", marks, "label"))
    row = audit.budget["accuracy"].row("people")
    assert row.shift == pytest.approx(marks.mean() - sheet.right.mean())
    assert audit.select_estimates("criterion.prediction_powered")[0].status == "ok"


def test_a_scored_file_is_compared_with_what_several_raters_say(tmp_path: Path) -> None:
    """Its labels were those of the rater who is listed last."""
    items = hqm.load("shapes_yesno").original.items[:60]
    answers, labels = tmp_path / "m.jsonl", tmp_path / "labels.csv"
    answers.write_text("".join(f'{{"item": "{item.id}", "answer": "yes"}}\n' for item in items))
    rows = ["item,respondent,rater,label"]
    for index, item in enumerate(items):
        marks = {"anna": 5, "ben": 1 + 4 * (index % 3 > 0), "cy": 1}
        rows += [f"{item.id},m,{rater},{mark}" for rater, mark in marks.items()]
    labels.write_text("\n".join(rows))
    scored = score_file(hqm.load("shapes_yesno"), answers, criterion=labels)
    # by majority
    assert scored.criterion["faithful"] == pytest.approx(2 / 3)
    assert any(tells(note, "labels.on-scale", low=1, high=5) for note in scored.notes)
