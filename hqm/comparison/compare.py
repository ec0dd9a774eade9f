"""Compare audits over the respondents they share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from hqm.auditing.families import families_of
from hqm.auditing.value import Audit, BenchmarkAudit
from hqm.comparison.measures import Measure, measures_of
from hqm.comparison.ranks import agreements, by_types, closer, column, separations
from hqm.comparison.reliability import growth_of, side_by_side, tested
from hqm.comparison.value import Comparison
from hqm.errors import DesignError
from hqm.psychometrics import family_dependence
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
) -> Comparison:
    """Several audits (or several metrics, scorings, parsers of one benchmark) over the same respondents.

    Nobody is asked anything: every number is a function of what the audits hold. Tests of differences draw the same
    respondents for both measures, relatives together, because the respondents are the same.

    Parameters
    ----------
    audits
        What to compare; every audited metric is a measure.
    metrics
        The metrics to take; all audited ones unless given.
    length
        The number of items at which lengths are made equal; that of the shortest measure unless given.
    more
        How many further items the forecast adds.
    families
        Respondent -> family, beyond what the audits say.
    seed
        Of the resampling.
    command
        For the record.

    Returns
    -------
    Comparison
        All respondents that every measure scored go in.

    Raises
    ------
    DesignError
        There are fewer than two measures, or they share fewer than three respondents.
    """
    every = [audited for audit in audits for audited in (audit.audits if isinstance(audit, Audit) else (audit,))]
    measures = measures_of(every, metrics)
    if len(measures) < 2:
        raise DesignError(
            f"a comparison needs two measures, there is {measures[0].label if measures else 'none'}",
            remedy="Name further audits, or repeat --metric, --scoring, --parser or --judge.",
        )
    names = [name for name in measures[0].scores if all(name in m.scores for m in measures)]
    if len(names) < 3:
        there = "; ".join(f"{m.label}: {len(m.scores)}" for m in measures)
        raise DesignError(
            f"the measures share {len(names)} respondents ({there})",
            remedy="Compare measures of the same respondents, three or more, under the same names.",
        )
    given = {name: family for audited in every for name, family in audited.families.items()} | dict(families or {})
    family_names = families_of(names, given)
    common = length or min(m.items for m in measures)
    effective = _effective(measures, names, family_names)
    table, ratios = by_types(measures, names)
    return Comparison(
        measures=measures,
        respondents=tuple(names),
        families=dict(zip(names, family_names, strict=True)),
        n_effective=effective,
        length=common,
        indicators=side_by_side(measures, names, family_names, seed),
        differences=tuple(tested(measures, names, family_names, effective, common, seed)),
        agreements=tuple(agreements(measures, names, effective, seed)),
        closer=tuple(closer(measures, names)),
        types=table,
        distinct=ratios,
        separations=tuple(separations(measures, names)),
        growth=tuple(growth for m in measures if (growth := growth_of(m, more)) is not None),
        command=command,
        protocol=tuple(dict.fromkeys(_protocol(audited) for audited in every)),
        notes=tuple(_notes(measures, names)),
    )


def _effective(measures: Sequence[Measure], names: Sequence[str], family_names: Sequence[str]) -> float | None:
    """The smallest effective number of respondents over measures; None where every respondent is a family of its own."""
    if len(set(family_names)) == len(names):
        return None
    effective = [family_dependence(column(m, names), family_names).n_eff for m in measures]
    known = [n for n in effective if math.isfinite(n)]
    return min(known) if known else None


def _notes(measures: Sequence[Measure], names: Sequence[str]) -> list[str]:
    notes = []
    absent = {m.label: len(set(m.scores) - set(names)) for m in measures}
    if any(absent.values()):
        counts = ", ".join(f"{label} {n}" for label, n in absent.items() if n)
        notes.append(f"Respondents that not every measure scored are left out: {counts}.")
    if np.ptp([m.items for m in measures]) > 0.5 * min(m.items for m in measures):
        notes.append(
            "LENGTH_CONFOUND: the measures differ in length by more than half; read the tests at a common length."
        )
    if any(a.answers == b.answers for i, a in enumerate(measures) for b in measures[:i]):
        notes.append(
            "Measures scored from the same answers share their noise: they agree more than separate tests would."
        )
    return notes


def _protocol(audit: BenchmarkAudit) -> str:
    """What was administered and how it was scored, in one sentence."""
    cells = [Cell.parse(name) for name in audit.cells]
    runs = len({cell.run for cell in cells})
    forms = ", ".join(dict.fromkeys(cell.form for cell in cells))
    reader = f", parser {audit.parser}" if audit.parser else ""
    judge = Cell.parse(audit.reference).judge
    judged = "" if judge == "rule" else f", judged by {judge}"
    return (
        f"{audit.title} {audit.version}: {audit.items:,} items, {len(audit.respondents)} respondents, runs {runs}, forms {forms}; "
        f"{', '.join(audit.metrics)}; {audit.scoring} scoring{reader}{judged}"
    )
