"""Pictures wherever users keep them: in a folder, in a zip, inside the rows of parquet files, or on
the web.

A source gives the file of a picture by its name. A picture that is not a file of its own is written
once into the cache (`hqm.files.cache`).

A picture is used only if it is not empty, is within the limits, can be read to its end and, where
the benchmark lists sizes or hashes, is the one that is listed.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Protocol

from hqm.errors import ImageError
from hqm.files.cache import MAX_BYTES, SMALLER, keep
from hqm.files.names import image_path, is_url, safe_name

MAX_PIXELS = 100_000_000
"""The most pixels that a picture may have when decoded: a file of a few bytes can claim
billions.
"""


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

    def fetch(self, names: Iterable[str], *, private: bool = False) -> None:
        """Fetch the pictures that lie elsewhere; for one that cannot be fetched, `path` raises an
        error later.

        With `private`, addresses of this machine and of private networks are fetched from too.
        """


def open_images(place: Path | str) -> ImageSource:
    """The source of pictures at a place.

    Parameters
    ----------
    place
        A folder (one with parquet files gives the pictures in their rows as well), a `.zip`, a
        `.parquet` file or a pattern of several (`data/test-*.parquet`), or a web address to which
        names are appended. A name that is itself a web address is fetched from there, whatever the
        place is.

    Examples
    --------
    >>> open_images("https://example.org/val2014")
    WebImages(base='https://example.org/val2014')
    """
    if isinstance(place, str) and is_url(place):
        from hqm.files.web import WebImages

        return WebImages(place)
    path = Path(place)
    if path.suffix.lower() == ".zip":
        return ZipImages(path)
    if path.suffix.lower() == ".parquet" or "*" in path.name:
        from hqm.files.parquet import ParquetImages

        return ParquetImages(path)
    return FolderImages(path)


@dataclass(frozen=True)
class FolderImages:
    """Pictures that are files in a folder, which a link must not leave; parquet files in it and web
    addresses work too.
    """

    folder: Path

    @cached_property
    def _rows(self) -> ImageSource | None:
        """Parquet files in the folder itself, or in `data` below it as the Hugging Face hub lays
        them out.
        """
        from hqm.files.parquet import ParquetImages

        for pattern in ("*.parquet", "data/*.parquet"):
            if self.folder.is_dir() and any(self.folder.glob(pattern)):
                return ParquetImages(self.folder / pattern)
        return None

    @cached_property
    def _web(self) -> ImageSource:
        from hqm.files.web import WebImages

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

    def fetch(self, names: Iterable[str], *, private: bool = False) -> None:
        if addresses := [name for name in names if is_url(name)]:
            self._web.fetch(addresses, private=private)


@dataclass(frozen=True)
class ZipImages:
    """Pictures in a zip, found by the whole name in it or by an end that only one has (`a.jpg` for
    `val2014/a.jpg`).

    Members are copied into the cache and never unpacked to the paths that the zip gives.
    """

    file: Path

    @cached_property
    def _members(self) -> dict[str, Any]:
        """Each whole name, and each end of a name, -> its member; None for an end that several
        members share.
        """
        import zipfile

        try:
            with zipfile.ZipFile(self.file) as archive:
                members = [member for member in archive.infolist() if not member.is_dir()]
        except FileNotFoundError:
            raise ImageError(
                "there is no such file", place=str(self.file), remedy="Correct --images."
            ) from None
        except (zipfile.BadZipFile, OSError) as error:
            raise ImageError(f"it is no zip, or damaged: {error}", place=str(self.file)) from None
        by_name: dict[str, Any] = {}
        for member in members:
            parts = member.filename.replace("\\", "/").split("/")
            for start in range(1, len(parts)):
                end = "/".join(parts[start:])
                by_name[end] = None if end in by_name else member
        by_name.update({member.filename.replace("\\", "/"): member for member in members})
        return by_name

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
            raise ImageError(
                "there is no such picture in the zip", place=place, remedy="Correct --images."
            )
        member = self._members[name]
        if member is None:
            remedy = "Give the items the whole name that the zip has."
            raise ImageError(
                "several files in the zip end in this name", place=place, remedy=remedy
            )
        if member.flag_bits & 0x1:
            raise ImageError(
                "it is encrypted", place=place, remedy="Make the zip without a password."
            )
        try:
            with zipfile.ZipFile(self.file) as archive, archive.open(member) as stream:
                self._done[name] = keep(stream, place)
        except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, OSError) as error:
            raise ImageError(
                f"it cannot be read from the zip: {error}",
                place=place,
                remedy="Fetch the zip again.",
            ) from None
        return self._done[name]

    def has(self, name: str) -> bool:
        return self._members.get(safe_name(name)) is not None

    def fetch(self, names: Iterable[str], *, private: bool = False) -> None:
        """Everything is here."""


def check_picture(path: Path, place: str = "", *, whole: bool = False) -> str:
    """Check that a picture can be used, that is, that it is within the limits and readable to its
    end; its format.

    With `whole` it is decoded to its last pixel, as the linter does.

    Raises
    ------
    ImageError
        The file is too large, unfolds to too many pixels, is not a picture, or breaks off.

    Notes
    ----- A JPEG is decoded at an eighth of its size, which still reads all of it; of a PNG the
    checksums are compared; every other format is decoded.
    """
    return _check(path, path.stat().st_size, place or str(path), whole)


def check_content(content: bytes, place: str) -> str:
    """`check_picture` of a picture that is no file yet, decoded to its last pixel."""
    return _check(io.BytesIO(content), len(content), place, whole=True)


def _check(file: Path | IO[bytes], size: int, place: str, whole: bool) -> str:
    from PIL import Image, UnidentifiedImageError

    if size > MAX_BYTES:
        raise ImageError(
            f"the picture has {size >> 20} MiB, more than {MAX_BYTES >> 20}",
            place=place,
            remedy=SMALLER,
        )
    try:
        with Image.open(file) as picture:
            width, height = picture.size
            if width * height > MAX_PIXELS:
                what = f"the picture unfolds to {width} x {height} pixels, more than {MAX_PIXELS:,}"
                raise ImageError(what, place=place, remedy=SMALLER)
            kind = picture.format or ""
            if whole:
                picture.load()
            elif kind == "PNG":
                picture.verify()
            else:
                picture.draft("L", (max(1, width // 8), max(1, height // 8)))
                picture.load()
    except ImageError:
        raise
    except Image.DecompressionBombError:
        raise ImageError(
            "the picture unfolds to far too many pixels", place=place, remedy=SMALLER
        ) from None
    except UnidentifiedImageError:
        raise ImageError(
            "the picture cannot be opened: cannot identify image file", place=place, remedy=AGAIN
        ) from None
    except Exception as error:  # the decoders raise whatever a broken file makes them raise
        what = (
            f"the picture cannot be opened: {' '.join(str(error).split()) or type(error).__name__}"
        )
        raise ImageError(what, place=place, remedy=AGAIN) from None
    return kind


AGAIN = "Fetch it again."
