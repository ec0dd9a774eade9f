"""Internal consistency of the items of a test, and the reliability of another length."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np

from hqm.psychometrics.inference.families import Relatives, add_lower_bound, membership
from hqm.psychometrics.inference.resampling import cluster_labels, cluster_sums
from hqm.psychometrics.result import (
    Array,
    ArrayLike,
    BoolArray,
    Coefficient,
    Indices,
    Labels,
    Outcome,
    Status,
    float_array,
    is_constant,
    ratio,
)
from hqm.psychometrics.variance.variance_components import reliability_interval


def complete_scores(
    scores: ArrayLike, drop: Literal["respondents", "items"] = "respondents"
) -> Array:
    """The scores without the respondents, or without the items, that lack one."""
    x = float_array(scores, "respondents, items")
    finite = np.isfinite(x)
    if drop == "respondents":
        return x[finite.all(axis=1)]
    return x[:, finite.all(axis=0)]


def consistency_refusal(
    x: Array, coefficient_name: str, *, items: int = 2
) -> tuple[Status, str] | None:
    """The status and the reason where these scores have no coefficient of consistency."""
    m, k = x.shape
    if m < 3 or k < items:
        return (
            "insufficient",
            f"{coefficient_name} needs 3 respondents and {items} items, there are {m} and {k}",
        )
    # rounding of equal totals is no variance to divide by
    if is_constant(np.nanmean(x, axis=1)):
        return "degenerate", "all respondents have the same total"
    return None


def varying_columns(x: Array) -> BoolArray:
    """Which columns vary beyond rounding."""
    if x.size == 0:
        return np.zeros(x.shape[1], dtype=bool)
    column_range = np.nanmax(x, axis=0) - np.nanmin(x, axis=0)
    return np.asarray(column_range > 1e-12 * np.maximum(1.0, np.nanmax(np.abs(x), axis=0)))


def consistency_flags(x: Array, value: float) -> tuple[str, ...]:
    """The flags of a coefficient of these scores."""
    m, k = x.shape
    flags = []
    # the covariance matrix of k items has rank m - 1 at most
    if k >= m:
        flags.append("RANK_DEFICIENT")
    if not varying_columns(x).all():
        flags.append("ZERO_VARIANCE_ITEMS")
    if value > 0.95:
        flags.append("REDUNDANT")
    return tuple(flags)


@dataclass(frozen=True, slots=True)
class Alpha:
    """Cronbach's alpha with its intervals, and what it would be without the items that nobody or
    everybody passes.

    Attributes
    ----------
    coefficient
        Alpha over clusters, with its lower bound over respondents and, in `fixed`, the interval
        for these respondents over other clusters. Flags: `REDUNDANT` (above .95),
        `RANK_DEFICIENT` (as many items as respondents or more: the covariances cannot be
        modelled), `ZERO_VARIANCE_ITEMS`.
    varying
        The same on the `k_varying` items that vary.
    item_alpha
        Alpha over single items, whatever they share; the same where every item is a cluster of
        its own.
    n_clusters
        The number of clusters.
    """

    coefficient: Coefficient
    varying: Coefficient
    n: int
    k: int
    k_varying: int
    item_alpha: float = math.nan
    n_clusters: int = 0


def cronbach_alpha(
    scores: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    n_effective: float | None = None,
    families: Sequence[str] = (),
    level: float = 0.95,
    drop: Literal["respondents", "items", "answers"] = "respondents",
) -> Alpha:
    """Compute Cronbach's alpha; for items scored 0 or 1 it is Kuder and Richardson's formula 20.

    It estimates how well the total would agree with the total of another sample of as many such
    items. It is a lower bound of reliability when the items' errors are unrelated. Those of items
    that share a picture are not: a picture that a model sees well helps all its questions. So
    pictures, not items, are the components of the test [1]_.

    Parameters
    ----------
    scores : array_like, shape (respondents, items)
        Item scores, NaN where an answer was not scored.
    clusters : array_like, shape (items,), optional
        Labels of what items share, such as the picture; every item its own unless given.
    n_effective : float, optional
        Number of independent respondents, where some are relatives; all unless given.
    families : sequence of str, shape (respondents,), optional
        Labels of relatives; none unless given.
    level : float, default 0.95
        Confidence level of the intervals.
    drop : {'respondents', 'items', 'answers'}, default 'respondents'
        What to leave out where a score is missing: the respondent, the item, or that answer alone.

    Returns
    -------
    Alpha
        The status is `insufficient` below 3 respondents or 2 items and `degenerate` where all
        totals agree. There is no interval for these respondents below 10 clusters.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
    With r the residual of respondent x item:

        alpha = 1 - mean v_m / s2_X,   v_m = C / (C - 1) M / (M - 1) sum_c (sum of r_mi in cluster
            c)^2 / n_m^2
              = k / (k - 1) (1 - sum s2_i / s2_total) where every item stands alone
        `normal` (Feldt 1965): 1 - (1 - alpha) F(.975 and .025; M - 1, (M - 1)(C - 1))

    It does not show that the items measure one thing, and it grows with their number: thousands of
    items reach .95 with little in common.

    References
    ----------
    .. [1] Sireci, S. G., Thissen, D. and Wainer, H. (1991). Journal of Educational Measurement,
       28, 237-247.
    .. [2] Cronbach, L. J. (1951). Psychometrika, 16, 297-334.

    Examples
    --------
    >>> round(cronbach_alpha([[3, 4, 3], [1, 2, 2], [4, 4, 5], [2, 2, 3],
    ...     [5, 3, 4]]).coefficient.value, 4)
    0.8628
    """
    x = float_array(scores, "respondents, items")
    labels = cluster_labels(clusters, np.shape(scores)[-1])
    relatives = Relatives(tuple(families), n_effective)
    if drop == "answers":
        scored = np.isfinite(x)
        relatives = relatives.subset(scored.any(axis=1))
        x = x[scored.any(axis=1)][:, scored.any(axis=0)]
        labels = labels[scored.any(axis=0)]
    else:
        if drop == "respondents":
            relatives = relatives.subset(np.isfinite(x).all(axis=1))
        else:
            labels = labels[np.isfinite(x).all(axis=0)]
        x = complete_scores(x, drop)
    m, k = x.shape
    # what counts as an item of the test: Sireci et al. (1991)
    n_clusters = len(np.unique(labels))
    varying = varying_columns(x)
    refusal = consistency_refusal(x, "alpha")
    if refusal is None and n_clusters < 2:
        refusal = ("insufficient", "alpha needs 2 pictures, there is one")
    if refusal:
        absent = Coefficient.absent(*refusal, m)
        return Alpha(absent, absent, m, k, int(varying.sum()))
    coefficient = relative_error(x, labels).reliability(relatives, level)
    # items that all pass or all fail add nothing to both variances, but count in k / (k - 1)
    included = x[:, varying]
    if len(np.unique(labels[varying])) < 2:
        varying_alpha = Coefficient.absent(
            "insufficient", f"only {included.shape[1]} item varies", m
        )
    else:
        varying_alpha = relative_error(included, labels[varying]).reliability(relatives, level)
    item_alpha = relative_error(x, np.arange(k)).value
    coefficient = replace(coefficient, flags=consistency_flags(x, coefficient.value), n_items=k)
    return Alpha(coefficient, varying_alpha, m, k, included.shape[1], item_alpha, n_clusters)


@dataclass(frozen=True, slots=True, eq=False)
class RelativeError:
    """Scores of respondents, and their error over other clusters of items.

    Attributes
    ----------
    sums, sizes
        (respondents, clusters): item scores and numbers of items scored.
    residuals
        (respondents, clusters): sums of what neither respondent nor item explains.
    factor
        The factor that makes their squares unbiased.
    """

    sums: Array
    sizes: Array
    residuals: Array
    factor: float

    @property
    def value(self) -> float:
        """1 - error variance / variance of the scores."""
        # the mean error variance of the respondents' mean scores, over other clusters
        n = self.sizes.sum(axis=1)
        error = self.factor * float(((self.residuals**2).sum(axis=1) / n**2).mean())
        score_variance = float((self.sums.sum(axis=1) / n).var(ddof=1))
        return _one_minus_ratio(error, score_variance)

    def log_ratios(self) -> Array:
        """(clusters,): log(error / variance) with each cluster left out, up to a constant."""
        n = self.sizes.sum(axis=1)[:, None] - self.sizes
        # (clusters,): sums over items less the cluster's own
        squares = self.residuals**2
        with np.errstate(divide="ignore", invalid="ignore"):
            error = ((squares.sum(axis=1)[:, None] - squares) / n**2).mean(axis=0)
            score_variance = ((self.sums.sum(axis=1)[:, None] - self.sums) / n).var(axis=0, ddof=1)
            return np.asarray(np.log(error / score_variance))

    def subset_reliability(self) -> Callable[[Indices], tuple[Array, Array]]:
        """A function of samples of respondents, (samples, rows): 1 - error variance / variance of
        the scores, and that variance, of each.
        """
        n = self.sizes.sum(axis=1)
        means = self.sums.sum(axis=1) / n
        # (respondents, respondents): products of their residuals, summed over clusters
        products = self.residuals @ self.residuals.T

        def reliability_of_rows(rows: Indices) -> tuple[Array, Array]:
            members = membership(rows, len(products))
            n_rows = rows.shape[1]
            # products with the clusters' means, which are those of the sample's respondents
            with_means = members @ products / n_rows
            squared_means = np.vecdot(with_means, members)[:, None] / n_rows
            squares = np.maximum(np.diag(products) - 2 * with_means + squared_means, 0.0)
            error = np.vecdot(squares / n**2, members) / (n_rows - 1)
            score_variance = means[rows].var(axis=1, ddof=1)
            return 1 - ratio(error, score_variance), score_variance

        return reliability_of_rows

    def reliability(self, relatives: Relatives, level: float) -> Coefficient:
        """The coefficient with its interval for these respondents, and its least value for
        others.
        """
        m = len(self.sums)
        fixed = reliability_interval(1 - self.value, self.log_ratios(), level)
        value = Coefficient(self.value, n=m, level=level, fixed=fixed)
        scores = self.sums.sum(axis=1) / self.sizes.sum(axis=1)
        return add_lower_bound(
            value,
            self.subset_reliability(),
            scores,
            relatives,
            minimum=-math.inf,
            vectorized=True,
        )


def _one_minus_ratio(error: float, variance: float) -> float:
    if variance > 0:
        return 1 - error / variance
    return math.nan


def relative_error(scores: Array, labels: Labels) -> RelativeError:
    """Split scores into respondent, item and residual, answers that are missing left out, and sum
    within clusters.

    - `scores, labels`: (respondents, items) and the items' clusters.
    """
    scored = np.isfinite(scores)
    residual = filled = np.where(scored, scores, 0.0)
    n_scored = np.maximum(scored.sum(axis=1, keepdims=True), 1)
    # one pass is exact where nothing is missing
    # sweeps over items and respondents converge to the least-squares fit of both effects
    for _ in range(1 if scored.all() else 4):
        residual = residual - residual.sum(axis=0) / np.maximum(scored.sum(axis=0), 1)
        residual = np.where(scored, residual, 0.0)
        residual = residual - residual.sum(axis=1, keepdims=True) / n_scored
        residual = np.where(scored, residual, 0.0)
    # degrees of freedom that the respondents' means took, C / (C - 1) in the squares; one cluster
    # has none
    n_clusters = len(np.unique(labels))
    residual = residual * (math.sqrt(n_clusters / (n_clusters - 1)) if n_clusters > 1 else math.nan)
    sums, sizes = cluster_sums(filled, scored, labels)
    m = len(scores)
    # M / (M - 1) for the items' means
    return RelativeError(sums, sizes, cluster_sums(residual, scored, labels)[0], m / (m - 1))


def too_many_items_reason(x: Array) -> str:
    """Why covariances of more items than respondents cannot be modelled."""
    return (
        f"{x.shape[1]} items but only {x.shape[0]} respondents: use types or parcels of items"
        " instead"
    )


def bounded_coefficient(
    x: Array,
    statistic: Callable[[Array], float],
    coefficient_name: str,
    families: Sequence[str],
    *,
    items: int = 2,
) -> Coefficient:
    """A coefficient of complete scores, with its lower bound over other respondents."""
    m = x.shape[0]
    refusal = consistency_refusal(x, coefficient_name, items=items)
    if refusal:
        return Coefficient.absent(*refusal, m)
    relatives = Relatives(tuple(families))
    # raises where there is not one family for each respondent
    relatives.units(m)
    value = statistic(x)
    if not math.isfinite(value):
        return Coefficient.absent(
            "degenerate",
            f"{coefficient_name} divides by zero: items depend linearly or totals agree",
            m,
        )
    totals = x.sum(axis=1)
    return add_lower_bound(
        Coefficient(value, n=m, method=coefficient_name, flags=consistency_flags(x, value)),
        lambda rows: (statistic(x[rows]), float(totals[rows].var(ddof=1))),
        totals,
        relatives,
    )


def standardized_alpha(scores: ArrayLike) -> Coefficient:
    """Compute alpha from the mean correlation of the items.

    Parameters
    ----------
    scores : array_like, shape (respondents, items)
        Item scores; respondents with a missing score, and items that do not vary, are left out.

    Returns
    -------
    Coefficient
        Alpha of the sum of standardised items, not of a score that is a mean. There is no interval.
        The status is `insufficient` where fewer than two items vary, else that of alpha.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        alpha_s = k r / (1 + (k - 1) r),   r = mean correlation of two items

    Examples
    --------
    >>> round(standardized_alpha([[3, 4, 3], [1, 2, 2], [4, 4, 5], [2, 2, 3], [5, 3, 4]]).value, 4)
    0.8788
    """
    x = complete_scores(scores)
    x = x[:, varying_columns(x)]
    if len(x) < 3 or x.shape[1] < 2:
        return Coefficient.absent(
            "insufficient",
            f"alpha needs 3 respondents and 2 items that vary, there are {len(x)} and {x.shape[1]}",
            len(x),
        )
    alpha = cronbach_alpha(x / x.std(axis=0)).coefficient
    if alpha.status != "ok":
        return Coefficient.absent(alpha.status, alpha.reason, len(x))
    return Coefficient(alpha.value, n=len(x), method="standardised alpha", flags=alpha.flags)


@dataclass(frozen=True, slots=True)
class SplitHalf(Outcome):
    """Reliabilities of many splits of the items into halves.

    `low` and `high` hold 95% of the splits: they show how much the choice of the split matters and
    are no confidence interval. `undefined` counts splits where a half did not vary or r was -1.
    """

    n: int
    k: int
    mean: float = math.nan
    low: float = math.nan
    high: float = math.nan
    minimum: float = math.nan
    maximum: float = math.nan
    splits: int = 0
    undefined: int = 0
    exhaustive: bool = False


def split_half(scores: ArrayLike, rng: np.random.Generator, *, draws: int = 1000) -> SplitHalf:
    """Compute the split-half reliability over all splits, or over random ones where they are many.

    Parameters
    ----------
    scores : array_like, shape (respondents, items)
        Scores of items, or of types; respondents with a missing score are left out.
    rng : numpy.random.Generator
        Draws the splits where there are too many to try all.
    draws : int, default 1000
        Number of splits up to which all are tried; beyond it, how many are drawn.

    Returns
    -------
    SplitHalf
        The status is `insufficient` below 3 respondents or 2 items, `degenerate` where no split has
        a value. With an odd number of items one half is longer by one, and the formula is an
        approximation.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        each split: 2 r / (1 + r), r = correlation of the two halves' totals (Spearman and Brown)

    References
    ----------
    .. [1] Spearman, C. (1910) and Brown, W. (1910). British Journal of Psychology, 3, 271-295
       and 296-322.

    Examples
    --------
    >>> result = split_half([[3, 4, 3, 2], [1, 2, 2, 1], [4, 4, 5, 5], [2, 2, 3, 1]],
    ...     np.random.default_rng(0))
    >>> result.splits, result.exhaustive, round(result.mean, 3)
    (3, True, 0.961)
    """
    x = complete_scores(scores)
    m, k = x.shape
    refusal = consistency_refusal(x, "a split")
    if refusal:
        return SplitHalf.absent(*refusal, n=m, k=k)
    half = k // 2
    # even k: lexicographic order puts the halves with item 0 first, so that the first `n_splits`
    # are each split once
    # with an even number of items each split comes twice, once for each half
    n_splits = math.comb(k, half) // (2 if k % 2 == 0 else 1)
    exhaustive = n_splits <= draws
    if exhaustive:
        halves = list(combinations(range(k), half))[:n_splits]
        mask = np.zeros((n_splits, k))
        np.put_along_axis(mask, np.array(halves), 1.0, axis=1)
    else:
        mask = (rng.permuted(np.tile(np.arange(k), (draws, 1)), axis=1) < half).astype(np.float64)
    # centred once, so that sums of squares of the halves are variances
    x = x - x.mean(axis=0)
    first_half = mask @ x.T
    second_half = x.sum(axis=1)[None, :] - first_half
    vx = (first_half**2).sum(axis=1)
    vy = (second_half**2).sum(axis=1)
    # relative to all scores: a half that varies by rounding only is constant
    scale = 1e-12 * float((x**2).sum())
    ok = (vx > scale) & (vy > scale)
    r = (first_half * second_half).sum(axis=1)[ok] / np.sqrt(vx[ok] * vy[ok])
    # Spearman-Brown has no value at r = -1
    r = r[r > -1 + 1e-12]
    if not len(r):
        return SplitHalf.absent(
            "degenerate",
            "in every split one half does not vary or the halves are opposed",
            n=m,
            k=k,
            splits=len(mask),
            undefined=len(mask),
            exhaustive=exhaustive,
        )
    values = 2 * r / (1 + r)
    low, high = np.quantile(values, [0.025, 0.975])
    return SplitHalf(
        m,
        k,
        mean=float(values.mean()),
        low=float(low),
        high=float(high),
        minimum=float(values.min()),
        maximum=float(values.max()),
        splits=len(mask),
        undefined=len(mask) - len(r),
        exhaustive=exhaustive,
    )


def spearman_brown(reliability: float, factor: float) -> float:
    """Compute the reliability of a test `factor` times as long.

    Added items must be as good as the ones there are.

    Parameters
    ----------
    reliability : float
        Reliability of the test.
    factor : float
        Length of the other test, as a multiple of this one.

    Returns
    -------
    float
        f r / (1 + (f - 1) r); NaN where the denominator is not positive.

    References
    ----------
    .. [1] Spearman, C. (1910) and Brown, W. (1910). British Journal of Psychology, 3, 271-295
       and 296-322.

    Examples
    --------
    >>> round(spearman_brown(0.6, 2), 12)
    0.75
    """
    # at or below 0 the longer test would have a negative variance
    denominator = 1 + (factor - 1) * reliability
    if denominator > 0:
        return factor * reliability / denominator
    return math.nan


def standardized_reliability(
    reliability: Coefficient | float, n_items: int, n_standard: int = 1000
) -> Coefficient:
    """Bring a reliability to a common number of items.

    Long benchmarks repeat better merely because they are long: 4,000 items of the quality of
    MMHal's 96 would reach the test-retest of the best. Compare the items' quality at one length,
    and choose the length afterwards.

    Parameters
    ----------
    reliability : Coefficient or float
        A bare number, or a coefficient, whose intervals are carried along.
    n_items : int
        Number of items that the reliability belongs to.
    n_standard : int, default 1000
        The common number of items.

    Returns
    -------
    Coefficient
        The status is `insufficient` for a length below 1 and `not_applicable` for a number outside
        -1 to 1. A coefficient without a number is handed on as it is.

    Notes
    -----
        rho_std = f rho / (1 + (f - 1) rho),   f = n_standard / n

    The formula of Spearman and Brown takes all items as equally good; for ratios over a corpus
    (CHAIR) it approximates.

    Examples
    --------
    >>> round(standardized_reliability(0.9962, 4000, 96).value, 3)
    0.863
    """
    if isinstance(reliability, Coefficient):
        start = reliability
    else:
        start = Coefficient(float(reliability))
    if start.status not in ("ok", "not_informative"):
        return start
    if n_items < 1 or n_standard < 1:
        return Coefficient.absent(
            "insufficient",
            f"both lengths must be 1 item or more, got {n_items} and {n_standard}",
            start.n,
        )
    factor = n_standard / n_items
    value = spearman_brown(start.value, factor)
    if not -1 <= start.value <= 1 or not math.isfinite(value):
        return Coefficient.absent(
            "not_applicable",
            f"a reliability of {start.value:.4g} has no value at {n_standard} items",
            start.n,
        )
    projected = start.transformed(lambda rho: spearman_brown(rho, factor))
    method = f"{start.method}, Spearman-Brown to {n_standard} items".removeprefix(", ")
    return replace(projected, method=method, se=math.nan, raw=math.nan)


def lengthening(reliability: float, target: float) -> float:
    """Return how many times as many items, or runs, bring a reliability to a target.

    This is Spearman and Brown's formula, solved for the factor; infinite where no number does.
    Screen, advice and gate all ask it for the lower end of the reliability's interval.

    >>> round(lengthening(0.8, 0.9), 2)
    2.25
    """
    # from target = f r / (1 + (f - 1) r)
    if reliability <= 0:
        return math.inf
    return target * (1 - reliability) / (reliability * (1 - target))
