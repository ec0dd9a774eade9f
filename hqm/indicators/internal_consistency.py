"""How far the items, and the types, of one administration measure the same thing."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import cast

import numpy as np
import numpy.typing as npt

from hqm.indicators import paired_scores
from hqm.indicators.cases import Case
from hqm.indicators.indicator import (
    AGREEMENT,
    CONSISTENCY,
    CRITERION,
    LOGITS,
    MEAN_OF_ITEMS,
    ONE_SCALE,
    PAIR,
    RELIABILITY,
    RUNS,
    TEST_RETEST,
    Indicator,
    Result,
    need,
    need_study,
    result,
    to_coefficient,
)
from hqm.indicators.judged import TWO_RATERS, binary, labels_by_rater
from hqm.psychometrics import (
    ICC,
    Coefficient,
    aggregate,
    cronbach_alpha,
    dimensionality,
    fleiss_kappa,
    icc,
    icc_of_mean,
    omega_of_types,
    split_half,
    standardized_alpha,
    stream,
)
from hqm.psychometrics.items.type_strengths import LEVEL, Dimensionality
from hqm.scoring.metrics import Array
from hqm.types import finite

_HALVES = 200


def _included(case: Case) -> npt.NDArray[np.bool_]:
    """(items,): whether every respondent was scored on an item."""
    # Halves and types are compared between respondents, so that each must have the same items.
    return np.asarray(np.isfinite(case.first_scores).all(axis=0))


def _complete(case: Case) -> Array:
    """(respondents, items): the scores of the items that every respondent was scored on."""
    return case.first_scores[:, case.cached(_included)]


def _labels(case: Case) -> np.ndarray[tuple[int], np.dtype[np.str_]]:
    """The type of each complete item; empty where it has none."""
    return case.types[case.cached(_included)]


def _types(case: Case) -> list[str]:
    return sorted(set(case.cached(_labels).tolist()) - {""})


def _by_type(case: Case) -> Array:
    """(respondents, types): the mean scores."""
    scores = case.cached(_complete)
    labels = case.cached(_labels)
    return np.stack(
        [scores[:, labels == kind].mean(axis=1) for kind in case.cached(_types)], axis=1
    )


def _parts(case: Case) -> Array:
    """(respondents, pictures): the sums over the complete items of each picture; the items where
    every one stands alone.
    """
    clusters = np.unique(case.clusters[case.cached(_included)], return_inverse=True)[1]
    return aggregate(case.cached(_complete).T, clusters).T


def _alpha(case: Case) -> Result:
    """Pictures are the parts of the test where several items share one; `of_items` takes the items
    as parts all the same.
    """
    # Missing answers are left out one by one: leaving out their items or respondents let ten empty
    # cells of 10,080 take the coefficient away.
    study = cronbach_alpha(case.first_scores, case.clusters, **case.dependence, drop="answers")
    return result(
        study.coefficient,
        varying=finite(study.varying.value),
        items_varying=study.k_varying,
        items=study.k,
        parts=study.n_clusters,
        of_items=finite(study.item_alpha),
    )


def _split_half(case: Case) -> Result:
    """Pictures are split, not items, where several items share one."""
    # Items about one picture would be in both halves, which their picture makes alike.
    study = split_half(case.cached(_parts), stream(case.seed, "consistency.halves"), draws=_HALVES)
    value = replace(
        to_coefficient(study.mean, study), n=study.n, n_items=case.cached(_complete).shape[1]
    )
    return result(
        value, low=finite(study.low), high=finite(study.high), splits=study.splits, parts=study.k
    )


def _typed(case: Case) -> tuple[Array, list[str], Array]:
    """The scores, types and clusters of the items that have a type."""
    # An item without a type would be a stratum of what nobody has named.
    typed = case.types != ""
    return case.first_scores[:, typed], case.types[typed].tolist(), case.clusters[typed]


def _alpha_types(case: Case) -> Result:
    scores = case.cached(_by_type)
    # A type is one part here, however many items it has: the question is whether types go together.
    value = cronbach_alpha(scores, **case.dependence).coefficient
    # The interval over items is that of the items' alpha, and none of a few types.
    return result(
        replace(value, fixed=None, n_items=case.cached(_complete).shape[1]),
        types=case.cached(_types),
    )


_TWO_TYPES = need(
    "two types", lambda case: len(case.cached(_types)) >= 2, "there are fewer than two types"
)
_THREE_TYPES = need(
    "three types", lambda case: len(case.cached(_types)) >= 3, "one factor needs three types"
)
_FAMILY = (CONSISTENCY,)

_CONSISTENCY = (
    Indicator(
        name="alpha",
        unit=RELIABILITY,
        one_sided=True,
        title="Cronbach's alpha",
        family=_FAMILY,
        needs=(MEAN_OF_ITEMS,),
        compute=_alpha,
        headline=_FAMILY,
        meaning=(
            "Cronbach's alpha (KR-20 for 0/1 scores), with clusters as parts where several items"
            " share one."
        ),
        explains=(cronbach_alpha,),
    ),
    Indicator(
        name="split_half",
        on_page=False,
        unit=RELIABILITY,
        family=_FAMILY,
        needs=(MEAN_OF_ITEMS,),
        compute=_split_half,
        explains=(split_half,),
        meaning=(
            "Mean of random split halves (of clusters where items share one), stepped up by"
            " Spearman and Brown."
        ),
    ),
    Indicator(
        name="alpha_types",
        unit=RELIABILITY,
        one_sided=True,
        title="alpha over types",
        family=_FAMILY,
        needs=(MEAN_OF_ITEMS, _TWO_TYPES),
        meaning="Cronbach's alpha over the scores of the types.",
        explains=(cronbach_alpha,),
        compute=_alpha_types,
    ),
    Indicator(
        name="omega_types",
        unit=RELIABILITY,
        one_sided=True,
        title="omega over types",
        family=_FAMILY,
        needs=(MEAN_OF_ITEMS, _TWO_TYPES, _THREE_TYPES),
        meaning=(
            "McDonald's omega of one factor over the scores by type, without what types share"
            " through clusters."
        ),
        compute=lambda case: omega_of_types(*case.cached(_typed), **case.dependence),
        explains=(omega_of_types,),
        headline=_FAMILY,
    ),
)


_C1 = next(indicator for indicator in paired_scores.indicators if indicator.name == "icc_c1")


def icc_of(case: Case) -> ICC:
    """Return the intraclass correlations of all administrations of a case."""
    return icc(case.scores.T, **case.dependence)


def _single(case: Case, indicator: Indicator) -> Coefficient:
    """ICC(A,1) or ICC(C,1) of two administrations, with the intervals that their own estimates
    have.
    """
    return cast("Result", indicator.compute(case)).coefficient


def _mean_of_two(indicator: Indicator) -> Callable[[Case], Result]:
    def compute(case: Case) -> Result:
        # Spearman and Brown, from the single score's own estimate, so that its intervals come
        # along.
        return result(icc_of_mean(_single(case, indicator), 2), administrations=2)

    return compute


def _icc_over_runs(coefficient: Callable[[ICC], Coefficient]) -> Callable[[Case], Result]:
    def compute(case: Case) -> Result:
        return result(coefficient(case.cached(icc_of)), administrations=len(case.scores))

    return compute


def _fleiss_kappa(case: Case) -> Result:
    table = labels_by_rater(case)
    kappa = fleiss_kappa(table)
    return result(kappa, raters=len(table), answers=table.shape[1], used=kappa.n)


def _standardized_alpha(case: Case) -> Coefficient:
    return standardized_alpha(case.cached(_complete))


def _nominal(case: Case) -> bool:
    # Kappa counts equal categories: two labels of .4 and .5 would count as different.
    return binary(labels_by_rater(case))


_THREE = (RUNS, need("three runs", lambda case: len(case.matrices) > 2))
_NOMINAL = (
    *TWO_RATERS,
    need(
        "labels of 0 or 1", _nominal, "the labels are numbers, not categories: read human_agreement"
    ),
)

_ICC_ONE_WAY = Indicator(
    name="icc_11",
    on_page=False,
    unit=AGREEMENT,
    one_sided=True,
    title="ICC(1,1), one-way",
    family=ONE_SCALE,
    needs=(PAIR,),
    explains=(icc,),
    repeats=True,
    meaning=(
        "ICC(1,1): agreement of one score where no administration is the same for two respondents;"
        " invalid where the mean moved."
    ),
    compute=_icc_over_runs(lambda study: study.one_way),
)
_ONE_WAY_K = Indicator(
    name="icc_1k",
    on_page=False,
    unit=AGREEMENT,
    one_sided=True,
    title="ICC(1,k), one-way",
    family=ONE_SCALE,
    needs=(PAIR,),
    explains=(icc,),
    repeats=True,
    meaning=(
        "ICC(1,k): the same for the mean over the administrations; use it only where that mean is"
        " the score."
    ),
    compute=_icc_over_runs(lambda study: study.one_way_k),
)
_AGREEMENT_K = Indicator(
    name="icc_ak",
    on_page=False,
    unit=AGREEMENT,
    one_sided=True,
    title="ICC(A,k), agreement",
    family=ONE_SCALE,
    needs=(PAIR,),
    explains=(icc,),
    repeats=True,
    meaning=(
        "ICC(A,k): how closely the mean over the administrations would repeat as the same number."
    ),
    compute=_mean_of_two(paired_scores.ICC_A1),
)
_CONSISTENCY_K = Indicator(
    name="icc_ck",
    on_page=False,
    unit=AGREEMENT,
    one_sided=True,
    title="ICC(C,k), consistency",
    family=ONE_SCALE,
    needs=(PAIR,),
    explains=(icc,),
    repeats=True,
    meaning=(
        "ICC(C,k): how well differences between respondents repeat in the mean over the"
        " administrations (alpha of the administrations)."
    ),
    compute=_mean_of_two(_C1),
)

_NAMED_COEFFICIENTS = (
    _ICC_ONE_WAY,
    _ONE_WAY_K,
    _AGREEMENT_K,
    _CONSISTENCY_K,
    # Of three runs or more, all of them are the raters.
    replace(_ICC_ONE_WAY, family=(TEST_RETEST,), needs=_THREE),
    replace(_ONE_WAY_K, family=(TEST_RETEST,), needs=_THREE),
    replace(
        _AGREEMENT_K,
        family=(TEST_RETEST,),
        needs=_THREE,
        compute=_icc_over_runs(lambda study: study.ak),
    ),
    replace(
        _C1,
        family=(TEST_RETEST,),
        needs=_THREE,
        compute=_icc_over_runs(lambda study: study.c1),
        headline=(),
    ),
    replace(
        _CONSISTENCY_K,
        family=(TEST_RETEST,),
        needs=_THREE,
        compute=_icc_over_runs(lambda study: study.ck),
    ),
    Indicator(
        name="fleiss_kappa",
        unit=AGREEMENT,
        title="Fleiss' kappa",
        family=(CRITERION,),
        needs=_NOMINAL,
        compute=_fleiss_kappa,
        meaning=(
            "Fleiss' kappa of the people who labelled, on the answers that the commonest number of"
            " them labelled."
        ),
        explains=(fleiss_kappa,),
    ),
    Indicator(
        name="alpha_standardized",
        on_page=False,
        unit=RELIABILITY,
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


_LARGEST = 1.0
"""Logits; a study that would miss as much as models differ in ability says nothing."""


def _strengths(case: Case) -> Dimensionality:
    return dimensionality(
        case.shares(case.first_scores),
        case.types.tolist(),
        case.clusters,
        # Halves are drawn by the audit's seed, so that the p-value is the same in every run.
        rng=stream(case.seed, "dimensionality"),
    )


def _own_strengths(case: Case) -> Result:
    study = case.cached(_strengths)
    is_significant = study.p < LEVEL
    value = Coefficient(study.type_sd, n=study.n, n_items=study.n_items)
    if not is_significant and study.visible > _LARGEST:
        logits = f"{study.visible:.1f}" if math.isfinite(study.visible) else "2"
        reason = (
            f"with these respondents and items, strengths in single types below {logits} logits are"
            " missed"
        )
        # A p-value above the level shows one dimension only where a second one would have been
        # found.
        value = replace(value, status="not_informative", reason=reason)
    return result(
        value,
        flags=("NOT_ONE_THING",) if is_significant and study.mostly_own else (),
        shared=finite(study.shared),
        p=study.p,
        visible=finite(study.visible),
        types=[
            {"type": kind, "items": items, "own": type_sd} for kind, items, type_sd in study.by_type
        ],
    )


_STRENGTHS = (
    Indicator(
        name="own_strengths",
        unit=LOGITS,
        title="strengths in single types",
        family=(CONSISTENCY,),
        needs=(MEAN_OF_ITEMS, need_study("halves of two types", _strengths)),
        compute=_own_strengths,
        explains=(dimensionality,),
        better="lower",
        digits=2,
        headline=(CONSISTENCY,),
        meaning=(
            "Standard deviation, in logits, of what respondents have in a type beyond one ability;"
            " with it, the smallest that would not have been missed."
        ),
    ),
)


indicators = (*_CONSISTENCY, *_NAMED_COEFFICIENTS, *_STRENGTHS)
