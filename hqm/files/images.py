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
from functools import cached_property, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING, Protocol

import numpy as np

from hqm.errors import DataError, ImageError
from hqm.files.cache import (
    MAX_BYTES,
    SMALLER,
    cache_folder,
    cache_picture,
    image_path,
    is_url,
    replacing,
    safe_name,
    writing,
)
from hqm.files.records import check_is_file, located_records, read_text
from hqm.signature import digest_file
from hqm.text import check_address

if TYPE_CHECKING:
    from zipfile import ZipInfo

    from PIL import Image

# --- the sizes and checksums that a benchmark's pictures must have ---


@dataclass(frozen=True)
class ExpectedFile:
    """The size and SHA-256 that a list gives for one picture; None for what it does not give."""

    size: int | None = None
    sha256: str | None = None


@dataclass(frozen=True)
class Checksums:
    """The sizes and SHA-256 sums that a benchmark's pictures must have, by name.

    They are read from the output of `sha256sum`, or from records (CSV, JSON lines) of `image` with
    `sha256`, `size` or both.
    """

    expected: Mapping[str, ExpectedFile] = field(default_factory=dict)
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
        expected = {}
        for number, line in enumerate(read_text(path).splitlines(), 1):
            if not line.strip():
                continue
            match = re.fullmatch(r"([0-9a-fA-F]{64}) [ *](.+)", line.rstrip())
            if match is None:
                raise DataError(
                    "the line is not what sha256sum prints", location=f"{path}:{number}"
                )
            expected[match[2].removeprefix("./")] = ExpectedFile(None, match[1].lower())
        return cls(expected, str(path))

    def check(self, name: str, path: Path) -> None:
        """Compare a picture with what the list says about it; a picture that is not listed is
        accepted.

        Raises
        ------
        ImageError
            It is not the picture that was listed.
        """
        expected = self.expected.get(name)
        if expected is None:
            return
        remedy = "Fetch it again: answers about another picture are no answers to this item."
        size = path.stat().st_size
        if expected.size is not None and size != expected.size:
            raise ImageError(
                f"the picture has {size} bytes, and {self.file} says {expected.size}",
                location=name,
                remedy=remedy,
            )
        if expected.sha256 is not None:
            with path.open("rb") as file:
                sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            if sha256 != expected.sha256:
                raise ImageError(
                    f"the picture's SHA-256 is {sha256[:12]}..., and {self.file} says"
                    f" {expected.sha256[:12]}...",
                    location=name,
                    remedy=remedy,
                )


def _from_records(path: Path) -> Iterator[tuple[str, ExpectedFile]]:
    for location, record in located_records(path):
        try:
            if record.get("size") not in (None, ""):
                size = int(record["size"])
            else:
                size = None
            if record.get("sha256"):
                sha256 = str(record["sha256"]).lower()
            else:
                sha256 = None
            if size is None and sha256 is None:
                raise DataError("it has neither size nor sha256", location=location)
            yield str(record["image"]), ExpectedFile(size, sha256)
        except (KeyError, TypeError, ValueError):
            raise DataError("it is no record of image, size, sha256", location=location) from None


# --- pictures scaled to a share of their width and height ---
#
# Each made once and kept in the cache.
#
# The file stands under the hash of the picture and the percentage, so that no name of a picture
# becomes a path. The same picture gives the same pixels on every machine: Pillow computes
# Lanczos' filter in whole numbers.

_ORIENTATION = 0x0112


PICTURE_FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "PPM", "JPEG2000", "AVIF")
"""The formats of pictures that are opened, whatever their file is called. The others of Pillow are
left to nobody: a file of EPS would be run by Ghostscript."""


def open_picture(file: Path | IO[bytes]) -> Image.Image:
    """Open a picture of one of `PICTURE_FORMATS`.

    Raises
    ------
    DataError
        It is a pipe or a device.
    PIL.UnidentifiedImageError
        It has none of the formats.
    """
    from PIL import Image

    if isinstance(file, Path):
        check_is_file(file)
    return Image.open(file, formats=_installed_formats())


@lru_cache(maxsize=1)
def _installed_formats() -> tuple[str, ...]:
    """The formats that this version of Pillow has."""
    has_avif = find_spec("PIL.AvifImagePlugin") is not None
    return tuple(name for name in PICTURE_FORMATS if name != "AVIF" or has_avif)


def as_rgb(opened: Image.Image) -> Image.Image:
    """A picture as people see it: upright, on white, and its first frame; more than 8 bits a shade
    are scaled by their range.
    """
    from PIL import Image, ImageOps

    picture = ImageOps.exif_transpose(opened)
    # The modes I and F hold whole numbers of 16 or 32 bits, and fractions.
    if picture.mode[:1] in "IF":
        shades = np.nan_to_num(np.asarray(picture, dtype=np.float64))
        # A picture of one shade has a range of 0.
        shade_range = max(float(np.ptp(shades)), 1e-300)
        return Image.fromarray(
            (255 * (shades - shades.min()) / shade_range).astype(np.uint8)
        ).convert("RGB")
    if not picture.has_transparency_data:
        return picture.convert("RGB")
    layered = picture.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", layered.size, "white"), layered).convert("RGB")


def picture_size(path: Path | None) -> tuple[int, int] | None:
    """Return the width and height that a picture claims; None where they cannot be read."""
    if path is None:
        return None
    try:
        with open_picture(path) as opened:
            return opened.size
    except (OSError, ValueError, SyntaxError):  # it is told of when it is asked about
        return None


def oddities(opened: Image.Image) -> list[str]:
    """Return the properties that make a picture look different between programs, in words."""
    frames = getattr(opened, "n_frames", 1)
    orientation = opened.getexif().get(_ORIENTATION, 1)
    transparent = False
    if opened.has_transparency_data:
        transparent = int(np.asarray(opened.convert("RGBA"))[..., 3].min()) < 255
    is_present = {
        "more than 8 bits a shade": opened.mode[:1] in "IF",
        opened.mode: opened.mode in ("CMYK", "LAB", "HSV"),
        "transparency": transparent,
        "turned by its EXIF data": orientation != 1,
        f"{frames} frames": frames > 1,
    }
    return [effect for effect, present in is_present.items() if present]


def scaled_picture(path: Path, percent: int) -> Path:
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
        with open_picture(path) as picture:
            upright = as_rgb(picture)
        width, height = (max(1, round(side * percent / 100)) for side in upright.size)
        small = upright.resize((width, height), Image.Resampling.LANCZOS)
    except Exception as error:  # the decoders raise whatever a broken file makes them raise
        raise ImageError(
            f"the picture cannot be scaled: {' '.join(str(error).split()) or type(error).__name__}",
            location=str(path),
            remedy="Fetch it again.",
        ) from None
    with writing(target.parent), replacing(target) as file:
        small.save(file, "PNG")
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


def open_images(source: Path | str) -> ImageSource:
    """The source of pictures at a place.

    Parameters
    ----------
    source
        A folder (one with parquet files gives the pictures in their rows as well), a `.zip`, a
        `.parquet` file or a pattern of several (`data/test-*.parquet`), or a web address to which
        names are appended. A name that is itself a web address is fetched from there, whatever the
        place is.

    Examples
    --------
    >>> open_images("https://example.org/val2014")
    WebImages(base='https://example.org/val2014')
    """
    if isinstance(source, str) and is_url(check_address(source, "--images")):
        from hqm.files.web_images import WebImages

        return WebImages(source)
    path = Path(source)
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
        if addresses := list(filter(is_url, names)):
            self._web.fetch(addresses, private=private)


@dataclass(frozen=True)
class ZipImages:
    """Pictures in a zip, found by the whole name in it or by an end that only one has (`a.jpg` for
    `val2014/a.jpg`).

    Members are copied into the cache and never unpacked to the paths that the zip gives.
    """

    file: Path

    @cached_property
    def _members(self) -> dict[str, ZipInfo | None]:
        """Each whole name, and each end of a name, -> its member; None for an end that several
        members share.
        """
        import zipfile

        from hqm.files.archives import ZIP_ERRORS

        try:
            with zipfile.ZipFile(self.file) as archive:
                members = [info for info in archive.infolist() if not info.is_dir()]
        except FileNotFoundError:
            raise ImageError(
                "there is no such file", location=str(self.file), remedy="Correct --images."
            ) from None
        except ZIP_ERRORS as error:
            raise ImageError(
                f"it is no zip, or damaged: {error}", location=str(self.file)
            ) from None
        by_name: dict[str, ZipInfo | None] = {}
        for member in members:
            parts = member.filename.replace("\\", "/").split("/")
            for start in range(1, len(parts)):
                end = "/".join(parts[start:])
                # An end that a second member has names neither of them.
                by_name[end] = None if end in by_name else member
        # A whole name goes before the end of another one.
        by_name.update({member.filename.replace("\\", "/"): member for member in members})
        return by_name

    @cached_property
    def _cached_files(self) -> dict[str, Path]:
        return {}

    def path(self, name: str) -> Path:
        import zipfile

        from hqm.files.archives import ZIP_ERRORS

        name = safe_name(name)
        location = f"{self.file}: {name}"
        if name in self._cached_files:
            return self._cached_files[name]
        if name not in self._members:
            raise ImageError(
                "there is no such picture in the zip", location=location, remedy="Correct --images."
            )
        member = self._members[name]
        if member is None:
            raise ImageError(
                "several files in the zip end in this name",
                location=location,
                remedy="Give the items the whole name that the zip has.",
            )
        if member.flag_bits & 0x1:
            raise ImageError(
                "it is encrypted", location=location, remedy="Make the zip without a password."
            )
        try:
            with zipfile.ZipFile(self.file) as archive, archive.open(member) as stream:
                self._cached_files[name] = cache_picture(stream, location)
        except ZIP_ERRORS as error:
            raise ImageError(
                f"it cannot be read from the zip: {error}",
                location=location,
                remedy="Fetch the zip again.",
            ) from None
        return self._cached_files[name]

    def has(self, name: str) -> bool:
        return self._members.get(safe_name(name)) is not None

    def fetch(self, names: Iterable[str], *, private: bool = False) -> None:
        """Everything is here."""


def check_picture(path: Path, location: str = "", *, decode: bool = False) -> str:
    """Check that a picture can be used, that is, that it is within the limits and readable to its
    end; its format.

    With `decode` it is decoded to its last pixel, as the linter does.

    Raises
    ------
    ImageError
        The file is too large, unfolds to too many pixels, is not a picture, or breaks off.

    Notes
    -----
    A JPEG is decoded at an eighth of its size, which still reads all of it; of a PNG the
    checksums are compared; every other format is decoded.
    """
    return _check(path, path.stat().st_size, location or str(path), decode)


def check_content(content: bytes, location: str) -> str:
    """`check_picture` of a picture that is no file yet, decoded to its last pixel."""
    return _check(io.BytesIO(content), len(content), location, decode=True)


def _check(file: Path | IO[bytes], size: int, location: str, decode: bool) -> str:
    from PIL import Image, UnidentifiedImageError

    if size > MAX_BYTES:
        raise ImageError(
            f"the picture has {size >> 20} MiB, more than {MAX_BYTES >> 20}",
            location=location,
            remedy=SMALLER,
        )
    try:
        with open_picture(file) as picture:
            width, height = picture.size
            if width * height > MAX_PIXELS:
                raise ImageError(
                    f"the picture unfolds to {width} x {height} pixels, more than {MAX_PIXELS:,}",
                    location=location,
                    remedy=SMALLER,
                )
            kind = picture.format or ""
            if decode:
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
            "the picture unfolds to far too many pixels", location=location, remedy=SMALLER
        ) from None
    except UnidentifiedImageError:
        raise ImageError(
            "the picture cannot be opened: cannot identify image file",
            location=location,
            remedy=FETCH_AGAIN,
        ) from None
    except Exception as error:  # the decoders raise whatever a broken file makes them raise
        raise ImageError(
            f"the picture cannot be opened: {' '.join(str(error).split()) or type(error).__name__}",
            location=location,
            remedy=FETCH_AGAIN,
        ) from None
    return kind


FETCH_AGAIN = "Fetch it again."
