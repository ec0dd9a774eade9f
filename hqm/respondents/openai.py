"""A server with the OpenAI chat interface: OpenAI itself, vLLM, SGLang, `transformers serve`, ...

Requests run concurrently, a bounded number at a time and no faster than the limits allow. What may pass is tried again:
429 (everyone pauses for as long as the server says), 5xx, dropped connections, replies that are no JSON. What still fails
comes back in the state `error`, with the reason; the others go on. A refused key or an unknown model ends it at once.

Requests go out picture by picture, the picture before the question, so that the prefix cache of a server finds the picture
again. Settings that may follow the name, none of which changes an answer:

    concurrency              requests in flight at a time (16)
    requests_per_minute      and tokens_per_minute: the server's limits (none)
    retries, timeout         further attempts a request (4), seconds for each (120)
    logprobs                 alternatives of the first token to ask for (5; 0 asks for no log probabilities)
    price_in, price_out      money per million tokens, for the cost
"""

from __future__ import annotations

import asyncio
import base64
import json
import mimetypes
import os
import queue
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from hqm.errors import RespondentError
from hqm.respondents.base import Request, RespondentName
from hqm.respondents.pacing import Pace, wanted_pause
from hqm.types import Response

_BATCH_SECONDS = 1.0
_PICTURE_TOKENS = 576
"""What a picture counts against a limit of tokens before the server has said."""
_FATAL = {401: "refuses the key", 403: "refuses access", 404: "knows no such model or address"}
_PASSING = frozenset({408, 409, 425, 429})

OPERATION = frozenset(
    "concurrency requests_per_minute tokens_per_minute retries timeout logprobs price_in price_out".split()
)
"""Settings that say how a server is reached, not who answers; they are no part of a respondent's name in the store."""


@lru_cache(maxsize=64)
def data_url(path: Path) -> str:
    """A picture as a data URL, encoded once per picture: its requests come one after another."""
    content = path.read_bytes()
    return f"data:{_kind(content) or mimetypes.guess_type(path.name)[0] or 'image/png'};base64,{base64.b64encode(content).decode()}"


def _kind(content: bytes) -> str:
    """What the bytes are, whatever the file is called; servers look at what they are told."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    kinds = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif", b"BM": "image/bmp"}
    return next((kind for mark, kind in kinds.items() if content.startswith(mark)), "")


class OpenAIRespondent:
    """A model behind an OpenAI-compatible server.

    Parameters
    ----------
    name
        `openai/<model>[@<base url>]`; without an address, the client's own (`OPENAI_BASE_URL`, else OpenAI's).
    concurrency, retries, timeout
        Requests in flight at a time, further attempts a request, seconds for each; the name's own come first.
    give_up_after
        Failures in a row after which the server is given up.
    backoff
        Seconds before a second attempt where the server says nothing; twice as long before each further one.
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
        backoff: float = 0.5,
    ) -> None:
        self._name = replace(name, settings=tuple((k, v) for k, v in name.settings if k not in OPERATION))
        self.model, self.base_url = name.target, name.at or None
        self.concurrency = max(1, int(name.number("concurrency", concurrency)))
        self.retries, self.timeout = int(name.number("retries", retries)), name.number("timeout", timeout)
        self.pace = Pace(name.number("requests_per_minute", 0), name.number("tokens_per_minute", 0))
        self.logprobs = int(name.number("logprobs", 5))
        self.prices: tuple[float, float] | None = None
        if name.option("price_in") or name.option("price_out"):
            read = name.number("price_in", 0)
            self.prices = (read, name.number("price_out", read))
        self.give_up_after, self.backoff = give_up_after, backoff
        self._limit_name = "max_tokens"
        self._schemas = True
        self._stop = threading.Event()

    @property
    def name(self) -> str:
        return str(self._name)

    def identity(self) -> Mapping[str, Any]:
        return {"kind": "openai", "model": self.model, "base_url": self.base_url}

    def answer(self, requests: Sequence[Request]) -> Iterator[list[tuple[Request, Response]]]:
        """Ask; an empty batch comes where a second brought nothing, so that the caller has a turn."""
        # the event loop runs in a thread of its own, so that the caller can store what has come in meanwhile
        done: queue.Queue[tuple[Request, Response] | BaseException | None] = queue.Queue()
        self._stop.clear()
        thread = threading.Thread(target=self._run, args=(requests, done), daemon=True)
        thread.start()
        try:
            yield from self._batches(done)
        finally:
            self.finish()
            thread.join(timeout=self.timeout)

    def finish(self) -> None:
        """Begin no further request; those in flight still come."""
        self._stop.set()

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
            if ended or len(batch) >= 100 or time.monotonic() - since > _BATCH_SECONDS:
                yield batch
                batch, since = [], time.monotonic()
            if isinstance(got, BaseException):
                raise got
            if ended:
                return

    def _run(self, requests: Sequence[Request], done: queue.Queue[Any]) -> None:
        try:
            asyncio.run(self._ask_all(requests, done))
            done.put(None)
        except BaseException as error:
            done.put(error)

    async def _ask_all(self, requests: Sequence[Request], done: queue.Queue[Any]) -> None:
        import openai

        try:
            # a server of one's own asks for no key, but the client insists on one
            key = os.environ.get("OPENAI_API_KEY") or ("none" if self.base_url else None)
            client = openai.AsyncOpenAI(base_url=self.base_url, api_key=key, max_retries=0, timeout=self.timeout)
        except openai.OpenAIError as error:
            raise RespondentError(str(error).splitlines()[0], place=self.name, remedy="Set OPENAI_API_KEY.") from error
        # by picture, so that a server's prefix cache is hit
        todo = iter(sorted(requests, key=lambda r: (str(r.image or ""), r.prompt)))
        failures = 0

        async def work() -> None:
            nonlocal failures
            for request in todo:
                if self._stop.is_set():
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
        """One request with its further attempts."""
        import openai

        began = time.perf_counter()
        try:
            message = self._message(request)
        except OSError as error:
            return Response("", "error", f"the picture {request.image} cannot be read: {error.strerror}")
        tokens = len(request.prompt) // 4 + (_PICTURE_TOKENS if request.image else 0) + request.sampling.max_tokens
        attempt = 0
        while True:
            await self.pace.turn(tokens)
            wait: float | None
            try:
                settings = self._settings(request)
                reply = await client.chat.completions.create(messages=[message], **settings)
                response = _read(reply, time.perf_counter() - began, self.model)
                wait = None if response.state != "error" else wanted_pause({}, attempt, self.backoff)
            except openai.APIStatusError as error:
                if error.status_code in _FATAL:
                    what = f"the server {_FATAL[error.status_code]} ({error.status_code}: {_short(error.message)})"
                    raise RespondentError(what, place=self.name, remedy="Correct the name or the key.") from error
                if error.status_code in (400, 422) and self._simpler(settings, error.message):
                    continue
                response = Response("", "error", f"the server answered {error.status_code}: {_short(error.message)}")
                passing = error.status_code in _PASSING or error.status_code >= 500
                passing = passing and getattr(error, "code", None) != "insufficient_quota"
                wait = wanted_pause(error.response.headers, attempt, self.backoff) if passing else None
                if wait is not None and error.status_code in (429, 503) and attempt < self.retries:
                    self.pace.pause(wait)
            except (openai.OpenAIError, OSError, ValueError) as error:
                response = Response("", "error", f"{type(error).__name__}: {_short(str(error))}")
                wait = wanted_pause({}, attempt, self.backoff)
            if wait is None or attempt >= self.retries:
                return response._replace(detail={**response.detail, "retries": attempt}) if attempt else response
            attempt += 1
            await asyncio.sleep(wait)

    @staticmethod
    def _message(request: Request) -> dict[str, Any]:
        content: list[dict[str, Any]] = []
        if request.image is not None:
            content.append({"type": "image_url", "image_url": {"url": data_url(request.image)}})
        content.append({"type": "text", "text": request.prompt})
        return {"role": "user", "content": content}

    def _settings(self, request: Request) -> dict[str, Any]:
        settings: dict[str, Any] = {
            "model": self.model,
            "temperature": request.sampling.temperature,
            "top_p": request.sampling.top_p,
            self._limit_name: request.sampling.max_tokens,
            "seed": request.seed,
        }
        if request.schema is not None and self._schemas:
            form = {"name": "reply", "schema": dict(request.schema), "strict": True}
            settings["response_format"] = {"type": "json_schema", "json_schema": form}
        if self.logprobs:
            settings |= {"logprobs": True, "top_logprobs": self.logprobs}
        return settings

    def _simpler(self, sent: Mapping[str, Any], message: str) -> bool:
        """Leave out, or call by its other name, what a server does not take and no answer depends on."""
        if "logprobs" in sent and "logprobs" in message:
            self.logprobs = 0
        elif "response_format" in sent and ("response_format" in message or "schema" in message):
            self._schemas = False
        elif "max_tokens" in sent and "max_completion_tokens" in message:
            self._limit_name = "max_completion_tokens"
        else:
            return False
        return True

    def close(self) -> None:
        data_url.cache_clear()


def _short(text: str) -> str:
    return " ".join(text.split())[:300]


def _read(reply: Any, seconds: float, model: str) -> Response:
    """What a server's reply says; nonsense is an error, not an answer."""
    choices = getattr(reply, "choices", None) or [None]
    message = getattr(choices[0], "message", None)
    if message is None:
        return Response("", "error", "the server's reply holds no message")
    detail = {"seconds": round(seconds, 4), **_usage(getattr(reply, "usage", None)), **_logprobs(choices[0])}
    if getattr(reply, "model", model) not in (model, None, ""):
        detail["model"] = str(reply.model)  # what a name that moves ("gpt-4o") stood for
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


def _usage(usage: Any) -> dict[str, Any]:
    """Tokens read, of them found in the server's cache, and written."""
    counts = {
        "tokens_in": getattr(usage, "prompt_tokens", None),
        "tokens_out": getattr(usage, "completion_tokens", None),
        "tokens_cached": getattr(getattr(usage, "prompt_tokens_details", None), "cached_tokens", None),
    }
    return {name: count for name, count in counts.items() if isinstance(count, int)}


def _logprobs(choice: Any) -> dict[str, Any]:
    """The log probability of the whole answer, and the first token's alternatives: enough for a yes/no question."""
    tokens = getattr(getattr(choice, "logprobs", None), "content", None)
    try:
        if not tokens:
            return {}
        first = {str(top.token): round(float(top.logprob), 6) for top in tokens[0].top_logprobs or ()}
        detail: dict[str, Any] = {"logprob": round(sum(float(token.logprob) for token in tokens), 6)}
        json.dumps(detail, allow_nan=False)
        return {**detail, "first_token": first} if first else detail
    except (AttributeError, TypeError, ValueError):
        return {}
