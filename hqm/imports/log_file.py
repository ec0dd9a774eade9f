"""A file of answers whose tool is not known yet."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from functools import cached_property
from pathlib import Path
from typing import Any

from hqm.errors import DataError
from hqm.files.records import first_record, read_json, read_records, read_text
from hqm.imports.intake import rename_headings
from hqm.imports.layouts import Record, first_row


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
        return rename_headings(read_records(self.path))
