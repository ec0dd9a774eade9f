"""Coefficients that the literature reports by name, beside those that lead: all forms of the ICC,
Fleiss' kappa, standardised alpha.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from hqm.indicators import agreement
from hqm.indicators.cases import Case
from hqm.indicators.families import CONSISTENCY, CRITERION, ONE_SCALE, TEST_RETEST
from hqm.indicators.judged import LABELS_OF_RATERS, labels_by_rater
from hqm.indicators.value import MEAN_OF_ITEMS, PAIR, RUNS, Indicator, Result, need, result
from hqm.psychometrics import ICC, Coefficient, fleiss_kappa, icc, icc_of_mean, standardized_alpha

_C1 = next(indicator for indicator in agreement.indicators if indicator.name == "icc_c1")


def _icc(case: Case) -> ICC:
    return icc(case.scores.T, n_effective=case.n_effective)


def _single(case: Case, indicator: Indicator) -> Coefficient:
    """ICC(A,1) or ICC(C,1) of two administrations, with the intervals that their own estimates
    have.
    """
    value = indicator.compute(case)
    return (
        value.coefficient
        if isinstance(value, Result)
        else Coefficient(float(value))
        if isinstance(value, float)
        else value
    )


def _mean_of_two(indicator: Indicator) -> Callable[[Case], Result]:
    def compute(case: Case) -> Result:
        return result(icc_of_mean(_single(case, indicator), 2), administrations=2)

    return compute


def _of_runs(which: Callable[[ICC], Coefficient]) -> Callable[[Case], Result]:
    def compute(case: Case) -> Result:
        return result(which(case.once(_icc)), administrations=len(case.scores))

    return compute


def _fleiss_kappa(case: Case) -> Result:
    table = labels_by_rater(case)
    kappa = fleiss_kappa(table)
    return result(kappa, raters=len(table), answers=table.shape[1], used=kappa.n)


def _standardized_alpha(case: Case) -> Coefficient:
    scores = case.item_scores[0]
    return standardized_alpha(scores[:, np.isfinite(scores).all(axis=0)])


def _nominal(case: Case) -> bool:
    table = labels_by_rater(case)
    return bool(np.isin(table[np.isfinite(table)], (0, 1)).all())


_THREE = (RUNS, need("three runs", lambda case: len(case.matrices) > 2))
_RATERS = (
    LABELS_OF_RATERS,
    need(
        "two people who labelled",
        lambda case: len(case.raters or ()) >= 2,
        "one person labelled each answer, or nobody says who did (a field 'rater'): agreement"
        " needs two",
        "insufficient",
    ),
    need(
        "labels of 0 or 1", _nominal, "the labels are numbers, not categories: read human_agreement"
    ),
)

_ONE_WAY = Indicator(
    name="icc_11",
    title="ICC(1,1), one-way",
    family=ONE_SCALE,
    needs=(PAIR,),
    explains=(icc,),
    repeats=True,
    meaning=(
        "ICC(1,1): agreement of one score where no administration is the same for two respondents;"
        " invalid where the mean moved."
    ),
    compute=_of_runs(lambda study: study.one_way),
)
_ONE_WAY_K = Indicator(
    name="icc_1k",
    title="ICC(1,k), one-way",
    family=ONE_SCALE,
    needs=(PAIR,),
    explains=(icc,),
    repeats=True,
    meaning=(
        "ICC(1,k): the same for the mean over the administrations; use it only where that mean is"
        " the score."
    ),
    compute=_of_runs(lambda study: study.one_way_k),
)
_AGREEMENT_K = Indicator(
    name="icc_ak",
    title="ICC(A,k), agreement",
    family=ONE_SCALE,
    needs=(PAIR,),
    explains=(icc,),
    repeats=True,
    meaning=(
        "ICC(A,k): how far the mean over the administrations would come back as the same number."
    ),
    compute=_mean_of_two(agreement.ICC_A1),
)
_CONSISTENCY_K = Indicator(
    name="icc_ck",
    title="ICC(C,k), consistency",
    family=ONE_SCALE,
    needs=(PAIR,),
    explains=(icc,),
    repeats=True,
    meaning=(
        "ICC(C,k): how far differences between respondents come back in the mean over the"
        " administrations (alpha of the administrations)."
    ),
    compute=_mean_of_two(_C1),
)

indicators = (
    _ONE_WAY,
    _ONE_WAY_K,
    _AGREEMENT_K,
    _CONSISTENCY_K,
    # of three runs or more, all of them are the raters
    replace(_ONE_WAY, family=(TEST_RETEST,), needs=_THREE),
    replace(_ONE_WAY_K, family=(TEST_RETEST,), needs=_THREE),
    replace(
        _AGREEMENT_K, family=(TEST_RETEST,), needs=_THREE, compute=_of_runs(lambda study: study.ak)
    ),
    replace(
        _C1,
        family=(TEST_RETEST,),
        needs=_THREE,
        compute=_of_runs(lambda study: study.c1),
        headline=(),
    ),
    replace(
        _CONSISTENCY_K,
        family=(TEST_RETEST,),
        needs=_THREE,
        compute=_of_runs(lambda study: study.ck),
    ),
    Indicator(
        name="fleiss_kappa",
        title="Fleiss' kappa",
        family=(CRITERION,),
        needs=_RATERS,
        compute=_fleiss_kappa,
        meaning=(
            "Fleiss' kappa of the people who labelled, on the answers that the commonest number of"
            " them labelled."
        ),
        explains=(fleiss_kappa,),
    ),
    Indicator(
        name="alpha_standardized",
        title="standardised alpha",
        family=(CONSISTENCY,),
        needs=(MEAN_OF_ITEMS,),
        meaning=(
            "Alpha from the mean correlation of the items that vary: of the sum of standardised"
            " items, not of the score."
        ),
        compute=_standardized_alpha,
        explains=(standardized_alpha,),
    ),
)
