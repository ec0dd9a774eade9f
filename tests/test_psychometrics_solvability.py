"""Planted and known leaks are found, clean benchmarks are not accused, pairs do not help one
another.
"""

import json
import math
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from hqm import psychometrics as psy
from hqm.psychometrics.inference.cross_validation import (
    accuracy_gain,
    naive_bayes_predictor,
    split_folds,
)

OBJECTS = (
    "dog cat car bus hat cup tree boat lamp sofa fork bird horse clock phone table chair book ball"
    " kite".split()
)
SCENES = "street kitchen garden beach office park forest station".split()


def clean(seed: int, count: int = 240) -> tuple[list[str], list[str], list[str]]:
    """Questions, labels drawn by lot, pictures of four questions each."""
    rng = np.random.default_rng(seed)
    questions = [
        f"Is there {'an old' if rng.random() < 0.3 else 'a'} {rng.choice(OBJECTS)} in the"
        f" {rng.choice(SCENES)}?"
        for _ in range(count)
    ]
    return (
        questions,
        rng.choice(["yes", "no"], count).tolist(),
        [f"{i // 4}.png" for i in range(count)],
    )


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def pope(data: Path, part: str) -> dict[str, list[str]]:
    rows = [json.loads(line) for line in (data / "pope" / f"coco_pope_{part}.json").open()]
    return {key: [row[key] for row in rows] for key in ("text", "label", "image", "question_id")}


def test_popes_strict_alternation(data: Path) -> None:
    table = pope(data, "adversarial")
    leakage = psy.leakage_cues(
        table["label"],
        questions=table["text"],
        ids=table["question_id"],
        clusters=table["image"],
        rng=rng(),
    )
    cues = {cue.name: cue for cue in leakage.cues}
    for name in (
        "odd or even place",
        "label before",
        "odd or even number",
        "place within the cluster",
    ):
        assert cues[name].strongest.accuracy == 1.0
        assert cues[name].leak
    assert cues["tenth of the file"].leak is False
    assert {cue.strongest.baseline for cue in leakage.cues} == {0.5}


def test_pope_can_be_answered_blind(data: Path) -> None:
    """By hand for "popular": the object alone, learnt on other pictures, is above chance by far."""
    table = pope(data, "popular")
    blind = psy.blind_solvability(table["text"], table["label"], clusters=table["image"], rng=rng())
    assert blind.baseline == 0.5
    assert blind.accuracy.value > 0.8
    assert blind.p < 1e-50
    # an independent look-up of the sentence, one picture left out at a time
    tally: dict[str, dict[str, int]] = {}
    for text, label in zip(table["text"], table["label"], strict=True):
        tally.setdefault(text, {"yes": 0, "no": 0})[label] += 1
    image_tally: dict[tuple[str, str, str], int] = {}
    for key in zip(table["text"], table["label"], table["image"], strict=True):
        image_tally[key] = image_tally.get(key, 0) + 1
    right = 0.0
    for text, label, image in zip(table["text"], table["label"], table["image"], strict=True):
        yes = tally[text]["yes"] - image_tally.get((text, "yes", image), 0)
        no = tally[text]["no"] - image_tally.get((text, "no", image), 0)
        right += 0.5 if yes == no else (yes > no) == (label == "yes")
    assert blind.accuracy.value == pytest.approx(right / 3000, abs=0.03)


def amber(data: Path) -> dict[str, list[str]]:
    notes = {a["id"]: a for a in json.loads((data / "amber" / "annotations.json").read_text())}
    queries = json.loads((data / "amber" / "query" / "query_discriminative.json").read_text())
    kinds = [notes[q["id"]]["type"].removeprefix("discriminative-") for q in queries]
    return {
        "id": [str(q["id"]) for q in queries],
        "text": [q["query"] for q in queries],
        "image": [q["image"] for q in queries],
        "label": [notes[q["id"]]["truth"] for q in queries],
        "type": kinds,
    }


def test_ambers_leaks(data: Path) -> None:
    """Attribute questions: odd id yes, even id no; "Is there one" 758 of 758 yes; existence all no;
    14,216 items.
    """
    table = amber(data)
    arguments = {"clusters": table["image"], "types": table["type"]}
    leakage = psy.leakage_cues(
        table["label"], questions=table["text"], ids=table["id"], rng=rng(), **arguments
    )
    assert leakage.constant_types == (("hallucination", "no"),)
    assert {"odd or even number", "odd or even place", "label before", "first three words"} <= set(
        leakage.leaks
    )
    giveaway = next(g for g in leakage.giveaways if g.phrase == "is there one ...")
    assert (giveaway.type, giveaway.label, giveaway.items, giveaway.share) == (
        "attribute-number",
        "yes",
        758,
        1.0,
    )

    attribute = [i for i, kind in enumerate(table["type"]) if kind.startswith("attribute")]
    attribute_table = {key: [values[i] for i in attribute] for key, values in table.items()}
    attribute_leaks = psy.leakage_cues(
        attribute_table["label"],
        ids=attribute_table["id"],
        clusters=attribute_table["image"],
        types=attribute_table["type"],
        rng=rng(),
    )
    cue = next(cue for cue in attribute_leaks.cues if cue.name == "odd or even number")
    assert (cue.strongest.accuracy, cue.strongest.baseline) == (1.0, pytest.approx(0.5, abs=0.01))

    blind = psy.blind_solvability(table["text"], table["label"], rng=rng(), **arguments)
    types = {kind.name: kind for kind in blind.types}
    assert types["hallucination"].baseline == 1.0
    assert math.isnan(types["hallucination"].q)
    assert types["attribute-state"].baseline == 0.5
    assert types["attribute-state"].accuracy.value > 0.7
    assert types["attribute-number"].accuracy.value > 0.8


def test_clean_benchmarks_are_not_accused() -> None:
    """Forty benchmarks with labels by lot: about one in twenty may be called solvable or
    leaking.
    """
    solved = leaking = phrases = 0
    for seed in range(40):
        questions, labels, images = clean(seed)
        generator = np.random.default_rng(seed)
        blind = psy.blind_solvability(questions, labels, clusters=images, rng=generator)
        solved += blind.p < 0.05
        cues = psy.leakage_cues(
            labels,
            questions=questions,
            ids=list(range(240)),
            clusters=images,
            rng=generator,
            types=None,
        )
        leaking += bool(cues.leaks)
        phrases += bool(cues.giveaways)
        assert 0.3 < blind.accuracy.value < 0.7
    assert solved <= 4
    assert leaking <= 4
    assert phrases <= 3


PLANTED = {
    "odd or even number": lambda i, q, y: (q, 2 * i + (y == "yes")),
    "spare spaces": lambda i, q, y: (q + " " if y == "yes" else q, i * 7),
    "punctuation": lambda i, q, y: (q if y == "yes" else q.rstrip("?"), i * 7),
    "negation": lambda i, q, y: (q.replace("Is", "Isn't") if y == "yes" else q, i * 7),
    "capital letter": lambda i, q, y: (q if y == "yes" else q[0].lower() + q[1:], i * 7),
    "digits and number words": lambda i, q, y: (
        q.replace(" a ", " one ") if y == "yes" else q,
        i * 7,
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_leaks_are_found(name: str) -> None:
    questions, labels, images = clean(77)
    changed = [
        PLANTED[name](i, q, y) for i, (q, y) in enumerate(zip(questions, labels, strict=True))
    ]
    leakage = psy.leakage_cues(
        labels,
        questions=[q for q, _ in changed],
        ids=[n for _, n in changed],
        clusters=images,
        rng=rng(),
    )
    cue = next(cue for cue in leakage.cues if cue.name == name)
    assert cue.leak
    assert cue.strongest.accuracy > (0.75 if name.startswith("digits") else 0.99)


def test_a_word_that_gives_the_label_away_is_solved_and_named() -> None:
    questions, labels, images = clean(78)
    questions = [
        q.replace("in the", "near the" if y == "yes" else "in the")
        for q, y in zip(questions, labels, strict=True)
    ]
    blind = psy.blind_solvability(questions, labels, clusters=images, rng=rng())
    assert blind.accuracy.value > 0.97
    assert blind.p < 1e-10
    giveaways = psy.leakage_cues(labels, questions=questions, clusters=images, rng=rng()).giveaways
    assert {(g.phrase, g.label) for g in giveaways} >= {("near", "yes"), ("in", "no")}


def test_twins_do_not_leak_through_the_folds() -> None:
    """Each picture has a word of its own and one label: solvable only if a picture's twin may be
    learnt.
    """
    generator = np.random.default_rng(5)
    labels = np.repeat(generator.choice(["yes", "no"], 100), 2).tolist()
    questions = [f"Is thing{i // 2:03d}x there?" for i in range(200)]
    images = [i // 2 for i in range(200)]
    clustered = psy.blind_solvability(questions, labels, clusters=images, rng=rng())
    mixed = psy.blind_solvability(questions, labels, rng=rng())
    assert mixed.accuracy.value > 0.8
    assert clustered.accuracy.value < 0.65
    assert clustered.p > 0.05


def test_more_than_two_labels_and_types() -> None:
    generator = np.random.default_rng(6)
    labels = generator.choice(["red", "blue", "green"], 300).tolist()
    questions = [
        f"What colour is the {'rose' if y == 'red' else generator.choice(OBJECTS)}?" for y in labels
    ]
    blind = psy.blind_solvability(questions, labels, types=["colour"] * 300, rng=rng())
    assert blind.baseline < 0.45
    assert blind.accuracy.value > 0.55
    assert blind.types[0].labels == 3


@given(st.lists(st.sampled_from(["yes", "no"]), min_size=20, max_size=60), st.integers(0, 5))
@settings(deadline=None, max_examples=30)
def test_the_prediction_over_types_against_a_loop(labels: list[str], seed: int) -> None:
    """log n(type, k) + log p(level | k), the level counted in the blocks before."""
    generator = np.random.default_rng(seed)
    level, block = (generator.integers(0, 3, len(labels)) for _ in range(2))
    kinds = generator.choice(["a", "b"], len(labels)).tolist()
    items = split_folds(labels, None, kinds, generator)
    hits = naive_bayes_predictor(items, level)(block)
    for i, label in enumerate(labels):
        before = [j for j in range(len(labels)) if block[j] < block[i]]
        score = {}
        for k in items.labels:
            of_type = sum(a == k and b == kinds[i] for a, b in zip(labels, kinds, strict=True))
            score[k] = math.log(of_type + 0.5)
            if any(level[j] == level[i] for j in before):
                of_label = [j for j in before if labels[j] == k]
                n_equal = sum(level[j] == level[i] for j in of_label)
                score[k] += math.log((n_equal + 0.5) / (len(of_label) + 0.5 * (level.max() + 1)))
        first, *lower_scores = sorted(score.values(), reverse=True)
        if not lower_scores or first - lower_scores[0] > 1e-9:
            assert hits[i] == (score[label] == first)


def types_and_labels(
    generator: np.random.Generator, count: int = 400
) -> tuple[list[str], list[str]]:
    """Twenty types of twenty items in the order of the file, half of each answered yes."""
    kinds = [f"type{i % 20}" for i in range(count)]
    return kinds, generator.permutation(["yes", "no"] * (count // 2)).tolist()


def test_a_file_sorted_by_its_keys_leaks_however_many_types_it_has() -> None:
    """Three of four keys follow from the half of the file; no type of 20 items shows it."""
    generator = rng()
    kinds, _ = types_and_labels(generator)
    halves = np.arange(400) < 200
    hinted = np.where(generator.random(400) < 0.75, halves, ~halves)
    labels = np.where(hinted, "yes", "no").tolist()
    leakage = psy.leakage_cues(labels, types=kinds, rng=rng())
    assert "tenth of the file" in leakage.leaks
    assert {stratum.name for stratum in leakage.strata if stratum.shown} == {"all items"}


def test_the_verdict_follows_the_adjusted_p() -> None:
    """Leaks of every strength, in types and parts: shown is p < .05, and then the low end is above
    0.
    """
    verdicts = []
    for seed in range(30):
        generator = np.random.default_rng(seed)
        kinds, labels = types_and_labels(generator)
        hinted = generator.random(400) < seed / 40
        questions = [
            "Is it there?" if yes == "yes" and hint else "Is it here?"
            for yes, hint in zip(labels, hinted, strict=True)
        ]
        kinds = [kind[:5] for kind in kinds]
        leakage = psy.leakage_cues(labels, questions=questions, types=kinds, rng=generator)
        verdicts += [(s.shown, s.p < 0.05, s.low > 0) for s in leakage.strata if s.status == "ok"]
        for cue in leakage.cues:
            assert cue.leak == (cue.strongest.p < 0.05)
    assert all(is_leak == small == is_positive for is_leak, small, is_positive in verdicts)
    assert 20 < sum(is_leak for is_leak, _, _ in verdicts) < len(verdicts) / 2


def test_the_interval_of_the_accuracy_is_wilsons() -> None:
    questions, labels, _ = clean(79)
    blind = psy.blind_solvability(questions, labels, rng=rng())
    k = round(blind.accuracy.value * 240)
    low, high = proportion_confint(k * 239 / 240, 239, method="wilson")
    assert (blind.accuracy.low, blind.accuracy.high) == pytest.approx((low, high), abs=1e-6)


def test_the_clustered_test_against_a_one_sample_t_test() -> None:
    from scipy import stats

    generator = np.random.default_rng(8)
    a, b = generator.integers(0, 2, 120).astype(float), generator.integers(0, 2, 120).astype(float)
    cluster = np.repeat(np.arange(40), 3)
    gain, p = accuracy_gain(a, b, cluster, 0.95)
    rival = stats.ttest_1samp(np.bincount(cluster, a - b), 0, alternative="greater")
    assert p == pytest.approx(rival.pvalue, abs=1e-9)
    assert gain.value == pytest.approx((a - b).mean())


def test_the_seed_decides() -> None:
    questions, labels, images = clean(80)
    first, second = (
        psy.blind_solvability(questions, labels, clusters=images, rng=rng()) for _ in range(2)
    )
    assert repr(first) == repr(second)  # NaN is not equal to itself


def test_what_cannot_be_told_says_why() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        short = psy.blind_solvability(["Is it?"] * 3, ["yes", "no", "no"], rng=rng())
        assert short.status == "insufficient"
        assert psy.blind_solvability([], [], rng=rng()).status == "insufficient"
        assert psy.leakage_cues([], rng=rng()).status == "insufficient"
        blind = psy.blind_solvability(["Is it?"] * 30, ["yes"] * 30, rng=rng())
        assert blind.status == "degenerate"
        assert math.isnan(blind.accuracy.value)
        kinds = ["a"] * 15 + ["b"] * 15
        fixed = psy.blind_solvability(
            ["Is it?"] * 30, ["yes"] * 15 + ["no"] * 15, types=kinds, rng=rng()
        )
        assert fixed.status == "not_informative"
        cues = psy.leakage_cues(["yes"] * 15 + ["no"] * 15, types=kinds, rng=rng())
        assert cues.status == "not_informative"
        assert cues.constant_types == (("a", "yes"), ("b", "no"))
        two_clusters = psy.leakage_cues(["yes", "no"] * 20, clusters=[0, 1] * 20, rng=rng())
        assert two_clusters.status == "insufficient"
        assert psy.blind_solvability([""] * 30, ["yes", "no"] * 15, rng=rng()).status == "ok"
        lonely = psy.blind_solvability(
            ["Is it?"] * 41, ["yes", "no"] * 20 + ["yes"], types=["a"] * 40 + ["b"], rng=rng()
        )
        assert lonely.types[1].gain.status == "insufficient"
    for wrong in (
        lambda: psy.blind_solvability(["a"], [], rng=rng()),
        lambda: psy.leakage_cues(["a"], questions=[], rng=rng()),
        lambda: psy.leakage_cues(["a"], types=[], rng=rng()),
        lambda: psy.blind_solvability(["a"], ["b"], folds=1, rng=rng()),
    ):
        with pytest.raises(ValueError, match="labels|folds"):
            wrong()
