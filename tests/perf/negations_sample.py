"""The sample of negated questions that a reader judges one by one; docs/negations.md has what was
found.

    HQM_DATA=... python -m tests.perf.negations_sample [--ids]

Prints 200 questions each of POPE, AMBER-d and HallusionBench, drawn with seed 13 from those that a
rule turned round, with the turned question and the rule; then the made questions of
`negations_made.txt`. With `--ids`, the ids alone.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import hqm
from hqm.errors import NoRule
from hqm.forms.grammar import is_negated
from hqm.forms.make_forms import build_parallel
from hqm.forms.negate import flip

SEED, SIZE = 13, 200
BENCHMARKS = ("pope", "amber_d", "hallusion_bench")


def main() -> None:
    """Print the sample."""
    rng = np.random.default_rng(SEED)
    for name in BENCHMARKS:
        original = hqm.load(name).original
        negated = [item for item in build_parallel(original).items if is_negated(item)]
        sample = [
            negated[k] for k in sorted(rng.choice(len(negated), SIZE, replace=False).tolist())
        ]
        print(f"# {name}: {len(negated)} of {len(original.items)} turned round")
        for item in sample:
            row = (
                item.id
                if "--ids" in sys.argv
                else f"{item.id}\t{original.by_id[item.id].prompt}\t{item.prompt}\t{item.rule}"
            )
            print(row)
    if "--ids" in sys.argv:
        return
    for line in (Path(__file__).parent / "negations_made.txt").read_text("utf-8").splitlines():
        try:
            flipped = flip(line)
        except NoRule as error:
            print(f"\t{line}\tleft out: {error.reason}")
        else:
            print(f"\t{line}\t{flipped.prompt}\t{flipped.rule}")


if __name__ == "__main__":
    main()
