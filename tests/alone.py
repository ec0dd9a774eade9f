"""Run the few tests again, alone, that failed beside others: `python tests/alone.py STATUS`, with
the exit status of pytest.

Tests that start servers and processes, and kill them, share a machine with the others. A test that
fails alone, too, fails; so do more than three, or anything but failed tests. What passed only alone
is said, so that somebody looks for what it shares with the others.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

MOST = 3
"""Failed tests that are run again; more are no accident."""
FAILED = Path(".pytest_cache/v/cache/lastfailed")
"""Where pytest notes what failed."""


def main(status: int) -> int:
    """Run again what failed; the exit status of the whole."""
    failed = sorted(json.loads(FAILED.read_text())) if status == 1 and FAILED.exists() else []
    if not failed or len(failed) > MOST:
        return status
    print(f"\nrunning again, alone: {', '.join(failed)}", flush=True)
    again = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:xdist", *failed], check=False
    ).returncode
    if not again:
        print(
            f"\nFAILED BESIDE OTHERS, PASSED ALONE: {', '.join(failed)}: find out what they share"
            " with the others"
        )
    return again


if __name__ == "__main__":
    raise SystemExit(main(int(sys.argv[1])))
