"""Coefficients of test theory: plain arrays in, frozen results out.

Nothing of HQM is imported here. Arrays of scores have shape (respondents, administrations); arrays of item scores have
shape (respondents, items). Every result carries its own parameters, is never rounded, and says in words when a number
does not exist (`status` is not `ok` and `value` is NaN) or exists without meaning anything (`not_informative`).
"""

from __future__ import annotations

from hqm.psychometrics.agreement import ItemAgreement, item_agreement
from hqm.psychometrics.benchmarks import BenchmarkAgreement, SubsetAgreement, benchmark_agreement, mean_win_rate
from hqm.psychometrics.consistency import Alpha, cronbach_alpha, kr21, lambda2, lambda6, stratified_alpha
from hqm.psychometrics.convergent import (
    DependentCorrelations,
    Multitrait,
    correlation_difference,
    htmt,
    htmt_of,
    multitrait_multimethod,
    williams_test,
)
from hqm.psychometrics.correction import CorrectedScores, ppi_scores, rogan_gladen, rogan_gladen_scores
from hqm.psychometrics.correlation import pearson
from hqm.psychometrics.criterion import CriterionValidity, criterion_validity, labels_needed
from hqm.psychometrics.decision import DStudy, Plan, cheapest_designs, d_study, items_for_reliability
from hqm.psychometrics.discriminability import (
    PairwiseDifferences,
    independent_differences,
    items_for_gap,
    minimum_detectable_difference,
    paired_differences,
)
from hqm.psychometrics.families import (
    FamilyDependence,
    Influence,
    RangeRestriction,
    family_dependence,
    leave_one_out,
    range_restriction,
)
from hqm.psychometrics.generalizability import Component, GStudy, g_study
from hqm.psychometrics.icc import ICC, icc
from hqm.psychometrics.jackknife import jackknife_interval
from hqm.psychometrics.judging import JudgeAgreement, JudgeErrors, judge_errors, table_agreement
from hqm.psychometrics.multiple import benjamini_hochberg, holm
from hqm.psychometrics.noise import noise_floor
from hqm.psychometrics.omega import minres_loadings, omega_t
from hqm.psychometrics.result import Bounds, Coefficient
from hqm.psychometrics.saturation import (
    ChanceCorrected,
    Saturation,
    Separation,
    chance_corrected,
    saturation,
    separation,
    signal_to_noise,
)
from hqm.psychometrics.shift import mean_shift
from hqm.psychometrics.splitting import ItemRest, SplitHalf, item_rest, split_half

__all__ = [
    "ICC",
    "Alpha",
    "BenchmarkAgreement",
    "Bounds",
    "ChanceCorrected",
    "Coefficient",
    "Component",
    "CorrectedScores",
    "CriterionValidity",
    "DStudy",
    "DependentCorrelations",
    "FamilyDependence",
    "GStudy",
    "Influence",
    "ItemAgreement",
    "ItemRest",
    "JudgeAgreement",
    "JudgeErrors",
    "Multitrait",
    "PairwiseDifferences",
    "Plan",
    "RangeRestriction",
    "Saturation",
    "Separation",
    "SplitHalf",
    "SubsetAgreement",
    "benchmark_agreement",
    "benjamini_hochberg",
    "chance_corrected",
    "cheapest_designs",
    "correlation_difference",
    "criterion_validity",
    "cronbach_alpha",
    "d_study",
    "family_dependence",
    "g_study",
    "holm",
    "htmt",
    "htmt_of",
    "icc",
    "independent_differences",
    "item_agreement",
    "item_rest",
    "items_for_gap",
    "items_for_reliability",
    "jackknife_interval",
    "judge_errors",
    "kr21",
    "labels_needed",
    "lambda2",
    "lambda6",
    "leave_one_out",
    "mean_shift",
    "mean_win_rate",
    "minimum_detectable_difference",
    "minres_loadings",
    "multitrait_multimethod",
    "noise_floor",
    "omega_t",
    "paired_differences",
    "pearson",
    "ppi_scores",
    "range_restriction",
    "rogan_gladen",
    "rogan_gladen_scores",
    "saturation",
    "separation",
    "signal_to_noise",
    "split_half",
    "stratified_alpha",
    "table_agreement",
    "williams_test",
]
