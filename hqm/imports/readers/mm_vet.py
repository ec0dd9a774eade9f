"""Grades of MM-Vet's evaluator: `<model>_<judge>-grade-<n>runs.json`, question -> how a judge that
was asked `n` times graded its answer.

The answers lie beside the grades in `<model>.json`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hqm.errors import AnswerError
from hqm.files.records import file_stem, read_json
from hqm.imports.log_file import LogFile
from hqm.imports.row import Log, Row
from hqm.imports.score_cells import number
from hqm.types import Response

SOURCE = "mm_vet"
# The model's name may hold underscores: the judge is what stands behind the last one.
_NAME = re.compile(r"(?P<model>.+)_(?P<judge>[^_]+)-grade-\d+runs?$")


def is_log(file: LogFile) -> bool:
    """Whether a file holds such grades."""
    first = next(iter(file.document.values()), None)
    return isinstance(first, dict) and {"model", "content", "score"} <= first.keys()


def read_log(file: LogFile) -> Log:
    """The rows of one file: a row a grade."""
    name_match = _NAME.match(file_stem(file.path))
    respondent = name_match["model"] if name_match else file_stem(file.path)
    answers_path = file.path.with_name(f"{respondent}.json")
    if name_match and answers_path.is_file():
        answers = read_json(answers_path)
    else:
        answers = {}
    rows = []
    for question, grades in file.document.items():
        location = f"{file.path}: {question}"
        text = answers.get(question) if isinstance(answers, Mapping) else None
        answer = Response(text) if isinstance(text, str) else None
        # every grade is another asking of the judge about the same answer
        for asking, (judge, score) in enumerate(_grades(grades, location)):
            rows.append(
                Row(
                    place=location,
                    ids=(question,),
                    task="mm_vet",
                    respondent=respondent,
                    answer=answer,
                    score=score,
                    scores={} if score is None else {"score": score},
                    judge=judge,
                    asking=asking,
                )
            )
    return Log(path=str(file.path), tool="MM-Vet's evaluator", rows=tuple(rows))


def _grades(grades: Any, location: str) -> list[tuple[str, float | None]]:
    """The judge and the score of each asking."""
    try:
        pairs = list(zip(grades["model"], grades["score"], strict=True))
    except (KeyError, TypeError, ValueError) as error:
        raise AnswerError(
            "its grades are no lists `model` and `score` of one length",
            location=location,
            remedy="Let MM-Vet's evaluator write the file again.",
        ) from error
    return [(str(judge), number(score)) for judge, score in pairs]
