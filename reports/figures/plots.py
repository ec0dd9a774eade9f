"""Figures for papers as objects of matplotlib: a column wide, with fonts as text, in colours that
people with any colour vision separate; the same audit gives the same bytes.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from hqm.reports.figures.drawings import truncate
from hqm.reports.figures.figure_data import (
    BoardRow,
    ItemPoint,
    board_rows,
    has_shift,
    item_points,
    type_scores,
)
from hqm.reports.pages.error_picture import SOURCES, ErrorPicture, MeasuresPicture
from hqm.reports.pages.leaderboard_sentences import contrasts_of
from hqm.reports.tables.score_tables import Order, orders
from hqm.reports.tables.table import leading_metric, short_name

from hqm import BenchmarkAudit, DesignError, UsageError
from hqm.auditing.budget import BudgetRow
from hqm.auditing.score_points import Points
from hqm.errors import missing_library

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hqm.comparison.measures import Measure

T = TypeVar("T")
WIDTH = 3.3
"""Inches of a column of a paper."""
_LEGEND_HEIGHT = 0.2
_DPI = 300
_MAX_NAME = 26
# Okabe and Ito's colours, which differ for every colour vision and in print
_BLUE = "#0072b2"
_ORANGE = "#d55e00"
_INK = "#14202b"
_FAINT = "#8a949e"
_BAND = "#b7c9da"
# Fonts stay text (fonttype none, and 42 which is TrueType): journals refuse Type 3 fonts, and text
# can be searched. The fixed hash salt gives elements the same ids in every run.
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "hqm",
    "pdf.fonttype": 42,
    "font.family": ["sans-serif"],
    "font.size": 7.5,
    "axes.titlesize": 8,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    # a name is no formula
    "text.parse_math": False,
    "text.usetex": False,
    # inches round a panel: letters are wider in one kind of file than in another
    "figure.constrained_layout.w_pad": 0.06,
    "figure.constrained_layout.h_pad": 0.06,
}
# A date or a version of the library would change the bytes of a file whose picture is the same.
_METADATA: Mapping[str, dict[str, None]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}


def plot(audits: Sequence[BenchmarkAudit], name: str) -> Figure:
    """A figure of audits, a panel each, as an object of matplotlib.

    Parameters
    ----------
    audits
        Each benchmark that has what the figure shows gets one panel.
    name
        One of `FIGURES`.

    Raises
    ------
    UsageError
        There is no such figure, or matplotlib is not installed.
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
    return _painted(lambda figure: FIGURES[name](figure, audits))


def plot_measures(measures: Sequence[Measure]) -> Figure:
    """The error budgets of several measures side by side, a panel a source.

    Raises
    ------
    UsageError
        matplotlib is not installed.
    DesignError
        No measure has an error budget.
    """
    return _painted(lambda figure: _measures(figure, measures))


def save(figure: Figure, kind: str) -> bytes:
    """A figure as the bytes of a file.

    Parameters
    ----------
    kind
        `svg`, `pdf` or `png`.

    Raises
    ------
    UsageError
        There is no such kind.
    """
    if kind not in _METADATA:
        raise UsageError(
            f"a figure cannot be written as {kind!r}",
            remedy="Name a file that ends in .svg, .pdf or .png.",
        )
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind)
    return buffer.getvalue()


@lru_cache(maxsize=1)
def _figure_type() -> type[Figure]:
    """The class of the figures: matplotlib's, which writes a file with the settings of a paper."""
    try:
        # matplotlib is an extra, and takes long to import: only a figure loads it.
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        missing = missing_library("figures", ["matplotlib"], "figures")
        raise UsageError(missing.message, remedy=missing.remedy) from None

    class PaperFigure(Figure):
        def savefig(self, fname: Any, **options: Any) -> None:
            """Write the figure; the fonts stay text, and no date is written."""
            name = "" if hasattr(fname, "write") else str(fname)
            kind = str(options.get("format") or name.rpartition(".")[2]).lower()
            defaults = {"dpi": _DPI, "transparent": True, "metadata": _METADATA.get(kind)}
            with mpl.rc_context(_SETTINGS):
                super().savefig(fname, **{**defaults, **options})

        # A notebook shows a figure by this method, without pyplot and its global state.
        def _repr_svg_(self) -> str:
            return save(self, "svg").decode()

    return PaperFigure


def _painted(paint: Callable[[Figure], None]) -> Figure:
    figure_type = _figure_type()
    import matplotlib as mpl

    # rc_context sets and restores, so that the settings of a user's session stay as they are.
    with mpl.rc_context(_SETTINGS):
        figure = figure_type(layout="constrained", dpi=_DPI)
        paint(figure)
        # laid out for good here: each further layout would move what is placed, by a hair
        for _ in range(2):
            figure.draw_without_rendering()
        figure.set_layout_engine("none")
        for axes in figure.axes:
            _place_title(figure, axes)
    return figure


def _place_title(figure: Figure, axes: Axes) -> None:
    """Move a panel's title into the figure, and cut it where it is wider: a panel with long names
    at its left is narrow.
    """
    width = figure.bbox.width
    text = axes.get_title()
    extent = axes.title.get_window_extent()
    length = len(text)
    while extent.width > _MAX_TITLE_WIDTH * width and length > 1:
        length -= 1
        axes.title.set_text(truncate(text, length))
        extent = axes.title.get_window_extent()
    margin = (1 - _MAX_TITLE_WIDTH) / 2 * width
    overhang = min(0.0, width - margin - extent.x1) or max(0.0, margin - extent.x0)
    axes.title.set_x(0.5 + overhang / axes.bbox.width)


_MAX_TITLE_WIDTH = 0.97
"""The share of the figure's width that a title may take: some kinds of file have wider letters."""


def _panels(figure: Figure, heights: Sequence[float]) -> list[Axes]:
    """A panel below the other for each height, a column wide."""
    figure.set_size_inches(WIDTH, sum(heights) + _LEGEND_HEIGHT)
    grid = figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)
    return list(grid.ravel())


def _row_panels(
    figure: Figure, drawable: Sequence[tuple[BenchmarkAudit, Sequence[object]]], row_height: float
) -> list[Axes]:
    """A panel for each audit, as high as its rows and its title take."""
    return _panels(figure, [0.6 + row_height * len(rows) for _, rows in drawable])


def _label(name: str) -> str:
    return truncate(short_name(name), _MAX_NAME)


def _require(rows: Sequence[object], reason: str) -> None:
    if not rows:
        raise DesignError(reason, remedy="The report says what would measure it.")


def _drawable(
    audits: Sequence[BenchmarkAudit],
    read: Callable[[BenchmarkAudit], Sequence[T]],
    reason: str,
) -> list[tuple[BenchmarkAudit, Sequence[T]]]:
    """The audits that have what a panel draws, each with it; `reason` is said where none has."""
    drawable = [(audit, rows) for audit in audits if (rows := read(audit))]
    _require(drawable, reason)
    return drawable


class Mark(NamedTuple):
    """A mark of a figure, and what it means."""

    marker: str
    colour: str
    words: str
    fill: str = ""
    """The colour within it, where that is another one."""


def _legend(figure: Figure, marks: Sequence[Mark]) -> None:
    """What the marks mean, below the panels."""
    from matplotlib.lines import Line2D

    handles = []
    for marker, colour, words, fill in marks:
        handle = Line2D([], [], marker=marker, color=colour, mfc=fill or colour, ls="", ms=4)
        handle.set_label(words)
        handles.append(handle)
    figure.legend(
        handles=handles, loc="outside lower center", ncols=2, frameon=False, handletextpad=0.2
    )


def _scored_board(audit: BenchmarkAudit) -> Sequence[BoardRow]:
    rows = board_rows(audit)
    if any(row.score is not None for row in rows):
        return rows
    return ()


def _leaderboard(figure: Figure, audits: Sequence[BenchmarkAudit]) -> None:
    """Scores with their intervals over pictures, best on top, a line between neighbours that
    differ.
    """
    drawable = _drawable(audits, _scored_board, "no audit has a respondent with a score")
    panels = _row_panels(figure, drawable, 0.15)
    for axes, (audit, rows) in zip(panels, drawable, strict=True):
        factor = Points.for_metric(audit).factor
        for y, neighbours in enumerate(contrasts_of(audit)[: len(rows) - 1]):
            if neighbours.outcome == "differ":
                axes.axhline(y + 0.5, color=_INK, linewidth=0.6)
        for y, row in enumerate(rows):
            if row.low is not None and row.high is not None:
                axes.plot([row.low * factor, row.high * factor], [y, y], color=_FAINT, lw=1)
            if row.score is not None:
                axes.plot(row.score * factor, y, "o", color=_BLUE, markersize=3.5)
        axes.set_yticks(range(len(rows)), [_label(row.name) for row in rows])
        # The limits are given from bottom to top: the larger one first puts the best on top.
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set(title=truncate(audit.title, 50), xlabel=f"points of {leading_metric(audit)}")


_NOT_SHOWN = "white"
"""Within the diamond of a shift that is not shown to differ from 0."""


def _budget_marks(rows: Iterable[BudgetRow]) -> list[Mark]:
    """The marks of these sources of error."""
    marks = [Mark("s", _BAND, "one model, 95%")]
    shown = {bool(row.excludes_zero) for row in rows if has_shift(row)}
    if True in shown:
        marks.append(Mark("D", _ORANGE, "all models together"))
    if False in shown:
        marks.append(Mark("D", _ORANGE, "all models, may be 0", _NOT_SHOWN))
    return marks


def _error_budget(figure: Figure, audits: Sequence[BenchmarkAudit]) -> None:
    """Every measured source of error as a bar in points, with the shift of the mean."""
    drawable = _drawable(audits, _drawn_sources, "no audit has an error budget")
    panels = _row_panels(figure, drawable, 0.22)
    for axes, (audit, rows) in zip(panels, drawable, strict=True):
        factor = Points.for_metric(audit).factor
        for y, row in enumerate(rows):
            _draw_row(axes, y, row, factor)
        axes.set_yticks(range(len(rows)), [SOURCES[row.source][0] for row in rows])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlim(left=0)
        axes.set(title=truncate(audit.title, 50), xlabel=f"points of {leading_metric(audit)}")
    _legend(figure, _budget_marks(chain.from_iterable(rows for _, rows in drawable)))


def _drawn_sources(audit: BenchmarkAudit) -> Sequence[BudgetRow]:
    budget = audit.budget.get(leading_metric(audit))
    if budget is None:
        return ()
    return ErrorPicture.of_audit(audit, budget).rows


def _draw_row(axes: Axes, y: float, row: BudgetRow, factor: float) -> None:
    """The bar of a source of error, and the shift of all models as a diamond."""
    if row.half is not None:
        axes.barh(y, row.half * factor, height=0.55, color=_BAND)
    if has_shift(row):
        # An open diamond is a shift that is not shown to differ from 0.
        fill = _ORANGE if row.excludes_zero else _NOT_SHOWN
        x = abs(row.shift or 0.0) * factor
        axes.plot(x, y, "D", color=_ORANGE, mfc=fill, markersize=3.5)


def _types(figure: Figure, audits: Sequence[BenchmarkAudit]) -> None:
    """The scores of every type: a point a respondent, and their mean as a stroke."""
    drawable = _drawable(audits, type_scores, "no audit has scores by type")
    panels = _row_panels(figure, drawable, 0.2)
    for axes, (audit, rows) in zip(panels, drawable, strict=True):
        factor = Points.for_metric(audit).factor
        for y, row in enumerate(rows):
            scores = [score * factor for score in row.scores.values()]
            axes.plot(scores, [y] * len(scores), "o", color=_BLUE, markersize=3, alpha=0.5)
            axes.plot(row.mean * factor, y, "|", color=_INK, markersize=9, markeredgewidth=1.5)
        labels = [f"{truncate(row.type, 20)} ({row.n_items:,})" for row in rows]
        axes.set_yticks(range(len(rows)), labels)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set(title=truncate(audit.title, 50), xlabel=f"points of {leading_metric(audit)}")
    _legend(figure, [Mark("o", _BLUE, "a model"), Mark("|", _INK, "their mean")])


def _rank_flips(figure: Figure, audits: Sequence[BenchmarkAudit]) -> None:
    """The order of the respondents in each administration; who moves far is drawn thick."""
    reason = "no audit has a second order: it needs a second run or wording"
    drawable = _drawable(audits, _several_orders, reason)
    panels = _panels(figure, [0.6 + 0.16 * len(columns[0].names) for _, columns in drawable])
    for axes, (audit, columns) in zip(panels, drawable, strict=True):
        names = columns[0].names
        # Three places are chance among few models; of many, a quarter of the board counts as far.
        far = max(3, math.ceil(len(names) / 4))
        for name in names:
            ranks = [column.names.index(name) + 1 for column in columns]
            moves_far = max(ranks) - min(ranks) >= far
            colour, width = (_ORANGE, 1.6) if moves_far else (_FAINT, 0.8)
            axes.plot(range(len(columns)), ranks, "o-", color=colour, lw=width, markersize=2.5)
        axes.set_yticks(range(1, len(names) + 1), [_label(name) for name in names])
        axes.set_ylim(len(names) + 0.6, 0.4)
        axes.set_xticks(
            range(len(columns)), [column.title.replace(" ", "\n") for column in columns]
        )
        axes.set_title(truncate(audit.title, 50))


def _several_orders(audit: BenchmarkAudit) -> Sequence[Order]:
    columns = orders(audit)
    return columns if len(columns) > 1 else ()


def _leading_items(audit: BenchmarkAudit) -> Sequence[ItemPoint]:
    return item_points(audit, leading_metric(audit))


def _items(figure: Figure, audits: Sequence[BenchmarkAudit]) -> None:
    """Difficulty and discrimination of the items; those to be read are marked."""
    reason = "no audit has the difficulty and discrimination of its items"
    drawable = _drawable(audits, _leading_items, reason)
    panels = _panels(figure, [2.5] * len(drawable))
    for axes, (audit, items) in zip(panels, drawable, strict=True):
        # The flagged items are drawn last, on top of the others.
        for flagged, marker, colour in ((False, "o", _BLUE), (True, "D", _ORANGE)):
            x = []
            y = []
            for item in items:
                if item.flagged == flagged:
                    x.append(item.difficulty)
                    y.append(item.item_rest)
            opacity = 0.9 if flagged else 0.3
            axes.plot(x, y, marker, color=colour, ms=3, alpha=opacity, mew=0)
        axes.axhline(0, color=_FAINT, lw=0.6)
        axes.set(
            title=truncate(audit.title, 50),
            xlabel="share of respondents that get it right",
            ylabel="correlation with the rest",
        )
    marks = [Mark("o", _BLUE, "an item")]
    if any(item.flagged for _, items in drawable for item in items):
        marks.append(Mark("D", _ORANGE, "to be read first"))
    _legend(figure, marks)


def _measures(figure: Figure, measures: Sequence[Measure]) -> None:
    """A panel for each source of error, with a bar for each measure."""
    picture = MeasuresPicture.of_measures(measures)
    _require(picture.sources, "no measure has an error budget")
    panels = _panels(figure, [0.45 + 0.17 * len(measures)] * len(picture.sources))
    for axes, source in zip(panels, picture.sources, strict=True):
        for y, single in enumerate(picture.pictures):
            for row in single.rows:
                if row.source == source:
                    _draw_row(axes, y, row, single.points.factor)
        axes.set_yticks(range(len(measures)), [truncate(m.label, _MAX_NAME) for m in measures])
        axes.set_ylim(len(measures) - 0.4, -0.6)
        axes.set_xlim(left=0)
        axes.set_title(SOURCES[source][0], loc="left")
    # one scale for all panels, so that bars of two sources can be compared with each other
    end = max(axes.get_xlim()[1] for axes in panels)
    for axes in panels:
        axes.set_xlim(0, end)
    panels[-1].set_xlabel("points")
    _legend(figure, _budget_marks(chain.from_iterable(single.rows for single in picture.pictures)))


FIGURES: Mapping[str, Callable[[Figure, Sequence[BenchmarkAudit]], None]] = {
    "error_budget": _error_budget,
    "leaderboard": _leaderboard,
    "types": _types,
    "rank_flips": _rank_flips,
    "items": _items,
}
"""Figures by name."""
