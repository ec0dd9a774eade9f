"""What one indicator says of a case, as the engine asks it."""

from hqm.indicators import comparisons
from hqm.indicators.cases import Case
from hqm.indicators.indicator import Indicator, Result, indicators_of
from hqm.psychometrics import Coefficient


def answer(case: Case, indicator: Indicator) -> Result | None:
    """A number, why there is none, or None where the indicator is not listed at all."""
    for need in indicator.needs:
        lack = need.lacking(case)
        if lack is not None:
            return Result(Coefficient.absent(lack.status, lack.reason)) if lack.reason else None
    return comparisons._result(case, indicator, indicator.compute(case))


def asked(case: Case, name: str) -> Result | None:
    """What the indicators of one name in a family say of a case; None where none is listed."""
    family, _, statistic = name.partition(".")
    own = (each for each in indicators_of(family) if each.name == statistic)
    results = (answer(case, each) for each in own)
    return next((result for result in results if result is not None), None)


def number(case: Case, name: str) -> Result:
    """The same, where one is listed."""
    result = asked(case, name)
    assert result is not None, name
    return result
