"""Whether two measures differ in reliability for the respondents at hand, when other pictures are
drawn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import Array
from hqm.psychometrics.dependent import (
    ReliabilityDifference,
    Statistic,
    lengthened,
    on_fisher_scale,
)
from hqm.psychometrics.resampling import FEWEST
from hqm.psychometrics.result import Status

_EDGE = 1 - 1e-12


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
        changes = totals.var(axis=0, ddof=1)
        total = changes.sum(axis=1, keepdims=True)
        share = np.divide(
            changes, total, out=np.tile(size / size.sum(), (len(changes), 1)), where=total > 1e-20
        )
        return np.asarray(self.noise[:, None] * (1 - share) * size.sum() / left)


def reliability_of_sets(
    scores: npt.ArrayLike, statistic: Statistic, noise: npt.ArrayLike | None = None
) -> Array:
    """A reliability of many sets of scores of the same respondents at once; as
    `weighted_reliability` of each set.

    - `scores`: (administrations, respondents, sets).
    - `noise`: (respondents, sets): for `rho_g`.

    >>> scores = [[9.0, 6, 8, 7, 10, 6], [2, 1, 4, 1, 5, 2], [5, 3, 6, 2, 6, 4], [8, 2, 8, 6, 9, 7]]
    >>> round(float(reliability_of_sets(np.array(scores)[:, :, None], "icc_a1")[0]), 4)  # Shrout and Fleiss 1979
    0.2898
    """
    x = np.asarray(scores, dtype=np.float64)
    k, n = x.shape[:2]
    x = x - x.mean(axis=(0, 1))
    centred = x - x.mean(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        if statistic == "pearson":
            a, b = centred[0], centred[1]
            return np.asarray(
                (a * b).sum(axis=0) / np.sqrt((a * a).sum(axis=0) * (b * b).sum(axis=0))
            )
        if statistic == "icc_a1":
            rows = centred.mean(axis=0)
            msr = k * (rows**2).sum(axis=0) / (n - 1)
            msc = n * (x.mean(axis=1) ** 2).sum(axis=0) / (k - 1)
            mse = ((centred - rows) ** 2).sum(axis=(0, 1)) / ((n - 1) * (k - 1))
            return np.asarray((msr - mse) / (msr + (k - 1) * mse + k * (msc - mse) / n))
        if noise is None:
            raise ValueError("rho_g needs the noise of the scores")
        return np.asarray(
            1
            - np.asarray(noise, dtype=np.float64).mean(axis=0)
            / ((centred**2).sum(axis=1) / (n - 1)).mean(axis=0)
        )


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
        others:  SE = standard deviation of T over scores  S + sum_c g_c h_c,   g_c standard normal, h_c the jackknife
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
    ...     items = np.arange(5.0)[:, None] + rng.normal(size=(1, 5, 100)) + noise * rng.normal(size=(2, 5, 100))
    ...     total = items.sum(axis=2, keepdims=True)
    ...     return LeftOutScores(total[:, :, 0] / 100, (total - items) / 99, [str(rng.random()) for _ in range(100)])
    >>> difference_over_clusters(scored(1.0), scored(8.0), rng).p < 0.05
    True
    """
    kept = _complete(measure) & _complete(other)
    n = int(kept.sum())
    counts = len(measure.clusters), len(other.clusters)

    def none(
        status: Status, reason: str, x: float = math.nan, y: float = math.nan
    ) -> ReliabilityDifference:
        return ReliabilityDifference(x, y, x - y, n=n, level=level, status=status, reason=reason)

    if n < 3:
        return none("insufficient", f"a comparison needs 3 respondents in both, there are {n}")
    if min(counts) < FEWEST:
        return none(
            "insufficient", f"a test over pictures needs {FEWEST} of them, there are {min(counts)}"
        )
    a, b = _only(measure, kept), _only(other, kept)
    with np.errstate(invalid="ignore", divide="ignore"):
        x, y = (float(_at(m, statistic, f)) for m, f in zip((a, b), factors, strict=True))
    if not (abs(x) < _EDGE and abs(y) < _EDGE):
        reason = (
            "a reliability is 1 by construction, has no value at this length, or the scores do not"
            " vary"
        )
        return none("degenerate", reason, x, y)
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
    if error < 1e-12:
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

        sum_c [ (sum_m g_mc)^2 - sum_m g_mc^2 ],   g_mc = sum_k dT / dS_mk  h_mkc;   0 where negative

    Owen, A. B. (2007). The pigeonhole bootstrap. Annals of Applied Statistics, 1, 386-411 (why both
    ways count, and why their sum counts the noise twice). NaN scores as in
    `difference_over_clusters`.

    >>> x = np.random.default_rng(0).normal(size=(2, 5, 20))
    >>> scores = LeftOutScores(x.mean(axis=2), (x.sum(axis=2, keepdims=True) - x) / 19, [str(c) for c in range(20)])
    >>> shared_variance(scores, scores)
    0.0
    """
    kept = _complete(measure) & _complete(other)
    if int(kept.sum()) < 3:
        return 0.0
    parts = [
        _slope(_only(m, kept), statistic, f) for m, f in zip((measure, other), factors, strict=True)
    ]
    if not all(np.isfinite(part).all() for part in parts):
        return 0.0
    joint = _joined(parts[0], parts[1], measure.clusters, other.clusters)
    return max(0.0, float((joint.sum(axis=0) ** 2 - (joint**2).sum(axis=0)).sum()))


def _complete(measure: LeftOutScores) -> npt.NDArray[np.bool_]:
    known = np.isfinite(measure.scores).all(axis=0)
    return np.asarray(known if measure.noise is None else known & np.isfinite(measure.noise))


def _only(measure: LeftOutScores, kept: npt.NDArray[np.bool_]) -> LeftOutScores:
    noise = None if measure.noise is None else measure.noise[kept]
    return LeftOutScores(
        measure.scores[:, kept], measure.without[:, kept], measure.clusters, noise, measure.sizes
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
    place = {name: i for i, name in enumerate(dict.fromkeys((*names, *others)))}
    joint = np.zeros((*first.shape[:-1], len(place)))
    joint[..., [place[name] for name in names]] += first
    joint[..., [place[name] for name in others]] -= other
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
        kept = max(0.0, 1 - float((of_noise**2).sum()) / square) if square > 0 else 0.0
        total = total + math.sqrt(kept) * part
    return np.asarray(total[:, :, 0])


def _slope(measure: LeftOutScores, statistic: Statistic, factor: float) -> Array:
    """(respondents, clusters): what each respondent's part of each cluster does to atanh of the
    reliability.
    """
    k, n = measure.scores.shape
    step = 1e-4 * float(measure.scores.std()) or 1e-9
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
