"""Which answers people should label, and how wide the interval of the corrected score will be."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, stdtr

from hqm.psychometrics.resampling import labels_of
from hqm.psychometrics.result import (
    Array,
    ArrayLike,
    Flags,
    Outcome,
    normal_quantile,
    shaped,
    shaped_alike,
)

LARGEST_TAU = 0.8
"""The largest share of a sample that may follow estimated errors: the rest guards against errors
nobody suspected.
"""


def active_probabilities(errors: ArrayLike, labels: float, tau: float = LARGEST_TAU) -> Array:
    """With which probability each answer is labelled, where doubtful answers are labelled more
    often.

        p = B (tau u / sum u + (1 - tau) / N),   u = sqrt(q (1 - q)),   at most 1

    What is cut at 1 is dealt out among the other answers, so that the sum stays B. Zrnic, T. and
    Candes, E. (2024). Active statistical inference. arXiv 2403.03208.

    - `errors`: (answers,): q, the chance that the score is wrong, 0 to 1; NaN takes the mean of the
      others' u.
    - `labels`: B, how many labels there will be. `tau`: 0 is uniform; at most .8.

    >>> active_probabilities([0.5, 0.0, 0.0, 0.0], 1).round(2).tolist()
    [0.85, 0.05, 0.05, 0.05]
    """
    q = shaped(errors, "answers", "errors")
    known = np.isfinite(q)
    if (
        not 0 <= tau <= LARGEST_TAU
        or not 0 < labels <= len(q)
        or ((q[known] < 0) | (q[known] > 1)).any()
    ):
        raise ValueError(
            f"tau is 0 to {LARGEST_TAU}, labels 1 to {len(q)}, errors 0 to 1; got {tau}, {labels}"
        )
    u = np.sqrt(np.where(known, q * (1 - q), 0.0))
    u = np.where(known, u, u[known].mean() if known.any() else 1.0)
    share = tau * u / u.sum() + (1 - tau) / len(u) if u.sum() > 0 else np.full(len(u), 1 / len(u))
    full = np.zeros(len(u), dtype=bool)
    while True:
        left = labels - int(full.sum())
        p = np.where(full, 1.0, left * share / max(float(share[~full].sum()), 1e-300))
        if not (p[~full] > 1).any():
            return p
        full |= p >= 1


def systematic_sample(probabilities: ArrayLike, rng: np.random.Generator) -> Flags:
    """Draw answers with these probabilities, (answers,), spread evenly over their order; as many as
    their sum.

    Madow, W. G. (1949). On the theory of systematic sampling. Annals of Mathematical Statistics,
    20, 333-354.

    >>> systematic_sample([0.5, 0.5, 1.0, 0.5, 0.5], np.random.default_rng(0)).sum().item()
    3
    """
    p = shaped(probabilities, "answers", "probabilities")
    ends = np.cumsum(p)
    ends[-1:] = np.round(ends[-1:], 9)
    steps = np.floor(ends - rng.random())
    return np.asarray(np.diff(steps, prepend=-1.0) > 0)


def expected_width(
    scores: ArrayLike,
    errors: ArrayLike,
    probabilities: ArrayLike,
    *,
    together: float = 1.0,
    alike: float = 1.0,
    level: float = 0.95,
) -> float:
    """How wide the interval of the mean corrected score (`ppi_scores`) will be, before anybody has
    labelled anything.

        width^2 = 4 z^2 (sum_i (1 - p_i) / p_i E(e_i^2) / N^2 + var(h) / N),
        e = h - lambda a less its mean

    where the label h is 1 - q of the time what the score a says. It is as good as the errors that
    it is given.

    - `scores, errors, probabilities`: (answers,): the benchmark's scores 0 to 1, the chance q that
      each is wrong, and the probability that it is labelled.
    - `together, alike`: By how much labels on one picture make the first part larger, and answers
      to it the second.

    >>> round(expected_width(np.tile([1.0, 0.0], 500), np.full(1000, 0.1), np.full(1000, 0.2)), 3)
    0.097
    """
    a, q = shaped_alike(scores, errors, "answers")
    p = shaped_alike(a, probabilities, "answers")[1]
    used = np.isfinite(a) & np.isfinite(q)
    a, q, p = a[used], q[used], p[used]
    size = len(a)
    if size < 2:
        return math.nan
    truth = a * (1 - q) + (1 - a) * q
    weight = (1 - p) / p
    if not weight.sum() > 0:
        weight = np.ones(size)
    mean_a, mean_h = np.average(a, weights=weight), np.average(truth, weights=weight)
    spread = float(np.sum(weight * (a - mean_a) ** 2))
    trust = float(np.sum(weight * (a - mean_a) * (truth - mean_h))) / spread if spread > 0 else 0.0
    residual = truth - min(1.0, max(0.0, trust)) * a
    squares = truth * (1 - truth) + (residual - residual.mean()) ** 2
    sampled = float(((1 - p) / p * squares).sum()) / size**2
    whole = float(truth.mean() * (1 - truth.mean())) / size
    return 2 * normal_quantile(level) * math.sqrt(together * sampled + alike * whole)


def errors_from_disagreement(differing: ArrayLike, others: ArrayLike) -> Array:
    """The chance that a verdict is wrong, from how many other verdicts on the same answer differ
    from it.

    All verdicts err independently with one probability e,
    which the pairs that differ give: d = 2 e (1 - e). Then
        q = e e^(K-k) (1-e)^k / (e e^(K-k) (1-e)^k + (1-e) (1-e)^(K-k) e^k)
        k of K others differ

    Errors that verdicts share are not seen. (answers,): k and K; NaN comes back where K is 0.

    >>> errors_from_disagreement([0, 1, 0, 0], [1, 1, 1, 1]).round(3).tolist()
    [0.029, 0.5, 0.029, 0.029]
    """
    k, total = shaped_alike(differing, others, "answers")
    judged = total > 0
    if not judged.any():
        return np.full(len(k), np.nan)
    apart = min(
        0.5,
        max(float(k[judged].sum() / total[judged].sum()), 1 / (2 * float(total[judged].sum()) + 2)),
    )
    error = (1 - math.sqrt(1 - 2 * apart)) / 2
    odds = math.log(error / (1 - error))
    return np.where(judged, expit(odds * (1 + total - 2 * k)), np.nan)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelRandomness(Outcome):
    """Whether the labelled answers have other scores than those nobody labelled.

    - `difference`: Mean score of labelled less unlabelled answers of the same respondent, weighted
      as Mantel and Haenszel.
    - `z, p`: The test's statistic and two-sided p-value. `labelled, unlabelled`: how many answers
      it compared.
    """

    difference: float = math.nan
    z: float = math.nan
    p: float = math.nan
    labelled: int = 0
    unlabelled: int = 0


def labels_at_random(
    automatic: ArrayLike, human: ArrayLike, clusters: ArrayLike | None = None
) -> LabelRandomness:
    """Whether the answers that people labelled are scored like those that they did not (Mantel and
    Haenszel).

    Within each respondent the labelled answers' scores should sum to what chance gives. The sum
    over respondents, less its expectation, is the numerator of Mantel and Haenszel's test; its
    variance is taken over pictures, because one picture's answers are easy or hard for all
    respondents. It can show that labels are no random sample of the scores; it cannot show that
    they are one.

        U = sum_r sum_i (L_ri - mean L_r)(A_ri - mean A_r),
        z = U / sqrt(C / (C - 1) sum over pictures of their part of U squared)

    Mantel, N. and Haenszel, W. (1959). Journal of the National Cancer Institute, 22, 719-748.

    - `automatic, human`: (respondents, items): scores, and labels; NaN where there is none.
    - `clusters`: (items,): labels, such as the picture.

    `not_applicable` where all scored answers, or none, are labelled; `insufficient` with fewer than
    10 pictures.

    >>> scores = np.tile([1.0, 1.0, 1.0, 0.0], (2, 50))
    >>> labels = np.where(scores == 0, 0.0, np.nan)
    >>> labels[:, :40] = 1
    >>> labels_at_random(scores, labels).p < 1e-6
    True
    """
    a, h = shaped_alike(automatic, human, "respondents, items")
    scored = np.isfinite(a)
    marked = (scored & np.isfinite(h)).astype(np.float64)
    counts, many = scored.sum(axis=1, keepdims=True), marked.sum(axis=1, keepdims=True)
    used = ((many > 0) & (many < counts))[:, 0]
    labelled, unlabelled = int(marked[used].sum()), int(counts[used].sum() - marked[used].sum())
    if not used.any():
        return LabelRandomness(
            status="not_applicable",
            reason="every scored answer of each respondent is labelled, or none",
        )
    a, scored, marked, counts, many = a[used], scored[used], marked[used], counts[used], many[used]
    scores = np.where(scored, a, 0.0)
    centred = np.where(scored, scores - scores.sum(axis=1, keepdims=True) / counts, 0.0)
    parts = (np.where(scored, marked - many / counts, 0.0) * centred).sum(axis=0)
    _, member = np.unique(labels_of(clusters, a.shape[1]), return_inverse=True)
    sums = np.bincount(member, weights=parts)
    size = len(sums)
    weight = float((many * (counts - many) / counts).sum())
    difference = float(parts.sum()) / weight
    variance = size / (size - 1) * float((sums**2).sum()) if size > 1 else 0.0
    if size < 10 or not variance > 0:
        return LabelRandomness(
            difference=difference,
            labelled=labelled,
            unlabelled=unlabelled,
            status="insufficient",
            reason="a test over pictures needs 10 of them with scores that differ, there are"
            f" {size}",
        )
    z = float(parts.sum()) / math.sqrt(variance)
    p = 2 * float(stdtr(size - 1, -abs(z)))
    return LabelRandomness(
        difference=difference, z=z, p=p, labelled=labelled, unlabelled=unlabelled
    )
