"""Requests in files: the Batch API of OpenAI and of servers that have it, through the `openai`
package.

A batch costs half at OpenAI and is answered within a day. Each request is a line of a file under the
hash of its body, so that its answer finds it again in whatever order the lines come back. A record
beside the store says which batch holds which requests: a command that ended is run again, after
minutes or days, takes the answers that are there, and sends no request twice. The respondent and what
is asked are those of single requests, so that their answers are filed in the same place.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from hqm.errors import RespondentError
from hqm.respondents.base import Request
from hqm.respondents.server_client import Redaction, SharedState, key_for, one_line
from hqm.respondents.server_limits import Budget, Hold
from hqm.respondents.server_parameters import refused_parameter
from hqm.respondents.server_replies import read_reply
from hqm.types import Response

if TYPE_CHECKING:
    from openai import AsyncOpenAI

MAX_REQUESTS = 50_000
MAX_BYTES = 190_000_000
"""What a file may hold; OpenAI's limits are 50,000 requests and 200 MB."""
ENDPOINT = "/v1/chat/completions"
FIRST_PAUSE, MAX_PAUSE = 1.0, 60.0
"""Seconds between two looks at a batch, at first and at most."""
_FINISHED = frozenset({"completed", "failed", "expired", "cancelled"})


class RequestBodies(Protocol):
    """What writes the body of a request."""

    processed: bool

    @property
    def left_out(self) -> tuple[str, ...]:
        """The parameters that the server refused."""

    def simplify(self, settings: Any, message: str, refused: str = "") -> bool:
        """Leave out what a refusal is about; False where there is nothing to leave out."""

    def settings(self, request: Request) -> Any:
        """Return the settings that the requests of a body share."""

    def content(self, request: Request) -> list[bytes]:
        """Return the parts of the message: the question and its pictures."""

    def body(self, content: Sequence[bytes], settings: Any, seed: int) -> bytes:
        """Return the body."""


class BatchServer(Protocol):
    """What is asked of the respondent whose server takes batches."""

    base_url: str | None
    key_env: str
    timeout: float
    retries: int
    model: str
    prices: tuple[float, float] | None
    clean: Redaction
    budget: Budget
    batch_folder: Path

    @property
    def name(self) -> str:
        """The name of the respondent."""

    @property
    def bodies(self) -> RequestBodies:
        """The writer of bodies."""

    @property
    def is_stopped(self) -> bool:
        """Whether no further request is to begin."""


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """A batch that was sent: its id, the file of its requests, and the hashes of their bodies."""

    batch_id: str
    file_id: str
    request_ids: tuple[str, ...]

    @classmethod
    def read(cls, path: Path) -> BatchRecord:
        """Read a record; it was written whole."""
        record = json.loads(path.read_text(encoding="utf-8"))
        return cls(record["batch"], record["file"], tuple(record["requests"]))

    def write(self, path: Path) -> None:
        """Write the record, whole or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        content = {"batch": self.batch_id, "file": self.file_id, "requests": self.request_ids}
        temporary = path.with_suffix(".part")
        temporary.write_text(json.dumps(content), encoding="utf-8")
        temporary.replace(path)


@dataclass
class BatchRun:
    """One call of `answer` by batches.

    Parameters
    ----------
    respondent
        Whose server is asked, with the bodies, the budget and the folder of records.
    state
        Takes the answers.
    """

    respondent: BatchServer
    state: SharedState
    first_pause: float = FIRST_PAUSE
    _holds: dict[str, Hold] = field(default_factory=dict)
    _settings: dict[str, Any] = field(default_factory=dict)

    async def run(self, requests: Sequence[Request]) -> None:
        """Send what no batch holds yet, and hand over the answers as batches are finished."""
        import openai

        respondent = self.respondent
        key = key_for(respondent.base_url, respondent.key_env, respondent.name)
        client = openai.AsyncOpenAI(
            base_url=respondent.base_url,
            # a local server needs no key, but the package requires one
            api_key=key or "none",
            timeout=respondent.timeout,
            max_retries=respondent.retries,
        )
        async with client:
            try:
                await self._run(client, requests)
            except openai.OpenAIError as error:
                message = one_line(respondent.clean(str(error)))
                raise RespondentError(
                    f"the server takes no batch: {message}",
                    location=respondent.name,
                    remedy=(
                        "Run the same command again to go on, or ask one by one: leave out"
                        " --set batch=yes."
                    ),
                ) from None

    async def _run(self, client: AsyncOpenAI, requests: Sequence[Request]) -> None:
        waiting = dict(self._bodies(requests))
        while waiting:
            records = [*self._open_records(waiting), *await self._send(client, waiting)]
            refused: list[Request] = []
            while records and not self.respondent.is_stopped:
                for path in await self._wait(client, records):
                    refused += await self._take(client, path, waiting)
                    path.unlink(missing_ok=True)
                    records.remove(path)
            if self.respondent.is_stopped or not refused:
                return
            # a parameter was refused, and is left out of these from now on
            waiting = dict(self._bodies(refused))

    def _bodies(self, requests: Iterable[Request]) -> Iterator[tuple[str, tuple[Request, bytes]]]:
        """Hash of the body -> the request and its body."""
        for request in requests:
            settings = self.respondent.bodies.settings(request)
            content = self.respondent.bodies.content(request)
            body = self.respondent.bodies.body(content, settings, request.seed)
            name = hashlib.blake2b(body, digest_size=16).hexdigest()
            self._settings[name] = settings
            yield name, (request, body)

    # --- sending ---

    def _open_records(self, waiting: Mapping[str, Any]) -> list[Path]:
        """The records of earlier batches that hold any of these requests."""
        paths = sorted(self.respondent.batch_folder.glob("batch-*.json"))
        return [
            path
            for path in paths
            if not waiting.keys().isdisjoint(BatchRecord.read(path).request_ids)
        ]

    async def _send(
        self, client: AsyncOpenAI, waiting: Mapping[str, tuple[Request, bytes]]
    ) -> list[Path]:
        """Send the requests that no batch holds, in as many files as the limits take."""
        held: set[str] = set()
        for path in self._open_records(waiting):
            held.update(BatchRecord.read(path).request_ids)
        lines: list[bytes] = []
        names: list[str] = []
        paths = []
        n_bytes = 0
        for name, (request, body) in waiting.items():
            if name in held or self.respondent.is_stopped:
                continue
            hold = self.respondent.budget.begin(request, self.respondent.prices)
            if hold is None:
                break
            self._holds[name] = hold
            line = b'{"custom_id": "%b", "method": "POST", "url": "%b", "body": %b}\n' % (
                name.encode(),
                ENDPOINT.encode(),
                body,
            )
            if lines and (len(lines) >= MAX_REQUESTS or n_bytes + len(line) > MAX_BYTES):
                paths.append(await self._create(client, lines, names))
                lines, names, n_bytes = [], [], 0
            lines.append(line)
            names.append(name)
            n_bytes += len(line)
        if lines:
            paths.append(await self._create(client, lines, names))
        return paths

    async def _create(
        self, client: AsyncOpenAI, lines: Sequence[bytes], names: Sequence[str]
    ) -> Path:
        """Send one file and create its batch, and return the record of it."""
        content = ("requests.jsonl", b"".join(lines), "application/jsonl")
        file = await client.files.create(file=content, purpose="batch")
        batch = await client.batches.create(
            input_file_id=file.id,
            endpoint="/v1/chat/completions",
            completion_window="24h",
            metadata={"made_by": "hqm"},
        )
        folder = self.respondent.batch_folder
        path = (
            folder / f"batch-{hashlib.blake2b(batch.id.encode(), digest_size=8).hexdigest()}.json"
        )
        BatchRecord(batch.id, file.id, tuple(names)).write(path)
        return path

    # --- what comes back ---

    async def _wait(self, client: AsyncOpenAI, paths: Sequence[Path]) -> list[Path]:
        """Wait until one of the batches is finished, or the user stops."""
        pause = self.first_pause
        while not self.respondent.is_stopped:
            finished = []
            for path in paths:
                batch = await client.batches.retrieve(BatchRecord.read(path).batch_id)
                if batch.status in _FINISHED:
                    finished.append(path)
            if finished:
                return finished
            end = time.monotonic() + pause
            while time.monotonic() < end and not self.respondent.is_stopped:
                await asyncio.sleep(0.1)
            pause = min(2 * pause, MAX_PAUSE)
        return []

    async def _take(
        self, client: AsyncOpenAI, path: Path, waiting: dict[str, tuple[Request, bytes]]
    ) -> list[Request]:
        """Hand over the answers of a finished batch; the requests to send again are returned."""
        record = BatchRecord.read(path)
        batch = await client.batches.retrieve(record.batch_id)
        lines: list[Any] = []
        for file_id in filter(None, (batch.output_file_id, batch.error_file_id)):
            content = await client.files.content(file_id)
            lines += [json.loads(line) for line in content.text.splitlines() if line.strip()]
        again: list[Request] = []
        answers: list[tuple[Request, Response]] = []
        for line in lines:
            entry = waiting.pop(str(line.get("custom_id")), None)
            if entry is None:
                continue
            name = str(line["custom_id"])
            response, is_refused = self._read_line(line, entry[0], name)
            if is_refused:
                again.append(entry[0])
            else:
                answers.append((entry[0], response))
            if name in self._holds:
                self.respondent.budget.end(self._holds.pop(name), entry[0], response)
        errors = (
            "; ".join(error.message or "" for error in (batch.errors.data or []))
            if (batch.errors is not None)
            else ""
        )
        for name in record.request_ids:
            entry = waiting.pop(name, None)
            if entry is not None:  # the batch expired or failed before it came to this one
                reason = one_line(self.respondent.clean(f"the batch {batch.status}: {errors}"))
                response = Response("", "error", reason.rstrip(": "))
                answers.append((entry[0], response))
                if name in self._holds:
                    self.respondent.budget.end(self._holds.pop(name), entry[0], response)
        handed_over = [self.state.hand_over(request, response) for request, response in answers]
        await asyncio.gather(*handed_over)
        return again

    def _read_line(
        self, line: Mapping[str, Any], request: Request, name: str
    ) -> tuple[Response, bool]:
        """The response of a line, and whether a parameter of its request was refused."""
        reply = line.get("response") or {}
        # vLLM writes the completion itself where OpenAI writes its status and body
        body = reply.get("body", reply) if isinstance(reply, dict) else {}
        status = reply.get("status_code", 200) if isinstance(reply, dict) else 500
        fault = line.get("error")
        bodies = self.respondent.bodies
        if fault or not 200 <= status < 300:
            content = json.dumps(body or fault)
            settings = self._settings[name]
            refused = refused_parameter(content.encode(), settings.names, request.prompt)
            if bodies.simplify(settings, content, refused):
                return Response("", "error", "a parameter was refused"), True
            reason = one_line(self.respondent.clean(f"the server answered {status}: {content}"))
            final = {"final": True} if 400 <= status < 500 and status != 429 else {}
            return Response("", "error", reason, {"status": status, **final}), False
        response = self.respondent.clean.response(
            read_reply(body, 0.0, self.respondent.model, request, processed=bodies.processed)
        )
        # how long a batch waited says nothing of the model
        detail = {key: value for key, value in response.detail.items() if key != "seconds"}
        if bodies.left_out:
            detail["left_out"] = list(bodies.left_out)
        return response._replace(detail=detail, reason=one_line(response.reason)), False
