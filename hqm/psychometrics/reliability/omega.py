"""Reliability from a factor model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np

from hqm.psychometrics.inference.families import Relatives, add_lower_bound, membership
from hqm.psychometrics.inference.resampling import cluster_labels, jackknife_variance
from hqm.psychometrics.reliability.consistency import (
    RelativeError,
    bounded_coefficient,
    complete_scores,
    relative_error,
    too_many_items_reason,
    varying_columns,
)
from hqm.psychometrics.result import (
    Array,
    ArrayLike,
    Coefficient,
    ConfidenceInterval,
    Indices,
    constant_vectors,
    float_array,
    is_constant,
)
from hqm.psychometrics.variance.variance_components import (
    MAX_HALF_WIDTH,
    MIN_CLUSTERS,
    corrected_half_width,
)

_HEYWOOD = "a loading exceeds 1 (a Heywood case): one factor does not hold"


def omega_t(scores: ArrayLike, *, families: Sequence[str] = ()) -> Coefficient:
    """Estimate McDonald's omega total by a one-factor model (unweighted least squares).

    Parameters
    ----------
    scores : array_like, shape (respondents, items, types or parcels)
        Constant columns are left out.
    families : sequence of str, shape (complete respondents,), optional
        Labels of relatives.

    Returns
    -------
    Coefficient
        Omega with its interval over other respondents. `degenerate` with the flag `HEYWOOD` where a
        loading exceeds 1, so that no factor holds.

    Notes
    -----
        omega = (sum of loadings)^2 / sum of all correlations   (McDonald 1999, Test Theory)

    Alpha assumes that every item measures equally strongly; omega lets them differ.

    Examples
    --------
    >>> scores = [[3, 4, 3], [1, 2, 2], [4, 4, 5], [2, 2, 3], [5, 3, 4]]
    >>> round(omega_t(scores).value, 4)
    0.8848
    """
    x = complete_scores(scores)
    if x.shape[0] >= 3:
        x = x[:, varying_columns(x)]
        # more items than respondents: the correlations are singular and one factor fits anything
        if x.shape[0] <= x.shape[1]:
            return Coefficient.absent("not_applicable", too_many_items_reason(x), x.shape[0])

    omega = bounded_coefficient(x, _omega_total, "omega", families, items=3)
    # a loading above 1 is a negative unique variance: the model does not hold
    if omega.status == "ok" and (np.abs(minres_loadings(np.corrcoef(x.T))) > 1).any():
        return replace(Coefficient.absent("degenerate", _HEYWOOD, len(x)), flags=("HEYWOOD",))
    return omega


def _omega_total(x: Array) -> float:
    # a resample of respondents may leave an item constant
    if not varying_columns(x).all():
        return math.nan
    # McDonald (1999): the numerator is the common variance, the denominator all of it
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
    """Estimate McDonald's omega total of type means, without error that types share.

    Parameters
    ----------
    scores : array_like, shape (respondents, items)
        a missing answer is left out.
    types : sequence of str, shape (items,)
        The type of each item.
    clusters : array_like, shape (items,), optional
        Labels of what items share, such as the picture; every item is its own cluster unless given.
    n_effective : float, optional
        Number of independent respondents, where some are relatives; all unless given.
    families : sequence of str, shape (respondents,), optional
        Labels of relatives; none unless given.
    level : float, default 0.95
        Confidence level of the interval.

    Returns
    -------
    Coefficient
        Omega with its intervals. The status is `insufficient` below 3 respondents or 3 types that
        vary, `not_applicable` with as many types as respondents, `degenerate` where the factor
        explains nothing, and with the flag `HEYWOOD` where a loading exceeds 1.

    Raises
    ------
    ValueError
        `types` has not one entry an item.

    Notes
    -----
    Types that are asked about the same pictures correlate by the luck of these pictures. Their
    errors' covariances E are known from the residuals of respondent x item within pictures, and are
    taken off before the factor is fitted:

        R = correlations of the type means,   loadings from (S - E) / (s s') off the diagonal
        omega = (sum of loadings)^2 / sum of R

    The interval for these respondents leaves each cluster out, takes log(1 - omega) as linear in
    the covariances, and counts products of noise once (as `agreement_interval` does).

    Examples
    --------
    >>> answers = np.random.default_rng(1).random((8, 6)) < np.linspace(0.1, 0.9, 8)[:, None]
    >>> round(omega_of_types(answers.astype(float), list("aabbcc")).value, 2)
    0.77
    """
    x = float_array(scores, "respondents, items")
    type_labels = np.asarray(types)
    if type_labels.shape != (x.shape[1],):
        raise ValueError(
            f"one type an item is needed, got {type_labels.shape} for {x.shape[1]} items"
        )
    type_names = np.unique(type_labels)
    # a respondent needs a score on every type to have a covariance with it
    has_scores = [np.isfinite(x[:, type_labels == name]).any(axis=1) for name in type_names]
    if has_scores:
        included = np.logical_and.reduce(has_scores)
    else:
        included = np.zeros(len(x), dtype=bool)
    x = x[included]
    cluster_index = np.unique(cluster_labels(clusters, x.shape[1]), return_inverse=True)[1]
    m = len(x)
    if m < 3:
        return Coefficient.absent(
            "insufficient",
            f"omega needs 3 respondents and 3 types, there are {m} and {len(type_names)}",
            m,
        )
    # the type's own M / (M - 1) and C / (C - 1), before types are put side by side
    type_errors = [
        relative_error(x[:, type_labels == name], cluster_index[type_labels == name])
        for name in type_names
    ]
    type_means = [error.sums.sum(axis=1) / error.sizes.sum(axis=1) for error in type_errors]
    varying_types = [i for i, mean in enumerate(type_means) if not is_constant(mean)]
    if len(varying_types) < 3:
        return Coefficient.absent(
            "insufficient", f"omega needs 3 types that vary, there are {len(varying_types)}", m
        )
    # the covariance matrix would have no full rank
    if m <= len(varying_types):
        return Coefficient.absent(
            "not_applicable",
            f"{len(varying_types)} types but only {m} respondents: their covariances cannot be"
            " modelled",
            m,
        )
    type_scores = [
        _TypeScores(
            type_errors[i],
            cluster_index[type_labels == type_names[i]],
            int(cluster_index.max()) + 1,
        )
        for i in varying_types
    ]
    covariances = _covariances(type_scores)
    scaled = _residuals_per_item(type_scores)
    errors = _shared_errors(scaled)
    if not np.isfinite(errors).all():
        reason = "a type has one item, or one picture, so that its error cannot be told"
        return Coefficient.absent("insufficient", reason, m)
    value, loadings = _omega(covariances, errors)
    if not math.isfinite(value) or value <= 0:
        return Coefficient.absent("degenerate", "one factor explains nothing of the types", m)
    if (np.abs(loadings) > 1).any() or value > 1:
        return replace(Coefficient.absent("degenerate", _HEYWOOD, m), flags=("HEYWOOD",))
    fixed = _jackknife_interval(type_scores, scaled, covariances, errors, level)
    scores = np.asarray(
        sum(type_score.mean / type_score.mean.std(ddof=1) for type_score in type_scores)
    ) / len(type_scores)

    means = np.stack([type_score.mean for type_score in type_scores])

    def statistic(rows: Indices) -> tuple[Array, Array]:
        samples = means[:, rows]
        centred = samples - samples.mean(axis=2, keepdims=True)
        sample_covariances = np.einsum("tsi,usi->stu", centred, centred) / (rows.shape[1] - 1)
        sample_errors = _sample_errors(scaled, rows)
        is_defined = ~constant_vectors(samples).any(axis=0)
        omegas = np.full(len(rows), math.nan)
        omegas[is_defined] = _omegas(sample_covariances[is_defined], sample_errors[is_defined])[0]
        return omegas, scores[rows].var(axis=1, ddof=1)

    return add_lower_bound(
        Coefficient(value, n=m, level=level, fixed=fixed, n_items=x.shape[1]),
        statistic,
        scores,
        Relatives(tuple(families), n_effective).subset(included),
        minimum=0.0,
        vectorized=True,
    )


class _TypeScores:
    """One type over all clusters: (respondents, clusters) sums, sizes and residuals, 0 where it has
    no item.
    """

    def __init__(self, error: RelativeError, labels: Indices, n_clusters: int) -> None:
        columns = np.unique(labels)
        self.sums, self.sizes, self.residuals = (
            np.zeros((len(error.sums), n_clusters)) for _ in range(3)
        )
        self.sums[:, columns] = error.sums
        self.sizes[:, columns] = error.sizes
        # squares of the residuals then sum to the error variance
        self.residuals[:, columns] = error.residuals * math.sqrt(error.factor)
        self.n = error.sizes.sum(axis=1)
        self.total = error.sums.sum(axis=1)

    @property
    def mean(self) -> Array:
        return np.asarray(self.total / self.n)

    def jackknife_means(self) -> Array:
        """(respondents, clusters): the mean score with each cluster left out."""
        return np.asarray(
            (self.total[:, None] - self.sums) / np.maximum(self.n[:, None] - self.sizes, 1)
        )


def _covariances(type_scores: Sequence[_TypeScores]) -> Array:
    return np.cov(np.stack([type_score.mean for type_score in type_scores]))


def _residuals_per_item(type_scores: Sequence[_TypeScores]) -> Array:
    """(types, respondents, clusters): sums of residuals over the respondent's number of items."""
    return np.stack([type_score.residuals / type_score.n[:, None] for type_score in type_scores])


def _shared_errors(scaled: Array) -> Array:
    """(types, types): the errors that types share through clusters, of residuals per item."""
    return np.asarray(np.einsum("tmc,umc->tu", scaled, scaled) / scaled.shape[1])


def _sample_errors(scaled: Array, rows: Indices) -> Array:
    """(samples, types, types): the errors that types share through clusters, of samples of
    respondents, (samples, rows).
    """
    count = scaled.shape[1]
    members = membership(rows, count)
    n_rows = rows.shape[1]
    sums = np.empty((len(rows), len(scaled), len(scaled)))
    for first, second in combinations_with_replacement(range(len(scaled)), 2):
        # (respondents, respondents): products of residuals, summed over clusters
        products = scaled[first] @ scaled[second].T
        # about the items' means, which are those of these respondents
        shared = members @ np.diag(products) - np.vecdot(members @ products, members) / n_rows
        sums[:, first, second] = sums[:, second, first] = shared
    # M / (M - 1) of these rows in the place of that of all respondents
    return np.asarray(sums / (n_rows - 1) * (count - 1) / count)


def _omega(covariances: Array, errors: Array) -> tuple[float, Array]:
    values, loadings = _omegas(covariances[None], errors[None])
    return float(values[0]), loadings[0]


def _omegas(covariances: Array, errors: Array) -> tuple[Array, Array]:
    """Omega (replicates,) and the loadings (replicates, types) of covariances (replicates, types,
    types).
    """
    # (replicates, types): standard deviations of the type means
    deviations = np.sqrt(np.einsum("rii->ri", covariances))
    scale = deviations[:, :, None] * deviations[:, None, :]
    loadings = minres_loadings((covariances - errors) / scale)
    # types are weighted alike, each in its own unit
    return loadings.sum(axis=1) ** 2 / (covariances / scale).sum(axis=(1, 2)), loadings


def _gradient(covariances: Array, errors: Array, wrt_errors: bool) -> Array:
    """(types, types): how log(1 - omega) moves with each covariance, or with each covariance of
    errors.
    """
    count = len(covariances)
    # small beside the variances, and far above rounding
    step = 1e-4 * float(np.diag(covariances).mean())
    rows, columns = np.tril_indices(count)
    steps = np.zeros((len(rows), count, count))
    # both triangles move together, one entry of the gradient stands for the pair
    steps[np.arange(len(rows)), rows, columns] = steps[np.arange(len(rows)), columns, rows] = step
    # central differences
    steps = np.concatenate([steps, -steps])
    values, _ = _omegas(covariances + steps * (not wrt_errors), errors + steps * wrt_errors)
    # log(1 - omega) does not exist at 1
    if not (values < 1).all():
        return np.full((count, count), math.nan)
    upper, lower = np.split(np.log(1 - values), 2)
    gradient = np.zeros((count, count))
    gradient[rows, columns] = (upper - lower) / (2 * step)
    return gradient


def _jackknife_interval(
    type_scores: Sequence[_TypeScores],
    scaled: Array,
    covariances: Array,
    errors: Array,
    level: float,
) -> ConfidenceInterval | None:
    replicates = np.stack([type_score.jackknife_means() for type_score in type_scores])
    # covariances between respondents need the mean over respondents taken off
    replicates = replicates - replicates.mean(axis=1, keepdims=True)
    _, m, n_clusters = replicates.shape
    if n_clusters < MIN_CLUSTERS:
        return None
    # first-order changes of the covariances without each cluster
    covariance_changes = np.einsum("tmc,umc->ctu", replicates, replicates) / (m - 1) - covariances
    # to first order the cluster's own products drop out of the sum in `_shared_errors`
    error_changes = -np.einsum("tmc,umc->ctu", scaled, scaled) / m
    score_gradient, error_gradient = (
        _gradient(covariances, errors, wrt_errors) for wrt_errors in (False, True)
    )
    log_changes = (covariance_changes * score_gradient + error_changes * error_gradient).sum(
        axis=(1, 2)
    )
    if not np.isfinite(log_changes).all():
        return None
    # a product of two noises has half of the variance that leaving out finds. By Isserlis (1918) a
    # squared noise varies twice as much as a product of two
    error_variances = (scaled**2).sum(axis=2)
    product_variances = (
        (1 + np.eye(len(type_scores))) * (error_variances @ error_variances.T) / (m - 1) ** 2
    )
    log_variance = float(jackknife_variance(log_changes))
    half_width = corrected_half_width(
        log_variance, float((score_gradient**2 * product_variances).sum()), n_clusters, level
    )
    if half_width > MAX_HALF_WIDTH:
        return None
    return ConfidenceInterval.from_log_complement(
        1 - _omega(covariances, errors)[0], half_width, "omega", level
    )


def minres_loadings(correlations: ArrayLike) -> Array:
    """Fit one factor by minimum residuals.

    Parameters
    ----------
    correlations : array_like, shape (items, items)
        Or (replicates, items, items) for as many rows of loadings: only what is off the diagonal is
        used.

    Returns
    -------
    Array
        (items,) or (replicates, items): the loadings; their sum is not negative.

    Examples
    --------
    >>> minres_loadings([[1, 0.56, 0.48], [0.56, 1, 0.42], [0.48, 0.42, 1]]).round(3)
    array([0.8, 0.7, 0.6])
    """
    matrices = np.asarray(correlations, dtype=np.float64)
    r = np.array(matrices.reshape(-1, *matrices.shape[-2:]))
    items = np.arange(r.shape[1])
    # the first principal axis with the largest correlation of each item as its communality
    r[:, items, items] = 0.0
    r[:, items, items] = np.abs(r).max(axis=1)
    eigenvalues, vectors = np.linalg.eigh(r)
    # the diagonal is no part of the minres criterion
    r[:, items, items] = 0.0
    loadings = vectors[:, :, -1] * np.sqrt(np.maximum(eigenvalues[:, -1:], 1e-12))
    active = np.arange(len(r))
    for _ in range(20_000):
        current = loadings[active]
        # coordinate descent on sum_{i<j} (r_ij - l_i l_j)^2: l_i = sum_j r_ij l_j / sum_j l_j^2, j
        # != i (minres, Harman and Jones 1966, Psychometrika 31)
        active_r = r[active]
        square = (current**2).sum(axis=1)
        changes = np.zeros(len(active))
        for i in items:
            remaining = square - current[:, i] ** 2
            updated = np.einsum("rj,rj->r", active_r[:, i], current) / np.where(
                remaining > 1e-300, remaining, math.inf
            )
            changes = np.maximum(changes, np.abs(updated - current[:, i]))
            square = remaining + updated * updated
            current[:, i] = updated
        loadings[active] = current
        # replicates that have converged are left alone
        active = active[changes >= 1e-12]
        if not len(active):
            break
    # a factor's sign is arbitrary: positive where most loadings are
    loadings *= np.where(loadings.sum(axis=1, keepdims=True) >= 0, 1.0, -1.0)
    return np.asarray(loadings.reshape(matrices.shape[:-1]))
