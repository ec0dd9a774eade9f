"""The score matrix: the values and tallies of respondents x items in one administration.

A metric sums units: the items of its subset or, if it has a grouping, those items taken together
group by group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from hqm.errors import DesignError
from hqm.scoring.metrics import Array, Metric
from hqm.scoring.states import ANSWERED, WITHHELD
from hqm.types import STATES, Cell, Item

_SELDOM = ("cut", "empty")
"""States that are left out of counts where no answer is in them."""
_IS_ANSWERED, _IS_WITHHELD = (
    np.array([state in these for state in STATES]) for these in (ANSWERED, WITHHELD)
)


class Sums(dict[str, Array]):
    """Summed tallies; a name that no verdict carried counts as zero."""

    def __init__(self, sums: Mapping[str, Array], *shape: int) -> None:
        super().__init__(sums)
        self._shape = shape

    def __missing__(self, key: str) -> Array:
        return np.zeros(self._shape)


NO_GROUP = -1
"""The number that stands for "in no group"."""


def least_in_groups(values: Array, groups: npt.NDArray[np.int64]) -> Array:
    """(..., items) -> (..., groups): the least value within each group, groups in the order of
    their numbers.

    Items in no group (`NO_GROUP`) are left out. For values of 0 and 1 the least is 1 only where
    every item has 1.

    >>> least_in_groups(np.array([[1.0, 0, 1, 1]]), np.array([0, 0, 1, -1]))
    array([[0., 1.]])
    """
    inside = np.flatnonzero(groups >= 0)
    order = inside[np.argsort(groups[inside], kind="stable")]
    if not order.size:
        return np.zeros((*values.shape[:-1], 0))
    starts = np.flatnonzero(np.diff(groups[order], prepend=NO_GROUP))
    return np.asarray(np.minimum.reduceat(values[..., order], starts, axis=-1), dtype=np.float64)


@dataclass(frozen=True)
class Units:
    """What a metric sums: items, or groups of items each reduced to its least value.

    Parameters
    ----------
    tallies
        Name -> (respondents, units).
    scored
        (respondents, units): whether every answer of the unit was scored; the tallies of the others
        are 0, so that they count neither in a numerator nor in a denominator.
    clusters
        (units,): the number of the cluster that a unit belongs to, from 0.
    """

    tallies: Mapping[str, Array]
    scored: npt.NDArray[np.bool_]
    clusters: npt.NDArray[np.int64]

    @property
    def sums(self) -> Sums:
        """Name -> (respondents,): the totals."""
        return Sums(
            {key: values.sum(axis=1) for key, values in self.tallies.items()}, len(self.scored)
        )


@dataclass(frozen=True)
class ScoreMatrix:
    """All verdicts of one administration.

    Parameters
    ----------
    cell
        The administration.
    respondents
        Names, in the order of the rows.
    items
        Items, in the order of the columns.
    values
        (respondents, items): the item scores; NaN where an answer was not scored.
    tallies
        Name -> (respondents, items): what the metrics sum; 0 where an answer was not scored.
    states
        (respondents, items): index into `STATES`.
    words
        (respondents, items): length of the answer in words; NaN where there is none.
    subsets
        Name -> (items,): whether an item is in the subset.
    answers
        Content hash of all answers that went in.
    groups
        Grouping -> (items,): the number of an item's group; `NO_GROUP` for none.
    """

    cell: Cell
    respondents: tuple[str, ...]
    items: tuple[Item, ...]
    values: Array
    tallies: Mapping[str, Array]
    states: npt.NDArray[np.uint8]
    words: Array
    subsets: Mapping[str, npt.NDArray[np.bool_]]
    answers: str = ""
    groups: Mapping[str, npt.NDArray[np.int64]] = field(default_factory=dict)

    @cached_property
    def clusters(self) -> npt.NDArray[np.int64]:
        """(items,): the number of the cluster that an item belongs to."""
        numbers: dict[str, int] = {}
        return np.array(
            [numbers.setdefault(item.cluster or item.id, len(numbers)) for item in self.items]
        )

    @cached_property
    def studies(self) -> dict[Any, Any]:
        """What was found out about it so far, for whoever asks again."""
        return {}

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The items' ids, in the order of the columns."""
        return tuple(item.id for item in self.items)

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Item id -> its column."""
        return {item.id: column for column, item in enumerate(self.items)}

    @property
    def scored(self) -> npt.NDArray[np.bool_]:
        return ~np.isnan(self.values)

    def mask(self, metric: Metric) -> npt.NDArray[np.bool_]:
        """(items,): the items a metric looks at."""
        if not metric.subset:
            return np.ones(len(self.items), dtype=bool)
        if metric.subset not in self.subsets:
            raise DesignError(
                f"{metric.name} looks at the subset {metric.subset!r}, which no item is in",
                remedy=f"The subsets are {', '.join(sorted(self.subsets)) or 'none'}.",
            )
        return self.subsets[metric.subset]

    def units(self, metric: Metric, among: npt.NDArray[np.bool_] | None = None) -> Units:
        """What a metric sums: the items of its subset, reduced within groups where it has a group.

        Where the subset leaves out items of a group, the group consists of the remaining ones. A
        group with an unscored answer is unscored: like an unscored answer, it counts neither as
        right nor as wrong.

        Parameters
        ----------
        metric
            Its `subset` and `group` decide.
        among
            (items,): the items to look at, in place of the metric's subset.

        Raises
        ------
        DesignError
            The items have no such grouping, or a group reaches over two clusters, so that leaving
            out one cluster would cut it.
        """
        if not metric.group and not metric.subset and among is None:
            return Units(
                self.tallies, self.scored, self.clusters
            )  # nothing is left out: nothing is copied
        mask = self.mask(metric) if among is None else among
        tallies = {key: values[:, mask] for key, values in self.tallies.items()}
        scored, clusters = self.scored[:, mask], self.clusters[mask]
        if metric.group:
            groups = self._grouping(metric)[mask]
            tallies = {key: least_in_groups(values, groups) for key, values in tallies.items()}
            scored = least_in_groups(scored.astype(np.float64), groups) > 0
            clusters = self._clusters_of(metric, groups, clusters)
        # numbers without gaps, as resampling wants them
        return Units(tallies, scored, np.unique(clusters, return_inverse=True)[1])

    def _grouping(self, metric: Metric) -> npt.NDArray[np.int64]:
        if metric.group not in self.groups:
            raise DesignError(
                f"{metric.name} looks at groups by {metric.group!r}, which no item has",
                remedy=f"The groupings are {', '.join(sorted(self.groups)) or 'none'}.",
            )
        return self.groups[metric.group]

    def _clusters_of(
        self, metric: Metric, groups: npt.NDArray[np.int64], clusters: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """(groups,): the cluster of every group."""
        numbers, first = np.unique(groups[groups >= 0], return_index=True)
        inside = clusters[groups >= 0]
        of_group = inside[first]
        if (of_group[np.searchsorted(numbers, groups[groups >= 0])] != inside).any():
            raise DesignError(
                f"a group of {metric.name} (by {metric.group!r}) reaches over several clusters",
                remedy="The benchmark must give the items of a group one cluster.",
            )
        return of_group

    def score(self, metric: Metric) -> Array:
        """(respondents,): the metric of every respondent, never rounded."""
        if metric not in self._scores:
            score = metric(self.units(metric).sums if metric.group else self._totals(metric))
            score.flags.writeable = False  # what is handed to many is changed by none
            self._scores[metric] = score
        return self._scores[metric]

    def _totals(self, metric: Metric) -> Sums:
        mask = self.mask(metric) if metric.subset else slice(None)
        return Sums(
            {key: values[:, mask].sum(axis=1) for key, values in self.tallies.items()},
            len(self.respondents),
        )

    @cached_property
    def _scores(self) -> dict[Metric, Array]:
        return {}

    def printed(self, metric: Metric) -> Array:
        """(respondents,): what the release prints for every respondent; for display alone."""
        return metric.printed(self.units(metric).sums)

    def unscored(self, metric: Metric | None = None) -> int:
        """How many answers are not scored, over all respondents.

        An answer that could not be read counts even where a release scores it as wrong.
        """
        mask = self.mask(metric) if metric else slice(None)
        return int((~self.answered)[:, mask].sum())

    @property
    def answered(self) -> npt.NDArray[np.bool_]:
        """(respondents, items): whether there is an answer that could be read."""
        return np.asarray(_IS_ANSWERED[self.states])

    @cached_property
    def withheld(self) -> npt.NDArray[np.bool_]:
        """(respondents, items): whether an answer was withheld and is scored all the same, as the
        release does.
        """
        return np.asarray(self.scored & _IS_WITHHELD[self.states])

    def state_counts(self) -> dict[str, dict[str, int]]:
        """Respondent -> state -> number of answers."""
        return {
            name: {
                state: int(count)
                for state, count in zip(
                    STATES, np.bincount(row, minlength=len(STATES)), strict=True
                )
                if count or state not in _SELDOM
            }
            for name, row in zip(self.respondents, self.states, strict=True)
        }

    def take(self, respondents: Sequence[str], items: Sequence[str]) -> ScoreMatrix:
        """The matrix of the same administration with only these respondents and items, in this
        order.
        """
        rows = np.array([self.respondents.index(name) for name in respondents], dtype=np.int64)
        columns = np.array([self.places[i] for i in items], dtype=np.int64)
        unmoved = (
            np.array_equal(at, np.arange(n))
            for at, n in ((rows, len(self.respondents)), (columns, len(self.items)))
        )
        if all(unmoved):
            return self  # nothing to leave out and nothing to move
        both = np.ix_(rows, columns)
        return ScoreMatrix(
            self.cell,
            tuple(respondents),
            tuple(self.items[c] for c in columns),
            self.values[both],
            {key: values[both] for key, values in self.tallies.items()},
            self.states[both],
            self.words[both],
            {name: mask[columns] for name, mask in self.subsets.items()},
            self.answers,
            {name: numbers[columns] for name, numbers in self.groups.items()},
        )


def align(first: ScoreMatrix, other: ScoreMatrix) -> tuple[ScoreMatrix, ScoreMatrix]:
    """Two administrations cut to the respondents and items they share, in one order.

    Raises
    ------
    DesignError
        They share no respondent or no item.
    """
    if first.respondents == other.respondents and first.ids == other.ids:
        return first, other
    here, there = set(other.respondents), other.places
    respondents = [name for name in first.respondents if name in here]
    items = [item.id for item in first.items if item.id in there]
    if not respondents or not items:
        missing = "respondent" if not respondents else "item"
        raise DesignError(
            f"{first.cell} and {other.cell} share no {missing}",
            remedy="Administer both to the same.",
        )
    return first.take(respondents, items), other.take(respondents, items)
