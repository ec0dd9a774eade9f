"""Commands on what is there already: score a file, write a report, move a store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hqm.commands.shared import writable, write_report
from hqm.options import AsJson, Data, Mode, NoWait, ParserOption, Part, PromptsOption, ScoringOption, WordsOption


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
    from hqm import show
    from hqm.registry import groups, load, load_all
    from hqm.scoring import score_file, score_group

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
    audit_file: Annotated[Path, typer.Argument(metavar="AUDIT", help="An audit.json.")],
    to: Annotated[Path, typer.Option("--to", help="The report's file.")] = Path("report.html"),
) -> None:
    """Write the HTML report of an audit."""
    from hqm.audit_value import Audit

    write_report(Audit.load(audit_file), to)
    print(f"report: {to}")


def export(
    store: Annotated[Path, typer.Argument(help="The store.")],
    to: Annotated[Path, typer.Option("--to", help="A .jsonl or .parquet file.")],
) -> None:
    """Write a store as JSON lines or Parquet."""
    from hqm.exchange import export_store
    from hqm.store import Store

    with Store(store, readonly=True) as opened:
        print(f"{export_store(opened, to)} rows: {to}")


def import_(
    file: Annotated[Path, typer.Argument(help="A .jsonl or .parquet file that `hqm export` wrote.")],
    store: Annotated[Path, typer.Option(help="The store to add to; made when it does not exist.")],
    no_wait: NoWait = False,
) -> None:
    """Add exported answers to a store; what it has already is left as it is."""
    from hqm.exchange import import_store

    with writable(store, no_wait) as opened:
        print(f"{import_store(file, opened)} new answers: {store}")
