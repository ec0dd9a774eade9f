"""Indicators of judges and of people's labels, of small tables counted by hand: which answers are
labelled, what they weigh, what the raters' own errors do, and when there is no number.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hqm import psychometrics as psy
from hqm.indicators import Case, case, judged, labelled
from hqm.indicators.indicator import Result, indicators_of
from hqm.labels.people_labels import FAITHFUL, PooledLabels, StageEvidence
from hqm.scoring.metrics import YES_NO, Metric
from hqm.types import Cell, Estimate, Judgement
from tests.indicator_answers import asked, check_answer, number
from tests.messages import text_of
from tests.test_flags import ACCURACY, PROTOCOL, items, matrix
from tests.test_flags import labelled as labels_on

Array = np.ndarray
NAN = math.nan
RIGHT = np.array([[1, 1, 0, 1, 0, 1], [1, 0, 0, 1, 1, 0], [0, 0, 1, 1, 0, 0]])
HUMAN = np.array([[1, 0, 0, 1], [NAN, 0, 1, 1], [0, NAN, NAN, 1]])
"""People's labels on the last four of six items, from the last to the third."""
ORDER = [5, 4, 3, 2]
ITEMS = items(6)
FIRST = replace(
    matrix(RIGHT.astype(float), of=ITEMS),
    subsets={"part": np.array([False, True, True, True, False, True])},
    groups={"figure": np.arange(6)},
)
NAMES = FIRST.respondents


def by_people(human: Array = HUMAN, judge: str = "human", of: Any = None) -> Any:
    """The labels as an administration of their own."""
    known = np.isfinite(human)
    made = labels_on(np.zeros(human.shape), FIRST, human.shape[1])
    return replace(
        made,
        cell=Cell(judge=judge),
        items=tuple(ITEMS[k] for k in (of or ORDER)),
        values=human,
        tallies={"faithful": np.where(known, human, 0.0), "n": known.astype(float)},
    )


def beside(metric: Metric = ACCURACY, labels: Any = None, **sample: Any) -> Case:
    """The answers beside people's labels."""
    pooled = PooledLabels(**{"judgements": (), **sample})
    given = by_people() if labels is None else labels
    return case(
        "criterion",
        "judge",
        (FIRST, given),
        metric,
        PROTOCOL,
        other_metric=FAITHFUL,
        sample=pooled,
        levels=("model", "answer", "item"),
    )


PLACED = np.array([[NAN, NAN, 1, 0, 0, 1], [NAN, NAN, 1, 1, 0, NAN], [NAN, NAN, 1, NAN, NAN, 0]])


def same(made: Array, expected: Any) -> bool:
    return bool(np.array_equal(np.asarray(made), np.asarray(expected, float), equal_nan=True))


def test_labels_lie_in_the_columns_of_their_items() -> None:
    automatic, human = labelled.beside_people(beside())
    assert same(automatic, RIGHT)
    assert same(human, PLACED)
    part = FIRST.subsets["part"]
    automatic, human = labelled.beside_people(beside(ACCURACY.within("part")))
    assert same(automatic, RIGHT[:, part])
    assert same(human, PLACED[:, part])
    turned = beside(replace(ACCURACY, better="lower"))
    assert same(labelled.beside_people(turned)[1], 1 - PLACED)
    every = np.array([[1, 0, 0, 1, 1, 0], [1.0] * 6, [0.0] * 6])
    whole = beside(labels=by_people(every, of=range(6)))
    assert whole.whole is None
    assert same(labelled.beside_people(whole)[1], every)
    assert len(labelled.label_clusters(beside(ACCURACY.within("part")))) == 4


def test_an_answer_weighs_as_many_as_it_was_drawn_from() -> None:
    chances = {
        (NAMES[0], ITEMS[5].id): 0.5,
        (NAMES[2], ITEMS[2].id): 0.25,
        ("nobody", ITEMS[2].id): 0.1,
        (NAMES[0], "nothing"): 0.1,
    }
    expected = np.full((3, 6), NAN)
    expected[0, 5], expected[2, 2] = 0.5, 0.25
    drawn = beside(probabilities=chances)
    made = labelled.label_chances(drawn)
    assert made is not None
    assert same(made, expected)
    weights = labelled.label_weights(drawn)
    assert weights is not None
    assert same(weights, 1 / expected)
    part = labelled.label_chances(beside(ACCURACY.within("part"), probabilities=chances))
    assert part is not None
    assert same(part, expected[:, FIRST.subsets["part"]])
    assert labelled.label_chances(beside()) is None
    assert labelled.label_weights(beside()) is None
    assert labelled.label_chances(replace(drawn, sample=None)) is None


def judgement(respondent: str, item: str) -> Judgement:
    return Judgement("human", item, respondent, 1.0)


GIVEN = (
    judgement(NAMES[0], ITEMS[5].id),
    judgement("nobody", ITEMS[5].id),
    judgement(NAMES[0], "nothing"),
    judgement(NAMES[1], ITEMS[5].id),  # of which there is no label
    judgement(NAMES[0], ITEMS[2].id),
    judgement(NAMES[2], ITEMS[2].id),
)
REPLICATES = np.array([[1, 0, 0, 0, 1, 0], [1, 0, 0, 0, 0, 1], [0, 1, 1, 1, 0, 1.0]])


def test_labels_as_other_raters_might_have_given_them() -> None:
    drawn = labelled.drawn_labels(beside(judgements=GIVEN, replicates=REPLICATES))
    assert drawn is not None
    assert drawn.rows.tolist() == [0, 0, 2]
    assert same(drawn.labels, [[1, 1, 0], [1, 0, 1], [0, 0, 1]])
    assert same(drawn.scores, [1, 0, 1])
    assert same(drawn.weights, [1, 1, 1])
    assert drawn.of().tolist() == pytest.approx([2 / 3, 2 / 3, 1 / 3])
    assert drawn.of(0).tolist() == [1, 0.5, 0]
    assert drawn.of(1).tolist() == []
    # both 1, scored 1 alone, labelled 1 alone, neither
    assert same(drawn.tables(), [[1, 1, 1, 0], [2, 0, 0, 1], [1, 1, 0, 1]])
    chances = {
        (NAMES[0], ITEMS[5].id): 0.5,
        (NAMES[0], ITEMS[2].id): 0.25,
        (NAMES[2], ITEMS[2].id): 1,
    }
    of = beside(judgements=GIVEN, replicates=REPLICATES, probabilities=chances)
    drawn = labelled.drawn_labels(of)
    assert drawn is not None
    assert same(drawn.weights, [2, 4, 1])
    assert drawn.of().tolist() == pytest.approx([6 / 7, 3 / 7, 1 / 7])
    assert drawn.of(0).tolist() == pytest.approx([1, 1 / 3, 0])
    assert same(drawn.tables(), [[2, 1, 4, 0], [3, 0, 0, 4], [1, 2, 0, 4]])
    variance = labelled.rater_variance(of)
    assert variance is not None
    assert variance == pytest.approx([np.var([1, 1 / 3, 0], ddof=1), 0, np.var([0, 1, 1], ddof=1)])


def test_labels_of_nobody_else_are_not_drawn_again() -> None:
    assert labelled.drawn_labels(beside(judgements=GIVEN)) is None
    assert labelled.rater_variance(beside(judgements=GIVEN)) is None
    of = beside(judgements=GIVEN, replicates=REPLICATES)
    assert labelled.drawn_labels(replace(of, sample=None)) is None
    elsewhere = beside(judgements=GIVEN[1:4], replicates=REPLICATES[:, 1:4])
    assert labelled.drawn_labels(elsewhere) is None
    turned = labelled.drawn_labels(
        beside(replace(ACCURACY, better="lower"), judgements=GIVEN, replicates=REPLICATES)
    )
    assert turned is not None
    assert same(turned.labels, [[0, 0, 1], [0, 1, 0], [1, 1, 0]])
    part = labelled.drawn_labels(
        beside(ACCURACY.within("part"), judgements=GIVEN, replicates=REPLICATES)
    )
    assert part is not None
    assert same(part.scores, [1, 0, 1])
    every = by_people(np.ones((3, 6)), of=range(6))
    whole = labelled.drawn_labels(beside(labels=every, judgements=GIVEN, replicates=REPLICATES))
    assert whole is not None
    assert whole.rows.tolist() == [0, 1, 0, 2]


def test_scores_and_labels_agree_answer_by_answer() -> None:
    """Eight labelled answers: 1/1 0/0 1/0 0/1, 1/0 1/1 0/1, 0/0 1/1 without weights."""
    pairs = [
        (RIGHT[m, i], PLACED[m, i])
        for m in range(3)
        for i in range(6)
        if math.isfinite(PLACED[m, i])
    ]
    of = beside()
    accuracy = number(of, "criterion.accuracy")
    assert accuracy.coefficient.value == pytest.approx(np.mean([a == h for a, h in pairs]))
    assert accuracy.detail["answers"] == len(pairs) == 9
    over = number(of, "criterion.answers_pearson")
    assert over.coefficient.value == pytest.approx(np.corrcoef(np.array(pairs).T)[0, 1])
    assert over.detail["answers"] == 9
    known = np.isfinite(PLACED)
    used = known.any(axis=0)
    means = [
        [x[known[:, i], i].mean() for i in np.flatnonzero(used)]
        for x in (RIGHT.astype(float), PLACED)
    ]
    items_r = number(of, "criterion.items_pearson").coefficient
    assert items_r.value == pytest.approx(np.corrcoef(means)[0, 1])
    same_items = number(of, "criterion.pearson_same_items").coefficient
    own = [[x[m, known[m]].mean() for m in range(3)] for x in (RIGHT.astype(float), PLACED)]
    assert same_items.value == pytest.approx(np.corrcoef(own)[0, 1])


def test_who_labelled_and_how_the_labels_came_about() -> None:
    raters = {
        "human:anna": {(NAMES[0], "a"): 1.0, (NAMES[0], "b"): 0.0, (NAMES[1], "a"): 1.0},
        "human:ben": {(NAMES[0], "a"): 1.0, (NAMES[0], "b"): 1.0},
    }
    counted = number(beside(raters=raters, stale=2), "criterion.labelled_answers")
    assert counted.coefficient.value == 9
    assert counted.detail["raters"] == {"anna": 3, "ben": 2}
    assert (counted.detail["without_majority"], counted.detail["by_one_rater"]) == (1, 1)
    assert (counted.detail["labelled_respondents"], counted.detail["drawn"]) == (3, False)
    assert counted.flags == ("STALE_LABELS",)
    none = HUMAN.copy()
    none[1] = NAN
    plain = number(beside(labels=by_people(none)), "criterion.labelled_answers")
    assert (plain.coefficient.value, plain.detail["labelled_respondents"]) == (6, 2)
    assert (plain.detail["without_majority"], plain.detail["by_one_rater"], plain.flags) == (
        0,
        0,
        (),
    )
    assert asked(replace(beside(), sample=None), "criterion.labelled_answers") is None


@pytest.mark.parametrize(
    ("answers", "labels", "there"), [(1.0, 1.0, True), (0.5, 1.0, False), (1.0, 0.5, False)]
)
def test_agreement_is_of_right_and_wrong_alone(answers: float, labels: float, there: bool) -> None:
    human = HUMAN.copy()
    human[2, 3] *= labels  # the third respondent's third item, which is right
    scored = {"sum": RIGHT.astype(float), "n": np.ones(RIGHT.shape)}
    scored["sum"][2, 2] *= answers
    first = replace(FIRST, tallies=scored, values=scored["sum"])
    mean = Metric("mean", lambda t: t["sum"] / t["n"], share=True)
    of = case(
        "criterion",
        "judge",
        (first, by_people(human)),
        mean,
        PROTOCOL,
        other_metric=FAITHFUL,
        sample=PooledLabels(judgements=()),
    )
    for name in ("accuracy", "kappa", "contradicted_items"):
        made = number(of, f"criterion.{name}").coefficient
        assert ("labels are not 0 or 1" in made.reason) != there, name
    # what is half right but has no label does not matter
    scored["sum"][2, 0] = 0.5
    assert (number(of, "criterion.accuracy").coefficient.status == "ok") == there


MANY = matrix((np.random.default_rng(8).random((6, 60)) < 0.5).astype(float))


def chosen(share_right: float, share_wrong: float, **sample: Any) -> Case:
    """Labels on so many of the right answers and of the wrong ones."""
    share = np.where(MANY.values == 1, share_right, share_wrong)
    place = np.cumsum(np.ones(share.shape), axis=1) % 10
    human = np.where(place < 10 * share, MANY.values, NAN)
    made = labels_on(MANY.values, MANY, 60)
    known = np.isfinite(human)
    made = replace(
        made,
        values=human,
        tallies={"faithful": np.where(known, human, 0.0), "n": known.astype(float)},
    )
    return case(
        "criterion",
        "judge",
        (MANY, made),
        ACCURACY,
        PROTOCOL,
        other_metric=FAITHFUL,
        sample=PooledLabels(**{"judgements": (), **sample}),
    )


def test_one_label_corrects_nothing() -> None:
    single = np.full(HUMAN.shape, NAN)
    single[0, 0] = 1
    of = beside(labels=by_people(single), probabilities={(NAMES[0], ITEMS[5].id): 0.5})
    made = number(of, "criterion.prediction_powered")
    assert (made.coefficient.status, made.detail) == ("insufficient", {})
    assert "there are 1" in made.coefficient.reason


def test_labels_that_are_no_random_sample_correct_nothing() -> None:
    of = chosen(0.2, 0.8)
    study = psy.labels_at_random(MANY.values, of.other.values, np.arange(60))
    assert study.p < 0.05
    test = number(of, "criterion.labels_at_random")
    assert test.coefficient.value == pytest.approx(study.p)
    assert test.detail == {
        "difference": pytest.approx(study.difference),
        "z": pytest.approx(study.z),
        "labelled": int(np.isfinite(of.other.values).sum()),
        "unlabelled": int(np.isnan(of.other.values).sum()),
    }
    assert test.flags == ("LABELS_NOT_RANDOM",)
    for name in ("prediction_powered", "rogan_gladen"):
        made = number(of, f"criterion.{name}")
        assert math.isnan(made.coefficient.value)
        assert made.coefficient.status == "not_applicable"
        assert made.flags == ("LABELS_NOT_RANDOM",)
    fair = chosen(0.5, 0.5)
    assert labelled.sample_flags(fair) == ()
    assert number(fair, "criterion.prediction_powered").coefficient.status == "ok"
    stale = chosen(0.2, 0.8, stale=1)
    assert labelled.sample_flags(stale) == ("LABELS_NOT_RANDOM", "STALE_LABELS")
    drawn = chosen(0.2, 0.8, probabilities={(MANY.respondents[0], MANY.items[0].id): 0.5})
    assert labelled.randomness(drawn).status == "not_applicable"
    assert labelled.sample_flags(drawn) == ()
    assert labelled.randomness(replace(fair, sample=None)).status == "not_applicable"
    assert labelled.sample_flags(replace(fair, sample=None)) == ()


def judged_again(metric: Metric = ACCURACY, **sample: Any) -> tuple[Case, Array, Array]:
    """Answers whose labels other raters might have left otherwise: the case, the labels, and their
    (replicates, respondents, items).
    """
    rng = np.random.default_rng(9)
    human = np.where(rng.random((6, 60)) < 0.2, 1 - MANY.values, MANY.values)
    human[rng.random(human.shape) < 0.5] = NAN
    again = np.where(rng.random((30, 6, 60)) < 0.15, 1 - human, human)
    places = np.argwhere(np.isfinite(human))
    given = [judgement(MANY.respondents[m], MANY.items[i].id) for m, i in places]
    replicates = np.stack([again[:, m, i] for m, i in places], axis=1)
    known = np.isfinite(human)
    labels = labels_on(np.zeros(human.shape), MANY, 60)
    labels = replace(
        labels,
        values=human,
        tallies={"faithful": np.where(known, human, 0.0), "n": known.astype(float)},
    )
    sample = {"judgements": tuple(given), "replicates": replicates, **sample}
    of = case(
        "criterion",
        "judge",
        (MANY, labels),
        metric,
        PROTOCOL,
        other_metric=FAITHFUL,
        sample=PooledLabels(**sample),
    )
    return of, human, again


def ends(value: Any) -> Any:
    spans = (value.low, value.high), value.fixed and (value.fixed.low, value.fixed.high)
    return pytest.approx([end for span in spans if span for end in span], nan_ok=True)


def test_the_errors_of_raters_widen_every_interval_of_what_their_labels_say() -> None:
    of, human, again = judged_again()
    alone = replace(of, sample=replace(of.sample, replicates=None), known={})  # type: ignore[type-var]
    known = np.isfinite(human)
    scored = MANY.values

    def shares(labels: Array) -> dict[str, float]:
        a, h = scored[known], labels[known]
        agree, p, q = (a == h).mean(), a.mean(), h.mean()
        luck = p * q + (1 - p) * (1 - q)
        return {
            "accuracy": agree,
            "kappa": (agree - luck) / (1 - luck),
            "sensitivity": a[h == 1].mean(),
            "specificity": 1 - a[h == 0].mean(),
            "pearson": np.corrcoef(scored.mean(axis=1), np.nanmean(labels, axis=1))[0, 1],
        }

    moved = [shares(each) for each in again]
    for name in moved[0]:
        plain = number(alone, f"criterion.{name}").coefficient
        made = number(of, f"criterion.{name}").coefficient
        assert made.value == pytest.approx(shares(human)[name]), name
        wider = psy.with_raters(plain, [each[name] for each in moved])
        assert [made.low, made.high] == ends(replace(wider, fixed=None)), name
        assert (made.fixed is None) == (wider.fixed is None)
        if made.fixed is not None and wider.fixed is not None:
            assert (made.fixed.low, made.fixed.high) == pytest.approx(
                (wider.fixed.low, wider.fixed.high)
            )
            assert plain.fixed is not None
            assert made.fixed != plain.fixed
    drawn = {(MANY.respondents[m], MANY.items[i].id): 0.5 for m, i in np.argwhere(known)}
    weighed, _, _ = judged_again(probabilities=drawn)
    whole = number(weighed, "criterion.prediction_powered").coefficient
    study = psy.ppi_scores(
        scored.reshape(1, -1),
        human.reshape(1, -1),
        np.tile(np.arange(60), 6),
        probabilities=np.where(known, 0.5, NAN).reshape(1, -1),
        rater_variance=[float(np.nanmean(again, axis=(1, 2)).var(ddof=1))],
    ).scores[0]
    assert whole.value == pytest.approx(study.value)
    assert whole.se == pytest.approx(study.se)
    assert whole.fixed is not None
    assert (whole.fixed.low, whole.fixed.high) == pytest.approx((study.low, study.high))


def test_answers_that_stand_for_many_weigh_more_in_their_respondents_agreement() -> None:
    chances = {
        (NAMES[m], ITEMS[i].id): 0.25 if (m, i) == (0, 2) else 0.5
        for m, i in np.argwhere(np.isfinite(PLACED))
    }
    made = number(beside(probabilities=chances), "criterion.item_agreement")
    # 0/1 counts for 4, and 1/0, 0/0, 1/1 for 2 each; then 0/1, 1/1, 1/0; then 1/1, 0/0
    shares = [4 / 10, 1 / 3, 1]
    rows = list(made.detail["by_respondent"].values())
    assert [row["agreement"] for row in rows] == pytest.approx(shares)
    assert made.coefficient.value == pytest.approx(np.mean(shares))
    plain = number(beside(), "criterion.item_agreement")
    rows = list(plain.detail["by_respondent"].values())
    assert [row["agreement"] for row in rows] == pytest.approx([2 / 4, 1 / 3, 1])


def test_scores_of_a_ratio_are_compared_as_they_are() -> None:
    labels = labels_on(np.random.default_rng(10).random((6, 60)) < 0.5, MANY, 30)
    pair = (MANY, labels)
    f1 = case("criterion", "judge", pair, YES_NO[3], PROTOCOL, other_metric=FAITHFUL)
    made = number(f1, "criterion.pearson_same_items").coefficient
    on_labelled = MANY.take(MANY.respondents, [item.id for item in MANY.items[:30]])
    expected = psy.pearson(on_labelled.score(YES_NO[3]), labels.values.mean(axis=1))
    assert made.value == pytest.approx(expected.value)
    assert asked(replace(f1, whole=None), "criterion.pearson_same_items") is None


def named(family: str) -> list[str]:
    return list(dict.fromkeys(f"{family}.{each.name}" for each in indicators_of(family)))


@pytest.mark.parametrize("name", named("criterion"))
def test_every_indicator_beside_people_has_a_number_or_a_reason(name: str) -> None:
    check_answer(beside(), name)


# --- single stages of a judge ---


def stage(judge: list[float], human: list[float], **fields: Any) -> Case:
    weights = fields.pop("weights", np.ones(len(judge)))
    evidence = StageEvidence(
        role="verifier",
        label="a@1",
        unit="fact",
        yes="holds",
        no="does not",
        judge=np.array(judge),
        human=np.array(human),
        clusters=[f"{k}.png" for k in range(len(judge))],
        weights=weights,
        **{"not_asked": 0, "unread": 2, "unresolved": 3, **fields},
    )
    return case("stages", "judge", (FIRST, by_people()), ACCURACY, PROTOCOL, stage=evidence)


def test_what_a_stage_and_people_decide_is_counted() -> None:
    """Yes by both twice, by the judge alone once, by people alone once, by neither three times."""
    of = stage([1, 1, 1, 0, 0, 0, 0, NAN, 1], [1, 1, 0, 1, 0, 0, 0, 1, NAN])
    alike = number(of, "stages.decided_alike")
    assert alike.coefficient.value == pytest.approx(5 / 7)
    assert alike.detail["table"] == {"both_yes": 2, "judge_only": 1, "people_only": 1, "both_no": 3}
    counted = {"labelled": 9, "units": 7, "not_asked": 0, "unread": 2, "unresolved": 3}
    words = {"stage": "verifier", "unit": "fact", "yes": "holds", "no": "does not"}
    for name, value, of_no in (
        ("precision", 2 / 3, 3 / 4),
        ("recall", 2 / 3, 3 / 4),
        ("f1", 2 / 3, 3 / 4),
    ):
        made = number(of, f"stages.{name}")
        assert made.coefficient.value == pytest.approx(value)
        assert made.detail["of_no"]["value"] == pytest.approx(of_no)
        assert {key: made.detail[key] for key in counted} == counted
        assert {key: made.detail[key] for key in words} == words
        ends = getattr(
            psy.stage_agreement(
                of.stage.judge,
                of.stage.human,
                of.stage.clusters,
                of.stage.weights,  # type: ignore[union-attr]
            ),
            f"{name}_no",
        ).fixed
        low, high = (ends.low, ends.high) if ends else (None, None)
        assert (made.detail["of_no"]["low"], made.detail["of_no"]["high"]) == (low, high)
    heavy = stage([1, 1, 0], [1, 0, 0], weights=np.array([1.0, 4, 1]))
    assert number(heavy, "stages.decided_alike").coefficient.value == pytest.approx(2 / 6)


def test_a_stage_that_was_not_asked_says_so() -> None:
    none = number(stage([NAN] * 3, [1, 0, 1], not_asked=3), "stages.f1").coefficient
    assert none.status == "insufficient"
    assert none.reason == text_of("stages.not-asked", role="verifier", many=3, unit="fact")
    some = number(stage([NAN, NAN, 1], [1, 0, NAN], not_asked=2), "stages.f1").coefficient
    assert some.reason == text_of("stages.none-both", role="verifier", unit="fact")
    assert asked(replace(stage([1], [1]), stage=None), "stages.f1") is None


# --- judges ---


def verdicts(first: Any, other: Any, again: str = "a@1#1", **settings: Any) -> Case:
    pair = [
        matrix(np.asarray(right, dtype=float), Cell(judge=judge))
        for right, judge in ((first, "a@1"), (other, again))
    ]
    return case("judge_consistency", "judge", pair, ACCURACY, PROTOCOL, **settings)


def test_verdicts_that_are_no_yes_or_no_have_an_interval_scale() -> None:
    of = verdicts(RIGHT, RIGHT[::-1])
    both = np.stack([RIGHT.ravel(), RIGHT[::-1].ravel()])
    alpha = number(of, "judge_consistency.krippendorff_alpha").coefficient
    assert alpha.value == pytest.approx(psy.krippendorff_alpha(both, "nominal").value)
    flips = number(of, "judge_consistency.flip_rate").coefficient
    assert flips.value == pytest.approx((both[0] != both[1]).mean())
    half = [
        replace(m, tallies={"sum": m.values / 2 + 0.25, "n": np.ones(m.values.shape)})
        for m in of.matrices
    ]
    metric = Metric("mean", lambda t: t["sum"] / t["n"], share=True)
    scaled = case("judge_consistency", "judge", half, metric, PROTOCOL)
    alpha = number(scaled, "judge_consistency.krippendorff_alpha").coefficient
    assert alpha.value == pytest.approx(psy.krippendorff_alpha(both / 2, "interval").value)
    for name in ("gwet_ac1", "flip_rate"):
        made = number(scaled, f"judge_consistency.{name}").coefficient
        assert made.status == "not_applicable"
        assert "are no yes or no" in made.reason
    nobody = np.ones(RIGHT.shape, dtype=bool)
    lost = [matrix(RIGHT.astype(float), Cell(judge=j), unscored=nobody) for j in ("a@1", "a@1#1")]
    empty = case("judge_consistency", "judge", lost, ACCURACY, PROTOCOL)
    assert number(empty, "judge_consistency.flip_rate").coefficient.status == "not_applicable"


@pytest.mark.parametrize("runs", ["none", "alike", "fewer respondents", "fewer items", "a ratio"])
def test_the_share_of_a_judge_needs_the_answers_asked_again(runs: str) -> None:
    metric = YES_NO[3] if runs == "a ratio" else ACCURACY
    again = [matrix(RIGHT.astype(float), Cell(run=k)) for k in range(2)]
    if runs == "fewer respondents":
        again = [run.take(NAMES[:2], [item.id for item in run.items]) for run in again]
    if runs == "fewer items":
        again = [run.take(NAMES, [item.id for item in run.items[:4]]) for run in again]
    repeats = None
    if runs != "none":
        repeats = case("test_retest", "run", again, metric, PROTOCOL, together=True)
    of = replace(verdicts(RIGHT, RIGHT[::-1], repeats=repeats), metrics=(metric, metric), known={})
    share = number(of, "judge_consistency.judge_share").coefficient
    refused = (
        "" if runs == "alike" else "without a second run" if runs == "none" else "same respondents"
    )
    assert refused in share.reason
    assert (share.status == "not_applicable") == bool(refused)


def test_an_estimate_says_who_labelled() -> None:
    known = Estimate("criterion.pearson", "accuracy", "judge", "", "", 0.5, detail={"n": 1})
    lost = replace(known, value=None, status="insufficient", reason="few")
    people_said = judged.say_who_labelled([known, lost], "human:anna")
    assert [e.status for e in people_said] == ["ok", "insufficient"]
    for e in people_said:
        assert e.detail == {"n": 1, "labelled_by": "people", "labels_of": "human:anna"}
    silent, still = judged.say_who_labelled([known, lost], "oracle")
    assert (silent.status, silent.value) == ("not_informative", 0.5)
    assert "'oracle'" in silent.reason
    assert (still.status, still.reason) == ("insufficient", "few")
    assert still.detail["labelled_by"] == "oracle"


def test_raters_that_agree_bound_what_a_score_can_reach() -> None:
    def raters(*rows: list[float]) -> Case:
        named = {
            f"human:{k}": {("r", f"q{i}"): label for i, label in enumerate(row) if label == label}
            for k, row in enumerate(rows)
        }
        alone = case("criterion", "judge", (FIRST,), ACCURACY, PROTOCOL)
        return replace(alone, raters=named)

    two = [1, 0, 1, 1, NAN, 0], [1, 0, 0, 1, 1, NAN]
    table = np.array(two, dtype=float)
    made = number(raters(*two), "criterion.human_agreement")
    alpha = psy.krippendorff_alpha(table, "nominal").value
    assert made.coefficient.value == pytest.approx(alpha)
    assert (made.detail["raters"], made.detail["answers"]) == (2, 6)
    assert made.detail["bound"] == pytest.approx(math.sqrt(alpha))
    assert made.detail["gwet_ac1"] == pytest.approx(psy.gwet_ac1(table).value)
    fleiss = number(raters(*two), "criterion.fleiss_kappa")
    assert (fleiss.detail["raters"], fleiss.detail["answers"], fleiss.detail["used"]) == (2, 6, 4)
    opposed = number(raters([1, 0, 1, 0], [0, 1, 0, 1]), "criterion.human_agreement")
    assert opposed.coefficient.value < 0
    assert opposed.detail["bound"] is None
    graded = raters([0.5, 0, 1, 0.25], [0.5, 0.25, 1, 0])
    scaled = number(graded, "criterion.human_agreement")
    grades = np.array([[0.5, 0, 1, 0.25], [0.5, 0.25, 1, 0]])
    assert scaled.coefficient.value == pytest.approx(
        psy.krippendorff_alpha(grades, "interval").value
    )
    assert scaled.detail["gwet_ac1"] is None
    assert "labels are numbers" in number(graded, "criterion.fleiss_kappa").coefficient.reason
    for name in ("human_agreement", "fleiss_kappa"):
        single = number(raters([1, 0, 1]), f"criterion.{name}").coefficient
        assert (single.status, single.reason[:10]) == ("insufficient", "one person")
        assert asked(replace(raters([1.0]), raters=None), f"criterion.{name}") is None
        assert number(raters(), f"criterion.{name}").coefficient.status == "insufficient"


def test_types_at_which_a_respondent_is_weak() -> None:
    kinds = ["existence", "existence", "attribute", "attribute", "attribute", None]
    of = tuple(replace(item, type=kind) for item, kind in zip(ITEMS, kinds, strict=True))
    first = replace(FIRST, items=of)
    human = np.array([[1, 0, 0, 1, 1, 0], [1, 1, 1, 1, 0, 1], [0, 1, 0, 0, 1, 1.0]])
    given = replace(by_people(human, of=range(6)), items=of)

    def within(judge: str = "human", labels: Any = given) -> Result | None:
        labels = replace(labels, cell=Cell(judge=judge))
        pair = case(
            "criterion", "judge", (first, labels), ACCURACY, PROTOCOL, other_metric=FAITHFUL
        )
        return asked(pair, "criterion.within_respondents")

    made = within()
    assert made is not None
    assert made.detail["types"] == ["attribute", "existence"]
    means = [
        np.stack([x[:, 2:5].mean(axis=1), x[:, :2].mean(axis=1)], axis=1)
        for x in (RIGHT.astype(float), human)
    ]
    apart = [(x - x.mean(axis=1, keepdims=True)).ravel() for x in means]
    assert made.coefficient.value == pytest.approx(
        apart[0] @ apart[1] / math.sqrt((apart[0] @ apart[0]) * (apart[1] @ apart[1]))
    )
    assert made.detail["dof"] == 2
    assert within("oracle") is None
    no_label = replace(given, values=np.where(np.arange(6) < 2, NAN, human))
    single = within(labels=no_label)
    assert single is not None
    assert single.coefficient.status == "insufficient"
    assert "fewer than two hallucination" in single.coefficient.reason


def test_correlation_with_people_among_answers_of_one_length() -> None:
    rng = np.random.default_rng(4)
    first = matrix((rng.random((9, 20)) < np.linspace(0.2, 0.9, 9)[:, None]).astype(float))
    first = replace(first, words=rng.integers(1, 9, (9, 20)).astype(float))
    labels = labels_on(
        (rng.random((9, 20)) < np.linspace(0.3, 0.8, 9)[:, None]).astype(float), first, 12
    )
    pair = case("criterion", "judge", (first, labels), ACCURACY, PROTOCOL, other_metric=FAITHFUL)
    made = number(pair, "criterion.pearson_given_length")
    words, score = first.words.mean(axis=1), first.values.mean(axis=1)
    people_mean = labels.values.mean(axis=1)
    r = np.corrcoef([score, people_mean, words])
    partial = (r[0, 1] - r[0, 2] * r[1, 2]) / math.sqrt((1 - r[0, 2] ** 2) * (1 - r[1, 2] ** 2))
    assert made.coefficient.value == pytest.approx(partial)
    assert made.detail["length_and_score"] == pytest.approx(r[0, 2])
    assert made.detail["length_and_labels"] == pytest.approx(r[1, 2])


# --- two administrations ---


def pair_of(x: Any, y: Any, facet: str = "run", **settings: Any) -> Case:
    cells = {"run": Cell(run=1), "form": Cell(form="b"), "sight": Cell(sight="blind")}
    of = [matrix(np.asarray(v, dtype=float)) for v in (x, y)]
    family = {"run": "test_retest", "form": "parallel_forms", "sight": "blindness"}[facet]
    pair = (of[0], replace(of[1], cell=cells[facet]))
    return case(family, facet, pair, ACCURACY, PROTOCOL, **settings)


OF_PAIRS = [
    (facet, name)
    for facet, family in (
        ("run", "test_retest"),
        ("form", "parallel_forms"),
        ("sight", "blindness"),
    )
    for name in named(family)
]


@pytest.mark.parametrize(("facet", "name"), OF_PAIRS)
def test_every_indicator_of_a_small_pair_has_a_number_or_a_reason(facet: str, name: str) -> None:
    check_answer(pair_of(RIGHT, RIGHT[::-1], facet), name)


def with_so_many(*counts: int) -> Array:
    return np.arange(20) < np.array(counts)[:, None]


def test_who_makes_a_correlation() -> None:
    x, y = (9, 10, 11, 10, 1), (10, 9, 10, 11, 2)
    made = number(pair_of(with_so_many(*x), with_so_many(*y)), "test_retest.pearson")
    names = pair_of(with_so_many(*x), with_so_many(*y)).respondents
    left = [np.corrcoef(np.delete(x, k), np.delete(y, k))[0, 1] for k in range(5)]
    assert (made.detail["strongest"], made.flags) == (names[4], ("DOMINANT_MODEL",))
    assert made.detail["without_strongest"] == pytest.approx(left[4])
    assert made.detail["without_low"] == pytest.approx(min(left))
    assert made.detail["without_high"] == pytest.approx(max(left))
    assert (made.detail["if_all_wrong"], made.detail["if_all_right"]) == (0.41, 0.41)
    few = number(pair_of(with_so_many(9, 10, 1), with_so_many(10, 9, 2)), "test_retest.pearson")
    assert "strongest" not in few.detail
    assert few.flags == ()
    # alone each of two hides the other: they are named together
    twins = (10, 11, 9, 10, 11, 9, 20, 20), (9, 10, 11, 11, 9, 10, 20, 20)
    two = pair_of(with_so_many(*twins[0]), with_so_many(*twins[1]))
    both = number(two, "test_retest.pearson")
    assert both.detail["strongest"] == f"{two.respondents[6]} and {two.respondents[7]}"
    assert both.detail["without_strongest"] == pytest.approx(
        np.corrcoef(twins[0][:6], twins[1][:6])[0, 1]
    )
    assert both.flags == ("DOMINANT_MODEL",)


def test_a_constant_score_has_no_correlation_without_a_warning() -> None:
    made = number(
        pair_of(with_so_many(9, 9, 9, 9), with_so_many(1, 2, 3, 4)), "test_retest.pearson"
    )
    assert math.isnan(made.coefficient.value)
    assert "strongest" not in made.detail


@pytest.mark.parametrize("facet", ["run", "form"])
def test_a_pair_of_runs_has_no_interval_of_its_own(facet: str) -> None:
    rng = np.random.default_rng(6)
    x, y = (rng.random((2, 9, 20)) < np.linspace(0.1, 0.9, 9)[:, None]).astype(float)
    of = pair_of(x, y, facet)
    for name in ("pearson", "icc_a1", "icc_c1", "ccc"):
        made = number(of, f"{of.family}.{name}").coefficient
        assert (made.fixed is None) == (facet == "run" and name == "pearson")
        if made.fixed is None:
            assert math.isnan(made.low)
            continue
        left = [(v.sum(axis=1, keepdims=True) - v) / 19 for v in (x, y)]
        without = psy.agreement_left_out(*left)[name]
        ends = psy.agreement_bounds(made.value, without, *left, scaled=name == "pearson")
        assert (made.fixed.low, made.fixed.high) == pytest.approx((ends.low, ends.high))
    reason = number(of, f"{of.family}.pearson").detail.get("no_interval_for_others")
    assert reason == (text_of("reruns.pearson") if facet == "run" else None)


def test_unread_answers_of_a_ratio_have_no_bounds() -> None:
    of = pair_of(with_so_many(9, 10, 1), with_so_many(10, 9, 2))
    f1 = replace(of, metrics=(YES_NO[3], YES_NO[3]), known={})
    assert "if_all_wrong" not in number(f1, "test_retest.pearson").detail
    assert asked(f1, "test_retest.item_agreement") is None


@pytest.mark.parametrize("facet", ["run", "sight"])
def test_each_respondent_has_a_shift_of_its_own_without_the_picture(facet: str) -> None:
    x, y = with_so_many(9, 10, 11, 10), with_so_many(8, 4, 11, 12)
    of = pair_of(x, y, facet)
    made = number(of, f"{of.family}.mean_shift")
    assert made.coefficient.value == pytest.approx(-5 / 80)
    assert ("by_respondent" in made.detail) == (facet == "sight")
    if facet == "sight":
        rows = list(made.detail["by_respondent"].values())
        assert [row["whole"] for row in rows] == [0.45, 0.5, 0.55, 0.5]
        assert [row["difference"] for row in rows] == pytest.approx([-0.05, -0.3, 0, 0.1])
        assert rows[1]["low"] < -0.3 < rows[1]["high"]
        assert (rows[2]["low"], rows[2]["high"]) == (None, None), "no answer moves"


def test_items_that_come_out_the_same() -> None:
    lost = np.zeros((3, 20), dtype=bool)
    lost[2] = True
    of = pair_of(with_so_many(10, 10, 1), with_so_many(12, 5, 2))
    made = number(of, "test_retest.item_agreement")
    assert made.coefficient.value == pytest.approx((18 / 20 + 15 / 20 + 19 / 20) / 3)
    assert made.detail["worst"] == pytest.approx(0.75)
    first = matrix(with_so_many(10, 10, 1).astype(float), unscored=lost)
    unread = case("test_retest", "run", (first, of.other), ACCURACY, PROTOCOL)
    part = number(unread, "test_retest.item_agreement")
    assert part.coefficient.value == pytest.approx((18 / 20 + 15 / 20) / 2)
    assert part.detail["by_respondent"][first.respondents[2]] == {"agreement": None, "kappa": None}
