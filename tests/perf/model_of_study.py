"""Whether a study's model fits its wordings, and whether flags of a study see what they name.

    python -m tests.perf.model_of_study [--replicates 100] [--seed 0]

*Additive*: twelve respondents who lean to yes or no by a standard deviation of `LEAN` answer 400
questions in their original words, in other words, and negated; two administrations of one kind
give the variance of respondent x item. It is the same in all worlds, and a negation takes the lean
for error. *NON_PARALLEL*: raised where nothing is wrong, where one respondent of twelve reads the
negated form as if it were not negated, and where one answers the original the wrong way round.
*DOMINANT_MODEL*: raised where abilities are normal, where one respondent lies far from eleven equal
ones, and where two do.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from scipy.special import ndtr

from hqm.psychometrics import g_study
from tests import test_flags as made

RESPONDENTS, ITEMS = 12, 400
LEAN = 0.6


def interaction(kind: str, rng: np.random.Generator) -> float:
    """The estimated variance of respondent x item from the original and another administration."""
    truth = rng.permutation(np.arange(ITEMS) % 2)
    ability = rng.normal(0.8, 0.4, (RESPONDENTS, 1)) + rng.normal(0, 0.6, (RESPONDENTS, ITEMS))
    lean = rng.normal(0, LEAN, (RESPONDENTS, 1))

    def administered(turned: bool) -> np.ndarray:
        # a lean to yes helps where the right answer is yes
        helped = np.where(truth.astype(bool) != turned, lean, -lean)
        return (rng.random(ability.shape) < ndtr(ability + helped)).astype(float)

    scores = np.stack([administered(False), administered(kind == "negation")], axis=2)
    components = g_study(scores, ("respondent", "item", "form")).components
    return next(
        component.raw for component in components if set(component.effect) == {"respondent", "item"}
    )


def parallel(kind: str, rng: np.random.Generator) -> bool:
    """Whether NON_PARALLEL is raised on two forms of one study."""
    rates = np.clip(rng.normal(0.75, 0.1, RESPONDENTS), 0.5, 0.95)
    first, second = made.stable(rates, ITEMS, int(rng.integers(2**31)))
    if kind == "negated form":
        second[0] = 1 - second[0]
    elif kind == "original":
        first[0] = 1 - first[0]
    return "NON_PARALLEL" in made.raised(*made.forms(first, second))


def dominant(kind: str, rng: np.random.Generator) -> bool:
    """Whether DOMINANT_MODEL is raised on two runs of one study."""
    rates = np.clip(rng.normal(0.65, 0.12, RESPONDENTS), 0.1, 0.95)
    n_outliers = {"normal": 0, "one": 1, "two": 2}[kind]
    if n_outliers:
        rates = np.r_[np.full(RESPONDENTS - n_outliers, 0.6), np.full(n_outliers, 0.95)]
    x, y = (made.answers(rates, ITEMS, rng) for _ in range(2))
    return "DOMINANT_MODEL" in made.raised(*made.runs(x, y))


STUDIES: dict[str, tuple[Callable[[str, np.random.Generator], float], tuple[str, ...]]] = {
    "respondent x item": (interaction, ("rerun", "negation")),
    "NON_PARALLEL": (parallel, ("nothing", "negated form", "original")),
    "DOMINANT_MODEL": (dominant, ("normal", "one", "two")),
}


def main() -> None:
    """Print the mean of each study's replicates."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--replicates", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for name, (study, kinds) in STUDIES.items():
        rng = np.random.default_rng(options.seed)
        means = {k: np.mean([study(k, rng) for _ in range(options.replicates)]) for k in kinds}
        print(f"{name}: " + ", ".join(f"{kind} {mean:.3f}" for kind, mean in means.items()))


if __name__ == "__main__":
    main()
