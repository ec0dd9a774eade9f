"""Commands on what is there already: score a file, write a report, move a store."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hqm.commands.options import (
    AsJson,
    Data,
    Mode,
    NoWait,
    ParserOption,
    Part,
    PromptsOption,
    ScoringOption,
    WordsOption,
)
from hqm.commands.shared import command, writable, write_bytes, write_report, write_text

if TYPE_CHECKING:
    from hqm.auditing.value import Audit


def score(
    benchmark: Annotated[str, typer.Argument(help="A name, a folder with a card.toml, or a Python file.")],
    answers: Annotated[Path, typer.Option(help="The answers, in the benchmark's official format.")],
    part: Part = None,
    scoring: ScoringOption = "official",
    parser: ParserOption = None,
    judgements: Annotated[
        Path | None, typer.Option(help="The judges' recorded raw replies, in the release's format or in HQM's.")
    ] = None,
    criterion: Annotated[
        Path | None, typer.Option(help="People's labels on these answers: item, label (CSV or JSON lines).")
    ] = None,
    mode: Mode = None,
    prompts: PromptsOption = "hqm",
    words: WordsOption = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Score one file of recorded answers without a store, by every metric of the benchmark."""
    from hqm.auditing.one_file import score_file, score_group
    from hqm.benchmark.registry import groups, load, load_all
    from hqm.commands import show

    settings: dict[str, Any] = {
        "data": data,
        "scoring": scoring,
        "parser": parser,
        "mode": mode,
        "prompts": prompts,
        "words": words,
    }
    if benchmark in groups() and not part and not criterion:
        found = score_group(benchmark, load_all(benchmark, **settings), answers, judgements=judgements)
    else:
        found = score_file(load(benchmark, **settings), answers, part, judgements=judgements, criterion=criterion)
    show.file_score(found, as_json)


def report(
    audit_files: Annotated[list[Path], typer.Argument(metavar="AUDIT...", help="One audit.json, or several.")],
    to: Annotated[
        Path,
        typer.Option("--to", help="report.html for the report; tables.tex, .csv, .md or .json for a paper's tables."),
    ] = Path("report.html"),
    figure: Annotated[
        str | None,
        typer.Option(
            help="One figure in place of tables, into an .svg or .pdf: retest_scatter, forms_scatter, criterion_scatter, leaderboard."
        ),
    ] = None,
    siunitx: Annotated[
        bool, typer.Option("--siunitx", help="Align numbers in LaTeX with the package siunitx.")
    ] = False,
) -> None:
    """Write the HTML report of audits, the tables of a paper, or one figure."""
    from hqm.auditing.value import Audit

    audits = [Audit.load(path) for path in audit_files]
    suffix = to.suffix.lower()
    if figure:
        write_bytes(to, importlib.import_module("hqm.reports.plots").draw(audits, figure, suffix.removeprefix(".")))
        print(f"{figure}: {to}")
    elif suffix in (".html", ".htm"):
        write_report(_joined(audits), to)
        print(f"report: {to}")
    else:
        paper = importlib.import_module("hqm.reports.paper")
        tables = paper.paper_tables(audits)
        write_text(to, importlib.import_module("hqm.reports.formats").formatted(tables, suffix, siunitx=siunitx))
        print(f"{paper.summary_line(tables)}: {to}")


def _joined(audits: Sequence[Audit]) -> Audit:
    """Several audits as one, with all their records."""
    from hqm.auditing.value import Audit

    if len(audits) == 1:
        return audits[0]
    record = {f"audit {i}": {"command": one.command, **one.record} for i, one in enumerate(audits, 1)}
    return Audit(tuple(found for one in audits for found in one.audits), command(), record)


def export(
    what: Annotated[str, typer.Argument(metavar="STORE|NAME", help="A store; or a benchmark, for its metadata.")],
    to: Annotated[Path, typer.Option("--to", help="A .jsonl or .parquet file; of a benchmark, a .json file.")],
    data: Data = None,
) -> None:
    """Write a store as JSON lines or Parquet, or the Croissant metadata of a benchmark as JSON."""
    from hqm.benchmark.croissant import write_croissant
    from hqm.store.database import Store
    from hqm.store.exchange import export_store

    if to.suffix == ".json":
        print(f"{write_croissant(what, to, data)} files described: {to}")
        return
    with Store(Path(what), readonly=True) as opened:
        print(f"{export_store(opened, to)} rows: {to}")


def import_(
    file: Annotated[Path, typer.Argument(help="A .jsonl or .parquet file that `hqm export` wrote.")],
    store: Annotated[Path, typer.Option(help="The store to add to; made when it does not exist.")],
    no_wait: NoWait = False,
) -> None:
    """Add exported answers to a store; what it has already is left as it is."""
    from hqm.store.exchange import import_store

    with writable(store, no_wait) as opened:
        print(f"{import_store(file, opened)} new answers: {store}")
