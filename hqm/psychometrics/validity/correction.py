"""Scores corrected by a sample of human labels."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hqm.psychometrics.agreement.judge_error import JudgeErrors, judge_errors
from hqm.psychometrics.inference.resampling import cluster_labels
from hqm.psychometrics.result import (
    Array,
    ArrayLike,
    BoolArray,
    Coefficient,
    Labels,
    equal_shape_arrays,
    finite_mean,
    normal_quantile,
)

MIN_LABELS = 50
"""With fewer human labels a respondent's score is the mean of the labels alone."""


@dataclass(frozen=True, slots=True)
class CorrectedScores:
    """Every respondent's automatic, human-only and corrected score, and how the ranking changes.

    `lambdas` is how far each respondent's automatic labels are trusted (0: not at all).
    `ranks_automatic` and `ranks_corrected` count from 1 for the highest score; `rank_changes` lists
    (respondent, old, new) where they differ.
    """

    scores: tuple[Coefficient, ...]
    automatic: tuple[float, ...]
    human: tuple[float, ...]
    lambdas: tuple[float, ...]
    labels: tuple[int, ...]
    ranks_automatic: tuple[int, ...]
    ranks_corrected: tuple[int, ...]

    @property
    def rank_changes(self) -> tuple[tuple[int, int, int], ...]:
        rows = zip(self.ranks_automatic, self.ranks_corrected, strict=True)
        return tuple(
            (i, old, new) for i, (old, new) in enumerate(rows) if old and new and old != new
        )


def ppi_scores(
    automatic: ArrayLike,
    human: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    min_labels: int = MIN_LABELS,
    weight: float | None = None,
    probabilities: ArrayLike | None = None,
    rater_variance: ArrayLike | None = None,
    level: float = 0.95,
) -> CorrectedScores:
    """Compute prediction-powered scores: a judge on all items, corrected by human labels of some.

    Parameters
    ----------
    automatic, human : array_like, shape (respondents, items)
        NaN where there is none; the labelled items must be a random sample.
    clusters : array_like, shape (items,), optional
        Labels, such as the picture; the variances are then those of cluster sums.
    min_labels : int, default MIN_LABELS
        With fewer labels lambda is 0, and the score is the human mean (flag `FEW_LABELS`).
    weight : float, optional
        A fixed lambda. With 1 it is plain prediction-powered inference, and the interval is that of
        the published implementation, whose variances divide by n.
    probabilities : array_like, shape (respondents, items), optional
        With which probability each item was labelled; NaN leaves a label out.
    rater_variance : array_like, shape (respondents,), optional
        What the raters' own errors add to the variance of each score.
    level : float, default 0.95
        Confidence level of the intervals.

    Returns
    -------
    CorrectedScores
        A respondent without 2 labels is `insufficient`. Scores of 0/1 labels may leave 0..1 a
        little and are not cut.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        theta = lambda mean(A unlabelled) + mean(H - lambda A labelled),
        lambda = cov(H, A) / ((1 + h / N) var(A)) in 0..1
        SE^2 = lambda^2 var(A unlabelled) / N + var(H - lambda A) / h

    Nothing is assumed about how the judge errs.

    Where the labelled items were drawn with unequal probabilities p, means of them are Hajek's,
    with weights 1 / p:

        theta = lambda mean(A) + sum w (H - lambda A) / sum w,
        SE^2 = sum (1 - p)(w (e - mean e) / sum w)^2 + var(H) / N

    References
    ----------
    .. [1] Angelopoulos, Duchi and Zrnic (2023). PPI++. arXiv 2311.01453.
    .. [2] Horvitz and Thompson (1952). JASA, 47, 663-685.
    .. [3] Zrnic and Candes (2024). arXiv 2403.03208.
    """
    a, h = equal_shape_arrays(automatic, human, "respondents, items")
    label = cluster_labels(clusters, a.shape[1])
    if rater_variance is None:
        added_variance = np.zeros(len(a))
    else:
        added_variance = np.asarray(rater_variance, dtype=np.float64)
    if probabilities is None:
        rows = [
            _ppi(a[i], h[i], label, min_labels, weight, level, float(added_variance[i]))
            for i in range(len(a))
        ]
    else:
        p = equal_shape_arrays(a, probabilities, "respondents, items")[1]
        rows = [
            _weighted_ppi(
                a[i], h[i], p[i], label, min_labels, weight, level, float(added_variance[i])
            )
            for i in range(len(a))
        ]
    scores, raw, labelled, lambdas, labels = (
        zip(*rows, strict=True) if rows else ((), (), (), (), ())
    )
    corrected = np.array([score.value for score in scores], dtype=np.float64)
    # both rankings are of the same respondents: those that have a corrected score
    has_score = np.array([score.status == "ok" for score in scores], dtype=bool)
    automatic = np.where(has_score, np.array(raw, dtype=np.float64), np.nan)
    return CorrectedScores(
        scores, raw, labelled, lambdas, labels, _ranks(automatic), _ranks(corrected)
    )


def _ranks(values: Array) -> tuple[int, ...]:
    """Competition ranks from the highest; 0 for what has no value."""
    # one more than how many are higher; a comparison with NaN is false
    ranks = 1 + (values[None, :] > values[:, None]).sum(axis=1)
    return tuple(np.where(np.isnan(values), 0, ranks).tolist())


def _prediction_weight(optimal: float, fixed: float | None) -> float:
    """Lambda, the weight of the automatic labels: a fixed one, else the optimal one in 0..1."""
    if fixed is not None:
        return fixed
    return min(1.0, max(0.0, optimal))


def _mean_variance(x: Array, label: Labels, ddof: int = 1) -> float:
    """The variance of a mean of items in clusters, with `ddof` degrees of freedom lost."""
    _, member = np.unique(label, return_inverse=True)
    # deviations of the clusters' sums from what the mean lets expect
    sums = np.bincount(member, weights=x - x.mean())
    c = len(sums)
    if c < 2:
        return math.nan
    return c / (c - ddof) * float((sums**2).sum()) / len(x) ** 2


def _ppi(
    a: Array,
    h: Array,
    label: Labels,
    min_labels: int,
    weight: float | None,
    level: float,
    added_variance: float,
) -> tuple[Coefficient, float, float, float, int]:
    scored = np.isfinite(a)
    labelled = scored & np.isfinite(h)
    unlabelled = scored & ~np.isfinite(h)
    n = int(unlabelled.sum())
    size = int(labelled.sum())
    raw = finite_mean(a)
    if size < 2:
        reason = f"a corrected score needs 2 human labels, there are {size}"
        absent = Coefficient.absent("insufficient", reason, size)
        return absent, raw, math.nan, math.nan, size
    y = h[labelled]
    # over all scored items: the judge's variance needs no labels
    x = a[labelled]
    automatic_variance = float(a[scored].var(ddof=1))
    lam = 0.0
    # with few labels lambda itself is too uncertain: the labels stand alone
    if n > 1 and automatic_variance > 0 and size >= min_labels:
        # Angelopoulos et al. (2023), PPI++: cov(H, A) / ((1 + h / N) var(A))
        optimal_weight = (
            float(((y - y.mean()) * (x - x.mean())).sum())
            / (size - 1)
            / ((1 + size / n) * automatic_variance)
        )
        lam = _prediction_weight(optimal_weight, weight)
    # the rectifier: what the judge's scores lack, on the labelled items
    value = float((y - lam * x).mean())
    method = "human labels"
    # the published interval, of a weight that is not estimated, divides by n
    ddof = 1 if weight is None else 0
    variance = _mean_variance(y - lam * x, label[labelled], ddof)
    if lam:
        method = "PPI++"
        # the judge on the items without labels
        value += lam * float(a[unlabelled].mean())
        variance += lam**2 * _mean_variance(a[unlabelled], label[unlabelled], ddof)
    return (
        _corrected_score(value, variance, added_variance, size, min_labels, level, method),
        raw,
        float(y.mean()),
        lam,
        size,
    )


def _corrected_score(
    value: float,
    variance: float,
    added_variance: float,
    size: int,
    min_labels: int,
    level: float,
    method: str,
) -> Coefficient:
    if not math.isfinite(variance):
        return Coefficient(value, n=size, method="one cluster: no interval")
    # labels and raters err independently, so variances add
    se = math.sqrt(variance + added_variance)
    half_width = normal_quantile(level) * se
    flags = []
    if size < min_labels:
        flags.append("FEW_LABELS")
    if variance <= 0:
        # labels without any variance would have an error bar of 0
        half_width = math.nan
        flags.append("NO_VARIANCE")
    if added_variance > 0:
        method = f"{method}, raters' errors"
    low = value - half_width
    high = value + half_width
    return Coefficient(value, low, high, size, level, method, se=se, flags=tuple(flags))


def _weighted_ppi(
    a: Array,
    h: Array,
    p: Array,
    label: Labels,
    min_labels: int,
    weight: float | None,
    level: float,
    added_variance: float,
) -> tuple[Coefficient, float, float, float, int]:
    """One respondent's score from labels that were drawn with the probabilities `p`."""
    scored: BoolArray = np.isfinite(a)
    labelled = scored & np.isfinite(h) & np.isfinite(p)
    size = int(labelled.sum())
    total = int(scored.sum())
    raw = finite_mean(a)
    if size < 2:
        reason = f"a corrected score needs 2 human labels with their probability, there are {size}"
        absent = Coefficient.absent("insufficient", reason, size)
        return absent, raw, math.nan, math.nan, size
    y = h[labelled]
    x = a[labelled]
    label_probability = p[labelled]
    w = 1 / label_probability
    # Hajek's means: weights sum to the total in expectation only
    mean_y = float(np.average(y, weights=w))
    mean_x = float(np.average(x, weights=w))
    lam = 0.0
    if size >= min_labels:
        # what the design's variance counts: an answer that was certain to be drawn adds none
        if (label_probability < 1).any():
            design_weights = w**2 * (1 - label_probability)
        else:
            design_weights = w
        automatic_variance = float((design_weights * (x - mean_x) ** 2).sum())
        optimal_weight = 0.0
        if automatic_variance > 0:
            covariance = float((design_weights * (y - mean_y) * (x - mean_x)).sum())
            optimal_weight = covariance / automatic_variance
        lam = _prediction_weight(optimal_weight, weight)
    # labels, moved by what the scores of all answers differ from those of the labelled ones
    value = mean_y + lam * (raw - mean_x)
    error = y - lam * x
    # Horvitz and Thompson (1952), for the linearised mean: sqrt(1 - p) w (e - mean e) / sum w
    contributions = (
        np.sqrt(1 - label_probability) * w * (error - np.average(error, weights=w)) / w.sum()
    )
    _, member = np.unique(label[labelled], return_inverse=True)
    sums = np.bincount(member, weights=contributions)
    clusters = len(sums)
    if clusters > 1:
        variance = clusters / (clusters - 1) * float((sums**2).sum())
    else:
        variance = math.nan
    # the answers themselves are a sample of those that could have been asked for, as much alike
    # within a picture as their scores
    item_variance = _mean_variance(a[scored], np.arange(total))
    cluster_variance = _mean_variance(a[scored], label[scored])
    design_effect = 1.0
    if item_variance > 0 and math.isfinite(cluster_variance):
        design_effect = cluster_variance / item_variance
    variance += (
        design_effect * float(np.average((y - mean_y) ** 2, weights=w)) * size / (size - 1) / total
    )
    method = f"{'PPI++' if lam else 'human labels'}, weighted by 1 / probability"
    return (
        _corrected_score(value, variance, added_variance, size, min_labels, level, method),
        raw,
        mean_y,
        lam,
        size,
    )


def rogan_gladen(
    rate: float,
    n: int,
    sensitivity: float,
    positives: float,
    specificity: float,
    negatives: float,
    *,
    level: float = 0.95,
) -> Coefficient:
    """Correct a judge's share of 1 by its sensitivity and specificity in a calibration sample.

    Parameters
    ----------
    rate : float
        Share of items that the judge labels 1.
    n : int
        Number of items.
    sensitivity : float
        Share of human 1 that the judge labels 1.
    positives : float
        Number of human 1.
    specificity : float
        Share of human 0 that the judge labels 0.
    negatives : float
        Number of human 0.
    level : float, default 0.95
        Confidence level of the intervals.

    Returns
    -------
    Coefficient
        Cut to 0..1 with the raw value kept. The status is `insufficient` without positives or
        negatives or items, `not_applicable` where q0 + q1 - 1 <= .2: the judge is then too near to
        guessing and the correction explodes.

    Notes
    -----
        theta = (p + q0 - 1) / (q0 + q1 - 1),   q1 = sensitivity, q0 = specificity

    The interval adds a small number of cases to each share and shifts the centre (adjusted Wald).

    The interval is that of [2]_, as applied to judges by Lee et al. (arXiv 2511.21140). Valid for
    several respondents only if the judge errs alike for all: `rogan_gladen_scores` checks it.

    References
    ----------
    .. [1] Rogan, W. J. and Gladen, B. (1978). American Journal of Epidemiology, 107, 71-76.
    .. [2] Lang, Z. and Reiczigel, J. (2014). Preventive Veterinary Medicine, 113, 13-22.

    Examples
    --------
    >>> result = rogan_gladen(0.75, 1000, 0.90, 100, 0.85, 100)
    >>> round(result.value, 3), round(result.low, 4), round(result.high, 4)
    (0.8, 0.7316, 0.8869)
    """
    if min(n, positives, negatives) < 1:
        return Coefficient.absent(
            "insufficient",
            f"no correction from {n} items, {positives} human 1 and {negatives} human 0",
            n,
        )
    # at 0 the judge's label says nothing of the truth, and the correction divides by it
    if sensitivity + specificity - 1 <= 0.2 + 1e-12:
        return Coefficient.absent(
            "not_applicable",
            f"sensitivity + specificity - 1 is {sensitivity + specificity - 1:.3f}, not above .2:"
            " close to guessing",
            n,
        )

    # Lang and Reiczigel (2014): p, q1, q0 and theta are the shares after adding z^2 cases to the
    # items and two to each calibration sample
    z = normal_quantile(level)
    raw = (rate + specificity - 1) / (specificity + sensitivity - 1)
    p = (n * rate + z * z / 2) / (n + z * z)
    q1 = (positives * sensitivity + 1) / (positives + 2)
    q0 = (negatives * specificity + 1) / (negatives + 2)
    m1 = positives + 2
    m0 = negatives + 2
    power = q0 + q1 - 1
    theta = (p + q0 - 1) / power
    error0 = q0 * (1 - q0) / m0
    error1 = q1 * (1 - q1) / m1
    centre_shift = 2 * z * z * (theta * error1 - (1 - theta) * error0)
    # delta method over the three independent shares p, q0 and q1
    se = (
        math.sqrt(p * (1 - p) / (n + z * z) + (1 - theta) ** 2 * error0 + theta**2 * error1) / power
    )
    low, high = (min(1.0, max(0.0, theta + centre_shift + side * z * se)) for side in (-1, 1))
    # a share outside 0 to 1 is cut, and kept as `raw`
    value = min(1.0, max(0.0, raw))
    flags = ("CAPPED",) if value != raw else ()
    included = raw if flags else math.nan
    return Coefficient(
        value, low, high, n, level, "Lang-Reiczigel", se=se, raw=included, flags=flags
    )


def rogan_gladen_scores(
    automatic: ArrayLike,
    human: ArrayLike,
    errors: JudgeErrors | None = None,
    *,
    level: float = 0.95,
) -> tuple[Coefficient, ...]:
    """Correct every respondent's score with pooled sensitivity and specificity, if that is allowed.

    Where the judge errs differently for different respondents, pooling makes scores worse than
    leaving them alone; then every score is refused and `ppi_scores` is the remedy.

    Parameters
    ----------
    automatic, human : array_like, shape (respondents, items)
        Binary labels; NaN where there is none.
    errors : JudgeErrors, optional
        The result of `judge_errors` on the same labels, if it is there already.
    level : float, default 0.95
        Confidence level of the intervals.

    Returns
    -------
    tuple of Coefficient
        There is one coefficient for each respondent. It is `not_applicable` where the judge's
        errors are not homogeneous, could not be compared, or its labels are close to guessing.

    Raises
    ------
    ValueError
        An array has another shape.

    Examples
    --------
    >>> human = np.tile([1.0, 0.0], (2, 50))
    >>> judge = human.copy()
    >>> judge[0, :60] = 1 - judge[0, :60]
    >>> [result.status for result in rogan_gladen_scores(judge, human)]
    ['not_applicable', 'not_applicable']
    """
    a, h = equal_shape_arrays(automatic, human, "respondents, items")
    judged = judge_errors(a, h, level=level) if errors is None else errors
    m = a.shape[0]
    if judged.status != "ok":
        return tuple(Coefficient.absent(judged.status, judged.reason) for _ in range(m))
    if judged.homogeneous is not True:
        if judged.homogeneous is None:
            reason = (
                "the judge's sensitivity and specificity could not be compared between respondents"
            )
        else:
            reason = (
                "the judge errs differently for different respondents: a pooled correction would"
                " mislead, use PPI"
            )
        return tuple(Coefficient.absent("not_applicable", reason) for _ in range(m))
    table = judged.pooled
    positives = table.both_positive + table.human_only
    negatives = table.automatic_only + table.both_negative
    scores = []
    for row in a:
        finite_labels = row[np.isfinite(row)]
        rate = float(finite_labels.mean()) if len(finite_labels) else math.nan
        scores.append(
            rogan_gladen(
                rate,
                len(finite_labels),
                table.sensitivity,
                positives,
                table.specificity,
                negatives,
                level=level,
            )
        )
    return tuple(scores)
