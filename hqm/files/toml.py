"""TOML as people write it: whatever the parser stumbles over is one sentence, and a misspelt key
has a nearest one.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel

from hqm.errors import DataError, meant


def parse_toml(text: str) -> dict[str, Any]:
    """The data of a TOML text.

    Raises
    ------
    DataError
        It is no TOML, holds a number with more digits than Python reads, or is nested too deeply;
        it has no place yet.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"it is no TOML: {error}") from None
    except RecursionError:
        raise DataError(
            "its lists or tables are nested too deeply", remedy="Write it flatter."
        ) from None
    except ValueError as error:
        # an integer of more than 4,300 digits, a date that does not exist
        raise DataError(
            f"it holds a value that cannot be read: {str(error).partition(';')[0]}"
        ) from None


def toml_value(value: Any) -> str:
    """A text, number, truth or list as TOML writes it, which is as JSON does but for one character.

    >>> toml_value(["a", 1])
    '["a", 1]'
    """
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_text(data: Mapping[str, Any]) -> str:
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


def fault_of(model: type[BaseModel], error: Mapping[str, Any]) -> str:
    """What pydantic found wrong in a TOML file, as a sentence about one key, with the nearest key
    or value that would be right.
    """
    place = error["loc"]
    key = ".".join(str(part) for part in place)
    if error["type"] == "missing":
        return f"the key {key!r} is missing"
    if error["type"] == "extra_forbidden":
        return f"unknown key {key!r}. {_nearest_key(model, place)}".strip(" .")
    said = str(error["msg"]).removeprefix("Value error, ")
    near = (
        meant(str(error["input"]), re.findall("'([^']+)'", said))
        if error["type"] == "literal_error"
        else ""
    )
    return f"the key {key!r} is wrong: {said}. {near}".strip(" .")


def _nearest_key(model: type[BaseModel], place: Sequence[Any]) -> str:
    """The key of the same table that is nearest; else the table that has a key of this very
    name.
    """
    *tables, name = place
    inside: type[BaseModel] | None = model
    for table in tables:
        if isinstance(table, str) and inside is not None:
            inside = _section(inside, table)
    if inside is None:
        return ""
    if near := meant(str(name), inside.model_fields):
        return near
    places = {key: _section(model, key) for key in model.model_fields}
    return next(
        (
            f"Did you mean '{key}.{name}'?"
            for key, table in places.items()
            if table and name in table.model_fields
        ),
        "",
    )


def _section(model: type[BaseModel], key: str) -> type[BaseModel] | None:
    """The model of the table, or of each table of the list, behind a key."""
    if key not in model.model_fields:
        return None
    annotation = model.model_fields[key].annotation
    kinds = (annotation, *get_args(annotation))
    return next(
        (kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None
    )
