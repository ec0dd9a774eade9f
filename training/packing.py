"""Pack the weights of the embedded models, as `hqm.respondents.hf_loading` unpacks them."""

from __future__ import annotations

import lzma
from pathlib import Path

from hqm.respondents.hf_loading import WEIGHTS

# weights are numbers of two bytes: places are told apart by their parity
_FILTERS = ({"id": lzma.FILTER_LZMA2, "preset": 9, "lc": 0, "lp": 1, "pb": 1},)


def pack(folder: Path) -> None:
    """Replace a model's weights by packed ones; the same weights give the same bytes."""
    weights = folder / WEIGHTS
    (folder / f"{WEIGHTS}.xz").write_bytes(
        lzma.compress(weights.read_bytes(), format=lzma.FORMAT_XZ, filters=_FILTERS)
    )
    weights.unlink()
