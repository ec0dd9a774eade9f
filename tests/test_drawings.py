"""Drawings: what is drawn is where the numbers say, nothing overlaps, and those who cannot see it
are told.
"""

import itertools
import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from hqm.reports.figures import drawings, plots
from hqm.reports.figures.drawings import plot, scatter, ticks
from hqm.reports.figures.report_figures import (
    _row_in_words,
    board_figure,
    budget_figure,
    budget_strip,
    coefficients_figure,
)
from hqm.reports.pages.report_page import render
from hqm.reports.tables.score_tables import judged_table
from PIL import ImageFont

import hqm
from hqm import Audit, BenchmarkAudit, Store, UsageError
from hqm.auditing.budget import BudgetRow
from hqm.auditing.score_points import Points
from hqm.psychometrics import cronbach_alpha
from tests.messages import pattern_of
from tests.test_compare import measure
from tests.test_report import made
from tests.test_sentences import est

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Audit]:
    with Store(tmp_path_factory.mktemp("drawings") / "store.sqlite") as store:
        yield made(tmp_path_factory.mktemp("hostile"), store)


@pytest.fixture(scope="module")
def benchmark(audit: Audit) -> BenchmarkAudit:
    return audit.audits[0]


def drawings_of(benchmark: BenchmarkAudit) -> dict[str, str]:
    """Every drawing of a report, by name."""
    run = benchmark.cells[1]
    names = [row.name for row in benchmark.respondents]
    budget = benchmark.error_budget()
    return {
        "scatter": scatter(
            benchmark, "accuracy", run, "accuracy, original", "accuracy, 2nd run", names
        ),
        "budget": budget_figure(benchmark, budget),
        "narrow budget": budget_figure(benchmark, budget, narrow=True),
        "strip": budget_strip("A strip", budget, Points.for_metric(benchmark), 60.0),
        "board": board_figure(benchmark),
        "narrow board": board_figure(benchmark, narrow=True),
        "item_map": drawings.item_map(benchmark, "accuracy")[0],
    }


def circles(svg: str) -> list[tuple[float, float]]:
    return [
        (float(c.attrib["cx"]), float(c.attrib["cy"]))
        for c in ET.fromstring(svg).iter(f"{SVG}circle")
    ]


def level_lines(svg: str, width: str) -> list[tuple[float, float, float]]:
    """Lines across of this width: their ends and their height, from the top."""
    lines = []
    for path in ET.fromstring(svg).iter(f"{SVG}path"):
        points = re.findall(r"[ML]([\d.-]+) ([\d.-]+)", path.attrib["d"])
        if (
            path.attrib.get("stroke-width") == width
            and len(points) == 2
            and points[0][1] == points[1][1]
        ):
            lines.append((float(points[0][0]), float(points[1][0]), float(points[0][1])))
    return lines


def test_those_who_cannot_see_it_are_told(benchmark: BenchmarkAudit) -> None:
    drawings = drawings_of(benchmark)
    assert len(drawings) == 7
    for name, svg in drawings.items():
        root = ET.fromstring(svg)
        assert root.attrib["role"] == "img", name
        assert root.attrib["tabindex"] == "0", "the keyboard reaches it"
        title, description = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
        assert title is not None, name
        assert description is not None, name
        assert root.attrib["aria-label"] == title.text
        assert root.attrib["aria-describedby"] == description.attrib["id"]
        assert re.search(r"\d", description.text or ""), f"{name} says its numbers"
        colours = {
            e.attrib[a] for e in root.iter() for a in ("fill", "stroke") if a in e.attrib
        } - {"none"}
        assert all(c == "currentColor" or c.startswith("var(--") for c in colours), (name, colours)
    ids = [ET.fromstring(svg).attrib["aria-describedby"] for svg in drawings.values()]
    assert len(set(ids)) == len(ids)


def test_a_name_with_markup_is_text(benchmark: BenchmarkAudit) -> None:
    for name, svg in drawings_of(benchmark).items():
        assert "<b>" not in svg, name
    description = ET.fromstring(drawings_of(benchmark)["scatter"]).find(f"{SVG}desc")
    assert description is not None
    assert all(row.name in (description.text or "") for row in benchmark.respondents), (
        "every point is named, cut labels too"
    )


def test_points_lie_where_their_numbers_say(benchmark: BenchmarkAudit) -> None:
    run = benchmark.cells[1]
    points = np.array(circles(drawings_of(benchmark)["scatter"]))
    scores = np.array(
        [(r.scores["accuracy"], r.cells[run]["accuracy"]) for r in benchmark.respondents],
        dtype=float,
    )
    for axis in (0, 1):
        slope, intercept = np.polyfit(scores[:, axis], points[:, axis], 1)
        assert points[:, axis] == pytest.approx(slope * scores[:, axis] + intercept, abs=0.02)
        assert (slope > 0) == (axis == 0), "higher scores stand further right, and higher up"


def test_intervals_are_drawn_to_their_ends(benchmark: BenchmarkAudit) -> None:
    svg = drawings_of(benchmark)["board"]
    points, bars = circles(svg)[: len(benchmark.respondents)], level_lines(svg, "1.4")
    rows = sorted(benchmark.respondents, key=lambda r: -(r.scores["accuracy"] or 0))
    assert len(points) == len(bars) == len(rows)
    slope, intercept = np.polyfit(
        [r.scores["accuracy"] or 0 for r in rows], [x for x, _ in points], 1
    )
    for row, (low, high, y), (_, height) in zip(rows, bars, points, strict=True):
        assert y == height
        assert [low, high] == pytest.approx(
            [slope * (end or 0) + intercept for end in row.intervals["accuracy"]], abs=0.03
        )


def test_alpha_by_type_is_that_of_the_types_items(tmp_path: Path) -> None:
    with Store(tmp_path / "store.sqlite") as store:
        (benchmark,) = made(tmp_path, store).audits
        frame = hqm.evidence_of(str(tmp_path / "hostile"), store=store).to_frame()
    first = frame[(frame["form"] == "original") & (frame["run"] == 0)]
    table = first.pivot(index="respondent", columns="item", values="score")
    matrix = table[[f"q{i}" for i in range(120)]].to_numpy(float)
    rows = {row["type"]: row for row in benchmark.estimate("types.index").detail["types"]}
    item_indices = np.arange(matrix.shape[1])
    for i, kind in enumerate(("existence", "attribute", "relation", "counting")):
        row = next(r for k, r in rows.items() if k == kind)
        of_type = [p for p in item_indices if p % 8 == list(rows).index(kind)]
        alpha = cronbach_alpha(
            matrix[:, of_type], [p // 3 for p in of_type], drop="answers"
        ).coefficient
        assert row["alpha"] == pytest.approx(alpha.value), (i, kind)


def boxes_of_texts(svg: str) -> list[tuple[str, float, float, float, float]]:
    """Where every upright text stands, measured with a font of this machine and not with the
    drawing's own rule.
    """
    path = Path(mpl.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"
    boxes = []
    for text in ET.fromstring(svg).iter(f"{SVG}text"):
        if "transform" in text.attrib or not (text.text or "").strip():
            continue
        size = float(text.attrib["font-size"])
        # a page's own sans-serif is about a tenth narrower than DejaVu Sans, the widest in use
        wide = 0.9 * ImageFont.truetype(str(path), 100).getlength(text.text or "") * size / 100
        x, y = float(text.attrib["x"]), float(text.attrib["y"])
        left = (
            x
            - wide * {"start": 0, "middle": 0.5, "end": 1}[text.attrib.get("text-anchor", "start")]
        )
        boxes.append((text.text or "", left, left + wide, y - 0.72 * size, y + 0.1 * size))
    return boxes


def test_no_label_overlaps_another_or_leaves_the_sheet(benchmark: BenchmarkAudit) -> None:
    for name, svg in drawings_of(benchmark).items():
        _, _, width, height = map(float, ET.fromstring(svg).attrib["viewBox"].split())
        boxes = boxes_of_texts(svg)
        assert boxes, name
        for text, left, right, top, bottom in boxes:
            assert left > -2, (name, text, left)
            assert right < width + 2, (name, text, right, width)
            assert top > -1, (name, text, top)
            assert bottom < height + 1, (name, text, bottom, height)
        for (a, al, ar, at, ab), (b, bl, br, bt, bb) in itertools.combinations(boxes, 2):
            assert ar <= bl or br <= al or ab <= bt or bb <= at, (name, a, b)


def test_crowded_points_lose_names_and_never_overlap() -> None:
    rng = np.random.default_rng(0)
    crowded = plot(420, 392, (0, 1), (0, 1))
    crowded.draw_names(
        [
            (x, y, f"a-model-of-some-length-{i}")
            for i, (x, y) in enumerate(rng.random((60, 2)).tolist())
        ]
    )
    boxes = boxes_of_texts(crowded.drawing.finish("t", "1"))
    assert 5 < len(boxes) < 60
    for (a, al, ar, at, ab), (b, bl, br, bt, bb) in itertools.combinations(boxes, 2):
        assert ar <= bl or br <= al or ab <= bt or bb <= at, (a, b)


def test_one_pair_for_each_type(benchmark: BenchmarkAudit) -> None:
    evidence = render(Audit((benchmark,))).evidence
    pairs = evidence.partition('<figure class="pairs">')[2].partition("</figure>")[0]
    assert pairs.count("<strong>") == len([k for k in benchmark.coverage.values() if k["items"]])
    for row in benchmark.shown_items:
        assert f"<strong>{row['type']}</strong>" in pairs
        assert row["prompt"].split()[0] in pairs
        assert row["thumbnail"] in pairs
    pictures = [row["image"] for row in benchmark.shown_items if row["thumbnail"]]
    assert len(set(pictures)) == len(pictures), "each type shows a picture of its own"


def test_a_report_needs_no_matplotlib(audit: Audit, monkeypatch: pytest.MonkeyPatch) -> None:
    before = render(audit)
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    plots._figure_type.cache_clear()
    assert render(audit) == before
    with pytest.raises(UsageError, match=pattern_of("figure.no-matplotlib")):
        audit.plot("leaderboard")


def test_an_audit_of_an_earlier_version_is_drawn_without_what_it_lacks(
    benchmark: BenchmarkAudit,
) -> None:
    old = []
    for e in benchmark.all_estimates:
        if e.indicator == "items.discrimination":
            e = replace(
                e,
                detail={**e.detail, "map": None},
            )
        if e.indicator == "types.index":
            e = replace(
                e,
                detail={
                    "types": [
                        {k: v for k, v in row.items() if "alpha" not in k}
                        for row in e.detail["types"]
                    ]
                },
            )
        if e.indicator.startswith("generalizability."):
            e = replace(
                e,
                detail={
                    **e.detail,
                    "curve": [
                        {k: v for k, v in r.items() if "error" not in k}
                        for r in e.detail.get("curve", ())
                    ],
                },
            )
        old.append(e)
    earlier = replace(benchmark, all_estimates=tuple(old), shown_items=())
    caption = "What each type asks"
    assert caption not in render(Audit((earlier,))).evidence
    assert caption in render(Audit((benchmark,))).evidence


def test_ticks_are_round_and_few() -> None:
    rng = np.random.default_rng(1)
    for low, span in zip(rng.normal(0, 3, 200), 10 ** rng.uniform(-3, 3, 200), strict=True):
        tick_values, decimals = ticks(low, low + span, 6)
        assert 2 <= len(tick_values) <= 7, (low, span)
        assert all(low - 1e-9 <= p <= low + span + 1e-9 for p in tick_values)
        assert len({f"{p:.{decimals}f}" for p in tick_values}) == len(tick_values), (
            "no two ticks read the same"
        )


def points_of(path: ET.Element) -> list[tuple[float, float]]:
    return [
        (float(x), float(y)) for x, y in re.findall(r"[ML]([\d.-]+) ([\d.-]+)", path.attrib["d"])
    ]


def lines_of(svg: str) -> list[list[tuple[float, float]]]:
    return list(map(points_of, ET.fromstring(svg).iter(f"{SVG}path")))


def test_a_whisker_has_a_stroke_at_either_end() -> None:
    sheet = plot(100, 100, (0, 1), (0, 1)).drawing
    sheet.whisker(20, 80, 50, "red")
    across, *strokes = lines_of(sheet.finish("a", "b"))[-3:]
    assert across == [(20, 50), (80, 50)]
    assert strokes == [[(x, 46.5), (x, 53.5)] for x in (20, 80)]


def test_coefficients_stand_where_their_values_say() -> None:
    values = (0.2, 0.5, 0.9, 1.0)
    measures = [
        measure(str(value), np.zeros(3), estimates=(est("test_retest.rho_g", value),))
        for value in values
    ]
    dots = circles(coefficients_figure(measures, "t"))
    assert np.diff([x for x, _ in dots]) / (dots[-1][0] - dots[0][0]) == pytest.approx(
        np.diff(values) / 0.8, abs=1e-3
    )


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("shift", [-0.3, 0.3])
def test_the_parts_of_a_source_stand_on_one_line(
    shift: float, narrow: bool, benchmark: BenchmarkAudit
) -> None:
    """A line down to the gaps begins in the middle of its bar; the arrow of answers without the
    picture continues its line, is symmetric about it and points away from zero.
    """
    budget = benchmark.error_budget()
    blind = BudgetRow(source="blind", status="ok", shift=shift, moves={"a": shift})
    rows = (*(row for row in budget.rows if row.source != "blind"), blind)
    svg = budget_figure(benchmark, replace(budget, rows=rows), narrow=narrow)
    paths = list(ET.fromstring(svg).iter(f"{SVG}path"))
    dashed = [path for path in paths if path.attrib.get("stroke-dasharray") == "2 3"]
    starts = {float(points[0][1]) for points in map(points_of, dashed)}
    bars = re.findall(r"M[\d.-]+ ([\d.-]+)h[\d.-]+v12h", svg)
    assert starts
    assert starts <= {float(y) + 6 for y in bars}
    (arrow,) = (
        points
        for path in paths
        if path.attrib["d"].endswith("Z")
        for points in [points_of(path)]
        if len(points) == 3
    )
    (x, top), (tip, middle), (end, bottom) = arrow
    assert (x, middle - top) == (end, bottom - middle)
    assert (tip > x) == (shift > 0)
    assert any(
        line[1] == (x, middle) and line[0][1] == middle for line in lines_of(svg) if len(line) == 2
    )


def test_of_two_curves_the_first_is_named_above_and_the_second_below() -> None:
    curves = {name: [(x / 4, 0.5) for x in range(5)] for name in ("these", "others")}
    svg = drawings.error_curves(curves, (0.9, 1.0), [0.5], "errors")
    heights = {text.text: float(text.attrib["y"]) for text in ET.fromstring(svg).iter(f"{SVG}text")}
    curve_height = next(points[0][1] for points in lines_of(svg) if len(points) == 5)
    # the baseline of a name stands on its height
    assert heights["these"] < curve_height < heights["others"] - 8


@pytest.mark.parametrize("source", ["items", "metric", "wording"])
def test_models_move_together_to_another_wording_and_not_to_other_items(
    source: str, benchmark: BenchmarkAudit
) -> None:
    points = Points.for_metric(benchmark)
    still = BudgetRow(source=source, status="ok", half=0.05)
    moved = replace(still, shift=0.02, low=0.01, high=0.03)
    are_alike = _row_in_words(still, points) == _row_in_words(moved, points)
    assert are_alike == (source != "wording")


def test_no_name_begins_on_the_axis() -> None:
    axes = plot(100, 100, (0, 1), (0, 1))
    places = [
        axes._label_position(x, 50, 30, 11, ()) for x in np.arange(axes.x.start, axes.x.end, 0.25)
    ]
    assert min(left for left, _ in filter(None, places)) == axes.x.start + 2


def test_a_judge_that_is_a_rule_is_not_called_people(benchmark: BenchmarkAudit) -> None:
    judged = {"form=original|run=0|judge=human": 0.5, "form=original|run=0|judge=chair": 0.4}
    rows = tuple(replace(row, judged=judged) for row in benchmark.respondents)
    table = judged_table(replace(benchmark, respondents=rows))
    assert table is not None
    heads = [str(column.title) for column in table.columns]
    assert ["people" in head.partition("(")[0] for head in heads[2:4]] == [True, False]
