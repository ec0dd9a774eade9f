"""Two reliabilities of the same respondents, by small cases that are counted by hand."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from hqm import psychometrics as psy
from hqm.psychometrics.reliability.compare_reliability import (
    LeaveOneOutScores,
    fisher_z_test,
    reliability_of_sets,
    spearman_brown_array,
)

NAN = math.nan


def gen() -> np.random.Generator:
    return np.random.default_rng(0)


def runs(seed: int, respondents: int = 12, noise: float = 0.5) -> np.ndarray:
    """(2, respondents) scores in two runs."""
    rng = np.random.default_rng(seed)
    return np.asarray(rng.normal(size=respondents) + noise * rng.normal(size=(2, respondents)))


def measure(
    seed: int, clusters: int = 12, respondents: int = 8, noise: float = 0.5
) -> LeaveOneOutScores:
    rng = np.random.default_rng(seed)
    items = rng.normal(size=(1, respondents, 1)) + noise * rng.normal(
        size=(2, respondents, clusters)
    )
    total = items.sum(axis=2, keepdims=True)
    return LeaveOneOutScores(
        total[:, :, 0] / clusters,
        (total - items) / (clusters - 1),
        [f"p{c}" for c in range(clusters)],
        items.var(axis=0, ddof=1).mean(axis=1) / clusters,
    )


def test_reliabilities_are_lengthened_by_spearman_and_brown() -> None:
    for factor in (0.5, 1.0, 2.0, 3.0):
        for r in (-0.4, 0.0, 0.3, 0.9, 1.0):
            divisor = 1 + (factor - 1) * r
            assert divisor > 0
            assert spearman_brown_array(np.array([r]), factor)[0] == pytest.approx(
                factor * r / divisor
            )
    lost = spearman_brown_array(np.array([-0.5, -0.6, NAN, 0.5]), 3)
    assert lost == pytest.approx([NAN, NAN, NAN, 0.75], nan_ok=True)


def test_the_interval_of_a_difference_leaves_out_0_where_the_test_rejects() -> None:
    for level in [0.8, 0.95]:
        for x, y in [(0.9, 0.8), (0.2, 0.7), (-0.3, 0.4), (0.5, 0.5)]:
            for error, df in ((0.1, 9.0), (0.3, 4.5)):
                result = fisher_z_test(x, y, error, df, 7, "how", level)
                gap = math.atanh(x) - math.atanh(y)
                p = 2 * stats.t.sf(abs(gap) / error, df)
                assert (result.p, result.error) == pytest.approx((p, error))
                assert (result.p < 1 - level) == (result.low > 0 or result.high < 0)
                middle = math.atanh(x) - gap / 2
                for end, side in ((result.low, -1), (result.high, 1)):
                    moved = gap + side * stats.t.ppf(0.5 + level / 2, df) * error
                    assert end == pytest.approx(
                        math.tanh(middle + moved / 2) - math.tanh(middle - moved / 2)
                    )
                assert (result.first, result.second, result.difference) == (x, y, x - y)
                assert (result.n, result.method, result.level, result.status) == (
                    7,
                    "how",
                    level,
                    "ok",
                )


@pytest.mark.parametrize("statistic", ["pearson", "icc_a1", "rho_g"])
def test_resamples_that_do_not_vary_have_no_reliability(statistic: Any) -> None:
    scores, noise = runs(1, 4), np.array([0.1, 0.2, 0.1, 0.3])
    weights = [[1, 1, 1, 1], [4, 0, 0, 0], [2, 2, 0, 0], [0, 0, 0, 1]]
    values = psy.weighted_reliability(weights, scores, statistic, noise)
    assert np.isfinite(values).tolist() == [True, False, True, False]
    # a constant far from 0 varies by rounding alone
    near_constant = np.stack([scores[0], np.full(4, 1e6 + 0.1)])
    assert np.isnan(psy.weighted_reliability([[1] * 4], near_constant, statistic, noise)).all()
    twice = psy.weighted_reliability([[1, 1, 1, 1]], 1e3 * scores, statistic, 1e6 * noise)
    assert twice == pytest.approx(values[:1])
    if statistic == "pearson":
        for sign in (1.0, -1.0):
            pair_scores = np.stack([scores[0], 5 + sign * scores[0]])
            counts = np.random.default_rng(2).multinomial(9, [0.25] * 4, 30)
            counts = counts[(counts > 0).sum(axis=1) > 1]
            assert (psy.weighted_reliability(counts, pair_scores) == sign).all()
    for wrong in (scores[0], scores[:, :3], scores[:, :, None]):
        with pytest.raises(ValueError, match="administrations, 4"):
            psy.weighted_reliability([[1] * 4], wrong, statistic, noise)
    if statistic == "rho_g":
        with pytest.raises(ValueError, match="needs the noise"):
            psy.weighted_reliability([[1] * 4], scores, statistic)
        with pytest.raises(ValueError, match="needs the noise"):
            reliability_of_sets(scores[:, :, None], statistic)


def test_three_administrations_have_one_agreement() -> None:
    x = np.random.default_rng(3).normal(size=(3, 6)) + np.arange(6.0)
    for values in (
        psy.weighted_reliability([[1] * 6], x, "icc_a1"),
        reliability_of_sets(x[:, :, None], "icc_a1"),
    ):
        assert values == pytest.approx([psy.icc(x.T).a1.value])
    noise = np.linspace(0.1, 0.2, 6)
    expected = 1 - 0.15 / x.var(axis=1, ddof=1).mean()
    assert psy.weighted_reliability([[1] * 6], x, "rho_g", noise) == pytest.approx([expected])


def test_respondents_who_lack_a_score_are_left_out_of_both_measures() -> None:
    a, b = runs(4, 14), runs(5, 14)
    noise = np.linspace(0.01, 0.02, 14), np.linspace(0.03, 0.02, 14)
    names = [f"f{m}" for m in range(14)]
    plain = psy.reliability_difference(a, b, gen(), statistic="rho_g", noise=noise, replicates=60)
    assert (plain.n, plain.status) == (14, "ok")
    assert plain.method == "bootstrap over respondents, 60"

    def longer(x: np.ndarray, index: int, lost: bool) -> np.ndarray:
        return np.insert(x, 3, NAN if lost and index == 0 else 0.3, axis=-1)

    for lost_index in range(4):
        a2, b2, v2, w2 = (
            longer(x, 0, lost_index == k) for k, x in enumerate((a, b, noise[0], noise[1]))
        )
        comparison = psy.reliability_difference(
            a2, b2, gen(), statistic="rho_g", noise=(v2, w2), replicates=60,
            families=[*names[:3], "lost", *names[3:]],
        )  # fmt: skip
        assert comparison == plain
    for wrong in ((a[0], b), (a, b[0]), (a, b[:, :9]), (a[:1], b), (a, b[:1])):
        with pytest.raises(ValueError, match="two arrays"):
            psy.reliability_difference(*wrong, gen())
    absent = psy.reliability_difference(a[:, :2], b[:, :2], gen(), level=0.9)
    assert (absent.status, absent.n, absent.level) == ("insufficient", 2, 0.9)
    assert math.isnan(absent.difference)
    nine = psy.reliability_difference(a[:, :9], b[:, :9], gen())
    assert nine.difference == pytest.approx(
        np.corrcoef(a[:, :9])[0, 1] - np.corrcoef(b[:, :9])[0, 1]
    )
    assert np.isnan([nine.low, nine.high, nine.p]).all()
    by_family = psy.reliability_difference(a, b, gen(), families=names, replicates=60)
    assert by_family == psy.reliability_difference(a, b, gen(), replicates=60)
    wide = psy.reliability_difference(a, b, gen(), replicates=60, level=0.8)
    assert wide == fisher_z_test(
        by_family.first, by_family.second, by_family.error, 13, 14, by_family.method, 0.8
    )


def test_most_resamples_must_have_a_reliability() -> None:
    def lonely(position: int, respondents: int = 10) -> np.ndarray:
        return np.where(np.arange(respondents) == position, [[1.0], [1.1]], [[0.5], [0.4]])

    x = runs(6, 10)
    # without the one who differs, which happens to a third of resamples, nothing varies
    unequal = lonely(0) + [[0], [1e-3]] * np.arange(10)
    assert psy.reliability_difference(unequal, x, gen(), replicates=50).status == "ok"
    first, second = (
        np.stack([lonely(position)[0], lonely(position)[1] + 0.2 * x[0]]) for position in (0, 1)
    )
    comparison = psy.reliability_difference(first, second, gen(), replicates=50)
    assert (comparison.status, comparison.n) == ("degenerate", 10)
    assert math.isfinite(comparison.difference)


def test_the_noise_without_a_picture_of_answers_that_never_change() -> None:
    """Noise that nothing tells to be uneven is spread as the items are."""
    scores = np.tile(np.linspace(0.2, 0.8, 5), (2, 1))
    sizes = np.array([1.0, 2.0, 3.0])
    noise = np.linspace(0.01, 0.02, 5)
    still = LeaveOneOutScores(
        scores, np.tile(scores[:, :, None], (1, 1, 3)), list("abc"), noise, sizes
    )
    for variant in (still, replace(still, sizes=None)):
        assert variant.noise_replicates == pytest.approx(np.tile(noise[:, None], (1, 3)))
    with pytest.raises(ValueError, match="needs the noise"):
        _ = replace(still, noise=None).noise_replicates


@pytest.mark.parametrize("statistic", ["pearson", "rho_g"])
def test_pictures_and_respondents_are_counted_where_both_measures_have_them(
    statistic: Any,
) -> None:
    a, b = measure(7), measure(8, 14)
    plain = psy.difference_over_clusters(a, b, gen(), statistic=statistic, draws=60)
    assert (plain.status, plain.n, plain.level) == ("ok", 8, 0.95)
    assert plain.p == pytest.approx(
        2 * stats.t.sf(abs(math.atanh(plain.first) - math.atanh(plain.second)) / plain.error, 11)
    )
    assert "12" in plain.method
    assert ("60 draws" in plain.method) == (statistic == "pearson")

    def longer(x: LeaveOneOutScores, score: float, noise: float) -> LeaveOneOutScores:
        assert x.noise is not None
        return replace(
            x,
            scores=np.insert(x.scores, 2, score, axis=1),
            replicates=np.insert(x.replicates, 2, 0.4, axis=1),
            noise=np.insert(x.noise, 2, noise),
        )

    for lost in ((NAN, 0.1), (0.4, NAN)):
        for pair in (
            (longer(a, *lost), longer(b, 0.4, 0.1)),
            (longer(a, 0.4, 0.1), longer(b, *lost)),
        ):
            comparison = psy.difference_over_clusters(*pair, gen(), statistic=statistic, draws=60)
            assert comparison == plain
            assert psy.shared_variance(*pair, statistic=statistic) == pytest.approx(
                psy.shared_variance(a, b, statistic=statistic)
            )
    tight = psy.difference_over_clusters(a, b, gen(), statistic=statistic, draws=60, level=0.8)
    assert tight == fisher_z_test(plain.first, plain.second, plain.error, 11, 8, plain.method, 0.8)
    for changed in (a, b):
        undefined = replace(
            changed,
            replicates=np.where(np.arange(len(changed.clusters)) == 3, NAN, changed.replicates),
        )
        pair = (undefined, b) if changed is a else (a, undefined)
        lost_one = psy.difference_over_clusters(*pair, gen(), statistic=statistic, draws=60)
        assert (lost_one.status, lost_one.difference) == ("degenerate", plain.difference)
        assert psy.shared_variance(*pair, statistic=statistic) == 0


def test_a_longer_measure_is_compared_over_pictures_at_one_length() -> None:
    a, b = measure(9), measure(10)
    for statistic in ("pearson", "rho_g"):
        result = psy.difference_over_clusters(
            a, b, gen(), statistic=statistic, factors=(2.0, 0.5), draws=60
        )  # type: ignore[arg-type]
        comparison = psy.difference_over_clusters(a, b, gen(), statistic=statistic, draws=60)  # type: ignore[arg-type]
        r, s = comparison.first, comparison.second
        assert (result.first, result.second) == pytest.approx(
            (2 * r / (1 + r), 0.5 * s / (1 - 0.5 * s))
        )


def test_the_error_over_few_draws_is_unbiased() -> None:
    """Two draws have the variance of many, on average: the divisor is one less than their number."""
    a, b, rng = measure(11), measure(12), gen()
    stable_error = psy.difference_over_clusters(a, b, rng, draws=4000).error
    two_draw_errors = [psy.difference_over_clusters(a, b, rng, draws=2).error for _ in range(150)]
    assert np.mean(np.square(two_draw_errors)) == pytest.approx(stable_error**2, rel=0.4)


def test_administrations_of_equal_means_are_shrunk_to_equal_means() -> None:
    """Where administrations do not differ at all there is nothing to shrink."""
    scores = np.array([[0.0, 1, 2, 3, 5], [1.0, 0, 2, 5, 3]])
    rng = np.random.default_rng(13)
    items = 0.3 * rng.normal(size=(2, 5, 12))
    items -= items.mean(axis=2, keepdims=True)
    level = LeaveOneOutScores(scores, scores[:, :, None] - items / 11, [str(c) for c in range(12)])
    result = psy.difference_over_clusters(level, measure(14, 12, 5), gen(), draws=60)
    assert (result.status, math.isfinite(result.error)) == ("ok", True)


def test_what_is_shared_of_constant_scores_is_nothing() -> None:
    a = measure(15)
    for scores in (np.full((2, 8), 0.5), np.zeros((2, 8))):
        flat = replace(a, scores=scores)
        assert psy.shared_variance(flat, a) == psy.shared_variance(a, flat) == 0
    three = np.arange(8) < 3
    three_scored, two = (
        replace(a, scores=np.where(np.arange(8) < count, a.scores, NAN)) for count in (3, 2)
    )
    assert psy.shared_variance(two, a) == 0
    subset = replace(a, scores=a.scores[:, three], replicates=a.replicates[:, three], noise=None)
    second = measure(16)
    cut = replace(
        second, scores=second.scores[:, three], replicates=second.replicates[:, three], noise=None
    )
    assert psy.shared_variance(three_scored, second) == pytest.approx(
        psy.shared_variance(subset, cut)
    )
