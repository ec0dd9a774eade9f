"""One writer at a time: a command that fills a store holds its lock; a second command waits, or
ends with the name of the first.

The lock is the operating system's, on a file beside the store, so that it ends with the process
that holds it, however that ends. SQLite alone would keep the file whole; the lock keeps two
commands from asking, and paying for, the same questions.
"""

from __future__ import annotations

import json
import os
import platform
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hqm.errors import StoreError

_LOOK = 0.2
"""Seconds between two looks at a lock that another process holds."""


def _say(sentence: str) -> None:
    print(f"hqm: {sentence}", file=sys.stderr, flush=True)


@contextmanager
def writing(store: Path, *, wait: bool = True, say: Callable[[str], None] = _say) -> Iterator[None]:
    """Hold the lock of a store while the block runs.

    Parameters
    ----------
    store
        The store's file; the lock is the file `<store>.lock`, which stays and holds nothing worth
        keeping.
    wait
        Wait for the process that has it, saying once who that is; without, that is an error.
    say
        Where the sentence about waiting goes.

    Raises
    ------
    StoreError
        Another process has it and `wait` is false, or the lock's file cannot be made.

    Notes
    ----- Where the operating system has no `flock` (Windows) nothing is held: the store stays whole
    all the same.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    path = store.with_name(f"{store.name}.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        remedy = "Name a writable place with --store, or audit what it holds with --offline."
        raise StoreError(
            f"it cannot be written: {error.strerror}", place=str(store), remedy=remedy
        ) from error
    try:
        announced = False
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                who = _holder(descriptor)
                if not wait:
                    remedy = (
                        "Wait for it, or leave out --no-wait. The answers stored so far are safe."
                    )
                    raise StoreError(
                        f"{who} is writing to it", place=str(store), remedy=remedy
                    ) from None
                if not announced:
                    say(f"{store}: {who} is writing to it; waiting for it to end.")
                    announced = True
                time.sleep(_LOOK)
        holder = {
            "pid": os.getpid(),
            "host": platform.node(),
            "command": shlex.join(["hqm", *sys.argv[1:]]),
        }
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(holder).encode(), 0)
        yield
    finally:
        os.close(descriptor)  # which gives the lock back


def _holder(descriptor: int) -> str:
    """Who wrote the lock's file, in words; a name is there a moment after the lock."""
    try:
        who = json.loads(os.pread(descriptor, 4096, 0))
        return f"process {who['pid']} on {who['host']} ({who['command']})"
    except (ValueError, KeyError, TypeError):
        return "another process"


def can_be_written(path: Path) -> bool:
    """Whether a store can be added to: its file where there is one, and the folder that it lies
    in.
    """
    return os.access(path, os.W_OK) and os.access(path.resolve().parent, os.W_OK)
