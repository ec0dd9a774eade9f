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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, quote_plus, urlsplit
from urllib.request import getproxies, proxy_bypass

from hqm.errors import RespondentError, UsageError
from hqm.respondents.base import Request
from hqm.types import Response

OPENAI_KEY = "OPENAI_API_KEY"
_OPENAI_URL = "https://api.openai.com/v1"
_NO_KEY = "none"
_SHORTEST = 6
"""Characters of a key below which it is a word that stands for none ("EMPTY"), and may occur in an
answer.
"""


class ReplyTooLarge(ValueError):  # noqa: N818 (it says what is wrong)
    """A reply that is not read to its end."""


class RefusedRequest(Exception):  # noqa: N818 (it says what the server did)
    """A reply with another status than success."""

    def __init__(self, status: int, headers: Mapping[str, str], content: bytes) -> None:
        text = content.decode("utf-8", "replace").strip()
        try:
            body = json.loads(text)
        except ValueError:
            body = text
        error = body.get("error", body) if isinstance(body, dict) else body
        fields = error if isinstance(error, dict) else {}
        reason = fields.get("message")
        self.status, self.headers, self.code = status, headers, fields.get("code")
        self.message = f"{status}: {reason}" if isinstance(reason, str) and reason else f"{status}"
        super().__init__(self.message)


def check_variable(url: str | None, variable: str, place: str) -> None:
    """Check the variable that a respondent's name gives for its key.

    Raises
    ------
    UsageError
        It is no variable's name, or would send OpenAI's key to somebody else's server.
    """
    if variable and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", variable):
        raise UsageError(
            "key_env does not give the name of an environment variable",
            location=place,
            remedy="Write ?key_env=NAME, and put the key into the variable NAME.",
        )
    address = _address(url)
    if variable == OPENAI_KEY and not is_openai(address) and not is_loopback(address):
        raise UsageError(
            f"{OPENAI_KEY} is sent to OpenAI and to servers of this machine only",
            location=place,
            remedy=(
                "Put this server's key into a variable of its own, and name that with"
                " ?key_env=NAME."
            ),
        )


def _address(url: str | None) -> str:
    """The address that is asked; the client has one of its own."""
    return url or os.environ.get("OPENAI_BASE_URL") or _OPENAI_URL


def key_for(url: str | None, variable: str, place: str) -> str:
    """The key that a server is sent; empty for a server that is sent none.

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
    wanted = variable or (OPENAI_KEY if is_openai(_address(url)) else "")
    key = os.environ.get(wanted, "").strip() if wanted else ""
    if wanted and not key:
        raise RespondentError(
            f"the variable {wanted} is not set", location=place, remedy=f"Set {wanted}."
        )
    if not (key.isascii() and (key.isprintable() or not key)):
        what = f"the variable {wanted} holds characters that no key has"
        raise RespondentError(what, location=place, remedy=f"Correct {wanted}.")
    return key


def is_openai(url: str) -> bool:
    """Whether an address is OpenAI's own, reached by an encrypted connection.

    >>> is_openai("https://api.openai.com/v1"), is_openai("https://api.openai.com.example.org/v1")
    (True, False)
    """
    parts = urlsplit(url)
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


class Client:
    """Posts chat completions to one server, and reads no more than `largest` bytes of a reply.

    The `openai` package says where a request goes and what its head holds: address, key, headers.
    aiohttp posts it, because the package's own way of writing a request and reading its response
    takes longer than all the rest. No redirection is followed, and no request has a limit of time:
    the caller sets one for the whole of each.

    Raises
    ------
    openai.OpenAIError, ValueError
        The address cannot be used.
    """

    def __init__(self, url: str | None, key: str, *, largest: int, connections: int) -> None:
        import openai

        package = openai.AsyncOpenAI(
            base_url=url,
            # a server of one's own asks for no key, but the package insists on one
            api_key=key or _NO_KEY,
            # compressed, a reply of a megabyte may unfold to a thousand
            default_headers={"Accept-Encoding": "identity"},
            # never used; to read certificates for it would take half a second
            http_client=openai.DefaultAsyncHttpxClient(verify=False),
        )
        base = str(package.base_url).rstrip("/")
        if not is_openai(base):
            package.organization = package.project = None  # they are the user's at OpenAI
        head = {**package.default_headers, **package.auth_headers}
        self._headers = {name: value for name, value in head.items() if isinstance(value, str)}
        self._url = f"{base}/chat/completions"
        self._largest, self._connections = largest, connections

    async def __aenter__(self) -> Client:
        import aiohttp

        parts = urlsplit(self._url)
        proxies = {} if proxy_bypass(parts.netloc) else getproxies()
        context: Any = True
        if parts.scheme == "https":
            import certifi

            trusted = os.environ.get("SSL_CERT_FILE") or certifi.where()
            context = ssl.create_default_context(cafile=trusted)
        self._session = aiohttp.ClientSession(
            headers=self._headers,
            connector=aiohttp.TCPConnector(limit=self._connections, ssl=context),
            cookie_jar=aiohttp.DummyCookieJar(),
            proxy=proxies.get(parts.scheme) or proxies.get("all"),
            timeout=aiohttp.ClientTimeout(),
            auto_decompress=False,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def post(self, body: bytes) -> bytes:
        """Return the reply to a chat completion, as it is.

        Raises
        ------
        RefusedRequest
            The server answered with another status than success.
        ReplyTooLarge
            The reply has more than `largest` bytes, or is compressed.
        aiohttp.ClientError
            The server cannot be reached, or the connection broke off.
        """
        async with self._session.post(self._url, data=body, allow_redirects=False) as reply:
            content = await _read(reply, self._largest)
        if not 200 <= reply.status < 300:
            raise RefusedRequest(reply.status, reply.headers, content)
        return content


async def _read(reply: Any, largest: int) -> bytes:
    """A reply's bytes, which are counted while they come.

    Raises
    ------
    ReplyTooLarge
        There are more than `largest`.
    """
    _check_size(reply.headers, largest)
    read = reply.content.readany
    content: bytes = await read()
    if len(content) <= largest and not reply.content.at_eof():
        parts, size = [content], len(content)
        while size <= largest and (part := await read()):
            parts.append(part)
            size += len(part)
        content = b"".join(parts)
    if len(content) > largest:
        raise ReplyTooLarge(f"the reply is larger than {largest} bytes")
    return content


def _check_size(headers: Mapping[str, str], largest: int) -> None:
    length = headers.get("Content-Length", "")[:20]
    if length.isdecimal() and int(length) > largest:
        raise ReplyTooLarge(f"the reply has {length} bytes, more than {largest}")
    if headers.get("Content-Encoding", "identity").strip().lower() not in ("", "identity"):
        raise ReplyTooLarge("the reply is compressed, which was not asked for")


class Redaction:
    """Remove a key from a server's texts, in any spelling that a server may give it.

    Examples
    --------
    >>> Redaction("sk-abcdef")("no such key: Bearer sk-abcdef")
    'no such key: Bearer [key removed]'
    """

    mark = "[key removed]"

    def __init__(self, key: str) -> None:
        key = key if len(key) >= _SHORTEST else ""
        encoded = base64.b64encode(key.encode()).decode().rstrip("=")
        spellings = {
            key,
            quote(key, safe=""),
            quote_plus(key),
            key.replace("/", "\\/"),
            encoded,
            key[::-1],
        } - {""}
        ordered = sorted(spellings, key=len, reverse=True)
        self._pattern = (
            re.compile("|".join(map(re.escape, ordered)), re.IGNORECASE) if key else None
        )

    def __call__(self, text: str) -> str:
        return self._pattern.sub(self.mark, text) if self._pattern else text

    def response(self, response: Response) -> Response:
        """The same response without the key in its text, its reason and its details."""
        if self._pattern is None:
            return response
        return response._replace(
            text=self(response.text),
            reason=self(response.reason),
            detail=self._value(response.detail),
        )

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self(value)
        if isinstance(value, Mapping):
            return {self._value(name): self._value(member) for name, member in value.items()}
        return (
            [self._value(member) for member in value] if isinstance(value, (list, tuple)) else value
        )


def shown(text: str) -> str:
    """Return a server's text as one short line without control characters.

    >>> shown("too\\x1b[2J   large")
    'too\ufffd[2J large'
    """
    line = " ".join(text.split())[:300]
    return "".join(character if character.isprintable() else "\ufffd" for character in line)


# How answers go from the workers that ask a server to the caller that stores them.
#
# A worker begins its next request when its answer is stored. Answers that come at about the same
# time are handed over together, because waking the other thread takes a busy machine longer than
# an answer.

_TURN_SECONDS = 1.0
"""Seconds without an answer after which the caller has a turn."""
_TOGETHER = 100
"""Answers that are handed over together at most, where many have come."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer on its way to the caller, with the future that its worker awaits."""

    request: Request
    response: Response
    stored: asyncio.Future[None]
    loop: asyncio.AbstractEventLoop


Done = queue.SimpleQueue[list[Answer] | BaseException | None]
"""What the workers hand over: answers, in the end None, or what ended them."""


def release(answers: Sequence[Answer]) -> None:
    """Say, from the caller's thread, that these answers are stored: every loop is woken once."""
    for loop in {answer.loop for answer in answers}:
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(
                _set, [answer.stored for answer in answers if answer.loop is loop]
            )


def _set(stored: Sequence[asyncio.Future[None]]) -> None:
    for each in stored:
        if not each.done():  # its worker was ended
            each.set_result(None)


@dataclass
class SharedState:
    """State shared by the workers of one call of `answer`."""

    done: Done
    loop: asyncio.AbstractEventLoop
    workers: int = 0
    """Workers that ask; each has one request in flight, or an answer that is not stored yet."""
    begin: Callable[[], object] = object
    """Begins another worker."""
    later: asyncio.TimerHandle = field(init=False)
    """What is done where no answer comes."""
    asleep: int = 0
    """Workers that wait before they ask once more."""
    failures: int = 0
    _came: list[Answer] = field(default_factory=list)

    @property
    def active(self) -> int:
        """Workers that are in flight or about to be; where some sleep, as many others may ask when
        an answer comes.
        """
        return self.workers - self.asleep

    async def hand_over(self, request: Request, response: Response) -> None:
        """Hand an answer to the caller, with others of this loop turn, and wait until it is
        stored.
        """
        stored = self.loop.create_future()
        self._came.append(Answer(request, response, stored, self.loop))
        if len(self._came) == 1:
            self.loop.call_soon(self.pass_on)
        await stored

    def pass_on(self) -> None:
        """Give the caller what has come."""
        came, self._came = self._came, []
        if came:
            self.done.put(came)


def waiting(done: Done) -> Iterator[Answer]:
    """The answers that nobody has taken."""
    with suppress(queue.Empty):
        while True:
            came = done.get_nowait()
            if isinstance(came, list):
                yield from came


def batches(done: Done) -> Iterator[list[tuple[Request, Response]]]:
    """Yield answers in batches, an empty one after a second without any.

    A batch is released when the caller comes back for the next. One that the caller cannot store is
    put back, for whoever ends the asking to release: until then nothing more is asked.
    """
    while True:
        try:
            came = [done.get(timeout=_TURN_SECONDS)]
        except queue.Empty:
            yield []
            continue
        with suppress(queue.Empty):
            while sum(len(part) for part in came if isinstance(part, list)) < _TOGETHER:
                came.append(done.get_nowait())
        answers = [answer for part in came if isinstance(part, list) for answer in part]
        if answers:
            try:
                yield [(answer.request, answer.response) for answer in answers]
            except GeneratorExit:
                done.put(answers)
                raise
            release(answers)  # the caller has stored them
        for end in came:
            if isinstance(end, BaseException):
                raise end
            if end is None:
                return
