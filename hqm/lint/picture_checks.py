"""Checks of the pictures: whether each is there, can be decoded, differs from the others and is
asked about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from functools import cache, cached_property, lru_cache
from itertools import repeat, starmap, zip_longest
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from hqm.benchmark.adapter import Benchmark
from hqm.benchmark.findings import Finding
from hqm.errors import DataError, ImageError
from hqm.files.cache import MAX_BYTES, is_url
from hqm.files.images import FolderImages, as_rgb, check_picture, oddities, open_picture
from hqm.files.web_images import WebImages
from hqm.forms.tag_cache import RuleCache
from hqm.signature import digest, sha256_file
from hqm.types import group_by

if TYPE_CHECKING:
    from PIL import Image

# of a picture that is compared by its hash: the side of its grey copy in pixels, and how many of
# the lowest cosine coefficients of each side make the hash
_SIDE = 64
_LOW = 8
_MAX_BITS = 10
"""In how many of their 64 bits the hashes of a picture and of a part of another may differ to be
compared closely.
"""
_MAX_PAIRS = 20_000
"""How many pairs are compared closely at most, which takes up to half a minute: some of plain
drawings stand near by the hundred thousand.
"""
_CROPS = [(0.0, 1.0)] + [
    (low, low + size)
    for size in (0.9, 0.8, 0.7)
    for low in (0.0, 0.05, 0.1, 0.2, 0.3)
    if low + size <= 1.001
]
"""Which parts of a side a crop may have kept, each about as near to the next as hashes stand."""
# of a picture that is looked at closely: its side and that of a block, in pixels
_CLOSE_SIDE = 96
_BLOCK = 6
_MAX_SHADE_ERROR = 24.0
"""How far two copies may differ in a block of the close look, of 255: brightness fitted,
compression and scaling change no more.
"""
# How far the shades of two copies correlate at least: where the hashes are near each other, where
# the close comparison begins, and at the best position of either comparison. Of plain drawings many
# pairs have near hashes and few correlate: each step spares the next, slower one most of the pairs.
_MIN_START_CORRELATION = 0.65
_MIN_CLOSE_CORRELATION = 0.85
_MIN_CORRELATION = 0.95
_EDGE_MOVES = np.vstack([np.eye(4), -np.eye(4)])
"""A step of each edge of a box, to either side."""
_FINE_SIDE = 64
_MAX_RESAVE_ERROR = 6.0
"""How far two copies may differ in a fine block, of 255: the colour of a thing, or a thing less,
changes more.
"""
_MIN_DEVIATION = 3.0
"""The shades of a picture that shows nothing differ by less, but for compression's noise."""
_SUFFIXES = frozenset((".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff"))
_Shades = npt.NDArray[np.float64]
_FineBlocks = tuple[float, npt.NDArray[np.float32]]


@dataclass(frozen=True)
class Look:
    """The look of a picture.

    - `grey`: (64, 64): a small grey copy.
    - `blank`: Whether all of it has one shade.
    - `odd`: What makes it look different from one program to another.
    """

    grey: npt.NDArray[np.uint8]
    blank: bool = False
    odd: tuple[str, ...] = ()

    @classmethod
    def from_file(cls, path: Path) -> Look:
        """Decode a picture to its last row.

        Raises
        ------
        OSError
            The file cannot be decoded.
        """
        from PIL import Image

        with open_picture(path) as opened:
            odd = oddities(opened)
            picture = as_rgb(opened)
        # the channel that varies most: a picture of one hue in several shades is not blank
        blank = float(np.asarray(picture, dtype=np.float32).std(axis=(0, 1)).max()) < _MIN_DEVIATION
        small = picture.convert("L").resize((_SIDE, _SIDE), Image.Resampling.BOX)
        return cls(np.asarray(small), blank, tuple(odd))

    @cached_property
    def hashes(self) -> npt.NDArray[np.uint64]:
        """(parts, parts): a perceptual hash of each part of the width and of the height.

        A bit says whether one of the 8 x 8 lowest cosine coefficients, but for the mean, is above
        their median (Zauner 2010), which brightness and contrast do not change.
        """
        n_crops = len(_CROPS)
        cosines = _cosines().reshape(-1, _SIDE)
        # The transform is linear and separable: one product over all parts of the sides gives the
        # coefficients of every crop at once.
        low = (cosines @ self.grey.astype(float) @ cosines.T).reshape(n_crops, _LOW, n_crops, _LOW)
        # The first coefficient is the mean brightness, which says nothing of the shapes.
        flat = low.swapaxes(1, 2).reshape(n_crops, n_crops, _LOW * _LOW)[..., 1:]
        above_median = flat > np.median(flat, axis=-1, keepdims=True)
        bits = above_median.astype(np.uint64) << np.arange(1, _LOW * _LOW, dtype=np.uint64)
        return np.asarray(bits.sum(axis=-1), dtype=np.uint64)


@lru_cache(1 << 12)
def _steps(low: float, high: float) -> _Shades:
    """(32, 64): the share of each pixel of a side in each of 32 steps from one place to another."""
    ends = low + (high - low) * np.arange(33) / 32
    pixels = np.arange(_SIDE) / _SIDE
    shared = np.minimum(pixels + 1 / _SIDE, ends[1:, None]) - np.maximum(pixels, ends[:-1, None])
    return np.asarray(np.maximum(shared, 0) * 32 / (high - low))


@cache
def _cosines() -> _Shades:
    """(parts, 8, 64): the lowest cosine coefficients of each part of a side."""
    from scipy.fft import dct

    return np.stack([dct(_steps(*crop), axis=0, norm="ortho")[:_LOW] for crop in _CROPS])


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
    location: str = ""
    folder: Path | None = None
    missing: tuple[str, ...] = ()
    unfetched: frozenset[str] = frozenset()
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
        requested = tuple(dict.fromkeys(names))
        if not requested:
            return cls(requested)
        source = benchmark.pictures
        folder = None
        location = benchmark.images.name
        if isinstance(source, FolderImages):
            # other sources name themselves: a zip, Parquet files, an address
            location = f"the folder {location or '.'}"
            folder = source.folder
        try:
            present = set(filter(source.has, requested))
        except DataError as error:
            return cls(requested, location, folder, unreadable=str(error))
        if isinstance(source, WebImages):
            location = source.base
            unfetched = set(requested) - present
        else:
            unfetched = set(filter(is_url, requested)) - present
        broken = {}
        looks = {}
        bytes_of = {}
        files = {}
        missing = []
        for name in requested:
            if name not in present:
                if name not in unfetched:
                    missing.append(name)
                continue
            path = None
            try:
                path = source.path(name)
                # a file that is too large is refused before it is read
                if path.stat().st_size <= MAX_BYTES:
                    content = sha256_file(path)
                else:
                    content = ""
                look = _look_at(content, path, name)
                benchmark.checksums.check(name, path)
                looks[name] = look
                bytes_of[name] = content
                files[name] = path
            except ImageError as error:
                # the finding names the picture itself, so that the path need not be said
                broken[name] = error.message
            # Pillow raises whatever the decoder of a format does
            except Exception as error:
                broken[name] = f"{type(error).__name__}: {str(error).replace(str(path), name)}"
        _LOOKS.keep()
        return cls(
            requested,
            location,
            folder,
            tuple(missing),
            frozenset(unfetched),
            broken,
            looks,
            bytes_of,
            files,
        )

    @cached_property
    def same_bytes(self) -> list[list[str]]:
        """Names with one file's bytes, group by group; a name alone is a group too."""
        return list(group_by(self.bytes_of, self.bytes_of.__getitem__).values())

    @cached_property
    def alike(self) -> list[Twins]:
        """Pairs that show the same and differ in their bytes."""
        looks = {group[0]: self.looks[group[0]] for group in self.same_bytes}
        names = digest([[name, self.bytes_of[name]] for name in looks])
        rows = _TWINS(names, looks, self.files)
        _TWINS.keep()
        return list(starmap(Twins, rows))

    @cached_property
    def copies(self) -> dict[str, str]:
        """Picture -> the first name under which the same picture stands, where it stands under
        several.

        Two files hold the same picture if their bytes are equal, or if the pictures agree in every
        one of 64 x 64 blocks up to what saving them again in another format or size changes. An
        edit of a single small object is no copy.
        """
        first = {name: group[0] for group in self.same_bytes for name in group}
        # the frames of a video are each in many pairs, and to decode one takes tens of milliseconds
        fine_blocks = lru_cache(1 << 10)(_fine_blocks)
        for twins in self.alike:
            dropped = first[twins.second]
            if first[twins.first] == dropped:
                continue
            blocks = fine_blocks(self.files[twins.first])
            if _agree(blocks, fine_blocks(self.files[twins.second])):
                # all names of the second picture move: copies of copies are one picture
                for member, root in first.items():
                    if root == dropped:
                        first[member] = first[twins.first]
        return {name: root for name, root in first.items() if name != root}


def _describe_look(_digest: str, path: Path, name: str) -> list[Any]:
    """The look of a picture that can be used, as the cache keeps it."""
    check_picture(path, name)
    look = Look.from_file(path)
    return [look.grey.tobytes().hex(), look.blank, list(look.odd)]


def _describe_twins(
    _pictures: str, looks: Mapping[str, Look], files: Mapping[str, Path]
) -> list[list[str]]:
    """The pictures of a benchmark that show the same, as the cache keeps them."""
    return list(map(list, map(astuple, twins_among(looks, files))))


_DEPENDENCIES = (Path(__file__),), ("pillow", "scipy")
_LOOKS = RuleCache("looks", _describe_look, *_DEPENDENCIES)
"""By the bytes of a picture: to decode a thousand photographs takes ten seconds."""
_TWINS = RuleCache("twins", _describe_twins, *_DEPENDENCIES, min_new=1)
"""By the names and bytes of all pictures: to compare plain drawings takes up to half a minute."""


@lru_cache(1 << 12)
def _look_at(digest: str, path: Path, name: str) -> Look:
    """The look of a picture that can be used, by its content: the benchmarks of a command may share
    their pictures.
    """
    shades, blank, odd = _LOOKS(digest, path, name)
    grey = np.frombuffer(bytes.fromhex(shades), dtype=np.uint8).reshape(_SIDE, _SIDE)
    return Look(grey, blank, tuple(odd))


def _agree(first: _FineBlocks, second: _FineBlocks) -> bool:
    """Whether two pictures are one, block by block, whatever their format and size."""
    return (
        # The sides of a picture that was scaled are rounded to pixels, which moves their ratio by
        # less than 2%.
        abs(first[0] / second[0] - 1) < 0.02
        and float(np.abs(first[1] - second[1]).max()) <= _MAX_RESAVE_ERROR
    )


def _fine_blocks(path: Path) -> _FineBlocks:
    """The ratio of a picture's sides, and (64, 64, 3): the colours of its fine blocks."""
    from PIL import Image

    with open_picture(path) as opened:
        picture = as_rgb(opened)
    small = picture.resize((_FINE_SIDE, _FINE_SIDE), Image.Resampling.BOX)
    return picture.width / picture.height, np.asarray(small, dtype=np.float32)


def check_images(pictures: Pictures, are_external: bool) -> Iterable[Finding]:
    """The findings about a benchmark's pictures.

    Parameters
    ----------
    pictures
        The pictures asked about, as their files are.
    are_external
        Whether the pictures are fetched apart from the items (or drawn when needed), so that their
        absence is no fault.
    """
    names = pictures.names
    if not names:
        return
    if pictures.unreadable:
        yield Finding(
            "image-missing",
            f"the pictures cannot be read: {pictures.unreadable}",
            len(names),
            names[:3],
        )
        return
    if pictures.unfetched:
        yield Finding(
            "images-not-checked",
            sentence=(
                f"{len(pictures.unfetched)} of {len(names)} pictures are on the web and not fetched"
                " yet, so they were not checked"
            ),
            count=len(pictures.unfetched),
        )
        # what is not fetched yet is neither missing nor unused
        names = tuple(name for name in names if name not in pictures.unfetched)
    if are_external and names and len(pictures.missing) == len(names):
        yield Finding(
            "images-not-checked",
            sentence=(
                f"none of the {len(names)} pictures is in {pictures.location}: they were not"
                " checked"
            ),
            count=len(names),
        )
        return
    yield from _file_findings(pictures, len(names))
    yield from _look_findings(pictures)
    if pictures.folder is not None:
        yield from _unused_finding(pictures.folder, pictures.names)


def _file_findings(pictures: Pictures, n_names: int) -> Iterable[Finding]:
    """The findings about files: missing, broken, and under several names."""
    yield from _image_finding(
        "image-missing",
        f"{{n}} of {n_names} pictures are not in {pictures.location}",
        pictures.missing,
    )
    yield from _image_finding(
        "image-broken",
        "{n} pictures cannot be decoded",
        pictures.broken,
        pictures.broken.values(),
    )
    yield from _image_finding(
        "image-twice",
        "{n} pictures are identical, byte for byte, under different names",
        [group for group in pictures.same_bytes if len(group) > 1],
        separator=" = ",
    )


def _look_findings(pictures: Pictures) -> Iterable[Finding]:
    """The findings about what the pictures show."""
    yield from _image_finding(
        "near-duplicate-image",
        "{n} pairs of pictures look the same",
        map(attrgetter("first", "second"), pictures.alike),
        map(attrgetter("change"), pictures.alike),
        separator=" ~ ",
    )
    yield from _image_finding(
        "image-blank",
        "{n} pictures have a single colour",
        [name for name, look in pictures.looks.items() if look.blank],
    )
    odd = {name: ", ".join(look.odd) for name, look in pictures.looks.items() if look.odd}
    yield from _image_finding(
        "image-unusual", "{n} pictures may look different in different programs", odd, odd.values()
    )


def _unused_finding(folder: Path, names: Iterable[str]) -> Iterable[Finding]:
    """The finding about pictures of the folder that no item asks about."""
    files = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.suffix.lower() in _SUFFIXES
    }
    yield from _image_finding(
        "image-unused",
        "{n} pictures in the folder belong to no item",
        sorted(files - set(names)),
    )


def _image_finding(
    name: str,
    sentence: str,
    pictures: Iterable[str | Sequence[str]],
    faults: Iterable[str] = (),
    *,
    separator: str = "",
) -> Iterable[Finding]:
    """The finding about pictures, or groups of them, and what is said of each."""
    rows = []
    examples = []
    # most findings say nothing beyond the name of the picture
    for images, fault in zip_longest(pictures, faults, fillvalue=""):
        names = [images] if isinstance(images, str) else list(images)
        row: dict[str, object] = {"images": names}
        text = separator.join(names)
        if fault:
            row["what"] = fault
            text += f": {fault}"
        rows.append(row)
        examples.append(text)
    if rows:
        yield Finding(
            name, sentence.format(n=len(rows)), len(rows), tuple(examples[:3]), rows=tuple(rows)
        )


# --- the same picture, brighter, cut or scaled ---


@dataclass(frozen=True, slots=True)
class Twins:
    """Two pictures that show the same, and how the second, or what is seen of both, was changed."""

    first: str
    second: str
    change: str


def twins_among(looks: Mapping[str, Look], files: Mapping[str, Path]) -> Iterator[Twins]:
    """Pairs of which one picture's hash is near to that of a crop of the other, and that agree in a
    close comparison.
    """
    names = [name for name, look in looks.items() if not look.blank]
    if len(names) < 2:
        return
    # all hashes at once: a pair is then a few operations on bits
    hashes = np.stack([looks[name].hashes.ravel() for name in names])
    # Near pairs share pictures, and a decoded one takes up to half a megabyte: 256 of them are
    # kept.
    opened = lru_cache(256)(_open_small)

    @lru_cache(1 << 14)
    def crop_shades(name: str, crop: int) -> _Shades:
        return _standardise(_shades_in(looks[name].grey, _crop_box(crop)[None])[0])

    for i, j in _near_pairs(hashes):
        # a part of the first may be the second, and vice versa
        for k, m in ((i, j), (j, i)):
            bits = np.bitwise_count(hashes[k] ^ hashes[m, 0])
            full = names[k]
            crop = names[m]
            nearest = int(bits.argmin())
            if (
                bits[nearest] > _MAX_BITS
                or crop_shades(full, nearest) @ crop_shades(crop, 0) < _MIN_START_CORRELATION
            ):
                continue
            box = _locate_crop(looks[full].grey, crop_shades(crop, 0), nearest)
            if box is None:
                continue
            change = change_between(opened(files[full]), opened(files[crop]), box)
            if change is not None:
                yield Twins(names[i], names[j], change)
                break


def _crop_box(crop: int) -> _Shades:
    """Left, top, right, bottom of a part of the height and of the width, given as one number."""
    rows, columns = divmod(crop, len(_CROPS))
    top, bottom = _CROPS[rows]
    left, right = _CROPS[columns]
    return np.array([left, top, right, bottom])


def _near_pairs(hashes: npt.NDArray[np.uint64]) -> list[tuple[int, int]]:
    """The pairs whose hashes are near in some crop of one of the two, the nearest `_MAX_PAIRS`.

    - `hashes`: (pictures, parts): the hashes of each picture; the first is that of the whole.
    """
    candidates: list[tuple[int, int, int]] = []
    for i in range(len(hashes) - 1):
        first = np.bitwise_count(hashes[i] ^ hashes[i + 1 :, :1]).min(axis=1)
        second = np.bitwise_count(hashes[i, 0] ^ hashes[i + 1 :]).min(axis=1)
        bits = np.minimum(first, second)
        matches = np.flatnonzero(bits <= _MAX_BITS)
        later_pictures = (i + 1 + matches).tolist()
        candidates += zip(bits[matches].tolist(), repeat(i), later_pictures, strict=False)
        # of plain drawings nearly all pairs may be near
        if len(candidates) > 50 * _MAX_PAIRS:
            candidates = sorted(candidates)[:_MAX_PAIRS]
    return sorted((i, j) for _, i, j in sorted(candidates)[:_MAX_PAIRS])


def _locate_crop(
    grey: npt.NDArray[np.uint8], crop_shades: _Shades, start_crop: int
) -> _Shades | None:
    """Where about a part of a small grey copy looks like another: left, top, right, bottom, as
    shares of the sides; None if it does nowhere.

    - `crop_shades`: The shades that are looked for, standardised.
    - `start_crop`: Which part of the height and of the width to begin with, as one number.
    """

    def likeness(boxes: _Shades) -> _Shades:
        return _standardise(_shades_in(grey, boxes)) @ crop_shades

    steps = {0.04: _MIN_START_CORRELATION, 0.02: _MIN_CLOSE_CORRELATION}
    box, best = _refine_box(likeness, _crop_box(start_crop), steps)
    if best >= _MIN_CORRELATION:
        return box
    return None


def _shades_in(grey: npt.NDArray[np.uint8], boxes: _Shades) -> _Shades:
    """(boxes, 32 x 32): the shades within each box of a small grey copy."""
    # places are multiples of a hundredth, so that few steps are computed
    edges = boxes.round(2).tolist()
    rows = np.stack([_steps(top, bottom) for _, top, _, bottom in edges])
    columns = np.stack([_steps(left, right).T for left, _, right, _ in edges])
    return np.asarray((rows @ grey.astype(float) @ columns).reshape(len(boxes), -1))


def _refine_box(
    likeness: Callable[[_Shades], _Shades], box: _Shades, steps: Mapping[float, float]
) -> tuple[_Shades, float]:
    """Return the box with its edges moved until no move raises its likeness, and that likeness.

    - `steps`: How far an edge moves -> how alike the box is at least for such moves to be tried.
    """
    # coordinate ascent: of the eight single moves of an edge the best one is made
    best = float(likeness(box[None])[0])
    for step, min_likeness in steps.items():
        while best >= min_likeness:
            moves = box + step * _EDGE_MOVES
            sizes = (moves[:, 2:] - moves[:, :2]).min(axis=1)
            valid = moves[(moves.min(axis=1) >= 0) & (moves.max(axis=1) <= 1) & (sizes > 0.5)]
            values = likeness(valid)
            if values.max(initial=best) <= best:
                break
            best = float(values.max())
            box = valid[values.argmax()]
    return box, best


def _standardise(shades: _Shades) -> _Shades:
    """Rows of shades with a mean of nought and a length of one: their products are correlations."""
    centred = shades - shades.mean(axis=-1, keepdims=True)
    lengths = np.sqrt((centred**2).sum(axis=-1, keepdims=True))
    return np.asarray(centred / np.maximum(lengths, 1e-9))


def _open_small(path: Path) -> Image.Image:
    with open_picture(path) as opened:
        picture = as_rgb(opened)
    # A crop of half a side still has twice the pixels of the close look.
    picture.thumbnail((4 * _CLOSE_SIDE, 4 * _CLOSE_SIDE))
    return picture


def change_between(
    original: Image.Image, crop: Image.Image, box: _Shades | None = None
) -> str | None:
    """How `crop` was made of `original`, by cutting, scaling and another brightness; None if it was
    not.

    The correlation of shades says where it was cut; then every block of the two must agree, with
    one brightness and contrast fitted to all of them.

    - `box`: Where about the part lies, as shares of the sides; all of it unless given.
    """
    goal = _view_closely(crop)
    # Clipped shades say nothing about brightness and contrast: black and white stay what they are.
    lit = (goal > 5) & (goal < 250)
    if lit.mean() < 0.1:
        lit = np.ones_like(lit)

    goal_shades = _standardise(goal[lit])

    def likeness(boxes: _Shades) -> _Shades:
        return (
            _standardise(np.stack([_view_closely(original, tried)[lit] for tried in boxes]))
            @ goal_shades
        )

    if box is None:
        box = np.array([0.0, 0.0, 1.0, 1.0])
    box, best = _refine_box(
        likeness, box, dict.fromkeys((0.01, 0.005, 0.0025), _MIN_CLOSE_CORRELATION)
    )
    if best < _MIN_CORRELATION:
        return None
    region = _view_closely(original, box)
    # The slope of a regression is the correlation times the ratio of the deviations.
    contrast = best * float(goal[lit].std() / region[lit].std())
    light = float(goal[lit].mean() - contrast * region[lit].mean())
    fitted = np.clip(contrast * region + light, 0, 255)
    count = _CLOSE_SIDE // _BLOCK
    blocks = (goal - fitted).reshape(count, _BLOCK, count, _BLOCK, 3).mean(axis=(1, 3))
    # A contrast this low would fit any picture to a nearly grey one.
    if contrast <= 0.3 or np.abs(blocks).max() > _MAX_SHADE_ERROR:
        return None
    brighter = float((goal - region).mean())
    width, height = (box[2:] - box[:2]).tolist()
    changes = []
    if min(width, height) < 0.97:
        changes.append(f"cut to {width:.0%} of the width and {height:.0%} of the height")
    if abs(brighter) > 4:
        word = "brighter" if brighter > 0 else "darker"
        changes.append(f"{word} by {abs(brighter):.0f} of 255")
    return ", ".join(changes)


def _view_closely(picture: Image.Image, box: _Shades | None = None) -> _Shades:
    """(96, 96, 3): the colours within a box of a picture, scaled down."""
    from PIL import Image

    left, top, right, bottom = (0.0, 0.0, 1.0, 1.0) if box is None else box.tolist()
    width, height = picture.size
    pixel_box = (left * width, top * height, right * width, bottom * height)
    small = picture.resize((_CLOSE_SIDE, _CLOSE_SIDE), Image.Resampling.BOX, box=pixel_box)
    return np.asarray(small, dtype=np.float64)
