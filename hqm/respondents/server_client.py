"""The connection to a server: its key, the size of replies, and redaction of the key in them.

`OPENAI_API_KEY` goes to OpenAI. A server on this machine gets it where the respondent's name says
so (`?key_env=OPENAI_API_KEY`), and any other server gets the variable that its name gives, which
cannot be that one.
"""

from __future__ import annotations

import asyncio
import base64
import ipaddress
import json
import os
import queue
import re
import ssl
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, quote_plus, urlsplit
from urllib.request import getproxies, proxy_bypass

from hqm.errors import RespondentError, UsageError
from hqm.respondents.base import Request
from hqm.types import Response

if TYPE_CHECKING:
    import aiohttp
    from openai import AsyncOpenAI

OPENAI_KEY = "OPENAI_API_KEY"
_OPENAI_URL = "https://api.openai.com/v1"
_NO_KEY = "none"
_MIN_KEY_CHARS = 6
"""Characters of a key below which it is a word that stands for none ("EMPTY"), and may occur in an
answer.
"""


class ReplyTooLarge(ValueError):  # noqa: N818 (it says what is wrong)
    """A reply that is too large to be read to its end."""


class RefusedRequest(Exception):  # noqa: N818 (it says what the server did)
    """A reply with another HTTP status than success."""

    def __init__(self, status: int, headers: Mapping[str, str], content: bytes) -> None:
        text = content.decode("utf-8", "replace").strip()
        try:
            body = json.loads(text)
        except ValueError:
            body = text
        error = body.get("error", body) if isinstance(body, dict) else body
        self.status = status
        self.headers = headers
        self.code = error.get("code") if isinstance(error, dict) else None
        self.content = content
        reason = reason_in(body)
        self.message = f"{status}: {reason}" if reason else f"{status}"
        super().__init__(self.message)


def reason_in(body: object) -> str:
    """What a refusal says; empty where it says nothing, or is a page.

    OpenAI writes {"error": {"message": ...}}, TGI {"error": ...}, FastAPI {"detail": [...]},
    Mistral {"message": {"detail": [...]}}, and Gemini a list of one such object.

    >>> reason_in([{"error": {"message": "no"}}]), reason_in({"error": "no"}), reason_in("<p>no")
    ('no', 'no', '')
    """
    if isinstance(body, str):
        return "" if body.startswith("<") else body
    if isinstance(body, list):
        first = body[0] if len(body) == 1 else None
        is_wrapped = isinstance(first, dict) and "error" in first
        return reason_in(first) if is_wrapped else json.dumps(body) if body else ""
    if isinstance(body, dict):
        reasons = (reason_in(body.get(key)) for key in ("error", "message", "detail"))
        return next(filter(None, reasons), "")
    return ""


def check_variable(url: str | None, variable: str, location: str) -> None:
    """Check the variable that a respondent's name gives for its key.

    Raises
    ------
    UsageError
        It is no variable's name, or would send OpenAI's key to somebody else's server.
    """
    if variable and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", variable):
        raise UsageError(
            "key_env does not give the name of an environment variable",
            location=location,
            remedy="Write ?key_env=NAME, and put the key into the variable NAME.",
        )
    address = _address(url)
    if variable == OPENAI_KEY and not is_openai(address) and not is_loopback(address):
        raise UsageError(
            f"{OPENAI_KEY} is sent to OpenAI and to servers of this machine only",
            location=location,
            remedy=(
                "Put this server's key into a variable of its own, and name that with"
                " ?key_env=NAME."
            ),
        )


def _address(url: str | None) -> str:
    """The address of the server, by default that of the client."""
    return url or os.environ.get("OPENAI_BASE_URL") or _OPENAI_URL


def key_for(url: str | None, variable: str, location: str) -> str:
    """The key for a server; empty for a server that needs none.

    Parameters
    ----------
    url
        The server's address; None for the one that the client knows by itself.
    variable
        The environment variable that the respondent's name gives, or an empty text.

    Raises
    ------
    RespondentError
        The variable is not set.
    """
    name = variable or (OPENAI_KEY if is_openai(_address(url)) else "")
    key = os.environ.get(name, "").strip() if name else ""
    if name and not key:
        raise RespondentError(
            f"the variable {name} is not set", location=location, remedy=f"Set {name}."
        )
    # A line break in a header would begin another header.
    if not (key.isascii() and (key.isprintable() or not key)):
        message = f"the variable {name} holds characters that no key has"
        raise RespondentError(message, location=location, remedy=f"Correct {name}.")
    return key


def is_openai(url: str) -> bool:
    """Whether an address is OpenAI's own, reached by an encrypted connection.

    >>> is_openai("https://api.openai.com/v1"), is_openai("https://api.openai.com.example.org/v1")
    (True, False)
    """
    parts = urlsplit(url)
    # A host's name may end with the dot of the root.
    host = (parts.hostname or "").rstrip(".")
    return parts.scheme == "https" and (host == "openai.com" or host.endswith(".openai.com"))


def is_loopback(url: str) -> bool:
    """Whether an address is one of this machine.

    >>> [is_loopback(f"http://{host}/v1") for host in ("127.0.0.1:8000", "[::1]", "10.0.0.1")]
    [True, True, False]
    """
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def leave_account_out(package: AsyncOpenAI) -> None:
    """Send no organization and project of the environment to a server that is not OpenAI's."""
    if not is_openai(str(package.base_url)):
        package.organization = package.project = None


class Client:
    """Posts chat completions to one server, and reads no more than `largest` bytes of a reply.

    The `openai` package makes the address, the key and the headers of a request. aiohttp posts it,
    because the package itself is slower at writing requests and reading replies than all the rest.
    No redirection is followed, and a reply has `timeout` seconds to come whole.

    Raises
    ------
    openai.OpenAIError, ValueError
        The address cannot be used.
    """

    def __init__(
        self, url: str | None, key: str, *, largest: int, connections: int, timeout: float
    ) -> None:
        import openai

        package = openai.AsyncOpenAI(
            base_url=url,
            # a local server needs no key, but the package requires one
            api_key=key or _NO_KEY,
            # a compressed reply of a megabyte may decompress to a gigabyte
            default_headers={"Accept-Encoding": "identity"},
            # never used; reading certificates for it would take half a second
            http_client=openai.DefaultAsyncHttpxClient(verify=False),
        )
        leave_account_out(package)
        base = str(package.base_url).rstrip("/")
        head = {**package.default_headers, **package.auth_headers}
        # the package's reports about itself are eight headers of each request that no answer needs
        self._headers = {
            name: value
            for name, value in head.items()
            if isinstance(value, str) and not name.lower().startswith("x-stainless-")
        }
        self._url = f"{base}/chat/completions"
        self._largest = largest
        self._connections = connections
        self._timeout = timeout

    async def __aenter__(self) -> Client:
        import aiohttp

        from hqm.respondents.request_body import RequestBody

        self._request_body = RequestBody
        parts = urlsplit(self._url)
        proxies = {} if proxy_bypass(parts.netloc) else getproxies()
        context: ssl.SSLContext | bool = True
        if parts.scheme == "https":
            import certifi

            trusted = os.environ.get("SSL_CERT_FILE") or certifi.where()
            context = ssl.create_default_context(cafile=trusted)
        self._session = aiohttp.ClientSession(
            headers=self._headers,
            connector=aiohttp.TCPConnector(limit=self._connections, ssl=context),
            cookie_jar=aiohttp.DummyCookieJar(),
            proxy=proxies.get(parts.scheme) or proxies.get("all"),
            timeout=aiohttp.ClientTimeout(total=self._timeout),
            auto_decompress=False,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def post(self, body: Sequence[bytes]) -> bytes:
        """Send a body in parts; the bytes of the reply to a chat completion are returned.

        Raises
        ------
        RefusedRequest
            The server answered with another status than success.
        ReplyTooLarge
            The reply has more than `largest` bytes, or is compressed, but not by gzip or
            deflate.
        aiohttp.ClientError
            The server cannot be reached, or the connection broke off.
        TimeoutError
            No whole reply came in time.
        """
        data = self._request_body(body)
        async with self._session.post(self._url, data=data, allow_redirects=False) as reply:
            content = await _read(reply, self._largest)
        if not 200 <= reply.status < 300:
            raise RefusedRequest(reply.status, reply.headers, content)
        return content


async def _read(reply: aiohttp.ClientResponse, largest: int) -> bytes:
    """The bytes of a reply, counted while they arrive.

    Raises
    ------
    ReplyTooLarge
        There are more than `largest`.
    """
    _check_size(reply.headers, largest)
    encoding = reply.headers.get("Content-Encoding", "").strip().lower()
    if encoding not in ("", "identity", *_INFLATED):
        raise ReplyTooLarge("the reply is compressed, which was not asked for")
    read = reply.content.readany
    content: bytes = await read()
    if len(content) <= largest and not reply.content.at_eof():
        chunks = [content]
        size = len(content)
        while size <= largest and (chunk := await read()):
            chunks.append(chunk)
            size += len(chunk)
        content = b"".join(chunks)
    if encoding in _INFLATED:
        content = _inflated(content, largest)
    if len(content) > largest:
        raise ReplyTooLarge(f"the reply is larger than {largest} bytes")
    return content


_INFLATED = ("gzip", "x-gzip", "deflate")
"""Encodings of replies that are read although they were not asked for: the answer is paid for."""


def _inflated(content: bytes, largest: int) -> bytes:
    """The bytes that were compressed; of more than `largest` one more, so that they are refused."""
    inflater = zlib.decompressobj(zlib.MAX_WBITS | 32)  # zlib sees which of the encodings it is
    try:
        inflated = inflater.decompress(content, largest + 1)
    except zlib.error as error:
        raise ReplyTooLarge(f"the reply is compressed and cannot be read ({error})") from None
    if not inflater.eof and len(inflated) <= largest:
        raise ReplyTooLarge("the reply is compressed and breaks off")
    return inflated


def _check_size(headers: Mapping[str, str], largest: int) -> None:
    # No size has more digits, and int() refuses thousands of them.
    length = headers.get("Content-Length", "")[:20]
    if length.isdecimal() and int(length) > largest:
        raise ReplyTooLarge(f"the reply has {length} bytes, more than {largest}")


class Redaction:
    """Remove a key from a server's texts, in any spelling that a server may give it.

    Examples
    --------
    >>> Redaction("sk-abcdef")("no such key: Bearer sk-abcdef")
    'no such key: Bearer [key removed]'
    """

    mark = "[key removed]"

    def __init__(self, key: str) -> None:
        key = key if len(key) >= _MIN_KEY_CHARS else ""
        encoded = base64.b64encode(key.encode()).decode().rstrip("=")
        spellings = {
            key,
            quote(key, safe=""),
            quote_plus(key),
            # Some writers of JSON escape the slash.
            key.replace("/", "\\/"),
            encoded,
            key[::-1],
        } - {""}
        # The longest first, so that no rest of a spelling is left over.
        ordered = sorted(spellings, key=len, reverse=True)
        self._pattern = (
            re.compile("|".join(map(re.escape, ordered)), re.IGNORECASE) if key else None
        )

    def __call__(self, text: str) -> str:
        if self._pattern:
            return self._pattern.sub(self.mark, text)
        return text

    def response(self, response: Response) -> Response:
        """The same response without the key in its text, its reason and its details."""
        if self._pattern is None:
            return response
        return response._replace(
            text=self(response.text),
            reason=self(response.reason),
            detail=self._value(response.detail),
        )

    def _value(self, value: object) -> Any:
        if isinstance(value, str):
            return self(value)
        if isinstance(value, Mapping):
            return {self._value(name): self._value(member) for name, member in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._value(member) for member in value]
        return value


def one_line(text: str) -> str:
    """Return a server's text as one short line without control characters.

    >>> one_line("too\\x1b[2J   large")
    'too\ufffd[2J large'
    """
    line = " ".join(text.split())[:300]
    return "".join(character if character.isprintable() else "\ufffd" for character in line)


# The queue by which the workers that ask a server pass answers to the caller that stores them.
#
# A worker begins its next request when its answer is stored. Answers that arrive at about the same
# time are passed on together, because waking the other thread takes a busy machine longer than an
# answer.

_TURN_SECONDS = 1.0
"""Seconds without an answer after which the caller gets an empty batch."""
_MAX_BATCH = 100
"""Answers that are passed on together, at most."""


class Answer(NamedTuple):
    """An answer on its way to the caller, with the future that its worker awaits."""

    request: Request
    response: Response
    stored: asyncio.Future[None]
    loop: asyncio.AbstractEventLoop


AnswerQueue = queue.SimpleQueue[list[Answer] | BaseException | None]
"""The queue of batches of answers; at its end None, or the error that ended the workers."""


def release(answers: Sequence[Answer]) -> None:
    """Mark answers as stored, from the caller's thread; every event loop is woken once."""
    for loop in {answer.loop for answer in answers}:
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(
                _set, [answer.stored for answer in answers if answer.loop is loop]
            )


def _set(stored: Sequence[asyncio.Future[None]]) -> None:
    for future in stored:
        if not future.done():  # a cancelled worker's future is done
            future.set_result(None)


@dataclass
class SharedState:
    """State shared by the workers of one call of `answer`."""

    answers: AnswerQueue
    loop: asyncio.AbstractEventLoop
    workers: int = 0
    """Workers that ask; each has one request in flight, or an answer that is not stored yet."""
    begin: Callable[[], object] = object
    """Starts another worker."""
    timer: asyncio.TimerHandle = field(init=False)
    """The call that starts more workers while no answer comes."""
    asleep: int = 0
    """Workers that wait before another attempt."""
    asking: int = 0
    """Requests that are being asked, those asleep among them."""
    failures: int = 0
    _came: list[Answer] = field(default_factory=list)

    @property
    def active(self) -> int:
        """The number of workers with a request in flight; others may replace those asleep."""
        return self.workers - self.asleep

    async def hand_over(self, request: Request, response: Response) -> None:
        """Pass an answer to the caller, with others of this loop turn; wait until it is stored."""
        stored = self.loop.create_future()
        self._came.append(Answer(request, response, stored, self.loop))
        if len(self._came) == 1:
            self.loop.call_soon(self.pass_on)
        await stored

    def pass_on(self) -> None:
        """Pass the collected answers to the caller."""
        answers = self._came
        self._came = []
        if answers:
            self.answers.put(answers)


def remaining_answers(queued: AnswerQueue) -> Iterator[Answer]:
    """Yield the answers that are left in the queue."""
    with suppress(queue.Empty):
        while True:
            answers = queued.get_nowait()
            if isinstance(answers, list):
                yield from answers


def batches(queued: AnswerQueue) -> Iterator[list[tuple[Request, Response]]]:
    """Yield answers in batches, an empty one after a second without any.

    A batch is released when the caller asks for the next. A batch that the caller cannot store is
    put back, and released when the asking ends: until then no further request is sent.
    """
    while True:
        try:
            entries = [queued.get(timeout=_TURN_SECONDS)]
        except queue.Empty:
            yield []
            continue
        with suppress(queue.Empty):
            while sum(len(entry) for entry in entries if isinstance(entry, list)) < _MAX_BATCH:
                entries.append(queued.get_nowait())
        answers = list(chain.from_iterable(entry for entry in entries if isinstance(entry, list)))
        if answers:
            try:
                yield [(answer.request, answer.response) for answer in answers]
            except GeneratorExit:
                queued.put(answers)
                raise
            release(answers)  # the caller has stored them
        for end in entries:
            if isinstance(end, BaseException):
                raise end
            if end is None:
                return
