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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, filterfalse
from operator import attrgetter
from pathlib import Path
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
"""The record beside derived files: the checksum of each, and those of its inputs."""
# 256 KiB, after each of which the progress line moves.
_CHUNK_BYTES = 1 << 18

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

    def pinned(self, card: Card, file: SourceFile) -> SourceFile:
        """A file of a card with the address and the checksum that it has here."""
        # A list made in the data root names the folder too, one made inside of the folder does not.
        listed = self.checksums.expected.get(
            f"{card.data.folder}/{file.path}"
        ) or self.checksums.expected.get(file.path)
        if listed is not None:
            # The size goes with the checksum: that of the card would refuse a file of the mirror's
            # revision.
            file = file.model_copy(update={"sha256": listed.sha256 or "", "size": listed.size or 0})
        if self.mirror and file.url:
            address = urlsplit(file.url)
            url = f"{self.mirror.rstrip('/')}/{address.netloc}{address.path}"
            if address.query:
                url += f"?{address.query}"
            file = file.model_copy(update={"url": url})
        return file


def fetch(
    card: Card,
    root: Path,
    *,
    origin: Origin | None = None,
    progress: Progress | None = None,
) -> Iterator[Fetched]:
    """Bring the files of a benchmark's release below the data root, one by one; inputs of derived
    files that are current are skipped.

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
    files = [origin.pinned(card, file) for file in card.source.files]
    derived_files = _DerivedFiles(card, folder, files)
    inputs: dict[str, Path] = {}
    for file in files:
        if file.made_from:
            continue
        target = folder / safe_name(file.path)
        if derived_files.is_unneeded(file, origin.copy):
            continue
        fetched = _fetched(card, file, target, origin, progress)
        if fetched.state != "missing":
            inputs[file.path] = fetched.path
        yield fetched
    yield from derived_files.bring(inputs, origin.copy)


def _fetched(
    card: Card, file: SourceFile, target: Path, origin: Origin, progress: Progress | None
) -> Fetched:
    alternative = target.with_name(file.instead) if file.instead else target
    if target.is_file() and _is_right(target, file):
        return Fetched(target, "there", target.stat().st_size, file.optional)
    if file.instead and alternative.exists():
        return Fetched(alternative, "there", alternative.stat().st_size, file.optional)
    if origin.copy is not None:
        return _copied(card, file, origin.copy, target)
    if not file.url:
        return Fetched(target, "missing", 0, file.optional, file.how or "It must be got by hand.")
    return _downloaded(file, target, progress)


def _is_right(path: Path, file: SourceFile) -> bool:
    return not file.sha256 or sha256_file(path) == file.sha256


def _check_partial(path: Path, file: SourceFile, location: str) -> None:
    if not _is_right(path, file):
        # the next attempt must not resume from a damaged file
        path.unlink()
        raise _mismatch_error(file, "its checksum differs", location)


def _mismatch_error(file: SourceFile, difference: str, location: str) -> DataError:
    return DataError(
        f"{file.path} is not the pinned one ({difference})",
        location=location,
        remedy="The file is damaged or of another revision: get the one that the card names.",
    )


def _candidates(card: Card, source: Path, name: str) -> Iterator[Path]:
    # a copy is a whole data root, or the folder of this benchmark alone
    yield source / card.data.folder / name
    yield source / name


def _copied(card: Card, file: SourceFile, source: Path, target: Path) -> Fetched:
    for candidate in _candidates(card, source, file.path):
        if candidate.is_file():
            partial = _partial_path(target)
            try:
                shutil.copyfile(candidate, partial)
            except OSError as error:
                raise DataError(
                    f"it cannot be written: {error.strerror}", location=str(target)
                ) from None
            _check_partial(partial, file, str(candidate))
            partial.replace(target)
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
    instruction = f"Put it at {target}."
    if file.url:
        instruction = f"Get it from {file.url} and put it at {target}."
    return f"{file.how} {instruction}".strip()


def _partial_path(target: Path) -> Path:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            f"it cannot be made: {error.strerror}", location=str(target.parent)
        ) from None
    # In the folder of the target, so that the last step is a rename within one file system.
    return target.with_name(f"{target.name}.part")


def _downloaded(file: SourceFile, target: Path, progress: Progress | None) -> Fetched:
    partial = _partial_path(target)
    try:
        _download(file, partial, progress)
    # These say that the file cannot be had now: the other files of the release are fetched all the
    # same.
    except (
        URLError,
        TimeoutError,
        ConnectionError,
        http.client.HTTPException,
        ValueError,
    ) as error:
        # `URLError` wraps the reason, and the others are it.
        reason = error.code if isinstance(error, HTTPError) else getattr(error, "reason", error)
        return Fetched(
            target,
            "missing",
            0,
            file.optional,
            f"It cannot be reached ({reason}). {_by_hand(file, target)}",
        )
    except OSError as error:
        raise DataError(f"it cannot be written: {error.strerror}", location=str(partial)) from None
    _check_partial(partial, file, file.url)
    partial.replace(target)
    return Fetched(target, "downloaded", target.stat().st_size, file.optional)


def _download(file: SourceFile, partial: Path, progress: Progress | None) -> None:
    """Download a file; an interrupted download goes on where it stopped, if the server allows
    that.
    """
    existing_bytes = partial.stat().st_size if partial.exists() else 0
    if file.size and existing_bytes >= file.size:
        partial.unlink()
        existing_bytes = 0
    headers = {"User-Agent": f"hqm/{__version__}"}
    if existing_bytes:
        headers["Range"] = f"bytes={existing_bytes}-"
    try:
        # A redirection from https to http, or to a file, is refused.
        reply = build_opener(SameScheme).open(Request(file.url, headers=headers), timeout=60)
    except HTTPError as error:
        # 416: the range begins behind the end of the server's file
        if error.code != 416 or not existing_bytes:
            raise
        partial.unlink()
        if file.size:
            raise _mismatch_error(
                file, f"it has {existing_bytes:,} bytes, not {file.size:,}", file.url
            ) from None
        # without a pinned size, the partial file may be complete or of another revision
        _download(file, partial, progress)
        return
    with reply:
        _receive(reply, file, partial, existing_bytes, progress)


def _receive(
    reply: http.client.HTTPResponse,
    file: SourceFile,
    partial: Path,
    existing_bytes: int,
    progress: Progress | None,
) -> None:
    """Write a server's reply to the partial file, and refuse one that is not of the pinned size."""
    # 206: the server goes on from the range; with any other status it sends the whole file again
    is_resumed = reply.status == 206
    received_bytes = existing_bytes if is_resumed else 0
    # Of a resumed download this is the length of the rest alone; without the header it is not
    # known.
    announced_bytes = int(reply.headers.get("Content-Length") or 0)
    expected_bytes = received_bytes + announced_bytes
    if file.size and expected_bytes > file.size:
        partial.unlink(missing_ok=True)
        raise _mismatch_error(file, f"it has {expected_bytes:,} bytes, not {file.size:,}", file.url)
    total_bytes = file.size or (expected_bytes if announced_bytes else 0)
    with partial.open("ab" if is_resumed else "wb") as stream:
        # A reply that goes on behind its size is not read to its end.
        while not total_bytes or received_bytes <= total_bytes:
            chunk = reply.read(_CHUNK_BYTES)
            if not chunk:
                break
            stream.write(chunk)
            received_bytes += len(chunk)
            if progress:
                progress(file.path, received_bytes, total_bytes)
    if file.size and received_bytes > file.size:  # the server had not said how long it is
        partial.unlink()
        raise _mismatch_error(file, f"it has more than {file.size:,} bytes", file.url)
    # The partial file stays, and the next command asks for the rest of it.
    if total_bytes and received_bytes < total_bytes:
        raise ConnectionError("the connection ended early; run the same command again to go on")


class _DerivedFiles:
    """The files of a release that are made from others, and the record of their inputs."""

    def __init__(self, card: Card, folder: Path, files: Sequence[SourceFile]) -> None:
        self.card = card
        self.folder = folder
        self.derived = list(filter(attrgetter("made_from"), files))
        self.pins = {file.path: file.sha256 for file in files if file.sha256}
        sources = chain.from_iterable(map(attrgetter("made_from"), self.derived))
        unknown = set(sources).difference(map(attrgetter("path"), files))
        # Found here and not when it is missing: the card itself is wrong.
        if unknown:
            raise CardError(
                f"no file {min(unknown)!r} is listed, but others are made from it",
                location=card.name,
            )

    def is_unneeded(self, file: SourceFile, copy: Path | None) -> bool:
        """Whether a file is no longer needed, because the files made from it are current or in the
        copy.
        """
        users = [user for user in self.derived if file.path in user.made_from]
        required = list(filterfalse(attrgetter("optional"), users)) or users
        if copy is not None and self._has(copy, file):
            # a derived file beside it may be of another revision: all are made again
            copy = None
        return bool(users) and (
            all(map(self._is_current, users))
            or (copy is not None and all(self._has(copy, user) for user in required))
        )

    def bring(self, inputs: Mapping[str, Path], copy: Path | None) -> Iterator[Fetched]:
        """Make or copy the derived files that are not current, and yield what became of each."""
        outdated = list(filterfalse(self._is_current, self.derived))
        # what some inputs are missing for is left to the copy
        makeable = [file for file in outdated if set(file.made_from) <= inputs.keys()]
        contents = adapter_of(self.card).make_files(inputs) if makeable else {}
        for file in self.derived:
            target = self._target(file)
            if file not in outdated:
                yield Fetched(target, "there", target.stat().st_size, file.optional)
            elif file in makeable:
                self._make(file, target, inputs, contents)
                yield Fetched(target, "made", target.stat().st_size, file.optional)
            else:
                yield self._copied_or_missing(file, target, inputs, copy)

    def _make(
        self,
        file: SourceFile,
        target: Path,
        inputs: Mapping[str, Path],
        contents: Mapping[str, object],
    ) -> None:
        """Write a derived file, and record the checksums of its inputs."""
        if file.path not in contents:
            raise CardError(f"its adapter does not make {file.path}", location=self.card.name)
        # `indent=0` writes a line for each value: two revisions of a file can be compared by a
        # diff.
        write_text(target, json.dumps(contents[file.path], indent=0, allow_nan=False))
        checksums = {name: self._checksums(inputs[name]) for name in file.made_from}
        self._write_record(target, made_from=checksums)

    def _copied_or_missing(
        self, file: SourceFile, target: Path, inputs: Mapping[str, Path], copy: Path | None
    ) -> Fetched:
        """What became of a derived file whose inputs are missing: copied where a copy has it."""
        lacking = ", ".join(path for path in file.made_from if path not in inputs)
        instruction = f"It is made from {lacking}. {file.how}".strip()
        if copy is None:
            return Fetched(target, "missing", 0, file.optional, instruction)
        fetched = replace(_copied(self.card, file, copy, target), how=instruction)
        if fetched.state == "copied":
            self._write_record(fetched.path, copied_from=str(copy))
        return fetched

    def _target(self, file: SourceFile) -> Path:
        """The path of a derived file, or of its alternative where only that exists."""
        target = self.folder / safe_name(file.path)
        alternative = target.with_name(file.instead) if file.instead else target
        if alternative.is_file() and not target.exists():
            return alternative
        return target

    def _has(self, copy: Path, file: SourceFile) -> bool:
        """Whether a copy has a file or its alternative."""
        for name in filter(None, (file.path, file.instead)):
            if any(map(Path.exists, _candidates(self.card, copy, name))):
                return True
        return False

    def _read_record(self) -> dict[str, object]:
        try:
            record = json.loads((self.folder / RECORD).read_text("utf-8"))
        # A record that is missing or broken is none: its files are made again, which is always
        # right.
        except (OSError, ValueError):
            return {}
        if isinstance(record, dict):
            return record
        return {}

    def _is_current(self, file: SourceFile) -> bool:
        """Whether a derived file is as it was written, from inputs with the pinned checksums."""
        target = self._target(file)
        entry = self._read_record().get(target.relative_to(self.folder).as_posix())
        # a file that somebody changed, or put there by hand, is made again
        if (
            not isinstance(entry, dict)
            or not target.is_file()
            or entry.get("sha256") != sha256_file(target)
        ):
            return False
        # Only inputs with a pin are compared: of a folder, whose checksums are an object, the card
        # has none.
        checksums = entry.get("made_from") or {}
        return all(
            checksums[name] == pin
            for name, pin in self.pins.items()
            if isinstance(checksums.get(name), str)
        )

    def _write_record(self, target: Path, **origin: object) -> None:
        record = self._read_record()
        name = target.relative_to(self.folder).as_posix()
        record[name] = {
            "sha256": sha256_file(target),
            "size": target.stat().st_size,
            **origin,
            "by": f"hqm {__version__}",
        }
        write_text(self.folder / RECORD, json.dumps(record, indent=1))

    def _checksums(self, path: Path) -> str | dict[str, str]:
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


def summary(card: Card) -> dict[str, object]:
    """The facts that a card states about its release, for a table."""
    source = card.source
    return {
        "benchmark": card.name,
        "revision": source.revision,
        "licence": card.licence,
        "files": len(source.files),
        "bytes": sum(map(attrgetter("size"), source.files)),
        "images": source.images,
        "images_url": source.images_url,
        "images_licence": source.images_licence,
    }
