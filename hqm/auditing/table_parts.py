"""Published numbers against what they are made of: shares of a number of items, means of parts,
rows that stand twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from hqm.auditing.contradictions import Contradiction, Tally
from hqm.auditing.printed import Column, Published
from hqm.auditing.table_metrics import confusion_groups, is_summary, metric_of
from hqm.psychometrics import Violation, check_table

_MOST_EQUAL = 400
"""Rows are compared with one another up to so many."""


def parts_of(table: Published, tally: Tally) -> Iterator[Contradiction]:
    """What single numbers, means and equal rows contradict."""
    yield from _rounding(table, tally)
    yield from _means(table, confusion_groups(table), tally)
    yield from _summary_rows(table, tally)
    yield from _twice(table, tally)


def _rounding(table: Published, tally: Tally) -> Iterator[Contradiction]:
    """Every rate lies on its scale, and is a whole number of its items (GRIM)."""
    if table.binary:
        return
    for j, column in enumerate(table.about):
        rows = [i for i, row in enumerate(table.printed) if row[j]]
        if column.scale is None or not rows:
            continue
        # a ratio such as F1 is no whole number of items
        items = column.items if metric_of(column.name)[0] in ("", "accuracy", "yes") else None
        checked = check_table(
            [table.respondents[i] for i in rows],
            [column.name],
            [[table.printed[i][j]] for i in rows],
            n=items,
            decimals=column.decimals,
            scale=int(column.scale),
        )
        tally.add("shares of a number of items", checked.grim_checked)
        yield from (
            Contradiction(v) for v in checked.violations if v.kind in ("GRIM", "OUT_OF_BOUNDS")
        )


def _twice(table: Published, tally: Tally) -> Iterator[Contradiction]:
    """Equal rows and equal columns."""
    rows = [i for i, row in enumerate(table.printed) if all(row)]
    if table.binary or len(rows) < 2 or len(rows) > _MOST_EQUAL:
        return
    numbers = [table.printed[i] for i in rows]
    tally.add("pairs of rows", len(rows) * (len(rows) - 1) // 2 if len(table.about) > 2 else 0)
    bounds = (-1e12, 1e12)
    checked = check_table(
        [table.respondents[i] for i in rows], table.columns, numbers, bounds=bounds
    )
    unless = "they came out equal to the last printed digit by chance"
    kinds = ("DUPLICATE_ROW", "DUPLICATE_COLUMN")
    yield from (Contradiction(v, unless=unless) for v in checked.violations if v.kind in kinds)


def _means(
    table: Published, groups: Mapping[str, Mapping[str, int]], tally: Tally
) -> Iterator[Contradiction]:
    """A column that is called a mean, or a total, is the mean or the sum of the columns beside
    it.
    """
    for whole, column in enumerate(table.about):
        metric, _ = metric_of(column.name)
        if not is_summary(column):
            continue
        same = [
            j
            for j, other in enumerate(table.about)
            if j != whole and metric_of(other.name)[0] == metric and not is_summary(other)
        ]
        parts = [table.about[j] for j in same]
        if (
            len(parts) < 2
            or len({(part.scale, part.better == "lower") for part in parts}) > 1
            or parts[0].scale != column.scale
        ):
            continue
        if not metric and any(len(places) > 1 for places in groups.values()):
            continue  # the mean of precision, recall and their like is none
        failed = []
        rows = [
            i for i, row in enumerate(table.printed) if row[whole] and all(row[j] for j in same)
        ]
        for i in rows:
            row = [float(table.printed[i][j]) for j in same]
            reason = _no_mean(float(table.printed[i][whole]), column, row, parts)
            if reason:
                failed.append(
                    Contradiction(
                        Violation(
                            "ROW_MEAN",
                            table.respondents[i],
                            column.name,
                            table.printed[i][whole],
                            reason,
                        )
                    )
                )
        tally.add("means of parts", len(rows))
        yield from failed


def _no_mean(
    printed: float, whole: Column, values: Sequence[float], parts: Sequence[Column]
) -> str:
    """Why a number is neither the mean of its parts, weighted by their items or not, nor their sum;
    empty where it is.
    """
    half = [0.5 * 10**-part.decimals for part in parts]
    own = 0.5 * 10**-whole.decimals
    ways = {"the mean of the parts": [1 / len(values)] * len(values)}
    items = [part.items for part in parts]
    if all(items) and len(set(items)) > 1:
        total = sum(filter(None, items))
        ways["their mean weighted by their items"] = [(n or 0) / total for n in items]
    if re.match(r"total|sum|all|overall", whole.name.strip(), re.IGNORECASE):
        ways["their sum"] = [1.0] * len(values)
    expected = {}
    for way, weights in ways.items():
        value = sum(w * v for w, v in zip(weights, values, strict=True))
        # the parts are rounded too, and so is the whole
        room = own + sum(w * h for w, h in zip(weights, half, strict=True))
        if abs(value - printed) <= room + 1e-9:
            return ""
        expected[way] = value
    return ", ".join(f"{way} is {value:.6g}" for way, value in expected.items())


def _summary_rows(table: Published, tally: Tally) -> Iterator[Contradiction]:
    """A row that is called a mean, or a total, is the mean or the sum of the rows above it."""
    for name, row in table.summaries:
        for j, column in enumerate(table.about):
            values = [float(printed[j]) for printed in table.printed if printed[j]]
            if not row[j] or len(values) < 2 or len(values) < len(table.printed):
                continue
            digits = max(column.decimals, len(row[j].partition(".")[2]))
            reason = _no_mean(
                float(row[j]),
                replace(column, name=name, decimals=digits),
                values,
                [replace(column, items=None)] * len(values),
            )
            tally.add("means of columns", 1)
            if reason:
                said = reason.replace("the parts", "the rows")
                yield Contradiction(Violation("COLUMN_MEAN", name, column.name, row[j], said))
