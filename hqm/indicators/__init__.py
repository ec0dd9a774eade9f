"""Indicators: what is estimated when administrations differ in one facet, of one administration, and of the items.

    run differs      test_retest        how far the scores repeat with another seed
    form differs     parallel_forms     how far they survive another wording
    judge differs    criterion          how far they follow people (or the scene oracle)
                     judge_consistency  how far the same judge, asked again about the same answers, says the same
                     judge_agreement    how far another judging model says the same
    sight differs    blindness          how far they survive without the picture

The coefficients come from `hqm.psychometrics`; here they meet administrations and become signed estimates.
"""

from __future__ import annotations

from hqm.indicators.case import Case, Protocol
from hqm.indicators.catalogue import FAMILIES, INDICATORS
from hqm.indicators.compare import compare
from hqm.indicators.style import yes_ratio
from hqm.indicators.types import TypeCoverage, coverage

__all__ = ["FAMILIES", "INDICATORS", "Case", "Protocol", "TypeCoverage", "compare", "coverage", "yes_ratio"]
