"""Item statistics against rivals; planted bad items are found and good ones are not accused."""

import math
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from statsmodels.stats.multitest import multipletests

from hqm import psychometrics as psy
from hqm.psychometrics.inference.distributions import (
    average_ranks,
    binomial_above,
    kendall_tau,
    rank_sum_p,
)
from hqm.psychometrics.inference.significance import (
    benjamini_hochberg,
    chi_square_test,
    holm,
    holm_in_order,
)
from hqm.psychometrics.items.item_statistics import Duplicates, item_rest


def rasch(seed: int, respondents: int, items: int) -> np.ndarray:
    """Binary scores of items of equal discrimination."""
    rng = np.random.default_rng(seed)
    theta, b = rng.normal(size=(respondents, 1)), rng.normal(size=items)
    return (rng.random((respondents, items)) < 1 / (1 + np.exp(-1.2 * (theta - b)))).astype(float)


@given(arrays(float, st.integers(0, 12), elements=st.floats(0, 1, width=32)))
def test_false_discovery_against_scipy(p: np.ndarray) -> None:
    expected = stats.false_discovery_control(p) if len(p) else p
    assert benjamini_hochberg(p) == pytest.approx(expected)
    with_gap = benjamini_hochberg(np.append(p, math.nan))
    assert math.isnan(with_gap[-1])
    assert with_gap[:-1] == pytest.approx(expected)


@given(
    arrays(np.int8, st.tuples(st.integers(4, 9), st.integers(2, 6)), elements=st.integers(0, 1)),
    st.data(),
)
@settings(deadline=None, max_examples=60)
def test_item_statistics_against_scipy_one_by_one(scores: np.ndarray, draw: st.DataObject) -> None:
    x = scores.astype(float)
    for m, i in draw.draw(
        st.lists(st.tuples(st.integers(0, len(x) - 1), st.integers(0, x.shape[1] - 1)), max_size=3)
    ):
        x[m, i] = math.nan
    analysis = psy.item_analysis(x)
    p = []
    for i, difficulty in enumerate(analysis.difficulty):
        column, other_items = x[:, i], np.array([[*row[:i], *row[i + 1 :]] for row in x])
        means = [
            np.mean(r[np.isfinite(r)]) if np.isfinite(r).any() else math.nan for r in other_items
        ]
        complete = np.isfinite(column) & np.isfinite(means)
        if np.isfinite(column).any():
            assert difficulty == pytest.approx(np.nanmean(column))
        a, b = column[complete], np.array(means)[complete]
        if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) < 1e-9:
            assert math.isnan(analysis.item_rest[i])
            continue
        rival = stats.pearsonr(a, b)
        assert analysis.item_rest[i] == pytest.approx(rival.statistic, abs=1e-9)
        p.append(rival.pvalue)
    q = sorted(analysis.q[np.isfinite(analysis.q)])
    assert q == pytest.approx(sorted(stats.false_discovery_control(p)) if p else [], abs=1e-5)


def test_lsat7_item_rest() -> None:
    """LSAT 7 (psych::lsat7): difficulties as published by Bock and Lieberman (1970), from the 1,000
    candidates.
    """
    x = lsat7()
    analysis = psy.item_analysis(x)
    assert analysis.difficulty == pytest.approx([0.828, 0.658, 0.772, 0.606, 0.843], abs=5e-4)
    assert analysis.reversed == ()


def lsat7() -> np.ndarray:
    """The 32 patterns and their counts (Bock and Lieberman 1970, as mirt's expand.table(LSAT7)
    prints them).
    """
    counts = [
        12,
        19,
        1,
        7,
        3,
        19,
        3,
        17,
        10,
        5,
        3,
        7,
        7,
        23,
        8,
        28,
        7,
        39,
        11,
        34,
        14,
        51,
        15,
        90,
        6,
        25,
        7,
        35,
        18,
        136,
        32,
        308,
    ]
    patterns = [[int(b) for b in f"{k:05b}"] for k in range(32)]
    return np.repeat(np.array(patterns, dtype=float), counts, axis=0)


def test_the_patterns_are_the_file(data: Path) -> None:
    patterns = np.loadtxt(data / "psychometrics" / "lsat7.csv", delimiter=",", skiprows=1)
    assert np.array_equal(np.array(sorted(patterns.tolist())), np.array(sorted(lsat7().tolist())))


def test_planted_bad_items_are_found() -> None:
    x = rasch(1, 120, 60)
    x[:, 3] = 1 - x[:, 3]
    x[:, 10], x[:, 11] = 1, 0
    x[:, 12] = x[:, 13]
    analysis = psy.item_analysis(x)
    assert analysis.reversed == (3,)
    assert analysis.difficulty[[10, 11]].tolist() == [1, 0]
    errors = psy.label_error_candidates(x, rng=np.random.default_rng(0))
    assert [error.item for error in errors.candidates] == [3]
    assert errors.candidates[0].reversals > 0.6


def test_an_item_is_held_against_its_group_where_that_has_twenty_items() -> None:
    x = rasch(1, 120, 60)
    x[:, 3] = 1 - x[:, 3]
    for size, group_items in ((20, np.arange(20)), (19, np.arange(60))):
        groups = np.repeat(["a", "b"], [size, 60 - size]).tolist()
        errors = psy.label_error_candidates(x, groups=groups, rng=np.random.default_rng(0))
        rest_score = x[:, group_items[group_items != 3]].mean(axis=1)
        of_item = {error.item: error.item_rest for error in errors.candidates}
        assert of_item[3] == pytest.approx(stats.pearsonr(x[:, 3], rest_score).statistic)


def test_good_items_are_not_accused() -> None:
    """Thirty clean benchmarks of 20 respondents x 400 items: many negative correlations, almost no
    accusation.
    """
    negative = accused = reversed_ = 0
    for seed in range(30):
        x = rasch(100 + seed, 20, 400)
        analysis = psy.item_analysis(x)
        negative += int((analysis.item_rest < 0).sum())
        reversed_ += len(analysis.reversed)
        accused += len(psy.label_error_candidates(x, rng=np.random.default_rng(seed)).candidates)
    assert negative > 200, "with 20 respondents a good item is often negative"
    assert accused <= 3
    assert reversed_ <= 3


def test_an_outlying_respondent_does_not_make_a_wrong_key() -> None:
    """One very weak respondent passes what nobody else passes: Student's test is fooled, the exact
    test is not.
    """
    rng = np.random.default_rng(5)
    x = (rng.random((20, 50)) < 0.9).astype(float)
    x[0] = 0
    x[:, 7] = 0
    x[0, 7] = 1
    analysis = psy.item_analysis(x)
    assert analysis.item_rest[7] < 0
    assert analysis.q[7] < 0.001
    assert analysis.reversed == ()
    # one of twenty: p = .05 is the least that the exact test can give
    assert psy.label_error_candidates(x, rng=rng).candidates == ()


@given(
    arrays(np.int8, (8, 5), elements=st.integers(0, 1)),
    st.permutations(range(8)),
    st.permutations(range(5)),
)
@settings(deadline=None, max_examples=40)
def test_order_does_not_matter(scores: np.ndarray, rows: list[int], columns: list[int]) -> None:
    x = scores.astype(float)
    original, reordered = psy.item_analysis(x), psy.item_analysis(x[rows][:, columns])
    assert reordered.item_rest == pytest.approx(original.item_rest[columns], nan_ok=True, abs=1e-9)
    assert {columns[i] for i in reordered.reversed} == set(original.reversed)


def test_duplicates_by_key_and_contradictions() -> None:
    duplicates = psy.duplicate_items(
        keys=[("a.png", "Is it?"), ("b.png", "Is it?"), ("a.png", "Is it?"), ("b.png", "Is it?")],
        targets=["yes", "no", "yes", "yes"],
    )
    assert duplicates.by_key == ((0, 2), (1, 3))
    assert duplicates.contradictory == ((1, 3),)
    with pytest.raises(ValueError, match="one target"):
        psy.duplicate_items(keys=["a"], targets=[])


def test_item_analysis_that_does_not_exist_says_why() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert psy.item_analysis(np.zeros((2, 5))).status == "insufficient"
        assert psy.item_analysis(np.zeros((5, 1))).status == "insufficient"
        assert psy.item_analysis(np.zeros((0, 0))).status == "insufficient"
        flat = psy.item_analysis(np.full((5, 3), 0.25))
        assert (flat.difficulty == 0.25).all()
        assert np.isnan(flat.item_rest).all()
        empty = psy.item_analysis(np.array([[math.nan, 1, 0], [math.nan, 0, 1], [math.nan, 1, 1]]))
        assert (empty.n[0], math.isnan(empty.difficulty[0])) == (0, True)
        assert np.isnan(psy.item_analysis([[1, 0], [1, 1], [1, 0]]).item_rest).all()
        assert (
            psy.label_error_candidates(np.zeros((4, 4)), rng=np.random.default_rng(0)).status
            == "insufficient"
        )
        assert (
            psy.label_error_candidates(np.zeros((9, 4)), rng=np.random.default_rng(0)).candidates
            == ()
        )
    with pytest.raises(ValueError, match="respondents, items"):
        psy.item_analysis([1, 2, 3])


def test_relatives_count_less() -> None:
    x = rasch(7, 60, 20)
    unrelated, related = psy.item_analysis(x), psy.item_analysis(x, n_eff=15)
    assert (unrelated.item_rest == related.item_rest).all()
    assert (unrelated.q <= related.q).all()
    x = rasch(1, 120, 60)
    x[:, 3] = 1 - x[:, 3]
    suspects = psy.label_error_candidates(x, rng=np.random.default_rng(0))
    assert [error.item for error in suspects.candidates] == [3]
    assert psy.label_error_candidates(x, rng=np.random.default_rng(0), n_eff=4).candidates == ()


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0, math.nan])
def test_the_tail_of_a_binomial_is_scipys(p: float) -> None:
    k, n = np.arange(-2, 8)[:, None], np.array([1, 4, 6])
    tail = binomial_above(k, n, p)
    assert tail == pytest.approx(stats.binom.sf(k, n, p), nan_ok=True)
    assert tail.shape == (10, 3)
    assert binomial_above(2.7, 6, p) == pytest.approx(stats.binom.sf(2, 6, p), nan_ok=True)
    assert binomial_above([1, 1], [4, 4], [0.5, p])[0] == pytest.approx(11 / 16)


def test_ranks_are_scipys_in_every_row_and_column() -> None:
    x = np.random.default_rng(1).integers(0, 4, (6, 5)).astype(float)
    for axis in (None, 0, 1, -1):
        assert np.array_equal(
            average_ranks(x, axis),
            stats.rankdata(x, axis=axis).reshape((30,) if axis is None else (6, 5)),
        )
    x[2, 3] = math.nan
    lacking = np.isnan(average_ranks(x, axis=1))
    assert lacking[2].all()
    assert lacking.sum() == 5
    assert np.isnan(average_ranks(x)).all()
    assert average_ranks([math.inf, 1.0, -math.inf]).tolist() == [3, 2, 1]


def test_kendalls_tau_is_scipys() -> None:
    rng = np.random.default_rng(2)
    for size in (2, 3, 9):
        x, y = rng.integers(0, 4, (2, size)) + rng.permutation(size) * 1e-3
        assert kendall_tau(x, y) == pytest.approx(stats.kendalltau(x, y).statistic)
    x, y = rng.integers(0, 3, (2, 12))
    assert kendall_tau(x, y) == pytest.approx(stats.kendalltau(x, y).statistic)
    assert kendall_tau(x, -x) == -1
    for pair in (([1, 1, 1], [1, 2, 3]), ([1, 2, 3], [2, 2, 2]), ([1], [1]), ([], [])):
        assert math.isnan(kendall_tau(*pair))


def test_rank_sums_are_counted_out_up_to_sixty_respondents() -> None:
    """Against scipy's exact distribution, and beyond the normal one with half a rank's correction."""
    for size in (5, 60, 61, 80):
        rng = np.random.default_rng(size)
        values = rng.permutation(size).astype(float)
        columns = np.stack([np.arange(size) < k for k in (1, size // 2, size - 1)], axis=1)
        columns = rng.permuted(columns, axis=0)
        result = rank_sum_p(columns, np.repeat(values[:, None], 3, axis=1))
        for column, p in zip(columns.T, result, strict=True):
            theirs = stats.mannwhitneyu(
                values[column],
                values[~column],
                alternative="less",
                method="exact" if size <= 60 else "asymptotic",
            )
            assert p == pytest.approx(theirs.pvalue, rel=1e-9)


def test_rank_sums_of_ties_gaps_and_single_groups() -> None:
    """Ranks of 1.5, 1.5, 3 and 4, held against the sums of two, or one, of 1, 2, 3 and 4."""
    tied = np.array([[1.0], [1.0], [2.0], [3.0]])
    for group, p in (
        # 3, 4.5 (taken as 5), 5.5 (taken as 6) and 7, among 3, 4, 5, 5, 6 and 7
        ([1, 1, 0, 0], 1 / 6),
        ([1, 0, 1, 0], 4 / 6),
        ([1, 0, 0, 1], 5 / 6),
        ([0, 0, 1, 1], 1.0),
        ([1, 0, 0, 0], 2 / 4),
        ([0, 0, 0, 0], math.nan),
        ([1, 1, 1, 1], math.nan),
    ):
        flags = np.array(group, dtype=bool)[:, None]
        assert rank_sum_p(flags, tied) == pytest.approx([p], nan_ok=True), group
    gap = np.vstack([tied, [[math.nan]]])
    for last in (True, False):
        flags = np.array([[True], [True], [False], [False], [last]])
        assert rank_sum_p(flags, gap) == pytest.approx([1 / 6])
    mixed = np.hstack([gap, [[1.0], [2], [3], [4], [5]]])
    flags = np.repeat(np.array([[True], [True], [False], [False], [False]]), 2, axis=1)
    assert rank_sum_p(flags, mixed) == pytest.approx([1 / 6, 1 / 10])
    assert rank_sum_p(np.zeros((3, 0), dtype=bool), np.zeros((3, 0))).shape == (0,)


def test_holm_is_that_of_statsmodels() -> None:
    rng = np.random.default_rng(3)
    p = rng.random((3, 4)) ** 3
    p[1, 2], p[0, 0] = p[2, 3], 0.9
    adjusted = holm(p)
    assert adjusted.ravel() == pytest.approx(multipletests(p.ravel(), method="holm")[1])
    assert adjusted.shape == (3, 4)
    p[1, 1] = math.nan
    finite = np.isfinite(p)
    assert holm(p)[finite] == pytest.approx(multipletests(p[finite], method="holm")[1])
    assert math.isnan(holm(p)[1, 1])
    assert holm([]).shape == (0,)
    false = benjamini_hochberg(p)
    assert false[finite] == pytest.approx(multipletests(p[finite], method="fdr_bh")[1])
    assert math.isnan(false[1, 1])


def test_questions_in_steps_share_the_level() -> None:
    """A question keeps its share until its last step; what comes later is never surer."""
    nan = math.nan
    for sequences, adjusted in (
        ([[0.01], [0.02], [0.03]], [[0.03], [0.04], [0.04]]),
        ([[0.01, 0.02], [0.04]], [[0.02, 0.04], [0.04]]),
        ([[0.01, 0.001], [0.04]], [[0.02, 0.02], [0.04]]),
        ([[0.3, 0.4, 0.9], [0.5]], [[0.6, 0.8, 1.0], [1.0]]),
        ([[nan, 0.02], [nan], [0.01, nan, 0.3]], [[nan, 0.04], [nan], [0.02, nan, 0.3]]),
        ([[0.2, 0.1], [0.1, 0.2]], [[0.4, 0.4], [0.2, 0.4]]),
        ([[], [0.5]], [[], [0.5]]),
    ):
        result = holm_in_order(sequences)
        assert [len(steps) for steps in result] == [len(steps) for steps in sequences]
        flat = [value for steps in result for value in steps]
        assert flat == pytest.approx([v for steps in adjusted for v in steps], nan_ok=True)


def test_an_upper_tail_is_scipys() -> None:
    for statistic, df in ((0.0, 3), (4.5, 1), (7.25, 6)):
        test = chi_square_test(statistic, df, 12)
        assert test.p == pytest.approx(stats.chi2.sf(statistic, df))
        assert (test.statistic, test.df, test.n, test.status) == (statistic, df, 12, "ok")


def test_relatives_shrink_the_sample_of_every_correlation() -> None:
    """Student's test with n_eff / n of each item's respondents; the exact test's deviate by the root
    of that.
    """
    x = rasch(9, 16, 7)
    x[:, 2] = 1 - x[:, 2]
    x[:2, 5] = math.nan
    p = []
    for i in range(7):
        scored = np.isfinite(x[:, i])
        rest_scores = np.nanmean(np.delete(x, i, axis=1), axis=1)[scored]
        passed = x[scored, i] == 1
        total = math.ceil(stats.rankdata(rest_scores)[passed].sum() - 1e-9)
        p.append(share_of_sums(int(scored.sum()), int(passed.sum()), total))
    for n_eff, size in ((None, 16), (9.0, 9), (60.0, 16)):
        result = psy.item_analysis(x, n_eff=n_eff)
        n = np.isfinite(x).sum(axis=0)
        df, r = n * size / 16 - 2, result.item_rest
        q = stats.false_discovery_control(2 * stats.t.sf(np.abs(r) * np.sqrt(df / (1 - r**2)), df))
        assert result.q == pytest.approx(q)
        assert result.n.tolist() == n.tolist()
        deviates = stats.norm.ppf(p) * math.sqrt(size / 16)
        expected = stats.false_discovery_control(stats.norm.cdf(deviates))
        errors = psy.label_error_candidates(x, rng=np.random.default_rng(0), n_eff=n_eff, alpha=1.0)
        assert {error.item: error.q for error in errors.candidates} == pytest.approx(
            {i: expected[i] for i in np.flatnonzero(expected < 1.0)}
        )
        order = [error.item_rest for error in errors.candidates]
        assert order == sorted(order) == sorted(r[expected < 1.0])
        reversed_items = np.flatnonzero((q < 0.3) & (r < 0) & (expected < 0.3))
        assert psy.item_analysis(x, n_eff=n_eff, alpha=0.3).reversed == tuple(reversed_items)


def share_of_sums(n: int, k: int, max_sum: int) -> float:
    """Of all choices of k ranks out of n, the share whose sum is at most so large, by counting."""
    sum_counts = Counter({(0, 0): 1})
    for rank in range(1, n + 1):
        for (n_chosen, total), count in list(sum_counts.items()):
            if n_chosen < k:
                sum_counts[n_chosen + 1, total + rank] += count
    return sum(
        c for (n_chosen, total), c in sum_counts.items() if n_chosen == k and total <= max_sum
    ) / math.comb(n, k)


def test_graded_items_are_tested_one_sided() -> None:
    """Half of Student's two-sided p below a correlation of 0, and 1 less that above it."""
    rng = np.random.default_rng(11)
    ability = np.linspace(0, 1, 12)[:, None]
    x = np.clip(ability + rng.normal(0, 0.3, (12, 6)), 0, 1)
    x[:, 4] = 1 - x[:, 4]
    r = item_rest(x)
    p = stats.t.cdf(r * np.sqrt(10 / (1 - r**2)), 10)
    q = stats.false_discovery_control(p)
    result = psy.label_error_candidates(x, rng=rng, alpha=0.9, permutations=400)
    assert {error.item: error.q for error in result.candidates} == pytest.approx(
        {i: q[i] for i in np.flatnonzero(r < 0)}
    )
    all_candidates = psy.label_error_candidates(x, rng=rng, alpha=1.01, permutations=9)
    assert {error.item: error.q for error in all_candidates.candidates} == pytest.approx(
        dict(enumerate(q))
    )
    assert {error.item for error in result.candidates} >= {4}
    for error in result.candidates:
        item_scores, rest_scores = x[:, error.item], np.delete(x, error.item, axis=1).mean(axis=1)
        pairs = [(a, b) for a in range(12) for b in range(12) if item_scores[a] > item_scores[b]]
        assert error.reversals == pytest.approx(
            np.mean([rest_scores[a] < rest_scores[b] for a, b in pairs])
        )
    related = psy.label_error_candidates(x, rng=rng, alpha=0.9, permutations=400, n_eff=6.0)
    halved = stats.t.cdf(r * np.sqrt((6 - 2) / (1 - r**2)), 6 - 2)
    q = stats.false_discovery_control(halved)
    assert {error.item: error.q for error in related.candidates} == pytest.approx(
        {i: q[i] for i in np.flatnonzero(r < 0)}
    )


def test_reversals_count_ties_half() -> None:
    """Item 0 is passed by the weak: of its pairs all are turned round but those that tie."""
    x = np.array(
        [
            [1, 0, 0, 0, 0],
            [1, 0, 0, 0, 0],
            [1, 1, 0, 0, 0],
            [0, 1, 0, 0, 0],
            [0, 1, 1, 1, 0],
            [0, 1, 1, 1, 1],
            [0, 1, 1, 1, 1],
            [0, 1, 1, 1, 1],
        ],
        dtype=float,
    )
    (first, *_) = psy.label_error_candidates(x, rng=np.random.default_rng(0), alpha=0.5).candidates
    assert first.item == 0
    assert first.reversals == pytest.approx((15 - 0.5) / 15)


def test_duplicates_of_one_target_contradict_nothing() -> None:
    keys, targets = ["a", "b", "a", "c", "b", "a"], [1, 2, 1, 3, 3, 1]
    result = psy.duplicate_items(keys, targets)
    assert (result.by_key, result.contradictory) == (((0, 2, 5), (1, 4)), ((1, 4),))
    assert psy.duplicate_items([], []) == Duplicates((), ())
