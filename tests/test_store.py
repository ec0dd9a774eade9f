import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hqm import Judgement, Response, Store, UsageError
from hqm.errors import StoreError
from hqm.store.database import ask
from hqm.store.exchange import _COUNT, export_store, import_store
from tests.messages import tells


def filled(path: Path | str) -> Store:
    store = Store(path)
    respondent = store.respondent("hf/a", {"kind": "hf", "temperature": 1.0})
    second_respondent = store.respondent("recorded/b", {"kind": "recorded"})
    q1, q2 = ask("Is it red?", "a.png", "b2:01"), ask('Is it "blue"?\nNow.', None)
    store.append(
        respondent,
        0,
        [
            (q1, Response("Yes, é.", "ok", "", {"seconds": 0.5})),
            (q2, Response("", "error", "the server answered 500")),
        ],
    )
    store.append(respondent, 0, [(q2, Response("No"))])
    store.append(second_respondent, 1, [(q1, Response("No", "truncated", "cut"))])
    store.judge(
        "mine",
        "original",
        0,
        [Judgement("human", "q1", "hf/a", 1.0, "ja", ""), Judgement("human", "q2", "hf/a", None)],
    )
    store.remember_images("mine", {"a.png": "b2:01"})
    store.record({"command": "hqm run"})
    return store


def test_the_last_attempt_counts_and_all_are_kept(store: Store) -> None:
    respondent = store.respondent("hf/a", {})
    question = ask("Is it red?")
    store.append(respondent, 0, [(question, Response("", "error", "down"))])
    number = store.ask_ids([question])[question.digest]
    assert store.answered(respondent, 0) == set()
    store.append(respondent, 0, [(question, Response("Yes"))])
    assert store.answers(respondent, 0) == {number: Response("Yes")}
    assert store.answered(respondent, 0) == {number}
    assert store.count() == 2
    assert [row["attempt"] for row in store.rows("answers")] == [0, 1]


def test_a_picture_that_is_again_what_it_was_is_the_latest(store: Store) -> None:
    for digest in ("b2:01", "b2:02", "b2:01"):
        store.remember_images("mine", {"a.png": digest})
        assert store.images("mine") == {"a.png": digest}
    store.remember_images("mine", {"a.png": "b2:02"}, replace_rows=False)
    assert store.images("mine") == {"a.png": "b2:01"}, "an import says what was, not what is"


@pytest.mark.parametrize("n_asks", [2, 700])
def test_an_ask_that_is_answered_again_is_a_further_attempt(store: Store, n_asks: int) -> None:
    """In the same batch and in a later one, whether few asks are stored together or many."""
    respondent, questions = (
        store.respondent("hf/a", {}),
        [ask(f"Is it {i}?") for i in range(n_asks)],
    )
    store.append(respondent, 0, [(q, Response("Yes")) for q in (*questions, questions[0])])
    store.append(
        respondent, 0, [(q, Response("No")) for q in (questions[-1], questions[0], questions[0])]
    )
    store.append(respondent, 1, [(questions[0], Response("No"))])
    first_id, last_id = (store.ask_ids([q])[q.digest] for q in (questions[0], questions[-1]))
    rows = list(store.rows("answers"))
    attempts = [(row["run"], row["attempt"], row["text"]) for row in rows if row["ask"] == first_id]
    assert attempts == [(0, 0, "Yes"), (0, 1, "Yes"), (0, 2, "No"), (0, 3, "No"), (1, 0, "No")]
    assert [row["attempt"] for row in rows if row["ask"] == last_id] == [0, 1]
    assert len(rows) == n_asks + 5


def test_a_respondent_is_its_identity(store: Store) -> None:
    number = store.respondent("hf/a", {"temperature": 1.0})
    assert store.respondent("hf/a", {"temperature": 1.0}) == number
    assert store.respondent("hf/a", {"temperature": 0.2}) != number
    assert store.find_respondent("hf/a", {"temperature": 0.9}) is None


@pytest.mark.parametrize(
    "table", ["respondents", "asks", "images", "answers", "judgements", "records"]
)
def test_the_store_is_append_only(tmp_path: Path, table: str) -> None:
    filled(tmp_path / "s.sqlite").close()
    db = sqlite3.connect(tmp_path / "s.sqlite")
    column = {
        "answers": "text",
        "asks": "prompt",
        "judgements": "reply",
        "records": "record",
        "respondents": "name",
        "images": "name",
    }[table]
    for statement in (f"UPDATE {table} SET {column} = 'x'", f"DELETE FROM {table}"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            db.execute(statement)


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_a_store_survives_export_and_import(tmp_path: Path, suffix: str) -> None:
    with filled(tmp_path / "one.sqlite") as first, Store(tmp_path / "two.sqlite") as second:
        assert export_store(first, tmp_path / f"one{suffix}") == 8
        assert import_store(tmp_path / f"one{suffix}", second) == 4
        export_store(second, tmp_path / f"two{suffix}")
        export_store(first, tmp_path / "one.jsonl")
        export_store(second, tmp_path / "two.jsonl")
        assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()
        assert import_store(tmp_path / f"one{suffix}", second) == 0


def test_an_import_leaves_an_answer_that_the_store_has(tmp_path: Path) -> None:
    """Further attempts of another machine at a question would count in its place."""
    question = ask("Is it red?")
    sentences: list[str] = []
    with Store(tmp_path / "one.sqlite") as store, Store(tmp_path / "two.sqlite") as second:
        for filled_store, responses in (
            (store, [Response("Yes")]),
            (second, [Response("", "error", "busy"), Response("No")]),
        ):
            number = filled_store.respondent("hf/a", {})
            for response in responses:
                filled_store.append(number, 0, [(question, response)])
            filled_store.append(number, 1, [(question, responses[-1])])
        export_store(second, tmp_path / "two.jsonl")
        assert import_store(tmp_path / "two.jsonl", store, sentences.append) == 0
        assert [answer.text for answer in store.answers(number, 0).values()] == ["Yes"]
    assert "2 rows differ" in sentences[0]


def test_an_export_needs_a_known_suffix(tmp_path: Path) -> None:
    with filled(":memory:") as store, pytest.raises(UsageError, match=".xml"):
        export_store(store, tmp_path / "a.xml")


def test_judgements_come_back(store: Store) -> None:
    judgements = [
        Judgement("human", "q1", "a", 0.5, "half", ""),
        Judgement("human", "q2", "a", None),
    ]
    store.judge("mine", "original", 0, judgements)
    store.judge("mine", "original", 0, [Judgement("human", "q1", "a", 1.0)])  # the first stays
    assert store.judgements("mine", "human", "original", 0) == judgements
    assert store.judged("mine") == [("human", "original", 0)]
    assert store.judgements("other", "human", "original", 0) == []


def test_an_answer_that_cannot_be_stored_loses_neither_the_batch_nor_its_text(
    tmp_path: Path,
) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        respondent = store.respondent("a", {})
        nan = Response("y", "ok", "", {"seconds": float("nan")})
        assert nan.detail == {"seconds": None, "replaced": "what cannot be stored"}
        stored = store.append(respondent, 0, [(ask("1"), Response("x")), (ask("2"), nan)])
        assert [response.text for response in stored] == ["x", "y"]
        assert store.count() == 2


def test_two_writers_wait_for_each_other(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    Store(path).close()

    def write(name: str) -> None:
        with Store(path) as opened:
            respondent = opened.respondent(name, {})
            for i in range(40):
                opened.append(respondent, 0, [(ask(f"{name} {i}"), Response("x"))])

    threads = [threading.Thread(target=write, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with Store(path, readonly=True) as store:
        assert store.count() == 120


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.sqlite").write_text(
        "this is no database, only a long enough text to look like one" * 20
    )
    with pytest.raises(StoreError, match="no SQLite file"):
        Store(tmp_path / "text.sqlite")
    with pytest.raises(StoreError, match="no such store"):
        Store(tmp_path / "none.sqlite", readonly=True)


def test_a_store_opened_for_reading_refuses_answers(tmp_path: Path) -> None:
    filled(tmp_path / "s.sqlite").close()
    with (
        Store(tmp_path / "s.sqlite", readonly=True) as store,
        pytest.raises(StoreError, match="cannot be written"),
    ):
        store.append(1, 0, [(ask("new"), Response("x"))])


FULL_DISK = """
import resource, signal, sys
from hqm import Response, Store
from hqm.errors import StoreError
from hqm.store.database import ask
path = sys.argv[1]
with Store(path) as store:
    who = store.respondent("a", {})
    store.append(who, 0, [(ask("kept"), Response("x"))])
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
    try:
        store.append(who, 0, [(ask(f"lost {i}"), Response("x" * 1000)) for i in range(1000)])
    except StoreError as error:
        print(error)
"""


def test_a_full_disk_is_one_sentence_and_the_store_stays_whole(tmp_path: Path) -> None:
    """A real limit on the file's size, in a real process: SQLite fails to write as on a full
    disk.
    """
    path = tmp_path / "s.sqlite"
    process = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(path)], capture_output=True, text=True, check=True
    )
    assert "the disk is full" in process.stdout or "disk I/O error" in process.stdout
    assert tells(process.stdout, "store.safe")
    with Store(path) as store:
        assert [row["prompt"] for row in store.rows("asks")] == ["kept"]
        assert store.count() == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o500)
    with pytest.raises(StoreError, match="cannot be written"):
        Store(tmp_path / "locked" / "s.sqlite")


def test_a_path_below_a_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        Store(tmp_path / "file" / "s.sqlite")


@pytest.mark.parametrize(
    ("value", "is_count"),
    [(0, True), (2**31 - 1, True), (2**31, False), (-1, False), (True, False), (1.0, False)],
)
def test_a_count_of_an_exchanged_row_is_whole_and_below_two_to_the_31(
    value: object, is_count: bool
) -> None:
    assert _COUNT[0](value) == is_count
