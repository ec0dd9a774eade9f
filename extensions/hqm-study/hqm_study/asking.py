"""`hqm audit --until`: the benchmarks of a session are asked until a rule is met."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from functools import partial

from hqm.reports.tables.table import number, percent

from hqm.administration.engines import Engine, Stop, never_stop
from hqm.commands.session import Session
from hqm.commands.terminal import print_lines, print_table
from hqm.errors import DesignError
from hqm.types import ORIGINAL
from hqm_study.picture_stops import stopped_in as stopped_in
from hqm_study.stopping import StoppedRun, StoppingRule, ask_until, deciding_metric

_MAX_PAIRS = 20
"""Pairs that are listed at most; of a longer list, only those that are not separated."""


def print_run(run: StoppedRun) -> None:
    """Print the respondents that stopped, the pairs, and how many answers were saved."""
    print_lines(f"{run.benchmark}: {run.note}" if run.note else "")
    rows = [
        (
            stop.respondent,
            f"{stop.items:,}",
            f"{stop.of_items:,}",
            number(stop.score) if stop.score is not None else "",
            f"{number(stop.low)} to {number(stop.high)}",
            stop.why,
        )
        for stop in run.stops
    ]
    print_table(
        f"{run.benchmark} until {run.rule}: {run.metric} of the full benchmark",
        ("respondent", "items", "of", run.metric, "95% at any time", "stopped when"),
        rows,
        right=(1, 2, 3, 4),
    )
    print_lines(*_stopping_notes(run))


def _stopping_notes(run: StoppedRun) -> Iterator[str]:
    """Yield the lines below the table of a run that a rule stopped."""
    stopped = {stop.respondent for stop in run.stops}
    running = [respondent for respondent in run.names if respondent not in stopped]
    if running:
        yield f"{run.benchmark}: not stopped by the rule yet: {', '.join(running)}"
    states = Counter(pair.state for pair in run.pairs)
    if states:
        yield f"pairs, on these items: {', '.join(f'{count} {state}' for state, count in states.items())}"
    pairs = run.pairs
    if len(pairs) > _MAX_PAIRS:
        pairs = tuple(pair for pair in pairs if pair.state != "separated")[:_MAX_PAIRS]
    words = {"within": f"not separated by more than {run.rule.separated or 0:g}"}
    for pair in pairs:
        yield (
            f"  {words.get(pair.state, pair.state)}: {run.names[pair.first]} and"
            f" {run.names[pair.second]}, {number(pair.difference)} after"
            f" {pair.pictures} pictures"
        )
    n_asked, n_answers = run.items
    if n_answers:
        yield (
            f"{run.benchmark}: {n_asked:,} of {n_answers:,} answers of the first run were asked"
            f" for, {percent(1 - n_asked / n_answers)} saved"
        )


def run_until(
    session: Session, stop: Stop | None = None, *, quiet: bool = True
) -> list[StoppedRun]:
    """Ask the benchmarks of a session one after another, each until the rule of `--until` is met. A
    signal or a bound ends the list early.

    Raises
    ------
    DesignError
        A benchmark has no metric, form or respondents that the rule could be about; nobody was
        asked then.
    """
    stop = stop or never_stop
    rule = StoppingRule.parse(session.options.asking.until)
    for benchmark in session.benchmarks:
        deciding_metric(benchmark, rule.metric)
        session.check_respondents(benchmark)
        form_names = session.options.material.form_names(benchmark.original.tasks)
        if form_names and ORIGINAL not in form_names:
            raise DesignError(
                "--until looks at the original form", remedy="Name it too: --forms original,..."
            )
    asking, compute = session.options.asking, session.options.compute
    # processes of their own are worth starting for a look only where somebody asked for them
    look_engine: Engine | None = None
    if compute.workers > 1 or compute.engine != "local":
        look_engine = session.engine()

    def say(text: str) -> None:
        if not quiet:
            print(f"hqm: {text}", file=sys.stderr, flush=True)

    runs = []
    for benchmark in session.benchmarks:
        if stop() or session.budget.reached:
            break
        runs.append(
            ask_until(
                rule,
                session.asks,
                benchmark,
                session.assignments(benchmark),
                partial(session.administrations, benchmark),
                engine=session.engine(),
                each_look=look_engine,
                stop=stop,
                budget=session.budget,
                seed=asking.seed or 0,
                probabilities=asking.probabilities or asking.expected,
                retry_errors=asking.retry_errors,
                say=say,
            )
        )
    return runs
