"""`hqm label`: the commands of a study with people, as one group with a name for each step."""

from __future__ import annotations

import importlib
import json
import shlex
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hqm.commands.option_decorators import with_options
from hqm.commands.options import HOW_PANEL, MACHINE_PANEL, OUTPUT_PANEL, WHAT_PANEL, RunOptions
from hqm.commands.terminal import print_line, print_lines, print_report_table, print_table, tell
from hqm.errors import DataError, UsageError, check_known
from hqm.files.whole import write_together

if TYPE_CHECKING:
    from hqm_label.page import Links
    from hqm_label.study import IntervalEstimate, PeopleComparison, Study, StudyStatus


PlanFile = Annotated[
    Path,
    typer.Argument(
        rich_help_panel=WHAT_PANEL,
        metavar="plan",
        help="The plan of the study, which `hqm label plan` wrote.",
    ),
]
"""The plan that a command is about."""

HELP = (
    "Labels from people: plan what is labelled, collect labels in a browser, watch them, use"
    " them.\n\nThe steps: plan, serve, status, export; then `hqm audit NAME --criterion"
    " labels.csv`."
)


LOOPBACK = ("127.0.0.1", "localhost", "::1")


def serve(
    *,
    plan: PlanFile,
    order: Annotated[
        str,
        typer.Option(
            "--group",
            rich_help_panel=HOW_PANEL,
            metavar="WHAT",
            help=(
                "none (answers about one picture never follow each other) or picture (they stand in"
                " a row)."
            ),
        ),
    ] = "none",
    facts: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=WHAT_PANEL,
            metavar="FILE",
            help=(
                "Facts of the answers from which raters begin: records of item,"
                " respondent and sentences."
            ),
        ),
    ] = None,
    port: Annotated[
        int,
        typer.Option(
            rich_help_panel=MACHINE_PANEL,
            min=0,
            max=65535,
            metavar="N",
            help="The port; 0 takes any that is free.",
        ),
    ] = 8765,
    host: Annotated[
        str,
        typer.Option(
            rich_help_panel=MACHINE_PANEL,
            metavar="ADDRESS",
            help=("The address to listen on; 0.0.0.0 lets other machines reach the page."),
        ),
    ] = "127.0.0.1",
    new_links: Annotated[
        bool,
        typer.Option(
            "--new-links",
            rich_help_panel=HOW_PANEL,
            help="Make new links; those given out before stop working.",
        ),
    ] = False,
) -> None:
    """Open the page on which people label, until Ctrl-C.

    It prints a link for each rater and one for the owner of the study. A rater sees the picture,
    the question and the answer, and never who answered. Every label is stored at once, beside the
    plan; links stay the same when the server is started again, and each rater goes on where they
    were.
    """
    if order not in ("none", "picture"):
        raise UsageError(
            f"--group takes none or picture, not {order!r}", remedy="Leave it out for none."
        )
    from hqm_label.page import make_app, read_links, serve_until_stopped
    from hqm_label.study import Study

    study = Study(plan, group="picture" if order == "picture" else "none", facts=facts)
    for rater in study.plan.raters:
        study.order(rater)  # a store or an answer that does not fit is said now, not to a rater
    study.fetch_pictures()
    links = read_links(plan, study.plan.raters, renew=new_links)
    with _listening(host, port) as listener:
        address = f"http://{_in_url(host)}:{listener.getsockname()[1]}"
        # on this machine alone, other host names are refused (DNS rebinding)
        hosts = set(LOOPBACK) if host in LOOPBACK else None
        _print_links(study, links, address, host)
        serve_until_stopped(make_app(study, links, hosts), listener)
    study.close()
    print_line(
        f"\nStopped. The labels are in {study.labels.path}; `hqm label serve {plan}` goes on."
    )


def _print_status(status: StudyStatus) -> None:
    """Print the progress of a study with people: raters, agreement, labels, width."""
    print(
        f"{status.labelled} of {status.rows} have a label, {status.overlapping} have two or more."
    )
    rows = []
    for rater in status.raters:
        state = "done" if rater.done == rater.count else "-"
        rows.append(
            (
                rater.rater,
                str(rater.done),
                str(rater.count),
                "-" if rater.seconds is None else f"{rater.seconds:.1f}",
                f"{rater.gold_right} of {rater.gold_done}" if rater.gold_done else "-",
                str(rater.cannot_say),
                str(rater.notes),
                rater.time_left or state,
            )
        )
    columns = "rater,labels,of,seconds,checks right,cannot say,notes,time left".split(",")
    print_table("", columns, rows, right=range(1, 7))
    agreement = []
    for row in status.agreement:
        interval = "-"
        if row.low is not None and row.high is not None:
            interval = f"{row.low:.3f} to {row.high:.3f}"
        value = "-" if row.value is None else f"{row.value:.3f}"
        agreement.append((row.name, value, row.reason or interval, str(row.n)))
    print_table("", ("agreement", "value", "95% interval", "answers"), agreement, right=(1, 3))
    print(f"disagreements: {status.disagreements}, settled {status.adjudicated}")
    print(f"labels: {', '.join(f'{words} {count}' for words, count in status.choices.items())}")
    width = status.width
    if width is None:
        print("width: not yet known; it needs labels of answers about two pictures")
        return
    print(
        f"mean label {width.mean:.3f}, 95% interval {width.low:.3f} to {width.high:.3f}, width"
        f" {width.width:.3f}, by the labels alone"
    )
    if status.expected_width is not None:
        print(
            f"the plan expects {status.expected_width:.3f} for the corrected mean score, for which"
            " the audit uses the scores of all answers too"
        )


def _in_url(host: str) -> str:
    if host == "localhost":
        return "127.0.0.1"
    if ":" in host:
        return f"[{host}]"
    return host


@contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    """Open a listening socket, so that the port is known before a link is printed."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, socket.SOCK_STREAM)
        # a server that was just stopped may be started again on its port
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(64)
    except OSError as error:
        raise DataError(
            f"nothing can listen there: {error.strerror}",
            location=f"{host}:{port}",
            remedy="Name another with --port or --host; --port 0 takes any port that is free.",
        ) from None
    with listener:
        yield listener


def _print_links(study: Study, links: Links, address: str, host: str) -> None:
    width = max(map(len, [*study.plan.raters, "owner"]))
    raters = ", ".join(study.plan.raters)
    print_lines(
        f"{len(study.plan.rows)} to label by {raters} ({study.schema.title}).",
        "A link for each rater; who has it can label under this name:",
        *(f"  {rater:{width}}  {address}/r/{links.raters[rater]}" for rater in study.plan.raters),
        "Yours, with progress, agreement and disagreements:",
        f"  {'owner':{width}}  {address}/owner/{links.owner}",
    )
    if host not in LOOPBACK:
        tell(
            "other machines can reach the page, and what is sent is not encrypted: put it behind a"
            " server with HTTPS."
        )
    print_line("Stop with Ctrl-C; every label is stored at once.")
    sys.stdout.flush()


def status(
    *,
    plan: PlanFile,
    as_json: Annotated[
        bool, typer.Option("--json", rich_help_panel=OUTPUT_PANEL, help="Print JSON.")
    ] = False,
    to: Annotated[
        Path | None,
        typer.Option(
            "--to",
            rich_help_panel=OUTPUT_PANEL,
            metavar="FILE",
            help="Write people's scores and the raters' errors: .tex, .md, .csv or .json.",
        ),
    ] = None,
) -> None:
    """Say how a study stands: progress and pace of each rater, their agreement, the width reached,
    and people's scores beside the benchmark's.

    Agreement is given as the share of equal labels, as Fleiss' kappa, Krippendorff's alpha and
    Gwet's AC1, each with its 95% interval. It can be asked while the page is open.
    """
    from hqm_label.study import Study, compare_people, status_of

    study = Study(plan, readonly=True)
    state, comparison = status_of(study), compare_people(study)
    study.close()
    tables = _comparison_tables(comparison) if comparison is not None else []
    if as_json:
        data = state.to_dict() | {
            "people_beside": asdict(comparison) if comparison is not None else None
        }
        print_line(json.dumps(data, indent=1, ensure_ascii=False))
    else:
        _print_status(state)
        for table in tables:
            print_report_table(table)
            print_lines(*table.notes)
    if to is not None:
        if not tables:
            raise UsageError("there is no label yet", location=str(plan), remedy="Label first.")
        layout = importlib.import_module("hqm.reports.latex.latex_tables")
        write_together({to: layout.format_tables(tables, to.suffix)})


def _comparison_tables(comparison: PeopleComparison) -> list[Any]:
    """The tables of HQM's own protocol: respondents by people and by the benchmark, and raters."""
    tables = importlib.import_module("hqm.reports.tables.table")

    def row(estimate: IntervalEstimate, *extra_texts: str) -> tuple[Any, ...]:
        number = tables.number(estimate.value)
        interval = f"[{tables.number(estimate.low)}, {tables.number(estimate.high)}]"
        texts = (estimate.name, str(estimate.n), number, interval, *extra_texts)
        return tuple(tables.Text(text) for text in texts)

    r = comparison.correlation
    if r is None:
        correlated = ""
    else:
        correlated = (
            f" Pearson's r over {r.n} respondents: {tables.number(r.value)}"
            f" [{tables.number(r.low)}, {tables.number(r.high)}]."
        )
    respondents = tables.Table.for_page(
        "People beside the benchmark",
        ("respondent", "answers", "people", "95% interval", "benchmark"),
        [row(respondent, tables.number(respondent.score)) for respondent in comparison.respondents],
        right=(1, 2, 4),
        notes=(
            "The benchmark's score is the mean of its verdicts on the same answers." + correlated,
        ),
    )
    raters = tables.Table.for_page(
        "How often each rater errs",
        ("rater", "labels", "wrong", "95% interval"),
        [row(rater) for rater in comparison.raters],
        right=(1, 2),
        notes=("Estimated from the raters' agreement (Dawid and Skene).",),
    )
    return [respondents, *([raters] if comparison.raters else [])]


def items(
    *,
    plan: PlanFile,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            rich_help_panel=OUTPUT_PANEL,
            metavar="PLACE",
            help=(
                "The folder of the corrected benchmark; the file of a form, where a form was"
                " reviewed."
            ),
        ),
    ],
) -> None:
    """Write the questions that a review kept and corrected.

    A review of a benchmark's questions gives a folder that `hqm check` and `hqm audit` take like
    any benchmark, and a review of a form gives a file for `--form`. Beside it stands, for every
    question, what its reviewers said and what was done. Where reviewers disagree and nobody settled
    it, a question stays as it is.
    """
    from hqm_label.item_review import write_reviewed
    from hqm_label.study import Study

    study = Study(plan, readonly=True)
    reviewed = write_reviewed(study, out)
    study.close()
    print_lines(
        f"kept {reviewed.n_kept}, changed {len(reviewed.changed)}, left out"
        f" {len(reviewed.dropped)}",
        f"unresolved {len(reviewed.unresolved)}, not reviewed {reviewed.unread} (these stay as they"
        " are)",
        f"wrote  {out}",
    )


# --- hqm label export, hqm label import ---


@with_options("as_json")
def export(
    *,
    plan: PlanFile,
    to: Annotated[
        Path,
        typer.Option(
            "--to",
            rich_help_panel=OUTPUT_PANEL,
            metavar="FILE",
            help="The file to write; pictures of tasks go into a folder beside it.",
        ),
    ] = Path("labels.csv"),
    layout: Annotated[
        str,
        typer.Option(
            "--as",
            rich_help_panel=OUTPUT_PANEL,
            metavar="LAYOUT",
            help=(
                "labels, for --criterion of an audit; or tasks for label-studio,"
                " potato, argilla or mturk."
            ),
        ),
    ] = "labels",
    pictures: Annotated[
        str | None,
        typer.Option(
            "--pictures",
            rich_help_panel=OUTPUT_PANEL,
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
    from hqm_label.label_export import LAYOUTS, export_labels, export_tasks

    layouts = ("labels", *LAYOUTS)
    check_known(layout, layouts, f"there is no layout {layout!r}", "There are {}.")
    if layout == "labels":
        exported = export_labels(plan)
        write_together({to: exported.text})
        summary: dict[str, Any] = {
            "file": str(to),
            "labels": exported.labels,
            "answers": exported.answers,
            "raters": list(exported.raters),
        }
        line = (
            f"{exported.labels:,} labels of {exported.answers:,} answers by"
            f" {', '.join(exported.raters) or 'nobody'}: {to}"
        )
    else:
        tasks = export_tasks(plan, layout, to, pictures)
        write_together(dict(tasks.files))
        summary = {"files": [str(path) for path in tasks.files], "tasks": tasks.tasks}
        line = f"{tasks.tasks:,} tasks: {', '.join(map(str, tasks.documents))}"
    print_line(json.dumps(summary, ensure_ascii=False) if options.output.as_json else line)
    if summary.get("labels") == 0 and not options.output.as_json:
        print_line(f"next:\n  hqm label serve {shlex.quote(str(plan))}")


@with_options("as_json")
def import_(
    *,
    file: Annotated[
        Path,
        typer.Argument(
            rich_help_panel=WHAT_PANEL, metavar="FILE", help="What the other tool wrote."
        ),
    ],
    plan: Annotated[
        Path,
        typer.Option(
            "--plan", rich_help_panel=WHAT_PANEL, metavar="FILE", help="The plan of the study."
        ),
    ] = Path("plan.jsonl"),
    layout: Annotated[
        str,
        typer.Option(
            "--from",
            rich_help_panel=WHAT_PANEL,
            metavar="LAYOUT",
            help="label-studio, potato, argilla, mturk or csv.",
        ),
    ] = "csv",
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            rich_help_panel=HOW_PANEL,
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
            rich_help_panel=HOW_PANEL,
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
    from hqm_label.label_import import import_labels

    imported = import_labels(
        file, layout, plan, _pairs(columns, "--columns"), _pairs(values, "--values")
    )
    if options.output.as_json:
        print_line(
            json.dumps(
                {
                    "labels": imported.labels,
                    "undecided": imported.undecided,
                    "raters": list(imported.raters),
                },
                ensure_ascii=False,
            )
        )
    else:
        if imported.undecided:
            undecided = f", {imported.undecided:,} of them undecided"
        else:
            undecided = ""
        print_line(
            f"{imported.labels:,} labels by {', '.join(imported.raters)}{undecided}; look at them"
            f" with `hqm label status {plan}`"
        )


def _pairs(text: str | None, option: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for pair in filter(None, (text or "").split(",")):
        name, equals, value = pair.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise UsageError(f"{option} has {pair!r}", remedy="Write NAME=VALUE, joined by commas.")
        if pairs.get(name.strip(), value.strip()) != value.strip():
            raise UsageError(
                f"{option} names {name.strip()!r} twice", remedy="Keep one of the two."
            )
        pairs[name.strip()] = value.strip()
    return pairs
