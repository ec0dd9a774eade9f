"""What is learnt from earlier blocks alone, and what two answers to opposite questions say, by loops."""

import math
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from hqm import psychometrics as psy
from hqm.psychometrics.cross_validation import (
    Questions,
    deal,
    gain_over,
    learnt_forward,
    learnt_over_kinds,
    majority,
    without_gaps,
)
from hqm.psychometrics.solvability import _by_words


def world() -> tuple[list[str], list[str], np.ndarray, np.ndarray]:
    """Labels, kinds, levels of a cue, and the block of each of 70 items."""
    rng = np.random.default_rng(1)
    labels = rng.choice(["yes", "no", "maybe"], 70, p=[0.5, 0.3, 0.2]).tolist()
    kinds = [str(k) for k in rng.integers(0, 3, 70)]
    return labels, kinds, rng.integers(0, 4, 70), rng.integers(0, 6, 70)


def test_the_commonest_label_of_a_level_in_earlier_blocks() -> None:
    labels, kinds, level, block = world()
    items = deal(labels, None, kinds, np.random.default_rng(0))
    hits = learnt_forward(items, level)(block)
    order = list(dict.fromkeys(labels))
    for i in range(70):
        seen = Counter(
            labels[j]
            for j in range(70)
            if kinds[j] == kinds[i] and level[j] == level[i] and block[j] < block[i]
        )
        whole = Counter(
            label for label, kind in zip(labels, kinds, strict=True) if kind == kinds[i]
        )
        best = max(order, key=lambda label: (seen[label], whole[label]))
        assert hits[i] == (best == labels[i])
    first = majority(items)
    for i in range(70):
        whole = Counter(
            label for label, kind in zip(labels, kinds, strict=True) if kind == kinds[i]
        )
        assert first[i] == (max(order, key=lambda label: whole[label]) == labels[i])


def test_what_a_level_says_in_any_kind_is_added_to_the_kind() -> None:
    labels, kinds, level, block = world()
    items = deal(labels, None, kinds, np.random.default_rng(0))
    hits = learnt_over_kinds(items, level)(block)
    order = list(dict.fromkeys(labels))
    for i in range(70):
        before = [j for j in range(70) if block[j] < block[i]]
        logs = []
        for label in order:
            kind = sum(a == label and k == kinds[i] for a, k in zip(labels, kinds, strict=True))
            log = math.log(kind + 0.5)
            if any(level[j] == level[i] for j in before):
                own = [j for j in before if labels[j] == label]
                here = sum(level[j] == level[i] for j in own)
                log += math.log((here + 0.5) / (len(own) + 0.5 * 4))
            logs.append(log)
        assert hits[i] == (order[int(np.argmax(logs))] == labels[i])


def test_words_are_learnt_from_earlier_blocks() -> None:
    rng = np.random.default_rng(2)
    things = ["dog", "cat", "boat"]
    texts = [f"is it a {things[k]}" for k in rng.integers(0, 3, 48)]
    answers = ["yes" if ("dog" in t) ^ (rng.random() < 0.25) else "no" for t in texts]
    kinds, block = [str(i % 2) for i in range(48)], rng.integers(0, 4, 48)
    items = deal(answers, None, kinds, np.random.default_rng(0))
    item, feature, _ = Questions.of(texts).features()
    hits = _by_words(items, item, feature, forward=True)(block)
    of = [set(feature[item == i].tolist()) for i in range(48)]
    for i in range(48):
        kind = [j for j in range(48) if kinds[j] == kinds[i]]
        width = len(set().union(*(of[j] for j in kind)))
        before = [j for j in kind if block[j] < block[i]]
        if block[i] == 0 or not before:
            assert hits[i] == 0 or block[i] > 0
            continue
        logs = {}
        for label in dict.fromkeys(answers):
            own = [of[j] for j in before if answers[j] == label]
            if own:
                total = sum(map(len, own))
                logs[label] = math.log(len(own) / len(before)) + sum(
                    math.log((sum(f in some for some in own) + 1) / (total + width)) for f in of[i]
                )
        assert hits[i] == (max(logs, key=lambda label: logs[label]) == answers[i])


def test_questions_as_numbers() -> None:
    asked = Questions.of(["Is it red?", "red", "", "is it", "Is it red?"])
    names = [*asked.vocabulary, "-"]
    assert [names[i] for i in asked.at(0)] == ["is", "red", "-", "is"]
    assert [names[i] for i in asked.at(1)] == ["it", "-", "-", "it"]
    assert [names[i] for i in asked.at(-1)] == ["red", "red", "-", "it"]
    assert [names[i] for i in asked.at(-3)] == ["is", "-", "-", "-"]
    assert asked.lengths.tolist() == [3, 1, 0, 2]
    assert asked.text.tolist() == [0, 1, 2, 3, 0]
    two = asked.beginning(2).tolist()
    assert two[0] == two[3] != two[1] != two[2]
    assert len(set(asked.beginning(3).tolist())) == 4
    red = asked.which("red".__eq__)
    assert asked.having(red).tolist() == [True, True, False, False]
    short = asked.which(lambda word: word in ("it", "red"))
    assert [names[i] for i in asked.first_of(short)] == ["it", "red", "-", "it"]
    item, feature, size = Questions.of([]).features()
    assert (len(item), len(feature), size) == (0, 0, 0)
    codes, count = without_gaps(np.array([7, 2, 7, 2**25]))
    assert (codes.tolist(), count) == ([1, 0, 1, 2], 3)
    assert without_gaps(np.zeros(0, dtype=np.int64))[1] == 0


def test_clusters_are_dealt_whole_into_folds_of_one_size() -> None:
    labels, kinds, _, _ = world()
    clusters = [i // 3 for i in range(70)]
    items = deal(labels, clusters, [None, *kinds[1:]], np.random.default_rng(3), 5)
    folds: dict[int, set[int]] = {}
    for cluster, fold in zip(clusters, items.fold.tolist(), strict=True):
        folds.setdefault(cluster, set()).add(fold)
    assert all(len(of) == 1 for of in folds.values())
    sizes = Counter(next(iter(of)) for of in folds.values())
    assert sorted(sizes.values()) == [4, 5, 5, 5, 5]
    assert items.kinds[0] == "untyped"
    assert items.labels == tuple(dict.fromkeys(labels))
    assert deal(["a", "b"], None, None, np.random.default_rng(0)).folds == 2
    table = items.table()
    assert table.sum() == 70
    assert items.table(items.fold == 0).sum() == (items.fold == 0).sum()
    for column in ({"clusters": [1]}, {"types": ["a"]}):
        with pytest.raises(ValueError, match="70 labels"):
            deal(labels, column.get("clusters"), column.get("types"), np.random.default_rng(0))
    with pytest.raises(ValueError, match="2 folds"):
        deal(labels, None, None, np.random.default_rng(0), 1)


def test_a_gain_is_tested_over_clusters() -> None:
    rng = np.random.default_rng(4)
    hits, base = (rng.random(60) < 0.7).astype(float), (rng.random(60) < 0.5).astype(float)
    cluster = np.arange(60) // 4
    gain, p = gain_over(hits, base, cluster, 0.9)
    apart = hits - base
    sums = [apart[cluster == c].sum() - 4 * apart.mean() for c in range(15)]
    error = math.sqrt(15 / 14 * sum(s * s for s in sums)) / 60
    half = stats.t.ppf(0.95, 14) * error
    assert (gain.value, gain.low, gain.high, gain.se) == pytest.approx(
        (apart.mean(), apart.mean() - half, apart.mean() + half, error)
    )
    assert p == pytest.approx(stats.t.sf(apart.mean() / error, 14))
    sure, least = gain_over(np.ones(6), np.zeros(6), np.arange(6) // 2, 0.95)
    assert (sure.low, sure.high, least) == (1.0, 1.0, 2.0**-3)
    assert gain_over(np.zeros(6), np.ones(6), np.arange(6) // 2, 0.95)[1] == 1.0
    none, p = gain_over(np.ones(3), np.zeros(3), np.zeros(3, dtype=int), 0.95)
    assert none.status == "insufficient"
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
        both = np.isfinite(yes[0, m]) & np.isfinite(yes[1, m])
        n = both.sum()
        for result, values, kept in (
            (lean.respondents[m], (yes[0, m] + yes[1, m]) / 2 - 0.5, leans),
            (pairs.coherent[m], (yes[0, m] != yes[1, m]).astype(float), shares),
        ):
            mean = values[both].mean()
            clusters = [both & (labels == c) for c in range(12) if (both & (labels == c)).any()]
            square = sum((values[of] - mean).sum() ** 2 for of in clusters)
            error = math.sqrt(len(clusters) / (len(clusters) - 1) * square) / n
            assert result.fixed is not None
            assert (result.value, result.fixed.low, result.fixed.high, result.se) == pytest.approx(
                (mean, mean - z * error, mean + z * error, error)
            )
            kept.append(mean)
        a, b = yes[0, m][both].mean(), yes[1, m][both].mean()
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
