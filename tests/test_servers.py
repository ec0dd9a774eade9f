"""Servers: a real one with a tiny model, one that vLLM's stand-in runs, and one that misbehaves in
every way.
"""

import base64
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import pytest

import hqm
import hqm.store.database
from hqm import Request, RespondentError, Response, Sampling
from hqm.respondents import make_respondent
from hqm.respondents.base import RespondentName, data_url
from hqm.respondents.openai_server import OpenAIRespondent
from hqm.respondents.server_limits import Budget, wanted_pause
from hqm.respondents.server_replies import read_reply
from hqm.signature import request_seed
from tests.conftest import NIGHTLY, needs_torch
from tests.messages import pattern_of, tells
from tests.servers import (
    JSON,
    VLLM,
    VLLM_OF_WORDS,
    PlannedServer,
    completion,
    failure,
    healthy,
    program,
    question,
    sampling_model,
    transformers_serve,
)

HQM = [sys.executable, "-m", "hqm.cli"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sampling_model(tmp_path_factory.mktemp("model") / "half-trained")


@pytest.fixture(scope="module")
def served(model: Path) -> Iterator[str]:
    with transformers_serve(model) as url:
        yield url


def requests_of(name: str, n: int, temperature: float, run: int = 0) -> list[Request]:
    benchmark = hqm.load(name)
    benchmark.prepare_images(benchmark.original)
    sampling = Sampling(temperature, 1.0, 12)
    requests = []
    for item in benchmark.original.items[:n]:
        text = benchmark.question_text(item)
        path = benchmark.images / str(item.image)
        seed = request_seed(0, "model", run, hqm.store.database.ask(text, item.image).digest)
        requests.append(Request(text, path, sampling, seed, item=item.id))
    return requests


def answers(name: str, requests: list[Request], **settings: Any) -> dict[str, Response]:
    respondent = make_respondent(name, **settings)
    try:
        return {
            request.item: response
            for batch in respondent.answer(requests)
            for request, response in batch
        }
    finally:
        respondent.close()


# --- a real server ---


@needs_torch
def test_a_real_server_gives_what_the_model_gives_here(served: str, model: Path) -> None:
    requests = [*requests_of("shapes_yesno", 24, 0.0), *requests_of("shapes_caption", 8, 0.0)]
    from_server, from_library = (
        answers(f"openai/{model}@{served}", requests),
        answers(f"hf/{model}", requests),
    )
    served_answers = {k: (r.text, r.state) for k, r in from_server.items()}
    # the server answers one by one, and the last bits of a sum differ from those of a batch: one
    # "yes" may be as likely as "no"
    differing = [k for k, r in from_library.items() if served_answers[k] != (r.text, r.state)]
    assert len(differing) <= 1
    assert not [k for k in differing if k.startswith("d")]
    assert len(from_server) == len(from_library) == 32
    assert all(
        r.detail["tokens_in"] > 10 and r.detail["tokens_out"] > 0 for r in from_server.values()
    )


@needs_torch
def test_a_real_server_takes_the_seeds(served: str, model: Path) -> None:
    """One request at a time: `transformers serve` has one random stream for all that are in
    flight.
    """
    name = f"openai/{model}@{served}?concurrency=1"
    first = {k: r.text for k, r in answers(name, requests_of("shapes_caption", 10, 1.0)).items()}
    assert {
        k: r.text for k, r in answers(name, requests_of("shapes_caption", 10, 1.0)).items()
    } == first
    assert {
        k: r.text for k, r in answers(name, requests_of("shapes_caption", 10, 1.0, run=1)).items()
    } != first


@needs_torch
def test_a_judge_procedure_runs_through_transformers_serve(
    served: str, model: Path, tmp_path: Path, forked_program: Path
) -> None:
    """The real protocol: a served model sees the picture and judges; its raw replies are what is
    scored from then on.
    """
    (tmp_path / "judged.py").write_text("""
'''Answers about shapes, checked by a model that sees the picture.'''
from hqm import Benchmark, Metric, Verdict, mean_of

CARD = {
    "name": "judged", "title": "Judged", "version": "1", "task": "vqa", "types": ["existence"],
    "data": {"items": "items.jsonl", "images": "."}, "judging": {"max_tokens": 8},
}

class Judged(Benchmark):
    '''Share of answers that the model confirms.'''

    metrics = (Metric("confirmed", mean_of("yes"), share=True, about="Share confirmed."),)
    roles = ("verifier",)

    async def judge(self, item, response, ask):
        reply = (await ask("verifier", item.meta["question"], item.image)).lower()
        if "yes" not in reply and "no" not in reply:
            return Verdict.unscored("unparsed", "neither yes nor no")
        yes = float("yes" in reply)
        return Verdict(yes, {"yes": yes, "n": 1.0}, "ok", reply)
""")
    shapes = hqm.load("shapes_yesno")
    shapes.prepare_images(shapes.original)
    items, answers = [], []
    for item in shapes.original.items[:12]:
        (tmp_path / str(item.image)).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / str(item.image)).write_bytes((shapes.images / str(item.image)).read_bytes())
        items.append(
            {
                "id": item.id,
                "prompt": "Describe it.",
                "target": "-",
                "image": item.image,
                "question": shapes.question_text(item),
            }
        )
        answers += [
            {"respondent": name, "item": item.id, "answer": f"{name} says so"}
            for name in ("a", "b", "c")
        ]
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, items)))
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, answers)))
    command = [
        str(forked_program),
        "audit",
        str(tmp_path / "judged.py"),
        "--recorded",
        str(tmp_path / "answers.jsonl"),
        "--forms",
        "original",
    ]
    command += [
        "--judge",
        f"openai/{model}@{served}?concurrency=1",
        "--out",
        str(tmp_path / "out"),
        "--quiet",
    ]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    assert "judges asked 12, errors 0" in process.stdout
    assert (
        "judges asked 0, errors 0"
        in subprocess.run(command, capture_output=True, text=True, check=True).stdout
    )
    audit = json.loads((tmp_path / "out" / "audit.json").read_text())["audits"][0]
    states = [row["states"] for row in audit["respondents"]]
    assert all(sum(counts.values()) == 12 for by in states for counts in by.values())
    assert all(counts["ok"] >= 10 for by in states for counts in by.values()), (
        "the tiny model says yes or no"
    )


@needs_torch
def test_a_command_with_a_server_sums_tokens_and_money(
    served: str, model: Path, tmp_path: Path, forked_program: Path
) -> None:
    store = tmp_path / "store.sqlite"
    command = [
        str(forked_program),
        "audit",
        "--no-report",
        "shapes_vqa",
        "--limit",
        "16",
        "--runs",
        "1",
        "--forms",
        "original",
        "--quiet",
    ]
    name = f"openai/{model}@{served}?price_in=3&price_out=15&concurrency="
    process = subprocess.run(
        [*command, "-r", f"{name}4", "--store", str(store)],
        capture_output=True,
        text=True,
        check=True,
    )
    with sqlite3.connect(store) as db:
        rows = [json.loads(row[0]) for row in db.execute("SELECT detail FROM answers")]
        names = [row[0] for row in db.execute("SELECT name FROM respondents")]
    read, tokens_out = (sum(row[key] for row in rows) for key in ("tokens_in", "tokens_out"))
    assert len(rows) == 16
    assert tells(
        process.stdout, "run.tokens", answers=16, read=f"{read:,}", written=f"{tokens_out:,}"
    )
    assert f"cost {(3 * read + 15 * tokens_out) / 1e6:.4f}" in process.stdout
    # how the server is reached is no part of who answers: another concurrency resumes
    assert names == [f"openai/{model}@{served}"]
    rerun = subprocess.run(
        [*command, "-r", f"{name}2", "--store", str(store)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "asked 0, stored before 16" in rerun.stdout


# --- vLLM ---


def test_a_vllm_is_started_asked_with_seeds_and_stopped(model: Path, tmp_path: Path) -> None:
    vllm = program(tmp_path / "env" / "bin" / "vllm", VLLM if NIGHTLY else VLLM_OF_WORDS)
    (tmp_path / "env" / "lib" / "python3.12" / "site-packages" / "vllm-0.33.0.dist-info").mkdir(
        parents=True
    )
    name = f"vllm/{model}?max_model_len=2048&enforce_eager=&concurrency=1&start_timeout=300"
    requests = requests_of("shapes_caption", 6, 1.0)
    respondent = make_respondent(name, vllm=str(tmp_path / "env"), dtype="float32", device="cuda:1")
    identity = respondent.identity()
    assert identity["options"] == {"dtype": "float32", "enforce_eager": "", "max_model_len": "2048"}
    assert (identity["vllm"], identity["weights"][:3]) == ("0.33.0", "b2:")
    assert respondent.name == f"vllm/{model}?max_model_len=2048&enforce_eager=&start_timeout=300"
    texts = []
    for batch_requests in (requests, requests, requests_of("shapes_caption", 6, 1.0, run=1)):
        batches = list(respondent.answer(batch_requests))
        texts.append(
            {request.item: response.text for batch in batches for request, response in batch}
        )
    assert texts[0] == texts[1], "the server takes the seeds, and is not started a second time"
    assert len(texts[0]) == 6
    assert texts[2] != texts[0]
    launch = json.loads(vllm.with_name("argv.json").read_text())
    argv = launch["argv"]
    assert argv[:2] == ["serve", str(model)]
    assert launch["gpus"] == "1"
    option = dict(pairwise(argv))
    assert (option["--seed"], option["--max-model-len"], option["--dtype"]) == (
        "0",
        "2048",
        "float32",
    )
    assert {"--enforce-eager", "--enable-prompt-tokens-details"} <= set(argv)
    url = f"http://{option['--host']}:{option['--port']}"
    assert healthy(url)
    log = respondent.log  # type: ignore[attr-defined]
    assert "INFO loading" in log.read_text()
    respondent.close()
    assert not healthy(url)
    assert not running(launch["pid"])
    assert not log.exists()


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # it ended while it was read
        return False


def test_a_vllm_that_dies_shows_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # the log stays, and the error names it
    body = (
        "import sys\nprint('INFO starting')\nsys.exit('torch.OutOfMemoryError: CUDA out of memory:"
        " Ünïcode')"
    )
    vllm = program(tmp_path / "vllm", body)
    respondent = make_respondent("vllm/some/model", vllm=str(vllm))
    with pytest.raises(
        RespondentError,
        match=pattern_of("vllm.died", status=1) + r"(.|\n)*INFO starting(.|\n)*Ünïcode",
    ):
        list(respondent.answer([Request("q", None, Sampling(), 1)]))
    assert [path.read_text()[:4] for path in tmp_path.glob("hqm-vllm-*.log")] == ["INFO"]


def test_a_vllm_that_is_not_there_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for vllm_path, sentence in (
        ("", pattern_of("vllm.missing")),
        (str(tmp_path), "no program vllm at"),
    ):
        with pytest.raises(RespondentError, match=sentence):
            list(
                make_respondent("vllm/some/model", vllm=vllm_path).answer(
                    [Request("q", None, Sampling(), 1)]
                )
            )


def test_a_vllm_travels_to_a_worker_before_it_is_started() -> None:
    import pickle

    respondent = make_respondent(
        "vllm/some/model?tensor_parallel_size=2", vllm="/opt/vllm", dtype="bfloat16"
    )
    identity = respondent.identity()
    assert identity["options"] == {"dtype": "bfloat16", "tensor_parallel_size": "2"}
    unpickled = pickle.loads(pickle.dumps(respondent))
    assert (unpickled.name, unpickled.identity(), unpickled.per_gpu) == (
        respondent.name,
        identity,
        True,
    )


def test_a_vllm_that_never_gets_healthy_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    vllm = tmp_path / "vllm"
    vllm.write_text(
        "#!/bin/sh\necho 'loading for ever'\nexec sleep 1000\n"
    )  # Python may take seconds to say it
    vllm.chmod(0o755)
    respondent = make_respondent("vllm/some/model?start_timeout=2.5", vllm=str(vllm))
    with pytest.raises(
        RespondentError,
        match=pattern_of("vllm.unhealthy", seconds=2.5) + r"(.|\n)*loading for ever",
    ):
        list(respondent.answer([Request("q", None, Sampling(), 1)]))
    assert [path.read_text() for path in tmp_path.glob("hqm-vllm-*.log")] == ["loading for ever\n"]


def test_a_vllm_does_not_outlive_a_run_that_is_killed(tmp_path: Path) -> None:
    body = (
        f"import os, time\nopen({str(tmp_path / 'pid')!r},"
        " 'w').write(str(os.getpid()))\ntime.sleep(1000)"
    )
    vllm = program(tmp_path / "vllm", body)
    command = [
        *HQM,
        "audit",
        "--no-report",
        "shapes_vqa",
        "-r",
        "vllm/some/model",
        "--set",
        f"vllm={vllm}",
        "--quiet",
    ]
    command += ["--store", str(tmp_path / "store.sqlite")]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=environment)
    deadline = time.monotonic() + 300
    while (
        not ((tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
        and time.monotonic() < deadline
    ):
        time.sleep(0.05)
    server = int((tmp_path / "pid").read_text())
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    while (
        running(server) or list(tmp_path.glob("hqm-vllm-*.log"))
    ) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not running(server)
    assert not list(tmp_path.glob("hqm-vllm-*.log")), "the server's log goes with it"


# --- a server that misbehaves ---


def ask(
    server: PlannedServer, questions: list[str], image: Path | None = None, **settings: Any
) -> dict[str, Response]:
    respondent = OpenAIRespondent(RespondentName.parse(f"openai/tiny@{server.url}"), **settings)
    requests = [
        Request(text, image, Sampling(0.5, 0.9, 17), 1000 + i) for i, text in enumerate(questions)
    ]
    return {
        request.prompt: response
        for batch in respondent.answer(requests)
        for request, response in batch
    }


def test_every_trouble_at_once_and_every_answer_is_right() -> None:
    """Every third connection dropped, 429 with Retry-After, 500, cut and foreign JSON, all slow,
    all in Unicode.
    """

    def reply(number: int, body: dict[str, Any], _headers: dict[str, str]) -> Any:
        if number % 3 == 2:
            return None
        if number % 10 == 4:
            return failure(429, "langsamer bitte", Retry_After="0.3")
        if number % 10 == 6:
            return failure(500, "<html>Ärger</html>")
        if number % 10 == 7:
            return 200, JSON, completion("x")[2][:40]
        if number % 10 == 9:
            return 200, JSON, b'{"error": "none of your business"}'
        return completion(f"«{question(body)}» → 是 🐕")

    questions = [f"Gibt es Hund № {i}?" for i in range(60)]
    with PlannedServer(reply, delay=0.02) as server:
        got = ask(server, questions, retries=60, concurrency=6, backoff=0.02)
    assert {text: r.text for text, r in got.items()} == {
        text: f"«{text}» → 是 🐕" for text in questions
    }
    assert {r.state for r in got.values()} == {"ok"}
    assert server.max_in_flight <= 6
    assert sum(r.detail.get("retries", 0) for r in got.values()) == len(server.asked) - 60, (
        "each further attempt is counted"
    )


def test_what_is_turned_away_waits_as_long_as_the_server_says_and_the_others_go_on() -> None:
    def reply(number: int, body: dict[str, Any], _headers: dict[str, str]) -> Any:
        return (
            failure(429, "too much", Retry_After="3")
            if number in (3, 4)
            else completion(question(body))
        )

    with PlannedServer(reply, delay=0.01) as server:
        got = ask(server, [f"q{i:02}" for i in range(30)], concurrency=4)
    assert {r.state for r in got.values()} == {"ok"}
    times: dict[str, list[float]] = {}
    for timestamp, body in server.asked:
        times.setdefault(question(body), []).append(timestamp)
    twice = [text for text, timestamps in times.items() if len(timestamps) == 2]
    assert len(twice) == 2
    assert all(times[text][1] - times[text][0] >= 2.99 for text in twice)
    assert {text for text, _ in zip(reversed(times), twice, strict=False)}.isdisjoint(twice)
    assert [question(body) for _, body in server.asked[-2:]] == twice, (
        "all others were asked meanwhile"
    )


def test_everyone_pauses_at_a_server_that_turns_everything_away_or_says_when_it_is_back() -> None:
    def closed(number: int, body: dict[str, Any], _headers: dict[str, str]) -> Any:
        return (
            failure(429, "closed", Retry_After_Ms="400")
            if number < 96
            else completion(question(body))
        )

    with PlannedServer(closed, delay=0.01) as server:
        got = ask(server, [f"q{i}" for i in range(60)], concurrency=32, retries=9)
    assert {r.state for r in got.values()} == {"ok"}
    gaps = [following - previous for (previous, _), (following, _) in pairwise(server.asked)]
    assert sum(gap > 0.3 for gap in gaps[:100]) >= 2, "all of the 32 wait, then once more"

    def reply(number: int, body: dict[str, Any], _headers: dict[str, str]) -> Any:
        return (
            failure(503, "back soon", Retry_After="1.5")
            if number == 3
            else completion(question(body))
        )

    with PlannedServer(reply, delay=0.01) as server:
        got = ask(server, [f"q{i}" for i in range(30)], concurrency=4)
    assert {r.state for r in got.values()} == {"ok"}
    gaps = [following - previous for (previous, _), (following, _) in pairwise(server.asked)]
    assert max(gaps[3:12]) > 1, "what was in flight may still come, then silence"


def test_a_limit_of_requests_a_minute_is_kept() -> None:
    with PlannedServer(lambda _n, body, _h: completion(question(body))) as server:
        ask(server, ["what is slow only once is done"])
        respondent = make_respondent(
            f"openai/tiny@{server.url}?requests_per_minute=1200&concurrency=8"
        )
        began = time.monotonic()
        list(respondent.answer([Request(f"q{i}", None, Sampling(), i) for i in range(21)]))
    assert server.asked[-1][0] - began >= 0.99, "twenty gaps of 50 ms"
    assert wanted_pause({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 3) == 4.0
    assert wanted_pause({"retry-after-ms": "soon", "retry-after": "7"}, 3) == 7.0


def test_a_slow_server_is_timed_out_and_the_rest_goes_on() -> None:
    with PlannedServer(lambda _n, body, _h: completion(question(body)), delay=600) as server:
        got = ask(server, ["a", "b"], retries=0, timeout=0.3)
    assert {r.state for r in got.values()} == {"error"}
    assert all("Timeout" in r.reason for r in got.values())


def test_a_request_that_times_out_counts_with_the_most_that_it_may_write() -> None:
    """The server may go on writing, and charge for it."""
    with PlannedServer(lambda _n, body, _h: completion(question(body)), delay=600) as server:
        name = RespondentName.parse(f"openai/tiny@{server.url}")
        respondent = OpenAIRespondent(name, retries=0, timeout=0.3, concurrency=1)
        respondent.budget = Budget(max_tokens=300)
        requests = [Request(f"q{i}", None, Sampling(max_tokens=100), i) for i in range(9)]
        answered = sum(map(len, respondent.answer(requests)))
    assert answered == 3
    assert (respondent.budget.tokens, respondent.budget.reached) == (
        300,
        "--max-tokens-total 300",
    )


@pytest.mark.parametrize(("status", "words"), [(401, "refuses the key"), (404, "no such model")])
def test_a_wrong_key_or_model_ends_it_at_once(status: int, words: str) -> None:
    with (
        PlannedServer(lambda _n, _b, _h: failure(status, "no")) as server,
        pytest.raises(RespondentError, match=words),
    ):
        ask(server, [f"q{i}" for i in range(50)], concurrency=2)
    assert len(server.asked) <= 4


def test_an_exhausted_quota_is_not_asked_again() -> None:
    body = json.dumps({"error": {"message": "no money", "code": "insufficient_quota"}}).encode()
    with PlannedServer(lambda _n, _b, _h: (429, JSON, body)) as server:
        got = ask(server, ["q"], retries=5)
    assert (len(server.asked), got["q"].state) == (1, "error")
    assert "no money" in got["q"].reason


def test_log_probabilities_are_kept_and_dropped_where_they_are_refused() -> None:
    tokens = [
        {
            "token": "Yes",
            "logprob": -0.25,
            "top_logprobs": [{"token": "Yes", "logprob": -0.25}, {"token": "No", "logprob": -1.5}],
        },
        {"token": ".", "logprob": -0.125, "top_logprobs": []},
    ]

    def gives(_n: int, body: dict[str, Any], _h: dict[str, str]) -> Any:
        assert (body["logprobs"], body["top_logprobs"]) == (True, 5)
        return completion("Yes.", logprobs={"content": tokens})

    with PlannedServer(gives) as server:
        detail = ask(server, ["q"])["q"].detail
    assert detail["logprob"] == -0.375
    assert detail["first_token"] == {"Yes": -0.25, "No": -1.5}
    assert (detail["tokens_in"], detail["tokens_out"], detail["tokens_cached"]) == (100, 7, 60)

    def refuses(_n: int, body: dict[str, Any], _h: dict[str, str]) -> Any:
        if "logprobs" in body:
            return failure(400, "This model does not support logprobs.")
        if "max_tokens" in body:
            return failure(400, "Unsupported parameter: use 'max_completion_tokens' instead.")
        return completion("No.")

    with PlannedServer(refuses, delay=0.02) as server:
        got = ask(server, [f"q{i}" for i in range(40)], concurrency=8)
    assert {r.text for r in got.values()} == {"No."}
    assert len(server.asked) <= 40 + 16, (
        "what is refused is asked of a server once, not for every request"
    )
    assert server.asked[-1][1]["max_completion_tokens"] == 17


def test_requests_share_the_bytes_of_a_large_picture_that_arrives_whole(tmp_path: Path) -> None:
    picture = tmp_path / "large.png"
    picture.write_bytes(b"\x89PNG" + bytes(range(256)) * 12_000)
    request = Request("q", picture, Sampling(), 0)
    with PlannedServer(lambda _n, body, _h: completion(question(body))) as server:
        respondent = make_respondent(f"openai/tiny@{server.url}")
        assert isinstance(respondent, OpenAIRespondent)
        ((_, response),) = chain.from_iterable(respondent.answer([request]))
        writer = respondent.bodies
        bodies = [writer.body(writer.content(request), writer.settings(request), n) for n in (0, 1)]
        assert bodies[0][1] is bodies[1][1]
    ((_, received),) = server.asked
    assert response.text == "q"
    url = received["messages"][0]["content"][0]["image_url"]["url"]
    assert base64.b64decode(url.partition("base64,")[2]) == picture.read_bytes()
    assert json.loads(b"".join(bodies[0])) == received


def test_a_picture_is_encoded_once_and_its_questions_come_together(tmp_path: Path) -> None:
    from PIL import Image

    paths = [tmp_path / f"{i}.png" for i in range(5)]
    for i, path in enumerate(paths):
        Image.new("RGB", (4, 4), (i, 0, 0)).save(path, "JPEG" if i == 4 else "PNG")
    requests = [Request(f"q{n}", paths[n % 5], Sampling(), n) for n in range(40)]
    with PlannedServer(lambda _n, body, _h: completion(question(body))) as server:
        respondent = make_respondent(f"openai/tiny@{server.url}?concurrency=1")
        data_url.cache_clear()
        list(respondent.answer(requests))
        assert data_url.cache_info().misses == 5
    order = [body["messages"][0]["content"][0]["image_url"]["url"] for _, body in server.asked]
    assert sum(a != b for a, b in pairwise(order)) == 4
    assert all(
        body["messages"][0]["content"][0]["type"] == "image_url" for _, body in server.asked
    ), "picture first"
    assert sum(url.startswith("data:image/jpeg") for url in order) == 8, (
        "told from the bytes, not from the name"
    )


def test_wrong_settings_are_refused_before_anything_is_asked() -> None:
    for name in ("openai/x@http://127.0.0.1:9/v1?concurrency=many", "vllm/x?start_timeout=-1"):
        with pytest.raises(hqm.UsageError, match=re.escape("is no number from 0 up")):
            make_respondent(name)


def test_requests_have_the_head_that_the_openai_package_writes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The requests of a run differ in nothing but body and length."""
    monkeypatch.setenv("THEIR_KEY", "sk-of-this-server")
    heads: list[dict[str, str]] = []

    def reply(_n: int, body: dict[str, Any], headers: dict[str, str]) -> Any:
        heads.append({name: value for name, value in headers.items() if name != "content-length"})
        return completion(question(body))

    with PlannedServer(reply) as server:
        respondent = make_respondent(f"openai/tiny@{server.url}?concurrency=4&key_env=THEIR_KEY")
        texts = [f"q{'ü' * i}" for i in range(40)]
        got = [
            pair
            for batch in respondent.answer([Request(t, None, Sampling(), 1) for t in texts])
            for pair in batch
        ]
    assert sorted(answer.text for _, answer in got) == sorted(texts)
    assert heads[0]["authorization"] == "Bearer sk-of-this-server"
    assert heads[0]["accept-encoding"] == "identity"
    assert "openai" in heads[0]["user-agent"].lower()
    assert all(head == heads[0] for head in heads), "the server cannot tell them apart"


@pytest.mark.parametrize(
    "body",
    [
        {"error": "too small", "error_type": "validation"},  # TGI, LM Studio, xAI, Ollama
        [{"error": {"code": 400, "message": "too small", "status": "INVALID_ARGUMENT"}}],  # Gemini
        {"object": "error", "message": {"detail": "too small"}, "param": None},  # Mistral
        {"object": "error", "message": "too small", "type": "BadRequest"},  # SGLang
        {"detail": {"message": "too small"}},
        "too small",
    ],
)
def test_a_refusal_is_told_in_the_words_of_the_server(body: object) -> None:
    with PlannedServer(lambda _n, _b, _h: (400, JSON, json.dumps(body).encode())) as server:
        got = ask(server, ["q"])
    assert got["q"].reason == "the server answered 400: too small"


def test_what_was_reasoned_is_counted_as_written() -> None:
    usage = {"prompt_tokens": 20, "completion_tokens": 198, "total_tokens": 623}
    choices = [{"message": {"content": "Yes."}, "finish_reason": "stop"}]
    response = read_reply({"choices": choices, "usage": usage}, 1.0, "gemini")
    assert (response.detail["tokens_in"], response.detail["tokens_out"]) == (20, 603)


@pytest.mark.parametrize(
    ("choice", "state"),
    [
        ({"message": {"content": None}, "finish_reason": "content_filter: SPII"}, "refused"),
        ({"message": {"content": ""}, "finish_reason": "SAFETY"}, "refused"),
        ({"message": {"content": "Y"}, "finish_reason": "MAX_TOKENS"}, "truncated"),
        ({"message": {"content": "Yes."}, "finish_reason": "STOP"}, "ok"),
    ],
)
def test_the_end_of_an_answer_is_read_in_the_words_of_gemini(
    choice: dict[str, Any], state: str
) -> None:
    assert read_reply({"choices": [choice]}, 1.0, "gemini").state == state


def test_an_error_beside_half_an_answer_is_no_answer() -> None:
    reply = {"choices": [{"message": {"content": "Yes, but"}}], "error": {"message": "crashed"}}
    response = read_reply(reply, 1.0, "tiny")
    assert (response.state, "crashed" in response.reason) == ("error", True)


@pytest.mark.parametrize("status", [302, 400, 409, 413, 418, 422, 429, 500, 503])
def test_a_refusal_reads_the_same_for_the_first_request_and_later(status: int) -> None:
    bodies = [
        b'{"error": {"message": "too much", "code": "insufficient_quota"}}',
        b'{"message": "no"}',
        b'"no"',
        b"<html>no",
        b"",
        b"[1]",
    ]
    got: list[list[Any]] = [[], []]
    for body in bodies:
        for n_good_replies in (False, True):

            def reply(
                number: int,
                payload: dict[str, Any],
                _h: dict[str, str],
                body: bytes = body,
                first: int = n_good_replies,
            ) -> Any:
                return completion("Yes.") if number < first else (status, JSON, body)

            with PlannedServer(reply) as server:
                respondent: Any = make_respondent(
                    f"openai/tiny@{server.url}?concurrency=1&retries=0"
                )
                respondent.has_answered = True
                answers = respondent.answer(
                    [Request(f"q{i}", None, Sampling(), i) for i in range(1 + n_good_replies)]
                )
                last = [answer for batch in answers for _, answer in batch][-1]
            got[n_good_replies].append(
                (last.state, last.reason, {k: v for k, v in last.detail.items() if k != "seconds"})
            )
    assert got[True] == got[False]


def test_a_proxy_of_the_environment_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with PlannedServer(lambda _n, body, _h: completion(question(body))) as server:
        monkeypatch.setenv("HTTP_PROXY", server.url.removesuffix("/v1"))
        monkeypatch.delenv("NO_PROXY", raising=False)
        respondent = make_respondent(
            "openai/tiny@http://nowhere.invalid/v1?concurrency=4&retries=0"
        )
        batches = respondent.answer([Request(f"q{i}", None, Sampling(), i) for i in range(12)])
        assert {request.prompt: answer.text for batch in batches for request, answer in batch} == {
            f"q{i}": f"q{i}" for i in range(12)
        }


def test_a_caller_that_stores_nothing_ends_the_asking() -> None:
    """Nothing is asked beyond the 64 in flight while their answers wait to be stored."""
    with PlannedServer(lambda _n, body, _h: completion(question(body))) as server:
        respondent = make_respondent(f"openai/tiny@{server.url}?concurrency=64")
        batches = respondent.answer([Request(f"q{i}", None, Sampling(), i) for i in range(400)])
        first = next(batch for batch in batches if batch)
        time.sleep(0.5)
        n_requests = len(server.asked)
        assert n_requests <= 64 + len(first)
        assert len(first) + sum(map(len, batches)) == 400
    assert len(server.asked) == 400


@pytest.mark.parametrize("tokens", [85, 1_105])
def test_a_plan_holds_what_a_server_counts(tokens: int, tmp_path: Path) -> None:
    """What the plan says before anything is asked, against the server's own count."""

    def reply(_number: int, body: dict[str, Any], _headers: Any) -> Any:
        status, head, content = completion("Yes")
        read = tokens + len(question(body)) // 4 + 12
        usage = {"prompt_tokens": read, "completion_tokens": 2}
        return status, head, json.dumps(json.loads(content) | {"usage": usage}).encode()

    with PlannedServer(reply) as server:
        specs = [f"openai/m@{server.url}?price_in=3&price_out=15"]
        store, options = tmp_path / "s.sqlite", {"runs": 1, "limit": 20}
        before = hqm.plan("shapes_yesno", specs, store=store, max_cost=1000, **options)
        hqm.run("shapes_yesno", specs, store=store, **options)
        after = hqm.plan("shapes_yesno", specs, store=store, runs=3, limit=20)
    (forecast,), (next_forecast,) = before.forecasts.values(), after.forecasts.values()
    with hqm.Store(store, readonly=True) as opened:
        (used,) = (opened.usage(number) for number, _, _ in opened.respondents())
    assert used.answers == forecast.requests
    assert forecast.tokens_in_least < used.tokens_in < forecast.tokens_in_most
    cost = (3 * used.tokens_in + 15 * used.tokens_out) / 1e6
    assert forecast.cost_least < cost < forecast.cost_most == before.bounds[0].needed
    assert next_forecast.measured
    assert next_forecast.tokens_in == pytest.approx(
        next_forecast.requests * used.tokens_in / used.answers, rel=0.02
    )
