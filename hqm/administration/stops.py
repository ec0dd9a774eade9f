"""Administrations that are stopped before every item is asked: the order of their pictures, and
where each respondent stopped.

Pictures (clusters of items) come in one random order for all respondents, which is recorded in the
store before anybody is asked. What a respondent was asked is therefore a random sample of the
pictures, the first so many of the order, and any two respondents have the pictures of the one that
stopped first in common.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hqm.administration.asks import Asks, StoredRespondent
from hqm.benchmark.adapter import Benchmark
from hqm.signature import digest
from hqm.store.database import Store
from hqm.types import Form, Item

_ORDER, _STOP = "order_of_pictures", "stopped"
"""The keys of the store's records."""


def cluster_of(item: Item) -> str:
    """What is drawn as one: the picture, or whatever the item's cluster is."""
    return item.cluster or item.id


@dataclass(frozen=True, slots=True)
class PictureOrder:
    """The random order in which the pictures of a form are asked, the same for all respondents."""

    benchmark: str
    data: str
    """The content hash of the original form."""
    seed: int
    clusters: tuple[str, ...]

    def items(self, form: Form, first: int, last: int | None = None) -> tuple[Item, ...]:
        """The items of the pictures from `first` up to, not including, `last`; picture by
        picture.
        """
        position = {cluster: i for i, cluster in enumerate(self.clusters[first:last])}
        inside = [item for item in form.items if cluster_of(item) in position]
        return tuple(sorted(inside, key=lambda item: position[cluster_of(item)]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """Where a respondent stopped, and why."""

    benchmark: str
    data: str
    sight: str
    who: str
    """The content hash of the respondent's name and identity."""
    respondent: str
    rule: str
    metric: str
    level: float
    seed: int
    pictures: int
    of_pictures: int
    items: int
    of_items: int
    score: float | None
    low: float
    high: float
    why: str
    """What ended the asking, in words that follow "when" or stand alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """What the store holds of a form that was put to respondents until a rule was met, and not
    asked to its end.
    """

    order: PictureOrder
    rule: str
    pictures: int
    """The pictures that all of them were asked."""
    stops: Mapping[int, Stop]
    """Respondent's number -> where it stopped."""
    asked: Mapping[int, int]
    """Respondent's number -> how many pictures of the order it has answered completely, from the
    first on.
    """

    @property
    def label(self) -> str:
        """How the cell names it: the rule, and the pictures used."""
        return f"{self.rule},{self.pictures}of{len(self.order.clusters)}pictures"


def picture_order(store: Store, benchmark: Benchmark, seed: int = 0) -> PictureOrder:
    """The order recorded for a benchmark's items; drawn and recorded where there is none."""
    form = benchmark.original
    known = next(
        (order for order in _orders(store, benchmark.name) if order.data == form.digest), None
    )
    if known is not None:
        return known
    names = sorted({cluster_of(item) for item in form.items})
    base = int(digest([_ORDER, form.digest, seed]).partition(":")[2], 16)
    drawn = np.random.default_rng(base).permutation(len(names))
    order = PictureOrder(benchmark.name, form.digest, seed, tuple(names[i] for i in drawn))
    store.record({_ORDER: {**asdict(order), "clusters": list(order.clusters)}})
    return order


def _order_for(store: Store, benchmark: Benchmark) -> PictureOrder | None:
    """The order of a benchmark's items; of a part of them, or by a corrected key, that of the
    benchmark they are from.
    """
    orders = list(_orders(store, benchmark.name))
    own = [order for order in orders if order.data == benchmark.original.digest]
    clusters = {cluster_of(item) for item in benchmark.original.items}
    around = [order for order in reversed(orders) if clusters <= set(order.clusters)]
    return next(iter((*own, *around)), None)


def _orders(store: Store, benchmark: str) -> Iterator[PictureOrder]:
    for record in store.records():
        row = record.get(_ORDER)
        if isinstance(row, Mapping) and row["benchmark"] == benchmark:
            yield PictureOrder(
                benchmark, str(row["data"]), int(row["seed"]), tuple(map(str, row["clusters"]))
            )


def identity_digest(name: str, identity: Mapping[str, Any]) -> str:
    """The content hash by which a stop names its respondent, as the store does."""
    return digest({"name": name, **identity})


def record_stop(store: Store, stop: Stop) -> None:
    """Keep where a respondent stopped; a stop that is recorded already is not recorded again."""
    if _last_stops(store, stop.benchmark, stop.data, stop.sight).get(stop.who) != stop:
        store.record({_STOP: asdict(stop)}, time.time())


def _last_stops(store: Store, benchmark: str, data: str, sight: str) -> dict[str, Stop]:
    stops: dict[str, Stop] = {}
    for record in store.records():
        row = record.get(_STOP)
        if isinstance(row, Mapping) and (row["benchmark"], row["data"], row["sight"]) == (
            benchmark,
            data,
            sight,
        ):
            stops[str(row["who"])] = Stop(**row)
    return stops


def stopped_in(
    asks: Asks, benchmark: Benchmark, respondents: Sequence[StoredRespondent]
) -> Stopped | None:
    """Where the administration of the original form was stopped; None where nobody stopped before
    its end.

    An administration that was completed since, by a command without a rule, is a complete one.
    """
    store = asks.store
    order = _order_for(store, benchmark)
    if order is None:
        return None
    stops = _last_stops(store, benchmark.name, order.data, asks.sight)
    identities = {
        number: identity_digest(name, identity) for number, name, identity in store.respondents()
    }
    stop_of = {who.number: stops.get(identities[who.number]) for who in respondents}
    asked = {who.number: _reached(asks, benchmark, who, order) for who in respondents}
    total = len(order.clusters)
    cut = {n: stop for n, stop in stop_of.items() if stop is not None and asked[n] < total}
    if not cut:
        return None
    # whom a signal or a failure ended has no stop; the common pictures are those of the respondents
    # that have one
    pictures = min(min(stop.pictures, asked[n]) for n, stop in cut.items())
    rules = "~".join(dict.fromkeys(stop.rule for stop in cut.values()))
    known = {n: stop for n, stop in stop_of.items() if stop is not None}
    return Stopped(order=order, rule=rules, pictures=pictures, stops=known, asked=asked)


def _reached(asks: Asks, benchmark: Benchmark, who: StoredRespondent, order: PictureOrder) -> int:
    """How many pictures, from the first of the order on, have an answer to every item, be it an
    error.

    A file may lack answers: of a recorded respondent, the last picture with any answer counts.
    """
    rows = asks.store.answer_rows(who.number, 0)
    numbers = asks.numbers(benchmark, benchmark.original, who.live)
    pairs = list(zip(benchmark.original.items, numbers, strict=True))
    if not who.live:
        answered = {cluster_of(item) for item, number in pairs if number in rows}
        return max(
            (i + 1 for i, cluster in enumerate(order.clusters) if cluster in answered), default=0
        )
    lacking = {cluster_of(item) for item, number in pairs if number not in rows}
    return next(
        (i for i, cluster in enumerate(order.clusters) if cluster in lacking), len(order.clusters)
    )
