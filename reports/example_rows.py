"""Examples as a page shows them: short names, numbers as text, verdicts in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hqm.reports import tables

from hqm import BenchmarkAudit, Cell

FACETS = {
    "run": "Another seed",
    "form": "Another wording",
    "judge": "Another judge",
    "sight": "Without the picture",
    "resolution": "Smaller pictures",
    "human": "People",
}
"""What the report calls the facets."""


def as_shown(audit: BenchmarkAudit, example: Mapping[str, Any]) -> Mapping[str, Any]:
    """An example as the page shows it, with short names and numbers as text."""
    rows = []
    for said in example["answers"]:
        value = said["value"]
        rows.append(
            {
                **said,
                "who": tables.short(str(said["respondent"])),
                "where": tables.cell(str(said["cell"])),
                "verdict": _verdict(
                    value, str(said["state"]), str(said["cell"]) not in audit.cells
                ),
                "good": None if value is None else bool(value >= 0.5),
                "label": (
                    Cell.parse(str(said["cell"])).judge
                    if not said["text"] and str(said["cell"]) not in audit.cells
                    else ""
                ),
            }
        )
    facets = [
        (name, FACETS.get(name, name), tables.percent(gap))
        for name, gap in example["facets"].items()
    ]
    names = list(dict.fromkeys(str(said["respondent"]) for said in example["answers"]))
    return {
        **example,
        "answers": rows,
        "facets": facets,
        "shown": names,
        "cut": example["respondents"] - len(names),
    }


def _verdict(value: float | None, state: str, label: bool = False) -> str:
    """A verdict in words.

    >>> _verdict(1.0, "ok"), _verdict(0.0, "ok"), _verdict(None, "unparsed"), _verdict(0.5, "ok")
    ('right', 'wrong', 'not scored: unparsed', '0.50')
    """
    if value is None:
        return f"not scored: {state}"
    words = {1.0: "faithful", 0.0: "hallucinated"} if label else {1.0: "right", 0.0: "wrong"}
    return words.get(value) or tables.number(value, 2)
