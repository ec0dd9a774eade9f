"""The connection to a server: which key it is sent, how much of a reply is read, and what of the
key a reply may repeat.

`OPENAI_API_KEY` goes to OpenAI. A server on this machine gets it where the respondent's name says
so (`?key_env=OPENAI_API_KEY`), and any other server gets the variable that its name gives, which
cannot be that one.
"""

from __future__ import annotations

import asyncio
import base64
import importlib
import ipaddress
import json
import os
import queue
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, quote_plus, urlsplit

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
            place=place,
            remedy="Write ?key_env=NAME, and put the key into the variable NAME.",
        )
    address = _address(url)
    if variable == OPENAI_KEY and not is_openai(address) and not is_loopback(address):
        raise UsageError(
            f"{OPENAI_KEY} is sent to OpenAI and to servers of this machine only",
            place=place,
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
            f"the variable {wanted} is not set", place=place, remedy=f"Set {wanted}."
        )
    if not (key.isascii() and (key.isprintable() or not key)):
        what = f"the variable {wanted} holds characters that no key has"
        raise RespondentError(what, place=place, remedy=f"Correct {wanted}.")
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

    >>> is_loopback("http://127.0.0.1:8000/v1"), is_loopback("http://[::1]/v1"), is_loopback("http://10.0.0.1/v1")
    (True, True, False)
    """
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


_PATH = "/chat/completions"
_JSON = {"headers": {"Content-Type": "application/json"}}


class Client:
    """A client of the `openai` package that follows no redirection and reads no more than `largest`
    bytes of a reply.

    The package writes the head of the first request: address, key, headers. Later requests repeat
    that head with another body in the session that the package's aiohttp transport has opened,
    because writing a head anew, and its response in the classes of two libraries, takes longer than
    all the rest of a request. A request in flight has a connection of its own, which the next one
    takes over. Where the transport shows no session, or asks through a proxy, the package writes
    every request.

    Later requests have no limit of time of their own: the caller sets one for the whole of each.

    Raises
    ------
    openai.OpenAIError, ValueError
        The address cannot be used.
    """

    def __init__(
        self, url: str | None, key: str, *, timeout: float, largest: int, connections: int
    ) -> None:
        import openai

        self._largest = largest

        async def hold(response: Any) -> None:
            await _hold(response, largest)

        # the class says which library's limits it takes: the client has changed it before
        self._library = importlib.import_module(
            openai.DefaultAioHttpClient.__mro__[2].__module__.partition(".")[0]
        )
        self._http = openai.DefaultAioHttpClient(
            verify=urlsplit(_address(url)).scheme
            != "http",  # certificates take half a second to read
            follow_redirects=False,
            timeout=timeout,
            limits=self._library.Limits(
                max_connections=connections, max_keepalive_connections=connections
            ),
            event_hooks={"request": [self._remember], "response": [hold]},
        )
        self._client: Any = openai.AsyncOpenAI(
            base_url=url,
            # a server of one's own asks for no key, but the client insists on one
            api_key=key or _NO_KEY,
            max_retries=0,
            timeout=timeout,
            http_client=self._http,
            # compressed, a reply of a megabyte may unfold to a thousand
            default_headers={"Accept-Encoding": "identity"},
        )
        if not is_openai(str(self._client.base_url)):
            self._client.organization = self._client.project = None  # they are the user's at OpenAI
        self._first: Any = None
        """The first request, as the package wrote it."""
        self._transport: Any = None
        """What sends it, which opens its session then."""
        self._again: Callable[[bytes], Any] | None = None
        """Posts another body with the same head."""
        self._begun: asyncio.Event | None = None
        """Set once the first request is on its way, which all others wait for."""

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.close()

    async def post(self, body: bytes) -> bytes:
        """The reply to a chat completion, as it is: the package's models take longer to make than
        the reply to read.

        Raises
        ------
        openai.APIError
            The server answered with another status than success, or not at all, as the package says
            it.
        """
        if self._again is None and self._begun is not None:
            await self._begun.wait()
            self._again = self._repeating()
        if self._again is not None:
            return await self._post_again(self._again(body))
        self._begun = self._begun or asyncio.Event()
        try:
            return bytes(await self._client.post(_PATH, content=body, cast_to=bytes, options=_JSON))
        finally:
            self._begun.set()

    async def _remember(self, request: Any) -> None:
        # the transport by itself: the authentication and redirection that a client looks for around
        # it are not used
        choose = getattr(self._http, "_transport_for_url", None)
        if self._first is None and choose is not None:
            self._first, self._transport = request, choose(request.url)
        if self._begun is not None:
            self._begun.set()

    def _repeating(self) -> Callable[[bytes], Any] | None:
        """What posts a body with the head of the first request; None where the transport does not
        show how.
        """
        import aiohttp
        from multidict import CIMultiDict
        from yarl import URL

        session = getattr(self._transport, "client", None)
        if (
            not isinstance(session, aiohttp.ClientSession)
            or getattr(self._transport, "proxy", None) is not None
        ):
            return None
        names = (
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, value in self._first.headers.raw
        )
        head = CIMultiDict(
            (name, value) for name, value in names if name.lower() != "content-length"
        )
        url, endless = URL(str(self._first.url)), aiohttp.ClientTimeout()
        return lambda body: session.post(
            url,
            data=body,
            headers=head,
            allow_redirects=False,
            auto_decompress=False,
            timeout=endless,
        )

    async def _post_again(self, posted: Any) -> bytes:
        import aiohttp
        import openai

        try:
            async with posted as reply:
                content = await _read(reply, self._largest)
        except (
            aiohttp.ClientConnectionError
        ) as error:  # the names that the package's transport gives them
            raise openai.APITimeoutError(request=self._first) from error
        except aiohttp.ClientPayloadError as error:
            raise openai.APIConnectionError(request=self._first) from error
        if not 200 <= reply.status < 300:
            raise _refusal(
                self._library.Response(
                    reply.status, headers=reply.raw_headers, content=content, request=self._first
                )
            )
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
    said = headers.get("Content-Length", "")
    if said.isdecimal() and int(said[:20]) > largest:
        raise ReplyTooLarge(f"the reply has {said[:20]} bytes, more than {largest}")
    if headers.get("Content-Encoding", "identity").strip().lower() not in ("", "identity"):
        raise ReplyTooLarge("the reply is compressed, which was not asked for")


def _refusal(response: Any) -> Exception:
    """The error that the package raises for a reply of another status than success."""
    import openai

    text = response.text.strip()
    try:
        body = json.loads(text)
    except ValueError:
        body = text
    error = body.get("error", body) if isinstance(body, dict) else body
    said = error.get("message") if isinstance(error, dict) else None
    message = f"Error code: {response.status_code}" + (
        f" - {said}" if isinstance(said, str) and said else ""
    )
    return openai.APIStatusError(message, response=response, body=error)


async def _hold(response: Any, largest: int) -> None:
    """Count a reply's bytes while it is read, and stop at the limit."""
    _check_size(response.headers, largest)
    # the client has changed the library that it speaks HTTP with: take the one that this reply
    # comes from
    streams: Any = importlib.import_module(type(response).__module__.partition(".")[0])
    inner = response.stream

    class Counted(streams.AsyncByteStream):  # type: ignore[misc]
        async def __aiter__(self) -> Any:
            size = 0
            async for part in inner:
                size += len(part)
                if size > largest:
                    raise ReplyTooLarge(f"the reply is larger than {largest} bytes")
                yield part

        async def aclose(self) -> None:
            await inner.aclose()

    response.stream = Counted()


class Redaction:
    """Takes a key out of whatever a server says, in the spellings that a server may give it.

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
    """A server's words as one line of a sentence: short, and without what would steer a terminal.

    >>> shown("too\\x1b[2J   large")
    'too\ufffd[2J large'
    """
    line = " ".join(text.split())[:300]
    return "".join(character if character.isprintable() else "\ufffd" for character in line)


# ----------------------------------------------------------------------
# How answers go from the workers that ask a server to the caller that stores them.
#
# A worker begins its next request when its answer is stored. Answers that come at about the same
# time are handed over together, because waking the other thread takes a busy machine longer than
# an answer.
# ----------------------------------------------------------------------

_TURN_SECONDS = 1.0
"""Seconds without an answer after which the caller has a turn."""
_TOGETHER = 100
"""Answers that are handed over together at most, where many have come."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer on its way to the caller, and what the worker that asked waits for."""

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
class Floor:
    """What the workers of one asking share."""

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
    parked: int = 0
    failures: int = 0
    denied: list[tuple[Request, Response]] = field(default_factory=list)
    """Requests answered by 403 before anything else was answered."""
    _came: list[Answer] = field(default_factory=list)

    @property
    def active(self) -> int:
        """Workers that are in flight or about to be; where some sleep, as many others may ask when
        an answer comes.
        """
        return self.workers - self.asleep

    async def hand_over(self, request: Request, response: Response) -> None:
        """Give an answer to the caller, with the others that this turn of the loop brings, and wait
        until it is stored.
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
    """What has come in, batch by batch, and an empty one where a second brought nothing; released
    when the caller is back.
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
            yield [(answer.request, answer.response) for answer in answers]
            release(answers)  # the caller has stored them
        for end in came:
            if isinstance(end, BaseException):
                raise end
            if end is None:
                return
