"""The frozen value that every coefficient is returned as, and the arrays that go through the
package.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

Status = Literal["ok", "insufficient", "degenerate", "not_informative", "not_applicable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What every result says of itself: `ok`, or why there is no number, in a sentence."""

    status: Status = "ok"
    reason: str = ""

    @classmethod
    def absent(cls, status: Status, reason: str, **known: Any) -> Self:
        """A result without numbers, and why; `known` are the fields that are known all the same."""
        return cls(**known, status=status, reason=reason)


@dataclass(frozen=True, slots=True)
class Bounds:
    """A confidence interval with how it was made."""

    low: float
    high: float
    method: str
    level: float = 0.95

    def moved(self, of: Callable[[float], float]) -> Bounds:
        """The ends after a transformation that keeps their order; an open end stays open."""
        low, high = (of(end) if math.isfinite(end) else end for end in (self.low, self.high))
        return replace(self, low=low, high=high)

    @classmethod
    def around(
        cls,
        value: float,
        half: float,
        method: str,
        level: float,
        *,
        least: float = -math.inf,
        most: float = math.inf,
    ) -> Bounds:
        """As far to both sides of a value, cut at the least and the most that there can be."""
        return cls(max(least, value - half), min(most, value + half), method, level)

    @classmethod
    def below_one(cls, ratio: float, half: float, name: str, level: float) -> Bounds:
        """Of a coefficient `name` = 1 - `ratio`, from half of the interval of the ratio's
        logarithm.
        """
        ends = 1 - ratio * math.exp(half), 1 - ratio * math.exp(-half)
        return cls(*ends, f"cluster jackknife of log(1 - {name})", level)


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A number with its intervals, its sample size and its state.

    - `value`: NaN unless `status` is `ok` or `not_informative`.
    - `low, high`: The confidence interval over another sample of respondents (`model_population`);
      NaN where none exists. Where `high` is infinite, `low` is one-sided: at least so much.
    - `n`: How many respondents went in.
    - `n_items`: How many items went in; 0 where the estimator does not say.
    - `level, method`: How the interval was made.
    - `status, reason`: `ok`, or why there is no number, in a sentence.
    - `fixed`: The interval for these respondents over another sample of items or seeds
      (`fixed_models`), where there is one.
    - `se`: The standard error on the scale of `value`; NaN where none is used.
    - `raw`: What the formula gave before it was cut to its range (a negative variance ratio); NaN
      where nothing was cut.
    - `flags`: Names of what a reader must know beside the number (`NEGATIVE_COMPONENT`).
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    n: int = 0
    level: float = 0.95
    method: str = ""
    status: Status = "ok"
    reason: str = ""
    fixed: Bounds | None = None
    se: float = math.nan
    raw: float = math.nan
    flags: tuple[str, ...] = ()
    n_items: int = 0

    def __str__(self) -> str:
        """The value with what is known of other respondents; an open upper end is not named.

        >>> print(Coefficient(0.8449, 0.5768, math.inf), Coefficient(0.9), sep="; ")
        0.845, at least 0.577; 0.900
        >>> Coefficient(0.8449, 0.6509, 0.9543, n=10)
        Coefficient(0.845 [0.651, 0.954], n=10)
        """
        if self.status != "ok" and math.isnan(self.value):
            return f"{self.status}: {self.reason}"
        if math.isnan(self.low):
            return f"{self.value:.3f}"
        if self.high == math.inf:
            return f"{self.value:.3f}, at least {self.low:.3f}"
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"

    def __repr__(self) -> str:
        return f"Coefficient({self}, n={self.n})"

    def moved(self, of: Callable[[float], float]) -> Coefficient:
        """The coefficient after a transformation that keeps order, with all ends; an open end stays
        open.

        >>> Coefficient(0.5, 0.25, math.inf).moved(lambda r: 2 * r / (1 + r)).low
        0.4
        """
        low, high = (of(end) if math.isfinite(end) else end for end in (self.low, self.high))
        fixed = None if self.fixed is None else self.fixed.moved(of)
        return replace(self, value=of(self.value), low=low, high=high, fixed=fixed)

    @classmethod
    def over_items(
        cls,
        value: float,
        error: float,
        level: float,
        method: str,
        *,
        n: int = 0,
        reach: float = math.nan,
        least: float = -math.inf,
        most: float = math.inf,
    ) -> Coefficient:
        """With an interval for these respondents over other items, of `reach` standard errors
        (those of a normal distribution unless given); with none where nothing varies, as an
        interval without width claims a certainty that few items do not give.
        """
        if not error > 0:
            return cls(value, n=n, level=level)
        half = (normal_quantile(level) if math.isnan(reach) else reach) * error
        ends = Bounds.around(value, half, method, level, least=least, most=most)
        return cls(value, n=n, level=level, fixed=ends, se=error)

    @classmethod
    def absent(cls, status: Status, reason: str, n: int = 0) -> Coefficient:
        """A coefficient that does not exist, and why."""
        return cls(math.nan, n=n, status=status, reason=reason)


Array = npt.NDArray[np.float64]
"""Numbers; a missing one is NaN."""

Flags = npt.NDArray[np.bool_]
"""One yes or no for each entry."""

Numbers = npt.NDArray[np.int64]
"""Whole numbers: counts, places, codes."""

Places = npt.NDArray[np.intp]
"""Places in another array, to index it."""

Labels = npt.NDArray[np.generic]
"""Names or numbers that say what belongs together."""

ArrayLike = npt.ArrayLike
"""What becomes an array: lists of numbers, frames, arrays."""


def shaped(values: npt.ArrayLike, shape: str, what: str = "scores") -> Array:
    """Values as numbers; ValueError unless they have as many axes as `shape` names, such as
    `respondents, items`.
    """
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != len(shape.split(", ")):
        raise ValueError(f"{what} must have shape ({shape}), got {x.shape}")
    return x


def shaped_alike(x: npt.ArrayLike, y: npt.ArrayLike, shape: str) -> tuple[Array, Array]:
    """Two arrays of one shape as numbers; ValueError unless they have as many axes as `shape`
    names.
    """
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if a.shape != b.shape or a.ndim != len(shape.split(", ")):
        raise ValueError(f"two arrays of shape ({shape}) are needed, got {a.shape} and {b.shape}")
    return a, b


def ratio(top: npt.ArrayLike, bottom: npt.ArrayLike) -> Array:
    """Division that gives NaN, without a warning, where the denominator is 0.

    >>> ratio([1.0, 1.0], [2.0, 0.0])
    array([0.5, nan])
    """
    top, bottom = np.asarray(top, dtype=np.float64), np.asarray(bottom, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(bottom == 0, np.nan, top / bottom)


def mean_of_known(x: Array) -> float:
    """The mean of the numbers that are there; NaN where none is."""
    known = x[np.isfinite(x)]
    return float(known.mean()) if len(known) else math.nan


def normal_quantile(level: float) -> float:
    """How many standard errors a normal interval of this level reaches to either side."""
    return float(ndtri(0.5 + level / 2))


def is_constant(x: Array) -> bool:
    """Whether a vector does not vary beyond rounding."""
    return bool(np.ptp(x) <= 1e-12 * max(1.0, float(np.abs(x).max())))


def size_of(n: int, n_effective: float | None) -> float:
    """The number of independent respondents: `n`, or the effective number where some are
    relatives.
    """
    return float(n) if n_effective is None else min(float(n), float(n_effective))
