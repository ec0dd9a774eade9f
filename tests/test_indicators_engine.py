"""What becomes of a number on its way to an estimate: which intervals stay, what it says of others,
what was used, and when it is no number at all.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hqm.indicators import Case, Indicator, case, comparisons
from hqm.indicators import indicator as units
from hqm.indicators.cases import is_negating, leave_one_out_scores
from hqm.indicators.indicator import Result
from hqm.psychometrics import Coefficient, ConfidenceInterval
from hqm.scoring.matrix import ScoreMatrix, Units
from hqm.scoring.metrics import YES_NO, Metric, mean_of
from hqm.types import STATES, Cell, Estimate
from tests.fields import fields_of
from tests.messages import text_of
from tests.test_flags import ACCURACY, PROTOCOL, items, labelled, matrix

Sign = Callable[..., Estimate]
M, N = 12, 10
RIGHT = (np.arange(M * N).reshape(M, N) % 3 > 0).astype(float)
TWELVE = matrix(RIGHT)


@pytest.fixture
def sign(monkeypatch: pytest.MonkeyPatch) -> Sign:
    """A function that makes the one estimate of an indicator which gives this number."""

    def estimate(
        value: Coefficient | Result | float, estimated_case: Case | None = None, **settings: Any
    ) -> Estimate:
        indicator = Indicator(
            name="made",
            unit=settings.pop("unit", units.CORRELATION),
            meaning="A number.",
            family=(units.CONSISTENCY,),
            compute=lambda _: value,
            explains=(),
            **settings,
        )
        monkeypatch.setattr(comparisons, "family_indicators", lambda _: (indicator,))
        estimated_case = estimated_case or case("consistency", "", (TWELVE,), ACCURACY, PROTOCOL)
        (signed,) = comparisons.estimates(estimated_case)
        return signed

    return estimate


def spans_of(estimate: Estimate) -> dict[str, tuple[float, float]]:
    return {span.inference: (span.low, span.high) for span in estimate.intervals}


WITH_INTERVAL = Coefficient(0.5, 0.2, 0.8, n=M, method="of the made kind", level=0.9)
NUMBER_ONLY = Coefficient(0.5, n=M)


def test_an_estimate_has_the_intervals_of_its_number(sign: Sign) -> None:
    fixed = ConfidenceInterval(0.4, 0.6, "over items", 0.8)
    estimate = sign(replace(WITH_INTERVAL, fixed=fixed))
    assert estimate.value == 0.5
    assert spans_of(estimate) == {"fixed_models": (0.4, 0.6), "model_population": (0.2, 0.8)}
    assert [(span.method, span.level) for span in estimate.intervals] == [
        ("over items", 0.8),
        ("of the made kind", 0.9),
    ]
    assert "|interval:of_the_made_kind|" in estimate.signature
    assert spans_of(sign(replace(NUMBER_ONLY, fixed=fixed))) == {"fixed_models": (0.4, 0.6)}
    unknown = sign(replace(NUMBER_ONLY, fixed=replace(fixed, low=math.nan)))
    assert unknown.intervals == ()
    assert "|interval:none|" in unknown.signature
    assert spans_of(sign(Result(WITH_INTERVAL, inference="items"))) == {"items": (0.2, 0.8)}


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ((-1.5, 1.5), (-1, 1)),
        ((0.2, math.inf), (0.2, math.inf)),
        ((-3, -2), (-1, -1)),
        ((2, 3), (1, 1)),
        ((0.1, 0.3), (0.1, 0.3)),
    ],
)
def test_an_interval_has_no_values_that_its_number_cannot_have(
    sign: Sign, ends: tuple[float, float], expected: tuple[float, float]
) -> None:
    low, high = ends
    estimate = sign(replace(WITH_INTERVAL, low=low, high=high))
    assert spans_of(estimate) == {"model_population": expected}


@pytest.mark.parametrize("value", [-1.0, 1.0, 0.0, -0.999])
def test_a_number_may_lie_at_the_ends_of_its_range(sign: Sign, value: float) -> None:
    estimate = sign(value)
    assert (estimate.value, estimate.status, estimate.reason) == (value, "ok", "")


@pytest.mark.parametrize("value", [-1.01, 1.25])
def test_a_number_outside_of_its_range_is_none(sign: Sign, value: float) -> None:
    estimate = sign(Result(replace(WITH_INTERVAL, value=value), {"more": 1}, ("DRIFT",)))
    assert (estimate.value, estimate.status, estimate.intervals) == (None, "degenerate", ())
    assert f"it is {value:.3g}, outside" in estimate.reason
    assert "of -1 to 1:" in estimate.reason
    assert estimate.detail == {}, "what stood beside it goes with it"
    assert estimate.flags == ("DRIFT",)


def test_a_number_that_is_not_finite_is_none(sign: Sign) -> None:
    estimate = sign(Result(Coefficient(math.nan), {"more": 1}, ("DRIFT",)))
    assert (estimate.value, estimate.status) == (None, "degenerate")
    assert "too few answers" in estimate.reason
    assert (estimate.detail, estimate.flags) == ({"more": 1}, ("DRIFT",))
    endless = sign(math.inf, unit=units.SCORE)
    assert (endless.value, endless.status) == (None, "degenerate")
    absent = sign(Coefficient.absent("insufficient", "few"))
    assert (absent.value, absent.status, absent.reason) == (None, "insufficient", "few")


@pytest.mark.parametrize(
    ("facet", "deterministic", "repeats", "silent"),
    [
        ("run", True, True, True),
        ("run", True, False, False),
        ("run", False, True, False),
        ("form", True, True, False),
    ],
)
def test_what_repeats_by_construction_says_nothing(
    sign: Sign, facet: str, deterministic: bool, repeats: bool, silent: bool
) -> None:
    repeated_case = case(
        "consistency", facet, (TWELVE, TWELVE), ACCURACY, PROTOCOL, deterministic=deterministic
    )
    value = replace(
        WITH_INTERVAL, value=1.0, high=1.0, fixed=ConfidenceInterval(0.9, 1, "x"), flags=("DRIFT",)
    )
    estimate = sign(Result(value, {"more": 1}, ("CAPPED",)), repeated_case, repeats=repeats)
    assert (estimate.value, estimate.detail) == (1.0, {"more": 1})
    assert estimate.status == ("not_informative" if silent else "ok")
    flags = {"DETERMINISTIC", "CAPPED"} if silent else {"DRIFT", "CAPPED", "FEW_MODELS"}
    assert set(estimate.flags) == flags
    assert ("fixed_models" in spans_of(estimate)) == (not silent)
    absent = sign(Coefficient.absent("insufficient", "few"), repeated_case, repeats=repeats)
    assert (absent.value, absent.status, absent.flags) == (None, "insufficient", ())


def test_what_was_cut_and_the_standard_error_stand_beside_a_number(sign: Sign) -> None:
    assert sign(replace(NUMBER_ONLY, raw=1.3, se=0.1)).detail == {"raw": 1.3, "se": 0.1}
    assert sign(replace(NUMBER_ONLY, se=0.1)).detail == {"se": 0.1}


@pytest.mark.parametrize(
    ("n", "n_items", "used", "signed"),
    [
        (M, N, (M, N), ("12#", "10|")),
        (0, 0, (M, N), ("12#", "10|")),
        (M - 1, N - 1, (M - 1, N - 1), ("11of12#", "9of10|")),
        (1, 1, (1, 1), ("1of12#", "1of10|")),
        (M + 1, N + 1, (M, N), ("12#", "10|")),
    ],
)
@pytest.mark.parametrize("status", ["ok", "not_informative", "insufficient"])
def test_an_estimate_counts_the_respondents_and_items_that_it_used(
    sign: Sign, n: int, n_items: int, used: tuple[int, int], signed: tuple[str, str], status: Any
) -> None:
    value = math.nan if status == "insufficient" else 0.5
    estimate = sign(Coefficient(value, n=n, n_items=n_items, status=status, reason="x"))
    if status == "insufficient":
        used, signed = (M, N), ("12#", "10|")
    assert (estimate.n_respondents, estimate.n_items) == used
    assert f"|respondents:{signed[0]}" in estimate.signature
    assert f"|items:{signed[1]}" in estimate.signature
    lost = {}
    if used != (M, N):
        lost = {"respondents_left_out": 1 - used[0] / M, "items_left_out": 1 - used[1] / N}
    assert estimate.detail == pytest.approx(lost)


def test_a_signature_counts_the_items_of_the_administration(sign: Sign) -> None:
    """Also where the metric looks at some of them."""
    with_half = replace(TWELVE, subsets={"half": np.arange(N) < 5})
    half_case = case("consistency", "", (with_half,), ACCURACY.within("half"), PROTOCOL)
    estimate = sign(replace(NUMBER_ONLY, n_items=5), half_case)
    assert estimate.n_items == 5
    assert f"|items:{N}|" in estimate.signature
    assert "items:4of5" in sign(replace(NUMBER_ONLY, n_items=4), half_case).signature


FEW_RESPONDENTS = text_of("families.too-few-respondents", count=7, needed=8)
FEW_FAMILIES = text_of("families.too-few", count=12, families=4, needed=5)
POPULATION_CASES: dict[str, tuple[Coefficient, bool, int, str]] = {
    # number, whether it has a lower end alone, families, why nothing is said of others
    "an interval": (WITH_INTERVAL, False, M, ""),
    "an interval, of a lower end": (WITH_INTERVAL, True, M, ""),
    "no interval is asked for": (NUMBER_ONLY, False, M, ""),
    "no lower end": (NUMBER_ONLY, True, M, "it is 1, or"),
    "nobody was counted": (replace(NUMBER_ONLY, n=0), True, M, "it is 1, or"),
    "few respondents": (replace(NUMBER_ONLY, n=7), True, M, FEW_RESPONDENTS),
    "few families": (WITH_INTERVAL, False, 4, FEW_FAMILIES),
    "few families, of a lower end": (WITH_INTERVAL, True, 4, FEW_FAMILIES),
    "few families, no lower end": (NUMBER_ONLY, True, 4, FEW_FAMILIES),
    "few families, no interval is asked for": (NUMBER_ONLY, False, 4, ""),
    "families enough": (WITH_INTERVAL, False, 5, ""),
    "says nothing": (
        Coefficient(0.5, n=M, status="not_informative", reason="x"),
        True,
        M,
        "",
    ),
    "says nothing, with an interval": (
        replace(WITH_INTERVAL, status="not_informative", reason="x"),
        False,
        4,
        FEW_FAMILIES,
    ),
    "no number": (Coefficient.absent("insufficient", "x"), True, 4, ""),
}
SILENT = {
    "no interval is asked for",
    "few families, no interval is asked for",
    "says nothing",
    "no number",
}


@pytest.mark.parametrize("by_names", [True, False])
@pytest.mark.parametrize("effective", [None, 4.5])
@pytest.mark.parametrize("name", POPULATION_CASES)
def test_when_nothing_is_said_of_other_respondents_the_estimate_says_why(
    sign: Sign, name: str, effective: float | None, by_names: bool
) -> None:
    value, one_sided, n_families, reason = POPULATION_CASES[name]
    family_case = case(
        "consistency",
        "",
        (TWELVE,),
        ACCURACY,
        PROTOCOL,
        families=[f"f{k % n_families}" for k in range(M)],
        n_effective=effective,
        families_from_names=by_names,
    )
    estimate = sign(value, family_case, one_sided=one_sided)
    source = "inferred from their names" if by_names else "as given"
    related = n_families < M and effective is not None and name not in SILENT
    assert estimate.detail.get("n_effective") == (effective if related else None)
    assert estimate.detail.get("families") == (f"{n_families}, {source}" if related else None)
    stated_reason = estimate.detail.get("no_interval_for_others", "")
    assert stated_reason.startswith(reason)
    assert bool(stated_reason) == bool(reason)
    assert stated_reason.endswith(f" (families {source})") == (related and bool(reason))
    ends = {} if reason or not math.isfinite(value.low) else {"model_population": (0.2, 0.8)}
    assert spans_of(estimate) == ends


def test_a_number_may_bring_its_own_reason_why_it_says_nothing_of_others(sign: Sign) -> None:
    with_reason = Result(NUMBER_ONLY, {"no_interval_for_others": "of two runs"})
    assert sign(with_reason, one_sided=True).detail == {"no_interval_for_others": "of two runs"}
    item_result = Result(replace(WITH_INTERVAL, n=7), inference="items")
    families = case(
        "consistency", "", (TWELVE,), ACCURACY, PROTOCOL, families=["one"] * M, n_effective=1.0
    )
    estimate = sign(item_result, families, one_sided=True)
    assert estimate.detail == {"respondents_left_out": pytest.approx(5 / 12)}
    assert spans_of(estimate) == {"items": (0.2, 0.8)}


@pytest.mark.parametrize(
    ("value", "inference", "is_flagged"),
    [
        (replace(WITH_INTERVAL, n=19), "model_population", True),
        (replace(WITH_INTERVAL, n=20), "model_population", False),
        (replace(WITH_INTERVAL, n=19), "items", False),
        (
            replace(NUMBER_ONLY, n=19, fixed=ConfidenceInterval(0, 1, "x")),
            "model_population",
            False,
        ),
        (replace(NUMBER_ONLY, n=19), "model_population", False),
        (
            replace(WITH_INTERVAL, n=19, status="not_informative", reason="x"),
            "model_population",
            False,
        ),
    ],
)
def test_few_respondents_are_named_beside_an_interval_over_others(
    sign: Sign, value: Coefficient, inference: str, is_flagged: bool
) -> None:
    assert ("FEW_MODELS" in sign(Result(value, inference=inference)).flags) == is_flagged


@pytest.mark.parametrize("pair", [False, True])
@pytest.mark.parametrize(("lost", "flagged"), [(0, False), (1, False), (2, True)])
def test_more_than_one_answer_of_a_hundred_not_scored_is_flagged(
    sign: Sign, pair: bool, lost: int, flagged: bool
) -> None:
    """Of 100 answers one may be lost, and of two administrations with 100 answers each two."""
    unread = np.zeros((10, N), dtype=bool)
    unread[:lost, 3] = True
    first = matrix(RIGHT[:10], unscored=unread)
    repeated = (replace(first, cell=Cell(run=1)),) if pair else ()
    lossy_case = case("consistency", "run" if pair else "", (first, *repeated), ACCURACY, PROTOCOL)
    estimate = sign(NUMBER_ONLY, lossy_case)
    assert estimate.unscored == lost * (1 + pair)
    assert ("UNPARSED" in estimate.flags) == flagged


def test_withheld_answers_that_are_scored_are_counted(sign: Sign) -> None:
    states = TWELVE.states.copy()
    states[:3, 1] = STATES.index("refused")
    refused = replace(TWELVE, states=states, subsets={"rest": np.arange(N) != 1})
    refused_case = case("consistency", "", (refused,), ACCURACY, PROTOCOL)
    estimate = sign(NUMBER_ONLY, refused_case)
    assert (estimate.detail, estimate.flags) == ({"withheld": 3}, ("UNPARSED", "WITHHELD"))
    two_runs = case("consistency", "run", (refused, refused), ACCURACY, PROTOCOL)
    assert sign(NUMBER_ONLY, two_runs).detail == {"withheld": 6}
    scored_rest = case("consistency", "", (refused,), ACCURACY.within("rest"), PROTOCOL)
    assert (sign(NUMBER_ONLY, scored_rest).detail, sign(NUMBER_ONLY, scored_rest).flags) == ({}, ())


def test_an_estimate_names_its_administrations_and_each_flag_once(sign: Sign) -> None:
    runs = [replace(TWELVE, cell=Cell(run=k)) for k in range(3)]
    run_case = case("consistency", "run", runs, ACCURACY, PROTOCOL)
    estimate = sign(
        Result(replace(NUMBER_ONLY, flags=("DRIFT", "CAPPED")), flags=("DRIFT",)), run_case
    )
    assert estimate.flags == ("DRIFT", "CAPPED")
    assert (estimate.indicator, estimate.metric, estimate.facet) == (
        "consistency.made",
        "accuracy",
        "run",
    )
    assert estimate.first == str(runs[0].cell)
    assert estimate.other == f"{runs[1].cell} & {runs[2].cell}"
    assert "|run:0~1~2|" in estimate.signature
    assert sign(NUMBER_ONLY).other == ""


@pytest.mark.parametrize("second_direction", ["lower", "higher", "neither"])
@pytest.mark.parametrize("first_direction", ["lower", "higher", "neither"])
def test_scores_that_point_opposite_ways_are_turned(
    first_direction: Any, second_direction: Any
) -> None:
    first, second = (
        replace(ACCURACY, better=first_direction),
        replace(ACCURACY, better=second_direction),
    )
    pair = (TWELVE, replace(TWELVE, cell=Cell(judge="human")))
    judged_case = case("criterion", "judge", pair, first, PROTOCOL, second_metric=second)
    turned = {first_direction, second_direction} == {"lower", "higher"}
    share = RIGHT.mean(axis=1)
    assert judged_case.is_reversed == turned
    assert judged_case.scores == pytest.approx(np.stack([share, 1 - share if turned else share]))
    answers = np.stack([RIGHT, 1 - RIGHT if turned else RIGHT])
    assert judged_case.item_scores == pytest.approx(answers)
    left = (RIGHT.sum(axis=1, keepdims=True) - RIGHT) / (N - 1)
    assert judged_case.jackknife_scores == pytest.approx(
        np.stack([left, 1 - left if turned else left])
    )


# --- which administrations are looked at ---


def test_administrations_are_cut_to_what_they_share() -> None:
    names = list(TWELVE.respondents)
    ids = [item.id for item in TWELVE.items]
    second = replace(TWELVE.take(names[:9], ids[2:]), cell=Cell(run=1))
    third = replace(TWELVE.take(names[3:], ids[:7]), cell=Cell(run=2))
    families = [f"f{k}" for k in range(M)]
    run_case = case(
        "test_retest", "run", (TWELVE, second, third), ACCURACY, PROTOCOL, families=families
    )
    for scores in run_case.matrices:
        assert (scores.respondents, list(scores.ids)) == (tuple(names[3:9]), ids[2:7])
    assert run_case.families == tuple(families[3:9])
    assert run_case.unsampled is None
    assert (run_case.n_items, run_case.respondents) == (5, tuple(names[3:9]))
    assert run_case.scores == pytest.approx(np.stack([RIGHT[3:9, 2:7].mean(axis=1)] * 3))
    without_families = case("test_retest", "run", (TWELVE, second), ACCURACY, PROTOCOL)
    assert without_families.families == tuple(names[:9]), "who names no family is one by itself"


@pytest.mark.parametrize(("facet", "has_unsampled"), [("judge", True), ("run", False)])
def test_a_judged_sample_is_compared_with_the_score_on_all_items(
    facet: str, has_unsampled: bool
) -> None:
    ids = [item.id for item in TWELVE.items]
    sample = replace(TWELVE.take(TWELVE.respondents[2:], ids[:4]), cell=Cell(judge="human", run=1))
    sampled_case = case("criterion", facet, (TWELVE, sample), ACCURACY, PROTOCOL)
    first = RIGHT[2:] if has_unsampled else RIGHT[2:, :4]
    assert (sampled_case.unsampled is not None) == has_unsampled
    assert sampled_case.scores[0] == pytest.approx(first.mean(axis=1))
    assert sampled_case.scores[1] == pytest.approx(RIGHT[2:, :4].mean(axis=1))
    assert bool(sampled_case.agreement_jackknife) != has_unsampled
    complete = replace(TWELVE.take(TWELVE.respondents[2:], ids), cell=Cell(judge="human"))
    assert case("criterion", "judge", (TWELVE, complete), ACCURACY, PROTOCOL).unsampled is None


def keyed(*targets: str) -> ScoreMatrix:
    """An administration whose questions have these keys."""
    questions = [
        replace(item, id=f"q{k}", target=target)
        for k, (item, target) in enumerate(zip(items(len(targets)), targets, strict=True))
    ]
    return replace(matrix(np.ones((1, len(questions))), of=questions), items=tuple(questions))


@pytest.mark.parametrize(
    ("before", "after", "negating"),
    [
        ("yes yes no no", "no no yes no", True),
        ("yes yes no no", "no no no no", False),
        ("yes no", "yes no", False),
        ("A B C", "B A A", False),
        ("yes", "no yes yes", True),
        ("yes yes yes", "no", True),
    ],
)
def test_a_form_negates_where_most_of_its_keys_are_turned(
    before: str, after: str, negating: bool
) -> None:
    first = keyed(*before.split())
    assert is_negating(keyed(*after.split()), first) == negating


def test_a_form_without_a_common_question_negates_nothing() -> None:
    no_form = keyed("no")
    no_form = replace(no_form, items=(replace(no_form.items[0], id="x"),))
    assert not is_negating(no_form, keyed("yes"))


def test_scores_without_each_picture_are_counted_by_hand() -> None:
    """Three pictures with one, two and two of five answers, not in their order."""
    right = np.array([[1.0, 0, 1, 1, 0], [0, 1, 1, 1, 1]])
    scored = np.array([[1.0, 1, 1, 1, 1], [1, 1, 1, 1, 0]])
    metric = Metric("share", mean_of("right"), share=True)
    tallies = {"right": right * scored, "n": scored}
    clusters = np.array([1, 0, 2, 1, 2])
    left = leave_one_out_scores(Units(tallies, scored > 0, clusters), metric)
    assert left == pytest.approx(np.array([[3 / 4, 1 / 3, 2 / 3], [2 / 3, 2 / 2, 2 / 3]]))
    no_units = Units(
        {"right": np.zeros((2, 0)), "n": np.zeros((2, 0))}, np.zeros((2, 0), bool), clusters[:0]
    )
    assert leave_one_out_scores(no_units, metric).shape == (2, 0)


def test_a_study_of_the_same_administrations_is_made_once() -> None:
    first = matrix(RIGHT, Cell(run=0))
    second, third = (replace(first, cell=Cell(run=k)) for k in (1, 2))
    sizes: list[int] = []

    def study(study_case: Case) -> int:
        sizes.append(len(study_case.matrices))
        return len(sizes)

    def study_of(*matrices: ScoreMatrix, metric: Metric = ACCURACY, **settings: Any) -> int:
        return case("a", "run", matrices, metric, PROTOCOL, **settings).cached_across_cases(study)

    assert [study_of(first, second), study_of(first, second)] == [1, 1]
    assert study_of(first, third) == 2
    assert study_of(first, second, third) == 3
    assert study_of(first) == 4
    assert study_of(first, second, metric=YES_NO[3]) == 5
    assert study_of(first, second, n_effective=5.0) == 6
    assert study_of(first, second) == 1
    assert sizes == [2, 2, 3, 1, 2, 2]


@pytest.mark.parametrize("sampled", [True, False])
def test_what_nobody_labelled_is_no_answer_that_could_not_be_scored(sampled: bool) -> None:
    lost = np.zeros(RIGHT.shape, dtype=bool)
    lost[0, :3] = True
    first = matrix(RIGHT, unscored=lost)
    labels = labelled(RIGHT, first, N)
    labels = replace(labels, states=np.full(RIGHT.shape, STATES.index("unparsed"), np.uint8))
    labelled_case = case("criterion", "judge", (first, labels), ACCURACY, PROTOCOL)
    if sampled:
        from hqm.labels.people_labels import PooledLabels

        labelled_case = replace(labelled_case, sample=PooledLabels(judgements=()), cache={})
    assert labelled_case.unscored == (3 if sampled else 3 + M * N)


def test_numbers_stand_by_respondent_for_a_detail() -> None:
    plain_case = case("consistency", "", (TWELVE,), ACCURACY, PROTOCOL)
    single = plain_case.by_respondent([0.5, math.nan, 2])
    assert single == dict(zip(TWELVE.respondents, (0.5, None, 2.0), strict=False))
    two = plain_case.by_respondent([0.5, math.nan], [1.0, math.inf])
    assert two == dict(zip(TWELVE.respondents, ([0.5, 1.0], [None, None]), strict=False))


# --- what indicators are, and what they measure ---

INFINITY = math.inf
ENDS = {
    "SCORE": (-INFINITY, INFINITY),
    "SCORE_WIDTH": (0, INFINITY),
    "SHARE": (0, 1),
    "SHARE_DIFFERENCE": (-1, 1),
    "SHARE_OF_REST": (-INFINITY, 1),
    "CORRELATION": (-1, 1),
    "AGREEMENT": (-1, 1),
    "RELIABILITY": (-1, 1),
    "ITEM_COUNT": (0, INFINITY),
    "ANSWER_COUNT": (0, INFINITY),
    "CUES": (0, INFINITY),
    "TYPE_COUNT": (0, INFINITY),
    "LABEL_COUNT": (0, INFINITY),
    "WORDS": (-INFINITY, INFINITY),
    "P_VALUE": (0, 1),
    "DEVIATIONS": (-INFINITY, INFINITY),
    "LOGITS": (0, INFINITY),
    "ELASTICITY": (-INFINITY, INFINITY),
    "LEANING": (-INFINITY, INFINITY),
    "CRAMER": (0, 1),
}


def test_every_unit_has_the_values_that_it_can_have() -> None:
    ends_by_unit = {
        n: (u.minimum, u.maximum) for n, u in vars(units).items() if isinstance(u, units.Unit)
    }
    assert ends_by_unit == ENDS


def test_a_number_of_a_study_or_why_it_has_none() -> None:
    assert fields_of(units.to_coefficient(0.3, NUMBER_ONLY)) == fields_of(Coefficient(0.3))
    absent = Coefficient.absent("insufficient", "few")
    lost = units.to_coefficient(0.3, absent, "lost")
    assert (lost.status, lost.reason) == ("insufficient", "few")
    silent = units.to_coefficient(0.3, Coefficient.absent("insufficient", ""), "lost")
    assert (silent.status, silent.reason) == ("insufficient", "lost")
    assert fields_of(units.to_coefficient(0.3, missing="lost")) == fields_of(Coefficient(0.3))
    for value in (math.nan, math.inf):
        undefined = units.to_coefficient(value, missing="lost")
        assert (undefined.status, undefined.reason) == ("degenerate", "lost")
        with_reason = units.to_coefficient(value, replace(NUMBER_ONLY, reason="own"), "lost")
        assert (with_reason.status, with_reason.reason) == ("degenerate", "own")
    assert units.to_coefficient(math.inf).status == "ok"


def test_a_need_that_a_study_decides() -> None:
    plain_case = case("consistency", "", (TWELVE,), ACCURACY, PROTOCOL)

    def lack_of(study: Coefficient, missing: bool | None = None) -> tuple[str, str] | None:
        is_missing = None if missing is None else lambda _: missing
        need = units.need_study("a study", lambda _: study, is_missing, "mine")
        return need.check(plain_case)

    assert lack_of(NUMBER_ONLY) is None
    assert lack_of(NUMBER_ONLY, False) is None
    assert lack_of(NUMBER_ONLY, True) == ("degenerate", "mine")
    assert lack_of(replace(NUMBER_ONLY, reason="own"), True) == ("degenerate", "own")
    assert lack_of(Coefficient.absent("insufficient", "few")) == ("insufficient", "few")
    assert lack_of(Coefficient.absent("insufficient", "")) == ("insufficient", "mine")
    need = units.need("luck", lambda _: False, "{metric} of {n}", "insufficient")
    assert need.check(plain_case) == ("insufficient", "accuracy of 12")
    assert units.need("luck", lambda _: False).check(plain_case) == ("not_applicable", "")
    assert units.need("luck", lambda _: False, lambda plain: plain.family).check(plain_case) == (
        "not_applicable",
        "consistency",
    )
    assert units.need("luck", lambda _: True, "x").check(plain_case) is None


def test_every_indicator_has_one_place_among_all() -> None:
    listed = units.statistics()
    indicators = units.all_indicators()
    assert set(listed) == {indicator.name for indicator in indicators}
    order = list(units.INDICATOR_FAMILIES)
    positions = [order.index(indicator.family[0].name) for indicator in listed.values()]
    assert positions == sorted(positions)
    for name, family in units.INDICATOR_FAMILIES.items():
        assert family.name == name
        assert units.family_indicators(name) == tuple(i for i in indicators if family in i.family)
    assert units.indicator_named("test_retest.pearson") in units.family_indicators("test_retest")
    assert units.indicator_named("stages.pearson") is None
    pearson = units.indicator_named("pearson")
    assert pearson is not None
    assert pearson.title == "Pearson r"
    assert pearson.facet == ("run", "form", "judge", "sight", "resolution")
    shift = units.indicator_named("mean_shift")
    assert shift is not None
    assert shift.title == "mean shift"
    assert units.indicator_named("consistency.alpha").facet == ()  # type: ignore[union-attr]
