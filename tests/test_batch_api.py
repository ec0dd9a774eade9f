"""The Batch API: files of requests, through the `openai` package, against a server on loopback."""

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.responses import Response as HttpResponse
from starlette.routing import Route

import hqm
from hqm.respondents import batch_api
from tests.conftest import KillableCommand, Run
from tests.counts_said import run_counts
from tests.messages import tells
from tests.servers import AppServer


class BatchServer:
    """Files and batches as OpenAI has them, and chat completions with the same answers.

    Attributes
    ----------
    status
        The status of every batch that is not finished yet; `completed` answers at once.
    refuses
        A parameter that no request may have.
    share
        The share of a batch's requests that it comes to before it ends.
    is_listing
        Whether it lists its batches.
    refusals
        Statuses with which the next batches are refused.
    happens
        Called with the name of each moment, before what is asked for takes effect and after.
    """

    def __init__(self) -> None:
        self.files: dict[str, str] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.completions = 0
        self.status = "completed"
        self.refuses = ""
        self.share = 1.0
        self.is_listing = True
        self.refusals: list[int] = []
        self.headers: Mapping[str, str] = {}
        self.happens: Callable[[str], object] = lambda _moment: None
        routes = [
            Route("/v1/files", self.add_file, methods=["POST"]),
            Route("/v1/files/{id}/content", self.content),
            Route("/v1/batches", self.add_batch, methods=["POST"]),
            Route("/v1/batches", self.list_batches),
            Route("/v1/batches/{id}", self.batch),
            Route("/v1/chat/completions", self.complete, methods=["POST"]),
        ]
        self.server = AppServer(routes)
        self.url = f"{self.server.url}/v1"

    def reply(self, body: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        if self.refuses and self.refuses in body:
            error = {"message": f"Unsupported parameter: '{self.refuses}'", "param": self.refuses}
            return 400, {"error": error}
        # the answer depends on all that is asked, the seed included
        digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).digest()
        message = {"role": "assistant", "content": "yes" if digest[0] % 2 else "no"}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        usage = {"prompt_tokens": 10, "completion_tokens": 1, "total_tokens": 11}
        document = {"id": "x", "object": "chat.completion", "created": 1, "model": body["model"]}
        return 200, {**document, "choices": [choice], "usage": usage}

    async def complete(self, request: HttpRequest) -> HttpResponse:
        self.completions += 1
        status, document = self.reply(await request.json())
        return JSONResponse(document, status)

    async def add_file(self, request: HttpRequest) -> HttpResponse:
        self.happens("file arrives")
        raw = (await request.body()).decode()
        assert 'name="purpose"' in raw
        assert "batch" in raw
        name = f"file-{len(self.files)}"
        self.files[name] = "\n".join(re.findall(r'^\{"custom_id".*\}', raw, re.MULTILINE))
        self.happens("file is kept")
        return JSONResponse(
            {"id": name, "object": "file", "bytes": len(raw), "created_at": 1, "filename": "x", "purpose": "batch", "status": "processed"}
        )  # fmt: skip

    async def content(self, request: HttpRequest) -> HttpResponse:
        self.happens("answers are read")
        return PlainTextResponse(self.files[request.path_params["id"]])

    async def add_batch(self, request: HttpRequest) -> HttpResponse:
        self.happens("batch arrives")
        if self.refusals:
            error = {"error": {"message": "not now"}}
            return JSONResponse(error, self.refusals.pop(), {"Retry-After": "0.01"})
        body = await request.json()
        assert (body["endpoint"], body["completion_window"]) == ("/v1/chat/completions", "24h")
        name = f"batch-{len(self.batches)}"
        self.batches[name] = {
            "id": name, "object": "batch", "endpoint": body["endpoint"], "created_at": 1,
            "input_file_id": body["input_file_id"], "completion_window": "24h", "status": "validating",
        }  # fmt: skip
        self.happens("batch is created")
        return JSONResponse(self.batches[name])

    async def list_batches(self, request: HttpRequest) -> HttpResponse:
        if not self.is_listing:
            return JSONResponse({"error": {"message": "not implemented"}}, 404)
        rows = list(self.batches.values())
        first = (
            next(
                (i for i, row in enumerate(rows) if row["id"] == request.query_params.get("after")),
                -1,
            )
            + 1
        )
        page = rows[first : first + 2]  # a page is short, so that more than one is read
        return JSONResponse({"object": "list", "data": page, "has_more": len(rows) > first + 2})

    async def batch(self, request: HttpRequest) -> HttpResponse:
        self.happens("batch is looked at")
        self.headers = request.headers
        if request.path_params["id"] not in self.batches:
            return JSONResponse({"error": {"message": "No such batch"}}, 404)
        batch = self.batches[request.path_params["id"]]
        batch["status"] = self.status
        if self.status in ("completed", "expired") and "output_file_id" not in batch:
            lines = [json.loads(line) for line in self.files[batch["input_file_id"]].splitlines()]
            lines = lines[: round(self.share * len(lines))]
            output: list[dict[str, Any]] = []
            errors: list[dict[str, Any]] = []
            for line in reversed(lines):  # the order of the answers is the server's
                status, body = self.reply(line["body"])
                answer = {"id": "r", "custom_id": line["custom_id"], "error": None}
                answer["response"] = {"status_code": status, "request_id": "q", "body": body}
                (output if status == 200 else errors).append(answer)
            for key, rows in (("output_file_id", output), ("error_file_id", errors)):
                if rows:
                    batch[key] = f"{batch['id']}-{key}"
                    self.files[batch[key]] = "\n".join(map(json.dumps, rows))
        return JSONResponse(batch)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[BatchServer]:
    monkeypatch.setattr(batch_api.BatchRun, "first_pause", 0.05)
    started = BatchServer()
    yield started
    started.server.stop()


def audit_arguments(server: BatchServer, folder: Path, *more: object) -> list[object]:
    respondent = f"openai/tiny@{server.url}"
    return ["audit", "shapes_yesno", "-r", respondent, "--limit", 30, "-q", "--out", folder, *more]


def test_a_batch_gives_the_answers_of_single_requests_under_the_same_identity(
    server: BatchServer, tmp_path: Path, run: Run
) -> None:
    assert run(*audit_arguments(server, tmp_path / "single"))[0] == 0
    n_single = server.completions
    assert n_single > 60
    status, output, _ = run(*audit_arguments(server, tmp_path / "batch", "--set", "batch=yes"))
    assert status == 0
    assert server.completions == n_single, "no request went out by itself"
    assert len(server.batches) == 1
    single, batch = (
        hqm.Audit.load(tmp_path / name / "audit.json").audits[0] for name in ("single", "batch")
    )
    assert single.respondents[0].identity == batch.respondents[0].identity
    assert single.respondents[0].scores == batch.respondents[0].scores
    assert single.respondents[0].cells == batch.respondents[0].cells
    # the verdict on every answer is the same one
    assert single.verdicts == batch.verdicts
    # what a batch answered is not asked again one by one
    status, output, _ = run(*audit_arguments(server, tmp_path / "batch"))
    assert status == 0
    assert "asked 0" in output
    assert server.completions == n_single
    assert not list((tmp_path / "batch" / "batches").glob("*.json"))


def test_a_batch_is_resumed_by_the_same_command(
    server: BatchServer, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = audit_arguments(server, tmp_path, "--set", "batch=yes")
    server.status = "in_progress"
    n_looks = 0
    looked = batch_api.BatchRun._wait

    async def end_after_two(self: Any, client: Any, paths: Any) -> list[Path]:
        nonlocal n_looks
        n_looks += 1
        raise KeyboardInterrupt

    monkeypatch.setattr(batch_api.BatchRun, "_wait", end_after_two)
    assert run(*arguments)[0] != 0
    assert n_looks == 1
    assert len(server.batches) == 1
    (record,) = (tmp_path / "batches").glob("batch-*.json")
    monkeypatch.setattr(batch_api.BatchRun, "_wait", looked)
    server.status = "completed"
    assert run(*arguments)[0] == 0
    assert len(server.batches) == 1, "the batch that was sent is taken, and no other is sent"
    assert not record.exists()


MOMENTS = (
    "file arrives",
    "file is kept",
    "batch arrives",
    "batch is created",
    "batch is looked at",
    "answers are read",
)


def test_a_command_that_is_killed_at_any_moment_sends_no_request_twice(
    server: BatchServer, tmp_path: Path, forked_program: Path
) -> None:
    """The server kills the process that asks it, before and after each thing that it does."""
    # batches of others, more than stand on a page
    for name in ("batch-a", "batch-b", "batch-c"):
        server.batches[name] = {
            "id": name, "object": "batch", "endpoint": "/v1/chat/completions", "created_at": 1,
            "input_file_id": f"of-{name}", "completion_window": "24h", "status": "completed",
        }  # fmt: skip
    arguments = [*audit_arguments(server, tmp_path, "--set", "batch=yes"), "--no-report"]
    moments = list(MOMENTS)
    while moments:
        command: KillableCommand

        def kill(moment: str) -> None:
            if moments and moment == moments[0]:
                moments.pop(0)
                command.kill()  # noqa: B023

        server.happens = kill
        command = KillableCommand(forked_program, arguments, tmp_path)
        _, err = command.process.communicate(timeout=300)
        assert command.process.returncode == 70, err
    done = subprocess.run(
        [sys.executable, "-m", "hqm", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len(server.batches) == 3 + 1
    n_requests = len(server.files[server.batches["batch-3"]["input_file_id"]].splitlines())
    assert run_counts(done.stdout) == (n_requests, 0, 0)
    assert not list((tmp_path / "batches").iterdir())


@pytest.mark.parametrize(
    ("is_listing", "is_created", "expected"),
    [(True, True, "sent once"), (True, False, "sent once"), (False, True, "asks what to do")],
)
def test_a_reply_to_a_batch_that_is_lost(
    server: BatchServer,
    tmp_path: Path,
    run: Run,
    is_listing: bool,
    is_created: bool,
    expected: str,
) -> None:
    """The server breaks before or after it has created the batch."""
    server.is_listing = is_listing
    moment = "batch is created" if is_created else "batch arrives"

    def break_down(word: str) -> None:
        if word == moment:
            server.happens = lambda _moment: None
            raise RuntimeError("the server breaks down")

    server.happens = break_down
    arguments = audit_arguments(server, tmp_path, "--set", "batch=yes")
    status, _, errors = run(*arguments)
    assert (status, tells(errors, "server.no-batch")) == (1, True)
    assert len(server.batches) == is_created
    status, _, errors = run(*arguments)
    record = next((tmp_path / "batches").glob("batch-*.json"), None)
    if expected == "sent once":
        assert (status, record) == (0, None), errors
    else:
        assert status == 1
        assert tells(errors, "server.batch-unknown")
        assert record is not None
        assert str(record) in errors
        record.unlink()
        assert run(*arguments)[0] == 0
    assert len(server.batches) == 1 + (expected != "sent once")
    assert len(server.files) <= 2 * len(server.batches)


def test_equal_requests_to_two_servers_have_their_own_batches(
    server: BatchServer, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record of one server is not looked for at another."""

    async def ends(*_: object) -> list[Path]:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(batch_api.BatchRun, "_wait", ends)
        assert run(*audit_arguments(server, tmp_path, "--set", "batch=yes"))[0] != 0
    other = BatchServer()
    try:
        assert run(*audit_arguments(other, tmp_path, "--set", "batch=yes"))[0] == 0
        assert (len(server.batches), len(other.batches)) == (1, 1)
    finally:
        other.server.stop()
    assert run(*audit_arguments(server, tmp_path, "--set", "batch=yes"))[0] == 0
    assert len(server.batches) == 1


@pytest.mark.parametrize("status", [400, 429])
def test_a_batch_that_is_refused_is_asked_for_again_with_its_file(
    server: BatchServer, tmp_path: Path, run: Run, status: int
) -> None:
    """429 says not now; 400 ends the command, and the next begins anew."""
    server.refusals = [status]
    first, _, errors = run(*audit_arguments(server, tmp_path, "--set", "batch=yes"))
    assert (first == 0) == (status == 429), errors
    assert not list((tmp_path / "batches").iterdir())
    assert run(*audit_arguments(server, tmp_path, "--set", "batch=yes"))[0] == 0
    assert len(server.batches) == 1


def test_what_a_batch_did_not_come_to_is_asked_again(
    server: BatchServer, tmp_path: Path, run: Run
) -> None:
    arguments = audit_arguments(server, tmp_path, "--set", "batch=yes")
    server.status, server.share = "expired", 0.5
    status, _, errors = run(*arguments)
    assert status == 1
    assert "the batch expired" in errors
    server.status, server.share = "completed", 1.0
    assert run(*arguments)[0] == 0
    first, second = (
        len(server.files[batch["input_file_id"]].splitlines()) for batch in server.batches.values()
    )
    assert second == first - round(0.5 * first)


def test_a_batch_that_the_server_has_no_more_is_named_with_what_to_do(
    server: BatchServer, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = audit_arguments(server, tmp_path, "--set", "batch=yes")
    server.happens = lambda moment: server.batches.clear() if "looked" in moment else None
    status, _, errors = run(*arguments)
    (record,) = (tmp_path / "batches").glob("batch-*.json")
    assert (status, str(record) in errors) == (1, True)
    assert not tells(errors, "server.no-batch")
    record.unlink()
    server.happens = lambda _moment: None
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-somebody")
    assert run(*arguments)[0] == 0
    assert "openai-organization" not in server.headers


def test_a_line_that_is_no_json_is_read_again(
    server: BatchServer, tmp_path: Path, run: Run
) -> None:
    arguments = audit_arguments(server, tmp_path, "--set", "batch=yes")
    broken: list[str] = []

    def cut(moment: str) -> None:
        if "read" in moment and not broken:
            name = next(name for name in server.files if "output" in name)
            broken.append(server.files[name])
            server.files[name] = broken[0][:-20]

    server.happens = cut
    status, _, errors = run(*arguments)
    assert (status, "Run the same command again" in errors) == (1, True)
    name = next(name for name in server.files if "output" in name)
    server.files[name] = broken[0]
    assert run(*arguments)[0] == 0
    assert len(server.batches) == 1


def test_a_parameter_that_a_batch_refuses_is_left_out_of_a_second_one(
    server: BatchServer, tmp_path: Path, run: Run
) -> None:
    server.refuses = "top_p"
    status, _, errors = run(*audit_arguments(server, tmp_path, "--set", "batch=yes"))
    assert status == 0
    assert tells(errors, "server.refuses", parameters="top_p")
    assert len(server.batches) == 2
    first, second = (server.files[b["input_file_id"]] for b in server.batches.values())
    assert '"top_p"' in first
    assert '"top_p"' not in second


def test_a_file_holds_no_more_than_the_server_takes(
    server: BatchServer, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_api, "MAX_REQUESTS", 25)
    assert run(*audit_arguments(server, tmp_path, "--set", "batch=yes"))[0] == 0
    sizes = [len(server.files[b["input_file_id"]].splitlines()) for b in server.batches.values()]
    assert len(sizes) >= 3
    assert max(sizes) == 25


def test_a_server_without_batches_is_named_with_what_to_do(tmp_path: Path, run: Run) -> None:
    app = AppServer([])
    try:
        name = f"openai/tiny@{app.url}/v1"
        arguments = ["audit", "shapes_yesno", "-r", name, "--limit", 5, "-q"]
        status, _, errors = run(*arguments, "--set", "batch=yes", "--out", tmp_path)
    finally:
        app.stop()
    assert status != 0
    assert tells(errors, "server.no-batch")
