"""How several measures order the same respondents: agreement, types, and who is told apart by
which.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import numpy.typing as npt

from hqm.comparison.measures import Measure, Scores
from hqm.comparison.value import Agreement, Closer, Separation
from hqm.psychometrics import (
    Coefficient,
    DependentCorrelations,
    Multitrait,
    PairwiseDifferences,
    benchmark_agreement,
    holm,
    htmt,
    independent_differences,
    kendall_tau_b,
    multitrait_multimethod,
    pearson,
    spearman,
    stream,
    williams_test,
)
from hqm.psychometrics.correlation import size_of
from hqm.psychometrics.resampling import FEWEST

Floats = npt.NDArray[np.float64]
_Z = 1.959963984540054
_ABSURD = 3.0
"""A heterotrait-monotrait ratio beyond this says only that its denominator is next to nothing."""


def column(measure: Measure, names: Sequence[str], scores: Scores | None = None) -> Floats:
    """(respondents,): a measure's scores, turned so that higher is better; NaN for who has none."""
    chosen = measure.scores if scores is None else scores
    return measure.sign * np.array([chosen.get(name, math.nan) for name in names], dtype=np.float64)


def agreements(
    measures: Sequence[Measure], names: Sequence[str], n_effective: float | None, seed: int
) -> list[Agreement]:
    """Every pair of measures: correlations, overlap of the best, and how much the choice of
    respondents matters.
    """
    pairs = []
    for first, second in combinations(measures, 2):
        x, y = column(first, names), column(second, names)
        rng = stream(seed, f"compare agreement {first.key} {second.key}")
        r = pearson(x, y, n_effective=n_effective)
        same = first.answers == second.answers
        reliabilities = [_reliability(m) for m in (first, second)]
        product = math.prod(reliabilities)
        corrected = r.value / math.sqrt(product) if product > 0 and not same else math.nan
        pairs.append(
            Agreement(
                first.label,
                second.label,
                r,
                spearman(x, y, n_effective=n_effective),
                kendall_tau_b(x, y, n_effective=n_effective),
                benchmark_agreement(x, y, rng, k=min(3, max(1, len(names) - 1))),
                corrected,
                same,
                r.n,
            )
        )
    return pairs


def _reliability(measure: Measure) -> float:
    estimate = measure.estimate("test_retest.rho_g") or measure.estimate("test_retest.pearson")
    return (
        estimate.value
        if estimate is not None and estimate.value is not None and estimate.status == "ok"
        else math.nan
    )


def closer(
    measures: Sequence[Measure], names: Sequence[str], n_effective: float | None = None
) -> list[Closer]:
    """Williams' tests: which of two measures goes more with a third, or with the same people's
    judgement of the answers.

    They are about other respondents, so relatives count as the independent respondents that they
    amount to.
    """
    tests = []
    for i, judge in enumerate(measures):
        # measures of the judge's own answers share its noise, and would seem closer for that alone
        others = [m for k, m in enumerate(measures) if k != i and m.answers != judge.answers]
        for first, second in combinations(others, 2):
            tests.append(
                _closer(judge.label, column(judge, names), first, second, names, n_effective)
            )
    for first, second in combinations(measures, 2):
        labels = first.pairs.get("criterion")
        if labels is not None and labels == second.pairs.get("criterion"):
            truth = np.array([labels.get(name, math.nan) for name in names])
            tests.append(_closer("criterion", truth, first, second, names, n_effective))
    return tests


def _closer(
    label: str,
    truth: Floats,
    left: Measure,
    right: Measure,
    names: Sequence[str],
    n_effective: float | None,
) -> Closer:
    columns = np.stack([truth, column(left, names), column(right, names)])
    t, x, y = columns[:, np.isfinite(columns).all(axis=0)]
    first, second, third = (pearson(a, b).value for a, b in ((t, x), (t, y), (x, y)))
    size = size_of(len(t), n_effective)
    if size < FEWEST:
        counted = "" if n_effective is None else f", which count as {size:.3g}"
        reason = (
            f"a test over respondents needs {FEWEST} independent ones, there are {len(t)}{counted}"
        )
        none = DependentCorrelations(
            first - second, math.nan, int(size) - 3, math.nan, len(t), "insufficient", reason
        )
        return Closer(label, left.label, right.label, none)
    return Closer(label, left.label, right.label, williams_test(first, second, third, int(size)))


def by_types(
    measures: Sequence[Measure], names: Sequence[str]
) -> tuple[Multitrait | None, dict[str, Coefficient]]:
    """Types as traits and measures as methods: Campbell and Fiske's table, and whether two types
    are distinct.
    """
    # one reading of the same answers is no second method
    methods = {m.answers: m for m in reversed(measures)}.values()
    known = [
        (kind, m)
        for m in reversed(methods)
        for kind, scores in m.by_type.items()
        if len(scores) >= 3
    ]
    kinds = list(dict.fromkeys(kind for kind, _ in known))
    shared = [kind for kind in kinds if sum(k == kind for k, _ in known) > 1]
    if not shared:
        return None, {}
    chosen = [(kind, m) for kind in kinds for k, m in known if k == kind]
    scores = np.stack([column(m, names, m.by_type[kind]) for kind, m in chosen], axis=1)
    table = multitrait_multimethod(
        scores, [kind for kind, _ in chosen], [m.label for _, m in chosen]
    )
    groups = [kind for kind, _ in chosen]
    ratios = {f"{a} ~ {b}": _ratio(scores, groups, a, b) for a, b in combinations(shared, 2)}
    return table, ratios


def _ratio(scores: Floats, groups: Sequence[str], first: str, second: str) -> Coefficient:
    ratio = htmt(scores, groups, first, second)
    if ratio.status == "ok" and abs(ratio.value) > _ABSURD:
        reason = "the measures of a type hardly correlate, so that the ratio is over almost nothing"
        return Coefficient.absent("degenerate", reason, ratio.n)
    return ratio


def separations(
    measures: Sequence[Measure], names: Sequence[str], tests: Mapping[str, PairwiseDifferences]
) -> list[Separation]:
    """Every pair of measures: which pairs of respondents each tells apart, and where they
    contradict each other.
    """
    apart = {m.label: _apart(tests[m.label]) for m in measures if m.label in tests}
    return [
        _separation(left.label, right.label, names, apart[left.label], apart[right.label])
        for left, right in combinations(measures, 2)
        if left.label in apart and right.label in apart
    ]


def _apart(differences: PairwiseDifferences) -> npt.NDArray[np.int64]:
    """(respondents, respondents): 1 where the row is better than the column beyond chance, -1 where
    worse, else 0.
    """
    sign = 1 if differences.higher_is_better else -1
    return np.asarray(
        np.sign(sign * np.array(differences.difference)) * differences.distinct(), dtype=np.int64
    )


def respondent_tests(
    measures: Sequence[Measure], names: Sequence[str]
) -> dict[str, PairwiseDifferences]:
    """Measure -> all pairs of respondents, tested from their scores' intervals; Holm over the pairs
    of all measures.

    It is the cautious side, because paired answers would say more.
    """
    tests: dict[str, PairwiseDifferences] = {}
    for m in measures:
        if m.better == "neither" or any(
            name not in m.intervals or name not in m.scores for name in names
        ):
            continue
        errors = [(m.intervals[name][1] - m.intervals[name][0]) / (2 * _Z) for name in names]
        each = independent_differences(
            [m.scores[name] for name in names], errors, higher_is_better=m.sign > 0
        )
        if each.status == "ok":
            tests[m.label] = each
    upper = np.triu_indices(len(names), 1)
    together = holm([np.array(each.p)[upper] for each in tests.values()]) if tests else ()
    for (label, each), p in zip(tuple(tests.items()), together, strict=True):
        adjusted = np.full((len(names), len(names)), math.nan)
        adjusted[upper] = adjusted.T[upper] = p
        tests[label] = replace(each, adjusted=tuple(tuple(row) for row in adjusted.tolist()))
    return tests


def _separation(
    first_label: str,
    second_label: str,
    names: Sequence[str],
    first: npt.NDArray[np.int64],
    second: npt.NDArray[np.int64],
) -> Separation:
    def ordered(
        cells: Iterable[tuple[int, int]], by: npt.NDArray[np.int64]
    ) -> tuple[tuple[str, str], ...]:
        return tuple(
            (names[a], names[b]) if by[a, b] > 0 else (names[b], names[a]) for a, b in cells
        )

    pairs = list(combinations(range(len(names)), 2))
    both = [(a, b) for a, b in pairs if first[a, b] and second[a, b]]
    left = [(a, b) for a, b in pairs if first[a, b] and not second[a, b]]
    right = [(a, b) for a, b in pairs if second[a, b] and not first[a, b]]
    against = [(a, b) for a, b in both if first[a, b] != second[a, b]]
    return Separation(
        first_label,
        second_label,
        len(pairs),
        len(both),
        ordered(against, first),
        ordered(left, first),
        ordered(right, second),
        len(pairs) - len(both) - len(left) - len(right),
    )
