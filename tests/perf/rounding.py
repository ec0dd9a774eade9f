"""AMBER's own size: whether a release's rounding stays out of the statistics, and how long the
moment engine takes.

    HQM_DATA=... python -m tests.perf.rounding [respondents]

The 14,216 questions of AMBER-d's release, answered twice by simulated respondents of similar
ability who say exactly Yes or No; so official and paper scoring differ by the release's rounding
alone. Prints both scorings' errors, their relative difference, and what they would be with the
rounding inside the metric; then the seconds that G and Phi take on respondents x 14,216 x 4.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

import hqm
from hqm.indicators import Protocol, case
from hqm.indicators.indicator import family_indicators
from hqm.psychometrics import g_and_phi
from hqm.scoring.matrix import ScoreMatrix
from hqm.scoring.metrics import Metric
from hqm.types import Cell, Response
from tests.indicator_answers import answer

PROTOCOL = Protocol("simulated", "", "")
ERRORS = {
    "test_retest": ("sem", "mdc95", "rho_g_1000"),
    "discriminability": ("minimum_difference",),
}
METRICS = ("accuracy", "precision", "recall", "f1")


def right_answers(items: int, respondents: int, runs: int, rng: np.random.Generator) -> np.ndarray:
    """(runs, respondents, items): 1 for a right answer; easy and hard questions, accuracies near
    .75.
    """
    sure = rng.normal(1.5, 0.35, respondents)[:, None] - rng.normal(0, 1.2, items)
    return np.asarray(
        rng.random((runs, respondents, items)) < 1 / (1 + np.exp(-sure)), dtype=np.float64
    )


def matrices(benchmark: hqm.Benchmark, right: np.ndarray) -> list[ScoreMatrix]:
    """The runs, scored by the benchmark: every verdict on Yes and on No is its own."""
    items = benchmark.original.items
    verdicts = {
        reply: [benchmark.verdict(item, Response(reply)) for item in items]
        for reply in ("Yes", "No")
    }
    names = sorted({name for row in verdicts.values() for verdict in row for name in verdict.tally})
    says_yes = right == np.array([str(item.target) == "yes" for item in items])

    def tally_of(name: str) -> np.ndarray:
        yes, no = (
            [verdict.tally.get(name, 0.0) for verdict in verdicts[reply]] for reply in ("Yes", "No")
        )
        return np.where(says_yes, yes, no)

    tallies = {name: tally_of(name) for name in names}
    respondents = tuple(f"model-{m}" for m in range(right.shape[1]))
    return [
        ScoreMatrix(
            Cell(run=run),
            respondents,
            items,
            right[run],
            {name: rows[run] for name, rows in tallies.items()},
            np.zeros(right[run].shape, dtype=np.uint8),
            np.full(right[run].shape, np.nan),
            {},
            f"run {run}",
        )
        for run in range(len(right))
    ]


def errors_of(
    run_matrices: list[ScoreMatrix], metrics: Mapping[str, Metric]
) -> dict[tuple[str, str], float]:
    """(indicator, metric) -> its value."""
    values = {}
    for name, metric in metrics.items():
        cases = {
            "test_retest": case(
                "test_retest", "run", run_matrices, metric, PROTOCOL, is_joint=True
            ),
            "discriminability": case("discriminability", "", run_matrices[:1], metric, PROTOCOL),
        }
        for family, indicator_names in ERRORS.items():
            for indicator in family_indicators(family):
                if indicator.name in indicator_names:
                    result = answer(cases[family], indicator)
                    values[f"{family}.{indicator.name}", name] = (
                        float("nan") if result is None else result.coefficient.value
                    )
    return values


def main() -> None:
    """Print the table and the time."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    official, paper = (hqm.load("amber_d", scoring=scoring) for scoring in ("official", "paper"))
    right = right_answers(len(official.original.items), count, 4, np.random.default_rng(3))
    scorings = {"official": official, "paper": paper}
    metrics = {
        scoring: {m.name: m for m in benchmark.metrics if m.name in METRICS}
        for scoring, benchmark in scorings.items()
    }
    scored = {scoring: matrices(benchmark, right[:2]) for scoring, benchmark in scorings.items()}
    table = {scoring: errors_of(scored[scoring], metrics[scoring]) for scoring in scorings}
    printed_metrics = {
        name: replace(metric, of=metric.printed) for name, metric in metrics["official"].items()
    }
    rounded = errors_of(scored["official"], printed_metrics)
    print(f"{count} respondents x {len(official.original.items)} questions x 2 runs")
    print(
        "| indicator | metric | official | paper | relative difference | with the rounding inside"
        " |\n|---|---|---|---|---|---|"
    )
    for key, value in table["official"].items():
        paper_value = table["paper"][key]
        print(
            f"| {key[0]} | {key[1]} | {value:.6f} | {paper_value:.6f} |"
            f" {abs(value / paper_value - 1):.1e} |"
            f" {rounded[key]:.6f} |"
        )
    worst = max(abs(value / table["paper"][key] - 1) for key, value in table["official"].items())
    print(f"largest relative difference: {worst:.1e} (demanded: .002)")
    pictures = np.unique([item.cluster for item in official.original.items], return_inverse=True)[1]
    start = time.perf_counter()
    study = g_and_phi(np.moveaxis(right, 0, 2), "run", pictures, replicated=True)
    print(
        f"G {study.g.value:.4f}, Phi {study.phi.value:.4f}, {count} x {right.shape[2]} x 4:"
        f" {time.perf_counter() - start:.2f} s"
    )


if __name__ == "__main__":
    main()
