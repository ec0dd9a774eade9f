"""Logs of lmms-eval and of lm-eval: `..._samples_<task>.jsonl` with `..._results.json` beside it,
and the one JSON of lmms-eval 0.3.

Since 0.4 a row no longer has the question's record (`doc`): what names the question are the
dictionaries that some tasks write as their metrics, the prompt (`input`), and the row number
(`doc_id`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any

from hqm.errors import AnswerError, HQMError
from hqm.files.records import file_stem, parse_value, read_json
from hqm.imports.layouts import inner_cell
from hqm.imports.log_file import LogFile
from hqm.imports.row import (
    IDS,
    IMAGES,
    QUESTIONS,
    Log,
    Row,
    first_text,
    ids_in,
    key_in,
    options_in,
    parts_in,
    tokens_in,
)
from hqm.imports.score_cells import number, score_of, texts
from hqm.types import LETTERS, Response

_SAMPLES = re.compile(
    r"(?P<date>\d{8}_\d{6}|.*?)_?samples_(?P<task>.+?)(?:_\d{4}-\d\d-\d\dT[\d.-]+)?\.jsonl"
)
_TOOL_FIELDS = frozenset(
    "doc_id doc target arguments resps filtered_resps filter metrics doc_hash prompt_hash"
    " target_hash token_counts input input_media".split()
)
_KEY_FIELDS = ("category", "subcategory", "set_id", "figure_id", "question_id")
# The tool's tasks keep the name of a picture beside the picture itself, and POPE's its question in
# `text`.
_IMAGES = ("image_id", *IMAGES)
_QUESTIONS = ("question", "text", *QUESTIONS)

_OF_ALL_REPLIES = re.compile(
    r"(?:^|[^a-z])(?:maj(?:ority)?|pass)(?:@|_at_)\d+|,majority", re.IGNORECASE
)
"""Scores that lm-eval gives to all replies of a question: `exact_match,maj@64`, `pass@10`."""
_STDERR = ("_stderr", "_stderr_clt", "_stderr_clustered")

SOURCE = "lmms-eval"


def is_log(file: LogFile) -> bool:
    """Whether a file holds the rows of such a log, or is the one JSON of lmms-eval 0.3."""
    names = file.first_names
    has_replies = not names.isdisjoint(("filtered_resps", "resps"))
    return ("doc_id" in names and has_replies) or _is_old(file)


def _is_old(file: LogFile) -> bool:
    return "args" in file.document and isinstance(file.document.get("logs"), list)


def read_log(file: LogFile) -> Log:
    """The rows of one samples file; the model's name comes from the results file of the same
    run.
    """
    if _is_old(file):
        return _read_old(file.path, file.document)
    path = file.path
    results, notes = _results(path)
    name_match = _SAMPLES.fullmatch(path.name)
    task = name_match["task"] if name_match else file_stem(path)
    respondent = _model(results) or path.parent.name.rpartition("__")[2] or file_stem(path)
    rows, joint_scores = _without_joint_scores(list(_rows_of(file.records, path, respondent, task)))
    if joint_scores:
        notes.append(f"scores of all replies together, left out: {', '.join(joint_scores)}")
    settings = dict(results.get("configs", {}).get(task, {}).get("generation_kwargs", {}) or {})
    version = str(results.get("lmms_eval_version") or "").partition("@")[0]
    tool = f"lmms-eval {version}".removesuffix(" unknown").strip()
    higher_is_better = results.get("higher_is_better", {}).get(task, {})
    return Log(
        path=str(path),
        tool=tool,
        rows=_of_filters(_without_shared_turns(rows)),
        notes=tuple(notes),
        settings=settings,
        totals=_totals(
            results.get("results", {}).get(task, {}),
            set(chain.from_iterable(map(attrgetter("scores"), rows))),
        ),
        lower=frozenset(name for name, higher in higher_is_better.items() if higher is False),
    )


_TEMPLATE_MARK = r"<(?!image)[^<>\s]{1,40}>|\[/?INST\]"
_TURN_BOUNDARY = re.compile(rf"\n|{_TEMPLATE_MARK}")
"""Where a chat template, or an example before a question, can end."""
_HAS_TURNS = re.compile(rf"\?|{_TEMPLATE_MARK}")
"""A text with marks of a chat template, or with the question of an example."""


def _without_shared_turns(rows: Sequence[Row]) -> list[Row]:
    """Rows whose questions lack the examples and the marks of a chat template that stand in every
    prompt of the log: models that are asked by different templates answer the same questions.
    """
    prompts = {row.question for row in rows}
    if len(prompts) < 2:
        return list(rows)
    shared_start = _shared_start(prompts)
    shared_end = _shared_start({prompt[::-1] for prompt in prompts})[::-1]
    starts = [mark.end() for mark in _TURN_BOUNDARY.finditer(shared_start)]
    n_start = starts[-1] if starts and _HAS_TURNS.search(shared_start) else 0
    end_mark = re.search(_TEMPLATE_MARK, shared_end)
    n_end = len(shared_end) - end_mark.start() if end_mark else 0
    questions = {prompt: prompt[n_start : len(prompt) - n_end].strip() for prompt in prompts}
    if len(set(questions.values())) < len(prompts) or "" in questions.values():
        return list(rows)
    return [replace(row, question=questions[row.question]) for row in rows]


def _shared_start(strings: Collection[str]) -> str:
    """What all strings begin with."""
    # what the first and the last in order share, those between share too
    first, last = min(strings), max(strings)
    n_shared = 0
    for a, b in zip(first, last, strict=False):
        if a != b:
            break
        n_shared += 1
    return first[:n_shared]


def _without_joint_scores(rows: Sequence[Row]) -> tuple[list[Row], list[str]]:
    """The rows without scores that are of several replies, and the names of these scores."""
    repeated = {row.position for row in rows if row.run}
    rows_kept = []
    joint: set[str] = set()
    for row in rows:
        names = set(filter(_OF_ALL_REPLIES.search, row.scores))
        if names and row.position in repeated:
            joint |= names
            scores = {name: row.scores[name] for name in row.scores if name not in names}
            row = replace(row, scores=scores, score=next(iter(scores.values()), None))
        rows_kept.append(row)
    return rows_kept, sorted(joint)


def _totals(printed: Mapping[str, object], names: Container[str]) -> dict[str, float]:
    """Score -> what the results file prints, under the names that the scores of the rows have: with
    that of its filter ("exact_match,strict") where the rows have it.
    """
    totals: dict[str, float] = {}
    for name, value in printed.items():
        metric = name.partition(",")[0]
        is_joint = name not in names and _OF_ALL_REPLIES.search(name)
        if isinstance(value, (int, float)) and not metric.endswith(_STDERR) and not is_joint:
            totals.setdefault(name if name in names else metric, float(value))
    return totals


def _of_filters(rows: Iterable[Row]) -> tuple[Row, ...]:
    """The rows, those of one answer joined that lm-eval writes once for each of its filters.

    Before 0.4.5 it does not name the filters: one answer that scores differently was read by two,
    and the scores of the second are `exact_match,2`.
    """
    by_answer: dict[tuple[object, ...], list[Row]] = {}
    for i, row in enumerate(rows):
        text = row.answer.text if row.answer else ""
        key = (row.position, row.run, text) if row.position is not None else (i,)
        by_answer.setdefault(key, []).append(row)
    are_filters = any(map(_score_differently, by_answer.values()))
    joined: list[Row] = []
    for first, *copies in by_answer.values():
        scores = dict(first.scores)
        start = len(joined)
        joined.append(first)
        for number_of_filter, row in enumerate(copies, 2):
            if are_filters and row.scores.keys() == first.scores.keys():
                row = replace(row, scores=_numbered(row.scores, number_of_filter))
            # the same score twice is of a repeat
            if row.scores.keys() & scores.keys():
                joined.append(row)
            else:
                scores |= row.scores
        if scores != first.scores:
            joined[start] = replace(first, scores=scores)
    return tuple(joined)


def _score_differently(rows: Sequence[Row]) -> bool:
    """Whether rows have the same scores with other values."""
    first = rows[0].scores
    return any(row.scores != first and row.scores.keys() == first.keys() for row in rows[1:])


def _numbered(scores: Mapping[str, float], number_of_filter: int) -> dict[str, float]:
    return {f"{name},{number_of_filter}": score for name, score in scores.items()}


def _read_old(path: Path, document: Mapping[str, Any]) -> Log:
    """The one JSON that lmms-eval 0.3 wrote for a task."""
    model = str(inner_cell(document, "args.model_args") or "")
    respondent = _pretrained(model) or path.parent.name or file_stem(path)
    rows = _rows_of(document["logs"], path, respondent, file_stem(path))
    return Log(path=str(path), tool="lmms-eval 0.3", rows=tuple(rows))


def _results(path: Path) -> tuple[Mapping[str, Any], list[str]]:
    """The results file of the same run: of the same date, else the only one in the folder."""
    date = path.name.partition("_samples_")[0]
    results_files = sorted(path.parent.glob("*results*.json"))
    run_files = [file for file in results_files if date and file.name.startswith(date)] or (
        results_files if len(results_files) == 1 else []
    )
    if not run_files:
        return {}, [
            "no results file of this run lies beside it, so the respondent is named"
            " after the folder"
        ]
    try:
        results = read_json(run_files[0])
    except HQMError as error:
        return {}, [
            f"its results file cannot be read ({error.message}), so the respondent is named after"
            " the folder"
        ]
    return (results if isinstance(results, Mapping) else {}), []


def _model(results: Mapping[str, object]) -> str:
    arguments = inner_cell(results, "config.model_args")
    return str(results.get("model_name") or "") or _pretrained(str(arguments or ""))


def _pretrained(arguments: str) -> str:
    # model_args is `pretrained=org/name,dtype=auto`, or the text of a dictionary
    model_match = re.search(
        r"(?:pretrained|model|model_version)['\"]?\s*[=:]\s*['\"]?([^,'\"}]+)", arguments
    )
    if model_match:
        return model_match[1].strip()
    return ""


def _rows_of(records: Iterable[object], path: Path, respondent: str, task: str) -> Iterator[Row]:
    """The rows of every record that is an object."""
    for i, record in enumerate(records, 1):
        if isinstance(record, Mapping):
            yield from _rows(record, f"{path}: record {i}", respondent, task)


def _rows(record: Mapping[str, Any], location: str, respondent: str, task: str) -> Iterator[Row]:
    doc = record.get("doc")
    question_fields = {**(doc if isinstance(doc, Mapping) else {}), **_of_metrics(record)}
    replies = record.get("resps", record.get("filtered_resps"))
    options = options_in(question_fields)
    key = key_in({"target": record.get("target")})
    if _are_likelihoods(replies):
        likelihoods = list(map(_likelihood, replies))
        if len(likelihoods) < 2:
            raise AnswerError(
                "its answers are likelihoods of one text, and no option is chosen",
                location=location,
                remedy="Take the log of a task whose answers are generated or options.",
            )
        options, key = _compared_options(record, options, key, len(likelihoods))
        likeliest = likelihoods.index(max(likelihoods))
        replies = [LETTERS[likeliest] if options else str(likeliest)]
    answers = texts(replies)
    scores, read = _scores(record)
    position = record.get("doc_id")
    tokens = record.get("token_counts") or []
    for run, text in enumerate(answers):
        counted = isinstance(tokens, list) and run < len(tokens)
        detail = tokens_in(tokens[run]) if counted else {}
        # this tool's adapters write an empty text where the model failed
        if text:
            answer = Response(text, "ok", "", detail)
        else:
            answer = Response("", "error", "the tool recorded no answer", detail)
        yield Row(
            place=location,
            respondent=respondent,
            answer=answer,
            ids=_ids(question_fields),
            image=first_text(question_fields, _IMAGES),
            question=_prompt(record) or first_text(question_fields, _QUESTIONS),
            parts=parts_in(str(question_fields.get("category") or "")),
            key=key,
            options=options,
            task=task,
            position=position if isinstance(position, int) else None,
            form=str(question_fields.get("form") or ""),
            run=run,
            # the tool scores what its filters leave of all replies, by default the first one
            score=None if run else next(iter(scores.values()), None),
            scores={} if run else scores,
            read=read,
        )


def _are_likelihoods(replies: object) -> bool:
    """Whether the first reply is a logarithm and whether greedy decoding gives the option, which
    the tool writes of options that it does not have generated.
    """
    # the tool nests a request's replies, and those of each repeat
    while isinstance(replies, list) and replies and isinstance(replies[0], list):
        replies = replies[0]
    if not isinstance(replies, list) or len(replies) != 2:
        return False
    return number(replies[0]) is not None and str(replies[1]) in ("True", "False")


def _likelihood(reply: Any) -> float:
    """The logarithm that the tool writes of an option; that of no number is least."""
    while isinstance(reply, list) and reply:
        reply = reply[0]
    value = number(reply)
    return -math.inf if value is None else value


def _compared_options(
    record: Mapping[str, Any], options: tuple[str, ...], key: str, n_options: int
) -> tuple[tuple[str, ...], str]:
    """The options whose likelihoods were compared, and the letter of the right one; the tool names
    it by its number, from 0, or by its text.
    """
    arguments = record.get("arguments")
    if len(options) != n_options and isinstance(arguments, Mapping):
        continuations = [str(inner_cell(request, "arg_1")) for request in arguments.values()]
        options = tuple(map(str.strip, continuations))
    # of a pronoun's candidates, the beginnings differ and the ends are one
    if len(set(options)) < n_options:
        return (), key
    if key in options:
        return options, LETTERS[options.index(key)]
    is_number = key.isdecimal() and int(key) < n_options
    return options, LETTERS[int(key)] if is_number else key


def _of_metrics(record: Mapping[str, object]) -> dict[str, object]:
    """What the metrics of a row say of the question; tasks put the question's record into them."""
    question_fields: dict[str, object] = {}
    for name, value in record.items():
        if name in _TOOL_FIELDS:
            continue
        if isinstance(value, str) and value.startswith("{"):
            value = parse_value(value)
        if isinstance(value, Mapping):
            question_fields = {**value, **question_fields}
    return question_fields


def _scores(record: Mapping[str, object]) -> tuple[dict[str, float], str]:
    """Every score of a row by its name, and what the tool read.

    Scores of a filter of lm-eval carry its name, as in the tool's own results.
    """
    filter_name = record.get("filter")
    if isinstance(filter_name, str) and filter_name not in ("", "none"):
        suffix = f",{filter_name}"
    else:
        suffix = ""
    scores: dict[str, float] = {}
    read = ""
    for name, value in record.items():
        if name in _TOOL_FIELDS or (score := score_of(value)) is None:
            continue
        scores[f"{name}{suffix}"] = score
        if isinstance(value, Mapping):
            read = read or str(value.get("prediction", ""))
    return scores, read


def _ids(question_fields: Mapping[str, object]) -> tuple[str, ...]:
    if question_fields.keys() >= set(_KEY_FIELDS):
        return ("_".join(map(str, map(question_fields.get, _KEY_FIELDS))),)
    return ids_in(question_fields, (*IDS, "image_id"))


def _prompt(record: Mapping[str, object]) -> str:
    if isinstance(record.get("input"), str):
        return str(record["input"])
    arguments = record.get("arguments")
    if isinstance(arguments, Mapping):  # lm-eval: {"gen_args_0": {"arg_0": prompt, ...}}
        first = next(iter(arguments.values()), None)
        if isinstance(first, Mapping):
            return str(first.get("arg_0", ""))
        return ""
    # lm-eval nests the arguments of a request, of which the prompt is the first.
    while isinstance(arguments, list) and arguments:
        arguments = arguments[0]
    if isinstance(arguments, str):
        return arguments
    return ""
