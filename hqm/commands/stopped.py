"""`hqm run --until`: every benchmark of a command is asked until its rule is met."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

from hqm.administration.engines import Engine, Stop, never
from hqm.commands.session import Session
from hqm.decisions.rules import StoppingRule
from hqm.decisions.stopping import StoppedRun, ask_until, deciding_metric
from hqm.errors import DesignError
from hqm.types import ORIGINAL


def run_until(session: Session, stop: Stop = never, *, quiet: bool = True) -> list[StoppedRun]:
    """Ask the benchmarks of a session one after another; those that a signal or a bound keeps from
    being begun are left out.

    Raises
    ------
    DesignError
        A benchmark has no metric, form or respondents that the rule could be about; nobody was
        asked then.
    """
    rule = StoppingRule.parse(session.options.asking.until)
    for benchmark in session.benchmarks:
        deciding_metric(benchmark, rule.metric)
        session.check_respondents(benchmark)
        if session.options.what.forms and ORIGINAL not in session.options.what.forms:
            raise DesignError(
                "--until looks at the original form", remedy="Name it too: --forms original,..."
            )
    machine, runs = session.options.machine, []
    # processes of their own are worth starting for a look only where somebody asked for them
    spread: Engine | None = (
        session.engine() if machine.workers > 1 or machine.engine != "local" else None
    )
    say: Callable[[str], None] = (
        (lambda _: None) if quiet else partial(print, file=sys.stderr, flush=True)
    )
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
                each_look=spread,
                stop=stop,
                budget=session.budget,
                seed=session.options.asking.seed or 0,
                probabilities=session.options.asking.probabilities
                or session.options.asking.expected,
                retry_refused=session.options.asking.retry_refused,
                say=lambda text: say(f"hqm: {text}"),
            )
        )
    return runs
