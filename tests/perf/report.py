"""How long a report of an audit that exists takes to write, now and at an earlier revision, in one
run.

    hqm audit shapes --limit 100 --out /tmp/shapes
    python tests/perf/report.py /tmp/shapes/audit.json e8d688a

Each revision writes the report in a process of its own, in turns; the median of five is printed,
with the ratio.
"""

from __future__ import annotations

import io
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
_TURNS = 5
_TIMED = """
import sys, time
from hqm import Audit
from hqm.reports.pages.report_page import render
audit = Audit.load(sys.argv[1])
start = time.perf_counter()
page = render(audit)
print(time.perf_counter() - start, (page.report + page.evidence).count("<svg"))
"""


def tree(revision: str, folder: Path) -> Path:
    """The packages as they were at a revision."""
    packed = subprocess.run(
        ["git", "archive", revision], cwd=ROOT, capture_output=True, check=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    for name in ("adapters", "benchmarks", "reports"):
        (folder / "hqm" / name).symlink_to(folder / name)
    return folder


def time_report(audit: str, code: Path) -> tuple[float, int]:
    """Seconds that one report takes without start and reading, and how many drawings it has."""
    environment = {**os.environ, "PYTHONPATH": str(code)}
    process = subprocess.run(
        [sys.executable, "-c", _TIMED, audit],
        env=environment,
        cwd=code,
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, drawings = process.stdout.split()
    return float(seconds), int(drawings)


def main(audit: str, revision: str) -> None:
    """Print both medians and their ratio."""
    with tempfile.TemporaryDirectory() as folder:
        before, current = (
            tree(revision, Path(folder) / "before"),
            tree("HEAD", Path(folder) / "now"),
        )
        runs = [(time_report(audit, before), time_report(audit, current)) for _ in range(_TURNS)]
    old, new = (statistics.median(run[k][0] for run in runs) for k in (0, 1))
    print(
        f"{revision}: {old:.2f} s ({runs[0][0][1]} drawings); now: {new:.2f} s ({runs[0][1][1]}"
        f" drawings); ratio {old / new:.1f}"
    )


if __name__ == "__main__":
    main(str(Path(sys.argv[1]).resolve()), sys.argv[2])
