"""Where the questions of a new benchmark come from: a file, several, a folder of a data set, or a
dataset of the hub.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hqm.errors import DataError, UsageError
from hqm.files.dataset_folders import Shard, Tree, read_info, shards_of
from hqm.files.hub import HubName, hub_tree, is_hub
from hqm.files.tables import Table, open_table


@dataclass(frozen=True, slots=True)
class SourceRow:
    """One row of a source."""

    place: str
    """File and row, as errors name them."""
    cells: Mapping[str, Any]
    split: str
    folder: Path
    """Where the pictures that the row names lie, unless another place is given."""

    def at(self, column: str) -> str:
        """The place of a cell."""
        return f"{self.place}, column {column!r}"


@dataclass(frozen=True)
class _Part:
    """One file of a source."""

    table: Table
    split: str
    folder: Path


@dataclass(frozen=True)
class Source:
    """The files of rows that a source has, with the columns of the first; a row's other columns are
    not looked at.
    """

    name: str
    parts: tuple[_Part, ...]
    about: Mapping[str, Any] = field(default_factory=dict)
    """What a dataset_info.json says of it."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns, in their order."""
        return self.parts[0].table.columns

    @property
    def pictures(self) -> tuple[str, ...]:
        """The columns that hold pictures by their type."""
        return self.parts[0].table.pictures

    @property
    def splits(self) -> tuple[str, ...]:
        """The names of its splits, where its files or folders name any."""
        return tuple(dict.fromkeys(part.split for part in self.parts if part.split))

    def only(self, splits: Sequence[str]) -> Source:
        """The files of these splits.

        Raises
        ------
        UsageError
            It has no such split.
        """
        unknown = [split for split in splits if split not in self.splits]
        if unknown:
            known = (
                f"Its splits are {', '.join(self.splits)}."
                if self.splits
                else "It has none: leave --split out."
            )
            raise UsageError(f"there is no split {unknown[0]!r}", place=self.name, remedy=known)
        return Source(
            self.name, tuple(part for part in self.parts if part.split in splits), self.about
        )

    def rows(self, columns: Sequence[str]) -> Iterator[SourceRow]:
        """The cells of these columns, row by row through all files.

        Raises
        ------
        DataError
            A file lacks one of the columns, or cannot be read.
        """
        for part in self.parts:
            missing = [name for name in columns if name not in part.table.columns]
            if missing:
                what = f"it has no column {missing[0]!r}, which {self.parts[0].table.label} has"
                raise DataError(
                    what, place=part.table.label, remedy="Give all files the same columns."
                )
            for place, cells in part.table.rows(columns):
                yield SourceRow(place, cells, part.split, part.folder)


def open_source(text: str) -> Source:
    """The source that a text names.

    Parameters
    ----------
    text
        A file (CSV, TSV, JSON, JSON lines, Parquet, Arrow), a pattern of several
        (`data/test-*.parquet`), a folder that the `datasets` library wrote or that has such files,
        or `hf://datasets/<owner>/<name>[/<configuration>] [@<revision>][#<split>]`.

    Raises
    ------
    DataError
        There is none, or it cannot be read.
    UsageError
        The name or the split means nothing.
    """
    if is_hub(text):
        name = HubName.parse(text)
        source = _of_tree(hub_tree(text, name), name.config)
        return source.only(name.split.split("+")) if name.split else source
    if "://" in text:
        raise UsageError(
            "only datasets of the Hugging Face hub are fetched",
            place=text[:200],
            remedy="Write hf://datasets/OWNER/NAME, or fetch the file and name it.",
        )
    path = Path(text)
    if "*" in path.name:
        files = sorted(file for file in path.parent.glob(path.name) if file.is_file())
        if not files:
            raise DataError("no file has such a name", place=text, remedy="Correct the pattern.")
        from hqm.files.dataset_folders import split_of

        return Source(
            text, tuple(_Part(open_table(file), split_of(file.name), file.parent) for file in files)
        )
    try:
        folder = path.is_dir()
    except ValueError as error:  # a path with a NUL character
        raise DataError(
            f"it cannot be read: {error}", place=repr(text), remedy="Correct the path."
        ) from None
    if folder:
        return _of_tree(Tree.of(path), "")
    return Source(text, (_Part(open_table(path), "", path.parent),))


def _of_tree(tree: Tree, config: str) -> Source:
    shards: list[Shard] = shards_of(tree, config)
    wanted = [name for shard in shards for name in (shard.name, *shard.beside)]
    folder = tree.bring(list(dict.fromkeys(wanted)))
    # one split needs no name: it is the whole benchmark
    several = len({shard.split for shard in shards}) > 1
    parts = tuple(
        _Part(
            open_table(folder / shard.name, f"{tree.label.rstrip('/')}/{shard.name}"),
            shard.split or ("train" if several else ""),
            (folder / shard.name).parent,
        )
        for shard in shards
    )
    return Source(tree.label, parts, read_info(tree, shards))
