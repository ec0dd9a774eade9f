"""A vision-language model run in this process by transformers.

Requests are put in the order of their pictures, so that each picture is seen once
(`hqm.respondents.decoding`). An answer depends on the request alone: every request draws from its
own random stream.
"""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from hqm.errors import RespondentError
from hqm.files.images import as_rgb, open_picture
from hqm.respondents.base import Request, RespondentName, waiting
from hqm.respondents.batching import MAX_ROWS, Prompt, RequestQueue, group_by_kind
from hqm.respondents.hf_families import family_of
from hqm.respondents.hf_loading import (
    Loaded,
    find_model,
    load,
    suited_device,
    suited_dtype,
    weights_digest,
    weights_of,
)
from hqm.types import Response

if TYPE_CHECKING:
    from PIL.Image import Image

    from hqm.respondents.decoding import Engine
    from hqm.respondents.plain_decoding import Generated

_MIN_COLLECTED_BYTES = 2**28
"""Bytes of weights from which a closed model is freed at once, by a garbage collection."""


class TransformersRespondent:
    """A model of `AutoModelForImageTextToText` with its `AutoProcessor`.

    Parameters
    ----------
    name
        `hf/<folder or hub id>[@revision]`; settings `device`, `dtype`, `batch`, `attention` and
        `trust_remote_code` may follow.
    device, dtype
        `auto` takes a GPU when there is one, and half precision on it; float32 on a CPU.
    batch
        Questions that are answered at a time; 0 finds a number from the memory there is, and halves
        it when memory runs out. The answers do not depend on it.

    Raises
    ------
    RespondentError
        The model cannot be found or loaded, in one sentence.
    """

    live = True
    movable = True
    """Whether a worker process may run it: it is sent there before it is loaded."""
    gpus = 1
    """The GPUs that the model is divided among."""

    def __init__(
        self, name: RespondentName, *, device: str = "auto", dtype: str = "auto", batch: int = 0
    ) -> None:
        self._name = name
        self.path = find_model(name.target)
        self.device_wanted = name.option("device", device)
        self.dtype_wanted = name.option("dtype", dtype)
        self.attention_wanted = name.option("attention", "auto")
        self.trust_remote_code = name.flag("trust_remote_code")
        self.batch = int(name.option("batch", str(batch)))
        self._waiting: RequestQueue | None = None
        self._finishing = False
        self._pictures: dict[Path, Image] = {}
        self._templates: dict[bool, str] = {}

    @property
    def name(self) -> str:
        return str(self._name)

    @cached_property
    def device(self) -> str:
        return suited_device() if self.device_wanted == "auto" else self.device_wanted

    @cached_property
    def dtype(self) -> str:
        return suited_dtype(self.device) if self.dtype_wanted == "auto" else self.dtype_wanted

    def identity(self) -> Mapping[str, object]:
        identity = {
            "kind": "hf",
            "model": self._name.target,
            "revision": self._name.qualifier or None,
            "weights": self._weights,
            # Which of several GPUs answers is no part of it.
            "device": self.device.partition(":")[0],
            "dtype": self.dtype,
        }
        # settings at their defaults are left out, so that older stores keep their respondents
        special = {
            "attention": self.attention_wanted if self.attention_wanted != "auto" else "",
            "prompt": self._form,
        }
        return {**identity, **{key: value for key, value in special.items() if value}}

    @cached_property
    def _weights(self) -> str | None:
        return weights_digest(self.path, self.name)

    @cached_property
    def _form(self) -> str:
        """The documented prompt form of a local model that has no chat template."""
        folder = Path(self.path)
        config = folder / "config.json"
        if not config.is_file() or any(folder.glob("chat_template*")):
            return ""
        for file in (folder / "processor_config.json", folder / "tokenizer_config.json"):
            if file.is_file() and "chat_template" in file.read_text(encoding="utf-8"):
                return ""
        try:
            return family_of(
                str(json.loads(config.read_text(encoding="utf-8")).get("model_type", ""))
            ).form
        except (ValueError, AttributeError):
            return ""  # a broken config is reported when it is loaded

    @property
    def weight_bytes(self) -> int | None:
        """The size of the weights on a CPU; None on a GPU, and where the hub holds them."""
        weights = weights_of(self.path, self.name)
        return None if weights.assumed or self.device != "cpu" else int(weights.size)

    @cached_property
    def _loaded(self) -> Loaded:
        with waiting(f"loading {self.name}"):
            return load(
                self.path,
                revision=self._name.qualifier,
                device=self.device,
                dtype=self.dtype,
                attention=self.attention_wanted,
                name=self.name,
                trust_remote_code=self.trust_remote_code,
                gpus=self.gpus,
            )

    @cached_property
    def _engine(self) -> Engine:
        from hqm.respondents.decoding import Engine  # it imports torch, which takes seconds

        return Engine(self._loaded, self.name)

    @property
    def how(self) -> str:
        """What its prompts share, in words."""
        return self._engine.how if "_engine" in self.__dict__ else "not loaded"

    def close(self) -> None:
        self.__dict__.pop("_engine", None)
        self._pictures.clear()
        loaded = self.__dict__.pop("_loaded", None)
        # a garbage collection takes a third of a second: too long for a small model
        if (
            loaded is not None
            and (self.weight_bytes or _MIN_COLLECTED_BYTES) >= _MIN_COLLECTED_BYTES
        ):
            del loaded
            gc.collect()

    def answer(self, requests: Sequence[Request]) -> Iterator[list[tuple[Request, Response]]]:
        self._finishing = False
        # Requests of one kind share sampling, and have all a picture or all none: a batch needs
        # both.
        for kind in group_by_kind(requests):
            if not self._finishing:
                with ThreadPoolExecutor(1) as thread:
                    yield from self._answer(kind, thread)

    def finish(self) -> None:
        """Start no more requests; those in progress are still answered."""
        self._finishing = True
        if self._waiting is not None:
            self._waiting.close()

    def _answer(
        self, requests: Sequence[Request], thread: ThreadPoolExecutor
    ) -> Iterator[list[tuple[Request, Response]]]:
        """Answer requests of one kind; a second thread prepares the pictures that come next."""
        preparing: list[Future[None]] = []

        def prepare(request: Request) -> Prompt | Response:
            # The picture of this prompt may be the one that the other thread is preparing.
            while preparing:
                preparing.pop().result()
            return self._prepare(request)

        def ahead(following: Sequence[Request]) -> None:
            preparing.append(thread.submit(self._look_ahead, following[:_PICTURES_AHEAD]))

        sampling = requests[0].sampling
        requests = self._engine.ordered(requests)
        queue = self._waiting = RequestQueue(requests, prepare, ahead)
        began = time.perf_counter()
        memory = self._available_memory()
        limit = self.batch or self._n_fitting_rows(sampling.max_tokens, memory or 1 << 30)
        for batch in self._engine.stream(queue, sampling, limit, memory):
            # the answers of a batch share its time
            seconds = round((time.perf_counter() - began) / max(1, len(batch)), 6)
            answers = queue.refused
            queue.refused = []
            for number, generated in batch:
                request = requests[number]
                answers.append((request, self._response(request, generated, seconds)))
            yield answers
            began = time.perf_counter()
        if queue.refused:
            yield queue.refused

    def _look_ahead(self, requests: Sequence[Request]) -> None:
        """Prepare pictures in advance; one that cannot be opened fails later, in its turn."""
        try:
            prepared = map(self._prepare, requests)
            self._engine.look_ahead([item for item in prepared if isinstance(item, Prompt)])
        except Exception:  # the same error comes again where it can be reported
            return

    def _prepare(self, request: Request) -> Prompt | Response:
        """Return the prompt of a request, or a response that says why it cannot be asked."""
        try:
            picture = None if request.image is None else self._picture(request.image)
        except (OSError, ValueError, SyntaxError) as error:
            return Response("", "error", f"the picture {request.image} cannot be opened: {error}")
        mark = str(getattr(self._loaded.processor, "image_token", None) or "")
        # The processor would put a second picture there, or count the tokens wrongly.
        if mark and mark in request.prompt:
            reason = f"the question holds {mark!r}, by which the model's prompts mark a picture"
            return Response("", "error", reason)
        return Prompt(self._prompt(request), picture, request.image, request.seed, request.words)

    def _available_memory(self) -> int:
        """Bytes of a GPU for keys and values: half of what is free, as rows are copied when others
        join them; 0 of another device, and where the number of rows is set.
        """
        import torch

        if self.batch or not self.device.startswith("cuda"):
            return 0
        # What torch keeps for itself is free for new tensors too.
        spare = torch.cuda.memory_reserved(self.device) - torch.cuda.memory_allocated(self.device)
        free: int = torch.cuda.mem_get_info(self.device)[0] + spare
        return free // 2

    def _n_fitting_rows(self, max_tokens: int, memory: int) -> int:
        """Return how many rows of 1,024 tokens and an answer fit into so many bytes."""
        model = self._loaded.model
        text = model.config.get_text_config()
        # a model without attention has no heads: its state is assumed to be as large as keys
        heads = getattr(text, "num_attention_heads", None) or 1
        width = getattr(text, "head_dim", None) or text.hidden_size // heads
        shared = getattr(text, "num_key_value_heads", None) or heads
        n_tokens = 1024 + max_tokens
        # Two, because there are keys and values.
        row: int = 2 * text.num_hidden_layers * shared * width * n_tokens * model.dtype.itemsize
        return min(MAX_ROWS, max(1, memory // row))

    def _picture(self, path: Path) -> Image:
        """The decoded picture, kept while its questions last."""
        picture = self._pictures.get(path)
        if picture is None:
            # requests are ordered by picture: an earlier one does not come back
            if len(self._pictures) >= _MAX_PICTURES:
                self._pictures.clear()
            with open_picture(path) as opened:
                picture = self._pictures[path] = as_rgb(opened)
        return picture

    def _prompt(self, request: Request) -> str:
        """Put a question into the chat template, or into the family's documented form."""
        with_picture = request.image is not None
        if with_picture not in self._templates:
            self._templates[with_picture] = self._template(with_picture)
        return self._templates[with_picture].replace(_MARK, request.prompt)

    def _template(self, with_picture: bool) -> str:
        loaded = self._loaded
        if loaded.form:
            mark = str(getattr(loaded.processor, "image_token", None) or "<image>")
            return (
                loaded.family.fill_form(_MARK)
                .replace("<image>", mark if with_picture else "")
                .lstrip("\n")
            )
        content: list[dict[str, str]] = [{"type": "image"}] if with_picture else []
        content.append({"type": "text", "text": _MARK})
        messages = [{"role": "user", "content": content}]
        try:
            text = loaded.processor.apply_chat_template(
                messages, add_generation_prompt=True, tokenize=False
            )
        except Exception as error:  # a template is a program, and may end in any way
            first = (str(error).strip().splitlines() or [type(error).__name__])[0]
            message = f"its chat template fails: {first}"
            if isinstance(error, (ValueError, AttributeError)):
                message = f"its processor has no chat template: {first}"
            remedy = "Save one with the processor (chat_template)."
            raise RespondentError(message, location=self.name, remedy=remedy) from error
        # A template that drops the question, or repeats it, would ask something else.
        if str(text).count(_MARK) != 1:
            message = (
                f"its chat template writes the question {str(text).count(_MARK)} times, not once"
            )
            raise RespondentError(
                message,
                location=self.name,
                remedy="Correct the template that is saved with the processor.",
            )
        return str(text)

    def _response(self, request: Request, generated: Generated, seconds: float) -> Response:
        if generated.error:
            reason = f"{generated.error} (on {self.device}, with one question at a time)"
            return Response("", "error", reason)
        tokens = generated.tokens
        ended = bool(tokens) and tokens[-1] in self._engine.ends
        with self._engine.reader.lock:
            text = self._engine.tokenizer.decode(
                tokens[:-1] if ended else tokens, skip_special_tokens=True
            ).strip()
        detail: dict[str, object] = {
            "tokens_out": len(tokens),
            "seconds": seconds,
            "shared": self._engine.level,
        }
        if self._loaded.form:
            detail["prompt"] = self._loaded.form
        if request.words:
            detail["p"] = generated.first
            # What no word has: by it the report says how much the probabilities leave open.
            detail["p_lost"] = max(0.0, 1.0 - sum(generated.first.values()))
        if ended:
            return Response(text, "ok", "", detail)
        return Response(text, "truncated", "it was cut at the limit of tokens", detail)


_MAX_PICTURES = 256
"""Decoded pictures that are kept."""
_PICTURES_AHEAD = 64
"""Pictures that are prepared while others are answered."""
_MARK = "\ue000question\ue000"
"""Stands for the question while a chat template is rendered; no question holds these private
characters.
"""
