"""Several metrics beside people's labels of the same answers: columns of a file, such as CHAIR, ROUGE
or BLEU of every answer.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hqm.benchmark.adapter import Benchmark
from hqm.errors import DataError
from hqm.files.records import placed_records, take
from hqm.psychometrics import MetricsBesidePeople, metrics_beside_people

_WHO = ("item", "respondent")
Answer = tuple[str, str]
"""The item and who answered it."""


def read_scores(path: Path, metrics: Sequence[str] = ()) -> dict[str, dict[Answer, float]]:
    """Return metric -> (item, respondent) -> score, of a file with a row for each answer.

    Every column of numbers beside `item` and `respondent` is a metric, or those named.

    Raises
    ------
    DataError
        A row lacks its item or respondent, an answer stands twice, or a named column is missing.
    """
    scores: dict[str, dict[Answer, float]] = defaultdict(dict)
    seen: set[Answer] = set()
    for place, row in placed_records(path):
        answer = (str(take(row, "item", place)), str(take(row, "respondent", place)))
        if answer in seen:
            raise DataError(
                f"the answer of {answer[1]!r} to {answer[0]!r} stands twice",
                place=place,
                remedy="Keep one row for each answer.",
            )
        seen.add(answer)
        for name in metrics or [name for name in row if name not in _WHO]:
            value = _number(take(row, name, place) if metrics else row[name])
            if value is not None:
                scores[name][answer] = value
    if not scores:
        raise DataError(
            "it has no column of numbers beside `item` and `respondent`",
            place=str(path),
            remedy="Write one column for each metric.",
        )
    return dict(scores)


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def compare_with_people(
    benchmark: Benchmark, criterion: Path, scores: Path, metrics: Sequence[str] = ()
) -> MetricsBesidePeople:
    """Compare the columns of a file with the mean of people's labels, over the answers of one
    benchmark that have both; answers to questions about one picture belong together.

    Raises
    ------
    DataError
        No answer of the file has a label.
    """
    columns = read_scores(scores, metrics)
    labels: dict[Answer, list[float]] = defaultdict(list)
    for judgement in benchmark.read_criterion(criterion, benchmark.original, None):
        if judgement.label is not None:
            labels[judgement.item, judgement.respondent].append(judgement.label)
    answers = sorted(labels.keys() & set().union(*columns.values()))
    if not answers:
        raise DataError(
            "no answer of it has a label",
            place=str(scores),
            remedy=f"Name items and respondents as {criterion.name} does.",
        )
    cluster = {item.id: item.cluster or item.id for item in benchmark.original.items}
    return metrics_beside_people(
        {
            name: [column.get(answer, math.nan) for answer in answers]
            for name, column in columns.items()
        },
        [float(np.mean(labels[answer])) for answer in answers],
        [cluster.get(item, item) for item, _ in answers],
    )
