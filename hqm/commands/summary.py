"""The end of `hqm audit`: the verdict, seven questions, what was written, and the next command."""

from __future__ import annotations

import importlib
import shlex
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hqm.commands.terminal import width

if TYPE_CHECKING:
    from hqm.auditing.audit import Audit, BenchmarkAudit

_WORDS = {
    "Do the scores repeat?": "repeat",
    "Does the wording change them?": "wording",
    "Do they agree with people?": "people",
    "Which respondents did it separate?": "separate",
    "Are items faulty?": "faulty",
    "How many more items?": "more items",
    "Can I quote it?": "quote",
}
"""Question of the report -> its word in the terminal."""


def audit(result: Audit, folder: Path) -> None:
    """Print what a reader of the terminal alone needs to know."""
    from hqm.scoring.rules import advice_on_cut

    room = width()
    for audited in result.audits:
        print()
        print(_heading(audited))
        for point in _points(audited):
            line = f"{_WORDS[point.question]:11} {point.verdict}"
            print(textwrap.shorten(line, room, placeholder=" ..."))
        for cell, counts in audited.state_counts.items():
            if advice := advice_on_cut(counts):
                print(f"{cell}: {advice}.")
    print(f"wrote  {folder / 'report.html'}  audit.json  findings.csv")
    print(f"next:  hqm report {shlex.quote(str(folder))} --to table.tex")


def _heading(audited: BenchmarkAudit) -> str:
    models = len(audited.respondents)
    return (
        f"{audited.title}   {audited.items:,} items · {models} model{'' if models == 1 else 's'} ·"
        f" {next(iter(audited.metrics))}"
    )


def _points(audited: BenchmarkAudit) -> list[Any]:
    points = importlib.import_module("hqm.reports.first_screen").in_short(audited)
    return [point for point in points if point.question in _WORDS]
