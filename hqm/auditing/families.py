"""Which respondents belong to one family: checkpoints of a family say less than as many independent
models.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from hqm.errors import DataError
from hqm.files.records import read_records, take

_FAMILY = re.compile(r"[a-z]+\d*")


def infer_family(name: str) -> str:
    """The family that a respondent's name suggests: its first word, without what follows a dash,
    dot or space.

    >>> [infer_family(n) for n in ("hf/llava-hf/llava-1.5-7b-hf", "openai/gpt-4o@http://a/v1", "recorded/Qwen2-VL-7B")]
    ['llava', 'gpt', 'qwen2']
    """
    short = name.partition("?")[0].partition("@")[0].rpartition("/")[2].rpartition(":")[2].lower()
    word = _FAMILY.search(short)
    return word[0] if word else short


def read_families(path: Path) -> dict[str, str]:
    """Respondent -> family, from records with `respondent` and `family` (CSV or JSON lines).

    Raises
    ------
    DataError
        A field is missing, or a respondent is named twice with different families.
    """
    families: dict[str, str] = {}
    for i, record in enumerate(read_records(path), 1):
        place = f"{path}: record {i}"
        name, family = str(take(record, "respondent", place)), str(take(record, "family", place))
        if families.setdefault(name, family) != family:
            raise DataError(f"{name!r} has two families", place=place, remedy="Keep one.")
    return families


def families_of(respondents: Sequence[str], given: Mapping[str, str] | None = None) -> list[str]:
    """Every respondent's family: the one given under its whole or short name, else the one its name
    suggests.
    """
    given = given or {}
    return [
        given.get(name)
        or given.get(name.rpartition("/")[2].rpartition(":")[2])
        or infer_family(name)
        for name in respondents
    ]


def told_from_names(respondents: Sequence[str], given: Mapping[str, str] | None = None) -> bool:
    """Whether two respondents are of one family because their names say so, and nobody who knows.

    >>> told_from_names(["hf/llava-1.5", "hf/llava-next"]), told_from_names(["a-1", "a-2"], {"a-1": "a", "a-2": "b"})
    (True, False)
    """
    given = given or {}
    families = families_of(respondents, given)
    shared = {family for family in families if families.count(family) > 1}
    known = [
        name in given or name.rpartition("/")[2].rpartition(":")[2] in given for name in respondents
    ]
    return any(family in shared and not sure for family, sure in zip(families, known, strict=True))
