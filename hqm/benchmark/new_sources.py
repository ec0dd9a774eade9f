"""Where the questions of a new benchmark come from: a file, several, a folder of a data set, or a
dataset of the hub.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from pathlib import Path

from hqm.errors import DataError, HQMError, ImageError, UsageError
from hqm.files.cache import MAX_BYTES, SMALLER, image_path, is_url, safe_name
from hqm.files.datasets import (
    HubName,
    Shard,
    Tree,
    hub_tree,
    is_hub,
    read_info,
    shards_of,
    split_of,
)
from hqm.files.images import ImageSource, check_content
from hqm.files.records import RecordTable, Table, open_table, parse_value
from hqm.imports.intake import is_heading, is_legend, refuse_heading, refuse_legend
from hqm.imports.layouts import Record, lay_out
from hqm.text import check_address


@dataclass(frozen=True, slots=True)
class SourceRow:
    """One row of a source."""

    location: str
    """File and row, as errors name them."""
    cells: Mapping[str, object]
    split: str
    folder: Path
    """Where the pictures that the row names lie, unless another place is given."""

    def cell_location(self, column: str) -> str:
        """The place of a cell."""
        return f"{self.location}, column {column!r}"


@dataclass(frozen=True)
class _SourceFile:
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
    files: tuple[_SourceFile, ...]
    dataset_info: Mapping[str, object] = field(default_factory=dict)
    """The content of its dataset_info.json."""

    @classmethod
    def of_table(cls, name: str, table: Table, folder: Path) -> Source:
        """A source of one table, whose pictures are named from a folder."""
        return cls(name, (_SourceFile(table, "", folder),))

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns, in their order."""
        return self.files[0].table.columns

    @property
    def pictures(self) -> tuple[str, ...]:
        """The columns that hold pictures by their type."""
        return self.files[0].table.pictures

    @property
    def splits(self) -> tuple[str, ...]:
        """The names of its splits, where its files or folders name any."""
        return tuple(dict.fromkeys(filter(None, map(attrgetter("split"), self.files))))

    def select_splits(self, splits: Sequence[str]) -> Source:
        """The files of these splits.

        Raises
        ------
        UsageError
            It has no such split.
        """
        remedy = "It has none: leave --split out."
        if self.splits:
            remedy = f"Its splits are {', '.join(self.splits)}."
        for split in splits:
            if split not in self.splits:
                raise UsageError(f"there is no split {split!r}", location=self.name, remedy=remedy)
        return Source(
            self.name, tuple(file for file in self.files if file.split in splits), self.dataset_info
        )

    def rows(self, columns: Sequence[str]) -> Iterator[SourceRow]:
        """The cells of these columns, row by row through all files.

        Raises
        ------
        DataError
            A file lacks one of the columns, or cannot be read.
        """
        for file in self.files:
            # the first file says which columns there are; a later one may lack some
            for column in columns:
                if column not in file.table.columns:
                    raise DataError(
                        f"it has no column {column!r}, which {self.files[0].table.label} has",
                        location=file.table.label,
                        remedy="Give all files the same columns.",
                    )
            for location, cells in file.table.rows(columns):
                if is_heading(cells):
                    refuse_heading(location)
                if is_legend(cells):
                    refuse_legend(location)
                yield SourceRow(location, cells, file.split, file.folder)


class _JSONTable(RecordTable):
    """A file of JSON, whose rows may lie inside the one object that it holds."""

    @cached_property
    def records(self) -> list[Record]:
        """The rows of the file, however they lie."""
        records = super().records
        return lay_out(records, self.label).records if len(records) == 1 else records


def _open_table(path: Path, label: str = "") -> Table:
    """The rows of a file."""
    table = open_table(path, label)
    if type(table) is RecordTable and ".json" in path.name.lower():
        return _JSONTable(table.path, table.label)
    return table


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
        if name.split:
            return source.select_splits(name.split.split("+"))
        return source
    if "://" in text:
        raise UsageError(
            "only datasets of the Hugging Face hub are fetched",
            location=text[:200],
            remedy="Write hf://datasets/OWNER/NAME, or fetch the file and name it.",
        )
    path = Path(text)
    # A shell leaves a quoted pattern as it is, and cmd.exe leaves every pattern.
    if "*" in path.name:
        files = sorted(filter(Path.is_file, path.parent.glob(path.name)))
        if not files:
            raise DataError("no file has such a name", location=text, remedy="Correct the pattern.")
        return Source(
            text,
            tuple(
                _SourceFile(_open_table(file), split_of(file.name), file.parent) for file in files
            ),
        )
    if path.is_dir():
        return _of_tree(Tree.of(path), "")
    return Source.of_table(text, _open_table(path), path.parent)


def _of_tree(tree: Tree, config: str) -> Source:
    shards: list[Shard] = shards_of(tree, config)
    file_names: list[str] = []
    for shard in shards:
        file_names += (shard.name, *shard.pictures)
    folder = tree.bring(list(dict.fromkeys(file_names)))
    # one split needs no name: it is the whole benchmark
    has_splits = len(set(map(attrgetter("split"), shards))) > 1
    parts = tuple(
        _SourceFile(
            _open_table(folder / shard.name, f"{tree.label.rstrip('/')}/{shard.name}"),
            shard.split or ("train" if has_splits else ""),
            (folder / shard.name).parent,
        )
        for shard in shards
    )
    return Source(tree.label, parts, read_info(tree, shards))


# --- rows of which no item can be made ---


@dataclass(slots=True)
class RowFaults:
    """The first fault of each row, in the order of the rows."""

    first: dict[str, DataError] = field(default_factory=dict)
    """Place of the row -> its fault."""

    @contextmanager
    def collect(self, row: SourceRow) -> Iterator[None]:
        """Record an error inside the block as the row's fault, and go on after it."""
        try:
            yield
        except HQMError as error:
            fault = DataError(
                error.message, location=error.location or row.location, remedy=error.remedy
            )
            self.first.setdefault(row.location, fault)

    def error(self, total: int) -> DataError:
        """All faults as one: each kind with its number and its first rows; a single one as it
        is.
        """
        faults = list(self.first.values())
        if len(faults) == 1:
            return faults[0]
        kinds: dict[str, list[DataError]] = {}
        for fault in faults:
            # faults that differ in quoted values and numbers only are of one kind
            kinds.setdefault(_QUOTED.sub("...", fault.message), []).append(fault)
        listed = []
        # `sorted` is stable: of equally frequent kinds the one that occurs first comes first.
        for same_kind in sorted(kinds.values(), key=lambda same_kind: -len(same_kind)):
            locations = [fault.location.rpartition(": ")[2] for fault in same_kind[1:3]]
            ellipsis = ["..."] if len(same_kind) > 3 else []
            if locations:
                repeats = f" (also {'; '.join([*locations, *ellipsis])})"
            else:
                repeats = ""
            listed.append(
                f"{len(same_kind)}: {same_kind[0].location}: {same_kind[0].message}{repeats}"
            )
        message = f"{len(faults)} of {total} rows can be no items. {'. '.join(listed)}"
        return DataError(
            message,
            remedy=(
                f"{faults[0].remedy} --keep-going leaves such rows out and lists them in a file."
            ),
        )


_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|\d+")


# --- the pictures of a new benchmark ---
#
# Taken out of the cells of its source, checked, and written once by content.

MAX_INDEX_CHARS = 64
"""An image cell of at most so many characters is the index of another row that has the picture
(VLMEvalKit).
"""

_SUFFIXES = {
    "PNG": ".png",
    "JPEG": ".jpg",
    "MPO": ".jpg",
    "WEBP": ".webp",
    "GIF": ".gif",
    "BMP": ".bmp",
    "TIFF": ".tif",
}
_BASE64_PREFIXES = ("/9j/", "iVBORw0KGgo", "R0lGOD", "UklGR", "Qk", "SUkq", "TU0AKg")
"""How JPEG, PNG, GIF, WebP, BMP and TIFF begin in base64."""
_IMAGE_FILE_NAME = re.compile(r"\.(png|jpe?g|webp|gif|bmp|tiff?)$", re.IGNORECASE)
_REMEDY = "Correct the picture, or leave the row out."


@dataclass(frozen=True, slots=True)
class Name:
    """A short text in an image cell: a path, a web address or the index of another row; the whole
    column says which.
    """

    text: str


@dataclass
class GatheredPictures:
    """The pictures that were written into a folder, each once."""

    folder: Path
    images: ImageSource | None = None
    """The place that names are looked up at; the folder of the row's own file unless given."""
    packed: bool = False
    """Whether any cell held a picture itself, so that short texts beside it are indexes."""
    web: set[str] = field(default_factory=set)
    """The web addresses that were named."""
    _by_content: dict[str, str] = field(default_factory=dict)
    _by_source: dict[tuple[str, str], str] = field(default_factory=dict)
    _names: set[str] = field(default_factory=set)

    def __len__(self) -> int:
        return len(self._by_content)

    def take(self, value: object, row: SourceRow, column: str) -> str | Name | None:
        """The name of the picture that a cell holds; the cell's text where it only names one; None
        for an empty cell.

        Raises
        ------
        DataError
            The cell holds what is no picture, or more than one.
        """
        location = row.cell_location(column)
        # CSV has no lists: one picture may be written as the text of a list.
        if isinstance(value, str) and value[:1] == "[" and value.rstrip()[-1:] == "]":
            value = parse_value(value)
            if value is None:
                raise DataError(
                    "the list cannot be read",
                    location=location,
                    remedy="Write one picture, not a list.",
                )
        if isinstance(value, (list, tuple)):
            if len(value) > 1:
                raise DataError(
                    f"the cell has {len(value)} pictures",
                    location=location,
                    remedy=(
                        "A question is asked about one picture: join them into one, or leave"
                        " the row"
                        " out."
                    ),
                )
            value = value[0] if value else None
        if isinstance(value, dict):
            value = _bytes_of(value, location)
        if value is None or (isinstance(value, float) and value != value):
            return None
        if isinstance(value, (bytes, bytearray)):
            return self._write(bytes(value), location)
        if isinstance(value, bool) or not isinstance(value, (str, int)):
            raise DataError(
                f"the cell is {type(value).__name__}, which is no picture",
                location=location,
                remedy="Write a path, a web address, base64 or the picture's bytes.",
            )
        text = str(value).strip()
        if is_packed(text):
            self.packed = True
            return self._write(_decoded(text, location), location)
        if text:
            return Name(text)
        return None

    def resolve_name(self, name: str, row: SourceRow, column: str) -> str:
        """The name under which the picture of this path, zip member or address stands.

        Raises
        ------
        DataError
            There is no such picture, or it cannot be used.
        """
        location = row.cell_location(column)
        if is_url(check_address(name, location)):
            self.web.add(name)
            return name
        key = ("" if self.images else str(row.folder), name)
        if key not in self._by_source:
            try:
                checked_name = safe_name(name, location)
                if self.images:
                    path = self.images.path(checked_name)
                else:
                    path = image_path(row.folder, checked_name)
                # Before the file is read, as a picture of some gigabytes would fill the memory.
                if path.stat().st_size > MAX_BYTES:
                    raise ImageError(
                        f"the picture has {path.stat().st_size >> 20} MiB, more than"
                        f" {MAX_BYTES >> 20}",
                        remedy=SMALLER,
                    )
                content = path.read_bytes()
            except ImageError as error:
                raise DataError(
                    f"{name[:200]!r} cannot be used: {error.message}",
                    location=location,
                    remedy=(
                        "Name the folder or zip of the pictures with --images, or leave them out:"
                        " --columns image=."
                    ),
                ) from None
            except OSError as error:
                raise DataError(
                    f"{name[:200]!r} cannot be read: {error.strerror}",
                    location=location,
                    remedy="Correct its permissions.",
                ) from None
            self._by_source[key] = self._write(content, location, checked_name)
        return self._by_source[key]

    def _write(self, content: bytes, location: str, name: str = "") -> str:
        """Write a picture that is not there yet; without a name it is named by its content."""
        digest = hashlib.sha256(content).hexdigest()
        if digest in self._by_content:
            return self._by_content[digest]
        if not content:
            raise DataError("the picture is empty (0 bytes)", location=location, remedy=_REMEDY)
        try:
            kind = check_content(content, location)
        except ImageError as error:
            remedy = SMALLER if error.remedy == SMALLER else _REMEDY
            raise DataError(error.message, location=location, remedy=remedy) from None
        if kind not in _SUFFIXES:
            raise DataError(
                f"the picture is {kind}, which not every model can be shown",
                location=location,
                remedy="Save it as PNG or JPEG.",
            )
        # Two folders may have pictures of one name and different content: the second is named by
        # its content.
        if not name or name in self._names:
            name = f"{digest[:16]}{_SUFFIXES[kind]}"
        target = self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        self._names.add(name)
        self._by_content[digest] = name
        return name


def is_packed(text: str) -> bool:
    """Whether a text is a picture in base64 or a data URL, sound or broken, and not the name of
    one.

    >>> is_packed("iVBORw0KGgo" + "A" * 90), is_packed("val2014/COCO_val2014_000000000042.jpg")
    (True, False)
    >>> is_packed("17")
    False
    """
    if text.startswith("data:"):
        return True
    if len(text) <= MAX_INDEX_CHARS or is_url(text) or _IMAGE_FILE_NAME.search(text):
        return False
    # a path has a dot before its suffix; base64 has none
    return text.startswith(_BASE64_PREFIXES) or "." not in text


def _decoded(text: str, location: str) -> bytes:
    remedy = "Write the picture again: base64 of its bytes."
    if text.startswith("data:"):
        heading, comma, text = text.partition(",")
        if not comma or not heading.endswith(";base64"):
            raise DataError("the data URL holds no base64", location=location, remedy=remedy)
    if not text.isascii():
        raise DataError(
            "it is no base64: it has characters beyond ASCII", location=location, remedy=remedy
        )
    try:
        # Line breaks are allowed (RFC 2045); without `validate` other foreign characters would be
        # skipped in silence, and the picture broken.
        return base64.b64decode("".join(text.split()), validate=True)
    except ValueError as error:
        raise DataError(f"it is no base64: {error}", location=location, remedy=remedy) from None


def _bytes_of(value: dict[str, object], location: str) -> object:
    """The bytes of a struct as `datasets` writes it, else its path."""
    if not {"bytes", "path"} & set(value):
        raise DataError(
            f"the cell is an object with {', '.join(map(repr, list(value)[:5])) or 'nothing'}",
            location=location,
            remedy="Write a path, or an object with bytes and path.",
        )
    content = value.get("bytes")
    path = value.get("path")
    # `datasets` keeps absolute paths of the machine on which a data set was made
    if content is None and isinstance(path, str) and path.startswith("/"):
        raise DataError(
            f"the picture is not in the data set, which only names {path[:200]!r}",
            location=location,
            remedy="Write its bytes into the data set, or paths below --images.",
        )
    if content is not None and not isinstance(content, (bytes, bytearray, str)):
        raise DataError(
            "its bytes are no bytes", location=location, remedy="Write the picture's bytes."
        )
    if content is None:
        return path
    return content
