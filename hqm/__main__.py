"""The program `hqm`, and `python -m hqm`: Ctrl-C is heard from the first line on, then the command
line is loaded.
"""

from __future__ import annotations

import gc
import os
import signal
import sys

_YOUNG = 1_000_000
"""Values made between two searches for circles of values. Python's 700 is a third of the time of
reading a million answers, and none of them is in a circle."""


def search_seldom() -> None:
    """Have Python search seldom for circles of values."""
    gc.set_threshold(_YOUNG, 50, 50)


def main() -> None:
    """Run the command line; whenever Ctrl-C comes, a sentence is printed and the exit status is
    130.
    """
    search_seldom()
    # numpy's products here are small: several threads on each wait for each other longer than they
    # work
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from hqm.commands.interrupt import leave, watch

        watch()
        from hqm.cli import main as run

        try:
            run()
        except SystemExit as end:
            if end.code == 130:  # threads that are still in a request are not waited for
                leave(130)
            # everything is done: Ctrl-C while Python takes itself apart would make a failure of it
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            raise
    except KeyboardInterrupt:
        print("hqm: interrupted before anything was done.", file=sys.stderr)
        sys.stderr.flush()
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
