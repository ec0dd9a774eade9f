"""The unit in which the scores of a metric are printed, on every page and in every test of a gate:
points, which are shares times 100, or the metric's own units.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from hqm.auditing.audit import BenchmarkAudit
from hqm.indicators import indicator_named
from hqm.scoring.metrics import PER_CENT, UNIT
from hqm.text import DASH, decimal_text
from hqm.types import Estimate


def is_share(audit: BenchmarkAudit, metric: str) -> bool:
    """Whether the scores of a metric are shares."""
    scores = []
    for row in audit.respondents:
        scores += [by_metric.get(metric) for by_metric in (row.scores, *row.cells.values())]
    return _are_shares(audit.scale(metric), [score for score in scores if score is not None])


def _are_shares(scale: Sequence[float | None], scores: Collection[float]) -> bool:
    """Whether scores are shares: by their scale, or without one whether all lie between 0 and 1."""
    # A scale is known from the metric or its name; without one the scores decide.
    if tuple(scale) != (None, None):
        return tuple(scale) == UNIT
    return bool(scores) and all(0 <= score <= 1 for score in scores)


@dataclass(frozen=True, slots=True)
class Points:
    """The unit in which the scores of a metric are printed: shares times 100, with one decimal."""

    factor: float
    digits: int

    @classmethod
    def for_metric(cls, audit: BenchmarkAudit, metric: str = "") -> Points:
        """Return the points of a metric, the leading one unless named."""
        metric = metric or next(iter(audit.metrics), "")
        return cls._on_scale(audit.scale(metric), share=is_share(audit, metric))

    @classmethod
    def for_scores(cls, scale: Sequence[float | None], scores: Collection[float]) -> Points:
        """Return the points of scores on a scale."""
        return cls._on_scale(scale, share=_are_shares(scale, scores))

    @classmethod
    def _on_scale(cls, scale: Sequence[float | None], *, share: bool) -> Points:
        # per cents have the decimals of the shares that they are
        digits = 1 if share or tuple(scale) == PER_CENT else 2
        # Percentages, as the metrics of AMBER have them, are points already.
        return cls(100.0 if share else 1.0, digits)

    @property
    def are_per_cents(self) -> bool:
        """Whether they can stand on an axis with those of other benchmarks; grades cannot."""
        return self.digits == 1

    def format(self, value: float | None, *, sign: bool = False) -> str:
        """A number of points.

        >>> Points(100.0, 1).format(0.0583, sign=True)
        '+5.8'
        """
        if value is None:
            return DASH
        text = decimal_text(value * self.factor, self.digits)
        # a value that is rounded to 0 has no sign
        positive = sign and value > 0 and float(text) != 0
        if positive:
            return f"+{text}"
        return text

    def format_limit(self, value: float) -> str:
        """A limit that a policy names, with no more decimals than it was given.

        >>> Points(100.0, 1).format_limit(0.03), Points(100.0, 1).format_limit(0.025)
        ('3', '2.5')
        """
        # Six significant digits remove what multiplying by 100 adds, as in 2.8000000000000003.
        return f"{value * self.factor:.6g}"

    def format_beside(self, value: float | None, limit: float) -> str:
        """A number of points that is compared with a limit, with the decimals that show on which
        side of it the number lies.

        >>> Points(1.0, 2).format_beside(0.1236, 0.12), Points(1.0, 2).format_beside(0.1, 0.12)
        ('0.124', '0.10')
        """
        if value is None or value == limit:
            return self.format(value)
        rounded_limit = float(self.format_limit(limit))
        for digits in range(self.digits, 6):
            text = decimal_text(value * self.factor, digits)
            if round(abs(value) * self.factor, digits) != rounded_limit:
                break
        return text

    def format_interval(self, low: float | None, high: float | None) -> str:
        """An interval in points; empty where there is none."""
        if low is None or high is None:
            return ""
        return f"[{self.format(low)}, {self.format(high)}]"


SHARE_POINTS = Points(100.0, 1)
"""The points of shares of answers."""


def is_score(estimate: Estimate) -> bool:
    """Whether an estimate is a score, or a difference or an error of scores."""
    indicator = indicator_named(estimate.indicator)
    return indicator is not None and indicator.unit.kind == "score"


def unit_of_estimate(audit: BenchmarkAudit, estimate: Estimate) -> tuple[Points, str]:
    """Return how the numbers of an estimate are printed, and the unit behind them: scores in
    points, and coefficients without a unit.
    """
    if is_score(estimate):
        return Points.for_metric(audit, estimate.metric), " points"
    return Points(1.0, 3), ""
