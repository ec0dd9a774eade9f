"""How often the intervals of a test-retest reliability hold the truth, by simulation; prints a
markdown table.

    python tests/perf/retest_coverage.py [--replicates 600] [--settings 100:1 1000:1 1000:0.25 4000:1] [--seed 0]

Every replicate draws 20 respondents and n items anew: logit P(right) = ability + easiness +
interaction, with standard deviations sd, 1 and 1, and two runs of answers. Two truths are known for
the same items: the reliability among these very respondents, and among all respondents of that
population. An interval is good when it holds its own truth in 95 of 100 replicates: `rho_G fixed`
and the item bootstrap speak about these respondents, all others about the population.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hqm.psychometrics import icc, pearson, rho_g

Array = npt.NDArray[np.float64]
INTERVALS = (
    "Fisher on r",
    "ICC(A,1) F",
    "rho_G chi-square (other respondents)",
    "rho_G item jackknife (these respondents)",
    "item bootstrap percentile of r, 300 samples",
)
RESPONDENTS = 20
_GRID = np.linspace(-16, 16, 3201)


def _logistic(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def _averaged() -> tuple[Array, Array]:
    """E p and E p^2 over the interaction, on a grid of ability + easiness."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(41)
    p = _logistic(_GRID[:, None] + nodes)
    weights = weights / weights.sum()
    return p @ weights, p**2 @ weights


_P, _P2 = _averaged()


def population_reliability(easiness: Array, sd: float) -> float:
    """The reliability of one run on these items among all respondents of the population."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(41)
    weights = weights / weights.sum()
    ability_grid = sd * nodes[:, None] + easiness
    p, p2, n = (
        np.interp(ability_grid, _GRID, _P),
        np.interp(ability_grid, _GRID, _P2),
        len(easiness),
    )
    mu = p.mean(axis=1)
    true = (
        float(weights @ (mu - weights @ mu) ** 2) + float(weights @ (p2 - p**2).sum(axis=1)) / n**2
    )
    return true / (true + float(weights @ (p - p2).sum(axis=1)) / n**2)


@dataclass(frozen=True)
class Covered:
    """Shares of replicates whose interval holds the population's and these respondents' value, and
    the median width.
    """

    population: float
    fixed_respondents: float
    width: float


def simulate(
    n: int, sd: float, replicates: int, rng: np.random.Generator, bootstrap: int = 300
) -> dict[str, Covered]:
    """Coverage of each interval for n items and a standard deviation of ability."""
    names = INTERVALS if bootstrap else INTERVALS[:-1]
    ends = np.full((len(names), replicates, 2), np.nan)
    truth = np.empty((replicates, 2))
    for r in range(replicates):
        easiness = rng.normal(size=n)
        p = _logistic(
            rng.normal(0, sd, (RESPONDENTS, 1)) + easiness + rng.normal(size=(RESPONDENTS, n))
        )
        answers = (rng.random((2, RESPONDENTS, n)) < p).astype(np.float64)
        mu, noise = p.mean(axis=1), (p * (1 - p)).sum(axis=1) / n**2
        true = float(mu.var(ddof=1))
        truth[r] = population_reliability(easiness, sd), true / (true + float(noise.mean()))
        scores = answers.mean(axis=2)
        rho = rho_g(answers).rho
        for i, c in enumerate((pearson(*scores), icc(scores.T).a1, rho)):
            ends[i, r] = c.low, c.high
        if rho.fixed is not None:
            ends[3, r] = rho.fixed.low, rho.fixed.high
        if bootstrap:
            ends[4, r] = np.quantile(_resampled(answers, bootstrap, rng), (0.025, 0.975))
    # no interval counts as a miss
    covered = (ends[:, :, :1] <= truth) & (truth <= ends[:, :, 1:])
    shares, widths = (
        covered.mean(axis=1),
        np.nanmedian(np.minimum(ends[:, :, 1], 1.0) - ends[:, :, 0], axis=1),
    )
    return {
        name: Covered(float(shares[i, 0]), float(shares[i, 1]), float(widths[i]))
        for i, name in enumerate(names)
    }


def _resampled(answers: Array, samples: int, rng: np.random.Generator) -> Array:
    """Pearson's r of the two runs under resampling of items, the same items for everyone."""
    n = answers.shape[2]
    weights = rng.multinomial(n, np.full(n, 1 / n), size=samples).astype(np.float64) / n
    s = np.moveaxis((weights @ answers.reshape(-1, n).T).reshape(samples, 2, -1), 1, 0)
    s = s - s.mean(axis=2, keepdims=True)
    return np.asarray((s[0] * s[1]).sum(1) / np.sqrt((s[0] ** 2).sum(1) * (s[1] ** 2).sum(1)))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--replicates", type=int, default=600)
    parser.add_argument(
        "--settings", nargs="+", default=["100:1", "1000:1", "1000:0.25", "4000:1"], metavar="N:SD"
    )
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    settings = [(int(n), float(sd)) for n, sd in (text.split(":") for text in args.settings)]
    started = time.perf_counter()
    streams = np.random.SeedSequence(args.seed).spawn(len(settings))
    coverages = [
        simulate(n, sd, args.replicates, np.random.default_rng(stream))
        for (n, sd), stream in zip(settings, streams, strict=True)
    ]
    print("| interval | " + " | ".join(f"n = {n}, sd {sd:g}" for n, sd in settings) + " |")
    print("|---|" + "---|" * len(settings))
    for name in INTERVALS:
        cells = (
            f"{c[name].population:.3f} / {c[name].fixed_respondents:.3f} / {c[name].width:.2g}"
            for c in coverages
        )
        print(f"| {name} | " + " | ".join(cells) + " |")
    print(
        f"\n{args.replicates} replicates, seed {args.seed}, {time.perf_counter() - started:.0f} s"
    )


if __name__ == "__main__":
    main()
