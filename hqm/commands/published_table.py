"""`hqm audit --table`: what is said of a published table, read, audited, printed and written."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from hqm.commands import show
from hqm.commands.shared import command, write_together
from hqm.commands.terminal import print_json
from hqm.errors import UsageError
from hqm.files.records import read_records, take

if TYPE_CHECKING:
    from hqm.commands.options import RunOptions
    from hqm.published.printed_table import Direction

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TableOptions:
    """What the command line says of a table: the options as they are written."""

    table: Path
    columns: str | None = None
    items: tuple[str, ...] = ()
    direction: tuple[str, ...] = ()
    names: bool = True
    base_rate: float | None = None


def audit_published(
    what: TableOptions, options: RunOptions, out: Path | None, report: Path | None
) -> None:
    """Audit a published table in place of a benchmark; the report and audit.json are written where
    they are asked for.
    """
    from hqm.published.table_audit import audit_table, read_table
    from hqm.respondents.relatives import read_families
    from hqm.version import __version__

    pair = tuple(part.strip() for part in what.columns.split(",")) if what.columns else None
    if pair is not None and len(pair) != 2:
        raise UsageError(
            f"--columns {what.columns!r} does not name two columns",
            remedy="Write --columns first,other.",
        )
    audited = audit_table(
        read_table(what.table, names=what.names),
        columns=pair,
        items=by_column(what.items, "items", _items),
        direction=by_column(what.direction, "direction", _direction),
        families=read_families(options.who.families) if options.who.families else None,
        margin=options.reading.margin,
        base_rate=what.base_rate,
    )
    data = {"hqm_version": __version__, "command": command(), "audits": [audited.to_dict()]}
    page = report or (out / "report.html" if out else None)
    if page is not None:
        written = {
            page: str(
                importlib.import_module("hqm.reports.published_page").render(
                    audited.to_dict(), command()
                )
            )
        }
        folder = out or page.parent
        text = json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        write_together({folder / "audit.json": text, **written})
    if options.output.as_json:
        print_json(data)
        return
    show.table_audit(audited)
    if page is not None:
        print(f"audit:  {folder / 'audit.json'}\nreport: {page}")


def by_column(
    texts: Sequence[str], name: str, read: Callable[[str, str], T]
) -> T | dict[str, T] | None:
    """What an option says of the columns of a table: one value for all, a value for each that is
    named, or a file of them.

    Raises
    ------
    UsageError
        A value means nothing, or one for all stands beside others.
    """

    whole: list[T] = []
    values: dict[str, T] = {}
    for text in texts:
        column, equals, value = text.rpartition("=")
        if equals and not _is_file(text):
            values[column.strip()] = read(value.strip(), f"--{name} {text!r}")
        elif _is_file(text):
            for i, record in enumerate(read_records(Path(text)), 1):
                place = f"{text}: record {i}"
                values[str(take(record, "column", place))] = read(
                    str(take(record, name, place)).strip(), place
                )
        else:
            whole.append(read(text.strip(), f"--{name} {text!r}"))
    if len(whole) > 1 or (whole and values):
        raise UsageError(
            f"--{name} says one value for all columns, and others",
            remedy=f"Write --{name} once for all columns, or --{name} COLUMN=VALUE for each.",
        )
    return whole[0] if whole else values or None


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _items(text: str, place: str) -> int:
    if (
        not text.isdecimal()
        or not text.isascii()
        or not 1 <= int(text[:12]) <= 10**9
        or len(text) > 10
    ):
        raise UsageError(
            f"{text[:40]!r} is no number of items",
            place=place,
            remedy="Write a whole number from 1 on, COLUMN=NUMBER, or an existing file.",
        )
    return int(text)


def _direction(text: str, place: str) -> Direction:
    ways: dict[str, Any] = {"higher": "higher", "lower": "lower", "up": "higher", "down": "lower"}
    if text.lower() not in ways:
        raise UsageError(
            f"{text[:40]!r} is no direction",
            place=place,
            remedy="Write higher or lower, or COLUMN=lower.",
        )
    way: Direction = ways[text.lower()]
    return way
