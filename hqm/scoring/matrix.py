"""The score matrix: the values and tallies of respondents x items in one administration.

A metric sums units: the items of its subset or, if it has a grouping, those items taken together
group by group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import repeat
from operator import itemgetter
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from hqm.errors import DesignError
from hqm.scoring.metrics import Array, Metric
from hqm.scoring.rules import ANSWERED, WITHHELD
from hqm.scoring.score_cache import Verdicts
from hqm.text import SHORT, has_words
from hqm.types import STATES, Cell, Form, Item, Response, Row, State, Verdict

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


# ----------------------------------------------------------------------
# Filling a score matrix: answers to verdicts, respondent by respondent.
# ----------------------------------------------------------------------

Relate = Callable[[Sequence[Item], Sequence[Verdict]], Sequence[Verdict]]
_NEW, _BY_PAIR, _BY_ITEM = -1, -2, -3
"""In place of the number of a verdict: not met yet; it depends on the item's words; the item is
looked at by itself.
"""
_looked_up: Callable[[dict[object, int], object], int | None] = dict.get


def texts_read(answers: Sequence[Response | Row | None]) -> list[str] | None:
    """The texts of answers where all were given and read; None where any was not.

    >>> texts_read([Response("Yes"), Response("No")]), texts_read([Response("Yes"), None])
    (['Yes', 'No'], None)
    """
    if None in answers:
        return None
    given = cast("Sequence[Row]", answers)
    return list(map(itemgetter(0), given)) if set(map(itemgetter(1), given)) <= {"ok"} else None


@lru_cache(maxsize=1 << 14)
def response_of(text: str, state: State = "ok", reason: str = "") -> Response:
    """An answer as the store reads it; one value for its copies, of which there may be millions."""
    return Response(text, state, reason)


class _Texts(dict[object, int]):
    """Short answers -> their numbers; what is looked up for the first time gets the next one."""

    def __missing__(self, key: object) -> int:
        # what has no word of an answer keeps its own reason, and a long answer is seldom given
        # twice
        if not isinstance(key, str) or len(key) > SHORT or not has_words(key):
            return _BY_ITEM
        number = self[key] = len(self)
        return number


class MatrixBuilder:
    """Fills a score matrix respondent by respondent, so that not all texts are in memory at a time.

    `verdicts` holds those on short answers; several administrations of one form that are scored
    alike share it, so that an answer that comes back in each of them is scored once.
    """

    def __init__(
        self,
        cell: Cell,
        form: Form,
        score: Callable[[Item, Response], Verdict],
        subsets: Callable[[Item], Sequence[str]],
        groupings: Callable[[Item], Mapping[str, str]] = lambda _: {},
        relate: Relate | None = None,
        verdicts: Verdicts | None = None,
    ) -> None:
        self.cell, self.form, self._score = cell, form, score
        self._verdicts: list[Verdict] = [Verdict.unscored("missing", "not asked")]
        self._words: list[float] = [np.nan]
        self._codes: dict[tuple[int, float], int] = {}
        self._shared = Verdicts(form.items, score) if verdicts is None else verdicts
        self._known: list[dict[object, int]] = []
        self._texts = _Texts()
        self._of_text = np.full((16, self._shared.count), _NEW, dtype=np.int32)
        self._of_pair: dict[int, int] = {}
        self._rows: list[npt.NDArray[np.int32]] = []
        self._names: list[str] = []
        self._subsets, self._groupings, self._relate = subsets, groupings, relate

    def add(
        self,
        respondent: str,
        answers: Sequence[Response | Row | None],
        texts: Sequence[str] | None = None,
    ) -> None:
        """Score one respondent's answers, given in the order of the form's items; None for one
        never asked.

        `texts` are those of `texts_read`, where they are at hand.
        """
        # an answer that was read is known by its text alone; what is known is looked up in one
        # sweep
        keys: Sequence[object] | None = texts_read(answers) if texts is None else texts
        if keys is None:
            keys = [None if a is None else a[0] if a[1] == "ok" else a[:2] for a in answers]
        every = range(len(keys))
        self._append(
            respondent,
            (
                self._by_class(keys, answers)
                if self._shared.count
                else self._one_by_one(every, keys, answers)
            ),
        )

    def _append(self, respondent: str, row: list[int] | npt.NDArray[np.int64]) -> None:
        if self._relate is not None:
            row = list(map(int, row))
            self._relate_row(row, self._relate)
        self._rows.append(np.array(row, dtype=np.int32))
        self._names.append(respondent)

    def _by_class(
        self, keys: Sequence[object], answers: Sequence[Response | Row | None]
    ) -> npt.NDArray[np.int64]:
        """The numbers of the verdicts, those on short answers to items of a class from one
        table.
        """
        shared, known = self._shared, self._texts
        number = np.fromiter(map(known.__getitem__, keys), dtype=np.int64, count=len(keys))
        while len(known) > len(self._of_text):
            self._of_text = np.vstack([self._of_text, np.full_like(self._of_text, _NEW)])
        inside = np.flatnonzero((number >= 0) & (shared.classes >= 0))
        of, to = number[inside], shared.classes[inside]
        codes = np.full(len(keys), _BY_ITEM, dtype=np.int64)
        codes[inside] = self._of_text[of, to]
        new = inside[codes[inside] == _NEW]
        for place in new[
            np.unique(number[new] * shared.count + shared.classes[new], return_index=True)[1]
        ].tolist():
            text, at = str(keys[place]), int(shared.classes[place])
            verdict = shared.of_class(text, at)
            self._of_text[number[place], at] = (
                _BY_PAIR if verdict is None else self._keep(verdict, response_of(text))
            )
        codes[new] = self._of_text[number[new], shared.classes[new]]
        pairs = np.flatnonzero(codes == _BY_PAIR)
        places = (number[pairs] * len(keys) + pairs).tolist()
        of_pair = list(map(_looked_up, repeat(cast("dict[object, int]", self._of_pair)), places))
        for i, (place, code) in (
            enumerate(zip(pairs.tolist(), of_pair, strict=True)) if None in of_pair else ()
        ):
            if code is None:
                text = str(keys[place])
                of_pair[i] = self._of_pair[places[i]] = self._keep(
                    shared.of_pair(text, place), response_of(text)
                )
        codes[pairs] = cast("list[int]", of_pair)
        left = np.flatnonzero(codes == _BY_ITEM).tolist()
        if left:
            codes[left] = self._one_by_one(left, [keys[i] for i in left], answers)
        return codes

    def _one_by_one(
        self,
        places: Sequence[int],
        keys: Sequence[object],
        answers: Sequence[Response | Row | None],
    ) -> list[int]:
        """The numbers of the verdicts on answers to items that are looked at by themselves."""
        self._known = self._known or [{} for _ in self.form.items]
        codes = list(map(_looked_up, map(self._known.__getitem__, places), keys))
        row = (
            [0 if code is None else code for code in codes]
            if None in codes
            else cast("list[int]", codes)
        )
        for i, code in enumerate(codes) if None in codes else ():
            answer = answers[places[i]]
            if code is None and answer is not None:
                row[i] = self._scored_now(places[i], keys[i], answer)
        return row

    def _scored_now(self, i: int, key: object, answer: Response | Row) -> int:
        """The number of the verdict on an answer to an item that this administration has not met
        yet.
        """
        response = response_of(*answer[:3])
        if len(response.text) > SHORT:
            return self._keep(self._score(self.form.items[i], response), response)
        code = self._known[i][key] = self._keep(self._shared.of_item(i, key, response), response)
        return code

    def add_verdicts(
        self, respondent: str, answers: Sequence[Response | None], verdicts: Sequence[Verdict]
    ) -> None:
        """Take in one respondent's answers with the verdicts that a judge gave on them."""
        row = []
        for answer, verdict in zip(answers, verdicts, strict=True):
            row.append(0 if answer is None else self._keep(verdict, answer))
        self._append(respondent, row)

    def _relate_row(self, row: list[int], relate: Relate) -> None:
        """Replace the verdicts that depend on other verdicts of the same respondent."""
        verdicts: Sequence[Verdict] = [self._verdicts[code] for code in row]
        related = relate(self.form.items, verdicts)
        if related is verdicts:
            return
        for i, (before, after) in enumerate(zip(verdicts, related, strict=True)):
            if after is not before:
                self._verdicts.append(after)
                self._words.append(self._words[row[i]])
                row[i] = len(self._verdicts) - 1

    def _keep(self, verdict: Verdict, response: Response) -> int:
        if not verdict.scored and verdict.state in ANSWERED:
            verdict = Verdict.unscored("unparsed", verdict.reason or "the scorer gave no value")
        words = float(len(response.text.split())) if response.state != "error" else np.nan
        # rules give the same few verdicts again and again; a verdict that is kept here keeps its
        # address
        key = (id(verdict), words)
        code = self._codes.get(key)
        if code is None:
            self._verdicts.append(verdict)
            self._words.append(words)
            code = self._codes[key] = len(self._verdicts) - 1
        return code

    def build(self, answers: str = "") -> ScoreMatrix:
        """The matrix of everything added."""
        shape = (len(self._rows), len(self.form.items))
        codes = np.stack(self._rows) if self._rows else np.zeros(shape, dtype=np.int32)
        value = np.array([np.nan if v.value is None else v.value for v in self._verdicts])
        state = np.array([STATES.index(v.state) for v in self._verdicts], dtype=np.uint8)
        keys = list(dict.fromkeys(key for verdict in self._verdicts for key in verdict.tally))
        tallies = {
            key: np.array([v.tally.get(key, 0.0) for v in self._verdicts])[codes] for key in keys
        }
        members: dict[str, npt.NDArray[np.bool_]] = {}
        for i, item in enumerate(self.form.items):
            for name in self._subsets(item):
                members.setdefault(name, np.zeros(shape[1], dtype=bool))[i] = True
        words = np.array(self._words)[codes]
        names, items = tuple(self._names), self.form.items
        return ScoreMatrix(
            self.cell,
            names,
            items,
            value[codes],
            tallies,
            state[codes],
            words,
            members,
            answers,
            self._groups(),
        )

    def _groups(self) -> dict[str, npt.NDArray[np.int64]]:
        """Grouping -> (items,): groups numbered in the order in which the items name them."""
        columns: dict[str, npt.NDArray[np.int64]] = {}
        numbers: dict[tuple[str, str], int] = {}
        for i, item in enumerate(self.form.items):
            for name, group in self._groupings(item).items():
                column = columns.setdefault(
                    name, np.full(len(self.form.items), NO_GROUP, dtype=np.int64)
                )
                column[i] = numbers.setdefault((name, group), len(numbers))
        return columns
