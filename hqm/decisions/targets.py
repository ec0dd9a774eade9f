"""Targets of a study, as they are written on the command line: `mdd<=.02`, `rho_g>=.95`,
`sem[counting]<=.03`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from hqm.errors import UsageError
from hqm.psychometrics.study_forecast import ALIASES, PRECISIONS, Precision

_WRITTEN = re.compile(r"\s*(\w+)\s*(?:\[(.+?)\])?\s*(>=|<=)\s*([-+.\deE]+)\s*")
OF_A_TYPE = ("sem", "half_width")
"""The figures that may be wanted of one hallucination type."""


@dataclass(frozen=True, slots=True)
class Target:
    """A figure that a study is to reach; of one hallucination type where `kind` names it."""

    figure: str
    value: float
    kind: str = ""

    @property
    def precision(self) -> Precision:
        return PRECISIONS[self.figure]

    @property
    def name(self) -> str:
        return f"{self.figure}[{self.kind}]" if self.kind else self.figure

    def met(self, value: float) -> bool:
        """Whether a value reaches the target; what is rounding does not count."""
        slack = 1e-9 * max(1.0, abs(self.value))
        return value >= self.value - slack if self.precision.higher else value <= self.value + slack

    def __str__(self) -> str:
        return f"{self.name}{'>=' if self.precision.higher else '<='}{self.value:g}"


def parse_target(text: str) -> Target:
    """Read a target.

    >>> str(parse_target("retest >= .95")), parse_target("sem[counting]<=.03").kind
    ('rho_g>=0.95', 'counting')

    Raises
    ------
    UsageError
        The figure means nothing, the sign points the wrong way, or the value is none.
    """
    read = _WRITTEN.fullmatch(text)
    if read is None:
        raise UsageError(
            f"the target {text!r} cannot be read", remedy='Write it as "mdd<=.02" or "rho_g>=.95".'
        )
    written, kind, sign, number = read.groups()
    figure = ALIASES.get(written, written)
    known = (*PRECISIONS, *ALIASES)
    if figure not in PRECISIONS:
        raise UsageError(
            f"there is no figure {written!r} to reach",
            remedy=f"There are {', '.join(known)}.",
            given=written,
            known=known,
        )
    if (sign == ">=") != PRECISIONS[figure].higher:
        right = ">=" if PRECISIONS[figure].higher else "<="
        better = "higher" if PRECISIONS[figure].higher else "lower"
        raise UsageError(
            f"the target {text!r} points the wrong way: {better} is better",
            remedy=f"Write {written}{right}{number}.",
        )
    try:
        value = float(number)
    except ValueError:
        raise UsageError(
            f"the target {text!r} has no number", remedy='Write it as "mdd<=.02".'
        ) from None
    if not (math.isfinite(value) and value > 0) or (PRECISIONS[figure].higher and value >= 1):
        span = "between 0 and 1" if PRECISIONS[figure].higher else "above 0"
        raise UsageError(f"no study reaches {text!r}", remedy=f"Give a number {span}.")
    if kind and figure not in OF_A_TYPE:
        raise UsageError(
            f"{figure} is no figure of a single type",
            remedy=f"Of a type there are {', '.join(OF_A_TYPE)}.",
        )
    return Target(figure, value, kind or "")


def parse_targets(targets: Sequence[str | Target]) -> tuple[Target, ...]:
    """Read several targets; each figure once.

    Raises
    ------
    UsageError
        There is none, a figure stands twice, or one cannot be read.
    """
    if isinstance(targets, str):
        targets = [targets]
    made = tuple(parse_target(t) if isinstance(t, str) else t for t in targets)
    if not made:
        raise UsageError(
            "there is no target", remedy='Name one with --target "mdd<=.02"; it may be repeated.'
        )
    names = [target.name for target in made]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise UsageError(f"{twice} is wanted twice", remedy="Name each figure once.")
    return made
