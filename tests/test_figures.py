"""Figures for papers: objects of matplotlib with the page's own values, a column wide, the same
bytes for the same audit.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hqm.reports.figures import drawings, plots
from hqm.reports.figures.report_figures import board_figure, budget_figure
from hqm.reports.tables.score_tables import orders
from hqm.reports.tables.table import short_name

import hqm
from hqm.auditing.audit import Audit, BenchmarkAudit
from hqm.auditing.score_points import Points
from hqm.errors import missing_library
from hqm.psychometrics.validity import correlation
from tests.conftest import Run
from tests.messages import tells
from tests.test_paper_tables import audit as audit

NAMES = ["error_budget", "leaderboard", "types", "rank_flips", "items"]


@pytest.fixture(scope="module")
def benchmark(audit: Audit) -> BenchmarkAudit:
    return audit.audits[0]


def lines_of(figure: Any, marker: str) -> list[tuple[list[float], list[float]]]:
    """The points of every line with a marker."""
    return [
        (list(map(float, line.get_xdata())), list(map(float, line.get_ydata())))
        for axes in figure.axes
        for line in axes.lines
        if line.get_marker() == marker
    ]


def test_there_are_five_figures() -> None:
    assert list(plots.FIGURES) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_is_a_column_wide_and_the_same_bytes(audit: Audit, name: str) -> None:
    figure = audit.plot(name)
    assert figure.get_figwidth() == pytest.approx(3.3)
    for kind, begin in (("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG")):
        content = plots.save(figure, kind)
        assert content.startswith(begin)
        assert content == plots.save(audit.plot(name), kind)
        assert b"/Type3" not in content, "journals refuse fonts of type 3"
        assert not re.search(rb"CreationDate|<dc:date>", content)
    svg = plots.save(figure, "svg").decode()
    assert "<text" in svg, "words stay words"
    assert "<b>" not in svg, "one respondent has markup in its name"


def many_models(audit: Audit) -> Audit:
    """The audit's first benchmark with four more copies of every respondent under other names, and
    a title wider than a column.
    """
    benchmark = audit.audits[0]
    respondents = tuple(
        replace(row, name=f"{row.name} {copy}" if copy else row.name)
        for copy in range(5)
        for row in benchmark.respondents
    )
    return Audit((replace(benchmark, title="LARGE MODELS " * 9, respondents=respondents),))


@pytest.mark.parametrize("of", [lambda audit: audit, many_models], ids=["few", "many"])
@pytest.mark.parametrize("name", NAMES)
def test_the_rows_of_a_figure_can_be_read_and_none_is_cut_off(
    audit: Audit, name: str, of: Callable[[Audit], Audit]
) -> None:
    figure = of(audit).plot(name)
    figure.canvas.draw()
    for axes in figure.axes:
        labels = [label.get_window_extent() for label in axes.get_yticklabels() if label.get_text()]
        tops = sorted((box.y0, box.y1) for box in labels)
        assert all(below[1] <= above[0] + 0.5 for below, above in itertools.pairwise(tops))
        for box in [*labels, axes.title.get_window_extent(), axes.xaxis.label.get_window_extent()]:
            room = figure.bbox.padded(0.5)
            assert room.x0 <= box.x0 <= box.x1 <= room.x1
            assert room.y0 <= box.y0 <= box.y1 <= room.y1


def test_the_leaderboard_shows_the_scores_of_the_page(benchmark: BenchmarkAudit) -> None:
    points = Points.for_metric(benchmark)
    figure = benchmark.plot("leaderboard")
    scores = [x[0] for x, _ in lines_of(figure, "o")]
    page = board_figure(benchmark)
    numbers = re.findall(r"\d+\. .*? ([\d.]+)(?:;|\.<)", page)[: len(scores)]
    assert [points.format(score / points.factor) for score in scores] == numbers
    assert len(scores) == len(benchmark.respondents)


def test_the_error_budget_shows_the_bars_of_the_page(benchmark: BenchmarkAudit) -> None:
    budget, points = benchmark.error_budget(), Points.for_metric(benchmark)
    (axes,) = benchmark.plot("error_budget").axes
    widths = [patch.get_width() for patch in axes.patches]
    page = budget_figure(benchmark, budget)
    shown = re.findall(r">±([\d.]+)<", page)
    assert [points.format(width / points.factor) for width in widths]
    assert {points.format(width / points.factor) for width in widths} <= set(shown)


def test_orders_types_and_items_are_those_of_the_page(benchmark: BenchmarkAudit) -> None:
    columns = orders(benchmark)
    ranks = [y for _, y in lines_of(benchmark.plot("rank_flips"), "o")]
    for name, places in zip(columns[0].names, ranks, strict=True):
        assert places == [column.names.index(name) + 1 for column in columns]
        assert short_name(name)
    factor = Points.for_metric(benchmark).factor
    by_type = lines_of(benchmark.plot("types"), "o")
    drawn = [x / factor for xs, _ in by_type for x in xs]
    scores = [
        respondent.by_type[kind]
        for kind in benchmark.coverage
        for respondent in benchmark.respondents
        if respondent.by_type.get(kind) is not None
    ]
    assert drawn == pytest.approx(scores)
    items = benchmark.plot("items")
    groups = [lines_of(items, marker) for marker in ("o", "D")]
    n_items = sum(len(x) for group in groups for x, _ in group)
    assert n_items == drawings.item_map(benchmark, "accuracy")[1]


@pytest.mark.parametrize("name", ["error_budget", "types", "items"])
def test_a_legend_explains_what_is_drawn_and_nothing_else(
    benchmark: BenchmarkAudit, name: str
) -> None:
    """A diamond "to be read first" stood below items of which none was."""
    figure = benchmark.plot(name)

    def look_of(line: Any) -> tuple[str, str]:
        return line.get_marker(), str(line.get_markerfacecolor())

    lines = [line for axes in figure.axes for line in axes.get_lines() if len(line.get_xdata())]
    drawn = {look_of(line) for line in lines if line.get_marker() in ("o", "D", "|")}
    handles = figure.legends[0].legend_handles
    explained = {look_of(handle) for handle in handles if handle.get_marker() != "s"}
    assert explained == drawn
    assert len({handle.get_label() for handle in handles}) == len(handles)


def test_a_comparison_is_drawn(audit: Audit, benchmark: BenchmarkAudit) -> None:
    second = replace(benchmark, benchmark="second", title="Second")
    comparison = hqm.compare(Audit((benchmark, second)))
    figure = comparison.plot()
    assert figure.get_figwidth() == pytest.approx(3.3)
    widths = {round(patch.get_width(), 6) for axes in figure.axes for patch in axes.patches}
    halves = {round(100 * row.half, 6) for row in benchmark.error_budget().rows if row.half}
    assert widths & halves


@pytest.mark.parametrize("name", NAMES)
def test_the_command_writes_every_figure(run: Run, audit: Audit, tmp_path: Path, name: str) -> None:
    path = tmp_path / "audit.json"
    path.write_text(audit.to_json(), encoding="utf-8")
    for suffix in ("svg", "pdf", "png"):
        to = tmp_path / f"f.{suffix}"
        assert run("report", path, "--figure", name, "--to", to)[0] == 0
        assert to.read_bytes() == plots.save(audit.plot(name), suffix)


def test_a_figure_that_there_is_not_is_refused_with_the_list(
    run: Run, audit: Audit, tmp_path: Path
) -> None:
    with pytest.raises(hqm.UsageError, match="error_budget, leaderboard, types, rank_flips, items"):
        audit.plot("pie")
    path = tmp_path / "audit.json"
    path.write_text(audit.to_json(), encoding="utf-8")
    status, _, err = run("report", path, "--figure", "leaderbord", "--to", tmp_path / "f.svg")
    assert (status, tells(err, "name.near", near="leaderboard")) == (2, True)
    with pytest.raises(hqm.UsageError, match="gif"):
        plots.save(audit.plot("types"), "gif")


def test_what_is_missing_is_said_in_the_words_of_one_function() -> None:
    sentence = missing_library("these correlations", ["pingouin"], "stats")
    assert f"{correlation._NO_PINGOUIN}." == str(sentence)
