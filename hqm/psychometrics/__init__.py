"""Coefficients of test theory: plain arrays in, frozen results out.

Nothing of HQM is imported here. Arrays of scores have shape (respondents, administrations); arrays of item scores have
shape (respondents, items). Every result carries its own parameters, is never rounded, and says in words when a number
does not exist (`status` is not `ok` and `value` is NaN) or exists without meaning anything (`not_informative`).
"""

from __future__ import annotations

from hqm.psychometrics.agreement import ItemAgreement, item_agreement
from hqm.psychometrics.benchmarks import BenchmarkAgreement, SubsetAgreement, benchmark_agreement
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
from hqm.psychometrics.correction import CorrectedScores, ppi_scores, rogan_gladen, rogan_gladen_scores
from hqm.psychometrics.correlation import kendall_tau_b, pearson, spearman
from hqm.psychometrics.coverage import Coverage, TypeCoverage, items_for_error, type_coverage
from hqm.psychometrics.criterion import CriterionValidity, criterion_validity, labels_needed
from hqm.psychometrics.cues import Cue, Giveaway, Leakage, leakage_cues
from hqm.psychometrics.decision import DStudy, Plan, cheapest_designs, d_study, items_for_reliability
from hqm.psychometrics.dependent import ReliabilityDifference, reliability_difference, weighted_reliability
from hqm.psychometrics.detection import SignalDetection, signal_detection, signal_detection_from_rates
from hqm.psychometrics.discriminability import (
    PairwiseDifferences,
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
from hqm.psychometrics.intraclass import ICC, icc
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
from hqm.psychometrics.judging import JudgeAgreement, JudgeErrors, judge_errors, table_agreement
from hqm.psychometrics.leaks import Stratum
from hqm.psychometrics.left_out import agreement_left_out, left_out_bounds
from hqm.psychometrics.length import items_needed, spearman_brown, standardized_reliability
from hqm.psychometrics.limits_of_agreement import BlandAltman, bland_altman
from hqm.psychometrics.multiple import benjamini_hochberg, holm
from hqm.psychometrics.noise import noise_floor
from hqm.psychometrics.omega import minres_loadings, omega_t
from hqm.psychometrics.position import PositionBias, position_bias
from hqm.psychometrics.probability import (
    ExpectedRetest,
    TemperatureCurve,
    expected_retest,
    sampling_probability,
    temperature_curve,
)
from hqm.psychometrics.ranks import PairOrder, RankStability, TopK, pair_order, rank_stability, top_k_overlap
from hqm.psychometrics.rasch_model import Rasch, RaschItem, rasch
from hqm.psychometrics.rater_agreement import flip_rate, gwet_ac1, krippendorff_alpha
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
from hqm.psychometrics.shift import Equivalence, bias_test, equivalence, equivalence_margin, mean_shift
from hqm.psychometrics.significance import SignificanceTest
from hqm.psychometrics.solvability import BlindType, Solvability, blind_solvability
from hqm.psychometrics.splitting import SplitHalf, split_half
from hqm.psychometrics.style import LengthElasticity, length_elasticity
from hqm.psychometrics.subscores import Subscore, prmse, subscore_value
from hqm.psychometrics.weights import stream

__all__ = [
    "ICC",
    "Alpha",
    "BalancedScore",
    "BenchmarkAgreement",
    "BlandAltman",
    "BlindType",
    "Bounds",
    "ChanceCorrected",
    "Coefficient",
    "Component",
    "Concordance",
    "Contradictions",
    "CorrectedScores",
    "Coverage",
    "CriterionValidity",
    "Cue",
    "DStudy",
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
    "JudgeAgreement",
    "JudgeErrors",
    "JudgeNoise",
    "KendallW",
    "LabelError",
    "LabelErrors",
    "Leakage",
    "LengthElasticity",
    "Multitrait",
    "PairCoherence",
    "PairOrder",
    "PairwiseDifferences",
    "Plan",
    "PositionBias",
    "RangeRestriction",
    "RankStability",
    "Rasch",
    "RaschItem",
    "RaterVariance",
    "ReliabilityDifference",
    "RepeatedMeasures",
    "Replicates",
    "ResponseBias",
    "Saturation",
    "Separation",
    "ShiftHeterogeneity",
    "SignalDetection",
    "SignificanceTest",
    "Solvability",
    "SplitHalf",
    "Statistic",
    "Stratum",
    "Subscore",
    "SubsetAgreement",
    "TableCheck",
    "TemperatureCurve",
    "TopK",
    "TypeCoverage",
    "Violation",
    "acquiescence",
    "aggregate",
    "agreement_left_out",
    "balanced_score",
    "benchmark_agreement",
    "benjamini_hochberg",
    "bias_test",
    "bland_altman",
    "blind_solvability",
    "chance_corrected",
    "cheapest_designs",
    "check_table",
    "concordance",
    "contradicted_items",
    "criterion_validity",
    "cronbach_alpha",
    "d_study",
    "drift_test",
    "duplicate_items",
    "equivalence",
    "equivalence_margin",
    "expected_retest",
    "family_dependence",
    "flip_rate",
    "form_reliability",
    "g_study",
    "grim",
    "gwet_ac1",
    "holm",
    "htmt",
    "htmt_of",
    "icc",
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
    "labels_needed",
    "lambda2",
    "leakage_cues",
    "leave_one_out",
    "left_out_bounds",
    "length_elasticity",
    "mean_shift",
    "minimum_detectable_difference",
    "minres_loadings",
    "multitrait_multimethod",
    "noise_floor",
    "omega_t",
    "pair_coherence",
    "pair_order",
    "paired_differences",
    "partial_pearson",
    "pearson",
    "position_bias",
    "ppi_scores",
    "prmse",
    "range_restriction",
    "rank_stability",
    "rasch",
    "rater_share",
    "reliability_difference",
    "repeated_measures",
    "resample",
    "rho_g",
    "rho_g_of_scores",
    "rogan_gladen",
    "rogan_gladen_scores",
    "sampling_probability",
    "saturation",
    "separation",
    "shift_heterogeneity",
    "shift_heterogeneity_of_scores",
    "signal_detection",
    "signal_detection_from_rates",
    "spearman",
    "spearman_brown",
    "split_half",
    "standardized_reliability",
    "stratified_alpha",
    "stream",
    "subscore_value",
    "table_agreement",
    "temperature_curve",
    "top_k_overlap",
    "type_coverage",
    "weighted_reliability",
    "williams_test",
]
