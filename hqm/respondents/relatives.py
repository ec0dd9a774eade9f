"""Families of respondents: checkpoints of one vendor or one name say less than as many independent
models.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path

from hqm.errors import DataError
from hqm.files.records import read_records, take

_VENDORS = {
    "anthropic": "claude",
    "blip": "blip",
    "deepseek": "deepseek janus",
    "google": "gemini gemma paligemma",
    "gpt": "gpt chatgpt",
    "huggingface": "idefics smolvlm",
    "instructblip": "instructblip",
    "internvl": "internvl internlm",
    "llama": "llama",
    "llava": "llava",
    "microsoft": "phi(?![a-z]) kosmos florence",
    "minicpm": "minicpm omnilmm",
    "minigpt": "minigpt-v",
    "minigpt4": "minigpt-?4",
    "mistral": "mistral mixtral pixtral",
    "mplug": "mplug",
    "qwen": "qwen qvq qwq",
    "zhipu": "glm chatglm visualglm cogvlm cogagent",
}
"""Vendor -> how the names of its models begin."""
_KNOWN = re.compile(
    "|".join(f"(?P<{vendor}>{'|'.join(names.split())})" for vendor, names in _VENDORS.items())
)
_VERSION = re.compile(
    r"v?\d[\d.]*(?:[bmk]|x\d+[bmk])?|nano|tiny|mini|small|base|medium|large|huge|x*xl"
)
"""A size or a version; what stands before the first of them is the name."""
_ANYBODY = re.compile(
    r"|[a-z]|models?|l?vl?lms?|llms?|mllms?|respondents?|systems?|checkpoints?|ckpt|runs?|baseline"
)
"""Words behind which a number tells models apart."""


def short_name(name: str) -> str:
    """A respondent's name without its kind, folder, address and settings.

    >>> short_name("openai/Qwen/Qwen2-VL-7B@http://a/v1")
    'Qwen2-VL-7B'
    """
    return name.partition("?")[0].partition("@")[0].rpartition("/")[2].rpartition(":")[2]


def infer_family(name: str) -> str:
    """The family that a respondent's name shows: a known vendor, or the name before its first size
    or version.

    A name without a size and a version is a family of its own, and so is a number behind a word
    that any model may have.

    >>> [infer_family(n) for n in ("hf/llava-hf/llava-1.5-7b-hf", "openai/gpt-4o@http://a/v1", "recorded/Qwen2-VL-7B")]
    ['llava', 'gpt', 'qwen']
    >>> [infer_family(n) for n in ("otter-9b", "otter2-image", "model-a", "model-b", "model-1")]
    ['otter', 'otter', 'model-a', 'model-b', 'model-1']
    """
    short = _plain(short_name(name)).lower()
    known = _KNOWN.match(short)
    if known is not None and known.lastgroup:
        return known.lastgroup
    words = re.findall(r"[^\W\d_]+|\d[\d.]*[a-z]*", short)
    named = []
    for word in words:
        if _VERSION.fullmatch(word):
            break
        named.append(word)
    stem = "-".join(named)
    return short if len(named) == len(words) or _ANYBODY.fullmatch(stem) else stem


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
        name, family = (_plain(str(take(record, key, place))) for key in ("respondent", "family"))
        if families.setdefault(name, family) != family:
            raise DataError(f"{name!r} has two families", place=place, remedy="Keep one.")
    return families


def families_of(respondents: Sequence[str], given: Mapping[str, str] | None = None) -> list[str]:
    """Every respondent's family: the one given under its whole or short name, else the one its name
    suggests.
    """
    return [_family_in(given or {}, name) or infer_family(name) for name in respondents]


def check_families(given: Mapping[str, str] | None, respondents: Sequence[str]) -> None:
    """Check that a file of families is about these respondents.

    Raises
    ------
    DataError
        It names none of them.
    """
    if given and respondents and not any(_family_in(given, name) for name in respondents):
        raise DataError(
            f"the families name none of the {len(respondents)} respondents: they name"
            f" {', '.join(list(given)[:3])}",
            remedy=f"Write the respondents as the audit does: {', '.join(respondents[:3])}.",
        )


def told_from_names(respondents: Sequence[str], given: Mapping[str, str] | None = None) -> bool:
    """Whether two respondents are of one family because their names say so, and nobody who knows.

    >>> told_from_names(["hf/llava-1.5", "hf/llava-next"]), told_from_names(["a-1", "a-2"], {"a-1": "a", "a-2": "b"})
    (True, False)
    """
    families = families_of(respondents, given)
    return any(
        families.count(family) > 1 and not _family_in(given or {}, name)
        for name, family in zip(respondents, families, strict=True)
    )


def _family_in(given: Mapping[str, str], name: str) -> str:
    plain = _plain(name)
    return given.get(plain) or given.get(name) or given.get(short_name(plain)) or ""


def _plain(name: str) -> str:
    """A name as it looks: composed characters, no spaces around."""
    return unicodedata.normalize("NFC", name).strip()
