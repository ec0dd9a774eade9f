"""Differences that a benchmark can detect, saturation, and errors over the range of scores."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, nctdtrinc, ndtri, stdtrit

from hqm.psychometrics.inference.resampling import (
    cluster_labels,
    cluster_sums,
    mean_with_error,
)
from hqm.psychometrics.items.type_strengths import out_of_range_reason, rasch_residuals
from hqm.psychometrics.result import (
    Array,
    ArrayLike,
    Outcome,
    float_array,
    normal_quantile,
)


def minimum_detectable_difference(
    se: float,
    *,
    power: float = 0.8,
    level: float = 0.95,
    tests: float = 1.0,
    clusters: int | None = None,
) -> float:
    """Compute the smallest true difference of a pair that a comparison finds with a given power.

    Parameters
    ----------
    se : float
        The standard error of the difference between two respondents' scores on the same items.
    power : float, default 0.8
        Probability of finding it.
    level : float, default 0.95
        Confidence level of the intervals.
    tests : float, default 1.0
        How many tests share the level. 1 for one planned comparison; for any pair after Holm see
        `holm_tests`.
    clusters : int, optional
        How many clusters of items the error was estimated from; None where it is known.

    Returns
    -------
    float
        The difference, in units of `se`.

    Notes
    -----
        (z_{1 - alpha / 2 tests} + z_power) SE;
        with `clusters`, of Student's t on C - 1 df and its noncentral form

    What is found in 80% of planned comparisons is found in a fifth as one of the 190 pairs of 20
    respondents (Holm).

    Examples
    --------
    >>> round(minimum_detectable_difference(0.01),
    ...     4), round(minimum_detectable_difference(0.01, tests=190), 4)
    (0.028, 0.0449)
    """
    # Bonferroni's level for `tests` tests
    strict = 1 - (1 - level) / tests
    if clusters is None:
        return (normal_quantile(strict) + float(ndtri(power))) * se
    df = clusters - 1
    # the noncentrality at which t falls short of the critical value with probability 1 - power
    return float(nctdtrinc(df, 1 - power, float(stdtrit(df, 0.5 + strict / 2)))) * se


def holm_tests(pairs: int, n_distinct: int) -> float:
    """Compute how many tests share the level for a pair that is just found after Holm's correction.

    Holm [1]_ divides the level by the pairs still undecided: by all among equal respondents; where
    a share of the pairs is set `n_distinct`, that share of the others is decided before.

    Parameters
    ----------
    pairs : int
        Number of pairs.
    n_distinct : int
        How many of them differ.

    Returns
    -------
    float
        1 + (P - 1)(1 - D / P), with P pairs of which D differ.

    References
    ----------
    .. [1] Holm, S. (1979). A simple sequentially rejective multiple test procedure.
       Scandinavian Journal of Statistics, 6, 65-70.

    Examples
    --------
    >>> holm_tests(45, 0), holm_tests(45, 45)
    (45.0, 1.0)
    """
    if pairs:
        # the pair at hand, and that share of the others which is still undecided
        return 1 + (pairs - 1) * (1 - n_distinct / pairs)
    return 1.0


@dataclass(frozen=True, slots=True)
class Saturation(Outcome):
    """Shares of respondents and items at the ends of the scale.

    `headroom` is the distance of the best score to the maximum. `at_ceiling` and `at_floor` are
    shares of respondents within two standard errors of an end. `solved_by_all` and `solved_by_none`
    are shares of items that nobody missed, or nobody got; `easy` and `hard` are items with a mean
    at or above 95%, at or below 5% of the scale.
    """

    headroom: float = math.nan
    at_ceiling: float = math.nan
    at_floor: float = math.nan
    solved_by_all: float = math.nan
    solved_by_none: float = math.nan
    easy: float = math.nan
    hard: float = math.nan
    flags: tuple[str, ...] = ()


def saturation(
    scores: ArrayLike,
    *,
    higher_is_better: bool = True,
) -> Saturation:
    """Determine whether the scores press against an end of the scale.

    Flags: `CEILING` (`FLOOR`) where more than 15% of the respondents are within two standard errors
    of the best (worst) end, or more than half of the items are easy (hard).

    Parameters
    ----------
    scores : array_like, shape (respondents, items)
        Item scores from 0 to 1; missing ones are left out of each mean.
    higher_is_better : bool, default True
        Otherwise the low end of the scale is the ceiling.

    Returns
    -------
    Saturation
        The status is `insufficient` without 2 respondents and 2 items that have a score;
        `not_applicable` for other scores.

    Raises
    ------
    ValueError
        An array has another shape.

    References
    ----------
    .. [1] Terwee, C. B. et al. (2007). Journal of Clinical Epidemiology, 60, 34-42 (15% at an
       end).

    Examples
    --------
    >>> result = saturation([[1, 1, 1, 1], [1, 1, 1, 0], [1, 0, 1, 0], [1, 0, 0, 0]])
    >>> result.headroom, result.solved_by_all, result.at_ceiling, result.flags
    (0.0, 0.25, 0.75, ('CEILING', 'FLOOR'))
    """
    x = float_array(scores, "respondents, items")
    scored = np.isfinite(x)
    x = x[scored.any(axis=1)]
    scored = scored[scored.any(axis=1)]
    x = x[:, scored.any(axis=0)]
    scored = scored[:, scored.any(axis=0)]
    m, n = x.shape
    if m < 2 or n < 2:
        return Saturation.absent(
            "insufficient", f"saturation needs 2 respondents and 2 items, there are {m} and {n}"
        )
    if reason := out_of_range_reason(x):
        return Saturation.absent("not_applicable", reason)
    # turned, so that the ceiling is at 1 in both
    x = x if higher_is_better else 1 - x
    filled = np.where(scored, x, 0.0)
    count = scored.sum(axis=1)
    mean = filled.sum(axis=1) / count
    # n - 1, and 1 where a respondent has a single item, whose error is then 0
    variance = np.where(scored, (x - mean[:, None]) ** 2, 0.0).sum(axis=1) / np.maximum(
        count - 1, 1
    )
    margin = 2 * np.sqrt(variance / count) + 1e-12
    item = filled.sum(axis=0) / scored.sum(axis=0)
    ceiling = float((1 - mean <= margin).mean())
    floor = float((mean <= margin).mean())
    # item means are sums of few numbers: rounding is allowed for
    easy = float((item >= 0.95 - 1e-12).mean())
    hard = float((item <= 0.05 + 1e-12).mean())
    flags: tuple[str, ...] = ("CEILING",) if ceiling > 0.15 or easy > 0.5 else ()
    flags += ("FLOOR",) if floor > 0.15 or hard > 0.5 else ()
    solved_by_all = float((item >= 1 - 1e-12).mean())
    solved_by_none = float((item <= 1e-12).mean())
    return Saturation(
        1 - float(mean.max()), ceiling, floor, solved_by_all, solved_by_none, easy, hard, flags
    )


@dataclass(frozen=True, slots=True)
class ChanceCorrected(Outcome):
    """Scores on a scale where 0 is the best blind strategy and 1 is perfect.

    `blind` is that strategy's score and `strategy` its name; `not_above` are the respondents that
    do not beat it.
    """

    values: tuple[float, ...]
    blind: float
    strategy: str
    not_above: tuple[int, ...] = ()
    flags: tuple[str, ...] = ()


def chance_corrected(scores: ArrayLike, blind: Mapping[str, float]) -> ChanceCorrected:
    """Compute how much of the distance from blind answering to a perfect score is covered.

    Parameters
    ----------
    scores : array_like, shape (respondents,)
        Scores, higher is better.
    blind : mapping of str to float
        Strategy -> score, such as a constant answer or a model that sees no picture.

    Returns
    -------
    ChanceCorrected
        A respondent below the strategy gets a negative value and the flag `CHANCE`. The status is
        `insufficient` without a strategy and `degenerate` where a blind strategy is perfect.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        (S - S_blind) / (1 - S_blind),   S_blind = the best of the blind strategies

    Examples
    --------
    >>> [round(v, 3) for v in chance_corrected([0.9, 0.5],
    ...     {"always yes": 0.5, "majority of type": 0.6}).values]
    [0.75, -0.25]
    """
    s = float_array(scores, "respondents")
    finite_scores = {name: value for name, value in blind.items() if math.isfinite(value)}
    if not finite_scores:
        return ChanceCorrected(
            (), math.nan, "", status="insufficient", reason="no blind strategy has a score"
        )
    # the best of several blind strategies, so that a respondent beats all of them
    strategy = max(finite_scores, key=finite_scores.__getitem__)
    # at 1 nothing is left between blind answering and the maximum
    best_score = finite_scores[strategy]
    if 1 - best_score <= 1e-12:
        return ChanceCorrected(
            (),
            best_score,
            strategy,
            status="degenerate",
            reason=f"{strategy} reaches the maximum without looking",
        )
    not_above = tuple(int(i) for i in np.flatnonzero(s <= best_score + 1e-12))
    values = (s - best_score) / (1 - best_score)
    return ChanceCorrected(
        tuple(values.tolist()), best_score, strategy, not_above, ("CHANCE",) if not_above else ()
    )


# --- standard errors over the range of scores ---

_DETECTABLE_ERRORS = float(ndtri(0.975) + ndtri(0.8))
"""Standard errors of a difference that a test at .05 finds with 80 % power."""


def lord_error(score: ArrayLike, items: int) -> Array:
    """The standard error of a share of right answers over other items of the same kind.

        SE = sqrt(s (1 - s) / (n - 1))

    Lord, F. M. (1955). Estimating test reliability. Educational and Psychological Measurement, 15,
    325-336. A score of 25 of 50 has an error of 3.57 items:

    >>> round(float(50 * lord_error(0.5, 50)), 2)
    3.57
    """
    share = np.asarray(score, dtype=np.float64)
    return np.asarray(np.sqrt(share * (1 - share) / (items - 1)))


@dataclass(frozen=True, slots=True)
class ConditionalErrors(Outcome):
    """Errors over the range of scores, and the ranges in which differences cannot be shown.

    Attributes
    ----------
    score, other_items, these_items
        Scores with their error over other items (Lord's, widened where items share a
        picture), and over these items (the Rasch model's), which is the one that a difference
        of two equally able respondents has.
    top
        The lowest score that a full score is not distinguished from with 80 % power, in one
        comparison at .05.
    bottom
        The highest score that a score of 0 is not distinguished from.
    in_top, in_bottom
        The respondents there.
    """

    score: tuple[float, ...] = ()
    other_items: tuple[float, ...] = ()
    these_items: tuple[float, ...] = ()
    top: float = math.nan
    bottom: float = math.nan
    in_top: tuple[int, ...] = ()
    in_bottom: tuple[int, ...] = ()
    n_items: int = 0


def conditional_errors(
    scores: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    points: ArrayLike = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98),
) -> ConditionalErrors:
    """Compute the standard error of a score at every score, and the ranges of unseen differences.

    Parameters
    ----------
    scores : array_like, shape (respondents, items)
        Item scores from 0 to 1, higher is better.
    clusters : array_like, shape (items,), optional
        The picture of each item; every item its own unless given.
    points : array_like, default (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)
        Scores at which the errors are computed.

    Returns
    -------
    ConditionalErrors
        The status is `insufficient` below 3 respondents or 10 items, and `degenerate` where all
        scores lie at an end.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        these items: sqrt(sum P (1 - P)) / n,    P = 1 / (1 + exp(b - theta)) where mean P = score

    One standard error for all hides that errors shrink towards the ends, and that differences
    shrink faster. Difficulties are those of `rasch_residuals`.

    References
    ----------
    .. [1] Lord, F. M. (1984). Standard errors of measurement at different ability levels.
       Journal of Educational Measurement, 21, 239-243.

    Examples
    --------
    >>> scores = np.tril(np.ones((8, 20)), 4)
    >>> study = conditional_errors(scores)
    >>> round(study.top, 2), study.in_top
    (0.77, ())
    """
    x = float_array(scores, "respondents, items")
    scored = np.isfinite(x)
    x = x[:, scored.any(axis=0)]
    scored = scored[:, scored.any(axis=0)]
    m, n = x.shape
    if m < 3 or n < 10:
        return ConditionalErrors.absent(
            "insufficient",
            f"errors by score need 3 respondents and 10 items, there are {m} and {n}",
        )
    if reason := out_of_range_reason(x):
        return ConditionalErrors.absent("not_applicable", reason)
    labels = cluster_labels(clusters, len(np.asarray(scores).T))[np.isfinite(scores).any(axis=0)]
    filled = np.where(scored, x, 0.0)
    sums, sizes = cluster_sums(filled[None], scored, labels)
    mean, error = mean_with_error(sums[0], sizes)
    independent_error = lord_error(np.clip(mean, 0, 1), n)
    # at 0 and 1 a score has no error over items, which would make the ratio below infinite
    interior = error > 0
    if not interior.any():
        return ConditionalErrors.absent("degenerate", "all scores lie at an end of the scale")
    # pictures that several items share make scores vary more than as many single items
    design_factor = max(
        1.0,
        math.sqrt(float((error[interior] ** 2).mean() / (independent_error[interior] ** 2).mean())),
    )
    # items that as many answered right are equally difficult: there are few difficulties
    difficulty, items = np.unique(rasch_residuals(x).difficulty, return_counts=True)
    # abilities far beyond all items on both sides; expected scores then run from 0 to 1
    p = expit(np.linspace(difficulty.min() - 15, difficulty.max() + 15, 3001)[:, None] - difficulty)
    expected = p @ items / n
    # binomial variances of the items, P (1 - P), summed
    errors = np.sqrt((p * (1 - p)) @ items) / n
    grid = np.asarray(points, dtype=np.float64)
    # the range in which even the maximum is no detectable difference away
    top = float(expected[1 - expected <= _DETECTABLE_ERRORS * errors][0])
    bottom = float(expected[expected <= _DETECTABLE_ERRORS * errors][-1])
    return ConditionalErrors(
        tuple(grid.tolist()),
        tuple((design_factor * lord_error(grid, n)).tolist()),
        tuple(np.interp(grid, expected, errors).tolist()),
        top,
        bottom,
        tuple(np.flatnonzero(mean >= top).tolist()),
        tuple(np.flatnonzero(mean <= bottom).tolist()),
        n,
    )
