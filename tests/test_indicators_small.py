"""Indicators of small tables of answers, counted by hand: few respondents, few items, what is
missing, and when there is no number.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hqm import psychometrics as psy
from hqm.indicators import case, compare, compare_forms, compare_runs, comparisons, reruns
from hqm.indicators.comparisons import expected
from hqm.scoring.metrics import Metric, mean_of
from hqm.types import Cell, Estimate, Interval
from tests.messages import text_of
from tests.test_flags import ACCURACY, PROTOCOL, matrix
from tests.test_indicators_by_hand import by_name

Array = np.ndarray

# --- reruns ---

FIRST = np.array([[1, 1, 1, 1, 0], [1, 1, 1, 0, 0], [1, 0, 1, 0, 0], [0, 0, 1, 0, 0]])
SECOND = np.array([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [1, 0, 1, 0, 0], [0, 1, 1, 0, 0]])
"""Three of four respondents answer one question of five otherwise when they are asked again."""
FOUR = matrix(FIRST).respondents


def of_runs(*right: Array, metric: Metric = ACCURACY, **settings: Any) -> dict[str, Estimate]:
    runs = [matrix(answers, Cell(run=k)) for k, answers in enumerate(right)]
    return by_name(compare_runs(runs, metric, PROTOCOL, **settings))


def test_the_reliability_of_two_runs_is_counted_by_hand() -> None:
    """The scores are .8 .6 .4 .2 and 1 .4 .4 .4, with variances 1/15 and 9/100; one answer that
    changes makes a noise of .5 / 25 in its respondent's score.
    """
    got = of_runs(FIRST, SECOND)
    noise = 3 / 4 * 0.5 / 25
    spread = (1 / 15 + 9 / 100) / 2
    rho = 1 - noise / spread
    floor = (1 / 15) / (1 / 15 + (0.16 + 0.24) / 2 / 5)
    assert got["test_retest.rho_g"].value == pytest.approx(rho)
    assert got["test_retest.noise_floor"].value == pytest.approx(floor), "of the first run"
    gain = got["test_retest.gain"]
    assert gain.value == pytest.approx((rho - floor) / (1 - floor))
    assert gain.value < 0.5
    assert gain.flags == ("NOISE_FLOOR",)
    errors = dict(zip(FOUR, np.sqrt([0.02, 0.02, 0, 0.02]), strict=True))
    for name, factor in (("sem", 1), ("mdc95", 1.96 * math.sqrt(2))):
        estimate = got[f"test_retest.{name}"]
        assert estimate.value == pytest.approx(factor * math.sqrt(noise), rel=1e-4)
        scaled_errors = {respondent: factor * value for respondent, value in errors.items()}
        assert estimate.detail["by_respondent"] == pytest.approx(scaled_errors, rel=1e-4)
        assert estimate.detail["range"] == pytest.approx([0, factor * math.sqrt(0.02)], rel=1e-4)
    lengthened = got["test_retest.rho_g_1000"]
    assert lengthened.value == pytest.approx(200 * rho / (1 + 199 * rho))
    for name in ("icc_a1", "icc_11", "icc_1k", "icc_c1"):
        assert f"test_retest.{name}" not in got, "two runs are a pair, and its estimates say it"


def test_a_respondent_whose_answers_were_lost_has_no_noise_of_its_own() -> None:
    lost = np.zeros(FIRST.shape, dtype=bool)
    lost[1] = True
    pair = [matrix(r, Cell(run=k), unscored=lost) for k, r in enumerate((FIRST, SECOND))]
    got = by_name(compare_runs(pair, ACCURACY, PROTOCOL))
    sem = got["test_retest.sem"]
    assert sem.detail["by_respondent"][FOUR[1]] is None
    assert sem.detail["range"] == pytest.approx([0, math.sqrt(0.02)])
    assert sem.value == pytest.approx(math.sqrt(2 / 3 * 0.02))
    assert sem.n_respondents == 4
    assert got["test_retest.rho_g"].n_respondents == 3
    lost[:3] = True
    pair = [replace(p, values=np.where(lost, np.nan, p.values)) for p in pair]
    undefined = by_name(compare_runs(pair, ACCURACY, PROTOCOL))["test_retest.sem"]
    assert (undefined.value, undefined.status) == (None, "insufficient")


def test_few_respondents_have_no_best_three() -> None:
    got = of_runs(FIRST[1:], SECOND[1:])
    top = got["test_retest.top_k"]
    assert (top.value, top.status, top.reason) == (None, "degenerate", "undefined")
    assert top.detail == {}
    assert got["test_retest.same_winner"].value is not None
    rows = of_runs(FIRST, SECOND)["test_retest.top_k"].detail["rows"]
    assert [(row["k"], row["chance"]) for row in rows] == [(1, 1 / 4), (3, 3 / 4)]


@pytest.mark.parametrize("direction", ["higher", "lower"])
def test_the_first_of_a_rate_of_faults_is_the_lowest(direction: Any) -> None:
    """The mean scores are .9 .5 .4 .3, and the third has no noise."""
    metric = replace(ACCURACY, better=direction)
    got = of_runs(FIRST, SECOND, metric=metric, seed=3)
    study = psy.rank_stability(
        np.array([0.9, 0.5, 0.4, 0.3]),
        np.array([0.02, 0.02, 0, 0.02]),
        psy.stream(3, "test_retest.ranks"),
        k=(1, 3),
        higher_is_better=direction == "higher",
    )
    assert got["test_retest.same_winner"].value == pytest.approx(study.same_winner)
    assert got["test_retest.top_k"].value == pytest.approx(study.top[1].overlap)
    flips = got["test_retest.pair_flip"]
    assert flips.value == pytest.approx(study.mean_flip)
    assert flips.detail["adjacent"] == pytest.approx(study.adjacent_flip)
    assert flips.detail["top5"] == pytest.approx(study.top5_flip)


@pytest.mark.parametrize(
    ("rows", "status"),
    [
        ([0, 0, 0, 0], "degenerate"),  # the rates do not differ
        ([0, 3], "insufficient"),  # two respondents
    ],
)
def test_a_gain_has_the_reason_of_its_noise_floor(rows: list[int], status: str) -> None:
    got = of_runs(FIRST[rows], SECOND[rows])
    floor, gain = got["test_retest.noise_floor"], got["test_retest.gain"]
    assert (gain.value, gain.status, gain.reason) == (None, status, floor.reason)
    assert floor.status == status


def test_a_gain_has_the_reason_of_its_reliability_or_of_a_full_floor() -> None:
    alike = np.repeat([[1], [0], [1], [0]], 5, axis=1)
    gain = of_runs(alike, FIRST)["test_retest.gain"]
    assert (gain.value, gain.status) == (None, "degenerate")
    assert "floor is 1" in gain.reason
    lost = np.ones(FIRST.shape, dtype=bool)
    lost[:, :1] = False
    pair = [matrix(FIRST), replace(matrix(SECOND, Cell(run=1), unscored=lost))]
    got = by_name(compare_runs(pair, ACCURACY, PROTOCOL))
    rho, gain = got["test_retest.rho_g"], got["test_retest.gain"]
    assert rho.status == "insufficient"
    assert (gain.value, gain.status, gain.reason) == (None, rho.status, rho.reason)


def test_runs_that_are_the_same_have_no_noise_and_say_nothing() -> None:
    """Every coefficient of repetition is 1 by construction; what measures noise is 0."""
    runs = [matrix(FIRST, Cell(run=k)) for k in range(3)]
    joint = compare_runs(runs, ACCURACY, PROTOCOL, deterministic=True)
    pair = compare("run", *runs[:2], ACCURACY, PROTOCOL, deterministic=True)
    listed = {estimate.indicator.partition(".")[2]: estimate for estimate in [*pair, *joint]}
    ones = {
        *("icc_11", "icc_1k", "icc_a1", "icc_ak", "icc_c1", "icc_ck", "ccc", "item_agreement"),
        *("pearson", "spearman", "tau_b", "rho_g", "rho_g_1000", "gain"),
    }
    for estimates in (pair, joint):
        for estimate in estimates:
            name = estimate.indicator.partition(".")[2]
            silent = estimate.flags == ("DETERMINISTIC",)
            assert silent == (name in ones), name
            if silent:
                assert estimate.value == pytest.approx(1)
                assert estimate.status == "not_informative"
    assert {name for name in ones if name not in listed} == set()
    for name in ("sem", "mdc95"):
        assert (listed[name].value, listed[name].status) == (0, "not_informative")
        assert listed[name].reason == of_runs(FIRST, FIRST)["test_retest.rho_g"].reason


# --- components of variance ---


def shares_of(estimate: Estimate) -> dict[frozenset[str], float]:
    """Facets of a component -> its variance."""
    rows = estimate.detail["components"]
    return {frozenset(row["facet"].split(" x ")): row["variance"] for row in rows}


def decided(estimate: Estimate, facet: str, count: int, times: int) -> tuple[float, ...]:
    """Phi, G and the error of a mean over so many items and runs, by the components."""
    components = shares_of(estimate)
    truth = components.pop(frozenset({"respondent"}))
    sizes = {"item": count, facet: times, "respondent": 1}
    errors = {
        effect: v / math.prod(sizes[facet_name] for facet_name in effect)
        for effect, v in components.items()
    }
    absolute = sum(errors.values())
    relative = sum(v for effect, v in errors.items() if "respondent" in effect)
    return truth / (truth + absolute), truth / (truth + relative), math.sqrt(absolute)


GRID = [2, 4, 5, 8, 10, 15, 25, 40, 60, 100]
"""From a twentieth to twenty times five items, two at least."""


@pytest.mark.parametrize("facet", ["run", "form"])
def test_what_more_items_and_runs_would_give_follows_from_the_components(facet: str) -> None:
    cells = [Cell(run=1), Cell(run=2)] if facet == "run" else [Cell(form="b"), Cell(form="c")]
    matrices = [matrix(FIRST), matrix(SECOND, cells[0]), matrix(FIRST[::-1], cells[1])]
    matrices[2] = matrix(np.array([FIRST[0], SECOND[1], SECOND[0], FIRST[3]]), cells[1])
    compare_jointly = compare_runs if facet == "run" else compare_forms
    got = by_name(compare_jointly(matrices, ACCURACY, PROTOCOL))
    phi, g = got["generalizability.phi"], got["generalizability.g"]
    assert g.detail == phi.detail
    assert (phi.detail["varied"], phi.detail["items"]) == (facet, 5)
    assert decided(phi, facet, 5, 1)[:2] == pytest.approx((phi.value, g.value))
    assert [row["items"] for row in phi.detail["curve"]] == GRID
    for row in phi.detail["curve"]:
        once = decided(phi, facet, row["items"], 1)
        assert (row["phi"], row["g"], row["error"]) == pytest.approx(once)
        thrice = decided(phi, facet, row["items"], 3)
        assert (row["phi_of_3"], row["error_of_3"]) == pytest.approx(thrice[::2])
    for plan in phi.detail["d_study"]:
        reached = [
            (count * times, count, times)
            for count in GRID
            for times in range(1, 6)
            if decided(phi, facet, count, times)[0] >= plan["target"]
        ]
        if reached:
            assert plan["answers"] == min(reached)[0] == plan["items"] * plan[f"{facet}s"]
            assert (plan["answers"], plan["items"], plan[f"{facet}s"]) in reached
            assert plan["reason"] == ""
        else:
            assert (plan["answers"], plan["items"], plan[f"{facet}s"]) == (None, None, None)
            assert plan["reason"]
    assert [plan["target"] for plan in phi.detail["d_study"]] == [0.8, 0.9, 0.95]


def test_the_lengths_of_the_curve_are_multiples_of_the_test() -> None:
    factors = (0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1, 1.5, 2, 3, 5, 8, 12, 20)
    assert reruns._grid(100) == [100 * factor for factor in factors]


@pytest.mark.parametrize("facet", ["run", "form"])
@pytest.mark.parametrize("drifts", [False, True])
def test_runs_without_drift_are_repetitions_and_forms_are_not(facet: str, drifts: bool) -> None:
    rng = np.random.default_rng(4)
    base = rng.random((9, 20)) < np.linspace(0.2, 0.8, 9)[:, None]
    rearranged = base.copy()
    for row in rearranged:  # a right answer and a wrong one are exchanged: no score moves
        row[[np.flatnonzero(row)[0], np.flatnonzero(~row)[0]]] ^= True
    if drifts:
        rearranged[0], rearranged[1] = True, False
    cell = Cell(run=1) if facet == "run" else Cell(form="b")
    pair = [matrix(base.astype(float)), matrix(rearranged.astype(float), cell)]
    pair_case = case("generalizability", facet, pair, ACCURACY, PROTOCOL)
    if facet == "run":
        drift = by_name(compare_runs(pair, ACCURACY, PROTOCOL))["test_retest.drift"]
        assert (drift.value < 0.05) == drifts  # type: ignore[operator]
    study = psy.g_and_phi(
        np.stack([base, rearranged], axis=2).astype(float),
        facet,
        np.arange(20),
        replicated=facet == "run" and not drifts,
        n_effective=None,
        families=pair[0].respondents,
    )
    for name, value in (("g", study.g), ("phi", study.phi)):
        estimate = by_name(comparisons.estimates(pair_case))[f"generalizability.{name}"]
        assert estimate.value == pytest.approx(value.value)
        ends = estimate.interval("fixed_models")
        assert (ends is None) == (value.fixed is None)
        if ends is not None and value.fixed is not None:
            assert (ends.low, ends.high) == pytest.approx((value.fixed.low, value.fixed.high))


@pytest.mark.parametrize("max_points", [1, 4])
def test_a_component_is_cut_at_what_scores_of_that_range_can_vary(max_points: int) -> None:
    """Two items that nearly all are right about, and two that nearly all are wrong about: the
    items vary by more than a quarter of the squared range.
    """
    right = np.tile([1.0, 1, 0, 0], (8, 1)) * max_points
    right[0, 0], right[1, 3] = 0, max_points
    runs = [replace(matrix(right / max_points), cell=Cell(run=k)) for k in range(2)]
    scored = {"sum": right, "n": np.ones(right.shape)}
    runs = [replace(run, tallies=scored, values=right) for run in runs]
    phi = by_name(compare_runs(runs, Metric("mean", mean_of("sum"), share=True), PROTOCOL))[
        "generalizability.phi"
    ]
    rows = {row["facet"]: row for row in phi.detail["components"]}
    item = rows["item"]
    assert item["raw"] > max_points**2 / 4
    assert item["variance"] == item["high"] == max_points**2 / 4
    assert item["low"] <= item["variance"]
    assert rows["respondent"]["variance"] < max_points**2 / 4


@pytest.mark.parametrize(
    ("turned", "facet", "has_study"), [(1, "form", False), (0, "form", True), (1, "run", True)]
)
def test_a_form_that_turns_one_key_makes_no_study_of_wordings(
    turned: int, facet: str, has_study: bool
) -> None:
    first = matrix(FIRST)
    form_items = list(first.items)
    for k in range(turned):
        form_items[k] = replace(
            form_items[k], target={"yes": "no", "no": "yes"}[str(form_items[k].target)]
        )
    third = matrix(SECOND, Cell(form="c", run=2), of=form_items)
    second = matrix(SECOND, Cell(form="b", run=1))
    form_case = case("generalizability", facet, (first, second, third), ACCURACY, PROTOCOL)
    phi = by_name(comparisons.estimates(form_case))["generalizability.phi"]
    assert (phi.status == "ok") == has_study
    if not has_study:
        assert (phi.status, phi.value) == ("not_applicable", None)
        assert "inverts the right answers" in phi.reason


# --- what probabilities let expect ---


def of_chances(
    p: Array, temperature: float | None = 1.0, words: Array | None = None, **settings: Any
) -> dict[str, Estimate]:
    first = matrix((p > 0.5).astype(float))
    if words is not None:
        first = replace(first, words=words)
    single_run = case("expected", "", (first,), ACCURACY, PROTOCOL, **settings)
    return by_name(expected(single_run, p, temperature))


CHANCES = np.repeat([[0.9], [0.6], [0.3], [0.2]], 10, axis=1)


def test_the_expected_reliability_is_counted_by_hand() -> None:
    """With one probability for all items of a respondent, a score varies by p (1 - p) / 10."""
    (got,) = of_chances(CHANCES).values()
    p = CHANCES[:, 0]
    spread, noise = p.var(ddof=1), (p * (1 - p) / 10).mean()
    assert got.value == pytest.approx(spread / (spread + noise))
    assert (got.n_respondents, got.flags) == (4, ("EXPECTED",))
    assert got.detail["by_respondent"] == {
        name: {"kappa": pytest.approx(0, abs=1e-9), "agreement": pytest.approx(q**2 + (1 - q) ** 2)}
        for name, q in zip(FOUR, p, strict=True)
    }
    study = psy.expected_retest(CHANCES)
    assert study.pairs is not None
    assert got.detail["pair_flip"] == pytest.approx(study.pairs.mean_flip)
    assert got.detail["expected_tau"] == pytest.approx(study.pairs.expected_tau)
    assert got.detail["r_mean"] == pytest.approx(study.r_mean)
    assert got.detail["r_deviation"] == pytest.approx(study.r_deviation)


def test_the_curve_over_temperature_is_counted_by_hand() -> None:
    """At temperature t the log-odds are those at 1 divided by t."""
    (got,) = of_chances(CHANCES, 2.0).values()
    odds = np.log(CHANCES / (1 - CHANCES)) * 2.0
    steps = [row["temperature"] for row in got.detail["curve"]]
    assert steps == [0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.5, 2.0]
    for row in got.detail["curve"]:
        p = 1 / (1 + np.exp(-odds[:, 0] / row["temperature"]))
        spread, noise = p.var(ddof=1), (p * (1 - p) / 10).mean()
        assert row["reliability"] == pytest.approx(spread / (spread + noise))
    sure = CHANCES.copy()
    sure[:, 0] = [1, 0, 1, 0]
    (certain,) = of_chances(sure).values()
    unscaled = next(row for row in certain.detail["curve"] if row["temperature"] == 1)
    assert unscaled["reliability"] == pytest.approx(certain.value, abs=1e-6)
    assert of_chances(CHANCES, None)["expected.reliability"].detail["curve"] == []


def test_probabilities_must_tell_nine_of_ten_answers() -> None:
    p = np.vstack([CHANCES, CHANCES[:1] / 2])
    p[0, :1], p[1, :2] = np.nan, np.nan
    (got,) = of_chances(p).values()
    names = matrix(p).respondents
    assert list(got.detail["by_respondent"]) == [names[0], *names[2:]]
    assert got.n_respondents == 4
    words = np.ones(p.shape)
    words[2, :2], words[3] = 2, np.nan
    (got,) = of_chances(p, words=words).values()
    assert list(got.detail["by_respondent"]) == [names[0], *names[3:]], "no word is not two"
    words[4, :3] = 2
    (few_respondents,) = of_chances(p, words=words).values()
    assert (few_respondents.value, few_respondents.status) == (None, "insufficient")
    assert "2 of 5 respondents" in few_respondents.reason
    assert text_of("first-token.longer", answers=2) in few_respondents.reason
    words[1] = 2  # too few of its answers are told, so that their length does not matter
    (untold_length,) = of_chances(p, words=words).values()
    assert untold_length.reason == few_respondents.reason


def test_where_no_probability_is_known_nothing_is_expected() -> None:
    for probabilities in (np.full(CHANCES.shape, np.nan), np.zeros((0, 10))):
        first = matrix(np.ones(CHANCES.shape))
        single_run = case("expected", "", (first,), ACCURACY, PROTOCOL)
        assert by_name(expected(single_run, probabilities, 0.0)) == {}
    assert by_name(comparisons.estimates(single_run)) == {}
    (cold,) = of_chances(CHANCES, 0.0).values()
    assert (cold.value, cold.status) == (None, "not_applicable")


# --- which administrations are compared ---


def test_which_comparisons_have_components_of_variance() -> None:
    rng = np.random.default_rng(6)
    x, y, z = (rng.random((3, 9, 20)) < np.linspace(0.1, 0.9, 9)[:, None]).astype(float)
    cells = {
        "form": Cell(form="b"),
        "run": Cell(run=1),
        "sight": Cell(sight="blind"),
        "resolution": Cell(resolution=0.5),  # type: ignore[arg-type]
    }
    for facet, cell in cells.items():
        estimates = by_name(compare(facet, matrix(x), matrix(y, cell), ACCURACY, PROTOCOL))
        assert ("generalizability.phi" in estimates) == (facet == "form"), facet
    judge = matrix(x, Cell(judge="a@1"))
    for name in ("a@1#1", "b@1"):
        estimates = by_name(
            compare("judge", judge, matrix(y, Cell(judge=name)), ACCURACY, PROTOCOL)
        )
        assert "generalizability.phi" in estimates
    wordings = [matrix(v, Cell(form=f)) for v, f in ((x, "a"), (y, "b"), (z, "c"))]
    for count, has_study in ((2, False), (3, True)):
        estimates = by_name(comparisons.compare_forms(wordings[:count], ACCURACY, PROTOCOL))
        assert ("generalizability.phi" in estimates) == has_study
    assert comparisons.compare_forms(wordings[:1], ACCURACY, PROTOCOL) == []
    assert comparisons.compare_runs([matrix(x)], ACCURACY, PROTOCOL) == []
    runs = [matrix(v, Cell(run=k)) for k, v in enumerate((x, z))]
    for facet, cell, margin in (
        ("form", Cell(form="b"), True),
        ("sight", Cell(sight="blind"), False),
    ):
        estimates = by_name(compare(facet, runs[0], matrix(y, cell), ACCURACY, PROTOCOL, runs=runs))
        assert any(e.detail.get("margin_from") == "seeds" for e in estimates.values()) == margin
    single = by_name(
        compare("form", runs[0], matrix(y, cells["form"]), ACCURACY, PROTOCOL, runs=runs[:1])
    )
    assert single["parallel_forms.form_correlation"].status == "not_applicable"


def test_an_interval_keeps_its_level() -> None:
    rng = np.random.default_rng(6)
    x, y = (rng.random((2, 9, 20)) < np.linspace(0.1, 0.9, 9)[:, None]).astype(float)
    estimates = by_name(compare("form", matrix(x), matrix(y, Cell(form="b")), ACCURACY, PROTOCOL))
    spans: list[Interval] = [span for e in estimates.values() for span in e.intervals]
    assert {span.level for span in spans} == {0.95}
