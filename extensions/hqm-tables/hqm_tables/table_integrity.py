"""Can the numbers of a published table be true, alone and beside each other?"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Literal

from hqm.psychometrics.result import Outcome

Number = str | int | float | Decimal
Kind = Literal[
    "GRIM",
    "ROW_MEAN",
    "OUT_OF_BOUNDS",
    "DUPLICATE_ROW",
    "DUPLICATE_COLUMN",
    "F1",
    "ACCURACY",
    "YES_RATIO",
    "COLUMN_MEAN",
]


@dataclass(frozen=True, slots=True)
class Violation:
    """A printed number that contradicts another, or what it claims to be.

    `row` and `column` name the place (a pair of equal rows in `row` is joined by " = ").
    """

    kind: Kind
    row: str
    column: str
    printed: str
    reason: str


@dataclass(frozen=True, slots=True)
class TableCheck(Outcome):
    """The rules that a published table violates.

    Attributes
    ----------
    violations
        In the order of the table.
    grim_checked
        How many numbers the test of possible means could have refuted.
    """

    violations: tuple[Violation, ...]
    grim_checked: int
    decimals: int


@dataclass(frozen=True, slots=True)
class Grim(Outcome):
    """Whether a rounded mean can come from whole numbers.

    `possible` is None when the test cannot tell. `nearest` are the two sums that come closest.
    """

    possible: bool | None
    nearest: tuple[int, int]


def _decimal(value: Number) -> Decimal:
    try:
        # through the text: a binary float such as 0.1 is no decimal fraction
        number = Decimal(str(value).strip())
    except ArithmeticError as error:
        raise ValueError(f"{value!r} is not a number") from error
    if not number.is_finite():
        raise ValueError(f"{value!r} is not a number")
    return number


def grim(mean: Number, n: int, *, decimals: int | None = None, scale: Number = 1) -> Grim:
    """Test whether a mean of n whole numbers can round to what is printed (GRIM).

    A rate over n items moves in steps of 1/n. If n is small against the printed decimals, most
    numbers are impossible, and a typing error, a wrong n or dropped answers show (Brown and
    Heathers 2017).

    Parameters
    ----------
    mean : Number
        As printed; a string keeps trailing zeros.
    n : int
        Number of whole numbers.
    decimals : int, optional
        Digits after the point, by default those of `mean`.
    scale : Number, default 1
        100 for a rate in per cent.

    Returns
    -------
    Grim
        Whether the mean is possible, and the two nearest sums. The status is `not_informative` when
        n is so large that every printed number is possible.

    Raises
    ------
    ValueError
        `n` is below 1, `scale` is not positive, or a number cannot be read.

    Notes
    -----
        possible  <=>  some whole k has |scale k / n - mean| <= half a unit of the last printed
            digit

    Examples
    --------
    >>> grim("5.19", 28).possible, grim("5.18", 28).possible, grim("0.748", 500).possible
    (False, True, True)
    """
    if n < 1:
        raise ValueError(f"a mean is of one number or more, got {n}")
    value = _decimal(mean)
    factor = _decimal(scale)
    if factor <= 0:
        raise ValueError(f"a scale is positive, got {scale}")
    digits = _digits(value) if decimals is None else decimals
    # half a unit of the last printed digit, exact in decimals
    half = Decimal(5).scaleb(-digits - 1)
    low = int((value * n / factor).to_integral_value(ROUND_FLOOR))
    high = int((value * n / factor).to_integral_value(ROUND_CEILING))
    # steps of 1 / n no wider than the rounding refute nothing
    if factor / n <= 2 * half:
        return Grim(
            None,
            (low, high),
            status="not_informative",
            reason=f"with n = {n} and {digits} decimals every printable number is possible",
        )
    # the two whole sums around the printed mean are the only candidates
    possible = any(abs(factor * k - value * n) <= half * n for k in (low, high))
    return Grim(possible, (low, high))


def _digits(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    if isinstance(exponent, int):
        return max(0, -exponent)
    return 0


def check_table(
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Sequence[Number]],
    *,
    n: Sequence[int] | int | None = None,
    decimals: int | None = None,
    scale: Number = 1,
    bounds: tuple[Number, Number] | None = None,
) -> TableCheck:
    """Check a published table of rates against itself.

    Rates must be possible with their number of items (GRIM), no two rows or columns may be equal,
    and nothing may leave the scale.

    Parameters
    ----------
    rows, columns : sequence of str
        Names.
    values : sequence of Sequence[Number], shape (rows, columns)
        As printed; strings keep trailing zeros.
    n : Sequence[int] | int, optional
        Items behind each column, or behind all; None leaves GRIM out.
    decimals : int, optional
        Digits after the point; by default the most that occur in the table.
    scale : Number, default 1
        100 for per cent.
    bounds : tuple[Number, Number], optional
        Least and greatest possible value; by default 0 and `scale`.

    Returns
    -------
    TableCheck
        The violations. Without violations when all can be true (which does not show that it is).
        The status is `not_informative` when no test could have refuted anything.

    Raises
    ------
    ValueError
        The table is not rectangular, or a number cannot be read.

    Examples
    --------
    >>> result = check_table(["m"], ["a", "b"], [["0.748", "0.501"]], n=500)
    >>> [(v.kind, v.column) for v in result.violations]
    [('GRIM', 'b')]
    """
    if len(values) != len(rows) or any(len(row) != len(columns) for row in values):
        raise ValueError(f"a table of {len(rows)} x {len(columns)} values is needed")
    sizes = _column_sizes(n, len(columns))
    table = [list(map(_decimal, row)) for row in values]
    digits = decimals
    if digits is None:
        digits = max(map(_digits, itertools.chain.from_iterable(table)), default=0)
    minimum, maximum = map(_decimal, bounds or (0, scale))
    violations: list[Violation] = []
    n_tests = 0
    for name, row in zip(rows, table, strict=True):
        # every cell by itself; contradictions between cells follow
        for column, size, value in zip(columns, sizes, row, strict=True):
            if not minimum <= value <= maximum:
                reason = f"outside {minimum} to {maximum}"
                violations.append(Violation("OUT_OF_BOUNDS", name, column, str(value), reason))
            if size is None:
                continue
            test = grim(value, size, decimals=digits, scale=scale)
            n_tests += test.possible is not None
            if test.possible is False:
                nearest = " and ".join(f"{k}/{size}" for k in test.nearest)
                reason = f"lies between {nearest}"
                violations.append(Violation("GRIM", name, column, str(value), reason))
    violations += _duplicates("DUPLICATE_ROW", rows, table)
    violations += _duplicates(
        "DUPLICATE_COLUMN", columns, [list(column) for column in zip(*table, strict=True)]
    )
    if not table or not columns:
        return TableCheck((), 0, digits, status="insufficient", reason="the table is empty")
    if not violations and n_tests == 0 and len(rows) < 2 and len(columns) < 2:
        return TableCheck(
            (),
            0,
            digits,
            status="not_informative",
            reason="no test could have refuted a number of this table",
        )
    return TableCheck(tuple(violations), n_tests, digits)


def _column_sizes(n: Sequence[int] | int | None, columns: int) -> list[int | None]:
    """Return the number of items of each column; None where it is not known."""
    if n is None or isinstance(n, int):
        return [n] * columns
    if len(n) != columns:
        raise ValueError(f"{columns} columns have {len(n)} numbers of items")
    return list(n)


def _duplicates(
    kind: Kind, names: Sequence[str], vectors: Sequence[Sequence[Decimal]]
) -> list[Violation]:
    # two equal numbers are a coincidence; three or more are looked at, if they are not all one
    # value
    violations = []
    for i, vector in enumerate(vectors):
        for j in range(i + 1, len(vectors)):
            if len(vector) >= 3 and list(vector) == list(vectors[j]) and len(set(vector)) > 1:
                row, column = (
                    (f"{names[i]} = {names[j]}", "")
                    if kind == "DUPLICATE_ROW"
                    else ("", f"{names[i]} = {names[j]}")
                )
                violations.append(
                    Violation(
                        kind, row, column, ", ".join(str(v) for v in vector), "all values are equal"
                    )
                )
    return violations


@dataclass(frozen=True, slots=True)
class Span:
    """All numbers that a printed one may stand for, or that follow from such numbers."""

    low: float
    high: float

    def holds(self, span: Span, slack: float = 1e-9) -> bool:
        """Return whether the two intervals overlap."""
        return self.low - slack <= span.high and span.low <= self.high + slack


def rounding_interval(value: float, decimals: int, scale: float = 1.0) -> Span:
    """What a printed share may stand for, between 0 and 1.

    >>> rounding_interval(0.5, 0), round(rounding_interval(87.0, 1, 100).low, 4)
    (Span(low=0.0, high=1.0), 0.8695)
    """
    # a printed number stands for all that round to it
    half_unit = 0.5 * 10**-decimals
    return Span(max(0.0, (value - half_unit) / scale), min(1.0, (value + half_unit) / scale))


def _monotone_range(formula: Callable[..., float], spans: Sequence[Span]) -> Span | None:
    """Return the range of a formula monotone in each argument; None where it does not exist."""
    # a formula monotone in each argument has its extremes at the corners
    ends = itertools.product(*((span.low, span.high) for span in spans))
    values = [value for corner in ends if math.isfinite(value := formula(*corner))]
    # a corner where it divides by zero leaves no range
    if len(values) == 2 ** len(spans):
        return Span(min(values), max(values))
    return None


def f1_from(precision: Span, recall: Span) -> Span | None:
    """F1 from precision and recall, their harmonic mean: F1 = 2 P R / (P + R).

    >>> span = f1_from(rounding_interval(87.0, 1, 100), rounding_interval(80.2, 1, 100))
    >>> round(span.low, 4), round(span.high, 4)
    (0.8341, 0.8351)
    """
    return _monotone_range(
        lambda p, r: 2 * p * r / (p + r) if p + r > 0 else math.nan, (precision, recall)
    )


def yes_rate_from(precision: Span, recall: Span, base: Span) -> Span | None:
    """The share of positive answers from precision, recall and the share of positive truths: Y =
    base R / P.

    >>> yes_rate_from(Span(0.5, 0.5), Span(0.9, 0.9), Span(0.5, 0.5))
    Span(low=0.9, high=0.9)
    """
    return _monotone_range(
        lambda p, r, b: b * r / p if p > 0 else math.nan, (precision, recall, base)
    )


def accuracy_from(precision: Span, recall: Span, base: Span) -> Span | None:
    """Accuracy from precision, recall and the share of positive truths: A = 1 - base (1 + R / P - 2
    R).

    >>> span = accuracy_from(Span(0.8, 0.8), Span(0.6, 0.6), Span(0.5, 0.5))
    >>> round(span.low, 3)
    0.725
    """
    return _monotone_range(
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
        # 1 + R / P - 2 R is 0 where accuracy does not depend on the base rate
        denominator = 1 + r / p - 2 * r if p > 0 else 0.0
        if denominator > 1e-9:
            return (1 - a) / denominator
        return math.nan

    return _monotone_range(base, (accuracy, precision, recall))


def accuracy_from_yes(precision: Span, recall: Span, yes: Span) -> Span | None:
    """Accuracy from precision, recall and the share of positive answers: A = 1 - Y (1 + P / R - 2
    P).

    >>> span = accuracy_from_yes(Span(0.8, 0.8), Span(0.6, 0.6), Span(0.375, 0.375))
    >>> round(span.low, 3)
    0.725
    """
    return _monotone_range(
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
    # an interval that contains the lower end of another overlaps with it: a largest set of
    # overlapping intervals contains the highest lower end among them
    for start in spans:
        containing = tuple(
            i for i, span in enumerate(spans) if span.low - 1e-9 <= start.low <= span.high + 1e-9
        )
        best = max(best, containing, key=len)
    if len(best) < 3 or 2 * len(best) <= len(spans):
        return None
    # rounding may leave the intersection empty by less than the slack
    low = max(spans[i].low for i in best)
    high = min(spans[i].high for i in best)
    return Span(min(low, high), max(low, high)), best
