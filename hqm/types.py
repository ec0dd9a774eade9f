"""The frozen values that all other packages pass to one another: items, forms, cells, responses,
verdicts, estimates.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from types import MappingProxyType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NamedTuple,
    Protocol,
    Self,
    TypeAlias,
    TypeVar,
    get_args,
)

from pydantic import AfterValidator, Field

from hqm.errors import DesignError, HQMError, UsageError
from hqm.moved_names import RenamedAttributes
from hqm.signature import digest, digest_all
from hqm.text import REPLACED, check_address, check_length, check_name, has_words, storable

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_ROUNDING = 1e-9
"""By how much rounding may exceed the end of a range."""
Count = Annotated[int, Field(ge=0, strict=True)]
MAX_NUMBER = 1e100
"""No number of a file is larger: its square, which reports take, is a float."""
Score = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Number = Score | None
Width = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0)] | None
Share = Annotated[float, Field(strict=True, ge=-_ROUNDING, le=1 + _ROUNDING)] | None
Correlation = Annotated[float, Field(strict=True, ge=-1 - _ROUNDING, le=1 + _ROUNDING)] | None
"""Numbers of a file: strictly typed, within their range, null for one that does not exist."""

JsonValue: TypeAlias = (
    "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
)
JsonObject: TypeAlias = Mapping[str, JsonValue]
"""What a JSON file holds before its fields are checked; narrow it with `isinstance`."""

Task = Literal["yes_no", "choice", "caption", "vqa"]
FileRole = Literal["respondents", "runs"]
"""What several files of one model about the same items are."""
BatchSize = int | Literal["yes"]
"""Questions in a forward pass; `yes` asks servers by their Batch API."""
State = Literal["ok", "unparsed", "refused", "truncated", "cut", "empty", "error", "missing"]
Status = Literal["ok", "insufficient", "degenerate", "not_informative", "not_applicable", "failed"]

TASKS: tuple[Task, ...] = get_args(Task)
CLOSED_TASKS: frozenset[Task] = frozenset(("yes_no", "choice"))
"""The tasks whose answers are one of a few that the question names."""
STATES: tuple[State, ...] = get_args(State)
"""How an answer ended: read (`ok`), read although it was cut at the limit of tokens (`truncated`),
not readable (`unparsed`), withheld (`refused`; `cut` before any word; `empty`), not given
(`error`), never asked (`missing`). Only `ok` and `truncated` are answers: `hqm.scoring.rules`
counts the others."""

HALLUCINATION_TYPES = (
    "attribute",
    "action",
    "counting",
    "environment",
    "relation",
    "comparison",
    "ocr",
    "existence",
)
"""The eight types of the HQM paper (arXiv 2406.17115, section 3.2)."""

ORIGINAL = "original"
ANOTHER_ITEM = "another item"
"""The rule of an item of a form that asks another question than the original form does."""
PARALLEL = "parallel"
REWORDINGS = (PARALLEL, "parallel2", "parallel3")
"""The names of the wordings that rules make of a benchmark, beside its own."""
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""The letters that name the options of a multiple-choice question, in order."""
Row = tuple[str, State, str, int]
"""An answer as the store reads it: text, state, reason, number of the ask."""


_Value = TypeVar("_Value")
_Key = TypeVar("_Key", bound=Hashable)


def group_by(values: Iterable[_Value], key: Callable[[_Value], _Key]) -> dict[_Key, list[_Value]]:
    """Key -> the values that have it, both in the order in which they first occur.

    >>> group_by(["dog", "cat", "bird"], key=len)
    {3: ['dog', 'cat'], 4: ['bird']}
    """
    groups: dict[_Key, list[_Value]] = defaultdict(list)
    for value in values:
        groups[key(value)].append(value)
    return dict(groups)


PICTURES = "pictures"
VIDEO = "video"
"""The keys of `Item.meta` for what a question has in place of one picture."""


@dataclass(frozen=True, slots=True)
class Item:
    """One question of a benchmark.

    Parameters
    ----------
    id
        Unique in its form; all forms of a benchmark share it.
    prompt
        The question, without its options and without what the card writes round it.
    task
        `yes_no`, `choice`, `caption` or `vqa`.
    target
        What a right answer says: "yes" or "no", an option's letter, a short answer, or whatever the
        scorer needs.
    image
        The picture's path below the image folder; None for a question without one.
    type
        Its hallucination type, None when the benchmark does not label it.
    part
        The split or file it belongs to (POPE: `coco_random`).
    cluster
        What it shares with other items (the picture, the figure); resampling keeps clusters whole.
    options
        Multiple choice: the options in the order asked; the target is the letter of the right one.
    rule
        The rule that rewrote it, in a parallel form.
    meta
        What the benchmark's own scorer needs beyond that.

    Raises
    ------
    DataError
        Its id, type or part is no name (`check_name`), or its question is too long.
    """

    id: str
    prompt: str
    task: Task
    target: Any = None
    image: str | None = None
    type: str | None = None
    part: str = ""
    cluster: str = ""
    options: tuple[str, ...] = ()
    rule: str = ""
    meta: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _make_storable(self)
        check_name(self.id, "item's id")
        if self.type:
            check_name(self.type, "item's type")
        if self.part:
            check_name(self.part, "item's part")
        if self.image:
            check_address(self.image)
        for text in (self.prompt, *self.options):
            check_length(text, f"text of the item {self.id!r}")

    @property
    def pictures(self) -> tuple[str, ...]:
        """The names of its pictures: none, that of `image`, or several of a log's question."""
        return tuple(self.meta.get(PICTURES) or filter(None, (self.image,)))

    @property
    def material(self) -> str:
        """What the question is about, by name: its pictures or its video."""
        return ", ".join(self.pictures) or str(self.meta.get(VIDEO) or "")

    def to_dict(self) -> dict[str, Any]:
        """Return the item as JSON data, without its empty fields."""
        data: dict[str, Any] = {}
        for name in _field_names(self):
            value = getattr(self, name)
            # Most fields are texts, whose truth is cheaper than a comparison; a target of 0 is none
            # of the empty values and stays.
            if not value and (type(value) is str or value in (None, "", (), {})):
                continue
            if isinstance(value, tuple):
                value = list(value)
            elif name == "meta":
                value = dict(value)
            data[name] = value
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Item:
        return cls(**{**data, "options": tuple(data.get("options", ()))})


def _field_names(value: Item | Judgement) -> tuple[str, ...]:
    """The names of a value's fields; `dataclasses.fields` is too slow for a million values."""
    names: tuple[str, ...] = type(value).__dict__["__slots__"]
    return names


def _make_storable(value: Item | Judgement) -> None:
    """Replace the characters in the texts of a new value that no store can hold."""
    for name in _field_names(value):
        text = getattr(value, name)
        if not text or (isinstance(text, str) and text.isascii() and "\0" not in text):
            continue
        clean = text
        if name == "options":
            clean = tuple(map(storable, text))
        elif isinstance(text, str):
            clean = storable(text)
        if clean != text:
            object.__setattr__(value, name, clean)


def types_in(items: Iterable[Item], card_types: Iterable[str] = ()) -> tuple[str, ...]:
    """The types by which items are grouped: the eight of hallucination, or, where an item or the
    card has another one, those of the benchmark.

    >>> types_in([Item("1", "?", "vqa", type="algebra")], ["geometry"])
    ('geometry', 'algebra')
    """
    types = tuple(dict.fromkeys([*card_types, *(item.type for item in items if item.type)]))
    if set(types) <= set(HALLUCINATION_TYPES):
        return HALLUCINATION_TYPES
    return types


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An item that a form leaves out, and why."""

    id: str
    prompt: str
    reason: str


@dataclass(frozen=True)
class Form(RenamedAttributes):
    """One wording of all items; the forms of a benchmark share item ids.

    Parameters
    ----------
    name
        `original`, `parallel`, `parallel2` ... or a name of the benchmark's own.
    items
        In the order in which they are asked.
    left_out
        Items that could not be worded otherwise, with the reason.
    """

    name: str
    items: tuple[Item, ...]
    left_out: tuple[LeftOut, ...] = ()

    @cached_property
    def by_id(self) -> dict[str, Item]:
        return {item.id: item for item in self.items}

    @cached_property
    def digest(self) -> str:
        """The content hash of the form: equal hashes mean equal questions, targets and types."""
        return digest_all(digest(item.to_dict()) for item in self.items)

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """The names of its parts, in their order; none where no item has one."""
        return tuple(dict.fromkeys(item.part for item in self.items if item.part))

    @cached_property
    def types(self) -> tuple[str, ...]:
        """The types of its items, in their order; none where no item is labelled."""
        return tuple(dict.fromkeys(item.type for item in self.items if item.type))

    @cached_property
    def tasks(self) -> frozenset[Task]:
        """The tasks of its items, of which a benchmark may have several."""
        return frozenset(item.task for item in self.items)

    @cached_property
    def images(self) -> tuple[str, ...]:
        """The pictures that its items name, each once, in their order."""
        return tuple(dict.fromkeys(item.image for item in self.items if item.image))

    def select_part(self, *parts: str) -> Form:
        """Return the items of one part, or of several."""
        return replace(self, items=tuple(item for item in self.items if item.part in parts))

    def restrict_to(self, ids: Container[str]) -> Form:
        """Return the items with these ids, in the form's order."""
        return replace(
            self,
            items=tuple(item for item in self.items if item.id in ids),
            left_out=tuple(omission for omission in self.left_out if omission.id in ids),
        )

    def reworded(self, name: str, wording: Callable[[Item], str], rule: str) -> Form:
        """Return a form of the same items, each with the prompt that `wording` gives it."""
        items = (replace(item, prompt=wording(item), rule=rule) for item in self.items)
        return Form(name, tuple(items))

    def __len__(self) -> int:
        return len(self.items)


class Named(Protocol):
    """A benchmark, respondent, metric or whatever else has a name."""

    @property
    def name(self) -> str: ...


def cluster_of(item: Item) -> str:
    """The cluster that is sampled as one: the picture, or another cluster of the item."""
    return item.cluster or item.id


def names_of(values: Iterable[Named]) -> list[str]:
    """The names of several things, in their order."""
    return [value.name for value in values]


def is_scale(text: str) -> bool:
    """Whether a text is a percentage to which pictures are made smaller, as cells and stores write
    it.

    >>> is_scale("50"), is_scale("100"), is_scale("050")
    (True, False, False)
    """
    return text.isascii() and text.isdecimal() and len(text) < 3 and text[:1] != "0"


@dataclass(frozen=True, slots=True)
class Cell:
    """One administration, named by its facets; prints as text and parses back equal.

    Parameters
    ----------
    form, run
        The form that was asked, and in which run.
    judge
        Who scored the answers; `rule` for the benchmark's own rule.
    sight
        `blind` where the question was put without its picture.
    until
        The rule that ended it before every item was asked, and how many pictures, drawn at random,
        are used.
    resolution
        The percentage of width and height to which pictures were scaled; empty where they were
        shown as they are.

    Examples
    --------
    >>> Cell(form="parallel", run=1)
    Cell(form='parallel', run=1, judge='rule', sight='', until='', resolution='')
    >>> str(Cell(form="parallel", run=1))
    'form=parallel|run=1|judge=rule'
    >>> Cell.parse("form=parallel|run=1|judge=rule") == Cell(form="parallel", run=1)
    True
    """

    form: str = ORIGINAL
    run: int = 0
    judge: str = "rule"
    sight: str = ""
    until: str = ""
    resolution: str = ""

    def __str__(self) -> str:
        facets = [(facet.name, getattr(self, facet.name)) for facet in fields(self)]
        return "|".join(f"{name}={value}" for name, value in facets if value != "")

    @classmethod
    def parse(cls, text: str) -> Cell:
        """Read a cell from its text."""
        names = sorted(facet.name for facet in fields(cls))
        values: dict[str, str] = {}
        for facet in filter(None, text.split("|")):
            name, equals, value = facet.partition("=")
            if not equals or name not in names:
                remedy = (
                    f"Write facets as name=value joined by '|'; the names are {', '.join(names)}."
                )
                raise UsageError(f"{facet!r} is no facet of an administration", remedy=remedy)
            values[name] = value
        run = values.pop("run", "0")
        if not run.isdecimal():
            raise UsageError(f"run {run!r} is no whole number", remedy="Write run=0, run=1, ...")
        resolution = values.get("resolution")
        if resolution and not is_scale(resolution):
            message = f"the resolution {resolution!r:.40} is no percentage of the pictures' size"
            raise UsageError(message, remedy="Write resolution=1 to resolution=99.")
        return cls(run=int(run), **values)

    def differing(self, cell: Cell) -> tuple[str, ...]:
        """Return the facets in which two cells differ."""
        names = [facet.name for facet in fields(self)]
        return tuple(name for name in names if getattr(self, name) != getattr(cell, name))

    def facet(self, cell: Cell) -> str:
        """Return the one facet in which two cells differ.

        >>> Cell().facet(Cell(run=1))
        'run'

        Raises
        ------
        DesignError
            They differ in no facet, or in more than one.
        """
        facets = self.differing(cell)
        if len(facets) != 1:
            if facets:
                difference = f"{len(facets)} facets ({', '.join(facets)})"
            else:
                difference = "no facet"
            raise DesignError(
                f"{self} and {cell} differ in {difference}",
                remedy="Compare administrations that differ in exactly one facet.",
            )
        return facets[0]


def _check_administration(text: str) -> str:
    """The text itself, if it is that of a cell."""
    try:
        Cell.parse(text)
    except HQMError as error:
        raise ValueError(error.message) from None
    return text


Administration = Annotated[str, AfterValidator(_check_administration)]
"""A `Cell` as text."""


class _Fields(NamedTuple):
    """The fields of a response."""

    text: str
    state: State = "ok"
    reason: str = ""
    detail: Mapping[str, Any] = MappingProxyType({})
    """Token counts (`tokens_in`, `tokens_out`), seconds, probabilities of the first token, ..."""


class Response(_Fields):
    r"""An answer of a respondent: its text, how it ended and why, and what was measured.

    A named tuple, because a store may hold millions. Characters and numbers that no store can hold
    are replaced when a response is made, and `detail["replaced"]` says so.

    Parameters
    ----------
    text
        The answer.
    state, reason
        How it ended, and why where that is not `ok`.
    detail
        What was measured: tokens, seconds, probabilities of the first token.

    Examples
    --------
    >>> Response("Yes \ud800")
    Response(text='Yes \ufffd', state='ok', reason='', detail={'replaced': 'what cannot be stored'})
    >>> Response("", "truncated").outcome, Response("Yes, and", "truncated").outcome
    ('cut', 'truncated')
    """

    __slots__ = ()

    def __new__(
        cls,
        text: str,
        state: State = "ok",
        reason: str = "",
        detail: Mapping[str, object] = MappingProxyType({}),
    ) -> Self:
        storable_text = storable(text)
        storable_reason = storable(reason)
        storable_detail = detail
        if detail:
            # a detail that was read from a file may be no mapping
            storable_detail = storable(
                detail if isinstance(detail, Mapping) else {"detail": detail}
            )
        # `storable` returns the value itself where nothing was replaced
        if (
            storable_text is not text
            or storable_reason is not reason
            or storable_detail is not detail
        ):
            storable_detail = {**storable_detail, "replaced": REPLACED}
        return super().__new__(cls, storable_text, state, storable_reason, storable_detail)

    @classmethod
    def _make(cls, iterable: Iterable[Any]) -> Self:  # type: ignore[override]
        return cls(*iterable)

    @property
    def outcome(self) -> State:
        """How the answer ended: its state, but `cut` or `empty` where it holds no word."""
        if self.state in ("ok", "truncated") and not has_words(self.text):
            if self.state == "truncated":
                return "cut"
            return "empty"
        return self.state


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict of a judge on one response: the raw reply, and the label read from it.

    Parameters
    ----------
    judge, item, respondent
        Whose verdict on which answer of whom.
    label
        From 1 (faithful) to 0 (hallucinated); None where the judge did not decide.
    reply
        The words of the judge.
    reason
        Why there is no label.
    """

    judge: str
    item: str
    respondent: str
    label: float | None
    reply: str = ""
    reason: str = ""

    def __post_init__(self) -> None:
        _make_storable(self)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A scored answer: its value on the item, what the total sums, and how the answer ended.

    `value` and `tally` are None and empty for an answer that was not scored; it is then counted
    under its state.

    Parameters
    ----------
    value
        The score; None for an answer that is not scored, which counts under its state.
    tally
        What the total sums; empty for an answer that is not scored.
    state
        How the answer ended.
    read
        The answer as it was read ("yes", "B", ...).
    reason
        Why it is not scored.
    """

    value: float | None
    tally: Mapping[str, float] = field(default_factory=dict)
    state: State = "ok"
    read: str = ""
    """The answer as it was read ("yes", "B", ...)."""
    reason: str = ""

    @property
    def scored(self) -> bool:
        return self.value is not None

    @classmethod
    def unscored(cls, state: State, reason: str = "") -> Verdict:
        """Return the verdict on an answer that the mean leaves out, with its reason."""
        return cls(None, {}, state, "", reason)


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval, the population it generalises to and its method.

    An infinite `high` is one-sided: the value is at least `low`, and no upper bound is claimed.
    JSON has null in its place.

    Parameters
    ----------
    low, high
        Its ends.
    inference
        `fixed_models` (would this leaderboard repeat?), `model_population` (another set of models?)
        or `items`.
    method
        How it was computed.
    level
        The confidence level.
    """

    low: float
    high: float
    inference: str
    method: str
    level: float = 0.95

    @property
    def one_sided(self) -> bool:
        """Whether the interval has a lower bound only."""
        return self.high == math.inf


@dataclass(frozen=True, slots=True)
class Estimate:
    """A named number with its intervals, its sample and its signature.

    `value` is None whenever `status` is not `ok` (or `not_informative`, where a number exists but
    says nothing); the reason is then a sentence. `n_respondents` and `n_items` are what the number
    was computed from, and `unscored` counts the answers that the metric could not score.

    Parameters
    ----------
    indicator, metric
        The statistic with its family (`test_retest.pearson`), and the metric that it is of.
    facet
        What differs between the administrations: `run`, `form`, `judge` ...
    first, other
        The administrations.
    value
        None where `status` is neither `ok` nor `not_informative`.
    status, reason
        Why there is no value, or why it says nothing, as a sentence.
    intervals
        One for each kind of inference.
    n_respondents, n_items
        What the number was computed from.
    unscored
        How many answers the metric could not score.
    flags
        Names of warnings.
    signature
        What the number depends on, as text that is parsed back equal.
    detail
        Further values of this statistic.
    """

    indicator: str
    metric: str
    facet: str
    first: Administration
    other: str
    value: Number
    status: Status = "ok"
    reason: str = ""
    intervals: tuple[Interval, ...] = ()
    n_respondents: Count = 0
    n_items: Count = 0
    unscored: Count = 0
    flags: tuple[str, ...] = ()
    signature: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)

    def interval(self, inference: str) -> Interval | None:
        """Return the interval of one kind of inference, or None."""
        for interval in self.intervals:
            if interval.inference == inference:
                return interval
        return None

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as `audit.json` has it; a number that does not exist is null."""
        bounds: dict[str, list[float | None]] = {}
        methods: dict[str, str] = {}
        for interval in self.intervals:
            bounds[interval.inference] = [finite(interval.low), finite(interval.high)]
            methods[interval.inference] = f"{interval.method}, {interval.level:g}"
        return {
            **field_values(self),
            "value": finite(self.value),
            "intervals": bounds,
            "flags": list(self.flags),
            "detail": dict(self.detail),
            "methods": methods,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Estimate:
        values = dict(data)
        for name in ("intervals", "methods", "flags"):
            values.pop(name, None)
        intervals = []
        for inference, (low, high) in data["intervals"].items():
            method, _, level = data["methods"][inference].rpartition(", ")
            low = math.nan if low is None else low
            high = math.inf if high is None else high
            intervals.append(Interval(low, high, inference, method, float(level)))
        return cls(**values, intervals=tuple(intervals), flags=tuple(data["flags"]))


def field_values(value: DataclassInstance) -> dict[str, Any]:
    """The fields of a dataclass by name, as they are; `dataclasses.asdict` would copy them deep."""
    return {column.name: getattr(value, column.name) for column in fields(value)}


def finite(value: float | None) -> float | None:
    """The number, or None for a number that JSON does not have (NaN, infinities)."""
    if value is None or not math.isfinite(value):
        return None
    return float(value)


def json_data(value: object) -> Any:
    """Nested data for JSON: lists for tuples, keys as text, None for NaN and infinities.

    >>> json_data({1: (0.5, float("nan"))})
    {'1': [0.5, None]}
    """
    if isinstance(value, Mapping):
        return {str(key): json_data(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_data(member) for member in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens that a respondent's stored answers used, repeated attempts included."""

    answers: int
    tokens_in: int
    tokens_out: int
    tokens_cached: int
    models: str
    """Up to four names that a server gave the model, where they are not the one it was asked by."""
