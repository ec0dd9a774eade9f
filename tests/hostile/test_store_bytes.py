"""Stores in which bytes were changed: a command says that the file is damaged, or reads what is still
there, and never ends in a failure of HQM's own.
"""

from __future__ import annotations

import json
import random
import sqlite3
from pathlib import Path

import pytest

import hqm
from tests.conftest import NIGHTLY, Run, counts, write_benchmark
from tests.messages import pattern_of, tells

SEED = random.SystemRandom().randrange(10_000) if NIGHTLY else 4


@pytest.fixture
def commands(tmp_path: Path, run: Run) -> list[list[object]]:
    """Commands that read or write the store `t.sqlite`, beside a sound one, `s.sqlite`."""
    items = [
        {"id": f"q{i}", "prompt": f"Is there a thing {i}?", "target": ("yes", "no")[i % 2]}
        for i in range(12)
    ]
    benchmark = write_benchmark(tmp_path / "mine", items)
    rows = [
        {"item": item["id"], "respondent": f"m{model}", "answer": item["target"]}
        for model in range(3)
        for item in items
    ]
    answers, labels = tmp_path / "a.jsonl", tmp_path / "l.csv"
    answers.write_text("".join(json.dumps(row) + "\n" for row in rows))
    lines = [f"{row['item']},{row['respondent']},1" for row in rows]
    labels.write_text("\n".join(["item,respondent,label", *lines]))
    audit = ["audit", benchmark, "--recorded", answers, "--no-report", "-q", "--store"]
    code, _, err = run(*audit, tmp_path / "s.sqlite", "--criterion", labels)
    assert code == 0, err
    store = tmp_path / "t.sqlite"
    return [
        [*audit, store],
        [*audit, store, "--criterion", labels],
        ["compare", benchmark, "--store", store, "--to", tmp_path / "c.json"],
        ["export", store, "--to", tmp_path / "e.jsonl"],
    ]


def test_changed_bytes_never_end_in_a_failure(
    commands: list[list[object]], run: Run, tmp_path: Path
) -> None:
    """200 files were tried when this was written."""
    rng = random.Random(SEED)
    sound = (tmp_path / "s.sqlite").read_bytes()
    words = [offset for offset, byte in enumerate(sound) if 31 < byte < 127]
    for case in range(counts(300)):
        changed = bytearray(sound)
        for _ in range(rng.choice([1, 1, 3, 10])):
            offset = rng.choice(words) if rng.random() < 0.8 else rng.randrange(len(changed))
            changed[offset] = rng.randrange(256)
        for file in tmp_path.glob("t.sqlite*"):
            file.unlink()
        (tmp_path / "t.sqlite").write_bytes(bytes(changed))
        code, _, err = run(*rng.choice(commands))
        assert code in (0, 1, 2), (SEED, case, err)


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("UPDATE answers SET text = x'59b0'", "bytes stand where"),
        ("UPDATE answers SET text = CAST(x'59b0' AS TEXT)", "a text is no UTF-8"),
        ("UPDATE answers SET state = 'oj'", "an answer has a state"),
        ("UPDATE respondents SET identity = '{'", "a respondent's identity"),
        ("UPDATE respondents SET identity = '[]'", "a respondent's identity"),
    ],
)
def test_a_value_that_no_store_writes_is_damage(
    commands: list[list[object]], tmp_path: Path, statement: str, reason: str
) -> None:
    path = tmp_path / "s.sqlite"
    with sqlite3.connect(path) as db:
        for table in ("answers", "respondents"):
            db.execute(f"DROP TRIGGER {table}_no_update")
        db.execute(statement)
    db.close()
    with (
        hqm.Store(path) as store,
        pytest.raises(hqm.HQMError, match=pattern_of("store.damage", reason=reason)),
    ):
        store.respondents()
        for number in range(1, 4):
            store.answers(number, 0)


@pytest.mark.parametrize("table", ["answers", "respondents", "asks", "administrations"])
def test_bytes_in_a_text_of_any_table_are_damage(
    commands: list[list[object]], run: Run, tmp_path: Path, table: str
) -> None:
    """Every command, with every column of texts in turn."""
    path = tmp_path / "s.sqlite"
    with sqlite3.connect(path) as db:
        db.execute(f"DROP TRIGGER {table}_no_update")
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})") if row[2] == "TEXT"]
    db.close()
    sound = path.read_bytes()
    for column in columns:
        for file in tmp_path.glob("t.sqlite*"):
            file.unlink()
        (tmp_path / "t.sqlite").write_bytes(sound)
        with sqlite3.connect(tmp_path / "t.sqlite") as db:
            # each row another value, where the column is unique
            db.execute(f"UPDATE {table} SET {column} = CAST({column} || 'a' AS BLOB)")
        db.close()
        for command in commands:
            code, _, err = run(*command)
            assert code in (0, 1, 2), (column, command, err)


def test_half_a_character_in_a_models_name_is_refused() -> None:
    with pytest.raises(hqm.HQMError) as caught:
        hqm.Recording("m\ud800", "original", 0, {"q": hqm.Response("yes")})
    assert tells(str(caught.value), "store.half-character")
