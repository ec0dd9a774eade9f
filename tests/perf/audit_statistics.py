"""All statistics of an audit against the same coefficients from general libraries, in one run.

    python tests/perf/audit_statistics.py [ITEMS ...]

Twenty respondents, four administrations (three runs and the flipped form), 250, 1,000, 4,000 and
14,216 yes/no items (AMBER's) unless told otherwise. HQM computes every estimate of the catalogue that needs no judge, for
accuracy and F1. The alternative computes only a handful (Pearson, Spearman, tau-b, ICC, alpha, item
agreement and kappa, item-rest correlations) from a long table, as a script with pandas, pingouin
and scipy does, and scikit-learn for kappa. Each size is made by both in turns, three times, and the
medians are printed as Markdown: seconds of processor time and of the clock, their ratio, and which of
the alternative's coefficients takes most of its time.
"""

from __future__ import annotations

import os
import resource
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the program `hqm` does; for both

import numpy as np

from hqm.indicators import Protocol, compare, compare_runs, describe
from hqm.scoring.matrix import ScoreMatrix
from hqm.scoring.metrics import YES_NO
from hqm.types import Cell, Estimate, Form, Item

RESPONDENTS = 20
ROUNDS = 3
Result = TypeVar("Result")


def build_matrices(n: int, seed: int = 0) -> list[ScoreMatrix]:
    """Three runs and a flipped form."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(2, size=n).astype(bool)
    words = [f"w{k}" for k in range(400)]
    items = [
        Item(
            f"q{i}",
            f"Is there a {words[rng.integers(400)]} by the {words[rng.integers(400)]}?",
            "yes_no",
            "yes" if t else "no",
            f"{i // 6}.png",
            ("existence", "attribute", "relation")[i % 3],
            cluster=f"{i // 6}.png",
        )
        for i, t in enumerate(truth)
    ]
    turned = [
        Item(
            a.id,
            "no " + a.prompt,
            "yes_no",
            "no" if t else "yes",
            a.image,
            a.type,
            cluster=a.cluster,
        )
        for a, t in zip(items, truth, strict=True)
    ]
    chance = 1 / (
        1 + np.exp(-(rng.normal(0, 1, (RESPONDENTS, 1)) + rng.normal(0, 1.5, (1, n)) + 1))
    )
    subsets = {
        kind: np.array([a.type == kind for a in items])
        for kind in ("existence", "attribute", "relation")
    }
    matrices = []
    for cell, cell_items, right_is_yes in (
        *((Cell(run=k), items, truth) for k in range(3)),
        (Cell(form="parallel"), turned, ~truth),
    ):
        right = (rng.random(chance.shape) < chance).astype(float)
        yes = np.where(right_is_yes, right, 1 - right)
        tallies = {
            "tp": yes * right_is_yes,
            "fp": yes * ~right_is_yes,
            "tn": (1 - yes) * ~right_is_yes,
            "fn": (1 - yes) * right_is_yes,
        }
        names = tuple(f"model{k}" for k in range(RESPONDENTS))
        matrices.append(
            ScoreMatrix(
                cell,
                names,
                tuple(cell_items),
                right,
                tallies,
                np.zeros(right.shape, np.uint8),
                np.ones(right.shape),
                subsets,
                str(cell),
            )
        )
    return matrices


def estimate_all(matrices: list[ScoreMatrix]) -> list[Estimate]:
    """Every estimate of accuracy and F1."""
    *runs, form = matrices
    protocol, estimates = Protocol("made@1", "b2:0", "official"), []
    original_form = Form("original", runs[0].items)
    for metric in (YES_NO[0], YES_NO[3]):
        estimates += compare_runs(runs, metric, protocol)
        for rerun in runs[1:]:
            estimates += compare("run", runs[0], rerun, metric, protocol, runs=runs)
        estimates += compare("form", runs[0], form, metric, protocol, runs=runs)
        families = list(runs[0].respondents)
        estimates += describe(
            runs[0],
            metric,
            protocol,
            original_form,
            ("existence",),
            leading=metric is YES_NO[0],
            families=families,
        )
    return estimates


def compute_with_libraries(matrices: list[ScoreMatrix]) -> tuple[int, dict[str, float]]:
    """A few coefficients from a long table, by general libraries: how many numbers, and the
    processor seconds that each kind of coefficient takes.
    """
    import pandas as pd
    import pingouin
    from scipy import stats
    from sklearn.metrics import cohen_kappa_score

    first, *reruns = matrices
    count, spent = 0, Counter[str]()

    @contextmanager
    def timed(name: str) -> Iterator[None]:
        began = time.process_time()
        yield
        spent[name] += time.process_time() - began

    for matrix in reruns:
        with timed("ICC"):
            x, y = np.mean(first.values, axis=1), np.mean(matrix.values, axis=1)
            long_table = pd.DataFrame(
                {
                    "model": np.tile(np.arange(RESPONDENTS), 2),
                    "run": np.repeat([0, 1], RESPONDENTS),
                    "score": np.r_[x, y],
                }
            )
            pingouin.intraclass_corr(long_table, "model", "run", "score")
        with timed("correlations"):
            for correlation in (stats.pearsonr, stats.spearmanr, stats.kendalltau):
                correlation(x, y)
        with timed("kappa"):
            for a, b in zip(first.values, matrix.values, strict=True):
                cohen_kappa_score(a, b)
        count += 4 + RESPONDENTS
    table = pd.DataFrame(first.values)
    with timed("alpha"):
        pingouin.cronbach_alpha(table)
    with timed("item-rest correlations"):
        total = table.sum(axis=1)
        rest_scores = (-table).add(total, axis=0)
        count += 1 + int(table.corrwith(rest_scores).notna().sum())
    return count, spent


@dataclass(frozen=True)
class Seconds:
    """What one way took."""

    processor: float
    wall: float


def measure(work: Callable[[], Result]) -> tuple[Result, Seconds]:
    """The result of some work, and what it took."""
    wall, processor = time.perf_counter(), time.process_time()
    result = work()
    return result, Seconds(time.process_time() - processor, time.perf_counter() - wall)


def compare_size(n: int) -> str:
    """A row of the table: one size by both, in turns."""
    matrices = build_matrices(n)
    ours, theirs, shares = [], [], list[dict[str, float]]()
    for _ in range(ROUNDS):
        estimates, seconds = measure(lambda: estimate_all(matrices))
        ours.append(seconds)
        (count, spent), seconds = measure(lambda: compute_with_libraries(matrices))
        theirs.append(seconds)
        shares.append(spent)
    numbers = [
        statistics.median(getattr(seconds, kind) for seconds in way)
        for kind in ("processor", "wall")
        for way in (ours, theirs)
    ]
    ratios = [theirs / ours for ours, theirs in (numbers[:2], numbers[2:])]
    longest = max(shares[0], key=lambda name: shares[0][name])
    share = shares[0][longest] / sum(shares[0].values())
    processor, wall = (" | ".join(f"{s:.2f}" for s in pair) for pair in (numbers[:2], numbers[2:]))
    return (
        f"| {n:,} | {len(estimates)}, {count:,} | {processor} | {ratios[0]:.2f} | {wall} |"
        f" {ratios[1]:.2f} | {longest}, {100 * share:.0f} % |"
    )


def main() -> None:
    """Print the comparison."""
    sizes = [int(word) for word in sys.argv[1:]] or [250, 1000, 4000, 14_216]
    estimate_all(build_matrices(200))  # what is imported at first use is timed for neither
    compute_with_libraries(build_matrices(200))
    print(
        f"{RESPONDENTS} respondents x 4 administrations, {os.cpu_count()} cores, load"
        f" {os.getloadavg()[0]:.1f} before it, medians of {ROUNDS} rounds in turns:\n"
    )
    print(
        "| items | numbers by HQM, by the libraries | HQM, processor s | libraries | ratio | HQM,"
        " s | libraries | ratio | what takes the libraries longest |"
    )
    print("|" + "---|" * 9)
    for n in sizes:
        print(compare_size(n), flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\npeak {peak:,.0f} MiB")


if __name__ == "__main__":
    main()
