"""The score matrix, the metrics, and what becomes of answers, beside plain rewritings with loops."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as rival

import hqm
from hqm import CHAIR, YES_NO, Cell, DesignError, Item, Metric, Response, Verdict, mean_of
from hqm.scoring import rules
from hqm.scoring.matrix import NO_GROUP, ScoreMatrix, align, least_in_groups
from hqm.scoring.metrics import YES_NO as BY_ORDER
from hqm.scoring.metrics import mentioned, ratio, rounded, yes_no_tally
from hqm.types import STATES

RIGHT = Metric("right", mean_of("right"), share=True)


def matrix(seed: int, respondents: int = 3, items: int = 14) -> ScoreMatrix:
    """Answers about pictures with two items each, some of them unread, in groups across pairs."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 2, (respondents, items)).astype(float)
    states = rng.choice(len(STATES), (respondents, items), p=None).astype(np.uint8)
    scored = np.isin(states, [STATES.index("ok"), STATES.index("truncated")])
    scored |= rng.random(states.shape) < 0.2
    values[~scored] = np.nan
    groups = np.arange(items) // 2
    groups[items - 3] = NO_GROUP
    return ScoreMatrix(
        Cell(),
        tuple(f"m{i}" for i in range(respondents)),
        tuple(
            Item(f"q{i}", "Is it?", "yes_no", "yes", f"{i // 2}.png", cluster=f"{i // 2}.png")
            for i in range(items)
        ),
        values,
        {"right": np.nan_to_num(values), "n": scored.astype(float)},
        states,
        rng.integers(1, 9, (respondents, items)).astype(float),
        {"odd": np.arange(items) % 2 == 1, "few": np.arange(items) < 5},
        "answers",
        {"pair": groups},
    )


def test_a_metric_sums_items_of_its_subset_and_groups() -> None:
    m = matrix(1)
    for metric in (RIGHT, RIGHT.within("odd"), RIGHT.within("few")):
        inside = [i for i in range(14) if not metric.subset or m.subsets[metric.subset][i]]
        for r in range(3):
            known = [m.values[r, i] for i in inside if math.isfinite(m.values[r, i])]
            expected = sum(known) / len(known) if known else math.nan
            assert m.score(metric)[r] == pytest.approx(expected, nan_ok=True)
        units = m.units(metric)
        names = [m.items[i].cluster for i in inside]
        assert units.clusters.tolist() == [list(dict.fromkeys(names)).index(name) for name in names]
    grouped = replace(RIGHT, name="pairs", group="pair")
    for metric in (grouped, replace(grouped, subset="few")):
        units = m.units(metric)
        for r in range(3):
            right = count = 0.0
            for g in range(7):
                members = [
                    i
                    for i in range(14)
                    if m.groups["pair"][i] == g and (not metric.subset or i < 5)
                ]
                known = [m.values[r, i] for i in members]
                if members and all(map(math.isfinite, known)):
                    right, count = right + min(known), count + 1
            sums = units.sums
            assert (sums["right"][r], sums["n"][r]) == (right, count)
            assert m.score(metric)[r] == pytest.approx(
                right / count if count else math.nan, nan_ok=True
            )
    with pytest.raises(ValueError, match="read-only"):
        m.score(RIGHT)[0] = 2
    assert m.units(RIGHT).sums["nothing"].tolist() == [0, 0, 0]
    only = np.arange(14) == 3
    assert m.units(RIGHT, only).tallies["right"].shape == (3, 1)
    with pytest.raises(DesignError, match="subset"):
        m.score(RIGHT.within("none"))
    with pytest.raises(DesignError, match="groups"):
        m.score(replace(RIGHT, group="none"))
    torn = replace(m, groups={"pair": np.array([0, 1] * 7)})
    with pytest.raises(DesignError, match="several clusters"):
        torn.units(grouped)


def test_the_least_of_a_group_by_loops() -> None:
    rng = np.random.default_rng(2)
    values, groups = rng.random((2, 4, 12)), rng.integers(-1, 4, 12)
    result = least_in_groups(values, groups)
    numbers = sorted(set(groups[groups >= 0].tolist()))
    assert result.shape == (2, 4, len(numbers))
    for place, number in enumerate(numbers):
        assert result[..., place] == pytest.approx(values[..., groups == number].min(axis=-1))
    assert least_in_groups(values, np.full(12, -1)).shape == (2, 4, 0)


def test_a_part_of_a_matrix_has_its_rows_and_columns() -> None:
    m = matrix(3)
    assert m.take(m.respondents, m.ids) is m
    for names, ids in (
        (("m2", "m0"), ("q5", "q1", "q9")),
        (m.respondents, ("q3",)),
        (("m1",), m.ids),
    ):
        part = m.take(names, ids)
        rows, columns = [int(n[1:]) for n in names], [int(i[1:]) for i in ids]
        assert (part.respondents, part.ids, part.answers) == (tuple(names), tuple(ids), "answers")
        for own, whole in (
            (part.values, m.values),
            (part.states, m.states),
            (part.words, m.words),
            (part.tallies["n"], m.tallies["n"]),
        ):
            np.testing.assert_array_equal(own, whole[np.ix_(rows, columns)])
        assert part.subsets["odd"].tolist() == [c % 2 == 1 for c in columns]
        assert part.groups["pair"].tolist() == [m.groups["pair"][c] for c in columns]
        assert part.places == {name: place for place, name in enumerate(ids)}
    other = m.take(("m1", "m2"), ("q9", "q2", "q5"))
    here, there = align(m, other)
    assert here.respondents == there.respondents == ("m1", "m2")
    assert here.ids == there.ids == ("q2", "q5", "q9")
    assert align(m, m) == (m, m)
    for names, ids, missing in ((("m0",), ("q0",), "respondent"), (("m1",), ("q0",), "item")):
        with pytest.raises(DesignError, match=missing):
            align(m.take(names, ids), other)


def test_states_are_counted() -> None:
    m = matrix(4)
    for r, name in enumerate(m.respondents):
        counts = dict.fromkeys(STATES, 0)
        for state in m.states[r]:
            counts[STATES[state]] += 1
        shown = {s: n for s, n in counts.items() if n or s not in ("cut", "empty")}
        assert m.state_counts()[name] == shown
        read = sum(n for s, n in counts.items() if s in ("ok", "truncated"))
        assert int(m.answered[r].sum()) == read
        assert rules.unscored(counts) == 14 - read
        assert rules.withheld(counts) == counts["refused"] + counts["cut"] + counts["empty"]
    assert m.unscored() == 42 - int(m.answered.sum())
    assert m.unscored(RIGHT.within("few")) == 15 - int(m.answered[:, :5].sum())
    held = np.isin(m.states, [STATES.index(s) for s in ("refused", "cut", "empty")])
    np.testing.assert_array_equal(m.withheld, held & np.isfinite(m.values))
    assert rules.advice_on_cut({"ok": 3}) == ""
    assert rules.advice_on_cut({"ok": 3, "cut": 2}).startswith("2 of 5 answers")


@pytest.mark.parametrize("seed", range(3))
def test_yes_no_metrics_are_those_of_scikit_learn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth, said = rng.random(40) < 0.4, rng.random(40) < 0.6
    words = np.array(["no", "yes"])
    tallies = [yes_no_tally(words[int(s)], words[int(t)]) for s, t in zip(said, truth, strict=True)]
    sums = {key: np.array(sum(t[key] for t in tallies)) for key in tallies[0]}
    by_name = {metric.name: float(metric(sums)) for metric in YES_NO}
    hits, alarms = (said & truth).sum(), (said & ~truth).sum()
    expected = {
        "accuracy": rival.accuracy_score(truth, said),
        "precision": rival.precision_score(truth, said),
        "recall": rival.recall_score(truth, said),
        "f1": rival.f1_score(truth, said),
        "yes_ratio": said.mean(),
        "d_prime": stats.norm.ppf((hits + 0.5) / (truth.sum() + 1))
        - stats.norm.ppf((alarms + 0.5) / ((~truth).sum() + 1)),
    }
    assert by_name == pytest.approx(expected)
    for one_sided in ({"tp": 3.0, "fn": 1.0}, {"fp": 3.0, "tn": 1.0}):
        bare = {key: np.array(one_sided.get(key, 0.0)) for key in ("tp", "fp", "tn", "fn")}
        assert math.isnan(float({m.name: m for m in YES_NO}["d_prime"](bare)))


def test_metrics_say_what_they_are() -> None:
    shown = {m.name: (m.better, m.share, m.ends) for m in (*BY_ORDER, *CHAIR[:2], CHAIR[3])}
    unit, free = (0.0, 1.0), (None, None)
    assert shown == {
        "accuracy": ("higher", True, unit),
        "precision": ("higher", False, unit),
        "recall": ("higher", False, unit),
        "f1": ("higher", False, unit),
        "d_prime": ("higher", False, free),
        "yes_ratio": ("neither", False, unit),
        "chair_i": ("lower", False, unit),
        "chair_s": ("lower", True, unit),
        "length": ("neither", False, (0.0, None)),
    }
    assert [m.sign for m in (BY_ORDER[0], BY_ORDER[-1], CHAIR[0])] == [1, 1, -1]
    plain = Metric("x", lambda t: t["n"])
    assert not plain.rounds
    assert replace(plain, digits=0).rounds
    released = replace(plain, release=lambda t: 2 * t["n"], digits=1)
    assert released.rounds
    assert released.printed({"n": np.array([0.26, np.nan])})[0] == 0.5
    assert rounded([0.125, 2.5], 0).tolist() == [0.0, 2.0]
    values = ratio([1.0, -1.0, 0.0, 3.0], [2.0, 0.0, 0.0, -1.0])
    assert values == pytest.approx([0.5, math.nan, math.nan, -3.0], nan_ok=True)


@pytest.mark.parametrize("withheld", ["unscored", "official"])
@pytest.mark.parametrize("state", ["ok", "truncated", "refused", "error", "missing"])
@pytest.mark.parametrize("text", ["", "Yes."])
def test_what_is_no_answer_is_read_by_no_rule(withheld: str, state: str, text: str) -> None:
    response = Response(text, state)  # type: ignore[arg-type]
    verdict = rules.no_answer(response, withheld)  # type: ignore[arg-type]
    outcome = response.outcome
    if outcome in ("error", "missing"):
        assert verdict == Verdict.unscored(outcome, "")
    elif outcome in ("refused", "cut", "empty") and withheld == "unscored":
        assert verdict is not None
        assert (verdict.state, verdict.scored, bool(verdict.reason)) == (outcome, False, True)
    else:
        assert verdict is None


def test_a_verdict_keeps_how_the_answer_ended() -> None:
    right = Verdict(1.0, {"right": 1.0}, "ok", "yes")
    unread = Verdict.unscored("unparsed", "nothing read")
    assert rules.settle(right, Response("Yes.")) == right
    cut = rules.settle(right, Response("Yes, and", "truncated", "at the limit"))
    assert (cut.state, cut.value, cut.reason) == ("truncated", 1.0, "at the limit")
    refused = rules.settle(unread, Response("I'm sorry, but I can't help with that."))
    assert (refused.state, refused.reason) == ("refused", "nothing read")
    assert rules.settle(unread, Response("Perhaps.")) == unread
    assert rules.settle(unread, Response("Perhaps", "truncated")).state == "unparsed"
    official = rules.settle(right, Response("", "ok"))
    assert (official.state, official.value, bool(official.reason)) == ("empty", 1.0, True)
    read = rules.settle(right, Response("I'm sorry, I can't assist with that request."))
    assert read.state == "ok", "an answer that was read is no refusal"
    wrong = rules.counted_wrong(unread)
    assert (wrong.value, wrong.tally, wrong.state) == (0.0, {"right": 0.0, "n": 1.0}, "unparsed")
    assert rules.counted_wrong(right) is right


def test_the_longest_common_sequence_by_search() -> None:
    rng = np.random.default_rng(5)
    for _ in range(30):
        first = [str(w) for w in rng.integers(0, 4, rng.integers(0, 8))]
        other = [str(w) for w in rng.integers(0, 4, rng.integers(0, 8))]
        places = rules.common_words(first, other)
        common = [first[i] for i in places]
        assert places == sorted(set(places))
        rest = iter(other)
        assert all(word in rest for word in common), "it stands in both in this order"
        best = 0
        for size in range(len(first) + 1):
            for chosen in itertools.combinations(first, size):
                left = iter(other)
                best = max(best, size) if all(word in left for word in chosen) else best
        assert len(common) == best
        text, same = " ".join(first), " ".join(other)
        shares = [best / n for n in (len(first), len(other)) if n]
        expected = stats.hmean(shares) if best else 0.0
        assert rules.rouge_l(text, same) == pytest.approx(expected)


def test_names_in_a_text_are_found_longest_first() -> None:
    names = frozenset({"dog", "hot dog", "traffic light", "person"})
    for text, expected in (
        ("", []),
        ("Dogs.", ["dog"]),
        ("hot dogs, dog, HOT dog", ["hot dog", "dog", "hot dog"]),
        ("a traffic light and traffic", ["traffic light"]),
        ("the light of the traffic", []),
        ("two persons and a dog", ["person", "dog"]),
        ("hot", []),
    ):
        assert mentioned(text, names) == expected, text
    assert mentioned("a dog", frozenset()) == []
    verdict = hqm.chair_tally(["dog", "cat", "cat"], {"dog", "car"}, "one dog and two cats")
    assert verdict.tally == {
        "hallucinated": 2.0,
        "mentioned": 3.0,
        "captions_hallucinated": 1.0,
        "covered": 1.0,
        "present": 2.0,
        "words": 5.0,
        "n": 1.0,
    }
    assert (verdict.value, verdict.read) == (0.0, "cat, cat")
    assert hqm.chair_tally(["dog"], {"dog"}, "a dog").value == 1.0
