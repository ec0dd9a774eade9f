"""Which administrations are compared, and the drawing of two of them against each other."""

from __future__ import annotations

from collections.abc import Sequence

from hqm.reports.svg import ACCENT, FAINT, ends, plot
from hqm.reports.tables import number

from hqm import BenchmarkAudit, Cell, RespondentScores


def facet_pairs(audit: BenchmarkAudit) -> list[tuple[str, str]]:
    """The administrations that differ from the reference in one facet, each with that facet."""
    reference = Cell.parse(audit.reference)
    judged = audit.respondents[0].judged if audit.respondents else {}
    pairs = [(reference.differing(Cell.parse(name)), name) for name in (*audit.cells, *judged)]
    return [(facets[0], name) for facets, name in pairs if len(facets) == 1]


def other_score(row: RespondentScores, metric: str, other: str) -> float | None:
    """A respondent's score in another administration; for another judge, the share of answers it
    called faithful.
    """
    return row.judged[other] if other in row.judged else row.cells.get(other, {}).get(metric)


def scatter(
    audit: BenchmarkAudit, metric: str, other: str, label_x: str, label_y: str, names: Sequence[str]
) -> str:
    """The scores of two administrations, one point per respondent, with the line of equality.

    The lines through the points are the intervals of the first score over pictures. Another judge's
    share of faithful answers need not have the scale or direction of the metric: its axes are free,
    and no line of equality is drawn.
    """
    pairs = [
        (
            r.cells[audit.reference].get(metric),
            other_score(r, metric, other),
            r.intervals.get(metric) or (None, None),
        )
        for r in audit.respondents
    ]
    points = [
        (x, y, span, name)
        for (x, y, span), name in zip(pairs, names, strict=True)
        if x is not None and y is not None
    ]
    if not points:
        return ""
    judged = other in audit.respondents[0].judged
    xs = [v for x, _, span, _ in points for v in (x, *span) if v is not None]
    ys = [y for _, y, _, _ in points]
    ends_x, ends_y = (ends(xs), ends(ys)) if judged else (ends([*xs, *ys]),) * 2
    drawn = plot(420, 392, ends_x, ends_y)
    sheet = drawn.drawing
    if not judged:
        sheet.line(
            [(drawn.x(ends_x[0]), drawn.y(ends_y[0])), (drawn.x(ends_x[1]), drawn.y(ends_y[1]))]
        )
    for _, y, (low, high), _ in points:
        if low is not None and high is not None:
            sheet.line([(drawn.x(low), drawn.y(y)), (drawn.x(high), drawn.y(y))], FAINT, 1.2)
    for x, y, _, name in points:
        sheet.dot(drawn.x(x), drawn.y(y), ACCENT, title=f"{name}: {number(x)} and {number(y)}")
    drawn.across(label_x)
    drawn.up(label_y)
    bars = [
        (low, high, y) for _, y, (low, high), _ in points if low is not None and high is not None
    ]
    drawn.names([(x, y, name) for x, y, _, name in points], bars=bars)
    said = "; ".join(f"{name} {number(x)} and {number(y)}" for x, y, _, name in points)
    return sheet.finish(f"{label_x} and {label_y}", f"{said}.")
