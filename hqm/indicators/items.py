"""What single items contribute: difficulty, discrimination, labels that look wrong, duplicates."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from hqm.indicators.case import Case, number
from hqm.psychometrics import (
    Coefficient,
    duplicate_items,
    item_analysis,
    label_error_candidates,
    rasch,
)
from hqm.psychometrics.weights import stream
from hqm.types import Estimate

_SHOWN = 50
"""How many items a list in a detail names."""
_PERMUTATIONS = 1999


def item_findings(one: Case, seed: int = 0) -> Iterable[Estimate]:
    """Every estimate about single items."""
    n = len(one.respondents)
    items = [item for item, inside in zip(one.first.items, one.mask, strict=True) if inside]
    keys = [(item.image or "", " ".join(item.prompt.lower().split()), item.options) for item in items]
    doubled = duplicate_items(keys=keys, targets=[str(item.target) for item in items])
    extra = sum(len(group) - 1 for group in doubled.by_key)
    yield one.estimate(
        "duplicate_items", Coefficient(float(extra), n=n),
        groups=[[items[i].id for i in group] for group in doubled.by_key[:_SHOWN]],
        contradictory=[[items[i].id for i in group] for group in doubled.contradictory[:_SHOWN]],
    )  # fmt: skip
    if not one.additive or one.metric.group:
        reason = f"{one.metric.name} is no mean of item scores"
        for name in ("discrimination", "negative_items", "dead_items", "label_errors", "misfit_items"):
            yield one.estimate(name, Coefficient.absent("not_applicable", reason, n))
        return
    scores = one.item_scores[0]
    names = [item.id for item in items]
    analysis = item_analysis(scores, n_eff=one.n_effective)
    yield from _discrimination(one, analysis, names)
    yield _label_errors(one, scores, names, seed)
    yield _misfit(one, scores, names)


def _listed(names: list[str], found: Iterable[int]) -> dict[str, Any]:
    chosen = [names[i] for i in found]
    return {"count": len(chosen), "of": len(names), "items": chosen[:_SHOWN]}


def _discrimination(one: Case, analysis: Any, names: list[str]) -> Iterable[Estimate]:
    n = len(one.respondents)
    difficulty = np.array([item.difficulty for item in analysis.items])
    rest = np.array([item.item_rest for item in analysis.items])
    known = np.isfinite(rest)
    dead = [i for i, p in enumerate(difficulty) if p in (0.0, 1.0)]
    if analysis.status != "ok" or not known.any():
        absent = Coefficient.absent(
            analysis.status if analysis.status != "ok" else "degenerate", analysis.reason or "no item varies", n
        )
        yield one.estimate("discrimination", absent)
        yield one.estimate("negative_items", absent)
    else:
        value = float(np.median(rest[known]))
        map_ = {"ids": names, "difficulty": [number(p) for p in difficulty], "item_rest": [number(r) for r in rest]}
        yield one.estimate("discrimination", Coefficient(value, n=n), map=map_)
        negative = [i for i, item in enumerate(analysis.items) if item.item_rest < 0 and item.q < analysis.alpha]
        yield one.estimate("negative_items", Coefficient(float(len(negative)), n=n), **_listed(names, negative))
    yield one.estimate("dead_items", Coefficient(float(len(dead)), n=n), **_listed(names, dead))


def _label_errors(one: Case, scores: Any, names: list[str], seed: int) -> Estimate:
    n = len(one.respondents)
    found = label_error_candidates(scores, rng=stream(seed, "label_errors"), permutations=_PERMUTATIONS)
    if found.status != "ok":
        return one.estimate("label_errors", Coefficient.absent(found.status, found.reason, n))
    rows = [
        {"item": names[c.item], "item_rest": number(c.item_rest), "reversals": number(c.reversals), "q": number(c.q)}
        for c in found.candidates[:_SHOWN]
    ]
    return one.estimate("label_errors", Coefficient(float(len(found.candidates)), n=n), candidates=rows)


def _misfit(one: Case, scores: Any, names: list[str]) -> Estimate:
    n = len(one.respondents)
    # the gate first: with few respondents a fit says nothing and takes long
    found = (
        rasch(scores, n_eff=one.n_effective) if n >= 30 and np.isin(scores[np.isfinite(scores)], (0, 1)).all() else None
    )
    if found is None or found.status != "ok":
        reason = found.reason if found else f"a Rasch model needs 30 respondents with 0/1 scores, there are {n}"
        return one.estimate("misfit_items", Coefficient.absent(found.status if found else "insufficient", reason, n))
    misfit = [i for i, item in enumerate(found.items) if item.misfit]
    return one.estimate(
        "misfit_items", Coefficient(float(len(misfit)), n=n), flags=found.flags, separation=number(found.separation),
        difficulty=[number(item.difficulty) for item in found.items], **_listed(names, misfit),
    )  # fmt: skip
