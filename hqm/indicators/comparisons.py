"""Which administrations an audit looks at together: pairs, all runs of a form, and one
administration by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hqm.benchmark.adapter import Calibration
from hqm.imports.human_labels import HUMAN
from hqm.indicators.cases import Case, Protocol, case, family_of
from hqm.indicators.engine import estimates
from hqm.indicators.indicator import (
    CONSISTENCY,
    CRITERION,
    DISCRIMINABILITY,
    GENERALIZABILITY,
    ITEMS,
    ORACLE,
    SHORT_FORM,
    SOLVABILITY,
    TYPES,
)
from hqm.indicators.judged import say_who_labelled
from hqm.labels.people_labels import StageEvidence
from hqm.scoring.matrix import ScoreMatrix
from hqm.scoring.metrics import Array, Metric, mean_of
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
        All runs of the reference form, the reference first: they show the noise of the seeds when
        forms are compared.
    settings
        `deterministic`, `n_effective`, `families` (in the order of the first) and `families_told`,
        as in `Case`.
    """
    family = family_of(facet, first, other)
    repeats = _all_runs(runs, metric, protocol, settings) if facet in ("form", "judge") else None
    pair = case(
        family,
        facet,
        (first, other),
        metric,
        protocol,
        other_metric=other_metric,
        repeats=repeats,
        **settings,
    )
    if family in (CRITERION.name, ORACLE.name):
        return say_who_labelled(estimates(pair), other.cell.judge)
    crossed = family in ("parallel_forms", "judge_consistency", "judge_agreement")
    return [*estimates(pair), *(_components(pair) if crossed else ())]


def compare_runs(
    runs: Sequence[ScoreMatrix], metric: Metric, protocol: Protocol, **settings: Any
) -> list[Estimate]:
    """What all runs of one form together say of test-retest reliability."""
    together = _all_runs(runs, metric, protocol, settings)
    return [] if together is None else [*estimates(together), *_components(together)]


def compare_forms(
    forms: Sequence[ScoreMatrix], metric: Metric, protocol: Protocol, **settings: Any
) -> list[Estimate]:
    """What all wordings, the reference first, together say of how far scores survive another.

    From two alone nothing can be said of others, and the estimate gives that as its reason.
    """
    if len(forms) < 2:
        return []
    together = case("parallel_forms", "form", forms, metric, protocol, together=True, **settings)
    return [*estimates(together), *(_components(together) if len(forms) > 2 else ())]


def _components(crossed: Case) -> list[Estimate]:
    return estimates(replace(crossed, family=GENERALIZABILITY.name))


def _all_runs(
    runs: Sequence[ScoreMatrix], metric: Metric, protocol: Protocol, settings: Mapping[str, Any]
) -> Case | None:
    if len(runs) < 2:
        return None
    return case("test_retest", "run", runs, metric, protocol, together=True, **settings)


def compare_stage(
    stage: StageEvidence,
    first: ScoreMatrix,
    labels: ScoreMatrix,
    protocol: Protocol,
    **settings: Any,
) -> list[Estimate]:
    """What one stage of a judge says of the units that people labelled; the stage's role stands in
    the place of the metric.

    `first` holds the judge's verdicts on the answers, `labels` people's labels of them.
    """
    metric = Metric(stage.role, mean_of("faithful"), share=True)
    alone = case("stages", "judge", (first, labels), metric, protocol, stage=stage, **settings)
    return say_who_labelled(estimates(alone), HUMAN)


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
    families_told: bool = False,
    seed: int = 0,
    copies: Mapping[str, str] | None = None,
    calibration: Calibration | None = None,
) -> Iterable[Estimate]:
    """All estimates of one administration under one metric.

    `families` names every respondent's family, `blind` is the same administration without pictures,
    where there is one. `copies` says which pictures are one picture under several names. `leading`
    says whether this is the first audited metric: what does not depend on the metric is estimated
    once. `calibration` is that of a short form.
    """
    alone = case(
        "",
        "",
        (first,),
        metric,
        protocol,
        n_effective=n_effective,
        seed=seed,
        families=tuple(families),
        families_told=families_told,
        blind=blind,
        form=form,
        claimed=frozenset(claimed),
        copies=copies or {},
        calibration=calibration,
    )
    of_short = (SHORT_FORM,) if calibration is not None else ()
    for family in (*of_short, CONSISTENCY, DISCRIMINABILITY, ITEMS, *(_ONCE if leading else ())):
        yield from estimates(replace(alone, family=family.name))


def expected(
    reference: Case, probabilities: Array, temperature: float | None
) -> Iterable[Estimate]:
    """The expected test-retest reliability of a share of right answers.

    Parameters
    ----------
    reference
        The reference administration.
    probabilities
        (respondents, items): the probability that the answer is right, as it was drawn; NaN where
        it is not known.
    temperature
        The one temperature at which all respondents answered; None where they differ, and there is
        no curve.
    """
    return estimates(replace(reference, probabilities=probabilities, temperature=temperature))


def people_agree(
    reference: Case, raters: Mapping[str, Mapping[tuple[str, str], float]]
) -> list[Estimate]:
    """How far the people who labelled agree, which bounds what any score can reach against them,
    and what they differ in.
    """
    return say_who_labelled(estimates(replace(reference, raters=raters)), HUMAN)
