"""Compare audits over the respondents they share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hqm.auditing.audit import Audit, BenchmarkAudit
from hqm.comparison.forecasting import forecasts
from hqm.comparison.measure_tests import (
    agreements,
    by_types,
    closer,
    column,
    growth_of,
    respondent_tests,
    separations,
    side_by_side,
    tested,
)
from hqm.comparison.measures import Closer, Comparison, Difference, Measure, measures_of
from hqm.decisions.prices import PriceList
from hqm.errors import DesignError
from hqm.psychometrics import family_dependence, holm_in_order
from hqm.respondents.kinds import check_families, families_of, infer_family
from hqm.types import Cell


def compare_audits(
    audits: Sequence[Audit | BenchmarkAudit],
    *,
    metrics: Sequence[str] = (),
    length: int | None = None,
    more: int = 500,
    families: Mapping[str, str] | None = None,
    seed: int = 0,
    command: str = "",
    forecast: bool = False,
    prices: PriceList | None = None,
) -> Comparison:
    """Several audits (or several metrics, scorings, parsers of one benchmark) over the same
    respondents.

    Nobody is asked anything: every number is a function of what the audits hold. A difference is
    tested for these respondents, each picture left out of both measures, and for other respondents,
    the same ones drawn for both, relatives together. One adjustment (Holm) holds for all tests of
    measures; a test that could not be made has its reason.

    Parameters
    ----------
    audits
        What to compare; every audited metric is a measure.
    metrics
        The metrics to take; all audited ones unless given.
    length
        The number of items at which lengths are made equal; that of the shortest measure unless
        given.
    more
        How many further items the forecast adds.
    families
        Respondent -> family, beyond what the audits say.
    seed
        Of the resampling.
    command
        For the record.
    forecast
        Whether to forecast, for each pair of measures, which to trust for whom at equal cost.
    prices
        Of answers and verdicts, for the forecast; what it does not say comes from the audits'
        records.

    Returns
    -------
    Comparison
        All respondents that every measure scored go into its tests; with fewer than three of them
        nothing is tested, and the measures stand side by side.

    Raises
    ------
    DesignError
        There are fewer than two measures.
    """
    every = [
        audited
        for audit in audits
        for audited in (audit.audits if isinstance(audit, Audit) else (audit,))
    ]
    measures = measures_of(every, metrics)
    if len(measures) < 2:
        raise DesignError(
            "a comparison needs two measures, there is"
            f" {measures[0].label if measures else 'none'}",
            remedy="Name further audits, or repeat --metric, --scoring, --parser or --judge.",
        )
    names = [name for name in measures[0].scores if all(name in m.scores for m in measures)]
    protocol = tuple(dict.fromkeys(_protocol(audited) for audited in every))
    common = length or min(m.items for m in measures)
    if len(names) < 3:
        return _untested(measures, len(names), common, protocol, command)
    check_families(families, names)
    given = {name: family for audited in every for name, family in audited.families.items()} | dict(
        families or {}
    )
    family_names = families_of(names, given)
    costs = {
        b.benchmark: a.record.get("costs", {}).get(b.benchmark, {})
        for a in audits
        if isinstance(a, Audit)
        for b in a.audits
    }
    effective = _effective(measures, names, family_names)
    table, ratios = by_types(measures, names)
    pairs = respondent_tests(measures, names)
    differences, goes_with = adjusted_together(
        tested(measures, names, family_names, effective, common, seed),
        closer(measures, names, effective),
    )
    return Comparison(
        measures=measures,
        respondents=tuple(names),
        families=dict(zip(names, family_names, strict=True)),
        n_effective=effective,
        length=common,
        indicators=side_by_side(measures, names, family_names),
        differences=differences,
        agreements=tuple(agreements(measures, names, effective, seed)),
        closer=goes_with,
        types=table,
        distinct=ratios,
        separations=tuple(separations(measures, names, pairs)),
        ranks={
            label: dict(zip(names, tests.rank_intervals, strict=True))
            for label, tests in pairs.items()
        },
        growth=tuple(growth for m in measures if (growth := growth_of(m, more)) is not None),
        command=command,
        protocol=protocol,
        notes=tuple(_notes(measures, names, family_names)),
        tools=_tools(every),
        forecasts=forecasts(measures, names, effective, costs, prices) if forecast else (),
    )


def _untested(
    measures: tuple[Measure, ...],
    shared: int,
    length: int,
    protocol: tuple[str, ...],
    command: str,
) -> Comparison:
    """Return measures that stand side by side, because too few respondents have all of them."""
    there = "; ".join(f"{m.label}: {len(m.scores)}" for m in measures)
    return Comparison(
        measures=measures,
        respondents=(),
        families={},
        n_effective=None,
        length=length,
        command=command,
        protocol=protocol,
        notes=(
            f"Nothing is tested: the measures share {shared} respondents ({there}), and a test"
            " needs three or more under the same names.",
        ),
    )


def adjusted_together(
    differences: Sequence[Difference], goes_with: Sequence[Closer]
) -> tuple[tuple[Difference, ...], tuple[Closer, ...]]:
    """One adjustment over all tests of measures; each difference is asked of these respondents
    first, of others if these differ.
    """
    adjusted = iter(
        holm_in_order(
            [*((d.these.p, d.others.p) for d in differences), *((c.test.p,) for c in goes_with)]
        )
    )
    kept = []
    for difference in differences:
        these, others = next(adjusted)
        kept.append(replace(difference, adjusted_these=these, adjusted_others=others))
    return tuple(kept), tuple(replace(c, adjusted=next(adjusted)[0]) for c in goes_with)


def _effective(
    measures: Sequence[Measure], names: Sequence[str], family_names: Sequence[str]
) -> float | None:
    """The smallest effective number of respondents over measures; None where every respondent is a
    family of its own.

    One family is one respondent. Where the scores do not say how alike relatives are, a family
    counts once.
    """
    related = len(set(family_names))
    if related == len(names):
        return None
    if related == 1:
        return 1.0
    effective = [family_dependence(column(m, names), family_names).n_eff for m in measures]
    known = [n for n in effective if math.isfinite(n)]
    return min(known) if known else float(related)


def _notes(measures: Sequence[Measure], names: Sequence[str], family_names: list[str]) -> list[str]:
    notes = []
    if len(set(family_names)) == 1:
        notes.append(
            f"All respondents are of one family ({family_names[0]}): there is no interval and no"
            " test for other respondents."
        )
    elif len(set(family_names)) < len(names) and family_names == [
        infer_family(name) for name in names
    ]:
        notes.append(
            "The families are told from the respondents' names; `--family FILE` says them."
        )
    absent = {m.label: len(set(m.scores) - set(names)) for m in measures}
    if any(absent.values()):
        counts = ", ".join(f"{label} {n}" for label, n in absent.items() if n)
        notes.append(f"Respondents that not every measure scored are left out: {counts}.")
    if np.ptp([m.items for m in measures]) > 0.5 * min(m.items for m in measures):
        notes.append(
            "LENGTH_CONFOUND: the measures differ in length by more than half; read the tests at a"
            " common length."
        )
    if any(a.answers == b.answers for i, a in enumerate(measures) for b in measures[:i]):
        notes.append(
            "Measures scored from the same answers share their noise: they agree more than separate"
            " tests would."
        )
    return notes


def _tools(audits: Sequence[BenchmarkAudit]) -> tuple[Mapping[str, Any], ...]:
    """Where tools score otherwise than HQM, each administration once for each of HQM's scorings."""
    known = {
        (audit.benchmark, tool["respondent"], tool["form"], tool["run"], tool["scoring"]): tool
        for audit in audits
        for tool in audit.tools
    }
    return tuple(known.values())


def _protocol(audit: BenchmarkAudit) -> str:
    """What was administered and how it was scored, in one sentence."""
    cells = [Cell.parse(name) for name in audit.cells]
    runs = len({cell.run for cell in cells})
    forms = ", ".join(dict.fromkeys(cell.form for cell in cells))
    reader = f", parser {audit.parser}" if audit.parser else ""
    judge = Cell.parse(audit.reference).judge
    judged = "" if judge == "rule" else f", judged by {judge}"
    return (
        f"{audit.title} {audit.version}: {audit.items:,} items, {len(audit.respondents)}"
        f" respondents, runs {runs}, forms {forms}; {', '.join(audit.metrics)}; {audit.scoring}"
        f" scoring{reader}{judged}"
    )
