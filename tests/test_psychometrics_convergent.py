"""Convergent and discriminant validity against published values, rivals and planted structures."""

import math
import warnings
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hqm import psychometrics as psy
from hqm.psychometrics.correlation import correlations
from hqm.psychometrics.distributions import kendall_tau
from hqm.psychometrics.ranks import expected_overlap
from tests.conftest import NIGHTLY

# sample covariances of nine tests of 301 pupils (Holzinger and Swineford 1939) as R's lavaan prints
# them
HOLZINGER = """
1.358
0.407 1.382
0.580 0.451 1.275
0.505 0.209 0.208 1.351
0.441 0.211 0.112 1.098 1.660
0.455 0.248 0.244 0.896 1.015 1.196
0.085 -0.097 0.088 0.220 0.143 0.144 1.183
0.264 0.110 0.212 0.126 0.181 0.165 0.535 1.022
0.458 0.244 0.374 0.243 0.295 0.236 0.373 0.457 1.015"""
FACTORS = ["visual"] * 3 + ["textual"] * 3 + ["speed"] * 3
TOY = [[1, 0.5, 0.4, 0.3], [0.5, 1, 0.35, 0.25], [0.4, 0.35, 1, 0.6], [0.3, 0.25, 0.6, 1]]


def test_htmt_of_holzinger_and_swineford() -> None:
    """visual-textual .424323, visual-speed .423542, textual-speed .289568; covariances are printed
    with three digits.
    """
    covariance = np.zeros((9, 9))
    for i, row in enumerate(HOLZINGER.strip().splitlines()):
        covariance[i, : i + 1] = covariance[: i + 1, i] = [float(v) for v in row.split()]
    sd = np.sqrt(np.diag(covariance))
    r = covariance / np.outer(sd, sd)
    ratios = [
        psy.htmt_of(r, FACTORS, *pair)
        for pair in (("visual", "textual"), ("visual", "speed"), ("textual", "speed"))
    ]
    assert ratios == pytest.approx([0.424323, 0.423542, 0.289568], abs=2e-4)
    assert psy.htmt_of(TOY, list("aabb"), "a", "b") == pytest.approx(0.593366, abs=5e-7)


def test_a_planted_multitrait_structure() -> None:
    rng = np.random.default_rng(1)
    trait, method = rng.normal(size=(40, 3)), rng.normal(size=(40, 2))
    traits, methods = list("abcabc"), list("111222")
    index = [(list("abc").index(t), int(m) - 1) for t, m in zip(traits, methods, strict=True)]

    def measured(of_method: float) -> np.ndarray:
        columns = [
            trait[:, i] + of_method * method[:, j] + 0.4 * rng.normal(size=40) for i, j in index
        ]
        return np.stack(columns, axis=1)

    good = psy.multitrait_multimethod(measured(0.0), traits, methods)
    assert (good.convergent, good.over_hetero_method, good.over_hetero_trait) == (
        (3, 3),
        (12, 12),
        (12, 12),
    )
    bad = psy.multitrait_multimethod(measured(3.0), traits, methods)
    assert bad.over_hetero_trait == (0, 12), "the methods swamp the traits"


def test_campbell_and_fiskes_counts_against_loops_over_quadruples() -> None:
    rng = np.random.default_rng(2)
    traits, methods = list("abcabcab"), list("11122233")
    x = rng.normal(size=(15, 8)) + rng.normal(size=(15, 1))
    matrix = psy.multitrait_multimethod(x, traits, methods)
    r = np.corrcoef(x.T)
    assert np.array(matrix.correlations) == pytest.approx(r)
    beyond, within = [], []
    for i, j in product(range(8), repeat=2):
        if i >= j or traits[i] != traits[j]:
            continue
        for b in range(8):
            if traits[b] == traits[i]:
                continue
            if methods[b] == methods[j]:
                beyond.append(r[i, j] > r[i, b])
                within.append(r[i, j] > r[j, b])
            if methods[b] == methods[i]:
                beyond.append(r[i, j] > r[j, b])
                within.append(r[i, j] > r[i, b])
    assert matrix.over_hetero_method == (sum(beyond), len(beyond))
    assert matrix.over_hetero_trait == (sum(within), len(within))
    p = [
        stats.pearsonr(x[:, i], x[:, j])
        for i, j in product(range(8), repeat=2)
        if i < j and traits[i] == traits[j]
    ]
    assert matrix.convergent[1] == len(p)


def test_htmt_is_near_the_true_correlation() -> None:
    rng = np.random.default_rng(3)
    values = []
    for _ in range(40 if NIGHTLY else 20):
        first = rng.normal(size=60)
        other = 0.6 * first + 0.8 * rng.normal(size=60)
        x = np.stack([f + rng.normal(size=60) for f in [first] * 4 + [other] * 4], axis=1)
        values.append(psy.htmt(x, ["a"] * 4 + ["b"] * 4, "a", "b").value)
    assert np.mean(values) == pytest.approx(0.6, abs=0.05)
    same = np.stack([first + 0.5 * rng.normal(size=60) for _ in range(6)], axis=1)
    assert psy.htmt(same, list("aaabbb"), "a", "b").flags == ("NOT_DISTINCT",)


def test_two_benchmarks_that_agree_only_in_the_large() -> None:
    rng = np.random.default_rng(4)
    level = np.repeat([0.2, 0.8], 10)
    x, y = level + 0.05 * rng.normal(size=20), level + 0.05 * rng.normal(size=20)
    agreement = psy.benchmark_agreement(x, y, np.random.default_rng(5))
    assert agreement.all is not None
    assert agreement.top_half is not None
    assert agreement.all.pearson > 0.95
    assert abs(agreement.top_half.pearson) < 0.7
    assert (agreement.all.n, agreement.top_half.n) == (20, 10)
    assert agreement.all.chance == 9 / 20
    assert agreement.tau_range[0] < agreement.all.tau
    assert agreement == psy.benchmark_agreement(x, y, np.random.default_rng(5))
    assert agreement.all.pearson == pytest.approx(stats.pearsonr(x, y).statistic)


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=3, max_size=12),
    st.integers(1, 3),
)
@settings(max_examples=100 if NIGHTLY else 30, deadline=None)
def test_tau_and_overlap_against_scipy_and_all_tie_breaks(
    pairs: list[tuple[int, int]], k: int
) -> None:
    x, y = (np.array(v, dtype=float) for v in zip(*pairs, strict=True))
    tau = kendall_tau(x, y)
    if np.ptp(x) and np.ptp(y):
        assert tau == pytest.approx(stats.kendalltau(x, y).statistic)
    else:
        assert math.isnan(tau)
    rng = np.random.default_rng(0)
    overlaps = []
    for _ in range(400):
        lists = [set(np.lexsort((rng.uniform(size=len(v)), -v))[:k].tolist()) for v in (x, y)]
        overlaps.append(len(lists[0] & lists[1]))
    assert expected_overlap(x, y, k) == pytest.approx(np.mean(overlaps), abs=0.2)


def test_overlap_by_chance() -> None:
    rng = np.random.default_rng(6)
    reached = [expected_overlap(rng.uniform(size=20), rng.uniform(size=20), 5) for _ in range(2000)]
    assert np.mean(reached) == pytest.approx(25 / 20, abs=0.06)


@given(st.integers(0, 1000), st.permutations(range(14)), st.floats(0.2, 4), st.floats(-3, 3))
@settings(max_examples=25 if NIGHTLY else 8, deadline=None)
def test_order_shift_and_scale_do_not_matter(
    seed: int, rows: list[int], scale: float, shift: float
) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(14, 4)) + rng.normal(size=(14, 1))
    groups, methods = list("aabb"), list("1212")
    moved = scale * x[rows] + shift
    original, other = psy.htmt(x, groups, "a", "b"), psy.htmt(moved, groups, "a", "b")
    assert original.status == other.status
    assert other.value == pytest.approx(original.value, rel=1e-6, nan_ok=True)
    first, second = (psy.multitrait_multimethod(v, groups, methods) for v in (x, moved))
    assert first.over_hetero_method == second.over_hetero_method
    generator = np.random.default_rng(0)
    a, b = (
        psy.benchmark_agreement(x[:, 0], x[:, 1], generator, halves=5),
        psy.benchmark_agreement(moved[:, 0], moved[:, 1], generator, halves=5),
    )
    assert a.all is not None
    assert b.all is not None
    assert b.all.tau == pytest.approx(a.all.tau)
    assert b.all.top_k == pytest.approx(a.all.top_k)


def test_degenerate_inputs_say_why_and_raise_no_warning() -> None:
    nan, rng = math.nan, np.random.default_rng(0)
    traits, methods = list("abab"), list("1122")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x, status in (
            (np.empty((0, 4)), "insufficient"),
            (np.full((20, 4), nan), "insufficient"),
            (rng.normal(size=(9, 4)), "insufficient"),
            (np.ones((20, 4)), "degenerate"),
        ):
            matrix = psy.multitrait_multimethod(x, traits, methods)
            assert matrix.status == status
            assert matrix.reason
            assert matrix.convergent == (0, 0)
        few = psy.multitrait_multimethod(rng.normal(size=(9, 4)), traits, methods)
        assert len(few.correlations) == 4
        assert (
            psy.multitrait_multimethod(rng.normal(size=(20, 2)), ["a", "b"], ["1", "1"]).status
            == "not_applicable"
        )
        for x, status in (
            (np.empty((0, 4)), "insufficient"),
            (np.ones((20, 4)), "degenerate"),
            (np.arange(80.0).reshape(20, 4) * [1, -1, 1, 1], "degenerate"),
        ):
            assert psy.htmt(x, list("aabb"), "a", "b").status == status
        assert psy.htmt(rng.normal(size=(20, 3)), list("aab"), "a", "b").status == "insufficient"
        assert math.isnan(psy.htmt_of(TOY, list("aaab"), "a", "b"))
        assert np.isnan(correlations(np.array([[1.0, 2], [1, 3], [1, 5]]))[0]).all()
        assert psy.benchmark_agreement([1, 2], [1, 2], rng).status == "insufficient"
        assert psy.benchmark_agreement([1, 2, 3], [1, 2, 3], rng, k=4).status == "insufficient"
        assert psy.benchmark_agreement([1, 1, 1, 1], [1, 2, 3, 4], rng).status == "degenerate"
        five = psy.benchmark_agreement([1, 2, 3, 4, 5], [1, 2, 3, 4, 5], rng)
        assert (five.status, five.top_half) == ("ok", None)
        assert five.reason
        lumpy = psy.benchmark_agreement([0, 0, 0, 0, 0, 1], [1, 2, 3, 4, 5, 6], rng)
        assert math.isfinite(lumpy.tau_range[0])
        never = psy.benchmark_agreement([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6], rng, halves=0)
        assert math.isnan(never.tau_range[0])


def test_shapes_are_checked() -> None:
    with pytest.raises(ValueError, match="measures"):
        psy.multitrait_multimethod(np.eye(4), ["a"], ["1"])
    with pytest.raises(ValueError, match="one entry"):
        psy.multitrait_multimethod(np.eye(2), ["a", "b"], ["1"])
    with pytest.raises(ValueError, match="twice"):
        psy.multitrait_multimethod(np.eye(2), ["a", "a"], ["1", "1"])
    with pytest.raises(ValueError, match="measures"):
        psy.htmt(np.eye(4), ["a"], "a", "b")
    with pytest.raises(ValueError, match="group a measure"):
        psy.htmt_of(np.eye(4), ["a"], "a", "b")
    with pytest.raises(ValueError, match=r"arrays of shape \(respondents\)"):
        psy.benchmark_agreement([1, 2], [1], np.random.default_rng(0))
