"""Read logs, whatever tool wrote them: the tool is recognised from the file itself, or named.

A tool is a module of `hqm.imports.readers`; every module that lies there is one.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol, cast

from hqm.errors import AnswerError, UsageError
from hqm.imports import answer_table, readers
from hqm.imports.row import Log, LogFile


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

_SUFFIXES = (".jsonl", ".json", ".csv", ".tsv", ".xlsx", ".eval")
_PICKLES = (".pkl", ".pickle")
_FOREIGN = (".eval", ".tsv", ".xlsx", *_PICKLES)
"""Files that HQM's own formats never are."""


@functools.cache
def known_readers() -> Mapping[str, Reader]:
    """Every tool's reader, by the name that `--from` takes."""
    modules = [
        cast(Reader, importlib.import_module(f"{readers.__name__}.{module.name}"))
        for module in pkgutil.iter_modules(readers.__path__)
    ]
    return {module.SOURCE: module for module in modules}


def read_logs(paths: Iterable[Path], source: str = "auto") -> list[Log]:
    """The logs in files and folders, in the order of their names.

    Raises
    ------
    UsageError
        There is no such source.
    AnswerError
        A file is none that a known tool wrote, or a folder has none.
    """
    sources = ("auto", *known_readers(), TABLE)
    if source not in sources:
        raise UsageError(
            f"there is no source {source!r}",
            remedy=f"--from takes {', '.join(sources)}.",
            given=source,
            known=sources,
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
    file = LogFile(path)
    if file.suffix in _PICKLES:
        what = "it is a pickle, which runs whatever its writer put into it when it is opened"
        remedy = "In VLMEvalKit, set PRED_FORMAT=tsv or json and write the predictions again."
        raise AnswerError(what, place=str(path), remedy=remedy)
    for name, reader in known_readers().items():
        if source in ("auto", name) and reader.is_log(file):
            return reader.read_log(file)
    if source not in ("auto", TABLE):
        there = ", ".join(map(repr, file.records[0])) if file.records else "nothing"
        raise AnswerError(
            f"it is no log of {source} (it has {there})",
            place=str(path),
            remedy="Leave out --from.",
        )
    if named or answer_table.holds_answers(file.records):
        return answer_table.read_table(path, file.records)
    return None


def written_by_tool(path: Path, *, tables: bool = True) -> bool:
    """Whether a file, or a file in a folder, is a log of another tool; `tables`: or a table that
    HQM's format does not have.
    """
    return any(_is_foreign(LogFile(inside), tables) for inside in files_in(path))


def _is_foreign(file: LogFile, also_tables: bool) -> bool:
    if file.suffix in _FOREIGN:
        return True
    if any(reader.is_log(file) for reader in known_readers().values()):
        return True
    return also_tables and answer_table.is_foreign(file.first)
