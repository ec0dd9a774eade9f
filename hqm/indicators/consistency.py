"""How far the items, and the types, of one administration measure the same thing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from hqm.indicators.case import Case, number
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
from hqm.types import Estimate

_STATISTICS = ("alpha", "kr21", "lambda2", "split_half", "stratified_alpha", "alpha_types", "omega_types")
_HALVES = 200


def consistency(one: Case, families: Sequence[str], seed: int = 0) -> Iterable[Estimate]:
    """Every coefficient of internal consistency; of a mean of item scores."""
    n = len(one.respondents)
    if not one.additive or one.metric.group:
        reason = f"{one.metric.name} is no mean of item scores"
        yield from (one.estimate(name, Coefficient.absent("not_applicable", reason, n)) for name in _STATISTICS)
        return
    scores = one.item_scores[0]
    complete = scores[:, np.isfinite(scores).all(axis=0)]
    alpha = cronbach_alpha(complete)
    detail: dict[str, Any] = {
        "varying": number(alpha.varying.value),
        "items_varying": alpha.k_varying,
        "items": alpha.k,
    }
    yield one.estimate("alpha", alpha.coefficient, **detail)
    binary = bool(np.isin(complete, (0, 1)).all())
    only = Coefficient.absent("not_applicable", "the item scores are not 0 or 1", n)
    yield one.estimate("kr21", kr21(complete) if binary else only)
    yield one.estimate("lambda2", lambda2(complete))
    halves = split_half(complete, stream(seed, "consistency.halves"), draws=_HALVES)
    mean = (
        Coefficient(halves.mean, n=n) if halves.status == "ok" else Coefficient.absent(halves.status, halves.reason, n)
    )
    yield one.estimate("split_half", mean, low=number(halves.low), high=number(halves.high), splits=halves.splits)
    yield from _by_type(one, complete, np.isfinite(scores).all(axis=0), families, seed)


def _by_type(one: Case, complete: Array, kept: Array, families: Sequence[str], seed: int) -> Iterable[Estimate]:
    items = [item for item, inside in zip(one.first.items, one.mask, strict=True) if inside]
    labels = np.array([item.type or "" for item, keep in zip(items, kept, strict=True) if keep])
    types = sorted(set(labels.tolist()) - {""})
    n = len(one.respondents)
    if len(types) < 2:
        none = Coefficient.absent("not_applicable", "there are fewer than two types", n)
        yield from (one.estimate(name, none) for name in ("stratified_alpha", "alpha_types", "omega_types"))
        return
    typed = labels != ""
    yield one.estimate("stratified_alpha", stratified_alpha(complete[:, typed], labels[typed].tolist()))
    by_type = np.stack([complete[:, labels == kind].mean(axis=1) for kind in types], axis=1)
    yield one.estimate("alpha_types", cronbach_alpha(by_type).coefficient, types=types)
    if len(types) < 3:
        yield one.estimate("omega_types", Coefficient.absent("not_applicable", "one factor needs three types", n))
    else:
        yield one.estimate("omega_types", omega_t(by_type, stream(seed, "consistency.omega"), families=list(families)))
