"""Results field by field, where a number that is not known equals another."""

import math
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any


def fields_of(result: Any) -> dict[str, Any]:
    """All fields of a result, None in the place of NaN: from Python 3.13 on two results with a NaN
    are never equal.
    """
    return asdict(result, dict_factory=_without_nan)


def _without_nan(fields: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in fields
    }
