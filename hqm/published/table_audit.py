"""Audit a published table of scores when no answers are at hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hqm.psychometrics import FamilyDependence, family_dependence, stream
from hqm.published.printed_table import Column, Direction, Published, read_table
from hqm.published.table_columns import is_summary, pivoted, subscales_of
from hqm.published.table_contradictions import (
    Checked,
    Contradiction,
    Tally,
    identities_of,
    parts_of,
)
from hqm.published.table_estimates import Maker, of_subscales, of_two
from hqm.respondents.kinds import check_families, families_of
from hqm.types import Estimate

__all__ = ["Published", "TableAudit", "audit_table", "read_table"]


@dataclass(frozen=True)
class TableAudit:
    """All that a published table shows of itself."""

    table: str
    respondents: tuple[str, ...]
    columns: tuple[str, ...]
    about: tuple[Column, ...]
    items: int | None
    estimates: tuple[Estimate, ...]
    checked: Checked
    flags: tuple[Mapping[str, Any], ...] = field(default=())
    notes: tuple[str, ...] = ()

    @property
    def contradictions(self) -> tuple[Contradiction, ...]:
        """What the table's numbers contradict in one another."""
        return self.checked.contradictions

    @property
    def violations(self) -> tuple[Mapping[str, Any], ...]:
        """The contradictions as rows: kind, row, column, printed, reason, off, unless."""
        return tuple(each.to_dict() for each in self.contradictions)

    def to_dict(self) -> dict[str, Any]:
        """As `--json` prints it, in the shape of `audit.json`."""
        return {
            "benchmark": self.table,
            "version": "",
            "items": self.items,
            "columns": list(self.columns),
            "read_as": [
                {
                    "column": c.name,
                    "scale": c.scale,
                    "better": c.better,
                    "decimals": c.decimals,
                    "items": c.items,
                }
                for c in self.about
            ],
            "respondents": [{"name": name} for name in self.respondents],
            "estimates": [estimate.to_dict() for estimate in self.estimates],
            "consistency": self.checked.sentence(),
            "checks": dict(self.checked.checks),
            "violations": [dict(v) for v in self.violations],
            "flags": [dict(f) for f in self.flags],
            "notes": list(self.notes),
            "coverage": {},
        }


def audit_table(
    table: Published,
    *,
    columns: tuple[str, str] | None = None,
    items: int | Mapping[str, int] | None = None,
    direction: Direction | Mapping[str, Direction] | None = None,
    families: Mapping[str, str] | None = None,
    margin: float | None = None,
    base_rate: float | None = None,
    seed: int = 0,
) -> TableAudit:
    """Audit a published table.

    Parameters
    ----------
    columns
        Two columns that are two administrations of one benchmark; without them, the columns are
        subscales.
    items
        The number of items behind each score, where it is known: one number for all columns, or by
        column.
    direction
        Which way is good, of all columns or by column; the arrows of the headings unless given,
        else higher.
    families
        Respondent -> family; the family of others is inferred from their names.
    margin
        The largest mean difference of two columns that does not matter, in the table's units.
    base_rate
        The share of questions whose right answer is yes; solved from the rows unless given.

    Raises
    ------
    UsageError
        A column is named that the table does not have.
    """
    table = described(table, items, direction)
    tally = Tally()
    broken = (*parts_of(table, tally), *identities_of(table, base_rate, tally))
    checked = Checked(broken, tally.checks, tuple(dict.fromkeys(tally.notes)))
    notes = [*table.notes, *checked.notes]
    wide = pivoted(table)
    if wide is not table:
        notes.append(
            "every respondent stands in several rows: coefficients are over"
            f" {len(wide.respondents)} respondents, and each row's data set makes columns of"
            " its own"
        )
    check_families(families, wide.respondents)
    by_respondent = (
        families_of(wide.respondents, families) if wide.named else list(wide.respondents)
    )
    make = Maker(wide)
    if columns is not None:
        used: tuple[str, ...] = columns
        places = [wide.place(name) for name in columns]
        estimates = tuple(of_two(make, wide, places, by_respondent, margin))
        x = np.mean(np.stack([wide.turned(name) for name in columns]), axis=0)
    else:
        parts = subscales_of(wide)
        used, notes = parts.columns, [*notes, *parts.notes]
        estimates = tuple(of_subscales(make, parts, by_respondent, seed))
        x = parts.total
    dependence = family_dependence(x, by_respondent, stream(seed, "families"))
    flags = _flags(len(wide.respondents), dependence)
    return TableAudit(
        table.name,
        wide.respondents,
        used,
        table.about,
        _common(table.about),
        estimates,
        checked,
        flags,
        tuple(dict.fromkeys(notes)),
    )


def described(
    table: Published,
    items: int | Mapping[str, int] | None,
    direction: Direction | Mapping[str, Direction] | None,
) -> Published:
    """Return the table with the number of items and the direction of each column filled in."""
    for by_column in (items, direction):
        if isinstance(by_column, Mapping):
            for name in by_column:
                table.place(name)
    about = []
    for column in table.about:
        if isinstance(items, Mapping):
            own = items.get(column.name)
        else:  # one number for all is that of the parts, not of their mean
            own = None if is_summary(column) else items
        better = (
            direction.get(column.name, column.better)
            if isinstance(direction, Mapping)
            else direction or column.better
        )
        about.append(replace(column, items=own, better=better))
    return replace(table, about=tuple(about))


def _common(about: Sequence[Column]) -> int | None:
    """Return the number of items if it is the same for every column."""
    sizes = {column.items for column in about if not is_summary(column)}
    return sizes.pop() if len(sizes) == 1 else None


def _flags(n: int, dependence: FamilyDependence) -> tuple[Mapping[str, Any], ...]:
    from hqm.indicators.flags import FLAGS

    flags = {"FEW_MODELS": f"{n} respondents"} if n < 20 else {}
    if "FAMILY_DEPENDENCE" in dependence.flags:
        flags["FAMILY_DEPENDENCE"] = (
            f"scores within a family correlate {dependence.icc.value:.2f}; {n} respondents count as"
            f" {dependence.n_eff:.1f}"
        )
    return tuple(
        {"flag": name, "sentence": sentence, "what_to_do": FLAGS[name]}
        for name, sentence in flags.items()
    )
