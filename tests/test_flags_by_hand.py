"""What a warning says, of estimates that are written here: who carries it, its numbers, and whether
a decision hangs on it.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hqm.indicators import case, warn
from hqm.indicators.flags import Warned, adjust_warnings, flag_p_values, length_confound
from hqm.psychometrics import Coefficient
from hqm.psychometrics.inference.families import FamilyDependence
from hqm.scoring.metrics import Metric
from hqm.types import Estimate, Interval
from tests.messages import text_of
from tests.test_flags import ACCURACY, PROTOCOL, matrix


def score_warnings(
    counts: Sequence[int], estimates: Sequence[Estimate] = (), **settings: Any
) -> list[Warned]:
    """The warnings of respondents with so many of 100 answers right."""
    right = (np.arange(100) < np.array(counts)[:, None]).astype(float)
    metric: Metric = settings.pop("metric", ACCURACY)
    single_case = case("", "", (matrix(right),), metric, PROTOCOL)
    return list(warn(single_case, estimates, **settings))


def estimate(indicator: str, value: float | None = 0.5, *flags: str, **fields: Any) -> Estimate:
    fields = {"n_respondents": 24, "metric": "accuracy", **fields}
    if "fixed" in fields:
        fields["intervals"] = (Interval(fields.pop("fixed"), 1, "fixed_models", ""),)
    return Estimate(
        indicator=indicator, facet="", first="", other="", value=value, flags=flags, **fields
    )


def sentences(*estimates: Estimate) -> dict[str, str]:
    """Flag -> sentence, of 24 respondents."""
    return {warned.flag: warned.sentence for warned in score_warnings([50] * 24, estimates)}


def related(n: int, n_eff: float, *flags: str) -> FamilyDependence:
    return FamilyDependence(Coefficient(0.456), n_eff, n, 3, flags)


@pytest.mark.parametrize(
    ("n", "n_eff", "warned", "counts"),
    [
        (20, None, False, False),
        (19, None, True, False),
        (1, None, True, False),
        (20, 10.0, False, False),
        (20, 9.9, True, True),
        (25, 9.9, True, True),
        (19, 19.0, True, False),
        (19, 18.96, True, False),
        (19, 18.9, True, True),
        (19, math.nan, True, False),
        (20, math.nan, False, False),
    ],
)
def test_few_respondents_or_few_independent_ones(
    n: int, n_eff: float | None, warned: bool, counts: bool
) -> None:
    family = None if n_eff is None else related(n, n_eff)
    warnings = score_warnings([50] * n, family=family)
    assert [warning.flag for warning in warnings] == ["FEW_MODELS"] * warned
    for warning in warnings:
        answered = f"{n} respondents" if n > 1 else "1 respondent"
        full_sentence = text_of("flags.few", answered=answered, independent=f"{n_eff or n:.1f}")
        assert warning.sentence == (full_sentence if counts else f"{answered} answered")
        independent = n_eff if n_eff is not None and math.isfinite(n_eff) else n
        assert dict(warning.numbers) == {"n": n, "n_effective": independent}
        assert (warning.metric, warning.about, warning.note) == ("accuracy", "", True)


def test_relatives_that_score_alike() -> None:
    (warning,) = score_warnings([50] * 20, family=related(20, 12.3, "FAMILY_DEPENDENCE"))
    assert warning.sentence == text_of("flags.relatives", icc=0.46, count=20, independent=12.3)
    assert dict(warning.numbers) == {"icc": 0.456, "n_effective": 12.3}
    assert (warning.flag, warning.note) == ("FAMILY_DEPENDENCE", True)
    assert score_warnings([50] * 20, family=related(20, 12.3)) == []


WIDE = [*range(0, 50, 5), *range(90, 100)]
"""Ten respondents far apart, and the ten best close together."""


def test_a_reliability_that_misses_the_goal_among_the_best_half() -> None:
    sd, top = (np.std(np.array(counts) / 100, ddof=1) for counts in (WIDE, WIDE[10:]))
    cases = (0.9995, False), (0.9992, True), (0.95, True), (0.9, True), (0.89, False), (None, False)
    for rho, warned in cases:
        status = "insufficient" if rho is None else "ok"
        warnings = score_warnings(WIDE, [estimate("test_retest.rho_g", rho, status=status)])
        assert [warning.flag for warning in warnings] == ["RANGE_INFLATED"] * warned
        for warning in warnings:
            assert rho is not None
            among = 1 - (1 - rho) * sd**2 / top**2
            assert dict(warning.numbers) == pytest.approx(
                {"sd": sd, "sd_top": top, "rho": rho, "rho_top": among}
            )
            assert warning.note
            assert warning.sentence == text_of(
                "flags.range",
                all=f"{sd:.3f}",
                count=20,
                best=f"{top:.3f}",
                top=10,
                rho=f"{rho:.3f}",
                least=f"{max(0.0, among):.3f}",
            )
    reliability = estimate("test_retest.rho_g", 0.95)
    even = [*range(40, 50), *range(50, 100, 5)]
    assert score_warnings(even, [reliability]) == [], "the best half is nearly as wide as all"
    assert score_warnings(WIDE, [replace(reliability, metric="f1")]) == []
    assert score_warnings(WIDE, [replace(reliability, status="not_informative")]) == []
    # of a rate of faults the best are the lowest
    lower = replace(ACCURACY, better="lower")
    (warning,) = score_warnings([100 - count for count in WIDE], [reliability], metric=lower)
    assert warning.numbers["sd_top"] == pytest.approx(top)


def test_the_goal_is_reached_at_the_goal() -> None:
    sd, top = (np.std(np.array(counts) / 100, ddof=1) for counts in (WIDE, WIDE[10:]))
    at_goal = 1 - 0.1 * top**2 / sd**2
    assert score_warnings(WIDE, [estimate("test_retest.rho_g", at_goal + 1e-6)]) == []
    assert score_warnings(WIDE, [estimate("test_retest.rho_g", at_goal - 1e-6)]) != []


def test_a_flag_stands_once_with_all_that_carry_it() -> None:
    carriers = [
        estimate("criterion.kappa", 0.25, "CAPPED", "STALE_LABELS"),
        estimate("criterion.kappa", 0.75, "CAPPED"),
        estimate("criterion.pearson", None, "CAPPED"),
        estimate("stages.f1", None, "CAPPED"),
        estimate("consistency.split_half", 0.5, "CAPPED", "REDUNDANT"),
        estimate("criterion.ceiling", 0.5, "FEW_MODELS", "nobody knows"),
        estimate("criterion.tau_b", 0.5, "CAPPED", metric="f1"),
    ]
    summaries = [
        (warning.flag, warning.about, warning.sentence)
        for warning in score_warnings([50] * 24, carriers)
    ]
    assert summaries == [
        ("CAPPED", "criterion", "criterion.kappa is 0.250 (also: criterion.pearson)"),
        ("STALE_LABELS", "criterion", "criterion.kappa is 0.250"),
        ("CAPPED", "stages", "stages.f1 is no number"),
    ]


@pytest.mark.parametrize("flag", ["UNPARSED", "WITHHELD"])
def test_of_the_answers_it_is_not_said_who_else_carries_it(flag: str) -> None:
    first = estimate("criterion.kappa", 0.25, flag, detail={"withheld": 3}, unscored=7)
    second = estimate("criterion.pearson", 0.25, flag)
    assert "also" not in sentences(first, second)[flag]


def test_what_single_flags_say() -> None:
    unread = {"if_all_wrong": 0.25, "if_all_right": 0.5}
    bounded = sentences(estimate("test_retest.pearson", 0.5, "UNPARSED", detail=unread, unscored=7))
    full_sentence = text_of("flags.unread", count=7, low="0.250", high="0.500")
    assert bounded == {"UNPARSED": full_sentence}
    for key in unread:
        single_bound = {key: 0.25}
        flag_sentences = sentences(
            estimate("test_retest.pearson", 0.5, "UNPARSED", detail=single_bound, unscored=7)
        )
        assert flag_sentences == {"UNPARSED": full_sentence.partition(";")[0]}
    withheld = estimate("test_retest.pearson", 0.5, "WITHHELD", detail={"withheld": 3})
    assert sentences(withheld) == {"WITHHELD": text_of("flags.withheld", count=3)}
    for reduced, formatted, n in ((0.25, "0.250", 24), (None, "undefined", 1)):
        detail = {"strongest": "a and b", "without_strongest": reduced}
        dominant = estimate(
            "test_retest.pearson", 0.5, "DOMINANT_MODEL", detail=detail, n_respondents=n
        )
        assert sentences(dominant) == {
            "DOMINANT_MODEL": text_of(
                "flags.dominant",
                who="a and b",
                without=formatted,
                value="0.500",
                count="24 respondents" if n > 1 else "1 respondent",
            )
        }
    for shift, formatted in ((0.25, "+0.250"), (-0.25, "-0.250"), (None, "+0.000")):
        moved = estimate("test_retest.icc_a1", 0.5, "MEAN_SHIFT", detail={"shift": shift})
        expected = text_of("flags.moved", value="0.500", shift=formatted)
        assert sentences(moved) == {"MEAN_SHIFT": expected}
    crowded = {"in_top": ["a", "b"], "in_bottom": ["c"]}
    flag_ends = {"CEILING": ("", "a, b"), "FLOOR": (" at the lower end", "c")}
    saturated = estimate("discriminability.measures_up_to", 0.5, *flag_ends, detail=crowded)
    assert sentences(saturated) == {
        flag: text_of(
            "flags.in-range",
            indicator="discriminability.measures_up_to",
            value="0.500",
            end=end,
            who=names,
        )
        for flag, (end, names) in flag_ends.items()
    }
    favoured = estimate("types.family_types", 0.5, "FAVOURS_FAMILY", detail={"favours": ["x: a"]})
    remembered = estimate("items.older_advantage", 0.5, "REMEMBERED")
    assert sentences(favoured, remembered) == {
        "FAVOURS_FAMILY": text_of("flags.favoured", indicator="types.family_types", who="x: a"),
        "REMEMBERED": text_of("flags.remembered", indicator="items.older_advantage", who=""),
    }


RHO = "test_retest.rho_g"


@pytest.mark.parametrize(
    ("flagged", "note"),
    [
        (estimate("test_retest.gain", 0.1, "NOISE_FLOOR"), True),
        (estimate("test_retest.icc_a1", 0.9, "MEAN_SHIFT", fixed=0.75), True),
        (estimate("test_retest.icc_a1", 0.9, "MEAN_SHIFT", fixed=0.74), False),
        (estimate("test_retest.icc_a1", 0.9, "MEAN_SHIFT"), False),
        (estimate("test_retest.pearson", 0.9, "MEAN_SHIFT", fixed=0.9), False),
        (estimate("test_retest.rho_g", 0.9, "DETERMINISTIC"), True),
        (estimate("discriminability.measures_up_to", 0.97, "CEILING"), False),
        (estimate("discriminability.measures_up_to", 0.8, "CEILING"), True),
        (estimate("discriminability.measures_up_to", 0.9, "FLOOR", detail={"bottom": 0.2}), True),
        (estimate("test_retest.rho_g", 0.9, "DRIFT"), False),
    ],
)
def test_whether_a_decision_hangs_on_a_flag(flagged: Estimate, note: bool) -> None:
    (warning,) = score_warnings([50] * 24, [flagged])
    assert (warning.flag, warning.note) == (flagged.flags[0], note)


def test_the_tests_behind_the_warnings_share_one_level() -> None:
    """Holm by hand: of two tests the smaller p-value is doubled, the other one is not."""
    tested = ("consistency.own_strengths", "NOT_ONE_THING")
    strengths = estimate(tested[0], 0.3, tested[1], detail={"p": 0.02})
    for drift_p, notes in ((0.04, {False}), (0.03, {False}), (0.9, {False})):
        drift = estimate("test_retest.drift", drift_p)
        rho = estimate(RHO, 0.9, *(["DRIFT"] if drift_p < 0.05 else []))
        estimates = [strengths, drift, rho]
        warnings = score_warnings([50] * 24, estimates)
        adjusted = adjust_warnings(warnings, estimates)
        assert {warning.note for warning in adjusted} == notes
    # three tests: .02 is tripled
    shift = estimate("test_retest.icc_a1", 0.9, detail={"shift_p": 0.5})
    estimates = [strengths, estimate("test_retest.drift", 0.9), shift]
    warnings = score_warnings([50] * 24, estimates)
    assert [warning.note for warning in warnings] == [False]
    assert [warning.note for warning in adjust_warnings(warnings, estimates)] == [True]
    rows = {"a": {"p": 0.3}, "b": {"p": 0.001}, "c": {"p": None}}
    memory = estimate("items.older_advantage", 0.1, "REMEMBERED", detail={"by_respondent": rows})
    values = flag_p_values([strengths, memory, estimate("items.reading_list", 3.0)])
    assert set(values.values()) == {0.02, 0.001}
    untested = score_warnings([50] * 24, [estimate(RHO, 0.9, "MISSING")])
    assert [warning.note for warning in adjust_warnings(untested, estimates)] == [False]


@pytest.mark.parametrize(
    ("counts", "pair"),
    [
        ({"a": 100, "b": 150}, None),
        ({"a": 100, "b": 151}, ("a", "b")),
        ({"a": 151, "b": 100}, ("b", "a")),
        ({"a": 0, "b": 1}, None),
        ({"a": 0, "b": 2}, ("a", "b")),
        ({"a": 10, "b": 4000, "c": 20}, ("a", "b")),
        ({"a": 4000}, None),
        ({}, None),
    ],
)
def test_benchmarks_of_another_length(counts: dict[str, int], pair: tuple[str, str] | None) -> None:
    confounds = length_confound(counts)
    if pair is None:
        assert confounds == {}
        return
    low, high = pair
    expected = text_of(
        "flags.length",
        short=low,
        fewest=f"{counts[low]:,}",
        long=high,
        most=f"{counts[high]:,}",
    )
    assert set(confounds) == set(counts)
    for warned in confounds.values():
        assert (warned.flag, warned.sentence) == ("LENGTH_CONFOUND", expected)
        assert dict(warned.numbers) == {"fewest": counts[low], "most": counts[high]}
        assert not warned.note
