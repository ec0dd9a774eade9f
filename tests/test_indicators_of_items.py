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
from hqm.indicators.indicator import Result, indicators_of
from hqm.scoring.matrix import ScoreMatrix
from hqm.scoring.metrics import YES_NO, Metric, mean_of
from hqm.types import Form, Item
from tests.indicator_answers import asked, check_answer, number
from tests.test_flags import ACCURACY, PROTOCOL, items, matrix

Array = np.ndarray
LOWER = replace(ACCURACY, better="lower")
GROUPED = replace(ACCURACY, group="figure")


def of_one(
    right: Any,
    of: list[Item] | None = None,
    metric: Metric = ACCURACY,
    lost: Any = None,
    **settings: Any,
) -> Case:
    """One administration with these answers right, and some not scored."""
    right = np.asarray(right, dtype=float)
    unread = None if lost is None else np.asarray(lost, dtype=bool)
    first = matrix(right, of=of, unscored=unread)
    first = replace(first, groups={"figure": np.arange(right.shape[1])})
    return case("", "", (first,), metric, PROTOCOL, **settings)


def no_number(of: Case, name: str) -> tuple[str, str]:
    """Why there is none."""
    coefficient = number(of, name).coefficient
    assert math.isnan(coefficient.value)
    return coefficient.status, coefficient.reason


def typed(*kinds: str | None, **fields: Any) -> list[Item]:
    """One item of each type."""
    made = zip(items(len(kinds)), kinds, strict=True)
    return [replace(item, type=kind, **fields) for item, kind in made]


OF_ITEMS = [
    f"{family}.{each.name}"
    for family in ("consistency", "discriminability", "items", "solvability", "types")
    for each in indicators_of(family)
]
SMALL = np.array([[1, 1, 1, 0, 1, 1], [1, 1, 0, 1, 0, 1], [1, 0, 1, 0, 1, 0], [0, 1, 0, 0, 0, 0]])


@pytest.mark.parametrize("metric", [ACCURACY, LOWER, YES_NO[3]], ids=["right", "wrong", "f1"])
@pytest.mark.parametrize("name", OF_ITEMS)
def test_every_indicator_of_a_small_table_has_a_number_or_a_reason(
    name: str, metric: Metric
) -> None:
    kinds = ("existence", "attribute", "existence", "attribute", "existence", None)
    check_answer(of_one(SMALL, typed(*kinds), metric, families=["a", "a", "b", "b"]), name)


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
    of = typed("existence", "existence", "existence", "attribute", None)
    prompts = "Is it  red?", "is it RED?", "Is it blue?", "Is it red?", "Is it red?"
    pictures = "a.png", "a.png", None, "b.png", "c.png"
    of = [replace(i, prompt=p, image=x) for i, p, x in zip(of, prompts, pictures, strict=True)]
    rows = {row.type: row for row in coverage(Form("original", tuple(of)), ["relation"])}
    assert rows["existence"] == TypeCoverage("existence", False, 3, 1, 2)
    assert rows["attribute"] == TypeCoverage("attribute", False, 1, 1, 1)
    assert rows["relation"] == TypeCoverage("relation", True, 0, 0, 0)
    assert len(rows) == 8
    (row,) = (
        row
        for row in coverage(Form("original", tuple(of)), [], labelled=False)
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
    ("right", "of", "metric", "at_chance"),
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
    right: Array, of: list[Item], metric: Metric, at_chance: bool
) -> None:
    index = number(of_one(right, of, metric), "types.index")
    row = next(row for row in index.detail["types"] if row["type"] == "existence")
    assert row["at_chance"] is at_chance
    assert (row["missing_items"] == 0) is at_chance
    others = [row for row in index.detail["types"] if row["type"] != "existence"]
    assert not any(row["at_chance"] for row in others), "a type without items is not at chance"


def test_answers_that_were_not_scored_are_no_wrong_guesses() -> None:
    lost = np.arange(8) >= np.array([4, 4, 4, 4])[:, None]
    half = np.arange(8) < np.array([2, 2, 2, 2])[:, None]
    index = number(of_one(half, EVEN, lost=lost), "types.index")
    (row,) = (row for row in index.detail["types"] if row["items"])
    assert row["at_chance"] is False, "two of four are half, not two of eight"


def test_the_alpha_of_a_type_has_its_pictures_as_parts() -> None:
    """Three respondents with 2 1 0 and 2 0 0 right in two pictures: alpha = 2 (1 - (1 + 4/3) / 13/3)."""
    right = [[1, 1, 1, 1, 0], [1, 0, 0, 0, 1], [0, 0, 0, 0, 1]]
    of = typed(*["existence"] * 4, "attribute")
    of = [replace(item, cluster=f"{k // 2}.png") for k, item in enumerate(of)]
    rows = {r["type"]: r for r in number(of_one(right, of), "types.index").detail["types"]}
    assert rows["existence"]["alpha"] == pytest.approx(2 * (1 - (1 + 4 / 3) / (13 / 3)))
    nothing = {"alpha": None, "alpha_low": None, "alpha_high": None}
    assert {key: rows["attribute"][key] for key in nothing} == nothing, "one item"
    for metric in (YES_NO[3], GROUPED):
        rows = {
            r["type"]: r for r in number(of_one(right, of, metric), "types.index").detail["types"]
        }
        assert {key: rows["existence"][key] for key in nothing} == nothing


TEN = (np.random.default_rng(1).random((10, 40)) < np.linspace(0.2, 0.9, 10)[:, None]).astype(float)
TWENTY_EACH = typed(*["existence"] * 20, *["attribute"] * 20)


def test_what_the_score_of_a_type_adds_to_the_total() -> None:
    of = [*TWENTY_EACH[:30], *(replace(item, type=None) for item in TWENTY_EACH[30:])]
    value = number(of_one(TEN, of), "types.added_value")
    labels = ["existence"] * 20 + ["attribute"] * 10
    study = psy.subscore_value(TEN[:, :30], labels)
    assert value.coefficient.value == sum(s.adds for s in study if s.status == "ok")
    assert value.detail["types"] == [
        {
            "type": s.name,
            "items": s.items,
            "by_subscore": pytest.approx(s.by_subscore),
            "by_total": pytest.approx(s.by_total),
            "adds": s.adds,
            "certain": s.certain,
            "status": s.status,
            "reason": s.reason,
        }
        for s in study
    ]
    rows = {r["type"]: r for r in number(of_one(TEN, of), "types.index").detail["types"]}
    for s in study:
        assert (rows[s.name]["adds_value"], rows[s.name]["adds_value_certainly"]) == (
            s.adds,
            s.certain,
        )
    assert rows["relation"]["adds_value"] is None
    assert rows["relation"]["adds_value_certainly"] is None


def test_one_type_adds_nothing_to_the_total() -> None:
    single = typed(*["existence"] * 39, None)
    status, reason = no_number(of_one(TEN, single), "types.added_value")
    assert status == "not_applicable"
    assert "fewer than two types" in reason
    for of, metric in ((single, ACCURACY), (TWENTY_EACH, YES_NO[3])):
        rows = number(of_one(TEN, of, metric), "types.index").detail["types"]
        assert {row["adds_value"] for row in rows} == {None}
    alike = TEN.copy()
    alike[:, 1:] = 1
    unlike = [TWENTY_EACH[0], *(replace(item, type="attribute") for item in TWENTY_EACH[1:])]
    first, second = psy.subscore_value(alike, ["existence"] + ["attribute"] * 39)
    assert (first.status, second.status) == ("insufficient", "degenerate")
    assert no_number(of_one(alike, unlike), "types.added_value") == (first.status, first.reason)
    status, reason = no_number(of_one(TEN[:3], TWENTY_EACH), "types.added_value")
    (first, *_) = psy.subscore_value(TEN[:3], ["existence"] * 20 + ["attribute"] * 20)
    assert (status, reason) == (first.status, first.reason)


@pytest.mark.parametrize("metric", [ACCURACY, LOWER])
def test_keys_that_favour_a_family(metric: Metric) -> None:
    """One family says yes to everything; a third key is no side."""
    of = [replace(item, target=("yes", "no", "maybe")[k % 3]) for k, item in enumerate(items(60))]
    keys = np.array([item.target for item in of])
    rng = np.random.default_rng(3)
    right = (rng.random((20, 60)) < 0.6).astype(float)
    right[::2, keys == "yes"], right[::2, keys == "no"] = 1, 0
    right[::2, :6] = rng.random((10, 6)) < 0.5
    families = ["a", "b"] * 10
    given = 1 - right if metric.better == "lower" else right
    lean = number(of_one(given, of, metric, families=families), "types.family_keys")
    sides = [key if key != "maybe" else "" for key in keys]
    study = psy.differential_functioning(right, sides, families)
    assert lean.coefficient.value == pytest.approx(max(abs(row.logits) for row in study.rows))
    assert lean.flags == ("FAVOURS_FAMILY",)
    assert lean.detail["favours"] == [f"{row.part}: {row.group}" for row in study.favours]
    assert [row["large"] for row in lean.detail["parts"]] == [row.large for row in study.rows]
    alike = number(of_one(TEN, TWENTY_EACH, families=families[:10]), "types.family_types")
    assert (alike.flags, alike.detail["favours"]) == ((), [])
    one_family = of_one(right, of, metric, families=["a"] * 20)
    assert asked(one_family, "types.family_keys") is None
    assert asked(one_family, "types.family_types") is None
    only_yes = [replace(item, target="yes") for item in of]
    assert asked(of_one(right, only_yes, metric, families=families), "types.family_keys") is None


# --- single items ---


def test_items_that_ask_the_same_are_counted() -> None:
    of = items(8)
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
    made = [
        replace(item, prompt=p, image=x, target=t)
        for item, p, x, t in zip(of, ask, pictures, keys, strict=True)
    ]
    copies = number(of_one(np.ones((2, 8)), made), "items.duplicate_items")
    ids = [item.id for item in made]
    assert copies.coefficient.value == 1
    assert copies.detail == {"groups": [ids[:2]], "contradictory": [ids[:2]]}
    # the pictures a and c are one picture
    copied = number(of_one(np.ones((2, 8)), made, copies={"c": "a"}), "items.duplicate_items")
    assert copied.coefficient.value == 2
    assert copied.detail["groups"] == [[ids[0], ids[1], ids[3]]]
    without = [replace(item, image=None) for item in made[:4]]
    same = number(of_one(np.ones((2, 4)), without), "items.duplicate_items")
    assert same.coefficient.value == 3, "of no picture all are the same"


def test_items_that_do_not_tell_respondents_apart() -> None:
    """All right, all wrong, one right of three, two of two known, none known, right but for one."""
    right = np.array(
        [[1, 0, 1, 1, 0, 1], [1, 0, 0, 1, 0, 1], [1, 0, 0, 0, 0, 1], [1, 0, 0, 0, 0, 0]]
    )
    lost = np.zeros(right.shape)
    lost[3, :3] = 1
    lost[2:, 3], lost[:, 4] = 1, 1
    of = of_one(right, lost=lost)
    dead = number(of, "items.dead_items")
    ids = [item.id for item in of.items]
    assert dead.coefficient.value == 2
    assert dead.detail == {"count": 2, "of": 6, "items": ids[:2], "too_few_scores": 2}


def test_how_well_single_items_go_with_the_rest() -> None:
    right = np.array([[1, 1, 1, 0, 1], [1, 1, 0, 0, 1], [1, 0, 0, 0, 1], [0, 0, 0, 1, 1]])
    of = of_one(right)
    made = number(of, "items.discrimination")
    rest = [
        float(np.corrcoef(right[:, i], np.delete(right, i, axis=1).sum(axis=1))[0, 1])
        for i in range(4)
    ]
    assert made.coefficient.value == pytest.approx(np.median(rest))
    assert (made.coefficient.n, made.coefficient.n_items) == (4, 4)
    assert (made.detail["varying"], made.detail["constant"]) == (4, 1)
    places = made.detail["map"]
    assert places["ids"] == [item.id for item in of.items]
    assert places["difficulty"] == pytest.approx([0.75, 0.5, 0.25, 0.25, 1])
    assert places["item_rest"][:4] == pytest.approx(rest)
    assert places["item_rest"][4] is None
    constant = of_one(np.ones((4, 5)))
    few = np.array([[1, 1, 0, 1, 1], [1, 0, 0, 1, 1], [0, 0, 0, 1, 1], [0, 0, 0, 1, 1]])
    counted = number(of_one(few), "items.discrimination").detail
    assert (counted["varying"], counted["constant"]) == (2, 3)
    for name in ("discrimination", "negative_items"):
        assert no_number(constant, f"items.{name}") == ("degenerate", "no item varies")


def test_few_respondents_would_show_no_planted_fault() -> None:
    right = np.array([[1, 1, 1, 0, 1], [1, 1, 0, 0, 1], [1, 0, 0, 0, 1], [0, 0, 0, 1, 1]])
    made = number(of_one(right), "items.negative_items")
    assert made.coefficient.value == made.detail["count"] == 0
    assert made.coefficient.status == "not_informative"
    assert "4 respondents would show 0%" in made.coefficient.reason
    assert made.detail["power"]["share_planted"] == 0.02
    assert made.detail["power"]["found"] == 0


@pytest.mark.parametrize("right", [np.ones((29, 4)), np.full((30, 4), 0.5)])
def test_a_rasch_model_needs_thirty_respondents_and_right_or_wrong(right: Array) -> None:
    scored = {"sum": right, "n": np.ones(right.shape)}
    first = replace(matrix(np.ones(right.shape)), tallies=scored, values=right)
    of = case("", "", (first,), Metric("mean", mean_of("sum"), share=True), PROTOCOL)
    status, reason = no_number(of, "items.misfit_items")
    assert status == "insufficient"
    assert f"there are {len(right)}:" in reason


def test_thirty_respondents_are_enough_for_a_rasch_model() -> None:
    rng = np.random.default_rng(2)
    right = (rng.random((30, 6)) < np.linspace(0.2, 0.8, 30)[:, None]).astype(float)
    lost = np.zeros(right.shape)
    lost[0, 0] = 1
    made = number(of_one(right, lost=lost), "items.misfit_items")
    study = psy.rasch(np.where(lost, np.nan, right))
    assert made.coefficient.value == len(study.misfit) == made.detail["count"]
    assert made.detail["difficulty"] == pytest.approx(list(study.difficulty), nan_ok=True)
    assert made.detail["separation"] == pytest.approx(study.separation)


def test_older_items_are_those_before_the_middle_date() -> None:
    right = TEN[:, :8]

    def advantage(*added: Any) -> Result | None:
        of = [
            replace(item, meta={} if date is None else {"added": date})
            for item, date in zip(items(8), added, strict=True)
        ]
        return asked(of_one(right, of), "items.older_advantage")

    for dates, older in (
        ([2020] * 3 + [2021] * 5, [0, 1, 2]),
        ([2020] * 5 + [2021] * 3, [0, 1, 2, 3, 4]),
        ([2023, 2020, 2021, 2022] * 2, [1, 2, 5, 6]),
        ([2020] * 2 + [2021] * 4 + [2022] * 2, [0, 1]),
    ):
        made = advantage(*dates)
        assert made is not None
        assert (made.detail["older"], made.detail["newer"]) == (len(older), 8 - len(older))
        own = right[:, older].mean(axis=1) - np.delete(right, older, axis=1).mean(axis=1)
        assert made.coefficient.value == pytest.approx(own.mean())
        shown = [row["own"] for row in made.detail["by_respondent"].values()]
        assert shown == pytest.approx(own.tolist())
        assert ("REMEMBERED" in made.flags) == bool(made.detail["remembered"])
    assert advantage(*[2020] * 8) is None
    assert advantage(*[2020] * 4, *[2021] * 3, None) is None
    assert advantage(*[None] * 8) is None


# --- internal consistency ---


def test_items_that_somebody_was_not_scored_on_are_no_parts() -> None:
    """Without the third item: sums 2 1 1 0 of two pictures with one and one item."""
    right = np.array([[1, 1, 1, 1], [1, 0, 0, 1], [0, 1, 1, 0], [0, 0, 1, 0]])
    lost = np.zeros(right.shape)
    lost[0, 2] = 1
    of = typed("existence", "existence", "attribute", None)
    made = of_one(right, of, lost=lost)
    complete = right[:, [0, 1, 3]]
    for name, study in (
        ("kr21", psy.kr21(complete)),
        ("lambda2", psy.lambda2(complete)),
        ("alpha_standardized", psy.standardized_alpha(complete)),
    ):
        value = number(made, f"consistency.{name}").coefficient
        assert value.value == pytest.approx(study.value)
    assert number(made, "consistency.kr21").coefficient.n_items == 3
    assert number(made, "consistency.lambda2").coefficient.n_items == 3
    assert "fewer than two types" in no_number(made, "consistency.alpha_types")[1]
    pictures = [replace(item, cluster=f"{k // 2}.png") for k, item in enumerate(of)]
    parts = np.stack([complete[:, :2].sum(axis=1), complete[:, 2]], axis=1)
    by_picture = number(of_one(right, pictures, lost=lost), "consistency.lambda2")
    assert by_picture.coefficient.value == pytest.approx(psy.lambda2(parts).value)
    halves = number(of_one(right, pictures, lost=lost, seed=5), "consistency.split_half")
    study = psy.split_half(parts, psy.stream(5, "consistency.halves"), draws=200)
    assert halves.coefficient.value == pytest.approx(study.mean)
    assert (halves.detail["splits"], halves.detail["parts"]) == (study.splits, 2)
    assert halves.coefficient.n_items == 3


def test_coefficients_over_types_leave_out_items_without_a_type() -> None:
    of = [*TWENTY_EACH[:30], *(replace(item, type=None) for item in TWENTY_EACH[30:])]
    labels = ["existence"] * 20 + ["attribute"] * 10
    made = of_one(TEN, of)
    stratified = number(made, "consistency.stratified_alpha").coefficient
    assert stratified.value == pytest.approx(psy.stratified_alpha(TEN[:, :30], labels).value)
    means = np.stack([TEN[:, 20:30].mean(axis=1), TEN[:, :20].mean(axis=1)], axis=1)
    over = number(made, "consistency.alpha_types")
    assert over.coefficient.value == pytest.approx(psy.cronbach_alpha(means).coefficient.value)
    assert over.coefficient.fixed is None
    assert (over.coefficient.n_items, over.detail["types"]) == (40, ["attribute", "existence"])
    assert no_number(made, "consistency.omega_types")[1] == "one factor needs three types"
    three = [*TWENTY_EACH[:30], *(replace(item, type="relation") for item in TWENTY_EACH[30:])]
    omega = psy.omega_of_types(TEN, [*labels, *["relation"] * 10], np.arange(40))
    got = number(of_one(TEN, three), "consistency.omega_types").coefficient
    assert (got.status, got.value) == (omega.status, pytest.approx(omega.value, nan_ok=True))
    single = of_one(TEN, typed(*["existence"] * 40))
    for name in ("stratified_alpha", "alpha_types", "omega_types"):
        assert "fewer than two types" in no_number(single, f"consistency.{name}")[1]


def test_kr21_is_of_right_and_wrong_alone() -> None:
    half = np.array([[1, 0.5], [0, 1], [1, 1]])
    first = replace(
        matrix(np.ones((3, 2))), tallies={"sum": half, "n": np.ones((3, 2))}, values=half
    )
    of = case("", "", (first,), Metric("mean", mean_of("sum"), share=True), PROTOCOL)
    status, reason = no_number(of, "consistency.kr21")
    assert status == "not_applicable"
    assert "scores are not 0 or 1" in reason


@pytest.mark.parametrize("metric", [YES_NO[3], GROUPED])
def test_what_is_no_mean_of_items_has_no_consistency(metric: Metric) -> None:
    of = of_one(TEN, TWENTY_EACH, metric)
    for name in ("alpha", "kr21", "lambda2", "split_half", "alpha_types", "own_strengths"):
        assert no_number(of, f"consistency.{name}")[0] == "not_applicable"


# --- who is told apart ---


def test_of_a_rate_of_faults_the_lowest_is_the_best() -> None:
    wrong = np.arange(20) < np.array([2, 6, 11, 18])[:, None]
    of = of_one(wrong, metric=LOWER)
    names = list(of.respondents)
    pairs = number(of, "discriminability.separable_pairs")
    assert pairs.detail["order"] == names
    assert pairs.detail["pairs"] == 6
    assert pairs.coefficient.value == pytest.approx(pairs.detail["apart"] / 6)
    near = number(of, "discriminability.separable_adjacent")
    assert near.detail["pairs"] == 3
    lead = number(of, "discriminability.lead")
    assert lead.coefficient.value == pytest.approx(4 / 20)
    assert (lead.detail["best"], lead.detail["second"]) == (names[0], names[1])
    assert lead.coefficient.fixed is not None
    assert lead.coefficient.fixed.low < 0.2 < lead.coefficient.fixed.high
    assert asked(of, "discriminability.above_chance") is not None
    assert no_number(of, "discriminability.above_chance")[0] == "not_applicable"
    saturation = psy.saturation(wrong.astype(float), higher_is_better=False)
    room = number(of, "discriminability.headroom")
    assert room.coefficient.value == pytest.approx(saturation.headroom)
    assert room.detail["at_ceiling"] == pytest.approx(saturation.at_ceiling)
    assert room.detail["at_floor"] == pytest.approx(saturation.at_floor)


def test_the_lead_is_of_those_who_have_a_score() -> None:
    right = np.arange(10) < np.array([9, 3, 7, 5])[:, None]
    lost = np.zeros(right.shape)
    lost[0] = 1
    of = of_one(right, lost=lost)
    lead = number(of, "discriminability.lead")
    assert lead.coefficient.value == pytest.approx(0.2)
    assert (lead.detail["best"], lead.detail["second"]) == (of.respondents[2], of.respondents[3])
    lost[1:3] = 1
    status, reason = no_number(of_one(right, lost=lost), "discriminability.lead")
    assert status == "insufficient"
    assert "fewer than two scores" in reason
    assert number(of_one(right, seed=1), "discriminability.lead") != lead


def test_what_answers_that_look_at_nothing_score() -> None:
    """Six keys: yes 4, no 2; of one type yes 3, no 0, of the other yes 1, no 1, of none one no."""
    of = typed("existence", "existence", "existence", "attribute", "attribute", None)
    targets = "yes", "yes", "yes", "yes", "no", "no"
    of = [replace(item, target=target) for item, target in zip(of, targets, strict=True)]
    right = np.arange(6) < np.array([6, 5, 3])[:, None]
    above = number(of_one(right, of), "discriminability.above_chance")
    strategies = {"one answer": 4 / 6, "each type's commonest answer": (3 + 1 + 1) / 6}
    assert above.detail["strategies"] == pytest.approx(strategies)
    assert (above.detail["blind"], above.detail["strategy"]) == (
        pytest.approx(5 / 6),
        "each type's commonest answer",
    )
    own = [1, 0, (3 / 6 - 5 / 6) * 6]
    assert above.coefficient.value == pytest.approx(np.mean(own))
    assert list(above.detail["by_respondent"].values()) == pytest.approx(own)
    names = matrix(right.astype(float)).respondents
    assert (above.detail["not_above"], above.flags) == (list(names[1:]), ("CHANCE",))
    blind = matrix(np.ones(right.shape), of=of)
    full = number(of_one(right, of, blind=blind), "discriminability.above_chance")
    assert (full.coefficient.status, math.isnan(full.coefficient.value)) == ("degenerate", True)
    assert full.detail["strategies"]["the best respondent without pictures"] == 1
    unseen = replace(blind, tallies={k: v * 0 for k, v in blind.tallies.items()})
    dark = number(of_one(right, of, blind=unseen), "discriminability.above_chance")
    assert dark.detail["strategies"] == pytest.approx(strategies), "nobody answered without them"
    opened = [replace(item, task="vqa") for item in of]
    for made in (of_one(right, opened), of_one(right, of, GROUPED), of_one(right, of, YES_NO[3])):
        assert no_number(made, "discriminability.above_chance")[0] == "not_applicable"
    chosen = [replace(item, task="choice") for item in of]
    assert number(of_one(right, chosen), "discriminability.above_chance").detail["blind"] > 0.8


@pytest.mark.parametrize("metric", [ACCURACY, LOWER])
@pytest.mark.parametrize(
    ("full", "others", "crowds"), [(1, 3, False), (2, 3, True), (2, 18, False), (3, 17, True)]
)
def test_respondents_that_crowd_at_an_end(
    metric: Metric, full: int, others: int, crowds: bool
) -> None:
    """Two at least, and 15 % of all respondents, stand at the end of the range."""
    counts = [99] * full + [50] * others
    right = np.arange(100) < np.array(counts)[:, None]
    for turned, flag, key in ((False, "CEILING", "in_top"), (True, "FLOOR", "in_bottom")):
        shown = right != (turned != (metric.better == "lower"))
        made = number(of_one(shown, metric=metric), "discriminability.measures_up_to")
        names = list(of_one(shown, metric=metric).respondents)
        assert made.detail[key] == names[:full]
        assert (flag in made.flags) == crowds
        study = psy.conditional_errors((right != turned).astype(float), np.arange(100))
        top, bottom = study.top, study.bottom
        if metric.better == "lower":
            top, bottom = 1 - top, 1 - bottom
        assert made.coefficient.value == pytest.approx(top)
        assert made.detail["bottom"] == pytest.approx(bottom)
        shown_scores = [row["score"] for row in made.detail["errors"]]
        own = study.score if metric.better == "higher" else [1 - at for at in study.score]
        assert shown_scores == pytest.approx(list(own))
        assert [row["other_items"] for row in made.detail["errors"]] == pytest.approx(
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
