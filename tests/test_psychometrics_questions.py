"""Questions as numbers, against plain rewritings with sets and counters of strings."""

import re
from collections import Counter
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import hqm.psychometrics as psy
from hqm.psychometrics import cross_validation as numbered
from hqm.psychometrics.distributions import binomial_above
from hqm.psychometrics.significance import benjamini_hochberg

TEXTS = st.lists(st.one_of(st.text("abc d'é中😀", max_size=12), st.text(max_size=8)), max_size=12)


def features_of(text: str) -> set[str]:
    """The definition: words, pairs of words, and runs of 3 and 4 letters."""
    split = re.findall(r"[\w']+", text.lower())
    padded = f" {' '.join(split)} "
    single = {f"w {w}" for w in split} | {f"w {a} {b}" for a, b in pairwise(split)}
    return single | {padded[j : j + k] for k in (3, 4) for j in range(len(padded) - k + 1)}


@given(TEXTS, st.sampled_from([0, 1 << 24]))
@settings(deadline=None, max_examples=60)
def test_every_text_has_the_features_of_its_definition_in_their_order(
    texts: list[str], looked_up: int
) -> None:
    before, numbered._LOOKED_UP = numbered._LOOKED_UP, looked_up
    try:
        item, feature, size = numbered.Questions.of(texts).features()
    finally:
        numbered._LOOKED_UP = before
    every = sorted(set().union(*map(features_of, texts))) if texts else []
    assert size == len(every)
    expected = [
        (i, every.index(name)) for i, text in enumerate(texts) for name in sorted(features_of(text))
    ]
    assert list(zip(item.tolist(), feature.tolist(), strict=True)) == expected


@given(TEXTS)
@settings(deadline=None, max_examples=60)
def test_places_and_beginnings_are_those_of_the_words(texts: list[str]) -> None:
    asked = numbered.Questions.of(texts)
    split = [re.findall(r"[\w']+", text.lower()) for text in asked.distinct]
    for place in (0, 1, -1):
        own = [
            some[place] if len(some) > (place if place >= 0 else -place - 1) else None
            for some in split
        ]
        assert [None if n < 0 else asked.vocabulary[n] for n in asked.at(place).tolist()] == own
    for count in (2, 3):
        codes = asked.beginning(count).tolist()
        for i, j in pairwise(range(len(split))):
            assert (codes[i] == codes[j]) == (split[i][:count] == split[j][:count])


def test_giveaways_are_those_that_counters_find() -> None:
    rng = np.random.default_rng(4)
    labels = rng.choice(["yes", "no", "maybe"], 900, p=[0.4, 0.4, 0.2]).tolist()
    named = {"yes": ["boat", "sea"], "no": ["car", "boat"], "maybe": ["fog", "car"]}
    asked = [
        f"Is a {rng.choice(named[y])} {rng.choice(['by', 'in'])} it {rng.integers(9)}?"
        for y in labels
    ]
    types = rng.choice(["x", "y"], 900).tolist()
    giveaways = psy.leakage_cues(
        labels, questions=asked, types=types, rng=np.random.default_rng(0)
    ).giveaways
    seen: dict[tuple[str, str], Counter[str]] = {}
    for text, kind, label in zip(asked, types, labels, strict=True):
        split = re.findall(r"[\w']+", text.lower())
        for phrase in {*split, *(" ".join(split[:k]) + " ..." for k in (2, 3) if len(split) > k)}:
            seen.setdefault((kind, phrase), Counter())[label] += 1
    tried = [
        (key, *tally.most_common(1)[0], tally.total())
        for key, tally in seen.items()
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
