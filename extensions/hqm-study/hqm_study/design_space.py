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

from hqm.comparison.prices import UnitPrices
from hqm.errors import UsageError
from hqm.psychometrics.result import Array, ArrayLike, BoolArray
from hqm.psychometrics.variance.study_forecast import (
    ALIASES,
    PRECISIONS,
    Precision,
    StudySize,
    Z,
    effective_respondents,
    error_components,
    forecast,
)
from hqm.psychometrics.variance.study_variance import Effect, StudyComponents
from hqm.psychometrics.variance.variance_components import MIN_CLUSTERS
from hqm.types import json_data
from hqm.version import __version__

_TARGET_PATTERN = re.compile(r"\s*(\w+)\s*(?:\[(.+?)\])?\s*(>=|<=)\s*([-+.\deE]+)\s*")
TYPE_FIGURES = ("sem", "half_width")
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
        if self.kind:
            return f"{self.figure}[{self.kind}]"
        return self.figure

    def is_reached_by(self, values: ArrayLike) -> BoolArray:
        """Which values reach the target, within rounding."""
        tolerance = 1e-9 * max(1.0, abs(self.value))
        figures = np.asarray(values)
        if self.precision.higher:
            return np.asarray(figures >= self.value - tolerance)
        return np.asarray(figures <= self.value + tolerance)

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
    match = _TARGET_PATTERN.fullmatch(text)
    if match is None:
        raise UsageError(
            f"the target {text!r} cannot be read", remedy='Write it as "mdd<=.02" or "rho_g>=.95".'
        )
    figure_name, kind, sign, number = match.groups()
    figure = ALIASES.get(figure_name, figure_name)
    figure_names = (*PRECISIONS, *ALIASES)
    if figure not in PRECISIONS:
        raise UsageError(
            f"there is no figure {figure_name!r} to reach",
            remedy=f"There are {', '.join(figure_names)}.",
            name=figure_name,
            choices=figure_names,
        )
    if (sign == ">=") != PRECISIONS[figure].higher:
        operator = ">=" if PRECISIONS[figure].higher else "<="
        better_direction = "higher" if PRECISIONS[figure].higher else "lower"
        raise UsageError(
            f"the target {text!r} points the wrong way: {better_direction} is better",
            remedy=f"Write {figure_name}{operator}{number}.",
        )
    try:
        value = float(number)
    except ValueError:
        raise UsageError(
            f"the target {text!r} has no number", remedy='Write it as "mdd<=.02".'
        ) from None
    if not (math.isfinite(value) and value > 0) or (PRECISIONS[figure].higher and value >= 1):
        limits = "between 0 and 1" if PRECISIONS[figure].higher else "above 0"
        raise UsageError(f"no study reaches {text!r}", remedy=f"Give a number {limits}.")
    if kind and figure not in TYPE_FIGURES:
        raise UsageError(
            f"{figure} is no figure of a single type",
            remedy=f"Of a type there are {', '.join(TYPE_FIGURES)}.",
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
    parsed = tuple(parse_target(t) if isinstance(t, str) else t for t in targets)
    if not parsed:
        raise UsageError(
            "there is no target", remedy='Name one with --target "mdd<=.02"; it may be repeated.'
        )
    names = [target.name for target in parsed]
    if duplicate := next((name for name in names if names.count(name) > 1), ""):
        raise UsageError(f"{duplicate} is wanted twice", remedy="Name each figure once.")
    return parsed


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
_ITEM_CHOICES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20)
_PICTURE_STEPS = 120
_PICTURE_FACTOR = 20
"""How many times the audit's pictures are looked at, where `[most]` says nothing."""
MAX_LEVELS = {"forms": 6, "runs": 10, "askings": 5}
MIN_RESPONDENTS = 10
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
    """The measured variance components, the prices, and the axes that may vary."""

    components: StudyComponents
    types: Mapping[str, StudyComponents]
    targets: Sequence[Target]
    prices: UnitPrices
    free: frozenset[str]
    judged: bool = False
    adds_type_pictures: bool = True
    """Whether pictures of one type may be added alone."""

    @cached_property
    def audited(self) -> dict[str, float]:
        """The study that was audited, with each of its runs in each of its wordings."""
        components = self.components
        return {
            "pictures": float(components.pictures),
            "items": components.per_picture,
            "forms": float(components.forms),
            "runs": float(components.runs),
            "askings": float(components.askings),
            "respondents": float(components.respondents),
        }

    def choices(self) -> dict[str, Array]:
        """Axis -> the numbers to look at."""
        limits = self.prices.limits
        components = self.components
        audited = self.audited
        levels = {axis: np.array([audited[axis]]) for axis in AXES}
        is_single_item = components.per_picture == 1
        if "pictures" in self.free or (is_single_item and "items" in self.free):
            max_level = limits.pictures or max(_PICTURE_FACTOR * components.pictures, 200)
            picture_counts = np.geomspace(
                MIN_CLUSTERS, max(max_level, MIN_CLUSTERS), _PICTURE_STEPS
            ).round()
            levels["pictures"] = _add_level(picture_counts, audited["pictures"], max_level)
        if "items" in self.free and not is_single_item:
            largest = limits.items_per_picture or max(2 * components.per_picture, 6)
            item_choices = np.array(_ITEM_CHOICES)
            levels["items"] = _add_level(
                item_choices[item_choices <= largest], audited["items"], largest
            )
        for axis, name, measured, limit in (
            ("forms", "forms", components.forms > 1, limits.forms),
            ("runs", "runs", components.runs > 1, limits.runs),
            ("askings", "judges", components.judge is not None, limits.askings),
        ):
            if name in self.free and measured:
                levels[axis] = np.arange(
                    1, (limit or max(MAX_LEVELS[axis], int(audited[axis]))) + 1, dtype=np.float64
                )
        if "respondents" in self.free and any("others" in t.precision.needs for t in self.targets):
            max_level = limits.respondents or 5 * components.respondents
            min_respondents = math.ceil(
                MIN_RESPONDENTS
                * components.respondents
                / max(effective_respondents(components), 1.0)
            )
            levels["respondents"] = np.unique(
                np.geomspace(min_respondents, max(max_level, min_respondents), 12).round()
            )
        return levels

    def grid(self, **fixed: ArrayLike) -> Studies:
        """Every combination of the choices; an axis named in `fixed` has these numbers instead."""
        choices = self.choices() | {
            axis: np.atleast_1d(np.asarray(v, dtype=np.float64)) for axis, v in fixed.items()
        }
        mesh = np.meshgrid(*(choices[axis] for axis in AXES), indexing="ij")
        return self.price_studies(
            {axis: values.ravel() for axis, values in zip(AXES, mesh, strict=True)}
        )

    def price_studies(
        self, sizes: Mapping[str, Array], extra: Mapping[str, Array] | None = None
    ) -> Studies:
        """Studies of these sizes, with the labels that their targets need and, unless given, the
        additional pictures of a type.
        """
        size = StudySize(**sizes)
        labels = self._labels_needed(size)
        if extra is None:
            extra = self._extra_pictures(size)
        size = replace(size, labels=labels)
        items = sizes["pictures"] * sizes["items"]
        more_items, more_pictures = np.zeros_like(items), np.zeros_like(items)
        for kind, pictures in extra.items():
            more_pictures = more_pictures + pictures
            more_items = more_items + pictures * self._type_items(kind, sizes["items"])
        # each form is asked in each run of each respondent
        answers_per_item = sizes["respondents"] * sizes["forms"] * sizes["runs"]
        answers = (items + more_items) * answers_per_item
        p, components = self.prices, self.components
        cost = answers * p.answer
        if self.judged:
            cost = cost + answers * sizes["askings"] * p.verdict
        cost = cost + p.picture * (
            np.maximum(sizes["pictures"] - components.pictures, 0) + more_pictures
        )
        cost = cost + p.item * np.maximum(items + more_items - components.items, 0)
        cost = cost + p.form * np.maximum(sizes["forms"] - components.forms, 0)
        if p.label is not None:
            cost = cost + p.label * sizes["respondents"] * np.where(
                np.isfinite(labels), labels, 0.0
            )
        return Studies(size, extra, cost, answers)

    def values(self, target: Target, studies: Studies) -> Array:
        """What each study is forecast to reach."""
        if not target.kind:
            return forecast(self.components, target.figure, studies.size)
        return self.type_figure(target, studies)

    def reached(self, studies: Studies) -> BoolArray:
        """Which studies reach every target."""
        reached = np.ones(len(studies), dtype=bool)
        for target in self.targets:
            reached &= target.is_reached_by(self.values(target, studies))
        return reached

    # --- one type ---

    def _type_items(self, kind: str, items: Array) -> Array:
        """Items of a type in a picture that has any."""
        return np.maximum(1.0, self.types[kind].per_picture * items / self.components.per_picture)

    def _type_pictures(self, kind: str, size: StudySize) -> Array:
        """Pictures that have items of a type, its share of all items being the audit's."""
        pictures, items = (
            np.asarray(values, dtype=np.float64) for values in (size.pictures, size.items)
        )
        type_items = pictures * items * self.types[kind].items / self.components.items
        return np.asarray(type_items / self._type_items(kind, items))

    def _type_error(self, kind: str, size: StudySize, pictures: Array) -> Array:
        items = self._type_items(kind, np.asarray(size.items, dtype=np.float64))
        type_size = StudySize(
            pictures=pictures, items=items, forms=size.forms, runs=size.runs, askings=size.askings
        )
        return forecast(replace(self.types[kind], judge=self.components.judge), "sem", type_size)

    def type_figure(self, target: Target, studies: Studies) -> Array:
        """The standard error of a type's score, or its half width."""
        shares = self._type_pictures(target.kind, studies.size)
        pictures = shares + studies.extra.get(target.kind, np.zeros_like(shares))
        error = self._type_error(target.kind, studies.size, pictures)
        if target.figure == "half_width":
            return error * Z
        return error

    def _extra_pictures(self, size: StudySize) -> dict[str, Array]:
        """Type -> how many pictures of it are missing; every part of its error shrinks with their
        number alike.
        """
        extra: dict[str, Array] = {}
        if "pictures" not in self.free or not self.adds_type_pictures:
            return extra
        for target in self.targets:
            if not target.kind:
                continue
            target_error = target.value / (Z if target.figure == "half_width" else 1.0)
            single_picture_error = self._type_error(
                target.kind, size, np.ones_like(np.asarray(size.pictures, dtype=np.float64))
            )
            type_pictures = self._type_pictures(target.kind, size)
            missing = np.ceil(
                np.maximum(
                    (single_picture_error / target_error) ** 2 * (1 - 1e-12) - type_pictures, 0.0
                )
            )
            extra[target.kind] = np.maximum(missing, extra.get(target.kind, np.zeros_like(missing)))
        return extra

    # --- people's labels ---

    def _labels_needed(self, size: StudySize) -> Array:
        """How many answers of each respondent people must label; as many as before where labels may
        not vary.
        """
        target = next((t for t in self.targets if t.figure == "labelled_sem"), None)
        shape = np.zeros_like(np.asarray(size.pictures, dtype=np.float64))
        if target is None or self.components.labels is None:
            return shape
        labels_before = self.components.labelled / self.components.respondents
        items = np.asarray(size.pictures, dtype=np.float64) * np.asarray(
            size.items, dtype=np.float64
        )
        if "labels" not in self.free:
            return np.minimum(shape + labels_before, items)
        sampling_variance = forecast(self.components, "sem", size) ** 2
        label_variance = target.value**2 - sampling_variance + self.components.labels / items
        with np.errstate(divide="ignore"):
            n_labels = np.where(
                label_variance > 0,
                np.ceil(self.components.labels / label_variance * (1 - 1e-12)),
                np.inf,
            )
        max_labels = float(self.prices.limits.labels or np.inf)
        return np.maximum(np.minimum(n_labels, np.minimum(items, max_labels)), 1.0)

    # --- the largest source of error ---

    def largest_component(
        self, target: Target, studies: Studies, index: int
    ) -> tuple[Effect, float]:
        """The component that makes most of a study's error, and its share."""
        components = self.types[target.kind] if target.kind else self.components
        size = _single_size(studies.size, index)
        if target.kind:
            pictures = self._type_pictures(target.kind, size)
            size = replace(
                size, pictures=pictures, items=self._type_items(target.kind, np.asarray(size.items))
            )
        variances = {
            e: float(v)
            for e, v in error_components(components, size).items()
            if target.precision.blames(e)
        }
        if target.figure == "labelled_sem":
            answers = float(size.pictures) * float(size.items)  # type: ignore[arg-type]
            missing = max(1 / float(size.labels) - 1 / answers, 0.0)  # type: ignore[arg-type]
            variances["label",] = (components.labels or 0.0) * missing
        if target.figure == "mean_sem":
            n_respondents = float(size.respondents)  # type: ignore[arg-type]
            for component in variances:
                if "respondent" in component:
                    variances[component] /= n_respondents
        effect = max(variances, key=lambda e: variances[e], default=("respondent",))
        total_variance = sum(variances.values())
        return effect, variances[effect] / total_variance if total_variance > 0 else math.nan

    def reducing_axes(self, effect: Effect) -> tuple[str, ...]:
        """What makes a component smaller, in the words of `--free`."""
        if effect == ("label",):
            return ("labels",)
        facets = [_FACET[facet] for facet in effect if facet in _FACET]
        return tuple(dict.fromkeys(facets)) or ("respondents",)


def _add_level(levels: Array, audited: float, maximum: float) -> Array:
    """Sorted levels, with that of the audited study where it does not exceed the maximum."""
    if audited <= maximum:
        levels = np.append(levels, audited)
    return np.unique(levels)


def _single_size(size: StudySize, index: int) -> StudySize:
    def value_at_index(values: ArrayLike) -> float:
        array = np.asarray(values, dtype=np.float64)
        if array.ndim:
            return float(array[index])
        return float(array)

    return StudySize(**{name: value_at_index(getattr(size, name)) for name in (*AXES, "labels")})


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
    def reaches_target(self) -> bool:
        return bool(parse_target(self.target).is_reached_by(self.value))


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
    def reaches_targets(self) -> bool:
        """Whether it reaches every target."""
        return all(forecast.reaches_target for forecast in self.forecasts)

    @property
    def picture_counts(self) -> str:
        """The number of pictures, and that of additional ones of each type."""
        text = f"{self.pictures:,}"
        for kind, n in self.extra.items():
            if n:
                text += f" + {n:,} {kind}"
        return text

    @property
    def item_count(self) -> str:
        """The items of a picture, with a decimal only where they are no whole number."""
        if self.items == int(self.items):
            return f"{self.items:g}"
        return f"{self.items:.1f}"


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
        """Return the text of `design.json`."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> StudyDesign:
        return TypeAdapter(cls).validate_python(data)

    @property
    def rows(self) -> tuple[PlannedStudy, ...]:
        """The table: as audited, the way to the cheapest, and what more would buy."""
        picture_study = () if self.same is None else (self.same,)
        return (self.now, *self.steps, *picture_study, *self.further)

    def __str__(self) -> str:
        optional = self._optional_columns()
        header = ["", "pictures", "items", "wordings", "runs", *optional, "cost", *self.targets]
        table = [header]
        for row in self.rows:
            cells = [row.what, row.picture_counts, row.item_count, str(row.forms), str(row.runs)]
            cells += [str(getattr(row, name)) for name in optional]
            cells.append(amount(row.cost, self.unit))
            table.append(cells + list(map(_format_forecast, row.forecasts)))
        title = f"{self.benchmark}, {self.metric}: {', '.join(self.targets)}"
        notes = [f"  {note}" for note in self.notes]
        if not all(row.reaches_targets for row in self.rows):
            notes.insert(0, "  * misses the target")
        return "\n".join([title, self.sentence, "", *_align(table), *notes])

    def _optional_columns(self) -> list[str]:
        """Return the columns of the table that some row makes worth printing."""
        columns = []
        if any(row.askings > 1 for row in self.rows):
            columns.append("askings")
        if any(row.labels > 0 for row in self.rows):
            columns.append("labels")
        if len({row.respondents for row in self.rows}) > 1:
            columns.append("respondents")
        return columns


def _align(table: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table, its first column to the left and all others to the right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = []
    for first, *others in table:
        cells = [first.ljust(widths[0]), *map(str.rjust, others, widths[1:])]
        lines.append("  ".join(cells).rstrip())
    return lines


def amount(cost: float, unit: str) -> str:
    """A cost with its unit.

    >>> amount(12000, "answers"), amount(3.5, "EUR")
    ('12,000 answers', '3.50 EUR')
    """
    if unit == "answers" or cost >= 1000:
        return f"{cost:,.0f} {unit}"
    return f"{cost:,.2f} {unit}"


def _format_forecast(forecast: Forecast) -> str:
    target_value = parse_target(forecast.target).value
    digits = max(3, 2 - math.floor(math.log10(target_value)))
    return f"{forecast.value:.{digits}f}{' ' if forecast.reaches_target else '*'}"
