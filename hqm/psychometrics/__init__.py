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
from hqm.psychometrics.generalized_retest import GeneralizedRetest, rho_g
from hqm.psychometrics.generalized_retest_scores import rho_g_of_scores
from hqm.psychometrics.icc import ICC, icc
from hqm.psychometrics.jackknife import jackknife_interval
from hqm.psychometrics.length import items_needed, spearman_brown, standardized_reliability
from hqm.psychometrics.measurement_error import (
    MeasurementError,
    StandardErrors,
    measurement_error,
    standard_errors,
)
from hqm.psychometrics.noise import noise_floor
from hqm.psychometrics.rank_stability import (
    PairOrder,
    RankStability,
    TopK,
    pair_order,
    rank_stability,
    top_k_overlap,
)
from hqm.psychometrics.result import Bounds, Coefficient
from hqm.psychometrics.run_drift import drift_test
from hqm.psychometrics.shift import Equivalence, bias_test, equivalence, equivalence_margin, mean_shift
from hqm.psychometrics.significance import SignificanceTest

__all__ = [
    "ICC",
    "BlandAltman",
    "Bounds",
    "Coefficient",
    "Concordance",
    "Equivalence",
    "GeneralizedRetest",
    "ItemAgreement",
    "KendallW",
    "MeasurementError",
    "PairOrder",
    "RankStability",
    "SignificanceTest",
    "StandardErrors",
    "TopK",
    "bias_test",
    "bland_altman",
    "concordance",
    "drift_test",
    "equivalence",
    "equivalence_margin",
    "icc",
    "item_agreement",
    "items_needed",
    "jackknife_interval",
    "kendall_tau_b",
    "kendall_w",
    "mean_shift",
    "measurement_error",
    "noise_floor",
    "pair_order",
    "pearson",
    "rank_stability",
    "rho_g",
    "rho_g_of_scores",
    "spearman",
    "spearman_brown",
    "standard_errors",
    "standardized_reliability",
    "top_k_overlap",
]
