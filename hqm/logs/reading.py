"""Read logs, whatever tool wrote them: the tool is recognised from the file itself, or named."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from hqm.errors import AnswerError, DataError, UsageError
from hqm.files.records import begins_with, read_json, read_records, read_text
from hqm.logs import answer_files, every_eval_ever, inspect_ai, lmms_eval, vlmevalkit
from hqm.logs.row import Log

SOURCES = ("auto", "lmms-eval", "vlmevalkit", "inspect", "eee", "table")
"""What `--from` takes; `lmms-eval` reads the logs of lm-eval too, and `table` LLaVA's answers and
plain tables.
"""

_SUFFIXES = (".jsonl", ".json", ".csv", ".tsv", ".xlsx", ".eval")


def read_logs(paths: Iterable[Path], source: str = "auto") -> list[Log]:
    """The logs in files and folders, in the order of their names.

    Raises
    ------
    UsageError
        There is no such source.
    AnswerError
        A file is none that a known tool wrote, or a folder has none.
    """
    if source not in SOURCES:
        raise UsageError(
            f"there is no source {source!r}",
            remedy=f"--from takes {', '.join(SOURCES)}.",
            given=source,
            known=SOURCES,
        )
    logs = []
    for path in paths:
        inside = [
            log
            for file in files_in(path)
            if (log := _read(file, source, named=not path.is_dir())) is not None
        ]
        if not inside:
            what = f"the folder has no file of answers ({', '.join(_SUFFIXES)})"
            raise AnswerError(what, place=str(path), remedy="Name the files that a tool wrote.")
        logs += inside
    return logs


def files_in(path: Path) -> list[Path]:
    """A file itself; of a folder all inside it, but for the files that tools write beside
    answers.
    """
    if not path.is_dir():
        return [path]
    return [
        p
        for p in sorted(path.rglob("*"))
        if p.is_file() and p.suffix.lower() in _SUFFIXES and _may_answer(p)
    ]


def _may_answer(path: Path) -> bool:
    """Whether a file in a folder may hold answers: results, status and scores beside them do
    not.
    """
    beside = (
        path.name.endswith(("_results.json", "_score.csv", "_score.json", "_acc.csv"))
        or path.name == "status.json"
    )
    aggregate = path.suffix == ".json" and path.with_name(f"{path.stem}_samples.jsonl").exists()
    return not beside and not aggregate


def _read(path: Path, source: str, *, named: bool) -> Log | None:
    """One log; None for a file in a folder that answers nothing."""
    suffix = path.suffix.lower()
    if suffix in (".pkl", ".pickle"):
        what = "it is a pickle, which runs whatever its writer put into it when it is opened"
        remedy = "In VLMEvalKit, set PRED_FORMAT=tsv or json and write the predictions again."
        raise AnswerError(what, place=str(path), remedy=remedy)
    if suffix == ".eval":
        return inspect_ai.read_eval(path)
    if suffix in (".xlsx", ".tsv"):
        return vlmevalkit.read_log(path)
    if suffix == ".json" and (document := _whole(path)) is not None:
        if inspect_ai.is_log(document):
            return inspect_ai.read_document(path, document)
        if lmms_eval.is_old_log(document):
            return lmms_eval.read_old(path, document)
    records = read_records(path)
    readers = (
        ("lmms-eval", lmms_eval.is_log, lmms_eval.read_log),
        ("vlmevalkit", vlmevalkit.is_log, vlmevalkit.read_log),
        ("eee", every_eval_ever.is_log, every_eval_ever.read_log),
    )
    for name, is_log, read_log in readers:
        if source not in ("auto", name):
            continue
        if is_log(records):
            return read_log(path, records)
        if source == name:
            there = ", ".join(map(repr, records[0])) if records else "nothing"
            raise AnswerError(
                f"it is no log of {name} (it has {there})",
                place=str(path),
                remedy="Leave out --from.",
            )
    return (
        answer_files.read_table(path, records)
        if named or answer_files.holds_answers(records)
        else None
    )


def written_by_tool(path: Path, *, tables: bool = True) -> bool:
    """Whether a file, or a file in a folder, is a log of another tool; `tables`: or a table that
    HQM's format does not have.
    """
    return any(_foreign(file, also_tables=tables) for file in files_in(path))


def _foreign(path: Path, *, also_tables: bool) -> bool:
    suffix = path.suffix.lower()
    if suffix in (".eval", ".tsv", ".xlsx", ".pkl", ".pickle"):
        return True
    if suffix == ".json" and (document := _whole(path)) is not None:
        return inspect_ai.is_log(document) or lmms_eval.is_old_log(document)
    try:
        records = begins_with(path)
    except DataError:
        # a release's own shape, such as a list of lists; its reader says what is wrong with it
        return False
    if lmms_eval.is_log(records) or vlmevalkit.is_log(records) or every_eval_ever.is_log(records):
        return True
    return also_tables and answer_files.is_foreign(records)


def _whole(path: Path) -> dict[str, object] | None:
    """The document of a file that holds one JSON object; None for JSON lines and lists."""
    text = read_text(path).lstrip()
    if not text.startswith("{"):
        return None
    try:
        json.JSONDecoder().raw_decode(text)
        document = read_json(path)
    except (ValueError, RecursionError, DataError):
        return None
    return document if isinstance(document, dict) else None


def tools_of(logs: Sequence[Log]) -> list[str]:
    """The tools that wrote these logs, each once."""
    return list(dict.fromkeys(log.tool for log in logs))
