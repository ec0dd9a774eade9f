"""What `hqm audit` prints of smaller pictures."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from hqm.commands.terminal import print_all, terminal_table

if TYPE_CHECKING:
    from hqm.auditing.value import BenchmarkAudit


def resolutions(audited: BenchmarkAudit) -> None:
    """Each respondent's score at every resolution; nothing where pictures were shown in one
    alone.
    """
    for each in importlib.import_module("hqm.reports.resolution").resolution_tables(audited):
        print(each.caption)
        table = terminal_table("", *each.columns, right=each.right)
        for row in each.rows:
            table.add_row(*(f"{cell.text} {_beside(cell.small)}".rstrip() for cell in row))
        print_all(table)


def _beside(small: str) -> str:
    """What stands under a number in a report, beside it: an interval as it is, anything else in
    brackets.
    """
    return small if small.startswith("[") or not small else f"({small})"
