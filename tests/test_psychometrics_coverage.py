"""Coverage by hand counts and real files; the value of subscores against true scores."""

import json
import math
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hqm import psychometrics as psy
from hqm.psychometrics.items.coverage import (
    StandardError,
    cluster_standard_error,
    normalised_wording,
)

TAXONOMY = [
    "attribute",
    "action",
    "counting",
    "environment",
    "comparison",
    "relation",
    "ocr",
    "existence",
]


def test_indices_against_scipy() -> None:
    labels = ["a"] * 50 + ["b"] * 30 + ["c"] * 20
    coverage = psy.type_coverage(labels, ["a", "b", "c", "d"], n_min=25)
    p = [0.5, 0.3, 0.2, 0]
    assert coverage.evenness.value == pytest.approx(stats.entropy(p) / math.log(4))
    assert coverage.effective.value == pytest.approx(math.exp(stats.entropy(p)))
    assert coverage.index.value == 0.5
    assert [kind.missing_items for kind in coverage.types] == [0, 0, 5, 25]


@given(st.lists(st.sampled_from([*"abcd", None]), max_size=60), st.randoms())
@settings(deadline=None)
def test_properties(labels: list[str | None], random: object) -> None:
    coverage = psy.type_coverage(labels, list("abcd"), n_min=5)
    random.shuffle(labels)  # type: ignore[attr-defined]
    stricter = psy.type_coverage(labels, list("abcd"), n_min=5)
    assert [k.items for k in stricter.types] == [k.items for k in coverage.types]
    assert sum(k.items for k in coverage.types) + coverage.unlabelled == len(labels)
    assert 0 <= coverage.index.value <= 1
    if coverage.status == "ok":
        assert 1 <= coverage.effective.value <= 4 + 1e-9
        assert 0 <= coverage.evenness.value <= 1 + 1e-9


def test_a_wording_repeated_is_one_wording() -> None:
    """HQH: 500 existence items ask one sentence; the other types ask 500 different ones."""
    labels = [t for t in TAXONOMY for _ in range(500)]
    questions = [
        "Describe the image." if t == "existence" else f"{t} {i}?" for i, t in enumerate(labels)
    ]
    coverage = psy.type_coverage(labels, TAXONOMY, questions=questions)
    assert coverage.types[-1].wordings == 1
    assert {kind.wordings for kind in coverage.types[:-1]} == {500}
    assert coverage.index.value == 1
    assert coverage.evenness.value == pytest.approx(1)


def test_mmhal_is_labelled_but_not_measurable() -> None:
    """96 items, 12 a type: the standard error of a type's rate is .14."""
    coverage = psy.type_coverage([t for t in TAXONOMY for _ in range(12)], TAXONOMY)
    assert coverage.n_min == 278
    assert {kind.state for kind in coverage.types} == {"labelled, not measurable"}
    assert coverage.types[0].sem == pytest.approx(0.14, abs=0.005)
    assert coverage.index.value == 0


def test_claims_are_no_evidence() -> None:
    coverage = psy.type_coverage([None] * 1000, TAXONOMY, claimed=TAXONOMY[:5])
    assert [kind.state for kind in coverage.types] == ["claimed, no evidence"] * 5 + ["absent"] * 3
    assert coverage.index.value == 0
    assert coverage.status == "insufficient"
    assert math.isnan(coverage.evenness.value)
    assert coverage.unlabelled == 1000


def test_amber_d(data: Path) -> None:
    """Counts of the released files: 4,764 state, 2,072 number, 792 action, 4,924 existence, 1,664
    relation.
    """
    notes = {
        a["id"]: a
        for a in json.loads((data / "amber" / "annotations.json").read_text())
        if "truth" in a
    }
    queries = json.loads((data / "amber" / "query" / "query_discriminative.json").read_text())
    names = {
        "discriminative-attribute-state": "attribute",
        "discriminative-attribute-number": "counting",
        "discriminative-attribute-action": "action",
        "discriminative-hallucination": "existence",
        "discriminative-relation": "relation",
        "relation": "relation",
    }
    coverage = psy.type_coverage(
        [names[notes[q["id"]]["type"]] for q in queries],
        TAXONOMY,
        images=[q["image"] for q in queries],
        questions=[q["query"] for q in queries],
        claimed=["ocr"],
    )
    items = {kind.name: kind.items for kind in coverage.types}
    assert items == {
        "attribute": 4764,
        "action": 792,
        "counting": 2072,
        "environment": 0,
        "comparison": 0,
        "relation": 1664,
        "ocr": 0,
        "existence": 4924,
    }
    assert coverage.index.value == 5 / 8
    state = [q for q in queries if notes[q["id"]]["type"] == "discriminative-attribute-state"]
    assert coverage.types[0].images == len({q["image"] for q in state})
    assert coverage.types[0].wordings == len({q["query"].lower().strip("? .") for q in state})


def test_the_standard_error_is_that_of_the_clustered_score() -> None:
    """Against the jackknife over pictures of each respondent's score."""
    rng = np.random.default_rng(0)
    images = np.repeat(np.arange(40), 3)
    x = (rng.random((4, 120)) < rng.random(40)[images] * 0.6 + 0.2).astype(float)
    x[0, 5] = math.nan
    coverage = psy.type_coverage(["a"] * 120, ["a"], images=images.tolist(), scores=x)
    squared = []
    for row in x:
        scored = np.isfinite(row)
        interval = psy.jackknife_interval(
            {"k": np.where(scored, row, 0), "n": scored.astype(float)},
            images,
            lambda t: t["k"] / t["n"],
        )
        squared.append(((interval.high - interval.low) / 2 / stats.norm.ppf(0.975)) ** 2)
    assert coverage.types[0].sem == pytest.approx(math.sqrt(np.mean(squared)), rel=0.01)
    plain = psy.type_coverage(["a"] * 120, ["a"])
    assert plain.types[0].sem == pytest.approx(0.5 / math.sqrt(120))


def test_a_type_is_measurable_by_its_error_in_the_answers() -> None:
    """126 items of strong respondents have an error below .03; 278 items on few pictures that hang
    together have not.
    """
    rng = np.random.default_rng(3)
    strong = (rng.random((10, 126)) < 0.95).astype(float)
    (kind,) = psy.type_coverage(["a"] * 126, ["a"], scores=strong).types
    assert (kind.state, kind.measured, kind.missing_items) == ("measurable", True, 0)
    assert kind.sem < 0.03 < psy.type_coverage(["a"] * 126, ["a"]).types[0].sem
    pictures = np.repeat(np.arange(28), 10)
    alike = (rng.random((10, 28)) < 0.6).astype(float)[:, pictures]
    (kind,) = psy.type_coverage(["a"] * 280, ["a"], images=pictures.tolist(), scores=alike).types
    assert (kind.state, kind.measured) == ("labelled, not measurable", True)
    assert kind.missing_items == pytest.approx(280 * (kind.sem_high / 0.03) ** 2 - 280, abs=1)


@pytest.mark.parametrize("rate", [0.6, 0.9])
def test_the_upper_end_of_a_types_error_holds(rate: float) -> None:
    """Five items a picture go together (beta-binomial): the true error lies below the upper end in
    95 of 100 studies.
    """
    rng, correlation, pictures = np.random.default_rng(8), 0.3, np.repeat(np.arange(60), 5)
    truth = (rate * (1 - rate) / 300 * (1 + 4 * correlation)) ** 0.5
    size = 1 / correlation - 1
    is_covered = []
    for _ in range(150):
        chance = rng.beta(rate * size, (1 - rate) * size, (4, 60))[:, pictures]
        right = (rng.random((4, 300)) < chance).astype(float)
        (kind,) = psy.type_coverage(
            ["a"] * 300, ["a"], images=pictures.tolist(), scores=right
        ).types
        assert kind.sem < kind.sem_high < 1.5 * kind.sem
        is_covered.append(kind.sem_high >= truth)
    assert np.mean(is_covered) >= 0.9


def test_the_error_of_a_type_is_that_of_other_items_of_the_kind() -> None:
    """Against the spread of the scores over 2,000 fresh draws of pictures with their items."""
    rng = np.random.default_rng(4)

    def scores() -> np.ndarray:
        easy = rng.normal(1, 1, 40)[np.repeat(np.arange(40), 3)]
        return (rng.random(120) < 1 / (1 + np.exp(-easy))).astype(float)

    true = np.std([scores().mean() for _ in range(2000)])
    images = np.repeat(np.arange(40), 3).tolist()
    squared = [
        psy.type_coverage(["a"] * 120, ["a"], images=images, scores=scores()[None]).types[0].sem
        ** 2
        for _ in range(200)
    ]
    assert math.sqrt(np.mean(squared)) == pytest.approx(true, rel=0.06)


def test_a_few_items_that_all_come_out_right_measure_nothing() -> None:
    """The plain error of twelve right answers is 0, and so is that of twelve questions about one
    picture.
    """
    (kind,) = psy.type_coverage(["a"] * 12, ["a"], scores=np.ones((5, 12))).types
    assert kind.state == "labelled, not measurable"
    assert kind.sem == pytest.approx(math.sqrt(14 / 16 * 2 / 16 / 16)), "Agresti and Coull"
    (kind,) = psy.type_coverage(
        ["a"] * 90, ["a"], images=[i % 9 for i in range(90)], scores=np.ones((5, 90))
    ).types
    assert (kind.state, kind.measured) == ("labelled, not measurable", False)


def test_several_labels_and_labels_from_elsewhere() -> None:
    coverage = psy.type_coverage([["a", "b"], "a", "z", None, ()], ["a", "b"])
    assert [kind.items for kind in coverage.types] == [2, 1]
    assert coverage.unlabelled == 2


def test_coverage_degenerate() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert psy.type_coverage([], ["a"]).status == "insufficient"
        assert psy.type_coverage(["a"], ["a"]).evenness.status == "degenerate"
        empty = psy.type_coverage(["a", "a"], ["a"], scores=np.full((3, 2), math.nan))
        assert empty.types[0].sem == pytest.approx(0.5 / math.sqrt(2))
        assert psy.type_coverage(["a"], ["a"], scores=np.zeros((0, 1))).types[0].sem == 0.5
    for wrong in ({"images": ["x"]}, {"questions": ["x"]}, {"scores": [[1.0]]}):
        with pytest.raises(ValueError, match="items|shape"):
            psy.type_coverage(["a", "a"], ["a"], **wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="taxonomy"):
        psy.type_coverage([], [])
    with pytest.raises(ValueError, match="error"):
        psy.items_for_error(0)


def test_prmse_is_what_a_regression_on_true_scores_explains() -> None:
    """200,000 respondents with known true subscores: squared correlations with subscore and
    total.
    """
    rng = np.random.default_rng(1)
    n = 200_000
    true = rng.multivariate_normal([0, 0, 0], [[1, 0.9, 0.3], [0.9, 1, 0.3], [0.3, 0.3, 1]], size=n)
    noise = np.array([1.5, 0.8, 0.6])
    observed = true + noise * rng.normal(size=(n, 3))
    explained = psy.prmse(np.cov(observed, rowvar=False), 1 / (1 + noise**2))
    total = observed.sum(1)
    for j in range(3):
        assert explained[j][0] == pytest.approx(
            np.corrcoef(true[:, j], observed[:, j])[0, 1] ** 2, abs=0.005
        )
        assert explained[j][1] == pytest.approx(
            np.corrcoef(true[:, j], total)[0, 1] ** 2, abs=0.005
        )


def binary(
    seed: int, respondents: int, per_type: int, correlation: float
) -> tuple[np.ndarray, list[str]]:
    rng = np.random.default_rng(seed)
    covariance = np.full((3, 3), correlation) + (1 - correlation) * np.eye(3)
    ability = np.repeat(
        rng.multivariate_normal(np.zeros(3), covariance, size=respondents), per_type, axis=1
    )
    b = rng.normal(size=3 * per_type)
    x = (rng.random(ability.shape) < 1 / (1 + np.exp(-(ability - b)))).astype(float)
    return x, [t for t in "abc" for _ in range(per_type)]


def test_subscores_add_value_only_where_types_differ() -> None:
    distinct, labels = binary(2, 150, 30, 0.2)
    assert all(kind.adds and kind.certain for kind in psy.subscore_value(distinct, labels))
    alike, labels = binary(3, 150, 15, 0.99)
    subscores = psy.subscore_value(alike, labels)
    assert not any(kind.certain for kind in subscores)
    assert not any(kind.adds for kind in subscores)


def test_subscores_against_the_formulas_step_by_step() -> None:
    import pandas as pd
    import pingouin

    x, labels = binary(4, 40, 10, 0.6)
    subscores = psy.subscore_value(x, labels)
    parts = [x[:, [i for i, t in enumerate(labels) if t == name]] for name in "abc"]
    alpha = [pingouin.cronbach_alpha(pd.DataFrame(scores))[0] for scores in parts]
    errors = [scores.sum(1).var(ddof=1) * (1 - a) for scores, a in zip(parts, alpha, strict=True)]
    total = x.sum(1)
    for j, kind in enumerate(subscores):
        s = parts[j].sum(1)
        assert kind.by_subscore == pytest.approx(alpha[j])
        true = s.var(ddof=1) - errors[j]
        cross = np.cov(s, total)[0, 1] - errors[j]
        assert kind.by_total == pytest.approx(cross**2 / (true * total.var(ddof=1)))
        assert kind.gain.low < kind.gain.value < kind.gain.high


def test_subscores_that_do_not_exist_say_why() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert {k.status for k in psy.subscore_value(np.zeros((3, 4)), list("aabb"))} == {
            "insufficient"
        }
        assert {k.status for k in psy.subscore_value(np.zeros((9, 4)), list("aaaa"))} == {
            "insufficient"
        }
        assert {k.status for k in psy.subscore_value(np.zeros((9, 4)), list("aabb"))} == {
            "degenerate"
        }
        assert {k.status for k in psy.subscore_value(np.full((9, 4), math.nan), list("aabb"))} == {
            "insufficient"
        }
        x, labels = binary(5, 20, 5, 0.5)
        labels[0] = "alone"
        subscores = psy.subscore_value(x, labels)
        assert subscores[0].status == "insufficient"
        assert subscores[1].status in ("ok", "degenerate")
    with pytest.raises(ValueError, match="label"):
        psy.subscore_value(np.zeros((4, 2)), ["a"])
    with pytest.raises(ValueError, match="square"):
        psy.prmse([[1, 2]], [0.5])


def test_a_forecast_rounds_up_to_whole_items() -> None:
    """.25 / .05^2 = 100 and .09 / .03^2 = 100 to the last digit of a float, .24 / .04^2 = 150."""
    for error, rate, items in ((0.05, 0.5, 100), (0.03, 0.1, 100), (0.04, 0.4, 150), (0.5, 0.5, 1)):
        assert psy.items_for_error(error, rate) == items
        assert psy.items_for_error(error * 0.999, rate) == items + 1
    assert psy.items_for_error(0.04) == psy.items_for_error(0.04, 0.5) == 157
    coverage = psy.type_coverage(["a"] * 100 + ["b"] * 99, ["a", "b", "c"], sem=0.05)
    assert [(k.state, k.missing_items) for k in coverage.types] == [
        ("measurable", 0),
        ("labelled, not measurable", 1),
        ("absent", 100),
    ]
    assert coverage.types[0].sem == coverage.types[0].sem_high == pytest.approx(0.05)
    assert psy.type_coverage(["a"], ["a"]).n_min == 278
    counted = psy.type_coverage(["a"] * 3 + ["b"] * 2, ["a", "b"], n_min=3, scores=np.eye(5))
    assert [(k.state, k.missing_items, k.measured) for k in counted.types] == [
        ("measurable", 0, False),
        ("labelled, not measurable", 1, False),
    ]
    assert (counted.n_min, counted.index.value, counted.index.n) == (3, 0.5, 5)


def test_pictures_and_wordings_are_counted_once_a_type() -> None:
    labels = ["a", ["a", "b"], "b", "a", None, ["z"]]
    images = [1, 1, 2, 3, 4, 5]
    questions = ["Is it  red?", "is it red", "Is it-red!", "Is it blue?", "x", "y"]
    coverage = psy.type_coverage(labels, ["a", "b", "c"], images=images, questions=questions)
    assert [(k.name, k.items, k.images, k.wordings) for k in coverage.types] == [
        ("a", 3, 2, 2),
        ("b", 2, 2, 1),
        ("c", 0, 0, 0),
    ]
    assert [k.share for k in coverage.types] == pytest.approx([3 / 6, 2 / 6, 0])
    assert (coverage.unlabelled, coverage.n_items) == (1, 6)
    plain = psy.type_coverage(labels, ["a", "b"])
    assert [(k.images, k.wordings) for k in plain.types] == [(3, 3), (2, 2)]
    assert plain.effective.n == plain.evenness.n == 5
    assert normalised_wording("Straße, 2 Äpfel_x?!") == "strasse 2 äpfel_x"
    assert normalised_wording("don't") == "don t"
    assert normalised_wording("?") == ""
    nobody = psy.type_coverage([None, None], ["a"], claimed={"a"})
    assert (nobody.types[0].state, nobody.types[0].share) == ("claimed, no evidence", 0.0)
    assert nobody.effective.n == nobody.evenness.n == 2
    assert (nobody.status, nobody.unlabelled) == ("insufficient", 2)
    single = psy.type_coverage(["a"], ["a"])
    assert (single.effective.value, single.evenness.n, single.status) == (1.0, 1, "ok")
    empty_type = psy.type_coverage(["a"] * 4, ["a", "b"])
    assert (empty_type.evenness.value, empty_type.effective.value) == (0.0, 1.0)


def test_a_given_error_of_a_type_counts_where_it_has_items() -> None:
    estimated_error = cluster_standard_error([0.0001] * 4, "clusters left out")
    assert estimated_error == StandardError(0.02, 0.02, "clusters left out")
    coverage = psy.type_coverage(
        ["a"] * 10 + ["b"] * 10,
        ["a", "b", "c"],
        errors={"a": estimated_error, "c": estimated_error},
    )
    a, b, c = coverage.types
    assert (a.sem, a.measured, a.missing_items, a.state) == (0.02, True, 0, "measurable")
    assert (b.measured, b.missing_items) == (False, 268)
    assert (c.measured, c.state, c.missing_items) == (False, "absent", 278)
    assert math.isnan(c.sem)
    wide = StandardError(0.02, 0.06, "clusters left out")
    (kind,) = psy.type_coverage(["a"] * 10, ["a"], errors={"a": wide}).types
    assert (kind.sem, kind.sem_high, kind.missing_items) == (0.02, 0.06, 30)
    (exact,) = psy.type_coverage(["a"] * 10, ["a"], errors={"a": wide}, sem=0.06).types
    assert (exact.missing_items, exact.state) == (0, "measurable")
    (counted,) = psy.type_coverage(["a"] * 10, ["a"], errors={"a": estimated_error}, n_min=12).types
    assert (counted.measured, counted.missing_items) == (False, 2)


def test_an_error_has_an_upper_end_from_what_clusters_add() -> None:
    parts = np.array([0.0004, 0.0, 0.0002, 0.0003, 0.0001])
    result = cluster_standard_error(parts, "m")
    high = math.sqrt(0.001 * math.exp(1.6448536 * parts.std(ddof=1) * math.sqrt(5) / 0.001))
    assert (result.value, result.high) == pytest.approx((math.sqrt(0.001), high))
    assert cluster_standard_error([0.0, 0.0], "m") == StandardError(0.0, 0.0, "m")
    pair = cluster_standard_error([0.01, 0.03], "m")
    high = 0.2 * math.sqrt(math.exp(1.6448536 * math.sqrt(2 * 0.0002) / 0.04))
    assert (pair.value, pair.high) == pytest.approx((0.2, high))


@pytest.mark.parametrize("right", [4, 5, 95, 96])
def test_five_right_and_five_wrong_answers_show_their_own_error(right: int) -> None:
    """One respondent, a hundred items: below five of either the error is at least Agresti and
    Coull's.
    """
    scores = (np.arange(100) < right).astype(float)
    (kind,) = psy.type_coverage(["a"] * 100, ["a"], scores=scores[None]).types
    plain = right * (100 - right) / 100 / 99 / 100
    shrunk = (right + 2) / 104 * (102 - right) / 104 / 104
    assert shrunk > plain
    expected = plain if 5 <= right <= 95 else shrunk
    assert kind.sem == pytest.approx(math.sqrt(expected))
    # a large error of pictures that hang together stays
    images = np.arange(40) // 4
    alike = np.repeat((np.arange(10) < 1).astype(float), 4)
    (kind,) = psy.type_coverage(["a"] * 40, ["a"], images=images.tolist(), scores=alike[None]).types
    assert kind.sem == pytest.approx(math.sqrt(0.1 * 0.9 / 9))


@pytest.mark.parametrize("remainder", [np.nan, 0.25])
def test_reductions_of_error_by_hand(remainder: float) -> None:
    """Haberman's: cov(true, total)^2 / (var true var total), for three subscores."""
    covariance = np.array([[4.0, 1, 2], [1, 9, -1], [2, -1, 16]])
    reliability = [0.5, 0.0, 0.9]
    total = covariance.sum()
    result = psy.prmse(covariance, reliability)
    for j, name in ((0, 0.5), (2, 0.9)):
        true = covariance[j, j] * name
        shared = covariance[j].sum() - covariance[j, j] * (1 - name)
        assert result[j] == pytest.approx((name, shared**2 / (true * total)))
    assert np.isnan(result[1]).all(), "a true subscore without variance"
    flat = psy.prmse([[1.0, -1], [-1, 1]], [0.5, 0.5])
    assert [by_sub for by_sub, _ in flat] == [0.5, 0.5]
    assert np.isnan([by_total for _, by_total in flat]).all(), "a total without variance"
    assert psy.prmse([[1.0, 3], [3, 1]], [0.5, 0.5])[0][1] == 1.0, "no more than all is explained"
    for wrong in (
        ([[1.0, 2], [3, 4]], [0.5]),
        ([[1.0, 2]], [0.5]),
        ([1.0], [0.5]),
        ([[1.0]], [[0.5]]),
        ([[1.0]], 0.5),
    ):
        with pytest.raises(ValueError, match="square"):
            psy.prmse(*wrong)  # type: ignore[arg-type]
    x, labels = binary(6, 30, 6, 0.4)
    subscores = psy.subscore_value(x, labels)
    x = np.hstack([x, np.full((30, 1), remainder)])
    x[4, -1] = np.nan
    gap = psy.subscore_value(x, [*labels, "a"])
    assert [kind.by_total for kind in gap] == [kind.by_total for kind in subscores]
    assert [kind.items for kind in gap] == [6, 6, 6]
    turned = psy.subscore_value(x[:, ::-1], [*labels, "a"][::-1])
    assert [kind.name for kind in turned] == ["a", "c", "b"]
    by_name = {kind.name: kind for kind in turned}
    for kind in subscores:
        assert by_name[kind.name].by_total == pytest.approx(kind.by_total)
        assert by_name[kind.name].gain.low == pytest.approx(kind.gain.low)
        assert kind.adds == (kind.gain.value > 0)
        assert kind.certain == (kind.gain.low > 0)
        assert (kind.gain.n, kind.gain.level, kind.status) == (30, 0.95, "ok")


def test_a_type_that_does_not_vary_has_no_subscore() -> None:
    ability, labels = np.arange(12)[:, None], list("aaaaabbbbbccccc")
    x = (np.hstack([ability, ability * 5 % 12, ability * 7 % 12]).repeat(5, axis=1)) > 2.0 * (
        np.arange(15) % 5 + 1
    )
    x = x.astype(float)
    x[:, :5] = 1.0
    a, b, c = psy.subscore_value(x, labels)
    assert (a.status, a.items, a.adds, a.certain) == ("degenerate", 5, False, False)
    assert math.isnan(a.by_subscore)
    assert math.isnan(a.gain.value)
    assert a.gain.n == 12
    assert b.status == c.status == "ok"
    # two items that exclude each other have a reliability below 0
    against = np.array([[1, 0], [0, 1]] * 4, dtype=float)
    against[0] = 1
    for kind in psy.subscore_value(np.hstack([against, x[:8, 5:10]]), list("aabbbbb")):
        assert kind.status == ("degenerate" if kind.name == "a" else "ok")
    small_study = psy.subscore_value(x[:3], labels)
    assert [(kind.name, kind.items, kind.status) for kind in small_study] == [
        (name, 5, "insufficient") for name in "abc"
    ]
    assert "3 and 3" in small_study[0].reason
    without_respondents = psy.subscore_value(np.zeros((0, 4)), list("aabb"))
    assert [kind.items for kind in without_respondents] == [0, 0]
