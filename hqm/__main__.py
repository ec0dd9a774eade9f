"""The program `hqm`, and `python -m hqm`: Ctrl-C is handled before the command line is loaded."""

from __future__ import annotations

import gc
import os
import signal
import sys

_GC_THRESHOLD = 1_000_000
"""Allocations between two garbage collections of the youngest generation. With Python's 700, a
third of the time of reading a million answers goes into them, and none is in a cycle."""


def collect_garbage_rarely() -> None:
    """Raise the thresholds of Python's garbage collector."""
    gc.set_threshold(_GC_THRESHOLD, 50, 50)


def main() -> None:
    """Run the command line; whenever Ctrl-C comes, a sentence is printed and the exit status is
    130.
    """
    collect_garbage_rarely()
    # the matrix products are small: several threads would wait for one another longer than work
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from hqm.commands.interrupt import leave, watch

        watch()
        from hqm.cli import main as run

        try:
            run()
        except SystemExit as end:
            if end.code == 130:  # without waiting for threads that are still in a request
                leave(130)
            # everything is written: Ctrl-C while Python shuts down would turn it into a failure
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            raise
    except (KeyboardInterrupt, RuntimeError) as end:
        # until Python 3.12, Ctrl-C while a class is made comes as the cause of a RuntimeError
        if not isinstance(end.__cause__ or end, KeyboardInterrupt):
            raise
        print("hqm: interrupted before anything was done.", file=sys.stderr)
        sys.stderr.flush()
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
