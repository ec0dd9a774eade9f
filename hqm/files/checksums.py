"""The sizes and checksums that a benchmark's pictures must have."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hqm.errors import DataError, ImageError
from hqm.files.records import read_records, read_text


@dataclass(frozen=True)
class Listed:
    """The size and SHA-256 that a list gives for one picture; None for what it does not give."""

    size: int | None = None
    sha256: str | None = None


@dataclass(frozen=True)
class Checksums:
    """The sizes and SHA-256 sums that a benchmark's pictures must have, by name.

    They are read from the output of `sha256sum`, or from records (CSV, JSON lines) of `image` with
    `sha256`, `size` or both.
    """

    listed: Mapping[str, Listed] = field(default_factory=dict)
    file: str = ""

    @classmethod
    def load(cls, path: Path) -> Checksums:
        """Read a list.

        Raises
        ------
        DataError
            A line names no picture or no sum.
        """
        if path.suffix.lower() in {".csv", ".json", ".jsonl"}:
            return cls(dict(_from_records(path)), str(path))
        listed = {}
        for number, line in enumerate(read_text(path).splitlines(), 1):
            if not line.strip():
                continue
            match = re.fullmatch(r"([0-9a-fA-F]{64}) [ *](.+)", line.rstrip())
            if match is None:
                raise DataError("the line is not what sha256sum prints", place=f"{path}:{number}")
            listed[match[2].removeprefix("./")] = Listed(None, match[1].lower())
        return cls(listed, str(path))

    def check(self, name: str, path: Path) -> None:
        """Compare a picture with what the list says about it; a picture that is not listed is
        accepted.

        Raises
        ------
        ImageError
            It is not the picture that was listed.
        """
        listed = self.listed.get(name)
        if listed is None:
            return
        remedy = "Fetch it again: answers about another picture are no answers to this item."
        size = path.stat().st_size
        if listed.size is not None and size != listed.size:
            what = f"the picture has {size} bytes, and {self.file} says {listed.size}"
            raise ImageError(what, place=name, remedy=remedy)
        if listed.sha256 is not None:
            with path.open("rb") as file:
                sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            if sha256 != listed.sha256:
                what = (
                    f"the picture's SHA-256 is {sha256[:12]}..., and {self.file} says"
                    f" {listed.sha256[:12]}..."
                )
                raise ImageError(what, place=name, remedy=remedy)


def _from_records(path: Path) -> Iterator[tuple[str, Listed]]:
    for number, record in enumerate(read_records(path), 1):
        place = f"{path}: record {number}"
        try:
            size = int(record["size"]) if record.get("size") not in (None, "") else None
            sha256 = str(record["sha256"]).lower() if record.get("sha256") else None
            if size is None and sha256 is None:
                raise DataError("it has neither size nor sha256", place=place)
            yield str(record["image"]), Listed(size, sha256)
        except (KeyError, TypeError, ValueError):
            raise DataError("it is no record of image, size, sha256", place=place) from None
