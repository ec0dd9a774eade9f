"""Drawings of the evidence: scatter, intervals, the item map and the response map."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hqm.reports.item_tables import FACETS
from hqm.reports.svg import (
    ACCENT,
    FAINT,
    INK,
    QUIET,
    WARN,
    Drawing,
    ends,
    fitting,
    plot,
    width_of,
    wrapped,
)
from hqm.reports.tables import ORACLE_TITLE, cell, find, known, number, short

from hqm import BenchmarkAudit, Cell, RespondentScores, labelled_by

# --- two administrations against each other ---


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
    drawn.names(
        [(x, y, name) for x, y, _, name in points],
        bars=[
            (low, high, y)
            for _, y, (low, high), _ in points
            if low is not None and high is not None
        ],
    )
    said = "; ".join(f"{name} {number(x)} and {number(y)}" for x, y, _, name in points)
    return sheet.finish(f"{label_x} and {label_y}", f"{said}.")


def dots(rows: Sequence[tuple[str, float]], unit: str, title: str) -> str:
    """Numbers under each other, the first on top, each a point on an axis that takes in 0."""
    names = [fitting(name, 34) for name, _ in rows]
    room = max(width_of(name, 11) for name in names) + 12
    width = 460 + max(0, max(map(len, names)) - 20) * 7
    upright = (len(rows) - 0.5, -0.5)  # the vertical scale is the number of the row
    across = ends([0.0, *(value for _, value in rows)])
    drawn = plot(width, 58 + 21 * len(rows), across, upright, left=room)
    drawn.across(unit, grid=True)
    shown = [f"{name}: {number(value)}" for name, value in rows]
    for i, (_, value) in enumerate(rows):
        drawn.drawing.text(room - 8, drawn.y(i), names[i], size=11, side="end")
        drawn.drawing.dot(drawn.x(value), drawn.y(i), ACCENT, 4, shown[i])
    return drawn.drawing.finish(title, f"{unit}. {'; '.join(shown)}.")


def item_map(audit: BenchmarkAudit, metric: str) -> tuple[str, int]:
    """Difficulty and discrimination of the items, and how many items are shown; several at one
    place make a larger point.
    """
    points = _points(audit, metric)
    known = [
        (name, p, r)
        for name, p, r in zip(
            points.get("ids", ()),
            points.get("difficulty", ()),
            points.get("item_rest", ()),
            strict=True,
        )
        if p is not None and r is not None
    ]
    if not known:
        return "", 0
    named = _flagged(audit, metric)
    # thousands of items share few places: rounding to a grid finer than the eye keeps the drawing
    # small
    grid = Counter((int(p * 200), int(r * 100)) for name, p, r in known if name not in named)
    low = min(-0.1, min(r for _, _, r in known) - 0.05)
    drawn = plot(480, 350, (-0.03, 1.03), (low, 1.05))
    sheet = drawn.drawing
    sheet.line([(drawn.x.start, drawn.y(0)), (drawn.x.end, drawn.y(0))])
    for (across, up), count in grid.items():
        sheet.dot(
            drawn.x(across / 200),
            drawn.y(up / 100),
            QUIET,
            min(12.0, 1.6 + 0.9 * count**0.5),
            opacity=0.55,
        )
    marked = [(name, p, r) for name, p, r in known if name in named]
    for name, p, r in marked:
        x, y = drawn.x(p), drawn.y(r)
        sheet.area(
            [(x, y - 5), (x + 5, y), (x, y + 5), (x - 5, y)],
            WARN,
            1,
            f"{name}: {number(p, 2)}, {number(r, 2)}",
        )
    drawn.across("share of respondents that get it right (high is easy)")
    drawn.up("correlation with the rest of the test")
    drawn.names([(p, r, name) for name, p, r in marked[:25]], 10)
    said = "; ".join(
        f"{name} difficulty {number(p, 2)}, discrimination {number(r, 2)}"
        for name, p, r in marked[:25]
    )
    description = f"{len(known):,} items. {f'Flagged: {said}.' if said else 'None is flagged.'}"
    return sheet.finish("Items by difficulty and discrimination", description), len(known)


def _points(audit: BenchmarkAudit, metric: str) -> Mapping[str, Any]:
    """The items with difficulty, discrimination and answers; empty where this was not measured."""
    estimate = find(audit, "items.discrimination", metric)
    return (estimate.detail.get("map") or {}) if estimate is not None else {}


def _flagged(audit: BenchmarkAudit, metric: str) -> set[str]:
    names: set[str] = set()
    for statistic in ("label_errors", "negative_items", "misfit_items"):
        estimate = find(audit, f"items.{statistic}", metric)
        if estimate is not None and estimate.value:
            names |= {str(row.get("item")) for row in estimate.detail.get("candidates", ())}
            names |= {str(name) for name in estimate.detail.get("items", ())}
    return names


# --- items and respondents, and what stands in the evidence ---

_COLUMNS = 140
"""More items than this share columns of the response map."""
_SHADES = 6


def response_map(audit: BenchmarkAudit, metric: str) -> str:
    """Who got which item right: respondents from the ablest down, items from the most
    discriminating to the right.

    Where there are more items than columns, neighbours share one, and its shade is their mean.
    """
    points = _points(audit, metric)
    answers = points.get("responses")
    if not answers:
        return ""
    rest = [known(r) for r in points["item_rest"]]
    order = sorted(range(len(rest)), key=lambda i: (rest[i] is None, -(rest[i] or 0.0)))
    share = max(1, math.ceil(len(order) / _COLUMNS))
    groups = [order[k : k + share] for k in range(0, len(order), share)]
    able = sorted(answers, key=lambda who: -_right(answers[who], order))
    room = max(width_of(fitting(short(who)), 11) for who in able) + 12
    wide, high = min(12.0, 420 / len(groups)), 17.0
    sheet = Drawing(room + wide * len(groups) + 60, high * len(able) + 84)
    shades: dict[int, list[tuple[float, float, float, float]]] = {}
    unscored = []
    for row, who in enumerate(able):
        y = 16 + high * row
        sheet.text(room - 8, y + high / 2 - 0.5, fitting(short(who)), size=11, side="end")
        sheet.text(
            room + wide * len(groups) + 8,
            y + high / 2 - 0.5,
            number(_right(answers[who], order), 2),
            size=11,
        )
        for column, group in enumerate(groups):
            share_right = _right(answers[who], group)
            corner = (room + wide * column, y, wide + 0.1, high - 1.5)
            if math.isnan(share_right):
                unscored.append((corner[0], y + high / 2 - 1.5, wide, 1.5))
            else:
                shades.setdefault(round(share_right * _SHADES), []).append(corner)
    for shade, corners in sorted(shades.items()):
        sheet.boxes(corners, ACCENT, 0.07 + 0.93 * shade / _SHADES)
    sheet.boxes(unscored, QUIET)
    _legend(sheet, room, high * len(able) + 22, [rest[i] for i in order], wide * len(groups))
    sheet.text(room + wide * len(groups) + 8, 8, "right", size=10, colour=QUIET)
    said = "; ".join(f"{short(who)} {number(_right(answers[who], order), 2)}" for who in able)
    varying = sum(r is not None for r in rest)
    about = (
        f"{len(order):,} items, of which {varying:,} discriminate between respondents at all. Share"
        f" right: {said}."
    )
    return sheet.finish("Which respondent got which item right", about)


def _right(digits: str, places: Sequence[int]) -> float:
    scored = [int(digits[i]) for i in places if digits[i] != "."]
    return sum(scored) / (9 * len(scored)) if scored else math.nan


def _legend(
    sheet: Drawing, left: float, top: float, rest: Sequence[float | None], width: float
) -> None:
    """Under the map: the discrimination at some places, what the horizontal axis is, and what a
    shade means.
    """
    last = max((i for i, r in enumerate(rest) if r is not None), default=-1)
    for i in dict.fromkeys(round(last * k / 4) for k in range(5)) if last >= 0 else ():
        x = left + width * (i + 0.5) / len(rest)
        sheet.line([(x, top - 5), (x, top - 1)], INK)
        sheet.text(x, top + 7, number(rest[i], 2), size=10, side="middle")
    sheet.text(
        left, top + 24, "items by discrimination (correlation with the rest), best first", size=11
    )
    x = left
    for shade, words in ((0, "wrong"), (_SHADES // 2, "half"), (_SHADES, "right")):
        sheet.boxes([(x, top + 37, 12, 12)], ACCENT, 0.07 + 0.93 * shade / _SHADES)
        sheet.text(x + 16, top + 43, words, size=11)
        x += 26 + width_of(words, 11)
    sheet.boxes([(x, top + 42, 12, 1.5)], QUIET)
    sheet.text(x + 16, top + 43, "not scored", size=11)


def type_pairs(audit: BenchmarkAudit) -> str:
    """One picture with its question for each type that has items."""
    return "".join(_pair(row) for row in audit.pairs)


def _pair(row: Mapping[str, object]) -> str:
    width, top = 210.0, 22.0
    options = row.get("options")
    choices = (
        [f"{chr(65 + i)}. {option}" for i, option in enumerate(options)]
        if isinstance(options, (list, tuple))
        else []
    )
    asked = wrapped(str(row["prompt"]), width, 11.5, 5)
    answers = [line for choice in choices[:6] for line in wrapped(choice, width, 11, 1)]
    key = wrapped(f"Key: {row['target']}", width, 11.5, 2) if row["target"] else []
    pictured = 150.0 if row["thumbnail"] else 0.0
    sheet = Drawing(width, top + pictured + 15 * (len(asked) + len(answers) + len(key)) + 16)
    sheet.text(0, 8, str(row["type"]), bold=True)
    if row["thumbnail"]:
        sheet.picture(str(row["thumbnail"]), 0, top, width, pictured - 6)
    y = top + pictured + 8
    for lines, colour in ((asked, INK), (answers, QUIET), (key, ACCENT)):
        for line in lines:
            sheet.text(0, y, line, size=11.5, colour=colour)
            y += 15
    said = " ".join(
        filter(
            None,
            (
                str(row["prompt"]),
                "; ".join(choices),
                f"Key: {row['target']}." if row["target"] else "",
            ),
        )
    )
    return sheet.finish(f"{row['type']}: item {row['item']}", said)


# --- the first administration against the others ---

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
    names = [short(row.name) for row in audit.respondents]
    for metric in list(audit.metrics)[:_DRAWN]:
        for facet, other in facet_pairs(audit):
            judged = other in audit.respondents[0].judged
            measured = "share of faithful answers" if facet == "judge" else metric
            on_line = "" if judged else "; a point on the line has the same score in both"
            x, y = f"{metric}, {cell(audit.reference)}", f"{measured}, {cell(other)}"
            yield from drawn_if_any(
                scatter(audit, metric, other, x, y, names),
                f"{_varied(audit, facet, other)}: {metric}. Each point is a respondent{on_line}.",
                _signature(audit, metric, other),
            )


def _varied(audit: BenchmarkAudit, facet: str, other: str) -> str:
    if facet == "judge" and other in audit.respondents[0].judged:
        return FACETS["human"] if labelled_by(Cell.parse(other).judge) == "people" else ORACLE_TITLE
    return FACETS[facet]


def _signature(audit: BenchmarkAudit, metric: str, other: str) -> str:
    estimates = [e for e in audit.estimates if (e.metric, e.other) == (metric, other)]
    return next(
        (e.signature for e in estimates if e.indicator.endswith(".pearson")),
        estimates[0].signature if estimates else "",
    )
