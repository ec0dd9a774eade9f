"""Filling a score matrix: answers to verdicts, respondent by respondent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import cast

import numpy as np
import numpy.typing as npt

from hqm.scoring.matrix import NO_GROUP, ScoreMatrix
from hqm.scoring.states import ANSWERED
from hqm.text import SHORT
from hqm.types import STATES, Cell, Form, Item, Response, Row, Verdict

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


class MatrixBuilder:
    """Fills a score matrix respondent by respondent, so that not all texts are in memory at a time.

    `scored` holds, item by item, the verdicts on short answers; several administrations of one form that are scored alike
    share it, so that an answer that comes back in each of them is scored once.
    """

    def __init__(
        self,
        cell: Cell,
        form: Form,
        score: Callable[[Item, Response], Verdict],
        subsets: Callable[[Item], Sequence[str]],
        groupings: Callable[[Item], Mapping[str, str]] = lambda _: {},
        relate: Callable[[Sequence[Item], Sequence[Verdict]], Sequence[Verdict]] | None = None,
        scored: Sequence[dict[object, Verdict]] = (),
    ) -> None:
        self.cell, self.form, self._score = cell, form, score
        self._verdicts: list[Verdict] = [Verdict.unscored("missing", "not asked")]
        self._words: list[float] = [np.nan]
        self._codes: dict[tuple[int, float], int] = {}
        self._short: dict[object, Response] = {}
        self._known: list[dict[object, int]] = [{} for _ in form.items]
        self._scored = scored or [{} for _ in form.items]
        self._rows: list[npt.NDArray[np.int64]] = []
        self._names: list[str] = []
        self._subsets, self._groupings, self._relate = subsets, groupings, relate

    def add(self, respondent: str, answers: Sequence[Response | Row | None]) -> None:
        """Score one respondent's answers, given in the order of the form's items; None for one never asked."""
        # an answer that was read is known by its text alone; what is known is looked up in one sweep
        keys: Sequence[object] | None = texts_read(answers)
        if keys is None:
            keys = [None if a is None else a[0] if a[1] == "ok" else a[:2] for a in answers]
        codes = list(map(_looked_up, self._known, keys))
        row = [0 if code is None else code for code in codes] if None in codes else cast("list[int]", codes)
        for i, code in enumerate(codes) if None in codes else ():
            answer = answers[i]
            if code is None and answer is not None:
                row[i] = self._scored_now(i, keys[i], answer)
        self._relate_row(row)
        self._rows.append(np.array(row, dtype=np.int64))
        self._names.append(respondent)

    def _scored_now(self, i: int, key: object, answer: Response | Row) -> int:
        """The number of the verdict on an answer to an item that this administration has not met yet."""
        if len(answer[0]) > SHORT:
            response = Response(*answer[:3])
            return self._keep(self._score(self.form.items[i], response), response)
        read = None if answer[2] else self._short.get(key)
        response = read or Response(*answer[:3])
        if read is None and not answer[2]:
            self._short[key] = response
        verdict = self._scored[i].get(key)
        if verdict is None:
            verdict = self._scored[i][key] = self._score(self.form.items[i], response)
        code = self._known[i][key] = self._keep(verdict, response)
        return code

    def add_verdicts(self, respondent: str, answers: Sequence[Response | None], verdicts: Sequence[Verdict]) -> None:
        """Take in one respondent's answers with the verdicts that a judge gave on them."""
        row = []
        for answer, verdict in zip(answers, verdicts, strict=True):
            row.append(0 if answer is None else self._keep(verdict, answer))
        self._relate_row(row)
        self._rows.append(np.array(row, dtype=np.int64))
        self._names.append(respondent)

    def _relate_row(self, row: list[int]) -> None:
        """Replace the verdicts that depend on other verdicts of the same respondent."""
        if self._relate is None:
            return
        verdicts: Sequence[Verdict] = [self._verdicts[code] for code in row]
        related = self._relate(self.form.items, verdicts)
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
        # rules give the same few verdicts again and again; a verdict that is kept here keeps its address
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
        return ScoreMatrix(
            self.cell, names, items, value[codes], tallies, state[codes], words, members, answers, self._groups()
        )

    def _groups(self) -> dict[str, npt.NDArray[np.int64]]:
        """Grouping -> (items,): groups numbered in the order in which the items name them."""
        columns: dict[str, npt.NDArray[np.int64]] = {}
        numbers: dict[tuple[str, str], int] = {}
        for i, item in enumerate(self.form.items):
            for name, group in self._groupings(item).items():
                column = columns.setdefault(name, np.full(len(self.form.items), NO_GROUP, dtype=np.int64))
                column[i] = numbers.setdefault((name, group), len(numbers))
        return columns
