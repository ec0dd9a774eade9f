"""Grouping requests: those of one sampling run together, in the order of their pictures."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from hqm.respondents.base import Request
from hqm.types import Response

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True)
class Prompt:
    """A prompt of a model, with the answers whose probability is recorded (`words`)."""

    text: str
    picture: Image | None
    picture_key: Hashable
    seed: int
    words: tuple[str, ...] = ()

    @property
    def picture_size(self) -> tuple[int, ...]:
        """Width and height in pixels; empty without a picture."""
        return () if self.picture is None else self.picture.size


MAX_ROWS = 512
"""Rows at most that are answered at a time, however much memory there is."""

QueuedPrompt = tuple[int, Prompt]
"""A request's position in the queue, and its prompt."""


def group_by_kind(requests: Sequence[Request]) -> Iterator[list[Request]]:
    """Group requests that can run together, ordered by picture and then by length.

    Examples
    --------
    >>> from pathlib import Path
    >>> from hqm.respondents.base import Sampling
    >>> questions = (("?", "b"), ("??", "a"), ("!", "a"))
    >>> requests = [Request(text, Path(picture), Sampling(), 0) for text, picture in questions]
    >>> [[f"{r.image}{r.prompt}" for r in kind] for kind in group_by_kind(requests)]
    [['a!', 'a??', 'b?']]
    """
    ordered = sorted(
        requests, key=lambda r: (*_kind(r), str(r.image or ""), len(r.prompt), r.prompt)
    )
    for _, kind in groupby(ordered, _kind):
        yield list(kind)


def _kind(request: Request) -> tuple[int, float, float, bool]:
    sampling = request.sampling
    return sampling.max_tokens, sampling.temperature, sampling.top_p, request.image is None


class RequestQueue:
    """A queue of requests of one kind, from which a few are taken at a time.

    Parameters
    ----------
    requests
        In the order in which they are taken.
    prepare
        Returns the prompt of a request, or a response where it cannot be asked; `refused` holds
        those.
    ahead
        Called after each take with one request for each of the next pictures.
    """

    def __init__(
        self,
        requests: Sequence[Request],
        prepare: Callable[[Request], Prompt | Response],
        ahead: Callable[[Sequence[Request]], None],
    ) -> None:
        self.requests = requests
        self.refused: list[tuple[Request, Response]] = []
        self._prepare = prepare
        self._ahead = ahead
        self._again: list[QueuedPrompt] = []
        self._at = 0

    @property
    def has_requests(self) -> bool:
        """Whether the queue is not empty."""
        return bool(self._again) or self._at < len(self.requests)

    @property
    def next_picture(self) -> object:
        """The picture of the next request, or None at the end."""
        if self._again:
            return self._again[0][1].picture_key
        if self._at < len(self.requests):
            return self.requests[self._at].image
        return None

    def take(self, count: int) -> list[QueuedPrompt]:
        """Take up to `count` requests."""
        prompts = self._again[:count]
        self._again = self._again[count:]
        while len(prompts) < count and self._at < len(self.requests):
            prompt = self._prepare(self.requests[self._at])
            if isinstance(prompt, Response):
                self.refused.append((self.requests[self._at], prompt))
            else:
                prompts.append((self._at, prompt))
            self._at += 1
        pictures = {
            request.image: request for request in self.requests[self._at : self._at + count]
        }
        self._ahead(list(pictures.values()))
        return prompts

    def close(self) -> None:
        """Take no new requests; those put back are still answered."""
        self._at = len(self.requests)

    def put_back(self, prompts: Sequence[QueuedPrompt]) -> None:
        """Put requests back at the front."""
        self._again = [*prompts, *self._again]
