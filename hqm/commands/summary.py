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
    "repeat": "repeat",
    "wording": "wording",
    "people": "people",
    "separate": "separate",
    "faulty": "faulty",
    "more": "more items",
    "quote": "quote",
}
"""Question of the report -> its word in the terminal."""


_FEW = 4
"""Benchmarks of which each has its verdict in the terminal; of more, each has its marks alone."""


def audit(result: Audit, folder: Path) -> None:
    """Print what a reader of the terminal alone needs to know, in the words of the report.

    It takes at most 15 lines for one benchmark, and 25 for several.
    """
    from hqm.scoring.rules import advice_on_cut

    room, sentences = width(), importlib.import_module("hqm.reports.sentences")
    several = len(result.audits) > 1
    for audited in result.audits:
        answers = sentences.seven(audited)
        if len(result.audits) <= _FEW:
            head = sentences.headline(audited)
            verdict = f"{sentences.MARKS[head.code]} {head.text}"
            print(f"\n{_heading(audited)}")
            print(textwrap.fill(verdict, room, subsequent_indent="  "))
        if several:
            marks = (f"{sentences.MARKS[a.code]} {_WORDS[a.question]}" for a in answers)
            name = "" if len(result.audits) <= _FEW else f"{audited.title}: "
            print(textwrap.shorten(f"{name}{'  '.join(marks)}", room, placeholder=" ..."))
        else:
            for answer in answers:
                _print_answer(sentences.MARKS[answer.code], answer, room)
        for cell, counts in audited.state_counts.items():
            if advice := advice_on_cut(counts):
                print(f"{cell}: {advice}.")
    for audited in result.audits if not several else ():
        print(textwrap.fill(f"quote  {audited.statement}", room, subsequent_indent="       "))
    print(f"wrote  {folder / 'report.html'}  evidence.html  audit.json  findings.csv")
    print(f"next:  hqm report {shlex.quote(str(folder))} --to table.tex")


def _print_answer(mark: str, answer: Any, room: int) -> None:
    """Print the answer to a question in one line, cut where the terminal ends."""
    beginning = f"{mark} {_WORDS[answer.question]:10} "
    words = importlib.import_module("hqm.reports.phrases").in_words(answer.sentences)
    print(beginning + textwrap.shorten(words, max(room - len(beginning), 20), placeholder=" ..."))


def _heading(audited: BenchmarkAudit) -> str:
    models = len(audited.respondents)
    return (
        f"{audited.title}   {audited.items:,} items · {models} model{'' if models == 1 else 's'} ·"
        f" {next(iter(audited.metrics))}"
    )
