"""What `hqm audit` prints of a short form."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from hqm.commands.terminal import print_all, terminal_table

if TYPE_CHECKING:
    from hqm.auditing.value import BenchmarkAudit


def full_scale(audited: BenchmarkAudit) -> None:
    """The scores on the full benchmark's scale, and what was lost; nothing of a benchmark that is
    no short form.
    """
    short_form = importlib.import_module("hqm.reports.short_form")
    if (scores := short_form.full_scores(audited)) is not None:
        table = terminal_table("", *scores.columns, right=scores.right)
        for row in scores.rows:
            table.add_row(*(cell.text for cell in row))
        print_all(table)
    for sentence in short_form.remarks(audited):
        print(sentence)
