"""The figures of this gallery as SVG, drawn without a library: rows with a range and marks, and
scores against scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

WIDTH, LEFT, RIGHT, ROW, TOP = 720, 240, 24, 26, 58
MARKS = {"dot": "●", "ring": "○", "cross": "×"}

_STYLE = """<style>
text { font: 13px sans-serif; fill: #222 } .quiet { fill: #666 } .line { stroke: #bbb; fill: none } .range { stroke: #2166ac; stroke-width: 3 }
.dot { fill: #2166ac } .ring { fill: none; stroke: #2166ac; stroke-width: 2 } .cross { stroke: #b2182b; stroke-width: 2.5 } .back { fill: #fff }
@media (prefers-color-scheme: dark) {
text { fill: #ddd } .quiet { fill: #aaa } .line { stroke: #555 } .range { stroke: #7fb2e5 } .dot { fill: #7fb2e5 } .ring { stroke: #7fb2e5 }
.cross { stroke: #f4a582 } .back { fill: #1e2129 } }
</style>"""


class Row(NamedTuple):
    """A line of the figure: its name, the ends of its range (None where there is none), and its
    marks (value, kind).
    """

    name: str
    ends: tuple[float, float] | None
    marks: tuple[tuple[float, str], ...]


def rows(
    path: Path,
    title: str,
    about: str,
    lines: Sequence[Row],
    ticks: Sequence[float],
    *,
    axis: str,
    key: str,
    at: float | None = None,
) -> None:
    """A figure with a row for each line; `key` says what range and marks are, `at` is a value to
    compare with.
    """
    low, high = ticks[0], ticks[-1]
    height = TOP + ROW * len(lines) + 48
    bottom = TOP + ROW * len(lines)

    def x(value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (value - low) / (high - low)

    parts = [
        f'<text x="12" y="22">{escape(title)}</text>',
        f'<text x="12" y="42" class="quiet">{escape(key)}</text>',
    ]
    for tick in ticks:
        parts.append(f'<path class="line" d="M{x(tick):.1f} {TOP}V{bottom}"/>')
        parts.append(
            f'<text class="quiet" x="{x(tick):.1f}" y="{bottom + 17}"'
            f' text-anchor="middle">{tick:g}</text>'
        )
    parts.append(
        f'<text class="quiet" x="{(LEFT + WIDTH - RIGHT) / 2}" y="{bottom + 38}"'
        f' text-anchor="middle">{escape(axis)}</text>'
    )
    if at is not None:
        parts.append(
            f'<path class="line" style="stroke-width:2;stroke-dasharray:5 4" d="M{x(at):.1f}'
            f' {TOP}V{bottom}"/>'
        )
    for i, line in enumerate(lines):
        y = TOP + ROW * i + ROW / 2
        parts.append(
            f'<text x="{LEFT - 10}" y="{y + 4:.1f}" text-anchor="end">{escape(line.name)}</text>'
        )
        if line.ends is not None:
            parts.append(
                f'<path class="range" d="M{x(line.ends[0]):.1f} {y}H{x(line.ends[1]):.1f}"/>'
            )
        parts += [_mark(x(value), y, kind) for value, kind in line.marks]
    _write(path, title, about, WIDTH, height, parts)


def scatter(
    path: Path,
    title: str,
    about: str,
    points: Sequence[tuple[str, float, float]],
    ticks: Sequence[float],
    *,
    across: str,
    up: str,
) -> None:
    """Each respondent's two scores, with the line on which they would be equal."""
    low, high = ticks[0], ticks[-1]
    side, left, top = 380, 90, 40

    def x(value: float) -> float:
        return left + side * (value - low) / (high - low)

    def y(value: float) -> float:
        return top + side * (high - value) / (high - low)

    parts = [f'<text x="12" y="22">{escape(title)}</text>']
    for tick in ticks:
        parts.append(
            f'<path class="line" d="M{x(tick):.1f} {top}V{top + side}M{left}'
            f' {y(tick):.1f}H{left + side}"/>'
        )
        parts.append(
            f'<text class="quiet" x="{x(tick):.1f}" y="{top + side + 17}"'
            f' text-anchor="middle">{tick:g}</text>'
        )
        parts.append(
            f'<text class="quiet" x="{left - 8}" y="{y(tick) + 4:.1f}"'
            f' text-anchor="end">{tick:g}</text>'
        )
    parts.append(
        f'<path class="line" style="stroke-width:2;stroke-dasharray:5 4" d="M{x(low):.1f}'
        f' {y(low):.1f}L{x(high):.1f} {y(high):.1f}"/>'
    )
    parts.append(
        f'<text class="quiet" x="{left + side / 2}" y="{top + side + 38}"'
        f' text-anchor="middle">{escape(across)}</text>'
    )
    parts.append(
        f'<text class="quiet" transform="translate(28 {top + side / 2}) rotate(-90)"'
        f' text-anchor="middle">{escape(up)}</text>'
    )
    for name, first, other in points:
        # a name that would cover the one below it stands on the left
        crowded = any(
            0 < y(below) - y(other) < 14 and abs(x(near) - x(first)) < 80
            for _, near, below in points
        )
        place, anchor = (-9, "end") if crowded else (9, "start")
        parts.append(_mark(x(first), y(other), "dot"))
        parts.append(
            f'<text x="{x(first) + place:.1f}" y="{y(other) + 4:.1f}"'
            f' text-anchor="{anchor}">{escape(name)}</text>'
        )
    _write(path, title, about, left + side + 130, top + side + 52, parts)


def _mark(x: float, y: float, kind: str) -> str:
    if kind == "cross":
        return f'<path class="cross" d="M{x - 5:.1f} {y - 5:.1f}l10 10m0-10l-10 10"/>'
    return f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="5"/>'


def _write(
    path: Path, title: str, about: str, width: float, height: float, parts: Sequence[str]
) -> None:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img"'
        f' aria-labelledby="t d">\n<title id="t">{escape(title)}</title>\n<desc'
        f' id="d">{escape(about)}</desc>\n{_STYLE}\n<rect class="back" width="{width:g}"'
        f' height="{height:g}"/>\n'
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(head + "\n".join(parts) + "\n</svg>\n", encoding="utf-8")


def share(value: float) -> str:
    """A share with three decimals and no zero before the point.

    >>> share(0.8694), share(1.0)
    ('.869', '1.000')
    """
    return f"{value:.3f}".removeprefix("0")
