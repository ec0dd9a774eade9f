"""`hqm report`: what is written, or quoted, of audits that exist."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hqm.commands.option_decorators import with_options
from hqm.commands.options import OUTPUT, WHAT, PolicyFile, RunOptions
from hqm.commands.shared import command, find_audit, report_files, write_together
from hqm.commands.terminal import print_json
from hqm.errors import UsageError
from hqm.version import __version__

if TYPE_CHECKING:
    from hqm.auditing.audit import Audit
    from hqm.types import Estimate

_SHORT = 12
"""The characters of a short signature."""


@with_options("siunitx", "as_json")
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
            help=(
                "One figure, into an .svg or .pdf: retest_scatter, forms_scatter,"
                " criterion_scatter, leaderboard."
            ),
        ),
    ] = None,
    card: Annotated[
        bool,
        typer.Option(
            "--card",
            rich_help_panel=WHAT,
            help=(
                "The quality card, Markdown of one screen for a README or an appendix; printed"
                " without --to."
            ),
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
            help="Print the statement for a caption, and sentences to copy, with signatures.",
        ),
    ] = False,
    verify: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=WHAT,
            metavar="SIGNATURE",
            help=(
                "Print the number that a signature stands for, by its 12 characters or its whole"
                " line; status 1 where the audit has no such number."
            ),
        ),
    ] = None,
    policy: PolicyFile = None,
    options: RunOptions,
) -> None:
    """Write the report of audits: a page, tables, a figure, the card, the badge, or a quotation.

    It asks nobody, and estimates nothing anew.
    """
    from hqm.auditing.audit import Audit
    from hqm.auditing.policy import Policy

    asked = {"--figure": figure, "--card": card, "--badge": badge, "--quote": quote}
    named = [flag for flag, wanted in {**asked, "--verify": verify}.items() if wanted]
    if len(named) > 1:
        raise UsageError(f"{' and '.join(named)} are two reports", remedy="Ask for one at a time.")
    audits = [Audit.load(find_audit(path)) for path in audit_files]
    joined, held = _joined(audits), Policy.load(policy)
    cards = importlib.import_module("hqm.reports.benchmark_card")
    if verify is not None:
        _verify(joined, verify.strip(), options.output.as_json)
        return
    if quote:
        sentences = importlib.import_module("hqm.reports.sentences")
        for audit in joined.audits:
            print(f"{audit.title}: {sentences.statement(audit, __version__)}")
            for quoted in cards.quotes(audit, __version__):
                print(f"  {quoted.title}: {quoted.sentence}")
        return
    content: str | bytes
    if card:
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
        tables = importlib.import_module("hqm.reports.paper").paper_tables(audits)
        layout = importlib.import_module("hqm.reports.latex_tables")
        content = layout.formatted(tables, to.suffix.lower(), siunitx=options.output.siunitx)
    write_together({to: content})
    print(f"wrote  {to}")


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


def _verify(audit: Audit, signature: str, as_json: bool) -> None:
    """Print the estimates with a signature, or that there is none; then the status is 1."""
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
                f"{i.level:.0%} interval {tables.interval(i, tables.places(estimate))}"
                f" ({i.inference})"
                for i in estimate.intervals
            )
            shown = tables.estimate_text(estimate).text
            print(
                f"{name}: {estimate.indicator} of {estimate.metric} is"
                f" {shown}{f' ({spans})' if spans else ''}"
            )
            print(
                f"  from {estimate.n_respondents:,} respondents and {estimate.n_items:,} items;"
                f" status {estimate.status}"
            )
            print(f"  {estimate.signature}")
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
        for estimate in benchmark.estimates
        if signature == estimate.signature or short == short_signature(estimate.signature)
    ]
