"""Where an automatic judge and people disagree, whether it errs alike for all respondents, and how
much noise it adds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc, expit, stdtrit, xlogy

from hqm.psychometrics.agreement.intraclass import agreement_of_counts, kappa_of_counts
from hqm.psychometrics.inference.resampling import (
    cluster_labels,
    cluster_sums,
    jackknife_interval,
    jackknife_standard_error,
)
from hqm.psychometrics.inference.significance import benjamini_hochberg
from hqm.psychometrics.result import (
    Array,
    ArrayLike,
    BoolArray,
    Coefficient,
    ConfidenceInterval,
    IntArray,
    Outcome,
    Status,
    equal_shape_arrays,
    normal_quantile,
)


@dataclass(frozen=True, slots=True)
class JudgeAgreement(Outcome):
    """Two-by-two table of automatic against human labels, with its coefficients of agreement.

    `agreement` (Po) flatters where one label is rare; `kappa` then falls near 0 and `ac1` (Gwet)
    does not; `positive` and `negative` are the specific agreements on each label. A share whose
    divisor is 0 is NaN and named in `reason`.
    """

    both_positive: float
    automatic_only: float
    human_only: float
    both_negative: float
    agreement: float = math.nan
    kappa: float = math.nan
    ac1: float = math.nan
    positive: float = math.nan
    negative: float = math.nan
    sensitivity: float = math.nan
    specificity: float = math.nan

    @property
    def n(self) -> float:
        return self.both_positive + self.automatic_only + self.human_only + self.both_negative


def _ratio(numerator: float, denominator: float) -> float:
    if denominator > 0:
        return numerator / denominator
    return math.nan


def table_agreement(
    both_positive: float, automatic_only: float, human_only: float, both_negative: float
) -> JudgeAgreement:
    """Compute the coefficients of agreement of a two-by-two table of labels.

    Parameters
    ----------
    both_positive, automatic_only, human_only, both_negative : float
        Counts a, b, c, d of items labelled 1 by both, by the judge alone, by the person alone, by
        neither.

    Returns
    -------
    JudgeAgreement
        The counts, and the coefficients that they give. The status is `insufficient` for an empty
        table, `degenerate` where both gave one and the same label throughout (kappa has no value;
        Po and the counts are still there).

    Notes
    -----
        Po = (a + d) / n,   kappa = (Po - Pe) / (1 - Pe),
        AC1 = (Po - e) / (1 - e), e = 2 q (1 - q)
        positive = 2 a / (2 a + b + c),   negative = 2 d / (2 d + b + c)
        sensitivity = a / (a + c),   specificity = d / (b + d)

    References
    ----------
    .. [1] Cicchetti, D. V. and Feinstein, A. R. (1990). Journal of Clinical Epidemiology, 43,
       551-558.
    .. [2] Gwet, K. L. (2008). British Journal of Mathematical and Statistical Psychology, 61,
       29-48.

    Examples
    --------
    >>> result = table_agreement(90, 5, 5, 0)
    >>> result.agreement, round(result.kappa, 4), round(result.ac1, 4), round(result.positive,
    ...     3), result.negative
    (0.9, -0.0526, 0.8895, 0.947, 0.0)
    """
    a = both_positive
    b = automatic_only
    c = human_only
    d = both_negative
    n = a + b + c + d
    if n == 0:
        return JudgeAgreement(0, 0, 0, 0, status="insufficient", reason="no item has both labels")
    po = (a + d) / n
    p = (a + b) / n
    q = (a + c) / n
    # Gwet (2008): the mean of both margins as prevalence; e is at most 1/2, so 1 - e is never 0
    mean = (p + q) / 2
    e = 2 * mean * (1 - mean)
    shares = {
        "kappa": float(kappa_of_counts(a, b, c, d)),
        "positive agreement": _ratio(2 * a, 2 * a + b + c),
        "negative agreement": _ratio(2 * d, 2 * d + b + c),
        "sensitivity": _ratio(a, a + c),
        "specificity": _ratio(d, b + d),
    }
    undefined_names = [name for name, value in shares.items() if math.isnan(value)]
    kappa, positive, negative, sensitivity, specificity = shares.values()
    status: Status = "degenerate" if math.isnan(kappa) else "ok"
    if undefined_names:
        reason = f"a single label leaves no {', no '.join(undefined_names)}"
    else:
        reason = ""
    ac1 = (po - e) / (1 - e)
    return JudgeAgreement(
        a,
        b,
        c,
        d,
        po,
        kappa,
        ac1,
        positive,
        negative,
        sensitivity,
        specificity,
        status=status,
        reason=reason,
    )


@dataclass(frozen=True, slots=True)
class JudgeErrors(Outcome):
    """Agreement over all respondents, and tests of equal sensitivity and specificity.

    `p_sensitivity` and `p_specificity` test that all respondents share one value, adjusted for
    being two tests (Benjamini and Hochberg). `range_sensitivity` is the largest minus the smallest.
    `homogeneous` is None where neither test could be done.
    """

    pooled: JudgeAgreement
    sensitivity: Coefficient
    specificity: Coefficient
    p_sensitivity: float = math.nan
    p_specificity: float = math.nan
    range_sensitivity: float = math.nan
    range_specificity: float = math.nan
    homogeneous: bool | None = None
    flags: tuple[str, ...] = ()


def judge_errors(
    automatic: ArrayLike,
    human: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    level: float = 0.95,
) -> JudgeErrors:
    """Test whether a judge errs alike for every respondent.

    Parameters
    ----------
    automatic, human : array_like, shape (respondents, items)
        Binary labels; NaN where there is none (the pair is left out).
    weights : array_like, shape (respondents, items), optional
        1 / probability of being labelled; shares are weighted, and the counts that tests and tables
        show are those of as many equal weights as say the same (Kish).
    level : float, default 0.95
        Confidence level of the interval.

    Returns
    -------
    JudgeErrors
        Pooled agreement, the two tests, and flags. The status is `insufficient` without a pair,
        `not_applicable` when a label is not 0 or 1. Flags: `JUDGE_DIF` where a test rejects at 1 -
        level, `SPARSE` where a respondent expects under 5 errors or hits. The pooled sensitivity
        and specificity carry an interval clustered by respondent and by item.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
    A judge that is lenient with one model's style shifts that model's rank. Sensitivity (of answers
    that people label 1, the share the judge labels 1) and specificity are compared over respondents
    with the likelihood ratio

        G = 2 sum observed log(observed / expected),
        chi-square with (respondents with such items) - 1 df

    or, where a respondent expects under 5 errors or hits, with Pearson's X^2 = sum (observed -
    expected)^2 / expected, which keeps its level there (40 respondents, 30 labels each, no bias: G
    rejects in 11 of 100 studies).

    Items that all respondents share make the tests cautious.

    References
    ----------
    .. [1] Two-way clustering: Cameron, A. C., Gelbach, J. B. and Miller, D. L. (2011). Journal
       of Business and Economic Statistics, 29, 238-249.

    Examples
    --------
    >>> human = np.tile([1.0, 0.0], (2, 50))
    >>> judge = human.copy()
    >>> judge[0, :60] = 1 - judge[0, :60]
    >>> result = judge_errors(judge, human)
    >>> result.homogeneous, round(result.range_sensitivity, 2), result.flags
    (False, 0.6, ('JUDGE_DIF',))
    """
    a, h = equal_shape_arrays(automatic, human, "respondents, items")
    labelled = np.isfinite(a) & np.isfinite(h)
    absent = Coefficient.absent
    if not labelled.any():
        reason = "no item has both labels"
        undefined = absent("insufficient", reason)
        return JudgeErrors(
            table_agreement(0, 0, 0, 0), undefined, undefined, status="insufficient", reason=reason
        )
    if not (np.isin(a[labelled], (0, 1)).all() and np.isin(h[labelled], (0, 1)).all()):
        reason = "the labels are not 0 or 1"
        undefined = absent("not_applicable", reason)
        return JudgeErrors(
            table_agreement(0, 0, 0, 0),
            undefined,
            undefined,
            status="not_applicable",
            reason=reason,
        )
    automatic_yes = labelled & (a == 1)
    human_yes = labelled & (h == 1)
    cell_masks = np.stack(
        [
            automatic_yes & human_yes,
            automatic_yes & ~human_yes,
            labelled & ~automatic_yes & human_yes,
            labelled & ~automatic_yes & ~human_yes,
        ]
    )
    if weights is None:
        w = labelled.astype(np.float64)
    else:
        w = np.where(labelled, equal_shape_arrays(a, weights, "respondents, items")[1], 0.0)
    if weights is None:
        cell_counts = cell_masks.sum(axis=2)
        pooled_counts = cell_counts.sum(axis=1)
    else:
        # Kish: weights w say as much as (sum w)^2 / sum w^2 equal ones
        sums = w.sum(axis=1)
        squares = (w**2).sum(axis=1)
        weighted_counts = (cell_masks * w).sum(axis=2)
        cell_counts = weighted_counts * np.divide(
            sums, squares, out=np.zeros_like(sums), where=squares > 0
        )
        pooled_counts = weighted_counts.sum(axis=1) * sums.sum() / squares.sum()
    tests = [
        _homogeneity(cell_counts[0], cell_counts[2]),
        _homogeneity(cell_counts[3], cell_counts[1]),
    ]
    # two tests of one judge: the false discovery rate over both
    p = benjamini_hochberg([t[0] for t in tests])
    finite = np.isfinite(p)
    rejected = bool((p[finite] <= 1 - level).any())
    flags = (("JUDGE_DIF",) if rejected else ()) + (("SPARSE",) if any(t[2] for t in tests) else ())
    return JudgeErrors(
        table_agreement(*pooled_counts.tolist()),
        _two_way(automatic_yes & human_yes, human_yes, w, level),
        _two_way(labelled & ~automatic_yes & ~human_yes, labelled & ~human_yes, w, level),
        float(p[0]),
        float(p[1]),
        tests[0][1],
        tests[1][1],
        not rejected if finite.any() else None,
        flags,
    )


def _homogeneity(hits: IntArray | Array, misses: IntArray | Array) -> tuple[float, float, bool]:
    """P-value of equal shares, their range, and whether some expected count is small."""
    # one column a respondent: hits in the first row, misses in the second
    table = np.stack([hits, misses]).astype(np.float64)
    table = table[:, table.sum(axis=0) > 0]
    k = table.shape[1]
    if k < 2:
        return math.nan, math.nan, False
    shares = table[0] / table.sum(axis=0)
    share_range = float(np.ptp(shares))
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    # nobody has a miss, or nobody a hit: all shares are equal
    if (table.sum(axis=1) == 0).any():
        return 1.0, share_range, False
    # Cochran's rule of thumb for the chi-square approximation
    sparse = bool(expected.min() < 5)
    if sparse:
        statistic = float(((table - expected) ** 2 / expected).sum())
    else:
        # xlogy is 0 where a count is 0
        statistic = 2 * float((xlogy(table, table) - xlogy(table, expected)).sum())
    return float(chdtrc(k - 1, max(0.0, statistic))), share_range, sparse


def _two_way(hit: BoolArray, base: BoolArray, weights: Array, level: float) -> Coefficient:
    """A pooled share with a standard error clustered by respondent and by item."""
    total = float(weights[base].sum())
    if not base.any():
        return Coefficient.absent("degenerate", "no item carries this human label", base.shape[0])
    # sums of weights need not divide to exactly 1
    value = 1.0 if (hit == base).all() else float(weights[hit].sum()) / total
    # Cameron, Gelbach and Miller (2011): respondents + items - their intersection
    residual: Array = np.where(base, weights * (hit - value), 0.0)
    m, n = base.shape
    cluster_variances = [
        k / (k - 1) * float((residual.sum(axis=axis) ** 2).sum()) if k > 1 else 0.0
        for axis, k in ((1, m), (0, n))
    ]
    # the difference of three terms can fall below either one-way variance, or below 0
    variance = (
        max(
            cluster_variances[0] + cluster_variances[1] - float((residual**2).sum()),
            *cluster_variances,
        )
        / total**2
    )

    half_width = normal_quantile(level) * math.sqrt(variance)
    low = max(0.0, value - half_width)
    high = min(1.0, value + half_width)
    if variance == 0:
        # a share of 0 or 1: the error bar of a normal interval would be 0. Wilson's limit with
        # Kish's number of labels is above 0
        z2 = normal_quantile(level) ** 2
        one_sided_limit = z2 / (total**2 / float((weights[base] ** 2).sum()) + z2)
        low, high = (0.0, one_sided_limit) if value == 0 else (1 - one_sided_limit, 1.0)
    return Coefficient(
        value, low, high, m, level, "clustered by respondent and item", se=math.sqrt(variance)
    )


@dataclass(frozen=True, slots=True)
class WeightedAgreement:
    """Agreement of automatic and human labels over answers: observed share and Cohen's kappa."""

    agreement: Coefficient
    kappa: Coefficient


def weighted_agreement(
    automatic: ArrayLike,
    human: ArrayLike,
    clusters: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    level: float = 0.95,
) -> WeightedAgreement:
    """Estimate observed agreement and kappa of two labellings, with intervals over pictures.

    Each picture is left out once, with all its answers (`fixed`, normal, cut at -1 and 1). Where
    nothing disagrees, that says nothing; the interval is then the exact binomial one for the share
    of pictures with a disagreement, as if such a picture disagreed throughout.

    Parameters
    ----------
    automatic, human : array_like, shape (respondents, items)
        Binary labels; NaN where there is none.
    clusters : array_like, shape (items,)
    weights : array_like, shape (respondents, items), optional
        1 / probability of being labelled.
    level : float, default 0.95
        Confidence level of the interval.

    Returns
    -------
    WeightedAgreement
        Observed agreement and kappa, each with its interval. Both are `insufficient` without a
        pair; kappa is `degenerate` where both sides gave one and the same label throughout.

    Raises
    ------
    ValueError
        An array has another shape.

    Examples
    --------
    >>> study = weighted_agreement([[1, 1, 1, 0, 0, 0]], [[1, 1, 0, 0, 0, 1]], np.arange(6))
    >>> round(study.agreement.value, 3), round(study.kappa.value, 3)
    (0.667, 0.333)
    """
    a, h = equal_shape_arrays(automatic, human, "respondents, items")
    labelled = np.isfinite(a) & np.isfinite(h)
    w = np.where(labelled, 1.0 if weights is None else np.asarray(weights, dtype=np.float64), 0.0)
    cluster_index = np.unique(np.asarray(clusters), return_inverse=True)[1]
    automatic_yes = a == 1
    human_yes = h == 1
    cells = np.stack(
        [
            w * (automatic_yes & human_yes),
            w * (automatic_yes & ~human_yes),
            w * (~automatic_yes & human_yes),
            w * (~automatic_yes & ~human_yes),
        ]
    ).sum(axis=1)
    table = np.stack([np.bincount(cluster_index, weights=row) for row in cells])
    table = table[:, table.sum(axis=0) > 0]
    n = int(labelled.sum())
    if n == 0:
        undefined = Coefficient.absent("insufficient", "no item has both labels")
        return WeightedAgreement(undefined, undefined)
    totals = table.sum(axis=1)
    if totals[1] == totals[2] == 0:
        return _full_agreement(float(totals[0] / totals.sum()), table.shape[1], n, level)
    # (cells, clusters): every cluster's table is taken off the total once
    replicates = table.sum(axis=1, keepdims=True) - table
    return WeightedAgreement(
        *(
            _with_cluster_interval(float(coefficient(*totals)), coefficient(*replicates), n, level)
            for coefficient in (agreement_of_counts, kappa_of_counts)
        )
    )


def _full_agreement(share_of_yes: float, pictures: int, n: int, level: float) -> WeightedAgreement:
    """Return agreement and kappa of 1, with the least that as many pictures leave possible."""
    by_chance = share_of_yes**2 + (1 - share_of_yes) ** 2
    # Clopper and Pearson (1934): the least share q with q^n = alpha / 2, where all n pictures agree
    lowest_agreement = ((1 - level) / 2) ** (1 / pictures)
    lowest_kappa = (lowest_agreement - by_chance) / max(1 - by_chance, 1e-12)
    method = "no picture disagrees, exact binomial"
    agreement, kappa = (
        Coefficient(1.0, level=level, fixed=ConfidenceInterval(max(low, -1.0), 1.0, method, level))
        for low in (lowest_agreement, lowest_kappa)
    )
    if by_chance == 1:
        kappa = Coefficient.absent("degenerate", "there is only one category", n)
    return WeightedAgreement(agreement, kappa)


def _with_cluster_interval(value: float, replicates: Array, n: int, level: float) -> Coefficient:
    if math.isnan(value):
        return Coefficient.absent("degenerate", "there is only one category", n)
    if len(replicates) < 3 or not np.isfinite(replicates).all():
        return Coefficient(value, level=level)
    return Coefficient.over_items(
        value,
        jackknife_standard_error(replicates),
        level,
        "pictures left out",
        minimum=-1.0,
        maximum=1.0,
    )


@dataclass(frozen=True, slots=True, eq=False)
class JudgeNoise:
    """Variance of a score over verdicts, over responses and over both.

    Attributes
    ----------
    share
        The judge's part of the run-to-run variance over all respondents; its interval, `fixed`, is
        over items. Above 1 by sampling error it is kept as it is and flagged `NEGATIVE_COMPONENT`
        (the responses' part is negative then).
    judge, total, response
        (respondents,): variance of one run's score from judging the same response again, from a new
        response with a new verdict, and their difference (may be negative).
    n_items
        (respondents,): items with all verdicts and all runs.
    """

    share: Coefficient
    judge: Array
    total: Array
    response: Array
    n_items: tuple[int, ...]


def judge_share(
    rejudged: ArrayLike,
    rerun: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    level: float = 0.95,
) -> JudgeNoise:
    """Estimate the judge's share of the variance between runs.

    A score that does not repeat may be the model's doing (another answer) or the judge's (another
    verdict on the same answer). The cures differ: more runs, or another judge. Judging the same
    responses twice isolates the second.

    Parameters
    ----------
    rejudged : array_like, shape (verdicts, respondents, items)
        Scores of the same responses judged again.
    rerun : array_like, shape (runs, respondents, items)
        Scores of independent runs, each judged once.
    clusters : array_like, shape (items,), optional
        Labels of what items share (the image).
    level : float, default 0.95
        Confidence level of the interval.

    Returns
    -------
    JudgeNoise
        The judge's share, and the variances of every respondent. The status is `insufficient` for
        fewer than 2 verdicts, 2 runs or 2 clusters, `not_informative` when no run differs. A judge
        who never changes a verdict gives 0 without an interval. The share speaks of these
        respondents only.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        v_judge = sum_c s2_j / n^2  (same response)      v_total = sum_c s2_k / n^2
        (new response, new verdict)
        v_response = v_total - v_judge,    share = sum_m v_judge / sum_m v_total
        interval: leave-one-cluster-out jackknife of log v_judge - log v_total,
            both on the same items

    Items count when they have all verdicts and all runs. The coverage of the interval has not been
    simulated.

    Examples
    --------
    One respondent, eight items; the judge changes one verdict, a new run changes two:

    >>> same = [[[1, 1, 1, 1, 0, 0, 0, 0]], [[1, 1, 1, 0, 0, 0, 0, 0]]]
    >>> new = [[[1, 1, 1, 1, 0, 0, 0, 0]], [[1, 1, 1, 0, 1, 0, 0, 0]]]
    >>> result = judge_share(same, new)
    >>> result.share.value, result.judge[0].item()
    (0.5, 0.0078125)
    """
    j = np.asarray(rejudged, dtype=np.float64)
    k = np.asarray(rerun, dtype=np.float64)
    if j.ndim != 3 or k.ndim != 3 or j.shape[1:] != k.shape[1:]:
        raise ValueError(
            f"two arrays (repetitions, respondents, items) are needed, got {j.shape} and {k.shape}"
        )
    labels = cluster_labels(clusters, j.shape[2])
    scored = np.asarray(np.isfinite(j).all(axis=0) & np.isfinite(k).all(axis=0))
    n_scored = scored.sum(axis=1)
    if len(j) < 2 or len(k) < 2 or not scored.any():
        return _absent(
            "insufficient",
            f"a judge's share needs 2 verdicts and 2 runs on common items, there are {len(j)} and"
            f" {len(k)}",
            n_scored,
        )
    n = n_scored.astype(np.float64)
    # an undefined score stays undefined instead of dividing by 0
    n[n == 0] = np.nan
    cluster_variances = []
    for x in (j, k):
        sums, sizes = cluster_sums(np.where(scored, x, 0.0), scored, labels)
        cluster_variances.append(sums.var(axis=0, ddof=1))
    # of repeated verdicts on one answer, and of runs with one verdict each
    judge, total = (p.sum(axis=1) / n**2 for p in cluster_variances)
    included = np.isfinite(n)
    if int((sizes > 0).any(axis=0).sum()) < 2:
        return _absent(
            "insufficient", "a judge's share needs 2 clusters of items, there is 1", n_scored
        )
    total_variance = float(total[included].sum())
    m = int(included.sum())
    if total_variance == 0.0:
        reason = "no run differs from another, so there is no noise to share"
        share = Coefficient.absent("not_informative", reason, m)
        return JudgeNoise(share, judge, total, total - judge, tuple(n_scored.tolist()))
    value = float(judge[included].sum()) / total_variance
    # the same items in both variances, so that their errors are paired
    fixed = _log_ratio_interval(
        value, [p[included] for p in cluster_variances], sizes[included], n[included], level
    )
    flags = ("NEGATIVE_COMPONENT",) if value > 1 else ()
    share = Coefficient(value, n=m, level=level, fixed=fixed, flags=flags)
    return JudgeNoise(share, judge, total, total - judge, tuple(n_scored.tolist()))


def _log_ratio_interval(
    value: float, cluster_variances: list[Array], sizes: Array, n: Array, level: float
) -> ConfidenceInterval | None:

    # n without the cluster; an answer set of one cluster leaves none
    remaining = n[:, None] - sizes
    if (remaining <= 0).any():
        return None
    judge, total = (
        # (clusters,): v_judge and v_total of everything but the cluster
        ((p.sum(axis=1)[:, None] - p) / remaining**2).sum(axis=0)
        for p in cluster_variances
    )
    if not ((judge > 0).all() and (total > 0).all()):
        return None
    # a ratio of variances is skewed; its logarithm is nearly normal
    log_ratios = np.log(judge / total)
    half_width = normal_quantile(level) * jackknife_standard_error(log_ratios)
    return ConfidenceInterval(
        value * math.exp(-half_width),
        value * math.exp(half_width),
        "paired cluster jackknife on the log ratio",
        level,
    )


def _absent(status: Status, reason: str, count: IntArray) -> JudgeNoise:
    missing = np.full(len(count), np.nan)
    return JudgeNoise(
        Coefficient.absent(status, reason, len(count)),
        missing,
        missing,
        missing,
        tuple(count.tolist()),
    )


_CellSums = Mapping[str, Array]


@dataclass(frozen=True, slots=True, kw_only=True)
class StageAgreement:
    """Agreement of a judge's decisions (yes or no) with people's.

    Attributes
    ----------
    agreement
        The share of units that both decide alike, which papers call accuracy.
    precision
        Of the units to which the judge says yes, the share to which people do. `recall`: of those
        to which people say yes, the share to which the judge does. `f1`: their harmonic mean.
    precision_no, recall_no, f1_no
        The same of no.
    both_yes, judge_only, people_only, both_no
        The (weighted) numbers of units; `n`: how many units went in.
    """

    agreement: Coefficient
    precision: Coefficient
    recall: Coefficient
    f1: Coefficient
    precision_no: Coefficient
    recall_no: Coefficient
    f1_no: Coefficient
    both_yes: float
    judge_only: float
    people_only: float
    both_no: float
    n: int


def stage_agreement(
    judge: ArrayLike,
    human: ArrayLike,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    *,
    level: float = 0.95,
) -> StageAgreement:
    """Estimate agreement, precision, recall and F1 of a judge's decisions, with intervals.

    Units of one answer, and answers about one picture, are not independent: whole clusters are left
    out. The interval is made on the scale of the logit, with Student's t of as many degrees of
    freedom as there are clusters, less one; at 0 and 1 it is Wilson's with the number of clusters.
    It says what these respondents' answers to other items of the same kind would show.

    Parameters
    ----------
    judge, human : array_like, shape (units,)
        1 for yes, 0 for no, NaN where there is no decision; such units are left out.
    clusters : array_like, shape (units,), optional
        What the units of a picture have in common; every unit stands alone without it.
    weights : array_like, shape (units,), optional
        1 / probability with which the unit's answer was chosen for labelling.
    level : float, default 0.95
        Confidence level of the interval.

    Returns
    -------
    StageAgreement
        The seven shares with their intervals, and the counts. All are `insufficient` without a unit
        that both decided; a share of nothing is `degenerate`.

    Raises
    ------
    ValueError
        A decision is not 0, 1 or NaN, or the shapes differ.

    Examples
    --------
    >>> study = stage_agreement([1, 1, 1, 0, 0, 0, 1, 1], [1, 1, 0, 0, 0, 1, 1, 1],
    ...     np.arange(8) // 2)
    >>> round(study.agreement.value, 3), round(study.precision.value, 3), round(study.recall.value,
    ...     3), round(study.f1_no.value, 3)
    (0.75, 0.8, 0.8, 0.667)
    """
    x, y = (np.asarray(values, dtype=np.float64) for values in (judge, human))
    if x.shape != y.shape or x.ndim != 1:
        raise ValueError(
            f"judge and human must have one shape (units,), got {x.shape} and {y.shape}"
        )
    decided = np.isfinite(x) & np.isfinite(y)
    if not np.isin(np.concatenate([x[decided], y[decided]]), (0, 1)).all():
        raise ValueError("decisions are 0, 1 or NaN")
    if weights is None:
        w = np.ones(len(x))
    else:
        w = np.asarray(weights, dtype=np.float64)
    labels = np.arange(len(x)) if clusters is None else np.asarray(clusters)
    if w.shape != x.shape or labels.shape != x.shape:
        raise ValueError(f"weights and clusters must have the shape {x.shape}")
    judge_yes = x[decided] == 1
    human_yes = y[decided] == 1
    w = w[decided]
    cells = {
        "both": judge_yes & human_yes,
        "judge": judge_yes & ~human_yes,
        "human": ~judge_yes & human_yes,
        "neither": ~judge_yes & ~human_yes,
    }
    # sums over units of these weights are the cells of the table
    counts: dict[str, Array] = {name: w * cell for name, cell in cells.items()}
    cluster_index = np.unique(labels[decided], return_inverse=True)[1]

    def estimate(metric: Callable[[_CellSums], Array]) -> Coefficient:
        if not len(w):
            return Coefficient.absent("insufficient", "people and judge decided no unit both")
        return _logit_interval(counts, cluster_index, metric, level, len(w))

    return StageAgreement(
        agreement=estimate(
            lambda s: _proportion(
                s["both"] + s["neither"], s["both"] + s["judge"] + s["human"] + s["neither"]
            )
        ),
        precision=estimate(lambda s: _proportion(s["both"], s["both"] + s["judge"])),
        recall=estimate(lambda s: _proportion(s["both"], s["both"] + s["human"])),
        f1=estimate(lambda s: _proportion(2 * s["both"], 2 * s["both"] + s["judge"] + s["human"])),
        precision_no=estimate(lambda s: _proportion(s["neither"], s["neither"] + s["human"])),
        recall_no=estimate(lambda s: _proportion(s["neither"], s["neither"] + s["judge"])),
        f1_no=estimate(
            lambda s: _proportion(2 * s["neither"], 2 * s["neither"] + s["judge"] + s["human"])
        ),
        both_yes=float(counts["both"].sum()),
        judge_only=float(counts["judge"].sum()),
        people_only=float(counts["human"].sum()),
        both_no=float(counts["neither"].sum()),
        n=len(w),
    )


def _proportion(numerator: Array, denominator: Array) -> Array:
    return np.where(
        np.asarray(denominator) > 1e-12, numerator / np.maximum(denominator, 1e-12), np.nan
    )


def _logit_interval(
    counts: Mapping[str, Array],
    clusters: IntArray,
    metric: Callable[[_CellSums], Array],
    level: float,
    units: int,
) -> Coefficient:
    """A share with its interval for these respondents over other items."""
    jackknifed = jackknife_interval(counts, clusters, metric, level=level)
    if jackknifed.status != "ok":
        return Coefficient.absent(jackknifed.status, "one of the two decisions never occurs", units)
    value = jackknifed.value
    # the jackknife's own interval is normal: its half-width over z is the standard error
    standard_error = (jackknifed.high - jackknifed.low) / 2 / normal_quantile(level)
    if not math.isfinite(standard_error):
        return Coefficient(value, level=level)
    if standard_error > 0 and 0 < value < 1:
        logit = math.log(value / (1 - value))
        # delta method: d logit = d p / (p (1 - p))
        half_width = standard_error / (value * (1 - value))
        half_width *= float(stdtrit(int(clusters.max()), (1 + level) / 2))
        interval = ConfidenceInterval(
            float(expit(logit - half_width)),
            float(expit(logit + half_width)),
            "pictures left out, logit, t",
            level,
        )
    else:
        # at 0 and 1 the logit does not exist
        wilson = jackknife_interval(counts, clusters, metric, is_proportion=True, level=level)
        interval = ConfidenceInterval(wilson.low, wilson.high, wilson.method, level)
    return Coefficient(value, level=level, fixed=interval, se=standard_error)
