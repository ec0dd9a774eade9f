"""Fields of an Every Eval Ever record that follow from one value: texts, references,
measurements.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from hqm.scoring.matrix import Sums
from hqm.scoring.metrics import Metric


def measurements(detail: Mapping[str, Any]) -> dict[str, Any]:
    """Tokens and time, where both ends were measured."""
    measured: dict[str, Any] = {}
    read, written = detail.get("tokens_in"), detail.get("tokens_out")
    if isinstance(read, int) and isinstance(written, int):
        measured["token_usage"] = {
            "input_tokens": read,
            "output_tokens": written,
            "total_tokens": read + written,
        }
    if isinstance(seconds := detail.get("seconds"), (int, float)):
        measured["performance"] = {"latency_ms": 1000 * float(seconds)}
    return measured


def references(target: Any) -> list[str]:
    """A target as the list of texts that the schema has."""
    if target is None:
        return []
    if isinstance(target, (list, tuple)):
        return [
            member if isinstance(member, str) else json.dumps(member, ensure_ascii=False)
            for member in target
        ]
    return [target if isinstance(target, str) else json.dumps(target, ensure_ascii=False)]


def as_texts(values: Mapping[str, Any]) -> dict[str, str]:
    """The values that say something, as the texts that the schema wants."""
    kept = {key: value for key, value in values.items() if value is not None and value != ""}
    return {
        key: str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in kept.items()
    }


def metric_of(metric: Metric, sums: Mapping[str, Any]) -> Any:
    """The metric of sums that may lack a name, as answers without any yes lack its counts."""
    return metric(Sums(dict(sums), *np.shape(next(iter(sums.values()), 0.0))))
