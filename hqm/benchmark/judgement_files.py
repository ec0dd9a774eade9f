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
from hqm.benchmark.judge_api import ROLES
from hqm.errors import AnswerError, DataError
from hqm.files.records import read_records
from hqm.imports.row import (
    ANSWERS,
    IDS,
    IMAGES,
    PARTS,
    QUESTIONS,
    RESPONDENTS,
    JudgeOutput,
    Row,
    count_in,
    first_text,
    ids_in,
    no_field,
    parts_in,
)
from hqm.types import STATES, Form, Response

_JUDGES = ("judge", "judge_model", "judge_name")
_MARKS = ("verdict", "score", "rating", "judgement", "judgment")
_REPLIES = ("reply", "review", "judge_reply")
_ANSWERS = tuple(name for name in ANSWERS if name not in ("text", "caption"))


def judged_rows(benchmark: Benchmark, path: Path, form: Form) -> list[Row]:
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
        Row(
            place=f"{path}: {key}",
            judgement=JudgeOutput({r: tuple(t) for r, t in said.items()}),
            ids=(key,),
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


def _row(record: Mapping[str, Any], place: str, form: Form) -> Row:
    ids = ids_in(record, (*IDS, "image_id"))
    named = any(key in form.by_id for key in ids)  # then `image_id` is an id and not a picture
    images = [name for name in IMAGES if name != "image_id" or not named]
    asking = count_in(record, "run", place)
    answers = [record[name] for name in _ANSWERS if isinstance(record.get(name), str)]
    return Row(
        place=place,
        judgement=_output(record, place),
        ids=ids,
        image=first_text(record, images),
        question=first_text(record, QUESTIONS),
        parts=parts_in(first_text(record, PARTS)),
        respondent=first_text(record, RESPONDENTS),
        judge=first_text(record, _JUDGES),
        asking=count_in(record, "asking", place) if asking is None else asking,
        form=first_text(record, ("form",)),
        run=count_in(record, "answer_run", place) or 0,
        answer=Response(answers[0]) if answers else None,
    )


def _output(record: Mapping[str, Any], place: str) -> JudgeOutput:
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
        return JudgeOutput({role: (text if Response(text, state).outcome == "ok" else "",)})
    marks = [record[name] for name in _MARKS if name in record]
    if not marks:
        raise AnswerError(no_field((*_MARKS, *_REPLIES), record), place=place)
    given = next((mark for mark in marks if mark not in (None, "")), "")
    if isinstance(given, (dict, list)):
        raise AnswerError(f"the verdict is {given!r:.60}, which is no text or number", place=place)
    return JudgeOutput(mark=str(given).strip())
