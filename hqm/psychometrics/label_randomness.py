"""Whether labels that came without probabilities can be a random sample of the answers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import shaped_alike
from hqm.psychometrics.clusters import labels_of
from hqm.psychometrics.result import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelRandomness:
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
    status: Status = "ok"
    reason: str = ""


def labels_at_random(
    automatic: npt.ArrayLike, human: npt.ArrayLike, clusters: npt.ArrayLike | None = None
) -> LabelRandomness:
    """Whether the answers that people labelled are scored like those that they did not (Mantel and
    Haenszel).

    Within each respondent the labelled answers' scores should sum to what chance gives. The sum
    over respondents, less its expectation, is the numerator of Mantel and Haenszel's test; its
    variance is taken over pictures, because one picture's answers are easy or hard for all
    respondents. It can show that labels are no random sample of the scores; it cannot show that
    they are one.

        U = sum_r sum_i (L_ri - mean L_r)(A_ri - mean A_r),   z = U / sqrt(C / (C - 1) sum over pictures of their part of U squared)

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
        reason = "every scored answer of each respondent is labelled, or none"
        return LabelRandomness(status="not_applicable", reason=reason)
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
        reason = f"a test over pictures needs 10 of them with scores that differ, there are {size}"
        return LabelRandomness(
            difference=difference,
            labelled=labelled,
            unlabelled=unlabelled,
            status="insufficient",
            reason=reason,
        )
    from scipy.special import stdtr

    z = float(parts.sum()) / math.sqrt(variance)
    p = 2 * float(stdtr(size - 1, -abs(z)))
    return LabelRandomness(
        difference=difference, z=z, p=p, labelled=labelled, unlabelled=unlabelled
    )
