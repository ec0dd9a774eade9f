"""The planned contrasts of a leaderboard, as its estimates hold them: each respondent and the next."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hqm.psychometrics.inference.contrasts import (
    ContrastOutcome,
    RankContrast,
    rank_contrasts,
)
from hqm.psychometrics.inference.pairwise import NeighbourPair
from hqm.types import Estimate

_CONTRASTS = "discriminability.separable_adjacent"
"""The indicator whose detail has the contrasts."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Two neighbours of the leaderboard, how many items both answered, and their contrast."""

    first: str
    second: str
    items: int
    contrast: RankContrast

    @property
    def outcome(self) -> ContrastOutcome:
        """Whether the two differ, are equal within the margin, or neither is known."""
        return self.contrast.outcome


def contrasts_in(
    estimates: Iterable[Estimate], equal_within: float = 0.01, width: float | None = 1.0
) -> tuple[Neighbours, ...]:
    """Return the planned contrasts that estimates of one metric hold.

    `equal_within` is a share of the scale, which is `width` wide; where the scale has no ends, it
    is a difference of scores.
    """
    rows = contrast_detail(estimates).get("contrasts") or ()
    margin = equal_within * (1.0 if width is None else width)
    pairs = [_read_pair(index, row) for index, row in enumerate(rows)]
    contrasts = rank_contrasts(pairs, margin=margin, width=width)
    return tuple(
        Neighbours(str(row["first"]), str(row["second"]), pair.items, contrast)
        for row, pair, contrast in zip(rows, pairs, contrasts, strict=True)
    )


def contrast_detail(estimates: Iterable[Estimate]) -> Mapping[str, Any]:
    """Return the detail that holds the contrasts; empty without one."""
    for estimate in estimates:
        if estimate.indicator == _CONTRASTS:
            return estimate.detail
    return {}


def _read_pair(index: int, row: Mapping[str, Any]) -> NeighbourPair:
    """Return the pair of a row: numbers that do not exist are NaN."""
    return NeighbourPair(
        index,
        index + 1,
        _number(row["difference"]),
        _number(row["error"]),
        _number(row["p"]),
        int(row["items"]),
        int(row["clusters"]),
        int(row["rivals"]),
    )


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
