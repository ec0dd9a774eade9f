"""The score matrix: respondents x items of one administration, values and tallies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hqm.errors import DesignError
from hqm.metrics import Array, Metric
from hqm.store import Row
from hqm.types import STATES, Cell, Form, Item, Response, Verdict

_SHORT = 200
"""Answers up to this length are scored once per item, however many respondents and runs gave them."""


class Sums(dict[str, Array]):
    """Summed tallies; a name that no verdict carried counts as zero."""

    def __init__(self, sums: Mapping[str, Array], *shape: int) -> None:
        super().__init__(sums)
        self._shape = shape

    def __missing__(self, key: str) -> Array:
        return np.zeros(self._shape)


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
    answers
        Content hash of all answers that went in.
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

    @cached_property
    def clusters(self) -> npt.NDArray[np.int64]:
        """(items,): the number of the cluster that an item belongs to."""
        numbers: dict[str, int] = {}
        return np.array([numbers.setdefault(item.cluster or item.id, len(numbers)) for item in self.items])

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

    def score(self, metric: Metric) -> Array:
        """(respondents,): the metric of every respondent."""
        mask = self.mask(metric)
        return metric(
            Sums({key: values[:, mask].sum(axis=1) for key, values in self.tallies.items()}, len(self.respondents))
        )

    def unscored(self, metric: Metric | None = None) -> int:
        """How many answers are not scored, over all respondents.

        An answer that could not be read counts even where a release scores it as wrong.
        """
        mask = self.mask(metric) if metric else slice(None)
        unread = ~self.scored | (self.states == STATES.index("unparsed"))
        return int(unread[:, mask].sum())

    def state_counts(self) -> dict[str, dict[str, int]]:
        """Respondent -> state -> number of answers."""
        return {
            name: {
                state: int(count) for state, count in zip(STATES, np.bincount(row, minlength=len(STATES)), strict=True)
            }
            for name, row in zip(self.respondents, self.states, strict=True)
        }

    def take(self, respondents: Sequence[str], items: Sequence[str]) -> ScoreMatrix:
        """The same administration, for these respondents and items in this order."""
        rows = np.array([self.respondents.index(name) for name in respondents], dtype=np.int64)
        position = {item.id: i for i, item in enumerate(self.items)}
        columns = np.array([position[i] for i in items], dtype=np.int64)
        return ScoreMatrix(
            self.cell,
            tuple(respondents),
            tuple(self.items[c] for c in columns),
            self.values[np.ix_(rows, columns)],
            {key: values[np.ix_(rows, columns)] for key, values in self.tallies.items()},
            self.states[np.ix_(rows, columns)],
            self.words[np.ix_(rows, columns)],
            {name: mask[columns] for name, mask in self.subsets.items()},
            self.answers,
        )


def align(first: ScoreMatrix, other: ScoreMatrix) -> tuple[ScoreMatrix, ScoreMatrix]:
    """Two administrations cut to the respondents and items they share, in one order.

    Raises
    ------
    DesignError
        They share no respondent or no item.
    """
    here, there = set(other.respondents), {item.id for item in other.items}
    respondents = [name for name in first.respondents if name in here]
    items = [item.id for item in first.items if item.id in there]
    if not respondents or not items:
        missing = "respondent" if not respondents else "item"
        raise DesignError(f"{first.cell} and {other.cell} share no {missing}", remedy="Administer both to the same.")
    return first.take(respondents, items), other.take(respondents, items)


class MatrixBuilder:
    """Fills a score matrix respondent by respondent, so that texts need not be held together."""

    def __init__(
        self,
        cell: Cell,
        form: Form,
        score: Callable[[Item, Response], Verdict],
        subsets: Callable[[Item], Sequence[str]],
    ) -> None:
        self.cell, self.form, self._score = cell, form, score
        self._verdicts: list[Verdict] = [Verdict.unscored("missing", "not asked")]
        self._words: list[float] = [np.nan]
        self._known: list[dict[object, int]] = [{} for _ in form.items]
        self._rows: list[npt.NDArray[np.int64]] = []
        self._names: list[str] = []
        self._subsets = subsets

    def add(self, respondent: str, answers: Sequence[Response | Row | None]) -> None:
        """Score one respondent's answers, given in the order of the form's items; None for one never asked."""
        row = [0] * len(self.form.items)
        for i, answer in enumerate(answers):
            if answer is None:
                continue
            known = self._known[i]
            key = answer[0] if answer[1] == "ok" else answer[:2]
            code = known.get(key)
            if code is None:
                code = self._score_new(self.form.items[i], Response(*answer[:3]))
                if len(answer[0]) <= _SHORT:
                    known[key] = code
            row[i] = code
        self._rows.append(np.array(row, dtype=np.int64))
        self._names.append(respondent)

    def add_verdicts(self, respondent: str, answers: Sequence[Response | None], verdicts: Sequence[Verdict]) -> None:
        """Take in one respondent's answers with the verdicts that a judge gave on them."""
        row = []
        for answer, verdict in zip(answers, verdicts, strict=True):
            row.append(0 if answer is None else self._keep(verdict, answer))
        self._rows.append(np.array(row, dtype=np.int64))
        self._names.append(respondent)

    def _score_new(self, item: Item, response: Response) -> int:
        return self._keep(self._score(item, response), response)

    def _keep(self, verdict: Verdict, response: Response) -> int:
        self._verdicts.append(verdict)
        self._words.append(float(len(response.text.split())) if response.state != "error" else np.nan)
        return len(self._verdicts) - 1

    def build(self, answers: str = "") -> ScoreMatrix:
        """The matrix of everything added."""
        shape = (len(self._rows), len(self.form.items))
        codes = np.stack(self._rows) if self._rows else np.zeros(shape, dtype=np.int64)
        value = np.array([np.nan if v.value is None else v.value for v in self._verdicts])
        state = np.array([STATES.index(v.state) for v in self._verdicts], dtype=np.uint8)
        keys = list(dict.fromkeys(key for verdict in self._verdicts for key in verdict.tally))
        tallies = {key: np.array([v.tally.get(key, 0.0) for v in self._verdicts])[codes] for key in keys}
        members: dict[str, npt.NDArray[np.bool_]] = {}
        for i, item in enumerate(self.form.items):
            for name in self._subsets(item):
                members.setdefault(name, np.zeros(shape[1], dtype=bool))[i] = True
        words = np.array(self._words)[codes]
        names, items = tuple(self._names), self.form.items
        return ScoreMatrix(self.cell, names, items, value[codes], tallies, state[codes], words, members, answers)
