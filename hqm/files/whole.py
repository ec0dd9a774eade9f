"""Files and folders that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from hqm.errors import DataError, UsageError


def write_text(path: Path, text: str) -> None:
    """Write a file completely or not at all."""
    write_together({path: text})


def write_together(contents: Mapping[Path, str | bytes]) -> None:
    """Write files that belong together, all or none: after a failure, the old ones are unchanged.

    Each is written beside its place, to the disk; only then are they moved, which takes no further
    room.

    Raises
    ------
    DataError
        One cannot be written.
    """
    # Beside its place, so that the move stays on one disk and is atomic.
    temporary_files = {path: path.with_name(f"{path.name}.part") for path in contents}
    path = next(iter(contents))  # an error names the file that was being written
    try:
        for path, temporary in temporary_files.items():
            content = contents[path]
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            with temporary.open("wb") as file:
                # half a character, as a file's name may have, is written as its escape
                file.write(
                    content.encode("utf-8", "backslashreplace")
                    if isinstance(content, str)
                    else content
                )
                file.flush()
                # Without it, a power cut may leave the name with an empty file.
                os.fsync(file.fileno())
        for path, temporary in temporary_files.items():
            temporary.replace(path)
    except OSError as error:
        for temporary in temporary_files.values():
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
        if path.is_file():
            unchanged = " What was there before is unchanged."
        else:
            unchanged = ""
        raise DataError(
            f"it cannot be written: {error.strerror}",
            location=str(path),
            remedy=f"Make room, or name another place.{unchanged}",
        ) from None


def write_texts(folder: Path, texts: Mapping[str, str]) -> None:
    """Write texts into a folder that is not yet in its place, by their names in it."""
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """Yield a folder to write into, whose files are moved to `folder` at the end.

    After an error `folder` is as it was, and so are the folders above it. Files of other names that
    it holds stay.

    Raises
    ------
    DataError
        A file cannot be written.
    """
    folder = folder.absolute()
    missing_parents = [parent for parent in folder.parents if not parent.exists()]
    staging = folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        # a folder that is there may be on another disk than the one above it, or all that may be
        # written
        staging_parent = folder if folder.is_dir() else folder.parent
        staging = Path(tempfile.mkdtemp(prefix=".hqm-", dir=staging_parent))
        yield staging
        folder.mkdir(exist_ok=True)
        # Folders come before the files in them.
        for path in sorted(staging.rglob("*")):
            target = folder / path.relative_to(staging)
            if path.is_dir():
                target.mkdir(exist_ok=True)
            else:
                path.replace(target)
    except DataError as error:
        if str(staging) not in error.location:
            raise
        location = error.location.replace(str(staging), str(folder))
        raise DataError(error.message, location=location, remedy=error.remedy) from None
    except OSError as error:
        # a full disk names no file, a copy both; what could not be read names one elsewhere
        names = list(map(str, filter(None, (error.filename, error.filename2))))
        if names and not any(name.startswith(str(folder.parent)) for name in names):
            raise
        raise DataError(
            f"it cannot be written: {error.strerror}",
            location=str(folder),
            remedy="Make room, or name another place.",
        ) from None
    finally:
        if staging != folder:
            shutil.rmtree(staging, ignore_errors=True)
        for parent in missing_parents:
            # those that hold something stay
            with suppress(OSError):
                parent.rmdir()


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yield the place of a file to write, which is moved to `path` at the end, or nothing is."""
    with atomic_folder(path.parent) as staging:
        yield staging / path.name


def name_for(folder: Path) -> str:
    """The name of the benchmark that is written into a folder.

    Raises
    ------
    UsageError
        The folder holds something, or its name cannot be that of a benchmark.
    """
    name = re.sub(r"\W+", "_", folder.resolve().name.lower()).strip("_")
    if not re.fullmatch(r"[a-z0-9][a-z0-9_]*", name) or len(name) > 100:
        raise UsageError(
            f"{folder.name!r:.200} cannot be a benchmark's name",
            remedy="Use at most 100 letters, digits and underscores.",
        )
    if folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
        raise UsageError(
            "it is there already",
            location=str(folder),
            remedy="Name a folder that is new or empty.",
        )
    return name
