"""Convergent and discriminant validity against published values, rivals and planted structures."""

import math
import warnings
from collections.abc import Callable
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hqm import psychometrics as psy
from hqm.psychometrics.agreement.ranks import expected_overlap
from hqm.psychometrics.inference.distributions import kendall_tau
from hqm.psychometrics.inference.families import Relatives
from hqm.psychometrics.validity.correlation import correlations, inverse_tanh_interval
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
        psy.htmt_from_correlations(r, FACTORS, *pair)
        for pair in (("visual", "textual"), ("visual", "speed"), ("textual", "speed"))
    ]
    assert ratios == pytest.approx([0.424323, 0.423542, 0.289568], abs=2e-4)
    assert psy.htmt_from_correlations(TOY, list("aabb"), "a", "b") == pytest.approx(
        0.593366, abs=5e-7
    )


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
    beyond, within_bounds = [], []
    for i, j in product(range(8), repeat=2):
        if i >= j or traits[i] != traits[j]:
            continue
        for b in range(8):
            if traits[b] == traits[i]:
                continue
            if methods[b] == methods[j]:
                beyond.append(r[i, j] > r[i, b])
                within_bounds.append(r[i, j] > r[j, b])
            if methods[b] == methods[i]:
                beyond.append(r[i, j] > r[j, b])
                within_bounds.append(r[i, j] > r[i, b])
    assert matrix.over_hetero_method == (sum(beyond), len(beyond))
    assert matrix.over_hetero_trait == (sum(within_bounds), len(within_bounds))
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
        second = 0.6 * first + 0.8 * rng.normal(size=60)
        x = np.stack([f + rng.normal(size=60) for f in [first] * 4 + [second] * 4], axis=1)
        values.append(psy.htmt(x, ["a"] * 4 + ["b"] * 4, "a", "b").value)
    assert np.mean(values) == pytest.approx(0.6, abs=0.05)
    parallel = np.stack([first + 0.5 * rng.normal(size=60) for _ in range(6)], axis=1)
    assert psy.htmt(parallel, list("aaabbb"), "a", "b").flags == ("NOT_DISTINCT",)


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
    original, transformed = psy.htmt(x, groups, "a", "b"), psy.htmt(moved, groups, "a", "b")
    assert original.status == transformed.status
    assert transformed.value == pytest.approx(original.value, rel=1e-6, nan_ok=True)
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
            assert matrix.over_hetero_method == matrix.over_hetero_trait == (0, 0)
        small_study = psy.multitrait_multimethod(rng.normal(size=(9, 4)), traits, methods)
        assert len(small_study.correlations) == 4
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
        assert math.isnan(psy.htmt_from_correlations(TOY, list("aaab"), "a", "b"))
        assert np.isnan(correlations(np.array([[1.0, 2], [1, 3], [1, 5]]))[0]).all()
        assert psy.benchmark_agreement([1, 2], [1, 2], rng).status == "insufficient"
        assert psy.benchmark_agreement([1, 2, 3], [1, 2, 3], rng, k=4).status == "insufficient"
        assert psy.benchmark_agreement([1, 1, 1, 1], [1, 2, 3, 4], rng).status == "degenerate"
        five = psy.benchmark_agreement([1, 2, 3, 4, 5], [1, 2, 3, 4, 5], rng)
        assert (five.status, five.top_half) == ("ok", None)
        assert five.reason
        lumpy = psy.benchmark_agreement([0, 0, 0, 0, 0, 1], [1, 2, 3, 4, 5, 6], rng)
        assert math.isfinite(lumpy.tau_range[0])
        without_halves = psy.benchmark_agreement(
            [1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6], rng, halves=0
        )
        assert math.isnan(without_halves.tau_range[0])


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
        psy.htmt_from_correlations(np.eye(4), ["a"], "a", "b")
    with pytest.raises(ValueError, match=r"arrays of shape \(respondents\)"):
        psy.benchmark_agreement([1, 2], [1], np.random.default_rng(0))


# -- two administrations


def of_ranks(x: np.ndarray, y: np.ndarray) -> float:
    return float(stats.spearmanr(x, y).statistic)


def of_pairs(x: np.ndarray, y: np.ndarray) -> float:
    return float(stats.kendalltau(x, y).statistic)


def of_scores(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.corrcoef(x, y)[0, 1])


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("related", [False, True])
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(psy.pearson, of_scores), (psy.spearman, of_ranks), (psy.kendall_tau_b, of_pairs)],
    ids=["Pearson", "Spearman", "Kendall"],
)
def test_a_correlation_is_at_least_so_much_among_others(
    ours: Callable[..., psy.Coefficient],
    theirs: Callable[[np.ndarray, np.ndarray], float],
    related: bool,
    sign: int,
) -> None:
    """Respondents without both scores leave no trace; of Pearson's the variance is that of the sum
    of standardised scores, turned where the correlation is negative.
    """
    rng = np.random.default_rng(31)
    x = rng.normal(size=14)
    y = sign * (100 * x + 60 * rng.normal(size=14))
    families = [str(i // 2) for i in range(14)] if related else []
    gap = x.copy()
    gap[[0, 5]], y[5] = np.nan, np.inf
    retained = [i for i in range(14) if i not in (0, 5)]
    a, b = x[retained], y[retained]
    composite = a / a.std() + sign * b / b.std()

    def correlation(rows: np.ndarray) -> float | tuple[float, float]:
        r = theirs(a[rows], b[rows])
        return (r, float(composite[rows].var(ddof=1))) if ours is psy.pearson else r

    lower_bound = psy.add_lower_bound(
        psy.Coefficient(theirs(a, b), n=12, level=0.9),
        correlation,
        composite if ours is psy.pearson else (),
        Relatives(tuple(families[i] for i in retained) if related else ()),
    )
    value = ours(gap, y, families=families, level=0.9)
    assert (value.value, value.low) == pytest.approx((lower_bound.value, lower_bound.low))
    assert (value.high, value.n, value.level) == (math.inf, 12, 0.9)
    assert value.method == lower_bound.method


def test_no_correlation_of_scores_that_do_not_vary() -> None:
    for ours in (psy.pearson, psy.spearman, psy.kendall_tau_b):
        first, second = ours([1, 1, 1, 1], [1, 2, 3, 5]), ours([1, 2, 3, 5], [2, 2, 2, 2])
        both_constant = ours([1, 1, 1, 1], [2, 2, 2, 2])
        for absent in (first, second, both_constant):
            assert (absent.status, absent.n) == ("degenerate", 4)
        assert first.reason == second.reason != both_constant.reason
        incomplete = ours([1, 2, math.nan], [1, 3, 2])
        assert (incomplete.status, incomplete.n) == ("insufficient", 2)
        # without one respondent the others do not differ: nothing is said of other respondents
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert math.isnan(ours([0.0] * 8 + [1], np.arange(9.0)).low)
            assert math.isnan(ours(np.arange(9.0), [0.0] * 8 + [1]).low)


def test_ends_of_a_correlation_on_fishers_scale() -> None:
    low, high = inverse_tanh_interval(0.5, 0.2, 0.9)
    z = stats.norm.ppf(0.95)
    assert (low, high) == pytest.approx(
        (math.tanh(math.atanh(0.5) - 0.2 * z), math.tanh(math.atanh(0.5) + 0.2 * z))
    )
    for perfect in (1.0, -1.0):
        assert inverse_tanh_interval(perfect, 0.2, 0.95) == (perfect, perfect)


def partial(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> float:
    """The correlation of the residuals of two lines."""
    left = [v - np.polyval(np.polyfit(z, v, 1), z) for v in (x, y)]
    return float(np.corrcoef(*left)[0, 1])


def test_a_partial_correlation_is_that_of_residuals() -> None:
    rng = np.random.default_rng(32)
    z = rng.normal(size=15)
    x, y = 0.5 * z + rng.normal(size=15), 3 * z + rng.normal(size=15)
    y += x
    families = [str(i // 2) for i in range(15)]
    x[2], y[3], z[14] = np.nan, np.nan, np.inf
    retained = np.array([i for i in range(15) if i not in (2, 3, 14)])
    for family_names in ([], families):
        value = psy.partial_pearson(x, y, z, level=0.9, families=family_names)
        lower_bound = psy.add_lower_bound(
            psy.Coefficient(partial(x[retained], y[retained], z[retained]), n=12, level=0.9),
            lambda rows: partial(*(v[retained][rows] for v in (x, y, z))),
            relatives=Relatives(tuple(families[i] for i in retained) if family_names else ()),
        )
        assert (value.value, value.low) == pytest.approx((lower_bound.value, lower_bound.low))
        assert (value.n, value.level, math.isfinite(value.low)) == (12, 0.9, True)
    assert psy.partial_pearson(x, y, z, n_effective=5).low < value.low
    small_study = psy.partial_pearson(x[:6], y[:6], z[:6])
    assert (small_study.status, small_study.n) == ("insufficient", 4)


@pytest.mark.parametrize("sign", [1, -1])
def test_partial_correlations_at_their_ends(sign: int) -> None:
    """What is left of both is the same, or the opposite; or nothing is left."""
    z = np.array([1.0, 2, 3, 4, 5, 6])
    signs = np.array([1.0, -1, -1, 1, 1, -1])
    value = psy.partial_pearson(z + signs, sign * signs - z, z)
    assert (value.value, value.n) == (sign, 6)
    for flat in ((z, z, 0 * z), (z, 0 * z, signs), (0 * z, z, signs)):
        absent = psy.partial_pearson(*flat)
        assert (absent.status, absent.n) == ("degenerate", 6)
    for determined in ((2 * z, signs, z), (signs, sign * z + 1, z)):
        absent = psy.partial_pearson(*determined)
        assert (absent.status, absent.n) == ("degenerate", 6)
    # without the last respondent x is z, so that there is no partial correlation of the others
    nine = np.arange(9.0)
    x = np.where(nine == 8, 0.0, nine)
    assert math.isnan(psy.partial_pearson(x, np.sin(nine), nine).low)


def test_a_repeated_measures_correlation_is_that_within_respondents() -> None:
    rng = np.random.default_rng(33)
    x = rng.normal(size=(6, 4)) + 9 * rng.normal(size=(6, 1))
    y = x + rng.normal(size=(6, 4)) - 20 * rng.normal(size=(6, 1))
    x[1, 1:], y[2, 0], x[3, 0] = np.nan, np.nan, np.inf  # respondent 1 has a single occasion
    result = psy.repeated_measures(x, y, level=0.9)
    a, b = [], []
    for m in (0, 2, 3, 4, 5):
        scored = np.isfinite(x[m]) & np.isfinite(y[m])
        a += (x[m, scored] - x[m, scored].mean()).tolist()
        b += (y[m, scored] - y[m, scored].mean()).tolist()
    r = np.dot(a, b) / math.sqrt(np.dot(a, a) * np.dot(b, b))
    dof = len(a) - 5 - 1
    t = r * math.sqrt(dof / (1 - r * r))
    half = stats.norm.ppf(0.95) / math.sqrt(dof - 1)
    ours = result.coefficient
    assert (ours.value, ours.low, ours.high) == pytest.approx(
        (r, math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half))
    )
    assert (ours.n, ours.level, result.dof) == (5, 0.9, dof)
    assert result.p == pytest.approx(2 * stats.t.sf(abs(t), dof))
    small_study = psy.repeated_measures(x[:3], y[:3])
    assert (small_study.coefficient.status, small_study.coefficient.n, small_study.dof) == (
        "insufficient",
        2,
        0,
    )
    level = np.repeat([[1.0], [5.0], [7.0]], 3, axis=1)
    for pair in ((level, x[3:, 1:]), (x[3:, 1:], -level)):
        flat = psy.repeated_measures(*pair)
        assert (flat.coefficient.status, flat.coefficient.n) == ("degenerate", 3)
        assert math.isnan(flat.p)
    exact = psy.repeated_measures(x[3:, 1:], 1 - x[3:, 1:]).coefficient
    assert (exact.value, exact.low, exact.high) == pytest.approx((-1, -1, -1))
    for shape in ((x, y[:3]), (x[0], y[0])):
        with pytest.raises(ValueError, match="occasions"):
            psy.repeated_measures(*shape)


@pytest.mark.parametrize(
    ("r", "n", "status"),
    [
        ((0.5, 0.3, 0.2), 4, "ok"),
        ((0.5, 0.3, 0.2), 3, "insufficient"),
        ((0.5, 0.3, math.nan), 30, "insufficient"),
        ((0.6, 0.6, 1.0), 30, "degenerate"),
        ((1.0, 1.0, 1.0), 30, "degenerate"),
        ((0.9, -0.9, 0.9), 30, "not_applicable"),
        ((1.2, 1.2, 1.0), 30, "not_applicable"),
        ((0.8, 0.6, 0.48 + 0.48), 30, "ok"),
        ((1.0, 0.5, 0.5), 30, "ok"),
    ],
    ids=str,
)
def test_three_correlations_that_can_be_compared_or_not(
    r: tuple[float, float, float], n: int, status: str
) -> None:
    """0.8, 0.6 and 0.96 lie in one plane: D is 0."""
    result = psy.williams_test(*r, n)
    assert (result.status, result.df, result.n) == (status, n - 3, n)
    assert result.difference == pytest.approx(r[0] - r[1])
    assert math.isfinite(result.t) == math.isfinite(result.p) == (status == "ok")
    assert bool(result.reason) == (status != "ok")
    assert psy.williams_test(*r, 40, n_effective=3.9).status == "insufficient"
    assert psy.williams_test(*r, n + 9, n_effective=n).status == status
    assert psy.williams_test(*r, n, n_effective=n + 9) == result or math.isnan(result.t)


# -- convergent validity


def test_correlations_of_columns_are_those_of_numpy() -> None:
    rng = np.random.default_rng(34)
    x = rng.normal(size=(7, 4)) * [1, 1e-3, 1e5, 1] + 10
    x[:, 3] = 2 * x[:, 0]
    assert correlations(x) == pytest.approx(np.corrcoef(x.T))
    assert (np.diag(correlations(x)) == 1).all()
    assert (correlations(x) <= 1).all()
    x[:, 1] = 3.0
    r = correlations(x)
    assert np.isnan(r[1]).all()
    assert np.isnan(r[:, 1]).all()
    retained = np.ix_([0, 2, 3], [0, 2, 3])
    assert r[retained] == pytest.approx(np.corrcoef(x[:, [0, 2, 3]].T))


def test_a_trait_converges_where_its_correlation_exceeds_chance() -> None:
    """Above tanh(z / sqrt(m - 3)), the two-sided bound of a correlation of 0."""
    rng = np.random.default_rng(35)
    x = rng.normal(size=(12, 6))
    x[:, 3:] = 0.6 * x[:, :3] + rng.normal(size=(12, 3))
    traits, methods = list("abcabc"), list("111222")
    convergent_correlations = [float(np.corrcoef(x[:, i], x[:, i + 3])[0, 1]) for i in range(3)]
    counts = []
    for level in (0.1, 0.5, 0.8, 0.95, 0.999):
        minimum = math.tanh(stats.norm.ppf(0.5 + level / 2) / 3)
        result = psy.multitrait_multimethod(x, traits, methods, level=level)
        counts.append(result.convergent)
        assert result.convergent == (sum(r > minimum for r in convergent_correlations), 3)
    assert len(set(counts)) > 2
    gap = np.vstack([x, np.where(np.arange(6) == 2, np.nan, 1.0)])
    assert psy.multitrait_multimethod(gap, traits, methods).n == 12
    for n, status in ((10, "ok"), (9, "insufficient"), (3, "insufficient"), (2, "insufficient")):
        small_study = psy.multitrait_multimethod(x[:n], traits, methods)
        assert (small_study.status, small_study.n, len(small_study.correlations)) == (
            status,
            n,
            6 if n > 2 else 0,
        )
        assert (small_study.traits, small_study.methods) == (tuple(traits), tuple(methods))
    single = psy.multitrait_multimethod(x[:, :1], ["a"], ["1"])
    assert (single.status, single.correlations) == ("insufficient", ())
    x[:, 1] = 1.0
    flat = psy.multitrait_multimethod(x, traits, methods)
    assert (flat.status, flat.n) == ("degenerate", 12)
    assert "b by 1" in flat.reason
    assert "a by 1" not in flat.reason


def test_heterotrait_to_monotrait_by_its_formula() -> None:
    rng = np.random.default_rng(36)
    x = rng.normal(size=(30, 6)) + rng.normal(size=(30, 1))
    x[:, [0, 2]] += rng.normal(size=(30, 1))
    groups = list("abacbb")
    gap = np.vstack([x, np.full((1, 6), np.nan)])
    r = np.corrcoef(x.T)
    mean_correlation = np.mean([r[i, j] for i in (0, 2) for j in (1, 4, 5)])
    inner = r[0, 2] * np.mean([r[1, 4], r[1, 5], r[4, 5]])
    result = psy.htmt(gap, groups, "a", "b")
    assert result.value == pytest.approx(mean_correlation / math.sqrt(inner))
    assert (result.n, result.method, result.flags) == (30, "HTMT", ())
    for status, arguments in (
        ("insufficient", (x[:2], "a", "b")),
        ("insufficient", (x, "c", "b")),
        ("insufficient", (x, "a", "c")),
        ("degenerate", (x * [1, 1, -1, 1, 1, 1], "a", "b")),
        ("degenerate", (x * [1, 1, -1, 1, 1, 1], "b", "a")),
    ):
        absent = psy.htmt(arguments[0], groups, *arguments[1:])
        assert (absent.status, absent.n) == (status, len(arguments[0]))
    # the groups are copies of each other, so that the ratio is 1
    copies = np.hstack([x[:, :2], x[:, :2]])
    equicorrelated = np.array(TOY) * 0 + 0.5 + 0.5 * np.eye(4)
    assert psy.htmt_from_correlations(equicorrelated, list("aabb"), "a", "b") == 1
    assert psy.htmt(copies, list("aabb"), "a", "b").flags == ("NOT_DISTINCT",)
    zero = np.array(TOY)
    zero[0, 1] = zero[1, 0] = 0.0
    assert math.isnan(psy.htmt_from_correlations(zero, list("aabb"), "a", "b"))
    assert math.isnan(psy.htmt_from_correlations(zero, list("aabb"), "b", "a"))


# -- orders


def test_a_stable_order_by_hand() -> None:
    """What a rerun does to pairs, of all, of neighbours and of the five best."""
    scores = np.array([0.31, 0.9, 0.52, 0.7, math.nan, 0.33, 0.64, 0.5])
    noise = np.array([0.01, 0.02, 0.005, 0.01, 0.01, 0.03, 0.002, math.nan])
    s, v = scores[[0, 1, 2, 3, 5, 6]], noise[[0, 1, 2, 3, 5, 6]]
    for higher in (True, False):
        result = psy.rank_stability(
            scores, noise, np.random.default_rng(0), k=(0, 2, 6, 7), draws=40, n_items=50,
            higher_is_better=higher,
        )  # fmt: skip
        order = np.argsort(-s if higher else s)
        pairs = psy.pair_order(s[order], v[order], n_items=50)
        flips = [pairs.flip[i, i + 1] for i in range(5)]
        assert result.adjacent_flip == pytest.approx(np.mean(flips))
        best = [pairs.flip[i, j] for i, j in combinations(range(5), 2)]
        assert result.top5_flip == pytest.approx(np.mean(best))
        assert result.mean_flip == pytest.approx(pairs.mean_flip)
        assert (result.expected_tau, result.tau_to_truth) == pytest.approx(
            (pairs.expected_tau, pairs.tau_to_truth)
        )
        assert [(top.k, top.chance) for top in result.top] == [(2, 2 / 6)]
        assert (result.status, result.reason) == ("ok", "")


@pytest.mark.parametrize(
    ("scores", "noise", "status"),
    [
        ([0.5, 0.6, math.nan, 0.7], [0.01] * 4, "ok"),
        ([0.5, 0.6, math.nan, 0.7], [0.01, 0.01, 0.01, math.nan], "insufficient"),
        ([0.5, 0.5, 0.5], [0.01] * 3, "degenerate"),
        ([0.5, 0.6, 0.7], [0.01, 0.01, -0.01], "not_applicable"),
        ([0.5, 0.6, 0.7], [0.0, 0.0, 0.0], "not_informative"),
        ([0.5, 0.6, 0.7], [0.0, 0.0, 1e-9], "ok"),
    ],
)
def test_when_an_order_has_a_stability(scores: list, noise: list, status: str) -> None:
    result = psy.rank_stability(scores, noise, np.random.default_rng(0), draws=20)
    assert result.status == status
    assert bool(result.reason) == (status != "ok")
    assert math.isfinite(result.same_winner) == (status in ("ok", "not_informative"))
    if status == "not_informative":
        assert (result.same_winner, result.mean_flip, result.expected_tau) == (1, 0, 1)
        assert (result.top[0].same_set, result.top[0].overlap) == (1, 1)


@pytest.mark.parametrize(
    ("higher", "k", "last", "shared"),
    [(True, 2, 8, 0.75), (False, 2, 8, 1.0), (True, 1, 7, 1 / 3), (False, 1, 8, 0.0)],
)
def test_the_best_of_two_administrations(higher: bool, k: int, last: int, shared: float) -> None:
    """Who shares the last place of the best with others has a part of it."""
    x, y = [1, 2, 3, 4, 5, 6, math.nan], [2, 1, 3, 7, 7, last, 9]
    result = psy.top_k_overlap(x, y, k, higher_is_better=higher)
    assert (result.value, result.n) == (pytest.approx(shared), 6)
    for k, status in ((0, "insufficient"), (6, "insufficient"), (5, "ok")):
        top_overlap = psy.top_k_overlap(x, y, k)
        assert (top_overlap.status, top_overlap.n) == (status, 6)
    for pair in ((x[:6], [1] * 6), ([1] * 6, y[:6])):
        flat = psy.top_k_overlap(*pair, 2)
        assert (flat.status, flat.n) == ("degenerate", 6)


@pytest.mark.parametrize("n", [6, 7])
def test_the_best_half_and_random_halves(n: int) -> None:
    """The half is chosen by the mean rank in both; it has one more of an odd number."""
    rng = np.random.default_rng(37)
    x, y = np.round(rng.normal(size=n), 1), rng.normal(size=n)
    gaps = np.append(x, [1.0, math.nan]), np.append(y, [math.nan, 1.0])
    result = psy.benchmark_agreement(*gaps, np.random.default_rng(3), halves=30, k=4)
    size = (n + 1) // 2
    best = np.argsort(-(stats.rankdata(x) + stats.rankdata(y)), kind="stable")[:size]
    assert result.all is not None
    assert result.top_half is not None
    for ours, rows, k in ((result.all, np.arange(n), 4), (result.top_half, best, min(4, size))):
        a, b = x[rows], y[rows]
        assert (ours.n, ours.k, ours.chance) == (len(rows), k, k * k / len(rows))
        assert ours.pearson == pytest.approx(np.corrcoef(a, b)[0, 1])
        assert ours.tau == pytest.approx(stats.kendalltau(a, b).statistic)
        assert ours.top_k == pytest.approx(expected_overlap(a, b, k))
    taus = [
        stats.kendalltau(x[rows], y[rows]).statistic
        for rows in (np.array(subset) for subset in combinations(range(n), size))
    ]
    assert min(taus) <= result.tau_range[0] < result.tau_range[1] <= max(taus)
    generator = np.random.default_rng(3)
    correlations = [
        stats.kendalltau(x[rows], y[rows]).statistic
        for rows in (generator.permutation(n)[:size] for _ in range(30))
    ]
    assert result.tau_range == pytest.approx(tuple(np.nanquantile(correlations, [0.025, 0.975])))
    for k, n_subjects, status in ((0, n, "insufficient"), (3, 3, "ok"), (4, 3, "insufficient")):
        assert (
            psy.benchmark_agreement(x[:n_subjects], y[:n_subjects], rng, halves=2, k=k).status
            == status
        )
    assert psy.benchmark_agreement(x[:5], y[:5], rng, halves=2).top_half is None
    assert psy.benchmark_agreement(y, 0 * x, rng).status == "degenerate"
