"""Further tables of a benchmark's own paper: what an adapter makes of all scored answers, beside
the scores and their statistics.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from hqm.types import Item, Judgement

Entry = str | float | int | None
"""What stands in a table: a text, a number that is never rounded here, or None where there is
none.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredAnswer:
    """One answer of the reference administration, with what was made of it.

    Parameters
    ----------
    respondent
        Who gave it.
    item
        What was asked.
    text
        What was answered.
    value
        The score; None of an answer that was not scored.
    tally
        What the metrics sum; empty of an answer that was not scored.
    labels
        What people said of it, rater by rater.
    """

    respondent: str
    item: Item
    text: str
    value: float | None
    tally: Mapping[str, float]
    labels: tuple[Judgement, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """A table of an audit that is about this benchmark alone.

    Parameters
    ----------
    name
        Its name in `audit.json`.
    title
        Its heading.
    about
        What was counted, of what, and where the idea comes from.
    columns
        The headings.
    rows
        A row has an entry for each column.
    drawn
        The column of numbers that the report also draws; empty for none.
    """

    name: str
    title: str
    about: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    drawn: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As `audit.json` has it."""
        return asdict(self)
