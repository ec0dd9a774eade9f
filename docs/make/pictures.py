"""Small pictures of values, as SVG inside a page: rows with ranges and marks, or points.

They take the page's colours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

WIDTH, LEFT, RIGHT, ROW, TOP = 620, 190, 20, 22, 10
SIDE = 300


def drawn(picture: Mapping[str, Any], title: str) -> str:
    """The picture with its caption, in one block of HTML without an empty line."""
    svg = _points(picture, title) if picture["kind"] == "points" else _rows(picture, title)
    return (
        f'<figure class="hqm-value">\n{svg}\n<figcaption>{escape(title)}.'
        f" {escape(picture['about'])}</figcaption>\n</figure>\n"
    )


def ticks(low: float, high: float) -> list[float]:
    """Round numbers that span a range.

    >>> ticks(0.13, 0.88)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    if high <= low:
        low, high = low - 0.5, high + 0.5
    rough = (high - low) / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * n for n in (1, 2, 5, 10) if power * n >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(step * n, 10) for n in range(first, last + 1)]


def _scale(values: Sequence[float], start: float, length: float) -> tuple[list[float], Any]:
    marks = ticks(min(values), max(values))
    low, high = marks[0], marks[-1]
    return marks, lambda value: start + length * (value - low) / (high - low)


def _rows(picture: Mapping[str, Any], title: str) -> str:
    rows, at = picture["rows"], picture["at"]
    numbers = [
        v
        for _, low, high, marks in rows
        for v in (low, high, *(m[0] for m in marks))
        if v is not None
    ]
    marks, x = _scale([*numbers, *([at] if at is not None else [])], LEFT, WIDTH - LEFT - RIGHT)
    bottom = TOP + ROW * len(rows)
    parts = [
        f'<path class="grid" d="M{x(t):.1f}'
        f' {TOP}V{bottom}"/>{_text(x(t), bottom + 15, f"{t:g}", "middle quiet")}'
        for t in marks
    ]
    if at is not None:
        parts.append(f'<path class="at" d="M{x(at):.1f} {TOP}V{bottom}"/>')
    for i, (name, low, high, own) in enumerate(rows):
        y = TOP + ROW * i + ROW / 2
        parts.append(_text(LEFT - 8, y + 4, str(name), "end"))
        if low is not None and high is not None:
            parts.append(f'<path class="range" d="M{x(low):.1f} {y:g}H{x(high):.1f}"/>')
        parts += [
            f'<circle class="{kind}" cx="{x(value):.1f}" cy="{y:g}" r="4.5"/>'
            for value, kind in own
            if value is not None
        ]
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, bottom + 33, picture["axis"], "middle quiet"))
    said = "; ".join(
        f"{name} {', '.join(f'{m[0]:g}' for m in own if m[0] is not None)}"
        for name, _, _, own in rows
    )
    return _svg(title, said, WIDTH, bottom + 42, parts)


def _points(picture: Mapping[str, Any], title: str) -> str:
    points = picture["points"]
    across, up = [p[1] for p in points], [p[2] for p in points]
    both = [*across, *up]
    marks, x = _scale(both if picture["line"] else across, 70, SIDE)
    heights, y = _scale(both if picture["line"] else up, TOP + SIDE, -SIDE)
    bottom = TOP + SIDE
    parts = [
        f'<path class="grid" d="M{x(t):.1f}'
        f' {TOP}V{bottom}"/>{_text(x(t), bottom + 15, f"{t:g}", "middle quiet")}'
        for t in marks
    ]
    parts += [
        '<path class="grid" d="M70'
        f' {y(t):.1f}H{70 + SIDE}"/>{_text(64, y(t) + 4, f"{t:g}", "end quiet")}'
        for t in heights
    ]
    if picture["line"]:
        parts.append(
            f'<path class="at" d="M{x(marks[0]):.1f} {y(marks[0]):.1f}L{x(marks[-1]):.1f}'
            f' {y(marks[-1]):.1f}"/>'
        )
    for name, first, other in points:
        beside = [(y(below) - y(other), x(near) - x(first)) for _, near, below in points]
        crowded = any(
            0 <= down < 12 and abs(right) < 70 and (down, right) > (0, 0) for down, right in beside
        )
        place, anchor = (-8, "end") if crowded else (8, "start")
        parts.append(f'<circle class="dot" cx="{x(first):.1f}" cy="{y(other):.1f}" r="4"/>')
        if name:
            parts.append(_text(x(first) + place, y(other) + 4, name, anchor))
    parts.append(_text(70 + SIDE / 2, bottom + 33, picture["axis"], "middle quiet"))
    parts.append(
        f'<text class="quiet" text-anchor="middle" transform="translate(18 {TOP + SIDE / 2})'
        f' rotate(-90)">{escape(picture["up"])}</text>'
    )
    said = "; ".join(f"{name} {first:g} and {other:g}" for name, first, other in points if name)
    return _svg(title, said or f"{len(points)} points", 70 + SIDE + 110, bottom + 42, parts)


def _text(x: float, y: float, text: str, how: str) -> str:
    anchor, _, kind = how.partition(" ")
    quiet = f' class="{kind}"' if kind else ""
    return f'<text{quiet} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(title: str, said: str, width: float, height: float, parts: Sequence[str]) -> str:
    head = (
        f'<svg viewBox="0 0 {width:g} {height:g}" role="img"'
        f' aria-label="{escape(f"{title}: {said}", quote=True)}" style="max-width: {width:g}px">'
    )
    return "\n".join((head, *parts, "</svg>"))
