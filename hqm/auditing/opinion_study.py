"""The input of a second opinion: the answers of one metric, our estimates, and single checks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hqm.auditing.answer_scores import AnswerScores
from hqm.auditing.audit import BenchmarkAudit
from hqm.auditing.opinion import Check
from hqm.types import Estimate, finite

Array = npt.NDArray[np.float64]

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
            first = respondent.cells.get(estimate.first, {})
            other = respondent.cells.get(estimate.other, {})
            rows.append((first.get(self.metric), other.get(self.metric)))
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
