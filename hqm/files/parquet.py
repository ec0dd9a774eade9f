"""Pictures inside the rows of parquet files, as the `datasets` library of Hugging Face writes them.

An image column is a struct of `bytes` and `path`, or plain bytes. All its pictures are written into
the cache once, and a list of them beside, under the hash of each parquet file; equal pictures are
one file. A picture's name is its `path` where that stands for one picture only, else the number of
the first row that shows it: so the questions about one picture share its name, however often its
bytes are repeated.
"""

from __future__ import annotations

import io
import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import starmap
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from hqm.errors import DataError, ImageError, missing_library
from hqm.files.cache import (
    MAX_BYTES,
    SMALLER,
    cache_folder,
    cache_picture,
    is_picture,
    replacing,
    safe_name,
)
from hqm.signature import digest_file
from hqm.text import unique_columns

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet


@dataclass(frozen=True, slots=True)
class _Row:
    """The picture of a row: its name in the parquet file, its file in the cache and its size, or
    why it has none.
    """

    path: str | None
    file: str | None
    size: int
    reason: str = ""


@dataclass(frozen=True)
class ParquetImages:
    """Pictures in the rows of a parquet file, or of several by a pattern; rows are counted from 0
    through all files.

    Parameters
    ----------
    files
        `test.parquet` or `data/test-*.parquet`.
    column
        The image column; found by its type unless given, `image` where there are several.
    """

    files: Path
    column: str = ""

    @cached_property
    def _rows(self) -> list[_Row]:
        return [row for file in parquet_files(self.files) for row in _index(file, self.column)]

    @cached_property
    def names(self) -> list[str | None]:
        """Every row's picture by its name; None for a row without one."""
        files_of = defaultdict(set)
        first: dict[str, str] = {}
        for number, row in enumerate(self._rows):
            if row.path:
                files_of[row.path].add(row.file)
            if row.file:
                first.setdefault(row.file, str(number))
        names: list[str | None] = []
        for number, row in enumerate(self._rows):
            # a path of several pictures, such as image.png in each row, names none of them
            if row.path and len(files_of[row.path]) == 1:
                names.append(row.path)
            elif row.file:
                names.append(first[row.file])
            else:
                names.append(str(number) if row.reason else None)
        return names

    @cached_property
    def _by_name(self) -> Mapping[str | None, _Row]:
        by_name: dict[str | None, _Row] = {str(i): row for i, row in enumerate(self._rows)}
        # a path that stands for one picture goes before the number of a row
        by_name.update(zip(self.names, self._rows, strict=True))
        return by_name

    def path(self, name: str) -> Path:
        location = f"{self.files}: {name}"
        row = self._by_name.get(name)
        if row is None:
            raise ImageError(
                "no row has a picture of this name", location=location, remedy="Correct --images."
            )
        if row.file is None:
            raise ImageError(
                row.reason or "the row has no picture",
                location=location,
                remedy="Name the folder of pictures with --images.",
            )
        return cache_folder() / "images" / row.file

    def has(self, name: str) -> bool:
        row = self._by_name.get(name)
        return row is not None and row.file is not None

    def fetch(self, names: Iterable[str], *, private: bool = False) -> None:
        """Everything is here."""


def parquet_files(pattern: Path) -> list[Path]:
    """The files that a path or pattern names, sorted.

    Raises
    ------
    DataError
        There is none, or one of several is missing.
    """
    if "*" in pattern.name:
        files = sorted(pattern.parent.glob(pattern.name))
        check_shards({file.name for file in files}, str(pattern.parent))
    else:
        files = [pattern]
    if not files or not files[0].is_file():
        raise DataError(
            "there is no such file",
            location=str(pattern),
            remedy="Correct the path, or fetch the data.",
        )
    return files


def check_shards(names: Collection[str], location: str) -> None:
    """Refuse files of which some are missing by their own names, as test-00000-of-00002.parquet.

    Raises
    ------
    DataError
        A file is missing.
    """
    for name in names:
        shard_number = re.search(r"-(\d{5})-of-(\d{5})", name)
        if shard_number:
            head = name[: shard_number.start()]
            # a hash may follow the numbers, another one in every file
            siblings = [
                sibling
                for sibling in names
                if sibling.startswith(f"{head}-") and f"-of-{shard_number[2]}" in sibling
            ]
            if len(siblings) != int(shard_number[2]):
                raise DataError(
                    f"{len(siblings)} of the {int(shard_number[2])} files {head}-* are there",
                    location=location,
                    remedy="Fetch or copy the others too.",
                )


def read_rows(pattern: Path) -> list[dict[str, object]]:
    """The rows of parquet files as records, with the names of pictures in place of their bytes and
    the number as `row`.

    Raises
    ------
    DataError
        A file is missing, or no parquet; or there are more than `MAX_ROWS` rows.
    """
    records: list[dict[str, object]] = []
    pictures: tuple[str, ...] = ()
    n_rows = 0
    for file in parquet_files(pattern):
        table = ArrowTable(file, str(file))
        n_rows += table.n_rows
        if n_rows > MAX_ROWS:
            raise DataError(
                f"it has {n_rows:,} rows by its footer, more than {MAX_ROWS:,}",
                location=str(pattern),
                remedy="Take the rows of one study, or split the file.",
            )
        pictures = table.pictures
        plain = [name for name in table.columns if name not in pictures]
        records += [cells for _, cells in table.rows(plain)]
    for column in pictures:
        names = ParquetImages(pattern, column).names
        records = records or [{} for _ in names]
        for record, name in zip(records, names, strict=True):
            record[column] = name
    for number, record in enumerate(records):
        record.setdefault("row", str(number))
    return records


def pyarrow_library() -> ModuleType:
    """The library that reads and writes Parquet, `pyarrow` with its part `parquet`.

    Raises
    ------
    DataError
        It is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        missing = missing_library("files of the Parquet format", ["pyarrow"], "parquet")
        raise DataError(missing.message, remedy=missing.remedy) from error
    library: ModuleType = pyarrow
    return library


def are_texts(values: Iterable[bytes | None]) -> bool:
    """Return whether the first bytes of a column are no pictures, so that they must be texts."""
    nonempty = list(filter(None, values))
    return bool(nonempty) and not any(map(is_picture, nonempty))


def decode_cells(cells: dict[str, object], location: str) -> dict[str, object]:
    """The cells of a row, with bytes as the text that they are in UTF-8.

    Raises
    ------
    DataError
        Bytes are not UTF-8.
    """
    for name, value in cells.items():
        if isinstance(value, bytes):
            try:
                cells[name] = value.decode()
            except UnicodeDecodeError as error:
                raise DataError(
                    f"byte {error.start} (0x{value[error.start]:02x}) is not UTF-8",
                    location=f"{location}, column {name!r}",
                    remedy="Write the column as text.",
                ) from None
    return cells


def _index(file: Path, column: str) -> list[_Row]:
    """The pictures of a file, taken from the list in the cache as long as that is valid."""
    table = ArrowTable(file, str(file))
    columns = table.pictures
    column = column or (columns[0] if len(columns) == 1 else "image")
    if column not in columns:
        available = ", ".join(columns) or "none"
        raise DataError(
            f"it has no image column {column!r}",
            location=str(file),
            remedy=f"There is {available}.",
        )
    folder = cache_folder() / "images"
    key = digest_file(file).rpartition(":")[2]
    # A column's name may hold what no file's name may.
    record = cache_folder() / "parquet" / f"{key}-{column.encode().hex()}.json"
    with suppress(OSError, ValueError, TypeError):
        rows = list(starmap(_Row, json.loads(record.read_text("utf-8"))))
        # The size is enough: the file is named after the hash of its content.
        if all(not row.file or (folder / row.file).stat().st_size == row.size for row in rows):
            return rows
    rows = list(_extract(table, column))
    text = json.dumps([(row.path, row.file, row.size, row.reason) for row in rows])
    with replacing(record) as list_file:
        list_file.write(text.encode())
    return rows


def _extract(table: ArrowTable, column: str) -> Iterator[_Row]:
    """Write a file's pictures into the cache, some rows at a time."""
    for number, (_, cells) in enumerate(table.rows([column])):
        content = cells[column]
        path = None
        if isinstance(content, dict):
            path = _relative_path(content["path"])
            content = content["bytes"]
        if not isinstance(content, bytes):
            yield _Row(path, None, 0)
            continue
        try:
            cached_file = cache_picture(io.BytesIO(content), f"{table.label}: row {number}")
        except ImageError as error:
            yield _Row(path, None, 0, error.message)
        else:
            relative_name = cached_file.relative_to(cache_folder() / "images").as_posix()
            yield _Row(path, relative_name, len(content))


def _relative_path(path: str | None) -> str | None:
    """The name, if it could name a file in a folder; None for an absolute path from another
    machine.
    """
    try:
        if path:
            return safe_name(path)
        return None
    except ImageError:
        return None


# --- rows of Parquet files and Arrow streams ---
#
# As the `datasets` library, pandas and polars write them.
#
# `datasets` notes in the schema what a column means: an integer may be the number of a class
# label, whose name is given in place of it, and a struct of `bytes` and `path` may be a picture.

_BATCH_ROWS = 8
"""Rows that are unpacked at once: each may hold a picture."""
MAX_ROWS = 2_000_000
"""Rows of a file of questions or answers at most."""
_MAX_CELL_BYTES = 2 * MAX_BYTES
"""The longest text or bytes of one cell; base64 takes four thirds of a picture's bytes."""
_MAX_UNFOLDED_BYTES = 256 * 1024 * 1024
_MAX_EXPANSION = 200
"""A column that unfolds to more bytes than this, and to so many times its size in the file, is no
column of pictures.
"""


@dataclass(frozen=True)
class ArrowTable:
    """The rows of one `.parquet` file, or of one `.arrow` file in the stream or the file format."""

    path: Path
    label: str

    @cached_property
    def columns(self) -> tuple[str, ...]:
        # pyarrow decodes names of columns and fields when they are asked for: a damaged one is met
        # here and below
        with self._reading():
            # pandas keeps its index in columns such as __index_level_0__.
            names = [name for name in self._schema.names if not name.startswith("__")]
        unique_columns(names, self.label)
        return tuple(names)

    @property
    def n_rows(self) -> int:
        """The number of rows that the footer of a Parquet file says; no row is read."""
        with self._reading(), pyarrow_library().parquet.ParquetFile(self.path) as opened:
            return int(opened.metadata.num_rows)

    @cached_property
    def pictures(self) -> tuple[str, ...]:
        pa = pyarrow_library()
        with self._reading():
            candidates = [
                name
                for name in self.columns
                if holds_pictures(pa, self._schema.field(name).type)
                # Sounds, videos and documents are structs of bytes and path as well.
                and self._features.get(name, {}).get("_type") not in ("Audio", "Video", "Pdf")
            ]
        return tuple(name for name in candidates if not self._holds_text(name))

    def _holds_text(self, name: str) -> bool:
        """Return whether a column of bytes holds texts."""
        if not _is_text(pyarrow_library(), self._schema.field(name).type):
            return False
        batch = next(self._batches([name]), None)
        if batch is None:
            return False
        return are_texts(batch.slice(0, _BATCH_ROWS).column(0).to_pylist())

    def rows(self, columns: Sequence[str]) -> Iterator[tuple[str, dict[str, object]]]:
        labels = {name: self._features[name]["names"] for name in columns if self._is_label(name)}
        plain = [name for name in columns if name not in self.pictures]
        number = 0
        for batch in self._batches(columns):
            with self._reading():
                # A damaged file may have offsets beyond its buffers, which would be read as they
                # are.
                batch.validate(full=True)
            for start in range(0, batch.num_rows, _BATCH_ROWS):
                chunk = batch.slice(start, _BATCH_ROWS)
                for name in columns:
                    self._check_lengths(
                        chunk.column(chunk.schema.get_field_index(name)), name, number
                    )
                with self._reading():
                    records = chunk.to_pylist()
                for record in records:
                    number += 1
                    location = f"{self.label}: row {number}"
                    cells = {name: record[name] for name in columns}
                    # pictures stay bytes; other bytes are texts that the writer did not decode
                    cells |= decode_cells({name: cells[name] for name in plain}, location)
                    for name, names in labels.items():
                        cells[name] = _label(cells[name], names, f"{location}, column {name!r}")
                    yield location, cells

    @cached_property
    def _schema(self) -> pyarrow.Schema:
        with self._reading():
            if self.path.suffix.lower() == ".parquet":
                with pyarrow_library().parquet.ParquetFile(self.path) as opened:
                    return opened.schema_arrow
            with self._stream() as reader:
                return reader.schema

    @cached_property
    def _features(self) -> Mapping[str, Any]:
        """The features that `datasets` wrote into the schema; empty where it did not."""
        try:
            features = json.loads((self._schema.metadata or {})[b"huggingface"])["info"]["features"]
            return {
                str(name): feature
                for name, feature in features.items()
                if isinstance(feature, dict)
            }
        except (KeyError, ValueError, TypeError, AttributeError, RecursionError):
            return {}

    def _is_label(self, name: str) -> bool:
        feature = self._features.get(name, {})
        return feature.get("_type") == "ClassLabel" and isinstance(feature.get("names"), list)

    def _batches(self, columns: Sequence[str]) -> Iterator[pyarrow.RecordBatch]:
        with self._reading():
            if self.path.suffix.lower() != ".parquet":
                with self._stream() as reader:
                    batches = reader
                    if hasattr(reader, "num_record_batches"):
                        batches = map(reader.get_batch, range(reader.num_record_batches))
                    for batch in batches:
                        yield batch.select(list(columns))
                return
            with pyarrow_library().parquet.ParquetFile(self.path) as opened:
                self._check_unfolding(opened.metadata, columns)
                yield from opened.iter_batches(batch_size=_BATCH_ROWS, columns=list(columns))

    @contextmanager
    def _stream(self) -> Iterator[pyarrow.RecordBatchReader]:
        """`datasets` writes streams; other libraries also write the file format, which begins with
        its name.
        """
        pa = pyarrow_library()
        with pa.memory_map(str(self.path)) as source:
            is_file = self.path.stat().st_size > 6 and bytes(source.read(6)) == b"ARROW1"
            source.seek(0)
            yield pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source)

    def _check_unfolding(
        self, metadata: pyarrow.parquet.FileMetaData, columns: Sequence[str]
    ) -> None:
        requested = set(columns)
        for group in range(metadata.num_row_groups):
            for k in range(metadata.num_columns):
                chunk = metadata.row_group(group).column(k)
                # an empty column has no bytes at all
                compressed = max(chunk.total_compressed_size, 1)
                uncompressed = chunk.total_uncompressed_size
                if chunk.path_in_schema.split(".")[0] in requested and uncompressed > max(
                    _MAX_UNFOLDED_BYTES, _MAX_EXPANSION * compressed
                ):
                    raise DataError(
                        (
                            f"it unfolds from {compressed:,} to {uncompressed:,} bytes, which no"
                            " pictures and no questions do"
                        ),
                        location=f"{self.label}: column {chunk.path_in_schema.split('.')[0]!r}",
                        remedy="Fetch the file from where you trust it.",
                    )

    def _check_lengths(self, column: pyarrow.Array, name: str, n_before: int) -> None:
        """Refuse a cell of more bytes than a picture may have, before it is unpacked."""
        pa = pyarrow_library()
        kind = column.type
        if pa.types.is_dictionary(kind):
            return
        if pa.types.is_struct(kind):
            if kind.get_field_index("bytes") < 0:
                return
            column = column.field("bytes")
            kind = column.type
        if not _is_text(pa, kind):
            return
        import pyarrow.compute as pc

        for i, length in enumerate(pc.binary_length(column).to_pylist()):
            if length is not None and length > _MAX_CELL_BYTES:
                raise DataError(
                    f"the cell has {length >> 20} MiB, more than {_MAX_CELL_BYTES >> 20}",
                    location=f"{self.label}: row {n_before + i + 1}, column {name!r}",
                    remedy=SMALLER,
                )

    @contextmanager
    def _reading(self) -> Iterator[None]:
        pa = pyarrow_library()
        try:
            yield
        except (pa.ArrowException, OSError, UnicodeDecodeError, MemoryError, EOFError) as error:
            first_line = (str(error).strip().splitlines() or [type(error).__name__])[0]
            kind = self.path.suffix.lower().removeprefix(".")
            raise DataError(
                f"it is no {kind} file, or damaged: {first_line[:200]}",
                location=self.label,
                remedy="Fetch it again, or write it anew.",
            ) from None


def holds_pictures(pa: ModuleType, kind: pyarrow.DataType) -> bool:
    """Whether cells of this type are pictures: bytes, a struct of `bytes` and `path`, or a list of
    them.
    """
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return holds_pictures(pa, kind.value_type)
    if pa.types.is_struct(kind):
        return {"bytes", "path"} <= {kind.field(i).name for i in range(kind.num_fields)}
    return bool(
        pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind)
    )


def _is_text(pa: ModuleType, kind: pyarrow.DataType) -> bool:
    """Whether cells of this type are bytes or texts, which have a length."""
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
    )


def _label(value: object, names: Sequence[object], location: str) -> str | None:
    """The name of a class label; -1 and null are no label."""
    if value is None or value == -1:
        return None
    if not isinstance(value, int) or not 0 <= value < len(names):
        raise DataError(
            f"the class label is {value!r:.40}, and there are {len(names)} names",
            location=location,
            remedy="Correct the label, or the names in the dataset's features.",
        )
    return str(names[value])
