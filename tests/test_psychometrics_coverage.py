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
    again = psy.type_coverage(labels, list("abcd"), n_min=5)
    assert [k.items for k in again.types] == [k.items for k in coverage.types]
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
    asked = json.loads((data / "amber" / "query" / "query_discriminative.json").read_text())
    names = {
        "discriminative-attribute-state": "attribute",
        "discriminative-attribute-number": "counting",
        "discriminative-attribute-action": "action",
        "discriminative-hallucination": "existence",
        "discriminative-relation": "relation",
        "relation": "relation",
    }
    coverage = psy.type_coverage(
        [names[notes[q["id"]]["type"]] for q in asked],
        TAXONOMY,
        images=[q["image"] for q in asked],
        questions=[q["query"] for q in asked],
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
    state = [q for q in asked if notes[q["id"]]["type"] == "discriminative-attribute-state"]
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
        seen = np.isfinite(row)
        interval = psy.jackknife_interval(
            {"k": np.where(seen, row, 0), "n": seen.astype(float)},
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
    rng, together, pictures = np.random.default_rng(8), 0.3, np.repeat(np.arange(60), 5)
    truth = (rate * (1 - rate) / 300 * (1 + 4 * together)) ** 0.5
    size = 1 / together - 1
    held = []
    for _ in range(150):
        chance = rng.beta(rate * size, (1 - rate) * size, (4, 60))[:, pictures]
        right = (rng.random((4, 300)) < chance).astype(float)
        (kind,) = psy.type_coverage(
            ["a"] * 300, ["a"], images=pictures.tolist(), scores=right
        ).types
        assert kind.sem < kind.sem_high < 1.5 * kind.sem
        held.append(kind.sem_high >= truth)
    assert np.mean(held) >= 0.9


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
    apart, labels = binary(2, 150, 30, 0.2)
    assert all(kind.adds and kind.certain for kind in psy.subscore_value(apart, labels))
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
    alpha = [pingouin.cronbach_alpha(pd.DataFrame(part))[0] for part in parts]
    errors = [part.sum(1).var(ddof=1) * (1 - a) for part, a in zip(parts, alpha, strict=True)]
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
