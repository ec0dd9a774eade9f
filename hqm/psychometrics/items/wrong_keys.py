"""Which items to read first: the chance that an item's key is wrong, and who fails it."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hqm.psychometrics.inference.distributions import binomial_above
from hqm.psychometrics.items.item_response_models import (
    EASE,
    SLOPE,
    kind_weights,
    weights_at_first,
)
from hqm.psychometrics.items.item_statistics import item_rest, respondent_weights, to_unit_range
from hqm.psychometrics.result import (
    Array,
    ArrayLike,
    IntArray,
    Outcome,
    equal_shape_arrays,
    float_array,
)


@dataclass(frozen=True, slots=True)
class PlantedFaults(Outcome):
    """Share of planted faults that a search finds.

    Attributes
    ----------
    power
        Share of the planted faults that were named; `error` is its Monte Carlo standard error.
    planted, repeats
        Faults in a copy of the data, and copies.
    """

    power: float
    error: float
    planted: int
    repeats: int


def with_wrong_keys(scores: ArrayLike, *, rng: np.random.Generator, hit: ArrayLike = 1.0) -> Array:
    """Return the scores that the same answers would have under wrong keys.

    Right answers are then wrong; a wrong one is right with the chance `hit` of meeting the key (k
    options: 1 / (k - 1)). Scores, of (respondents, items), that lie between 0 and 1 are mirrored;
    NaN stays.

    Parameters
    ----------
    scores : array_like, shape (respondents, items)
        Scores from 0 to 1.
    rng : numpy.random.Generator
        Source of random numbers.
    hit : array_like, default 1.0
        Chance that a wrong answer meets a wrong key.

    Returns
    -------
    Array
        (respondents, items): the scores.

    Raises
    ------
    ValueError
        An array has another shape.

    Examples
    --------
    >>> with_wrong_keys([[1, 0, 0.25]], rng=np.random.default_rng(0))
    array([[0.  , 1.  , 0.75]])
    """
    x = float_array(scores, "respondents, items")
    # under a wrong key, a right answer is wrong, and a wrong one may meet the key
    meets_key = rng.random(x.shape) < np.broadcast_to(
        np.asarray(hit, dtype=np.float64), (x.shape[1],)
    )
    # a right answer gets 0 whether it is turned or not; 0 times NaN stays NaN
    return np.where(meets_key, 1 - x, 0 * x)


def planted_faults(
    scores: ArrayLike,
    search: Callable[[Array], Collection[int]],
    *,
    rng: np.random.Generator,
    hit: ArrayLike = 1.0,
    share: float = 0.02,
    faults: int = 200,
    max_items: int = 2000,
) -> PlantedFaults:
    """Estimate the share of wrong keys that a search would find in a study like this one.

    "No faults" says little where few would be found. The respondents and items of the study stay as
    they are; in a copy, some items get the scores that a wrong key would give them, and the search
    is made there. The items at hand are taken to have right keys: where many have not, the share
    comes out too low.

    Parameters
    ----------
    scores : array_like, shape (respondents, items)
        NaN where an answer was not scored. Scores beyond 0 to 1 are brought to that range.
    search : Callable[[Array], collection of int]
        Scores -> numbers of the items that it names.
    rng : numpy.random.Generator
        Source of random numbers.
    hit : array_like, default 1.0
        Chance that a wrong answer meets a wrong key.
    share : float, default 0.02
        Of the items, how many get a wrong key.
    faults : int, default 200
        How many are planted in all, over copies (40 at most).
    max_items : int, default 2000
        Items in a copy at most, drawn at random.

    Returns
    -------
    PlantedFaults
        The power of the search. The status is `insufficient` without respondents or items.

    Raises
    ------
    ValueError
        An array has another shape.

    Examples
    --------
    >>> x = (np.arange(30)[:, None] > np.tile(np.arange(3, 27), 5)).astype(float)
    >>> planted_faults(x, lambda y: np.flatnonzero(y[-1] == 0), rng=np.random.default_rng(0)).power
    1.0
    """
    x = to_unit_range(float_array(scores, "respondents, items"))
    if x.size == 0:
        return PlantedFaults(
            math.nan,
            math.nan,
            0,
            0,
            status="insufficient",
            reason="there is no respondent or no item",
        )
    hits = np.broadcast_to(np.asarray(hit, dtype=np.float64), (x.shape[1],))
    size = min(x.shape[1], max_items)
    planted = max(1, round(share * size))
    repeats = min(40, math.ceil(faults / planted))
    shares = []
    for _ in range(repeats):
        items = np.sort(rng.choice(x.shape[1], size, replace=False))
        copy = x[:, items]
        planted_items = rng.choice(size, planted, replace=False)
        copy[:, planted_items] = with_wrong_keys(
            copy[:, planted_items], rng=rng, hit=hits[items[planted_items]]
        )
        shares.append(len(set(planted_items.tolist()) & {int(i) for i in search(copy)}) / planted)
    power = float(np.mean(shares))
    return PlantedFaults(
        power, math.sqrt(power * (1 - power) / (planted * repeats)), planted, repeats
    )


_SHARES = np.geomspace(2e-4, 0.45, 50)
_ROUNDS = 60
"""Of learning the model, at most."""
_MAX_FITTED_KINDS = 1500
"""The most kinds of items that the model is fitted to; of more, a random sample is taken."""
_LOW = 1e-9
MIN_RESPONDENTS = 10
"""From how many respondents on a number is said and an item named."""
_MIN_BLOCK_ITEMS = 10
"""From how many items on a type and side of the key has abilities of its own."""
CRITICAL_EVIDENCE = 5.41
"""From which likelihood ratio statistic on a share of wrong keys is shown: without any it is
reached by one study in a hundred (half a chi-squared variable with one degree of freedom).
"""
_MAX_COMMON_FAILURE_Z = 2.33
"""From how many standard errors on the first items are failed by the same models."""


@dataclass(frozen=True, slots=True)
class ItemToRead:
    """An item of the reading list.

    Attributes
    ----------
    item
        Its number.
    item_rest
        The correlation of its scores with the mean of the other items; NaN where all score alike.
    fails
        Numbers of the respondents below the middle of the scale, the ablest first.
    expected
        The chance that its key is wrong, if no weakness in common explains the list: of ten items
        with .7, seven are.
    """

    item: int
    item_rest: float
    fails: tuple[int, ...]
    expected: float


@dataclass(frozen=True, slots=True)
class ReadingList(Outcome):
    """Items in the order in which they are worth reading.

    Attributes
    ----------
    items
        The likeliest wrong key first.
    faults
        Wrong keys to be expected among all items; NaN where `doubt` says why the answers do not
        tell.
    named
        As many items from the top as have a mean chance of a right key of at most alpha; none where
        there is a doubt.
    doubt
        Why there is neither a number nor a name; empty where there is no doubt.
    stands_out
        Whether more items than chance explains are failed by able respondents, and not by the same
        ones: worth a reader's time, however few the respondents.
    evidence
        Likelihood ratio statistic of the share of wrong keys against none.
    common_failure
        How far the same respondents fail the first items, beyond what wrong keys explain, in
        standard errors.
    planted, power, power_named
        Wrong keys are planted in copies of the scores, so many in each. The share of true ones
        among as many items from the top, and the share of them that is named: what this design can
        find, whatever it has found.
    """

    items: tuple[ItemToRead, ...]
    faults: float = math.nan
    named: tuple[ItemToRead, ...] = ()
    doubt: str = ""
    stands_out: bool = False
    evidence: float = math.nan
    common_failure: float = math.nan
    planted: int = 0
    power: float = math.nan
    power_named: float = math.nan


@dataclass(frozen=True, slots=True)
class _Model:
    """Of every block: the abilities of the respondents in it, and the weight of every kind of
    item; and for how many independent answers a score of each respondent counts.
    """

    ability: Array
    weight: Array
    answers: Array


def reading_list(
    scores: ArrayLike,
    *,
    rng: np.random.Generator,
    hit: ArrayLike = 1.0,
    types: Sequence[Hashable] | None = None,
    sides: Sequence[Hashable] | None = None,
    answers: float = 1.0,
    max_listed: int = 50,
    share: float = 0.02,
    alpha: float = 0.05,
) -> ReadingList:
    """Rank items by the probability that their key is wrong.

    A wrong key turns a yes/no item round: who is right is scored wrong, so able respondents fail
    and weak ones pass, or all fail an item that is easy. A test can seldom prove that of one item,
    but a ranking can say where to look first. What able respondents fail in common is no wrong key:
    a type that they cannot do, or a lean to one answer. So every block b, the items of a type with
    one side of the key, has abilities of its own.

    Parameters
    ----------
    scores : array_like, shape (respondents, items)
        Higher is better; NaN where an answer was not scored. What is not 0 or 1 is brought to that
        range.
    rng : numpy.random.Generator
        Draws the sample of a large set, and the planted items.
    hit : array_like, default 1.0
        One number or (items,): the chance that a wrong answer meets a wrong key: 1 for yes/no, 1 /
        (k - 1) for k options.
    types, sides : sequence of Hashable, shape (items,), optional
        What kind of item it is, and which answer its key is.
    answers : float, default 1.0
        For how many independent answers each score counts, where it is a mean over runs
        (`effective_runs`).
    max_listed : int, default 50
        Length of the list.
    share : float, default 0.02
        Of the items, how many wrong keys are planted.
    alpha : float, default 0.05
        The share of right keys that `named` may hold.

    Returns
    -------
    ReadingList
        The list, the expected number of wrong keys, and the power of the design. The status is
        `insufficient` for fewer than 5 respondents or 20 items, `degenerate` when no item varies.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
        P(pass | right key) = p = 1 / (1 + exp(-(a (theta + delta_b) + e))), delta_b ~ N(0, tau2)
        P(pass | wrong key) = hit (1 - p)
        expected = pi W / (pi W + (1 - pi) R),    R, W = likelihood under either key

    The distribution of easiness e is free on a grid and learnt from all items, more from those of
    the block, with the abilities, tau2 and the share pi of wrong keys (EM; over pi is integrated
    with Jeffreys' prior). Log slopes are normal around 0, as frequent at any e, with a variance
    that is learnt from all items and 20 more with a standard deviation of .3: if e and a were free
    together, items with wrong keys would be learnt as kinds of their own. Hard items that all fail
    are thereby weighed against easy ones with a wrong key. Of means over runs, log R and log W
    count `answers` times. Respondents who answer alike beyond their abilities, as two checkpoints
    of one model do, share the weight of one (`respondent_weights`).

    An item that able respondents fail for another reason than its key ranks high too. So neither a
    number nor a name is given with fewer than 10 respondents, where the likelihood ratio of pi
    against 0 is one of chance, where leaving out one type takes the number away, or where the same
    respondents fail the first items beyond what wrong keys explain:

        z = sum_m [(sum_i r)^2 - sum_i r^2] / sqrt(2 sum_m [(sum_i v)^2 - sum_i v^2]) > 2.33,
        r = x - P(pass | wrong key) with variance v, over the 5 to 40 first items

    References
    ----------
    .. [1] Efron, B. (2010). Large-Scale Inference, chapter 5 (local false discovery rate).
       Cambridge.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> passed = (rng.random((20, 200)) < np.linspace(0.5, 0.95, 20)[:, None]).astype(float)
    >>> passed[:, [3, 60]] = 1 - passed[:, [3, 60]]
    >>> result = reading_list(passed, rng=rng)
    >>> sorted(row.item for row in result.items[:2]), round(result.faults)
    ([3, 60], 2)
    """
    x = float_array(scores, "respondents, items")
    respondents, count = x.shape
    if respondents < 5 or count < 20:
        return ReadingList(
            (),
            status="insufficient",
            reason=f"a reading list needs 5 respondents and 20 items, there are {respondents}"
            f" and {count}",
        )
    scored = np.isfinite(x)
    score_ranges = np.where(scored, x, -np.inf).max(axis=0) - np.where(scored, x, np.inf).min(
        axis=0
    )
    if not (score_ranges > _LOW).any():
        return ReadingList((), status="degenerate", reason="no item varies")
    x = to_unit_range(x)
    hits = np.broadcast_to(np.asarray(hit, dtype=np.float64), (count,))
    kinds = _label_numbers(types, count)
    blocks = _blocks(kinds, _label_numbers(sides, count))
    model = _fit_model(x, hits, blocks, answers * respondent_weights(x), rng)
    odds = _log_odds(x, hits, blocks, model)
    chance = fault_probabilities(odds)
    item_rest_correlations = item_rest(x)
    order = np.lexsort((item_rest_correlations, -chance))  # NaN stands last
    ablest = np.argsort(-model.ability.mean(axis=0), kind="stable")

    def list_rows(item_numbers: IntArray) -> tuple[ItemToRead, ...]:
        fails = (tuple(ablest[x[ablest, i] < 0.5].tolist()) for i in item_numbers)
        return tuple(
            ItemToRead(int(i), float(item_rest_correlations[i]), failing, float(chance[i]))
            for i, failing in zip(item_numbers, fails, strict=True)
        )

    planted = max(1, round(share * count))
    power, power_named = _planted_power(x, hits, blocks, model, odds, chance, planted, alpha, rng)
    faults = float(chance.sum())
    n_named = count_named(chance[order], alpha)
    common_failure = _common_failure_z(x, hits, blocks, model, order, faults, answers)
    if faults >= 1 or n_named:
        doubt = _doubt_reason(odds, kinds, faults, common_failure)
    else:
        doubt = ""
    stands_out = (
        likelihood_ratio(odds) >= CRITICAL_EVIDENCE and common_failure <= _MAX_COMMON_FAILURE_Z
    )
    if respondents < MIN_RESPONDENTS:
        doubt = doubt or (
            f"{respondents} respondents tell what to read first, and {MIN_RESPONDENTS} are needed"
            " to tell how many keys are wrong"
        )
    return ReadingList(
        list_rows(order[:max_listed]),
        math.nan if doubt else faults,
        () if doubt else list_rows(order[:n_named]),
        doubt,
        stands_out,
        likelihood_ratio(odds),
        common_failure,
        planted,
        power,
        0.0
        if doubt and (respondents < MIN_RESPONDENTS or likelihood_ratio(odds) >= CRITICAL_EVIDENCE)
        else power_named,
    )


def _doubt_reason(odds: Array, kinds: IntArray, faults: float, common_failure: float) -> str:
    """Return why the expected number of wrong keys is not reported; empty where it is."""
    if likelihood_ratio(odds) < CRITICAL_EVIDENCE:
        return "able respondents fail no more items that weak ones pass than chance explains"
    if common_failure > _MAX_COMMON_FAILURE_Z:
        return (
            "the first items are failed by the same respondents for a common reason, which wrong"
            " keys do not explain"
        )
    # how many of those expected go when a type is left out, against its share of the items
    types, sizes = np.unique(kinds, return_counts=True)
    for kind, size in zip(types, sizes, strict=True):
        other_odds = odds[kinds != kind]
        if size >= _MIN_BLOCK_ITEMS:
            n_lost = round(faults - float(fault_probabilities(other_odds).sum()))
            if binomial_above(n_lost - 1, round(faults), size / len(odds)) < 0.01 / len(types):
                return "the number rests on one type of items, and is gone when that is left out"
    return ""


def _label_numbers(labels: Sequence[Hashable] | None, count: int) -> IntArray:
    """(items,): a number for each label, in the order of their first occurrence."""
    numbers: dict[Hashable, int] = {}
    label_values = [None] * count if labels is None else labels
    return np.array([numbers.setdefault(label, len(numbers)) for label in label_values])


def _blocks(types: IntArray, sides: IntArray) -> IntArray:
    """(items,): a number for each type and side of the key; where a type has few items of a side,
    for the type; where it has few, for all such types.
    """
    blocks = types * (sides.max() + 1) + sides
    for coarser in (-1 - types, np.full(len(types), -1 - len(types))):
        _, block_index, counts = np.unique(blocks, return_inverse=True, return_counts=True)
        blocks = np.where(counts[block_index] < _MIN_BLOCK_ITEMS, coarser, blocks)
    return np.unique(blocks, return_inverse=True)[1]


def count_named(chance: Array, alpha: float) -> int:
    """How many of the greatest chances, given in falling order, can be named with a mean error of
    at most alpha.
    """
    error = np.cumsum(1 - chance) / np.arange(1, len(chance) + 1)
    return int((error <= alpha).sum())


_Scores = tuple[Array, Array, list[tuple[float, IntArray]]]


def _scores(x: Array, hits: Array, answers: Array) -> _Scores:
    """(items, respondents): passes and failures, 0 where unscored; and items by hit chance."""
    scored = np.isfinite(x)
    ones = np.where(scored, answers[:, None] * x, 0.0).T
    zeros = np.where(scored, answers[:, None] * (1 - x), 0.0).T
    return ones, zeros, [(hit, np.flatnonzero(hits == hit)) for hit in np.unique(hits)]


def _likelihoods(scores: _Scores, ability: Array) -> tuple[Array, Array]:
    """(items, kinds) twice: the log likelihood of each item's scores under the right key and under
    a wrong one.
    """
    ones, zeros, by_hit = scores
    logit = np.outer(ability, SLOPE) + EASE
    passes = -np.logaddexp(0, -logit)
    fails = -np.logaddexp(0, logit)
    right = ones @ passes + zeros @ fails
    wrong = np.empty_like(right)
    for hit, rows in by_hit:
        log_mirrored = passes if hit >= 1 else np.log1p(-hit * np.exp(fails))
        wrong[rows] = ones[rows] @ (fails + math.log(max(hit, 1e-3))) + zeros[rows] @ log_mirrored
    return right, wrong


def _fit_model(
    x: Array, hits: Array, blocks: IntArray, answers: Array, rng: np.random.Generator
) -> _Model:
    columns = np.vstack([np.where(np.isfinite(x), x, -1.0), hits, blocks]).T
    kinds, copies = np.unique(columns, axis=0, return_counts=True)
    if len(kinds) > _MAX_FITTED_KINDS:
        kinds = columns[np.sort(rng.choice(len(columns), _MAX_FITTED_KINDS, replace=False))]
        copies = np.ones(_MAX_FITTED_KINDS, dtype=np.int64)
    x = np.where(kinds[:, :-2] < 0, np.nan, kinds[:, :-2]).T
    hits = kinds[:, -2]
    block = kinds[:, -1].astype(np.int64)
    n_blocks = int(blocks.max()) + 1
    block_items = [np.flatnonzero(block == b) for b in range(n_blocks)]
    copies = copies * (len(columns) / copies.sum())
    size = np.bincount(block, copies, n_blocks)
    scored = np.isfinite(x)
    ones = np.where(scored, x, 0.0)
    rate = np.clip((ones @ copies) / np.maximum(scored @ copies, _LOW), 0.02, 0.98)
    ability = np.log(rate / (1 - rate))
    ability -= ability.mean()
    block_effects = np.zeros((n_blocks, len(ability)))
    effect_variance = 0.1
    passed = [ones[:, items] for items in block_items]
    answered = [scored[:, items].astype(float) for items in block_items]
    for b, items in enumerate(block_items):
        rate = passed[b] @ copies[items] + 0.5 * _MIN_BLOCK_ITEMS * (1 / (1 + np.exp(-ability)))
        tried = answered[b] @ copies[items] + 0.5 * _MIN_BLOCK_ITEMS
        block_effects[b] = np.log(rate + 0.5) - np.log(tried - rate + 0.5) - ability
    block_effects -= block_effects.mean(axis=1, keepdims=True)
    block_effects -= block_effects.mean(axis=0)
    scores = [_scores(x[:, items], hits[items], answers) for items in block_items]
    weight = np.tile(weights_at_first(), (n_blocks, 1))
    share = 0.02
    previous = -math.inf
    for _ in range(_ROUNDS):
        likelihood = 0.0
        faulty = 0.0
        counts = np.zeros_like(weight)
        gradient = np.zeros_like(block_effects)
        curvature = np.zeros_like(block_effects)
        for b, items in enumerate(block_items):
            right, wrong = _likelihoods(scores[b], ability + block_effects[b])
            row_maximum = np.maximum(right.max(axis=1), wrong.max(axis=1))[:, None]
            # in place: to fetch memory for tables of this size takes as long as to fill them
            for table, prior in ((right, 1 - share), (wrong, share)):
                table -= row_maximum
                np.exp(table, out=table)
                table *= weight[b] * prior
            total = right.sum(axis=1) + wrong.sum(axis=1)
            likelihood += float(((np.log(total) + row_maximum[:, 0]) * copies[items]).sum())
            for table in (right, wrong):
                table *= (copies[items] / total)[:, None]
            counts[b] = right.sum(axis=0) + wrong.sum(axis=0)
            faulty = faulty + float(wrong.sum())
            # a step of Newton's method for every ability, from the items as far as their keys are
            # right
            p = 1 / (1 + np.exp(-(np.outer(ability + block_effects[b], SLOPE) + EASE)))
            expected = answered[b] @ right
            gradient[b] = ((passed[b] @ right - expected * p) * SLOPE).sum(axis=1)
            curvature[b] = (expected * p * (1 - p) * SLOPE**2).sum(axis=1) + _LOW
        share = faulty / len(columns)
        weight = kind_weights(counts, size)
        ability = np.clip(
            ability + np.clip(gradient.sum(axis=0) / curvature.sum(axis=0), -1, 1), -8, 8
        )
        if n_blocks > 1:
            precision = curvature + 1 / effect_variance
            block_effects = block_effects + np.clip(
                (gradient - block_effects / effect_variance) / precision, -1, 1
            )
            block_effects = np.clip(block_effects - block_effects.mean(axis=0), -8, 8)
            effect_variance = max(float((block_effects**2 + 1 / precision).mean()), 1e-4)
        if abs(likelihood - previous) < 1e-6 * len(columns):
            break
        previous = likelihood
    return _Model(ability + block_effects, weight, answers)


def _weighted_likelihoods(
    x: Array, hits: Array, blocks: IntArray, model: _Model
) -> Iterator[tuple[int, IntArray, Array, Array]]:
    """Yield each block's number, items, and log likelihoods under either key, weighted by kind."""
    for b in np.unique(blocks):
        items = np.flatnonzero(blocks == b)
        scores = _scores(x[:, items], hits[items], model.answers)
        right, wrong = _likelihoods(scores, model.ability[b])
        weight = np.log(model.weight[b] + 1e-300)
        yield int(b), items, right + weight, wrong + weight


def _log_odds(x: Array, hits: Array, blocks: IntArray, model: _Model) -> Array:
    """(items,): log W - log R."""
    # log of the likelihood ratio of a wrong and a right key
    odds = np.empty(len(blocks))
    for _, items, right, wrong in _weighted_likelihoods(x, hits, blocks, model):
        odds[items] = np.logaddexp.reduce(wrong, axis=1) - np.logaddexp.reduce(right, axis=1)
    return np.clip(odds, -50, 50)


def _common_failure_z(
    x: Array,
    hits: Array,
    blocks: IntArray,
    model: _Model,
    order: IntArray,
    faults: float,
    answers: float,
) -> float:
    """Return z of the respondents' common failures of the top items beyond wrong keys."""
    top_items = order[: int(np.clip(round(faults), 5, 40))]
    x = x[:, top_items]
    hits = hits[top_items]
    blocks = blocks[top_items]
    passes = np.empty_like(x)
    for b, items, _, wrong in _weighted_likelihoods(x, hits, blocks, model):
        fails = 1 / (1 + np.exp(np.outer(model.ability[b], SLOPE) + EASE))
        posterior = np.exp(wrong - np.logaddexp.reduce(wrong, axis=1)[:, None])
        passes[:, items] = hits[items] * (fails @ posterior.T)
    scored = np.isfinite(x)
    residuals = np.where(scored, x - passes, 0.0)
    variances = np.where(scored, passes * (1 - passes) / answers, 0.0)
    excess = (residuals.sum(axis=1) ** 2 - (residuals**2).sum(axis=1)).sum()
    variance = 2 * (variances.sum(axis=1) ** 2 - (variances**2).sum(axis=1)).sum()
    return float(excess / math.sqrt(variance + _LOW))


def likelihood_ratio(odds: Array) -> float:
    """Return the likelihood ratio statistic of the likeliest share of wrong keys against none."""
    mixed = (1 - _SHARES) + _SHARES * np.exp(odds)[:, None]
    return max(0.0, float(2 * np.log(mixed).sum(axis=0).max()))


def fault_probabilities(odds: Array) -> Array:
    """(items,): the probability of a wrong key, averaged over the share of wrong keys."""
    # Jeffreys' prior of a proportion: share^-1/2 (1 - share)^-1/2
    ratio = np.exp(odds)[:, None]
    mixed = (1 - _SHARES) + _SHARES * ratio
    log = np.log(mixed).sum(axis=0) + 0.5 * np.log(_SHARES) - 0.5 * np.log1p(-_SHARES)
    weight = np.exp(log - log.max())
    return np.asarray((_SHARES * ratio / mixed) @ (weight / weight.sum()), dtype=np.float64)


def _planted_power(
    x: Array,
    hits: Array,
    blocks: IntArray,
    model: _Model,
    odds: Array,
    chance: Array,
    planted: int,
    alpha: float,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Shares of planted wrong keys: true among the first, and named.

    Items that may be wrong already make way for them.
    """
    repeats = min(40, max(4, math.ceil(400 / planted)))
    planted_sets = [rng.choice(x.shape[1], planted, replace=False) for _ in range(repeats)]
    all_planted = np.concatenate(planted_sets)
    wrong = with_wrong_keys(x[:, all_planted], rng=rng, hit=hits[all_planted])
    planted_odds = _log_odds(wrong, hits[all_planted], blocks[all_planted], model)
    found_shares = []
    named_shares = []
    for k, planted_set in enumerate(planted_sets):
        other_odds = np.delete(odds, planted_set)[
            rng.random(len(odds) - planted) >= np.delete(chance, planted_set)
        ]
        combined_odds = np.concatenate([planted_odds[k * planted : (k + 1) * planted], other_odds])
        order = np.argsort(-combined_odds, kind="stable")
        found_shares.append(float((order[:planted] < planted).mean()))
        named_items = order[
            : count_named(fault_probabilities(combined_odds)[order], alpha)
            * (likelihood_ratio(combined_odds) >= CRITICAL_EVIDENCE)
        ]
        named_shares.append(float((named_items < planted).sum()) / planted)
    return float(np.mean(found_shares)), float(np.mean(named_shares))


USUAL_CONTRADICTION = 0.2
"""A share of contradicted answers up to which an item may be hard to judge without a wrong right
answer.
"""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """An item: how many of its labelled answers people judged against the scorer, and p times the
    number of items, or the chance that its key is right by answers and labels where that is less.
    """

    item: int
    contradicted: int
    answers: int
    p: float


@dataclass(frozen=True, slots=True)
class Contradictions(Outcome):
    """Items that people contradict beyond the scorer's usual errors, the surest first.

    Attributes
    ----------
    usual
        The share of contradicted answers that counts as usual.
    min_labels
        How many labels an item needs before it could be among them at all.
    """

    items: tuple[Contradiction, ...]
    usual: float
    min_labels: int
    tested: int


def contradicted_items(
    automatic: ArrayLike,
    human: ArrayLike,
    *,
    alpha: float = 0.05,
    chances: ArrayLike | None = None,
) -> Contradictions:
    """Test which items have answers that people judge against the scorer.

    Parameters
    ----------
    automatic, human : array_like, shape (respondents, items)
        0 or 1, NaN where an answer is not scored or not labelled.
    alpha : float, default 0.05
        The chance that any sound item is listed.
    chances : array_like, shape (items,), optional
        c, the chance of a wrong key by the answers alone (`reading_list`).

    Returns
    -------
    Contradictions
        The items, and how many labels an item needs. The status is `insufficient` where no item has
        labels enough to be listed, and none is. It is `degenerate`, and nothing is listed, where
        more than half of all labels contradict: then the labels are reversed, or about
        something else.

    Raises
    ------
    ValueError
        An array has another shape.

    Notes
    -----
    A scorer that misreads an answer now and then is contradicted on some answers of many items; a
    wrong right answer is contradicted on all answers of one item. Binomial test of each item's
    contradicted labels against the usual share, which is twice the share of all other items, at
    least .2; Bonferroni over items. Half of the labels must contradict. Where the answers already
    speak of a wrong key, few labels do: an item is listed too while the mean of 1 - c' is at most
    alpha over the items from the greatest c' on,

        c' / (1 - c') = c / (1 - c) ((1 - u) / u)^(2 k - n),    k of n labels contradict, u = usual

    Examples
    --------
    >>> scored = np.ones((8, 50))
    >>> labels = scored.copy()
    >>> labels[:, 7] = 0
    >>> [(row.item, row.contradicted) for row in contradicted_items(scored, labels).items]
    [(7, 8)]
    """
    a, h = equal_shape_arrays(automatic, human, "respondents, items")
    labelled = np.isfinite(a) & np.isfinite(h)
    n = labelled.sum(axis=0)
    k = (labelled & (np.where(labelled, a, 0) != np.where(labelled, h, 0))).sum(axis=0)
    tested = int((n > 0).sum())
    if binomial_above(k.sum() - 1, n.sum(), 0.5) < alpha:
        reason = (
            f"{k.sum() / n.sum():.0%} of the labels contradict the scorer, so that no item stands"
            " out: a label of 1 says that the answer is faithful, or right, and 0 that it is not"
        )
        return Contradictions((), math.nan, 0, tested, status="degenerate", reason=reason)
    other_shares = (k.sum() - k) / np.maximum(n.sum() - n, 1)
    usual = np.clip(2 * other_shares, USUAL_CONTRADICTION, 0.5)
    share = float(usual[n > 0].mean()) if tested else math.nan
    if tested:
        min_labels = math.ceil(math.log(alpha / tested) / math.log(share))
    else:
        min_labels = 0
    p = np.where(n > 0, binomial_above(k - 1, n, usual), np.nan)
    adjusted = np.minimum(1.0, p * tested)
    is_listed = (adjusted < alpha) & (2 * k >= n)
    if chances is not None and tested:
        c = np.clip(np.asarray(chances, dtype=np.float64), 1e-9, 1 - 1e-9)
        error = np.where(k > 0, 1 / (1 + c / (1 - c) * (1 / usual - 1) ** (2 * k - n)), 1.0)
        order = np.argsort(error, kind="stable")
        sure_items = order[np.cumsum(error[order]) <= alpha * np.arange(1, len(order) + 1)]
        adjusted[sure_items] = np.fmin(adjusted[sure_items], error[sure_items])
        is_listed[sure_items] = True
    if not is_listed.any() and (not tested or int(n.max()) < min_labels):
        max_labels = int(n.max()) if tested else 0
        reason = (
            f"an item needs {min_labels} labels before people can contradict its right answer, the"
            f" most have {max_labels}"
        )
        return Contradictions(
            (),
            share,
            min_labels,
            tested,
            status="insufficient",
            reason=reason if tested else "no answer is labelled",
        )
    rows = [
        Contradiction(int(i), int(k[i]), int(n[i]), float(adjusted[i]))
        for i in np.flatnonzero(is_listed)
    ]
    return Contradictions(tuple(sorted(rows, key=lambda row: row.p)), share, min_labels, tested)
