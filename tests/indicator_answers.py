"""What one indicator says of a case, as the engine asks it."""

import math

from hqm.indicators import comparisons
from hqm.indicators.cases import Case
from hqm.indicators.indicator import Indicator, Result, family_indicators
from hqm.psychometrics import Coefficient


def answer(case: Case, indicator: Indicator) -> Result | None:
    """A number, why there is none, or None where the indicator is not listed at all."""
    for need in indicator.needs:
        lack = need.check(case)
        if lack is not None:
            return Result(Coefficient.absent(lack.status, lack.reason)) if lack.reason else None
    return comparisons._result(case, indicator, indicator.compute(case))


def first_result(case: Case, name: str) -> Result | None:
    """What the indicators of one name in a family say of a case; None where none is listed."""
    family, _, statistic = name.partition(".")
    indicators = (
        indicator for indicator in family_indicators(family) if indicator.name == statistic
    )
    results = (answer(case, indicator) for indicator in indicators)
    return next((result for result in results if result is not None), None)


def number(case: Case, name: str) -> Result:
    """The same, where one is listed."""
    result = first_result(case, name)
    assert result is not None, name
    return result


LOWER_BOUND_ONLY = {
    *("alpha", "alpha_types", "omega_types"),
    *("icc_11", "icc_1k", "icc_ak", "icc_ck", "icc_a1", "icc_c1", "ccc", "disattenuated"),
    *("pearson", "pearson_same_items", "spearman", "tau_b", "rho_g", "rho_g_1000", "g", "phi"),
    *("phi_of_forms", "icc_a1_of_forms", "form_correlation", "balanced_score"),
}
"""Of other respondents these have a lower end alone."""
OFF_PAGE = {
    *("split_half", "alpha_standardized", "ccc"),
    *("icc_11", "icc_1k", "icc_ak", "icc_ck", "icc_c1"),
}
"""What says again what another says is on no page."""
REPEATS = {
    *("ccc", "gain", "icc_11", "icc_1k", "icc_a1", "icc_ak", "icc_c1", "icc_ck"),
    *("item_agreement", "pearson", "rho_g", "rho_g_1000", "spearman", "tau_b"),
}
"""These are 1 by construction where an answer repeats."""
DIGITS = {
    **dict.fromkeys(("added_value", "labels_needed", "contradicted_items"), 0),
    **dict.fromkeys(("labelled_answers", "duplicate_items", "negative_items"), 0),
    **dict.fromkeys(("dead_items", "label_errors", "misfit_items", "leakage_cues"), 0),
    "reading_list": 1,
    **dict.fromkeys(("length_shift", "family_types", "family_keys", "own_strengths"), 2),
}
"""Counts have no decimals, words and logits two, and all others three."""


def check_answer(case: Case, name: str) -> None:
    """A number within its range or the reason why there is none, shown as its kind is."""
    family, _, statistic = name.partition(".")
    for indicator in family_indicators(family):
        if indicator.name == statistic:
            assert indicator.one_sided == (statistic in LOWER_BOUND_ONLY)
            assert indicator.on_page == (statistic not in OFF_PAGE)
            assert indicator.repeats == (statistic in REPEATS)
            assert indicator.digits == DIGITS.get(statistic, 3)
            result = answer(case, indicator)
            value = math.nan if result is None else result.coefficient.value
            assert math.isnan(value) or indicator.unit.minimum <= value <= indicator.unit.maximum
            if result is not None and math.isnan(value):
                assert result.coefficient.reason
