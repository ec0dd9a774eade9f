"""Coefficients of test theory: plain arrays in, frozen results out.

Nothing of HQM is imported here. Arrays of scores have shape (respondents, administrations); arrays of item scores have
shape (respondents, items). Every result carries its own parameters, is never rounded, and says in words when a number
does not exist (`status` is not `ok` and `value` is NaN) or exists without meaning anything (`not_informative`).
"""

from __future__ import annotations

from hqm.psychometrics.agreement import ItemAgreement, item_agreement
from hqm.psychometrics.bland_altman import BlandAltman, bland_altman
from hqm.psychometrics.concordance import Concordance, KendallW, concordance, kendall_w
from hqm.psychometrics.correlation import kendall_tau_b, pearson, spearman
from hqm.psychometrics.form_effect import (
    FormReliability,
    ShiftHeterogeneity,
    form_reliability,
    shift_heterogeneity,
    shift_heterogeneity_of_scores,
)
from hqm.psychometrics.form_spread import FormSpread, form_spread, item_sensitivity
from hqm.psychometrics.generalized_retest import GeneralizedRetest, rho_g
from hqm.psychometrics.generalized_retest_scores import rho_g_of_scores
from hqm.psychometrics.icc import ICC, icc
from hqm.psychometrics.jackknife import jackknife_interval
from hqm.psychometrics.judge_noise import JudgeNoise, judge_share, judge_share_from_correlations
from hqm.psychometrics.length import items_needed, spearman_brown, standardized_reliability
from hqm.psychometrics.measurement_error import MeasurementError, StandardErrors, measurement_error, standard_errors
from hqm.psychometrics.noise import noise_floor
from hqm.psychometrics.position import (
    CircularAccuracy,
    PositionBias,
    circular_accuracy,
    position_bias,
    recall_deviation,
)
from hqm.psychometrics.probability import (
    ExpectedRetest,
    TemperatureCurve,
    expected_retest,
    sampling_probability,
    temperature_curve,
)
from hqm.psychometrics.probability_facets import (
    ExpectedForms,
    ExpectedJudgeNoise,
    expected_judge_noise,
    expected_parallel_forms,
)
from hqm.psychometrics.rank_stability import PairOrder, RankStability, TopK, pair_order, rank_stability, top_k_overlap
from hqm.psychometrics.rater_agreement import cohen_kappa, gwet_ac1, krippendorff_alpha
from hqm.psychometrics.response_bias import (
    BalancedScore,
    PairCoherence,
    ResponseBias,
    acquiescence,
    balanced_score,
    pair_coherence,
    yes_excess,
)
from hqm.psychometrics.result import Bounds, Coefficient
from hqm.psychometrics.run_drift import drift_test
from hqm.psychometrics.shift import Equivalence, bias_test, equivalence, equivalence_margin, mean_shift
from hqm.psychometrics.signal_detection import SignalDetection, signal_detection, signal_detection_from_rates
from hqm.psychometrics.significance import SignificanceTest
from hqm.psychometrics.style import LengthElasticity, length_elasticity, length_shift
from hqm.psychometrics.verdicts import (
    SpecificAgreement,
    averaged_judge_share,
    flip_rate,
    majority_flip,
    specific_agreement,
)

__all__ = [
    "ICC",
    "BalancedScore",
    "BlandAltman",
    "Bounds",
    "CircularAccuracy",
    "Coefficient",
    "Concordance",
    "Equivalence",
    "ExpectedForms",
    "ExpectedJudgeNoise",
    "ExpectedRetest",
    "FormReliability",
    "FormSpread",
    "GeneralizedRetest",
    "ItemAgreement",
    "JudgeNoise",
    "KendallW",
    "LengthElasticity",
    "MeasurementError",
    "PairCoherence",
    "PairOrder",
    "PositionBias",
    "RankStability",
    "ResponseBias",
    "ShiftHeterogeneity",
    "SignalDetection",
    "SignificanceTest",
    "SpecificAgreement",
    "StandardErrors",
    "TemperatureCurve",
    "TopK",
    "acquiescence",
    "averaged_judge_share",
    "balanced_score",
    "bias_test",
    "bland_altman",
    "circular_accuracy",
    "cohen_kappa",
    "concordance",
    "drift_test",
    "equivalence",
    "equivalence_margin",
    "expected_judge_noise",
    "expected_parallel_forms",
    "expected_retest",
    "flip_rate",
    "form_reliability",
    "form_spread",
    "gwet_ac1",
    "icc",
    "item_agreement",
    "item_sensitivity",
    "items_needed",
    "jackknife_interval",
    "judge_share",
    "judge_share_from_correlations",
    "kendall_tau_b",
    "kendall_w",
    "krippendorff_alpha",
    "length_elasticity",
    "length_shift",
    "majority_flip",
    "mean_shift",
    "measurement_error",
    "noise_floor",
    "pair_coherence",
    "pair_order",
    "pearson",
    "position_bias",
    "rank_stability",
    "recall_deviation",
    "rho_g",
    "rho_g_of_scores",
    "sampling_probability",
    "shift_heterogeneity",
    "shift_heterogeneity_of_scores",
    "signal_detection",
    "signal_detection_from_rates",
    "spearman",
    "spearman_brown",
    "specific_agreement",
    "standard_errors",
    "standardized_reliability",
    "temperature_curve",
    "top_k_overlap",
    "yes_excess",
]
