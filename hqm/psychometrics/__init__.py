"""Coefficients of test theory: plain arrays in, frozen results out.

Nothing of HQM is imported here. Arrays of scores have shape (respondents, administrations); arrays of item scores have
shape (respondents, items). Every result carries its own parameters, is never rounded, and says in words when a number
does not exist (`status` is not `ok` and `value` is NaN) or exists without meaning anything (`not_informative`).
"""

from __future__ import annotations

from hqm.psychometrics.agreement import ItemAgreement, item_agreement
from hqm.psychometrics.bootstrap import Interval, Replicates, Statistic, resample
from hqm.psychometrics.correlation import pearson
from hqm.psychometrics.coverage import Coverage, TypeCoverage, items_for_error, type_coverage
from hqm.psychometrics.cues import Cue, Giveaway, Leakage, leakage_cues
from hqm.psychometrics.dif import (
    MantelHaenszel,
    Option,
    OptionAnalysis,
    item_functioning,
    mantel_haenszel,
    option_analysis,
)
from hqm.psychometrics.duplicates import Duplicates, duplicate_items
from hqm.psychometrics.icc import ICC, icc
from hqm.psychometrics.integrity import Grim, TableCheck, Violation, check_table, grim
from hqm.psychometrics.irt import Abilities, ItemResponseModel, item_response
from hqm.psychometrics.items import (
    ItemAnalysis,
    ItemStatistics,
    LabelError,
    LabelErrors,
    item_analysis,
    label_error_candidates,
)
from hqm.psychometrics.jackknife import jackknife_interval
from hqm.psychometrics.noise import noise_floor
from hqm.psychometrics.rasch import Rasch, RaschItem, rasch
from hqm.psychometrics.result import Bounds, Coefficient
from hqm.psychometrics.shift import mean_shift
from hqm.psychometrics.solvability import BlindType, Solvability, blind_solvability
from hqm.psychometrics.subscores import Subscore, prmse, subscore_value
from hqm.psychometrics.tallies import aggregate, pair_tallies, pearson_of_sums, tally_statistic
from hqm.psychometrics.weights import stream

__all__ = [
    "ICC",
    "Abilities",
    "BlindType",
    "Bounds",
    "Coefficient",
    "Coverage",
    "Cue",
    "Duplicates",
    "Giveaway",
    "Grim",
    "Interval",
    "ItemAgreement",
    "ItemAnalysis",
    "ItemResponseModel",
    "ItemStatistics",
    "LabelError",
    "LabelErrors",
    "Leakage",
    "MantelHaenszel",
    "Option",
    "OptionAnalysis",
    "Rasch",
    "RaschItem",
    "Replicates",
    "Solvability",
    "Statistic",
    "Subscore",
    "TableCheck",
    "TypeCoverage",
    "Violation",
    "aggregate",
    "blind_solvability",
    "check_table",
    "duplicate_items",
    "grim",
    "icc",
    "item_agreement",
    "item_analysis",
    "item_functioning",
    "item_response",
    "items_for_error",
    "jackknife_interval",
    "label_error_candidates",
    "leakage_cues",
    "mantel_haenszel",
    "mean_shift",
    "noise_floor",
    "option_analysis",
    "pair_tallies",
    "pearson",
    "pearson_of_sums",
    "prmse",
    "rasch",
    "resample",
    "stream",
    "subscore_value",
    "tally_statistic",
    "type_coverage",
]
