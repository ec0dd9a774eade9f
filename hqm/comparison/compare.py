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
    every = [one for audit in audits for one in (audit.audits if isinstance(audit, Audit) else (audit,))]
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
    given = {name: family for one in every for name, family in one.families.items()} | dict(families or {})
    kin = families_of(names, given)
    common = length or min(m.items for m in measures)
    effective = _effective(measures, names, kin)
    table, ratios = by_types(measures, names)
    return Comparison(
        measures=measures,
        respondents=tuple(names),
        families=dict(zip(names, kin, strict=True)),
        n_effective=effective,
        length=common,
        indicators=side_by_side(measures, names, kin, seed),
        differences=tuple(tested(measures, names, kin, effective, common, seed)),
        agreements=tuple(agreements(measures, names, effective, seed)),
        closer=tuple(closer(measures, names)),
        types=table,
        distinct=ratios,
        separations=tuple(separations(measures, names)),
        growth=tuple(found for m in measures if (found := growth_of(m, more)) is not None),
        command=command,
        protocol=tuple(dict.fromkeys(_protocol(one) for one in every)),
        notes=tuple(_notes(measures, names)),
    )


def _effective(measures: Sequence[Measure], names: Sequence[str], kin: Sequence[str]) -> float | None:
    """The smallest effective number of respondents over measures; None where nobody is related."""
    if len(set(kin)) == len(names):
        return None
    found = [family_dependence(column(m, names), kin).n_eff for m in measures]
    known = [n for n in found if math.isfinite(n)]
    return min(known) if known else None


def _notes(measures: Sequence[Measure], names: Sequence[str]) -> list[str]:
    found = []
    absent = {m.label: len(set(m.scores) - set(names)) for m in measures}
    if any(absent.values()):
        told = ", ".join(f"{label} {n}" for label, n in absent.items() if n)
        found.append(f"Respondents that not every measure scored are left out: {told}.")
    if np.ptp([m.items for m in measures]) > 0.5 * min(m.items for m in measures):
        found.append(
            "LENGTH_CONFOUND: the measures differ in length by more than half; read the tests at a common length."
        )
    if any(a.answers == b.answers for i, a in enumerate(measures) for b in measures[:i]):
        found.append(
            "Measures scored from the same answers share their noise: they agree more than separate tests would."
        )
    return found


def _protocol(one: BenchmarkAudit) -> str:
    """What was administered and how it was scored, in one sentence."""
    cells = [Cell.parse(name) for name in one.cells]
    runs = len({cell.run for cell in cells})
    forms = ", ".join(dict.fromkeys(cell.form for cell in cells))
    reader = f", parser {one.parser}" if one.parser else ""
    judge = Cell.parse(one.reference).judge
    judged = "" if judge == "rule" else f", judged by {judge}"
    return (
        f"{one.title} {one.version}: {one.items:,} items, {len(one.respondents)} respondents, runs {runs}, forms {forms}; "
        f"{', '.join(one.metrics)}; {one.scoring} scoring{reader}{judged}"
    )
