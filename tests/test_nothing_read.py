"""What is said where nothing was read: that, and not what else was found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Run, write_benchmark
from tests.messages import tells


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Thirty questions of which most keys are one answer, so that a guesser would be right."""
    rows = [
        {"id": f"q{i}", "prompt": f"Is there a thing {i}?", "target": ("yes", "no")[i >= 25]}
        for i in range(30)
    ]
    return write_benchmark(tmp_path / "mine", rows)


def write_answers(path: Path, answer: str, **fields: str) -> Path:
    """Answers of three models to every question."""
    rows = [
        {"item": f"q{i}", "respondent": f"m{model}", "answer": answer, **fields}
        for model in range(3)
        for i in range(30)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_where_no_answer_was_read_the_verdict_says_that_alone(
    folder: Path, run: Run, tmp_path: Path
) -> None:
    answers = write_answers(tmp_path / "a.jsonl", "hmm")
    code, output, _ = run("audit", folder, "--recorded", answers, "--out", tmp_path / "out")
    assert code == 0
    verdict = next(line for line in output.splitlines() if line.startswith("✕ "))
    assert tells(verdict, "nothing-read.verdict")
    assert verdict.endswith("read.")
    assert "it takes two models" not in output


def test_an_empty_file_is_named(folder: Path, run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    code, _, err = run("audit", folder, "--recorded", tmp_path / "empty.jsonl")
    assert code == 2
    assert "empty.jsonl" in err
    assert tells(err, "nothing-read.empty-file", benchmark="mine")


@pytest.mark.parametrize("field", [{"state": "error"}, {"finish_reason": "error"}])
def test_an_error_without_a_reason_is_called_one(
    field: dict[str, str], folder: Path, run: Run, tmp_path: Path
) -> None:
    answers = write_answers(tmp_path / "a.jsonl", "", **field)
    _, _, err = run("audit", folder, "--recorded", answers, "--out", tmp_path / "out")
    assert ": ." not in err
    assert tells(err, "nothing-read.no-reason")
