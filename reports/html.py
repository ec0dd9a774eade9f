"""The HTML report: one self-contained file, no script, no request, the same bytes for the same audit."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hqm.reports import tables
from hqm.reports.figures import facet_pairs, other_score, scatter
from hqm.reports.tables import Table

from hqm import Audit, BenchmarkAudit

_FACETS = {
    "run": "Test-retest: another seed",
    "form": "Parallel forms: another wording",
    "judge": "Criterion: another judge",
    "sight": "Without the picture",
}


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing with its caption and a text for those who do not see it."""

    svg: str
    caption: str
    alternative: str


@dataclass(frozen=True, slots=True)
class Section:
    """One benchmark's part of the report."""

    audit: BenchmarkAudit
    anchor: str
    design: str
    scores: tuple[Table, ...]
    figures: tuple[Figure, ...]
    evidence: tuple[Table, ...]


def render(audit: Audit) -> str:
    """The report as text."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html").render(
        audit=audit,
        summary=tables.summary(audit),
        sections=[_section(one) for one in audit.audits],
        record=tables.record(audit),
        identities=tables.identities(audit),
        signatures=tables.signatures(audit.audits),
    )


def _section(one: BenchmarkAudit) -> Section:
    first = (
        tables.leaderboard(one),
        tables.indicators(one),
        tables.by_type(one),
        tables.yes_ratios(one),
        tables.lengths(one),
    )
    evidence = (tables.coverage(one), tables.states(one), tables.forms(one), tables.findings(one))
    return Section(
        audit=one,
        anchor=one.benchmark,
        design=_design(one),
        scores=tuple(table for table in first if table is not None),
        figures=tuple(_figures(one)),
        evidence=tuple(table for table in evidence if table is not None),
    )


def _design(one: BenchmarkAudit) -> str:
    """What was administered, in one sentence."""
    people = f"{len(one.respondents)} respondent{'s' * (len(one.respondents) != 1)}"
    pictures = f" about {one.images:,} pictures" if one.images else ""
    sittings = "; ".join(tables.cell(name) for name in one.cells)
    reader = f", answers read by {one.parser}" if one.parser else ""
    return f"{one.items:,} items{pictures}, {people}; administrations: {sittings}. {one.scoring.capitalize()} scoring{reader}."


def _figures(one: BenchmarkAudit) -> list[Figure]:
    names = [tables.short(row.name) for row in one.respondents]
    found = []
    for facet, other in facet_pairs(one):
        for metric in one.metrics:
            measured = "share of faithful answers" if facet == "judge" else metric
            x, y = f"{metric}, {tables.cell(one.reference)}", f"{measured}, {tables.cell(other)}"
            svg = scatter(one, metric, other, x, y, names)
            if svg:
                told = "; ".join(
                    f"{name} {tables.number(row.cells[one.reference].get(metric))} and {tables.number(other_score(row, metric, other))}"
                    for name, row in zip(names, one.respondents, strict=True)
                )
                meaning = "" if facet == "judge" else "; on the line nothing changed"
                found.append(
                    Figure(svg, f"{_FACETS[facet]}. Each point is a respondent{meaning}.", f"{x} and {y}: {told}")
                )
    return found
