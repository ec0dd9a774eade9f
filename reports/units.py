"""The unit of every estimate, in words that stand beside its number, and numbers that no reader can
use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hqm.reports.tables import DASH, Text, estimate_text, number, percent

from hqm import BenchmarkAudit, Estimate

SCORE = "in the metric's units"
SHARE = "share"
_KINDS: Mapping[str, str] = {
    SCORE: (
        "sem mdc95 mean_shift limits_of_agreement minimum_difference minimum_difference_holm lead"
        " headroom form_heterogeneity prediction_powered rogan_gladen full_scale mean_error"
    ),
    SHARE: (
        "coverage item_agreement same_winner top_k pair_flip separable_pairs separable_adjacent"
        " solved_by_all coherence sensitivity specificity accuracy decided_alike precision recall"
        " f1 flip_rate judge_share rater_share blind_accuracy length_accuracy index above_chance"
        " gain yes_ratio_shift"
    ),
    "correlation, −1 to 1": (
        "parallel_reliability tau pearson spearman tau_b ccc noise_floor expected_tau"
        " form_correlation disattenuated ceiling pearson_same_items pearson_given_length"
        " within_respondents discrimination answers_pearson answers_spearman answers_tau_b"
        " items_pearson items_spearman items_tau_b"
    ),
    "agreement, 1 is full": (
        "icc_a1 icc_c1 icc_11 icc_1k icc_ak icc_ck icc_a1_of_forms icc_ak_of_forms kendall_w kappa"
        " human_agreement fleiss_kappa krippendorff_alpha gwet_ac1"
    ),
    "reliability, 1 is full": (
        "rho_g rho_g_1000 balanced_score alpha kr21 lambda2 split_half stratified_alpha alpha_types"
        " omega_types alpha_standardized g phi reliability"
    ),
    "items": (
        "duplicate_items negative_items dead_items label_errors misfit_items contradicted_items"
        " reading_list"
    ),
    "answers": "labelled_answers",
    "cues": "leakage_cues",
    "types": "added_value effective",
    "levels": "levels",
    "labels a respondent": "labels_needed",
    "words": "length_shift",
    "p-value": "drift equivalence judge_functioning labels_at_random",
    "standard deviations": "d_prime_shift criterion_shift",
    "percent of score per percent of length": "length_elasticity",
    "leaning, 0 is none": "acquiescence",
    "Cramer's V, 0 is none": "position_bias",
}
UNITS: Mapping[str, str] = {name: unit for unit, names in _KINDS.items() for name in names.split()}
"""Statistic -> its unit; `SCORE` and `SHARE` are written with the number itself (`unit_of`)."""
_STEEP = 4.0
"""An interval of an elasticity that is wider than this contains every slope that anybody would act
on.
"""
_BEYOND = 100.0
"""How many times an estimate the end of its interval may be; what lies further off is no end."""


def unit_of(audit: BenchmarkAudit, estimate: Estimate) -> str:
    """What stands beside an estimate's number: its unit, and percentage points or percent where
    that is what it says.
    """
    unit = UNITS.get(estimate.indicator.rpartition(".")[2], "")
    if estimate.value is None:
        return ""
    if unit == SCORE:
        shown = in_units(audit, estimate.metric, estimate.value)
        return shown if is_share(audit, estimate.metric) else f"units of {estimate.metric}"
    if unit == SHARE:
        moved = estimate.indicator.endswith("_shift")
        return (
            f"{number(100 * estimate.value, 1)} percentage points"
            if moved
            else f"share, {percent(estimate.value)}"
        )
    return unit


def no_use(estimate: Estimate) -> str:
    """Why a number is withheld because nobody could act on it; empty where it is shown."""
    if estimate.value is None or not estimate.indicator.endswith(".length_elasticity"):
        return ""
    widths = [span.high - span.low for span in estimate.intervals]
    if max(widths, default=0.0) > _STEEP or abs(estimate.value) > _STEEP:
        return "the answers differ too little in length to say how the score follows it"
    return ""


def no_end(estimate: Estimate, end: float) -> bool:
    """Whether an end of an interval lies so far from the estimate that it bounds nothing."""
    return estimate.value is not None and abs(end) > _BEYOND * max(abs(estimate.value), 0.05)


def shown_with_unit(audit: BenchmarkAudit, estimate: Estimate) -> Text:
    """An estimate's number with its unit in small print; withheld where nobody could act on it."""
    shown = estimate_text(estimate)
    reason = no_use(estimate)
    if reason:
        return replace(
            shown, text=DASH, behind=f"{reason}\n{estimate.signature}", muted=True, small="withheld"
        )
    return replace(shown, small=unit_of(audit, estimate))


def in_units(audit: BenchmarkAudit, metric: str, value: float | None) -> str:
    """A difference of scores with its unit: percentage points where the scores are shares, else the
    metric's own units.
    """
    if value is None:
        return number(value)
    if is_share(audit, metric):
        return f"{number(100 * value, 1)} percentage points"
    return f"{number(value)} in units of {metric}"


def is_share(audit: BenchmarkAudit, metric: str) -> bool:
    """Whether the scores of a metric are shares: all of them lie between 0 and 1."""
    scores = [
        s
        for row in audit.respondents
        for by_metric in (row.scores, *row.cells.values())
        if (s := by_metric.get(metric)) is not None
    ]
    return bool(scores) and all(0 <= score <= 1 for score in scores)
