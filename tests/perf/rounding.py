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
from hqm.indicators.indicator import indicators_of
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
        said: [benchmark.verdict(item, Response(said)) for item in items] for said in ("Yes", "No")
    }
    names = sorted({name for row in verdicts.values() for verdict in row for name in verdict.tally})
    says_yes = right == np.array([str(item.target) == "yes" for item in items])

    def of(name: str) -> np.ndarray:
        yes, no = (
            [verdict.tally.get(name, 0.0) for verdict in verdicts[said]] for said in ("Yes", "No")
        )
        return np.where(says_yes, yes, no)

    tallies = {name: of(name) for name in names}
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
    made: list[ScoreMatrix], metrics: Mapping[str, Metric]
) -> dict[tuple[str, str], float]:
    """(indicator, metric) -> its value."""
    out = {}
    for name, metric in metrics.items():
        cases = {
            "test_retest": case("test_retest", "run", made, metric, PROTOCOL, together=True),
            "discriminability": case("discriminability", "", made[:1], metric, PROTOCOL),
        }
        for family, wanted in ERRORS.items():
            for indicator in indicators_of(family):
                if indicator.name in wanted:
                    given = answer(cases[family], indicator)
                    out[f"{family}.{indicator.name}", name] = (
                        float("nan") if given is None else given.coefficient.value
                    )
    return out


def main() -> None:
    """Print the table and the time."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    official, paper = (hqm.load("amber_d", scoring=scoring) for scoring in ("official", "paper"))
    right = right_answers(len(official.original.items), count, 4, np.random.default_rng(3))
    ways = {"official": official, "paper": paper}
    metrics = {
        way: {m.name: m for m in made.metrics if m.name in METRICS} for way, made in ways.items()
    }
    scored = {way: matrices(made, right[:2]) for way, made in ways.items()}
    table = {way: errors_of(scored[way], metrics[way]) for way in ways}
    inside = {
        name: replace(metric, of=metric.printed) for name, metric in metrics["official"].items()
    }
    rounded = errors_of(scored["official"], inside)
    print(f"{count} respondents x {len(official.original.items)} questions x 2 runs")
    print(
        "| indicator | metric | official | paper | relative difference | with the rounding inside"
        " |\n|---|---|---|---|---|---|"
    )
    for key, value in table["official"].items():
        other = table["paper"][key]
        print(
            f"| {key[0]} | {key[1]} | {value:.6f} | {other:.6f} | {abs(value / other - 1):.1e} |"
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
