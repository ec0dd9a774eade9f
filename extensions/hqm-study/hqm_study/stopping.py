"""Ask the pictures in a random order, chunk by chunk, until a stopping rule is met for each
respondent.

The interval of a score is about the full benchmark: these items, as this respondent would answer
all of them in this run. It shrinks to that score as the benchmark is used up. Everything is
recomputed from the stored answers, chunk by chunk, so that a command that was killed resumes and
stops at the same picture.

It is one module because the next requests depend on what the last answers decided.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from hqm.administration.administering import Outcome, administer, sum_outcomes
from hqm.administration.asks import Administration, Asks, Assignment, Job, plan_job
from hqm.administration.engines import Batch, Engine, Stop, Work, make_engine, never_stop
from hqm.administration.engines.local import answer_here, is_light
from hqm.administration.stored_answers import Answers, respondents_of
from hqm.benchmark.adapter import Benchmark
from hqm.errors import DesignError, HQMError, UsageError
from hqm.respondents.base import Respondent
from hqm.respondents.server_limits import Budget
from hqm.scoring.matrix import MatrixBuilder, ScoreMatrix, unit_scores
from hqm.scoring.metrics import Array, Metric
from hqm.types import ORIGINAL, Cell, Form, finite
from hqm_study.confidence_sequences import PairDecision, RunningInterval, RunningPairs
from hqm_study.picture_stops import PictureOrder, identity_digest, picture_order, record_stop
from hqm_study.picture_stops import Stop as StoppedAt

_RULE = re.compile(
    r"(?P<what>separated|half_width)(?:\((?P<metric>[\w.-]+)\))?"
    r"(?:(?P<sign>>=|<=)(?P<number>[0-9.eE-]+))?"
)
_REMEDY = (
    'Write "separated", "separated>=.02" (the smallest difference that matters) or'
    ' "half_width<=.01".'
)


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """The precision at which a respondent is asked no more.

    - `separated`: Every pair with it is separated, or known to differ by less than this; None
      where that is not asked.
    - `half_width`: Half of the interval for its score is this short; None where that is not asked.
    - `metric`: The metric that the rule is about; the leading one that is a share of answers
      unless given.

    >>> rule = StoppingRule.parse(["separated>=.02", "half_width(accuracy)<=.01"])
    >>> rule
    StoppingRule(separated=0.02, half_width=0.01, metric='accuracy', level=0.95)
    >>> str(rule)
    'separated>=0.02+half_width<=0.01'
    """

    separated: float | None = None
    half_width: float | None = None
    metric: str = ""
    level: float = 0.95

    @classmethod
    def parse(cls, texts: Sequence[str]) -> StoppingRule:
        """Read the texts of `--until`.

        Raises
        ------
        UsageError
            A text is no rule, a rule is given twice, or the rules are about different metrics.
        """
        rules: dict[str, float] = {}
        metrics: dict[str, None] = {}
        for text in texts:
            match = _RULE.fullmatch(re.sub(r"\s", "", text))
            if match is None:
                raise UsageError(f"--until {text!r} is no rule", remedy=_REMEDY)
            if match["what"] in rules:
                raise UsageError(
                    f"--until says {match['what']} twice", remedy="Give each rule once."
                )
            rules[match["what"]] = _rule_limit(match, text)
            if match["metric"]:
                metrics[match["metric"]] = None
        if len(metrics) > 1:
            raise UsageError(f"--until is about {' and '.join(metrics)}", remedy="Name one metric.")
        return cls(rules.get("separated"), rules.get("half_width"), next(iter(metrics), ""))

    def __str__(self) -> str:
        parts = []
        if self.separated is not None:
            parts.append(f"separated>={self.separated:g}" if self.separated else "separated")
        if self.half_width is not None:
            parts.append(f"half_width<={self.half_width:g}")
        return "+".join(parts)


def _rule_limit(match: re.Match[str], text: str) -> float:
    """The number of a rule: the smallest difference, or the half width."""
    expected_sign = ">=" if match["what"] == "separated" else "<="
    if match["sign"] is None and match["what"] == "separated":
        return 0.0
    try:
        value = float(match["number"]) if match["sign"] == expected_sign else -1.0
    except (TypeError, ValueError):
        value = -1.0
    if not 0 < value < 1:
        raise UsageError(
            f"--until {text!r} is no rule", remedy=f"{_REMEDY} The number lies between 0 and 1."
        )
    return value


_FIRST_LOOK = 20
"""The pictures after which is looked for the first time."""
_GROWTH = 1.2
"""How many times as many pictures each further look has."""

Administrations = Callable[[Respondent], Sequence[Administration]]
Request = tuple[Assignment, Administration, set[str]]


@dataclass(frozen=True, kw_only=True)
class StoppedRun:
    """The outcome of asking a benchmark until a rule was met."""

    benchmark: str
    rule: StoppingRule
    metric: str
    order: PictureOrder
    stops: tuple[StoppedAt, ...]
    """A row for each respondent that was asked enough."""
    pairs: tuple[PairDecision, ...]
    """What is known of every pair, by `names`; empty unless the rule is about pairs."""
    names: tuple[str, ...]
    outcome: Outcome
    jobs: tuple[Job, ...]
    """All that was planned, whether it was asked now or stored before."""
    note: str = ""
    """Which metric the rule is about, where it is not the benchmark's leading one."""

    @property
    def items(self) -> tuple[int, int]:
        """The items that respondents were asked in the first run, and those that the full benchmark
        has for them.
        """
        return sum(stop.items for stop in self.stops), sum(stop.of_items for stop in self.stops)


def deciding_metric(benchmark: Benchmark, metric_name: str = "") -> Metric:
    """The metric that a stopping rule is about: a share of answers, each 0 or 1.

    Raises
    ------
    DesignError
        The metric, or every metric of the benchmark, is something else; or a model judges the
        answers.
    """
    if benchmark.roles:
        raise DesignError(
            f"the answers to {benchmark.name} are judged by a model, and --until looks at scores"
            " while it asks",
            remedy="Ask all items, or a part of them with --part or --limit.",
        )
    means = [metric for metric in benchmark.metrics if metric.share]
    names = ", ".join(metric.name for metric in means)
    if metric_name:
        metric = benchmark.metric(metric_name)
        if not metric.share:
            remedy = f"Name one that is: {names}." if means else "Ask all items."
            raise DesignError(
                f"{metric_name} of {benchmark.name} is no share of answers, each 0 or 1",
                remedy=remedy,
            )
        return metric
    leading = [metric for metric in benchmark.audited[:1] if metric.share]
    if not means:
        raise DesignError(
            f"no metric of {benchmark.name} is a share of answers, each 0 or 1, which --until needs",
            remedy="Ask all items.",
        )
    return (leading or means)[0]


def ask_until(
    rule: StoppingRule,
    asks: Asks,
    benchmark: Benchmark,
    assignments: Sequence[Assignment],
    administrations: Administrations,
    *,
    engine: Engine | None = None,
    each_look: Engine | None = None,
    stop: Stop = never_stop,
    budget: Budget | None = None,
    seed: int = 0,
    probabilities: bool = False,
    retry_errors: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> StoppedRun:
    """Ask a benchmark's pictures in a random order until a rule is met for each respondent.

    The first run of the original form decides. Its further runs, and the other forms, are then
    asked about the same pictures.

    Parameters
    ----------
    administrations
        Respondent -> what it is to be asked, the first run of the original form among it.
    engine
        Who runs the requests of the further administrations.
    each_look
        Who runs those of the first run; this process unless given, which keeps small models and
        servers between looks.
    seed
        What the order of the pictures is drawn from, where the store has none yet.
    say
        Told after every look how far it is.

    Raises
    ------
    DesignError
        The rule cannot be met by these respondents, items or metrics.
    """
    metric = deciding_metric(benchmark, rule.metric)
    order = _checked_order(rule, asks, benchmark, assignments, seed)
    plans = {"probabilities": probabilities, "retry_errors": retry_errors}
    state = _RunState(rule, metric, asks, benchmark, assignments, order)
    spent = budget or Budget()
    asking = _Asking(asks, stop, spent, plans)
    respondents = [assignment.respondent for assignment in assignments]
    local_engine: Engine = each_look or partial(_ask_locally, state)
    try:
        for n_pictures in _look_sizes(len(order.clusters)):
            if not asking.ask(state.next_requests(n_pictures), local_engine):
                break
            state.give_up(asking.failed)
            state.update(n_pictures)
            if n_pictures < len(order.clusters) or state.open:
                say(
                    f"{benchmark.name}: {n_pictures:,} of {len(order.clusters):,} pictures,"
                    f" {len(state.open)} of {len(respondents)} respondents go on"
                )
            if not state.open:
                break
    finally:
        for respondent in respondents:
            respondent.close()
    if not state.open:
        asking.ask(state.further_requests(administrations), engine or make_engine())
    leading = benchmark.audited[0]
    note = ""
    if not leading.share:
        note = f"the rule is about {metric.name}: {leading.name} is no share of answers"
    return StoppedRun(
        benchmark=benchmark.name,
        rule=rule,
        metric=metric.name,
        order=order,
        stops=tuple(stopped for _, stopped in sorted(state.stops.items())),
        pairs=state.pairs.summary() if state.pairs is not None else (),
        names=tuple(respondent.name for respondent in respondents),
        outcome=asking.outcome(),
        jobs=tuple(asking.jobs),
        note=note,
    )


def _checked_order(
    rule: StoppingRule,
    asks: Asks,
    benchmark: Benchmark,
    assignments: Sequence[Assignment],
    seed: int,
) -> PictureOrder:
    """The order of the pictures; refused where the rule cannot be met by any answers."""
    if rule.separated is not None and len(assignments) < 2:
        raise DesignError(
            f"--until {rule} compares respondents, and {benchmark.name} has {len(assignments)}",
            remedy="Name a second respondent, or stop by the width: --until 'half_width<=.01'.",
        )
    order = picture_order(asks.store, benchmark, seed)
    if len(order.clusters) < 2:
        raise DesignError(
            f"the items of {benchmark.name} are all about one picture, and pictures are what is"
            " drawn",
            remedy="Leave out --until.",
        )
    return order


def _look_sizes(total: int) -> Iterator[int]:
    """The numbers of pictures after which the rule is checked; the last is all of them."""
    n = min(_FIRST_LOOK, total)
    while n < total:
        yield n
        n = min(total, math.ceil(n * _GROWTH))
    yield total


class _Asking:
    """Asks missing items, and collects the outcomes."""

    def __init__(self, asks: Asks, stop: Stop, budget: Budget, plans: dict[str, bool]) -> None:
        self._asks, self._stop, self._budget, self._plans = asks, stop, budget, plans
        self.jobs: list[Job] = []
        self.failed: dict[str, HQMError] = {}
        self._outcomes: list[Outcome] = []

    def ask(self, requests: Iterable[Request], engine: Engine) -> bool:
        """Ask the items that are missing; whether all of them were asked that can be."""
        jobs = [
            plan_job(self._asks, assignment, administration, item_ids=items, **self._plans)
            for assignment, administration, items in requests
        ]
        self.jobs += jobs
        outcome = administer(
            self._asks.store, jobs, engine=engine, stop=self._stop, budget=self._budget
        )
        self._outcomes.append(outcome)
        self.failed.update(outcome.failed)
        return not outcome.left and not self._stop() and not self._budget.reached

    def outcome(self) -> Outcome:
        return sum_outcomes(self._outcomes)


class _RunState:
    """The intervals and pairs of the respondents so far, and which of them are still asked."""

    def __init__(
        self,
        rule: StoppingRule,
        metric: Metric,
        asks: Asks,
        benchmark: Benchmark,
        assignments: Sequence[Assignment],
        order: PictureOrder,
    ) -> None:
        self.rule, self.metric, self.order = rule, metric, order
        self._asks, self._benchmark, self._assignments = asks, benchmark, assignments
        self._cell = Cell(ORIGINAL, 0, sight=asks.sight)
        builder = MatrixBuilder(
            self._cell,
            benchmark.original,
            benchmark.verdict,
            benchmark.subsets,
            benchmark.groupings,
            benchmark.relate,
        )
        builder.add("", [None] * len(benchmark.original.items))
        sizes = np.bincount(builder.build().units(metric).clusters)
        if len(sizes) < 2:
            raise DesignError(
                f"{metric.name} of {benchmark.name} looks at one picture, and pictures are what is"
                " drawn",
                remedy="Leave out --until, or name another metric.",
            )
        benchmark_size = {"population": len(sizes), "largest": int(sizes.max())}
        self.intervals = [RunningInterval(**benchmark_size, level=rule.level) for _ in assignments]
        self.pairs = (
            RunningPairs(
                len(assignments), smallest=rule.separated, **benchmark_size, level=rule.level
            )
            if rule.separated is not None
            else None
        )
        self.pictures = 0
        self.open = set(range(len(assignments)))
        self._given_up: set[int] = set()
        self.stops: dict[int, StoppedAt] = {}

    def give_up(self, failed: Iterable[str]) -> None:
        """Stop asking the respondents of these names, which cannot answer."""
        names = set(failed)
        self._given_up |= {r for r in self.open if self._assignments[r].respondent.name in names}
        self.open -= self._given_up

    def next_requests(self, n_pictures: int) -> list[Request]:
        """The requests of the first run, up to the `n_pictures`-th picture."""
        items = self.order.items(self._benchmark.original, self.pictures, n_pictures)
        ids = {item.id for item in items}
        first_run = Administration(self._benchmark.original, 0)
        return [(self._assignments[r], first_run, ids) for r in sorted(self.open)]

    def further_requests(self, administrations: Administrations) -> list[Request]:
        """The requests of all further administrations, about the pictures of the first run."""
        requests: list[Request] = []
        for r, stopped in sorted(self.stops.items()):
            assignment = self._assignments[r]
            items = self.order.items(self._benchmark.original, 0, stopped.pictures)
            ids = {item.id for item in items}
            requests.extend(
                (assignment, administration, ids)
                for administration in administrations(assignment.respondent)
                if (administration.form.name, administration.run) != (ORIGINAL, 0)
            )
        return requests

    def update(self, n_pictures: int) -> None:
        """Add the scores of the pictures up to the `n_pictures`, and close the respondents of whom
        enough is known.
        """
        for scores in self._scores(self.pictures, n_pictures):
            for r in self.open:
                self.intervals[r].draw(scores[r])
            if self.pairs is not None:
                self.pairs.draw(scores)
        self.pictures = n_pictures
        for r in sorted(self.open):
            reason = self._stop_reason(r)
            if reason:
                self._close(r, reason)

    def _scores(self, first: int, stop: int) -> Iterator[Array]:
        """Picture by picture, (respondents, items): the item scores; NaN where there is none."""
        form = Form(ORIGINAL, self.order.items(self._benchmark.original, first, stop))
        open_assignments = [self._assignments[r] for r in sorted(self.open)]
        rows = {}
        for r, assignment in zip(sorted(self.open), open_assignments, strict=True):
            for stored in respondents_of(self._asks.store, [assignment]):
                rows[r] = stored
        if not rows:
            return
        matrix = Answers(self._asks).matrix(self._benchmark, self._cell, form, list(rows.values()))
        units = _metric_units(matrix, self.metric)
        if units is None:
            return
        scores, clusters = units
        all_scores = np.full((len(self._assignments), scores.shape[1]), np.nan)
        all_scores[list(rows)] = scores
        for cluster in range(int(clusters.max()) + 1):
            yield all_scores[:, clusters == cluster]

    def _stop_reason(self, r: int) -> str:
        """Why a respondent is asked no more; empty where it is still to be asked."""
        rule, interval, reasons = self.rule, self.intervals[r], []
        is_exhausted = self.pictures == len(self.order.clusters)
        rule_holds = True
        if rule.half_width is not None:
            rule_holds = interval.half_width <= rule.half_width and not is_exhausted
            reasons.append(f"half of its interval was {interval.half_width:.2g}")
        if self.pairs is not None:
            partners = set(range(len(self._assignments))) - self._given_up
            rule_holds = rule_holds and not self.pairs.is_open(r, partners)
            reasons.append(self._describe_pairs(r, partners))
        if is_exhausted:
            pair_reasons = reasons[1:] if rule.half_width is not None else reasons
            return "; ".join(["every item was asked", *filter(None, pair_reasons)])
        return "; ".join(reasons) if rule_holds else ""

    def _describe_pairs(self, r: int, partners: set[int]) -> str:
        """From how many others a respondent is separated, and to how many it is equal, in words."""
        states: Counter[str] = Counter()
        for pair in self.pairs.decisions if self.pairs is not None else ():
            members = {pair.first, pair.second}
            if r in members and members <= partners:
                states[pair.state] += 1
        sentences = []
        if states["separated"]:
            sentences.append(f"it was separated from {states['separated']}")
        if states["within"]:
            sentences.append(
                f"not separated by more than {self.rule.separated:g} from {states['within']}"
            )
        if states["equal"]:
            sentences.append(f"equal to {states['equal']}")
        return " and ".join(sentences)

    def _close(self, r: int, reason: str) -> None:
        """Ask a respondent no more, and store where it stopped and why."""
        assignment, interval = self._assignments[r], self.intervals[r]
        form, name = self._benchmark.original, assignment.respondent.name
        stopped = StoppedAt(
            benchmark=self._benchmark.name,
            data=form.digest,
            sight=self._cell.sight,
            who=identity_digest(name, assignment.identity()),
            respondent=name,
            rule=str(self.rule),
            metric=self.metric.name,
            level=self.rule.level,
            seed=self.order.seed,
            pictures=self.pictures,
            of_pictures=len(self.order.clusters),
            items=len(self.order.items(form, 0, self.pictures)),
            of_items=len(form.items),
            score=finite(interval.estimate),
            low=float(interval.low),
            high=float(interval.high),
            why=reason,
        )
        record_stop(self._asks.store, stopped)
        self.stops[r] = stopped
        self.open.discard(r)


def _metric_units(
    matrix: ScoreMatrix, metric: Metric
) -> tuple[Array, np.ndarray[tuple[int], np.dtype[np.int64]]] | None:
    """(respondents, units) scores and (units,) clusters in the order of the items; None where the
    metric looks at none of them.
    """
    if metric.subset and metric.subset not in matrix.subsets:
        return None
    if metric.group and metric.group not in matrix.groups:
        return None
    units = matrix.units(metric)
    return (unit_scores(units, metric), units.clusters) if units.clusters.size else None


def _ask_locally(state: _RunState, work: Work, stop: Stop) -> Iterator[Batch]:
    """Ask in this process; what is light, or alone, stays open for the next look."""
    is_only_respondent = len(state.open) == 1
    yield from answer_here(
        work,
        range(len(work)),
        stop,
        lambda respondent: not (is_only_respondent or is_light(respondent)),
    )
