"""Many tests at once: p-values that hold for all of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import Array


def benjamini_hochberg(p: npt.ArrayLike) -> Array:
    """P-values adjusted for the false discovery rate: the share of false alarms among what is called significant.

    Benjamini, Y. and Hochberg, Y. (1995). Journal of the Royal Statistical Society B, 57, 289-300.

    - `p`: Any shape, taken as one family of tests; NaN stays NaN and counts as no test.

    >>> benjamini_hochberg([0.01, 0.04, 0.03, 0.20]).round(4)
    array([0.04  , 0.0533, 0.0533, 0.2   ])
    """
    flat = np.asarray(p, dtype=np.float64)
    adjusted = np.full(flat.shape, np.nan)
    known = np.isfinite(flat)
    values = flat[known]
    order = np.argsort(values)[::-1]
    ranks = np.arange(len(values), 0, -1)
    stepped = np.minimum.accumulate(np.minimum(1.0, values[order] * len(values) / ranks))
    back = np.empty_like(stepped)
    back[order] = stepped
    adjusted[known] = back
    return adjusted


def holm(p: npt.ArrayLike) -> Array:
    """P-values adjusted so that the chance of any false alarm among all tests stays below the level.

    Holm, S. (1979). Scandinavian Journal of Statistics, 6, 65-70.

    - `p`: Any shape, taken as one family of tests; NaN stays NaN and counts as no test.

    >>> holm([0.01, 0.04, 0.03, 0.20]).round(4)
    array([0.04, 0.09, 0.09, 0.2 ])
    """
    flat = np.asarray(p, dtype=np.float64)
    adjusted = np.full(flat.shape, np.nan)
    known = np.isfinite(flat)
    values = flat[known]
    if len(values):
        from statsmodels.stats.multitest import multipletests

        adjusted[known] = multipletests(values, method="holm")[1]
    return adjusted
