"""The store of labels: append-only, what stands after undo, adjudication beside raw labels, a kill
in the middle.
"""

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hqm_label.label_store import Label, LabelStore
from hqm_label.study_plan import labels_path

from hqm import UsageError
from hqm.errors import StoreError
from tests.messages import pattern_of


def test_what_stands_is_the_latest_label_that_was_not_taken_back(tmp_path: Path) -> None:
    path = labels_path(tmp_path / "plan.jsonl")
    with LabelStore(path) as store:
        store.add("u1", "anna", {"label": 1}, 1000)
        store.add("u1", "anna", {"label": 0, "note": "the cup is red"}, 500)
        store.add("u1", "ben", {"label": None}, 700)
        store.add("u2", "anna", {"label": 1}, 900)
        assert store.undo("anna") == "u2"
        assert store.undo("clara") is None
    with LabelStore(path, readonly=True) as store:
        standing = {
            (label.uid, label.rater): (label.label, label.note, label.milliseconds)
            for label in store.labels()
        }
        assert standing == {
            ("u1", "anna"): (0, "the cup is red", 500),
            ("u1", "ben"): (None, "", 700),
        }
    with closing(sqlite3.connect(path)) as db:
        rows = db.execute("SELECT entry, undone FROM labels ORDER BY id").fetchall()
    assert [undone for _, undone in rows] == [None] * 5 + [5]
    assert len({entry for entry, _ in rows}) == 5, "note and label were given together"
    assert path.stat().st_mode & 0o077 == 0


def test_undo_takes_back_all_that_was_said_of_the_answer() -> None:
    with LabelStore(":memory:") as store:
        store.add("u1", "anna", {"label": 1})
        store.add("u2", "anna", {"label": 1})
        store.add("u1", "anna", {"label": 0})
        assert store.undo("anna") == "u1"
        assert [(label.uid, label.label) for label in store.labels()] == [("u2", 1)]
        assert store.undo("anna") == "u2"
        assert store.undo("anna") is None


def test_an_adjudicated_label_stands_beside_the_raw_ones() -> None:
    with LabelStore(":memory:") as store:
        store.add("u1", "anna", {"label": 1})
        store.add("u1", "ben", {"label": 0})
        store.add("u1", "owner", {"label": 0}, by="adjudication")
        assert [(label.rater, label.label, label.by) for label in store.labels()] == [
            ("anna", 1, "rater"),
            ("ben", 0, "rater"),
            ("owner", 0, "adjudication"),
        ]
        assert store.undo("owner") is None, "an adjudication is no rater's label"
        assert store.undo("owner", by="adjudication") == "u1"
        assert len(store.labels()) == 2


def test_nothing_is_changed_or_deleted(tmp_path: Path) -> None:
    path = tmp_path / "plan.labels.sqlite"
    with LabelStore(path) as store:
        store.add("u1", "anna", {"label": 1})
    db = sqlite3.connect(path)
    for statement in ("UPDATE labels SET value = '0'", "DELETE FROM labels"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            db.execute(statement)
    db.close()


def test_what_cannot_be_stored_is_replaced_and_a_label_needs_its_field() -> None:
    with LabelStore(":memory:") as store:
        store.add("u1", "anna", {"label": 1, "note": "a\0b \ud800 <script>"})
        assert store.labels()[0].note == "a\ufffdb \ufffd <script>"
        with pytest.raises(UsageError, match="label"):
            store.add("u1", "anna", {"note": "nothing else"})
        with pytest.raises(UsageError, match="guess"):
            store.add("u1", "anna", {"label": 1}, by="guess")  # type: ignore[arg-type]


def test_what_is_no_store_of_labels_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no labels yet"):
        LabelStore(tmp_path / "none.sqlite", readonly=True)
    (tmp_path / "text.sqlite").write_text(
        "this is no database, and long enough to be read as one" * 100
    )
    with pytest.raises(StoreError, match="SQLite says"):
        LabelStore(tmp_path / "text.sqlite")
    db = sqlite3.connect(tmp_path / "other.sqlite")
    db.execute("CREATE TABLE other (a)")
    db.close()
    with pytest.raises(StoreError, match="no store of labels"):
        LabelStore(tmp_path / "other.sqlite")
    path = tmp_path / "later.sqlite"
    LabelStore(path).close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE meta SET value = '2'")
        db.commit()
    with pytest.raises(StoreError, match=pattern_of("labels.later")):
        LabelStore(path)


@pytest.mark.parametrize(
    ("column", "text"),
    [("value", "{"), ("value", "[1]"), ("milliseconds", "soon"), ("time", "today")],
)
def test_a_damaged_label_is_named_as_such(tmp_path: Path, column: str, text: str) -> None:
    path = labels_path(tmp_path / "plan.jsonl")
    with LabelStore(path) as store:
        store.add("u1", "anna", {"label": 1})
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TRIGGER labels_no_update")
        connection.execute(f"UPDATE labels SET {column} = ?", (text,))
        connection.commit()
    with LabelStore(path) as store, pytest.raises(StoreError, match="damaged"):
        store.labels()


def test_labels_of_an_import_are_stored_together_or_not_at_all() -> None:
    labels = [
        Label(uid=f"u{i}", rater="anna", values={"label": 1}, milliseconds=None, time=0.0)
        for i in range(3)
    ]
    with LabelStore(":memory:") as store:
        with pytest.raises(UsageError):
            store.add_all([*labels, replace(labels[0], values={})])
        assert store.labels() == []
        store.add_all(labels)
        assert store.labels() == labels
        assert store.undo("anna") == "u2"


def test_labels_go_on_where_a_full_disk_has_room_again(tmp_path: Path) -> None:
    with LabelStore(tmp_path / "plan.labels.sqlite") as store:
        store._db.execute("PRAGMA max_page_count=12")
        stored = 0
        with pytest.raises(StoreError, match="full"):
            while True:
                store.add(f"u{stored}", "anna", {"label": 1, "note": "x" * 500})
                stored += 1
        store._db.execute("PRAGMA max_page_count=100")
        store.add("later", "anna", {"label": 0})
        assert len(store.labels()) == stored + 1 > 3


def test_a_killed_process_keeps_every_label_that_was_stored(tmp_path: Path) -> None:
    path = tmp_path / "plan.labels.sqlite"
    code = (
        "import sys; from hqm_label.label_store import Label, LabelStore\n"
        "store, i = LabelStore(sys.argv[1]), 0\n"
        "while True:\n"
        "    store.add(f'u{i}', 'anna', {'label': 1, 'note': 'x'}); print(i, flush=True); i += 1\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    acknowledged = [int(process.stdout.readline()) for _ in range(20)]
    os.kill(process.pid, signal.SIGKILL)
    acknowledged += [int(line) for line in process.stdout.read().split()]
    process.wait()
    with LabelStore(path) as store:
        stored = [label.uid for label in store.labels()]
    assert stored[: len(acknowledged)] == [f"u{i}" for i in acknowledged]
    assert len(stored) - len(acknowledged) <= 1, "the label in flight"
    assert all(len(label.values) == 2 for label in LabelStore(path).labels()), (
        "no label is half there"
    )
