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

from hqm.reports.pages.sentences import remedy_lines

import hqm
from hqm.auditing.seven_questions import find_remedies
from tests.drawn_benchmarks import PlantedBenchmark, bad, good

FIRST_SEED = 70_000
DEFECTS = "contradictory twins", "wrong keys", "solvable type", "position leak", "faulty pictures"


def _audit(benchmark: PlantedBenchmark, home: Path) -> hqm.BenchmarkAudit:
    audit = hqm.audit(
        hqm.load(str(benchmark.folder)), [benchmark.answers], store=home / "store.sqlite"
    )
    assert isinstance(audit, hqm.BenchmarkAudit)
    return audit


def _named_defects(benchmark: PlantedBenchmark, audit: hqm.BenchmarkAudit) -> dict[str, bool]:
    """Which of the planted defects the five sentences name, and whether the list to read begins
    with them.
    """
    first = [
        f"{line.title}. {line.sentence}" for line in remedy_lines(audit, find_remedies(audit))[:5]
    ]
    expected_words = {
        "contradictory twins": ("different right answers",),
        "wrong keys": ("eys to check",),
        "solvable type": ("eak", "existence"),
        "position leak": ("eak", "relation"),
        "faulty pictures": (f"{len(benchmark.missing)} missing", f"{len(benchmark.broken)} broken"),
    }
    named_by_sentences = {
        name: any(all(word in sentence for word in words) for sentence in first)
        for name, words in expected_words.items()
    }
    planted = {*benchmark.wrong_keys, *(twin for _, twin in benchmark.twins)}
    listed = [row["item"] for row in audit.estimate("items.reading_list").detail["reading_list"]][
        :10
    ]
    return {
        **named_by_sentences,
        "all five": all(named_by_sentences.values()),
        "7 of the first 10 to read": sum(i in planted for i in listed) >= 7,
    }


def main(drawings: int) -> None:
    """Print a table of bad benchmarks, and a sentence about good ones."""
    columns = [*DEFECTS, "all five", "7 of the first 10 to read"]
    print(
        "| bad benchmarks | drawings |", " | ".join(columns), "|\n|---|---|" + "---|" * len(columns)
    )
    invented: Counter[str] = Counter()
    for task, respondents in itertools.product(("yes_no", "choice"), (6, 12)):
        counts: Counter[str] = Counter()
        for k in range(drawings):
            with tempfile.TemporaryDirectory() as folder:
                home = Path(folder)
                planted_benchmark = bad(
                    home / "bad", FIRST_SEED + k, task=task, respondents=respondents
                )
                counts.update(
                    name
                    for name, yes in _named_defects(
                        planted_benchmark, _audit(planted_benchmark, home)
                    ).items()
                    if yes
                )
                planted_benchmark = good(
                    home / "good", FIRST_SEED + k, task=task, respondents=respondents
                )
                for remedy in find_remedies(_audit(planted_benchmark, home / "good")):
                    if remedy.severity != "note":
                        invented[json.dumps([task, respondents, remedy.what])] += 1
        shares = " | ".join(f"{counts[name] / drawings:.2f}" for name in columns)
        print(f"| {task}, {respondents} respondents | {drawings} | {shares} |", flush=True)
    print(
        f"\nOf {4 * drawings} good benchmarks, defects invented: {sum(invented.values())}",
        dict(invented) or "",
    )


if __name__ == "__main__":
    main(int(sys.argv[1]))
