"""Fetch a benchmark's release from pinned addresses, with checksums and resumed downloads, or from
a copy that is at hand.

HQM ships no file of a release. A card's `[source]` says which files belong to it, where they lie at
a pinned revision, and what must be accepted or done by hand. A file takes its place only when it is
whole and has the right checksum; until then its name ends in `.part`.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, build_opener

from hqm.benchmark.card import Card, SourceFile
from hqm.benchmark.registry import adapter_of
from hqm.errors import CardError, DataError, UsageError
from hqm.files.cache import is_url, safe_name
from hqm.files.images import Checksums
from hqm.files.web_images import SameScheme
from hqm.files.whole import write_text
from hqm.signature import sha256_file
from hqm.version import __version__

RECORD = "made.json"
"""The file beside those that were made: the checksum of each, and the checksums of what it was made
from.
"""
_CHUNK = 1 << 18

Progress = Callable[[str, int, int], None]
"""Called with a file's name, the bytes it has so far, and the bytes it will have (0: unknown)."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """What became of one file of a release.

    `state` is `there` (it was there already, with the right checksum), `copied`, `downloaded`,
    `made` (from other files) or `missing`; for a missing file, `how` says what to do.
    """

    path: Path
    state: str
    size: int
    optional: bool
    how: str = ""


@dataclass(frozen=True)
class Origin:
    """Where the files of a release are taken from, where that is not the addresses of the card.

    Parameters
    ----------
    copy
        A local copy to take the files from instead of the network: a data root, or the benchmark's
        own folder.
    mirror
        A web address before host and path of every address: with `http://here`, what lies at
        `https://there/file` is fetched from `http://here/there/file`.
    checksums
        Checksums in place of the card's, for a mirror of another revision: `sha256sum` prints such
        a list. Names are those in the card, with or without the benchmark's folder before them.
    """

    copy: Path | None = None
    mirror: str = ""
    checksums: Checksums = field(default_factory=Checksums)

    def __post_init__(self) -> None:
        if self.mirror and not is_url(self.mirror):
            raise UsageError(
                f"the mirror {self.mirror!r} is no web address",
                remedy="Write it with http:// or https:// before it.",
            )

    def of(self, card: Card, file: SourceFile) -> SourceFile:
        """A file of a card with the address and the checksum that it has here."""
        listed = self.checksums.listed.get(
            f"{card.data.folder}/{file.path}"
        ) or self.checksums.listed.get(file.path)
        if listed is not None:
            file = file.model_copy(update={"sha256": listed.sha256 or "", "size": listed.size or 0})
        if self.mirror and file.url:
            there = urlsplit(file.url)
            path = there.path + (f"?{there.query}" if there.query else "")
            file = file.model_copy(
                update={"url": f"{self.mirror.rstrip('/')}/{there.netloc}{path}"}
            )
        return file


def fetch(
    card: Card,
    root: Path,
    *,
    origin: Origin | None = None,
    progress: Progress | None = None,
) -> Iterator[Fetched]:
    """Bring the files of a benchmark's release below the data root, one by one; what is not needed
    any more is passed over.

    Parameters
    ----------
    card
        The benchmark's card.
    root
        The data root; the files go into the card's folder below it.
    origin
        Where else the files are taken from.
    progress
        Called with how far each download is.

    Raises
    ------
    DataError
        A file's checksum is not the pinned one, it cannot be written, or others cannot be made from
        it.
    """
    origin = origin or Origin()
    folder = root / card.data.folder
    files = [origin.of(card, file) for file in card.source.files]
    making = _Making(card, folder, [file for file in files if file.made_from], files)
    inputs: dict[str, Path] = {}
    for file in files:
        if file.made_from:
            continue
        target = folder / safe_name(file.path)
        if making.settled(file, origin.copy):
            continue
        fetched = _fetched(card, file, target, origin, progress)
        if fetched.state != "missing":
            inputs[file.path] = fetched.path
        yield fetched
    yield from making.files(inputs, origin.copy)


def _fetched(
    card: Card, file: SourceFile, target: Path, origin: Origin, progress: Progress | None
) -> Fetched:
    other = target.with_name(file.instead) if file.instead else target
    if target.is_file() and _is_right(target, file):
        return Fetched(target, "there", target.stat().st_size, file.optional)
    if file.instead and other.exists():
        return Fetched(other, "there", other.stat().st_size, file.optional)
    if origin.copy is not None:
        return _copied(card, file, origin.copy, target)
    if not file.url:
        return Fetched(target, "missing", 0, file.optional, file.how or "It must be got by hand.")
    return _downloaded(file, target, progress)


def _is_right(path: Path, file: SourceFile) -> bool:
    return not file.sha256 or sha256_file(path) == file.sha256


def _check(path: Path, file: SourceFile, place: str) -> None:
    if not _is_right(path, file):
        path.unlink()
        raise _other(file, "its checksum differs", place)


def _other(file: SourceFile, difference: str, place: str) -> DataError:
    return DataError(
        f"{file.path} is not the pinned one ({difference})",
        location=place,
        remedy="The file is damaged or of another revision: get the one that the card names.",
    )


def _candidates(card: Card, source: Path, name: str) -> Iterator[Path]:
    yield source / card.data.folder / name
    yield source / name


def _copied(card: Card, file: SourceFile, source: Path, target: Path) -> Fetched:
    for candidate in _candidates(card, source, file.path):
        if candidate.is_file():
            part = _part(target)
            try:
                shutil.copyfile(candidate, part)
            except OSError as error:
                raise DataError(
                    f"it cannot be written: {error.strerror}", location=str(target)
                ) from None
            _check(part, file, str(candidate))
            part.replace(target)
            return Fetched(target, "copied", target.stat().st_size, file.optional)
    if file.instead:
        for candidate in _candidates(card, source, file.instead):
            if candidate.is_dir():  # read where it lies
                return Fetched(candidate, "there", 0, file.optional)
        return _copied(
            card,
            SourceFile(path=file.instead, optional=file.optional, how=file.how),
            source,
            target.with_name(file.instead),
        )
    return Fetched(
        target, "missing", 0, file.optional, f"It is not in {source}. {_by_hand(file, target)}"
    )


def _by_hand(file: SourceFile, target: Path) -> str:
    where = (
        f"Get it from {file.url} and put it at {target}." if file.url else f"Put it at {target}."
    )
    return f"{file.how} {where}".strip()


def _part(target: Path) -> Path:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            f"it cannot be made: {error.strerror}", location=str(target.parent)
        ) from None
    return target.with_name(f"{target.name}.part")


def _downloaded(file: SourceFile, target: Path, progress: Progress | None) -> Fetched:
    part = _part(target)
    try:
        _download(file, part, progress)
    except (
        URLError,
        TimeoutError,
        ConnectionError,
        http.client.HTTPException,
        ValueError,
    ) as error:
        reason = error.code if isinstance(error, HTTPError) else getattr(error, "reason", error)
        return Fetched(
            target,
            "missing",
            0,
            file.optional,
            f"It cannot be reached ({reason}). {_by_hand(file, target)}",
        )
    except OSError as error:
        raise DataError(f"it cannot be written: {error.strerror}", location=str(part)) from None
    _check(part, file, file.url)
    part.replace(target)
    return Fetched(target, "downloaded", target.stat().st_size, file.optional)


def _download(file: SourceFile, part: Path, progress: Progress | None) -> None:
    """Download a file; an interrupted download goes on where it stopped, if the server allows
    that.
    """
    have = part.stat().st_size if part.exists() else 0
    if file.size and have >= file.size:
        part.unlink()
        have = 0
    headers = {"User-Agent": f"hqm/{__version__}", **({"Range": f"bytes={have}-"} if have else {})}
    try:
        reply = build_opener(SameScheme).open(Request(file.url, headers=headers), timeout=60)
    except HTTPError as error:
        if error.code != 416 or not have:
            raise
        part.unlink()
        if file.size:  # the server has no more of it
            raise _other(file, f"it has {have:,} bytes, not {file.size:,}", file.url) from None
        _download(file, part, progress)  # it was whole, or of another file
        return
    with reply:
        resumed = reply.status == 206
        done = have if resumed else 0
        announced = int(reply.headers.get("Content-Length") or 0)
        if file.size and done + announced > file.size:
            part.unlink(missing_ok=True)
            raise _other(file, f"it has {done + announced:,} bytes, not {file.size:,}", file.url)
        total = file.size or (done + announced if announced else 0)
        with part.open("ab" if resumed else "wb") as out:
            while (chunk := reply.read(_CHUNK)) and (not total or done <= total):
                out.write(chunk)
                done += len(chunk)
                if progress:
                    progress(file.path, done, total)
    if file.size and done > file.size:  # the server had not said how long it is
        part.unlink()
        raise _other(file, f"it has more than {file.size:,} bytes", file.url)
    if total and done < total:
        raise ConnectionError("the connection ended early; run the same command again to go on")


class _Making:
    """The files of a release that are made from others, and the record of what they were made
    from.
    """

    def __init__(
        self, card: Card, folder: Path, made: list[SourceFile], files: list[SourceFile]
    ) -> None:
        self.card, self.folder, self.made = card, folder, made
        self.pins = {file.path: file.sha256 for file in files if file.sha256}
        unknown = {name for file in made for name in file.made_from} - {file.path for file in files}
        if unknown:
            raise CardError(
                f"no file {min(unknown)!r} is listed, but others are made from it",
                location=card.name,
            )

    def settled(self, file: SourceFile, copy: Path | None) -> bool:
        """Whether a file is not needed any more, because all that is made from it is there or in
        the copy.
        """
        users = [made for made in self.made if file.path in made.made_from]
        needed = [made for made in users if not made.optional] or users
        if copy is not None and self._has(copy, file):
            copy = None  # what lies beside it may be of another revision: all is made anew
        return bool(users) and (
            all(self._whole(made) for made in users)
            or (copy is not None and all(self._has(copy, made) for made in needed))
        )

    def files(self, inputs: Mapping[str, Path], copy: Path | None) -> Iterator[Fetched]:
        """Make or copy what is not there."""
        wanted = [made for made in self.made if not self._whole(made)]
        makeable = [made for made in wanted if set(made.made_from) <= inputs.keys()]
        contents = adapter_of(self.card).make_files(inputs) if makeable else {}
        for made in self.made:
            target = self._target(made)
            if made not in wanted:
                yield Fetched(target, "there", target.stat().st_size, made.optional)
            elif made in makeable:
                if made.path not in contents:
                    raise CardError(
                        f"its adapter does not make {made.path}", location=self.card.name
                    )
                write_text(target, json.dumps(contents[made.path], indent=0, allow_nan=False))
                self._note(
                    target, made_from={name: self._sums(inputs[name]) for name in made.made_from}
                )
                yield Fetched(target, "made", target.stat().st_size, made.optional)
            else:
                lacking = ", ".join(name for name in made.made_from if name not in inputs)
                fetched = Fetched(
                    target,
                    "missing",
                    0,
                    made.optional,
                    f"It is made from {lacking}. {made.how}".strip(),
                )
                if copy is not None:
                    fetched = replace(_copied(self.card, made, copy, target), how=fetched.how)
                if fetched.state == "copied":
                    self._note(fetched.path, copied_from=str(copy))
                yield fetched

    def _target(self, made: SourceFile) -> Path:
        """Where a made file lies, or what stands in its place."""
        target = self.folder / safe_name(made.path)
        other = target.with_name(made.instead) if made.instead else target
        return other if other.is_file() and not target.exists() else target

    def _has(self, copy: Path, file: SourceFile) -> bool:
        """Whether a copy has a file, or what may stand in its place."""
        names = filter(None, (file.path, file.instead))
        return any(each.exists() for name in names for each in _candidates(self.card, copy, name))

    def _record(self) -> dict[str, Any]:
        try:
            record = json.loads((self.folder / RECORD).read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return record if isinstance(record, dict) else {}

    def _whole(self, made: SourceFile) -> bool:
        """Whether a made file is there as it was written, and was made from the files that are
        meant today.
        """
        target = self._target(made)
        entry = self._record().get(target.relative_to(self.folder).as_posix())
        if (
            not isinstance(entry, dict)
            or not target.is_file()
            or entry.get("sha256") != sha256_file(target)
        ):
            return False
        sums = entry.get("made_from") or {}
        return all(
            sums[name] == pin for name, pin in self.pins.items() if isinstance(sums.get(name), str)
        )

    def _note(self, target: Path, **origin: Any) -> None:
        record = self._record()
        name = target.relative_to(self.folder).as_posix()
        record[name] = {
            "sha256": sha256_file(target),
            "size": target.stat().st_size,
            **origin,
            "by": f"hqm {__version__}",
        }
        write_text(self.folder / RECORD, json.dumps(record, indent=1))

    def _sums(self, path: Path) -> str | dict[str, str]:
        """The checksum of a file, or of each file of a folder."""
        if path.is_dir():
            return {
                file.name: sha256_file(file) for file in sorted(path.iterdir()) if file.is_file()
            }
        return sha256_file(path)


def data_root(folder: Path | None) -> Path:
    """The folder for releases: the given one, else that of `HQM_DATA`, else `data` in the current
    folder.
    """
    return folder or Path(os.environ.get("HQM_DATA") or "data")


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
