"""Judges beside the rule: people's labels from a file, and the oracles a benchmark brings with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hqm.scoring.matrix import MatrixBuilder, ScoreMatrix
from hqm.scoring.metrics import Metric, mean_of
from hqm.types import Cell, Form, Item, Judgement, Response, Verdict

if TYPE_CHECKING:
    from hqm.benchmark.interface import Benchmark

FAITHFUL = Metric("faithful", mean_of("faithful"), share=True, about="Share of answers that the judge found faithful.")
"""The metric of every judge that labels answers: 1 = faithful, 0 = hallucinated."""


def labels_matrix(cell: Cell, form: Form, respondents: Sequence[str], judgements: Sequence[Judgement]) -> ScoreMatrix:
    """The labels of one judge as a score matrix over the items that carry any label."""
    labels = {(j.respondent, j.item): j.label for j in judgements}
    judged = {j.item for j in judgements if j.label is not None}
    sample = Form(form.name, tuple(item for item in form.items if item.id in judged))
    builder = MatrixBuilder(cell, sample, _score_label, lambda _: ())
    for name in respondents:
        row = [labels.get((name, item.id)) for item in sample.items]
        builder.add(name, [None if label is None else Response(repr(label)) for label in row])
    return builder.build(judgements_digest(judgements))


def judgements_digest(judgements: Sequence[Judgement]) -> str:
    """The content hash of labels."""
    from hqm.signature import digest

    return digest(sorted([j.respondent, j.item, j.label] for j in judgements if j.label is not None))


def _score_label(item: Item, response: Response) -> Verdict:
    label = float(response.text)
    return Verdict(label, {"faithful": label, "n": 1.0})


def oracle_matrix(
    benchmark: Benchmark, first: ScoreMatrix, judge: str, texts: Callable[[str], Sequence[Response | None]]
) -> ScoreMatrix:
    """The verdicts of a benchmark's own judge on the answers of one administration.

    `texts` gives a respondent's responses in the order of the matrix's items.
    """
    form = Form(first.cell.form, first.items)
    score = benchmark.judges()[judge]
    builder = MatrixBuilder(replace(first.cell, judge=judge), form, score, benchmark.subsets, benchmark.groupings)
    for name in first.respondents:
        builder.add(name, texts(name))
    return builder.build(first.answers)
