"""Coefficients of test theory: plain arrays in, frozen results out.

Nothing of HQM is imported here. Arrays of scores have shape (respondents, administrations); arrays
of item scores have shape (respondents, items). Every result carries its own parameters, is never
rounded, and says in words when a number does not exist (`status` is not `ok` and `value` is NaN) or
exists without meaning anything (`not_informative`).

agreement    administrations, raters, judges and rankings
reliability  internal consistency, test-retest, parallel forms, dependability, short forms
variance     variance components, generalizability, studies, forecasts, error budgets
validity     criterion validity, corrected scores, labels, response bias
items        item statistics, response models, leaks, wrong keys, coverage of types
inference    bootstrap, jackknife, tests, distributions, families of respondents

The functions are exported here; the class of a result is imported from its module.
"""

from __future__ import annotations

import warnings as _warnings
from importlib import import_module as _import_module

from hqm.psychometrics.agreement.intraclass import (
    ICC,
    bland_altman,
    concordance,
    icc,
    icc_of_mean,
    item_agreement,
)
from hqm.psychometrics.agreement.judge_error import (
    judge_errors,
    judge_share,
    stage_agreement,
    table_agreement,
    weighted_agreement,
)
from hqm.psychometrics.agreement.ranks import (
    benchmark_agreement,
    pair_order,
    rank_stability,
    top_k_overlap,
)
from hqm.psychometrics.agreement.raters import (
    dawid_skene,
    fleiss_kappa,
    flip_rate,
    gwet_ac1,
    krippendorff_alpha,
    pooled_labels,
    rater_replicates,
    rater_share,
)
from hqm.psychometrics.inference.bootstrap import Interval, resample, stream
from hqm.psychometrics.inference.discriminability import (
    chance_corrected,
    conditional_errors,
    holm_tests,
    minimum_detectable_difference,
    saturation,
)
from hqm.psychometrics.inference.families import (
    Relatives,
    add_lower_bound,
    cover_fixed_interval,
    family_dependence,
    leave_one_out,
    range_restriction,
    too_few_families,
    too_few_respondents,
)
from hqm.psychometrics.inference.pairwise import (
    independent_differences,
    paired_differences,
    rank_contrasts,
)
from hqm.psychometrics.inference.resampling import (
    aggregate,
    agreement_coefficients,
    jackknife_interval,
    reliability_jackknife_interval,
)
from hqm.psychometrics.inference.significance import (
    SignificanceTest,
    benjamini_hochberg,
    holm,
    holm_in_order,
)
from hqm.psychometrics.items.coverage import (
    items_for_error,
    prmse,
    subscore_value,
    type_coverage,
)
from hqm.psychometrics.items.item_response_models import (
    item_response,
    rasch,
)
from hqm.psychometrics.items.item_statistics import (
    duplicate_items,
    item_analysis,
    label_error_candidates,
)
from hqm.psychometrics.items.leaks import leakage_cues
from hqm.psychometrics.items.reversed_scales import reversed_items
from hqm.psychometrics.items.solvability import (
    blind_solvability,
    length_cue,
)
from hqm.psychometrics.items.type_strengths import (
    differential_functioning,
    dimensionality,
)
from hqm.psychometrics.items.wrong_keys import (
    contradicted_items,
    planted_faults,
    reading_list,
    with_wrong_keys,
)
from hqm.psychometrics.reliability.compare_reliability import (
    difference_over_clusters,
    reliability_difference,
    shared_variance,
    weighted_reliability,
)
from hqm.psychometrics.reliability.consistency import (
    cronbach_alpha,
    spearman_brown,
    split_half,
    standardized_alpha,
    standardized_reliability,
)
from hqm.psychometrics.reliability.form_effect import (
    advantages,
    bias_test,
    equivalence,
    equivalence_margin,
    form_reliability,
    mean_shift,
    older_advantages,
    respondent_shifts,
    shift_heterogeneity,
    shift_heterogeneity_of_scores,
)
from hqm.psychometrics.reliability.omega import minres_loadings, omega_of_types, omega_t
from hqm.psychometrics.reliability.probability import (
    expected_retest,
)
from hqm.psychometrics.reliability.retest import (
    drift_test,
    noise_floor,
    rho_g,
    rho_g_of_scores,
)
from hqm.psychometrics.reliability.score_dependability import (
    dependability,
    g_and_phi,
    wordings_needed,
)
from hqm.psychometrics.reliability.short_forms import error_factor, scaled_scores
from hqm.psychometrics.result import (
    Array,
    ArrayLike,
    BoolArray,
    Coefficient,
    ConfidenceInterval,
    IntArray,
)
from hqm.psychometrics.validity.correction import (
    ppi_scores,
    rogan_gladen,
    rogan_gladen_scores,
)
from hqm.psychometrics.validity.correlation import (
    htmt,
    htmt_from_correlations,
    kendall_tau_b,
    multitrait_multimethod,
    partial_pearson,
    pearson,
    repeated_measures,
    spearman,
    williams_test,
)
from hqm.psychometrics.validity.criterion import (
    answer_correlations,
    criterion_validity,
    labels_needed,
    metrics_beside_people,
    with_raters,
)
from hqm.psychometrics.validity.label_sampling import labels_at_random
from hqm.psychometrics.validity.response_bias import (
    acquiescence,
    balanced_score,
    length_elasticity,
    pair_coherence,
    position_bias,
    signal_detection,
    signal_detection_from_rates,
)
from hqm.psychometrics.variance.generalizability import (
    cheapest_designs,
    d_study,
    g_study,
)
from hqm.psychometrics.variance.study_forecast import (
    compare_studies,
    forecast,
    forecast_interval,
)
from hqm.psychometrics.variance.study_variance import study_variance_components
from hqm.psychometrics.variance.variance_components import (
    agreement_interval,
    crossed_components,
)

__all__ = [
    "ICC",
    "Array",
    "ArrayLike",
    "BoolArray",
    "Coefficient",
    "ConfidenceInterval",
    "IntArray",
    "Interval",
    "Relatives",
    "SignificanceTest",
    "acquiescence",
    "add_lower_bound",
    "advantages",
    "aggregate",
    "agreement_coefficients",
    "agreement_interval",
    "answer_correlations",
    "balanced_score",
    "benchmark_agreement",
    "benjamini_hochberg",
    "bias_test",
    "bland_altman",
    "blind_solvability",
    "chance_corrected",
    "cheapest_designs",
    "compare_studies",
    "concordance",
    "conditional_errors",
    "contradicted_items",
    "cover_fixed_interval",
    "criterion_validity",
    "cronbach_alpha",
    "crossed_components",
    "d_study",
    "dawid_skene",
    "dependability",
    "difference_over_clusters",
    "differential_functioning",
    "dimensionality",
    "drift_test",
    "duplicate_items",
    "equivalence",
    "equivalence_margin",
    "error_factor",
    "expected_retest",
    "family_dependence",
    "fleiss_kappa",
    "flip_rate",
    "forecast",
    "forecast_interval",
    "form_reliability",
    "g_and_phi",
    "g_study",
    "gwet_ac1",
    "holm",
    "holm_in_order",
    "holm_tests",
    "htmt",
    "htmt_from_correlations",
    "icc",
    "icc_of_mean",
    "independent_differences",
    "item_agreement",
    "item_analysis",
    "item_response",
    "items_for_error",
    "jackknife_interval",
    "judge_errors",
    "judge_share",
    "kendall_tau_b",
    "krippendorff_alpha",
    "label_error_candidates",
    "labels_at_random",
    "labels_needed",
    "leakage_cues",
    "leave_one_out",
    "length_cue",
    "length_elasticity",
    "mean_shift",
    "metrics_beside_people",
    "minimum_detectable_difference",
    "minres_loadings",
    "multitrait_multimethod",
    "noise_floor",
    "older_advantages",
    "omega_of_types",
    "omega_t",
    "pair_coherence",
    "pair_order",
    "paired_differences",
    "partial_pearson",
    "pearson",
    "planted_faults",
    "pooled_labels",
    "position_bias",
    "ppi_scores",
    "prmse",
    "range_restriction",
    "rank_contrasts",
    "rank_stability",
    "rasch",
    "rater_replicates",
    "rater_share",
    "reading_list",
    "reliability_difference",
    "reliability_jackknife_interval",
    "repeated_measures",
    "resample",
    "respondent_shifts",
    "reversed_items",
    "rho_g",
    "rho_g_of_scores",
    "rogan_gladen",
    "rogan_gladen_scores",
    "saturation",
    "scaled_scores",
    "shared_variance",
    "shift_heterogeneity",
    "shift_heterogeneity_of_scores",
    "signal_detection",
    "signal_detection_from_rates",
    "spearman",
    "spearman_brown",
    "split_half",
    "stage_agreement",
    "standardized_alpha",
    "standardized_reliability",
    "stream",
    "study_variance_components",
    "subscore_value",
    "table_agreement",
    "too_few_families",
    "too_few_respondents",
    "top_k_overlap",
    "type_coverage",
    "weighted_agreement",
    "weighted_reliability",
    "williams_test",
    "with_raters",
    "with_wrong_keys",
    "wordings_needed",
]

_MOVED_NAMES = {
    "Advantages": "hqm.psychometrics.reliability.form_effect:Advantages",
    "Alpha": "hqm.psychometrics.reliability.consistency:Alpha",
    "AnswerCorrelations": "hqm.psychometrics.validity.criterion:AnswerCorrelations",
    "BalancedScore": "hqm.psychometrics.validity.response_bias:BalancedScore",
    "BenchmarkAgreement": "hqm.psychometrics.agreement.ranks:BenchmarkAgreement",
    "BlandAltman": "hqm.psychometrics.agreement.intraclass:BlandAltman",
    "BlindType": "hqm.psychometrics.items.solvability:BlindType",
    "Bounds": "hqm.psychometrics:ConfidenceInterval",
    "ChanceCorrected": "hqm.psychometrics.inference.discriminability:ChanceCorrected",
    "Component": "hqm.psychometrics.variance.generalizability:Component",
    "Concordance": "hqm.psychometrics.agreement.intraclass:Concordance",
    "ConditionalErrors": "hqm.psychometrics.inference.discriminability:ConditionalErrors",
    "Contest": "hqm.psychometrics.variance.study_forecast:Contest",
    "Contradictions": "hqm.psychometrics.items.wrong_keys:Contradictions",
    "CorrectedScores": "hqm.psychometrics.validity.correction:CorrectedScores",
    "Coverage": "hqm.psychometrics.items.coverage:Coverage",
    "CriterionValidity": "hqm.psychometrics.validity.criterion:CriterionValidity",
    "Cue": "hqm.psychometrics.items.leaks:Cue",
    "DStudy": "hqm.psychometrics.variance.generalizability:DStudy",
    "Dependability": "hqm.psychometrics.reliability.score_dependability:Dependability",
    "DependentCorrelations": "hqm.psychometrics.validity.correlation:DependentCorrelations",
    "DifferentialFunctioning": "hqm.psychometrics.items.type_strengths:DifferentialFunctioning",
    "Dimensionality": "hqm.psychometrics.items.type_strengths:Dimensionality",
    "Duplicates": "hqm.psychometrics.items.item_statistics:Duplicates",
    "Equivalence": "hqm.psychometrics.reliability.form_effect:Equivalence",
    "ExpectedRetest": "hqm.psychometrics.reliability.probability:ExpectedRetest",
    "FamilyDependence": "hqm.psychometrics.inference.families:FamilyDependence",
    "Flags": "hqm.psychometrics:BoolArray",
    "FormReliability": "hqm.psychometrics.reliability.form_effect:FormReliability",
    "GStudy": "hqm.psychometrics.variance.generalizability:GStudy",
    "GeneralizedRetest": "hqm.psychometrics.reliability.retest:GeneralizedRetest",
    "Giveaway": "hqm.psychometrics.items.leaks:Giveaway",
    "Grim": "hqm_tables.table_integrity:Grim",
    "Indices": "hqm.psychometrics.result:Indices",
    "Influence": "hqm.psychometrics.inference.families:Influence",
    "ItemAgreement": "hqm.psychometrics.agreement.intraclass:ItemAgreement",
    "ItemAnalysis": "hqm.psychometrics.items.item_statistics:ItemAnalysis",
    "ItemResponseModel": "hqm.psychometrics.items.item_response_models:ItemResponseModel",
    "ItemToRead": "hqm.psychometrics.items.wrong_keys:ItemToRead",
    "JudgeAgreement": "hqm.psychometrics.agreement.judge_error:JudgeAgreement",
    "JudgeErrors": "hqm.psychometrics.agreement.judge_error:JudgeErrors",
    "JudgeNoise": "hqm.psychometrics.agreement.judge_error:JudgeNoise",
    "LabelError": "hqm.psychometrics.items.item_statistics:LabelError",
    "LabelErrors": "hqm.psychometrics.items.item_statistics:LabelErrors",
    "LabelRandomness": "hqm.psychometrics.validity.label_sampling:LabelRandomness",
    "Leakage": "hqm.psychometrics.items.leaks:Leakage",
    "LeaveOneOutScores": "hqm.psychometrics.reliability.compare_reliability:LeaveOneOutScores",
    "LeftOutScores": "hqm.psychometrics.reliability.compare_reliability:LeaveOneOutScores",
    "LengthCue": "hqm.psychometrics.items.solvability:LengthCue",
    "LengthElasticity": "hqm.psychometrics.validity.response_bias:LengthElasticity",
    "LengthRule": "hqm.psychometrics.items.solvability:LengthRule",
    "MetricDifference": "hqm.psychometrics.validity.criterion:MetricDifference",
    "MetricsBesidePeople": "hqm.psychometrics.validity.criterion:MetricsBesidePeople",
    "Moments": "hqm.psychometrics.variance.variance_components:Moments",
    "Multitrait": "hqm.psychometrics.validity.correlation:Multitrait",
    "Numbers": "hqm.psychometrics:IntArray",
    "PairCoherence": "hqm.psychometrics.validity.response_bias:PairCoherence",
    "PairOrder": "hqm.psychometrics.agreement.ranks:PairOrder",
    "PairwiseDifferences": "hqm.psychometrics.inference.pairwise:PairwiseDifferences",
    "Places": "hqm.psychometrics.result:Indices",
    "Plan": "hqm.psychometrics.variance.generalizability:Plan",
    "PlantedFaults": "hqm.psychometrics.items.wrong_keys:PlantedFaults",
    "PositionBias": "hqm.psychometrics.validity.response_bias:PositionBias",
    "Precision": "hqm.psychometrics.variance.study_forecast:Precision",
    "RangeRestriction": "hqm.psychometrics.inference.families:RangeRestriction",
    "RankStability": "hqm.psychometrics.agreement.ranks:RankStability",
    "Rasch": "hqm.psychometrics.items.item_response_models:Rasch",
    "RaterErrors": "hqm.psychometrics.agreement.raters:RaterErrors",
    "RaterVariance": "hqm.psychometrics.agreement.raters:RaterVariance",
    "ReadingList": "hqm.psychometrics.items.wrong_keys:ReadingList",
    "ReliabilityDifference": (
        "hqm.psychometrics.reliability.compare_reliability:ReliabilityDifference"
    ),
    "RepeatedMeasures": "hqm.psychometrics.validity.correlation:RepeatedMeasures",
    "ResponseBias": "hqm.psychometrics.validity.response_bias:ResponseBias",
    "Saturation": "hqm.psychometrics.inference.discriminability:Saturation",
    "ScaledScores": "hqm.psychometrics.reliability.short_forms:ScaledScores",
    "ShiftHeterogeneity": "hqm.psychometrics.reliability.form_effect:ShiftHeterogeneity",
    "SignalDetection": "hqm.psychometrics.validity.response_bias:SignalDetection",
    "Solvability": "hqm.psychometrics.items.solvability:Solvability",
    "SplitHalf": "hqm.psychometrics.reliability.consistency:SplitHalf",
    "StageAgreement": "hqm.psychometrics.agreement.judge_error:StageAgreement",
    "Stratum": "hqm.psychometrics.items.leaks:Stratum",
    "StudiesCompared": "hqm.psychometrics.variance.study_forecast:StudiesCompared",
    "StudyComponents": "hqm.psychometrics.variance.study_variance:StudyComponents",
    "StudyParts": "hqm.psychometrics.variance.study_variance:StudyComponents",
    "StudySize": "hqm.psychometrics.variance.study_forecast:StudySize",
    "Subscore": "hqm.psychometrics.items.coverage:Subscore",
    "SubsetAgreement": "hqm.psychometrics.agreement.ranks:SubsetAgreement",
    "TableCheck": "hqm_tables.table_integrity:TableCheck",
    "TopK": "hqm.psychometrics.agreement.ranks:TopK",
    "TypeCoverage": "hqm.psychometrics.items.coverage:TypeCoverage",
    "Violation": "hqm_tables.table_integrity:Violation",
    "WeightedAgreement": "hqm.psychometrics.agreement.judge_error:WeightedAgreement",
    "active_probabilities": "hqm_label.answer_sampling:active_probabilities",
    "agreement_bounds": "hqm.psychometrics:agreement_interval",
    "agreement_left_out": "hqm.psychometrics:agreement_coefficients",
    "at_least": "hqm.psychometrics:add_lower_bound",
    "check_table": "hqm_tables.table_integrity:check_table",
    "errors_from_disagreement": "hqm_label.answer_sampling:errors_from_disagreement",
    "expected_width": "hqm_label.answer_sampling:expected_width",
    "forecast_bounds": "hqm.psychometrics:forecast_interval",
    "grim": "hqm_tables.table_integrity:grim",
    "htmt_of": "hqm.psychometrics:htmt_from_correlations",
    "left_out_bounds": "hqm.psychometrics:reliability_jackknife_interval",
    "never_narrower": "hqm.psychometrics:cover_fixed_interval",
    "own_shifts": "hqm.psychometrics:respondent_shifts",
    "own_words": "hqm.psychometrics:unshared_word_counts",
    "study_parts": "hqm.psychometrics:study_variance_components",
    "systematic_sample": "hqm_label.answer_sampling:systematic_sample",
    "unshared_word_counts": "hqm.psychometrics.items.solvability:unshared_word_counts",
}
"""Name of version 0.2.0 -> module and name of today; the old one is found until 0.4.0."""


def __getattr__(name: str) -> object:
    """Return the value of a name that version 0.2.0 exported."""
    if name not in _MOVED_NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, current_name = _MOVED_NAMES[name].partition(":")
    _warnings.warn(
        f"{__name__}.{name} is {module}.{current_name} now; the old name goes in 0.4.0",
        DeprecationWarning,
        stacklevel=2,
    )
    return getattr(_import_module(module), current_name)
