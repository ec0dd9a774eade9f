"""The end of `hqm audit`: the verdict, seven questions, what was written, and the next command."""

from __future__ import annotations

import importlib
import shlex
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from hqm.commands.terminal import width

if TYPE_CHECKING:
    from hqm.auditing.audit import Audit, BenchmarkAudit

_FEW = 4
"""Benchmarks of which each has its verdict in the terminal; of more, each has its marks alone."""


def audit(result: Audit, folder: Path) -> None:
    """Print what a reader of the terminal alone needs to know, in the words of the report.

    It takes at most 15 lines for one benchmark, and 25 for several.
    """
    from hqm.scoring.rules import advice_on_cut

    room, sentences = width(), importlib.import_module("hqm.reports.sentences")
    cards = importlib.import_module("hqm.reports.benchmark_card")
    several = len(result.audits) > 1
    for audited in result.audits:
        if not several:
            print(f"\n{cards.brief(audited, room)}")
        elif len(result.audits) <= _FEW:
            head = sentences.headline(audited)
            verdict = f"{sentences.MARKS[head.code]} {head.text}"
            print(f"\n{_heading(audited)}")
            print(textwrap.fill(verdict, room, subsequent_indent="  "))
        if several:
            marks = (
                f"{sentences.MARKS[answer.code]} {cards.IN_A_WORD[answer.question]}"
                for answer in sentences.seven(audited)
            )
            name = "" if len(result.audits) <= _FEW else f"{audited.title}: "
            print(textwrap.shorten(f"{name}{'  '.join(marks)}", room, placeholder=" ..."))
        for cell, counts in audited.state_counts.items():
            if advice := advice_on_cut(counts):
                print(f"{cell}: {advice}.")
    print(f"wrote  {folder / 'report.html'}  evidence.html  audit.json  findings.csv")
    print(f"next:  hqm report {shlex.quote(str(folder))} --to table.tex")


def _heading(audited: BenchmarkAudit) -> str:
    models = len(audited.respondents)
    return (
        f"{audited.title}   {audited.items:,} items · {models} model{'' if models == 1 else 's'} ·"
        f" {next(iter(audited.metrics))}"
    )
