"""Ctrl-C, and the notice a scheduler gives before it kills: finish the batch in hand, then say how to go on.

The first SIGINT or SIGTERM is a wish, which `administer` asks about after every batch. The second SIGINT is obeyed at once:
it costs the batch in flight and nothing else.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@dataclass
class Interruption:
    """Whether somebody asked to stop; called, it says so.

    >>> asked = Interruption()
    >>> asked()
    False
    """

    wanted: bool = False
    by: int = 0
    """The number of the signal."""

    def __call__(self) -> bool:
        return self.wanted

    @property
    def status(self) -> int:
        """The exit status of a program that a signal ended: 130 for SIGINT, 143 for SIGTERM."""
        return 128 + (self.by or signal.SIGINT)


@contextmanager
def interruption(quiet: bool = False) -> Iterator[Interruption]:
    """Take SIGINT and SIGTERM as a wish to stop while the block runs.

    In a thread other than the main one, where Python lets nobody handle signals, they keep their meaning.
    """
    asked = Interruption()

    def ask(number: int, _frame: FrameType | None) -> None:
        if asked.wanted and number == signal.SIGINT:
            raise KeyboardInterrupt
        asked.wanted, asked.by = True, number
        if not quiet:
            print("hqm: stopping after the batch in hand; Ctrl-C again stops at once.", file=sys.stderr, flush=True)

    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
