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
from hqm.indicators.indicator import Result, family_indicators
from hqm.labels.people_labels import FAITHFUL, PooledLabels, StageEvidence
from hqm.scoring.metrics import YES_NO, Metric
from hqm.types import Cell, Estimate, Judgement
from tests.indicator_answers import check_answer, first_result, number
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


def by_people(human: Array = HUMAN, judge: str = "human", positions: Any = None) -> Any:
    """The labels as an administration of their own."""
    labelled_mask = np.isfinite(human)
    labels = labels_on(np.zeros(human.shape), FIRST, human.shape[1])
    return replace(
        labels,
        cell=Cell(judge=judge),
        items=tuple(ITEMS[k] for k in (positions or ORDER)),
        values=human,
        tallies={"faithful": np.where(labelled_mask, human, 0.0), "n": labelled_mask.astype(float)},
    )


def labelled_case(metric: Metric = ACCURACY, labels: Any = None, **sample: Any) -> Case:
    """The answers beside people's labels."""
    pooled = PooledLabels(**{"judgements": (), **sample})
    human_labels = by_people() if labels is None else labels
    return case(
        "criterion",
        "judge",
        (FIRST, human_labels),
        metric,
        PROTOCOL,
        second_metric=FAITHFUL,
        sample=pooled,
        levels=("model", "answer", "item"),
    )


PLACED = np.array([[NAN, NAN, 1, 0, 0, 1], [NAN, NAN, 1, 1, 0, NAN], [NAN, NAN, 1, NAN, NAN, 0]])


def equal_arrays(actual: Array, expected: Any) -> bool:
    return bool(np.array_equal(np.asarray(actual), np.asarray(expected, float), equal_nan=True))


def test_labels_lie_in_the_columns_of_their_items() -> None:
    automatic, human = labelled.beside_people(labelled_case())
    assert equal_arrays(automatic, RIGHT)
    assert equal_arrays(human, PLACED)
    part_mask = FIRST.subsets["part"]
    automatic, human = labelled.beside_people(labelled_case(ACCURACY.within("part")))
    assert equal_arrays(automatic, RIGHT[:, part_mask])
    assert equal_arrays(human, PLACED[:, part_mask])
    turned = labelled_case(replace(ACCURACY, better="lower"))
    assert equal_arrays(labelled.beside_people(turned)[1], 1 - PLACED)
    all_labels = np.array([[1, 0, 0, 1, 1, 0], [1.0] * 6, [0.0] * 6])
    complete = labelled_case(labels=by_people(all_labels, positions=range(6)))
    assert complete.unsampled is None
    assert equal_arrays(labelled.beside_people(complete)[1], all_labels)
    assert len(labelled.label_clusters(labelled_case(ACCURACY.within("part")))) == 4


def test_an_answer_weighs_as_many_as_it_was_drawn_from() -> None:
    chances = {
        (NAMES[0], ITEMS[5].id): 0.5,
        (NAMES[2], ITEMS[2].id): 0.25,
        ("nobody", ITEMS[2].id): 0.1,
        (NAMES[0], "nothing"): 0.1,
    }
    expected = np.full((3, 6), NAN)
    expected[0, 5], expected[2, 2] = 0.5, 0.25
    sampled_case = labelled_case(probabilities=chances)
    chances_table = labelled.label_chances(sampled_case)
    assert chances_table is not None
    assert equal_arrays(chances_table, expected)
    weights = labelled.label_weights(sampled_case)
    assert weights is not None
    assert equal_arrays(weights, 1 / expected)
    part_chances = labelled.label_chances(
        labelled_case(ACCURACY.within("part"), probabilities=chances)
    )
    assert part_chances is not None
    assert equal_arrays(part_chances, expected[:, FIRST.subsets["part"]])
    assert labelled.label_chances(labelled_case()) is None
    assert labelled.label_weights(labelled_case()) is None
    assert labelled.label_chances(replace(sampled_case, sample=None)) is None


def judgement(respondent: str, item: str) -> Judgement:
    return Judgement("human", item, respondent, 1.0)


JUDGEMENTS = (
    judgement(NAMES[0], ITEMS[5].id),
    judgement("nobody", ITEMS[5].id),
    judgement(NAMES[0], "nothing"),
    judgement(NAMES[1], ITEMS[5].id),  # of which there is no label
    judgement(NAMES[0], ITEMS[2].id),
    judgement(NAMES[2], ITEMS[2].id),
)
REPLICATES = np.array([[1, 0, 0, 0, 1, 0], [1, 0, 0, 0, 0, 1], [0, 1, 1, 1, 0, 1.0]])


def test_labels_as_other_raters_might_have_given_them() -> None:
    replicates = labelled.label_replicates(
        labelled_case(judgements=JUDGEMENTS, replicates=REPLICATES)
    )
    assert replicates is not None
    assert replicates.rows.tolist() == [0, 0, 2]
    assert equal_arrays(replicates.labels, [[1, 1, 0], [1, 0, 1], [0, 0, 1]])
    assert equal_arrays(replicates.scores, [1, 0, 1])
    assert equal_arrays(replicates.weights, [1, 1, 1])
    assert replicates.mean_labels().tolist() == pytest.approx([2 / 3, 2 / 3, 1 / 3])
    assert replicates.mean_labels(0).tolist() == [1, 0.5, 0]
    assert replicates.mean_labels(1).tolist() == []
    # both 1, scored 1 alone, labelled 1 alone, neither
    assert equal_arrays(replicates.tables(), [[1, 1, 1, 0], [2, 0, 0, 1], [1, 1, 0, 1]])
    chances = {
        (NAMES[0], ITEMS[5].id): 0.5,
        (NAMES[0], ITEMS[2].id): 0.25,
        (NAMES[2], ITEMS[2].id): 1,
    }
    weighted_case = labelled_case(
        judgements=JUDGEMENTS, replicates=REPLICATES, probabilities=chances
    )
    replicates = labelled.label_replicates(weighted_case)
    assert replicates is not None
    assert equal_arrays(replicates.weights, [2, 4, 1])
    assert replicates.mean_labels().tolist() == pytest.approx([6 / 7, 3 / 7, 1 / 7])
    assert replicates.mean_labels(0).tolist() == pytest.approx([1, 1 / 3, 0])
    assert equal_arrays(replicates.tables(), [[2, 1, 4, 0], [3, 0, 0, 4], [1, 2, 0, 4]])
    variance = labelled.rater_variance(weighted_case)
    assert variance is not None
    assert variance == pytest.approx([np.var([1, 1 / 3, 0], ddof=1), 0, np.var([0, 1, 1], ddof=1)])


def test_labels_of_nobody_else_are_not_drawn_again() -> None:
    assert labelled.label_replicates(labelled_case(judgements=JUDGEMENTS)) is None
    assert labelled.rater_variance(labelled_case(judgements=JUDGEMENTS)) is None
    replicated_case = labelled_case(judgements=JUDGEMENTS, replicates=REPLICATES)
    assert labelled.label_replicates(replace(replicated_case, sample=None)) is None
    elsewhere = labelled_case(judgements=JUDGEMENTS[1:4], replicates=REPLICATES[:, 1:4])
    assert labelled.label_replicates(elsewhere) is None
    turned = labelled.label_replicates(
        labelled_case(
            replace(ACCURACY, better="lower"), judgements=JUDGEMENTS, replicates=REPLICATES
        )
    )
    assert turned is not None
    assert equal_arrays(turned.labels, [[0, 0, 1], [0, 1, 0], [1, 1, 0]])
    part_replicates = labelled.label_replicates(
        labelled_case(ACCURACY.within("part"), judgements=JUDGEMENTS, replicates=REPLICATES)
    )
    assert part_replicates is not None
    assert equal_arrays(part_replicates.scores, [1, 0, 1])
    all_labels = by_people(np.ones((3, 6)), positions=range(6))
    complete = labelled.label_replicates(
        labelled_case(labels=all_labels, judgements=JUDGEMENTS, replicates=REPLICATES)
    )
    assert complete is not None
    assert complete.rows.tolist() == [0, 1, 0, 2]


def test_scores_and_labels_agree_answer_by_answer() -> None:
    """Eight labelled answers: 1/1 0/0 1/0 0/1, 1/0 1/1 0/1, 0/0 1/1 without weights."""
    pairs = [
        (RIGHT[m, i], PLACED[m, i])
        for m in range(3)
        for i in range(6)
        if math.isfinite(PLACED[m, i])
    ]
    pooled_case = labelled_case()
    accuracy = number(pooled_case, "criterion.accuracy")
    assert accuracy.coefficient.value == pytest.approx(np.mean([a == h for a, h in pairs]))
    assert accuracy.detail["answers"] == len(pairs) == 9
    correlation = number(pooled_case, "criterion.answers_pearson")
    assert correlation.coefficient.value == pytest.approx(np.corrcoef(np.array(pairs).T)[0, 1])
    assert correlation.detail["answers"] == 9
    labelled_mask = np.isfinite(PLACED)
    used = labelled_mask.any(axis=0)
    means = [
        [x[labelled_mask[:, i], i].mean() for i in np.flatnonzero(used)]
        for x in (RIGHT.astype(float), PLACED)
    ]
    items_r = number(pooled_case, "criterion.items_pearson").coefficient
    assert items_r.value == pytest.approx(np.corrcoef(means)[0, 1])
    same_items = number(pooled_case, "criterion.pearson_same_items").coefficient
    labelled_means = [
        [x[m, labelled_mask[m]].mean() for m in range(3)] for x in (RIGHT.astype(float), PLACED)
    ]
    assert same_items.value == pytest.approx(np.corrcoef(labelled_means)[0, 1])


def test_who_labelled_and_how_the_labels_came_about() -> None:
    raters = {
        "human:anna": {(NAMES[0], "a"): 1.0, (NAMES[0], "b"): 0.0, (NAMES[1], "a"): 1.0},
        "human:ben": {(NAMES[0], "a"): 1.0, (NAMES[0], "b"): 1.0},
    }
    counted = number(labelled_case(raters=raters, stale=2), "criterion.labelled_answers")
    assert counted.coefficient.value == 9
    assert counted.detail["raters"] == {"anna": 3, "ben": 2}
    assert (counted.detail["without_majority"], counted.detail["by_one_rater"]) == (1, 1)
    assert (counted.detail["labelled_respondents"], counted.detail["drawn"]) == (3, False)
    assert counted.flags == ("STALE_LABELS",)
    unlabelled_row = HUMAN.copy()
    unlabelled_row[1] = NAN
    plain = number(labelled_case(labels=by_people(unlabelled_row)), "criterion.labelled_answers")
    assert (plain.coefficient.value, plain.detail["labelled_respondents"]) == (6, 2)
    assert (plain.detail["without_majority"], plain.detail["by_one_rater"], plain.flags) == (
        0,
        0,
        (),
    )
    assert first_result(replace(labelled_case(), sample=None), "criterion.labelled_answers") is None


@pytest.mark.parametrize(
    ("answers", "labels", "is_binary"), [(1.0, 1.0, True), (0.5, 1.0, False), (1.0, 0.5, False)]
)
def test_agreement_is_of_right_and_wrong_alone(
    answers: float, labels: float, is_binary: bool
) -> None:
    human = HUMAN.copy()
    human[2, 3] *= labels  # the third respondent's third item, which is right
    scored = {"sum": RIGHT.astype(float), "n": np.ones(RIGHT.shape)}
    scored["sum"][2, 2] *= answers
    first = replace(FIRST, tallies=scored, values=scored["sum"])
    mean = Metric("mean", lambda t: t["sum"] / t["n"], share=True)
    label_case = case(
        "criterion",
        "judge",
        (first, by_people(human)),
        mean,
        PROTOCOL,
        second_metric=FAITHFUL,
        sample=PooledLabels(judgements=()),
    )
    for name in ("accuracy", "kappa", "contradicted_items"):
        coefficient = number(label_case, f"criterion.{name}").coefficient
        assert ("labels are not 0 or 1" in coefficient.reason) != is_binary, name
    # what is half right but has no label does not matter
    scored["sum"][2, 0] = 0.5
    assert (number(label_case, "criterion.accuracy").coefficient.status == "ok") == is_binary


SIXTY_ITEMS = matrix((np.random.default_rng(8).random((6, 60)) < 0.5).astype(float))


def selective_labels(share_right: float, share_wrong: float, **sample: Any) -> Case:
    """Labels on so many of the right answers and of the wrong ones."""
    share = np.where(SIXTY_ITEMS.values == 1, share_right, share_wrong)
    decile = np.cumsum(np.ones(share.shape), axis=1) % 10
    human = np.where(decile < 10 * share, SIXTY_ITEMS.values, NAN)
    labels = labels_on(SIXTY_ITEMS.values, SIXTY_ITEMS, 60)
    labelled_mask = np.isfinite(human)
    labels = replace(
        labels,
        values=human,
        tallies={"faithful": np.where(labelled_mask, human, 0.0), "n": labelled_mask.astype(float)},
    )
    return case(
        "criterion",
        "judge",
        (SIXTY_ITEMS, labels),
        ACCURACY,
        PROTOCOL,
        second_metric=FAITHFUL,
        sample=PooledLabels(**{"judgements": (), **sample}),
    )


def test_one_label_corrects_nothing() -> None:
    single = np.full(HUMAN.shape, NAN)
    single[0, 0] = 1
    single_label = labelled_case(
        labels=by_people(single), probabilities={(NAMES[0], ITEMS[5].id): 0.5}
    )
    result = number(single_label, "criterion.prediction_powered")
    assert (result.coefficient.status, result.detail) == ("insufficient", {})
    assert "there are 1" in result.coefficient.reason


def test_labels_that_are_no_random_sample_correct_nothing() -> None:
    selective = selective_labels(0.2, 0.8)
    study = psy.labels_at_random(SIXTY_ITEMS.values, selective.second.values, np.arange(60))
    assert study.p < 0.05
    test = number(selective, "criterion.labels_at_random")
    assert test.coefficient.value == pytest.approx(study.p)
    assert test.detail == {
        "difference": pytest.approx(study.difference),
        "z": pytest.approx(study.z),
        "labelled": int(np.isfinite(selective.second.values).sum()),
        "unlabelled": int(np.isnan(selective.second.values).sum()),
    }
    assert test.flags == ("LABELS_NOT_RANDOM",)
    for name in ("prediction_powered", "rogan_gladen"):
        result = number(selective, f"criterion.{name}")
        assert math.isnan(result.coefficient.value)
        assert result.coefficient.status == "not_applicable"
        assert result.flags == ("LABELS_NOT_RANDOM",)
    fair = selective_labels(0.5, 0.5)
    assert labelled.sample_flags(fair) == ()
    assert number(fair, "criterion.prediction_powered").coefficient.status == "ok"
    stale = selective_labels(0.2, 0.8, stale=1)
    assert labelled.sample_flags(stale) == ("LABELS_NOT_RANDOM", "STALE_LABELS")
    weighted = selective_labels(
        0.2, 0.8, probabilities={(SIXTY_ITEMS.respondents[0], SIXTY_ITEMS.items[0].id): 0.5}
    )
    assert labelled.randomness(weighted).status == "not_applicable"
    assert labelled.sample_flags(weighted) == ()
    assert labelled.randomness(replace(fair, sample=None)).status == "not_applicable"
    assert labelled.sample_flags(replace(fair, sample=None)) == ()


def judged_again(metric: Metric = ACCURACY, **sample: Any) -> tuple[Case, Array, Array]:
    """Answers whose labels other raters might have left otherwise: the case, the labels, and their
    (replicates, respondents, items).
    """
    rng = np.random.default_rng(9)
    human = np.where(rng.random((6, 60)) < 0.2, 1 - SIXTY_ITEMS.values, SIXTY_ITEMS.values)
    human[rng.random(human.shape) < 0.5] = NAN
    rerated = np.where(rng.random((30, 6, 60)) < 0.15, 1 - human, human)
    labelled_indices = np.argwhere(np.isfinite(human))
    judgements = [
        judgement(SIXTY_ITEMS.respondents[m], SIXTY_ITEMS.items[i].id) for m, i in labelled_indices
    ]
    replicates = np.stack([rerated[:, m, i] for m, i in labelled_indices], axis=1)
    labelled_mask = np.isfinite(human)
    labels = labels_on(np.zeros(human.shape), SIXTY_ITEMS, 60)
    labels = replace(
        labels,
        values=human,
        tallies={"faithful": np.where(labelled_mask, human, 0.0), "n": labelled_mask.astype(float)},
    )
    sample = {"judgements": tuple(judgements), "replicates": replicates, **sample}
    judged_case = case(
        "criterion",
        "judge",
        (SIXTY_ITEMS, labels),
        metric,
        PROTOCOL,
        second_metric=FAITHFUL,
        sample=PooledLabels(**sample),
    )
    return judged_case, human, rerated


def ends(value: Any) -> Any:
    spans = (value.low, value.high), value.fixed and (value.fixed.low, value.fixed.high)
    return pytest.approx([end for span in spans if span for end in span], nan_ok=True)


def test_the_errors_of_raters_widen_every_interval_of_what_their_labels_say() -> None:
    judged_case, human, rerated = judged_again()
    without_raters = replace(  # type: ignore[type-var]
        judged_case, sample=replace(judged_case.sample, replicates=None), cache={}
    )
    labelled_mask = np.isfinite(human)
    scored = SIXTY_ITEMS.values

    def shares(labels: Array) -> dict[str, float]:
        a, h = scored[labelled_mask], labels[labelled_mask]
        agree, p, q = (a == h).mean(), a.mean(), h.mean()
        luck = p * q + (1 - p) * (1 - q)
        return {
            "accuracy": agree,
            "kappa": (agree - luck) / (1 - luck),
            "sensitivity": a[h == 1].mean(),
            "specificity": 1 - a[h == 0].mean(),
            "pearson": np.corrcoef(scored.mean(axis=1), np.nanmean(labels, axis=1))[0, 1],
        }

    moved = [shares(table) for table in rerated]
    for name in moved[0]:
        plain = number(without_raters, f"criterion.{name}").coefficient
        coefficient = number(judged_case, f"criterion.{name}").coefficient
        assert coefficient.value == pytest.approx(shares(human)[name]), name
        wider = psy.with_raters(plain, [shifted[name] for shifted in moved])
        assert [coefficient.low, coefficient.high] == ends(replace(wider, fixed=None)), name
        assert (coefficient.fixed is None) == (wider.fixed is None)
        if coefficient.fixed is not None and wider.fixed is not None:
            assert (coefficient.fixed.low, coefficient.fixed.high) == pytest.approx(
                (wider.fixed.low, wider.fixed.high)
            )
            assert plain.fixed is not None
            assert coefficient.fixed != plain.fixed
    probabilities = {
        (SIXTY_ITEMS.respondents[m], SIXTY_ITEMS.items[i].id): 0.5
        for m, i in np.argwhere(labelled_mask)
    }
    weighed, _, _ = judged_again(probabilities=probabilities)
    corrected = number(weighed, "criterion.prediction_powered").coefficient
    study = psy.ppi_scores(
        scored.reshape(1, -1),
        human.reshape(1, -1),
        np.tile(np.arange(60), 6),
        probabilities=np.where(labelled_mask, 0.5, NAN).reshape(1, -1),
        rater_variance=[float(np.nanmean(rerated, axis=(1, 2)).var(ddof=1))],
    ).scores[0]
    assert corrected.value == pytest.approx(study.value)
    assert corrected.se == pytest.approx(study.se)
    assert corrected.fixed is not None
    assert (corrected.fixed.low, corrected.fixed.high) == pytest.approx((study.low, study.high))


def test_answers_that_stand_for_many_weigh_more_in_their_respondents_agreement() -> None:
    chances = {
        (NAMES[m], ITEMS[i].id): 0.25 if (m, i) == (0, 2) else 0.5
        for m, i in np.argwhere(np.isfinite(PLACED))
    }
    result = number(labelled_case(probabilities=chances), "criterion.item_agreement")
    # 0/1 counts for 4, and 1/0, 0/0, 1/1 for 2 each; then 0/1, 1/1, 1/0; then 1/1, 0/0
    shares = [4 / 10, 1 / 3, 1]
    rows = list(result.detail["by_respondent"].values())
    assert [row["agreement"] for row in rows] == pytest.approx(shares)
    assert result.coefficient.value == pytest.approx(np.mean(shares))
    plain = number(labelled_case(), "criterion.item_agreement")
    rows = list(plain.detail["by_respondent"].values())
    assert [row["agreement"] for row in rows] == pytest.approx([2 / 4, 1 / 3, 1])


def test_scores_of_a_ratio_are_compared_as_they_are() -> None:
    labels = labels_on(np.random.default_rng(10).random((6, 60)) < 0.5, SIXTY_ITEMS, 30)
    pair = (SIXTY_ITEMS, labels)
    f1 = case("criterion", "judge", pair, YES_NO[3], PROTOCOL, second_metric=FAITHFUL)
    coefficient = number(f1, "criterion.pearson_same_items").coefficient
    on_labelled = SIXTY_ITEMS.take(
        SIXTY_ITEMS.respondents, [item.id for item in SIXTY_ITEMS.items[:30]]
    )
    expected = psy.pearson(on_labelled.score(YES_NO[3]), labels.values.mean(axis=1))
    assert coefficient.value == pytest.approx(expected.value)
    assert first_result(replace(f1, unsampled=None), "criterion.pearson_same_items") is None


def indicator_names(family: str) -> list[str]:
    return list(
        dict.fromkeys(f"{family}.{indicator.name}" for indicator in family_indicators(family))
    )


@pytest.mark.parametrize("name", indicator_names("criterion"))
def test_every_indicator_beside_people_has_a_number_or_a_reason(name: str) -> None:
    check_answer(labelled_case(), name)


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
    stage_case = stage([1, 1, 1, 0, 0, 0, 0, NAN, 1], [1, 1, 0, 1, 0, 0, 0, 1, NAN])
    alike = number(stage_case, "stages.decided_alike")
    assert alike.coefficient.value == pytest.approx(5 / 7)
    assert alike.detail["table"] == {"both_yes": 2, "judge_only": 1, "people_only": 1, "both_no": 3}
    counted = {"labelled": 9, "units": 7, "not_asked": 0, "unread": 2, "unresolved": 3}
    words = {"stage": "verifier", "unit": "fact", "yes": "holds", "no": "does not"}
    for name, value, of_no in (
        ("precision", 2 / 3, 3 / 4),
        ("recall", 2 / 3, 3 / 4),
        ("f1", 2 / 3, 3 / 4),
    ):
        result = number(stage_case, f"stages.{name}")
        assert result.coefficient.value == pytest.approx(value)
        assert result.detail["of_no"]["value"] == pytest.approx(of_no)
        assert {key: result.detail[key] for key in counted} == counted
        assert {key: result.detail[key] for key in words} == words
        ends = getattr(
            psy.stage_agreement(
                stage_case.stage.judge,
                stage_case.stage.human,
                stage_case.stage.clusters,
                stage_case.stage.weights,  # type: ignore[union-attr]
            ),
            f"{name}_no",
        ).fixed
        low, high = (ends.low, ends.high) if ends else (None, None)
        assert (result.detail["of_no"]["low"], result.detail["of_no"]["high"]) == (low, high)
    heavy = stage([1, 1, 0], [1, 0, 0], weights=np.array([1.0, 4, 1]))
    assert number(heavy, "stages.decided_alike").coefficient.value == pytest.approx(2 / 6)


def test_a_stage_that_was_not_asked_says_so() -> None:
    not_asked = number(stage([NAN] * 3, [1, 0, 1], not_asked=3), "stages.f1").coefficient
    assert not_asked.status == "insufficient"
    assert not_asked.reason == text_of("stages.not-asked", role="verifier", many=3, unit="fact")
    partly_asked = number(stage([NAN, NAN, 1], [1, 0, NAN], not_asked=2), "stages.f1").coefficient
    assert partly_asked.reason == text_of("stages.none-both", role="verifier", unit="fact")
    assert first_result(replace(stage([1], [1]), stage=None), "stages.f1") is None


# --- judges ---


def verdicts(first: Any, second: Any, second_judge: str = "a@1#1", **settings: Any) -> Case:
    pair = [
        matrix(np.asarray(right, dtype=float), Cell(judge=judge))
        for right, judge in ((first, "a@1"), (second, second_judge))
    ]
    return case("judge_consistency", "judge", pair, ACCURACY, PROTOCOL, **settings)


def test_verdicts_that_are_no_yes_or_no_have_an_interval_scale() -> None:
    verdict_case = verdicts(RIGHT, RIGHT[::-1])
    verdict_pair = np.stack([RIGHT.ravel(), RIGHT[::-1].ravel()])
    alpha = number(verdict_case, "judge_consistency.krippendorff_alpha").coefficient
    assert alpha.value == pytest.approx(psy.krippendorff_alpha(verdict_pair, "nominal").value)
    flips = number(verdict_case, "judge_consistency.flip_rate").coefficient
    assert flips.value == pytest.approx((verdict_pair[0] != verdict_pair[1]).mean())
    half = [
        replace(m, tallies={"sum": m.values / 2 + 0.25, "n": np.ones(m.values.shape)})
        for m in verdict_case.matrices
    ]
    metric = Metric("mean", lambda t: t["sum"] / t["n"], share=True)
    scaled = case("judge_consistency", "judge", half, metric, PROTOCOL)
    alpha = number(scaled, "judge_consistency.krippendorff_alpha").coefficient
    assert alpha.value == pytest.approx(psy.krippendorff_alpha(verdict_pair / 2, "interval").value)
    for name in ("gwet_ac1", "flip_rate"):
        coefficient = number(scaled, f"judge_consistency.{name}").coefficient
        assert coefficient.status == "not_applicable"
        assert "are no yes or no" in coefficient.reason
    nobody = np.ones(RIGHT.shape, dtype=bool)
    lost = [matrix(RIGHT.astype(float), Cell(judge=j), unscored=nobody) for j in ("a@1", "a@1#1")]
    empty = case("judge_consistency", "judge", lost, ACCURACY, PROTOCOL)
    assert number(empty, "judge_consistency.flip_rate").coefficient.status == "not_applicable"


@pytest.mark.parametrize("runs", ["none", "alike", "fewer respondents", "fewer items", "a ratio"])
def test_the_share_of_a_judge_needs_the_answers_asked_again(runs: str) -> None:
    metric = YES_NO[3] if runs == "a ratio" else ACCURACY
    runs_of_answers = [matrix(RIGHT.astype(float), Cell(run=k)) for k in range(2)]
    if runs == "fewer respondents":
        runs_of_answers = [
            run.take(NAMES[:2], [item.id for item in run.items]) for run in runs_of_answers
        ]
    if runs == "fewer items":
        runs_of_answers = [
            run.take(NAMES, [item.id for item in run.items[:4]]) for run in runs_of_answers
        ]
    repeats = None
    if runs != "none":
        repeats = case("test_retest", "run", runs_of_answers, metric, PROTOCOL, is_joint=True)
    verdict_case = replace(
        verdicts(RIGHT, RIGHT[::-1], repeats=repeats), metrics=(metric, metric), cache={}
    )
    share = number(verdict_case, "judge_consistency.judge_share").coefficient
    refused = (
        "" if runs == "alike" else "without a second run" if runs == "none" else "same respondents"
    )
    assert refused in share.reason
    assert (share.status == "not_applicable") == bool(refused)


def test_an_estimate_says_who_labelled() -> None:
    estimate = Estimate("criterion.pearson", "accuracy", "judge", "", "", 0.5, detail={"n": 1})
    lost = replace(estimate, value=None, status="insufficient", reason="few")
    people_said = judged.say_who_labelled([estimate, lost], "human:anna")
    assert [e.status for e in people_said] == ["ok", "insufficient"]
    for e in people_said:
        assert e.detail == {"n": 1, "labelled_by": "people", "labels_of": "human:anna"}
    silent, still = judged.say_who_labelled([estimate, lost], "oracle")
    assert (silent.status, silent.value) == ("not_informative", 0.5)
    assert "'oracle'" in silent.reason
    assert (still.status, still.reason) == ("insufficient", "few")
    assert still.detail["labelled_by"] == "oracle"


def test_raters_that_agree_bound_what_a_score_can_reach() -> None:
    def raters(*rows: list[float]) -> Case:
        labels_by_rater = {
            f"human:{k}": {("r", f"q{i}"): label for i, label in enumerate(row) if label == label}
            for k, row in enumerate(rows)
        }
        unlabelled_case = case("criterion", "judge", (FIRST,), ACCURACY, PROTOCOL)
        return replace(unlabelled_case, raters=labels_by_rater)

    two = [1, 0, 1, 1, NAN, 0], [1, 0, 0, 1, 1, NAN]
    table = np.array(two, dtype=float)
    result = number(raters(*two), "criterion.human_agreement")
    alpha = psy.krippendorff_alpha(table, "nominal").value
    assert result.coefficient.value == pytest.approx(alpha)
    assert (result.detail["raters"], result.detail["answers"]) == (2, 6)
    assert result.detail["bound"] == pytest.approx(math.sqrt(alpha))
    assert result.detail["gwet_ac1"] == pytest.approx(psy.gwet_ac1(table).value)
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
        assert first_result(replace(raters([1.0]), raters=None), f"criterion.{name}") is None
        assert number(raters(), f"criterion.{name}").coefficient.status == "insufficient"


def test_types_at_which_a_respondent_is_weak() -> None:
    kinds = ["existence", "existence", "attribute", "attribute", "attribute", None]
    typed_items = tuple(replace(item, type=kind) for item, kind in zip(ITEMS, kinds, strict=True))
    first = replace(FIRST, items=typed_items)
    human = np.array([[1, 0, 0, 1, 1, 0], [1, 1, 1, 1, 0, 1], [0, 1, 0, 0, 1, 1.0]])
    labelled_case = replace(by_people(human, positions=range(6)), items=typed_items)

    def weakness_of(judge: str = "human", labels: Any = labelled_case) -> Result | None:
        labels = replace(labels, cell=Cell(judge=judge))
        pair = case(
            "criterion", "judge", (first, labels), ACCURACY, PROTOCOL, second_metric=FAITHFUL
        )
        return first_result(pair, "criterion.within_respondents")

    weakness = weakness_of()
    assert weakness is not None
    assert weakness.detail["types"] == ["attribute", "existence"]
    means = [
        np.stack([x[:, 2:5].mean(axis=1), x[:, :2].mean(axis=1)], axis=1)
        for x in (RIGHT.astype(float), human)
    ]
    deviations = [(x - x.mean(axis=1, keepdims=True)).ravel() for x in means]
    assert weakness.coefficient.value == pytest.approx(
        deviations[0]
        @ deviations[1]
        / math.sqrt((deviations[0] @ deviations[0]) * (deviations[1] @ deviations[1]))
    )
    assert weakness.detail["dof"] == 2
    assert weakness_of("oracle") is None
    no_label = replace(labelled_case, values=np.where(np.arange(6) < 2, NAN, human))
    single = weakness_of(labels=no_label)
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
    pair = case("criterion", "judge", (first, labels), ACCURACY, PROTOCOL, second_metric=FAITHFUL)
    result = number(pair, "criterion.pearson_given_length")
    words, score = first.words.mean(axis=1), first.values.mean(axis=1)
    people_mean = labels.values.mean(axis=1)
    r = np.corrcoef([score, people_mean, words])
    partial = (r[0, 1] - r[0, 2] * r[1, 2]) / math.sqrt((1 - r[0, 2] ** 2) * (1 - r[1, 2] ** 2))
    assert result.coefficient.value == pytest.approx(partial)
    assert result.detail["length_and_score"] == pytest.approx(r[0, 2])
    assert result.detail["length_and_labels"] == pytest.approx(r[1, 2])


# --- two administrations ---


def pair_of(x: Any, y: Any, facet: str = "run", **settings: Any) -> Case:
    cells = {"run": Cell(run=1), "form": Cell(form="b"), "sight": Cell(sight="blind")}
    matrices = [matrix(np.asarray(v, dtype=float)) for v in (x, y)]
    family = {"run": "test_retest", "form": "parallel_forms", "sight": "blindness"}[facet]
    pair = (matrices[0], replace(matrices[1], cell=cells[facet]))
    return case(family, facet, pair, ACCURACY, PROTOCOL, **settings)


PAIR_INDICATORS = [
    (facet, name)
    for facet, family in (
        ("run", "test_retest"),
        ("form", "parallel_forms"),
        ("sight", "blindness"),
    )
    for name in indicator_names(family)
]


@pytest.mark.parametrize(("facet", "name"), PAIR_INDICATORS)
def test_every_indicator_of_a_small_pair_has_a_number_or_a_reason(facet: str, name: str) -> None:
    check_answer(pair_of(RIGHT, RIGHT[::-1], facet), name)


def score_table(*counts: int) -> Array:
    return np.arange(20) < np.array(counts)[:, None]


def test_who_makes_a_correlation() -> None:
    x, y = (9, 10, 11, 10, 1), (10, 9, 10, 11, 2)
    result = number(pair_of(score_table(*x), score_table(*y)), "test_retest.pearson")
    names = pair_of(score_table(*x), score_table(*y)).respondents
    left = [np.corrcoef(np.delete(x, k), np.delete(y, k))[0, 1] for k in range(5)]
    assert (result.detail["strongest"], result.flags) == (names[4], ("DOMINANT_MODEL",))
    assert result.detail["without_strongest"] == pytest.approx(left[4])
    assert result.detail["without_low"] == pytest.approx(min(left))
    assert result.detail["without_high"] == pytest.approx(max(left))
    assert (result.detail["if_all_wrong"], result.detail["if_all_right"]) == (0.41, 0.41)
    errors = case(
        "test_retest",
        "run",
        (
            matrix(score_table(*x), unscored=score_table(1, 0, 0, 0, 0)),
            matrix(score_table(*y), Cell(run=1)),
        ),
        replace(ACCURACY, better="lower"),
        PROTOCOL,
    )
    bounds = number(errors, "test_retest.pearson").detail
    assert (bounds["if_all_right"], bounds["if_all_wrong"]) == pytest.approx((0.4, 0.41))
    three_respondents = number(
        pair_of(score_table(9, 10, 1), score_table(10, 9, 2)), "test_retest.pearson"
    )
    assert "strongest" not in three_respondents.detail
    assert three_respondents.flags == ()
    # alone each of two hides the other: they are named together
    twins = (10, 11, 9, 10, 11, 9, 20, 20), (9, 10, 11, 11, 9, 10, 20, 20)
    two = pair_of(score_table(*twins[0]), score_table(*twins[1]))
    twin_result = number(two, "test_retest.pearson")
    assert twin_result.detail["strongest"] == f"{two.respondents[6]} and {two.respondents[7]}"
    assert twin_result.detail["without_strongest"] == pytest.approx(
        np.corrcoef(twins[0][:6], twins[1][:6])[0, 1]
    )
    assert twin_result.flags == ("DOMINANT_MODEL",)


def test_a_constant_score_has_no_correlation_without_a_warning() -> None:
    result = number(
        pair_of(score_table(9, 9, 9, 9), score_table(1, 2, 3, 4)), "test_retest.pearson"
    )
    assert math.isnan(result.coefficient.value)
    assert "strongest" not in result.detail


@pytest.mark.parametrize("facet", ["run", "form"])
def test_a_pair_of_runs_has_no_interval_of_its_own(facet: str) -> None:
    rng = np.random.default_rng(6)
    x, y = (rng.random((2, 9, 20)) < np.linspace(0.1, 0.9, 9)[:, None]).astype(float)
    pair_case = pair_of(x, y, facet)
    for name in ("pearson", "icc_a1", "icc_c1", "ccc"):
        coefficient = number(pair_case, f"{pair_case.family}.{name}").coefficient
        assert (coefficient.fixed is None) == (facet == "run" and name == "pearson")
        if coefficient.fixed is None:
            assert math.isnan(coefficient.low)
            continue
        left = [(v.sum(axis=1, keepdims=True) - v) / 19 for v in (x, y)]
        leave_one_out = psy.agreement_coefficients(*left)[name]
        ends = psy.agreement_interval(
            coefficient.value, leave_one_out, *left, scaled=name == "pearson"
        )
        assert (coefficient.fixed.low, coefficient.fixed.high) == pytest.approx(
            (ends.low, ends.high)
        )
    reason = number(pair_case, f"{pair_case.family}.pearson").detail.get("no_interval_for_others")
    assert reason == (text_of("reruns.pearson") if facet == "run" else None)


def test_unread_answers_of_a_ratio_have_no_bounds() -> None:
    pair_case = pair_of(score_table(9, 10, 1), score_table(10, 9, 2))
    f1 = replace(pair_case, metrics=(YES_NO[3], YES_NO[3]), cache={})
    assert "if_all_wrong" not in number(f1, "test_retest.pearson").detail
    assert first_result(f1, "test_retest.item_agreement") is None


@pytest.mark.parametrize("facet", ["run", "sight"])
def test_each_respondent_has_a_shift_of_its_own_without_the_picture(facet: str) -> None:
    x, y = score_table(9, 10, 11, 10), score_table(8, 4, 11, 12)
    pair_case = pair_of(x, y, facet)
    result = number(pair_case, f"{pair_case.family}.mean_shift")
    assert result.coefficient.value == pytest.approx(-5 / 80)
    assert ("by_respondent" in result.detail) == (facet == "sight")
    if facet == "sight":
        rows = list(result.detail["by_respondent"].values())
        assert [row["whole"] for row in rows] == [0.45, 0.5, 0.55, 0.5]
        assert [row["difference"] for row in rows] == pytest.approx([-0.05, -0.3, 0, 0.1])
        assert rows[1]["low"] < -0.3 < rows[1]["high"]
        assert (rows[2]["low"], rows[2]["high"]) == (None, None), "no answer moves"


def test_items_that_come_out_the_same() -> None:
    lost = np.zeros((3, 20), dtype=bool)
    lost[2] = True
    pair_case = pair_of(score_table(10, 10, 1), score_table(12, 5, 2))
    result = number(pair_case, "test_retest.item_agreement")
    assert result.coefficient.value == pytest.approx((18 / 20 + 15 / 20 + 19 / 20) / 3)
    assert result.detail["worst"] == pytest.approx(0.75)
    first = matrix(score_table(10, 10, 1).astype(float), unscored=lost)
    unread = case("test_retest", "run", (first, pair_case.second), ACCURACY, PROTOCOL)
    partial = number(unread, "test_retest.item_agreement")
    assert partial.coefficient.value == pytest.approx((18 / 20 + 15 / 20) / 2)
    assert partial.detail["by_respondent"][first.respondents[2]] == {
        "agreement": None,
        "kappa": None,
    }
