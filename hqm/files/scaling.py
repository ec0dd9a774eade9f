"""Pictures scaled to a share of their width and height, each made once and kept in the cache.

The file stands under the hash of the picture and the percentage, so that no name of a picture
becomes a path. The same picture gives the same pixels on every machine: Pillow computes Lanczos'
filter in whole numbers.
"""

from __future__ import annotations

from pathlib import Path

from hqm.errors import ImageError
from hqm.files.cache import cache_folder, replacing, writing
from hqm.signature import digest_file

_ORIENTATION = 0x0112


def scaled(path: Path, percent: int) -> Path:
    """A picture at a percentage of its width and height, as a PNG file in the cache.

    What is shown differs from the picture in nothing but its size: no loss by compression is added,
    and a tag that says how the picture is to be turned stays. Transparency is left out, as
    respondents do that run here.

    - `path`: The picture; `check_picture` has found that it can be used.
    - `percent`: 1 to 99. A side has at least one pixel.

    Raises
    ------
    ImageError
        The picture cannot be opened.
    DataError
        The cache cannot be written.
    """
    from PIL import Image

    try:
        name = digest_file(path).partition(":")[2]
        target = cache_folder() / "scaled" / name[:2] / f"{name}-{percent}.png"
        if target.is_file():
            return target
        with Image.open(path) as picture:
            turned = picture.getexif().get(_ORIENTATION)
            size = tuple(max(1, round(side * percent / 100)) for side in picture.size)
            small = picture.convert("RGB").resize((size[0], size[1]), Image.Resampling.LANCZOS)
    except Exception as error:  # the decoders raise whatever a broken file makes them raise
        what = (
            f"the picture cannot be scaled: {' '.join(str(error).split()) or type(error).__name__}"
        )
        raise ImageError(what, place=str(path), remedy="Fetch it again.") from None
    exif = Image.Exif()
    if turned is not None:
        exif[_ORIENTATION] = turned
    with writing(target.parent), replacing(target) as part:
        small.save(part, "PNG", **({"exif": exif} if turned is not None else {}))
    return target
