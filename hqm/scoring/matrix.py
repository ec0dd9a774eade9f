"""The score matrix: the values and tallies of respondents x items in one administration.

A metric sums units: the items of its subset or, if it has a grouping, those items taken together
group by group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain, repeat
from operator import itemgetter
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from hqm.errors import DesignError
from hqm.moved_names import RenamedAttributes
from hqm.scoring.metrics import Array, Metric, Tally
from hqm.scoring.rules import ANSWERED, WITHHELD
from hqm.scoring.score_cache import VerdictCache
from hqm.text import SHORT, has_words
from hqm.types import STATES, Cell, Form, Item, Response, Row, State, Verdict

_HIDDEN_IF_ZERO = ("cut", "empty")
"""States that are left out of counts where no answer is in them."""
_IS_ANSWERED = np.isin(STATES, ANSWERED)
_IS_WITHHELD = np.isin(STATES, WITHHELD)
"""(states,): whether an answer in the state could be read, or was withheld."""


class Sums(dict[str, Array]):
    """Summed tallies; a name that no verdict carried counts as zero."""

    def __init__(self, sums: Mapping[str, Array], *shape: int) -> None:
        super().__init__(sums)
        self._shape = shape

    def __missing__(self, key: str) -> Array:
        return np.zeros(self._shape)


def metric_of(metric: Metric, sums: Tally) -> Array:
    """Return a metric that works on tallies with missing keys, which count as 0."""
    return metric(Sums(dict(sums), *np.shape(next(iter(sums.values()), 0.0))))


_MAX_ROUNDING = 1e-9
"""By how much sums in another order may differ, as a share of the greatest score."""
NO_GROUP = -1
"""The number that stands for "in no group"."""


def group_minima(values: Array, groups: npt.NDArray[np.int64]) -> Array:
    """(..., items) -> (..., groups): the least value within each group, groups in the order of
    their numbers.

    Items in no group (`NO_GROUP`) are left out. For values of 0 and 1 the least is 1 only where
    every item has 1.

    >>> group_minima(np.array([[1.0, 0, 1, 1]]), np.array([0, 0, 1, -1]))
    array([[0., 1.]])
    """
    grouped = np.flatnonzero(groups >= 0)
    order = grouped[np.argsort(groups[grouped], kind="stable")]
    if not order.size:
        return np.zeros((*values.shape[:-1], 0))
    # reduceat takes the runs of equal numbers in one pass; the sort before it keeps them together
    starts = np.flatnonzero(np.diff(groups[order], prepend=NO_GROUP))
    return np.asarray(np.minimum.reduceat(values[..., order], starts, axis=-1), dtype=np.float64)


@dataclass(frozen=True)
class Units:
    """The units that a metric sums: items, or groups of items each reduced to its least value.

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


def unit_scores(units: Units, metric: Metric) -> Array:
    """(respondents, units): the metric of every single answer, or group of answers; NaN where it
    was not scored.
    """
    return np.where(units.scored, metric(Sums(units.tallies, *units.scored.shape)), np.nan)


def reason_no_mean(units: Units, metric: Metric) -> str:
    """Return why a score is no mean of the scores of single answers; empty where it is one.

    It is decided by the numbers: over all units, and over either half of them, the metric of the
    sums is compared with the mean of the units' own scores. A metric cannot be a mean over both
    halves by chance, unless all answers score alike.
    """
    scores = unit_scores(units, metric)
    has_score = np.isfinite(scores)
    if not units.scored.any():
        return ""
    if not has_score.any():
        return f"{metric.name} needs several answers: one answer by itself has no value of it"
    n_units = scores.shape[1]
    # one half alone may be a mean by chance, as where all its answers are of one kind
    halves = (slice(None), slice(0, n_units // 2), slice(n_units // 2, None))
    if not all(_is_mean(units, metric, scores, half) for half in halves):
        return (
            f"{metric.name} is made of sums over all answers, in which they do not weigh alike: it"
            " is no mean of item scores"
        )
    if np.array_equal(has_score, units.scored):
        return ""
    counted = has_score.any(axis=0)
    if np.array_equal(has_score, units.scored & counted):
        return (
            f"{metric.name} looks at {int(counted.sum())} of {n_units} items, and not at the others"
        )
    return f"{metric.name} looks at other items of each respondent, as the answers fall out"


def _is_mean(units: Units, metric: Metric, scores: Array, columns: slice) -> bool:
    """Return whether the metric over these units is the mean of their own scores."""
    tallies = {key: values[:, columns].sum(axis=1) for key, values in units.tallies.items()}
    totals = metric(Sums(tallies, len(scores)))
    own_scores = scores[:, columns]
    has_score = np.isfinite(own_scores)
    n_scores = has_score.sum(axis=1)
    means = np.where(has_score, own_scores, 0.0).sum(axis=1) / np.maximum(n_scores, 1)
    is_comparable = np.isfinite(totals) & (n_scores > 0)
    # sums of floats depend on their order, in the last digits
    tolerance = _MAX_ROUNDING * max(1.0, float(np.abs(means).max(initial=0.0)))
    return bool((np.abs(totals - means)[is_comparable] <= tolerance).all())


@dataclass(frozen=True)
class ScoreMatrix(RenamedAttributes):
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
        """The results that were computed from this matrix so far, by what they depend on."""
        return {}

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """The items' ids, in the order of the columns."""
        return tuple(item.id for item in self.items)

    @cached_property
    def column_by_id(self) -> Mapping[str, int]:
        """Item id -> its column."""
        return {item.id: column for column, item in enumerate(self.items)}

    @property
    def scored(self) -> npt.NDArray[np.bool_]:
        return ~np.isnan(self.values)

    def applicable(self, metrics: Iterable[Metric]) -> list[Metric]:
        """Return the metrics of all items, and of those subsets that the items have."""
        return [metric for metric in metrics if not metric.subset or metric.subset in self.subsets]

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
        """Return the units that a metric sums: the items of its subset, or groups of them.

        Items are reduced within groups where the metric has a grouping.

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
        is_scored = self.scored
        # a metric with a count of its own looks at some answers only, whichever were scored
        if metric.count in self.tallies:
            is_scored = is_scored & (self.tallies[metric.count] > 0)
        if not metric.group and not metric.subset and among is None:
            # nothing is left out: nothing is copied
            return Units(self.tallies, is_scored, self.clusters)
        mask = self.mask(metric) if among is None else among
        tallies = {key: values[:, mask] for key, values in self.tallies.items()}
        scored = is_scored[:, mask]
        clusters = self.clusters[mask]
        if metric.group:
            groups = self._grouping(metric)[mask]
            tallies = {key: group_minima(values, groups) for key, values in tallies.items()}
            # one unscored answer leaves open whether its whole group is right
            scored = group_minima(scored.astype(np.float64), groups) > 0
            clusters = self._group_clusters(metric, groups, clusters)
        # numbers without gaps, as resampling wants them
        return Units(tallies, scored, np.unique(clusters, return_inverse=True)[1])

    def _grouping(self, metric: Metric) -> npt.NDArray[np.int64]:
        """(items,): the group of every item by the metric's grouping."""
        if metric.group not in self.groups:
            raise DesignError(
                f"{metric.name} looks at groups by {metric.group!r}, which no item has",
                remedy=f"The groupings are {', '.join(sorted(self.groups)) or 'none'}.",
            )
        return self.groups[metric.group]

    def _group_clusters(
        self, metric: Metric, groups: npt.NDArray[np.int64], clusters: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Return (groups,): the cluster of every group."""
        numbers, first = np.unique(groups[groups >= 0], return_index=True)
        item_clusters = clusters[groups >= 0]
        group_clusters = item_clusters[first]
        # a cluster is left out as a whole, and must not cut a group in two
        if (group_clusters[np.searchsorted(numbers, groups[groups >= 0])] != item_clusters).any():
            raise DesignError(
                f"a group of {metric.name} (by {metric.group!r}) reaches over several clusters",
                remedy="The benchmark must give the items of a group one cluster.",
            )
        return group_clusters

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
        """(respondents, items): whether a withheld answer is scored, as the release does."""
        return np.asarray(self.scored & _IS_WITHHELD[self.states])

    def state_counts(self) -> dict[str, dict[str, int]]:
        """Respondent -> state -> number of answers."""
        counts: dict[str, dict[str, int]] = {}
        for name, row in zip(self.respondents, self.states, strict=True):
            row_counts = np.bincount(row, minlength=len(STATES)).tolist()
            counts[name] = {
                state: count
                for state, count in zip(STATES, row_counts, strict=True)
                if count or state not in _HIDDEN_IF_ZERO
            }
        return counts

    def take(self, respondents: Sequence[str], items: Sequence[str]) -> ScoreMatrix:
        """Return the matrix of the same administration with only these respondents and items.

        They stand in the order given.
        """
        rows = np.array([self.respondents.index(name) for name in respondents], dtype=np.int64)
        columns = np.array([self.column_by_id[item] for item in items], dtype=np.int64)
        keeps_rows = np.array_equal(rows, np.arange(len(self.respondents)))
        # the same matrix keeps its cached scores, which a copy would compute again
        if keeps_rows and np.array_equal(columns, np.arange(len(self.items))):
            return self
        grid = np.ix_(rows, columns)
        return ScoreMatrix(
            self.cell,
            tuple(respondents),
            tuple(self.items[column] for column in columns),
            self.values[grid],
            {key: values[grid] for key, values in self.tallies.items()},
            self.states[grid],
            self.words[grid],
            {name: mask[columns] for name, mask in self.subsets.items()},
            self.answers,
            {name: numbers[columns] for name, numbers in self.groups.items()},
        )


def align(first: ScoreMatrix, second: ScoreMatrix) -> tuple[ScoreMatrix, ScoreMatrix]:
    """Two administrations cut to the respondents and items they share, in one order.

    Raises
    ------
    DesignError
        They share no respondent or no item.
    """
    # the usual case by far: nothing has to be looked up or copied
    if first.respondents == second.respondents and first.ids == second.ids:
        return first, second
    known_respondents = set(second.respondents)
    respondents = [name for name in first.respondents if name in known_respondents]
    items = [item for item in first.ids if item in second.column_by_id]
    if not respondents or not items:
        missing = "respondent" if not respondents else "item"
        raise DesignError(
            f"{first.cell} and {second.cell} share no {missing}",
            remedy="Administer both to the same.",
        )
    return first.take(respondents, items), second.take(respondents, items)


# ----------------------------------------------------------------------
# Filling a score matrix: answers to verdicts, respondent by respondent.
# ----------------------------------------------------------------------

RelateVerdicts = Callable[[Sequence[Item], Sequence[Verdict]], Sequence[Verdict]]
_NEW = -1
_BY_PAIR = -2
_BY_ITEM = -3
"""In place of the code of a verdict, which is its index among all: not met yet; it depends on the
item's words; the item is scored by itself.
"""
_get_code: Callable[[dict[object, int], object], int | None] = dict.get


def readable_texts(answers: Sequence[Response | Row | None]) -> list[str] | None:
    """The texts of answers where all are there and could be read; else None.

    >>> readable_texts([Response("Yes"), Response("No")]), readable_texts([Response("Yes"), None])
    (['Yes', 'No'], None)
    """
    # an answer that is missing or withheld is settled one by one, off the fast path
    if None in answers:
        return None
    rows = cast("Sequence[Row]", answers)
    if set(map(itemgetter(1), rows)) <= {"ok"}:
        return list(map(itemgetter(0), rows))
    return None


def _answer_key(answer: Response | Row | None) -> object:
    """The key of an answer's verdict: its text alone where the answer could be read."""
    if answer is None:
        return None
    return answer[0] if answer[1] == "ok" else answer[:2]


@lru_cache(maxsize=1 << 14)
def cached_response(text: str, state: State = "ok", reason: str = "") -> Response:
    """An answer as the store reads it; one value for its copies, of which there may be millions."""
    return Response(text, state, reason)


class _TextNumbers(dict[object, int]):
    """Short answers -> their numbers; an answer gets the next one when it is first looked up."""

    def __missing__(self, key: object) -> int:
        # an answer without any word keeps its own reason, and a long one is seldom given twice
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
        relate: RelateVerdicts | None = None,
        verdicts: VerdictCache | None = None,
    ) -> None:
        self.cell = cell
        self.form = form
        self._verdicts: list[Verdict] = [Verdict.unscored("missing", "not asked")]
        self._words: list[float] = [np.nan]
        self._code_by_verdict: dict[tuple[int, float], int] = {}
        if verdicts is None:
            self._cache = VerdictCache(form.items, score)
        else:
            self._cache = verdicts
        self._codes_by_item: list[dict[object, int]] = []
        self._text_numbers = _TextNumbers()
        self._text_codes = np.full((16, self._cache.n_classes), _NEW, dtype=np.int32)
        self._pair_codes: dict[int, int] = {}
        self._rows: list[npt.NDArray[np.int32]] = []
        self._names: list[str] = []
        self._subsets = subsets
        self._groupings = groupings
        self._relate = relate

    def add(
        self,
        respondent: str,
        answers: Sequence[Response | Row | None],
        texts: Sequence[str] | None = None,
    ) -> None:
        """Score one respondent's answers, given in the order of the form's items; None for one
        never asked.

        `texts` are those of `readable_texts`, where they are at hand.
        """
        keys: Sequence[object] | None = readable_texts(answers) if texts is None else texts
        if keys is None:
            keys = list(map(_answer_key, answers))
        if self._cache.n_classes:
            self._append(respondent, self._class_codes(keys, answers))
        else:
            self._append(respondent, self._item_codes(range(len(keys)), keys, answers))

    def _append(self, respondent: str, row: list[int] | npt.NDArray[np.int64]) -> None:
        """Add a respondent's row of codes."""
        if self._relate is not None:
            row = list(map(int, row))
            self._relate_row(row, self._relate)
        self._rows.append(np.array(row, dtype=np.int32))
        self._names.append(respondent)

    def _class_codes(
        self, keys: Sequence[object], answers: Sequence[Response | Row | None]
    ) -> npt.NDArray[np.int64]:
        """Return the codes of the verdicts; those on short answers to items of a class stand in a
        table.
        """
        cache = self._cache
        numbers = self._text_numbers
        texts = np.fromiter(map(numbers.__getitem__, keys), dtype=np.int64, count=len(keys))
        # the table doubles, so that adding texts one by one costs no more than adding all at once
        while len(numbers) > len(self._text_codes):
            self._text_codes = np.vstack([self._text_codes, np.full_like(self._text_codes, _NEW)])
        in_table = np.flatnonzero((texts >= 0) & (cache.classes >= 0))
        codes = np.full(len(keys), _BY_ITEM, dtype=np.int64)
        codes[in_table] = self._text_codes[texts[in_table], cache.classes[in_table]]
        new = in_table[codes[in_table] == _NEW]
        # of the items of one class with the same answer, the first is scored for all
        table_cells = texts[new] * cache.n_classes + cache.classes[new]
        for index in new[np.unique(table_cells, return_index=True)[1]].tolist():
            text = str(keys[index])
            class_number = int(cache.classes[index])
            verdict = cache.class_verdict(text, class_number)
            code = _BY_PAIR
            if verdict is not None:
                code = self._add_verdict(verdict, cached_response(text))
            self._text_codes[texts[index], class_number] = code
        codes[new] = self._text_codes[texts[new], cache.classes[new]]
        pairs = np.flatnonzero(codes == _BY_PAIR)
        codes[pairs] = self._reading_codes(pairs, texts, keys)
        by_item = np.flatnonzero(codes == _BY_ITEM).tolist()
        if by_item:
            codes[by_item] = self._item_codes(by_item, [keys[i] for i in by_item], answers)
        return codes

    def _reading_codes(
        self,
        item_indices: npt.NDArray[np.int64],
        texts: npt.NDArray[np.int64],
        keys: Sequence[object],
    ) -> list[int]:
        """Return the codes of the verdicts on answers that are read against the items' words."""
        pairs = (texts[item_indices] * len(keys) + item_indices).tolist()
        # map and repeat keep the loop over millions of answers out of the interpreter
        codes = list(map(_get_code, repeat(cast("dict[object, int]", self._pair_codes)), pairs))
        if None not in codes:
            return cast("list[int]", codes)
        for position, index in enumerate(item_indices.tolist()):
            if codes[position] is None:
                text = str(keys[index])
                verdict = self._cache.item_reading_verdict(text, index)
                code = self._add_verdict(verdict, cached_response(text))
                codes[position] = self._pair_codes[pairs[position]] = code
        return cast("list[int]", codes)

    def _item_codes(
        self,
        item_indices: Sequence[int],
        keys: Sequence[object],
        answers: Sequence[Response | Row | None],
    ) -> list[int]:
        """Return the codes of the verdicts on answers to items that are scored by themselves."""
        self._codes_by_item = self._codes_by_item or [{} for _ in self.form.items]
        codes = list(map(_get_code, map(self._codes_by_item.__getitem__, item_indices), keys))
        if None not in codes:
            return cast("list[int]", codes)
        self._cache.score_ahead(self._unscored(item_indices, codes, answers))
        row = []
        for index, key, code in zip(item_indices, keys, codes, strict=True):
            answer = answers[index]
            if code is None:
                if answer is None:
                    code = 0
                else:
                    code = self._score_new(index, key, answer)
            row.append(code)
        return row

    def _unscored(
        self,
        item_indices: Sequence[int],
        codes: Sequence[int | None],
        answers: Sequence[Response | Row | None],
    ) -> Iterator[tuple[int, Response | Row]]:
        """The answers without a code yet, each with the index of its item."""
        for index, code in zip(item_indices, codes, strict=True):
            answer = answers[index]
            if code is None and answer is not None:
                yield index, answer

    def _score_new(self, index: int, key: object, answer: Response | Row) -> int:
        """Return the code of the verdict on an answer to an item that this administration has not
        met yet.
        """
        response = cached_response(*answer[:3])
        code = self._add_verdict(self._cache.item_verdict(index, response), response)
        # a long answer is seldom given twice, and its text would be kept for nothing
        if len(response.text) <= SHORT:
            self._codes_by_item[index][key] = code
        return code

    def add_verdicts(
        self, respondent: str, answers: Sequence[Response | None], verdicts: Sequence[Verdict]
    ) -> None:
        """Add one respondent's answers with the verdicts that a judge gave on them."""
        row = []
        for answer, verdict in zip(answers, verdicts, strict=True):
            row.append(0 if answer is None else self._add_verdict(verdict, answer))
        self._append(respondent, row)

    def _relate_row(self, row: list[int], relate: RelateVerdicts) -> None:
        """Replace the verdicts that depend on other verdicts of the same respondent."""
        verdicts: Sequence[Verdict] = [self._verdicts[code] for code in row]
        related = relate(self.form.items, verdicts)
        # most benchmarks relate nothing, and hand back what they were given
        if related is verdicts:
            return
        for i, (before, after) in enumerate(zip(verdicts, related, strict=True)):
            # a new code each: the verdict that was replaced may still be that of other respondents
            if after is not before:
                self._verdicts.append(after)
                self._words.append(self._words[row[i]])
                row[i] = len(self._verdicts) - 1

    def _add_verdict(self, verdict: Verdict, response: Response) -> int:
        """Return the code of a verdict on an answer of this length, a new one where needed."""
        if not verdict.scored and verdict.state in ANSWERED:
            verdict = Verdict.unscored("unparsed", verdict.reason or "the scorer gave no value")
        if response.state != "error":
            words = float(len(response.text.split()))
        else:
            words = np.nan
        # rules give the same few verdicts again and again, so that they are told by their address,
        # which a verdict keeps that is kept here
        key = (id(verdict), words)
        code = self._code_by_verdict.get(key)
        if code is None:
            self._verdicts.append(verdict)
            self._words.append(words)
            code = self._code_by_verdict[key] = len(self._verdicts) - 1
        return code

    def build(self, answers: str = "") -> ScoreMatrix:
        """The matrix of everything added."""
        shape = (len(self._rows), len(self.form.items))
        if self._rows:
            codes = np.stack(self._rows)
        else:
            codes = np.zeros(shape, dtype=np.int32)
        values = np.array([np.nan if v.value is None else v.value for v in self._verdicts])
        states = np.array([STATES.index(v.state) for v in self._verdicts], dtype=np.uint8)
        tallies = {}
        # a dict keeps the order in which tallies were met, so that sums are added in one order
        # always
        for key in dict.fromkeys(chain.from_iterable(v.tally for v in self._verdicts)):
            tallies[key] = np.array([v.tally.get(key, 0.0) for v in self._verdicts])[codes]
        subsets: dict[str, npt.NDArray[np.bool_]] = {}
        for i, item in enumerate(self.form.items):
            for name in self._subsets(item):
                subsets.setdefault(name, np.zeros(shape[1], dtype=bool))[i] = True
        return ScoreMatrix(
            self.cell,
            tuple(self._names),
            self.form.items,
            values[codes],
            tallies,
            states[codes],
            np.array(self._words)[codes],
            subsets,
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
