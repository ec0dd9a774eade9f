"""How many faults a search would find: faults are planted in the data at hand, and searched for."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import Array, shaped
from hqm.psychometrics.result import Status


@dataclass(frozen=True, slots=True)
class PlantedFaults:
    """What a search finds of faults planted in these data.

    - `power`: Share of the planted faults that were named; `error` is its Monte Carlo standard
      error.
    - `planted, repeats`: Faults in a copy of the data, and copies.
    """

    power: float
    error: float
    planted: int
    repeats: int
    status: Status = "ok"
    reason: str = ""


def with_wrong_keys(
    scores: npt.ArrayLike, *, rng: np.random.Generator, hit: npt.ArrayLike = 1.0
) -> Array:
    """The scores that the same answers would have under wrong keys.

    Right answers are then wrong; a wrong one is right with the chance `hit` of meeting the key (k options: 1 / (k - 1)).
    Scores, of (respondents, items), that lie between 0 and 1 are mirrored; NaN stays.
    >>> with_wrong_keys([[1, 0, 0.25]], rng=np.random.default_rng(0))
    array([[0.  , 1.  , 0.75]])
    """
    x = shaped(scores, "respondents, items")
    met = rng.random(x.shape) < np.broadcast_to(np.asarray(hit, dtype=np.float64), (x.shape[1],))
    return np.where(met | (x == 1), 1 - x, np.where(np.isfinite(x), 0.0, np.nan))


def planted_faults(
    scores: npt.ArrayLike,
    search: Callable[[Array], Collection[int]],
    *,
    rng: np.random.Generator,
    hit: npt.ArrayLike = 1.0,
    share: float = 0.02,
    faults: int = 200,
    most: int = 2000,
) -> PlantedFaults:
    """The share of wrong keys that a search would find in a study like this one.

    "No faults" says little where few would be found. The respondents and items of the study stay as
    they are; in a copy, some items get the scores that a wrong key would give them, and the search
    is made there. The items at hand are taken to have right keys: where many have not, the share
    comes out too low.

    - `scores`: (respondents, items), 0 to 1; NaN where an answer was not scored.
    - `search`: Scores -> numbers of the items that it names.
    - `share`: Of the items, how many get a wrong key.
    - `faults`: How many are planted in all, over copies (40 at most).
    - `most`: Items in a copy at most, drawn at random.

    The status is `insufficient` without respondents or items.

    >>> x = (np.arange(30)[:, None] > np.tile(np.arange(3, 27), 5)).astype(float)
    >>> planted_faults(x, lambda y: np.flatnonzero(y[-1] == 0), rng=np.random.default_rng(0)).power
    1.0
    """
    x = shaped(scores, "respondents, items")
    if x.size == 0:
        return PlantedFaults(
            math.nan, math.nan, 0, 0, "insufficient", "there is no respondent or no item"
        )
    hits = np.broadcast_to(np.asarray(hit, dtype=np.float64), (x.shape[1],))
    size = min(x.shape[1], most)
    planted = max(1, round(share * size))
    repeats = min(40, math.ceil(faults / planted))
    shares = []
    for _ in range(repeats):
        items = np.sort(rng.choice(x.shape[1], size, replace=False))
        copy = x[:, items]
        places = rng.choice(size, planted, replace=False)
        copy[:, places] = with_wrong_keys(copy[:, places], rng=rng, hit=hits[items[places]])
        shares.append(len(set(places.tolist()) & {int(i) for i in search(copy)}) / planted)
    power = float(np.mean(shares))
    return PlantedFaults(
        power, math.sqrt(max(power * (1 - power), 0.0) / (planted * repeats)), planted, repeats
    )
