"""What an audit is: every estimate of a benchmark, as one value that reports are made from.

The classes say what an audit holds, what `audit.json` holds, and which values are possible: a file
is read through them (`Audit.load`) and written from them (`Audit.to_json`), and the JSON schema is
theirs (`Audit.json_schema`). A file that somebody edited, cut or merged is refused with the path of
the first wrong value (`audits[0].respondents[2].scores.accuracy`).
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Required, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    PlainSerializer,
    StrictFloat,
    StrictInt,
    TypeAdapter,
    ValidationError,
    ValidatorFunctionWrapHandler,
    with_config,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema
from typing_extensions import TypedDict

from hqm.auditing import frames
from hqm.auditing.budget import AnswerCode, ErrorBudget, Mend, Question, Statement
from hqm.auditing.disagreements import Example
from hqm.auditing.score_differences import ScoreComparison
from hqm.benchmark.analyses import Analysis
from hqm.errors import DataError, DesignError, UsageError
from hqm.files.records import read_json
from hqm.indicators.flags import FLAGS
from hqm.indicators.indicator import indicator_named
from hqm.indicators.item_coverage import TypeCoverage
from hqm.psychometrics import StudyParts
from hqm.scoring.metrics import Better
from hqm.types import Administration, Cell, Count, Estimate, Number, State, Task, finite
from hqm.version import __version__

if TYPE_CHECKING:
    import pandas as pd

_DEEPEST = 40
"""How deeply the values of an audit may be nested; its own go down to about ten levels."""
_EXACT = ConfigDict(extra="forbid")
_GROWING = ConfigDict(extra="allow")
"""Rows that a later version may add to."""


def _wrong(what: str, *path: str | int) -> PydanticCustomError:
    """Return the error of a value at a path below the one that is validated."""
    return PydanticCustomError("wrong", "{what}", {"what": what, "path": path})


def _method(text: str) -> str:
    level = text.rpartition(", ")[2]
    try:
        within = 0 < float(level) < 1
    except ValueError:
        within = False
    if not within:
        raise _wrong("it does not end in a comma and the interval's level (', 0.95')")
    return text


Share = Annotated[float, Field(ge=0, le=1, strict=True)]
Method = Annotated[str, AfterValidator(_method)]
Ends = tuple[Number, Number]
EndsList = Annotated[list[Number], Field(min_length=2, max_length=2)]
Row = dict[str, Any]
NoRow = Annotated[dict[str, Any], Field(max_length=0)]
Figure = StrictInt | StrictFloat | None


@dataclass(frozen=True, slots=True)
class _Like:
    """In `Annotated`: a file must hold the fields of this type, which code reads as a mapping."""

    shape: Any
    besides: str = ""
    """A key that must be there too."""

    def __get_pydantic_core_schema__(
        self, _source: Any, _handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        # a schema of its own: within the audit's, unknown keys would be refused
        own = TypeAdapter(self.shape).core_schema
        return core_schema.no_info_wrap_validator_function(self._check, own)

    def _check(self, value: Any, check: ValidatorFunctionWrapHandler) -> Any:
        check(value)
        if self.besides and self.besides not in value:
            raise _wrong("it is missing", self.besides)
        # the value itself stays: JSON's lists, the order of its keys, and its whole numbers
        return value


# --- The rows of an audit ---


@with_config(_GROWING)
class _Metric(TypedDict, total=False):
    about: Required[str]
    better: Required[Better]
    scale: Ends
    """The least and the greatest score, where the metric has them; 0.1.0 did not say it."""


@with_config(_GROWING)
class _Form(TypedDict):
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
class _Stopped(TypedDict):
    rule: str
    pictures: Count
    of_pictures: Count
    items: Count
    of_items: Count
    respondents: list[_StoppedAt]


@with_config(_GROWING)
class _Finding(TypedDict, total=False):
    code: Required[str]
    name: Required[str]
    severity: Required[Literal["note", "warning", "error"]]
    sentence: Required[str]
    remedy: str
    count: Count
    examples: list[str]
    rows: list[Row]


@with_config(_GROWING)
class _Flag(TypedDict, total=False):
    flag: Required[str]
    metric: Required[str]
    sentence: Required[str]
    what_to_do: Required[str]
    about: str
    numbers: dict[str, Figure]


@with_config(_GROWING)
class _WithoutEach(TypedDict):
    score: Figure
    values: list[Figure]
    places: Annotated[str, Field(pattern=r"^[0-9 ]*$")]


@with_config(_GROWING)
class _LeftOutRow(TypedDict):
    family: str
    metric: str
    cells: list[Administration]
    clusters: str
    respondents: dict[str, list[_WithoutEach]]


@with_config(_GROWING)
class _Clusters(TypedDict):
    names: list[str]
    sizes: list[Count]


@with_config(_GROWING)
class _LeftOut(TypedDict, total=False):
    clusters: dict[str, _Clusters]
    records: list[_LeftOutRow]


@with_config(_GROWING)
class _Map(TypedDict):
    ids: list[str]
    difficulty: list[Number]
    item_rest: list[Number]


@with_config(_GROWING)
class _Detail(TypedDict, total=False):
    """What reports read of the detail of an estimate; each indicator has some of it."""

    by_respondent: dict[str, Number | tuple[Number, ...] | Row] | None
    contradictory: tuple[tuple[str, ...], ...]
    groups: tuple[tuple[str, ...], ...]
    tied_sets: tuple[tuple[str, ...], ...] | None
    ranks: dict[str, Ends] | None
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
class _StoredEstimate(TypedDict):
    """What a file writes otherwise than an `Estimate` holds it."""

    intervals: dict[str, Ends]
    methods: dict[str, Method]
    detail: _Detail
    flags: list[str]


_STORED = TypeAdapter(_StoredEstimate)
_PARTS = TypeAdapter(StudyParts)


# --- Checks that one type cannot say ---

_NUMBERS = frozenset(
    "ac1 accuracy adjacent after agreement alpha answers apart at_ceiling at_floor attenuation"
    " average_of_runs baseline before bias_correction blind by_subscore by_total chance coherent"
    " correlation count detectable deviation difference easy error evenness forms g gain hard high"
    " i2 if_all_right if_all_wrong images items_varying k kappa largest_error length low margin"
    " mdc95 mean_kappa missing_items n_min observed of overlap p p_sensitivity p_specificity pairs"
    " phi phi_of_3 q ratio raw raw_full raw_same reliability reliability_of_people reversals runs"
    " same_set scaled score se sem share shift solved_by_none splits statistic target to_truth top5"
    " unlabelled v variance varying whole without_high without_low without_strongest wordings"
    " worst".split()
)
_TEXTS = frozenset(
    "best cue facet item label labelled_by labels_of name noise_of part phrase reason respondent"
    " second state status strategy strongest type".split()
)
_BY_NAME = frozenset(("by_respondent", "correlations", "ranks", "shares", "strategies"))
"""Keys of details, and of the rows in them, that are numbers or texts wherever they stand; and
whose own keys are names.
"""


def _check_values(value: Any, path: tuple[str | int, ...]) -> None:
    """Refuse what JSON cannot hold, endless nesting, and details that are not what they name."""
    if isinstance(value, float) and not math.isfinite(value):
        raise _wrong("it is no finite number", *path)
    if len(path) > _DEEPEST:
        raise _wrong(f"it is nested more than {_DEEPEST} levels deep", *path[:6])
    if isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value):
        raise _wrong("it holds half a character (a lone surrogate)", *path)
    if isinstance(value, dict):
        named = len(path) > 4 and path[4] == "detail" and path[-1] not in _BY_NAME
        for key, inner in value.items():
            here = (*path, key)
            if named and key in _NUMBERS and not (inner is None or type(inner) in (int, float)):
                raise _wrong("it is no number", *here)
            if named and key in _TEXTS and not (inner is None or isinstance(inner, str)):
                raise _wrong("it is no text", *here)
            _check_values(inner, here)
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            _check_values(inner, (*path, i))


def _check_ends(
    value: float | None, low: float | None, high: float | None, *path: str | int
) -> None:
    """Refuse an interval whose ends are exchanged, or that lies beside its value.

    An interval that is made by resampling may miss its value by a little. It lies beside the value
    when more than its own width is between them.
    """
    if low is None or high is None:
        return
    if low > high:
        raise _wrong("its lower end lies above the upper one", *path)
    if value is not None and max(low - value, value - high) > high - low + 1e-6:
        raise _wrong(f"it lies beside the value {value:g}", *path)


def _check_scale(
    value: float | None, least: float | None, most: float | None, *path: str | int
) -> None:
    """Refuse a value that its scale does not have; rounding may pass an end by a hair."""
    low, high = (-math.inf if least is None else least), (math.inf if most is None else most)
    if value is not None and not low - 1e-9 <= value <= high + 1e-9:
        raise _wrong(f"{value:g} is not from {low:g} to {high:g}", *path)


def _estimate_fields(row: Any) -> Any:
    """Return the fields of an `Estimate` from a row of the file, which writes intervals apart."""
    if not isinstance(row, dict):
        return row
    for name in (f.name for f in fields(Estimate)):
        if name not in row:
            raise _wrong("it is missing", name)
    stored = _STORED.validate_python(row)
    if stored["intervals"].keys() != stored["methods"].keys():
        raise _wrong("they are not those of the intervals", "methods")
    unknown = row.keys() - {f.name for f in fields(Estimate)} - {"methods"}
    if unknown:
        raise _wrong("no audit has it", min(unknown))
    estimate = Estimate.from_dict(row)
    return {f.name: getattr(estimate, f.name) for f in fields(Estimate)}


def _check_estimate(estimate: Estimate) -> Estimate:
    if estimate.status == "ok" and estimate.value is None:
        raise _wrong("it is missing though the status is ok", "value")
    indicator = indicator_named(estimate.indicator)
    if indicator is not None:
        _check_scale(estimate.value, indicator.unit.least, indicator.unit.most, "value")
    if estimate.indicator.startswith("items.") and isinstance(estimate.detail.get("items"), int):
        raise _wrong("it is no list of items", "detail", "items")
    for i in estimate.intervals:
        low, high = finite(i.low), finite(i.high)
        _check_ends(estimate.value, low, high, "intervals", i.inference)
    return estimate


def _check_components(row: Row) -> Row:
    """Refuse components of a study, or of one of its types, that are no `StudyParts`."""
    for own in ({k: v for k, v in row.items() if k != "types"}, *row.get("types", {}).values()):
        unknown = own.keys() - {f.name for f in fields(StudyParts)}
        if unknown:
            raise _wrong("no audit has it", min(unknown))
        parts = _PARTS.validate_json(json.dumps(own), strict=True)
        for name in ("respondents", "families", "items", "pictures", "forms", "runs", "askings"):
            if getattr(parts, name) < 0:
                raise _wrong("it is below 0", name)
    return row


def _check_analysis(table: Row) -> Row:
    if any(len(row) != len(table["columns"]) for row in table["rows"]):
        raise _wrong("a row has not as many entries as there are columns", "rows")
    if table["drawn"] and table["drawn"] not in table["columns"]:
        raise _wrong("it is none of the columns", "drawn")
    return table


def _check_respondent(audit: BenchmarkAudit, row: int) -> None:
    who, path = audit.respondents[row], ("respondents", row)
    if who.name in [earlier.name for earlier in audit.respondents[:row]]:
        raise _wrong(f"the respondent {who.name!r} stands twice", *path, "name")
    for cell in audit.cells:
        if cell not in who.states:
            raise _wrong("it is missing", *path, "states", cell)
        if cell not in who.cells:
            raise _wrong("it is missing", *path, "cells", cell)
    for cell, states in who.states.items():
        form = audit.forms.get(Cell.parse(cell).form)
        if form is not None and sum(states.values()) > form["items"]:
            many = f"{sum(states.values()):,} answers to {form['items']:,} items"
            raise _wrong(many, *path, "states", cell)
    for place, (metric, about) in enumerate(audit.metrics.items()):
        scale = about.get("scale", (None, None))
        for kind, score in () if place else who.by_type.items():
            _check_scale(score, *scale, *path, "by_type", kind)
        _check_scale(who.scores.get(metric), *scale, *path, "scores", metric)
        for cell, scores in who.cells.items():
            _check_scale(scores.get(metric), *scale, *path, "cells", cell, metric)
        low, high = who.intervals.get(metric, (None, None))
        _check_ends(who.scores.get(metric), low, high, *path, "intervals", metric)


def _check_benchmark(audit: BenchmarkAudit) -> BenchmarkAudit:
    """Hold what stands in one place of an audit against what stands in another."""
    if audit.reference not in audit.cells:
        raise _wrong("it is none of the administrations in cells", "reference")
    for row in range(len(audit.respondents)):
        _check_respondent(audit, row)
    return audit


# --- The audit ---


@dataclass(frozen=True, slots=True)
class RespondentScores:
    """One respondent in one benchmark: its scores, and how its answers came out."""

    __pydantic_config__ = _EXACT
    name: str
    scores: Mapping[str, Number]
    """Metric -> score in the reference administration."""
    intervals: Mapping[str, EndsList]
    """Metric -> [low, high] over pictures (cluster jackknife)."""
    by_type: Mapping[str, Number]
    """Hallucination type -> score by the first audited metric."""
    cells: Mapping[Administration, Mapping[str, Number]]
    """Administration -> metric -> score, of every metric of the benchmark."""
    states: Mapping[Administration, Annotated[Mapping[str, int], _Like(dict[State, Count])]]
    """Administration -> state -> number of answers."""
    yes_ratio: Mapping[str, Share | None]
    words: Mapping[str, Number]
    judged: Mapping[str, Number] = field(default_factory=dict)
    """Administration under another judge -> share of answers that the judge found faithful."""
    identity: Mapping[str, Any] = field(default_factory=dict)
    printed: Mapping[str, str] = field(default_factory=dict)
    """Metric -> the score in the reference administration as the release prints it, where the
    release rounds.
    """


@dataclass(frozen=True)
class BenchmarkAudit(frames.AsFrames):
    """All that was estimated of one benchmark."""

    __pydantic_config__ = _EXACT
    benchmark: str
    title: str
    version: str
    task: Task
    scoring: str
    parser: str
    summary: str
    reference: Administration
    n_items: Annotated[Count, Field(alias="items")]
    images: Count
    metrics: Annotated[
        Mapping[str, Annotated[Mapping[str, Any], _Like(_Metric)]], Field(min_length=1)
    ]
    """Audited metric -> what it is, which direction is better, and its scale."""
    forms: Mapping[str, Annotated[Mapping[str, Any], _Like(_Form)]]
    truth_yes: Mapping[str, Number]
    """Form -> the share of questions whose right answer is yes; empty for other tasks."""
    cells: Annotated[tuple[Administration, ...], Field(min_length=1)]
    respondents: tuple[RespondentScores, ...]
    all_estimates: Annotated[
        tuple[
            Annotated[
                Estimate,
                BeforeValidator(_estimate_fields),
                AfterValidator(_check_estimate),
                PlainSerializer(Estimate.to_dict),
            ],
            ...,
        ],
        Field(alias="estimates"),
    ]
    coverage: Mapping[str, Annotated[Mapping[str, Any], _Like(TypeCoverage, "state")]]
    findings: tuple[Annotated[Mapping[str, Any], _Like(_Finding)], ...]
    flags: tuple[Annotated[Mapping[str, Any], _Like(_Flag)], ...] = ()
    """What the audit warns of by itself: flag, metric, what it concerns, a sentence, and what to
    do.
    """
    families: Mapping[str, str] = field(default_factory=dict)
    """Respondent -> family, where some are relatives."""
    examples: tuple[Annotated[Mapping[str, Any], _Like(Example)], ...] = ()
    """The items on which administrations, judges or labellers disagree most, with all answers."""
    to_read: tuple[Row, ...] = ()
    """The items that a person should read first, with picture, question, key, who fails them, and
    the chance of a fault.
    """
    pairs: tuple[Row, ...] = ()
    """One item of each type as it is asked: picture, question, options and key."""
    release: Mapping[str, str] = field(default_factory=dict)
    """What the card says of the release: `citation`, `url`, `licence`."""
    left_out: Annotated[Mapping[str, Any], _Like(_LeftOut)] = field(default_factory=dict)
    """The scores with each picture left out, for `hqm compare`; `auditor.read` reads them."""
    components: Mapping[str, Annotated[Row, AfterValidator(_check_components)]] = field(
        default_factory=dict
    )
    """Audited metric -> the variance components of all its administrations together, for `hqm
    design`; `auditor.parts_in` reads them.
    """
    stopped: Annotated[Mapping[str, Any], _Like(_Stopped | NoRow)] = field(default_factory=dict)
    """Where a rule stopped the asking (`--until`): rule, pictures and items used, and a row for
    each respondent.
    """
    tools: tuple[Annotated[Mapping[str, Any], _Like(ScoreComparison)], ...] = ()
    """Where the tools that recorded answers score them otherwise than HQM
    (`ScoreComparison.to_dict`).
    """
    analyses: tuple[
        Annotated[Mapping[str, Any], _Like(Analysis, "drawn"), AfterValidator(_check_analysis)], ...
    ] = ()
    """The benchmark's own further tables (`Analysis.to_dict`)."""
    budget: Mapping[str, ErrorBudget] = field(default_factory=dict)
    """Audited metric -> its error budget; empty in an audit of an earlier version."""
    mend: tuple[Mend, ...] = ()
    """What is to be mended, the gravest first, with what it costs; by the default policy, as
    `answers` is.
    """
    answers: Mapping[Question, AnswerCode] = field(default_factory=dict)
    """The answers to the seven questions of the report, as codes."""

    @property
    def items_used(self) -> int:
        """Number of items that the estimates use: all, unless a rule stopped the asking."""
        return int(self.stopped.get("items", self.n_items))

    @property
    def state_counts(self) -> dict[str, dict[str, int]]:
        """Administration -> state -> number of answers of all respondents."""
        counts: dict[str, Counter[str]] = {cell: Counter() for cell in self.cells}
        for respondent in self.respondents:
            for cell, states in respondent.states.items():
                counts.setdefault(cell, Counter()).update(states)
        return {cell: dict(states) for cell, states in counts.items()}

    def estimate(self, indicator: str, metric: str | None = None) -> Estimate:
        """The first estimate of this indicator (and metric).

        Raises
        ------
        DesignError
            There is no such estimate; or an average over error sources is asked for, which does not
            exist.
        """
        if indicator.rpartition(".")[2] in ("average", "reliability_average", "overall", "grade"):
            raise DesignError(
                f"{indicator!r} would average different things",
                remedy=f"AVERAGED_COEFFICIENTS: {FLAGS['AVERAGED_COEFFICIENTS']}.",
            )
        for estimate in self.all_estimates:
            if estimate.indicator == indicator and metric in (None, estimate.metric):
                return estimate
        raise DesignError(
            f"{self.benchmark} has no estimate {indicator!r}",
            remedy="Its `estimates` is a frame of those that it has.",
        )

    def error_budget(self, metric: str | None = None) -> ErrorBudget:
        """Return all sources of error on one scale, and the gaps of the leaderboard beside them.

        Parameters
        ----------
        metric
            An audited metric; the leading one unless given.

        Raises
        ------
        DesignError
            An earlier version made the audit, or the metric is none of its own.
        """
        metric = metric or next(iter(self.metrics))
        if metric not in self.budget:
            raise DesignError(
                f"this audit of {self.benchmark} has no error budget of {metric!r}",
                remedy=f"It has those of: {', '.join(self.budget) or 'none'}. Make it again with"
                " `hqm audit NAME`.",
            )
        return self.budget[metric]

    @property
    def statement(self) -> Statement:
        """The line that a table's caption says of the reliability of these scores."""
        made: Statement = import_module("hqm.reports.sentences").statement(self)
        return made

    @property
    def verdict(self) -> str:
        """What the audit comes to, in one sentence."""
        text: str = import_module("hqm.reports.sentences").headline(self).text
        return text

    def __repr__(self) -> str:
        text: str = import_module("hqm.reports.benchmark_card").brief(self)
        return text

    def _repr_html_(self) -> str:
        """The report, as a notebook shows it."""
        return Audit((self,))._repr_html_()

    def to_frame(self, what: frames.Table = "estimates") -> pd.DataFrame:
        """The audit as a tidy pandas frame.

        Parameters
        ----------
        what
            `estimates`: one row an estimate and kind of interval (`inference`); one that has no
            interval stands once, with an empty `inference`. `group` is `all`, or the respondent
            where the estimate has a value for each. `scores`: one row a respondent, administration
            and metric. `states`: one row a respondent, administration and state, with the number of
            answers. `items`: one row an item whose answers vary, and one that a person should
            read, with the reason (`why`).

        Numbers are as they were computed, never rounded; one that does not exist is NaN, and
        `status` and `reason` say why.
        """
        if what not in frames.TABLES:
            raise UsageError(
                f"there is no table {what!r} of an audit",
                remedy=f"It has {', '.join(frames.TABLES)}.",
            )
        rows: Iterable[dict[str, Any]]
        if what == "estimates":
            rows = (r for e in self.all_estimates for r in frames.estimate_rows(self.benchmark, e))
        elif what == "items":
            rows = frames.item_map_rows(self.benchmark, self.all_estimates, self.to_read)
        elif what == "scores":
            rows = frames.score_rows(
                self.benchmark, self.reference, self.families, self.respondents
            )
        else:
            rows = frames.state_rows(self.benchmark, self.respondents)
        return frames.frame(rows, frames.TABLES[what])

    def to_dict(self) -> dict[str, Any]:
        """The audit as `audit.json` has it."""
        data = _AUDIT.dump_python(Audit((self,)), by_alias=True, warnings=False)
        return dict(data["audits"][0])

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> BenchmarkAudit:
        """Read one benchmark's part of an `audit.json`."""
        return _read(TypeAdapter(cls), data)


@dataclass(frozen=True)
class Audit(frames.AsFrames):
    """The audits of one command, with the record of how they were made."""

    __pydantic_config__ = _EXACT
    audits: Annotated[
        tuple[Annotated[BenchmarkAudit, AfterValidator(_check_benchmark)], ...], Field(min_length=1)
    ]
    command: str = ""
    record: Mapping[str, Any] = field(default_factory=dict)
    hqm_version: str = __version__

    @property
    def verdict(self) -> str:
        """What each benchmark comes to, a line each."""
        return "\n".join(audit.verdict for audit in self.audits)

    @property
    def statement(self) -> str:
        """The reliability statement of each benchmark, a line each."""
        return "\n".join(str(audit.statement) for audit in self.audits)

    def __repr__(self) -> str:
        return "\n".join(map(repr, self.audits))

    def _repr_html_(self) -> str:
        """The report, as a notebook shows it."""
        page: str = import_module("hqm.reports.report_page").in_a_notebook(self)
        return page

    def to_frame(self, what: frames.Table = "estimates") -> pd.DataFrame:
        """All benchmarks of the audit as one tidy pandas frame; see `BenchmarkAudit.to_frame`."""
        import pandas as pd

        return pd.concat([audit.to_frame(what) for audit in self.audits], ignore_index=True)

    def to_json(self) -> str:
        """The text of `audit.json`."""
        data = _AUDIT.dump_python(self, by_alias=True, warnings=False)
        for audit in data["audits"]:
            if not audit["budget"]:
                # an earlier version made it: it is written as it was read
                del audit["budget"], audit["mend"], audit["answers"]
        order = ("hqm_version", "command", "record", "audits")
        ordered = {name: data[name] for name in order}
        return json.dumps(ordered, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """The JSON schema of `audit.json`."""
        schema = _AUDIT.json_schema()
        stored = _STORED.json_schema()
        schema["$defs"] |= stored["$defs"]
        estimate = schema["$defs"]["Estimate"]
        estimate["properties"] |= stored["properties"]
        estimate["required"] = list(estimate["properties"])
        return schema

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Audit:
        """Read the data of an `audit.json`."""
        return _read(_AUDIT, data)

    @classmethod
    def load(cls, path: Path | str) -> Audit:
        """Read an `audit.json`.

        Raises
        ------
        DataError
            The file is no audit, a later version wrote it, or a value is wrong; the sentence has
            its path.
        """
        return _read(_AUDIT, read_json(path), str(path))


_AUDIT = TypeAdapter(Audit)
_Value = TypeVar("_Value")
AGAIN = "Make it again with `hqm audit NAME`; an audit is not meant to be edited."


def _read(tree: TypeAdapter[_Value], data: Any, place: str = "") -> _Value:
    """Return the value that the data holds, or raise a `DataError` that names the first fault."""
    try:
        if tree is _AUDIT:
            _check_file(data, place)
        _check_values(data, ())
        return tree.validate_python(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        path = (*first["loc"], *first.get("ctx", {}).get("path", ()))
        what = _PLAIN_WORDS.get(first["type"], first["msg"].removeprefix("Value error, "))
    except PydanticCustomError as error:
        context = error.context or {}
        path, what = context["path"], context["what"]
    raise DataError(f"the key {_path(path)!r} is wrong: {what}", place=place, remedy=AGAIN)


_PLAIN_WORDS = {
    "missing": "it is missing",
    "unexpected_keyword_argument": "no audit has it",
    "extra_forbidden": "no audit has it",
}


def _path(parts: Sequence[str | int]) -> str:
    """Write the path of a value as in Python.

    >>> _path(("audits", 0, "estimates", 12, "value"))
    'audits[0].estimates[12].value'
    """
    # pydantic names the members of a union and the keys of a mapping by types that no file has
    real = [p for p in parts if isinstance(p, int) or not re.search(r"\[|^_|^NoneType$", p)]
    return "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in real).removeprefix(".")


def _check_file(data: Any, place: str) -> None:
    """Refuse what is no audit of answers, and what a later version wrote."""
    if not isinstance(data, dict) or "audits" not in data:
        raise DataError("it is no audit of HQM", place=place, remedy=AGAIN)
    listed = data["audits"] if isinstance(data["audits"], list) else []
    if any(isinstance(audit, dict) and "read_as" in audit for audit in listed):
        raise DataError(
            "it is the audit of a published table, which holds no answers",
            place=place,
            remedy="Its own report is made by `hqm table FILE --out FOLDER`.",
        )
    for name in ("hqm_version", "command", "record"):
        if name not in data:
            raise _wrong("it is missing", name)
    version = data["hqm_version"]
    if isinstance(version, str) and _numbers(version) > _numbers(__version__):
        raise DataError(
            f"the key 'hqm_version' is wrong: HQM {version:.40} wrote it, which is later than this"
            f" {__version__}",
            place=place,
            remedy='Update with `pip install --upgrade "hqm-audit"`.',
        )


def _numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version, to compare it with another."""
    return tuple(map(int, re.findall(r"\d{1,9}", version)[:3]))
