"""The weights of embedded models, packed: a wheel's own compression takes 6 % more, because it
looks at single bytes.

What is unpacked is kept in the cache under the hash of the folder that it came from, and is the
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
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from hqm.errors import RespondentError
from hqm.files.cache import cache_folder, writing
from hqm.respondents.base import waiting
from hqm.respondents.hf_families import Family, family_of
from hqm.signature import digest_all, digest_file

WEIGHTS = "model.safetensors"
_PACKED = f"{WEIGHTS}.xz"


def unpacked(folder: Path) -> Path:
    """Return a model's folder with unpacked weights: itself, or a copy in the cache.

    Raises
    ------
    DataError
        The cache cannot be written.
    """
    if not (folder / _PACKED).is_file():
        return folder
    files = sorted(path for path in folder.iterdir() if path.is_file())
    name = digest_all(part for file in files for part in (file.name, digest_file(file))).partition(
        ":"
    )[2]
    target = cache_folder() / "models" / name / folder.name
    if target.is_dir():
        return target
    with writing(target.parent):
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as part:
            made = Path(part) / folder.name
            made.mkdir()
            for file in files:
                if file.name == _PACKED:
                    (made / WEIGHTS).write_bytes(lzma.decompress(file.read_bytes()))
                else:
                    shutil.copyfile(file, made / file.name)
            try:
                os.replace(made, target)
            except OSError:
                if not target.is_dir():  # another process was faster
                    raise
    return target


# Finding and loading a local model: its folder, its processor, and the number format and
# attention that suit the device.


def find_model(target: str) -> str:
    """The folder of an embedded or local model, or the hub id as it stands."""
    if ":" in target:
        from hqm.benchmark.registry import shipped

        benchmark, _, name = target.partition(":")
        folder = shipped() / benchmark / "respondents"
        if not (folder / name).is_dir():
            known = sorted(p.name for p in folder.glob("*") if p.is_dir())
            raise RespondentError(
                f"{benchmark!r} has no embedded respondent {name!r}",
                remedy=f"It has {', '.join(known)}." if known else "See `hqm list respondents`.",
                name=name,
                choices=known,
            )
        return str(unpacked(folder / name))
    return target


def weights_digest(path: str, name: str) -> str | None:
    """Return the content hash of a local model's files, or None for a model of the hub.

    A model of the hub is identified by its revision.
    """
    folder = Path(path)
    if not folder.is_dir():
        return None
    suffixes = {".safetensors", ".bin", ".json", ".jinja", ".model"}
    files = sorted(file for file in folder.iterdir() if file.suffix in suffixes)
    with waiting(f"reading the weights of {name}"):
        return digest_all(part for file in files for part in (file.name, digest_file(file)))


class Weights(NamedTuple):
    """How large a model is."""

    parameters: float
    size: float
    """Bytes of the weights, in the format that they are stored in."""
    assumed: bool
    """Whether that was told from the model's name, or assumed to be a model of 7 billion."""


_PARAMETERS = re.compile(r"(\d+(?:\.\d+)?)[bB](?![a-z])")
"""How a model's name says its size, in billions."""
_ASSUMED_PARAMETERS = 7e9


def weights_of(path: str, name: str) -> Weights:
    """The size of a model's weights: of its files here or in the hub's cache, else by its name.

    >>> weights_of("no/such-model-13b", "hf/no/such-model-13b")
    Weights(parameters=13000000000.0, size=26000000000.0, assumed=True)
    """
    folder = Path(path)
    if not folder.is_dir():
        with contextlib.suppress(Exception):  # a name that no hub has
            from huggingface_hub import try_to_load_from_cache

            folder = Path(str(try_to_load_from_cache(path, "config.json"))).parent
    files = [p for p in folder.glob("*") if p.suffix == ".safetensors"]
    files = files or [p for p in folder.glob("*") if p.suffix == ".bin"]
    size = float(sum(p.stat().st_size for p in files))
    try:
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
    return Weights(size / (4 if texts.endswith("float32") else 2), size, False)


VISIBLE, _AMD = "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"
"""The variables that say which GPUs a process sees, by number or name: everywhere, and for AMD's
before the other one.
"""
GPU_FILES = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")
"""What Linux has where torch could reach a GPU: of NVIDIA, of AMD, and through Windows."""


def suited_device() -> str:
    """Return the GPU where there is one, else the CPU.

    Torch is imported, which takes seconds, only where there may be one.
    """
    device = "cpu"
    if sys.platform != "linux" or any(Path(file).exists() for file in GPU_FILES):
        with waiting("importing torch"):
            import torch

        if torch.cuda.is_available():
            device = "cuda"
        elif torch.backends.mps.is_available():
            device = "mps"
    listed = os.environ.get(VISIBLE, "")
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
    """Return the bytes of each GPU that this process may use; none where torch is not there."""
    if suited_device() != "cuda":
        return []
    import torch

    return [
        int(torch.cuda.get_device_properties(number).total_memory)
        for number in range(torch.cuda.device_count())
    ]


def seeing(gpu: str) -> dict[str, str]:
    """Return the environment of a process that sees this GPU alone, as number 0."""
    return {VISIBLE: gpu, **({_AMD: gpu} if _AMD in os.environ else {})}


def gpu_names(count: int, listed: str | None) -> tuple[str, ...]:
    """The names of so many GPUs, from the list that this process was given; without one their
    numbers.

    Examples
    --------
    >>> gpu_names(2, None), gpu_names(2, "4,GPU-8f6c"), gpu_names(1, "3,-1,5"), gpu_names(0, "0,1")
    (('0', '1'), ('4', 'GPU-8f6c'), ('3',), ())
    """
    if listed is None:
        return tuple(map(str, range(count)))
    # the driver reads the list up to the first name that it does not know
    return tuple(part.strip() for part in listed.split(","))[:count]


def use_threads(count: int) -> None:
    """Let a model in this process compute with so many threads; without torch, none is run here."""
    try:
        import torch
    except ImportError:
        return
    torch.set_num_threads(count)


def suited_attention(device: str) -> str:
    """Torch's fused attention where its masks are sound, the written-out one on mps."""
    return "eager" if device.startswith("mps") else "sdpa"


@dataclass(frozen=True)
class Loaded:
    """A model ready to answer, with its processor and what is known of its family."""

    model: Any
    processor: Any
    family: Family

    @property
    def tokenizer(self) -> Any:
        """The tokenizer of prompts and answers."""
        return self.processor.tokenizer

    @property
    def form(self) -> str:
        """The documented prompt form it is asked in; empty when a chat template says it."""
        return "" if getattr(self.processor, "chat_template", None) else self.family.form


class _NoVideos:
    """Stands for a processor's video part, whose settings processors and chat templates read."""

    def __getattr__(self, name: str) -> None:
        if name.startswith("__"):
            raise AttributeError(name)


def pictures_only(cls: Any) -> Any:
    """Return a processor class without its part for videos.

    That part needs torchvision, pictures do not. A class that has no such part is returned as it
    is.
    """
    attributes = cls.get_attributes()
    if "video_processor" not in attributes:
        return cls
    gap = attributes.index("video_processor")

    class PicturesOnly(cls):  # type: ignore[misc]
        video_processor = _NoVideos()
        is_made = True

        @classmethod
        def get_attributes(cls) -> list[str]:
            return [
                name for name in attributes if cls.is_made is False or name != "video_processor"
            ]

        def check_argument_for_proper_class(self, argument_name: str, argument: Any) -> Any:
            if argument_name == "video_processor":
                return _NoVideos
            return super().check_argument_for_proper_class(argument_name, argument)

        @classmethod
        def from_args_and_dict(
            cls, args: list[Any], processor_dict: dict[str, Any], **settings: Any
        ) -> Any:
            # a class hands its parts on in any order, by place or by name, so all must be there
            cls.is_made = False
            try:
                return super().from_args_and_dict(
                    [*args[:gap], cls.video_processor, *args[gap:]], processor_dict, **settings
                )
            finally:
                cls.is_made = True

        def to_dict(self) -> dict[str, Any]:
            parts: dict[str, Any] = super().to_dict()
            return {name: part for name, part in parts.items() if name != "video_processor"}

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
    folder = Path(path)
    if folder.is_dir() and not any(folder.glob("*.safetensors")) and not any(folder.glob("*.bin")):
        raise RespondentError(
            "the folder holds no weights (*.safetensors)",
            location=path,
            remedy="Name a saved model.",
        )
    options: dict[str, Any] = {
        "local_files_only": folder.is_dir(),
        # left out, transformers would ask on the terminal
        "trust_remote_code": trust_remote_code,
    }
    if trust_remote_code:
        logging.getLogger("hqm").warning(
            "hqm: %s: program code that comes with the model is run on this machine", name
        )
    if revision:
        options["revision"] = revision
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
        wanted = suited_attention(device) if attention == "auto" else attention
        model = None
        if attention == "auto" and wanted != "eager":
            try:
                model = _model(path, config, attn_implementation=wanted, **settings)
            except ValueError:  # a family without fused attention says so by a ValueError
                wanted = "eager"
        if model is None:
            model = _model(path, config, attn_implementation=wanted, **settings)
        model = (model if gpus > 1 else model.to(device)).eval()
    except RespondentError:
        raise
    except Exception as error:  # the loaders raise whatever their files make them raise
        raise _cannot(name, error) from error
    tokenizer = processor.tokenizer
    # an encoder reads from its first token on, a decoder writes behind its last one
    text = model.config.get_text_config()
    behind = getattr(model.config, "is_encoder_decoder", False) or getattr(
        text, "is_encoder_decoder", False
    )
    tokenizer.padding_side = "right" if behind else "left"
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return Loaded(model, processor, family)


_LIBRARY = re.compile(r"requires the ([\w.-]+) library|Package `([\w.-]+)` is required")
"""How transformers says that a library is not installed."""


def _cannot(name: str, error: Exception) -> RespondentError:
    text = str(error).strip()
    what = f"the model cannot be loaded: {text.splitlines()[0] if text else type(error).__name__}"
    remedy = "Check the name; a folder must hold a model and its processor saved by transformers."
    library = _LIBRARY.search(text)
    if "trust_remote_code" in text:
        what = "the model comes with program code of its own, which is not run"
        remedy = (
            "If you trust its authors, write ?trust_remote_code=yes behind the name, or serve it by"
            " vllm/."
        )
    elif library is not None:
        needed = (library[1] or library[2]).lower()
        what = f"the model cannot be loaded: it needs {needed}, which is not installed"
        remedy = f"pip install {needed}"
        if needed == "torchvision":
            remedy = 'Install the extra: pip install "hqm-audit[vision]"'
    return RespondentError(what, location=name, remedy=remedy)


def _config(path: str, options: dict[str, Any], name: str) -> Any:
    import transformers

    try:
        return transformers.AutoConfig.from_pretrained(path, **options)
    except Exception as error:
        raise _cannot(name, error) from error


def _model(path: str, config: Any, **settings: Any) -> Any:
    import transformers

    # program code that comes with a model is often registered under the older class
    own = getattr(config, "auto_map", None) or {}
    wanted = ("AutoModelForImageTextToText", "AutoModelForCausalLM")
    auto = next((name for name in wanted if name in own), wanted[0])
    model, loading = getattr(transformers, auto).from_pretrained(
        path, output_loading_info=True, **settings
    )
    weights = dict(model.named_parameters())
    shapes = {str(key) for key, *_ in loading["mismatched_keys"]}
    for fault, names in (
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


def _processor(path: str, kind: str, options: dict[str, Any]) -> Any:
    """The model's processor; without its part for videos where only that part stands in the way."""
    import transformers
    from transformers.models.auto.processing_auto import PROCESSOR_MAPPING_NAMES
    from transformers.processing_utils import ProcessorMixin

    saved: dict[str, Any] = {}
    with contextlib.suppress(Exception):
        saved, _ = ProcessorMixin.get_processor_dict(path, **options)
    try:
        processor = transformers.AutoProcessor.from_pretrained(path, **options)
    except Exception:
        # of some types of models only the checkpoint says which processor they have
        named = saved.get("processor_class", PROCESSOR_MAPPING_NAMES.get(kind))
        cls = getattr(transformers, str(named), None)
        if cls is None or "video_processor" not in cls.get_attributes():
            raise
        return pictures_only(cls).from_pretrained(path, **options)
    if getattr(processor, "chat_template", None) is None:
        processor.chat_template = saved.get("chat_template")  # some classes leave it out
    return processor
