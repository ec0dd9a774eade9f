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
from hqm.indicators.cases import is_negating, left_out
from hqm.indicators.indicator import Result
from hqm.psychometrics import Bounds, Coefficient
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
        value: Coefficient | Result | float, of: Case | None = None, **settings: Any
    ) -> Estimate:
        made = Indicator(
            name="made",
            unit=settings.pop("unit", units.CORRELATION),
            meaning="A number.",
            family=(units.CONSISTENCY,),
            compute=lambda _: value,
            explains=(),
            **settings,
        )
        monkeypatch.setattr(comparisons, "indicators_of", lambda _: (made,))
        of = of or case("consistency", "", (TWELVE,), ACCURACY, PROTOCOL)
        (signed,) = comparisons.estimates(of)
        return signed

    return estimate


def spans_of(estimate: Estimate) -> dict[str, tuple[float, float]]:
    return {span.inference: (span.low, span.high) for span in estimate.intervals}


KNOWN = Coefficient(0.5, 0.2, 0.8, n=M, method="of the made kind", level=0.9)
ALONE = Coefficient(0.5, n=M)


def test_an_estimate_has_the_intervals_of_its_number(sign: Sign) -> None:
    fixed = Bounds(0.4, 0.6, "over items", 0.8)
    both = sign(replace(KNOWN, fixed=fixed))
    assert both.value == 0.5
    assert spans_of(both) == {"fixed_models": (0.4, 0.6), "model_population": (0.2, 0.8)}
    assert [(span.method, span.level) for span in both.intervals] == [
        ("over items", 0.8),
        ("of the made kind", 0.9),
    ]
    assert "|interval:of_the_made_kind|" in both.signature
    assert spans_of(sign(replace(ALONE, fixed=fixed))) == {"fixed_models": (0.4, 0.6)}
    unknown = sign(replace(ALONE, fixed=replace(fixed, low=math.nan)))
    assert unknown.intervals == ()
    assert "|interval:none|" in unknown.signature
    assert spans_of(sign(Result(KNOWN, over="items"))) == {"items": (0.2, 0.8)}


@pytest.mark.parametrize(
    ("ends", "kept"),
    [
        ((-1.5, 1.5), (-1, 1)),
        ((0.2, math.inf), (0.2, math.inf)),
        ((-3, -2), (-1, -1)),
        ((2, 3), (1, 1)),
        ((0.1, 0.3), (0.1, 0.3)),
    ],
)
def test_an_interval_has_no_values_that_its_number_cannot_have(
    sign: Sign, ends: tuple[float, float], kept: tuple[float, float]
) -> None:
    low, high = ends
    made = sign(replace(KNOWN, low=low, high=high))
    assert spans_of(made) == {"model_population": kept}


@pytest.mark.parametrize("value", [-1.0, 1.0, 0.0, -0.999])
def test_a_number_may_lie_at_the_ends_of_its_range(sign: Sign, value: float) -> None:
    made = sign(value)
    assert (made.value, made.status, made.reason) == (value, "ok", "")


@pytest.mark.parametrize("value", [-1.01, 1.25])
def test_a_number_outside_of_its_range_is_none(sign: Sign, value: float) -> None:
    made = sign(Result(replace(KNOWN, value=value), {"more": 1}, ("DRIFT",)))
    assert (made.value, made.status, made.intervals) == (None, "degenerate", ())
    assert f"comes out as {value:.3g}, outside" in made.reason
    assert "of -1 to 1:" in made.reason
    assert made.detail == {}, "what stood beside it goes with it"
    assert made.flags == ("DRIFT",)


def test_a_number_that_is_not_finite_is_none(sign: Sign) -> None:
    made = sign(Result(Coefficient(math.nan), {"more": 1}, ("DRIFT",)))
    assert (made.value, made.status) == (None, "degenerate")
    assert "too few answers" in made.reason
    assert (made.detail, made.flags) == ({"more": 1}, ("DRIFT",))
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
    of = case(
        "consistency", facet, (TWELVE, TWELVE), ACCURACY, PROTOCOL, deterministic=deterministic
    )
    value = replace(KNOWN, value=1.0, high=1.0, fixed=Bounds(0.9, 1, "x"), flags=("DRIFT",))
    made = sign(Result(value, {"more": 1}, ("CAPPED",)), of, repeats=repeats)
    assert (made.value, made.detail) == (1.0, {"more": 1})
    assert made.status == ("not_informative" if silent else "ok")
    flags = {"DETERMINISTIC", "CAPPED"} if silent else {"DRIFT", "CAPPED", "FEW_MODELS"}
    assert set(made.flags) == flags
    assert ("fixed_models" in spans_of(made)) == (not silent)
    absent = sign(Coefficient.absent("insufficient", "few"), of, repeats=repeats)
    assert (absent.value, absent.status, absent.flags) == (None, "insufficient", ())


def test_what_was_cut_and_the_standard_error_stand_beside_a_number(sign: Sign) -> None:
    assert sign(replace(ALONE, raw=1.3, se=0.1)).detail == {"raw": 1.3, "se": 0.1}
    assert sign(replace(ALONE, se=0.1)).detail == {"se": 0.1}


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
    made = sign(Coefficient(value, n=n, n_items=n_items, status=status, reason="x"))
    if status == "insufficient":
        used, signed = (M, N), ("12#", "10|")
    assert (made.n_respondents, made.n_items) == used
    assert f"|respondents:{signed[0]}" in made.signature
    assert f"|items:{signed[1]}" in made.signature
    lost = {}
    if used != (M, N):
        lost = {"respondents_left_out": 1 - used[0] / M, "items_left_out": 1 - used[1] / N}
    assert made.detail == pytest.approx(lost)


def test_a_signature_counts_the_items_of_the_administration(sign: Sign) -> None:
    """Also where the metric looks at some of them."""
    some = replace(TWELVE, subsets={"half": np.arange(N) < 5})
    of = case("consistency", "", (some,), ACCURACY.within("half"), PROTOCOL)
    made = sign(replace(ALONE, n_items=5), of)
    assert made.n_items == 5
    assert f"|items:{N}|" in made.signature
    assert "items:4of5" in sign(replace(ALONE, n_items=4), of).signature


FEW = text_of("families.too-few-respondents", count=7, needed=8)
OF_FOUR = text_of("families.too-few", count=12, families=4, needed=5)
OTHERS: dict[str, tuple[Coefficient, bool, int, str]] = {
    # number, whether it has a lower end alone, families, why nothing is said of others
    "an interval": (KNOWN, False, M, ""),
    "an interval, of a lower end": (KNOWN, True, M, ""),
    "no interval is asked for": (ALONE, False, M, ""),
    "no lower end": (ALONE, True, M, "it is 1, or"),
    "nobody was counted": (replace(ALONE, n=0), True, M, "it is 1, or"),
    "few respondents": (replace(ALONE, n=7), True, M, FEW),
    "few families": (KNOWN, False, 4, OF_FOUR),
    "few families, of a lower end": (KNOWN, True, 4, OF_FOUR),
    "few families, no lower end": (ALONE, True, 4, OF_FOUR),
    "few families, no interval is asked for": (ALONE, False, 4, ""),
    "families enough": (KNOWN, False, 5, ""),
    "says nothing": (
        Coefficient(0.5, n=M, status="not_informative", reason="x"),
        True,
        M,
        "",
    ),
    "says nothing, with an interval": (
        replace(KNOWN, status="not_informative", reason="x"),
        False,
        4,
        OF_FOUR,
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
@pytest.mark.parametrize("name", OTHERS)
def test_when_nothing_is_said_of_other_respondents_the_estimate_says_why(
    sign: Sign, name: str, effective: float | None, by_names: bool
) -> None:
    value, one_sided, many, reason = OTHERS[name]
    of = case(
        "consistency",
        "",
        (TWELVE,),
        ACCURACY,
        PROTOCOL,
        families=[f"f{k % many}" for k in range(M)],
        n_effective=effective,
        families_told=by_names,
    )
    made = sign(value, of, one_sided=one_sided)
    source = "told from their names" if by_names else "as given"
    related = many < M and effective is not None and name not in SILENT
    assert made.detail.get("n_effective") == (effective if related else None)
    assert made.detail.get("families") == (f"{many}, {source}" if related else None)
    given = made.detail.get("no_interval_for_others", "")
    assert given.startswith(reason)
    assert bool(given) == bool(reason)
    assert given.endswith(f" (families {source})") == (related and bool(reason))
    ends = {} if reason or not math.isfinite(value.low) else {"model_population": (0.2, 0.8)}
    assert spans_of(made) == ends


def test_a_number_may_bring_its_own_reason_why_it_says_nothing_of_others(sign: Sign) -> None:
    own = Result(ALONE, {"no_interval_for_others": "of two runs"})
    assert sign(own, one_sided=True).detail == {"no_interval_for_others": "of two runs"}
    over = Result(replace(KNOWN, n=7), over="items")
    families = case(
        "consistency", "", (TWELVE,), ACCURACY, PROTOCOL, families=["one"] * M, n_effective=1.0
    )
    made = sign(over, families, one_sided=True)
    assert made.detail == {"respondents_left_out": pytest.approx(5 / 12)}
    assert spans_of(made) == {"items": (0.2, 0.8)}


@pytest.mark.parametrize(
    ("value", "over", "few"),
    [
        (replace(KNOWN, n=19), "model_population", True),
        (replace(KNOWN, n=20), "model_population", False),
        (replace(KNOWN, n=19), "items", False),
        (replace(ALONE, n=19, fixed=Bounds(0, 1, "x")), "model_population", False),
        (replace(ALONE, n=19), "model_population", False),
        (replace(KNOWN, n=19, status="not_informative", reason="x"), "model_population", False),
    ],
)
def test_few_respondents_are_named_beside_an_interval_over_others(
    sign: Sign, value: Coefficient, over: str, few: bool
) -> None:
    assert ("FEW_MODELS" in sign(Result(value, over=over)).flags) == few


@pytest.mark.parametrize("pair", [False, True])
@pytest.mark.parametrize(("lost", "flagged"), [(0, False), (1, False), (2, True)])
def test_more_than_one_answer_of_a_hundred_not_scored_is_flagged(
    sign: Sign, pair: bool, lost: int, flagged: bool
) -> None:
    """Of 100 answers one may be lost, and of two administrations with 100 answers each two."""
    unread = np.zeros((10, N), dtype=bool)
    unread[:lost, 3] = True
    first = matrix(RIGHT[:10], unscored=unread)
    others = (replace(first, cell=Cell(run=1)),) if pair else ()
    of = case("consistency", "run" if pair else "", (first, *others), ACCURACY, PROTOCOL)
    made = sign(ALONE, of)
    assert made.unscored == lost * (1 + pair)
    assert ("UNPARSED" in made.flags) == flagged


def test_withheld_answers_that_are_scored_are_counted(sign: Sign) -> None:
    states = TWELVE.states.copy()
    states[:3, 1] = STATES.index("refused")
    refused = replace(TWELVE, states=states, subsets={"rest": np.arange(N) != 1})
    of = case("consistency", "", (refused,), ACCURACY, PROTOCOL)
    made = sign(ALONE, of)
    assert (made.detail, made.flags) == ({"withheld": 3}, ("UNPARSED", "WITHHELD"))
    both = case("consistency", "run", (refused, refused), ACCURACY, PROTOCOL)
    assert sign(ALONE, both).detail == {"withheld": 6}
    rest = case("consistency", "", (refused,), ACCURACY.within("rest"), PROTOCOL)
    assert (sign(ALONE, rest).detail, sign(ALONE, rest).flags) == ({}, ())


def test_an_estimate_names_its_administrations_and_each_flag_once(sign: Sign) -> None:
    runs = [replace(TWELVE, cell=Cell(run=k)) for k in range(3)]
    of = case("consistency", "run", runs, ACCURACY, PROTOCOL)
    made = sign(Result(replace(ALONE, flags=("DRIFT", "CAPPED")), flags=("DRIFT",)), of)
    assert made.flags == ("DRIFT", "CAPPED")
    assert (made.indicator, made.metric, made.facet) == ("consistency.made", "accuracy", "run")
    assert made.first == str(runs[0].cell)
    assert made.other == f"{runs[1].cell} & {runs[2].cell}"
    assert "|run:0~1~2|" in made.signature
    assert sign(ALONE).other == ""


@pytest.mark.parametrize("other", ["lower", "higher", "neither"])
@pytest.mark.parametrize("own", ["lower", "higher", "neither"])
def test_scores_that_point_opposite_ways_are_turned(own: Any, other: Any) -> None:
    first, second = replace(ACCURACY, better=own), replace(ACCURACY, better=other)
    pair = (TWELVE, replace(TWELVE, cell=Cell(judge="human")))
    of = case("criterion", "judge", pair, first, PROTOCOL, other_metric=second)
    turned = {own, other} == {"lower", "higher"}
    share = RIGHT.mean(axis=1)
    assert of.turned == turned
    assert of.scores == pytest.approx(np.stack([share, 1 - share if turned else share]))
    answers = np.stack([RIGHT, 1 - RIGHT if turned else RIGHT])
    assert of.item_scores == pytest.approx(answers)
    left = (RIGHT.sum(axis=1, keepdims=True) - RIGHT) / (N - 1)
    assert of.without == pytest.approx(np.stack([left, 1 - left if turned else left]))


# --- which administrations are looked at ---


def test_administrations_are_cut_to_what_they_share() -> None:
    names = list(TWELVE.respondents)
    ids = [item.id for item in TWELVE.items]
    second = replace(TWELVE.take(names[:9], ids[2:]), cell=Cell(run=1))
    third = replace(TWELVE.take(names[3:], ids[:7]), cell=Cell(run=2))
    families = [f"f{k}" for k in range(M)]
    of = case("test_retest", "run", (TWELVE, second, third), ACCURACY, PROTOCOL, families=families)
    for each in of.matrices:
        assert (each.respondents, list(each.ids)) == (tuple(names[3:9]), ids[2:7])
    assert of.families == tuple(families[3:9])
    assert of.whole is None
    assert (of.n_items, of.respondents) == (5, tuple(names[3:9]))
    assert of.scores == pytest.approx(np.stack([RIGHT[3:9, 2:7].mean(axis=1)] * 3))
    alone = case("test_retest", "run", (TWELVE, second), ACCURACY, PROTOCOL)
    assert alone.families == tuple(names[:9]), "who names no family is one by itself"


@pytest.mark.parametrize(("facet", "whole"), [("judge", True), ("run", False)])
def test_a_judged_sample_is_compared_with_the_score_on_all_items(facet: str, whole: bool) -> None:
    ids = [item.id for item in TWELVE.items]
    sample = replace(TWELVE.take(TWELVE.respondents[2:], ids[:4]), cell=Cell(judge="human", run=1))
    of = case("criterion", facet, (TWELVE, sample), ACCURACY, PROTOCOL)
    first = RIGHT[2:] if whole else RIGHT[2:, :4]
    assert (of.whole is not None) == whole
    assert of.scores[0] == pytest.approx(first.mean(axis=1))
    assert of.scores[1] == pytest.approx(RIGHT[2:, :4].mean(axis=1))
    assert bool(of.agreement_without) != whole
    same = replace(TWELVE.take(TWELVE.respondents[2:], ids), cell=Cell(judge="human"))
    assert case("criterion", "judge", (TWELVE, same), ACCURACY, PROTOCOL).whole is None


def keyed(*targets: str) -> ScoreMatrix:
    """An administration whose questions have these keys."""
    of = [
        replace(item, id=f"q{k}", target=target)
        for k, (item, target) in enumerate(zip(items(len(targets)), targets, strict=True))
    ]
    return replace(matrix(np.ones((1, len(of))), of=of), items=tuple(of))


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
    other = keyed("no")
    other = replace(other, items=(replace(other.items[0], id="x"),))
    assert not is_negating(other, keyed("yes"))


def test_scores_without_each_picture_are_counted_by_hand() -> None:
    """Three pictures with one, two and two of five answers, not in their order."""
    right = np.array([[1.0, 0, 1, 1, 0], [0, 1, 1, 1, 1]])
    scored = np.array([[1.0, 1, 1, 1, 1], [1, 1, 1, 1, 0]])
    metric = Metric("share", mean_of("right"), share=True)
    tallies = {"right": right * scored, "n": scored}
    clusters = np.array([1, 0, 2, 1, 2])
    left = left_out(Units(tallies, scored > 0, clusters), metric)
    assert left == pytest.approx(np.array([[3 / 4, 1 / 3, 2 / 3], [2 / 3, 2 / 2, 2 / 3]]))
    none = Units(
        {"right": np.zeros((2, 0)), "n": np.zeros((2, 0))}, np.zeros((2, 0), bool), clusters[:0]
    )
    assert left_out(none, metric).shape == (2, 0)


def test_a_study_of_the_same_administrations_is_made_once() -> None:
    first = matrix(RIGHT, Cell(run=0))
    other, third = (replace(first, cell=Cell(run=k)) for k in (1, 2))
    made: list[int] = []

    def study(of: Case) -> int:
        made.append(len(of.matrices))
        return len(made)

    def asked(*matrices: ScoreMatrix, metric: Metric = ACCURACY, **settings: Any) -> int:
        return case("a", "run", matrices, metric, PROTOCOL, **settings).once_for_all(study)

    assert [asked(first, other), asked(first, other)] == [1, 1]
    assert asked(first, third) == 2
    assert asked(first, other, third) == 3
    assert asked(first) == 4
    assert asked(first, other, metric=YES_NO[3]) == 5
    assert asked(first, other, n_effective=5.0) == 6
    assert asked(first, other) == 1
    assert made == [2, 2, 3, 1, 2, 2]


@pytest.mark.parametrize("sampled", [True, False])
def test_what_nobody_labelled_is_no_answer_that_could_not_be_scored(sampled: bool) -> None:
    lost = np.zeros(RIGHT.shape, dtype=bool)
    lost[0, :3] = True
    first = matrix(RIGHT, unscored=lost)
    labels = labelled(RIGHT, first, N)
    labels = replace(labels, states=np.full(RIGHT.shape, STATES.index("unparsed"), np.uint8))
    of = case("criterion", "judge", (first, labels), ACCURACY, PROTOCOL)
    if sampled:
        from hqm.labels.people_labels import PooledLabels

        of = replace(of, sample=PooledLabels(judgements=()), known={})
    assert of.unscored == (3 if sampled else 3 + M * N)


def test_numbers_stand_by_respondent_for_a_detail() -> None:
    of = case("consistency", "", (TWELVE,), ACCURACY, PROTOCOL)
    single = of.by_respondent([0.5, math.nan, 2])
    assert single == dict(zip(TWELVE.respondents, (0.5, None, 2.0), strict=False))
    two = of.by_respondent([0.5, math.nan], [1.0, math.inf])
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
    made = {n: (u.least, u.most) for n, u in vars(units).items() if isinstance(u, units.Unit)}
    assert made == ENDS


def test_a_number_of_a_study_or_why_it_has_none() -> None:
    assert fields_of(units.known(0.3, ALONE)) == fields_of(Coefficient(0.3))
    few = Coefficient.absent("insufficient", "few")
    lost = units.known(0.3, few, "lost")
    assert (lost.status, lost.reason) == ("insufficient", "few")
    silent = units.known(0.3, Coefficient.absent("insufficient", ""), "lost")
    assert (silent.status, silent.reason) == ("insufficient", "lost")
    assert fields_of(units.known(0.3, missing="lost")) == fields_of(Coefficient(0.3))
    for value in (math.nan, math.inf):
        none = units.known(value, missing="lost")
        assert (none.status, none.reason) == ("degenerate", "lost")
        own = units.known(value, replace(ALONE, reason="own"), "lost")
        assert (own.status, own.reason) == ("degenerate", "own")
    assert units.known(math.inf).status == "ok"


def test_a_need_that_a_study_decides() -> None:
    of = case("consistency", "", (TWELVE,), ACCURACY, PROTOCOL)

    def lack_of(study: Coefficient, missing: bool | None = None) -> tuple[str, str] | None:
        without = None if missing is None else lambda _: missing
        need = units.study_of("a study", lambda _: study, without, "mine")
        return need.lacking(of)

    assert lack_of(ALONE) is None
    assert lack_of(ALONE, False) is None
    assert lack_of(ALONE, True) == ("degenerate", "mine")
    assert lack_of(replace(ALONE, reason="own"), True) == ("degenerate", "own")
    assert lack_of(Coefficient.absent("insufficient", "few")) == ("insufficient", "few")
    assert lack_of(Coefficient.absent("insufficient", "")) == ("insufficient", "mine")
    asked = units.need("luck", lambda _: False, "{metric} of {n}", "insufficient")
    assert asked.lacking(of) == ("insufficient", "accuracy of 12")
    assert units.need("luck", lambda _: False).lacking(of) == ("not_applicable", "")
    assert units.need("luck", lambda _: False, lambda of: of.family).lacking(of) == (
        "not_applicable",
        "consistency",
    )
    assert units.need("luck", lambda _: True, "x").lacking(of) is None


def test_every_indicator_has_one_place_among_all() -> None:
    listed = units.statistics()
    every = units.all_indicators()
    assert set(listed) == {indicator.name for indicator in every}
    order = list(units.INDICATOR_FAMILIES)
    places = [order.index(indicator.family[0].name) for indicator in listed.values()]
    assert places == sorted(places)
    for name, family in units.INDICATOR_FAMILIES.items():
        assert family.name == name
        assert units.indicators_of(name) == tuple(i for i in every if family in i.family)
    assert units.indicator_named("test_retest.pearson") in units.indicators_of("test_retest")
    assert units.indicator_named("stages.pearson") is None
    pearson = units.indicator_named("pearson")
    assert pearson is not None
    assert pearson.title == "Pearson r"
    assert pearson.facet == ("run", "form", "judge", "sight", "resolution")
    shift = units.indicator_named("mean_shift")
    assert shift is not None
    assert shift.title == "mean shift"
    assert units.indicator_named("consistency.alpha").facet == ()  # type: ignore[union-attr]
