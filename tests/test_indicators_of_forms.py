"""Indicators of wordings, of short forms, and of studies that are made here: what an estimate says
of each outcome.
"""

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hqm import psychometrics as psy
from hqm.benchmark.adapter import Calibration, FormLoss
from hqm.indicators import (
    Case,
    case,
    compare_forms,
    internal_consistency,
    judged,
    single_items,
    without_pictures,
)
from hqm.psychometrics import Coefficient
from hqm.psychometrics.inference.families import Influence
from hqm.psychometrics.items.item_statistics import LabelError, LabelErrors
from hqm.psychometrics.items.leaks import Stratum
from hqm.psychometrics.items.type_strengths import Dimensionality
from hqm.psychometrics.items.wrong_keys import ItemToRead, PlantedFaults, ReadingList
from hqm.psychometrics.validity.correction import CorrectedScores
from hqm.psychometrics.validity.criterion import CriterionValidity
from hqm.scoring.metrics import ACCURACY as CHOICE
from hqm.scoring.metrics import YES_NO
from hqm.types import Cell
from tests.fields import fields_of
from tests.indicator_answers import first_result, number
from tests.test_flags import ACCURACY, PROTOCOL, items, matrix
from tests.test_indicators_by_hand import by_name
from tests.test_indicators_of_labels import labelled_case

Array = np.ndarray
NAN = math.nan

# --- two wordings of yes/no questions ---

TARGETS = ("yes", "yes", "no", "no", "yes", "no")
TURNED = ("no", "no", "yes", "yes", "yes", "no")
"""The last two are not turned."""
YES = np.array([[1, 1, 0, 1, 1, 0], [1, 0, 0, 0, 1, 0], [1, 1, 1, 1, 1, 0]])
YES_AGAIN = np.array([[0, 1, 1, 1, 1, 0], [0, 0, 1, 0, 1, 1], [1, 1, 1, 0, 1, 0]])
LOST = np.zeros(YES.shape, dtype=bool)
LOST[1, 0] = True


def worded(yes: Array, targets: Any, cell: Cell, lost: Array | None = None) -> Any:
    """Answers yes and no to questions with these keys."""
    questions = [replace(i, target=t) for i, t in zip(items(6), targets, strict=True)]
    truth = np.array([target == "yes" for target in targets])
    return matrix((yes == truth).astype(float), cell, of=questions, unscored=lost)


def wordings(**settings: Any) -> Case:
    pair = (
        worded(YES, TARGETS, Cell()),
        worded(YES_AGAIN, TURNED, Cell(form="b"), LOST),
    )
    return case("parallel_forms", "form", pair, ACCURACY, PROTOCOL, **settings)


def test_a_habit_of_saying_yes_is_seen_on_questions_that_were_turned() -> None:
    """Of the four turned questions they say yes 3, 1, 4 times, then 3, 1 of three, and 3 times."""
    wording_case = wordings()
    lean = number(wording_case, "parallel_forms.acquiescence")
    yes_shares = {
        wording_case.respondents[k]: v
        for k, v in enumerate(((3 + 3) / 8, (0 / 3 + 1 / 3) / 2, (4 + 3) / 8))
    }
    assert lean.detail["by_respondent"] == pytest.approx(
        {k: v - 0.5 for k, v in yes_shares.items()}
    )
    assert lean.coefficient.value == pytest.approx(np.mean(list(yes_shares.values())) - 0.5)
    pairs = number(wording_case, "parallel_forms.coherence")
    coherent = [2 / 4, 1 / 3, 1 / 4]
    rows = list(pairs.detail["by_respondent"].values())
    assert [row["coherent"] for row in rows] == pytest.approx(coherent)
    shares = ((3 / 4, 3 / 4), (0, 1 / 3), (1, 3 / 4))
    assert [row["chance"] for row in rows] == pytest.approx(
        [a * (1 - b) + b * (1 - a) for a, b in shares]
    )
    unturned = replace(
        wording_case,
        matrices=(wording_case.first, replace(wording_case.second, items=wording_case.first.items)),
        cache={},
    )
    for name in ("acquiescence", "coherence", "balanced_score"):
        assert first_result(unturned, f"parallel_forms.{name}") is None
    assert first_result(unturned, "parallel_forms.yes_ratio_shift") is not None


def test_the_part_that_a_metric_looks_at_is_turned_or_not() -> None:
    wording_case = wordings()
    subsets = {"same": np.arange(6) > 3, "some": np.arange(6) < 2}
    pair = tuple(replace(scores, subsets=subsets) for scores in wording_case.matrices)
    unturned = case("parallel_forms", "form", pair, ACCURACY.within("same"), PROTOCOL)
    assert first_result(unturned, "parallel_forms.acquiescence") is None
    turned = case("parallel_forms", "form", pair, ACCURACY.within("some"), PROTOCOL)
    lean = number(turned, "parallel_forms.acquiescence").detail["by_respondent"]
    # of the second, of whom one answer was lost, 0 of 1 and 0
    yes_shares = [(2 + 1) / 4, 0, (2 + 2) / 4]
    assert list(lean.values()) == pytest.approx([v - 0.5 for v in yes_shares])


def test_shares_of_yes_and_the_detection_of_a_signal_move_with_the_wording() -> None:
    wording_case = wordings()
    shift = number(wording_case, "parallel_forms.yes_ratio_shift")
    ratios = [(4 / 6, 4 / 6), (2 / 6, 3 / 5), (5 / 6, 4 / 6)]
    assert list(shift.detail["by_respondent"].values()) == [pytest.approx(r) for r in ratios]
    assert shift.coefficient.value == pytest.approx(np.mean([b - a for a, b in ratios]))
    counts = [  # hits, misses, false alarms, right noes of each respondent, on both forms
        ((3, 0, 1, 2), (3, 0, 1, 2)),
        ((2, 1, 0, 3), (2, 1, 1, 1)),
        ((3, 0, 2, 1), (2, 1, 2, 1)),
    ]
    signals = [[psy.signal_detection(*map(float, c)) for c in row] for row in counts]
    for name, pick in (("d_prime_shift", "d_prime"), ("criterion_shift", "criterion")):
        moved = number(wording_case, f"parallel_forms.{name}")
        expected = [[getattr(s, pick).value for s in row] for row in signals]
        assert list(moved.detail["by_respondent"].values()) == [pytest.approx(e) for e in expected]
        assert moved.coefficient.value == pytest.approx(np.mean([b - a for a, b in expected]))


def test_a_tally_that_no_answer_gave_counts_as_none() -> None:
    wording_case = wordings()
    without_tally = [
        replace(m, tallies={k: v for k, v in m.tallies.items() if k != "fn"})
        for m in wording_case.matrices
    ]
    zero = [
        replace(m, tallies={**b.tallies, "fn": m.tallies["fn"] * 0})
        for m, b in zip(wording_case.matrices, without_tally, strict=True)
    ]
    plain, explicit = (
        case("parallel_forms", "form", pair, CHOICE[0], PROTOCOL) for pair in (without_tally, zero)
    )
    plain, explicit = (
        replace(pair_case, metrics=(replace(ACCURACY, of=lambda t: t["tp"]),) * 2)
        for pair_case in (plain, explicit)
    )
    for name in ("d_prime_shift", "acquiescence"):
        results = [
            fields_of(number(pair_case, f"parallel_forms.{name}"))
            for pair_case in (plain, explicit)
        ]
        assert results[0] == results[1]


def test_who_lies_on_either_side_of_chance_by_more_than_noise() -> None:
    """Of 20 yes-keys and 20 no-keys: low and near, high and near, high and low, and both alike."""
    first, turned = items(40), items(40, flipped=True)
    forms = []
    for form_items, counts, cell in (
        (first, (4, 16, 16, 4, 16), Cell()),
        (turned, (12, 8, 4, 4, 16), Cell(form="b")),
    ):
        right = np.zeros((5, 40))
        for key in ("yes", "no"):
            side = np.flatnonzero([item.target == key for item in form_items])
            right[:, side] = np.arange(20) < np.array(counts)[:, None]
        forms.append(matrix(right, cell, of=form_items))
    balanced_case = case("parallel_forms", "form", forms, ACCURACY, PROTOCOL)
    balanced = number(balanced_case, "parallel_forms.balanced_score")
    assert balanced.detail["below_chance"] == [balanced_case.respondents[2]]
    assert balanced.flags == ("NON_PARALLEL",)
    scores = list(balanced.detail["by_respondent"].values())
    assert scores == pytest.approx([8 / 20, 12 / 20, 10 / 20, 4 / 20, 16 / 20])


def test_the_length_of_answers_moves_with_the_wording() -> None:
    wording_case = wordings()
    first, second = wording_case.matrices
    words = np.array([[1.0, 2, 3, NAN, NAN, NAN], [2.0] * 6, [4.0] * 6])
    pair = replace(first, words=words), replace(second, words=words[:, ::-1] + 1)
    result = number(
        case("parallel_forms", "form", pair, ACCURACY, PROTOCOL), "parallel_forms.length_shift"
    )
    assert list(result.detail["by_respondent"].values()) == [[2, 3], [2, 3], [4, 5]]
    assert result.coefficient.value == pytest.approx(1)
    # a table of scores has no texts, whose length would be 0 under every wording
    silent = tuple(replace(form, words=np.where(np.isfinite(words), 0.0, NAN)) for form in pair)
    of_scores = case("parallel_forms", "form", silent, ACCURACY, PROTOCOL)
    absent = number(of_scores, "parallel_forms.length_shift")
    assert absent.coefficient.status == "not_applicable"


@pytest.mark.parametrize(
    ("targets", "shares"),
    [
        ("AABB" * 5, {"A": 1 / 2, "B": 1 / 2}),
        ("AAAB" * 5, {"A": 3 / 4, "B": 1 / 4}),
        ("AAAA" * 5, {"A": 1 / 2, "B": 1 / 2}),
    ],
)
def test_a_liking_for_one_place_is_measured_against_where_the_keys_stand(
    targets: str, shares: dict[str, float]
) -> None:
    """Where a slot never holds the key, all are expected alike."""
    choice_items = tuple(
        replace(item, task="choice", target=target, options=("x", "y"))
        for item, target in zip(items(20), targets, strict=True)
    )
    picked_first = np.arange(20) < np.array([20, 12, 10, 0])[:, None]
    first = matrix(np.ones((4, 20)))
    tallies = {
        "slot_A": picked_first * 1.0,
        "slot_B": ~picked_first * 1.0,
        "right": picked_first * 1.0,
        "n": picked_first * 0 + 1.0,
    }
    first = replace(first, items=choice_items, tallies=tallies)
    pair = (first, replace(first, cell=Cell(form="b")))
    result = number(
        case("parallel_forms", "form", pair, CHOICE[0], PROTOCOL), "parallel_forms.position_bias"
    )
    expected = np.array([shares["A"], shares["B"]])
    values = []
    for name, count in zip(first.respondents, (20, 12, 10, 0), strict=True):
        counts = np.array([count, 20 - count])
        chi2 = ((counts - 20 * expected) ** 2 / (20 * expected)).sum()
        values.append(math.sqrt(chi2 / (20 * (1 / expected.min() - 1))))
        row = result.detail["by_respondent"][name]
        assert row["v"] == pytest.approx(values[-1])
        assert row["shares"] == pytest.approx({"slot_A": count / 20, "slot_B": 1 - count / 20})
    assert result.coefficient.value == pytest.approx(np.mean(values))
    four_answers = replace(first, tallies={k: v * (np.arange(20) < 4) for k, v in tallies.items()})
    short = case(
        "parallel_forms",
        "form",
        (four_answers, replace(four_answers, cell=Cell(form="b"))),
        CHOICE[0],
        PROTOCOL,
    )
    lacking = number(short, "parallel_forms.position_bias").coefficient
    assert (lacking.status, lacking.reason != "") == ("insufficient", True)
    assert first_result(wordings(), "parallel_forms.position_bias") is None
    without_slots = replace(first, tallies={"right": tallies["right"], "n": tallies["n"]})
    pair = (without_slots, replace(without_slots, cell=Cell(form="b")))
    slotless = case("parallel_forms", "form", pair, CHOICE[0], PROTOCOL)
    assert first_result(slotless, "parallel_forms.position_bias") is None
    assert first_result(slotless, "parallel_forms.yes_ratio_shift") is None


NINE = [
    (np.random.default_rng(k).random((9, 20)) < np.linspace(0.1, 0.9, 9)[:, None]).astype(float)
    for k in range(7)
]


def test_the_noise_of_the_seeds_is_that_of_each_respondent() -> None:
    """Also where the runs have fewer respondents, in another order."""
    first, second = matrix(NINE[0]), matrix(NINE[1], Cell(form="b"))
    reruns = [matrix(NINE[k], Cell(run=k)) for k in (0, 2)]
    ids = [item.id for item in first.items]
    for names in (first.respondents, first.respondents[::-1], first.respondents[2:]):
        runs = [run.take(names, ids) for run in reruns]
        repeats = case("test_retest", "run", runs, ACCURACY, PROTOCOL, is_joint=True)
        form_case = case(
            "parallel_forms", "form", (first, second), ACCURACY, PROTOCOL, repeats=repeats
        )
        noise = np.stack([NINE[0], NINE[2]]).var(axis=0, ddof=1).sum(axis=1) / 20**2
        noise = np.where(np.isin(first.respondents, names), noise, NAN)
        left = [(v.sum(axis=1, keepdims=True) - v) / 19 for v in NINE[:2]]
        study = psy.form_reliability(
            NINE[0].mean(axis=1), NINE[1].mean(axis=1), noise, noise, replicates=(left[0], left[1])
        )
        result = number(form_case, "parallel_forms.form_correlation")
        assert result.coefficient.value == pytest.approx(study.true.value)
        assert result.detail["observed"] == pytest.approx(study.observed.value)
        assert result.detail["attenuation"] == pytest.approx(study.attenuation)
        margin = number(form_case, "parallel_forms.equivalence").detail["margin"]
        assert margin == pytest.approx(1.96 * math.sqrt(2 * np.nanmean(noise)), rel=1e-4)
    two = case(
        "test_retest",
        "run",
        [r.take(names[:2], ids) for r in reruns],
        ACCURACY,
        PROTOCOL,
        is_joint=True,
    )
    two_respondents = replace(form_case, repeats=two, cache={})
    assert (
        number(two_respondents, "parallel_forms.form_correlation").coefficient.status
        == "not_applicable"
    )
    assert (
        number(two_respondents, "parallel_forms.equivalence").coefficient.status == "not_applicable"
    )


@pytest.mark.parametrize(("count", "decides"), [(3, False), (4, False), (5, True)])
def test_five_wordings_decide(count: int, decides: bool) -> None:
    forms = [matrix(NINE[k], Cell(form=f"f{k}")) for k in range(count)]
    phi = by_name(compare_forms(forms, ACCURACY, PROTOCOL, seed=2))["parallel_forms.phi_of_forms"]
    assert (phi.detail["forms"], phi.detail["decides"]) == (count, decides)
    scores = np.stack([right.mean(axis=1) for right in NINE[:count]], axis=1)
    rng = psy.stream(2, "parallel_forms.phi_of_forms")
    value = psy.dependability(scores, rng)
    advice = psy.wordings_needed(scores, 0.75, rng)
    assert phi.value == pytest.approx(value.value)
    assert (phi.detail["wordings_needed"], phi.detail["why_none"]) == (
        advice.n_wordings,
        advice.reason,
    )
    assert phi.detail["wording_variance"] == pytest.approx(advice.variance)
    if math.isfinite(advice.variance_high):
        assert phi.detail["wording_variance_high"] == pytest.approx(advice.variance_high)


@pytest.mark.parametrize("direction", ["higher", "lower"])
def test_a_released_wording_may_score_higher_than_its_rewordings(direction: Any) -> None:
    forms = [matrix(NINE[k], Cell(form=f"f{k}")) for k in range(3)]
    metric = replace(ACCURACY, better=direction)
    got = by_name(compare_forms(forms, metric, PROTOCOL)).get("parallel_forms.released_advantage")
    assert (got is not None) == (direction == "higher")
    if got is None:
        return
    means = [right.mean(axis=1) for right in NINE[:3]]
    advantages = means[0] - (means[1] + means[2]) / 2
    assert got.value == pytest.approx(advantages.mean())
    assert got.detail["rewordings"] == 2
    rows = got.detail["by_respondent"]
    assert [row["own"] for row in rows.values()] == pytest.approx(advantages.tolist())
    assert got.detail["remembered"] == []
    assert "REMEMBERED" not in got.flags
    left = [(right.sum(axis=1, keepdims=True) - right) / 19 for right in NINE[:3]]
    leave_one_out = left[0], (left[1] + left[2]) / 2
    study = psy.advantages(means[0], (means[1] + means[2]) / 2, leave_one_out)
    assert [row["beyond_others"] for row in rows.values()] == pytest.approx(list(study.excess))
    assert [row["p"] for row in rows.values()] == pytest.approx(list(study.p))
    for row in rows.values():
        assert row["low"] < row["own"] < row["high"]


# --- short forms ---

LOSS = FormLoss(
    mean_error=0.02,
    bias=0.01,
    tau=0.8,
    coverage=0.93,
    half_width=0.1,
    factor=1.5,
    freedom=6.0,
    respondents=12,
)


def calibration(ids: Any, **fields: Any) -> Calibration:
    defaults: dict[str, Any] = {
        **{"of": "full", "version": "2", "of_items": 40, "form": "a", "audit": "b2:1"},
        **{"answers": "b2:2", "signature": "s", "method": "m", "words": "w", "errors": {}},
        **{"respondents": ("x", "y"), "families": ("f", "f", "g"), "seed": 0, "ids": tuple(ids)},
        "weights": np.arange(1, len(ids) + 1, dtype=float),
        "auxiliary": np.ones((len(ids), 1)),
        "loss": {"accuracy": LOSS},
        "parallel": {"accuracy": {"reliability": 0.9, "mean_shift": -0.01, "respondents": 12}},
        **fields,
    }
    return Calibration(**defaults)


def shortened(ids_of: Any = None, metric: Any = ACCURACY, **fields: Any) -> Case:
    first = matrix(YES.astype(float))
    ids = [item.id for item in first.items]
    short = calibration(ids if ids_of is None else ids_of(ids), **fields)
    return case("short_form", "", (first,), metric, PROTOCOL, calibration=short)


def test_a_short_form_speaks_on_the_scale_of_all_items() -> None:
    short_case = shortened()
    result = number(short_case, "short_form.full_scale")
    weights = np.arange(1, 7)
    scores = YES @ weights / weights.sum()
    assert result.coefficient.value == pytest.approx(scores.mean())
    rows = np.array(list(result.detail["by_respondent"].values()))
    assert rows[:, 0] == pytest.approx(scores)
    assert rows[:, 3] == pytest.approx(YES.mean(axis=1))
    study = psy.scaled_scores(
        {"right": YES, "n": np.ones(YES.shape)},
        lambda t: t["right"] / t["n"],
        weights,
        np.ones((6, 1)),
        factor=1.5,
        freedom=6.0,
    )
    assert rows[:, 1:3] == pytest.approx(np.stack([study.low, study.high], axis=1))
    expected_detail = {
        **{"full_benchmark": "full@2", "full_items": 40, "short_form": "a"},
        **{"chosen_by_audit": "b2:1", "chosen_by_families": 2, "chosen_how": "m"},
    }
    assert {key: result.detail[key] for key in expected_detail} == expected_detail
    assert result.detail["held_out"]["half_width"] == 0.1
    turned = number(shortened(lambda ids: ids[::-1]), "short_form.full_scale")
    reversed_scores = YES[:, ::-1] @ weights / weights.sum()
    assert turned.coefficient.value == pytest.approx(reversed_scores.mean()), (
        "the weights follow the items"
    )


def test_what_a_short_form_loses_was_measured_beforehand() -> None:
    short_case = shortened()
    for name, value in (("mean_error", 0.02), ("tau", 0.8), ("coverage", 0.93)):
        result = number(short_case, f"short_form.{name}")
        assert (result.coefficient.value, result.detail) == (value, {"respondents": 12})
    two = number(short_case, "short_form.parallel_reliability")
    assert (two.coefficient.value, two.detail) == (0.9, {"mean_shift": -0.01, "respondents": 12})
    loss = replace(LOSS, tau=None)
    lost = number(shortened(loss={"accuracy": loss}), "short_form.tau").coefficient
    assert lost.status == "degenerate"
    assert "families do not differ" in lost.reason
    undefined = {"accuracy": {"reliability": None, "mean_shift": None, "respondents": 12}}
    degenerate = number(shortened(parallel=undefined), "short_form.parallel_reliability")
    assert (degenerate.coefficient.status, degenerate.detail["mean_shift"]) == ("degenerate", None)
    assert first_result(shortened(parallel={}), "short_form.parallel_reliability") is None


def test_a_short_form_needs_its_own_calibration_and_all_its_items() -> None:
    for name in ("full_scale", "tau", "parallel_reliability"):
        unmatched = number(shortened(metric=YES_NO[3]), f"short_form.{name}").coefficient
        assert unmatched.status == "not_applicable"
        assert "for f1, but for accuracy" in unmatched.reason
        extended = shortened(lambda ids: [*ids, "more"])
        lacking = number(extended, f"short_form.{name}").coefficient
        assert lacking.status == "insufficient"
        assert "all 7 items" in lacking.reason
        assert "and 6 were asked" in lacking.reason
        assert first_result(replace(extended, calibration=None), f"short_form.{name}") is None


# --- what the questions give away ---


def stratum(kind: str, part: str, low: float, *, cue: str = "", is_leak: bool = False) -> Any:
    return Stratum(kind, part, cue, 9, 8, 0.7, 0.6, 0.1, low, 0.3, 0.02, is_leak, 0.2)


def leaky_case(monkeypatch: pytest.MonkeyPatch, **studies: Any) -> Case:
    """Yes/no questions of which these studies were made."""
    leaks = SimpleNamespace(**{name: SimpleNamespace(**fields) for name, fields in studies.items()})
    leaks.sampled = 77
    monkeypatch.setattr(without_pictures, "leaks_in", lambda *_: leaks)
    return case("", "", (matrix(NINE[0]),), ACCURACY, PROTOCOL)


def test_of_every_type_and_part_the_strongest_row_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """And every row that leaks; types of a part where there is room."""
    crossed = [stratum(f"t{k}", "p", 0.0) for k in range(38)]
    strata = [
        *crossed,
        stratum("a", "", 0.1, cue="first"),
        stratum("a", "", 0.2, cue="second"),
        stratum("a", "", 0.05, cue="third", is_leak=True),
        stratum("", "p", 0.0),
        stratum("", "", 0.1, is_leak=True),
    ]
    words: dict[str, Any] = {
        **{"status": "ok", "reason": "", "accuracy": Coefficient(0.7), "baseline": 0.6, "p": 0.03},
        **{"gain": Coefficient(0.1, -0.1, 0.3), "strata": strata, "leaks": strata[-1:]},
        "guess": 0.7,
        "types": [
            SimpleNamespace(name="a", items=5, accuracy=PERFECT, baseline=0.5, guess=1.0, q=NAN)
        ],
    }
    leaky = leaky_case(monkeypatch, words=words)
    result = number(leaky, "solvability.blind_accuracy")
    rows = [(row["type"], row["part"], row["cue"]) for row in result.detail["strata"]]
    first = [("a", "", "second"), ("", "p", ""), ("", "", "")]
    assert rows == [*first, *((f"t{k}", "p", "") for k in range(37)), ("a", "", "third")]
    assert result.detail["strata"][0] == {
        **{"type": "a", "part": "", "name": "a", "cue": "second", "items": 9, "images": 8},
        **{"accuracy": 0.7, "baseline": 0.6, "gain": 0.1, "low": 0.2, "high": 0.3, "p": 0.02},
        **{"leak": False, "detectable": 0.2, "status": "ok", "reason": ""},
    }
    assert (result.coefficient.value, result.inference) == (0.7, "items")
    assert result.detail["by_type"] == [
        {
            **{"type": "a", "items": 5, "accuracy": 1, "baseline": 0.5, "guess": 1, "q": None},
            **{"low": None, "high": None},
        }
    ]
    expected_detail = {
        "baseline": 0.6,
        "guess": 0.7,
        "gain": 0.1,
        "gain_interval": [-0.1, 0.3],
        "p": 0.03,
        "items": 77,
    }
    assert {key: result.detail[key] for key in expected_detail} == expected_detail
    assert result.detail["leaks"] == ["all items"]


PERFECT = Coefficient(1.0)


def test_cues_that_leak_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    cue = SimpleNamespace(name="length", strongest=stratum("a", "", 0.1), leak=True)
    giveaway = SimpleNamespace(phrase="is a", label="yes", type="a", items=4, share=0.75)
    cues = {
        **{"status": "ok", "reason": "", "cues": [cue], "giveaways": [giveaway] * 21},
        **{"constant_types": [("b", "no")], "strata": [], "leaks": ["length", "id"]},
    }
    case_with_cues = leaky_case(monkeypatch, cues=cues, order={"strata": []})
    result = number(case_with_cues, "solvability.leakage_cues")
    assert result.coefficient.value == 2
    assert result.detail["cues"] == [
        {
            **{"cue": "length", "where": "a", "accuracy": 0.7, "baseline": 0.6},
            **{"gain": 0.1, "p": 0.02, "leak": True},
        }
    ]
    assert len(result.detail["giveaways"]) == 20
    assert result.detail["giveaways"][0] == vars(giveaway)
    assert result.detail["constant_types"] == [{"type": "b", "label": "no"}]


def test_the_rule_that_gains_most_by_counting_words_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rules = [
        SimpleNamespace(
            stratum=stratum(kind, "", 0.1, is_leak=True),
            accuracy=Coefficient(accuracy),
            baseline=0.5,
            threshold=7,
            sentence=f"count {kind}",
        )
        for kind, accuracy in (("a", 0.6), ("b", 0.9))
    ]
    lengths = {"status": "ok", "reason": "", "rules": rules, "strongest": rules[1]}
    result = number(leaky_case(monkeypatch, lengths=lengths), "solvability.length_accuracy")
    assert result.coefficient.value == 0.9
    expected_detail = {
        "where": "b",
        "rule": "count b",
        "threshold": 7,
        "baseline": 0.5,
        "leak": True,
    }
    assert {key: result.detail[key] for key in expected_detail} == expected_detail
    assert result.detail["gain"] == pytest.approx(0.4)
    rows = [
        (r["type"], r["rule"], r["threshold"], r["cross_validated"])
        for r in result.detail["strata"]
    ]
    assert rows == [("a", "count a", 7, 0.6), ("b", "count b", 7, 0.9)]
    opened = matrix(NINE[0])
    opened = replace(opened, items=tuple(replace(item, task="vqa") for item in opened.items))
    not_applicable = number(
        case("", "", (opened,), ACCURACY, PROTOCOL), "solvability.length_accuracy"
    )
    assert not_applicable.coefficient.status == "not_applicable"


# --- what is said of each outcome of a study ---


@pytest.mark.parametrize(
    ("fields", "status", "reason", "flags"),
    [
        ({"p": 0.04, "visible": 3.0, "mostly_own": True}, "ok", "", ("NOT_ONE_THING",)),
        ({"p": 0.04, "visible": 3.0, "mostly_own": False}, "ok", "", ()),
        ({"p": 0.06, "visible": 0.9, "mostly_own": True}, "ok", "", ()),
        ({"p": 0.06, "visible": 1.0, "mostly_own": False}, "ok", "", ()),
        ({"p": 0.06, "visible": 1.3, "mostly_own": False}, "not_informative", "below 1.3 l", ()),
        ({"p": 0.06, "visible": math.inf, "mostly_own": True}, "not_informative", "below 2 l", ()),
    ],
)
def test_strengths_in_single_types_are_shown_or_would_have_been_missed(
    monkeypatch: pytest.MonkeyPatch,
    fields: dict[str, Any],
    status: str,
    reason: str,
    flags: tuple[str, ...],
) -> None:
    study = Dimensionality(
        type_sd=0.3, shared=0.8, by_type=(("existence", 4, 0.2),), n=9, n_items=20, **fields
    )
    monkeypatch.setattr(internal_consistency, "dimensionality", lambda *_, **__: study)
    result = number(
        case("", "", (matrix(NINE[0]),), ACCURACY, PROTOCOL), "consistency.own_strengths"
    )
    assert (result.coefficient.value, result.coefficient.status) == (0.3, status)
    assert reason in result.coefficient.reason
    assert bool(result.coefficient.reason) == bool(reason)
    assert (result.coefficient.n, result.coefficient.n_items) == (9, 20)
    assert result.flags == flags
    assert result.detail["types"] == [{"type": "existence", "items": 4, "own": 0.2}]
    assert (result.detail["shared"], result.detail["p"]) == (0.8, fields["p"])


def reading_entry(item: int, expected: float = 0.5, fails: tuple[int, ...] = (0,)) -> Any:
    return ItemToRead(item, -0.4, fails, expected)


@pytest.mark.parametrize(
    ("doubt", "power", "status"),
    [
        ("", 0.2, "ok"),
        ("", 0.19, "not_informative"),
        ("many fail alike", 0.5, "insufficient"),
        ("many fail alike", 0.1, "insufficient"),
    ],
)
def test_a_reading_list_says_how_many_faults_to_expect(
    monkeypatch: pytest.MonkeyPatch, doubt: str, power: float, status: str
) -> None:
    study = ReadingList(
        (reading_entry(3, 0.9, (0, 2)), reading_entry(1)),
        faults=NAN if doubt else 1.4,
        doubt=doubt,
        stands_out=True,
        planted=4,
        power=power,
    )
    monkeypatch.setattr(single_items, "reading_list", lambda *_, **__: study)
    reading_case = case("", "", (matrix(NINE[0]),), ACCURACY, PROTOCOL)
    result = number(reading_case, "items.reading_list")
    assert result.coefficient.status == status
    assert math.isnan(result.coefficient.value) == bool(doubt)
    assert result.detail["reading_list"] == [
        {
            "rank": rank,
            "item": reading_case.items[item].id,
            "item_rest": -0.4,
            "fails": [reading_case.respondents[m] for m in fails],
            "expected": None if doubt else expected,
        }
        for rank, item, fails, expected in ((1, 3, (0, 2), 0.9), (2, 1, (0,), 0.5))
    ]
    assert result.detail["power"] == {
        "true_among_first": power,
        "planted": 4,
        "share_planted": 0.02,
    }
    assert (result.detail["faults"], result.detail["stands_out"]) == (None if doubt else 1.4, True)


def test_label_errors_are_named_by_the_test_or_by_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = ReadingList(
        (), named=(reading_entry(3, 0.9), reading_entry(1, 0.8)), planted=4, power_named=0.5
    )
    tested = LabelErrors((LabelError(3, -0.5, 0.7, 0.01), LabelError(0, -0.3, 0.6, 0.02)))
    monkeypatch.setattr(single_items, "reading_list", lambda *_, **__: listed)
    monkeypatch.setattr(single_items, "label_error_candidates", lambda *_, **__: tested)
    power = PlantedFaults(0.3, 0.01, 5, 40)
    monkeypatch.setattr(single_items, "planted_faults", lambda *_, **__: power)
    items_case = case("", "", (matrix(NINE[0]),), ACCURACY, PROTOCOL)
    result = number(items_case, "items.label_errors")
    ids = [item.id for item in items_case.items]
    assert result.coefficient.value == 3
    assert result.detail["candidates"] == [
        {"item": ids[3], "item_rest": -0.5, "reversals": 0.7, "q": 0.01, "expected": 0.9},
        {"item": ids[0], "item_rest": -0.3, "reversals": 0.6, "q": 0.02},
        {"item": ids[1], "item_rest": -0.4, "expected": 0.8},
    ]
    assert (result.detail["tested"], result.detail["sure"]) == (2, 2)
    assert result.detail["power"]["found"] == 0.5


@pytest.mark.parametrize(
    ("p", "smallest"),
    [
        ((0.01, 0.04), 0.02),
        ((0.7, 0.6), 1.0),
        ((NAN, 0.04), 0.04),
        ((0.03, NAN), 0.03),
        ((NAN, NAN), NAN),
    ],
)
def test_a_judge_errs_alike_unless_one_of_two_tests_says_otherwise(
    monkeypatch: pytest.MonkeyPatch, p: tuple[float, float], smallest: float
) -> None:
    no_errors = psy.judge_errors(np.eye(4), np.eye(4))
    study = replace(no_errors, p_sensitivity=p[0], p_specificity=p[1], homogeneous=None)
    monkeypatch.setattr(judged, "judge_errors", lambda *_, **__: study)
    result = number(labelled_case(), "criterion.judge_functioning")
    assert result.coefficient.value == pytest.approx(smallest, nan_ok=True)
    assert result.coefficient.reason == (
        "there is only one category" if math.isnan(smallest) else ""
    )
    assert result.detail["p_sensitivity"] == (None if math.isnan(p[0]) else p[0])
    assert result.detail["p_specificity"] == (None if math.isnan(p[1]) else p[1])


VALIDITY = CriterionValidity(
    full=Coefficient(0.6),
    labelled_only=Coefficient(0.7),
    disattenuated=Coefficient(0.8),
    ceiling=0.9,
    reliability_automatic=0.95,
    reliability_human=NAN,
    influence=Influence(0.6),
    n=3,
    n_items=6,
    n_labelled=4,
    residual_human=0.2,
    true_human=0.05,
    flags=("ATTENUATION", "FEW_MODELS", "DOMINANT_MODEL", "CAPPED"),
    n_cells=9,
)


def test_a_correlation_that_noise_lowers_is_freed_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judged, "criterion_validity", lambda *_, **__: VALIDITY)
    pure = number(labelled_case(stale=1), "criterion.disattenuated")
    assert pure.coefficient.value == 0.8
    assert pure.flags == ("ATTENUATION", "DOMINANT_MODEL", "CAPPED", "STALE_LABELS")
    assert pure.detail == {
        **{"raw_full": 0.6, "raw_same": 0.7, "paired": 9},
        **{"reliability": 0.95, "reliability_of_people": None},
    }
    assert number(labelled_case(), "criterion.ceiling").coefficient.value == 0.9
    labels_needed = number(labelled_case(), "criterion.labels_needed")
    # n labels have the reliability .05 / (.05 + .2 / n)
    assert labels_needed.coefficient.value == pytest.approx(36)
    assert labels_needed.detail == {"target": 0.9, "labels": 4}
    absent = Coefficient.absent("insufficient", "few")
    for study, status, reason in (
        (replace(VALIDITY, ceiling=NAN), "degenerate", "undefined"),
        (replace(VALIDITY, ceiling=NAN, disattenuated=absent), "insufficient", "few"),
        (replace(VALIDITY, disattenuated=absent), "ok", ""),
    ):
        monkeypatch.setattr(judged, "criterion_validity", lambda *_, study=study, **__: study)
        coefficient = number(labelled_case(), "criterion.ceiling").coefficient
        assert (coefficient.status, coefficient.reason) == (status, reason)
    monkeypatch.setattr(
        judged, "criterion_validity", lambda *_, **__: replace(VALIDITY, true_human=0.0)
    )
    assert number(labelled_case(), "criterion.labels_needed").coefficient.status == "degenerate"


def test_a_mean_is_over_those_who_have_a_corrected_score(monkeypatch: pytest.MonkeyPatch) -> None:
    fixed = replace(Coefficient(0.5, 0.1, 0.9), fixed=psy.ConfidenceInterval(0.4, 0.6, "x"))
    scores = (fixed, Coefficient.absent("insufficient", "few"), Coefficient(0.7, 0.6, 0.8))
    missing = (NAN,) * 3
    study = CorrectedScores(scores, missing, missing, missing, (4, 0, 3), (2, 3, 1), (2, 3, 3))
    monkeypatch.setattr(judged, "ppi_scores", lambda *_, **__: study)
    pooled_case = labelled_case()
    result = number(pooled_case, "criterion.prediction_powered")
    assert result.coefficient.value == pytest.approx(0.6)
    rows = [(0.5, 0.4, 0.6), (None, None, None), (0.7, 0.6, 0.8)]
    assert result.detail["by_respondent"] == {
        name: dict(zip(("score", "low", "high"), row, strict=True))
        for name, row in zip(pooled_case.respondents, rows, strict=True)
    }
    assert result.detail["labels"] == [4, 0, 3]
    moved = {"respondent": pooled_case.respondents[2], "before": 1, "after": 3}
    assert result.detail["rank_changes"] == [moved]
    without_scores = replace(study, scores=(scores[1],) * 3)
    monkeypatch.setattr(judged, "ppi_scores", lambda *_, **__: without_scores)
    lost = number(pooled_case, "criterion.prediction_powered")
    assert (lost.coefficient.status, lost.coefficient.reason) == ("insufficient", "few")
    assert lost.detail == {}
