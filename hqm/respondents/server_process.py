"""Run a server as long as the process that started it: `python -m hqm.respondents.server_process
LOG PROGRAM ARGUMENT...`.

The keeper runs the program in a new session and reads its standard input, which its owner holds
open. When the input ends, because the owner closed it or was killed, the program and all that it
started are ended too: by SIGTERM, and after some seconds by SIGKILL. The file LOG is then removed,
unless the owner wrote `KEEP_LOG` before. The log of a program that ended by itself stays.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

TERMINATION_SECONDS = 20.0
"""Seconds between SIGTERM and SIGKILL."""
KEEP_LOG = b"keep the log"
"""The owner's message to keep the log, before it closes the keeper's standard input."""


def keep(command: list[str], log: Path) -> int:
    """Run a command until it or standard input ends; its exit status, negative for a signal."""
    # Ctrl-C in a terminal is for the owner, which decides about the server
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    program = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)

    removed = threading.Event()

    def end() -> None:
        keep_log = False
        # unbuffered: a thread must not hold a buffer's lock when the interpreter ends
        while message := os.read(0, 4096):
            keep_log = keep_log or message.startswith(KEEP_LOG)
        if not keep_log:
            removed.set()
        _end_group(program, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            program.wait(TERMINATION_SECONDS)
        _end_group(program, signal.SIGKILL)

    threading.Thread(target=end, daemon=True).start()
    status = program.wait()
    _end_group(program, signal.SIGKILL)  # workers that outlived their server
    if removed.is_set():
        log.unlink(missing_ok=True)
    return status


def _end_group(program: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(program.pid, number)


if __name__ == "__main__":
    code = keep(sys.argv[2:], Path(sys.argv[1]))
    sys.exit(code if code >= 0 else 128 - code)
