"""Which requests run together: one kind of sampling at a time, the questions about a picture one
behind the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from hqm.respondents.base import Request
from hqm.types import Response


@dataclass(frozen=True)
class Prompt:
    """A prompt as the model sees it: the text with its picture, the picture's key, the seed, the
    answers watched.
    """

    text: str
    picture: Any
    picture_key: Any
    seed: int
    words: tuple[str, ...] = ()


QueuedPrompt = tuple[int, Prompt]
"""A request's number among those that wait, and what the model reads of it."""


def kinds(requests: Sequence[Request]) -> Iterator[list[Request]]:
    """Requests that can run together, in the order of their pictures and, within a picture, of
    their lengths.

    Examples
    --------
    >>> from pathlib import Path
    >>> from hqm.respondents.base import Sampling
    >>> asked = [Request(text, Path(picture), Sampling(), 0) for text, picture in (("?", "b"), ("??", "a"), ("!", "a"))]
    >>> [[f"{r.image}{r.prompt}" for r in kind] for kind in kinds(asked)]
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
    """Requests of one kind that wait for their answers, taken a few at a time.

    Parameters
    ----------
    requests
        In the order in which they are taken.
    prepare
        What the model reads of a request; a response where it cannot be asked, which is kept in
        `refused`.
    ahead
        Called after some were taken with one request for each of the pictures that come next.
    """

    def __init__(
        self,
        requests: Sequence[Request],
        prepare: Callable[[Request], Prompt | Response],
        ahead: Callable[[Sequence[Request]], None],
    ) -> None:
        self.requests = requests
        self.refused: list[tuple[Request, Response]] = []
        self._prepare, self._ahead = prepare, ahead
        self._again: list[QueuedPrompt] = []
        self._at = 0

    @property
    def more(self) -> bool:
        """Whether any wait."""
        return bool(self._again) or self._at < len(self.requests)

    @property
    def pictured(self) -> bool:
        """Whether they have pictures: those of one kind have them all, or none has."""
        return self.requests[0].image is not None

    @property
    def next_picture(self) -> object:
        """The picture of the request that comes next; None where none waits."""
        if self._again:
            return self._again[0][1].picture_key
        return self.requests[self._at].image if self._at < len(self.requests) else None

    def take(self, most: int) -> list[QueuedPrompt]:
        """The next requests, as many as `most`."""
        taken, self._again = self._again[:most], self._again[most:]
        while len(taken) < most and self._at < len(self.requests):
            prompt = self._prepare(self.requests[self._at])
            if isinstance(prompt, Response):
                self.refused.append((self.requests[self._at], prompt))
            else:
                taken.append((self._at, prompt))
            self._at += 1
        pictures = {request.image: request for request in self.requests[self._at : self._at + most]}
        self._ahead(list(pictures.values()))
        return taken

    def close(self) -> None:
        """Take nothing more; what is given back is still to be answered."""
        self._at = len(self.requests)

    def back(self, taken: Sequence[QueuedPrompt]) -> None:
        """Let requests wait again, before all others."""
        self._again = [*taken, *self._again]
