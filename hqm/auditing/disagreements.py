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
from dataclasses import dataclass
from itertools import accumulate, count
from pathlib import Path
from typing import TypedDict

import numpy as np
import numpy.typing as npt

from hqm.administration.asks import StoredRespondent
from hqm.administration.stored_answers import Answers
from hqm.benchmark.adapter import Benchmark
from hqm.benchmark.judge_api import AskJudge, parse_judge
from hqm.errors import NoReply
from hqm.files.images import as_rgb, open_picture
from hqm.imports.human_labels import labelled_by
from hqm.judges.file_judge import FileJudge, Judge
from hqm.judges.procedure import verdicts
from hqm.scoring.matrix import ScoreMatrix
from hqm.types import (
    Administration,
    Cell,
    Count,
    Form,
    Item,
    Number,
    Response,
    Row,
    Verdict,
    Width,
    finite,
)

MAX_EXAMPLES = 60
"""Examples of one benchmark at most."""
MAX_SHOWN_RESPONDENTS = 6
"""Respondents whose answers an example shows at most: those on whom the administrations disagree
most.
"""
MAX_TEXT_CHARS = 1200
"""Characters of an answer or a judge's reply that are kept; the cut is marked."""
PIXELS = 160
"""The longer side of a thumbnail."""


class ExampleAnswerRow(TypedDict):
    """One answer of an example (`ExampleAnswer`)."""

    respondent: str
    cell: str
    text: str
    state: str
    read: str
    reason: str
    value: float | None
    judge_words: list[str]


class ExampleRow(TypedDict):
    """An item with what was asked and answered (`Example.to_dict`)."""

    item: str
    type: str
    image: str
    thumbnail: str
    facets: Mapping[str, float | None]
    prompts: Mapping[str, str]
    targets: Mapping[str, str]
    answers: list[ExampleAnswerRow]
    respondents: int


@dataclass(frozen=True, slots=True)
class ExampleAnswer:
    """One respondent's answer in one administration, with its verdict."""

    respondent: str
    cell: Administration
    text: str
    state: str
    read: str
    reason: str
    value: Number
    """1: right or faithful; 0: wrong or hallucinated; None: not scored."""
    judge_words: tuple[str, ...] = ()

    def to_dict(self) -> ExampleAnswerRow:
        """The answer as `audit.json` has it."""
        return {
            "respondent": self.respondent,
            "cell": self.cell,
            "text": self.text,
            "state": self.state,
            "read": self.read,
            "reason": self.reason,
            "value": self.value,
            "judge_words": list(self.judge_words),
        }


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

    def to_dict(self) -> ExampleRow:
        """The example as `audit.json` has it."""
        return {
            "item": self.item,
            "type": self.type,
            "image": self.image,
            "thumbnail": self.thumbnail,
            "facets": self.facets,
            "prompts": self.prompts,
            "targets": self.targets,
            "answers": list(map(ExampleAnswer.to_dict, self.answers)),
            "respondents": self.respondents,
        }


def examples(
    benchmark: Benchmark,
    answers: Answers,
    judges: Sequence[Judge],
    forms: Mapping[str, Form],
    respondents: Sequence[StoredRespondent],
    reference: Cell,
    matrices: Mapping[Cell, ScoreMatrix],
    labelled: Sequence[ScoreMatrix],
    max_examples: int = MAX_EXAMPLES,
) -> list[Example]:
    """The items on which the reference administration and another one disagree most.

    Parameters
    ----------
    benchmark, answers, judges, forms, respondents
        What was administered and judged, and where the answers are.
    reference, matrices, labelled
        The reference administration, all scored administrations, and the labels of people and
        oracles on the reference.
    max_examples
        How many examples at most, shared among the facets.
    """
    first = matrices[reference]
    facets_and_matrices = [
        *((reference.differing(cell), matrix) for cell, matrix in matrices.items()),
        *((_labels_facet(matrix), matrix) for matrix in labelled),
    ]
    gaps: dict[str, npt.NDArray[np.float64]] = {}
    for facets, matrix in facets_and_matrices:
        if len(facets) == 1:
            gap = _gaps(first, matrix)
            # Not `maximum`: an answer that one administration left unscored is compared in the
            # others.
            gaps[facets[0]] = np.fmax(gaps.get(facets[0], gap), gap)
    scenes = _AnswersByItem(benchmark, answers, judges, forms, respondents, matrices, labelled)
    means = dict(zip(gaps, map(_mean, gaps.values()), strict=True))
    return [
        scenes.example(first.items[i], gaps, means, i)
        for i in _choose_items(first.items, means, max_examples)
    ]


def _labels_facet(labels: ScoreMatrix) -> tuple[str, ...]:
    """Return the facet in which labels differ from the scores."""
    if labelled_by(labels.cell.judge) == "people":
        return ("people",)
    return ("judge",)


def _gaps(first: ScoreMatrix, second: ScoreMatrix) -> npt.NDArray[np.float64]:
    """Return (respondents, items): how far the scores differ; NaN if one is unscored."""
    row_by_name = dict(zip(second.respondents, count()))
    # The last row and column, of NaN, stand for those that the second has not.
    rows = [row_by_name.get(name, -1) for name in first.respondents]
    columns = [second.column_by_id.get(item_id, -1) for item_id in first.ids]
    padded = np.pad(second.values, ((0, 1), (0, 1)), constant_values=np.nan)
    return np.asarray(np.abs(first.values - padded[np.ix_(rows, columns)]), dtype=np.float64)


def _mean(gap: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    scored = np.isfinite(gap)
    total: npt.NDArray[np.float64] = np.where(scored, gap, 0.0).sum(axis=0) / np.maximum(
        scored.sum(axis=0), 1
    )
    return total


def _choose_items(
    items: Sequence[Item], means: Mapping[str, npt.NDArray[np.float64]], max_items: int
) -> list[int]:
    """Choose the items to show, facet by facet, with types in turn."""
    # A dict as an ordered set: an item stands where the first facet put it.
    indices: dict[int, None] = {}
    # Rounded up, so that the facets together fill the list; what is too much is cut at the end.
    share = -(-max_items // max(len(means), 1))
    for mean in means.values():
        queues: dict[str | None, list[int]] = {}
        for i in np.argsort(-mean, kind="stable"):
            if mean[i] > 0 and int(i) not in indices:
                queues.setdefault(items[i].type, []).append(int(i))
        facet_indices: list[int] = []
        while queues and len(facet_indices) < share:
            # A copy, since a type whose items are used up leaves the dict.
            for kind in list(queues):
                facet_indices.append(queues[kind].pop(0))
                if not queues[kind]:
                    del queues[kind]
        indices.update(dict.fromkeys(facet_indices[:share]))
    return list(indices)[:max_items]


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
        self.benchmark = benchmark
        self.answers = answers
        self.judges = judges
        self.forms = forms
        self.respondents = {respondent.name: respondent for respondent in respondents}
        self.matrices = matrices
        self.labelled = labelled
        self._rows: dict[tuple[str, str, int, str], list[Row | None]] = {}
        self._positions: dict[str, dict[str, int]] = {}
        for name, form in forms.items():
            self._positions[name] = dict(zip(form.by_id, count()))

    def example(
        self,
        item: Item,
        gaps: Mapping[str, npt.NDArray[np.float64]],
        means: Mapping[str, npt.NDArray[np.float64]],
        column: int,
    ) -> Example:
        facets = {}
        for facet, mean in means.items():
            if mean[column] > 0:
                facets[facet] = float(mean[column])
        names = list(next(iter(self.matrices.values())).respondents)
        # A facet in which the respondent was not scored adds nothing to the sum.
        disagreement = np.nansum([gap[:, column] for gap in gaps.values()], axis=0)
        order = np.argsort(-disagreement, kind="stable")[:MAX_SHOWN_RESPONDENTS]
        prompts = {}
        targets = {}
        administered = {cell.form for cell in self.matrices}
        for name, form in self.forms.items():
            form_item = form.by_id.get(item.id)
            if name in administered and form_item is not None:
                prompts[name] = self.benchmark.question_text(form_item)
                target = form_item.target
                targets[name] = _cut(target) if isinstance(target, str) else ""
        answers: list[ExampleAnswer] = []
        for index in order:
            name = names[index]
            for matrix in self.matrices.values():
                answers += self._respondent_answers(item, name, matrix)
            for matrix in self.labelled:
                answers += self._label(item, name, matrix)
        return Example(
            item=item.id,
            type=item.type or "",
            image=item.material,
            thumbnail=thumbnail(
                *(self.answers.asks.picture(self.benchmark, name)[1] for name in item.pictures)
            ),
            facets=facets,
            prompts=prompts,
            targets=targets,
            answers=tuple(answers),
            respondents=len(names),
        )

    def _respondent_answers(
        self, item: Item, name: str, matrix: ScoreMatrix
    ) -> list[ExampleAnswer]:
        """Return the respondent's answer in one administration; none where it was not asked."""
        cell = matrix.cell
        column = matrix.column_by_id.get(item.id)
        response = self._response(cell, item.id, name)
        if column is None or response is None:
            return []
        value = finite(float(matrix.values[matrix.respondents.index(name), column]))
        verdict, words = self._verdict(self.forms[cell.form].by_id[item.id], name, response, cell)
        answer = ExampleAnswer(
            name,
            str(cell),
            _cut(response.text),
            verdict.state,
            _cut(verdict.read),
            _cut(verdict.reason),
            value,
            words,
        )
        return [answer]

    def _label(self, item: Item, name: str, matrix: ScoreMatrix) -> list[ExampleAnswer]:
        """Return the label of the respondent's answer; none where nobody labelled it."""
        column = matrix.column_by_id.get(item.id)
        if column is None or name not in matrix.respondents:
            return []
        value = finite(float(matrix.values[matrix.respondents.index(name), column]))
        if value is None:
            return []
        return [ExampleAnswer(name, str(matrix.cell), "", "ok", "", "", value)]

    def _response(self, cell: Cell, item: str, name: str) -> Response | None:
        key = (cell.form, name, cell.run, cell.resolution)
        # Examples take items in no order of the store; a row is read once for all of them.
        if key not in self._rows:
            answers = self.answers.with_resolution(cell.resolution)
            form = self.forms[cell.form]
            self._rows[key] = answers.rows(self.benchmark, form, self.respondents[name], cell.run)
        position = self._positions[cell.form].get(item)
        row = None if position is None else self._rows[key][position]
        if row is None:
            return None
        return Response(*row[:3])

    def _verdict(
        self, item: Item, name: str, response: Response, cell: Cell
    ) -> tuple[Verdict, tuple[str, ...]]:
        """Return the verdict on one answer, and the judge's replies."""
        label, asking = parse_judge(cell.judge)
        judge = next((judge for judge in self.judges if judge.label == label), None)
        if judge is None:
            verdicts = self.answers.verdicts(self.benchmark, self.forms[cell.form])
            position = self._positions[cell.form][item.id]
            return verdicts.item_verdict(position, response), ()
        if isinstance(judge, FileJudge):
            return self._file_verdict(judge, item, name, cell), judge.words(name, cell, item.id)
        replies: list[str] = []
        stored = judge.asking(asking)

        async def ask(
            role: str,
            prompt: str,
            image: str | None = None,
            schema: Mapping[str, object] | None = None,
        ) -> str:
            reply = await stored(role, prompt, image, schema)
            replies.append(f"{role}: {_cut(reply)}")
            return reply

        return self._stored_verdict(judge.benchmark, item, name, cell, ask), tuple(replies)

    def _context(self, item: Item, cell: Cell) -> tuple[Form, int]:
        """Return the items whose answers the judge sees, this one among them, and its position."""
        form = self.forms[cell.form]
        # The judge sees these answers too, and its prompt, which finds the stored reply, holds
        # them.
        context_ids = {item.id, *self.benchmark.context_items(item)}
        context = Form(form.name, tuple(m for m in form.items if m.id in context_ids))
        return context, list(context.by_id).index(item.id)

    def _file_verdict(self, judge: FileJudge, item: Item, name: str, cell: Cell) -> Verdict:
        """Return the verdict from a file, with the answers that the judge saw beside this one."""
        context, position = self._context(item, cell)
        rows = {name: self._context_row(context, cell, name)}
        return judge.verdicts(cell, context, rows)[name][position]

    def _stored_verdict(
        self, benchmark: Benchmark, item: Item, name: str, cell: Cell, ask: AskJudge
    ) -> Verdict:
        """Return the verdict from the stored replies of a judge."""
        # a procedure that judges all answers together, or sees others beside, asks what it asked
        # then: with all of them
        context, position = self._context(item, cell)
        names = list(self.respondents) if benchmark.jointly else [name]
        rows = {member: self._context_row(context, cell, member) for member in names}

        def ask_for(context_item: Item) -> AskJudge:
            if context_item.id == item.id:
                return ask
            return _silent

        return verdicts(benchmark, context, rows, ask_for)[name][position]

    def _context_row(self, context: Form, cell: Cell, name: str) -> list[Response | None]:
        """Return the respondent's answers to the items of a context."""
        return [self._response(cell, member.id, name) for member in context.items]


async def _silent(role: str, prompt: str, image: object = None, schema: object = None) -> str:
    """Give no reply about an item that is judged only together with another one."""
    raise NoReply("not asked about here", location=role)


def _cut(text: str) -> str:
    """Return a text with its end cut off and counted, where it is longer than an example shows."""
    if len(text) <= MAX_TEXT_CHARS:
        return text
    return f"{text[:MAX_TEXT_CHARS]} [… {len(text) - MAX_TEXT_CHARS:,} characters more]"


def thumbnail(*paths: Path | None) -> str:
    """Pictures side by side, small, as a data URL; empty where none is there or can be read.

    >>> thumbnail(None)
    ''
    """
    from PIL import Image

    pictures = []
    for path in paths:
        if path is None:
            continue
        try:
            with open_picture(path) as picture:
                small = as_rgb(picture)
                small.thumbnail((PIXELS, PIXELS))
                pictures.append(small)
        # Pillow raises all of these for files that are damaged or too large; SyntaxError for a
        # broken PNG. An example without its picture is still read.
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
            continue
    if not pictures:
        return ""
    row = pictures[0]
    if len(pictures) > 1:
        widths, heights = zip(*(picture.size for picture in pictures), strict=True)
        row = Image.new("RGB", (sum(widths), max(heights)), "white")
        for picture, left in zip(pictures, accumulate(widths, initial=0), strict=False):
            row.paste(picture, (left, 0))
    buffer = io.BytesIO()
    row.save(buffer, "JPEG", quality=72)
    # Within the page, so that a report is one file that can be sent.
    return f"data:image/jpeg;base64,{base64.b64encode(buffer.getvalue()).decode('ascii')}"
