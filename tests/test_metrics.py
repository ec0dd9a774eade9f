from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hqm import Cell, DesignError, Form, Item, Metric, Response, Verdict, mean_of
from hqm.scoring.matrix import MatrixBuilder, ScoreMatrix, align
from hqm.scoring.metrics import CHAIR, YES_NO, chair_tally, yes_no_tally

counts = st.integers(0, 50)
BY_NAME = {metric.name: metric for metric in YES_NO}


@given(counts, counts, counts, counts)
def test_yes_no_metrics_by_hand(tp: int, fp: int, tn: int, fn: int) -> None:
    sums = {
        "tp": np.array(float(tp)),
        "fp": np.array(float(fp)),
        "tn": np.array(float(tn)),
        "fn": np.array(float(fn)),
    }
    n = tp + fp + tn + fn
    expected = {
        "accuracy": (tp + tn) / n if n else None,
        "precision": tp / (tp + fp) if tp + fp else None,
        "recall": tp / (tp + fn) if tp + fn else None,
        "yes_ratio": (tp + fp) / n if n else None,
    }
    p, r = expected["precision"], expected["recall"]
    expected["f1"] = 2 * p * r / (p + r) if p is not None and r is not None and p + r else None
    for name, value in expected.items():
        number = float(BY_NAME[name](sums))
        # to the last digit: a released scorer's printed number must come back
        assert np.isnan(number) if value is None else number == value, name


def test_a_metric_takes_arrays_of_any_shape() -> None:
    sums = {key: np.ones((3, 4)) for key in ("tp", "fp", "tn", "fn")}
    assert BY_NAME["accuracy"](sums).shape == (3, 4)


def test_a_subset_has_a_dot() -> None:
    metric = BY_NAME["f1"].within("existence")
    assert (metric.name, metric.subset) == ("existence.f1", "existence")


def test_chair_counts_mentions_and_captions() -> None:
    verdicts = [
        chair_tally(["dog", "cat"], {"dog"}, "a dog and a cat"),
        chair_tally(["dog"], {"dog", "car"}, "one dog"),
    ]
    sums = {key: np.array(sum(v.tally[key] for v in verdicts)) for key in verdicts[0].tally}
    numbers = {metric.name: float(metric(sums)) for metric in CHAIR}
    assert numbers == {"chair_i": 1 / 3, "chair_s": 1 / 2, "recall": 2 / 3, "length": 7 / 2}


def items(n: int) -> tuple[Item, ...]:
    return tuple(
        Item(
            f"q{i}",
            "Is it?",
            "yes_no",
            "yes" if i % 2 else "no",
            f"{i // 2}.png",
            cluster=f"{i // 2}.png",
        )
        for i in range(n)
    )


def score(item: Item, response: Response) -> Verdict:
    if response.text not in ("yes", "no"):
        return Verdict.unscored("unparsed", "neither")
    return Verdict(float(response.text == item.target), yes_no_tally(response.text, item.target))


def matrix(rows: dict[str, list[str | None]], n: int = 4, cell: Cell | None = None) -> ScoreMatrix:
    builder = MatrixBuilder(
        cell or Cell(),
        Form("original", items(n)),
        score,
        lambda item: ["even"] if item.target == "no" else [],
    )
    for name, texts in rows.items():
        builder.add(name, [None if text is None else Response(text) for text in texts])
    return builder.build()


def test_unscored_answers_stay_out_of_the_mean_and_are_counted() -> None:
    scores = matrix({"a": ["no", "yes", "eh", None], "b": ["yes", "yes", "yes", "yes"]})
    assert scores.score(BY_NAME["accuracy"]).tolist() == [1.0, 0.5]
    assert scores.unscored() == 2
    assert scores.state_counts()["a"] == {
        "ok": 2,
        "unparsed": 1,
        "refused": 0,
        "truncated": 0,
        "error": 0,
        "missing": 1,
    }
    assert scores.clusters.tolist() == [0, 0, 1, 1]


def test_a_metric_of_a_subset_looks_at_its_items_alone() -> None:
    scores = matrix({"a": ["no", "no", "yes", "no"]})
    accuracy = BY_NAME["accuracy"].within("even")
    assert scores.score(accuracy).tolist() == [0.5]
    assert scores.mask(accuracy).tolist() == [True, False, True, False]
    with pytest.raises(DesignError, match="odd"):
        scores.score(BY_NAME["accuracy"].within("odd"))


def grouped(
    rows: dict[str, list[str | None]], groupings: list[dict[str, str]], clusters: list[str]
) -> ScoreMatrix:
    form = Form(
        "original",
        tuple(
            Item(f"q{i}", "Is it?", "yes_no", "yes", cluster=c, meta=g)
            for i, (g, c) in enumerate(zip(groupings, clusters, strict=True))
        ),
    )
    builder = MatrixBuilder(
        Cell(),
        form,
        lambda _, r: (
            Verdict.unscored("unparsed")
            if r.text == "?"
            else Verdict(float(r.text), {"right": float(r.text), "n": 1.0})
        ),
        lambda item: ["late"] if item.id > "q3" else [],
        lambda item: dict(item.meta),
    )
    for name, texts in rows.items():
        builder.add(name, [None if text is None else Response(text) for text in texts])
    return builder.build()


GROUPS = [{"figure": f} if f else {} for f in ("a", "b", "a", "", "b", "c", "a", "c")]


def test_a_metric_by_groups_counts_a_group_as_right_when_all_of_it_is() -> None:
    rng = np.random.default_rng(3)
    rows = {name: [str(v) for v in rng.integers(0, 2, 8)] for name in "xyz"}
    matrix = grouped(rows, GROUPS, ["0"] * 8)
    metric = Metric("all", mean_of("right"), group="figure")
    expected = []
    for texts in rows.values():
        by: dict[str, list[int]] = {}
        for group, text in zip(GROUPS, texts, strict=True):
            if group:
                by.setdefault(group["figure"], []).append(int(text))
        expected.append(sum(all(values) for values in by.values()) / len(by))
    assert matrix.score(metric).tolist() == expected
    # the subset first, then the groups that are left of it; an item in no group is left out
    late = metric.within("late")
    by_hand = [np.mean([int(t[4]), int(t[5]) and int(t[7]), int(t[6])]) for t in rows.values()]
    assert matrix.score(late).tolist() == by_hand
    with pytest.raises(DesignError, match="'page', which no item has"):
        matrix.score(Metric("m", mean_of("right"), group="page"))


def test_a_group_with_an_unscored_answer_drops_out() -> None:
    matrix = grouped({"x": ["1", "1", "?", "0", "1", "0", "1", "1"]}, GROUPS, ["0"] * 8)
    metric = Metric("all", mean_of("right"), group="figure")
    assert matrix.score(metric).tolist() == [0.5], "a has an unread answer; b is right, c is not"
    assert matrix.units(metric).scored.tolist() == [[False, True, True]]
    assert np.isnan(grouped({"x": [None] * 8}, GROUPS, ["0"] * 8).score(metric)).all()


def test_a_group_must_lie_in_one_cluster() -> None:
    metric = Metric("all", mean_of("right"), group="figure")
    for clusters in ("01000000", "00100000", "00000001"):
        with pytest.raises(DesignError, match="reaches over several clusters"):
            grouped({"x": ["1"] * 8}, GROUPS, list(clusters)).score(metric)
    units = grouped({"x": ["1"] * 8}, GROUPS, list("01001202")).units(metric)
    assert units.clusters.tolist() == [0, 1, 2], "figures a, b and c"
    assert units.tallies["right"].tolist() == [[1.0, 1.0, 1.0]]


def test_leaving_out_a_cluster_equals_scoring_without_it() -> None:
    """The jackknife over tallies reduced by group is that over the answers themselves."""
    rng = np.random.default_rng(5)
    texts = [str(v) for v in rng.integers(0, 2, 8)]
    clusters = list("01001202")
    metric = Metric("all", mean_of("right"), group="figure")
    full_groups = grouped({"x": texts}, GROUPS, clusters)
    units = full_groups.units(metric)
    for number in range(3):
        keep = [i for i in range(8) if clusters[i] != str(number)]
        reduced_groups = grouped(
            {"x": [texts[i] for i in keep]}, [GROUPS[i] for i in keep], [clusters[i] for i in keep]
        )
        left = {
            key: values[0][units.clusters != number].sum() for key, values in units.tallies.items()
        }
        assert float(metric(left)) == float(reduced_groups.score(metric)[0])


def test_nobody_scored_gives_no_number() -> None:
    assert np.isnan(matrix({"a": [None] * 4}).score(BY_NAME["accuracy"])).all()


def test_administrations_are_aligned_by_name() -> None:
    left = matrix({"a": ["no"] * 4, "b": ["yes"] * 4})
    right = matrix({"b": ["yes"] * 3, "c": ["no"] * 3, "a": ["no"] * 3}, n=3)
    first, second = align(left, right)
    assert first.respondents == second.respondents == ("a", "b")
    assert [i.id for i in first.items] == [i.id for i in second.items] == ["q0", "q1", "q2"]
    assert first.score(BY_NAME["accuracy"]).tolist() == second.score(BY_NAME["accuracy"]).tolist()
    # the same items, and the respondents in another order
    turned = align(left, matrix({"b": ["yes"] * 4, "a": ["no"] * 4}))[1]
    assert turned.respondents == ("a", "b")
    with pytest.raises(DesignError, match="share no respondent"):
        align(left, matrix({"z": ["no"] * 4}))


def test_a_mean_of_sums() -> None:
    metric = Metric("length", mean_of("words"))
    assert float(metric({"words": np.array(10.0), "n": np.array(4.0)})) == 2.5


def test_d_prime_is_the_distance_of_two_quantiles() -> None:
    """Hautus (1995): half an answer more in each cell; the quantiles are Python's own."""
    quantile = NormalDist().inv_cdf
    sums = {
        "tp": np.array([9.0, 3, 0, 5, 2]),
        "fn": np.array([1.0, 0, 1, 0, 0]),
        "fp": np.array([2.0, 0, 1, 0, 0]),
        "tn": np.array([4.0, 8, 0, 0, 1]),
    }
    expected = [
        quantile(9.5 / 11) - quantile(2.5 / 7),
        quantile(3.5 / 4) - quantile(0.5 / 9),
        quantile(0.5 / 2) - quantile(1.5 / 2),
        np.nan,
        quantile(2.5 / 3) - quantile(0.5 / 2),
    ]
    assert BY_NAME["d_prime"](sums) == pytest.approx(expected, abs=1e-9, nan_ok=True)
    turned = {"tp": sums["fp"], "fn": sums["tn"], "fp": sums["tp"], "tn": sums["fn"]}
    assert BY_NAME["d_prime"](turned) == pytest.approx(-np.array(expected), abs=1e-9, nan_ok=True)


def test_an_answer_counts_in_one_of_four_places() -> None:
    counted = {
        (prediction, truth): {name for name, n in yes_no_tally(prediction, truth).items() if n}
        for prediction in ("yes", "no")
        for truth in ("yes", "no")
    }
    assert counted == {
        ("yes", "yes"): {"tp"},
        ("yes", "no"): {"fp"},
        ("no", "no"): {"tn"},
        ("no", "yes"): {"fn"},
    }
