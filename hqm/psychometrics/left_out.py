"""Intervals of agreement for these respondents: each cluster of items left out once."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import Array, normal_quantile
from hqm.psychometrics.result import Bounds


def agreement_left_out(first: npt.ArrayLike, other: npt.ArrayLike) -> Mapping[str, Array]:
    """The coefficients of agreement between two administrations, for every set of scores at once.

    - `first, other`: (respondents, sets): the scores, one column for each cluster of items left
      out.

    `pearson`, `icc_a1`, `icc_c1`, `ccc` and `mean_shift` -> (sets,); NaN where undefined.

    >>> result = agreement_left_out([[9.0], [6], [8], [7], [10], [6]], [[2.0], [1], [4], [1], [5], [2]])
    >>> round(float(result["pearson"][0]), 4), round(float(result["mean_shift"][0]), 4)
    (0.7454, -5.1667)
    """
    x, y = np.asarray(first, dtype=np.float64), np.asarray(other, dtype=np.float64)
    if x.ndim != 2 or x.shape != y.shape:
        raise ValueError(
            f"both must have one shape (respondents, sets), got {x.shape} and {y.shape}"
        )
    m = len(x)
    shift = y.mean(axis=0) - x.mean(axis=0)
    a, b = x - x.mean(axis=0), y - y.mean(axis=0)
    aa, bb, ab = (a * a).sum(axis=0), (b * b).sum(axis=0), (a * b).sum(axis=0)
    with np.errstate(
        divide="ignore", invalid="ignore"
    ):  # of one respondent nothing but the shift is defined
        # the sums of squares of the two-way table with two columns
        msr, mse, msc = (
            (aa + bb + 2 * ab) / 2 / (m - 1),
            (aa + bb - 2 * ab) / 2 / (m - 1),
            m * shift**2 / 2,
        )
        return {
            "pearson": ab / np.sqrt(aa * bb),
            "icc_a1": (msr - mse) / (msr + mse + 2 * (msc - mse) / m),
            "icc_c1": (msr - mse) / (msr + mse),
            "ccc": 2 * ab / (aa + bb + m * shift**2),
            "mean_shift": shift,
        }


def left_out_bounds(
    value: float, left_out: npt.ArrayLike, *, level: float = 0.95, reliability: bool = True
) -> Bounds | None:
    """The interval of a statistic over other items, for these respondents, from its
    leave-one-cluster-out values.

    A percentile bootstrap of items adds the items' noise to a reliability a second time and misses
    it (it covers 53 to 70 % where it promises 95 %). The jackknife's spread is free of that; on
    log(1 - r) it is nearly normal.

        L_c = log(1 - r_(c)),   SE^2 = (C - 1) / C  sum (L_c - mean L)^2,   1 - exp(L +- z SE)

    Efron, B. (1982). The Jackknife, the Bootstrap and Other Resampling Plans.
    docs/psychometrics_coverage.md has its coverage, which `tests/perf/coverage_left_out.py`
    measures.

    - `left_out`: (clusters,): the statistic with each cluster left out.
    - `reliability`: Whether it is a coefficient with the upper bound 1; otherwise its own scale is
      used.

    None below 10 clusters, for a value of 1, or where leaving out a cluster leaves the statistic
    undefined.
    >>> round(left_out_bounds(0.9, [0.9 + 0.001 * (-1) ** c for c in range(20)]).low, 3)
    0.891
    """
    x = np.asarray(left_out, dtype=np.float64)
    count = len(x)
    if count < 10 or not math.isfinite(value) or not np.isfinite(x).all():
        return None
    if reliability and (value >= 1 or (x >= 1).any()):
        return None

    z = normal_quantile(level)
    scaled = np.log1p(-x) if reliability else x
    error = math.sqrt((count - 1) / count * float(((scaled - scaled.mean()) ** 2).sum()))
    if not reliability:
        return Bounds(value - z * error, value + z * error, "cluster jackknife", level)
    middle = math.log1p(-value)
    return Bounds(
        1 - math.exp(middle + z * error),
        1 - math.exp(middle - z * error),
        "cluster jackknife of log(1 - r)",
        level,
    )
