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

_WORDS = {
    "repeat": "repeat",
    "wording": "wording",
    "people": "people",
    "separate": "separate",
    "faulty": "faulty",
    "more": "more items",
    "quote": "quote",
}
"""Question of the report -> its word in the terminal."""


def audit(result: Audit, folder: Path) -> None:
    """Print what a reader of the terminal alone needs to know, in the words of the report."""
    from hqm.scoring.rules import advice_on_cut

    room, sentences = width(), importlib.import_module("hqm.reports.sentences")
    phrases = importlib.import_module("hqm.reports.phrases")
    for audited in result.audits:
        print()
        print(_heading(audited))
        head = sentences.headline(audited)
        verdict = f"{sentences.MARKS[head.code]} {head.text}"
        print(textwrap.fill(verdict, room, subsequent_indent="  "))
        # several benchmarks have a verdict each, and their answers in the report
        for answer in sentences.seven(audited) if len(result.audits) == 1 else ():
            words = phrases.in_words(answer.sentences)
            line = f"{sentences.MARKS[answer.code]} {_WORDS[answer.question]:11} {words}"
            print(textwrap.shorten(line, room, placeholder=" ...", drop_whitespace=False))
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
