"""Read logs, whatever tool wrote them: the tool is recognised from the file itself, or named.

A tool is a module of `hqm.imports.readers`; every module that lies there is one.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import Protocol, cast

from hqm.errors import AnswerError, HQMError, UsageError
from hqm.files.records import check_is_file, file_stem, name_fields
from hqm.imports import answer_table, readers
from hqm.imports import row as fields
from hqm.imports.intake import rename_headings
from hqm.imports.layouts import lay_out
from hqm.imports.log_file import ANSWER_SUFFIXES, LogFile, files_below, files_in, may_answer
from hqm.imports.recordings import PLAIN_IDS
from hqm.imports.row import Log


class Reader(Protocol):
    """What a module of `hqm.imports.readers` has."""

    SOURCE: str
    """What `--from` calls the tool."""

    def is_log(self, file: LogFile) -> bool:
        """Whether the tool wrote this file."""

    def read_log(self, file: LogFile) -> Log:
        """The rows of a file that the tool wrote."""


TABLE = "table"
"""The source of LLaVA's answers and plain tables, which no tool wrote."""

_PICKLES = (".pkl", ".pickle")
_FOREIGN = (".eval", ".tsv", ".xlsx", *_PICKLES)
"""Files that HQM's own formats never are."""


@functools.cache
def known_readers() -> Mapping[str, Reader]:
    """Every tool's reader, by the name that `--from` takes."""
    by_source = {}
    for _, name, _ in pkgutil.iter_modules(readers.__path__, f"{readers.__name__}."):
        reader = cast(Reader, importlib.import_module(name))
        by_source[reader.SOURCE] = reader
    return MappingProxyType(by_source)


def read_logs(
    paths: Iterable[Path],
    source: str = "auto",
    columns: Mapping[str, str] | None = None,
    *,
    with_questions: bool = False,
) -> list[Log]:
    """The logs in files and folders, in the order of their names.

    `columns` says which column of a table is which field, where their names do not. With
    `with_questions`, files of questions and their right answers are logs too, which ask.

    Raises
    ------
    UsageError
        There is no such source.
    AnswerError
        A file is none that a known tool wrote, or a folder has none that can be read.
    """
    sources = ("auto", *known_readers(), TABLE)
    if source not in sources:
        raise UsageError(
            f"there is no source {source!r}",
            remedy=f"--from takes {', '.join(sources)}.",
            name=source,
            choices=sources,
        )
    logs = []
    for path in paths:
        if not path.is_dir():
            # What is named is read or refused; a folder may hold other files too, which are noted.
            check_is_file(path)
            log = _read(path, source, columns, named_by_user=True, with_questions=with_questions)
            if log is not None:
                logs.append(log)
            continue
        logs_in_folder: dict[Path, Log] = {}
        for file in files_in(path):
            log = _in_folder(file, source, columns, with_questions)
            if log is not None:
                logs_in_folder[file] = log
        if not any(log.rows and not log.asks for log in logs_in_folder.values()):
            faults = [f"the folder has no file of answers ({_describe_files(files_in(path))})"]
            for log in logs_in_folder.values():
                faults += log.located_notes
            raise AnswerError(
                "; ".join(faults[:4]),
                location=str(path),
                remedy="Name the files of answers; an error then says what they lack.",
            )
        logs += [*logs_in_folder.values(), *_without_answers(path, logs_in_folder)]
    return _continued_once(_evaluated_once(logs))


def _describe_files(files: Sequence[Path]) -> str:
    """What the files of a folder hold, where none has answers: the fields of the first."""
    if not files:
        return ", ".join(ANSWER_SUFFIXES)
    first_names = LogFile(files[0]).first_names
    fields_of_first = name_fields(first_names) if first_names else "no rows"
    n_more = len(files) - 1
    return f"{files[0].name} has {fields_of_first}{f', and there are {n_more} more' * (n_more > 0)}"


def _evaluated_once(logs: Sequence[Log]) -> list[Log]:
    """The logs, without the rows of predictions of which an evaluation is there too: a tool may
    write them once more when it, or a judge, scored them.
    """
    answered = list(map(answers_of, logs))
    evaluations: dict[frozenset[tuple[object, ...]], list[Log]] = defaultdict(list)
    for log, answers in zip(logs, answered, strict=True):
        evaluations[answers].append(log)
    distinct_logs = []
    for log, answers in zip(logs, answered, strict=True):
        for evaluation in evaluations[answers]:
            if _evaluates(evaluation, log):
                note = f"its answers are taken from {evaluation.path}, which evaluates them"
                log = replace(log, rows=(), notes=(*log.notes, note))
                break
        distinct_logs.append(log)
    return distinct_logs


def _continued_once(logs: Sequence[Log]) -> list[Log]:
    """The logs, without the rows of a run that another log continues after a failure, where its
    answers stand again.
    """
    runs: dict[str, list[tuple[int, frozenset[tuple[object, ...]]]]] = defaultdict(list)
    for i, log in enumerate(logs):
        if log.run_id and log.rows:
            runs[log.run_id].append((i, _answered_items(log)))
    distinct_logs = list(logs)
    for parts in runs.values():
        for i, items in parts:
            # of equal ones the last stays, as names of logs begin with their time
            later = [j for j, others in parts if items < others or (items == others and i < j)]
            if later:
                note = f"its answers are taken from {logs[later[-1]].path}, which continues its run"
                distinct_logs[i] = replace(logs[i], rows=(), notes=(*logs[i].notes, note))
    return distinct_logs


def _answered_items(log: Log) -> frozenset[tuple[object, ...]]:
    """What the rows of a log answer, errors left out."""
    answered = (row for row in log.rows if row.answer and row.answer.state != "error")
    items = ((row.task, row.respondent, row.form, row.run, row.judge, row.ids) for row in answered)
    return frozenset(items)


def _evaluates(evaluation: Log, log: Log) -> bool:
    """Whether a log with the same answers evaluates those of another: it alone has scores, or its
    name goes on where that of the other ends.
    """
    if not log.rows or log.has_scores:
        return False
    return evaluation.has_scores or file_stem(evaluation.path).startswith(f"{file_stem(log.path)}_")


def answers_of(log: Log) -> frozenset[tuple[object, ...]]:
    """What the rows of a log answer and how, without questions that VLMEvalKit asks again with
    their options in turn.
    """
    # Without scores and notes: a prediction and its evaluation have equal answers.
    item_ids = set(map(attrgetter("ids"), log.rows))
    answers = []
    for row in log.rows:
        # a question that was asked again has its first index among the others
        if item_ids.isdisjoint(map(_unturned, row.ids)):
            text = row.answer and row.answer.text
            answers.append((row.task, row.respondent, row.form, row.run, row.ids, text))
    return frozenset(answers)


def _unturned(name: str) -> tuple[str, ...]:
    """The index of the question that VLMEvalKit asks again under this one; none for any other."""
    turned = name.isdecimal() and int(name) >= _TURN
    if turned:
        return (str(int(name) % _TURN),)
    return ("",)


_TURN = 1_000_000
"""VLMEvalKit asks a question again with its options in turn, under its index and so much more."""


def _without_answers(folder: Path, answers: Container[Path]) -> list[Log]:
    """An empty log that names the files of a folder that hold no answers, where there are any."""
    files = filter(may_answer, files_below(folder))
    names = [str(file.relative_to(folder)) for file in files if file not in answers]
    if not names:
        return []
    listed_names = f"{', '.join(names[:5])}{', ...' if len(names) > 5 else ''}"
    return [
        Log(
            path=str(folder),
            tool="",
            rows=(),
            notes=(f"files without answers: {len(names)} ({listed_names})",),
        )
    ]


def _in_folder(
    path: Path, source: str, columns: Mapping[str, str] | None, with_questions: bool
) -> Log | None:
    """The log of a file in a folder; one that cannot be read has no rows, and a note on why."""
    try:
        return _read(path, source, columns, named_by_user=False, with_questions=with_questions)
    except HQMError as error:
        return Log(path=str(path), tool="", rows=(), notes=(f"it is left out: {error.message}",))


def _read(
    path: Path,
    source: str,
    columns: Mapping[str, str] | None,
    *,
    named_by_user: bool,
    with_questions: bool,
) -> Log | None:
    """One log; None for a file in a folder that answers nothing."""
    file = LogFile(path)
    if file.suffix in _PICKLES:
        raise AnswerError(
            "it is a pickle, which runs whatever its writer put into it when it is opened",
            location=str(path),
            remedy="In VLMEvalKit, set PRED_FORMAT=tsv or json and write the predictions again.",
        )
    log = log_of_tool(file, source)
    # A tool's layout is surer than column names, which a table may share with it.
    if log is not None:
        return log
    if source not in ("auto", TABLE):
        if file.records:
            columns_present = name_fields(file.records[0])
        else:
            columns_present = "nothing"
        raise AnswerError(
            f"it is no log of {source} (it has {columns_present})",
            location=str(path),
            remedy="Leave out --from.",
        )
    records = lay_out(file.records, str(path), columns).records
    chosen = set((columns or {}).values())
    answering = {columns[name] for name in ("answer", "score") if columns and name in columns}
    is_answered = bool(records) and not answering.isdisjoint(records[0])
    if with_questions and not is_answered and answer_table.only_asks(records, str(path)):
        return answer_table.read_questions(str(path), records)
    # a file that the user names is taken at the user's word; one in a folder has to look so
    is_chosen = bool(chosen) and bool(records) and chosen <= records[0].keys()
    if named_by_user or is_chosen or answer_table.holds_answers(rename_headings(records)):
        return answer_table.read_table(str(path), file.records, columns)
    return None


def log_of_tool(file: LogFile, source: str = "auto") -> Log | None:
    """The log of a known tool; None for a file that no tool, or not this one, lays out so.

    Raises
    ------
    AnswerError
        The file begins as the tool writes it, and goes on otherwise.
    """
    for name, reader in known_readers().items():
        if source not in ("auto", name) or not reader.is_log(file):
            continue
        try:
            return reader.read_log(file)
        except HQMError:
            raise
        # a list where the tool writes a number, at any depth of a file that is somebody else's
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise AnswerError(
                f"it is not laid out as {name} writes it ({type(error).__name__}: {error})",
                location=str(file.path),
                remedy=(
                    f"Write it again with {name}; if {name} wrote it as it is, please report it."
                ),
            ) from error
    return None


def written_by_tool(path: Path, *, tables: bool = True) -> bool:
    """Whether a file, or a file in a folder, is a log of another tool; `tables`: or a table that
    HQM's format does not have.
    """
    return any(_is_foreign(LogFile(file), tables) for file in files_in(path))


def is_other_table(path: Path) -> bool:
    """Whether the first row of a file answers, and names its item as tables do and the formats of
    HQM do not: by another name of an id, or by the question.
    """
    names = LogFile(path).first_names if path.is_file() else frozenset()
    if not names.isdisjoint(PLAIN_IDS) or names.isdisjoint(fields.ANSWERS):
        return False
    return not names.isdisjoint((*fields.IDS, *fields.QUESTIONS))


def holds_logs(path: Path, *, also_tables: bool) -> bool:
    """Whether a file, or a file in a folder, is laid out as a known tool writes its logs.

    `also_tables` asks for tables as well in which models answer questions with right answers.
    """
    for file in map(LogFile, files_in(path)):
        if _has_reader(file) or (also_tables and answer_table.names_models_and_keys(file.first)):
            return True
    return False


def _has_reader(file: LogFile) -> bool:
    return any(reader.is_log(file) for reader in known_readers().values())


def _is_foreign(file: LogFile, also_tables: bool) -> bool:
    if file.suffix in _FOREIGN or _has_reader(file):
        return True
    return also_tables and answer_table.is_foreign(file.first)
