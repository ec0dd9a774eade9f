"""The ledger of printed numbers, as Markdown: what `docs/ledger.toml` holds beside what
`docs/ledger.py` computed.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

LEDGER_MARKER = "<!-- the ledger -->"
OURS = Path(__file__).with_name("ledger.json")
PRINTED = Path(__file__).parent.parent / "ledger.toml"


def ledger() -> str:
    """A line for each table of a paper, and below it a line for each of its numbers."""
    tables = tomllib.loads(PRINTED.read_text(encoding="utf-8"))["table"]
    ours = json.loads(OURS.read_text(encoding="utf-8"))
    lines = [
        "| paper | numbers | status | within the tolerance | command |",
        "|---|---|---|---|---|",
        *(_summary(table) for table in tables),
        "",
        *_differences(tables, ours),
    ]
    for table in tables:
        if table.get("rows"):
            lines += ["", *_numbers(table, ours[f"{table['paper']}: {table['name']}"])]
    return "\n".join(lines)


def _summary(table: Mapping[str, Any]) -> str:
    rows = table.get("rows", ())
    n_beyond = len(table.get("beyond", ()))
    share = f"{len(rows) - n_beyond} of {len(rows)} (±{table['tolerance']:g})" if rows else "–"
    command = f"`{table['command']}`" if rows else table["why"]
    cells = (table["paper"], f"{table['name']}: {table['what']}", table["status"], share, command)
    return f"| {' | '.join(cells)} |"


def _differences(
    tables: Sequence[Mapping[str, Any]], ours: Mapping[str, Mapping[str, float]]
) -> list[str]:
    """The numbers that differ by more than their tolerance, with why."""
    lines = ["| differs | printed | ours | why |", "|---|---|---|---|"]
    for table in tables:
        printed = {row[0]: row[-1] for row in table.get("rows", ())}
        for row in table.get("beyond", ()):
            number = ours[f"{table['paper']}: {table['name']}"][row]
            place = f"{table['paper']}, {table['name']}: {row}"
            lines.append(f"| {place} | {printed[row]:g} | {number:.4g} | {table['why']} |")
    return lines


def _numbers(table: Mapping[str, Any], ours: Mapping[str, float]) -> list[str]:
    """A line for each number of a table."""
    columns = table.get("columns", ())
    given = f" ({', '.join(columns)})" if columns else ""
    lines = [
        f"**{table['paper']}, {table['name']}**: {table['what']}{given}",
        "",
        "| row | printed | ours | difference |",
        "|---|---|---|---|",
    ]
    for row in table["rows"]:
        name, printed = row[0], row[-1]
        number = ours[name]
        lines.append(f"| {name} | {printed:g} | {number:.6g} | {number - printed:+.2g} |")
    return lines
