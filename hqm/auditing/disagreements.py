"""Examples for a reader: the items on which administrations, judges or labellers disagree most,
with all that was said.

Every comparison that an audit makes (another seed, another wording, another judge, people's labels)
names its own examples; the types take turns, so that a single type does not fill the list. Answers
and prompts are kept as they came: the page that shows them must escape them.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hqm.administration.asks import StoredRespondent
from hqm.administration.stored_answers import Answers
from hqm.benchmark.adapter import Benchmark
from hqm.benchmark.judge_api import AskJudge, parse_judge
from hqm.files.images import as_rgb
from hqm.imports.human_labels import labelled_by
from hqm.judges.file_judge import FileJudge, Judge
from hqm.judges.procedure import verdicts
from hqm.scoring.matrix import ScoreMatrix
from hqm.types import Administration, Cell, Count, Form, Item, Response, Row, Verdict, Width, finite

MOST = 60
"""Examples of one benchmark at most."""
ANSWERERS = 6
"""Respondents whose answers an example shows at most: those on whom the administrations disagree
most.
"""
LONGEST = 1200
"""Characters of an answer or a judge's reply that are kept; the cut is marked."""
PIXELS = 160
"""The longer side of a thumbnail."""


@dataclass(frozen=True, slots=True)
class ExampleAnswer:
    """One respondent's answer in one administration, with its verdict."""

    respondent: str
    cell: Administration
    text: str
    state: str
    read: str
    reason: str
    value: float | None
    """1: right or faithful; 0: wrong or hallucinated; None: not scored."""
    judge_words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Example:
    """An item with what was asked and answered.

    Parameters
    ----------
    item, type, image
        Its id, hallucination type ("" without one) and picture's name ("" without one).
    thumbnail
        The picture, small, as a data URL; "" where there is none to show.
    facets
        Facet -> share of the respondents on whom the two administrations disagree (mean absolute
        difference of the item's score).
    prompts, targets
        Form -> what was asked, and what a right answer says.
    answers
        Who said what, the respondents that disagree most first.
    respondents
        How many respondents answered it; `answers` may hold fewer.
    """

    item: str
    type: str
    image: str
    thumbnail: str
    facets: Mapping[str, Width]
    prompts: Mapping[str, str]
    targets: Mapping[str, str]
    answers: tuple[ExampleAnswer, ...]
    respondents: Count

    def to_dict(self) -> dict[str, Any]:
        """The example as `audit.json` has it."""
        data = {f.name: getattr(self, f.name) for f in fields(self)}
        data["answers"] = [
            {f.name: getattr(answer, f.name) for f in fields(answer)}
            | {"judge_words": list(answer.judge_words)}
            for answer in self.answers
        ]
        return data


def examples(
    benchmark: Benchmark,
    answers: Answers,
    judges: Sequence[Judge],
    forms: Mapping[str, Form],
    respondents: Sequence[StoredRespondent],
    reference: Cell,
    matrices: Mapping[Cell, ScoreMatrix],
    labelled: Sequence[ScoreMatrix],
    most: int = MOST,
) -> list[Example]:
    """The items on which the reference administration and another one disagree most.

    Parameters
    ----------
    benchmark, answers, judges, forms, respondents
        What was administered and judged, and where the answers are.
    reference, matrices, labelled
        The reference administration, all scored administrations, and the labels of people and
        oracles on the reference.
    most
        How many examples at most, shared among the facets.
    """
    first = matrices[reference]
    pairs = [
        (facets[0], matrix)
        for cell, matrix in matrices.items()
        if len(facets := reference.differing(cell)) == 1
    ]
    pairs += [("people" if labelled_by(m.cell.judge) == "people" else "judge", m) for m in labelled]
    gaps: dict[str, npt.NDArray[np.float64]] = {}
    for facet, matrix in pairs:
        gap = _gaps(first, matrix)
        gaps[facet] = np.fmax(gaps[facet], gap) if facet in gaps else gap
    scenes = _AnswersByItem(benchmark, answers, judges, forms, respondents, matrices, labelled)
    means = {facet: _mean(gap) for facet, gap in gaps.items()}
    return [
        scenes.example(first.items[i], gaps, means, i) for i in _chosen(first.items, means, most)
    ]


def _gaps(first: ScoreMatrix, other: ScoreMatrix) -> npt.NDArray[np.float64]:
    """Return (respondents, items): how far the scores differ; NaN if one is unscored."""
    rows = [
        other.respondents.index(name) if name in other.respondents else -1
        for name in first.respondents
    ]
    columns = [other.places.get(item.id, -1) for item in first.items]
    padded = np.pad(other.values, ((0, 1), (0, 1)), constant_values=np.nan)
    return np.asarray(np.abs(first.values - padded[np.ix_(rows, columns)]), dtype=np.float64)


def _mean(gap: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    known = np.isfinite(gap)
    total: npt.NDArray[np.float64] = np.where(known, gap, 0.0).sum(axis=0) / np.maximum(
        known.sum(axis=0), 1
    )
    return total


def _chosen(
    items: Sequence[Item], means: Mapping[str, npt.NDArray[np.float64]], most: int
) -> list[int]:
    """Choose the items to show, facet by facet, with types in turn."""
    chosen: dict[int, None] = {}
    share = -(-most // max(len(means), 1))
    for mean in means.values():
        queues: dict[str | None, list[int]] = {}
        for i in np.argsort(-mean, kind="stable"):
            if mean[i] > 0 and int(i) not in chosen:
                queues.setdefault(items[i].type, []).append(int(i))
        of_facet: list[int] = []
        while queues and len(of_facet) < share:
            for kind in list(queues):
                of_facet.append(queues[kind].pop(0))
                if not queues[kind]:
                    del queues[kind]
        chosen.update(dict.fromkeys(of_facet[:share]))
    return list(chosen)[:most]


class _AnswersByItem:
    """Reads the answers and judgements of single items from the store."""

    def __init__(
        self,
        benchmark: Benchmark,
        answers: Answers,
        judges: Sequence[Judge],
        forms: Mapping[str, Form],
        respondents: Sequence[StoredRespondent],
        matrices: Mapping[Cell, ScoreMatrix],
        labelled: Sequence[ScoreMatrix],
    ) -> None:
        self.benchmark, self.answers, self.judges, self.forms = benchmark, answers, judges, forms
        self.respondents = {respondent.name: respondent for respondent in respondents}
        self.matrices, self.labelled = matrices, labelled
        self._rows: dict[tuple[str, str, int, str], list[Row | None]] = {}
        self._places = {
            name: {item.id: i for i, item in enumerate(form.items)} for name, form in forms.items()
        }

    def example(
        self,
        item: Item,
        gaps: Mapping[str, npt.NDArray[np.float64]],
        means: Mapping[str, npt.NDArray[np.float64]],
        column: int,
    ) -> Example:
        facets = {facet: float(mean[column]) for facet, mean in means.items()}
        names = list(next(iter(self.matrices.values())).respondents)
        known = np.stack([np.nan_to_num(gap[:, column]) for gap in gaps.values()]).sum(axis=0)
        order = [names[i] for i in np.argsort(-known, kind="stable")][:ANSWERERS]
        used = [form for form in self.forms if any(cell.form == form for cell in self.matrices)]
        asked = {
            form: self.forms[form].by_id[item.id]
            for form in used
            if item.id in self.forms[form].by_id
        }
        answers = [
            answer
            for name in order
            for matrix in self.matrices.values()
            for answer in self._of_respondent(item, name, matrix)
        ]
        answers += [
            answer
            for matrix in self.labelled
            for name in order
            for answer in self._label(item, name, matrix)
        ]
        answers.sort(key=lambda answer: order.index(answer.respondent))
        return Example(
            item=item.id,
            type=item.type or "",
            image=item.image or "",
            thumbnail=thumbnail(self.answers.asks.picture(self.benchmark, item.image)[1]),
            facets={facet: gap for facet, gap in facets.items() if gap > 0},
            prompts={form: self.benchmark.asked(put) for form, put in asked.items()},
            targets={
                form: _cut(put.target) if isinstance(put.target, str) else ""
                for form, put in asked.items()
            },
            answers=tuple(answers),
            respondents=len(names),
        )

    def _of_respondent(self, item: Item, name: str, matrix: ScoreMatrix) -> list[ExampleAnswer]:
        cell = matrix.cell
        column = matrix.places.get(item.id)
        response = self._response(cell, item.id, name)
        if column is None or response is None:
            return []
        value = finite(float(matrix.values[matrix.respondents.index(name), column]))
        verdict, words = self._verdict(self.forms[cell.form].by_id[item.id], name, response, cell)
        return [
            ExampleAnswer(
                name,
                str(cell),
                _cut(response.text),
                verdict.state,
                _cut(verdict.read),
                _cut(verdict.reason),
                value,
                words,
            )
        ]

    def _label(self, item: Item, name: str, matrix: ScoreMatrix) -> list[ExampleAnswer]:
        column = matrix.places.get(item.id)
        if column is None or name not in matrix.respondents:
            return []
        value = finite(float(matrix.values[matrix.respondents.index(name), column]))
        return (
            []
            if value is None
            else [ExampleAnswer(name, str(matrix.cell), "", "ok", "", "", value)]
        )

    def _response(self, cell: Cell, item: str, name: str) -> Response | None:
        key = (cell.form, name, cell.run, cell.resolution)
        if key not in self._rows:
            answers, form = self.answers.at(cell.resolution), self.forms[cell.form]
            self._rows[key] = answers.rows(self.benchmark, form, self.respondents[name], cell.run)
        position = self._places[cell.form].get(item)
        row = None if position is None else self._rows[key][position]
        return None if row is None else Response(*row[:3])

    def _verdict(
        self, item: Item, name: str, response: Response, cell: Cell
    ) -> tuple[Verdict, tuple[str, ...]]:
        """Return the verdict on one answer, and the judge's replies."""
        label, asking = parse_judge(cell.judge)
        judging = next((judging for judging in self.judges if judging.label == label), None)
        if judging is None:
            return self.benchmark.verdict(item, response), ()
        if isinstance(judging, FileJudge):
            return self._brought(judging, item, name, cell), judging.words(name, cell, item.id)
        heard: list[str] = []
        stored = judging.asking(asking)

        async def ask(role: str, prompt: str, image: Any = None, schema: Any = None) -> str:
            reply = await stored(role, prompt, image, schema)
            heard.append(f"{role}: {_cut(reply)}")
            return reply

        return self._judged(item, name, response, cell, ask, heard)

    def _seen_with(self, item: Item, cell: Cell) -> Form:
        """The item and those whose answers its judge sees beside."""
        form, seen = self.forms[cell.form], {item.id, *self.benchmark.beside(item)}
        return Form(form.name, tuple(other for other in form.items if other.id in seen))

    def _brought(self, judge: FileJudge, item: Item, name: str, cell: Cell) -> Verdict:
        """Return the verdict from a file, with the answers that the judge saw beside this one."""
        small = self._seen_with(item, cell)
        row = [self._response(cell, other.id, name) for other in small.items]
        return judge.verdicts(cell, small, {name: row})[name][
            [other.id for other in small.items].index(item.id)
        ]

    def _judged(
        self, item: Item, name: str, response: Response, cell: Cell, ask: AskJudge, heard: list[str]
    ) -> tuple[Verdict, tuple[str, ...]]:
        # a procedure that judges all answers together, or sees others beside, asks what it asked
        # then: with all of them
        small = self._seen_with(item, cell)
        who = list(self.respondents) if self.benchmark.jointly else [name]
        rows = {n: [self._response(cell, other.id, n) for other in small.items] for n in who}

        def about(other: Item) -> AskJudge:
            return ask if other.id == item.id else _silent

        position = [other.id for other in small.items].index(item.id)
        return verdicts(self.benchmark, small, rows, about)[name][position], tuple(heard)


async def _silent(role: str, prompt: str, image: Any = None, schema: Any = None) -> str:
    """Stand in for the judge of an item that is judged only together with another one."""
    from hqm.errors import NoReply

    raise NoReply("not asked about here", location=role)


def _cut(text: str) -> str:
    return (
        text
        if len(text) <= LONGEST
        else f"{text[:LONGEST]} [… {len(text) - LONGEST:,} characters more]"
    )


def thumbnail(path: Path | None) -> str:
    """A picture, small, as a data URL; empty for one that is not there or cannot be read.

    >>> thumbnail(None)
    ''
    """
    if path is None:
        return ""
    from PIL import Image

    try:
        with Image.open(path) as picture:
            small = as_rgb(picture)
            small.thumbnail((PIXELS, PIXELS))
            buffer = io.BytesIO()
            small.save(buffer, "JPEG", quality=72)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return ""
    return f"data:image/jpeg;base64,{base64.b64encode(buffer.getvalue()).decode('ascii')}"
