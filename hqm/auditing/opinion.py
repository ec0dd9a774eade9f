"""What libraries say of the numbers of an audit: single checks, and those of a benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import pandas as pd

Outcome = Literal["agrees", "differs", "other_definition", "not_computed"]


COLUMNS = (
    "metric",
    "indicator",
    "quantity",
    "library",
    "ours",
    "theirs",
    "difference",
    "tolerance",
    "outcome",
    "reason",
)
"""What a check holds, in the order of its table."""


@dataclass(frozen=True, slots=True)
class Check:
    """One number of an audit beside that of a library.

    Attributes
    ----------
    metric, indicator
        What ours is: the name of the metric, and that of the indicator.
    quantity
        What the number is, in words, with the administrations compared.
    library
        The function that computed the other number.
    ours, theirs
        The two numbers; None where there is none.
    tolerance
        How far they may lie apart; None where the definitions differ, and agreement is not judged.
    reason
        How the definitions differ, or why there is no number.
    """

    metric: str
    indicator: str
    quantity: str
    library: str
    ours: float | None
    theirs: float | None
    tolerance: float | None = None
    reason: str = ""

    @property
    def difference(self) -> float | None:
        """Theirs minus ours."""
        if self.ours is None or self.theirs is None:
            return None
        return self.theirs - self.ours

    @property
    def outcome(self) -> Outcome:
        """Whether the two agree within the tolerance, where agreement is judged."""
        # In this order: without their number nothing was compared, and without a tolerance nothing
        # judged.
        if self.theirs is None:
            return "not_computed"
        if self.tolerance is None or self.difference is None:
            return "other_definition"
        if abs(self.difference) <= self.tolerance:
            return "agrees"
        return "differs"

    def to_dict(self) -> dict[str, object]:
        """Return all of it by name, in the order of `COLUMNS`."""
        return {name: getattr(self, name) for name in COLUMNS}


@dataclass(frozen=True, slots=True)
class SecondOpinion:
    """The numbers of one benchmark's audit, each beside that of a library.

    Attributes
    ----------
    benchmark, title
        The benchmark.
    checks
        Every number that was computed again.
    remarks
        What was not computed again, a sentence each.
    versions
        Library -> its version.
    """

    benchmark: str
    title: str
    checks: tuple[Check, ...]
    remarks: tuple[str, ...]
    versions: Mapping[str, str]

    @property
    def findings(self) -> tuple[Check, ...]:
        """The numbers that lie further apart than their tolerance."""
        return tuple(check for check in self.checks if check.outcome == "differs")

    @property
    def judged(self) -> tuple[Check, ...]:
        """The numbers whose definitions are the same in both."""
        return tuple(check for check in self.checks if check.outcome in ("agrees", "differs"))

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each number, as it was computed, never rounded."""
        import pandas as pd

        return pd.DataFrame([check.to_dict() for check in self.checks], columns=[*COLUMNS])

    def to_dict(self) -> dict[str, object]:
        """Return the same for JSON."""
        return {
            "benchmark": self.benchmark,
            "versions": dict(self.versions),
            "checks": [check.to_dict() for check in self.checks],
            "remarks": list(self.remarks),
        }
