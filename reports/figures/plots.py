"""Named figures for papers as SVG, PDF or PNG; the same audit gives the same bytes."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hqm.reports.pages.error_picture import SOURCES, largest_row
from hqm.reports.pages.phrases import Points
from hqm.reports.tables.table import leading_metric, short_name

from hqm import Audit, BenchmarkAudit, DesignError, ErrorBudget, UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ACCENT, _FAINT, _BAND, _INK = "#0b6394", "#8a949e", "#b7c9da", "#14202b"
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "hqm",
    "pdf.fonttype": 42,
    "font.family": ["sans-serif"],
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
_METADATA: Mapping[str, dict[str, None]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}


def draw(audits: Sequence[Audit], name: str, kind: str) -> bytes:
    """A figure as the bytes of a file.

    Parameters
    ----------
    audits
        Each benchmark that has what the figure shows gets one panel.
    name
        One of `FIGURES`.
    kind
        `svg`, `pdf` or `png`.

    Raises
    ------
    UsageError
        There is no such figure or kind.
    DesignError
        The audits have nothing of what the figure shows.
    """
    if name not in FIGURES:
        raise UsageError(
            f"there is no figure {name!r}",
            remedy=f"The figures are {', '.join(FIGURES)}.",
            name=name,
            choices=FIGURES,
        )
    benchmark_audits = [benchmark for audit in audits for benchmark in audit.audits]
    return _file(lambda figure: FIGURES[name](figure, benchmark_audits), kind)


def _file(paint: Callable[[Figure], None], kind: str) -> bytes:
    if kind not in _METADATA:
        raise UsageError(
            f"a figure cannot be written as {kind!r}",
            remedy="Name a file that ends in .svg, .pdf or .png.",
        )
    try:
        import matplotlib as mpl
    except ModuleNotFoundError:
        raise UsageError(
            "a figure is drawn by matplotlib, which is missing",
            remedy="Run: pip install 'hqm-audit[figures]'.",
        ) from None

    mpl.use("svg")
    from matplotlib.figure import Figure

    with mpl.rc_context(_SETTINGS):
        figure = Figure(layout="constrained")
        paint(figure)
        buffer = io.BytesIO()
        figure.savefig(buffer, format=kind, dpi=300, transparent=True, metadata=_METADATA[kind])
    return buffer.getvalue()


def _panels(
    figure: Figure, count: int, width: float, height: float, *, max_columns: int = 3
) -> list[Axes]:
    columns = min(count, max_columns)
    rows = math.ceil(count / columns)
    figure.set_size_inches(width * columns, height * rows)
    grid = figure.subplots(rows, columns, squeeze=False)
    axes = list(grid.ravel())
    for unused in axes[count:]:
        unused.set_visible(False)
    return axes[:count]


def _leaderboard(figure: Figure, audits: Sequence[BenchmarkAudit]) -> None:
    """Scores with their intervals over pictures, best on top."""
    scored_audits = [audit for audit in audits if audit.respondents]
    if not scored_audits:
        raise DesignError("no audit has a respondent")
    n_rows = max(len(audit.respondents) for audit in scored_audits)
    for axes, audit in zip(
        _panels(figure, len(scored_audits), 3.4, 0.6 + 0.19 * n_rows), scored_audits, strict=True
    ):
        metric = next(iter(audit.metrics))
        sign = 1 if audit.metrics[metric]["better"] == "lower" else -1
        rows = [
            (s, r.intervals.get(metric), short_name(r.name))
            for r in audit.respondents
            if (s := r.scores.get(metric)) is not None
        ]
        rows.sort(key=lambda row: -sign * row[0])
        for y, (score, span, _) in enumerate(rows):
            if span is not None and span[0] is not None and span[1] is not None:
                axes.plot([span[0], span[1]], [y, y], color=_FAINT, linewidth=1)
            axes.plot(score, y, "o", color=_ACCENT, markersize=3.5)
        axes.set_yticks(range(len(rows)), [_without_math(name) for _, _, name in rows])
        axes.set(title=_without_math(audit.title), xlabel=_without_math(metric))


def _error_budget(figure: Figure, audits: Sequence[BenchmarkAudit]) -> None:
    """Every measured source of error as a band in points, with the shift of the mean."""
    budgets = [(audit, audit.budget.get(leading_metric(audit))) for audit in audits]
    budgeted = [
        (audit, budget)
        for audit, budget in budgets
        if budget is not None and largest_row(budget.rows)
    ]
    if not budgeted:
        raise DesignError("no audit has an error budget", remedy="Audit it again.")
    n_rows = max(len(budget.rows) for _, budget in budgeted)
    # one axis for all panels, so that bars of two benchmarks can be held against each other
    end = max(1.05 * Points.for_metric(audit).factor * _reach(budget) for audit, budget in budgeted)
    for axes, (audit, budget) in zip(
        _panels(figure, len(budgeted), 3.4, 0.6 + 0.24 * n_rows), budgeted, strict=True
    ):
        factor = Points.for_metric(audit).factor
        rows = [row for row in budget.rows if row.half is not None][::-1]
        for y, row in enumerate(rows):
            axes.barh(y, (row.half or 0.0) * factor, height=0.6, color=_BAND)
            if row.shift is not None and row.source not in ("items", "metric"):
                fill = _INK if row.excludes_zero else "white"
                axes.plot(abs(row.shift) * factor, y, "D", color=_INK, mfc=fill, markersize=4)
        axes.set_yticks(range(len(rows)), [SOURCES[row.source][0] for row in rows])
        axes.set_xlim(0, end or 1.0)
        axes.set(
            title=_without_math(audit.title), xlabel=_without_math(f"points of {budget.metric}")
        )


def _reach(budget: ErrorBudget) -> float:
    return max(
        max(row.half or 0.0, abs(row.shift or 0.0)) for row in budget.rows if row.half is not None
    )


FIGURES: Mapping[str, Callable[[Figure, Sequence[BenchmarkAudit]], None]] = {
    "leaderboard": _leaderboard,
    "error_budget": _error_budget,
}
"""Figures by name."""


def _without_math(text: str) -> str:
    """Text in which a dollar sign does not begin a formula."""
    return text.replace("$", r"\$")
