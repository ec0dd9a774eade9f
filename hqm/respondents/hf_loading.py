"""Loading models: embedded ones with packed weights, local ones, and those of the hub.

Packed weights are 6 % smaller than a wheel's compression makes them, because it compresses single
bytes. The unpacked copy is kept in the cache under the hash of the packed folder, and equals the
trained file byte by byte: the same model, with the same identity and seeds.
"""

from __future__ import annotations

import contextlib
import functools
import json
import logging
import lzma
import os
import re
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hqm.errors import RespondentError, missing_library
from hqm.files.cache import cache_folder, writing
from hqm.respondents.base import waiting
from hqm.respondents.hf_families import Family, family_of
from hqm.signature import digest_all, digest_file

if TYPE_CHECKING:
    from transformers import (
        PretrainedConfig,
        PreTrainedModel,
        PreTrainedTokenizerBase,
        ProcessorMixin,
    )

WEIGHTS = "model.safetensors"
_PACKED = f"{WEIGHTS}.xz"


def unpack(folder: Path) -> Path:
    """Return a model's folder with unpacked weights: itself, or a copy in the cache.

    Raises
    ------
    DataError
        The cache cannot be written.
    """
    if not (folder / _PACKED).is_file():
        return folder
    files = sorted(filter(Path.is_file, folder.iterdir()))
    name = _digest_files(files).partition(":")[2]
    target = cache_folder() / "models" / name / folder.name
    if target.is_dir():
        return target
    with writing(target.parent):
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as temporary:
            copy = Path(temporary) / folder.name
            copy.mkdir()
            for file in files:
                if file.name == _PACKED:
                    (copy / WEIGHTS).write_bytes(lzma.decompress(file.read_bytes()))
                else:
                    shutil.copyfile(file, copy / file.name)
            try:
                os.replace(copy, target)
            except OSError:
                if not target.is_dir():  # another process was faster
                    raise
    return target


# Finding and loading a local model: its folder, its processor, and the number format and attention
# for the device.


def find_model(target: str) -> str:
    """The folder of an embedded or local model, or the unchanged hub id."""
    if ":" in target:
        from hqm.benchmark.registry import shipped

        benchmark, _, name = target.partition(":")
        folder = shipped() / benchmark / "respondents"
        if not (folder / name).is_dir():
            names = sorted(p.name for p in folder.glob("*") if p.is_dir())
            raise RespondentError(
                f"{benchmark!r} has no embedded respondent {name!r}",
                remedy=f"It has {', '.join(names)}." if names else "See `hqm list respondents`.",
                name=name,
                choices=names,
            )
        return str(unpack(folder / name))
    return target


def weights_digest(path: str, name: str) -> str | None:
    """Return the content hash of a local model's files, or None for a model of the hub.

    A model of the hub is identified by its revision.
    """
    folder = Path(path)
    if not folder.is_dir():
        return None
    # Weights, settings, chat templates, and the tokenizers of SentencePiece (.model).
    suffixes = {".safetensors", ".bin", ".json", ".jinja", ".model"}
    with waiting(f"reading the weights of {name}"):
        return _digest_files(file for file in folder.iterdir() if file.suffix in suffixes)


def _digest_files(files: Iterable[Path]) -> str:
    """Return the hash of files' names and contents."""
    return digest_all(chain.from_iterable((file.name, digest_file(file)) for file in sorted(files)))


class Weights(NamedTuple):
    """The size of a model."""

    parameters: float
    size: float
    """Bytes of the weights, in the format that they are stored in."""
    assumed: bool
    """Whether the size was inferred from the model's name, or is the default of 7 billion."""


_PARAMETERS = re.compile(r"(\d+(?:\.\d+)?)[bB](?![a-z])")
"""The size of a model in its name, in billions of parameters."""
_ASSUMED_PARAMETERS = 7e9


def weights_of(path: str, name: str) -> Weights:
    """The size of a model's weights: of local files or the hub's cache, else by its name.

    >>> weights_of("no/such-model-13b", "hf/no/such-model-13b")
    Weights(parameters=13000000000.0, size=26000000000.0, assumed=True)
    """
    folder = Path(path)
    if not folder.is_dir():
        with contextlib.suppress(Exception):  # a name that no hub has
            from huggingface_hub import try_to_load_from_cache

            folder = Path(str(try_to_load_from_cache(path, "config.json"))).parent
    # A repository may have the same weights in both formats.
    files = list(folder.glob("*.safetensors")) or folder.glob("*.bin")
    size = float(sum(p.stat().st_size for p in files))
    try:
        # Shards may be missing from the cache; the index counts them all.
        index = json.loads((folder / f"{WEIGHTS}.index.json").read_text(encoding="utf-8"))
        size = float(index["metadata"]["total_size"])
    except (OSError, ValueError, KeyError, TypeError):
        pass  # one file has no index
    if not size:
        stated = _PARAMETERS.search(name)
        count = float(stated[1]) * 1e9 if stated else _ASSUMED_PARAMETERS
        return Weights(count, 2 * count, True)
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        texts = str(config.get("dtype") or config.get("torch_dtype"))
    except (OSError, ValueError, AttributeError):
        texts = ""
    # four bytes a parameter in float32, two in the half-precision formats
    return Weights(size / (4 if texts.endswith("float32") else 2), size, False)


VISIBLE = "CUDA_VISIBLE_DEVICES"
_AMD = "HIP_VISIBLE_DEVICES"
"""The variables that list the GPUs of a process, by number or name; for AMD's GPUs, the second has
priority.
"""
GPU_FILES = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")
"""Files by which Linux offers a GPU: of NVIDIA, of AMD, and through Windows."""


def suited_device() -> str:
    """Return the GPU where there is one, else the CPU.

    Torch, whose import takes seconds, is imported only where there may be a GPU.
    """
    device = "cpu"
    if sys.platform != "linux" or any(map(os.path.exists, GPU_FILES)):
        with waiting("importing torch"):
            import torch

        if torch.cuda.is_available():
            device = "cuda"
        elif torch.backends.mps.is_available():
            device = "mps"
    listed = os.environ.get(VISIBLE, "")
    # With the others, the user hides the GPUs.
    if device == "cpu" and listed not in {"", "-1", "NoDevFiles"}:
        _say_no_gpu(listed)
    return device


@functools.cache
def _say_no_gpu(listed: str) -> None:
    logging.getLogger("hqm").warning(
        "hqm: no GPU can be reached, though %s=%s: the CPU is used", VISIBLE, listed
    )


def suited_dtype(device: str) -> str:
    """Return float32 on a CPU, where half precision is slow, else the GPU's half precision."""
    if device == "cpu" or device.startswith("cpu:"):
        return "float32"
    if not device.startswith("cuda"):
        return "float16"
    import torch

    return "bfloat16" if torch.cuda.is_bf16_supported() else "float16"


def visible_gpus() -> tuple[str, ...]:
    """Return the GPUs that this process may use, by the names of `CUDA_VISIBLE_DEVICES`."""
    import torch

    listed = os.environ.get(VISIBLE)
    return gpu_names(
        int(torch.cuda.device_count()),
        os.environ.get(_AMD, listed) if torch.version.hip else listed,
    )


def gpu_memory() -> list[int]:
    """Return the bytes of each GPU that this process may use; none without torch."""
    if suited_device() != "cuda":
        return []
    import torch

    return [
        int(torch.cuda.get_device_properties(number).total_memory)
        for number in range(torch.cuda.device_count())
    ]


def gpu_environment(gpu: str) -> dict[str, str]:
    """Return the environment of a process that sees this GPU alone, as number 0."""
    return {VISIBLE: gpu, **({_AMD: gpu} if _AMD in os.environ else {})}


def gpu_names(count: int, listed: str | None) -> tuple[str, ...]:
    """The names of so many GPUs, from the process's list of GPUs; their numbers without one.

    Examples
    --------
    >>> gpu_names(2, None), gpu_names(2, "4,GPU-8f6c"), gpu_names(1, "3,-1,5"), gpu_names(0, "0,1")
    (('0', '1'), ('4', 'GPU-8f6c'), ('3',), ())
    """
    if listed is None:
        return tuple(map(str, range(count)))
    # the driver reads the list up to the first name that it does not know
    return tuple(map(str.strip, listed.split(",")))[:count]


def use_threads(count: int) -> None:
    """Set the threads of a model in this process; without torch there is none."""
    try:
        import torch
    except ImportError:
        return
    torch.set_num_threads(count)


def suited_attention(device: str) -> str:
    """Torch's fused attention; on mps, where its masks are wrong, the written-out one."""
    return "eager" if device.startswith("mps") else "sdpa"


@dataclass(frozen=True)
class Loaded:
    """A model ready to answer, with its processor and its family."""

    model: PreTrainedModel
    processor: ProcessorMixin
    family: Family

    @property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        """The tokenizer of prompts and answers."""
        return self.processor.tokenizer

    @property
    def form(self) -> str:
        """The documented form of its prompts; empty if it has a chat template."""
        return "" if getattr(self.processor, "chat_template", None) else self.family.form


class _NoVideos:
    """A placeholder for a processor's video part, whose settings processors and templates read."""

    def __getattr__(self, name: str) -> None:
        if name.startswith("__"):
            raise AttributeError(name)


def pictures_only(cls: Any) -> Any:
    """Return a processor class without its part for videos, which needs torchvision.

    A class without such a part is returned unchanged.
    """
    attributes = cls.get_attributes()
    if "video_processor" not in attributes:
        return cls
    gap = attributes.index("video_processor")

    class PicturesOnly(cls):  # type: ignore[misc]
        video_processor = _NoVideos()
        is_complete = True

        @classmethod
        def get_attributes(cls) -> list[str]:
            return [
                name for name in attributes if cls.is_complete is False or name != "video_processor"
            ]

        def check_argument_for_proper_class(self, argument_name: str, argument: object) -> object:
            if argument_name == "video_processor":
                return _NoVideos
            return super().check_argument_for_proper_class(argument_name, argument)

        @classmethod
        def from_args_and_dict(
            cls, args: list[object], processor_dict: dict[str, object], **settings: object
        ) -> object:
            # a class passes on its parts in any order, by position or by name, so all must exist
            cls.is_complete = False
            try:
                return super().from_args_and_dict(
                    [*args[:gap], cls.video_processor, *args[gap:]], processor_dict, **settings
                )
            finally:
                cls.is_complete = True

        def to_dict(self) -> dict[str, object]:
            parts: dict[str, object] = super().to_dict()
            return {name: value for name, value in parts.items() if name != "video_processor"}

    # transformers writes and reads the class by its name
    PicturesOnly.__name__ = PicturesOnly.__qualname__ = cls.__name__
    return PicturesOnly


def load(
    path: str,
    *,
    revision: str,
    device: str,
    dtype: str,
    attention: str,
    name: str,
    trust_remote_code: bool = False,
    gpus: int = 1,
) -> Loaded:
    """Load a model and its processor.

    Parameters
    ----------
    path
        A folder, or a hub id.
    attention
        `auto`, or an attention implementation of transformers.
    name
        The respondent, for the errors.
    trust_remote_code
        Whether to run program code that comes with the model.
    gpus
        The GPUs that its layers are divided among, one after another.

    Raises
    ------
    RespondentError
        The model cannot be found or loaded, or its family cannot answer: in one sentence.
    """
    import torch
    import transformers

    # from 5.24 on it is called `cache`; the versions that pyproject.toml allows take both names
    warnings.filterwarnings("ignore", "`past_key_values` is deprecated", FutureWarning)
    if device.startswith("cuda") and not torch.cuda.is_available():
        remedy = "Leave the setting out, or write --set device=cpu."
        raise RespondentError(
            f"the device {device} is asked for, and torch {torch.__version__} reaches no GPU",
            location=name,
            remedy=remedy,
        )
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    options = _loading_options(path, revision, trust_remote_code)
    if trust_remote_code:
        logging.getLogger("hqm").warning(
            "hqm: %s: program code that comes with the model is run on this machine", name
        )
    config = _config(path, options, name)
    kind = str(config.model_type)
    family = family_of(kind)
    if family.refusal:
        raise RespondentError(f"the model cannot answer: {family.refusal}", location=name)
    try:
        processor = _processor(path, kind, options)
        settings = {"dtype": getattr(torch, dtype), **options}
        if gpus > 1:
            settings["device_map"] = "sequential"
        if attention == "auto":
            model = _model_with_attention(path, config, suited_attention(device), settings)
        else:
            model = _model(path, config, attn_implementation=attention, **settings)
        model = (model if gpus > 1 else model.to(device)).eval()
    except RespondentError:
        raise
    except Exception as error:  # the loaders raise whatever their files make them raise
        raise _loading_error(name, error) from error
    tokenizer = processor.tokenizer
    # an encoder reads from its first token, a decoder writes after its last one
    text = model.config.get_text_config()
    is_encoder = getattr(model.config, "is_encoder_decoder", False) or getattr(
        text, "is_encoder_decoder", False
    )
    tokenizer.padding_side = "right" if is_encoder else "left"
    # The mask hides padding, so that any token would do.
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return Loaded(model, processor, family)


def _loading_options(path: str, revision: str, trust_remote_code: bool) -> dict[str, object]:
    """The options of `from_pretrained`; a folder must hold weights."""
    folder = Path(path)
    if folder.is_dir() and not any(folder.glob("*.safetensors")) and not any(folder.glob("*.bin")):
        raise RespondentError(
            "the folder holds no weights (*.safetensors)",
            location=path,
            remedy="Name a saved model.",
        )
    # without a value for `trust_remote_code`, transformers would ask on the terminal
    options: dict[str, object] = {
        "local_files_only": folder.is_dir(),
        "trust_remote_code": trust_remote_code,
    }
    return {**options, "revision": revision} if revision else options


def _model_with_attention(
    path: str, config: PretrainedConfig, implementation: str, settings: Mapping[str, object]
) -> PreTrainedModel:
    """The model with this implementation of attention, or with the written-out one."""
    if implementation != "eager":
        # a family without fused attention raises a ValueError
        with contextlib.suppress(ValueError):
            return _model(path, config, attn_implementation=implementation, **settings)
    return _model(path, config, attn_implementation="eager", **settings)


_LIBRARY = re.compile(r"requires the ([\w.-]+) library|Package `([\w.-]+)` is required")
"""The messages of transformers about a library that is not installed."""


def _loading_error(name: str, error: Exception) -> RespondentError:
    text = str(error).strip()
    message = (
        f"the model cannot be loaded: {text.splitlines()[0] if text else type(error).__name__}"
    )
    remedy = "Check the name; a folder must hold a model and its processor saved by transformers."
    library = _LIBRARY.search(text)
    if "trust_remote_code" in text:
        message = "the model comes with program code of its own, which is not run"
        remedy = (
            "If you trust its authors, write ?trust_remote_code=yes behind the name, or serve it by"
            " vllm/."
        )
    elif library is not None:
        package = (library[1] or library[2]).lower()
        message = f"the model cannot be loaded: it needs {package}, which is not installed"
        remedy = f"pip install {package}"
        if package == "torchvision":
            remedy = missing_library("models", [package], "vision").remedy
    return RespondentError(message, location=name, remedy=remedy)


def _config(path: str, options: dict[str, object], name: str) -> PretrainedConfig:
    import transformers

    try:
        return transformers.AutoConfig.from_pretrained(path, **options)
    except Exception as error:
        raise _loading_error(name, error) from error


def _model(path: str, config: PretrainedConfig, **settings: object) -> PreTrainedModel:
    import transformers

    # program code that comes with a model is often registered under the older class
    code_classes = getattr(config, "auto_map", None) or {}
    candidates = ("AutoModelForImageTextToText", "AutoModelForCausalLM")
    auto = next((name for name in candidates if name in code_classes), candidates[0])
    model, loading = getattr(transformers, auto).from_pretrained(
        path, output_loading_info=True, **settings
    )
    weights = dict(model.named_parameters())
    shapes = {str(key) for key, *_ in loading["mismatched_keys"]}
    for fault, names in (
        # Buffers and tied weights, which files leave out, are no parameters of their own.
        ("lacks", sorted(set(loading["missing_keys"]) & set(weights))),
        ("has another shape of", sorted(shapes)),
        ("has NaN or infinity in", [n for n, w in weights.items() if not w.isfinite().all()]),
    ):
        if names:
            raise RespondentError(
                f"the model {fault} {len(names)} of its tensors: {', '.join(names[:3])}",
                location=path,
                remedy="Fetch or save its weights again: with others, answers are noise.",
            )
    return model


def _processor(path: str, kind: str, options: dict[str, object]) -> ProcessorMixin:
    """The model's processor; without its part for videos if only that cannot be loaded."""
    import transformers
    from transformers.models.auto.processing_auto import PROCESSOR_MAPPING_NAMES
    from transformers.processing_utils import ProcessorMixin

    saved: dict[str, object] = {}
    with contextlib.suppress(Exception):
        saved, _ = ProcessorMixin.get_processor_dict(path, **options)
    try:
        processor = transformers.AutoProcessor.from_pretrained(path, **options)
    except Exception:
        # for some types of models only the checkpoint names the processor
        class_name = saved.get("processor_class", PROCESSOR_MAPPING_NAMES.get(kind))
        cls = getattr(transformers, str(class_name), None)
        if cls is None or "video_processor" not in cls.get_attributes():
            raise
        return pictures_only(cls).from_pretrained(path, **options)
    if getattr(processor, "chat_template", None) is None:
        processor.chat_template = saved.get("chat_template")  # some classes leave it out
    return processor
