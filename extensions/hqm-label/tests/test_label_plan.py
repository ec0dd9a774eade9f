"""Plans of labels: their file, their designs, what they forecast."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hqm_label.study_plan import (
    Candidate,
    Design,
    LabelPlan,
    PlanRow,
    draw_rows,
    labels_path,
    read_plan,
    write_plan,
)

from hqm.errors import DataError, UsageError

PLAN = LabelPlan(
    benchmark="shapes_vqa",
    store="out/store.sqlite",
    raters=("anna", "ben"),
    population=40,
    rows=(
        PlanRow(
            uid="a1",
            item="1",
            respondent="m",
            answer_digest="b2:0",
            probability=0.25,
            raters=("anna", "ben"),
        ),
        PlanRow(
            uid="b2", item="2", respondent="m", answer_digest="b2:1", raters=("ben",), gold=1.0
        ),
    ),
)


def test_a_plan_comes_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "study" / "plan.jsonl"
    write_plan(replace(PLAN, store=str(tmp_path / "store.sqlite")), path)
    plan = read_plan(path)
    assert Path(plan.store).resolve() == tmp_path / "store.sqlite"
    assert replace(plan, store=PLAN.store) == PLAN
    assert [row.uid for row in plan.rows_of("ben")] == ["a1", "b2"]
    assert '"../store.sqlite"' in path.read_text()  # the study can be moved as a whole
    assert labels_path(path) == tmp_path / "study" / "plan.labels.sqlite"
    with pytest.raises(UsageError, match="no rater 'carla'"):
        plan.rows_of("carla")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"hqm labels"', '"other"', "no plan of labels"),
        ('"version": 1', '"version": 9', "version 9"),
        ('"uniform"', '"best"', "design is 'best'"),
        ('"stratum"', '"strata"', "unknown field 'strata'"),
        ("0.25", "1.25", "probability is 1.25"),
        ('"b2", "item"', '"a1", "item"', "uid 'a1' stands twice"),
        ('"tau"', '"tauu"', "unknown key 'tauu'"),
        ('["anna", "ben"]', '"anna"', "'raters' is 'anna'"),
        ('"raters": ["ben"]', '"raters": "ben"', "'raters' is 'ben'"),
        ('"seed": 0', '"seed": 0.5', "'seed' is 0.5"),
        ('"schema": "binary"', '"schema": null', "'schema' is None"),
        ('"item": "1"', '"item": ["1"]', "'item' is"),
    ],
)
def test_a_plan_that_cannot_be_used_is_refused_with_its_place(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    path = tmp_path / "plan.jsonl"
    write_plan(PLAN, path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(DataError, match=message) as error:
        read_plan(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize("design", ["uniform", "same-items", "active"])
def test_a_draw_does_not_depend_on_the_order_in_which_answers_were_stored(design: Design) -> None:
    """Where several models answer at a time, chance decides who is stored first."""
    candidates = [
        Candidate(
            item=f"q{i}",
            respondent=f"m{k}",
            cluster=f"p{i // 2}",
            digest=f"b2:{i}{k}",
            score=i % 2,
            error=(i + 1) / 60,
        )
        for k in range(4)
        for i in range(20)
        if (i + k) % 7
    ]
    overlapping = replace(PLAN, design=design, overlap=0.5)
    draws = {
        draw_rows(ordered, overlapping, 24, np.random.default_rng(1))
        for ordered in (candidates, candidates[::-1], candidates[30:] + candidates[:30])
    }
    assert len(draws) == 1
    assert len(draws.pop()) >= 20
    assert draw_rows(candidates, overlapping, 24, np.random.default_rng(2)) != draw_rows(
        candidates, overlapping, 24, np.random.default_rng(1)
    )
