"""What several commands share: stores, sessions, files."""

from __future__ import annotations

import importlib
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import filterfalse
from pathlib import Path
from typing import TYPE_CHECKING

from hqm.errors import DataError, HQMError, UsageError

if TYPE_CHECKING:
    from hqm.auditing.audit import Audit
    from hqm.auditing.gate import Policy
    from hqm.auditing.opinion import SecondOpinion
    from hqm.benchmark.adapter import Benchmark
    from hqm.benchmark.log_benchmark import LogBenchmark
    from hqm.commands.options import RunOptions
    from hqm.commands.session import Session
    from hqm.store.database import Store
    from hqm.types import FileRole


AUDIT = "audit.json"
"""The file that an audit is written to."""


def store_path(names: Sequence[str], store: Path | None, folder: Path | None = None) -> Path:
    """Return the path of a command's store: the named one, else that in the output folder."""
    if store is not None:
        return store
    return (folder or Path("out") / stem(names)) / "store.sqlite"


def stem(names: Sequence[str]) -> str:
    """Return the name of a command's output folder: its benchmarks, joined."""
    return "-".join(
        # A card is known by its folder's name.
        (path.absolute().parent if path.name == "card.toml" else path).stem
        for path in map(Path, names)
    )


@contextmanager
def writable(path: Path, no_wait: bool = False) -> Iterator[Store]:
    """A store to add to, and its lock. Where the block is refused before it stored anything, a new
    store goes again, and its folder.
    """
    from hqm.store.database import Store
    from hqm.store.sqlite import writing

    # an empty store of a refused command would look like one whose answers were lost
    if path.exists():
        created = []
    else:
        created = [path, path.with_name(f"{path.name}.lock")]
    folders = [folder for folder in path.parents if not folder.exists()]
    with writing(path, wait=not no_wait):
        try:
            with Store(path) as store:
                try:
                    yield store
                finally:
                    # Something was stored: the files stay, whatever comes after.
                    if store.respondents():
                        created = []
        except HQMError:
            for file in created:
                file.unlink(missing_ok=True)
            for folder in folders if created else ():
                with suppress(OSError):  # it holds something else
                    folder.rmdir()
            raise


def readable(path: Path) -> Store:
    """Open a store for reading; an empty one in memory if the file does not exist."""
    from hqm.store.database import Store

    if path.exists():
        # Without the lock: a dry run or a report may go beside an audit that writes.
        return Store(path, readonly=True)
    return Store(":memory:")


def existing(path: Path, names: Sequence[str]) -> Path:
    """Return the path of a store that must exist, for a command that asks nobody.

    Raises
    ------
    UsageError
        There is none.
    """
    if not path.is_file():
        raise UsageError(
            "there is no such store",
            location=str(path),
            remedy=f"Name another with --store, or make it: `hqm audit {shlex.join(names)} --store"
            f" {shlex.quote(str(path))}`.",
        )
    return path


def labelled(
    path: Path, criterion: Path | None, no_wait: bool = False, judgements: Sequence[str] = ()
) -> AbstractContextManager[Store]:
    """Open an existing store; for writing if labels or judgements are to be imported into it.

    Where the store cannot be written, they are held in memory, and a sentence says so.
    """
    from hqm.store.sqlite import can_be_written

    if criterion is None and not judgements:
        return readable(path)
    if can_be_written(path):
        return writable(path, no_wait)
    imports = [f"the judgements of {source}" for source in judgements]
    if criterion:
        imports.insert(0, f"the labels of {criterion}")
    print(
        f"hqm: {path} cannot be written, so {' and '.join(imports)} are held in memory for this"
        " command only.",
        file=sys.stderr,
    )
    return readable(path)


def check_output(to: Path | str | None, sources: Iterable[Path | str]) -> None:
    """Refuse to write over a file that the command reads, or over an audit.

    Raises
    ------
    UsageError
        The file to write is one of them.
    """
    path = Path(to or "")
    if not path.is_file():
        return
    paths = list(map(Path, sources))
    in_folders = [source / name for source in paths for name in (AUDIT, f"out/{AUDIT}")]
    read_paths = [source for source in [*paths, *in_folders] if source.is_file()]
    # `samefile` sees through links and other spellings of a path.
    if path.name == AUDIT or any(map(path.samefile, read_paths)):
        raise UsageError(
            "the output would take the place of an audit, or of what the command reads",
            location=str(path),
            remedy="Name another file.",
        )


def find_audit(path: Path) -> Path:
    """Return the audit.json that a path means: the file, or the one in that folder or its `out`.

    Raises
    ------
    UsageError
        There is no such file, or a folder has none or several; the sentence says what was near.
    """
    if path.is_dir():
        # A benchmark's folder has its audit in `out`, where `hqm new` sends it.
        for candidate in (path / AUDIT, path / "out" / AUDIT):
            if candidate.is_file():
                return candidate
        # Two levels down and no further: a home folder may hold thousands of files.
        audit_paths = sorted(
            str(candidate) for depth in ("*", "*/*") for candidate in path.glob(f"{depth}/{AUDIT}")
        )
        if len(audit_paths) == 1:
            return Path(audit_paths[0])
        if audit_paths:
            suffix = f" and {len(audit_paths) - 5} more" if len(audit_paths) > 5 else ""
            raise UsageError(
                f"the folder has several {AUDIT}",
                location=str(path),
                remedy=f"Name {' or '.join(audit_paths[:5])}{suffix}.",
            )
        if (path / "card.toml").is_file():
            folder = shlex.quote(str(path))
            remedy = f"Make one with `hqm audit {folder} --out {folder}/out`."
        else:
            remedy = "Name a folder that an audit was written to (`hqm audit NAME --out FOLDER`)."
        raise UsageError(f"the folder has no {AUDIT}", location=str(path), remedy=remedy)
    if not path.exists():
        siblings = path.parent.iterdir() if path.parent.is_dir() else ()
        raise DataError(
            "there is no such file",
            location=str(path),
            remedy="Correct the path, or make an audit: `hqm audit NAME --out FOLDER`.",
            name=str(path),
            choices=list(map(str, siblings)),
        )
    return path


def benchmarks_named(
    names: Sequence[str],
    columns: str | None = None,
    *,
    partial: bool = False,
    judged: bool = False,
    files: FileRole = "respondents",
    title: str = "",
) -> list[str | LogBenchmark]:
    """The names of benchmarks as they are; in place of files and folders of logs the benchmarks
    that are made from them.

    Raises
    ------
    AnswerError
        A log cannot be read.
    """
    from hqm.benchmark.registry import is_log, log_path
    from hqm.respondents.base import waiting

    logs = list(map(log_path, filter(is_log, names)))
    if not logs:
        return list(names)
    from hqm.benchmark.log_benchmark import benchmarks_of_logs
    from hqm.imports.answer_table import parse_table_columns
    from hqm.imports.detect import read_logs
    from hqm.imports.log_answers import LogSettings

    with waiting("reading the logs"):
        read = read_logs(
            logs,
            columns=parse_table_columns([columns] if columns else []),
            with_questions=True,
        )
        log_benchmarks = benchmarks_of_logs(
            read, LogSettings(partial=partial, judged=judged, files=files, title=title)
        )
    return [*filterfalse(is_log, names), *log_benchmarks]


def session_of(
    names: Sequence[str | Benchmark], store: Store, options: RunOptions, *, offline: bool = False
) -> Session:
    """Load the benchmarks and put them before one store."""
    from hqm.commands.session import Session

    return Session(names, store, options, offline=offline)


def report_files(
    audit: Audit,
    page: Path,
    policy: Policy | None = None,
    opinions: Sequence[SecondOpinion] = (),
) -> dict[Path, str | bytes]:
    """Return the report of an audit and the evidence that lies beside it, by their paths.

    The evidence has the second opinion on each benchmark where there is one.

    They are made by the package `hqm.reports`, which the rest does not depend on.
    """
    # a page of another name has its evidence beside it, so that two reports fit into one folder
    if page.stem == "report":
        evidence_name = "evidence.html"
    else:
        evidence_name = f"{page.stem}-evidence.html"
    pages = importlib.import_module("hqm.reports.pages.report_page").render(
        audit, policy, evidence_name, opinions
    )
    return {page: str(pages.report), page.with_name(evidence_name): str(pages.evidence)}


def command() -> str:
    """Return the command line of this process, for the record."""
    return shlex.join(["hqm", *sys.argv[1:]])
