"""How often `--until` errs, and what it saves: the figures of docs/stopping.md.

    python -m tests.perf.decisions_until            # errors and savings, about 8 minutes on one core
    python -m tests.perf.decisions_until --quick    # a tenth of the runs
    python -m tests.perf.decisions_until --pairs    # the second half of it
    python -m tests.perf.decisions_until --shapes   # the embedded models, asked with a rule; about 10 minutes

The answers are drawn from a probit model with effects of picture, item, respondent and respondent
by picture, and a benchmark's own score is what all its items give; the intervals know nothing of
that model.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import math
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from hqm_study.confidence_sequences import RunningInterval, Wealth
from scipy.special import ndtr, ndtri

from hqm.benchmark.registry import load_all

Array = npt.NDArray[np.float64]
RUNS = 2000
GOAL = 0.05


@dataclass(frozen=True)
class World:
    """A benchmark of `pictures` with `items` each (a range where they differ), and how right
    answers come about.
    """

    mean: float
    items: int
    sd: float
    pictures: int = 250
    unequal: bool = False
    endless: bool = False
    unscored: float = 0.0

    @property
    def name(self) -> str:
        sizes = f"1 to {self.items}" if self.unequal else str(self.items)
        suffix = (", items like these" if self.endless else "") + (
            ", 5 % unscored" if self.unscored else ""
        )
        return f"{self.mean:g} | {sizes} | {self.sd:g} | {self.pictures}{suffix}"


def answers(
    rng: np.random.Generator, world: World, means: npt.ArrayLike, batch: int = 1
) -> tuple[Array, npt.NDArray[np.bool_]]:
    """(batch, respondents, pictures, items) of 0 and 1 or NaN, and (batch, pictures, items):
    whether the item exists.
    """
    target_means = np.asarray(means, dtype=np.float64)
    shape = (batch, target_means.size, world.pictures, world.items)
    interaction_sd, item_sd = 0.3, 0.7
    picture = world.sd * rng.standard_normal((batch, 1, world.pictures, 1))
    item = item_sd * rng.standard_normal((batch, 1, world.pictures, world.items))
    by_picture = interaction_sd * rng.standard_normal((batch, target_means.size, world.pictures, 1))
    spread = math.sqrt(1 + world.sd**2 + item_sd**2 + interaction_sd**2)
    middle = (ndtri(target_means) * spread)[None, :, None, None]
    right = (rng.random(shape) < ndtr(middle + picture + item + by_picture)).astype(float)
    sizes = (
        rng.integers(1, world.items + 1, (batch, world.pictures)) if world.unequal else world.items
    )
    present = np.arange(world.items) < np.asarray(sizes)[..., None] * np.ones(
        (batch, world.pictures, 1)
    )
    right[np.broadcast_to(~present[:, None], shape)] = np.nan
    if world.unscored:  # wrong answers are lost more often than right ones
        lost = rng.random(shape) < np.where(right == 1, world.unscored / 2, world.unscored * 3)
        right[lost] = np.nan
    return right, present


WORLDS = [
    *(
        World(mean, items, sd)
        for mean in (0.02, 0.8, 0.98)
        for items in (4, 10)
        for sd in (0.0, 0.5, 1.0)
    ),
    World(0.8, 1, 0.0),
    World(0.8, 10, 0.5, unequal=True),
    World(0.98, 10, 0.5, unequal=True),
    World(0.8, 4, 0.5, unscored=0.05),
    World(0.8, 4, 0.5, pictures=1000),
    World(0.8, 4, 0.5, endless=True),
    World(0.98, 4, 0.5, endless=True),
]


def missed(world: World, runs: int, rng: np.random.Generator) -> float:
    """The share of runs whose interval leaves the true score out at any time."""
    n_missed = 0
    for start in range(0, runs, 250):
        batch = min(250, runs - start)
        right, _ = answers(rng, world, [world.mean], batch)
        totals, items = np.nansum(right[:, 0], axis=-1), np.isfinite(right[:, 0]).sum(axis=-1)
        truth = totals.sum(axis=1) / items.sum(axis=1)
        if world.endless:
            truth = np.full(batch, world.mean)
        population = math.inf if world.endless else world.pictures
        wealth = Wealth(truth[:, None], largest=world.items, population=population)
        rejected = np.zeros(batch, dtype=bool)
        for k in range(world.pictures):
            wealth.draw(totals[:, k], items[:, k])
            if k + 1 < world.pictures or world.endless:
                rejected |= wealth.log_wealth_two_sided[:, 0] >= -math.log(GOAL)
        n_missed += int(rejected.sum())
    return n_missed / runs


def widths(world: World, runs: int, rng: np.random.Generator) -> tuple[float, float]:
    """Half of the interval, in the mean, at half of the pictures; and what an interval of a fixed
    size would have there.
    """
    half, fixed = [], []
    for _ in range(runs):
        right, _ = answers(rng, world, [world.mean])
        running = RunningInterval(
            population=math.inf if world.endless else world.pictures, largest=world.items
        )
        n_seen = world.pictures // 2
        for k in range(n_seen):
            running.draw(right[0, 0, k])
        totals, items = (
            np.nansum(right[0, 0, :n_seen], axis=1),
            np.isfinite(right[0, 0, :n_seen]).sum(axis=1),
        )
        residual = (totals - running.estimate * items) / items.mean()
        left = 1.0 if world.endless else 1 - n_seen / world.pictures
        half.append(running.half_width)
        fixed.append(1.96 * residual.std(ddof=1) * math.sqrt(left / n_seen))
    return float(np.mean(half)), float(np.mean(fixed))


@dataclass(frozen=True)
class Pairs:
    """Respondents with these means, put before a world; pairs closer than `smallest` need not be
    told apart.
    """

    means: tuple[float, ...]
    smallest: float
    world: World

    @property
    def name(self) -> str:
        means = ", ".join(f"{mean:g}" for mean in self.means)
        return (
            f"{means} | {self.smallest:g} | {self.world.items} | {self.world.sd:g} |"
            f" {self.world.pictures}"
        )


FAMILIES = [
    Pairs((0.8, 0.8, 0.8, 0.8, 0.8), 0.0, World(0.8, 4, 0.5)),
    Pairs((0.8, 0.8, 0.8, 0.8, 0.8), 0.02, World(0.8, 4, 0.5)),
    Pairs((0.7, 0.72, 0.75, 0.8, 0.9), 0.02, World(0.8, 4, 0.5)),
    Pairs((0.98, 0.98, 0.97, 0.96, 0.99), 0.01, World(0.98, 10, 1.0)),
    Pairs((0.02, 0.02, 0.03, 0.04, 0.01), 0.01, World(0.02, 4, 0.0)),
    Pairs((0.8, 0.82, 0.84), 0.02, World(0.8, 10, 1.0)),
]
GAPS = [
    Pairs((0.8, 0.84), 0.02, World(0.8, 4, 0.5, 1000)),
    Pairs((0.8, 0.84), 0.02, World(0.8, 10, 0.5, 1000)),
    Pairs((0.5, 0.54), 0.02, World(0.5, 4, 0.5, 1000)),
    Pairs((0.94, 0.98), 0.02, World(0.98, 4, 0.5, 1000)),
    Pairs((0.7, 0.74, 0.78, 0.82, 0.86), 0.02, World(0.8, 4, 0.5, 1000)),
    Pairs((0.7, 0.74, 0.78, 0.82, 0.86), 0.02, World(0.8, 10, 0.5, 1000)),
    Pairs((0.7, 0.8), 0.05, World(0.8, 4, 0.5, 250)),
]


@dataclass(frozen=True)
class Decided:
    """(runs, pairs): the true difference on the whole benchmark, the state, its sign, and the share
    of the pictures it took.
    """

    truth: Array
    state: npt.NDArray[np.str_]
    difference: Array
    share: Array


def decided(rng: np.random.Generator, case: Pairs, runs: int) -> Decided:
    """What is decided of every pair in so many runs; `RunningPairs` for all runs at a time."""
    right, _ = answers(rng, case.world, case.means, runs)
    first, second = np.triu_indices(len(case.means), 1)
    differences = right[:, first] - right[:, second]
    totals, items = np.nansum(differences, axis=-1), np.isfinite(differences).sum(axis=-1)
    truth = totals.sum(axis=-1) / items.sum(axis=-1)
    pairs, pictures = first.size, case.world.pictures
    against = [0.0, case.smallest, -case.smallest] if case.smallest else [0.0]
    supposed = np.broadcast_to(against, (runs, pairs, len(against))).copy()
    wealth = Wealth(supposed, -1.0, 1.0, case.world.items, pictures, GOAL / pairs)
    separation, closeness = np.zeros((runs, pairs)), np.zeros((runs, pairs, 2))
    state = np.full((runs, pairs), "open", dtype="<U9")
    difference, share = np.full((runs, pairs), np.nan), np.ones((runs, pairs))
    seen_totals, seen_items = np.zeros((runs, pairs)), np.zeros((runs, pairs))
    limits = np.log(np.arange(pairs, 0, -1) / GOAL)
    for k in range(pictures - 1):  # the last picture leaves nothing to decide
        wealth.draw(totals[..., k], items[..., k])
        seen_totals, seen_items = seen_totals + totals[..., k], seen_items + items[..., k]
        log_above, log_below = wealth.log_wealth_above, wealth.log_wealth_below
        separation = np.maximum(
            separation, np.logaddexp(log_above[..., 0], log_below[..., 0]) - math.log(2)
        )
        if case.smallest:
            closeness = np.maximum(
                closeness, np.stack([log_below[..., 1], log_above[..., 2]], axis=-1)
            )
        strength = np.maximum(separation, closeness.min(axis=-1))
        order = np.argsort(-strength, axis=1, kind="stable")
        passed = np.logical_and.accumulate(
            np.take_along_axis(strength, order, axis=1) >= limits, axis=1
        )
        decided_now = np.zeros_like(passed)
        np.put_along_axis(decided_now, order, passed, axis=1)
        new = decided_now & (state == "open")
        state[new & (separation >= closeness.min(axis=-1))] = "separated"
        state[new & (separation < closeness.min(axis=-1))] = "within"
        difference[new] = seen_totals[new] / seen_items[new]
        share[new] = (k + 1) / pictures
        if (state != "open").all():
            break
    return Decided(truth, state, difference, share)


def wrong(case: Pairs, runs: int, rng: np.random.Generator) -> float:
    """The share of runs in which any pair is decided wrongly: in the wrong order, or as near though
    it is not.
    """
    n_wrong = 0
    for start in range(0, runs, 250):
        batch = min(250, runs - start)
        decisions = decided(rng, case, batch)
        turned = (decisions.state == "separated") & (decisions.truth * decisions.difference <= 0)
        distant = (decisions.state == "within") & (np.abs(decisions.truth) >= case.smallest)
        n_wrong += int((turned | distant).any(axis=1).sum())
    return n_wrong / runs


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--shapes", action="store_true")
    parser.add_argument("--until", default="half_width<=.05")
    parser.add_argument("--pairs", action="store_true")
    args = parser.parse_args()
    if args.shapes:
        shapes(args.until)
        return
    runs = RUNS // 10 if args.quick else RUNS
    if not args.pairs:
        _intervals(runs)
    _decisions(runs)


def _intervals(runs: int) -> None:
    print(f"Intervals that leave the true score out at any time, in {runs:,} runs (at most {GOAL})")
    print(
        "mean | items a picture | sd | pictures | out at any time | half width at half | of a fixed"
        " size"
    )
    worst = 0.0
    for i, world in enumerate(WORLDS):
        rng = np.random.default_rng([17, i])
        share = missed(world, runs, rng)
        worst = max(worst, share)
        at_half, fixed = widths(world, 10, rng)
        print(f"{world.name} | {share:.4f} | {at_half:.4f} | {fixed:.4f}", flush=True)
    print(f"the largest: {worst:.4f}")


def _decisions(runs: int) -> None:
    print(f"\nRuns in which any pair is decided wrongly at any time, of {runs:,} (at most {GOAL})")
    print("means | smallest difference | items a picture | sd | pictures | any error")
    for i, case in enumerate(FAMILIES):
        print(f"{case.name} | {wrong(case, runs, np.random.default_rng([18, i])):.4f}", flush=True)
    reduced_runs = max(50, runs // 20)
    print(
        "\nShare of the answers until neighbours twice the smallest difference apart are told, in"
        f" {reduced_runs} runs (at most .5)"
    )
    print(
        "means | smallest difference | items a picture | sd | pictures | median | upper quartile |"
        " told before the end"
    )
    for i, case in enumerate(GAPS):
        rng = np.random.default_rng([19, i])
        shares = np.concatenate(
            [decided(rng, case, 50).share.max(axis=1) for _ in range(reduced_runs // 50)]
        )
        early = np.mean(shares < 1)
        low, high = np.quantile(shares, [0.5, 0.75])
        print(f"{case.name} | {low:.3f} | {high:.3f} | {early:.2f}", flush=True)


def shapes(rule: str) -> None:
    """Ask the embedded models with a rule, and hold their intervals against what all items give."""
    import hqm
    from hqm.cli import main as command

    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store.sqlite"
        n_answers = []
        stops = []
        for rule_options in (["--until", rule], []):  # stopped by the rule, then completed
            sys.argv = [
                "hqm",
                "audit",
                "--no-report",
                "shapes",
                "--forms",
                "original",
                "--runs",
                "1",
                "-q",
                *rule_options,
                "--store",
                str(store),
            ]
            began = time.monotonic()
            with (
                contextlib.redirect_stdout(io.StringIO()) as output,
                contextlib.suppress(SystemExit),
            ):
                command()
            with hqm.Store(store, readonly=True) as opened:
                n_answers.append(opened.count())
                stops = [record["stopped"] for record in opened.records() if "stopped" in record]
            print(
                f"{' '.join(sys.argv[:-2])}: {n_answers[-1]:,} answers,"
                f" {time.monotonic() - began:.0f} s",
                flush=True,
            )
            if rule_options:
                print(output.getvalue(), flush=True)
        print(f"saved: {1 - n_answers[0] / n_answers[1]:.3f} of the answers")
        n_covering = 0
        with hqm.Store(store, readonly=True) as opened:
            for benchmark in load_all("shapes"):
                first = hqm.gather(benchmark, opened, pictures=False).first
                for stop_row in stops:
                    if stop_row["benchmark"] == benchmark.name:
                        truth = first.score(benchmark.metric(stop_row["metric"]))[
                            first.respondents.index(stop_row["respondent"])
                        ]
                        n_covering += bool(stop_row["low"] <= truth <= stop_row["high"])
        print(f"{n_covering} of {len(stops)} intervals hold the score on all items")


if __name__ == "__main__":
    main()
