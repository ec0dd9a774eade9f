"""Recorded answers, from JSON lines to the report: processor time and memory, beside another
version, and how both grow.

    python tests/perf/recorded_audit.py [--respondents 10] [--items 4000] [--runs 2] [--texts repeating unique reasoned] [--before PYTHON] [--grow items] [--stored]

Each audit is a process of its own, and its processor time counts, because other work on the machine
does not change it much. The named alternative is an earlier version: `--before` takes the
interpreter of an environment in which it is installed (`git worktree add FOLDER REVISION`, then
`pip install --editable FOLDER` in an environment of its own). Both versions audit the same files,
one after the other, and the program ends with an error where their estimates differ by more than
1e-10. `--grow` repeats the audit of this version with 1, 4 and 16 times the items, respondents or
runs given. `--texts` says what the answers are like, because a text that repeats is read once: few texts
that repeat, short ones of which each occurs once, or such of about a hundred words that reason before
they answer. With `--stored` the answers are written into a store first, and the audit reads only
that (`hqm audit FOLDER --offline`).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

TOLERANCE = 1e-10
"""Sums in another order differ in their last digits."""
OBJECT_NAMES = "dog cat car bench tree bottle cup chair table boat".split()


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
    wall: float
    mib: float
    estimates: Any


def make(folder: Path, size: Size, texts: str = "repeating", *, stored: bool = False) -> None:
    """A yes/no benchmark and a file of answers for each respondent, or a store of them; a third of
    the answers that repeat are sentences.
    """
    rng = np.random.default_rng(0)
    truths = rng.random(size.items) < 0.5
    (folder / "card.toml").write_text(
        'name = "recorded"\ntitle = "Recorded"\nversion = "1"\ntask = "yes_no"\n[data]\nitems ='
        ' "items.jsonl"\n'
    )
    rows = (
        {
            "id": f"q{i}",
            "prompt": (
                f"Is there a {OBJECT_NAMES[i % 10]} by the"
                f" {OBJECT_NAMES[(i // 10 + i) % 10]} {i} in the image?"
            ),
            "target": "yes" if truth else "no",
            "cluster": f"c{i // 6}",
        }
        for i, truth in enumerate(truths)
    )
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    difficulty = rng.normal(0, 1.5, size.items)
    if stored:
        _store(
            folder,
            size,
            (
                _draw_answers(rng, truths, difficulty, size, texts, r)
                for r in range(size.respondents)
            ),
        )
        return
    (folder / "answers").mkdir()
    for r in range(size.respondents):
        lines = []
        for run, answers in enumerate(_draw_answers(rng, truths, difficulty, size, texts, r)):
            for i, text in enumerate(answers):
                lines.append(
                    json.dumps(
                        {"id": f"q{i}", "response": text, "respondent": f"model{r}", "run": run}
                    )
                )
        (folder / "answers" / f"model{r}.jsonl").write_text("\n".join(lines))


def _draw_answers(
    rng: np.random.Generator,
    truths: Any,
    difficulty: Any,
    size: Size,
    texts: str,
    respondent: int,
) -> list[list[str]]:
    """One respondent's answers, run by run."""
    chance = 1 / (1 + np.exp(difficulty - rng.normal(1, 0.7)))
    runs = []
    for run in range(size.runs):
        says_yes = (rng.random(size.items) < chance) == truths
        sentence = rng.random(size.items) < 1 / 3
        write = WRITERS[texts]
        answers = []
        for i, (yes, is_sentence) in enumerate(
            zip(says_yes.tolist(), sentence.tolist(), strict=True)
        ):
            number = (respondent * size.runs + run) * size.items + i
            answers.append(write("Yes" if yes else "No", is_sentence, i, number))
        runs.append(answers)
    return runs


def _repeating(word: str, is_sentence: bool, item: int, _number: int) -> str:
    return word + (f", as object {item % 50} shows." if is_sentence else "")


def _unique(word: str, _is_sentence: bool, _item: int, number: int) -> str:
    return f"{word}, as object {number} shows."


def _reasoned(word: str, _is_sentence: bool, item: int, number: int) -> str:
    rng = np.random.default_rng([item, number])
    seen = [
        f"I can see the {OBJECT_NAMES[k]} at position {number % 997 + k} of the scene, and beside it"
        " the light falls from the left."
        for k in rng.integers(10, size=6)
    ]
    return f"{' '.join(seen)} So the answer is {word.lower()}."


WRITERS = {"repeating": _repeating, "unique": _unique, "reasoned": _reasoned}
"""What answers are like -> the function that writes one."""


def _store(folder: Path, size: Size, answers: Iterable[list[list[str]]]) -> None:
    """The answers in a store, as recorded ones."""
    import hqm

    benchmark = hqm.load(str(folder))
    form, responses = benchmark.original, dict[str, hqm.Response]()
    with hqm.Store(folder / "store.sqlite") as store:
        asks = hqm.Asks(store).questions(benchmark, form, False)
        for r, runs in enumerate(answers):
            respondent = store.respondent(
                f"recorded/model{r}", {"kind": "recorded", "answers": str(r)}
            )
            for run, texts in enumerate(runs):
                store.record_administration(
                    respondent, benchmark.name, form=form.name, digest=form.digest, run=run
                )
                replies = [responses.setdefault(text, hqm.Response(text)) for text in texts]
                store.append(respondent, run, list(zip(asks, replies, strict=True)))


def measure(python: str, folder: Path, out_dir: Path, *, stored: bool = False) -> Measured:
    """Audit in a process of its own."""
    command = [
        python,
        "-m",
        "hqm",
        "audit",
        str(folder),
        "--forms",
        "original",
        "--out",
        str(out_dir),
        "--quiet",
    ]
    if stored:
        command += ["--offline", "--store", str(folder / "store.sqlite")]
    else:
        command += ["--recorded", str(folder / "answers"), "--store", str(out_dir / "store.sqlite")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    began = time.perf_counter()
    process = subprocess.Popen(command, env=environment, cwd=folder, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"the audit by {python} ended with {process.returncode}")
    audit = json.loads((out_dir / "audit.json").read_text())
    estimates = [of_benchmark["estimates"] for of_benchmark in audit["audits"]]
    wall = time.perf_counter() - began
    return Measured(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024, estimates)


def difference(ours: Any, theirs: Any) -> float:
    """The largest difference of two numbers at the same place, relative above 1; infinite where
    anything else differs.
    """
    if isinstance(ours, float) and isinstance(theirs, float):
        return abs(ours - theirs) / max(1.0, abs(ours))
    if isinstance(ours, dict) and isinstance(theirs, dict) and ours.keys() == theirs.keys():
        return max((difference(ours[key], theirs[key]) for key in ours), default=0.0)
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        return max(map(difference, ours, theirs), default=0.0)
    return 0.0 if ours == theirs and type(ours) is type(theirs) else float("inf")


def audited(
    size: Size, texts: str, before: str | None, stored: bool
) -> tuple[Measured, Measured | None]:
    """One size by this version and, where one is named, by the other."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder, size, texts, stored=stored)
        ours = measure(sys.executable, folder, folder / "out", stored=stored)
        return ours, measure(before, folder, folder / "before", stored=stored) if before else None


def main() -> None:
    """Print what the audits took."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--respondents", type=int, default=10)
    parser.add_argument("--items", type=int, default=4000)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--texts", nargs="+", choices=WRITERS, default=list(WRITERS))
    parser.add_argument(
        "--before",
        metavar="PYTHON",
        help="the interpreter of an environment with the other version",
    )
    parser.add_argument("--grow", choices=("items", "respondents", "runs"))
    parser.add_argument(
        "--stored", action="store_true", help="audit a store of these answers, offline"
    )
    options = parser.parse_args()
    base = Size(options.respondents, options.items, options.runs)
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    for factor in (1, 4, 16) if options.grow else (1,):
        size = base
        if options.grow:
            size = replace(base, **{options.grow: getattr(base, options.grow) * factor})
        print(
            f"{size.respondents} respondents x {size.items:,} items x {size.runs} runs ="
            f" {size.answers:,} answers"
        )
        for texts in options.texts:
            compare(size, texts, options.before, options.stored)


def compare(size: Size, texts: str, before: str | None, stored: bool) -> None:
    """Print what one size took, beside the other version where one is named."""
    ours, earlier = audited(size, texts, before, stored)
    print(
        f"{texts}: {ours.seconds:.1f} s of processor time, {ours.wall:.1f} s, peak"
        f" {ours.mib:.0f} MiB",
        flush=True,
    )
    if earlier is None:
        return
    max_difference = difference(ours.estimates, earlier.estimates)
    print(
        f"before: {earlier.seconds:.1f} s of processor time, {earlier.wall:.1f} s, peak"
        f" {earlier.mib:.0f} MiB; ratio {earlier.seconds / ours.seconds:.2f}",
        flush=True,
    )
    if not max_difference <= TOLERANCE:
        sys.exit(
            f"the two versions do not give the same estimates: they differ by {max_difference:.1g}"
        )
    print(f"estimates differ by at most {max_difference:.1g}", flush=True)


if __name__ == "__main__":
    main()
