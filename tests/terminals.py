"""A terminal of a test's own: the program runs as it does before a user, and everything it writes
is kept.
"""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

HQM = [sys.executable, "-m", "hqm"]
ESCAPE = re.compile(r"\x1b(?:\[[0-9;?]*[a-zA-Z]|[()][A-Z0-9]|[=>])")
"""What moves the cursor and sets colours."""


class TerminalOutput(NamedTuple):
    """What a program wrote into a terminal, and how it ended."""

    status: int
    raw: str

    @property
    def lines(self) -> list[str]:
        """The lines without control characters, as far as they were not overwritten."""
        return [
            ESCAPE.sub("", line).rpartition("\r")[2]
            for line in self.raw.replace("\r\n", "\n").split("\n")
        ]


def environment(**settings: str) -> dict[str, str]:
    """This environment without what says how wide a terminal is and how colourful; the variables
    given stand for those.
    """
    left = {"COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TERM"}
    return {**{key: value for key, value in os.environ.items() if key not in left}, **settings}


def in_terminal(
    *arguments: object,
    columns: int = 80,
    rows: int = 24,
    term: str = "xterm",
    cwd: Path | None = None,
    program: Sequence[object] = HQM,
    **settings: str,
) -> TerminalOutput:
    """Run `hqm` in a pseudo-terminal of so many columns."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    process = subprocess.Popen(
        [*map(str, program), *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=follower,
        stderr=follower,
        cwd=cwd,
        env=environment(TERM=term, **settings),
        start_new_session=True,
    )
    os.close(follower)
    output = b""
    try:
        while chunk := os.read(leader, 65536):
            output += chunk
    except OSError:  # the terminal hangs up when the program ends
        pass
    finally:
        os.close(leader)
    return TerminalOutput(process.wait(), output.decode("utf-8", "replace"))
