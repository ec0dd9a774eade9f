"""What `hqm run --until` prints: who stopped where and why, and what is known of each pair."""

from __future__ import annotations

import importlib
from collections import Counter
from typing import TYPE_CHECKING

from hqm.commands.terminal import print_all, terminal_table

if TYPE_CHECKING:
    from hqm.decisions.stopping import StoppedRun

_MOST = 20
"""Pairs that are listed; of more, only those that are not separated."""


def stopped_run(run: StoppedRun) -> None:
    """A table of the respondents, the pairs, and what was saved."""
    tables = importlib.import_module("hqm.reports.tables")
    asked, of = run.items
    if run.note:
        print(f"{run.benchmark}: {run.note}")
    table = terminal_table(
        f"{run.benchmark} until {run.rule}: {run.metric} of the full benchmark",
        "respondent",
        "items",
        "of",
        run.metric,
        "95% at any time",
        "stopped when",
        right=(1, 2, 3, 4),
    )
    for at in run.stops:
        interval = f"{tables.number(at.low)} to {tables.number(at.high)}"
        score = "" if at.score is None else tables.number(at.score)
        table.add_row(at.respondent, f"{at.items:,}", f"{at.of_items:,}", score, interval, at.why)
    print_all(table)
    left = [name for name in run.names if name not in {at.respondent for at in run.stops}]
    if left:
        print(f"{run.benchmark}: not stopped by the rule yet: {', '.join(left)}")
    states = Counter(pair.state for pair in run.pairs)
    if run.pairs:
        print(f"pairs: {', '.join(f'{count} {state}' for state, count in states.items())}")
        for pair in (
            run.pairs
            if len(run.pairs) <= _MOST
            else [p for p in run.pairs if p.state != "separated"][:_MOST]
        ):
            first, second = run.names[pair.first], run.names[pair.second]
            print(
                f"  {_said(pair.state, run)}: {first} and {second},"
                f" {tables.number(pair.difference)} after {pair.pictures} pictures"
            )
    if of:
        print(
            f"{run.benchmark}: {asked:,} of {of:,} answers of the first run were asked for,"
            f" {tables.percent(1 - asked / of)} saved"
        )


def _said(state: str, run: StoppedRun) -> str:
    return f"not separated by more than {run.rule.separated:g}" if state == "within" else state
