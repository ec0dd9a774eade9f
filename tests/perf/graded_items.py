"""How often reversed items of graded scores are found, and sound ones accused, in several worlds.

    python -m tests.perf.graded_items 200 6,8,10,12,20 [RUNS]

prints a row for each number of respondents and world: of studies of 100 sound items, the share in
which reversed ones are shown; of studies with 10 reversed among 100, the share in which they are
shown, the reversed items that are named, the share of sound ones among the named, and the reversed
items among the first ten of the list. The worlds are no model of the estimator: scores are rounded
and clipped, abilities skewed or alike, items of unequal and of no discrimination, a quarter so hard
that they do not discriminate, errors of heavy tails or shared by families of respondents, answers
missing.
"""

from __future__ import annotations

import sys

import numpy as np

from hqm.psychometrics.items.reversed_scales import reversed_items
from hqm.psychometrics.result import Array, IntArray, ratio

WORLDS = (
    "normal",
    "alike",
    "skewed",
    "undiscriminating",
    "hard",
    "unequal_errors",
    "heavy_tails",
    "families",
    "continuous",
    "missing",
)


def graded_study(
    rng: np.random.Generator,
    respondents: int,
    *,
    items: int = 100,
    reversed_count: int = 0,
    world: str = "normal",
    runs: int = 1,
) -> tuple[Array, IntArray]:
    """Scores (runs, respondents, items) from 1 to 5 (continuous: 0 to 1), and the reversed items."""
    ability = rng.normal(0, 0.6, respondents)
    if world == "alike":
        ability *= 0.2
    if world == "skewed":
        ability = 0.6 * (rng.exponential(1, respondents) - 1)
    easiness = rng.normal(0, 0.7, items)
    slope = np.exp(rng.normal(0, 0.3, items))
    if world == "undiscriminating":
        slope = np.abs(rng.normal(0.6, 0.5, items))
    if world == "hard":
        is_hard = rng.random(items) < 0.25
        easiness[is_hard] -= 2.5
        slope[is_hard] = 0
    scale = np.full(items, 0.8)
    if world == "unequal_errors":
        scale *= np.exp(rng.normal(0, 0.5, items))
    shape = (runs, respondents, items)
    answer = rng.normal(size=shape[1:])
    if world == "heavy_tails":
        answer = rng.standard_t(3, shape[1:]) / 1.7
    if world == "families":
        families = rng.integers(0, 3, respondents)
        answer = 0.7 * answer + 0.7 * rng.normal(size=(3, items))[families]
    errors = answer if runs == 1 else 0.6 * answer + 0.8 * rng.normal(size=shape)
    latent = np.broadcast_to(3.2 + easiness + np.outer(ability, slope) + scale * errors, shape)
    scores = np.clip(np.rint(latent), 1, 5)
    if world == "continuous":
        scores = 1 / (1 + np.exp(3.2 - latent))
    faults = np.sort(rng.choice(items, reversed_count, replace=False))
    scores[:, :, faults] = (1 if world == "continuous" else 6) - scores[:, :, faults]
    if world == "missing":
        scores[rng.random(shape) < 0.2] = np.nan
    return scores, faults


def mean_over_runs(scores: Array) -> Array:
    """(respondents, items): the mean of each answer over the runs that have it."""
    return ratio(np.nansum(scores, axis=0), np.isfinite(scores).sum(axis=0))


def main(replicates: int, sizes: list[int], runs: int) -> None:
    """Print a row for each number of respondents and world."""
    print("respondents  world  false alarms  shown  named  of these sound  among the first ten")
    for respondents in sizes:
        for number, world in enumerate(WORLDS):
            alarms, shown, named, sound, first = np.zeros(5)
            for replicate in range(replicates):
                rng = np.random.default_rng([respondents, number, replicate])
                scores, _ = graded_study(rng, respondents, world=world, runs=runs)
                alarms += reversed_items(mean_over_runs(scores), rng=rng).stands_out
                scores, faults = graded_study(
                    rng, respondents, reversed_count=10, world=world, runs=runs
                )
                listed = reversed_items(mean_over_runs(scores), rng=rng)
                names = {row.item for row in listed.named}
                shown += listed.stands_out
                named += len(names & set(faults.tolist()))
                sound += len(names - set(faults.tolist()))
                first += len({row.item for row in listed.items[:10]} & set(faults.tolist()))
            print(
                f"{respondents:3}  {world:16}  {alarms / replicates:.3f}  {shown / replicates:.2f}"
                f"  {named / replicates:.1f}  {sound / max(named + sound, 1):.2f}"
                f"  {first / replicates:.1f}",
                flush=True,
            )


if __name__ == "__main__":
    replicates, sizes, *runs = sys.argv[1:]
    main(int(replicates), [int(size) for size in sizes.split(",")], int(*runs or [1]))
