"""What single items contribute: difficulty, discrimination, labels that look wrong, duplicates.

A count of faults says how many faults it would find: under a fifth, it is no information about the
benchmark.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from hqm.benchmark.items import picture_key
from hqm.files.studies import kept_study
from hqm.indicators.cases import Case, numbers
from hqm.indicators.indicator import (
    CORRELATION,
    ITEM_COUNT,
    ITEMS,
    MEAN_OF_ITEMS,
    Indicator,
    Result,
    need,
    need_study,
    result,
)
from hqm.psychometrics import (
    Coefficient,
    duplicate_items,
    item_analysis,
    label_error_candidates,
    planted_faults,
    rasch,
    reading_list,
    stream,
)
from hqm.psychometrics.items.item_response_models import (
    MIN_RESPONDENTS,
    MIN_RESPONDENTS_REASON,
    Rasch,
)
from hqm.psychometrics.items.item_statistics import ItemAnalysis, LabelErrors, is_binary
from hqm.psychometrics.items.reversed_scales import reversed_items
from hqm.psychometrics.items.wrong_keys import PlantedFaults, ReadingList
from hqm.scoring.metrics import Array
from hqm.signature import digest_bytes
from hqm.types import CLOSED_TASKS, Item, finite

_MAX_LISTED = 50
"""How many items the list to read names; every other list is complete."""
_PERMUTATIONS = 1999
_INFORMATIVE = 0.2
"""The share of planted faults that a search must find for its count to say anything."""
_PLANTED = 0.02
"""Of the items, how many get a planted fault."""


def _duplicates(case: Case) -> Result:
    """Counted without the first of each group of equal items."""
    keys = []
    # pictures under two names are one picture, and items without one may be about several
    picture_of = picture_key(case.items, case.copies)
    for item in case.items:
        # a log may leave the question out, which says nothing of two items being one
        question = " ".join(item.prompt.lower().split()) or item.id
        keys.append((picture_of(item), question, item.options))
    study = duplicate_items(keys=keys, targets=case.keys)
    return result(
        # the first of each group is no duplicate
        float(sum(map(len, study.by_key)) - len(study.by_key)),
        groups=[_ids(case, group) for group in study.by_key],
        contradictory=[_ids(case, group) for group in study.contradictory],
    )


def _ids(case: Case, indices: Iterable[int]) -> list[str]:
    """The ids of items by their numbers."""
    return [case.items[i].id for i in indices]


def _analysis(case: Case) -> ItemAnalysis:
    return item_analysis(case.first_scores, n_eff=case.n_effective)


def _listed(case: Case, indices: Iterable[int]) -> Result:
    """The number of these items, with their ids."""
    item_ids = _ids(case, indices)
    return result(float(len(item_ids)), count=len(item_ids), of=len(case.items), items=item_ids)


def _discrimination(case: Case) -> Result:
    """The median over items whose scores vary, with the number of items of either kind."""
    study = case.cached(_analysis)
    # With the rest of the test and not its total, which each item is part of and so correlates
    # with.
    item_rest = study.item_rest
    item_map = {
        "ids": _ids(case, range(len(case.items))),
        "difficulty": numbers(study.difficulty),
        "item_rest": numbers(item_rest),
    }
    finite_rest = item_rest[np.isfinite(item_rest)]
    median = Coefficient(
        float(np.median(finite_rest)), n=len(case.respondents), n_items=len(finite_rest)
    )
    return result(
        median, map=item_map, varying=len(finite_rest), constant=len(item_rest) - len(finite_rest)
    )


def _hits(items: Sequence[Item]) -> Array:
    """(items,): the chance that a wrong answer meets a wrong key."""
    # of two options, or where there are none, every wrong answer is the wrong key
    return np.array([1 / max(len(item.options) - 1, 1) for item in items])


def _power(
    case: Case,
    name: str,
    search: Callable[[Array], Collection[int]],
    max_items: int = 2000,
    faults: int = 200,
) -> PlantedFaults:
    rng = stream(case.seed, f"{name}.planted")
    return planted_faults(
        case.oriented,
        search,
        rng=rng,
        hit=_hits(case.items),
        # faults are planted in the scores, and the search is repeated on each planted set
        share=_PLANTED,
        max_items=max_items,
        faults=faults,
    )


def _with_power(case: Case, counted: Result, power: PlantedFaults) -> Result:
    """A count of faults with the share of planted ones that it would find; under a fifth it is not
    informative.
    """
    stated = {
        "found": finite(power.power),
        "error": finite(power.error),
        "share_planted": _PLANTED,
        "planted": power.planted,
        "repeats": power.repeats,
    }
    coefficient = counted.coefficient
    # a count whose search finds under a fifth of planted faults says little
    if power.power < _INFORMATIVE:
        if is_binary(case.first_scores):
            faults = "wrong keys planted in"
        else:
            faults = "scales reversed in"
        reason = (
            f"of {faults} {_PLANTED:.0%} of the items, {len(case.respondents)}"
            f" respondents would show {power.power:.0%}: the count says little about how many there"
            " are; read the items of the reading list"
        )
        coefficient = replace(coefficient, status="not_informative", reason=reason)
    return Result(coefficient, {**counted.detail, "power": stated}, counted.flags)


def _negative(case: Case) -> Result:
    """The number of reversed items."""

    def search(scores: Array) -> Collection[int]:
        return item_analysis(scores, n_eff=case.n_effective).reversed

    return _with_power(
        case,
        _listed(case, case.cached(_analysis).reversed),
        _power(case, "negative_items", search),
    )


def _dead(case: Case) -> Result:
    """Items whose difficulty is exactly 0 or 1 over at least three respondents with a score.

    A description of these respondents, no search for faults: with few of them good easy items are
    among these.
    """
    study = case.cached(_analysis)
    listed = _listed(
        case, np.flatnonzero((study.n >= 3) & np.isin(study.difficulty, (0.0, 1.0))).tolist()
    )
    n_few_scores = int((study.n < 3).sum())
    return Result(listed.coefficient, {**listed.detail, "too_few_scores": n_few_scores})


def _types(items: Sequence[Item]) -> list[str]:
    """(items,): the type of each; the first two words of its question where no item has one."""
    if any(item.type for item in items):
        return [item.type or "" for item in items]
    return [" ".join(item.prompt.lower().split()[:2]) for item in items]


def _sides(items: Sequence[Item]) -> list[str]:
    """(items,): which of a few answers the key is."""
    # An open answer has a key of its own, which makes no group.
    return [str(i.target) if i.task in CLOSED_TASKS else "" for i in items]


def _tested(case: Case, scores: Array, rng: np.random.Generator) -> LabelErrors:
    return label_error_candidates(
        scores,
        rng=rng,
        permutations=_PERMUTATIONS,
        n_eff=case.n_effective,
        # groups: what respondents share by type and side of the key is no wrong label
        groups=list(zip(_types(case.items), _sides(case.items), strict=True)),
    )


def _candidates(case: Case) -> LabelErrors:
    return _tested(case, case.first_scores, stream(case.seed, "label_errors"))


def _items_to_read(case: Case) -> ReadingList:
    return list_to_read(case, case.run_means, case.items, _MAX_LISTED, case.effective_runs)


def list_to_read(
    case: Case, scores: Array, items: Sequence[Item], max_listed: int, answers: float = 1.0
) -> ReadingList:
    """The reading list of items by their scores: of right and wrong answers, or their means over
    runs, with abilities by type and side of the key, of graded ones by their correlation with the
    rest.

    It is that of an earlier command where the scores are the same. `answers` is for how many
    independent answers a mean over runs counts.
    """
    seed = case.seed
    n_eff = case.n_effective
    make = partial(_make_list, scores, items, max_listed, seed, n_eff, answers)
    # the study is kept under its arguments, which are the scores and the settings
    values = digest_bytes(np.ascontiguousarray(scores).tobytes())
    kinds = [_hits(items).tolist(), _types(items), _sides(items)]
    arguments = [seed, n_eff, max_listed, list(scores.shape), values, kinds, answers]
    # The groups that the study allows for are made here, so that a change of this module makes it
    # anew.
    sources = [Path(__file__)]
    return kept_study(
        ReadingList, "reading_list", arguments, make, n_items=len(items), sources=sources
    )


def _make_list(
    scores: Array,
    items: Sequence[Item],
    max_listed: int,
    seed: int,
    n_eff: float | None,
    answers: float,
) -> ReadingList:
    rng = stream(seed, "reading_list")
    # a mean of right and wrong answers is no grade
    if answers == 1 and not is_binary(scores):
        return reversed_items(
            scores,
            rng=rng,
            groups=_types(items),
            n_eff=n_eff,
            max_listed=max_listed,
            share=_PLANTED,
        )
    return reading_list(
        scores,
        rng=rng,
        hit=_hits(items),
        types=_types(items),
        sides=_sides(items),
        answers=answers,
        max_listed=max_listed,
        share=_PLANTED,
    )


def _label_errors(case: Case) -> Result:
    """The items that the exact test names, and those that the reading list is sure of; none where
    the list doubts that single keys are the cause.
    """
    listed = case.cached(_items_to_read)
    # the exact test names items only where the list does not doubt that keys are the cause
    tested = () if listed.doubt else case.cached(_candidates).candidates
    rows: dict[int, dict[str, str | float | None]] = {}
    for c in tested:
        rows[c.item] = {
            "item": case.items[c.item].id,
            "item_rest": finite(c.item_rest),
            "reversals": finite(c.reversals),
            "q": finite(c.q),
        }
    for candidate in listed.named:
        row = rows.setdefault(
            candidate.item,
            {"item": case.items[candidate.item].id, "item_rest": finite(candidate.item_rest)},
        )
        row["expected"] = finite(candidate.expected)
    rng = stream(case.seed, "label_errors.search")

    def search(scores: Array) -> Collection[int]:
        return [candidate.item for candidate in _tested(case, scores, rng).candidates]

    # all items, so that they keep their groups
    power = _power(case, "label_errors", search, max_items=len(case.items))
    # Both searches together find at least what either finds, and a doubt names nothing.
    if listed.status == "ok" and (
        listed.power_named > power.power or (listed.doubt and not listed.power_named)
    ):
        power = replace(power, power=listed.power_named, planted=listed.planted)
    counted = result(
        float(len(rows)), candidates=list(rows.values()), tested=len(tested), sure=len(listed.named)
    )
    return _with_power(case, counted, power)


def _reading_list(case: Case) -> Result:
    """The sum of the chances of all items, where it can be said; the list stays where it cannot."""
    study = case.cached(_items_to_read)
    rows = []
    for rank, row in enumerate(study.items, 1):
        rows.append(
            {
                "rank": rank,
                "item": case.items[row.item].id,
                "item_rest": finite(row.item_rest),
                "fails": case.names(row.fails),
                "expected": None if study.doubt else finite(row.expected),
            }
        )
    power = {
        "true_among_first": finite(study.power),
        "planted": study.planted,
        "share_planted": _PLANTED,
    }
    coefficient = Coefficient(study.faults)
    if study.power < _INFORMATIVE:
        if is_binary(case.first_scores):
            faults = "wrong keys planted in"
        else:
            faults = "scales reversed in"
        reason = (
            f"with {faults} {_PLANTED:.0%} of the items, {study.power:.0%} of the"
            f" first {study.planted} in the list are faults: {len(case.respondents)} respondents"
            " like these do not show which items to read"
        )
        coefficient = replace(coefficient, status="not_informative", reason=reason)
    if study.doubt:
        coefficient = Coefficient.absent("insufficient", study.doubt)
    return Result(
        coefficient,
        {
            "reading_list": rows,
            "faults": finite(study.faults),
            "stands_out": study.stands_out,
            "graded": not is_binary(case.first_scores),
            "power": power,
        },
    )


def _rasch(case: Case) -> Rasch:
    return rasch(case.first_scores, n_eff=case.n_effective)


def _enough_for_rasch(case: Case) -> bool:
    scores = case.first_scores
    return len(case.respondents) >= MIN_RESPONDENTS and bool(
        np.isin(scores[np.isfinite(scores)], (0, 1)).all()
    )


def _misfit(case: Case) -> Result:
    """The number of items that the fit calls misfits."""

    def search(scores: Array) -> Collection[int]:
        return rasch(scores, n_eff=case.n_effective).misfit

    study = case.cached(_rasch)
    listed = _listed(case, study.misfit)
    difficulty = list(map(finite, study.difficulty))
    detail = {"separation": finite(study.separation), "difficulty": difficulty, **listed.detail}
    # Each planted set is fitted anew, which takes long: fewer items and faults are tried than for a
    # correlation.
    power = _power(case, "misfit_items", search, max_items=400, faults=8)
    return _with_power(case, Result(listed.coefficient, detail, study.flags), power)


_FAMILY = (ITEMS,)
_VARYING = need_study(
    "an item that varies",
    _analysis,
    lambda case: not np.isfinite(case.cached(_analysis).item_rest).any(),
    "no item varies",
)
# the count first: with few respondents a fit says nothing and takes long
_THIRTY = need(
    "30 respondents with scores of 0 or 1",
    _enough_for_rasch,
    f"a Rasch model needs {MIN_RESPONDENTS} respondents with 0/1 scores, there are {{n}}:"
    f" {MIN_RESPONDENTS_REASON}",
    "insufficient",
)

indicators = (
    Indicator(
        name="duplicate_items",
        unit=ITEM_COUNT,
        family=_FAMILY,
        compute=_duplicates,
        explains=(duplicate_items,),
        better="lower",
        digits=0,
        meaning="Items that ask what another item asks, of the same matter.",
    ),
    Indicator(
        name="discrimination",
        unit=CORRELATION,
        family=_FAMILY,
        needs=(MEAN_OF_ITEMS, _VARYING),
        compute=_discrimination,
        headline=_FAMILY,
        meaning="Median correlation of an item with the rest of the test.",
        explains=(item_analysis,),
    ),
    Indicator(
        name="negative_items",
        unit=ITEM_COUNT,
        family=_FAMILY,
        needs=(MEAN_OF_ITEMS, _VARYING),
        compute=_negative,
        headline=_FAMILY,
        meaning=(
            "Items whose correlation with the rest is negative beyond chance (false discovery rate"
            " 5%)."
        ),
        explains=(item_analysis, planted_faults),
        better="lower",
        digits=0,
    ),
    Indicator(
        name="dead_items",
        unit=ITEM_COUNT,
        family=_FAMILY,
        needs=(MEAN_OF_ITEMS,),
        compute=_dead,
        explains=(item_analysis,),
        headline=_FAMILY,
        meaning="Items that every respondent gets right, or every one wrong.",
        better="lower",
        digits=0,
    ),
    Indicator(
        name="label_errors",
        over_runs=True,
        unit=ITEM_COUNT,
        family=_FAMILY,
        compute=_label_errors,
        explains=(label_error_candidates, reading_list, planted_faults),
        headline=_FAMILY,
        meaning=(
            "Items that strong respondents fail and weak ones pass beyond chance, and beyond what"
            " respondents share by type and side of the key: read their labels first."
        ),
        needs=(MEAN_OF_ITEMS, need_study("respondents for a test of single labels", _candidates)),
        better="lower",
        digits=0,
    ),
    Indicator(
        name="reading_list",
        over_runs=True,
        unit=ITEM_COUNT,
        family=_FAMILY,
        compute=_reading_list,
        explains=(reading_list, reversed_items),
        headline=_FAMILY,
        meaning=(
            "Expected number of wrong keys, where the answers distinguish them from a weakness that"
            " respondents share; to be read first are the items that able respondents fail and"
            " weak ones pass."
        ),
        needs=(
            MEAN_OF_ITEMS,
            need_study("respondents for a list of items to read", _items_to_read),
        ),
        better="lower",
        digits=1,
    ),
    Indicator(
        name="misfit_items",
        unit=ITEM_COUNT,
        family=_FAMILY,
        compute=_misfit,
        explains=(rasch, planted_faults),
        better="lower",
        digits=0,
        meaning=(
            "Items outside the Rasch model's fit (infit or outfit), where respondents are many"
            " enough."
        ),
        needs=(MEAN_OF_ITEMS, _THIRTY, need_study("a fit of the Rasch model", _rasch)),
    ),
)
