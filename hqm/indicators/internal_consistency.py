"""How far the items, and the types, of one administration measure the same thing."""

from __future__ import annotations

import numpy as np

from hqm.indicators.cases import Case, number
from hqm.indicators.families import CONSISTENCY
from hqm.indicators.value import MEAN_OF_ITEMS, Indicator, Result, known, need, result
from hqm.psychometrics import (
    Coefficient,
    cronbach_alpha,
    kr21,
    lambda2,
    omega_t,
    split_half,
    stratified_alpha,
    stream,
)
from hqm.scoring.metrics import Array

_HALVES = 200


def _complete(case: Case) -> Array:
    """(respondents, items): the scores of the items that every respondent was scored on."""
    scores = case.item_scores[0]
    return np.asarray(scores[:, np.isfinite(scores).all(axis=0)])


def _labels(case: Case) -> np.ndarray[tuple[int], np.dtype[np.str_]]:
    """The type of each complete item; empty where it has none."""
    kept = np.isfinite(case.item_scores[0]).all(axis=0)
    return np.array([item.type or "" for item, keep in zip(case.items, kept, strict=True) if keep])


def _types(case: Case) -> list[str]:
    return sorted(set(case.once(_labels).tolist()) - {""})


def _by_type(case: Case) -> Array:
    """(respondents, types): the mean scores."""
    scores, labels = case.once(_complete), case.once(_labels)
    return np.stack([scores[:, labels == kind].mean(axis=1) for kind in case.once(_types)], axis=1)


def _alpha(case: Case) -> Result:
    study = cronbach_alpha(case.once(_complete))
    return result(study.coefficient, varying=number(study.varying.value), items_varying=study.k_varying, items=study.k)


def _split_half(case: Case) -> Result:
    study = split_half(case.once(_complete), stream(case.seed, "consistency.halves"), draws=_HALVES)
    return result(known(study.mean, study), low=number(study.low), high=number(study.high), splits=study.splits)


def _stratified_alpha(case: Case) -> Coefficient:
    typed = case.once(_labels) != ""
    return stratified_alpha(case.once(_complete)[:, typed], case.once(_labels)[typed].tolist())


def _omega_types(case: Case) -> Coefficient:
    return omega_t(case.once(_by_type), stream(case.seed, "consistency.omega"), families=list(case.families))


_BINARY = need("item scores of 0 or 1", lambda case: bool(np.isin(case.once(_complete), (0, 1)).all()), "the item scores are not 0 or 1")  # fmt: skip
_TWO_TYPES = need("two types", lambda case: len(case.once(_types)) >= 2, "there are fewer than two types")
_THREE_TYPES = need("three types", lambda case: len(case.once(_types)) >= 3, "one factor needs three types")
_FAMILY = (CONSISTENCY,)

indicators = (
    Indicator(
        name="alpha", title="Cronbach's alpha", family=_FAMILY, needs=(MEAN_OF_ITEMS,), compute=_alpha, headline=_FAMILY,
        meaning="Cronbach's alpha (KR-20 for 0/1 scores) over items.", explains=(cronbach_alpha,),
    ),
    Indicator(
        name="kr21", title="KR-21", family=_FAMILY, needs=(MEAN_OF_ITEMS, _BINARY), explains=(kr21,),
        meaning="KR-21: alpha if all items were equally hard.", compute=lambda case: kr21(case.once(_complete)),
    ),
    Indicator(
        name="lambda2", title="Guttman's lambda-2", family=_FAMILY, needs=(MEAN_OF_ITEMS,), explains=(lambda2,),
        meaning="Guttman's lambda-2, a closer lower bound than alpha.", compute=lambda case: lambda2(case.once(_complete)),
    ),
    Indicator(
        name="split_half", family=_FAMILY, needs=(MEAN_OF_ITEMS,), compute=_split_half, explains=(split_half,),
        meaning="Mean of random split halves, stepped up by Spearman and Brown.",
    ),
    Indicator(
        name="stratified_alpha", family=_FAMILY, needs=(MEAN_OF_ITEMS, _TWO_TYPES), compute=_stratified_alpha,
        meaning="Alpha with the types as strata.", explains=(stratified_alpha,),
    ),
    Indicator(
        name="alpha_types", title="alpha over types", family=_FAMILY, needs=(MEAN_OF_ITEMS, _TWO_TYPES),
        meaning="Cronbach's alpha over the scores by hallucination type.", explains=(cronbach_alpha,),
        compute=lambda case: result(cronbach_alpha(case.once(_by_type)).coefficient, types=case.once(_types)),
    ),
    Indicator(
        name="omega_types", title="omega over types", family=_FAMILY, needs=(MEAN_OF_ITEMS, _TWO_TYPES, _THREE_TYPES),
        meaning="McDonald's omega of one factor over the scores by type.", compute=_omega_types, explains=(omega_t,),
        headline=_FAMILY,
    ),
)  # fmt: skip
