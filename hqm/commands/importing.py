"""Bring answers into a store: exports of other stores, and the logs of other tools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from hqm.commands.options import HOW, OUTPUT, WHAT, WHO, RunOptions
from hqm.commands.parameters import with_options
from hqm.commands.shared import session_of, writable
from hqm.errors import UsageError


@with_options("part", "data", "scoring", "parser", "partial", "as_json", "no_wait")
def import_(
    *,
    files: Annotated[
        list[Path],
        typer.Argument(
            rich_help_panel=WHAT,
            metavar="FILE",
            help=(
                "Exports of other stores; with --benchmark, logs of other tools, or folders of"
                " them."
            ),
        ),
    ],
    store: Annotated[
        Path,
        typer.Option(
            rich_help_panel=OUTPUT,
            metavar="FILE",
            help="The store to add to; made when it does not exist.",
        ),
    ],
    benchmark: Annotated[
        str | None,
        typer.Option(
            "--benchmark",
            rich_help_panel=WHAT,
            metavar="NAME",
            help="The benchmark that the logs answer.",
        ),
    ] = None,
    source: Annotated[
        str,
        typer.Option(
            "--from",
            rich_help_panel=WHAT,
            metavar="TOOL",
            help=(
                "Which tool wrote the logs: lmms-eval, vlmevalkit, inspect, eee or table; auto"
                " recognises it."
            ),
        ),
    ] = "auto",
    respondent: Annotated[
        str | None,
        typer.Option(
            "--respondent",
            rich_help_panel=WHO,
            metavar="NAME",
            help="The respondent's name, in place of the log's.",
        ),
    ] = None,
    run: Annotated[
        int | None,
        typer.Option(
            "--run",
            rich_help_panel=HOW,
            min=0,
            metavar="N",
            help="The first run to store under, in place of the log's.",
        ),
    ] = None,
    options: RunOptions,
) -> None:
    """Add answers to a store: from exports of other stores, or from the logs of other tools.

    Logs are matched to the benchmark's items by id, or by picture and question. What the store has
    already is left as it is.
    """
    from hqm.benchmark.logged import LogSettings

    if benchmark is not None:
        settings = LogSettings(source, respondent, run, options.who.partial)
        _import_logs(benchmark, files, store, settings, options)
        return
    if (source, respondent, run, options.who.partial) != ("auto", None, None, False):
        raise UsageError(
            "--from, --respondent, --run and --partial are for logs",
            remedy="Name what they answer with --benchmark.",
        )
    from hqm.store.exchange import import_store

    with writable(store, options.output.no_wait) as opened:
        for file in files:
            print(f"{import_store(file, opened)} new answers: {store}")


def _import_logs(
    name: str, files: Sequence[Path], path: Path, settings: object, options: RunOptions
) -> None:
    from hqm.administration.administering import administer
    from hqm.auditing.foreign import compare_scores
    from hqm.commands import show_logs

    asked = replace(options, who=replace(options.who, recorded=tuple(files)))
    with writable(path, options.output.no_wait) as opened:
        session = session_of([name], opened, asked)
        session.logs = settings  # type: ignore[assignment]
        outcome = administer(opened, session.jobs())
        for benchmark in session.benchmarks:
            taken = session.taken.get(benchmark.name)
            if taken is not None:
                forms = {form.name: form for form in session.forms(benchmark)}
                show_logs.taken(
                    benchmark,
                    taken,
                    compare_scores(benchmark, forms, taken.recordings),
                    options.output.as_json,
                )
    if not options.output.as_json:
        print(f"{outcome.asked} new answers: {path}")
        print(f"next:\n  hqm audit {name} --offline --store {path}")
