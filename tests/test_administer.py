"""Planning, de-duplication, resumption: with recorded respondents, with a real model, with a real
SIGKILL.
"""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import hqm
from hqm import Administration, Asks, Request, RespondentError, Response, Store
from hqm.administration import costs
from hqm.administration.asks import Job
from hqm.administration.costs import forecast
from hqm.administration.stored_answers import respondents_in
from hqm.errors import ImageError
from hqm.respondents.base import Sampling
from tests.conftest import NIGHTLY, Run, in_one_process, needs_torch, recorded
from tests.quick_respondent import environment_with_quick

HQM = [sys.executable, "-m", "hqm.cli"]


class Counting:
    """A live respondent that answers by rule, counts what it is asked, and may give up after so
    many.
    """

    live = True

    def __init__(
        self, name: str = "hf/counting", give_up: int | None = None, fail: str = ""
    ) -> None:
        self.name, self.give_up, self.fail = name, give_up, fail
        self.asked: list[Request] = []

    def identity(self) -> dict[str, str]:
        return {"kind": "test"}

    def answer(self, requests: Sequence[Request]) -> Iterator[list[tuple[Request, Response]]]:
        for i in range(0, len(requests), 3):
            if self.give_up is not None and len(self.asked) >= self.give_up:
                raise RespondentError("it broke", location=self.name)
            batch = requests[i : i + 3]
            self.asked += batch
            yield [
                (
                    r,
                    (
                        Response("", "error", "down")
                        if self.fail and self.fail in r.prompt
                        else Response("Yes")
                    ),
                )
                for r in batch
            ]

    def close(self) -> None:
        pass


def plan(store: Store, benchmark: hqm.Benchmark, respondent: Counting, runs: int = 2) -> list[Job]:
    asks, assignment = Asks(store, blind=True), hqm.assign(respondent, benchmark)
    return [
        hqm.plan_job(asks, assignment, Administration(benchmark.original, run))
        for run in range(runs)
    ]


def test_the_same_question_is_asked_once(store: Store, make_benchmark: Callable[..., Path]) -> None:
    rows = [{"id": str(i), "prompt": f"Is it {i % 4}?", "target": "yes"} for i in range(12)]
    benchmark, respondent = hqm.load(str(make_benchmark(rows))), Counting()
    jobs = plan(store, benchmark, respondent)
    assert [(job.rows, job.distinct, job.stored, len(job.todo)) for job in jobs] == [
        (12, 4, 0, 4)
    ] * 2
    assert hqm.administer(store, jobs).asked == 8
    assert len(respondent.asked) == 8
    assert len({r.seed for r in respondent.asked}) == 8, (
        "every question has its own seed in every run"
    )


def test_a_second_run_does_only_what_is_missing(store: Store, dogs: Path) -> None:
    benchmark, respondent = hqm.load(str(dogs)), Counting()
    hqm.administer(store, plan(store, benchmark, respondent, runs=1))
    assert len(respondent.asked) == 6, "twelve rows, six distinct texts without their pictures"
    jobs = plan(store, benchmark, respondent, runs=2)
    assert [len(job.todo) for job in jobs] == [0, 6]
    hqm.administer(store, jobs)
    assert hqm.administer(store, plan(store, benchmark, respondent)).asked == 0


def test_one_respondent_that_breaks_does_not_stop_the_others(store: Store, dogs: Path) -> None:
    benchmark = hqm.load(str(dogs))
    broken, sound = Counting("hf/broken", give_up=3), Counting("hf/sound")
    outcome = hqm.administer(
        store, [*plan(store, benchmark, broken), *plan(store, benchmark, sound)]
    )
    assert [name for name, _ in outcome.failed] == ["hf/broken"]
    assert (len(broken.asked), len(sound.asked)) == (3, 12)
    assert store.count() == 15, "what the broken one had answered is kept"


def test_an_error_is_kept_and_asked_again(store: Store, dogs: Path) -> None:
    benchmark, respondent = hqm.load(str(dogs)), Counting(fail="dog")
    assert hqm.administer(store, plan(store, benchmark, respondent, 1)).errors == 1
    jobs = plan(store, benchmark, respondent, 1)
    assert [request.prompt for _, request in jobs[0].todo.values()] == [
        "Is there a dog in the image?"
    ]
    respondent.fail = ""
    hqm.administer(store, jobs)
    assert [len(job.todo) for job in plan(store, benchmark, respondent, 1)] == [0]
    assert sorted(row["attempt"] for row in store.rows("answers")) == [0] * 6 + [1]


def test_a_missing_picture_is_an_error_that_is_not_asked(store: Store, dogs: Path) -> None:
    from PIL import Image

    benchmark, respondent = hqm.load(str(dogs)), Counting()
    for i in range(4):
        Image.new("RGB", (2, 2), (i, 0, 0)).save(dogs / f"{i}.png")
    (dogs / "4.png").write_bytes(b"")
    job = hqm.plan_job(
        Asks(store), hqm.assign(respondent, benchmark), Administration(benchmark.original, 0)
    )
    assert (len(job.todo), len(job.broken)) == (8, 4)
    outcome = hqm.administer(store, [job])
    assert (outcome.asked, outcome.errors) == (8, 4)
    reasons = {row["reason"] for row in store.rows("answers") if row["state"] == "error"}
    assert any("is empty (0 bytes)" in reason for reason in reasons)
    assert any("no such picture" in reason for reason in reasons)


def test_a_picture_is_known_by_its_bytes(store: Store, make_benchmark: Callable[..., Path]) -> None:
    from PIL import Image

    folder = make_benchmark(
        [
            {"id": str(i), "prompt": "Is it red?", "target": "yes", "image": f"{i}.png"}
            for i in range(3)
        ]
    )
    for i in range(3):
        Image.new("RGB", (2, 2), "red" if i < 2 else "blue").save(folder / f"{i}.png")
    benchmark = hqm.load(str(folder))
    job = hqm.plan_job(
        Asks(store), hqm.assign(Counting(), benchmark), Administration(benchmark.original, 0)
    )
    assert (job.rows, job.distinct) == (3, 2), "two copies of one picture are one question"
    hqm.administer(store, [job])
    for i in range(3):
        (folder / f"{i}.png").unlink()
    asks = Asks(store)
    respondents = respondents_in(asks, benchmark)
    matrix = hqm.Answers(asks).matrix(benchmark, hqm.Cell(), benchmark.original, respondents)
    assert matrix.values.tolist() == [[1.0, 1.0, 1.0]], (
        "a store can be read where the pictures are not"
    )


def test_a_link_out_of_the_image_folder_is_refused(tmp_path: Path) -> None:
    from hqm.files.cache import image_path

    (tmp_path / "secret.png").write_bytes(b"x")
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.png").symlink_to(tmp_path / "secret.png")
    for name in ("a.png", "../secret.png", "/etc/passwd", "..\\secret.png", "C:/secret.png"):
        with pytest.raises(ImageError, match="outside|leaves"):
            image_path(tmp_path / "images", name)


@pytest.mark.data
def test_popes_rows_are_5127_distinct_questions(data: Path, store: Store, tmp_path: Path) -> None:
    """Counted on the released files: 9,000 rows, 5,127 pairs of picture and question."""
    from PIL import Image

    benchmark = hqm.load("pope", data=data, images=tmp_path)
    for i, name in enumerate({str(item.image) for item in benchmark.original.items}):
        Image.new("RGB", (2, 1), (i % 256, i // 256, 0)).save(tmp_path / name, "PNG")
    job = plan_live(store, benchmark)
    assert (job.rows, job.distinct, len(job.todo)) == (9000, 5127, 5127)


def plan_live(store: Store, benchmark: hqm.Benchmark) -> Job:
    return hqm.plan_job(
        Asks(store), hqm.assign(Counting(), benchmark), Administration(benchmark.original, 0)
    )


def test_a_forecast_adds_up(store: Store, dogs: Path) -> None:
    benchmark = hqm.load(str(dogs))
    respondent = Counting("openai/x?price_in=2&price_out=10")
    costs = forecast(store, plan(store, benchmark, respondent))
    assert (costs.rows, costs.distinct, costs.requests, costs.measured) == (24, 12, 12, False)
    assert costs.tokens_out == 12 * benchmark.card.generation.max_tokens
    assert costs.cost_least < costs.cost < costs.cost_most
    estimate = forecast(store, [plan_live(store, benchmark)])
    assert estimate.tokens_in_least > estimate.requests * 64, (
        "a picture that is not there is counted too"
    )
    assert costs.cost == pytest.approx((costs.tokens_in * 2 + costs.tokens_out * 10) / 1e6)
    assert forecast(store, plan(store, benchmark, Counting())).cost is None
    assert forecast(store, plan(store, benchmark, Counting()), (1.0, 0.0)).cost == pytest.approx(
        costs.tokens_in / 1e6
    )


def test_a_recorded_respondent_is_asked_what_it_recorded(store: Store, dogs: Path) -> None:
    benchmark = hqm.load(str(dogs))
    respondent = recorded("a", {("original", 0): {"q0": "Yes", "q3": "No"}})
    asks = Asks(store)
    job = hqm.plan_job(
        asks, hqm.assign(respondent, benchmark), Administration(benchmark.original, 0)
    )
    assert len(job.todo) == 2
    hqm.administer(store, [job])
    respondents = respondents_in(asks, benchmark)
    matrix = hqm.Answers(asks).matrix(benchmark, hqm.Cell(), benchmark.original, respondents)
    assert matrix.state_counts()["recorded/a"]["missing"] == 10


def count(path: Path) -> int:
    try:
        with sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True) as db:
            return int(db.execute("SELECT COUNT(*) FROM answers").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


@pytest.mark.slow
def test_a_killed_run_resumes_with_nothing_lost_and_nothing_asked_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nightly a real model, in every other run a respondent without torch."""
    model = "hf/shapes:half-trained" if NIGHTLY else "quick/model"
    if not NIGHTLY:
        monkeypatch.setenv("PYTHONPATH", environment_with_quick(tmp_path / "site")["PYTHONPATH"])
    store = tmp_path / "store.sqlite"
    command = [*HQM, "audit", "--no-report", "shapes_yesno", "-r", model, "--store", str(store)]
    command += [
        "--forms",
        "original",
        "--runs",
        "1",
        "--limit",
        "504",
        "--set",
        "batch=8",
        "--quiet",
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 300
    while count(store) < 60 and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    n_stored = count(store)
    assert 60 <= n_stored < 504
    before = answers_of(store)
    resumed = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"asked {504 - n_stored}, stored before {n_stored}, errors 0" in resumed.stdout
    after = answers_of(store)
    assert len(after) == 504
    assert {key: after[key] for key in before} == before, "what was stored is as it was"
    assert {attempt for _, _, attempt in after} == {0}, "nothing was asked twice"
    # the seeds belong to the questions: an unbroken run gives the same answers
    unbroken_store = tmp_path / "whole.sqlite"
    unbroken = [str(unbroken_store) if word == str(store) else word for word in command[:-3]]
    rerun, unbroken_run = in_one_process(
        [command[len(HQM) :], [*unbroken[len(HQM) :], "--set", "batch=64", "--quiet"]]
    )
    assert "asked 0, stored before 504" in rerun[1]
    assert unbroken_run[0] == 0, unbroken_run
    assert answers_of(unbroken_store) == after


def answers_of(path: Path) -> dict[tuple[str, int, int], str]:
    with Store(path, readonly=True) as store:
        prompts = {
            row["id"]: json.dumps([row["prompt"], row["image_digest"]])
            for row in store.rows("asks")
        }
        return {
            (prompts[row["ask"]], row["run"], row["attempt"]): row["text"]
            for row in store.rows("answers")
        }


def test_what_was_recorded_becomes_a_request_only_when_looked_at(store: Store, dogs: Path) -> None:
    benchmark = hqm.load(str(dogs))
    respondent = recorded(
        "a", {("original", 0): {"q0": "Yes", "q3": "No"}, ("original", 1): {"q0": "No"}}
    )
    asks, assignment = Asks(store), hqm.assign(respondent, benchmark)
    jobs = [
        hqm.plan_job(asks, assignment, Administration(benchmark.original, run)) for run in (0, 1)
    ]
    todo = jobs[0].todo
    assert [request.item for _, request in todo.values()] == ["q0", "q3"]
    assert all(todo[key][0].digest == key[0] and key[1] == 0 for key in todo)
    with pytest.raises(KeyError):
        todo[next(iter(todo))[0], 1]
    progress: list[tuple[int, int]] = []
    # the same job twice is stored once
    outcome = hqm.administer(
        store, [*jobs, jobs[0]], lambda job, count: progress.append((job.administration.run, count))
    )
    assert (outcome.asked, outcome.read, outcome.states["ok"], progress) == (
        0,
        3,
        3,
        [(0, 2), (1, 1)],
    )
    replanned = [
        hqm.plan_job(asks, assignment, Administration(benchmark.original, run)) for run in (0, 1)
    ]
    assert [(job.stored, len(job.todo)) for job in replanned] == [(2, 0), (1, 0)]
    assert hqm.administer(store, replanned).read == 0


def test_recorded_answers_stop_between_two_batches(store: Store, dogs: Path) -> None:
    benchmark = hqm.load(str(dogs))
    respondent = recorded("a", {("original", run): {"q0": "Yes", "q3": "No"} for run in (0, 1)})
    asks, assignment = Asks(store), hqm.assign(respondent, benchmark)
    jobs = [
        hqm.plan_job(asks, assignment, Administration(benchmark.original, run)) for run in (0, 1)
    ]
    outcome = hqm.administer(store, jobs, stop=lambda: store.count() > 0)
    assert (outcome.read, outcome.left, store.count()) == (2, 2, 2)


@pytest.mark.parametrize(
    ("line", "refused"),
    [
        ('{"id": "q1", "response": "Yes", "run": true}', "the run is True"),
        ('{"id": "q1", "response": "Yes", "run": 1.0}', "the run is 1.0"),
        ('{"id": "q0", "response": "Yes", "run": 1}', "'q0' is answered twice"),
        ('{"id": "q1", "response": true, "run": 1}', "which is no text"),
        ('{"id": " ", "response": "Yes", "run": 1}', "the item is"),
        ('{"id": "q1", "response": "Yes", "run": 1, "state": "maybe"}', "the state 'maybe'"),
        ('{"id": "q1", "response": "Yes", "run": 1, "state": ["ok"]}', "the state"),
        ('{"id": "q1", "response": "Yes", "run": 1, "form": "mine"}', "no form 'mine'"),
    ],
)
def test_a_record_is_checked_though_its_like_was_met_before(
    tmp_path: Path, dogs: Path, line: str, refused: str
) -> None:
    from hqm.imports.recordings import read_recordings

    path = tmp_path / "a.jsonl"
    path.write_text('{"id": "q0", "response": "Yes", "run": 1}\n' + line)
    with pytest.raises(hqm.HQMError, match=refused) as error:
        read_recordings(path, {"original": hqm.load(str(dogs)).original})
    assert "record 2" in str(error.value)


def test_a_record_like_another_keeps_its_own_reason_and_detail(tmp_path: Path, dogs: Path) -> None:
    from hqm.imports.recordings import read_recordings

    rows = [
        {"id": "q0", "response": "Yes"},
        {"id": "q1", "response": "Yes", "reason": "", "detail": {}},
        {"id": "q2", "response": "Yes", "reason": "cut", "state": "truncated"},
        {"id": "q3", "response": "Yes", "detail": {"seconds": 2}},
        {"item": "q4", "id": "q0", "answer": "yes", "response": "No"},  # its key stands beside it
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    (recording,) = read_recordings(path, {"original": hqm.load(str(dogs)).original})
    assert [tuple(answer) for answer in recording.answers.values()] == [
        ("Yes", "ok", "", {}),
        ("Yes", "ok", "", {}),
        ("Yes", "truncated", "cut", {}),
        ("Yes", "ok", "", {"seconds": 2}),
        ("No", "ok", "", {}),
    ]
    assert list(recording.answers) == ["q0", "q1", "q2", "q3", "q4"]


@needs_torch
def test_a_command_leaves_torch_to_its_worker(tmp_path: Path, run: Run) -> None:
    """Four questions: this process never imports torch, and the answers are those of one that
    does.
    """
    words = [
        "audit",
        "--no-report",
        "shapes_yesno",
        "-r",
        "hf/shapes:small",
        "--limit",
        "4",
        "--runs",
        "1",
        "-q",
    ]
    code = (
        "import contextlib, sys\nfrom hqm.__main__ import main\n"
        f"sys.argv = {['hqm', *words, '--store', str(tmp_path / 'away.sqlite')]!r}\n"
        "with contextlib.suppress(SystemExit):\n    main()\n"
        "print('torch' in sys.modules)"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300
    )
    assert process.stdout.splitlines()[-1] == "False"
    status, _, err = run(*words, "--set", "workers=1", "--store", tmp_path / "here.sqlite")
    assert status == 0, err
    answers = []
    for name in ("away", "here"):
        with Store(tmp_path / f"{name}.sqlite", readonly=True) as store:
            rows = store.select(
                "SELECT digest, run, text FROM answers JOIN asks ON asks.id = ask ORDER BY"
                " digest, run"
            )
            answers.append([tuple(row) for row in rows])
    assert answers[0] == answers[1]
    assert len(answers[0]) == 8, "two forms"


def test_a_model_takes_two_operations_for_each_parameter_and_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """3e12 parameters, (400 / 4 + 100) tokens read and written, 3e13 operations a second."""
    monkeypatch.setattr(costs, "weights_of", lambda *_: SimpleNamespace(parameters=3e12))
    model: Any = SimpleNamespace(name="hf/big", device="cuda", path="")
    request = Request("x" * 100 * costs.CHARACTERS_A_TOKEN, None, Sampling(), 0)
    asked: Any = [(SimpleNamespace(image=None), request)]
    assert costs._assume_seconds(model, asked, 100) == pytest.approx(2 * 3e12 * 200 / 3e13)
