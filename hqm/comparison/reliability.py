"""Indicators of several measures side by side, the tests of their differences, and what more items or seeds would buy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import numpy.typing as npt

from hqm.comparison.measures import Measure
from hqm.comparison.value import Difference, Growth
from hqm.psychometrics import (
    Coefficient,
    ReliabilityDifference,
    holm,
    items_needed,
    reliability_difference,
    spearman_brown,
    standardized_reliability,
    stream,
    weighted_reliability,
)
from hqm.psychometrics.dependent import Statistic
from hqm.psychometrics.resampling import respondent_bootstrap

Floats = npt.NDArray[np.float64]
COMPARED: Mapping[str, tuple[str, Statistic]] = {
    "test_retest.rho_g": ("test_retest", "rho_g"),
    "test_retest.pearson": ("test_retest", "pearson"),
    "test_retest.icc_a1": ("test_retest", "icc_a1"),
    "parallel_forms.pearson": ("parallel_forms", "pearson"),
    "parallel_forms.icc_a1": ("parallel_forms", "icc_a1"),
    "judge_consistency.pearson": ("judge_consistency", "pearson"),
    "criterion.pearson": ("criterion", "pearson"),
}
"""Indicators that are compared: the family whose other administration they need, and the statistic."""
BY_LENGTH = ("test_retest", "parallel_forms")
"""Families whose reliability grows with the number of items by Spearman and Brown's formula."""
SEEDS = (2, 3, 5)
TARGETS = (0.9, 0.95)


def administrations(measure: Measure, indicator: str, names: Sequence[str]) -> tuple[Floats, Floats | None] | None:
    """(2, respondents) scores and, for rho_G, the noise; NaN for who lacks a score; None where it was not measured."""
    family, statistic = COMPARED[indicator]
    second = measure.pairs.get(family)
    if second is None or (statistic == "rho_g" and not measure.noise):
        return None
    other_sign = 1 if family == "criterion" else measure.sign  # a judge's share of faithful answers is good when high
    scores = np.array(
        [
            [measure.sign * measure.scores.get(name, math.nan) for name in names],
            [other_sign * second.get(name, math.nan) for name in names],
        ]
    )
    noise = np.array([measure.noise.get(name, math.nan) for name in names]) if statistic == "rho_g" else None
    return scores, noise


def side_by_side(
    measures: Sequence[Measure], names: Sequence[str], families: Sequence[str], seed: int
) -> dict[str, dict[str, Coefficient]]:
    """Indicator -> measure -> coefficient over the shared respondents, with its bootstrap interval."""
    coefficients: dict[str, dict[str, Coefficient]] = {}
    for indicator, (_, statistic) in COMPARED.items():
        for measure in measures:
            data = administrations(measure, indicator, names)
            if data is not None:
                rng = stream(seed, f"compare {indicator} {measure.key}")
                coefficients.setdefault(indicator, {})[measure.label] = _single(data, statistic, families, rng)
    return coefficients


def _single(
    data: tuple[Floats, Floats | None], statistic: Statistic, families: Sequence[str], rng: np.random.Generator
) -> Coefficient:
    scores, noise = data
    known = np.asarray(np.isfinite(scores).all(axis=0))
    if noise is not None:
        known = known & np.isfinite(noise)
    n = int(known.sum())
    if n < 3:
        return Coefficient.absent("insufficient", f"a reliability needs 3 shared respondents, there are {n}", n)
    x, v = scores[:, known], None if noise is None else noise[known]
    value = float(weighted_reliability(np.ones((1, n)), x, statistic, v)[0])
    if not math.isfinite(value):
        return Coefficient.absent("degenerate", "all respondents have the same score in an administration", n)
    family_names = [f for f, k in zip(families, known.tolist(), strict=True) if k]
    bounds, se = respondent_bootstrap(
        lambda w: weighted_reliability(w, x, statistic, v),
        n,
        rng,
        families=family_names if len(set(family_names)) < n else None,
    )
    if bounds is None:
        return Coefficient(value, n=n, method="too few respondents or families for an interval")
    return Coefficient(value, bounds.low, bounds.high, n, bounds.level, bounds.method, se=se)


def tested(
    measures: Sequence[Measure],
    names: Sequence[str],
    families: Sequence[str],
    n_effective: float | None,
    length: int,
    seed: int,
) -> list[Difference]:
    """Every pair of measures under every indicator, at their own lengths and at a common one; Holm over pairs."""
    differences: list[Difference] = []
    for indicator in COMPARED:
        family = COMPARED[indicator][0]
        lengths: list[int | None] = [None]
        if family in BY_LENGTH and len({m.items for m in measures}) > 1:
            lengths.append(length)
        for common in lengths:
            differences += _corrected(
                _difference(indicator, left, right, names, families, n_effective, common, seed)
                for left, right in combinations(measures, 2)
            )
    return differences


def _difference(
    indicator: str,
    left: Measure,
    right: Measure,
    names: Sequence[str],
    families: Sequence[str],
    n_effective: float | None,
    length: int | None,
    seed: int,
) -> Difference | None:
    first, second = (administrations(m, indicator, names) for m in (left, right))
    if first is None or second is None:
        return None
    noise = None if first[1] is None or second[1] is None else (first[1], second[1])
    difference: ReliabilityDifference = reliability_difference(
        first[0],
        second[0],
        stream(seed, f"compare {indicator} {length} {left.key} {right.key}"),
        statistic=COMPARED[indicator][1],
        noise=noise,
        factors=(1.0, 1.0) if length is None else (length / left.items, length / right.items),
        families=families,
        n_effective=n_effective,
    )
    return Difference(indicator, left.label, right.label, length, difference)


def _corrected(differences: Iterable[Difference | None]) -> list[Difference]:
    kept = [difference for difference in differences if difference is not None]
    known = [difference for difference in kept if math.isfinite(difference.test.p)]
    adjusted = (
        dict(zip(map(id, known), holm([difference.test.p for difference in known]).tolist(), strict=True))
        if known
        else {}
    )
    return [replace(difference, adjusted=adjusted.get(id(difference), math.nan)) for difference in kept]


def growth_of(measure: Measure, more: int) -> Growth | None:
    """What `more` items, or more seeds, would make of the reliability of one run.

    Both are Spearman and Brown's formula: added items as good as those there are, and seeds whose noise averages out.
    """
    for indicator in ("test_retest.rho_g", "test_retest.pearson"):
        estimate = measure.estimate(indicator)
        if estimate is not None and estimate.value is not None and estimate.status == "ok":
            break
    else:
        return None
    over = estimate.interval("model_population")
    low, high = (over.low, over.high) if over else (math.nan, math.nan)
    now = Coefficient(estimate.value, low, high, estimate.n_respondents, method=over.method if over else "")
    n = max(measure.items, 1)
    grown = tuple((n + k * more, standardized_reliability(now, n, n + k * more)) for k in (1, 2, 5))
    seeds = tuple(
        (k, replace(now, value=spearman_brown(now.value, k), low=spearman_brown(low, k), high=spearman_brown(high, k)))
        for k in SEEDS
    )
    needed = tuple((target, items_needed(now, n, target)) for target in TARGETS)
    return Growth(measure.label, indicator, now, n, grown, seeds, needed)
