"""How a sound benchmark fares before the gate `default`: whether it passes, what else is asked for,
and how often a flag is raised on it.

    python -m tests.perf.sound_benchmark [--replicates 30] [--seed 0] [--labels 300]

Nothing is wrong with it: 720 questions of three types about 360 pictures, keys and wordings drawn
apart. Twelve respondents answer twice, and once in other words, which cost every one of them about
five points; people label 300 answers and err in three of a hundred. Answers come from a probit
curve with slips, graded abilities, pictures with an effect of their own, and what a respondent and
an item have between them, which reruns repeat in part: no estimator's own model.
"""

from __future__ import annotations

import argparse
import csv
import json
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import ndtr

import hqm
from hqm import Audit, BenchmarkAudit
from hqm.auditing.gate import Gate, Policy, check_against
from tests.release_worlds import NAMES, rows_of, write

LABELS = 300
"""Unless `--labels` says otherwise."""
SHIFT = 0.05
FLAGS = (
    *("RANGE_INFLATED", "NON_PARALLEL", "CHANCE"),
    *("NOT_ONE_THING", "FAVOURS_FAMILY", "CEILING", "FLOOR", "REMEMBERED"),
)


@dataclass(frozen=True)
class ReplicateResult:
    """The gate of one replicate, and the flags of its audit: those that warn, and all."""

    gate: Gate
    warned: frozenset[str]
    raised: frozenset[str]


def chances(rng: np.random.Generator, items: int, respondents: int) -> tuple[np.ndarray, ...]:
    """(respondents, items): the chance of a right answer in the original and in other words."""
    ability = np.linspace(0.15, 1.9, respondents)[:, None]
    picture = np.repeat(rng.normal(0, 0.3, (items + 1) // 2), 2)[:items]
    # most of what a respondent and an item have between them comes back with another seed
    inner = ability + picture + rng.normal(0, 0.5, items) + rng.normal(0, 1.2, (respondents, items))
    first = 0.02 + 0.96 * ndtr(2.5 * inner)
    lower = SHIFT + rng.normal(0, 0.005, (respondents, 1))
    return first, np.clip(first - lower, 0.01, 0.99)


def study(
    folder: Path, seed: int, respondents: int = 12, labels_in_all: int = LABELS
) -> BenchmarkAudit:
    """The audit of one drawn benchmark."""
    rng = np.random.default_rng(seed)
    rows = rows_of(rng, 240)
    write(folder / "sound", rows)
    benchmark = hqm.load(str(folder / "sound"))
    forms = {"original": benchmark.original, "parallel2": benchmark.reworded(2)}
    row_index = {row["id"]: i for i, row in enumerate(rows)}
    p_correct = dict(zip(forms, chances(rng, len(rows), respondents), strict=True))
    opposite, answers, right = {"yes": "no", "no": "yes"}, [], {}
    for form, run in (("original", 0), ("original", 1), ("parallel2", 0)):
        for m, name in enumerate(NAMES[:respondents]):
            for item in forms[form].items:
                good = bool(rng.random() < p_correct[form][m, row_index[item.id]])
                reply = str(item.target) if good else opposite[str(item.target)]
                row = {"respondent": name, "form": form, "run": run, "item": item.id}
                answers.append({**row, "answer": reply})
                if (form, run) == ("original", 0):
                    right[item.id, name] = good
    recorded, labels = folder / "answers.jsonl", folder / "labels.csv"
    recorded.write_text("\n".join(map(json.dumps, answers)), encoding="utf-8")
    with labels.open("w", newline="", encoding="utf-8") as opened:
        writer = csv.writer(opened)
        writer.writerow(["item", "respondent", "label"])
        for name in NAMES[:respondents]:
            for i in rng.choice(len(rows), labels_in_all // respondents, replace=False).tolist():
                good = right[rows[i]["id"], name]
                writer.writerow([rows[i]["id"], name, int(good != (rng.random() < 0.03))])
    return hqm.audit(
        str(folder / "sound"), recorded=recorded, criterion=labels, forms="original,parallel2"
    )


def fare(audit: BenchmarkAudit) -> ReplicateResult:
    """Hold an audit against the default policy, and list its flags."""
    gate = check_against(Audit((audit,)), Policy.load())
    flags = [(str(flag["flag"]), bool(flag["note"])) for flag in audit.flags]
    warned = frozenset(name for name, note in flags if not note)
    return ReplicateResult(gate, warned, frozenset(name for name, _ in flags))


def report(all_: list[ReplicateResult]) -> None:
    """Print the shares of passes, of tests that do not pass, and of flags."""
    count = len(all_)
    print(f"passed: {sum(replicate.gate.passed for replicate in all_)} of {count}")
    open_ = Counter(
        (test.outcome, test.what, "" if test.required else "not required")
        for replicate in all_
        for test in replicate.gate.tests
        if test.outcome != "PASS"
    )
    for (outcome, subject, required), n in open_.most_common():
        print(f"  {outcome} in {n / count:.2f}: {subject} {required}")
    for flag in FLAGS:
        warned, raised = (
            sum(
                flag in (replicate.warned if warned_only else replicate.raised)
                for replicate in all_
            )
            / count
            for warned_only in (True, False)
        )
        print(f"{flag}: a warning in {warned:.2f}, a note in {raised - warned:.2f}")
    n_labels = [
        test.needed
        for replicate in all_
        for test in replicate.gate.tests
        if test.what.startswith("criterion.pearson") and test.needed
    ]
    if n_labels:
        print(f"labels advised: median {np.median(n_labels):,.0f} in {len(n_labels) / count:.2f}")
    for test in next(iter(all_)).gate.tests:
        if test.outcome != "PASS":
            print(f"{test.outcome} {test.what}: {test.sentence}\n    -> {test.remedy}")


def main() -> None:
    """Print what came of the replicates."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--replicates", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--labels", type=int, default=LABELS)
    options = parser.parse_args()
    started, all_ = time.perf_counter(), []
    for k in range(options.replicates):
        with tempfile.TemporaryDirectory() as scratch:
            audit = study(Path(scratch), options.seed + k, labels_in_all=options.labels)
            all_.append(fare(audit))
    report(all_)
    print(f"{options.replicates} replicates, {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
