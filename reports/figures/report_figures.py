"""The figures of the report: the error budget with the gaps of the leaderboard, and the leaderboard
with its orders. Each is drawn for a wide and for a narrow page.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from hqm.reports.figures.drawings import Drawing, Scale, Side, ticks, truncate_to_width, width_of
from hqm.reports.figures.figure_data import BoardRow, board_rows
from hqm.reports.pages.error_picture import (
    IDENTICAL,
    SOURCE_SHORT_NAMES,
    SOURCES,
    ErrorPicture,
    GapMark,
    MeasuresPicture,
)
from hqm.reports.pages.leaderboard_sentences import (
    OUTCOME_SYMBOLS,
    OUTCOME_WORDS,
    board_title,
    contrasts_of,
)
from hqm.reports.pages.phrases import coefficient
from hqm.reports.pages.sentences import STATUS_SYMBOLS, how_to_measure
from hqm.reports.tables.score_tables import Order, orders
from hqm.reports.tables.table import (
    goal,
    leading_metric,
    number,
    short_name,
    target_clause,
)

from hqm import BenchmarkAudit, ErrorBudget, Estimate, Policy
from hqm.auditing.budget import BudgetRow
from hqm.auditing.score_points import Points
from hqm.indicators.separation import Neighbours

if TYPE_CHECKING:
    from hqm.comparison.measures import Measure

INK = "var(--ink)"
QUIET = "var(--quiet)"
GRID = "var(--grid)"
RULE = "var(--rule)"
BAR = "var(--bar)"
DOT = "var(--dot)"
EMPTY = "var(--empty)"
STATUS_COLOURS: Mapping[str, str] = {
    "fine": "var(--fine)",
    "look": "var(--look)",
    "wrong": "var(--wrong)",
    "not_shown": "var(--none)",
    "not_measured": "var(--none)",
}
WIDE = 1080.0
NARROW = 344.0
MAX_GAPS = 9
"""Gaps of a longer leaderboard are shown of its first places."""
_FIRST_GAPS = 5


@dataclass(frozen=True, slots=True)
class _Layout:
    """The measures of the error budget and of the leaderboard for one width of the page."""

    width: float
    budget_axis: tuple[float, float]
    budget_ticks: int
    row_height: int
    gap_height: int
    missing_height: int
    """What a source that was not measured takes; a narrow page leaves it out."""
    bar_top: int
    line_top: int
    """Where the line from a bar's end down to the gaps begins."""
    gap_middle: int
    board_ticks: int
    board_number_x: float
    """The right edge of the scores on the leaderboard."""
    slopes: tuple[float, float]


# positions and sizes are pixels of the sheet at full size
_WIDE_LAYOUT = _Layout(
    width=WIDE,
    budget_axis=(224, 814),
    budget_ticks=8,
    row_height=39,
    gap_height=20,
    missing_height=20,
    bar_top=8,
    line_top=14,
    gap_middle=8,
    board_ticks=7,
    board_number_x=WIDE,
    slopes=(640, 900),
)
_NARROW_LAYOUT = _Layout(
    width=NARROW,
    budget_axis=(0, NARROW - 8),
    budget_ticks=4,
    row_height=54,
    gap_height=30,
    missing_height=0,
    bar_top=20,
    line_top=26,
    gap_middle=21,
    board_ticks=4,
    board_number_x=NARROW,
    slopes=(34, 236),
)
_LAYOUTS = {False: _WIDE_LAYOUT, True: _NARROW_LAYOUT}
"""Whether the page is narrow -> its layout."""
_GAP_SYMBOLS = {"not_measured": "○"}


# the colour, the width and the radius of the points of a model's line through the administrations
_SLOPE = (QUIET, 1.1, 2.8)
_FAR_SLOPE = (STATUS_COLOURS["look"], 2.2, 3.4)


def _draw_grid(
    drawing: Drawing,
    axis: Scale,
    max_ticks: int,
    lines: tuple[float, float],
    *,
    middle: float = 10,
    unit: str = "",
) -> None:
    """Draw round numbers on an axis, at most `max_ticks`, each with a line downwards; 0 has the
    unit.

    `lines` are the ends of the lines, and `middle` is the height of the numbers.
    """
    marks, decimals = ticks(axis.low, axis.high, max_ticks)
    for mark in marks:
        x = axis(mark)
        side: Side = "middle" if x else "start"  # at the edge of the sheet
        label = f"0 {unit}" if unit and mark == 0 else number(mark, decimals)
        drawing.line([(x, lines[0]), (x, lines[1])], GRID)
        drawing.text(x, middle, label, side=side, size=12, colour=QUIET)


def _position_of(axis: Scale, value: float, points: Points) -> float:
    """The position of a difference of scores on an axis in points, with its sign; a value beyond
    the axis is drawn at its end.
    """
    return max(axis.start, min(axis(value * points.factor), axis.end))


def _ends(axis: Scale, low: float, high: float, points: Points) -> tuple[float, float]:
    """The positions of the ends of a bar or an interval."""
    return _position_of(axis, low, points), _position_of(axis, high, points)


def _draw_bar(
    drawing: Drawing,
    axis: Scale,
    half: float,
    points: Points,
    top: float,
    height: float = 10,
    title: str = "",
) -> None:
    """A bar to both sides of 0, with a stroke at each end."""
    left, right = _ends(axis, -half, half, points)
    drawing.boxes([(left, top, right - left, height)], BAR, title=title)
    for end in (left, right):
        drawing.line([(end, top), (end, top + height)], INK, 2)


def _draw_small_bar(
    drawing: Drawing, axis: Scale, row: BudgetRow, top: float, points: Points
) -> None:
    """A bar with the shift of all models."""
    if row.half is not None:
        _draw_bar(drawing, axis, row.half, points, top)
    if row.shift is not None and row.source not in ("items", "metric"):
        drawing.diamond(
            _position_of(axis, row.shift, points), top + 5, 4, INK, filled=row.excludes_zero
        )


def count_shown_gaps(budget: ErrorBudget) -> int:
    """How many gaps the error budget shows."""
    if len(budget.gaps) <= MAX_GAPS:
        return len(budget.gaps)
    return _FIRST_GAPS


def _magnitudes(*values: float | None) -> list[float]:
    """The sizes of the values that are known, signs left out."""
    return [abs(value) for value in values if value is not None]


def axis_end(budget: ErrorBudget, factor: float) -> float:
    """The end of the axis, in points: beyond every bar, shift and gap on it."""
    gaps = [gap.gap or 0.0 for gap in budget.gaps[: count_shown_gaps(budget)]]
    extents = [0.0, *gaps]
    other_extents = list(gaps)
    own_bands = [0.0]
    for row in budget.rows:
        extents += _magnitudes(row.half, row.shift, row.low, row.high)
        if row.source not in ("seed", "items"):
            extents += [abs((move or 0.0) - (row.shift or 0.0)) for move in row.moves.values()]
        if row.source != "blind":
            other_extents += _magnitudes(row.half, row.high, row.low)
    # Rows are in the order of the sources, of which the first two are seeds and items: their moves
    # are bands of their own, and no shifts.
    for row in budget.rows[:2]:
        own_bands += [move or 0.0 for move in row.moves.values()]
    # one very unsteady model does not make all bars short
    extents.append(min(max(own_bands), 1.3 * max(extents)))
    # the drop without the picture may be ten times as large as any error: its arrow ends the axis
    blind = budget.row("blind")
    n_others = sum(row.source != "blind" for row in budget.rows)
    if blind.shift is not None and n_others > 1:
        return 1.06 * factor * max(other_extents, default=abs(blind.shift))
    return 1.06 * factor * max(extents)


def budget_figure(audit: BenchmarkAudit, budget: ErrorBudget, *, narrow: bool = False) -> str:
    """Every source of error as a bar from zero, in points; below, the gaps of the leaderboard."""
    picture = ErrorPicture.of_audit(audit, budget)
    points = picture.points
    rows = picture.rows
    end = axis_end(budget, points.factor) or 1.0
    layout = _LAYOUTS[narrow]
    axis = Scale(-end, end, *layout.budget_axis)
    unmeasured = budget.unmeasured
    gaps = picture.gaps[: count_shown_gaps(budget)]
    height = 30 + layout.row_height * len(rows) + layout.missing_height * len(unmeasured)
    gaps_top = height + 12
    if gaps:
        height = gaps_top + 34 + layout.gap_height * len(gaps)
    drawing = Drawing(layout.width, height + 6)
    _draw_grid(drawing, axis, layout.budget_ticks, (24, height), unit="points")
    if not narrow:
        drawing.text(0, 10, "Only this changes", size=12, bold=True)
        drawing.text(842, 10, "one model", size=12, bold=True)
        drawing.text(934, 10, "all models together", size=12, bold=True)
    bars = []
    for i, row in enumerate(rows):
        top = 30 + layout.row_height * i
        _draw_source(drawing, axis, row, top, points)
        if row.half is not None and row.source != "items":
            bars.append((axis(row.half * points.factor), top + layout.line_top))
    if not narrow:
        for i, row in enumerate(unmeasured):
            y = 40 + layout.row_height * len(rows) + layout.missing_height * i
            _draw_missing_source(drawing, axis, row, y, how_to_measure(audit, row.source))
    if gaps:
        for x, top in bars:
            drawing.line([(x, top), (x, height)], QUIET, 1, "2 3")
        _draw_gaps(drawing, axis, gaps, gaps_top, points)
    descriptions = [_row_in_words(row, points) for row in rows]
    for mark in picture.gaps:
        pair = f"{short_name(mark.gap.first)} to {short_name(mark.gap.other)}"
        descriptions.append(f"gap {pair} {points.format(mark.gap.gap)}, {mark.words}")
    return drawing.finish(picture.title, f"{'; '.join(descriptions)}.")


def _draw_missing_source(
    drawing: Drawing, axis: Scale, row: BudgetRow, y: float, instruction: str
) -> None:
    """A source that was not measured, with what would measure it."""
    drawing.text(0, y, SOURCES[row.source][0], size=13, colour=QUIET)
    drawing.boxes([(axis.start, y - 4, axis.room, 8)], EMPTY)
    drawing.text(842, y, "not measured", size=12, colour=QUIET)
    drawing.text(934, y, instruction, size=12, colour=QUIET, mono=instruction.startswith("-"))


def _draw_source(drawing: Drawing, axis: Scale, row: BudgetRow, top: float, points: Points) -> None:
    """A measured source: its bar with what single models do, and below it the shift of all."""
    narrow = drawing.width == NARROW
    name, detail = SOURCES[row.source]
    if row.source == "metric" and row.other:
        detail = f"{row.other[0]}, {detail}"
    if row.source == "people":
        detail = f"from {row.answers:,} labelled answers"
    bar = top + _LAYOUTS[narrow].bar_top
    if narrow:
        drawing.text(0, top + 8, name, size=13, bold=True)
        drawing.text(NARROW, top + 8, _row_numbers(row, points), side="end", size=12)
    else:
        drawing.text(0, top + 10, name, size=13, bold=True)
        drawing.text(0, top + 26, truncate_to_width(detail, 212, 12), size=12, colour=QUIET)
    if row.is_identical:
        drawing.dot(axis(0), bar + 6, DOT, 2.6, title=f"{name}: {IDENTICAL}")
        if not narrow:
            drawing.text(842, top + 14, IDENTICAL, size=13)
        return
    if row.half is not None:
        if row.any_wording is not None and len(row.other) == 1 and row.any_wording > row.half:
            left, right = _ends(axis, -row.any_wording, row.any_wording, points)
            drawing.boxes([(left, bar + 3, right - left, 6)], EMPTY)
        hover = f"{name}: 95% of the shifts of one model are below {points.format(row.half)} points"
        _draw_bar(drawing, axis, row.half, points, bar, 12, hover)
    _draw_moves(drawing, axis, row, bar + 6, points)
    _draw_shift(drawing, axis, row, bar, points)
    if not narrow:
        _write_source_numbers(drawing, row, top + 14, points)


def _draw_moves(drawing: Drawing, axis: Scale, row: BudgetRow, y: float, points: Points) -> None:
    """What single models do: a dot each, or the range of their own bands."""
    moves = [move for move in row.moves.values() if move is not None]
    if row.source in ("seed", "items") and moves:
        low, high = _ends(axis, min(moves), max(moves), points)
        hover = f"{SOURCES[row.source][0]}: range across models"
        drawing.whisker(low, high, y, QUIET, title=hover)
    elif row.source != "blind":
        for model, move in row.moves.items():
            # A dot shows how far a model moves from what all do together; its tooltip has the whole
            # move.
            deviation = (move or 0.0) - (row.shift or 0.0)
            hover = f"{short_name(model)}: {points.format(move, sign=True)} points"
            drawing.dot(_position_of(axis, deviation, points), y, DOT, 2.6, title=hover)


def _write_source_numbers(drawing: Drawing, row: BudgetRow, y: float, points: Points) -> None:
    """The numbers of a source, to the right on a wide page."""
    if row.half is not None:
        drawing.text(842, y, f"±{points.format(row.half)}", size=14, bold=True)
    elif row.source != "blind":
        drawing.text(842, y, f"{row.respondents} models", size=12, colour=QUIET)
    if not row.compares_levels:
        drawing.text(934, y, "not comparable", size=12, colour=QUIET)
    elif row.source == "items":
        drawing.text(934, y, f"±{points.format(row.high)}", size=13)
    elif row.shift is not None:
        drawing.text(934, y, points.format(row.shift, sign=True), size=13, bold=row.excludes_zero)
        interval = points.format_interval(row.low, row.high)
        # The caption explains the degree sign as an interval for other models.
        mark = "°" if row.inference == "model_population" else ""
        drawing.text(980, y, f"{interval}{mark}", size=12, colour=QUIET)


def _draw_shift(drawing: Drawing, axis: Scale, row: BudgetRow, bar: float, points: Points) -> None:
    """The shift of the mean in its own lane: to the left where scores fall."""
    y = bar + 20
    if row.low is not None and row.high is not None:
        low, high = _ends(axis, row.low, row.high, points)
        drawing.whisker(low, high, y, QUIET if row.source == "items" else INK)
    if row.shift is None or row.source == "items":
        return
    middle = _position_of(axis, row.shift, points)
    if row.source == "blind":
        tip = 8 if row.shift > 0 else -8
        drawing.line([(axis(0), bar + 6), (middle, bar + 6)], DOT, 2)
        drawing.area([(middle, bar + 1), (middle + tip, bar + 6), (middle, bar + 11)], DOT, 1)
        return
    drawing.diamond(middle, y, 5, INK, filled=row.excludes_zero)


def _row_numbers(row: BudgetRow, points: Points) -> str:
    """The numbers of a row on a narrow page."""
    if row.is_identical:
        return IDENTICAL
    half = f"±{points.format(row.half)}" if row.half is not None else ""
    if row.source in ("metric", "items") or row.shift is None:
        return half
    mean = f"mean {points.format(row.shift, sign=True)}"
    if half:
        return f"{half}, {mean}"
    return mean


def _row_in_words(row: BudgetRow, points: Points) -> str:
    words = SOURCES[row.source][0]
    if row.is_identical:
        return f"{words}: {IDENTICAL}"
    if row.half is not None:
        words += f" plus or minus {points.format(row.half)}"
    if row.shift is not None and row.source not in ("items", "metric"):
        words += f", all together {points.format(row.shift, sign=True)}"
        words += f" {points.format_interval(row.low, row.high)}{target_clause(row.inference)}"
    return words


def _draw_gaps(
    drawing: Drawing, axis: Scale, gaps: Sequence[GapMark], section_top: float, points: Points
) -> None:
    """The gaps between neighbours of the leaderboard, each a line from zero with its interval."""
    narrow = drawing.width == NARROW
    layout = _LAYOUTS[narrow]
    drawing.line([(0, section_top), (drawing.width, section_top)], RULE)
    drawing.text(0, section_top + 17, "Gaps on the leaderboard", size=13, bold=True)
    if not narrow:
        hint = "dotted: bar ends · whisker: new items"
        drawing.text(842, section_top + 17, hint, size=12, colour=QUIET)
    for i, mark in enumerate(gaps):
        top = section_top + 32 + layout.gap_height * i
        y = top + layout.gap_middle
        ranks = f"{i + 1}–{i + 2}"
        if narrow:
            _write_narrow_gap(drawing, mark, ranks, top + 8, points)
        else:
            _write_wide_gap(drawing, mark, ranks, y, points)
        _draw_gap_line(drawing, axis, mark, y, points)


def _gap_symbol(mark: GapMark) -> tuple[str, str]:
    """The symbol and the colour of a gap; one that is above no measured error is a ring."""
    return _GAP_SYMBOLS.get(mark.code, STATUS_SYMBOLS[mark.code]), STATUS_COLOURS[mark.code]


def _write_narrow_gap(
    drawing: Drawing, mark: GapMark, ranks: str, y: float, points: Points
) -> None:
    gap = mark.gap
    symbol, colour = _gap_symbol(mark)
    names = f"{short_name(gap.first)} – {short_name(gap.other)}"
    drawing.text(0, y, ranks, size=12, colour=QUIET)
    drawing.text(32, y, truncate_to_width(names, 220, 13), size=13)
    label = f"{points.format(gap.gap)} {symbol}"
    drawing.text(NARROW, y, label, size=13, side="end", bold=True, colour=colour)


def _write_wide_gap(drawing: Drawing, mark: GapMark, ranks: str, y: float, points: Points) -> None:
    gap = mark.gap
    symbol, colour = _gap_symbol(mark)
    first = short_name(gap.first)
    second = short_name(gap.other)
    drawing.text(0, y, ranks, size=12, colour=QUIET)
    size = 13
    # Both names are cut alike, so that neither pushes the other out.
    if width_of(f"{first} – {second}", 13) > 182:
        first = truncate_to_width(first, 86, 12)
        second = truncate_to_width(second, 86, 12)
        size = 12
    drawing.text(34, y, f"{first} – {second}", size=size)
    drawing.text(842, y, points.format(gap.gap), size=13, bold=True)
    drawing.text(884, y, symbol, size=13, colour=colour, bold=True)
    drawing.text(902, y, mark.words, size=12.5)


def _draw_gap_line(drawing: Drawing, axis: Scale, mark: GapMark, y: float, points: Points) -> None:
    """A gap as a line from zero with its interval, and a point at its end."""
    gap = mark.gap
    _, colour = _gap_symbol(mark)
    x = _position_of(axis, gap.gap or 0.0, points)
    if gap.low is not None and gap.high is not None:
        low, high = _ends(axis, gap.low, gap.high, points)
        drawing.line([(low, y), (high, y)], QUIET, 1.2)
    drawing.line([(axis(0), y), (x, y)], colour, 4)
    names = f"{short_name(gap.first)} – {short_name(gap.other)}"
    hover = f"{names}: {points.format(gap.gap)} {points.format_interval(gap.low, gap.high)}"
    if mark.code != "not_measured":
        drawing.dot(x, y, colour, 4.5, title=hover)
        return
    drawing.dot(x, y, "var(--paper)", 4.5, title=hover)
    drawing.ring(x, y, 4.5, colour)


# --- the leaderboard ---


@dataclass(frozen=True, slots=True)
class _Board:
    """A leaderboard that is being drawn: a row a model, on one axis of scores."""

    drawing: Drawing
    axis: Scale
    points: Points
    ordered: Sequence[str]
    top: float
    row_height: float

    def position(self, score: float) -> float:
        """Where a score stands on the axis."""
        return self.axis(score * self.points.factor)

    def draw_contrasts(self, contrasts: Sequence[Neighbours]) -> None:
        """Between two neighbours a line where they differ, and else a sign."""
        for index, neighbours in enumerate(contrasts, 1):
            y = self.top + self.row_height * index
            if neighbours.outcome == "differ":
                self.drawing.line([(0, y), (self.axis.end + 6, y)], INK, 1.2)
                continue
            symbol = OUTCOME_SYMBOLS[neighbours.outcome]
            self.drawing.text(self.axis.start - 10, y, symbol, size=12, colour=QUIET)

    def draw_model(self, index: int, row: BoardRow, number_x: float) -> None:
        """A model's rank, name and score, with the interval of its score."""
        drawing = self.drawing
        y = self.top + self.row_height * (index + 0.5)
        name = short_name(row.name)
        label = truncate_to_width(name, self.axis.start - 34, 13)
        drawing.text(14, y, str(index + 1), size=12, side="end", colour=QUIET)
        drawing.text(22, y, label, size=13, bold=index == 0)
        if row.score is None:
            return
        span = ""
        if row.low is not None and row.high is not None:
            drawing.line([(self.position(row.low), y), (self.position(row.high), y)], INK, 1.4)
            span = self.points.format_interval(row.low, row.high)
        number = self.points.format(row.score)
        drawing.dot(self.position(row.score), y, INK, 4, title=f"{name}: {number} {span}")
        drawing.text(number_x, y, number, size=13, side="end", bold=True)


def _board_columns(
    ordered: Sequence[str], *, narrow: bool, has_slopes: bool
) -> tuple[float, float]:
    """Where the axis of a leaderboard begins and ends, beside the names and before the slopes."""
    if narrow:
        return 126.0, 300.0
    widest_name = max(width_of(short_name(name), 13) for name in ordered)
    left = min(max(128.0, 40 + widest_name), 232.0)
    if has_slopes:
        return (left, 524.0)
    return (left, 900.0)


def board_figure(
    audit: BenchmarkAudit, policy: Policy | None = None, *, narrow: bool = False
) -> str:
    """A dot a model with its interval, a line between neighbours that differ; beside it the order
    when asked again.
    """
    points = Points.for_metric(audit)
    rows = board_rows(audit)
    ordered = [row.name for row in rows]
    values: list[float] = []
    for row in rows:
        values += [end for end in (row.score, row.low, row.high) if end is not None]
    if not values:
        return ""
    slopes = orders(audit)
    has_slopes = len(slopes) > 1
    top = 30.0
    # the rows of a long leaderboard are lower
    row_height = 28.0 if len(ordered) <= 12 else 22.0
    height = top + row_height * len(ordered)
    slopes_top = top
    bottom = height
    # A narrow page has no room beside the board: the slopes stand below it.
    if narrow and has_slopes:
        slopes_top = height + 44
        bottom = slopes_top + row_height * len(ordered) + 26
    layout = _LAYOUTS[narrow]
    drawing = Drawing(layout.width, bottom + 8)
    left, right = _board_columns(ordered, narrow=narrow, has_slopes=has_slopes)
    low = min(values) * points.factor
    high = max(values) * points.factor
    # Equal scores would make an axis of no length.
    margin = 0.05 * (high - low) or 1.0
    axis = Scale(low - margin, high + margin, left, right)
    _draw_grid(drawing, axis, layout.board_ticks, (top - 8, height))
    board = _Board(drawing, axis, points, ordered, top, row_height)
    contrasts = contrasts_of(audit, policy)[: len(ordered) - 1]
    board.draw_contrasts(contrasts)
    for i, row in enumerate(rows):
        board.draw_model(i, row, min(right + 48, layout.board_number_x))
    if has_slopes:
        slope_left, slope_right = layout.slopes
        _draw_slopes(drawing, slopes, ordered, slope_left, slope_right, slopes_top, row_height)
    descriptions = [
        f"{i}. {short_name(row.name)} {points.format(row.score)}" for i, row in enumerate(rows, 1)
    ]
    for neighbours in contrasts:
        pair = f"{short_name(neighbours.first)} and {short_name(neighbours.second)}"
        descriptions.append(f"{pair} {OUTCOME_WORDS[neighbours.outcome]}")
    descriptions += [
        f"{order.title}: {', '.join(map(short_name, order.names))}" for order in slopes[1:]
    ]
    return drawing.finish(board_title(audit, policy), f"{'; '.join(descriptions)}.")


def _draw_slopes(
    drawing: Drawing,
    columns: Sequence[Order],
    ordered: Sequence[str],
    left: float,
    right: float,
    top: float,
    row_height: float,
) -> None:
    """The order in each administration, a line a model; a model that moves three places or more is
    drawn thicker.
    """
    x_scale = Scale(0, len(columns) - 1, left, right)
    for i, column in enumerate(columns):
        x = x_scale(i)
        side: Side = "middle"
        if i == 0 and left < 100:  # at the edge of a narrow sheet
            x -= 10
            side = "start"
        drawing.text(x, top - 20, column.title, size=12, side=side, colour=QUIET)
    room = drawing.width - right - 14
    for name in ordered:
        positions = [column.names.index(name) for column in columns]
        # Among few models three places; among many a quarter of the board.
        moves_far = max(positions) - min(positions) >= max(3, math.ceil(len(ordered) / 4))
        colour, width, radius = _FAR_SLOPE if moves_far else _SLOPE
        points = []
        for i, position in enumerate(positions):
            points.append((x_scale(i), top + row_height * (position + 0.5)))
        for a, b in pairwise(points):
            drawing.line([a, b], colour, width)
        for x, y in points:
            drawing.dot(x, y, colour, radius)
        rank = str(positions[0] + 1)
        label = truncate_to_width(short_name(name), room, 13)
        drawing.text(left - 10, points[0][1], rank, size=12, side="end", colour=QUIET)
        drawing.text(right + 10, points[-1][1], label, size=13, bold=moves_far)


# --- several benchmarks ---

_STRIP_WIDTH = 340.0
"""Pages show a strip at this width, so that its letters have their 12 pixels."""


def shared_axis(audits: Sequence[BenchmarkAudit]) -> float:
    """The end of one axis in points for the error budgets of several benchmarks."""
    ends = []
    for audit in audits:
        if audit.budget:
            budget = audit.budget[leading_metric(audit)]
            ends.append(axis_end(budget, Points.for_metric(audit).factor))
    return max(ends, default=1.0)


def budget_strip(title: str, budget: ErrorBudget, points: Points, end: float) -> str:
    """The error budget of one measure as a small picture, its gaps as dots in one lane."""
    # the drop without the picture is no error of the scores, and few measure all the others
    rows = [row for row in budget.rows if row.source not in ("blind", "resolution", "judge")]
    seldom = (row for row in budget.rows if row.source in ("resolution", "judge"))
    rows.extend(row for row in seldom if row.half is not None)
    axis = Scale(-end, end, 76, _STRIP_WIDTH - 44)
    drawing = Drawing(_STRIP_WIDTH, 20 + 17 * (len(rows) + 1))
    _draw_grid(drawing, axis, 5, (16, drawing.height), middle=7)
    for i, row in enumerate(rows):
        y = 26 + 17 * i
        drawing.text(0, y, SOURCE_SHORT_NAMES[row.source], size=12, colour=QUIET)
        if row.half is None:
            drawing.boxes([(axis.start, y - 4, axis.room, 8)], EMPTY)
            continue
        _draw_small_bar(drawing, axis, row, y - 5, points)
        half = "same" if row.is_identical else f"±{points.format(row.half)}"
        drawing.text(_STRIP_WIDTH, y, half, size=12, side="end", colour=QUIET)
    y = 26 + 17 * len(rows)
    drawing.text(0, y, "gaps", size=12, colour=QUIET)
    for mark in ErrorPicture.of_budget(budget, points).gaps:
        x = _position_of(axis, mark.gap.gap or 0.0, points)
        if mark.code == "not_measured":
            drawing.ring(x, y, 4, QUIET)
        else:
            drawing.dot(x, y, STATUS_COLOURS[mark.code], 4.5)
    descriptions = [_row_in_words(row, points) for row in rows if row.half is not None]
    return drawing.finish(f"Error budget of {title}", f"{'; '.join(descriptions)}.")


# --- several measures ---

_LABEL_WIDTH = 204.0
_MIN_PANEL_WIDTH = 104.0
_PANEL_GAP = 16.0
_ROW_HEIGHT = 44.0
COEFFICIENTS: Mapping[str, str] = {
    "test_retest.rho_g": "Another seed: reliability",
    "parallel_forms.icc_a1": "Another wording: ICC(A,1)",
    "criterion.pearson": "People: r",
}
"""Indicator -> what its panel is called."""


def _panels(extents: Mapping[str, float], left: float) -> dict[str, Scale]:
    """One scale for all panels: each is as wide as what it shows, and as its numbers need."""
    available = WIDE - 10 - left - _PANEL_GAP * (len(extents) - 1)
    # a panel below the minimum width is given it, and the others share the room that is left
    flexible = dict(extents)
    unit = 1.0
    while flexible:
        # Pixels a point: one unit for all panels is what makes their bars comparable.
        unit = (available - _MIN_PANEL_WIDTH * (len(extents) - len(flexible))) / (
            sum(flexible.values()) or 1.0
        )
        narrow = [name for name, end in flexible.items() if end * unit < _MIN_PANEL_WIDTH]
        if not narrow:
            break
        for name in narrow:
            del flexible[name]
    panels = {}
    for name, end in extents.items():
        width = max(end * unit, _MIN_PANEL_WIDTH)
        panels[name] = Scale(-width / unit / 2, width / unit / 2, left, left + width)
        left += width + _PANEL_GAP
    return panels


def measures_figure(measures: Sequence[Measure], picture: MeasuresPicture) -> str:
    """The error budgets of several measures as small multiples, in points on one scale."""
    points = {drawn.measure: drawn.points for drawn in picture.pictures}
    rows: dict[str, dict[str, BudgetRow]] = {}
    extents = {}
    for source in picture.sources:
        rows[source] = {}
        extents[source] = 0.0
        for m in measures:
            # A row of no numbers stands for a measure without a budget, and is drawn as not
            # measured.
            row = m.budget.row(source) if m.budget else BudgetRow(source="seed")
            # 8% beyond the longest bar, so that no bar ends at the edge of its panel
            extent = 1.08 * points[m.label].factor * max(row.half or 0.0, abs(row.shift or 0.0))
            rows[source][m.label] = row
            extents[source] = max(extents[source], 2 * extent)
    panels = _panels(extents, _LABEL_WIDTH)
    drawing = _measure_rows(measures)
    descriptions = []
    for source, axis in panels.items():
        drawing.text(axis.start, 8, SOURCES[source][0], size=13, bold=True)
        _draw_panel_grid(drawing, axis)
        for i, (label, row) in enumerate(rows[source].items()):
            numbers = _draw_numbered_bar(drawing, axis, row, 48 + _ROW_HEIGHT * i, points[label])
            descriptions.append(f"{label}, {SOURCE_SHORT_NAMES[source]}: {numbers}")
    return drawing.finish(picture.title, f"{'; '.join(descriptions)}.")


def _draw_panel_grid(drawing: Drawing, axis: Scale) -> None:
    """The grid of one panel among several."""
    max_ticks = max(2, int(axis.room / 42))
    _draw_grid(drawing, axis, max_ticks, (34, drawing.height - 4), middle=27)


def _measure_rows(measures: Sequence[Measure]) -> Drawing:
    """An empty sheet with a named row for each measure."""
    drawing = Drawing(WIDE, 46 + _ROW_HEIGHT * len(measures))
    for i, measure in enumerate(measures):
        y = 42 + _ROW_HEIGHT * i
        name = measure.label
        subtitle = measure.title
        # A label is the title with the metric behind it where a benchmark has several; the two then
        # stand on two lines.
        if measure.label.startswith(measure.title):
            name = measure.title
            subtitle = measure.label.removeprefix(name).strip() or measure.metric
        subtitle = f"{subtitle} · {len(measure.scores)} models"
        drawing.line([(0, y), (WIDE, y)], GRID)
        drawing.text(0, y + 13, truncate_to_width(name, _LABEL_WIDTH - 14, 13), size=13, bold=True)
        drawing.text(
            0, y + 30, truncate_to_width(subtitle, _LABEL_WIDTH - 14, 12), size=12, colour=QUIET
        )
    return drawing


def _draw_numbered_bar(
    drawing: Drawing, axis: Scale, row: BudgetRow, top: float, points: Points
) -> str:
    """A bar with its shift and the numbers beneath; return the numbers."""
    if row.half is None and row.shift is None:
        drawing.boxes([(axis.start, top, axis.room, 10)], EMPTY)
        drawing.text(axis.start, top + 24, "not measured", size=12, colour=QUIET)
        return "not measured"
    _draw_small_bar(drawing, axis, row, top, points)
    numbers = _row_numbers(row, points)
    drawing.text(axis.start, top + 24, numbers, size=12)
    return numbers


def coefficients_figure(measures: Sequence[Measure], title: str) -> str:
    """The coefficients of several measures as small multiples, from 0 to 1."""
    panels = {}
    for indicator, name in COEFFICIENTS.items():
        estimates = [measure.estimate(indicator) for measure in measures]
        if any(estimate is not None and estimate.value is not None for estimate in estimates):
            panels[indicator] = name
    if not panels:
        return ""
    drawing = _measure_rows(measures)
    room = (WIDE - _LABEL_WIDTH) / len(panels)
    descriptions = []
    for k, (indicator, name) in enumerate(panels.items()):
        left = _LABEL_WIDTH + room * k
        axis = Scale(0, 1, left, left + min(room - 150, 220))
        drawing.text(left, 8, name, size=13, bold=True)
        _draw_panel_grid(drawing, axis)
        for i, measure in enumerate(measures):
            estimate = measure.estimate(indicator)
            y = 42 + _ROW_HEIGHT * (i + 0.5)
            if estimate is None or estimate.value is None:
                drawing.boxes([(left, y - 5, axis.room, 10)], EMPTY)
                text = "not measured"
            else:
                text = _draw_coefficient(drawing, axis, estimate, y)
            drawing.text(axis.end + 10, y, text, size=12, colour=QUIET)
            descriptions.append(f"{measure.label}, {name}: {text}")
    return drawing.finish(title, f"{'; '.join(descriptions)}.")


def _draw_coefficient(drawing: Drawing, axis: Scale, estimate: Estimate, y: float) -> str:
    """A coefficient with the interval that its question asks for, or another (*); return its
    text.
    """
    _, inference = goal(estimate.indicator)
    wanted_interval = estimate.interval(inference)
    kinds = ("fixed_models", "model_population", "items")
    interval = wanted_interval or next(filter(None, map(estimate.interval, kinds)), None)
    if interval is not None:
        low = axis(min(max(interval.low, 0.0), 1.0))
        high = axis(min(max(interval.high, 0.0), 1.0))
        drawing.line([(low, y), (high, y)], QUIET, 1.6)
        # an interval that goes on below 0, as a one-sided one does, has an arrow there
        if interval.low < 0:
            drawing.line([(low + 5, y - 4), (low, y), (low + 5, y + 4)], QUIET, 1.6)
    text = coefficient(estimate, inference, named=False).text
    drawing.dot(axis(min(max(estimate.value or 0.0, 0.0), 1.0)), y, INK, 4, title=text)
    if interval is not None and not wanted_interval:
        return f"{text}*"
    return text
