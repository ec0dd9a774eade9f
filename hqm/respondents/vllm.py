"""A model that vLLM serves on this machine: the server is started for the run and stopped after it.

vLLM pins its own torch and transformers, so it lives in an environment of its own; `--set vllm=...`
names that, and nothing of it is imported. Each request carries its own seed, as for any server; the
server itself is started with the base seed. The requests come picture by picture, which is what its
prefix cache needs.

A setting behind the name that is neither about sampling nor about how a server is asked is an
option of `vllm serve`: `vllm/Qwen/Qwen2-VL-7B-Instruct?tensor_parallel_size=2&max_model_len=8192`
starts it with `--tensor-parallel-size 2 --max-model-len 8192`; one without a value is a switch
(`?enforce_eager=`). Those are part of the respondent's identity.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from functools import cached_property
from pathlib import Path

from hqm.errors import RespondentError
from hqm.respondents.base import Request, RespondentName, Sampling, waiting
from hqm.respondents.hf_loading import find_model, weights_digest
from hqm.respondents.openai_server import OPERATION, OpenAIRespondent
from hqm.respondents.server_bodies import LOGPROBS_MODE
from hqm.respondents.server_process import KEEP_LOG, TERMINATION_SECONDS
from hqm.types import Response

VARIABLE = "HQM_VLLM"
_CLIENT_SETTINGS = OPERATION | {field.name for field in fields(Sampling)} | {"start_timeout"}
_FIXED_OPTIONS = ("--enable-prompt-tokens-details",)
"""Options that change no answer and are no part of the identity: with them, replies hold the number
of tokens from the prefix cache.
"""
_LOG_LINES = 20
"""Lines of the server's log in an error."""


class VllmRespondent:
    """A model behind a `vllm serve` of its own.

    Parameters
    ----------
    name
        `vllm/<folder or hub id>[@revision]`; options of `vllm serve` and of a server respondent may
        follow, and `start_timeout`, the seconds that loading may take (1800).
    vllm
        The program `vllm`, or the environment that holds it; else the variable `HQM_VLLM`, else the
        search path.
    device
        `cuda:1` lets the server see that GPU alone; else it sees what this process sees.
    dtype
        Passed on unless `auto`.

    Raises
    ------
    RespondentError
        The program does not exist, or the server does not start; with the end of its log.
    """

    live = True
    movable = False
    per_gpu = True
    """Whether each Ray actor may run one: it starts the server on the GPUs it was given."""
    gpus = 1
    """The GPUs that the model is divided among, unless its name says it."""

    def __init__(
        self, name: RespondentName, *, vllm: str = "", device: str = "auto", dtype: str = "auto"
    ) -> None:
        self._given = name
        self._name = RespondentName(
            name.kind,
            name.target,
            name.qualifier,
            tuple((k, v) for k, v in name.settings if k not in OPERATION),
        )
        self.program = vllm
        self.device = device
        self.dtype = dtype
        self.start_timeout = name.number("start_timeout", 1800)
        # created here too, so that a wrong number is reported before a server is started
        self.prices = self._client("http://127.0.0.1").prices
        self._inner: OpenAIRespondent | None = None
        self._finishing = False
        self._keeper: subprocess.Popen[bytes] | None = None
        self.log: Path | None = None

    @property
    def name(self) -> str:
        return str(self._name)

    @cached_property
    def model_path(self) -> str:
        return find_model(self._name.target)

    @property
    def _options(self) -> list[tuple[str, str]]:
        """The options of `vllm serve` beside the model."""
        options = [
            (key, value) for key, value in self._given.settings if key not in _CLIENT_SETTINGS
        ]
        if self.dtype != "auto" and "dtype" not in dict(options):
            options.append(("dtype", self.dtype))
        return options

    def identity(self) -> Mapping[str, object]:
        return {
            "kind": "vllm",
            "model": self._name.target,
            "revision": self._name.qualifier or None,
            "weights": self._weights,
            "options": dict(sorted(self._options)),
            # Another version may draw other tokens for the same seed, and is another respondent.
            "vllm": self._version,
        }

    @cached_property
    def _weights(self) -> str | None:
        return weights_digest(self.model_path, self.name)

    @cached_property
    def _executable(self) -> Path | None:
        location = self.program or os.environ.get(VARIABLE, "")
        if not location:
            program = shutil.which("vllm")
            return Path(program) if program else None
        path = Path(location).expanduser()
        programs = map(Path.absolute, (path / "bin" / "vllm", path / "vllm", path))
        return next(filter(Path.is_file, programs), None)

    @cached_property
    def _version(self) -> str | None:
        """The version installed beside the program, by its metadata; None without them."""
        if self._executable is None:
            return None
        # From its metadata, since nothing of that environment can be imported here.
        folders = self._executable.resolve().parent.parent.glob(
            "lib/python*/site-packages/vllm-*.dist-info"
        )
        return next((folder.stem.split("-")[1] for folder in sorted(folders)), None)

    # --- asking ---

    def answer(self, requests: Sequence[Request]) -> Iterator[list[tuple[Request, Response]]]:
        """Start the server if it does not run, and ask it; empty batches while there are no
        answers.
        """
        self._finishing = False
        if self._keeper is None:
            port = self._start(requests[0].sampling.seed)
            # the server loads the model; asked to stop, `finish` is called after an empty batch
            with waiting(f"loading {self.name}", idle=False):
                for _ in self._until_healthy(port):
                    yield []
                    if self._finishing:
                        return
        inner = self._inner
        if inner is None:
            return
        try:
            yield from inner.answer(requests)
        except RespondentError as error:
            # An error of the connection says little; the log of the server that died says why.
            if self._keeper is not None and self._keeper.poll() is not None:
                raise self._death_error("the server died") from error
            raise

    def finish(self) -> None:
        """Begin no further request; those in flight still come."""
        self._finishing = True
        if self._inner is not None:
            self._inner.finish()

    def _client(self, url: str) -> OpenAIRespondent:
        options = ((key.replace("-", "_"), value) for key, value in self._given.settings)
        settings = tuple(
            (key, value) for key, value in options if key in OPERATION or key == LOGPROBS_MODE
        )
        # vLLM queues the requests that it cannot answer at once, and is faster with many of them
        return OpenAIRespondent(
            RespondentName("openai", self._name.target, url, settings), first=32, maximum=512
        )

    def _start(self, seed: int) -> int:
        if self._executable is None:
            if self.program:
                message = f"there is no program vllm at {self.program}"
            else:
                message = "vllm was not found"
            raise RespondentError(
                message,
                location=self.name,
                remedy=(
                    "Name the environment it is installed in with --set vllm=PATH or the variable"
                    f" {VARIABLE}."
                ),
            )
        # the system names a free port
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        command = [
            str(self._executable),
            "serve",
            self.model_path,
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
        ]
        command += ["--served-model-name", self._name.target, "--seed", str(seed), *_FIXED_OPTIONS]
        if self._name.qualifier:
            command += ["--revision", self._name.qualifier]
        options = dict(self._options)
        if self.gpus > 1:
            # The name's own option decides over the number of GPUs that the plan gave.
            options.setdefault("tensor_parallel_size", str(self.gpus))
        for key, value in options.items():
            command += [f"--{key.replace('_', '-')}", *([value] if value else [])]
        descriptor, log = tempfile.mkstemp(prefix="hqm-vllm-", suffix=".log")
        self.log = Path(log)
        with os.fdopen(descriptor, "wb") as file:
            # Through a process that stops the server when this one dies, in whatever way
            # (`server_process`).
            self._keeper = subprocess.Popen(
                [sys.executable, "-m", "hqm.respondents.server_process", str(self.log), *command],
                stdin=subprocess.PIPE,
                stdout=file,
                stderr=subprocess.STDOUT,
                env=self._environment(),
            )
        self._inner = self._client(f"http://127.0.0.1:{port}/v1")
        return port

    def _environment(self) -> dict[str, str]:
        # vLLM tells its makers of every start unless this is set
        environment = {**os.environ, "VLLM_NO_USAGE_STATS": "1"}
        kind, _, number = self.device.partition(":")
        if kind == "cuda" and number:
            environment["CUDA_VISIBLE_DEVICES"] = number
        return environment

    def _until_healthy(self, port: int) -> Iterator[None]:
        """Yield every second until the server is healthy."""
        deadline = time.monotonic() + self.start_timeout
        while self._keeper is not None:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as reply:
                    if reply.status == 200:
                        return
            except (urllib.error.URLError, OSError):
                pass
            if self._keeper.poll() is not None:
                raise self._death_error("the server did not come up")
            if time.monotonic() > deadline:
                raise self._death_error(
                    f"the server was not healthy after {self.start_timeout:g} s"
                )
            yield
            time.sleep(0.5)

    def _death_error(self, message: str) -> RespondentError:
        """An error with the end of the server's log; the server is stopped."""
        if self._keeper is None or self._keeper.poll() is None:
            status = ""
        else:
            status = f" (exit status {self._keeper.poll()})"
        log = self.log
        self.close(keep_log=True)
        if log is not None and log.exists():
            lines = log.read_text("utf-8", "replace").splitlines()
        else:
            lines = []
        excerpt = "\n".join(f"  | {line}" for line in lines[-_LOG_LINES:])
        return RespondentError(
            f"{message}{status}",
            location=self.name,
            remedy=f"The end of its log, {log}:\n{excerpt}",
        )

    def close(self, *, keep_log: bool = False) -> None:
        """Stop the server, and remove its log."""
        keeper = self._keeper
        self._keeper = None
        self._inner = None
        if keeper is not None:
            if keeper.stdin is not None:
                with suppress(BrokenPipeError):  # a server that ended by itself keeps its log
                    if keep_log:
                        keeper.stdin.write(KEEP_LOG)
                    keeper.stdin.close()
            try:
                keeper.wait(TERMINATION_SECONDS + 10)
            except subprocess.TimeoutExpired:
                keeper.kill()
                keeper.wait()
        if self.log is not None and not keep_log:
            self.log.unlink(missing_ok=True)
            self.log = None
