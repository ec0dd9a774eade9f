"""Several metrics beside people's labels of the same answers: CHAIR, and columns of files, such as
ROUGE or BLEU of every answer.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, filterfalse
from pathlib import Path

import numpy as np

from hqm.administration.exported_answers import read_recorded_answers
from hqm.benchmark.adapter import Benchmark
from hqm.benchmark.registry import load
from hqm.errors import DataError
from hqm.files.dialect import finite_number
from hqm.files.records import required_field
from hqm.imports.human_labels import HUMAN, respondent_named, short_names
from hqm.imports.intake import Intake, describe_reading, refuse_twice, take_rows
from hqm.imports.log_answers import LogSettings
from hqm.imports.recordings import Recording, check_claims
from hqm.imports.row import name_in
from hqm.imports.scales import check_scales, is_missing, with_plain_numbers
from hqm.imports.score_cells import number
from hqm.imports.score_columns import has_labels
from hqm.psychometrics import metrics_beside_people
from hqm.psychometrics.validity.criterion import MetricsBesidePeople
from hqm.types import ORIGINAL

_KEY_COLUMNS = ("item", "respondent")
_MAX_NAMES = 5
"""Names that an error lists."""
Answer = tuple[str, str]
"""The item and who answered it."""


@dataclass(frozen=True, slots=True)
class AnswerScores:
    """Scores of single answers by metrics, as files hold them."""

    columns: Mapping[str, Mapping[Answer, float]]
    """Metric -> (item, respondent) -> score."""
    location: str = ""
    """The files, for messages."""
    notes: tuple[str, ...] = ()
    """How the columns of each file were read."""


def read_score_files(paths: Sequence[Path], benchmark: Benchmark | None = None) -> AnswerScores:
    """Return the scores of several files; a metric may be in more than one.

    Raises
    ------
    DataError
        As `read_scores`; or one answer has the score of a metric in two files.
    """
    columns: dict[str, dict[Answer, float]] = {}
    notes: list[str] = []
    for path in paths:
        scores = read_scores(path, benchmark)
        notes += scores.notes
        for name, column in scores.columns.items():
            answer_scores = columns.setdefault(name, {})
            repeated = sorted(answer_scores.keys() & column.keys())
            if repeated:
                item, respondent = repeated[0]
                refuse_twice(f"the answer of {respondent!r} to {item!r} stands", str(path))
            answer_scores.update(column)
    location = " ".join(map(str, paths))
    for name, column in columns.items():
        _check_scales(name, column, location)
    return AnswerScores(columns, location, tuple(notes))


def read_scores(path: Path, benchmark: Benchmark | None = None) -> AnswerScores:
    """Return the scores in a file with a row for each answer to a benchmark, where it is known.

    Every column of numbers beside `item`, `respondent` and people's labels is a metric.

    Raises
    ------
    DataError
        A row lacks its item or respondent, an answer stands twice, or a cell among numbers is none.
    """
    intake = take_rows(path)
    rows = _answers_in(intake, benchmark)
    scores: dict[str, dict[Answer, float]] = {}
    names: set[str] = set()
    for _, row in rows.values():
        names.update(row)
    # people's labels are what metrics are compared with
    for name in sorted(filterfalse(has_labels, names.difference(_KEY_COLUMNS))):
        numbers = {answer: _number(row.get(name)) for answer, (_, row) in rows.items()}
        if set(numbers.values()) == {None}:
            continue  # a column of words is no metric
        column = {}
        for answer, (location, row) in rows.items():
            score = numbers[answer]
            if score is not None:
                column[answer] = score
            elif not is_missing(row.get(name)):
                raise DataError(
                    f"{row[name]!r:.60} is no number, unlike other cells of the column {name!r}",
                    location=location,
                    remedy="Correct it, or leave the cell empty.",
                )
        scores[name] = column
        _check_scales(name, column, str(path))
    if not scores:
        raise DataError(
            "it has no column of numbers beside `item` and `respondent`",
            location=str(path),
            remedy="Write one column for each metric.",
        )
    reading = describe_reading({**intake.columns, "score": " and ".join(scores)})
    notes = [*intake.located_notes, f"{path}: read as {reading}"]
    return AnswerScores(scores, str(path), tuple(notes))


def _check_scales(name: str, column: Mapping[Answer, float], location: str) -> None:
    """Refuse a metric of two scales."""
    scores = [(respondent, score) for (_, respondent), score in column.items()]
    check_scales(name, scores, location)


def _answers_in(
    intake: Intake, benchmark: Benchmark | None
) -> dict[Answer, tuple[str, Mapping[str, object]]]:
    """Return (item, respondent) -> where its row stands, and the row."""
    rows: dict[Answer, tuple[str, Mapping[str, object]]] = {}
    intake = intake.with_names({"item": "item", "model": "respondent"})
    if benchmark is not None:
        check_claims(intake, benchmark.original, benchmark.name, benchmark.spelled)
    columns = dict.fromkeys(chain.from_iterable(intake.records))
    for name in _KEY_COLUMNS:
        columns.pop(name, None)
    records = with_plain_numbers(intake.records, list(columns), intake.path)
    for location, row in replace(intake, records=records).located():
        for name in _KEY_COLUMNS:
            required_field(row, name, location)
        answer = (name_in(row, "item", location), name_in(row, "respondent", location))
        if not all(answer):
            raise DataError(
                "it names no item, or no respondent",
                location=location,
                remedy="Write both in every row.",
            )
        if answer in rows:
            refuse_twice(f"the answer of {answer[1]!r} to {answer[0]!r} stands", location)
        rows[answer] = location, row
    return rows


def _number(value: object) -> float | None:
    # True would be 1.0, "yes" another 1, and a column of answers a metric.
    if isinstance(value, str):
        return finite_number(value)
    return None if isinstance(value, bool) else number(value)


CAPTION_METRICS = {"chair": ("coco_chair", "chair_i")}
"""Metrics that are computed from the answers where no column has them: the benchmark whose rule
scores captions of the same pictures, and its metric.
"""


def caption_scores(
    benchmark: Benchmark, recordings: Sequence[Recording], name: str
) -> dict[Answer, float]:
    """Return the scores of the answers as captions, reversed where lower is better; 0 is the
    score of an answer that mentions nothing, as in the released CHAIR.

    Raises
    ------
    DataError
        No answer is about a picture whose objects are known.
    """
    benchmark_name, metric_name = CAPTION_METRICS[name]
    rule = load(benchmark_name)
    metric = rule.metric(metric_name)
    pictures = {item.image: item for item in rule.original.items}
    scores: dict[Answer, float] = {}
    for recording in recordings:
        for item, response in recording.answers.items():
            picture = pictures.get(benchmark.original.by_id[item].image)
            if picture is not None:
                tally = rule.verdict(picture, response).tally
            else:
                tally = None
            if tally is not None:
                # A caption without objects divides by 0, and counts as one that makes nothing up.
                value = np.nan_to_num(metric({key: np.array(v) for key, v in tally.items()}))
                # Of people's labels the higher is better, and a metric beside them has the same
                # direction.
                scores[item, recording.respondent] = metric.sign * float(value)
    if not scores:
        raise DataError(
            f"no answer is about a picture whose objects {benchmark_name} knows",
            location=f"--metric {name}",
            remedy="Name the answers with --recorded, or a column of --scores.",
        )
    return scores


def compare_with_people(
    benchmark: Benchmark,
    criterion: Path,
    scores: AnswerScores,
    metrics: Sequence[str] = (),
    recorded: Sequence[Path] = (),
) -> MetricsBesidePeople:
    """Compare metrics with the mean of people's labels, over the answers of one benchmark that have
    both; answers to questions about one picture belong together.

    The metrics are columns of files, or those named; `CAPTION_METRICS` come from the answers, which
    are recorded in files or stand beside the labels.

    Raises
    ------
    DataError
        No answer has both, or a named metric is in no file.
    """
    labels: dict[Answer, list[float]] = defaultdict(list)
    for judgement in benchmark.read_criterion(criterion, benchmark.original, None):
        if judgement.judge == HUMAN and judgement.label is not None:
            labels[judgement.item, judgement.respondent].append(judgement.label)
    respondents = _respondents_of(labels)
    # A file of labels may hold the answers too, beside which they were given.
    columns = _metric_columns(benchmark, scores, metrics, recorded or [criterion])
    for name, column in columns.items():
        columns[name] = _labelled_scores(column, respondents, name)
    for name, column in columns.items():
        if not labels.keys() & column.keys():
            raise _no_common_answer(labels.keys(), column.keys(), name, criterion)
    # Sorted, as the order of a set would change the resampling.
    answers = sorted(labels.keys() & set().union(*columns.values()))
    values = {}
    for name, column in columns.items():
        values[name] = [column.get(answer, math.nan) for answer in answers]
    means = [float(np.mean(labels[answer])) for answer in answers]
    clusters = [benchmark.original.by_id[item].cluster or item for item, _ in answers]
    return metrics_beside_people(values, means, clusters)


def _respondents_of(answers: Collection[Answer]) -> list[str]:
    """Return who gave these answers, each once, by name."""
    return sorted({respondent for _, respondent in answers})


def _labelled_scores(
    column: Mapping[Answer, float], respondents: Sequence[str], name: str
) -> dict[Answer, float]:
    """Return the scores under the names that the labels give their respondents.

    A respondent may be named as an audit prints it (`recorded/llava`) or by the end of its name;
    one that nobody labelled keeps its own.

    Raises
    ------
    DataError
        Two names of one respondent have scores of one answer.
    """
    labelled_names = {}
    for respondent in _respondents_of(column):
        ends = short_names(respondent)
        labelled_names[respondent] = respondent
        if any(label in ends or respondent in short_names(label) for label in respondents):
            labelled_name = respondent_named(respondent, respondents, f"the scores {name}")
            labelled_names[respondent] = labelled_name
    scores: dict[Answer, float] = {}
    for (item, respondent), score in column.items():
        answer = (item, labelled_names[respondent])
        if answer in scores:
            raise DataError(
                f"the answer of {answer[1]!r} to {item!r} stands twice, under two names",
                location=f"the scores {name}",
                remedy="Keep one row for each answer.",
            )
        scores[answer] = score
    return scores


def _no_common_answer(
    labelled: Collection[Answer], scored: Collection[Answer], name: str, criterion: Path
) -> DataError:
    """Return the error of scores of which none is about a labelled answer, with names of both."""
    # Where respondents agree, the items are what does not.
    label_items, label_respondents = map(set, zip(*labelled, strict=True))
    score_items, score_respondents = map(set, zip(*scored, strict=True))
    kind = "respondents"
    label_names = sorted(label_respondents)[:_MAX_NAMES]
    score_names = sorted(score_respondents)[:_MAX_NAMES]
    if label_respondents & score_respondents:
        kind = "items"
        label_names = sorted(label_items)[:_MAX_NAMES]
        score_names = sorted(score_items)[:_MAX_NAMES]
    return DataError(
        f"no answer has both a label and a score of {name}: the {kind} of the labels are"
        f" {', '.join(label_names)}, and those of the scores {', '.join(score_names)}",
        location=str(criterion),
        remedy=f"Write the {kind} of the scores as the labels do.",
    )


def _metric_columns(
    benchmark: Benchmark, scores: AnswerScores, metrics: Sequence[str], recorded: Sequence[Path]
) -> dict[str, Mapping[Answer, float]]:
    """Return metric -> answer -> score: columns of files, and metrics computed from the answers."""
    columns = dict(scores.columns)
    computed = []
    requested = []
    for name in metrics:
        if name in columns:
            requested.append(name)
        elif name in CAPTION_METRICS:
            computed.append(name)
        else:
            raise DataError(
                f"no file has a column of numbers {name!r}",
                location=scores.location or f"--metric {name}",
                remedy=f"There are {', '.join((*columns, *CAPTION_METRICS))}.",
            )
    columns = {name: columns[name] for name in requested or columns}
    if computed:
        forms = {ORIGINAL: benchmark.original}
        answers = read_recorded_answers(benchmark, recorded, forms, LogSettings())
        for name in computed:
            columns[name] = caption_scores(benchmark, answers.recordings, name)
    return columns
