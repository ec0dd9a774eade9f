"""Indicators: what is estimated when administrations differ in one facet, of one administration,
and of the items.

    run differs      test_retest        how far the scores repeat with another seed
    form differs     parallel_forms     how far they survive another wording
    judge differs    criterion          how far they follow people
    judge differs    oracle             how far they follow an oracle or another rule, which is no
                                        validity
                     judge_consistency  how far the same judge, asked again, says the same
                     judge_agreement    how far another judging model says the same
                     stages             how far single roles of a judge decide as people do
    sight differs    blindness          how far they survive without the picture
    resolution       resolution         how far they survive smaller pictures

An indicator is a value (`indicator.Indicator`), listed under `indicators` in a module of this
package beside the function that computes it. A new one is an entry in such a list, or a module with
one; `all_indicators` finds it, `estimates` asks what it needs, computes it and signs the estimate.
"""

from __future__ import annotations

from hqm.indicators.cases import Case, Protocol, case, family_of, is_negating
from hqm.indicators.comparisons import (
    compare,
    compare_forms,
    compare_runs,
    compare_stage,
    describe,
    expected,
    people_agree,
)
from hqm.indicators.flags import warn
from hqm.indicators.indicator import (
    INDICATOR_FAMILIES,
    Indicator,
    all_indicators,
    indicator_named,
    statistics,
)
from hqm.indicators.item_coverage import TypeCoverage, coverage
from hqm.indicators.without_pictures import yes_ratio

__all__ = [
    "INDICATOR_FAMILIES",
    "Case",
    "Indicator",
    "Protocol",
    "TypeCoverage",
    "all_indicators",
    "case",
    "compare",
    "compare_forms",
    "compare_runs",
    "compare_stage",
    "coverage",
    "describe",
    "expected",
    "family_of",
    "indicator_named",
    "is_negating",
    "people_agree",
    "statistics",
    "warn",
    "yes_ratio",
]
