"""Filling a score matrix: answers to verdicts, respondent by respondent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from operator import itemgetter
from typing import cast

import numpy as np
import numpy.typing as npt

from hqm.scoring.alike import Verdicts
from hqm.scoring.matrix import NO_GROUP, ScoreMatrix
from hqm.scoring.states import ANSWERED
from hqm.text import SHORT, has_words
from hqm.types import STATES, Cell, Form, Item, Response, Row, Verdict

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
        self._short: dict[object, Response] = {}
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
                _BY_PAIR if verdict is None else self._keep(verdict, self._read(text))
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
                    shared.of_pair(text, place), self._read(text)
                )
        codes[pairs] = cast("list[int]", of_pair)
        left = np.flatnonzero(codes == _BY_ITEM).tolist()
        if left:
            codes[left] = self._one_by_one(left, [keys[i] for i in left], answers)
        return codes

    def _read(self, text: str) -> Response:
        """The response of a short answer that was read; one value for all its copies."""
        response = self._short.get(text)
        if response is None:
            response = self._short[text] = Response(text)
        return response

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
        if len(answer[0]) > SHORT:
            response = Response(*answer[:3])
            return self._keep(self._score(self.form.items[i], response), response)
        read = None if answer[2] else self._short.get(key)
        response = read or Response(*answer[:3])
        if read is None and not answer[2]:
            self._short[key] = response
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
