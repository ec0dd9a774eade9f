"""Many tests at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def false_discovery_q(p: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Benjamini and Hochberg's adjusted p-values.

    Calling everything with q below .05 a finding keeps the expected share of false findings below .05.

        q_(i) = min over j >= i of n p_(j) / j

    Parameters
    ----------
    p
        (tests,): p-values; a NaN (a test that could not be made) stays NaN and is not counted.

    Returns
    -------
    numpy.ndarray
        (tests,)

    Notes
    -----
    Benjamini, Y. and Hochberg, Y. (1995). Controlling the false discovery rate. Journal of the Royal Statistical
    Society B, 57, 289-300.

    Examples
    --------
    >>> false_discovery_q([0.01, 0.04, 0.03, 0.5]).round(4).tolist()
    [0.04, 0.0533, 0.0533, 0.5]
    """
    given = np.asarray(p, dtype=np.float64)
    if given.ndim != 1:
        raise ValueError(f"a vector of p-values is needed, got shape {given.shape}")
    q = np.full(given.shape, np.nan)
    known = np.flatnonzero(np.isfinite(given))
    order = known[np.argsort(given[known])]
    n = len(order)
    scaled = given[order] * n / np.arange(1, n + 1)
    q[order] = np.minimum(1.0, np.minimum.accumulate(scaled[::-1])[::-1])
    return q
