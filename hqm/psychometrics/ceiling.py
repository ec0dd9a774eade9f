"""How much room a benchmark has left, and how many levels of ability it resolves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import shaped, shaped_alike
from hqm.psychometrics.correlation import is_constant
from hqm.psychometrics.result import Status


@dataclass(frozen=True, slots=True)
class Saturation:
    """Shares of respondents and items at the ends of the scale.

    `headroom` is the distance of the best score to the maximum. `at_ceiling` and `at_floor` are
    shares of respondents within two standard errors of an end. `solved_by_all` and `solved_by_none`
    are shares of items that nobody missed, or nobody got; `easy` and `hard` are items with a mean
    at or above 95%, at or below 5% of the scale.
    """

    headroom: float
    at_ceiling: float
    at_floor: float
    solved_by_all: float
    solved_by_none: float
    easy: float
    hard: float
    n: int
    n_items: int
    flags: tuple[str, ...] = ()
    status: Status = "ok"
    reason: str = ""


def saturation(
    scores: npt.ArrayLike,
    *,
    bounds: tuple[float, float] = (0.0, 1.0),
    higher_is_better: bool = True,
) -> Saturation:
    """Whether the scores press against an end of the scale, so that better respondents could not
    show it.

    Flags: `CEILING` (`FLOOR`) where more than 15% of the respondents are within two standard errors
    of the best (worst) end, or more than half of the items are easy (hard).

    Terwee, C. B. et al. (2007). Journal of Clinical Epidemiology, 60, 34-42 (15% at an end).

    - `scores`: (respondents, items) within `bounds`; missing ones are left out of each mean.
    - `higher_is_better`: Otherwise the low end of the scale is the ceiling.

    The status is `insufficient` without 2 respondents and 2 items that have a score;
    `not_applicable` outside the bounds.

    >>> result = saturation([[1, 1, 1, 1], [1, 1, 1, 0], [1, 0, 1, 0], [1, 0, 0, 0]])
    >>> result.headroom, result.solved_by_all, result.at_ceiling, result.flags
    (0.0, 0.25, 0.75, ('CEILING', 'FLOOR'))
    """
    x = shaped(scores, "respondents, items")
    known = np.isfinite(x)
    x, known = x[known.any(axis=1)], known[known.any(axis=1)]
    x, known = x[:, known.any(axis=0)], known[:, known.any(axis=0)]
    m, n = x.shape
    nan = math.nan
    low, high = bounds
    if m < 2 or n < 2:
        reason = f"saturation needs 2 respondents and 2 items, there are {m} and {n}"
        return Saturation(nan, nan, nan, nan, nan, nan, nan, m, n, (), "insufficient", reason)
    if x[known].min() < low or x[known].max() > high:
        reason = f"scores lie outside {low} to {high}"
        return Saturation(nan, nan, nan, nan, nan, nan, nan, m, n, (), "not_applicable", reason)
    x = (x - low) / (high - low)
    x = x if higher_is_better else 1 - x
    filled = np.where(known, x, 0.0)
    count = known.sum(axis=1)
    mean = filled.sum(axis=1) / count
    spread = np.where(known, (x - mean[:, None]) ** 2, 0.0).sum(axis=1) / np.maximum(count - 1, 1)
    reach = 2 * np.sqrt(spread / count) + 1e-12
    item = filled.sum(axis=0) / known.sum(axis=0)
    ceiling, floor = float((1 - mean <= reach).mean()), float((mean <= reach).mean())
    easy, hard = float((item >= 0.95 - 1e-12).mean()), float((item <= 0.05 + 1e-12).mean())
    flags: tuple[str, ...] = ("CEILING",) if ceiling > 0.15 or easy > 0.5 else ()
    flags += ("FLOOR",) if floor > 0.15 or hard > 0.5 else ()
    every, none = float((item >= 1 - 1e-12).mean()), float((item <= 1e-12).mean())
    return Saturation(
        (1 - float(mean.max())) * (high - low), ceiling, floor, every, none, easy, hard, m, n, flags
    )


@dataclass(frozen=True, slots=True)
class ChanceCorrected:
    """Scores on a scale where 0 is the best blind strategy and 1 is perfect.

    `blind` is that strategy's score and `strategy` its name; `not_above` are the respondents that
    do not beat it.
    """

    values: tuple[float, ...]
    blind: float
    strategy: str
    not_above: tuple[int, ...] = ()
    flags: tuple[str, ...] = ()
    status: Status = "ok"
    reason: str = ""


def chance_corrected(
    scores: npt.ArrayLike, blind: Mapping[str, float], *, maximum: float = 1.0
) -> ChanceCorrected:
    """How much of the distance from blind answering to a perfect score the respondents cover.

        (S - S_blind) / (maximum - S_blind),   S_blind = the best of the blind strategies

    - `scores`: (respondents,), higher is better.
    - `blind`: Strategy -> score, such as a constant answer or a model that sees no picture.

    A respondent below the strategy gets a negative value and the flag `CHANCE`. The status is
    `insufficient` without a strategy and `degenerate` where a blind strategy is perfect.

    >>> [round(v, 3) for v in chance_corrected([0.9, 0.5], {"always yes": 0.5, "majority of type": 0.6}).values]
    [0.75, -0.25]
    """
    s = shaped(scores, "respondents")
    known = {name: value for name, value in blind.items() if math.isfinite(value)}
    if not known:
        return ChanceCorrected(
            (), math.nan, "", status="insufficient", reason="no blind strategy has a score"
        )
    strategy = max(known, key=known.__getitem__)
    best = known[strategy]
    if maximum - best <= 1e-12:
        reason = f"{strategy} reaches the maximum without looking"
        return ChanceCorrected((), best, strategy, status="degenerate", reason=reason)
    below = tuple(int(i) for i in np.flatnonzero(s <= best + 1e-12))
    values = (s - best) / (maximum - best)
    return ChanceCorrected(
        tuple(values.tolist()), best, strategy, below, ("CHANCE",) if below else ()
    )


@dataclass(frozen=True, slots=True)
class Separation:
    """How far the spread of the respondents exceeds the error of a score.

    `ratio` is the true standard deviation over the standard error (G of Wright and Masters),
    `strata` the number of levels it resolves.
    """

    ratio: float
    strata: float
    n: int
    flags: tuple[str, ...] = ()
    status: Status = "ok"
    reason: str = ""


def separation(scores: npt.ArrayLike, errors: npt.ArrayLike) -> Separation:
    """The number of levels of ability that a benchmark's scores distinguish.

        G = sqrt(s2_S - mean SE^2) / sqrt(mean SE^2),   strata H = (4 G + 1) / 3

    Levels lie three standard errors apart, over four standard deviations of the true scores (Wright
    and Masters 1982).

    - `scores, errors`: (respondents,): scores and their standard errors over other runs or other
      items.

    G is 0 with the flag `NEGATIVE_COMPONENT` where the scores vary less than their errors. The
    status is `insufficient` below 3 respondents, `degenerate` for equal scores, and
    `not_informative` where there is no error.

    >>> round(separation([0.2, 0.4, 0.6, 0.8], [0.05] * 4).strata, 3)
    7.088
    """
    s, e = shaped_alike(scores, errors, "respondents")
    known = np.isfinite(s) & np.isfinite(e)
    s, e = s[known], e[known]
    n, nan = len(s), math.nan
    if n < 3:
        return Separation(
            nan, nan, n, (), "insufficient", f"separation needs 3 respondents, there are {n}"
        )
    if is_constant(s):
        return Separation(nan, nan, n, (), "degenerate", "all respondents have the same score")
    noise = float((e**2).mean())
    if noise == 0:
        return Separation(nan, nan, n, (), "not_informative", "the scores have no error")
    true = float(s.var(ddof=1)) - noise
    ratio = math.sqrt(max(0.0, true) / noise)
    flags = ("NEGATIVE_COMPONENT",) if true < 0 else ()
    return Separation(ratio, (4 * ratio + 1) / 3, n, flags)
