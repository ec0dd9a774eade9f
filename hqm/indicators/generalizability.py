"""How much of the scores' variance each facet makes, and what a dependable score would cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from hqm.indicators.case import Case, number
from hqm.psychometrics import Coefficient, GStudy, cheapest_designs, d_study, g_study
from hqm.types import Estimate

TARGETS = (0.8, 0.9, 0.95)
"""The dependabilities that a design is sought for."""
_FACTORS = (0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1, 1.5, 2, 3, 5, 8, 12, 20)


def generalizability(one: Case, facet: str) -> Iterable[Estimate]:
    """G and Phi of one run (or form, or judgement) of all items, with the components and the designs they suggest.

    `facet` names what differs between the administrations: `run`, `form` or `judge`. Items are crossed with them.
    """
    n = len(one.respondents)
    if not one.additive:
        absent = Coefficient.absent("not_applicable", f"{one.metric.name} is no mean of item scores", n)
        yield from (one.estimate(name, absent) for name in ("g", "phi"))
        return
    scores = np.moveaxis(one.item_scores, 0, 2)
    study = g_study(scores, ("respondent", "item", facet), drop="item")
    if study.status != "ok":
        absent = Coefficient.absent(study.status, study.reason, n)
        yield from (one.estimate(name, absent) for name in ("g", "phi"))
        return
    items = dict(zip(study.facets, study.sizes, strict=True))["item"]
    single = d_study(study, {"item": items, facet: 1})
    detail: dict[str, Any] = {
        "components": _components(study),
        "d_study": _designs(study, items, facet),
        "curve": _curve(study, items, facet),
    }
    for name, value in (("g", single.g), ("phi", single.phi)):
        found = (
            Coefficient(value, n=n, flags=study.flags)
            if single.status == "ok"
            else Coefficient.absent(single.status, single.reason, n)
        )
        yield one.estimate(name, found, varied=facet, items=items, **detail)


def _components(study: GStudy) -> list[dict[str, Any]]:
    return [
        {
            "facet": " x ".join(one.effect) if isinstance(one.effect, tuple) else str(one.effect), "variance": number(one.value),
            "raw": number(one.raw), "share": number(one.share), "low": number(one.low), "high": number(one.high),
        }
        for one in study.components
    ]  # fmt: skip


def _grid(items: int) -> list[int]:
    return sorted({max(2, round(items * factor)) for factor in _FACTORS})


def _designs(study: GStudy, items: int, facet: str) -> list[dict[str, Any]]:
    def cost(design: Mapping[str, int]) -> float:
        return float(design["item"] * design[facet])

    plans = cheapest_designs(study, {"item": _grid(items), facet: (1, 2, 3, 4, 5)}, cost, targets=TARGETS)
    rows = []
    for plan in plans:
        sizes = dict(plan.design.sizes) if plan.design is not None and plan.status == "ok" else {}
        rows.append({"target": plan.target, "items": sizes.get("item"), f"{facet}s": sizes.get(facet),
                     "answers": number(plan.cost) if sizes else None, "reason": plan.reason})  # fmt: skip
    return rows


def _curve(study: GStudy, items: int, facet: str) -> list[dict[str, Any]]:
    rows = []
    for count in _grid(items):
        one, three = (d_study(study, {"item": count, facet: k}) for k in (1, 3))
        rows.append({"items": count, "phi": number(one.phi), "g": number(one.g), "phi_of_3": number(three.phi)})
    return rows
