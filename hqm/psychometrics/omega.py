"""Reliability from a factor model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import Array
from hqm.psychometrics.consistency import complete_scores, too_wide, varies_of, with_bootstrap
from hqm.psychometrics.result import Coefficient


def omega_t(
    scores: npt.ArrayLike, rng: np.random.Generator | None = None, *, families: Sequence[str] | None = None
) -> Coefficient:
    """McDonald's omega total of a one-factor model fitted by unweighted least squares.

    Alpha assumes that every item measures equally strongly; omega lets them differ. With several factors the one-factor
    model misses common variance and omega total falls short.

        omega = (sum of loadings)^2 / sum of all correlations

    McDonald, R. P. (1999). Test Theory. Erlbaum. The fit is Harman and Jones's minimum residual solution
    (1966, Psychometrika 31, 351-368), found loading by loading.

    - `scores`: (respondents, items, types or parcels), compared as correlations; constant columns are left out.

    The status is `insufficient` below 3 varying items, `not_applicable` with as many items as respondents. Flag
    `HEYWOOD` where a loading exceeds 1 (negative error variance: the model does not hold).

    >>> scores = [[3, 4, 3], [1, 2, 2], [4, 4, 5], [2, 2, 3], [5, 3, 4]]
    >>> round(omega_t(scores).value, 4)
    0.8848
    """
    x = complete_scores(scores)
    if x.shape[0] >= 3:
        x = x[:, varies_of(x)]
        if x.shape[0] <= x.shape[1]:
            return Coefficient.absent("not_applicable", too_wide(x), x.shape[0])

    def value(x: Array) -> float:
        if not varies_of(x).all():
            return math.nan
        r = np.corrcoef(x.T)
        return float(minres_loadings(r).sum()) ** 2 / float(r.sum())

    omega = with_bootstrap(x, value, "omega", rng, families, items=3)
    if omega.status == "ok" and (np.abs(minres_loadings(np.corrcoef(x.T))) > 1).any():
        return replace(omega, flags=(*omega.flags, "HEYWOOD"))
    return omega


def minres_loadings(correlations: npt.ArrayLike) -> Array:
    """The loadings of one factor that leave the smallest squared off-diagonal residuals.

    - `correlations`: (items, items): only what is off the diagonal is used.

    >>> minres_loadings([[1, 0.56, 0.48], [0.56, 1, 0.42], [0.48, 0.42, 1]]).round(3)
    array([0.8, 0.7, 0.6])
    """
    r = np.array(correlations, dtype=np.float64)
    np.fill_diagonal(r, 0.0)
    # the first principal axis with the largest correlation of each item as its communality
    start = r + np.diag(np.abs(r).max(axis=0))
    values, vectors = np.linalg.eigh(start)
    loadings = vectors[:, -1] * math.sqrt(max(float(values[-1]), 1e-12))
    square = float(loadings @ loadings)
    for _ in range(20_000):
        moved = 0.0
        for i in range(len(loadings)):
            rest = square - loadings[i] ** 2
            new = float(r[i] @ loadings) / rest if rest > 1e-300 else 0.0
            moved = max(moved, abs(new - loadings[i]))
            square, loadings[i] = rest + new * new, new
        if moved < 1e-12:
            break
    return np.asarray(loadings * (1.0 if loadings.sum() >= 0 else -1.0))
