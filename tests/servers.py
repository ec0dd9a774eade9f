"""Servers for the tests, all real and on loopback: `transformers serve` with a tiny model, a
stand-in for the program `vllm` that runs it, another that needs no model, one that misbehaves by
plan, and one for files."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Route

from hqm.respondents.hf import find_model


class AppServer:
    """An application served on loopback by a thread, at a port that is free."""

    def __init__(self, routes: list[Route]) -> None:
        app = Starlette(routes=routes)
        self.server = uvicorn.Server(
            uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical", lifespan="off")
        )
        self.thread = threading.Thread(target=self.server.run, daemon=True)
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)
        self.url = f"http://127.0.0.1:{self.server.servers[0].sockets[0].getsockname()[1]}"

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join(timeout=60)


def sampling_model(folder: Path) -> Path:
    """A copy of a tiny model that samples when served: `transformers serve` is greedy unless the
    model says otherwise.
    """
    shutil.copytree(find_model("shapes:half-trained"), folder)
    path = folder / "generation_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "do_sample": True}))
    return folder


@contextlib.contextmanager
def reserved_port() -> Iterator[int]:
    """A port at which nobody listens, and which no other process is given meanwhile.

    A server that may use an address again, as uvicorn may, listens there all the same.
    """
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", 0))
        yield int(listener.getsockname()[1])


@contextlib.contextmanager
def transformers_serve(model: Path) -> Iterator[str]:
    """`transformers serve`; its base url."""
    command = [
        sys.executable,
        "-c",
        "from transformers.cli.transformers import main; main()",
        "serve",
        str(model),
    ]
    with reserved_port() as port:
        process = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "HF_HUB_OFFLINE": "1"},
        )
        drain = threading.Thread(
            target=lambda: process.stdout and process.stdout.read(), daemon=True
        )
        drain.start()
        try:
            deadline = time.monotonic() + 300
            while not healthy(f"http://127.0.0.1:{port}"):
                assert process.poll() is None, "transformers serve did not come up"
                assert time.monotonic() < deadline
                time.sleep(0.1)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()
            process.wait(120)


def healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=60) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False


def program(path: Path, body: str) -> Path:
    """An executable in Python."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # a line that begins with #! takes no path with a space: a shell reads the second line, which is
    # a text to Python
    start = f"''''exec '{sys.executable}' \"$0\" \"$@\" # '''"
    path.write_text(f"#!/bin/sh\n{start}\n{body}")
    path.chmod(0o755)
    return path


VLLM = """
# stands in for the program vllm: the same arguments, and a real server with the interface that vLLM has
import json, os, sys
print("INFO loading", sys.argv[2], flush=True)
with open(os.path.join(os.path.dirname(__file__), "argv.json"), "w") as file:
    json.dump({"argv": sys.argv[1:], "pid": os.getpid(), "gpus": os.environ.get("CUDA_VISIBLE_DEVICES")}, file)
option = dict(zip(sys.argv, sys.argv[1:]))
from transformers.cli.transformers import main
sys.argv = ["transformers", "serve", sys.argv[2], "--host", option["--host"], "--port", option["--port"],
            "--device", "cpu", "--default-seed", option["--seed"]]
main()
"""

VLLM_OF_WORDS = """
# stands in for the program vllm where no model is wanted: the reply is a function of the prompt, and above temperature 0 of the seed; every start and end is written down
import json, os, signal, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
option = dict(zip(sys.argv, sys.argv[1:]))
def note(word):
    with open(os.path.join(os.path.dirname(__file__), "life.txt"), "a") as file:
        file.write(f"{word} {os.getpid()}\\n")
class Handler(BaseHTTPRequestHandler):
    protocol_version, wbufsize = "HTTP/1.1", -1  # buffered: head and body go out together
    def log_message(self, *_):
        pass
    def do_GET(self):
        self.say(b"")
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = body["messages"][0]["content"][-1]["text"]
        said = prompt.partition(":")[2].replace(" ", "\\n") if ":" in prompt else "No." if " x" in prompt else "Yes."
        if body["temperature"] > 0:
            said = f"{said} {body['seed']}"
        message = {"role": "assistant", "content": said}
        self.say(json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).encode())
    def say(self, content):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
def end(*_):
    note("ended")
    os._exit(0)
signal.signal(signal.SIGTERM, end)
note("started")
with open(os.path.join(os.path.dirname(__file__), "argv.json"), "w") as file:
    json.dump({"argv": sys.argv[1:], "pid": os.getpid(), "gpus": os.environ.get("CUDA_VISIBLE_DEVICES")}, file)
print("INFO loading", sys.argv[2], flush=True)
ThreadingHTTPServer.request_queue_size = 512
ThreadingHTTPServer(("127.0.0.1", int(option["--port"])), Handler).serve_forever()
"""

Reply = Callable[[int, dict[str, Any], dict[str, str]], tuple[int, dict[str, str], bytes] | None]
"""The number of the request, its body and headers -> status, headers, body; None hangs up without a
word.
"""


@dataclass
class PlannedServer:
    """A real HTTP server that answers as it is told, request by request; it remembers when it was
    asked what.

    Parameters
    ----------
    min_in_flight
        How many must be in flight together, now or before, before a request is answered, by its
        number. What a client begins at once so arrives at once, however slow the machine is; a
        minute later the request is answered all the same.
    """

    reply: Reply
    delay: float = 0.0
    min_in_flight: Callable[[int], int] = lambda _number: 0
    asked: list[tuple[float, dict[str, Any]]] = field(default_factory=list)
    max_in_flight: int = 0
    answered: int = 0
    _n_in_flight: int = 0

    def __enter__(self) -> PlannedServer:
        started = threading.Event()
        self._loop = asyncio.new_event_loop()

        async def serve() -> None:
            self._server = await asyncio.start_server(self._talk, "127.0.0.1", 0)
            self.port = self._server.sockets[0].getsockname()[1]
            started.set()

        def run() -> None:
            asyncio.set_event_loop(self._loop)
            self._loop.run_until_complete(serve())
            self._loop.run_forever()
            for task in asyncio.all_tasks(self._loop):
                task.cancel()
            self._loop.run_until_complete(asyncio.sleep(0))

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()
        assert started.wait(60)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                headers = {
                    key.lower(): value
                    for key, _, value in (line.partition(": ") for line in head.split("\r\n")[1:])
                }
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                number = len(self.asked)
                self.asked.append(
                    (time.monotonic(), json.loads(body) if body else {"get": head.split()[1]})
                )
                self._n_in_flight += 1
                self.max_in_flight = max(self.max_in_flight, self._n_in_flight)
                deadline = self._loop.time() + 60
                while (
                    self.max_in_flight < self.min_in_flight(number) and self._loop.time() < deadline
                ):
                    await asyncio.sleep(0.002)
                await asyncio.sleep(self.delay)
                self._n_in_flight -= 1
                planned_reply = self.reply(number, self.asked[number][1], headers)
                if planned_reply is None:
                    break
                status, extra_headers, content = planned_reply
                lines = [
                    f"HTTP/1.1 {status} X",
                    *(f"{key}: {value}" for key, value in extra_headers.items()),
                ]
                if "Content-Length" not in extra_headers:
                    lines.append(f"Content-Length: {len(content)}")
                self.answered += status == 200
                writer.write("\r\n".join([*lines, "", ""]).encode() + content)
                await writer.drain()
                if "Content-Length" in extra_headers:  # which may be a lie
                    break
        writer.close()


JSON = {"Content-Type": "application/json"}


def question(body: dict[str, Any]) -> str:
    return str(body["messages"][0]["content"][-1]["text"])


def completion(text: str, **choice: Any) -> tuple[int, dict[str, str], bytes]:
    """A chat completion."""
    reply = {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "tiny",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": text},
                **choice,
            }
        ],
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 7,
            "total_tokens": 107,
            "prompt_tokens_details": {"cached_tokens": 60},
        },
    }
    return 200, JSON, json.dumps(reply, ensure_ascii=False).encode()


def failure(status: int, message: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    """An error as the interface has it."""
    return (
        status,
        {**JSON, **{key.replace("_", "-"): value for key, value in headers.items()}},
        json.dumps({"error": {"message": message}}).encode(),
    )
