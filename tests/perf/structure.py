"""Whether strengths in single types, and types that favour a family, are found where they are and
nowhere else.

    python -m tests.perf.structure [--replicates 200] [--seed 0]

Respondents answer 600 items of six types; abilities have a standard deviation of .7 logits, types
differ in difficulty, and items by 1.2. *Size* is how often the test finds something where there is
nothing; *power* how often it finds strengths in single types with a standard deviation of .3 and .5
logits, or a type that is one logit easier for one of two equally large families, whose members
differ by .3 in every type.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from hqm.psychometrics import differential_functioning, dimensionality

TYPES = 6


@dataclass(frozen=True)
class Design:
    """Standard deviations on the logit scale."""

    respondents: int
    own: float = 0.0
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
    ability = rng.normal(0, 0.7, m)[:, None] + rng.normal(0, design.own, (m, TYPES))
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
        float(np.mean([study.own for study in studies])),
    )


def functioning(
    design: Design, favoured: float, replicates: int, rng: np.random.Generator
) -> tuple[float, float]:
    """How often the first type is called one that favours the first family (any type, where none
    does), and the mean estimate.
    """
    half = design.respondents // 2
    families = ["a"] * half + ["b"] * (design.respondents - half)
    named, logits = 0, 0.0
    for _ in range(replicates):
        study = differential_functioning(
            *answers(replace(design, own=0.3), rng, favoured), families
        )
        rows = study.rows[:1] if favoured else study.rows
        named += any(row.p < 0.05 for row in rows)
        logits += study.rows[0].logits / replicates
    return named / replicates, logits


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--replicates", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    started = time.perf_counter()
    print(
        "| respondents | size | power, .3 | power, .5 | family: size | power |\n|---|---|---|---|---|---|"
    )
    for design in DESIGNS:
        rng = np.random.default_rng(given.seed)
        own = [
            strengths(replace(design, own=sd), given.replicates, rng)[0] for sd in (0.0, 0.3, 0.5)
        ]
        cells = [f"{share:.2f}" for share in own]
        if design.respondents >= 20:
            cells += [
                f"{functioning(design, shift, given.replicates, rng)[0]:.2f}"
                for shift in (0.0, 1.0)
            ]
        else:
            cells += ["described", "described"]
        print(f"| {design.respondents} | " + " | ".join(cells) + " |", flush=True)
    took = time.perf_counter() - started
    print(f"\n{given.replicates} replicates a cell, seed {given.seed}, {took:.0f} s")


if __name__ == "__main__":
    main()
