"""What to fix first: defects of the benchmark before limits of the study before advice on models,
by fixed rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hqm.reports.defects import benchmark_defects
from hqm.reports.limits import readings, study_limits
from hqm.reports.phrases import Sentence, say

from hqm import BenchmarkAudit, Policy

MOST = 5
"""How many pieces of advice the first screen shows; the page has all of them."""
Grade = Literal["benchmark", "study", "models"]
GRADES: dict[Grade, str] = {
    "benchmark": "Defects of the benchmark, shown or suspected",
    "study": "Limits of this study",
    "models": "How to read these respondents",
}
"""What advice can be about, the gravest first."""


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing to do."""

    grade: Grade
    kind: str
    """A word for it, by which a page links to the evidence."""
    sentence: Sentence


def all_advice(audit: BenchmarkAudit, policy: Policy | None = None) -> tuple[Advice, ...]:
    """All that is to be done, the gravest first.

    A defect or limit stands here where a decision hangs on it and the end of an interval, or a
    list, supports it. Numbers are those of the audit's estimates and findings.
    """
    return (
        *(Advice("benchmark", kind, sentence) for kind, sentence in benchmark_defects(audit)),
        *(Advice("study", kind, sentence) for kind, sentence in study_limits(audit, policy)),
        *(Advice("models", kind, sentence) for kind, sentence in readings(audit)),
    )


def to_fix(
    audit: BenchmarkAudit, policy: Policy | None = None, most: int = MOST
) -> tuple[Sentence, ...]:
    """The sentences of the first pieces of advice, or one that says that there is none."""
    first = tuple(each.sentence for each in all_advice(audit, policy)[:most])
    return first or (say("Nothing that this audit measured calls for a repair."),)
