"""Test-retest reliability from the noise of the items (rho_G), drift between runs, and the
correlation that coin flips would reach.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hqm.psychometrics.consistency import spearman_brown
from hqm.psychometrics.families import Relatives, at_least
from hqm.psychometrics.resampling import cluster_sums, labels_of
from hqm.psychometrics.result import (
    Array,
    ArrayLike,
    Bounds,
    Coefficient,
    Numbers,
    Places,
    Status,
    is_constant,
    mean_of_known,
    shaped,
)
from hqm.psychometrics.score_dependability import (
    PLACES,
    normal_places,
    spread_of_these,
    student_places,
)
from hqm.psychometrics.significance import SignificanceTest, chi_square_test
from hqm.psychometrics.variance_components import FEWEST_CLUSTERS


def with_bounds(
    ratio: float,
    scores: Array,
    noises: Array,
    without: Array,
    noise_without: Array,
    relatives: Relatives,
    level: float,
    flags: tuple[str, ...],
) -> Coefficient:
    """1 - ratio with the interval for these respondents, from the spread of the mean of all runs,
    and the least for others.
    """
    runs, count = scores.shape
    value = max(0.0, 1 - ratio)
    average = scores.mean(axis=0)
    between, fixed = float(average.var(ddof=1)), None
    clusters = without.shape[2]
    noise = float(noises.mean())
    if clusters > 2:
        apart = without.mean(axis=0)
        error, along = _errors_of_items(average, apart)
        errors = _errors_of_noise(noise_without.mean(axis=0), apart.var(axis=0, ddof=1))
        these = spread_of_these(between, error, count, along=along)
        drawn = _noise_of_these(noise, *errors, clusters)
        fixed = _bounds(
            value, these, drawn, runs, level, "noncentral chi-square and cluster jackknife"
        )
    if ratio > 1:
        flags = (*flags, "NEGATIVE_COMPONENT")
    raw = 1 - ratio if ratio > 1 else math.nan
    bare = Coefficient(value, n=count, level=level, fixed=fixed, raw=raw, flags=flags)
    if ratio > 1:
        return bare

    def statistic(rows: Places) -> tuple[float, float]:
        spread = float(scores[:, rows].var(axis=1, ddof=1).mean())
        return 1 - float(noises[rows].mean()) / spread if spread > 0 else math.nan, spread

    return at_least(bare, statistic, average, relatives, least=0.0)


def _errors_of_noise(noise: Array, between: Array) -> tuple[float, float]:
    """The standard error of the logarithm of the noise over items, times its correlation r with the
    variance of the scores, and times sqrt(1 - r^2).

    - `noise, between`: (clusters,): both without each cluster.
    """
    if not ((noise > 0).all() and (between > 0).all()):
        return 0.0, 0.0
    left, spread = np.log(noise), np.log(between)
    left, spread = left - left.mean(), spread - spread.mean()
    lengths = math.sqrt(float(left @ left)), math.sqrt(float(spread @ spread))
    error = math.sqrt((len(left) - 1) / len(left)) * lengths[0]
    if not all(lengths):
        return 0.0, error
    left, spread = left / lengths[0], spread / lengths[1]
    # near r = 1, the root of 1 - r^2 would turn a rounding of 1e-16 into 1e-8
    own = float(np.linalg.norm(left - spread) * np.linalg.norm(left + spread)) / 2
    return error * float(left @ spread), error * own


def _noise_of_these(noise: float, together: float, own: float, clusters: int) -> Array:
    """(draws, 1, ways): equally credible values of the noise, each draw with the spread in the same
    place.
    """
    along = together * normal_places(PLACES)[:, None, None]
    across = own * student_places(clusters - 1)
    return np.asarray(noise * np.exp(along + across))


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
    value: float, spread: Array, noises: Array, runs: int, level: float, method: str
) -> Bounds:
    """Of one run's reliability: its spread is that of the mean of the runs and the noise that
    averaging removed.
    """
    # noises are (draws, 1, ways of the noise)
    rho = 1 - noises / (spread[..., None] + noises * (1 - 1 / runs))
    low, high = np.quantile(np.clip(rho, 0.0, 1.0), [0.5 - level / 2, 0.5 + level / 2])
    return Bounds(min(float(low), value), max(float(high), value), method, level)


def drift_test(scores: Array, contributions: Array) -> SignificanceTest:
    """Whether scores differ between runs by more than independent changes of items explain.

    An update of a served model, another system prompt or a common random seed moves all items of a
    run together; the noise that the items show is then too small.

        two runs:  Q = sum_m D_m^2 / Var(D_m) ~ chi2(M),   D_m = S_m1 - S_m2;
        more runs: over K - 1 orthonormal contrasts

    Var(D_m) comes from the clusters' contributions. Its power is .80 at a drift of .02 (20
    respondents, 1,000 items).

    - `scores`: (runs, respondents).
    - `contributions`: (runs, respondents, clusters): each cluster's centred contribution to the
      score.

    The status is `insufficient` below 2 runs or 10 clusters, where chi-square is no approximation,
    and `not_informative` when no run differs. The statistic is infinite when all items of a
    respondent moved by the same amount.
    >>> drift_test(np.array([[0.5], [0.5]]), np.array([[[0.05, -0.05] * 5], [[0.0] * 10]])).p
    1.0
    """
    runs, respondents = scores.shape
    clusters = contributions.shape[2]
    if runs < 2 or clusters < FEWEST_CLUSTERS:
        return SignificanceTest.absent(
            "insufficient",
            f"a drift test needs 2 runs and {FEWEST_CLUSTERS} clusters of items, there are {runs}"
            f" and {clusters}",
            n=respondents,
        )
    contrasts = _helmert(runs)
    shift = (contrasts @ scores).T
    moved = np.einsum("ck,kmi->mci", contrasts, contributions)
    covariance = clusters / (clusters - 1) * moved @ moved.transpose(0, 2, 1)
    size, axes = np.linalg.eigh(covariance)
    along = np.einsum("mce,mc->me", axes, shift)
    used = size > np.maximum(1e-12 * size.max(axis=1, keepdims=True), 1e-24)
    if (np.abs(along[~used]) > 1e-9).any():
        return SignificanceTest(math.inf, float(along.size), 0.0, respondents)
    df = int(used.sum())
    if df == 0:
        return SignificanceTest.absent(
            "not_informative", "no score differs between runs", n=respondents
        )
    return chi_square_test(float((along[used] ** 2 / size[used]).sum()), df, respondents)


def _helmert(k: int) -> Array:
    rows = np.tri(k - 1, k) - np.diag(np.arange(1.0, k), 1)[: k - 1]
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


MDC_FACTOR = 1.96 * math.sqrt(2)
"""A difference of two administrations has sqrt(2) times the error of one; 95 % of them lie within
1.96 of that.
"""


@dataclass(frozen=True, slots=True, eq=False)
class GeneralizedRetest:
    """Test-retest reliability with the noise it is made of.

    - `rho`: Reliability of one run's scores. Its own bounds hold over another sample of
      respondents, `rho.fixed` for these respondents; its `status` speaks for the whole.
    - `noise`: (respondents,): v_m, the variance of one run's score over seeds; NaN for a respondent
      left out.
    - `scores`: (runs, respondents) the scores, each on the items that its own run scored.
    - `score_variance`: Variance between respondents of a run's scores.
    - `drift`: Whether scores of one respondent differ between runs by more than its items' noise.
    """

    rho: Coefficient
    noise: Array
    scores: Array
    score_variance: float
    drift: SignificanceTest

    @property
    def noise_mean(self) -> float:
        """Mean noise variance of one run's score."""
        return mean_of_known(self.noise)

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
        """The root of the mean noise variance, in score units: of no respondent in particular."""
        return math.sqrt(self.noise_mean)

    @property
    def mdc95_pooled(self) -> float:
        """The repeatability coefficient of Bland and Altman over all respondents, as if their noise
        were equal.
        """
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
        average = single.moved(lambda rho: spearman_brown(rho, self.runs))
        return replace(average, method=f"{single.method}, mean of {self.runs} runs")


def rho_g(
    values: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    n_effective: float | None = None,
    families: Sequence[str] = (),
    level: float = 0.95,
) -> GeneralizedRetest:
    """Test-retest reliability of a mean of item scores, from the items that changed between runs.

    A correlation of two columns of scores estimates the noise from a handful of respondents; the
    items that came out differently show it directly, thousands of times. The estimate varies 11 to
    17 times less than Pearson's r on the same answers. It holds when items err independently
    between runs: `drift` tests that, and where it rejects (an update of a served model moves all
    items together) ICC(A,1) must lead.

        v_m   = (1 / n^2) sum_c s2_k(sum of the respondent's item scores in cluster c, run k)
        rho_G = 1 - mean_m v_m / s2_S,   s2_S = mean over runs of the variance between respondents
        mean of k runs: s2_mu / (s2_mu + vbar / k),   s2_mu = s2_S - vbar

    `rho.fixed` asks whether *this leaderboard* would repeat: its spread is noncentral chi-square.
    `rho.low` is the least that it is among *other respondents* (`at_least`). Their coverage is in
    docs/psychometrics_coverage.md. Cronbach, L. J., Gleser, G. C., Nanda, H. and Rajaratnam, N.
    (1972). The Dependability of Behavioral Measurements. Wiley.

    - `values`: (runs, respondents, items); an item counts for a respondent when it is scored in
      every run.
    - `clusters`: (items,): labels of what items share (the image); None when every item stands
      alone.
    - `families, n_effective`: (respondents,): labels of relatives, and how many independent
      respondents there are.

    The status is `insufficient` below 2 runs or 3 respondents with 2 clusters each, `degenerate`
    for equal scores, and `not_informative` with the value 1 when every run gave the same item
    scores. A negative estimate of the true variance gives 0 with `raw` and the flag
    `NEGATIVE_COMPONENT`.

    >>> first = [[1, 1, 1, 1, 1, 0], [1, 1, 1, 0, 0, 0], [1, 1, 0, 1, 0, 0], [1, 0, 0, 0, 0, 0]]
    >>> second = [[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0], [1, 1, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0]]
    >>> round(rho_g([first, second]).rho.value, 4)
    0.9011
    """
    x = shaped(values, "runs, respondents, items", "values")
    runs, respondents, items = x.shape
    labels = labels_of(clusters, items)
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
    included = np.flatnonzero((sizes > 0).sum(axis=1) >= 2)
    if len(included) < 3:
        return _absent(
            "insufficient",
            "test-retest needs 3 respondents with 2 clusters of items in every run, there are"
            f" {len(included)}",
            runs,
            respondents,
        )
    totals, sizes, n_included = totals[:, included], sizes[included], n[included].astype(np.float64)
    # a score is the mean of what its own run scored; the noise of an item shows where every run
    # scored it
    own = [
        cluster_sums(np.where(np.isfinite(run), run, 0.0), np.isfinite(run), labels) for run in x
    ]
    every, each = (np.stack([part[included] for part in parts]) for parts in zip(*own, strict=True))
    of_run = each.sum(axis=2)
    scores = every.sum(axis=2) / of_run
    changes = totals.var(axis=0, ddof=1)
    noise = changes.sum(axis=1) / n_included * (1 / of_run).mean(axis=0)
    left, run_left = n_included[:, None] - sizes, of_run[:, :, None] - each
    without = (every.sum(axis=2)[:, :, None] - every) / run_left
    noise_without = (changes.sum(axis=1)[:, None] - changes) / left * (1 / run_left).mean(axis=0)
    alike = totals.sum(axis=2) / n_included
    contributions = (totals - alike[:, :, None] * sizes) / n_included[:, None]
    flags = ("MISSING",) if 1 - scored[included].mean() > 0.01 else ()
    return _assemble(
        scores,
        alike,
        noise,
        without,
        noise_without,
        contributions,
        included,
        respondents,
        Relatives(tuple(families), n_effective).of(included),
        level,
        flags,
    )


def rho_g_of_scores(
    scores: ArrayLike,
    *,
    without: ArrayLike,
    n_effective: float | None = None,
    families: Sequence[str] = (),
    level: float = 0.95,
) -> GeneralizedRetest:
    """rho_G of any metric (F1, CHAIR, a ratio of sums) from its scores with each cluster of items
    left out.

    A metric that is no mean of item scores has no item noise to add up, but every cluster has an
    influence on it: how far the score moves without the cluster. To first order the score is the
    sum of these influences, and the influence of one cluster in two runs differs by that cluster's
    noise alone. Adding up the variances of those differences gives the variance of the score over
    seeds, as for a mean.

        h_mkc = (C - 1) / C (S_mk - S_mk(c)),     v_m = C / (C - 1) sum_c s2_k(h_mkc)

    For a mean of items this is the estimate of `rho_g` up to the factor C / (C - 1) on the part of
    the noise that all items share. It is not valid for metrics that jump (a median, a maximum).

    Efron, B. and Tibshirani, R. J. (1993). An Introduction to the Bootstrap, ch. 11 and 21 (the
    jackknife as a linearisation).

    - `scores`: (runs, respondents): the metric's values.
    - `without`: (runs, respondents, clusters): the metric with each cluster left out.
    - `n_effective, families, level`: As in `rho_g`.

    The status is that of `rho_g`.

    >>> x = np.random.default_rng(0).random((2, 5, 40)) < np.linspace(0.2, 0.8, 5)[:, None]
    >>> without = (x.sum(axis=2, keepdims=True) - x) / 39
    >>> round(rho_g_of_scores(x.mean(axis=2), without=without).rho.value, 1)
    0.9
    """
    s, w = shaped(scores, "runs, respondents"), np.asarray(without, dtype=np.float64)
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
    count = w.shape[2]
    if len(included) < 3 or count < 2:
        return _absent(
            "insufficient",
            f"test-retest needs 3 respondents and 2 clusters, there are {len(included)} and"
            f" {count}",
            runs,
            respondents,
        )
    s, w = s[:, included], w[:, included]
    influence = (count - 1) / count * (s[:, :, None] - w)
    # a repeated score leaves rounding dust in its influence
    influence = np.where(np.abs(influence) < 1e-15, 0.0, influence)
    changes = influence.var(axis=0, ddof=1) * count / (count - 1)
    noise = changes.sum(axis=1)
    return _assemble(
        s,
        s,
        noise,
        w,
        (count / (count - 1)) ** 2 * (noise[:, None] - changes),
        influence,
        included,
        respondents,
        Relatives(tuple(families), n_effective).of(included),
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
    noise: Array,
    without: Array,
    noise_without: Array,
    contributions: Array,
    included: Numbers,
    respondents: int,
    relatives: Relatives,
    level: float,
    flags: tuple[str, ...],
) -> GeneralizedRetest:
    """The reliability from scores and noise, with and without each cluster, of the respondents
    `included`, and the drift of the scores `compared`.
    """
    runs, count = scores.shape
    vbar, spread = float(noise.mean()), float(scores.var(axis=1, ddof=1).mean())
    drift = drift_test(compared, contributions)
    if drift.p < 0.05:
        flags = (*flags, "DRIFT")
    if all(is_constant(run) for run in scores):
        rho = Coefficient.absent("degenerate", "all respondents have the same score", count)
    elif vbar == 0.0:
        reason = "every run gave the same item scores: the reliability is 1 by construction"
        rho = Coefficient(
            1.0, n=count, level=level, status="not_informative", reason=reason, flags=flags
        )
    else:
        rho = with_bounds(
            vbar / spread, scores, noise, without, noise_without, relatives, level, flags
        )
    every_noise, every_score = np.full(respondents, np.nan), np.full((runs, respondents), np.nan)
    every_noise[included], every_score[:, included] = noise, scores
    return GeneralizedRetest(rho, every_noise, every_score, spread, drift)


def noise_floor(rates: ArrayLike, n_items: int, *, strata: ArrayLike | None = None) -> Coefficient:
    """The test-retest correlation that independent coin flips at each respondent's own rate would
    give.

    With thousands of items even answers drawn by lot repeat their scores almost perfectly
    (docs/theory/2). A coefficient near this floor shows that the scores repeat, not that the
    answers do. With few items it is a little too high.

        r0 = s2 / (s2 + mean(p (1 - p)) / n),   s2 = variance of the rates

    - `rates, n_items`: (respondents,): shares of items answered one way, and the number of items.
    - `strata`: (respondents, types): the rates by type, of equally many items each; the floor is
      then higher.

    There is no interval. The status is `insufficient` below 3 respondents or 2 items, `degenerate`
    for equal rates.
    >>> round(noise_floor([0.40, 0.45, 0.50, 0.55, 0.60, 0.65, 0.70, 0.75, 0.80, 0.85], 4000).value,
    ...     4)
    0.9977
    """
    p = np.asarray(rates, dtype=np.float64)
    by = p[:, None] if strata is None else np.asarray(strata, dtype=np.float64)
    if by.ndim != 2 or len(by) != len(p):
        raise ValueError(f"strata must have shape ({len(p)}, types), got {by.shape}")
    known = np.isfinite(p) & np.isfinite(by).all(axis=1)
    p, by = p[known], by[known]
    if len(p) < 3 or n_items < 2:
        return Coefficient.absent(
            "insufficient",
            f"a noise floor needs 3 respondents and 2 items, there are {len(p)} and {n_items}",
            len(p),
        )
    lottery = float((by * (1 - by)).mean()) / n_items
    spread = float(p.var(ddof=1))
    if is_constant(p):
        return Coefficient.absent("degenerate", "all respondents have the same rate", len(p))
    return Coefficient(spread / (spread + lottery), math.nan, math.nan, len(p), method="binomial")
