"""The frozen value that every coefficient is returned as, and the arrays that go through the
package.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

Status = Literal["ok", "insufficient", "degenerate", "not_informative", "not_applicable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Status of a result: `ok`, or why there is no number, in a sentence."""

    status: Status = "ok"
    reason: str = ""

    @classmethod
    def absent(cls, status: Status, reason: str, **fields: object) -> Self:
        """Return a result without numbers, with its reason and what `fields` give."""
        return cls(**fields, status=status, reason=reason)


@dataclass(frozen=True, slots=True)
class ConfidenceInterval:
    """A confidence interval and the method that computed it.

    Parameters
    ----------
    low, high
        Its ends; an open one is infinite.
    method
        The name of the method.
    level
        The confidence level.
    """

    low: float
    high: float
    method: str
    level: float = 0.95

    def transformed(self, transform: Callable[[float], float]) -> ConfidenceInterval:
        """Return the interval after a monotone transformation; an open end stays open."""
        low, high = (
            transform(limit) if math.isfinite(limit) else limit for limit in (self.low, self.high)
        )
        return replace(self, low=low, high=high)

    @classmethod
    def symmetric(
        cls,
        value: float,
        half_width: float,
        method: str,
        level: float,
        *,
        minimum: float = -math.inf,
        maximum: float = math.inf,
    ) -> ConfidenceInterval:
        """Return value +- half width, truncated at the minimum and maximum."""
        return cls(
            max(minimum, value - half_width), min(maximum, value + half_width), method, level
        )

    @classmethod
    def from_log_complement(
        cls, complement: float, half_width: float, name: str, level: float
    ) -> ConfidenceInterval:
        """Return the interval of a coefficient 1 - `complement` from that of log(complement)."""
        # a decreasing function: the upper end of log(1 - r) is the lower end of r
        limits = 1 - complement * math.exp(half_width), 1 - complement * math.exp(-half_width)
        return cls(*limits, f"cluster jackknife of log(1 - {name})", level)


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A coefficient with its intervals, its sample size and its status.

    Attributes
    ----------
    value
        NaN unless `status` is `ok` or `not_informative`.
    low, high
        The confidence interval over another sample of respondents (`model_population`); NaN where
        none exists. Where `high` is infinite, `low` is one-sided: at least so much.
    n
        How many respondents went in.
    n_items
        How many items went in; 0 where the estimator does not say.
    level, method
        How the interval was made.
    status, reason
        `ok`, or why there is no number, in a sentence.
    fixed
        The interval for these respondents over another sample of items or seeds (`fixed_models`),
        where there is one.
    se
        The standard error on the scale of `value`; NaN where none is used.
    raw
        What the formula gave before it was cut to its range (a negative variance ratio); NaN where
        nothing was cut.
    flags
        Names of what a reader must know beside the number (`NEGATIVE_COMPONENT`).
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    n: int = 0
    level: float = 0.95
    method: str = ""
    status: Status = "ok"
    reason: str = ""
    fixed: ConfidenceInterval | None = None
    se: float = math.nan
    raw: float = math.nan
    flags: tuple[str, ...] = ()
    n_items: int = 0

    def __str__(self) -> str:
        """Return the value with what is known of other respondents; an open upper end is not named.

        >>> print(Coefficient(0.8449, 0.5768, math.inf), Coefficient(0.9), sep="; ")
        0.845, at least 0.577; 0.900
        >>> Coefficient(0.8449, 0.6509, 0.9543, n=10)
        Coefficient(0.845 [0.651, 0.954], n=10)
        """
        if self.status != "ok" and math.isnan(self.value):
            return f"{self.status}: {self.reason}"
        # no interval over other respondents was computed
        if math.isnan(self.low):
            return f"{self.value:.3f}"
        if self.high == math.inf:
            return f"{self.value:.3f}, at least {self.low:.3f}"
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"

    def __repr__(self) -> str:
        return f"Coefficient({self}, n={self.n})"

    def transformed(self, transform: Callable[[float], float]) -> Coefficient:
        """Return the coefficient after a transformation that keeps order, with all ends.

        An open end stays open.

        >>> Coefficient(0.5, 0.25, math.inf).transformed(lambda r: 2 * r / (1 + r)).low
        0.4
        """
        low, high = (
            transform(limit) if math.isfinite(limit) else limit for limit in (self.low, self.high)
        )
        if self.fixed is None:
            fixed = None
        else:
            fixed = self.fixed.transformed(transform)
        return replace(self, value=transform(self.value), low=low, high=high, fixed=fixed)

    @classmethod
    def over_items(
        cls,
        value: float,
        standard_error: float,
        level: float,
        method: str,
        *,
        n: int = 0,
        multiplier: float = math.nan,
        minimum: float = -math.inf,
        maximum: float = math.inf,
    ) -> Coefficient:
        """Return a coefficient with an interval for these respondents over other items.

        It is `multiplier` standard errors wide on each side, those of a normal distribution
        unless given; there is none where nothing varies, as an interval without width claims a
        certainty that few items do not give.
        """
        if not standard_error > 0:
            return cls(value, n=n, level=level)
        half_width = (
            normal_quantile(level) if math.isnan(multiplier) else multiplier
        ) * standard_error
        interval = ConfidenceInterval.symmetric(
            value, half_width, method, level, minimum=minimum, maximum=maximum
        )
        return cls(value, n=n, level=level, fixed=interval, se=standard_error)

    @classmethod
    def absent(cls, status: Status, reason: str, n: int = 0) -> Coefficient:
        """Return a coefficient without a value, with the reason."""
        return cls(math.nan, n=n, status=status, reason=reason)


Array = npt.NDArray[np.float64]
"""Numbers; a missing one is NaN."""

BoolArray = npt.NDArray[np.bool_]
"""One yes or no for each entry."""

IntArray = npt.NDArray[np.int64]
"""Whole numbers: counts, places, codes."""

Indices = npt.NDArray[np.intp]
"""Places in another array, to index it."""

Labels = npt.NDArray[np.generic]
"""Names or numbers that say what belongs together."""

ArrayLike = npt.ArrayLike
"""What becomes an array: lists of numbers, frames, arrays."""


def float_array(values: npt.ArrayLike, shape: str, name: str = "scores") -> Array:
    """Return values as floats; ValueError unless they have as many axes as `shape` names."""
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != len(shape.split(", ")):
        raise ValueError(f"{name} must have shape ({shape}), got {x.shape}")
    return x


def equal_shape_arrays(x: npt.ArrayLike, y: npt.ArrayLike, shape: str) -> tuple[Array, Array]:
    """Return two arrays of one shape as floats; ValueError unless `shape` names their axes."""
    a = np.asarray(x, dtype=np.float64)
    b = np.asarray(y, dtype=np.float64)
    if a.shape != b.shape or a.ndim != len(shape.split(", ")):
        raise ValueError(f"two arrays of shape ({shape}) are needed, got {a.shape} and {b.shape}")
    return a, b


def ratio(numerator: npt.ArrayLike, denominator: npt.ArrayLike) -> Array:
    """Division that gives NaN, without a warning, where the denominator is 0.

    >>> ratio([1.0, 1.0], [2.0, 0.0])
    array([0.5, nan])
    """
    numerator = np.asarray(numerator, dtype=np.float64)
    denominator = np.asarray(denominator, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(denominator == 0, np.nan, numerator / denominator)


def finite_mean(x: Array) -> float:
    """Return the mean of the finite numbers; NaN where none is finite."""
    finite_values = x[np.isfinite(x)]
    if len(finite_values):
        return float(finite_values.mean())
    return math.nan


def normal_quantile(level: float) -> float:
    """Return the two-sided normal quantile of a confidence level."""
    return float(ndtri(0.5 + level / 2))


def is_constant(x: Array) -> bool:
    """Return whether a vector does not vary beyond rounding."""
    return bool(constant_vectors(x))


def constant_vectors(x: Array) -> BoolArray:
    """(...,): which vectors along the last axis do not vary beyond rounding."""
    high = x.max(axis=-1)
    low = x.min(axis=-1)
    # 1e-12: sums of thousands of numbers differ by rounding of this size
    return np.asarray(high - low <= 1e-12 * np.maximum(1.0, np.maximum(high, -low)))


def effective_size(n: int, n_effective: float | None) -> float:
    """Return the number of independent respondents: `n`, or the effective number of relatives."""
    if n_effective is None:
        return float(n)
    return min(float(n), float(n_effective))
