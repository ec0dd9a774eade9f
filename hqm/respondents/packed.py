"""The weights of embedded models, packed: a wheel's own compression takes 6 % more, because it
looks at single bytes.

What is unpacked is kept in the cache under the hash of the folder that it came from, and is the
trained file byte by byte: the same model, with the same identity and seeds.
"""

from __future__ import annotations

import lzma
import os
import shutil
import tempfile
from pathlib import Path

from hqm.files.cache import cache_folder, writing
from hqm.signature import digest_all, digest_file

WEIGHTS = "model.safetensors"
_PACKED = f"{WEIGHTS}.xz"
# weights are numbers of two bytes: places are told apart by their parity
_FILTERS = ({"id": lzma.FILTER_LZMA2, "preset": 9, "lc": 0, "lp": 1, "pb": 1},)


def pack(folder: Path) -> None:
    """Put the packed weights of a model's folder in the place of the weights; the same weights give
    the same bytes.
    """
    weights = folder / WEIGHTS
    (folder / _PACKED).write_bytes(
        lzma.compress(weights.read_bytes(), format=lzma.FORMAT_XZ, filters=_FILTERS)
    )
    weights.unlink()


def unpacked(folder: Path) -> Path:
    """The folder of a model as transformers and vLLM read it: itself where its weights are not
    packed, else one in the cache.

    Raises
    ------
    DataError
        The cache cannot be written.
    """
    if not (folder / _PACKED).is_file():
        return folder
    files = sorted(path for path in folder.iterdir() if path.is_file())
    name = digest_all(part for file in files for part in (file.name, digest_file(file))).partition(
        ":"
    )[2]
    target = cache_folder() / "models" / name / folder.name
    if target.is_dir():
        return target
    with writing(target.parent):
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as part:
            made = Path(part) / folder.name
            made.mkdir()
            for file in files:
                if file.name == _PACKED:
                    (made / WEIGHTS).write_bytes(lzma.decompress(file.read_bytes()))
                else:
                    shutil.copyfile(file, made / file.name)
            try:
                os.replace(made, target)
            except OSError:
                if not target.is_dir():  # another process was faster
                    raise
    return target
