"""How often the leave-one-item-out interval of agreement between two forms holds the value for
these respondents.

    python tests/perf/coverage_left_out.py [replicates]

Twenty respondents answer n items twice; abilities spread with `sd`, the second form moves each
respondent by a normal amount with `sd_form` and all of them by `shift` (logits). The value to cover
is the mean of the coefficient over fresh items and seeds for the same respondents. Prints a
Markdown table: coverage of r and ICC(A,1), and the median widths.
"""

from __future__ import annotations

import sys

import numpy as np

from hqm.psychometrics import agreement_coefficients, reliability_jackknife_interval

SETTINGS = (
    (1000, 1.0, 0.0, 0.0),
    (1000, 0.25, 0.0, 0.0),
    (1000, 1.0, 0.3, 0.0),
    (1000, 1.0, 0.3, 0.5),
    (200, 1.0, 0.3, 0.2),
    (1000, 0.5, 0.5, 0.3),
)
STATISTICS = ("pearson", "icc_a1")


def coverage(
    n: int, sd: float, sd_form: float, shift: float, replicates: int, rng: np.random.Generator
) -> dict[str, tuple[float, float, float]]:
    """Statistic -> (value to cover, coverage, median width)."""
    ability = rng.normal(0, sd, 20)
    abilities = (ability, ability + rng.normal(0, sd_form, 20) + shift)

    def answers() -> list[np.ndarray]:
        difficulty = rng.normal(0, 1, n)
        return [
            (rng.random((20, n)) < 1 / (1 + np.exp(difficulty - a[:, None]))).astype(float)
            for a in abilities
        ]

    def values(x: np.ndarray, y: np.ndarray) -> dict[str, float]:
        return {
            k: float(v[0])
            for k, v in agreement_coefficients(x.mean(1)[:, None], y.mean(1)[:, None]).items()
        }

    truth = {k: float(np.mean([values(*answers())[k] for _ in range(400)])) for k in STATISTICS}
    hits, widths = dict.fromkeys(STATISTICS, 0), {k: [] for k in STATISTICS}
    for _ in range(replicates):
        x, y = answers()
        left = agreement_coefficients(*((a.sum(1, keepdims=True) - a) / (n - 1) for a in (x, y)))
        for k, value in values(x, y).items():
            if k in STATISTICS:
                bounds = reliability_jackknife_interval(value, left[k])
                hits[k] += bounds.low <= truth[k] <= bounds.high
                widths[k].append(bounds.high - bounds.low)
    return {k: (truth[k], hits[k] / replicates, float(np.median(widths[k]))) for k in STATISTICS}


def main() -> None:
    """Print the table."""
    replicates = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    rng = np.random.default_rng(1)
    print(f"{replicates} replicates a row, 20 respondents, nominal 95%\n")
    print(
        "| n | sd | sd of form | shift | r: value, coverage, width | ICC(A,1): value, coverage,"
        " width |\n|---|---|---|---|---|---|"
    )
    for setting in SETTINGS:
        covered = coverage(*setting, replicates, rng)
        cells = [f"{v:.3f}, {c:.3f}, {w:.3f}" for v, c, w in covered.values()]
        print("| " + " | ".join([*map(str, setting), *cells]) + " |")


if __name__ == "__main__":
    main()
