"""What the first page says of sound benchmarks: how often a verdict is red, a flag warns, or items
are to be mended where nothing is wrong with them.

    python -m tests.perf.sound_audits [WORLD ...] [--replicates 60] [--seed 0] [--strengths]

Every replicate goes through `hqm.audit`, with new questions, keys, models and answers, in two runs.
Answers follow a probit curve with a slope of each item, slips and lucky guesses, pictures with an
effect of their own, and what a model and an item have between them, which a rerun repeats: no
estimator's own model. The worlds differ in how the models' abilities are distributed (`normal`,
`skewed`, `alike` with a standard deviation of .05, .15 or .30 logit, `families` of unequal size), in
their size (`thirty` items by models that are nearly greedy) and in their scores (`graded` from 1 to
5, `captions` without keys, both as tables of scores). With `--strengths` only the test of strengths
in single types is made, of six types that have none.
"""

from __future__ import annotations

import argparse
import csv
import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from hqm.reports.pages.phrases import plain_text
from hqm.reports.pages.sentences import answer_questions, headline
from scipy.special import log_ndtr

import hqm
from hqm import Audit, BenchmarkAudit, Policy
from hqm.auditing.gate import check_against
from hqm.auditing.seven_questions import seven_answers
from hqm.psychometrics import dimensionality
from tests.release_worlds import NAMES, rows_of, write

Array = npt.NDArray[np.float64]
LOGIT = 1 / 1.702
"""A logit on the probit scale."""


@dataclass(frozen=True, kw_only=True)
class SoundWorld:
    """A benchmark without a fault, and the models that answer it; abilities in logits."""

    items: int = 360
    respondents: int = 10
    ability: float = 0.8
    shape: str = "normal"
    kind: str = "yes_no"
    steady: float = 0.7
    """The share of what a model and an item have between them that a rerun repeats."""


NORMAL = SoundWorld()
WORLDS = {
    "normal": NORMAL,
    "skewed": replace(NORMAL, shape="skewed", ability=1.2),
    "alike .05": replace(NORMAL, ability=0.05),
    "alike .15": replace(NORMAL, ability=0.15),
    "alike .30": replace(NORMAL, ability=0.30),
    "families": replace(NORMAL, shape="families"),
    "thirty": replace(NORMAL, items=30, steady=0.98),
    "graded": replace(NORMAL, kind="graded", items=120),
    "captions": replace(NORMAL, kind="captions"),
}


def draw_abilities(world: SoundWorld, rng: np.random.Generator) -> Array:
    """(respondents,): abilities in probits."""
    z = rng.normal(size=world.respondents)
    if world.shape == "skewed":
        z = np.asarray(1 + log_ndtr(z))
    if world.shape == "families":
        # half of all are of the first family, half of the others of the next
        member = np.floor(np.log2(world.respondents / (np.arange(world.respondents, 0, -1))))
        shared = rng.normal(size=world.respondents)[member.astype(int)]
        z = np.sqrt(0.7) * shared + np.sqrt(0.3) * z
    return np.asarray((0.9 + world.ability * z) * LOGIT)


def draw_scores(world: SoundWorld, rng: np.random.Generator) -> Array:
    """(runs, respondents, items): the scores in two runs, from 0 to 1 or from 1 to 5."""
    m, n = world.respondents, world.items
    slope = np.exp(rng.normal(0, 0.25, n))
    picture = np.repeat(rng.normal(0, 0.25, (n + 1) // 2), 2)[:n]
    inner = slope * (draw_abilities(world, rng)[:, None] + picture + rng.normal(0, 0.6, n))
    steady = rng.normal(0, np.sqrt(world.steady), (m, n))
    noise = rng.normal(0, np.sqrt(1 - world.steady), (2, m, n))
    latent = inner + steady + noise
    if world.kind == "graded":
        return np.asarray(np.clip(np.round(3 + latent), 1, 5))
    right = latent > 0
    slip = rng.random((2, m, n)) < 0.02
    return np.asarray(right ^ slip, dtype=np.float64)


def audit_world(world: SoundWorld, folder: Path, seed: int) -> BenchmarkAudit:
    """The audit of one drawn benchmark."""
    rng = np.random.default_rng([11, seed])
    scores = draw_scores(world, rng)
    if world.kind != "yes_no":
        return _audit_table(scores, folder)
    rows = rows_of(rng, world.items // 3)
    write(folder / "sound", rows)
    opposite = {"yes": "no", "no": "yes"}
    lines = []
    for run, m, i in np.ndindex(*scores.shape):
        key = rows[i]["target"]
        answer = key if scores[run, m, i] else opposite[key]
        row = {"respondent": NAMES[m], "form": "original", "run": run, "item": rows[i]["id"]}
        lines.append(json.dumps({**row, "answer": answer}))
    recorded = folder / "answers.jsonl"
    recorded.write_text("\n".join(lines), encoding="utf-8")
    audit = hqm.audit(str(folder / "sound"), recorded=recorded, store=folder / "store.sqlite")
    assert isinstance(audit, BenchmarkAudit)
    return audit


def _audit_table(scores: Array, folder: Path) -> BenchmarkAudit:
    """The audit of a table of scores, which has no keys."""
    path = folder / "scores.csv"
    with path.open("w", newline="", encoding="utf-8") as opened:
        writer = csv.writer(opened)
        writer.writerow(["item", "respondent", "run", "score"])
        for run, m, i in np.ndindex(*scores.shape):
            writer.writerow([f"q{i}", NAMES[m], run, f"{scores[run, m, i]:g}"])
    audit = hqm.audit(str(path), store=folder / "store.sqlite")
    assert isinstance(audit, BenchmarkAudit)
    return audit


@dataclass(frozen=True)
class FirstPage:
    """What the first page of one audit says, in codes."""

    state: str
    text: str
    asks_to_mend: bool
    """Whether the answer on quoting asks to mend the items."""
    has_fault: bool
    warned: frozenset[str]
    failed: frozenset[str]


def read_first_page(audit: BenchmarkAudit) -> FirstPage:
    """Read the verdict, the flags and the gate of an audit."""
    answers = seven_answers(audit)
    texts = {answer.question: plain_text(answer.sentences) for answer in answer_questions(audit)}
    gate = check_against(Audit((audit,)), Policy.load())
    return FirstPage(
        answers.state,
        f"{headline(audit).text} {' '.join(texts.values())}",
        "Not before" in texts["quote"],
        any(remedy.severity == "fault" for remedy in answers.mend),
        frozenset(str(flag["flag"]) for flag in audit.flags if not flag["note"]),
        frozenset(test.what for test in gate.tests if test.outcome == "FAIL"),
    )


def first_pages(name: str, replicates: int, seed: int) -> Iterator[FirstPage]:
    """Yield the first pages of drawn audits of a world."""
    for k in range(replicates):
        with tempfile.TemporaryDirectory() as scratch:
            yield read_first_page(audit_world(WORLDS[name], Path(scratch), seed + k))


def size_of_strengths(name: str, replicates: int, seed: int) -> float:
    """How often strengths in single types are found where types have none."""
    world, n_found = WORLDS[name], 0
    for k in range(replicates):
        rng = np.random.default_rng([13, seed + k])
        types = rng.permutation(np.arange(world.items) % 6).astype(str).tolist()
        pictures = np.arange(world.items) // 2
        scores = draw_scores(world, rng)[0]
        n_found += dimensionality(scores, types, pictures, rng=rng, permutations=199).p < 0.05
    return n_found / replicates


def report(name: str, pages: Sequence[FirstPage]) -> None:
    """Print how often each state, warning and failed test of the gate comes."""
    count = len(pages)

    def shares(groups: Iterable[Iterable[str]]) -> str:
        counts = Counter(item for group in groups for item in group)
        return ", ".join(f"{key} {n / count:.2f}" for key, n in counts.most_common()) or "none"

    print(f"## {name}: {count} audits")
    print("verdict:", shares([page.state] for page in pages))
    mended = sum(page.asks_to_mend for page in pages)
    empty = sum(page.asks_to_mend and not page.has_fault for page in pages)
    print(f"asks to mend: {mended / count:.3f}, without a fault: {empty / count:.3f}")
    warned = sum(bool(page.warned) for page in pages)
    print(f"warned: {warned / count:.3f} ({shares(page.warned for page in pages)})")
    print("gate fails:", shares(page.failed for page in pages), flush=True)


def main() -> None:
    """Print what came of the replicates."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("worlds", nargs="*", default=list(WORLDS), metavar="WORLD")
    parser.add_argument("--replicates", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--strengths", action="store_true")
    options = parser.parse_args()
    started = time.perf_counter()
    for name in options.worlds:
        if options.strengths:
            size = size_of_strengths(name, options.replicates, options.seed)
            print(f"{name}: {size:.3f} of {options.replicates}", flush=True)
            continue
        report(name, list(first_pages(name, options.replicates, options.seed)))
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
