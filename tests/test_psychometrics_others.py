"""The least value among other respondents, of every coefficient, from its definition: each respondent
or family left out, with the kurtosis of the scores.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from scipy import stats

from hqm import psychometrics as psy
from hqm.psychometrics.inference.discriminability import holm_tests
from hqm.psychometrics.inference.families import MAX_JACKKNIFE_UNITS
from hqm.psychometrics.variance.variance_components import solve_equations
from tests.fields import fields_of

Value = Callable[[np.ndarray], float]


def kurtosis_error(scores: np.ndarray, size: float) -> float:
    """Bonett (2006): the variance of the logarithm of a variance."""
    count = len(scores)
    cut = int(count / (2 * math.sqrt(count - 4)))
    centre = np.mean(sorted(scores)[cut : count - cut])
    square = sum((s - scores.mean()) ** 2 for s in scores)
    kurtosis = count * sum((s - centre) ** 4 for s in scores) / square**2
    return float(size / (size - 1.96) * (kurtosis - (size - 3) / size) / (size - 1))


def expected_lower_bound(
    value: float,
    statistic: Value,
    spread: Value | None,
    scores: np.ndarray,
    *,
    families: Sequence[str] = (),
    independent: float | None = None,
    level: float = 0.95,
    lowest: float = -1.0,
) -> float:
    count = len(scores)
    names = list(families) or [str(m) for m in range(count)]
    size = independent or float(len(set(names)))
    rows = [np.array([m for m in range(count) if names[m] != unit]) for unit in sorted(set(names))]
    units = len(rows)

    def jackknife(values: list[float]) -> float:
        return (units - 1) / units * sum((v - np.mean(values)) ** 2 for v in values)

    square = jackknife([math.log(1 - statistic(r)) for r in rows])
    if not families and size < count:
        square *= count / size
    if spread is not None:
        spread_square = jackknife([math.log(spread(r)) for r in rows])
        square = max(square, square - spread_square + kurtosis_error(scores, size))
    df = (units if families else min(size, units)) - 1
    low = 1 - (1 - value) * math.exp(stats.t.ppf(level, df) * math.sqrt(square))
    return min(max(low, lowest), value)


def table(seed: int = 1, columns: int = 3, respondents: int = 11) -> np.ndarray:
    """Scores with a long tail of weak respondents."""
    rng = np.random.default_rng(seed)
    ability = 0.9 - 0.4 * rng.gamma(1.0, 0.5, respondents)
    return ability[:, None] + 0.08 * rng.normal(size=(respondents, columns))


def variance_of_means(x: np.ndarray) -> Value:
    return lambda rows: float(x[rows].mean(axis=1).var(ddof=1))


def standardised_sum(x: np.ndarray, value: float) -> np.ndarray:
    sign = math.copysign(1.0, value)
    return np.asarray(x[:, 0] / x[:, 0].std() + sign * x[:, 1] / x[:, 1].std())


def correlations(x: np.ndarray, covariate: np.ndarray) -> dict[str, Any]:
    """Name -> estimate, value of rows, variance of rows, scores, and least value."""
    left, right = x[:, 0], x[:, 1]
    r = psy.pearson(left, right).value
    return {
        "pearson": (
            lambda **options: psy.pearson(left, right, **options),
            lambda rows: stats.pearsonr(left[rows], right[rows]).statistic,
            lambda rows: standardised_sum(x, r)[rows].var(ddof=1),
            standardised_sum(x, r),
        ),
        "spearman": (
            lambda **options: psy.spearman(left, right, **options),
            lambda rows: stats.spearmanr(left[rows], right[rows]).statistic,
            None,
            left,
        ),
        "kendall_tau_b": (
            lambda **options: psy.kendall_tau_b(left, right, **options),
            lambda rows: stats.kendalltau(left[rows], right[rows]).statistic,
            None,
            left,
        ),
        "concordance": (
            lambda **options: psy.concordance(left, right, **options).ccc,
            lambda rows: psy.concordance(left[rows], right[rows]).ccc.value,
            lambda rows: x[rows, :2].mean(axis=1).var(ddof=1),
            x[:, :2].mean(axis=1),
        ),
        "partial_pearson": (
            lambda **options: psy.partial_pearson(left, right, covariate, **options),
            lambda rows: psy.partial_pearson(left[rows], right[rows], covariate[rows]).value,
            None,
            left,
        ),
        "icc_a1": (
            lambda **options: psy.icc(x, **options).a1,
            lambda rows: psy.icc(x[rows]).a1.value,
            variance_of_means(x),
            x.mean(axis=1),
        ),
        "icc_c1": (
            lambda **options: psy.icc(x, **options).c1,
            lambda rows: psy.icc(x[rows]).c1.value,
            variance_of_means(x),
            x.mean(axis=1),
        ),
        "icc_11": (
            lambda **options: psy.icc(x, **options).one_way,
            lambda rows: psy.icc(x[rows]).one_way.value,
            variance_of_means(x),
            x.mean(axis=1),
        ),
    }


CORRELATIONS = (
    "pearson",
    "spearman",
    "kendall_tau_b",
    "concordance",
    "partial_pearson",
    "icc_a1",
    "icc_c1",
    "icc_11",
)
RELATIVES_OPTIONS: dict[str, dict[str, Any]] = {
    "alone": {},
    "families": {"families": [f"f{m // 2}" for m in range(11)]},
    "counted": {"n_effective": 7.5},
    "ninety": {"level": 0.9},
}


@pytest.mark.parametrize("way", RELATIVES_OPTIONS)
@pytest.mark.parametrize("name", CORRELATIONS)
def test_the_least_correlation_among_others(name: str, way: str) -> None:
    x = table()
    covariate = np.random.default_rng(2).normal(size=11)
    estimate, statistic, spread, scores = correlations(x, covariate)[name]
    options = RELATIVES_OPTIONS[way]
    result = estimate(**options)
    arguments = {
        "families": options.get("families", ()),
        "independent": options.get("n_effective"),
        "level": options.get("level", 0.95),
    }
    lowest = -1 / 2 if name.startswith("icc") else -1.0
    expected = expected_lower_bound(
        result.value, statistic, spread, scores, lowest=lowest, **arguments
    )
    assert result.value == pytest.approx(statistic(np.arange(11)))
    assert result.low == pytest.approx(expected)
    assert (result.high, result.n) == (math.inf, 11)
    assert result.level == options.get("level", 0.95)
    unit_label = "families" if way == "families" else "respondents"
    counted = {"families": ", n_eff 6", "counted": ", n_eff 7.5"}.get(way, "")
    assert result.method == f"{unit_label} left out, log(1 - r), one-sided{counted}"


@pytest.mark.parametrize("which", ["alpha", "omega", "omega of types"])
def test_the_least_consistency_among_others(which: str) -> None:
    rng = np.random.default_rng(5)
    x = table(4, 12)
    kinds = list("aaaabbbbcccc")
    if which == "alpha":
        result = psy.cronbach_alpha(x).coefficient

        def statistic(rows: np.ndarray) -> float:
            return psy.cronbach_alpha(x[rows]).coefficient.value

        scores, spread, lowest = x.mean(axis=1), variance_of_means(x), -math.inf
    elif which == "omega":
        y = x[:, :4] + 0.1 * rng.normal(size=(11, 4))
        result = psy.omega_t(y)

        def statistic(rows: np.ndarray) -> float:
            return psy.omega_t(y[rows]).value

        scores, lowest = y.sum(axis=1), -1.0

        def spread(rows: np.ndarray) -> float:
            return float(y[rows].sum(axis=1).var(ddof=1))

    else:
        y = np.repeat(x, 4, axis=1) + 0.4 * rng.normal(size=(11, 48))
        types = np.repeat(kinds, 4).tolist()
        result = psy.omega_of_types(y, types)
        parts = [y[:, [t == k for t in types]].mean(axis=1) for k in "abc"]
        scores = np.mean([type_scores / type_scores.std(ddof=1) for type_scores in parts], axis=0)
        lowest = 0.0

        def statistic(rows: np.ndarray) -> float:
            return psy.omega_of_types(y[rows], types).value

        def spread(rows: np.ndarray) -> float:
            return float(scores[rows].var(ddof=1))

    expected = expected_lower_bound(result.value, statistic, spread, scores, lowest=lowest)
    if result.fixed is not None:
        expected = min(expected, result.fixed.low)
    assert math.isfinite(expected)
    assert result.low == pytest.approx(expected)
    assert result.high == math.inf


@pytest.mark.parametrize("items", [True, False])
def test_the_least_test_retest_reliability_among_others(items: bool) -> None:
    rng = np.random.default_rng(5)
    right = (rng.random((2, 11, 80)) < np.linspace(0.3, 0.9, 11)[:, None]).astype(float)
    if items:
        study = psy.rho_g(right)

        def statistic(rows: np.ndarray) -> float:
            return psy.rho_g(right[:, rows]).rho.value

    else:
        total = right.sum(axis=2, keepdims=True)
        scores, replicates = total[:, :, 0] / 80, (total - right) / 79
        study = psy.rho_g_of_scores(scores, replicates=replicates)

        def statistic(rows: np.ndarray) -> float:
            return psy.rho_g_of_scores(scores[:, rows], replicates=replicates[:, rows]).rho.value

    def spread(rows: np.ndarray) -> float:
        return float(study.scores[:, rows].var(axis=1, ddof=1).mean())

    expected = expected_lower_bound(
        study.rho.value, statistic, spread, study.scores.mean(axis=0), lowest=0.0
    )
    assert study.rho.fixed is not None
    assert study.rho.low == pytest.approx(min(expected, study.rho.fixed.low))


def test_nothing_is_said_of_others_where_it_cannot_be() -> None:
    x = table()
    perfect = psy.Coefficient(1.0, n=11)
    assert math.isnan(psy.add_lower_bound(perfect, lambda rows: 0.5).low)
    plain = psy.Coefficient(0.5, n=11)
    assert math.isnan(psy.add_lower_bound(plain, lambda rows: 1.0).low), (
        "a value of 1 without somebody"
    )
    assert math.isnan(psy.add_lower_bound(plain, lambda rows: math.nan).low)
    lacking = psy.Coefficient.absent("degenerate", "none", 11)
    assert fields_of(psy.add_lower_bound(lacking, lambda rows: 0.5)) == fields_of(lacking)
    assert math.isnan(psy.pearson(x[:7, 0], x[:7, 1]).low), "seven are too few"
    four = [f"f{m // 3}" for m in range(11)]
    assert math.isnan(psy.pearson(x[:, 0], x[:, 1], families=four).low), "so are four families"
    one_family = psy.Relatives(tuple(["f"] * 11))
    assert math.isnan(psy.add_lower_bound(plain, lambda rows: 0.5, relatives=one_family).low)
    few_effective = psy.Relatives((), 1.9)
    assert math.isnan(psy.add_lower_bound(plain, lambda rows: 0.5, relatives=few_effective).low)
    equal = psy.add_lower_bound(plain, lambda rows: (0.5, 0.1), np.ones(11))
    assert equal.low == pytest.approx(0.5), "scores that do not vary say nothing of their tail"
    low = psy.add_lower_bound(plain, lambda rows: -9.0 + 3 * rows.sum() % 7, minimum=0.2)
    assert low.low == 0.2, "no bound lies below the coefficient's own range"


def test_who_makes_a_correlation_is_found_by_leaving_each_out() -> None:
    for seed in range(12):
        draws = np.random.default_rng(seed)
        n = int(draws.integers(4, 11))
        x, y = draws.normal(size=(2, n))
        if seed % 3 == 0:
            x[:2], y[:2] = x[:2] + 4, y[:2] + 4
        if seed % 3 == 1:
            x[0], y[0] = x[0] + 3, y[0] + 3

        def r(rows: Sequence[int], x: np.ndarray = x, y: np.ndarray = y) -> float:
            return float(np.corrcoef(x[rows], y[rows])[0, 1])

        result = psy.leave_one_out(r, n, scores=x)
        full_r = r(list(range(n)))
        left = [r([m for m in range(n) if m != i]) for i in range(n)]
        assert (result.value, result.low, result.high) == pytest.approx(
            (full_r, min(left), max(left))
        )
        assert result.leave_one_out == pytest.approx(left)
        change = [abs(v - full_r) for v in left]
        assert result.strongest == int(np.argmax(change))
        assert result.change == pytest.approx(max(change))
        without_far = r([m for m in range(n) if m not in result.far])
        dominant = bool(result.far) and abs(without_far - full_r) > 0.1
        assert result.flags == (("DOMINANT_MODEL",) if dominant else ())
    with pytest.raises(ValueError, match="shape"):
        psy.leave_one_out(lambda i: 0.5, 5, scores=[1, 2])
    lost = psy.leave_one_out(
        lambda i: math.nan if 0 not in i else 0.5, 6, scores=[9, 1, 1, 2, 1, 1]
    )
    assert lost.flags == ("DOMINANT_MODEL",), "without it nothing is left"


def test_the_top_half_by_hand() -> None:
    x = np.array([0.9, 0.2, 0.85, np.nan, 0.4, 0.8, 0.3, 0.7])
    result = psy.range_restriction(x)
    best = np.array([0.9, 0.85, 0.8, 0.7])
    finite_scores = x[np.isfinite(x)]
    u = best.std(ddof=1) / finite_scores.std(ddof=1)
    assert (result.sd, result.sd_top, result.u) == pytest.approx(
        (finite_scores.std(ddof=1), best.std(ddof=1), u)
    )
    assert (result.n, result.n_top, result.status) == (7, 4, "ok")
    assert result.flags == ("RANGE_INFLATED",)
    low = psy.range_restriction(x, higher_is_better=False)
    worst = np.array([0.2, 0.3, 0.4, 0.7])
    assert low.sd_top == pytest.approx(worst.std(ddof=1))
    # with u just below and just above two thirds
    for lowest, inflated in ((0.0, True), (0.05, False)):
        plain = psy.range_restriction([lowest, 0.4, 0.4, 0.5, 0.7, 0.9])
        assert plain.flags == (("RANGE_INFLATED",) if inflated else ())
        assert (plain.u < 2 / 3) == inflated
        assert plain.u == pytest.approx(2 / 3, abs=0.03)
    for equal, top in (([1.0, 1, 1, 0, 0], 0.0), ([1.0] * 6, 0.0)):
        equal_study = psy.range_restriction(equal)
        assert (equal_study.status, equal_study.sd_top, equal_study.n_top) == ("degenerate", top, 3)
        assert equal_study.sd == pytest.approx(np.std(equal, ddof=1))
        assert math.isnan(equal_study.u)
    small_study = psy.range_restriction([1.0, 2, 3, math.nan, 4])
    assert (small_study.status, small_study.n, small_study.n_top) == ("insufficient", 4, 2)


def test_families_count_as_fewer_by_kishs_formula() -> None:
    rng = np.random.default_rng(7)
    names = list("aaabbcdd")
    base = dict(zip("abcd", rng.normal(size=4), strict=True))
    x = np.array([base[n] for n in names]) + 0.5 * rng.normal(size=8)
    result = psy.family_dependence(x, names, np.random.default_rng(1), permutations=299)
    groups = [x[[n == k for n in names]] for k in "abcd"]
    ss_between = sum(len(g) * (g.mean() - x.mean()) ** 2 for g in groups)
    ss_within = sum(((g - g.mean()) ** 2).sum() for g in groups)
    msb, msw = ss_between / 3, ss_within / 4
    weighted_size = (9 + 4 + 1 + 4) / 8
    n0 = (8 - weighted_size) / 3
    icc = (msb - msw) / (msb + (n0 - 1) * msw)
    assert result.icc.value == pytest.approx(icc)
    assert result.n_eff == pytest.approx(8 / (1 + (weighted_size - 1) * min(1, max(0, icc))))
    f = msb / msw
    for end, ratio in (
        (result.icc.low, f / stats.f.ppf(0.975, 3, 4)),
        (result.icc.high, f * stats.f.ppf(0.975, 4, 3)),
    ):
        assert end == pytest.approx(max(-1.0, (ratio - 1) / (ratio + n0 - 1)))
    permuted = np.random.default_rng(1).permuted(np.tile(x, (299, 1)), axis=1)
    count = 0
    for row in permuted:
        parts = [row[[n == k for n in names]] for k in "abcd"]
        square = sum(len(g) * (g.mean() - x.mean()) ** 2 for g in parts)
        count += square >= ss_between * (1 - 1e-9)
    assert result.p == pytest.approx((count + 1) / 300)
    assert result.flags == (("FAMILY_DEPENDENCE",) if result.p < 0.05 else ())
    assert (result.n, result.families) == (8, 4)
    discordant = psy.family_dependence([0.0, 1, 0, 1], list("aabb"))
    assert (discordant.icc.value, discordant.n_eff) == (-1.0, 4.0)
    concordant = psy.family_dependence([0.2, 0.2, 0.8, 0.8], list("aabb"))
    assert (concordant.icc.value, concordant.icc.low, concordant.icc.high, concordant.n_eff) == (
        1.0,
        1.0,
        1.0,
        2.0,
    )
    assert math.isnan(concordant.p)


def test_limits_of_agreement_by_the_noncentral_t() -> None:
    rng = np.random.default_rng(8)
    x = rng.normal(size=9)
    y = x + 0.3 + 0.2 * rng.normal(size=9)
    for n_eff in (None, 6.5):
        result = psy.bland_altman(x, y, n_effective=n_eff)
        size, d, mean = n_eff or 9.0, y - x, (x + y) / 2
        s = d.std(ddof=1)
        half = stats.t.ppf(0.975, size - 1) * s / math.sqrt(size)
        assert (result.bias.value, result.bias.low, result.bias.high) == pytest.approx(
            (d.mean(), d.mean() - half, d.mean() + half)
        )
        t_low, t_high = stats.nct.ppf([0.025, 0.975], size - 1, 1.96 * math.sqrt(size)) / math.sqrt(
            size
        )
        assert (result.lower.value, result.upper.value) == pytest.approx(
            (d.mean() - 1.96 * s, d.mean() + 1.96 * s)
        )
        assert (result.lower.low, result.lower.high) == pytest.approx(
            (d.mean() - t_high * s, d.mean() - t_low * s)
        )
        assert (result.upper.low, result.upper.high) == pytest.approx(
            (d.mean() + t_low * s, d.mean() + t_high * s)
        )
        line = stats.linregress(mean, d)
        error = line.stderr * math.sqrt(9 / size)
        half = stats.t.ppf(0.975, size - 2) * error
        assert (result.slope.value, result.slope.low, result.slope.high) == pytest.approx(
            (line.slope, line.slope - half, line.slope + half)
        )
        assert (result.deviation, result.slope.se) == pytest.approx((s, error))
    family = psy.bland_altman(x, y, n_effective=1.5)
    assert (family.bias.value, family.lower.value) == pytest.approx((d.mean(), d.mean() - 1.96 * s))
    assert all(math.isnan(c.low) for c in (family.bias, family.lower, family.upper, family.slope))
    flat = psy.bland_altman(np.arange(6.0), np.arange(6.0) + 0.5)
    assert (flat.status, flat.bias.value, flat.deviation) == ("degenerate", 0.5, 0.0)
    level = psy.bland_altman([1.0, 2, 3, 4, 5], [5.0, 4, 3, 2, 1])
    assert (level.status, level.slope.status) == ("ok", "degenerate")


def test_the_interval_of_an_agreement_over_other_items_by_hand() -> None:
    rng = np.random.default_rng(11)
    count, m, value = 12, 4, 0.7
    left = 0.7 + rng.normal(0, 0.03, count)
    x, y = rng.normal(0.5, 0.3, (2, m, 1)) + rng.normal(0, 0.006, (2, m, count))
    for scaled in (True, False):
        units = np.array([side.var(axis=0, ddof=1).mean() for side in (x, y)])
        if not scaled:
            units[:] = units.mean()
        moved = x / np.sqrt(units[0]) - y / np.sqrt(units[1])
        moved -= moved.mean(axis=0)
        respondent_variances = (count - 1) ** 2 / count * moved.var(axis=1, ddof=1)
        jackknife_variance = (count - 1) ** 2 / count * np.log(1 - left).var(ddof=1)
        double_counted = (
            (count - 1)
            / (count + 1)
            * (respondent_variances**2).sum()
            / (2 * (m - 1) ** 2 * (1 - value) ** 2)
        )
        corrected_variance = max(jackknife_variance - double_counted, jackknife_variance / 2)
        assert corrected_variance > jackknife_variance / 2, (
            "the noise that is found twice is told, not cut"
        )
        freedom = (count - 1) * (corrected_variance / jackknife_variance) ** 2
        half = stats.t.ppf(0.975, freedom) * math.sqrt(corrected_variance)
        bounds = psy.agreement_interval(value, left, x, y, scaled=scaled)
        assert bounds is not None
        assert (bounds.low, bounds.high) == pytest.approx(
            (1 - 0.3 * math.exp(half), 1 - 0.3 * math.exp(-half))
        )


def test_families_are_numbered_and_very_many_alone_are_grouped() -> None:
    assert psy.Relatives(("b", "a", "b")).units(3).tolist() == [1, 0, 1]
    assert psy.Relatives().units(5).tolist() == [0, 1, 2, 3, 4]
    units = psy.Relatives().units(MAX_JACKKNIFE_UNITS + 3)
    assert units.max() == MAX_JACKKNIFE_UNITS - 1
    assert units[-3:].tolist() == [0, 1, 2]
    assert psy.Relatives(tuple("aabb" * 100)).units(400).tolist() == [0, 0, 1, 1] * 100


def test_nothing_is_left_out_of_a_statistic_that_is_undefined() -> None:
    everyone = psy.leave_one_out(lambda rows: math.nan, 6)
    assert everyone.status == "degenerate"
    undefined_reduced = psy.leave_one_out(lambda rows: 0.5 if len(rows) == 6 else math.nan, 6)
    assert undefined_reduced.status == "degenerate"
    undefined_full = psy.leave_one_out(lambda rows: 0.5 if len(rows) < 6 else math.nan, 6)
    assert undefined_full.status == "degenerate"


def test_administrations_that_differ_by_a_constant_have_no_test_of_equivalence() -> None:
    x = np.array([0.1, 0.4, 0.35, 0.8])
    for shift in (0.0, 0.05, 30.0):
        assert psy.equivalence(x, x + shift, 0.1).status == "degenerate"
    assert psy.equivalence(x, [0.1, 0.4, 0.35, 0.8 + 1e-6], 0.1).status == "ok"


def test_equations_of_components_are_solved_as_numpy_does() -> None:
    rng = np.random.default_rng(12)
    matrix = rng.normal(0, 1, (4, 3, 3)) * [1.0, 20.0, 0.05] * [[2.0], [7.0], [0.5]]
    totals = rng.normal(0, 1, (4, 3))
    values, mixed = solve_equations(matrix, totals)
    assert not mixed
    assert values == pytest.approx(np.linalg.solve(matrix, totals[..., None])[..., 0])
    matrix[1, :, 2] = 2 * matrix[1, :, 1]
    unsolved, mixed = solve_equations(matrix, totals)
    assert mixed
    assert np.isnan(unsolved).all()
    solved, mixed = solve_equations(matrix, totals, skip_singular=True)
    assert not mixed
    assert np.isnan(solved[1]).all()
    assert solved[[0, 2, 3]] == pytest.approx(values[[0, 2, 3]])


def test_scores_are_corrected_by_the_pooled_errors_of_the_judge() -> None:
    rng = np.random.default_rng(13)
    truth = (rng.random((5, 400)) < np.linspace(0.3, 0.7, 5)[:, None]).astype(float)
    judge = np.where(rng.random(truth.shape) < 0.1, 1 - truth, truth)
    human = np.where(rng.random(truth.shape) < 0.5, truth, np.nan)
    labelled = np.isfinite(human)
    yes, no = judge[labelled & (truth == 1)], judge[labelled & (truth == 0)]
    for got, row in zip(psy.rogan_gladen_scores(judge, human), judge, strict=True):
        expected = psy.rogan_gladen(row.mean(), 400, yes.mean(), len(yes), 1 - no.mean(), len(no))
        assert (got.value, got.low, got.high) == pytest.approx(
            (expected.value, expected.low, expected.high), nan_ok=True
        )
        assert got.fixed == expected.fixed


def test_no_pair_has_one_test() -> None:
    assert holm_tests(0, 0) == 1
    assert holm_tests(10, 4) == pytest.approx(1 + 9 * 0.6)
    assert holm_tests(10, 10) == pytest.approx(1)
