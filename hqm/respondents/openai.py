"""A server with the OpenAI chat interface: OpenAI itself, vLLM, SGLang, `transformers serve`, ...

Requests run concurrently, a bounded number at a time; the client retries what the server asks to retry (429, 5xx,
dropped connections). What still fails comes back in the state `error`, with the reason; the others go on.
"""

from __future__ import annotations

import asyncio
import base64
import mimetypes
import os
import queue
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from hqm.errors import RespondentError
from hqm.respondents.base import Request, RespondentName
from hqm.types import Response

_BATCH_SECONDS = 1.0


@lru_cache(maxsize=256)
def data_url(path: Path) -> str:
    """A picture as a data URL, encoded once per picture."""
    kind = mimetypes.guess_type(path.name)[0] or "image/png"
    return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"


class OpenAIRespondent:
    """A model behind an OpenAI-compatible server.

    Parameters
    ----------
    name
        `openai/<model>[@<base url>]`; without an address, the client's own (`OPENAI_BASE_URL`, else OpenAI's).
    concurrency
        Requests in flight at a time.
    give_up_after
        Failures in a row after which the server is given up.
    """

    live = True

    def __init__(
        self,
        name: RespondentName,
        *,
        concurrency: int = 16,
        retries: int = 4,
        timeout: float = 120.0,
        give_up_after: int = 20,
    ) -> None:
        self._name = name
        self.model, self.base_url = name.target, name.at or None
        self.concurrency = int(name.option("concurrency", str(concurrency)))
        self.retries, self.timeout, self.give_up_after = retries, timeout, give_up_after

    @property
    def name(self) -> str:
        return str(self._name)

    def identity(self) -> Mapping[str, Any]:
        return {"kind": "openai", "model": self.model, "base_url": self.base_url}

    def answer(self, requests: Sequence[Request]) -> Iterator[list[tuple[Request, Response]]]:
        # the event loop runs in a thread of its own, so that the caller can store what has come in meanwhile
        done: queue.Queue[tuple[Request, Response] | BaseException | None] = queue.Queue()
        stop = threading.Event()
        thread = threading.Thread(target=self._run, args=(requests, done, stop), daemon=True)
        thread.start()
        try:
            yield from self._batches(done)
        finally:
            stop.set()
            thread.join(timeout=self.timeout)

    @staticmethod
    def _batches(done: queue.Queue[Any]) -> Iterator[list[tuple[Request, Response]]]:
        batch: list[tuple[Request, Response]] = []
        since = time.monotonic()
        while True:
            try:
                got = done.get(timeout=_BATCH_SECONDS)
            except queue.Empty:
                got = ()
            if isinstance(got, tuple) and got:
                batch.append(got)
            ended = got is None or isinstance(got, BaseException)
            if batch and (ended or len(batch) >= 100 or time.monotonic() - since > _BATCH_SECONDS):
                yield batch
                batch, since = [], time.monotonic()
            if isinstance(got, BaseException):
                raise got
            if ended:
                return

    def _run(self, requests: Sequence[Request], done: queue.Queue[Any], stop: threading.Event) -> None:
        try:
            asyncio.run(self._ask_all(requests, done, stop))
            done.put(None)
        except BaseException as error:
            done.put(error)

    async def _ask_all(self, requests: Sequence[Request], done: queue.Queue[Any], stop: threading.Event) -> None:
        import openai

        try:
            # a server of one's own asks for no key, but the client insists on one
            key = os.environ.get("OPENAI_API_KEY") or ("none" if self.base_url else None)
            client = openai.AsyncOpenAI(
                base_url=self.base_url, api_key=key, max_retries=self.retries, timeout=self.timeout
            )
        except openai.OpenAIError as error:
            raise RespondentError(str(error).splitlines()[0], place=self.name, remedy="Set OPENAI_API_KEY.") from error
        # by picture, so that a server's prefix cache is hit
        todo = iter(sorted(requests, key=lambda r: (str(r.image or ""), r.prompt)))
        failures = 0

        async def work() -> None:
            nonlocal failures
            for request in todo:
                if stop.is_set():
                    return
                response = await self._ask(client, request)
                done.put((request, response))
                failures = failures + 1 if response.state == "error" else 0
                if failures >= self.give_up_after:
                    raise RespondentError(
                        f"{failures} requests in a row failed; the last: {response.reason}",
                        place=self.name,
                        remedy="Check the server, then run the same command again: what was answered is kept.",
                    )

        async with client:
            tasks = [asyncio.create_task(work()) for _ in range(min(self.concurrency, len(requests)))]
            try:
                await asyncio.gather(*tasks)
            finally:
                for task in tasks:
                    task.cancel()

    async def _ask(self, client: Any, request: Request) -> Response:
        import openai

        began = time.perf_counter()
        try:
            content: list[dict[str, Any]] = []
            if request.image is not None:
                content.append({"type": "image_url", "image_url": {"url": data_url(request.image)}})
            content.append({"type": "text", "text": request.prompt})
            reply = await client.chat.completions.create(
                model=self.model,
                messages=[{"role": "user", "content": content}],
                temperature=request.sampling.temperature,
                top_p=request.sampling.top_p,
                max_tokens=request.sampling.max_tokens,
                seed=request.seed,
            )
        except openai.APIStatusError as error:
            return Response("", "error", f"the server answered {error.status_code}: {_short(error.message)}")
        except (openai.OpenAIError, OSError, ValueError) as error:
            return Response("", "error", f"{type(error).__name__}: {_short(str(error))}")
        return _read(reply, time.perf_counter() - began)

    def close(self) -> None:
        data_url.cache_clear()


def _short(text: str) -> str:
    return " ".join(text.split())[:300]


def _read(reply: Any, seconds: float) -> Response:
    """What a server's reply says; nonsense is an error, not an answer."""
    choices = getattr(reply, "choices", None) or [None]
    message = getattr(choices[0], "message", None)
    if message is None:
        return Response("", "error", "the server's reply holds no message")
    detail: dict[str, Any] = {"seconds": round(seconds, 4)}
    usage = getattr(reply, "usage", None)
    for ours, theirs in (("tokens_in", "prompt_tokens"), ("tokens_out", "completion_tokens")):
        count = getattr(usage, theirs, None)
        if isinstance(count, int):
            detail[ours] = count
    text = message.content if isinstance(message.content, str) else ""
    refusal = getattr(message, "refusal", None)
    finish = getattr(choices[0], "finish_reason", None)
    if isinstance(refusal, str) and refusal:
        return Response(text or refusal, "refused", "the model declined", detail)
    if finish == "content_filter":
        return Response(text, "refused", "the server's filter withheld it", detail)
    if finish == "length":
        return Response(text.strip(), "truncated", "it was cut at the limit of tokens", detail)
    if not isinstance(message.content, str):
        return Response("", "error", "the server's message holds no text", detail)
    return Response(text.strip(), "ok", "", detail)
