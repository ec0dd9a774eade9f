"""Kill an audit again and again, and hold what is left against an audit that nobody disturbed.

    python -m tests.perf.kills                     # forty kills of an audit of a server
    python -m tests.perf.kills --model --kills 10  # of models on this machine

Each round audits an embedded benchmark into a new store; the command is ended at a random moment by
SIGKILL, SIGTERM or SIGINT and given again, until it comes to its end, and rounds go on until there
were so many kills. The server counts each request. What may be paid for twice is what was in flight
at a SIGKILL: what the server had begun and the store did not hold. Of every round are compared, with
an undisturbed one: the rows of the store, each answer once and without an error, and audit.json but
for the time that answers took.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.servers import PlannedServer, completion

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


class Server:
    """Answers by what is asked, and counts how often that was asked."""

    def __init__(self) -> None:
        self.begun: Counter[str] = Counter()

    def __call__(self, _number: int, body: dict[str, Any], _headers: dict[str, str]) -> Any:
        key = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
        self.begun[key] += 1
        return completion("Yes." if int(key[:2], 16) % 3 else "No, there is none.")


def rows(store: Path) -> dict[tuple[Any, ...], str]:
    """What a store holds: respondent, run, text, picture, attempt and state -> answer."""
    query = (
        "SELECT name, identity, run, a.digest, attempt, state, text FROM answers JOIN asks a ON a.id"
        " = ask JOIN respondents r ON r.id = respondent"
    )
    try:
        with closing(sqlite3.connect(f"{store.as_uri()}?mode=ro", uri=True)) as db:
            stored = db.execute(query).fetchall()
    except sqlite3.OperationalError:
        return {}
    assert len({row[:5] for row in stored}) == len(stored)
    return {row[:6]: row[6] for row in stored}


def audit_of(folder: Path) -> dict[str, Any]:
    """The audit without what differs from one run of the same command to another."""
    audit: dict[str, Any] = json.loads((folder / "audit.json").read_text())
    del audit["command"]
    for benchmark in audit["record"]["costs"].values():
        for cost in benchmark["respondents"].values():
            cost.pop("seconds", None)
    return audit


def started(command: list[str], folder: Path) -> subprocess.Popen[str]:
    """The command with its store and its output in a folder."""
    words = [*command, "--store", str(folder / "store.sqlite"), "--out", str(folder)]
    return subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def main(arguments: list[str] | None = None) -> None:
    """Kill, resume, compare, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=int, default=300)
    parser.add_argument("--concurrency", type=int, default=8)
    parser.add_argument("--model", action="store_true")
    options = parser.parse_args(arguments)
    rng, server, kills = random.Random(options.seed), Server(), Counter[str]()
    twice = again_after_order = 0
    with tempfile.TemporaryDirectory() as scratch_dir, PlannedServer(server, delay=0.06) as served:
        command = [sys.executable, "-m", "hqm.cli", "audit", "shapes_yesno", "--quiet"]
        command += ["--limit", str(options.limit)]
        names = [f"openai/{name}@{served.url}?concurrency={options.concurrency}" for name in "ab"]
        if options.model:
            names = ["hf/shapes:half-trained", "hf/shapes:steady"]
            command += ["--set", "batch=4"]
        for name in names:
            command += ["-r", name]
        plain = Path(scratch_dir) / "plain"
        plain.mkdir()
        begin = time.monotonic()
        process = started(command, plain)
        _, err = process.communicate()
        assert process.returncode == 0, err
        seconds = time.monotonic() - begin
        expected, audit = rows(plain / "store.sqlite"), audit_of(plain)
        assert {key[4:6] for key in expected} == {(0, "ok")}
        unique = set(server.begun)
        round_ = 0
        while kills.total() < options.kills:
            folder = Path(scratch_dir) / f"round{round_}"
            folder.mkdir()
            server.begun.clear()
            lost = 0
            while True:
                before, had = server.begun.total(), len(rows(folder / "store.sqlite"))
                process = started(command, folder)
                sent = rng.choice(SIGNALS) if kills.total() < options.kills else None
                try:
                    _, err = process.communicate(
                        timeout=rng.uniform(0.2, seconds) if sent else None
                    )
                except subprocess.TimeoutExpired:
                    assert sent is not None
                    kills[sent.name] += 1
                    process.send_signal(sent)
                    _, err = process.communicate()
                    time.sleep(0.3)  # what was in flight is counted
                stored_rows = rows(folder / "store.sqlite")
                assert stored_rows.items() <= expected.items()
                status, fresh = process.returncode, 0
                if not options.model:
                    fresh = server.begun.total() - before - (len(stored_rows) - had)
                    assert 0 <= fresh <= options.concurrency * len(names), fresh
                    if sent != signal.SIGKILL or status == 0:
                        again_after_order += fresh
                    lost += fresh
                word = "end" if status == 0 else f"{sent.name if sent else '?'} {status}"
                print(
                    f"round {round_}: {word}, {len(stored_rows)} of {len(expected)} stored, {fresh} lost"
                )
                assert "Traceback" not in err, err
                if status == 0:
                    break
                assert sent is not None
                assert status in (-sent, 128 + sent), (status, err)
            assert stored_rows == expected
            if not options.model:
                assert set(server.begun) == unique
                assert server.begun.total() == len(unique) + lost
            assert audit_of(folder) == audit
            twice += lost
            round_ += 1
    print(
        f"{kills.total()} kills ({dict(kills)}) in {round_} rounds of {len(expected)} answers:"
        f" none lost, none twice in a store, audits equal; {twice} requests were in flight at a kill"
        f" and paid for again, {again_after_order} of them without SIGKILL"
    )


if __name__ == "__main__":
    main()
