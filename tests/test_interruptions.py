"""Ctrl-C, a scheduler's SIGTERM, SIGKILL, and two commands on one store: real processes, real
signals; nightly a real model, in every other run a respondent without torch.
"""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pytest

import hqm
from hqm.commands.interrupt import interruption
from hqm.errors import StoreError
from hqm.store.database import ask
from hqm.store.sqlite import writing
from tests.conftest import NIGHTLY
from tests.counts_said import run_counts
from tests.messages import tells
from tests.quick_respondent import environment_with_quick
from tests.servers import PlannedServer, completion, question

HQM = [sys.executable, "-m", "hqm.cli"]
MODEL = "hf/shapes:half-trained" if NIGHTLY else "quick/model"
RUN = [
    *HQM,
    "audit",
    "--no-report",
    "shapes_yesno",
    "-r",
    MODEL,
    "--forms",
    "original",
    "--runs",
    "1",
    "--set",
]
"""The size of the batch follows, as `batch=4`: small ones leave time for a signal."""


@pytest.fixture(autouse=True)
def quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every process that a test starts knows the respondent without torch."""
    if not NIGHTLY:
        monkeypatch.setenv("PYTHONPATH", environment_with_quick(tmp_path / "site")["PYTHONPATH"])


def hearing() -> None:
    """What runs behind a shell's back ignores Ctrl-C, and so would all that it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start(command: list[str], store: Path, *options: str) -> "subprocess.Popen[str]":
    """A command in a process group of its own, as a shell starts it."""
    return subprocess.Popen(
        [*command, "--store", str(store), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=hearing,
    )


def wait_until(
    true: Callable[[], bool], process: "subprocess.Popen[str] | None" = None, seconds: float = 300
) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert process is None or process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.02)


def count(store: Path) -> int:
    try:
        with closing(sqlite3.connect(f"{store.as_uri()}?mode=ro", uri=True)) as db:
            return int(db.execute("SELECT COUNT(*) FROM answers").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def whole_and_each_once(store: Path, n: int) -> None:
    with closing(sqlite3.connect(store)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert db.execute(
            "SELECT COUNT(*), COUNT(DISTINCT ask), MAX(attempt) FROM answers"
        ).fetchone() == (n, n, 0)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_finishes_the_batch_and_says_how_to_go_on(tmp_path: Path, workers: int) -> None:
    store = tmp_path / "store.sqlite"
    command = [*RUN, "batch=4", "--set", f"workers={workers}"]
    process = start(command, store)
    wait_until(lambda: count(store) >= 40, process)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does it: to the workers too
    output, err = process.communicate(timeout=300)
    n_stored = count(store)
    assert process.returncode == 130
    assert 40 <= n_stored < 1008
    assert tells(err, "run.stopping")
    assert tells(err, "run.interrupted", answers=n_stored, store=store, left=1008 - n_stored)
    assert (
        f"hqm audit --no-report shapes_yesno -r {MODEL} --forms original --runs 1 --set batch=4"
        f" --set workers={workers}" in err
    )
    assert "Traceback" not in err
    assert run_counts(output) == (n_stored, 0, 0)
    if workers == 1:
        resumed = subprocess.run(
            [*RUN, "batch=64", "--store", str(store)], capture_output=True, text=True, check=True
        )
        assert run_counts(resumed.stdout) == (1008 - n_stored, n_stored, 0)
        whole_and_each_once(store, 1008)


@pytest.mark.slow
def test_a_schedulers_sigterm_ends_a_run_in_good_order(tmp_path: Path) -> None:
    store = tmp_path / "store.sqlite"
    process = start([*RUN, "batch=4"], store)
    wait_until(lambda: count(store) >= 20, process)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 143
    assert tells(err, "run.interrupted", answers=count(store))


def test_what_a_server_was_asked_before_ctrl_c_is_stored(tmp_path: Path) -> None:
    """Requests are in flight, and paid, when the signal comes, and answered once it is heard."""
    store, is_heard = tmp_path / "store.sqlite", threading.Event()
    with PlannedServer(
        lambda _n, body, _h: completion(question(body)),
        min_in_flight=lambda _number: 0 if is_heard.is_set() else 1000,
    ) as server:
        command = [
            *HQM,
            "audit",
            "--no-report",
            "shapes_vqa",
            "-r",
            f"openai/tiny@{server.url}",
            "--forms",
            "original",
            "--runs",
            "1",
        ]
        process = start(command, store)
        wait_until(lambda: len(server.asked) >= 24, process)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert tells(process.stderr.readline(), "run.stopping")
        is_heard.set()
        _, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert count(store) == server.answered == len(server.asked)
    assert server.answered < 200
    assert tells(err, "run.interrupted", answers=server.answered)


def test_a_second_ctrl_c_is_obeyed_at_once() -> None:
    # a shell starts what runs in the background with Ctrl-C ignored
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), interruption(quiet=True) as stop:
        os.kill(os.getpid(), signal.SIGINT)
        wait_until(stop)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)
    assert signal.getsignal(signal.SIGINT) is before, "the handlers are as they were"


def test_a_thread_that_cannot_handle_signals_asks_all_the_same() -> None:
    stop_values: list[bool] = []

    def read_stop() -> None:
        with interruption() as stop:
            stop_values.append(stop())

    thread = threading.Thread(target=read_stop)
    thread.start()
    thread.join()
    assert stop_values == [False]


@pytest.mark.slow
def test_workers_do_not_outlive_a_driver_that_is_killed(tmp_path: Path) -> None:
    store = tmp_path / "store.sqlite"
    process = start([*RUN, "batch=2", "--set", "workers=2"], store)
    wait_until(lambda: count(store) >= 20, process)
    children = psutil.Process(process.pid).children(recursive=True)
    assert len(children) >= 2
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    wait_until(
        lambda: (
            not any(
                child.is_running() and child.status() != psutil.STATUS_ZOMBIE for child in children
            )
        )
    )
    with closing(sqlite3.connect(store)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.slow
def test_a_second_command_waits_even_for_one_that_is_killed(tmp_path: Path) -> None:
    store = tmp_path / "store.sqlite"
    first = start([*RUN, "batch=1"], store)
    wait_until(lambda: count(store) >= 20, first)
    os.kill(first.pid, signal.SIGSTOP)  # it holds the lock for as long as the others take to start
    refused = start([*RUN, "batch=64"], store, "--set", "no_wait=true")
    waiting = start([*RUN, "batch=64"], store)
    _, err = refused.communicate(timeout=300)
    assert refused.returncode == 1
    assert f"process {first.pid} on" in err
    assert tells(err, "store.no-wait")
    assert waiting.stderr is not None
    assert tells(waiting.stderr.readline(), "store.waiting")
    assert waiting.poll() is None
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    n_stored = count(store)
    assert n_stored < 1008
    output, _ = waiting.communicate(timeout=300)
    assert waiting.returncode == 0
    assert run_counts(output)[:2] == (1008 - n_stored, n_stored)
    whole_and_each_once(store, 1008)


def test_a_lock_is_told_from_a_store_that_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "store.sqlite"
    with (
        writing(store),
        pytest.raises(StoreError, match="is writing to it"),
        writing(store, wait=False),
    ):
        pass
    with writing(store):
        assert capsys.readouterr().err == ""
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(StoreError, match="cannot be written"),
        writing(tmp_path / "file" / "store.sqlite"),
    ):
        pass


def test_two_writers_without_the_lock_leave_the_store_whole(tmp_path: Path) -> None:
    """Programs that open a store themselves hold no lock: SQLite keeps it whole."""
    path = tmp_path / "store.sqlite"
    hqm.Store(path).close()
    failures: list[Any] = []

    def write(writer: int) -> None:
        try:
            with hqm.Store(path) as store:
                number = store.respondent("hf/a", {"kind": "test"})
                for i in range(100):
                    store.append(number, 0, [(ask(f"{writer} {i}"), hqm.Response("Yes"))])
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    whole_and_each_once(path, 200)
