"""What the metrics of one confusion table say of each other, from the ends of what their rounding
leaves open.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """All numbers that a printed one may stand for, or that follow from such numbers."""

    low: float
    high: float

    def holds(self, other: Span, slack: float = 1e-9) -> bool:
        """Whether the two have a number in common."""
        return self.low - slack <= other.high and other.low <= self.high + slack


def rounded(value: float, decimals: int, scale: float = 1.0) -> Span:
    """What a printed share may stand for, between 0 and 1.

    >>> rounded(0.5, 0), round(rounded(87.0, 1, 100).low, 4)
    (Span(low=0.0, high=1.0), 0.8695)
    """
    half = 0.5 * 10**-decimals
    return Span(max(0.0, (value - half) / scale), min(1.0, (value + half) / scale))


def _corners(formula: Callable[..., float], spans: Sequence[Span]) -> Span | None:
    """The range of a formula that is monotone in each of its arguments; None where it does not
    exist.
    """
    ends = itertools.product(*((span.low, span.high) for span in spans))
    values = [value for corner in ends if math.isfinite(value := formula(*corner))]
    return Span(min(values), max(values)) if len(values) == 2 ** len(spans) else None


def f1_from(precision: Span, recall: Span) -> Span | None:
    """F1 from precision and recall, their harmonic mean: F1 = 2 P R / (P + R).

    >>> span = f1_from(rounded(87.0, 1, 100), rounded(80.2, 1, 100))
    >>> round(span.low, 4), round(span.high, 4)
    (0.8341, 0.8351)
    """
    return _corners(
        lambda p, r: 2 * p * r / (p + r) if p + r > 0 else math.nan, (precision, recall)
    )


def yes_from(precision: Span, recall: Span, base: Span) -> Span | None:
    """The share of positive answers from precision, recall and the share of positive truths: Y =
    base R / P.

    >>> yes_from(Span(0.5, 0.5), Span(0.9, 0.9), Span(0.5, 0.5))
    Span(low=0.9, high=0.9)
    """
    return _corners(lambda p, r, b: b * r / p if p > 0 else math.nan, (precision, recall, base))


def accuracy_from(precision: Span, recall: Span, base: Span) -> Span | None:
    """Accuracy from precision, recall and the share of positive truths: A = 1 - base (1 + R / P - 2
    R).

    >>> span = accuracy_from(Span(0.8, 0.8), Span(0.6, 0.6), Span(0.5, 0.5))
    >>> round(span.low, 3)
    0.725
    """
    return _corners(
        lambda p, r, b: 1 - b * (1 + r / p - 2 * r) if p > 0 else math.nan,
        (precision, recall, base),
    )


def base_from_accuracy(accuracy: Span, precision: Span, recall: Span) -> Span | None:
    """The share of positive truths from accuracy, precision and recall: base = (1 - A) / (1 + R / P
    - 2 R).

    >>> span = base_from_accuracy(Span(0.725, 0.725), Span(0.8, 0.8), Span(0.6, 0.6))
    >>> round(span.low, 3)
    0.5
    """

    def base(a: float, p: float, r: float) -> float:
        rest = 1 + r / p - 2 * r if p > 0 else 0.0
        return (1 - a) / rest if rest > 1e-9 else math.nan

    return _corners(base, (accuracy, precision, recall))


def accuracy_from_yes(precision: Span, recall: Span, yes: Span) -> Span | None:
    """Accuracy from precision, recall and the share of positive answers: A = 1 - Y (1 + P / R - 2
    P).

    >>> span = accuracy_from_yes(Span(0.8, 0.8), Span(0.6, 0.6), Span(0.375, 0.375))
    >>> round(span.low, 3)
    0.725
    """
    return _corners(
        lambda p, r, y: 1 - y * (1 + p / r - 2 * p) if r > 0 else math.nan, (precision, recall, yes)
    )


def common_base(spans: Sequence[Span]) -> tuple[Span, tuple[int, ...]] | None:
    """The shares of positive truths that most rows allow together, and which rows allow them.

    None unless at least three rows, and more than half of them, have a share in common: rows that
    were asked the same questions have one base rate.

    >>> common_base([Span(0.49, 0.51), Span(0.48, 0.505), Span(0.495, 0.52), Span(0.3, 0.4)])
    (Span(low=0.495, high=0.505), (0, 1, 2))
    """
    best: tuple[int, ...] = ()
    for start in spans:
        holding = tuple(
            i for i, span in enumerate(spans) if span.low - 1e-9 <= start.low <= span.high + 1e-9
        )
        best = max(best, holding, key=len)
    if len(best) < 3 or 2 * len(best) <= len(spans):
        return None
    low, high = max(spans[i].low for i in best), min(spans[i].high for i in best)
    return Span(min(low, high), max(low, high)), best
