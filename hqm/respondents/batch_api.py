"""Requests in files: the Batch API of OpenAI and of servers that have it, through the `openai`
package.

A batch costs half at OpenAI and is answered within a day. Each request is a line of a file under
the hash of its body, so that its answer finds it again in whatever order the lines come back. A
record beside the store says which file holds which requests, before its batch is created: a command
that ended at any moment is run again, after minutes or days, looks for the batch of that file,
takes the answers that are there, and sends no request twice. The respondent and what is asked are
those of single requests, so that their answers are filed in the same place.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, starmap
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hqm.errors import RespondentError
from hqm.respondents.base import Request
from hqm.respondents.server_bodies import BodyWriter, Settings
from hqm.respondents.server_client import Redaction, SharedState, one_line, reason_in
from hqm.respondents.server_limits import Budget, Hold, wanted_pause
from hqm.respondents.server_parameters import refused_parameter, refuses_value
from hqm.respondents.server_replies import read_reply
from hqm.types import Response

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from openai.types import Batch

MAX_REQUESTS = 50_000
MAX_BYTES = 190_000_000
"""What a file may hold; OpenAI's limits are 50,000 requests and 200 MB."""
ENDPOINT: Final = "/v1/chat/completions"
FIRST_PAUSE = 1.0
MAX_PAUSE = 60.0
"""Seconds between two looks at a batch, at first and at most."""
_FINISHED = frozenset({"completed", "failed", "expired", "cancelled"})


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """A file of requests that was sent: the hashes of their bodies, and the id of its batch.

    The batch has no id while it is not known whether the server has created it.
    """

    respondent: str
    file_id: str
    request_ids: tuple[str, ...]
    batch_id: str = ""

    @classmethod
    def read(cls, path: Path) -> BatchRecord:
        """Read a record that `write` wrote."""
        record = json.loads(path.read_text(encoding="utf-8"))
        requests = tuple(record["requests"])
        return cls(record.get("respondent", ""), record["file"], requests, record["batch"])

    def write(self, path: Path) -> None:
        """Write the record, whole or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        content = {
            "respondent": self.respondent,
            "batch": self.batch_id,
            "file": self.file_id,
            "requests": self.request_ids,
        }
        temporary = path.with_suffix(".part")
        temporary.write_text(json.dumps(content), encoding="utf-8")
        temporary.replace(path)


@dataclass
class BatchRun:
    """One call of `answer` by batches.

    Parameters
    ----------
    respondent
        The name of who is asked, which records bear: equal requests go to several servers.
    folder
        Where records lie.
    state
        Takes the answers.
    stop
        Set where no further request is to begin.
    """

    respondent: str
    bodies: BodyWriter
    folder: Path
    budget: Budget
    prices: tuple[float, float] | None
    clean: Redaction
    state: SharedState
    stop: threading.Event
    first_pause: float = FIRST_PAUSE
    _holds: dict[str, Hold] = field(default_factory=dict)
    _settings: dict[str, Settings] = field(default_factory=dict)

    async def answer(self, client: AsyncOpenAI, requests: Sequence[Request]) -> None:
        """Send what no batch holds yet, and hand over the answers as batches are finished."""
        import openai

        try:
            await self._answer(client, requests)
        except (openai.OpenAIError, ValueError) as error:
            message = one_line(self.clean(str(error)))
            raise RespondentError(
                f"the server takes no batch: {message}",
                location=self.respondent,
                remedy=(
                    "Run the same command again to go on, or ask one by one: leave out"
                    " --set batch=yes."
                ),
            ) from None

    async def _answer(self, client: AsyncOpenAI, requests: Sequence[Request]) -> None:
        waiting = dict(self._bodies(requests))
        while waiting:
            records = self._open_records(waiting)
            await self._find_batches(client, records)
            records += await self._send(client, waiting)
            refused: list[Request] = []
            while records and not self.stop.is_set():
                for path in await self._wait(client, records):
                    refused += await self._take(client, path, waiting)
                    path.unlink(missing_ok=True)
                    records.remove(path)
            if self.stop.is_set() or not refused:
                return
            # a parameter was refused, and is left out of these from now on
            waiting = dict(self._bodies(refused))

    def _bodies(self, requests: Iterable[Request]) -> Iterator[tuple[str, tuple[Request, bytes]]]:
        """Hash of the body -> the request and its body."""
        for request in requests:
            settings = self.bodies.settings(request)
            content = self.bodies.content(request)
            body = b"".join(self.bodies.body(content, settings, request.seed))
            # named by its content, so that a command after a kill finds the answer in the batch of
            # the first
            name = hashlib.blake2b(body, digest_size=16).hexdigest()
            self._settings[name] = settings
            yield name, (request, body)

    # --- sending ---

    def _open_records(self, waiting: Mapping[str, object]) -> list[Path]:
        """The records of earlier batches that hold any of these requests."""
        paths = []
        for path in sorted(self.folder.glob("batch-*.json")):
            record = BatchRecord.read(path)
            # equal requests may have gone to another server too
            is_same_server = record.respondent in ("", self.respondent)
            if is_same_server and not waiting.keys().isdisjoint(record.request_ids):
                paths.append(path)
        return paths

    async def _send(
        self, client: AsyncOpenAI, waiting: Mapping[str, tuple[Request, bytes]]
    ) -> list[Path]:
        """Send the requests that no batch holds, in as many files as the limits take."""
        held_request_ids: set[str] = set()
        for path in self._open_records(waiting):
            held_request_ids.update(BatchRecord.read(path).request_ids)
        lines: list[bytes] = []
        names: list[str] = []
        paths = []
        n_bytes = 0
        for name, (request, body) in waiting.items():
            if name in held_request_ids or self.stop.is_set():
                continue
            hold = self.budget.begin(request, self.prices)
            # the bound is reached: what is left is sent by a later command
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
                lines = []
                names = []
                n_bytes = 0
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
        name = hashlib.blake2b(f"{self.respondent} {file.id}".encode(), digest_size=8).hexdigest()
        path = self.folder / f"batch-{name}.json"
        # on record before there is a batch, so that a kill in between leaves none that nobody knows
        BatchRecord(self.respondent, file.id, tuple(names)).write(path)
        await self._create_batch(client, path)
        return path

    async def _create_batch(self, client: AsyncOpenAI, path: Path) -> None:
        """Create the batch of a file that was sent, and record its id."""
        import openai

        record = BatchRecord.read(path)
        # not repeated by the package: a reply that is lost may be that of a batch
        batches = client.with_options(max_retries=0).batches
        for attempt in count():
            try:
                batch = await batches.create(
                    input_file_id=record.file_id,
                    endpoint=ENDPOINT,
                    completion_window="24h",
                    metadata={"made_by": "hqm"},
                )
                break
            except openai.APIStatusError as error:
                pause = wanted_pause(error.response.headers, attempt)
                # At 429 there is no batch either, so that it may be asked for again.
                if error.status_code == 429 and attempt < client.max_retries and pause is not None:
                    await asyncio.sleep(pause)
                    continue
                if error.status_code < 500:  # there is no batch, and perhaps no such file any more
                    path.unlink()
                raise
        replace(record, batch_id=batch.id).write(path)

    async def _find_batches(self, client: AsyncOpenAI, paths: Iterable[Path]) -> None:
        """Look for batches whose id never arrived, and create those that the server does not have.

        Raises
        ------
        RespondentError
            The server does not list its batches.
        """
        import openai

        unknown = {}
        for path in paths:
            record = BatchRecord.read(path)
            if not record.batch_id:
                unknown[record.file_id] = path
        if not unknown:
            return
        try:
            async for batch in client.batches.list(limit=100):
                if batch.input_file_id in unknown:
                    path = unknown.pop(batch.input_file_id)
                    replace(BatchRecord.read(path), batch_id=batch.id).write(path)
                if not unknown:
                    return
        except openai.APIStatusError as error:
            first = next(iter(unknown.values()))
            raise RespondentError(
                "an earlier command may have created a batch, and the server does not list its"
                f" batches: {one_line(self.clean(str(error)))}",
                location=self.respondent,
                remedy=f"Delete {first} to send its requests again.",
            ) from None
        for path in unknown.values():
            await self._create_batch(client, path)

    # --- what comes back ---

    async def _find(self, client: AsyncOpenAI, path: Path) -> Batch:
        """Return the batch of a record, as the server has it now.

        Raises
        ------
        RespondentError
            The server has it no more, so that the same command would end here every time.
        """
        import openai

        try:
            return await client.batches.retrieve(BatchRecord.read(path).batch_id)
        except openai.NotFoundError as error:
            raise RespondentError(
                f"the server has a batch no more: {one_line(self.clean(str(error)))}",
                location=self.respondent,
                remedy=f"Delete {path} to send its requests again.",
            ) from None

    async def _wait(self, client: AsyncOpenAI, paths: Sequence[Path]) -> list[Path]:
        """Wait until one of the batches is finished, or the user stops."""
        pause = self.first_pause
        while not self.stop.is_set():
            finished = []
            for path in paths:
                batch = await self._find(client, path)
                if batch.status in _FINISHED:
                    finished.append(path)
            if finished:
                return finished
            end = time.monotonic() + pause
            # in short steps, so that a stop need not wait for the end of the pause
            while time.monotonic() < end and not self.stop.is_set():
                await asyncio.sleep(0.1)
            pause = min(2 * pause, MAX_PAUSE)
        return []

    async def _take(
        self, client: AsyncOpenAI, path: Path, waiting: dict[str, tuple[Request, bytes]]
    ) -> list[Request]:
        """Hand over the answers of a finished batch; the requests to send again are returned."""
        record = BatchRecord.read(path)
        batch = await self._find(client, path)
        lines: list[dict[str, object]] = []
        # OpenAI writes requests that failed into a file of their own.
        for file_id in filter(None, (batch.output_file_id, batch.error_file_id)):
            content = await client.files.content(file_id)
            try:
                lines += map(json.loads, filter(str.strip, content.text.splitlines()))
            except ValueError:  # what was paid for is not given up: the file may have been cut
                raise RespondentError(
                    "a line of the batch's answers is not JSON",
                    location=self.respondent,
                    remedy="Run the same command again to read them again.",
                ) from None
        refused_requests: list[Request] = []
        answers: list[tuple[Request, Response]] = []
        for line in lines:
            entry = waiting.pop(str(line.get("custom_id")), None)
            # A batch of an earlier command may hold requests that this one does not ask.
            if entry is None:
                continue
            name = str(line["custom_id"])
            response, is_refused = self._read_line(line, entry[0], name)
            if is_refused:
                refused_requests.append(entry[0])
            else:
                answers.append((entry[0], response))
            # What an earlier command sent has no reservation in this one.
            if name in self._holds:
                self.budget.end(self._holds.pop(name), entry[0], response)
        if batch.errors is not None:
            errors = "; ".join(error.message or "" for error in (batch.errors.data or []))
        else:
            errors = ""
        for name in record.request_ids:
            entry = waiting.pop(name, None)
            if entry is not None:  # the batch expired or failed before it came to this one
                reason = one_line(self.clean(f"the batch {batch.status} without it: {errors}"))
                response = Response("", "error", reason.rstrip(": "))
                answers.append((entry[0], response))
                if name in self._holds:
                    self.budget.end(self._holds.pop(name), entry[0], response)
        await asyncio.gather(*starmap(self.state.hand_over, answers))
        return refused_requests

    def _read_line(
        self, line: Mapping[str, object], request: Request, name: str
    ) -> tuple[Response, bool]:
        """The response of a line, and whether a parameter of its request was refused."""
        reply = line.get("response") or {}
        # vLLM writes the completion itself where OpenAI writes its status and body
        body = reply.get("body", reply) if isinstance(reply, dict) else {}
        status = reply.get("status_code", 200) if isinstance(reply, dict) else 500
        fault = line.get("error")
        bodies = self.bodies
        if fault or not 200 <= status < 300:
            content = json.dumps(body or fault)
            settings = self._settings[name]
            refused = refused_parameter(content.encode(), settings.names, request.prompt)
            large_seed = request.seed if refuses_value(content.encode()) else 0
            if bodies.simplify(settings, refused, large_seed):
                return Response("", "error", "a parameter was refused", {"status": status}), True
            message = reason_in(body) or reason_in(fault)
            if not reply:  # the batch ended before its turn came
                reason = one_line(self.clean(f"the batch ended without it: {message}"))
                return Response("", "error", reason.rstrip(": ")), False
            reason = one_line(self.clean(f"the server answered {status}: {message}"))
            final = {"final": True} if 400 <= status < 500 and status != 429 else {}
            return Response("", "error", reason.rstrip(": "), {"status": status, **final}), False
        response = self.clean.response(
            read_reply(body, 0.0, self.bodies.model, request, processed=bodies.processed)
        )
        # how long a batch waited says nothing of the model
        detail = {key: value for key, value in response.detail.items() if key != "seconds"}
        detail |= bodies.notes()
        return response._replace(detail=detail, reason=one_line(response.reason)), False
