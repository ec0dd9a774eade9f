"""Which administrations an audit looks at together: pairs, all runs of a form, and one administration by itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hqm.benchmark.labels import HUMAN
from hqm.indicators.cases import Case, Protocol, case, family_of
from hqm.indicators.engine import estimates
from hqm.indicators.families import (
    CONSISTENCY,
    CRITERION,
    DISCRIMINABILITY,
    GENERALIZABILITY,
    ITEMS,
    ORACLE,
    SOLVABILITY,
    TYPES,
)
from hqm.indicators.judged import say_who_labelled
from hqm.scoring.matrix import ScoreMatrix
from hqm.scoring.metrics import Array, Metric
from hqm.types import Estimate, Form

_ONCE = (SOLVABILITY, TYPES)
"""The families of one administration that do not depend on the metric."""


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
    repeats = _all_runs(runs, metric, protocol, settings) if facet in ("form", "judge") else None
    pair = case(family, facet, (first, other), metric, protocol, other_metric=other_metric, repeats=repeats, **settings)
    named = dict(zip(first.respondents, families, strict=False))
    pair = replace(pair, families=tuple(named.get(name, name) for name in pair.respondents))
    if family in (CRITERION.name, ORACLE.name):
        return say_who_labelled(estimates(pair), other.cell.judge)
    crossed = family in ("parallel_forms", "judge_consistency", "judge_agreement")
    return [*estimates(pair), *(_components(pair) if crossed else ())]


def compare_runs(runs: Sequence[ScoreMatrix], metric: Metric, protocol: Protocol, **settings: Any) -> list[Estimate]:
    """What all runs of one form together say of test-retest reliability."""
    together = _all_runs(runs, metric, protocol, settings)
    return [] if together is None else [*estimates(together), *_components(together)]


def _components(crossed: Case) -> list[Estimate]:
    return estimates(replace(crossed, family=GENERALIZABILITY.name))


def _all_runs(
    runs: Sequence[ScoreMatrix], metric: Metric, protocol: Protocol, settings: Mapping[str, Any]
) -> Case | None:
    if len(runs) < 2:
        return None
    return case("test_retest", "run", runs, metric, protocol, together=True, **settings)


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
    alone = case(
        "", "", (first,), metric, protocol, n_effective=n_effective, seed=seed, families=tuple(families), blind=blind,
        form=form, claimed=frozenset(claimed),
    )  # fmt: skip
    for family in (CONSISTENCY, DISCRIMINABILITY, ITEMS, *(_ONCE if leading else ())):
        yield from estimates(replace(alone, family=family.name))


def expected(reference: Case, probabilities: Array, temperature: float | None) -> Iterable[Estimate]:
    """The expected test-retest reliability of a share of right answers.

    Parameters
    ----------
    reference
        The reference administration.
    probabilities
        (respondents, items): the probability that the answer is right, as it was drawn; NaN where it is not known.
    temperature
        The one temperature at which all respondents answered; None where they differ, and there is no curve.
    """
    return estimates(replace(reference, probabilities=probabilities, temperature=temperature))


def people_agree(reference: Case, raters: Mapping[str, Mapping[tuple[str, str], float]]) -> list[Estimate]:
    """How far the people who labelled agree, which bounds what any score can reach against them, and what they differ in."""
    return say_who_labelled(estimates(replace(reference, raters=raters)), HUMAN)
