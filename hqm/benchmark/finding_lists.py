"""The complete lists of findings as CSV: a line for every row of every finding."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from typing import Any

_COLUMNS = ("items", "keys", "images", "question", "type", "part", "what", "place")
"""The columns that many findings share; what else a row says stands in the last column."""


def findings_csv(benchmarks: Iterable[tuple[str, Iterable[Mapping[str, Any]]]]) -> str:
    """The findings of benchmarks, as `to_dict` has them, as CSV; several items, keys or pictures of
    a row are joined by `|`.

    >>> finding = {"code": "D103", "name": "contradictory-label", "severity": "error", "rows": [{"items": ["a", "b"], "keys": ["yes", "no"]}]}
    >>> print(findings_csv([("mine", [finding])]).splitlines()[1])
    mine,D103,contradictory-label,error,1,a|b,yes|no,,,,,,,
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("benchmark", "code", "finding", "severity", "row", *_COLUMNS, "more"))
    for benchmark, findings in benchmarks:
        for finding in findings:
            rows = finding.get("rows") or [{"what": finding.get("sentence", "")}]
            for i, row in enumerate(rows, 1):
                more = "; ".join(
                    f"{key}: {_text(value)}" for key, value in row.items() if key not in _COLUMNS
                )
                cells = (*(_text(row.get(name)) for name in _COLUMNS), more)
                writer.writerow(
                    (benchmark, finding["code"], finding["name"], finding["severity"], i, *cells)
                )
    return out.getvalue()


def _text(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return "|".join(map(str, value))
    return "" if value is None else str(value)
