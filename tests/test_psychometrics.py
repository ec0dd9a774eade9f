"""Coefficients against published values and rival implementations; every degenerate case has a
status and a reason.
"""

import math
import warnings

import numpy as np
import pingouin
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from hqm import psychometrics as psy
from tests.printed import printed_rows

# Bland and Altman 1986, Lancet 327:307-310, Table 1: peak expiratory flow, first reading of each
# meter
WRIGHT = [494, 395, 516, 434, 476, 557, 413, 442, 650, 433, 417, 656, 267, 478, 178, 423, 427]
MINI = [512, 430, 520, 428, 500, 600, 364, 380, 658, 445, 432, 626, 260, 477, 259, 350, 451]
# Shrout and Fleiss 1979, Psychological Bulletin 86:420-428, Table 2: six targets, four judges
RATINGS = np.array(
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]],
    dtype=float,
)


def test_pearson_of_the_peak_flow_data() -> None:
    correlation = psy.pearson(WRIGHT, MINI)
    assert correlation.value == pytest.approx(0.943279, abs=5e-7)
    assert correlation.value == pytest.approx(stats.pearsonr(WRIGHT, MINI).statistic, abs=1e-12)


def test_relatives_widen_the_interval() -> None:
    all_, adjusted = psy.pearson(WRIGHT, MINI), psy.pearson(WRIGHT, MINI, n_effective=8)
    assert adjusted.value == all_.value
    assert adjusted.low < all_.low


def test_icc_of_shrout_and_fleiss() -> None:
    coefficients = psy.icc(RATINGS)
    # psych::ICC of R on the same table, as the reference values of the field print it
    assert coefficients.a1.value == pytest.approx(0.289764, abs=5e-7)
    assert coefficients.c1.value == pytest.approx(0.714841, abs=5e-7)
    assert (coefficients.sem_agreement, coefficients.sem_consistency) == pytest.approx(
        (2.50278, 1.00968), abs=5e-5
    )
    assert coefficients.mdc95 == pytest.approx(6.93734, abs=5e-5)
    assert coefficients.ms_columns / coefficients.ms_error == pytest.approx(31.866, abs=5e-3)


@given(
    arrays(
        float, st.tuples(st.integers(4, 12), st.integers(2, 4)), elements=st.floats(0, 1, width=32)
    )
)
@settings(max_examples=60, deadline=None)
def test_icc_against_pingouin(scores: np.ndarray) -> None:
    coefficients = psy.icc(scores)
    assume(coefficients.a1.status == "ok" and coefficients.ms_error >= 1e-6)
    import pandas as pd

    long_table = pd.DataFrame(
        [(i, j, x) for i, row in enumerate(scores) for j, x in enumerate(row)],
        columns=["t", "r", "s"],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = pingouin.intraclass_corr(
            long_table, targets="t", raters="r", ratings="s"
        ).set_index("Type")["ICC"]
    assert coefficients.a1.value == pytest.approx(float(table["ICC(A,1)"]), abs=1e-9)
    assert coefficients.c1.value == pytest.approx(float(table["ICC(C,1)"]), abs=1e-9)


scores = arrays(float, 8, elements=st.floats(0, 1, width=16))


@given(scores, scores, st.permutations(range(8)), st.floats(0.1, 5), st.floats(-3, 3))
@settings(deadline=None)
def test_properties_of_the_correlation(
    x: np.ndarray, y: np.ndarray, order: list[int], scale: float, shift: float
) -> None:
    correlation = psy.pearson(x, y)
    assume(correlation.status == "ok" and min(np.ptp(x), np.ptp(y)) >= 1e-3)
    assert psy.pearson(x[order], y[order]).value == pytest.approx(correlation.value, abs=1e-9)
    assert psy.pearson(y, x).value == pytest.approx(correlation.value, abs=1e-12)
    assert psy.pearson(scale * x + shift, y).value == pytest.approx(correlation.value, abs=1e-7)
    assert math.isnan(correlation.low) or -1 <= correlation.low <= correlation.value


@given(scores, scores, st.floats(0.2, 2))
@settings(deadline=None)
def test_a_shift_moves_agreement_but_not_consistency(
    x: np.ndarray, y: np.ndarray, shift: float
) -> None:
    # more than 2, so that the means are farther apart afterwards whatever they were
    original, moved = psy.icc(np.stack([x, y], 1)), psy.icc(np.stack([x, y + shift + 2], 1))
    assume(original.c1.status == "ok" and original.ms_error >= 1e-6 and original.c1.value > 0.01)
    assert moved.c1.value == pytest.approx(original.c1.value, abs=1e-7)
    assert moved.a1.value < original.a1.value


DEGENERATE = [
    ([], [], "insufficient"),
    ([1, 2], [1, 2], "insufficient"),
    ([1, math.nan, 2, 3], [1, 2, math.nan, 3], "insufficient"),
    ([1, 1, 1, 1], [1, 2, 3, 4], "degenerate"),
    ([0.1 + 0.2, 0.3, 0.3], [1, 2, 3], "degenerate"),
    ([1, 1, 1], [2, 2, 2], "degenerate"),
]


@pytest.mark.parametrize(("x", "y", "status"), DEGENERATE)
def test_a_correlation_that_does_not_exist_says_why(
    x: list[float], y: list[float], status: str
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        correlation = psy.pearson(x, y)
    assert correlation.status == status
    assert math.isnan(correlation.value)
    assert correlation.reason


def test_three_respondents_have_no_interval() -> None:
    correlation = psy.pearson([1, 2, 3], [1, 3, 2])
    assert correlation.status == "ok"
    assert math.isnan(correlation.low)


def test_identical_administrations() -> None:
    x = [0.1, 0.5, 0.7, 0.9]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        coefficients = psy.icc(np.stack([x, x], 1))
        assert (coefficients.a1.value, coefficients.c1.value, psy.pearson(x, x).value) == (
            1.0,
            1.0,
            1.0,
        )
        for flat in (np.full((4, 2), 0.3), np.array([[0.2, 0.4]] * 4)):
            degenerate = psy.icc(flat)
            assert {degenerate.a1.status, degenerate.c1.status} == {"degenerate"}
        assert psy.icc(np.zeros((2, 2))).a1.status == "insufficient"


def test_shapes_are_checked() -> None:
    with pytest.raises(ValueError, match=r"arrays of shape \(respondents\)"):
        psy.pearson([1, 2, 3], [1, 2])
    with pytest.raises(ValueError, match="respondents, administrations"):
        psy.icc([1, 2, 3])
    with pytest.raises(ValueError, match="respondents, items"):
        psy.item_agreement([1, 0], [1, 0])


# overall hallucination rates: 19 open models, then two closed ones
TABLE_5 = [row[-1] for row in printed_rows("HQM", "Table 5")]


def test_the_noise_floor_of_the_hqm_paper() -> None:
    """Coin flips at each model's overall rate reach .997 with 4,000 items, about .88 with 96."""
    floors = {
        (m, n): psy.noise_floor(TABLE_5[:m], n).value for m in (19, 21) for n in (96, 1000, 4000)
    }
    # by hand: s2 / (s2 + mean(p (1 - p)) / n) with s2 = .0178, mean = .2381 for 19 models
    assert floors[19, 4000] == pytest.approx(0.9967, abs=5e-5)
    assert floors[21, 4000] == pytest.approx(0.9975, abs=5e-5)
    assert floors[19, 96] == pytest.approx(0.8777, abs=5e-5)
    assert floors[19, 1000] < floors[21, 1000] < floors[19, 4000]


def test_the_noise_floor_is_what_coin_flips_reach() -> None:
    rng, p, n = np.random.default_rng(1), np.linspace(0.3, 0.9, 15), 500
    reached = [stats.pearsonr(rng.binomial(n, p), rng.binomial(n, p)).statistic for _ in range(400)]
    assert psy.noise_floor(p, n).value == pytest.approx(np.mean(reached), abs=0.002)


def test_a_noise_floor_that_does_not_exist_says_why() -> None:
    assert psy.noise_floor([0.5, 0.6], 10).status == "insufficient"
    assert psy.noise_floor([0.5, 0.6, 0.7], 1).status == "insufficient"
    assert psy.noise_floor([0.5, 0.5, 0.5], 100).status == "degenerate"


def test_item_agreement_against_a_loop() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.integers(0, 2, (5, 40)).astype(float), rng.integers(0, 2, (5, 40)).astype(float)
    x[0, :5] = np.nan
    y[1] = 1.0
    x[1] = 1.0
    items = psy.item_agreement(x, y)
    for m in range(5):
        pairs = [(a, b) for a, b in zip(x[m], y[m], strict=True) if a == a and b == b]
        po = sum(a == b for a, b in pairs) / len(pairs)
        pa, pb = (sum(p[i] for p in pairs) / len(pairs) for i in (0, 1))
        pe = pa * pb + (1 - pa) * (1 - pb)
        assert items.agreement[m] == pytest.approx(po)
        if pe < 1:
            assert items.kappa[m] == pytest.approx((po - pe) / (1 - pe))
        else:
            assert math.isnan(items.kappa[m])
    assert items.worst == min(items.agreement)


def test_kappa_of_an_unbalanced_table() -> None:
    """90/5/5/0: agreement .90, kappa -.0526 (the prevalence paradox of Feinstein and Cicchetti
    1990).
    """
    x = [1] * 90 + [1] * 5 + [0] * 5
    y = [1] * 90 + [0] * 5 + [1] * 5
    items = psy.item_agreement([x], [y])
    assert items.agreement[0] == 0.90
    assert items.kappa[0] == pytest.approx(-0.0526, abs=5e-5)


def test_item_agreement_needs_binary_scores() -> None:
    assert psy.item_agreement([[0.5, 1]], [[1, 1]]).status == "not_applicable"
    assert psy.item_agreement([[math.nan]], [[1]]).status == "insufficient"
    one_category = psy.item_agreement([[1, 1]], [[1, 1]])
    assert one_category.mean == 1
    assert math.isnan(one_category.mean_kappa)
    assert math.isnan(psy.item_agreement([[math.nan]], [[1]]).mean)


def test_the_mean_shift_against_scipy() -> None:
    shift = psy.mean_shift(WRIGHT, MINI)
    rival = stats.ttest_rel(MINI, WRIGHT).confidence_interval()
    # Bland and Altman's mean difference, Wright minus mini meter, is -2.1 l/min
    assert shift.value == pytest.approx(2.1176, abs=5e-5)
    assert (shift.low, shift.high) == pytest.approx((rival.low, rival.high))
    assert psy.mean_shift([], []).status == "insufficient"
    assert math.isnan(psy.mean_shift([1], [2]).low)


def test_the_jackknife_of_a_mean_is_its_standard_error() -> None:
    rng = np.random.default_rng(3)
    right = rng.integers(0, 2, 300).astype(float)
    interval = psy.jackknife_interval(
        {"right": right, "n": np.ones(300)}, np.arange(300), lambda t: t["right"] / t["n"]
    )
    half = stats.norm.ppf(0.975) * right.std(ddof=1) / math.sqrt(300)
    assert (interval.low, interval.high) == pytest.approx(
        (right.mean() - half, right.mean() + half)
    )


def test_the_jackknife_leaves_whole_clusters_out() -> None:
    """Two copies of every item in one cluster: the interval is that of the items once, not
    twice.
    """
    rng = np.random.default_rng(4)
    right = rng.integers(0, 2, 200).astype(float)
    once = psy.jackknife_interval(
        {"right": right, "n": np.ones(200)}, np.arange(200), lambda t: t["right"] / t["n"]
    )
    twice = psy.jackknife_interval(
        {"right": np.repeat(right, 2), "n": np.ones(400)},
        np.repeat(np.arange(200), 2),
        lambda t: t["right"] / t["n"],
    )
    assert (twice.low, twice.high) == pytest.approx((once.low, once.high))


def test_the_interval_of_a_share_is_wilsons_when_items_stand_alone() -> None:
    """0 of 96 has [0, .0385] (Wilson 1927); elsewhere statsmodels agrees."""
    from statsmodels.stats.proportion import proportion_confint

    for k in (0, 3, 48, 96):
        right = np.array([1.0] * k + [0.0] * (96 - k))
        interval = psy.jackknife_interval(
            {"k": right, "n": np.ones(96)},
            np.arange(96),
            lambda t: t["k"] / t["n"],
            is_proportion=True,
        )
        # the jackknife's variance divides by n - 1 where the binomial one divides by n
        low, high = proportion_confint(
            k if k in (0, 96) else k * 95 / 96, 96 if k in (0, 96) else 95, method="wilson"
        )
        assert (interval.low, interval.high) == pytest.approx((low, high), abs=1e-9)
    assert psy.jackknife_interval(
        {"k": np.zeros(96), "n": np.ones(96)},
        np.arange(96),
        lambda t: t["k"] / t["n"],
        is_proportion=True,
    ).high == pytest.approx(0.0385, abs=5e-5)


def test_a_score_that_divides_by_zero_has_no_interval() -> None:
    interval = psy.jackknife_interval(
        {"a": np.zeros(3), "b": np.zeros(3)}, np.arange(3), lambda t: np.float64(math.nan) * t["a"]
    )
    assert interval.status == "degenerate"
    assert (
        psy.jackknife_interval({"a": np.ones(2)}, np.zeros(2, dtype=int), lambda t: t["a"]).value
        == 2
    )
