"""The bodies of requests to servers with the OpenAI interface, written as one server takes them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from hqm.errors import UsageError
from hqm.respondents.base import Request, RespondentName, Sampling, data_url
from hqm.respondents.server_parameters import (
    FULL_SEED,
    LIMIT_NAMES,
    SEED_NAMES,
    SHORT_SEED,
)

LOGPROBS_MODE = "logprobs_mode"
"""The setting that says what a server's log probabilities are; `vllm serve` has it as an option."""
_MODES = ("raw_logprobs", "processed_logprobs")
_MAX_ALTERNATIVES = 20
_COMMON_ALTERNATIVES = 5
"""Alternatives of a token that the interface allows at most, and those that servers with a lower
limit allow too.
"""


@dataclass(frozen=True)
class Settings:
    """The parameters of a request but the message and the seed; many requests share them."""

    sent: Mapping[str, object]
    encoded: bytes
    """The same in JSON, without the closing brace."""
    schema: Mapping[str, object] | None
    seed_name: str = "seed"
    """What the server calls the seed; empty where it takes none."""
    max_seed: int = FULL_SEED
    """The bits of a seed that are sent."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The parameters that are sent, the seed among them."""
        return (*self.sent, *([self.seed_name] if self.seed_name else []))

    @cached_property
    def key(self) -> frozenset[str]:
        """What a server that takes them all has taken: the names, how many alternatives, and how
        large a seed.
        """
        max_seed = self.max_seed if self.seed_name else 0
        n_alternatives = self.sent.get("top_logprobs", 0)
        return frozenset((*self.names, f"top_logprobs={n_alternatives}", f"seed<={max_seed}"))

    def without(self, units: Iterable[Sequence[str]]) -> Settings:
        """The same without some parameters, each by all its names."""
        omitted = {name for unit in units for name in unit}
        sent = {name: value for name, value in self.sent.items() if name not in omitted}
        seed_name = "" if self.seed_name in omitted else self.seed_name
        return Settings(sent, _encode(sent), self.schema, seed_name, self.max_seed)


class BodyWriter:
    """Writes requests as one server takes them.

    Parameters
    ----------
    name
        The model asked, and the settings `logprobs` and `logprobs_mode`.
    """

    def __init__(self, name: RespondentName) -> None:
        self.model = name.target
        self.processed = _mode_of(name) == _MODES[1]
        """Whether the server's log probabilities have temperature and top-p in them."""
        self._logprobs = int(name.number("logprobs", 0)) if name.option("logprobs") else None
        self._most_logprobs = max(_MAX_ALTERNATIVES, self._logprobs or 0)
        self._limit_name = LIMIT_NAMES[0]
        self._schemas = True
        self._seed_name = SEED_NAMES[0]
        self._max_seed = FULL_SEED
        self._refused: set[str] = set()
        self._settings: dict[tuple[Sampling, bool, int], Settings] = {}
        """The parameters of every kind of request; a schema is identified by its `id`."""

    @staticmethod
    def content(request: Request) -> list[bytes]:
        """The beginning of a body, up to the question; a picture is a part of its own.

        Raises
        ------
        OSError
            The picture cannot be read.
        """
        beginning = b'{"messages": [{"role": "user", "content": ['
        question = b'{"type": "text", "text": %b}' % json.dumps(request.prompt).encode()
        if request.image is None:
            return [beginning + question]
        # Nothing in a data URL needs escaping.
        url, picture = data_url(str(request.image))
        beginning += b'{"type": "image_url", "image_url": {"url": "%b' % url
        return [beginning, picture, b'"}}, ' + question]

    @staticmethod
    def body(content: Sequence[bytes], settings: Settings, seed: int) -> list[bytes]:
        """The body of a request in JSON, in parts that are sent one after another.

        They are not joined: requests about one picture share its bytes, which may be megabytes.
        """
        *beginning, question = content
        if settings.seed_name:
            # The seed comes last, as the one parameter that differs from request to request.
            seed_part = b'"%b": %d}' % (settings.seed_name.encode(), seed & settings.max_seed)
            parameters = settings.encoded + seed_part
        else:
            parameters = settings.encoded[:-2] + b"}"
        return [*beginning, question + b"]}], " + parameters]

    def settings(self, request: Request) -> Settings:
        """The parameters of a request as the server accepts them, encoded once for equal ones."""
        key = (request.sampling, bool(request.words), id(request.schema))
        # Written once for thousands of requests that differ in question and seed alone.
        settings = self._settings.get(key)
        if settings is None:
            sent = self._parameters(request)
            settings = self._settings[key] = Settings(
                sent, _encode(sent), request.schema, self._seed_name, self._max_seed
            )
        return settings

    def _parameters(self, request: Request) -> dict[str, object]:
        settings: dict[str, object] = {
            "model": self.model,
            "temperature": request.sampling.temperature,
            "top_p": request.sampling.top_p,
            self._limit_name: request.sampling.max_tokens,
        }
        for name in (*self._refused, ""):
            settings.pop(name, None)
        if request.schema is not None and self._schemas:
            form = {"name": "reply", "schema": dict(request.schema), "strict": True}
            settings["response_format"] = {"type": "json_schema", "json_schema": form}
        n_alternatives = self._logprobs
        if n_alternatives is None:
            n_alternatives = _MAX_ALTERNATIVES if request.words else _COMMON_ALTERNATIVES
        # Unless it is switched off: what is stored without probabilities is not asked again for
        # them.
        if listed := min(n_alternatives, self._most_logprobs):
            settings |= {"logprobs": True, "top_logprobs": listed}
        return settings

    @property
    def left_out(self) -> tuple[str, ...]:
        """The parameters that the server refuses and that an answer depends on."""
        names = sorted(self._refused)
        if not self._limit_name:
            names.append(LIMIT_NAMES[0])
        if not self._seed_name:
            names.append(SEED_NAMES[0])
        return tuple(names)

    @property
    def has_short_seeds(self) -> bool:
        """Whether the server is sent the lower 31 bits of seeds."""
        return bool(self._seed_name) and self._max_seed == SHORT_SEED

    def notes(self) -> dict[str, object]:
        """What every answer notes of the parameters that the server refuses."""
        notes: dict[str, object] = {}
        if self.left_out:
            notes["left_out"] = list(self.left_out)
        if self.has_short_seeds:
            notes["seed_bits"] = SHORT_SEED.bit_length()
        return notes

    def simplify(self, settings: Settings, refused: str, large_seed: int = 0) -> bool:
        """Drop, rename or shorten the parameter that the server refuses; False where none was sent.

        `large_seed` is the seed that was refused, where its value may be the reason.
        """
        if not refused or refused not in settings.names:
            return False
        # of requests in flight, the first refusal moves on, and the others try again
        if refused in SEED_NAMES:
            if (refused, settings.max_seed) == (self._seed_name, self._max_seed):
                self._shorten_or_rename_seed(large_seed)
        elif refused in LIMIT_NAMES:
            if refused == self._limit_name:
                self._limit_name = LIMIT_NAMES[LIMIT_NAMES.index(refused) + 1]
        elif refused in ("logprobs", "top_logprobs"):
            listed = settings.sent["top_logprobs"]
            # 20 are asked for first, then the 5 of most servers, then none
            has_fewer = isinstance(listed, int) and listed > _COMMON_ALTERNATIVES
            self._most_logprobs = min(self._most_logprobs, _COMMON_ALTERNATIVES if has_fewer else 0)
        elif refused == "response_format":
            self._schemas = False
        else:
            self._refused.add(refused)
        # Encoded with the parameter that has just been dropped.
        self._settings.clear()
        return True

    def _shorten_or_rename_seed(self, large_seed: int) -> None:
        if large_seed > SHORT_SEED and self._max_seed == FULL_SEED:
            self._max_seed = SHORT_SEED
        else:
            self._seed_name = SEED_NAMES[SEED_NAMES.index(self._seed_name) + 1]
            self._max_seed = FULL_SEED


def _encode(sent: Mapping[str, object]) -> bytes:
    return json.dumps(sent)[1:-1].encode() + b", "


def _mode_of(name: RespondentName) -> str:
    mode = name.option(LOGPROBS_MODE, _MODES[0])
    if mode not in _MODES:
        remedy = f"It is {' or '.join(_MODES)}."
        raise UsageError(
            f"{LOGPROBS_MODE}={mode!r} is no probability of a token",
            location=str(name),
            remedy=remedy,
        )
    return mode
