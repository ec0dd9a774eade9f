"""One administration by itself: its items, its types, what it can tell apart, and what needs no picture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hqm.indicators.case import Protocol, case
from hqm.indicators.consistency import consistency
from hqm.indicators.discriminability import discriminability
from hqm.indicators.items import item_findings
from hqm.indicators.solvability import solvable_blind
from hqm.indicators.types import type_estimates
from hqm.scoring.matrix import ScoreMatrix
from hqm.scoring.metrics import Metric
from hqm.types import Estimate, Form


def describe(
    first: ScoreMatrix,
    metric: Metric,
    protocol: Protocol,
    form: Form,
    claimed: Iterable[str],
    *,
    leading: bool = True,
    families: Sequence[str] = (),
    blind: ScoreMatrix | None = None,
    n_effective: float | None = None,
    seed: int = 0,
) -> Iterable[Estimate]:
    """All estimates of one administration under one metric.

    `families` names every respondent's family, `blind` is the same administration without pictures, where there is one.
    `leading` says whether this is the first audited metric: what does not depend on the metric is estimated once.
    """
    yield from consistency(case("consistency", "", (first,), metric, protocol, n_effective=n_effective), families, seed)
    told = case("discriminability", "", (first,), metric, protocol, n_effective=n_effective)
    yield from discriminability(told, blind)
    yield from item_findings(case("items", "", (first,), metric, protocol, n_effective=n_effective), seed)
    if leading:
        yield from solvable_blind(case("solvability", "", (first,), metric, protocol), first.items, seed)
        yield from type_estimates(case("types", "", (first,), metric, protocol, n_effective=n_effective), form, claimed)
