"""Items that appear twice."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hqm.psychometrics.arrays import Array


@dataclass(frozen=True, slots=True)
class Duplicates:
    """Groups of items that ask, or measure, the same.

    - `by_key`: Items with equal keys (the same picture and question).
    - `by_response`: Items that every respondent answers alike and whose agreement chance does not explain.
    - `contradictory`: Groups of equal keys with different targets.
    """

    by_key: tuple[tuple[int, ...], ...]
    by_response: tuple[tuple[int, ...], ...]
    contradictory: tuple[tuple[int, ...], ...]


def duplicate_items(
    scores: npt.ArrayLike | None = None,
    *,
    keys: Sequence[Hashable] | None = None,
    targets: Sequence[Hashable] | None = None,
    alpha: float = 0.05,
) -> Duplicates:
    """Items that appear twice: by what they ask, and by how they are answered.

    Few respondents agree on many items by chance, so equal columns alone prove nothing. A pair counts only if equal
    answers of all respondents are improbable given how hard the items and how good the respondents are, after
    Bonferroni's correction for all pairs:

        prod_m (pi_ma pi_mb + (1 - pi_ma)(1 - pi_mb)),   pi_mi = sigmoid(logit p_m + logit p_i - logit p)

    - `scores`: (respondents, items), binary; NaN where an answer was not scored. Items without variance are left out.
    - `keys`: What identifies an item's question: (picture, text), or a hash of it.
    - `targets`: The items' targets, to tell contradictions.
    - `alpha`: Probability of one or more false pairs among the equal columns.

    Examples
    --------
    >>> duplicate_items(keys=["a", "b", "a", "c"], targets=["yes", "no", "no", "no"])
    Duplicates(by_key=((0, 2),), by_response=(), contradictory=((0, 2),))
    """
    by_key = _groups(list(keys)) if keys is not None else []
    contradictory: list[tuple[int, ...]] = []
    if keys is not None and targets is not None:
        if len(targets) != len(keys):
            raise ValueError(f"one target a key is needed, got {len(targets)} for {len(keys)}")
        contradictory = [group for group in by_key if len({targets[i] for i in group}) > 1]
    by_response: list[tuple[int, ...]] = []
    if scores is not None:
        x = np.asarray(scores, dtype=np.float64)
        if x.ndim != 2:
            raise ValueError(f"scores must have shape (respondents, items), got {x.shape}")
        if keys is not None and len(keys) != x.shape[1]:
            raise ValueError(f"one key an item is needed, got {len(keys)} for {x.shape[1]}")
        by_response = _alike(x, alpha)
    return Duplicates(tuple(by_key), tuple(by_response), tuple(contradictory))


def _groups(keys: Sequence[Hashable]) -> list[tuple[int, ...]]:
    places: dict[Hashable, list[int]] = {}
    for i, key in enumerate(keys):
        places.setdefault(key, []).append(i)
    return [tuple(group) for group in places.values() if len(group) > 1]


def _alike(x: Array, alpha: float) -> list[tuple[int, ...]]:
    if x.shape[0] < 2 or x.shape[1] < 2 or not np.isin(x[np.isfinite(x)], (0, 1)).all():
        return []
    seen = np.isfinite(x)
    smooth = [
        (np.where(seen, x, 0).sum(axis=axis) + 0.5) / (seen.sum(axis=axis) + 1) for axis in (0, 1)
    ]  # a rate of 0 or 1 is not certain
    grand = float(np.where(seen, x, 0).sum() + 0.5) / (float(seen.sum()) + 1)
    logit = [np.log(v / (1 - v)) for v in smooth]
    pairs = x.shape[1] * (x.shape[1] - 1) / 2
    alike = []
    for group in _groups([column.tobytes() for column in np.where(seen, x, 2).astype(np.uint8).T]):
        column, present = x[:, group[0]], seen[:, group[0]]
        if present.sum() < 2 or np.ptp(column[present]) == 0:
            continue
        pi = 1 / (1 + np.exp(-(logit[1][present] + logit[0][group[0]] - math.log(grand / (1 - grand)))))
        if pairs * float(np.prod(pi * pi + (1 - pi) ** 2)) < alpha:
            alike.append(group)
    return alike
