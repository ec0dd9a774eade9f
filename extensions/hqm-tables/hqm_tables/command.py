"""`hqm table`: a published table of scores, read, audited, printed and written."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from hqm.commands.option_decorators import with_options
from hqm.commands.options import OUTPUT_PANEL, WHAT_PANEL, RunOptions
from hqm.commands.shared import command
from hqm.commands.terminal import print_json, print_line, print_lines, print_table
from hqm.errors import UsageError
from hqm.files.records import read_records, required_field
from hqm.files.whole import write_together

if TYPE_CHECKING:
    from hqm_tables.printed_table import Direction
    from hqm_tables.table_audit import TableAudit
    from hqm_tables.table_contradictions import Contradiction

T = TypeVar("T")


@with_options("families", "margin", "as_json")
def table(
    *,
    file: Annotated[
        Path,
        typer.Argument(
            rich_help_panel=WHAT_PANEL,
            metavar="FILE",
            help="The table: CSV, tab-separated, Markdown or LaTeX; names, then scores.",
        ),
    ],
    columns: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=WHAT_PANEL,
            metavar="FIRST,OTHER",
            help="Two columns of the table that are two administrations.",
        ),
    ] = None,
    items: Annotated[
        list[str] | None,
        typer.Option(
            rich_help_panel=WHAT_PANEL,
            metavar="N|COLUMN=N|FILE",
            help=(
                "The number of items behind each score: one for all, one for a column (repeat it),"
                " or a file with the fields column and items."
            ),
        ),
    ] = None,
    direction: Annotated[
        list[str] | None,
        typer.Option(
            rich_help_panel=WHAT_PANEL,
            metavar="WAY|COLUMN=WAY|FILE",
            help=(
                "Whether higher or lower is better: one for all, one for a column (repeat it), or a"
                " file with the fields column and direction; arrows in the headings are read."
            ),
        ),
    ] = None,
    no_names: Annotated[
        bool,
        typer.Option(
            "--no-names",
            rich_help_panel=WHAT_PANEL,
            help="The first column is a score too: rows have no names.",
        ),
    ] = False,
    base_rate: Annotated[
        float | None,
        typer.Option(
            "--base-rate",
            rich_help_panel=WHAT_PANEL,
            min=0,
            max=1,
            metavar="SHARE",
            help=(
                "The share of the questions whose right answer is yes; solved from the rows unless"
                " given."
            ),
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=OUTPUT_PANEL,
            metavar="FOLDER",
            help="The folder for report.html and audit.json; nothing is written unless given.",
        ),
    ] = None,
    options: RunOptions,
) -> None:
    """Audit a published table of scores, when nothing behind its numbers is at hand.

    It says what the numbers show of their own reliability, and where they contradict each other.
    """
    from hqm.respondents.kinds import read_families
    from hqm.version import __version__
    from hqm_tables.page import render
    from hqm_tables.table_audit import audit_table, read_table

    if columns:
        pair = tuple(name.strip() for name in columns.split(","))
    else:
        pair = None
    if pair is not None and (len(pair) != 2 or pair[0] == pair[1]):
        raise UsageError(
            f"--columns {columns!r} does not name two columns",
            remedy="Write --columns first,other.",
        )
    audited = audit_table(
        read_table(file, names=not no_names),
        columns=pair,
        items=by_column(items or (), "items", _read_items),
        direction=by_column(direction or (), "direction", _read_direction),
        families=read_families(options.answering.families) if options.answering.families else None,
        margin=options.reading.margin,
        base_rate=base_rate,
    )
    data = {"hqm_version": __version__, "command": command(), "audits": [audited.to_dict()]}
    if out is not None:
        text = json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        page_text = render(audited.to_dict(), command())
        write_together({out / "audit.json": text, out / "report.html": page_text})
    if options.output.as_json:
        print_json(data)
        return
    _print_audit(audited)
    if out is not None:
        print_line(f"wrote  {out / 'report.html'}  audit.json")


def _print_audit(audit: TableAudit) -> None:
    """Print the audit of a published table."""
    from hqm.reports.tables.table import interval_text, number

    rows = []
    for estimate in audit.estimates:
        note = ", ".join(estimate.flags)
        if estimate.status != "ok":
            note = f"{estimate.status.replace('_', ' ')}: {estimate.reason}"
        interval = interval_text(estimate.interval("model_population"))
        value = number(estimate.value)
        rows.append((estimate.indicator, estimate.metric, value, interval, note))
    title = f"{audit.table}: {len(audit.respondents)} respondents"
    print_table(title, ("indicator", "of", "value", "95% interval", ""), rows, right=(2, 3))
    for flag in audit.flags:
        print(f"{flag['flag']}: {flag['sentence']}; {flag['what_to_do']}.")
    for note in audit.notes:
        print(f"note: {note}.")
    print_lines(*map(_contradiction, audit.contradictions), audit.checked.sentence())


def _contradiction(contradiction: Contradiction) -> str:
    violation = contradiction.violation
    cell = ", ".join(filter(None, (violation.row, violation.column)))
    if contradiction.unless:
        unless = f"; possible only if {contradiction.unless}"
    else:
        unless = ""
    return f"{violation.kind}: {cell} = {violation.printed}: {violation.reason}{unless}"


def by_column(
    texts: Sequence[str], name: str, read: Callable[[str, str], T]
) -> T | dict[str, T] | None:
    """Read an option about columns: one value for all, COLUMN=VALUE for some, or a file.

    Raises
    ------
    UsageError
        A value means nothing, or one for all stands beside others.
    """

    common_values: list[T] = []
    values: dict[str, T] = {}

    def set_value(column: str, value: str, location: str) -> None:
        read_value = read(value.strip(), location)
        if values.setdefault(column, read_value) != read_value:
            raise UsageError(
                f"the column {column!r} is given two values", location=location, remedy="Keep one."
            )

    for text in texts:
        column, equals, value = text.rpartition("=")
        if equals and not _is_file(text):
            set_value(column.strip(), value, f"--{name} {text!r}")
        elif _is_file(text):
            for i, record in enumerate(read_records(Path(text)), 1):
                location = f"{text}: record {i}"
                set_value(
                    str(required_field(record, "column", location)),
                    str(required_field(record, name, location)),
                    location,
                )
        else:
            common_values.append(read(text.strip(), f"--{name} {text!r}"))
    if len(common_values) > 1 or (common_values and values):
        raise UsageError(
            f"--{name} says one value for all columns, and others",
            remedy=f"Write --{name} once for all columns, or --{name} COLUMN=VALUE for each.",
        )
    if common_values:
        return common_values[0]
    return values or None


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _read_items(text: str, location: str) -> int:
    if (
        not text.isdecimal()
        or not text.isascii()
        or not 1 <= int(text[:12]) <= 10**9
        or len(text) > 10
    ):
        raise UsageError(
            f"{text[:40]!r} is no number of items",
            location=location,
            remedy="Write a whole number from 1 on, COLUMN=NUMBER, or an existing file.",
        )
    return int(text)


def _read_direction(text: str, location: str) -> Direction:
    directions: dict[str, Any] = {
        "higher": "higher",
        "lower": "lower",
        "up": "higher",
        "down": "lower",
    }
    if text.lower() not in directions:
        raise UsageError(
            f"{text[:40]!r} is no direction",
            location=location,
            remedy="Write higher or lower, or COLUMN=lower.",
        )
    direction: Direction = directions[text.lower()]
    return direction
