"""What is wrong in a TOML file, in one sentence with the nearest key; and values as TOML writes
them. `records.parse_toml` reads it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from textwrap import shorten
from typing import get_args

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from hqm.errors import meant


def toml_value(value: object) -> str:
    """A text, number, truth or list as TOML writes it, which is as JSON does but for one character.

    >>> toml_value(["a", 1])
    '["a", 1]'
    """
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_text(data: Mapping[str, object]) -> str:
    """The text of a TOML file: single values first, then a section for each mapping among them."""
    lines = [
        f"{key} = {toml_value(value)}"
        for key, value in data.items()
        if not isinstance(value, Mapping)
    ]
    for name, section in data.items():
        if isinstance(section, Mapping):
            lines += [
                "",
                f"[{name}]",
                *(f"{key} = {toml_value(value)}" for key, value in section.items()),
            ]
    return "\n".join(lines) + "\n"


def fault_of(model: type[BaseModel], error: ErrorDetails) -> str:
    """What pydantic found wrong in a TOML file, as a sentence about one key, with the nearest key
    or value that would be right.
    """
    key_path = error["loc"]
    key = ".".join(map(str, key_path))
    if error["type"] == "missing":
        return f"the key {key!r} is missing"
    if error["type"] == "extra_forbidden":
        return f"unknown key {key!r}. {_nearest_key(model, key_path)}".strip(" .")
    message = str(error["msg"]).removeprefix("Value error, ")
    suggestion = ""
    if message.startswith("Input should be"):
        if error["type"] == "literal_error":
            suggestion = meant(str(error["input"]), re.findall("'([^']+)'", message))
        for json_word, toml_word in _TOML_WORDS.items():
            message = message.replace(json_word, toml_word)
        # the value that was written, where it is short enough to be recognised
        if isinstance(error["input"], (str, int, float)):
            message += f", not {shorten(toml_value(error['input']), 60, placeholder='...')}"
    return f"the key {key!r} is wrong: {message}. {suggestion}".strip(" .")


_TOML_WORDS = {
    "a valid string": "a text in quotes",
    "a valid number": "a number",
    "a valid integer": "a whole number",
    "a valid boolean": "true or false",
    "a valid array": "a list in [ ]",
    "an object": "a table",
}
"""What pydantic calls a value -> what TOML's documentation does."""


def first_fault(model: type[BaseModel], errors: Sequence[ErrorDetails]) -> str:
    """The sentence about one of several errors: an unknown key, which explains that another is
    missing, goes first.
    """
    return fault_of(model, min(errors, key=lambda error: error["type"] != "extra_forbidden"))


def _nearest_key(model: type[BaseModel], key_path: Sequence[object]) -> str:
    """The key of the same table that is nearest; else the table that has a key of this very
    name.
    """
    *tables, name = key_path
    table_model: type[BaseModel] | None = model
    for table in tables:
        if isinstance(table, str) and table_model is not None:
            table_model = _section(table_model, table)
    if table_model is None:
        return ""
    if suggestion := meant(str(name), table_model.model_fields):
        return suggestion
    for key in model.model_fields:
        section = _section(model, key)
        if section and name in section.model_fields:
            return f"Did you mean '{key}.{name}'?"
    return ""


def _section(model: type[BaseModel], key: str) -> type[BaseModel] | None:
    """The model of the table, or of each table of the list, behind a key."""
    if key not in model.model_fields:
        return None
    annotation = model.model_fields[key].annotation
    kinds = (annotation, *get_args(annotation))
    return next(
        (kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None
    )
