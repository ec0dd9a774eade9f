"""The kinds of respondents, in one table with the class of each, and their families.

Another package adds a kind by an entry point of the group `hqm.respondents`, whose name is the kind
and whose value is the class: `echo = "my_package.echo:EchoRespondent"`. The class is called with a
`RespondentName`.
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

from hqm.errors import DataError, RespondentError, UsageError, missing_library
from hqm.extensions import points_in
from hqm.files.records import located_records, required_field
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
"""Settings of the access to a server; `hqm.respondents.openai_server` explains them."""
LOCAL = ("torch", "transformers")
"""Packages that a model in this process needs; the extra `local` installs them."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of respondent.

    Examples
    --------
    >>> kind_of("openai").price, kind_of("hf").local
    ('per token', True)
    """

    name: str
    """The part of its names before the slash."""
    target: str
    """The class of its respondents, as `module:Class`."""
    form: str
    """The form of its names."""
    meaning: str
    """Its description, for a list."""
    price: Literal["free", "per token"] = "free"
    """Whether an answer costs money; the respondent has the amount, in `prices`."""
    local: bool = False
    """Whether the model runs in this process, with the packages of `LOCAL`."""
    live: bool = True
    """Whether it is asked; recorded answers are read."""
    seconds: float = 0.5
    """The assumed duration of a request, while the store has no answer."""
    qualifiers: tuple[Literal["revision", "address"], ...] = ("revision", "address")
    """The qualifiers that may follow an @ in its names."""
    settings: tuple[str, ...] | None = None
    """The settings of its names beside those of sampling; None if any are allowed."""
    passes_on: bool = False
    """Whether other settings are passed on to a program."""

    def load(self) -> Any:
        """Import the class of its respondents.

        Raises
        ------
        RespondentError
            Its packages are not installed, or another package's class cannot be imported.
        """
        missing = [package for package in LOCAL if self.local and not _is_installed(package)]
        if missing:
            subject = f"models that run on this machine ({self.form})"
            sentence = missing_library(subject, missing, "local")
            raise RespondentError(sentence.message, remedy=sentence.remedy)
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
        qualifiers=("revision",),
        settings=("device", "dtype", "attention", "batch", "trust_remote_code"),
    ),
    Kind(
        "vllm",
        "hqm.respondents.vllm:VllmRespondent",
        "vllm/<folder or hub id>[@revision]",
        "a model that vLLM serves on this machine; the server is started and stopped with the run",
        seconds=0.05,
        qualifiers=("revision",),
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
        qualifiers=("address",),
        settings=(*SERVER, "key_env", "logprobs_mode"),
    ),
    Kind(
        "recorded",
        "hqm.respondents.base:RecordedRespondent",
        "recorded/<file or folder>",
        "answers that were recorded earlier",
        live=False,
        # Reading a row, and no request.
        seconds=0.00002,
        qualifiers=(),
        settings=(),
    ),
)
"""The kinds that HQM comes with."""

_BUILT_IN = {kind.name: kind for kind in KINDS}


def kind_of(name: str) -> Kind | None:
    """The kind of this name, HQM's own first; None if there is none."""
    # a search of all installed packages takes time, and most names are built in
    return _BUILT_IN.get(name) or next(
        (kind for kind in _kinds_of_plugins() if kind.name == name), None
    )


def all_kinds() -> tuple[Kind, ...]:
    """The built-in kinds, then those of other packages."""
    return (*KINDS, *(kind for kind in _kinds_of_plugins() if kind.name not in _BUILT_IN))


def is_recorded(name: str) -> bool:
    """Return whether a respondent's name names a file of answers."""
    return name.startswith("recorded/")


def unknown(text: str) -> UsageError:
    """The error for a name of no kind; it lists the kinds."""
    kinds = all_kinds()
    forms = [kind.form for kind in kinds]
    # settings may hold a secret
    name = text.partition("?")[0]
    kind, slash, target = name.partition("/")
    if slash:
        names = [kind.name for kind in kinds]
        nearest_kinds = get_close_matches(kind.lower(), names, 1, _MIN_SIMILARITY)
        nearest = f"{nearest_kinds[0]}/{target}" if nearest_kinds else ""
    else:
        nearest = {full.rpartition(":")[2]: full for full in embedded()}.get(
            name.rpartition(":")[2], ""
        )
    suggestion = f"Did you mean {nearest!r}? " if nearest else ""
    remedy = f"{suggestion}Write {', '.join(forms[:-1])} or {forms[-1]}."
    return UsageError(f"{name!r} names no respondent", remedy=remedy)


_MIN_SIMILARITY = 0.5
"""Similarity of two kinds: they are short, so that one slip (`hg` for `hf`) is half the name."""


def embedded() -> list[str]:
    """The names of the models that HQM comes with."""
    from hqm.benchmark.registry import shipped

    return sorted(
        f"hf/{path.parent.parent.name}:{path.name}" for path in shipped().glob("*/respondents/*/")
    )


def _kinds_of_plugins() -> list[Kind]:
    return [
        Kind(
            point.name,
            point.value,
            f"{point.name}/<model>",
            f"brought by {point.value.partition(':')[0]}",
        )
        for point in sorted(points_in(GROUP))
    ]


def _is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):  # a broken package may fail even to be found
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
    # `phi` begins other names too, such as Phind.
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
_VENDOR_NAME = re.compile(
    "|".join(f"(?P<{vendor}>{'|'.join(names.split())})" for vendor, names in _VENDORS.items())
)
_VERSION = re.compile(
    r"v?\d[\d.]*(?:[bmk]|x\d+[bmk])?|nano|tiny|mini|small|base|medium|large|huge|x*xl"
)
"""A size or a version; the name comes before the first of them."""
_ANYBODY = re.compile(
    r"|[a-z]|models?|l?vl?lms?|llms?|mllms?|respondents?|systems?|checkpoints?|ckpt|runs?|baseline"
)
"""Words after which a number distinguishes models."""


_MIN_NUMBERED = 5
"""From how many models on, with names that are one word and a running number, it is no version."""


def short_name(name: str) -> str:
    """A respondent's name without its kind, folder, address and settings.

    >>> short_name("openai/Qwen/Qwen2-VL-7B@http://a/v1")
    'Qwen2-VL-7B'
    """
    return name.partition("?")[0].partition("@")[0].rpartition("/")[2].rpartition(":")[2]


def infer_family(name: str) -> str:
    """The family in a respondent's name: a known vendor, or the name before a size or version.

    A name without a size and a version is a family by itself, and so is a number after a word that
    any model may have.

    >>> [infer_family(n) for n in ("hf/llava-hf/llava-1.5-7b-hf", "openai/gpt-4o@http://a/v1")]
    ['llava', 'gpt']
    >>> [infer_family(n) for n in ("otter-9b", "otter2-image", "model-a", "model-b", "model-1")]
    ['otter', 'otter', 'model-a', 'model-b', 'model-1']
    """
    # The short name: an owner on the hub or a server's address is no vendor.
    short = plain_name(short_name(name)).lower()
    vendor = _VENDOR_NAME.match(short)
    if vendor is not None and vendor.lastgroup:
        return vendor.lastgroup
    words = re.findall(r"[^\W\d_]+|\d[\d.]*[a-z]*", short)
    name_words = []
    for word in words:
        if _VERSION.fullmatch(word):
            break
        name_words.append(word)
    stem = "-".join(name_words)
    return short if len(name_words) == len(words) or _ANYBODY.fullmatch(stem) else stem


def is_model_name(name: str) -> bool:
    """Whether a name begins as those of the models of a known vendor do.

    >>> is_model_name("Qwen2-VL-7B"), is_model_name("Accuracy")
    (True, False)
    """
    return _VENDOR_NAME.match(plain_name(short_name(name)).lower()) is not None


def read_families(path: Path) -> dict[str, str]:
    """Respondent -> family, from records with `respondent` and `family` (CSV or JSON lines).

    Raises
    ------
    DataError
        A field is missing, or a respondent is named twice with different families.
    """
    families: dict[str, str] = {}
    for location, record in located_records(path):
        name, family = (
            plain_name(str(required_field(record, key, location)))
            for key in ("respondent", "family")
        )
        if families.setdefault(name, family) != family:
            raise DataError(f"{name!r} has two families", location=location, remedy="Keep one.")
    return families


def families_of(respondents: Sequence[str], recorded: Mapping[str, str] | None = None) -> list[str]:
    """Every respondent's family: the one recorded for it, else the one that its name suggests.

    Where all names are one word with a running number, the number tells models apart.

    >>> families_of(["sys01", "sys02", "sys03", "sys04", "sys05"])[:2]
    ['sys01', 'sys02']
    >>> families_of(["sys1", "sys2"])
    ['sys', 'sys']
    """
    # `sys01` to `sys20` would be one family by their word, and the number of independent models 1.
    if not recorded and _are_numbered(respondents):
        return list(map(short_name, respondents))
    return [_family_in(recorded or {}, name) or infer_family(name) for name in respondents]


def _are_numbered(respondents: Sequence[str]) -> bool:
    """Whether all names are one word, of no vendor, with the numbers from 0 or 1 on."""
    name_matches = [re.fullmatch(r"(\D+)(\d+)", short_name(name).lower()) for name in respondents]
    words = {match[1] if match else "" for match in name_matches}
    word = next(iter(words)) if len(words) == 1 else ""
    numbers = sorted(int(match[2]) for match in name_matches if match)
    is_running = any(numbers == [*range(start, start + len(numbers))] for start in (0, 1))
    return (
        len(numbers) >= _MIN_NUMBERED and is_running and not _VENDOR_NAME.match(word) and word != ""
    )


def check_families(recorded: Mapping[str, str] | None, respondents: Sequence[str]) -> None:
    """Check that a file of families is about these respondents.

    Raises
    ------
    DataError
        It names none of them.
    """
    # A file that names some of them is taken: the families of the others are inferred.
    if recorded and respondents and not any(_family_in(recorded, name) for name in respondents):
        raise DataError(
            f"the families name none of the {len(respondents)} respondents: they name"
            f" {', '.join(list(recorded)[:3])}",
            remedy=f"Write the respondents as the audit does: {', '.join(respondents[:3])}.",
        )


def are_inferred_from_names(
    respondents: Sequence[str], recorded: Mapping[str, str] | None = None
) -> bool:
    """Whether two respondents are of one family by their names only, and not by a record.

    >>> are_inferred_from_names(["hf/llava-1.5", "hf/llava-next"])
    True
    >>> are_inferred_from_names(["a-1", "a-2"], {"a-1": "a", "a-2": "b"})
    False
    """
    families = families_of(respondents, recorded)
    return any(
        families.count(family) > 1 and not _family_in(recorded or {}, name)
        for name, family in zip(respondents, families, strict=True)
    )


def _family_in(recorded: Mapping[str, str], name: str) -> str:
    plain = plain_name(name)
    # The whole name first: two servers may have models of one short name.
    return recorded.get(plain) or recorded.get(name) or recorded.get(short_name(plain)) or ""
