"""Choose the items of a short form, and their weights, from the answers of some respondents: arrays
in, arrays out.

A method looks at the answers that it is given and at nothing else, so that respondents who are held
out cannot be seen.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hqm.psychometrics import Array, Numbers

LEAST_OF_STRATUM = 2
"""The fewest items that a form has of each stratum that has as many."""
_DIMENSIONS = 6
"""The most dimensions of the respondents' answers that weights are fitted to."""
_ITEMS_A_DIMENSION, _ITEMS_A_STRATUM, _ITEMS_A_LINE = 15, 5, 40
"""The fewest items of a form for each dimension, for each stratum, and for each stratum's own line
of easiness.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """What some respondents' answers say of the items.

    - `easiness`: (items,): the mean item score, each family counted once, drawn a little towards
      the mean of its stratum.
    - `filled`: (respondents, items): the item scores without gaps.
    - `dimensions`: (items, K): the items' places on the main dimensions along which the
      respondents' answers differ.
    """

    easiness: Array
    filled: Array
    dimensions: Array


@dataclass(frozen=True, eq=False)
class Bank:
    """The items of the full benchmark, and what respondents answered.

    - `values`: (respondents, items): item scores, NaN where an answer was not scored.
    - `strata`: (items,): the number of what a form must keep its share of: type, part, right
      answer.
    - `pictures`: (items,): the number of each item's picture.
    - `families`: Every respondent's family.
    - `numbers`: (items,): a random number each, the same whoever is held out.
    """

    values: Array
    strata: Numbers
    pictures: Numbers
    families: tuple[str, ...]
    numbers: Array

    def without(self, families: frozenset[str]) -> Bank:
        """The bank without some families' answers."""
        rows = [i for i, name in enumerate(self.families) if name not in families]
        return replace(
            self, values=self.values[rows], families=tuple(self.families[i] for i in rows)
        )

    @cached_property
    def members(self) -> tuple[Numbers, ...]:
        """The items of every stratum."""
        return tuple(np.flatnonzero(self.strata == s) for s in range(int(self.strata.max()) + 1))

    @cached_property
    def fitted(self) -> Fitted:
        """What the answers say of the items; one that was not scored is taken as the item's
        mean.
        """
        seen = np.isfinite(self.values)
        weight = (
            np.array([1.0 / self.families.count(name) for name in self.families])[:, None] * seen
        )
        total = weight.sum(axis=0)
        raw = (weight * np.where(seen, self.values, 0.0)).sum(axis=0)
        by_stratum = np.bincount(self.strata, raw) / np.maximum(
            np.bincount(self.strata, total), 1e-12
        )
        easiness = (raw + by_stratum[self.strata]) / (total + 1.0)
        filled = np.where(seen, self.values, easiness)
        centred = filled - filled.mean(axis=1, keepdims=True)
        _, vectors = np.linalg.eigh(centred @ centred.T)
        return Fitted(
            easiness, filled, np.ascontiguousarray((vectors[:, ::-1].T @ filled)[:_DIMENSIONS].T)
        )


@dataclass(frozen=True, slots=True, eq=False)
class Picked:
    """The items of one form.

    - `items`: Their numbers; the k-th items of two forms belong together.
    - `weights`: For how many items of the full benchmark each stands.
    - `auxiliary`: (items, values): what the standard error takes as known of them.
    """

    items: Numbers
    weights: Array
    auxiliary: Array


# --- which items ---


def shares(counts: Sequence[float], items: int, most: Sequence[int]) -> list[int]:
    """How many items of each stratum: in proportion, by largest remainders, at least two, at most
    what there is.

    >>> shares([100, 30, 4], 20, [100, 30, 4])
    [14, 4, 2]
    """
    size = np.asarray(counts, dtype=np.float64)
    limit = np.asarray(most)
    floor = np.minimum(limit, LEAST_OF_STRATUM)
    dealt = np.minimum(np.maximum(np.floor(items * size / size.sum()).astype(int), floor), limit)
    while dealt.sum() != items:
        step = 1 if dealt.sum() < items else -1
        open_ = dealt < limit if step > 0 else dealt > floor
        if not open_.any():
            break
        lack = np.where(open_, (items * size / size.sum() - dealt) * step, -np.inf)
        dealt[int(np.argmax(lack))] += step
    return [int(n) for n in dealt]


def by_difficulty(bank: Bank, items: int, forms: int, *, blind: bool = False) -> list[Picked]:
    """One item a form from each block of about equally difficult items of a stratum, of the
    pictures used least.

    `blind` puts the items of a stratum in random order before it is cut into blocks. The items of a
    block are dealt to two forms so that these are matched.
    """
    easiness, drawn, pictures = bank.fitted.easiness, bank.numbers.tolist(), bank.pictures.tolist()
    counts = shares(
        [len(inside) for inside in bank.members],
        items,
        [len(inside) // forms for inside in bank.members],
    )
    load = [0] * (int(bank.pictures.max()) + 1)
    chosen: list[list[int]] = []
    weights: list[float] = []
    for inside, count in zip(bank.members, counts, strict=True):
        if not count:
            continue
        keys = (bank.numbers[inside],) if blind else (bank.numbers[inside], easiness[inside])
        for block in _blocks(inside[np.lexsort(keys)], count, forms):
            ranked = sorted(block.tolist(), key=lambda item: (load[pictures[item]], drawn[item]))[
                :forms
            ]
            for item in ranked:
                load[pictures[item]] += 1
            chosen.append(ranked)
            weights.append(float(len(block)))
    return _forms(bank, chosen, weights)


def _blocks(order: Numbers, count: int, forms: int) -> list[Numbers]:
    """Items in order, cut into blocks of nearly equal number, each with an item for every form."""
    whole = len(order) // forms
    ends = forms * (np.arange(1, count) * whole // count)
    return list(np.split(order, ends))


def _forms(bank: Bank, chosen: Sequence[Sequence[int]], weights: Sequence[float]) -> list[Picked]:
    """The forms from their items, block by block; weights are made to add up to the number of items
    of each stratum.
    """
    counts = np.bincount(bank.strata).astype(np.float64)
    made = []
    for items in _dealt(bank, np.array(chosen, dtype=np.int64)).T:
        strata, own = bank.strata[items], np.array(weights)
        held = np.bincount(strata, own, minlength=len(counts))
        # the k-th items of two forms are of one stratum, and about as easy
        order = np.lexsort((items, bank.fitted.easiness[items], strata))
        weight = (own * (counts / np.maximum(held, 1e-12))[strata])[order]
        made.append(Picked(items[order], weight, _known(bank, items[order])))
    return made


def _dealt(bank: Bank, chosen: Numbers) -> Numbers:
    """(blocks, forms): the two items of each block, dealt so that the known respondents score alike
    on both forms so far.
    """
    if chosen.shape[1] != 2:
        return chosen
    apart = (bank.fitted.filled[:, chosen[:, 0]] - bank.fitted.filled[:, chosen[:, 1]]).T
    ahead = np.zeros(apart.shape[1])
    turned = chosen.copy()
    for block, step in enumerate(apart):
        if float(ahead @ step) > 0:
            turned[block] = chosen[block, ::-1]
            ahead = ahead - step
        else:
            ahead = ahead + step
    return turned


def _known(bank: Bank, items: Numbers, further: Array | None = None) -> Array:
    """(items, values): what the standard error takes as known of a form's items, as far as there
    are items enough.

    The stratum, because a form has its share of each; the easiness, in each stratum its own line
    where it has many items.
    """
    every = np.eye(int(bank.strata.max()) + 1)[bank.strata[items]]
    every = every[:, every.any(axis=0)]
    easiness = bank.fitted.easiness[items][:, None]
    strata = every if every.shape[1] <= len(items) / _ITEMS_A_STRATUM else np.ones((len(items), 1))
    lines = easiness * every if every.shape[1] <= len(items) / _ITEMS_A_LINE else easiness
    return np.concatenate([strata, lines, *([] if further is None else [further])], axis=1)


def by_clusters(bank: Bank, items: int, forms: int) -> list[Picked]:
    """Anchors: items are clustered by how they were answered; the items next to a centre stand for
    its cluster.

    Polo, F. M. et al. (2024). tinyBenchmarks. ICML. Clusters by k-means within each stratum.
    """
    from scipy.cluster.vq import kmeans2

    counts = shares(
        [len(inside) for inside in bank.members],
        items,
        [len(inside) // forms for inside in bank.members],
    )
    chosen: list[list[int]] = []
    weights: list[float] = []
    for inside, count in zip(bank.members, counts, strict=True):
        if not count:
            continue
        # equal answers are one point: a little of each item's random number tells them apart
        places = bank.fitted.dimensions[inside][:, :4] + 1e-3 * bank.numbers[inside][:, None]
        start = places[np.argsort(bank.numbers[inside], kind="stable")[:count]]
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", UserWarning
            )  # a cluster without items gets the item nearest to its centre
            centres, nearest = kmeans2(places, start, iter=3, minit="matrix", missing="warn")
        label = nearest.astype(np.int64)
        away = ((places - centres[label]) ** 2).sum(axis=1)
        free = np.ones(len(inside), dtype=bool)
        own = {int(k): part for k, part in zip(*_grouped(label), strict=True)}
        for k in np.argsort(-np.bincount(label, minlength=count), kind="stable").tolist():
            near = own.get(k, np.zeros(0, dtype=np.int64))
            near = near[free[near]]
            near = near[np.argsort(away[near], kind="stable")]
            if len(near) < forms:
                every = np.flatnonzero(free)
                near = every[
                    np.argsort(((places[every] - centres[k]) ** 2).sum(axis=1), kind="stable")
                ]
            taken = near[:forms]
            free[taken] = False
            chosen.append(inside[taken].tolist())
            weights.append(max(1.0, float(len(own.get(k, ())))))
    return _forms(bank, chosen, weights)


def _grouped(label: Numbers) -> tuple[list[int], list[Numbers]]:
    """The labels that occur, and the places of each."""
    order = np.argsort(label, kind="stable")
    names, starts = np.unique(label[order], return_index=True)
    return names.tolist(), np.split(order, starts[1:])


# --- which weights ---


def calibrated(
    bank: Bank, forms: Sequence[Picked], known: Array, ridge: float = 1.0
) -> list[Picked]:
    """Weights moved as little as possible so that what is known of the items has the full
    benchmark's totals.

    Deville, J.-C. and Sarndal, C.-E. (1992). JASA, 87, 376-382: here a ridge in place of exact
    totals, and weights between a fifth and five times what they were.
    """
    strata = np.eye(int(bank.strata.max()) + 1)[bank.strata]
    centred = known - known.mean(axis=0)
    scale = centred.std(axis=0)
    known = (centred / np.where(scale > 0, scale, 1.0))[:, scale > 1e-9]
    made = []
    for form in forms:
        basis, extra = strata[form.items], known[form.items]
        x = np.concatenate([basis, extra], axis=1)
        x = x[:, np.abs(x).sum(axis=0) > 0]
        totals = np.concatenate(
            [strata.sum(axis=0)[np.abs(basis).sum(axis=0) > 0], np.zeros(extra.shape[1])]
        )
        start = form.weights
        penalty = np.zeros(x.shape[1])
        penalty[len(totals) - extra.shape[1] :] = ridge * start.mean()
        weights = start
        for _ in range(3):
            lack = totals - x.T @ weights
            step = np.linalg.lstsq((x * start[:, None]).T @ x + np.diag(penalty), lack, rcond=None)[
                0
            ]
            weights = np.clip(weights + start * (x @ step), start / 5, start * 5)
        made.append(Picked(form.items, weights, _known(bank, form.items, extra)))
    return made


def curves(bank: Bank) -> Array:
    """(items, 5): what a 2PL with priors expects of each item at five abilities across the
    respondents'.

    Abilities are the standardised logits of the respondents' means. Each item's maximum a
    posteriori has log a ~ N(0, 0.5) and an intercept ~ N(logit of its easiness, 2).
    """
    known = bank.fitted
    y = np.clip(known.filled, 0.0, 1.0)
    ability = np.log((y.mean(axis=1) + 0.005) / (1.005 - y.mean(axis=1)))
    ability = (ability - ability.mean()) / max(float(ability.std()), 1e-9)
    prior = np.log(np.clip(known.easiness, 0.01, 0.99) / (1 - np.clip(known.easiness, 0.01, 0.99)))
    log_a, d = np.zeros(y.shape[1]), prior.copy()
    for _ in range(8):
        a = np.exp(log_a)
        p = 1 / (1 + np.exp(-(np.outer(ability, a) + d)))
        left, v = y - p, np.maximum(p * (1 - p), 1e-6)
        slope = a * (ability @ left) - log_a / 0.25
        bend = a**2 * (ability**2 @ v) + 1 / 0.25
        log_a = np.clip(log_a + np.clip(slope / bend, -0.5, 0.5), -2, 1.5)
        d = d + np.clip((left.sum(axis=0) - (d - prior) / 4) / (v.sum(axis=0) + 1 / 4), -1, 1)
    grid = np.quantile(ability, (0.05, 0.25, 0.5, 0.75, 0.95))
    return np.asarray(1 / (1 + np.exp(-(np.outer(np.exp(log_a), grid) + d[:, None]))))


def _dimensions(bank: Bank, forms: Sequence[Picked]) -> Array:
    most = max(1, min(len(form.items) for form in forms) // _ITEMS_A_DIMENSION)
    return np.column_stack([bank.fitted.easiness, bank.fitted.dimensions[:, :most]])


@dataclass(frozen=True, slots=True)
class Method:
    """A way to choose items and weights.

    - `words`: What it does, in a sentence's words.
    - `pick`: Which items.
    - `weigh`: Other weights for them, from the bank and the items; None keeps those of the choice.
    """

    words: str
    pick: str
    weigh: Callable[[Bank, Sequence[Picked]], list[Picked]] | None = None


_PICKS: Mapping[str, Callable[[Bank, int, int], list[Picked]]] = {
    "random": lambda bank, items, forms: by_difficulty(bank, items, forms, blind=True),
    "difficulty": by_difficulty,
    "anchors": by_clusters,
}
METHODS: Mapping[str, Method] = {
    "difficulty": Method("drawn from blocks of equal difficulty within strata", "difficulty"),
    "regression": Method(
        "drawn from blocks of equal difficulty within strata, with weights that give the dimensions"
        " of the respondents' answers their totals on the full benchmark",
        "difficulty",
        lambda bank, forms: calibrated(bank, forms, _dimensions(bank, forms)),
    ),
    "2pl": Method(
        "drawn from blocks of equal difficulty within strata, with weights that give the curves of"
        " a 2PL with priors their totals on the full benchmark",
        "difficulty",
        lambda bank, forms: calibrated(bank, forms, curves(bank)),
    ),
    "anchors": Method(
        "taken next to the centres of clusters of items, weighted by the clusters' sizes", "anchors"
    ),
    "random": Method("drawn at random within strata", "random"),
}
"""The methods that held-out families choose among, in the order in which they are preferred; the
last one is a comparison.
"""


def pick(
    bank: Bank, items: int, forms: int, methods: Sequence[str] = tuple(METHODS)
) -> dict[str, list[Picked]]:
    """Method -> its forms; items that two methods share are chosen once."""
    chosen = {
        name: _PICKS[name](bank, items, forms)
        for name in dict.fromkeys(METHODS[m].pick for m in methods)
    }
    made = {}
    for name in methods:
        method = METHODS[name]
        made[name] = (
            chosen[method.pick] if method.weigh is None else method.weigh(bank, chosen[method.pick])
        )
    return made
