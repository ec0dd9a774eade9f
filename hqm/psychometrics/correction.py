"""Scores corrected by a sample of human labels."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hqm.psychometrics.judge_error import JudgeErrors, judge_errors
from hqm.psychometrics.resampling import labels_of
from hqm.psychometrics.result import (
    Array,
    ArrayLike,
    Coefficient,
    Flags,
    Labels,
    normal_quantile,
    shaped_alike,
)

FEWEST_LABELS = 50
"""With fewer human labels a respondent's score is their mean alone."""


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
    fewest: int = FEWEST_LABELS,
    weight: float | None = None,
    probabilities: ArrayLike | None = None,
    rater_variance: ArrayLike | None = None,
    level: float = 0.95,
) -> CorrectedScores:
    """Prediction-powered scores (PPI++): the judge on all items, corrected with human labels of
    some of them.

        theta = lambda mean(A unlabelled) + mean(H - lambda A labelled),
        lambda = cov(H, A) / ((1 + h / N) var(A)) in 0..1
        SE^2 = lambda^2 var(A unlabelled) / N + var(H - lambda A) / h

    Nothing is assumed about how the judge errs. Angelopoulos, Duchi and Zrnic (2023). PPI++. arXiv
    2311.01453.

    Where the labelled items were drawn with unequal probabilities p, means of them are Hajek's,
    with weights 1 / p:

        theta = lambda mean(A) + sum w (H - lambda A) / sum w,
        SE^2 = sum (1 - p)(w (e - mean e) / sum w)^2 + var(H) / N

    Horvitz and Thompson (1952). JASA, 47, 663-685; Zrnic and Candes (2024). arXiv 2403.03208.

    - `automatic, human`: (respondents, items), NaN where there is none; the labelled items must be
      a random sample.
    - `clusters`: (items,): labels, such as the picture; the variances are then those of cluster
      sums.
    - `fewest`: With fewer labels lambda is 0, and the score is the human mean (flag `FEW_LABELS`).
    - `weight`: A fixed lambda. With 1 it is plain prediction-powered inference, and the interval is
      that of the published implementation, whose variances divide by n.
    - `probabilities`: (respondents, items): with which probability each item was labelled; NaN
      leaves a label out.
    - `rater_variance`: (respondents,): what the raters' own errors add to the variance of each
      score.

    A respondent without 2 labels is `insufficient`. Scores of 0/1 labels may leave 0..1 a little
    and are not cut.
    """
    a, h = shaped_alike(automatic, human, "respondents, items")
    label = labels_of(clusters, a.shape[1])
    extra = (
        np.zeros(len(a)) if rater_variance is None else np.asarray(rater_variance, dtype=np.float64)
    )
    if probabilities is None:
        rows = [
            _ppi(a[i], h[i], label, fewest, weight, level, float(extra[i])) for i in range(len(a))
        ]
    else:
        p = shaped_alike(a, probabilities, "respondents, items")[1]
        rows = [
            _weighted(a[i], h[i], p[i], label, fewest, weight, level, float(extra[i]))
            for i in range(len(a))
        ]
    scores, raw, labelled, lambdas, labels = (
        zip(*rows, strict=True) if rows else ((), (), (), (), ())
    )
    before = _ranks([x if s.status == "ok" else math.nan for x, s in zip(raw, scores, strict=True)])
    return CorrectedScores(
        scores, raw, labelled, lambdas, labels, before, _ranks([s.value for s in scores])
    )


def _ranks(values: list[float]) -> tuple[int, ...]:
    """Competition ranks from the highest; 0 for what has no value."""
    return tuple(0 if math.isnan(v) else 1 + sum(w > v for w in values) for v in values)


def _mean_variance(x: Array, label: Labels, lost: int = 1) -> float:
    """The variance of a mean of items in clusters, with `lost` degrees of freedom."""
    _, member = np.unique(label, return_inverse=True)
    sums = np.bincount(member, weights=x - x.mean())
    c = len(sums)
    return c / (c - lost) * float((sums**2).sum()) / len(x) ** 2 if c > 1 else math.nan


def _ppi(
    a: Array,
    h: Array,
    label: Labels,
    fewest: int,
    weight: float | None,
    level: float,
    extra: float,
) -> tuple[Coefficient, float, float, float, int]:
    scored = np.isfinite(a)
    with_both, rest = scored & np.isfinite(h), scored & ~np.isfinite(h)
    n, size = int(rest.sum()), int(with_both.sum())
    raw = float(a[scored].mean()) if scored.any() else math.nan
    if size < 2:
        return (
            Coefficient.absent(
                "insufficient", f"a corrected score needs 2 human labels, there are {size}", size
            ),
            raw,
            math.nan,
            math.nan,
            size,
        )
    y, x = h[with_both], a[with_both]
    spread = float(a[scored].var(ddof=1))
    lam = 0.0
    if n > 1 and spread > 0 and size >= fewest:
        best = (
            float(((y - y.mean()) * (x - x.mean())).sum()) / (size - 1) / ((1 + size / n) * spread)
        )
        lam = min(1.0, max(0.0, best)) if weight is None else weight
    value = float((y - lam * x).mean()) + (lam * float(a[rest].mean()) if lam else 0.0)
    # the published interval, of a weight that is not estimated, divides by n
    lost = 1 if weight is None else 0
    variance = _mean_variance(y - lam * x, label[with_both], lost)
    if lam:
        variance += lam**2 * _mean_variance(a[rest], label[rest], lost)
    method = "PPI++" if lam else "human labels"
    return (
        _with_ends(value, variance, extra, size, fewest, level, method),
        raw,
        float(y.mean()),
        lam,
        size,
    )


def _with_ends(
    value: float, variance: float, extra: float, size: int, fewest: int, level: float, method: str
) -> Coefficient:
    if not math.isfinite(variance):
        return Coefficient(value, n=size, method="one cluster: no interval")
    se = math.sqrt(variance + extra)
    half = normal_quantile(level) * se
    # labels without any variance would have an error bar of 0
    ends = (value - half, value + half) if variance > 0 else (math.nan, math.nan)
    flags = ("FEW_LABELS",) if size < fewest else ()
    flags = flags if variance > 0 else (*flags, "NO_VARIANCE")
    method = f"{method}, raters' errors" if extra > 0 else method
    return Coefficient(value, *ends, size, level, method, se=se, flags=flags)


def _weighted(
    a: Array,
    h: Array,
    p: Array,
    label: Labels,
    fewest: int,
    weight: float | None,
    level: float,
    extra: float,
) -> tuple[Coefficient, float, float, float, int]:
    """One respondent's score from labels that were drawn with the probabilities `p`."""
    scored: Flags = np.isfinite(a)
    used = scored & np.isfinite(h) & np.isfinite(p)
    size, total = int(used.sum()), int(scored.sum())
    raw = float(a[scored].mean()) if total else math.nan
    if size < 2:
        return (
            Coefficient.absent(
                "insufficient",
                f"a corrected score needs 2 human labels with their probability, there are {size}",
                size,
            ),
            raw,
            math.nan,
            math.nan,
            size,
        )
    y, x, chance = h[used], a[used], p[used]
    w = 1 / chance
    mean_y, mean_x = float(np.average(y, weights=w)), float(np.average(x, weights=w))
    lam = 0.0
    if size >= fewest:
        # what the design's variance counts: an answer that was certain to be drawn adds none
        counted = w**2 * (1 - chance) if (chance < 1).any() else w
        spread = float((counted * (x - mean_x) ** 2).sum())
        best = float((counted * (y - mean_y) * (x - mean_x)).sum()) / spread if spread > 0 else 0.0
        lam = min(1.0, max(0.0, best)) if weight is None else weight
    value = mean_y + lam * (raw - mean_x)
    error = y - lam * x
    parts = np.sqrt(1 - chance) * w * (error - np.average(error, weights=w)) / w.sum()
    _, member = np.unique(label[used], return_inverse=True)
    sums = np.bincount(member, weights=parts)
    clusters = len(sums)
    variance = clusters / (clusters - 1) * float((sums**2).sum()) if clusters > 1 else math.nan
    # the answers themselves are a sample of those that could have been asked for, as much alike
    # within a picture as their scores
    alone, together = (
        _mean_variance(a[scored], each[scored]) for each in (np.arange(len(a)), label)
    )
    alike = together / alone if alone > 0 and math.isfinite(together) else 1.0
    variance += alike * float(np.average((y - mean_y) ** 2, weights=w)) * size / (size - 1) / total
    method = f"{'PPI++' if lam else 'human labels'}, weighted by 1 / probability"
    return _with_ends(value, variance, extra, size, fewest, level, method), raw, mean_y, lam, size


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
    """The true share of 1 behind a judge's share, given its sensitivity and specificity in a
    calibration sample.

        theta = (p + q0 - 1) / (q0 + q1 - 1),   q1 = sensitivity, q0 = specificity

    The interval adds a small number of cases to each share and shifts the centre (adjusted Wald).

    Rogan, W. J. and Gladen, B. (1978). American Journal of Epidemiology, 107, 71-76; the interval:
    Lang, Z. and Reiczigel, J. (2014). Preventive Veterinary Medicine, 113, 13-22, as applied to
    judges by Lee et al. (arXiv 2511.21140). Valid for several respondents only if the judge errs
    alike for all: `rogan_gladen_scores` checks it.

    - `rate, n`: The share of items that the judge labels 1, and of how many.
    - `sensitivity, positives, specificity, negatives`: The judge's shares of right labels, and
      among how many human 1 and 0.

    Cut to 0..1 with the raw value kept. The status is `insufficient` without positives or negatives
    or items, `not_applicable` where q0 + q1 - 1 <= .2: the judge is then too near to guessing and
    the correction explodes.

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
    if sensitivity + specificity - 1 <= 0.2 + 1e-12:
        return Coefficient.absent(
            "not_applicable",
            f"sensitivity + specificity - 1 is {sensitivity + specificity - 1:.3f}, not above .2:"
            " close to guessing",
            n,
        )

    z = normal_quantile(level)
    raw = (rate + specificity - 1) / (specificity + sensitivity - 1)
    p = (n * rate + z * z / 2) / (n + z * z)
    q1, q0 = (
        (positives * sensitivity + 1) / (positives + 2),
        (negatives * specificity + 1) / (negatives + 2),
    )
    m1, m0, power = positives + 2, negatives + 2, q0 + q1 - 1
    theta = (p + q0 - 1) / power
    error0, error1 = q0 * (1 - q0) / m0, q1 * (1 - q1) / m1
    shift = 2 * z * z * (theta * error1 - (1 - theta) * error0)
    se = (
        math.sqrt(p * (1 - p) / (n + z * z) + (1 - theta) ** 2 * error0 + theta**2 * error1) / power
    )
    low, high = (min(1.0, max(0.0, theta + shift + side * z * se)) for side in (-1, 1))
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
    """Rogan and Gladen's correction of every respondent with pooled sensitivity and specificity, if
    that is allowed.

    Where the judge errs differently for different respondents, pooling makes scores worse than
    leaving them alone; then every score is refused and `ppi_scores` is the remedy.

    - `automatic, human`: (respondents, items): binary labels; NaN where there is none.
    - `errors`: The result of `judge_errors` on the same labels, if it is there already.

    There is one coefficient for each respondent. It is `not_applicable` where the judge's errors
    are not homogeneous, could not be compared, or its labels are close to guessing.

    >>> human = np.tile([1.0, 0.0], (2, 50))
    >>> judge = human.copy()
    >>> judge[0, :60] = 1 - judge[0, :60]
    >>> [result.status for result in rogan_gladen_scores(judge, human)]
    ['not_applicable', 'not_applicable']
    """
    a, h = shaped_alike(automatic, human, "respondents, items")
    judged = judge_errors(a, h, level=level) if errors is None else errors
    m = a.shape[0]
    if judged.status != "ok":
        return tuple(Coefficient.absent(judged.status, judged.reason) for _ in range(m))
    if judged.homogeneous is not True:
        reason = (
            "the judge's sensitivity and specificity could not be compared between respondents"
            if judged.homogeneous is None
            else (
                "the judge errs differently for different respondents: a pooled correction would"
                " mislead, use PPI"
            )
        )
        return tuple(Coefficient.absent("not_applicable", reason) for _ in range(m))
    table = judged.pooled
    positives, negatives = table.both + table.human_only, table.automatic_only + table.neither
    scores = []
    for row in a:
        known = row[np.isfinite(row)]
        rate = float(known.mean()) if len(known) else math.nan
        scores.append(
            rogan_gladen(
                rate,
                len(known),
                table.sensitivity,
                positives,
                table.specificity,
                negatives,
                level=level,
            )
        )
    return tuple(scores)
