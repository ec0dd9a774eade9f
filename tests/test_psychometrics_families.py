"""Respondents as a sample, by small cases: relatives, the least value among others, and who makes a
coefficient.
"""

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from hqm import psychometrics as psy
from hqm.psychometrics.inference.families import (
    MAX_JACKKNIFE_UNITS,
    add_disattenuated_bound,
    far_respondents,
    jackknife_replicates,
    log_variance_error,
)
from tests.fields import fields_of
from tests.test_psychometrics_others import kurtosis_error


def test_nobody_is_left_out_where_nothing_can_be_said_of_others() -> None:
    def refused(rows: np.ndarray) -> float:
        raise AssertionError

    absent = psy.Coefficient.absent("degenerate", "why", 11)
    four = psy.Relatives(tuple("aaabbbcccdd"))
    for value, relatives in (
        (absent, None),
        (psy.Coefficient(0.5, n=7), None),
        (psy.Coefficient(0.5, 0.1, 0.9, n=11), four),
    ):
        result = psy.add_lower_bound(value, refused, relatives=relatives)
        assert (result.status, result.reason) == (value.status, value.reason)
        assert math.isnan(result.low)
        assert math.isnan(result.high)


def test_the_least_value_by_the_jackknife_of_logarithms() -> None:
    for count, families, independent, factor, df in [
        (11, (), 2.0, 11 / 2, 1),
        (11, (), 11.0, 1, 10),
        (11, (), 99.0, 1, 10),
        (11, tuple("aabbccddeef"), None, 1, 5),
        (11, tuple("aabbccddeef"), 4.0, 1, 5),
        (11, tuple("abcdefghijk"), None, 1, 10),
        (MAX_JACKKNIFE_UNITS + 3, (), None, 1, MAX_JACKKNIFE_UNITS - 1),
        (MAX_JACKKNIFE_UNITS + 3, (), 150.0, (MAX_JACKKNIFE_UNITS + 3) / 150, 149),
        (
            2 * MAX_JACKKNIFE_UNITS + 2,
            tuple(f"f{i // 2}" for i in range(2 * MAX_JACKKNIFE_UNITS + 2)),
            None,
            1,
            200,
        ),
    ]:

        def value(rows: np.ndarray) -> float:
            return 0.4 + 0.1 * math.cos(float(rows.sum()))

        names = list(families) or [m % MAX_JACKKNIFE_UNITS for m in range(count)]
        units = sorted(set(names))
        logs = [
            math.log(1 - value(np.array([m for m in range(count) if names[m] != unit])))
            for unit in units
        ]
        square = (
            sum((log_value - np.mean(logs)) ** 2 for log_value in logs)
            * (len(units) - 1)
            / len(units)
        )
        unbounded = psy.Coefficient(0.45, n=count, level=0.9)
        result = psy.add_lower_bound(
            unbounded, value, relatives=psy.Relatives(families, independent)
        )
        reach = stats.t.ppf(0.9, df) * math.sqrt(square * factor)
        assert result.low == pytest.approx(max(-1, 1 - 0.55 * math.exp(reach)))
        assert (result.value, result.high, result.n) == (0.45, math.inf, count)
        size = min(independent or len(set(names)) if families else independent or count, count)
        counted = f", n_eff {size:.4g}" if size < count else ""
        unit = "families" if families and len(units) < count else "respondents"
        assert result.method == f"{unit} left out, log(1 - r), one-sided{counted}"


def test_two_independent_respondents_do_not_show_the_tail_of_scores() -> None:
    """The kurtosis of scores counts from more than two on, and where every variance is positive."""
    scores = np.linspace(0, 1, 11) ** 3
    shifts = np.linspace(0.01, 0.02, 11)

    def value_and_variance(rows: np.ndarray) -> tuple[float, float]:
        (lost,) = set(range(11)) - set(rows.tolist())
        return 0.4 + shifts[lost], float(scores[rows].var(ddof=1))

    def value_only(rows: np.ndarray) -> float:
        return value_and_variance(rows)[0]

    def flat(rows: np.ndarray) -> tuple[float, float]:
        return value_and_variance(rows)[0], 0.0 if 0 in rows else 1.0

    unbounded = psy.Coefficient(0.45, n=11)
    for size, has_bound in ((2.0, False), (2.1, True), (11.0, True)):
        related = psy.Relatives((), size)
        plain = psy.add_lower_bound(unbounded, value_only, scores, related)
        assert (
            psy.add_lower_bound(unbounded, value_and_variance, scores, related).low < plain.low
        ) == has_bound
        assert psy.add_lower_bound(unbounded, flat, scores, related).low == plain.low
    # a tail that is lighter than the jackknife thinks takes nothing away
    even = np.array([0.0, 1] * 5 + [0.5])

    def light(rows: np.ndarray) -> tuple[float, float]:
        return value_and_variance(rows)[0], math.exp(100 * value_and_variance(rows)[0])

    assert (
        psy.add_lower_bound(unbounded, light, even).low
        == psy.add_lower_bound(unbounded, value_only).low
    )


def test_a_bound_that_runs_away_is_the_lowest_value() -> None:
    def value(rows: np.ndarray) -> float:
        (lost,) = set(range(11)) - set(rows.tolist())
        return 1 - 2.0**-53 if lost % 2 else -0.9

    relatives = psy.Relatives((), 2.0)
    assert psy.add_lower_bound(psy.Coefficient(0.5, n=11), value, relatives=relatives).low == -1
    assert (
        psy.add_lower_bound(psy.Coefficient(0.5, n=11), value, relatives=relatives, minimum=0.1).low
        == 0.1
    )
    # nor does it lie above the value itself, whatever the range
    assert (
        psy.add_lower_bound(
            psy.Coefficient(0.05, n=11), value, relatives=relatives, minimum=0.1
        ).low
        == 0.05
    )


def test_a_correlation_without_attenuation_keeps_the_observed_bound_in_proportion() -> None:
    true = psy.Coefficient(0.9, 0.1, 0.2, 9, fixed=psy.ConfidenceInterval(0.7, 1.0, "items"))
    for low, expected in ((0.5, 0.7), (0.4, 0.6), (-0.3, -0.45), (-0.8, -1.0)):
        moved = add_disattenuated_bound(
            true, psy.Coefficient(0.6, low, math.inf, method="one-sided")
        )
        assert (moved.low, moved.high) == (pytest.approx(expected), math.inf)
        assert (moved.value, moved.method) == (0.9, "one-sided, disattenuated")
    for value, low in ((0.6, math.nan), (0.0, -0.5), (-0.1, -0.5)):
        assert add_disattenuated_bound(true, psy.Coefficient(value, low)) is true


def test_a_bound_for_others_holds_that_for_these() -> None:
    for interval, fixed, expected in [
        ((0.4, 0.6), (0.45, 0.55), (0.4, 0.6)),
        ((0.4, 0.6), (0.3, 0.7), (0.3, 0.7)),
        ((0.4, 0.6), (0.3, 0.5), (0.3, 0.6)),
        ((0.4, math.inf), (0.5, 0.7), (0.4, math.inf)),
        ((0.4, 0.6), (math.nan, 0.7), (0.4, 0.6)),
        ((math.nan, 0.6), (0.3, 0.7), (math.nan, 0.6)),
    ]:
        value = psy.Coefficient(0.5, *interval, fixed=psy.ConfidenceInterval(*fixed, "items"))
        wider = psy.cover_fixed_interval(value)
        assert (wider.low, wider.high) == pytest.approx(expected, nan_ok=True)
        assert wider.fixed == value.fixed


Sets = Callable[[np.ndarray], float]


def of_sets(n: int, full_value: float, values_without: dict[tuple[int, ...], float]) -> Sets:
    """A statistic by who is missing: `full_value` unless given."""

    def statistic(rows: np.ndarray) -> float:
        return values_without.get(tuple(sorted(set(range(n)) - set(rows.tolist()))), full_value)

    return statistic


ALIKE = [0.70, 0.71, 0.72, 0.74, 0.75, 0.76]
"""Six scores of which none lies far from the others."""


def test_far_respondents_are_found_as_by_hand() -> None:
    for scores, far in (
        (ALIKE, ()),
        ([*ALIKE, 0.2], (6,)),
        ([*ALIKE, 0.2, 0.22], (6, 7)),  # two hide one another from a test of one
        ([math.nan, *ALIKE, 0.2], (7,)),
        ([0.7, 0.71, 0.72, 0.1], ()),  # four are too few
        ([0.5] * 9, ()),
    ):
        assert far_respondents(scores).respondents == far
    # Rosner (1983): R = (12 - 3) / s against lambda, of n = 5
    x = np.array([0.0, 1, 1, 1, 12])
    t = stats.t.ppf(1 - 0.04 / 10, 3)
    critical = t * 4 / math.sqrt((3 + t**2) * 5)
    is_far = abs(x - x.mean()).max() / x.std(ddof=1) > critical
    farthest = far_respondents(x)
    assert (farthest.respondents == (4,)) == is_far == (farthest.p < 0.04)


def test_few_normal_samples_have_far_respondents() -> None:
    rng = np.random.default_rng(8)
    samples = rng.normal(size=(2000, 10))
    share = np.mean([bool(far_respondents(sample).respondents) for sample in samples])
    assert share < 0.07


def test_a_coefficient_rests_on_far_respondents_where_it_changes_by_more_than_a_tenth() -> None:
    scores = [*ALIKE, 0.2, 0.22]
    for full_value, value, dominant in [
        (0.9, 0.75, True),
        (0.9, 0.81, False),  # by less than .1
        (0.75, 0.9, True),
        (0.9, math.nan, True),
    ]:
        statistic = of_sets(8, full_value, {(6, 7): value})
        result = psy.leave_one_out(statistic, 8, scores=scores)
        assert result.far == (6, 7)
        assert result.flags == (("DOMINANT_MODEL",) if dominant else ())
        assert result.without_far == pytest.approx(value, nan_ok=True)
        both = psy.leave_one_out(statistic, 8, scores=[ALIKE + ALIKE[:2], scores])
        assert both.flags == result.flags, "far in the second administration alone"
        for others in ((), ALIKE + ALIKE[:2]):
            calm = psy.leave_one_out(statistic, 8, scores=others)
            assert (calm.far, calm.flags) == ((), ())


def test_a_statistic_that_is_undefined_without_somebody_is_known_without_the_others() -> None:
    lost = of_sets(6, 0.5, {(0,): math.nan, (2,): 0.45})
    result = psy.leave_one_out(lost, 6)
    assert (result.low, result.high, result.strongest) == (0.45, 0.5, 2)
    assert result.change == pytest.approx(0.05)
    assert psy.leave_one_out(lost, 6, scores=[9.0, 1, 1, 2, 1, 1]).flags == ("DOMINANT_MODEL",)
    assert psy.leave_one_out(lost, 6, scores=[1.0] * 6).flags == ()
    assert psy.leave_one_out(lambda rows: 0.5, 3).status == "insufficient"


def test_relatives_that_are_less_alike_than_chance_count_in_full() -> None:
    """Families of unequal size take the formula below -1, where it is cut."""
    dependence = psy.family_dependence([0.0, 2, 1, 1], list("aabc"), np.random.default_rng(0))
    assert (dependence.icc.value, dependence.icc.low, dependence.icc.high) == (-1, -1, -1)
    assert (dependence.n_eff, dependence.p, dependence.flags) == (4, 1, ())
    missing = psy.family_dependence([0.0, 2, math.nan, 1, 1], list("aadbc"))
    assert fields_of(missing.icc) == fields_of(dependence.icc)
    assert (missing.n, missing.families) == (4, 3)
    equal = psy.family_dependence([0.3] * 4, list("aabc"))
    assert (equal.icc.status, equal.n_eff, equal.n) == ("degenerate", 3, 4)
    single_family = psy.family_dependence([0.3, 0.4], list("aa"))
    assert (single_family.icc.status, single_family.n_eff, single_family.families) == (
        "not_applicable",
        1,
        1,
    )
    distinct_families = psy.family_dependence([0.3, 0.4, 0.5], list("abc"))
    assert (distinct_families.icc.status, distinct_families.n_eff, distinct_families.families) == (
        "not_applicable",
        3,
        3,
    )
    with pytest.raises(ValueError, match="family label"):
        psy.family_dependence([0.3, 0.4], list("abc"))


def test_the_interval_of_a_family_correlation_has_the_level_that_is_asked_for() -> None:
    x = np.array([0.1, 0.3, 0.2, 0.7, 0.5, 0.9, 0.8, 1.1])
    names = list("aabbccdd")
    means = x.reshape(4, 2).mean(axis=1)
    f = 2 * means.var(ddof=1) / (x.reshape(4, 2).var(axis=1, ddof=1).mean())
    for level in (0.8, 0.95):
        icc = psy.family_dependence(x, names, level=level).icc
        ends = f / stats.f.ppf(0.5 + level / 2, 3, 4), f * stats.f.ppf(0.5 + level / 2, 4, 3)
        assert (icc.low, icc.high) == pytest.approx([(e - 1) / (e + 1) for e in ends])
        assert (icc.value, icc.level, icc.method) == (
            pytest.approx((f - 1) / (f + 1)),
            level,
            "one-way F",
        )


def test_relatives_are_those_of_the_respondents_that_are_counted() -> None:
    nan = math.nan
    paired = psy.Relatives.from_pairs([1, nan, 3, 4], [1, 2, nan, 4], list("abca"), 1.5)
    assert (paired.families, paired.n_effective) == (("a", "a"), 1.5)
    single_relatives = psy.Relatives((), 3.0)
    assert single_relatives.subset([True, False]) is single_relatives
    assert psy.Relatives(("a", "b", "a")).subset([True, False, True]).families == ("a", "a")
    for relatives, size in (
        (psy.Relatives(), 3.0),
        (psy.Relatives(("a", "b", "a")), 2.0),
        (psy.Relatives(("a", "b", "a"), 2.5), 2.5),
        (psy.Relatives(("a", "b", "a"), 9.0), 3.0),
        (psy.Relatives((), 1.5), 1.5),
    ):
        assert relatives.size(3) == size
    with pytest.raises(ValueError, match="one family label"):
        psy.Relatives(("a", "b")).units(3)
    pairs = jackknife_replicates(
        lambda rows: (float(rows.sum()), 1.0), 4, psy.Relatives(tuple("abab"))
    )
    assert pairs.tolist() == [[4, 1], [2, 1]]
    assert jackknife_replicates(lambda rows: float(rows.sum()), 3).tolist() == [3, 2, 1]


def test_the_error_of_a_logarithm_of_a_variance_by_bonett() -> None:
    for count in [5, 8, 20]:
        for size in [None, 2.5, 12.0]:
            scores = np.random.default_rng(count).gamma(1.0, 1.0, count)
            expected = kurtosis_error(scores, size or count)
            assert log_variance_error(scores, size) == pytest.approx(expected)


def test_five_families_and_eight_respondents_are_enough() -> None:
    for names, is_sufficient in (
        (list("aabcd"), False),
        (list("aabcde"), True),
        (list("abcd"), True),
    ):
        assert (psy.too_few_families(names) == "") == is_sufficient
    assert "2 families" in psy.too_few_families(list("aab"))
    assert psy.too_few_respondents(8) == ""
    for count, names in ((7, ()), (7, list("abcdefg")), (12, list("aaabbbcccddd"))):
        assert psy.too_few_respondents(count, names)
    assert psy.too_few_respondents(8, list("abcdefgh")) == ""
