"""Ctrl-C, and the notice a scheduler gives before it kills: finish the batch in hand, then say how
to go on.

While respondents are asked, the first SIGINT or SIGTERM is a wish, which `administer` asks about
after every batch; a model that is only being loaded is left at once, because nothing is in hand.
Before and after, the first SIGINT ends the command. The second is obeyed at once, even inside a
computation that never comes back to Python: it costs the batch in flight and nothing else.
"""

from __future__ import annotations

import os
import platform
import re
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import NoReturn

from hqm.commands.shared import command
from hqm.version import __version__


class Interrupted(Exception):  # noqa: N818  it is no error
    """Ctrl-C came while a command ran."""


@dataclass
class Interruption:
    """Whether somebody asked to stop. Call it to find out.

    >>> asked = Interruption()
    >>> asked()
    False
    """

    is_requested: bool = False
    signal_number: int = 0
    """The number of the signal."""

    def __call__(self) -> bool:
        return self.is_requested

    @property
    def status(self) -> int:
        """The exit status of a program that a signal ended: 130 for SIGINT, 143 for SIGTERM."""
        return 128 + (self.signal_number or signal.SIGINT)


def _is_never_idle() -> bool:
    return False


@contextmanager
def interruption(
    quiet: bool = False, is_idle: Callable[[], bool] = _is_never_idle
) -> Iterator[Interruption]:
    """Take SIGINT and SIGTERM as a wish to stop while the block runs.

    In a thread other than the main one, where Python lets nobody handle signals, they keep their
    meaning.

    Parameters
    ----------
    quiet
        Say nothing about the wish.
    is_idle
        Whether this process is only waiting, as for a model that is loaded here: then there is no
        batch to finish, and the first SIGINT ends the command.
    """
    request = Interruption()

    def ask(number: int, _frame: FrameType | None) -> None:
        # A scheduler's SIGTERM only asks: the batch in hand is still finished.
        if number == signal.SIGINT and (request.is_requested or is_idle()):
            raise KeyboardInterrupt
        request.is_requested = True
        request.signal_number = number
        if not quiet:
            print(
                "hqm: stopping after the batch in hand; Ctrl-C again stops at once.",
                file=sys.stderr,
                flush=True,
            )

    # `signal.signal` raises ValueError in any other thread.
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    previous_handlers = {
        number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield request
    finally:
        # In a notebook, or another program, the handlers are somebody else's.
        for number, handler in previous_handlers.items():
            signal.signal(number, handler)


def watch() -> None:
    """Count the Ctrl-C of this process from now on, and leave at the second.

    Python runs a handler between two steps of its own, which a long computation in C keeps it from;
    the numbers of signals are written to a pipe even then, and a thread reads them there.
    """
    reader, writer = os.pipe()
    # `set_wakeup_fd` refuses a descriptor that can block.
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    threading.Thread(target=_leave_at_the_second, args=(reader,), daemon=True).start()


def _leave_at_the_second(reader: int) -> None:
    count = 0
    while numbers := os.read(reader, 64):
        count += numbers.count(signal.SIGINT)
        if count > 1:
            leave(
                130,
                "hqm: stopped at once. What was stored stays stored; the batch in hand is lost.",
            )


def leave(status: int, sentence: str = "") -> NoReturn:
    """End this process now, whatever its threads do; a terminal gets its cursor back."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    with suppress(OSError):
        # By `os.write`, since another thread may hold the lock of `sys.stderr`.
        text = f"{sentence}\n" if sentence else ""
        if os.isatty(2) and os.environ.get("TERM", "dumb") not in ("dumb", "unknown"):
            cursor = "\x1b[?25h"
        else:
            cursor = ""
        os.write(2, f"{cursor}{text}".encode())
    # Not `sys.exit`, which waits for threads that hang in C.
    os._exit(status)


# --- a fault in HQM: one sentence, and a file with the traceback ---

FAILURE = 70
"""The exit status of a fault in the program (`EX_SOFTWARE` in sysexits.h)."""

_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD")


def report_failure(error: Exception) -> str:
    """Return the sentence about an unexpected error, and write its traceback to a file.

    Secrets that the environment holds are left out of both.
    """
    text = "\n".join(
        [
            f"command: {command()}",
            f"HQM {__version__}, Python {platform.python_version()}, {platform.platform()}",
            "",
            "".join(traceback.format_exception(error)),
        ]
    )
    first_line = (str(error).strip().splitlines() or ["no message"])[0]
    message = _remove_secrets(f"This is a bug of HQM: {type(error).__name__}: {first_line[:300]}")
    try:
        # private to the user: a traceback may quote what a file holds
        descriptor, path = tempfile.mkstemp(prefix="hqm-failure-", suffix=".txt", text=True)
        with open(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(_remove_secrets(text))
    except OSError as unwritten:
        return (
            f"{message}. The traceback could not be kept ({unwritten.strerror}). Please report it"
            " with the command."
        )
    return f"{message}. Please report it with {path}, which holds the traceback and the command."


def _remove_secrets(text: str) -> str:
    for name, value in os.environ.items():
        # A shorter value, such as 1 or on, stands in many texts and is no secret.
        if _SECRET.search(name.upper()) and len(value) >= 8:
            text = text.replace(value, f"<{name}>")
    from hqm.text import KEY

    return KEY.sub("<key>", text)
