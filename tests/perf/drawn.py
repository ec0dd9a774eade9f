"""How often the report of a bad benchmark names first what was planted, and that of a good one
invents a defect.

    python -m tests.perf.drawn 40

Benchmarks are drawn by `tests/drawn_benchmarks.py` (420 items, real pictures), with yes/no
questions and with four options, answered by 6 and by 12 recorded respondents: as many of each as
the number says, from seeds that no test uses. Every one is audited by `hqm.audit` as it stands.
Prints Markdown.
"""

from __future__ import annotations

import itertools
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

from hqm.reports.sentences import mend_lines

import hqm
from hqm.auditing.seven_questions import to_mend
from tests.drawn_benchmarks import Drawn, bad, good

FIRST_SEED = 70_000
NAMED = "contradictory twins", "wrong keys", "solvable type", "position leak", "faulty pictures"


def _audit(drawn: Drawn, home: Path) -> hqm.BenchmarkAudit:
    made = hqm.audit(hqm.load(str(drawn.folder)), [drawn.answers], store=home / "store.sqlite")
    assert isinstance(made, hqm.BenchmarkAudit)
    return made


def _named(drawn: Drawn, audit: hqm.BenchmarkAudit) -> dict[str, bool]:
    """Which of the planted defects the five sentences name, and whether the list to read begins
    with them.
    """
    first = [f"{line.title}. {line.sentence}" for line in mend_lines(audit, to_mend(audit))[:5]]
    wanted = {
        "contradictory twins": ("different right answers",),
        "wrong keys": ("eys to check",),
        "solvable type": ("eak", "existence"),
        "position leak": ("eak", "relation"),
        "faulty pictures": (f"{len(drawn.missing)} missing", f"{len(drawn.broken)} broken"),
    }
    said = {
        name: any(all(word in sentence for word in words) for sentence in first)
        for name, words in wanted.items()
    }
    planted = {*drawn.wrong_keys, *(twin for _, twin in drawn.twins)}
    listed = [row["item"] for row in audit.estimate("items.reading_list").detail["reading_list"]][
        :10
    ]
    return {
        **said,
        "all five": all(said.values()),
        "7 of the first 10 to read": sum(i in planted for i in listed) >= 7,
    }


def main(drawings: int) -> None:
    """Print a table of bad benchmarks, and a sentence about good ones."""
    columns = [*NAMED, "all five", "7 of the first 10 to read"]
    print(
        "| bad benchmarks | drawings |", " | ".join(columns), "|\n|---|---|" + "---|" * len(columns)
    )
    invented: Counter[str] = Counter()
    for task, respondents in itertools.product(("yes_no", "choice"), (6, 12)):
        counts: Counter[str] = Counter()
        for k in range(drawings):
            with tempfile.TemporaryDirectory() as folder:
                home = Path(folder)
                drawn = bad(home / "bad", FIRST_SEED + k, task=task, respondents=respondents)
                counts.update(
                    name for name, yes in _named(drawn, _audit(drawn, home)).items() if yes
                )
                drawn = good(home / "good", FIRST_SEED + k, task=task, respondents=respondents)
                for each in to_mend(_audit(drawn, home / "good")):
                    if each.severity != "note":
                        invented[json.dumps([task, respondents, each.what])] += 1
        shares = " | ".join(f"{counts[name] / drawings:.2f}" for name in columns)
        print(f"| {task}, {respondents} respondents | {drawings} | {shares} |", flush=True)
    print(
        f"\nOf {4 * drawings} good benchmarks, defects invented: {sum(invented.values())}",
        dict(invented) or "",
    )


if __name__ == "__main__":
    main(int(sys.argv[1]))
