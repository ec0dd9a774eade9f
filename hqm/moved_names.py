"""Names that were public until version 0.2.0, and where they are now.

They are found until 0.4.0, with a `DeprecationWarning`.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Mapping
from typing import Any

MOVED_NAMES = {
    "InTurn": "hqm.benchmark.released_files:ItemQueue",
    "Mend": "hqm.auditing.budget:Remedy",
    "Part": "hqm.benchmark.judge_api:AnswerPart",
    "hold_against": "hqm.auditing.gate:check_against",
    "json_parts": "hqm.files.archives:json_values",
    "name_places": "hqm.benchmark.released_files:name_placeholders",
    "parts_in": "hqm.auditing.study_records:read_components",
    "placed_records": "hqm.files.records:located_records",
    "read_again": "hqm.commands.rescoring:audit_readings",
    "take": "hqm.files.records:required_field",
    "to_mend": "hqm.auditing.seven_questions:find_remedies",
}
"""Name that `hqm` exported -> module and name of today."""


def find_moved(package: str, name: str, moved_names: Mapping[str, str]) -> Any:
    """Return the value of a name that moved, and warn.

    Raises
    ------
    AttributeError
        No version had this name.
    """
    if name not in moved_names:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    module, _, current_name = moved_names[name].partition(":")
    warnings.warn(
        f"{package}.{name} is {module}.{current_name} since 0.3.0; the old name goes in 0.4.0",
        DeprecationWarning,
        stacklevel=3,
    )
    return getattr(importlib.import_module(module), current_name)
