"""The shape of an `audit.json`, against which a file is held before anything is read from it.

An audit may have been edited, cut or merged by hand since it was written. A report would then stop
in the middle, or show a wrong number; here the first wrong key is named by its path
(`audits.0.respondents.2.scores.accuracy`). The shape stands in one module because the parts of an
audit are held against each other.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, create_model

from hqm.auditing.frames import TABLES, Table, estimate_rows, facets, frame
from hqm.errors import DataError, DesignError, HQMError, UsageError
from hqm.files.records import read_json, read_text
from hqm.indicators.flags import FLAGS
from hqm.psychometrics import StudyParts
from hqm.scoring.metrics import Better
from hqm.types import STATES, Cell, Estimate, Task
from hqm.version import __version__

if TYPE_CHECKING:
    import pandas as pd


_DEEPEST = 40
"""How deeply the values of an audit may be nested; its own go down to about ten levels."""


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class _Open(BaseModel):
    """A row that a later version may add to."""

    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False)


def _cell(text: str) -> str:
    try:
        Cell.parse(text)
    except HQMError as error:
        raise ValueError(error.what) from None
    return text


def _method(text: str) -> str:
    level = text.rpartition(", ")[2]
    try:
        within = 0 < float(level) < 1
    except ValueError:
        within = False
    if not within:
        raise ValueError("it does not end in a comma and the interval's level (', 0.95')")
    return text


Number = float | None
Count = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
Administration = Annotated[str, AfterValidator(_cell)]
Ends = tuple[Number, Number]
Row = dict[str, Any]


class _About(_Open):
    about: str
    better: Better


class _Form(_Open):
    items: Count
    left_out: Count
    rules: dict[str, Count]
    digest: str


class _StoppedAt(_Open):
    items: Count
    inclusion: Share
    why: str
    stopped_after: Count = 0
    score: Number = None
    low: Number = None
    high: Number = None


class _Stopped(_Open):
    rule: str
    pictures: Count
    of_pictures: Count
    items: Count
    of_items: Count
    respondents: tuple[_StoppedAt, ...]


class _Covered(_Open):
    type: str
    claimed: bool
    items: Count
    images: Count
    wordings: Count
    state: str


class _Finding(_Open):
    code: str
    name: str
    severity: Literal["note", "warning", "error"]
    sentence: str
    remedy: str = ""
    count: Count = 0
    examples: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()


class _Flag(_Open):
    flag: str
    metric: str
    sentence: str
    what_to_do: str
    about: str = ""
    numbers: dict[str, Number] = {}


class _Said(_Open):
    respondent: str
    cell: Administration
    text: str
    state: str
    read: str
    reason: str
    value: Number
    judge_words: tuple[str, ...]


class _WithoutEach(_Open):
    score: Number
    values: tuple[Number, ...]
    places: Annotated[str, Field(pattern=r"^[0-9 ]*$")]


class _LeftOutRow(_Open):
    family: str
    metric: str
    cells: tuple[Administration, ...]
    clusters: str
    respondents: dict[str, tuple[_WithoutEach, ...]]


class _Clusters(_Open):
    names: tuple[str, ...]
    sizes: tuple[Count, ...]


class _LeftOut(_Open):
    clusters: dict[str, _Clusters] = {}
    records: tuple[_LeftOutRow, ...] = ()


class _Example(_Open):
    item: str
    type: str
    image: str
    thumbnail: str
    facets: dict[str, float]
    prompts: dict[str, str]
    targets: dict[str, str]
    answers: tuple[_Said, ...]
    respondents: Count


class _ScoredOtherwise(_Open):
    item: str
    answer: str
    tool_score: float
    tool_read: str
    hqm_score: Number
    hqm_read: str
    state: str
    reason: str


class _Tool(_Open):
    respondent: str
    form: str
    run: Count
    scoring: str
    tool: str
    compared: Count
    tool_mean: Number
    hqm_mean: Number
    hqm_scored: Count
    differences: tuple[_ScoredOtherwise, ...]


class _Analysis(_Open):
    name: str
    title: str
    about: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | int | float | None, ...], ...]
    drawn: str


class _Map(_Open):
    ids: tuple[str, ...]
    difficulty: tuple[Number, ...]
    item_rest: tuple[Number, ...]


class _Detail(_Open):
    """What reports read of the detail of an estimate; each indicator has some of it."""

    by_respondent: dict[str, Number | tuple[Number, ...] | Row] | None = None
    contradictory: tuple[tuple[str, ...], ...] = ()
    groups: tuple[tuple[str, ...], ...] = ()
    tied_sets: tuple[tuple[str, ...], ...] | None = None
    ranks: dict[str, Ends] | None = None
    below_chance: tuple[str, ...] = ()
    not_above: tuple[str, ...] = ()
    candidates: tuple[Row, ...] = ()
    items: int | tuple[str, ...] | None = None
    types: tuple[str | Row, ...] | None = None
    by_type: tuple[Row, ...] | dict[str, Any] = ()
    cues: tuple[Row, ...] = ()
    giveaways: tuple[Row, ...] = ()
    constant_types: tuple[Row, ...] = ()
    strata: tuple[Row, ...] = ()
    leaks: tuple[str, ...] = ()
    components: tuple[Row, ...] | None = None
    d_study: tuple[Row, ...] | None = None
    curve: tuple[Row, ...] | None = None
    map: _Map | None = None
    lower: Number | tuple[Number, ...] = None
    upper: Number | tuple[Number, ...] = None
    varied: str | None = None
    range: Number | tuple[Number, Number] = None


_NUMBERS = frozenset(
    "ac1 accuracy adjacent after agreement alpha answers apart at_ceiling at_floor attenuation"
    " average_of_runs baseline before bias_correction blind by_subscore by_total chance coherent"
    " correlation count detectable deviation difference easy error evenness forms g gain hard high"
    " i2 if_all_right if_all_wrong images items_varying k kappa largest_error length low margin"
    " mdc95 mean_kappa missing_items n_min observed of overlap p p_sensitivity p_specificity pairs"
    " phi phi_of_3 q ratio raw raw_full raw_same reliability reliability_of_people reversals runs"
    " same_set scaled score se sem share shift solved_by_none splits statistic target to_truth top5"
    " unlabelled v variance varying whole without_high without_low without_strongest wordings worst".split()
)
_TEXTS = frozenset(
    "best cue facet item label labelled_by labels_of name noise_of part phrase reason respondent"
    " second state status strategy strongest type".split()
)
_BY_NAME = frozenset(("by_respondent", "correlations", "ranks", "shares", "strategies"))
"""Keys of details, and of the rows in them, that are numbers or texts wherever they stand; and
whose own keys are names.
"""

_PARTS: Mapping[str, Any] = {
    "task": Task,
    "reference": Administration,
    "items": Count,
    "images": Count,
    "metrics": Annotated[dict[str, _About], Field(min_length=1)],
    "forms": dict[str, _Form],
    "truth_yes": dict[str, Number],
    "cells": Annotated[tuple[Administration, ...], Field(min_length=1)],
    "coverage": dict[str, _Covered],
    "findings": tuple[_Finding, ...],
    "flags": tuple[_Flag, ...],
    "to_read": tuple[Row, ...],
    "pairs": tuple[Row, ...],
    "release": dict[str, str],
    "examples": tuple[_Example, ...],
    "left_out": _LeftOut,
    "stopped": _Stopped | Annotated[dict[str, Any], Field(max_length=0)],
    "tools": tuple[_Tool, ...],
    "analyses": tuple[_Analysis, ...],
}
"""The parts of a benchmark's audit whose types `BenchmarkAudit` does not say."""
_RESPONDENT: Mapping[str, Any] = {
    "intervals": dict[str, Ends],
    "states": dict[Administration, dict[Literal[STATES], Count]],  # type: ignore[valid-type]
    "cells": dict[Administration, dict[str, Number]],
}
_ESTIMATE: Mapping[str, Any] = {
    "first": Administration,
    "other": Administration,
    "value": Number,
    "intervals": dict[str, Ends],
    "methods": dict[str, Annotated[str, AfterValidator(_method)]],
    "flags": tuple[str, ...],
    "detail": _Detail,
}


def _shape(kind: type[Any], parts: Mapping[str, Any]) -> Any:
    """The shape of a frozen value in a file: its own fields, where `parts` do not know them
    better.
    """
    hints = get_type_hints(kind)
    members: dict[str, Any] = {}
    for member in fields(kind):
        optional = member.default is not MISSING or member.default_factory is not MISSING
        hint = parts.get(member.name) or hints[member.name]
        members[member.name] = (hint, None) if optional and kind is not Estimate else (hint, ...)
    members |= {name: (hint, ...) for name, hint in parts.items() if name not in members}
    return create_model(kind.__name__, __base__=_Shape, **members)


def _file(benchmark_audit: type[Any], respondent_scores: type[Any]) -> type[BaseModel]:
    estimate: Any = _shape(Estimate, _ESTIMATE)
    respondent: Any = _shape(respondent_scores, _RESPONDENT)
    rows = {"respondents": tuple[respondent, ...], "estimates": tuple[estimate, ...]}
    counts = dict.fromkeys(
        ("respondents", "families", "items", "pictures", "forms", "runs", "askings", "labelled"),
        Count,
    )
    parts: Any = _shape(StudyParts, counts)
    components: Any = create_model("Components", __base__=parts, types=(dict[str, parts], {}))
    audit: Any = _shape(benchmark_audit, {**_PARTS, **rows, "components": dict[str, components]})
    return create_model(
        "Audit",
        __base__=_Shape,
        hqm_version=(str, ...),
        command=(str, ...),
        record=(dict[str, Any], ...),
        audits=(Annotated[tuple[audit, ...], Field(min_length=1)], ...),
    )


def check_audit(data: Any, text: str, place: str, kinds: tuple[type[Any], type[Any]]) -> None:
    """Hold the data of an `audit.json` against its shape.

    Parameters
    ----------
    data, text
        The file, as JSON data and as it stands.
    place
        The file's name, for the error.
    kinds
        The values that are read from it: a benchmark's audit, and a respondent's scores.

    Raises
    ------
    DataError
        A key is missing, unknown, or has a wrong value; the first is named by its path.
    """
    remedy = "Make it again with `hqm audit NAME`; an audit is not meant to be edited."
    try:
        if not isinstance(data, dict) or "audits" not in data:
            raise _Wrong("", "it is no audit of HQM")
        listed = data["audits"] if isinstance(data["audits"], list) else []
        if any(isinstance(audit, dict) and "read_as" in audit for audit in listed):
            remedy = "Its own report is made by `hqm audit --table FILE --report PAGE.html`."
            raise _Wrong("", "it is the audit of a published table, which holds no answers")
        _values(data, ())
        try:
            _file(kinds[0], kinds[1]).model_validate_json(text)
        except ValidationError as error:
            raise _wrong(error) from None
        for a, audit in enumerate(data["audits"]):
            _agree(audit, f"audits.{a}")
    except _Wrong as wrong:
        what = f"the key {wrong.key!r} is wrong: {wrong.what}" if wrong.key else wrong.what
        raise DataError(what, place=place, remedy=remedy) from None


class _Wrong(Exception):  # noqa: N818 (always caught here)
    def __init__(self, key: str, what: str) -> None:
        self.key, self.what = key, what
        super().__init__(what)


def _wrong(error: ValidationError) -> _Wrong:
    first = error.errors(include_url=False)[0]
    # a union names its members in the path, by types that no file has
    key = ".".join(
        str(part) for part in first["loc"] if not isinstance(part, str) or "[" not in part
    )
    kinds = {"missing": "it is missing", "extra_forbidden": "no audit has it"}
    return _Wrong(key, kinds.get(first["type"], first["msg"]))


def _values(value: Any, path: tuple[str, ...]) -> None:
    """Every number is one, every text can be written, and nothing is nested without end."""
    if isinstance(value, float) and not math.isfinite(value):
        raise _Wrong(".".join(path), "it is no finite number")
    if len(path) > _DEEPEST:
        raise _Wrong(".".join(path[:6]), f"it is nested more than {_DEEPEST} levels deep")
    if isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value):
        raise _Wrong(".".join(path), "it holds half a character (a lone surrogate)")
    if isinstance(value, dict):
        named = len(path) > 4 and path[4] == "detail" and path[-1] not in _BY_NAME
        for key, inner in value.items():
            here = (*path, key)
            if named and key in _NUMBERS and not (inner is None or type(inner) in (int, float)):
                raise _Wrong(".".join(here), "it is no number")
            if named and key in _TEXTS and not (inner is None or isinstance(inner, str)):
                raise _Wrong(".".join(here), "it is no text")
            _values(inner, here)
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            _values(inner, (*path, str(i)))


def _agree(audit: Mapping[str, Any], path: str) -> None:
    """What stands in one place of an audit fits to what stands in another."""
    for i, table in enumerate(audit.get("analyses", ())):
        if any(len(row) != len(table["columns"]) for row in table["rows"]):
            raise _Wrong(
                f"{path}.analyses.{i}.rows", "a row has not as many entries as there are columns"
            )
        if table["drawn"] and table["drawn"] not in table["columns"]:
            raise _Wrong(f"{path}.analyses.{i}.drawn", "it is none of the columns")
    if audit["reference"] not in audit["cells"]:
        raise _Wrong(f"{path}.reference", f"it is none of the administrations in {path}.cells")
    names = [respondent["name"] for respondent in audit["respondents"]]
    for i, name in enumerate(names):
        if name in names[:i]:
            raise _Wrong(f"{path}.respondents.{i}.name", f"the respondent {name!r} stands twice")
        for cell in audit["cells"]:
            for part in ("states", "cells"):
                if cell not in audit["respondents"][i][part]:
                    raise _Wrong(f"{path}.respondents.{i}.{part}.{cell}", "it is missing")
    for i, estimate in enumerate(audit["estimates"]):
        here = f"{path}.estimates.{i}"
        if estimate["intervals"].keys() != estimate["methods"].keys():
            raise _Wrong(f"{here}.methods", "they are not those of the intervals")
        if estimate["status"] == "ok" and estimate["value"] is None:
            raise _Wrong(f"{here}.value", "it is missing though the status is ok")
        if estimate["indicator"].startswith("items.") and isinstance(
            estimate["detail"].get("items"), int
        ):
            raise _Wrong(f"{here}.detail.items", "it is no list of items")
        for name, (low, high) in estimate["intervals"].items():
            if low is not None and high is not None and low > high:
                raise _Wrong(f"{here}.intervals.{name}", "its lower end lies above the upper one")


# ----------------------------------------------------------------------
# What an audit is: every estimate of a benchmark, as one value that reports are made from; to
# JSON and back.
# ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RespondentScores:
    """One respondent in one benchmark: its scores, and how its answers came out."""

    name: str
    scores: Mapping[str, float | None]
    """Metric -> score in the reference administration."""
    intervals: Mapping[str, list[float | None]]
    """Metric -> [low, high] over pictures (cluster jackknife)."""
    by_type: Mapping[str, float | None]
    """Hallucination type -> score by the first audited metric."""
    cells: Mapping[str, Mapping[str, float | None]]
    """Administration -> metric -> score."""
    states: Mapping[str, Mapping[str, int]]
    """Administration -> state -> number of answers."""
    yes_ratio: Mapping[str, float | None]
    words: Mapping[str, float | None]
    judged: Mapping[str, float | None] = field(default_factory=dict)
    """Administration under another judge -> share of answers that the judge found faithful."""
    identity: Mapping[str, Any] = field(default_factory=dict)
    printed: Mapping[str, str] = field(default_factory=dict)
    """Metric -> the score in the reference administration as the release prints it, where the
    release rounds.
    """


@dataclass(frozen=True)
class BenchmarkAudit:
    """All that was estimated of one benchmark."""

    benchmark: str
    title: str
    version: str
    task: str
    scoring: str
    parser: str
    summary: str
    reference: str
    items: int
    images: int
    metrics: Mapping[str, Mapping[str, str]]
    """Audited metric -> what it is and which direction is better."""
    forms: Mapping[str, Mapping[str, Any]]
    truth_yes: Mapping[str, float | None]
    """Form -> the share of questions whose right answer is yes; empty for other tasks."""
    cells: tuple[str, ...]
    respondents: tuple[RespondentScores, ...]
    estimates: tuple[Estimate, ...]
    coverage: Mapping[str, Mapping[str, Any]]
    findings: tuple[Mapping[str, Any], ...]
    flags: tuple[Mapping[str, Any], ...] = ()
    """What the audit warns of by itself: flag, metric, what it concerns, a sentence, and what to
    do.
    """
    families: Mapping[str, str] = field(default_factory=dict)
    """Respondent -> family, where some are relatives."""
    examples: tuple[Mapping[str, Any], ...] = ()
    """The items on which administrations, judges or labellers disagree most, with all that was
    said.
    """
    to_read: tuple[Mapping[str, Any], ...] = ()
    """The items that a person should read first, with picture, question, key, who fails them, and
    the chance of a fault.
    """
    pairs: tuple[Mapping[str, Any], ...] = ()
    """One item of each type as it is asked: picture, question, options and key."""
    release: Mapping[str, str] = field(default_factory=dict)
    """What the card says of the release: `citation`, `url`, `licence`."""
    left_out: Mapping[str, Any] = field(default_factory=dict)
    """The scores with each picture left out, for `hqm compare`; `left_out_scores.read` reads
    them.
    """

    components: Mapping[str, Any] = field(default_factory=dict)
    """Audited metric -> the variance components of all its administrations together, for `hqm
    design`; `whole_study.parts_in` reads them."""

    stopped: Mapping[str, Any] = field(default_factory=dict)
    """Where a rule stopped the asking (`hqm run --until`): rule, pictures and items used, and a row
    for each respondent.
    """
    tools: tuple[Mapping[str, Any], ...] = ()
    """Where the tools that recorded answers score them otherwise than HQM
    (`ScoreComparison.to_dict`).
    """

    analyses: tuple[Mapping[str, Any], ...] = ()
    """The benchmark's own further tables (`Analysis.to_dict`)."""

    @property
    def items_used(self) -> int:
        """The items that its numbers are computed on: all of them, unless a rule stopped the
        asking.
        """
        return int(self.stopped.get("items", self.items))

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
        for estimate in self.estimates:
            if estimate.indicator == indicator and metric in (None, estimate.metric):
                return estimate
        raise DesignError(
            f"{self.benchmark} has no estimate {indicator!r}", remedy="See its `estimates`."
        )

    def to_frame(self, what: Table = "estimates") -> pd.DataFrame:
        """The audit as a tidy pandas frame.

        Parameters
        ----------
        what
            `estimates`: one row an estimate and kind of interval (`inference`); one that has no
            interval stands once, with an empty `inference`. `group` is `all`, or the respondent
            where the estimate has a value for each. `scores`: one row a respondent, administration
            and metric. `states`: one row a respondent, administration and state, with the number of
            answers.

        Numbers are as they were computed, never rounded; one that does not exist is NaN, and
        `status` and `reason` say why.
        """
        if what not in TABLES:
            raise UsageError(
                f"there is no table {what!r} of an audit", remedy=f"It has {', '.join(TABLES)}."
            )
        rows = {
            "estimates": self._estimate_rows,
            "scores": self._score_rows,
            "states": self._state_rows,
        }[what]()
        return frame(rows, TABLES[what])

    def _estimate_rows(self) -> Iterator[dict[str, Any]]:
        for estimate in self.estimates:
            yield from estimate_rows(self.benchmark, estimate)

    def _score_rows(self) -> Iterator[dict[str, Any]]:
        for who in self.respondents:
            for name, scores in who.cells.items():
                # the reference administration has every metric, the others the audited ones
                for metric, score in (who.scores if name == self.reference else scores).items():
                    low, high = (
                        who.intervals.get(metric, (None, None))
                        if name == self.reference
                        else (None, None)
                    )
                    yield {
                        "benchmark": self.benchmark,
                        "respondent": who.name,
                        "family": self.families.get(who.name, ""),
                        **facets(name),
                        "metric": metric,
                        "score": score,
                        "low": low,
                        "high": high,
                    }

    def _state_rows(self) -> Iterator[dict[str, Any]]:
        for who in self.respondents:
            for name, states in who.states.items():
                for state, answers in states.items():
                    row = {"benchmark": self.benchmark, "respondent": who.name, **facets(name)}
                    yield {**row, "state": state, "answers": answers}

    def to_dict(self) -> dict[str, Any]:
        """The audit as `audit.json` has it; what is within is shared, so nobody may change it."""
        data = {f.name: getattr(self, f.name) for f in fields(self)}
        data["respondents"] = [
            {f.name: getattr(who, f.name) for f in fields(who)} for who in self.respondents
        ]
        data["estimates"] = [estimate.to_dict() for estimate in self.estimates]
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> BenchmarkAudit:
        rest = dict(data)
        rest["respondents"] = tuple(RespondentScores(**row) for row in data["respondents"])
        rest["estimates"] = tuple(Estimate.from_dict(row) for row in data["estimates"])
        rest["cells"], rest["findings"] = tuple(data["cells"]), tuple(data["findings"])
        for name in ("flags", "examples", "to_read", "pairs", "tools", "analyses"):
            rest[name] = tuple(data.get(name, ()))
        return cls(**rest)


@dataclass(frozen=True)
class Audit:
    """The audits of one command, with the record of how they were made."""

    audits: tuple[BenchmarkAudit, ...]
    command: str = ""
    record: Mapping[str, Any] = field(default_factory=dict)
    hqm_version: str = __version__

    def to_frame(self, what: Table = "estimates") -> pd.DataFrame:
        """All benchmarks of the audit as one tidy pandas frame; see `BenchmarkAudit.to_frame`."""
        import pandas as pd

        return pd.concat([audit.to_frame(what) for audit in self.audits], ignore_index=True)

    def to_json(self) -> str:
        """The text of `audit.json`."""
        data = {
            "hqm_version": self.hqm_version,
            "command": self.command,
            "record": dict(self.record),
            "audits": [audit.to_dict() for audit in self.audits],
        }
        return json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Audit:
        audits = tuple(BenchmarkAudit.from_dict(audit) for audit in data["audits"])
        return cls(audits, data["command"], data["record"], data["hqm_version"])

    @classmethod
    def load(cls, path: Path | str) -> Audit:
        """Read an `audit.json`.

        Raises
        ------
        DataError
            The file is no audit, or a key is wrong; the sentence has its path.
        """
        path = Path(path)
        data, text = read_json(path), read_text(path)
        check_audit(data, text, str(path), (BenchmarkAudit, RespondentScores))
        return cls.from_dict(data)
