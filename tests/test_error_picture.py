"""Title, bars and marks of an error budget are of one value: random budgets and comparisons, read
from the page as a reader sees it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hqm.reports.figures.report_figures import budget_figure, measures_figure
from hqm.reports.pages.compare_page import render, strips
from hqm.reports.pages.error_picture import SOURCES, ErrorPicture, MeasuresPicture

from hqm.auditing.budget import BudgetRow, ErrorBudget, ErrorSource, Gap
from hqm.auditing.score_points import Points
from hqm.comparison.measures import Measure
from tests.test_compare import measure
from tests.test_comparison_answers import comparison
from tests.test_sentences import NAMES, audit_of

N_DRAWS = 200
"""Random audits, or comparisons, of each test."""


def draw_budget(rng: np.random.Generator) -> ErrorBudget:
    """A budget with errors from ±0.0 to ±80 points, shifts to both sides, and up to nine gaps."""
    rows: list[BudgetRow] = []
    for name in SOURCES:
        source: ErrorSource = name  # type: ignore[assignment]
        if name != "items" and rng.random() < 0.4:
            absent = "not_applicable" if name == "metric" else "not_measured"
            rows.append(BudgetRow(source=source, status=absent))
            continue
        half = float(rng.choice([0.0, 0.0003, rng.uniform(0.001, 0.1), rng.uniform(0.1, 0.8)]))
        shift = float(rng.normal(0, 0.05))
        rows.append(
            BudgetRow(
                source=source,
                status="ok",
                half=None if source == "blind" else half,
                shift=shift,
                low=shift - 0.03,
                high=shift + 0.03,
                other=("another",),
                moves={
                    name: shift + float(m)
                    for name, m in zip(NAMES, rng.normal(0, half / 2, 10), strict=True)
                },
            )
        )
    gaps = []
    for first, second in pairwise(NAMES[: rng.integers(2, 11)]):
        gap = float(rng.choice([0.0, 0.001, rng.uniform(0, 0.3)]))
        clear = [row.source for row in rows if row.half is not None and row.half < gap]
        above = [row.source for row in rows if row.half is not None and row.half >= gap]
        gaps.append(
            Gap(
                first=first,
                other=second,
                gap=gap,
                low=gap - 0.02,
                high=gap + 0.02,
                clear=tuple(clear),
                not_clear=tuple(above),
            )
        )
    return ErrorBudget(metric="accuracy", rows=tuple(rows), gaps=tuple(gaps))


def printed_halves(svg: str) -> list[float]:
    """The numbers behind ± in a picture, those of the shift of other items left out."""
    texts = re.findall(r'<text[^>]*font-weight="600"[^>]*>±([\d.]+)<', svg)
    return [float(text) for text in texts]


def bar_widths(svg: str, height: int) -> list[float]:
    return [float(x) for x in re.findall(rf'h([\d.]+)v{height}h[^"]*" fill="var\(--bar\)"', svg)]


def diamonds(svg: str) -> list[float]:
    """Where the middles of the diamonds lie."""
    return [
        float(x)
        for x in re.findall(
            r'<path d="M[\d.-]+ [\d.-]+L([\d.-]+) [^"]*Z" fill="var\(--(?:ink|paper)\)"', svg
        )
    ]


def shifts_on_their_side(svg: str, rows: Sequence[BudgetRow]) -> int:
    """How many diamonds lie to the left of 0; each lies on the side of its shift."""
    zero = (224 + 814) / 2
    shifted = [row for row in rows if row.source not in ("items", "blind")]
    places = diamonds(svg)
    for row, x in zip(shifted, places, strict=True):
        assert row.shift is not None
        assert np.sign(round(x - zero, 1)) in (0, np.sign(row.shift))
    return sum(x < zero for x in places)


@pytest.mark.parametrize("narrow", [False, True])
def test_identical_scores_have_no_error_and_no_interval(narrow: bool) -> None:
    rows = tuple(
        BudgetRow(
            source=source, status="ok", half=half, shift=0.0, low=-half, high=half, moves=moves
        )
        for source, half in (("seed", 0.0), ("items", 0.04))
        for moves in [dict.fromkeys(NAMES, half)]
    )
    page = budget_figure(audit_of(), ErrorBudget(metric="accuracy", rows=rows), narrow=narrow)
    assert "Another seed: identical scores" in page
    assert "0.0]" not in page
    assert "±0.0" not in page
    assert "Other items plus or minus 4.0" in page


@pytest.mark.parametrize("narrow", [False, True])
def test_the_title_of_a_budget_is_of_its_picture(narrow: bool) -> None:
    rng = np.random.default_rng(3)
    audit = audit_of()
    seen = set()
    n_left = 0
    for _ in range(N_DRAWS // 2):
        budget = draw_budget(rng)
        picture = ErrorPicture.of_audit(audit, budget)
        svg = budget_figure(audit, budget, narrow=narrow)
        title, bars = picture.title, picture.bars
        assert html.escape(title) in svg
        drawn = [row for row in picture.rows if row.half is not None]
        widths = bar_widths(svg, 12)
        assert len(widths) == len(drawn)
        named = re.search(r"shift one model by ([\d.]+) points", title)
        if not bars:
            assert named is None
            continue
        assert named is not None
        assert float(named[1]) == max(float(picture.points.format(row.half)) for row in drawn)
        longest = drawn[int(np.argmax(widths))]
        assert picture.points.format(longest.half) == named[1], "the longest bar is the named one"
        if not narrow:
            assert max(printed_halves(svg)) == float(named[1])
            n_left += shifts_on_their_side(svg, picture.rows)
        # of other items a contrast is shown or not, however small their errors are
        printed = {row.source: float(picture.points.format(row.half)) for row in drawn}
        visible = [row for row in drawn if row.source == "items" or printed[row.source] > 0]
        for mark in picture.gaps:
            gap = mark.gap.gap or 0.0
            seen.add(mark.code)
            assert (mark.code == "fine") == (
                bool(visible) and all((r.half or 0) < gap for r in visible)
            )
            assert (mark.code == "not_measured") == all((r.half or 0) >= gap for r in visible)
            assert ("above every" in mark.words) == (mark.code == "fine")
            assert ("within every measured" in mark.words) == (
                mark.code == "not_measured" and bool(visible)
            )
            zeros = {row.source for row in drawn} - {row.source for row in visible}
            assert not zeros & {*mark.smaller_errors, *mark.larger_errors}
        n_above = sum(mark.code == "fine" for mark in picture.gaps)
        assert (
            "above every measured error" in title and " not " not in title and "No gap" not in title
        ) == (n_above > 0)
        assert not ("above every" in title and "within every" in title)
    assert seen == {"fine", "look", "not_measured"}
    assert narrow or n_left > 100


def draw_measures(rng: np.random.Generator) -> tuple[Measure, ...]:
    measures = []
    for label in "abcd"[: rng.integers(2, 5)]:
        factor = 1.0 if rng.random() < 0.7 else 5.0  # scores of a scale beyond 1 are in units
        scores = np.linspace(0.2, 0.9, 10) * factor
        budget = draw_budget(rng) if rng.random() < 0.8 else None
        measures.append(replace(measure(label, scores), budget=budget))
    return tuple(measures)


def test_a_comparison_names_the_largest_bar_that_it_draws() -> None:
    rng = np.random.default_rng(5)
    n_named = 0
    for _ in range(N_DRAWS):
        measures = draw_measures(rng)
        picture = MeasuresPicture.of_measures(measures)
        if not picture.sources:
            continue
        svg = measures_figure(measures, picture)
        numbers = [float(text) for text in re.findall(r">±([\d.]+)", svg)]
        widths = bar_widths(svg, 10)
        title = picture.title
        named = re.search(r"one model of (\w) by ([\d.]+) points", title)
        assert named is not None
        n_named += 1
        assert html.escape(title) in svg
        assert len(numbers) == len(widths)
        largest = picture.largest
        assert largest is not None
        assert float(named[2]) == pytest.approx(
            max(bar.half for p in picture.pictures for bar in p.bars), abs=0.06
        )
        # widths of all panels are on one scale
        assert numbers[int(np.argmax(widths))] == float(named[2])
        for label, strip in strips(replace(comparison([]), measures=measures)).items():
            (drawn,) = (p for p in picture.pictures if p.measure == label)
            texts = re.findall(r">±([\d.]+)<", strip)
            assert sorted(map(float, texts)) == sorted(float(bar.text) for bar in drawn.bars)
    assert n_named > 150


def test_a_page_of_a_comparison_has_one_title() -> None:
    rng = np.random.default_rng(6)
    for _ in range(5):
        measures = draw_measures(rng)
        compared: Any = comparison([], labels=[m.label for m in measures])
        budgets = tuple(
            replace(m, budget=b.budget) for m, b in zip(compared.measures, measures, strict=True)
        )
        compared = replace(compared, measures=budgets)
        page = html.unescape(render(compared))
        title = MeasuresPicture.of_measures(compared.measures).title
        if MeasuresPicture.of_measures(compared.measures).sources:
            assert f'<h2 id="budgets">{title}</h2>' in page


def test_an_error_that_is_printed_as_0_colours_no_gap() -> None:
    """A gap of .1 was amber, "clear of people", because people moved ±0.0."""
    rows = (
        BudgetRow(source="people", status="ok", half=0.0002, moves={"a": 0.0}),
        BudgetRow(source="wording", status="ok", half=0.03, moves={"a": 0.01}),
    )
    gap = Gap(
        first="a",
        other="b",
        gap=0.001,
        low=-0.01,
        high=0.01,
        clear=("people",),
        not_clear=("wording",),
    )
    budget = ErrorBudget(metric="accuracy", rows=rows, gaps=(gap,))
    (mark,) = ErrorPicture.of_budget(budget, Points(100.0, 1)).gaps
    assert (mark.code, mark.words) == ("not_measured", "within every measured error")


@pytest.mark.parametrize(
    ("gap", "clear", "words"),
    [
        (0.13, (), "undecided on new items"),
        (0.13, ("metric",), "undecided on new items"),
        (0.13, ("wording",), "smaller than metric"),
        (0.05, ("metric",), "smaller than items"),
        (0.05, (), "within every measured error"),
    ],
)
def test_a_gap_beyond_the_bar_of_other_items_is_not_called_smaller(
    gap: float, clear: tuple[ErrorSource, ...], words: str
) -> None:
    """A gap of 13.0 points was "smaller than items", whose bar ended at 8.9."""
    measured: list[ErrorSource] = ["items", *(clear or ("metric",))]
    if clear == ("wording",):
        measured.append("metric")
    rows = tuple(BudgetRow(source=source, status="ok", half=0.089) for source in measured)
    not_clear = tuple(source for source in measured if source not in clear)
    pair = Gap(first="a", other="b", gap=gap, low=-0.01, high=0.2, clear=clear, not_clear=not_clear)
    budget = ErrorBudget(metric="accuracy", rows=rows, gaps=(pair,))
    (mark,) = ErrorPicture.of_budget(budget, Points(100.0, 1)).gaps
    assert mark.words == words
