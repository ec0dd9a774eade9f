"""Judgements that a file brings: what a row of it says, in a release's layout or in the plain one.

A row says what was judged (an id, or a picture and a question), whose answer, who judged, and how
the judgement came out: the judge's raw `reply`, which the benchmark's own procedure reads, or a
`verdict` or `score` that somebody read out of it already.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hqm.benchmark.adapter import Benchmark
from hqm.benchmark.judge_api import ROLES, Heard, JudgedRow
from hqm.errors import AnswerError, DataError
from hqm.files.records import read_records, whole_number
from hqm.logs.row import first_text
from hqm.types import ORIGINAL, STATES, Form, Response

_IDS = ("item", "id", "question_id", "sample_id", "index", "image_id")
_IMAGES = ("image", "image_path", "image_source", "image_id")
_QUESTIONS = ("question", "prompt", "query", "instruction")
_RESPONDENTS = ("respondent", "model_id", "model")
_JUDGES = ("judge", "judge_model", "judge_name")
_MARKS = ("verdict", "score", "rating", "judgement", "judgment")
_REPLIES = ("reply", "review", "judge_reply")
_ANSWERS = ("answer", "response", "model_answer", "model_prediction", "prediction")
_PARTS = ("category", "split", "part")


def judged_rows(benchmark: Benchmark, path: Path, form: Form) -> list[JudgedRow]:
    """The rows of a file of judgements, in the release's own layout or in the plain one.

    The plain layout is CSV or JSON lines of `item` (or what a log has: `id`, `question_id`, a
    picture with its `question`), with `verdict` or `score`, or with the raw `reply` and its `role`;
    and, where they differ within the file, `respondent`, `judge`, `run` (which time the judge was
    asked), `form` and `answer_run`.

    Raises
    ------
    AnswerError
        A row holds no judgement.
    """
    released = benchmark.read_judgements(path, form)
    if released is not None:
        return list(released)
    try:
        records = read_records(path)
    except DataError:
        # a release's own shape, such as a list of texts; its reader says what is wrong with it
        records = []
    if records and any(name in records[0] for name in (*_MARKS, *_REPLIES)):
        return [_row(record, f"{path}: record {i}", form) for i, record in enumerate(records, 1)]
    if records and "label" in records[0] and "item" in records[0]:
        remedy = (
            "Bring people's labels with --criterion; a judge's verdicts stand in a column 'verdict'"
            " or 'score'."
        )
        raise AnswerError(
            "it holds labels, not judgements of a judge", place=str(path), remedy=remedy
        )
    replies = benchmark.read_replies(path, form)
    if not replies:
        raise AnswerError(
            "it holds no judgement",
            place=str(path),
            remedy="See `--judgements` in docs/formats.md.",
        )
    return [
        JudgedRow(
            place=f"{path}: {key}", heard=Heard({r: tuple(t) for r, t in said.items()}), ids=(key,)
        )
        for key, said in replies.items()
    ]


def holds_marks(path: Path) -> bool:
    """Whether a file has verdicts or scores in the plain layout, and no raw replies."""
    try:
        records = read_records(path)
    except DataError:
        return False
    return (
        bool(records)
        and any(n in records[0] for n in _MARKS)
        and not any(n in records[0] for n in _REPLIES)
    )


def _row(record: Mapping[str, Any], place: str, form: Form) -> JudgedRow:
    ids = tuple(
        str(record[n])
        for n in _IDS
        if isinstance(record.get(n), (str, int)) and str(record[n]).strip()
    )
    images = [
        name for name in _IMAGES if name != "image_id" or not any(key in form.by_id for key in ids)
    ]
    number = record.get("run") if record.get("run") not in (None, "") else record.get("asking")
    answers = [record[name] for name in _ANSWERS if isinstance(record.get(name), str)]
    return JudgedRow(
        place=place,
        heard=_heard(record, place),
        ids=tuple(dict.fromkeys(ids)),
        image=first_text(record, images),
        question=first_text(record, _QUESTIONS),
        parts=tuple(part.strip() for part in first_text(record, _PARTS).split(",") if part.strip()),
        respondent=first_text(record, _RESPONDENTS),
        judge=first_text(record, _JUDGES),
        asking=None if number in (None, "") else whole_number(number, "run", place),
        form=first_text(record, ("form",)) or ORIGINAL,
        run=(
            whole_number(record["answer_run"], "answer_run", place)
            if record.get("answer_run") not in (None, "")
            else 0
        ),
        answer=answers[0] if answers else None,
    )


def _heard(record: Mapping[str, Any], place: str) -> Heard:
    """The raw reply, else the verdict or score; a value that is missing is kept as an empty one."""
    named = next((name for name in _REPLIES if name in record), None)
    if named is not None and (
        record[named] not in (None, "") or not any(name in record for name in _MARKS)
    ):
        role = str(record.get("role") or "judge")
        if role not in ROLES:
            raise AnswerError(
                f"the role {role!r} is unknown",
                place=place,
                remedy=f"It is one of {', '.join(ROLES)}.",
            )
        state = record.get("state") or "ok"
        if state not in STATES:
            raise AnswerError(
                f"the state {state!r} is unknown",
                place=place,
                remedy=f"It is one of {', '.join(STATES)}.",
            )
        text = "" if record[named] is None else str(record[named])
        return Heard({role: (text if Response(text, state).outcome == "ok" else "",)})
    marks = [record[name] for name in _MARKS if name in record]
    if not marks:
        there = ", ".join(map(repr, record)) or "none"
        what = (
            f"none of the fields {', '.join(map(repr, (*_MARKS, *_REPLIES)))} is there (there are"
            f" {there})"
        )
        raise AnswerError(what, place=place)
    given = next((mark for mark in marks if mark not in (None, "")), "")
    if isinstance(given, (dict, list)):
        raise AnswerError(f"the verdict is {given!r:.60}, which is no text or number", place=place)
    return Heard(mark=str(given).strip())
