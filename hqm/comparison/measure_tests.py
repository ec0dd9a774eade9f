"""How several measures order the same respondents: agreement, types, and who is separated by
which.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations, compress
from operator import attrgetter

import numpy as np

from hqm.comparison.measures import (
    Agreement,
    Difference,
    Measure,
    Scores,
    Separation,
    WilliamsComparison,
)
from hqm.psychometrics import (
    Coefficient,
    Relatives,
    add_lower_bound,
    benchmark_agreement,
    difference_over_clusters,
    holm,
    htmt,
    independent_differences,
    kendall_tau_b,
    multitrait_multimethod,
    pearson,
    reliability_difference,
    shared_variance,
    spearman,
    stream,
    weighted_reliability,
    williams_test,
)
from hqm.psychometrics.inference.families import membership
from hqm.psychometrics.inference.pairwise import PairwiseDifferences
from hqm.psychometrics.inference.resampling import MIN_UNITS
from hqm.psychometrics.reliability.compare_reliability import (
    LeaveOneOutScores,
    ReliabilityDifference,
    Statistic,
)
from hqm.psychometrics.result import Array, BoolArray, Indices, IntArray, effective_size
from hqm.psychometrics.validity.correlation import DependentCorrelations, Multitrait

# The 97.5th percentile of the standard normal distribution, of 95% intervals.
_Z = 1.959963984540054
_MAX_HTMT = 3.0
"""A heterotrait-monotrait ratio beyond this says only that its denominator is next to nothing."""


def column(measure: Measure, names: Sequence[str], scores: Scores | None = None) -> Array:
    """(respondents,): a measure's scores, signed so that higher is better; NaN where missing."""
    return measure.sign * _align(measure.scores if scores is None else scores, names)


def _align(scores: Scores, names: Sequence[str]) -> Array:
    """(respondents,): scores in the order of the names; NaN where there is none."""
    return np.array([scores.get(name, math.nan) for name in names], dtype=np.float64)


def agreements(
    measures: Sequence[Measure], names: Sequence[str], n_effective: float | None, seed: int
) -> list[Agreement]:
    """Every pair of measures: correlations, overlap of the best, and how much the choice of
    respondents matters.
    """
    pairs = []
    for first, second in combinations(measures, 2):
        x = column(first, names)
        y = column(second, names)
        rng = stream(seed, f"compare agreement {first.key} {second.key}")
        r = pearson(x, y, n_effective=n_effective)
        same_answers = first.answers == second.answers
        product = _reliability(first) * _reliability(second)
        # Spearman (1904) divides by the root of both reliabilities, which holds for errors that are
        # not shared.
        if product > 0 and not same_answers:
            corrected = r.value / math.sqrt(product)
        else:
            corrected = math.nan
        pairs.append(
            Agreement(
                first.label,
                second.label,
                r,
                spearman(x, y, n_effective=n_effective),
                kendall_tau_b(x, y, n_effective=n_effective),
                benchmark_agreement(x, y, rng, k=min(3, max(1, len(names) - 1))),
                corrected,
                r.n,
            )
        )
    return pairs


def _reliability(measure: Measure) -> float:
    estimate = measure.estimate("test_retest.rho_g") or measure.estimate("test_retest.pearson")
    if estimate is not None and estimate.value is not None and estimate.status == "ok":
        return estimate.value
    return math.nan


def williams_comparisons(
    measures: Sequence[Measure], names: Sequence[str], n_effective: float | None = None
) -> list[WilliamsComparison]:
    """Williams' tests: which of two measures correlates more with a third, or with the same
    people's judgement of the answers.

    They are about other respondents, so relatives count as the independent respondents that they
    amount to.
    """
    tests = []
    for judge in measures:
        # Measures of the judge's own answers share its noise, and would seem closer for that alone.
        candidates = [m for m in measures if m.answers != judge.answers]
        for first, second in combinations(candidates, 2):
            tests.append(
                _williams_comparison(
                    judge.label, column(judge, names), first, second, names, n_effective
                )
            )
    for first, second in combinations(measures, 2):
        labels = first.pairs.get("criterion")
        if labels is not None and labels == second.pairs.get("criterion"):
            truth = _align(labels, names)
            tests.append(
                _williams_comparison("criterion", truth, first, second, names, n_effective)
            )
    return tests


def _williams_comparison(
    label: str,
    truth: Array,
    left: Measure,
    right: Measure,
    names: Sequence[str],
    n_effective: float | None,
) -> WilliamsComparison:
    columns = np.stack([truth, column(left, names), column(right, names)])
    # All three correlations over the same respondents, as Williams' test takes one number of them.
    t, x, y = columns[:, np.isfinite(columns).all(axis=0)]
    r_tx = pearson(t, x).value
    r_ty = pearson(t, y).value
    size = effective_size(len(t), n_effective)
    if size < MIN_UNITS:
        if n_effective is None:
            effective_note = ""
        else:
            effective_note = f", which count as {size:.3g}"
        reason = (
            f"a test over respondents needs {MIN_UNITS} independent ones, there are"
            f" {len(t)}{effective_note}"
        )
        undefined = DependentCorrelations(
            r_tx - r_ty,
            math.nan,
            int(size) - 3,
            math.nan,
            len(t),
            status="insufficient",
            reason=reason,
        )
        return WilliamsComparison(label, left.label, right.label, undefined)
    test = williams_test(r_tx, r_ty, pearson(x, y).value, int(size))
    return WilliamsComparison(label, left.label, right.label, test)


def by_types(
    measures: Sequence[Measure], names: Sequence[str]
) -> tuple[Multitrait | None, dict[str, Coefficient]]:
    """Types as traits and measures as methods: Campbell and Fiske's table, and whether two types
    are distinct.
    """
    # One reading of the same answers is no second method; reversed, so that the first of them
    # stays.
    methods = {m.answers: m for m in reversed(measures)}.values()
    methods_of_type: dict[str, list[Measure]] = {}
    for m in reversed(methods):
        for kind, type_scores in m.by_type.items():
            # a correlation needs three respondents
            if len(type_scores) >= 3:
                methods_of_type.setdefault(kind, []).append(m)
    traits: list[str] = []
    labels: list[str] = []
    columns: list[Array] = []
    for kind, type_methods in methods_of_type.items():
        for m in type_methods:
            traits.append(kind)
            labels.append(m.label)
            columns.append(column(m, names, m.by_type[kind]))
    shared = [kind for kind, type_methods in methods_of_type.items() if len(type_methods) > 1]
    if not shared:
        return None, {}
    scores = np.stack(columns, axis=1)
    # Campbell and Fiske (1959).
    table = multitrait_multimethod(scores, traits, labels)
    ratios = {f"{a} ~ {b}": _ratio(scores, traits, a, b) for a, b in combinations(shared, 2)}
    return table, ratios


def _ratio(scores: Array, groups: Sequence[str], first: str, second: str) -> Coefficient:
    ratio = htmt(scores, groups, first, second)
    if ratio.status == "ok" and abs(ratio.value) > _MAX_HTMT:
        reason = (
            "the measures of a type hardly correlate, so that the denominator of the ratio is"
            " almost 0"
        )
        return Coefficient.absent("degenerate", reason, ratio.n)
    return ratio


def separations(
    measures: Sequence[Measure], names: Sequence[str], tests: Mapping[str, PairwiseDifferences]
) -> list[Separation]:
    """Compare every pair of measures by the pairs of respondents that each separates."""
    distinctions = [
        (measure.label, _signed_distinctions(tests[measure.label]))
        for measure in measures
        if measure.label in tests
    ]
    pairs = []
    for (first_label, first), (second_label, second) in combinations(distinctions, 2):
        pairs.append(_separation(first_label, second_label, names, first, second))
    return pairs


def _signed_distinctions(differences: PairwiseDifferences) -> IntArray:
    """(respondents, respondents): 1 where the row is better beyond chance, -1 where worse."""
    sign = 1 if differences.higher_is_better else -1
    return np.asarray(
        np.sign(sign * np.array(differences.difference)) * differences.distinct(), dtype=np.int64
    )


def respondent_tests(
    measures: Sequence[Measure], names: Sequence[str]
) -> dict[str, PairwiseDifferences]:
    """Test all pairs of respondents of every measure from the scores' intervals (Holm).

    The tests are conservative, because paired answers would say more.
    """
    tests: dict[str, PairwiseDifferences] = {}
    for m in measures:
        # Without a better end there is no order, and without all intervals no family of tests of
        # all pairs.
        if m.better == "neither" or not m.intervals.keys() & m.scores.keys() >= set(names):
            continue
        # The audit keeps intervals: half of one is z standard errors.
        errors = np.diff([m.intervals[name] for name in names])[:, 0] / (2 * _Z)
        pairwise = independent_differences(
            _align(m.scores, names), errors, higher_is_better=m.sign > 0
        )
        if pairwise.status == "ok":
            tests[m.label] = pairwise
    upper = np.triu_indices(len(names), 1)
    # Over the pairs of all measures together, since their separations are compared.
    adjusted_p = holm([np.array(tested.p)[upper] for tested in tests.values()]) if tests else ()
    for (label, pairwise), p in zip(tuple(tests.items()), adjusted_p, strict=True):
        adjusted = np.full((len(names), len(names)), math.nan)
        # The matrix is symmetric; a pair of a respondent with itself has no test.
        adjusted[upper] = adjusted.T[upper] = p
        tests[label] = replace(pairwise, adjusted=tuple(map(tuple, adjusted.tolist())))
    return tests


def _separation(
    first_label: str,
    second_label: str,
    names: Sequence[str],
    first: IntArray,
    second: IntArray,
) -> Separation:
    # Each pair once, in the order of `combinations`.
    rows, columns = np.triu_indices(len(names), 1)
    first_signs = first[rows, columns]
    second_signs = second[rows, columns]

    def ordered(selected: BoolArray, signs: IntArray) -> tuple[tuple[str, str], ...]:
        """The names of some pairs, the better respondent first."""
        winners = np.where(signs > 0, rows, columns)[selected]
        losers = np.where(signs > 0, columns, rows)[selected]
        return tuple((names[a], names[b]) for a, b in zip(winners, losers, strict=True))

    separated_by_first = (first_signs != 0) & (second_signs == 0)
    separated_by_second = (first_signs == 0) & (second_signs != 0)
    return Separation(
        first_label,
        second_label,
        len(rows),
        int(np.count_nonzero(first_signs * second_signs)),
        ordered(first_signs * second_signs < 0, first_signs),
        ordered(separated_by_first, first_signs),
        ordered(separated_by_second, second_signs),
        int(((first_signs == 0) & (second_signs == 0)).sum()),
    )


# ----------------------------------------------------------------------
# Indicators of several measures side by side, the tests of their differences, and what more items
# or seeds would buy.
#
# A difference is tested twice: for these respondents over other pictures (fixed facet), which
# leaves each picture out, and for other respondents (random facet), which draws respondents or
# families of them.
# ----------------------------------------------------------------------

COMPARED: Mapping[str, tuple[str, Statistic]] = {
    "test_retest.rho_g": ("test_retest", "rho_g"),
    "test_retest.pearson": ("test_retest", "pearson"),
    "test_retest.icc_a1": ("test_retest", "icc_a1"),
    "parallel_forms.pearson": ("parallel_forms", "pearson"),
    "parallel_forms.icc_a1": ("parallel_forms", "icc_a1"),
    "judge_consistency.pearson": ("judge_consistency", "pearson"),
    "criterion.pearson": ("criterion", "pearson"),
}
"""Indicators that are compared: the family whose other administration they need, and the
statistic.
"""
BY_LENGTH = ("test_retest", "parallel_forms")
"""Families whose reliability grows with the number of items by Spearman and Brown's formula."""
MAX_LENGTH_RATIO = 1.1
"""Up to this ratio of their lengths, tests at a common length would repeat those at the measures'
own.
"""


def administrations(
    measure: Measure, indicator: str, names: Sequence[str]
) -> LeaveOneOutScores | None:
    """Scores of a family's administrations, higher is better; NaN for who lacks one; None where it
    was not measured.

    From the items that the administrations share where the audit has the scores without each
    picture, else from the scores of each administration and without clusters.
    """
    family, statistic = COMPARED[indicator]
    noise = None
    if statistic == "rho_g":
        if not measure.noise:
            return None
        noise = _align(measure.noise, names)
    record = measure.left_out.get(family)
    if record is not None:
        rows = len(record.cells)
        columns = len(record.clusters)
        no_scores = np.full(rows, math.nan)
        no_replicates = np.full((rows, columns), math.nan)
        by_respondent = [record.scores.get(name, no_scores) for name in names]
        scores = measure.sign * np.stack(by_respondent, axis=1)
        replicates_by_respondent = [record.replicates.get(name, no_replicates) for name in names]
        replicates = measure.sign * np.stack(replicates_by_respondent, axis=1)
        # A correlation is of two administrations: of more runs the first two are taken.
        n_rows = 2 if statistic == "pearson" else rows
        return LeaveOneOutScores(
            scores[:n_rows], replicates[:n_rows], record.clusters, noise, record.sizes
        )
    second = measure.pairs.get(family)
    if second is None:
        return None
    # A judge's share of faithful answers is good when high.
    second_sign = 1 if family == "criterion" else measure.sign
    scores = np.stack([column(measure, names), second_sign * _align(second, names)])
    return LeaveOneOutScores(scores, np.empty((*scores.shape, 0)), (), noise)


def side_by_side(
    measures: Sequence[Measure], names: Sequence[str], families: Sequence[str]
) -> dict[str, dict[str, Coefficient]]:
    """Return indicator -> measure -> coefficient over the shared respondents."""
    coefficients: dict[str, dict[str, Coefficient]] = {}
    for indicator, (_, statistic) in COMPARED.items():
        for measure in measures:
            data = administrations(measure, indicator, names)
            if data is not None:
                coefficients.setdefault(indicator, {})[measure.label] = _single(
                    data, statistic, families
                )
    return coefficients


def _single(data: LeaveOneOutScores, statistic: Statistic, families: Sequence[str]) -> Coefficient:
    scores = data.scores
    noise = data.noise
    complete = np.asarray(np.isfinite(scores).all(axis=0))
    if noise is not None:
        complete = complete & np.isfinite(noise)
    n = int(complete.sum())
    if n < 3:
        return Coefficient.absent(
            "insufficient", f"a reliability needs 3 shared respondents, there are {n}", n
        )
    x = scores[:, complete]
    v = None if noise is None else noise[complete]
    value = float(weighted_reliability(np.ones((1, n)), x, statistic, v)[0])
    if not math.isfinite(value):
        return Coefficient.absent(
            "degenerate", "all respondents have the same score in an administration", n
        )
    if statistic == "rho_g":
        # Noise that exceeds the spread of the scores leaves no reliability, as the audit says.
        value = max(0.0, value)

    mean_scores = x.mean(axis=0)

    def reliability_of_rows(rows: Indices) -> tuple[Array, Array]:
        reliability = weighted_reliability(membership(rows, n), x, statistic, v)
        return reliability, mean_scores[rows].var(axis=1, ddof=1)

    point_estimate = Coefficient(
        value, n=n, method="too few respondents or families for a lower end"
    )
    relatives = Relatives(tuple(compress(families, complete.tolist())))
    return add_lower_bound(
        point_estimate, reliability_of_rows, mean_scores, relatives, vectorized=True
    )


def tested_differences(
    measures: Sequence[Measure],
    names: Sequence[str],
    families: Sequence[str],
    n_effective: float | None,
    length: int,
    seed: int,
) -> list[Difference]:
    """Every pair of measures under every indicator, at their own lengths and at a common one; not
    yet adjusted.

    The common length is tested where lengths differ by more than a tenth. Test-retest is tested
    once a pair: by rho_G, or by ICC(A,1) where the runs drift. Pearson's r and the other of the two
    estimate the same reliability again.
    """
    differences = []
    items = list(map(attrgetter("items"), measures))
    for indicator, (family, _) in COMPARED.items():
        lengths: list[int | None] = [None]
        if family in BY_LENGTH and max(items) > MAX_LENGTH_RATIO * min(items):
            lengths.append(length)
        for common_length in lengths:
            for left, right in combinations(measures, 2):
                if family == "test_retest" and indicator != _retest_of(left, right, names):
                    continue
                difference = _difference(
                    indicator, left, right, names, families, n_effective, common_length, seed
                )
                if difference is not None:
                    differences.append(difference)
    return differences


def _retest_of(left: Measure, right: Measure, names: Sequence[str]) -> str:
    """The indicator that tests whether two measures differ in test-retest reliability."""
    for measure in (left, right):
        estimate = measure.estimate("test_retest.rho_g")
        drifts = estimate is not None and "DRIFT" in estimate.flags
        # rho_G takes runs for repetitions of one another; where they drift, ICC(A,1) counts the
        # shift as error.
        if drifts or administrations(measure, "test_retest.rho_g", names) is None:
            return "test_retest.icc_a1"
    return "test_retest.rho_g"


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
    first = administrations(left, indicator, names)
    second = administrations(right, indicator, names)
    if first is None or second is None:
        return None
    statistic = COMPARED[indicator][1]
    if length is None:
        factors = (1.0, 1.0)
    else:
        # Spearman and Brown's formula takes the ratio of the lengths.
        factors = (length / left.items, length / right.items)
    # A stream a test: the numbers do not depend on which other measures are compared.
    rng = stream(seed, f"compare {indicator} {length} {left.key} {right.key}")
    if first.noise is None or second.noise is None:
        noise = None
    else:
        noise = (first.noise, second.noise)
    shared = min_error = 0.0
    fixed_difference = _missing_replicates(left, right, first, second)
    if fixed_difference is None:
        fixed_difference = difference_over_clusters(
            first, second, rng, statistic=statistic, factors=factors
        )
        shared = shared_variance(first, second, statistic=statistic, factors=factors)
        # The test for other respondents must not be surer than that for these, whose error it
        # includes.
        if math.isfinite(fixed_difference.error):
            min_error = fixed_difference.error
        else:
            min_error = 0.0
    random_difference = reliability_difference(
        first.scores,
        second.scores,
        rng,
        statistic=statistic,
        noise=noise,
        factors=factors,
        families=families,
        n_effective=n_effective,
        shared=shared,
        min_error=min_error,
    )
    return Difference(
        indicator,
        left.label,
        right.label,
        length,
        replace(
            fixed_difference,
            first=random_difference.first,
            second=random_difference.second,
            difference=random_difference.difference,
        ),
        random_difference,
    )


def _missing_replicates(
    left: Measure, right: Measure, first: LeaveOneOutScores, second: LeaveOneOutScores
) -> ReliabilityDifference | None:
    """Return a difference without a number where an audit has no scores without each picture."""
    lacking = [m.label for m, data in ((left, first), (right, second)) if not data.clusters]
    if not lacking:
        return None
    reason = f"the audit has no scores of {' and '.join(lacking)} with each picture left out"
    nan = math.nan
    return ReliabilityDifference(nan, nan, nan, status="insufficient", reason=reason)
