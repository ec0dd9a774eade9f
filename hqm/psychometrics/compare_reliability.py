"""Reliabilities of two measures from the same respondents, and tests of their difference over other
respondents and other pictures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from scipy.special import stdtr, stdtrit

from hqm.psychometrics.resampling import FEWEST, multiplicities
from hqm.psychometrics.result import Array, ArrayLike, Flags, Outcome, Status, is_constant

Statistic = Literal["pearson", "icc_a1", "rho_g"]
_EDGE = 1 - 1e-12


@dataclass(frozen=True, slots=True)
class ReliabilityDifference(Outcome):
    """Two reliabilities from the same respondents, and whether they differ.

    `low` and `high` bound the difference; `p` tests that it is 0. Both are NaN where respondents
    are too few.
    """

    first: float
    second: float
    difference: float
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan
    n: int = 0
    method: str = ""
    level: float = 0.95
    error: float = math.nan
    """The standard error of the difference of both values' atanh."""


def weighted_reliability(
    weights: ArrayLike,
    scores: ArrayLike,
    statistic: Statistic = "pearson",
    noise: ArrayLike | None = None,
) -> Array:
    """A reliability for many resamples of the respondents at once.

        pearson   the correlation of the first two administrations
        icc_a1    (MSR - MSE) / (MSR + (k - 1) MSE + k (MSC - MSE) / n), all k administrations
        rho_g     1 - mean noise / mean over administrations of the variance of the scores

    - `weights`: (replicates, respondents): how often each respondent is drawn.
    - `scores`: (administrations, respondents).
    - `noise`: (respondents,): for `rho_g`, the variance of one run's score over seeds.

    (replicates,) array; NaN where a replicate does not vary.

    >>> scores = [[9.0, 6, 8, 7, 10, 6], [2, 1, 4, 1, 5, 2], [5, 3, 6, 2, 6, 4], [8, 2, 8, 6, 9, 7]]
    >>> round(float(weighted_reliability([[1] * 6], scores, "icc_a1")[0]),
    ...     4)  # Shrout and Fleiss 1979
    0.2898
    """
    w, x = (
        np.atleast_2d(np.asarray(weights, dtype=np.float64)),
        np.asarray(scores, dtype=np.float64),
    )
    if x.ndim != 2 or w.shape[1] != x.shape[1]:
        raise ValueError(f"scores must have shape (administrations, {w.shape[1]}), got {x.shape}")
    n = w.sum(axis=1)
    x = x - x.mean()
    mean = x @ w.T / n
    square = (x * x) @ w.T
    spread = square - n * mean**2
    rows = w @ x.sum(axis=0) ** 2 - n * mean.sum(axis=0) ** 2
    flat = (spread <= 1e-12 * np.maximum(square, 1e-300)).any(axis=0)
    of_noise = None if noise is None else w @ np.asarray(noise, dtype=np.float64) / n
    reliability = _of_moments(statistic, n, mean, spread, rows, of_noise)
    # what is left of a perfect repetition after subtraction is rounding
    reliability = np.where(np.abs(reliability) > _EDGE, np.sign(reliability), reliability)
    return np.asarray(np.where(flat, np.nan, reliability), dtype=np.float64)


def reliability_difference(
    measure: ArrayLike,
    other: ArrayLike,
    rng: np.random.Generator,
    *,
    statistic: Statistic = "pearson",
    noise: tuple[ArrayLike, ArrayLike] | None = None,
    factors: tuple[float, float] = (1.0, 1.0),
    families: Sequence[str] | None = None,
    n_effective: float | None = None,
    shared: float = 0.0,
    least: float = 0.0,
    replicates: int = 2000,
    level: float = 0.95,
) -> ReliabilityDifference:
    """By how much one measure is more reliable than another, for other respondents (random facet).

    Strong respondents are strong in both measures, so the two reliabilities go up and down
    together, and whether their intervals overlap says nothing. Here each replicate draws the same
    respondents (or families) for both.

        T = atanh(rho_one) - atanh(rho_other),   p from T / SE(T) on Student's t with units - 1 df
        SE(T)^2 over replicates, plus `shared`; the interval of rho_one - rho_other is that of T,
            taken back around the
        mean of both

    Efron, B. and Tibshirani, R. J. (1993). An Introduction to the Bootstrap.
    docs/psychometrics_compare.md has the rates of false alarms, which
    `tests/perf/compare_errors.py` measures. Other respondents meet other items too, so the error
    contains what the items do to all respondents alike, and is never smaller than the error over
    items.

    - `measure, other`: (administrations, respondents): each measure's scores; respondents that lack
      one are left out.
    - `statistic, noise`: As in `weighted_reliability`; the noise of each measure.
    - `factors`: Lengths to bring the measures to, as multiples of their own (Spearman-Brown), so
      that a long test and a short one compare as if equally long.
    - `families`: (respondents,): relatives are drawn together. With fewer than 10 families
      respondents are drawn and the error is widened by sqrt(n / n_effective).
    - `n_effective`: The number of independent respondents, for that case.
    - `shared, least`: The variance of T over items that all respondents share (`shared_variance`),
      and the standard error of T over items for these respondents; where known.

    The status is `insufficient` without a test below 10 independent respondents, and where all are
    of one family; below 3 respondents there are no values either. The status is `degenerate` where
    scores do not vary, a reliability is 1 by construction, or both measures give the same scores.

    >>> rng = np.random.default_rng(0)
    >>> trait = rng.normal(size=40)
    >>> good, poor = trait + 0.2 * rng.normal(size=(2, 40)), trait + rng.normal(size=(2, 40))
    >>> result = reliability_difference(good, poor, rng)
    >>> result.difference > 0.2, result.p < 0.01
    (True, True)
    """
    a, b = np.asarray(measure, dtype=np.float64), np.asarray(other, dtype=np.float64)
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1] or min(len(a), len(b)) < 2:
        raise ValueError(
            f"two arrays (administrations, respondents) are needed, got shapes {a.shape} and"
            f" {b.shape}"
        )
    va, vb = (None, None) if noise is None else (np.asarray(v, dtype=np.float64) for v in noise)
    known = np.asarray(np.isfinite(a).all(axis=0) & np.isfinite(b).all(axis=0))
    for v in (va, vb):
        known = known if v is None else known & np.isfinite(v)
    a, b = a[:, known], b[:, known]
    va, vb = (None if v is None else v[known] for v in (va, vb))
    n = a.shape[1]
    none = partial(_none, n, level)
    if n < 3:
        return none("insufficient", _FEW.format(n=n))
    if any(is_constant(row) for row in (*a, *b)):
        return none("degenerate", "all respondents have the same score in an administration")

    def both(weights: Array) -> tuple[Array, Array]:
        pair = (weighted_reliability(weights, x, statistic, v) for x, v in ((a, va), (b, vb)))
        first, second = (lengthened(r, f) for r, f in zip(pair, factors, strict=True))
        return first, second

    x, y = (float(v[0]) for v in both(np.ones((1, n))))
    if not (abs(x) < _EDGE and abs(y) < _EDGE):
        reason = "a reliability is 1 by construction, or has no value at this length"
        return none("degenerate", reason, x, y)
    included = (
        None
        if families is None
        else [f for f, k in zip(families, known.tolist(), strict=True) if k]
    )
    units, drawn, widen, what = _units(n, included, n_effective)
    if not widen:
        return none("insufficient", what, x, y)
    first, second = both(multiplicities(n, rng, replicates, drawn))
    finite = np.isfinite(first) & np.isfinite(second)
    if finite.sum() < replicates // 2:
        return none("degenerate", "most resamples of the respondents have no reliability", x, y)
    distance = np.arctanh(np.clip(first[finite], -_EDGE, _EDGE)) - np.arctanh(
        np.clip(second[finite], -_EDGE, _EDGE)
    )
    error = max(math.sqrt((float(distance.std(ddof=1)) * widen) ** 2 + shared), least)
    if error < _SAME:
        return none("degenerate", "both measures give the same scores", x, y)
    return on_fisher_scale(x, y, error, units - 1, n, f"bootstrap over {what}, {replicates}", level)


_FEW = "a comparison needs 3 respondents in both, there are {n}"
_SAME = 1e-6
"""Below this standard error two measures give the same scores, up to rounding."""


def _none(
    n: int, level: float, status: Status, reason: str, x: float = math.nan, y: float = math.nan
) -> ReliabilityDifference:
    return ReliabilityDifference(x, y, x - y, n=n, level=level, status=status, reason=reason)


def lengthened(reliability: Array, factor: float) -> Array:
    """`spearman_brown` of an array; NaN where it has no value.

    >>> lengthened(np.array([0.6, -1.5]), 2).round(2)
    array([0.75,  nan])
    """
    below = 1 + (factor - 1) * reliability
    return np.where(below > 0, factor * reliability / np.where(below > 0, below, 1.0), np.nan)


def _units(
    n: int, families: Sequence[str] | None, n_effective: float | None
) -> tuple[float, Sequence[str] | None, float, str]:
    """How many units are drawn, which, by how much the error is widened (0: no test), and in words,
    or why not.
    """
    related = len(set(families)) if families is not None else n
    if related == n:
        few = f"a test over respondents needs {FEWEST} in both, there are {n}"
        return (n, None, 1.0, "respondents") if n >= FEWEST else (n, None, 0.0, few)
    if related == 1:
        return 1, None, 0.0, "all respondents are of one family"
    if related >= FEWEST:
        return related, families, 1.0, "families"
    size = n_effective if n_effective is not None and math.isfinite(n_effective) else related
    if size < FEWEST:
        counted = f"{n} of {related} families, which count as {size:.3g}"
        return (
            size,
            None,
            0.0,
            f"a test over respondents needs {FEWEST} independent ones, there are {counted}",
        )
    return min(size, n), None, math.sqrt(n / min(size, n)), f"respondents, n_eff {size:.4g}"


def on_fisher_scale(
    x: float, y: float, error: float, df: float, n: int, method: str, level: float
) -> ReliabilityDifference:
    """The test that two reliabilities are equal, from the standard error of the difference of their
    atanh.

    >>> result = on_fisher_scale(0.9, 0.8, 0.2, 99, 20, "known", 0.95)
    >>> round(result.p, 3), result.low < 0 < result.high
    (0.065, True)
    """
    gap, middle = math.atanh(x) - math.atanh(y), (math.atanh(x) + math.atanh(y)) / 2
    half = float(stdtrit(df, 0.5 + level / 2)) * error
    # the middle held still, so that the interval leaves out 0 exactly where the test rejects
    low, high = (
        math.tanh(middle + t / 2) - math.tanh(middle - t / 2) for t in (gap - half, gap + half)
    )
    p = 2 * float(stdtr(df, -abs(gap) / error))
    return ReliabilityDifference(x, y, x - y, low, high, p, n, method, level, error=error)


@dataclass(frozen=True, slots=True, eq=False)
class LeftOutScores:
    """A measure's scores in two or more administrations, and with each cluster of items left out.

    - `scores`: (administrations, respondents).
    - `without`: (administrations, respondents, clusters): the scores without each cluster.
    - `clusters`: (clusters,): their names. Clusters of one name in two measures are one picture.
    - `noise`: (respondents,): for `rho_g`, the variance of one run's score over seeds.
    - `sizes`: (clusters,): how many items each cluster has; equally many unless given.
    """

    scores: Array
    without: Array
    clusters: Sequence[str]
    noise: Array | None = None
    sizes: Array | None = None

    @property
    def influence(self) -> Array:
        """(administrations, respondents, clusters): what each cluster adds; their squares sum to
        the jackknife's variance.
        """
        count = len(self.clusters)
        return np.asarray(
            math.sqrt((count - 1) / count)
            * (self.without.mean(axis=2, keepdims=True) - self.without)
        )

    @property
    def noise_without(self) -> Array:
        """(respondents, clusters): the noise of the score without each cluster, at the same number
        of items.

        A larger picture holds more of the noise because it holds more of the items; only what goes
        beyond that says how the noise of other pictures would differ.
        """
        if self.noise is None:
            raise ValueError("rho_g needs the noise of the scores")
        size = np.ones(len(self.clusters)) if self.sizes is None else self.sizes
        left = size.sum() - size
        # of a mean this is what each cluster itself scored
        totals = size.sum() * self.scores[:, :, None] - left * self.without
        changes = totals.var(axis=0)
        total = changes.sum(axis=1, keepdims=True)
        share = np.divide(
            changes, total, out=np.tile(size / size.sum(), (len(changes), 1)), where=total > 1e-20
        )
        return np.asarray(self.noise[:, None] * (1 - share) * size.sum() / left)


def reliability_of_sets(
    scores: ArrayLike, statistic: Statistic, noise: ArrayLike | None = None
) -> Array:
    """A reliability of many sets of scores of the same respondents at once; as
    `weighted_reliability` of each set.

    - `scores`: (administrations, respondents, sets).
    - `noise`: (respondents, sets): for `rho_g`.

    >>> scores = [[9.0, 6, 8, 7, 10, 6], [2, 1, 4, 1, 5, 2], [5, 3, 6, 2, 6, 4], [8, 2, 8, 6, 9, 7]]
    >>> round(float(reliability_of_sets(np.array(scores)[:, :, None], "icc_a1")[0]),
    ...     4)  # Shrout and Fleiss 1979
    0.2898
    """
    x = np.asarray(scores, dtype=np.float64)
    x = x - x.mean(axis=(0, 1))
    mean = x.mean(axis=1)
    centred = x - mean[:, None]
    rows = (centred.sum(axis=0) ** 2).sum(axis=0)
    of_noise = None if noise is None else np.asarray(noise, dtype=np.float64).mean(axis=0)
    return _of_moments(statistic, x.shape[1], mean, (centred**2).sum(axis=1), rows, of_noise)


def _of_moments(
    statistic: Statistic,
    n: Array | int,
    mean: Array,
    spread: Array,
    rows: Array,
    noise: Array | None,
) -> Array:
    """(sets,): the reliability of sets of scores.

    - `mean, spread`: (administrations, sets): the mean, and the sum of squares about it.
    - `rows`: (sets,): the sum of squares of respondents' sums about their mean.
    - `noise`: (sets,): for `rho_g`, the mean noise.
    """
    k = len(mean)
    with np.errstate(divide="ignore", invalid="ignore"):
        if statistic == "pearson":
            return np.asarray((rows - spread.sum(axis=0)) / 2 / np.sqrt(spread[0] * spread[1]))
        if statistic == "icc_a1":
            msr = rows / k / (n - 1)
            msc = n * ((mean - mean.mean(axis=0)) ** 2).sum(axis=0) / (k - 1)
            mse = (spread.sum(axis=0) - rows / k) / ((n - 1) * (k - 1))
            return np.asarray((msr - mse) / (msr + (k - 1) * mse + k * (msc - mse) / n))
        if noise is None:
            raise ValueError("rho_g needs the noise of the scores")
        return np.asarray(1 - noise / (spread / (n - 1)).mean(axis=0))


def difference_over_clusters(
    measure: LeftOutScores,
    other: LeftOutScores,
    rng: np.random.Generator,
    *,
    statistic: Statistic = "pearson",
    factors: tuple[float, float] = (1.0, 1.0),
    draws: int = 2000,
    level: float = 0.95,
) -> ReliabilityDifference:
    """By how much one measure is more reliable than another for these respondents (fixed facet),
    over other pictures.

    Each picture is left out once from both measures, so that what they share cancels. The test
    needs no minimum of respondents beyond 3, and says nothing of other respondents.

        T = atanh(rho_one) - atanh(rho_other),   p from T / SE(T) on Student's t with C - 1 df
        rho_g:   SE^2 = (C - 1) / C  sum_c (T_(c) - mean T_(.))^2,   T_(c) without cluster c
        others:  SE = standard deviation of T over scores  S + sum_c g_c h_c,
        g_c standard normal, h_c the jackknife
                 influence of cluster c on all scores

    A correlation near 1 depends on the squares of small differences, of which the plain jackknife
    takes the slope only: its error would be half as large again where all differences are noise. So
    S are the scores whose differences between administrations and between respondents are shrunk by
    what the noise adds to their squares.

    Efron, B. and Tibshirani, R. J. (1993). An Introduction to the Bootstrap, ch. 11. Mammen, E.
    (1992). When Does Bootstrap Work? Springer.

    - `measure, other`: The same respondents in the same order; respondents that lack a score are
      left out.
    - `factors`: Lengths to bring the measures to, as in `reliability_difference`.
    - `draws`: How many sets of scores are drawn.

    The status is `insufficient` below 3 respondents or 10 clusters, `degenerate` where scores do
    not vary, a score is undefined without a cluster, a reliability is 1 by construction, or both
    measures give the same scores.

    >>> rng = np.random.default_rng(0)
    >>> def scored(noise):
    ...     items = np.arange(5.0)[:,
    ...         None] + rng.normal(size=(1, 5, 100)) + noise * rng.normal(size=(2, 5, 100))
    ...     total = items.sum(axis=2, keepdims=True)
    ...     return LeftOutScores(total[:, :, 0] / 100, (total - items) / 99,
    ...         [str(rng.random()) for _ in range(100)])
    >>> difference_over_clusters(scored(1.0), scored(8.0), rng).p < 0.05
    True
    """
    included = _complete(measure) & _complete(other)
    n = int(included.sum())
    counts = len(measure.clusters), len(other.clusters)
    none = partial(_none, n, level)
    if n < 3:
        return none("insufficient", _FEW.format(n=n))
    if min(counts) < FEWEST:
        return none(
            "insufficient", f"a test over pictures needs {FEWEST} of them, there are {min(counts)}"
        )
    a, b = _only(measure, included), _only(other, included)
    with np.errstate(invalid="ignore", divide="ignore"):
        x, y = (float(_at(m, statistic, f)) for m, f in zip((a, b), factors, strict=True))
    if not (abs(x) < _EDGE and abs(y) < _EDGE):
        return none(
            "degenerate",
            "a reliability is 1 by construction, has no value at this length, or the scores do not"
            " vary",
            x,
            y,
        )
    if not (np.isfinite(a.without).all() and np.isfinite(b.without).all()):
        return none("degenerate", "a score is undefined where a picture is left out", x, y)
    if statistic == "rho_g":
        error = _jackknifed(a, b, factors)
        how = f"pictures left out one by one, {min(counts)}"
    else:
        error = _drawn(a, b, statistic, factors, rng, draws)
        how = f"influences of pictures, {min(counts)}, {draws} draws"
    if not math.isfinite(error):
        return none("degenerate", "the reliability is undefined for most sets of pictures", x, y)
    if error < _SAME:
        return none("degenerate", "both measures give the same scores", x, y)
    return on_fisher_scale(x, y, error, min(counts) - 1.0, n, how, level)


def shared_variance(
    measure: LeftOutScores,
    other: LeftOutScores,
    *,
    statistic: Statistic = "pearson",
    factors: tuple[float, float] = (1.0, 1.0),
) -> float:
    """The part of the variance of T over pictures that all respondents share, and that drawing
    respondents does not see.

    Drawing respondents carries along the noise that each has for itself. What a picture does to all
    of them at once (a wording that everybody misunderstands) is the same in every draw, and is
    added here.

        sum_c [ (sum_m g_mc)^2 - sum_m g_mc^2 ],   g_mc = sum_k dT / dS_mk  h_mkc;
        0 where negative

    Owen, A. B. (2007). The pigeonhole bootstrap. Annals of Applied Statistics, 1, 386-411 (why both
    ways count, and why their sum counts the noise twice). NaN scores as in
    `difference_over_clusters`.

    >>> x = np.random.default_rng(0).normal(size=(2, 5, 20))
    >>> scores = LeftOutScores(x.mean(axis=2), (x.sum(axis=2, keepdims=True) - x) / 19,
    ...     [str(c) for c in range(20)])
    >>> shared_variance(scores, scores)
    0.0
    """
    included = _complete(measure) & _complete(other)
    if int(included.sum()) < 3:
        return 0.0
    parts = [
        _slope(_only(m, included), statistic, f)
        for m, f in zip((measure, other), factors, strict=True)
    ]
    if not all(np.isfinite(part).all() for part in parts):
        return 0.0
    joint = _joined(parts[0], parts[1], measure.clusters, other.clusters)
    return max(0.0, float((joint.sum(axis=0) ** 2 - (joint**2).sum(axis=0)).sum()))


def _complete(measure: LeftOutScores) -> Flags:
    known = np.isfinite(measure.scores).all(axis=0)
    return np.asarray(known if measure.noise is None else known & np.isfinite(measure.noise))


def _only(measure: LeftOutScores, included: Flags) -> LeftOutScores:
    noise = None if measure.noise is None else measure.noise[included]
    return LeftOutScores(
        measure.scores[:, included],
        measure.without[:, included],
        measure.clusters,
        noise,
        measure.sizes,
    )


def _at(measure: LeftOutScores, statistic: Statistic, factor: float) -> float:
    noise = None if measure.noise is None else measure.noise[:, None]
    return float(
        lengthened(reliability_of_sets(measure.scores[:, :, None], statistic, noise), factor)[0]
    )


def _fisher(reliability: Array) -> Array:
    return np.asarray(np.arctanh(np.clip(reliability, -_EDGE, _EDGE)))


def _joined(first: Array, other: Array, names: Sequence[str], others: Sequence[str]) -> Array:
    """The contributions of one measure less those of the other, over the clusters of both; the last
    axis is clusters.
    """
    position = {name: i for i, name in enumerate(dict.fromkeys((*names, *others)))}
    joint = np.zeros((*first.shape[:-1], len(position)))
    joint[..., [position[name] for name in names]] += first
    joint[..., [position[name] for name in others]] -= other
    return joint


def _jackknifed(a: LeftOutScores, b: LeftOutScores, factors: tuple[float, float]) -> float:
    parts = []
    for measure, factor in zip((a, b), factors, strict=True):
        count = len(measure.clusters)
        left = _fisher(
            lengthened(reliability_of_sets(measure.without, "rho_g", measure.noise_without), factor)
        )
        parts.append(math.sqrt((count - 1) / count) * (left - left.mean()))
    return math.sqrt(float((_joined(parts[0], parts[1], a.clusters, b.clusters) ** 2).sum()))


def _drawn(
    a: LeftOutScores,
    b: LeftOutScores,
    statistic: Statistic,
    factors: tuple[float, float],
    rng: np.random.Generator,
    draws: int,
) -> float:
    shapes = a.scores.shape, b.scores.shape
    sizes = [math.prod(shape) for shape in shapes]
    flat = [m.influence.reshape(size, -1) for m, size in zip((a, b), sizes, strict=True)]
    # both measures' influences over the clusters of either, so that a shared picture moves both
    rows = _joined(
        np.vstack([flat[0], np.zeros((sizes[1], flat[0].shape[1]))]),
        np.vstack([np.zeros((sizes[0], flat[1].shape[1])), -flat[1]]),
        a.clusters,
        b.clusters,
    )
    values, vectors = np.linalg.eigh(rows @ rows.T)
    moved = (vectors * np.sqrt(np.maximum(values, 0.0))) @ rng.standard_normal((len(values), draws))
    z = []
    for measure, factor, part in zip(
        (a, b), factors, (moved[: sizes[0]], moved[sizes[0] :]), strict=True
    ):
        scores = _shrunk(measure.scores, measure.influence)[:, :, None] + part.reshape(
            *measure.scores.shape, draws
        )
        z.append(_fisher(lengthened(reliability_of_sets(scores, statistic), factor)))
    distance = z[0] - z[1]
    distance = distance[np.isfinite(distance)]
    return float(distance.std(ddof=1)) if len(distance) >= draws // 2 else math.nan


def _shrunk(scores: Array, influence: Array) -> Array:
    """Scores whose squared differences are what they would be without the noise of the pictures."""

    def parts(x: Array) -> tuple[Array, Array, Array, Array]:
        grand = x.mean(axis=(0, 1), keepdims=True)
        rows, columns = x.mean(axis=0, keepdims=True) - grand, x.mean(axis=1, keepdims=True) - grand
        return grand, rows, columns, x - grand - rows - columns

    grand, *own = parts(scores[:, :, None])
    _, *noise = parts(influence)
    total = grand
    for part, of_noise in zip(own, noise, strict=True):
        square = float((part**2).sum())
        included = max(0.0, 1 - float((of_noise**2).sum()) / square) if square > 0 else 0.0
        total = total + math.sqrt(included) * part
    return np.asarray(total[:, :, 0])


def _slope(measure: LeftOutScores, statistic: Statistic, factor: float) -> Array:
    """(respondents, clusters): what each respondent's part of each cluster does to atanh of the
    reliability.
    """
    k, n = measure.scores.shape
    step = 1e-4 * float(measure.scores.std())
    moves = np.concatenate([np.eye(k * n), -np.eye(k * n)], axis=1).reshape(k, n, -1) * step
    noise = None if measure.noise is None else measure.noise[:, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        z = _fisher(
            lengthened(
                reliability_of_sets(measure.scores[:, :, None] + moves, statistic, noise), factor
            )
        )
        gradient = ((z[: k * n] - z[k * n :]) / (2 * step)).reshape(k, n)
    return np.asarray((gradient[:, :, None] * measure.influence).sum(axis=0))
