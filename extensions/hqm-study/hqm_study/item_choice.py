"""Choose the items of a short form, and their weights, from the answers of some respondents: arrays
in, arrays out.

A method uses the answers that it is given and nothing else, so that held-out respondents cannot
leak into it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hqm.psychometrics import Array, IntArray

MIN_STRATUM_ITEMS = 2
"""The fewest items that a form has of each stratum that has as many."""
_MAX_DIMENSIONS = 6
"""The most dimensions of the respondents' answers that weights are fitted to."""
_ITEMS_A_DIMENSION, _ITEMS_A_STRATUM, _ITEMS_A_LINE = 15, 5, 40
"""The fewest items of a form for each dimension, for each stratum, and for each stratum's own line
of easiness.
"""


@dataclass(frozen=True, slots=True, eq=False)
class ItemFit:
    """Easiness and dimensions of the items, from some respondents' answers.

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
    strata: IntArray
    pictures: IntArray
    families: tuple[str, ...]
    numbers: Array

    def exclude_families(self, families: frozenset[str]) -> Bank:
        """The bank without some families' answers."""
        rows = [i for i, name in enumerate(self.families) if name not in families]
        return replace(
            self, values=self.values[rows], families=tuple(self.families[i] for i in rows)
        )

    @cached_property
    def members(self) -> tuple[IntArray, ...]:
        """The items of every stratum."""
        return tuple(np.flatnonzero(self.strata == s) for s in range(int(self.strata.max()) + 1))

    @cached_property
    def fit(self) -> ItemFit:
        """What the answers say of the items; one that was not scored is taken as the item's
        mean.
        """
        scored = np.isfinite(self.values)
        weight = (
            np.array([1.0 / self.families.count(name) for name in self.families])[:, None] * scored
        )
        total = weight.sum(axis=0)
        raw = (weight * np.where(scored, self.values, 0.0)).sum(axis=0)
        by_stratum = np.bincount(self.strata, raw) / np.maximum(
            np.bincount(self.strata, total), 1e-12
        )
        easiness = (raw + by_stratum[self.strata]) / (total + 1.0)
        filled = np.where(scored, self.values, easiness)
        centred = filled - filled.mean(axis=1, keepdims=True)
        _, vectors = np.linalg.eigh(centred @ centred.T)
        return ItemFit(
            easiness,
            filled,
            np.ascontiguousarray((vectors[:, ::-1].T @ filled)[:_MAX_DIMENSIONS].T),
        )


@dataclass(frozen=True, slots=True, eq=False)
class ShortForm:
    """The items of one form.

    - `items`: Their numbers; the k-th items of two forms belong together.
    - `weights`: For how many items of the full benchmark each stands.
    - `auxiliary`: (items, values): what the standard error takes as known of them.
    """

    items: IntArray
    weights: Array
    auxiliary: Array


# --- which items ---


def allocate_items(counts: Sequence[float], items: int, available: Sequence[int]) -> list[int]:
    """How many items of each stratum: in proportion, by largest remainders, at least two, at most
    what there is.

    >>> allocate_items([100, 30, 4], 20, [100, 30, 4])
    [14, 4, 2]
    """
    size = np.asarray(counts, dtype=np.float64)
    limit = np.asarray(available)
    floor = np.minimum(limit, MIN_STRATUM_ITEMS)
    allocation = np.minimum(
        np.maximum(np.floor(items * size / size.sum()).astype(int), floor), limit
    )
    while allocation.sum() != items:
        step = 1 if allocation.sum() < items else -1
        adjustable = allocation < limit if step > 0 else allocation > floor
        if not adjustable.any():
            break
        deficit = np.where(adjustable, (items * size / size.sum() - allocation) * step, -np.inf)
        allocation[int(np.argmax(deficit))] += step
    return [int(n) for n in allocation]


def choose_by_difficulty(
    bank: Bank, items: int, forms: int, *, blind: bool = False
) -> list[ShortForm]:
    """One item a form from each block of about equally difficult items of a stratum, of the
    pictures used least.

    `blind` puts the items of a stratum in random order before it is cut into blocks. The items of a
    block are dealt to two forms so that these are matched.
    """
    easiness, random_numbers, pictures = (
        bank.fit.easiness,
        bank.numbers.tolist(),
        bank.pictures.tolist(),
    )
    counts = allocate_items(
        [len(stratum_items) for stratum_items in bank.members],
        items,
        [len(stratum_items) // forms for stratum_items in bank.members],
    )
    picture_use = [0] * (int(bank.pictures.max()) + 1)
    chosen_blocks: list[list[int]] = []
    weights: list[float] = []
    for stratum_items, count in zip(bank.members, counts, strict=True):
        if not count:
            continue
        keys = (
            (bank.numbers[stratum_items],)
            if blind
            else (bank.numbers[stratum_items], easiness[stratum_items])
        )
        for block in _blocks(stratum_items[np.lexsort(keys)], count, forms):
            ranked = sorted(
                block.tolist(), key=lambda item: (picture_use[pictures[item]], random_numbers[item])
            )[:forms]
            for item in ranked:
                picture_use[pictures[item]] += 1
            chosen_blocks.append(ranked)
            weights.append(float(len(block)))
    return _build_forms(bank, chosen_blocks, weights)


def _blocks(order: IntArray, count: int, forms: int) -> list[IntArray]:
    """Items in order, cut into blocks of nearly equal number, each with an item for every form."""
    items_per_form = len(order) // forms
    block_ends = forms * (np.arange(1, count) * items_per_form // count)
    return list(np.split(order, block_ends))


def _build_forms(
    bank: Bank, blocks: Sequence[Sequence[int]], weights: Sequence[float]
) -> list[ShortForm]:
    """The forms from their items, block by block; weights are made to add up to the number of items
    of each stratum.
    """
    counts = np.bincount(bank.strata).astype(np.float64)
    short_forms = []
    for form_items in _match_forms(bank, np.array(blocks, dtype=np.int64)).T:
        strata, block_weights = bank.strata[form_items], np.array(weights)
        weight_sums = np.bincount(strata, block_weights, minlength=len(counts))
        # the k-th items of two forms are of one stratum, and about as easy
        order = np.lexsort((form_items, bank.fit.easiness[form_items], strata))
        weight = (block_weights * (counts / np.maximum(weight_sums, 1e-12))[strata])[order]
        short_forms.append(
            ShortForm(form_items[order], weight, _auxiliary_variables(bank, form_items[order]))
        )
    return short_forms


def _match_forms(bank: Bank, blocks: IntArray) -> IntArray:
    """(blocks, forms): the two items of each block, dealt so that the known respondents score alike
    on both forms so far.
    """
    if blocks.shape[1] != 2:
        return blocks
    differences = (bank.fit.filled[:, blocks[:, 0]] - bank.fit.filled[:, blocks[:, 1]]).T
    cumulative_difference = np.zeros(differences.shape[1])
    matched = blocks.copy()
    for block, step in enumerate(differences):
        if float(cumulative_difference @ step) > 0:
            matched[block] = blocks[block, ::-1]
            cumulative_difference = cumulative_difference - step
        else:
            cumulative_difference = cumulative_difference + step
    return matched


def _auxiliary_variables(
    bank: Bank, items: IntArray, extra_variables: Array | None = None
) -> Array:
    """(items, values): what the standard error takes as known of a form's items, as far as there
    are items enough.

    The stratum, because a form has its share of each; the easiness, in each stratum its own line
    where it has many items.
    """
    stratum_dummies = np.eye(int(bank.strata.max()) + 1)[bank.strata[items]]
    stratum_dummies = stratum_dummies[:, stratum_dummies.any(axis=0)]
    easiness = bank.fit.easiness[items][:, None]
    strata = (
        stratum_dummies
        if stratum_dummies.shape[1] <= len(items) / _ITEMS_A_STRATUM
        else np.ones((len(items), 1))
    )
    stratum_easiness = (
        easiness * stratum_dummies
        if stratum_dummies.shape[1] <= len(items) / _ITEMS_A_LINE
        else easiness
    )
    return np.concatenate(
        [strata, stratum_easiness, *([] if extra_variables is None else [extra_variables])], axis=1
    )


def choose_anchors(bank: Bank, items: int, forms: int) -> list[ShortForm]:
    """Anchors: items are clustered by how they were answered; the items next to a centre stand for
    its cluster.

    Polo, F. M. et al. (2024). tinyBenchmarks. ICML. Clusters by k-means within each stratum.
    """
    from scipy.cluster.vq import kmeans2

    counts = allocate_items(
        [len(stratum_items) for stratum_items in bank.members],
        items,
        [len(stratum_items) // forms for stratum_items in bank.members],
    )
    chosen_blocks: list[list[int]] = []
    weights: list[float] = []
    for stratum_items, count in zip(bank.members, counts, strict=True):
        if not count:
            continue
        # items with equal answers are one point: their random numbers separate them
        points = (
            bank.fit.dimensions[stratum_items][:, :4] + 1e-3 * bank.numbers[stratum_items][:, None]
        )
        start = points[np.argsort(bank.numbers[stratum_items], kind="stable")[:count]]
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", UserWarning
            )  # a cluster without items gets the item nearest to its centre
            centres, nearest = kmeans2(points, start, iter=3, minit="matrix", missing="warn")
        label = nearest.astype(np.int64)
        squared_distances = ((points - centres[label]) ** 2).sum(axis=1)
        free = np.ones(len(stratum_items), dtype=bool)
        cluster_members = {
            int(k): members for k, members in zip(*_group_by_label(label), strict=True)
        }
        for k in np.argsort(-np.bincount(label, minlength=count), kind="stable").tolist():
            nearest_items = cluster_members.get(k, np.zeros(0, dtype=np.int64))
            nearest_items = nearest_items[free[nearest_items]]
            nearest_items = nearest_items[
                np.argsort(squared_distances[nearest_items], kind="stable")
            ]
            if len(nearest_items) < forms:
                free_items = np.flatnonzero(free)
                nearest_items = free_items[
                    np.argsort(((points[free_items] - centres[k]) ** 2).sum(axis=1), kind="stable")
                ]
            anchors = nearest_items[:forms]
            free[anchors] = False
            chosen_blocks.append(stratum_items[anchors].tolist())
            weights.append(max(1.0, float(len(cluster_members.get(k, ())))))
    return _build_forms(bank, chosen_blocks, weights)


def _group_by_label(label: IntArray) -> tuple[list[int], list[IntArray]]:
    """The labels that occur, and the places of each."""
    order = np.argsort(label, kind="stable")
    names, starts = np.unique(label[order], return_index=True)
    return names.tolist(), np.split(order, starts[1:])


# --- which weights ---


def calibrate_weights(
    bank: Bank, forms: Sequence[ShortForm], variables: Array, ridge: float = 1.0
) -> list[ShortForm]:
    """Weights moved as little as possible so that what is known of the items has the full
    benchmark's totals.

    Deville, J.-C. and Sarndal, C.-E. (1992). JASA, 87, 376-382: here a ridge in place of exact
    totals, and weights between a fifth and five times what they were.
    """
    strata = np.eye(int(bank.strata.max()) + 1)[bank.strata]
    centred = variables - variables.mean(axis=0)
    scale = centred.std(axis=0)
    variables = (centred / np.where(scale > 0, scale, 1.0))[:, scale > 1e-9]
    calibrated_forms = []
    for form in forms:
        basis, form_variables = strata[form.items], variables[form.items]
        x = np.concatenate([basis, form_variables], axis=1)
        x = x[:, np.abs(x).sum(axis=0) > 0]
        totals = np.concatenate(
            [strata.sum(axis=0)[np.abs(basis).sum(axis=0) > 0], np.zeros(form_variables.shape[1])]
        )
        start = form.weights
        penalty = np.zeros(x.shape[1])
        penalty[len(totals) - form_variables.shape[1] :] = ridge * start.mean()
        weights = start
        for _ in range(3):
            deficit = totals - x.T @ weights
            step = np.linalg.lstsq(
                (x * start[:, None]).T @ x + np.diag(penalty), deficit, rcond=None
            )[0]
            weights = np.clip(weights + start * (x @ step), start / 5, start * 5)
        calibrated_forms.append(
            ShortForm(form.items, weights, _auxiliary_variables(bank, form.items, form_variables))
        )
    return calibrated_forms


def item_curves(bank: Bank) -> Array:
    """(items, 5): what a 2PL with priors expects of each item at five abilities across the
    respondents'.

    Abilities are the standardised logits of the respondents' means. Each item's maximum a
    posteriori has log a ~ N(0, 0.5) and an intercept ~ N(logit of its easiness, 2).
    """
    fit = bank.fit
    y = np.clip(fit.filled, 0.0, 1.0)
    ability = np.log((y.mean(axis=1) + 0.005) / (1.005 - y.mean(axis=1)))
    ability = (ability - ability.mean()) / max(float(ability.std()), 1e-9)
    prior = np.log(np.clip(fit.easiness, 0.01, 0.99) / (1 - np.clip(fit.easiness, 0.01, 0.99)))
    log_a, d = np.zeros(y.shape[1]), prior.copy()
    for _ in range(8):
        a = np.exp(log_a)
        p = 1 / (1 + np.exp(-(np.outer(ability, a) + d)))
        # a Newton step of each item's posterior mode, on log a and on the intercept d
        residual, v = y - p, np.maximum(p * (1 - p), 1e-6)
        slope = a * (ability @ residual) - log_a / 0.25
        curvature = a**2 * (ability**2 @ v) + 1 / 0.25
        log_a = np.clip(log_a + np.clip(slope / curvature, -0.5, 0.5), -2, 1.5)
        d = d + np.clip((residual.sum(axis=0) - (d - prior) / 4) / (v.sum(axis=0) + 1 / 4), -1, 1)
    grid = np.quantile(ability, (0.05, 0.25, 0.5, 0.75, 0.95))
    return np.asarray(1 / (1 + np.exp(-(np.outer(np.exp(log_a), grid) + d[:, None]))))


def _regression_variables(bank: Bank, forms: Sequence[ShortForm]) -> Array:
    n_dimensions = max(1, min(len(form.items) for form in forms) // _ITEMS_A_DIMENSION)
    return np.column_stack([bank.fit.easiness, bank.fit.dimensions[:, :n_dimensions]])


@dataclass(frozen=True, slots=True)
class Method:
    """A way to choose items and weights.

    - `words`: What it does, in a sentence's words.
    - `pick`: Which items.
    - `weigh`: Other weights for them, from the bank and the items; None keeps those of the choice.
    """

    words: str
    pick: str
    weigh: Callable[[Bank, Sequence[ShortForm]], list[ShortForm]] | None = None


_PICKS: Mapping[str, Callable[[Bank, int, int], list[ShortForm]]] = {
    "random": lambda bank, items, forms: choose_by_difficulty(bank, items, forms, blind=True),
    "difficulty": choose_by_difficulty,
    "anchors": choose_anchors,
}
METHODS: Mapping[str, Method] = {
    "difficulty": Method("drawn from blocks of equal difficulty within strata", "difficulty"),
    "regression": Method(
        "drawn from blocks of equal difficulty within strata, with weights that give the dimensions"
        " of the respondents' answers their totals on the full benchmark",
        "difficulty",
        lambda bank, forms: calibrate_weights(bank, forms, _regression_variables(bank, forms)),
    ),
    "2pl": Method(
        "drawn from blocks of equal difficulty within strata, with weights that give the curves of"
        " a 2PL with priors their totals on the full benchmark",
        "difficulty",
        lambda bank, forms: calibrate_weights(bank, forms, item_curves(bank)),
    ),
    "anchors": Method(
        "taken next to the centres of clusters of items, weighted by the clusters' sizes", "anchors"
    ),
    "random": Method("drawn at random within strata", "random"),
}
"""The methods that held-out families choose among, in the order in which they are preferred; the
last one is a comparison.
"""


def choose_forms(
    bank: Bank, items: int, forms: int, methods: Sequence[str] = tuple(METHODS)
) -> dict[str, list[ShortForm]]:
    """Method -> its forms; items that two methods share are chosen once."""
    picks = dict.fromkeys(METHODS[name].pick for name in methods)
    choices = {name: _PICKS[name](bank, items, forms) for name in picks}
    forms_by_method = {}
    for name in methods:
        method = METHODS[name]
        forms_by_method[name] = (
            choices[method.pick]
            if method.weigh is None
            else method.weigh(bank, choices[method.pick])
        )
    return forms_by_method
