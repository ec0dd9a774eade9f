"""Recorded answers, from JSON lines to the report: processor time and memory, beside another version, and how both grow.

    python tests/perf/recorded_audit.py [--respondents 10] [--items 4000] [--runs 2] [--before PYTHON] [--grow items]

Each audit is a process of its own, and its processor time counts, because other work on the machine does not change it much.
The named alternative is an earlier version: `--before` takes the interpreter of an environment in which it is installed
(`git worktree add FOLDER REVISION`, then `pip install --editable FOLDER` in an environment of its own). Both versions
audit the same files, one after the other, and the program ends with an error where their estimates differ in any digit.
`--grow` repeats the audit of this version with 1, 4 and 16 times the items, respondents or runs given.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

THINGS = "dog cat car bench tree bottle cup chair table boat".split()


@dataclass(frozen=True)
class Size:
    """How large an audit is."""

    respondents: int
    items: int
    runs: int

    @property
    def answers(self) -> int:
        return self.respondents * self.items * self.runs


@dataclass(frozen=True)
class Measured:
    """What one audit took, and what it estimated."""

    seconds: float
    mib: float
    estimates: Any


def make(folder: Path, size: Size) -> None:
    """A yes/no benchmark and a file of answers for each respondent; a third of the answers are sentences."""
    rng = np.random.default_rng(0)
    truths = rng.random(size.items) < 0.5
    (folder / "card.toml").write_text(
        'name = "recorded"\ntitle = "Recorded"\nversion = "1"\ntask = "yes_no"\n[data]\nitems = "items.jsonl"\n'
    )
    rows = (
        {
            "id": f"q{i}",
            "prompt": f"Is there a {THINGS[i % 10]} by the {THINGS[(i // 10 + i) % 10]} {i} in the image?",
            "target": "yes" if truth else "no",
            "cluster": f"c{i // 6}",
        }
        for i, truth in enumerate(truths)
    )
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "answers").mkdir()
    difficulty = rng.normal(0, 1.5, size.items)
    for r in range(size.respondents):
        chance = 1 / (1 + np.exp(difficulty - rng.normal(1, 0.7)))
        lines = []
        for run in range(size.runs):
            said = (rng.random(size.items) < chance) == truths
            sentence = rng.random(size.items) < 1 / 3
            for i in range(size.items):
                text = ("Yes" if said[i] else "No") + (f", as object {i % 50} shows." if sentence[i] else "")
                lines.append(json.dumps({"id": f"q{i}", "response": text, "respondent": f"model{r}", "run": run}))
        (folder / "answers" / f"model{r}.jsonl").write_text("\n".join(lines))


def measure(python: str, folder: Path, out: Path) -> Measured:
    """Audit in a process of its own."""
    command = [python, "-m", "hqm", "audit", str(folder), "--recorded", str(folder / "answers"), "--forms", "original"]
    command += ["--out", str(out), "--store", str(out / "store.sqlite"), "--quiet"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen(command, env=environment, cwd=folder, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"the audit by {python} ended with {process.returncode}")
    audit = json.loads((out / "audit.json").read_text())
    estimates = [of_benchmark["estimates"] for of_benchmark in audit["audits"]]
    return Measured(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, estimates)


def audited(size: Size, before: str | None) -> tuple[Measured, Measured | None]:
    """One size by this version and, where one is named, by the other."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder, size)
        ours = measure(sys.executable, folder, folder / "out")
        return ours, measure(before, folder, folder / "before") if before else None


def main() -> None:
    """Print what the audits took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--respondents", type=int, default=10)
    parser.add_argument("--items", type=int, default=4000)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--before", metavar="PYTHON", help="the interpreter of an environment with the other version")
    parser.add_argument("--grow", choices=("items", "respondents", "runs"))
    given = parser.parse_args()
    base = Size(given.respondents, given.items, given.runs)
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    for factor in (1, 4, 16) if given.grow else (1,):
        size = Size(**{**vars(base), **({given.grow: vars(base)[given.grow] * factor} if given.grow else {})})
        ours, other = audited(size, given.before)
        what = f"{size.respondents} respondents x {size.items:,} items x {size.runs} runs = {size.answers:,} answers"
        print(f"{what}: {ours.seconds:.1f} s of processor time, peak {ours.mib:.0f} MiB", flush=True)
        if other is not None:
            if other.estimates != ours.estimates:
                sys.exit("the two versions do not give the same estimates")
            print(f"before: {other.seconds:.1f} s, peak {other.mib:.0f} MiB; the same estimates; ", end="")
            print(f"ratio {other.seconds / ours.seconds:.2f}", flush=True)


if __name__ == "__main__":
    main()
