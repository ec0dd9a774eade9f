"""The correlation that coin flips would reach."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.correlation import is_constant
from hqm.psychometrics.result import Coefficient


def noise_floor(
    rates: npt.ArrayLike, n_items: int, *, strata: npt.ArrayLike | None = None
) -> Coefficient:
    """The test-retest correlation that independent coin flips at each respondent's own rate would
    give.

    With thousands of items even answers drawn by lot repeat their scores almost perfectly
    (docs/theory/2). A coefficient near this floor shows that the scores repeat, not that the
    answers do. With few items it is a little too high.

        r0 = s2 / (s2 + mean(p (1 - p)) / n),   s2 = variance of the rates

    - `rates, n_items`: (respondents,): shares of items answered one way, and the number of items.
    - `strata`: (respondents, types): the rates by type, of equally many items each; the floor is
      then higher.

    There is no interval. The status is `insufficient` below 3 respondents or 2 items, `degenerate`
    for equal rates.
    >>> round(noise_floor([0.40, 0.45, 0.50, 0.55, 0.60, 0.65, 0.70, 0.75, 0.80, 0.85], 4000).value, 4)
    0.9977
    """
    p = np.asarray(rates, dtype=np.float64)
    by = p[:, None] if strata is None else np.asarray(strata, dtype=np.float64)
    if by.ndim != 2 or len(by) != len(p):
        raise ValueError(f"strata must have shape ({len(p)}, types), got {by.shape}")
    known = np.isfinite(p) & np.isfinite(by).all(axis=1)
    p, by = p[known], by[known]
    if len(p) < 3 or n_items < 2:
        reason = f"a noise floor needs 3 respondents and 2 items, there are {len(p)} and {n_items}"
        return Coefficient.absent("insufficient", reason, len(p))
    lottery = float((by * (1 - by)).mean()) / n_items
    spread = float(p.var(ddof=1))
    if is_constant(p):
        return Coefficient.absent("degenerate", "all respondents have the same rate", len(p))
    return Coefficient(spread / (spread + lottery), math.nan, math.nan, len(p), method="binomial")
