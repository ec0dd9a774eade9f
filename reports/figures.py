"""Figures as SVG text: drawn by matplotlib, the same bytes for the same numbers, coloured by the page's own theme."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

from hqm import BenchmarkAudit, Cell

# drawn in these colours, then handed to the page: ink becomes currentColor, the accent a variable of the style sheet
_INK, _ACCENT, _FAINT = "#010203", "#040506", "#070809"
_THEME = {_INK: "currentColor", _ACCENT: "var(--accent)", _FAINT: "var(--faint)"}


def facet_pairs(one: BenchmarkAudit) -> list[tuple[str, str]]:
    """The pairs of administrations that differ in one facet from the reference: facet, other."""
    reference = Cell.parse(one.reference)
    pairs = [(reference.differing(Cell.parse(name)), name) for name in one.cells]
    return [(facets[0], name) for facets, name in pairs if len(facets) == 1]


def scatter(one: BenchmarkAudit, metric: str, other: str, label_x: str, label_y: str, names: Sequence[str]) -> str:
    """First against other administration, one point a respondent, with the line of equality."""
    points = [(r.cells[one.reference].get(metric), r.cells[other].get(metric)) for r in one.respondents]
    known = [(x, y, name) for (x, y), name in zip(points, names, strict=True) if x is not None and y is not None]
    if not known:
        return ""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib.figure import Figure

    settings: dict[Any, Any] = {
        "svg.fonttype": "none",
        "svg.hashsalt": "hqm",
        "font.family": ["sans-serif"],
        "font.size": 10,
        "axes.edgecolor": _INK,
        "axes.labelcolor": _INK,
        "xtick.color": _INK,
        "ytick.color": _INK,
        "text.color": _INK,
    }
    with mpl.rc_context(settings):
        figure = Figure(figsize=(4.6, 4.2), layout="constrained")
        axes = figure.add_subplot()
        xs, ys, labels = zip(*known, strict=True)
        low, high = min(*xs, *ys), max(*xs, *ys)
        margin = 0.06 * (high - low) or 0.05
        ends = (low - margin, high + margin)
        axes.plot(ends, ends, color=_FAINT, linewidth=1, zorder=1)
        axes.scatter(xs, ys, s=28, color=_ACCENT, zorder=2)
        for x, y, label, place in zip(xs, ys, labels, _places(list(zip(xs, ys, strict=True)), ends), strict=True):
            if place is not None:
                dx, dy, side = place
                axes.annotate(
                    label, (x, y), xytext=(dx, dy), textcoords="offset points", fontsize=8, ha=side, va="center"
                )
        axes.set(xlim=ends, ylim=ends, xlabel=label_x, ylabel=label_y, aspect="equal")
        axes.spines[["top", "right"]].set_visible(False)
        text = io.StringIO()
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return _themed(text.getvalue())


def _places(points: list[tuple[float, float]], ends: tuple[float, float]) -> list[tuple[float, float, str] | None]:
    """Where each label goes: right of its point, left of it near the right edge, a little higher where neighbours crowd.

    A label that would have to stand far from its point is left out; the text beside the drawing names every point.
    """
    span = ends[1] - ends[0]
    order = sorted(range(len(points)), key=lambda i: (points[i][1], points[i][0]))
    placed: list[tuple[float, float, str] | None] = [None] * len(points)
    taken: list[tuple[float, float]] = []
    for i in order:
        x, y = points[i]
        left = (x - ends[0]) / span > 0.72
        middle = x - 0.12 * span if left else x + 0.12 * span
        lift = 0.0
        # a label is about a fifth of the axis long and a thirtieth high
        while any(abs(middle - u) < 0.22 * span and abs(y + lift - v) < 0.034 * span for u, v in taken):
            lift += 0.012 * span
        if lift <= 0.08 * span:
            taken.append((middle, y + lift))
            placed[i] = (-6.0 if left else 6.0, lift / span * 250, "right" if left else "left")
    return placed


def _themed(svg: str) -> str:
    """The drawing alone, in the page's colours, scaling with its box."""
    svg = svg[svg.index("<svg") :]
    for drawn, shown in _THEME.items():
        svg = svg.replace(drawn, shown)
    # text keeps the ink of the page; sizes come from the viewBox
    svg = re.sub(r'(<svg [^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg [^>]*?) height="[^"]*"', r"\1", svg, count=1)
    return svg.replace('style="font', 'fill="currentColor" style="font')
