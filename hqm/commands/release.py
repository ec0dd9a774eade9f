"""Commands for the makers of a benchmark: begin one, hold its audit against a policy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hqm.commands.options import OUTPUT, WHAT, PolicyFile, RunOptions
from hqm.commands.parameters import with_options
from hqm.commands.shared import find_audit, write_text


def new(
    *,
    name: Annotated[
        Path,
        typer.Argument(
            rich_help_panel=WHAT, help="The folder to make; its last part is the benchmark's name."
        ),
    ],
    questions: Annotated[
        str | None,
        typer.Option(
            "--from",
            rich_help_panel=WHAT,
            metavar="SOURCE",
            help=(
                "Questions: CSV, TSV, JSON (lines), Parquet or Arrow, a pattern of files, a folder"
                " of the `datasets` library, "
                "or hf://datasets/OWNER/NAME[/CONFIG][@REVISION][#SPLIT]; samples are made without"
                " one."
            ),
        ),
    ] = None,
    images: Annotated[
        str | None,
        typer.Option(
            "--images",
            rich_help_panel=WHAT,
            metavar="PLACE",
            help=(
                "The folder or zip of the pictures that the questions name; the folder of their"
                " file unless given."
            ),
        ),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            rich_help_panel=WHAT,
            metavar="FIELD=COLUMN,...",
            help=(
                "Which columns are question, answer, image, id, type, options, part and cluster;"
                " told from their names "
                "unless given, and none where nothing stands behind the sign. Repeat it."
            ),
        ),
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=WHAT,
            metavar="NAMES",
            help="The splits to take, joined by commas; all of them, each as a part, unless given.",
        ),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=WHAT,
            metavar="NAME",
            help="yes_no, choice, vqa or caption; told from the answers unless given.",
        ),
    ] = None,
    title: Annotated[
        str,
        typer.Option(rich_help_panel=WHAT, metavar="TEXT", help="What reports call the benchmark."),
    ] = "",
    summary: Annotated[
        str,
        typer.Option(
            rich_help_panel=WHAT, metavar="TEXT", help="What it measures, in one sentence."
        ),
    ] = "",
    licence: Annotated[
        str,
        typer.Option(
            rich_help_panel=WHAT,
            metavar="NAME",
            help="The licence of the data, by its SPDX name (CC-BY-4.0).",
        ),
    ] = "",
    citation: Annotated[
        str, typer.Option(rich_help_panel=WHAT, metavar="TEXT", help="What to cite.")
    ] = "",
) -> None:
    """Make the folder of a new benchmark.

    It has a card, items, pictures, a README, a policy and a CI workflow. Every row and every
    picture is checked before the folder is made.
    """
    from hqm.commands import scaffold, show

    about = scaffold.About(title, licence, citation, summary)
    show.made(
        scaffold.new(name, questions, images, task, about, columns=columns or (), split=split)
    )


@with_options("as_json")
def gate(
    *,
    audit_file: Annotated[
        Path,
        typer.Argument(
            rich_help_panel=WHAT,
            metavar="AUDIT",
            help="An audit.json, or the folder that it lies in.",
        ),
    ],
    policy: PolicyFile = None,
    options: RunOptions,
    junit: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=OUTPUT, metavar="FILE", help="Write the result here as JUnit XML."
        ),
    ] = None,
    github: Annotated[
        bool,
        typer.Option(
            "--github", rich_help_panel=OUTPUT, help="Print annotations for GitHub's pages too."
        ),
    ] = False,
) -> None:
    """Hold an audit against a policy.

    The ends of intervals are compared with thresholds. What was not measured does not pass, and
    every failure says what to do.
    """
    from hqm.auditing.gate import Policy, hold_against
    from hqm.auditing.value import Audit
    from hqm.commands import show

    outcome = hold_against(Audit.load(find_audit(audit_file)), Policy.load(policy))
    if junit is not None:
        write_text(junit, outcome.junit())
    show.gate(outcome, github, options.output.as_json)
    if not outcome.passed:
        raise typer.Exit(1)
