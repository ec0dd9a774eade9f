"""Files that several readers ask for, read once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

MAX_BYTES = 256_000_000
"""Bytes of all files together that are kept; further files are read each time."""

Parameters = ParamSpec("Parameters")
Content = TypeVar("Content")


@dataclass
class FileMemory:
    """The contents of files while the reading of them is `active`, as they were read first."""

    max_bytes: int = MAX_BYTES
    _contents: dict[tuple[Any, ...], Any] = field(default_factory=dict)
    _n_bytes: int = 0

    @contextmanager
    def active(self) -> Iterator[None]:
        """Remember what is read here, and give it again."""
        token = _MEMORY.set(self)
        try:
            yield
        finally:
            _MEMORY.reset(token)

    def recall(self, read: Callable[[], Content], path: Path, *key: object) -> Content:
        """What was read of a file that is still the same."""
        try:
            status = path.stat()
        except (OSError, ValueError):  # what reads it says so, or knows another name of it
            return read()
        file_key = (str(path), status.st_mtime_ns, status.st_size, *key)
        if file_key not in self._contents:
            content = read()
            if self._n_bytes + status.st_size > self.max_bytes:
                return content
            self._n_bytes += status.st_size
            self._contents[file_key] = content
        remembered: Content = self._contents[file_key]
        return remembered


_MEMORY: ContextVar[FileMemory | None] = ContextVar("file memory", default=None)


def remembered(read: Callable[Parameters, Content]) -> Callable[Parameters, Content]:
    """Read a file, the first argument, once while a memory is active."""
    parameters = signature(read)

    @wraps(read)
    def read_remembered(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Content:
        memory = _MEMORY.get()
        if memory is None:
            return read(*args, **kwargs)
        bound = parameters.bind(*args, **kwargs)
        bound.apply_defaults()
        path, *further_arguments = bound.arguments.values()
        return memory.recall(
            lambda: read(*args, **kwargs), Path(path), read.__qualname__, *further_arguments
        )

    return read_remembered
