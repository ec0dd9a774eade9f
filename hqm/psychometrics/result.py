"""The frozen value that every coefficient is returned as."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "insufficient", "degenerate", "not_informative", "not_applicable"]


@dataclass(frozen=True, slots=True)
class Bounds:
    """A confidence interval with how it was made."""

    low: float
    high: float
    method: str
    level: float = 0.95

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
      NaN where none exists.
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

    @classmethod
    def absent(cls, status: Status, reason: str, n: int = 0) -> Coefficient:
        """A coefficient that does not exist, and why."""
        return cls(math.nan, n=n, status=status, reason=reason)
