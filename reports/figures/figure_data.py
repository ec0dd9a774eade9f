"""The numbers that figures show: one value feeds the drawing of the page and the figure for a
paper.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import repeat

from hqm.reports.tables.score_tables import respondents_in_order
from hqm.reports.tables.table import detail_of, find_estimate, leading_metric

from hqm import BenchmarkAudit
from hqm.auditing.budget import BudgetRow

MAX_BOARD_ROWS = 30
"""A leaderboard is drawn of its first places."""


@dataclass(frozen=True, slots=True)
class BoardRow:
    """A respondent's score with the ends of its interval, where it has one."""

    name: str
    score: float | None
    low: float | None = None
    high: float | None = None


def board_rows(audit: BenchmarkAudit) -> tuple[BoardRow, ...]:
    """The respondents by the leading metric, best first."""
    metric = leading_metric(audit)
    rows = []
    for row in respondents_in_order(audit)[:MAX_BOARD_ROWS]:
        low, high = row.intervals.get(metric) or (None, None)
        rows.append(BoardRow(row.name, row.scores.get(metric), low, high))
    return tuple(rows)


def has_shift(row: BudgetRow) -> bool:
    """Whether the shift of all models stands beside the bar of a source."""
    # New items and another metric have no direction of their own: a shift beside them would say
    # nothing.
    return row.shift is not None and row.source not in ("items", "metric")


@dataclass(frozen=True, slots=True)
class TypeScores:
    """The scores of the respondents on the items of one type."""

    type: str
    n_items: int
    scores: Mapping[str, float]

    @property
    def mean(self) -> float:
        """The mean over the respondents."""
        # The sum does not depend on the order of the respondents.
        return math.fsum(self.scores.values()) / len(self.scores)


def type_scores(audit: BenchmarkAudit) -> tuple[TypeScores, ...]:
    """The types that somebody has a score of, in the order of the audit."""
    rows = []
    for kind, covered in audit.coverage.items():
        scores = {}
        for respondent in audit.respondents:
            score = respondent.by_type.get(kind)
            if score is not None:
                scores[respondent.name] = score
        if scores:
            rows.append(TypeScores(kind, int(covered["items"]), scores))
    return tuple(rows)


@dataclass(frozen=True, slots=True)
class ItemPoint:
    """An item on the map of the items."""

    name: str
    difficulty: float
    """The share of respondents that get it right."""
    item_rest: float
    """Its correlation with the rest of the test."""
    flagged: bool


def item_points(audit: BenchmarkAudit, metric: str) -> tuple[ItemPoint, ...]:
    """The items with difficulty and discrimination; none where this was not measured."""
    item_map = detail_of(audit, "items.discrimination", "map", metric) or {}
    flagged = _flagged_items(audit, metric)
    columns = map(item_map.get, ("ids", "difficulty", "item_rest"), repeat(()))
    points = []
    for name, p, r in zip(*columns, strict=True):
        # an item that everybody gets right has no correlation
        if p is not None and r is not None:
            points.append(ItemPoint(name, p, r, name in flagged))
    return tuple(points)


def _flagged_items(audit: BenchmarkAudit, metric: str) -> set[str]:
    names: set[str] = set()
    for statistic in ("label_errors", "negative_items", "misfit_items"):
        estimate = find_estimate(audit, f"items.{statistic}", metric)
        if estimate is not None and estimate.value:
            # Items with a suspected key are `candidates`, all others `items`.
            names |= {str(row.get("item")) for row in estimate.detail.get("candidates", ())}
            names.update(map(str, estimate.detail.get("items", ())))
    return names
