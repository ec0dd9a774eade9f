"""The arrays that go through the package: their types, their axes, and what is asked of every one
of them.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
"""Numbers; a missing one is NaN."""

Flags = npt.NDArray[np.bool_]
"""One yes or no for each entry."""

Numbers = npt.NDArray[np.int64]
"""Whole numbers: counts, places, codes."""


def shaped(values: npt.ArrayLike, shape: str, what: str = "scores") -> Array:
    """Values as numbers; ValueError unless they have as many axes as `shape` names, such as
    `respondents, items`.
    """
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != len(shape.split(", ")):
        raise ValueError(f"{what} must have shape ({shape}), got {x.shape}")
    return x


def shaped_alike(x: npt.ArrayLike, y: npt.ArrayLike, shape: str) -> tuple[Array, Array]:
    """Two arrays of one shape as numbers; ValueError unless they have as many axes as `shape`
    names.
    """
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if a.shape != b.shape or a.ndim != len(shape.split(", ")):
        raise ValueError(f"two arrays of shape ({shape}) are needed, got {a.shape} and {b.shape}")
    return a, b


def mean_of_known(x: Array) -> float:
    """The mean of the numbers that are there; NaN where none is."""
    known = x[np.isfinite(x)]
    return float(known.mean()) if len(known) else math.nan


def normal_quantile(level: float) -> float:
    """How many standard errors a normal interval of this level reaches to either side."""
    from scipy.special import ndtri

    return float(ndtri(0.5 + level / 2))
