"""The correlation that coin flips would reach."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.correlation import is_constant
from hqm.psychometrics.result import Coefficient


def noise_floor(rates: npt.ArrayLike, n_items: int, *, strata: npt.ArrayLike | None = None) -> Coefficient:
    """The test-retest correlation that independent coin flips at each respondent's own rate would give.

    With thousands of items even a benchmark whose every answer is drawn by lot repeats its scores almost perfectly,
    because the respondents' rates differ by more than the lottery's noise. A test-retest coefficient near this floor
    shows that the scores repeat, not that the answers do.

        r0 = s2 / (s2 + mean(p (1 - p)) / n),   s2 = variance of the rates

    The rates are taken as the respondents' true rates; with few items their own sampling variance makes the floor a
    little too high.

    - `rates`: (respondents,): share of items answered one way (right, or hallucinated), between 0 and 1.
    - `n_items`: How many binary items each rate is a mean of.
    - `strata`: (respondents, types): the rates by type, of equally many items each, where the benchmark fixes them.
      Coins of different rates vary less than coins of their mean rate, and the floor is higher.

    Returns
    -------
    Coefficient
        Without an interval. `insufficient` for fewer than 3 respondents or 2 items, `degenerate` when the rates do not
        differ.

    Examples
    --------
    Ten respondents between .40 and .85 on 4,000 items; by hand 0.0229167 / (0.0229167 + 0.21375 / 4000):

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
