"""Coefficients of test theory: plain arrays in, frozen results out.

Nothing of HQM is imported here. Arrays of scores have shape (respondents, administrations); arrays
of item scores have shape (respondents, items). Every result carries its own parameters, is never
rounded, and says in words when a number does not exist (`status` is not `ok` and `value` is NaN) or
exists without meaning anything (`not_informative`).
"""

from __future__ import annotations

from hqm.psychometrics.agreement import ItemAgreement, item_agreement
from hqm.psychometrics.answer_level import AnswerCorrelations, answer_correlations, with_raters
from hqm.psychometrics.benchmarks import BenchmarkAgreement, SubsetAgreement, benchmark_agreement
from hqm.psychometrics.binary_units import StageAgreement, stage_agreement
from hqm.psychometrics.bootstrap import Interval, Replicates, Statistic, resample
from hqm.psychometrics.ceiling import (
    ChanceCorrected,
    Saturation,
    Separation,
    chance_corrected,
    saturation,
    separation,
)
from hqm.psychometrics.clusters import aggregate
from hqm.psychometrics.concordances import Concordance, KendallW, concordance, kendall_w
from hqm.psychometrics.consistency import Alpha, cronbach_alpha, kr21, lambda2, stratified_alpha
from hqm.psychometrics.contradictions import Contradictions, contradicted_items
from hqm.psychometrics.convergent import (
    DependentCorrelations,
    Multitrait,
    htmt,
    htmt_of,
    multitrait_multimethod,
    williams_test,
)
from hqm.psychometrics.correction import (
    CorrectedScores,
    ppi_scores,
    rogan_gladen,
    rogan_gladen_scores,
)
from hqm.psychometrics.correlation import kendall_tau_b, pearson, spearman
from hqm.psychometrics.coverage import Coverage, TypeCoverage, items_for_error, type_coverage
from hqm.psychometrics.criterion import CriterionValidity, criterion_validity, labels_needed
from hqm.psychometrics.cues import Cue, Giveaway, Leakage, leakage_cues
from hqm.psychometrics.decision import (
    DStudy,
    Plan,
    cheapest_designs,
    d_study,
    items_for_reliability,
)
from hqm.psychometrics.dependability import Dependability, g_and_phi
from hqm.psychometrics.dependent import (
    ReliabilityDifference,
    reliability_difference,
    weighted_reliability,
)
from hqm.psychometrics.detection import (
    SignalDetection,
    signal_detection,
    signal_detection_from_rates,
)
from hqm.psychometrics.discriminability import (
    PairwiseDifferences,
    holm_tests,
    independent_differences,
    items_for_gap,
    minimum_detectable_difference,
    paired_differences,
)
from hqm.psychometrics.duplicates import Duplicates, duplicate_items
from hqm.psychometrics.families import (
    FamilyDependence,
    Influence,
    RangeRestriction,
    family_dependence,
    leave_one_out,
    range_restriction,
    too_few_families,
    too_near_a_bound,
)
from hqm.psychometrics.form_effect import (
    FormReliability,
    ShiftHeterogeneity,
    form_reliability,
    shift_heterogeneity,
    shift_heterogeneity_of_scores,
)
from hqm.psychometrics.generalizability import Component, GStudy, g_study
from hqm.psychometrics.generalized_retest import GeneralizedRetest, rho_g, rho_g_of_scores
from hqm.psychometrics.held_constant import RepeatedMeasures, partial_pearson, repeated_measures
from hqm.psychometrics.integrity import Grim, TableCheck, Violation, check_table, grim
from hqm.psychometrics.intraclass import ICC, dependability, icc, icc_of_mean
from hqm.psychometrics.irt import ItemResponseModel, item_response
from hqm.psychometrics.items import (
    ItemAnalysis,
    ItemStatistics,
    LabelError,
    LabelErrors,
    item_analysis,
    label_error_candidates,
)
from hqm.psychometrics.jackknife import jackknife_interval
from hqm.psychometrics.judge_noise import JudgeNoise, judge_share
from hqm.psychometrics.judging import (
    JudgeAgreement,
    JudgeErrors,
    WeightedAgreement,
    judge_errors,
    table_agreement,
    weighted_agreement,
)
from hqm.psychometrics.label_pooling import (
    RaterErrors,
    dawid_skene,
    pooled_labels,
    rater_replicates,
)
from hqm.psychometrics.label_randomness import LabelRandomness, labels_at_random
from hqm.psychometrics.label_sampling import (
    active_probabilities,
    errors_from_disagreement,
    expected_width,
    systematic_sample,
)
from hqm.psychometrics.leaks import Stratum
from hqm.psychometrics.left_out import agreement_left_out, left_out_bounds
from hqm.psychometrics.left_out_differences import (
    LeftOutScores,
    difference_over_clusters,
    shared_variance,
)
from hqm.psychometrics.length import items_needed, spearman_brown, standardized_reliability
from hqm.psychometrics.limits_of_agreement import BlandAltman, bland_altman
from hqm.psychometrics.moments import Moments, crossed_components
from hqm.psychometrics.multiple import benjamini_hochberg, holm, holm_in_order
from hqm.psychometrics.noise import noise_floor
from hqm.psychometrics.omega import minres_loadings, omega_of_types, omega_t
from hqm.psychometrics.planted import PlantedFaults, planted_faults, with_wrong_keys
from hqm.psychometrics.position import PositionBias, position_bias
from hqm.psychometrics.probability import (
    ExpectedRetest,
    TemperatureCurve,
    expected_retest,
    sampling_probability,
    temperature_curve,
)
from hqm.psychometrics.ranks import (
    PairOrder,
    RankStability,
    TopK,
    pair_order,
    rank_stability,
    top_k_overlap,
)
from hqm.psychometrics.rasch_model import Rasch, RaschItem, rasch
from hqm.psychometrics.rater_agreement import fleiss_kappa, flip_rate, gwet_ac1, krippendorff_alpha
from hqm.psychometrics.rater_variance import RaterVariance, rater_share
from hqm.psychometrics.response_bias import (
    BalancedScore,
    PairCoherence,
    ResponseBias,
    acquiescence,
    balanced_score,
    pair_coherence,
)
from hqm.psychometrics.result import Bounds, Coefficient
from hqm.psychometrics.run_drift import drift_test
from hqm.psychometrics.shift import (
    Equivalence,
    bias_test,
    equivalence,
    equivalence_margin,
    mean_shift,
    own_shifts,
)
from hqm.psychometrics.short_forms import ScaledScores, error_factor, scaled_scores
from hqm.psychometrics.significance import SignificanceTest
from hqm.psychometrics.solvability import BlindType, Solvability, blind_solvability
from hqm.psychometrics.splitting import SplitHalf, split_half
from hqm.psychometrics.standardized import standardized_alpha
from hqm.psychometrics.study_comparison import Contest, StudiesCompared, compare_studies
from hqm.psychometrics.study_forecast import Precision, StudySize, forecast, forecast_bounds
from hqm.psychometrics.study_variance import StudyParts, study_parts
from hqm.psychometrics.style import LengthElasticity, length_elasticity
from hqm.psychometrics.subscores import Subscore, prmse, subscore_value
from hqm.psychometrics.two_way import agreement_bounds, never_narrower
from hqm.psychometrics.weights import stream
from hqm.psychometrics.word_counter import LengthCue, LengthRule, length_cue, own_words
from hqm.psychometrics.wrong_keys import ItemToRead, ReadingList, reading_list

__all__ = [
    "ICC",
    "Alpha",
    "AnswerCorrelations",
    "BalancedScore",
    "BenchmarkAgreement",
    "BlandAltman",
    "BlindType",
    "Bounds",
    "ChanceCorrected",
    "Coefficient",
    "Component",
    "Concordance",
    "Contest",
    "Contradictions",
    "CorrectedScores",
    "Coverage",
    "CriterionValidity",
    "Cue",
    "DStudy",
    "Dependability",
    "DependentCorrelations",
    "Duplicates",
    "Equivalence",
    "ExpectedRetest",
    "FamilyDependence",
    "FormReliability",
    "GStudy",
    "GeneralizedRetest",
    "Giveaway",
    "Grim",
    "Influence",
    "Interval",
    "ItemAgreement",
    "ItemAnalysis",
    "ItemResponseModel",
    "ItemStatistics",
    "ItemToRead",
    "JudgeAgreement",
    "JudgeErrors",
    "JudgeNoise",
    "KendallW",
    "LabelError",
    "LabelErrors",
    "LabelRandomness",
    "Leakage",
    "LeftOutScores",
    "LengthCue",
    "LengthElasticity",
    "LengthRule",
    "Moments",
    "Multitrait",
    "PairCoherence",
    "PairOrder",
    "PairwiseDifferences",
    "Plan",
    "PlantedFaults",
    "PositionBias",
    "Precision",
    "RangeRestriction",
    "RankStability",
    "Rasch",
    "RaschItem",
    "RaterErrors",
    "RaterVariance",
    "ReadingList",
    "ReliabilityDifference",
    "RepeatedMeasures",
    "Replicates",
    "ResponseBias",
    "Saturation",
    "ScaledScores",
    "Separation",
    "ShiftHeterogeneity",
    "SignalDetection",
    "SignificanceTest",
    "Solvability",
    "SplitHalf",
    "StageAgreement",
    "Statistic",
    "Stratum",
    "StudiesCompared",
    "StudyParts",
    "StudySize",
    "Subscore",
    "SubsetAgreement",
    "TableCheck",
    "TemperatureCurve",
    "TopK",
    "TypeCoverage",
    "Violation",
    "WeightedAgreement",
    "acquiescence",
    "active_probabilities",
    "aggregate",
    "agreement_bounds",
    "agreement_left_out",
    "answer_correlations",
    "balanced_score",
    "benchmark_agreement",
    "benjamini_hochberg",
    "bias_test",
    "bland_altman",
    "blind_solvability",
    "chance_corrected",
    "cheapest_designs",
    "check_table",
    "compare_studies",
    "concordance",
    "contradicted_items",
    "criterion_validity",
    "cronbach_alpha",
    "crossed_components",
    "d_study",
    "dawid_skene",
    "dependability",
    "difference_over_clusters",
    "drift_test",
    "duplicate_items",
    "equivalence",
    "equivalence_margin",
    "error_factor",
    "errors_from_disagreement",
    "expected_retest",
    "expected_width",
    "family_dependence",
    "fleiss_kappa",
    "flip_rate",
    "forecast",
    "forecast_bounds",
    "form_reliability",
    "g_and_phi",
    "g_study",
    "grim",
    "gwet_ac1",
    "holm",
    "holm_in_order",
    "holm_tests",
    "htmt",
    "htmt_of",
    "icc",
    "icc_of_mean",
    "independent_differences",
    "item_agreement",
    "item_analysis",
    "item_response",
    "items_for_error",
    "items_for_gap",
    "items_for_reliability",
    "items_needed",
    "jackknife_interval",
    "judge_errors",
    "judge_share",
    "kendall_tau_b",
    "kendall_w",
    "kr21",
    "krippendorff_alpha",
    "label_error_candidates",
    "labels_at_random",
    "labels_needed",
    "lambda2",
    "leakage_cues",
    "leave_one_out",
    "left_out_bounds",
    "length_cue",
    "length_elasticity",
    "mean_shift",
    "minimum_detectable_difference",
    "minres_loadings",
    "multitrait_multimethod",
    "never_narrower",
    "noise_floor",
    "omega_of_types",
    "omega_t",
    "own_shifts",
    "own_words",
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
    "rank_stability",
    "rasch",
    "rater_replicates",
    "rater_share",
    "reading_list",
    "reliability_difference",
    "repeated_measures",
    "resample",
    "rho_g",
    "rho_g_of_scores",
    "rogan_gladen",
    "rogan_gladen_scores",
    "sampling_probability",
    "saturation",
    "scaled_scores",
    "separation",
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
    "stratified_alpha",
    "stream",
    "study_parts",
    "subscore_value",
    "systematic_sample",
    "table_agreement",
    "temperature_curve",
    "too_few_families",
    "too_near_a_bound",
    "top_k_overlap",
    "type_coverage",
    "weighted_agreement",
    "weighted_reliability",
    "williams_test",
    "with_raters",
    "with_wrong_keys",
]
