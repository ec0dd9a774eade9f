"""Figures as SVG text, drawn by matplotlib: the same numbers give the same bytes, and the page's theme gives the colours."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hqm import BenchmarkAudit, Cell, RespondentScores

# drawn in these colours, which are then replaced: ink by currentColor, the others by variables of the style sheet
INK, ACCENT, FAINT, QUIET, WARN = "#010203", "#040506", "#070809", "#0a0b0c", "#0d0e0f"
_THEME = {
    INK: "currentColor",
    ACCENT: "var(--accent)",
    FAINT: "var(--faint)",
    QUIET: "var(--quiet)",
    WARN: "var(--warn)",
}


def facet_pairs(audit: BenchmarkAudit) -> list[tuple[str, str]]:
    """The administrations that differ from the reference in one facet, each with that facet."""
    reference = Cell.parse(audit.reference)
    judged = audit.respondents[0].judged if audit.respondents else {}
    pairs = [(reference.differing(Cell.parse(name)), name) for name in (*audit.cells, *judged)]
    return [(facets[0], name) for facets, name in pairs if len(facets) == 1]


def other_score(row: RespondentScores, metric: str, other: str) -> float | None:
    """A respondent's score in another administration; for another judge, the share of answers it called faithful."""
    return row.judged[other] if other in row.judged else row.cells.get(other, {}).get(metric)


def scatter(audit: BenchmarkAudit, metric: str, other: str, label_x: str, label_y: str, names: Sequence[str]) -> str:
    """The scores of two administrations, one point per respondent, with the line of equality.

    Another judge's share of faithful answers need not have the scale or direction of the metric. Its axes are therefore
    free, and no line is drawn.
    """
    points = [(r.cells[audit.reference].get(metric), other_score(r, metric, other)) for r in audit.respondents]
    known = [(x, y, name) for (x, y), name in zip(points, names, strict=True) if x is not None and y is not None]
    if not known:
        return ""
    judged = other in audit.respondents[0].judged
    with drawing(4.6, 4.2) as (axes, finish):
        xs, ys, labels = zip(*known, strict=True)
        ends_x, ends_y = (ends(xs), ends(ys)) if judged else (ends([*xs, *ys]),) * 2
        if not judged:
            axes.plot(ends_x, ends_y, color=FAINT, linewidth=1, zorder=1)
        axes.scatter(xs, ys, s=28, color=ACCENT, zorder=2)
        label_points(axes, xs, ys, labels, ends_x, ends_y)
        axes.set(xlim=ends_x, ylim=ends_y, xlabel=label_x, ylabel=label_y, box_aspect=1)
        return finish()


@contextmanager
def drawing(width: float, height: float) -> Iterator[tuple[Any, Callable[[], str]]]:
    """Axes of this size in inches, in the style of the page, and a function that turns them into SVG text."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib.figure import Figure

    settings: dict[Any, Any] = {
        "svg.fonttype": "none",
        "svg.hashsalt": "hqm",
        "font.family": ["sans-serif"],
        "font.size": 10,
        "axes.edgecolor": INK,
        "axes.labelcolor": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "text.color": INK,
        # names come from data: a dollar sign in a name must not begin a formula
        "text.parse_math": False,
    }
    with mpl.rc_context(settings):
        figure = Figure(figsize=(width, height), layout="constrained")
        axes = figure.add_subplot()
        axes.spines[["top", "right"]].set_visible(False)

        def finish() -> str:
            text = io.StringIO()
            figure.savefig(text, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
            return _themed(text.getvalue())

        yield axes, finish


def label_points(
    axes: Any,
    xs: Sequence[float],
    ys: Sequence[float],
    labels: Sequence[str],
    ends_x: tuple[float, float],
    ends_y: tuple[float, float],
) -> None:
    """Write names beside the points where there is room."""
    labels = [_fitting(label) for label in labels]
    for x, y, label, place in zip(xs, ys, labels, _places(xs, ys, labels, ends_x, ends_y), strict=True):
        if place is not None:
            dx, dy, side = place
            axes.annotate(
                label, (x, y), xytext=(dx, dy), textcoords="offset points", fontsize=8, ha=side, va="center", parse_math=False
            )  # fmt: skip


def ends(values: Sequence[float]) -> tuple[float, float]:
    """The ends of an axis, with a margin."""
    low, high = min(values), max(values)
    margin = 0.06 * (high - low) or 0.05
    return low - margin, high + margin


def _places(
    xs: Sequence[float],
    ys: Sequence[float],
    labels: Sequence[str],
    ends_x: tuple[float, float],
    ends_y: tuple[float, float],
) -> list[tuple[float, float, str] | None]:
    """Where each label goes: right of its point, or left of it near the right edge, and higher where labels would overlap.

    A label that would have to be far from its point is left out; the alternative text names every point.
    """
    across = [(x - ends_x[0]) / (ends_x[1] - ends_x[0]) for x in xs]
    up = [(y - ends_y[0]) / (ends_y[1] - ends_y[0]) for y in ys]
    placed: list[tuple[float, float, str] | None] = [None] * len(xs)
    taken: list[tuple[float, float, float]] = []
    for i in sorted(range(len(xs)), key=lambda i: (up[i], across[i])):
        # a letter is about 1/65 of the axis wide, and a line about 1/30 high
        width = 0.0155 * len(labels[i])
        left = across[i] + width + 0.03 > 1
        start = across[i] - 0.02 - width if left else across[i] + 0.02
        lift = 0.0
        while any(start < end and begin < start + width and abs(up[i] + lift - v) < 0.034 for begin, end, v in taken):
            lift += 0.012
        if lift <= 0.08:
            taken.append((start, start + width, up[i] + lift))
            placed[i] = (-6.0 if left else 6.0, lift * 250, "right" if left else "left")
    return placed


_LONGEST = 18


def _fitting(label: str) -> str:
    """A label cut to a length that leaves room for others; the alternative text has the whole name."""
    return label if len(label) <= _LONGEST else f"{label[: _LONGEST - 1]}…"


def _themed(svg: str) -> str:
    """The SVG element in the colours of the page, without a fixed size."""
    svg = svg[svg.index("<svg") :]
    for drawn, shown in _THEME.items():
        svg = svg.replace(drawn, shown)
    # a page has many drawings: keep only the ids that are referred to, and make them unique
    used = set(re.findall(r'(?:url\(#|href="#)([\w-]+)', svg))
    own = hashlib.sha256(svg.encode()).hexdigest()[:8]
    svg = re.sub(r' id="([\w.-]+)"', lambda m: f' id="{own}-{m[1]}"' if m[1] in used else "", svg)
    svg = re.sub(r'(url\(#|href="#)([\w-]+)', rf"\g<1>{own}-\2", svg)
    # without width and height, the size comes from the viewBox and the page
    svg = re.sub(r'(<svg [^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg [^>]*?) height="[^"]*"', r"\1", svg, count=1)
    return svg.replace('style="font', 'fill="currentColor" style="font')
