"""Which items to read first: the chance that an item's key is wrong, and who fails it."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hqm.psychometrics.distributions import binomial_above
from hqm.psychometrics.item_statistics import item_rest
from hqm.psychometrics.result import Array, ArrayLike, Numbers, Outcome, shaped, shaped_alike


@dataclass(frozen=True, slots=True)
class PlantedFaults(Outcome):
    """What a search finds of faults planted in these data.

    - `power`: Share of the planted faults that were named; `error` is its Monte Carlo standard
      error.
    - `planted, repeats`: Faults in a copy of the data, and copies.
    """

    power: float
    error: float
    planted: int
    repeats: int


def with_wrong_keys(scores: ArrayLike, *, rng: np.random.Generator, hit: ArrayLike = 1.0) -> Array:
    """The scores that the same answers would have under wrong keys.

    Right answers are then wrong; a wrong one is right with the chance `hit` of meeting the key (k
    options: 1 / (k - 1)).
    Scores, of (respondents, items), that lie between 0 and 1 are mirrored; NaN stays.
    >>> with_wrong_keys([[1, 0, 0.25]], rng=np.random.default_rng(0))
    array([[0.  , 1.  , 0.75]])
    """
    x = shaped(scores, "respondents, items")
    met = rng.random(x.shape) < np.broadcast_to(np.asarray(hit, dtype=np.float64), (x.shape[1],))
    return np.where(met | (x == 1), 1 - x, np.where(np.isfinite(x), 0.0, np.nan))


def planted_faults(
    scores: ArrayLike,
    search: Callable[[Array], Collection[int]],
    *,
    rng: np.random.Generator,
    hit: ArrayLike = 1.0,
    share: float = 0.02,
    faults: int = 200,
    most: int = 2000,
) -> PlantedFaults:
    """The share of wrong keys that a search would find in a study like this one.

    "No faults" says little where few would be found. The respondents and items of the study stay as
    they are; in a copy, some items get the scores that a wrong key would give them, and the search
    is made there. The items at hand are taken to have right keys: where many have not, the share
    comes out too low.

    - `scores`: (respondents, items), 0 to 1; NaN where an answer was not scored.
    - `search`: Scores -> numbers of the items that it names.
    - `share`: Of the items, how many get a wrong key.
    - `faults`: How many are planted in all, over copies (40 at most).
    - `most`: Items in a copy at most, drawn at random.

    The status is `insufficient` without respondents or items.

    >>> x = (np.arange(30)[:, None] > np.tile(np.arange(3, 27), 5)).astype(float)
    >>> planted_faults(x, lambda y: np.flatnonzero(y[-1] == 0), rng=np.random.default_rng(0)).power
    1.0
    """
    x = shaped(scores, "respondents, items")
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
    size = min(x.shape[1], most)
    planted = max(1, round(share * size))
    repeats = min(40, math.ceil(faults / planted))
    shares = []
    for _ in range(repeats):
        items = np.sort(rng.choice(x.shape[1], size, replace=False))
        copy = x[:, items]
        places = rng.choice(size, planted, replace=False)
        copy[:, places] = with_wrong_keys(copy[:, places], rng=rng, hit=hits[items[places]])
        shares.append(len(set(places.tolist()) & {int(i) for i in search(copy)}) / planted)
    power = float(np.mean(shares))
    return PlantedFaults(
        power, math.sqrt(power * (1 - power) / (planted * repeats)), planted, repeats
    )


_SLOPE = np.repeat([0.4, 0.7, 1.0, 1.35, 1.8], 25)
_EASE = np.tile(np.linspace(-7, 7, 25), 5)
"""(kinds,): the slope and the easiness of each kind of item."""
_SHARES = np.geomspace(2e-4, 0.45, 50)
_ROUNDS = 60
"""Of learning the model, at most."""
_FITTED = 1500
"""Kinds of items that the model is learnt from at most; a random sample beyond that."""
_LOW = 1e-9
FEWEST = 10
"""From how many respondents on a number is said and an item named."""
_BLOCK = 10
"""From how many items on a type and side of the key has abilities of its own."""
_LENT = 250
"""How many items of all the weights of a block borrow."""
_SHOWN = 5.41
"""From which likelihood ratio statistic on a share of wrong keys is shown: without any it is
reached by one study in a hundred (half a chi-squared variable with one degree of freedom).
"""
_TOGETHER = 2.33
"""From how many standard errors on the first items are failed by the same models."""


@dataclass(frozen=True, slots=True)
class ItemToRead:
    """An item of the list.

    - `item`: Its number.
    - `item_rest`: The correlation of its scores with the mean of the other items; NaN where all
      score alike.
    - `fails`: Numbers of the respondents below the middle of the scale, the ablest first.
    - `expected`: The chance that its key is wrong, if no weakness in common explains the list: of
      ten items with .7, seven are.
    """

    item: int
    item_rest: float
    fails: tuple[int, ...]
    expected: float


@dataclass(frozen=True, slots=True)
class ReadingList(Outcome):
    """Items in the order in which they are worth reading.

    - `items`: The likeliest wrong key first.
    - `faults`: Wrong keys to be expected among all items; NaN where `doubt` says why the answers do
      not tell.
    - `named`: As many items from the top as have a mean chance of a right key of at most alpha;
      none where there is a doubt.
    - `doubt`: Why there is neither a number nor a name; empty where there is no doubt.
    - `stands_out`: Whether more items than chance explains are failed by able respondents, and not
      by the same ones: worth a reader's time, however few the respondents.
    - `evidence`: Likelihood ratio statistic of the share of wrong keys against none.
    - `together`: How far the same respondents fail the first items, beyond what wrong keys explain,
      in standard errors.
    - `planted, power, power_named`: Wrong keys are planted in copies of the scores, so many in
      each. The share of true ones among as many items from the top, and the share of them that is
      named: what this design can find, whatever it has found.
    """

    items: tuple[ItemToRead, ...]
    faults: float = math.nan
    named: tuple[ItemToRead, ...] = ()
    doubt: str = ""
    stands_out: bool = False
    evidence: float = math.nan
    together: float = math.nan
    planted: int = 0
    power: float = math.nan
    power_named: float = math.nan


@dataclass(frozen=True, slots=True)
class _Model:
    """Of every block: the abilities of the respondents in it, and the weight of every kind of
    item.
    """

    ability: Array
    weight: Array


def reading_list(
    scores: ArrayLike,
    *,
    rng: np.random.Generator,
    hit: ArrayLike = 1.0,
    types: Sequence[Hashable] | None = None,
    sides: Sequence[Hashable] | None = None,
    most: int = 50,
    share: float = 0.02,
    alpha: float = 0.05,
) -> ReadingList:
    """Rank items by the chance that their key is wrong.

    A wrong key turns a yes/no item round: who is right is scored wrong, so able respondents fail
    and weak ones pass, or all fail an item that is easy. A test can seldom prove that of one item,
    but a ranking can say where to look first. What able respondents fail in common is no wrong key:
    a type that they cannot do, or a lean to one answer. So every block b, the items of a type with
    one side of the key, has abilities of its own.

        P(pass | right key) = p = 1 / (1 + exp(-(a (theta + delta_b) + e))), delta_b ~ N(0, tau2)
        P(pass | wrong key) = hit (1 - p)
        expected = pi W / (pi W + (1 - pi) R),    R, W = likelihood under either key

    The distribution of slopes a > 0 and easiness e is free on a grid and learnt from all items,
    more from those of the block, with the abilities, tau2 and the share pi of wrong keys (EM; over
    pi is integrated with Jeffreys' prior). Hard items that all fail are thereby weighed against
    easy ones with a wrong key. Efron, B. (2010). Large-Scale Inference, chapter 5 (local false
    discovery rate). Cambridge.

    An item that able respondents fail for another reason than its key ranks high too. So neither a
    number nor a name is given with fewer than 10 respondents, where the likelihood ratio of pi
    against 0 is one of chance, where leaving out one type takes the number away, or where the
    same respondents fail the first items beyond what wrong keys explain:

        z = sum_m [(sum_i r)^2 - sum_i r^2] / sqrt(2 sum_m [(sum_i v)^2 - sum_i v^2]) > 2.33,
        r = x - P(pass | wrong key) with variance v, over the 5 to 40 first items

    - `scores`: (respondents, items): higher is better; NaN where an answer was not scored. What is
      not 0 or 1 is brought to that range.
    - `rng`: Draws the sample of a large set, and the planted items.
    - `hit`: One number or (items,): the chance that a wrong answer meets a wrong key: 1 for yes/no,
      1 / (k - 1) for k options.
    - `types, sides`: (items,): what kind of item it is, and which answer its key is.
    - `most`: Length of the list. `share`: of the items, how many wrong keys are planted.
    - `alpha`: The share of right keys that `named` may hold.

    The status is `insufficient` for fewer than 5 respondents or 20 items, `degenerate` when no item
    varies.

    >>> rng = np.random.default_rng(0)
    >>> passed = (rng.random((20, 200)) < np.linspace(0.5, 0.95, 20)[:, None]).astype(float)
    >>> passed[:, [3, 60]] = 1 - passed[:, [3, 60]]
    >>> result = reading_list(passed, rng=rng)
    >>> sorted(row.item for row in result.items[:2]), round(result.faults)
    ([3, 60], 2)
    """
    x = shaped(scores, "respondents, items")
    respondents, count = x.shape
    if respondents < 5 or count < 20:
        return ReadingList(
            (),
            status="insufficient",
            reason=f"a reading list needs 5 respondents and 20 items, there are {respondents}"
            f" and {count}",
        )
    seen = np.isfinite(x)
    spread = np.where(seen, x, -np.inf).max(axis=0) - np.where(seen, x, np.inf).min(axis=0)
    if not (spread > _LOW).any():
        return ReadingList((), status="degenerate", reason="no item varies")
    low, high = min(0.0, float(x[seen].min())), max(1.0, float(x[seen].max()))
    x = (x - low) / (high - low)
    hits = np.broadcast_to(np.asarray(hit, dtype=np.float64), (count,))
    kinds = _numbered(types, count)
    blocks = _blocks(kinds, _numbered(sides, count))
    model = _learn(x, hits, blocks, rng)
    odds = _log_odds(x, hits, blocks, model)
    chance = _chances(odds)
    rest = item_rest(x)
    order = np.lexsort((rest, -chance))  # NaN stands last
    ablest = np.argsort(-model.ability.mean(axis=0), kind="stable")

    def rows(places: Numbers) -> tuple[ItemToRead, ...]:
        fails = (tuple(int(m) for m in ablest if x[m, i] < 0.5) for i in places)
        return tuple(
            ItemToRead(int(i), float(rest[i]), who, float(chance[i]))
            for i, who in zip(places, fails, strict=True)
        )

    planted = max(1, round(share * count))
    power, power_named = _planted(x, hits, blocks, model, odds, chance, planted, alpha, rng)
    faults, sure = float(chance.sum()), _sure(chance[order], alpha)
    together = _together(x, hits, blocks, model, order, faults)
    doubt = _doubt(odds, kinds, faults, together) if faults >= 1 or sure else ""
    stands_out = _evidence(odds) >= _SHOWN and together <= _TOGETHER
    if respondents < FEWEST:
        doubt = doubt or (
            f"{respondents} respondents tell what to read first, and {FEWEST} are needed to tell"
            " how many keys are wrong"
        )
    return ReadingList(
        rows(order[:most]),
        math.nan if doubt else faults,
        () if doubt else rows(order[:sure]),
        doubt,
        stands_out,
        _evidence(odds),
        together,
        planted,
        power,
        0.0 if doubt and (respondents < FEWEST or _evidence(odds) >= _SHOWN) else power_named,
    )


def _doubt(odds: Array, kinds: Numbers, faults: float, together: float) -> str:
    """Return why the expected number of wrong keys is not reported; empty where it is."""
    if _evidence(odds) < _SHOWN:
        return "able respondents fail no more items that weak ones pass than chance explains"
    if together > _TOGETHER:
        return (
            "the first items are failed by the same respondents for a common reason, which wrong"
            " keys do not explain"
        )
    # how many of those expected go when a type is left out, against its share of the items
    types, sizes = np.unique(kinds, return_counts=True)
    for kind, size in zip(types, sizes, strict=True):
        others = odds[kinds != kind]
        if size >= _BLOCK:
            own = round(faults - float(_chances(others).sum()))
            if binomial_above(own - 1, round(faults), size / len(odds)) < 0.01 / len(types):
                return "the number rests on one type of items, and is gone when that is left out"
    return ""


def _numbered(labels: Sequence[Hashable] | None, count: int) -> Numbers:
    """(items,): a number for each label, in the order of their first places."""
    first: dict[Hashable, int] = {}
    given = [None] * count if labels is None else labels
    return np.array([first.setdefault(label, len(first)) for label in given])


def _blocks(types: Numbers, sides: Numbers) -> Numbers:
    """(items,): a number for each type and side of the key; where a type has few items of a side,
    for the type; where it has few, for all such types.
    """
    blocks = types * (sides.max() + 1) + sides
    for coarser in (-1 - types, np.full(len(types), -1 - len(types))):
        _, places, counts = np.unique(blocks, return_inverse=True, return_counts=True)
        blocks = np.where(counts[places] < _BLOCK, coarser, blocks)
    return np.unique(blocks, return_inverse=True)[1]


def _sure(chance: Array, alpha: float) -> int:
    """How many of the greatest chances, given in falling order, can be named with a mean error of
    at most alpha.
    """
    error = np.cumsum(1 - chance) / np.arange(1, len(chance) + 1)
    return int((error <= alpha).sum())


_Scores = tuple[Array, Array, list[tuple[float, Numbers]]]


def _scores(x: Array, hits: Array) -> _Scores:
    """(items, respondents) twice: what was passed and what was failed, 0 where there is no score;
    and the items that have each chance of a hit.
    """
    seen = np.isfinite(x)
    ones, zeros = np.where(seen, x, 0.0).T, np.where(seen, 1 - x, 0.0).T
    return ones, zeros, [(hit, np.flatnonzero(hits == hit)) for hit in np.unique(hits)]


def _likelihoods(scores: _Scores, ability: Array) -> tuple[Array, Array]:
    """(items, kinds) twice: the log likelihood of each item's scores under the right key and under
    a wrong one.
    """
    ones, zeros, by_hit = scores
    logit = np.outer(ability, _SLOPE) + _EASE
    passes, fails = -np.logaddexp(0, -logit), -np.logaddexp(0, logit)
    right = ones @ passes + zeros @ fails
    wrong = np.empty_like(right)
    for hit, rows in by_hit:
        turned = passes if hit >= 1 else np.log1p(-hit * np.exp(fails))
        wrong[rows] = ones[rows] @ (fails + math.log(max(hit, 1e-3))) + zeros[rows] @ turned
    return right, wrong


def _learn(x: Array, hits: Array, blocks: Numbers, rng: np.random.Generator) -> _Model:
    columns = np.vstack([np.where(np.isfinite(x), x, -1.0), hits, blocks]).T
    kinds, copies = np.unique(columns, axis=0, return_counts=True)
    if len(kinds) > _FITTED:
        kinds = columns[np.sort(rng.choice(len(columns), _FITTED, replace=False))]
        copies = np.ones(_FITTED, dtype=np.int64)
    x, hits, block = (
        np.where(kinds[:, :-2] < 0, np.nan, kinds[:, :-2]).T,
        kinds[:, -2],
        kinds[:, -1].astype(np.int64),
    )
    many = int(blocks.max()) + 1
    places = [np.flatnonzero(block == b) for b in range(many)]
    copies = copies * (len(columns) / copies.sum())
    size = np.bincount(block, copies, many)
    seen = np.isfinite(x)
    ones = np.where(seen, x, 0.0)
    rate = np.clip((ones @ copies) / np.maximum(seen @ copies, _LOW), 0.02, 0.98)
    ability = np.log(rate / (1 - rate))
    ability -= ability.mean()
    own, spread = np.zeros((many, len(ability))), 0.1
    passed, asked = [ones[:, of] for of in places], [seen[:, of].astype(float) for of in places]
    for b, of in enumerate(places):
        rate = passed[b] @ copies[of] + 0.5 * _BLOCK * (1 / (1 + np.exp(-ability)))
        tried = asked[b] @ copies[of] + 0.5 * _BLOCK
        own[b] = np.log(rate + 0.5) - np.log(tried - rate + 0.5) - ability
    own -= own.mean(axis=1, keepdims=True)
    own -= own.mean(axis=0)
    scores = [_scores(x[:, of], hits[of]) for of in places]
    weight, share, before = np.tile(np.exp(-(_EASE**2) / 8), (many, 1)), 0.02, -math.inf
    for _ in range(_ROUNDS):
        likelihood, faulty = 0.0, 0.0
        counts = np.zeros_like(weight)
        gradient, curvature = np.zeros_like(own), np.zeros_like(own)
        for b, of in enumerate(places):
            right, wrong = _likelihoods(scores[b], ability + own[b])
            top = np.maximum(right.max(axis=1), wrong.max(axis=1))[:, None]
            # in place: to fetch memory for tables of this size takes as long as to fill them
            for table, part in ((right, 1 - share), (wrong, share)):
                table -= top
                np.exp(table, out=table)
                table *= weight[b] * part
            total = right.sum(axis=1) + wrong.sum(axis=1)
            likelihood += float(((np.log(total) + top[:, 0]) * copies[of]).sum())
            for table in (right, wrong):
                table *= (copies[of] / total)[:, None]
            counts[b], faulty = right.sum(axis=0) + wrong.sum(axis=0), faulty + float(wrong.sum())
            # a step of Newton's method for every ability, from the items as far as their keys are
            # right
            p = 1 / (1 + np.exp(-(np.outer(ability + own[b], _SLOPE) + _EASE)))
            expected = asked[b] @ right
            gradient[b] = ((passed[b] @ right - expected * p) * _SLOPE).sum(axis=1)
            curvature[b] = (expected * p * (1 - p) * _SLOPE**2).sum(axis=1) + _LOW
        share = faulty / len(columns)
        weight = (counts + _LENT * counts.sum(axis=0) / len(columns)) / (size + _LENT)[:, None]
        ability = np.clip(
            ability + np.clip(gradient.sum(axis=0) / curvature.sum(axis=0), -1, 1), -8, 8
        )
        if many > 1:
            held = curvature + 1 / spread
            own = own + np.clip((gradient - own / spread) / held, -1, 1)
            own = np.clip(own - own.mean(axis=0), -8, 8)
            spread = max(float((own**2 + 1 / held).mean()), 1e-4)
        if abs(likelihood - before) < 1e-6 * len(columns):
            break
        before = likelihood
    return _Model(ability + own, weight)


def _weighed(
    x: Array, hits: Array, blocks: Numbers, model: _Model
) -> Iterator[tuple[int, Numbers, Array, Array]]:
    """Of every block its number and its items, and their log likelihoods under either key with the
    weights of the kinds.
    """
    for b in np.unique(blocks):
        of = np.flatnonzero(blocks == b)
        right, wrong = _likelihoods(_scores(x[:, of], hits[of]), model.ability[b])
        weight = np.log(model.weight[b] + 1e-300)
        yield int(b), of, right + weight, wrong + weight


def _log_odds(x: Array, hits: Array, blocks: Numbers, model: _Model) -> Array:
    """(items,): log W - log R."""
    odds = np.empty(len(blocks))
    for _, of, right, wrong in _weighed(x, hits, blocks, model):
        odds[of] = np.logaddexp.reduce(wrong, axis=1) - np.logaddexp.reduce(right, axis=1)
    return np.clip(odds, -50, 50)


def _together(
    x: Array, hits: Array, blocks: Numbers, model: _Model, order: Numbers, faults: float
) -> float:
    """How far the same respondents fail the likeliest items, beyond what wrong keys explain, in
    standard errors.
    """
    first = order[: int(np.clip(round(faults), 5, 40))]
    x, hits, blocks = x[:, first], hits[first], blocks[first]
    passes = np.empty_like(x)
    for b, of, _, wrong in _weighed(x, hits, blocks, model):
        fails = 1 / (1 + np.exp(np.outer(model.ability[b], _SLOPE) + _EASE))
        posterior = np.exp(wrong - np.logaddexp.reduce(wrong, axis=1)[:, None])
        passes[:, of] = hits[of] * (fails @ posterior.T)
    seen = np.isfinite(x)
    left = np.where(seen, x - passes, 0.0)
    noise = np.where(seen, passes * (1 - passes), 0.0)
    above = (left.sum(axis=1) ** 2 - (left**2).sum(axis=1)).sum()
    spread = 2 * (noise.sum(axis=1) ** 2 - (noise**2).sum(axis=1)).sum()
    return float(above / math.sqrt(spread + _LOW))


def _evidence(odds: Array) -> float:
    """The likelihood ratio statistic of the likeliest share of wrong keys against none."""
    mixed = (1 - _SHARES) + _SHARES * np.exp(odds)[:, None]
    return max(0.0, float(2 * np.log(mixed).sum(axis=0).max()))


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
    blocks: Numbers,
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
    wrong = with_wrong_keys(x[:, every], rng=rng, hit=hits[every])
    turned = _log_odds(wrong, hits[every], blocks[every], model)
    rates, named = [], []
    for k, chosen in enumerate(places):
        others = np.delete(odds, chosen)[
            rng.random(len(odds) - planted) >= np.delete(chance, chosen)
        ]
        both = np.concatenate([turned[k * planted : (k + 1) * planted], others])
        order = np.argsort(-both, kind="stable")
        rates.append(float((order[:planted] < planted).mean()))
        sure = order[: _sure(_chances(both)[order], alpha) * (_evidence(both) >= _SHOWN)]
        named.append(float((sure < planted).sum()) / planted)
    return float(np.mean(rates)), float(np.mean(named))


USUAL = 0.2
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
    """The items that people contradict beyond the scorer's usual errors, the surest first.

    - `usual`: The share of contradicted answers that counts as usual.
    - `fewest`: How many labels an item needs before it could be among them at all.
    """

    items: tuple[Contradiction, ...]
    usual: float
    fewest: int
    tested: int


def contradicted_items(
    automatic: ArrayLike,
    human: ArrayLike,
    *,
    alpha: float = 0.05,
    chances: ArrayLike | None = None,
) -> Contradictions:
    """Which items have answers that people judge against the scorer, nearly all of them?

    A scorer that misreads an answer now and then is contradicted on some answers of many items; a
    wrong right answer is contradicted on all answers of one item. Binomial test of each item's
    contradicted labels against the usual share, which is twice the share of all other items, at
    least .2; Bonferroni over items. Half of the labels must contradict. Where the answers already
    speak of a wrong key, few labels do: an item is listed too while the mean of 1 - c' is at most
    alpha over the items from the greatest c' on,

        c' / (1 - c') = c / (1 - c) ((1 - u) / u)^(2 k - n),    k of n labels contradict, u = usual

    - `automatic, human`: (respondents, items), 0 or 1, NaN where an answer is not scored or not
      labelled.
    - `alpha`: The chance that any sound item is listed.
    - `chances`: (items,): c, the chance of a wrong key by the answers alone (`reading_list`).

    The status is `insufficient` where no item has labels enough to be listed, and none is. It is
    `degenerate`, and nothing is listed, where more than half of all labels contradict: then the
    labels are turned round, or about something else.

    >>> scored = np.ones((8, 50))
    >>> labels = scored.copy()
    >>> labels[:, 7] = 0
    >>> [(row.item, row.contradicted) for row in contradicted_items(scored, labels).items]
    [(7, 8)]
    """
    a, h = shaped_alike(automatic, human, "respondents, items")
    known = np.isfinite(a) & np.isfinite(h)
    n = known.sum(axis=0)
    k = (known & (np.where(known, a, 0) != np.where(known, h, 0))).sum(axis=0)
    tested = int((n > 0).sum())
    if binomial_above(k.sum() - 1, n.sum(), 0.5) < alpha:
        reason = (
            f"{k.sum() / n.sum():.0%} of the labels contradict the scorer, so that no item stands"
            " out: a label of 1 says that the answer is faithful, or right, and 0 that it is not"
        )
        return Contradictions((), math.nan, 0, tested, status="degenerate", reason=reason)
    other = (k.sum() - k) / np.maximum(n.sum() - n, 1)
    usual = np.clip(2 * other, USUAL, 0.5)
    share = float(usual[n > 0].mean()) if tested else math.nan
    fewest = math.ceil(math.log(alpha / tested) / math.log(share)) if tested else 0
    p = np.where(n > 0, binomial_above(k - 1, n, usual), np.nan)
    adjusted = np.minimum(1.0, p * tested)
    shown = (adjusted < alpha) & (2 * k >= n)
    if chances is not None and tested:
        c = np.clip(np.asarray(chances, dtype=np.float64), 1e-9, 1 - 1e-9)
        error = np.where(k > 0, 1 / (1 + c / (1 - c) * (1 / usual - 1) ** (2 * k - n)), 1.0)
        order = np.argsort(error, kind="stable")
        sure = order[np.cumsum(error[order]) <= alpha * np.arange(1, len(order) + 1)]
        adjusted[sure] = np.fmin(adjusted[sure], error[sure])
        shown[sure] = True
    if not shown.any() and (not tested or int(n.max()) < fewest):
        most = int(n.max()) if tested else 0
        reason = (
            f"an item needs {fewest} labels before people can contradict its right answer, the most"
            f" have {most}"
        )
        return Contradictions(
            (),
            share,
            fewest,
            tested,
            status="insufficient",
            reason=reason if tested else "no answer is labelled",
        )
    rows = [
        Contradiction(int(i), int(k[i]), int(n[i]), float(adjusted[i]))
        for i in np.flatnonzero(shown)
    ]
    return Contradictions(tuple(sorted(rows, key=lambda row: row.p)), share, fewest, tested)
