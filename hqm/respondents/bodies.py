"""What a server is sent: the body of a request, without what the server turned out not to take."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from hqm.errors import UsageError
from hqm.respondents.base import Request, RespondentName, Sampling
from hqm.respondents.pictures import picture_part

LOGPROBS_MODE = "logprobs_mode"
"""The setting that says what a server's log probabilities are; `vllm serve` has it as an option."""
_MODES = ("raw_logprobs", "processed_logprobs")
_LISTED, _LISTED_OFTEN = 20, 5
"""Alternatives of a token that the interface allows at most, and those that servers with a lower
limit allow too.
"""


class Settings(NamedTuple):
    """All of a body but the message and the seed; many requests share it."""

    sent: Mapping[str, Any]
    written: bytes
    """The same in JSON, open at its end."""
    schema: Mapping[str, Any] | None


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
        self._most_logprobs = max(_LISTED, self._logprobs or 0)
        self._limit_name = "max_tokens"
        self._schemas = True
        self._written: dict[tuple[Sampling, bool, int], Settings] = {}
        """The settings of every kind of request; a schema is told by its number, and kept beside
        it.
        """

    @staticmethod
    def content(request: Request) -> list[bytes]:
        """The parts of the message in JSON; the picture's is written once a picture, and stands
        before the question.

        Raises
        ------
        OSError
            The picture cannot be read.
        """
        question = b'{"type": "text", "text": %b}' % json.dumps(request.prompt).encode()
        return (
            [question] if request.image is None else [picture_part(request.image), b", ", question]
        )

    @staticmethod
    def body(content: Sequence[bytes], settings: Settings, seed: int) -> bytes:
        """The whole in JSON."""
        return b"".join(
            (
                b'{"messages": [{"role": "user", "content": [',
                *content,
                b"]}], ",
                settings.written,
                b'"seed": %d}' % seed,
            )
        )

    def settings(self, request: Request) -> Settings:
        """All but the message and the seed, as the server takes it now; written once for all
        requests that have the same.
        """
        key = (request.sampling, bool(request.words), id(request.schema))
        settings = self._written.get(key)
        if settings is None:
            sent = self._sent(request)
            settings = self._written[key] = Settings(
                sent, json.dumps(sent)[1:-1].encode() + b", ", request.schema
            )
        return settings

    def _sent(self, request: Request) -> dict[str, Any]:
        settings: dict[str, Any] = {
            "model": self.model,
            "temperature": request.sampling.temperature,
            "top_p": request.sampling.top_p,
            self._limit_name: request.sampling.max_tokens,
        }
        if request.schema is not None and self._schemas:
            form = {"name": "reply", "schema": dict(request.schema), "strict": True}
            settings["response_format"] = {"type": "json_schema", "json_schema": form}
        wanted = (
            (_LISTED if request.words else _LISTED_OFTEN)
            if self._logprobs is None
            else self._logprobs
        )
        if listed := min(wanted, self._most_logprobs):
            settings |= {"logprobs": True, "top_logprobs": listed}
        return settings

    def simplify(self, sent: Mapping[str, Any], message: str) -> bool:
        """Leave out from now on, or call by its other name, what a server does not take and no
        answer depends on.

        Whether there is such a thing in what was sent and in what the server said of it.
        """
        if "logprobs" in sent and "logprobs" in message:
            fewer = _LISTED_OFTEN if sent["top_logprobs"] > _LISTED_OFTEN else 0
            self._most_logprobs = min(self._most_logprobs, fewer)
        elif "response_format" in sent and ("response_format" in message or "schema" in message):
            self._schemas = False
        elif "max_tokens" in sent and "max_completion_tokens" in message:
            self._limit_name = "max_completion_tokens"
        else:
            return False
        self._written.clear()
        return True


def _mode_of(name: RespondentName) -> str:
    mode = name.option(LOGPROBS_MODE, _MODES[0])
    if mode not in _MODES:
        remedy = f"It is {' or '.join(_MODES)}."
        raise UsageError(
            f"{LOGPROBS_MODE}={mode!r} is no probability of a token", place=str(name), remedy=remedy
        )
    return mode
