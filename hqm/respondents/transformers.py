"""A vision-language model run in this process by transformers.

Requests are put in the order of their pictures, so that each picture is seen once (`hqm.respondents.decoding`). An answer
depends on the request alone: every request draws from its own random stream.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from hqm.errors import RespondentError
from hqm.respondents.base import Request, RespondentName
from hqm.respondents.decoding import Engine, Prompt
from hqm.signature import digest_all, digest_file
from hqm.types import Response


def find_model(target: str) -> str:
    """The folder of an embedded or local model, or the hub id as it stands."""
    if ":" in target:
        from hqm.registry import shipped

        benchmark, _, name = target.partition(":")
        folder = shipped() / benchmark / "respondents"
        if not (folder / name).is_dir():
            known = sorted(p.name for p in folder.glob("*") if p.is_dir())
            raise RespondentError(
                f"{benchmark!r} has no embedded respondent {name!r}",
                remedy=f"It has {', '.join(known)}." if known else "See `hqm list respondents`.",
            )
        return str(folder / name)
    return target


class TransformersRespondent:
    """A model of `AutoModelForImageTextToText` with its `AutoProcessor`.

    Parameters
    ----------
    name
        `hf/<folder or hub id>[@revision]`; settings `device`, `dtype` and `batch` may follow.
    device, dtype
        `auto` takes a GPU when there is one, and half precision on it; float32 on a CPU.
    batch
        Questions a forward pass; 0 finds a number from the model's size. The answers do not depend on it.

    Raises
    ------
    RespondentError
        The model cannot be found or loaded, in one sentence.
    """

    live = True
    movable = True
    """Whether a worker process may run it: it is sent there before it is loaded."""

    def __init__(self, name: RespondentName, *, device: str = "auto", dtype: str = "auto", batch: int = 0) -> None:
        self._name = name
        self.path = find_model(name.target)
        self.device_wanted = name.option("device", device)
        self.dtype_wanted = name.option("dtype", dtype)
        self.batch = int(name.option("batch", str(batch)))
        self._pictures: dict[Path, Any] = {}
        self._templates: dict[bool, str] = {}

    @property
    def name(self) -> str:
        return str(self._name)

    @cached_property
    def device(self) -> str:
        if self.device_wanted != "auto":
            return self.device_wanted
        import torch

        return "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"

    @cached_property
    def dtype(self) -> str:
        if self.dtype_wanted != "auto":
            return self.dtype_wanted
        return "float32" if self.device == "cpu" else "bfloat16" if self.device.startswith("cuda") else "float16"

    def identity(self) -> Mapping[str, Any]:
        return {
            "kind": "hf",
            "model": self._name.target,
            "revision": self._name.at or None,
            "weights": self._weights,
            "device": self.device.partition(":")[0],
            "dtype": self.dtype,
        }

    @cached_property
    def _weights(self) -> str | None:
        """The content hash of a local model's files; a hub id is told by its revision."""
        folder = Path(self.path)
        if not folder.is_dir():
            return None
        files = sorted(p for p in folder.iterdir() if p.suffix in {".safetensors", ".bin", ".json", ".jinja", ".model"})
        return digest_all(part for file in files for part in (file.name, digest_file(file)))

    @property
    def weight_bytes(self) -> int | None:
        """The size of a local model's weights; None for one that the hub holds."""
        folder = Path(self.path)
        files = [p for p in folder.glob("*") if p.suffix in {".safetensors", ".bin"}] if folder.is_dir() else []
        return sum(p.stat().st_size for p in files) if files and self.device == "cpu" else None

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        import torch
        import transformers

        transformers.logging.set_verbosity_error()
        transformers.utils.logging.disable_progress_bar()
        folder = Path(self.path)
        if folder.is_dir() and not any(folder.glob("*.safetensors")) and not any(folder.glob("*.bin")):
            raise RespondentError(
                "the folder holds no weights (*.safetensors)", place=self.path, remedy="Name a saved model."
            )
        options: dict[str, Any] = {"local_files_only": folder.is_dir()}
        if self._name.at:
            options["revision"] = self._name.at
        try:
            processor = transformers.AutoProcessor.from_pretrained(self.path, **options)
            dtype = getattr(torch, self.dtype)
            model = transformers.AutoModelForImageTextToText.from_pretrained(self.path, dtype=dtype, **options)
            model = model.to(self.device).eval()
        except Exception as error:  # the loaders raise whatever their files make them raise
            first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            remedy = "Check the name; a folder must hold a model and its processor saved by transformers."
            raise RespondentError(f"the model cannot be loaded: {first}", place=self.name, remedy=remedy) from error
        processor.tokenizer.padding_side = "left"
        if processor.tokenizer.pad_token_id is None:
            processor.tokenizer.pad_token = processor.tokenizer.eos_token
        return model, processor

    @cached_property
    def _engine(self) -> Engine:
        return Engine(*self._loaded)

    @property
    def how(self) -> str:
        """How its prompts run, in words."""
        if "_engine" not in self.__dict__:
            return "not loaded"
        return f"plain generate: {self._engine.why_plain}" if self._engine.why_plain else "shared image prefix"

    def close(self) -> None:
        self.__dict__.pop("_engine", None)
        self.__dict__.pop("_loaded", None)
        self._pictures.clear()
        gc.collect()

    def answer(self, requests: Sequence[Request]) -> Iterator[list[tuple[Request, Response]]]:
        # one set of sampling settings a batch; all questions about a picture together
        ordered = sorted(requests, key=lambda r: (*_settings(r), str(r.image or ""), len(r.prompt)))
        start = 0
        while start < len(ordered):
            first = ordered[start]
            size = self.batch or self._fitting(first.sampling.max_tokens)
            batch = [
                r
                for r in ordered[start : start + size]
                if _settings(r) == _settings(first) and bool(r.image) == bool(first.image)
            ]
            start += len(batch)
            yield self._answer_batch(batch)

    def _fitting(self, max_tokens: int) -> int:
        """How many rows fit: their keys and values may take a gigabyte, or a third of a GPU's free memory."""
        import torch

        model = self._loaded[0]
        text = model.config.get_text_config()
        heads = getattr(text, "num_key_value_heads", None) or text.num_attention_heads
        width = getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads
        row = 2 * text.num_hidden_layers * heads * width * (1024 + max_tokens) * model.dtype.itemsize
        room = 1 << 30
        if self.device.startswith("cuda"):
            room = torch.cuda.mem_get_info()[0] // 3
        return int(min(512, max(1, room // row)))

    def _answer_batch(self, batch: Sequence[Request]) -> list[tuple[Request, Response]]:
        readable, results = [], []
        for request in batch:
            try:
                picture = None if request.image is None else self._picture(request.image)
                readable.append((request, picture))
            except (OSError, ValueError, SyntaxError) as error:
                results.append(
                    (request, Response("", "error", f"the picture {request.image} cannot be opened: {error}"))
                )
        if readable:
            responses = self._generate(readable)
            results += [(request, response) for (request, _), response in zip(readable, responses, strict=True)]
        return results

    def _picture(self, path: Path) -> Any:
        """The decoded picture, kept while its questions last."""
        from PIL import Image

        if path not in self._pictures:
            if len(self._pictures) >= 256:
                self._pictures.clear()
            with Image.open(path) as picture:
                self._pictures[path] = picture.convert("RGB")
        return self._pictures[path]

    def _generate(self, batch: Sequence[tuple[Request, Any]]) -> list[Response]:
        began = time.perf_counter()
        sampling = batch[0][0].sampling
        prompts = [Prompt(self._prompt(request), picture, request.image, request.seed) for request, picture in batch]
        tokens = self._engine.generate(prompts, sampling.temperature, sampling.top_p, sampling.max_tokens)
        seconds = round((time.perf_counter() - began) / len(batch), 6)
        return [self._response(row, seconds) for row in tokens]

    def _prompt(self, request: Request) -> str:
        """The chat template's text round a question, rendered once for all questions."""
        with_picture = request.image is not None
        if with_picture not in self._templates:
            content: list[dict[str, str]] = [{"type": "image"}] if with_picture else []
            content.append({"type": "text", "text": _MARK})
            messages = [{"role": "user", "content": content}]
            try:
                text = self._loaded[1].apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
            except (ValueError, AttributeError) as error:
                what = f"its processor has no chat template: {error}"
                raise RespondentError(
                    what, place=self.name, remedy="Save one with the processor (chat_template)."
                ) from error
            self._templates[with_picture] = str(text)
        return self._templates[with_picture].replace(_MARK, request.prompt)

    def _response(self, tokens: list[int], seconds: float) -> Response:
        ended = bool(tokens) and tokens[-1] in self._engine.ends
        text = self._engine.tokenizer.decode(tokens[:-1] if ended else tokens, skip_special_tokens=True).strip()
        detail = {"tokens_out": len(tokens), "seconds": seconds}
        return (
            Response(text, "ok", "", detail)
            if ended
            else Response(text, "truncated", "it was cut at the limit of tokens", detail)
        )


_MARK = "\ue000question\ue000"
"""Stands for the question while a chat template is rendered; no question holds these private characters."""


def _settings(request: Request) -> tuple[int, float, float]:
    return request.sampling.max_tokens, request.sampling.temperature, request.sampling.top_p
