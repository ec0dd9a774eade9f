"""A row of another tool's log: the answer, what it says of its question, and the score that the
tool gave.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from hqm.types import Response

_TRUTHS = {
    "true": 1.0,
    "false": 0.0,
    "correct": 1.0,
    "incorrect": 0.0,
    "c": 1.0,
    "i": 0.0,
    "p": 0.5,
    "n": 0.0,
    "yes": 1.0,
    "no": 0.0,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRow:
    """One answer in a log; whatever the log does not say is empty."""

    place: str
    respondent: str
    answer: Response
    ids: tuple[str, ...] = ()
    """Names of the question, the most telling first."""
    image: str = ""
    question: str = ""
    parts: tuple[str, ...] = ()
    """The parts of the benchmark that the question belongs to; a tool may keep one row for several
    parts.
    """
    position: int | None = None
    """The row number of the question in the data that the tool read, from 0."""
    form: str = ""
    run: int = 0
    score: float | None = None
    """What the tool made of the answer, 1 for right."""
    read: str = ""
    """What the tool read out of the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """One file, with the tool that wrote it and how the answers were drawn."""

    path: str
    tool: str
    rows: tuple[LogRow, ...]
    notes: tuple[str, ...] = ()
    """What a reader should know of it: a run that crashed, rows without an answer."""
    settings: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


def number(value: Any) -> float | None:
    """A tool's score as a number: true, "C" and "1.0" are 1; None for what is no score.

    >>> number("I"), number(True), number("nan"), number({"a": 1})
    (0.0, 1.0, None, None)
    """
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, str):
        known = _TRUTHS.get(value.strip().lower())
        if known is not None:
            return known
        try:
            value = float(value)
        except ValueError:
            return None
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None


def texts(value: Any) -> list[str]:
    """The answers in a field that holds one, or a list of repeats: lists of one are opened, a null
    is an empty answer.

    >>> texts([["Yes"]]), texts(["Yes", "No"]), texts(None)
    (['Yes'], ['Yes', 'No'], [''])
    """
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, list):
        return [text for member in value for text in texts(member)] or [""]
    return ["" if value is None else str(value)]


def first_text(record: Mapping[str, Any], names: Iterable[str]) -> str:
    """The first of these fields that holds a text or a whole number, as a text; empty where none
    does.

    >>> first_text({"image": "", "image_id": 7}, ("image", "image_id"))
    '7'
    """
    values = (record[name] for name in names if isinstance(record.get(name), (str, int)))
    return next((str(value) for value in values if str(value).strip()), "")
