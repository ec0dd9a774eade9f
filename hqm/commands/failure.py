"""What is left of a command that a fault in HQM ended: one sentence, and a file with the traceback
and the command.
"""

from __future__ import annotations

import os
import platform
import re
import tempfile
import traceback

from hqm.commands.shared import command
from hqm.version import __version__

FAILURE = 70
"""The exit status of a fault in the program (`EX_SOFTWARE` in sysexits.h)."""

_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD")


def report_failure(error: Exception) -> str:
    """The sentence about an error that nothing expected; the whole of it goes into a file.

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
    first = (str(error).strip().splitlines() or ["no message"])[0]
    what = _without_secrets(
        f"HQM failed where it should not have: {type(error).__name__}: {first[:300]}"
    )
    try:
        # private to the user: a traceback may quote what a file holds
        descriptor, path = tempfile.mkstemp(prefix="hqm-failure-", suffix=".txt", text=True)
        with open(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(_without_secrets(text))
    except OSError as unwritten:
        return (
            f"{what}. The traceback could not be kept ({unwritten.strerror}). Please report it with"
            " the command."
        )
    return f"{what}. Please report it with {path}, which holds the traceback and the command."


def _without_secrets(text: str) -> str:
    for name, value in os.environ.items():
        if _SECRET.search(name.upper()) and len(value) >= 8:
            text = text.replace(value, f"<{name}>")
    return text
