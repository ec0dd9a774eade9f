"""Internal consistency: do the items of one test rank the respondents alike?"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import Array, Flags, shaped
from hqm.psychometrics.correlation import is_constant
from hqm.psychometrics.resampling import one_by_one, respondent_bootstrap
from hqm.psychometrics.result import Coefficient, Status


def complete_scores(scores: npt.ArrayLike, drop: Literal["respondents", "items"] = "respondents") -> Array:
    """The scores without the respondents, or without the items, that lack one."""
    x = shaped(scores, "respondents, items")
    known = np.isfinite(x)
    return x[known.all(axis=1)] if drop == "respondents" else x[:, known.all(axis=0)]


def refusal_of(x: Array, what: str, *, items: int = 2) -> tuple[Status, str] | None:
    """Why no coefficient of consistency can be had from these scores."""
    m, k = x.shape
    if m < 3 or k < items:
        return "insufficient", f"{what} needs 3 respondents and {items} items, there are {m} and {k}"
    if is_constant(x.sum(axis=1)):
        return "degenerate", "all respondents have the same total"
    return None


def varies_of(x: Array) -> Flags:
    """Which columns vary beyond rounding."""
    return np.asarray(np.ptp(x, axis=0) > 1e-12 * np.maximum(1.0, np.abs(x).max(axis=0, initial=0.0)))


def flags_of(x: Array, value: float) -> tuple[str, ...]:
    """What a reader must know beside a coefficient of these scores."""
    m, k = x.shape
    flags = ["RANK_DEFICIENT"] if k >= m else []
    flags += ["ZERO_VARIANCE_ITEMS"] if not varies_of(x).all() else []
    return tuple(flags + (["REDUNDANT"] if value > 0.95 else []))


def _alpha(x: Array) -> float:
    k = x.shape[1]
    total = float(x.sum(axis=1).var(ddof=1))
    return k / (k - 1) * (1 - float(x.var(axis=0, ddof=1).sum()) / total) if total > 0 else math.nan


@dataclass(frozen=True, slots=True)
class Alpha:
    """Cronbach's alpha with Feldt's interval, and what it would be without the items that nobody or everybody passes.

    `coefficient` carries the interval and the flags: `REDUNDANT` (above .95), `RANK_DEFICIENT` (as many items as
    respondents or more: the covariances cannot be modelled), `ZERO_VARIANCE_ITEMS`. `varying` is computed on the
    `k_varying` items that vary.
    """

    coefficient: Coefficient
    varying: Coefficient
    n: int
    k: int
    k_varying: int


def cronbach_alpha(
    scores: npt.ArrayLike, *, level: float = 0.95, drop: Literal["respondents", "items"] = "respondents"
) -> Alpha:
    """Cronbach's alpha; for items scored 0 or 1 it is Kuder and Richardson's formula 20.

    It estimates how well the total would agree with the total of another sample of as many such items. It is a lower
    bound of reliability when the items' errors are unrelated. It does not show that the items measure one thing, and it
    grows with their number: thousands of items reach .95 with little in common.

        alpha = k / (k - 1) (1 - sum s2_i / s2_total)
        interval (Feldt 1965): 1 - (1 - alpha) F(.975 and .025; M - 1, (M - 1)(k - 1))

    Cronbach, L. J. (1951). Psychometrika, 16, 297-334. The interval generalises over respondents.

    - `scores`: (respondents, items).
    - `drop`: What to leave out where a score is missing: the respondent, or the item.

    The status is `insufficient` below 3 respondents or 2 items and `degenerate` where all totals agree. There is no
    interval below 4 respondents.

    >>> round(cronbach_alpha([[3, 4, 3], [1, 2, 2], [4, 4, 5], [2, 2, 3], [5, 3, 4]]).coefficient.value, 4)
    0.8628
    """
    x = complete_scores(scores, drop)
    m, k = x.shape
    varies = varies_of(x) if m else np.zeros(k, dtype=bool)
    refusal = refusal_of(x, "alpha")
    if refusal:
        none = Coefficient.absent(*refusal, m)
        return Alpha(none, none, m, k, int(varies.sum()))
    value = _alpha(x)
    low, high = _alpha_interval(value, m, k, level)
    kept = x[:, varies]
    if kept.shape[1] < 2:
        without = Coefficient.absent("insufficient", f"only {kept.shape[1]} item varies", m)
    else:
        less = _alpha(kept)
        without = Coefficient(less, *_alpha_interval(less, m, kept.shape[1], level), m, level, "Feldt")
    return Alpha(
        Coefficient(value, low, high, m, level, "Feldt", flags=flags_of(x, value)), without, m, k, kept.shape[1]
    )


def _alpha_interval(value: float, m: int, k: int, level: float) -> tuple[float, float]:
    if m < 4:
        return math.nan, math.nan
    if value >= 1 - 1e-14:
        return 1.0, 1.0
    from scipy.stats import f

    tail = (1 - level) / 2
    upper, lower = (float(f.ppf(p, m - 1, (m - 1) * (k - 1))) for p in (1 - tail, tail))
    return 1 - (1 - value) * upper, 1 - (1 - value) * lower


def kr21(scores: npt.ArrayLike) -> Coefficient:
    """Kuder and Richardson's formula 21: reliability from the mean and the variance of the totals alone.

    It takes all items as equally hard and falls below alpha where they are not (Kuder and Richardson 1937).

        KR-21 = k / (k - 1) (1 - mean (k - mean) / (k s2))

    - `scores`: (respondents, items) of 0 or 1; respondents with a missing score are left out.

    There is no interval. The status is `not_applicable` where a score is not 0 or 1, and otherwise that of alpha.
    >>> round(kr21([[1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]).value, 4)
    0.5833
    """
    x = complete_scores(scores)
    m, k = x.shape
    refusal = refusal_of(x, "KR-21")
    if refusal:
        return Coefficient.absent(*refusal, m)
    if not np.isin(x, (0, 1)).all():
        return Coefficient.absent("not_applicable", "the item scores are not 0 or 1", m)
    total = x.sum(axis=1)
    mean, spread = float(total.mean()), float(total.var(ddof=1))
    value = k / (k - 1) * (1 - mean * (k - mean) / (k * spread))
    return Coefficient(value, n=m, method="KR-21", flags=flags_of(x, value))


def lambda2(
    scores: npt.ArrayLike, rng: np.random.Generator | None = None, *, families: Sequence[str] | None = None
) -> Coefficient:
    """Guttman's lambda 2 (1945), a lower bound of reliability that is never below alpha.

        lambda2 = 1 - sum s2_i / s2_total + sqrt(k / (k - 1) sum_{i != j} s_ij^2) / s2_total

    With few respondents and many items, chance covariances are squared and push it up (flag `RANK_DEFICIENT`).

    - `scores`: (respondents, items); respondents with a missing score are left out.
    - `rng, families`: With a generator, an interval by resampling respondents, or families of them (from 10 on).

    The status is `insufficient` below 3 respondents or 2 items and `degenerate` where all totals agree.

    >>> round(lambda2([[3, 4, 3], [1, 2, 2], [4, 4, 5], [2, 2, 3], [5, 3, 4]]).value, 4)
    0.8745
    """

    def value(x: Array) -> float:
        # the sum of all squared covariances is that of the respondents' inner products, a far smaller table
        n, k = x.shape
        centred = x - x.mean(axis=0)
        variances = (centred**2).sum(axis=0) / (n - 1)
        squares = float((((centred @ centred.T) / (n - 1)) ** 2).sum() - (variances**2).sum())
        total = float((centred.sum(axis=1) ** 2).sum() / (n - 1))
        off, root = total - float(variances.sum()), math.sqrt(k / (k - 1) * max(squares, 0.0))
        return (off + root) / total if total > 0 else math.nan

    return with_bootstrap(complete_scores(scores), value, "lambda 2", rng, families)


def too_wide(x: Array) -> str:
    """Why covariances of more items than respondents cannot be modelled."""
    return f"{x.shape[1]} items but only {x.shape[0]} respondents: use types or parcels of items instead"


def with_bootstrap(
    x: Array,
    statistic: Callable[[Array], float],
    what: str,
    rng: np.random.Generator | None,
    families: Sequence[str] | None,
    *,
    items: int = 2,
    flags: tuple[str, ...] = (),
) -> Coefficient:
    """A coefficient of complete scores, with the bootstrap interval over respondents where a generator is given."""
    m = x.shape[0]
    refusal = refusal_of(x, what, items=items)
    if refusal:
        return Coefficient.absent(*refusal, m)
    if families is not None and len(families) != m:
        raise ValueError(f"one family label a complete respondent is needed, got {len(families)} for {m}")
    value = statistic(x)
    if not math.isfinite(value):
        return Coefficient.absent("degenerate", f"{what} divides by zero: items depend linearly or totals agree", m)
    bounds, se = None, math.nan
    if rng is not None:
        bounds, se = respondent_bootstrap(one_by_one(lambda i: statistic(x[i])), m, rng, families=families)
    low, high = (bounds.low, bounds.high) if bounds else (math.nan, math.nan)
    method = bounds.method if bounds else what
    return Coefficient(value, low, high, m, method=method, se=se, flags=flags + flags_of(x, value))


def stratified_alpha(
    scores: npt.ArrayLike,
    strata: Sequence[str],
    rng: np.random.Generator | None = None,
    *,
    families: Sequence[str] | None = None,
) -> Coefficient:
    """The reliability of a total over several kinds of items, each kind with its own alpha.

    Alpha over mixed kinds counts real differences between the kinds as error. This adds up the error of each kind only.

        1 - sum_t s2_t (1 - alpha_t) / s2_total,   s2_t = variance of the total over stratum t

    Cronbach, L. J., Schoenemann, P. and McKie, D. (1965). Educational and Psychological Measurement, 25, 291-312.

    - `scores`: (respondents, items); respondents with a missing score are left out.
    - `strata`: (items,): the kind of each item.
    - `rng, families`: As in `lambda2`.

    The status is `insufficient` where a stratum has one item only: its error cannot be known.

    >>> scores = [[1, 1, 0, 0], [1, 1, 1, 1], [0, 0, 1, 1], [1, 0, 0, 0], [0, 0, 0, 1]]
    >>> round(stratified_alpha(scores, ["a", "a", "b", "b"]).value, 4)
    0.7333
    """
    x, labels = complete_scores(scores), np.asarray(strata)
    if labels.shape != (x.shape[1],):
        raise ValueError(f"one stratum an item is needed, got {labels.shape} for {x.shape[1]} items")
    names, sizes = np.unique(labels, return_counts=True)
    if len(names) and sizes.min() < 2:
        alone = ", ".join(str(name) for name in names[sizes < 2])
        return Coefficient.absent("insufficient", f"strata with a single item: {alone}", x.shape[0])

    def value(x: Array) -> float:
        total = float(x.sum(axis=1).var(ddof=1))
        error = 0.0
        for name, k in zip(names, sizes, strict=True):
            part = x[:, labels == name]
            spread, items = float(part.sum(axis=1).var(ddof=1)), float(part.var(axis=0, ddof=1).sum())
            # s2_t (1 - alpha_t), which exists also where the stratum's total does not vary
            error += spread - float(k) / (float(k) - 1) * (spread - items)
        return 1 - error / total if total > 0 else math.nan

    return with_bootstrap(x, value, "stratified alpha", rng, families)
