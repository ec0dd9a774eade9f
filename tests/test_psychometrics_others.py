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

Value = Callable[[np.ndarray], float]


def kurtosis_error(scores: np.ndarray, size: float) -> float:
    """Bonett (2006): the variance of the logarithm of a variance."""
    count = len(scores)
    cut = int(count / (2 * math.sqrt(count - 4)))
    centre = np.mean(sorted(scores)[cut : count - cut])
    square = sum((s - scores.mean()) ** 2 for s in scores)
    kurtosis = count * sum((s - centre) ** 4 for s in scores) / square**2
    return float(size / (size - 1.96) * (kurtosis - (size - 3) / size) / (size - 1))


def least(
    value: float,
    of: Value,
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

    square = jackknife([math.log(1 - of(r)) for r in rows])
    if not families and size < count:
        square *= count / size
    if spread is not None:
        own = jackknife([math.log(spread(r)) for r in rows])
        square = max(square, square - own + kurtosis_error(scores, size))
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


def both(x: np.ndarray, value: float) -> np.ndarray:
    sign = math.copysign(1.0, value)
    return np.asarray(x[:, 0] / x[:, 0].std() + sign * x[:, 1] / x[:, 1].std())


def correlations(x: np.ndarray, given: np.ndarray) -> dict[str, Any]:
    """Name -> estimate, value of rows, variance of rows, scores, and least value."""
    one, other = x[:, 0], x[:, 1]
    r = psy.pearson(one, other).value
    return {
        "pearson": (
            lambda **how: psy.pearson(one, other, **how),
            lambda rows: stats.pearsonr(one[rows], other[rows]).statistic,
            lambda rows: both(x, r)[rows].var(ddof=1),
            both(x, r),
        ),
        "spearman": (
            lambda **how: psy.spearman(one, other, **how),
            lambda rows: stats.spearmanr(one[rows], other[rows]).statistic,
            None,
            one,
        ),
        "kendall_tau_b": (
            lambda **how: psy.kendall_tau_b(one, other, **how),
            lambda rows: stats.kendalltau(one[rows], other[rows]).statistic,
            None,
            one,
        ),
        "concordance": (
            lambda **how: psy.concordance(one, other, **how).ccc,
            lambda rows: psy.concordance(one[rows], other[rows]).ccc.value,
            lambda rows: x[rows, :2].mean(axis=1).var(ddof=1),
            x[:, :2].mean(axis=1),
        ),
        "partial_pearson": (
            lambda **how: psy.partial_pearson(one, other, given, **how),
            lambda rows: psy.partial_pearson(one[rows], other[rows], given[rows]).value,
            None,
            one,
        ),
        "icc_a1": (
            lambda **how: psy.icc(x, **how).a1,
            lambda rows: psy.icc(x[rows]).a1.value,
            variance_of_means(x),
            x.mean(axis=1),
        ),
        "icc_c1": (
            lambda **how: psy.icc(x, **how).c1,
            lambda rows: psy.icc(x[rows]).c1.value,
            variance_of_means(x),
            x.mean(axis=1),
        ),
        "icc_11": (
            lambda **how: psy.icc(x, **how).one_way,
            lambda rows: psy.icc(x[rows]).one_way.value,
            variance_of_means(x),
            x.mean(axis=1),
        ),
    }


WAYS: dict[str, dict[str, Any]] = {
    "alone": {},
    "families": {"families": [f"f{m // 2}" for m in range(11)]},
    "counted": {"n_effective": 7.5},
    "ninety": {"level": 0.9},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", correlations(table(), table()[:, 0]))
def test_the_least_correlation_among_others(name: str, way: str) -> None:
    x = table()
    given = np.random.default_rng(2).normal(size=11)
    estimate, of, spread, scores = correlations(x, given)[name]
    how = WAYS[way]
    result = estimate(**how)
    arguments = {
        "families": how.get("families", ()),
        "independent": how.get("n_effective"),
        "level": how.get("level", 0.95),
    }
    lowest = -1 / 2 if name.startswith("icc") else -1.0
    expected = least(result.value, of, spread, scores, lowest=lowest, **arguments)
    assert result.value == pytest.approx(of(np.arange(11)))
    assert result.low == pytest.approx(expected)
    assert (result.high, result.n) == (math.inf, 11)
    assert result.level == how.get("level", 0.95)
    whom = "families" if way == "families" else "respondents"
    counted = {"families": ", n_eff 6", "counted": ", n_eff 7.5"}.get(way, "")
    assert result.method == f"{whom} left out, log(1 - r), one-sided{counted}"


@pytest.mark.parametrize("which", ["alpha", "types", "omega", "omega of types", "W"])
def test_the_least_consistency_among_others(which: str) -> None:
    rng = np.random.default_rng(5)
    x = table(4, 12)
    kinds = list("aaaabbbbcccc")
    labels = np.repeat(np.arange(12), 1)
    if which == "alpha":
        result = psy.cronbach_alpha(x).coefficient

        def of(rows: np.ndarray) -> float:
            return psy.cronbach_alpha(x[rows]).coefficient.value

        scores, spread, lowest = x.mean(axis=1), variance_of_means(x), -math.inf
    elif which == "types":
        result = psy.stratified_alpha(x, kinds, labels)

        def of(rows: np.ndarray) -> float:
            return psy.stratified_alpha(x[rows], kinds).value

        scores, spread, lowest = x.mean(axis=1), variance_of_means(x), -math.inf
    elif which == "omega":
        y = x[:, :4] + 0.1 * rng.normal(size=(11, 4))
        result = psy.omega_t(y)

        def of(rows: np.ndarray) -> float:
            return psy.omega_t(y[rows]).value

        scores, lowest = y.sum(axis=1), -1.0

        def spread(rows: np.ndarray) -> float:
            return float(y[rows].sum(axis=1).var(ddof=1))

    elif which == "omega of types":
        y = np.repeat(x, 4, axis=1) + 0.4 * rng.normal(size=(11, 48))
        types = np.repeat(kinds, 4).tolist()
        result = psy.omega_of_types(y, types)
        parts = [y[:, [t == k for t in types]].mean(axis=1) for k in "abc"]
        scores = np.mean([part / part.std(ddof=1) for part in parts], axis=0)
        lowest = 0.0

        def of(rows: np.ndarray) -> float:
            return psy.omega_of_types(y[rows], types).value

        def spread(rows: np.ndarray) -> float:
            return float(scores[rows].var(ddof=1))

    else:
        result = psy.kendall_w(x[:, :3]).w

        def of(rows: np.ndarray) -> float:
            return psy.kendall_w(x[rows, :3]).w.value

        expected = least(result.value, of, None, x[:, 0], lowest=0.0)
        assert result.low == pytest.approx(expected)
        return
    expected = least(result.value, of, spread, scores, lowest=lowest)
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

        def of(rows: np.ndarray) -> float:
            return psy.rho_g(right[:, rows]).rho.value

    else:
        total = right.sum(axis=2, keepdims=True)
        scores, without = total[:, :, 0] / 80, (total - right) / 79
        study = psy.rho_g_of_scores(scores, without=without)

        def of(rows: np.ndarray) -> float:
            return psy.rho_g_of_scores(scores[:, rows], without=without[:, rows]).rho.value

    def spread(rows: np.ndarray) -> float:
        return float(study.scores[:, rows].var(axis=1, ddof=1).mean())

    expected = least(study.rho.value, of, spread, study.scores.mean(axis=0), lowest=0.0)
    assert study.rho.fixed is not None
    assert study.rho.low == pytest.approx(min(expected, study.rho.fixed.low))


def test_nothing_is_said_of_others_where_it_cannot_be() -> None:
    x = table()
    perfect = psy.Coefficient(1.0, n=11)
    assert math.isnan(psy.at_least(perfect, lambda rows: 0.5).low)
    plain = psy.Coefficient(0.5, n=11)
    assert math.isnan(psy.at_least(plain, lambda rows: 1.0).low), "a value of 1 without somebody"
    assert math.isnan(psy.at_least(plain, lambda rows: math.nan).low)
    lacking = psy.Coefficient.absent("degenerate", "none", 11)
    assert psy.at_least(lacking, lambda rows: 0.5) == lacking
    assert math.isnan(psy.pearson(x[:7, 0], x[:7, 1]).low), "seven are too few"
    four = [f"f{m // 3}" for m in range(11)]
    assert math.isnan(psy.pearson(x[:, 0], x[:, 1], families=four).low), "so are four families"
    one = psy.Relatives(tuple(["f"] * 11))
    assert math.isnan(psy.at_least(plain, lambda rows: 0.5, relatives=one).low)
    few = psy.Relatives((), 1.9)
    assert math.isnan(psy.at_least(plain, lambda rows: 0.5, relatives=few).low)
    equal = psy.at_least(plain, lambda rows: (0.5, 0.1), np.ones(11))
    assert equal.low == pytest.approx(0.5), "scores that do not vary say nothing of their tail"
    low = psy.at_least(plain, lambda rows: -9.0 + 3 * rows.sum() % 7, least=0.2)
    assert low.low == 0.2, "no bound lies below the coefficient's own range"
