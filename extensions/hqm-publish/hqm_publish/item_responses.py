"""The verdicts of an audit as item responses in long format, which R's mirt and the Item Response
Warehouse read.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hqm.auditing.audit import REMAKE_ADVICE, BenchmarkAudit
from hqm.auditing.verdict_records import unpack_columns, unpack_verdicts
from hqm.errors import DataError
from hqm.files.dialect import csv_text
from hqm.files.whole import write_text
from hqm.types import ORIGINAL, Cell

COLUMNS = ("id", "item", "resp", "wave", "rater", "itemcov_picture", "itemcov_type")


@dataclass(frozen=True, slots=True)
class ResponseTable:
    """What was written.

    Parameters
    ----------
    n_rows
        Responses.
    n_unscored
        Answers without a score, which are no responses.
    n_items
        Items; a wording of an item is an item of its own.
    """

    n_rows: int
    n_unscored: int
    n_items: int


def write_item_responses(audit: BenchmarkAudit, path: Path) -> ResponseTable:
    """Write the verdicts of an audit as the Item Response Warehouse's long format.

    A row is the response `resp` of the respondent `id` to `item` in the run `wave`, as judged by
    `rater`; `itemcov_picture` and `itemcov_type` number the picture and the type. An audit keeps
    the numbers of its items and not their texts: item 7 is `i7`, in another wording `i7_FORM`.
    Answers to questions without their pictures, or with smaller ones, are left out.

    Raises
    ------
    DataError
        An earlier version wrote the audit, without a record of its verdicts or their items.

    References
    ----------
    Item Response Warehouse Data Standard 1.0, https://itemresponsewarehouse.org/standard.html
    """
    rows: list[tuple[object, ...]] = [COLUMNS]
    names = audit.names
    n_unscored = 0
    item_names: set[str] = set()
    for administration, record in audit.verdicts.items():
        cell = Cell.parse(administration)
        # The format has no column for what was shown: such rows would be runs of the same items.
        if cell.sight or cell.resolution:
            continue
        columns = unpack_columns(record)
        if columns is None:
            raise DataError(
                "it keeps verdicts without their items", location=audit.title, remedy=REMAKE_ADVICE
            )
        values = unpack_verdicts(record)
        ending = "" if cell.form == ORIGINAL else f"_{cell.form}"
        items = [f"i{number}{ending}" for number in columns[0]]
        item_names.update(items)
        # A respondent that took no part has no answer at all.
        present = np.isfinite(values).any(axis=1)
        n_unscored += int(np.isnan(values[present]).sum())
        for row, column in np.argwhere(np.isfinite(values)):
            resp = f"{values[row, column]:g}"
            facets = (cell.run, cell.judge, columns[1, column], columns[2, column])
            rows.append((names[row], items[column], resp, *facets))
    if len(rows) == 1:
        raise DataError(
            "it keeps no verdicts on single answers", location=audit.title, remedy=REMAKE_ADVICE
        )
    write_text(path, csv_text(rows))
    return ResponseTable(len(rows) - 1, n_unscored, len(item_names))
