"""What the rows of an audit hold, and which numbers and texts can stand in them.

`hqm.auditing.audit` has the audit itself, and holds one place of it against another.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Required

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    StrictFloat,
    StrictInt,
    TypeAdapter,
    ValidationError,
    with_config,
)
from pydantic_core import PydanticCustomError
from typing_extensions import TypedDict

from hqm.indicators.indicator import Unit, indicator_named
from hqm.scoring.metrics import Better
from hqm.text import MAX_ADDRESSED_CHARS, MAX_NAME_CHARS
from hqm.types import Administration, Correlation, Count, Number, Share, Width

_GROWING = ConfigDict(extra="allow")
"""Rows that a later version may add to."""
_MAX_DEPTH = 40
"""How deeply the values of an audit may be nested; its own go down to about ten levels."""


def wrong(reason: str, *path: str | int) -> PydanticCustomError:
    """Return the error of a value at a path below the one that is validated."""
    return PydanticCustomError("wrong", "{what}", {"what": reason, "path": path})


def _method(text: str) -> str:
    level = text.rpartition(", ")[2]
    try:
        is_level = 0 < float(level) < 1
    except ValueError:
        is_level = False
    if not is_level:
        raise wrong("it does not end in a comma and the interval's level (', 0.95')")
    return text


Method = Annotated[str, AfterValidator(_method)]
Ends = tuple[Number, Number]
EndsList = Annotated[list[Number], Field(min_length=2, max_length=2)]
Row = dict[str, Any]
Name = Annotated[str, Field(max_length=MAX_NAME_CHARS)]
AddressedName = Annotated[str, Field(max_length=MAX_ADDRESSED_CHARS)]
Summary = Annotated[str, Field(max_length=20_000)]
NoRow = Annotated[dict[str, Any], Field(max_length=0)]
Figure = StrictInt | StrictFloat | None


@with_config(_GROWING)
class MetricRow(TypedDict, total=False):
    """An audited metric."""

    about: Required[str]
    better: Required[Better]
    scale: Ends
    """The least and the greatest score, where the metric has them; 0.1.0 did not say it."""


@with_config(_GROWING)
class FormRow(TypedDict):
    """How many items a form has, and what made them."""

    items: Count
    left_out: Count
    rules: dict[str, Count]
    digest: str


@with_config(_GROWING)
class _StoppedAt(TypedDict, total=False):
    items: Required[Count]
    inclusion: Required[Share]
    why: Required[str]
    stopped_after: Count
    score: Figure
    low: Figure
    high: Figure


@with_config(_GROWING)
class StoppedRow(TypedDict):
    """Where a rule stopped the asking, and what each respondent had been asked."""

    rule: str
    pictures: Count
    of_pictures: Count
    items: Count
    of_items: Count
    respondents: list[_StoppedAt]


@with_config(_GROWING)
class FindingRow(TypedDict, total=False):
    """An oddity of the data."""

    code: Required[str]
    name: Required[str]
    severity: Required[Literal["note", "warning", "error"]]
    sentence: Required[str]
    remedy: str
    count: Count
    examples: list[str]
    rows: list[Row]


@with_config(_GROWING)
class FlagRow(TypedDict, total=False):
    """What an audit warns of by itself."""

    flag: Required[str]
    metric: Required[str]
    sentence: Required[str]
    what_to_do: Required[str]
    about: str
    numbers: dict[str, Figure]


@with_config(_GROWING)
class _LeaveOneOutRow(TypedDict):
    score: Figure
    values: list[Figure]
    places: Annotated[str, Field(pattern=r"^[0-9 ]*$")]


@with_config(_GROWING)
class _LeftOutRow(TypedDict):
    family: str
    metric: str
    cells: list[Administration]
    clusters: str
    respondents: dict[str, list[_LeaveOneOutRow]]


@with_config(_GROWING)
class _Clusters(TypedDict):
    names: list[str]
    sizes: list[Count]


@with_config(_GROWING)
class LeftOutRows(TypedDict, total=False):
    """The scores with each picture left out."""

    clusters: dict[str, _Clusters]
    records: list[_LeftOutRow]


@with_config(_GROWING)
class _Map(TypedDict):
    ids: list[str]
    difficulty: list[Number]
    item_rest: list[Correlation]


@with_config(_GROWING)
class _ContrastRow(TypedDict):
    first: str
    second: str
    difference: Number
    error: Width
    p: Share
    items: Count
    clusters: Count
    rivals: Count


@with_config(_GROWING)
class _Detail(TypedDict, total=False):
    """What reports read of the detail of an estimate; each indicator has some of it."""

    by_respondent: dict[str, Number | tuple[Number, ...] | Row] | None
    contradictory: tuple[tuple[str, ...], ...]
    groups: tuple[tuple[str, ...], ...]
    tied_sets: tuple[tuple[str, ...], ...] | None
    ranks: dict[str, tuple[Count, Count]] | None
    contrasts: tuple[_ContrastRow, ...]
    shared_items: tuple[Count, Count]
    below_chance: tuple[str, ...]
    not_above: tuple[str, ...]
    candidates: tuple[Row, ...]
    items: int | tuple[str, ...] | None
    types: tuple[str | Row, ...] | None
    by_type: tuple[Row, ...] | dict[str, Any]
    cues: tuple[Row, ...]
    giveaways: tuple[Row, ...]
    constant_types: tuple[Row, ...]
    strata: tuple[Row, ...]
    leaks: tuple[str, ...]
    components: tuple[Row, ...] | None
    d_study: tuple[Row, ...] | None
    curve: tuple[Row, ...] | None
    map: _Map | None
    lower: Number | tuple[Number, ...]
    upper: Number | tuple[Number, ...]
    varied: str | None
    range: Number | tuple[Number, Number]


@with_config(_GROWING)
class StoredEstimate(TypedDict):
    """What a file writes otherwise than an `Estimate` holds it."""

    intervals: dict[str, Ends]
    methods: dict[str, Method]
    detail: _Detail
    flags: list[str]


_NAMES: tuple[tuple[Any, str], ...] = (
    (
        Annotated[float, Field(strict=True, ge=0, multiple_of=1)] | None,
        "added, adjudicated, administrations, after, apart, before, both_no, both_yes, by_one_rater,"
        " constant, count, forms, full_items, images, items, items in all, items with it,"
        " items_varying,"
        " judge_only, k, labelled, labelled_respondents, labels, length, missing_items, more items"
        " needed, n_answers, n_labels, n_min, n_raters, not_asked, of, options, paired, pairs,"
        " parts, people_only, planted, rank, repeats, rewordings, rivals, runs, splits,"
        " stale, sure, threshold, too_few_scores, units, unlabelled, unread,"
        " unresolved, used, withheld, without_majority, wordings, wordings_needed",
    ),
    (
        Share,
        "accuracy, adjacent, agreement, at_ceiling, at_floor, baseline, chance, coherent,"
        " commonest answer, cross_validated, easy, evenness, expected, found, g, gain at least,"
        " hard, i2, negative, overlap, p, p_sensitivity, p_specificity, pair_flip, phi,"
        " phi_of_3, positive, q, reversals, right, same_set, share, share_planted, shared, solved_by_none,"
        " top5, true_among_first, usual, v",
    ),
    (
        Correlation,
        "ac1, attenuation, bias_correction, correlation, expected_tau, gain, gwet_ac1, icc,"
        " if_all_right, if_all_wrong, item_rest, kappa, length_and_labels, length_and_score,"
        " mean_kappa, observed, rho, tau, to_truth, without_high, without_low,"
        " without_strongest, worst",
    ),
    (
        Width,
        "answers, any_pair, detectable, deviation, dof, error, error_of_3, faults, freedom,"
        " half_width, largest_error, margin, mdc95, mean_error, n, n_effective, other_items,"
        " r_deviation, ratio, residual, sd, sd_top, se, sem, sem_high, standard error,"
        " statistic, temperature, tests, these_items, variance, visible, wording_variance,"
        " wording_variance_high",
    ),
    (
        Annotated[float, Field(strict=True, allow_inf_nan=False, le=1 + 1e-9)] | None,
        "alpha, average_of_runs, by_subscore, by_total, of_items, prmse, prmse_of_total,"
        " raw_full, raw_same, reliability, reliability_of_people",
    ),
    (
        Number,
        "blind, bottom, difference, gain_high, gain_low, high, low, raw, scaled, score, shift, target, varying,"
        " whole, z",
    ),
    (
        str | None,
        "best, cue, facet, item, label, labelled_by, labels_of, name, noise_of, part, phrase,"
        " reason, respondent, second, state, status, strategy, strongest, type",
    ),
)
_KINDS: Mapping[str, TypeAdapter[Any]] = {
    name: TypeAdapter(kind) for kind, names in _NAMES for name in names.split(", ")
}
"""What stands under a name in the details of an estimate, in the rows of a finding and beside a
flag, wherever it is.
"""
_NO_UNITS: Mapping[str, Unit] = {}
_KEYED_BY_NAME = frozenset(
    "by_respondent correlations map means raters ranks responses shares strategies".split()
)
"""Keys whose own keys are the names of respondents, forms or raters, or have types of their own."""
_POINT_ESTIMATES = ("value", "score", "own", "difference", "variance", "gain")
"""What the ends of an interval stand beside, in the rows of a detail."""
MAX_INTERVAL_RANGES = 14
"""No interval of a score reaches further beyond its range, in ranges: the 97.5 % quantile of t with
one degree of freedom is 12.7.
"""


def check_values(
    value: Any, path: tuple[str | int, ...], units: Mapping[str, Unit] = _NO_UNITS
) -> None:
    """Refuse what JSON cannot hold, endless nesting, and details that are not what they name.

    `units` are the details that the indicator of the value names itself (`Indicator.details`).
    """
    if isinstance(value, float) and not math.isfinite(value):
        raise wrong("it is no finite number", *path)
    if len(path) > _MAX_DEPTH:
        raise wrong(f"it is nested more than {_MAX_DEPTH} levels deep", *path[:6])
    if isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value):
        raise wrong("it holds half a character (a lone surrogate)", *path)
    if isinstance(value, dict):
        _check_mapping(value, path, units)
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            check_values(inner, (*path, i), units)


def _check_mapping(
    mapping: dict[str, Any], path: tuple[str | int, ...], units: Mapping[str, Unit]
) -> None:
    """Refuse a mapping with a wrong value; of a detail, what its keys name says which are wrong."""
    name = mapping.get("indicator")
    if isinstance(name, str) and "detail" in mapping:
        indicator = indicator_named(name)
        units = indicator.details if indicator is not None else _NO_UNITS
    # paths are audits, a number, the field of the audit, a row, and from there on the row's keys
    is_detail = len(path) > 4 and path[4] == "detail" and path[-1] not in _KEYED_BY_NAME
    is_row = len(path) > 3 and path[2] in ("findings", "flags", "to_read")
    if is_detail or is_row:
        centre = next((mapping[name] for name in _POINT_ESTIMATES if name in mapping), None)
        check_ends(centre, mapping.get("low"), mapping.get("high"), *path)
    for key, inner in mapping.items():
        if len(key) > MAX_ADDRESSED_CHARS:
            raise wrong(f"a key has {len(key):,} characters", *path)
        inner_path = (*path, key)
        # a finding may have texts where others have numbers, and the items of a flag are a mean
        if is_detail or (is_row and key != "items" and type(inner) in (int, float)):
            _check_kind(key, inner, inner_path, units)
        check_values(inner, inner_path, units)


def _check_kind(
    name: str, value: Any, path: tuple[str | int, ...], units: Mapping[str, Unit]
) -> None:
    """Refuse a value that what it is called cannot have."""
    if name in units:
        if isinstance(value, (int, float)):
            check_scale(value, units[name].minimum, units[name].maximum, *path)
        return
    kind = _KINDS.get(name)
    if kind is None or (name in ("items", "labels", "parts") and isinstance(value, list)):
        return
    try:
        kind.validate_python(value)
    except ValidationError as error:
        raise wrong(error.errors(include_url=False)[0]["msg"], *path) from None


def check_ends(
    value: float | None, low: float | None, high: float | None, *path: str | int
) -> None:
    """Refuse an interval whose ends are exchanged, or that lies beside its value."""
    if low is None or high is None:
        return
    if low > high:
        raise wrong("its lower end lies above the upper one", *path)
    if value is not None and not low - 1e-6 <= value <= high + 1e-6:
        raise wrong(f"it lies beside the value {value:g}", *path)


def check_scale(
    value: float | None, minimum: float | None, maximum: float | None, *path: str | int
) -> None:
    """Refuse a value that its scale does not have; rounding may pass an end by a hair."""
    low, high = (
        (-math.inf if minimum is None else minimum),
        (math.inf if maximum is None else maximum),
    )
    if value is not None and not low - 1e-9 <= value <= high + 1e-9:
        raise wrong(f"{value:g} is not from {low:g} to {high:g}", *path)
