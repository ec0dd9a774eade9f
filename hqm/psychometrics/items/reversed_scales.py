"""Which graded items to read first: those that count against the scale that they are part of."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, ndtri, polygamma, stdtr

from hqm.psychometrics.items.item_statistics import correlate_with_rest, mean_of_other_items
from hqm.psychometrics.items.wrong_keys import ItemToRead, ReadingList, count_named
from hqm.psychometrics.result import Array, ArrayLike, BoolArray, IntArray, float_array, ratio

MIN_RESPONDENTS = 6
"""From how many independent respondents on a number is said and an item named."""
CRITICAL_EVIDENCE = 0.2
"""From which likelihood ratio statistic on a share of reversed items is shown. The rival is free to
explain each item by a discrimination of its own, so that sound studies are below 0: .2 was
reached by at most .02 of the sound studies of named worlds (`python -m tests.perf.graded_items`).
"""
_FREE_PENALTY = 3.0
"""What the log likelihood of a free distribution loses where it has a share of reversed items: of
thousands of items, none has the form that is learnt from a hundred.
"""
_SHARES = np.concatenate([[0.0], np.geomspace(1e-3, 0.35, 14)])
_DISCRIMINATIONS = np.linspace(0, 10, 101)
"""(discriminations,): what the slope of a good item on the rest is in standard errors."""
_FREE_DISCRIMINATIONS = np.linspace(0, 6, 25)
_TYPICAL = np.geomspace(0.2, 6, 18)
"""(kinds,): the median discrimination of good items."""
_MIN_TYPICAL = 0.9
"""Below it a reversed item looks like a good one: nothing is shown."""
_SD_LOG_DISCRIMINATION = 0.35
_SHARES_BELOW_TYPICAL = (0.02, 0.3)
"""Shares of good items that may discriminate anything from not at all to typically: what is shown
rests on the greater one.
"""
_SHARES_WITHOUT = (0.0, 0.7)
"""Shares of the items with a suspicious mean that do not discriminate, as too hard ones."""
_SUSPICIOUS_ODDS = 2.0
_MAX_LOG_MEAN_RATIO = 3.0
_MAX_PRIOR_DF = 200.0
_MAX_CELLS = 1500
"""Up to so many items each has its own likelihood; more are counted in cells."""
_MIN_GROUP_ITEMS = 20
"""From how many items on a type is a scale of its own."""
_MIN_TYPE_CORRELATION = 0.5
"""From which correlation of a type's mean with that of the others on its items are compared with
the items of all types: the rest of 30 items is noisier than that of 120.
"""
_ROUNDS = 150
_PURIFICATIONS = 4
_LOW = 1e-300


@dataclass(frozen=True, slots=True)
class _Study:
    """Every item's slope on the rest in standard errors, as a normal variable; the variance that
    chance gives it; the item-rest correlation; and the odds, by its mean or its mirrored mean, of
    being reversed, against those of an item of median mean.
    """

    z: Array
    variance: float
    r: Array
    odds_by_mean: Array
    odds_mirrored: Array


@dataclass(frozen=True, slots=True)
class _Fit:
    """The likelihood ratio statistic of a share of reversed items, and each item's chance."""

    evidence: float
    chance: Array


def reversed_items(
    scores: ArrayLike,
    *,
    rng: np.random.Generator,
    groups: Sequence[Hashable] | None = None,
    n_eff: float | None = None,
    max_listed: int = 50,
    share: float = 0.02,
    alpha: float = 0.05,
) -> ReadingList:
    """Rank items of graded or continuous scores by the probability that they are reversed.

    A reversed item gives its high scores to those who score low on the other items: its scale runs
    the wrong way, or what it asks for is the opposite of what the others ask for. A test of single
    correlations can seldom say so, for with eight respondents only r < -.71 differs from 0. But the
    items together show how good items discriminate and how high they score, and a reversed one is
    a good one mirrored: where most means are above the middle of the scale, its own is below.

    Parameters
    ----------
    scores : array_like, shape (respondents, items)
        On any scale that all items share, higher is better; NaN where an answer was not scored.
    rng : numpy.random.Generator
        Draws the items that are reversed in trials.
    groups : sequence of Hashable, shape (items,), optional
        The type of each. The rest of an item is that of its type, where that has 20 items and its
        mean correlates less than .5 with that of the other types, so that a type in which strong
        respondents are weak is no list of reversed items.
    n_eff : float, optional
        The number of independent respondents, where some are relatives.
    max_listed : int, default 50
        Length of the list.
    share : float, default 0.02
        Of the items, how many are reversed in each trial.
    alpha : float, default 0.05
        The share of sound items that `named` may hold.

    Returns
    -------
    ReadingList
        The list, the expected number of reversed items, and the power of the design. The status is
        `insufficient` for fewer than 5 respondents or 20 items, `degenerate` when no item varies.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        z_i = Phi^-1(F(b_i / se_i)) ~ N(delta_i, 1),    delta_i >= 0 of a good item
        R = sum_k g_k phi(z; delta_k),    W = sum_k g_k phi(z; -delta_k)
        pi_i / (1 - pi_i) = w_i pi / (1 - pi),    w_i = f(mirrored mean) / f(mean)
        expected = pi_i W / (pi_i W + (1 - pi_i) R)

    b is the slope of the item on the rest over respondents, and F Student's distribution: residual
    variances are few degrees of freedom each and are shrunken towards that of all items [2]_. The
    discriminations g of good items are lognormal around a median that is learnt, with a share of
    items that discriminate less; f is normal, by median and median deviation of the items' means.
    Means only weigh which items are likelier reversed: items that are hard, and discriminate little
    because they are, are no reversed ones. Shown is a share of reversed items where it explains the
    data better than any distribution g of its own without reversed items does (EM), and than a
    share of .7 without any discrimination among the items of suspicious means. Over pi, the median
    and that share is integrated, over pi with Jeffreys' prior. Where respondents are alike all
    delta are near 0, R and W are one, and nothing is named. The rest of an item is taken over the
    items that are not likely reversed themselves.

    In simulated studies of ten respondents in two runs, reversed items are shown in .00 to .02 of
    200 studies without any (abilities normal, skewed, alike or of families, 30 items, items of
    unequal errors or without discrimination, heavy tails). A tenth of reversed items are shown in
    .94 (normal), .96 (skewed), .77 (families of unequal size) and .64 (30 items), and the list of
    as many as are expected is mostly right; with alike respondents they are not. Where a quarter of
    the items are hard and discriminate nothing, they are taken for reversed in .10 of the
    studies (`python -m tests.perf.graded_items 100 6,8,10 2`).

    References
    ----------
    .. [1] Efron, B. (2010). Large-Scale Inference, chapter 5 (local false discovery rate).
       Cambridge.
    .. [2] Smyth, G. K. (2004). Statistical Applications in Genetics and Molecular Biology, 3, 3
       (moderated t).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = np.linspace(1, 5, 8)[:, None] + rng.normal(size=(8, 60))
    >>> scores[:, [4, 30]] = 6 - scores[:, [4, 30]]
    >>> result = reversed_items(scores, rng=rng)
    >>> sorted(row.item for row in result.named), round(result.faults)
    ([4, 30], 2)
    """
    x = float_array(scores, "respondents, items")
    respondents, count = x.shape
    if respondents < 5 or count < 20:
        return ReadingList.absent(
            "insufficient",
            f"a reading list needs 5 respondents and 20 items, there are {respondents} and {count}",
            items=(),
        )
    if n_eff is None:
        size = float(respondents)
    else:
        size = min(float(respondents), n_eff)
    study, fit = _purified(x, _group_numbers(groups, count), size)
    if not np.isfinite(study.r).any():
        return ReadingList.absent("degenerate", "no item varies", items=())
    chance = fit.chance
    order = np.lexsort((study.r, -chance))  # NaN stands last
    planted = max(1, round(share * count))
    power, power_named = _planted_power(study, chance, planted, alpha, rng)
    n_named = count_named(chance[order], alpha)
    doubt = ""
    if chance.sum() >= 1 or n_named or size < MIN_RESPONDENTS:
        doubt = _doubt_reason(size, fit.evidence)
    if size < MIN_RESPONDENTS:
        power_named = 0.0
    ablest = np.argsort(-ratio(np.nansum(x, axis=1), np.isfinite(x).sum(axis=1)), kind="stable")
    rows = [_row(x, int(item), study.r, chance, ablest) for item in order[:max_listed]]
    return ReadingList(
        tuple(rows),
        math.nan if doubt else float(chance.sum()),
        () if doubt else tuple(rows[:n_named]),
        doubt,
        fit.evidence >= CRITICAL_EVIDENCE,
        fit.evidence,
        0.0,
        planted,
        power,
        power_named,
    )


def _doubt_reason(size: float, evidence: float) -> str:
    """Return why the expected number of reversed items is not reported; empty where it is."""
    if size < MIN_RESPONDENTS:
        return (
            f"{size:.3g} independent respondents tell what to read first, and {MIN_RESPONDENTS} are"
            " needed to tell how many items are reversed"
        )
    if evidence < CRITICAL_EVIDENCE:
        return "no more items correlate negatively with the rest than chance explains"
    return ""


def _row(x: Array, item: int, r: Array, chance: Array, ablest: IntArray) -> ItemToRead:
    """Return an item of the list, with the respondents below its mean, the ablest first."""
    scores = x[:, item]
    if np.isfinite(scores).any():
        mean = float(scores[np.isfinite(scores)].mean())
    else:
        mean = math.nan
    fails = tuple(int(m) for m in ablest if scores[m] < mean)
    return ItemToRead(item, float(r[item]), fails, float(chance[item]))


def _group_numbers(groups: Sequence[Hashable] | None, count: int) -> IntArray:
    """(items,): the number of each item's group; one for all groups that are too small."""
    if groups is None:
        return np.zeros(count, dtype=np.int64)
    numbers: dict[Hashable, int] = {}
    labels = np.array([numbers.setdefault(group, len(numbers) + 1) for group in groups])
    sizes = np.bincount(labels, minlength=len(numbers) + 1)
    return np.where(sizes[labels] >= _MIN_GROUP_ITEMS, labels, 0)


def _compare_with_rest(x: Array, groups: IntArray, is_sound: BoolArray, size: float) -> _Study:
    """Return the slope of every item on the sound items of its group, but for itself."""
    is_common = _is_on_common_scale(x, groups, is_sound)
    rest_scores = _rest_of_sound_items(x, is_sound & is_common)
    for group in np.unique(groups[~is_common]):
        members = groups == group
        rest_scores[:, members] = _rest_of_sound_items(x[:, members], is_sound[members])
    r, n = correlate_with_rest(x, rest_scores)
    # relatives count as fewer respondents
    variance = max(1.0, (len(x) - 2) / max(size - 2, 0.5))
    return _Study(_moderated_z(x, r, n.astype(np.float64) - 2), variance, r, *_odds_by_mean(x))


def _moderated_z(x: Array, r: Array, df: Array) -> Array:
    """(items,): t of each correlation as a normal variable, with residual variances shrunken."""
    z = np.full(len(r), np.nan)
    tested = np.isfinite(r) & (df >= 1)
    if tested.sum() < 2:
        return z
    # columns without two scores, whose variance numpy warns of, have no correlation
    variances = np.nanvar(x[:, tested], axis=0)
    r, df = r[tested], df[tested]
    sums = variances * (df + 2)
    residual = sums * (1 - r**2)
    prior_df, prior_variance = _prior_of_variances(residual / df, df)
    shrunken = (prior_df * prior_variance + residual) / (prior_df + df)
    t = r * np.sqrt(sums / shrunken)
    tail = stdtr(prior_df + df, -np.abs(t))
    z[tested] = -np.sign(t) * ndtri(np.maximum(tail, _LOW))
    return z


def _prior_of_variances(variances: Array, df: Array) -> tuple[float, float]:
    """Return degrees of freedom and value of the prior of residual variances, by the moments of
    their logarithms (Smyth 2004, section 6.2).
    """
    floored = np.maximum(variances, 1e-6 * variances.mean() + _LOW)
    logs = np.log(floored) - digamma(df / 2) + np.log(df / 2)
    excess = float(logs.var(ddof=1) - polygamma(1, df / 2).mean())
    prior_df = _MAX_PRIOR_DF
    if excess > float(polygamma(1, _MAX_PRIOR_DF / 2)):
        prior_df = 2 * _inverse_trigamma(excess)
    log_bias = float(digamma(prior_df / 2) - np.log(prior_df / 2))
    return prior_df, float(np.exp(logs.mean() + log_bias))


def _inverse_trigamma(value: float) -> float:
    """Return x with trigamma(x) = value (Smyth 2004, appendix)."""
    x = 0.5 + 1 / value
    for _ in range(20):
        trigamma = float(polygamma(1, x))
        x += trigamma * (1 - trigamma / value) / float(polygamma(2, x))
    return x


def _odds_by_mean(x: Array) -> tuple[Array, Array]:
    """(items,) twice: how much likelier the mirrored mean of an item is than its mean, by those of
    all items, 1 at the median; and the same of an item with the mirrored mean.
    """
    means = ratio(np.nansum(x, axis=0), np.isfinite(x).sum(axis=0))
    if np.isnan(means).all():
        return np.ones(len(means)), np.ones(len(means))
    centre = float(np.nanmedian(means))
    middle = (float(np.nanmin(x)) + float(np.nanmax(x))) / 2
    deviation = float(np.nanmedian(np.abs(means - centre)))
    # 1.4826: a normal variable's standard deviation over its median deviation
    sd = max(1.4826 * deviation, float(np.nanstd(means)) / 3)
    if sd == 0:
        return np.ones(len(means)), np.ones(len(means))
    log_ratio = -2 * (means - middle) * (centre - middle) / sd**2
    odds = np.exp(np.clip(log_ratio, -_MAX_LOG_MEAN_RATIO, _MAX_LOG_MEAN_RATIO))
    odds[np.isnan(odds)] = 1.0
    median = float(np.median(odds))
    return odds / median, 1 / odds / median


def _is_on_common_scale(x: Array, groups: IntArray, is_sound: BoolArray) -> BoolArray:
    """(items,): whether the respondents who do well in an item's type do well in the others."""
    is_common = np.ones(x.shape[1], dtype=bool)
    sound = np.where(is_sound, x, np.nan)
    for group in np.unique(groups[groups > 0]):
        members = groups == group
        means = [np.where(m, sound, np.nan) for m in (members, ~members)]
        type_means, other_means = (
            ratio(np.nansum(y, axis=1), np.isfinite(y).sum(axis=1))[:, None] for y in means
        )
        r = float(correlate_with_rest(type_means, other_means)[0][0])
        # a type of all items has no others, and is the common scale itself
        is_common[members] = members.all() or r >= _MIN_TYPE_CORRELATION
    return is_common


def _rest_of_sound_items(x: Array, is_sound: BoolArray) -> Array:
    """(respondents, items): the mean of a respondent's other items, reversed ones left out."""
    if is_sound.sum() < 2:
        return mean_of_other_items(x)
    return mean_of_other_items(np.where(is_sound, x, np.nan))


def _purified(x: Array, groups: IntArray, size: float) -> tuple[_Study, _Fit]:
    """Return the slopes and the chances of being reversed, with rests over the items that are not
    likely reversed.
    """
    is_sound = np.ones(x.shape[1], dtype=bool)
    for _ in range(_PURIFICATIONS):
        study = _compare_with_rest(x, groups, is_sound, size)
        fit = _fit_shares(study.z, study.variance, study.odds_by_mean)
        is_likely_sound = fit.chance < 0.5
        if np.array_equal(is_likely_sound, is_sound):
            break
        is_sound = is_likely_sound
    return study, fit


def _kind_weights() -> Array:
    """(discriminations, kinds): the distribution of good items' discriminations in each kind."""
    grid = _DISCRIMINATIONS[1:, None]
    lognormal = np.exp(-(np.log(grid / _TYPICAL) ** 2) / (2 * _SD_LOG_DISCRIMINATION**2)) / grid
    lognormal = np.concatenate([np.zeros((1, len(_TYPICAL))), lognormal])
    lognormal /= lognormal.sum(axis=0)
    flat = (_DISCRIMINATIONS[:, None] <= _TYPICAL).astype(np.float64)
    flat /= flat.sum(axis=0)
    kinds = [(1 - share) * lognormal + share * flat for share in _SHARES_BELOW_TYPICAL]
    return np.concatenate(kinds, axis=1)


_KIND_WEIGHTS = _kind_weights()
_CAN_SHOW = np.concatenate([np.zeros(len(_TYPICAL), dtype=bool), _TYPICAL >= _MIN_TYPICAL])
"""(kinds,): by which reversed items are shown."""


def _densities(z: Array, variance: float, discriminations: Array) -> Array:
    """(items, discriminations): the density of z, but for a factor."""
    return np.asarray(np.exp(-((z[:, None] - discriminations) ** 2) / (2 * variance)))


def _fit_shares(z: Array, variance: float, odds_by_mean: Array) -> _Fit:
    """Compare shares of reversed items with none, and return the chance of each item."""
    chance = np.zeros(len(z))
    finite = np.isfinite(z)
    if not finite.any():
        return _Fit(0.0, chance)
    z, odds, counts, cell = _cells(z[finite], odds_by_mean[finite])
    odds_by_share = _SHARES / (1 - _SHARES) * odds[:, None]
    share = (odds_by_share / (1 + odds_by_share))[:, None, :]
    typical = _densities(z, variance, _DISCRIMINATIONS) @ _KIND_WEIGHTS
    mirrored = share * (_densities(-z, variance, _DISCRIMINATIONS) @ _KIND_WEIGHTS)[..., None]
    is_suspicious = odds > _SUSPICIOUS_ODDS
    undiscriminating = _densities(z, variance, np.zeros(1))
    null = _free_log_likelihood(z, variance, odds, counts, 0.0)
    alternative = _free_log_likelihood(z, variance, odds, counts, 0.05) - _FREE_PENALTY
    log_likelihoods = []
    posteriors = []
    for share_without in _SHARES_WITHOUT:
        mixed = (1 - share_without) * typical + share_without * undiscriminating
        good = np.where(is_suspicious[:, None], mixed, typical)[..., None]
        total = (1 - share) * good + mirrored + _LOW
        # (kinds, shares)
        log_likelihood = np.tensordot(counts, np.log(total), axes=1)
        null = max(null, float(log_likelihood[:, 0].max()))
        alternative = max(alternative, float(log_likelihood[_CAN_SHOW].max()))
        log_likelihoods.append(log_likelihood)
        posteriors.append(mirrored / total)
    # Jeffreys' prior of a proportion, on a grid of logarithms
    weights = np.exp(log_likelihoods - np.max(log_likelihoods)) * np.sqrt(_SHARES / (1 - _SHARES))
    weights /= weights.sum()
    for weight, posterior in zip(weights, posteriors, strict=True):
        chance[finite] += np.tensordot(posterior, weight, axes=2)[cell]
    return _Fit(2 * (alternative - null), chance)


def _cells(z: Array, odds: Array) -> tuple[Array, Array, Array, IntArray]:
    """Return z and odds of the cells in which items are alike, the items in each, and the cell of
    each item. Of few items each is a cell.
    """
    if len(z) <= _MAX_CELLS:
        return z, odds, np.ones(len(z)), np.arange(len(z))
    rounded = np.column_stack([np.round(20 * z) / 20, np.round(10 * np.log(odds)) / 10])
    cells, cell, counts = np.unique(rounded, axis=0, return_inverse=True, return_counts=True)
    return cells[:, 0], np.exp(cells[:, 1]), counts.astype(np.float64), cell.ravel()


def _free_log_likelihood(
    z: Array, variance: float, odds: Array, counts: Array, share: float
) -> float:
    """Return the log likelihood of the best distribution of discriminations of any form, with a
    share of reversed items to begin with; minus infinity where good items hardly discriminate.
    """
    good = _densities(z, variance, _FREE_DISCRIMINATIONS) + _LOW
    mirrored = _densities(-z, variance, _FREE_DISCRIMINATIONS) + _LOW
    weights = np.full(len(_FREE_DISCRIMINATIONS), 1 / len(_FREE_DISCRIMINATIONS))
    share_odds = share / (1 - share) * odds
    for _ in range(_ROUNDS):
        prior = share_odds / (1 + share_odds)
        densities = good
        if share:
            densities = (1 - prior)[:, None] * good + prior[:, None] * mirrored
        total = densities @ weights
        if share:
            n_reversed = counts @ (prior * (mirrored @ weights) / total)
            # the maximum of the likelihood has as many reversed items before as after
            share_odds *= float(n_reversed / (counts @ prior + _LOW))
        weights = weights * ((counts / total) @ densities) / counts.sum()
    if share and weights @ _FREE_DISCRIMINATIONS < _MIN_TYPICAL:
        return -math.inf
    return float(counts @ np.log(total))


def _planted_power(
    study: _Study, chance: Array, planted: int, alpha: float, rng: np.random.Generator
) -> tuple[float, float]:
    """Shares of items that were reversed in trials: true among the first, and named.

    Items that may be reversed already make way for them. A reversed item has -z, and the mirrored
    mean.
    """
    count = len(chance)
    found_shares = []
    named_shares = []
    for _ in range(min(40, max(4, math.ceil(400 / planted)))):
        items = rng.choice(count, planted, replace=False)
        remains_sound = rng.random(count - planted) >= np.delete(chance, items)
        sound_items = np.delete(np.arange(count), items)[remains_sound]
        z = np.concatenate([-study.z[items], study.z[sound_items]])
        odds = np.concatenate([study.odds_mirrored[items], study.odds_by_mean[sound_items]])
        fit = _fit_shares(z, study.variance, odds)
        order = np.argsort(-fit.chance, kind="stable")
        found_shares.append(float((order[:planted] < planted).mean()))
        n_named = 0
        if fit.evidence >= CRITICAL_EVIDENCE:
            n_named = count_named(fit.chance[order], alpha)
        named_shares.append(float((order[:n_named] < planted).sum()) / planted)
    return float(np.mean(found_shares)), float(np.mean(named_shares))
