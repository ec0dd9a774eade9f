"""The figures of the report: the error budget with the gaps of the leaderboard, and the leaderboard
with its orders. Each is drawn for a wide and for a narrow page.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from hqm.reports.drawings import Drawing, Scale, Side, fitting_in, ticks, width_of
from hqm.reports.phrases import Points, coefficient
from hqm.reports.score_tables import Order, order_in, orders, ties_in_order
from hqm.reports.sentences import (
    IN_A_LINE,
    MARKS,
    SOURCES,
    board_title,
    budget_title,
    gap_code,
    gap_in_words,
    how_to_measure,
)
from hqm.reports.tables import leading, number, short

from hqm import BenchmarkAudit, BudgetRow, ErrorBudget, Estimate, Gap

if TYPE_CHECKING:
    from hqm import Measure  # loaded by those who compare

INK, QUIET, GRID, RULE = "var(--ink)", "var(--quiet)", "var(--grid)", "var(--rule)"
BAR, DOT, EMPTY, TIED = "var(--bar)", "var(--dot)", "var(--empty)", "var(--tied)"
OF_CODE: Mapping[str, str] = {
    "fine": "var(--fine)",
    "look": "var(--look)",
    "wrong": "var(--wrong)",
    "not_measured": "var(--none)",
}
WIDE, NARROW = 1080.0, 344.0
MOST_GAPS = 9
"""Gaps of a longer leaderboard are shown of its first places."""
_FIRST_GAPS = 5
_MOST_RESPONDENTS = 30


def _grid(
    sheet: Drawing,
    place: Scale,
    most: int,
    lines: tuple[float, float],
    *,
    middle: float = 10,
    size: float = 12,
    unit: str = "",
) -> None:
    """At most so many round numbers on an axis, each with a line down from it; 0 has the unit.

    `lines` are the ends of the lines, and `middle` is the height of the numbers.
    """
    marks, decimals = ticks(place.low, place.high, most)
    for mark in marks:
        x = place(mark)
        side: Side = "middle" if x else "start"  # at the edge of the sheet
        label = f"0 {unit}" if unit and mark == 0 else number(mark, decimals)
        sheet.line([(x, lines[0]), (x, lines[1])], GRID)
        sheet.text(x, middle, label, side=side, size=size, colour=QUIET)


def _folded(place: Scale, value: float, points: Points) -> float:
    """Where a number of scores stands on an axis in points that begins at 0, sign left out; what
    lies beyond the axis stands at its end.
    """
    return min(place(abs(value) * points.factor), place.end)


def _bar(
    sheet: Drawing, place: Scale, end: float, top: float, height: float = 10, title: str = ""
) -> None:
    """A bar from the beginning of the axis, with a stroke at its end."""
    sheet.boxes([(place.start, top, end - place.start, height)], BAR, title=title)
    sheet.line([(end, top), (end, top + height)], INK, 2)


def _small_bar(sheet: Drawing, place: Scale, row: BudgetRow, top: float, points: Points) -> None:
    """A bar with the shift of all models."""
    if row.half is not None:
        _bar(sheet, place, _folded(place, row.half, points), top)
    if row.shift is not None and row.source not in ("items", "metric"):
        sheet.diamond(_folded(place, row.shift, points), top + 5, 4, INK, filled=row.shown)


def shown_gaps(budget: ErrorBudget) -> int:
    """How many gaps the error budget shows."""
    return len(budget.gaps) if len(budget.gaps) <= MOST_GAPS else _FIRST_GAPS


def axis_end(budget: ErrorBudget, factor: float) -> float:
    """The end of the axis, in points: beyond every bar, shift and gap that is drawn."""
    reached = [0.0]
    for row in budget.rows:
        reached.append(row.half or 0.0)
        reached += [abs(value) for value in (row.shift, row.low, row.high) if value is not None]
        if row.source not in ("seed", "items"):
            reached += [abs((move or 0.0) - (row.shift or 0.0)) for move in row.moves.values()]
    reached += [gap.gap or 0.0 for gap in budget.gaps[: shown_gaps(budget)]]
    own = [m or 0.0 for row in budget.rows[:2] for m in row.moves.values()]
    # one very unsteady model does not make all bars short
    reached.append(min(max(own, default=0.0), 1.3 * max(reached)))
    # the drop without the picture may be ten times as large as any error: its arrow ends the axis
    blind = budget.row("blind")
    others = [row for row in budget.rows if row.source != "blind"]
    if blind.shift is not None and len(others) > 1:
        small = [abs(v) for row in others for v in (row.half, row.high, row.low) if v is not None]
        small += [gap.gap or 0.0 for gap in budget.gaps[: shown_gaps(budget)]]
        return 1.06 * factor * max(small, default=abs(blind.shift))
    return 1.06 * factor * max(reached)


def budget_figure(audit: BenchmarkAudit, budget: ErrorBudget, *, narrow: bool = False) -> str:
    """Every source of error as a bar from zero, in points; below, the gaps of the leaderboard."""
    points = Points.of(audit, budget.metric)
    end = axis_end(budget, points.factor) or 1.0
    place = Scale(0, end, 0 if narrow else 224, NARROW - 8 if narrow else 814)
    row_room, gap_room = (54, 30) if narrow else (39, 20)
    rows = [row for row in budget.rows if row.status in ("ok", "few") and row.moves]
    unmeasured = [row for row in budget.rows if row.status == "not_measured"]
    gaps = budget.gaps[: shown_gaps(budget)]
    height = 30 + row_room * len(rows) + (0 if narrow else 20 * len(unmeasured))
    under = height + 12
    if gaps:
        height = under + 34 + gap_room * len(gaps)
    sheet = Drawing(NARROW if narrow else WIDE, height + 6)
    _grid(sheet, place, 4 if narrow else 8, (24, height), unit="points")
    if not narrow:
        sheet.text(0, 10, "Only this changes", size=12, bold=True)
        sheet.text(842, 10, "one model", size=12, bold=True)
        sheet.text(934, 10, "all models together", size=12, bold=True)
    bars = []
    for i, row in enumerate(rows):
        top = 30 + row_room * i
        _measured(sheet, place, row, top, points)
        if row.half is not None and row.source != "items":
            bars.append((place(row.half * points.factor), top + (26 if narrow else 14)))
    if not narrow:
        for i, row in enumerate(unmeasured):
            y = 40 + row_room * len(rows) + 20 * i
            sheet.text(0, y, SOURCES[row.source][0], size=13, colour=QUIET)
            sheet.boxes([(place.start, y - 4, place.room, 8)], EMPTY)
            sheet.text(842, y, "not measured", size=12, colour=QUIET)
            way = how_to_measure(audit, row.source)
            sheet.text(920, y, way, size=10.5, colour=QUIET, mono=way.startswith("-"))
    if gaps:
        for x, top in bars:
            sheet.line([(x, top), (x, height)], QUIET, 1, "2 3")
        _gaps(sheet, place, gaps, under, gap_room, points)
    said = [_row_in_words(row, points) for row in rows]
    said += [
        f"gap {short(gap.first)} to {short(gap.other)} {points.said(gap.gap)}, {gap_in_words(gap)}"
        for gap in budget.gaps
    ]
    return sheet.finish(budget_title(audit, budget), f"{'; '.join(said)}.")


def _measured(sheet: Drawing, place: Scale, row: BudgetRow, top: float, points: Points) -> None:
    """A measured source: its bar with what single models do, and below it the shift of all."""
    narrow = sheet.width == NARROW
    name, about = SOURCES[row.source]
    if row.source == "metric" and row.other:
        about = f"{row.other[0]}, {about}"
    if row.source == "people":
        about = f"from {row.answers:,} labelled answers"
    bar = top + (20 if narrow else 8)
    if narrow:
        sheet.text(0, top + 8, name, size=13, bold=True)
        sheet.text(NARROW, top + 8, _numbers(row, points), side="end", size=12)
    else:
        sheet.text(0, top + 10, name, size=13, bold=True)
        sheet.text(0, top + 26, fitting_in(about, 212, 12), size=12, colour=QUIET)
    if row.half is not None:
        x = _folded(place, row.half, points)
        if row.any_wording is not None and len(row.other) == 1 and row.any_wording > row.half:
            far = _folded(place, row.any_wording, points)
            sheet.boxes([(x, bar + 3, far - x, 6)], EMPTY)
        hover = f"{name}: 95% of the moves of one model are below {points.said(row.half)} points"
        _bar(sheet, place, x, bar, 12, hover)
    own = [move for move in row.moves.values() if move is not None]
    if row.source in ("seed", "items") and own:
        low, high = (_folded(place, move, points) for move in (min(own), max(own)))
        sheet.whisker(low, high, bar + 6, QUIET, title=f"{name}: steadiest to least steady model")
    elif row.source != "blind":
        for who, move in row.moves.items():
            apart = abs((move or 0.0) - (row.shift or 0.0)) * points.factor
            hover = f"{short(who)}: {points.said(move, sign=True)} points"
            sheet.dot(place(apart), bar + 6, DOT, 2.6, title=hover)
    _shift(sheet, place, row, bar, points)
    if not narrow:
        y = top + 14
        if row.half is not None:
            sheet.text(842, y, f"±{points.said(row.half)}", size=14, bold=True)
        elif row.source != "blind":
            sheet.text(842, y, f"{row.respondents} models", size=12, colour=QUIET)
        if row.source == "metric":
            sheet.text(934, y, "set equal", size=12, colour=QUIET)
        elif row.source == "items":
            sheet.text(934, y, f"±{points.said(row.high)}", size=13)
        elif row.shift is not None:
            sheet.text(934, y, points.said(row.shift, sign=True), size=13, bold=row.shown)
            sheet.text(980, y, points.ends(row.low, row.high), size=12, colour=QUIET)


def _shift(sheet: Drawing, place: Scale, row: BudgetRow, bar: float, points: Points) -> None:
    """The shift of the mean in its own lane, folded to the right of zero."""
    y = bar + 20
    if row.source == "items" and row.high is not None:
        sheet.whisker(place.start, place(row.high * points.factor), y, QUIET)
        return
    if row.shift is None:
        return
    middle = _folded(place, row.shift, points)
    if row.low is not None and row.high is not None:
        near, far = sorted((abs(row.low), abs(row.high)))
        start = place(near * points.factor) if row.shown else place.start
        sheet.whisker(start, _folded(place, far, points), y, INK)
    if row.source == "blind":
        sheet.line([(place.start, bar + 6), (middle, bar + 6)], DOT, 2)
        sheet.area([(middle, bar + 1), (middle + 8, bar + 6), (middle, bar + 11)], DOT, 1)
        return
    sheet.diamond(middle, y, 5, INK, filled=row.shown)


def _numbers(row: BudgetRow, points: Points) -> str:
    """The numbers of a row on a narrow page."""
    half = f"±{points.said(row.half)}" if row.half is not None else ""
    if row.source in ("metric", "items") or row.shift is None:
        return half
    mean = f"mean {points.said(row.shift, sign=True)}"
    return f"{half}, {mean}" if half else mean


def _row_in_words(row: BudgetRow, points: Points) -> str:
    said = SOURCES[row.source][0]
    if row.half is not None:
        said += f" plus or minus {points.said(row.half)}"
    if row.shift is not None and row.source not in ("items", "metric"):
        said += f", all together {points.said(row.shift, sign=True)}"
        said += f" {points.ends(row.low, row.high)}"
    return said


def _gaps(
    sheet: Drawing, place: Scale, gaps: Sequence[Gap], under: float, room: float, points: Points
) -> None:
    """The gaps between neighbours of the leaderboard, each a line from zero with its interval."""
    narrow = sheet.width == NARROW
    sheet.line([(0, under), (sheet.width, under)], RULE)
    sheet.text(0, under + 17, "Gaps on the leaderboard", size=13, bold=True)
    if not narrow:
        hint = "dotted: bar ends · whisker: other items"
        sheet.text(842, under + 17, hint, size=11.5, colour=QUIET)
    for i, gap in enumerate(gaps):
        top = under + 32 + room * i
        y = top + (21 if narrow else 8)
        code = gap_code(gap)
        colour, mark = OF_CODE[code], MARKS[code] if code != "not_measured" else "○"
        names = f"{short(gap.first)} – {short(gap.other)}"
        if narrow:
            sheet.text(0, top + 8, f"{i + 1}–{i + 2}", size=12, colour=QUIET)
            sheet.text(32, top + 8, fitting_in(names, 220, 13), size=13)
            said = f"{points.said(gap.gap)} {mark}"
            sheet.text(NARROW, top + 8, said, size=13, side="end", bold=True, colour=colour)
        else:
            sheet.text(0, y, f"{i + 1}–{i + 2}", size=12, colour=QUIET)
            if width_of(names, 13) > 182:
                cut = [fitting_in(short(name), 86, 12) for name in (gap.first, gap.other)]
                sheet.text(34, y, " – ".join(cut), size=12)
            else:
                sheet.text(34, y, names, size=13)
            sheet.text(842, y, points.said(gap.gap), size=13, bold=True)
            sheet.text(884, y, mark, size=13, colour=colour, bold=True)
            sheet.text(902, y, gap_in_words(gap), size=12.5)
        x = _folded(place, gap.gap or 0.0, points)
        if gap.low is not None and gap.high is not None:
            low, high = (_folded(place, max(0.0, end), points) for end in (gap.low, gap.high))
            sheet.line([(low, y), (high, y)], QUIET, 1.2)
        sheet.line([(place.start, y), (x, y)], colour, 4)
        hover = f"{names}: {points.said(gap.gap)} {points.ends(gap.low, gap.high)}"
        sheet.dot(x, y, "var(--paper)" if code == "not_measured" else colour, 4.5, title=hover)
        if code == "not_measured":
            sheet.ring(x, y, 4.5, colour)


# --- the leaderboard ---


def board_figure(audit: BenchmarkAudit, *, narrow: bool = False) -> str:
    """A dot a model with its interval, tied models in a band; beside it the order when asked
    again.
    """
    metric, points = leading(audit), Points.of(audit)
    ordered = order_in(audit, audit.reference)[:_MOST_RESPONDENTS]
    if not ordered:
        return ""
    rows = {who.name: who for who in audit.respondents}
    row = 28.0 if len(ordered) <= 12 else 22.0
    top, slopes = 30.0, orders(audit)
    beside = not narrow and len(slopes) > 1
    height = top + row * len(ordered)
    lower = height + 44 if narrow and len(slopes) > 1 else 0.0
    bottom = lower + row * len(ordered) + 26 if lower else height
    sheet = Drawing(NARROW if narrow else WIDE, bottom + 8)
    longest = max(width_of(short(name), 13) for name in ordered)
    left = 126.0 if narrow else min(max(128.0, 40 + longest), 232.0)
    right = 300.0 if narrow else 524.0 if beside else 900.0
    spans = {name: rows[name].intervals.get(metric) or [None, None] for name in ordered}
    drawn = [end for name in ordered for end in (rows[name].scores.get(metric), *spans[name])]
    known = [end for end in drawn if end is not None]
    if not known:
        return ""
    low, high = min(known) * points.factor, max(known) * points.factor
    more = 0.05 * (high - low) or 1.0
    place = Scale(low - more, high + more, left, right)
    _grid(sheet, place, 4 if narrow else 7, (top - 8, height))
    for group in ties_in_order(audit):
        places = sorted(ordered.index(name) for name in group if name in ordered)
        if places:
            y = top + row * places[0] + 1
            tall = row * (places[-1] - places[0] + 1) - 2
            sheet.boxes([(left - 6, y, right - left + 12, tall)], TIED, 0.6, edge=RULE)
    for i, name in enumerate(ordered):
        y = top + row * (i + 0.5)
        sheet.text(14, y, str(i + 1), size=12, side="end", colour=QUIET)
        room = left - 34
        sheet.text(22, y, fitting_in(short(name), room, 13), size=13, bold=i == 0)
        score = rows[name].scores.get(metric)
        if score is None:
            continue
        start, end = spans[name]
        hover = f"{short(name)}: {points.said(score)} {points.ends(start, end)}"
        if start is not None and end is not None:
            sheet.line(
                [(place(start * points.factor), y), (place(end * points.factor), y)], INK, 1.4
            )
        sheet.dot(place(score * points.factor), y, INK, 4, title=hover)
        end_of_text = NARROW if narrow else right + 48
        sheet.text(end_of_text, y, points.said(score), size=13, side="end", bold=True)
    if beside:
        _slopes(sheet, slopes, ordered, 640, 900, top, row)
    elif lower:
        _slopes(sheet, slopes, ordered, 34, 236, lower, row)
    said = [
        f"{i}. {short(name)} {points.said(rows[name].scores.get(metric))}"
        for i, name in enumerate(ordered, 1)
    ]
    said += [f"{each.title}: {', '.join(map(short, each.names))}" for each in slopes[1:]]
    return sheet.finish(board_title(audit), f"{'; '.join(said)}.")


def _slopes(
    sheet: Drawing,
    columns: Sequence[Order],
    ordered: Sequence[str],
    left: float,
    right: float,
    top: float,
    row: float,
) -> None:
    """The order in each administration, a line a model; who moves three places or more stands
    out.
    """
    across = Scale(0, len(columns) - 1, left, right)
    for i, column in enumerate(columns):
        side: Side = "start" if i == 0 and left < 100 else "middle"
        sheet.text(
            across(i) - (10 if side == "start" else 0),
            top - 20,
            column.title,
            size=12,
            side=side,
            colour=QUIET,
        )
    for name in ordered:
        places = [column.names.index(name) for column in columns]
        far = max(places) - min(places) >= max(3, math.ceil(len(ordered) / 4))
        colour = OF_CODE["look"] if far else QUIET
        spots = [(across(i), top + row * (spot + 0.5)) for i, spot in enumerate(places)]
        for a, b in pairwise(spots):
            sheet.line([a, b], colour, 2.2 if far else 1.1)
        for x, y in spots:
            sheet.dot(x, y, colour, 3.4 if far else 2.8)
        sheet.text(left - 10, spots[0][1], str(places[0] + 1), size=12, side="end", colour=QUIET)
        room = (NARROW if left < 100 else WIDE) - right - 14
        sheet.text(right + 10, spots[-1][1], fitting_in(short(name), room, 13), size=13, bold=far)


# --- several benchmarks ---


def shared_axis(audits: Sequence[BenchmarkAudit]) -> float:
    """The end of one axis in points for the error budgets of several benchmarks."""
    budgets = [(audit, audit.budget[leading(audit)]) for audit in audits if audit.budget]
    return max((axis_end(own, Points.of(audit).factor) for audit, own in budgets), default=1.0)


def budget_strip(title: str, budget: ErrorBudget, points: Points, end: float) -> str:
    """The error budget of one measure as a small picture, its gaps as dots in one lane."""
    shown = [row for row in budget.rows if row.source not in ("blind", "resolution", "judge")]
    shown += [row for row in budget.rows if row.source == "judge" and row.half is not None]
    place = Scale(0, end, 70, 400)
    sheet = Drawing(460, 20 + 17 * (len(shown) + 1))
    _grid(sheet, place, 6, (16, sheet.height), middle=7, size=11)
    for i, row in enumerate(shown):
        y = 26 + 17 * i
        sheet.text(0, y, IN_A_LINE[row.source], size=12, colour=QUIET)
        if row.half is None:
            sheet.boxes([(place.start, y - 4, place.room, 8)], EMPTY)
            continue
        _small_bar(sheet, place, row, y - 5, points)
        sheet.text(460, y, f"±{points.said(row.half)}", size=12, side="end", colour=QUIET)
    y = 26 + 17 * len(shown)
    sheet.text(0, y, "gaps", size=12, colour=QUIET)
    for gap in budget.gaps:
        code, x = gap_code(gap), _folded(place, gap.gap or 0.0, points)
        if code == "not_measured":
            sheet.ring(x, y, 4, QUIET)
        else:
            sheet.dot(x, y, OF_CODE[code], 4.5)
    said = [_row_in_words(row, points) for row in shown if row.half is not None]
    return sheet.finish(f"Error budget of {title}", f"{'; '.join(said)}.")


# --- several measures ---

_LABELS, _LEAST, _BETWEEN = 204.0, 104.0, 16.0
_ROW = 44.0
COEFFICIENTS: Mapping[str, str] = {
    "test_retest.rho_g": "Another seed: reliability",
    "parallel_forms.icc_a1": "Another wording: ICC(A,1)",
    "criterion.pearson": "People: r",
}
"""Indicator -> what its panel is called."""


def measured_sources(measures: Sequence[Measure]) -> list[str]:
    """The sources of error that at least one measure has a band for."""
    budgets = [measure.budget for measure in measures if measure.budget is not None]
    return [
        source
        for source in SOURCES
        if source != "blind" and any(own.row(source).half is not None for own in budgets)
    ]


def _panels(ends: Mapping[str, float], left: float) -> dict[str, Scale]:
    """One scale for all panels: each is as wide as what it shows, and as its numbers need."""
    room = WIDE - 10 - left - _BETWEEN * (len(ends) - 1)
    wide = dict(ends)
    unit = 1.0
    while wide:
        unit = (room - _LEAST * (len(ends) - len(wide))) / (sum(wide.values()) or 1.0)
        narrow = [name for name, end in wide.items() if end * unit < _LEAST]
        if not narrow:
            break
        for name in narrow:
            del wide[name]
    panels = {}
    for name, end in ends.items():
        width = max(end * unit, _LEAST)
        panels[name] = Scale(0, width / unit, left, left + width)
        left += width + _BETWEEN
    return panels


def measures_figure(measures: Sequence[Measure], title: str) -> str:
    """The error budgets of several measures as small multiples, in points on one scale."""
    points = {m.label: Points.of_scores([*m.scores.values()]) for m in measures}
    rows = {
        source: {
            m.label: m.budget.row(source) if m.budget else BudgetRow(source="seed")
            for m in measures
        }
        for source in measured_sources(measures)
    }
    ends = {
        source: max(
            1.08 * points[label].factor * max(row.half or 0.0, abs(row.shift or 0.0))
            for label, row in own.items()
        )
        for source, own in rows.items()
    }
    panels = _panels(ends, _LABELS)
    sheet = _rows_of(measures)
    said = []
    for source, place in panels.items():
        sheet.text(place.start, 8, SOURCES[source][0], size=13, bold=True)
        _grid(
            sheet, place, max(2, int(place.room / 42)), (34, sheet.height - 4), middle=27, size=11
        )
        for i, (label, row) in enumerate(rows[source].items()):
            numbers = _with_numbers(sheet, place, row, 48 + _ROW * i, points[label])
            said.append(f"{label}, {IN_A_LINE[source]}: {numbers}")
    return sheet.finish(title, f"{'; '.join(said)}.")


def _rows_of(measures: Sequence[Measure]) -> Drawing:
    """An empty sheet with a named row for each measure."""
    sheet = Drawing(WIDE, 46 + _ROW * len(measures))
    for i, measure in enumerate(measures):
        y = 42 + _ROW * i
        name, about = measure.label, measure.title
        if name.startswith(about):
            name, about = about, name.removeprefix(about).strip() or measure.metric
        about = f"{about} · {len(measure.scores)} models"
        sheet.line([(0, y), (WIDE, y)], GRID)
        sheet.text(0, y + 13, fitting_in(name, _LABELS - 14, 13), size=13, bold=True)
        sheet.text(0, y + 30, fitting_in(about, _LABELS - 14, 12), size=12, colour=QUIET)
    return sheet


def _with_numbers(sheet: Drawing, place: Scale, row: BudgetRow, top: float, points: Points) -> str:
    """A bar with its shift and the numbers beneath; return the numbers."""
    if row.half is None and row.shift is None:
        sheet.boxes([(place.start, top, place.room, 10)], EMPTY)
        sheet.text(place.start, top + 24, "not measured", size=11.5, colour=QUIET)
        return "not measured"
    _small_bar(sheet, place, row, top, points)
    numbers = _numbers(row, points)
    sheet.text(place.start, top + 24, numbers, size=11.5)
    return numbers


def coefficients_figure(measures: Sequence[Measure], title: str) -> str:
    """The coefficients of several measures as small multiples, from 0 to 1."""
    shown = {
        indicator: name
        for indicator, name in COEFFICIENTS.items()
        if any((e := m.estimate(indicator)) and e.value is not None for m in measures)
    }
    if not shown:
        return ""
    sheet = _rows_of(measures)
    room = (WIDE - _LABELS) / len(shown)
    said = []
    for k, (indicator, name) in enumerate(shown.items()):
        left = _LABELS + room * k
        place = Scale(0, 1, left, left + min(room - 150, 220))
        sheet.text(left, 8, name, size=13, bold=True)
        _grid(
            sheet, place, max(2, int(place.room / 42)), (34, sheet.height - 4), middle=27, size=11
        )
        for i, measure in enumerate(measures):
            estimate = measure.estimate(indicator)
            y = 42 + _ROW * (i + 0.5)
            if estimate is None or estimate.value is None:
                sheet.boxes([(left, y - 5, place.room, 10)], EMPTY)
                text = "not measured"
            else:
                text = _whisker(sheet, place, estimate, y)
            sheet.text(place.end + 10, y, text, size=11.5, colour=QUIET)
            said.append(f"{measure.label}, {name}: {text}")
    return sheet.finish(title, f"{'; '.join(said)}.")


def _whisker(sheet: Drawing, place: Scale, estimate: Estimate, y: float) -> str:
    """A coefficient with its interval for other models, or for these (*); return its text."""
    others = estimate.interval("model_population")
    span = others or estimate.interval("fixed_models") or estimate.interval("items")
    if span is not None:
        ends = [place(min(max(end, 0.0), 1.0)) for end in (span.low, span.high)]
        sheet.line([(ends[0], y), (ends[1], y)], QUIET, 1.6)
    text = coefficient(estimate, "model_population").text
    sheet.dot(place(min(max(estimate.value or 0.0, 0.0), 1.0)), y, INK, 4, title=text)
    return text if others or span is None else f"{text}*"
