"""Standardised alpha: Cronbach's alpha of items that are all brought to the same variance."""

from __future__ import annotations

import numpy.typing as npt

from hqm.psychometrics.consistency import complete_scores, cronbach_alpha, varies_of
from hqm.psychometrics.result import Coefficient


def standardized_alpha(scores: npt.ArrayLike) -> Coefficient:
    """Alpha from the mean correlation of the items: of the sum of standardised items, not of a
    score that is a mean.

        alpha_s = k r / (1 + (k - 1) r),   r = mean correlation of two items

    - `scores`: (respondents, items); respondents with a missing score, and items that do not vary,
      are left out.

    There is no interval. The status is `insufficient` where fewer than two items vary, else that of
    alpha.
    >>> round(standardized_alpha([[3, 4, 3], [1, 2, 2], [4, 4, 5], [2, 2, 3], [5, 3, 4]]).value, 4)
    0.8788
    """
    x = complete_scores(scores)
    x = x[:, varies_of(x)] if len(x) else x
    if len(x) < 3 or x.shape[1] < 2:
        reason = (
            f"alpha needs 3 respondents and 2 items that vary, there are {len(x)} and {x.shape[1]}"
        )
        return Coefficient.absent("insufficient", reason, len(x))
    alpha = cronbach_alpha((x - x.mean(axis=0)) / x.std(axis=0, ddof=1)).coefficient
    if alpha.status != "ok":
        return Coefficient.absent(alpha.status, alpha.reason, len(x))
    return Coefficient(alpha.value, n=len(x), method="standardised alpha", flags=alpha.flags)
