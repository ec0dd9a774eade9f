"""All studies that could be made instead of the audit's, what each costs, and what each is forecast
to reach.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from hqm.decisions.prices import UnitPrices
from hqm.errors import UsageError
from hqm.psychometrics.result import Array, ArrayLike, Flags
from hqm.psychometrics.study_forecast import (
    ALIASES,
    PRECISIONS,
    Precision,
    StudySize,
    Z,
    error_parts,
    forecast,
    independent,
)
from hqm.psychometrics.study_variance import Effect, StudyParts
from hqm.psychometrics.variance_components import FEWEST_CLUSTERS
from hqm.types import json_data
from hqm.version import __version__

_WRITTEN = re.compile(r"\s*(\w+)\s*(?:\[(.+?)\])?\s*(>=|<=)\s*([-+.\deE]+)\s*")
OF_A_TYPE = ("sem", "half_width")
"""The figures that may be wanted of one hallucination type."""


@dataclass(frozen=True, slots=True)
class Target:
    """A figure that a study is to reach; of one hallucination type where `kind` names it."""

    figure: str
    value: float
    kind: str = ""

    @property
    def precision(self) -> Precision:
        return PRECISIONS[self.figure]

    @property
    def name(self) -> str:
        return f"{self.figure}[{self.kind}]" if self.kind else self.figure

    def met(self, values: ArrayLike) -> Flags:
        """Which values reach the target, within rounding."""
        slack, reached = 1e-9 * max(1.0, abs(self.value)), np.asarray(values)
        if self.precision.higher:
            return np.asarray(reached >= self.value - slack)
        return np.asarray(reached <= self.value + slack)

    def __str__(self) -> str:
        return f"{self.name}{'>=' if self.precision.higher else '<='}{self.value:g}"


def parse_target(text: str) -> Target:
    """Read a target.

    >>> str(parse_target("retest >= .95")), parse_target("sem[counting]<=.03").kind
    ('rho_g>=0.95', 'counting')

    Raises
    ------
    UsageError
        The figure means nothing, the sign points the wrong way, or the value is none.
    """
    read = _WRITTEN.fullmatch(text)
    if read is None:
        raise UsageError(
            f"the target {text!r} cannot be read", remedy='Write it as "mdd<=.02" or "rho_g>=.95".'
        )
    written, kind, sign, number = read.groups()
    figure = ALIASES.get(written, written)
    known = (*PRECISIONS, *ALIASES)
    if figure not in PRECISIONS:
        raise UsageError(
            f"there is no figure {written!r} to reach",
            remedy=f"There are {', '.join(known)}.",
            name=written,
            choices=known,
        )
    if (sign == ">=") != PRECISIONS[figure].higher:
        right = ">=" if PRECISIONS[figure].higher else "<="
        better = "higher" if PRECISIONS[figure].higher else "lower"
        raise UsageError(
            f"the target {text!r} points the wrong way: {better} is better",
            remedy=f"Write {written}{right}{number}.",
        )
    try:
        value = float(number)
    except ValueError:
        raise UsageError(
            f"the target {text!r} has no number", remedy='Write it as "mdd<=.02".'
        ) from None
    if not (math.isfinite(value) and value > 0) or (PRECISIONS[figure].higher and value >= 1):
        span = "between 0 and 1" if PRECISIONS[figure].higher else "above 0"
        raise UsageError(f"no study reaches {text!r}", remedy=f"Give a number {span}.")
    if kind and figure not in OF_A_TYPE:
        raise UsageError(
            f"{figure} is no figure of a single type",
            remedy=f"Of a type there are {', '.join(OF_A_TYPE)}.",
        )
    return Target(figure, value, kind or "")


def parse_targets(targets: Sequence[str | Target]) -> tuple[Target, ...]:
    """Read several targets; each figure once.

    Raises
    ------
    UsageError
        There is none, a figure stands twice, or one cannot be read.
    """
    if isinstance(targets, str):
        targets = [targets]
    made = tuple(parse_target(t) if isinstance(t, str) else t for t in targets)
    if not made:
        raise UsageError(
            "there is no target", remedy='Name one with --target "mdd<=.02"; it may be repeated.'
        )
    names = [target.name for target in made]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise UsageError(f"{twice} is wanted twice", remedy="Name each figure once.")
    return made


FREE = ("items", "pictures", "runs", "forms", "judges", "labels", "respondents")
"""What a design may vary: items a picture, pictures, runs, wordings, askings of the judge, labelled
answers, respondents.
"""
AXES = ("pictures", "items", "forms", "runs", "askings", "respondents")
_FACET = {
    "picture": "pictures",
    "item": "pictures",
    "form": "forms",
    "run": "runs",
    "judge": "judges",
}
_ITEMS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20)
_STEPS = 120
_RANGE = 20
"""How many times the audit's pictures are looked at, where `[most]` says nothing."""
MOST = {"forms": 6, "runs": 10, "askings": 5}
FEWEST_OTHERS = 10
"""Independent respondents below which nothing is said of others."""


@dataclass(frozen=True)
class Studies:
    """Many studies at once: arrays of one length.

    - `size`: How large each is; `labels` are those that the targets need.
    - `extra`: Type -> pictures of this type beyond its share.
    - `cost, answers`: In the unit of the prices, and counted.
    """

    size: StudySize
    extra: Mapping[str, Array]
    cost: Array
    answers: Array

    def __len__(self) -> int:
        return len(self.cost)


@dataclass(frozen=True)
class Space:
    """What is measured, what it costs, and what may be varied."""

    parts: StudyParts
    types: Mapping[str, StudyParts]
    targets: Sequence[Target]
    prices: UnitPrices
    free: frozenset[str]
    judged: bool = False
    apart: bool = True
    """Whether pictures of one type may be added alone."""

    @cached_property
    def now(self) -> dict[str, float]:
        """The study that was audited, with each of its runs in each of its wordings."""
        parts = self.parts
        return {
            "pictures": float(parts.pictures),
            "items": parts.per_picture,
            "forms": float(parts.forms),
            "runs": float(parts.runs),
            "askings": float(parts.askings),
            "respondents": float(parts.respondents),
        }

    def choices(self) -> dict[str, Array]:
        """Axis -> the numbers to look at."""
        most, parts, now = self.prices.most, self.parts, self.now
        levels = {axis: np.array([now[axis]]) for axis in AXES}
        alone = parts.per_picture == 1
        if "pictures" in self.free or (alone and "items" in self.free):
            top = most.pictures or max(_RANGE * parts.pictures, 200)
            tried = np.geomspace(FEWEST_CLUSTERS, max(top, FEWEST_CLUSTERS), _STEPS).round()
            levels["pictures"] = np.unique(
                [*tried, *([now["pictures"]] if parts.pictures <= top else [])]
            )
        if "items" in self.free and not alone:
            largest = most.items_per_picture or max(2 * parts.per_picture, 6)
            levels["items"] = np.unique(
                [
                    *(n for n in _ITEMS if n <= largest),
                    *([now["items"]] if now["items"] <= largest else []),
                ]
            )
        for axis, name, measured, limit in (
            ("forms", "forms", parts.forms > 1, most.forms),
            ("runs", "runs", parts.runs > 1, most.runs),
            ("askings", "judges", parts.judge is not None, most.askings),
        ):
            if name in self.free and measured:
                levels[axis] = np.arange(
                    1, (limit or max(MOST[axis], int(now[axis]))) + 1, dtype=np.float64
                )
        if "respondents" in self.free and any("others" in t.precision.needs for t in self.targets):
            top = most.respondents or 5 * parts.respondents
            least = math.ceil(FEWEST_OTHERS * parts.respondents / max(independent(parts), 1.0))
            levels["respondents"] = np.unique(np.geomspace(least, max(top, least), 12).round())
        return levels

    def grid(self, **fixed: ArrayLike) -> Studies:
        """Every combination of the choices; an axis named in `fixed` has these numbers instead."""
        choices = self.choices() | {
            axis: np.atleast_1d(np.asarray(v, dtype=np.float64)) for axis, v in fixed.items()
        }
        mesh = np.meshgrid(*(choices[axis] for axis in AXES), indexing="ij")
        return self.priced({axis: values.ravel() for axis, values in zip(AXES, mesh, strict=True)})

    def priced(
        self, sizes: Mapping[str, Array], extra: Mapping[str, Array] | None = None
    ) -> Studies:
        """Studies of these sizes with what their targets need beside: labels, and further pictures
        of a type unless given.
        """
        size = StudySize(**sizes)
        labels, extra = self._labels(size), self._extra(size) if extra is None else extra
        size = replace(size, labels=labels)
        items = sizes["pictures"] * sizes["items"]
        more_items, more_pictures = np.zeros_like(items), np.zeros_like(items)
        for kind, pictures in extra.items():
            more_pictures = more_pictures + pictures
            more_items = more_items + pictures * self._items_of(kind, sizes["items"])
        each = sizes["respondents"] * sizes["forms"] * sizes["runs"]
        answers = (items + more_items) * each
        p, parts = self.prices, self.parts
        cost = answers * p.answer + (answers * sizes["askings"] * p.verdict if self.judged else 0.0)
        cost = cost + p.picture * (
            np.maximum(sizes["pictures"] - parts.pictures, 0) + more_pictures
        )
        cost = cost + p.item * np.maximum(items + more_items - parts.items, 0)
        cost = cost + p.form * np.maximum(sizes["forms"] - parts.forms, 0)
        if p.label is not None:
            cost = cost + p.label * sizes["respondents"] * np.where(
                np.isfinite(labels), labels, 0.0
            )
        return Studies(size, extra, cost, answers)

    def values(self, target: Target, studies: Studies) -> Array:
        """What each study is forecast to reach."""
        if not target.kind:
            return forecast(self.parts, target.figure, studies.size)
        return self.of_type(target, studies)

    def reached(self, studies: Studies) -> Flags:
        """Which studies reach every target."""
        good = np.ones(len(studies), dtype=bool)
        for target in self.targets:
            good &= target.met(self.values(target, studies))
        return good

    # --- one type ---

    def _items_of(self, kind: str, items: Array) -> Array:
        """Items of a type in a picture that has any."""
        return np.maximum(1.0, self.types[kind].per_picture * items / self.parts.per_picture)

    def _pictures_of(self, kind: str, size: StudySize) -> Array:
        """Pictures that have items of a type, its share of all items being the audit's."""
        pictures, items = (
            np.asarray(values, dtype=np.float64) for values in (size.pictures, size.items)
        )
        own = pictures * items * self.types[kind].items / self.parts.items
        return np.asarray(own / self._items_of(kind, items))

    def _error_of(self, kind: str, size: StudySize, pictures: Array) -> Array:
        items = self._items_of(kind, np.asarray(size.items, dtype=np.float64))
        own = StudySize(
            pictures=pictures, items=items, forms=size.forms, runs=size.runs, askings=size.askings
        )
        return forecast(replace(self.types[kind], judge=self.parts.judge), "sem", own)

    def of_type(self, target: Target, studies: Studies) -> Array:
        """The standard error of a type's score, or its half width."""
        shares = self._pictures_of(target.kind, studies.size)
        pictures = shares + studies.extra.get(target.kind, np.zeros_like(shares))
        error = self._error_of(target.kind, studies.size, pictures)
        return error * Z if target.figure == "half_width" else error

    def _extra(self, size: StudySize) -> dict[str, Array]:
        """Type -> how many pictures of it are missing; every part of its error shrinks with their
        number alike.
        """
        extra: dict[str, Array] = {}
        if "pictures" not in self.free or not self.apart:
            return extra
        for target in self.targets:
            if not target.kind:
                continue
            wanted = target.value / (Z if target.figure == "half_width" else 1.0)
            single = self._error_of(
                target.kind, size, np.ones_like(np.asarray(size.pictures, dtype=np.float64))
            )
            there = self._pictures_of(target.kind, size)
            missing = np.ceil(np.maximum((single / wanted) ** 2 * (1 - 1e-12) - there, 0.0))
            extra[target.kind] = np.maximum(missing, extra.get(target.kind, np.zeros_like(missing)))
        return extra

    # --- people's labels ---

    def _labels(self, size: StudySize) -> Array:
        """How many answers of each respondent people must label; as many as before where labels may
        not vary.
        """
        target = next((t for t in self.targets if t.figure == "labelled_sem"), None)
        shape = np.zeros_like(np.asarray(size.pictures, dtype=np.float64))
        if target is None or self.parts.labels is None:
            return shape
        before = self.parts.labelled / self.parts.respondents
        items = np.asarray(size.pictures, dtype=np.float64) * np.asarray(
            size.items, dtype=np.float64
        )
        if "labels" not in self.free:
            return np.minimum(shape + before, items)
        own = forecast(self.parts, "sem", size) ** 2
        left = target.value**2 - own + self.parts.labels / items
        with np.errstate(divide="ignore"):
            needed = np.where(left > 0, np.ceil(self.parts.labels / left * (1 - 1e-12)), np.inf)
        top = float(self.prices.most.labels or np.inf)
        return np.maximum(np.minimum(needed, np.minimum(items, top)), 1.0)

    # --- what stands in the way ---

    def largest_part(self, target: Target, studies: Studies, place: int) -> tuple[Effect, float]:
        """The component that makes most of a study's error, and its share."""
        parts = self.types[target.kind] if target.kind else self.parts
        size = _single(studies.size, place)
        if target.kind:
            pictures = self._pictures_of(target.kind, size)
            size = replace(
                size, pictures=pictures, items=self._items_of(target.kind, np.asarray(size.items))
            )
        made = {
            e: float(v) for e, v in error_parts(parts, size).items() if target.precision.blames(e)
        }
        if target.figure == "labelled_sem":
            answers = float(size.pictures) * float(size.items)  # type: ignore[arg-type]
            missing = max(1 / float(size.labels) - 1 / answers, 0.0)  # type: ignore[arg-type]
            made["label",] = (parts.labels or 0.0) * missing
        if target.figure == "mean_sem":
            several = float(size.respondents)  # type: ignore[arg-type]
            made = {e: v / (several if "respondent" in e else 1.0) for e, v in made.items()}
        effect = max(made, key=lambda e: made[e], default=("respondent",))
        whole = sum(made.values())
        return effect, made[effect] / whole if whole > 0 else math.nan

    def shrinks(self, effect: Effect) -> tuple[str, ...]:
        """What makes a component smaller, in the words of `--free`."""
        if effect == ("label",):
            return ("labels",)
        facets = [_FACET[facet] for facet in effect if facet in _FACET]
        return tuple(dict.fromkeys(facets)) or ("respondents",)


def _single(size: StudySize, place: int) -> StudySize:
    def at(values: ArrayLike) -> float:
        array = np.asarray(values, dtype=np.float64)
        return float(array[place]) if array.ndim else float(array)

    return StudySize(**{name: at(getattr(size, name)) for name in (*AXES, "labels")})


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
        return bool(parse_target(self.target).met(self.value))


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
        return TypeAdapter(cls).validate_python(data)

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
