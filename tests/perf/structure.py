"""Whether strengths in single types, types that favour a family, the end of what is measured, and
memory of released items are found where they are and nowhere else.

    python -m tests.perf.structure [--replicates 200] [--seed 0]

Respondents answer 600 items of six types; abilities have a standard deviation of .7 logits, types
differ in difficulty, and items by 1.2. *Size* is how often the test finds something where there is
nothing; *power* how often it finds strengths in single types with a standard deviation of .3 and .5
logits, or a type that is one logit easier for one of two equally large families, whose members
differ by .3 in every type. *Top*: how often a respondent exactly where `conditional_errors` says
that the range ends is told from a full score, on the same items, where .80 is promised. *Memory*:
how often somebody is named where nobody has met the released half of the items, and how often the
one is named to whom they are one logit easier.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from hqm.psychometrics import (
    conditional_errors,
    differential_functioning,
    dimensionality,
    older_advantages,
)

TYPES = 6


@dataclass(frozen=True)
class Design:
    """Standard deviations on the logit scale."""

    respondents: int
    type_sd: float = 0.0
    items: int = 600


DESIGNS = tuple(Design(m) for m in (5, 10, 20, 40))


def answers(
    design: Design, rng: np.random.Generator, favoured: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """(respondents, items) of 0 and 1, and the items' types; the first type is easier by `favoured`
    for the first half of the respondents.
    """
    m, n = design.respondents, design.items
    types = np.arange(n) % TYPES
    ability = rng.normal(0, 0.7, m)[:, None] + rng.normal(0, design.type_sd, (m, TYPES))
    ability[: m // 2, 0] += favoured
    difficulty = rng.normal(-1, 1.2, n) + rng.normal(0, 0.7, TYPES)[types]
    right = rng.random((m, n)) < expit(ability[:, types] - difficulty)
    return right.astype(np.float64), types.astype(str)


def strengths(design: Design, replicates: int, rng: np.random.Generator) -> tuple[float, float]:
    """How often strengths in single types are found, and their mean estimate."""
    studies = [
        dimensionality(*answers(design, rng), rng=rng, permutations=199) for _ in range(replicates)
    ]
    return (
        float(np.mean([study.p < 0.05 for study in studies])),
        float(np.mean([study.type_sd for study in studies])),
    )


def functioning(
    design: Design, favoured: float, replicates: int, rng: np.random.Generator
) -> tuple[float, float]:
    """How often the first type is called one that favours the first family (any type, where none
    does), and the mean estimate.
    """
    half = design.respondents // 2
    families = ["a"] * half + ["b"] * (design.respondents - half)
    n_flagged, logits = 0, 0.0
    for _ in range(replicates):
        study = differential_functioning(
            *answers(replace(design, type_sd=0.3), rng, favoured), families
        )
        rows = study.rows[:1] if favoured else study.rows
        n_flagged += any(row.p < 0.05 for row in rows)
        logits += study.rows[0].logits / replicates
    return n_flagged / replicates, logits


def top(design: Design, replicates: int, rng: np.random.Generator) -> float:
    """How often the end of the range is told from a full score."""
    shares = []
    for _ in range(replicates):
        m, n = design.respondents, design.items
        difficulty = rng.normal(-1, 1.2, n)
        chance = expit(rng.normal(0, 0.7, m)[:, None] - difficulty)
        study = conditional_errors((rng.random((m, n)) < chance).astype(float))
        ability = brentq(lambda a, b=difficulty, t=study.top: expit(a - b).mean() - t, -20, 20)
        p = expit(ability - difficulty)
        error = np.sqrt((p * (1 - p)).sum()) / n
        shares.append(float(((1 - (rng.random((50, n)) < p).mean(axis=1)) > 1.96 * error).mean()))
    return float(np.mean(shares))


def memory(design: Design, learnt: float, replicates: int, rng: np.random.Generator) -> float:
    """How often the first respondent is named; anybody, where nothing is learnt."""
    n_flagged = 0
    older = np.arange(design.items) < design.items // 2
    for _ in range(replicates):
        ability = rng.normal(0, 0.7, design.respondents)[:, None]
        abilities = ability + rng.normal(0, 0.1, (design.respondents, 2))[:, older.astype(int)]
        abilities[0, older] += learnt
        right = rng.random(abilities.shape) < expit(abilities - rng.normal(-1, 1.2, design.items))
        remembered = older_advantages(right.astype(float), older).remembered
        n_flagged += 0 in remembered if learnt else bool(remembered)
    return n_flagged / replicates


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--replicates", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    started = time.perf_counter()
    columns = "size | power, .3 | power, .5 | family: size | power | top | memory: size | power"
    print(f"| respondents | {columns} |\n|{'---|' * 9}")
    for design in DESIGNS:
        rng = np.random.default_rng(options.seed)
        values = [
            strengths(replace(design, type_sd=sd), options.replicates, rng)[0]
            for sd in (0.0, 0.3, 0.5)
        ]
        cells = [f"{share:.2f}" for share in values]
        if design.respondents >= 20:
            values = [
                functioning(design, shift, options.replicates, rng)[0] for shift in (0.0, 1.0)
            ]
            cells += [f"{share:.2f}" for share in values]
        else:
            cells += ["described", "described"]
        cells.append(f"{top(design, options.replicates, rng):.2f}")
        if design.respondents >= 6:
            values = [memory(design, learnt, options.replicates, rng) for learnt in (0.0, 1.0)]
            cells += [f"{share:.2f}" for share in values]
        else:
            cells += ["described", "described"]
        print(f"| {design.respondents} | " + " | ".join(cells) + " |", flush=True)
    took = time.perf_counter() - started
    print(f"\n{options.replicates} replicates a cell, seed {options.seed}, {took:.0f} s")


if __name__ == "__main__":
    main()
