"""Indicators of one administration, of small tables of answers: what single items, types, and
respondents say, and when there is no number.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hqm import psychometrics as psy
from hqm.indicators import Case, TypeCoverage, case, coverage
from hqm.indicators.indicator import Result, family_indicators
from hqm.scoring.matrix import ScoreMatrix
from hqm.scoring.metrics import YES_NO, Metric, mean_of
from hqm.types import Form, Item
from tests.indicator_answers import check_answer, first_result, number
from tests.test_flags import ACCURACY, PROTOCOL, items, matrix

Array = np.ndarray
LOWER = replace(ACCURACY, better="lower")
GROUPED = replace(ACCURACY, group="figure")


def single_case(
    right: Any,
    questions: list[Item] | None = None,
    metric: Metric = ACCURACY,
    lost: Any = None,
    **settings: Any,
) -> Case:
    """One administration with these answers right, and some not scored."""
    right = np.asarray(right, dtype=float)
    unread = None if lost is None else np.asarray(lost, dtype=bool)
    first = matrix(right, of=questions, unscored=unread)
    first = replace(first, groups={"figure": np.arange(right.shape[1])})
    return case("", "", (first,), metric, PROTOCOL, **settings)


def no_number(item_case: Case, name: str) -> tuple[str, str]:
    """Why there is none."""
    coefficient = number(item_case, name).coefficient
    assert math.isnan(coefficient.value)
    return coefficient.status, coefficient.reason


def typed(*kinds: str | None, **fields: Any) -> list[Item]:
    """One item of each type."""
    typed_pairs = zip(items(len(kinds)), kinds, strict=True)
    return [replace(item, type=kind, **fields) for item, kind in typed_pairs]


ITEM_INDICATORS = [
    f"{family}.{indicator.name}"
    for family in ("consistency", "discriminability", "items", "solvability", "types")
    for indicator in family_indicators(family)
]
SMALL = np.array([[1, 1, 1, 0, 1, 1], [1, 1, 0, 1, 0, 1], [1, 0, 1, 0, 1, 0], [0, 1, 0, 0, 0, 0]])


@pytest.mark.parametrize("metric", [ACCURACY, LOWER, YES_NO[3]], ids=["right", "wrong", "f1"])
@pytest.mark.parametrize("name", ITEM_INDICATORS)
def test_every_indicator_of_a_small_table_has_a_number_or_a_reason(
    name: str, metric: Metric
) -> None:
    kinds = ("existence", "attribute", "existence", "attribute", "existence", None)
    check_answer(single_case(SMALL, typed(*kinds), metric, families=["a", "a", "b", "b"]), name)


# --- what the items cover ---


def test_a_type_is_covered_by_items_and_not_by_a_claim() -> None:
    states = {
        (1, True, True): "labelled",
        (1, False, True): "labelled",
        (1, True, False): "by design",
        (0, True, True): "claimed",
        (0, False, True): "absent",
    }
    for (count, claimed, labelled), state in states.items():
        assert TypeCoverage("relation", claimed, count, 0, 0, labelled).state == state
    assert TypeCoverage("relation", True, 1, 1, 1).state == "labelled"


def test_what_a_form_has_of_each_type_is_counted() -> None:
    form_items = typed("existence", "existence", "existence", "attribute", None)
    prompts = "Is it  red?", "is it RED?", "Is it blue?", "Is it red?", "Is it red?"
    pictures = "a.png", "a.png", None, "b.png", "c.png"
    form_items = [
        replace(i, prompt=p, image=x) for i, p, x in zip(form_items, prompts, pictures, strict=True)
    ]
    rows = {row.type: row for row in coverage(Form("original", tuple(form_items)), ["relation"])}
    assert rows["existence"] == TypeCoverage("existence", False, 3, 1, 2)
    assert rows["attribute"] == TypeCoverage("attribute", False, 1, 1, 1)
    assert rows["relation"] == TypeCoverage("relation", True, 0, 0, 0)
    assert len(rows) == 8
    (row,) = (
        row
        for row in coverage(Form("original", tuple(form_items)), [], labelled=False)
        if row.type == "existence"
    )
    assert not row.labelled


def choices(*targets: str, options: int = 4) -> list[Item]:
    return [
        replace(item, target=target, task="choice", options=tuple("ABCDE"[:options]))
        for item, target in zip(typed(*["existence"] * len(targets)), targets, strict=True)
    ]


EVEN = choices(*"ABCDABCD")
MOSTLY = choices(*"AAAAAABC")
FIRST_OF_EIGHT = np.arange(8) < np.array([2, 2, 2, 2])[:, None]
HALF = np.arange(8) < np.array([4, 4, 4, 4])[:, None]
ONE_KNOWS = np.arange(8) < np.array([8, 0, 0, 0])[:, None]


@pytest.mark.parametrize(
    ("right", "form_items", "metric", "at_chance"),
    [
        (FIRST_OF_EIGHT, EVEN, ACCURACY, True),
        (HALF, EVEN, ACCURACY, False),  # their mean is more than .05 above a quarter
        (HALF, choices(*"ABCDABCD", options=2), ACCURACY, True),
        (HALF, choices(*"ABCDABCD", options=0), ACCURACY, True),  # two options at least
        (HALF, choices(*"ABCDABCD", options=1), ACCURACY, True),
        (np.arange(8) < np.array([6, 6])[:, None], MOSTLY, ACCURACY, True),  # the commonest key
        (np.arange(8) < np.array([7, 7])[:, None], MOSTLY, ACCURACY, False),
        (ONE_KNOWS, EVEN, ACCURACY, False),  # one is above chance: 4 times 4^-8
        (np.arange(8) < np.array([6, 1, 1, 0])[:, None], EVEN, ACCURACY, False),  # 4 times .0042
        (np.arange(8) < np.array([5, 2, 1, 0])[:, None], EVEN, ACCURACY, True),  # 4 times .027
        (FIRST_OF_EIGHT, [replace(i, task="vqa") for i in EVEN], ACCURACY, False),
        (FIRST_OF_EIGHT, [*EVEN[:7], replace(EVEN[7], task="vqa")], ACCURACY, False),
        (FIRST_OF_EIGHT, EVEN, YES_NO[3], False),
        (FIRST_OF_EIGHT, EVEN, GROUPED, False),
        (1 - FIRST_OF_EIGHT, EVEN, LOWER, True),
        (FIRST_OF_EIGHT, EVEN, LOWER, False),
    ],
)
def test_a_type_is_at_chance_where_nobody_is_above_a_guess(
    right: Array, form_items: list[Item], metric: Metric, at_chance: bool
) -> None:
    index = number(single_case(right, form_items, metric), "types.index")
    row = next(row for row in index.detail["types"] if row["type"] == "existence")
    assert row["at_chance"] is at_chance
    assert (row["missing_items"] == 0) is at_chance
    other_rows = [row for row in index.detail["types"] if row["type"] != "existence"]
    assert not any(row["at_chance"] for row in other_rows), "a type without items is not at chance"


def test_answers_that_were_not_scored_are_no_wrong_guesses() -> None:
    lost = np.arange(8) >= np.array([4, 4, 4, 4])[:, None]
    half = np.arange(8) < np.array([2, 2, 2, 2])[:, None]
    index = number(single_case(half, EVEN, lost=lost), "types.index")
    (row,) = (row for row in index.detail["types"] if row["items"])
    assert row["at_chance"] is False, "two of four are half, not two of eight"


def test_the_alpha_of_a_type_has_its_pictures_as_parts() -> None:
    """Three respondents with 2 1 0 and 2 0 0 right in two pictures: alpha = 2 (1 - (1 + 4/3) / 13/3)."""
    right = [[1, 1, 1, 1, 0], [1, 0, 0, 0, 1], [0, 0, 0, 0, 1]]
    form_items = typed(*["existence"] * 4, "attribute")
    form_items = [replace(item, cluster=f"{k // 2}.png") for k, item in enumerate(form_items)]
    rows = {
        r["type"]: r for r in number(single_case(right, form_items), "types.index").detail["types"]
    }
    assert rows["existence"]["alpha"] == pytest.approx(2 * (1 - (1 + 4 / 3) / (13 / 3)))
    undefined = {"alpha": None, "alpha_low": None, "alpha_high": None}
    assert {key: rows["attribute"][key] for key in undefined} == undefined, "one item"
    for metric in (YES_NO[3], GROUPED):
        rows = {
            r["type"]: r
            for r in number(single_case(right, form_items, metric), "types.index").detail["types"]
        }
        assert {key: rows["existence"][key] for key in undefined} == undefined


TEN = (np.random.default_rng(1).random((10, 40)) < np.linspace(0.2, 0.9, 10)[:, None]).astype(float)
TWENTY_EACH = typed(*["existence"] * 20, *["attribute"] * 20)


def test_what_the_score_of_a_type_adds_to_the_total() -> None:
    partly_typed = [*TWENTY_EACH[:30], *(replace(item, type=None) for item in TWENTY_EACH[30:])]
    value = number(single_case(TEN, partly_typed), "types.added_value")
    labels = ["existence"] * 20 + ["attribute"] * 10
    study = psy.subscore_value(TEN[:, :30], labels)
    assert value.coefficient.value == sum(s.certain for s in study if s.status == "ok")
    assert value.detail["types"] == [
        {
            "type": s.name,
            "items": s.items,
            "by_subscore": pytest.approx(s.by_subscore),
            "by_total": pytest.approx(s.by_total),
            "gain": pytest.approx(s.gain.value),
            "gain_low": pytest.approx(s.gain.low),
            "gain_high": pytest.approx(s.gain.high),
            "adds": s.adds,
            "certain": s.certain,
            "status": s.status,
            "reason": s.reason,
        }
        for s in study
    ]
    rows = {
        r["type"]: r for r in number(single_case(TEN, partly_typed), "types.index").detail["types"]
    }
    for s in study:
        assert (rows[s.name]["adds_value"], rows[s.name]["adds_value_certainly"]) == (
            s.adds,
            s.certain,
        )
    assert rows["relation"]["adds_value"] is None
    assert rows["relation"]["adds_value_certainly"] is None


def test_one_type_adds_nothing_to_the_total() -> None:
    single = typed(*["existence"] * 39, None)
    status, reason = no_number(single_case(TEN, single), "types.added_value")
    assert status == "not_applicable"
    assert "fewer than two types" in reason
    for form_items, metric in ((single, ACCURACY), (TWENTY_EACH, YES_NO[3])):
        rows = number(single_case(TEN, form_items, metric), "types.index").detail["types"]
        assert {row["adds_value"] for row in rows} == {None}
    alike = TEN.copy()
    alike[:, 1:] = 1
    one_existence = [TWENTY_EACH[0], *(replace(item, type="attribute") for item in TWENTY_EACH[1:])]
    first, second = psy.subscore_value(alike, ["existence"] + ["attribute"] * 39)
    assert (first.status, second.status) == ("insufficient", "degenerate")
    assert no_number(single_case(alike, one_existence), "types.added_value") == (
        first.status,
        first.reason,
    )
    status, reason = no_number(single_case(TEN[:3], TWENTY_EACH), "types.added_value")
    (first, *_) = psy.subscore_value(TEN[:3], ["existence"] * 20 + ["attribute"] * 20)
    assert (status, reason) == (first.status, first.reason)


@pytest.mark.parametrize("metric", [ACCURACY, LOWER])
def test_keys_that_favour_a_family(metric: Metric) -> None:
    """One family says yes to everything; a third key is no side."""
    keyed_items = [
        replace(item, target=("yes", "no", "maybe")[k % 3]) for k, item in enumerate(items(60))
    ]
    keys = np.array([item.target for item in keyed_items])
    rng = np.random.default_rng(3)
    right = (rng.random((20, 60)) < 0.6).astype(float)
    right[::2, keys == "yes"], right[::2, keys == "no"] = 1, 0
    right[::2, :6] = rng.random((10, 6)) < 0.5
    families = ["a", "b"] * 10
    scores = 1 - right if metric.better == "lower" else right
    lean = number(single_case(scores, keyed_items, metric, families=families), "types.family_keys")
    sides = [key if key != "maybe" else "" for key in keys]
    study = psy.differential_functioning(right, sides, families)
    assert lean.coefficient.value == pytest.approx(max(abs(row.logits) for row in study.rows))
    assert lean.flags == ("FAVOURS_FAMILY",)
    assert lean.detail["favours"] == [f"{row.part}: {row.group}" for row in study.favours]
    assert [row["large"] for row in lean.detail["parts"]] == [row.large for row in study.rows]
    alike = number(single_case(TEN, TWENTY_EACH, families=families[:10]), "types.family_types")
    assert (alike.flags, alike.detail["favours"]) == ((), [])
    one_family = single_case(right, keyed_items, metric, families=["a"] * 20)
    assert first_result(one_family, "types.family_keys") is None
    assert first_result(one_family, "types.family_types") is None
    only_yes = [replace(item, target="yes") for item in keyed_items]
    assert (
        first_result(single_case(right, only_yes, metric, families=families), "types.family_keys")
        is None
    )


# --- single items ---


def test_items_that_ask_the_same_are_counted() -> None:
    eight_items = items(8)
    ask = [
        "Is it red?",
        "is  it RED?",
        "Is it red?",
        "Is it red?",
        "",
        "",
        "Is it red?",
        "Is it big?",
    ]
    pictures = ["a", "a", "b", "c", "a", "a", None, "a"]
    keys = ["yes", "no", "yes", "yes", "yes", "yes", "yes", "yes"]
    with_copies = [
        replace(item, prompt=p, image=x, target=t)
        for item, p, x, t in zip(eight_items, ask, pictures, keys, strict=True)
    ]
    copies = number(single_case(np.ones((2, 8)), with_copies), "items.duplicate_items")
    ids = [item.id for item in with_copies]
    assert copies.coefficient.value == 1
    assert copies.detail == {"groups": [ids[:2]], "contradictory": [ids[:2]]}
    # the pictures a and c are one picture
    copied = number(
        single_case(np.ones((2, 8)), with_copies, copies={"c": "a"}), "items.duplicate_items"
    )
    assert copied.coefficient.value == 2
    assert copied.detail["groups"] == [[ids[0], ids[1], ids[3]]]
    imageless = [replace(item, image=None) for item in with_copies[:4]]
    duplicates = number(single_case(np.ones((2, 4)), imageless), "items.duplicate_items")
    assert duplicates.coefficient.value == 3, "of no picture all are the same"


def test_items_that_do_not_tell_respondents_apart() -> None:
    """All right, all wrong, one right of three, two of two known, none known, right but for one."""
    right = np.array(
        [[1, 0, 1, 1, 0, 1], [1, 0, 0, 1, 0, 1], [1, 0, 0, 0, 0, 1], [1, 0, 0, 0, 0, 0]]
    )
    lost = np.zeros(right.shape)
    lost[3, :3] = 1
    lost[2:, 3], lost[:, 4] = 1, 1
    lossy_case = single_case(right, lost=lost)
    dead = number(lossy_case, "items.dead_items")
    ids = [item.id for item in lossy_case.items]
    assert dead.coefficient.value == 2
    assert dead.detail == {"count": 2, "of": 6, "items": ids[:2], "too_few_scores": 2}


def test_how_well_single_items_go_with_the_rest() -> None:
    right = np.array([[1, 1, 1, 0, 1], [1, 1, 0, 0, 1], [1, 0, 0, 0, 1], [0, 0, 0, 1, 1]])
    item_case = single_case(right)
    result = number(item_case, "items.discrimination")
    item_rest = [
        float(np.corrcoef(right[:, i], np.delete(right, i, axis=1).sum(axis=1))[0, 1])
        for i in range(4)
    ]
    assert result.coefficient.value == pytest.approx(np.median(item_rest))
    assert (result.coefficient.n, result.coefficient.n_items) == (4, 4)
    assert (result.detail["varying"], result.detail["constant"]) == (4, 1)
    item_map = result.detail["map"]
    assert item_map["ids"] == [item.id for item in item_case.items]
    assert item_map["difficulty"] == pytest.approx([0.75, 0.5, 0.25, 0.25, 1])
    assert item_map["item_rest"][:4] == pytest.approx(item_rest)
    assert item_map["item_rest"][4] is None
    constant = single_case(np.ones((4, 5)))
    two_patterns = np.array([[1, 1, 0, 1, 1], [1, 0, 0, 1, 1], [0, 0, 0, 1, 1], [0, 0, 0, 1, 1]])
    counted = number(single_case(two_patterns), "items.discrimination").detail
    assert (counted["varying"], counted["constant"]) == (2, 3)
    for name in ("discrimination", "negative_items"):
        assert no_number(constant, f"items.{name}") == ("degenerate", "no item varies")


def test_few_respondents_would_show_no_planted_fault() -> None:
    right = np.array([[1, 1, 1, 0, 1], [1, 1, 0, 0, 1], [1, 0, 0, 0, 1], [0, 0, 0, 1, 1]])
    result = number(single_case(right), "items.negative_items")
    assert result.coefficient.value == result.detail["count"] == 0
    assert result.coefficient.status == "not_informative"
    assert "4 respondents would show 0%" in result.coefficient.reason
    assert result.detail["power"]["share_planted"] == 0.02
    assert result.detail["power"]["found"] == 0


@pytest.mark.parametrize("right", [np.ones((29, 4)), np.full((30, 4), 0.5)])
def test_a_rasch_model_needs_thirty_respondents_and_right_or_wrong(right: Array) -> None:
    scored = {"sum": right, "n": np.ones(right.shape)}
    first = replace(matrix(np.ones(right.shape)), tallies=scored, values=right)
    graded_case = case("", "", (first,), Metric("mean", mean_of("sum"), share=True), PROTOCOL)
    status, reason = no_number(graded_case, "items.misfit_items")
    assert status == "insufficient"
    assert f"there are {len(right)}:" in reason


def test_thirty_respondents_are_enough_for_a_rasch_model() -> None:
    rng = np.random.default_rng(2)
    right = (rng.random((30, 6)) < np.linspace(0.2, 0.8, 30)[:, None]).astype(float)
    lost = np.zeros(right.shape)
    lost[0, 0] = 1
    result = number(single_case(right, lost=lost), "items.misfit_items")
    study = psy.rasch(np.where(lost, np.nan, right))
    assert result.coefficient.value == len(study.misfit) == result.detail["count"]
    assert result.detail["difficulty"] == pytest.approx(list(study.difficulty), nan_ok=True)
    assert result.detail["separation"] == pytest.approx(study.separation)


def test_older_items_are_those_before_the_middle_date() -> None:
    right = TEN[:, :8]

    def advantage(*added: Any) -> Result | None:
        dated_items = [
            replace(item, meta={} if date is None else {"added": date})
            for item, date in zip(items(8), added, strict=True)
        ]
        return first_result(single_case(right, dated_items), "items.older_advantage")

    for dates, older in (
        ([2020] * 3 + [2021] * 5, [0, 1, 2]),
        ([2020] * 5 + [2021] * 3, [0, 1, 2, 3, 4]),
        ([2023, 2020, 2021, 2022] * 2, [1, 2, 5, 6]),
        ([2020] * 2 + [2021] * 4 + [2022] * 2, [0, 1]),
    ):
        result = advantage(*dates)
        assert result is not None
        assert (result.detail["older"], result.detail["newer"]) == (len(older), 8 - len(older))
        advantages = right[:, older].mean(axis=1) - np.delete(right, older, axis=1).mean(axis=1)
        assert result.coefficient.value == pytest.approx(advantages.mean())
        advantages_shown = [row["own"] for row in result.detail["by_respondent"].values()]
        assert advantages_shown == pytest.approx(advantages.tolist())
        assert ("REMEMBERED" in result.flags) == bool(result.detail["remembered"])
    assert advantage(*[2020] * 8) is None
    assert advantage(*[2020] * 4, *[2021] * 3, None) is None
    assert advantage(*[None] * 8) is None


# --- internal consistency ---


def test_items_that_somebody_was_not_scored_on_are_no_parts() -> None:
    """Without the third item: sums 2 1 1 0 of two pictures with one and one item."""
    right = np.array([[1, 1, 1, 1], [1, 0, 0, 1], [0, 1, 1, 0], [0, 0, 1, 0]])
    lost = np.zeros(right.shape)
    lost[0, 2] = 1
    form_items = typed("existence", "existence", "attribute", None)
    lossy_case = single_case(right, form_items, lost=lost)
    complete = right[:, [0, 1, 3]]
    value = number(lossy_case, "consistency.alpha_standardized").coefficient
    assert value.value == pytest.approx(psy.standardized_alpha(complete).value)
    assert "fewer than two types" in no_number(lossy_case, "consistency.alpha_types")[1]
    pictures = [replace(item, cluster=f"{k // 2}.png") for k, item in enumerate(form_items)]
    parts = np.stack([complete[:, :2].sum(axis=1), complete[:, 2]], axis=1)
    halves = number(single_case(right, pictures, lost=lost, seed=5), "consistency.split_half")
    study = psy.split_half(parts, psy.stream(5, "consistency.halves"), draws=200)
    assert halves.coefficient.value == pytest.approx(study.mean)
    assert (halves.detail["splits"], halves.detail["parts"]) == (study.splits, 2)
    assert halves.coefficient.n_items == 3


def test_coefficients_over_types_leave_out_items_without_a_type() -> None:
    partly_typed = [*TWENTY_EACH[:30], *(replace(item, type=None) for item in TWENTY_EACH[30:])]
    labels = ["existence"] * 20 + ["attribute"] * 10
    typed_case = single_case(TEN, partly_typed)
    means = np.stack([TEN[:, 20:30].mean(axis=1), TEN[:, :20].mean(axis=1)], axis=1)
    alpha = number(typed_case, "consistency.alpha_types")
    assert alpha.coefficient.value == pytest.approx(psy.cronbach_alpha(means).coefficient.value)
    assert alpha.coefficient.fixed is None
    assert (alpha.coefficient.n_items, alpha.detail["types"]) == (40, ["attribute", "existence"])
    assert no_number(typed_case, "consistency.omega_types")[1] == "one factor needs three types"
    three = [*TWENTY_EACH[:30], *(replace(item, type="relation") for item in TWENTY_EACH[30:])]
    omega = psy.omega_of_types(TEN, [*labels, *["relation"] * 10], np.arange(40))
    got = number(single_case(TEN, three), "consistency.omega_types").coefficient
    assert (got.status, got.value) == (omega.status, pytest.approx(omega.value, nan_ok=True))
    single = single_case(TEN, typed(*["existence"] * 40))
    for name in ("alpha_types", "omega_types"):
        assert "fewer than two types" in no_number(single, f"consistency.{name}")[1]


@pytest.mark.parametrize("metric", [YES_NO[3], GROUPED])
def test_what_is_no_mean_of_items_has_no_consistency(metric: Metric) -> None:
    typed_case = single_case(TEN, TWENTY_EACH, metric)
    for name in ("alpha", "split_half", "alpha_types", "own_strengths"):
        assert no_number(typed_case, f"consistency.{name}")[0] == "not_applicable"


# --- who is told apart ---


def test_of_a_rate_of_faults_the_lowest_is_the_best() -> None:
    wrong = np.arange(20) < np.array([2, 6, 11, 18])[:, None]
    fault_case = single_case(wrong, metric=LOWER)
    names = list(fault_case.respondents)
    pairs = number(fault_case, "discriminability.separable_pairs")
    assert pairs.detail["order"] == names
    assert pairs.detail["pairs"] == 6
    assert pairs.coefficient.value == pytest.approx(pairs.detail["apart"] / 6)
    adjacent = number(fault_case, "discriminability.separable_adjacent")
    assert adjacent.detail["pairs"] == 3
    lead = number(fault_case, "discriminability.lead")
    assert lead.coefficient.value == pytest.approx(4 / 20)
    assert (lead.detail["best"], lead.detail["second"]) == (names[0], names[1])
    assert lead.coefficient.fixed is not None
    assert lead.coefficient.fixed.low < 0.2 < lead.coefficient.fixed.high
    assert first_result(fault_case, "discriminability.above_chance") is not None
    assert no_number(fault_case, "discriminability.above_chance")[0] == "not_applicable"
    saturation = psy.saturation(wrong.astype(float), higher_is_better=False)
    room = number(fault_case, "discriminability.headroom")
    assert room.coefficient.value == pytest.approx(saturation.headroom)
    assert room.detail["at_ceiling"] == pytest.approx(saturation.at_ceiling)
    assert room.detail["at_floor"] == pytest.approx(saturation.at_floor)


def test_the_lead_is_of_those_who_have_a_score() -> None:
    right = np.arange(10) < np.array([9, 3, 7, 5])[:, None]
    lost = np.zeros(right.shape)
    lost[0] = 1
    lossy_case = single_case(right, lost=lost)
    lead = number(lossy_case, "discriminability.lead")
    assert lead.coefficient.value == pytest.approx(0.2)
    assert (lead.detail["best"], lead.detail["second"]) == (
        lossy_case.respondents[2],
        lossy_case.respondents[3],
    )
    lost[1:3] = 1
    status, reason = no_number(single_case(right, lost=lost), "discriminability.lead")
    assert status == "insufficient"
    assert "fewer than two scores" in reason
    assert number(single_case(right, seed=1), "discriminability.lead") != lead


def test_what_answers_that_look_at_nothing_score() -> None:
    """Six keys: yes 4, no 2; of one type yes 3, no 0, of the other yes 1, no 1, of none one no."""
    keyed_items = typed("existence", "existence", "existence", "attribute", "attribute", None)
    targets = "yes", "yes", "yes", "yes", "no", "no"
    keyed_items = [
        replace(item, target=target) for item, target in zip(keyed_items, targets, strict=True)
    ]
    right = np.arange(6) < np.array([6, 5, 3])[:, None]
    above_chance = number(single_case(right, keyed_items), "discriminability.above_chance")
    strategies = {"one answer": 4 / 6, "each type's commonest answer": (3 + 1 + 1) / 6}
    assert above_chance.detail["strategies"] == pytest.approx(strategies)
    assert (above_chance.detail["blind"], above_chance.detail["strategy"]) == (
        pytest.approx(5 / 6),
        "each type's commonest answer",
    )
    expected_gains = [1, 0, (3 / 6 - 5 / 6) * 6]
    assert above_chance.coefficient.value == pytest.approx(np.mean(expected_gains))
    assert list(above_chance.detail["by_respondent"].values()) == pytest.approx(expected_gains)
    names = matrix(right.astype(float)).respondents
    assert (above_chance.detail["not_above"], above_chance.flags) == (list(names[1:]), ("CHANCE",))
    blind = matrix(np.ones(right.shape), of=keyed_items)
    full = number(single_case(right, keyed_items, blind=blind), "discriminability.above_chance")
    assert (full.coefficient.status, math.isnan(full.coefficient.value)) == ("degenerate", True)
    assert full.detail["strategies"]["the best respondent without pictures"] == 1
    unseen = replace(blind, tallies={k: v * 0 for k, v in blind.tallies.items()})
    dark = number(single_case(right, keyed_items, blind=unseen), "discriminability.above_chance")
    assert dark.detail["strategies"] == pytest.approx(strategies), "nobody answered without them"
    opened = [replace(item, task="vqa") for item in keyed_items]
    for unguessable in (
        single_case(right, opened),
        single_case(right, keyed_items, GROUPED),
        single_case(right, keyed_items, YES_NO[3]),
    ):
        assert no_number(unguessable, "discriminability.above_chance")[0] == "not_applicable"
    choice_items = [replace(item, task="choice") for item in keyed_items]
    assert (
        number(single_case(right, choice_items), "discriminability.above_chance").detail["blind"]
        > 0.8
    )


@pytest.mark.parametrize("metric", [ACCURACY, LOWER])
@pytest.mark.parametrize(
    ("full", "n_others", "crowds"), [(1, 3, False), (2, 3, True), (2, 18, False), (3, 17, True)]
)
def test_respondents_that_crowd_at_an_end(
    metric: Metric, full: int, n_others: int, crowds: bool
) -> None:
    """Two at least, and 15 % of all respondents, stand at the end of the range."""
    counts = [99] * full + [50] * n_others
    right = np.arange(100) < np.array(counts)[:, None]
    for turned, flag, key in ((False, "CEILING", "in_top"), (True, "FLOOR", "in_bottom")):
        answers = right != (turned != (metric.better == "lower"))
        result = number(single_case(answers, metric=metric), "discriminability.measures_up_to")
        names = list(single_case(answers, metric=metric).respondents)
        assert result.detail[key] == names[:full]
        assert (flag in result.flags) == crowds
        study = psy.conditional_errors((right != turned).astype(float), np.arange(100))
        top, bottom = study.top, study.bottom
        if metric.better == "lower":
            top, bottom = 1 - top, 1 - bottom
        assert result.coefficient.value == pytest.approx(top)
        assert result.detail["bottom"] == pytest.approx(bottom)
        shown_scores = [row["score"] for row in result.detail["errors"]]
        expected_scores = (
            study.score if metric.better == "higher" else [1 - score for score in study.score]
        )
        assert shown_scores == pytest.approx(list(expected_scores))
        assert [row["other_items"] for row in result.detail["errors"]] == pytest.approx(
            list(study.other_items)
        )


def test_a_short_table_has_the_words_and_yes_of_each_respondent() -> None:
    from hqm.indicators import yes_ratio
    from hqm.indicators.without_pictures import mean_words

    first: ScoreMatrix = matrix(np.ones((3, 4)))
    words = np.array([[1, 2, 3, np.nan], [np.nan] * 4, [2, 2, 2, 2]])
    assert mean_words(replace(first, words=words)) == pytest.approx([2, math.nan, 2], nan_ok=True)
    counts = {
        "tp": np.array([[1.0, 1], [0, 0], [0, 0]]),
        "fp": np.array([[1.0, 0], [0, 0], [0, 0]]),
        "tn": np.array([[0.0, 1], [1, 0], [0, 0]]),
        "fn": np.array([[0.0, 0], [2, 0], [0, 0]]),
    }
    ratios = yes_ratio(replace(first, tallies=counts))
    assert ratios == pytest.approx([3 / 4, 0, math.nan], nan_ok=True)


def test_a_pair_is_compared_over_what_both_answered_by_any_metric() -> None:
    """F1 of a pair is that of the questions that both answered, with pictures left out of both."""
    rng = np.random.default_rng(8)
    right = rng.random((3, 60)) < np.array([0.9, 0.7, 0.6])[:, None]
    lost = rng.random((3, 60)) < 0.25
    f1 = next(metric for metric in YES_NO if metric.name == "f1")
    pair_case = single_case(right, metric=f1, lost=lost)
    contrasts = number(pair_case, "discriminability.separable_adjacent").detail["contrasts"]
    names = list(pair_case.respondents)
    assert len(contrasts) == 2
    for row in contrasts:
        a, b = names.index(row["first"]), names.index(row["second"])
        both = ~lost[a] & ~lost[b]
        shared = [item for item, kept in zip(pair_case.first.items, both, strict=True) if kept]
        complete = single_case(right[:, both][[a, b]], questions=shared, metric=f1)
        (alone,) = number(complete, "discriminability.separable_adjacent").detail["contrasts"]
        assert row["items"] == alone["items"] == both.sum() < 60
        assert abs(alone["difference"]) == pytest.approx(abs(row["difference"]))
        assert alone["error"] == pytest.approx(row["error"])
        assert alone["p"] == pytest.approx(row["p"])


def test_what_a_pair_shares_is_counted_in_questions() -> None:
    questions = [replace(item, cluster=f"{i // 4}.png") for i, item in enumerate(items(40))]
    right = np.random.default_rng(9).random((3, 40)) < np.array([0.9, 0.7, 0.6])[:, None]
    for metric in (ACCURACY, YES_NO[3]):
        study = number(
            single_case(right, questions=questions, metric=metric),
            "discriminability.separable_adjacent",
        )
        assert study.detail["shared_items"] == [40, 40]
        assert {row["clusters"] for row in study.detail["contrasts"]} == {10}


def test_errors_along_the_scale_are_in_its_own_unit() -> None:
    right = np.arange(100) < np.array([99, 60, 50, 40])[:, None]
    twice = replace(ACCURACY, share=False, scale=(0.0, 2.0))
    rows = number(single_case(right, metric=twice), "discriminability.measures_up_to").detail
    study = psy.conditional_errors(right / 2, np.arange(100))
    for name in ("score", "other_items", "these_items"):
        given = [row[name] for row in rows["errors"]]
        assert given == pytest.approx(list(2 * np.asarray(getattr(study, name))), nan_ok=True)
