"""Pictures wherever users keep them: in a folder, in a zip, inside the rows of parquet files, or on
the web.

A source gives the file of a picture by its name. A picture that is not a file of its own is written
once into the cache (`hqm.files.cache`).

A picture is used only if it is not empty, is within the limits, can be read to its end and, where
the benchmark lists sizes or hashes, is the one that is listed.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

import numpy as np

from hqm.errors import DataError, ImageError
from hqm.files.cache import (
    MAX_BYTES,
    SMALLER,
    cache_folder,
    image_path,
    is_url,
    keep,
    replacing,
    safe_name,
    writing,
)
from hqm.files.records import placed_records, read_text
from hqm.signature import digest_file

if TYPE_CHECKING:
    from PIL import Image

# --- the sizes and checksums that a benchmark's pictures must have ---


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
                raise DataError(
                    "the line is not what sha256sum prints", location=f"{path}:{number}"
                )
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
            raise ImageError(
                f"the picture has {size} bytes, and {self.file} says {listed.size}",
                location=name,
                remedy=remedy,
            )
        if listed.sha256 is not None:
            with path.open("rb") as file:
                sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            if sha256 != listed.sha256:
                raise ImageError(
                    f"the picture's SHA-256 is {sha256[:12]}..., and {self.file} says"
                    f" {listed.sha256[:12]}...",
                    location=name,
                    remedy=remedy,
                )


def _from_records(path: Path) -> Iterator[tuple[str, Listed]]:
    for place, record in placed_records(path):
        try:
            size = int(record["size"]) if record.get("size") not in (None, "") else None
            sha256 = str(record["sha256"]).lower() if record.get("sha256") else None
            if size is None and sha256 is None:
                raise DataError("it has neither size nor sha256", location=place)
            yield str(record["image"]), Listed(size, sha256)
        except (KeyError, TypeError, ValueError):
            raise DataError("it is no record of image, size, sha256", location=place) from None


# --- pictures scaled to a share of their width and height ---
#
# Each made once and kept in the cache.
#
# The file stands under the hash of the picture and the percentage, so that no name of a picture
# becomes a path. The same picture gives the same pixels on every machine: Pillow computes
# Lanczos' filter in whole numbers.

_ORIENTATION = 0x0112


def as_rgb(opened: Image.Image) -> Image.Image:
    """A picture as people see it: upright, on white, and its first frame; more than 8 bits a shade
    are scaled by their range.
    """
    from PIL import Image, ImageOps

    picture = ImageOps.exif_transpose(opened)
    if picture.mode[:1] in "IF":
        shades = np.nan_to_num(np.asarray(picture, dtype=np.float64))
        reach = max(float(np.ptp(shades)), 1e-300)
        return Image.fromarray((255 * (shades - shades.min()) / reach).astype(np.uint8)).convert(
            "RGB"
        )
    if not picture.has_transparency_data:
        return picture.convert("RGB")
    layered = picture.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", layered.size, "white"), layered).convert("RGB")


def picture_size(path: Path | None) -> tuple[int, int] | None:
    """The width and height that a picture says it has; None where that cannot be read."""
    from PIL import Image

    if path is None:
        return None
    try:
        with Image.open(path) as opened:
            return opened.size
    except (OSError, ValueError, SyntaxError):  # it is told of when it is asked about
        return None


def oddities(opened: Image.Image) -> list[str]:
    """What makes a picture look different from one program to another, in words."""
    frames, turned = getattr(opened, "n_frames", 1), opened.getexif().get(_ORIENTATION, 1)
    clear = False
    if opened.has_transparency_data:
        clear = int(np.asarray(opened.convert("RGBA"))[..., 3].min()) < 255
    odd = {
        "more than 8 bits a shade": opened.mode[:1] in "IF",
        opened.mode: opened.mode in ("CMYK", "LAB", "HSV"),
        "transparency": clear,
        "turned by its EXIF data": turned != 1,
        f"{frames} frames": frames > 1,
    }
    return [what for what, so in odd.items() if so]


def scaled(path: Path, percent: int) -> Path:
    """A picture at a percentage of its width and height, as a PNG file in the cache.

    What is shown differs from the picture as people see it (`as_rgb`) in nothing but its size: no
    loss by compression is added.

    - `path`: The picture; `check_picture` has found that it can be used.
    - `percent`: 1 to 99. A side has at least one pixel.

    Raises
    ------
    ImageError
        The picture cannot be opened.
    DataError
        The cache cannot be written.
    """
    from PIL import Image

    try:
        name = digest_file(path).partition(":")[2]
        target = cache_folder() / "scaled" / name[:2] / f"{name}-{percent}-rgb.png"
        if target.is_file():
            return target
        with Image.open(path) as picture:
            upright = as_rgb(picture)
        width, height = (max(1, round(side * percent / 100)) for side in upright.size)
        small = upright.resize((width, height), Image.Resampling.LANCZOS)
    except Exception as error:  # the decoders raise whatever a broken file makes them raise
        raise ImageError(
            f"the picture cannot be scaled: {' '.join(str(error).split()) or type(error).__name__}",
            location=str(path),
            remedy="Fetch it again.",
        ) from None
    with writing(target.parent), replacing(target) as part:
        small.save(part, "PNG")
    return target


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
        from hqm.files.web_images import WebImages

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
        for pattern in ("*.parquet", "data/*.parquet"):
            if self.folder.is_dir() and any(self.folder.glob(pattern)):
                from hqm.files.parquet import ParquetImages

                return ParquetImages(self.folder / pattern)
        return None

    @cached_property
    def _web(self) -> ImageSource:
        from hqm.files.web_images import WebImages

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

        from hqm.files.archives import ZIP_ERRORS

        try:
            with zipfile.ZipFile(self.file) as archive:
                members = [member for member in archive.infolist() if not member.is_dir()]
        except FileNotFoundError:
            raise ImageError(
                "there is no such file", location=str(self.file), remedy="Correct --images."
            ) from None
        except ZIP_ERRORS as error:
            raise ImageError(
                f"it is no zip, or damaged: {error}", location=str(self.file)
            ) from None
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

        from hqm.files.archives import ZIP_ERRORS

        name = safe_name(name)
        place = f"{self.file}: {name}"
        if name in self._done:
            return self._done[name]
        if name not in self._members:
            raise ImageError(
                "there is no such picture in the zip", location=place, remedy="Correct --images."
            )
        member = self._members[name]
        if member is None:
            raise ImageError(
                "several files in the zip end in this name",
                location=place,
                remedy="Give the items the whole name that the zip has.",
            )
        if member.flag_bits & 0x1:
            raise ImageError(
                "it is encrypted", location=place, remedy="Make the zip without a password."
            )
        try:
            with zipfile.ZipFile(self.file) as archive, archive.open(member) as stream:
                self._done[name] = keep(stream, place)
        except ZIP_ERRORS as error:
            raise ImageError(
                f"it cannot be read from the zip: {error}",
                location=place,
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
    -----
    A JPEG is decoded at an eighth of its size, which still reads all of it; of a PNG the
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
            location=place,
            remedy=SMALLER,
        )
    try:
        with Image.open(file) as picture:
            width, height = picture.size
            if width * height > MAX_PIXELS:
                raise ImageError(
                    f"the picture unfolds to {width} x {height} pixels, more than {MAX_PIXELS:,}",
                    location=place,
                    remedy=SMALLER,
                )
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
            "the picture unfolds to far too many pixels", location=place, remedy=SMALLER
        ) from None
    except UnidentifiedImageError:
        raise ImageError(
            "the picture cannot be opened: cannot identify image file", location=place, remedy=AGAIN
        ) from None
    except Exception as error:  # the decoders raise whatever a broken file makes them raise
        raise ImageError(
            f"the picture cannot be opened: {' '.join(str(error).split()) or type(error).__name__}",
            location=place,
            remedy=AGAIN,
        ) from None
    return kind


AGAIN = "Fetch it again."
