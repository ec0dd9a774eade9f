"""What `hqm design` answers: the cheapest study, what it is compared with, and the sentence that a
person acts on.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from hqm.decisions.targets import parse_target
from hqm.types import json_data
from hqm.version import __version__


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What a study is forecast to reach of one target; the interval is about how exactly the
    audit's pictures tell it.
    """

    target: str
    value: float
    low: float | None = None
    high: float | None = None

    @property
    def met(self) -> bool:
        return parse_target(self.target).met(self.value)


@dataclass(frozen=True, kw_only=True)
class PlannedStudy:
    """A study: how large it is, what it costs, and what it is forecast to reach.

    Parameters
    ----------
    what
        What it is in the table: `as audited`, `cheapest`, or the step that leads to it.
    items
        In each picture, on average. `extra` are pictures of one type beyond its share.
    answers, cost
        Of all respondents; `cost` in the unit of the design.
    """

    what: str
    pictures: int
    items: float
    forms: int
    runs: int
    askings: int
    respondents: int
    labels: int
    extra: Mapping[str, int] = field(default_factory=dict)
    answers: int
    cost: float
    forecasts: tuple[Forecast, ...] = ()

    @property
    def met(self) -> bool:
        """Whether it reaches every target."""
        return all(forecast.met for forecast in self.forecasts)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> PlannedStudy:
        return cls(**{**data, "forecasts": tuple(Forecast(**row) for row in data["forecasts"])})


@dataclass(frozen=True, kw_only=True)
class CurvePoint:
    """What a budget buys at best (`best`), and what it buys in more pictures of the audited study
    alone (`same`).
    """

    cost: float
    best: float
    same: float | None = None


@dataclass(frozen=True, kw_only=True)
class StudyDesign:
    """The cheapest study that reaches all targets.

    Parameters
    ----------
    now, cheapest, same
        The audited study with each run in each wording; the answer; and the audited study with more
        (or fewer) pictures alone, None where that never reaches the targets.
    saving
        1 - cost of `cheapest` / cost of `same`.
    steps, further
        The way from `now` to `cheapest`, a change at a time; and what one unit more of each thing
        would buy.
    curve, curve_of
        Cost against the first target's figure.
    unit
        The currency, or `answers`.
    """

    benchmark: str
    metric: str
    targets: tuple[str, ...]
    free: tuple[str, ...]
    sentence: str
    unit: str
    now: PlannedStudy
    cheapest: PlannedStudy
    same: PlannedStudy | None
    saving: float | None
    steps: tuple[PlannedStudy, ...]
    further: tuple[PlannedStudy, ...]
    curve: tuple[CurvePoint, ...]
    curve_of: str
    notes: tuple[str, ...] = ()
    hqm_version: str = __version__

    def to_dict(self) -> dict[str, Any]:
        """As JSON data; a number that does not exist is null."""
        data: dict[str, Any] = json.loads(json.dumps(json_data(asdict(self))))
        return data

    def to_json(self) -> str:
        """The text of `design.json`."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> StudyDesign:
        row = dict(data)
        for name in ("targets", "free", "notes"):
            row[name] = tuple(row[name])
        for name in ("now", "cheapest"):
            row[name] = PlannedStudy.from_dict(row[name])
        row["same"] = None if row["same"] is None else PlannedStudy.from_dict(row["same"])
        for name in ("steps", "further"):
            row[name] = tuple(PlannedStudy.from_dict(each) for each in row[name])
        row["curve"] = tuple(CurvePoint(**point) for point in row["curve"])
        return cls(**row)

    @property
    def rows(self) -> tuple[PlannedStudy, ...]:
        """The table: as audited, the way to the cheapest, and what more would buy."""
        return (self.now, *self.steps, *([self.same] if self.same else []), *self.further)

    def __str__(self) -> str:
        heads = ["", "pictures", "items", "wordings", "runs", "cost", *self.targets]
        judged, labelled = (
            any(getattr(r, n) > k for r in self.rows) for n, k in (("askings", 1), ("labels", 0))
        )
        varied = len({row.respondents for row in self.rows}) > 1
        more = [("askings", judged), ("labels", labelled), ("respondents", varied)]
        heads[5:5] = [name for name, shown in more if shown]
        table = [heads]
        for row in self.rows:
            pictures = f"{row.pictures:,}" + "".join(
                f" + {n:,} {kind}" for kind, n in row.extra.items() if n
            )
            cells = [
                row.what,
                pictures,
                f"{row.items:g}" if row.items == int(row.items) else f"{row.items:.1f}",
                str(row.forms),
                str(row.runs),
            ]
            cells += [str(getattr(row, name)) for name, shown in more if shown]
            table.append([*cells, amount(row.cost, self.unit), *(_said(f) for f in row.forecasts)])
        widths = [max(len(line[i]) for line in table) for i in range(len(heads))]
        lines = [
            "  ".join(
                cell.ljust(w) if i == 0 else cell.rjust(w)
                for i, (cell, w) in enumerate(zip(line, widths, strict=True))
            )
            for line in table
        ]
        head = f"{self.benchmark}, {self.metric}: {', '.join(self.targets)}"
        missed = ["  * misses the target"] if any(not row.met for row in self.rows) else []
        notes = [*missed, *(f"  {note}" for note in self.notes)]
        return "\n".join([head, self.sentence, "", *(line.rstrip() for line in lines), *notes])


def amount(cost: float, unit: str) -> str:
    """A cost with its unit.

    >>> amount(12000, "answers"), amount(3.5, "EUR")
    ('12,000 answers', '3.50 EUR')
    """
    return f"{cost:,.0f} {unit}" if unit == "answers" or cost >= 1000 else f"{cost:,.2f} {unit}"


def _said(forecast: Forecast) -> str:
    wanted = parse_target(forecast.target).value
    digits = max(3, 2 - math.floor(math.log10(wanted)))
    return f"{forecast.value:.{digits}f}{' ' if forecast.met else '*'}"
