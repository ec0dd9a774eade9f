"""Questions as numbers, against plain rewritings with sets and counters of strings."""

import itertools
import re
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import hqm.psychometrics as psy
from hqm.psychometrics.inference import cross_validation as numbered
from hqm.psychometrics.inference.distributions import binomial_above
from hqm.psychometrics.inference.significance import benjamini_hochberg
from hqm.psychometrics.items import cues, leaks

TEXTS = st.lists(st.one_of(st.text("abc d'é中😀", max_size=12), st.text(max_size=8)), max_size=12)


@given(TEXTS)
@settings(deadline=None, max_examples=60)
def test_every_text_has_its_words_and_pairs_of_words(texts: list[str]) -> None:
    questions = numbered.Questions.parse(texts)
    split = [re.findall(r"[\w']+", text.lower()) for text in questions.distinct]
    pairs = [[f"{a} {b}" for a, b in pairwise(text_words)] for text_words in split]
    for (owner, number, count), expected in zip(
        questions.word_features(min_items=1), (split, pairs), strict=True
    ):
        if len(set(itertools.chain.from_iterable(expected))) < 2:
            assert len(owner) == 0
            continue
        for text, features in enumerate(expected):
            assert sorted(count[owner == text]) == sorted(Counter(features).values())
        # as many texts have each number as have each word
        n_texts = Counter(feature for features in expected for feature in set(features))
        assert sorted(Counter(number.tolist()).values()) == sorted(n_texts.values())
        assert count.sum() == sum(map(len, expected))


def test_rare_words_are_left_out_before_they_are_counted() -> None:
    texts = ["a dog", "a cat", "a dog", "big big big"]
    questions = numbered.Questions.parse(texts)
    (words, pairs) = questions.word_features(min_items=2)
    names = [questions.vocabulary[n] for n in words[1]]
    assert sorted(zip(words[0].tolist(), names, words[2].tolist(), strict=True)) == [
        (0, "a", 1),
        (0, "dog", 1),
        (1, "a", 1),
        (2, "big", 3),
    ]
    assert pairs[0].tolist() == [0, 2]
    assert pairs[2].tolist() == [1, 2]


@given(TEXTS)
@settings(deadline=None, max_examples=60)
def test_places_and_beginnings_are_those_of_the_words(texts: list[str]) -> None:
    questions = numbered.Questions.parse(texts)
    split = [re.findall(r"[\w']+", text.lower()) for text in questions.distinct]
    for position in (0, 1, -1):
        expected = [
            words[position] if len(words) > (position if position >= 0 else -position - 1) else None
            for words in split
        ]
        assert [
            None if n < 0 else questions.vocabulary[n] for n in questions.word_at(position).tolist()
        ] == expected
    for count in (2, 3):
        codes = questions.prefix_codes(count).tolist()
        for i, j in pairwise(range(len(split))):
            assert (codes[i] == codes[j]) == (split[i][:count] == split[j][:count])


def test_giveaways_are_those_that_counters_find() -> None:
    rng = np.random.default_rng(4)
    labels = rng.choice(["yes", "no", "maybe"], 900, p=[0.4, 0.4, 0.2]).tolist()
    cue_words = {"yes": ["boat", "sea"], "no": ["car", "boat"], "maybe": ["fog", "car"]}
    questions = [
        f"Is a {rng.choice(cue_words[y])} {rng.choice(['by', 'in'])} it {rng.integers(9)}?"
        for y in labels
    ]
    types = rng.choice(["x", "y"], 900).tolist()
    giveaways = psy.leakage_cues(
        labels, questions=questions, types=types, rng=np.random.default_rng(0)
    ).giveaways
    tallies: dict[tuple[str, str], Counter[str]] = {}
    for text, kind, label in zip(questions, types, labels, strict=True):
        split = re.findall(r"[\w']+", text.lower())
        for phrase in {*split, *(" ".join(split[:k]) + " ..." for k in (2, 3) if len(split) > k)}:
            tallies.setdefault((kind, phrase), Counter())[label] += 1
    tried = [
        (key, *tally.most_common(1)[0], tally.total())
        for key, tally in tallies.items()
        if tally.total() >= 20
    ]
    of_type = {
        kind: Counter(y for y, t in zip(labels, types, strict=True) if t == kind) for kind in "xy"
    }
    p = [
        min(1.0, 2 * float(binomial_above(k - 1, n, of_type[kind][y] / of_type[kind].total())))
        for (kind, _), y, k, n in tried
    ]
    expected = {
        (phrase, y, kind, n)
        for ((kind, phrase), y, k, n), q in zip(tried, benjamini_hochberg(p), strict=True)
        if q < 0.05 and k / n >= 0.95
    }
    assert {(g.phrase, g.label, g.type, g.items) for g in giveaways} == expected
    assert len(expected) >= 4


def test_codes_are_numbered_in_their_order_with_any_table() -> None:
    for codes in ([5, 2, 5, 9], [0], [3, 3], []):
        array = np.array(codes, dtype=np.int64)
        order = sorted(set(codes))
        expected = [order.index(code) for code in codes], len(order)
        for max_size in (None, 10, 1 << 25):
            ranks, size = numbered.compact_codes(array, max_size)
            assert (ranks.tolist(), size) == expected
        assert numbered.unique_codes(array).tolist() == order
    assert numbered.factorize([None, "a", None, 3]) == (pytest.approx([0, 1, 0, 2]), (None, "a", 3))
    starts, rows = np.array([0, 2, 2, 5]), np.array([2, 0, 1, 2])
    entry, owner = numbered.gather_rows(starts, rows)
    assert entry.tolist() == [2, 3, 4, 0, 1, 2, 3, 4]
    assert owner.tolist() == [0, 0, 0, 1, 1, 3, 3, 3]
    table = numbered.count_table(np.array([0, 5, 5, 3]), 2, 3)
    assert table.tolist() == [[1, 0, 0], [1, 0, 2]]


TEXTS_BY_HAND = [
    "Is it a dog?",
    "is  it an owl ?",
    "Are there two of the 3 dogs?",
    "Isn't it the dog, or none",
    "it",
    "",
    "is it 3 or two dogs?",
    "Is it a dog?",
    "Is it a cat?",
]
LEVELS_BY_HAND = {
    "first word": ["is", "is", "are", "isn't", "it", "", "is", "is", "is"],
    "first two words": [
        "is it",
        "is it",
        "are there",
        "isn't it",
        "it",
        "",
        "is it",
        "is it",
        "is it",
    ],
    "first three words": ["a", "an", "two", "the", "it", "", "3", "a", "a"],
    "last word": ["dog", "owl", "dogs", "none", "it", "", "dogs", "dog", "cat"],
    "articles": ["a", "an", "the", "the", "", "", "", "a", "a"],
    "punctuation": ["?", "?", "?", "',", "", "", "?", "?", "?"],
    "number of words": [4, 4, 7, 6, 1, 0, 6, 4, 4],
    "digits and number words": ["", "", "two", "", "", "", "3", "", ""],
    "negation": [False, False, False, True, False, False, False, False, False],
    "capital letter": [True, False, True, True, False, False, False, True, True],
    "spare spaces": [False, True, False, False, False, False, False, False, False],
}


def test_cues_of_a_question_by_hand() -> None:
    levels = cues.surface_levels(numbered.Questions.parse(TEXTS_BY_HAND), None)
    for name, values in LEVELS_BY_HAND.items():
        level, count = levels.pop(name)
        assert level.tolist() == numbered.factorize(values)[0].tolist(), name
        assert count == len(set(values)), name
    # lengths of 12, 15, 28, 25, 2, 0, 20, 12 and 12 letters: how many tenths of them lie below
    lengths = [len(text) for text in TEXTS_BY_HAND]
    cuts = {float(np.quantile(lengths, k / 10)) for k in range(1, 10)}
    tenths = [sum(cut < length for cut in cuts) for length in lengths]
    level, count = levels.pop("length")
    assert level.tolist() == numbered.factorize(tenths)[0].tolist()
    assert count == len(set(tenths))
    assert levels == {}
    subsets = ["a", "an", "the", "a an", "the y a", "an the", "the an a", "x", "an z a", "a the"]
    level, count = cues.surface_levels(numbered.Questions.parse(subsets), None)["articles"]
    assert level.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 3, 4], "which articles, in any order"
    assert count == 8
    long_texts = [" ".join(["so"] * k) for k in (38, 39, 40, 41, 50)]
    assert cues.surface_levels(numbered.Questions.parse(long_texts), None)["number of words"][
        0
    ].tolist() == [
        0,
        1,
        2,
        2,
        2,
    ]


def test_cues_of_a_number_by_hand() -> None:
    ids = ["img007_a", "img12_a", "x", 3, "b1_20", "b9_7", "9" * 20 + "8", "img12_a"]
    levels = cues.surface_levels(None, ids)
    number = [7, 12, -1, 3, 20, 7, int("9" * 15), 12]
    cuts = {float(np.quantile(number, k / 10)) for k in range(1, 10)}
    for name, values in {
        "letters of the id": ["img_a", "img_a", "x", "", "b_", "b_", "", "img_a"],
        "odd or even number": [1, 0, -1, 1, 0, 1, 0, 0],
        "last digit": [7, 2, -1, 3, 0, 7, 8, 2],
        "tenth of the number": [sum(cut <= n for cut in cuts) for n in number],
    }.items():
        level, count = levels.pop(name)
        assert level.tolist() == numbered.factorize(values)[0].tolist(), name
        assert count == len(set(values)), name
    assert levels == {}
    assert all(len(level) == 0 for level, _ in cues.surface_levels(None, []).values())


def test_places_of_items_by_hand() -> None:
    """Where items stand in the file or in their part, in their cluster, and what came before."""
    labels, parts, clusters = "ynnyynyn", "ppqpqqpq", "aabbaacc"
    items = numbered.split_folds(list(labels), list(clusters), None, np.random.default_rng(0))
    for sections, positions, before in (
        (None, range(8), ["", *labels[:-1]]),
        (list(parts), [0, 1, 0, 2, 1, 2, 3, 3], ["", "y", "", "n", "n", "y", "y", "n"]),
    ):
        levels = cues.position_levels(list(labels), items, sections)
        size = 8 if sections is None else 4
        for name, values in {
            "odd or even place": [i % 2 for i in positions],
            "place within the cluster": [0, 1, 0, 1, 2, 3, 0, 1],
            "tenth of the file": [i * 10 // size for i in positions],
            "label before": before,
        }.items():
            level, count = levels.pop(name)
            assert level.tolist() == numbered.factorize(values)[0].tolist(), name
            assert count == len(set(values)), name
        assert levels == {}
    large = numbered.split_folds(["y"] * 40, ["a"] * 40, None, np.random.default_rng(0))
    level, count = cues.position_levels(["y"] * 40, large)["place within the cluster"]
    assert level.tolist() == [min(i, 30) for i in range(40)]
    assert count == 31


@pytest.mark.parametrize(
    ("items", "others", "named"), [(20, 0, True), (19, 0, False), (20, 1, True), (20, 2, False)]
)
def test_a_phrase_gives_a_label_away_from_twenty_items_and_95_percent(
    items: int, others: int, named: bool
) -> None:
    """Of questions with "boat" all but a few are answered yes, and of the rest half."""
    questions = ["Is it a boat?"] * items + [f"Is it {i}?" for i in range(100)]
    labels = ["no"] * others + ["yes"] * (items - others) + ["yes", "no"] * 50
    study = psy.leakage_cues(labels, questions=questions, rng=np.random.default_rng(0))
    giveaways = {giveaway.phrase: giveaway for giveaway in study.giveaways}
    assert ("boat" in giveaways) == named
    if named:
        boat = giveaways["boat"]
        assert (boat.label, boat.type, boat.items) == ("yes", "all", items)
        assert boat.share == (items - others) / items


@pytest.mark.parametrize(("count", "clusters"), [(20, 5), (19, 5), (20, 4), (40, 40)])
def test_twenty_items_in_five_clusters_are_enough(count: int, clusters: int) -> None:
    cluster = [i % clusters for i in range(count)]
    labels = ["yes", "no"] * (count // 2) + ["yes"] * (count % 2)
    items = numbered.split_folds(labels, cluster, None, np.random.default_rng(0))
    all_items = np.ones(count, dtype=bool)
    is_testable = count >= 20 and clusters >= 5
    for reason in (leaks.sample_size_problem(items), leaks.untestable_reason(items, all_items)):
        assert (reason == "") == is_testable
        assert is_testable or reason.endswith(f"there are {count} in {clusters}")
    lone = numbered.split_folds(
        ["no", *labels[:1] * (count - 1)], cluster, None, np.random.default_rng(0)
    )
    assert (leaks.untestable_reason(lone, all_items) == "") == is_testable, (
        "a single other label can be given away"
    )
    part_mask = np.arange(count) < 19
    assert leaks.untestable_reason(items, part_mask).endswith(
        f"there are 19 in {min(clusters, 19)}"
    )
    view = leaks.View(items, (("", "", all_items), ("", "p", part_mask), ("a", "", all_items)))
    assert leaks.count_tests([view, view]) == (4 if is_testable else 0)
    single = numbered.split_folds(labels, cluster, labels, np.random.default_rng(0))
    assert (
        leaks.untestable_reason(single, all_items)
        if is_testable
        else leaks.sample_size_problem(single)
    )
    assert not is_testable or "one label only" in leaks.untestable_reason(single, all_items)


def test_who_leaks_is_named_with_the_largest_gain_first() -> None:
    def stratum(kind: str, part: str, gain: float, is_significant: bool = True) -> leaks.Stratum:
        return leaks.Stratum(
            kind, part, "c", 9, 9, 0.5, 0.5, gain, 0.0, 1.0, 0.01, is_significant, 0.2
        )

    all_items, part_items = stratum("", "", 0.9), stratum("", "p", 0.2)
    type_items, crossed_items = stratum("a", "", 0.3), stratum("a", "p", 0.5)
    hidden = stratum("b", "", 0.8, is_significant=False)
    assert leaks.leaking_strata([all_items, part_items, type_items, hidden, crossed_items]) == (
        crossed_items,
        type_items,
        part_items,
    )
    assert leaks.leaking_strata([part_items, all_items, hidden]) == (all_items, part_items)
    assert leaks.leaking_strata([hidden]) == ()
    names = [row.name for row in (all_items, part_items, type_items, crossed_items)]
    assert names == ["all items", "p", "a", "a in p"]


def test_what_is_learnt_in_types_and_parts() -> None:
    """A type of a part is learnt by itself, as is a part, and named where it is neither of them."""
    types, parts = list("aabbaab"), ["p", "q", "p", "q", "q", "q", ""]
    items = numbered.split_folds(list("ynynyny"), None, types, np.random.default_rng(0))
    first, crossed = leaks.views(items, parts)
    assert first.items is items
    assert [(k, p, mask.tolist()) for k, p, mask in first.strata] == [
        ("", "", [True] * 7),
        *((kind, "", [t == kind for t in types]) for kind in "ab"),
    ]
    cells = [(t, p) for t, p in zip(types, parts, strict=True)]
    pairs = itertools.combinations(range(7), 2)
    kind = crossed.items.kind
    assert all((kind[i] == kind[j]) == (cells[i] == cells[j]) for i, j in pairs)
    assert len(crossed.items.kinds) == len(set(cells)) == int(kind.max()) + 1
    assert crossed.items.label.tolist() == items.label.tolist()
    assert crossed.items.folds == items.folds
    masks = {(k, p): mask.tolist() for k, p, mask in crossed.strata}
    assert masks == {
        **{("", p or "no part"): [item_part == p for item_part in parts] for p in ("p", "q", "")},
        # the one item without a part is that part
        **{
            (t, p): [cell == (t, p) for cell in cells]
            for t, p in (("a", "p"), ("a", "q"), ("b", "p"), ("b", "q"))
        },
    }
    assert len(leaks.views(items, None)) == len(leaks.views(items, ["p"] * 7)) == 1
    level, block = np.array([0, 1, 1, 0, 1, 0, 0]), np.array([0, 1, 2, 0, 1, 2, 1])
    for view, n_joint in ((first, 1), (crossed, 0)):
        predictors = list(leaks._predictors(view, level))
        assert [len(subview.strata) for subview, _ in predictors] == [1] * n_joint + [
            len(view.strata) - n_joint
        ]
        assert [s for subview, _ in predictors for s in subview.strata] == list(view.strata)
        rules = [numbered.naive_bayes_predictor] * n_joint + [numbered.forward_predictor]
        for (_, predict), rule in zip(predictors, rules, strict=True):
            assert predict(block).tolist() == rule(view.items, level)(block).tolist()
    single_views = leaks.views(
        numbered.split_folds(list("ynynyny"), None, None, np.random.default_rng(0)), None
    )
    assert [len(subview.strata) for subview, _ in leaks._predictors(single_views[0], level)] == [1]


@pytest.mark.parametrize("gain", [0.0, 1.0, -1.0, 0.05])
def test_a_gain_that_no_order_changes_is_told_from_none(gain: float) -> None:
    """All items gain, or lose, or none does: an error of 0 stands for certainty."""
    labels = ["yes"] * 16 + ["no"] * 14
    items = numbered.split_folds(labels, None, None, np.random.default_rng(1))
    base = np.repeat([1.0, 0.0], [16, 14])
    hits = base + gain if abs(gain) == 1 else base.copy()
    hits[20] += gain == 0.05
    (view,) = leaks.views(items, None)
    (result,) = leaks.evaluate_strata(
        view, lambda block: hits, np.random.default_rng(2), cue="c", tests=1
    )
    assert (result.cue, result.type, result.part) == ("c", "", "")
    assert (result.items, result.clusters, result.status) == (30, 30, "ok")
    assert result.shown == (gain == 1.0)
    if abs(gain) != 0.05:
        assert result.gain == gain
        reach = stats.t.ppf(1 - 0.05 / 2, 29)
        error = abs(gain) * 1e-6
        ends = gain - reach * error, gain + reach * error
        assert (result.low, result.high) == pytest.approx(ends, abs=1e-12)
        p = {0.0: 1.0, 1.0: 2 * 2.0**-30, -1.0: 1.0}[gain]
        assert result.p == pytest.approx(p)
        floor = result.baseline
        typical = (max(abs(gain), 1 - floor) / (30 * 0.9)) ** 0.5
        min_gain = 1.05 * (reach + stats.norm.ppf(0.8)) * typical
        assert result.detectable == pytest.approx(
            min_gain + 0.8 * (floor * (1 - floor) / 30) ** 0.5
        )
    else:
        assert 0 < result.gain < 0.05
        assert result.low < 0 < result.high
        assert 0.1 < result.p < 1
    assert 0 < result.detectable <= 1


def test_a_stratum_that_cannot_be_tested_says_why() -> None:
    labels = ["yes", "no"] * 15
    kinds = ["a"] * 24 + ["b"] * 6
    items = numbered.split_folds(labels, None, kinds, np.random.default_rng(1))
    constant = numbered.split_folds(labels, None, labels, np.random.default_rng(1))
    small, constant_results = (
        leaks.evaluate_strata(
            leaks.views(split, None)[0],
            lambda block: np.ones(30),
            np.random.default_rng(2),
            cue="c",
            tests=3,
        )
        for split in (items, constant)
    )
    assert [(s.name, s.status) for s in small] == [
        ("all items", "ok"),
        ("a", "ok"),
        ("b", "insufficient"),
    ]
    assert [s.status for s in constant_results] == [
        "not_informative",
        "insufficient",
        "insufficient",
    ]
    for stratum in (small[2], constant_results[0]):
        assert not stratum.shown
        assert stratum.reason
        assert np.isnan([stratum.accuracy, stratum.gain, stratum.p, stratum.detectable]).all()
    assert (small[2].items, small[2].clusters) == (6, 6)


def test_cues_of_types_and_parts_share_the_level() -> None:
    """As many tests as there are cues with two levels in strata that can be tested, twice; of each
    cue the clearest stratum speaks.
    """
    rng = np.random.default_rng(9)
    types = ["a"] * 120 + ["b"] * 60 + ["c"] * 30
    parts = ["p", "q"] * 60 + ["p"] * 40 + ["q"] * 50
    labels = rng.permutation(["yes", "no"] * 105).tolist()
    ids = [
        2 * i + (y == "yes") if t == "a" else 2 * i
        for i, (t, y) in enumerate(zip(types, labels, strict=True))
    ]
    labels[180:] = ["no"] * 30
    study = psy.leakage_cues(
        labels, rng=np.random.default_rng(1), ids=ids, types=types, parts=parts, alpha=0.1
    )
    assert study.constant_types == (("c", "no"),)
    assert study.giveaways == ()
    names = {stratum.cue for stratum in study.strata}
    assert "odd or even number" in names
    assert "letters of the id" not in names, "all have none"
    strata = {(s.type, s.part) for s in study.strata}
    assert strata == {
        *[("", ""), ("a", ""), ("b", ""), ("c", "")],
        *[("", "p"), ("", "q"), ("a", "p"), ("a", "q"), ("b", "p"), ("b", "q")],
    }
    assert len(study.strata) == 10 * len(names)
    tested = [stratum for stratum in study.strata if stratum.status == "ok"]
    assert {(s.type, s.part) for s in study.strata} - {(s.type, s.part) for s in tested} == {
        ("c", "")
    }
    tests = 2 * len(tested)
    for stratum in tested:
        free = stratum.clusters - 1
        error = (stratum.high - stratum.gain) / stats.t.ppf(1 - 0.1 / tests, free)
        ratio = stratum.gain / error if error else 0.0
        p = min(1.0, tests * max(stats.t.sf(ratio, free), 2.0**-stratum.clusters))
        assert stratum.p == pytest.approx(p, rel=1e-6)
        assert stratum.shown == (stratum.p < 0.1)

    def order(stratum: leaks.Stratum) -> tuple[bool, float, float]:
        return not stratum.shown, stratum.p, -stratum.gain

    assert {cue.name for cue in study.cues} == names
    for cue in study.cues:
        cue_strata = [stratum for stratum in tested if stratum.cue == cue.name]
        assert order(cue.strongest) == min(map(order, cue_strata))
        assert cue.leak == cue.strongest.shown
    clearest = [order(cue.strongest) for cue in study.cues]
    assert clearest == sorted(clearest)
    assert study.cues[0].name == "odd or even number"
    assert study.leaks == tuple(cue.name for cue in study.cues if cue.leak)
    levels = {cue.name: cue.levels for cue in study.cues}
    assert (levels["odd or even number"], levels["tenth of the file"]) == (2, 10)
