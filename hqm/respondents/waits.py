"""Saying that something takes long: whoever loads a model or computes for minutes names it, and a
command may listen.

    with waiting("loading hf/llava-hf/llava-1.5-7b-hf"):
        ...

Nobody listens unless `listening` says so. A worker process sends what it waits for to its driver,
who listens there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

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
