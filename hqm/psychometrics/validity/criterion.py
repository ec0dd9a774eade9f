"""Criterion validity: do the benchmark's scores agree with people's judgement of the same
answers?
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import stdtr, stdtrit

from hqm.psychometrics.inference.families import (
    Influence,
    Relatives,
    add_disattenuated_bound,
    cover_fixed_interval,
    leave_one_out,
)
from hqm.psychometrics.inference.resampling import (
    MIN_UNITS,
    cluster_labels,
    jackknife_standard_error,
    reliability_jackknife_interval,
)
from hqm.psychometrics.inference.significance import holm
from hqm.psychometrics.reliability.consistency import relative_error
from hqm.psychometrics.result import (
    Array,
    ArrayLike,
    BoolArray,
    Coefficient,
    ConfidenceInterval,
    IntArray,
    Labels,
    Outcome,
    equal_shape_arrays,
    float_array,
    is_constant,
    normal_quantile,
)
from hqm.psychometrics.validity.correlation import pearson
from hqm.psychometrics.variance.variance_components import correlation_interval


@dataclass(frozen=True, slots=True)
class CriterionValidity:
    """How the automatic scores of respondents agree with human ones.

    Attributes
    ----------
    full
        Pearson's correlation of the automatic score over all items with the human score over
        the labelled items.
    labelled_only
        The same with both scores over the labelled items.
    disattenuated
        What `full` would be without the sampling error of the items, beside its `raw` value
        where it was cut at 1.
    ceiling
        The largest `full` that the two reliabilities allow: sqrt(rel_A rel_H).
    reliability_automatic, reliability_human
        Generalizability over items of both scores.
    influence
        `full` without each respondent in turn.
    n_labelled, n_cells
        labelled items a respondent (their mean where respondents have other items), and pairs
        of an automatic score and a label that were used.
    residual_human, true_human
        Variance of a human item score within, and of human scores between respondents;
        `labels_needed` uses them.
    """

    full: Coefficient
    labelled_only: Coefficient
    disattenuated: Coefficient
    ceiling: float
    reliability_automatic: float
    reliability_human: float
    influence: Influence
    n: int
    n_items: int
    n_labelled: int
    residual_human: float = math.nan
    true_human: float = math.nan
    flags: tuple[str, ...] = ()
    n_cells: int = 0


def criterion_validity(
    automatic: ArrayLike,
    human: ArrayLike,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    *,
    n_eff: float | None = None,
    families: Sequence[str] = (),
    level: float = 0.95,
) -> CriterionValidity:
    """Compute the agreement of automatic and human scores over respondents.

    Over the same labelled items the luck of these items flatters; with the full automatic score the
    few labels weaken. The third value takes the items' sampling error out of both and the shared
    error out of the covariance:

    Parameters
    ----------
    automatic : array_like, shape (respondents, items)
        Automatic item scores; items with a missing one are left out for all.
    human : array_like, shape (respondents, items)
        Human item scores, NaN where no person judged; a random sample. Other items for each
        respondent count as error.
    clusters : array_like, shape (items,), optional
        Labels of what items share.
    weights : array_like, shape (respondents, items), optional
        1 / probability of being labelled; human means are then those of Hajek.
    n_eff : float, optional
        Number of independent respondents, where some are relatives; all unless given.
    families : sequence of str, shape (respondents,), optional
        Labels of relatives; none unless given.
    level : float, default 0.95
        Confidence level of the intervals.

    Returns
    -------
    CriterionValidity
        A part is `insufficient` below 3 respondents, 2 items or 2 labelled pictures; `degenerate`
        where a score is all sampling error. Flags: `ATTENUATION` (human reliability below .95),
        `DOMINANT_MODEL`, `CAPPED`.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        (s_AH - c_AH) / sqrt((s2_A - v_A)(s2_H - v_H)),   v_A = MS_A / n,   v_H = MS_H / h,
        c_AH = MP_AH / n

    with MS and MP residual mean squares and products, summed within pictures (`relative_error`).
    For these respondents every cluster of items is left out; for others Pearson's lower end is
    stretched as the value is.

    References
    ----------
    .. [1] Spearman (1904). American Journal of Psychology, 15, 72-101.
    .. [2] Zimmerman and Williams (1977). BJMSP, 30, 135-147.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> human = (rng.uniform(size=(12, 400)) < np.linspace(0.2, 0.9, 12)[:, None]).astype(float)
    >>> judge = np.where(rng.uniform(size=human.shape) < 0.9, human, 1 - human)
    >>> human[:, 60:] = np.nan
    >>> result = criterion_validity(judge, human)
    >>> result.full.value < result.disattenuated.value, result.n_labelled
    (True, 60)
    """
    a, h = equal_shape_arrays(automatic, human, "respondents, items")
    scored = np.isfinite(a).all(axis=0)
    labels = cluster_labels(clusters, a.shape[1])[scored]
    a = a[:, scored]
    h = h[:, scored]
    relatives = Relatives(tuple(families), n_eff)
    labelled: BoolArray = np.asarray(np.isfinite(h).all(axis=0))
    paired = np.isfinite(h)
    # equal labels for all let one matrix do; others need a mean for each respondent
    if weights is not None or (paired != labelled).any():
        w = np.ones(h.shape)
        if weights is not None:
            w = np.asarray(weights, dtype=np.float64)[:, scored]
        return _unequal_labels_validity(a, h, np.where(paired, w, 0.0), labels, relatives, level)
    m, n = a.shape
    size = int(labelled.sum())
    if m < 3 or n < 2 or len(np.unique(labels[labelled])) < 2:
        return _insufficient_validity(
            "criterion validity needs 3 respondents and 2 items that are scored and labelled for"
            f" all of them, there are {m} respondents, {n} scored and {size} labelled items",
            m,
            n,
            size,
        )
    judged = h[:, labelled]
    moments = _moments(a, judged, labels, labelled)
    return _validity_of_moments(
        moments, a[:, labelled].mean(axis=1), (m, n, size, m * size), relatives, level
    )


def _insufficient_validity(reason: str, m: int, n: int, size: int) -> CriterionValidity:
    absent = Coefficient.absent("insufficient", reason, m)
    nan = math.nan
    return CriterionValidity(
        absent,
        absent,
        absent,
        nan,
        nan,
        nan,
        Influence(nan, status="insufficient", reason=reason),
        m,
        n,
        size,
    )


def _validity_of_moments(
    moments: _Moments,
    same_items: Array,
    counts: tuple[int, int, int, int],
    relatives: Relatives,
    level: float,
) -> CriterionValidity:
    """Criterion validity from scores and their error variances; `counts` are respondents, items,
    labels of each, and pairs.
    """
    m, n, size, cells = counts
    # the last column of either has no cluster left out
    x = moments.x[:, -1]
    y = moments.y[:, -1]
    sample: dict[str, Any] = {"families": relatives.families, "n_effective": relatives.n_effective}
    full = replace(pearson(x, y, level=level, **sample), n_items=n)
    influence = leave_one_out(lambda i: _correlation(x[i], y[i]), m, scores=np.stack([x, y]))
    if full.status == "ok":
        full = cover_fixed_interval(
            replace(
                full,
                fixed=reliability_jackknife_interval(
                    full.value, moments.correlations(), level=level
                ),
            )
        )
    # observed variance less that of the items' sampling is universe variance: 1 - v / s is the
    # reliability
    variance_a = float(x.var(ddof=1))
    s_h = float(y.var(ddof=1))
    rel_a, rel_h = (
        1 - v / s if s > 1e-15 else math.nan
        for s, v in ((variance_a, moments.v_a), (s_h, moments.v_h))
    )
    corrected = _disattenuated(moments, full, level)
    flags = tuple(influence.flags) + corrected.flags
    if math.isfinite(rel_h) and rel_h < 0.95:
        flags = ("ATTENUATION", *flags)
    # no correlation can exceed the root of the product of reliabilities (Spearman 1904)
    if math.isfinite(rel_a + rel_h):
        ceiling = math.sqrt(max(0.0, rel_a) * max(0.0, rel_h))
    else:
        ceiling = math.nan
    labelled_only = replace(pearson(same_items, y, level=level, **sample), n_items=size)
    return CriterionValidity(
        full,
        labelled_only,
        corrected,
        ceiling,
        rel_a,
        rel_h,
        influence,
        m,
        n,
        size,
        moments.v_h * size,
        s_h - moments.v_h,
        flags,
        cells,
    )


def _unequal_labels_validity(
    a: Array,
    h: Array,
    w: Array,
    labels: Labels,
    relatives: Relatives,
    level: float,
) -> CriterionValidity:
    """Criterion validity where the labelled items, or their weights, differ between respondents:
    all pairs of a score and a label are used.
    """
    names, number = np.unique(labels, return_inverse=True)
    count = len(names)

    def by_cluster(values: Array) -> Array:
        return np.array(
            [np.bincount(number, weights=row, minlength=count) for row in values]
        ).reshape(len(values), count)

    # a variance over clusters needs two of them
    estimable = (by_cluster(w) > 0).sum(axis=1) >= 2
    a = a[estimable]
    h = h[estimable]
    w = w[estimable]
    relatives = relatives.subset(estimable)
    m = a.shape[0]
    n = a.shape[1]
    cells = int((w > 0).sum())
    size = round(cells / m) if m else 0
    if m < 3:
        return _insufficient_validity(
            "criterion validity needs 3 respondents with labels on two pictures each, "
            f"there are {m}, with {n} items that are scored for all of them",
            m,
            n,
            size,
        )
    # Hajek's mean: weights that sum to 1 for each respondent
    share = w / w.sum(axis=1, keepdims=True)
    human = np.nan_to_num(h)  # without a label, and so without weight
    means = (share * human).sum(axis=1, keepdims=True)
    # (respondents, clusters): what each picture adds to the error of the human mean
    errors = by_cluster(share * (human - means))
    n_pictures = (by_cluster(w) > 0).sum(axis=1)
    # C / (C - 1) in each respondent's own number of labelled pictures
    unbiased = n_pictures / (n_pictures - 1)
    automatic = relative_error(a, number)
    v_a = automatic.factor * float((automatic.residuals**2).sum(axis=1).mean()) / n**2
    v_h = float((unbiased * (errors**2).sum(axis=1)).mean())
    # both errors over the same pictures: their covariance is not agreement
    shared = float((unbiased * (automatic.residuals / n * errors).sum(axis=1)).mean())
    # (respondents, clusters): both scores without each cluster
    x = (automatic.sums.sum(axis=1, keepdims=True) - automatic.sums) / (n - automatic.sizes)
    sums = by_cluster(w * human)
    weights = by_cluster(w)
    y = (sums.sum(axis=1, keepdims=True) - sums) / (weights.sum(axis=1, keepdims=True) - weights)
    moments = _Moments(
        np.hstack([x, a.mean(axis=1, keepdims=True)]), np.hstack([y, means]), v_a, v_h, shared
    )
    return _validity_of_moments(
        moments,
        (share * a).sum(axis=1),
        (m, n, size, cells),
        relatives,
        level,
    )


def _correlation(x: Array, y: Array) -> float:
    if is_constant(x) or is_constant(y):
        return math.nan
    return float(np.corrcoef(x, y)[0, 1])


@dataclass(frozen=True, slots=True, eq=False)
class _Moments:
    """Scores of respondents with each cluster left out (the last column: with none), and the error
    variances of scores.

    `shared` is the error that both scores have in common, because the labelled items are among
    those scored.
    """

    x: Array
    y: Array
    v_a: float
    v_h: float
    shared: float

    def correlations(self) -> Array:
        """(clusters,): Pearson's correlation with each cluster left out."""
        return self._corrected_for(0.0, 0.0, 0.0)[:-1]

    def disattenuated(self) -> Array:
        """(clusters + 1,): the corrected correlation; NaN where a true variance is not positive."""
        return self._corrected_for(self.v_a, self.v_h, self.shared)

    def _corrected_for(self, v_a: float, v_h: float, shared: float) -> Array:
        return _corrected_correlations(self.x, self.y, v_a, v_h, shared)


def _corrected_correlations(x: Array, y: Array, v_a: float, v_h: float, shared: float) -> Array:
    """(sets,): correlations of (respondents, sets) scores, corrected for attenuation and for the
    error that both have in common.
    """
    x = x - x.mean(axis=0)
    # shared errors would count as agreement: they are taken off the covariance, own ones off the
    # variances
    y = y - y.mean(axis=0)
    s_a, s_h, s_ah = ((u * v).sum(axis=0) / (len(x) - 1) for u, v in ((x, x), (y, y), (x, y)))
    # Spearman (1904): true variances are the observed ones less those of sampling error
    product = np.where((s_a > v_a) & (s_h > v_h), (s_a - v_a) * (s_h - v_h), np.nan)
    return np.asarray((s_ah - shared) / np.sqrt(product))


def _moments(a: Array, judged: Array, labels: Labels, labelled: BoolArray) -> _Moments:
    number = np.unique(labels, return_inverse=True)[1]
    automatic = relative_error(a, number)
    human = relative_error(judged, number[labelled])
    labelled_clusters = np.unique(number[labelled])
    n = a.shape[1]
    size = judged.shape[1]
    # v = sum over clusters of squared residual sums / n^2 (`relative_error`)
    v_a = automatic.factor * float((automatic.residuals**2).sum(axis=1).mean()) / n**2
    v_h = human.factor * float((human.residuals**2).sum(axis=1).mean()) / size**2
    # a labelled picture's other items share its error; the products have as many degrees of freedom
    # as labelled pictures
    n_labelled_clusters = len(labelled_clusters)
    n_clusters = automatic.sums.shape[1]
    unbiased = math.sqrt(
        n_labelled_clusters / (n_labelled_clusters - 1) * (n_clusters - 1) / n_clusters
    )
    product = unbiased * float(
        (automatic.residuals[:, labelled_clusters] * human.residuals).sum(axis=1).mean()
    )
    # 0 labels in clusters without any: leaving those out changes no human mean
    sums, sizes = np.zeros((2, *automatic.sums.shape))
    sums[:, labelled_clusters] = human.sums
    sizes[:, labelled_clusters] = human.sizes
    x = (automatic.sums.sum(axis=1, keepdims=True) - automatic.sums) / (n - automatic.sizes)
    y = (sums.sum(axis=1, keepdims=True) - sums) / (size - sizes)
    return _Moments(
        np.hstack([x, a.mean(axis=1, keepdims=True)]),
        np.hstack([y, judged.mean(axis=1, keepdims=True)]),
        v_a,
        v_h,
        automatic.factor * product / (n * size),
    )


def _disattenuated(moments: _Moments, full: Coefficient, level: float) -> Coefficient:
    if full.status != "ok":
        return full
    values = moments.disattenuated()
    value = float(values[-1])
    m = full.n
    if not math.isfinite(value):
        return Coefficient.absent(
            "degenerate",
            "a score varies no more between respondents than its items' sampling error: nothing"
            " true is left",
            m,
        )
    # above 1 the error variances were overestimated: cut at 1, the raw value is kept
    exceeds_one = abs(value) > 1
    corrected = Coefficient(
        math.copysign(1.0, value) if exceeds_one else value,
        n=m,
        level=level,
        raw=value if exceeds_one else math.nan,
        fixed=correlation_interval(value, values[:-1], level) if m >= MIN_UNITS else None,
        flags=("CAPPED",) if exceeds_one else (),
        n_items=full.n_items,
    )
    return add_disattenuated_bound(corrected, full)


def labels_needed(target: float, residual: float, true: float) -> float:
    """Compute how many labelled items give human scores a target reliability.

    Parameters
    ----------
    target : float
        The reliability wanted, between 0 and 1.
    residual, true : float
        Variance of a human item score within respondents, and of true human scores between them.

    Returns
    -------
    float
        h = t / (1 - t) residual / true, not rounded; infinite where the respondents do not differ.

    Raises
    ------
    ValueError
        The target does not lie between 0 and 1.

    Examples
    --------
    >>> round(labels_needed(0.9, 0.2, 0.02))
    90
    """
    if not 0 < target < 1:
        raise ValueError(f"the target lies between 0 and 1, got {target}")
    if true > 0:
        # Spearman-Brown solved for the number: h = t / (1 - t) residual / true
        return target / (1 - target) * residual / true
    return math.inf


_MAX_GROUPS = 100
_MAX_ANSWERS = 20_000
_MIN_GROUPS = 4


@dataclass(frozen=True, slots=True)
class AnswerCorrelations:
    """Correlations over answers, each with its interval over pictures (`fixed`)."""

    pearson: Coefficient
    spearman: Coefficient
    tau_b: Coefficient


def answer_correlations(
    automatic: ArrayLike,
    human: ArrayLike,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    *,
    level: float = 0.95,
) -> AnswerCorrelations:
    """Compute Pearson's, Spearman's and Kendall's correlation (tau-b) over single answers.

    Answers about one picture are not independent: pictures are left out, one by one or in 100
    groups, and the spread of the correlation on Fisher's scale makes the interval, by Student's
    distribution. Differences between respondents' means count in it: with many respondents it is no
    measure of agreement within one.

    Parameters
    ----------
    automatic : array_like, shape (answers,)
        Scores; NaN where there is none.
    human : array_like, shape (answers,)
        Labels of people; NaN where there is none.
    clusters : array_like, shape (answers,), optional
        The picture of each answer.
    weights : array_like, shape (answers,), optional
        1 / probability of being labelled; ranks and pairs are weighted too.
    level : float, default 0.95
        Confidence level of the intervals.

    Returns
    -------
    AnswerCorrelations
        `insufficient` below 3 pairs; no interval below 4 pictures; `degenerate` where one side does
        not vary.

    Raises
    ------
    ValueError
        An array has another shape.

    Examples
    --------
    >>> study = answer_correlations([1, 2, 3, 4, 5], [1, 3, 2, 4, 5])
    >>> round(study.pearson.value, 2), round(study.spearman.value, 2), round(study.tau_b.value, 2)
    (0.9, 0.9, 0.8)
    """
    a, h = equal_shape_arrays(automatic, human, "answers")
    if weights is None:
        w = np.ones(len(a))
    else:
        w = equal_shape_arrays(a, weights, "answers")[1]
    labels = cluster_labels(clusters, len(a))
    labelled: BoolArray = np.isfinite(a) & np.isfinite(h) & np.isfinite(w)
    a = a[labelled]
    h = h[labelled]
    w = w[labelled]
    labels = labels[labelled]
    n = len(a)
    if n < 3 or n > _MAX_ANSWERS:
        reason = (
            f"a correlation over answers is made of 3 to {_MAX_ANSWERS:,} labelled answers,"
            f" there are {n:,}"
        )
        absent = Coefficient.absent("insufficient", reason, n)
        return AnswerCorrelations(absent, absent, absent)
    if np.ptp(a) <= 1e-12 or np.ptp(h) <= 1e-12:
        absent = Coefficient.absent(
            "degenerate", "all labelled answers have one score, or one label", n
        )
        return AnswerCorrelations(absent, absent, absent)
    values = _jackknifed_correlations(a, h, w, labels)
    return AnswerCorrelations(*(_fisher_interval(value, left, n, level) for value, left in values))


def _jackknifed_correlations(
    a: Array, h: Array, w: Array, labels: Labels
) -> list[tuple[float, Array]]:
    """Pearson's, Spearman's and Kendall's correlation, each with its values where pictures are left
    out.
    """
    _, member = np.unique(labels, return_inverse=True)
    pictures = int(member.max()) + 1
    groups = min(pictures, _MAX_GROUPS)
    # at most 100 groups of pictures, which bounds the time of Kendall's pairs
    group = member * groups // pictures
    masks = [group != g for g in range(groups)] if groups >= _MIN_GROUPS else []

    def jackknife(statistic: Callable[[Array, Array, Array], float]) -> tuple[float, Array]:
        replicates = [statistic(a[included], h[included], w[included]) for included in masks]
        return statistic(a, h, w), np.array(replicates)

    spearman = jackknife(lambda x, y, v: _pearson(_ranks(x, v), _ranks(y, v), v))
    # Kendall's pairs are counted once for all groups, not once more for each
    return [jackknife(_pearson), spearman, _kendall(a, h, w, group, groups)]


@dataclass(frozen=True, slots=True)
class MetricDifference:
    """How much closer to people one metric is than another, by one correlation; `p` by Holm over
    all pairs of this correlation.
    """

    statistic: str
    first: str
    second: str
    difference: Coefficient
    p: float


@dataclass(frozen=True, slots=True)
class MetricsBesidePeople(Outcome):
    """Several metrics' correlations with people over the same answers, and their differences."""

    correlations: Mapping[str, AnswerCorrelations]
    differences: tuple[MetricDifference, ...] = ()
    n: int = 0
    pictures: int = 0


def metrics_beside_people(
    metrics: Mapping[str, ArrayLike],
    human: ArrayLike,
    clusters: ArrayLike | None = None,
) -> MetricsBesidePeople:
    """Compare how well several metrics agree with people over single answers.

    Parameters
    ----------
    metrics : mapping of str to array_like
        Name of each metric, with its (answers,) scores.
    human : array_like, shape (answers,)
        Labels of people; NaN where there is none.
    clusters : array_like, shape (answers,), optional
        The picture of each answer.

    Returns
    -------
    MetricsBesidePeople
        The status is `insufficient` below 3 answers that all have, as in `answer_correlations`.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        z = atanh r_1 - atanh r_2,    t = z / SE(z) with pictures left out, G - 1 degrees of freedom

    The correlations share people's labels and the answers, so that their difference is tested, and
    intervals are not laid side by side. Answers that a metric lacks are left out for all.

    References
    ----------
    .. [1] Steiger, J. H. (1980). Psychological Bulletin, 87, 245-251 (one correlation, answers
       independent).

    Examples
    --------
    >>> good, bad = [1, 2, 3, 4, 6, 5], [3, 6, 1, 5, 2, 4]
    >>> study = metrics_beside_people({"good": good, "bad": bad}, [1, 2, 3, 4, 5, 6])
    >>> study.differences[0].first, round(study.differences[0].difference.value, 2)
    ('good', 1.03)
    """
    h = float_array(human, "answers")
    columns = {
        name: equal_shape_arrays(values, h, "answers")[0] for name, values in metrics.items()
    }
    complete = np.isfinite(np.stack([h, *columns.values()])).all(axis=0)
    labels = cluster_labels(clusters, len(h))[complete]
    shared = {name: values[complete] for name, values in columns.items()}
    h = h[complete]
    w = np.ones(int(complete.sum()))
    correlations = {name: answer_correlations(values, h, labels) for name, values in shared.items()}
    pictures = len(np.unique(labels))
    undefined = next((c.pearson for c in correlations.values() if c.pearson.status != "ok"), None)
    if undefined is not None:
        return MetricsBesidePeople(
            correlations, (), len(h), pictures, status=undefined.status, reason=undefined.reason
        )
    estimates = {
        name: _jackknifed_correlations(values, h, w, labels) for name, values in shared.items()
    }
    rows: list[MetricDifference] = []
    for k, statistic in enumerate(("pearson", "spearman", "tau_b")):
        order = sorted(estimates, key=lambda name: -estimates[name][k][0])
        pairs = [
            _compare_correlations(
                statistic, first, second, estimates[first][k], estimates[second][k]
            )
            for first, second in combinations(order, 2)
        ]
        adjusted = holm([pair.p for pair in pairs]).tolist()
        rows += [replace(pair, p=p) for pair, p in zip(pairs, adjusted, strict=True)]
    return MetricsBesidePeople(correlations, tuple(rows), len(h), pictures)


def _compare_correlations(
    statistic: str,
    first: str,
    second: str,
    first_estimate: tuple[float, Array],
    second_estimate: tuple[float, Array],
) -> MetricDifference:
    """The difference of two correlations with its test on Fisher's scale."""
    value = first_estimate[0] - second_estimate[0]
    n_groups = len(first_estimate[1])
    correlations = np.clip(np.array([first_estimate[0], second_estimate[0]]), -1 + 1e-12, 1 - 1e-12)
    # the replicates leave out the same pictures for both, so what is shared cancels
    z_replicates = [
        np.arctanh(np.clip(estimate[1], -1 + 1e-12, 1 - 1e-12))
        for estimate in (first_estimate, second_estimate)
    ]
    z_differences = z_replicates[0] - z_replicates[1]
    error = 0.0
    if n_groups >= _MIN_GROUPS and np.isfinite(z_differences).all():
        error = jackknife_standard_error(z_differences)
    # no test where replicates are missing or never differ
    if error == 0:
        return MetricDifference(statistic, first, second, Coefficient(value), math.nan)
    z = float(np.arctanh(correlations[0]) - np.arctanh(correlations[1]))
    standard_error = jackknife_standard_error(first_estimate[1] - second_estimate[1])
    half_width = float(stdtrit(n_groups - 1, 0.975)) * standard_error
    p = 2 * float(stdtr(n_groups - 1, -abs(z) / error))
    interval = Coefficient(
        value, value - half_width, value + half_width, method="pictures left out"
    )
    return MetricDifference(statistic, first, second, interval, p)


def _pearson(x: Array, y: Array, w: Array) -> float:
    x = x - np.average(x, weights=w)
    y = y - np.average(y, weights=w)
    squares = float((w * x * x).sum()) * float((w * y * y).sum())
    if squares <= 1e-24:
        return math.nan
    return float(np.clip(float((w * x * y).sum()) / math.sqrt(squares), -1, 1))


def _ranks(x: Array, w: Array) -> Array:
    """Weighted mid-ranks of the values."""
    _, member = np.unique(x, return_inverse=True)
    # weight of all smaller values and half of that of the equal ones
    weight = np.bincount(member, weights=w)
    return np.asarray((np.cumsum(weight) - weight / 2)[member])


def _kendall(a: Array, h: Array, w: Array, group: IntArray, groups: int) -> tuple[float, Array]:
    """tau-b, and tau-b with each group left out, from sums over pairs of groups."""
    # (answers, groups): the weight of an answer in its own group's column
    group_weights = np.zeros((len(a), groups))
    group_weights[np.arange(len(a)), group] = w
    blocks = np.zeros((3, groups, groups))
    # the table of all pairs is made in blocks of rows, so that it stays small
    rows = 4_000_000 // len(a)
    for start in range(0, len(a), rows):
        block = slice(start, start + rows)
        x = np.sign(a[block, None] - a)
        y = np.sign(h[block, None] - h)
        # concordance, untied pairs in x and untied pairs in y, as in `kendall_tau`
        for k, product in enumerate((x * y, x * x, y * y)):
            blocks[k] += group_weights[block].T @ (product @ group_weights)
    # a group is left out with its row and its column, whose common block is subtracted once
    totals = blocks.sum(axis=(1, 2))
    replicates = (
        totals[:, None]
        - blocks.sum(axis=1)
        - blocks.sum(axis=2)
        + np.diagonal(blocks, axis1=1, axis2=2)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        taus = replicates[0] / np.sqrt(replicates[1] * replicates[2])
    return float(totals[0] / math.sqrt(totals[1] * totals[2])), np.asarray(taus)


def _fisher_interval(value: float, replicates: Array, n: int, level: float) -> Coefficient:
    n_groups = len(replicates)
    if not math.isfinite(value):
        return Coefficient.absent("degenerate", "scores or labels hardly vary", n)
    if n_groups < _MIN_GROUPS or not np.isfinite(replicates).all() or abs(value) >= 1:
        return Coefficient(value, level=level)
    z = np.arctanh(np.clip(replicates, -1 + 1e-12, 1 - 1e-12))
    half_width = float(stdtrit(n_groups - 1, 0.5 + level / 2)) * jackknife_standard_error(z)
    # symmetric on Fisher's scale, so that the interval stays within -1 to 1
    centre = math.atanh(value)
    interval = ConfidenceInterval(
        math.tanh(centre - half_width), math.tanh(centre + half_width), "pictures left out", level
    )
    return Coefficient(value, level=level, fixed=interval)


def with_raters(coefficient: Coefficient, replicates: ArrayLike) -> Coefficient:
    """Widen the intervals of a coefficient by the raters' own errors.

    Parameters
    ----------
    coefficient : Coefficient
        The coefficient with its intervals over items.
    replicates : array_like, shape (replicates,)
        The coefficient with other raters; those that are NaN are left out.

    Returns
    -------
    Coefficient
        The coefficient with wider intervals; unchanged below 20 finite replicates.

    Notes
    -----
        half^2 = half^2 over items + (z sd)^2,     sd: of the values that `rater_replicates` give
    """
    values = np.asarray(replicates, dtype=np.float64)
    values = values[np.isfinite(values)]
    # fewer replicates, or equal ones, say nothing of the raters' errors
    if coefficient.status != "ok" or len(values) < 20 or not float(values.std()) > 0:
        return coefficient
    value = coefficient.value
    interval = coefficient.fixed
    rater_half_width = normal_quantile(coefficient.level) * float(values.std(ddof=1))

    def widen(low: float, high: float) -> tuple[float, float]:
        # independent errors add as squares
        upper = value + math.hypot(high - value, rater_half_width)
        # an open end stays open
        bounded_upper = min(1.0, upper) if math.isfinite(high) else high
        return max(-1.0, value - math.hypot(value - low, rater_half_width)), bounded_upper

    low = coefficient.low
    high = coefficient.high
    if math.isfinite(low):
        low, high = widen(low, high)
    fixed = None
    if interval is not None:
        fixed = ConfidenceInterval(
            *widen(interval.low, interval.high),
            f"{interval.method}, raters' errors",
            interval.level,
        )
    return replace(coefficient, low=low, high=high, fixed=fixed)
