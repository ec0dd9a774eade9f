"""A respondent without torch, for tests of processes: a package that brings the kind `quick`.

Its answers follow from the seeds of the requests, and each batch takes a while, so that there is
time for a signal. Workers import no torch, which takes longer than all else in a test of processes.
"""

from __future__ import annotations

import os
from pathlib import Path

SECONDS = 0.05
"""How long a batch takes."""
RESPONDENT = f"""
import time
from hqm import Response


class QuickRespondent:
    live = True
    movable = True
    weight_bytes = 1

    def __init__(self, name, batch=0):
        self.name, self.batch = str(name), batch or 64

    def identity(self):
        return {{"kind": "quick"}}

    def answer(self, requests):
        for begin in range(0, len(requests), self.batch):
            time.sleep({SECONDS})
            yield [
                (request, Response("Yes." if request.seed % 2 else "No.", detail={{"rows": 1}}))
                for request in requests[begin : begin + self.batch]
            ]

    def close(self):
        pass
"""


def environment_with_quick(folder: Path) -> dict[str, str]:
    """Return an environment in which `quick/<model>` answers, and torch cannot be imported."""
    dist_info = folder / "quick-1.0.dist-info"
    dist_info.mkdir(parents=True)
    (folder / "quick.py").write_text(RESPONDENT)
    (dist_info / "METADATA").write_text("Metadata-Version: 2.1\nName: quick\nVersion: 1.0\n")
    (dist_info / "entry_points.txt").write_text(
        "[hqm.respondents]\nquick = quick:QuickRespondent\n"
    )
    for name in ("torch", "transformers"):
        (folder / f"{name}.py").write_text("raise ImportError('a test of processes needs none')\n")
    return {**os.environ, "PYTHONPATH": str(folder)}
