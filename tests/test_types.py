import json
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hqm import Cell, DesignError, Estimate, Form, Interval, Item, UsageError

words = st.text(
    st.characters(categories=["L", "N"], include_characters="_-.#"), min_size=1, max_size=12
)


@given(
    words,
    st.integers(0, 99),
    words,
    st.sampled_from(["", "blind"]),
    st.sampled_from(["", "half_width<=0.01,9of9pictures"]),
)
def test_a_cell_parses_back_equal(form: str, run: int, judge: str, sight: str, until: str) -> None:
    cell = Cell(form, run, judge, sight, until)
    assert Cell.parse(str(cell)) == cell


def test_a_cell_prints_its_facets() -> None:
    assert str(Cell("parallel", 2, "human")) == "form=parallel|run=2|judge=human"
    assert str(Cell(sight="blind")) == "form=original|run=0|judge=rule|sight=blind"


@pytest.mark.parametrize("text", ["form:original", "colour=red", "run=one", "run"])
def test_a_cell_that_means_nothing_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        Cell.parse(text)


def test_cells_differ_in_exactly_one_facet() -> None:
    assert Cell().facet(Cell(run=1)) == "run"
    assert Cell().facet(Cell(form="parallel")) == "form"
    assert Cell().facet(Cell(judge="human")) == "judge"
    with pytest.raises(DesignError, match="no facet"):
        Cell().facet(Cell())
    with pytest.raises(DesignError, match="2 facets \\(form, run\\)"):
        Cell().facet(Cell(form="parallel", run=1))


def test_an_item_survives_json() -> None:
    item = Item(
        "1", "What?", "choice", "B", "a.png", "ocr", "p", "a.png", ("x", "y"), "", {"rivals": ["x"]}
    )
    assert Item.from_dict(item.to_dict()) == item
    assert "rule" not in item.to_dict()


def test_a_form_is_addressed_by_its_content() -> None:
    form = Form("original", (Item("1", "A?", "yes_no", "yes"),))
    renamed = Form("renamed", (Item("1", "A?", "yes_no", "yes"),))
    changed = Form("original", (Item("1", "A?", "yes_no", "no"),))
    assert form.digest == renamed.digest != changed.digest


def test_an_estimate_survives_json() -> None:
    interval = Interval(0.1, 0.9, "model_population", "Fisher z, n_eff 9.5")
    estimate = Estimate(
        "test_retest.pearson",
        "accuracy",
        "run",
        "form=original",
        "run=1",
        0.5,
        "ok",
        "",
        (interval,),
        5,
        10,
        0,
        ("FEW_MODELS",),
        "sig",
    )
    assert Estimate.from_dict(estimate.to_dict()) == estimate
    half_open = Interval(0.1, math.inf, "model_population", "respondents left out")
    open_ended = replace(estimate, intervals=(half_open,))
    assert open_ended.to_dict()["intervals"] == {"model_population": [0.1, None]}
    assert Estimate.from_dict(json.loads(json.dumps(open_ended.to_dict()))) == open_ended
    assert (half_open.one_sided, interval.one_sided) == (True, False)
    missing = Estimate(
        "test_retest.pearson", "accuracy", "run", "a", "b", None, "degenerate", "constant"
    )
    assert missing.to_dict()["value"] is None
    assert Estimate.from_dict(missing.to_dict()) == missing
