"""Respondents: a name, an identity, and a way to answer requests.

A name is a kind (`hqm.respondents.kinds`), a slash and the kind's target. Settings may follow as
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
from hqm.imports.recordings import Recording
from hqm.respondents.kinds import Kind, kind_of, unknown
from hqm.signature import digest
from hqm.text import KEY, MAX_ADDRESSED_CHARS, check_name
from hqm.types import Response


@dataclass(frozen=True, slots=True)
class Sampling:
    """The parameters by which answers are sampled; part of a respondent's identity.

    A temperature of 0 means the likeliest token each time. `seed` is the base seed that every
    request's own seed is derived from.

    Parameters
    ----------
    temperature
        0 means the likeliest token each time.
    top_p
        The share of probability that tokens are drawn from.
    max_tokens
        The longest answer.
    seed
        The base seed, which the seed of each request is derived from.
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
    """One question to a respondent: the text, the picture's file, the sampling, and the seed.

    `words` are the answers whose probability as the first token is to be recorded; the answer does
    not depend on them.

    Parameters
    ----------
    prompt, image
        The text and the file of the picture.
    sampling, seed
        How the answer is drawn, and the seed of this request.
    benchmark, form, run, item
        What is asked; for respondents that look answers up.
    schema
        A JSON schema that the reply should follow, for a server that can enforce one.
    words
        Answers whose probability as the first token is recorded; the answer does not depend on
        them.
    resolution
        The percentage to which the picture was scaled; empty where it is shown as it is.
    """

    prompt: str
    image: Path | None
    sampling: Sampling
    seed: int
    benchmark: str = ""
    form: str = ""
    run: int = 0
    item: str = ""
    schema: Mapping[str, object] | None = None
    words: tuple[str, ...] = ()
    resolution: str = ""


class Respondent(Protocol):
    """A model, a server or a recorded file that answers requests."""

    @property
    def name(self) -> str:
        """As the user wrote it; prints and parses back equal."""

    @property
    def live(self) -> bool:
        """Whether it looks at pictures when asked; a recorded one does not."""

    def identity(self) -> Mapping[str, object]:
        """Return what its answers depend on, but the sampling: weights, revision, device, dtype."""

    def answer(self, requests: Sequence[Request]) -> Iterator[list[tuple[Request, Response]]]:
        """Answer requests, batch by batch, in any order.

        A request that fails comes back in the state `error`.

        Raises
        ------
        RespondentError
            The respondent cannot go on at all; batches yielded before are kept.
        """

    def close(self) -> None:
        """Free its memory and connections."""


_ACCESS_KEYS = frozenset({"kind", "base_url", "device", "dtype", "attention", "vllm", "seed"})
"""The keys of an identity for the access to a respondent, its device, and the base seed, which is
hashed beside the identity.
"""
_MODEL_OPTIONS = frozenset(
    {"quantization", "hf_overrides", "lora_modules", "chat_template", "mm_processor_kwargs"}
)
"""The options of `vllm serve` that change the model that its weights make."""


def who_answers(name: str, identity: Mapping[str, object]) -> str:
    """The content hash of an identity without its access; it is part of every request's seed.

    A local model is identified by the content of its folder, any other by its name and revision,
    and a respondent without a model by its name; the sampling (all but the base seed) is part of
    it. The kind of respondent, a server's address, the device, the number format and the engine's
    version are not. So one model gives its requests the same seeds on two servers, or here and
    under vLLM, and two models never do. A server that serves a folder under another name is
    identified by that name only.

    >>> here = {"kind": "openai", "model": "llava", "base_url": "http://127.0.0.1:8000/v1"}
    >>> there = {**here, "base_url": "http://127.0.0.1:9000/v1"}
    >>> who_answers("openai/llava@http://127.0.0.1:8000/v1", here) == who_answers("x", there)
    True
    >>> who_answers("openai/llava", here) == who_answers("openai/qwen", {**here, "model": "qwen"})
    False
    """
    parts = {key: value for key, value in identity.items() if key not in _ACCESS_KEYS}
    if identity.get("kind") == "vllm":
        identity_options = parts.pop("options", None)
        # an identity of a store may hold anything in their place
        options = identity_options if isinstance(identity_options, Mapping) else {}
        parts["options"] = {
            key.replace("-", "_"): value
            for key, value in options.items()
            if key.replace("-", "_") in _MODEL_OPTIONS
        }
    if not parts.get("weights") and not parts.get("model"):
        parts["name"] = name
    # the hash of the folder's content covers its path and the prompt form that is read from it
    if parts.get("weights"):
        for key in ("model", "revision", "prompt"):
            parts.pop(key, None)
    if parts.get("revision") == "main":
        del parts["revision"]  # a hub's default
    return digest({key: value for key, value in parts.items() if value not in (None, "", {})})


_ADDRESS = re.compile(r"@([A-Za-z][A-Za-z0-9+.-]*:/.*)", re.DOTALL)
_SECRET = re.compile(
    r"(api|access|auth|secret).?(key|token)|^(key|token|secret|password|authorization|bearer)$",
    re.I,
)
# Three digits at least, so that a long word is no key.
_KEY_IN_PATH = re.compile(
    r"(?i:sk|pk|rk|gsk|xai|tok|token|key|api.?key|secret|bearer)[-_.:=].{3,}"
    r"|(?=(?:[A-Za-z]*\d){3})(?=\d*[A-Za-z])[A-Za-z0-9]{20,}"
)
"""A part of an address that is likely a key: it begins as one, or is long and random."""
_MIN_SIMILARITY = 0.84
"""Similarity from which a setting that is passed on counts as a misspelling of one of ours."""
_KEYS = (
    "A name is stored and printed. Put the key into an environment variable and name that:"
    " ?key_env=NAME."
)


def _check_address(address: str, location: str) -> None:
    """Refuse an address that no server has, or that holds a password or key (never repeated)."""
    if "@" in address:
        raise UsageError(
            "the address holds a user's name or password", location=location, remedy=_KEYS
        )
    parts_of_path = re.split(r"[/?&;,]", unquote(address))
    if KEY.search(unquote(address)) or any(map(_KEY_IN_PATH.fullmatch, parts_of_path)):
        remedy = (
            f"{_KEYS} An address that cannot do without it goes into the variable OPENAI_BASE_URL."
        )
        raise UsageError("the address holds a key", location=location, remedy=remedy)
    try:
        parts = urlsplit(address)
        usable = (
            parts.scheme in ("http", "https")
            and bool(parts.hostname)
            and parts.port != 0
            and not parts.fragment
        )
    except ValueError:  # a port of 99999, half an IPv6 address
        usable = False
    if not usable or not address.isprintable() or " " in address:
        raise UsageError(
            f"the address {address!r} cannot be used",
            location=location,
            remedy="Write http://HOST:PORT/v1.",
        )


def _check_settings(kind: Kind, settings: Sequence[tuple[str, str]], location: str) -> None:
    """Refuse keys, unknown settings, and one that occurs twice, without repeating a value."""
    names = [name for name, _ in settings]
    choices = (*(field.name for field in fields(Sampling)), *(kind.settings or ()))
    for name in names:
        if _SECRET.search(name):
            raise UsageError(
                f"{name}= would put a key into the name", location=location, remedy=_KEYS
            )
        if names.count(name) > 1:
            raise UsageError(
                f"the setting {name} is given twice", location=location, remedy="Give it once."
            )
        if kind.settings is None or name in choices:
            continue
        nearest = difflib.get_close_matches(
            name.lower(), choices, 1, _MIN_SIMILARITY if kind.passes_on else 0.5
        )
        if nearest or not kind.passes_on:
            suggestion = f"Did you mean {nearest[0]}? " if nearest else ""
            raise UsageError(
                f"there is no setting {name!r}",
                location=location,
                remedy=f"{suggestion}The settings are {', '.join(choices)}.",
            )


def _split_qualifier(kind: Kind, path: str) -> tuple[str, str]:
    """The target of a name, and the address or revision after an @, if the kind takes one."""
    address = _ADDRESS.search(path) if "address" in kind.qualifiers else None
    if address is not None:
        return path[: address.start()], address[1]
    target, sign, revision = path.rpartition("@")
    if sign and "revision" in kind.qualifiers and "/" not in revision:
        return target, revision
    return path, ""


@dataclass(frozen=True, slots=True)
class RespondentName:
    """The parts of a respondent's name.

    >>> RespondentName.parse("hf/llava@main?batch=8")
    RespondentName(kind='hf', target='llava', qualifier='main', settings=(('batch', '8'),))
    >>> str(RespondentName.parse("openai/gpt-4o@http://127.0.0.1:8000/v1"))
    'openai/gpt-4o@http://127.0.0.1:8000/v1'
    """

    kind: str
    target: str
    qualifier: str = ""
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
        name, slash, path = text.partition("/")
        kind = kind_of(name) if slash and path else None
        if kind is None:
            raise unknown(text)
        if not kind.live:  # a file's name may have any character in it
            return cls(name, path)
        path, _, query = path.partition("?")
        settings = tuple(parse_qsl(query, keep_blank_values=True))
        target, qualifier = _split_qualifier(kind, path)
        if "/" in qualifier:  # an address; a revision has no slash
            _check_address(qualifier, f"{name}/{target}")
        _check_settings(kind, settings, f"{name}/{target}")
        if KEY.search(unquote(text)):
            raise UsageError("the name holds a key", location=f"{name}/...", remedy=_KEYS)
        check_name(target, "respondent's name")
        if len(text) > MAX_ADDRESSED_CHARS:
            raise UsageError(
                f"the name has {len(text):,} characters with its address and settings, more than"
                f" {MAX_ADDRESSED_CHARS:,}",
                location=f"{name}/{target}",
                remedy="Shorten the address.",
            )
        return cls(name, target, qualifier, settings)

    def __str__(self) -> str:
        qualifier = f"@{self.qualifier}" if self.qualifier else ""
        query = f"?{urlencode(self.settings)}" if self.settings else ""
        return f"{self.kind}/{self.target}{qualifier}{query}"

    def sampling(self, default: Sampling) -> Sampling:
        """The sampling that the name asks for, the rest from `default`."""
        # `field.type` is a text here, because annotations are not evaluated.
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
        # NaN fails this comparison too.
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


# Notices about activities that take long, such as loading a model; a command may display them.
#
#     with waiting("loading hf/llava-hf/llava-1.5-7b-hf"):
#         ...
#
# Nothing is displayed without `listening`. A worker process sends its activities to its driver.

Listener = Callable[[str, bool], None]
"""Called with an activity when it begins (True) and when it has ended (False)."""

_listeners: list[Listener] = []
_idle: list[str] = []


@contextmanager
def waiting(activity: str, *, idle: bool = True) -> Iterator[None]:
    """Announce the activity of the block, such as `loading hf/shapes:steady`.

    Without `idle`, another process is active, and this one may do other work.
    """
    if idle:
        _idle.append(activity)
    tell(activity, True)
    try:
        yield
    finally:
        tell(activity, False)
        if idle:
            _idle.remove(activity)


def tell(activity: str, begins: bool) -> None:
    """Tell the listeners that an activity begins or has ended."""
    for listener in _listeners:
        listener(activity, begins)


def is_idle() -> bool:
    """Whether this process only waits for the activities that it has announced."""
    return bool(_idle)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call a listener for the activities of this process while the block runs."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


# Answers recorded earlier, as a respondent: they are stored in the same way as live ones.


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

    def identity(self) -> Mapping[str, object]:
        return {"kind": "recorded", "answers": self._digest}

    @cached_property
    def _digest(self) -> str:
        digests = {}
        for (form, run, scale), answers in self._by_cell.items():
            rows: dict[str, list[object]] = {}
            for key, response in answers.items():
                rows[key] = [response.text, response.state]
                # the scores of a tool are part of an answer where they are audited
                if "scores" in response.detail:
                    rows[key].append(response.detail["scores"])
            # answers to whole pictures keep the digest of the versions that had no scale
            digests[f"{form}#{run}@{scale}" if scale else f"{form}#{run}"] = digest(rows)
        return digest(digests)

    def answers_in(self, form: str, run: int, resolution: str = "") -> Mapping[str, Response]:
        """Item id -> the answer that was recorded in an administration."""
        return self._by_cell.get((form, run, resolution), {})

    def answer(self, requests: Sequence[Request]) -> Iterator[list[tuple[Request, Response]]]:
        responses = (self.answers_in(r.form, r.run, r.resolution).get(r.item) for r in requests)
        entries = zip(requests, responses, strict=True)
        pairs = [(request, response) for request, response in entries if response is not None]
        for start in range(0, len(pairs), 5000):
            yield pairs[start : start + 5000]

    def close(self) -> None:
        """Nothing is held."""


# A picture as a server wants it: a data URL that says what the bytes are.


@lru_cache(maxsize=64)
def data_url(path: str) -> tuple[bytes, bytes]:
    """The data URL of a picture, made once per picture: its requests come one after another.

    Its beginning and the encoded picture are apart, so that no request copies the picture. The path
    is a text, whose hash Python keeps: every request looks its picture up.
    """
    with open(path, "rb") as file:
        content = file.read()
    kind = _kind(content) or mimetypes.guess_type(path)[0] or "image/png"
    return b"data:%b;base64," % kind.encode(), base64.b64encode(content)


def _kind(content: bytes) -> str:
    """The media type of a picture by its bytes, which may contradict the suffix."""
    # Between the two stand four bytes, the length of the file.
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    kinds = {
        b"\x89PNG": "image/png",
        b"\xff\xd8\xff": "image/jpeg",
        b"GIF8": "image/gif",
        b"BM": "image/bmp",
    }
    return next((kind for mark, kind in kinds.items() if content.startswith(mark)), "")
