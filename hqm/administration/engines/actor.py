"""What a Ray actor does: hold one respondent at a time, and answer a shard batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hqm.errors import RespondentError
from hqm.respondents.base import Request, Respondent
from hqm.respondents.loading import use_threads
from hqm.types import Response
from hqm.version import __version__

Said = tuple[str, Any]
"""`batch` with (place, response) pairs, `lacks` with paths, `end`, or `failed` with an error."""


class Actor:
    """Takes a shard, then gives its answers as it is asked for more.

    Parameters
    ----------
    threads
        How many threads a model here may use.
    """

    def __init__(self, threads: int) -> None:
        use_threads(threads)
        self._respondent: Respondent | None = None
        self._requests: list[Request] = []
        self._place: dict[int, int] = {}
        self._batches: Iterator[list[tuple[Request, Response]]] | None = None
        self._files: dict[str, Path] = {}
        self._lacks: dict[Path, str] = {}

    def where(self) -> tuple[str, str]:
        """The node, and the version of HQM on it."""
        import ray

        return ray.get_runtime_context().get_node_id(), __version__

    def take(
        self, respondent: Respondent, requests: Sequence[Request], pictures: Mapping[Path, str]
    ) -> Said:
        """Begin a shard; `pictures` are the hashes to check on a node that is not the driver's."""
        from hqm.signature import digest_file

        if self._respondent is None or self._respondent.name != respondent.name:
            if self._respondent is not None:
                self._respondent.close()
            self._respondent = respondent
        self._requests, self._batches = list(requests), None
        self._lacks = {
            path: key
            for path, key in pictures.items()
            if key not in self._files and not (path.is_file() and digest_file(path) == key)
        }
        self._requests = [self._placed(request, pictures) for request in self._requests]
        return ("lacks", list(self._lacks)) if self._lacks else ("batch", [])

    def _placed(self, request: Request, pictures: Mapping[Path, str]) -> Request:
        key = pictures.get(request.image) if request.image is not None else None
        return replace(request, image=self._files[key]) if key in self._files else request

    def put(self, contents: Mapping[Path, bytes]) -> Said:
        """Keep the pictures that this node lacks."""
        import io

        from hqm.files.cache import keep

        for path, content in contents.items():
            self._files[self._lacks[path]] = keep(io.BytesIO(content), str(path))
        self._requests = [self._placed(request, self._lacks) for request in self._requests]
        self._lacks = {}
        return "batch", []

    def more(self) -> Said:
        """The next batch, or the end."""
        if self._lacks:
            return "batch", []
        if self._respondent is None:
            return "end", None
        try:
            if self._batches is None:
                self._place = {id(request): place for place, request in enumerate(self._requests)}
                self._batches = iter(self._respondent.answer(self._requests))
            batch = next(self._batches, None)
        except RespondentError as error:
            return "failed", error
        except Exception as error:  # an actor must not die in silence
            return "failed", RespondentError(
                f"it failed: {type(error).__name__}: {error}", place=self._respondent.name
            )
        if batch is None:
            return "end", None
        return "batch", [(self._place[id(request)], response) for request, response in batch]
