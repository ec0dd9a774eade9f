"""Tables and JSON as a terminal, a file or a pipe gets them."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.table import Table

_PLAIN = ("", "dumb", "unknown")
"""Values of TERM for a terminal that knows no control characters."""
_LONG = 40
"""Characters from which on a word of a table may be broken."""
_WIDE = 120
"""The least width of what goes into a file or a pipe, which has no edge."""


def width(stream: TextIO | None = None) -> int:
    """The columns of the terminal behind a stream; of a file or a pipe, at least 120."""
    stream = stream or sys.stdout
    columns = os.environ.get("COLUMNS", "")
    if not stream.isatty():
        return max(int(columns) if columns.isdecimal() else 0, _WIDE)
    if columns.isdecimal() and int(columns):
        return int(columns)
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return shutil.get_terminal_size().columns


def can_redraw(stream: TextIO) -> bool:
    """Whether a stream is a terminal that can move its cursor, so that a bar can grow in its
    place.
    """
    return stream.isatty() and os.environ.get("TERM", "").lower() not in _PLAIN


def terminal_table(title: str, *columns: str, right: Sequence[int] = ()) -> Table:
    """A table with these columns; `right` names those whose values are aligned to the right."""
    from rich import box
    from rich.table import Table

    table = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for i, column in enumerate(columns):
        table.add_column(column, justify="right" if i in right else "left", overflow="fold")
    return table


def print_all(*things: Any) -> None:
    """Print tables and texts in the width of the terminal; a table that does not fit, row by
    row.
    """
    from rich.console import Console
    from rich.table import Table

    console = Console(soft_wrap=False, width=width())
    for thing in things:
        if isinstance(thing, str):
            print(
                textwrap.fill(thing, console.width, break_on_hyphens=False)
                if sys.stdout.isatty()
                else thing
            )
        elif isinstance(thing, Table) and not _fits(thing, console.width):
            for line in _as_lists(thing, console.width):
                print(line)
        else:
            # data may hold square brackets: nothing printed here is markup
            console.print(thing, markup=False, highlight=False)


def _fits(table: Table, room: int) -> bool:
    """Whether the table has room for the longest word of every column, so that none is broken."""
    from rich.cells import cell_len

    longest = [
        max(
            (
                cell_len(word)
                for cell in (column.header, *column.cells)
                for word in str(cell).split()
            ),
            default=0,
        )
        for column in table.columns
    ]
    # three columns of blanks stand between two columns, one at either side; a very long word may be
    # broken anywhere
    return sum(min(length, _LONG) for length in longest) + 3 * len(longest) - 1 <= room


def _as_lists(table: Table, room: int) -> Iterator[str]:
    """Each row under its first cell, a line or more for every other cell that says something."""
    if table.title:
        yield from ("", *textwrap.wrap(str(table.title), room))
    headings = [str(column.header) for column in table.columns]
    for cells in zip(*(list(column.cells) for column in table.columns), strict=True):
        yield from ("", *textwrap.wrap(str(cells[0]), room, break_on_hyphens=False))
        for heading, cell in zip(headings[1:], cells[1:], strict=True):
            if str(cell).strip():
                text = f"{heading}: {cell}" if heading.strip() else str(cell)
                yield from textwrap.wrap(
                    text,
                    room,
                    initial_indent="  ",
                    subsequent_indent="    ",
                    break_on_hyphens=False,
                )


def print_json(value: Any) -> None:
    """Print a value as JSON, nothing rounded."""
    print(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False))
