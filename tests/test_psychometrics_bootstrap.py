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


def rate_of(sums: np.ndarray) -> np.ndarray:
    return np.asarray(sums[:, 0] / sums[:, 1])


def answers(seed: int, clusters: int, size: int = 1, rate: float = 0.3) -> np.ndarray:
    """(clusters, 2): how many right and how many asked; answers of a cluster share a difficulty."""
    rng = np.random.default_rng(seed)
    shared = rng.beta(rate * 4, (1 - rate) * 4, clusters)
    return np.stack([rng.binomial(size, shared), np.full(clusters, size)], 1).astype(float)


@pytest.mark.parametrize(("draw", "clusters"), [("multinomial", 150), ("gaussian", 400)])
@pytest.mark.parametrize("size", [1, 4])
def test_intervals_agree_with_scipy(draw: str, clusters: int, size: int) -> None:
    table = answers(3, clusters, size)
    interval = psy.resample(table, rate_of, rng=psy.stream(0, "rate"))
    assert interval.method == f"BCa, {draw}"
    rival = stats.bootstrap(
        (table[:, 0], table[:, 1]),
        lambda a, b, axis: a.sum(axis=axis) / b.sum(axis=axis),
        paired=True,
        n_resamples=10_000,
        method="bca",
        rng=np.random.default_rng(1),
        batch=1000,
    )
    se = float(rival.standard_error)
    assert interval.se == pytest.approx(se, rel=0.04)
    ends = rival.confidence_interval
    assert interval.low == pytest.approx(ends.low, abs=0.17 * se)
    assert interval.high == pytest.approx(ends.high, abs=0.17 * se)


def test_a_skewed_statistic_has_scipys_acceleration() -> None:
    """The variance of 30 exponential numbers: BCa is far from the percentile interval, and both
    agree with scipy.
    """
    x = np.random.default_rng(5).exponential(size=60)
    table = np.stack([np.ones(60), x, x * x], 1)

    def variance(t: np.ndarray) -> np.ndarray:
        return np.asarray(t[:, 2] / t[:, 0] - (t[:, 1] / t[:, 0]) ** 2)

    interval = psy.resample(table, variance, rng=psy.stream(0, "v"))
    rival = stats.bootstrap(
        (x,), np.var, n_resamples=10_000, method="BCa", rng=np.random.default_rng(2)
    )
    se = float(rival.standard_error)
    assert (interval.low, interval.high) == pytest.approx(
        tuple(rival.confidence_interval), abs=0.15 * se
    )


def test_the_limit_law_gives_the_clustered_standard_error() -> None:
    """Miller 2024: the clustered standard error of a mean; 4,000 clusters of 3 items."""
    table = answers(6, 4000, 3)
    interval = psy.resample(table, rate_of, rng=psy.stream(0, "rate"), replicates=20_000)
    residual = table[:, 0] - interval.value * table[:, 1]
    assert interval.method == "BCa, gaussian"
    assert interval.se == pytest.approx(
        math.sqrt((residual**2).sum()) / table[:, 1].sum(), rel=0.02
    )


@given(st.integers(0, 2**32), st.integers(2, 80), st.integers(1, 3))
@settings(max_examples=25, deadline=None)
def test_it_repeats_bit_for_bit(seed: int, clusters: int, size: int) -> None:
    """Another name changes the draws."""
    table = answers(seed, clusters, size)
    first, again, renamed = (
        psy.resample(table, rate_of, rng=psy.stream(seed, name), replicates=50)
        for name in ("rate", "rate", "rank")
    )
    assert repr(first) == repr(again)
    if first.status == "ok" and clusters > 20:
        assert first.se != renamed.se


def test_another_process_with_other_threads_gives_the_same_bits() -> None:
    """The draws of a name do not depend on who computes them."""
    code = (
        "import numpy as np; from hqm import psychometrics as psy;"
        "x = np.arange(3000) % 7 / 7; t = np.stack([x > .5, np.ones(3000)], 1).astype(float);"
        "s = lambda t: t[:, 0] / t[:, 1];"
        "print(psy.resample(t, s, rng=psy.stream(3, 'r'), replicates=1500))"
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
    original = psy.resample(table, rate_of, rng=psy.stream(0, "r"), replicates=200)
    scaled = psy.resample(table * scale, rate_of, rng=psy.stream(0, "r"), replicates=200)
    assert original.low == pytest.approx(scaled.low, rel=1e-9, nan_ok=True)
    assert original.se == pytest.approx(scaled.se, rel=1e-9, nan_ok=True)


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

    def statistic(sums: np.ndarray) -> Any:
        return f1(dict(zip(tallies, sums.T, strict=True)))

    rival = psy.jackknife_interval(
        {k: v.astype(float) for k, v in tallies.items()}, np.arange(900) // 3, f1
    )
    interval = psy.resample(table, statistic, rng=psy.stream(0, "f1"))
    assert interval.value == pytest.approx(rival.value)
    assert interval.se == pytest.approx(
        (rival.high - rival.low) / 2 / stats.norm.ppf(0.975), rel=0.03
    )


def test_coverage_of_a_rate_is_nominal() -> None:
    """300 samples of 120 clustered items; 95% intervals cover between 91 and 98.5% of the time."""
    rng = np.random.default_rng(13)
    hits = 0
    for trial in range(300):
        shared = rng.beta(1.2, 2.8, 120)
        table = np.stack([rng.binomial(3, shared), np.full(120, 3)], 1).astype(float)
        interval = psy.resample(table, rate_of, rng=psy.stream(trial, "r"), replicates=1000)
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
        interval = psy.resample(table, rate_of, rng=psy.stream(0, "r"), replicates=100)
    assert interval.status in statuses.split()
    assert interval.reason
    assert math.isnan(interval.low)


def test_wrong_shapes_are_refused() -> None:
    rng = psy.stream(0, "x")
    for table in (np.ones(3), np.ones((3, 0)), np.array([[1, math.nan]])):
        with pytest.raises(ValueError, match="tall"):
            psy.resample(table, rate_of, rng=rng)
    with pytest.raises(ValueError, match="replicate"):
        psy.resample(np.ones((3, 2)), rate_of, rng=rng, replicates=0)
    with pytest.raises(ValueError, match="must return"):
        psy.resample(np.ones((3, 2)), lambda t: t.sum(), rng=rng)
    with pytest.raises(ValueError, match="seed"):
        psy.stream(-1, "x")
    with pytest.raises(ValueError, match="cluster"):
        psy.aggregate([[1.0]], [1, 2])
