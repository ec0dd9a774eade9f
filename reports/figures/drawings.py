"""Drawings written directly as SVG, in the colours of the page, with a title and a description for
those who cannot see them.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Literal, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from hqm.reports.figures.figure_data import item_points
from hqm.reports.tables.item_tables import FACETS
from hqm.reports.tables.table import (
    ORACLE_TITLE,
    administration_name,
    clause,
    drop_none,
    number,
    short_name,
)

from hqm import BenchmarkAudit, Cell
from hqm.auditing.definitions import score_in
from hqm.imports.human_labels import labelled_by

# colours, by their names in the style sheet: a page's dark theme changes the drawings too
INK = "currentColor"
ACCENT = "var(--accent)"
FAINT = "var(--faint)"
QUIET = "var(--quiet)"
WARN = "var(--warn)"
SIZE = 12.0
"""The size of letters."""
Side = Literal["start", "middle", "end"]
_NARROW = frozenset(" !'(),.:;I[]fijlrt|")
_WIDE = frozenset("%&@MWmw—…−≥≤")
_MAX_NAME_CHARS = 22


def width_of(text: str, size: float = SIZE) -> float:
    """The approximate width of a text in a sans-serif font, estimated on the wide side.

    >>> width_of("illicit") < width_of("mammoth")
    True
    """
    return size * sum(map(_letter_width, text))


def _letter_width(letter: str) -> float:
    """About how wide a letter is, as a share of the font's size."""
    # shares of the font's size, a little above those of common sans-serif fonts
    if letter in _NARROW:
        return 0.36
    if letter in _WIDE:
        return 0.92
    if letter.isupper():
        return 0.68
    return 0.58


def truncate(text: str, max_chars: int = _MAX_NAME_CHARS) -> str:
    """A name cut to a maximum length; the description has the whole name.

    >>> truncate("a-model-with-a-very-long-name")
    'a-model-with-a-very-l…'
    """
    if len(text) <= max_chars:
        return text
    return f"{text[: max_chars - 1]}…"


def truncate_to_width(text: str, width: float, size: float = SIZE) -> str:
    """A text cut to the width of the room."""
    # Two characters at least are left, so that the loop ends however narrow the room is.
    while len(text) > 2 and width_of(text, size) > width:
        text = f"{text[:-2].rstrip()}…"
    return text


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear map from numbers to positions on the drawing."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        # where all that is drawn has one value, the axis is one place
        share = (value - self.low) / ((self.high - self.low) or 1.0)
        return self.start + share * (self.end - self.start)

    @property
    def room(self) -> float:
        """The length of the axis on the drawing."""
        return abs(self.end - self.start)


def axis_limits(values: Iterable[float], margin: float = 0.06) -> tuple[float, float]:
    """The ends of an axis, with a margin on either side.

    >>> axis_limits([0.0, 1.0], 0.1), axis_limits([2.0])
    ((-0.1, 1.1), (1.95, 2.05))
    """
    numbers = list(values)
    low = min(numbers)
    high = max(numbers)
    padding = margin * (high - low) or 0.05
    return low - padding, high + padding


def ticks(low: float, high: float, max_ticks: int = 6) -> tuple[list[float], int]:
    """Round numbers between two ends, at most `max_ticks`, and how many decimals print them
    differently.

    >>> [number(place, 1) for place in ticks(-0.03, 0.31, 4)[0]], ticks(0.0, 1000.0, 3)
    (['0.0', '0.1', '0.2', '0.3'], ([0.0, 500.0, 1000.0], 0))
    """
    span = (high - low) or 1.0
    power = 10.0 ** math.floor(math.log10(span / max_ticks))
    step = power
    # the smallest round step that makes no more ticks than there is room for
    for factor in (1, 2, 2.5, 5, 10, 20):
        step = factor * power
        if span / step <= max_ticks:
            break
    # 1e-9 keeps a tick that rounding has put a hair beyond the end of the axis.
    first = math.ceil(low / step - 1e-9)
    # Adding 0.0 makes 0.0 of -0.0, which would be printed with a sign.
    positions = [k * step + 0.0 for k in range(first, math.floor(high / step + 1e-9) + 1)]
    decimals = 0
    while decimals < 8 and abs(step * 10**decimals - round(step * 10**decimals)) >= 1e-6:
        decimals += 1
    return positions, decimals


class Drawing:
    """Shapes on a sheet whose unit is a pixel of the page at full size."""

    def __init__(self, width: float, height: float) -> None:
        self.width = width
        self.height = height
        self._elements: list[str] = []

    def line(
        self,
        points: Sequence[tuple[float, float]],
        colour: str = FAINT,
        width: float = 1,
        dash: str = "",
        title: str = "",
    ) -> None:
        """A line through points."""
        self._add(
            "path",
            title,
            d=_path_through(points),
            fill="none",
            stroke=colour,
            stroke_width=width,
            stroke_dasharray=dash,
        )

    def dot(
        self,
        x: float,
        y: float,
        colour: str = ACCENT,
        radius: float = 4,
        title: str = "",
        opacity: float = 1,
    ) -> None:
        """A point; its title is shown when the pointer rests on it."""
        self._add(
            "circle",
            title,
            cx=x,
            cy=y,
            r=radius,
            fill=colour,
            fill_opacity=opacity if opacity < 1 else "",
        )

    def area(
        self,
        points: Sequence[tuple[float, float]],
        colour: str = ACCENT,
        opacity: float = 0.2,
        title: str = "",
        edge: str = "",
    ) -> None:
        """A closed shape."""
        self._add(
            "path",
            title,
            d=f"{_path_through(points)}Z",
            fill=colour,
            fill_opacity=opacity,
            stroke=edge,
            stroke_width=1.6 if edge else "",
        )

    def boxes(
        self,
        corners: Iterable[tuple[float, float, float, float]],
        colour: str,
        opacity: float = 1,
        title: str = "",
        edge: str = "",
    ) -> None:
        """Many rectangles (left, top, width, height) of one colour, as one shape."""
        # one path for all of them keeps the page small
        path = "".join(
            f"M{_coordinate(x)} {_coordinate(y)}"
            f"h{_coordinate(w)}v{_coordinate(h)}h{_coordinate(-w)}z"
            for x, y, w, h in corners
        )
        if path:
            self._add("path", title, d=path, fill=colour, fill_opacity=opacity, stroke=edge)

    def whisker(self, low: float, high: float, y: float, colour: str, title: str = "") -> None:
        """A line across with a stroke at either end."""
        self.line([(low, y), (high, y)], colour, 1.4, title=title)
        for x in (low, high):
            self.line([(x, y - 3.5), (x, y + 3.5)], colour, 1.4)

    def diamond(self, x: float, y: float, r: float, colour: str, *, filled: bool = True) -> None:
        """A diamond, open unless `filled`."""
        corners = [(x - r, y), (x, y - r), (x + r, y), (x, y + r)]
        self.area(corners, colour if filled else "var(--paper)", 1, edge=colour)

    def ring(self, x: float, y: float, radius: float, colour: str) -> None:
        """A circle that is not filled."""
        self._add("circle", cx=x, cy=y, r=radius, fill="none", stroke=colour, stroke_width=1.6)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = SIZE,
        side: Side = "start",
        colour: str = INK,
        bold: bool = False,
        turned: bool = False,
        mono: bool = False,
    ) -> None:
        """A line of text; `y` is its middle."""
        self._add(
            "text",
            text=text,
            x=x,
            # SVG places text by its baseline, which lies about 0.35 of the size below the middle of
            # small letters.
            y=y + 0.35 * size,
            font_size=size,
            fill=colour,
            text_anchor="" if side == "start" else side,
            font_weight="600" if bold else "",
            font_family="monospace" if mono else "",
            transform=f"rotate(-90 {_coordinate(x)} {_coordinate(y)})" if turned else "",
        )

    def _add(
        self, name: str, title: str = "", text: str | None = None, **attributes: str | float
    ) -> None:
        """An element with its attributes, of which empty ones are left out."""
        tag = name
        for key, value in attributes.items():
            if value != "":
                if isinstance(value, str):
                    attribute = value
                else:
                    attribute = _coordinate(value)
                tag += f" {key.replace('_', '-')}={quoteattr(attribute)}"
        # The first child `title` is what browsers show as a tooltip and screen readers read.
        content = f"<title>{escape(printable(title))}</title>" if title else ""
        content += escape(printable(text or ""))
        if content or text is not None:
            self._elements.append(f"<{tag}>{content}</{name}>")
        else:
            self._elements.append(f"<{tag}/>")

    def finish(self, title: str, description: str) -> str:
        """The SVG element; it can be reached with the keyboard, and a screen reader reads title and
        description.
        """
        body = "".join(self._elements)
        title = printable(title)
        description = printable(description)
        # the id must differ between the drawings of a page, and be the same for the same audit
        digest = hashlib.sha256(f"{title}{description}{body}".encode()).hexdigest()[:8]
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_coordinate(self.width)}'
            f' {_coordinate(self.height)}" role="img" tabindex="0" aria-label={quoteattr(title)}'
            f' aria-describedby="d{digest}" font-family="system-ui, sans-serif" style="max-width:'
            f' {_coordinate(self.width)}px">'
        )
        return (
            f"{head}<title>{escape(title)}</title><desc"
            f' id="d{digest}">{escape(description)}</desc>{body}</svg>\n'
        )


@dataclass(frozen=True, slots=True)
class Plot:
    """A drawing with two axes."""

    drawing: Drawing
    x: Scale
    y: Scale

    def draw_x_axis(self, title: str, *, grid: bool = False) -> None:
        """The horizontal axis with ticks and its title, which says the unit."""
        base = self.y.start
        marks, decimals = ticks(self.x.low, self.x.high, max(2, int(self.x.room / 48)))
        self.drawing.line([(self.x.start, base), (self.x.end, base)], INK)
        for value in marks:
            x = self.x(value)
            if grid:
                self.drawing.line([(x, base), (x, self.y.end)], FAINT, 0.4)
            self.drawing.line([(x, base), (x, base + 4)], INK)
            self.drawing.text(x, base + 14, number(value, decimals), side="middle", size=12)
        half = width_of(title) / 2
        # a title wider than its axis begins further to the left, as far as the sheet reaches
        middle = min((self.x.start + self.x.end) / 2, max(self.drawing.width - half, half))
        self.drawing.text(middle, self.y.start + 34, title, side="middle")

    def draw_y_axis(self, title: str) -> None:
        """The vertical axis with ticks and its title."""
        marks, decimals = ticks(self.y.low, self.y.high, max(2, int(self.y.room / 34)))
        for value in marks:
            y = self.y(value)
            self.drawing.line([(self.x.start - 4, y), (self.x.start, y)], INK)
            self.drawing.text(self.x.start - 7, y, number(value, decimals), side="end", size=12)
        self.drawing.line([(self.x.start, self.y.start), (self.x.start, self.y.end)], INK)
        self.drawing.text(10, (self.y.start + self.y.end) / 2, title, side="middle", turned=True)

    def draw_names(
        self,
        points: Sequence[tuple[float, float, str]],
        size: float = 11,
        bars: Sequence[tuple[float, float, float]] = (),
    ) -> None:
        """Names beside their points where there is room; one that would overlap another or leave
        the sheet is left out.

        The description names every point. `bars` are lines across that no name may lie on: low,
        high and height.
        """
        # what is drawn already, as boxes (left, right, top, bottom)
        occupied = []
        for x, y, _ in points:
            center = self.x(x)
            middle = self.y(y)
            occupied.append((center - 4, center + 4, middle - 4, middle + 4))
        for low, high, y in bars:
            middle = self.y(y)
            occupied.append((self.x(low), self.x(high), middle - 1, middle + 1))
        # From the top left on, whatever the order of the respondents, so that the same scores give
        # the same drawing.
        for x, y, name in sorted(points, key=lambda point: (point[1], point[0])):
            label = truncate(name)
            width = width_of(label, size)
            position = self._label_position(self.x(x), self.y(y), width, size, occupied)
            if position is not None:
                left, middle = position
                occupied.append((left, left + width, middle - size / 2, middle + size / 2))
                self.drawing.text(left, middle, label, size=size)

    def _label_position(
        self,
        x: float,
        y: float,
        width: float,
        size: float,
        occupied: Sequence[tuple[float, float, float, float]],
    ) -> tuple[float, float] | None:
        """The left end and the middle of a name beside its point: on its height, then above and
        below; None where there is no room.
        """
        low = self.x.start + 2
        high = min(self.x.end + 14, self.drawing.width - 2)
        for lift in (0.0, -size, size, -1.6 * size, 1.6 * size):
            middle = y + lift
            top = middle - size / 2
            bottom = middle + size / 2
            # on the right of the point, on the left, and where it is lifted, over or under it
            lefts = [x + 7, x - 7 - width]
            if lift:
                lefts.append(x - width / 2)
            for left in lefts:
                right = left + width
                fits_axes = low <= left and right <= high and top >= 0 and bottom <= self.y.start
                is_free = all(
                    right < start or end < left or bottom < upper or lower < top
                    for start, end, upper, lower in occupied
                )
                if fits_axes and is_free:
                    return left, middle
        return None


def plot(
    width: float,
    height: float,
    ends_x: tuple[float, float],
    ends_y: tuple[float, float],
    *,
    left: float = 64,
    right: float = 16,
    top: float = 12,
) -> Plot:
    """An empty plot of this size; `left` is the room for the vertical axis and its names."""
    # 46 pixels below are for the ticks and the title of the horizontal axis
    x_scale = Scale(*ends_x, left, width - right)
    return Plot(Drawing(width, height), x_scale, Scale(*ends_y, height - 46, top))


def _path_through(points: Sequence[tuple[float, float]]) -> str:
    """A path through points."""
    return "M" + "L".join(f"{_coordinate(x)} {_coordinate(y)}" for x, y in points)


def _coordinate(value: float) -> str:
    """A coordinate with two decimals at most.

    >>> _coordinate(3.0), _coordinate(2.456), _coordinate(-0.001)
    ('3', '2.46', '0')
    """
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    if text == "-0":
        return "0"
    return text


def printable(text: str) -> str:
    """Text without characters that XML does not allow."""
    return "".join([c if c.isprintable() else " " for c in text])


# --- drawings of the evidence: scatter, the item map and the response map ---


# --- two administrations against each other ---


def facet_pairs(audit: BenchmarkAudit) -> list[tuple[str, str]]:
    """The administrations that differ from the reference in one facet, each with that facet."""
    reference = Cell.parse(audit.reference)
    names = list(audit.cells)
    for respondent in audit.respondents[:1]:
        names += respondent.judged
    pairs = []
    for name in names:
        # With two facets changed at once no one could say which of them moved the scores.
        facets = reference.differing(Cell.parse(name))
        if len(facets) == 1:
            pairs.append((facets[0], name))
    return pairs


def scatter(
    audit: BenchmarkAudit,
    metric: str,
    administration: str,
    label_x: str,
    label_y: str,
    names: Sequence[str],
) -> str:
    """The scores of two administrations, one point per respondent, with the line of equality.

    The lines through the points are the intervals of the first score over pictures. Another judge's
    share of faithful answers need not have the scale or direction of the metric: its axes are free,
    and no line of equality is drawn.
    """
    points, bars = _scatter_points(audit, metric, administration, names)
    if not points:
        return ""
    judged = administration in audit.respondents[0].judged
    x_values = []
    y_values = []
    for x, y, _ in points:
        x_values.append(x)
        y_values.append(y)
    for low, high, _ in bars:
        x_values += [low, high]
    if not judged:  # both have one scale
        x_values += y_values
        y_values = x_values
    axes = plot(420, 392, axis_limits(x_values), axis_limits(y_values))
    drawing = axes.drawing
    if not judged:
        drawing.line([(axes.x.start, axes.y.start), (axes.x.end, axes.y.end)])
    for low, high, y in bars:
        drawing.line([(axes.x(low), axes.y(y)), (axes.x(high), axes.y(y))], FAINT, 1.2)
    for x, y, name in points:
        drawing.dot(axes.x(x), axes.y(y), ACCENT, title=f"{name}: {number(x)} and {number(y)}")
    axes.draw_x_axis(label_x)
    axes.draw_y_axis(label_y)
    axes.draw_names(points, bars=bars)
    description = "; ".join(f"{name} {number(x)} and {number(y)}" for x, y, name in points)
    return drawing.finish(f"{label_x} and {label_y}", f"{description}.")


def _scatter_points(
    audit: BenchmarkAudit, metric: str, administration: str, names: Sequence[str]
) -> tuple[list[tuple[float, float, str]], list[tuple[float, float, float]]]:
    """The respondents that have a score in both administrations, as (x, y, name), and the intervals
    of the first score, as (low, high, y).
    """
    points = []
    bars = []
    for row, name in zip(audit.respondents, names, strict=True):
        x = row.cells[audit.reference].get(metric)
        y = score_in(row, administration, metric)
        if x is None or y is None:
            continue
        points.append((x, y, name))
        low, high = row.intervals.get(metric) or (None, None)
        if low is not None and high is not None:
            bars.append((low, high, y))
    return points, bars


class DotRow(NamedTuple):
    """A name with one number or several, and an interval where there is one."""

    name: str
    values: tuple[float, ...]
    low: float | None = None
    high: float | None = None

    @property
    def text(self) -> str:
        """The row in words."""
        if self.low is None:
            span = ""
        else:
            span = f" [{number(self.low)}, {number(self.high)}]"
        return f"{self.name}: {', '.join(map(number, self.values))}{span}"


def dots(rows: Sequence[DotRow], unit: str, title: str, lines: Sequence[float] = ()) -> str:
    """Rows under each other, the first on top, their numbers as points on an axis that takes in 0
    unless a row has several; `lines` are numbers to hold them against.
    """
    names = [truncate(row.name, 34) for row in rows]
    left = max(width_of(name, 11) for name in names) + 12
    # Names that are cut at 34 letters have room for 20 before the sheet grows, 7 pixels a letter.
    width = 460 + max(0, max(map(len, names)) - 20) * 7
    y_limits = (len(rows) - 0.5, -0.5)  # the vertical scale is the number of the row
    ends = list(lines)
    if not any(len(row.values) > 1 for row in rows):
        ends.append(0.0)
    for row in rows:
        ends += drop_none((*row.values, row.low, row.high))
    axes = plot(width, 58 + 21 * len(rows), axis_limits(ends), y_limits, left=left)
    axes.draw_x_axis(unit, grid=True)
    drawing = axes.drawing
    for line in lines:
        drawing.line([(axes.x(line), axes.y.start), (axes.x(line), axes.y.end)], QUIET, 1, "3 3")
    for i, row in enumerate(rows):
        drawing.text(left - 8, axes.y(i), names[i], size=12, side="end")
        if row.low is not None and row.high is not None:
            drawing.whisker(axes.x(row.low), axes.x(row.high), axes.y(i), QUIET)
        for value in row.values:
            drawing.dot(axes.x(value), axes.y(i), ACCENT, 4, row.text)
    return drawing.finish(title, f"{unit}. {'; '.join(map(attrgetter('text'), rows))}.")


def error_curves(
    curves: Mapping[str, Sequence[tuple[float, float]]],
    tied_range: tuple[float, float],
    scores: Sequence[float],
    title: str,
) -> str:
    """Standard errors over the range of scores, the first curve solid. The range at the top in
    which no score differs from a full one is shaded, and each score is a stroke on the axis.
    """
    max_error = max(error for curve in curves.values() for _, error in curve)
    axes = plot(460, 260, (0.0, 1.0), (0.0, 1.1 * max_error))
    drawing = axes.drawing
    base = axes.y.start
    left, right = map(axes.x, sorted(tied_range))
    drawing.boxes([(left, axes.y.end, right - left, base - axes.y.end)], WARN, 0.15)
    for score in scores:
        drawing.line([(axes.x(score), base), (axes.x(score), base - 10)], ACCENT, 1.6)
    # Both curves lie close together where all items count alike: their names stand above the one
    # and below the other.
    for (name, curve), dash, lift in zip(curves.items(), ("", "4 3"), (-8, 12), strict=True):
        drawing.line([(axes.x(x), axes.y(y)) for x, y in curve], INK, 1.6, dash, name)
        x, y = curve[len(curve) // 2]
        drawing.text(axes.x(x), axes.y(y) + lift, name, size=12, side="middle")
    axes.draw_x_axis("score")
    axes.draw_y_axis("standard error")
    descriptions = []
    for name, curve in curves.items():
        values = ", ".join(f"{number(y)} at {number(x, 2)}" for x, y in curve)
        descriptions.append(f"{name}: {values}")
    return drawing.finish(title, f"{'; '.join(descriptions)}.")


def item_map(audit: BenchmarkAudit, metric: str) -> tuple[str, int]:
    """Difficulty and discrimination of the items, and how many items are shown; a larger point
    stands for several items with almost the same values.
    """
    items = item_points(audit, metric)
    if not items:
        return "", 0
    # thousands of items share few places: rounding to a grid finer than the eye keeps the drawing
    # small
    grid: Counter[tuple[int, int]] = Counter()
    flagged_items = []
    for item in items:
        if item.flagged:
            flagged_items.append(item)
        else:
            grid[int(item.difficulty * 200), int(item.item_rest * 100)] += 1
    # The axis takes in 0 always, since items below it work against the rest of the test.
    low = min(-0.1, min(map(attrgetter("item_rest"), items)) - 0.05)
    axes = plot(480, 350, (-0.03, 1.03), (low, 1.05))
    drawing = axes.drawing
    drawing.line([(axes.x.start, axes.y(0)), (axes.x.end, axes.y(0))])
    for (column, row), count in grid.items():
        drawing.dot(
            axes.x(column / 200),
            axes.y(row / 100),
            QUIET,
            # The area of a point grows with the number of items, and so its radius with the root.
            min(12.0, 1.6 + 0.9 * count**0.5),
            opacity=0.55,
        )
    descriptions = []
    for item in flagged_items:
        x = axes.x(item.difficulty)
        y = axes.y(item.item_rest)
        p = number(item.difficulty, 2)
        r = number(item.item_rest, 2)
        corners = [(x, y - 5), (x + 5, y), (x, y + 5), (x - 5, y)]
        drawing.area(corners, WARN, 1, f"{item.name}: {p}, {r}")
        descriptions.append(f"{item.name} difficulty {p}, discrimination {r}")
    axes.draw_x_axis("share of respondents that get it right (high is easy)")
    axes.draw_y_axis("correlation with the rest of the test")
    # More than 25 names would cover the points, and the table has all of them.
    axes.draw_names(
        list(map(attrgetter("difficulty", "item_rest", "name"), flagged_items[:25])), 10
    )
    flag_note = clause("Flagged: {}.", "; ".join(descriptions[:25])) or "None is flagged."
    description = f"{len(items):,} items. {flag_note}"
    return drawing.finish("Items by difficulty and discrimination", description), len(items)


# --- the first administration against the others ---

_MAX_METRICS = 3
"""How many metrics are drawn; the tables have all of them."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing, which says its numbers to screen readers, with its caption."""

    svg: str
    caption: str
    signature: str = ""


def figure_list(svg: str, caption: str, signature: str) -> list[Figure]:
    """The drawing in a list; an empty list where nothing was drawn."""
    if svg:
        return [Figure(svg, caption, signature)]
    return []


def administration_figures(audit: BenchmarkAudit) -> Iterable[Figure]:
    """The drawings that compare the first administration with every other one."""
    names = list(map(short_name, audit.names))
    pairs = facet_pairs(audit)
    forms = [audit.reference]
    forms += [administration for facet, administration in pairs if facet == "form"]
    for metric in list(audit.metrics)[:_MAX_METRICS]:
        # From three wordings on, each pair would be a drawing of its own; one drawing holds all.
        if has_many_forms := len(forms) > 2:
            yield from figure_list(
                _forms_drawing(audit, metric, forms),
                f"Every wording: {metric}. Each point is a respondent.",
                _signature(audit, metric, forms[1]),
            )
        for facet, administration in pairs:
            if has_many_forms and facet == "form":
                continue
            measured = metric
            if facet == "judge":
                measured = "share of faithful answers"
            on_line = ""
            if administration not in audit.respondents[0].judged:
                on_line = "; a point on the line has the same score in both"
            x = f"{metric}, {administration_name(audit.reference)}"
            y = f"{measured}, {administration_name(administration)}"
            yield from figure_list(
                scatter(audit, metric, administration, x, y, names),
                f"{_facet_title(audit, facet, administration)}: {metric}. Each point is a"
                f" respondent{on_line}.",
                _signature(audit, metric, administration),
            )


def _forms_drawing(audit: BenchmarkAudit, metric: str, forms: Sequence[str]) -> str:
    """The scores of all respondents in each wording; empty where nobody has one."""
    rows = []
    for form in forms:
        scores = [row.cells.get(form, {}).get(metric) for row in audit.respondents]
        if values := drop_none(scores):
            rows.append(DotRow(administration_name(form), tuple(values)))
    if not rows:
        return ""
    return dots(rows, metric, f"{metric} in {len(rows)} wordings")


def _facet_title(audit: BenchmarkAudit, facet: str, administration: str) -> str:
    if facet == "judge" and administration in audit.respondents[0].judged:
        if labelled_by(Cell.parse(administration).judge) == "people":
            return FACETS["human"]
        return ORACLE_TITLE
    return FACETS[facet]


def _signature(audit: BenchmarkAudit, metric: str, administration: str) -> str:
    estimates = audit.select_estimates(metric=metric, administration=administration)
    # The drawing shows the two columns that Pearson's correlation is computed from, and bears its
    # signature.
    for estimate in estimates:
        if estimate.indicator.endswith(".pearson"):
            return estimate.signature
    if estimates:
        return estimates[0].signature
    return ""
