"""Ctrl-C in every phase of a command: one sentence, status 130, nothing lost, no traceback; and
what a long wait says.
"""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.core import TyperCommand

from hqm.cli import main
from hqm.commands.help import GroupedCommand
from hqm.commands.interrupt import interruption
from hqm.respondents.base import is_idle, listening, waiting
from tests.conftest import NIGHTLY, write_benchmark
from tests.judge_server import JudgeServer
from tests.messages import tells
from tests.test_interruptions import count, hearing, wait_until

HQM = [sys.executable, "-m", "hqm"]
FROM_THE_FIRST_LINE = [
    sys.executable,
    "-c",
    "import hqm.__main__ as program; print('up', flush=True); program.main()",
]
"""The program, which says that Python has come as far as its first line."""

SLOW = """
import hashlib, time
from hqm import Response
from hqm.respondents.base import waiting


class SlowRespondent:
    live = True

    def __init__(self, name):
        self.name = str(name)
        self.phase = name.target

    def identity(self):
        return {"kind": "slow", "model": self.phase}

    def answer(self, requests):
        first, *others = requests
        if self.phase == "loading":
            with waiting(f"loading {self.name}"):
                time.sleep(600)
        yield [(first, Response("Yes."))]
        if self.phase == "stuck":
            hashlib.pbkdf2_hmac("sha256", b"x", b"y", 2_000_000_000)
        yield [(request, Response("Yes.")) for request in others]

    def close(self):
        pass
"""
ADAPTER = """
import time
from hqm import Benchmark


class Dawdling(Benchmark):
    def score(self, item, response):
        print("scoring", flush=True)
        time.sleep(600)
        return super().score(item, response)
"""


@pytest.fixture
def signs(tmp_path: Path) -> Path:
    rows = [
        {
            "id": f"q{i}",
            "prompt": f"Is there a {object_name} in the image?",
            "target": "yes" if i % 2 else "no",
        }
        for i, object_name in enumerate(["dog", "cat", "car", "bus", "hat", "cup"])
    ]
    return write_benchmark(tmp_path / "signs", rows, name="signs")


@pytest.fixture
def site(tmp_path: Path) -> dict[str, str]:
    """An environment in which a package brings a respondent that is slow in the phase that its name
    says.
    """
    folder = tmp_path / "site"
    (folder / "slow-1.0.dist-info").mkdir(parents=True)
    (folder / "slow.py").write_text(SLOW)
    (folder / "slow-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: slow\nVersion: 1.0\n"
    )
    (folder / "slow-1.0.dist-info" / "entry_points.txt").write_text(
        "[hqm.respondents]\nslow = slow:SlowRespondent\n"
    )
    return {**os.environ, "PYTHONPATH": str(folder)}


def start(command: list[str], environment: dict[str, str] | None = None) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
        preexec_fn=hearing,
    )


def read_lines_until(process: "subprocess.Popen[str]", text: str) -> str:
    """The lines of the error stream up to one that has this text."""
    assert process.stderr is not None
    lines_read = ""
    for line in process.stderr:
        lines_read += line
        if text in line:
            return lines_read
    raise AssertionError(f"{text!r} was never said: {lines_read}")


def in_one_sentence(err: str) -> None:
    assert "Traceback" not in err
    assert "Exception ignored" not in err
    assert err.count("hqm: interrupted") == 1, err


def test_a_model_that_loads_for_long_is_told_of_and_left_at_once(
    signs: Path, site: dict[str, str], tmp_path: Path
) -> None:
    process = start(
        [
            *HQM,
            "audit",
            "--no-report",
            str(signs),
            "-r",
            "slow/loading",
            "--store",
            str(tmp_path / "s.sqlite"),
        ],
        site,
    )
    progress = read_lines_until(process, "15 s so far")
    assert tells(progress, "run.loading", respondent="slow/loading", seconds=5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130
    in_one_sentence(err)
    assert tells(err, "run.go-on", command="hqm audit")


def test_a_second_ctrl_c_leaves_a_computation_that_never_returns(
    signs: Path, site: dict[str, str], tmp_path: Path
) -> None:
    """The main thread is in C, where no handler of Python's runs."""
    store = tmp_path / "s.sqlite"
    process = start(
        [
            *HQM,
            "audit",
            "--no-report",
            str(signs),
            "-r",
            "slow/stuck",
            "--forms",
            "original",
            "--runs",
            "1",
            "--store",
            str(store),
        ],
        site,
    )
    wait_until(lambda: count(store) == 1, process)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    time.sleep(1)
    assert process.poll() is None, "the first one is a wish"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert tells(err, "run.stopped")
    with closing(sqlite3.connect(store)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert count(store) == 1


def test_while_answers_are_scored(signs: Path, tmp_path: Path) -> None:
    (signs / "adapter.py").write_text(ADAPTER)
    answers = tmp_path / "answers.jsonl"
    answers.write_text(
        "".join(
            json.dumps({"respondent": "a", "item": f"q{i}", "answer": "Yes"}) + "\n"
            for i in range(6)
        )
    )
    out_dir = tmp_path / "out"
    process = start(
        [
            *HQM,
            "audit",
            str(signs),
            "--recorded",
            str(answers),
            "--forms",
            "original",
            "--out",
            str(out_dir),
        ]
    )
    assert process.stdout is not None
    while "scoring" not in process.stdout.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130
    in_one_sentence(err)
    assert tells(err, "run.go-on", command="hqm audit")
    assert count(out_dir / "store.sqlite") == 6
    assert not (out_dir / "audit.json").exists()


@pytest.mark.slow
def test_at_any_moment_of_an_audit(tmp_path: Path) -> None:
    """From the first line on, through loading, scoring, estimating and drawing, up to the end."""
    rows = [
        {
            "id": f"q{i}",
            "prompt": f"Is there a {object_name} in the image?",
            "target": "yes" if i % 2 else "no",
            "type": "existence",
        }
        for i, object_name in enumerate(["dog", "cat", "car", "bus", "hat", "cup"] * 8)
    ]
    folder = write_benchmark(
        tmp_path / "many", rows, name="many", types=["existence"], labelled=True
    )
    answers = tmp_path / "answers.jsonl"
    lines = [
        json.dumps(
            {
                "respondent": f"r{k}",
                "run": run,
                "item": f"q{i}",
                "answer": "Yes" if (i * k + run) % 3 else "No",
            }
        )
        for k in range(1, 7)
        for run in (0, 1)
        for i in range(48)
    ]
    answers.write_text("\n".join(lines))
    command = [
        "audit",
        str(folder),
        "--recorded",
        str(answers),
        "--forms",
        "original",
        "--out",
        str(tmp_path / "out"),
    ]
    began = time.monotonic()
    subprocess.run([*HQM, *command, "--quiet"], check=True, capture_output=True)
    duration = 0.8 * (time.monotonic() - began)  # this one asked, too
    interrupted, steps = 0, 8 if NIGHTLY else 2
    for step in range(steps):
        process = start([*FROM_THE_FIRST_LINE, *command])
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(duration * (step + 0.05) / (steps + 1))
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=300)
        assert process.returncode in (0, 130), err
        if process.returncode:
            interrupted += 1
            in_one_sentence(err)
        else:  # other work slowed the run that was timed
            duration *= 0.8
    assert interrupted >= (3 if NIGHTLY else 1)
    assert count(tmp_path / "out" / "store.sqlite") == 576
    json.loads((tmp_path / "out" / "audit.json").read_text())


@pytest.mark.parametrize("moment", ["parse_args", "invoke"])
def test_before_and_after_the_function_of_a_command(
    moment: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """typer turns Ctrl-C in its own code into a silent exit."""
    theirs = getattr(TyperCommand, moment)

    def ours(self: TyperCommand, *arguments: Any) -> Any:
        theirs(self, *arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(GroupedCommand, moment, ours)
    monkeypatch.setattr(sys, "argv", ["hqm", "list"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
    err = capsys.readouterr().err
    in_one_sentence(err)
    assert tells(err, "write.go-on", command="hqm list")


JUDGED = """
from hqm import Benchmark, Verdict


class Judged(Benchmark):
    roles = ("judge",)

    async def judge(self, item, response, ask):
        reply = await ask("judge", f"Is this true? {item.id} {response.text}")
        return Verdict(float("yes" in reply.lower()))
"""


@pytest.fixture
def judge() -> Iterator[JudgeServer]:
    server = JudgeServer(lambda _prompt, _body: "yes")
    yield server
    server.stop()


def test_while_a_judge_is_asked_what_it_replied_is_stored(
    judge: JudgeServer, tmp_path: Path
) -> None:
    is_heard = threading.Event()

    def reply(_prompt: str, _body: dict[str, Any]) -> str:
        """Reply; from the twentieth on only once the command has heard the signal."""
        assert len(judge.prompts) < 20 or is_heard.wait(300)
        return "yes"

    judge.reply = reply
    rows = [{"id": f"q{i}", "prompt": f"What is number {i}?", "target": "x"} for i in range(600)]
    folder = write_benchmark(tmp_path / "judged", rows, name="judged", task="vqa")
    (folder / "adapter.py").write_text(JUDGED)
    answers, out_dir = tmp_path / "answers.jsonl", tmp_path / "out"
    answers.write_text(
        "".join(
            json.dumps({"respondent": "a", "item": f"q{i}", "answer": "x"}) + "\n"
            for i in range(600)
        )
    )
    arguments = [
        "audit",
        str(folder),
        "--recorded",
        str(answers),
        "--forms",
        "original",
        "--judge",
        judge.name(),
        "--out",
        str(out_dir),
    ]
    process = start([*HQM, *arguments])
    wait_until(lambda: len(judge.prompts) >= 20, process)
    process.send_signal(signal.SIGINT)
    read_lines_until(process, "stopping after")
    is_heard.set()
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130
    in_one_sentence(err)
    assert tells(err, "judge.interrupted")
    stored = count(out_dir / "store.sqlite") - 600
    assert 20 <= stored == len(judge.prompts) < 600, (
        "what the judge was asked, and is paid for, is stored"
    )


# --- the pieces ---


def test_the_first_ctrl_c_ends_a_wait_in_this_process() -> None:
    with (
        pytest.raises(KeyboardInterrupt),
        interruption(quiet=True, is_idle=is_idle),
        waiting("loading"),
    ):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)
    with interruption(quiet=True, is_idle=is_idle) as stop:
        with waiting("loading", idle=False):
            os.kill(os.getpid(), signal.SIGINT)
            wait_until(stop)
        assert not is_idle()


def test_who_listens_hears_each_wait_begin_and_end() -> None:
    events: list[tuple[str, bool]] = []
    with listening(lambda activity, begins: events.append((activity, begins))):
        with waiting("loading a"):
            assert is_idle()
        with pytest.raises(ValueError, match="broken"), waiting("loading b"):
            raise ValueError("broken")
    with waiting("loading c"):
        pass
    assert events == [
        ("loading a", True),
        ("loading a", False),
        ("loading b", True),
        ("loading b", False),
    ]


def test_a_wait_is_told_of_once_for_all_workers(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from hqm.commands import terminal
    from hqm.respondents.base import tell

    monkeypatch.setattr(terminal, "FIRST_WAIT", 0.05)
    monkeypatch.setattr(terminal, "NEXT_WAITS", (0.1, 600.0))
    with terminal.report_waits():
        tell("loading m", True)
        tell("loading m", True)
        error_texts: list[str] = []

        def said_twice() -> bool:
            error_texts.append(capsys.readouterr().err)
            return "".join(error_texts).count("so far") >= 2

        wait_until(said_twice)
        tell("loading m", False)
        tell("loading m", False)
        for thread in threading.enumerate():
            if (
                thread.daemon
                and thread is not threading.current_thread()
                and "_report_wait" in thread.name
            ):
                thread.join(60)
    err = "".join(error_texts) + capsys.readouterr().err
    assert len(re.findall(r"loading m: \d+ s so far", err)) == err.count("so far") == 2
    with terminal.report_waits(quiet=True):
        tell("loading m", True)
        time.sleep(0.2)
    assert capsys.readouterr().err == ""


IN_A_CLASS = """
import sys
import hqm.__main__, hqm.cli

class Interrupting:
    def __set_name__(self, owner, name):
        raise KeyboardInterrupt

def make_class(*arguments, **options):
    class Made:
        field = Interrupting()

sys.argv = ["hqm", "list"]
if PLACE == "program":
    hqm.cli.main = make_class
else:
    hqm.cli._parser = lambda word: make_class
hqm.__main__.main()
"""


@pytest.mark.parametrize("place", ["program", "command"])
def test_ctrl_c_while_a_class_is_made_is_an_interruption(place: str) -> None:
    """Until Python 3.12 it comes as the cause of a RuntimeError."""
    code = IN_A_CLASS.replace("PLACE", repr(place))
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert process.returncode == 130, process.stderr
    assert process.stderr.startswith("hqm: interrupted")
    assert "Traceback" not in process.stderr
