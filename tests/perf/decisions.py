"""The figures of the decisions: what `hqm design`, `hqm audit --until` and `hqm shorten` promise,
against simulated truth.

python -m tests.perf.decisions            all three, as docs/design.md, docs/stopping.md and docs/shortening.md have them
python -m tests.perf.decisions --quick    a tenth of it

Each part is a program of its own with further options: `tests.perf.decisions_design`, `_until` and
`_shorten`.
"""

from __future__ import annotations

import subprocess
import sys
import time

PARTS: dict[str, tuple[list[str], list[str]]] = {
    "design": ([], ["--quick"]),
    "until": ([], ["--quick"]),
    "shorten": (["14", "--small", "20", "--pairs", "3"], ["2", "--small", "2"]),
}
"""Program -> its arguments for all of it, and for a tenth."""


def main() -> None:
    """Run the three programs one after the other."""
    quick = "--quick" in sys.argv[1:]
    for name, arguments in PARTS.items():
        start = time.perf_counter()
        print(f"--- {name}", flush=True)
        subprocess.run(
            [sys.executable, "-m", f"tests.perf.decisions_{name}", *arguments[quick]], check=True
        )
        print(f"--- {name}: {(time.perf_counter() - start) / 60:.1f} minutes", flush=True)


if __name__ == "__main__":
    main()
