"""Every estimate has a unit, and a number that no reader could act on is withheld with its
reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hqm.reports.pages.phrases import reason_withheld, unit_of
from hqm.reports.tables.evidence_tables import estimates_by_family
from hqm.reports.tables.table import FAMILIES

from hqm import Estimate, Interval
from hqm.indicators.indicator import Indicator, all_indicators
from hqm.text import DASH
from tests.test_sentences import audit_of, est

SHOWN: Mapping[str, tuple[float, str]] = {
    "discriminability.minimum_difference": (0.155, "15.5 percentage points"),
    "test_retest.sem": (0.03, "3.0 percentage points"),
    "parallel_forms.yes_ratio_shift": (-0.0375, "−3.8 percentage points"),
    "discriminability.separable_pairs": (0.4222, "share, 42%"),
    "consistency.alpha": (0.94, "reliability, 1 is full"),
    "test_retest.pearson": (0.9, "correlation, −1 to 1"),
    "items.dead_items": (11.979, "items"),
    "criterion.accuracy": (0.87, "share, 87%"),
    "criterion.answers_tau_b": (0.61, "correlation, −1 to 1"),
    "criterion.labelled_answers": (300.0, "answers"),
    "parallel_forms.length_shift": (-4.6, "words"),
    "parallel_forms.d_prime_shift": (-0.7, "standard deviations"),
    "test_retest.drift": (0.25, "p-value"),
}


@pytest.mark.parametrize("indicator", all_indicators(), ids=lambda indicator: indicator.name)
def test_every_indicator_has_a_unit(indicator: Indicator) -> None:
    assert indicator.unit.text
    assert indicator.unit.minimum < indicator.unit.maximum
    (unit,) = {
        indicator_row.unit
        for indicator_row in all_indicators()
        if indicator_row.name == indicator.name
    }
    assert unit == indicator.unit, "a name has one unit in every family"


@pytest.mark.parametrize("indicator", SHOWN)
def test_the_unit_stands_beside_the_number(indicator: str) -> None:
    value, unit = SHOWN[indicator]
    estimate = est(indicator, value)
    audit = audit_of(estimate)
    assert unit_of(audit, estimate) == unit
    (table,) = estimates_by_family(audit)
    (row,) = table.rows
    assert row[0].text.startswith(FAMILIES[indicator.partition(".")[0]]), "a name keeps its family"
    (cell,) = [cell for cell in row if cell.small == unit]
    assert cell.text not in ("", DASH)
    if indicator.endswith("dead_items"):
        assert cell.text == "12", "a count is a whole number"


def test_scores_that_are_no_shares_keep_their_own_unit() -> None:
    estimate = est("discriminability.lead", 2.586)
    audit = audit_of(estimate)
    scored = [replace(row, scores={"accuracy": 7.5}) for row in audit.respondents]
    assert scored
    # in an audit of version 0.1.0 no metric says its scale
    unscaled = replace(audit, respondents=tuple(scored), metrics={"accuracy": {}})
    assert unit_of(unscaled, estimate) == "units of accuracy"
    scales = {"accuracy": (0.0, 10.0)}
    assert unit_of(replace(audit, scales=scales), estimate) == "units of accuracy"


def shown(estimate: Estimate) -> str:
    """All cells of the table of one estimate."""
    (table,) = estimates_by_family(audit_of(estimate))
    return " ".join(f"{cell.text} {cell.small}" for row in table.rows for cell in row)


def test_what_nobody_could_act_on_is_withheld_with_the_reason() -> None:
    wide = (Interval(-2.3, 26.9, "model_population", ""),)
    steep, usual = (
        replace(
            est("parallel_forms.length_elasticity", value),
            intervals=spans,
            other="form=parallel|run=0|judge=rule",
        )
        for value, spans in ((12.276, wide), (0.3, (Interval(0.1, 0.5, "model_population", ""),)))
    )
    assert reason_withheld(usual) == ""
    assert "too little in length" in reason_withheld(steep)
    assert "12.276" not in shown(steep)
    assert "too little in length" in shown(steep)
    assert "0.300" in shown(usual)


def test_an_end_that_bounds_nothing_is_said_to_be_none() -> None:
    clipped = replace(
        est("criterion.labels_needed", 120.0), intervals=(Interval(12.0, 33195.1, "items", ""),)
    )
    text = shown(clipped)
    assert "33195" not in text
    assert "from 12, no upper end" in text


LOWER_END = {
    *"rho_g rho_g_1000 pearson pearson_same_items spearman tau_b icc_a1 icc_c1 icc_11 icc_1k".split(),
    *"icc_ak icc_ck ccc alpha alpha_types omega_types g phi".split(),
    *"disattenuated balanced_score form_correlation icc_a1_of_forms phi_of_forms".split(),
}
"""They compare variances or orders of respondents."""
OF_CHANCE = LOWER_END & {
    *"rho_g rho_g_1000 pearson spearman tau_b icc_a1 icc_c1 icc_11 icc_1k icc_ak icc_ck ccc".split(),
} | {"gain", "item_agreement"}
"""They are 1 where a rerun repeats the answers by construction."""
BESIDE = {
    *"alpha_standardized split_half ccc icc_11 icc_1k icc_ak icc_ck icc_c1".split(),
}
"""Reports show another coefficient for the same question."""
LESS_IS_BETTER = {
    *"own_strengths contradicted_items labels_needed rater_share minimum_difference".split(),
    *"minimum_difference_holm solved_by_all dead_items duplicate_items label_errors".split(),
    *"misfit_items negative_items reading_list flip_rate judge_share equivalence".split(),
    *"form_heterogeneity position_bias mean_error blind_accuracy leakage_cues".split(),
    *"length_accuracy mdc95 pair_flip sem family_keys family_types".split(),
}
WHOLE = {
    *"contradicted_items labelled_answers labels_needed dead_items duplicate_items".split(),
    *"label_errors misfit_items negative_items leakage_cues added_value".split(),
}


@pytest.mark.parametrize("indicator", all_indicators(), ids=lambda indicator: indicator.name)
def test_every_indicator_is_shown_as_what_it_is(indicator: Indicator) -> None:
    name = indicator.name
    assert indicator.one_sided == (name in LOWER_END)
    assert indicator.repeats == (name in OF_CHANCE)
    page_states = {same_name.on_page for same_name in all_indicators() if same_name.name == name}
    assert page_states == {name not in BESIDE}
    assert (indicator.better == "lower") == (name in LESS_IS_BETTER)
    assert (indicator.digits == 0) == (name in WHOLE)
    assert indicator.meaning.endswith(".")
