"""What names say of respondents: their kinds, in one table with the class that answers and what
that takes, and their families.

Another package brings a kind by an entry point of the group `hqm.respondents`, whose name is the
kind and whose value is the class: `echo = "my_package.echo:EchoRespondent"`. The class is made from
a `RespondentName`.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from hqm.errors import DataError, RespondentError, UsageError
from hqm.files.records import placed_records, take
from hqm.text import plain_name

GROUP = "hqm.respondents"
SERVER = (
    "concurrency",
    "requests_per_minute",
    "tokens_per_minute",
    "retries",
    "timeout",
    "max_reply",
    "logprobs",
    "price_in",
    "price_out",
)
"""Settings that say how a server is reached; `hqm.respondents.openai_server` explains them."""
LOCAL = ("torch", "transformers")
"""What a model that runs in this process needs; the extra `local` installs it."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of respondent.

    Examples
    --------
    >>> kind_of("openai").price, kind_of("hf").local
    ('per token', True)
    """

    name: str
    """What the names begin with, before the slash."""
    target: str
    """The module and the class that answers, as `module:Class`."""
    form: str
    """How its names are written."""
    meaning: str
    """What it is, for a list."""
    price: Literal["free", "per token"] = "free"
    """Whether an answer costs money; the respondent itself says how much, by `prices`."""
    local: bool = False
    """Whether the model runs in this process, with the packages of `LOCAL`."""
    live: bool = True
    """Whether it is asked; recorded answers are read."""
    seconds: float = 0.5
    """What a request is assumed to take before the store has seen an answer."""
    behind: tuple[Literal["revision", "address"], ...] = ("revision", "address")
    """What may follow an @ in its names."""
    settings: tuple[str, ...] | None = None
    """The settings that its names may have beside those of sampling; None where any are taken."""
    passes_on: bool = False
    """Whether settings that are none of these are handed to a program."""

    def load(self) -> Any:
        """The class that answers.

        Raises
        ------
        RespondentError
            Its packages are not installed, or another package's class cannot be imported.
        """
        missing = [package for package in LOCAL if not _is_installed(package)] if self.local else []
        if missing:
            raise RespondentError(
                f"models that run on this machine ({self.form}) need {' and '.join(missing)}, which"
                f" {'is' if len(missing) == 1 else 'are'} not installed",
                remedy='Install the extra: pip install "hqm-audit[local]"',
            )
        module, _, name = self.target.partition(":")
        try:
            return getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise RespondentError(
                f"the kind of respondent {self.name!r} cannot be loaded: {error}",
                location=self.target,
                remedy="Correct or uninstall the package that brings it.",
            ) from error


KINDS: tuple[Kind, ...] = (
    Kind(
        "hf",
        "hqm.respondents.hf:TransformersRespondent",
        "hf/<folder or hub id>[@revision]",
        "a vision-language model that transformers runs on this machine; hf/<benchmark>:<name> is"
        " one that HQM comes with",
        local=True,
        behind=("revision",),
        settings=("device", "dtype", "attention", "batch", "trust_remote_code"),
    ),
    Kind(
        "vllm",
        "hqm.respondents.vllm:VllmRespondent",
        "vllm/<folder or hub id>[@revision]",
        "a model that vLLM serves on this machine; the server is started and stopped with the run",
        seconds=0.05,
        behind=("revision",),
        settings=(*SERVER, "start_timeout"),
        passes_on=True,
    ),
    Kind(
        "openai",
        "hqm.respondents.openai_server:OpenAIRespondent",
        "openai/<model>[@<base url>]",
        "a server with the OpenAI chat interface: OpenAI itself, vLLM, SGLang, transformers"
        " serve, ...",
        price="per token",
        seconds=0.2,  # with 16 requests in flight
        behind=("address",),
        settings=(*SERVER, "key_env", "logprobs_mode"),
    ),
    Kind(
        "recorded",
        "hqm.respondents.base:RecordedRespondent",
        "recorded/<file or folder>",
        "answers that were recorded earlier",
        live=False,
        seconds=0.00002,
        behind=(),
        settings=(),
    ),
)
"""The kinds that HQM comes with."""

_OWN = {kind.name: kind for kind in KINDS}


def kind_of(name: str) -> Kind | None:
    """The kind of this name, HQM's own first; None where nobody brings it."""
    # looking through everything that is installed takes time, and most names need it not
    return _OWN.get(name) or next((kind for kind in _brought() if kind.name == name), None)


def all_kinds() -> tuple[Kind, ...]:
    """The kinds of the table, then those that other packages bring."""
    return (*KINDS, *(kind for kind in _brought() if kind.name not in _OWN))


def unknown(text: str) -> UsageError:
    """The error for a name of no kind; it lists the kinds."""
    kinds = all_kinds()
    forms = [kind.form for kind in kinds]
    # what follows a question mark may be meant to be secret
    name = text.partition("?")[0]
    kind, slash, target = name.partition("/")
    if slash:
        near = get_close_matches(kind.lower(), [other.name for other in kinds], 1, _NEAR)
        nearest = f"{near[0]}/{target}" if near else ""
    else:
        nearest = {full.rpartition(":")[2]: full for full in embedded()}.get(
            name.rpartition(":")[2], ""
        )
    meant = f"Did you mean {nearest!r}? " if nearest else ""
    remedy = f"{meant}Write {', '.join(forms[:-1])} or {forms[-1]}."
    return UsageError(f"{name!r} names no respondent", remedy=remedy)


_NEAR = 0.5
"""How alike two kinds must be: they are short, so that one slip (`hg` for `hf`) is half the
name.
"""


def embedded() -> list[str]:
    """The names of the models that HQM comes with."""
    from hqm.benchmark.registry import shipped

    return sorted(
        f"hf/{path.parent.parent.name}:{path.name}" for path in shipped().glob("*/respondents/*/")
    )


def _brought() -> list[Kind]:
    from importlib.metadata import entry_points

    return [
        Kind(
            point.name,
            point.value,
            f"{point.name}/<model>",
            f"brought by {point.value.partition(':')[0]}",
        )
        for point in sorted(entry_points(group=GROUP))
    ]


def _is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except (
        ImportError,
        ValueError,
    ):  # what keeps a package from being imported may refuse the search too
        return False


# --- families: checkpoints of one vendor or one name say less than as many independent models ---

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

    >>> [infer_family(n) for n in ("hf/llava-hf/llava-1.5-7b-hf", "openai/gpt-4o@http://a/v1")]
    ['llava', 'gpt']
    >>> [infer_family(n) for n in ("otter-9b", "otter2-image", "model-a", "model-b", "model-1")]
    ['otter', 'otter', 'model-a', 'model-b', 'model-1']
    """
    short = plain_name(short_name(name)).lower()
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
    for place, record in placed_records(path):
        name, family = (
            plain_name(str(take(record, key, place))) for key in ("respondent", "family")
        )
        if families.setdefault(name, family) != family:
            raise DataError(f"{name!r} has two families", location=place, remedy="Keep one.")
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

    >>> told_from_names(["hf/llava-1.5", "hf/llava-next"])
    True
    >>> told_from_names(["a-1", "a-2"], {"a-1": "a", "a-2": "b"})
    False
    """
    families = families_of(respondents, given)
    return any(
        families.count(family) > 1 and not _family_in(given or {}, name)
        for name, family in zip(respondents, families, strict=True)
    )


def _family_in(given: Mapping[str, str], name: str) -> str:
    plain = plain_name(name)
    return given.get(plain) or given.get(name) or given.get(short_name(plain)) or ""
