"""Pairwise preferences: read, rated and audited, in worlds that no Bradley-Terry model made."""

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hqm_preferences.preference_audit import audit_preferences
from hqm_preferences.preference_log import holds_preferences, read_preferences
from hqm_preferences.preference_page import cycle_finding
from hqm_preferences.ratings import (
    Preferences,
    bradley_terry,
    outcome_agreement,
    preference_cycles,
)

import hqm
from hqm.errors import HQMError
from tests.conftest import Run
from tests.messages import pattern_of, tells


def thurstone_world(
    rng: np.random.Generator,
    utilities: np.ndarray,
    questions: int,
    pairs_per_question: int,
    *,
    first_place: float = 0.2,
    tie: float = 0.3,
) -> Preferences:
    """Two judges compare answers whose quality has a skewed effect of model and question, which
    judges share; they differ by normal noise, and call small differences ties.
    """
    m = len(utilities)
    pairs = np.array(list(combinations(range(m), 2)))
    if pairs_per_question == len(pairs):
        chosen = np.tile(np.arange(len(pairs)), (questions, 1))
    else:
        chosen = rng.integers(len(pairs), size=(questions, pairs_per_question))
    question = np.repeat(np.arange(questions), pairs_per_question * 2)
    pair = pairs[np.repeat(chosen.ravel(), 2)]
    quality = utilities + rng.gumbel(0, 0.7, size=(questions, m))
    swapped = rng.random(len(pair)) < 0.5
    first = np.where(swapped, pair[:, 1], pair[:, 0])
    second = np.where(swapped, pair[:, 0], pair[:, 1])
    lead = quality[question, first] - quality[question, second]
    lead += first_place + rng.normal(size=len(pair))
    outcome = np.where(np.abs(lead) < tie, 0.5, (lead > 0).astype(float))
    return Preferences(first, second, outcome, question, m)


def test_ratings_are_those_of_another_library() -> None:
    """choix 0.4.1, `opt_pairwise` of these wins, around their mean. Each comparison stands in both
    orders, so that no place has an advantage.
    """
    wins = np.array([[0, 7, 9, 12], [5, 0, 8, 9], [3, 6, 0, 7], [2, 4, 6, 0]])
    rows = [(a, b) for a in range(4) for b in range(4) for _ in range(wins[a, b])]
    winners, losers = np.array(rows).T
    n = len(rows)
    fit = bradley_terry(
        Preferences(
            np.concatenate([winners, losers]),
            np.concatenate([losers, winners]),
            np.concatenate([np.ones(n), np.zeros(n)]),
            np.tile(np.arange(n), 2),
            4,
        )
    )
    expected = [0.77746672, 0.18147678, -0.30409941, -0.65484409]
    assert [rating.value for rating in fit.ratings] == pytest.approx(expected, abs=1e-5)
    assert fit.first_place_share.value == pytest.approx(0.5)


def test_intervals_cover_and_equal_models_rarely_differ() -> None:
    """A share of the simulation that the docstring of `bradley_terry` reports."""
    population = bradley_terry(
        thurstone_world(np.random.default_rng(5), np.linspace(-0.8, 0.8, 4), 8000, 3)
    )
    expected = np.array([rating.value for rating in population.ratings])
    covered, alarms, cycles = [], 0, 0
    for draw in range(60):
        world = thurstone_world(np.random.default_rng([draw, 1]), np.linspace(-0.8, 0.8, 4), 40, 3)
        fit = bradley_terry(world)
        intervals = [rating.fixed for rating in fit.ratings]
        for interval, value in zip(intervals, expected[list(fit.models)], strict=True):
            assert interval is not None
            covered.append(interval.low <= value <= interval.high)
        equal = thurstone_world(np.random.default_rng([draw, 2]), np.zeros(4), 40, 3)
        equal_fit = bradley_terry(equal)
        assert equal_fit.differences is not None
        alarms += equal_fit.differences.separable_pairs()[0] > 0
        cycles += bool(preference_cycles(equal, equal_fit).significant)
    assert 0.91 <= np.mean(covered) <= 0.98
    assert alarms <= 6
    assert cycles <= 2


def test_a_cycle_is_shown_and_a_winner_of_all_has_no_rating() -> None:
    """Rock, paper and scissors, over 60 questions; and a fourth that loses every comparison."""
    rng = np.random.default_rng(3)
    pairs = np.array([(0, 1), (1, 2), (2, 0), (0, 3), (1, 3)] * 60)
    outcome = np.where(pairs[:, 1] == 3, 1.0, (rng.random(len(pairs)) < 0.8).astype(float))
    swapped = rng.random(len(pairs)) < 0.5
    preferences = Preferences(
        np.where(swapped, pairs[:, 1], pairs[:, 0]),
        np.where(swapped, pairs[:, 0], pairs[:, 1]),
        np.where(swapped, 1 - outcome, outcome),
        np.repeat(np.arange(60), 5),
        4,
    )
    fit = bradley_terry(preferences)
    assert fit.models == (0, 1, 2)
    assert preference_cycles(preferences, fit).significant == ((0, 1, 2),)
    transitive = preferences.select(preferences.first + preferences.second != 2)
    assert preference_cycles(transitive, bradley_terry(transitive)).significant == ()


def test_cycles_by_majority_are_counted_in_their_number() -> None:
    triples = [["a", "b", "c"], ["a", "b", "d"]]
    (text,) = cycle_finding({"cycles": {"triples": 4, "by_majority": triples[:1], "shown": []}})
    assert tells(text, "preferences.is-a-cycle", n=1)
    (text,) = cycle_finding({"cycles": {"triples": 4, "by_majority": triples, "shown": []}})
    assert tells(text, "preferences.are-cycles", n=2)


def test_agreement_beyond_chance() -> None:
    outcomes = np.random.default_rng(1).choice([0.0, 0.5, 1.0], size=(2, 4000), p=[0.4, 0.2, 0.4])
    share, pi = outcome_agreement(outcomes[0], outcomes[1], np.arange(4000))
    assert share.value == pytest.approx(0.36, abs=0.03)
    assert pi.low < 0 < pi.high
    assert outcome_agreement(outcomes[0], outcomes[0], np.arange(4000))[1].value == 1
    assert outcome_agreement(outcomes[0][:0], outcomes[1][:0], np.arange(0))[0].status != "ok"


# --- files ---

ARENA = {"question_id": "q1", "model_a": "x", "model_b": "y"}
ROWS = {
    "arena": ({**ARENA, "winner": "model_b"}, ("x", "y", 0.0)),
    "its name": ({**ARENA, "winner": "y"}, ("x", "y", 0.0)),
    "a model called b": ({"model_a": "b", "model_b": "a", "winner": "b"}, ("b", "a", 1.0)),
    "tie": ({**ARENA, "winner": "tie"}, ("x", "y", 0.5)),
    "both are bad": ({**ARENA, "winner": "tie (bothbad)"}, ("x", "y", 0.5)),
    "letters of a judge": ({**ARENA, "winner": "[[A]]"}, ("x", "y", 1.0)),
    "swapped": ({**ARENA, "winner": "model_b", "swapped": True}, ("y", "x", 1.0)),
    "three columns": (
        {"model_a": "x", "model_b": "y", "winner_model_a": 0, "winner_model_b": 1, "winner_tie": 0},
        ("x", "y", 0.0),
    ),
    "AlpacaEval": ({"generator_1": "x", "generator_2": "y", "preference": 2.0}, ("x", "y", 0.0)),
}


@pytest.mark.parametrize("kind", ROWS)
def test_rows_as_others_write_them(kind: str, tmp_path: Path) -> None:
    row, expected = ROWS[kind]
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row) + "\n")
    assert holds_preferences(path)
    assert not holds_preferences(path, "model=generator_2,item=instruction,score=preference")
    (preference,) = read_preferences([path]).preferences
    assert (preference.first, preference.second, preference.outcome) == expected
    assert preference.is_bad_tie == (kind == "both are bad")


def test_two_games_of_mt_bench_are_two_orders(tmp_path: Path) -> None:
    path = tmp_path / "gpt-4_pair.jsonl"
    row = {
        "question_id": 81,
        "model_1": "x",
        "model_2": "y",
        "g1_winner": "model_1",
        "g2_winner": "model_2",
        "judge": ["gpt-4", "pair-v2"],
        "turn": 1,
    }
    path.write_text(f"{json.dumps(row)}\n{json.dumps({**row, 'g2_winner': 'error'})}\n")
    log = read_preferences([path])
    games = [(p.first, p.second, p.outcome) for p in log.preferences]
    assert games == [("x", "y", 1.0), ("y", "x", 1.0), ("x", "y", 1.0)]
    assert log.n_unread == 1
    assert log.preferences[0].judge == "gpt-4 pair-v2"


@pytest.mark.parametrize(
    ("row", "pattern"),
    [
        ({**ARENA, "winner": "z"}, pattern_of("preferences.winner", winner="z")),
        ({**ARENA, "model_b": "", "winner": "tie"}, pattern_of("preferences.models")),
        ({**ARENA, "winner": "tie", "swapped": "perhaps"}, pattern_of("preferences.order")),
        ({**ARENA, "winner": ""}, pattern_of("preferences.none")),
    ],
)
def test_rows_that_say_no_preference(row: dict[str, str], pattern: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row) + "\n")
    with pytest.raises(HQMError, match=pattern):
        read_preferences([path])


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two judges compare three models on 60 questions in both orders, the first of them twice."""
    rng = np.random.default_rng(8)
    path = tmp_path_factory.mktemp("preferences") / "judged.jsonl"
    utilities = {"low": -1.0, "middle": 0.0, "high": 1.0}
    rows = []
    for question in range(60):
        quality = {name: value + rng.normal(0, 0.5) for name, value in utilities.items()}
        for pair in combinations(utilities, 2):
            for judge in ("one", "one", "two"):
                for first, second in (pair, pair[::-1]):
                    lead = quality[first] - quality[second] + 0.6 + rng.normal()
                    winner = "tie" if abs(lead) < 0.2 else ("model_b", "model_a")[lead > 0]
                    rows.append(
                        {
                            "question_id": question,
                            "model_a": first,
                            "model_b": second,
                            "winner": winner,
                            "judge": judge,
                        }
                    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_the_audit_of_a_log(log: Path) -> None:
    audit = audit_preferences(read_preferences([log]), "judged")
    data = audit.to_dict()
    assert [row["name"] for row in data["models"]] == ["high", "middle", "low"]
    assert [row["outcome"] for row in data["contrasts"]] == ["differ", "differ"]
    assert all(row["differ"] for row in data["pairs"])
    estimates = {estimate.indicator: estimate for estimate in audit.estimates}
    first_place = estimates["preferences.first_place"].interval("fixed_models")
    assert first_place is not None
    assert first_place.low > 0.5
    comparisons = {name: e.detail["comparisons"] for name, e in estimates.items()}
    # 180 pairs: judge one twice in each of two orders, judge two once in each
    assert comparisons["preferences.rerun_agreement"] == 360
    assert comparisons["preferences.swap_agreement"] == 180 * (4 + 1)
    assert comparisons["preferences.judge_agreement"] == 180 * 4 * 2
    assert [row["name"] for row in data["judges"]] == ["one", "two"]
    json.dumps(data, allow_nan=False)


def test_the_command(log: Path, run: Run, tmp_path: Path) -> None:
    status, output, _ = run("audit", log, "--out", tmp_path / "out")
    assert status == 0
    assert tells(output, "preferences.differ", differ="3", pairs="3")
    page = (tmp_path / "out" / "report.html").read_text()
    assert tells(page, "preferences.differ", differ="3", pairs="3")
    with pytest.raises(HQMError, match=pattern_of("preferences.audit-kind")):
        hqm.Audit.load(tmp_path / "out" / "audit.json")
    status, _, errors = run("audit", log, "--judge", "openai/judge")
    assert status == 2
    assert tells(errors, "preferences.option", option="--judge")
    status, _, errors = run("audit", log, "shapes")
    assert status == 2
    assert tells(errors, "preferences.two-commands")
    data = json.loads(run("audit", log, "--json", "--dry-run")[1])
    assert len(data["audits"][0]["models"]) == 3


def test_columns_of_other_names(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("links,rechts,besser\n" + "x,y,x\ny,x,x\n" * 10 + "x,y,y\n" * 6)
    names = "model_a=links,model_b=rechts,winner=besser"
    status, output, _ = run("audit", path, "--columns", names, "--out", tmp_path / "out")
    assert status == 0
    assert tells(output, "preferences.differ", differ="1", pairs="1")
