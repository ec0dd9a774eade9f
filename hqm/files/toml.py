"""TOML as people write it: whatever the parser stumbles over is one sentence."""

from __future__ import annotations

import tomllib
from typing import Any

from hqm.errors import DataError


def parse_toml(text: str) -> dict[str, Any]:
    """The data of a TOML text.

    Raises
    ------
    DataError
        It is no TOML, holds a number with more digits than Python reads, or is nested too deeply; it has no place yet.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"it is no TOML: {error}") from None
    except RecursionError:
        raise DataError("its lists or tables are nested too deeply", remedy="Write it flatter.") from None
    except ValueError as error:
        # an integer of more than 4,300 digits, a date that does not exist
        raise DataError(f"it holds a value that cannot be read: {str(error).partition(';')[0]}") from None
