"""Reliabilities of two measures from the same respondents, and tests of their difference over other
respondents and other pictures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import compress
from typing import Literal

import numpy as np
from scipy.special import stdtr, stdtrit

from hqm.psychometrics.inference.resampling import MIN_UNITS, bootstrap_counts
from hqm.psychometrics.result import Array, ArrayLike, BoolArray, Outcome, Status, is_constant

Statistic = Literal["pearson", "icc_a1", "rho_g"]
_MAX_CORRELATION = 1 - 1e-12


@dataclass(frozen=True, slots=True)
class ReliabilityDifference(Outcome):
    """Two reliabilities of the same respondents, with a test of their difference.

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
    """Compute a reliability for many resamples of the respondents at once.

    Parameters
    ----------
    weights : array_like, shape (replicates, respondents)
        How often each respondent is drawn.
    scores : array_like, shape (administrations, respondents)
        Scores of the respondents.
    statistic : {'pearson', 'icc_a1', 'rho_g'}, default 'pearson'
        Which reliability.
    noise : array_like, shape (respondents,), optional
        For `rho_g`, the variance of one run's score over seeds.

    Returns
    -------
    ndarray
        (replicates,); NaN where a replicate does not vary.

    Raises
    ------
    ValueError
        The scores have another shape, or `rho_g` lacks the noise.

    Notes
    -----
        pearson   the correlation of the first two administrations
        icc_a1    (MSR - MSE) / (MSR + (k - 1) MSE + k (MSC - MSE) / n), all k administrations
        rho_g     1 - mean noise / mean over administrations of the variance of the scores

    Examples
    --------
    >>> scores = [[9.0, 6, 8, 7, 10, 6], [2, 1, 4, 1, 5, 2], [5, 3, 6, 2, 6, 4], [8, 2, 8, 6, 9, 7]]
    >>> round(float(weighted_reliability([[1] * 6], scores, "icc_a1")[0]),
    ...     4)  # Shrout and Fleiss 1979
    0.2898
    """
    w = np.atleast_2d(np.asarray(weights, dtype=np.float64))
    x = np.asarray(scores, dtype=np.float64)
    if x.ndim != 2 or w.shape[1] != x.shape[1]:
        raise ValueError(f"scores must have shape (administrations, {w.shape[1]}), got {x.shape}")
    n = w.sum(axis=1)
    # sums of squares lose digits where the mean is large beside the variance
    x = x - x.mean()
    mean = x @ w.T / n
    square = (x * x) @ w.T
    sum_squares = square - n * mean**2
    # sums over administrations, from which pearson and ICC follow
    respondent_squares = w @ x.sum(axis=0) ** 2 - n * mean.sum(axis=0) ** 2
    # relative to the raw squares, so that a constant is one in any unit
    constant = (sum_squares <= 1e-12 * np.maximum(square, 1e-300)).any(axis=0)
    if noise is None:
        mean_noise = None
    else:
        mean_noise = w @ np.asarray(noise, dtype=np.float64) / n
    reliability = _reliability_from_moments(
        statistic, n, mean, sum_squares, respondent_squares, mean_noise
    )
    # what is left of a perfect repetition after subtraction is rounding
    reliability = np.where(
        np.abs(reliability) > _MAX_CORRELATION, np.sign(reliability), reliability
    )
    return np.asarray(np.where(constant, np.nan, reliability), dtype=np.float64)


def reliability_difference(
    measure: ArrayLike,
    other_measure: ArrayLike,
    rng: np.random.Generator,
    *,
    statistic: Statistic = "pearson",
    noise: tuple[ArrayLike, ArrayLike] | None = None,
    factors: tuple[float, float] = (1.0, 1.0),
    families: Sequence[str] | None = None,
    n_effective: float | None = None,
    shared: float = 0.0,
    min_error: float = 0.0,
    replicates: int = 2000,
    level: float = 0.95,
) -> ReliabilityDifference:
    """Test whether two measures are equally reliable, over another sample of respondents.

    Strong respondents are strong in both measures, so the two reliabilities go up and down
    together, and whether their intervals overlap says nothing. Here each replicate draws the same
    respondents (or families) for both.

    Parameters
    ----------
    measure, other_measure : array_like, shape (administrations, respondents)
        Each measure's scores; respondents that lack one are left out.
    rng : numpy.random.Generator
        Draws the respondents.
    statistic : {'pearson', 'icc_a1', 'rho_g'}, default 'pearson'
        Which reliability, as in `weighted_reliability`.
    noise : pair of array_like, optional
        For `rho_g`, the noise of each measure, as in `weighted_reliability`.
    factors : pair of float, default (1.0, 1.0)
        Lengths to bring the measures to, as multiples of their own (Spearman-Brown), so that a long
        test and a short one compare as if equally long.
    families : sequence of str, shape (respondents,), optional
        Relatives are drawn together. With fewer than 10 families respondents are drawn and the
        error is widened by sqrt(n / n_effective).
    n_effective : float, optional
        Number of independent respondents, for that case.
    shared : float, default 0.0
        Variance of T over items that all respondents share (`shared_variance`), where it is known.
    min_error : float, default 0.0
        Standard error of T over items for these respondents, where it is known.
    replicates : int, default 2000
        Number of bootstrap replicates.
    level : float, default 0.95
        Confidence level of the intervals.

    Returns
    -------
    ReliabilityDifference
        The status is `insufficient` without a test below 10 independent respondents, and where all
        are of one family; below 3 respondents there are no values either. The status is
        `degenerate` where scores do not vary, a reliability is 1 by construction, or both measures
        give the same scores.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        T = atanh(rho_one) - atanh(rho_other),   p from T / SE(T) on Student's t with units - 1 df
        SE(T)^2 over replicates, plus `shared`; the interval of rho_one - rho_other is that of T,
            taken back around the
        mean of both

    docs/psychometrics_compare.md has the rates of false alarms, which
    `tests/perf/compare_errors.py` measures. Other respondents meet other items too, so the error
    contains what the items do to all respondents alike, and is never smaller than the error over
    items.

    References
    ----------
    .. [1] Efron, B. and Tibshirani, R. J. (1993). An Introduction to the Bootstrap.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> trait = rng.normal(size=40)
    >>> good, poor = trait + 0.2 * rng.normal(size=(2, 40)), trait + rng.normal(size=(2, 40))
    >>> result = reliability_difference(good, poor, rng)
    >>> result.difference > 0.2, result.p < 0.01
    (True, True)
    """
    a = np.asarray(measure, dtype=np.float64)
    b = np.asarray(other_measure, dtype=np.float64)
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1] or min(len(a), len(b)) < 2:
        raise ValueError(
            f"two arrays (administrations, respondents) are needed, got shapes {a.shape} and"
            f" {b.shape}"
        )
    complete = np.asarray(np.isfinite(a).all(axis=0) & np.isfinite(b).all(axis=0))
    noises: Sequence[Array | None] = (None, None)
    if noise is not None:
        noise_table = np.array([np.asarray(v, dtype=np.float64) for v in noise])
        complete = complete & np.isfinite(noise_table).all(axis=0)
        noises = tuple(noise_table[:, complete])
    a = a[:, complete]
    b = b[:, complete]
    n = a.shape[1]
    undefined = partial(_undefined_difference, n, level)
    if n < 3:
        return undefined("insufficient", _TOO_FEW_RESPONDENTS.format(n=n))
    # atanh(1) is infinite: no reliability of a constant, none of a perfect repetition
    if any(is_constant(row) for row in (*a, *b)):
        return undefined("degenerate", "all respondents have the same score in an administration")

    def reliabilities(weights: Array) -> tuple[Array, Array]:
        first = weighted_reliability(weights, a, statistic, noises[0])
        second = weighted_reliability(weights, b, statistic, noises[1])
        return spearman_brown_array(first, factors[0]), spearman_brown_array(second, factors[1])

    x, y = (float(v[0]) for v in reliabilities(np.ones((1, n))))
    if not (abs(x) < _MAX_CORRELATION and abs(y) < _MAX_CORRELATION):
        reason = "a reliability is 1 by construction, or has no value at this length"
        return undefined("degenerate", reason, x, y)
    kept_families = None
    if families is not None:
        kept_families = list(compress(families, complete.tolist()))
    n_units, resampled_families, inflation, unit_name = _resampling_units(
        n, kept_families, n_effective
    )
    if not inflation:
        return undefined("insufficient", unit_name, x, y)
    # the same draws for both measures, so that what respondents share cancels in the difference
    z_differences = _z_differences(
        *reliabilities(bootstrap_counts(n, rng, replicates, resampled_families))
    )
    # replicates without a reliability are dropped; where they are most, the rest are no sample
    if len(z_differences) < replicates // 2:
        return undefined(
            "degenerate", "most resamples of the respondents have no reliability", x, y
        )
    # respondents and pictures are crossed: the variance over pictures that all share is added (Owen
    # 2007), and the sum is never below the error over pictures alone
    error = max(math.sqrt((float(z_differences.std(ddof=1)) * inflation) ** 2 + shared), min_error)
    if error < _MIN_STANDARD_ERROR:
        return undefined("degenerate", "both measures give the same scores", x, y)
    return fisher_z_test(
        x, y, error, n_units - 1, n, f"bootstrap over {unit_name}, {replicates}", level
    )


def _z_differences(first: Array, second: Array) -> Array:
    """Differences of Fisher's z, of the replicates in which both reliabilities exist."""
    finite = np.isfinite(first) & np.isfinite(second)
    return _fisher_z(first[finite]) - _fisher_z(second[finite])


_TOO_FEW_RESPONDENTS = "a comparison needs 3 respondents in both, there are {n}"
_MIN_STANDARD_ERROR = 1e-6
"""Below this standard error two measures give the same scores, up to rounding."""


def _undefined_difference(
    n: int, level: float, status: Status, reason: str, x: float = math.nan, y: float = math.nan
) -> ReliabilityDifference:
    return ReliabilityDifference(x, y, x - y, n=n, level=level, status=status, reason=reason)


def spearman_brown_array(reliability: Array, factor: float) -> Array:
    """`spearman_brown` of an array; NaN where it has no value.

    >>> spearman_brown_array(np.array([0.6, -1.5]), 2).round(2)
    array([0.75,  nan])
    """
    denominator = 1 + (factor - 1) * reliability
    return np.where(
        denominator > 0, factor * reliability / np.where(denominator > 0, denominator, 1.0), np.nan
    )


def _resampling_units(
    n: int, families: Sequence[str] | None, n_effective: float | None
) -> tuple[float, Sequence[str] | None, float, str]:
    """The number of units, their families (None for respondents), the factor of the standard error
    (0 where there is no test), and the units' name or the reason.
    """
    # relatives resemble one another: they are drawn together, as in a cluster bootstrap
    n_families = len(set(families)) if families is not None else n
    if n_families == n:
        if n >= MIN_UNITS:
            return n, None, 1.0, "respondents"
        return n, None, 0.0, f"a test over respondents needs {MIN_UNITS} in both, there are {n}"
    if n_families == 1:
        return 1, None, 0.0, "all respondents are of one family"
    if n_families >= MIN_UNITS:
        return n_families, families, 1.0, "families"
    if n_effective is not None and math.isfinite(n_effective):
        size = n_effective
    else:
        size = n_families
    if size < MIN_UNITS:
        reason = (
            f"a test over respondents needs {MIN_UNITS} independent ones, there are {n} of"
            f" {n_families} families, which count as {size:.3g}"
        )
        return size, None, 0.0, reason
    # too few families to draw: respondents are drawn, and the error is that of `size` of them
    return min(size, n), None, math.sqrt(n / min(size, n)), f"respondents, n_eff {size:.4g}"


def fisher_z_test(
    x: float, y: float, error: float, df: float, n: int, method: str, level: float
) -> ReliabilityDifference:
    """The test that two reliabilities are equal, from the standard error of the difference of their
    atanh.

    >>> result = fisher_z_test(0.9, 0.8, 0.2, 99, 20, "known", 0.95)
    >>> round(result.p, 3), result.low < 0 < result.high
    (0.065, True)
    """
    z_difference = math.atanh(x) - math.atanh(y)
    mean_z = (math.atanh(x) + math.atanh(y)) / 2
    half_width = float(stdtrit(df, 0.5 + level / 2)) * error
    # the middle held still, so that the interval leaves out 0 exactly where the test rejects
    # atanh(x) and atanh(y) lie half the difference above and below their mean
    low, high = (
        math.tanh(mean_z + t / 2) - math.tanh(mean_z - t / 2)
        for t in (z_difference - half_width, z_difference + half_width)
    )
    p = 2 * float(stdtr(df, -abs(z_difference) / error))
    return ReliabilityDifference(x, y, x - y, low, high, p, n, method, level, error=error)


@dataclass(frozen=True, slots=True, eq=False)
class LeaveOneOutScores:
    """A measure's scores in two or more administrations, and with each cluster of items left out.

    Attributes
    ----------
    scores
        (administrations, respondents).
    replicates
        (administrations, respondents, clusters): the scores without each cluster.
    clusters
        (clusters,): their names. Clusters of one name in two measures are one picture.
    noise
        (respondents,): for `rho_g`, the variance of one run's score over seeds.
    sizes
        (clusters,): how many items each cluster has; equally many unless given.
    """

    scores: Array
    replicates: Array
    clusters: Sequence[str]
    noise: Array | None = None
    sizes: Array | None = None

    @property
    def influence(self) -> Array:
        """(administrations, respondents, clusters): what each cluster adds; their squares sum to
        the jackknife's variance.
        """
        n_clusters = len(self.clusters)
        return np.asarray(
            # h = sqrt((C - 1) / C) (mean - leave-one-out): sum of h^2 is the jackknife's variance
            math.sqrt((n_clusters - 1) / n_clusters)
            * (self.replicates.mean(axis=2, keepdims=True) - self.replicates)
        )

    @property
    def noise_replicates(self) -> Array:
        """(respondents, clusters): the noise of the score without each cluster, at the same number
        of items.

        A larger picture holds more of the noise because it holds more of the items; only what goes
        beyond that says how the noise of other pictures would differ.
        """
        if self.noise is None:
            raise ValueError("rho_g needs the noise of the scores")
        size = np.ones(len(self.clusters)) if self.sizes is None else self.sizes
        # C S - (C - 1) S_(c), with sizes in the place of numbers: Tukey's pseudovalue
        remaining_size = size.sum() - size
        # of a mean this is what each cluster itself scored
        cluster_scores = size.sum() * self.scores[:, :, None] - remaining_size * self.replicates
        cluster_variances = cluster_scores.var(axis=0)
        total = cluster_variances.sum(axis=1, keepdims=True)
        # where nothing differs between runs, noise is shared in proportion to the items
        share = np.divide(
            cluster_variances,
            total,
            out=np.tile(size / size.sum(), (len(cluster_variances), 1)),
            where=total > 1e-20,
        )
        return np.asarray(self.noise[:, None] * (1 - share) * size.sum() / remaining_size)


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
    # one constant for all administrations, so that shifts between them stay
    x = x - x.mean(axis=(0, 1))
    mean = x.mean(axis=1)
    centred = x - mean[:, None]
    respondent_squares = (centred.sum(axis=0) ** 2).sum(axis=0)
    if noise is None:
        mean_noise = None
    else:
        mean_noise = np.asarray(noise, dtype=np.float64).mean(axis=0)
    return _reliability_from_moments(
        statistic, x.shape[1], mean, (centred**2).sum(axis=1), respondent_squares, mean_noise
    )


def _reliability_from_moments(
    statistic: Statistic,
    n: Array | int,
    mean: Array,
    sum_squares: Array,
    respondent_squares: Array,
    mean_noise: Array | None,
) -> Array:
    """(sets,): the reliability of sets of scores.

    - `mean, sum_squares`: (administrations, sets): the mean, and the sum of squares about it.
    - `respondent_squares`: (sets,): the sum of squares of respondents' sums about their mean.
    - `mean_noise`: (sets,): for `rho_g`, the mean noise.
    """
    k = len(mean)
    with np.errstate(divide="ignore", invalid="ignore"):
        if statistic == "pearson":
            # cov(a, b) = (var(a + b) - var(a) - var(b)) / 2
            return np.asarray(
                (respondent_squares - sum_squares.sum(axis=0))
                / 2
                / np.sqrt(sum_squares[0] * sum_squares[1])
            )
        if statistic == "icc_a1":
            # McGraw and Wong (1996), ICC(A,1): two-way, absolute agreement, single measurement
            msr = respondent_squares / k / (n - 1)
            msc = n * ((mean - mean.mean(axis=0)) ** 2).sum(axis=0) / (k - 1)
            mse = (sum_squares.sum(axis=0) - respondent_squares / k) / ((n - 1) * (k - 1))
            return np.asarray((msr - mse) / (msr + (k - 1) * mse + k * (msc - mse) / n))
        if mean_noise is None:
            raise ValueError("rho_g needs the noise of the scores")
        return np.asarray(1 - mean_noise / (sum_squares / (n - 1)).mean(axis=0))


def difference_over_clusters(
    measure: LeaveOneOutScores,
    other_measure: LeaveOneOutScores,
    rng: np.random.Generator,
    *,
    statistic: Statistic = "pearson",
    factors: tuple[float, float] = (1.0, 1.0),
    draws: int = 2000,
    level: float = 0.95,
) -> ReliabilityDifference:
    """Test whether two measures are equally reliable for these respondents, over other pictures.

    Each picture is left out once from both measures, so that what they share cancels. The test
    needs no minimum of respondents beyond 3, and says nothing of other respondents.

    Parameters
    ----------
    measure, other_measure : LeaveOneOutScores
        The same respondents in the same order; respondents that lack a score are left out.
    rng : numpy.random.Generator
        Draws the sets of scores.
    statistic : {'pearson', 'icc_a1', 'rho_g'}, default 'pearson'
        Which reliability, as in `weighted_reliability`.
    factors : pair of float, default (1.0, 1.0)
        Lengths to bring the measures to, as in `reliability_difference`.
    draws : int, default 2000
        How many sets of scores are drawn.
    level : float, default 0.95
        Confidence level of the intervals.

    Returns
    -------
    ReliabilityDifference
        The status is `insufficient` below 3 respondents or 10 clusters, `degenerate` where scores
        do not vary, a score is undefined without a cluster, a reliability is 1 by construction, or
        both measures give the same scores.

    Notes
    -----
        T = atanh(rho_one) - atanh(rho_other),   p from T / SE(T) on Student's t with C - 1 df
        rho_g:   SE^2 = (C - 1) / C  sum_c (T_(c) - mean T_(.))^2,   T_(c) without cluster c
        others:  SE = standard deviation of T over scores  S + sum_c g_c h_c,
        g_c standard normal, h_c the jackknife
                 influence of cluster c on all scores

    A correlation near 1 depends on the squares of small differences, of which the plain jackknife
    takes the slope only: its error would be half as large again where all differences are noise. So
    S are the scores whose differences between administrations and between respondents are shrunk by
    what the noise adds to their squares.

    References
    ----------
    .. [1] Efron, B. and Tibshirani, R. J. (1993). An Introduction to the Bootstrap, ch. 11.
    .. [2] Mammen, E. (1992). When Does Bootstrap Work? Springer.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> def scored(noise):
    ...     items = np.arange(5.0)[:,
    ...         None] + rng.normal(size=(1, 5, 100)) + noise * rng.normal(size=(2, 5, 100))
    ...     total = items.sum(axis=2, keepdims=True)
    ...     return LeaveOneOutScores(total[:, :, 0] / 100, (total - items) / 99,
    ...         [str(rng.random()) for _ in range(100)])
    >>> difference_over_clusters(scored(1.0), scored(8.0), rng).p < 0.05
    True
    """
    included = _complete_respondents(measure) & _complete_respondents(other_measure)
    n = int(included.sum())
    cluster_counts = len(measure.clusters), len(other_measure.clusters)
    undefined = partial(_undefined_difference, n, level)
    if n < 3:
        return undefined("insufficient", _TOO_FEW_RESPONDENTS.format(n=n))
    if min(cluster_counts) < MIN_UNITS:
        return undefined(
            "insufficient",
            f"a test over pictures needs {MIN_UNITS} of them, there are {min(cluster_counts)}",
        )
    a = _select_respondents(measure, included)
    b = _select_respondents(other_measure, included)
    with np.errstate(invalid="ignore", divide="ignore"):
        x, y = (
            float(_projected_reliability(m, statistic, f))
            for m, f in zip((a, b), factors, strict=True)
        )
    if not (abs(x) < _MAX_CORRELATION and abs(y) < _MAX_CORRELATION):
        return undefined(
            "degenerate",
            "a reliability is 1 by construction, has no value at this length, or the scores do not"
            " vary",
            x,
            y,
        )
    if not (np.isfinite(a.replicates).all() and np.isfinite(b.replicates).all()):
        return undefined("degenerate", "a score is undefined where a picture is left out", x, y)
    # noise is a sum over clusters and needs no correction of squares: the plain jackknife will do
    if statistic == "rho_g":
        error = _jackknife_error(a, b, factors)
        method = f"pictures left out one by one, {min(cluster_counts)}"
    else:
        error = _bootstrap_error(a, b, statistic, factors, rng, draws)
        method = f"influences of pictures, {min(cluster_counts)}, {draws} draws"
    if not math.isfinite(error):
        return undefined(
            "degenerate", "the reliability is undefined for most sets of pictures", x, y
        )
    if error < _MIN_STANDARD_ERROR:
        return undefined("degenerate", "both measures give the same scores", x, y)
    # df of the measure with fewer pictures, the more cautious
    return fisher_z_test(x, y, error, min(cluster_counts) - 1.0, n, method, level)


def shared_variance(
    measure: LeaveOneOutScores,
    other_measure: LeaveOneOutScores,
    *,
    statistic: Statistic = "pearson",
    factors: tuple[float, float] = (1.0, 1.0),
) -> float:
    """Compute the variance of T over pictures that all respondents share.

    Drawing respondents carries along the noise that each has for itself. What a picture does to all
    of them at once (a wording that everybody misunderstands) is the same in every draw, and is
    added here.

    Parameters
    ----------
    measure : LeaveOneOutScores
        Scores of one measure, in two or more administrations.
    other_measure : LeaveOneOutScores
        Scores of the other measure, for the same respondents.
    statistic : {'pearson', 'icc_a1', 'rho_g'}, default 'pearson'
        Which reliability, as in `weighted_reliability`.
    factors : pair of float, default (1.0, 1.0)
        Lengths to bring the measures to, as in `reliability_difference`.

    Returns
    -------
    float
        The variance; 0 below 3 respondents or where a score is undefined.

    Notes
    -----
        sum_c [ (sum_m g_mc)^2 - sum_m g_mc^2 ],   g_mc = sum_k dT / dS_mk  h_mkc;
        0 where negative

    NaN scores as in `difference_over_clusters`.

    References
    ----------
    .. [1] Owen, A. B. (2007). The pigeonhole bootstrap. Annals of Applied Statistics, 1,
       386-411 (why both ways count, and why their sum counts the noise twice).

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(2, 5, 20))
    >>> scores = LeaveOneOutScores(x.mean(axis=2), (x.sum(axis=2, keepdims=True) - x) / 19,
    ...     [str(c) for c in range(20)])
    >>> shared_variance(scores, scores)
    0.0
    """
    included = _complete_respondents(measure) & _complete_respondents(other_measure)
    if int(included.sum()) < 3:
        return 0.0
    contributions = [
        _fisher_z_influence(_select_respondents(m, included), statistic, f)
        for m, f in zip((measure, other_measure), factors, strict=True)
    ]
    if not all(np.isfinite(contribution).all() for contribution in contributions):
        return 0.0
    contrast = _cluster_contrast(
        contributions[0], contributions[1], measure.clusters, other_measure.clusters
    )
    # (sum)^2 - sum of squares = products of different respondents: what a picture does to several
    # at once. Each respondent's own part is in the bootstrap of respondents already.
    return max(0.0, float((contrast.sum(axis=0) ** 2 - (contrast**2).sum(axis=0)).sum()))


def _complete_respondents(measure: LeaveOneOutScores) -> BoolArray:
    complete = np.isfinite(measure.scores).all(axis=0)
    return np.asarray(complete if measure.noise is None else complete & np.isfinite(measure.noise))


def _select_respondents(measure: LeaveOneOutScores, included: BoolArray) -> LeaveOneOutScores:
    noise = None if measure.noise is None else measure.noise[included]
    return LeaveOneOutScores(
        measure.scores[:, included],
        measure.replicates[:, included],
        measure.clusters,
        noise,
        measure.sizes,
    )


def _projected_reliability(
    measure: LeaveOneOutScores, statistic: Statistic, factor: float
) -> float:
    noise = None if measure.noise is None else measure.noise[:, None]
    return float(
        spearman_brown_array(
            reliability_of_sets(measure.scores[:, :, None], statistic, noise), factor
        )[0]
    )


def _fisher_z(reliability: Array) -> Array:
    # clipped: a replicate of perfect agreement would be infinite
    return np.asarray(np.arctanh(np.clip(reliability, -_MAX_CORRELATION, _MAX_CORRELATION)))


def _cluster_contrast(
    first: Array, second: Array, first_clusters: Sequence[str], second_clusters: Sequence[str]
) -> Array:
    """(..., clusters): the contributions of one measure less those of the other, over the clusters
    of both.
    """
    position = {
        name: i for i, name in enumerate(dict.fromkeys((*first_clusters, *second_clusters)))
    }
    contrast = np.zeros((*first.shape[:-1], len(position)))
    # a picture that both measures use moves both, and its contributions cancel
    contrast[..., [position[name] for name in first_clusters]] += first
    contrast[..., [position[name] for name in second_clusters]] -= second
    return contrast


def _jackknife_error(
    a: LeaveOneOutScores, b: LeaveOneOutScores, factors: tuple[float, float]
) -> float:
    deviations = []
    for measure, factor in zip((a, b), factors, strict=True):
        n_clusters = len(measure.clusters)
        z_replicates = _fisher_z(
            spearman_brown_array(
                reliability_of_sets(measure.replicates, "rho_g", measure.noise_replicates), factor
            )
        )
        deviations.append(
            math.sqrt((n_clusters - 1) / n_clusters) * (z_replicates - z_replicates.mean())
        )
    return math.sqrt(
        float((_cluster_contrast(deviations[0], deviations[1], a.clusters, b.clusters) ** 2).sum())
    )


def _bootstrap_error(
    a: LeaveOneOutScores,
    b: LeaveOneOutScores,
    statistic: Statistic,
    factors: tuple[float, float],
    rng: np.random.Generator,
    draws: int,
) -> float:
    shapes = a.scores.shape, b.scores.shape
    # administrations x respondents of each measure, laid out in one row
    sizes = [math.prod(shape) for shape in shapes]
    flat = [m.influence.reshape(size, -1) for m, size in zip((a, b), sizes, strict=True)]
    # both measures' influences over the clusters of either, so that a shared picture moves both
    influences = _cluster_contrast(
        np.vstack([flat[0], np.zeros((sizes[1], flat[0].shape[1]))]),
        # `_cluster_contrast` subtracts its second argument, and the sign is turned back here
        np.vstack([np.zeros((sizes[0], flat[1].shape[1])), -flat[1]]),
        a.clusters,
        b.clusters,
    )
    # a square root of the covariance of all scores; rounding makes tiny negative eigenvalues
    values, vectors = np.linalg.eigh(influences @ influences.T)
    deviations = (vectors * np.sqrt(np.maximum(values, 0.0))) @ rng.standard_normal(
        (len(values), draws)
    )
    # a draw of the scores: root of the covariance times standard normals
    z = []
    for measure, factor, deviation in zip(
        (a, b), factors, (deviations[: sizes[0]], deviations[sizes[0] :]), strict=True
    ):
        scores = _shrink_scores(measure.scores, measure.influence)[:, :, None] + deviation.reshape(
            *measure.scores.shape, draws
        )
        z.append(_fisher_z(spearman_brown_array(reliability_of_sets(scores, statistic), factor)))
    z_differences = z[0] - z[1]
    z_differences = z_differences[np.isfinite(z_differences)]
    if len(z_differences) >= draws // 2:
        return float(z_differences.std(ddof=1))
    return math.nan


def _shrink_scores(scores: Array, influence: Array) -> Array:
    """Scores whose effects are shrunk by what the noise of the pictures adds to their squares."""

    def decompose(x: Array) -> tuple[Array, Array, Array, Array]:
        grand = x.mean(axis=(0, 1), keepdims=True)
        rows = x.mean(axis=0, keepdims=True) - grand
        columns = x.mean(axis=1, keepdims=True) - grand
        return grand, rows, columns, x - grand - rows - columns

    grand, *effects = decompose(scores[:, :, None])
    _, *noise_effects = decompose(influence)
    # what the noise adds is taken off the square, so the effect gets the root of the factor
    shrunk_scores = grand
    for effect, noise_effect in zip(effects, noise_effects, strict=True):
        square = float((effect**2).sum())
        if square > 0:
            shrinkage = max(0.0, 1 - float((noise_effect**2).sum()) / square)
        else:
            shrinkage = 0.0
        shrunk_scores = shrunk_scores + math.sqrt(shrinkage) * effect
    return np.asarray(shrunk_scores[:, :, 0])


def _fisher_z_influence(measure: LeaveOneOutScores, statistic: Statistic, factor: float) -> Array:
    """(respondents, clusters): the influence of each respondent's items of a cluster on atanh of
    the reliability.
    """
    k, n = measure.scores.shape
    # central differences: a step far above rounding and far below the spread of the scores
    step = 1e-4 * float(measure.scores.std())
    # one step up and one down for each single score, (administrations, respondents, 2 k n)
    steps = np.concatenate([np.eye(k * n), -np.eye(k * n)], axis=1).reshape(k, n, -1) * step
    noise = None if measure.noise is None else measure.noise[:, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        z = _fisher_z(
            spearman_brown_array(
                reliability_of_sets(measure.scores[:, :, None] + steps, statistic, noise), factor
            )
        )
        gradient = ((z[: k * n] - z[k * n :]) / (2 * step)).reshape(k, n)
    # chain rule: how T moves with a score, times how a cluster moves that score
    return np.asarray((gradient[:, :, None] * measure.influence).sum(axis=0))
