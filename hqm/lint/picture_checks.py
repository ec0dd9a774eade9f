"""Checks of the pictures: whether each is there, can be decoded, differs from the others and is
asked about.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hqm.benchmark.adapter import Benchmark
from hqm.benchmark.findings import Finding
from hqm.errors import DataError, ImageError
from hqm.files.cache import MAX_BYTES, is_url
from hqm.files.images import FolderImages, check_picture
from hqm.files.web_images import WebImages
from hqm.forms.tag_cache import Readings
from hqm.signature import sha256_file

_SIDE, _LOW = 32, 8
_BITS = 10
"""In how many of their 64 bits the hashes of two copies of a picture may differ."""
_BLOCK = 16
_SHADE = 24.0
"""How far two copies may differ in a block of the thumbnail, of 255: compression and scaling change
no more.
"""
_FINE = 64
_RESAVED = 6.0
"""How far two copies may differ in a fine block, of 255: the colour of a thing, or a thing less,
changes more.
"""
_SUFFIXES = frozenset((".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff"))


@dataclass(frozen=True)
class Look:
    """The look of a picture: a 64-bit perceptual hash, and a thumbnail that confirms a match."""

    hash: npt.NDArray[np.bool_]
    thumbnail: npt.NDArray[np.float32]

    @classmethod
    def of(cls, path: Path) -> Look:
        """Decode a picture to its last row.

        The hash says which of the 8 x 8 lowest cosine coefficients of a 32 x 32 grey copy are above
        their median (Zauner 2010). It sees neither colours nor small things, so the thumbnails must
        agree as well.

        Raises
        ------
        OSError
            The file cannot be decoded.
        """
        from PIL import Image
        from scipy.fft import dctn

        with Image.open(path) as opened:
            picture = opened.convert("RGB")
        grey = np.asarray(
            picture.convert("L").resize((_SIDE, _SIDE), Image.Resampling.LANCZOS), dtype=np.float64
        )
        low = dctn(grey, norm="ortho")[:_LOW, :_LOW].ravel()
        small = picture.resize((_BLOCK, _BLOCK), Image.Resampling.BOX)
        return cls(low > np.median(low), np.asarray(small, dtype=np.float32))

    def like(self, other: Look) -> bool:
        """Whether both show the same picture."""
        return int((self.hash != other.hash).sum()) <= _BITS and self.same_blocks(other)

    def same_blocks(self, other: Look) -> bool:
        """Whether no block of the thumbnails differs by more than compression and scaling change
        it.
        """
        return float(np.abs(self.thumbnail - other.thumbnail).max()) <= _SHADE


@dataclass(frozen=True)
class Pictures:
    """What the files of a benchmark's pictures hold, wherever they lie: in a folder, a zip, Parquet
    files or on the web.

    Parameters
    ----------
    names, place
        The pictures asked about, and where they are looked for, in words.
    folder
        Where they lie as files of their own; None elsewhere.
    missing, elsewhere, broken
        Names without a file; names on the web that are not fetched yet; names whose file cannot be
        decoded, each with the reason.
    looks, bytes_of, files
        Name -> its look, the hash of its file, and its file.
    unreadable
        Why none could be looked for; empty where they could.
    """

    names: tuple[str, ...]
    place: str = ""
    folder: Path | None = None
    missing: tuple[str, ...] = ()
    elsewhere: frozenset[str] = frozenset()
    broken: Mapping[str, str] = field(default_factory=dict)
    looks: Mapping[str, Look] = field(default_factory=dict)
    bytes_of: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, Path] = field(default_factory=dict)
    unreadable: str = ""

    @classmethod
    def read(cls, benchmark: Benchmark, names: Iterable[str]) -> Pictures:
        """Open every picture, as an audit does before it shows one, and decode it to its last
        row.
        """
        wanted = tuple(dict.fromkeys(names))
        if not wanted:
            return cls(wanted)
        source, folder = benchmark.pictures, None
        place = benchmark.images.name
        if isinstance(source, FolderImages):
            place, folder = f"the folder {place}", source.folder
        try:
            there = {name for name in wanted if source.has(name)}
        except DataError as error:
            return cls(wanted, place, folder, unreadable=str(error))
        if isinstance(source, WebImages):
            place, elsewhere = source.base, set(wanted) - there
        else:
            elsewhere = {name for name in wanted if is_url(name)} - there
        broken, looks, bytes_of, files = {}, {}, {}, {}
        for name in (name for name in wanted if name in there):
            path = None
            try:
                path = source.path(name)
                # a file that is too large is refused before it is read
                digest = sha256_file(path) if path.stat().st_size <= MAX_BYTES else ""
                look = _look_at(digest, path, name)
                benchmark.checksums.check(name, path)
                looks[name], bytes_of[name], files[name] = look, digest, path
            except ImageError as error:
                broken[name] = error.what
            # Pillow raises whatever the decoder of a format does
            except Exception as error:
                broken[name] = f"{type(error).__name__}: {str(error).replace(str(path), name)}"
        _LOOKS.keep()
        missing = tuple(name for name in wanted if name not in there and name not in elsewhere)
        return cls(
            wanted, place, folder, missing, frozenset(elsewhere), broken, looks, bytes_of, files
        )

    @cached_property
    def same_bytes(self) -> list[list[str]]:
        """Names with one file's bytes, group by group; a name alone is a group too."""
        groups: dict[str, list[str]] = {}
        for name, digest in self.bytes_of.items():
            groups.setdefault(digest, []).append(name)
        return list(groups.values())

    @cached_property
    def alike(self) -> list[tuple[str, str]]:
        """Pairs that look the same and differ in their bytes."""
        return list(_pairs([group[0] for group in self.same_bytes], self.looks))

    @cached_property
    def copies(self) -> dict[str, str]:
        """Picture -> the first name under which the same picture stands, where it stands under
        several.

        Two files hold the same picture if their bytes are equal, or if the pictures agree in every
        one of 64 x 64 blocks up to what saving them again in another format or size changes. An
        edit of a single small object is no copy.
        """
        first = {name: group[0] for group in self.same_bytes for name in group}
        for name, other in self.alike:
            if same_picture(self.files[name], self.files[other]):
                kept, gone = first[name], first[other]
                first = {each: kept if root == gone else root for each, root in first.items()}
        return {name: root for name, root in first.items() if name != root}


def _seen(_digest: str, path: Path, name: str) -> list[str]:
    """The look of a picture that can be used, as the cache keeps it: hexadecimal hash and
    thumbnail.
    """
    check_picture(path, name)
    look = Look.of(path)
    return [np.packbits(look.hash).tobytes().hex(), look.thumbnail.astype(np.uint8).tobytes().hex()]


_LOOKS = Readings("looks", _seen, (Path(__file__),), ("pillow", "scipy"))
"""By the bytes of a picture: to decode a thousand photographs takes ten seconds."""


@lru_cache(1 << 12)
def _look_at(digest: str, path: Path, name: str) -> Look:
    """The look of a picture that can be used, by its content: the benchmarks of a command may share
    their pictures.
    """
    bits, shades = map(bytes.fromhex, _LOOKS(digest, path, name))
    thumbnail = np.frombuffer(shades, dtype=np.uint8).reshape(_BLOCK, _BLOCK, 3)
    return Look(
        np.unpackbits(np.frombuffer(bits, dtype=np.uint8)).astype(bool),
        thumbnail.astype(np.float32),
    )


def same_picture(path: Path, other: Path) -> bool:
    """Whether two files show one picture, block by block, whatever their format and size."""
    from PIL import Image

    blocks, sizes = [], []
    for each in (path, other):
        with Image.open(each) as opened:
            picture = opened.convert("RGB")
            sizes.append(picture.width / picture.height)
            blocks.append(
                np.asarray(picture.resize((_FINE, _FINE), Image.Resampling.BOX), dtype=np.float32)
            )
    return (
        abs(sizes[0] / sizes[1] - 1) < 0.02
        and float(np.abs(blocks[0] - blocks[1]).max()) <= _RESAVED
    )


def check_images(pictures: Pictures, brought: bool) -> Iterable[Finding]:
    """The findings about a benchmark's pictures.

    Parameters
    ----------
    pictures
        The pictures asked about, as their files are.
    brought
        Whether the pictures are fetched apart from the items (or drawn when needed), so that their
        absence is no fault.
    """
    wanted, folder = pictures.names, pictures.folder
    if not wanted:
        return
    if pictures.unreadable:
        yield Finding(
            "image-missing",
            f"the pictures cannot be read: {pictures.unreadable}",
            len(wanted),
            wanted[:3],
        )
        return
    if pictures.elsewhere:
        yield Finding(
            "images-not-checked",
            sentence=(
                f"{len(pictures.elsewhere)} of {len(wanted)} pictures are on the web and not"
                " fetched yet: nothing was checked about them"
            ),
            count=len(pictures.elsewhere),
        )
        wanted = tuple(name for name in wanted if name not in pictures.elsewhere)
    if brought and wanted and len(pictures.missing) == len(wanted):
        yield Finding(
            "images-not-checked",
            sentence=(
                f"none of the {len(wanted)} pictures is in {pictures.place}: nothing was checked"
                " about them"
            ),
            count=len(wanted),
        )
        return
    yield from _of_images(
        "image-missing",
        sentence=f"{{n}} of {len(wanted)} pictures are not in {pictures.place}",
        rows=[{"images": [name]} for name in pictures.missing],
    )
    yield from _of_images(
        "image-broken",
        "{n} pictures cannot be decoded",
        rows=[{"images": [name], "what": why} for name, why in pictures.broken.items()],
    )
    yield from _of_images(
        "image-twice",
        "{n} pictures stand under several names, byte for byte",
        rows=[{"images": group} for group in pictures.same_bytes if len(group) > 1],
        between=" = ",
    )
    yield from _of_images(
        "near-duplicate-image",
        "{n} pairs of pictures look the same",
        rows=[{"images": list(pair)} for pair in pictures.alike],
        between=" ~ ",
    )
    if folder is not None:
        here = (path for path in folder.rglob("*") if path.suffix.lower() in _SUFFIXES)
        unused = sorted(
            {path.relative_to(folder).as_posix() for path in here} - set(pictures.names)
        )
        yield from _of_images(
            "image-unused",
            "{n} pictures in the folder are asked about by no item",
            rows=[{"images": [name]} for name in unused],
        )


def _of_images(
    name: str, sentence: str, rows: Sequence[Mapping[str, Any]], between: str = ""
) -> Iterable[Finding]:
    if rows:
        yield Finding(
            name,
            sentence.format(n=len(rows)),
            len(rows),
            examples=tuple(
                ": ".join(filter(None, (between.join(row["images"]), row.get("what"))))
                for row in rows[:3]
            ),
            rows=tuple(rows),
        )


def _pairs(names: Sequence[str], looks: Mapping[str, Look]) -> Iterable[tuple[str, str]]:
    if len(names) < 2:
        return
    bits = np.stack([looks[name].hash for name in names]).astype(np.float32) * 2 - 1
    for i, name in enumerate(names[:-1]):
        # the product of signs counts 64 less twice the differing bits
        differing = (64 - bits[i + 1 :] @ bits[i]) / 2
        for j in np.flatnonzero(differing <= _BITS):
            other = names[i + 1 + int(j)]
            if looks[name].same_blocks(looks[other]):
                yield name, other
