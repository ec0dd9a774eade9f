"""The score matrix, the metrics, and what becomes of answers, beside plain rewritings with loops."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as rival

import hqm
from hqm import Cell, DesignError, Form, Item, Metric, Response, Verdict, mean_of
from hqm.scoring import rules
from hqm.scoring.matrix import (
    NO_GROUP,
    MatrixBuilder,
    ScoreMatrix,
    align,
    group_minima,
    readable_texts,
)
from hqm.scoring.metrics import CHAIR, YES_NO, chair_tally, mentioned, ratio, rounded, yes_no_tally
from hqm.scoring.metrics import YES_NO as BY_ORDER
from hqm.scoring.parsers import parser
from hqm.scoring.score_cache import ScoringKey, VerdictCache
from hqm.text import SHORT
from hqm.types import STATES, Row

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
        in_subset = [i for i in range(14) if not metric.subset or m.subsets[metric.subset][i]]
        for r in range(3):
            scores = [m.values[r, i] for i in in_subset if math.isfinite(m.values[r, i])]
            expected = sum(scores) / len(scores) if scores else math.nan
            assert m.score(metric)[r] == pytest.approx(expected, nan_ok=True)
        units = m.units(metric)
        names = [m.items[i].cluster for i in in_subset]
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
                scores = [m.values[r, i] for i in members]
                if members and all(map(math.isfinite, scores)):
                    right, count = right + min(scores), count + 1
            sums = units.sums
            assert (sums["right"][r], sums["n"][r]) == (right, count)
            assert m.score(metric)[r] == pytest.approx(
                right / count if count else math.nan, nan_ok=True
            )
    with pytest.raises(ValueError, match="read-only"):
        m.score(RIGHT)[0] = 2
    assert m.units(RIGHT).sums["nothing"].tolist() == [0, 0, 0]
    single_item = np.arange(14) == 3
    assert m.units(RIGHT, single_item).tallies["right"].shape == (3, 1)
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
    result = group_minima(values, groups)
    numbers = sorted(set(groups[groups >= 0].tolist()))
    assert result.shape == (2, 4, len(numbers))
    for index, number in enumerate(numbers):
        assert result[..., index] == pytest.approx(values[..., groups == number].min(axis=-1))
    assert group_minima(values, np.full(12, -1)).shape == (2, 4, 0)


def test_a_part_of_a_matrix_has_its_rows_and_columns() -> None:
    m = matrix(3)
    assert m.take(m.respondents, m.ids) is m
    for names, ids in (
        (("m2", "m0"), ("q5", "q1", "q9")),
        (m.respondents, ("q3",)),
        (("m1",), m.ids),
    ):
        selection = m.take(names, ids)
        rows, columns = [int(n[1:]) for n in names], [int(i[1:]) for i in ids]
        assert (selection.respondents, selection.ids, selection.answers) == (
            tuple(names),
            tuple(ids),
            "answers",
        )
        for submatrix, full_array in (
            (selection.values, m.values),
            (selection.states, m.states),
            (selection.words, m.words),
            (selection.tallies["n"], m.tallies["n"]),
        ):
            np.testing.assert_array_equal(submatrix, full_array[np.ix_(rows, columns)])
        assert selection.subsets["odd"].tolist() == [c % 2 == 1 for c in columns]
        assert selection.groups["pair"].tolist() == [m.groups["pair"][c] for c in columns]
        assert selection.column_by_id == {name: index for index, name in enumerate(ids)}
    smaller = m.take(("m1", "m2"), ("q9", "q2", "q5"))
    first_aligned, second_aligned = align(m, smaller)
    assert first_aligned.respondents == second_aligned.respondents == ("m1", "m2")
    assert first_aligned.ids == second_aligned.ids == ("q2", "q5", "q9")
    assert align(m, m) == (m, m)
    for names, ids, missing in ((("m0",), ("q0",), "respondent"), (("m1",), ("q0",), "item")):
        with pytest.raises(DesignError, match=missing):
            align(m.take(names, ids), smaller)


def test_states_are_counted() -> None:
    m = matrix(4)
    for r, name in enumerate(m.respondents):
        counts = dict.fromkeys(STATES, 0)
        for state in m.states[r]:
            counts[STATES[state]] += 1
        nonzero = {s: n for s, n in counts.items() if n or s not in ("cut", "empty")}
        assert m.state_counts()[name] == nonzero
        read = sum(n for s, n in counts.items() if s in ("ok", "truncated"))
        assert int(m.answered[r].sum()) == read
        assert rules.unscored(counts) == 14 - read
        assert rules.withheld(counts) == counts["refused"] + counts["cut"] + counts["empty"]
    assert m.unscored() == 42 - int(m.answered.sum())
    assert m.unscored(RIGHT.within("few")) == 15 - int(m.answered[:, :5].sum())
    refused_or_cut = np.isin(m.states, [STATES.index(s) for s in ("refused", "cut", "empty")])
    np.testing.assert_array_equal(m.withheld, refused_or_cut & np.isfinite(m.values))
    assert rules.advice_on_cut({"ok": 3}) == ""
    assert rules.advice_on_cut({"ok": 3, "cut": 2}).startswith("2 of 5 answers")


@pytest.mark.parametrize("seed", range(3))
def test_yes_no_metrics_are_those_of_scikit_learn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth, answers = rng.random(40) < 0.4, rng.random(40) < 0.6
    words = np.array(["no", "yes"])
    tallies = [
        yes_no_tally(words[int(s)], words[int(t)]) for s, t in zip(answers, truth, strict=True)
    ]
    sums = {key: np.array(sum(t[key] for t in tallies)) for key in tallies[0]}
    by_name = {metric.name: float(metric(sums)) for metric in YES_NO}
    hits, alarms = (answers & truth).sum(), (answers & ~truth).sum()
    expected = {
        "accuracy": rival.accuracy_score(truth, answers),
        "precision": rival.precision_score(truth, answers),
        "recall": rival.recall_score(truth, answers),
        "f1": rival.f1_score(truth, answers),
        "yes_ratio": answers.mean(),
        "d_prime": stats.norm.ppf((hits + 0.5) / (truth.sum() + 1))
        - stats.norm.ppf((alarms + 0.5) / ((~truth).sum() + 1)),
    }
    assert by_name == pytest.approx(expected)
    for one_sided in ({"tp": 3.0, "fn": 1.0}, {"fp": 3.0, "tn": 1.0}):
        one_sided_sums = {
            key: np.array(one_sided.get(key, 0.0)) for key in ("tp", "fp", "tn", "fn")
        }
        assert math.isnan(float({m.name: m for m in YES_NO}["d_prime"](one_sided_sums)))


def test_metrics_say_what_they_are() -> None:
    properties = {m.name: (m.better, m.share, m.ends) for m in (*BY_ORDER, *CHAIR[:2], CHAIR[3])}
    unit, free = (0.0, 1.0), (None, None)
    assert properties == {
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
        second = [str(w) for w in rng.integers(0, 4, rng.integers(0, 8))]
        indices = rules.common_words(first, second)
        common = [first[i] for i in indices]
        assert indices == sorted(set(indices))
        remaining = iter(second)
        assert all(word in remaining for word in common), "it stands in both in this order"
        best = 0
        for size in range(len(first) + 1):
            for subsequence in itertools.combinations(first, size):
                left = iter(second)
                best = max(best, size) if all(word in left for word in subsequence) else best
        assert len(common) == best
        text, second_text = " ".join(first), " ".join(second)
        shares = [best / n for n in (len(first), len(second)) if n]
        expected = stats.hmean(shares) if best else 0.0
        assert rules.rouge_l(text, second_text) == pytest.approx(expected)


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
    verdict = chair_tally(["dog", "cat", "cat"], {"dog", "car"}, "one dog and two cats")
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
    assert chair_tally(["dog"], {"dog"}, "a dog").value == 1.0


def test_verdicts_may_depend_on_those_on_other_items() -> None:
    """An item whose neighbour to the left is wrong counts half; the words stay those of its own
    answer, and only what was replaced changes.
    """
    items = tuple(Item(f"q{i}", "Is it?", "vqa", "right") for i in range(5))
    calls: list[tuple[tuple[Item, ...], list[float | None]]] = []

    def score(_: Item, response: Response) -> Verdict:
        right = float(response.text.startswith("right"))
        return Verdict(right, {"right": right, "n": 1.0}, "ok", response.text)

    def relate(items: Sequence[Item], verdicts: Sequence[Verdict]) -> Sequence[Verdict]:
        calls.append((tuple(items), [verdict.value for verdict in verdicts]))
        if all(verdict.value == 1 for verdict in verdicts):
            return verdicts
        related = list(verdicts)
        for i, (left, right) in enumerate(itertools.pairwise(verdicts), 1):
            if left.value == 0 and right.value is not None:
                half = right.value / 2 + i
                related[i] = Verdict(half, {"right": half, "n": 2.0}, "truncated", "half")
        return related

    builder = MatrixBuilder(Cell(), Form("original", items), score, lambda _: (), relate=relate)
    answers = {
        "a": ["right", "wrong a b", "right c", "wrong d e f", "wrong"],
        "b": ["right"] * 5,
        "c": ["wrong", "wrong", "right x y z", None, "right w"],
        "d": ["wrong", "right", "right x y z", "right", "right w"],
    }
    for name, texts in answers.items():
        builder.add(name, [None if text is None else Response(text) for text in texts])
    m = builder.build("hash")
    nan = math.nan
    assert [call_items for call_items, _ in calls] == [items] * 4
    assert calls[2][1] == [0, 0, 1, None, 1]
    values = [
        [1, 0, 2.5, 0, 4],
        [1, 1, 1, 1, 1],
        [0, 1, 2.5, nan, 1],
        [0, 1.5, 1, 1, 1],
    ]
    np.testing.assert_array_equal(m.values, values)
    np.testing.assert_array_equal(m.tallies["right"], np.nan_to_num(values))
    counts = [[1, 1, 2, 1, 2], [1] * 5, [1, 2, 2, 0, 1], [1, 2, 1, 1, 1]]
    np.testing.assert_array_equal(m.tallies["n"], counts)
    lengths = [[1, 3, 2, 4, 1], [1] * 5, [1, 1, 4, nan, 2], [1, 1, 4, 1, 2]]
    np.testing.assert_array_equal(m.words, lengths)
    states = np.array(STATES)[m.states]
    replaced = np.array(counts) == 2
    assert set(states[replaced]) == {"truncated"}
    assert set(states[~replaced]) == {"ok", "missing"}
    assert (m.answers, m.respondents, m.items) == ("hash", tuple(answers), items)


def test_items_that_are_scored_alike_stand_beside_those_looked_at_by_themselves() -> None:
    """Of five items the first and the last two are alike; each other one has its own rule."""
    items = tuple(Item(f"q{i}", "Is it?", "yes_no", "yes") for i in range(5))
    calls: list[tuple[str, str]] = []

    def score(item: Item, response: Response) -> Verdict:
        calls.append((item.id, response.text))
        value = {"q1": 0.25, "q2": 0.5}.get(item.id, 1.0)
        return Verdict(value, {"n": value}, "ok", response.text)

    def alike(item: Item) -> ScoringKey | None:
        return None if item.id in ("q1", "q2") else ScoringKey("yes", parser("pope"), False, None)

    shared = VerdictCache(items, score, alike)
    assert (shared.n_classes, shared.classes.tolist()) == (1, [0, -1, -1, 0, 0])
    for run in range(2):
        builder = MatrixBuilder(
            Cell(run=run), Form("original", items), score, lambda _: (), verdicts=shared
        )
        for name, text in (("a", "Yes"), ("b", "No"), ("c", "Yes")):
            builder.add(name, [Response(text)] * 5)
        assert builder.build().values.tolist() == [[1, 0.25, 0.5, 1, 1]] * 3
    # each text once for the class, and once for each item by itself, whatever the run
    once = [(name, text) for text in ("Yes", "No") for name in ("q0", "q1", "q2")]
    assert sorted(calls) == sorted(once)


def test_answers_with_a_judges_verdicts_fill_a_row() -> None:
    """A verdict without a value is unread, whatever its state says; an error has no length."""
    items = tuple(Item(f"q{i}", "Is it?", "vqa", "x", meta={"of": str(i)}) for i in range(5))
    builder = MatrixBuilder(
        Cell(),
        Form("original", items),
        lambda *_: Verdict(1.0),
        lambda item: ("late",) if item.id > "q2" else (),
        lambda item: {"half": "b" if item.id > "q1" else "a"} if item.id != "q3" else {},
    )
    answers = [Response("a b"), Response("c"), None, Response("", "error"), Response("d e f")]
    verdicts = [
        Verdict(0.5, {"n": 1.0}),
        Verdict(None, {}, "ok", "", "torn"),
        Verdict(1.0, {"n": 1.0}),
        Verdict.unscored("error", "offline"),
        Verdict(None, {}, "truncated"),
    ]
    builder.add_verdicts("a", answers, verdicts)
    m = builder.build()
    np.testing.assert_array_equal(m.values, [[0.5, *[math.nan] * 4]])
    np.testing.assert_array_equal(m.words, [[2, 1, math.nan, math.nan, 3]])
    states = [STATES[code] for code in m.states[0]]
    assert states == ["ok", "unparsed", "missing", "error", "unparsed"]
    assert m.tallies["n"].tolist() == [[1, 0, 0, 0, 0]]
    assert m.subsets["late"].tolist() == [False, False, False, True, True]
    assert m.groups["half"].tolist() == [0, 0, 1, NO_GROUP, 1]
    assert m.column_by_id == {f"q{i}": i for i in range(5)}
    empty = MatrixBuilder(Cell(), Form("original", items), lambda *_: Verdict(1.0), lambda _: ())
    assert empty.build().values.shape == (0, 5)


def test_answers_whose_texts_were_all_read() -> None:
    rows: list[Response | Row] = [Response("Yes"), ("No", "ok", "", 3)]
    assert readable_texts(rows) == ["Yes", "No"]
    assert readable_texts([*rows, Response("", "error")]) is None
    assert readable_texts([*rows, None]) is None
    assert readable_texts([]) == []


@pytest.mark.parametrize(
    ("change", "answer"),
    [
        ({"target": "red"}, "blue"),
        ({"options": ("blue", "red")}, "blue"),
        ({"prompt": "Which is it: red or blue?"}, "blue"),
        ({"meta": {"none": "zero"}}, "blue"),
    ],
)
def test_an_answer_to_the_same_words_is_read_once(change: dict[str, object], answer: str) -> None:
    item = Item("1", "Which is it?", "choice", "B", "a.png", options=("red", "blue"))
    read = rules.score_choice(item, Response(answer))
    assert rules.score_choice(replace(item, id="2", image="b.png"), Response(answer)) is read
    assert rules.score_choice(replace(item, **change), Response(answer)) is not read  # type: ignore[arg-type]
    assert rules.score_choice(item, Response(f"{answer}.")) is not read
    assert rules.score_choice(item, Response(answer), parser("inspect")) is not read
    responses = {n: Response("B" + " " * (n - 1)) for n in (SHORT, SHORT + 1)}
    is_cached = {n: rules.score_choice(item, response) is rules.score_choice(item, response)
             for n, response in responses.items()}  # fmt: skip
    assert is_cached == {SHORT: True, SHORT + 1: False}


def test_a_choice_and_a_short_answer_are_scored() -> None:
    item = Item("1", "Which is it?", "choice", " b ", options=("red", "blue"))
    verdict = rules.score_choice(item, Response("It is blue."))
    assert (verdict.value, verdict.state, verdict.read) == (1.0, "ok", "B")
    assert verdict.tally == {"right": 1.0, "n": 1.0, "slot_B": 1.0}
    verdict = rules.score_choice(item, Response("red"))
    assert (verdict.value, verdict.read) == (0.0, "A")
    assert verdict.tally == {"right": 0.0, "n": 1.0, "slot_A": 1.0}
    verdict = rules.score_choice(item, Response("red or blue"))
    assert (verdict.value, verdict.tally, verdict.state) == (None, {}, "unparsed")
    short = Item("2", "How many?", "vqa", "7")
    for answer, value in (("7", 1.0), ("8", 0.0)):
        verdict = rules.score_short(short, Response(answer))
        assert (verdict.value, verdict.tally) == (value, {"right": value, "n": 1.0})
        assert (verdict.state, verdict.read) == ("ok", answer)
    unread = rules.score_short(short, Response("7 or 8"))
    assert (unread.value, unread.tally, unread.state) == (None, {}, "unparsed")


@pytest.mark.parametrize(("target", "truth"), [("yes", "yes"), (" No ", "no"), ("YES", "yes")])
def test_the_right_answer_of_a_yes_no_item(target: str, truth: str) -> None:
    item = Item("1", "Is it?", "yes_no", target)
    assert rules.yes_no_truth(item) == truth
    for answer in ("yes", "no"):
        verdict = rules.score_yes_no(item, Response(answer), parser("strict"))
        assert (verdict.value, verdict.read) == (float(answer == truth), answer)
        assert sum(verdict.tally.values()) == 1
    assert rules.score_yes_no(item, Response("Hm"), parser("strict")).state == "unparsed"
    with pytest.raises(hqm.DataError):
        rules.yes_no_truth(replace(item, target="maybe"))


def test_an_item_by_itself_is_scored_with_how_and_why_its_answer_ended() -> None:
    items = tuple(Item(f"q{i}", "Is it?", "vqa", "x") for i in range(4))
    scored: list[Response] = []

    def score(_: Item, response: Response) -> Verdict:
        scored.append(response)
        return Verdict(float(len(response.text)), {"n": 1.0}, response.state)

    builder = MatrixBuilder(Cell(), Form("original", items), score, lambda _: ())
    rows: list[Row | None] = [
        ("a", "truncated", "at the limit", 0),
        ("a", "ok", "", 1),
        None,
        ("", "error", "offline", 3),
    ]
    long_text = "y" * (SHORT + 1)
    texts = ["a", "b", long_text, long_text]
    read: list[Row | None] = [(text, "ok", "", i) for i, text in enumerate(texts)]
    builder.add("first", rows)
    builder.add("again", rows)
    builder.add("texts", read, readable_texts(read))
    assert scored[:3] == [
        Response("a", "truncated", "at the limit"),
        Response("a"),
        Response("", "error", "offline"),
    ]
    # what was read before is known by its text, but for long answers
    assert [response.text for response in scored[3:]] == ["a", "b", long_text, long_text]
    m = builder.build()
    nan = math.nan
    np.testing.assert_array_equal(m.values, [[1, 1, nan, 0]] * 2 + [[1, 1, SHORT + 1, SHORT + 1]])
    np.testing.assert_array_equal(m.words, [[1, 1, nan, nan]] * 2 + [[1, 1, 1, 1]])
    assert [STATES[code] for code in m.states[0]] == ["truncated", "ok", "missing", "error"]
    assert m.clusters.tolist() == [0, 1, 2, 3], "an item without a cluster is one by itself"


def test_a_matrix_hands_out_what_it_knows() -> None:
    m = matrix(5)
    assert m.score(RIGHT) is m.score(RIGHT)
    assert m.units(RIGHT).tallies is m.tallies
    assert m.studies == {}
    two = replace(RIGHT, digits=1)
    np.testing.assert_array_equal(m.printed(two), [round(float(v), 1) for v in m.score(RIGHT)])
    fewer = m.take(("m1",), m.ids)
    assert [aligned.respondents for aligned in align(m, fewer)] == [("m1",)] * 2
    narrow = m.take(m.respondents, ("q3", "q1"))
    assert [aligned.ids for aligned in align(narrow, m)] == [("q3", "q1")] * 2
    turned = m.take(m.respondents[::-1], m.ids)
    assert [aligned.respondents for aligned in align(turned, m)] == [("m2", "m1", "m0")] * 2
    assert m.take(m.respondents, m.ids[::-1]).ids == m.ids[::-1]
