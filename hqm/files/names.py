"""Names of pictures: web addresses, and paths that must not leave their folder."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path, PurePosixPath

from hqm.errors import ImageError

LONGEST = 255
"""Bytes of the longest name that file systems take."""


def is_url(text: str) -> bool:
    """Whether a picture's name is a web address.

    >>> is_url("https://example.org/a.jpg"), is_url("val2014/a.jpg")
    (True, False)
    """
    return text.startswith(("http://", "https://"))


@lru_cache(1 << 14)
def safe_name(name: str, place: str = "") -> str:
    """A picture's path; one that leaves the image folder is an error.

    >>> safe_name("val2014/a.jpg")
    'val2014/a.jpg'
    """
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or (path.parts and ":" in path.parts[0]):
        raise ImageError(
            f"the picture {name!r} lies outside the image folder",
            place=place,
            remedy="Name a file inside it.",
        )
    if "\0" in name or any(
        len(part.encode("utf-8", "surrogatepass")) > LONGEST for part in path.parts
    ):
        what = f"the picture's name {name[:40]!r}... cannot be that of a file"
        raise ImageError(
            what,
            place=place,
            remedy=f"A part of a path has at most {LONGEST} bytes, and none of them is NUL.",
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
            place=str(path),
            remedy="Name the right folder with --images.",
        )
    if _is_linked(folder, safe) and not path.resolve().is_relative_to(folder.resolve()):
        raise ImageError("the picture is a link that leaves the image folder", place=str(path))
    if path.stat().st_size == 0:
        raise ImageError(
            "the picture is empty (0 bytes)", place=str(path), remedy="Fetch it again."
        )
    return path


def _is_linked(folder: Path, safe: str) -> bool:
    """Whether a part of a path below its folder is a link; without one, the path cannot leave the
    folder.
    """
    parts = safe.split("/")
    return any(
        os.path.islink(os.path.join(folder, *parts[:end])) for end in range(1, len(parts) + 1)
    )
