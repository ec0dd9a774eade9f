"""The types of the arrays that go through the package."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
"""Numbers; a missing one is NaN."""

Flags = npt.NDArray[np.bool_]
"""One yes or no for each entry."""

Numbers = npt.NDArray[np.int64]
"""Whole numbers: counts, places, codes."""
