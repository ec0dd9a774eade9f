"""A file of answers whose tool is not known yet, and which files of a folder are such."""

from __future__ import annotations

import filecmp
import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import cached_property
from pathlib import Path
from typing import Any

from hqm.errors import DataError
from hqm.files.records import file_stem, first_record, read_json, read_text
from hqm.imports.intake import read_rows, rename_headings
from hqm.imports.layouts import Record, first_row

ANSWER_SUFFIXES = (".jsonl", ".json", ".csv", ".tsv", ".xlsx", ".parquet", ".eval")
"""How files of answers end; each may be packed as .gz."""


class LogFile:
    """A file whose tool is not known yet, decoded only as far as a reader asks."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.suffix = path.suffix.lower()

    @cached_property
    def document(self) -> Mapping[str, Any]:
        """The one JSON object that the file holds; empty for JSON lines, lists and tables."""
        if self.suffix != ".json" or not read_text(self.path).lstrip().startswith("{"):
            return {}
        try:
            document = read_json(self.path)
        except DataError:  # several objects, one after another
            return {}
        if isinstance(document, dict):
            return document
        return {}

    @cached_property
    def first(self) -> list[Record]:
        """The first record in a list; empty where the file has a shape of its own.

        What is wrong with such a file is said by the reader that takes it.
        """
        try:
            return rename_headings(first_record(self.path))
        except DataError:
            return []

    @property
    def first_names(self) -> AbstractSet[str]:
        """The fields of the first record; none where the file has a shape of its own."""
        return first_row(self.first).keys()

    @cached_property
    def records(self) -> list[Record]:
        """All records of the file."""
        return rename_headings(read_rows(self.path))


def files_in(path: Path) -> list[Path]:
    """A file itself; of a folder all inside it, but for the files that tools write beside
    answers.
    """
    if not path.is_dir():
        return [path]
    files = filter(may_answer, files_below(path))
    return [file for file in files if _has_answer_suffix(file) or is_mme_result(file)]


def _has_answer_suffix(path: Path) -> bool:
    return path.name.lower().removesuffix(".gz").endswith(ANSWER_SUFFIXES)


_MME_LINE = re.compile(rb"[^\t\n]+\t[^\t\n]+\t(?:yes|no) *\t[^\t\n]*\r?\n", re.IGNORECASE)


def is_mme_result(path: Path) -> bool:
    """Whether a text file begins as MME's evaluation tool writes it: picture, question, yes or no,
    and an answer, with tabs between them.
    """
    if path.suffix.lower() != ".txt" or not path.is_file():
        return False
    with path.open("rb") as file:
        return _MME_LINE.match(file.read(1 << 12)) is not None


def files_below(folder: Path) -> Iterator[Path]:
    """The files of a folder, each once: VLMEvalKit links to the newest of them, and desktops make
    copies.
    """
    root = folder.resolve()
    for file in filter(Path.is_file, sorted(folder.rglob("*"))):
        is_link = file.is_symlink() and file.resolve().is_relative_to(root)
        if not is_link and not _is_copy(file):
            yield file


_COPY = re.compile(r"(?:copy of )?(.+?)(?: \(\d+\)| ?[-_]? ?copy(?: \d+)?)?", re.IGNORECASE)
"""How desktops name a copy: `m (1)`, `m copy`, `m - Copy`, `Copy of m`."""


def _is_copy(path: Path) -> bool:
    """Whether a file is called a copy of the one beside it, and holds the same."""
    stem = file_stem(path)
    match = _COPY.fullmatch(stem)
    if match is None or match[1] == stem:
        return False
    original = path.with_name(f"{match[1]}{path.name.removeprefix(stem)}")
    return original.is_file() and filecmp.cmp(original, path, shallow=False)


def may_answer(path: Path) -> bool:
    """Whether a file in a folder may hold answers: results, status and scores beside them do
    not.
    """
    is_summary = (
        path.name.endswith(("_results.json", "_score.csv", "_score.json", "_acc.csv"))
        or path.name == "status.json"
    ) and not path.name.endswith("eval_results.json")  # EvalPlus: the samples themselves
    # Every Eval Ever writes the totals of a run beside its samples
    aggregate = path.suffix == ".json" and path.with_name(f"{path.stem}_samples.jsonl").exists()
    # EvalScope: totals in reports/<model>, and answers beside their scores in reviews/<model>
    root = path.parent.parent.parent
    has_reviews = (root / "reviews" / path.parent.name).is_dir()
    is_beside_reviews = has_reviews and path.parent.parent.name in ("reports", "predictions")
    return not (is_summary or aggregate or is_beside_reviews)
