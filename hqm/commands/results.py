"""Commands on what is there already: score a file, write a report, move a store."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hqm.commands.options import HOW, JUDGES, OUTPUT, WHAT, RunOptions
from hqm.commands.parameters import with_options
from hqm.commands.shared import command, writable, write_bytes, write_report, write_text

if TYPE_CHECKING:
    from hqm.auditing.value import Audit


@with_options("part", "data", "scoring", "withheld", "parser", "words", "criterion", "mode", "prompts", "as_json")
def score(
    *,
    benchmark: Annotated[
        str, typer.Argument(rich_help_panel=WHAT, help="A name, a folder with a card.toml, or a Python file.")
    ],
    answers: Annotated[
        Path,
        typer.Option(rich_help_panel=WHAT, metavar="FILE", help="The answers, in the benchmark's official format."),
    ],
    judgements: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=JUDGES,
            metavar="FILE",
            help="The recorded raw replies of the judges, in the release's format or in HQM's.",
        ),
    ] = None,
    options: RunOptions,
) -> None:
    """Score one file of recorded answers without a store, by every metric of the benchmark."""
    from hqm.auditing.one_file import score_file, score_group
    from hqm.benchmark.registry import groups, load, load_all
    from hqm.commands import show

    part, criterion = options.what.part, options.judging.criterion
    settings: dict[str, Any] = {
        "data": options.what.data,
        "scoring": options.reading.scoring,
        "parser": options.reading.parser,
        "mode": options.judging.mode,
        "prompts": options.judging.prompts,
        "words": options.reading.words,
        "withheld": options.reading.withheld,
    }
    if benchmark in groups() and not part and not criterion:
        scored = score_group(benchmark, load_all(benchmark, **settings), answers, judgements=judgements)
    else:
        scored = score_file(load(benchmark, **settings), answers, part, judgements=judgements, criterion=criterion)
    show.file_score(scored, options.output.as_json)


@with_options("siunitx")
def report(
    *,
    audit_files: Annotated[
        list[Path], typer.Argument(rich_help_panel=WHAT, metavar="AUDIT", help="One audit.json or several.")
    ],
    to: Annotated[
        Path,
        typer.Option(
            "--to",
            rich_help_panel=OUTPUT,
            metavar="FILE",
            help="report.html for the report; tables.tex, .csv, .md or .json for a paper's tables.",
        ),
    ] = Path("report.html"),
    figure: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=OUTPUT,
            metavar="NAME",
            help="One figure in place of tables, into an .svg or .pdf: retest_scatter, forms_scatter, "
            "criterion_scatter, leaderboard.",
        ),
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=HOW,
            metavar="FILE",
            help="The policy whose goals the report's first screen speaks of; the one that HQM comes with unless given.",
        ),
    ] = None,
    options: RunOptions,
) -> None:
    """Write the report of audits as HTML, the tables of a paper, or one figure."""
    from hqm.auditing.gate import Policy
    from hqm.auditing.value import Audit

    audits = [Audit.load(path) for path in audit_files]
    suffix = to.suffix.lower()
    if figure:
        write_bytes(to, importlib.import_module("hqm.reports.plots").draw(audits, figure, suffix.removeprefix(".")))
        print(f"{figure}: {to}")
    elif suffix in (".html", ".htm"):
        write_report(_joined(audits), to, Policy.load(policy))
        print(f"report: {to}")
    else:
        paper = importlib.import_module("hqm.reports.paper")
        tables = paper.paper_tables(audits)
        write_text(
            to, importlib.import_module("hqm.reports.formats").formatted(tables, suffix, siunitx=options.output.siunitx)
        )
        print(f"{paper.summary_line(tables)}: {to}")


def _joined(audits: Sequence[Audit]) -> Audit:
    """Several audits as one, with all their records."""
    from hqm.auditing.value import Audit

    if len(audits) == 1:
        return audits[0]
    record = {f"audit {i}": {"command": audit.command, **audit.record} for i, audit in enumerate(audits, 1)}
    return Audit(tuple(member for audit in audits for member in audit.audits), command(), record)


@with_options("data")
def export(
    *,
    what: Annotated[
        str,
        typer.Argument(rich_help_panel=WHAT, metavar="STORE|NAME", help="A store, or a benchmark for its metadata."),
    ],
    to: Annotated[
        Path,
        typer.Option(
            "--to",
            rich_help_panel=OUTPUT,
            metavar="FILE",
            help="A .jsonl or .parquet file; of a benchmark, a .json file.",
        ),
    ],
    options: RunOptions,
) -> None:
    """Write a store, or the metadata of a benchmark, to a file.

    A store becomes JSON lines or Parquet, the metadata JSON in the Croissant format.
    """
    from hqm.benchmark.croissant import write_croissant
    from hqm.store.database import Store
    from hqm.store.exchange import export_store

    if to.suffix == ".json":
        print(f"{write_croissant(what, to, options.what.data)} files described: {to}")
        return
    with Store(Path(what), readonly=True) as opened:
        print(f"{export_store(opened, to)} rows: {to}")


@with_options("no_wait")
def import_(
    *,
    file: Annotated[
        Path, typer.Argument(rich_help_panel=WHAT, help="A .jsonl or .parquet file that `hqm export` wrote.")
    ],
    store: Annotated[
        Path,
        typer.Option(rich_help_panel=OUTPUT, metavar="FILE", help="The store to add to; made when it does not exist."),
    ],
    options: RunOptions,
) -> None:
    """Add exported answers to a store. What the store has already is left as it is."""
    from hqm.store.exchange import import_store

    with writable(store, options.output.no_wait) as opened:
        print(f"{import_store(file, opened)} new answers: {store}")
