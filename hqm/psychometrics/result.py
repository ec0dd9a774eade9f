"""The frozen value that every coefficient is returned as."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "insufficient", "degenerate", "not_informative", "not_applicable"]


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A number with its interval, its sample size and its state.

    Parameters
    ----------
    value
        NaN unless `status` is `ok` or `not_informative`.
    low, high
        The confidence interval; NaN where none exists.
    n
        How many respondents went in.
    level, method
        How the interval was made.
    status, reason
        `ok`, or why there is no number, in a sentence.
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    n: int = 0
    level: float = 0.95
    method: str = ""
    status: Status = "ok"
    reason: str = ""

    @classmethod
    def absent(cls, status: Status, reason: str, n: int = 0) -> Coefficient:
        """A coefficient that does not exist, and why."""
        return cls(math.nan, n=n, status=status, reason=reason)
