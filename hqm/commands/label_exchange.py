"""`hqm label export` and `hqm label import`: a study's labels for an audit, and its tasks and
labels to and from other tools.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from hqm.commands.labelling import PlanFile
from hqm.commands.options import HOW, OUTPUT, WHAT, RunOptions
from hqm.commands.parameters import with_options
from hqm.commands.shared import write_together
from hqm.errors import UsageError


@with_options("as_json")
def export(
    *,
    plan: PlanFile,
    to: Annotated[
        Path,
        typer.Option(
            "--to",
            rich_help_panel=OUTPUT,
            metavar="FILE",
            help="The file to write; pictures of tasks go into a folder beside it.",
        ),
    ] = Path("labels.csv"),
    layout: Annotated[
        str,
        typer.Option(
            "--as",
            rich_help_panel=OUTPUT,
            metavar="LAYOUT",
            help=(
                "labels: what the raters said, for --criterion of an audit. Tasks for another tool:"
                " label-studio, potato, argilla, mturk."
            ),
        ),
    ] = "labels",
    pictures: Annotated[
        str | None,
        typer.Option(
            "--pictures",
            rich_help_panel=OUTPUT,
            metavar="ADDRESS",
            help=(
                "Where the other tool will find the pictures' folder; beside the file unless given."
            ),
        ),
    ] = None,
    options: RunOptions,
) -> None:
    """Write the labels for an audit, or the tasks for another labelling tool.

    Tasks are as blind as the page: they name an answer by its uid and nobody's name, and pictures
    are copied under that uid.
    """
    from hqm.labels.labels_out import export_labels
    from hqm.labels.tasks_out import LAYOUTS, export_tasks

    if layout not in ("labels", *LAYOUTS):
        known = ("labels", *LAYOUTS)
        raise UsageError(
            f"there is no layout {layout!r}",
            remedy=f"There are {', '.join(known)}.",
            given=layout,
            known=known,
        )
    if layout == "labels":
        written = export_labels(plan)
        write_together({to: written.text})
        said: dict[str, Any] = {
            "file": str(to),
            "labels": written.labels,
            "answers": written.answers,
            "raters": list(written.raters),
        }
        line = (
            f"{written.labels:,} labels of {written.answers:,} answers by"
            f" {', '.join(written.raters) or 'nobody'}: {to}"
        )
    else:
        tasks = export_tasks(plan, layout, to, pictures)
        write_together(dict(tasks.files))
        said = {"files": [str(path) for path in tasks.files], "tasks": tasks.tasks}
        line = f"{tasks.tasks:,} tasks: {', '.join(map(str, tasks.documents))}"
    print(json.dumps(said, ensure_ascii=False) if options.output.as_json else line)


@with_options("as_json")
def import_(
    *,
    file: Annotated[
        Path,
        typer.Argument(rich_help_panel=WHAT, metavar="FILE", help="What the other tool wrote."),
    ],
    plan: Annotated[
        Path,
        typer.Option("--plan", rich_help_panel=WHAT, metavar="FILE", help="The plan of the study."),
    ] = Path("plan.jsonl"),
    layout: Annotated[
        str,
        typer.Option(
            "--from",
            rich_help_panel=WHAT,
            metavar="LAYOUT",
            help="label-studio, potato, argilla, mturk or csv.",
        ),
    ] = "csv",
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            rich_help_panel=HOW,
            metavar="NAMES",
            help=(
                "Which fields hold what, where they have other names:"
                " uid=task_id,label=verdict,rater=worker,seconds=time."
            ),
        ),
    ] = None,
    values: Annotated[
        str | None,
        typer.Option(
            "--values",
            rich_help_panel=HOW,
            metavar="NAMES",
            help=(
                "What the tool's words mean in labels: Faithful=1,Hallucinated=0; the words of the"
                " schema unless given."
            ),
        ),
    ] = None,
    options: RunOptions,
) -> None:
    """Take the labels that another tool collected into the study."""
    from hqm.labels.labels_in import import_labels

    taken = import_labels(
        file, layout, plan, _pairs(columns, "--columns"), _pairs(values, "--values")
    )
    if options.output.as_json:
        print(
            json.dumps(
                {
                    "labels": taken.labels,
                    "undecided": taken.undecided,
                    "raters": list(taken.raters),
                },
                ensure_ascii=False,
            )
        )
    else:
        undecided = f", {taken.undecided:,} of them undecided" if taken.undecided else ""
        print(
            f"{taken.labels:,} labels by {', '.join(taken.raters)}{undecided}; look at them with"
            f" `hqm label status {plan}`"
        )


def _pairs(text: str | None, option: str) -> dict[str, str]:
    pairs = {}
    for part in filter(None, (text or "").split(",")):
        name, equals, value = part.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise UsageError(f"{option} has {part!r}", remedy="Write NAME=VALUE, joined by commas.")
        pairs[name.strip()] = value.strip()
    return pairs
