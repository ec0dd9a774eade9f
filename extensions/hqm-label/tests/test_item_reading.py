"""`hqm check --read-with`: a model reads items as advice; the cost is told first, nothing is asked
twice, and neither findings nor the exit status change.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hqm_label.item_readings import MIN_COMPARED, N_PERSON, choose_items, read_finding

import hqm
from hqm.errors import UnreadableReply
from hqm.psychometrics.agreement.intraclass import kappa_of_counts
from hqm.types import Form, Item
from tests.conftest import Run, write_benchmark
from tests.judge_server import JudgeServer
from tests.messages import tells
from tests.test_interruptions import count, wait_until

N_ITEMS = 60
N_PAIRS = 6
"""The last six items ask what the first six ask, with the other key: all twelve are to be read."""


def number_of(item: int) -> int:
    """The number in an item's question."""
    return item % (N_ITEMS - N_PAIRS)


def reply(prompt: str, _: dict[str, Any]) -> str:
    """A reader that finds a wrong key in each third question, and writes prose about number 5."""
    number = int(prompt.partition("of number ")[2].partition(" ")[0])
    if number == 5:
        return "The key seems wrong to me."
    finding = "none" if number % 3 else "wrong_key"
    return json.dumps({"reason": f"number {number} is looked at", "finding": finding})


@pytest.fixture
def reader() -> Iterator[JudgeServer]:
    server = JudgeServer(reply)
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [
        {
            "id": f"i{n}",
            "prompt": f"Is there a thing of number {number_of(n)} here?",
            "target": ("yes", "no")[(n + (n >= N_ITEMS - N_PAIRS)) % 2],
        }
        for n in range(N_ITEMS)
    ]
    return write_benchmark(tmp_path / "mine", rows)


def test_a_model_reads_the_list_and_a_random_tenth_once(
    folder: Path, tmp_path: Path, run: Run, reader: JudgeServer
) -> None:
    store = tmp_path / "store.sqlite"
    alone = run("check", folder, "--json")
    arguments = ["check", folder, "--read-with", f"{reader.name()}?price_in=2&price_out=8"]
    arguments += ["--store", store]
    status, printed, plan = run(*arguments, "--json", "--dry-run")
    assert (status, printed) == alone[:2]
    assert not reader.prompts
    assert not store.exists()
    n_asked = int(plan.rpartition("Questions to ask: ")[2].partition(".")[0])
    assert tells(plan, "readings.cost", listed=2 * N_PAIRS, asked=n_asked)
    assert tells(plan, "readings.price")
    for _ in range(2):
        status, printed, errors = run(*arguments, "--json")
        assert status == alone[0], errors
    assert tells(errors, "readings.cost", asked=0)
    (report,) = json.loads(printed)
    readings = report.pop("readings")
    assert [report] == json.loads(alone[1]), "advice changes no finding"
    assert n_asked == len(readings["items"]) == len(reader.attempts) == reader.attempts.total()
    reasons = [reason for row in readings["items"] for reason in row["reasons"]]
    assert (reasons.count("list"), reasons.count("random")) == (2 * N_PAIRS, N_ITEMS // 10)
    for row in readings["items"]:
        number = number_of(int(row["item"][1:]))
        expected = "" if number == 5 else "none" if number % 3 else "wrong_key"
        assert row["finding"] == expected
        assert ("reply is not the JSON" if number == 5 else f"number {number} ") in row["reason"]
    assert readings["kappa"] is None
    _, printed, _ = run(*arguments)
    unread = sum(not row["finding"] for row in readings["items"])
    listed = [row for row in readings["items"] if "list" in row["reasons"] and row["finding"]]
    faulty = sum(row["finding"] == "wrong_key" for row in listed)
    assert tells(printed, "readings.list", faulty=faulty, read=len(listed))
    assert tells(printed, "readings.unread", unread=unread)
    assert tells(printed, "readings.no-agreement", compared=0, needed=MIN_COMPARED)


def test_a_marked_key_shows_how_far_a_person_agrees(
    folder: Path, tmp_path: Path, run: Run, reader: JudgeServer
) -> None:
    """The person differs on items 0 and 1; one item is unread, as number 5 has no reading."""
    numbers = range(N_ITEMS - N_PAIRS)
    faults = {n: (n % 3 == 0) != (n < 2) for n in numbers}
    marks = tmp_path / "marks.csv"
    lines = [f"i{n},{('keep', 'wrong key')[fault]}\n" for n, fault in faults.items()]
    marks.write_text("item,mark\n" + "".join(lines), encoding="utf-8")
    arguments = ["check", folder, "--read-with", reader.name(), "--store", tmp_path / "s.sqlite"]
    arguments += ["--key", marks]
    _, printed, errors = run(*arguments, "--json")
    readings = json.loads(printed)[0]["readings"]
    assert "readings" not in json.loads(printed)[1], "the corrected key is read by nobody"
    items = [int(row["item"][1:]) for row in readings["items"] if row["finding"]]
    compared = [n for n in items if n in faults]
    assert N_PERSON - 1 <= readings["compared"] == len(compared), errors
    cells = [0, 0, 0, 0]
    for n in compared:
        cells[2 * (n % 3 != 0) + (not faults[n])] += 1
    assert readings["agreement"] == pytest.approx((cells[0] + cells[3]) / len(compared))
    assert readings["kappa"] == pytest.approx(float(kappa_of_counts(*cells)))
    low, high = readings["kappa_interval"]
    assert low < readings["kappa"] < high
    _, printed, _ = run(*arguments)
    assert tells(printed, "readings.agreement", compared=len(compared))
    assert tells(printed, "readings.kappa")
    marks.write_text("item,mark\n" + "".join(lines[: MIN_COMPARED - 1]), encoding="utf-8")
    _, printed, _ = run(*arguments)
    assert tells(printed, "readings.no-agreement", needed=MIN_COMPARED)


def test_a_killed_reading_asks_nothing_twice(folder: Path, tmp_path: Path, run: Run) -> None:
    """The eighth question hangs, and the command is killed: the seven before are stored."""
    server = JudgeServer(reply, lambda _, __: "500" if len(server.prompts) >= 7 else "")
    store = tmp_path / "store.sqlite"
    model = f"{server.name()}?retries=9&concurrency=1"
    arguments = ["check", str(folder), "--read-with", model, "--store", str(store), "--json"]
    try:
        command = [sys.executable, "-m", "hqm", *arguments]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_until(lambda: count(store) >= 7, process)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        server.trouble = lambda _prompt, _attempt: ""
        _, printed, errors = run(*arguments)
        items = json.loads(printed)[0]["readings"]["items"]
        assert tells(errors, "readings.cost", asked=len(items) - 7)
        assert len(server.prompts) == len(set(server.prompts)) == len(items)
    finally:
        server.stop()


def test_a_server_that_refuses_costs_no_finding(
    folder: Path, tmp_path: Path, run: Run, reader: JudgeServer
) -> None:
    alone = run("check", folder)
    reader.trouble = lambda _prompt, _attempt: "500"
    model = f"{reader.name()}?retries=0"
    store = tmp_path / "store.sqlite"
    status, printed, errors = run("check", folder, "--read-with", model, "--store", store)
    assert status == alone[0]
    assert printed.startswith(alone[1].rstrip())
    assert tells(printed, "readings.list", faulty=0, read=0)
    assert "Traceback" not in errors
    status, _, errors = run("check", folder, "--read-with", "recorded/x.jsonl", "--store", store)
    assert status == 2
    assert tells(errors, "judge.file", path="recorded/x.jsonl")


def test_the_random_tenth_stays_when_the_list_grows() -> None:
    form = Form("original", tuple(Item(str(n), "?", "yes_no", "yes") for n in range(200)))
    first, second = (choose_items(form, listed, {"9"}) for listed in (set(), {"3", "4"}))
    random = {item for item, reasons in first.items() if "random" in reasons}
    assert len(random) == 20
    assert {item for item, reasons in second.items() if "random" in reasons} == random
    assert second.keys() - first.keys() <= {"3", "4"}
    assert "person" in first["9"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "none",
        "[]",
        '{"finding": "none"}',
        '{"reason": "x", "finding": "typo"}',
        '{"reason": "x", "finding": ["none"]}',
        '{"reason": 1, "finding": "none"}',
        '{"reason": "x", "finding": "none", "sure": true}',
        'It is {"reason": "x", "finding": "none"}',
    ],
)
def test_another_reply_is_not_guessed_at(text: str) -> None:
    with pytest.raises(UnreadableReply):
        read_finding(text)


def test_a_fence_around_the_object_is_none_of_it() -> None:
    fenced = read_finding('```json\n{"reason": "x", "finding": "none"}\n```')
    assert (fenced.finding, fenced.reason) == ("none", "x")


def test_an_audit_beside_the_store_names_items_to_read(tmp_path: Path, run: Run) -> None:
    """The log that ships with HQM is checked under the name by which it is audited."""
    assert run("audit", "example", "-q", "--out", tmp_path)[0] == 0
    (audit,) = hqm.Audit.load(tmp_path / "audit.json").audits
    assert len(audit.to_read) > 10
    arguments = ["check", "example", "--exit-zero", "--read-with", "openai/m", "--dry-run"]
    status, printed, errors = run(*arguments, "--store", tmp_path / "store.sqlite")
    assert status == 0
    assert printed.startswith(f"{audit.benchmark}@")
    assert tells(errors, "readings.cost", listed=len(audit.to_read))
    _, _, errors = run(*arguments, "--store", tmp_path / "other" / "store.sqlite")
    assert tells(errors, "readings.cost", listed=0)
