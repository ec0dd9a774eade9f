"""The command line: `hqm list · check · forms · plan · run · score · audit · report · export · import`."""

from __future__ import annotations

import importlib
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from hqm.errors import DataError, HQMError, UsageError
from hqm.options import (
    AsJson,
    Benchmarks,
    Data,
    DryRun,
    Images,
    NoWait,
    ParserOption,
    Part,
    PriceIn,
    PriceOut,
    Quiet,
    ScoringOption,
    StoreOption,
    asks,
)

if TYPE_CHECKING:
    from hqm.administer import Job
    from hqm.audit import Audit
    from hqm.session import Session, Wishes
    from hqm.store import Store

app = typer.Typer(
    name="hqm",
    help="A psychometric auditor for hallucination benchmarks of large vision-language models.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def main() -> None:
    """Run the command line; an error of HQM is one sentence and a non-zero exit status."""
    try:
        app()
    except HQMError as error:
        print(f"hqm: {error}", file=sys.stderr)
        raise SystemExit(2 if isinstance(error, UsageError) else 1) from None
    except KeyboardInterrupt:
        print(f"hqm: interrupted. What was answered is stored; go on with\n  {_command()}", file=sys.stderr)
        raise SystemExit(130) from None


def _store_path(names: Sequence[str], store: Path | None, out: Path | None = None) -> Path:
    if store is not None:
        return store
    return (out or Path("out") / _stem(names)) / "store.sqlite"


def _stem(names: Sequence[str]) -> str:
    return "-".join(Path(name).stem for name in names)


@app.command("list")
def list_(
    what: Annotated[str, typer.Argument(help="benchmarks, respondents, parsers or indicators.")] = "benchmarks",
) -> None:
    """List what HQM knows: benchmarks, embedded respondents, parsers, indicators."""
    from hqm import show

    show.known(what)


@app.command()
def check(benchmarks: Benchmarks, data: Data = None, images: Images = None, as_json: AsJson = False) -> None:
    """Print what a benchmark's data hold: counts, types, duplicates, label balance, and every oddity known of it."""
    from hqm import show
    from hqm.registry import load_all

    found = [benchmark for name in benchmarks for benchmark in load_all(name, data=data, images=images)]
    show.findings(found, as_json)


@app.command()
def forms(
    benchmark: Annotated[str, typer.Argument(help="A name, a folder with a card.toml, or a Python file.")],
    out: Annotated[Path | None, typer.Option(help="Write the parallel form here as JSON lines, for review.")] = None,
    examples: Annotated[int, typer.Option(min=0, help="Examples a rule.")] = 2,
    data: Data = None,
    part: Part = None,
) -> None:
    """Show the parallel form: how many items each rule made, examples, and what was left out."""
    from hqm import show
    from hqm.forms.build import write_form
    from hqm.registry import load_all

    for one in (loaded := load_all(benchmark, data=data)):
        original = one.original.only(part) if part else one.original
        parallel = one.parallel(original)
        show.forms(one.name, original, parallel, examples)
        if out is not None:
            path = out if len(loaded) == 1 else out.with_name(f"{out.stem}-{one.name}{out.suffix}")
            write_form(parallel, path)
            print(f"written: {path}")


@app.command()
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
    with _readable(_store_path(benchmarks, store)) as opened:
        session = _session(benchmarks, opened, wishes)
        _show_plan(session, session.jobs(), _prices(price_in, price_out), as_json)


@app.command()
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
    path = _store_path(benchmarks, store)
    with _readable(path) if dry_run else _writable(path, no_wait) as opened:
        session = _session(benchmarks, opened, wishes)
        complete = _administer(session, _prices(price_in, price_out), dry_run, quiet)
    if not complete:
        raise typer.Exit(1)


@app.command()
@asks
def audit(
    benchmarks: Benchmarks,
    wishes: Wishes,
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
    price_in: PriceIn = None,
    price_out: PriceOut = None,
    dry_run: DryRun = False,
    quiet: Quiet = False,
    no_wait: NoWait = False,
) -> None:
    """Ask what is missing, then audit: reliability, validity, coverage, as a report and as audit.json."""
    from hqm import show

    folder = out or (report.parent if report else Path("out") / _stem(benchmarks))
    path = _store_path(benchmarks, store, folder)
    page = report or folder / "report.html"
    with _readable(path) if dry_run or (offline and path.exists()) else _writable(path, no_wait) as opened:
        session = _session(benchmarks, opened, replace(wishes, criterion=criterion, metrics=tuple(metrics or ())))
        complete = offline or _administer(session, _prices(price_in, price_out), dry_run, quiet)
        if dry_run:
            return
        found = session.audit(_command())
    write_text(folder / "audit.json", found.to_json())
    _write_report(found, page)
    show.audit(found)
    print(f"audit:  {folder / 'audit.json'}\nreport: {page}")
    if not complete:
        raise typer.Exit(1)


@app.command()
def score(
    benchmark: Annotated[str, typer.Argument(help="A name, a folder with a card.toml, or a Python file.")],
    answers: Annotated[Path, typer.Option(help="The answers, in the benchmark's official format.")],
    part: Part = None,
    scoring: ScoringOption = "official",
    parser: ParserOption = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Score one file of recorded answers without a store, by every metric of the benchmark."""
    from hqm import show
    from hqm.registry import load
    from hqm.scoring import score_file

    loaded = load(benchmark, data=data, scoring=cast(Any, scoring), parser=parser)
    show.file_score(score_file(loaded, answers, part), as_json)


@app.command()
def report(
    audit_file: Annotated[Path, typer.Argument(metavar="AUDIT", help="An audit.json.")],
    to: Annotated[Path, typer.Option("--to", help="The report's file.")] = Path("report.html"),
) -> None:
    """Write the HTML report of an audit."""
    from hqm.audit import Audit

    _write_report(Audit.load(audit_file), to)
    print(f"report: {to}")


@app.command()
def export(
    store: Annotated[Path, typer.Argument(help="The store.")],
    to: Annotated[Path, typer.Option("--to", help="A .jsonl or .parquet file.")],
) -> None:
    """Write a store as JSON lines or Parquet."""
    from hqm.exchange import export_store
    from hqm.store import Store

    with Store(store, readonly=True) as opened:
        print(f"{export_store(opened, to)} rows: {to}")


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="A .jsonl or .parquet file that `hqm export` wrote.")],
    store: Annotated[Path, typer.Option(help="The store to add to; made when it does not exist.")],
    no_wait: NoWait = False,
) -> None:
    """Add exported answers to a store; what it has already is left as it is."""
    from hqm.exchange import import_store

    with _writable(store, no_wait) as opened:
        print(f"{import_store(file, opened)} new answers: {store}")


# --- the parts that several commands share ---


def _session(names: Sequence[str], store: Store, wishes: Wishes) -> Session:
    from hqm.session import Session

    return Session(names, store, wishes)


@contextmanager
def _writable(path: Path, no_wait: bool = False) -> Iterator[Store]:
    """A store to write into, and its lock."""
    from hqm.lock import writing
    from hqm.store import Store

    with writing(path, wait=not no_wait), Store(path) as store:
        yield store


def _readable(path: Path) -> Store:
    """A store to look into; an empty one in memory where there is none yet."""
    from hqm.store import Store

    return Store(path, readonly=True) if path.exists() else Store(":memory:")


def _prices(price_in: float | None, price_out: float | None) -> tuple[float, float] | None:
    if price_in is None and price_out is None:
        return None
    return price_in or 0.0, price_out or 0.0


def _show_plan(
    session: Session, jobs: Sequence[Job], prices: tuple[float, float] | None, as_json: bool = False
) -> None:
    from hqm import show
    from hqm.estimate import forecast

    by_respondent: dict[tuple[str, str], list[Job]] = {}
    for job in jobs:
        by_respondent.setdefault((job.sitting.respondent.name, job.sitting.benchmark.name), []).append(job)
    forecasts = {key: forecast(session.store, mine, prices) for key, mine in by_respondent.items()}
    live = any(job.sitting.respondent.live for job in jobs) and not session.wishes.blind
    show.plan(forecasts, session.missing_images() if live else {}, as_json)


def _administer(session: Session, prices: tuple[float, float] | None, dry_run: bool, quiet: bool) -> bool:
    """Ask what is missing; whether everything asked for was answered."""
    from hqm import show
    from hqm.administer import administer
    from hqm.estimate import spent
    from hqm.interrupt import interruption
    from hqm.progress import bars

    if not dry_run:
        session.fetch_images()
    jobs = session.jobs()
    if dry_run:
        _show_plan(session, jobs, prices)
        return True
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
        print(f"hqm: interrupted: {what}. Go on with\n  {_command()}", file=sys.stderr)
        raise typer.Exit(stop.status)
    return not outcome.failed and not outcome.errors


def _write_report(found: Audit, page: Path) -> None:
    """The report is made by the package `hqm.reports`, which the rest does not depend on."""
    write_text(page, importlib.import_module("hqm.reports.html").render(found))


def write_text(path: Path, text: str) -> None:
    """Write a file beside and move it, so that a failure leaves the old one."""
    part = path.with_name(f"{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise DataError(f"it cannot be written: {error.strerror}", place=str(path)) from None


def _command() -> str:
    """The command as it was given, for the record; the program by its name."""
    return shlex.join(["hqm", *sys.argv[1:]])


if __name__ == "__main__":
    main()
