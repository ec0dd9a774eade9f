"""Reliability from a factor model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hqm.psychometrics.consistency import (
    RelativeError,
    complete_scores,
    of_respondents,
    relative_error,
    too_wide,
    varies_of,
)
from hqm.psychometrics.families import Relatives, at_least
from hqm.psychometrics.resampling import jackknife_variance, labels_of
from hqm.psychometrics.result import (
    Array,
    ArrayLike,
    Bounds,
    Coefficient,
    Places,
    is_constant,
    shaped,
)
from hqm.psychometrics.variance_components import (
    FEWEST_CLUSTERS,
    LARGEST,
    half_width_without,
)

_HEYWOOD = "a loading exceeds 1 (a Heywood case): one factor does not hold"


def omega_t(scores: ArrayLike, *, families: Sequence[str] = ()) -> Coefficient:
    """McDonald's omega total of a one-factor model fitted by unweighted least squares.

        omega = (sum of loadings)^2 / sum of all correlations   (McDonald 1999, Test Theory)

    Alpha assumes that every item measures equally strongly; omega lets them differ.

    - `scores`: (respondents, items, types or parcels); constant columns are left out.
    - `families`: (complete respondents,): labels of relatives.

    `degenerate` with the flag `HEYWOOD` where a loading exceeds 1, so that no factor holds.
    >>> scores = [[3, 4, 3], [1, 2, 2], [4, 4, 5], [2, 2, 3], [5, 3, 4]]
    >>> round(omega_t(scores).value, 4)
    0.8848
    """
    x = complete_scores(scores)
    if x.shape[0] >= 3:
        x = x[:, varies_of(x)]
        if x.shape[0] <= x.shape[1]:
            return Coefficient.absent("not_applicable", too_wide(x), x.shape[0])

    omega = of_respondents(x, _of_scores, "omega", families, items=3)
    if omega.status == "ok" and (np.abs(minres_loadings(np.corrcoef(x.T))) > 1).any():
        return replace(Coefficient.absent("degenerate", _HEYWOOD, len(x)), flags=("HEYWOOD",))
    return omega


def _of_scores(x: Array) -> float:
    if not varies_of(x).all():
        return math.nan
    r = np.corrcoef(x.T)
    return float(minres_loadings(r).sum() ** 2 / r.sum())


def omega_of_types(
    scores: ArrayLike,
    types: Sequence[str],
    clusters: ArrayLike | None = None,
    *,
    n_effective: float | None = None,
    families: Sequence[str] = (),
    level: float = 0.95,
) -> Coefficient:
    """McDonald's omega total over the mean scores by type, without what types share because they
    share pictures.

    Types that are asked about the same pictures correlate by the luck of these pictures. Their
    errors' covariances E are known from the residuals of respondent x item within pictures, and are
    taken off before the factor is fitted:

        R = correlations of the type means,   loadings from (S - E) / (s s') off the diagonal
        omega = (sum of loadings)^2 / sum of R

    The interval for these respondents leaves each cluster out, takes log(1 - omega) as linear in
    the covariances, and counts products of noise once (as `agreement_bounds` does).

    - `scores`: (respondents, items): a missing answer is left out.
    - `types, clusters`: (items,): labels; `families, n_effective`: as in `cronbach_alpha`.

    The status is `insufficient` below 3 respondents or 3 types that vary, `not_applicable` with as
    many types as respondents, `degenerate` where the factor explains nothing, and with the flag
    `HEYWOOD` where a loading exceeds 1.

    >>> answers = np.random.default_rng(1).random((8, 6)) < np.linspace(0.1, 0.9, 8)[:, None]
    >>> round(omega_of_types(answers.astype(float), list("aabbcc")).value, 2)
    0.77
    """
    x, kinds = shaped(scores, "respondents, items"), np.asarray(types)
    if kinds.shape != (x.shape[1],):
        raise ValueError(f"one type an item is needed, got {kinds.shape} for {x.shape[1]} items")
    names = np.unique(kinds)
    there = [np.isfinite(x[:, kinds == name]).any(axis=1) for name in names]
    included = np.logical_and.reduce(there) if there else np.zeros(len(x), dtype=bool)
    x, labels = x[included], np.unique(labels_of(clusters, x.shape[1]), return_inverse=True)[1]
    m = len(x)
    if m < 3:
        return Coefficient.absent(
            "insufficient",
            f"omega needs 3 respondents and 3 types, there are {m} and {len(names)}",
            m,
        )
    by_type = [relative_error(x[:, kinds == name], labels[kinds == name]) for name in names]
    means = [error.sums.sum(axis=1) / error.sizes.sum(axis=1) for error in by_type]
    varying = [i for i, mean in enumerate(means) if not is_constant(mean)]
    if len(varying) < 3:
        return Coefficient.absent(
            "insufficient", f"omega needs 3 types that vary, there are {len(varying)}", m
        )
    if m <= len(varying):
        return Coefficient.absent(
            "not_applicable",
            f"{len(varying)} types but only {m} respondents: their covariances cannot be modelled",
            m,
        )
    parts = [_Part(by_type[i], labels[kinds == names[i]], int(labels.max()) + 1) for i in varying]
    covariances, errors = _covariances(parts), _shared_errors(parts)
    if not np.isfinite(errors).all():
        reason = "a type has one item, or one picture, so that its error cannot be told"
        return Coefficient.absent("insufficient", reason, m)
    value, loadings = _omega(covariances, errors)
    if not math.isfinite(value) or value <= 0:
        return Coefficient.absent("degenerate", "one factor explains nothing of the types", m)
    if (np.abs(loadings) > 1).any() or value > 1:
        return replace(Coefficient.absent("degenerate", _HEYWOOD, m), flags=("HEYWOOD",))
    fixed = _bounds(parts, covariances, errors, level)
    scores = np.asarray(sum(part.mean / part.mean.std(ddof=1) for part in parts)) / len(parts)

    def statistic(rows: Places) -> tuple[float, float]:
        means = np.stack([part.mean[rows] for part in parts])
        if any(is_constant(mean) for mean in means):
            return math.nan, math.nan
        omega = _omega(np.cov(means), _shared_errors(parts, rows))[0]
        return omega, float(scores[rows].var(ddof=1))

    return at_least(
        Coefficient(value, n=m, level=level, fixed=fixed, n_items=x.shape[1]),
        statistic,
        scores,
        Relatives(tuple(families), n_effective).of(included),
        least=0.0,
    )


class _Part:
    """One type over all clusters: (respondents, clusters) sums, sizes and residuals, 0 where it has
    no item.
    """

    def __init__(self, error: RelativeError, labels: Places, clusters: int) -> None:
        where = np.unique(labels)
        self.sums, self.sizes, self.residuals = (
            np.zeros((len(error.sums), clusters)) for _ in range(3)
        )
        self.sums[:, where], self.sizes[:, where] = error.sums, error.sizes
        self.residuals[:, where] = error.residuals * math.sqrt(error.factor)
        self.n = error.sizes.sum(axis=1)
        self.total = error.sums.sum(axis=1)

    @property
    def mean(self) -> Array:
        return np.asarray(self.total / self.n)

    def without(self) -> Array:
        """(respondents, clusters): the mean score with each cluster left out."""
        return np.asarray(
            (self.total[:, None] - self.sums) / np.maximum(self.n[:, None] - self.sizes, 1)
        )


def _covariances(parts: Sequence[_Part]) -> Array:
    return np.cov(np.stack([part.mean for part in parts]))


def _shared_errors(parts: Sequence[_Part], rows: Places | slice = slice(None)) -> Array:
    """(types, types): the errors that types share through clusters, of some respondents."""
    count = len(parts[0].n[rows])
    scaled = np.stack([part.residuals[rows] / part.n[rows, None] for part in parts])
    if not isinstance(rows, slice):
        # the items' means are then those of these respondents
        scaled = scaled - scaled.mean(axis=1, keepdims=True)
        scaled *= math.sqrt(count / (count - 1) * (len(parts[0].n) - 1) / len(parts[0].n))
    return np.asarray(np.einsum("tmc,umc->tu", scaled, scaled) / count)


def _omega(covariances: Array, errors: Array) -> tuple[float, Array]:
    values, loadings = _omegas(covariances[None], errors[None])
    return float(values[0]), loadings[0]


def _omegas(covariances: Array, errors: Array) -> tuple[Array, Array]:
    """Omega (replicates,) and the loadings (replicates, types) of covariances (replicates, types,
    types).
    """
    deviations = np.sqrt(np.einsum("rii->ri", covariances))
    scale = deviations[:, :, None] * deviations[:, None, :]
    loadings = minres_loadings((covariances - errors) / scale)
    # types are weighted alike, each in its own unit
    return loadings.sum(axis=1) ** 2 / (covariances / scale).sum(axis=(1, 2)), loadings


def _gradient(covariances: Array, errors: Array, of_errors: bool) -> Array:
    """(types, types): how log(1 - omega) moves with each covariance, or with each covariance of
    errors.
    """
    count = len(covariances)
    step = 1e-4 * float(np.diag(covariances).mean())
    rows, columns = np.tril_indices(count)
    nudges = np.zeros((len(rows), count, count))
    nudges[np.arange(len(rows)), rows, columns] = nudges[np.arange(len(rows)), columns, rows] = step
    nudges = np.concatenate([nudges, -nudges])
    values, _ = _omegas(covariances + nudges * (not of_errors), errors + nudges * of_errors)
    if not (values < 1).all():
        return np.full((count, count), math.nan)
    up, down = np.split(np.log(1 - values), 2)
    gradient = np.zeros((count, count))
    gradient[rows, columns] = (up - down) / (2 * step)
    return gradient


def _bounds(
    parts: Sequence[_Part], covariances: Array, errors: Array, level: float
) -> Bounds | None:
    left = np.stack([part.without() for part in parts])
    left = left - left.mean(axis=1, keepdims=True)
    _, m, clusters = left.shape
    if clusters < FEWEST_CLUSTERS:
        return None
    moved = np.einsum("tmc,umc->ctu", left, left) / (m - 1) - covariances
    scaled = np.stack([part.residuals / part.n[:, None] for part in parts])
    lost = -np.einsum("tmc,umc->ctu", scaled, scaled) / m
    by_score, by_error = (_gradient(covariances, errors, which) for which in (False, True))
    logs = (moved * by_score + lost * by_error).sum(axis=(1, 2))
    if not np.isfinite(logs).all():
        return None
    # a product of two noises has half of the variance that leaving out finds
    own = (scaled**2).sum(axis=2)
    products = (1 + np.eye(len(parts))) * (own @ own.T) / (m - 1) ** 2
    jackknifed = float(jackknife_variance(logs))
    half = half_width_without(jackknifed, float((by_score**2 * products).sum()), clusters, level)
    if half > LARGEST:
        return None
    return Bounds.below_one(1 - _omega(covariances, errors)[0], half, "omega", level)


def minres_loadings(correlations: ArrayLike) -> Array:
    """The loadings of one factor that leave the smallest squared off-diagonal residuals.

    - `correlations`: (items, items), or (replicates, items, items) for as many rows of loadings:
      only what is off the diagonal is used.

    >>> minres_loadings([[1, 0.56, 0.48], [0.56, 1, 0.42], [0.48, 0.42, 1]]).round(3)
    array([0.8, 0.7, 0.6])
    """
    matrices = np.asarray(correlations, dtype=np.float64)
    r = np.array(matrices.reshape(-1, *matrices.shape[-2:]))
    items = np.arange(r.shape[1])
    # the first principal axis with the largest correlation of each item as its communality
    r[:, items, items] = 0.0
    r[:, items, items] = np.abs(r).max(axis=1)
    values, vectors = np.linalg.eigh(r)
    r[:, items, items] = 0.0
    loadings = vectors[:, :, -1] * np.sqrt(np.maximum(values[:, -1:], 1e-12))
    moving = np.arange(len(r))
    for _ in range(20_000):
        now, of = loadings[moving], r[moving]
        square, moved = (now**2).sum(axis=1), np.zeros(len(moving))
        for i in items:
            rest = square - now[:, i] ** 2
            new = np.einsum("rj,rj->r", of[:, i], now) / np.where(rest > 1e-300, rest, math.inf)
            moved = np.maximum(moved, np.abs(new - now[:, i]))
            square, now[:, i] = rest + new * new, new
        loadings[moving] = now
        moving = moving[moved >= 1e-12]
        if not len(moving):
            break
    loadings *= np.where(loadings.sum(axis=1, keepdims=True) >= 0, 1.0, -1.0)
    return np.asarray(loadings.reshape(matrices.shape[:-1]))
