"""The drawings that compare the first administration with the others: scatter, differences,
places.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hqm.reports import charts, drawings, score_tables, tables
from hqm.reports.example_rows import FACETS
from hqm.reports.figures import facet_pairs, scatter

from hqm import BenchmarkAudit, Cell, labelled_by

_DRAWN = 3
"""How many metrics are drawn; the tables have all of them."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing, which says its numbers to screen readers, with its caption."""

    svg: str
    caption: str
    signature: str = ""
    wide: bool = False


def drawn_if_any(svg: str, caption: str, signature: str, *, wide: bool = False) -> list[Figure]:
    """The drawing in a list; an empty list where there was nothing to draw."""
    return [Figure(svg, caption, signature, wide)] if svg else []


def administration_figures(audit: BenchmarkAudit) -> Iterable[Figure]:
    """The drawings that hold the first administration against every other one."""
    names = [tables.short(row.name) for row in audit.respondents]
    pairs = facet_pairs(audit)
    shown = (
        "Agreement with the first administration: r compares the order, ICC(A,1) the scores"
        " themselves. Strong: the interval for these respondents; thin: for others like them."
    )
    yield from drawn_if_any(
        charts.agreement(audit, next(iter(audit.metrics))), shown, score_tables.made_of(audit)
    )
    for metric in list(audit.metrics)[:_DRAWN]:
        for facet, other in pairs:
            measured = "share of faithful answers" if facet == "judge" else metric
            x, y = f"{metric}, {tables.cell(audit.reference)}", f"{measured}, {tables.cell(other)}"
            svg = scatter(audit, metric, other, x, y, names)
            if not svg:
                continue
            signed = _signature(audit, metric, other)
            on_line = (
                ""
                if other in audit.respondents[0].judged
                else "; a point on the line has the same score in both"
            )
            caption = (
                f"{_varied(audit, facet, other)}: {metric}. Each point is a respondent{on_line}."
            )
            yield Figure(svg, caption, signed)
            if other in audit.respondents[0].judged:
                continue
            compared = (e for e in audit.estimates if (e.metric, e.other) == (metric, other))
            limits = next(
                (e for e in compared if e.indicator.endswith(".limits_of_agreement")), None
            )
            svg = drawings.bland_altman(audit, metric, other, limits)
            if svg:
                yield Figure(svg, _limits_caption(FACETS[facet], metric, limits), signed)
        others = [other for _, other in pairs]
        svg = drawings.rank_flow(audit, metric, others) if others else ""
        if svg:
            caption = (
                f"Rank flow of {metric}: each respondent's place in {tables.cell(audit.reference)}"
                " and in the other administrations. Strong lines mark places that changed a lot."
            )
            yield Figure(svg, caption, score_tables.made_of(audit, metric), wide=True)


def _varied(audit: BenchmarkAudit, facet: str, other: str) -> str:
    if facet == "judge" and other in audit.respondents[0].judged:
        return (
            FACETS["human"]
            if labelled_by(Cell.parse(other).judge) == "people"
            else tables.ORACLE_TITLE
        )
    return FACETS[facet]


def _limits_caption(facet: str, metric: str, limits: Any) -> str:
    caption = f"{facet}: differences in {metric} (Bland and Altman)."
    if limits is None or limits.value is None:
        reason = limits.reason if limits is not None else "no estimate"
        return f"{caption} Limits of agreement: not measured ({reason})."
    ends = [limits.detail.get(key) or [None] for key in ("lower", "upper")]
    shown = (
        f" Mean difference {tables.number(limits.value)}, limits of agreement"
        f" {tables.number(ends[0][0])} to {tables.number(ends[1][0])}."
    )
    return caption + shown


def _signature(audit: BenchmarkAudit, metric: str, other: str) -> str:
    estimates = [e for e in audit.estimates if (e.metric, e.other) == (metric, other)]
    return next(
        (e.signature for e in estimates if e.indicator.endswith(".pearson")),
        estimates[0].signature if estimates else "",
    )
