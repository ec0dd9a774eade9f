"""Tied respondents, ranks, power and saturation against published values, loops and planted
truths.
"""

import itertools
import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import optimize, stats

from hqm import psychometrics as psy
from hqm.psychometrics.inference.pairwise import PairwiseDifferences
from hqm.psychometrics.items.type_strengths import rasch_residuals
from tests.test_psychometrics_consistency import TABLE_5


def test_the_items_of_millers_example() -> None:
    """Miller 2024 (arXiv 2411.00640): 969 items find a gap of .03 where the variance is 1/9."""
    assert psy.minimum_detectable_difference(1.0) == pytest.approx(2.8016, abs=5e-5)
    differences = [psy.minimum_detectable_difference(math.sqrt(1 / 9 / n)) for n in (968, 969)]
    assert differences[1] < 0.03 < differences[0]


def test_what_hqh_can_separate() -> None:
    """Worst case of Table 5, every answer a coin flip: 11/20 neighbours, 200/210 pairs; 123/210
    pairs with 96 items.
    """
    overall, flips = TABLE_5.mean(axis=1), (TABLE_5 * (1 - TABLE_5)).mean(axis=1)
    full = psy.independent_differences(overall, np.sqrt(flips / 4000), higher_is_better=False)
    short = psy.independent_differences(overall, np.sqrt(flips / 96), higher_is_better=False)
    single = [np.array(study.p) <= 0.05 for study in (full, short)]
    assert [int(table.sum()) // 2 for table in single] == [200, 123]
    assert sum(single[0][pair] for pair in itertools.pairwise(full.order)) == 11
    assert full.order[0] == 20
    assert full.separable_pairs()[1] == 210
    assert short.separable_pairs()[0] < full.separable_pairs()[0] < 200


@pytest.mark.parametrize("seed", range(3))
def test_paired_differences_against_scipy_and_a_loop_over_clusters(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = (rng.uniform(size=(5, 60)) < rng.uniform(0.2, 0.9, (5, 1))).astype(float)
    x[2] = x[1]
    differences = psy.paired_differences(x)
    clusters = rng.integers(0, 15, 60)
    robust = psy.paired_differences(x, clusters)
    for a in range(5):
        for b in range(5):
            if a == b:
                assert math.isnan(differences.p[a][b])
                continue
            d = x[a] - x[b]
            assert differences.difference[a][b] == pytest.approx(d.mean())
            if {a, b} == {1, 2}:
                assert (differences.p[a][b], differences.se[a][b]) == (1.0, 0.0)
                continue
            assert differences.p[a][b] == pytest.approx(stats.ttest_rel(x[a], x[b]).pvalue)
            groups = np.unique(clusters)
            total = sum((d[clusters == g] - d.mean()).sum() ** 2 for g in groups)
            c = len(groups)
            assert robust.se[a][b] == pytest.approx(math.sqrt(c / (c - 1) * total) / 60)
    upper = np.triu_indices(5, 1)
    assert np.array(robust.adjusted)[upper] == pytest.approx(psy.holm(np.array(robust.p)[upper]))
    assert np.array(robust.adjusted).T[upper] == pytest.approx(np.array(robust.adjusted)[upper])


def test_clustered_standard_errors_against_statsmodels() -> None:
    import statsmodels.api as sm

    rng = np.random.default_rng(4)
    clusters = np.repeat(np.arange(30), 4)
    x = rng.normal(size=(2, 120)) + np.stack([rng.normal(size=30)[clusters], np.zeros(120)])
    fit = sm.OLS(x[0] - x[1], np.ones(120)).fit(
        cov_type="cluster", cov_kwds={"groups": clusters, "use_correction": False}
    )
    differences = psy.paired_differences(x, clusters)
    assert differences.se[0][1] == pytest.approx(float(fit.bse[0]) * math.sqrt(30 / 29))
    assert differences.n_clusters == 30
    assert differences.se[0][1] > psy.paired_differences(x).se[0][1]


def test_planted_ties_are_found() -> None:
    """Two models of one ability, one better by a third, one worse: the tie is in one set and the
    others stand alone.
    """
    rng = np.random.default_rng(5)
    ability = np.array([0.9, 0.6, 0.6, 0.25])
    x = (rng.uniform(size=(4, 2000)) < ability[:, None]).astype(float)
    differences = psy.paired_differences(x)
    assert differences.tied_sets == ((0,), (1, 2) if x[1].mean() >= x[2].mean() else (2, 1), (3,))
    assert differences.rank_intervals == ((1, 1), (2, 3), (2, 3), (4, 4))


def test_being_tied_is_not_transitive() -> None:
    differences = psy.independent_differences([0.5, 0.6, 0.7], [0.04, 0.04, 0.04], level=0.95)
    assert differences.tied_sets == ((2, 1), (1, 0))
    assert differences.rank_intervals == ((2, 3), (1, 3), (1, 2))
    reverse = psy.independent_differences(
        [0.5, 0.6, 0.7], [0.04, 0.04, 0.04], higher_is_better=False
    )
    assert reverse.tied_sets == ((0, 1), (1, 2))
    assert reverse.rank_intervals == ((1, 2), (1, 3), (2, 3))


@given(st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_tied_sets_are_all_maximal_groups(seed: int) -> None:
    rng = np.random.default_rng(seed)
    differences = psy.independent_differences(rng.uniform(size=7), rng.uniform(0.01, 0.2, 7))
    distinct = differences.distinct()
    rivals = set()
    for bits in range(1, 2**7):
        group = [i for i in range(7) if bits >> i & 1]
        if any(distinct[a, b] for a in group for b in group if a != b):
            continue
        if not any(all(not distinct[i, g] for g in group) for i in range(7) if i not in group):
            rivals.add(frozenset(group))
    assert {frozenset(g) for g in differences.tied_sets} == rivals
    assert len(differences.tied_sets) == len(rivals)


answers = arrays(float, (4, 30), elements=st.sampled_from([0.0, 1.0]))


@given(
    answers,
    st.permutations(range(30)),
    st.permutations(range(4)),
    st.floats(0.5, 3),
    st.floats(-2, 2),
)
@settings(max_examples=40, deadline=None)
def test_order_shift_and_scale_do_not_matter(
    x: np.ndarray, items: list[int], rows: list[int], scale: float, shift: float
) -> None:
    original = psy.paired_differences(x)
    transformed = psy.paired_differences(scale * x[rows][:, items] + shift)
    p, q = np.array(original.p), np.array(transformed.p)
    permuted = p[np.ix_(rows, rows)]
    assert q == pytest.approx(permuted, abs=1e-7, nan_ok=True)
    assert np.array(transformed.se) == pytest.approx(
        scale * np.array(original.se)[np.ix_(rows, rows)], abs=1e-9, nan_ok=True
    )
    assert all(low <= high for low, high in original.rank_intervals)
    assert {m for g in original.tied_sets for m in g} == set(range(4))


def test_false_differences_stay_rare() -> None:
    """Six equal models, 200 benchmarks: Holm calls any pair different in about 5% of them at
    most.
    """
    rng = np.random.default_rng(6)
    wrong = 0
    for _ in range(200):
        differences = psy.paired_differences((rng.uniform(size=(6, 150)) < 0.6).astype(float))
        wrong += len(differences.tied_sets) > 1
    assert wrong / 200 <= 0.08


def test_power_is_what_the_formula_says() -> None:
    rng = np.random.default_rng(7)
    n = 300
    # paired differences of variance 1/2, a gap of the minimum detectable size
    gap = psy.minimum_detectable_difference(math.sqrt(0.5 / n))
    hits = 0
    for _ in range(400):
        d = gap + math.sqrt(0.5) * rng.normal(size=n)
        hits += psy.paired_differences(np.stack([d, np.zeros(n)])).separable_pairs()[0]
    assert hits / 400 == pytest.approx(0.8, abs=0.06)


def test_saturation_of_a_solved_benchmark() -> None:
    rng = np.random.default_rng(8)
    solved = (rng.uniform(size=(10, 200)) < 0.99).astype(float)
    assert psy.saturation(solved).flags == ("CEILING",)
    assert psy.saturation(1 - solved).flags == ("FLOOR",)
    assert psy.saturation(1 - solved, higher_is_better=False).flags == ("CEILING",)
    wide = (rng.uniform(size=(10, 200)) < np.linspace(0.2, 0.8, 10)[:, None]).astype(float)
    saturation = psy.saturation(wide)
    assert saturation.flags == ()
    assert saturation.headroom == pytest.approx(1 - wide.mean(axis=1).max())
    assert saturation.easy == np.mean(wide.mean(axis=0) >= 0.95 - 1e-12)
    gap = wide.copy()
    gap[0, :50] = np.nan
    assert psy.saturation(gap).status == "ok"


def test_degenerate_inputs_say_why_and_raise_no_warning() -> None:
    nan = math.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x in (
            np.empty((0, 4)),
            np.empty((3, 0)),
            np.ones((1, 5)),
            np.ones((3, 1)),
            np.full((3, 4), nan),
        ):
            differences = psy.paired_differences(x)
            assert differences.status == "insufficient"
            assert differences.reason
            assert (differences.tied_sets, differences.rank_intervals) == ((), ())
            assert differences.separable_pairs() == (0, 0)
            assert psy.saturation(x).status in ("insufficient", "ok")
        identical = psy.paired_differences(np.ones((3, 5)))
        assert identical.tied_sets == ((0, 1, 2),)
        # all right against all wrong on five items: no variance, so the sign test over items, 2 /
        # 2^5
        opposed = psy.paired_differences(np.array([[1.0] * 5, [0.0] * 5]))
        assert opposed.p[0][1] == pytest.approx(2 / 32)
        assert psy.paired_differences(np.eye(3), ["a", "a", "a"]).status == "insufficient"
        assert psy.independent_differences([0.5], [0.1]).status == "insufficient"
        assert psy.independent_differences([0.5, 0.5], [0, 0]).p[0][1] == 1.0
        assert psy.saturation([[2, 1], [1, 0]]).status == "not_applicable"
        assert psy.chance_corrected([0.5], {}).status == "insufficient"
        assert psy.chance_corrected([0.5], {"always yes": 1.0}).status == "degenerate"


def test_shapes_are_checked() -> None:
    with pytest.raises(ValueError, match="respondents, items"):
        psy.paired_differences([1, 2])
    with pytest.raises(ValueError, match="cluster"):
        psy.paired_differences(np.eye(3), [1, 2])
    with pytest.raises(ValueError, match=r"arrays of shape \(respondents\)"):
        psy.independent_differences([1, 2], [1])
    with pytest.raises(ValueError, match="respondents, items"):
        psy.saturation([1, 2])
    with pytest.raises(ValueError, match="respondents"):
        psy.chance_corrected(np.eye(2), {"a": 0.5})


def test_after_holm_a_pair_shares_the_level_with_those_not_yet_decided() -> None:
    """Holm 1979: the k-th smallest P-value of m is held against alpha / (m - k + 1)."""
    assert psy.holm_tests(10, 0) == 10
    assert psy.holm_tests(10, 10) == 1
    assert psy.holm_tests(1, 0) == 1
    shares = [psy.holm_tests(45, n_distinct) for n_distinct in range(46)]
    assert shares == sorted(shares, reverse=True)


# -- by hand


def test_pairs_over_pictures_by_hand() -> None:
    """An item that one lacks counts for the pairs of others; pictures need not stand side by
    side.
    """
    rng = np.random.default_rng(51)
    x = (rng.random((3, 20)) < np.array([[0.8], [0.5], [0.4]])).astype(float)
    x[1, 7] = np.nan
    pictures = [f"picture {i % 8}" for i in range(20)]
    study = psy.paired_differences(x, pictures, level=0.9)
    names = sorted(set(pictures))
    adjusted = {}
    for a, b in itertools.combinations(range(3), 2):
        retained = [i for i in range(20) if i != 7 or 1 not in (a, b)]
        assert (study.items[a][b], study.clusters[a][b]) == (len(retained), 8)
        d = (x[a] - x[b])[retained]
        squares = [
            sum(d[k] - d.mean() for k, i in enumerate(retained) if pictures[i] == name) ** 2
            for name in names
        ]
        error = math.sqrt(8 / 7 * sum(squares)) / len(retained)
        for row, opponent, sign in ((a, b, 1), (b, a, -1)):
            assert study.difference[row][opponent] == pytest.approx(sign * d.mean())
            assert study.se[row][opponent] == pytest.approx(error)
            p = 2 * stats.t.sf(abs(d.mean()) / error, 7)
            assert study.p[row][opponent] == pytest.approx(p)
        adjusted[a, b] = study.p[a][b]
    for pair, p in zip(adjusted, psy.holm(list(adjusted.values())), strict=True):
        assert study.adjusted[pair[0]][pair[1]] == pytest.approx(p)
    for table in (study.p, study.se, study.adjusted):
        assert np.isnan(np.diag(table)).all()
    assert (np.diag(study.difference) == 0).all()
    assert study.scores == pytest.approx(np.nanmean(x, axis=1))
    assert (study.n_items, study.n_clusters, study.level) == (19, 8, 0.9)
    assert study.higher_is_better
    refused = psy.paired_differences(x[:1], pictures, level=0.9, higher_is_better=False)
    assert (refused.status, refused.n_items, refused.n_clusters) == ("insufficient", 20, 8)
    assert (refused.level, refused.higher_is_better, refused.scores) == (0.9, False, ())


@pytest.mark.parametrize(("pictures", "p"), [(2, 0.5), (3, 0.25), (6, 1 / 32)])
def test_a_difference_without_an_error_is_a_sign_test_over_pictures(
    pictures: int, p: float
) -> None:
    x = np.repeat(np.arange(pictures * 2) % 2 / 3, 2)
    study = psy.paired_differences(np.stack([x + 0.1, x]), np.arange(pictures * 4) // 4)
    assert (study.se[0][1], study.p[0][1], study.p[1][0]) == (0, p, p)
    equal = psy.paired_differences(np.full((2, pictures), [[0.1], [0.3]]))
    assert (equal.se[0][1], equal.p[0][1]) == (0, p), "scores that rounding alone makes differ"


def test_published_scores_are_compared_with_the_normal_distribution() -> None:
    study = psy.independent_differences([0.6, 0.5, 0.7], [0.03, 0.04, 0.0], level=0.8)
    for a, b, error in ((0, 1, 0.05), (0, 2, 0.03), (1, 2, 0.04)):
        difference = (0.6, 0.5, 0.7)[a] - (0.6, 0.5, 0.7)[b]
        assert study.se[a][b] == study.se[b][a] == pytest.approx(error)
        assert study.p[a][b] == pytest.approx(2 * stats.norm.sf(abs(difference) / error))
    assert (study.n_items, study.n_clusters, study.level) == (0, 0, 0.8)
    assert psy.independent_differences([0.5, 0.9], [0, 0]).p[0][1] == 1, "nothing is known"
    single_study = psy.independent_differences([0.5], [0.1], level=0.8, higher_is_better=False)
    assert (single_study.level, single_study.higher_is_better) == (0.8, False)
    assert (single_study.n_items, single_study.n_clusters, single_study.scores) == (0, 0, ())


def test_an_order_and_its_groups_from_a_table_of_p_values() -> None:
    """A p-value of exactly the level is a difference; equal scores keep their order."""
    nan = math.nan
    p = ((nan, 0.1, 0.04), (0.1, nan, 0.2), (0.04, 0.2, nan))
    scores = (0.5, 0.7, 0.5)
    difference = tuple(tuple(a - b for b in scores) for a in scores)

    def study(level: float, higher: bool = True) -> PairwiseDifferences:
        return PairwiseDifferences(scores, difference, p, p, p, 9, 9, level, higher)

    assert study(0.9).distinct().tolist() == [
        [False, True, True],
        [True, False, False],
        [True, False, False],
    ]
    assert study(0.9).separable_pairs() == (2, 3)
    assert study(0.91).separable_pairs() == (1, 3)
    assert study(0.97).separable_pairs() == (0, 3)
    assert (study(0.9).order, study(0.9, False).order) == ((1, 0, 2), (0, 2, 1))
    assert [pair.p for pair in study(0.9).neighbour_pairs()] == [0.1, 0.04]
    assert [pair.p for pair in study(0.9, False).neighbour_pairs()] == [0.04, 0.2]
    # the first of three lies beside either of the others only where it is not shown to differ
    assert [pair.rivals for pair in study(0.9, False).neighbour_pairs()] == [2, 1]
    assert study(0.9).tied_sets == ((1, 2), (0,))
    assert study(0.9, False).tied_sets == ((0,), (2, 1))
    # 0 and 2 differ, and by no score: neither is surely above
    assert study(0.9).rank_intervals == ((2, 3), (1, 2), (1, 3))
    assert study(0.9, False).rank_intervals == ((1, 2), (2, 3), (1, 3))


@pytest.mark.parametrize(("power", "level", "tests"), [(0.8, 0.95, 1.0), (0.6, 0.9, 10.0)])
def test_a_difference_that_is_found_with_the_wanted_power(
    power: float, level: float, tests: float
) -> None:
    options = {"power": power, "level": level, "tests": tests}
    if tests == 1:
        options = {}
    alpha = (1 - level) / tests
    difference = psy.minimum_detectable_difference(0.02, **options)
    z = stats.norm.ppf([1 - alpha / 2, power])
    assert difference == pytest.approx(0.02 * z.sum())
    for clusters in (2, 12):
        clustered_difference = psy.minimum_detectable_difference(0.02, clusters=clusters, **options)
        critical = stats.t.ppf(1 - alpha / 2, clusters - 1)
        assert stats.nct.sf(critical, clusters - 1, clustered_difference / 0.02) == pytest.approx(
            power, abs=1e-4
        )
        assert clustered_difference > difference
    assert math.isnan(psy.minimum_detectable_difference(math.nan, clusters=9))
    assert psy.holm_tests(0, 0) == 1


def ones_and_halves(full: int) -> np.ndarray:
    """(20, 20): some respondents who solve all, the others half of the items each."""
    x = np.stack([np.roll(np.arange(20) < 10, i) for i in range(20)]).astype(float)
    x[:full] = 1
    return x


def test_ends_of_the_scale_are_crowded_beyond_their_limits() -> None:
    """More than 15 % of the respondents, more than half of the items."""
    for full, flags in ((3, ()), (4, ("CEILING",))):
        study = psy.saturation(ones_and_halves(full))
        assert (study.flags, study.at_ceiling, study.at_floor) == (flags, full / 20, 0)
        floor = psy.saturation(1 - ones_and_halves(full))
        assert floor.flags == (("FLOOR",) if flags else ())
        assert (floor.at_floor, floor.at_ceiling) == (full / 20, 0)
    # 19 of 20 solve the easy items, one of 20 the hard ones
    for easy, flags in ((10, ()), (11, ("CEILING",)), (9, ("FLOOR",))):
        x = np.zeros((20, 20))
        x[:, :easy] = 1
        for item in range(20):
            x[item, item] = 1 - x[item, item]
        study = psy.saturation(x)
        assert (study.easy, study.hard) == pytest.approx((easy / 20, 1 - easy / 20))
        assert (study.flags, study.solved_by_all, study.solved_by_none) == (flags, 0, 0)
        sure = psy.saturation(np.hstack([x, np.ones((20, 4)), np.zeros((20, 1))]))
        assert (sure.solved_by_all, sure.solved_by_none) == (4 / 25, 1 / 25)
    # 6 of 9 have a standard error of a sixth: two of them reach the end
    two = np.stack([np.arange(9) < 6, np.arange(9) < 5]).astype(float)
    assert psy.saturation(two).at_ceiling == 0.5
    assert psy.saturation(1 - two).at_floor == 0.5


def test_saturation_of_the_answers_that_are_there() -> None:
    nan = math.nan
    x = np.array([[1, 1, nan, 0, 1], [nan, 1, nan, 0, 1], [nan, nan, nan, nan, 1], [nan] * 5])
    study = psy.saturation(x)
    assert study.headroom == 0
    # standard errors of a quarter for 3 of 4, of a third for 2 of 3, of nothing for a single answer
    assert (study.at_ceiling, study.at_floor) == (1, 1 / 3)
    assert (study.solved_by_all, study.solved_by_none) == (3 / 4, 1 / 4)
    assert psy.saturation(x[:, [2, 4]]).status == "insufficient"
    assert psy.saturation(x[2:]).status == "insufficient"
    refused = psy.saturation(x - 0.1)
    assert refused.status == "not_applicable"
    assert math.isnan(refused.headroom)


def test_the_best_blind_strategy_counts() -> None:
    blind = {"no": 0.4, "lost": math.nan, "yes": 0.6, "longest": 0.5}
    study = psy.chance_corrected([0.8, 0.6, 0.5, math.nan], blind)
    assert study.values == pytest.approx([0.5, 0, -0.25, math.nan], nan_ok=True)
    assert (study.blind, study.strategy, study.not_above) == (0.6, "yes", (1, 2))
    assert (study.flags, study.status) == (("CHANCE",), "ok")
    assert psy.chance_corrected([0.8], blind).flags == ()
    perfect = psy.chance_corrected([0.8], {"yes": 1.0, "no": 0.0})
    assert (perfect.status, perfect.blind, perfect.strategy) == ("degenerate", 1, "yes")
    assert (perfect.values, perfect.not_above) == ((), ())
    without_blind = psy.chance_corrected([0.8], {"lost": math.nan})
    assert (without_blind.status, without_blind.strategy, math.isnan(without_blind.blind)) == (
        "insufficient",
        "",
        True,
    )


@pytest.mark.parametrize("shared", [False, True])
def test_errors_along_the_scale_by_solving_for_the_ability(shared: bool) -> None:
    rng = np.random.default_rng(52)
    difficulty = np.repeat(rng.normal(size=12), 2)
    ability = np.linspace(-2.5, 2.5, 9)[:, None]
    x = (rng.random((9, 24)) < 1 / (1 + np.exp(difficulty - ability))).astype(float)
    if shared:
        x[:, 1::2] = x[:, ::2]
    x = np.hstack([x, np.full((9, 1), np.nan)])
    x[4, 3], x[8, :24], x[7, 1:24] = np.nan, 1.0, 1.0
    pictures = np.arange(25) // 2 if shared else None
    points = [0.2, 0.5, 0.9]
    study = psy.conditional_errors(x, pictures, points=points)
    b = np.asarray(rasch_residuals(x[:, :24]).difficulty)

    def chances(theta: float) -> np.ndarray:
        return np.asarray(1 / (1 + np.exp(b - theta)))

    def error(theta: float) -> float:
        p = chances(theta)
        return math.sqrt(float((p * (1 - p)).sum())) / 24

    for score, standard_error in zip(points, study.these_items, strict=True):
        theta = optimize.brentq(lambda t, s=score: chances(t).mean() - s, -20, 20)
        assert standard_error == pytest.approx(error(theta), rel=1e-3)
    reach = stats.norm.ppf(0.975) + stats.norm.ppf(0.8)
    top = optimize.brentq(lambda t: 1 - chances(t).mean() - reach * error(t), -5, 9)
    bottom = optimize.brentq(lambda t: chances(t).mean() - reach * error(t), -9, 5)
    assert study.top == pytest.approx(chances(top).mean(), abs=0.003)
    assert study.bottom == pytest.approx(chances(bottom).mean(), abs=0.003)
    assert study.top >= chances(top).mean()
    mean = np.nanmean(x, axis=1)
    assert study.in_top == tuple(np.flatnonzero(mean >= study.top))
    assert study.in_bottom == tuple(np.flatnonzero(mean <= study.bottom))
    assert study.in_top
    binomial_errors = np.sqrt(mean * (1 - mean) / 23)
    labels = np.arange(25) if pictures is None else pictures
    clustered = []
    for row, average in zip(x, mean, strict=True):
        scored = np.isfinite(row)
        names = np.unique(labels[scored])
        sums = [float((row - average)[scored & (labels == name)].sum()) for name in names]
        squares = len(names) / (len(names) - 1) * sum(s * s for s in sums)
        clustered.append(math.sqrt(squares) / scored.sum())
    inner = binomial_errors > 0
    wider = np.square(clustered)[inner].mean() / np.square(binomial_errors)[inner].mean()
    assert (wider > 1.5) == shared
    for score, standard_error in zip(points, study.other_items, strict=True):
        lord = math.sqrt(score * (1 - score) / 23)
        assert standard_error == pytest.approx(lord * math.sqrt(max(1.0, wider)))
    assert (study.score, study.n_items) == (tuple(points), 24)
    usual = psy.conditional_errors(x).score
    assert list(usual) == sorted(set(usual))
    assert all(0 < score < 1 for score in usual)


def test_errors_along_the_scale_need_scores_inside_it() -> None:
    for x, status in (
        (np.ones((4, 12)), "degenerate"),
        (np.eye(4, 12) * 2, "not_applicable"),
        (np.full((4, 12), np.nan), "insufficient"),
    ):
        study = psy.conditional_errors(x)
        assert (study.status, study.in_top, study.score) == (status, (), ())
        assert (study.in_bottom, study.n_items) == ((), 0)
        assert math.isnan(study.top)
