"""The meaning of every indicator by its name; an estimate's full name has the family in front
(`test_retest.pearson`).
"""

from __future__ import annotations

from collections.abc import Mapping

from hqm.indicators.catalogue import statistics

INDICATORS: Mapping[str, str] = {
    name: indicator.meaning for name, indicator in statistics().items()
}
"""Name -> meaning."""
