"""What several commands share: stores, sessions, files."""

from __future__ import annotations

import errno
import importlib
import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hqm.errors import DataError

if TYPE_CHECKING:
    from hqm.auditing.gate import Policy
    from hqm.auditing.value import Audit
    from hqm.commands.options import RunOptions
    from hqm.commands.session import Session
    from hqm.store.database import Store


def store_path(names: Sequence[str], store: Path | None, out: Path | None = None) -> Path:
    """Where a command's store is, unless it was named."""
    if store is not None:
        return store
    return (out or Path("out") / stem(names)) / "store.sqlite"


def stem(names: Sequence[str]) -> str:
    """The name of a command's folder: its benchmarks, joined."""
    return "-".join(Path(name).stem for name in names)


@contextmanager
def writable(path: Path, no_wait: bool = False) -> Iterator[Store]:
    """A store to add to, and its lock."""
    from hqm.store.database import Store
    from hqm.store.lock import writing

    with writing(path, wait=not no_wait), Store(path) as store:
        yield store


def readable(path: Path) -> Store:
    """A store to look into; an empty one in memory where there is none yet."""
    from hqm.store.database import Store

    return Store(path, readonly=True) if path.exists() else Store(":memory:")


def labelled(path: Path, criterion: Path | None, no_wait: bool = False) -> AbstractContextManager[Store]:
    """An existing store to read, and to import people's labels into, where there is a file of them.

    Where the store cannot be written, the labels are held in memory, and a sentence says so.
    """
    from hqm.store.lock import can_be_written

    if criterion is None:
        return readable(path)
    if can_be_written(path):
        return writable(path, no_wait)
    print(
        f"hqm: {path} cannot be written, so the labels of {criterion} are held in memory for this command only.",
        file=sys.stderr,
    )
    return readable(path)


def session_of(names: Sequence[str], store: Store, options: RunOptions) -> Session:
    """The benchmarks, put before one store."""
    from hqm.commands.session import Session

    return Session(names, store, options)


def render(audit: Audit, policy: Policy | None = None) -> str:
    """The report is made by the package `hqm.reports`, which the rest does not depend on."""
    return str(importlib.import_module("hqm.reports.html").render(audit, policy))


def write_report(audit: Audit, page: Path, policy: Policy | None = None) -> None:
    """Write the report of an audit."""
    write_text(page, render(audit, policy))


def write_text(path: Path, text: str) -> None:
    """Write a file beside and move it, so that a failure leaves the old one."""
    write_together({path: text})


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file beside and move it, so that a failure leaves the old one."""
    write_together({path: content})


def write_together(contents: Mapping[Path, str | bytes]) -> None:
    """Write files that belong together: where one cannot be written, as on a full disk, all the old ones stay.

    Each is written beside its place, to the disk; only then are they moved, which takes no further room.

    Raises
    ------
    DataError
        One cannot be written.
    """
    parts = {path: path.with_name(f"{path.name}.part") for path in contents}
    place = next(iter(contents))
    try:
        for place, part in parts.items():
            content = contents[place]
            place.parent.mkdir(parents=True, exist_ok=True)
            if place.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            with part.open("wb") as file:
                # half a character, as a file's name may have, is written as its escape
                file.write(content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content)
                file.flush()
                os.fsync(file.fileno())
        for place, part in parts.items():
            part.replace(place)
    except OSError as error:
        for part in parts.values():
            with suppress(OSError):
                part.unlink(missing_ok=True)
        kept = " What was there before is unchanged." if place.is_file() else ""
        raise DataError(
            f"it cannot be written: {error.strerror}",
            place=str(place),
            remedy=f"Make room, or name another place.{kept}",
        ) from None


def command() -> str:
    """The command as it was given, for the record; the program by its name."""
    return shlex.join(["hqm", *sys.argv[1:]])
