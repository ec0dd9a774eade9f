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
from scipy import stats

from hqm import psychometrics as psy
from tests.test_psychometrics_consistency import TABLE_5


def test_the_items_of_millers_example() -> None:
    """Miller 2024 (arXiv 2411.00640): 969 items find a gap of .03 where the variance is 1/9."""
    assert psy.minimum_detectable_difference(1.0) == pytest.approx(2.8016, abs=5e-5)
    least = [psy.minimum_detectable_difference(math.sqrt(1 / 9 / n)) for n in (968, 969)]
    assert least[1] < 0.03 < least[0]


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
    other = psy.paired_differences(scale * x[rows][:, items] + shift)
    p, q = np.array(original.p), np.array(other.p)
    back = p[np.ix_(rows, rows)]
    assert q == pytest.approx(back, abs=1e-7, nan_ok=True)
    assert np.array(other.se) == pytest.approx(
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
        same = psy.paired_differences(np.ones((3, 5)))
        assert same.tied_sets == ((0, 1, 2),)
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
    shares = [psy.holm_tests(45, apart) for apart in range(46)]
    assert shares == sorted(shares, reverse=True)
