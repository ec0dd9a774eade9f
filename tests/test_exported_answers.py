"""What `hqm export STORE --to FILE` wrote is read by `--recorded`, with the same numbers."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Run, write_benchmark
from tests.messages import tells


def audit_of(folder: Path) -> dict[str, Any]:
    audit: dict[str, Any] = json.loads((folder / "audit.json").read_text())["audits"][0]
    return audit


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_recorded_answers_come_back_from_an_export(
    run: Run, tmp_path: Path, dogs: Path, suffix: str
) -> None:
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    rng = random.Random(5)
    rows = [
        {"respondent": f"m{m}", "run": k, "item": f"q{i}", "answer": rng.choice(["yes", "no", "?"])}
        for m in range(3)
        for k in range(2)
        for i in range(12)
    ]
    answers = tmp_path / "a.jsonl"
    answers.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run("audit", dogs, "--recorded", answers, "--store", tmp_path / "s", "--out", tmp_path / "o")
    export = tmp_path / f"x{suffix}"
    assert run("export", tmp_path / "s", "--to", export)[0] == 0
    status, _, err = run("audit", dogs, "--recorded", export, "--out", tmp_path / "p")
    assert status == 0, err
    assert tells(err, "log.last", matched=72, rows=72), err
    assert audit_of(tmp_path / "p") == audit_of(tmp_path / "o")


def test_answers_of_models_come_back_with_their_forms(run: Run, tmp_path: Path) -> None:
    words = ("audit", "shapes_yesno", "--limit", "4")
    run(*words, "--store", tmp_path / "s", "--out", tmp_path / "o")
    run("export", tmp_path / "s", "--to", tmp_path / "x.jsonl")
    status, _, err = run(*words, "--recorded", tmp_path / "x.jsonl", "--out", tmp_path / "p")
    assert status == 0, err
    names = ("indicator", "facet", "first", "other", "metric")
    first, second = (
        {
            tuple(str(row[name]) for name in names): row["value"]
            for row in audit_of(folder)["estimates"]
        }
        for folder in (tmp_path / "o", tmp_path / "p")
    )
    assert first == pytest.approx(second, nan_ok=True)
    assert len(first) > 20


def test_an_export_of_another_benchmark_or_a_changed_one_is_refused(
    run: Run, tmp_path: Path, dogs: Path
) -> None:
    items = [{"id": f"q{i}", "prompt": f"Is it {i}?", "target": "yes"} for i in range(3)]
    cats = write_benchmark(tmp_path / "cats", items, name="cats")
    answers = tmp_path / "a.jsonl"
    rows = [{"respondent": "m", "item": f"q{i}", "answer": "yes"} for i in range(3)]
    answers.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run("audit", cats, "--recorded", answers, "--store", tmp_path / "s")
    export = tmp_path / "x.jsonl"
    run("export", tmp_path / "s", "--to", export)
    status, _, err = run("audit", dogs, "--recorded", export)
    assert (status, tells(err, "import.no-answers-to", name="mine", others="cats")) == (1, True)
    export.write_text(export.read_text().replace('"text": "yes"', '"text": "no"', 1))
    status, _, err = run("audit", cats, "--recorded", export)
    changed = tells(err, "import.row-changed", path=export, record=2)
    assert (status, changed) == (1, True), err
