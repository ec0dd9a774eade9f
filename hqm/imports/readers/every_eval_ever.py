"""Instance records of Every Eval Ever: `<uuid>_samples.jsonl`, with the aggregate `<uuid>.json`
beside them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import cast, get_args

from hqm.files.records import whole_number
from hqm.imports.layouts import first_row, objects_in
from hqm.imports.log_file import LogFile
from hqm.imports.row import Log, Row, key_in, options_in, tokens_in
from hqm.imports.score_cells import number, texts
from hqm.types import Response, State

SOURCE = "eee"


def is_log(file: LogFile) -> bool:
    """Whether a file holds such records."""
    return {"evaluation_id", "sample_id"} <= file.first_names


def read_log(file: LogFile) -> Log:
    """The rows of a samples file.

    An answer that counts for several results of the aggregate is there once for each of them;
    it is read once.
    """
    rows: dict[tuple[object, ...], Row] = {}
    for i, record in enumerate(file.records, 1):
        row = _row(record, f"{file.path}: record {i}")
        result = str(record.get("evaluation_result_id") or "")
        text = row.answer.text if row.answer else ""
        identity = (row.respondent, row.form, row.run, row.ids, text)
        # without the name of a result, a second row is a second answer
        key = identity if result else (*identity, i)
        first = rows.setdefault(key, row)
        rows[key] = replace(first, scores={**row.scores, **first.scores})
    return Log(
        path=str(file.path),
        tool=f"Every Eval Ever {file.records[0].get('schema_version', '')}".strip(),
        rows=tuple(rows.values()),
    )


_ENDED: Mapping[str, State] = {
    "unparsed": "ok",
    "empty": "ok",
    "cut": "truncated",
    "missing": "error",
}
"""How an answer ended, where its state says more than that: what could not be read, or holds no
word, ended all the same.
"""


def _row(record: Mapping[str, object], location: str) -> Row:
    question_fields = _object(record.get("input"))
    evaluation = _object(record.get("evaluation"))
    metadata = _object(record.get("metadata"))
    read = first_row(objects_in(record.get("answer_attribution"))).get("extracted_value")
    graded = number(evaluation.get("score"))
    right = number(evaluation.get("is_correct"))
    # HQM writes a score of 0 where it has none, since the schema asks for a number.
    if metadata.get("scored") == "false":
        score = None
    elif graded is None:
        score = right
    else:
        score = graded
    epoch = metadata.get("epoch")
    if epoch is None:
        run = whole_number(metadata.get("run", 0), "run", location)
    else:
        # epochs count from 1, runs from 0
        run = max(whole_number(epoch, "epoch", location) - 1, 0)
    return Row(
        place=location,
        # the name that HQM stored the respondent under, else the model's id
        respondent=str(metadata.get("respondent") or record.get("model_id") or "").removeprefix(
            "recorded/"
        ),
        answer=_answer(record, metadata),
        ids=(str(record["sample_id"]),),
        image=str(metadata.get("image") or ""),
        question=str(question_fields.get("raw") or question_fields.get("formatted") or ""),
        key=key_in({"target": question_fields.get("reference")}),
        form=str(metadata.get("form") or ""),
        run=run,
        task=str(record.get("evaluation_name") or ""),
        options=options_in(question_fields),
        score=score,
        scores={} if score is None else {_score_name(record): score},
        read=str(read or ""),
    )


def _score_name(record: Mapping[str, object]) -> str:
    """What the score of a row is called: the end of the result that it counts for, where it says
    which.
    """
    result = str(record.get("evaluation_result_id") or "")
    return re.split(r"[/#:|]", result)[-1] or "score"


def _object(value: object) -> Mapping[str, object]:
    if isinstance(value, Mapping):
        return value
    return {}


def _answer(record: Mapping[str, object], metadata: Mapping[str, object]) -> Response:
    output = _object(record.get("output"))
    error = record.get("error")
    if output:
        text = texts(output.get("raw"))[0]
    else:
        text = _last_turn(record.get("messages"))
    detail = tokens_in(record.get("token_usage"))
    state = str(metadata.get("state") or "")
    if state in get_args(State):
        if metadata.get("scored") == "false":
            reason = str(metadata.get("reason") or "")
        else:
            reason = ""
        return Response(text, _ENDED.get(state, cast(State, state)), reason, detail)
    if metadata.get("stop_reason") in ("max_tokens", "model_length"):
        return Response(text, "truncated", "", detail)
    if error:
        return Response(text, "error", str(error), detail)
    return Response(text, "ok", "", detail)


def _last_turn(messages: object) -> str:
    """What the assistant said last, of a conversation."""
    for turn in reversed(objects_in(messages)):
        if turn.get("role") == "assistant":
            return texts(turn.get("content"))[0]
    return ""
