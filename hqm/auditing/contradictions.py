"""What of a published table cannot be true, and what it was checked for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hqm.psychometrics import Violation

KINDS: Mapping[str, str] = {
    "F1": "F1",
    "ACCURACY": "accuracy",
    "YES_RATIO": "the yes ratio",
    "ROW_MEAN": "a mean of parts",
    "COLUMN_MEAN": "a mean of a column",
    "GRIM": "a share of the items",
    "OUT_OF_BOUNDS": "a number outside its scale",
    "DUPLICATE_ROW": "equal rows",
    "DUPLICATE_COLUMN": "equal columns",
}
"""Every kind of contradiction, and what it is about."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A printed number that others of the table contradict.

    Parameters
    ----------
    violation
        The number, where it stands, and what contradicts it.
    off
        By how much it is off, in its own units; NaN where that is no number.
    unless
        What would explain it, where an ordinary way of counting does; empty where nothing does.
    """

    violation: Violation
    off: float = math.nan
    unless: str = ""

    def to_dict(self) -> dict[str, str | float | None]:
        """As `--json` prints it."""
        v = self.violation
        return {
            "kind": v.kind,
            "row": v.row,
            "column": v.column,
            "printed": v.printed,
            "reason": v.reason,
            "off": self.off if math.isfinite(self.off) else None,
            "unless": self.unless,
        }


@dataclass
class Tally:
    """Counts, while a table is checked, what each check could have refuted, and notes what was
    supposed.
    """

    checks: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, what: str, number: int) -> None:
        """Count numbers that a check could have refuted."""
        if number:
            self.checks[what] = self.checks.get(what, 0) + number


@dataclass(frozen=True, slots=True)
class Checked:
    """What a table was checked for, and what came of it.

    Parameters
    ----------
    contradictions
        In the order of the checks.
    checks
        What was held against what, with the number of printed numbers that each check could have
        refuted.
    notes
        What was supposed on the way.
    """

    contradictions: tuple[Contradiction, ...]
    checks: Mapping[str, int]
    notes: tuple[str, ...] = ()

    @property
    def refuted(self) -> tuple[Contradiction, ...]:
        """The contradictions that no ordinary way of counting explains."""
        return tuple(each for each in self.contradictions if not each.unless)

    def sentence(self) -> str:
        """What the checks come to, in words."""
        if not self.checks and not self.contradictions:
            return "Nothing in this table can be checked against anything else in it."
        made = "; ".join(f"{name}: {count}" for name, count in self.checks.items())
        held = f" Checked: {made}." if made else ""
        explained = [each for each in self.contradictions if each.unless]
        rest = (
            f" Possible only under the condition named with each: {_counted(explained)}."
            if explained
            else ""
        )
        if self.refuted:
            return f"The table contradicts itself: {_counted(self.refuted)}.{rest}{held}"
        if explained:
            return f"Nothing in this table is impossible.{rest}{held}"
        return f"The table is consistent with itself, as far as it can be checked.{held}"


def _counted(contradictions: Sequence[Contradiction]) -> str:
    parts = []
    for kind, what in KINDS.items():
        own = [each for each in contradictions if each.violation.kind == kind]
        known = [abs(each.off) for each in own if math.isfinite(each.off)]
        if own:
            most = f" (by up to {max(known):.3g})" if known else ""
            parts.append(f"{what} in {len(own)} {'place' if len(own) == 1 else 'places'}{most}")
    return ", ".join(parts)
