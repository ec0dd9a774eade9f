"""What single items contribute: difficulty, discrimination, labels that look wrong, duplicates."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from hqm.indicators.cases import Case, number
from hqm.indicators.families import ITEMS
from hqm.indicators.value import MEAN_OF_ITEMS, Indicator, Result, need, result, study_of
from hqm.psychometrics import (
    ItemAnalysis,
    LabelErrors,
    Rasch,
    duplicate_items,
    item_analysis,
    label_error_candidates,
    rasch,
)
from hqm.psychometrics.weights import stream
from hqm.scoring.metrics import Array

_SHOWN = 50
"""How many items a list in a detail names."""
_PERMUTATIONS = 1999


def _duplicates(case: Case) -> Result:
    """Counted without the first of each group of equal items."""
    items = case.items
    keys = [(item.image or "", " ".join(item.prompt.lower().split()), item.options) for item in items]
    study = duplicate_items(keys=keys, targets=[str(item.target) for item in items])
    groups, opposed = (
        [[items[i].id for i in group] for group in which[:_SHOWN]] for which in (study.by_key, study.contradictory)
    )
    return result(float(sum(len(group) - 1 for group in study.by_key)), groups=groups, contradictory=opposed)


def _analysis(case: Case) -> ItemAnalysis:
    return item_analysis(case.item_scores[0], n_eff=case.n_effective)


def _with_rest(case: Case) -> Array:
    """(items,): the correlation of each item with the rest."""
    return np.array([item.item_rest for item in case.once(_analysis).items])


def _listed(case: Case, places: Iterable[int]) -> Result:
    chosen = [case.items[i].id for i in places]
    return result(float(len(chosen)), count=len(chosen), of=len(case.items), items=chosen[:_SHOWN])


def _discrimination(case: Case) -> Result:
    """The median over items."""
    rest = case.once(_with_rest)
    difficulty = [number(item.difficulty) for item in case.once(_analysis).items]
    ids = [item.id for item in case.items]
    places = {"ids": ids, "difficulty": difficulty, "item_rest": [number(r) for r in rest]}
    return result(float(np.median(rest[np.isfinite(rest)])), map=places)


def _negative(case: Case) -> Result:
    """The number of items with a negative correlation whose q lies below alpha."""
    study = case.once(_analysis)
    return _listed(case, (i for i, item in enumerate(study.items) if item.item_rest < 0 and item.q < study.alpha))


def _dead(case: Case) -> Result:
    """Items whose difficulty is exactly 0 or 1."""
    return _listed(case, (i for i, item in enumerate(case.once(_analysis).items) if item.difficulty in (0.0, 1.0)))


def _candidates(case: Case) -> LabelErrors:
    rng = stream(case.seed, "label_errors")
    return label_error_candidates(case.item_scores[0], rng=rng, permutations=_PERMUTATIONS)


def _label_errors(case: Case) -> Result:
    """The number of candidates."""
    candidates = case.once(_candidates).candidates
    rows = [
        {"item": case.items[c.item].id, "item_rest": number(c.item_rest), "reversals": number(c.reversals), "q": number(c.q)}
        for c in candidates[:_SHOWN]
    ]  # fmt: skip
    return result(float(len(candidates)), candidates=rows)


def _rasch(case: Case) -> Rasch:
    return rasch(case.item_scores[0], n_eff=case.n_effective)


def _enough_for_rasch(case: Case) -> bool:
    scores = case.item_scores[0]
    return len(case.respondents) >= 30 and bool(np.isin(scores[np.isfinite(scores)], (0, 1)).all())


def _misfit(case: Case) -> Result:
    """The number of items that the fit calls misfits."""
    study = case.once(_rasch)
    listed = _listed(case, (i for i, item in enumerate(study.items) if item.misfit))
    difficulty = [number(item.difficulty) for item in study.items]
    detail = {"separation": number(study.separation), "difficulty": difficulty, **listed.detail}
    return Result(listed.coefficient, detail, study.flags)


_FAMILY = (ITEMS,)
_VARYING = study_of(
    "an item that varies", _analysis, lambda case: not np.isfinite(case.once(_with_rest)).any(), "no item varies"
)
# the count first: with few respondents a fit says nothing and takes long
_THIRTY = need(
    "30 respondents with scores of 0 or 1", _enough_for_rasch,
    "a Rasch model needs 30 respondents with 0/1 scores, there are {n}", "insufficient",
)  # fmt: skip

indicators = (
    Indicator(
        name="duplicate_items", family=_FAMILY, compute=_duplicates, explains=(duplicate_items,), better="lower", digits=0,
        meaning="Items whose question and picture stand in another item too.",
    ),
    Indicator(
        name="discrimination", family=_FAMILY, needs=(MEAN_OF_ITEMS, _VARYING), compute=_discrimination, headline=_FAMILY,
        meaning="Median correlation of an item with the rest of the test.", explains=(item_analysis,),
    ),
    Indicator(
        name="negative_items", family=_FAMILY, needs=(MEAN_OF_ITEMS, _VARYING), compute=_negative, headline=_FAMILY,
        meaning="Items whose correlation with the rest is negative beyond chance (false discovery rate 5%).",
        explains=(item_analysis,), better="lower", digits=0,
    ),
    Indicator(
        name="dead_items", family=_FAMILY, needs=(MEAN_OF_ITEMS,), compute=_dead, explains=(item_analysis,), headline=_FAMILY,
        meaning="Items that every respondent gets right, or every one wrong.", better="lower", digits=0,
    ),
    Indicator(
        name="label_errors", family=_FAMILY, compute=_label_errors, explains=(label_error_candidates,), headline=_FAMILY,
        meaning="Items that strong respondents fail and weak ones pass beyond chance: read their labels.",
        needs=(MEAN_OF_ITEMS, study_of("respondents for a test of single labels", _candidates)), better="lower", digits=0,
    ),
    Indicator(
        name="misfit_items", family=_FAMILY, compute=_misfit, explains=(rasch,), better="lower", digits=0,
        meaning="Items outside the Rasch model's fit (infit or outfit), where respondents are many enough.",
        needs=(MEAN_OF_ITEMS, _THIRTY, study_of("a fit of the Rasch model", _rasch)),
    ),
)  # fmt: skip
