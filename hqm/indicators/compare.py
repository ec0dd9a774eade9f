"""Compare administrations that differ in one facet: the estimates of one facet's family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hqm.indicators.case import Case, Protocol, case, family_of
from hqm.indicators.forms import form_effect
from hqm.indicators.generalizability import generalizability
from hqm.indicators.judged import between_judgements, criterion
from hqm.indicators.pairs import agreement, length_shift
from hqm.indicators.runs import retest
from hqm.scoring.matrix import ScoreMatrix
from hqm.scoring.metrics import Metric
from hqm.types import Estimate


def compare(
    facet: str,
    first: ScoreMatrix,
    other: ScoreMatrix,
    metric: Metric,
    protocol: Protocol,
    *,
    other_metric: Metric | None = None,
    runs: Sequence[ScoreMatrix] = (),
    families: Sequence[str] = (),
    **settings: Any,
) -> list[Estimate]:
    """All estimates of one pair of administrations.

    Parameters
    ----------
    facet
        The one facet in which they differ.
    first, other
        The administrations; the first is the reference.
    metric, other_metric
        The metric of the first, and of the other where it has its own (people's labels).
    protocol
        What stands in the signatures.
    runs
        All runs of the reference form, the reference first: they show the noise of the seeds when forms are compared.
    families
        The family of every respondent of the first, in its order.
    settings
        `deterministic` and `n_effective`, as in `Case`.
    """
    family = family_of(facet, first, other)
    one = case(family, facet, (first, other), metric, protocol, other_metric=other_metric, **settings)
    found = list(agreement(one))
    if facet in ("form", "sight"):
        found.append(length_shift(one))
    repeats = _case_of_runs(runs, metric, protocol, settings) if facet in ("form", "judge") else None
    if facet == "form":
        found += form_effect(one, repeats)
        found += generalizability(replace(one, family="generalizability"), "form")
    if family in ("judge_consistency", "judge_agreement"):
        found += between_judgements(one, repeats)
        found += generalizability(replace(one, family="generalizability"), "judge")
    if family == "criterion":
        kin = dict(zip(first.respondents, families, strict=False))
        found += criterion(one, [kin.get(name, name) for name in one.respondents])
    return found


def compare_runs(runs: Sequence[ScoreMatrix], metric: Metric, protocol: Protocol, **settings: Any) -> list[Estimate]:
    """What all runs of one form together say of test-retest reliability."""
    one = _case_of_runs(runs, metric, protocol, settings)
    if one is None:
        return []
    return [*retest(one), *generalizability(replace(one, family="generalizability"), "run")]


def _case_of_runs(
    runs: Sequence[ScoreMatrix], metric: Metric, protocol: Protocol, settings: dict[str, Any]
) -> Case | None:
    return None if len(runs) < 2 else case("test_retest", "run", runs, metric, protocol, **settings)
