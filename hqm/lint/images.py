"""Checks of the pictures: whether each is there, can be decoded, differs from the others and is asked about."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hqm.benchmark.findings import Finding, finding
from hqm.errors import ImageError
from hqm.files.names import image_path

_SIDE, _LOW = 32, 8
_BITS = 10
"""In how many of their 64 bits the hashes of two copies of a picture may differ."""
_BLOCK = 16
_SHADE = 24.0
"""How far two copies may differ in a block of the thumbnail, of 255: compression and scaling change no more."""
_SUFFIXES = frozenset((".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff"))


@dataclass(frozen=True)
class Look:
    """The look of a picture: a 64-bit perceptual hash, and a thumbnail that confirms a match."""

    hash: npt.NDArray[np.bool_]
    thumbnail: npt.NDArray[np.float32]

    @classmethod
    def of(cls, path: Path) -> Look:
        """Decode a picture to its last row.

        The hash says which of the 8 x 8 lowest cosine coefficients of a 32 x 32 grey copy are above their median (Zauner
        2010). It sees neither colours nor small things, so the thumbnails must agree as well.

        Raises
        ------
        OSError
            The file cannot be decoded.
        """
        from PIL import Image
        from scipy.fft import dctn

        with Image.open(path) as opened:
            picture = opened.convert("RGB")
        grey = np.asarray(picture.convert("L").resize((_SIDE, _SIDE), Image.Resampling.LANCZOS), dtype=np.float64)
        low = dctn(grey, norm="ortho")[:_LOW, :_LOW].ravel()
        small = picture.resize((_BLOCK, _BLOCK), Image.Resampling.BOX)
        return cls(low > np.median(low), np.asarray(small, dtype=np.float32))

    def like(self, other: Look) -> bool:
        """Whether both show the same picture."""
        return int((self.hash != other.hash).sum()) <= _BITS and self.same_blocks(other)

    def same_blocks(self, other: Look) -> bool:
        """Whether no block of the thumbnails differs by more than compression and scaling change it."""
        return float(np.abs(self.thumbnail - other.thumbnail).max()) <= _SHADE


def check_images(folder: Path, names: Sequence[str], brought: bool) -> Iterable[Finding]:
    """The findings about the pictures of a folder.

    Parameters
    ----------
    names
        The pictures asked about.
    brought
        Whether the pictures are fetched apart from the items (or drawn when needed), so that their absence is no fault.
    """
    wanted = list(dict.fromkeys(names))
    if not wanted:
        return
    if brought and not any((folder / name).is_file() for name in wanted):
        sentence = f"none of the {len(wanted)} pictures is in the folder {folder.name}: nothing was checked about them"
        yield Finding("images-not-checked", sentence, len(wanted))
        return
    missing, broken, looks, bytes_of = [], [], {}, {}
    for name in wanted:
        if not (folder / name).is_file():
            missing.append(name)
            continue
        try:
            path = image_path(folder, name)
            looks[name] = Look.of(path)
            bytes_of[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        except ImageError as error:
            broken.append(f"{name}: {error.what}")
        # Pillow raises whatever the decoder of a format does
        except Exception as error:
            broken.append(f"{name}: {type(error).__name__}: {str(error).replace(str(folder / name), name)}")
    yield from finding("image-missing", f"{{n}} of {len(wanted)} pictures are not in the folder {folder.name}", missing)
    yield from finding("image-broken", "{n} pictures cannot be decoded", broken)
    yield from _alike(looks, bytes_of)
    here = (path for path in folder.rglob("*") if path.suffix.lower() in _SUFFIXES)
    unused = sorted({path.relative_to(folder).as_posix() for path in here} - set(wanted))
    yield from finding("image-unused", "{n} pictures in the folder are asked about by no item", unused)


def _alike(looks: dict[str, Look], bytes_of: dict[str, str]) -> Iterable[Finding]:
    by_bytes: dict[str, list[str]] = {}
    for name, digest in bytes_of.items():
        by_bytes.setdefault(digest, []).append(name)
    same = [" = ".join(group) for group in by_bytes.values() if len(group) > 1]
    yield from finding("image-twice", "{n} pictures stand under several names, byte for byte", same)
    first = [group[0] for group in by_bytes.values()]
    yield from finding("near-duplicate-image", "{n} pairs of pictures look the same", list(_pairs(first, looks)))


def _pairs(names: Sequence[str], looks: dict[str, Look]) -> Iterable[str]:
    if len(names) < 2:
        return
    bits = np.stack([looks[name].hash for name in names]).astype(np.float32) * 2 - 1
    for i, name in enumerate(names[:-1]):
        # the product of signs counts 64 less twice the differing bits
        differing = (64 - bits[i + 1 :] @ bits[i]) / 2
        for j in np.flatnonzero(differing <= _BITS):
            other = names[i + 1 + int(j)]
            if looks[name].same_blocks(looks[other]):
                yield f"{name} ~ {other}"
