"""The bootstrap against scipy and against theory; what it refuses, and that it repeats."""

import math
import os
import subprocess
import sys
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hqm import psychometrics as psy
from hqm.psychometrics.bootstrap import poisson_table

RATE = psy.Statistic(lambda t: t[:, 0] / t[:, 1])
SMOOTH_RATE = psy.Statistic(lambda t: t[:, 0] / t[:, 1], smooth=True)


def answers(seed: int, clusters: int, size: int = 1, rate: float = 0.3) -> np.ndarray:
    """(clusters, 2): how many right and how many asked; answers of a cluster share a difficulty."""
    rng = np.random.default_rng(seed)
    shared = rng.beta(rate * 4, (1 - rate) * 4, clusters)
    return np.stack([rng.binomial(size, shared), np.full(clusters, size)], 1).astype(float)


def test_the_weights_are_poisson() -> None:
    table = poisson_table()
    for k in range(6):
        assert (table == k).mean() == pytest.approx(stats.poisson(1).pmf(k), abs=2e-5)
    assert table.mean() == pytest.approx(1, abs=5e-5)
    assert table.var() == pytest.approx(1, abs=2e-4)


@pytest.mark.parametrize("draw", ["poisson", "multinomial", "gaussian"])
@pytest.mark.parametrize("size", [1, 4])
def test_intervals_agree_with_scipy(draw: str, size: int) -> None:
    table = answers(3, 400, size)
    drawn = psy.resample(table, {"rate": RATE}, rng=psy.stream(0, "rate"), draw=draw)  # type: ignore[arg-type]
    for method in ("bca", "percentile"):
        interval = drawn.interval("rate", method=method)  # type: ignore[arg-type]
        rival = stats.bootstrap(
            (table[:, 0], table[:, 1]),
            lambda a, b, axis: a.sum(axis=axis) / b.sum(axis=axis),
            paired=True,
            n_resamples=10_000,
            method=method,
            rng=np.random.default_rng(1),
            batch=1000,
        )
        se = float(rival.standard_error)
        assert interval.se == pytest.approx(se, rel=0.04)
        ends = rival.confidence_interval
        assert interval.low == pytest.approx(ends.low, abs=0.17 * se)
        assert interval.high == pytest.approx(ends.high, abs=0.17 * se)
        assert 0 <= interval.error < 0.17 * se


def test_a_skewed_statistic_has_scipys_acceleration() -> None:
    """The variance of 30 exponential numbers: BCa is far from the percentile interval, and both
    agree with scipy.
    """
    x = np.random.default_rng(5).exponential(size=60)
    table = np.stack([np.ones(60), x, x * x], 1)
    variance = psy.Statistic(lambda t: t[:, 2] / t[:, 0] - (t[:, 1] / t[:, 0]) ** 2)
    interval = psy.resample(
        table, {"v": variance}, rng=psy.stream(0, "v"), draw="multinomial"
    ).interval("v")
    rival = stats.bootstrap(
        (x,), np.var, n_resamples=10_000, method="BCa", rng=np.random.default_rng(2)
    )
    se = float(rival.standard_error)
    assert (interval.low, interval.high) == pytest.approx(
        tuple(rival.confidence_interval), abs=0.15 * se
    )
    left = np.array([np.delete(x, i).var() for i in range(60)])
    d = left.mean() - left
    assert interval.acceleration == pytest.approx(
        (d**3).sum() / (6 * (d**2).sum() ** 1.5), abs=1e-9
    )


def test_the_limit_law_gives_the_clustered_standard_error() -> None:
    """Miller 2024: the clustered standard error of a mean; 4,000 clusters of 3 items."""
    table = answers(6, 4000, 3)
    drawn = psy.resample(table, {"rate": SMOOTH_RATE}, rng=psy.stream(0, "rate"), replicates=20_000)
    interval = drawn.interval("rate")
    residual = table[:, 0] - interval.value * table[:, 1]
    assert interval.method == "BCa, gaussian"
    assert interval.se == pytest.approx(
        math.sqrt((residual**2).sum()) / table[:, 1].sum(), rel=0.02
    )


@given(st.integers(0, 2**32), st.integers(2, 80), st.integers(1, 3))
@settings(max_examples=25, deadline=None)
def test_it_repeats_bit_for_bit_and_alone(seed: int, clusters: int, size: int) -> None:
    """Another statistic beside it changes nothing; another name changes the draws."""
    table = answers(seed, clusters, size)
    other = psy.Statistic(lambda t: t[:, 0] - t[:, 1], smooth=True)
    alone = psy.resample(table, {"rate": RATE}, rng=psy.stream(seed, "rate"), replicates=50)
    beside = psy.resample(
        table, {"o": other, "rate": RATE}, rng=psy.stream(seed, "rate"), replicates=50
    )
    assert alone.values["rate"].tobytes() == beside.values["rate"].tobytes()
    if 0 < table[:, 0].sum() < table[:, 1].sum():
        renamed = psy.resample(table, {"rate": RATE}, rng=psy.stream(seed, "rank"), replicates=50)
        assert (alone.values["rate"] != renamed.values["rate"]).any()


def test_another_process_with_other_threads_gives_the_same_bits() -> None:
    """The draws of a name do not depend on who computes them."""
    code = (
        "import hashlib, numpy as np; from hqm import psychometrics as psy;"
        "x = np.arange(3000) % 7 / 7; t = np.stack([x > .5, np.ones(3000)], 1).astype(float);"
        "s = psy.Statistic(lambda t: t[:, 0] / t[:, 1]);"
        "d = psy.resample(t, {'r': s}, rng=psy.stream(3, 'r'), replicates=1500);"
        "print(hashlib.sha256(d.values['r'].tobytes()).hexdigest())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads},
        ).stdout
        for threads in ("1", "2")
    }
    assert len(outputs) == 1


@given(st.integers(0, 1000), st.floats(0.01, 100))
@settings(max_examples=20, deadline=None)
def test_units_do_not_matter(seed: int, scale: float) -> None:
    table = answers(seed, 60)
    original = psy.resample(table, {"rate": RATE}, rng=psy.stream(0, "r"), replicates=200)
    scaled = psy.resample(table * scale, {"rate": RATE}, rng=psy.stream(0, "r"), replicates=200)
    assert original.values["rate"] == pytest.approx(scaled.values["rate"], rel=1e-9, nan_ok=True)


def test_chunks_of_a_long_table_and_single_precision() -> None:
    """Numbers near 1000 with a spread of .001: single precision after centring loses nothing that
    matters.
    """
    x = 1000 + np.random.default_rng(8).normal(scale=0.001, size=3000)
    table = np.stack([x, np.ones(3000)], 1)
    interval = psy.resample(
        table, {"mean": RATE}, rng=psy.stream(0, "m"), replicates=3000, draw="poisson"
    ).interval("mean")
    assert interval.se == pytest.approx(0.001 / math.sqrt(3000), rel=0.06)
    assert interval.value == pytest.approx(x.mean(), abs=1e-9)


def test_common_random_numbers_pair_the_difference() -> None:
    """Two respondents that differ in one item of 500: their difference is known far better than
    their rates.
    """
    rng = np.random.default_rng(9)
    a = rng.integers(0, 2, 500).astype(float)
    b = a.copy()
    b[0] = 1 - b[0]
    table = np.stack([a, b, np.ones(500)], 1)
    statistics = {
        "a": psy.Statistic(lambda t: t[:, 0] / t[:, 2]),
        "b": psy.Statistic(lambda t: t[:, 1] / t[:, 2]),
        "d": psy.Statistic(lambda t: (t[:, 0] - t[:, 1]) / t[:, 2]),
    }
    drawn = psy.resample(table, statistics, rng=psy.stream(0, "d"))
    paired, direct = drawn.difference("a", "b"), drawn.interval("d")
    assert (paired.value, paired.low, paired.high) == pytest.approx(
        (direct.value, direct.low, direct.high), abs=1e-12
    )
    assert paired.se < drawn.interval("a").se / 5


def test_a_metric_of_named_tallies_agrees_with_the_jackknife() -> None:
    """F1, a ratio of sums that no mean of items gives: bootstrap and jackknife have the same
    standard error.
    """
    rng = np.random.default_rng(21)
    said, true = rng.random(900) < 0.5, rng.random(900) < 0.6
    tallies = {"hit": said & true, "wrong": said & ~true, "missed": ~said & true}
    table = psy.aggregate(np.stack(list(tallies.values()), 1), np.arange(900) // 3)

    def f1(t: Mapping[str, Any]) -> Any:
        return 2 * t["hit"] / (2 * t["hit"] + t["wrong"] + t["missed"])

    statistic = psy.Statistic(lambda sums: f1(dict(zip(tallies, sums.T, strict=True))), smooth=True)
    rival = psy.jackknife_interval(
        {k: v.astype(float) for k, v in tallies.items()}, np.arange(900) // 3, f1
    )
    for draw in ("poisson", "gaussian", "multinomial"):
        interval = psy.resample(
            table, {"f1": statistic}, rng=psy.stream(0, "f1"), draw=draw
        ).interval("f1")  # type: ignore[arg-type]
        assert interval.value == pytest.approx(rival.value)
        assert interval.se == pytest.approx(
            (rival.high - rival.low) / 2 / stats.norm.ppf(0.975), rel=0.03
        )


def test_strata_are_drawn_within() -> None:
    """Two types with rates 0 and 1 and a fixed number of items: nothing is left to chance."""
    table = np.array([[0.0, 1]] * 100 + [[1.0, 1]] * 100)
    types = ["easy"] * 100 + ["hard"] * 100
    free = psy.resample(table, {"r": RATE}, rng=psy.stream(0, "r"), draw="poisson").interval("r")
    for draw in ("poisson", "multinomial", "gaussian"):
        fixed = psy.resample(
            table, {"r": RATE}, rng=psy.stream(0, "r"), strata=types, draw=draw
        ).interval("r")  # type: ignore[arg-type]
        assert fixed.status == "not_informative"
        assert fixed.value == 0.5
    assert free.se == pytest.approx(0.5 / math.sqrt(200), rel=0.05)


def test_strata_have_the_stratified_standard_error() -> None:
    first, second = answers(1, 300, 1, 0.2), answers(2, 100, 1, 0.7)
    table = np.concatenate([first, second])
    expected = math.sqrt(sum(len(t) * t[:, 0].var() for t in (first, second))) / 400
    for draw in ("poisson", "multinomial", "gaussian"):
        drawn = psy.resample(
            table,
            {"r": RATE},
            rng=psy.stream(0, "r"),
            strata=[0] * 300 + [1] * 100,
            draw=draw,  # type: ignore[arg-type]
        )
        assert drawn.interval("r").se == pytest.approx(expected, rel=0.04)


def two_runs(clusters: int = 1000, respondents: int = 20) -> np.ndarray:
    """(items, respondents x 2 + 1): binary answers of two runs with independent noise."""
    rng = np.random.default_rng(11)
    p = np.clip(rng.normal(0, 1, respondents) * 0.1 + 0.5, 0, 1) + rng.normal(0, 0.2, (clusters, 1))
    drawn = rng.random((clusters, respondents, 2)) < np.clip(p, 0, 1)[..., None]
    return np.hstack([drawn.reshape(clusters, -1), np.ones((clusters, 1))]).astype(float)


def retest(sums: np.ndarray) -> np.ndarray:
    s = (sums[:, :-1] / sums[:, -1:]).reshape(len(sums), -1, 2)
    s = s - s.mean(axis=1, keepdims=True)
    return (s[..., 0] * s[..., 1]).sum(1) / np.sqrt(
        (s[..., 0] ** 2).sum(1) * (s[..., 1] ** 2).sum(1)
    )


def test_a_reliability_is_refused_over_items_and_this_is_why() -> None:
    """Declared, it is refused; undeclared, the interval that misses its own estimate is flagged."""
    table = two_runs()
    honest = psy.Statistic(retest, role="reliability")
    smuggled = psy.Statistic(retest)
    drawn = psy.resample(
        table, {"r": honest, "s": smuggled}, rng=psy.stream(0, "r"), replicates=2000
    )
    refused = drawn.interval("r")
    assert refused.status == "not_applicable"
    assert "jackknife" in refused.reason
    assert math.isnan(refused.value)
    assert drawn.difference("r", "s").status == "not_applicable"
    wrong = drawn.interval("s", method="percentile")
    assert not wrong.low <= wrong.value <= wrong.high
    assert "BIASED" in wrong.flags


def pair_tallies(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Tallies of respondents whose sums give a correlation."""
    a, b = x - x.mean(), y - y.mean()
    return np.stack([np.ones(len(a)), a, b, a * a, b * b, a * b], axis=1)


def pearson_of_sums(sums: np.ndarray) -> np.ndarray:
    n, x, y, xx, yy, xy = sums.T
    return np.asarray((n * xy - x * y) / np.sqrt((n * xx - x * x) * (n * yy - y * y)))


def test_respondents_and_families_give_the_population_interval() -> None:
    rng = np.random.default_rng(12)
    ability = rng.normal(size=40)
    x, y = ability + 0.4 * rng.normal(size=40), ability + 0.4 * rng.normal(size=40)
    pairs = pair_tallies(x, y)
    r = psy.Statistic(pearson_of_sums, role="reliability")
    interval = psy.resample(pairs, {"r": r}, rng=psy.stream(0, "r"), unit="respondents").interval(
        "r"
    )
    assert interval.value == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-12)
    rival = stats.bootstrap(
        (x, y),
        lambda a, b: stats.pearsonr(a, b).statistic,
        paired=True,
        vectorized=False,
        n_resamples=3000,
        method="BCa",
        rng=np.random.default_rng(3),
    )
    se = float(rival.standard_error)
    assert (interval.low, interval.high) == pytest.approx(
        tuple(rival.confidence_interval), abs=0.3 * se
    )
    # two copies of every model in a family of its own say no more than one copy
    twice = psy.aggregate(np.concatenate([pairs, pairs]), np.tile(np.arange(40), 2))
    family = psy.resample(twice, {"r": r}, rng=psy.stream(0, "r"), unit="respondents").interval("r")
    assert (family.low, family.high) == pytest.approx((interval.low, interval.high), abs=1e-9)


def test_a_stratum_of_one_cluster_is_fixed() -> None:
    table = np.concatenate([answers(1, 250), [[5.0, 10]]])
    for draw in ("poisson", "multinomial", "gaussian"):
        interval = psy.resample(
            table,
            {"r": RATE},
            rng=psy.stream(0, "r"),
            strata=[0] * 250 + [1],
            draw=draw,
            replicates=500,  # type: ignore[arg-type]
        ).interval("r")
        assert interval.status == "ok"
        assert ("UNDEFINED" in interval.flags) == (draw == "poisson")


def test_different_draws_are_not_paired() -> None:
    drawn = psy.resample(
        answers(2, 300), {"a": RATE, "b": SMOOTH_RATE}, rng=psy.stream(0, "r"), replicates=50
    )
    assert drawn.draws == {"a": "poisson", "b": "gaussian"}
    assert drawn.difference("a", "b").status == "not_applicable"
    with pytest.raises(ValueError, match="no statistic"):
        drawn.difference("a", "c")


def test_nine_respondents_have_no_population_interval() -> None:
    x = np.arange(9.0)
    drawn = psy.resample(
        pair_tallies(x, x**2),
        {"r": psy.Statistic(pearson_of_sums)},
        rng=psy.stream(0, "r"),
        unit="respondents",
    )
    interval = drawn.interval("r")
    assert interval.status == "insufficient"
    assert interval.value == pytest.approx(stats.pearsonr(x, x**2).statistic)
    assert math.isnan(interval.low)


def test_coverage_of_a_rate_is_nominal() -> None:
    """300 samples of 120 clustered items; 95% intervals cover between 91 and 98.5% of the time."""
    rng = np.random.default_rng(13)
    hits = 0
    for trial in range(300):
        shared = rng.beta(1.2, 2.8, 120)
        table = np.stack([rng.binomial(3, shared), np.full(120, 3)], 1).astype(float)
        interval = psy.resample(
            table, {"r": RATE}, rng=psy.stream(trial, "r"), replicates=1000
        ).interval("r")
        hits += interval.low <= 0.3 <= interval.high
    assert 0.91 <= hits / 300 <= 0.985


DEGENERATE = {
    "no cluster": (np.empty((0, 2)), "degenerate insufficient"),
    "one cluster": (np.ones((1, 2)), "insufficient"),
    "constant": (np.ones((30, 2)), "not_informative"),
    "nothing asked": (np.zeros((30, 2)), "degenerate"),
    "mostly undefined": (np.array([[1.0, 1]] + [[0, 0]] * 9), "ok not_informative"),
}


@pytest.mark.parametrize("case", DEGENERATE)
def test_an_interval_that_does_not_exist_says_why(case: str) -> None:
    table, statuses = DEGENERATE[case]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        interval = psy.resample(
            table, {"r": RATE}, rng=psy.stream(0, "r"), replicates=100
        ).interval("r")
    assert interval.status in statuses.split()
    assert interval.reason
    assert math.isnan(interval.low)


def test_wrong_shapes_are_refused() -> None:
    rng = psy.stream(0, "x")
    for table in (np.ones(3), np.ones((3, 0)), np.array([[1, math.nan]])):
        with pytest.raises(ValueError, match="tall"):
            psy.resample(table, {"r": RATE}, rng=rng)
    with pytest.raises(ValueError, match="stratum"):
        psy.resample(np.ones((3, 2)), {"r": RATE}, rng=rng, strata=[1, 2])
    with pytest.raises(ValueError, match="replicate"):
        psy.resample(np.ones((3, 2)), {"r": RATE}, rng=rng, replicates=0)
    with pytest.raises(ValueError, match="must return"):
        psy.resample(np.ones((3, 2)), {"r": psy.Statistic(lambda t: t.sum())}, rng=rng)
    with pytest.raises(ValueError, match="no statistic"):
        psy.resample(np.ones((3, 2)), {"r": RATE}, rng=rng).interval("q")
    with pytest.raises(ValueError, match="seed"):
        psy.stream(-1, "x")
    with pytest.raises(ValueError, match="cluster"):
        psy.aggregate([[1.0]], [1, 2])
