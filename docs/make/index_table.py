"""The index on the first page, and the table of what can rank models: the rows that
`docs/index_rows.py` made, as HTML and Markdown.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

MARKER = "<!-- the index -->"
RANKING_MARKER = "<!-- the ranking -->"
ROWS = Path(__file__).with_name("index.json")
_LEGEND = (
    "Error budget, on one axis for all rows: by how many points one model shifts relative to the"
    " others when only this changes (bar, 95%). Dots are gaps between neighbours of the leaderboard,"
    " green where above all measured errors. Pale bars were not measured. Each row opens to its"
    " statement and the command that makes it again."
)


def table() -> str:
    """The finding of the index, and a row for each benchmark."""
    index = json.loads(ROWS.read_text(encoding="utf-8"))
    rows = "".join(map(_row, index["rows"]))
    return (
        f'<p class="hqm-finding">{escape(index["finding"])}</p>'
        f"<p>{escape(index['measured'])} Nothing is averaged; there is no overall grade.</p>"
        f'<p class="hqm-legend">{_LEGEND}</p>'
        f'<div class="hqm-scroll"><table class="hqm-index"><thead><tr><th scope="col">Benchmark</th>'
        f'<th scope="col">Error budget, points</th><th scope="col">Lead of the first</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _row(row: Mapping[str, Any]) -> str:
    lead = row.get("lead") or row["tied"]  # the rows may be those of 0.2.0
    points = "–" if lead["number"] is None else str(lead["number"])
    more = [
        ("", f"<code>{escape(row['line'])}</code>" if row["line"] else ""),
        ("Not measured: ", escape(row["unmeasured"])),
        ("Leaks: ", _count(row["leaks"])),
        ("Keys to check: ", _count(row["keys"])),
        ("Answers: ", _source(row)),
        ("Made again by ", f"<code>{escape(row['command'])}</code>"),
    ]
    lines = "<br>".join(name + value for name, value in more if value)
    return (
        f'<tr id="{escape(row["folder"])}"><th scope="row"><b>{escape(row["title"])}</b>'
        f"<small>{escape(row['size'])}</small>"
        f'<p class="{row["code"]}">{escape(row["verdict"])}</p>'
        f"<details><summary>statement and command</summary>{lines}</details></th>"
        f"<td>{row['strip'] or (_NO_BAR if row.get('unit') else '')}</td>"
        f"<td><b>{points}</b><small>{_unit(row)}{escape(lead['about'])}</small></td></tr>"
    )


_NO_BAR = "<small>Its scores are no per cents: no bar on this axis.</small>"


def _unit(row: Mapping[str, Any]) -> str:
    """In which unit the numbers of a row are, where these are no per cents."""
    return f"in units of {escape(row['unit'])}; " if row.get("unit") else ""


def _source(row: Mapping[str, Any]) -> str:
    """Where the answers of a row are, and at which commit; empty where the command says it."""
    source = row.get("source")
    if source is None:
        return ""
    repository = escape(source["repository"])
    return (
        f'<a href="https://github.com/{repository}">{repository}</a> at {source["commit"][:12]},'
        " cloned into <code>clones</code>"
    )


_VERDICTS = {
    "fine": "no fault found",
    "look": "check first",
    "wrong": "not ready",
    "not_measured": "too little measured",
}


def ranking() -> str:
    """A row for each audit of answers, those first whose models differ most often, as Markdown."""
    index = json.loads(ROWS.read_text(encoding="utf-8"))
    rows = [row for row in index["rows"] if row.get("pairs") and row["pairs"]["all"]]
    rows.sort(key=lambda row: (-row["pairs"]["differ"] / row["pairs"]["all"], row["title"]))
    lines = [
        "| benchmark | answers | pairs of models that differ | widest error, points |"
        " lead of the first | items |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        pairs, lead = row["pairs"], row["lead"]
        share = f"{pairs['differ']} of {pairs['all']} ({100 * pairs['differ'] / pairs['all']:.0f}%)"
        unit = f" ({row['unit']})" if row.get("unit") else ""
        error = "not measured" if row["error"] is None else f"±{row['error']:.2g}{unit}"
        points = "–" if lead["number"] is None else f"{lead['number']}{unit}, {lead['about']}"
        cells = (row["title"], row["size"], share, error, points, _VERDICTS[row["code"]])
        lines.append(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |")
    return "\n".join(lines)


def _count(count: Mapping[str, Any]) -> str:
    """A number with what was counted, or why there is none."""
    number = "not known" if count["number"] is None else str(count["number"])
    return escape(f"{number} ({count['about']})" if count["about"] else number)
