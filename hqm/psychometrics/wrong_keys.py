"""Which items to read first: the chance that an item's key is wrong, and who fails it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import Array, Numbers, shaped
from hqm.psychometrics.items import item_rest
from hqm.psychometrics.planted import with_wrong_keys
from hqm.psychometrics.result import Status

_SLOPES = np.array([0.4, 0.7, 1.0, 1.35, 1.8])
_EASINESS = np.linspace(-7, 7, 25)
_SHARES = np.geomspace(2e-4, 0.45, 50)
_FITTED = 1500
"""Kinds of items that the model is learnt from at most; a random sample beyond that."""
_LOW = 1e-9


@dataclass(frozen=True, slots=True)
class ItemToRead:
    """An item of the list.

    - `item`: Its number.
    - `item_rest`: The correlation of its scores with the mean of the other items; NaN where all
      score alike.
    - `fails`: Numbers of the respondents below the middle of the scale, the ablest first.
    - `expected`: The chance that its key is wrong: of ten items with .7, seven are.
    """

    item: int
    item_rest: float
    fails: tuple[int, ...]
    expected: float


@dataclass(frozen=True, slots=True)
class ReadingList:
    """Items in the order in which they are worth reading.

    - `items`: The likeliest wrong key first.
    - `expected, faults`: Wrong keys to be expected in the list, and among all items.
    - `named`: As many items from the top as have a mean chance of a right key of at most alpha.
    - `planted, power, power_named`: Wrong keys are planted in copies of the scores, so many in
      each. The share of true ones among as many items from the top, and the share of them that is
      named: what this design can find, whatever it has found.
    """

    items: tuple[ItemToRead, ...]
    expected: float = math.nan
    faults: float = math.nan
    named: tuple[ItemToRead, ...] = ()
    planted: int = 0
    power: float = math.nan
    power_named: float = math.nan
    status: Status = "ok"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Model:
    """Abilities, and the weight of every kind of item."""

    ability: Array
    weight: Array


def reading_list(
    scores: npt.ArrayLike,
    *,
    rng: np.random.Generator,
    hit: npt.ArrayLike = 1.0,
    most: int = 50,
    share: float = 0.02,
    alpha: float = 0.05,
) -> ReadingList:
    """Rank items by the chance that their key is wrong.

    A wrong key turns a yes/no item round: who is right is scored wrong, so able respondents fail
    and weak ones pass, or all fail an item that is easy. A test can seldom prove that of one item,
    but a ranking can say where to look first.

        P(pass | right key) = p = 1 / (1 + exp(-(a theta + b)))        P(pass | wrong key) = hit (1
        - p) expected = pi W / (pi W + (1 - pi) R),    R, W = likelihood under either key, averaged
        over the kinds of items

    The distribution of slopes a > 0 and easiness b is free on a grid and learnt from all items,
    with the abilities and the share pi of wrong keys (EM; over pi is integrated with Jeffreys'
    prior). Hard items that all fail are thereby weighed against easy ones with a wrong key.
    Relatives who err together show as flat slopes, and lower what is expected of every item. An
    item that able respondents fail for another reason than its key ranks high too. Efron, B.
    (2010). Large-Scale Inference, chapter 5 (local false discovery rate). Cambridge.

    - `scores`: (respondents, items): higher is better; NaN where an answer was not scored. What is
      not 0 or 1 is brought to that range.
    - `rng`: Draws the sample of a large set, and the planted items.
    - `hit`: One number or (items,): the chance that a wrong answer meets a wrong key: 1 for yes/no,
      1 / (k - 1) for k options.
    - `most`: Length of the list. `share`: of the items, how many wrong keys are planted.
    - `alpha`: The share of right keys that `named` may hold.

    The status is `insufficient` for fewer than 5 respondents or 20 items, `degenerate` when no item
    varies.

    >>> rng = np.random.default_rng(0)
    >>> passed = (rng.random((20, 200)) < np.linspace(0.5, 0.95, 20)[:, None]).astype(float)
    >>> passed[:, [3, 60]] = 1 - passed[:, [3, 60]]
    >>> result = reading_list(passed, rng=rng)
    >>> sorted(row.item for row in result.items[:2]), all(row.expected > 0.5 for row in result.items[:2])
    ([3, 60], True)
    """
    x = shaped(scores, "respondents, items")
    respondents, count = x.shape
    if respondents < 5 or count < 20:
        reason = (
            f"a reading list needs 5 respondents and 20 items, there are {respondents} and {count}"
        )
        return ReadingList((), status="insufficient", reason=reason)
    seen = np.isfinite(x)
    spread = np.where(seen, x, -np.inf).max(axis=0) - np.where(seen, x, np.inf).min(axis=0)
    if not (spread > _LOW).any():
        return ReadingList((), status="degenerate", reason="no item varies")
    low, high = min(0.0, float(x[seen].min())), max(1.0, float(x[seen].max()))
    x = (x - low) / (high - low)
    hits = np.broadcast_to(np.asarray(hit, dtype=np.float64), (count,))
    model = _learn(x, hits, rng)
    odds = _log_odds(x, hits, model)
    chance = _chances(odds)
    rest = item_rest(x)
    order = np.lexsort((np.nan_to_num(rest, nan=2.0), -chance))
    ablest = np.argsort(-model.ability, kind="stable")

    def rows(places: Numbers) -> tuple[ItemToRead, ...]:
        fails = (tuple(int(m) for m in ablest if x[m, i] < 0.5) for i in places)
        return tuple(
            ItemToRead(int(i), float(rest[i]), who, float(chance[i]))
            for i, who in zip(places, fails, strict=True)
        )

    planted = max(1, round(share * count))
    power, power_named = _planted(x, hits, model, odds, chance, planted, alpha, rng)
    listed, named = order[:most], order[: _sure(chance[order], alpha)]
    expected, faults = float(chance[listed].sum()), float(chance.sum())
    return ReadingList(rows(listed), expected, faults, rows(named), planted, power, power_named)


def _sure(chance: Array, alpha: float) -> int:
    """How many of the greatest chances, given in falling order, can be named with a mean error of
    at most alpha.
    """
    error = np.cumsum(1 - chance) / np.arange(1, len(chance) + 1)
    return int((error <= alpha).sum())


def _likelihoods(x: Array, hits: Array, ability: Array) -> tuple[Array, Array]:
    """(items, kinds) twice: the log likelihood of each item's scores under the right key and under
    a wrong one.
    """
    slope, easiness = np.repeat(_SLOPES, len(_EASINESS)), np.tile(_EASINESS, len(_SLOPES))
    logit = np.outer(ability, slope) + easiness
    passes, fails = -np.logaddexp(0, -logit), -np.logaddexp(0, logit)
    seen = np.isfinite(x)
    ones, zeros = np.where(seen, x, 0.0).T, np.where(seen, 1 - x, 0.0).T
    right = ones @ passes + zeros @ fails
    wrong = np.empty_like(right)
    for hit in np.unique(hits):
        rows = hits == hit
        turned = passes if hit >= 1 else np.log1p(-hit * np.exp(fails))
        wrong[rows] = ones[rows] @ (fails + math.log(max(hit, 1e-3))) + zeros[rows] @ turned
    return right, wrong


def _learn(x: Array, hits: Array, rng: np.random.Generator, rounds: int = 60) -> _Model:
    columns = np.vstack([np.where(np.isfinite(x), x, -1.0), hits]).T
    kinds, copies = np.unique(columns, axis=0, return_counts=True)
    if len(kinds) > _FITTED:
        kinds = columns[np.sort(rng.choice(len(columns), _FITTED, replace=False))]
        copies = np.ones(_FITTED, dtype=np.int64)
    x, hits, copies = (
        np.where(kinds[:, :-1] < 0, np.nan, kinds[:, :-1]).T,
        kinds[:, -1],
        copies / copies.sum(),
    )
    seen = np.isfinite(x)
    ones = np.where(seen, x, 0.0)
    rate = np.clip((ones @ copies) / np.maximum(seen @ copies, _LOW), 0.02, 0.98)
    ability = np.log(rate / (1 - rate))
    ability -= ability.mean()
    slope = np.repeat(_SLOPES, len(_EASINESS))
    weight = np.tile(np.exp(-(_EASINESS**2) / 8), len(_SLOPES))
    weight, share, before = weight / weight.sum(), 0.02, -math.inf
    for _ in range(rounds):
        right, wrong = _likelihoods(x, hits, ability)
        top = np.maximum(right.max(axis=1), wrong.max(axis=1))[:, None]
        right, wrong = (
            np.exp(right - top) * (weight * (1 - share)),
            np.exp(wrong - top) * (weight * share),
        )
        total = right.sum(axis=1) + wrong.sum(axis=1)
        likelihood = float(((np.log(total) + top[:, 0]) * copies).sum())
        right, wrong = right * (copies / total)[:, None], wrong * (copies / total)[:, None]
        weight, share = right.sum(axis=0) + wrong.sum(axis=0), float(wrong.sum())
        # a step of Newton's method for every ability, from the items as far as their keys are right
        p = 1 / (1 + np.exp(-(np.outer(ability, slope) + np.tile(_EASINESS, len(_SLOPES)))))
        asked = seen @ right
        gradient = ((ones @ right - asked * p) * slope).sum(axis=1)
        curvature = (asked * p * (1 - p) * slope**2).sum(axis=1) + _LOW
        ability = np.clip(ability + np.clip(gradient / curvature, -1, 1), -8, 8)
        if abs(likelihood - before) < 1e-6:
            break
        before = likelihood
    return _Model(ability, weight)


def _log_odds(x: Array, hits: Array, model: _Model) -> Array:
    """(items,): log W - log R."""
    right, wrong = _likelihoods(x, hits, model.ability)
    sums = []
    for log in (wrong, right):
        top = log.max(axis=1)
        sums.append(np.log(np.exp(log - top[:, None]) @ model.weight + 1e-300) + top)
    return np.asarray(np.clip(sums[0] - sums[1], -50, 50), dtype=np.float64)


def _chances(odds: Array) -> Array:
    """(items,): the chance of a wrong key, over what the share of wrong keys may be."""
    ratio = np.exp(odds)[:, None]
    mixed = (1 - _SHARES) + _SHARES * ratio
    log = np.log(mixed).sum(axis=0) + 0.5 * np.log(_SHARES) - 0.5 * np.log1p(-_SHARES)
    weight = np.exp(log - log.max())
    return np.asarray((_SHARES * ratio / mixed) @ (weight / weight.sum()), dtype=np.float64)


def _planted(
    x: Array,
    hits: Array,
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
    places = [rng.choice(x.shape[1], planted, replace=False) for _ in range(repeats)]
    every = np.concatenate(places)
    turned = _log_odds(with_wrong_keys(x[:, every], rng=rng, hit=hits[every]), hits[every], model)
    rates, named = [], []
    for k, chosen in enumerate(places):
        others = np.delete(odds, chosen)[
            rng.random(len(odds) - planted) >= np.delete(chance, chosen)
        ]
        both = np.concatenate([turned[k * planted : (k + 1) * planted], others])
        order = np.argsort(-both, kind="stable")
        rates.append(float((order[:planted] < planted).mean()))
        sure = order[: _sure(_chances(both)[order], alpha)]
        named.append(float((sure < planted).sum()) / planted)
    return float(np.mean(rates)), float(np.mean(named))
