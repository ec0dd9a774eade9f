"""Whether whole runs moved, beyond the noise of single items."""

from __future__ import annotations

import math

import numpy as np

from hqm.psychometrics.arrays import Array
from hqm.psychometrics.significance import SignificanceTest, chi_square_test

NAME = "no drift between runs"


def drift_test(
    scores: Array, contributions: Array | None, *, minimum: int = 10
) -> SignificanceTest:
    """Whether scores differ between runs by more than independent changes of items explain.

    An update of a served model, another system prompt or a common random seed moves all items of a
    run together; the noise that the items show is then too small.

        two runs:  Q = sum_m D_m^2 / Var(D_m) ~ chi2(M),   D_m = S_m1 - S_m2;  more runs: over K - 1 orthonormal contrasts

    Var(D_m) comes from the clusters' contributions. Its power is .80 at a drift of .02 (20
    respondents, 1,000 items).

    - `scores`: (runs, respondents).
    - `contributions`: (runs, respondents, clusters): each cluster's centred contribution to the
      score, or None.
    - `minimum`: The number of clusters below which chi-square is no approximation.

    The status is `insufficient` below 2 runs or `minimum` clusters and `not_informative` when no
    run differs. The statistic is infinite when all items of a respondent moved by the same amount.
    >>> drift_test(np.array([[0.5], [0.5]]), np.array([[[0.05, -0.05] * 5], [[0.0] * 10]])).p
    1.0
    """
    runs, respondents = scores.shape
    clusters = 0 if contributions is None else contributions.shape[2]
    if contributions is None or runs < 2 or clusters < minimum:
        reason = (
            f"a drift test needs 2 runs and {minimum} clusters of items, there are {runs} and"
            f" {clusters}"
        )
        return SignificanceTest.absent("insufficient", reason, respondents, NAME)
    contrasts = _helmert(runs)
    shift = (contrasts @ scores).T
    moved = np.einsum("ck,kmi->mci", contrasts, contributions)
    covariance = clusters / (clusters - 1) * moved @ moved.transpose(0, 2, 1)
    size, axes = np.linalg.eigh(covariance)
    along = np.einsum("mce,mc->me", axes, shift)
    used = size > np.maximum(1e-12 * size.max(axis=1, keepdims=True), 1e-24)
    if (np.abs(along[~used]) > 1e-9).any():
        return SignificanceTest(math.inf, float(along.size), 0.0, NAME, respondents)
    df = int(used.sum())
    if df == 0:
        return SignificanceTest.absent(
            "not_informative", "no score differs between runs", respondents, NAME
        )
    return chi_square_test(float((along[used] ** 2 / size[used]).sum()), df, NAME, respondents)


def _helmert(k: int) -> Array:
    rows = np.tri(k - 1, k) - np.diag(np.arange(1.0, k), 1)[: k - 1]
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))
