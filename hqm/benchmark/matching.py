"""Match the rows of another tool's log to a benchmark's items, by what a row says of its question.

A row says one thing or several: an id, a picture, the text that was asked, the part it belongs to.
An item fits when it contradicts none of them. A row's number in the tool's data decides only where
the row says nothing that tells items apart.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from hqm.benchmark.joining import normalised, picture_key
from hqm.logs.row import LogRow
from hqm.types import Form, Item

How = Literal["id", "picture and question", "question", "row number"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Matched:
    """Which item each row answers, and the rows for which that is not known."""

    items: Mapping[int, tuple[str, ...]]
    """Row number -> the items that the row answers; several where the benchmark asks the same
    question in several parts.
    """
    unmatched: tuple[int, ...] = ()
    """Rows that fit no item."""
    ambiguous: tuple[int, ...] = ()
    """Rows that fit several items which are different questions."""
    how: Mapping[How, int] = field(default_factory=dict)
    """How many rows were matched by what."""

    @property
    def complete(self) -> bool:
        return not self.unmatched and not self.ambiguous


def match_rows(rows: Sequence[LogRow], form: Form, spelling: Callable[[str], str] = str) -> Matched:
    """Match the rows of one respondent, form and run.

    `spelling` maps a text to how the benchmark's copies agree on it. Rows that ask one and the same
    question (the same picture and text) which the benchmark asks as often are given to these items
    in their order: the items are exchangeable.
    """
    index = _Index(form, spelling)
    candidates = [index.fitting(row) for row in rows]
    _keep_answered_parts(candidates, form)
    items: dict[int, tuple[str, ...]] = {}
    how: Counter[How] = Counter()
    open_rows: dict[tuple[str, ...], list[int]] = defaultdict(list)
    unmatched, ambiguous = [], []
    for i, (row, (fitting, cue)) in enumerate(zip(rows, candidates, strict=True)):
        if not fitting:
            unmatched.append(i)
        elif len(fitting) == 1 or (row.parts and index.one_a_part(fitting) and index.same(fitting)):
            items[i], how[cue] = fitting, how[cue] + 1
        else:
            open_rows[fitting].append(i)
    taken = {key for keys in items.values() for key in keys}
    numbered = _by_row_number(rows, form)
    for fitting, waiting in open_rows.items():
        free = tuple(key for key in fitting if key not in taken)
        cue = candidates[waiting[0]][1]
        if index.same(fitting) and len(waiting) == 1 and free:
            items[waiting[0]], how[cue] = free, how[cue] + 1
        elif index.same(fitting) and len(waiting) == len(free):
            items.update({i: (key,) for i, key in zip(waiting, free, strict=True)})
            how[cue] += len(waiting)
        elif all(numbered.get(i, "") in fitting for i in waiting):
            items.update({i: (numbered[i],) for i in waiting})
            how["row number"] += len(waiting)
        else:
            ambiguous += waiting
    return Matched(
        items=items, unmatched=tuple(unmatched), ambiguous=tuple(sorted(ambiguous)), how=dict(how)
    )


def _keep_answered_parts(candidates: list[tuple[tuple[str, ...], How]], form: Form) -> None:
    """Leave out the parts of which the rows answer less than half: their items share a text with
    what was answered.
    """
    sizes = Counter(item.part for item in form.items)
    if len(sizes) < 2:
        return
    fitting = {key for keys, _ in candidates for key in keys}
    covered = Counter(form.by_id[key].part for key in fitting)
    answered = {part for part in sizes if covered[part] * 2 >= sizes[part]}
    for i, (keys, cue) in enumerate(candidates):
        kept = tuple(key for key in keys if form.by_id[key].part in answered)
        if kept and len(kept) < len(keys):
            candidates[i] = (kept, cue)


def _by_row_number(rows: Sequence[LogRow], form: Form) -> dict[int, str]:
    """Row -> the item of the same number, where the tool's row numbers can be the benchmark's."""
    numbers = [row.position for row in rows]
    if any(n is None or n >= len(form.items) for n in numbers) or len(set(numbers)) != len(rows):
        return {}
    return {i: form.items[n].id for i, n in enumerate(numbers) if n is not None}


class _Index:
    """The items of a form by what a row may say of them."""

    def __init__(self, form: Form, spelling: Callable[[str], str]) -> None:
        self.form, self.spelling = form, spelling
        self.tails: dict[str, list[str]] = defaultdict(list)
        self.pictures: dict[str, list[str]] = defaultdict(list)
        self.questions: dict[str, list[str]] = defaultdict(list)
        for item in form.items:
            self.tails[item.id.rpartition("/")[2]].append(item.id)
            if item.image:
                self.pictures[picture_key(item.image)].append(item.id)
            self.questions[_bare(spelling(item.prompt))].append(item.id)
        self.distinct = len(self.questions) > 1

    def fitting(self, row: LogRow) -> tuple[tuple[str, ...], How]:
        """The items that contradict nothing the row says."""
        named = self._named(row)
        if named:
            return named, "id"
        pictured = self.pictures.get(picture_key(row.image), []) if row.image else []
        if pictured:
            keys = [key for key in pictured if self._asks(row, self.form.by_id[key])]
            longest = max((len(self.form.by_id[key].prompt) for key in keys), default=0)
            keys = (
                [key for key in keys if len(self.form.by_id[key].prompt) == longest]
                if row.question
                else keys
            )
            return self._of_parts(keys, row), "picture and question"
        if row.image and self.pictures:
            return (), "picture and question"
        if row.question:
            keys = next(
                (
                    self.questions[text]
                    for text in _asked(self.spelling(row.question))
                    if text in self.questions
                ),
                [],
            )
            return self._of_parts(keys, row), "question"
        return tuple(item.id for item in self.form.items), "row number"

    def _named(self, row: LogRow) -> tuple[str, ...]:
        for name in row.ids:
            keys = [name] if name in self.form.by_id else self.tails.get(name, [])
            keys = [key for key in keys if self._agrees(row, self.form.by_id[key])]
            if keys := list(self._of_parts(keys, row)):
                return tuple(keys)
        return ()

    def _agrees(self, row: LogRow, item: Item) -> bool:
        """Whether an item of the row's id has the row's picture and text; ids of other tools may be
        numbers of their own.
        """
        if row.image and item.image and picture_key(row.image) != picture_key(item.image):
            return False
        return self._asks(row, item)

    def _asks(self, row: LogRow, item: Item) -> bool:
        """Whether a row's text holds an item's question; true where the row has no text."""
        return not row.question or _bare(self.spelling(item.prompt)) in normalised(
            self.spelling(row.question)
        )

    def _of_parts(self, keys: Iterable[str], row: LogRow) -> tuple[str, ...]:
        keys = tuple(keys)
        named = tuple(
            key
            for key in keys
            if {self.form.by_id[key].part, self.form.by_id[key].part.rpartition("_")[2]}
            & set(row.parts)
        )
        return named or keys

    def same(self, keys: Sequence[str]) -> bool:
        """Whether these items ask the same: one picture, one text, one right answer."""
        return (
            len(
                {
                    (i.image, normalised(i.prompt), str(i.target))
                    for i in map(self.form.by_id.__getitem__, keys)
                }
            )
            == 1
        )

    def one_a_part(self, keys: Sequence[str]) -> bool:
        return len({self.form.by_id[key].part for key in keys}) == len(keys)


def _bare(text: str) -> str:
    return normalised(text).rstrip(" .")


def _asked(question: str) -> list[str]:
    """What a prompt may ask, without the instruction that a tool puts behind or before it."""
    lines = [line for line in question.splitlines() if line.strip()]
    texts = [question, "\n".join(lines[:-1]), "\n".join(lines[1:]), *lines[:1], *lines[-1:]]
    cut = re.match(r"(?s)(.*[?？])", question)
    texts += [cut[1]] if cut else []
    texts.append(re.sub(r"(?is)\s*(?:please )?answer\b[^.?!]*[.?!]?\s*$", "", question))
    return list(dict.fromkeys(bare for text in texts if (bare := _bare(text))))
