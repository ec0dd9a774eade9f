"""The frozen values that all other packages pass to one another: items, forms, cells, responses,
verdicts, estimates.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple, Self, get_args

from pydantic import AfterValidator, Field

from hqm.errors import DesignError, HQMError, UsageError
from hqm.signature import digest, digest_all
from hqm.text import REPLACED, has_words, storable

_HAIR = 1e-9
"""By how much rounding may pass the end of a range."""
Count = Annotated[int, Field(ge=0, strict=True)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)] | None
Width = Annotated[float, Field(strict=True, allow_inf_nan=False, ge=0)] | None
Share = Annotated[float, Field(strict=True, ge=-_HAIR, le=1 + _HAIR)] | None
Correlation = Annotated[float, Field(strict=True, ge=-1 - _HAIR, le=1 + _HAIR)] | None
"""Numbers as a file has them: exact, in the range that they can have, and null for a number that
does not exist.
"""

Task = Literal["yes_no", "choice", "caption", "vqa"]
State = Literal["ok", "unparsed", "refused", "truncated", "cut", "empty", "error", "missing"]
Status = Literal["ok", "insufficient", "degenerate", "not_informative", "not_applicable", "failed"]

TASKS: tuple[Task, ...] = get_args(Task)
STATES: tuple[State, ...] = get_args(State)
"""How an answer came out: read (`ok`), read although it was cut at the limit of tokens
(`truncated`), not readable (`unparsed`), withheld (`refused`; `cut` before any word; `empty`), not
given (`error`), never asked (`missing`). Only `ok` and `truncated` are answers:
`hqm.scoring.rules` counts the rest."""

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

ORIGINAL, PARALLEL = "original", "parallel"
REWORDINGS = (PARALLEL, "parallel2", "parallel3")
"""The names of the wordings that rules make of a benchmark, beside its own."""
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""The letters that name the options of a multiple-choice question, in order."""
Row = tuple[str, State, str, int]
"""An answer as the store reads it: text, state, reason, number of the ask."""


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

    def to_dict(self) -> dict[str, Any]:
        """The item as JSON data, empty fields left out."""
        data: dict[str, Any] = {}
        for name in _names(self):
            value = getattr(self, name)
            # most are texts
            if value if type(value) is str else value not in (None, "", (), {}):
                data[name] = (
                    list(value)
                    if isinstance(value, tuple)
                    else dict(value)
                    if name == "meta"
                    else value
                )
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Item:
        return cls(**{**data, "options": tuple(data.get("options", ()))})


def _names(value: Item | Judgement) -> tuple[str, ...]:
    """The names of a value's fields, which a million values ask for."""
    names: tuple[str, ...] = type(value).__dict__["__slots__"]
    return names


def _make_storable(value: Item | Judgement) -> None:
    """Replace, while a value is made, the characters in its texts that no store can hold."""
    for name in _names(value):
        text = getattr(value, name)
        if not text or (isinstance(text, str) and text.isascii() and "\0" not in text):
            continue
        clean = (
            tuple(map(storable, text))
            if name == "options"
            else storable(text)
            if isinstance(text, str)
            else text
        )
        if clean != text:
            object.__setattr__(value, name, clean)


def types_in(items: Iterable[Item], claimed: Iterable[str] = ()) -> tuple[str, ...]:
    """The types by which items are looked at: the eight of hallucination, or, where an item or the
    card has another one, the benchmark's own.

    >>> types_in([Item("1", "?", "vqa", type="algebra")], ["geometry"])
    ('geometry', 'algebra')
    """
    own = tuple(dict.fromkeys([*claimed, *(item.type for item in items if item.type)]))
    return HALLUCINATION_TYPES if set(own) <= set(HALLUCINATION_TYPES) else own


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An item that a form could not take over, and why."""

    id: str
    prompt: str
    reason: str


@dataclass(frozen=True)
class Form:
    """One wording of all items; the forms of a benchmark share item ids."""

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

    def only(self, part: str) -> Form:
        """The items of one part."""
        return replace(self, items=tuple(item for item in self.items if item.part == part))

    def __len__(self) -> int:
        return len(self.items)


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
    """`blind` when the question was put without its picture."""
    until: str = ""
    """The rule that stopped it before every item was asked, and how many pictures, drawn at random,
    are used.
    """
    resolution: str = ""
    """The percentage of their width and height to which the pictures were scaled; empty where they
    were shown as they are.
    """

    def __str__(self) -> str:
        named = ((f.name, getattr(self, f.name)) for f in fields(self))
        return "|".join(f"{name}={value}" for name, value in named if value != "")

    @classmethod
    def parse(cls, text: str) -> Cell:
        """Read a cell from its text."""
        known = {f.name for f in fields(cls)}
        given: dict[str, Any] = {}
        for part in filter(None, text.split("|")):
            name, equals, value = part.partition("=")
            if not equals or name not in known:
                remedy = (
                    "Write facets as name=value joined by '|'; the names are"
                    f" {', '.join(sorted(known))}."
                )
                raise UsageError(f"{part!r} is no facet of an administration", remedy=remedy)
            given[name] = value
        if "run" in given:
            if not given["run"].isdecimal():
                raise UsageError(
                    f"run {given['run']!r} is no whole number", remedy="Write run=0, run=1, ..."
                )
            given["run"] = int(given["run"])
        if given.get("resolution") and not is_scale(given["resolution"]):
            what = (
                f"the resolution {given['resolution']!r:.40} is no percentage of the pictures' size"
            )
            raise UsageError(what, remedy="Write resolution=1 to resolution=99.")
        return cls(**given)

    def differing(self, other: Cell) -> tuple[str, ...]:
        """The facets in which two cells differ."""
        return tuple(
            f.name for f in fields(self) if getattr(self, f.name) != getattr(other, f.name)
        )

    def facet(self, other: Cell) -> str:
        """The one facet in which two cells differ.

        >>> Cell().facet(Cell(run=1))
        'run'

        Raises
        ------
        DesignError
            They differ in no facet, or in more than one.
        """
        differing = self.differing(other)
        if len(differing) != 1:
            many = (
                "no facet" if not differing else f"{len(differing)} facets ({', '.join(differing)})"
            )
            raise DesignError(
                f"{self} and {other} differ in {many}",
                remedy="Compare administrations that differ in exactly one facet.",
            )
        return differing[0]


def _administration(text: str) -> str:
    try:
        Cell.parse(text)
    except HQMError as error:
        raise ValueError(error.message) from None
    return text


Administration = Annotated[str, AfterValidator(_administration)]
"""A `Cell` as text."""


class _Fields(NamedTuple):
    """The fields of a response."""

    text: str
    state: State = "ok"
    reason: str = ""
    detail: Mapping[str, Any] = MappingProxyType({})
    """Token counts (`tokens_in`, `tokens_out`), seconds, probabilities of the first token, ..."""


class Response(_Fields):
    """What a respondent answered: the text, how the answer ended and why, and what was measured
    meanwhile.

    A named tuple, because a store may hold millions. What no store and no file could hold is
    replaced when a response is made, and `detail["replaced"]` says so.

    >>> Response("Yes \\ud800")
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
        detail: Mapping[str, Any] = MappingProxyType({}),
    ) -> Self:
        clean, why = storable(text), storable(reason)
        kept = (
            storable(detail if isinstance(detail, Mapping) else {"detail": detail})
            if detail
            else detail
        )
        if clean is not text or why is not reason or kept is not detail:
            kept = {**kept, "replaced": REPLACED}
        return super().__new__(cls, clean, state, why, kept)

    @classmethod
    def _make(cls, iterable: Iterable[Any]) -> Self:  # type: ignore[override]
        return cls(*iterable)

    @property
    def outcome(self) -> State:
        """How it came out: its state, but `cut` or `empty` where it holds no word of an answer."""
        if self.state in ("ok", "truncated") and not has_words(self.text):
            return "cut" if self.state == "truncated" else "empty"
        return self.state


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a judge said of one response: the raw reply, and the label that was read from it."""

    judge: str
    item: str
    respondent: str
    label: float | None
    """From 1 (faithful) to 0 (hallucinated); None when the judge did not decide."""
    reply: str = ""
    reason: str = ""

    def __post_init__(self) -> None:
        _make_storable(self)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A scored answer: its value on the item, what the total sums, and how it came out.

    `value` and `tally` are None and empty for an answer that was not scored; it is then counted
    under its state.
    """

    value: float | None
    tally: Mapping[str, float] = field(default_factory=dict)
    state: State = "ok"
    read: str = ""
    """What was read out of the answer ("yes", "B", ...)."""
    reason: str = ""

    @property
    def scored(self) -> bool:
        return self.value is not None

    @classmethod
    def unscored(cls, state: State, reason: str = "") -> Verdict:
        """An answer kept out of the mean, with its reason."""
        return cls(None, {}, state, "", reason)


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval that says what it generalises over and how it was made.

    An infinite `high` is one-sided: the value is at least `low`, and nothing is said of how much
    higher it may be. JSON has null in its place.
    """

    low: float
    high: float
    inference: str
    """`fixed_models` (would this leaderboard repeat?), `model_population` (another set of models?)
    or `items`.
    """
    method: str
    level: float = 0.95

    @property
    def one_sided(self) -> bool:
        """Whether it is a lower end alone."""
        return self.high == math.inf


@dataclass(frozen=True, slots=True)
class Estimate:
    """A named number with its intervals, its sample and its signature.

    `value` is None whenever `status` is not `ok` (or `not_informative`, where a number exists but
    says nothing); the reason is then a sentence. `n_respondents` and `n_items` are what the number
    was computed from, and `unscored` counts the answers that the metric could not score.
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
        return next((i for i in self.intervals if i.inference == inference), None)

    def to_dict(self) -> dict[str, Any]:
        """The estimate as `audit.json` has it; a number that does not exist is null."""
        spans = self.intervals
        return {
            **{f.name: getattr(self, f.name) for f in fields(self)},
            "value": finite(self.value),
            "intervals": {i.inference: [finite(i.low), finite(i.high)] for i in spans},
            "flags": list(self.flags),
            "detail": dict(self.detail),
            "methods": {i.inference: f"{i.method}, {i.level:g}" for i in spans},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Estimate:
        rest = {k: v for k, v in data.items() if k not in {"intervals", "methods", "flags"}}
        intervals = []
        for inference, (low, high) in data["intervals"].items():
            method, _, level = data["methods"][inference].rpartition(", ")
            low = math.nan if low is None else low
            high = math.inf if high is None else high
            intervals.append(Interval(low, high, inference, method, float(level)))
        return cls(**rest, intervals=tuple(intervals), flags=tuple(data["flags"]))


def finite(value: float | None) -> float | None:
    """The number, or None for a number that JSON does not have (NaN, infinities)."""
    return None if value is None or not math.isfinite(value) else float(value)


def json_data(value: Any) -> Any:
    """Nested data as JSON has it: lists for tuples, keys as text, None for numbers that JSON does
    not have.

    >>> json_data({1: (0.5, float("nan"))})
    {'1': [0.5, None]}
    """
    if isinstance(value, Mapping):
        return {str(key): json_data(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_data(member) for member in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens that a respondent's stored answers used, repeated attempts included."""

    answers: int
    tokens_in: int
    tokens_out: int
    tokens_cached: int
    models: str
    """Up to four names that a server gave the model, where they are not the one it was asked by."""
