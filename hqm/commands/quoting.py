"""Commands for who quotes a number: find what a short signature stands for, and write a benchmark's
card and badge.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hqm.commands.option_decorators import with_options
from hqm.commands.options import OUTPUT, WHAT, PolicyFile, RunOptions
from hqm.commands.shared import write_text
from hqm.commands.terminal import print_json
from hqm.errors import UsageError

if TYPE_CHECKING:
    from hqm.auditing.audit import Audit
    from hqm.types import Estimate

_SHORT = 12


@with_options("as_json")
def verify(
    *,
    signature: Annotated[
        str,
        typer.Argument(
            rich_help_panel=WHAT,
            metavar="SIGNATURE",
            help="The 12 characters beside a quoted number, or a whole line.",
        ),
    ],
    audit_file: Annotated[
        Path, typer.Argument(rich_help_panel=WHAT, metavar="AUDIT", help="An audit.json.")
    ],
    options: RunOptions,
) -> None:
    """Find the number that a short signature stands for.

    It prints the estimate with its interval and its whole signature, and ends with status 1 where
    the audit has none such.
    """
    from hqm.auditing.audit import Audit

    estimates = _signed(Audit.load(audit_file), signature.strip())
    if options.output.as_json:
        print_json(
            {
                "signature": signature.strip(),
                "estimates": [{"benchmark": name, **e.to_dict()} for name, e in estimates],
            }
        )
    elif not estimates:
        print(
            f"{audit_file} has no number with the signature {signature.strip()}: it is another"
            " audit, or another version of it."
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


def card(
    *,
    audit_file: Annotated[
        Path, typer.Argument(rich_help_panel=WHAT, metavar="AUDIT", help="An audit.json.")
    ],
    to: Annotated[
        Path | None,
        typer.Option(
            "--to",
            rich_help_panel=OUTPUT,
            metavar="FILE",
            help="Write the card here as Markdown; it is printed unless given.",
        ),
    ] = None,
    badge: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=OUTPUT, metavar="FILE", help="Write a badge here as SVG, for a README."
        ),
    ] = None,
    policy: PolicyFile = None,
) -> None:
    """Write a benchmark's quality card and badge.

    The card is Markdown of one screen, for a README or a paper's appendix: what the audit shows
    against a policy, what was not measured, what to fix first, and the signatures of its numbers.
    """
    from hqm.auditing.audit import Audit
    from hqm.auditing.policy import Policy

    audit, held = Audit.load(audit_file), Policy.load(policy)
    reports = importlib.import_module("hqm.reports.benchmark_card")
    text = str(reports.quality_card(audit, held))
    if badge is not None:
        write_text(badge, str(reports.badge(audit, held)))
        print(f"badge: {badge}")
    if to is not None:
        write_text(to, text)
        print(f"card: {to}")
    elif badge is None:
        print(text, end="")
