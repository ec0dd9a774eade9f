"""What libraries say of the numbers of an audit: the answers of one metric beside our estimates,
single checks, and those of a benchmark.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from hqm.auditing.answer_scores import AnswerScores
from hqm.auditing.audit import BenchmarkAudit
from hqm.types import Estimate, finite

if TYPE_CHECKING:
    import pandas as pd

Outcome = Literal["agrees", "differs", "other_definition", "not_computed"]
EXACT = 1e-6
"""How far two computations of one formula may lie apart: only rounding separates them."""
MAX_INTERVAL_SHIFT = 0.1
"""How far an end of an interval may lie from ours, as a share of the interval's width."""
MAX_VARIANCE_SHARE = 0.02
"""How far a variance component may lie from ours, as a share of the variance of answers."""
MAX_ERROR_SHARE = 0.25
"""How far a reliability may lie from ours where answers without a score, or pictures of unequal
size, are treated otherwise: as a share of 1 minus the reliability.
"""
MAX_UNSCORED = 0.1
"""The share of answers without a score up to which two treatments of them are compared."""
MIN_PICTURES = 3
"""Pictures below which nothing is estimated over pictures."""
MANY_PICTURES = 30
"""Pictures from which on two standard errors over pictures are compared."""
LABELS_OF_A_SAMPLE = "ours weighs labels by how the answers were chosen, theirs does not"
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


Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Study:
    """The answers and our estimates of one metric."""

    audit: BenchmarkAudit
    metric: str
    answers: AnswerScores | None

    @cached_property
    def estimates(self) -> tuple[Estimate, ...]:
        """The audit's estimates of the metric that have a value."""
        return tuple(
            estimate
            for estimate in self.audit.select_estimates(metric=self.metric)
            if estimate.value is not None
        )

    @property
    def direction(self) -> float:
        """1 where a higher score is better, -1 where a lower one is."""
        if self.audit.metrics[self.metric].get("better") == "lower":
            return -1.0
        return 1.0

    def named(self, *statistics: str) -> Iterator[Estimate]:
        """Yield our estimates of these statistics, in whatever family."""
        for estimate in self.estimates:
            if estimate.indicator.rpartition(".")[2] in statistics:
                yield estimate

    def estimate(self, indicator: str) -> Estimate | None:
        """Return our first estimate of an indicator."""
        for estimate in self.estimates:
            if estimate.indicator == indicator:
                return estimate
        return None

    def pair_scores(self, estimate: Estimate) -> Array | None:
        """(2, respondents): the scores that an estimate compares; None where they are not known."""
        if self.answers is not None:
            pair = self.answers.pair(estimate.first, estimate.other)
            if pair is not None:
                return _rows_with_both(pair.scores)
        # Without verdicts there are scores of whole administrations alone, which are over the same
        # items only where no form lacks one.
        for name in _forms(estimate):
            form = self.audit.forms.get(name)
            if form is None or form["items"] != self.audit.n_items or self.audit.stopped:
                return None
        rows = []
        for respondent in self.audit.respondents:
            first_scores = respondent.cells.get(estimate.first, {})
            other_scores = respondent.cells.get(estimate.other, {})
            rows.append((first_scores.get(self.metric), other_scores.get(self.metric)))
        # A score that does not exist is NaN.
        return _rows_with_both(np.array(rows, dtype=np.float64).T)

    def sampling_note(self, estimate: Estimate) -> str:
        """Return how ours differs where labels are of a sample of the answers; else empty."""
        if self.answers is None or estimate.other in self.audit.cells:
            return ""
        pair = self.answers.pair(estimate.first, estimate.other)
        if pair is None or np.isfinite(pair.second[np.isfinite(pair.first)]).all():
            return ""
        return LABELS_OF_A_SAMPLE

    def check(
        self,
        estimate: Estimate,
        quantity: str,
        library: str,
        theirs: float,
        *,
        ours: float | None = None,
        tolerance: float | None = EXACT,
        reason: str = "",
    ) -> Check:
        """Return a library's number with ours: the estimate's value, unless `ours` is given."""
        return Check(
            metric=self.metric,
            indicator=estimate.indicator,
            quantity=f"{quantity}{_compared(estimate)}",
            library=library,
            ours=finite(estimate.value if ours is None else ours),
            theirs=finite(float(theirs)),
            tolerance=tolerance,
            reason=reason if math.isfinite(theirs) else reason or "it has no value there",
        )


def _rows_with_both(scores: Array) -> Array:
    return np.asarray(scores[:, np.isfinite(scores).all(axis=0)])


def to_number(value: float | None) -> float:
    """Return NaN for a number that does not exist."""
    if value is None:
        return math.nan
    return float(value)


def _forms(estimate: Estimate) -> Iterator[str]:
    for cell in (estimate.first, estimate.other):
        for facet in cell.split("|"):
            if facet.startswith("form="):
                yield facet.removeprefix("form=")


def _compared(estimate: Estimate) -> str:
    """Return the facets in which the two administrations differ, in brackets."""
    first = set(estimate.first.split("|"))
    facets = [facet for facet in estimate.other.split("|") if facet and facet not in first]
    if facets:
        return f" ({', '.join(facets)})"
    return ""
