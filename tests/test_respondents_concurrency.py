"""How many requests are in flight at a server: servers of several kinds in simulated time, and real
ones.
"""

import heapq
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest

from hqm import Request, Response, Sampling
from hqm.respondents import make_respondent
from hqm.respondents.base import RespondentName
from hqm.respondents.openai_server import OpenAIRespondent
from hqm.respondents.server_limits import Concurrency
from hqm.respondents.vllm import VllmRespondent
from tests.conftest import counts
from tests.servers import JSON, PlannedServer, completion, question

Latency = Callable[[int, float], float]
"""Requests in flight and the time now -> seconds until the answer."""


@dataclass(frozen=True)
class Simulated:
    """A simulated asking: answers a second, and the numbers in flight that were allowed, answer by
    answer.
    """

    rate: float
    limits: Sequence[int]
    refusals: int

    @property
    def late(self) -> float:
        """The mean number over the second half."""
        half = self.limits[len(self.limits) // 2 :]
        return sum(half) / len(half)


Refuses = Callable[[int, int, float], bool]
"""Requests that were ever asked, requests in flight that are not turned away, and the time now ->
whether another one is.
"""


def simulate(
    latency: Latency,
    questions: int,
    *,
    refuses: Refuses = lambda *_: False,
    wait: float = 0.5,
    first: int = 8,
    max_limit: int = 256,
) -> Simulated:
    """Ask a server whose latency is a function; what it turns away, after 10 ms, waits and is asked
    again.

    As in `OpenAIRespondent`: what waits is not in flight, its place is taken when an answer comes,
    and everybody waits where the server turns away whatever it is asked.
    """
    concurrency, order = Concurrency(first, max_limit), count()
    concurrency.begin(0.0)
    flying: list[tuple[float, int, float, bool]] = []
    asleep: list[float] = []
    left, ready, slots, clock, paused, n_requests, refusals, limits = (
        questions,
        0,
        first,
        0.0,
        0.0,
        0,
        0,
        [],
    )
    while left or flying or asleep or ready:
        while (
            clock >= paused
            and len(flying) < concurrency.limit
            and (ready or (left and len(flying) < slots))
        ):
            left, ready = (left, ready - 1) if ready else (left - 1, ready)
            n_requests += 1
            refused = refuses(n_requests, sum(not turned for *_, turned in flying), clock)
            heapq.heappush(
                flying,
                (
                    clock + (0.01 if refused else latency(len(flying) + 1, clock)),
                    next(order),
                    clock,
                    refused,
                ),
            )
        wakes = max(asleep[0], clock) if asleep else math.inf
        if ready and not flying:
            wakes = min(wakes, max(paused, clock))
        if not flying or wakes < flying[0][0]:
            clock = wakes if wakes < math.inf else max(clock, paused)
            while asleep and asleep[0] <= clock:
                heapq.heappop(asleep)
                ready += 1
            slots = max(slots, 1 if not flying else slots)
            continue
        clock, _, began, refused = heapq.heappop(flying)
        if refused:
            if concurrency.refused(began, clock):
                paused = clock + wait
            heapq.heappush(asleep, clock + wait)
            refusals, slots = refusals + 1, slots - 1
        else:
            if left:
                concurrency.answered(began, clock)
            slots = concurrency.limit
        limits.append(concurrency.limit)
    return Simulated(questions / clock, limits, refusals)


class Queue:
    """The latency of a server that answers `rate` a second after `base` seconds, and lets the rest
    wait.
    """

    def __init__(self, rate: float, base: float, rng: random.Random) -> None:
        self.rate, self.base, self.rng, self.free = rate, base, rng, 0.0

    def __call__(self, _flying: int, clock: float) -> float:
        self.free = max(clock, self.free) + self.rng.uniform(0.5, 1.5) / self.rate
        return self.free - clock + self.base * self.rng.uniform(0.6, 1.4)


# --- simulated time ---


def test_the_number_doubles_where_every_request_brings_more() -> None:
    rng = random.Random(1)
    simulated = simulate(lambda *_: rng.lognormvariate(-3, 0.5), 4000)
    assert simulated.limits[300] >= 128, "8, 16, 32, 64, 128: five rounds"
    assert simulated.late > 150
    assert simulated.rate > 0.6 * 256 / math.exp(-3 + 0.125)


@pytest.mark.parametrize(("rate", "base"), [(800.0, 0.02), (20.0, 2.0), (5.0, 0.4)])
def test_what_only_waits_in_the_servers_queue_is_not_asked(rate: float, base: float) -> None:
    """A number of rate x base fills the server; more of them wait."""
    simulated = simulate(Queue(rate, base, random.Random(2)), 4000)
    assert simulated.rate > 0.85 * rate
    assert simulated.late < max(3 * rate * base, 12)


@pytest.mark.parametrize(
    ("latency", "expected"), [(0.001, 128), (0.02, 75), (0.1, 15), (1.0, 8), (60.0, 8)]
)
def test_the_first_answer_adds_what_one_after_another_would_take_a_second_and_a_half(
    latency: float, expected: int
) -> None:
    concurrency = Concurrency(8, 256)
    concurrency.begin(0.0)
    concurrency.answered(began=0.0, timestamp=latency)
    assert concurrency.limit == expected + 1, "and each answer one more"


def test_what_is_added_at_once_is_no_reason_to_double_where_it_only_queues() -> None:
    """A server that answers 400 a second, each after 5 ms: 2 fill it, 256 are allowed at once."""
    simulated = simulate(Queue(400.0, 0.005, random.Random(5)), 4000)
    assert simulated.rate > 0.85 * 400
    assert simulated.late < 24


def test_a_server_that_batches_is_given_its_batches() -> None:
    """Each answer takes longer the more there are, and all together come faster: 21.6 a second at
    32, 64 at 178.
    """
    rng = random.Random(3)
    simulated = simulate(lambda flying, _: (1 + 0.01 * flying) * rng.uniform(0.3, 1.7), 5000)
    assert simulated.late > 128
    assert simulated.rate > 55


@pytest.mark.parametrize("holds", [1, 3, 32, 100])
def test_a_server_that_holds_so_many_is_kept_busy_and_seldom_asked_for_more(holds: int) -> None:
    simulated = simulate(lambda *_: 0.5, 3000, refuses=lambda _, flying, __: flying >= holds)
    assert simulated.rate > 0.7 * holds / 0.5
    assert simulated.late <= holds + 1
    assert simulated.refusals < 0.05 * 3000


def lowered(first: int = 63) -> Concurrency:
    """One that was told at 64 in flight, at the time 1, that it is too much."""
    concurrency = Concurrency(first, 256)
    concurrency.begin(0.0)
    concurrency.answered(began=0.0, timestamp=0.5)
    assert not any(concurrency.refused(began=0.0, timestamp=1.0) for _ in range(20))
    return concurrency


def test_a_refusal_halves_once_for_all_that_were_in_flight_and_the_number_comes_back() -> None:
    concurrency = lowered()
    assert concurrency.limit == 32
    concurrency.answered(began=0.5, timestamp=1.5)
    assert concurrency.limit == 32, "it was asked for before"
    for began in (
        2.0,
        3.0,
        4.0,
    ):  # what was asked before is answered, what is asked now is not: a quarter at least stays
        concurrency.answered(began=0.5, timestamp=began)
        assert not concurrency.refused(began=began, timestamp=began)
    assert concurrency.limit == 16
    limits = []
    for _ in range(450):
        concurrency.answered(began=5.0, timestamp=5.1)
        limits.append(concurrency.limit)
    assert limits[31] == 48, "three quarters come back at once"
    assert [limit for limit, later_limit in pairwise(limits[40:]) if limit != later_limit][:6] == [
        48,
        56,
        60,
        62,
        63,
        64,
    ]


@pytest.mark.parametrize("n_answers", range(236, 257))
def test_a_window_that_a_refusal_fills_is_judged_once(n_answers: int) -> None:
    """41 of 242 are refused, so it is halved; of the next 257 a share like that is refused again,
    while all that is answered was asked before.
    """
    concurrency = Concurrency(63, 256)
    concurrency.begin(0.0)
    for _ in range(201):
        concurrency.answered(began=0.0, timestamp=0.5)
    while concurrency.limit > 128:
        concurrency.refused(began=1.0, timestamp=1.0)
    for _ in range(n_answers):
        concurrency.answered(began=0.5, timestamp=1.1)
    assert not any(concurrency.refused(began=2.0, timestamp=2.0) for _ in range(257 - n_answers))
    # more than a quarter of the share before: the server refuses whatever the number is
    assert concurrency.limit == (256 if n_answers <= 246 else 64)


class CheckedConcurrency(Concurrency):
    """Counts how often one event changes the number, and holds that it stays in its bounds."""

    n_changes = 0

    def _change(self, limit: int) -> None:
        super()._change(limit)
        self.n_changes += 1
        assert 1 <= self.limit <= self.maximum

    def happens(self, event: Callable[[float, float], bool], began: float, now: float) -> None:
        n_requests = self._before + self._asked
        self.n_changes = 0
        event(began, now)
        assert event != self.refused or self.n_changes <= 1, "it is judged once"
        # it is counted once, or it ends what was counted
        assert self._before + self._asked in (0, 1, n_requests, n_requests + 1)
        assert 0 <= self._scattered <= self._asked <= 2 * max(self.maximum, 32)
        assert 0 <= self._habit <= 0.25
        assert 0 <= self._count < max(self._wanted, 1)


def test_no_order_of_answers_and_refusals_breaks_what_holds_of_the_number() -> None:
    """Stretches of answers, of refusals and of both, asked before or after the last halving; 300
    seeds take all 72 branches of `Concurrency` above `enter` (coverage.py).
    """
    for seed in range(counts(3000)):
        rng = random.Random(seed)
        first = rng.choice((1, 2, 8, 63))
        concurrency = CheckedConcurrency(first, first + rng.choice((0, 1, 12, 256)))
        concurrency.begin(0.0)
        now, length, refused_share, early_share, step, latency = 0.0, 0, 0.0, 0.0, 0.0, 0.0
        for _ in range(1500):
            if not length:
                length = rng.choice((1, 20, 100, 2 * concurrency.limit, 4 * concurrency.limit))
                refused_share, early_share = rng.choice((0, 0.1, 0.2, 1)), rng.choice((0, 0.5, 1))
                step, latency = rng.choice((0, 0.001, 0.5)), rng.choice((0.001, 0.1, 3.0))
                if rng.random() < 0.05:
                    concurrency.begin(now)
                if rng.random() < 0.1:
                    concurrency.unanswered()
            length -= 1
            now += step
            halved = max(concurrency._halved, 0.0)
            is_refused = rng.random() < refused_share
            # refusals come at once, so that few of them are of requests before the halving
            is_early = rng.random() < early_share / (10 if is_refused else 1)
            began = halved - latency if is_early else max(now - latency, halved)
            event = concurrency.refused if is_refused else concurrency.answered
            concurrency.happens(event, began, now)


def test_a_server_that_was_closed_at_first_is_given_less_when_it_is_full() -> None:
    """What a closed server refuses is no share of what it refuses when it is open."""
    concurrency = Concurrency(8, 256)
    concurrency.begin(0.0)
    for second in range(100):
        concurrency.refused(began=float(second), timestamp=second + 0.5)
    for _ in range(200):
        concurrency.answered(began=200.0, timestamp=201.0)
    limit = concurrency.limit
    for _ in range(limit):
        concurrency.refused(began=202.0, timestamp=203.0)
    assert concurrency.limit == limit // 2


def test_a_server_that_turns_everything_away_is_asked_by_few_until_it_answers() -> None:
    concurrency = lowered()
    assert all(concurrency.refused(began=began, timestamp=began + 0.1) for began in (1.2, 2.2, 3.2))
    assert concurrency.limit == 8
    assert concurrency.answered(began=3.2, timestamp=3.4), (
        "it was sent beside what was turned away, so the server is back"
    )
    assert concurrency.limit == 32
    fixed = Concurrency(5, 5)
    fixed.begin(0.0)
    assert [fixed.refused(began=began, timestamp=began) for began in (1.0, 2.0)] == [False, True]
    assert (
        fixed.limit,
        fixed.answered(began=3.0, timestamp=3.1),
        fixed.answered(began=3.0, timestamp=3.1),
    ) == (
        5,
        True,
        False,
    )


def test_the_very_first_that_are_turned_away_say_nothing_of_a_number() -> None:
    concurrency = Concurrency(8, 256)
    concurrency.begin(0.0)
    for _ in range(8):
        concurrency.refused(began=0.0, timestamp=0.1)
    for _ in range(8):
        concurrency.answered(began=0.3, timestamp=0.4)
    assert concurrency.limit == 16


@pytest.mark.parametrize("latency", [0.02, 0.2, 2.0])
def test_bursts_of_refusals_hold_back_little_more_than_what_was_turned_away(latency: float) -> None:
    """20 of every 500 requests, the first among them, wait for 200 ms; against 64 in flight that
    never adapt.
    """

    def burst(n_requests: int, _flying: int, _clock: float) -> bool:
        return n_requests % 500 < 20

    adaptive, fixed = (
        simulate(
            lambda *_: latency, 8000, refuses=burst, wait=0.2, first=first, max_limit=max_limit
        )
        for first, max_limit in ((8, 256), (64, 64))
    )
    assert adaptive.rate > 0.85 * fixed.rate
    assert adaptive.refusals == fixed.refusals


@pytest.mark.parametrize("latency", [0.02, 0.5])
@pytest.mark.parametrize("share", [0.01, 0.05, 0.1])
@pytest.mark.parametrize("seed", range(counts(20)))
def test_refusals_at_random_hold_back_nobody(share: float, latency: float, seed: int) -> None:
    """A server that turns away so many whatever is in flight, against 64 that never adapt."""
    rng = random.Random(seed)

    def ask(first: int, max_limit: int) -> Simulated:
        return simulate(
            lambda *_: latency * rng.uniform(0.6, 1.4),
            8000,
            refuses=lambda *_: rng.random() < share,
            first=first,
            max_limit=max_limit,
        )

    adaptive, fixed = ask(8, 256), ask(64, 64)
    assert adaptive.rate > 0.7 * fixed.rate
    assert adaptive.late > 64


@pytest.mark.parametrize("n_refused", [1, 2, 3])
def test_a_few_of_the_first_requests_may_be_turned_away_before_any_is_answered(
    n_refused: int,
) -> None:
    """They come back sooner than answers, and say nothing of a number."""
    concurrency = Concurrency(8, 256)
    concurrency.begin(0.0)
    assert not any(concurrency.refused(began=0.0, timestamp=0.01) for _ in range(n_refused))
    concurrency.answered(began=0.0, timestamp=0.02)
    assert concurrency.limit == 76, "as if nobody had been turned away"


@pytest.mark.parametrize("seed", range(counts(40)))
def test_a_habit_seen_in_few_requests_permits_no_less_than_an_unknown_one(seed: int) -> None:
    """A server that answers 600 a second and turns away a tenth, whatever the number is."""
    rng = random.Random(seed)
    simulated = simulate(
        Queue(600.0, 0.02, rng), 2000, refuses=lambda *_: rng.random() < 0.1, wait=0.02
    )
    assert simulated.rate > 0.7 * 600


@pytest.mark.parametrize(
    ("rate", "size", "latency"), [(20.0, 20, 0.5), (8.0, 60, 1.0), (100.0, 10, 0.05)]
)
def test_a_server_with_so_many_answers_a_second_is_asked_for_hardly_more(
    rate: float, size: int, latency: float
) -> None:
    """A bucket of tokens: `size` at once, then `rate` a second; what is turned away waits for half
    a second.
    """
    left, before = float(size), 0.0

    def empty(_n_requests: int, _flying: int, clock: float) -> bool:
        nonlocal left, before
        left, before = min(size, left + rate * (clock - before)), clock
        refused = left < 1
        left -= not refused
        return refused

    simulated = simulate(lambda *_: latency, 3000, refuses=empty)
    assert simulated.rate > 0.85 * rate
    assert simulated.refusals < 0.08 * 3000


def test_a_server_that_is_closed_for_a_while_is_not_hammered() -> None:
    """Ten seconds at a tenth of a second an answer; whatever is turned away waits for one
    second.
    """
    closed: list[float] = []

    def refuses(_n_requests: int, _flying: int, clock: float) -> bool:
        if 2 <= clock < 12:
            closed.append(clock)
        return 2 <= clock < 12

    simulated = simulate(lambda *_: 0.1, 10_000, refuses=refuses, wait=1.0)
    late_refusals = [moment for moment in closed if moment > closed[0] + 0.5]
    assert len(closed) - len(late_refusals) <= 256, "what was in flight"
    assert len(late_refusals) < 128 + 8 * 9, "half of them once more, then a few each second"
    assert simulated.rate > 0.5 * 10_000 / (10_000 / 2560 + 10)


def test_a_number_that_the_name_gives_stays() -> None:
    concurrency = Concurrency(5, 5)
    concurrency.begin(0.0)
    for began in range(100):
        concurrency.answered(float(began), began + 0.5)
    concurrency.refused(200.0, 201.0)
    assert (concurrency.limit, concurrency.unanswered()) == (5, False)


# --- real servers ---


def answers(respondent: OpenAIRespondent, requests: Sequence[Request]) -> list[Response]:
    try:
        return [response for batch in respondent.answer(requests) for _, response in batch]
    finally:
        respondent.close()


def questions(number: int, image: Callable[[int], Path | None] = lambda _: None) -> list[Request]:
    return [Request(f"q{n}", image(n), Sampling(), n) for n in range(number)]


def test_more_is_in_flight_where_the_server_answers_at_once_and_pictures_stay_together(
    tmp_path: Path,
) -> None:
    from PIL import Image

    paths = [tmp_path / f"{i:02}.png" for i in range(50)]
    for i, path in enumerate(paths):
        Image.new("RGB", (4, 4), (i, 0, 0)).save(path)
    with PlannedServer(
        lambda _n, body, _h: completion(question(body)),
        delay=0.1,
        min_in_flight=lambda number: 8 if number < 8 else 16,
    ) as server:
        respondent = OpenAIRespondent(RespondentName.parse(f"openai/tiny@{server.url}"))
        assert {r.state for r in answers(respondent, questions(300, lambda n: paths[n % 50]))} == {
            "ok"
        }
        assert 16 <= server.max_in_flight <= 256
        order = [body["messages"][0]["content"][0]["image_url"]["url"] for _, body in server.asked]
    positions: dict[str, list[int]] = {}
    for index, url in enumerate(order):
        positions.setdefault(url, []).append(index)
    assert len(positions) == 50
    # requests that begin together may overtake one another on their way
    assert sum(max(p) - min(p) for p in positions.values()) / 50 < 20


def test_a_fixed_number_is_never_exceeded_and_an_adapting_one_not_its_most() -> None:
    def yes(*_: object) -> Any:
        return completion("Yes.")

    with PlannedServer(yes, delay=0.02, min_in_flight=lambda _: 3) as server:
        respondent = make_respondent(f"openai/tiny@{server.url}?concurrency=3")
        assert len(answers(respondent, questions(60))) == 60  # type: ignore[arg-type]
        assert server.max_in_flight == 3
    with PlannedServer(yes, delay=0.02, min_in_flight=lambda n: 8 if n < 8 else 12) as server:
        adapting = OpenAIRespondent(RespondentName.parse(f"openai/tiny@{server.url}"), maximum=12)
        assert len(answers(adapting, questions(150))) == 150
        assert server.max_in_flight == 12


class RecordedConcurrency(Concurrency):
    """Keeps every number, in the order in which they were allowed."""

    def __init__(self, first: int, maximum: int) -> None:
        self.limits: list[int] = []
        super().__init__(first, maximum)

    def _change(self, limit: int) -> None:
        super()._change(limit)
        self.limits.append(limit)


def test_bursts_of_429_halve_the_number_and_every_answer_comes() -> None:
    def reply(number: int, body: dict[str, Any], _headers: dict[str, str]) -> Any:
        # the first burst is more than may be unrelated to any number, however fast the machine is
        # and the last one leaves enough answers to come back in
        if 40 <= number < 90 or (100 <= number < 300 and number % 100 in range(40, 60)):
            return 429, {**JSON, "Retry-After-Ms": "30"}, b'{"error": {"message": "slow down"}}'
        return completion(question(body))

    with PlannedServer(reply, delay=0.02) as server:
        respondent = OpenAIRespondent(RespondentName.parse(f"openai/tiny@{server.url}"), retries=20)
        respondent.concurrency = recorded = RecordedConcurrency(8, 256)
        got = {
            request.prompt: r for batch in respondent.answer(questions(400)) for request, r in batch
        }
    assert {prompt: response.text for prompt, response in got.items()} == {
        f"q{n}": f"q{n}" for n in range(400)
    }
    limits = recorded.limits
    halved = [index for index in range(1, len(limits)) if limits[index] == limits[index - 1] // 2]
    assert halved, "a burst halves it"
    lowest = limits.index(min(limits[halved[0] :]), halved[0])
    assert max(limits[lowest:]) > limits[lowest], "and it comes back"


def test_more_is_asked_while_the_first_answers_take_their_time() -> None:
    with PlannedServer(lambda *_: completion("Yes."), min_in_flight=lambda _: 128) as server:
        respondent = OpenAIRespondent(RespondentName.parse(f"openai/tiny@{server.url}"))
        assert len(answers(respondent, questions(129))) == 129
        assert server.max_in_flight == 128


def test_a_server_of_vllm_is_given_more() -> None:
    inner = VllmRespondent(RespondentName.parse("vllm/x"))._client("http://127.0.0.1:9")
    assert (inner.concurrency.limit, inner.concurrency.maximum) == (32, 512)
    fixed = VllmRespondent(RespondentName.parse("vllm/x?concurrency=3"))._client(
        "http://127.0.0.1:9"
    )
    assert (fixed.concurrency.limit, fixed.concurrency.maximum) == (3, 3)
