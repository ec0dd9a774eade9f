"""Fetch a benchmark's release from pinned addresses, with checksums and resumed downloads, or from a copy that is at hand.

HQM ships no file of a release. A card's `[source]` says which files belong to it, where they lie at a pinned revision, and
what must be accepted or done by hand.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from hqm.benchmark.card import Card, SourceFile
from hqm.errors import DataError
from hqm.files.names import safe_name
from hqm.signature import sha256_file

_CHUNK = 1 << 18

Progress = Callable[[str, int, int], None]
"""Called with a file's name, the bytes it has so far, and the bytes it will have (0: unknown)."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """What became of one file of a release.

    `state` is `there` (it was there already, with the right checksum), `copied`, `downloaded` or `missing`; for a missing
    file, `how` says what to do.
    """

    path: Path
    state: str
    size: int = 0
    optional: bool = False
    how: str = ""


def fetch(card: Card, root: Path, *, source: Path | None = None, progress: Progress | None = None) -> Iterator[Fetched]:
    """Bring the files of a benchmark's release below the data root, one by one.

    Parameters
    ----------
    card
        The benchmark's card.
    root
        The data root; the files go into the card's folder below it.
    source
        A local copy to take the files from instead of the network: a data root, or the benchmark's own folder.
    progress
        Called with how far each download is.

    Raises
    ------
    DataError
        A file's checksum is not the pinned one, or it cannot be written.
    """
    for file in card.source.files:
        target = root / card.data.folder / safe_name(file.path)
        other = target.with_name(file.instead) if file.instead else target
        if target.is_file() and _is_right(target, file):
            yield Fetched(target, "there", target.stat().st_size, file.optional)
        elif file.instead and other.is_file():
            yield Fetched(other, "there", other.stat().st_size, file.optional)
        elif source is not None:
            yield _copied(card, file, source, target)
        elif not file.url:
            yield Fetched(target, "missing", 0, file.optional, file.how or "It must be got by hand.")
        else:
            yield _downloaded(file, target, progress)


def _is_right(path: Path, file: SourceFile) -> bool:
    return not file.sha256 or sha256_file(path) == file.sha256


def _check(path: Path, file: SourceFile, origin: str) -> None:
    if not _is_right(path, file):
        path.unlink(missing_ok=True)
        raise DataError(
            f"{file.path} is not the pinned one (its checksum differs)",
            place=origin,
            remedy="The file is damaged or of another revision: get the one that the card names.",
        )


def _copied(card: Card, file: SourceFile, source: Path, target: Path) -> Fetched:
    for candidate in (source / card.data.folder / file.path, source / file.path):
        if candidate.is_file():
            part = _part(target)
            try:
                shutil.copyfile(candidate, part)
            except OSError as error:
                raise DataError(f"it cannot be written: {error.strerror}", place=str(target)) from None
            _check(part, file, str(candidate))
            part.replace(target)
            return Fetched(target, "copied", target.stat().st_size, file.optional)
    if file.instead:
        return _copied(
            card,
            SourceFile(path=file.instead, optional=file.optional, how=file.how),
            source,
            target.with_name(file.instead),
        )
    return Fetched(target, "missing", 0, file.optional, f"It is not in {source}. {_by_hand(file, target)}")


def _by_hand(file: SourceFile, target: Path) -> str:
    where = f"Get it from {file.url} and put it at {target}." if file.url else f"Put it at {target}."
    return f"{file.how} {where}".strip()


def _part(target: Path) -> Path:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"it cannot be made: {error.strerror}", place=str(target.parent)) from None
    return target.with_name(f"{target.name}.part")


def _downloaded(file: SourceFile, target: Path, progress: Progress | None) -> Fetched:
    part = _part(target)
    try:
        _download(file, part, progress)
    except (URLError, TimeoutError, ConnectionError) as error:
        reason = error.code if isinstance(error, HTTPError) else getattr(error, "reason", error)
        return Fetched(
            target, "missing", 0, file.optional, f"It cannot be reached ({reason}). {_by_hand(file, target)}"
        )
    except OSError as error:
        raise DataError(f"it cannot be written: {error.strerror}", place=str(part)) from None
    _check(part, file, file.url)
    part.replace(target)
    return Fetched(target, "downloaded", target.stat().st_size, file.optional)


def _download(file: SourceFile, part: Path, progress: Progress | None) -> None:
    """Download a file; an interrupted download goes on where it stopped, if the server allows that."""
    have = part.stat().st_size if part.exists() else 0
    if file.size and have >= file.size:
        part.unlink()
        have = 0
    request = Request(file.url, headers={"Range": f"bytes={have}-"} if have else {})
    with urlopen(request, timeout=60) as reply:
        resumed = have > 0 and reply.status == 206
        done = have if resumed else 0
        total = file.size or done + int(reply.headers.get("Content-Length") or 0)
        with part.open("ab" if resumed else "wb") as out:
            while chunk := reply.read(_CHUNK):
                out.write(chunk)
                done += len(chunk)
                if progress:
                    progress(file.path, done, total)
    if total and done < total:
        raise ConnectionError("the connection ended early; run the same command again to go on")


def data_root(given: Path | None) -> Path:
    """The folder for releases: the given one, else that of `HQM_DATA`, else `data` in the current folder."""
    return given or Path(os.environ.get("HQM_DATA") or "data")


def summary(card: Card) -> dict[str, Any]:
    """The facts that a card states about its release, for a table."""
    source = card.source
    return {
        "benchmark": card.name,
        "revision": source.revision,
        "licence": card.licence,
        "files": len(source.files),
        "bytes": sum(file.size for file in source.files),
        "images": source.images,
        "images_url": source.images_url,
        "images_licence": source.images_licence,
    }
