"""Text as stores and files can hold it, and whether it says anything."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from hqm.errors import DataError

REPLACED = "what cannot be stored"
"""The note that a response carries in its detail when something in it was replaced."""
SHORT = 200
"""Characters of an answer that is kept and scored once, however many respondents and runs give
it.
"""
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_DEEPEST, _LONGEST = 50, 1000
_INVISIBLE = re.compile(
    r"[\s\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff\ufffd\x00-\x1f\x7f-\x9f\xad]+"
)
KEY = re.compile(r"\b(?:(?:sk|pk|rk|hf|gsk|xai|tok|token|key)[-_]|AIza)[A-Za-z0-9_-]{16,}")
"""How the keys of servers begin."""
_THINKING = re.compile(r"\s*<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)


def storable(value: Any, depth: int = 0) -> Any:
    """The value with what no store can hold replaced; the value itself where there is nothing to
    replace.

    Half a surrogate pair and NUL become U+FFFD, a number that JSON does not have becomes None, and
    what is no JSON at all, or nested too deeply, becomes its text.

    >>> storable({"token": "Yes \\ud800", "logprob": float("-inf")})
    {'token': 'Yes \ufffd', 'logprob': None}
    """
    kind = type(value)
    if kind is float:  # the commonest first: every answer's detail comes through here
        return value if math.isfinite(value) else None
    if kind is str or isinstance(value, str):
        if value.isascii() and "\0" not in value:
            return value
        return _UNSTORABLE.sub("\ufffd", value) if _UNSTORABLE.search(value) else value
    if value is None or kind is bool:
        return value
    if isinstance(value, int):
        return value if value.bit_length() < 64 else None
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if depth < _DEEPEST and (kind is dict or isinstance(value, Mapping)):
        for k, v in value.items():
            if not isinstance(k, str) or storable(k) is not k or storable(v, depth + 1) is not v:
                break
        else:
            return value
        return {
            storable(k if isinstance(k, str) else str(k), depth + 1): storable(v, depth + 1)
            for k, v in value.items()
        }
    if depth < _DEEPEST and isinstance(value, (list, tuple)):
        parts = [storable(part, depth + 1) for part in value]
        return value if all(a is b for a, b in zip(parts, value, strict=True)) else parts
    try:
        return storable(str(value)[:_LONGEST])
    except (
        RecursionError,
        ValueError,
    ):  # nested too deeply even for its text, or a number with too many digits
        return type(value).__name__


@lru_cache(maxsize=4096)
def has_words(text: str) -> bool:
    """Whether a text says anything: more than white space, invisible characters and reasoning that
    precedes an answer.

    >>> has_words("Yes"), has_words(" \\u200b\\n"), has_words("<think>Let me see")
    (True, False, False)
    >>> has_words("<think>Hm</think>No")
    True
    """
    if "<think" in text[:40].lower():
        text = _THINKING.sub("", text, count=1) if _THINKING.match(text) else text
    return _INVISIBLE.fullmatch(text) is None and text != ""


def plain_name(name: str) -> str:
    """A name as it looks: composed characters, none that is not seen, single spaces.

    >>> plain_name("m\\u200ba "), plain_name("cafe\\u0301") == "caf\\u00e9"
    ('ma', True)
    """
    if not name.isascii():
        composed = unicodedata.normalize("NFC", name)
        name = "".join(c for c in composed if unicodedata.category(c) != "Cf")
    return " ".join(name.split())


def unique_columns(names: Sequence[str], place: str) -> None:
    """Refuse a heading in which a name stands twice.

    Raises
    ------
    DataError
        Two columns have one name.
    """
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        remedy = "Rename or remove one of the two."
        raise DataError(f"the column {twice!r} stands twice", location=place, remedy=remedy)


def annotation(level: str, title: str, text: str, file: str = "") -> str:
    """Return the GitHub workflow command that shows a note on a run's page, at a file if named.

    >>> annotation("warning", "mine: D101", "two, of 3%", "items.jsonl")
    '::warning file=items.jsonl,title=mine%3A D101::two, of 3%25'
    """
    named = {"file": file, "title": title}
    properties = ",".join(
        f"{name}={_escaped(value).replace(':', '%3A').replace(',', '%2C')}"
        for name, value in named.items()
        if value
    )
    return f"::{level} {properties}::{_escaped(text)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
