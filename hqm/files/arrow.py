"""Rows of Parquet files and Arrow streams, as the `datasets` library, pandas and polars write them.

`datasets` notes in the schema what a column means: an integer may be the number of a class label,
whose name is given in place of it, and a struct of `bytes` and `path` may be a picture.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from hqm.errors import DataError
from hqm.files.cache import MAX_BYTES, SMALLER
from hqm.files.parquet import pyarrow_library

_AT_ONCE = 8
"""Rows that are unpacked at once: each may hold a picture."""
_LONGEST = 2 * MAX_BYTES
"""The longest text or bytes of one cell; base64 takes four thirds of a picture's bytes."""
_LARGE, _FOLDS = 256 * 1024 * 1024, 200
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
            names = [name for name in self._schema.names if not name.startswith("__")]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            remedy = "Rename or remove one of the two."
            raise DataError(f"the column {twice!r} stands twice", place=self.label, remedy=remedy)
        return tuple(names)

    @cached_property
    def pictures(self) -> tuple[str, ...]:
        pa = pyarrow_library()
        with self._reading():
            return tuple(
                name
                for name in self.columns
                if holds_pictures(pa, self._schema.field(name).type)
                and self._features.get(name, {}).get("_type") not in ("Audio", "Video", "Pdf")
            )

    def rows(self, columns: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
        labels = {name: self._features[name]["names"] for name in columns if self._is_label(name)}
        number = 0
        for batch in self._batches(columns):
            with self._reading():
                batch.validate(full=True)
            for start in range(0, batch.num_rows, _AT_ONCE):
                some = batch.slice(start, _AT_ONCE)
                for name in columns:
                    self._check_lengths(
                        some.column(some.schema.get_field_index(name)), name, number
                    )
                with self._reading():
                    records = some.to_pylist()
                for record in records:
                    number += 1
                    place = f"{self.label}: row {number}"
                    cells = {name: record[name] for name in columns}
                    for name, names in labels.items():
                        cells[name] = _label(cells[name], names, f"{place}, column {name!r}")
                    yield place, cells

    @cached_property
    def _schema(self) -> Any:
        with self._reading():
            if self.path.suffix.lower() == ".parquet":
                with pyarrow_library().parquet.ParquetFile(self.path) as opened:
                    return opened.schema_arrow
            with self._stream() as reader:
                return reader.schema

    @cached_property
    def _features(self) -> Mapping[str, Any]:
        """What `datasets` wrote into the schema about every column; nothing where another library
        wrote the file.
        """
        try:
            features = json.loads((self._schema.metadata or {})[b"huggingface"])["info"]["features"]
            return {str(name): about for name, about in features.items() if isinstance(about, dict)}
        except (KeyError, ValueError, TypeError, AttributeError, RecursionError):
            return {}

    def _is_label(self, name: str) -> bool:
        about = self._features.get(name, {})
        return about.get("_type") == "ClassLabel" and isinstance(about.get("names"), list)

    def _batches(self, columns: Sequence[str]) -> Iterator[Any]:
        with self._reading():
            if self.path.suffix.lower() != ".parquet":
                with self._stream() as reader:
                    if hasattr(reader, "num_record_batches"):
                        yield from (
                            reader.get_batch(k).select(list(columns))
                            for k in range(reader.num_record_batches)
                        )
                    else:
                        yield from (batch.select(list(columns)) for batch in reader)
                return
            with pyarrow_library().parquet.ParquetFile(self.path) as opened:
                self._check_unfolding(opened.metadata, columns)
                yield from opened.iter_batches(batch_size=_AT_ONCE, columns=list(columns))

    @contextmanager
    def _stream(self) -> Iterator[Any]:
        """`datasets` writes streams; other libraries also write the file format, which begins with
        its name.
        """
        pa = pyarrow_library()
        with pa.memory_map(str(self.path)) as source:
            is_file = self.path.stat().st_size > 6 and bytes(source.read(6)) == b"ARROW1"
            source.seek(0)
            yield pa.ipc.open_file(source) if is_file else pa.ipc.open_stream(source)

    def _check_unfolding(self, about: Any, columns: Sequence[str]) -> None:
        wanted = set(columns)
        for group in range(about.num_row_groups):
            for k in range(about.num_columns):
                chunk = about.row_group(group).column(k)
                folded, unfolded = (
                    max(chunk.total_compressed_size, 1),
                    chunk.total_uncompressed_size,
                )
                if chunk.path_in_schema.split(".")[0] in wanted and unfolded > max(
                    _LARGE, _FOLDS * folded
                ):
                    what = (
                        f"it unfolds from {folded:,} to {unfolded:,} bytes, which no pictures and"
                        " no questions do"
                    )
                    place = f"{self.label}: column {chunk.path_in_schema.split('.')[0]!r}"
                    raise DataError(
                        what, place=place, remedy="Fetch the file from where you trust it."
                    )

    def _check_lengths(self, column: Any, name: str, before: int) -> None:
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
        if not any(is_kind(kind) for is_kind in _texts(pa)):
            return
        import pyarrow.compute as pc

        for i, length in enumerate(pc.binary_length(column).to_pylist()):
            if length is not None and length > _LONGEST:
                what = f"the cell has {length >> 20} MiB, more than {_LONGEST >> 20}"
                place = f"{self.label}: row {before + i + 1}, column {name!r}"
                raise DataError(what, place=place, remedy=SMALLER)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        pa = pyarrow_library()
        try:
            yield
        except (pa.ArrowException, OSError, UnicodeDecodeError, MemoryError, EOFError) as error:
            first = (str(error).strip().splitlines() or [type(error).__name__])[0]
            kind = self.path.suffix.lower().removeprefix(".")
            what = f"it is no {kind} file, or damaged: {first[:200]}"
            raise DataError(
                what, place=self.label, remedy="Fetch it again, or write it anew."
            ) from None


def holds_pictures(pa: Any, kind: Any) -> bool:
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


def _texts(pa: Any) -> tuple[Any, ...]:
    return (
        pa.types.is_binary,
        pa.types.is_large_binary,
        pa.types.is_string,
        pa.types.is_large_string,
    )


def _label(value: Any, names: Sequence[Any], place: str) -> str | None:
    """The name of a class label; -1 and null are no label."""
    if value is None or value == -1:
        return None
    if not isinstance(value, int) or not 0 <= value < len(names):
        what = f"the class label is {value!r:.40}, and there are {len(names)} names"
        raise DataError(
            what, place=place, remedy="Correct the label, or the names in the dataset's features."
        )
    return str(names[value])
