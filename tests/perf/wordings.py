"""What a mean over wordings is worth, and whether who follows the advice on their number passes.

    python -m tests.perf.wordings [--replicates 200] [--seed 0]

Respondents answer 240 binary items in wordings drawn anew: logit P(right) = ability + wording +
(respondent x wording), so that nothing is normal on the scale of the scores. *Held* is the share of
lower ends that lie below the true Phi of the mean over the wordings at hand. *No number* is the
share of pilot studies of three wordings to which no number of wordings up to 20 is advised; of the
others, *passes* is the share whose next study, with as many wordings as advised and the same
number of respondents, shows Phi at least .75.
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from hqm.psychometrics import dependability, wordings_needed
from tests.perf.coverage_worlds import shaped_abilities

GOAL = 0.75
ITEMS = 240


@dataclass(frozen=True)
class World:
    """Standard deviations on the logit scale."""

    name: str
    respondents: int = 12
    ability: float = 0.6
    wording: float = 0.15
    interaction_sd: float = 0.1
    shape: str = "normal"

    def draw(self, wordings: int, rng: np.random.Generator, respondents: int = 0) -> np.ndarray:
        """(respondents, wordings): scores."""
        m = respondents or self.respondents
        ability = self.ability * shaped_abilities(self.shape, rng.normal(size=m))
        logit = ability[:, None] + 0.6 + self.wording * rng.normal(size=wordings)
        logit = logit + self.interaction_sd * rng.normal(size=(m, wordings))
        return np.asarray(rng.binomial(ITEMS, expit(logit)) / ITEMS)

    def phi(self, wordings: int, rng: np.random.Generator) -> float:
        """The true Phi of a mean over so many wordings, from one very large draw."""
        x = self.draw(400, rng, 4000)
        rows, columns = x.mean(axis=1), x.mean(axis=0)
        residuals = x - rows[:, None] - columns + x.mean()
        error = float((residuals**2).sum()) / (3999 * 399)
        row_variance = float(rows.var(ddof=1)) - error / 400
        shift = float(columns.var(ddof=1)) - error / 4000
        return row_variance / (row_variance + (shift + error) / wordings)


WORLDS = tuple(
    replace(world, name=f"{world.name}, {m} respondents", respondents=m)
    for world in (
        World("wordings shift by .15"),
        World("wordings shift by .3", wording=0.3),
        World("wordings shift by .3, skewness -2", wording=0.3, shape="skewed"),
        World("wordings differ by respondent", interaction_sd=0.3),
    )
    for m in (12, 20)
)


@dataclass(frozen=True)
class Followed:
    """What came of the replicates of one world; `passes` is NaN where nobody was given a number."""

    held_three: float
    held_five: float
    without_number: float
    passes: float


def simulate(world: World, replicates: int, rng: np.random.Generator) -> Followed:
    """Pilot studies of three wordings, and the studies that follow their advice."""
    truth = {k: world.phi(k, rng) for k in (3, 5)}
    n_covered = {3: 0, 5: 0}
    passed, advised = 0, 0
    for _ in range(replicates):
        pilot = world.draw(3, rng)
        n_covered[3] += dependability(pilot, rng, draws=2000).low <= truth[3]
        n_covered[5] += dependability(world.draw(5, rng), rng, draws=2000).low <= truth[5]
        n_wordings = wordings_needed(pilot, GOAL, rng).n_wordings
        if n_wordings is not None:
            advised += 1
            passed += dependability(world.draw(n_wordings, rng), rng, draws=2000).low >= GOAL
    return Followed(
        n_covered[3] / replicates,
        n_covered[5] / replicates,
        1 - advised / replicates,
        passed / advised if advised else math.nan,
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--replicates", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    started = time.perf_counter()
    print(
        "| world | held, 3 wordings | held, 5 wordings | no number | passes |\n|---|---|---|---|---|"
    )
    for world in WORLDS:
        result = simulate(world, options.replicates, np.random.default_rng(options.seed))
        shares = (result.held_three, result.held_five, result.without_number, result.passes)
        print(
            f"| {world.name} | " + " | ".join(f"{share:.2f}" for share in shares) + " |", flush=True
        )
    took = time.perf_counter() - started
    print(f"\n{options.replicates} replicates a world, seed {options.seed}, {took:.0f} s")


if __name__ == "__main__":
    main()
