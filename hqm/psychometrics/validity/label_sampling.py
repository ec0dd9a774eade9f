"""Whether the labelled answers are a random sample of the scored ones."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr

from hqm.psychometrics.inference.resampling import cluster_labels
from hqm.psychometrics.result import ArrayLike, Outcome, equal_shape_arrays


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelRandomness(Outcome):
    """Comparison of the scores of labelled and unlabelled answers.

    Attributes
    ----------
    difference
        Mean score of labelled less unlabelled answers of the same respondent, weighted as Mantel
        and Haenszel.
    z, p
        The test's statistic and two-sided p-value. `labelled, unlabelled`: how many answers it
        compared.
    """

    difference: float = math.nan
    z: float = math.nan
    p: float = math.nan
    labelled: int = 0
    unlabelled: int = 0


def labels_at_random(
    automatic: ArrayLike, human: ArrayLike, clusters: ArrayLike | None = None
) -> LabelRandomness:
    """Test whether labelled and unlabelled answers are scored alike (Mantel and Haenszel).

    Within each respondent the labelled answers' scores should sum to what chance gives. The sum
    over respondents, less its expectation, is the numerator of Mantel and Haenszel's test; its
    variance is taken over pictures, because one picture's answers are easy or hard for all
    respondents. It can show that labels are no random sample of the scores; it cannot show that
    they are one.

    Parameters
    ----------
    automatic, human : array_like, shape (respondents, items)
        Scores, and labels; NaN where there is none.
    clusters : array_like, shape (items,), optional
        Labels, such as the picture.

    Returns
    -------
    LabelRandomness
        The weighted difference of means and its test. `not_applicable` where all scored answers, or
        none, are labelled; `insufficient` with fewer than 10 pictures.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        U = sum_r sum_i (L_ri - mean L_r)(A_ri - mean A_r),
        z = U / sqrt(C / (C - 1) sum over pictures of their part of U squared)

    References
    ----------
    .. [1] Mantel, N. and Haenszel, W. (1959). Journal of the National Cancer Institute, 22,
       719-748.

    Examples
    --------
    >>> scores = np.tile([1.0, 1.0, 1.0, 0.0], (2, 50))
    >>> labels = np.where(scores == 0, 0.0, np.nan)
    >>> labels[:, :40] = 1
    >>> labels_at_random(scores, labels).p < 1e-6
    True
    """
    a, h = equal_shape_arrays(automatic, human, "respondents, items")
    scored = np.isfinite(a)
    is_labelled = (scored & np.isfinite(h)).astype(np.float64)
    n_scored = scored.sum(axis=1, keepdims=True)
    n_labelled = is_labelled.sum(axis=1, keepdims=True)
    # one whose answers are all labelled, or none, compares nothing
    mixed = ((n_labelled > 0) & (n_labelled < n_scored))[:, 0]
    labelled = int(is_labelled[mixed].sum())
    unlabelled = int(n_scored[mixed].sum() - is_labelled[mixed].sum())
    if not mixed.any():
        return LabelRandomness(
            status="not_applicable",
            reason="every scored answer of each respondent is labelled, or none",
        )
    a = a[mixed]
    scored = scored[mixed]
    is_labelled = is_labelled[mixed]
    n_scored = n_scored[mixed]
    n_labelled = n_labelled[mixed]
    scores = np.where(scored, a, 0.0)
    centred = np.where(scored, scores - scores.sum(axis=1, keepdims=True) / n_scored, 0.0)
    # observed less expected, within each respondent, as in a Mantel-Haenszel numerator
    contributions = (np.where(scored, is_labelled - n_labelled / n_scored, 0.0) * centred).sum(
        axis=0
    )
    _, cluster_index = np.unique(cluster_labels(clusters, a.shape[1]), return_inverse=True)
    cluster_sums = np.bincount(cluster_index, weights=contributions)
    n_clusters = len(cluster_sums)
    # weights of Mantel and Haenszel, n1 n0 / n for each respondent
    total_weight = float((n_labelled * (n_scored - n_labelled) / n_scored).sum())
    difference = float(contributions.sum()) / total_weight
    if n_clusters > 1:
        variance = n_clusters / (n_clusters - 1) * float((cluster_sums**2).sum())
    else:
        variance = 0.0
    if n_clusters < 10 or not variance > 0:
        return LabelRandomness(
            difference=difference,
            labelled=labelled,
            unlabelled=unlabelled,
            status="insufficient",
            reason="a test over pictures needs 10 of them with scores that differ, there are"
            f" {n_clusters}",
        )
    z = float(contributions.sum()) / math.sqrt(variance)
    p = 2 * float(stdtr(n_clusters - 1, -abs(z)))
    return LabelRandomness(
        difference=difference, z=z, p=p, labelled=labelled, unlabelled=unlabelled
    )
