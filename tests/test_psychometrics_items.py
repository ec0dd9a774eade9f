"""Item statistics against rivals; planted bad items are found and good ones are not accused."""

import math
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from hqm import psychometrics as psy
from hqm.psychometrics.significance import benjamini_hochberg


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
        column, rest = x[:, i], np.array([[*row[:i], *row[i + 1 :]] for row in x])
        means = [np.mean(r[np.isfinite(r)]) if np.isfinite(r).any() else math.nan for r in rest]
        both = np.isfinite(column) & np.isfinite(means)
        if np.isfinite(column).any():
            assert difficulty == pytest.approx(np.nanmean(column))
        a, b = column[both], np.array(means)[both]
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
    whole = np.loadtxt(data / "psychometrics" / "lsat7.csv", delimiter=",", skiprows=1)
    assert np.array_equal(np.array(sorted(whole.tolist())), np.array(sorted(lsat7().tolist())))


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
    for size, others in ((20, np.arange(20)), (19, np.arange(60))):
        groups = np.repeat(["a", "b"], [size, 60 - size]).tolist()
        errors = psy.label_error_candidates(x, groups=groups, rng=np.random.default_rng(0))
        rest = x[:, others[others != 3]].mean(axis=1)
        of_item = {error.item: error.item_rest for error in errors.candidates}
        assert of_item[3] == pytest.approx(stats.pearsonr(x[:, 3], rest).statistic)


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
    all_, few = psy.item_analysis(x), psy.item_analysis(x, n_eff=15)
    assert (all_.item_rest == few.item_rest).all()
    assert (all_.q <= few.q).all()
    x = rasch(1, 120, 60)
    x[:, 3] = 1 - x[:, 3]
    suspects = psy.label_error_candidates(x, rng=np.random.default_rng(0))
    assert [error.item for error in suspects.candidates] == [3]
    assert psy.label_error_candidates(x, rng=np.random.default_rng(0), n_eff=4).candidates == ()
