"""`hqm report`: what is written, or quoted, of audits that exist."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hqm.commands.option_decorators import with_options
from hqm.commands.options import OUTPUT, WHAT, EveryTable, PolicyFile, RunOptions
from hqm.commands.shared import command, find_audit, report_files
from hqm.commands.terminal import print_json, print_lines
from hqm.errors import UsageError
from hqm.files.records import read_json
from hqm.files.whole import write_together

if TYPE_CHECKING:
    from hqm.auditing.audit import Audit
    from hqm.auditing.budget import Statement
    from hqm.auditing.gate import Policy
    from hqm.types import Estimate

_SHORT = 12
"""The characters of a short signature."""


@with_options("as_json")
def report(
    *,
    audit_files: Annotated[
        list[Path],
        typer.Argument(
            rich_help_panel=WHAT,
            metavar="AUDIT",
            help="One audit.json or several, or the folders that they lie in.",
        ),
    ],
    to: Annotated[
        Path | None,
        typer.Option(
            "--to",
            rich_help_panel=OUTPUT,
            metavar="FILE",
            help=(
                "A page (.html), the tables of a paper (.tex, .csv, .md, .json), or the file of the"
                " figure, card or badge; report.html unless given."
            ),
        ),
    ] = None,
    figure: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=WHAT,
            metavar="NAME",
            help=("One figure, into an .svg, .pdf or .png: error_budget or leaderboard."),
        ),
    ] = None,
    card: Annotated[
        bool,
        typer.Option(
            "--card",
            rich_help_panel=WHAT,
            help=("The quality card: one screen of Markdown, printed without --to."),
        ),
    ] = False,
    badge: Annotated[
        bool,
        typer.Option(
            "--badge", rich_help_panel=WHAT, help="The badge for a README; badge.svg without --to."
        ),
    ] = False,
    quote: Annotated[
        bool,
        typer.Option(
            "--quote",
            rich_help_panel=WHAT,
            help=(
                "Print the statement for a caption, and sentences to copy; --to"
                " writes the statement as .tex, .md or text."
            ),
        ),
    ] = False,
    index: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=WHAT,
            metavar="FOLDER",
            help="A site with a row for each benchmark, and a page behind each row.",
        ),
    ] = None,
    verify: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=WHAT,
            metavar="TEXT",
            help=(
                "Compare a reliability statement with the audit, or print the number"
                " behind a signature; status 1 if they disagree."
            ),
        ),
    ] = None,
    every: EveryTable = False,
    policy: PolicyFile = None,
    options: RunOptions,
) -> None:
    """Write the report of audits: a page, tables, a figure, the card, the badge, or a quotation.

    It asks nobody, and estimates nothing anew.
    """
    from hqm.auditing.audit import Audit
    from hqm.auditing.policy import Policy

    asked = {
        "--figure": figure,
        "--card": card,
        "--badge": badge,
        "--quote": quote,
        "--index": index,
    }
    named = [flag for flag, wanted in {**asked, "--verify": verify}.items() if wanted]
    if len(named) > 1:
        raise UsageError(f"{' and '.join(named)} are two reports", remedy="Ask for one at a time.")
    files = [find_audit(path) for path in audit_files]
    if index is not None:
        _write_index(index, files, Policy.load(policy))
        return
    audits = [Audit.load(file) for file in files]
    joined, held = _joined(audits), Policy.load(policy)
    cards = importlib.import_module("hqm.reports.benchmark_card")
    if verify is not None:
        _verify(joined, verify.strip(), options.output.as_json)
        return
    if quote and to is None:
        for audit in joined.audits:
            quoted = cards.quotes(audit, joined.hqm_version)
            sentences = (f"  {each.title}: {each.sentence}" for each in quoted)
            print_lines(f"{audit.title}: {audit.statement}", *sentences)
        return
    content: str | bytes
    if quote and to is not None:
        content = "".join(f"{_written(each.statement, to)}\n" for each in joined.audits)
    elif card:
        content = str(cards.quality_card(joined, held))
        if to is None:
            print(content, end="")
            return
    elif badge:
        to, content = to or Path("badge.svg"), str(cards.badge(joined, held))
    elif figure:
        to = to or Path(f"{figure}.svg")
        plots = importlib.import_module("hqm.reports.plots")
        content = plots.draw(audits, figure, to.suffix.lower().removeprefix("."))
    else:
        to = to or Path("report.html")
        if to.suffix.lower() in (".html", ".htm"):
            pages = report_files(joined, to, held)
            write_together(pages)
            print(f"wrote  {'  '.join(map(str, pages))}")
            return
        tables = importlib.import_module("hqm.reports.paper").paper_tables(audits, every=every)
        layout = importlib.import_module("hqm.reports.latex_tables")
        content = layout.formatted(tables, to.suffix.lower())
    write_together({to: content})
    print(f"wrote  {to}")


def _write_index(folder: Path, files: Sequence[Path], policy: Policy) -> None:
    """Write the site of many audits, of printed tables too; a row's day is that of its file."""
    from hqm.auditing.audit import Audit

    pages = importlib.import_module("hqm.reports.report_page")
    dated = []
    for file in files:
        data, day = read_json(file), datetime.fromtimestamp(file.stat().st_mtime, UTC)
        printed = isinstance(data, dict) and "read_as" in (data.get("audits") or [{}])[0]
        name = file.absolute().parent.name
        dated.append(pages.Dated(data if printed else Audit.load(file), f"{day:%Y-%m-%d}", name))
    made: dict[str, str] = pages.index_files(dated, policy)
    write_together({folder / name: text for name, text in made.items()})
    print(f"wrote  {folder / 'index.html'}  {folder / 'index.json'}")


def _joined(audits: Sequence[Audit]) -> Audit:
    """Several audits as one, with all their records."""
    from hqm.auditing.audit import Audit

    if len(audits) == 1:
        return audits[0]
    record = {
        f"audit {i}": {"command": audit.command, **audit.record}
        for i, audit in enumerate(audits, 1)
    }
    return Audit(tuple(member for audit in audits for member in audit.audits), command(), record)


def _written(statement: Statement, to: Path) -> str:
    """The statement in the format of a file."""
    formats = {".tex": statement.latex, ".md": statement.markdown}
    return formats.get(to.suffix.lower(), str(statement))


def _verify_statement(audit: Audit, text: str, as_json: bool) -> None:
    """Hold a reliability statement against the audit; the status is 1 where they differ."""
    from hqm.auditing.budget import Statement

    read = Statement.parse(text)
    by_benchmark = {each.title: read.differences(each.statement) for each in audit.audits}
    title = min(by_benchmark, key=lambda name: len(by_benchmark[name]))
    apart = by_benchmark[title]
    if as_json:
        print_json({"statement": str(read), "benchmark": title, "differences": list(apart)})
    elif apart:
        print_lines(
            f"this is not the statement of {title}: it has", *(f"  {line}" for line in apart)
        )
    else:
        print(f"this is the statement of {title}: every number is the audit's")
    if apart:
        raise typer.Exit(1)


def _verify(audit: Audit, signature: str, as_json: bool) -> None:
    """Print the estimates with a signature, or that there is none; then the status is 1."""
    if " " in signature and not signature.startswith("benchmark:"):
        _verify_statement(audit, signature, as_json)
        return
    estimates = _signed(audit, signature)
    if as_json:
        print_json(
            {
                "signature": signature,
                "estimates": [{"benchmark": name, **e.to_dict()} for name, e in estimates],
            }
        )
    elif not estimates:
        print(
            f"this audit has no number with the signature {signature}: it is another audit, or"
            " another version of it."
        )
    else:
        tables = importlib.import_module("hqm.reports.tables")
        for name, estimate in estimates:
            spans = "; ".join(
                f"{tables.interval_in_words(i, tables.places(estimate))} ({i.inference})"
                for i in estimate.intervals
            )
            shown = tables.estimate_text(estimate).text
            print_lines(
                f"{name}: {estimate.indicator} of {estimate.metric} is"
                f" {shown}{f' ({spans})' if spans else ''}",
                f"  from {estimate.n_respondents:,} respondents and {estimate.n_items:,} items;"
                f" status {estimate.status}",
                f"  {estimate.signature}",
            )
    if not estimates:
        raise typer.Exit(1)


def _signed(audit: Audit, signature: str) -> list[tuple[str, Estimate]]:
    """The estimates with this signature, whole or short, each with its benchmark.

    Raises
    ------
    UsageError
        The text is neither a whole signature nor 12 characters of one.
    """
    from hqm.signature import short_signature

    short = signature.lower()
    if "|" not in signature and not (
        len(short) == _SHORT and set(short) <= set("0123456789abcdef")
    ):
        raise UsageError(
            f"{signature[:40]!r} is no signature",
            remedy=f"Copy the {_SHORT} characters that stand after “signature”, or the whole line.",
        )
    return [
        (benchmark.benchmark, estimate)
        for benchmark in audit.audits
        for estimate in benchmark.all_estimates
        if signature == estimate.signature or short == short_signature(estimate.signature)
    ]
