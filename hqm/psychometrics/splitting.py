"""Parts of a test against each other: halves, and every item against the rest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.consistency import complete_scores, refusal_of, varies_of
from hqm.psychometrics.multiple import benjamini_hochberg
from hqm.psychometrics.result import Status


@dataclass(frozen=True, slots=True)
class SplitHalf:
    """Reliabilities of many splits of the items into halves.

    `low` and `high` hold 95% of the splits: they show how much the choice of the split matters and are no confidence
    interval. `undefined` counts splits where a half did not vary or r was -1.
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
    """Split-half reliability over all splits into halves, or over random ones where there are more than `draws`.

        each split: 2 r / (1 + r), r = correlation of the two halves' totals (Spearman and Brown)

    Parameters
    ----------
    scores
        (respondents, items or types); respondents with a missing score are left out.
    rng
        Draws the splits where there are too many to try all.

    Returns
    -------
    SplitHalf
        `insufficient` below 3 respondents or 2 items, `degenerate` where no split has a value. With an odd number of
        items one half is longer by one, and the formula is an approximation.

    Notes
    -----
    Spearman, C. (1910) and Brown, W. (1910). British Journal of Psychology, 3, 271-295 and 296-322.

    Examples
    --------
    >>> found = split_half([[3, 4, 3, 2], [1, 2, 2, 1], [4, 4, 5, 5], [2, 2, 3, 1]], np.random.default_rng(0))
    >>> found.splits, found.exhaustive, round(found.mean, 3)
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
    one = mask @ x.T
    other = x.sum(axis=1)[None, :] - one
    vx, vy = (one**2).sum(axis=1), (other**2).sum(axis=1)
    scale = 1e-12 * float((x**2).sum())
    ok = (vx > scale) & (vy > scale)
    r = (one * other).sum(axis=1)[ok] / np.sqrt(vx[ok] * vy[ok])
    r = r[r > -1 + 1e-12]
    if not len(r):
        reason = "in every split one half does not vary or the halves are opposed"
        return SplitHalf(nan, nan, nan, nan, nan, len(mask), len(mask), exhaustive, m, k, "degenerate", reason)
    values = 2 * r / (1 + r)
    low, high = np.quantile(values, [0.025, 0.975])
    ends = float(values.min()), float(values.max())
    return SplitHalf(
        float(values.mean()), float(low), float(high), *ends, len(mask), len(mask) - len(r), exhaustive, m, k
    )


@dataclass(frozen=True, slots=True)
class ItemRest:
    """Every item's correlation with the score of the other items, one entry an item.

    An entry is NaN where the item, or the rest, does not vary (`undefined` counts them). `p` tests against 0, two-sided;
    `q` is p after Benjamini and Hochberg, over the items that have one.
    """

    value: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    p: tuple[float, ...]
    q: tuple[float, ...]
    n: int
    k: int
    undefined: int = 0
    level: float = 0.95
    status: Status = "ok"
    reason: str = ""

    @property
    def negative(self) -> tuple[int, ...]:
        """Items that the better respondents fail more often, at a false discovery rate of 1 - level."""
        rate = 1 - self.level
        return tuple(i for i, (r, q) in enumerate(zip(self.value, self.q, strict=True)) if r < 0 and q <= rate)


def item_rest(scores: npt.ArrayLike, *, level: float = 0.95) -> ItemRest:
    """The correlation of each item with the total of all others: its power to tell respondents apart.

    The rest excludes the item itself, or the item would correlate with its own noise. With 20 respondents 6% of
    perfectly good items come out negative by chance; therefore the interval and the false discovery rate.

        r_i = cor(x_i, X - x_i),   interval: tanh(atanh(r) +- z / sqrt(M - 3))

    Parameters
    ----------
    scores
        (respondents, items); respondents with a missing score are left out.

    Returns
    -------
    ItemRest
        `insufficient` below 3 respondents or 2 items, `degenerate` where all totals agree and no item has a value; no
        interval below 4 respondents.

    Notes
    -----
    Henrysson, S. (1963). Psychometrika, 28, 211-218; Benjamini, Y. and Hochberg, Y. (1995). JRSS B, 57, 289-300.

    Examples
    --------
    >>> found = item_rest([[1, 1, 0], [1, 1, 1], [0, 0, 1], [0, 1, 0], [0, 0, 0], [1, 0, 0]])
    >>> [round(r, 3) for r in found.value]
    [0.243, 0.243, 0.0]
    """
    x = complete_scores(scores)
    m, k = x.shape
    if m < 3 or k < 2:
        return ItemRest(
            (), (), (), (), (), m, k, 0, level, *(refusal_of(x, "item-rest correlation") or ("insufficient", ""))
        )
    varies = varies_of(x)
    x = x - x.mean(axis=0)
    rest = x.sum(axis=1)[:, None] - x
    vx, vr = (x**2).sum(axis=0), (rest**2).sum(axis=0)
    ok = varies & (vr > 1e-12 * max(1.0, float(vx.max())))
    r = np.full(k, np.nan)
    r[ok] = np.clip((x * rest).sum(axis=0)[ok] / np.sqrt(vx[ok] * vr[ok]), -1, 1)
    if not ok.any():
        return ItemRest((), (), (), (), (), m, k, k, level, "degenerate", "no item varies beside a rest that varies")
    low, high = np.full(k, np.nan), np.full(k, np.nan)
    if m > 3:
        from scipy.special import ndtri

        z, half = np.arctanh(np.clip(r, -1 + 1e-16, 1 - 1e-16)), float(ndtri(0.5 + level / 2)) / math.sqrt(m - 3)
        low, high = np.tanh(z - half), np.tanh(z + half)
    from scipy.stats import t

    p = np.full(k, np.nan)
    left = np.maximum(1 - r[ok] ** 2, 1e-300)
    p[ok] = 2 * t.sf(np.abs(r[ok]) * np.sqrt((m - 2) / left), m - 2)
    value, lows, highs, ps, qs = (tuple(c.tolist()) for c in (r, low, high, p, benjamini_hochberg(p)))
    return ItemRest(value, lows, highs, ps, qs, m, k, int((~ok).sum()), level)
