"""What a respondent is: a name, an identity, and a way to answer requests.

A name is a kind (`hqm.respondents.kinds`), a slash and what that kind asks. Settings may follow as
in a web address (`hf/shapes:steady?temperature=0.2`); the name prints as it parses.
"""

from __future__ import annotations

import base64
import difflib
import math
import mimetypes
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from hqm.errors import UsageError
from hqm.imports.log_answers import Recording
from hqm.respondents.kinds import Kind, kind_of, unknown
from hqm.signature import digest
from hqm.text import KEY
from hqm.types import Response


@dataclass(frozen=True, slots=True)
class Sampling:
    """How answers are drawn; part of a respondent's identity.

    A temperature of 0 means the likeliest token each time. `seed` is the base seed that every
    request's own seed is derived from.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    max_tokens: int = 64
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < math.inf or not 0 < self.top_p <= 1 or self.max_tokens < 1:
            raise UsageError(
                f"temperature {self.temperature:g}, top-p {self.top_p:g}, max tokens"
                f" {self.max_tokens} cannot be used",
                remedy=(
                    "Temperature is at least 0, top-p above 0 and at most 1, max tokens at least 1."
                ),
            )


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a respondent: the text, the picture's file, how to draw the answer, and its
    own seed.

    `words` are the answers whose probability as the first token is to be recorded; the answer does
    not depend on them.
    """

    prompt: str
    image: Path | None
    sampling: Sampling
    seed: int
    benchmark: str = ""
    form: str = ""
    run: int = 0
    item: str = ""
    schema: Mapping[str, Any] | None = None
    """A JSON schema that the reply should follow, for a server that can enforce one."""
    words: tuple[str, ...] = ()
    resolution: str = ""
    """The percentage to which the picture was scaled; empty where it is shown as it is."""


class Respondent(Protocol):
    """Whatever answers."""

    @property
    def name(self) -> str:
        """As the user wrote it; prints and parses back equal."""

    @property
    def live(self) -> bool:
        """Whether it looks at pictures when asked; a recorded one does not."""

    def identity(self) -> Mapping[str, Any]:
        """Everything beside the sampling that its answers depend on: weights, revision, device,
        dtype.
        """

    def answer(self, requests: Sequence[Request]) -> Iterator[list[tuple[Request, Response]]]:
        """Answer requests, batch by batch, in any order; a request that fails comes back in the
        state `error`.

        Raises
        ------
        RespondentError
            The respondent cannot go on at all; batches yielded before are kept.
        """

    def close(self) -> None:
        """Free what it holds."""


_REACHED = frozenset({"kind", "base_url", "device", "dtype", "attention", "vllm", "seed"})
"""The parts of an identity that say how a respondent is reached or run, and the base seed, which is
hashed beside it.
"""
_OF_THE_MODEL = frozenset(
    {"quantization", "hf_overrides", "lora_modules", "chat_template", "mm_processor_kwargs"}
)
"""The options of `vllm serve` that make another model of the same weights."""


def who_answers(name: str, identity: Mapping[str, Any]) -> str:
    """The content hash of an identity without how the respondent is reached; it is part of every
    request's seed.

    A model that runs here is told by the content of its folder, any other by its name and revision,
    and what names no model by the respondent's name; the sampling (all but the base seed) belongs
    to it too. The kind of respondent, a server's address, the device, the number format and the
    engine's version do not. So one model gives its requests the same seeds on two servers, or here
    and under vLLM, and two models never do. A server that was given a folder under a name of its
    own is known by that name only.

    >>> here = {"kind": "openai", "model": "llava", "base_url": "http://127.0.0.1:8000/v1"}
    >>> there = {**here, "base_url": "http://127.0.0.1:9000/v1"}
    >>> who_answers("openai/llava@http://127.0.0.1:8000/v1", here) == who_answers("x", there)
    True
    >>> who_answers("openai/llava", here) == who_answers("openai/qwen", {**here, "model": "qwen"})
    False
    """
    parts = {key: value for key, value in identity.items() if key not in _REACHED}
    if identity.get("kind") == "vllm":
        options_given = {
            key.replace("-", "_"): value for key, value in parts.pop("options", {}).items()
        }
        parts["options"] = {
            key: value for key, value in options_given.items() if key in _OF_THE_MODEL
        }
    if not parts.get("weights") and not parts.get("model"):
        parts["name"] = name
    if parts.get(
        "weights"
    ):  # the folder's content says all that its path, and the prompt form told from it, can say
        for key in ("model", "revision", "prompt"):
            parts.pop(key, None)
    if parts.get("revision") == "main":
        del parts["revision"]  # what a hub gives where no revision is named
    return digest({key: value for key, value in parts.items() if value not in (None, "", {})})


_ADDRESS = re.compile(r"@([A-Za-z][A-Za-z0-9+.-]*:/.*)", re.DOTALL)
_SECRET = re.compile(
    r"(api|access|auth|secret).?(key|token)|^(key|token|secret|password|authorization|bearer)$",
    re.I,
)
_KEY_IN_PATH = re.compile(
    r"(?i:sk|pk|rk|gsk|xai|tok|token|key|api.?key|secret|bearer)[-_.:=].{3,}"
    r"|(?=(?:[A-Za-z]*\d){3})(?=\d*[A-Za-z])[A-Za-z0-9]{20,}"
)
"""What a part of an address is when it is likely a key: it begins as one, or is long and drawn at
random.
"""
_NEAR = 0.84
"""How alike a setting that is handed on must be to one of ours to be taken for its misspelling."""
_KEYS = (
    "A name is stored and printed. Put the key into an environment variable and name that:"
    " ?key_env=NAME."
)


def _check_address(at: str, place: str) -> None:
    """Refuse what is no address of a server, and one with a user's name or password in it, which is
    not repeated.
    """
    if "@" in at:
        raise UsageError(
            "the address holds a user's name or password", location=place, remedy=_KEYS
        )
    parts_of_path = re.split(r"[/?&;,]", unquote(at))
    if KEY.search(unquote(at)) or any(map(_KEY_IN_PATH.fullmatch, parts_of_path)):
        remedy = (
            f"{_KEYS} An address that cannot do without it goes into the variable OPENAI_BASE_URL."
        )
        raise UsageError("the address holds a key", location=place, remedy=remedy)
    try:
        parts = urlsplit(at)
        usable = (
            parts.scheme in ("http", "https")
            and bool(parts.hostname)
            and parts.port != 0
            and not parts.fragment
        )
    except ValueError:  # a port of 99999, half an IPv6 address
        usable = False
    if not usable or not at.isprintable() or " " in at:
        raise UsageError(
            f"the address {at!r} cannot be used",
            location=place,
            remedy="Write http://HOST:PORT/v1.",
        )


def _check_settings(kind: Kind, settings: Sequence[tuple[str, str]], place: str) -> None:
    """Refuse keys, settings that the kind does not have, and one that is given twice; no value is
    repeated.
    """
    names = [name for name, _ in settings]
    known = (*(field.name for field in fields(Sampling)), *(kind.settings or ()))
    for name in names:
        if _SECRET.search(name):
            raise UsageError(f"{name}= would put a key into the name", location=place, remedy=_KEYS)
        if names.count(name) > 1:
            raise UsageError(
                f"the setting {name} is given twice", location=place, remedy="Give it once."
            )
        if kind.settings is None or name in known:
            continue
        near = difflib.get_close_matches(name.lower(), known, 1, _NEAR if kind.passes_on else 0.5)
        if near or not kind.passes_on:
            meant = f"Did you mean {near[0]}? " if near else ""
            raise UsageError(
                f"there is no setting {name!r}",
                location=place,
                remedy=f"{meant}The settings are {', '.join(known)}.",
            )


@dataclass(frozen=True, slots=True)
class RespondentName:
    """A respondent's name, taken apart.

    >>> RespondentName.parse("hf/llava-1.5-7b-hf@main?batch=8")
    RespondentName(kind='hf', target='llava-1.5-7b-hf', at='main', settings=(('batch', '8'),))
    >>> str(RespondentName.parse("openai/gpt-4o@http://127.0.0.1:8000/v1"))
    'openai/gpt-4o@http://127.0.0.1:8000/v1'
    """

    kind: str
    target: str
    at: str = ""
    settings: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, text: str) -> RespondentName:
        """Read a name.

        Raises
        ------
        UsageError
            There is no such kind of respondent, or no such setting; the error lists the kinds, or
            names the nearest setting. The address is no web address, or a key stands in the name.
        """
        name, slash, rest = text.partition("/")
        kind = kind_of(name) if slash and rest else None
        if kind is None:
            raise unknown(text)
        if not kind.live:  # a file's name may have any character in it
            return cls(name, rest)
        rest, _, query = rest.partition("?")
        settings = tuple(parse_qsl(query, keep_blank_values=True))
        address = _ADDRESS.search(rest) if "address" in kind.behind else None
        if address is not None:
            target, sign, at = rest[: address.start()], "@", address[1]
            _check_address(at, f"{name}/{target}")
        else:
            # what stands behind the last @ belongs to the target unless it is what this kind knows
            # there
            target, sign, at = rest.rpartition("@")
        known = address is not None or ("revision" in kind.behind and "/" not in at)
        made = cls(name, target, at, settings) if sign and known else cls(name, rest, "", settings)
        _check_settings(kind, settings, f"{made.kind}/{made.target}")
        return made

    def __str__(self) -> str:
        at = f"@{self.at}" if self.at else ""
        query = f"?{urlencode(self.settings)}" if self.settings else ""
        return f"{self.kind}/{self.target}{at}{query}"

    def sampling(self, default: Sampling) -> Sampling:
        """The sampling that the name asks for, the rest from `default`."""
        kinds = {field.name: type(getattr(default, field.name)) for field in fields(default)}
        changes: dict[str, Any] = {}
        for key, value in self.settings:
            if key not in kinds:
                continue
            try:
                changes[key] = kinds[key](value)
            except ValueError:
                raise UsageError(f"{key}={value!r} is no number", location=str(self)) from None
        return replace(default, **changes)

    def option(self, key: str, default: str = "") -> str:
        """A setting that is not about sampling."""
        return dict(self.settings).get(key, default)

    def flag(self, key: str) -> bool:
        """A setting that is yes or no.

        >>> RespondentName.parse("hf/x?trust_remote_code=yes").flag("trust_remote_code")
        True
        """
        answers = {"yes": True, "true": True, "no": False, "false": False, "": False}
        text = self.option(key)
        if text.lower() not in answers:
            raise UsageError(f"{key}={text!r} is neither yes nor no", location=str(self))
        return answers[text.lower()]

    def number(self, key: str, default: float) -> float:
        """A setting that is a number from 0 up.

        >>> RespondentName.parse("openai/x?concurrency=4").number("concurrency", 16)
        4.0
        """
        text = self.option(key, str(default))
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not 0 <= value < float("inf"):
            raise UsageError(f"{key}={text!r} is no number from 0 up", location=str(self))
        return value


def prices_in(name: RespondentName) -> tuple[float, float] | None:
    """Money per million tokens read and written, as a name gives it.

    >>> prices_in(RespondentName.parse("openai/x?price_in=3"))
    (3.0, 3.0)
    """
    if not (name.option("price_in") or name.option("price_out")):
        return None
    read = name.number("price_in", 0)
    return read, name.number("price_out", read)


# Saying that something takes long: whoever loads a model or computes for minutes names it, and a
# command may listen.
#
#     with waiting("loading hf/llava-hf/llava-1.5-7b-hf"):
#         ...
#
# Nobody listens unless `listening` says so. A worker process sends what it waits for to its
# driver, who listens there.

Listener = Callable[[str, bool], None]
"""Called with what is waited for when that begins (True) and when it has ended (False)."""

_listeners: list[Listener] = []
_idle: list[str] = []


@contextmanager
def waiting(what: str, *, idle: bool = True) -> Iterator[None]:
    """Name what the block does while it runs: a participle and its object, `loading
    hf/shapes:steady`.

    Without `idle`, somebody else does it, and this process may have other work in hand.
    """
    if idle:
        _idle.append(what)
    tell(what, True)
    try:
        yield
    finally:
        tell(what, False)
        if idle:
            _idle.remove(what)


def tell(what: str, begins: bool) -> None:
    """Tell whoever listens that a wait begins or has ended."""
    for listener in _listeners:
        listener(what, begins)


def is_idle() -> bool:
    """Whether this process does nothing but wait for what it has named."""
    return bool(_idle)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Have the waits of this process told while the block runs."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


# Answers recorded earlier, replayed as a respondent: they take the same way into the store as
# live ones.


class RecordedRespondent:
    """One respondent of a file of recorded answers.

    Parameters
    ----------
    name
        Its name in tables.
    recordings
        Its administrations; a request for a form, run and resolution that is not among them is
        answered by `missing`.
    """

    live = False

    def __init__(self, name: str, recordings: Sequence[Recording]) -> None:
        self._name = name
        self._by_cell = {(r.form, r.run, r.resolution): r.answers for r in recordings}

    @property
    def name(self) -> str:
        return self._name

    @property
    def cells(self) -> tuple[tuple[str, int, str], ...]:
        """The forms, runs and resolutions it was recorded in."""
        return tuple(self._by_cell)

    def identity(self) -> Mapping[str, Any]:
        return {"kind": "recorded", "answers": self._digest}

    @cached_property
    def _digest(self) -> str:
        parts = {
            f"{form}#{run}{f'@{scale}' if scale else ''}": digest(
                # what a tool made of an answer belongs to it where the tool's scores are audited
                {
                    key: [r.text, r.state, *([r.detail["scores"]] if "scores" in r.detail else [])]
                    for key, r in answers.items()
                }
            )
            for (form, run, scale), answers in self._by_cell.items()
        }
        return digest(parts)

    def answers_in(self, form: str, run: int, resolution: str = "") -> Mapping[str, Response]:
        """Item id -> the answer that was recorded in an administration."""
        return self._by_cell.get((form, run, resolution), {})

    def answer(self, requests: Sequence[Request]) -> Iterator[list[tuple[Request, Response]]]:
        options_given = (
            (r, self.answers_in(r.form, r.run, r.resolution).get(r.item)) for r in requests
        )
        pairs = [(request, response) for request, response in options_given if response is not None]
        for start in range(0, len(pairs), 5000):
            yield pairs[start : start + 5000]

    def close(self) -> None:
        """Nothing is held."""


# A picture as a server wants it: a data URL that says what the bytes are.


@lru_cache(maxsize=64)
def picture_part(path: Path) -> bytes:
    """A picture as the part of a message, in JSON, written once per picture: its requests come one
    after another.
    """
    content = path.read_bytes()
    kind = _kind(content) or mimetypes.guess_type(path.name)[0] or "image/png"
    # nothing in a data URL wants escaping
    url = b"data:%b;base64,%b" % (kind.encode(), base64.b64encode(content))
    return b'{"type": "image_url", "image_url": {"url": "%b"}}' % url


def _kind(content: bytes) -> str:
    """What the bytes are, whatever the file is called; servers look at what they are told."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    kinds = {
        b"\x89PNG": "image/png",
        b"\xff\xd8\xff": "image/jpeg",
        b"GIF8": "image/gif",
        b"BM": "image/bmp",
    }
    return next((kind for mark, kind in kinds.items() if content.startswith(mark)), "")
