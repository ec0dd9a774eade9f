"""Commands that ask respondents and judges: plan, run, audit."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hqm.commands.options import AsJson, Benchmarks, DryRun, NoWait, PriceIn, PriceOut, Quiet, StoreOption, asks
from hqm.commands.shared import (
    command,
    prices_of,
    readable,
    session_of,
    stem,
    store_path,
    writable,
    write_report,
    write_text,
)
from hqm.errors import UsageError

if TYPE_CHECKING:
    from hqm.administration.administer import Job
    from hqm.commands.session import Session, Wishes


@asks
def plan(
    benchmarks: Benchmarks,
    wishes: Wishes,
    store: StoreOption = None,
    price_in: PriceIn = None,
    price_out: PriceOut = None,
    as_json: AsJson = False,
) -> None:
    """Say before anything is asked: requests, how many are distinct, how many are stored, minutes, tokens, cost."""
    with readable(store_path(benchmarks, store)) as opened:
        session = session_of(benchmarks, opened, wishes)
        _show_plan(session, session.jobs(), prices_of(price_in, price_out), as_json)


@asks
def run(
    benchmarks: Benchmarks,
    wishes: Wishes,
    store: StoreOption = None,
    price_in: PriceIn = None,
    price_out: PriceOut = None,
    dry_run: DryRun = False,
    quiet: Quiet = False,
    no_wait: NoWait = False,
) -> None:
    """Put the forms to the respondents and store the answers; what is stored already is not asked again."""
    path = store_path(benchmarks, store)
    with readable(path) if dry_run else writable(path, no_wait) as opened:
        session = session_of(benchmarks, opened, wishes)
        complete = _administer(session, prices_of(price_in, price_out), dry_run, quiet)
    if not complete:
        raise typer.Exit(1)


@asks
def audit(
    wishes: Wishes,
    benchmarks: Annotated[
        list[str] | None, typer.Argument(help="Names, folders with a card.toml, or Python files; none with --table.")
    ] = None,
    store: StoreOption = None,
    out: Annotated[Path | None, typer.Option(help="The folder to write into; out/<name> unless given.")] = None,
    report: Annotated[
        Path | None, typer.Option(help="The report's file; report.html in the folder unless given.")
    ] = None,
    criterion: Annotated[
        Path | None, typer.Option(help="People's labels: item, respondent, label (CSV or JSON lines).")
    ] = None,
    metrics: Annotated[list[str] | None, typer.Option("--metric", help="A metric to audit; repeat it.")] = None,
    offline: Annotated[bool, typer.Option("--offline", help="Ask nobody: audit what the store holds.")] = False,
    table: Annotated[
        Path | None, typer.Option(help="Audit a published table of scores (CSV: respondent, then scores) instead.")
    ] = None,
    columns: Annotated[
        str | None, typer.Option(help="FIRST,OTHER: two columns of the table that are two administrations.")
    ] = None,
    items: Annotated[
        int | None, typer.Option(min=1, help="The number of items behind each score of the table.")
    ] = None,
    as_json: AsJson = False,
    price_in: PriceIn = None,
    price_out: PriceOut = None,
    dry_run: DryRun = False,
    quiet: Quiet = False,
    no_wait: NoWait = False,
) -> None:
    """Ask what is missing, then audit: reliability, validity, coverage, as a report and as audit.json."""
    from hqm.commands import show

    if table is not None:
        _audit_table(table, columns, items, wishes, as_json)
        return
    if not benchmarks:
        raise UsageError("no benchmark is named", remedy="Name one, or a published table with --table.")
    folder = out or (report.parent if report else Path("out") / stem(benchmarks))
    path = store_path(benchmarks, store, folder)
    page = report or folder / "report.html"
    with readable(path) if dry_run or (offline and path.exists()) else writable(path, no_wait) as opened:
        session = session_of(benchmarks, opened, replace(wishes, criterion=criterion, metrics=tuple(metrics or ())))
        complete = offline or _administer(session, prices_of(price_in, price_out), dry_run, quiet)
        if dry_run:
            return
        found = session.audit(command())
    write_text(folder / "audit.json", found.to_json())
    write_report(found, page)
    if as_json:
        print(found.to_json(), end="")
    else:
        show.audit(found)
        print(f"audit:  {folder / 'audit.json'}\nreport: {page}")
    if not complete:
        raise typer.Exit(1)


def _audit_table(table: Path, columns: str | None, items: int | None, wishes: Wishes, as_json: bool) -> None:
    """Audit a published table in place of a benchmark."""
    from hqm.auditing.families import read_families
    from hqm.auditing.published import audit_table, read_table
    from hqm.commands import show
    from hqm.version import __version__

    pair = tuple(part.strip() for part in columns.split(",")) if columns else None
    if pair is not None and len(pair) != 2:
        raise UsageError(f"--columns {columns!r} does not name two columns", remedy="Write --columns first,other.")
    families = read_families(wishes.families) if wishes.families else None
    found = audit_table(read_table(table), columns=pair, items=items, families=families)
    if as_json:
        show.print_json({"hqm_version": __version__, "command": command(), "audits": [found.to_dict()]})
    else:
        show.table_audit(found)


def _show_plan(
    session: Session, jobs: Sequence[Job], prices: tuple[float, float] | None, as_json: bool = False
) -> None:
    from hqm.administration.forecast import forecast
    from hqm.commands import show

    by_respondent: dict[tuple[str, str], list[Job]] = {}
    for job in jobs:
        by_respondent.setdefault((job.sitting.respondent.name, job.sitting.benchmark.name), []).append(job)
    forecasts = {key: forecast(session.store, mine, prices) for key, mine in by_respondent.items()}
    live = any(job.sitting.respondent.live for job in jobs) and not session.wishes.blind
    show.plan(forecasts, session.missing_images() if live else {}, as_json, session.pending_judgements())


def _administer(session: Session, prices: tuple[float, float] | None, dry_run: bool, quiet: bool) -> bool:
    """Ask what is missing; whether everything asked for was answered."""
    from hqm.administration.administer import administer
    from hqm.administration.forecast import spent
    from hqm.commands import show
    from hqm.commands.interrupt import interruption
    from hqm.commands.progress import bars

    if not dry_run:
        session.fetch_images()
    jobs = session.jobs()
    if dry_run:
        _show_plan(session, jobs, prices)
        return True
    if not session.wishes.blind and any(job.sitting.respondent.live for job in jobs):
        show.missing_images(session.missing_images())
    with interruption(quiet) as stop, bars(jobs, quiet) as progress:
        outcome = administer(session.store, jobs, progress, engine=session.engine(), stop=stop)
    for name, error in outcome.failed:
        print(f"hqm: {name} was given up: {error}", file=sys.stderr)
    if outcome.errors:
        print(
            f"hqm: {outcome.errors} answers are errors; run the same command again to ask them again.", file=sys.stderr
        )
    stored = sum(job.stored for job in jobs)
    print(f"asked {outcome.asked}, stored before {stored}, errors {outcome.errors}")
    show.spent(spent(session.store, jobs, prices))
    if stop():
        what = f"{stored + outcome.asked} answers are stored in {session.store.path}, {outcome.left} are left"
        print(f"hqm: interrupted: {what}. Go on with\n  {command()}", file=sys.stderr)
        raise typer.Exit(stop.status)
    return not outcome.failed and not outcome.errors and _judge(session, quiet)


def _judge(session: Session, quiet: bool) -> bool:
    """Put the answers to the judges, where the benchmark has any; whether every question was replied to."""
    from hqm.commands.progress import judging

    if not session.wishes.judges or not any(benchmark.roles for benchmark in session.benchmarks):
        return True
    with judging(quiet) as progress:
        outcome = session.judge(progress)
    for name, error in outcome.failed:
        print(f"hqm: the judge {name} was given up: {error}", file=sys.stderr)
    print(f"judges asked {outcome.asked}, errors {outcome.errors}")
    return not outcome.failed and not outcome.errors
