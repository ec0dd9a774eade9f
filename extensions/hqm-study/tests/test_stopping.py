"""`hqm audit --until`: intervals that hold at any time, the order of the pictures, stops, resumption,
and an audit of what was stopped.
"""

import csv
import itertools
import json
import math
import os
import re
import signal
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hqm_study.confidence_sequences import Wealth, confidence_sequence, separated_pairs
from hqm_study.picture_stops import picture_order, stopped_in
from hqm_study.stopping import StoppedRun, StoppingRule, ask_until, deciding_metric

import hqm
from hqm import Asks, DesignError, Request, Response, Store, UsageError
from hqm.administration.asks import Administration
from hqm.administration.stored_answers import respondents_in
from hqm.signature import digest
from hqm.types import Cell
from tests.conftest import Run, write_benchmark
from tests.messages import pattern_of, tells
from tests.perf.decisions_until import (
    FAMILIES,
    GAPS,
    WORLDS,
    Pairs,
    World,
    answers,
    decided,
    missed,
    wrong,
)
from tests.servers import PlannedServer, completion, question
from tests.test_interruptions import HQM, start, wait_until

PICTURES, ITEMS = 50, 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fifty pictures of four yes/no questions each."""
    rows = [
        {
            "id": f"q{i:03}",
            "prompt": f"Is there a thing number {i} in the image?",
            "target": "yes" if i % 2 else "no",
            "image": f"{i // ITEMS}.png",
            "cluster": f"{i // ITEMS}.png",
            "type": "existence",
        }
        for i in range(PICTURES * ITEMS)
    ]
    benchmark_folder = write_benchmark(
        tmp_path_factory.mktemp("made") / "made",
        rows,
        name="made",
        types=["existence"],
        labelled=True,
    )
    from PIL import Image

    for k in range(PICTURES):
        Image.new("RGB", (2, 2), (k, 0, 0)).save(benchmark_folder / f"{k}.png")
    return benchmark_folder


class Knowing:
    """A live respondent that answers a question rightly with a certain chance, the same answer each
    time.
    """

    live = True

    def __init__(
        self, name: str, chance: float, targets: dict[str, str], *, breaks_after: int | None = None
    ) -> None:
        self.name, self.chance, self.targets, self.breaks_after = (
            f"hf/{name}",
            chance,
            targets,
            breaks_after,
        )
        self.asked: list[Request] = []
        self.closed = 0

    def identity(self) -> dict[str, str]:
        return {"kind": "test", "model": self.name}

    def says(self, item: str, run: int = 0) -> str:
        lucky = int(digest([self.name, item, run])[3:11], 16) / 16**8 < self.chance
        right = self.targets[item] == "yes"
        return "Yes" if right == lucky else "No"

    def answer(self, requests: Sequence[Request]) -> Iterator[list[tuple[Request, Response]]]:
        for start_at in range(0, len(requests), 8):
            if self.breaks_after is not None and len(self.asked) >= self.breaks_after:
                raise hqm.RespondentError("it broke", location=self.name)
            batch = requests[start_at : start_at + 8]
            self.asked += batch
            yield [(r, Response(self.says(r.item, r.run))) for r in batch]

    def close(self) -> None:
        self.closed += 1


def respondents(benchmark: hqm.Benchmark, **chances: float) -> list[Knowing]:
    targets = {item.id: str(item.target) for item in benchmark.original.items}
    return [Knowing(name, chance, targets) for name, chance in chances.items()]


def ask(
    store: Store,
    benchmark: hqm.Benchmark,
    knowing: Sequence[Knowing],
    *rules: str,
    runs: int = 1,
    **settings: Any,
) -> StoppedRun:
    cells = [Administration(benchmark.original, run) for run in range(runs)]
    assignments = [hqm.assign(respondent, benchmark) for respondent in knowing]
    return ask_until(
        StoppingRule.parse(rules), Asks(store), benchmark, assignments, lambda _: cells, **settings
    )


# --- the intervals ---


def test_nobody_gains_by_betting_against_the_truth() -> None:
    """Over all orders of unequal pictures, some answers unscored, the wealth at the true mean is 1
    in the mean, exactly.
    """
    totals, items = np.array([3, 0, 2, 1, 0.0]), np.array([4, 1, 2, 2, 0.0])
    truth = totals.sum() / items.sum()
    sums = np.zeros((5, 2))
    orders = list(itertools.permutations(range(5)))
    for order in orders:
        wealth = Wealth(np.array([truth]), largest=4, population=5)
        for n, picture in enumerate(order):
            wealth.draw(totals[picture], items[picture])
            sums[n] += np.exp([wealth.log_wealth_above[0], wealth.log_wealth_below[0]])
    assert sums / len(orders) == pytest.approx(1.0, abs=1e-9)


def test_nobody_gains_by_betting_against_a_true_difference() -> None:
    scores = np.array([[2, -1, 0, 4.0]])
    items = np.array([3, 2, 1, 4.0])
    truth = scores.sum() / items.sum()
    orders = list(itertools.permutations(range(4)))
    wealths = []
    for order in orders:
        wealth = Wealth(np.array([[truth]]), -1.0, 1.0, 4, 4)
        for picture in order[:3]:
            wealth.draw(scores[:, picture], items[[picture]])
        wealths.append(np.exp([wealth.log_wealth_above[0, 0], wealth.log_wealth_below[0, 0]]))
    assert np.mean(wealths, axis=0) == pytest.approx(1.0, abs=1e-9)


def test_an_interval_ends_at_the_score_of_the_full_benchmark() -> None:
    rng = np.random.default_rng(3)
    sizes = rng.integers(1, 6, 60)
    scores = (rng.random(sizes.sum()) < 0.7).astype(float)
    scores[rng.random(scores.size) < 0.05] = np.nan
    pictures = np.repeat(np.arange(60), sizes)
    sequence = confidence_sequence(scores, pictures.tolist(), population=60)
    assert (
        sequence.lower[-1]
        == sequence.upper[-1]
        == sequence.estimate[-1]
        == pytest.approx(np.nanmean(scores))
    )
    assert (np.diff(sequence.lower[:-1]) >= 0).all(), "it only shrinks"
    assert (np.diff(sequence.upper[:-1]) <= 0).all()
    endless = confidence_sequence(scores, pictures.tolist())
    assert endless.half_width[-1] > 0.05, "about items like these, nothing is ever known exactly"
    assert endless.pictures_until(0.001) is None
    assert sequence.pictures_until(1.0) == 1


@pytest.mark.parametrize(
    "world",
    [WORLDS[i] for i in (0, 8, 17, 19, 21)] + [World(0.98, 1, 0.0, 120)],
    ids=lambda w: w.name,
)
def test_intervals_hold_at_any_time(world: World) -> None:
    """A subset of tests/perf/decisions_until.py; 400 runs leave .05 as .05 +- .022."""
    assert missed(world, 400, np.random.default_rng(5)) <= 0.072


def test_pairs_are_decided_rightly() -> None:
    """Nearly equal, clearly apart and in between; 250 runs leave .05 as .05 +- .028."""
    case = FAMILIES[2]
    assert (
        wrong(
            Pairs(case.means, case.smallest, World(case.world.mean, 4, 0.5, 60)),
            250,
            np.random.default_rng(6),
        )
        <= 0.07
    )


def test_half_the_answers_are_enough_for_twice_the_smallest_difference() -> None:
    assert np.median(decided(np.random.default_rng(7), GAPS[-1], 50).share) <= 0.5


def test_the_simulation_decides_as_the_function_does() -> None:
    case = Pairs((0.6, 0.6, 0.75, 0.9), 0.1, World(0.8, 3, 0.5, 60))
    simulated = decided(np.random.default_rng(9), case, 1)
    right, _ = answers(np.random.default_rng(9), case.world, case.means, 1)
    pairs = separated_pairs(
        right[0].reshape(4, -1), np.repeat(np.arange(60), 3).tolist(), smallest=0.1, population=60
    )
    assert {pair.state for pair in pairs} == {"separated", "within"}
    for j, pair in enumerate(pairs):
        if pair.pictures < 60:
            assert (pair.state, pair.pictures / 60) == (
                simulated.state[0, j],
                simulated.share[0, j],
            )
            assert pair.difference == pytest.approx(simulated.difference[0, j])


def test_equals_are_not_separated_and_everything_is_then_known() -> None:
    rng = np.random.default_rng(8)
    scores = (rng.random(200) < 0.8).astype(float)
    (identical,) = separated_pairs(
        np.stack([scores, scores]), np.repeat(np.arange(50), 4).tolist(), population=50
    )
    assert (identical.state, identical.pictures, identical.difference) == ("equal", 50, 0.0)
    (near_equal,) = separated_pairs(
        np.stack([scores, scores]),
        np.repeat(np.arange(50), 4).tolist(),
        population=50,
        smallest=0.1,
    )
    assert near_equal.state == "within"
    assert near_equal.pictures < 50
    (open_,) = separated_pairs(np.stack([scores, scores]), np.repeat(np.arange(50), 4).tolist())
    assert open_.state == "open"
    assert 0 < open_.p <= 1


@pytest.mark.parametrize(
    ("scores", "settings", "sentence"),
    [
        ([0.5, 1.5], {}, "outside 0 to 1"),
        ([0.5, 1.0, 0.0], {"pictures": ["a", "b", "a"]}, "do not stand together"),
        ([0.5, 1.0], {"population": 1}, "2 pictures were asked, of 1"),
        ([0.5, 1.0], {"pictures": ["a", "a"], "largest": 1}, "more than 1 items"),
        ([], {}, "0 items"),
    ],
)
def test_what_no_interval_can_be_made_of_is_refused(
    scores: list[float], settings: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(DesignError, match=sentence):
        confidence_sequence(scores, **settings)
    if len(scores) == 2:
        with pytest.raises(DesignError, match="fewer than two respondents"):
            separated_pairs([[0.0, 1.0]])


# --- the rule ---


@pytest.mark.parametrize(
    "text",
    [
        "seperated",
        "half_width",
        "half_width>=.1",
        "separated<=.1",
        "separated>=2",
        "half_width<=0",
        "half_width<=1e-x",
    ],
)
def test_what_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is no rule"):
        StoppingRule.parse([text])


def test_rules_read_back_equal() -> None:
    rule = StoppingRule.parse(["separated >= .02", "half_width <= 0.01"])
    assert StoppingRule.parse(str(rule).split("+")) == rule
    with pytest.raises(UsageError, match="twice"):
        StoppingRule.parse(["separated", "separated>=.1"])
    with pytest.raises(UsageError, match="one metric"):
        StoppingRule.parse(["separated(f1)", "half_width(accuracy)<=.1"])


def test_the_metric_is_a_mean_of_item_scores(folder: Path) -> None:
    benchmark = hqm.load(folder)
    assert deciding_metric(benchmark).name == "accuracy"
    with pytest.raises(DesignError, match=pattern_of("metric.no-share", metric="f1 of made")):
        deciding_metric(benchmark, "f1")
    f1 = hqm.load(
        write_benchmark(
            folder.parent / "by_f1",
            [{"id": "a", "prompt": "Is it?", "target": "yes"}],
            name="by_f1",
            scoring={"audited": ["f1"]},
        )
    )
    assert deciding_metric(f1).name == "accuracy"
    captions = hqm.load("shapes_caption")
    assert deciding_metric(captions).name == "chair_s", "chair_i is a ratio of sums"
    with pytest.raises(DesignError, match="judged by a model"):
        deciding_metric(_judged())


def _judged() -> hqm.Benchmark:
    class Judged(hqm.Benchmark):
        roles: ClassVar[dict[str, str]] = {"judge": "says what is right"}

    return Judged(hqm.load("shapes_vqa").card, Path("."))


# --- asking ---


def test_the_order_is_drawn_once_and_recorded(store: Store, folder: Path) -> None:
    benchmark = hqm.load(folder)
    order = picture_order(store, benchmark, seed=1)
    assert sorted(order.clusters) == sorted(f"{k}.png" for k in range(PICTURES))
    assert picture_order(store, benchmark, seed=2) == order, "the recorded one holds"
    with Store(":memory:") as second_store:
        assert picture_order(second_store, benchmark, seed=1) == order
    with Store(":memory:") as second_store:
        assert picture_order(second_store, benchmark, seed=2).clusters != order.clusters
    assert [item.image for item in order.items(benchmark.original, 3, 4)] == [
        order.clusters[3]
    ] * ITEMS


def test_respondents_stop_at_different_times(store: Store, folder: Path) -> None:
    benchmark = hqm.load(folder)
    knowing = respondents(benchmark, guessing=0.5, able=0.9, abler=0.93)
    stopped_run = ask(store, benchmark, knowing, "separated>=.1", runs=2)
    guessing, able, abler = stopped_run.stops
    assert guessing.pictures < able.pictures == abler.pictures
    assert [pair.state for pair in stopped_run.pairs] == ["separated", "separated", "within"]
    assert "it was separated from 2" in guessing.why
    assert tells(able.why, "stopping.within", margin="0.1", others=1)
    for stop, respondent in zip(stopped_run.stops, knowing, strict=True):
        asked_pictures = set(stopped_run.order.clusters[: stop.pictures])
        assert stop.items == stop.pictures * ITEMS
        for run_number in range(2):
            requests = [r for r in respondent.asked if r.run == run_number]
            assert len(requests) == stop.items, (
                "the second run is asked about the pictures of the first"
            )
            assert {benchmark.original.by_id[r.item].cluster for r in requests} == asked_pictures
        truth = np.mean(
            [
                respondent.says(item.id) == ("Yes" if item.target == "yes" else "No")
                for item in benchmark.original.items
            ]
        )
        assert stop.low <= truth <= stop.high
    assert all(respondent.closed for respondent in knowing)


def test_both_rules_hold_together(store: Store, folder: Path) -> None:
    benchmark = hqm.load(folder)
    knowing = respondents(benchmark, guessing=0.5, able=0.95)
    stopped_run = ask(store, benchmark, knowing, "separated", "half_width<=.08")
    assert all(stop.high - stop.low <= 0.16 for stop in stopped_run.stops)
    assert all(
        "half of its interval was" in stop.why and "separated from 1" in stop.why
        for stop in stopped_run.stops
    )
    with Store(":memory:") as second_store:
        separated_only = ask(
            second_store, benchmark, respondents(benchmark, guessing=0.5, able=0.95), "separated"
        )
    assert separated_only.stops[0].pictures < stopped_run.stops[0].pictures


def test_a_width_out_of_reach_asks_everything_and_says_so(store: Store, folder: Path) -> None:
    benchmark = hqm.load(folder)
    (able,) = respondents(benchmark, able=0.8)
    stopped_run = ask(store, benchmark, [able], "half_width<=.0001")
    assert stopped_run.stops[0].why == "every item was asked"
    assert len(able.asked) == PICTURES * ITEMS
    assert stopped_in(Asks(store), benchmark, respondents_in(Asks(store), benchmark)) is None, (
        "nothing was stopped"
    )


def test_whom_a_failure_ends_holds_up_nobody(store: Store, folder: Path) -> None:
    benchmark = hqm.load(folder)
    knowing = respondents(benchmark, guessing=0.5, able=0.95, broken=0.7)
    knowing[2].breaks_after = 40
    stopped_run = ask(store, benchmark, knowing, "separated")
    assert [name for name, _ in stopped_run.outcome.failed] == ["hf/broken"]
    assert [stop.respondent for stop in stopped_run.stops] == ["hf/guessing", "hf/able"]
    assert len(knowing[0].asked) < PICTURES * ITEMS


def test_one_respondent_or_one_picture_is_refused(
    store: Store, folder: Path, tmp_path: Path
) -> None:
    benchmark = hqm.load(folder)
    with pytest.raises(DesignError, match="compares respondents, and made has 1"):
        ask(store, benchmark, respondents(benchmark, able=0.9), "separated")
    rows = [
        {"id": f"{i}", "prompt": f"Is it {i}?", "target": "yes", "cluster": "a"} for i in range(9)
    ]
    single = hqm.load(write_benchmark(tmp_path / "single", rows, name="single"))
    with pytest.raises(DesignError, match="all about one picture"):
        ask(store, single, respondents(single, able=0.9), "half_width<=.1")
    assert store.count() == 0, "nobody was asked"


def test_a_bound_ends_it_and_the_next_command_goes_on(store: Store, folder: Path) -> None:
    from hqm.respondents.server_limits import Budget

    benchmark = hqm.load(folder)
    with Store(":memory:") as whole_store:
        expected = ask(
            whole_store, benchmark, respondents(benchmark, guessing=0.5, able=0.9), "separated"
        )
    first = respondents(benchmark, guessing=0.5, able=0.9)
    ended = ask(store, benchmark, first, "separated", budget=Budget(max_requests=101))
    assert ended.stops == ()
    assert sum(len(respondent.asked) for respondent in first) == 101
    second = respondents(benchmark, guessing=0.5, able=0.9)
    stopped_run = ask(store, benchmark, second, "separated")
    assert (stopped_run.stops, stopped_run.pairs) == (expected.stops, expected.pairs)
    requests = [
        (respondent.name, r.item) for respondent in (*first, *second) for r in respondent.asked
    ]
    assert len(requests) == len(set(requests)) == sum(stop.items for stop in stopped_run.stops), (
        "nothing is asked twice"
    )


def test_a_tighter_rule_goes_on_where_the_first_stopped(store: Store, folder: Path) -> None:
    benchmark = hqm.load(folder)
    (able,) = respondents(benchmark, able=0.8)
    wide = ask(store, benchmark, [able], "half_width<=.12").stops[0]
    before = len(able.asked)
    close = ask(store, benchmark, [able], "half_width<=.06").stops[0]
    assert before == wide.items < close.items == len(able.asked)
    assert wide.low <= close.low <= close.high <= wide.high
    assert ask(store, benchmark, [able], "half_width<=.06").outcome.asked == 0


# --- a real server, killed in the middle ---


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[PlannedServer]:
    """Three models behind one server: one is right nine times in ten, the others seven and five
    times.
    """
    original = {item.prompt: str(item.target) for item in hqm.load(folder).original.items}
    targets = {
        prompt.partition(" number ")[2].split()[0]: target for prompt, target in original.items()
    }

    def reply(_number: int, body: dict[str, Any], _headers: dict[str, str]) -> Any:
        if "messages" not in body:
            return completion("")
        prompt = question(body)
        number = prompt.partition(" number ")[2].split()[0]
        turned = not any(original_prompt in prompt for original_prompt in original)
        lucky = (
            int(digest([body["model"], number])[3:11], 16) / 16**8
            < {"able": 0.9, "middling": 0.7, "guessing": 0.5}[body["model"]]
        )
        return completion("Yes" if (targets[number] == "yes") == lucky != turned else "No")

    with PlannedServer(reply) as running:
        yield running


def command(folder: Path, server: PlannedServer, *extra: str) -> list[str]:
    names = [
        argument
        for model in ("able", "guessing")
        for argument in ("-r", f"openai/{model}@{server.url}")
    ]
    return [
        "audit",
        "--no-report",
        str(folder),
        *names,
        "--forms",
        "original",
        "--runs",
        "1",
        "-q",
        *extra,
    ]


def stored(path: Path) -> set[tuple[int, int, int, int]]:
    with closing(sqlite3.connect(path)) as db:
        return set(db.execute("SELECT respondent, run, ask, attempt FROM answers"))


@pytest.fixture(scope="module")
def stopped(
    folder: Path, server: PlannedServer, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, hqm.BenchmarkAudit]:
    """A run that a rule stopped, and the audit of its store."""
    store = tmp_path_factory.mktemp("stopped") / "store.sqlite"
    names = [f"openai/{model}@{server.url}" for model in ("able", "middling", "guessing")]
    rules = ["separated", "half_width<=.12"]
    outcome = hqm.run(
        str(folder), names, store=store, until=rules, forms=["original", "parallel"], runs=2
    )
    assert outcome.outcome.errors == 0
    assert len(outcome.stopped[0].stops[0].respondent) > 0
    return store, hqm.audit(str(folder), store=store)


def test_a_run_that_was_killed_goes_on_and_stops_at_the_same_picture(
    folder: Path, server: PlannedServer, tmp_path: Path, run: Run
) -> None:
    rule = ["--until", "half_width<=.09"]
    status, whole_output, err = run(
        *command(folder, server, *rule, "--store", tmp_path / "whole.sqlite")
    )
    assert status == 0, err
    before = len(server.asked)
    server.delay = 0.05
    process = start([*HQM, *command(folder, server, *rule)], tmp_path / "killed.sqlite")
    wait_until(lambda: len(server.asked) >= before + 50, process)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    server.delay = 0.0
    n_stored = len(stored(tmp_path / "killed.sqlite"))
    assert 0 < n_stored < len(stored(tmp_path / "whole.sqlite"))
    status, rerun_output, err = run(
        *command(folder, server, *rule, "--store", tmp_path / "killed.sqlite")
    )
    assert status == 0, err
    assert f"stored before {n_stored}, errors 0" in rerun_output
    # the same stops, and every question once
    assert rerun_output.splitlines()[1:] == whole_output.splitlines()[1:]
    assert len(stored(tmp_path / "killed.sqlite")) == len(stored(tmp_path / "whole.sqlite"))
    assert all(attempt == 0 for *_, attempt in stored(tmp_path / "killed.sqlite"))
    with (
        Store(tmp_path / "killed.sqlite", readonly=True) as a,
        Store(tmp_path / "whole.sqlite", readonly=True) as b,
    ):
        orders = [
            [r["order_of_pictures"] for r in opened_store.records() if "order_of_pictures" in r]
            for opened_store in (a, b)
        ]
        assert orders[0] == orders[1]
        assert len(orders[0]) == 1
        # and nothing is left to ask
    status, third, _ = run(*command(folder, server, *rule, "--store", tmp_path / "killed.sqlite"))
    assert "asked 0," in third
    # without the rule, the rest is asked, and nothing is stopped any more
    status, _, err = run(*command(folder, server, "--store", tmp_path / "killed.sqlite"))
    assert status == 0, err
    assert len(stored(tmp_path / "killed.sqlite")) == 2 * PICTURES * ITEMS
    with Store(tmp_path / "killed.sqlite", readonly=True) as opened:
        evidence = hqm.gather(hqm.load(folder), opened)
    assert evidence.stopped == {}
    assert evidence.reference == Cell()


# --- the audit of a stopped administration ---


def test_a_stopped_administration_is_a_cell_of_its_own(
    stopped: tuple[Path, hqm.BenchmarkAudit],
) -> None:
    _, audit = stopped
    stop_record = audit.stopped
    cell = Cell.parse(audit.reference)
    assert cell.until == f"separated+half_width<=0.12,{stop_record['pictures']}of{PICTURES}pictures"
    assert str(cell) == audit.reference
    assert {Cell.parse(name).until for name in audit.cells} == {cell.until}
    assert len(audit.cells) == 3, "two runs and a parallel form, on the same pictures"
    assert (
        stop_record["pictures"]
        == min(row["pictures"] for row in stop_record["respondents"])
        < PICTURES
    )
    assert (stop_record["items"], stop_record["of_items"]) == (
        stop_record["pictures"] * ITEMS,
        PICTURES * ITEMS,
    )
    for row in stop_record["respondents"]:
        assert row["inclusion"] == row["pictures"] / PICTURES
        assert row["stopped_after"] == row["pictures"] * ITEMS
        assert row["low"] <= row["score"] <= row["high"]
        assert row["high"] - row["low"] <= 0.24
    assert all(
        sum(states.values()) == stop_record["items"]
        for respondent in audit.respondents
        for states in respondent.states.values()
    )
    assert all(
        "missing" not in states or not states["missing"]
        for respondent in audit.respondents
        for states in respondent.states.values()
    )


def test_every_number_says_that_it_was_stopped(stopped: tuple[Path, hqm.BenchmarkAudit]) -> None:
    _, audit = stopped
    until_field = f"|until:{Cell.parse(audit.reference).until}|"
    assert audit.all_estimates
    assert all(until_field in e.signature for e in audit.all_estimates), "whatever it is"
    assert all(e.n_items <= audit.stopped["items"] for e in audit.all_estimates)
    with_numbers = {
        e.indicator.partition(".")[0] for e in audit.all_estimates if e.value is not None
    }
    assert {
        "test_retest",
        "consistency",
        "discriminability",
        "items",
        "solvability",
        "types",
    } <= with_numbers
    assert all(e.reason for e in audit.all_estimates if e.value is None), (
        "what cannot be computed says why"
    )


def test_an_audit_of_it_is_that_of_the_benchmark_with_these_pictures_only(
    stopped: tuple[Path, hqm.BenchmarkAudit], folder: Path, tmp_path: Path
) -> None:
    store, audit = stopped
    with Store(store, readonly=True) as opened:
        order = picture_order(opened, hqm.load(folder))
        used = {
            item.id for item in order.items(hqm.load(folder).original, 0, audit.stopped["pictures"])
        }
        rows = hqm.gather(hqm.load(folder), opened).to_frame().to_dict("records")
    assert {row["item"] for row in rows} == used
    lines = [json.loads(line) for line in (folder / "items.jsonl").read_text().splitlines()]
    small = write_benchmark(
        tmp_path / "made",
        [line for line in lines if line["id"] in used],
        name="made",
        types=["existence"],
        labelled=True,
    )
    for line in lines:
        target = small / line["image"]
        if not target.exists():
            target.write_bytes((folder / line["image"]).read_bytes())
    plain = hqm.audit(str(small), store=store)
    stopped_values = {
        (e.indicator, e.metric, e.facet): (e.value, e.n_items) for e in audit.all_estimates
    }
    plain_values = {
        (e.indicator, e.metric, e.facet): (e.value, e.n_items) for e in plain.all_estimates
    }
    compared = [
        key
        for key in stopped_values
        if key[0].partition(".")[0] in ("test_retest", "consistency", "discriminability")
    ]
    assert len(compared) > 20
    for key in compared:
        assert stopped_values[key][0] == (
            None if plain_values[key][0] is None else pytest.approx(plain_values[key][0])
        ), key
        assert stopped_values[key][1] == plain_values[key][1]


def test_reports_frames_and_json_say_it(
    stopped: tuple[Path, hqm.BenchmarkAudit], folder: Path, tmp_path: Path, run: Run
) -> None:
    store, audit = stopped
    status, output, err = run(
        "audit", folder, "--offline", "--store", store, "--out", tmp_path / "out", "-q", "--all"
    )
    assert status == 0, err
    sentence = f"{audit.stopped['items']} of {PICTURES * ITEMS} items"
    assert sentence in output
    page = (tmp_path / "out" / "evidence.html").read_text()
    assert "Where asking was stopped" in page
    assert (
        f"stopped after {audit.stopped['respondents'][0]['stopped_after']} of {PICTURES * ITEMS}"
        " items, when" in page
    )
    read = hqm.Audit.load(tmp_path / "out" / "audit.json").audits[0]
    assert read.stopped == audit.stopped
    scores = audit.to_frame("scores")
    assert set(scores["until"]) == {Cell.parse(audit.reference).until}
    status, _, err = run(
        "report", tmp_path / "out" / "audit.json", "--to", tmp_path / "numbers.csv"
    )
    assert status == 0, err
    with (tmp_path / "numbers.csv").open(newline="") as file:
        assert all(
            "until:" in row["signature"] for row in csv.DictReader(file) if row.get("signature")
        )
    tex = tmp_path / "paper.tex"
    status, _, err = run("report", tmp_path / "out" / "audit.json", "--to", tex)
    assert status == 0, err
    assert f"{audit.items_used} items" in tex.read_text()
    broken = json.loads((tmp_path / "out" / "audit.json").read_text())
    broken["audits"][0]["stopped"]["respondents"][0]["inclusion"] = 2
    (tmp_path / "broken.json").write_text(json.dumps(broken))
    with pytest.raises(hqm.DataError, match="inclusion"):
        hqm.Audit.load(tmp_path / "broken.json")


def test_an_export_carries_the_order_and_the_stops(
    stopped: tuple[Path, hqm.BenchmarkAudit], folder: Path, tmp_path: Path, run: Run
) -> None:
    store, audit = stopped
    status, _, err = run("export", store, "--to", tmp_path / "all.jsonl")
    assert status == 0, err
    status, _, err = run("import", tmp_path / "all.jsonl", "--store", tmp_path / "copy.sqlite")
    assert status == 0, err
    with Store(tmp_path / "copy.sqlite", readonly=True) as opened:
        evidence = hqm.gather(hqm.load(folder), opened)
    rows = [
        sorted(stop_record["respondents"], key=lambda row: row["respondent"])
        for stop_record in (evidence.stopped, audit.stopped)
    ]
    assert rows[0] == rows[1]
    assert tuple(map(str, evidence.matrices)) == audit.cells


def test_labels_are_planned_on_the_pictures_in_common(
    stopped: tuple[Path, hqm.BenchmarkAudit], folder: Path, tmp_path: Path, run: Run
) -> None:
    store, audit = stopped
    plan = tmp_path / "plan.jsonl"
    status, output, err = run(
        "label", "plan", folder, "--labels", 40, "--store", store, "--out", plan
    )
    assert status == 0, (output, err)
    with Store(store, readonly=True) as opened:
        order = picture_order(opened, hqm.load(folder))
    used = {
        item.id for item in order.items(hqm.load(folder).original, 0, audit.stopped["pictures"])
    }
    items = set(re.findall(r"\bq\d{3}\b", plan.read_text()))
    assert items
    assert items <= used


def test_the_command_refuses_before_anybody_is_asked(
    folder: Path, server: PlannedServer, tmp_path: Path, run: Run
) -> None:
    before = len(server.asked)
    for rule, sentence, code in (
        ("separatd", "is no rule", 2),
        ("separated(f1)", "no share of answers", 1),
        ("half_width(nothing)<=.1", "has no metric", 2),
    ):
        status, _, err = run(
            *command(folder, server, "--until", rule, "--store", tmp_path / "none.sqlite")
        )
        assert status == code, err
        assert sentence in err
    status, _, err = run(
        "audit",
        "--no-report",
        folder,
        "-r",
        f"openai/able@{server.url}",
        "--until",
        "separated",
        "--store",
        tmp_path / "none.sqlite",
    )
    assert status == 1
    assert "compares respondents, and made has 1" in err
    assert len(server.asked) == before


def test_no_wealth_is_lost_to_rounding_at_the_bounds() -> None:
    """A respondent that is always right: every smaller score is excluded, 1 never."""
    sequence = confidence_sequence(np.ones(60), population=100)
    assert sequence.upper[-1] == 1.0
    assert sequence.lower[-1] > 0.9
    assert math.isfinite(sequence.lower[0])
    assert not any(math.isnan(value) for value in sequence.half_width)
