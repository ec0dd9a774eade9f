"""Tables and JSON as a terminal, a file or a pipe gets them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table


def terminal_table(title: str, *columns: str, right: Sequence[int] = ()) -> Table:
    """A table with these columns; `right` names those whose values are aligned to the right."""
    from rich import box
    from rich.table import Table

    table = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for i, column in enumerate(columns):
        table.add_column(column, justify="right" if i in right else "left", overflow="fold")
    return table


def print_all(*things: Any) -> None:
    """Print tables and texts in the width of the terminal."""
    from rich.console import Console

    console = Console(soft_wrap=False)
    if not console.is_terminal:  # a file or a pipe has no edge
        console.width = max(console.width, 120)
    for thing in things:
        # data may hold square brackets: nothing printed here is markup
        console.print(thing, markup=False, highlight=False)


def print_json(value: Any) -> None:
    """Print a value as JSON, nothing rounded."""
    print(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False))
