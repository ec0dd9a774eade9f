"""Pictures as people have them: in a folder, in a zip, inside the rows of parquet files, or on the web.

A source gives the file of a picture by its name. What is no file yet is written once into a cache, under the hash of its
bytes: equal pictures are one file, and no name from an archive ever becomes a path. The cache is `HQM_CACHE`, else
`$XDG_CACHE_HOME/hqm`, else `~/.cache/hqm`; it may be deleted at any time.

A picture is used only when it can be: not empty, within the limits, readable to its end, and, where the benchmark lists
sizes or hashes, the one that is listed.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Protocol

from hqm.errors import DataError, ImageError
from hqm.items import image_path, is_url, safe_name
from hqm.records import read_records, read_text

MAX_BYTES = 64 * 1024 * 1024
"""The largest picture file that is used."""
MAX_PIXELS = 100_000_000
"""The most pixels a picture may unfold to: a file of a few bytes can claim billions."""


class ImageSource(Protocol):
    """Where a benchmark's pictures are."""

    def path(self, name: str) -> Path:
        """The file of a picture.

        Raises
        ------
        ImageError
            It is not there, or cannot be used.
        """

    def has(self, name: str) -> bool:
        """Whether the picture is there now, without fetching or opening it."""

    def fetch(self, names: Iterable[str]) -> None:
        """Get what lies elsewhere; what cannot be had is an error of `path` later."""


def open_images(place: Path | str) -> ImageSource:
    """The source of pictures at a place.

    Parameters
    ----------
    place
        A folder (one with parquet files gives the pictures in their rows as well), a `.zip`, a `.parquet` file or a
        pattern of several (`data/test-*.parquet`), or a web address that names are put behind. A name that is itself a
        web address is fetched whatever the place is.

    Examples
    --------
    >>> open_images("https://example.org/val2014")
    WebImages(base='https://example.org/val2014')
    """
    if isinstance(place, str) and is_url(place):
        from hqm.images_web import WebImages

        return WebImages(place)
    path = Path(place)
    if path.suffix.lower() == ".zip":
        return ZipImages(path)
    if path.suffix.lower() == ".parquet" or "*" in path.name:
        from hqm.images_parquet import ParquetImages

        return ParquetImages(path)
    return FolderImages(path)


@dataclass(frozen=True)
class FolderImages:
    """Pictures that are files in a folder; a link must not leave it. Web addresses and parquet rows come beside."""

    folder: Path

    @cached_property
    def _rows(self) -> ImageSource | None:
        """Parquet files in the folder itself, or in `data` below it as the Hugging Face hub lays them out."""
        from hqm.images_parquet import ParquetImages

        for pattern in ("*.parquet", "data/*.parquet"):
            if self.folder.is_dir() and any(self.folder.glob(pattern)):
                return ParquetImages(self.folder / pattern)
        return None

    @cached_property
    def _web(self) -> ImageSource:
        from hqm.images_web import WebImages

        return WebImages("")

    def path(self, name: str) -> Path:
        if is_url(name):
            return self._web.path(name)
        if self._rows is not None and not (self.folder / safe_name(name)).is_file():
            return self._rows.path(name)
        return image_path(self.folder, name)

    def has(self, name: str) -> bool:
        if is_url(name):
            return self._web.has(name)
        if (self.folder / safe_name(name)).is_file():
            return True
        return self._rows is not None and self._rows.has(name)

    def fetch(self, names: Iterable[str]) -> None:
        if addresses := [name for name in names if is_url(name)]:
            self._web.fetch(addresses)


@dataclass(frozen=True)
class ZipImages:
    """Pictures in a zip: by their whole name in it, or by the end of it (`a.jpg` for `val2014/a.jpg`) where that is one.

    Members are read through the cache, never unpacked to where they want to be.
    """

    file: Path

    @cached_property
    def _members(self) -> dict[str, Any]:
        """Name, and every end of it that is one member's alone -> member; None for an end that several share."""
        import zipfile

        try:
            with zipfile.ZipFile(self.file) as archive:
                members = [member for member in archive.infolist() if not member.is_dir()]
        except FileNotFoundError:
            raise ImageError("there is no such file", place=str(self.file), remedy="Correct --images.") from None
        except (zipfile.BadZipFile, OSError) as error:
            raise ImageError(f"it is no zip, or damaged: {error}", place=str(self.file)) from None
        found: dict[str, Any] = {}
        for member in members:
            parts = member.filename.replace("\\", "/").split("/")
            for start in range(1, len(parts)):
                end = "/".join(parts[start:])
                found[end] = None if end in found else member
        found.update({member.filename.replace("\\", "/"): member for member in members})
        return found

    @cached_property
    def _done(self) -> dict[str, Path]:
        return {}

    def path(self, name: str) -> Path:
        import zipfile
        import zlib

        name = safe_name(name)
        place = f"{self.file}: {name}"
        if name in self._done:
            return self._done[name]
        if name not in self._members:
            raise ImageError("there is no such picture in the zip", place=place, remedy="Correct --images.")
        member = self._members[name]
        if member is None:
            remedy = "Give the items the whole name that the zip has."
            raise ImageError("several files in the zip end in this name", place=place, remedy=remedy)
        if member.flag_bits & 0x1:
            raise ImageError("it is encrypted", place=place, remedy="Make the zip without a password.")
        try:
            with zipfile.ZipFile(self.file) as archive, archive.open(member) as stream:
                self._done[name] = keep(stream, place)
        except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, OSError) as error:
            raise ImageError(
                f"it cannot be read from the zip: {error}", place=place, remedy="Fetch the zip again."
            ) from None
        return self._done[name]

    def has(self, name: str) -> bool:
        return self._members.get(safe_name(name)) is not None

    def fetch(self, names: Iterable[str]) -> None:
        """Everything is here."""


# --- the cache ---


def cache() -> Path:
    """The folder of the cache."""
    own, home = os.environ.get("HQM_CACHE"), os.environ.get("XDG_CACHE_HOME")
    return Path(own) if own else (Path(home) if home else Path.home() / ".cache") / "hqm"


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        what = f"the cache cannot be written: {error.strerror}"
        raise DataError(what, place=str(folder), remedy="Name another folder with HQM_CACHE.") from error


def keep(stream: IO[bytes], place: str, *, limit: int = MAX_BYTES) -> Path:
    """Write a picture into the cache under its hash; its file. Reads no more than the limit.

    Raises
    ------
    ImageError
        It is larger than the limit, or empty. What the stream raises passes through.
    DataError
        The cache cannot be written.
    """
    folder = cache() / "images"
    running, size, head = hashlib.blake2b(digest_size=16), 0, b""
    with _writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        part = tempfile.NamedTemporaryFile(dir=folder, suffix=".part", delete=False)  # noqa: SIM115 (moved at the end)
    try:
        with part:
            while piece := stream.read(1 << 20):
                size += len(piece)
                if size > limit:
                    raise ImageError(f"the picture is larger than {limit >> 20} MiB", place=place, remedy=_SMALLER)
                head = head or piece[:16]
                running.update(piece)
                with _writing(folder):
                    part.write(piece)
            with _writing(folder):
                part.flush()
        if size == 0:
            raise ImageError("the picture is empty (0 bytes)", place=place, remedy="Fetch it again.")
        name = running.hexdigest()
        target = folder / name[:2] / f"{name}{_suffix(head)}"
        with _writing(folder):
            target.parent.mkdir(exist_ok=True)
            os.replace(part.name, target)
    finally:
        Path(part.name).unlink(missing_ok=True)
    return target


_SMALLER = "Make it smaller, or leave the item out."


def _suffix(head: bytes) -> str:
    marks = {
        b"\x89PNG": ".png",
        b"\xff\xd8\xff": ".jpg",
        b"GIF8": ".gif",
        b"BM": ".bmp",
        b"II*\0": ".tif",
        b"MM\0*": ".tif",
    }
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return ".webp"
    return next((suffix for mark, suffix in marks.items() if head.startswith(mark)), ".bin")


# --- checking ---


def check_picture(path: Path, place: str = "") -> None:
    """See that a picture can be used: within the limits, and readable to its end.

    Raises
    ------
    ImageError
        It is too large, unfolds to too many pixels, is no picture, or breaks off.

    Notes
    -----
    A JPEG is decoded at an eighth of its size, which reads all of it; a PNG's checksums are compared; anything else is
    decoded.
    """
    from PIL import Image

    place = place or str(path)
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise ImageError(f"the picture has {size >> 20} MiB, more than {MAX_BYTES >> 20}", place=place, remedy=_SMALLER)
    try:
        with Image.open(path) as picture:
            width, height = picture.size
            if width * height > MAX_PIXELS:
                what = f"the picture unfolds to {width} x {height} pixels, more than {MAX_PIXELS:,}"
                raise ImageError(what, place=place, remedy=_SMALLER)
            if picture.format == "PNG":
                picture.verify()
            else:
                picture.draft("L", (max(1, width // 8), max(1, height // 8)))
                picture.load()
    except ImageError:
        raise
    except Image.DecompressionBombError:
        raise ImageError("the picture unfolds to far too many pixels", place=place, remedy=_SMALLER) from None
    except Exception as error:  # the decoders raise whatever a broken file makes them raise
        what = f"the picture cannot be opened: {' '.join(str(error).split()) or type(error).__name__}"
        raise ImageError(what, place=place, remedy="Fetch it again.") from None


@dataclass(frozen=True)
class Listed:
    """What a list says of one picture; None for what it does not say."""

    size: int | None = None
    sha256: str | None = None


@dataclass(frozen=True)
class Checksums:
    """The sizes and SHA-256 sums that a benchmark's pictures must have, by name.

    Read from what `sha256sum` prints, or from records (CSV, JSON lines) of `image`, and `sha256`, `size` or both.
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
        found = {}
        for number, line in enumerate(read_text(path).splitlines(), 1):
            if not line.strip():
                continue
            match = re.fullmatch(r"([0-9a-fA-F]{64}) [ *](.+)", line.rstrip())
            if match is None:
                raise DataError("the line is not what sha256sum prints", place=f"{path}:{number}")
            found[match[2].removeprefix("./")] = Listed(None, match[1].lower())
        return cls(found, str(path))

    def check(self, name: str, path: Path) -> None:
        """Compare a picture with what is listed of it; one that is not listed may be anything.

        Raises
        ------
        ImageError
            It is another one.
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
                found = hashlib.file_digest(file, "sha256").hexdigest()
            if found != listed.sha256:
                what = f"the picture's SHA-256 is {found[:12]}..., and {self.file} says {listed.sha256[:12]}..."
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
