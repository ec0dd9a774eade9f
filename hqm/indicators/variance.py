"""How much of the scores' variance each facet makes, and what a dependable score would cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from hqm.indicators.cases import Case, number
from hqm.indicators.families import GENERALIZABILITY
from hqm.indicators.runs import retest_of
from hqm.indicators.value import ADDITIVE, Indicator, Result, result, study_of
from hqm.psychometrics import (
    Coefficient,
    Dependability,
    DStudy,
    GStudy,
    cheapest_designs,
    crossed_components,
    d_study,
    g_and_phi,
    g_study,
)

TARGETS = (0.8, 0.9, 0.95)
"""The dependabilities that a design is sought for."""
_FACTORS = (0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1, 1.5, 2, 3, 5, 8, 12, 20)


def _study(case: Case) -> Dependability:
    """Of respondents crossed with items, which lie in pictures, and with what differs: runs, forms
    or judgements.
    """
    scores = np.moveaxis(case.item_scores, 0, 2)
    return g_and_phi(
        scores,
        case.facet,
        case.clusters,
        replicated=_replicated(case),
        n_effective=case.n_effective,
    )


def _replicated(case: Case) -> bool:
    """Whether runs are independent repetitions: they are drawn with seeds of their own, and no
    drift was seen.
    """
    if case.facet != "run":
        return False
    drift = case.once_for_all(retest_of).drift
    return not (drift.status == "ok" and drift.p < 0.05)


def _g_study(case: Case) -> GStudy:
    return case.once(_study).study


def _d_study(case: Case) -> DStudy:
    """Of one run (or form, or judgement) of all items."""
    return case.once(_study).design


def _items(study: GStudy) -> int:
    return dict(zip(study.facets, study.sizes, strict=True))["item"]


def _detail(case: Case) -> dict[str, Any]:
    study, facet = case.once(_g_study), case.facet
    items = _items(study)
    pictures = {"images": study.nested[0][2]} if study.nested else {}
    return {
        "varied": facet,
        "items": items,
        **pictures,
        "components": _components(study),
        "d_study": _designs(study, items, facet),
        "curve": _curve(study, items, facet),
    }


def _of_one_run(case: Case, coefficient: Coefficient) -> Result:
    return result(coefficient, **case.once(_detail))


def _components(study: GStudy) -> list[dict[str, Any]]:
    return [
        {
            "facet": (
                " x ".join(part.effect) if isinstance(part.effect, tuple) else str(part.effect)
            ),
            "variance": number(part.value),
            "raw": number(part.raw),
            "share": number(part.share),
            "low": number(part.low),
            "high": number(part.high),
        }
        for part in study.components
    ]


def _grid(items: int) -> list[int]:
    return sorted({max(2, round(items * factor)) for factor in _FACTORS})


def _designs(study: GStudy, items: int, facet: str) -> list[dict[str, Any]]:
    def cost(design: Mapping[str, float]) -> float:
        return float(design["item"] * design[facet])

    plans = cheapest_designs(
        study, {"item": _grid(items), facet: (1, 2, 3, 4, 5)}, cost, targets=TARGETS
    )
    rows = []
    for plan in plans:
        sizes = dict(plan.design.sizes) if plan.design is not None and plan.status == "ok" else {}
        rows.append(
            {
                "target": plan.target,
                "items": sizes.get("item"),
                f"{facet}s": sizes.get(facet),
                "answers": number(plan.cost) if sizes else None,
                "reason": plan.reason,
            }
        )
    return rows


def _root(variance: float) -> float:
    """The standard error of a score; NaN for a variance that sampling made negative."""
    return math.sqrt(variance) if variance >= 0 else math.nan


def _curve(study: GStudy, items: int, facet: str) -> list[dict[str, Any]]:
    rows = []
    for count in _grid(items):
        single, three = (d_study(study, {"item": count, facet: k}) for k in (1, 3))
        rows.append(
            {
                "items": count,
                "phi": number(single.phi),
                "g": number(single.g),
                "phi_of_3": number(three.phi),
                "error": number(_root(single.absolute)),
                "error_of_3": number(_root(three.absolute)),
            }
        )
    return rows


_FAMILY = (GENERALIZABILITY,)
_NEEDS = (ADDITIVE, study_of("respondents and items enough for a G study", _d_study))

indicators = (
    Indicator(
        name="g",
        compares_spread=True,
        title="G, relative",
        family=_FAMILY,
        needs=_NEEDS,
        headline=_FAMILY,
        explains=(g_and_phi, d_study, g_study, crossed_components),
        meaning=(
            "Generalizability coefficient of one run: relative error over items in their pictures,"
            " seeds and forms."
        ),
        compute=lambda case: _of_one_run(case, case.once(_study).g),
    ),
    Indicator(
        name="phi",
        compares_spread=True,
        title="Phi, absolute",
        family=_FAMILY,
        needs=_NEEDS,
        headline=_FAMILY,
        explains=(g_and_phi, d_study, g_study, crossed_components),
        meaning=(
            "Dependability Phi of one run: absolute error over items in their pictures, seeds and"
            " forms."
        ),
        compute=lambda case: _of_one_run(case, case.once(_study).phi),
    ),
)
