"""Run a server as long as the process that started it: `python -m hqm.respondents.server_process
LOG PROGRAM ARGUMENT...`.

The keeper runs the program in a session of its own and reads its own standard input, which its
owner holds open. When that ends, because the owner closed it or because the owner was killed, the
program and all it started are ended too: SIGTERM, and SIGKILL for what is still there after some
seconds. A program that was ended in this way needs no log: the file LOG is removed, unless the
owner wrote `KEEP_LOG` before. The log of a program that ended by itself stays.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

PATIENCE = 20.0
"""Seconds between SIGTERM and SIGKILL."""
KEEP_LOG = b"keep the log"
"""What the owner writes before it closes the keeper's standard input, to read the log
afterwards.
"""


def keep(command: list[str], log: Path) -> int:
    """Run a command until it ends or standard input does; its exit status, negative for a
    signal.
    """
    # Ctrl-C in a terminal is for the owner, who decides what becomes of the server
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    program = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)

    removed = threading.Event()

    def end() -> None:
        wanted = False
        while message := os.read(
            0, 4096
        ):  # unbuffered: a thread may not hold a buffer's lock when the interpreter ends
            wanted = wanted or message.startswith(KEEP_LOG)
        if not wanted:
            removed.set()
        _end_group(program, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            program.wait(PATIENCE)
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
