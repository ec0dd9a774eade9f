"""The command `hqm design`: the cheapest study that reaches all targets, from an audit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hqm.commands.options import HOW, OUTPUT, WHAT, RunOptions
from hqm.commands.parameters import with_options
from hqm.commands.shared import find_audit, write_text

PricesFile = Annotated[
    Path | None,
    typer.Option(
        "--prices",
        rich_help_panel=HOW,
        metavar="FILE",
        help=(
            "Prices, in a prices.toml; else those that the audit measured, else answers are"
            " counted."
        ),
    ),
]


@with_options("as_json")
def design(
    *,
    audit_file: Annotated[
        Path,
        typer.Argument(
            rich_help_panel=WHAT, metavar="AUDIT", help="A file audit.json, or its folder."
        ),
    ],
    targets: Annotated[
        list[str],
        typer.Option(
            "--target",
            rich_help_panel=HOW,
            metavar="TEXT",
            help=(
                'What the study must reach, such as "mdd<=.02", "rho_g>=.95" or'
                ' "sem[counting]<=.03"; repeat it.'
            ),
        ),
    ],
    prices: PricesFile = None,
    free: Annotated[
        str,
        typer.Option(
            rich_help_panel=HOW,
            metavar="NAMES",
            help=(
                "What may vary, joined by commas: items, pictures, runs, forms, judges, labels,"
                " respondents; "
                "all that was measured unless given."
            ),
        ),
    ] = "",
    benchmark: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=WHAT,
            metavar="NAME",
            help="Which benchmark of the audit, where it has several.",
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=WHAT,
            metavar="NAME",
            help="Which metric of the audit; the first of its card unless given.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=OUTPUT, metavar="FILE", help="Write the answer here as design.json."
        ),
    ] = None,
    options: RunOptions,
) -> None:
    """Find the cheapest study that reaches your targets.

    It reads an audit and asks nobody. It answers in a sentence, with a table of what each further
    unit buys; a target that no study reaches is refused, with the component that is in the way.
    """
    from hqm.decisions.designing import design as find_design

    wanted = [name.strip() for name in free.split(",") if name.strip()]
    made = find_design(
        find_audit(audit_file),
        targets=targets,
        prices=prices,
        free=wanted,
        benchmark=benchmark,
        metric=metric,
    )
    if out is not None:
        write_text(out, made.to_json())
    print(
        made.to_json() if options.output.as_json else made,
        end="" if options.output.as_json else "\n",
    )
    if out is not None and not options.output.as_json:
        print(f"design: {out}")
