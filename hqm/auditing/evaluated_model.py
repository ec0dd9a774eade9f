"""A respondent as Every Eval Ever names models: `developer/model`, how it was run, and the folder
of its records.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from hqm.errors import HQMError
from hqm.respondents.base import RespondentName

NO_DEVELOPER = "unspecified"
"""Stands for the developer of a model whose name says none."""

_UNSAFE = re.compile(r'[<>:"\\|?*\x00-\x1f]')
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[1-9]|lpt[1-9])(?:\..*)?", re.IGNORECASE)
_LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
_ENGINES = {"hf": "transformers", "vllm": "vLLM"}


def model_info(name: str, identity: Mapping[str, Any]) -> dict[str, Any]:
    """The field `model_info` of a record.

    >>> model_info("hf/llava-hf/llava-1.5-7b-hf@main", {"kind": "hf", "dtype": "float32"})["id"]
    'llava-hf/llava-1.5-7b-hf'
    >>> model_info("recorded/llava-v1.5", {"kind": "recorded"})["id"]
    'unspecified/llava-v1.5'
    """
    kind = str(identity.get("kind") or name.partition("/")[0])
    target = _target(name)
    hub = len([part for part in target.split("/") if part]) == 2 and not target.startswith(
        ("/", ".")
    )
    parts = [part for part in target.split("/") if part] or [name]
    developer, model = (parts[0], parts[1]) if hub else (NO_DEVELOPER, parts[-1])
    known = {
        key: value for key, value in identity.items() if key not in ("kind", "base_url", "answers")
    }
    info: dict[str, Any] = {
        "name": public_name(name),
        "id": f"{_component(developer)}/{_component(model)}",
        "developer": developer,
        "additional_details": {
            **{key: str(value) for key, value in sorted(known.items()) if value is not None},
            "deployment_type": _deployment(kind, identity),
            "model_availability": "open_weights" if kind in _ENGINES else "unknown",
        },
    }
    if kind in _ENGINES:
        info["inference_engine"] = {"name": _ENGINES[kind]}
    return info


def public_name(name: str) -> str:
    """A respondent's name without the address of its server, which is nobody else's business.

    >>> public_name("openai/llava@http://10.0.0.7:8000/v1?temperature=0")
    'openai/llava?temperature=0'
    """
    try:
        parsed = RespondentName.parse(name)
    except HQMError:
        return name
    return str(replace(parsed, at="")) if "://" in parsed.at else name


def model_path(model_id: str) -> tuple[str, str]:
    """The two folders of a model's records."""
    developer, _, model = model_id.partition("/")
    return developer, model


def _target(name: str) -> str:
    """What a respondent's name asks, without its kind, address, revision and settings."""
    try:
        parsed = RespondentName.parse(name)
    except HQMError:
        return name.partition("/")[2] or name
    return parsed.target


def _component(text: str) -> str:
    """A name that is a folder on every system, and none that the schema keeps for itself."""
    clean = _UNSAFE.sub("_", text).strip().rstrip(". ") or NO_DEVELOPER
    taken = clean.lower() in ("unknown", "data") or _RESERVED.fullmatch(clean) is not None
    return f"_{clean}" if taken else clean


def _deployment(kind: str, identity: Mapping[str, Any]) -> str:
    if kind in _ENGINES:
        return "self_deployed"
    if kind == "openai":
        here = urlsplit(str(identity.get("base_url") or "")).hostname in _LOCAL_HOSTS
        return "self_deployed" if here else "externally_managed"
    return "unknown"
