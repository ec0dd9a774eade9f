"""Drawings written directly as SVG, in the colours of the page, with a title and a description for
those who cannot see them.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal
from xml.sax.saxutils import escape, quoteattr

from hqm.reports.tables import number

INK, ACCENT, FAINT, QUIET, WARN = (
    "currentColor",
    "var(--accent)",
    "var(--faint)",
    "var(--quiet)",
    "var(--warn)",
)
"""Colours: what a style sheet calls them, so that a page's dark theme changes the drawings too."""
SIZE = 12.0
"""The size of letters."""
Side = Literal["start", "middle", "end"]
_NARROW, _WIDE = frozenset(" !'(),.:;I[]fijlrt|"), frozenset("%&@MWmw—…−≥≤")
_LONGEST = 22


def width_of(text: str, size: float = SIZE) -> float:
    """About how wide a text is drawn by a sans-serif font, on the wide side.

    >>> width_of("illicit") < width_of("mammoth")
    True
    """
    return size * sum(
        0.36 if c in _NARROW else 0.92 if c in _WIDE else 0.68 if c.isupper() else 0.58
        for c in text
    )


def fitting(text: str, longest: int = _LONGEST) -> str:
    """A name cut to a length that leaves room for others; the description has the whole name.

    >>> fitting("a-model-with-a-very-long-name")
    'a-model-with-a-very-l…'
    """
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def fitting_in(text: str, room: float, size: float = SIZE) -> str:
    """A text cut to what fits into the room."""
    while len(text) > 2 and width_of(text, size) > room:
        text = f"{text[:-2].rstrip()}…"
    return text


def wrapped(text: str, room: float, size: float = SIZE, most: int = 4) -> list[str]:
    """A text broken into lines that fit the room; what is left after the last line is cut, and the
    cut is marked.
    """
    lines: list[str] = []
    for word in text.split():
        while width_of(word, size) > room and len(word) > 1:
            keep = max(1, int(len(word) * room / width_of(word, size)) - 1)
            lines, word = [*lines, word[:keep]], word[keep:]
        if lines and width_of(f"{lines[-1]} {word}", size) <= room:
            lines[-1] = f"{lines[-1]} {word}"
        else:
            lines.append(word)
    if len(lines) > most:
        lines = [*lines[: most - 1], f"{lines[most - 1]} …"]
    return lines


@dataclass(frozen=True, slots=True)
class Scale:
    """From numbers to places on the drawing."""

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
        """How long the axis is drawn."""
        return abs(self.end - self.start)


def ends(values: Iterable[float], margin: float = 0.06) -> tuple[float, float]:
    """The ends of an axis, with a margin on either side.

    >>> ends([0.0, 1.0], 0.1), ends([2.0])
    ((-0.1, 1.1), (1.95, 2.05))
    """
    known = list(values)
    low, high = min(known), max(known)
    more = margin * (high - low) or 0.05
    return low - more, high + more


def ticks(low: float, high: float, most: int = 6) -> tuple[list[float], int]:
    """Round numbers between two ends, at most so many, and how many decimals show them apart.

    >>> [number(place, 1) for place in ticks(-0.03, 0.31, 4)[0]], ticks(0.0, 1000.0, 3)
    (['0.0', '0.1', '0.2', '0.3'], ([0.0, 500.0, 1000.0], 0))
    """
    span = (high - low) or 1.0
    power = 10.0 ** math.floor(math.log10(span / most))
    step = next(s * power for s in (1, 2, 2.5, 5, 10, 20) if span / (s * power) <= most)
    first = math.ceil(low / step - 1e-9)
    places = [k * step + 0.0 for k in range(first, math.floor(high / step + 1e-9) + 1)]
    decimals = next((d for d in range(8) if abs(step * 10**d - round(step * 10**d)) < 1e-6), 8)
    return places, decimals


class Drawing:
    """Shapes on a sheet whose unit is a pixel of the page at full size."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self._parts: list[str] = []

    def line(
        self,
        points: Sequence[tuple[float, float]],
        colour: str = FAINT,
        width: float = 1,
        dash: str = "",
        title: str = "",
    ) -> None:
        """A line through points."""
        path = "M" + "L".join(f"{_at(x)} {_at(y)}" for x, y in points)
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        self._add(
            f'path d="{path}" fill="none" stroke="{colour}" stroke-width="{_at(width)}"{dashed}',
            "path",
            title,
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
        seen = f' fill-opacity="{_at(opacity)}"' if opacity < 1 else ""
        self._add(
            f'circle cx="{_at(x)}" cy="{_at(y)}" r="{_at(radius)}" fill="{colour}"{seen}',
            "circle",
            title,
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
        path = "M" + "L".join(f"{_at(x)} {_at(y)}" for x, y in points) + "Z"
        stroke = f' stroke="{edge}" stroke-width="1.6"' if edge else ""
        self._add(
            f'path d="{path}" fill="{colour}" fill-opacity="{_at(opacity)}"{stroke}', "path", title
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
        path = "".join(f"M{_at(x)} {_at(y)}h{_at(w)}v{_at(h)}h{_at(-w)}z" for x, y, w, h in corners)
        stroke = f' stroke="{edge}"' if edge else ""
        fill = f'fill="{colour}" fill-opacity="{_at(opacity)}"'
        if path:
            self._add(f'path d="{path}" {fill}{stroke}', "path", title)

    def whisker(self, low: float, high: float, y: float, colour: str, title: str = "") -> None:
        """A line across with a stroke at either end."""
        self.line([(low, y), (high, y)], colour, 1.4, title=title)
        for x in (low, high):
            self.line([(x, y - 3.5), (x, y + 3.5)], colour, 1.4)

    def diamond(self, x: float, y: float, r: float, colour: str, *, filled: bool = True) -> None:
        """A diamond, hollow unless `filled`."""
        corners = [(x - r, y), (x, y - r), (x + r, y), (x, y + r)]
        self.area(corners, colour if filled else "var(--paper)", 1, edge=colour)

    def ring(self, x: float, y: float, radius: float, colour: str) -> None:
        """A circle that is not filled."""
        place = f'cx="{_at(x)}" cy="{_at(y)}" r="{_at(radius)}"'
        self._add(f'circle {place} fill="none" stroke="{colour}" stroke-width="1.6"', "circle", "")

    def picture(self, data: str, x: float, y: float, width: float, height: float) -> None:
        """A picture given as a data URL, as large as fits."""
        place = f'x="{_at(x)}" y="{_at(y)}" width="{_at(width)}" height="{_at(height)}"'
        self._parts.append(
            f'<image {place} preserveAspectRatio="xMidYMin meet" href={quoteattr(data)}/>'
        )

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
        weight = ' font-weight="600"' if bold else ""
        weight += ' font-family="monospace"' if mono else ""
        turn = f' transform="rotate(-90 {_at(x)} {_at(y)})"' if turned else ""
        anchor = "" if side == "start" else f' text-anchor="{side}"'
        place = f'x="{_at(x)}" y="{_at(y + 0.35 * size)}" font-size="{_at(size)}"'
        self._parts.append(
            f'<text {place} fill="{colour}"{anchor}{weight}{turn}>{escape(_printable(text))}</text>'
        )

    def _add(self, element: str, name: str, title: str) -> None:
        closed = f"><title>{escape(_printable(title))}</title></{name}>" if title else "/>"
        self._parts.append(f"<{element}{closed}")

    def finish(self, title: str, description: str) -> str:
        """The SVG element; it can be reached with the keyboard, and a screen reader reads title and
        description.
        """
        body = "".join(self._parts)
        title, description = _printable(title), _printable(description)
        own = hashlib.sha256(f"{title}{description}{body}".encode()).hexdigest()[:8]
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_at(self.width)}'
            f' {_at(self.height)}" role="img" tabindex="0" aria-label={quoteattr(title)}'
            f' aria-describedby="d{own}" font-family="system-ui, sans-serif" style="max-width:'
            f' {_at(self.width)}px">'
        )
        return (
            f"{head}<title>{escape(title)}</title><desc"
            f' id="d{own}">{escape(description)}</desc>{body}</svg>\n'
        )


@dataclass(frozen=True, slots=True)
class Plot:
    """A drawing with two axes."""

    drawing: Drawing
    x: Scale
    y: Scale

    def across(self, title: str, *, grid: bool = False) -> None:
        """The horizontal axis with ticks and its title, which says the unit."""
        base = self.y.start
        marks, decimals = ticks(self.x.low, self.x.high, max(2, int(self.x.room / 48)))
        self.drawing.line([(self.x.start, base), (self.x.end, base)], INK)
        for value in marks:
            x = self.x(value)
            if grid:
                self.drawing.line([(x, base), (x, self.y.end)], FAINT, 0.4)
            self.drawing.line([(x, base), (x, base + 4)], INK)
            self.drawing.text(x, base + 14, number(value, decimals), side="middle", size=11)
        half = width_of(title) / 2
        # a title wider than its axis begins further to the left, as far as the sheet reaches
        middle = min((self.x.start + self.x.end) / 2, max(self.drawing.width - half, half))
        self.drawing.text(middle, self.y.start + 34, title, side="middle")

    def up(self, title: str) -> None:
        """The vertical axis with ticks and its title."""
        marks, decimals = ticks(self.y.low, self.y.high, max(2, int(self.y.room / 34)))
        for value in marks:
            y = self.y(value)
            self.drawing.line([(self.x.start - 4, y), (self.x.start, y)], INK)
            self.drawing.text(self.x.start - 7, y, number(value, decimals), side="end", size=11)
        self.drawing.line([(self.x.start, self.y.start), (self.x.start, self.y.end)], INK)
        self.drawing.text(10, (self.y.start + self.y.end) / 2, title, side="middle", turned=True)

    def names(
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
        taken = [(self.x(x) - 4, self.x(x) + 4, self.y(y) - 4, self.y(y) + 4) for x, y, _ in points]
        taken += [
            (self.x(low), self.x(high), self.y(y) - 1, self.y(y) + 1) for low, high, y in bars
        ]
        for x, y, name in sorted(points, key=lambda point: (point[1], point[0])):
            place = self._place(self.x(x), self.y(y), width_of(fitting(name), size), size, taken)
            if place is not None:
                left, middle = place
                taken.append(
                    (
                        left,
                        left + width_of(fitting(name), size),
                        middle - size / 2,
                        middle + size / 2,
                    )
                )
                self.drawing.text(left, middle, fitting(name), size=size)

    def _place(
        self,
        x: float,
        y: float,
        width: float,
        size: float,
        taken: Sequence[tuple[float, float, float, float]],
    ) -> tuple[float, float] | None:
        low, high = self.x.start + 2, min(self.x.end + 14, self.drawing.width - 2)
        for lift in (0.0, -size, size, -1.6 * size, 1.6 * size):
            for left in (x + 7, x - 7 - width, *((x - width / 2,) if lift else ())):
                middle = y + lift
                inside = (
                    low <= left
                    and left + width <= high
                    and size / 2 <= middle <= self.y.start - size / 2
                )
                apart = all(
                    left + width < a or b < left or middle + size / 2 < c or d < middle - size / 2
                    for a, b, c, d in taken
                )
                if inside and apart:
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
    across = Scale(*ends_x, left, width - right)
    return Plot(Drawing(width, height), across, Scale(*ends_y, height - 46, top))


def _at(value: float) -> str:
    """A place with two decimals at most.

    >>> _at(3.0), _at(2.456), _at(-0.001)
    ('3', '2.46', '0')
    """
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _printable(text: str) -> str:
    """Text without characters that XML does not allow."""
    return "".join(c if c.isprintable() else " " for c in text)
