"""Judges beside the rule: people's labels and the oracles of a benchmark."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hqm.benchmark.adapter import Benchmark
from hqm.imports.human_labels import ADJUDICATION, RATER
from hqm.judges.file_judge import BROUGHT
from hqm.scoring.matrix import MatrixBuilder, ScoreMatrix
from hqm.scoring.metrics import Metric, mean_of
from hqm.signature import digest, digest_file
from hqm.store.database import Store
from hqm.types import Cell, Form, Item, Judgement, Response, Verdict

FAITHFUL = Metric(
    "faithful",
    mean_of("faithful"),
    share=True,
    about="Share of answers that the judge found faithful.",
)
"""The metric of every judge that labels answers: 1 = faithful, 0 = hallucinated."""

_IMPORTED = re.compile(r"(?P<judge>.*)@(?P<file>b2:[0-9a-f]{24})", re.DOTALL)
"""A judge's name in the store: what the labels call it, and the hash of the file that they were
imported from.
"""


@dataclass(frozen=True, slots=True)
class Labels:
    """People's labels on the answers of one administration."""

    judgements: tuple[Judgement, ...] = ()
    files: tuple[str, ...] = ()
    """The hashes of the files that they come from; labels that older versions of HQM stored have
    none.
    """

    @property
    def by_judge(self) -> dict[str, list[Judgement]]:
        """Group labels by judge; several raters of an answer are one judge, with their mean."""
        by_judge: dict[str, list[Judgement]] = {}
        for judgement in self.judgements:
            if RATER not in judgement.judge:
                by_judge.setdefault(judgement.judge, []).append(judgement)
        return by_judge

    @property
    def by_rater(self) -> dict[str, Mapping[tuple[str, str], float]]:
        """Return rater -> (respondent, item) -> label, for raters with labels of their own."""
        by_rater: dict[str, dict[tuple[str, str], float]] = {}
        for judgement in self.judgements:
            if RATER in judgement.judge and not judgement.judge.endswith(f"{RATER}{ADJUDICATION}"):
                decided = by_rater.setdefault(judgement.judge, {})
                if judgement.label is not None:
                    decided[judgement.respondent, judgement.item] = judgement.label
        return dict(sorted(by_rater.items()))


def import_labels(
    store: Store,
    benchmark: Benchmark,
    form: Form,
    run: int,
    path: Path,
    respondents: Sequence[str],
    check: Callable[[Labels], object] = lambda labels: None,
) -> Labels:
    """Read people's labels from a file, and store them under the hash of that file.

    A corrected file has another hash, so that its labels stand beside the earlier ones and never
    mix with them. A store that is open for reading only stays as it is: the labels are then in the
    value returned, and nowhere else. What `check` raises is raised before anything is stored, so
    that labels that were refused do not come back from the store.

    Raises
    ------
    AnswerError
        The file does not fit the benchmark or these respondents.
    """
    # whole numbers as decimals, so that labels from the file and labels from the store have one
    # hash
    judgements = tuple(
        replace(judgement, label=None if judgement.label is None else float(judgement.label))
        for judgement in benchmark.read_criterion(path, form, respondents)
    )
    file = digest_file(path)
    labels = Labels(judgements, (file,))
    check(labels)
    if not store.readonly:
        stored = [replace(judgement, judge=f"{judgement.judge}@{file}") for judgement in judgements]
        store.judge(benchmark.name, form.name, run, stored)
    return labels


def stored_labels(store: Store, benchmark: Benchmark, form: Form, run: int) -> Labels:
    """Return the stored labels of one administration; of each judge, those of its latest file."""
    latest: dict[str, str] = {}
    names: dict[tuple[str, str], list[str]] = {}
    for stored_as, form_name, stored_run in store.judged(benchmark.name):
        if (form_name, stored_run) == (form.name, run) and not stored_as.startswith(BROUGHT):
            imported = _IMPORTED.fullmatch(stored_as)
            judge, file = (imported["judge"], imported["file"]) if imported else (stored_as, "")
            latest[judge.partition(RATER)[0]] = file
            names.setdefault((judge.partition(RATER)[0], file), []).append(stored_as)
    judgements: list[Judgement] = []
    for judge, file in sorted(latest.items()):
        ending = f"@{file}" if file else ""
        for name in sorted(stored_as.removesuffix(ending) for stored_as in names[judge, file]):
            rows = store.judgements(benchmark.name, f"{name}{ending}", form.name, run)
            judgements += [replace(judgement, judge=name) for judgement in rows]
    return Labels(tuple(judgements), tuple(sorted({file for file in latest.values() if file})))


def labels_matrix(
    cell: Cell,
    form: Form,
    respondents: Sequence[str],
    judgements: Sequence[Judgement],
    probabilities: Mapping[tuple[str, str], float] | None = None,
) -> ScoreMatrix:
    """The labels of one judge as a score matrix over the items that carry any label.

    With `probabilities`, (respondent, item) -> how likely that answer was to be labelled, every
    label counts 1 / probability in the tally, so that every mean is Hajek's; a label without a
    probability is left out.
    """
    if probabilities:
        judgements = [j for j in judgements if (j.respondent, j.item) in probabilities]
    labels = {(j.respondent, j.item): j.label for j in judgements}
    judged = {j.item for j in judgements if j.label is not None}
    sample = Form(form.name, tuple(item for item in form.items if item.id in judged))
    builder = MatrixBuilder(cell, sample, _score_label, lambda _: ())
    for name in respondents:
        row = [labels.get((name, item.id)) for item in sample.items]
        weights = [
            1 / probabilities.get((name, item.id), 1.0) if probabilities else 1.0
            for item in sample.items
        ]
        builder.add(
            name,
            [
                None if label is None else Response(f"{label!r} {w!r}")
                for label, w in zip(row, weights, strict=True)
            ],
        )
    rows = [[j.respondent, j.item, j.label] for j in judgements if j.label is not None]
    if probabilities:
        rows = [[*row, probabilities[str(row[0]), str(row[1])]] for row in rows]
    return builder.build(digest(sorted(rows)))


def _score_label(item: Item, response: Response) -> Verdict:
    label, weight = map(float, response.text.split())
    return Verdict(label, {"faithful": label * weight, "n": weight})


def oracle_matrix(
    benchmark: Benchmark,
    first: ScoreMatrix,
    judge: str,
    texts: Callable[[str], Sequence[Response | None]],
) -> ScoreMatrix:
    """The verdicts of a benchmark's own judge on the answers of one administration.

    `texts` gives a respondent's responses in the order of the matrix's items.
    """
    form = Form(first.cell.form, first.items)
    score = benchmark.oracle(judge)
    builder = MatrixBuilder(
        replace(first.cell, judge=judge), form, score, benchmark.subsets, benchmark.groupings
    )
    for name in first.respondents:
        builder.add(name, texts(name))
    return builder.build(first.answers)
