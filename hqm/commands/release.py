"""Commands for the makers of a benchmark: begin one, hold its audit against a policy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hqm.commands.options import AsJson
from hqm.commands.shared import write_text


def new(
    name: Annotated[Path, typer.Argument(help="The folder to make; its last part is the benchmark's name.")],
    questions: Annotated[
        Path | None,
        typer.Option("--from", help="A CSV file: question, answer, image, type, options (a|b|c); samples without one."),
    ] = None,
    images: Annotated[
        Path | None, typer.Option("--images", help="The folder of its pictures; the CSV file's own unless given.")
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="yes_no, choice, vqa or caption; told from the answers unless given.")
    ] = None,
    title: Annotated[str, typer.Option(help="What reports call it.")] = "",
    summary: Annotated[str, typer.Option(help="What is measured, in one sentence.")] = "",
    licence: Annotated[str, typer.Option(help="The licence of the data, by its SPDX name (CC-BY-4.0).")] = "",
    citation: Annotated[str, typer.Option(help="What to cite.")] = "",
) -> None:
    """Make the folder of a new benchmark: card, items, pictures, README, policy and CI workflow."""
    from hqm.commands import scaffold, show

    about = scaffold.About(title, licence, citation, summary)
    show.made(scaffold.new(name, questions, images, task, about))


def gate(
    audit_file: Annotated[Path, typer.Argument(metavar="AUDIT", help="An audit.json.")],
    policy: Annotated[Path | None, typer.Option(help="A policy; the default one unless given.")] = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML here.")] = None,
    github: Annotated[bool, typer.Option("--github", help="Print annotations for GitHub's pages too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Hold an audit against a policy: interval ends against thresholds; what was not measured is not passed."""
    from hqm.auditing.gate import Policy
    from hqm.auditing.gate import gate as hold
    from hqm.auditing.value import Audit
    from hqm.commands import show

    wanted = Policy.load(policy)
    found = hold(Audit.load(audit_file), wanted)
    if junit is not None:
        write_text(junit, found.junit())
    show.gate(found, github, as_json)
    if not found.passed:
        raise typer.Exit(1)
