"""Administrations that stop before every item is asked: the order of pictures, and the stops.

Pictures (clusters of items) are asked in one random order for all respondents, which the store
records before the first question. The items of a respondent are therefore a random sample of the
pictures, the first ones of the order, and two respondents share all pictures of the one that
stopped first.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, compress

import numpy as np
import numpy.typing as npt

from hqm.administration.asks import Asks, StoredRespondent
from hqm.auditing.gathering import STOP
from hqm.benchmark.adapter import Benchmark
from hqm.errors import DesignError
from hqm.scoring.matrix import ScoreMatrix
from hqm.signature import digest
from hqm.store.database import Store
from hqm.types import Cell, Form, Item, cluster_of

_ORDER = "order_of_pictures"
"""The key of the store's records of an order; a stop has `STOP`."""


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
        items_by_cluster: dict[str, list[Item]] = {}
        for item in form.items:
            items_by_cluster.setdefault(cluster_of(item), []).append(item)
        groups = filter(None, map(items_by_cluster.get, self.clusters[first:last]))
        return tuple(chain.from_iterable(groups))


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """The stop of one respondent: pictures, items, score, interval and reason."""

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
    """The reason, as a clause that can follow "when"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """The stored administration of a form that a stopping rule ended.

    An audit looks at the pictures that all respondents were asked, a random sample on which nothing
    is missing because of the rule. A respondent that was asked more has a further score on all of
    them, with an interval that holds whenever asking stopped.
    """

    order: PictureOrder
    rule: str
    pictures: int
    """The number of pictures that all of them were asked about."""
    stops: Mapping[int, Stop]
    """Respondent's number -> its stop."""
    n_answered: Mapping[int, int]
    """Respondent's number -> the number of pictures of the order that it answered completely."""

    @property
    def label(self) -> str:
        """The rule and the pictures used, for the cell."""
        return f"{self.rule},{self.pictures}of{len(self.order.clusters)}pictures"

    def common_items(self, form: Form) -> npt.NDArray[np.bool_]:
        """(items,): whether an item of a form is about a picture that all respondents were asked.

        Raises
        ------
        DesignError
            There is none.
        """
        # The first pictures of the order, which is random and the same for all respondents.
        asked_clusters = set(self.order.clusters[: self.pictures])
        common = np.array([cluster_of(item) in asked_clusters for item in form.items])
        if not common.any():
            raise DesignError(
                "the respondents stopped before they had a picture in common",
                location=self.order.benchmark,
                remedy="Ask them again, with the rule or without it.",
            )
        return common

    def on_common_items(self, matrix: ScoreMatrix) -> ScoreMatrix:
        """An administration cut to the pictures that all respondents were asked; its cell says
        so.
        """
        common = self.common_items(Form(matrix.cell.form, matrix.items))
        items = list(compress(matrix.ids, common))
        return replace(matrix.take(matrix.respondents, items), cell=self.cell(matrix.cell))

    def cell(self, cell: Cell) -> Cell:
        """The cell of the stopped administration."""
        return replace(cell, until=self.label)

    def rows(self, form: Form, respondents: Sequence[StoredRespondent]) -> dict[str, object]:
        """What `audit.json` says of it: the rule, the order's seed, the pictures used, and a row
        for each respondent.

        `inclusion` is the probability that a picture was among those asked, the same for all
        pictures.
        """
        total = len(self.order.clusters)
        n_common = int(self.common_items(form).sum())
        rows: list[Mapping[str, object]] = []
        for respondent in respondents:
            stop = self.stops.get(respondent.number)
            n_answered = self.n_answered[respondent.number]
            row: dict[str, object] = {
                "respondent": respondent.name,
                "pictures": n_answered,
                "inclusion": n_answered / total,
            }
            row["items"] = len(self.order.items(form, 0, n_answered))
            if n_answered == total:
                row["why"] = "every item was asked"
            elif stop is None:
                row["why"] = "it was not asked further, and no rule had stopped it"
            else:
                row |= {"why": stop.why, "stopped_after": stop.items}
            if stop is not None:
                row |= {"rule": stop.rule, "metric": stop.metric, "level": stop.level}
                row |= {"score": stop.score, "low": stop.low, "high": stop.high}
            rows.append(row)
        return {
            "rule": self.rule,
            "seed": self.order.seed,
            "pictures": self.pictures,
            "of_pictures": total,
            "items": n_common,
            "of_items": len(form.items),
            "inclusion": self.pictures / total,
            "respondents": rows,
        }


def picture_order(store: Store, benchmark: Benchmark, seed: int = 0) -> PictureOrder:
    """The recorded order of a benchmark's pictures; drawn and recorded if there is none."""
    form = benchmark.original
    for recorded in _orders(store, benchmark.name):
        if recorded.data == form.digest:
            return recorded
    # sorted, so that the order depends on the pictures and the seed, and not on how the items stand
    names = sorted(set(map(cluster_of, form.items)))
    base = int(digest([_ORDER, form.digest, seed]).partition(":")[2], 16)
    permutation = np.random.default_rng(base).permutation(len(names))
    order = PictureOrder(benchmark.name, form.digest, seed, tuple(names[i] for i in permutation))
    store.record({_ORDER: {**asdict(order), "clusters": list(order.clusters)}})
    return order


def _order_for(store: Store, benchmark: Benchmark) -> PictureOrder | None:
    """The order of a benchmark's pictures, or of one that has all of them (a part, another key)."""
    orders = list(_orders(store, benchmark.name))
    for order in orders:
        if order.data == benchmark.original.digest:
            return order
    clusters = set(map(cluster_of, benchmark.original.items))
    # else the latest order with all of these pictures, whatever others it has
    return next((order for order in reversed(orders) if clusters.issubset(order.clusters)), None)


def _orders(store: Store, benchmark: str) -> Iterator[PictureOrder]:
    for record in store.records():
        row = record.get(_ORDER)
        if isinstance(row, Mapping) and row["benchmark"] == benchmark:
            yield PictureOrder(
                benchmark, str(row["data"]), int(row["seed"]), tuple(map(str, row["clusters"]))
            )


def identity_digest(name: str, identity: Mapping[str, object]) -> str:
    """The content hash by which a stop names its respondent, as the store does."""
    return digest({"name": name, **identity})


def record_stop(store: Store, stop: Stop) -> None:
    """Record the stop of a respondent, unless it is recorded already."""
    if _last_stops(store, stop.benchmark, stop.data, stop.sight).get(stop.who) != stop:
        store.record({STOP: asdict(stop)}, time.time())


def _last_stops(store: Store, benchmark: str, data: str, sight: str) -> dict[str, Stop]:
    stops: dict[str, Stop] = {}
    for record in store.records():
        row = record.get(STOP)
        if isinstance(row, Mapping) and (row["benchmark"], row["data"], row["sight"]) == (
            benchmark,
            data,
            sight,
        ):
            # records come oldest first: a later stop of the same respondent replaces the earlier
            # one
            stops[str(row["who"])] = Stop(**row)
    return stops


def stopped_in(
    asks: Asks, benchmark: Benchmark, respondents: Sequence[StoredRespondent]
) -> Stopped | None:
    """The stopped administration of the original form; None if no respondent stopped early.

    An administration that a command without a rule has completed since is a complete one.
    """
    store = asks.store
    order = _order_for(store, benchmark)
    if order is None:
        return None
    stops = _last_stops(store, benchmark.name, order.data, asks.sight)
    identities = {
        number: identity_digest(name, identity) for number, name, identity in store.respondents()
    }
    n_answered: dict[int, int] = {}
    last_stops: dict[int, Stop] = {}
    rules: dict[str, None] = {}
    pictures = len(order.clusters)
    for respondent in respondents:
        number = respondent.number
        answered = _count_answered_pictures(asks, benchmark, respondent, order)
        n_answered[number] = answered
        stop = stops.get(identities[number])
        # a respondent that a signal or a failure ended has no stop, and does not limit the common
        # pictures
        if stop is None:
            continue
        last_stops[number] = stop
        # one that has answered the rest since, without a rule, counts as complete
        if answered < len(order.clusters):
            rules[stop.rule] = None
            pictures = min(pictures, stop.pictures, answered)
    if not rules:
        return None
    return Stopped(
        order=order,
        rule="~".join(rules),
        pictures=pictures,
        stops=last_stops,
        n_answered=n_answered,
    )


def _count_answered_pictures(
    asks: Asks, benchmark: Benchmark, respondent: StoredRespondent, order: PictureOrder
) -> int:
    """The number of pictures, in their order, with an answer or error for every item.

    A file may lack answers: of a recorded respondent, the last picture with any answer counts.
    """
    rows = asks.store.answer_rows(respondent.number, 0)
    numbers = asks.numbers(benchmark, benchmark.original, respondent.live)
    answered: set[str] = set()
    lacking: set[str] = set()
    for item, number in zip(benchmark.original.items, numbers, strict=True):
        (answered if number in rows else lacking).add(cluster_of(item))
    count = 0
    for index, cluster in enumerate(order.clusters):
        # a kill may have come between two questions about one picture
        if respondent.live and cluster in lacking:
            return index
        if respondent.live or cluster in answered:
            count = index + 1
    return count
