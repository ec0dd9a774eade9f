"""Test-retest reliability from the noise of the items (rho_G), drift between runs, and the
correlation that coin flips would reach.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hqm.psychometrics.inference.families import Relatives, add_lower_bound
from hqm.psychometrics.inference.resampling import cluster_labels, cluster_sums
from hqm.psychometrics.inference.significance import SignificanceTest, chi_square_test
from hqm.psychometrics.reliability.consistency import spearman_brown
from hqm.psychometrics.reliability.score_dependability import (
    QUANTILE_LEVELS,
    fixed_score_variances,
    scaled_normal_quantiles,
    scaled_t_quantiles,
)
from hqm.psychometrics.result import (
    Array,
    ArrayLike,
    Coefficient,
    ConfidenceInterval,
    Indices,
    IntArray,
    Status,
    finite_mean,
    float_array,
    is_constant,
)
from hqm.psychometrics.variance.variance_components import MIN_CLUSTERS


def reliability_with_intervals(
    ratio: float,
    scores: Array,
    error_variances: Array,
    score_replicates: Array,
    error_replicates: Array,
    relatives: Relatives,
    level: float,
    flags: tuple[str, ...],
) -> Coefficient:
    """Return 1 - ratio with its interval for these respondents and its lower bound for others."""
    runs, count = scores.shape
    value = max(0.0, 1 - ratio)
    mean_scores = scores.mean(axis=0)
    # of the mean over runs: it still holds 1 / runs of the error variance
    score_variance = float(mean_scores.var(ddof=1))
    fixed = None
    clusters = score_replicates.shape[2]
    mean_error_variance = float(error_variances.mean())
    # two clusters leave one degree of freedom for an error's variance: no interval
    if clusters > 2:
        mean_replicates = score_replicates.mean(axis=0)
        error_variance, directional_error = _item_error_variance(mean_scores, mean_replicates)
        log_errors = _log_error_terms(
            error_replicates.mean(axis=0), mean_replicates.var(axis=0, ddof=1)
        )
        variance_draws = fixed_score_variances(
            score_variance, error_variance, count, directional_error=directional_error
        )
        error_draws = _error_variance_draws(mean_error_variance, *log_errors, clusters)
        fixed = _rho_interval(
            value,
            variance_draws,
            error_draws,
            runs,
            level,
            "noncentral chi-square and cluster jackknife",
        )
    # errors larger than the scores' variance: the value is cut at 0, the raw one is kept
    if ratio > 1:
        flags = (*flags, "NEGATIVE_COMPONENT")
    raw = 1 - ratio if ratio > 1 else math.nan
    point_estimate = Coefficient(value, n=count, level=level, fixed=fixed, raw=raw, flags=flags)
    if ratio > 1:
        return point_estimate

    # what `add_lower_bound` resamples: coefficient and between-respondent variance of some rows
    def statistic(rows: Indices) -> tuple[Array, Array]:
        sample_variances = scores[:, rows].var(axis=-1, ddof=1).mean(axis=0)
        error_shares = error_variances[rows].mean(axis=-1) / np.where(
            sample_variances > 0, sample_variances, math.nan
        )
        return 1 - error_shares, sample_variances

    return add_lower_bound(
        point_estimate, statistic, mean_scores, relatives, minimum=0.0, vectorized=True
    )


def _log_error_terms(error_replicates: Array, variance_replicates: Array) -> tuple[float, float]:
    """Return the standard error of log(error variance) over items, split by its correlation r with
    the variance of the scores: times r, and times sqrt(1 - r^2).

    - `error_replicates, variance_replicates`: (clusters,): both without each cluster.
    """
    if not ((error_replicates > 0).all() and (variance_replicates > 0).all()):
        return 0.0, 0.0
    # SE and correlation are taken on the log scale, where a ratio's error does not depend on its
    # size
    log_error = np.log(error_replicates)
    log_variance = np.log(variance_replicates)
    log_error = log_error - log_error.mean()
    log_variance = log_variance - log_variance.mean()
    norms = math.sqrt(float(log_error @ log_error)), math.sqrt(float(log_variance @ log_variance))
    # Efron and Tibshirani (1993), ch. 11: SE^2 = (C - 1) / C sum of squared deviations
    standard_error = math.sqrt((len(log_error) - 1) / len(log_error)) * norms[0]
    if not all(norms):
        return 0.0, standard_error
    log_error = log_error / norms[0]
    log_variance = log_variance / norms[1]
    # near r = 1, the root of 1 - r^2 would turn a rounding of 1e-16 into 1e-8
    # for unit vectors |a - b| |a + b| = 2 sqrt(1 - r^2)
    orthogonal = (
        float(np.linalg.norm(log_error - log_variance) * np.linalg.norm(log_error + log_variance))
        / 2
    )
    return standard_error * float(log_error @ log_variance), standard_error * orthogonal


def _error_variance_draws(
    error_variance: float, shared_error: float, unique_error: float, clusters: int
) -> Array:
    """(draws, 1, ways): credible error variances, paired with the draws of the score variance."""
    # the shared part goes along with the draws of the score variance (axis 0), the rest is its own
    # axis
    shared = shared_error * scaled_normal_quantiles(QUANTILE_LEVELS)[:, None, None]
    unique = unique_error * scaled_t_quantiles(clusters - 1)
    return np.asarray(error_variance * np.exp(shared + unique))


def _item_error_variance(scores: Array, replicates: Array) -> tuple[float, float]:
    """Return the mean error variance of differences between respondents, and that along the scores.

    - `replicates`: (respondents, clusters): the scores with each cluster left out.
    """
    # double centring leaves the interaction of respondents and clusters
    deviations = replicates - replicates.mean(axis=0)
    deviations = deviations - deviations.mean(axis=1, keepdims=True)
    respondents, clusters = replicates.shape
    # Efron and Tibshirani (1993), ch. 11: factor of the jackknife's sum of squares
    jackknife_factor = (clusters - 1) / clusters
    mean = float((deviations**2).sum()) * jackknife_factor / (respondents - 1)
    score_deviations = scores - scores.mean()
    score_sum_of_squares = float((score_deviations**2).sum())
    if not score_sum_of_squares > 0:
        return mean, mean
    # variance of the errors' projection on the unit vector of the scores' deviations
    directional = float(((score_deviations @ deviations) ** 2).sum())
    return mean, directional * jackknife_factor / score_sum_of_squares


def _rho_interval(
    value: float, variance_draws: Array, error_draws: Array, runs: int, level: float, method: str
) -> ConfidenceInterval:
    """Return the interval of one run's reliability from draws of score and error variances."""
    # noises are (draws, 1, ways of the noise)
    # `variance_draws` are of the mean over runs and hold error / runs; one run has the remaining
    # error (1 - 1 / runs) on top
    rho = 1 - error_draws / (variance_draws[..., None] + error_draws * (1 - 1 / runs))
    # the estimate itself is always inside its interval
    low, high = np.quantile(np.clip(rho, 0.0, 1.0), [0.5 - level / 2, 0.5 + level / 2])
    return ConfidenceInterval(min(float(low), value), max(float(high), value), method, level)


def drift_test(scores: Array, contributions: Array) -> SignificanceTest:
    """Test whether scores differ between runs by more than independent changes of items explain.

    An update of a served model, another system prompt or a common random seed moves all items of a
    run together; the noise that the items show is then too small.

    Parameters
    ----------
    scores : Array, shape (runs, respondents)
        Scores of every run.
    contributions : Array, shape (runs, respondents, clusters)
        Each cluster's centred contribution to the score.

    Returns
    -------
    SignificanceTest
        The test statistic Q with its p-value. The status is `insufficient` below 2 runs or 10
        clusters, where chi-square is no approximation, and `not_informative` when no run differs.
        The statistic is infinite when all items of a respondent moved by the same amount.

    Notes
    -----
        two runs:  Q = sum_m D_m^2 / Var(D_m) ~ chi2(M),   D_m = S_m1 - S_m2;
        more runs: over K - 1 orthonormal contrasts

    Var(D_m) comes from the clusters' contributions. Its power is .80 at a drift of .02 (20
    respondents, 1,000 items).

    Examples
    --------
    >>> drift_test(np.array([[0.5], [0.5]]), np.array([[[0.05, -0.05] * 5], [[0.0] * 10]])).p
    1.0
    """
    runs, respondents = scores.shape
    clusters = contributions.shape[2]
    if runs < 2 or clusters < MIN_CLUSTERS:
        return SignificanceTest.absent(
            "insufficient",
            f"a drift test needs 2 runs and {MIN_CLUSTERS} clusters of items, there are {runs}"
            f" and {clusters}",
            n=respondents,
        )
    # orthonormal contrasts remove the mean over runs, so that only drift is left
    contrasts = _helmert(runs)
    contrast_scores = (contrasts @ scores).T
    # (respondents, contrasts, clusters)
    contrast_contributions = np.einsum("ck,kmi->mci", contrasts, contributions)
    covariance = (
        clusters
        / (clusters - 1)
        * contrast_contributions
        @ contrast_contributions.transpose(0, 2, 1)
    )
    # principal axes: contrasts of one respondent share clusters and are correlated, their
    # projections are not, so squares over eigenvalues add up to chi-square
    eigenvalues, eigenvectors = np.linalg.eigh(covariance)
    projections = np.einsum("mce,mc->me", eigenvectors, contrast_scores)
    # directions without variance carry no information; a shift there is infinite evidence
    nonzero = eigenvalues > np.maximum(1e-12 * eigenvalues.max(axis=1, keepdims=True), 1e-24)
    if (np.abs(projections[~nonzero]) > 1e-9).any():
        return SignificanceTest(math.inf, float(projections.size), 0.0, respondents)
    df = int(nonzero.sum())
    if df == 0:
        return SignificanceTest.absent(
            "not_informative", "no score differs between runs", n=respondents
        )
    return chi_square_test(
        float((projections[nonzero] ** 2 / eigenvalues[nonzero]).sum()), df, respondents
    )


def _helmert(k: int) -> Array:
    # rows of (1, .., 1, -k, 0, ..): each run against the mean of those before it
    rows = np.tri(k - 1, k) - np.diag(np.arange(1.0, k), 1)[: k - 1]
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


MDC_FACTOR = 1.96 * math.sqrt(2)
"""A difference of two administrations has sqrt(2) times the error of one; 95 % of them lie within
1.96 of that.
"""


@dataclass(frozen=True, slots=True, eq=False)
class GeneralizedRetest:
    """Test-retest reliability with the error variances that it is computed from.

    Attributes
    ----------
    rho
        Reliability of one run's scores. Its own bounds hold over another sample of respondents,
        `rho.fixed` for these respondents; its `status` speaks for the whole.
    noise
        (respondents,): v_m, the variance of one run's score over seeds; NaN for a respondent left
        out.
    scores
        (runs, respondents) the scores, each on the items that its own run scored.
    score_variance
        Variance between respondents of a run's scores.
    drift
        Whether scores of one respondent differ between runs by more than its items' noise.
    """

    rho: Coefficient
    noise: Array
    scores: Array
    score_variance: float
    drift: SignificanceTest

    @property
    def noise_mean(self) -> float:
        """Mean error variance of one run's score."""
        return finite_mean(self.noise)

    @property
    def sem(self) -> Array:
        """(respondents,): each respondent's own standard error of measurement, one run."""
        return np.asarray(np.sqrt(self.noise))

    @property
    def mdc95(self) -> Array:
        """(respondents,): each respondent's own repeatability coefficient (Bland and Altman 1999):
        95 % of the differences between two of its runs are smaller."""
        return MDC_FACTOR * self.sem

    @property
    def sem_pooled(self) -> float:
        """The root of the mean error variance, in score units."""
        return math.sqrt(self.noise_mean)

    @property
    def mdc95_pooled(self) -> float:
        """Bland and Altman's repeatability coefficient, as if all error variances were equal."""
        return MDC_FACTOR * self.sem_pooled

    @property
    def runs(self) -> int:
        return len(self.scores)

    @property
    def rho_average(self) -> Coefficient:
        """The reliability of the mean over all the runs at hand, s2_mu / (s2_mu + vbar / K), with
        both intervals carried along.
        """
        single = self.rho
        if single.status != "ok":
            return single
        average = single.transformed(lambda rho: spearman_brown(rho, self.runs))
        return replace(average, method=f"{single.method}, mean of {self.runs} runs")


def rho_g(
    values: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    n_effective: float | None = None,
    families: Sequence[str] = (),
    level: float = 0.95,
) -> GeneralizedRetest:
    """Estimate test-retest reliability of mean item scores from the items' changes between runs.

    A correlation of two columns of scores estimates the noise from a handful of respondents; the
    items that came out differently show it directly, thousands of times. The estimate varies 11 to
    17 times less than Pearson's r on the same answers. It holds when items err independently
    between runs: `drift` tests that, and where it rejects (an update of a served model moves all
    items together) ICC(A,1) must lead.

    Parameters
    ----------
    values : array_like, shape (runs, respondents, items)
        An item counts for a respondent when it is scored in every run.
    clusters : array_like, shape (items,), optional
        Labels of what items share (the image); None when every item stands alone.
    n_effective : float, optional
        Number of independent respondents, where some are relatives; all unless given.
    families : sequence of str, shape (respondents,), optional
        Labels of relatives; none unless given.
    level : float, default 0.95
        Confidence level of the interval.

    Returns
    -------
    GeneralizedRetest
        rho_G with its intervals, the error variances, and the test of drift. The status is
        `insufficient` below 2 runs or 3 respondents with 2 clusters each, `degenerate` for equal
        scores, and `not_informative` with the value 1 when every run gave the same item scores. A
        negative estimate of the true variance gives 0 with `raw` and the flag `NEGATIVE_COMPONENT`.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        v_m   = (1 / n^2) sum_c s2_k(sum of the respondent's item scores in cluster c, run k)
        rho_G = 1 - mean_m v_m / s2_S,   s2_S = mean over runs of the variance between respondents
        mean of k runs: s2_mu / (s2_mu + vbar / k),   s2_mu = s2_S - vbar

    `rho.fixed` asks whether *this leaderboard* would repeat: its spread is noncentral chi-square.
    `rho.low` is the least that it is among *other respondents* (`add_lower_bound`). Their coverage
    is in docs/psychometrics_coverage.md.

    References
    ----------
    .. [1] Cronbach, L. J., Gleser, G. C., Nanda, H. and Rajaratnam, N. (1972). The
       Dependability of Behavioral Measurements. Wiley.

    Examples
    --------
    >>> first = [[1, 1, 1, 1, 1, 0], [1, 1, 1, 0, 0, 0], [1, 1, 0, 1, 0, 0], [1, 0, 0, 0, 0, 0]]
    >>> second = [[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0], [1, 1, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0]]
    >>> round(rho_g([first, second]).rho.value, 4)
    0.9011
    """
    x = float_array(values, "runs, respondents, items", "values")
    runs, respondents, items = x.shape
    labels = cluster_labels(clusters, items)
    scored = np.asarray(np.isfinite(x).all(axis=0))
    n = scored.sum(axis=1)
    if runs < 2 or not scored.any():
        return _absent(
            "insufficient",
            f"test-retest needs 2 runs with scored items, there are {runs} runs,"
            f" {int(scored.any(axis=1).sum())} respondents",
            runs,
            respondents,
        )
    totals, sizes = cluster_sums(np.where(scored, x, 0.0), scored, labels)
    # a respondent with one cluster has no variance over clusters
    included = np.flatnonzero((sizes > 0).sum(axis=1) >= 2)
    if len(included) < 3:
        return _absent(
            "insufficient",
            "test-retest needs 3 respondents with 2 clusters of items in every run, there are"
            f" {len(included)}",
            runs,
            respondents,
        )
    totals = totals[:, included]
    sizes = sizes[included]
    n_included = n[included].astype(np.float64)
    # a score is the mean of what its own run scored; the noise of an item shows where every run
    # scored it
    run_sums = [
        cluster_sums(np.where(np.isfinite(run), run, 0.0), np.isfinite(run), labels) for run in x
    ]

    def stacked(arrays: Sequence[Array]) -> Array:
        return np.stack([array[included] for array in arrays])

    cluster_totals, cluster_sizes = map(stacked, zip(*run_sums, strict=True))
    items_per_run = cluster_sizes.sum(axis=2)
    scores = cluster_totals.sum(axis=2) / items_per_run
    # items that differ between runs show the error variance directly
    # v_m = sum_c s2_k / n^2; where runs lack different items, one of both n is the mean over runs
    # of 1 / n
    run_variances = totals.var(axis=0, ddof=1)
    error_variances = run_variances.sum(axis=1) / n_included * (1 / items_per_run).mean(axis=0)
    # everything again without each cluster, (runs, respondents, clusters) and (respondents,
    # clusters)
    items_left = n_included[:, None] - sizes
    run_items_left = items_per_run[:, :, None] - cluster_sizes
    score_replicates = (cluster_totals.sum(axis=2)[:, :, None] - cluster_totals) / run_items_left
    error_replicates = (
        (run_variances.sum(axis=1)[:, None] - run_variances)
        / items_left
        * (1 / run_items_left).mean(axis=0)
    )
    # drift compares items that all runs scored: else other items would look like drift
    common_scores = totals.sum(axis=2) / n_included
    contributions = (totals - common_scores[:, :, None] * sizes) / n_included[:, None]
    flags = ("MISSING",) if 1 - scored[included].mean() > 0.01 else ()
    return _assemble(
        scores,
        common_scores,
        error_variances,
        score_replicates,
        error_replicates,
        contributions,
        included,
        respondents,
        Relatives(tuple(families), n_effective).subset(included),
        level,
        flags,
    )


def rho_g_of_scores(
    scores: ArrayLike,
    *,
    replicates: ArrayLike,
    n_effective: float | None = None,
    families: Sequence[str] = (),
    level: float = 0.95,
) -> GeneralizedRetest:
    """Estimate rho_G of any metric from its scores with each cluster of items left out.

    A metric that is no mean of item scores has no item noise to add up, but every cluster has an
    influence on it: how far the score moves without the cluster. To first order the score is the
    sum of these influences, and the influence of one cluster in two runs differs by that cluster's
    noise alone. Adding up the variances of those differences gives the variance of the score over
    seeds, as for a mean.

    Parameters
    ----------
    scores : array_like, shape (runs, respondents)
        The metric's values.
    replicates : array_like, shape (runs, respondents, clusters)
        The metric with each cluster left out.
    n_effective : float, optional
        Number of independent respondents, where some are relatives; all unless given.
    families : sequence of str, shape (respondents,), optional
        Labels of relatives; none unless given.
    level : float, default 0.95
        Confidence level of the interval.

    Returns
    -------
    GeneralizedRetest
        As `rho_g`. The status is that of `rho_g`.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        h_mkc = (C - 1) / C (S_mk - S_mk(c)),     v_m = C / (C - 1) sum_c s2_k(h_mkc)

    For a mean of items this is the estimate of `rho_g` up to the factor C / (C - 1) on the part of
    the noise that all items share. It is not valid for metrics that jump (a median, a maximum).

    References
    ----------
    .. [1] Efron, B. and Tibshirani, R. J. (1993). An Introduction to the Bootstrap, ch. 11 and
       21 (the jackknife as a linearisation).

    Examples
    --------
    >>> x = np.random.default_rng(0).random((2, 5, 40)) < np.linspace(0.2, 0.8, 5)[:, None]
    >>> without = (x.sum(axis=2, keepdims=True) - x) / 39
    >>> round(rho_g_of_scores(x.mean(axis=2), replicates=without).rho.value, 1)
    0.9
    """
    s = float_array(scores, "runs, respondents")
    w = np.asarray(replicates, dtype=np.float64)
    runs, respondents = s.shape
    if w.ndim != 3 or w.shape[:2] != s.shape:
        raise ValueError(f"without must have shape {s.shape} and clusters, got {w.shape}")
    if runs < 2:
        return _absent(
            "insufficient",
            f"test-retest needs 2 runs, there are {runs}",
            runs,
            respondents,
        )
    included = np.flatnonzero(np.isfinite(s).all(axis=0) & np.isfinite(w).all(axis=(0, 2)))
    n_clusters = w.shape[2]
    if len(included) < 3 or n_clusters < 2:
        return _absent(
            "insufficient",
            f"test-retest needs 3 respondents and 2 clusters, there are {len(included)} and"
            f" {n_clusters}",
            runs,
            respondents,
        )
    s = s[:, included]
    w = w[:, included]
    # to first order, a score is the sum of its clusters' influences
    influence = (n_clusters - 1) / n_clusters * (s[:, :, None] - w)
    # a repeated score leaves rounding dust in its influence
    influence = np.where(np.abs(influence) < 1e-15, 0.0, influence)
    # C / (C - 1): the influences sum to 0, which takes one degree of freedom
    run_variances = influence.var(axis=0, ddof=1) * n_clusters / (n_clusters - 1)
    error_variances = run_variances.sum(axis=1)
    return _assemble(
        s,
        s,
        error_variances,
        w,
        (n_clusters / (n_clusters - 1)) ** 2 * (error_variances[:, None] - run_variances),
        influence,
        included,
        respondents,
        Relatives(tuple(families), n_effective).subset(included),
        level,
        (),
    )


def _absent(status: Status, reason: str, runs: int, respondents: int) -> GeneralizedRetest:
    """A retest that does not exist, and why."""
    return GeneralizedRetest(
        Coefficient.absent(status, reason, respondents),
        np.full(respondents, np.nan),
        np.full((runs, respondents), np.nan),
        math.nan,
        SignificanceTest.absent(status, reason, n=respondents),
    )


def _assemble(
    scores: Array,
    compared: Array,
    error_variances: Array,
    score_replicates: Array,
    error_replicates: Array,
    contributions: Array,
    included: IntArray,
    respondents: int,
    relatives: Relatives,
    level: float,
    flags: tuple[str, ...],
) -> GeneralizedRetest:
    """The reliability from scores and noise, with and without each cluster, of the respondents
    `included`, and the drift of the scores `compared`.
    """
    runs, count = scores.shape
    vbar = float(error_variances.mean())
    score_variance = float(scores.var(axis=1, ddof=1).mean())
    drift = drift_test(compared, contributions)
    # on noise that is too small, an interval would be too narrow: the flag makes ICC(A,1) lead
    if drift.p < 0.05:
        flags = (*flags, "DRIFT")
    if all(is_constant(run) for run in scores):
        rho = Coefficient.absent("degenerate", "all respondents have the same score", count)
    # nothing to estimate from: 1 is by construction, not by evidence
    elif vbar == 0.0:
        reason = "every run gave the same item scores: the reliability is 1 by construction"
        rho = Coefficient(
            1.0, n=count, level=level, status="not_informative", reason=reason, flags=flags
        )
    else:
        rho = reliability_with_intervals(
            vbar / score_variance,
            scores,
            error_variances,
            score_replicates,
            error_replicates,
            relatives,
            level,
            flags,
        )
    all_error_variances = np.full(respondents, np.nan)
    all_scores = np.full((runs, respondents), np.nan)
    all_error_variances[included] = error_variances
    all_scores[:, included] = scores
    return GeneralizedRetest(rho, all_error_variances, all_scores, score_variance, drift)


def noise_floor(rates: ArrayLike, n_items: int, *, strata: ArrayLike | None = None) -> Coefficient:
    """Compute the test-retest correlation that independent coin flips would give.

    With thousands of items even answers drawn by lot repeat their scores almost perfectly
    (docs/theory/2). A coefficient near this floor shows that the scores repeat, not that the
    answers do. With few items it is a little too high.

    Parameters
    ----------
    rates : array_like, shape (respondents,)
        Shares of items answered one way.
    n_items : int
        Number of items.
    strata : array_like, shape (respondents, types), optional
        The rates by type, of equally many items each; the floor is then higher.

    Returns
    -------
    Coefficient
        The correlation. There is no interval. The status is `insufficient` below 3 respondents or 2
        items, `degenerate` for equal rates.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        r0 = s2 / (s2 + mean(p (1 - p)) / n),   s2 = variance of the rates

    Examples
    --------
    >>> round(noise_floor([0.40, 0.45, 0.50, 0.55, 0.60, 0.65, 0.70, 0.75, 0.80, 0.85], 4000).value,
    ...     4)
    0.9977
    """
    p = np.asarray(rates, dtype=np.float64)
    if strata is None:
        type_rates = p[:, None]
    else:
        type_rates = np.asarray(strata, dtype=np.float64)
    if type_rates.ndim != 2 or len(type_rates) != len(p):
        raise ValueError(f"strata must have shape ({len(p)}, types), got {type_rates.shape}")
    finite = np.isfinite(p) & np.isfinite(type_rates).all(axis=1)
    p = p[finite]
    type_rates = type_rates[finite]
    if len(p) < 3 or n_items < 2:
        return Coefficient.absent(
            "insufficient",
            f"a noise floor needs 3 respondents and 2 items, there are {len(p)} and {n_items}",
            len(p),
        )
    # variance p (1 - p) of an answer drawn by lot, averaged over n items
    binomial_variance = float((type_rates * (1 - type_rates)).mean()) / n_items
    rate_variance = float(p.var(ddof=1))
    if is_constant(p):
        return Coefficient.absent("degenerate", "all respondents have the same rate", len(p))
    return Coefficient(
        rate_variance / (rate_variance + binomial_variance),
        math.nan,
        math.nan,
        len(p),
        method="binomial",
    )
