"""Where the tools that recorded answers score them otherwise than HQM: in total, by reason, and row
by row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hqm.reports.layout import Column, PaperTable, measured, plain
from hqm.reports.tables import Table, Text, number, short

from hqm import BenchmarkAudit

TITLE = "HQM and the tools that recorded the answers"
Tool = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FoldedTable(Table):
    """A table that the page shows behind a fold."""

    fold: str = ""
    """The line that opens it."""


@dataclass(frozen=True, slots=True)
class FoldedPaperTable(PaperTable):
    """A table for papers that the page of a comparison shows behind a fold, and that LaTeX leaves
    out.
    """

    fold: str = ""


def harness_tables(tools: Sequence[Tool]) -> tuple[PaperTable, ...]:
    """The totals and every row, for a comparison; nothing where no answer carries a tool's
    score.
    """
    if not tools:
        return ()
    totals = tuple(
        (
            plain(short(t["respondent"])),
            plain(_put(t)),
            plain(t["tool"]),
            plain(t["scoring"]),
            measured(t["compared"], digits=0),
            measured(t["tool_mean"]),
            measured(t["hqm_mean"]),
            measured(t["hqm_scored"], digits=0),
            measured(len(t["differences"]), digits=0),
            plain(_reasons(t)),
        )
        for t in tools
    )
    rows = tuple(
        (
            plain(row["item"]),
            plain(short(t["respondent"])),
            plain(_put(t)),
            plain(t["scoring"]),
            plain(row["answer"]),
            measured(row["tool_score"]),
            plain(row["tool_read"]),
            measured(row["hqm_score"]),
            plain(row["hqm_read"]),
            plain(row["state"]),
            plain(row["reason"]),
        )
        for t in tools
        for row in t["differences"]
    )
    columns = (
        Column("Respondent", "text"),
        Column("Administration", "text"),
        Column("Tool", "text"),
        Column("HQM's scoring", "text"),
        Column("answers"),
        Column("tool", "number", "Mean score"),
        Column("HQM", "number", "Mean score"),
        Column("scored by HQM"),
        Column("differ"),
        Column("Why", "text"),
    )
    each = (
        Column("Item", "text"),
        Column("Respondent", "text"),
        Column("Administration", "text"),
        Column("HQM's scoring", "text"),
        Column("Answer", "text"),
        Column("score", "number", "Tool"),
        Column("read", "text", "Tool"),
        Column("score", "number", "HQM"),
        Column("read", "text", "HQM"),
        Column("state", "text", "HQM"),
        Column("Why", "text"),
    )
    total = PaperTable(
        "harness",
        f"{TITLE}: answers that both scored, and how many they score otherwise.",
        columns,
        totals,
    )
    fold = f"Every answer that a tool scores otherwise than HQM: {len(rows):,}"
    return (
        total,
        FoldedPaperTable("harness_rows", f"{TITLE}, answer by answer.", each, rows, (), fold),
    )


def harness_parts(audit: BenchmarkAudit) -> list[Table | None]:
    """The totals and, behind a fold, every row, for the page of an audit; nothing where no answer
    carries a tool's score.
    """
    if not audit.tools:
        return []
    rows = tuple(
        (
            Text(short(t["respondent"]), t["respondent"]),
            Text(_put(t)),
            Text(t["tool"]),
            Text(f"{t['compared']:,}"),
            Text(number(t["tool_mean"])),
            Text(number(t["hqm_mean"])),
            Text(f"{t['hqm_scored']:,}"),
            Text(f"{len(t['differences']):,}"),
            Text(_reasons(t)),
        )
        for t in audit.tools
    )
    columns = (
        "Respondent",
        "Administration",
        "Tool",
        "Answers",
        "Tool's mean",
        "HQM's mean",
        "Scored by HQM",
        "Differ",
        "Why",
    )
    notes = (
        (
            "The tools' means are over the answers with a tool's score, HQM's over those of them"
            " that HQM scores."
        ),
    )
    total = Table(f"{TITLE}.", columns, rows, (3, 4, 5, 6, 7), notes)
    each = tuple(
        (
            Text(row["item"]),
            Text(short(t["respondent"]), t["respondent"]),
            Text(_put(t)),
            Text(row["answer"] or "(empty)"),
            Text(number(row["tool_score"], 2)),
            Text(row["tool_read"]),
            Text(_score(row)),
            Text(row["hqm_read"]),
            Text(row["reason"]),
        )
        for t in audit.tools
        for row in t["differences"]
    )
    names = (
        "Item",
        "Respondent",
        "Administration",
        "Answer",
        "Tool's score",
        "Tool read",
        "HQM's score",
        "HQM read",
        "Why",
    )
    fold = f"Every answer that a tool scores otherwise than HQM: {len(each):,}"
    return [
        total,
        (
            FoldedTable(f"{TITLE}, answer by answer.", names, each, (4, 6), fold=fold)
            if each
            else None
        ),
    ]


def _put(tool: Tool) -> str:
    return f"form {tool['form']}, run {tool['run']}"


def _score(row: Mapping[str, Any]) -> str:
    return f"unscored ({row['state']})" if row["hqm_score"] is None else number(row["hqm_score"], 2)


def _reasons(tool: Tool) -> str:
    """How many answers each reason explains, the most first."""
    counts = Counter(str(row["reason"]) for row in tool["differences"])
    return "; ".join(f"{n}: {reason}" for reason, n in counts.most_common())
