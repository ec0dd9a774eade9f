"""Parts of a test against each other: halves, and every item against the rest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.consistency import complete_scores, refusal_of
from hqm.psychometrics.result import Status


@dataclass(frozen=True, slots=True)
class SplitHalf:
    """Reliabilities of many splits of the items into halves.

    `low` and `high` hold 95% of the splits: they show how much the choice of the split matters and
    are no confidence interval. `undefined` counts splits where a half did not vary or r was -1.
    """

    mean: float
    low: float
    high: float
    minimum: float
    maximum: float
    splits: int
    undefined: int
    exhaustive: bool
    n: int
    k: int
    status: Status = "ok"
    reason: str = ""


def split_half(scores: npt.ArrayLike, rng: np.random.Generator, *, draws: int = 1000) -> SplitHalf:
    """Split-half reliability over all splits into halves, or over random ones where there are more
    than `draws`.

        each split: 2 r / (1 + r), r = correlation of the two halves' totals (Spearman and Brown)

    Spearman, C. (1910) and Brown, W. (1910). British Journal of Psychology, 3, 271-295 and 296-322.

    - `scores`: (respondents, items or types); respondents with a missing score are left out.
    - `rng`: Draws the splits where there are too many to try all.

    The status is `insufficient` below 3 respondents or 2 items, `degenerate` where no split has a
    value. With an odd number of items one half is longer by one, and the formula is an
    approximation.

    >>> result = split_half([[3, 4, 3, 2], [1, 2, 2, 1], [4, 4, 5, 5], [2, 2, 3, 1]], np.random.default_rng(0))
    >>> result.splits, result.exhaustive, round(result.mean, 3)
    (3, True, 0.961)
    """
    x = complete_scores(scores)
    m, k = x.shape
    nan = math.nan
    refusal = refusal_of(x, "a split")
    if refusal:
        return SplitHalf(nan, nan, nan, nan, nan, 0, 0, False, m, k, *refusal)
    half = k // 2
    number = math.comb(k, half) // (2 if k % 2 == 0 else 1)
    exhaustive = number <= draws
    if exhaustive:
        chosen = list(combinations(range(k), half))[:number]
        mask = np.zeros((number, k))
        np.put_along_axis(mask, np.array(chosen), 1.0, axis=1)
    else:
        mask = (rng.permuted(np.tile(np.arange(k), (draws, 1)), axis=1) < half).astype(np.float64)
    x = x - x.mean(axis=0)
    first_half = mask @ x.T
    other = x.sum(axis=1)[None, :] - first_half
    vx, vy = (first_half**2).sum(axis=1), (other**2).sum(axis=1)
    scale = 1e-12 * float((x**2).sum())
    ok = (vx > scale) & (vy > scale)
    r = (first_half * other).sum(axis=1)[ok] / np.sqrt(vx[ok] * vy[ok])
    r = r[r > -1 + 1e-12]
    if not len(r):
        reason = "in every split one half does not vary or the halves are opposed"
        return SplitHalf(
            nan, nan, nan, nan, nan, len(mask), len(mask), exhaustive, m, k, "degenerate", reason
        )
    values = 2 * r / (1 + r)
    low, high = np.quantile(values, [0.025, 0.975])
    ends = float(values.min()), float(values.max())
    return SplitHalf(
        float(values.mean()),
        float(low),
        float(high),
        *ends,
        len(mask),
        len(mask) - len(r),
        exhaustive,
        m,
        k,
    )
