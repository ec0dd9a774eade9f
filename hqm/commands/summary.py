"""The end of `hqm audit`: the verdict, seven questions, what was written, and the next command."""

from __future__ import annotations

import importlib
import shlex
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hqm.commands.terminal import width

if TYPE_CHECKING:
    from hqm.auditing.audit import Audit, BenchmarkAudit

_FEW = 4
"""Benchmarks of which each has its verdict in the terminal; of more, each has a line of marks."""
_MOST = 20
"""Benchmarks that are listed at most."""


def audit(result: Audit, folder: Path) -> None:
    """Print what a reader of the terminal alone needs to know, in the words of the report.

    It takes at most 15 lines for one benchmark, and 25 for several.
    """
    from hqm.scoring.rules import advice_on_cut

    cards = importlib.import_module("hqm.reports.benchmark_card")
    if len(result.audits) == 1:
        print(f"\n{cards.brief(result.audits[0], width())}")
    else:
        print(_several(result.audits))
    advice = {
        f"{audited.title}, {cell}: {said}."
        for audited in result.audits
        for cell, counts in audited.state_counts.items()
        if (said := advice_on_cut(counts))
    }
    for line in sorted(advice)[:1]:
        more = f" So with {len(advice) - 1} other administrations." if len(advice) > 1 else ""
        print(f"{line}{more}")
    print(f"wrote  {folder / 'report.html'}  evidence.html  audit.json  findings.csv")
    print(f"next:  hqm report {shlex.quote(str(folder))} --to table.tex")


def _several(audits: Sequence[BenchmarkAudit]) -> str:
    """What several benchmarks come to, and each of them."""
    room, sentences = width(), importlib.import_module("hqm.reports.sentences")
    cards = importlib.import_module("hqm.reports.benchmark_card")
    heads = [sentences.headline(audited) for audited in audits]
    lines = [textwrap.fill(sentences.several_benchmarks(audits, heads), room)]
    longest = max(len(audited.title) for audited in audits)
    shown = len(audits) if len(audits) <= _MOST else _MOST - 1
    for audited, head in zip(audits[:shown], heads, strict=False):
        marks = "  ".join(
            f"{sentences.MARKS[answer.code]} {cards.IN_A_WORD[answer.question]}"
            for answer in sentences.seven(audited)
        )
        if len(audits) <= _FEW:
            verdict = f"{sentences.MARKS[head.code]} {audited.title}: {head.text}"
            lines += ["", textwrap.fill(verdict, room, subsequent_indent="  "), f"  {marks}"]
        else:
            title = audited.title.ljust(min(longest, max(room - len(marks) - 4, 20)))
            lines.append(f"{sentences.MARKS[head.code]} {title}  {marks}"[:room])
    if shown < len(audits):
        lines.append(f"... and {len(audits) - shown} more, in the report")
    return "\n".join(lines)
