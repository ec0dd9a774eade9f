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
from hqm.psychometrics.inference import bootstrap


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
    first, repeated, renamed = (
        psy.resample(table, rate_of, rng=psy.stream(seed, name), replicates=50)
        for name in ("rate", "rate", "rank")
    )
    assert repr(first) == repr(repeated)
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
    predicted, true = rng.random(900) < 0.5, rng.random(900) < 0.6
    tallies = {"hit": predicted & true, "wrong": predicted & ~true, "missed": ~predicted & true}
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


# -- by hand


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("clusters", [12, 240])
def test_the_interval_is_bca_over_these_draws(clusters: int, level: float) -> None:
    """Efron 1987, from the totals that the generator draws; ties count half."""
    table = answers(1, clusters, 3)

    def statistic(sums: np.ndarray) -> np.ndarray:
        return np.asarray((sums[:, 0] / sums[:, 1]) ** 3)

    ours = psy.resample(table, statistic, rng=psy.stream(4, "x"), replicates=400, level=level)
    limit = clusters > 200
    (sums,) = bootstrap.resampled_sums(table, psy.stream(4, "x").spawn(1)[0], 400, limit=limit)
    replicates, value = statistic(sums), float(statistic(table.sum(axis=0)[None])[0])
    tail_weights = [
        1.0 if v < value - 1e-12 else 0.5 if v < value + 1e-12 else 0.0 for v in replicates
    ]
    assert limit or 0.5 in tail_weights
    z0 = stats.norm.ppf(np.mean(tail_weights))
    left = np.array([statistic((table.sum(axis=0) - row)[None])[0] for row in table])
    moved = left.mean() - left
    a = (moved**3).sum() / (6 * (moved**2).sum() ** 1.5)
    ends = []
    for tail in (0.5 - level / 2, 0.5 + level / 2):
        z = z0 + stats.norm.ppf(tail)
        ends.append(np.quantile(replicates, stats.norm.cdf(z0 + z / (1 - a * z))))
    assert (ours.low, ours.high) == pytest.approx(tuple(ends))
    assert (ours.value, ours.se) == pytest.approx((value, replicates.std(ddof=1)))
    assert (ours.level, ours.clusters) == (level, clusters)
    assert ours.method == ("BCa, gaussian" if limit else "BCa, multinomial")


def test_draws_have_the_mean_and_spread_of_a_resample(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three clusters: the variance of a total is n^2 / (n - 1) of that of the clusters at its
    limit, and n times it where clusters are drawn.
    """
    table = np.array([[1.0, 1.0], [2.0, 1.0], [6.0, 1.0]])
    for limit, variance in ((True, 9 / 2 * 14 / 3), (False, 3 * 14 / 3)):
        sums = np.concatenate(
            list(bootstrap.resampled_sums(table, psy.stream(0, "x"), 4000, limit=limit))
        )
        # 4,000 draws: five standard errors of a mean, and of a variance
        assert sums[:, 0].mean() == pytest.approx(9, abs=5 * math.sqrt(variance / 4000))
        assert sums[:, 0].var() == pytest.approx(variance, rel=5 * math.sqrt(2 / 4000))
        assert sums[:, 1] == pytest.approx(np.full(4000, 3.0))
    for chunk, sizes in ((7, [2, 2, 1]), (9, [3, 2]), (1, [1] * 5), (15, [5]), (99, [5])):
        monkeypatch.setattr(bootstrap, "CHUNK", chunk)
        for limit in (True, False):
            batches = list(bootstrap.resampled_sums(table, psy.stream(0, "x"), 5, limit=limit))
            assert [len(batch) for batch in batches] == sizes
            assert len({float(row[0]) for batch in batches for row in batch}) > 1
    assert psy.stream(0, "x").random() != psy.stream(1, "x").random()


@pytest.mark.parametrize(
    ("clusters", "events", "draw"),
    [(199, 100, "multinomial"), (200, 100, "gaussian"), (1000, 24, "multinomial"),
     (1000, 25, "gaussian")],
)  # fmt: skip
def test_rare_events_are_drawn_as_they_are(clusters: int, events: int, draw: str) -> None:
    """A total of 25 of 1,000 lies five standard errors above 0; of 24 it does not. A column with
    negative numbers counts no events.
    """
    is_event = (np.arange(clusters) < events).astype(float)
    change = np.sin(np.arange(clusters))
    table = np.stack([is_event, np.ones(clusters), change], 1)
    interval = psy.resample(table, rate_of, rng=psy.stream(0, "r"), replicates=50)
    assert interval.method.endswith(draw)


def test_large_tables_go_through_a_statistic_in_pieces() -> None:
    table = answers(9, 5000)
    batch_sizes: list[int] = []

    def counted(sums: np.ndarray) -> np.ndarray:
        batch_sizes.append(len(sums))
        return rate_of(sums)

    interval = psy.resample(table, counted, rng=psy.stream(0, "r"), replicates=300)
    assert interval.status == "ok"
    assert max(batch_sizes) <= 4096
    assert sum(batch_sizes) == 1 + 300 + 5000


def test_an_interval_of_percentiles_where_leaving_one_out_is_impossible() -> None:
    """The only cluster that counts: without it the ratio does not exist."""
    table = np.stack([np.arange(8.0), (np.arange(8) == 3) * 1.0, np.ones(8)], 1)

    def statistic(sums: np.ndarray) -> np.ndarray:
        return np.asarray(sums[:, 0] / sums[:, 1])

    ours = psy.resample(table, statistic, rng=psy.stream(2, "x"), replicates=600, level=0.9)
    (sums,) = bootstrap.resampled_sums(table, psy.stream(2, "x").spawn(1)[0], 600, limit=False)
    with np.errstate(divide="ignore"):
        replicates = statistic(sums)
    finite_replicates = replicates[np.isfinite(replicates)]
    assert 300 < len(finite_replicates) < 600
    assert ours.method == "percentile, multinomial"
    assert (ours.low, ours.high) == pytest.approx(
        tuple(np.quantile(finite_replicates, [0.05, 0.95]))
    )
    # the value lies beyond all replicates
    odd = psy.resample(
        table,
        lambda sums: np.where(np.abs(sums[:, 0] - 28) < 0.2, 99.0, sums[:, 0]),
        rng=psy.stream(2, "x"),
        replicates=5,
    )
    assert odd.value == 99
    assert odd.method.startswith("percentile")


def test_leaving_out_that_changes_nothing_has_no_acceleration() -> None:
    table = np.stack([np.resize([1.0, -1.0], 20), np.ones(20)], 1)
    ours = psy.resample(
        table, lambda sums: sums[:, 0] ** 2, rng=psy.stream(5, "x"), replicates=200, level=0.9
    )
    (sums,) = bootstrap.resampled_sums(table, psy.stream(5, "x").spawn(1)[0], 200, limit=False)
    replicates = sums[:, 0] ** 2
    z0 = stats.norm.ppf((replicates == 0).mean() / 2)
    tails = stats.norm.cdf(2 * z0 + stats.norm.ppf([0.05, 0.95]))
    assert (ours.low, ours.high) == pytest.approx(tuple(np.quantile(replicates, tails)))


def test_what_is_known_of_an_interval_that_does_not_exist() -> None:
    single = psy.resample([[3.0, 4.0]], rate_of, rng=psy.stream(0, "r"), level=0.9)
    assert (single.status, single.value, single.level, single.clusters) == (
        "insufficient",
        0.75,
        0.9,
        1,
    )
    flat = psy.resample(np.ones((5, 2)), rate_of, rng=psy.stream(0, "r"), level=0.9)
    assert (flat.status, flat.value, flat.se) == ("not_informative", 1, 0)
    assert (flat.level, flat.clusters) == (0.9, 5)
    without_events = psy.resample(np.zeros((5, 2)), rate_of, rng=psy.stream(0, "r"), level=0.9)
    assert (without_events.status, without_events.level, without_events.clusters) == (
        "degenerate",
        0.9,
        5,
    )
    assert math.isnan(without_events.value)
    # half of four replicates are enough, one is not
    for n_finite, status in ((2, "ok"), (1, "degenerate")):
        calls: list[int] = []

        def partly_finite(
            sums: np.ndarray, n_finite: int = n_finite, calls: list[int] = calls
        ) -> np.ndarray:
            calls.append(len(sums))
            values = np.arange(len(sums)) + 1.0
            return np.where((len(calls) == 2) & (np.arange(len(sums)) >= n_finite), np.nan, values)

        interval = psy.resample(
            np.arange(10.0).reshape(5, 2),
            partly_finite,
            rng=psy.stream(0, "r"),
            replicates=4,
            level=0.9,
        )
        assert (interval.status, interval.level, interval.clusters) == (status, 0.9, 5)
    single_draw = psy.resample(answers(2, 9), rate_of, rng=psy.stream(0, "r"), replicates=1)
    assert single_draw.status == "degenerate"
    with pytest.raises(ValueError, match="tall"):
        psy.resample(np.ones((2, 2, 2)), rate_of, rng=psy.stream(0, "r"))
    # what differs by rounding does not vary, whatever the unit
    for unit in (1.0, 1e9):
        dust = np.stack([1 + 1e-14 * np.arange(9), np.ones(9)], 1) * [unit, 1.0]
        constant = psy.resample(dust, rate_of, rng=psy.stream(0, "r"), replicates=20)
        assert constant.status == "not_informative"
    zero_value = psy.resample(
        dust, lambda sums: rate_of(sums) / 1e9 - 1, rng=psy.stream(0, "r"), replicates=20
    )
    assert (zero_value.status, abs(zero_value.value) < 1e-12) == ("not_informative", True)
