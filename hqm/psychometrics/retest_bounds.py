"""The intervals of rho_G: for these respondents and for others, both over other items and seeds."""

from __future__ import annotations

import math

import numpy as np

from hqm.psychometrics.arrays import Array
from hqm.psychometrics.correlation import size_of
from hqm.psychometrics.respondent_spread import (
    FEW_PLACES,
    PLACES,
    Spread,
    hull,
    normal_places,
    spread_of_others,
    spread_of_these,
    student_places,
)
from hqm.psychometrics.result import Bounds, Coefficient


def with_bounds(
    ratio: float,
    scores: Array,
    noises: Array,
    without: Array | None,
    noise_without: Array | None,
    n_effective: float | None,
    level: float,
    flags: tuple[str, ...],
) -> Coefficient:
    """1 - ratio with the interval for these respondents and for others, from the spread of the mean
    of all runs.
    """
    runs, count = scores.shape
    value, size = max(0.0, 1 - ratio), size_of(count, n_effective)
    average = scores.mean(axis=0)
    between, fixed, items = float(average.var(ddof=1)), None, 0.0
    clusters = 0 if without is None else without.shape[2]
    noise = float(noises.mean())
    if without is not None and noise_without is not None and clusters > 2:
        apart = without.mean(axis=0)
        error, along = _errors_of_items(average, apart)
        items, together, own = _error_of_noise(
            noise_without.mean(axis=0), apart.var(axis=0, ddof=1)
        )
        these = spread_of_these(between, error, count, along=along)
        drawn = _noise_of_these(noise, items, together, own, clusters)
        fixed = _bounds(
            value, these, drawn, runs, level, "noncentral chi-square and cluster jackknife"
        )
    low = high = math.nan
    method = ""
    if count > 3 and size > 1:
        others = spread_of_others(between, average, size)
        error = max(items, _unequal(noises, average) / math.sqrt(size))
        drawn = noise * np.exp(np.minimum(error * normal_places(FEW_PLACES), 50.0))
        bounds = _bounds(value, others, drawn, runs, level, "chi-square")
        low, high = (bounds.low, bounds.high) if fixed is None else hull(bounds, fixed)
        method = "chi-square" if n_effective is None else f"chi-square, n_eff {size:.4g}"
    if ratio > 1:
        flags = (*flags, "NEGATIVE_COMPONENT")
    raw = 1 - ratio if ratio > 1 else math.nan
    return Coefficient(value, low, high, count, level, method, fixed=fixed, raw=raw, flags=flags)


def _error_of_noise(noise: Array, between: Array) -> tuple[float, float, float]:
    """The standard error of the logarithm of the noise over items, its correlation r with the
    variance of the scores, and sqrt(1 - r^2).

    - `noise, between`: (clusters,): both without each cluster.
    """
    if not ((noise > 0).all() and (between > 0).all()):
        return 0.0, 0.0, 1.0
    left, spread = np.log(noise), np.log(between)
    left, spread = left - left.mean(), spread - spread.mean()
    lengths = math.sqrt(float(left @ left)), math.sqrt(float(spread @ spread))
    error = math.sqrt((len(left) - 1) / len(left)) * lengths[0]
    if not all(lengths):
        return error, 0.0, 1.0
    left, spread = left / lengths[0], spread / lengths[1]
    # near r = 1, the root of 1 - r^2 would turn a rounding of 1e-16 into 1e-8
    own = float(np.linalg.norm(left - spread) * np.linalg.norm(left + spread)) / 2
    return error, float(left @ spread), own


def _noise_of_these(
    noise: float, error: float, together: float, own: float, clusters: int
) -> Array:
    """(draws, 1, ways): equally credible values of the noise, each draw with the spread in the same
    place.
    """
    along = together * normal_places(PLACES)[:, None, None]
    across = own * student_places(clusters - 1)
    return np.asarray(noise * np.exp(np.clip(error * (along + across), -50.0, 50.0)))


def _unequal(noises: Array, scores: Array) -> float:
    """How unequal the respondents' noise is, as a share of it; for shares, beyond what their
    binomial variances explain.
    """
    binomial = scores * (1 - scores)
    relative = noises / binomial if (binomial > 0).all() else noises
    return float(relative.std(ddof=1) / relative.mean())


def _errors_of_items(scores: Array, without: Array) -> tuple[float, float]:
    """The error variance that items and seeds give to differences between respondents: its mean,
    and along the scores.

    - `without`: (respondents, clusters): the scores with each cluster left out.
    """
    apart = without - without.mean(axis=0)
    apart = apart - apart.mean(axis=1, keepdims=True)
    respondents, clusters = without.shape
    share = (clusters - 1) / clusters
    mean = float((apart**2).sum()) * share / (respondents - 1)
    away = scores - scores.mean()
    length = float((away**2).sum())
    along = float(((away @ apart) ** 2).sum()) * share / length if length > 0 else mean
    return mean, along


def _bounds(
    value: float, spread: Spread, noises: Array, runs: int, level: float, method: str
) -> Bounds:
    """Of one run's reliability: its spread is that of the mean of the runs and the noise that
    averaging removed.
    """
    noise = noises * spread.errors[..., None]  # (draws, ways, ways of the noise)
    rho = 1 - noise / (spread.values[..., None] + noise * (1 - 1 / runs))
    low, high = np.quantile(np.clip(rho, 0.0, 1.0), [0.5 - level / 2, 0.5 + level / 2])
    return Bounds(min(float(low), value), max(float(high), value), method, level)
