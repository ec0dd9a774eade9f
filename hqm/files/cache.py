"""The cache of pictures that are not files of their own: each is written once, under the hash of
its bytes.

Equal pictures are one file, and no name from an archive ever becomes a path. The cache is
`HQM_CACHE`, else `$XDG_CACHE_HOME/hqm`, else `~/.cache/hqm`; it may be deleted at any time.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import IO, Protocol

from hqm.errors import DataError, ImageError

MAX_BYTES = 64 * 1024 * 1024
"""The largest picture file that is used."""


def cache_folder() -> Path:
    """Return the folder of the cache."""
    hqm_cache = os.environ.get("HQM_CACHE")
    xdg_cache = os.environ.get("XDG_CACHE_HOME")
    if hqm_cache:
        return Path(hqm_cache)
    return (Path(xdg_cache) if xdg_cache else Path.home() / ".cache") / "hqm"


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Raise one DataError where this block cannot write into the cache."""
    try:
        yield
    except OSError as error:
        raise DataError(
            f"the cache cannot be written: {error.strerror}",
            location=str(folder),
            remedy="Name another folder with HQM_CACHE.",
        ) from error


@contextmanager
def replacing(target: Path) -> Iterator[IO[bytes]]:
    """A file that becomes `target` when the block ends well, in one move; where it breaks off,
    nothing is left of it.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    # closed before it takes the target's place, and kept until then
    temporary = tempfile.NamedTemporaryFile(  # noqa: SIM115
        dir=target.parent, suffix=".part", delete=False
    )
    try:
        with temporary:
            yield temporary
        os.replace(temporary.name, target)
    finally:
        Path(temporary.name).unlink(missing_ok=True)


class ByteStream(Protocol):
    """What gives bytes piece by piece, as files and replies do."""

    def read(self, size: int, /) -> bytes:
        """Give as many bytes at most; none at the end."""


def cache_picture(stream: ByteStream, location: str) -> Path:
    """Write a picture into the cache under its hash and return the file; no more than `MAX_BYTES`
    are read.

    Raises
    ------
    ImageError
        It is larger than the limit, or empty. Errors of the stream itself are not caught.
    DataError
        The cache cannot be written.
    """
    content = bytearray()
    while piece := stream.read(1 << 20):
        content += piece
        if len(content) > MAX_BYTES:
            reason = f"the picture is larger than {MAX_BYTES >> 20} MiB"
            raise ImageError(reason, location=location, remedy=SMALLER)
    if not content:
        raise ImageError(
            "the picture is empty (0 bytes)", location=location, remedy="Fetch it again."
        )
    name = hashlib.blake2b(content, digest_size=16).hexdigest()
    folder = cache_folder() / "images"
    target = folder / name[:2] / f"{name}{_suffix(bytes(content[:16]))}"
    with writing(folder), replacing(target) as file:
        file.write(content)
    return target


SMALLER = "Make it smaller, or leave the item out."


def is_picture(content: bytes) -> bool:
    """Return whether bytes begin as a picture does."""
    return _suffix(content[:16]) != ".bin" or content[4:8] == b"ftyp"  # AVIF and HEIC


def _suffix(head: bytes) -> str:
    # The first bytes tell the format: a name may lie about it.
    signatures = {
        b"\x89PNG": ".png",
        b"\xff\xd8\xff": ".jpg",
        b"GIF8": ".gif",
        b"BM": ".bmp",
        b"II*\0": ".tif",
        b"MM\0*": ".tif",
    }
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return ".webp"
    return next(
        (suffix for signature, suffix in signatures.items() if head.startswith(signature)), ".bin"
    )


# --- names of pictures: web addresses, and paths that must not leave their folder ---

MAX_NAME_BYTES = 255
"""Bytes of the longest name that file systems take."""


def is_url(text: str) -> bool:
    """Whether a picture's name is a web address.

    >>> is_url("https://example.org/a.jpg"), is_url("val2014/a.jpg")
    (True, False)
    """
    return text.startswith(("http://", "https://"))


@lru_cache(1 << 14)
def safe_name(name: str, location: str = "") -> str:
    """A picture's path; one that leaves the image folder is an error.

    >>> safe_name("val2014/a.jpg")
    'val2014/a.jpg'
    """
    path = PurePosixPath(name.replace("\\", "/"))
    # `C:` would leave the folder on Windows.
    if path.is_absolute() or ".." in path.parts or (path.parts and ":" in path.parts[0]):
        raise ImageError(
            f"the picture {name!r} lies outside the image folder",
            location=location,
            remedy="Name a file inside it.",
        )
    if "\0" in name or any(
        len(component.encode("utf-8", "surrogatepass")) > MAX_NAME_BYTES for component in path.parts
    ):
        raise ImageError(
            f"the picture's name {name[:40]!r}... cannot be that of a file",
            location=location,
            remedy=f"A part of a path has at most {MAX_NAME_BYTES} bytes, and none of them is NUL.",
        )
    return str(path)


def image_path(folder: Path, name: str) -> Path:
    """The file of a picture, which must exist, hold something, and lie inside the folder (links
    followed).

    Raises
    ------
    ImageError
        It is missing, empty, or outside.
    """
    safe = safe_name(name)
    path = folder / safe
    if not path.is_file():
        raise ImageError(
            "there is no such picture",
            location=str(path),
            remedy="Name the right folder with --images.",
        )
    if _is_linked(folder, safe) and not path.resolve().is_relative_to(folder.resolve()):
        raise ImageError("the picture is a link that leaves the image folder", location=str(path))
    if path.stat().st_size == 0:
        raise ImageError(
            "the picture is empty (0 bytes)", location=str(path), remedy="Fetch it again."
        )
    return path


def _is_linked(folder: Path, safe: str) -> bool:
    """Return whether a component of a path below its folder is a symbolic link."""
    parts = safe.split("/")
    return any(
        os.path.islink(os.path.join(folder, *parts[:end])) for end in range(1, len(parts) + 1)
    )
