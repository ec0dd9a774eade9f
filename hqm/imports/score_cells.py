"""Scores as tools write them: a number, a truth, a grade, or an object that holds one."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from itertools import chain

from hqm.files.dialect import finite_number

# inspect's grades are C, I, P and N; spreadsheets write true and false in their language
_TRUE = "true correct yes right pass passed c wahr vrai verdadero verdadeiro vero waar"
_FALSE = "false incorrect no wrong fail failed refusal i n falsch faux falso onwaar"
_TRUTHS = {
    **dict.fromkeys((*_TRUE.split(), "correct answer"), 1.0),
    **dict.fromkeys((*_FALSE.split(), "incorrect answer"), 0.0),
    "p": 0.5,
}


def number(value: object) -> float | None:
    """A tool's score as a number: true, "C" and "1.0" are 1; None for what is no score.

    >>> number("I"), number(True), number("nan"), number(10**400)
    (0.0, 1.0, None, None)
    """
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, str):
        truth = _TRUTHS.get(value.strip().lower())
        if truth is not None:
            return truth
        return finite_number(value)
    # of a whole number with 400 digits, isfinite would raise
    if isinstance(value, (int, float)) and abs(value) <= sys.float_info.max:
        return float(value)
    return None


SCORES = (
    "score",
    "correct",
    "is_correct",
    "if_right",
    "match",
    "true_false",
    "accuracy",
    "acc",
    "acc_score",
    "exact_match",
    "match_success",
    "rating",
    "hit",
    "eval_score",
)
_READ = ("parsed_pred", "pred_answer", "extracted_answer", "prediction", "predicted", "pred")
_RIGHT = ("answer", "gt_answer", "gt", "ground_truth", "target")


def score_of(value: object) -> float | None:
    """The score in what a tool wrote for an answer: a number or truth, or an object that has one;
    of an object with what was read and the right answer, whether they are equal.

    >>> score_of(True), score_of({"score": 0.5}), score_of({"parsed_pred": ["B"], "answer": "B"})
    (1.0, 0.5, 1.0)
    """
    if not isinstance(value, Mapping):
        return number(value)
    for name in SCORES:
        if (score := number(value.get(name))) is not None:
            return score
    # Without a score, the object says what was read and what is right, as lmms-eval's for MMMU.
    read = next(map(value.get, filter(value.__contains__, _READ)), None)
    right = next(map(value.get, filter(value.__contains__, _RIGHT)), None)
    if read is None or right is None:
        return None
    # of repeats the first; an open answer is a list of what may have been meant
    accepted_texts = texts(read[0] if isinstance(read, list) and read else read)
    open_ended = value.get("question_type") == "open"
    return float(any(_says(a, b, open_ended) for a in accepted_texts for b in texts(right)))


def _says(read: str, right: str, contains: bool) -> bool:
    """Whether a text that a tool extracted is the right answer: the same text or number, or, where
    that is enough, a text that contains it.
    """
    read = read.casefold()
    right = right.strip().casefold()
    if re.search(r"\d", read) and re.search(r"\d", right):
        read_number = number(read)
        right_number = number(right)
        if read_number is not None and right_number is not None:
            # as MMMU compares numbers
            return round(read_number, 2) == round(right_number, 2)
    # as MMMU: a single character stands apart, since it is a part of most words
    if contains and len(right) == 1:
        return f" {right}" in read or f"{right} " in read
    if contains:
        return right in read
    return right == read.strip()


def texts(value: object) -> list[str]:
    """The answers in a field that holds one, or a list of repeats: lists of one are opened, a null
    is an empty answer.

    >>> texts([["Yes"]]), texts(["Yes", "No"]), texts(None)
    (['Yes'], ['Yes', 'No'], [''])
    """
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, list):
        return list(chain.from_iterable(map(texts, value))) or [""]
    return ["" if value is None else str(value)]
