"""What one indicator says of a case, as the engine asks it."""

from hqm.indicators import comparisons
from hqm.indicators.cases import Case
from hqm.indicators.indicator import Indicator, Result
from hqm.psychometrics import Coefficient


def answer(case: Case, indicator: Indicator) -> Result | None:
    """A number, why there is none, or None where the indicator is not listed at all."""
    for need in indicator.needs:
        lack = need.lacking(case)
        if lack is not None:
            return Result(Coefficient.absent(lack.status, lack.reason)) if lack.reason else None
    return comparisons._result(case, indicator, indicator.compute(case))
