"""What the rows of an audit hold, and which numbers and texts can stand in them.

`hqm.auditing.audit` has the audit itself, and holds one place of it against another.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from itertools import chain
from typing import Annotated, Any, Literal, NotRequired, Required

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    StrictFloat,
    StrictInt,
    TypeAdapter,
    ValidationError,
    ValidatorFunctionWrapHandler,
    with_config,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema
from typing_extensions import TypedDict

from hqm.indicators.indicator import Unit, indicator_named
from hqm.psychometrics.variance.study_variance import StudyComponents
from hqm.scoring.metrics import Better
from hqm.text import MAX_ADDRESSED_CHARS, MAX_NAME_CHARS
from hqm.types import (
    MAX_NUMBER,
    Administration,
    Correlation,
    Count,
    Estimate,
    Number,
    Score,
    Share,
    State,
    Width,
    field_values,
)

_GROWING = ConfigDict(extra="allow")
"""Rows that a later version may add to."""
_MAX_DEPTH = 40
"""How deeply the values of an audit may be nested; its own go down to about ten levels."""


EXACT_FIELDS = ConfigDict(extra="forbid")
"""Of a class that has all the fields a file may have."""


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
NoRow = Annotated[dict[str, object], Field(max_length=0)]
Figure = StrictInt | StrictFloat | None


@with_config(_GROWING)
class MetricRow(TypedDict, total=False):
    """An audited metric."""

    about: Required[str]
    better: Required[Better]
    scale: Ends
    """The least and the greatest score, where the metric has them; 0.1.0 did not say it."""


@with_config(_GROWING)
class VerdictRow(TypedDict):
    """The verdicts of one administration: the values that occur, and which answer has which."""

    items: Count
    values: list[Score]
    codes: str
    """Respondent by respondent, item by item: the number of the value, one byte each; the number
    behind the last one where an answer was not scored. Packed by zlib, in base64.
    """
    numbers: NotRequired[str]
    pictures: NotRequired[str]
    types: NotRequired[str]
    """The number of each column's item, picture and type, which all administrations of an audit
    share: differences of little-endian 32-bit integers, packed by zlib, in base64.
    """


@with_config(_GROWING)
class FormRow(TypedDict, total=False):
    """How many items a form has, and what made them."""

    items: Required[Count]
    left_out: Required[Count]
    rules: Required[dict[str, Count]]
    digest: Required[str]
    reasons: dict[str, Count]
    modes: dict[str, Count]


@with_config(_GROWING)
class ReadingRow(TypedDict, total=False):
    """An item that a person should read first."""

    item: Required[str]
    why: Required[Literal["contradiction", "answers", "reversed"]]
    type: str
    part: str
    question: str
    key: str
    image: str
    thumbnail: str
    options: list[str]
    rank: Count
    fails: list[str]
    beside: list[str]
    expected: Share


@with_config(_GROWING)
class PairRow(TypedDict):
    """One item of a type as it is asked."""

    type: str
    item: str
    prompt: str
    options: list[str]
    target: str
    image: str
    thumbnail: str


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


@dataclass(frozen=True, slots=True)
class RespondentScores:
    """One respondent in one benchmark: its scores, and how its answers came out."""

    __pydantic_config__ = EXACT_FIELDS
    name: AddressedName
    scores: Mapping[str, Number]
    """Metric -> score in the reference administration."""
    intervals: Mapping[str, EndsList]
    """Metric -> [low, high] over pictures (cluster jackknife)."""
    by_type: Mapping[str, Number]
    """Hallucination type -> score by the first audited metric."""
    cells: Mapping[Administration, Mapping[str, Number]]
    """Administration -> metric -> score, of every metric of the benchmark."""
    states: Mapping[Administration, Annotated[Mapping[str, int], MappingOf(dict[State, Count])]]
    """Administration -> state -> number of answers."""
    yes_ratio: Mapping[str, Share]
    words: Mapping[str, Width]
    judged: Mapping[str, Share] = field(default_factory=dict)
    """Administration under another judge -> share of answers that the judge found faithful."""
    identity: Mapping[str, object] = field(default_factory=dict)
    printed: Mapping[str, str] = field(default_factory=dict)
    """Metric -> the score in the reference administration as the release prints it, where the
    release rounds.
    """


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
class _ErrorRow(TypedDict):
    """The standard errors of a score, over these items and over others."""

    score: Score
    other_items: Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0)]
    these_items: Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0)]


@with_config(_GROWING)
class _TypeRow(TypedDict):
    """What was measured of the items of one type."""

    type: str


@with_config(_GROWING)
class _StratumRow(TypedDict):
    """What cues alone get right of the items of a type in a part."""

    name: str
    type: str | None
    part: str | None
    reason: str


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
    by_type: tuple[_TypeRow, ...]
    cues: tuple[Row, ...]
    giveaways: tuple[Row, ...]
    constant_types: tuple[Row, ...]
    strata: tuple[_StratumRow, ...]
    leaks: tuple[str, ...]
    components: tuple[Row, ...] | None
    d_study: tuple[Row, ...] | None
    curve: tuple[Row, ...] | None
    errors: tuple[_ErrorRow, ...] | None
    parts: int | tuple[Row, ...]
    in_top: tuple[str, ...] | None
    map: _Map | None
    raters: dict[str, Count] | Number
    power: dict[str, Figure] | Number
    strategies: dict[str, Number]
    gain_interval: tuple[Number, Number] | None
    reading_list: tuple[Row, ...]
    schemas: tuple[str, ...]
    goal: Number
    decides: bool
    stands_out: bool
    graded: bool
    lower: Number | tuple[Number, ...]
    upper: Number | tuple[Number, ...]
    varied: str | None
    range: Number | tuple[Number, Number]


@with_config(_GROWING)
class StoredEstimate(TypedDict):
    """What a file writes differently from an `Estimate` holds it."""

    intervals: dict[str, Ends]
    methods: dict[str, Method]
    detail: _Detail
    flags: list[str]


_NAMES: tuple[tuple[Any, str], ...] = (
    (
        Annotated[float, Field(strict=True, ge=0, multiple_of=1)] | None,
        "added, adjudicated, administrations, after, apart, before, both_no, both_yes,"
        " by_one_rater,"
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
        " commonest answer, cross_validated, easy, evenness, expected, far_p, found, g,"
        " gain at least,"
        " guess, hard, i2, negative, overlap, p, p_sensitivity, p_specificity, pair_flip, phi,"
        " items_left_out, phi_of_3, positive, q, respondents_left_out, reversals, right, same_set,"
        " share, share_planted, shared, shift_p, solved_by_none, top5, true_among_first, usual, v",
    ),
    (
        Correlation,
        "ac1, attenuation, bias_correction, correlation, expected_tau, gain, gwet_ac1, icc,"
        " if_all_right, if_all_wrong, item_rest, kappa, length_and_labels, length_and_score,"
        " mean_kappa, mean_spearman, observed, rho, tau, to_truth, without_high, without_low,"
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
        "blind, bottom, difference, gain_high, gain_low, high, low, own, raw, scaled, score, shift,"
        " target, varying, whole, z",
    ),
    (
        str | None,
        "best, cue, facet, item, label, labelled_by, labels_of, name, noise_of, part, phrase,"
        " reason, respondent, second, state, status, strategy, strongest, type",
    ),
)
_KINDS: dict[str, TypeAdapter[object]] = {}
"""What stands under a name in the details of an estimate, in the rows of a finding and beside a
flag, wherever it is.
"""
for _kind, _names_of_kind in _NAMES:
    _KINDS |= dict.fromkeys(_names_of_kind.split(", "), TypeAdapter(_kind))
_NO_UNITS: Mapping[str, Unit] = {}
_SURROGATE = re.compile("[\ud800-\udfff]")
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
    value: object, path: tuple[str | int, ...], units: Mapping[str, Unit] = _NO_UNITS
) -> None:
    """Refuse what JSON cannot hold, endless nesting, and details that are not what they name.

    `units` are the details that the indicator of the value names itself (`Indicator.details`).
    """
    if isinstance(value, float) and not math.isfinite(value):
        raise wrong("it is no finite number", *path)
    if isinstance(value, (int, float)) and abs(value) > MAX_NUMBER:
        raise wrong("no number of an audit is so large", *path)
    if len(path) > _MAX_DEPTH:
        # The first keys tell where to look; forty would not.
        raise wrong(f"it is nested more than {_MAX_DEPTH} levels deep", *path[:6])
    # JSON may escape half of a pair, which no file in UTF-8 can hold.
    if isinstance(value, str) and _SURROGATE.search(value):
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
    # Paths are audits, a number, the field of the audit, a row, and from there on the row's keys.
    is_detail = len(path) > 4 and path[4] == "detail" and path[-1] not in _KEYED_BY_NAME
    is_row = len(path) > 3 and path[2] in ("findings", "flags", "to_read")
    if is_detail or is_row:
        centre = next((mapping[name] for name in _POINT_ESTIMATES if name in mapping), None)
        low = mapping.get("low")
        high = mapping.get("high")
        # Not `isinstance`, by which True is an int.
        if all(end is None or type(end) in (int, float) for end in (low, high, centre)):
            check_ends(centre, low, high, *path)
    for key, inner in mapping.items():
        _check_key(key, path)
        inner_path = (*path, key)
        # A finding may have texts where others have numbers, and the items of a flag are a mean.
        if is_detail or (is_row and key != "items" and type(inner) in (int, float)):
            _check_kind(key, inner, inner_path, units)
        check_values(inner, inner_path, units)


def _check_key(key: str, path: tuple[str | int, ...]) -> None:
    """Refuse a key that is too long, or that no file can hold."""
    if len(key) > MAX_ADDRESSED_CHARS:
        raise wrong(f"a key has {len(key):,} characters", *path)
    if _SURROGATE.search(key):
        raise wrong("a key holds half a character (a lone surrogate)", *path)


def _check_kind(
    name: str, value: object, path: tuple[str | int, ...], units: Mapping[str, Unit]
) -> None:
    """Refuse a value that what it is called cannot have."""
    if name in units:
        if isinstance(value, (int, float)):
            check_scale(value, units[name].minimum, units[name].maximum, *path)
        return
    kind = _KINDS.get(name)
    # These three are a number of one indicator and a list of another.
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
    low = -math.inf if minimum is None else minimum
    high = math.inf if maximum is None else maximum
    if value is not None and not low - 1e-9 <= value <= high + 1e-9:
        raise wrong(f"{value:g} is not from {low:g} to {high:g}", *path)


def check_equal(value: object, expected: object, *path: str | int) -> None:
    """Refuse what stands twice in an audit, and is not the same."""
    is_close = (
        isinstance(value, float) and isinstance(expected, float) and abs(value - expected) < 1e-6
    )
    if value != expected and not is_close:
        raise wrong(f"{value} stands here, and {expected} elsewhere in the audit", *path)


def check_counted(estimate: Estimate) -> None:
    """Refuse a share or a count that is not that of its own detail."""
    detail = estimate.detail
    name = estimate.indicator.rpartition(".")[2]
    counted: float | None = None
    if name in ("separable_pairs", "separable_adjacent") and detail.get("pairs"):
        counted = detail.get("apart", math.nan) / detail["pairs"]
    elif name in ("negative_items", "dead_items", "misfit_items") and "items" in detail:
        counted = len(detail["items"])
    elif name == "label_errors" and "candidates" in detail:
        counted = len(detail["candidates"])
    elif name == "duplicate_items" and "groups" in detail:
        counted = sum(len(group) - 1 for group in detail["groups"])
    if counted is not None and estimate.value is not None:
        check_equal(float(estimate.value), float(counted), "value")


@dataclass(frozen=True, slots=True)
class MappingOf:
    """In `Annotated`: a file must hold the fields of this type, which code reads as a mapping."""

    shape: Any
    required_key: str = ""
    """A key that must be there too."""

    def __get_pydantic_core_schema__(
        self, _source: object, _handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        # A schema of its own: within the audit's, unknown keys would be refused.
        shape_schema = TypeAdapter(self.shape).core_schema
        return core_schema.no_info_wrap_validator_function(self._check, shape_schema)

    def _check(
        self, value: Mapping[str, object], check: ValidatorFunctionWrapHandler
    ) -> Mapping[str, object]:
        check(value)
        if self.required_key and self.required_key not in value:
            raise wrong("it is missing", self.required_key)
        # The value itself stays: JSON's lists, the order of its keys, and its whole numbers.
        return value


STORED_ESTIMATE = TypeAdapter(StoredEstimate)
_ESTIMATE_FIELDS = tuple(column.name for column in fields(Estimate))
_COMPONENTS = TypeAdapter(StudyComponents)


def estimate_fields(row: object) -> object:
    """Return the fields of an `Estimate` from a row of the file, which writes intervals apart."""
    if not isinstance(row, dict):
        return row
    for name in _ESTIMATE_FIELDS:
        if name not in row:
            raise wrong("it is missing", name)
    stored = STORED_ESTIMATE.validate_python(row)
    if stored["intervals"].keys() != stored["methods"].keys():
        raise wrong("they are not those of the intervals", "methods")
    unknown = row.keys() - {*_ESTIMATE_FIELDS, "methods"}
    if unknown:
        raise wrong("no audit has it", min(unknown))
    return field_values(Estimate.from_dict(row))


# --- Checks that one type cannot say ---


_SAME_QUANTITY = frozenset("sem mdc95 above_chance acquiescence balanced_score".split())
"""Indicators whose detail `by_respondent` has the same quantity for each respondent; elsewhere it
explains the estimate.
"""
_DETAIL_FIELDS = {
    "item_agreement": "agreement",
    "coherence": "coherent",
    "position_bias": "v",
    # of smaller pictures: the paired differences
    "mean_shift": "difference",
}
"""Indicators whose detail has it under this name, beside other things."""
_ROW_FIELDS: Mapping[str, tuple[str, ...]] = {
    **{statistic: (name,) for statistic, name in _DETAIL_FIELDS.items()},
    **dict.fromkeys(("released_advantage", "older_advantage"), ("p",)),
}
"""Indicators whose detail `by_respondent` has rows, and the fields that each row has."""
_EXPLAINED_BY_NUMBERS = ("test_retest.rho_g", "parallel_forms.form_heterogeneity")
"""Indicators whose detail `by_respondent` has numbers of another quantity."""


def respondent_values(estimate: Estimate) -> dict[str, object]:
    """Respondent -> its own value of the estimate's quantity, where the estimate has one."""
    values = estimate.detail.get("by_respondent")
    statistic = estimate.indicator.rpartition(".")[2]
    if not isinstance(values, Mapping):
        return {}
    if statistic in _SAME_QUANTITY:
        return dict(values)
    rows = {name: value for name, value in values.items() if isinstance(value, Mapping)}
    if statistic in _DETAIL_FIELDS:
        return {name: row.get(_DETAIL_FIELDS[statistic]) for name, row in rows.items()}
    if not statistic.endswith("_shift"):
        return {}
    shifts = {}
    for name, pair in values.items():  # what was measured in the two administrations
        if isinstance(pair, (list, tuple)) and len(pair) > 1:
            first = pair[0]
            second = pair[1]
            shifts[name] = None if first is None or second is None else second - first
    return shifts


_READ_DETAILS = {
    "parallel_forms.phi_of_forms": ("forms", "goal"),
    "criterion.labelled_answers": ("drawn", "raters"),
}
"""Indicator -> the details without which a report, or the gate, cannot say what it says of it."""


_TABLES = ("types", "errors", "parts", "d_study", "curve", "contrasts")
"""The details that are tables: every row has the fields of the first."""
_LISTS: Mapping[str, type] = {
    **dict.fromkeys(
        "by_type candidates components constant_types contrasts cues curve d_study errors"
        " rank_changes reading_list strata".split(),
        dict,
    ),
    "groups": list,
}
"""The details that are lists of rows, or of lists: what reads them asks each for its fields."""
_TYPE_TABLES = ("types.index", "types.added_value", "consistency.own_strengths")
"""The indicators whose detail `types` has rows; that of others has names."""


def check_estimate(estimate: Estimate) -> Estimate:
    """Refuse an estimate without what its status and its indicator promise."""
    if estimate.status == "ok" and estimate.value is None:
        raise wrong("it is missing though the status is ok", "value")
    names = estimate.detail.get("items", ())
    if estimate.indicator.startswith("items.") and not isinstance(names, (list, tuple)):
        raise wrong("it is no list of items", "detail", "items")
    for key in _READ_DETAILS.get(estimate.indicator, ()):
        if key not in estimate.detail and (
            estimate.value is not None or "forms" in estimate.detail
        ):
            raise wrong("it is missing", "detail", key)
    _check_tables(estimate.detail)
    _check_lists(estimate)
    _check_respondents(estimate)
    labels_by_rater = estimate.detail.get("raters") or {}
    if estimate.indicator == "criterion.labelled_answers" and not isinstance(labels_by_rater, dict):
        raise wrong("it is no object with a number for each rater", "detail", "raters")
    for name, value in respondent_values(estimate).items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
            raise wrong("it is no number", "detail", "by_respondent", name)
    check_counted(estimate)
    return estimate


def _check_tables(detail: Mapping[str, Any]) -> None:
    """Refuse tables whose rows or columns do not fit together."""
    for key in _TABLES:
        _check_alike(detail.get(key), "detail", key)
    item_map = detail.get("map") or {}
    if len({len(item_map[name]) for name in _Map.__annotations__ if name in item_map}) > 1:
        raise wrong("its columns are not equally long", "detail", "map")


def _check_respondents(estimate: Estimate) -> None:
    """Refuse what stands beside respondents, where some have other fields or fewer numbers."""
    values = estimate.detail.get("by_respondent")
    if not isinstance(values, Mapping):
        return
    _, _, statistic = estimate.indicator.rpartition(".")
    kind: type | tuple[type, ...] = object
    if statistic in _SAME_QUANTITY or estimate.indicator in _EXPLAINED_BY_NUMBERS:
        kind = (int, float)
    elif statistic in _ROW_FIELDS:
        kind = Mapping
    elif statistic.endswith("_shift"):
        kind = (list, tuple)
    for name, value in values.items():
        if value is not None and not isinstance(value, kind):
            raise wrong("it is of another kind", "detail", "by_respondent", name)
    rows = {name: row for name, row in values.items() if isinstance(row, Mapping)}
    field_names = {*_ROW_FIELDS.get(statistic, ()), *chain.from_iterable(rows.values())}
    for name, row in rows.items():
        missing = field_names - row.keys()
        if missing:
            raise wrong("it is missing", "detail", "by_respondent", name, min(missing))
    lengths = {len(pair) for pair in values.values() if isinstance(pair, (list, tuple))}
    if len(lengths) > 1 or lengths & {0, 1}:
        raise wrong("its lists are not equally long", "detail", "by_respondent")


def _check_lists(estimate: Estimate) -> None:
    """Refuse a list of rows in which something else stands."""
    kinds = dict(_LISTS)
    if estimate.indicator in _TYPE_TABLES:
        kinds["types"] = dict
    for key, kind in kinds.items():
        values = estimate.detail.get(key)
        for number, value in enumerate(values if isinstance(values, (list, tuple)) else ()):
            if not isinstance(value, kind):
                raise wrong("it is no row", "detail", key, number)


def _check_alike(rows: object, *path: str | int) -> None:
    """Refuse a list of rows of which one has other fields than the first."""
    if not isinstance(rows, (list, tuple)) or not all(isinstance(row, dict) for row in rows):
        return
    for number, row in enumerate(rows):
        for field_name in row.keys() ^ rows[0].keys():
            if field_name not in row:
                state = "it is missing"
            else:
                state = "no other row has it"
            raise wrong(state, *path, number, field_name)


def check_components(row: Row) -> Row:
    """Refuse components of a study, or of one of its types, that are no `StudyComponents`."""
    types = row.get("types", {})
    if not isinstance(types, dict) or not all(
        isinstance(type_row, dict) for type_row in types.values()
    ):
        raise wrong("it is no object with a row for each type", "types")
    for component_row in ({k: v for k, v in row.items() if k != "types"}, *types.values()):
        unknown = component_row.keys() - {f.name for f in fields(StudyComponents)}
        if unknown:
            raise wrong("no audit has it", min(unknown))
        # From JSON, where a list may stand for a tuple, and a text still for no number.
        components = _COMPONENTS.validate_json(json.dumps(component_row), strict=True)
        for name in "respondents families items pictures forms runs askings labelled".split():
            check_scale(getattr(components, name), 0, None, name)
        # Both count items a picture, of which each has one at least.
        for name in ("per_picture", "crowd"):
            check_scale(getattr(components, name), 1, None, name)
        n_components = len(components.covariance)
        if any(len(covariances) != n_components for covariances in components.covariance):
            raise wrong("it is no square matrix", "covariance")
        diagonal = [components.covariance[k][k] for k in range(n_components)]
        for variance in (*components.values, *diagonal, components.judge, components.labels):
            check_scale(variance, 0, None, "values")
    return row


def check_analysis(table: Row) -> Row:
    """Refuse a table whose rows are not as wide as its heading."""
    if any(len(row) != len(table["columns"]) for row in table["rows"]):
        raise wrong("a row has not as many entries as there are columns", "rows")
    if table["drawn"] and table["drawn"] not in table["columns"]:
        raise wrong("it is none of the columns", "drawn")
    return table
