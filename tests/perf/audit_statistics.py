"""All statistics of an audit against the same coefficients from general libraries, in one run.

    python tests/perf/audit_statistics.py [items]

Twenty respondents, four administrations (three runs and the flipped form), AMBER's 14,216 yes/no
items unless told otherwise. HQM computes every estimate of the catalogue that needs no judge, for
accuracy and F1. The alternative computes only a handful (Pearson, Spearman, tau-b, ICC, alpha, item
agreement and kappa, item-rest correlations) from a long table, as a script with pandas, pingouin
and scipy does. Prints seconds of processor time, the ratio, the peak memory, and how HQM's time
grows for 1, 4 and 16 times the items.
"""

from __future__ import annotations

import os
import resource
import sys
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the program `hqm` does; for both

import numpy as np

from hqm.indicators import Protocol, compare, compare_runs, describe
from hqm.scoring.matrix import ScoreMatrix
from hqm.scoring.metrics import YES_NO
from hqm.types import Cell, Estimate, Form, Item

RESPONDENTS = 20


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


def compute_with_libraries(matrices: list[ScoreMatrix]) -> int:
    """A few coefficients from a long table, by general libraries; how many numbers."""
    import pandas as pd
    import pingouin
    from scipy import stats
    from sklearn.metrics import cohen_kappa_score

    first, *reruns = matrices
    count = 0
    for matrix in reruns:
        x, y = np.mean(first.values, axis=1), np.mean(matrix.values, axis=1)
        long_table = pd.DataFrame(
            {
                "model": np.tile(np.arange(RESPONDENTS), 2),
                "run": np.repeat([0, 1], RESPONDENTS),
                "score": np.r_[x, y],
            }
        )
        pingouin.intraclass_corr(long_table, "model", "run", "score")
        for correlation in (stats.pearsonr, stats.spearmanr, stats.kendalltau):
            correlation(x, y)
        for a, b in zip(first.values, matrix.values, strict=True):
            cohen_kappa_score(a, b)
        count += 4 + RESPONDENTS
    table = pd.DataFrame(first.values)
    pingouin.cronbach_alpha(table)
    total = table.sum(axis=1)
    rest_scores = (-table).add(total, axis=0)
    count += 1 + int(table.corrwith(rest_scores).notna().sum())
    return count


def main() -> None:
    """Print the comparison."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 14_216
    estimate_all(build_matrices(200))  # what is imported at first use is timed for neither
    compute_with_libraries(build_matrices(200))
    matrices = build_matrices(n)
    began = time.process_time()
    estimates = estimate_all(matrices)
    ours = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    began = time.process_time()
    handful = compute_with_libraries(matrices)
    theirs = time.process_time() - began
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    print(f"{RESPONDENTS} respondents x {n:,} items x 4 administrations")
    print(f"HQM: {len(estimates)} estimates of two metrics in {ours:.1f} s, peak {peak:,.0f} MiB")
    print(
        f"pandas, pingouin, scipy, scikit-learn: {handful:,} numbers of one metric in"
        f" {theirs:.1f} s"
    )
    print(f"ratio {theirs / ours:.2f}")
    base = max(n // 16, 100)
    for factor in (1, 4, 16):
        matrices = build_matrices(base * factor)
        began = time.process_time()
        estimate_all(matrices)
        print(f"{base * factor:>8,} items: {time.process_time() - began:.2f} s")


if __name__ == "__main__":
    main()
