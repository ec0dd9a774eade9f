"""What is learnt from earlier blocks alone, and what two answers to opposite questions say, by loops."""

import math
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from hqm import psychometrics as psy
from hqm.psychometrics.inference.cross_validation import (
    Questions,
    accuracy,
    accuracy_gain,
    compact_codes,
    forward_predictor,
    majority_hits,
    naive_bayes_predictor,
    split_folds,
)
from hqm.psychometrics.items.guessing import label_candidates, make_guesser
from hqm.psychometrics.items.solvability import (
    LengthCue,
    Solvability,
    _by_length,
    _threshold,
    unshared_word_counts,
)


def world() -> tuple[list[str], list[str], np.ndarray, np.ndarray]:
    """Labels, kinds, levels of a cue, and the block of each of 70 items."""
    rng = np.random.default_rng(1)
    labels = rng.choice(["yes", "no", "maybe"], 70, p=[0.5, 0.3, 0.2]).tolist()
    kinds = [str(k) for k in rng.integers(0, 3, 70)]
    return labels, kinds, rng.integers(0, 4, 70), rng.integers(0, 6, 70)


def test_the_commonest_label_of_a_level_in_earlier_blocks() -> None:
    labels, kinds, level, block = world()
    items = split_folds(labels, None, kinds, np.random.default_rng(0))
    hits = forward_predictor(items, level)(block)
    order = list(dict.fromkeys(labels))
    for i in range(70):
        earlier_counts = Counter(
            labels[j]
            for j in range(70)
            if kinds[j] == kinds[i] and level[j] == level[i] and block[j] < block[i]
        )
        total_counts = Counter(
            label for label, kind in zip(labels, kinds, strict=True) if kind == kinds[i]
        )
        best = max(order, key=lambda label: (earlier_counts[label], total_counts[label]))
        assert hits[i] == (best == labels[i])
    first = majority_hits(items)
    for i in range(70):
        total_counts = Counter(
            label for label, kind in zip(labels, kinds, strict=True) if kind == kinds[i]
        )
        assert first[i] == (max(order, key=lambda label: total_counts[label]) == labels[i])


def test_what_a_level_says_in_any_kind_is_added_to_the_kind() -> None:
    labels, kinds, level, block = world()
    items = split_folds(labels, None, kinds, np.random.default_rng(0))
    hits = naive_bayes_predictor(items, level)(block)
    order = list(dict.fromkeys(labels))
    for i in range(70):
        before = [j for j in range(70) if block[j] < block[i]]
        logs = []
        for label in order:
            kind = sum(a == label and k == kinds[i] for a, k in zip(labels, kinds, strict=True))
            log = math.log(kind + 0.5)
            if any(level[j] == level[i] for j in before):
                same_label = [j for j in before if labels[j] == label]
                n_same_level = sum(level[j] == level[i] for j in same_label)
                log += math.log((n_same_level + 0.5) / (len(same_label) + 0.5 * 4))
            logs.append(log)
        assert hits[i] == (order[int(np.argmax(logs))] == labels[i])


def test_questions_as_numbers() -> None:
    questions = Questions.parse(["Is it red?", "red", "", "is it", "Is it red?"])
    names = [*questions.vocabulary, "-"]
    assert [names[i] for i in questions.word_at(0)] == ["is", "red", "-", "is"]
    assert [names[i] for i in questions.word_at(1)] == ["it", "-", "-", "it"]
    assert [names[i] for i in questions.word_at(-1)] == ["red", "red", "-", "it"]
    assert [names[i] for i in questions.word_at(-3)] == ["is", "-", "-", "-"]
    assert questions.lengths.tolist() == [3, 1, 0, 2]
    assert questions.text.tolist() == [0, 1, 2, 3, 0]
    two = questions.prefix_codes(2).tolist()
    assert two[0] == two[3] != two[1] != two[2]
    assert len(set(questions.prefix_codes(3).tolist())) == 4
    red = questions.word_mask("red".__eq__)
    assert questions.contains_any(red).tolist() == [True, True, False, False]
    short = questions.word_mask(lambda word: word in ("it", "red"))
    assert [names[i] for i in questions.first_match(short)] == ["it", "red", "-", "it"]
    assert [len(owner) for owner, _, _ in Questions.parse([]).word_features(1)] == [0, 0]
    codes, count = compact_codes(np.array([7, 2, 7, 2**25]))
    assert (codes.tolist(), count) == ([1, 0, 1, 2], 3)
    assert compact_codes(np.zeros(0, dtype=np.int64))[1] == 0


def test_clusters_are_dealt_whole_into_folds_of_one_size() -> None:
    labels, kinds, _, _ = world()
    clusters = [i // 3 for i in range(70)]
    items = split_folds(labels, clusters, [None, *kinds[1:]], np.random.default_rng(3), 5)
    folds: dict[int, set[int]] = {}
    for cluster, fold in zip(clusters, items.fold.tolist(), strict=True):
        folds.setdefault(cluster, set()).add(fold)
    assert all(len(item_folds) == 1 for item_folds in folds.values())
    sizes = Counter(next(iter(item_folds)) for item_folds in folds.values())
    assert sorted(sizes.values()) == [4, 5, 5, 5, 5]
    assert items.kinds[0] == "untyped"
    assert items.labels == tuple(dict.fromkeys(labels))
    assert split_folds(["a", "b"], None, None, np.random.default_rng(0)).folds == 2
    table = items.table()
    assert table.sum() == 70
    assert items.table(items.fold == 0).sum() == (items.fold == 0).sum()
    for column in ({"clusters": [1]}, {"types": ["a"]}):
        with pytest.raises(ValueError, match="70 labels"):
            split_folds(
                labels, column.get("clusters"), column.get("types"), np.random.default_rng(0)
            )
    with pytest.raises(ValueError, match="2 folds"):
        split_folds(labels, None, None, np.random.default_rng(0), 1)


def test_a_gain_is_tested_over_clusters() -> None:
    rng = np.random.default_rng(4)
    hits, base = (rng.random(60) < 0.7).astype(float), (rng.random(60) < 0.5).astype(float)
    cluster = np.arange(60) // 4
    gain, p = accuracy_gain(hits, base, cluster, 0.9)
    differences = hits - base
    sums = [differences[cluster == c].sum() - 4 * differences.mean() for c in range(15)]
    error = math.sqrt(15 / 14 * sum(s * s for s in sums)) / 60
    half = stats.t.ppf(0.95, 14) * error
    assert (gain.value, gain.low, gain.high, gain.se) == pytest.approx(
        (differences.mean(), differences.mean() - half, differences.mean() + half, error)
    )
    assert p == pytest.approx(stats.t.sf(differences.mean() / error, 14))
    sure, p_value = accuracy_gain(np.ones(6), np.zeros(6), np.arange(6) // 2, 0.95)
    assert (sure.low, sure.high, p_value) == (1.0, 1.0, 2.0**-3)
    assert accuracy_gain(np.zeros(6), np.ones(6), np.arange(6) // 2, 0.95)[1] == 1.0
    no_gain, p = accuracy_gain(np.ones(3), np.zeros(3), np.zeros(3, dtype=int), 0.95)
    assert no_gain.status == "insufficient"
    assert math.isnan(p)


def test_opposite_questions_by_loops() -> None:
    rng = np.random.default_rng(5)
    yes = rng.integers(0, 2, (2, 5, 24)).astype(float)
    yes[rng.random(yes.shape) < 0.1] = np.nan
    yes[:, 4] = np.nan
    labels = np.arange(24) // 2
    lean = psy.acquiescence(yes[0], yes[1], labels, level=0.9)
    pairs = psy.pair_coherence(yes[0], yes[1], labels, level=0.9)
    z = stats.norm.ppf(0.95)
    leans, shares = [], []
    for m in range(4):
        scored = np.isfinite(yes[0, m]) & np.isfinite(yes[1, m])
        n = scored.sum()
        for result, values, expected_values in (
            (lean.respondents[m], (yes[0, m] + yes[1, m]) / 2 - 0.5, leans),
            (pairs.coherent[m], (yes[0, m] != yes[1, m]).astype(float), shares),
        ):
            mean = values[scored].mean()
            clusters = [scored & (labels == c) for c in range(12) if (scored & (labels == c)).any()]
            square = sum((values[indices] - mean).sum() ** 2 for indices in clusters)
            error = math.sqrt(len(clusters) / (len(clusters) - 1) * square) / n
            assert result.fixed is not None
            assert (result.value, result.fixed.low, result.fixed.high, result.se) == pytest.approx(
                (mean, mean - z * error, mean + z * error, error)
            )
            expected_values.append(mean)
        a, b = yes[0, m][scored].mean(), yes[1, m][scored].mean()
        chance = a * (1 - b) + (1 - a) * b
        assert pairs.chance[m] == pytest.approx(chance)
        assert pairs.corrected[m] == pytest.approx((shares[-1] - chance) / (1 - chance))
    assert lean.respondents[4].status == "insufficient"
    assert math.isnan(pairs.chance[4])
    for mean, values in ((lean.mean, leans), (pairs.mean, shares)):
        half = stats.t.ppf(0.95, 3) * np.std(values, ddof=1) / 2
        assert (mean.value, mean.low, mean.high, mean.n) == pytest.approx(
            (np.mean(values), np.mean(values) - half, np.mean(values) + half, 4)
        )
    assert lean.deviation == pytest.approx(np.std(leans, ddof=1))
    rates = psy.acquiescence([0.7, np.nan, 0.2], [0.6, 0.5, 0.4])
    assert rates.respondents[0].value == pytest.approx(0.15)
    assert (rates.respondents[1].status, rates.mean.n) == ("insufficient", 2)
    for wrong in (-0.1, 1.1):
        assert psy.acquiescence([wrong, 0.5], [0.5, 0.5]).mean.status == "not_applicable"
    assert psy.acquiescence([1.0, 0.0], [0.0, 1.0]).mean.status == "ok"
    single = psy.acquiescence([0.7], [0.6])
    assert (single.mean.value, single.mean.n) == (pytest.approx(0.15), 1)
    assert math.isnan(single.mean.low)
    assert psy.pair_coherence([[0.5]], [[1]]).mean.status == "not_applicable"
    always = psy.pair_coherence([[1, 1]], [[0, 0]])
    assert (always.chance[0], always.coherent[0].value) == (1.0, 1.0)
    assert math.isnan(always.corrected[0])
    assert always.coherent[0].fixed is None


def test_every_type_is_answered_blind_by_itself() -> None:
    """From which items are predicted in their folds: Wilson's interval, the gain and its test, and
    q over the types that have two labels.
    """
    rng = np.random.default_rng(6)
    kinds = np.array(["a"] * 30 + ["b"] * 25 + ["c"] * 8)
    texts = [f"is it a {rng.choice(['dog', 'cat', 'boat'])}" for _ in kinds]
    answers = ["yes" if ("dog" in t) ^ (rng.random() < 0.2) else "no" for t in texts]
    answers[55:] = ["no"] * 8
    clusters = [i // 2 for i in range(63)]
    study = psy.blind_solvability(
        texts,
        answers,
        rng=np.random.default_rng(1),
        clusters=clusters,
        types=kinds.tolist(),
        folds=4,
        level=0.9,
    )
    items = split_folds(answers, clusters, kinds.tolist(), np.random.default_rng(1), 4)
    guesser = make_guesser(label_candidates(answers), Questions.parse(texts), [items.kind])
    hits = guesser.predict(items.fold, forward=False)
    assert study.features == guesser.n_features
    truth, base = np.array(answers), np.zeros(63)
    for kind in "abc":
        of_kind = kinds == kind
        commonest = Counter(truth[of_kind].tolist()).most_common(1)[0][0]
        base[of_kind] = truth[of_kind] == commonest
    p = []
    for blind, kind, labels in zip(study.types, "abc", (2, 2, 1), strict=True):
        of_kind = kinds == kind
        kind_clusters = np.unique(np.array(clusters)[of_kind], return_inverse=True)[1]
        gain, chance = accuracy_gain(hits[of_kind], base[of_kind], kind_clusters, 0.9)
        share = accuracy(hits[of_kind], kind_clusters, 0.9)
        assert (blind.name, blind.items, blind.labels) == (kind, of_kind.sum(), labels)
        assert repr(blind.accuracy) == repr(share)
        assert repr(blind.gain) == repr(gain)
        assert blind.accuracy.level == blind.gain.level == 0.9
        assert blind.baseline == pytest.approx(base[of_kind].mean())
        assert blind.p == chance
        p.append(chance)
    assert [blind.q for blind in study.types[:2]] == pytest.approx(
        stats.false_discovery_control(p[:2])
    )
    assert math.isnan(study.types[2].q)
    gain, chance = accuracy_gain(hits, base, np.array(clusters), 0.9)
    assert (repr(study.gain), study.p) == (repr(gain), chance)
    assert repr(study.accuracy) == repr(accuracy(hits, np.array(clusters), 0.9))
    assert study.baseline == pytest.approx(base.mean())
    # of all, a, b and c three can be tested, by words and by cues
    assert [(s.name, s.cue) for s in study.strata] == [
        (name, "words") for name in ("all items", "a", "b", "c")
    ]
    assert [s.status for s in study.strata] == ["ok"] * 3 + ["insufficient"]
    for stratum in study.strata[:3]:
        free = stratum.clusters - 1
        error = (stratum.high - stratum.gain) / stats.t.ppf(1 - 0.05 / 6, free)
        assert stratum.p == pytest.approx(min(1.0, 6 * stats.t.sf(stratum.gain / error, free)))


def test_what_cannot_be_answered_blind_says_why() -> None:
    def study(labels: list[str], types: list[str] | None = None) -> Solvability:
        prompts = [f"is it {i}" for i in range(len(labels))]
        return psy.blind_solvability(prompts, labels, rng=np.random.default_rng(0), types=types)

    for result, status, baseline in (
        (study(["yes", "no"] * 9), "insufficient", math.nan),
        (study(["yes"] * 20), "degenerate", 1.0),
        (study(["yes", "no"] * 10, ["a", "b"] * 10), "not_informative", 1.0),
    ):
        assert result.status == result.accuracy.status == result.gain.status == status
        assert result.baseline == pytest.approx(baseline, nan_ok=True)
        assert math.isnan(result.p)
        assert (result.types, result.strata, result.features) == ((), (), 0)
    assert study(["yes"] * 20).reason.endswith("'yes'")
    assert study(["yes", "no"] * 9).accuracy.n == 18


def test_a_threshold_has_the_most_right_labels_the_lowest_of_equals() -> None:
    for label, words, threshold, short in (
        ([0, 0, 1, 1], [1, 2, 4, 5], 2, 0),
        ([1, 1, 0, 0], [1, 2, 4, 5], 2, 1),
        ([0, 1, 0, 1], [3, 3, 3, 3], 0, 0),
        ([0, 0, 0], [2, 5, 3], 5, 0),
        ([0, 1, 1, 0, 0], [1, 1, 2, 7, 8], 2, 1),
        ([1], [0], 0, 1),
        ([], [], 0, 0),
    ):
        result = _threshold(np.array(label, dtype=np.int64), np.array(words, dtype=np.int64))
        best = max(
            (
                sum(
                    (k if n <= candidate else 1 - k) == y for y, n in zip(label, words, strict=True)
                ),
                -k,
                -candidate,
            )
            for k in (0, 1)
            for candidate in range(max(words, default=0) + 1)
        )
        assert result == (threshold, short) == (-best[2], -best[1]), (label, words)


@pytest.mark.parametrize("forward", [True, False])
def test_a_threshold_is_learnt_from_other_turns(forward: bool) -> None:
    rng = np.random.default_rng(7)
    words, turn = rng.integers(1, 9, 50), rng.integers(0, 5, 50)
    labels = np.where((words <= 4) ^ (rng.random(50) < 0.25), "yes", "no").tolist()
    items = split_folds(labels, None, None, np.random.default_rng(0))
    hits = _by_length(items, words, turn, forward=forward)
    for i in range(50):
        training = turn < turn[i] if forward else turn != turn[i]
        threshold, short = _threshold(items.label[training], words[training])
        right = items.label[i] == (short if words[i] <= threshold else 1 - short)
        assert hits[i] == (right and not (forward and turn[i] == 0))


def test_a_rule_of_length_is_learnt_in_types_and_parts() -> None:
    """Each type in all parts, then in each part; of a type with one label the untyped belong to it."""
    rng = np.random.default_rng(8)
    types = ["a"] * 50 + ["b"] * 40 + [None] * 30 + ["c"] * 8
    parts = ["p", "q"] * 60 + ["p"] * 8
    labels = np.where(rng.random(128) < 0.5, "yes", "no")
    labels[50:90], labels[90:120] = "no", "yes"
    lengths = rng.integers(3, 15, 128)
    arguments = {"types": types, "parts": parts, "level": 0.9}
    study = psy.length_cue(lengths, labels.tolist(), rng=np.random.default_rng(1), **arguments)
    kinds, sections = np.array([t or "" for t in types]), np.array(parts)
    expected = []
    for part in ("", "p", "q"):
        in_section = (sections == part) | (part == "")
        for kind in ("a", "b"):
            in_stratum = in_section & ((kinds == kind) | ((kind == "b") & (kinds == "")))
            expected.append((kind, part, in_stratum))
    rules = [(rule.stratum.type, rule.stratum.part, rule.stratum.items) for rule in study.rules]
    assert rules == [(kind, part, in_stratum.sum()) for kind, part, in_stratum in expected]
    for rule, (_, _, in_stratum) in zip(study.rules, expected, strict=True):
        common = Counter(labels[in_stratum].tolist()).most_common(1)[0][1]
        assert rule.baseline == pytest.approx(common / in_stratum.sum())
        assert rule.accuracy.level == pytest.approx(1 - 0.1 / 6)
        assert rule.accuracy.n == in_stratum.sum()
        assert {rule.short_label, rule.long_label} == {"yes", "no"}
        assert rule.stratum.cue == "number of words"
        threshold, short = _threshold(
            (labels[in_stratum] != labels[0]).astype(int), lengths[in_stratum]
        )
        assert (rule.threshold, rule.short_label == labels[0]) == (threshold, short == 0)
    gains = [rule.accuracy.value - rule.baseline for rule in study.rules]
    assert study.strongest is study.rules[int(np.argmax(gains))]
    plain = psy.length_cue(lengths, labels.tolist(), rng=np.random.default_rng(1))
    assert [(r.stratum.type, r.stratum.part, r.accuracy.level) for r in plain.rules] == [
        ("", "", pytest.approx(0.95))
    ]
    single_part = psy.length_cue(
        lengths, labels.tolist(), rng=np.random.default_rng(1), parts=["p"] * 128
    )
    assert [rule.stratum.part for rule in single_part.rules] == [""]


def test_lengths_that_cannot_tell_a_label_say_why() -> None:
    def study(labels: list[str], **options: object) -> LengthCue:
        lengths = [i % 7 for i in range(len(labels))]
        return psy.length_cue(lengths, labels, rng=np.random.default_rng(0), **options)  # type: ignore[arg-type]

    assert study(["a", "b", "c"] * 10).status == "not_applicable"
    assert study(["a", "b", "c"] * 10).reason.endswith("there are 3")
    assert study(["a"] * 30).status == "not_informative"
    assert study(["a", "b"] * 15, types=["x", "y"] * 15).status == "not_informative"
    small_study = study(["a", "b"] * 9)
    assert (small_study.status, small_study.rules) == ("insufficient", ())
    assert small_study.reason.endswith("there are 18 in 18")
    # of forty items none of four types has twenty
    split = study(["a", "b"] * 20, types=[str(i // 10) for i in range(40)])
    assert (split.status, split.reason.endswith("there are 10 in 10")) == ("insufficient", True)
    for options in ({"types": ["x"]}, {"parts": ["x"]}):
        with pytest.raises(ValueError, match="30 labels have 1"):
            study(["a", "b"] * 15, **options)
    with pytest.raises(ValueError, match="2 labels have 1 lengths"):
        psy.length_cue([1], ["a", "b"], rng=np.random.default_rng(0))


def test_words_that_all_texts_share_at_their_ends_are_not_counted() -> None:
    for texts, counts in (
        (["a b c", "a c", "a x y c"], [1, 0, 2]),
        (["a b", "a b"], [0, 0]),
        (["a", "a a"], [0, 1]),
        (["x a", "y a", "a"], [1, 1, 0]),
        (["a - b", "a b"], [0, 0]),
        (["a 1", "a 2"], [1, 1]),
        (["x a b", "y a b"], [1, 1]),
        (["a b x", "a b y"], [1, 1]),
        (["", "a"], [0, 1]),
        (["a b"], [0]),
        ([], []),
    ):
        assert unshared_word_counts(texts) == counts, texts
